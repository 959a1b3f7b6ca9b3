"""The first call in a process: nothing is loaded or compiled before it must, and no cache on disk
can do harm.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb

# Two rows that some class explains, as probabilities by a kernel that calls others; then whether it
# was compiled.
USE = """
import numpy as np
from bayesnb import numerics
joint = np.log([[0.1, 0.3], [0.2, 0.2]])
normalise = numerics.row_kernels.normalise.machine_code
normalise(joint, True)
print(joint.round(12).tolist(), "compiled" if normalise.stats.cache_misses else "read")
"""
RIGHT = "[[0.25, 0.75], [0.5, 0.5]]"


def run(code: str, words: Sequence[Any] = (), **options: Any) -> str:
    """What a new process prints, given the words of a command; it must not complain."""
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def settings(package: Path, cache: Path, **more: str) -> dict[str, Any]:
    """Those of a process that finds the package in one folder, and compiled code in another."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return {
        "cwd": package,
        "env": rest | {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache)} | more,
    }


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the package, and a folder with what it compiled at its first use."""
    package = tmp_path_factory.mktemp("package")
    cache = tmp_path_factory.mktemp("cache")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(bayesnb.__file__).parent, package / "bayesnb", ignore=ignored)
    assert run(USE, **settings(package, cache)) == f"{RIGHT} compiled"
    return package, cache


def test_importing_the_package_loads_no_compiler() -> None:
    assert (
        run("import sys, bayesnb; print({'numba', 'llvmlite'} & {*sys.modules} or 'none')")
        == "none"
    )


SMALL = """if True:
    import sys
    from bayesnb import NaiveBayes
    from bayesnb.datasets import penguins
    from bayesnb.report import report
    table = penguins()
    X, y = table.drop(columns="species"), table["species"]
    model = NaiveBayes().fit(X, y)
    print(model.predict(X[::150]).tolist(), model.predict_proba(X).shape)
    print({"numba", "llvmlite"} & {*sys.modules} or "none")
    model.predict_interval(X[:3])
    model.predict_interval(X[:3], rows="fixed", method="exact")
    model.uncertainty(X[:3])
    model.explain(X[:3])
    model.loo(X, y)
    model.partial_fit(X, y)
    report(NaiveBayes(), X, y)
"""


@pytest.mark.slow
def test_nothing_is_compiled_for_a_small_table(used: tuple[Path, Path], tmp_path: Path) -> None:
    answers = run(SMALL, **settings(used[0], tmp_path)).splitlines()
    assert answers == ["['Adelie', 'Adelie', 'Chinstrap'] (344, 3)", "none"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], (
        "compiled code is kept on disk"
    )


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("sparse"), reason="sparse extends Numba")
def test_a_command_that_compiles_prints_nothing_of_packages_that_extend_numba(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    table = tmp_path / "table.csv"
    pd.DataFrame({"y": rng.integers(0, 2, 20_000), "x": rng.normal(size=20_000)}).to_csv(
        table, index=False
    )
    words = [
        "fit",
        "-q",
        table,
        "--target",
        "y",
        "--family",
        "x=gaussian",
        "-o",
        tmp_path / "model.bnb",
    ]
    command = [sys.executable, "-m", "bayesnb", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, **settings(Path.cwd(), tmp_path)
    )
    assert done.stderr == ""


@pytest.mark.slow
def test_a_second_process_compiles_nothing(used: tuple[Path, Path]) -> None:
    assert run(USE, **settings(*used)) == f"{RIGHT} read"


@pytest.mark.slow
def test_a_full_disk_does_no_harm(used: tuple[Path, Path], tmp_path: Path) -> None:
    def no_file_can_grow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    full = settings(used[0], tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert run(USE, **full, preexec_fn=no_file_can_grow) == f"{RIGHT} compiled"


# Several processes begin at once, in one folder, on two dtypes each; by their sources exp(x) is
# exp(x), or 1/2.
TOGETHER = """
import os, sys, time
from pathlib import Path
import numpy as np
from numba.core.caching import UserProvidedCacheLocator
name_folder = classmethod(lambda cls, file: "one folder for all sources")
UserProvidedCacheLocator.get_suitable_cache_subpath = name_folder
from bayesnb import numerics
ready, together, kinds = Path(os.environ["READY"]), int(os.environ["TOGETHER"]), os.environ["KINDS"]
normalise = numerics.row_kernels.normalise.machine_code
are_counts = numerics.count_kernels.are_counts.machine_code
(ready / str(os.getpid())).touch()
deadline = time.monotonic() + 300
while len([*ready.iterdir()]) < together and time.monotonic() < deadline:
    time.sleep(0.005)
results = {}
for kind in kinds:
    log_dtype, dtype, number = {"i": ("f4", "i8", -1), "f": ("f8", "f8", 0.5)}[kind]
    joint = np.log(np.array([[0.1, 0.3], [0.2, 0.2]])).astype(log_dtype)
    normalise(joint, True)
    results[kind] = joint.round(5).tolist(), are_counts(np.array([number], dtype), True, True)
print([results[kind] for kind in "fi"])
"""


@pytest.mark.slow
def test_first_runs_at_once_of_two_dtypes_sources_and_processors_do_not_mix(
    used: tuple[Path, Path], tmp_path: Path
) -> None:
    other = shutil.copytree(used[0], tmp_path / "other")
    with (other / "bayesnb" / "numerics" / "elementary.py").open("a") as file:
        file.write("\n\n@compiled\ndef exp(x: float) -> float:\n    return 0.5\n")
    right = {used[0]: [[0.25, 0.75], [0.5, 0.5]], other: [[0.5, 0.5], [0.5, 0.5]]}
    for attempt in range(2):
        ready = tmp_path / f"ready{attempt}"
        cache = tmp_path / f"cache{attempt // 2}"
        ready.mkdir()
        runs = list(product(right, ("fi", "if"), ({}, {"NUMBA_CPU_NAME": "generic"})))
        how = {"READY": str(ready), "TOGETHER": str(len(runs))}
        with ThreadPoolExecutor(len(runs)) as pool:
            done = [
                pool.submit(
                    run, TOGETHER, **settings(package, cache, KINDS=kinds, **how, **processor)
                )
                for package, kinds, processor in runs
            ]
        for (package, *_), printed in zip(runs, done, strict=True):
            assert printed.result() == str([(right[package], False)] * 2)


@pytest.mark.slow
def test_a_change_in_a_file_of_helpers_is_noticed(used: tuple[Path, Path], tmp_path: Path) -> None:
    package = used[0]
    cache = shutil.copytree(used[1], tmp_path / "cache")
    helpers = package / "bayesnb" / "numerics" / "elementary.py"
    before = helpers.read_text()
    earlier = {*cache.rglob("*.*.*")}
    assert earlier
    try:
        helpers.write_text(before + "\n\n@compiled\ndef exp(x: float) -> float:\n    return 0.5\n")
        assert run(USE, **settings(package, cache)) == "[[0.5, 0.5], [0.5, 0.5]] compiled"
        assert not earlier & {*cache.rglob("*.*.*")}, (
            "code of the earlier sources is never read again"
        )
    finally:
        helpers.write_text(before)
