"""Histograms: enumeration of all binnings, invariance, ends of floats, columns alike."""

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

import bayesnb
from bayesnb import (
    AveragedHistogram,
    DrawnWarning,
    Histogram,
    NaiveBayes,
    compare_smoothing,
    relevance,
    scale,
)
from tests.conftest import binning_by_binning

Array = np.ndarray
RNG = np.random.default_rng(20261123)
ROWS = 60
Y = np.arange(ROWS) % 3
X = np.column_stack(
    [
        RNG.normal(Y, 1.0),
        RNG.exponential(1.0 + Y),
        RNG.integers(0, 3, ROWS),
        np.full(ROWS, 7.0),
        RNG.normal(size=ROWS),
    ]
)
X[[3, 11], 0] = X[7, 4] = np.nan


def fit(x: Any = X, y: Any = Y, **options: Any) -> NaiveBayes:
    return NaiveBayes(Histogram(**options)).fit(x, y)


MODEL = fit()
SMALL = RNG.normal(size=(24, 1))
SMALL_Y = np.arange(24) % 2
FEW_BINS = fit(SMALL, SMALL_Y, depth=2, concentration=1.7, stop=0.4)
POSTERIOR = FEW_BINS.posterior_[0]
LEVELS = len(POSTERIOR.grid.share)
CELLS = np.arange(LEVELS)[:, None, None]


# Against the enumeration of all ways to join neighbouring levels into bins


def binnings(belief: AveragedHistogram, c: int) -> list[tuple[float, list[tuple[int, int]]]]:
    """Each binning of the one column in a class, and how probable it is."""
    weighed = binning_by_binning(belief, c, 0)
    total = np.logaddexp.reduce([log for log, _ in weighed])
    return [(np.exp(log - total), bins) for log, bins in weighed]


def shape_of(belief: AveragedHistogram, c: int, low: int, high: int) -> tuple[float, float]:
    """The Dirichlet's parameter of a bin, and the bin's share of all rows."""
    share = belief.grid.share[low : high + 1].sum()
    return belief.concentration[c, 0] * share + belief.counts[c, low : high + 1].sum(), share


@pytest.mark.parametrize("stop", [0.01, 0.5, 0.9])
def test_before_the_data_no_cut_is_a_boundary_with_the_probability_to_stop(stop: float) -> None:
    prior = fit(SMALL, SMALL_Y, depth=2, stop=stop).prior_[0]
    (chance,) = [chance for chance, bins in binnings(prior, 0) if len(bins) == 1]
    assert chance == pytest.approx(stop, rel=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.37, 1e3])
def test_evidence_is_the_sum_over_all_binnings(weight: float) -> None:
    model = NaiveBayes(Histogram(depth=2)).fit(SMALL, SMALL_Y, np.full(24, weight))
    total = 0.0
    for c in range(2):
        logs = [log for log, _ in binning_by_binning(model.posterior_[0], c, 0)]
        total += np.logaddexp.reduce(logs)
    assert model.log_evidence_by_feature()[0] == pytest.approx(total, rel=1e-11)


@pytest.mark.parametrize("s", [1.0, 2.0, -0.5, 0.3 + 0.7j, 30j])
def test_moments_of_ratios_are_sums_over_all_binnings(s: complex) -> None:
    for c in range(2):
        whole = POSTERIOR.concentration[c, 0] + POSTERIOR.counts[c].sum()
        expected = np.zeros(LEVELS, complex)
        for chance, bins in binnings(POSTERIOR, c):
            for low, high in bins:
                a, share = shape_of(POSTERIOR, c, low, high)
                log = loggamma(a + s) - loggamma(a) - loggamma(whole + s) + loggamma(whole)
                moment = np.exp(log - s * np.log(share)) if len(bins) > 1 else 1.0
                expected[low : high + 1] += chance * moment
        found = np.exp(POSTERIOR.log_moment(CELLS, s))[:, c, 0]
        assert_allclose(found, expected, rtol=1e-11, atol=1e-14)


