"""Gaussian(shared=True): one variance for all classes, and exact intervals of two classes."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import expit, logsumexp, multigammaln

import bayesnb as nb
from bayesnb import Gaussian, GaussianNB, MultivariateGaussian, NaiveBayes, NormalInverseGamma, mcmc

HAND = NormalInverseGamma(0.0, 1.0, 3.0, 4.0)
SHARED = Gaussian(shared=True)


def table(rows: int, classes: int = 2, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of normal classes, some cells missing."""
    rng = np.random.default_rng(5)
    y = np.arange(rows) % classes
    x = rng.normal(size=(rows, columns)) * (1 + np.arange(columns)) + 0.7 * y[:, None]
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, y


# Definitions


def test_the_posterior_is_the_one_worked_out_by_hand() -> None:
    model = NaiveBayes(Gaussian(HAND, shared=True)).fit([[1.0], [3.0], [5.0]], list("aab"))
    belief = model.posterior_[0]
    scale = 4 + (2 + 2 / 3 * 2**2) / 2 + (1 / 2 * 5**2) / 2  # within, and about the location 0
    assert_allclose(belief.location, [4 / 3, 5 / 2])
    assert_allclose(belief.count, [3.0, 2.0])
    assert_allclose(belief.shape, [4.5, 4.5])
    assert_allclose(belief.scale, [scale, scale])
    assert_allclose(belief.mean().variance, [scale / 3.5] * 2)
    assert_allclose(belief.mode().variance, [scale / (4.5 + 2)] * 2)


def test_relevance_is_about_the_means_alone() -> None:
    x, y = table(40)
    model = NaiveBayes(Gaussian(HAND, shared=True)).fit(x, y)
    together = NaiveBayes(Gaussian(HAND)).fit(x, np.zeros(len(x)))
    for column, factor in enumerate(nb.relevance(model).log_bayes_factor.values):
        one, two = (each.log_evidence_by_feature()[column] for each in (model, together))
        assert factor == pytest.approx(one - two, rel=1e-10)


# Learning


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_leave_one_out_is_a_refit_even_of_a_row_that_is_most_of_the_spread(estimate: str) -> None:
    x, y = table(14, columns=2)
    x[4] = 1e5, -3e6
    model = GaussianNB(shared=True, estimate=estimate, prior=HAND)
    scores = model.fit(x, y).loo(x, y).elpd_i.values
    for row in range(14):
        rest = np.arange(14) != row
        own = model.fit(x[rest], y[rest]).predict_log_proba(x[[row]])[0, y[row]]
        assert scores[row] == pytest.approx(own, rel=1e-9)


def test_a_class_that_is_new_has_the_variance_of_all() -> None:
    x, y = table(30)
    estimator = GaussianNB(shared=True, prior=HAND)
    x_new = np.concatenate([x, x[:3] + 9])
    y_new = np.append(y, [7, 7, 7])
    expected = estimator.fit(x_new, y_new).predict_joint_log_proba(x)
    grown = GaussianNB(shared=True, prior=HAND).partial_fit(x, y, grow_classes=True)
    grown.partial_fit(x[:3] + 9, [7, 7, 7], grow_classes=True)
    assert_allclose(grown.predict_joint_log_proba(x), expected, rtol=1e-11)


def test_no_neighbour_of_the_tuned_prior_is_more_probable() -> None:
    x, y = table(60, 3, 6)
    x += 4 * np.arange(6) * y[:, None]  # classes have now a large part of the spread, now a small
    tuned = nb.tune(NaiveBayes(SHARED), x, y)
    best = tuned.fit(x, y).log_evidence_
    assert best > NaiveBayes(SHARED).fit(x, y).log_evidence_
    prior = tuned.families.prior
    for factors in np.concatenate([1 + 0.03 * np.eye(3), 1 - 0.03 * np.eye(3)]):
        own = (prior.count, prior.shape, prior.scale)
        parts = [factor * part for factor, part in zip(factors, own, strict=True)]
        other = Gaussian(NormalInverseGamma(prior.location, *parts), shared=True)
        assert NaiveBayes(other).fit(x, y).log_evidence_ < best


# Two classes have exact intervals


VECTORS = MultivariateGaussian(shared=True)
FAMILIES = {
    "columns": {(0, 1, 2): SHARED},
    "mixed": {(0, 1): VECTORS, 2: SHARED},
}


def wishart(belief: Any) -> tuple[np.ndarray, ...]:
    """Location `(c, d)`, count, degrees of freedom and scale `(c, d, d)` of each class."""
    if isinstance(belief, nb.NormalInverseWishart):
        return belief.location, belief.count, belief.dof, belief.scale
    return belief.location[:, None], belief.count, 2 * belief.shape, 2 * belief.scale[:, None, None]


def draw_log_density(belief: Any, x: np.ndarray, rng: np.random.Generator, draws: int) -> Any:
    """Log density of rows, `(r, s, c)`, under parameters that SciPy draws."""
    location, count, dof, scale = wishart(belief)
    d = location.shape[1]
    cov = stats.invwishart(dof[0], scale[0]).rvs(draws, random_state=rng).reshape(draws, 1, d, d)
    noise = rng.normal(size=(draws, 2, d, 1)) / np.sqrt(count)[:, None, None]
    gap = x[:, None, None, :, None] - location[..., None] - np.linalg.cholesky(cov) @ noise
    square = (gap * (np.linalg.inv(cov) @ gap)).sum(axis=(-2, -1))
    return -(square + np.linalg.slogdet(cov)[1] + d * np.log(2 * np.pi)) / 2


