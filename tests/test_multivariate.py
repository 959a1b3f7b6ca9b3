"""Blocks of Gaussians with full covariances, of every class or of all classes: discriminant analysis, kept whole."""

import warnings
from typing import Any

import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import stats
from scipy.integrate import quad
from scipy.special import logsumexp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from bayesnb import Gaussian, MultivariateGaussian, NaiveBayes, NormalInverseWishart, mcmc, tune
from bayesnb.families.vectors import VectorStats
from bayesnb.families.weight import one_hot
from bayesnb.families.wishart_shared import SharedNormalInverseWishart
from tests.conftest import Array, same

KINDS = ("predictive", "mean", "map", "mle")
SHARED = pytest.mark.parametrize("shared", [False, True])
RNG = np.random.default_rng(20261122)
ROWS = 60
Y = RNG.integers(0, 3, ROWS)
X = RNG.normal(size=(ROWS, 3)) @ RNG.normal(size=(3, 3)) + (Y == 1)[:, None] - 0.7 * (Y == 2)[:, None]
HOLES = X.copy()
HOLES[5, 0] = HOLES[11, 1:] = HOLES[9] = HOLES[20, 2] = np.nan
PRIOR = NormalInverseWishart([0.0, 1.0, 0.0], 0.5, 5.0, 2.0)


def model(shared: bool = False, prior: Any = None, **how: Any) -> NaiveBayes:
    return NaiveBayes(MultivariateGaussian(prior, shared=shared), **how)


def joint(fitted: NaiveBayes, x: Array) -> Array:
    return fitted.predict_joint_log_proba(x)


@SHARED
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_of_one_column_is_a_gaussian_column(shared: bool, kind: str) -> None:
    x = HOLES[:, :1]
    block = model(shared, estimate=kind).fit(x, Y)
    plain = NaiveBayes(Gaussian(shared=shared), estimate=kind).fit(x, Y)
    np.testing.assert_allclose(joint(block, x), joint(plain, x), rtol=1e-12, atol=1e-12)
    assert block.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-12)
    own, its = (each.loo(x, Y, target="joint").elpd_i for each in (block, plain))
    np.testing.assert_allclose(own, its, rtol=1e-12, atol=1e-12)


@SHARED
def test_a_block_of_one_column_is_as_sure_as_a_gaussian_column(shared: bool) -> None:
    two, how = Y < 2, {"method": "exact"}
    block, plain = (
        NaiveBayes(family).fit(X[two, :1], Y[two])
        for family in (MultivariateGaussian(shared=shared), Gaussian(shared=shared))
    )
    for rows in ("observed", "fixed"):
        own, its = (each.predict_interval(X[:6, :1], rows=rows, **how) for each in (block, plain))
        for name in ("probability", "lower", "upper", "median"):
            np.testing.assert_allclose(own[name], its[name], rtol=1e-10)
    np.testing.assert_allclose(block.explain(X[:6, :1]).sd, plain.explain(X[:6, :1]).sd, rtol=1e-12)


@SHARED
def test_smoothing_a_block_of_one_column_is_smoothing_a_gaussian_column(shared: bool) -> None:
    x, weight = X[:, :1], one_hot(Y, 3)
    families = MultivariateGaussian(shared=shared), Gaussian(shared=shared)
    for smoothing in (0.3, np.array([[0.1], [0.1], [0.1]])):
        block, plain = (
            family.smoothed(seen := family.observe(x, weight), smoothing, "mean", 1.7).belief(seen)
            for family in families
        )
        np.testing.assert_allclose(block.dof, 2 * plain.shape, rtol=1e-13)
        np.testing.assert_allclose(block.scale[..., 0, 0], 2 * plain.scale, rtol=1e-13)
        np.testing.assert_allclose(block.count, plain.count, rtol=1e-13)


@SHARED
def test_predictions_do_not_change_under_an_affine_map_of_the_block(shared: bool) -> None:
    turn = RNG.normal(size=(3, 3)) * [1e-3, 1.0, 1e4]
    other = X @ turn + [5.0, -3.0, 1e5]
    for kind in KINDS:
        plain, moved = (model(shared, estimate=kind).fit(x, Y) for x in (X, other))
        np.testing.assert_allclose(moved.predict_proba(other), plain.predict_proba(X), rtol=1e-7, atol=1e-12)


