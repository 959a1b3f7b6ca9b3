"""Public docstrings are complete, as numpydoc validates them, and their examples print what they say."""

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pandas as pd
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

import bayesnb
from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB
from bayesnb.families.base import Belief

PACKAGE = Path(bayesnb.__file__).parent
ROOMS = {
    "datasets": "dogs load path penguins spam text",
    "mcmc": "DegenerateWarning Logistic ParetoWarning Sampled SamplingWarning build fit logistic",
    "scale": "Reading Shard always_compile dumps fit_files fit_shards loads predict_files shard",
    "report": "report",
}
NAMES = [f"bayesnb.{name}" for name in bayesnb.__all__] + [
    f"bayesnb.{room}.{name}" for room, names in ROOMS.items() for name in names.split()
]
PRESETS = [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, PoissonNB]
BELIEF = "update log_evidence log_predictive log_moment cumulants sample estimate mean mode interval predictive"

MADE = {"bayesnb.Partition", "bayesnb.SmoothingComparison"}  # classes of results, which functions return

# all of numpydoc's checks but: where the quotes stand, an extended summary, and words for types
CODES = set(ERROR_MSGS) - {"GL01", "GL02", "ES01", "PR06", "RT02"}


def object_at(path: str) -> Any:
    """The object behind a dotted name."""
    value: Any = bayesnb
    for part in path.split(".")[1:]:
        value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def module_of(value: Any) -> str:
    """The module in which a class, a function or a property is written."""
    plain = inspect.unwrap(value.fget if isinstance(value, property) else value)
    return plain.__module__ if inspect.isclass(plain) else inspect.getmodule(plain.__code__).__name__


def methods(path: str) -> Iterator[str]:
    """The public methods and properties of a class that users call."""
    kind = object_at(path)
    closed = issubclass(kind, Warning) if inspect.isclass(kind) else True
    if closed or path.endswith((".Shard", ".Reading")) or hasattr(kind, "support") or hasattr(kind, "over_blocks"):
        return  # what families have besides is called by the model
    for name in (
        BELIEF.split() if issubclass(kind, Belief) else [name for name in dir(kind) if not name.startswith("_")]
    ):
        value = object_at(f"{path}.{name}")
        if isinstance(value, property | FunctionType) and module_of(value).startswith("bayesnb."):
            yield f"{path}.{name}"


PATHS = {name: [name, *methods(name)] for name in NAMES}


def exempt(path: str, value: Any) -> set[str]:
    """Codes that are not asked for, with the reason."""
    codes = set()
    if path in MADE:
        codes |= {"PR01"}  # nobody calls it: the attributes are documented
    if inspect.isclass(value) and issubclass(value, Warning):
        codes |= {"EX01"}  # an example would be that of the function that warns
    if isinstance(value, property):
        codes |= {"SA01", "EX01"}  # the class has the attribute in its list, and examples
    if path.startswith("bayesnb.mcmc.") and path.count(".") > 2:
        codes |= {"EX01"}  # sampling takes long: the class has an example, and what is inherited has others
    if (inspect.isclass(value) and "NB" in value.__name__) or path.endswith((".Sampled", ".Logistic")):
        codes |= {"PR03"}  # all are keywords, in the order in which a reader looks for them
    return codes


def owner_of(path: str) -> Any:
    """What has the docstring that help shows: the object, or what it overrides."""
    value, (parent, _, name) = object_at(path), path.rpartition(".")
    if not inspect.isclass(object_at(parent)):
        return value
    chain = [each.__dict__[name] for each in object_at(parent).__mro__ if name in each.__dict__]
    plain = [each.__func__ if isinstance(each, classmethod) else each for each in chain]
    return next((each for each in plain if each.__doc__), value)


def written(name: str) -> list[tuple[str, Any]]:
    """The paths at a public name, with what has their docstring."""
    return [(path, owner_of(path)) for path in PATHS[name]]


def test_the_paths_are_what_a_reader_meets() -> None:
    paths = {path for each in PATHS.values() for path in each}
    assert {"bayesnb.NaiveBayes.predict_proba", "bayesnb.Beta.interval", "bayesnb.mcmc.Sampled.loo"} <= paths
    assert "bayesnb.PoissonNB.class_count_" in paths
    assert not any("._" in path or "score_cumulants" in path for path in paths)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_docstring_is_complete(name: str) -> None:
    for path, owner in written(name):
        codes = CODES - exempt(path, owner)
        errors = [f"{code} {text}" for code, text in validate(get_doc_object(owner))["errors"] if code in codes]
        assert not errors, f"{path}: {errors}"


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_defaults_are_those_of_the_signature(name: str) -> None:
    for path, owner in written(name):
        value = object_at(path)
        if isinstance(value, property) or path in MADE or (inspect.isclass(value) and issubclass(value, Warning)):
            continue
        documented = {
            name.strip(): kind
            for names, kind, _ in get_doc_object(owner)["Parameters"]
            for name in names.replace("*", "").split(",")
        }
        known = {name: each.default for name, each in inspect.signature(value).parameters.items() if name != "self"}
        known.pop("cls", None)
        assert set(documented) == set(known), path
        for parameter, default in known.items():
            if not isinstance(default, str | float | bool | None):
                continue
            shown = f'"{default}"' if isinstance(default, str) else str(default)
            said = rf"\bdefault[= ]{re.escape(shown)}$" + (r"|\b(optional|or None)$" if default is None else "")
            assert re.search(said, documented[parameter]), f"{path}: {parameter} : {documented[parameter]}"


@pytest.mark.parametrize("name", NAMES)
def test_what_a_docstring_refers_to_exists(name: str) -> None:
    for path, owner in written(name):
        parents = ["bayesnb", path.rpartition(".")[0]]
        for entries, _ in get_doc_object(owner)["See Also"]:
            for other, _ in entries:
                places = [other] if other.startswith("bayesnb.") else [f"{parent}.{other}" for parent in parents]
                assert any(is_there(place) for place in places), f"{path}: {other}"


def is_there(path: str) -> bool:
    try:
        object_at(path)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("kind", [NaiveBayes, *PRESETS], ids=lambda kind: kind.__name__)
def test_every_fitted_attribute_is_in_the_list(kind: type) -> None:
    model = kind(estimate="mean") if kind is not NaiveBayes else kind()
    model.fit(pd.DataFrame({"a": [0, 1, 1, 0] * 3, "b": [1, 1, 0, 0] * 3}), list("xyxx") * 3)
    listed = {
        name.strip()
        for each in (NaiveBayes, kind)
        for names, _, _ in get_doc_object(each)["Attributes"]
        for name in names.split(",")
    }
    inside = {"model_", "schema_"}  # values that methods are about
    there = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    assert there - inside <= listed <= there | {"links_", "temper_length_"}


# ---- examples

SKIPPED = {
    path: re.findall(".*# doctest: [+]SKIP", owner_of(path).__doc__ or "") for each in PATHS.values() for path in each
}
SAMPLED = [path for path, lines in SKIPPED.items() if lines and path.startswith("bayesnb.mcmc.")]


def test_only_examples_that_sample_or_write_a_picture_are_skipped() -> None:
    assert len(SAMPLED) >= 4
    assert all("savefig" in line for path, lines in SKIPPED.items() if path not in SAMPLED for line in lines)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", SAMPLED)
def test_examples_that_take_long_print_what_they_say(path: str) -> None:
    text = (inspect.getdoc(owner_of(path)) or "").replace("# doctest: +SKIP", "")
    test = doctest.DocTestParser().get_doctest(text, {}, path, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
