"""Numbers with a full covariance, of every class or of all classes: against textbooks and SciPy."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb import Gaussian, MultivariateGaussian, NaiveBayes, NormalInverseWishart, mcmc

KINDS = pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
SHARED = pytest.mark.parametrize("shared", [False, True])
RNG = np.random.default_rng(20261122)
ROWS = 60
Y = RNG.integers(0, 3, ROWS)
SHIFT = np.array([[0.0], [1.0], [-0.7]])
X = RNG.normal(size=(ROWS, 3)) @ RNG.normal(size=(3, 3)) + SHIFT[Y]
HOLES = X.copy()
HOLES[5, 0] = HOLES[11, 1:] = HOLES[9] = HOLES[20, 2] = np.nan
COMPLETE = ~np.isnan(HOLES).any(axis=1)
PRIOR = NormalInverseWishart([0.0, 1.0, 0.0], 0.5, 5.0, 2.0)
ALL = (0, 1, 2)


def model(shared: bool = False, prior: Any = None, **options: Any) -> NaiveBayes:
    return NaiveBayes(MultivariateGaussian(prior, shared=shared), **options)


def conjugate(x: np.ndarray, y: np.ndarray, shared: bool) -> Any:
    """Location, count, degrees of freedom and scale of each class: Murphy (2007), section 8."""
    mean = np.array([0.0, 1.0, 0.0])
    rows = [x[label == y] for label in range(3)]
    n = np.array([len(own) for own in rows])
    count = 0.5 + n
    location = (0.5 * mean + [own.sum(axis=0) for own in rows]) / count[:, None]
    squares = [own.T @ own for own in rows] + 0.5 * np.outer(mean, mean)
    scatter = squares - count[:, None, None] * location[:, :, None] * location[:, None]
    if shared:
        n = np.full(3, len(x))
        scatter = np.tile(scatter.sum(axis=0), (3, 1, 1))
    return zip(location, count, 5.0 + n, 2 * np.eye(3) + scatter, strict=True)


def density(kind: str, location: Any, count: float, dof: float, scale: Any) -> Any:
    """SciPy's distribution of the cells: with the expected parameters, or with these integrated."""
    if kind == "mean":
        return stats.multivariate_normal(location, scale / (dof - len(location) - 1))
    df = dof - len(location) + 1
    return stats.multivariate_t(location, scale * (count + 1) / (count * df), df)


# Textbooks


@SHARED
@pytest.mark.parametrize("kind", ["predictive", "mean"])
def test_a_row_is_scored_by_the_cells_that_it_has(shared: bool, kind: str) -> None:
    """A row that lacks a cell teaches nothing but its label."""
    fitted = model(shared, PRIOR, estimate=kind, class_prior="uniform").fit(HOLES, Y)
    joint = fitted.predict_joint_log_proba(HOLES) + np.log(3)
    for label, belief in enumerate(conjugate(HOLES[COMPLETE], Y[COMPLETE], shared)):
        location, count, dof, scale = belief
        for row in (0, 1, 5, 11, 20):
            known = np.flatnonzero(~np.isnan(HOLES[row]))
            sub = scale[np.ix_(known, known)]
            freedom = dof - 3 + len(known)  # a block of an inverse Wishart matrix is one
            own = density(kind, location[known], count, freedom, sub)
            assert joint[row, label] == pytest.approx(own.logpdf(HOLES[row, known]), rel=1e-10)
    assert_allclose(joint[9], 0.0, atol=1e-12)
    assert_allclose(fitted.stats_.classes.counts, np.bincount(Y))


