"""Published, hand-computed and third-party numbers: scikit-learn, SciPy, a lecture."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes as peer
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import dirichlet_multinomial, norm, t

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)

Array = np.ndarray
RNG = np.random.default_rng(7)
ROWS = 200
Y = RNG.integers(0, 3, ROWS)
RATES = np.array([[0.3, 2, 5, 0.1], [1, 1, 1, 1], [4, 0.2, 0.5, 3]])
COUNTS = RNG.poisson(RATES[Y]).astype(float)
REAL = RNG.normal(Y[:, None] * [1.0, 0.0, 100.0, 1e-3], [1.0, 2.0, 50.0, 1e-3])
WEIGHT = RNG.integers(0, 4, ROWS) + 0.5


# scikit-learn

PEERS = {
    MultinomialNB: peer.MultinomialNB,
    BernoulliNB: peer.BernoulliNB,
    CategoricalNB: peer.CategoricalNB,
    GaussianNB: peer.GaussianNB,
}
DISCRETE = pytest.mark.parametrize(
    ("ours", "options"),
    [
        (MultinomialNB, {}),
        (BernoulliNB, {}),
        (BernoulliNB, {"binarize": 1.0}),
        (CategoricalNB, {}),
        (CategoricalNB, {"min_categories": 30}),
    ],
)
AS_IN_SKLEARN = {"estimate": "mean", "class_prior": "empirical"}


@DISCRETE
@pytest.mark.parametrize("alpha", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_the_posterior_mean_is_the_smoothing_of_scikit_learn(
    ours: Any, options: dict, alpha: float, container: Callable
) -> None:
    x = COUNTS if ours is CategoricalNB else container(COUNTS)  # of which neither takes sparse ones
    mine = ours(alpha=alpha, **AS_IN_SKLEARN, **options).fit(x, Y, WEIGHT)
    other = PEERS[ours](alpha=alpha, **options).fit(x, Y, WEIGHT)
    assert_allclose(mine.predict_proba(x), other.predict_proba(x), rtol=0, atol=1e-10)
    names = ["class_count_", "class_log_prior_", "feature_log_prob_"]
    names += ["category_count_", "n_categories_"] if ours is CategoricalNB else ["feature_count_"]
    for name in names:
        for one, two in zip(getattr(mine, name), getattr(other, name), strict=True):
            assert_allclose(one, two, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("ours", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_a_tiny_alpha_is_clipped_where_scikit_learn_does(ours: Any) -> None:
    x = np.column_stack([COUNTS, Y == 1])  # the other classes have none of the last
    options = {"alpha": 1e-30, "force_alpha": False}
    mine = ours(**AS_IN_SKLEARN, **options).fit(x, Y)
    with pytest.warns(UserWarning, match="alpha too small"):
        other = PEERS[ours](**options).fit(x, Y)
    for one, two in zip(mine.feature_log_prob_, other.feature_log_prob_, strict=True):
        assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    kept = ours(alpha=1e-30, estimate="mean").fit(x, Y)
    assert np.min(kept.feature_log_prob_[-1]) < np.min(mine.feature_log_prob_[-1]) - 40


@pytest.mark.parametrize("prior", [[0.2, 0.5, 0.3], None])
def test_known_class_priors_are_those_of_scikit_learn(prior: Any) -> None:
    options = {"class_prior": prior, "fit_prior": False}
    mine = MultinomialNB(estimate="mean", **options).fit(COUNTS, Y)
    expected = peer.MultinomialNB(**options).fit(COUNTS, Y).predict_proba(COUNTS)
    assert_allclose(mine.predict_proba(COUNTS), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_gaussian_of_maximum_likelihood_is_that_of_scikit_learn(weight: Any) -> None:
    mine = GaussianNB(estimate="mle", priors=[0.2, 0.3, 0.5]).fit(REAL, Y, weight)
    other = peer.GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=0).fit(REAL, Y, weight)
    assert_allclose(mine.predict_proba(REAL), other.predict_proba(REAL), rtol=0, atol=1e-10)
    for name in ("class_count_", "theta_", "var_"):
        assert_allclose(getattr(mine, name), getattr(other, name), rtol=1e-9, err_msg=name)
    assert_allclose(np.exp(mine.class_log_prior_), other.class_prior_, rtol=1e-12)


@pytest.mark.parametrize("ours", PEERS)
def test_code_for_scikit_learn_runs_when_the_import_is_changed(ours: Any) -> None:
    mine = ours(**PEERS[ours]().get_params()).fit(COUNTS, Y, sample_weight=WEIGHT)
    expected = ours().fit(COUNTS, Y, WEIGHT).predict_proba(COUNTS)
    assert_array_equal(mine.predict_proba(COUNTS), expected)
    with pytest.raises(AttributeError, match="integrates the parameters out"):
        mine.theta_ if ours is GaussianNB else mine.feature_log_prob_  # noqa: B018


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"var_smoothing": 0.01}, r"var_smoothing must be 1e-09.*prior=NormalInverseGamma"),
        ({"priors": [0.2, 0.3, 0.5], "class_prior": "uniform"}, "give one of them"),
        ({"priors": [0.2, 0.3, 0.4]}, "sum to 1"),
    ],
)
def test_what_scikit_learn_reads_otherwise_is_refused(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GaussianNB(**options).fit(REAL, Y)


# Formulas


@pytest.mark.parametrize("smoothing", [0.3, 2.0])
def test_the_two_readings_of_a_smoothing_are_one_formula(smoothing: float) -> None:
    """(n + l) / (N + l K) is the mean under Dirichlet(l) and the mode under Dirichlet(1 + l)."""
    levels, codes = np.unique(COUNTS[:, 0], return_inverse=True)
    mean = NaiveBayes(Categorical(smoothing), estimate="mean").fit(codes[:, None], Y)
    mode = NaiveBayes(Categorical(1 + smoothing), estimate="map").fit(codes[:, None], Y)
    predictive = NaiveBayes(Categorical(smoothing)).fit(codes[:, None], Y)
    for c in range(3):
        n = np.bincount(codes[c == Y], minlength=len(levels))
        expected = (n + smoothing) / (n.sum() + smoothing * len(levels))
        assert_allclose(mean.posterior_[0].mean()[c], expected, rtol=1e-14)
        assert_allclose(mode.posterior_[0].mode()[c], expected, rtol=1e-14)
    log_class = np.log(predictive.class_posterior_.mean())
    found = predictive.predict_joint_log_proba(np.arange(len(levels))[:, None]) - log_class
    assert_allclose(np.exp(found), mean.posterior_[0].mean().T, rtol=1e-12)


DOGS = np.array(
    [[45, 30, 0], [30, 25, 1], [40, 35, 1], [20, 15, 0], [22, 18, 1], [25, 20, 1]], float
)
BREED = ["Labradoodle"] * 3 + ["English cocker"] * 3
NEW_DOG = [[25.0, 31.0, 1.0]]
OF_DOGS = {(0, 1): "gaussian", 2: Bernoulli()}


def test_the_dogs_of_the_lecture_by_maximum_likelihood() -> None:
    model = NaiveBayes(OF_DOGS, estimate="mle").fit(DOGS, BREED)
    assert model.classes_.tolist() == ["English cocker", "Labradoodle"]
    joint = np.exp(model.predict_joint_log_proba(NEW_DOG)[0])
    assert joint[1] == pytest.approx(2.0566e-4, abs=5e-9)
    bells = GaussianNB(estimate="mle", class_prior="uniform").fit(DOGS[:, :2], BREED)
    assert_allclose(bells.var_[1], [38.89, 16.67], atol=0.005)
    height = GaussianNB(estimate="mle", class_prior="uniform").fit(DOGS[:, [1]], BREED)
    density = 2 * np.exp(height.predict_joint_log_proba([[31.0]])[0, 0])
    assert density == pytest.approx(1.397e-10, abs=5e-14)


def test_the_dogs_of_the_lecture_by_every_parameter_integrated_out() -> None:
    """The predictive of a column is Student's t by its formula, of the tail (n + 1) / (N + 2)."""
    model = NaiveBayes(OF_DOGS).fit(DOGS, BREED)
    expected = []
    for rows in (slice(3, 6), slice(0, 3)):
        score = np.log((3 + 1) / (6 + 2)) + np.log((2 + 1) / (3 + 2))
        for column in (0, 1):
            x = DOGS[rows, column]
            whole = DOGS[:, column]
            count = 3.01
            shape = 1 + 1.5
            location = (0.01 * whole.mean() + x.sum()) / count
            shrunk = 0.01 * 3 / count * (x.mean() - whole.mean()) ** 2
            scale = whole.var() + (((x - x.mean()) ** 2).sum() + shrunk) / 2
            width = np.sqrt(scale * (count + 1) / (shape * count))
            score += t.logpdf(NEW_DOG[0][column], 2 * shape, location, width)
        expected.append(score)
    assert_allclose(model.predict_joint_log_proba(NEW_DOG)[0], expected, rtol=1e-13)
    assert model.predict_proba(NEW_DOG)[0, 1] == pytest.approx(0.719, abs=5e-4)


