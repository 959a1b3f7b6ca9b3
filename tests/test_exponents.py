"""Exponents of columns: found as their definition says, left by each row, unknown in intervals.

The definition is spelled out with SciPy, from models of each column alone without each row.
"""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bayesnb import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Gaussian,
    JointTable,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    relevance,
)
from bayesnb.datasets import penguins
from bayesnb.selection.exponents import LabelScores, average_over_widths
from tests.benchmarks.held_out import covers

RNG = np.random.default_rng(5)
ROWS = 60
LABEL = np.arange(ROWS) % 3
TABLE = pd.DataFrame(
    {
        "length": RNG.normal(LABEL, 1.0),
        "again": RNG.normal(LABEL, 1.0),
        "flag": RNG.random(ROWS) < 0.2 + 0.3 * LABEL,
        "colour": np.array(["red", "green", "blue"])[(LABEL + RNG.integers(0, 2, ROWS)) % 3],
        "count": RNG.poisson(1.0 + LABEL),
        "u": RNG.normal(LABEL, 2.0),
        "v": RNG.normal(0, 1.0, ROWS),
        "a": (LABEL + RNG.integers(0, 2, ROWS)) % 2,
        "b": RNG.integers(0, 3, ROWS),
    }
)
TABLE["again"] = TABLE["length"] + 0.3 * TABLE["again"]
TABLE.loc[[4, 9], ["length", "u"]] = np.nan
NUMBER = Gaussian(NormalInverseGamma(0.0, 0.1, 1.0, 1.0))
FAMILIES = {
    "length": NUMBER,
    "again": Gaussian(shared=True),
    "flag": Bernoulli(),
    "colour": Categorical(),
    "count": Poisson(),
    ("u", "v"): MultivariateGaussian(),
    ("a", "b"): JointTable(),
}


