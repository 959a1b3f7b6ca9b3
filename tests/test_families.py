"""Distributions of parameters: modes, draws, intervals, arrays of priors, refusals."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from bayesnb import Beta, Dirichlet, Gamma, NaiveBayes, NormalInverseGamma

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
Y = [0, 0, 1, 1]


def test_a_dirichlets_draws_modes_and_intervals_are_those_of_its_betas() -> None:
    belief = Dirichlet([2.0, 1.0, 5.0])
    assert belief.mode().tolist() == [1 / 5, 0, 4 / 5]
    ends = stats.beta([2, 1, 5], [6, 7, 3]).interval(0.9)
    assert_allclose(belief.interval(0.9), ends, rtol=1e-12)
    drawn = belief.sample(3, 50_000)
    mean = belief.mean()
    error = np.sqrt(mean * (1 - mean) / 9 / 50_000)
    assert (np.abs(drawn.probability.mean(axis=0) - mean) < 5 * error).all()
    levels = np.bincount(drawn.sample(4), minlength=3) / 50_000
    assert (np.abs(levels - mean) < 5 * np.sqrt(mean / 50_000)).all()


def test_draws_at_a_tiny_concentration_are_probabilities() -> None:
    drawn = Dirichlet(np.full(5, 1e-4)).sample(0, 1000).probability
    assert_allclose(drawn.sum(axis=1), 1, rtol=1e-12)
    assert (drawn.max(axis=1) > 0.99).mean() > 0.99


def test_modes_and_means_at_the_edge() -> None:
    assert Beta(1, 1).mode() == 0.5
    assert Beta(0.5, 3).mode() == 0
    assert Dirichlet([1.0, 1.0]).mode().tolist() == [0.5, 0.5]
    assert Dirichlet([3.0]).interval(0.9) == (1.0, 1.0)
    assert Gamma(0.5, 2.0).mode() == 0
    assert NormalInverseGamma(1.0, 2.0, 3.0, 9.0).mode().variance == 2.0
    assert NormalInverseGamma(0.0, 1.0, 1.0, 1.0).mean().variance == np.inf


def test_priors_may_differ_between_features_classes_and_levels() -> None:
    flags = NaiveBayes(nb.Bernoulli(Beta([1.0, 2.0], [[1.0, 1.0], [5.0, 5.0]]))).fit(X, Y)
    assert_array_equal(flags.posterior_[1].a, [2 + 2, 2 + 0])
    assert_array_equal(flags.prior_[0].b, [1, 5])
    words = NaiveBayes(nb.Multinomial(Dirichlet([[1.0, 2.0], [3.0, 4.0]]))).fit(X, Y)
    assert_array_equal(words.posterior_[0, 1].concentration, [[2, 4], [4, 4]])
    rates = NaiveBayes(nb.Poisson(Gamma([1.0, 2.0], 3.0))).fit(X, Y)
    assert_array_equal(rates.posterior_[1].shape, [4, 2])
    levels = NaiveBayes(nb.Categorical(Dirichlet([[0.5], [3.0]]))).fit(X, Y)
    assert_array_equal(levels.prior_[1].concentration, [[3, 3], [3, 3]])


def test_an_interval_of_1_is_all_that_can_be() -> None:
    assert Beta(2, 3).interval(1.0) == (0, 1)
    assert Gamma(2, 3).interval(1.0) == (0, np.inf)
    lower, upper = NormalInverseGamma(0.5, 1, 2, 3).interval(1.0)
    assert [*lower, *upper] == [-np.inf, 0, np.inf, np.inf]


def fit(family: Any) -> Any:
    return NaiveBayes(family).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Beta(1, 1).interval(90), "prob must be a probability"),
        (lambda: Beta(-1, 1), "Beta: a must be finite and at least 0, got -1"),
        (lambda: Gamma(1, np.nan), "rate must be finite"),
        (lambda: Dirichlet([1, np.inf]), "concentration must be finite"),
        (lambda: NormalInverseGamma(np.nan, 1, 1, 1), "mean must be finite"),
        (lambda: NormalInverseGamma(0, 1, -1, 1), "shape must be finite and at least -0.5"),
        (lambda: nb.Poisson(Beta(1, 1)), r"Poisson: the prior must be Gamma\("),
        (lambda: nb.JointTable("flat"), r"JointTable: the prior must be Dirichlet\("),
        (lambda: nb.Categorical(unseen="drop"), "unseen must be"),
        (lambda: nb.Categorical(levels=["a", "b", "a"]), "levels must differ"),
        (lambda: nb.Categorical(levels=[["x", "y"], [0, 1]]), "one list of levels"),
        (lambda: fit(nb.Gaussian(NormalInverseGamma([0, 1, 2], 1, 1, 1))), r"\(2, 2\)"),
        (lambda: fit(nb.Multinomial(Dirichlet([1, 2, 3]))), r"\(2, 1, 2\)"),
        (lambda: fit(nb.Categorical(Dirichlet(np.ones((3, 1))))), r"\(2, 2, 2\)"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