def test_the_prior_of_each_column_by_itself_is_that_of_a_gaussian_column() -> None:
    block, plain = model().fit(X, Y).prior_[0, 1, 2], NaiveBayes(Gaussian()).fit(X, Y).prior_
    for j in range(3):
        own = block.of_columns(np.arange(3) == j)
        np.testing.assert_allclose(own.dof, 2 * plain[j].shape, rtol=1e-13)
        np.testing.assert_allclose(own.scale[:, 0, 0], 2 * plain[j].scale, rtol=1e-13)
        np.testing.assert_allclose(own.location[:, 0], plain[j].location, rtol=1e-13)


def test_a_block_that_rows_do_not_span_has_a_prior_without_correlations() -> None:
    flat = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(ROWS, 1e6)])
    for x in (flat, flat[:, [4, 3, 2, 1, 0]], flat[:4]):
        labels = Y[: len(x)]
        fitted = model().fit(x, labels)
        scale = fitted.prior_[tuple(range(5))].scale[0]
        variance = x.var(axis=0)
        np.testing.assert_allclose(scale, np.diag(2 * np.where(variance > 0, variance, 1.0)), rtol=1e-9)
        assert np.isfinite(fitted.predict_proba(x)).all()
    kept = model().fit(flat[:, [0, 4]], Y).prior_[0, 1].scale[0]
    np.testing.assert_allclose(kept, np.diag([2 * X[:, 0].var(), 2.0]), rtol=1e-12)


def test_a_missing_cell_is_integrated_out() -> None:
    belief = model(prior=PRIOR).fit(X, Y).posterior_[0, 1, 2].of_columns(np.array([True, True, False]))
    for c in range(3):
        known = np.array([0.3, np.nan])
        total = quad(lambda v, c=c: np.exp(belief[c].log_predictive(np.array([0.3, v]))), -np.inf, np.inf)[0]
        assert np.exp(belief[c].log_predictive(known)) == pytest.approx(total, rel=1e-8)


