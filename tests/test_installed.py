"""What is released: one version, a wheel that installs, advice where an extra is missing."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import bayesnb

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

HIDDEN = """
import sys
for name in {names!r}.split():
    sys.modules[name] = None
from bayesnb import GaussianNB, NaiveBayes, load, mcmc, scale
X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
{code}
"""


def run_without(names: str, code: str) -> str:
    """Return what a process prints that finds none of the packages; the last line of an error."""
    command = [sys.executable, "-c", HIDDEN.format(names=names, code=code)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + (done.stderr.splitlines() or [""])[-1]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
def test_without_pymc_or_a_sampler_one_line_says_how_to_install_it(sampler: str) -> None:
    code = f"mcmc.fit(GaussianNB(), X, y, sampler={sampler!r}, student=True, draws=10, tune=10)"
    message = run_without(f"jax {sampler}", code)
    assert "which is not installed" in message
    assert 'pip install ".[mcmc]"' in message


@pytest.mark.slow
def test_all_that_is_not_sampled_works_without_any_extra(tmp_path: Path) -> None:
    code = f"""
import pandas as pd
table = pd.DataFrame({{"x": [1.0, 1.2, 3.0, 3.1], "y": y}})
table.to_parquet({str(tmp_path / "part.parquet")!r})
model = scale.fit_files(GaussianNB(), {str(tmp_path)!r}, target="y", progress=False)
model.predict_interval(table[["x"]])
print(model.predict(pd.DataFrame({{"x": [1.1]}}))[0])
"""
    extras = "dask distributed pymc pytensor nutpie polars duckdb arviz_plots IPython"
    assert run_without(extras, code) == "low\n"


def test_there_is_one_version() -> None:
    citation = yaml.safe_load((ROOT / ".github" / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "notebooks" / "changelog.md").read_text(encoding="utf-8")
    version, released = re.findall(r"^## (\S+)(?: \((.+)\))?$", changelog, re.MULTILINE)[0]
    assert PROJECT["dynamic"] == ["version"]
    assert bayesnb.__version__ == citation["version"] == version
    assert str(citation.get("date-released", "")) == released
    assert ("Production/Stable" in "".join(PROJECT["classifiers"])) == bool(released)


def test_workflows_try_each_python_that_the_classifiers_name() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}" == PROJECT["requires-python"]


@pytest.mark.slow  # builds, and installs all dependencies from an index
def test_the_wheel_installs_by_pip_and_passes_its_doctests(tmp_path: Path) -> None:
    if not shutil.which("uv"):
        pytest.skip("uv, which builds the wheel, is not on the path")
    subprocess.run(["uv", "build", "-q", "--wheel", "-o", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 1_500_000
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
    binaries = env / ("Scripts" if os.name == "nt" else "bin")
    python = str(binaries / "python")
    pip = [python, "-m", "pip", "-q", "--disable-pip-version-check"]
    if subprocess.run([*pip, "install", "--dry-run", "jinja2"]).returncode:
        pytest.skip("there is no package index here")
    subprocess.run([*pip, "install", str(wheel), "pytest"], check=True)
    subprocess.run([*pip, "check"], check=True)
    command = [str(binaries / "bayesnb"), "report", "--quiet", "-o", "report.html"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert "penguins" in (tmp_path / "report.html").read_text(encoding="utf-8")
    doctests = ["--doctest-modules", "--pyargs", "bayesnb", "-k", "not (mcmc or scale)"]  # extras
    subprocess.run([python, "-m", "pytest", "-q", *doctests], check=True, cwd=tmp_path)