@dataclass(frozen=True)
class Scores:
    """Without each row: log p(class), and what each column says, log p(cell | class)."""

    log_class: np.ndarray
    columns: np.ndarray  # (r, c, f)
    label: np.ndarray

    def total(self, w: np.ndarray) -> float:
        scores = log_softmax(self.log_class + self.columns @ w, axis=1)
        return scores[np.arange(len(self.label)), self.label].sum()

    def slope(self, w: np.ndarray) -> np.ndarray:
        return sum(self.row(i, w)[0] for i in range(len(self.label)))

    def row(self, i: int, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and negative second derivatives of a row's score."""
        of_classes = self.columns[i]
        p = softmax(self.log_class[i] + of_classes @ w)
        mean = p @ of_classes
        return of_classes[self.label[i]] - mean, of_classes.T * p @ of_classes - np.outer(
            mean, mean
        )

    def curvature(self, w: np.ndarray) -> np.ndarray:
        return sum(self.row(i, w)[1] for i in range(len(self.label)))


def alone(name: Any) -> pd.DataFrame:
    return TABLE[list(name) if isinstance(name, tuple) else [name]]


def left_out_scores() -> Scores:
    """Of models of each column, from which each row is forgotten in turn."""
    others = np.bincount(LABEL) - np.eye(3)[LABEL]
    log_class = np.log((1.0 + others) / (3 + ROWS - 1))
    columns = np.empty((ROWS, 3, len(FAMILIES)))
    for place, (name, family) in enumerate(FAMILIES.items()):
        table = alone(name)
        model = NaiveBayes({name: family}, temper=None).fit(table, LABEL)
        for i in range(ROWS):
            rest = copy.deepcopy(model).forget(table.iloc[[i]], LABEL[[i]])
            columns[i, :, place] = rest.predict_joint_log_proba(table.iloc[[i]])[0] - log_class[i]
    return Scores(log_class, columns, LABEL)


@dataclass(frozen=True)
class Found:
    mean: np.ndarray
    covariance: np.ndarray


def exponents_of(scores: Scores) -> Found:
    """w_j ~ Normal(t, (width t)^2), log width ~ Normal(0, 1); t is the mean of one exponent."""
    columns = scores.columns.shape[2]
    one = np.linspace(np.log(1e-3), 0.0, 801)
    prior_mean = -np.log(columns) / 2
    log_weight = [
        scores.total(np.full(columns, np.exp(at))) - ((at - prior_mean) / 0.5) ** 2 / 2
        for at in one
    ]
    weight = softmax(log_weight)
    t = weight @ np.exp(one)
    unsure = np.sqrt(weight @ (np.exp(one) - t) ** 2) / t

    modes = []
    covariances = []
    evidences = []
    moved = []
    for width in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        variance = (width * t) ** 2

        def loss(w: np.ndarray, variance: float = variance) -> float:
            return ((w - t) ** 2).sum() / variance / 2 - scores.total(w)

        def slope(w: np.ndarray, variance: float = variance) -> np.ndarray:
            return (w - t) / variance - scores.slope(w)

        start = np.full(columns, t)
        bounds = [(0.0, None)] * columns
        mode = minimize(loss, start, jac=slope, method="L-BFGS-B", bounds=bounds, tol=1e-12).x
        free = np.flatnonzero(mode > 0)
        precision = scores.curvature(mode)[np.ix_(free, free)] + np.eye(len(free)) / variance
        volume = np.linalg.slogdet(precision)[1] + len(free) * np.log(variance)
        inverse = np.zeros((columns, columns))
        inverse[np.ix_(free, free)] = np.linalg.inv(precision)
        modes.append(mode)
        covariances.append(inverse)
        evidences.append(-loss(mode) - volume / 2 - np.log(width) ** 2 / 2)
        moved.append(covariances[-1].sum(axis=1) * t / variance)
    share = softmax(evidences)
    mean = share @ modes
    covariance = np.zeros((columns, columns))
    for p, mode, inner, by_centre in zip(share, modes, covariances, moved, strict=True):
        covariance += p * (inner + np.outer(mode - mean, mode - mean))
        covariance += p * unsure**2 * np.outer(by_centre, by_centre)
    return Found(mean, covariance)


@cache
def by_definition() -> tuple[Scores, Found]:
    scores = left_out_scores()
    return scores, exponents_of(scores)


@cache
def fitted() -> NaiveBayes:
    return NaiveBayes(FAMILIES, temper="columns").fit(TABLE, LABEL)


# How they are found


@pytest.mark.slow
def test_exponents_and_their_deviations_are_those_of_the_definition() -> None:
    _, found = by_definition()
    assert list(fitted().temper_.index) == list(FAMILIES)
    assert_allclose(fitted().temper_, found.mean, rtol=2e-3)
    sd = np.sqrt(np.diag(found.covariance))
    assert_allclose(fitted().temper_sd_[:-1], sd[:-1], rtol=1e-2)  # the last was held at 0
    assert np.ptp(found.mean) > 0.2


def test_each_row_leaves_the_exponents_by_one_step_of_newton() -> None:
    scores, found = by_definition()
    model = fitted()
    w = fitted().temper_.to_numpy()
    left = np.log(model.loo_proba(TABLE, LABEL))
    kept = model.loo(TABLE, LABEL, exponents="kept")
    for i in range(ROWS):
        slope, curvature = scores.row(i, w)
        rest = np.linalg.inv(found.covariance) - curvature
        assert np.linalg.eigvals(found.covariance @ curvature).real.max() < 0.95
        stepped = np.maximum(w - np.linalg.solve(rest, slope), 0.0)
        expected = log_softmax(scores.log_class[i] + scores.columns[i] @ stepped)
        assert_allclose(left[i], expected, atol=0.02)
        before = log_softmax(scores.log_class[i] + scores.columns[i] @ w)
        assert_allclose(kept.elpd_i[i], before[LABEL[i]], rtol=1e-8, atol=1e-10)


def test_one_exponent_is_the_most_probable_one_and_at_most_1() -> None:
    rng = np.random.default_rng(6)
    label = np.arange(40) % 2
    far_apart = rng.normal(6.0 * label, 1.0)[:, None]  # larger exponents would predict better
    assert NaiveBayes(NUMBER, temper="loo").fit(far_apart, label).temper_ == 1.0
    x = rng.normal(label, 1.0)[:, None] + rng.normal(0, 0.3, (40, 8))
    model = NaiveBayes(NUMBER, temper="loo").fit(x, label)

    def height(t: float) -> float:
        elpd = NaiveBayes(NUMBER, temper=t).fit(x, label).loo(x, label).elpd
        return elpd - (np.log(t) / 0.5) ** 2 / 2

    t = model.temper_
    h = 0.02
    below = height(t * np.exp(-h))
    at = height(t)
    above = height(t * np.exp(h))
    assert at > max(below, above)
    assert model.temper_sd_ == pytest.approx(t * h / np.sqrt(2 * at - below - above), rel=0.02)


def test_noise_hardly_counts_copies_share_and_independent_columns_count_1() -> None:
    rng = np.random.default_rng(3)
    label = np.arange(2000) % 2
    twice = rng.normal(label, 1.0)
    x = np.column_stack([twice, twice, rng.normal(label, 1.0), rng.normal(size=2000)])
    exponents = NaiveBayes("gaussian", temper="columns").fit(x, label).temper_
    assert_allclose(exponents[:3], [0.5, 0.5, 1.0], atol=0.2)
    many = (rng.random(20_000) < 0.1).astype(int)  # of more than 10,000 rows a part is scored
    x = rng.normal(many[:, None], 1.0, (20_000, 3))
    model = NaiveBayes("gaussian", temper="columns").fit(x, many)
    assert (abs(model.temper_ - 1) < 4 * model.temper_sd_).all()


def test_a_batch_is_scored_before_it_is_learnt_and_earlier_ones_are_its_prior() -> None:
    first = np.arange(0, 30)
    second = np.arange(30, ROWS)
    model = clone(fitted()).partial_fit(TABLE.iloc[first], LABEL[first], classes=[0, 1, 2])
    before = model.temper_.to_numpy()
    sd = model.temper_sd_.to_numpy()
    log_class = np.log(np.full((30, 3), 1 / 3))
    columns = np.empty((30, 3, len(FAMILIES)))
    for place, (name, family) in enumerate(FAMILIES.items()):
        model_alone = NaiveBayes({name: family}, temper=None)
        model_alone.fit(alone(name).iloc[first], LABEL[first])
        joint = model_alone.predict_joint_log_proba(alone(name).iloc[second])
        columns[:, :, place] = joint - log_class
    scores = Scores(log_class, columns, LABEL[second])
    model.partial_fit(TABLE.iloc[second], LABEL[second])

    def height(w: np.ndarray) -> float:
        return scores.total(w) - (((w - before) / sd) ** 2).sum() / 2

    best = model.temper_.to_numpy()
    rng = np.random.default_rng(0)
    for step in rng.normal(0, 0.01, (50, 7)):
        assert height(np.maximum(best + step, 0.0)) <= height(best)
    assert (model.temper_sd_ < sd).all()


# What they do


def test_the_scores_of_columns_and_links_are_multiplied_by_their_exponents() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    u = rng.integers(0, 3, 300)
    v = np.where(rng.random(300) < 0.8, (u + y) % 3, rng.integers(0, 3, 300))
    table = pd.DataFrame({"u": u, "v": v, "w": rng.integers(0, 3, 300)}).astype(str)
    model, plain = (
        NaiveBayes(Categorical(1.0), dependence="forest", temper=temper).fit(table, y)
        for temper in ("columns", None)
    )
    log_class = np.log(0.5)
    link = plain.predict_joint_log_proba(table) - log_class
    expected = np.full((300, 2), log_class)
    for name in table:
        single = NaiveBayes(Categorical(1.0), temper=None).fit(table[[name]], y)
        score = single.predict_joint_log_proba(table[[name]]) - log_class
        expected += model.temper_[name] * score
        link -= score
    expected += model.links_.temper.item() * link
    assert_allclose(model.predict_joint_log_proba(table), expected, rtol=1e-10, atol=1e-10)


def test_explanations_relevance_and_later_rows_keep_the_exponents() -> None:
    model = fitted()
    assert_array_equal(model.explain(TABLE).temper, model.temper_)
    assert_array_equal(relevance(model).temper, model.temper_)
    plugged = clone(model).set_params(estimate="map").fit(TABLE, LABEL)
    assert_array_equal(plugged.temper_, model.temper_)
    merged = model.merge(clone(model).fit(TABLE[:30], LABEL[:30]))
    merged.forget(TABLE[:30], LABEL[:30]).decay(0.9)
    assert_array_equal(merged.temper_, model.temper_)


def test_columns_are_weighted_by_default_only_where_nothing_is_declared() -> None:
    x = TABLE[["length", "colour"]]
    assert isinstance(NaiveBayes().fit(x, LABEL).temper_, pd.Series)
    dropped = NaiveBayes({"length": "drop"}).fit(x, LABEL)
    absent = x[["colour"]]
    assert_array_equal(
        dropped.predict_proba(x), NaiveBayes().fit(absent, LABEL).predict_proba(absent)
    )
    for model in (
        NaiveBayes(estimate="mean"),
        NaiveBayes({"length": NUMBER}),
        NaiveBayes({"length": NUMBER}, temper=None),
    ):
        assert model.fit(x, LABEL).temper_ == 1.0


# Rows that are held out


def repeating(seed: int, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Six columns, three of which tell two classes apart, and one of which nearly repeats them."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    x = rng.normal(size=(rows, 6)) + 0.5 * y[:, None] * np.array([1, 1, 0.5, 0, 0, 0])
    x[:, 3] = x[:, 0] + 0.1 * rng.normal(size=rows)
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "penguins"])
def test_what_is_reported_of_held_out_rows_is_what_refits_give(name: str) -> None:
    """Everything is chosen anew in ten folds; with exponents kept the loss is .45 and .75 of it.

    Some folds of the wines keep a covariance, and all rows together do not: there is none here.
    """
    x, label = load_wine(return_X_y=True, as_frame=True)
    if name == "penguins":
        x = penguins().drop(columns=["year", "species"])
        label = penguins()["species"]
    y = np.unique(label, return_inverse=True)[1]
    unfitted = NaiveBayes(dependence="pairs" if name == "wine" else "all")
    model = clone(unfitted).fit(x, y)
    folds = StratifiedKFold(10)
    refits = cross_val_predict(unfitted, x, y, cv=folds, method="predict_log_proba")
    truth = refits[np.arange(len(y)), y].sum()
    assert 0.8 < model.loo(x, y).elpd / truth < 1.25
    assert model.loo(x, y, exponents="kept").elpd / truth < 0.85