def test_the_density_of_draws_is_that_of_their_bins_and_shares() -> None:
    drawn = POSTERIOR.sample(4, 50)
    found = POSTERIOR.log_density(drawn)["ratio{}", 0][:, 0]
    chances = {tuple(bins): chance for chance, bins in binnings(POSTERIOR, 0)}
    for ratio, log in zip(drawn.ratio[:, 0], found, strict=True):
        edges = [0, *(np.flatnonzero(np.diff(ratio)) + 1), LEVELS]
        bins = tuple((int(low), int(high) - 1) for low, high in pairwise(edges))
        a, q = np.transpose([shape_of(POSTERIOR, 0, low, high) for low, high in bins])
        shares = q * ratio[[low for low, _ in bins]]
        density = dirichlet(a).logpdf(shares / shares.sum()) if len(a) > 1 else 0.0
        assert log == pytest.approx(np.log(chances[bins]) + density, rel=1e-9, abs=1e-9)


def test_the_mode_is_that_of_the_most_probable_bins() -> None:
    strong = fit(np.repeat(SMALL, 9, axis=0), np.repeat(SMALL[:, 0] > 0, 9), depth=2).posterior_[0]
    for belief in (FEW_BINS.prior_[0], POSTERIOR, strong):
        _, bins = max(binnings(belief, 0))
        each = [shape_of(belief, 0, low, high) for low, high in bins]
        total = sum(max(a - 1, 0.0) for a, _ in each)
        for (low, high), (a, share) in zip(bins, each, strict=True):
            expected = max(a - 1, 0.0) / total / share if total else 1.0
            assert_allclose(belief.mode()[0, low : high + 1], expected, rtol=1e-12)
    assert len(bins) > 1


@pytest.mark.slow
def test_ranks_of_what_was_drawn_are_uniform() -> None:
    """Simulation-based calibration of each level's ratio: prior draw, data, posterior draws."""
    rng = np.random.default_rng(7)
    ranks = []
    prior = FEW_BINS.prior_[0]
    seen = FEW_BINS.stats_.blocks[0]
    of = type(FEW_BINS.stats_.blocks[0])
    for _ in range(1_000):
        truth = prior.sample(rng)
        share = truth.ratio * prior.grid.share
        counts = [rng.multinomial(20, p / p.sum()) for p in share]
        drawn = prior.update(of(np.array(counts, float), seen.grid)).sample(rng, 99)
        below = (drawn.ratio < truth.ratio).sum(axis=0)
        equal = (drawn.ratio == truth.ratio).sum(axis=0)  # where no cut is a boundary
        ranks.append((below + rng.uniform(size=below.shape) * (equal + 1)) / 100)
    for level in np.array(ranks).reshape(len(ranks), -1).T:
        assert kstest(level, "uniform").pvalue > 1e-4


# The grid


def test_rows_are_halved_between_distinct_values_as_often_as_asked_but_not_below_four() -> None:
    x = np.repeat(np.arange(6.0), [1, 1, 9, 1, 2, 4])[:, None]
    halved = fit(x, x[:, 0] > 2, depth=1).posterior_[0].grid
    assert_allclose(
        halved.cuts, [2.5], rtol=1e-9
    )  # 11 of 18 rows are below; 2 below the other candidate
    assert_allclose(halved.share, [11 / 18, 7 / 18], rtol=1e-15)
    for depth in (1, 3, 8):
        grid = fit(RNG.normal(size=(500, 1)), np.arange(500) % 2, depth=depth).posterior_[0].grid
        assert len(grid.share) <= 2**depth
        assert min(grid.share) >= 2 / 500
    assert fit(np.arange(3.0)[:, None], [0, 1, 1]).posterior_[0].grid.cuts.size == 0


@pytest.mark.parametrize(
    "change",
    [
        np.exp,
        np.arctan,
        np.float32,
        lambda x: 1e5 * x - 3e7,
        lambda x: np.sign(x) * np.abs(x) ** 3,
    ],
)
def test_answers_are_the_same_bits_whatever_increasing_function_a_column_goes_through(
    change: Any,
) -> None:
    again = fit(change(X))
    assert_array_equal(again.predict_proba(change(X)), MODEL.predict_proba(X))
    assert again.log_evidence_ == MODEL.log_evidence_
    assert_array_equal(again.loo(change(X), Y).elpd_i, MODEL.loo(X, Y).elpd_i)