@SHARED
@pytest.mark.parametrize("power", [1.0, 0.3, -0.1])
def test_a_row_that_lacks_cells_is_scored_by_the_belief_about_the_others(shared: bool, power: float) -> None:
    belief = model(shared).fit(X, Y).model_.posterior.blocks[0]
    found = belief.row_log_moment(HOLES, power)
    np.testing.assert_allclose(belief.score(HOLES, power), power * belief.row_log_moment(HOLES, 1.0), rtol=1e-12)
    for row in (5, 11, 20, 0):
        there = ~np.isnan(HOLES[row])
        own = belief.of_columns(there)
        expected = own.log_moment(HOLES[row][there], power)[:, 0]
        np.testing.assert_allclose(found[row], expected, rtol=1e-12)
        if power == 1:
            logs = [each[0].logpdf(HOLES[row][there]) for each in own.predictive()]
            np.testing.assert_allclose(found[row], logs, rtol=1e-11)
    assert (found[9] == 0).all()
    each = np.full((ROWS, 1), power)
    np.testing.assert_allclose(belief.row_log_moment(HOLES, each), found, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(belief.score(HOLES, each), belief.score(HOLES, power), rtol=1e-12)


@SHARED
def test_moments_and_cumulants_of_rows_with_holes_are_those_of_each_row(shared: bool) -> None:
    belief, s = model(shared).fit(X, Y).model_.posterior.blocks[0], np.array([0.4j, 2 + 1j])
    every = belief.score_transform(HOLES, s), belief.score_cumulants(HOLES, 1.0)
    for row in (0, 5, 9, 11):
        cell = HOLES[[row]][:, None, None]
        np.testing.assert_allclose(every[0][row, :, 0], belief.log_moment(cell, s[0])[0, :, 0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(every[1][:, row], belief.cumulants(cell, 4, 1.0)[:, 0, :, 0], rtol=1e-12)
    density = belief.estimate("mean")
    cells = density.log_density(HOLES[:, None, None])[..., 0]
    np.testing.assert_allclose(density.score(HOLES, 0.3), 0.3 * cells, rtol=1e-12)
    sub = stats.multivariate_normal(density.mean[0, 0, [1, 2]], density.covariance[0, 0][1:, 1:])
    assert cells[5, 0] == pytest.approx(sub.logpdf(HOLES[5, 1:]), rel=1e-12)


def test_a_row_that_lacks_a_cell_teaches_nothing_about_the_block() -> None:
    complete = ~np.isnan(HOLES).any(axis=1)
    every, some = model().fit(HOLES, Y), model().fit(HOLES[complete], Y[complete])
    same(every.stats_.blocks[0], some.stats_.blocks[0])
    np.testing.assert_array_equal(every.stats_.classes.counts, np.bincount(Y))


def test_the_plug_in_of_the_likeliest_parameters_is_scikit_learns_quadratic_discriminant() -> None:
    ours = model(estimate="mle", class_prior="empirical").fit(X, Y)
    n = np.bincount(Y)
    densities = [
        stats.multivariate_normal(X[n_c].mean(axis=0), np.cov(X[n_c].T, bias=True)).logpdf(X)
        for n_c in (Y == 0, Y == 1, Y == 2)
    ]
    by_hand = np.stack(densities, axis=-1) + np.log(n / n.sum())
    np.testing.assert_allclose(joint(ours, X), by_hand, rtol=1e-9)
    many, labels = np.tile(X, (500, 1)), np.tile(Y, 500)  # scikit-learn divides by n - 1
    theirs = QuadraticDiscriminantAnalysis().fit(many, labels).predict_proba(X)
    ours = model(estimate="mle", class_prior="empirical").fit(many, labels)
    np.testing.assert_allclose(ours.predict_proba(X), theirs, atol=2e-3)
    np.testing.assert_allclose(model().fit(many, labels).predict_proba(X), theirs, atol=2e-3)


def test_with_one_covariance_the_plug_in_is_scikit_learns_linear_discriminant() -> None:
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, Y).predict_proba(X)
    ours = model(True, estimate="mle", class_prior="empirical").fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs, rtol=1e-8)
    many, labels = np.tile(X, (2000, 1)), np.tile(Y, 2000)
    np.testing.assert_allclose(model(True).fit(many, labels).predict_proba(X), theirs, atol=2e-4)


@SHARED
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_left_out_was_never_seen(shared: bool, kind: str) -> None:
    how = {"estimate": kind, "classes": [0, 1, 2]}
    fitted = model(shared, PRIOR, **how).fit(HOLES, Y)
    every = fitted.loo(HOLES, Y).elpd_i
    for row in (*range(6), 9, 11, 20):
        others = np.arange(ROWS) != row
        without = joint(model(shared, PRIOR, **how).fit(HOLES[others], Y[others]), HOLES[[row]])[0]
        assert every[row] == pytest.approx(without[Y[row]] - logsumexp(without), abs=1e-10)


def test_a_row_that_dominates_its_class_is_left_out_to_the_last_digit() -> None:
    x = X.copy()
    x[0] *= 1e7
    every = model(prior=PRIOR).fit(x, Y).loo(x, Y, target="joint").elpd_i
    without = joint(model(prior=PRIOR).fit(x[1:], Y[1:]), x[[0]])[0, Y[0]]
    assert every[0] == pytest.approx(without, rel=1e-12)


def test_the_stats_of_a_kernel_are_those_of_the_definition() -> None:
    weight = one_hot(Y, 4, RNG.gamma(1.0, size=ROWS) * (np.arange(ROWS) % 7 > 0))
    for x in (HOLES, (1e3 * HOLES).astype(np.float32), 1e8 + HOLES):
        same(VectorStats.of(x, weight), VectorStats.defined(x, weight), rtol=1e-7, atol=1e-6)


def test_shifted_rows_keep_their_digits() -> None:
    rows = np.round(RNG.normal(size=(1000, 2)), 3)
    x = np.column_stack([rows[:, 0], rows.sum(axis=1)])
    seen = VectorStats.of(x + 2.0**27, one_hot(np.zeros(1000, int), 1))
    exact = ((x + 2.0**27) - 2.0**27) - ((x + 2.0**27) - 2.0**27).mean(axis=0)
    np.testing.assert_allclose(seen.scatter[0, 0], exact.T @ exact, rtol=1e-12)


@SHARED
def test_a_block_learns_in_batches_and_forgets(shared: bool) -> None:
    whole = model(shared, PRIOR).fit(HOLES, Y)
    parts = model(shared, PRIOR).partial_fit(HOLES[:20], Y[:20], classes=[0, 1, 2]).partial_fit(HOLES[20:], Y[20:])
    same(parts.stats_.blocks[0], whole.stats_.blocks[0], rtol=1e-11)
    parts.forget(HOLES[:20], Y[:20])
    rest = model(shared, PRIOR, classes=[0, 1, 2]).fit(HOLES[20:], Y[20:])
    same(parts.stats_.blocks[0], rest.stats_.blocks[0], rtol=1e-10, atol=1e-11)
    with pytest.raises(ValueError, match="Nothing was forgotten"):
        rest.forget(HOLES[:2] + 40.0, Y[:2])
    same(rest.stats_.blocks[0], model(shared, PRIOR, classes=[0, 1, 2]).fit(HOLES[20:], Y[20:]).stats_.blocks[0])


def test_rows_whose_columns_by_themselves_were_there_may_not_have_been() -> None:
    x = np.column_stack([np.arange(20.0), np.arange(20.0)]) + 1e-3 * RNG.normal(size=(20, 2))
    fitted = model(prior=NormalInverseWishart(0.0, 1.0, 3.0, 1.0)).fit(x, np.zeros(20))
    with pytest.raises(ValueError, match="Nothing was forgotten"):
        fitted.forget(np.array([[5.0, 14.0], [14.0, 5.0]]), np.zeros(2))


def test_all_rows_but_one_can_be_forgotten() -> None:
    fitted = model(prior=PRIOR).fit(X[:7], np.zeros(7))
    fitted.forget(X[1:7], np.zeros(6))
    seen = fitted.stats_.blocks[0]
    assert seen.count[0, 0] == 1
    assert (seen.scatter == 0).all()
    np.testing.assert_allclose(seen.mean[0, 0], X[0], rtol=1e-13)


def test_the_linear_form_of_one_covariance_is_the_log_density_but_for_what_classes_share() -> None:
    density = model(True).fit(X, Y).model_.posterior.blocks[0].estimate("mean")
    form = density.linear()
    assert form is not None
    apart = density.score(X) - (X @ form.weights.T + form.offset)
    np.testing.assert_allclose(apart, np.repeat(apart[:, :1], 3, axis=1), rtol=1e-11, atol=1e-11)
    assert model().fit(X, Y).model_.posterior.blocks[0].estimate("mean").linear() is None


def test_the_variances_of_the_linear_form_are_those_of_draws() -> None:
    belief, draws = model(True, PRIOR).fit(X[:15], Y[:15]).model_.posterior.blocks[0], 40_000
    theta = belief.repeated(draws).sample(np.random.default_rng(1))
    precision = np.linalg.inv(theta.covariance[:, 0]).reshape(draws, 3, 3, 3)
    mean = theta.mean[:, 0].reshape(draws, 3, 3)
    weights = np.einsum("scij,scj->sci", precision, mean)
    offset = -np.einsum("sci,sci->sc", weights, mean) / 2
    for against in (None, 1):
        own = belief.linear_variance(against)
        for values, truth in ((weights, own.weights), (offset, own.offset)):
            drawn = values if against is None else values - values[:, [against]]
            center = (drawn - drawn.mean(axis=0)) ** 2
            error = center.std(axis=0) / np.sqrt(draws)
            assert (np.abs(center.mean(axis=0) - truth) <= 5 * error + 1e-12).all()


def test_the_joint_moment_of_two_classes_is_that_of_draws_and_its_derivatives_are_cumulants() -> None:
    belief, draws = model(True, PRIOR).fit(X[Y < 2], Y[Y < 2]).model_.posterior.blocks[0], 100_000
    theta = belief.repeated(draws).sample(np.random.default_rng(2))
    for cell in (X[[0]], HOLES[[5]]):
        logs = theta.log_density(cell[:, None]).reshape(draws, 2)
        for s, u in ((0.3j, -0.3j), (0.5, 0.7), (1.0 + 1j, 0.2j)):
            values = np.exp(s * (logs[:, 1] - logs.mean()) + u * (logs[:, 0] - logs.mean()))
            truth = np.exp(belief.pair_moment(cell, np.array([s]), np.array([u]))[0, 0] - (s + u) * logs.mean())
            for part in (np.real, np.imag):
                own = part(values)
                assert abs(own.mean() - part(truth)) <= 5 * own.std() / np.sqrt(draws) + 1e-12
        points, radius, t, v = 32, 0.1, 1.0, 0.5
        turn = np.exp(2j * np.pi * (np.arange(points) + 0.5) / points)
        around = belief.pair_moment(cell, t + radius * turn, v - radius * turn)[0]
        expected = [np.prod(np.arange(1, n + 1)) * (around * turn**-n).mean().real / radius**n for n in range(1, 5)]
        np.testing.assert_allclose(belief.pair_cumulants(cell, t, v)[:, 0], expected, rtol=1e-7)


def test_classes_without_the_other_have_the_moments_of_one() -> None:
    belief, s = model(True, PRIOR).fit(X[Y < 2], Y[Y < 2]).model_.posterior.blocks[0], np.array([0.7, 2j])
    own = belief.pair_moment(HOLES, s, 0 * s), belief.pair_moment(HOLES, 0 * s, s)
    every = belief.score_transform(HOLES, s)
    np.testing.assert_allclose(own[0], every[:, 1], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(own[1], every[:, 0], rtol=1e-11, atol=1e-11)


def test_classes_far_apart_are_told_apart_to_the_last_digit() -> None:
    x = X + 1e9 * (Y == 1)[:, None]
    belief = model(True, PRIOR).fit(x, Y).model_.posterior.blocks[0]
    near = belief[[1]].raw(*(getattr(belief, name)[[1]] for name in ("location", "count", "dof", "scale")), 1)
    np.testing.assert_allclose(belief.score(x)[:, 1], near.score(x)[:, 0], rtol=1e-12)


@SHARED
def test_pymc_has_the_same_prior_likelihood_and_evidence(shared: bool) -> None:
    """With a standard triangle A and offset e that make theta, p(theta) = p(A, e) / |d theta / d(A, e)|."""
    fitted = model(shared, PRIOR).fit(X, Y).model_
    prior, posterior, seen = fitted.prior.blocks[0], fitted.posterior.blocks[0], fitted.stats.blocks[0]
    with pm.Model() as built:
        theta = prior.variables(pm, lambda symbol, feature=None: {"name": symbol, "dims": None})
        pm.Potential("x", theta.log_likelihood(seen, pm.math).sum())
    logp = remove_value_transforms(built).compile_logp(jacobian=False, mode="FAST_COMPILE")
    evidence = prior.log_evidence(seen).sum()
    for drawn in (posterior.sample(seed) for seed in range(3)):
        point, log_jacobian = standard(prior, drawn, 1 if shared else 3)
        prior_and_data = logp(point) - log_jacobian
        of_posterior = sum(float(own.sum()) for own in posterior.log_density(drawn).values())
        assert prior_and_data - of_posterior == pytest.approx(evidence, rel=1e-9)  # two inverses


def standard(prior: Any, theta: Any, matrices: int) -> tuple[dict[str, Array], float]:
    """The variables that make theta, and log |d theta / d variables|: Muirhead (1982), theorems 2.1.9 and 2.1.12."""
    factor, d = prior.factor[:matrices, 0], prior.width
    precision = np.linalg.inv(theta.covariance[:matrices, 0])
    triangle = np.linalg.cholesky(factor.swapaxes(1, 2) @ precision @ factor)
    pivots = np.diagonal(triangle, axis1=1, axis2=2)
    half = np.linalg.inv(triangle.swapaxes(1, 2) @ np.linalg.inv(factor)) + np.zeros((3, 1, 1))
    gap = theta.mean[:, 0] - prior.location[:, 0]
    offset = np.linalg.solve(half, gap[:, :, None])[..., 0] * np.sqrt(prior.count)
    below = triangle[:, *np.tril_indices(d, -1)]
    log_precision = np.linalg.slogdet(precision)[1].sum()
    of_triangle = ((d - 1 - np.arange(d)) * np.log(pivots)).sum()  # of A A', from squares of the diagonal
    of_matrix = -(d + 1) * (np.log(np.diagonal(factor, axis1=1, axis2=2)).sum() + log_precision)
    of_mean = (np.linalg.slogdet(half)[1] - d / 2 * np.log(prior.count[:, 0])).sum()
    point = {"cov_squares": pivots**2, "cov_triangle": below, "mu_offset": offset}
    return point, of_triangle + of_matrix + of_mean


@pytest.mark.slow
def test_pymc_says_the_same_of_rows_and_of_their_stats() -> None:
    for shared in (False, True):
        own = NaiveBayes(
            {(0, 1): MultivariateGaussian(PRIOR.of_columns(np.array([1, 1, 0], bool)), shared=shared), 2: None}
        )
        logs = []
        for likelihood in ("statistics", "rows"):
            built = mcmc.build(own, HOLES, Y, likelihood=likelihood)
            logs.append(built.compile_logp(mode="FAST_COMPILE")(built.initial_point()))
        assert logs[0] == pytest.approx(logs[1], rel=1e-11)
    with pytest.raises(ValueError, match="one covariance matrix"):
        mcmc.build(own, HOLES, Y, hierarchical=True)


def test_draws_of_covariances_have_the_expected_mean() -> None:
    belief, draws = NormalInverseWishart([0.0, 1.0], 2.0, 9.0, [[4.0, 1.0], [1.0, 2.0]]), 50_000
    drawn = belief.sample(np.random.default_rng(0), draws).covariance
    error = drawn.std(axis=0) / np.sqrt(draws)
    assert (np.abs(drawn.mean(axis=0) - belief.mean().covariance) <= 5 * error).all()


def test_the_log_density_of_theta_is_scipys() -> None:
    belief = NormalInverseWishart([[0.0, 1.0]], 2.0, 9.0, [[4.0, 1.0], [1.0, 2.0]])
    belief = model(prior=belief).fit(X[:4, :2], np.zeros(4)).model_.posterior.blocks[0]
    theta = belief.sample(3)
    found = belief.log_density(theta)
    wishart = stats.invwishart(belief.dof[0, 0], belief.scale[0, 0]).logpdf(theta.covariance[0, 0])
    normal = stats.multivariate_normal(belief.location[0, 0], theta.covariance[0, 0] / belief.count[0, 0])
    assert found["cov", None][0] == pytest.approx(wishart, rel=1e-12)
    assert found["mu", None][0] == pytest.approx(normal.logpdf(theta.mean[0, 0]), rel=1e-12)


@pytest.mark.slow
@SHARED
def test_a_tuned_prior_makes_the_data_more_probable_than_its_neighbours(shared: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a dial is at its end
        tuned = tune(model(shared), X, Y)
        best = tuned.fit(X, Y).log_evidence_
        assert (
            tune(model(shared), X, Y, criterion="loo").fit(X, Y).loo(X, Y).elpd > model(shared).fit(X, Y).loo(X, Y).elpd
        )
    assert best > model(shared).fit(X, Y).log_evidence_
    own = tuned.families.prior
    for count, dof, scale in ((1.2, 1, 1), (0.8, 1, 1), (1, 1.1, 1), (1, 0.9, 1), (1, 1, 1.1), (1, 1, 0.9)):
        near = NormalInverseWishart(own.location, count * own.count, 2 + dof * (own.dof - 2), scale * own.scale)
        assert model(shared, near).fit(X, Y).log_evidence_ <= best + 1e-6


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (((0.0, 0.0), 1.0, 1.0, 1.0), "dof must be above"),
        (((0.0, 0.0), 1.0, 4.0, [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (((0.0, 0.0), 1.0, 4.0, [[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (((0.0, 0.0), 1.0, 4.0, -1.0), "positive definite"),
        (((0.0, 0.0), -1.0, 4.0, 1.0), "count must be finite"),
        (((0.0, 0.0), 1.0, 4.0, np.eye(3)), "scale must be a number, or"),
        (((0.0, np.nan), 1.0, 4.0, 1.0), "mean must be finite"),
    ],
)
def test_a_prior_that_is_none_is_refused(said: tuple[Any, ...], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        NormalInverseWishart(*said)


def test_a_prior_of_another_block_is_refused() -> None:
    for prior, match in (
        (NormalInverseWishart([0.0, 0.0], 1.0, 4.0, 1.0), "does not fit 3 classes and a block of 3 columns"),
        (NormalInverseWishart(0.0, 1.0, 1.5, 1.0), "dof must be above 2 for a block of 3 columns"),
    ):
        with pytest.raises(ValueError, match=match):
            model(prior=prior).fit(X, Y)
    with pytest.raises(ValueError, match="the same for every class"):
        model(True, NormalInverseWishart(np.zeros(3), 1.0, [4.0, 5.0, 6.0], 1.0)).fit(X, Y)


def test_a_number_for_a_scale_is_that_many_identities_for_every_class() -> None:
    by_number = model(prior=NormalInverseWishart(0.0, 1.0, 5.0, 2.0)).fit(X, Y)
    spelled = NormalInverseWishart(np.zeros((3, 3)), np.ones(3), np.full(3, 5.0), np.stack([2 * np.eye(3)] * 3))
    np.testing.assert_array_equal(joint(by_number, X), joint(model(prior=spelled).fit(X, Y), X))


def test_an_infinite_cell_and_one_too_far_out_are_refused() -> None:
    for value, match in ((np.inf, "infinite"), (1e200, "beyond what a float holds")):
        x = X.copy()
        x[2, 1] = value
        with pytest.raises(ValueError, match=match):
            model().fit(x, Y)


def test_rows_beyond_the_range_of_squares_are_scored() -> None:
    fitted = model(prior=PRIOR).fit(X, Y)
    far = np.array([[1e200, -3e200, 1e199], [1e160, 0.0, 1.0]])
    scores, belief = joint(fitted, far), fitted.model_.posterior.blocks[0]
    logs = (belief.dof[:, 0] + 1) * np.log(1e40)
    again = joint(fitted, far * 1e-40)
    np.testing.assert_allclose(scores[0], again[0] - logs, rtol=1e-12)
    assert np.isfinite(scores).all()


def test_a_class_too_small_for_a_covariance_has_no_likeliest_one() -> None:
    few = np.concatenate([np.flatnonzero(Y == 0)[:3], np.flatnonzero(Y > 0)])
    with pytest.raises(ValueError, match="estimate"):
        model(estimate="mle").fit(X[few], Y[few]).predict(X)
    assert np.isfinite(model().fit(X[few], Y[few]).predict_proba(X)).all()


def test_a_row_after_very_many_others_keeps_its_digits() -> None:
    count = 1e12
    belief = NormalInverseWishart([[0.0, 0.0]], count, count, count * np.eye(2))
    belief = MultivariateGaussian(belief).belief(
        VectorStats(np.zeros((1, 1)), np.zeros((1, 1, 2)), np.zeros((1, 1, 2, 2)))
    )
    cell = np.array([[0.5, -1.0]])
    one = VectorStats.of(cell, one_hot(np.zeros(1, int), 1))
    normal = stats.multivariate_normal(np.zeros(2)).logpdf(cell)
    assert belief.log_evidence(one)[0, 0] == pytest.approx(normal, rel=1e-10)
    assert belief.score(cell)[0, 0] == pytest.approx(normal, rel=1e-10)


def test_several_models_stand_side_by_side() -> None:
    belief = model(True, PRIOR).fit(X, Y).model_.posterior.blocks[0]
    three = belief.repeated(3)
    assert isinstance(three, SharedNormalInverseWishart)
    np.testing.assert_allclose(three.score(HOLES), np.tile(belief.score(HOLES), 3), rtol=1e-13)
    drawn = three.sample(0)
    same_covariance = drawn.covariance.reshape(3, 3, 3, 3)
    assert (same_covariance == same_covariance[:, :1]).all()
    assert (same_covariance[0] != same_covariance[1]).any()