# Intervals


@pytest.mark.slow
@pytest.mark.parametrize("temper", ["loo", "columns"])
@pytest.mark.parametrize("rows", ["observed", "fixed"])
@pytest.mark.parametrize("classes", [2, 3])
def test_intervals_are_those_of_draws(classes: int, rows: str, temper: Any) -> None:
    label = LABEL % classes
    model = NaiveBayes(FAMILIES | {"again": NUMBER}, temper=temper).fit(TABLE, label)
    exact = model.predict_interval(TABLE[:3], 0.5, rows, method="exact")
    drawn = model.predict_interval(TABLE[:3], 0.5, rows, method="draws", draws=4_000, rng=1)
    width = (drawn.upper - drawn.lower).values
    # With three classes the exact one is linear in the exponents, at their estimate.
    linear = 0.03 if classes == 3 else 0.0
    for name, level in (("lower", 0.25), ("median", 0.5), ("upper", 0.75)):
        step = 5 * np.sqrt(level * (1 - level) / 4_000)  # of a quantile, over the density
        assert (np.abs(exact[name] - drawn[name]).values < 4 * step * width + linear + 1e-9).all()
    for method, bound in (("auto", 0.001), ("fast", 0.02)):
        other = model.predict_interval(TABLE[:3], 0.5, rows, method=method)
        for name in ("probability", "median", "lower", "upper"):
            assert_allclose(other[name], exact[name], atol=bound)


