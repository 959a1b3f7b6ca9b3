"""First calls in new processes: with an empty cache of compiled code, with a warm one, with one that cannot exist."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import bayesnb

from .records import Start

FAMILIES = ("Gaussian", "Multinomial", "Categorical", "Bernoulli")
SCRIPT = Path(__file__).with_name("first_call.py")
HOME = Path(bayesnb.__file__).parents[1]


def starts() -> Iterator[Start]:
    """Every family with an empty cache, then with the cache that this left; one without any."""
    with ThreadPoolExecutor(max_workers=2) as pool:  # two at a time: most of it is scikit-learn's import
        for pair in pool.map(twice, FAMILIES):
            yield from pair
    yield start(FAMILIES[0], "unwritable", os.devnull + "/none")  # a folder in a file: not even root can write there


def twice(family: str) -> list[Start]:
    """With an empty cache, and with what the first process left in it."""
    with TemporaryDirectory() as folder:
        return [start(family, cache, folder) for cache in ("empty", "warm")]


def start(family: str, cache: str, folder: str) -> Start:
    """The first calls of a new process whose compiled code is kept in a folder, and nowhere else."""
    only = {"NUMBA_CACHE_DIR": folder, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    environment = os.environ | only | {"PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", str(SCRIPT), family]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = json.loads(done.stdout) if done.returncode == 0 else {}
    return Start(family, cache, seconds, "".join(done.stderr.strip().splitlines()[-1:]))