def log_moment(belief: Any, x: np.ndarray, s: float) -> np.ndarray:
    """Log E[p(x | theta)^s] of rows and classes, `(r, 1, c)`: a ratio of normalising constants."""
    location, count, dof, scale = wishart(belief)
    d = location.shape[1]
    gap = (x[:, None] - location)[..., None]
    after = scale + (count * s / (count + s))[:, None, None] * gap @ gap.swapaxes(-1, -2)
    before, later = (np.linalg.slogdet(each)[1] for each in (scale, after))
    gain = multigammaln((dof + s) / 2, d) - multigammaln(dof / 2, d)
    gain = gain + (dof * before - (dof + s) * later) / 2
    gain += d * np.log(count / (count + s)) / 2 - s * d * np.log(np.pi) / 2
    return gain[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("temper", [1.0, 0.4])
def test_exact_intervals_and_entropies_are_those_of_draws(kind: str, temper: float) -> None:
    """With U = log share + t log p + shift, p(y | x, theta) is softmax(U).

    A row that was drawn from the population weighs theta by the sum of exp(U).
    """
    x, y = table(16)
    model = NaiveBayes(FAMILIES[kind], temper=temper).fit(x, y)
    cells = np.array([x[2], [1.0, -3.0, 2.0], [-3.0, 4.0, 0.0]])
    rng = np.random.default_rng(3)
    draws = 60_000
    u = np.log(rng.dirichlet(model.class_posterior_.concentration, (1, draws)))
    for key, belief in model.posterior_.items():
        own = cells[:, np.atleast_1d(key)]
        u = u + temper * (draw_log_density(belief, own, rng, draws) + log_moment(belief, own, 1.0))
        u -= log_moment(belief, own, temper)
    p = expit(u[..., 1] - u[..., 0])
    entropy = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    for rows in ("observed", "fixed"):
        weight = np.exp(logsumexp(u, axis=2)) if rows == "observed" else np.ones_like(p)
        weight /= weight.mean(axis=1, keepdims=True)
        exact = model.predict_interval(cells, 0.8, rows=rows, method="exact").sel({"class": 1})
        parts = model.uncertainty(cells, rows=rows)
        gaps = {
            "mean": p - exact["probability"].values[:, None],
            "entropy": entropy - parts["aleatoric"].values[:, None],
        }
        for name, level in (("lower", 0.1), ("median", 0.5), ("upper", 0.9)):
            gaps[name] = (p <= exact[name].values[:, None]) - level
        for name, gap in gaps.items():
            gap = weight * gap
            error = gap.std(axis=1) / np.sqrt(draws)
            assert (np.abs(gap.mean(axis=1)) < 6 * error).all(), name
        quick = model.predict_interval(cells, 0.8, rows=rows).sel({"class": 1})
        for name in ("lower", "median", "upper"):
            assert_allclose(quick[name], exact[name], rtol=0, atol=2e-3)


def test_a_row_far_out_and_one_without_cells_have_exact_intervals_too() -> None:
    x, y = table(60)
    model = GaussianNB(shared=True).fit(x, y)
    for rows in ("observed", "fixed"):
        exact = model.predict_interval([[1e3, -1e3, 0.0], [np.nan] * 3], rows=rows, method="exact")
        assert (exact["lower"].values <= exact["median"].values).all()
        assert (exact["median"].values <= exact["upper"].values).all()


@pytest.mark.slow
def test_a_hierarchy_in_pymc_has_the_evidence_of_its_parameters() -> None:
    x, y = table(20, columns=2)
    built = mcmc.build(GaussianNB(shared=True), x, y, hierarchical=True, collapse=True)
    values = {
        "mu_mean": [0.3, 1.0],
        "mu_spread": [2.0, 0.5],
        "sigma2_shape": [3.0, 1.5],
        "sigma2_typical": [0.8, 3.0],
    }
    middle, spread, shape, typical = (np.array(own) for own in values.values())
    prior = NormalInverseGamma(middle, spread**-2, shape, shape * typical)
    evidence = GaussianNB(shared=True, prior=prior).fit(x, y).log_evidence_by_feature()
    factor = built["x_evidence"].eval({built[name]: own for name, own in values.items()})
    assert factor == pytest.approx(sum(evidence.values()), rel=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x, y: NaiveBayes(
                Gaussian(NormalInverseGamma(0, 1, [[1], [2]], 1), shared=True)
            ).fit(x, y),
            "classes share shape, so it must be the same",
        ),
        (lambda x, y: nb.tune(GaussianNB(shared=True), x, y, per="class"), "all classes share"),
        (
            lambda x, _: (
                NaiveBayes(SHARED).fit(x, np.arange(60) % 3).predict_interval(x, method="exact")
            ),
            "three or more classes share",
        ),
    ],
)
def test_what_cannot_be_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(*table(60))
