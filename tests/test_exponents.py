"""Exponents by column: what a column's evidence counts is learnt by exact leave-one-out."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Gaussian,
    GaussianNB,
    JointTable,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    load,
    relevance,
)
from bayesnb.criticism.learnt_rows import learnt_rows
from bayesnb.data import open_table
from bayesnb.estimators.tempering import exponents_of
from bayesnb.families.averaged import averaged
from bayesnb.families.capabilities import HasCellsLeftOut
from bayesnb.families.removal import Leaving
from bayesnb.families.weight import one_hot
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.explanation import explain
from bayesnb.model.product import Model, Rows, observe
from bayesnb.persistence.document import check_temper
from bayesnb.plots.nomogram_plot import scales_of
from bayesnb.report.facts import gather
from bayesnb.report.sections.learnt_columns import counted
from bayesnb.selection.column_scores import column_scores
from bayesnb.selection.exponents import WIDTHS, LabelScores, Ridge, centre, largest, over_widths
from bayesnb.selection.leave_one_out import PredictiveRule, leave_one_out
from tests.conftest import CASES, Case

RNG = np.random.default_rng(5)
ROWS = 60
LABEL = np.arange(ROWS) % 3
TABLE = pd.DataFrame(
    {
        "length": RNG.normal(LABEL, 1.0),
        "width": RNG.normal(-1e4, 3e3, ROWS),
        "flag": RNG.integers(0, 2, ROWS),
        "colour": np.array(["red", "green", "blue"])[RNG.integers(0, 3, ROWS)],
        "count": RNG.poisson(1.0 + LABEL),
        "u": RNG.normal(LABEL, 2.0),
        "v": RNG.normal(0, 1.0, ROWS),
        "a": RNG.integers(0, 2, ROWS),
        "b": RNG.integers(0, 3, ROWS),
    }
)
TABLE.loc[[4, 9], ["length", "u"]] = np.nan
FAMILIES = {
    "length": Gaussian(),
    "width": Gaussian(shared=True),
    "flag": Bernoulli(),
    "colour": Categorical(),
    "count": Poisson(),
    ("u", "v"): MultivariateGaussian(),
    ("a", "b"): JointTable(),
}


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    return NaiveBayes(FAMILIES).fit(TABLE, LABEL)


def ridge_around(t: float, columns: int, width: float = 1.0) -> Ridge:
    """Exponents of so many columns around one; their standard deviation is as wide as that, or so many times."""
    return Ridge(np.full(columns, t), np.full(columns, width * t))


def rows_of(model: NaiveBayes, table: Any, label: np.ndarray) -> Rows:
    return learnt_rows(model, table, label).rows


def test_the_columns_scores_of_a_row_add_up_to_its_leave_one_out_score(fitted: NaiveBayes) -> None:
    rows = rows_of(fitted, TABLE, LABEL)
    log_class, table = column_scores(fitted.model_, rows)
    assert table.shape == (ROWS, 3, len(FAMILIES))
    np.testing.assert_allclose(log_class + table.sum(axis=2), leave_one_out(fitted.model_, rows), atol=1e-11)


def test_a_columns_scores_are_those_of_the_column_alone(fitted: NaiveBayes) -> None:
    rows = rows_of(fitted, TABLE, LABEL)
    log_class, table = column_scores(fitted.model_, rows)
    for k, (name, b, f) in enumerate(sorted(fitted.schema_.keys, key=lambda at: at[1:])):
        columns = TABLE[list(name) if isinstance(name, tuple) else [name]]
        alone = NaiveBayes({name: FAMILIES[name]}).fit(columns, LABEL)
        expected = leave_one_out(alone.model_, rows_of(alone, columns, LABEL))
        np.testing.assert_allclose(log_class + table[:, :, k], expected, atol=1e-11, err_msg=str((name, b, f)))


def test_a_row_that_is_all_of_its_classes_spread_is_scored_by_counting_again() -> None:
    x = np.column_stack([np.r_[1e7, RNG.normal(size=5), RNG.normal(size=6)], RNG.normal(size=12)])
    label = np.repeat([0, 1], 6)
    model = NaiveBayes(Gaussian()).fit(x, label)
    rows = rows_of(model, x, label)
    log_class, table = column_scores(model.model_, rows)
    assert np.isfinite(table).all()
    np.testing.assert_allclose(log_class + table.sum(axis=2), leave_one_out(model.model_, rows), rtol=1e-12)


# ---- powers by feature, in every family


def by_columns(record: Any, x: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    return [(record.only(j), x[:, [j]]) for j in range(x.shape[1])]


COLUMNWISE = [case for case in CASES if not case.whole]
POWERS = np.array([0.3, 1.2])
ORDERS = np.arange(1.0, 5.0)


@pytest.fixture(params=COLUMNWISE, ids=lambda case: case.name)
def columnwise(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.mark.parametrize("kind", ["posterior", "density", "averaged"])
def test_the_score_under_powers_is_the_sum_of_the_columns_scores(columnwise: Case, kind: str) -> None:
    belief, x = columnwise.posterior, columnwise.x
    if kind == "averaged":
        prior = columnwise.prior.map(lambda array: np.repeat(array[:1], len(array), axis=0))
        belief = averaged(prior, 0.5).update(columnwise.stats()) if belief.independent_classes else belief
    record = belief.estimate("mean") if kind == "density" else belief
    each = [part.score(column, w) for (part, column), w in zip(by_columns(record, x), POWERS, strict=True)]
    np.testing.assert_allclose(record.score(x, POWERS), sum(each), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(record.score(x, np.full(2, 0.37)), record.score(x, 0.37), rtol=1e-12, atol=1e-12)
    assert (record.score(x, np.zeros(2)) == 0).all()


@pytest.mark.parametrize("tilt", [0.0, 0.4, 1.0])
def test_cumulants_and_transforms_under_powers_are_sums_over_columns(columnwise: Case, tilt: float) -> None:
    belief, x, s = columnwise.posterior, columnwise.x, np.array([0.3 + 0.7j, 2j, 1.0, 0.5])
    if not belief.independent_classes:
        belief = belief[:2]
        parts = list(zip(by_columns(belief, x), POWERS, strict=True))
        cumulants = belief.pair_cumulants(x, tilt, 0.2, POWERS)
        each = [b.pair_cumulants(c, tilt * w, 0.2 * w) * (w**ORDERS)[:, None] for (b, c), w in parts]
        moment = belief.pair_moment(x, s, s[::-1], POWERS)
        moments = [b.pair_moment(c, s * w, s[::-1] * w) for (b, c), w in parts]
    else:
        parts = list(zip(by_columns(belief, x), POWERS, strict=True))
        cumulants = belief.score_cumulants(x, tilt, POWERS)
        each = [b.score_cumulants(c, tilt * w) * (w**ORDERS)[:, None, None] for (b, c), w in parts]
        moment, moments = belief.score_transform(x, s, POWERS), [b.score_transform(c, s * w) for (b, c), w in parts]
    np.testing.assert_allclose(cumulants, sum(each), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moment, sum(moments), rtol=1e-9, atol=1e-9)


def test_a_number_as_a_power_of_cumulants_and_transforms_multiplies_their_place(case: Case) -> None:
    belief, x, s, t = case.posterior, case.x, np.array([0.3 + 0.7j, 2j, 1.0]), 0.37
    if belief.independent_classes:
        pairs = [
            (belief.score_cumulants(x, 0.5, t), belief.score_cumulants(x, 0.5 * t) * (t**ORDERS)[:, None, None]),
            (belief.score_transform(x, s, t), belief.score_transform(x, s * t)),
        ]
    else:
        belief = belief[:2]
        pairs = [
            (belief.pair_cumulants(x, 0.5, 0.1, t), belief.pair_cumulants(x, 0.5 * t, 0.1 * t) * (t**ORDERS)[:, None]),
            (belief.pair_moment(x, s, s, t), belief.pair_moment(x, s * t, s * t)),
        ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_contributions_under_powers_are_those_of_each_column(columnwise: Case) -> None:
    belief, x = columnwise.posterior, columnwise.x
    whole = belief.contributions(x, POWERS)
    for j, (part, column) in enumerate(by_columns(belief, x)):
        alone = part.contributions(column, float(POWERS[j]))
        for name in ("mean", "variance", "log_moment"):
            found, expected = getattr(whole, name)[..., j], getattr(alone, name)[..., 0]
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(whole.total_variance, whole.variance.sum(axis=-1), rtol=1e-11)


AT_ONCE = [case for case in COLUMNWISE if isinstance(case.prior, HasCellsLeftOut) and case.prior.independent_classes]


def test_numbers_levels_flags_and_counts_leave_at_once() -> None:
    assert {"gaussian", "categorical", "bernoulli", "poisson"} <= {case.name for case in AT_ONCE}


@pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
@pytest.mark.parametrize("alike", [True, False], ids=["alike", "weighted"])
@pytest.mark.parametrize("case", AT_ONCE, ids=lambda case: case.name)
def test_the_cells_of_rows_that_leave_at_once_have_the_scores_of_their_columns(
    case: Case, kind: str, alike: bool
) -> None:
    weight = np.ones(len(case.x)) if alike else case.weight
    stats = case.of(case.x, one_hot(case.codes, 3, weight))
    for c in range(2):
        rows, prior, seen = np.flatnonzero(case.codes == c), case.prior[c : c + 1], stats[c : c + 1]
        leaving = Leaving(case.x[rows], case.codes[rows], weight[rows], kind)
        cells = prior.cells_left_out(seen, leaving)
        assert cells.shape == case.x[rows].shape
        for j in range(cells.shape[1]):
            alone = replace(leaving, x=case.x[rows][:, [j]])
            expected = prior.only(j).score_left_out(seen.only(j), alone)
            np.testing.assert_allclose(cells[:, j], expected, rtol=1e-11, atol=1e-11)


# ---- a model of several blocks, all of whose features have exponents of their own

EXPONENTS = pd.Series([0.9, 0.2, 0.7, 0.0, 0.4, 0.5, 1.3])


@pytest.fixture(scope="module", params=[None, 0.5], ids=["", "averaged"])
def model(request: pytest.FixtureRequest) -> NaiveBayes:
    families = FAMILIES if request.param is None else FAMILIES | {"width": Gaussian()}
    return NaiveBayes(families, average_features=request.param, temper="columns").fit(TABLE, LABEL)


def powers_of(model: NaiveBayes) -> tuple[Any, ...]:
    return exponents_of(EXPONENTS, model.schema_)


def test_scores_left_out_under_exponents_are_those_of_refits(model: NaiveBayes) -> None:
    rows, powers = rows_of(model, TABLE, LABEL), powers_of(model)
    found = leave_one_out(model.model_, rows, PredictiveRule(power=powers))
    for i in range(0, ROWS, 7):
        keep = np.arange(ROWS) != i
        rest = Model(model.model_.prior, observe(rows.where(keep), 3))
        expected = rest.posterior.log_joint([x[[i]] for x in rows.cells], powers)
        np.testing.assert_allclose(found[i], expected[0], rtol=1e-9, atol=1e-9)


def test_exponents_that_are_all_alike_are_one(model: NaiveBayes) -> None:
    rows, one = rows_of(model, TABLE, LABEL), PredictiveRule(power=0.37)
    several = PredictiveRule(power=exponents_of(np.full(7, 0.37), model.schema_))
    for way, other in ((one, several),):
        a, b = (leave_one_out(model.model_, rows, each) for each in (way, other))
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    a, b = (Scores(model.model_.posterior, rows.cells, each.power) for each in (one, several))
    for tilt in (0.0, 1.0):
        np.testing.assert_allclose(a.cumulants(tilt), b.cumulants(tilt), rtol=1e-9, atol=1e-9)
    s = np.array([1j, 0.5 + 2j])
    np.testing.assert_allclose(a.transform(s), b.transform(s), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a.log_mean(), b.log_mean(), rtol=1e-12, atol=1e-12)
    of_one, of_several = (explain(model.model_.posterior, rows.cells, each.power) for each in (one, several))
    for name in ("evidence", "sd", "predictive", "score_sd"):
        np.testing.assert_allclose(getattr(of_one, name), getattr(of_several, name), rtol=1e-11, atol=1e-11)


def test_a_feature_with_the_exponent_0_says_nothing_even_where_it_is_impossible() -> None:
    x, label = np.array([[0, 1], [0, 0], [1, 1], [1, 0]] * 3), np.array([0, 0, 1, 1] * 3)
    model = NaiveBayes(Categorical(1e-300), temper=None).fit(x, label)
    rows = rows_of(model, x, label)
    powers = exponents_of(np.array([0.0, 1.0]), model.schema_)
    np.testing.assert_allclose(np.exp(model.model_.posterior.log_joint(rows.cells, powers)).sum(axis=1), 0.5)


# ---- how they are found


def scores_of(model: NaiveBayes, table: Any, label: np.ndarray) -> LabelScores:
    rows = rows_of(model, table, label)
    return LabelScores.of(column_scores(model.model_, rows), rows, np.ones(len(label), bool))


def test_the_factor_of_the_curvature_is_that_of_the_slope(fitted: NaiveBayes) -> None:
    scores, w = scores_of(fitted, TABLE, LABEL), np.linspace(0.2, 1.4, len(FAMILIES))
    steps = 1e-5 * np.eye(len(w))
    expected = [(scores.slope(w - step) - scores.slope(w + step)) / 2e-5 for step in steps]
    factor = scores.factor(w)
    assert factor.shape == (2 * ROWS, len(w))
    np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [ROWS, 2], ids=["more rows than columns", "fewer"])
def test_the_laplace_evidence_and_deviations_are_those_of_the_second_derivatives(fitted: NaiveBayes, rows: int) -> None:
    every = scores_of(fitted, TABLE, LABEL)
    arrays = ("log_class", "table", "codes", "counts")
    few = replace(every, **{name: getattr(every, name)[:rows] for name in arrays})
    ridge = ridge_around(0.8, len(FAMILIES), 0.2)
    best = largest(few, ridge)
    w, weight = best.exponents.mean, ridge.sd**-2.0
    assert (w > 0).all()
    factor = few.factor(w)
    inverse = np.linalg.inv(factor.T @ factor + np.diag(weight))
    np.testing.assert_allclose(best.exponents.sd, np.sqrt(np.diag(inverse)), rtol=1e-6)
    volume = -np.linalg.slogdet(inverse)[1] - np.log(weight).sum()
    expected = few.total(w) - weight @ (w - ridge.mean) ** 2 / 2 - volume / 2
    np.testing.assert_allclose(best.log_evidence, expected, rtol=1e-7)


def test_two_starts_climb_to_the_same_exponents(fitted: NaiveBayes) -> None:
    scores, ridge = scores_of(fitted, TABLE, LABEL), ridge_around(0.6, 7)
    one, two = (largest(scores, ridge, start).exponents for start in (np.zeros(7), np.full(7, 5.0)))
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-8)
    np.testing.assert_allclose(one.sd, two.sd, rtol=1e-6)


def test_no_exponents_nearby_are_more_probable(fitted: NaiveBayes) -> None:
    scores, ridge = scores_of(fitted, TABLE, LABEL), ridge_around(0.6, 7)
    best = largest(scores, ridge).exponents.mean

    def height(w: np.ndarray) -> float:
        return scores.total(w) - ((w - 0.6) ** 2).sum() / (2 * 0.6**2)

    rng = np.random.default_rng(0)
    assert all(height(np.maximum(best + step, 0.0)) < height(best) for step in rng.normal(0, 0.01, (100, 7)))


def test_exponents_over_widths_vary_by_each_ridge_by_the_widths_and_by_where_the_centre_is(fitted: NaiveBayes) -> None:
    scores, means, unsure, h = scores_of(fitted, TABLE, LABEL), np.full(7, 0.6), 0.3, 1e-4
    found, logs, moved = [], [], []
    for width in WIDTHS:
        lower, at, upper = (largest(scores, Ridge(f * means, width * means)) for f in (1 - h, 1.0, 1 + h))
        found.append(at.exponents)
        logs.append(at.log_evidence - np.log(width) ** 2 / 2)
        moved.append((upper.exponents.mean - lower.exponents.mean) / (2 * h))
    share = np.exp(logs - np.logaddexp.reduce(logs))
    mean = share @ [each.mean for each in found]
    covariance = 0.0
    for p, each, by_centre in zip(share, found, moved, strict=True):
        gap = each.mean - mean
        covariance += p * (each.covariance + np.outer(gap, gap) + unsure**2 * np.outer(by_centre, by_centre))
    result = over_widths(scores, means, unsure)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-3, atol=1e-6)


def test_slopes_and_curvatures_are_the_differences_of_the_score(fitted: NaiveBayes) -> None:
    counts, w, h = 1.0 + np.arange(ROWS) % 3, np.full(7, 0.6), 1e-4
    scores = replace(scores_of(fitted, TABLE, LABEL), counts=counts)
    steps = h * np.eye(7)
    slope = [(scores.total(w + step) - scores.total(w - step)) / (2 * h) for step in steps]
    curvature = [(scores.slope(w - step) - scores.slope(w + step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(scores.slope(w), slope, rtol=1e-5, atol=1e-6)
    factor = scores.factor(w)
    np.testing.assert_allclose(factor.T @ factor, curvature, rtol=1e-5, atol=1e-6)


def test_a_column_of_noise_hardly_counts_and_a_column_given_twice_counts_half() -> None:
    rng, label = np.random.default_rng(3), np.arange(2000) % 2
    signal, noise = rng.normal(label, 1.0), rng.normal(size=2000)
    once = NaiveBayes(Gaussian(), temper="columns").fit(np.column_stack([signal, noise]), label)
    twice = NaiveBayes(Gaussian(), temper="columns").fit(np.column_stack([signal, noise, signal]), label)
    assert abs(once.temper_[0] - 1) < 3 * once.temper_sd_[0]
    assert once.temper_[1] < 3 * once.temper_sd_[1]
    np.testing.assert_allclose(twice.temper_[0], twice.temper_[2], rtol=1e-6)
    assert twice.temper_[0] == pytest.approx(once.temper_[0] / 2, rel=0.05)
    assert twice.temper_sd_[0] > 2 * once.temper_sd_[0]  # only their sum is known


def test_dependent_columns_are_calibrated_by_exponents() -> None:
    rng, label = np.random.default_rng(4), np.arange(600) % 2
    signal = rng.normal(label, 1.0)
    x = np.column_stack([*(signal + rng.normal(0, 0.1, 600) for _ in range(5)), rng.normal(label, 1.0)])
    losses = {t: -NaiveBayes(Gaussian(), temper=t).fit(x[:300], label[:300]).predict_log_proba(x[300:])
              [np.arange(300), label[300:]].mean() for t in (None, "loo", "columns")}  # fmt: skip
    assert losses["columns"] < losses["loo"] < losses[None]


def test_whole_weights_are_repeated_rows() -> None:
    weight = 1 + np.arange(ROWS) % 3
    repeated = np.repeat(np.arange(ROWS), weight)
    families = FAMILIES | {"length": Gaussian(NormalInverseGamma(0.0, 1.0, 2.0, 2.0))}
    a = NaiveBayes(families, temper="columns").fit(TABLE, LABEL, sample_weight=weight)
    b = NaiveBayes(families, temper="columns").fit(TABLE.iloc[repeated], LABEL[repeated])
    np.testing.assert_allclose(a.temper_, b.temper_, atol=1e-7)
    np.testing.assert_allclose(a.temper_sd_, b.temper_sd_, rtol=1e-6)


def test_one_exponent_has_its_prior_and_is_at_most_1() -> None:
    rng, label = np.random.default_rng(6), np.arange(40) % 2
    x = rng.normal(6.0 * label, 1.0)[:, None]  # far apart: exponents above 1 would predict better
    model = NaiveBayes(Gaussian(), temper="loo").fit(x, label)
    assert model.temper_ == 1.0
    repeated = rng.normal(label, 1.0)[:, None] + rng.normal(0, 0.3, (40, 8))
    several = NaiveBayes(Gaussian(), temper="loo").fit(repeated, label)

    def height(t: float) -> float:
        elpd = NaiveBayes(Gaussian(), temper=t).fit(repeated, label).loo(repeated, label).elpd
        return elpd - (np.log(t) / 0.5) ** 2 / 2

    t = several.temper_
    assert height(t) >= max(height(t * 1.01), height(t / 1.01))
    h = 0.02
    curvature = (2 * height(t) - height(t * np.exp(h)) - height(t * np.exp(-h))) / h**2
    assert several.temper_sd_ == pytest.approx(t / np.sqrt(curvature), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [12, 200, 2000])
def test_the_ridge_is_around_the_posterior_mean_of_one_exponent(rows: int) -> None:
    rng, label = np.random.default_rng(9), np.arange(rows) % 2
    x = rng.normal(label, 1.0)[:, None] + rng.normal(0, 1.0, (rows, 6))
    scores = scores_of(NaiveBayes(Gaussian()).fit(x, label), x, label)

    def height(log_t: float) -> float:
        return scores.total(np.full(6, np.exp(log_t))) - (log_t + np.log(6) / 2) ** 2 / (2 * 0.25)

    points = np.linspace(np.log(1e-3), 0, 4_001)  # thirty in a standard deviation: as 20,001 to 1e-7
    heights = np.array([height(point) for point in points])
    weight = np.exp(heights - heights.max())
    mean = trapezoid(weight * np.exp(points), points) / trapezoid(weight, points)
    assert centre(scores).value == pytest.approx(mean, rel=2e-4)
    assert centre(scores).value < 1


@pytest.mark.slow
def test_the_laplace_approximation_is_that_of_a_long_chain() -> None:
    rng, label = np.random.default_rng(8), np.arange(400) % 2
    x = np.column_stack([rng.normal(label, 1.0), rng.normal(label, 2.0), rng.normal(size=400)])
    model = NaiveBayes(Gaussian()).fit(x, label)
    scores = scores_of(model, x, label)
    t = centre(scores).value
    ridge = largest(scores, ridge_around(t, 3)).exponents

    def height(w: np.ndarray) -> float:
        return -np.inf if (w < 0).any() else scores.total(w) - ((w - t) ** 2).sum() / (2 * t**2)

    w, now, kept = ridge.mean.copy(), height(ridge.mean), []
    for _ in range(40_000):
        candidate = w + rng.normal(0, ridge.sd)
        if np.log(rng.uniform()) < (there := height(candidate)) - now:
            w, now = candidate, there
        kept.append(w)
    inner = ridge.mean > 3 * ridge.sd
    assert inner.any()
    np.testing.assert_allclose(np.mean(kept, axis=0)[inner], ridge.mean[inner], atol=0.15 * ridge.sd[inner].max())
    np.testing.assert_allclose(np.std(kept, axis=0)[inner], ridge.sd[inner], rtol=0.1)


def test_more_columns_than_rows_have_the_exponents_that_a_search_finds() -> None:
    rng, label = np.random.default_rng(10), np.arange(16) % 2
    x = rng.normal(label[:, None], 2.0, (16, 40))  # 32 numbers by column, fewer than columns
    model = NaiveBayes(Gaussian()).fit(x, label)
    scores, ridge = scores_of(model, x, label), ridge_around(0.5, 40)
    found = largest(scores, ridge).exponents
    slope = scores.slope(found.mean) - (found.mean - 0.5) / 0.25
    assert np.abs(slope[found.mean > 0]).max() < 1e-8
    assert (slope[found.mean == 0] <= 0).all()
    factor = scores.factor(found.mean)[:, found.mean > 0]
    covariance = np.linalg.inv(factor.T @ factor + np.eye(factor.shape[1]) / 0.25)
    np.testing.assert_allclose(found.sd[found.mean > 0] ** 2, np.diag(covariance), rtol=1e-9)


def test_of_very_many_rows_an_even_part_is_enough() -> None:
    rng = np.random.default_rng(9)
    label = (rng.random(30_000) < 0.1).astype(int)
    x = rng.normal(label[:, None], 1.0, (30_000, 3))
    model = NaiveBayes(Gaussian(), temper="columns").fit(x, label)
    again = NaiveBayes(Gaussian(), temper="columns").fit(x, label)
    np.testing.assert_array_equal(model.temper_, again.temper_)
    assert (abs(model.temper_ - 1) < 4 * model.temper_sd_).all()


# ---- what an estimator with exponents says


@pytest.fixture(scope="module")
def tempered() -> NaiveBayes:
    return NaiveBayes(FAMILIES | {"width": Gaussian()}, temper="columns").fit(TABLE, LABEL)


def test_exponents_are_named_as_the_features_are(tempered: NaiveBayes) -> None:
    assert list(tempered.temper_.index) == ["length", "width", "flag", "colour", "count", ("u", "v"), ("a", "b")]
    assert list(tempered.temper_sd_.index) == list(tempered.temper_.index)
    assert (tempered.temper_ >= 0).all()
    assert (tempered.temper_sd_ > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_intervals_are_those_of_draws(tempered: NaiveBayes, rows: str) -> None:
    few = TABLE.iloc[:4]
    exact = tempered.predict_interval(few, 0.8, rows, method="exact")
    drawn = tempered.predict_interval(few, 0.8, rows, method="draws", draws=20_000, rng=1)
    for name in ("probability", "median", "lower", "upper"):
        np.testing.assert_allclose(exact[name], drawn[name], atol=0.02)
    if rows == "observed":
        np.testing.assert_allclose(exact.probability, tempered.predict_proba(few), atol=1e-9)
        return
    proba = tempered.draw_proba(few, draws=20_000, rng=2).stack(draw_=("chain", "draw")).transpose("draw_", ...).values
    np.testing.assert_allclose(exact.probability, proba.mean(axis=0), atol=0.01)


def test_an_explanation_adds_up_and_says_how_much_a_column_counts(tempered: NaiveBayes) -> None:
    why = tempered.explain(TABLE)
    total = why.predictive.sum("feature") + why.predictive_class_term
    np.testing.assert_allclose(total.transpose("obs_id", "class"), tempered.predict_joint_log_proba(TABLE), atol=1e-10)
    np.testing.assert_array_equal(why.temper, tempered.temper_)
    np.testing.assert_array_equal(why.temper_sd, tempered.temper_sd_)
    np.testing.assert_array_equal(relevance(tempered).temper, tempered.temper_)


def test_a_linear_form_is_weighted_by_column() -> None:
    families = {"length": Gaussian(shared=True), "flag": Bernoulli(), "colour": Categorical(), "count": Poisson()}
    table = TABLE[list(families)].dropna().reset_index(drop=True)
    label = LABEL[TABLE["length"].notna()]
    model = NaiveBayes(families, temper="columns", estimate="mean").fit(table, label)
    form = model.linear_form()
    joint = model.linear_features(table) @ form.w.values.T + form.b.values
    expected = model.predict_log_proba(table)
    np.testing.assert_allclose(joint - np.logaddexp.reduce(joint, axis=1)[:, None], expected, atol=1e-10)
    alone = NaiveBayes(families, estimate="mean").fit(table, label).linear_form()
    of_column = [str(name).split("=")[0] for name in form.feature.values]
    np.testing.assert_allclose(form.w_sd, model.temper_[of_column].to_numpy() * alone.w_sd, rtol=1e-12)


def test_a_file_holds_the_exponents(tempered: NaiveBayes, tmp_path: Path) -> None:
    tempered.save(tmp_path / "model.bnb")
    loaded = load(tmp_path / "model.bnb")
    pd.testing.assert_series_equal(loaded.temper_, tempered.temper_)
    pd.testing.assert_series_equal(loaded.temper_sd_, tempered.temper_sd_)
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), tempered.predict_proba(TABLE))


@pytest.mark.parametrize(
    ("temper", "sd"),
    [
        (np.ones(6), np.ones(7)),
        (np.r_[-1.0, np.ones(6)], np.ones(7)),
        (np.r_[np.nan, np.ones(6)], np.ones(7)),
        (np.ones(7), np.zeros(7)),
        (np.ones(7), 1.0),
        (np.ones((7, 1)), np.ones(7)),
        (np.ones(7, np.int64), np.ones(7)),
        (np.inf, np.nan),
        (0.0, np.nan),
        ("columns", np.nan),
    ],
)
def test_exponents_that_no_model_has_are_refused(temper: Any, sd: Any) -> None:
    with pytest.raises(ValueError, match="temper"):
        check_temper(temper, sd, 7)


def test_a_batch_is_scored_before_it_is_learnt_and_earlier_ones_are_its_prior() -> None:
    first, second = np.arange(0, 30), np.arange(30, ROWS)
    model = NaiveBayes(FAMILIES, temper="columns").partial_fit(TABLE.iloc[first], LABEL[first], classes=[0, 1, 2])
    once = NaiveBayes(FAMILIES, temper="columns").fit(TABLE.iloc[first], LABEL[first])
    np.testing.assert_array_equal(model.temper_, once.temper_)
    before, sd = model.temper_.to_numpy(), model.temper_sd_.to_numpy()
    plain = NaiveBayes(FAMILIES).fit(TABLE.iloc[first], LABEL[first])
    model.partial_fit(TABLE.iloc[second], LABEL[second])

    def height(w: np.ndarray) -> float:
        cells = plain.schema_.read(open_table(TABLE.iloc[second]))
        parts = zip(plain.model_.posterior.blocks, cells, strict=True)
        columns = np.stack([part.only(j).score(x[:, [j]]) if not part.multivariate else part.score(x)
                            for part, x in ((p, np.asarray(c[:])) for p, c in parts)
                            for j in range(part.proper.shape[1])], axis=2)  # fmt: skip
        joint = plain.model_.posterior.log_class + columns @ w
        label = joint[np.arange(30), LABEL[second]] - np.logaddexp.reduce(joint, axis=1)
        return float(label.sum()) - (((w - before) / sd) ** 2).sum() / 2

    best = model.temper_.to_numpy()
    rng = np.random.default_rng(0)
    assert all(height(np.maximum(best + step, 0.0)) <= height(best) for step in rng.normal(0, 0.01, (50, 7)))
    assert (model.temper_sd_ < once.temper_sd_).all()


def test_merge_forget_and_decay_keep_the_exponents(tempered: NaiveBayes) -> None:
    other = clone(tempered).fit(TABLE.iloc[:30], LABEL[:30])
    merged = tempered.merge(other)
    pd.testing.assert_series_equal(merged.temper_, tempered.temper_)
    before = merged.temper_
    merged.forget(TABLE.iloc[:30], LABEL[:30]).decay(0.9)
    pd.testing.assert_series_equal(merged.temper_, before)


def test_auto_is_by_column_only_where_nothing_is_declared() -> None:
    x = TABLE[["length", "colour"]]
    assert isinstance(NaiveBayes(temper="auto").fit(x, LABEL).temper_, pd.Series)
    assert NaiveBayes(temper="auto", estimate="mean").fit(x, LABEL).temper_ == 1.0
    assert NaiveBayes({"length": Gaussian()}, temper="auto").fit(x, LABEL).temper_ == 1.0
    dropped, absent = NaiveBayes({"length": "drop"}).fit(x, LABEL), x.drop(columns="length")
    np.testing.assert_array_equal(dropped.predict_proba(x), NaiveBayes().fit(absent, LABEL).predict_proba(absent))
    assert GaussianNB(temper="auto").fit(x[["length"]].fillna(0.0), LABEL).temper_ == 1.0


def test_another_estimate_takes_the_exponents_of_the_predictive() -> None:
    kinds = ("predictive", "map")
    plain, plugged = (NaiveBayes(FAMILIES, temper="columns", estimate=kind).fit(TABLE, LABEL) for kind in kinds)
    pd.testing.assert_series_equal(plain.temper_, plugged.temper_)


def test_a_label_that_its_cells_make_impossible_is_an_error() -> None:
    x, label = np.array([[0], [0], [1], [1], [2], [2], [0]]), np.array([0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="temper='columns': without row 2 its own cells"):
        NaiveBayes(Categorical(Dirichlet(0.0)), temper="columns").fit(x, label)


@pytest.mark.parametrize("temper", ["column", -1.0, 0, np.nan, [1.0], True and "rows"])
def test_what_no_exponent_is_is_refused(temper: Any) -> None:
    with pytest.raises(ValueError, match="temper must be None, 'columns', 'loo', 'auto' or a positive number"):
        NaiveBayes(temper=temper).fit(TABLE[["length"]], LABEL)


def test_pictures_and_the_page_follow_the_exponents() -> None:
    columns = ["length", "flag", "colour", "count"]
    model = NaiveBayes({name: FAMILIES[name] for name in columns}, temper="columns").fit(TABLE[columns], LABEL)
    twin = NaiveBayes({name: FAMILIES[name] for name in columns}).fit(TABLE[columns], LABEL)
    of_levels = {scale.name: scale.lines[0].points for scale in scales_of(model, [0, 1]).scales}
    moment = model.temper_["colour"] * twin.posterior_["colour"].level_log_moment(1.0)
    np.testing.assert_allclose(sorted(of_levels["colour"]), sorted(moment[0] - moment[1]), atol=1e-10)
    facts = gather(model, TABLE[columns], LABEL)
    feature = next(each for each in facts.features.all if each.key == "length")
    value, sd = model.temper_["length"], model.temper_sd_["length"]
    assert counted(feature, facts) == f"The evidence of this column has the exponent {value:.2f} \u00b1 {sd:.2f}."


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:links were looked for:UserWarning")
def test_columns_that_say_least_about_the_label_share_an_exponent() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 600)
    table = rng.normal(size=(600, 900))
    table[:, 100:110] += y[:, None]
    model = NaiveBayes().fit(table[:100], y[:100])
    values, times = np.unique(np.asarray(model.temper_), return_counts=True)
    assert len(values) == times.min() * 500
    assert times.max() == 900 - 499
    assert not np.isin(model.temper_[list(range(100, 110))], values[times.argmax()]).any()
    score = model.predict_log_proba(table[100:])[np.arange(500), y[100:]]
    assert score.mean() > -0.5


@pytest.mark.slow
def test_very_many_columns_or_classes_are_fitted_in_bounded_time() -> None:
    """Unbounded, each takes more than a minute, and that of 5,000 columns more than two."""
    rng = np.random.default_rng(6)
    wide, few = rng.normal(size=(200, 5_000)), np.arange(200) % 2
    wide[:, :5] += few[:, None]
    wide[:, 4_999] = wide[:, 0] * np.where(few, 1, -1)  # dependent given the class
    began = perf_counter()
    with pytest.warns(UserWarning, match="links were looked for between 600 of 5,000 columns"):
        model = NaiveBayes().fit(wide, few)
    many = rng.integers(0, 2_000, 8_000)
    NaiveBayes().fit(rng.normal(size=(8_000, 10)) + many[:, None] % 3, many)
    assert perf_counter() - began < 90  # a busy machine; alone it is a third of that
    assert model.predict(wide).tolist() == few.tolist()
