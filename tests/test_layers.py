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
    {"mcmc"},
    {"scale"},
    {"integrations"},
    {"criticism"},
    {"plots", "datasets"},
    {"estimators"},
    {"results"},
    {"inference", "selection", "persistence"},
    {"model"},
    {"data"},
    {"families"},
    {"numerics"},
]
HEIGHT = {room: len(ROOMS) - level for level, rooms in enumerate(ROOMS) for room in rooms}
HOMES = {
    "sklearn": {"estimators"},
    "numba": {"numerics"},
    "narwhals": {"data"},
    "pandas": {"data"},
    "matplotlib": {"plots"},
    "pymc": {"mcmc"},
    "pytensor": {"mcmc"},
    "xarray": {"results"},
    "arviz_base": {"results"},
    "arviz_stats": {"results"},
    "dask": {"integrations"},
    "pyarrow": {"integrations", "data"},
    "tqdm": {"cli", "results"},
    "jinja2": {"results"},
    "argcomplete": {"cli"},
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


IMPORTS = [(path, name) for path in MODULES for name in imports_of(path)]


def test_imports_point_down() -> None:
    upward = []
    for path, name in IMPORTS:
        here, (package, *rest) = room_of(path), name.split(".")
        if package == "bayesnb" and rest and ((PACKAGE / rest[0]).is_dir() or (PACKAGE / f"{rest[0]}.py").exists()):
            there = rest[0]
            upward += [f"{path.relative_to(PACKAGE)} imports {there}"] * (
                there != here and HEIGHT[there] >= HEIGHT[here]
            )
    assert not upward


def test_each_heavy_dependency_has_one_home() -> None:
    homes = {(path, name): HOMES.get(name.split(".")[0]) for path, name in IMPORTS}
    elsewhere = [pair for pair, rooms in homes.items() if rooms is not None and room_of(pair[0]) not in rooms]
    assert not elsewhere


def test_a_module_has_at_most_600_lines() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert not {path: lines for path, lines in lengths.items() if lines > 600}


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