@SHARED
@KINDS
def test_a_block_of_one_column_is_a_gaussian_column(shared: bool, kind: str) -> None:
    x = HOLES[:, :1]
    block = model(shared, estimate=kind).fit(x, Y)
    plain = NaiveBayes(Gaussian(shared=shared), estimate=kind).fit(x, Y)
    joint = plain.predict_joint_log_proba(x)
    assert_allclose(block.predict_joint_log_proba(x), joint, rtol=1e-11, atol=1e-12)
    assert block.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)
    one, two = (each.loo(x, Y, target="joint").elpd_i for each in (block, plain))
    assert_allclose(one, two, rtol=1e-11, atol=1e-12)
    one, two = (nb.compare_smoothing(each, x, Y, (0.3,)).table for each in (block, plain))
    assert_allclose(one["elpd_loo"], two["elpd_loo"], rtol=1e-10)


@SHARED
@KINDS
def test_predictions_do_not_change_under_an_affine_map(shared: bool, kind: str) -> None:
    turn = np.array([[1e-3, 0.5, 3e3], [2e-3, -1.0, 1e4], [0.0, 0.7, -2e4]])
    moved = X @ turn + [5.0, -3.0, 1e5]
    expected = model(shared, estimate=kind).fit(X, Y).predict_proba(X)
    proba = model(shared, estimate=kind).fit(moved, Y).predict_proba(moved)
    assert_allclose(proba, expected, rtol=1e-7, atol=1e-12)


def test_the_default_prior_of_each_column_is_that_of_a_gaussian_column() -> None:
    block = model().fit(X, Y).prior_[ALL]
    plain = NaiveBayes(Gaussian()).fit(X, Y).prior_
    for j in ALL:
        assert_allclose(block.dof - 2, 2 * plain[j].shape, rtol=1e-12)
        assert_allclose(block.scale[:, j, j], 2 * plain[j].scale, rtol=1e-12)
        assert_allclose(block.location[:, j], plain[j].location, rtol=1e-12)


def test_a_block_that_rows_do_not_span_has_a_prior_without_correlations() -> None:
    flat = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(ROWS, 1e6)])
    for x in (flat, flat[:, ::-1], flat[:4], flat[:, [0, 4]]):
        fitted = model().fit(x, Y[: len(x)])
        variance = x.var(axis=0)
        expected = np.diag(2 * np.where(variance > 0, variance, 1.0))
        assert_allclose(fitted.prior_[tuple(range(x.shape[1]))].scale[0], expected, rtol=1e-9)
        assert np.isfinite(fitted.predict_proba(x)).all()


def test_the_plug_in_of_the_likeliest_parameters_is_quadratic_discriminant_analysis() -> None:
    options = {"estimate": "mle", "class_prior": "empirical"}
    quadratic = model(**options).fit(X, Y).predict_joint_log_proba(X)
    for label in range(3):
        rows = X[label == Y]
        normal = stats.multivariate_normal(rows.mean(axis=0), np.cov(rows.T, bias=True))
        expected = normal.logpdf(X) + np.log(len(rows) / ROWS)
        assert_allclose(quadratic[:, label], expected, rtol=1e-9)


# Rows that leave


@SHARED
@KINDS
def test_a_row_that_is_left_out_was_never_seen(shared: bool, kind: str) -> None:
    estimator = model(shared, PRIOR, estimate=kind, classes=ALL)
    scores = estimator.fit(HOLES, Y).loo(HOLES, Y).elpd_i.values
    for row in (0, 5, 9, 11, 20):
        rest = np.arange(ROWS) != row
        joint = estimator.fit(HOLES[rest], Y[rest]).predict_joint_log_proba(HOLES[[row]])[0]
        assert scores[row] == pytest.approx(joint[Y[row]] - logsumexp(joint), abs=1e-10)


def test_a_row_that_dominates_its_class_is_left_out_to_the_last_digit() -> None:
    x = X.copy()
    x[0] *= 1e7
    score = model(prior=PRIOR).fit(x, Y).loo(x, Y, target="joint").elpd_i[0]
    rest = model(prior=PRIOR).fit(x[1:], Y[1:])
    assert score == pytest.approx(rest.predict_joint_log_proba(x[[0]])[0, Y[0]], rel=1e-12)