@pytest.mark.parametrize("method", ["exact", "auto", "fast", "draws"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_found_exponent_makes_intervals_wider_than_the_same_one_declared(
    classes: int, method: str
) -> None:
    label = LABEL % classes
    columns = ["length", "flag", "colour"]
    families = {name: FAMILIES[name] for name in columns}
    asked = pd.concat([TABLE[:4], TABLE[:1].reindex([ROWS])])[columns]  # the last lacks all cells
    found = NaiveBayes(families, temper="loo").fit(TABLE[columns], label)
    declared = clone(found).set_params(temper=found.temper_).fit(TABLE[columns], label)
    one, two = (
        model.predict_interval(asked, method=method, draws=2_000, rng=1)
        for model in (found, declared)
    )
    wider = (one.upper - one.lower).values - (two.upper - two.lower).values
    assert wider[:4].mean() > 0.005
    assert_allclose(wider[4], 0.0, atol=0.03 if method == "draws" else 1e-9)


@pytest.mark.slow
def test_intervals_cover_known_probabilities_more_often_with_unknown_exponents() -> None:
    """Of independent columns and copies 24 tables cover .80 and .81 (.02), without .72 and .66."""
    for name in ("independent", "copies"):
        shares = np.array([covers(name, 300, seed, 0) for seed in range(4)])
        with_exponents, without = shares.mean(axis=0)
        assert with_exponents > 0.7
        assert with_exponents > without + 0.04


# Where there are none


@pytest.mark.parametrize("temper", ["column", -1.0, 0, np.nan, [1.0]])
def test_what_no_exponent_is_is_refused(temper: Any) -> None:
    with pytest.raises(ValueError, match="temper must be"):
        NaiveBayes(temper=temper).fit(TABLE[["length"]], LABEL)


def test_a_label_that_its_cells_make_impossible_is_an_error() -> None:
    x = np.array([[0], [0], [1], [1], [2], [2], [0]])
    label = np.array([0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="the cells of row 2 have probability 0"):
        NaiveBayes(Categorical(Dirichlet(0.0)), temper="columns").fit(x, label)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), [(60, 200), (120, 400), (150, 1500)])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "counts"])
