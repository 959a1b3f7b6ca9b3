"""What is released: one version, files that parse and agree, wheels that install, advice where an extra is missing."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import bayesnb
from bayesnb.mcmc.sampling import install_advice

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GITHUB, NOTEBOOKS = ROOT / ".github", ROOT / "notebooks"
MEGABYTES = 1.5  # of a distribution; most of it is the code, and the example mails

HIDDEN = """
import sys
for name in {names!r}.split():
    sys.modules[name] = None
from bayesnb import GaussianNB, NaiveBayes, load, mcmc, scale
X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
{code}
"""


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def without(names: str, code: str) -> str:
    """What a process prints that finds none of the packages named, and what its last line says of an error."""
    done = subprocess.run([sys.executable, "-c", HIDDEN.format(names=names, code=code)], capture_output=True, text=True)
    return done.stdout + (done.stderr.splitlines() or [""])[-1]


@pytest.mark.slow
def test_without_pymc_or_a_sampler_one_line_says_how_to_install_it() -> None:
    code = """
fit = lambda sampler: mcmc.fit(GaussianNB(), X, y, sampler=sampler, student=True, draws=10, tune=10, chains=1)
for sampler in ("nutpie", "numpyro", "pymc"):
    sys.modules[sampler] = None
    try:
        fit(sampler)
    except ImportError as error:
        print(error)
"""
    advice = 'In a clone of bayesnb, which is not on a package index yet: pip install ".[mcmc]"'
    assert without("jax", code).splitlines() == [
        f"sampler='nutpie' needs the package nutpie, which is not installed. {advice}",
        "sampler='numpyro' needs the package numpyro, which is not installed. pip install numpyro",
        f"bayesnb.mcmc needs PyMC, which is not installed. {advice}",
    ]


@pytest.mark.slow
def test_without_polars_a_model_of_its_tables_says_what_to_install(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path = str(tmp_path / "m.bnb")
    bayesnb.GaussianNB().fit(polars.DataFrame({"x": [1.0, 1.2, 3.0, 3.1]}), ["low", "low", "high", "high"]).save(path)
    message = without("polars", f"load({path!r}).sample(2)")
    assert message == 'ImportError: the model was learnt from a table of polars: pip install "polars".'


@pytest.mark.slow
def test_all_that_is_not_sampled_works_without_any_extra(tmp_path: Path) -> None:
    code = f"""
