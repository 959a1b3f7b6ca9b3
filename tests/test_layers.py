"""The plan of the house as facts: imports point down, each dependency has one home, the import is
light.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayesnb"

# Top to bottom. A module may import only from its own room and from rooms below it.
ROOMS = [
    {"__main__"},
    {"cli"},
    {"report"},
    {"mcmc"},
    {"scale"},
    {"plots", "datasets"},
    {"criticism"},
    {"estimators"},
    {"results"},
    {"inference", "selection", "persistence"},
    {"model"},
    {"data"},
    {"families"},
    {"numerics"},
    {"stages"},
    {"safe_output", "formatting", "progress"},
]
HEIGHT = {room: -level for level, rooms in enumerate(ROOMS) for room in rooms}
HOMES = {
    "sklearn": {"estimators"},
    "numba": {"numerics"},
    "narwhals": {"data"},
    "pandas": {"data", "results"},
    "matplotlib": {"plots"},
    "pymc": {"mcmc"},
    "pytensor": {"mcmc"},
    "xarray": {"results"},
    "arviz_base": {"results"},
    "arviz_stats": {"results"},
    "dask": {"scale"},
    "pyarrow": {"scale", "data"},
    "tqdm": {"progress"},
    "jinja2": {"report"},
    "click": {"cli"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def nodes_of(path: Path) -> list[ast.Import | ast.ImportFrom | ast.ClassDef]:
    """Imports and classes, wherever in the file: several tests look at them."""
    kinds = ast.Import, ast.ImportFrom, ast.ClassDef
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def imports_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_point_down() -> None:
    upward = [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        for name in imports_of(path)
        if name.startswith("bayesnb.") and (there := name.split(".")[1]) in HEIGHT
        if there != room_of(path) and HEIGHT[there] >= HEIGHT[room_of(path)]
    ]
    assert not upward


def test_each_heavy_dependency_has_one_home() -> None:
    strays = [
        f"{name_of(path)} imports {name}"
        for path in MODULES
        for name in imports_of(path)
        if room_of(path) not in HOMES.get(name.split(".")[0], {room_of(path)})
    ]
    assert not strays


def loaded_after(statement: str) -> set[str]:
    code = (
        f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_after("import bayesnb") & {*HOMES, "arviz", "numba", "scipy"}


def test_importing_an_estimator_loads_neither_pymc_nor_matplotlib_nor_dask() -> None:
    heavy = {"pymc", "pytensor", "matplotlib", "dask", "arviz", "xarray", "jinja2"}
    assert not loaded_after("from bayesnb import NaiveBayes") & heavy


def test_importing_the_package_takes_under_half_a_second() -> None:
    code = (
        "import time; start = time.perf_counter(); import bayesnb; "
        "print(time.perf_counter() - start)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    assert min(times) < 0.5


def test_every_public_name_resolves() -> None:
    import bayesnb

    for name in bayesnb.__all__:
        assert getattr(bayesnb, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bayesnb.nothing  # noqa: B018
