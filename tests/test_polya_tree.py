"""Polya trees: against enumeration of all binnings, refits, draws, and transforms of their columns."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import loggamma
from scipy.stats import dirichlet, kstest
from sklearn.datasets import load_iris

from bayesnb import (
    AveragedHistogram,
    DrawnWarning,
    Gaussian,
    NaiveBayes,
    PolyaTree,
    compare_smoothing,
    dependence,
    load,
    mcmc,
    plot_boundary,
    plot_column,
    plot_nomogram,
    relevance,
    scale,
    tune,
)
from bayesnb.cli import main
from bayesnb.families.grid import Grid
from bayesnb.families.grid_levels import GridDensity, GridStats
from bayesnb.numerics import histogram_bins, histogram_kernels
from bayesnb.plots import COLOURS
from bayesnb.report import report
from tests.conftest import binning_by_binning

Array = np.ndarray
RNG = np.random.default_rng(20261123)
ROWS = 60
Y = np.arange(ROWS) % 3
X = np.column_stack(
    [RNG.normal(Y, 1.0), RNG.exponential(1.0 + Y), RNG.integers(0, 3, ROWS), np.full(ROWS, 7.0), RNG.normal(size=ROWS)]
)
X[[3, 11], 0] = X[7, 4] = np.nan
MODEL = NaiveBayes(PolyaTree()).fit(X, Y)


SMALL = np.sort(RNG.normal(size=(14, 1)), axis=0)
SIX = Grid.learnt(SMALL, None, 3)
COUNTS = RNG.integers(0, 4, (1, len(SIX.low))).astype(float)
PRIOR = PolyaTree(concentration=1.7, stop=0.4).belief(GridStats(COUNTS, SIX))
POSTERIOR = PRIOR.update(GridStats(COUNTS, SIX))


def probabilities(belief: AveragedHistogram) -> list[tuple[float, list[tuple[int, int]]]]:
    """Each binning of the one column and class, and how probable it is, of the definition."""
    weighed = binning_by_binning(belief, 0, 0)
    every = np.logaddexp.reduce([log for log, _ in weighed])
    return [(np.exp(log - every), bins) for log, bins in weighed]


def moments(belief: AveragedHistogram, s: complex) -> Array:
    """E[ratio**s] of each level: the sum over all binnings, of Betas by their definition."""
    total, value = belief.concentration[0, 0] + belief.counts.sum(), np.zeros(len(belief.grid.low), complex)
    for chance, bins in probabilities(belief):
        for low, high in bins:
            a, q = belief.a[0, low : high + 1].sum(), belief.grid.share[low : high + 1].sum()
            log = loggamma(a + s) - loggamma(a) - loggamma(total + s) + loggamma(total) - s * np.log(q)
            value[low : high + 1] += chance * (np.exp(log) if len(bins) > 1 else 1.0)
    return value


def test_before_the_data_no_cut_is_a_boundary_with_the_probability_to_stop() -> None:
    for stop in (0.01, 0.5, 0.9):
        prior = PolyaTree(stop=stop).belief(GridStats(COUNTS, SIX))
        (chance,) = [chance for chance, bins in probabilities(prior) if len(bins) == 1]
        assert chance == pytest.approx(stop, rel=1e-12)


@pytest.mark.parametrize("times", [1.0, 0.37, 1e3])
def test_evidence_is_the_sum_over_all_binnings(times: float) -> None:
    assert len(SIX.low) in (5, 6, 7, 8)
    seen = GridStats(times * COUNTS, SIX)
    expected = np.logaddexp.reduce([log for log, _ in binning_by_binning(PRIOR.update(seen), 0, 0)])
    assert PRIOR.log_evidence(seen)[0, 0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("s", [1.0, 2.0, -0.5, 0.3 + 0.7j, 30j])
def test_moments_are_sums_over_all_binnings(s: complex) -> None:
    posterior = PRIOR.update(GridStats(COUNTS + 1, SIX))
    assert_allclose(np.exp(posterior.level_log_moment(s))[0], moments(posterior, s), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("s", [0.3, -0.3, 0.3 + 0.7j])
def test_moments_are_those_of_draws(s: complex) -> None:
    posterior = PRIOR.update(GridStats(10 * COUNTS + 3, SIX))
    values = np.exp(s * posterior.sample(5, 100_000).log_ratio)
    error = values.std(axis=0) / np.sqrt(100_000)
    truth = np.exp(posterior.level_log_moment(s))
    assert (np.abs(values.mean(axis=0) - truth) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_a_row_alone_has_the_cumulants_that_it_has_among_many(tilt: float) -> None:
    posterior = MODEL.model_.posterior.blocks[0]
    cells = MODEL.schema_.read(open_table(X))[0]
    together = posterior.score_cumulants(cells, tilt)
    alone = [posterior.score_cumulants(cells[[row]], tilt) for row in range(ROWS)]
    assert_array_equal(np.concatenate(alone, axis=1), together)


def test_bins_that_are_kept_are_those_that_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = SIX.share[None], COUNTS[:, None], np.full((1, 1), 1.7), np.full((1, 1), -0.4)
    kept = histogram_bins.probable_bins(*columns)
    assert histogram_bins.probable_bins(*columns) is kept
    assert histogram_bins.probable_bins(columns[0], 2 * columns[1], *columns[2:]) is not kept
    monkeypatch.setattr(histogram_bins, "MOST_KEPT", 0)
    computed = histogram_bins.probable_bins(*columns)
    assert computed is not kept
    assert_array_equal(computed.weight, kept.weight)


def test_drawn_bins_are_as_probable_as_the_binnings_that_have_them() -> None:
    drawn = POSTERIOR.sample(3, 100_000).log_ratio[:, 0]
    boundary = (np.diff(drawn, axis=1) != 0).mean(axis=0)
    for cut in range(len(SIX.low) - 1):
        expected = sum(chance for chance, bins in probabilities(POSTERIOR) if any(high == cut for _, high in bins))
        assert abs(boundary[cut] - expected) < 5 * np.sqrt(expected * (1 - expected) / 100_000)


def test_bins_are_weighed_once_for_all_draws_of_a_class_and_column(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, calls = MODEL.model_.posterior.blocks[0], []
    for name in ("draw", "log_density"):
        kernel = getattr(histogram_kernels, name)
        monkeypatch.setattr(
            histogram_kernels, name, lambda *args, kernel=kernel: calls.append(len(args[-2])) or kernel(*args)
        )
    drawn = posterior.sample(np.random.default_rng(1), 50).log_ratio
    theta = posterior.draws(np.random.default_rng(1), 50).theta
    assert_array_equal(theta.log_ratio, drawn.reshape(150, -1))
    side_by_side = posterior.repeated(50).log_density(theta)
    for name, logs in posterior.log_density(GridDensity.of_logs(drawn, theta.grid)).items():
        assert_array_equal(side_by_side[name], logs.ravel())
    assert calls == 4 * len(posterior) * X.shape[1] * [50]


def test_the_density_of_draws_is_that_of_their_bins_and_shares() -> None:
    drawn = POSTERIOR.sample(4, 50)
    found = POSTERIOR.log_density(drawn)["ratio{}", 0][:, 0]
    chances = {tuple(bins): chance for chance, bins in probabilities(POSTERIOR)}
    for logs, log in zip(drawn.log_ratio[:, 0], found, strict=True):
        edges = [0, *(np.flatnonzero(np.diff(logs)) + 1), len(logs)]
        bins = tuple((int(low), int(high) - 1) for low, high in pairwise(edges))
        a = np.array([POSTERIOR.a[0, low : high + 1].sum() for low, high in bins])
        shares = np.array([np.exp(logs[low]) * SIX.share[low : high + 1].sum() for low, high in bins])
        density = dirichlet(a).logpdf(shares / shares.sum()) if len(a) > 1 else 0.0
        assert log == pytest.approx(np.log(chances[bins]) + density, rel=1e-9, abs=1e-9)


def test_the_mode_is_that_of_the_most_probable_bins() -> None:
    for belief in (PRIOR, POSTERIOR, PRIOR.update(GridStats(20 * COUNTS, SIX))):
        _, bins = max(probabilities(belief), key=lambda pair: pair[0])
        above = [max(belief.a[0, low : high + 1].sum() - 1, 0.0) for low, high in bins]
        for (low, high), each in zip(bins, above, strict=True):
            expected = each / sum(above) / SIX.share[low : high + 1].sum() if sum(above) else 1.0
            assert_allclose(belief.mode()[0, low : high + 1], expected, rtol=1e-12)


def test_many_levels_and_a_billion_rows_keep_their_digits() -> None:
    grid = Grid.learnt(np.arange(5_000.0)[:, None], None, 8)
    assert grid.sizes == (256,)
    prior = PolyaTree().belief(GridStats(np.zeros((1, 256)), grid))
    counts = np.zeros((1, 256))
    assert_array_equal(prior.level_log_moment(1.0), 0.0)
    assert_array_equal(prior.log_evidence(GridStats(counts, grid)), 0.0)
    counts[:, :128], counts[:, 128:] = 3e9 / 256, 1e9 / 256
    posterior = prior.update(GridStats(counts * grid.share / grid.share.mean(), grid))
    left = grid.share[:128].sum()
    expected = np.array([3.0, 1.0]) / (3 * left + 1 - left)
    assert_allclose(posterior.mean()[0, [5, 250]], expected, rtol=1e-6)
    assert_array_equal(posterior.level_log_moment(0.0), 0.0)
    assert_allclose(posterior.level_sums(posterior.mean() * grid.share), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_ranks_of_what_was_drawn_are_uniform() -> None:
    """Simulation-based calibration of each level's ratio: prior draw, data, posterior draws."""
    rng, ranks = np.random.default_rng(7), []
    for _ in range(2_000):
        truth = PRIOR.sample(rng)
        counts = rng.multinomial(20, truth.probability[0] / truth.probability.sum())[None].astype(float)
        drawn = PRIOR.update(GridStats(counts, SIX)).sample(rng, 99)
        below = (drawn.ratio[:, 0] < truth.ratio[0]).sum(axis=0)
        equal = (drawn.ratio[:, 0] == truth.ratio[0]).sum(axis=0)  # where no cut is a boundary
        ranks.append((below + rng.uniform(size=below.shape) * (equal + 1)) / 100)
    for level in np.array(ranks).T:
        assert kstest(level, "uniform").pvalue > 1e-4