def test_later_rows_files_and_dask_are_read_on_the_grid_of_the_first_rows(tmp_path: Path) -> None:
    parts = NaiveBayes(Histogram()).partial_fit(X[:20], Y[:20], classes=[0, 1, 2])
    expected = parts.partial_fit(X[20:], Y[20:]).predict_proba(X)
    pd.DataFrame(X, columns=list("abcde")).assign(y=Y).to_csv(tmp_path / "table.csv", index=False)
    filed = scale.fit_files(NaiveBayes(Histogram()), tmp_path / "table.csv", "y", batch_rows=20)
    assert_array_equal(filed.predict_proba(pd.DataFrame(X, columns=list("abcde"))), expected)
    array = pytest.importorskip("dask.array").from_array
    lazy = fit(array(X, chunks=(20, 5)), array(Y, chunks=20))
    assert_array_equal(lazy.predict_proba(X), expected)


def test_models_are_merged_where_the_cuts_were_declared() -> None:
    cuts = {"cuts": [-1.0, 0.0, 0.5, 1.0, 3.0, 7.0]}
    merged = fit(X[:30], Y[:30], **cuts).merge(fit(X[30:], Y[30:], **cuts))
    assert_array_equal(merged.predict_proba(X), fit(**cuts).predict_proba(X))
    each = fit(X[:, :2], cuts=[[0.0, 1.0], [2.0]])
    assert_array_equal(each.posterior_[0].grid.cuts, [0.0, 1.0])
    assert_array_equal(each.posterior_[1].grid.cuts, [2.0])


def with_infinity(cell: float) -> Array:
    table = X.copy()
    table[5, 1] = cell
    return table


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit(X[:30], Y[:30]).merge(fit(X[30:], Y[30:])), r"column 0: .*Histogram\(cuts="),
        (lambda: fit(cuts=[[0.0, 1.0], [2.0]]), "cuts are given for 2 columns, not 5"),
        (lambda: Histogram(cuts=[]), "cuts"),
        (lambda: Histogram(cuts=[2.0, 1.0]), "cuts"),
        (lambda: Histogram(cuts=[np.nan]), "cuts"),
        (lambda: Histogram(cuts=[[0.0], [2.0, np.inf]]), "cuts"),
        (lambda: Histogram(depth=0), "depth"),
        (lambda: Histogram(depth=99), "depth"),
        (lambda: Histogram(stop=0), "stop"),
        (lambda: Histogram(concentration=-1.0), "concentration"),
        (lambda: fit(with_infinity(np.inf)), "column 1: a number is infinite"),
        (lambda: MODEL.predict(with_infinity(-np.inf)), "column 1: a number is infinite"),
        (lambda: MODEL.loo(with_infinity(np.inf), Y), "column 1: a number is infinite"),
    ],
)
def test_what_makes_no_histogram_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_the_name_that_it_had_says_which_it_has() -> None:
    with pytest.raises(ImportError, match="Histogram"):
        from bayesnb import PolyaTree  # type: ignore[attr-defined]  # noqa: F401
    assert not hasattr(bayesnb, "PolyaTree")
    with pytest.raises(AttributeError, match="Histogram"):
        bayesnb.PolyaTree  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ValueError, match="did you mean 'histogram'"):
        NaiveBayes("polyatree").fit(X, Y)


# Unusual numbers


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.array([-1e308, -1e300, 0.0, 1e300, 1e308, 1.7e308]), id="huge"),
        pytest.param(np.array([0.0, 5e-324, 1e-323, 1.5e-323, 2e-323, 1e-310]), id="denormal"),
        pytest.param(np.nextafter(1.0, 2.0) ** np.arange(6), id="neighbours"),
        pytest.param(np.array([-0.0, 0.0, -0.0, 1.0, 1.0, 1.0]), id="zeros"),
    ],
)
def test_numbers_at_the_ends_of_floats_are_told_apart(values: Array) -> None:
    x = np.repeat(values, 5)[:, None]
    y = np.repeat(np.arange(6) >= 3, 5)
    model = fit(x, y)
    assert_array_equal(model.predict(x), y)
    assert np.isfinite(model.log_density(x)).all()
    rows, _ = model.sample(50, rng=0)
    assert np.isfinite(rows).all()
    assert ((rows >= values.min()) & (rows <= values.max())).all()


def test_many_levels_and_a_billion_rows_keep_their_digits() -> None:
    x = np.repeat(np.arange(256.0), 4)
    y = np.tile(np.arange(4), 256) < np.where(x < 128, 3, 1)  # three of four rows, then one
    model = NaiveBayes(Histogram(depth=8)).fit(x[:, None], y, np.full(1024, 1e6))
    belief = model.posterior_[0]
    cells = np.arange(256)[:, None, None]
    expected = np.where(np.arange(256) < 128, 1.5, 0.5)
    assert_allclose(np.exp(belief.log_moment(cells, 1.0))[:, 1, 0], expected, rtol=1e-6)
    assert_allclose(belief.mean() @ belief.grid.share, 1.0, rtol=1e-12)
    assert_array_equal(belief.log_moment(cells, 0.0), 0.0)
    assert_array_equal(model.prior_[0].log_moment(cells, 1.0), 0.0)


