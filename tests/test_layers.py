"""Imports point down, each heavy dependency has one home, and a cold import is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayesnb"

# Top to bottom. A module may import only from rooms below its own.
ROOMS = [
    {"__main__"},
    {"cli"},
    {"report"},
    {"criticism"},
    {"figures", "datasets", "live"},
    {"mcmc", "loading"},
    {"estimators"},
    {"classifier"},
    {"scale"},
    {"generate", "storage", "forgetting", "inclusion"},
    {"shards"},
    {"schema", "labels", "export"},
    {"declaration", "cells", "unseen"},
    {"smoothing"},
    {"structure"},
    {"table", "evaluate", "priors", "uncertainty", "averaging"},
    {"model"},
    {"families"},
    {"views"},
    {"special", "kernels", "threads", "replacing", "levels", "visible"},
]
HEIGHT = {room: len(ROOMS) - level for level, rooms in enumerate(ROOMS) for room in rooms}
HOMES = {
    "sklearn": {"classifier"},
    "numba": {"kernels"},
    "narwhals": {"table"},
    "pandas": {"table"},
    "matplotlib": {"figures"},
    "pymc": {"mcmc"},
    "pytensor": {"mcmc"},
    "jinja2": {"export"},
    "xarray": {"export"},
    "arviz_base": {"export"},
    "arviz_stats": {"export"},
    "dask": {"scale"},
    "pyarrow": {"scale", "table"},
    "tqdm": {"cli", "scale"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    here = room_of(path)
    for name in imports_of(path):
        parts = name.split(".")
        if (
            parts[0] == "bayesnb"
            and len(parts) > 1
            and (PACKAGE / parts[1]).with_suffix(".py").exists() | (PACKAGE / parts[1]).is_dir()
        ):
            there = parts[1]
            assert there == here or HEIGHT[there] < HEIGHT[here], f"{here} imports {there}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_heavy_dependency_has_one_home(path: Path) -> None:
    for name in imports_of(path):
        homes = HOMES.get(name.split(".")[0])
        assert homes is None or room_of(path) in homes, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_has_at_most_600_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 600


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_after("import bayesnb") & {*HOMES, "arviz", "numba", "scipy"}


def test_importing_an_estimator_loads_neither_pymc_nor_matplotlib_nor_dask() -> None:
    heavy = loaded_after("from bayesnb import NaiveBayes") & {
        "pymc",
        "pytensor",
        "matplotlib",
        "dask",
        "arviz",
        "xarray",
    }
    assert not heavy


def test_importing_the_package_takes_under_half_a_second() -> None:
    code = "import time; start = time.perf_counter(); import bayesnb; print(time.perf_counter() - start)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(times) < 0.5


def test_every_public_name_resolves() -> None:
    import bayesnb

    for name in bayesnb.__all__:
        assert getattr(bayesnb, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bayesnb.nothing  # noqa: B018