def test_leave_one_out_is_that_of_refits_on_the_same_grid() -> None:
    left_out = MODEL.loo(X, Y).elpd_i.values
    joint = MODEL.loo(X, Y, target="joint").elpd_i.values
    for row in range(0, ROWS, 7):
        again = NaiveBayes(PolyaTree()).fit(X, Y).forget(X[[row]], Y[[row]])
        assert left_out[row] == pytest.approx(again.predict_log_proba(X[[row]])[0, Y[row]], rel=1e-9)
        assert joint[row] == pytest.approx(again.predict_joint_log_proba(X[[row]])[0, Y[row]], rel=1e-9)


@pytest.mark.parametrize("change", [np.exp, lambda x: 1e5 * x - 3e7, lambda x: np.sign(x) * np.abs(x) ** 3, np.arctan])
def test_predictions_are_the_same_bits_whatever_increasing_function_a_column_goes_through(change: Any) -> None:
    again = NaiveBayes(PolyaTree()).fit(change(X), Y)
    assert_array_equal(again.predict_proba(change(X)), MODEL.predict_proba(X))
    assert again.log_evidence_ == MODEL.log_evidence_
    assert_array_equal(again.loo(change(X), Y).elpd_i.values, MODEL.loo(X, Y).elpd_i.values)


