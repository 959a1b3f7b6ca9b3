"""Parameters of families and priors as scikit-learn's searches name them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesnb import (
    Bernoulli,
    BestOf,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gaussian,
    GaussianNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
)

RNG = np.random.default_rng(1)
X = pd.DataFrame({"a": RNG.choice(list("xyz"), 60), "b": RNG.normal(size=60), "a__b": RNG.choice(list("st"), 60)})
Y = np.where(RNG.random(60) < 0.5 + 0.3 * (X["a"] == "x"), "u", "v")
PRIOR = NormalInverseGamma(mean=0, count=1, shape=2, scale=3)


def test_every_parameter_of_a_family_is_listed_by_name() -> None:
    params = NaiveBayes({"a": Categorical(0.5), "b": Gaussian(PRIOR), ("c", "d"): "joint"}).get_params()
    assert params["families__a__prior__concentration"] == 0.5
    assert [params[f"families__b__prior__{name}"] for name in ("mean", "count", "shape", "scale")] == [0, 1, 2, 3]
    assert params["families__b__shared"] is False
    assert params["families__a"] is params["families"]["a"]
    assert not [name for name in NaiveBayes().get_params() if "__" in name]
    assert not [name for name in NaiveBayes({"a": Categorical()}).get_params(deep=False) if "__" in name]
    assert NaiveBayes("categorical").get_params()["families__prior__concentration"] == 1.0
    assert GaussianNB(prior=PRIOR).get_params()["prior__shape"] == 2
    assert NaiveBayes(class_prior=Dirichlet([1, 2])).get_params()["class_prior__concentration"].tolist() == [1, 2]


def test_what_is_set_is_a_new_value_and_the_old_one_stays() -> None:
    families = {"a": Categorical(0.5), "b": "gaussian", "a__b": Bernoulli(Beta(1, 2))}
    model = NaiveBayes(families)
    changed = clone(model).set_params(
        families__a__prior__concentration=2.0, families__b__prior=PRIOR, families__a__b__prior__b=7, temper=0.5
    )
    assert model.families is families
    assert families["a"].prior.concentration == 0.5
    assert families["b"] == "gaussian"
    assert changed.families["a"].prior.concentration == 2
    assert changed.families["b"].prior is PRIOR
    assert changed.families["a__b"].prior.b == 7
    assert changed.temper == 0.5
    assert list(changed.families) == list(families)
    assert changed.set_params(families__b__prior__mean=4).families["b"].prior.location == 4
    assert changed.set_params(families__a="bernoulli", families__a__prior__a=3).families["a"].prior.a == 3


def test_the_setting_of_every_parameter_to_what_it_is_changes_nothing() -> None:
    for model in (
        NaiveBayes({"a": Categorical(0.5), "b": Gaussian(PRIOR)}),
        NaiveBayes(BestOf(Gaussian(), Poisson(), margin=3)),
        NaiveBayes(Categorical(Dirichlet("evidence", base="pooled"))),
        CategoricalNB(alpha=2),
        GaussianNB(prior=PRIOR),
    ):
        same = clone(model).set_params(**model.get_params())
        assert repr(same) == repr(model)
        assert repr(clone(same)) == repr(model)


def test_a_search_over_a_concentration_is_the_search_by_hand() -> None:
    grid = [0.01, 1.0, 100.0]
    search = GridSearchCV(
        NaiveBayes({"a": Categorical(), "b": "drop", "a__b": "drop"}, temper=None),
        {"families__a__prior__concentration": grid},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    by_hand = GridSearchCV(
        NaiveBayes(temper=None),
        {"families": [{"a": Categorical(c), "b": None, "a__b": None} for c in grid]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"], rtol=1e-12
    )
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    pipeline = make_pipeline(FunctionTransformer(), NaiveBayes({"a": "categorical"}))
    pipeline.set_params(naivebayes__families__a__prior=0.25)
    assert pipeline[-1].families["a"].prior.concentration == 0.25


@pytest.mark.parametrize(
    ("model", "params", "message"),
    [
        (NaiveBayes(Categorical()), {"families__alpha": 1}, "'alpha' of families.*Valid parameters are: prior, levels"),
        (NaiveBayes({"a": Categorical()}), {"families__b__prior": 1}, "'b__prior' of families.*parameters are: a"),
        (NaiveBayes(), {"families__prior": 1}, "'prior' of families, which is 'auto'. It has no parameters"),
        (NaiveBayes(Gaussian()), {"families__prior__count": 1}, "'count' of families__prior, which is None"),
        (NaiveBayes(), {"family__prior": 1}, "Invalid parameter 'family'"),
        (NaiveBayes(Categorical()), {"families__prior__concentration": -1}, "concentration"),
    ],
)
def test_a_parameter_that_is_not_there_is_an_error_that_lists_those_that_are(
    model: Any, params: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        model.set_params(**params)
