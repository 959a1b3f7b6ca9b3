"""Exact leave-one-out against refits without each row."""

from typing import Any

import numpy as np
import pytest

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Gamma,
    Gaussian,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
)
from bayesnb.data import open_table
from bayesnb.model.product import Rows
from bayesnb.selection.leave_one_out import PredictiveRule, loo_log_proba
from bayesnb.selection.probability_scores import accuracy, brier, log_loss

RNG = np.random.default_rng(6)
Y = np.arange(30) % 3
COUNTS = RNG.poisson(2.0, (30, 4)).astype(float)
HOLES = np.where(RNG.random((30, 4)) < 0.1, np.nan, COUNTS)
WEAK = NormalInverseGamma(0.0, 0.5, 1.0, 1.0)
FEW, MANY = RNG.choice([0.5, 1.0, 2.5], 30), RNG.uniform(0.2, 3.0, 30)

CASES = [
    (Gaussian(WEAK), HOLES),
    (Poisson(Gamma(0.5, 0.2)), HOLES),
    (Bernoulli(Beta(0.5, 2.0), threshold=1.5), HOLES),
    (Categorical(0.3, levels=range(12)), HOLES),
    (Multinomial(0.7), COUNTS),
]


def left_out(model: Any, x: np.ndarray, y: np.ndarray, weight: Any = None, **said: Any) -> np.ndarray:
    cells = model.schema_.read(open_table(x))
    way = PredictiveRule(said.pop("kind", "predictive"), said.pop("power", 1.0))
    return loo_log_proba(model.model_, Rows(model.schema_.observers, cells, y, weight), way, **said)


def refits(family: Any, x: np.ndarray, y: np.ndarray, weight: Any = None, **said: Any) -> np.ndarray:
    weight = np.ones(len(y)) if weight is None else weight
    rows = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        model = NaiveBayes(family, classes=[0, 1, 2], **said).fit(x[others], y[others], weight[others])
        joint = model.predict_joint_log_proba(x[i : i + 1])[0]
        total = np.logaddexp.reduce(joint)
        rows.append(joint - total if np.isfinite(total) else np.full(3, -np.inf))
    return np.array(rows)


@pytest.mark.parametrize(("family", "x"), CASES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("temper", [None, 0.4])
@pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
@pytest.mark.parametrize("weight", [None, FEW, MANY], ids=["unit", "few weights", "many weights"])
def test_leave_one_out_is_a_refit_without_the_row(
    family: Any, x: np.ndarray, temper: Any, weight: Any, kind: str
) -> None:
    said = {"estimate": kind, "temper": temper, "class_prior": "empirical" if kind == "mean" else 1.0}
    model = NaiveBayes(family, **said).fit(x, Y, weight)
    expected = refits(family, x, Y, weight, **said)
    found = left_out(model, x, Y, weight, power=model.temper_, kind=kind)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1e1, 1e3, 1e5, 1e7, 1e12])
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_a_row_that_carries_its_classs_variance_is_left_out_to_full_precision(size: float, power: float) -> None:
    x = RNG.normal(size=(18, 2))
    x[4, 0], x[7, 1] = size, -size
    y = np.arange(18) % 3
    model = NaiveBayes(Gaussian(WEAK)).fit(x, y)
    expected = refits(Gaussian(WEAK), x, y, temper=power)
    np.testing.assert_allclose(left_out(model, x, y, power=power), expected, rtol=1e-10, atol=1e-11)


def test_a_class_of_two_rows_far_apart_is_left_out_to_full_precision() -> None:
    x, y = np.array([[0.0], [1e9], [5.0], [6.0], [7.0], [2.0], [3.0]]), np.array([0, 0, 1, 1, 1, 2, 2])
    model = NaiveBayes(Gaussian(NormalInverseGamma(3.0, 1e-3, 0.5, 1e-6))).fit(x, y)
    expected = refits(Gaussian(NormalInverseGamma(3.0, 1e-3, 0.5, 1e-6)), x, y)
    np.testing.assert_allclose(left_out(model, x, y), expected, rtol=1e-9, atol=1e-9)


def test_one_of_a_rows_several_copies_is_left_out() -> None:
    weight = RNG.integers(1, 4, 30).astype(float)
    model = NaiveBayes(Gaussian(WEAK)).fit(HOLES, Y, weight)
    copies = np.repeat(np.arange(30), weight.astype(int))
    many = NaiveBayes(Gaussian(WEAK)).fit(HOLES[copies], Y[copies])
    expected = left_out(many, HOLES[copies], Y[copies])[np.unique(copies, return_index=True)[1]]
    np.testing.assert_allclose(left_out(model, HOLES, Y, weight, gone=np.ones(30)), expected, rtol=1e-10, atol=1e-12)


def test_scores_and_their_standard_errors_are_those_of_the_definitions() -> None:
    proba, codes = np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.4, 0.6]]), np.array([0, 1, 0, 0])
    right, loss, score = (rule(np.log(proba), codes) for rule in (accuracy, log_loss, brier))
    assert right.value == 0.75
    each = -np.log([0.5, 0.8, 0.9, 0.4])
    assert loss.value == pytest.approx(each.mean(), rel=1e-14)
    assert loss.se == pytest.approx(each.std(ddof=1) / 2, rel=1e-14)
    assert score.value == pytest.approx(np.mean([0.5, 0.08, 0.02, 0.72]), rel=1e-14)