def test_a_grid_halves_its_rows_between_distinct_values() -> None:
    x = np.repeat(np.arange(6.0), [1, 1, 9, 1, 2, 4])[:, None]
    assert_array_equal(Grid.learnt(x, None, 1).cuts, [2.5])  # 11 of 18 rows below; 2 below the other candidate
    grid = Grid.learnt(x, None, 8)
    assert_array_equal(grid.weight, np.bincount(np.searchsorted(grid.cuts, x[:, 0])))
    assert_allclose(grid.share, grid.weight / 18, rtol=1e-15)


def test_rows_are_not_halved_more_often_than_asked_nor_below_four() -> None:
    for depth in (1, 3, 8):
        grid = Grid.learnt(RNG.normal(size=(500, 2)), None, depth)
        assert max(grid.sizes) <= 2**depth
        assert min(grid.weight) >= 2
    assert Grid.learnt(np.arange(3.0)[:, None], None, 8).sizes == (1,)


def test_integer_weights_are_repeated_rows() -> None:
    times = 1 + np.arange(ROWS) % 4
    weighted = NaiveBayes(PolyaTree()).fit(X, Y, times)
    repeated = NaiveBayes(PolyaTree()).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.log_evidence_ == repeated.log_evidence_


def test_batches_in_any_order_are_one_table_once_the_grid_is_there() -> None:
    first = NaiveBayes(PolyaTree()).partial_fit(X[:30], Y[:30], classes=[0, 1, 2])
    a = NaiveBayes(PolyaTree()).partial_fit(X[:30], Y[:30], classes=[0, 1, 2])
    a.partial_fit(X[30:45], Y[30:45]).partial_fit(X[45:], Y[45:])
    b = NaiveBayes(PolyaTree()).partial_fit(X[:30], Y[:30], classes=[0, 1, 2])
    b.partial_fit(X[45:], Y[45:]).partial_fit(X[30:45], Y[30:45])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert_array_equal(b.forget(X[30:], Y[30:]).predict_proba(X), first.predict_proba(X))
    faded = NaiveBayes(PolyaTree()).fit(X, Y).decay(0.5)
    assert_array_equal(faded.stats_.blocks[0].counts, 0.5 * MODEL.stats_.blocks[0].counts)