def test_a_wide_table_of_noise_is_hardly_worse_than_the_shares_of_the_classes(
    rows: int, columns: int, kind: str
) -> None:
    """Columns of noise were once 1.3 times as bad as the shares, 1.7 times where they are counts.

    Those of the last two kinds repeat each other, as five or eight factors are behind them.
    """
    rng = np.random.default_rng(rows)
    total = rows + 1000
    y = rng.choice(3, total, p=[0.5, 0.35, 0.15])
    x = rng.normal(size=(total, columns))
    if kind != "normal":
        factors = rng.normal(size=(total, 5)) @ rng.normal(size=(5, columns))
        x = np.exp((factors + x) / 2)
    if kind == "counts":
        x = rng.poisson(x).astype(float)
    learnt, asked = slice(rows), slice(rows, None)
    model = NaiveBayes().fit(x[learnt], y[learnt])
    proba = model.predict_proba(x[asked])
    shares = (np.bincount(y[learnt]) + 1) / (rows + 3)
    loss = -np.log(proba[np.arange(1000), y[asked]]).mean()
    assert loss < 1.03 * -np.log(shares[y[asked]]).mean()


def test_a_wide_table_with_a_few_good_columns_is_far_better_than_the_shares() -> None:
    rng = np.random.default_rng(1)
    y = rng.choice(3, 1120)
    x = rng.normal(size=(1120, 400))
    x[:, :10] += 1.5 * (y[:, None] == np.arange(10) % 3)
    proba = NaiveBayes().fit(x[:120], y[:120]).predict_proba(x[120:])
    assert -np.log(proba[np.arange(1000), y[120:]]).mean() < 0.5 * np.log(3)


def test_without_a_signal_all_exponents_are_nearly_0_and_with_one_they_stay() -> None:
    rng = np.random.default_rng(2)
    odds = np.zeros((80, 1))
    counts = np.ones(80)
    worse = LabelScores(odds, rng.normal(0.2, 1.0, (80, 1, 40)), counts)
    better = LabelScores(odds, rng.normal(-0.5, 1.0, (80, 1, 40)), counts)
    means = np.full(40, 0.3)
    for wide in 0.5, 1.0, 5.0:
        assert average_over_widths(worse, means, 0.1, wide).mean.max() < 0.03
        assert average_over_widths(better, means, 0.1, wide).mean.mean() > 0.2
        assert (average_over_widths(worse, means, 0.1, wide).sd > 0).all()


@pytest.mark.slow
def test_among_very_many_columns_held_out_scores_may_be_too_good() -> None:
    """As the page warns: the columns that alone say most about these rows keep their exponents."""
    gaps = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, 1150, p=[0.5, 0.35, 0.15])
        x = rng.normal(size=(1150, 1500))
        model = NaiveBayes().fit(x[:150], y[:150])
        proba = model.predict_proba(x[150:])
        held_out = -model.loo(x[:150], y[:150]).elpd / 150
        gaps.append(-np.log(proba[np.arange(1000), y[150:]]).mean() - held_out)
    assert np.mean(gaps) > 0.02
