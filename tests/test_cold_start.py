"""The first call in a process: nothing is loaded or compiled before it must, and no cache on disk can do harm."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb import numerics
from bayesnb.numerics.compilation import compiled, remove_stale

# Two rows that some class explains, as probabilities by a kernel that calls others; then whether it was compiled.
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
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "compiled code is kept on disk"


LARGE = """if True:
    import numpy as np
    from numba.core import event
    from bayesnb import NaiveBayes
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100_000)
    X = rng.normal(size=(len(y), 20)) + 0.3 * y[:, None]
    with event.install_recorder("numba:compile") as fit:
        NaiveBayes().fit(X, y)
    few = NaiveBayes("gaussian").fit(X[:2000] + 2 * y[:2000, None], y[:2000])
    with event.install_recorder("numba:compile") as interval:
        few.predict_interval(X[:1000] + 2 * y[:1000, None])
    for recorder in (fit, interval):
        kernels = [each.data["dispatcher"].py_func for _, each in recorder.buffer if each.is_start]
        print(sum(kernel.__module__.startswith("bayesnb") for kernel in kernels))
"""


@pytest.mark.slow
def test_a_first_large_fit_and_interval_compile_a_dozen_small_kernels_at_most(
    used: tuple[Path, Path], tmp_path: Path
) -> None:
    fit, interval = map(int, run(LARGE, **settings(used[0], tmp_path)).splitlines())
    assert 0 < fit <= 9  # each takes .05 to .5 seconds: moments with what they call, and levels on a grid
    assert 0 < interval <= 10  # sums over grids of classes' scores


COMMAND = """if True:
    import sys
    from bayesnb.cli.command_line import main
    sys.argv, sys.stderr = ["bayesnb", *sys.argv[1:]], sys.stdout
    assert main() == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("sparse"), reason="sparse extends Numba")
def test_a_command_that_compiles_prints_nothing_of_packages_that_extend_numba(tmp_path: Path) -> None:
    rng, table = np.random.default_rng(0), tmp_path / "table.csv"
    pd.DataFrame({"y": rng.integers(0, 2, 20_000), "x": rng.normal(size=20_000)}).to_csv(table, index=False)
    words = ["fit", "-q", table, "--target", "y", "--family", "x=gaussian", "-o", tmp_path / "model.bnb"]
    command = [sys.executable, "-m", "bayesnb", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **settings(Path.cwd(), tmp_path))
    assert done.stderr == ""


IMPORTS = "import pandas, sklearn.base, matplotlib.figure, xarray"