def test_models_of_different_grids_are_not_merged_and_of_declared_cuts_they_are() -> None:
    one, two = (NaiveBayes(PolyaTree()).fit(X[rows], Y[rows]) for rows in (slice(0, 30), slice(30, None)))
    with pytest.raises(ValueError, match=r"column 0: the cuts .* PolyaTree\(cuts="):
        one.merge(two)
    family = PolyaTree(cuts=[-1.0, 0.0, 0.5, 1.0, 3.0, 7.0])
    one, two = (NaiveBayes(family).fit(X[rows], Y[rows]) for rows in (slice(0, 30), slice(30, None)))
    assert_array_equal(one.merge(two).predict_proba(X), NaiveBayes(family).fit(X, Y).predict_proba(X))


def test_cuts_may_be_declared_for_each_column() -> None:
    family = PolyaTree(cuts=[[0.0, 1.0], [2.0]])
    grid = NaiveBayes(family).fit(X[:, :2], Y).posterior_[0].grid
    assert grid.sizes == (3,)
    assert_array_equal(grid.cuts, [0.0, 1.0])
    for cuts in ([], [1.0, 1.0], [2.0, 1.0], [np.nan], [np.inf], [[0.0], [2.0, 1.0]]):
        with pytest.raises(ValueError, match="cuts"):
            PolyaTree(cuts=cuts)
    with pytest.raises(ValueError, match="cuts are those of 2 columns"):
        NaiveBayes(family).fit(X, Y)


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": 2.0}, {"depth": 99}, {"stop": 0}, {"stop": 1.0}])
def test_options_that_make_no_tree_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"PolyaTree: {next(iter(options))}"):
        PolyaTree(**options)
    with pytest.raises(ValueError, match="concentration"):
        PolyaTree(concentration=-1.0)


