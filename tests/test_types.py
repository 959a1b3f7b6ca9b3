"""The annotations of public functions and methods: they are there, and they are true."""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import matplotlib as mpl
import pymc as pm
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
    value = object_at(path)
    value = inspect.unwrap(value.fget if isinstance(value, property) else value)
    return get_type_hints(value, localns={"Model": pm.Model}).get("return", Any)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_returned_is_annotated(name: str) -> None:
    functions = [] if inspect.isclass(object_at(name)) else [name]
    for path in [*functions, *public_methods(name)]:
        if path.split(".")[-1] not in ANY:
            assert find_return_type(path) is not Any, path


TABLE = penguins().dropna()[["bill_depth_mm", "island", "species"]]
X, Y = TABLE.drop(columns="species"), TABLE["species"]
MODEL = NaiveBayes(missing="auto").fit(X, Y)
ALONE = NaiveBayes(dependence=None, temper="loo").fit(X, Y)
WORDS = MultinomialNB().fit([[9, 1, 4], [7, 0, 5], [0, 6, 4]], ["spam", "spam", "ham"])
LINEAR = NaiveBayes("categorical").fit(X[["island"]], Y)
RESULTS: dict[str, list[Callable[[], Any]]] = {
    "NaiveBayes.choices_": [lambda: MODEL.choices_],
    "NaiveBayes.covariance_": [lambda: MODEL.covariance_, lambda: ALONE.covariance_],
    "NaiveBayes.decide": [lambda: MODEL.decide(X)],
    "NaiveBayes.draw_proba": [lambda: MODEL.draw_proba(X[:3])],
    "NaiveBayes.explain": [lambda: MODEL.explain(X)],
    "NaiveBayes.kfold": [lambda: MODEL.kfold(X, Y)],
    "NaiveBayes.linear_features": [lambda: LINEAR.linear_features(X[["island"]])],
    "NaiveBayes.linear_form": [lambda: LINEAR.linear_form()],
    "NaiveBayes.links_": [lambda: MODEL.links_],
    "NaiveBayes.loo": [lambda: MODEL.loo(X, Y)],
    "NaiveBayes.loo_proba": [lambda: MODEL.loo_proba(X, Y)],
    "NaiveBayes.missing_": [lambda: MODEL.missing_],
    "NaiveBayes.predict_interval": [lambda: MODEL.predict_interval(X)],
    "NaiveBayes.sample": [lambda: MODEL.sample(3)],
    "NaiveBayes.summary": [lambda: MODEL.summary()],
    "NaiveBayes.temper_": [lambda: MODEL.temper_, lambda: ALONE.temper_, lambda: WORDS.temper_],
    "NaiveBayes.temper_sd_": [lambda: MODEL.temper_sd_, lambda: ALONE.temper_sd_],
    "NaiveBayes.temper_length_": [lambda: MODEL.temper_length_, lambda: WORDS.temper_length_],
    "NaiveBayes.to_datatree": [lambda: MODEL.to_datatree(draws=5)],
    "NaiveBayes.to_sql": [lambda: ALONE.to_sql()],
    "NaiveBayes.uncertainty": [lambda: MODEL.uncertainty(X)],
    "Live.model": [lambda: bayesnb.Live(MODEL).model],
    "PredictionSets.predict": [lambda: bayesnb.prediction_sets(MODEL, X, Y).predict(X)],
    "TableCheck.to_frame": [lambda: bayesnb.check(MODEL, X).to_frame()],
    "calibration": [lambda: bayesnb.calibration(MODEL, X, Y)],
    "check": [lambda: bayesnb.check(MODEL, X)],
    "compare": [lambda: bayesnb.compare({"with": MODEL, "without": ALONE}, X, Y)],
    "dependence": [lambda: bayesnb.dependence(MODEL, X, Y)],
    "importance": [lambda: bayesnb.importance(MODEL, X, Y)],
    "points": [lambda: bayesnb.points(ALONE)],
    "relevance": [lambda: bayesnb.relevance(MODEL)],
    "tune": [lambda: bayesnb.tune(LINEAR, X[["island"]], Y)],
    "datasets.dogs": [dogs],
    "datasets.load": [lambda: load("dogs")],
    "datasets.spam": [spam],
    "mcmc.build": [lambda: mcmc.build(GaussianNB(), [[1.0], [2.0]], [0, 1])],
    "plot_calibration": [
        lambda: bayesnb.plot_calibration(MODEL, X, Y),
        lambda: bayesnb.plot_calibration(MODEL, X, Y, by="predicted"),
    ],
    "plot_check": [lambda: bayesnb.plot_check(bayesnb.check(MODEL, X))],
    "plot_column": [lambda: bayesnb.plot_column(MODEL, "island")],
    "plot_words": [lambda: bayesnb.plot_words(WORDS), lambda: bayesnb.plot_words(WORDS, ["ham"])],
    "scale.fit_shards": [lambda: scale.fit_shards(LINEAR, [scale.shard(LINEAR, X[["island"]], Y)])],
}


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a value is of an annotated type; of a container only that is looked at."""
    if get_origin(kind) in (Union, UnionType):
        return any(is_a(value, each) for each in get_args(kind))
    kind = getattr(kind, "__bound__", kind)  # of a type variable
    return isinstance(value, get_origin(kind) or kind)


@pytest.mark.parametrize("name", RESULTS)
@mpl.rc_context({"figure.max_open_warning": 0})
def test_what_is_returned_is_of_the_type_annotated(name: str) -> None:
    kind = find_return_type(f"bayesnb.{name}")
    for make in RESULTS[name]:
        assert is_a(make(), kind)