def test_the_spam_coins() -> None:
    """Each word of a vocabulary is a coin that the class flips: (n + 1) / (N + 2)."""
    has_word = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1], [0, 0, 1]])
    model = NaiveBayes(Bernoulli()).fit(has_word, ["spam", "spam", "spam", "ham", "ham"])
    spam = 4 / 7 * (4 / 5) * (2 / 5) * (3 / 5)  # money, not: now, not: meeting
    ham = 3 / 7 * (1 / 4) * (3 / 4) * (1 / 4)
    expected = [ham / (ham + spam), spam / (ham + spam)]
    assert_allclose(model.predict_proba([[1, 0, 0]])[0], expected, rtol=1e-13)


def test_the_spam_die() -> None:
    """The class throws a die over the words once for every word of the mail."""
    words = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 4]])
    model = NaiveBayes(Multinomial()).fit(words, ["spam", "spam", "ham"])
    mail = np.array([2, 0, 1])
    spam = np.log(3 / 5) + dirichlet_multinomial.logpmf(mail, [6, 2, 1], 3)
    ham = np.log(2 / 5) + dirichlet_multinomial.logpmf(mail, [1, 2, 5], 3)
    assert_allclose(model.predict_joint_log_proba([mail])[0], [ham, spam], rtol=1e-13)