COLUMNS = {
    "huge": np.array([-1e308, -1e300, 0.0, 1e300, 1e308, 1.7e308]),
    "denormal": np.array([0.0, 5e-324, 1e-323, 1.5e-323, 2e-323, 1e-310]),
    "neighbours": np.nextafter(1.0, 2.0) ** np.arange(6),
    "integers": np.arange(6),
    "zeros": np.array([-0.0, 0.0, 0.0, 0.0, -0.0, 1.0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_at_the_ends_of_floats_are_told_apart(name: str) -> None:
    values = COLUMNS[name]
    x, y = np.repeat(values, 5)[:, None], np.repeat(np.arange(len(values)) >= 3, 5)
    if name == "zeros":
        y = x[:, 0] > 0
    model = NaiveBayes(PolyaTree()).fit(x, y)
    assert_array_equal(model.predict(x), y)
    assert np.isfinite(model.log_density(x)).all()
    rows, _ = model.sample(50, rng=0)
    assert np.isfinite(rows).all()
    assert ((rows >= values.min()) & (rows <= values.max())).all()


def test_single_precision_is_read_as_it_is() -> None:
    small = X.astype(np.float32)
    a, b = NaiveBayes(PolyaTree()).fit(small, Y), NaiveBayes(PolyaTree()).fit(small.astype(float), Y)
    assert_array_equal(a.predict_proba(small), b.predict_proba(small.astype(float)))


def test_a_constant_column_and_a_missing_cell_say_nothing() -> None:
    rows = X[:5].copy()
    rows[:, [3, 4]] = 1e9, np.nan
    without = NaiveBayes(PolyaTree()).fit(X[:, :3], Y)
    assert_allclose(MODEL.predict_proba(rows), without.predict_proba(rows[:, :3]), rtol=1e-12)
    assert NaiveBayes(PolyaTree()).fit(np.full((5, 1), np.nan), [0, 0, 1, 1, 1]).predict_proba([[3.0]])[0, 1] == 4 / 7


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_an_infinite_cell_is_refused_at_fit_and_at_predict(cell: float) -> None:
    table = X.copy()
    table[5, 1] = cell
    for ask in (
        lambda: NaiveBayes(PolyaTree()).fit(table, Y),
        lambda: MODEL.predict(table),
        lambda: MODEL.loo(table, Y),
    ):
        with pytest.raises(ValueError, match="column 1: a number is infinite"):
            ask()


def test_an_outlier_costs_no_more_than_its_leaf() -> None:
    far, edge = X[:1].copy(), X[:1].copy()
    far[0, 1], edge[0, 1] = 1e300, X[:, 1].max()
    assert_array_equal(MODEL.predict_proba(far), MODEL.predict_proba(edge))
    assert MODEL.log_density(far)[0] == MODEL.log_density(edge)[0]


def test_the_density_integrates_to_one_over_the_range_of_the_column() -> None:
    model = NaiveBayes(PolyaTree()).fit(X[:, [0]], Y)
    grid = model.posterior_[0].grid
    lower, upper = grid.ends
    middle = (lower + upper) / 2
    density = np.exp(model.log_density(middle[:, None]))
    assert (density * (upper - lower)).sum() == pytest.approx(1.0, rel=1e-12)
    by_class = np.exp(model.predict_joint_log_proba(middle[:, None]))
    assert_allclose((by_class * (upper - lower)[:, None]).sum(axis=0), model.class_posterior_.mean(), rtol=1e-12)
    law = model.posterior_[0].predictive()
    assert_allclose(law.pdf(middle[:, None, None])[:, :, 0], by_class / model.class_posterior_.mean(), rtol=1e-11)
    assert_allclose(law.cdf(law.ppf(0.3)), 0.3, rtol=1e-12)


def test_explanations_add_up_to_the_density_of_rows() -> None:
    for average in (None, 0.5):
        model = NaiveBayes(PolyaTree(), average_features=average).fit(X, Y)
        found = model.explain(X[:6])
        total = found["predictive"].values.sum(axis=-1) + found["predictive_class_term"].values
        assert_allclose(total, model.predict_joint_log_proba(X[:6]), rtol=1e-11)


def test_rows_that_are_drawn_have_whole_numbers_where_all_were_and_values_that_were_there() -> None:
    rows, labels = MODEL.sample(400, rng=0)
    assert set(rows[:, 2].tolist()) <= {0.0, 1.0, 2.0}
    assert set(rows[:, 3].tolist()) == {7.0}
    assert ((rows[:, :2] >= np.nanmin(X[:, :2], axis=0)) & (rows[:, :2] <= np.nanmax(X[:, :2], axis=0))).all()
    assert set(labels.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_every_estimate_predicts_and_is_left_out(estimate: str) -> None:
    model = NaiveBayes(PolyaTree(depth=2), estimate=estimate).fit(X, Y)
    row = 4
    without = NaiveBayes(PolyaTree(depth=2), estimate=estimate).fit(X, Y).forget(X[[row]], Y[[row]])
    left_out = model.loo(X, Y).elpd_i.values[row]
    assert left_out == pytest.approx(without.predict_log_proba(X[[row]])[0, Y[row]], rel=1e-10)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_the_mean_plugged_in_predicts_as_the_predictive_does() -> None:
    mean = NaiveBayes(PolyaTree(), estimate="mean").fit(X, Y)
    assert_allclose(mean.predict_proba(X), MODEL.predict_proba(X), rtol=1e-10)


def test_exponents_may_differ_between_features() -> None:
    belief, cells = MODEL.model_.posterior.blocks[0], MODEL.schema_.blocks[0].read(open_table(X))
    powers = np.array([0.3, 1.0, 0.0, 2.0, 0.7])
    expected = sum(belief.only(j).score(cells[:][:, [j]], float(power)) for j, power in enumerate(powers))
    assert_allclose(belief.score(cells, powers), expected, rtol=1e-12, atol=1e-12)
    density = belief.estimate("mean")
    assert_allclose(
        density.score(cells, powers),
        sum(density.only(j).score(cells[:][:, [j]], float(power)) for j, power in enumerate(powers)),
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip


def open_table(table: Array) -> Any:
    from bayesnb.data import open_table as opened

    return opened(table)


@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_its_concentration_is_tuned_to_the_largest_evidence() -> None:
    tuned = tune(NaiveBayes(PolyaTree()), X, Y, force=True)
    (family, *_) = tuned.families.values() if isinstance(tuned.families, dict) else [tuned.families]
    best = NaiveBayes(family).fit(X, Y).log_evidence_
    for factor in (0.9, 1.1):
        other = PolyaTree(concentration=factor * np.asarray(family.concentration))
        assert NaiveBayes(other).fit(X, Y).log_evidence_ <= best + 1e-6


def test_smoothings_scale_its_concentration() -> None:
    table = compare_smoothing(NaiveBayes(PolyaTree()), X, Y, (0, 0.5, 1), estimates=("predictive",)).table
    for row in table.itertuples():
        expected = NaiveBayes(PolyaTree(concentration=2.0 * row.smoothing)).fit(X, Y).loo(X, Y).elpd
        assert row.elpd_loo == pytest.approx(expected, rel=1e-10)


def test_relevance_is_the_evidence_of_a_density_for_each_class_against_one() -> None:
    factors = np.asarray(relevance(MODEL)["log_bayes_factor"])
    each = MODEL.model_.prior.blocks[0].log_evidence(MODEL.stats_.blocks[0]).sum(axis=0)
    one = NaiveBayes(PolyaTree()).fit(X, np.zeros(ROWS))
    common = one.model_.prior.blocks[0].log_evidence(one.stats_.blocks[0])[0]
    assert_allclose(np.sort(factors), np.sort(each - common), rtol=1e-10, atol=1e-10)
    assert dependence(MODEL, X, Y)["feature"].size == 5


def test_a_saved_model_comes_back_the_same(tmp_path: Path) -> None:
    for average in (None, 0.5):
        model = NaiveBayes(PolyaTree(), average_features=average).fit(X, Y)
        model.save(tmp_path / "model.bnb")
        again = load(tmp_path / "model.bnb")
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.partial_fit(X, Y).predict_proba(X), model.partial_fit(X, Y).predict_proba(X))


def test_a_grid_that_no_rows_make_is_refused() -> None:
    good = {"low": [0, 1, 2], "high": [0, 1, 2], "weight": [1, 1, 1], "whole": [1]}
    Grid((3,), **{name: np.array(each, float) for name, each in good.items()})
    for name, bad in (
        ("low", [0, 1, 3]), ("high", [2, 1, 2]), ("weight", [1, 0, 1]), ("weight", [1, 1]), ("high", [0, 1, np.inf]),
        ("whole", [1, 1]),
    ):  # fmt: skip
        fields = {key: np.array(each, float) for key, each in (good | {name: bad}).items()}
        with pytest.raises(ValueError, match="grid"):
            Grid((3,), **fields)
    for sizes in ((), (3.0,), (0, 3), (257,)):
        with pytest.raises(ValueError, match="from 1 to 256"):
            Grid(sizes, *np.zeros((3, 257)), np.zeros(1))


FRAME = pd.DataFrame(X, columns=list("abcde")).assign(label=np.array(["x", "y", "z"])[Y])


def test_files_are_read_on_the_grid_of_their_first_batch(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    model = scale.fit_files(NaiveBayes(PolyaTree()), tmp_path / "table.csv", "label", batch_rows=20, progress=False)
    parts = NaiveBayes(PolyaTree()).partial_fit(FRAME[list("abcde")][:20], FRAME["label"][:20], classes=list("xyz"))
    parts.partial_fit(FRAME[list("abcde")][20:], FRAME["label"][20:])
    assert_array_equal(model.predict_proba(FRAME[list("abcde")]), parts.predict_proba(FRAME[list("abcde")]))


def test_partitions_are_read_on_the_grid_of_the_first() -> None:
    dask = pytest.importorskip("dask.array")
    lazy = NaiveBayes(PolyaTree()).fit(dask.from_array(X, chunks=(20, 5)), dask.from_array(Y, chunks=20))
    parts = NaiveBayes(PolyaTree()).partial_fit(X[:20], Y[:20], classes=[0, 1, 2]).partial_fit(X[20:], Y[20:])
    assert_array_equal(lazy.predict_proba(X), parts.predict_proba(X))
    parts.partial_fit(dask.from_array(X, chunks=(20, 5)), dask.from_array(Y, chunks=20))
    assert parts.stats_.classes.counts.sum() == 2 * ROWS


def picture_columns(rng: np.random.Generator, y: Array) -> pd.DataFrame:
    rows = len(y)
    smooth, amounts = rng.normal(2 * y, 1), np.exp(rng.normal(5 + y, 1.3))
    return pd.DataFrame(
        {
            "smooth": smooth,
            "skewed": amounts,
            "outliers": np.where(rng.random(rows) < 0.01, 1e6, smooth),
            "zeros": np.where(rng.random(rows) < 0.2 + 0.4 * y, 0.0, amounts),
            "code": np.where(rng.random(rows) < 0.2, 999.0, smooth),
            "rounded": smooth.round(1),
            "years": rng.integers(18, 90, rows) + 5.0 * y,
            "grades": rng.integers(1, 6, rows),
            "half": np.where(rng.random(rows) < 0.5, 1.5, 2.5 + y),
            "constant": 1e6,
        }
    )


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize(
    "column", ["smooth", "skewed", "outliers", "zeros", "code", "rounded", "years", "grades", "half"]
)
def test_what_is_drawn_of_a_column_has_probability_one(column: str, with_rows: bool) -> None:
    y = np.arange(400) % 2
    table = picture_columns(np.random.default_rng(0), y)[[column]]
    model = NaiveBayes(PolyaTree()).fit(table, y)
    ax = plot_column(model, column, *((table, y) if with_rows else ()))
    low, high = ax.get_xlim()
    predictive = model.posterior_[column].predictive()
    for c in range(2):
        edges, steps = drawn_steps(ax, c)
        bars = drawn_bars(ax, c)
        assert np.trapezoid(steps, edges) + sum(bars.values()) == pytest.approx(1)
        assert len(edges) == 0 or edges[[0, -1]] == pytest.approx([table[column].min(), table[column].max()], abs=0.5)
        starts, ends, heights = edges[:-2:2], edges[2::2], steps[1:-1:2]
        outer = model.posterior_[column].grid.cuts[[0, -1]]  # whole numbers on outer levels reach half a step further
        inside = (starts >= max(low, outer[0])) & (ends <= min(high, outer[1]))
        assert inside.any() or not len(edges)
        for start, end, height in zip(starts[inside], ends[inside], heights[inside], strict=True):
            if not any(start - 1 <= value <= end + 1 for value in bars):
                expected = np.diff(predictive.cdf(np.array([[[start]], [[end]]]))[:, c, 0])
                assert height * (end - start) == pytest.approx(expected, abs=1e-12)


def test_a_frequent_value_is_a_bar_and_outliers_leave_the_picture_its_shape() -> None:
    y = np.arange(400) % 2
    table = picture_columns(np.random.default_rng(0), y)
    model = NaiveBayes(PolyaTree()).fit(table, y)
    zeros = (table["zeros"] == 0).groupby(y).mean()
    for c in range(2):
        bars = drawn_bars(plot_column(model, "zeros", table, y), c)
        assert list(bars) == [0.0]
        assert bars[0.0] == pytest.approx(zeros[c], abs=2 * np.sqrt(0.25 / 200))
        assert list(drawn_bars(plot_column(model, "grades"), c)) == [1, 2, 3, 4, 5]
        assert drawn_bars(plot_column(model, "constant"), c) == {1e6: pytest.approx(1)}
        assert not drawn_bars(plot_column(model, "rounded"), c)
    ax = plot_column(model, "outliers", table, y)
    assert ax.get_xlim()[1] < 30
    assert f"further out: {(table['outliers'] == 1e6).sum()} rows" in ax.get_xlabel()


def drawn_steps(ax: Any, c: int) -> tuple[Array, Array]:
    """Corners of the histogram of a class."""
    lines = [line for line in ax.lines if line.get_linestyle() != "None" and line.get_color() == COLOURS[c]]
    return (np.empty(0), np.empty(0)) if not lines else tuple(np.asarray(lines[0].get_data()))


def drawn_bars(ax: Any, c: int) -> dict[float, float]:
    """Value -> height of the bar of a class, of which each value has one beside the others."""
    bars = [bar for axes in ax.figure.axes for container in axes.containers for bar in container]
    middles = np.array([bar.get_x() + bar.get_width() / 2 for bar in bars]).reshape(2, -1)
    heights = np.array([bar.get_height() for bar in bars]).reshape(2, -1)
    return dict(zip(middles.mean(axis=0).round(6).tolist(), heights[c].tolist(), strict=True))


@pytest.mark.slow
def test_columns_have_pictures_in_their_numbers() -> None:
    model = NaiveBayes(PolyaTree()).fit(FRAME[list("abcde")], FRAME["label"])
    assert plot_nomogram(model, classes=["x", "z"]) is not None
    assert plot_boundary(model, FRAME[list("abcde")], FRAME["label"], features=["a", "b"]) is not None


@pytest.mark.slow
def test_it_has_a_page_and_a_tree_of_draws_and_no_pymc_model(tmp_path: Path) -> None:
    table, y = FRAME[list("abcde")][:24], FRAME["label"][:24]
    model = NaiveBayes({"a": PolyaTree(), ("b", "c", "d", "e"): Gaussian()}).fit(table, y)
    page = Path(report(model, table, y).save(tmp_path / "page.html")).read_text()
    assert "PolyaTree" in page
    tree = model.to_datatree(table, y, draws=20, chains=2)
    assert tree["posterior"]["ratio_a"].dims == ("chain", "draw", "class", "a_level")
    assert np.isfinite(tree["log_prior"]["ratio_a"].values).all()
    with pytest.raises(TypeError, match="AveragedHistogram has no PyMC model"):
        mcmc.build(model, table, y)


def test_the_command_line_knows_it(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    table, path = str(tmp_path / "table.csv"), str(tmp_path / "model.bnb")
    asked = [arg for name in "abcde" for arg in ("--family", f"{name}=polyatree")]
    assert main(["fit", table, "--target", "label", *asked, "-o", path]) == 0
    expected = NaiveBayes(PolyaTree()).fit(FRAME[list("abcde")], FRAME["label"])
    assert_array_equal(load(path).predict_proba(FRAME[list("abcde")]), expected.predict_proba(FRAME[list("abcde")]))


def test_it_finds_shapes_that_no_bell_has() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    x = np.where(y == 0, rng.normal(0, 1, 600), rng.choice([-4.0, 4.0], 600) + rng.normal(0, 1, 600))[:, None]
    tree, bell = (NaiveBayes(family).fit(x[:300], y[:300]) for family in (PolyaTree(), Gaussian()))
    assert tree.score(x[300:], y[300:]) > 0.95
    assert np.mean(tree.predict_log_proba(x[300:])[np.arange(300), y[300:]]) > np.mean(
        bell.predict_log_proba(x[300:])[np.arange(300), y[300:]]
    )
    flowers, species = load_iris(return_X_y=True)
    assert NaiveBayes(PolyaTree()).fit(flowers, species).loo(flowers, species).elpd > -30


def two_columns(seed: int, temper: Any = None, class_prior: Any = 1.0) -> tuple[NaiveBayes, Array]:
    """A model whose columns may well be alike in both classes, and some rows."""
    rng, y = np.random.default_rng(seed), np.repeat([0, 1], ROWS)
    x = rng.normal(size=(2 * ROWS, 2)) + 0.5 * y[:, None]
    return NaiveBayes(PolyaTree(depth=3), temper=temper, class_prior=class_prior).fit(x, y), x[::12]


@pytest.mark.parametrize(("seed", "method", "error"), [(40, "auto", 1e-3), (4, "auto", 1e-3), (19, "fast", 0.02)])
def test_expanded_intervals_keep_their_bound_where_a_column_may_be_alike_in_all_classes(
    seed: int, method: str, error: float
) -> None:
    model, x = two_columns(seed)
    expanded, exact = (model.predict_interval(x, 0.89, rows="fixed", method=each) for each in (method, "exact"))
    for name in ("median", "lower", "upper"):
        assert_allclose(expanded[name], exact[name], rtol=0, atol=error)


@pytest.mark.parametrize("class_prior", [1.0, "uniform"])
@pytest.mark.parametrize("temper", [None, 0.4])
def test_exact_intervals_of_columns_that_may_be_alike_hold_the_share_of_draws_that_they_promise(
    temper: Any, class_prior: Any
) -> None:
    rng, y = np.random.default_rng(40), np.repeat([0, 1], 10 * ROWS)
    x = rng.normal(size=(20 * ROWS, 3)) + np.outer(y, [0.8, 0.8, 0.1])
    model = NaiveBayes(PolyaTree(depth=3), temper=temper, class_prior=class_prior).fit(x, y)
    x = x[:: 2 * ROWS]
    exact = model.predict_interval(x, 0.8, rows="fixed", method="exact")
    draws = model.draw_proba(x, draws=5_000, rng=1).stack(sample=("chain", "draw"))
    for end, level in (("lower", 0.1), ("upper", 0.9)):
        share = (draws <= exact[end]).mean("sample")
        assert_allclose(share, level, rtol=0, atol=4.5 * np.sqrt(0.09 / draws.sizes["sample"]))


def test_rows_that_are_drawn_under_a_known_class_prior_say_that_columns_may_be_alike() -> None:
    x, y = np.random.default_rng(1).normal(size=(ROWS, 1)), np.repeat([0, 1], ROWS // 2)
    model = NaiveBayes(PolyaTree(depth=2), class_prior={0: 0.5, 1: 0.5}).fit(x, y)
    with pytest.warns(DrawnWarning, match="class_prior is known, and the PolyaTree columns may be distributed alike"):
        model.predict_interval(x[:2])
    with pytest.raises(ValueError, match="class_prior is known"):
        model.predict_interval(x[:2], method="exact")


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_with_a_density_are_inverted_beside_rows_that_are_drawn(classes: int) -> None:
    rng, y = np.random.default_rng(3), np.repeat(np.arange(classes), 5 * ROWS)
    x = np.column_stack([rng.normal(size=len(y)), rng.normal(size=len(y)) + 0.5 * y])
    model = NaiveBayes({0: PolyaTree(depth=2), 1: "gaussian"}, class_prior="uniform").fit(x, y)
    asked = np.array([[0.1, 0.3], [0.1, np.nan]])  # of the second, a column of noise is all that is known
    with pytest.warns(DrawnWarning, match="of 1 rows"):
        both = model.predict_interval(asked)
    with warnings.catch_warnings(action="error"):
        alone = model.predict_interval(asked[:1], method="exact")
    for name in ("median", "lower", "upper"):
        assert_allclose(both[name][:1], alone[name], rtol=0, atol=1e-3)