def test_a_constant_column_and_a_missing_cell_say_nothing() -> None:
    rows = X[:5].copy()
    rows[:, 3], rows[:, 4] = 1e9, np.nan
    without = fit(X[:, :3])
    assert_allclose(MODEL.predict_proba(rows), without.predict_proba(rows[:, :3]), rtol=1e-12)
    never = fit(np.full((5, 1), np.nan), [0, 0, 1, 1, 1])
    assert never.predict_proba([[3.0]])[0, 1] == 4 / 7


@pytest.mark.parametrize("weight", [np.ones(24), 1 + np.arange(24) % 5, 0.5 + np.arange(24) / 9])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map"])
def test_rows_leave_a_class_without_a_cell_in_a_column(estimate: str, weight: Array) -> None:
    x = np.column_stack([SMALL, np.where(SMALL_Y == 1, np.nan, SMALL[:, 0])])
    model = NaiveBayes(Histogram(depth=2), estimate=estimate).fit(x, SMALL_Y, weight)
    scores = model.loo(x, SMALL_Y, target="joint", sample_weight=weight).elpd_i.values
    for row in (0, 1, 5, 8):
        rest = NaiveBayes(Histogram(depth=2), estimate=estimate).fit(x, SMALL_Y, weight)
        rest.forget(x[[row]], SMALL_Y[[row]], weight[[row]])
        joint = rest.predict_joint_log_proba(x[[row]])[0]
        assert_allclose(scores[row], joint[SMALL_Y[row]], rtol=1e-9)


def test_an_outlier_costs_no_more_than_its_level() -> None:
    far = X[:1].copy()
    edge = X[:1].copy()
    far[0, 1], edge[0, 1] = 1e300, X[:, 1].max()
    assert_array_equal(MODEL.predict_proba(far), MODEL.predict_proba(edge))
    assert MODEL.log_density(far)[0] == MODEL.log_density(edge)[0]


# What it predicts, and how it is used


def test_the_density_integrates_to_one_over_the_range_of_the_column() -> None:
    model = fit(X[:, [0]])
    lower, upper = model.posterior_[0].grid.ends
    middle = (lower + upper)[:, None] / 2
    by_class = np.exp(model.predict_joint_log_proba(middle))
    assert_allclose((upper - lower) @ by_class, model.class_posterior_.mean(), rtol=1e-12)
    predictive = model.posterior_[0].predictive()
    expected = by_class / model.class_posterior_.mean()
    assert_allclose(predictive.pdf(middle[:, :, None])[:, :, 0], expected, rtol=1e-11)
    assert_allclose(predictive.cdf(predictive.ppf(0.3)), 0.3, rtol=1e-12)


def test_the_mean_plugged_in_predicts_as_the_predictive_does() -> None:
    mean = NaiveBayes(Histogram(), estimate="mean").fit(X, Y)
    assert_allclose(mean.predict_proba(X), MODEL.predict_proba(X), rtol=1e-10)


def test_drawn_rows_have_whole_numbers_where_all_were_and_values_that_were_there() -> None:
    rows, _ = MODEL.sample(400, rng=0)
    assert set(rows[:, 2]) <= {0.0, 1.0, 2.0}
    assert set(rows[:, 3]) == {7.0}
    assert (rows.min(axis=0) >= np.nanmin(X, axis=0)).all()
    assert (rows.max(axis=0) <= np.nanmax(X, axis=0)).all()


def test_smoothings_scale_its_concentration() -> None:
    compared = compare_smoothing(NaiveBayes(Histogram()), X, Y, (0, 1), estimates=("predictive",))
    for row in compared.table.itertuples():
        expected = fit(concentration=2.0 * row.smoothing).loo(X, Y).elpd
        assert row.elpd_loo == pytest.approx(expected, rel=1e-10)