# Class priors and exponents


@pytest.mark.parametrize(
    ("options", "prior", "total"),
    [
        ({}, [1, 1, 1], 203),
        ({"class_prior": 0.5}, [0.5, 0.5, 0.5], 201.5),
        ({"class_prior": "empirical"}, [0, 0, 0], 200),
        ({"class_prior": Dirichlet([3.0, 1.0, 2.0]), "classes": [2, 0, 1]}, [1, 2, 3], 206),
    ],
)
def test_class_priors_mean_what_they_say(options: dict, prior: list, total: float) -> None:
    model = NaiveBayes("gaussian", **options).fit(REAL, Y)
    found = model.predict_proba(np.full((1, 4), np.nan))[0]
    assert_allclose(found, (np.bincount(Y) + prior) / total, rtol=1e-13)


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_a_declared_class_without_rows_keeps_the_prior_mass_that_an_estimate_leaves_it(
    estimate: str,
) -> None:
    model = NaiveBayes("gaussian", classes=[0, 1, 2, 9], estimate=estimate).fit(REAL, Y)
    proba = model.predict_proba(np.vstack([REAL, np.full(4, np.nan)]))
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    if estimate in ("predictive", "mean"):
        assert_allclose(proba[-1], np.append(np.bincount(Y) + 1, 1) / 204, rtol=1e-13)
    else:
        assert (proba[:-1, 3] == 0).all()


def test_an_exponent_is_a_power_of_the_predictive_of_the_features_alone() -> None:
    """t log E[p(x | mean, variance)] by draws, within five standard errors."""
    model = GaussianNB(temper=0.3).fit(REAL[:, :1], Y)
    draws = 100_000
    theta = model.posterior_[0].sample(np.random.default_rng(1), draws)
    density = norm(theta.mean, np.sqrt(theta.variance)).pdf(1.2)
    error = 0.3 * density.std(axis=0) / np.sqrt(draws) / density.mean(axis=0)
    log_class = np.log((np.bincount(Y) + 1) / (ROWS + 3))
    joint = log_class + 0.3 * np.log(density.mean(axis=0)).ravel()
    found = model.predict_joint_log_proba([[1.2]])[0]
    assert (np.abs(found - joint) < 5 * error.ravel()).all()


@pytest.mark.parametrize("made", [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, PoissonNB])
def test_one_exponent_has_the_best_leave_one_out_score_under_its_prior(made: Any) -> None:
    """By refits without each row of a model without exponents, under the same prior."""
    x = (REAL if made is GaussianNB else COUNTS)[:60, :3]
    y = Y[:60]
    chosen = made(temper="loo").fit(x, y).temper_
    joint = np.empty((60, 3))
    log_class = np.empty((60, 3))
    for row in range(60):
        rest = made(temper=None).fit(x, y).forget(x[[row]], y[[row]])
        joint[row] = rest.predict_joint_log_proba(x[[row]])[0]
        log_class[row] = np.log(rest.class_posterior_.mean())

    def log_posterior(power: float) -> float:
        scores = log_class + power * (joint - log_class)
        labels = scores[np.arange(60), y] - logsumexp(scores, axis=1)
        return labels.sum() - (np.log(power) / 0.5) ** 2 / 2

    best = log_posterior(chosen)
    assert best >= log_posterior(min(1.05 * chosen, 1.0)) - 1e-9
    assert best >= log_posterior(chosen / 1.05) - 1e-9