@pytest.mark.slow
@pytest.mark.parametrize(("command", "most"), [("report", 3.6), ("predict", 1.05)])
def test_a_command_takes_few_times_the_processor_seconds_of_its_libraries_imports(
    tmp_path: Path, command: str, most: float
) -> None:
    """Measured 1.9 to 2.4 and 0.64 to 0.86; by a ratio, as other work on the machine slows both down."""
    table, model = tmp_path / "table.csv", tmp_path / "model.bnb"
    words: dict[str, list[Any]] = {"report": [], "predict": [model, table]}
    if command == "predict":
        bayesnb.datasets.penguins().to_csv(table, index=False)
        run(COMMAND, ["fit", "-q", table, "--target", "species", "-o", model])

    def seconds(code: str, *words: Any) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(code, words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    asked = [command, "-q", *words[command], "-o", tmp_path / "answer.csv"]
    ratios = [seconds(COMMAND, *asked) / seconds(IMPORTS) for _ in range(2)]
    assert min(ratios) < most, ratios


@pytest.mark.slow
def test_a_service_may_compile_for_every_row_and_needs_no_cache_folder(used: tuple[Path, Path]) -> None:
    code = """if True:
        from bayesnb import NaiveBayes, Poisson, numerics, scale
        scale.always_compile()
        print(NaiveBayes(Poisson()).fit([[0], [9]], ["few", "many"]).predict([[1], [8]]).tolist())
        print(len(numerics.rate_kernels.score_gamma.machine_code.signatures))
    """
    nowhere = settings(
        used[0], Path("/dev/null/cache"), NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator", NUMBA_OPT="0"
    )
    assert run(code, **nowhere).splitlines() == ["['few', 'many']", "1"]


def test_a_second_process_compiles_nothing(used: tuple[Path, Path]) -> None:
    assert run(USE, **settings(*used)) == f"{RIGHT} read"


@pytest.mark.slow
def test_a_full_disk_does_no_harm(used: tuple[Path, Path], tmp_path: Path) -> None:
    def no_file_can_grow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    full = settings(used[0], tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert run(USE, **full, preexec_fn=no_file_can_grow) == f"{RIGHT} compiled"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process keeps the code of kernels that are compiled from here on."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return Path(are_counts().stats.cache_path)


def are_counts() -> Any:
    """A kernel as a new process has it: neither compiled nor read as yet."""
    return compiled(numerics.count_kernels.are_counts.loops).machine_code


def refusals(kernel: Any) -> list[bool]:
    """Of half a count, and of minus one: the bits of each are a count, or a missing cell, if read as the other type."""
    return [not kernel(np.array([number]), True, True) for number in (0.5, -1)]


def compilations(kernel: Any) -> int:
    return sum(kernel.stats.cache_misses.values())


def test_code_of_another_signature_is_never_run(folder: Path) -> None:
    assert refusals(are_counts()) == [True, True]
    one, two = folder.iterdir()
    code = one.read_bytes(), two.read_bytes()
    one.write_bytes(code[1])
    two.write_bytes(code[0])
    for expected in (2, 0):  # neither is taken for the other, and both are put right
        kernel = are_counts()
        assert (refusals(kernel), compilations(kernel)) == ([True, True], expected)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "reversed": lambda data: bytes(reversed(data)),
    "a bit of the checksum": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "a bit of the stamp": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "a bit of the code": lambda data: data[:-5000] + bytes([data[-5000] ^ 1]) + data[-4999:],
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_as_good_as_none_and_is_mended(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    are_counts()(np.array([1.0]), True, True)
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    for expected in (1, 0):
        kernel = are_counts()
        assert (kernel(np.array([0.5]), True, True), compilations(kernel)) == (False, expected)


@pytest.mark.parametrize("version", ["numba.__version__", "llvmlite.__version__", "numpy.__version__", "sys.version"])
def test_code_of_every_version_is_kept_and_read_by_that_version_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    def compiled_afresh() -> int:
        kernel = are_counts()
        kernel(np.array([1]), True, True)
        return compilations(kernel)

    assert compiled_afresh() == 1
    with monkeypatch.context() as patch:
        patch.setattr(version, "0.0.0")
        assert [compiled_afresh(), compiled_afresh()] == [1, 0]
    assert compiled_afresh() == 0


def test_a_folder_that_is_gone_by_the_time_of_writing_does_no_harm(folder: Path) -> None:
    kernel = are_counts()
    folder.rmdir()
    folder.touch()  # not even root can write there
    assert refusals(kernel) == [True, True]


def test_what_was_written_long_ago_or_never_finished_is_removed_and_nothing_else(folder: Path) -> None:
    unfinished, foreign = folder / f"{numerics.__name__}.counts.killed.0.0.0", folder / "foreign.file"
    unfinished.touch()
    foreign.touch()
    are_counts()(np.array([1]), True, True)
    assert foreign.exists()
    assert not unfinished.exists()
    (file,) = {*folder.iterdir()} - {foreign}
    os.utime(file, (0, 0))
    remove_stale(folder)  # once in a process
    assert file.exists()
    remove_stale.cache_clear()
    remove_stale(folder)
    assert [*folder.iterdir()] == [foreign]


def test_a_kernel_that_is_to_be_compiled_again_is_not_read(folder: Path) -> None:
    kernel = are_counts()
    kernel(np.array([1]), True, True)
    kernel.recompile()
    assert (compilations(kernel), len([*folder.iterdir()])) == (2, 1)


def test_a_compiler_that_keeps_code_in_another_way_works_without_a_cache(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("numba.core.caching.CompileResultCacheImpl")
        assert refusals(are_counts()) == [True, True]
    assert not [*folder.iterdir()]


# Several processes begin at once, in one folder, on two dtypes each; by their sources exp(x) is exp(x), or 1/2.
TOGETHER = """
import os, sys, time
from pathlib import Path
import numpy as np
from numba.core.caching import UserProvidedCacheLocator
UserProvidedCacheLocator.get_suitable_cache_subpath = classmethod(lambda cls, file: "one folder for all sources")
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
        ready, cache = tmp_path / f"ready{attempt}", tmp_path / f"cache{attempt // 2}"
        ready.mkdir()
        runs = list(product(right, ("fi", "if"), ({}, {"NUMBA_CPU_NAME": "generic"})))
        how = {"READY": str(ready), "TOGETHER": str(len(runs))}
        with ThreadPoolExecutor(len(runs)) as pool:
            done = [
                pool.submit(run, TOGETHER, **settings(package, cache, KINDS=kinds, **how, **processor))
                for package, kinds, processor in runs
            ]
        for (package, *_), printed in zip(runs, done, strict=True):
            assert printed.result() == str([(right[package], False)] * 2)


@pytest.mark.slow
def test_a_change_in_a_file_of_helpers_is_noticed(used: tuple[Path, Path], tmp_path: Path) -> None:
    package, cache = used[0], shutil.copytree(used[1], tmp_path / "cache")
    helpers = package / "bayesnb" / "numerics" / "elementary.py"
    before, earlier = helpers.read_text(), {*cache.rglob("*.*.*")}
    assert earlier
    try:
        helpers.write_text(before + "\n\n@compiled\ndef exp(x: float) -> float:\n    return 0.5\n")
        assert run(USE, **settings(package, cache)) == "[[0.5, 0.5], [0.5, 0.5]] compiled"
        assert not earlier & {*cache.rglob("*.*.*")}, "code of the earlier sources is never read again"
    finally:
        helpers.write_text(before)