def test_relevance_is_the_evidence_of_a_density_for_each_class_against_one() -> None:
    apart = MODEL.log_evidence_by_feature()
    together = fit(y=np.zeros(ROWS)).log_evidence_by_feature()
    found = relevance(MODEL).set_index(feature="feature")["log_bayes_factor"]
    for column in range(5):
        expected = apart[column] - together[column]
        assert float(found.sel(feature=column)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


# Columns that may be distributed alike in all classes: their log-odds are 0 with a probability


def of_noise(seed: int, shift: Any, rows: int = ROWS, **options: Any) -> tuple[NaiveBayes, Array]:
    """A model of two classes of so many rows, and ten of the rows."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], rows)
    x = rng.normal(size=(2 * rows, len(shift))) + np.outer(y, shift)
    return NaiveBayes(Histogram(depth=3), **options).fit(x, y), x[:: rows // 5]


@pytest.mark.parametrize(
    ("seed", "method", "error"), [(40, "auto", 1e-3), (4, "auto", 1e-3), (19, "fast", 0.02)]
)
def test_expanded_intervals_keep_their_bound(seed: int, method: str, error: float) -> None:
    model, x = of_noise(seed, [0.5, 0.5])
    expanded = model.predict_interval(x, 0.89, rows="fixed", method=method)
    exact = model.predict_interval(x, 0.89, rows="fixed", method="exact")
    for name in ("median", "lower", "upper"):
        assert_allclose(expanded[name], exact[name], rtol=0, atol=error)


@pytest.mark.parametrize("class_prior", [1.0, "uniform"])
@pytest.mark.parametrize("temper", [None, 0.4])
@pytest.mark.slow
def test_exact_intervals_hold_the_share_of_draws_that_they_promise(
    temper: Any, class_prior: Any
) -> None:
    model, x = of_noise(40, [0.8, 0.8, 0.1], 600, temper=temper, class_prior=class_prior)
    exact = model.predict_interval(x, 0.8, rows="fixed", method="exact")
    draws = model.draw_proba(x, draws=4_000, rng=1).stack(sample=("chain", "draw"))
    for end, level in (("lower", 0.1), ("upper", 0.9)):
        share = (draws <= exact[end]).mean("sample")
        error = np.sqrt(level * (1 - level) / draws.sizes["sample"])
        assert_allclose(share, level, rtol=0, atol=4.5 * error)


def test_under_a_known_class_prior_rows_of_noise_alone_are_drawn_and_a_warning_says_so() -> None:
    model, x = of_noise(1, [0.0], class_prior={0: 0.5, 1: 0.5})
    with pytest.warns(DrawnWarning, match="class_prior is fixed"):
        model.predict_interval(x)
    with pytest.raises(ValueError, match="class_prior is fixed"):
        model.predict_interval(x, method="exact")


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_with_a_density_are_inverted_beside_rows_that_are_drawn(classes: int) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(classes), 5 * ROWS)
    x = np.column_stack([rng.normal(size=len(y)), rng.normal(size=len(y)) + 0.5 * y])
    families = {0: Histogram(depth=2), 1: "gaussian"}
    model = NaiveBayes(families, class_prior="uniform").fit(x, y)
    with pytest.warns(DrawnWarning, match="of 1 rows"):
        both = model.predict_interval([[0.1, 0.3], [0.1, np.nan]])  # of the second, noise is known
    with warnings.catch_warnings(action="error"):
        alone = model.predict_interval([[0.1, 0.3]], method="exact")
    for name in ("median", "lower", "upper"):
        assert_allclose(both[name][:1], alone[name], rtol=0, atol=1e-3)


def test_a_single_class_is_certain_whatever_may_be_known() -> None:
    x = np.random.default_rng(0).normal(size=(20, 1))
    model = NaiveBayes(Histogram(depth=2), class_prior="uniform").fit(x, ["only"] * 20)
    with warnings.catch_warnings(action="error"):
        interval = model.predict_interval(x[:2], method="exact")
    assert (interval["lower"] == 1).all()


def test_shared_variances_beside_a_tree_are_drawn_for_three_classes_with_known_probabilities() -> (
    None
):
    rng = np.random.default_rng(4)
    y = np.arange(900) % 3
    x = rng.normal(size=(900, 5)) + y[:, None]
    families = {(0, 1, 2, 3): Histogram(depth=2), 4: "gaussian:shared"}
    model = NaiveBayes(families, class_prior="uniform").fit(x, y)
    with pytest.warns(DrawnWarning, match="classes share unknown parameters"):
        model.predict_interval(x[:2])