import pandas as pd
pd.DataFrame({{"x": [1.0, 1.2, 3.0, 3.1], "y": y}}).to_parquet({str(tmp_path / "part.parquet")!r})
model = scale.fit_files(GaussianNB(), {str(tmp_path)!r}, target="y", progress=False)
model.predict_interval(pd.DataFrame({{"x": [1.1]}}))
print(model.predict(pd.DataFrame({{"x": [1.1]}}))[0])
"""
    assert without("dask distributed pymc pytensor nutpie polars duckdb arviz_plots IPython", code) == "low\n"


def test_no_sentence_says_that_the_package_is_on_an_index() -> None:
    pages = [ROOT / "README.md", *NOTEBOOKS.glob("*.md"), *NOTEBOOKS.glob("*.ipynb"), *GITHUB.rglob("*.md")]
    texts = [*(ROOT / "bayesnb").rglob("*.py"), *pages]
    pattern = re.compile(r"pip install [\"'\\]*bayesnb")
    assert not [path.name for path in texts if pattern.search(path.read_text(encoding="utf-8"))]


def test_the_page_on_installing_says_what_messages_say() -> None:
    page = " ".join((NOTEBOOKS / "install.md").read_text(encoding="utf-8").split())
    for extra in PROJECT["optional-dependencies"]:
        reason, _, command = install_advice(extra).partition(": ")
        assert f"| `{extra}` |" in page
        assert f"`{command}` |" in page
    assert "clone of bayesnb" in reason
    assert "not on a package index yet" in reason
    assert "It is not on a package index yet, so it is installed from a clone" in page


def test_there_is_one_version() -> None:
    assert parsed(GITHUB / "CITATION.cff")["version"] == bayesnb.__version__
    assert PROJECT["dynamic"] == ["version"]


def test_workflows_try_each_python_that_the_classifiers_name() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    matrix = parsed(GITHUB / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert f">={named[0]}" == PROJECT["requires-python"]
    assert {system.split("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}


def test_workflows_hold_no_secret_and_may_write_nothing_unasked() -> None:
    for path in (GITHUB / "workflows").glob("*.yml"):
        assert parsed(path)["permissions"] == {"contents": "read"}
        assert "secrets." not in path.read_text(encoding="utf-8")


def test_a_release_is_published_by_trust_and_only_when_it_was_released() -> None:
    publish = parsed(GITHUB / "workflows" / "release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["if"] == "github.event_name == 'release'"


@pytest.mark.parametrize("name", ["bug", "question", "feature"])
def test_an_issue_form_asks_for_what_it_cannot_do_without(name: str) -> None:
    form = parsed(GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert form["name"]
    assert form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len({*ids}) == len(ids)
    assert form["body"][0]["validations"]["required"]


def test_every_file_that_the_pages_for_contributors_name_exists() -> None:
    for page in GITHUB.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        names = re.findall(r"`((?:bayesnb|tests|\.github|\.ci)/[\w./-]*)`", text)
        assert all((ROOT / name).exists() for name in names), page.name
        assert all((GITHUB / link).exists() for link in re.findall(r"\]\(([^)#]+)\)", text)), page.name


# Distributions: built, and installed by pip where nothing else is -----------------------------------------------------


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("uv"):
        pytest.skip("uv, which builds the distributions, is not on the path")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["uv", "build", "-q", "-o", str(folder), str(ROOT)], check=True)
    return folder


def names_in(folder: Path) -> Iterator[tuple[str, int]]:
    """Files of the wheel and of the sdist, as they lie in the repository, and their sizes."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        yield from ((info.filename, info.file_size) for info in archive.infolist())
    with tarfile.open(sdist) as archive:
        yield from ((info.name.partition("/")[2], info.size) for info in archive.getmembers() if info.isfile())


@pytest.mark.slow  # builds
def test_distributions_hold_the_package_and_what_describes_it(distributions: Path) -> None:
    described = {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO", ".gitignore"}
    for name, size in names_in(distributions):
        assert name in described or name.startswith(("bayesnb/", f"bayesnb-{bayesnb.__version__}.dist-info/")), name
        assert size < 300_000, name
    assert all(path.stat().st_size < MEGABYTES * 1e6 for path in distributions.glob("bayesnb-*"))


@pytest.mark.slow  # a new environment, with all dependencies from an index
def test_a_distribution_installs_by_pip_in_an_empty_environment(distributions: Path, tmp_path: Path) -> None:
    """First the wheel, with all that it needs; then, in place of it, what pip builds from the sources."""
    (wheel,), (sources,) = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = str(binaries / "python")
    if subprocess.run([python, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "jinja2"]).returncode:
        pytest.skip("pip reaches no package index here")

    def run(*command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    needs = []
    for what in ([str(wheel)], ["--force-reinstall", "--no-deps", str(sources)]):
        run(python, "-m", "pip", "install", "-q", *what)
        assert run(python, "-m", "pip", "check").strip() == "No broken requirements found."
        assert run(python, "-c", "import bayesnb; print(bayesnb.__version__)").strip() == bayesnb.__version__
        run(str(binaries / "bayesnb"), "report", "--quiet", "-o", "report.html")
        assert "penguins" in (tmp_path / "report.html").read_text(encoding="utf-8")
        (tmp_path / "report.html").unlink()
        needs.append(run(python, "-c", "import importlib.metadata; print(importlib.metadata.requires('bayesnb'))"))
    assert needs[0] == needs[1]
