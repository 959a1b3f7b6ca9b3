"""The first call in a process: nothing is loaded or compiled before it must, and no cache on disk can do harm."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bayesnb

# Two rows that some class explains, as probabilities by a kernel that calls others; then whether it was compiled.
USE = """
import numpy as np
from bayesnb import kernels
joint = np.log([[0.1, 0.3], [0.2, 0.2]])
normalise = kernels.rows.normalise
normalise(joint, True)
print(joint.round(12).tolist(), "compiled" if normalise.stats.cache_misses else "read")
"""
RIGHT = "[[0.25, 0.75], [0.5, 0.5]]"


def run(code: str, **options: Any) -> str:
    """What a new process prints; it must not complain."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def settings(package: Path, cache: Path, **more: str) -> dict[str, Any]:
    """Those of a process that finds the package in one folder, and compiled code in another."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return {"cwd": package, "env": rest | {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache)} | more}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the package, and a folder with what it compiled at its first use."""
    package, cache = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("cache")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(bayesnb.__file__).parent, package / "bayesnb", ignore=ignored)
    assert run(USE, **settings(package, cache)) == f"{RIGHT} compiled"
    return package, cache


def test_importing_the_package_loads_no_compiler() -> None:
    assert run("import sys, bayesnb; print({'numba', 'llvmlite'} & {*sys.modules} or 'none')") == "none"


def test_an_estimator_loads_the_compiler_when_it_fits_and_needs_no_cache_folder(used: tuple[Path, Path]) -> None:
    code = """if True:
        import sys
        from bayesnb import NaiveBayes, Poisson
        print({"numba", "llvmlite"} & {*sys.modules} or "none")
        print(NaiveBayes(Poisson()).fit([[0], [9]], ["few", "many"]).predict([[1], [8]]).tolist())
    """
    nowhere = settings(used[0], Path("/dev/null/cache"), NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert run(code, **nowhere).splitlines() == ["none", "['few', 'many']"]


def test_a_second_process_compiles_nothing(used: tuple[Path, Path]) -> None:
    assert run(USE, **settings(*used)) == f"{RIGHT} read"


def test_a_full_disk_does_no_harm(used: tuple[Path, Path], tmp_path: Path) -> None:
    def no_file_can_grow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    full = settings(used[0], tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert run(USE, **full, preexec_fn=no_file_can_grow) == f"{RIGHT} compiled"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "nbi": lambda data: data[: len(data) // 2],
    "nbc": lambda data: bytes(reversed(data)),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_cache_is_as_good_as_none_and_is_mended(used: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    cache = shutil.copytree(used[1], tmp_path / "cache")
    files = list(cache.rglob(f"*.{kind}"))
    assert files
    for file in files:
        file.write_bytes(DAMAGES[kind](file.read_bytes()))
    assert run(USE, **settings(used[0], cache)) == f"{RIGHT} compiled"
    assert run(USE, **settings(used[0], cache)) == f"{RIGHT} read"


def test_a_change_in_a_file_of_helpers_is_noticed(used: tuple[Path, Path], tmp_path: Path) -> None:
    package, cache = used[0], shutil.copytree(used[1], tmp_path / "cache")
    helpers = package / "bayesnb" / "kernels" / "math.py"
    before = helpers.read_text()
    try:
        helpers.write_text(before + "\n\n@compiled\ndef exp(x: float) -> float:\n    return 0.5\n")
        assert run(USE, **settings(package, cache)) == "[[0.5, 0.5], [0.5, 0.5]] compiled"
    finally:
        helpers.write_text(before)
