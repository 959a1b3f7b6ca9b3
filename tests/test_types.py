"""The annotations of public functions and methods: they are there, and they are true."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import matplotlib as mpl
import pytest

import bayesnb
from bayesnb import GaussianNB, MultinomialNB, NaiveBayes, mcmc, scale
from bayesnb.datasets import dogs, load, penguins, spam
from tests.test_docs import NAMES, object_at, public_methods

ANY = {
    "at": "what a user gave to Live",
    "predictive": "SciPy's frozen distributions have no public type",
}


def find_return_type(path: str) -> Any:
    """Return what a function, method or property says that it returns."""
    import pymc  # seconds, which collection should not take

    value = object_at(path)
    value = inspect.unwrap(value.fget if isinstance(value, property) else value)
    return get_type_hints(value, localns={"Model": pymc.Model}).get("return", Any)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_returned_is_annotated(name: str) -> None:
    functions = [] if inspect.isclass(object_at(name)) else [name]
    for path in [*functions, *public_methods(name)]:
        if path.split(".")[-1] not in ANY:
            assert find_return_type(path) is not Any, path


TABLE = penguins().dropna()[["bill_depth_mm", "island", "species"]]
X, Y = TABLE.drop(columns="species"), TABLE["species"]


@pytest.fixture(scope="module")
def models() -> SimpleNamespace:
    words = [[9, 1, 4], [7, 0, 5], [0, 6, 4]]
    return SimpleNamespace(
        chosen=NaiveBayes(missing="auto").fit(X, Y),
        alone=NaiveBayes(dependence=None, temper="loo").fit(X, Y),
        words=MultinomialNB().fit(words, ["spam", "spam", "ham"]),
        linear=NaiveBayes("categorical").fit(X[["island"]], Y),
    )


RESULTS: dict[str, list[Callable[[Any], Any]]] = {
    "NaiveBayes.choices_": [lambda m: m.chosen.choices_],
    "NaiveBayes.covariance_": [lambda m: m.chosen.covariance_, lambda m: m.alone.covariance_],
    "NaiveBayes.decide": [lambda m: m.chosen.decide(X)],
    "NaiveBayes.draw_proba": [lambda m: m.chosen.draw_proba(X[:3])],
    "NaiveBayes.explain": [lambda m: m.chosen.explain(X)],
    "NaiveBayes.kfold": [lambda m: m.chosen.kfold(X, Y)],
    "NaiveBayes.linear_features": [lambda m: m.linear.linear_features(X[["island"]])],
    "NaiveBayes.linear_form": [lambda m: m.linear.linear_form()],
    "NaiveBayes.links_": [lambda m: m.chosen.links_],
    "NaiveBayes.loo": [lambda m: m.chosen.loo(X, Y)],
    "NaiveBayes.loo_proba": [lambda m: m.chosen.loo_proba(X, Y)],
    "NaiveBayes.missing_": [lambda m: m.chosen.missing_],
    "NaiveBayes.predict_interval": [lambda m: m.chosen.predict_interval(X)],
    "NaiveBayes.sample": [lambda m: m.chosen.sample(3)],
    "NaiveBayes.summary": [lambda m: m.chosen.summary()],
    "NaiveBayes.temper_": [
        lambda m: m.chosen.temper_,
        lambda m: m.alone.temper_,
        lambda m: m.words.temper_,
    ],
    "NaiveBayes.temper_sd_": [lambda m: m.chosen.temper_sd_, lambda m: m.alone.temper_sd_],
    "NaiveBayes.temper_length_": [
        lambda m: m.chosen.temper_length_,
        lambda m: m.words.temper_length_,
    ],
    "NaiveBayes.to_datatree": [lambda m: m.chosen.to_datatree(draws=5)],
    "NaiveBayes.to_sql": [lambda m: m.alone.to_sql()],
    "NaiveBayes.uncertainty": [lambda m: m.chosen.uncertainty(X)],
    "Live.model": [lambda m: bayesnb.Live(m.chosen).model],
    "PredictionSets.predict": [lambda m: bayesnb.prediction_sets(m.chosen, X, Y).predict(X)],
    "TableCheck.to_frame": [lambda m: bayesnb.check(m.chosen, X).to_frame()],
    "calibration": [lambda m: bayesnb.calibration(m.chosen, X, Y)],
    "check": [lambda m: bayesnb.check(m.chosen, X)],
    "compare": [lambda m: bayesnb.compare({"with": m.chosen, "without": m.alone}, X, Y)],
    "dependence": [lambda m: bayesnb.dependence(m.chosen, X, Y)],
    "importance": [lambda m: bayesnb.importance(m.chosen, X, Y)],
    "points": [lambda m: bayesnb.points(m.alone)],
    "relevance": [lambda m: bayesnb.relevance(m.chosen)],
    "tune": [lambda m: bayesnb.tune(m.linear, X[["island"]], Y)],
    "datasets.dogs": [lambda m: dogs()],
    "datasets.load": [lambda m: load("dogs")],
    "datasets.spam": [lambda m: spam()],
    "mcmc.build": [lambda m: mcmc.build(GaussianNB(), [[1.0], [2.0]], [0, 1])],
    "plot_calibration": [
        lambda m: bayesnb.plot_calibration(m.chosen, X, Y),
        lambda m: bayesnb.plot_calibration(m.chosen, X, Y, by="predicted"),
    ],
    "plot_check": [lambda m: bayesnb.plot_check(bayesnb.check(m.chosen, X))],
    "plot_column": [lambda m: bayesnb.plot_column(m.chosen, "island")],
    "plot_words": [
        lambda m: bayesnb.plot_words(m.words),
        lambda m: bayesnb.plot_words(m.words, ["ham"]),
    ],
    "scale.fit_shards": [
        lambda m: scale.fit_shards(m.linear, [scale.shard(m.linear, X[["island"]], Y)])
    ],
}


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a value is of an annotated type; of a container only that is looked at."""
    if get_origin(kind) in (Union, UnionType):
        return any(is_a(value, each) for each in get_args(kind))
    kind = getattr(kind, "__bound__", kind)  # of a type variable
    return isinstance(value, get_origin(kind) or kind)


@pytest.mark.parametrize("name", RESULTS)
@mpl.rc_context({"figure.max_open_warning": 0})
def test_what_is_returned_is_of_the_type_annotated(models: SimpleNamespace, name: str) -> None:
    kind = find_return_type(f"bayesnb.{name}")
    for make in RESULTS[name]:
        assert is_a(make(models), kind)
