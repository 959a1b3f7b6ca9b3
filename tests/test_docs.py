"""The documentation: examples print what they say, docstrings are complete, commands are
understood.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

import bayesnb
from tests import page_examples
from tests.page_examples import PAGES, examples

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
SLOW_COMMAND = "bayesnb report"  # a page in full takes seconds


def pages_with_examples() -> Iterator[Any]:
    for name, text in TEXTS.items():
        if any(example.is_run for example in examples(text)):
            yield pytest.param(name, marks=pytest.mark.slow if SLOW_COMMAND in text else ())


@pytest.mark.parametrize("name", [*pages_with_examples()])
def test_the_examples_of_a_page_print_what_it_says(name: str) -> None:
    assert page_examples.differences(TEXTS[name], name) == []


def test_a_page_that_says_something_else_is_noticed() -> None:
    page = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    assert "-2\n+1" in page_examples.differences(page)[0]


def test_the_readme_gives_the_two_commands() -> None:
    assert "pip install uv && uv run bayesnb report" in README
    assert "uv run pytest" in README


def test_the_paper_cites_what_it_lists_and_lists_what_it_cites() -> None:
    entries = (ROOT / "notebooks" / "paper.bib").read_text(encoding="utf-8")
    listed = re.findall(r"^@\w+\{(\w+),$", entries, re.MULTILINE)
    assert {*re.findall(r"@(\w+)", TEXTS["paper.md"])} == {*listed}


# Docstrings, as numpydoc validates them

ROOMS = {
    "datasets": "dogs load path penguins spam text",
    "mcmc": "Logistic Sampled build fit logistic",
    "scale": "Reading Shard dumps fit_files fit_shards loads predict_files shard",
    "report": "report",
}
NAMES = [f"bayesnb.{name}" for name in bayesnb.__all__]
NAMES += [f"bayesnb.{room}.{name}" for room, names in ROOMS.items() for name in names.split()]
BELIEF = ["update", "log_evidence", "log_predictive", "log_moment", "cumulants", "sample"]
BELIEF += ["estimate", "mean", "mode", "interval", "predictive"]
RESULTS = {
    "bayesnb.Partition",
    "bayesnb.PredictionSets",
    "bayesnb.SmoothingComparison",
    "bayesnb.TableCheck",
}  # which functions return: nobody calls them

# all of numpydoc's checks but: where the quotes stand, an extended summary, and words for types
CODES = set(ERROR_MSGS) - {"GL01", "GL02", "ES01", "PR06", "RT02"}


def object_at(path: str) -> Any:
    """Return the object behind a dotted name."""
    value: Any = bayesnb
    for part in path.split(".")[1:]:
        value = (
            inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
        )
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def public_methods(path: str) -> Iterator[str]:
    """Yield the paths of the methods and properties of a class that users call."""
    kind = object_at(path)
    if not inspect.isclass(kind) or issubclass(kind, Warning) or hasattr(kind, "support"):
        return  # what families have besides is called by the model
    if path.endswith((".Shard", ".Reading", ".BestOf")):
        return
    names = [name for name in dir(kind) if not name.startswith("_")]
    if hasattr(kind, "log_moment"):
        names = BELIEF
    for name in names:
        value = inspect.getattr_static(kind, name)
        if isinstance(value, property | FunctionType) and "bayesnb" in home_of(value):
            yield f"{path}.{name}"


def home_of(value: Any) -> str:
    plain = inspect.unwrap(value.fget if isinstance(value, property) else value)
    return plain.__module__


def documented(path: str) -> Any:
    """Return what has the docstring that `help` shows: the object, or what it overrides."""
    value = object_at(path)
    parent, _, name = path.rpartition(".")
    if not inspect.isclass(object_at(parent)):
        return value
    for kind in object_at(parent).__mro__:
        own = kind.__dict__.get(name)
        own = own.__func__ if isinstance(own, classmethod) else own
        if own is not None and own.__doc__:
            return own
    return value


def exempt(path: str, value: Any) -> set[str]:
    """Return the codes that are not asked for, with the reason."""
    if path in RESULTS:
        return {"PR01"}  # the attributes are documented
    if inspect.isclass(value) and issubclass(value, Warning):
        return {"EX01"}  # an example would be that of the function that warns
    if isinstance(value, property):
        return {"SA01", "EX01"}  # the class has the attribute in its list, and examples
    if path.startswith("bayesnb.mcmc.") and path.count(".") > 2:
        return {"EX01"}  # sampling takes long: the class has an example
    if inspect.isclass(value):
        return {"PR03"}  # all are keywords, in the order in which a reader looks for them
    return set()


@pytest.mark.parametrize("name", NAMES)
def test_a_public_docstring_is_complete(name: str) -> None:
    for path in (name, *public_methods(name)):
        owner = documented(path)
        codes = CODES - exempt(path, owner)
        errors = validate(get_doc_object(owner))["errors"]
        assert not [f"{code} {text}" for code, text in errors if code in codes], path


@pytest.mark.parametrize("name", NAMES)
def test_documented_parameters_are_those_of_the_signature(name: str) -> None:
    for path in (name, *public_methods(name)):
        value = object_at(path)
        owner = documented(path)
        if isinstance(value, property) or path in RESULTS:
            continue
        if inspect.isclass(value) and issubclass(value, Warning):
            continue
        listed = set()
        for names, _, _ in get_doc_object(owner)["Parameters"]:
            listed |= set(re.findall(r"\w+", names))
        assert listed == set(inspect.signature(value).parameters) - {"self", "cls"}, path
