"""New processes: with an empty cache of compiled code, with a warm one, with one that cannot exist.

Processor seconds of their first calls in Python, and of whole commands.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import bayesnb
from bayesnb import datasets

from .records import FIRST_CALLS, Start

TABLES: dict[
    str, dict[str, float]
] = {  # what a script makes models of, and what its calls may take
    **dict.fromkeys(("Gaussian", "Multinomial", "Categorical", "Bernoulli"), FIRST_CALLS),
    "penguins": {"all": 1.5},
    "100,000 x 20": {"fit": 3.0, "interval": 4.0},
}
COMMANDS: dict[
    str, tuple[float, float]
] = {  # what the process may take with an empty cache, and with a warm one
    "report": (10.0, 4.0),
    "report missing.csv --target label": (0.4, 0.4),
    "fit penguins.csv --target species": (2.0, 2.0),
    "predict penguins.csv.bnb penguins.csv": (2.0, 2.0),
}
SCRIPT = Path(__file__).with_name("first_call.py")
HOME = Path(bayesnb.__file__).parents[1]


def starts() -> Iterator[Start]:
    """Each kind of table and each command with an empty cache, then with the cache that this left.

    One without any.
    """
    for name in TABLES:
        with TemporaryDirectory() as folder:
            for cache in ("empty", "warm"):
                yield start(name, cache, folder)
    yield start(
        "Gaussian", "unwritable", os.devnull + "/none"
    )  # a folder in a file: not even root can write there
    with TemporaryDirectory() as folder, TemporaryDirectory() as room:
        datasets.penguins().to_csv(Path(room, "penguins.csv"), index=False)
        for cache, place in (("empty", 0), ("warm", 1)):
            for command, goals in COMMANDS.items():
                yield run(command, cache, folder, room, goals[place])


def run(command: str, cache: str, folder: str, room: str, goal: float) -> Start:
    """A command of a new process, in a folder with a table.

    That of a table that is not there has to say so.
    """
    output = {
        "report": ["-o", "page.html"],
        "fit": ["-o", "penguins.csv.bnb"],
        "predict": ["-o", "answers.csv"],
    }
    first, *rest = command.split()
    arguments = [sys.executable, "-m", "bayesnb", first, "-q", *rest, *output[first]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        arguments, env=surroundings(folder), cwd=room, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    failed = done.returncode != 0 and "missing.csv" not in command
    last = "".join(done.stderr.strip().splitlines()[-1:]) if failed else ""
    return Start(f"bayesnb {command}", cache, {"all": seconds}, last, {"all": goal})


def start(family: str, cache: str, folder: str) -> Start:
    """The first calls of a new process whose compiled code is kept in a folder, and nowhere else."""
    command = [sys.executable, "-P", str(SCRIPT), family]
    done = subprocess.run(
        command, env=surroundings(folder), capture_output=True, text=True, check=False
    )
    seconds = json.loads(done.stdout) if done.returncode == 0 else {}
    return Start(
        family, cache, seconds, "".join(done.stderr.strip().splitlines()[-1:]), TABLES[family]
    )


def surroundings(folder: str) -> dict[str, str]:
    """The environment of a process that keeps compiled code in a folder, and nowhere else."""
    only = {"NUMBA_CACHE_DIR": folder, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    return os.environ | only | {"PYTHONPATH": str(HOME)}
