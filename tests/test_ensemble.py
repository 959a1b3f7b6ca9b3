"""Ensembles: what draws of conjugate models answer. The closed form is the oracle, by draws or by
mixtures of it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax
from scipy.stats import norm

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
from bayesnb.families.certain import Certain, KnownDie
from bayesnb.families.gaussian import GaussianDensity
from bayesnb.mcmc.ensemble import Ensemble
from bayesnb.mcmc.sampled_models import Sampled

Array = np.ndarray
CLASSES = 3
DRAWS = 1000
FAMILIES = {
    "gaussian": {0: Gaussian(), 1: Gaussian()},
    "bernoulli": {2: Bernoulli(), 3: Bernoulli()},
    "poisson": {4: Poisson(), 5: Poisson()},
    "categorical": {6: Categorical(), 7: Categorical()},
    "multinomial": {(8, 9, 10): Multinomial()},
}
ALL = {column: family for said in FAMILIES.values() for column, family in said.items()}


class Answers(Sampled):
    """An ensemble that no sampler made."""

    def __init__(self, conjugate: Any = None, ensemble: Any = None, chains: int = 2) -> None:
        self.conjugate, self.ensemble, self.chains = conjugate, ensemble, chains

    def fit(self, X: Any, y: Any) -> Self:
        return self._answer_by(self.conjugate, self.ensemble, self.chains, 5)


def answers(conjugate: NaiveBayes, ensemble: Ensemble, chains: int = 2) -> Answers:
    return Answers(conjugate, ensemble, chains).fit(None, None)


def table(rows: int = 60) -> tuple[Array, Array, Array]:
    """Columns of every family, with missing cells where they may be; two of the three classes have
    rows.
    """
    rng = np.random.default_rng(20261121)
    y = np.where(np.arange(rows) % 3 == 1, "b", "a")
    own = (y == "b").astype(float)
    x = np.column_stack(
        [
            rng.normal(2 * own, 1.0),
            rng.normal(-2e4 + 3e3 * own, 5e3),
            rng.random(rows) < 0.3 + 0.3 * own,
            rng.random(rows) < 0.1,
            rng.poisson(0.4 + own),
            rng.poisson(20.0 + 4 * own),
            rng.integers(0, 3, rows),
            (rng.random(rows) * (4 + 2 * own)).astype(int),
            rng.poisson([2.0, 0.3, 5.0], (rows, 3)),
        ]
    )
    x[3, 0] = x[7, 3] = x[9, 4] = x[11, 6] = np.nan
    return x, y, 0.25 + np.arange(rows) % 4


X, Y, WEIGHT = table()


def fitted(families: Any = None, weight: Array | None = None, **said: Any) -> NaiveBayes:
    """A conjugate model; columns that are not named are dropped."""
    every = {column: None for column in range(X.shape[1]) if column not in (8, 9, 10)} | {
        (8, 9, 10): None
    }
    return NaiveBayes(every | (families or ALL), classes=["a", "b", "c"], **said).fit(X, Y, weight)


def places(draws: Array, classes: int = CLASSES) -> Array:
    return (np.asarray(draws)[:, None] * classes + np.arange(classes)).ravel()


def repeated(prior: Any) -> Callable[[Array], Any]:
    """The prior under every draw, once for each."""
    return lambda draws: prior.repeated(len(draws))


def same_prior(model: NaiveBayes, constant: bool, size: int = 12) -> Ensemble:
    """As many draws of priors that are all the declared one."""
    prior = model.model_.prior
    plain = [
        lambda draws, own=own: own[np.tile(np.arange(len(own)), len(draws))] for own in prior.blocks
    ]
    return Ensemble(
        prior.classes,
        [repeated(own) for own in prior.blocks] if constant else plain,
        model.model_.stats,
        size,
    )


def mixed_priors(models: Sequence[NaiveBayes], which: Array) -> Ensemble:
    """Draws of which prior it is."""

    def prior_of(block: int) -> Callable[[Array], Any]:
        beliefs = [model.model_.prior.blocks[block] for model in models]
        together = beliefs[0].map(lambda *arrays: np.concatenate(arrays), *beliefs[1:])
        return lambda draws: together[places(which[draws])]

    first = models[0].model_
    return Ensemble(
        first.prior.classes,
        [prior_of(b) for b in range(len(first.prior.blocks))],
        first.stats,
        len(which),
    )


def drawn_theta(model: NaiveBayes, size: int = DRAWS, seed: int = 1) -> Ensemble:
    """Draws of theta from the posterior in closed form, each taken for certain."""
    posterior = model.model_.posterior

    def given(theta: Any) -> Callable[[Array], Certain]:
        flat = theta.moved(lambda array: array.reshape(-1, *array.shape[2:]))
        return lambda draws: Certain(flat.moved(lambda array: array[places(draws)]))

    rng = np.random.default_rng(seed)
    thetas = [given(belief.sample(rng, size)) for belief in posterior.blocks]
    return Ensemble(
        posterior.classes,
        thetas,
        model.model_.stats,
        size,
        posterior.classes.sample(rng, size).probability,
    )


# Priors that are all the same: the closed form to round-off
# -------------------------------------------------------

SAID = {
    "plain": {},
    "tempered": {"temper": 0.6},
    "fixed die": {"class_prior": {"a": 0.5, "b": 0.3, "c": 0.2}},
    "impossible class": {"class_prior": {"a": 0.5, "b": 0.5, "c": 0.0}},
}


@pytest.mark.parametrize("constant", [True, False], ids=["same", "varying"])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_draws_of_one_prior_answer_as_the_closed_form(said: dict[str, Any], constant: bool) -> None:
    model = fitted(weight=WEIGHT, **said)
    own = answers(model, same_prior(model, constant))
    assert_allclose(own.predict_joint_log_proba(X), model.predict_joint_log_proba(X), rtol=1e-12)
    assert_allclose(own.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-11, atol=1e-11)
    assert_array_equal(own.predict(X), model.predict(X))
    assert_allclose(own.log_density(X), model.log_density(X), rtol=1e-12)
    told = own.explain(X)
    for name, values in model.explain(X).drop_vars("cell").items():
        assert_allclose(told[name], values, rtol=1e-11, atol=1e-9, err_msg=str(name))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["once", "weighted"])
def test_draws_of_one_prior_leave_rows_out_as_the_closed_form(
    weight: Array | None, target: str
) -> None:
    model = fitted(weight=weight, temper=0.6)
    own = answers(model, same_prior(model, False)).loo(X, Y, target, sample_weight=weight)
    exact = model.loo(X, Y, target, sample_weight=weight)
    assert_allclose(own.elpd_i, exact.elpd_i, rtol=1e-10, atol=1e-10)
    assert_allclose([own.elpd, own.se, own.p], [exact.elpd, exact.se, exact.p], rtol=1e-9)
    assert (own.pareto_k == 0).all()
    assert not own.warning


# Two priors: mixtures of two closed forms
# -------------------------------------------------------------------------


def of_smoothing(
    smoothing: float, weight: Array | None = None, rows: Any = slice(None), **said: Any
) -> NaiveBayes:
    """The model under one of two priors; all levels are declared, as rows are left out."""
    gaussian = NormalInverseGamma(1.0, smoothing, 2.0, 1.0)
    poisson = Gamma(smoothing, smoothing)
    families = {
        0: Gaussian(gaussian),
        1: None,
        2: Bernoulli(Beta(smoothing, smoothing)),
        3: Bernoulli(Beta(smoothing, smoothing)),
        4: Poisson(poisson),
        5: Poisson(poisson),
        6: Categorical(smoothing, levels=[0.0, 1.0, 2.0]),
        7: Categorical(smoothing, levels=np.arange(6.0)),
        (8, 9, 10): Multinomial(smoothing),
    }
    fresh = NaiveBayes(families, classes=["a", "b", "c"], **said)
    return fresh.fit(X[rows], Y[rows], None if weight is None else weight[rows])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "weight", "target"),
    [({"temper": 0.6}, WEIGHT, "label"), ({}, WEIGHT, "joint"), ({"temper": 0.6}, None, "label")],
    ids=["weighted", "weighted joint", "once"],
)
def test_two_priors_are_mixed_and_left_out_as_refits_say(
    said: dict[str, Any], weight: Array | None, target: str
) -> None:
    models = [of_smoothing(smoothing, weight, **said) for smoothing in (0.1, 10.0)]
    which = (np.arange(50) % 10 < 6).astype(int)  # 4 in 10 draws have the small smoothing
    share = np.array([0.4, 0.6])
    own = answers(models[0], mixed_priors(models, which))
    joint = np.stack([model.predict_joint_log_proba(X) for model in models])
    assert_allclose(
        own.predict_joint_log_proba(X), logsumexp(joint, axis=0, b=share[:, None, None]), rtol=1e-12
    )
    prior = np.log(share) - [
        model.log_evidence_ for model in models
    ]  # the prior odds under which it is this share
    found = own.loo(X, Y, target, sample_weight=weight)
    code = (Y == "b").astype(int)
    for row in (0, 11):
        rest = np.arange(len(X)) != row
        again = [of_smoothing(smoothing, weight, rest, **said) for smoothing in (0.1, 10.0)]
        share_i = softmax(prior + [model.log_evidence_ for model in again])
        if target == "joint":
            again = [of_smoothing(smoothing, weight, rest) for smoothing in (0.1, 10.0)]
        left = np.stack([model.predict_joint_log_proba(X[[row]])[0] for model in again])
        mixture = logsumexp(left, axis=0, b=share_i[:, None])
        exact = mixture[code[row]] - (0.0 if target == "joint" else logsumexp(mixture))
        assert_allclose(found.elpd_i[row], exact, rtol=1e-9, err_msg=str(row))


# Draws of theta: the closed form within the noise
# ----------------------------------------------------------------


def of_parts(
    ask: Callable[[Answers], Any], model: NaiveBayes, parts: int = 6
) -> tuple[Array, Array]:
    """The mean of what independent ensembles say, and its standard error."""
    found = np.stack(
        [np.asarray(ask(answers(model, drawn_theta(model, seed=seed)))) for seed in range(parts)]
    )
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(parts)


def near(found: tuple[Array, Array], exact: Any, least: float = 1e-12) -> None:
    """Within five standard errors, which six parts know to a third."""
    assert (np.abs(found[0] - np.asarray(exact)) <= 5 * 1.5 * found[1] + least).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", ["observed", "fixed"])
@pytest.mark.parametrize("families", FAMILIES.values(), ids=FAMILIES)
def test_laws_are_those_of_the_closed_form(families: dict[Any, Any], law: str) -> None:
    model = fitted(families)
    rows = X[:6]
    exact = model.predict_interval(rows, 0.8, law)
    found = of_parts(lambda own: own.predict_interval(rows, 0.8, law).to_dataarray(), model)
    near(found, exact.to_dataarray(), 3e-3)  # a quantile's bias
    names = ["entropy", "aleatoric", "epistemic"]
    exact = model.uncertainty(rows, law)[names]
    found = of_parts(lambda own: own.uncertainty(rows, law)[names].to_dataarray(), model)
    near(found, exact.to_dataarray(), 1e-3)


# What holds of any draws
# ------------------------------------------------------------------------------------------


def test_labels_that_are_read_with_errors_are_judged_as_read() -> None:
    """Two known thetas, one with sharper labels; by hand."""
    rng = np.random.default_rng(4)
    y = np.repeat(["a", "b"], 15)
    x = rng.normal(np.repeat([0.0, 1.5], 15), 1.0)[:, None]
    model = NaiveBayes("gaussian").fit(x, y)
    means = np.array([[0.0, 1.0], [0.2, 2.0]])
    class_prob = np.array([[0.5, 0.5], [0.3, 0.7]])
    confusion = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]]])
    which = np.arange(50) % 5 // 3
    theta = GaussianDensity(means[which].reshape(-1, 1), np.ones((100, 1)))
    given = [lambda draws: Certain(theta.moved(lambda array: array[places(draws, 2)]))]
    die = KnownDie(np.array([0.5, 0.5]))
    stats = model.model_.stats
    ensemble = Ensemble(die, given, stats, 50, class_prob[which], confusion[which])
    found = answers(model, ensemble).loo(x, y)
    code = (y == "b").astype(int)
    joint = np.log(class_prob)[:, None] + norm.logpdf(x[None], means[:, None], 1.0)  # (2, r, c)
    read = np.exp(joint)[..., None] * confusion[:, None]  # (2, r, c, label)
    own = read.sum(axis=2)[:, np.arange(30), code]
    every = np.exp(joint).sum(axis=2)
    share = np.array([0.6, 0.4])[:, None] / own
    share /= share.sum(axis=0)
    assert_allclose(
        found.elpd_i, np.log((share * own).sum(axis=0) / (share * every).sum(axis=0)), rtol=1e-10
    )


def test_new_rows_are_those_of_the_mixture() -> None:
    """Two thetas, of which the second has more of class b: rows of b are more often of it."""
    model = NaiveBayes("gaussian").fit([[0.0], [1.0], [2.0], [4.0]], ["a", "a", "b", "b"])
    mean = np.array([[0.0], [10.0], [0.0], [20.0]])
    class_prob = np.array([[0.9, 0.1], [0.4, 0.6]])
    theta = GaussianDensity(mean, np.ones((4, 1)))
    given = [lambda draws: Certain(theta.moved(lambda array: array[places(draws, 2)]))]
    own = answers(
        model, Ensemble(KnownDie(np.ones(2) / 2), given, model.model_.stats, 2, class_prob)
    )
    x, y = own.sample(4000, rng=1)
    assert x.shape == (4000, 1)
    assert abs((y == "b").mean() - 0.35) < 5 * np.sqrt(0.35 * 0.65 / 4000)
    second = (x[y == "b", 0] > 15).mean()
    assert abs(second - 0.6 / 0.7) < 5 * np.sqrt(0.12 / (y == "b").sum())
    words = fitted()
    rows, labels = answers(words, same_prior(words, False)).sample(20, "b", length=7, rng=1)
    assert rows[:, 8:].sum(axis=1).tolist() == [7.0] * 20
    assert labels.tolist() == ["b"] * 20