def test_rows_whose_columns_by_themselves_were_there_may_not_have_been() -> None:
    x = np.column_stack([np.arange(20.0), np.arange(20.0)]) + 1e-3 * RNG.normal(size=(20, 2))
    fitted = model(prior=NormalInverseWishart(0.0, 1.0, 3.0, 1.0)).fit(x, np.zeros(20))
    with pytest.raises(ValueError, match="Nothing was forgotten"):
        fitted.forget([[5.0, 14.0], [14.0, 5.0]], np.zeros(2))


# Digits


@SHARED
def test_numbers_far_from_zero_keep_their_digits(shared: bool) -> None:
    rows = 20_000  # as many as compiled code takes
    x = np.round(RNG.normal(size=(rows, 3)) * 2**20) / 2**20
    y = np.arange(rows) % 3
    far = NormalInverseWishart(np.array([0.0, 1.0, 0.0]) + 2.0**27, 0.5, 5.0, 2.0)
    near = model(shared, PRIOR).fit(x, y).predict_joint_log_proba(x)
    shifted = model(shared, far).fit(x + 2.0**27, y).predict_joint_log_proba(x + 2.0**27)
    assert_allclose(shifted, near, rtol=1e-6)


def test_classes_far_apart_are_told_apart_to_the_last_digit() -> None:
    far = 1e9 * np.array([[0.0], [1.0], [0.0]])
    x = X + far[Y]
    prior = NormalInverseWishart(np.add(far, [0.0, 1.0, 0.0]), 0.5, 5.0, 2.0)
    fitted = model(True, prior, class_prior="uniform").fit(x, Y)
    belief = fitted.posterior_[ALL]
    arguments = (getattr(belief, name)[1] for name in ("location", "count", "dof", "scale"))
    expected = density("predictive", *arguments).logpdf(x) - np.log(3)
    assert_allclose(fitted.predict_joint_log_proba(x)[:, 1], expected, rtol=1e-12)


def test_rows_beyond_the_range_of_squares_are_scored() -> None:
    fitted = model(prior=PRIOR, class_prior="uniform").fit(X, Y)
    far = np.array([[1e200, -3e200, 1e199]])
    less = fitted.posterior_[ALL].dof + 1  # a power law
    expected = fitted.predict_joint_log_proba(far * 1e-40) - less * np.log(1e40)
    assert_allclose(fitted.predict_joint_log_proba(far)[0], expected[0], rtol=1e-12)


# What cannot be


def fit_with(cell: float) -> Any:
    return model().fit(np.append(X, [[0.0, cell, 0.0]], axis=0), np.append(Y, 0))


FEW = np.concatenate([np.flatnonzero(Y == 0)[:3], np.flatnonzero(Y > 0)])
NIW = NormalInverseWishart


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NIW([0, 0], 1, 1, 1), "dof must be above"),
        (lambda: NIW([0, 0], 1, 4, [[1, 2], [2, 1]]), "positive definite"),
        (lambda: NIW([0, 0], 1, 4, [[1, 0.5], [0, 1]]), "symmetric"),
        (lambda: NIW([0, 0], 1, 4, np.eye(3)), "scale must be a number, or"),
        (lambda: NIW([0, np.nan], 1, 4, 1), "mean must be finite"),
        (lambda: model(prior=NIW([0, 0], 1, 4, 1)).fit(X, Y), "3 classes and a block of 3 columns"),
        (lambda: model(prior=NIW(0, 1, 1.5, 1)).fit(X, Y), "dof must be above 2"),
        (lambda: model(True, NIW([0] * 3, 1, [4, 5, 6], 1)).fit(X, Y), "the same for every class"),
        (lambda: model(estimate="mle").fit(X[FEW], Y[FEW]).predict(X), "estimate"),
        (lambda: fit_with(np.inf), "infinite"),
        (lambda: fit_with(1e200), "squared deviations would overflow"),
        (lambda: mcmc.build(model(True), X, Y, hierarchical=True), "has a covariance matrix"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
