"""Joint tables: against all cells written out, counts by hand, and one column of combinations."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import stats
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb import Categorical, Dirichlet, JointTable, NaiveBayes, NormalInverseWishart, mcmc

SIZES = (2, 3, 4)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))
ROWS = 60
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, ROWS)
X = np.minimum(RNG.geometric(0.35 + 0.3 * Y[:, None], (ROWS, 3)), SIZES) - 1
X[0], X[1] = (1, 2, 3), (0, 0, 0)  # every column has all its levels; many combinations have no row
SEEN = {tuple(row) for row in X.tolist()}
NEVER = np.array([cell for cell in CELLS.tolist() if tuple(cell) not in SEEN])
KINDS = pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])


def combination(x: np.ndarray) -> np.ndarray:
    """Number the combinations of levels from 0 to 23: one column."""
    return np.ravel_multi_index(np.transpose(x), SIZES)[:, None]


def twins(prior: float = 0.7, **options: Any) -> tuple[NaiveBayes, NaiveBayes]:
    """Fit a joint table, and one column of all combinations: the same model."""
    table = NaiveBayes(JointTable(prior), **options).fit(X, Y)
    column = NaiveBayes(Categorical(prior, levels=range(24)), **options)
    return table, column.fit(combination(X), Y)


def close(a: Any, b: Any, rtol: float = 1e-10) -> None:
    assert_allclose(a, b, rtol=rtol, atol=1e-12)


# Definitions


def test_the_plug_in_is_the_share_of_a_label_among_identical_rows() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = NaiveBayes(JointTable(), estimate="mle", class_prior="empirical").fit(frame, Y)
    share = frame.assign(y=Y).groupby(["a", "b", "c"])["y"].transform("mean")
    close(model.predict_proba(frame)[:, 1], share)


def test_without_an_identical_row_the_plug_in_is_undefined_and_the_predictive_is_not() -> None:
    model = NaiveBayes(JointTable(), estimate="mle").fit([["a", "u"], ["b", "v"]], [0, 1])
    with pytest.raises(ValueError, match=r"row 0 is impossible.*No training row is like it"):
        model.predict_proba([["a", "v"]])
    assert np.isneginf(model.predict_joint_log_proba([["a", "v"]])).all()
    close(model.set_params(estimate="predictive").predict_proba([["a", "v"]]), [[0.5, 0.5]])


@KINDS
def test_a_row_with_missing_cells_is_the_sum_over_all_that_it_may_be(kind: str) -> None:
    model = NaiveBayes(JointTable(1.3), estimate=kind).fit(X, Y)
    complete = model.predict_joint_log_proba(CELLS)
    close(np.exp(complete).sum(), 1.0)
    for known in itertools.product([True, False], repeat=3):
        incomplete = model.predict_joint_log_proba(np.where(known, CELLS, np.nan))
        for row, joint in zip(CELLS, incomplete, strict=True):
            possible = ((row == CELLS) | ~np.array(known)).all(axis=1)
            close(np.exp(joint), np.exp(logsumexp(complete[possible], axis=0)))


def test_the_evidence_is_that_of_a_dirichlet_over_all_cells() -> None:
    holes = X.astype(float)
    holes[4, 1] = np.nan  # such a row teaches nothing
    model = NaiveBayes(JointTable(Dirichlet([0.5, 2.0]))).fit(holes, Y)
    expected = 0.0
    for label, concentration in enumerate([0.5, 2.0]):
        learnt = (label == Y) & (np.arange(ROWS) != 4)
        counts = np.bincount(combination(X[learnt])[:, 0], minlength=24)
        orders = stats.multinomial(counts.sum(), np.full(24, 1 / 24)).logpmf(counts)
        orders += counts.sum() * np.log(24)
        cells = stats.dirichlet_multinomial(np.full(24, concentration), counts.sum())
        expected += cells.logpmf(counts) - orders
    assert model.log_evidence_by_feature()[0, 1, 2] == pytest.approx(expected, rel=1e-12)


# Against one column of the combinations


@pytest.mark.parametrize("prior", [1.7, 0.4])
@KINDS
def test_one_column_of_all_combinations_is_the_same_model(kind: str, prior: float) -> None:
    table, column = twins(prior, estimate=kind)
    column_joint = column.predict_joint_log_proba(combination(CELLS))
    close(table.predict_joint_log_proba(CELLS), column_joint)
    close(table.log_evidence_, column.log_evidence_)
    close(table.loo(X, Y).elpd_i, column.loo(combination(X), Y).elpd_i)


@pytest.mark.parametrize("temper", [None, 0.6])
def test_its_uncertainty_is_that_of_one_column(temper: float | None) -> None:
    table, column = twins(temper=temper)
    cells = CELLS[::5]
    levels = combination(CELLS[::5])
    for rows in ("observed", "fixed"):
        one = table.predict_interval(cells, rows=rows)
        two = column.predict_interval(levels, rows=rows)
        for name in ("probability", "median", "lower", "upper"):
            close(one[name], two[name], 1e-9)
        one = table.uncertainty(cells, rows)
        two = column.uncertainty(levels, rows)
        close(one.epistemic, two.epistemic, 1e-8)
    one = table.explain(cells)
    two = column.explain(levels)
    for name in ("evidence", "sd", "predictive"):
        close(one[name], two[name])


def test_it_is_judged_as_one_feature() -> None:
    table, column = twins()
    close(nb.relevance(table).log_bayes_factor, nb.relevance(column).log_bayes_factor)


def test_draws_at_rows_never_seen_are_distributed_as_those_of_one_column() -> None:
    table, column = twins()
    one = table.draw_proba(NEVER[:3], 4000, chains=1, rng=2).values[0, :, :, 1]
    two = column.draw_proba(combination(NEVER[:3]), 4000, chains=1, rng=3).values[0, :, :, 1]
    assert (stats.ks_2samp(one, two).pvalue > 1e-4).all()


@pytest.mark.parametrize(
    "family",
    [JointTable(1.4), nb.MultivariateGaussian(NormalInverseWishart(0.0, 1.0, 4.0, 2.0))],
)
def test_a_row_that_was_not_learnt_is_left_out(family: Any) -> None:
    x = X[:20].astype(float)
    y = Y[:20]
    x[3, 1] = x[8, 0] = x[8, 2] = x[9] = np.nan
    scores = NaiveBayes(family).fit(x, y).loo(x, y, target="joint").elpd_i
    for row in (2, 3, 8, 9):
        rest = np.arange(20) != row
        refit = NaiveBayes(family).fit(x[rest], y[rest])
        close(scores[row], refit.predict_joint_log_proba(x[[row]])[0, y[row]], 1e-9)


# Tables that nobody could write out


def test_more_combinations_than_integers_are_told_apart() -> None:
    x = RNG.integers(0, 5, (40, 60))
    y = RNG.integers(0, 2, 40)
    last = np.arange(60) == 59
    x = np.concatenate([x, x[::2], np.where(last, (x + 1) % 5, x)])
    y = np.concatenate([y, y[::2], 1 - y])
    model = NaiveBayes(JointTable(2.0, levels=range(5)), class_prior="uniform").fit(x, y)
    label = y[:, None] == [0, 1]
    for known, concentration in ((60, 2.0), (59, 10.0)):
        alike = (x[:, None, :known] == x[None, :, :known]).all(axis=2)
        expected = (alike @ label + concentration) / (label.sum(axis=0) + 2 * 5.0**60)
        new = np.where(np.arange(60) < known, x, np.nan)
        close(np.exp(model.predict_joint_log_proba(new)), 0.5 * expected)


def test_a_row_that_may_be_too_many_combinations_is_not_drawn_for() -> None:
    x = RNG.integers(0, 2, (20, 30))
    y = RNG.integers(0, 2, 20)
    model = NaiveBayes(JointTable()).fit(x, y)
    hidden = np.where(np.arange(30) < 20, np.nan, x[:1])
    with pytest.raises(ValueError, match="lacks 20 of the 30 columns of a joint table"):
        model.draw_proba(hidden)
    assert np.isfinite(model.predict_interval(hidden).lower).all()


# Draws


@pytest.mark.parametrize("unseen", [20, 5, 1])
def test_new_rows_have_the_predictive_probabilities_of_all_cells(unseen: int) -> None:
    """Few unseen combinations are enumerated; of many, one is drawn until it is new."""
    levels = [(0, 0, 0), (1, 1, 1), (1, 2, 2), (0, 0, 3)]
    x = np.array(levels) if unseen == 20 else CELLS[unseen:]
    model = NaiveBayes(JointTable(0.7)).fit(x, np.zeros(len(x)))
    drawn, _ = model.sample(20_000, rng=3)
    counts = np.bincount(combination(drawn.astype(int))[:, 0], minlength=24)
    expected = 20_000 * np.exp(model.predict_joint_log_proba(CELLS)[:, 0])
    assert stats.chisquare(counts, expected).pvalue > 1e-3


# PyMC


def test_pymc_learns_the_concentration_by_the_evidence() -> None:
    built = mcmc.build(NaiveBayes(JointTable(0.5)), X, Y, hierarchical=True, collapse=True)
    built = remove_value_transforms(built)
    log_density = built.compile_logp(jacobian=False, mode="FAST_COMPILE")
    for alpha in (0.2, 3.0):
        evidence = NaiveBayes(JointTable(alpha)).fit(X, Y).log_evidence_
        prior = stats.norm(np.log(0.5), 1.5).logpdf(np.log(alpha)) - np.log(alpha)
        density = log_density({"alpha": np.array(alpha)})
        assert density == pytest.approx(evidence + prior, rel=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.mcmc.SamplingWarning")
def test_combinations_that_only_unlabelled_rows_hold_have_a_name_in_the_draws() -> None:
    few = {"draws": 20, "tune": 20, "chains": 1, "sampler": "pymc", "sampling": {"cores": 1}}
    drawn = mcmc.fit(NaiveBayes(JointTable()), X[:4], Y[:4], unlabelled=X[4:], rng=1, **few)
    theta = drawn.datatree_["posterior"]["theta_0,1,2"]
    known = X[[all(cell in X[:4, j] for j, cell in enumerate(row)) for row in X]]
    held = {", ".join(map(str, row)) for row in known.tolist()}
    assert set(theta["0,1,2_combination"].values) == held | {"(elsewhere)"}
    assert np.allclose(theta.sum("0,1,2_combination"), 1.0)


# What may be declared


def test_a_concentration_for_each_class_stands_when_levels_are_new() -> None:
    x = np.array([["a", "u"], ["b", "u"], ["a", "v"], ["c", "w"]], object)
    y = np.array([0, 1, 1, 0])
    model = NaiveBayes(JointTable(Dirichlet([0.5, 2.0])), classes=[0, 1])
    whole = NaiveBayes(model.families).fit(x, y)
    later = NaiveBayes(model.families, classes=[0, 1]).partial_fit(x[:2], y[:2])
    merged = later.merge(NaiveBayes(model.families, classes=[0, 1]).fit(x[2:], y[2:]))
    for learnt in (merged, later.partial_fit(x[2:], y[2:])):
        close(learnt.predict_joint_log_proba(x), whole.predict_joint_log_proba(x))
        close(learnt.log_evidence_, whole.log_evidence_)


def test_levels_that_training_never_saw_follow_the_policy() -> None:
    x = [["a", "u"], ["b", "v"], ["b", "u"]]
    y = [0, 1, 1]
    ignoring = NaiveBayes(JointTable()).fit(x, y)
    with pytest.warns(nb.UnseenLevelWarning, match="'c'"):
        close(ignoring.predict_proba([["c", "u"]]), ignoring.predict_proba([[None, "u"]]))
    reserve = NaiveBayes(JointTable(unseen="reserve")).fit(x, y)  # 3 levels by 3
    expected = np.log([[2 / 5 * 1 / 10, 3 / 5 * 1 / 11]])
    close(reserve.predict_joint_log_proba([["c", "u"]]), expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NaiveBayes(JointTable()).fit(np.tile([[0], [1]], 1100), [0, 1]), "than a float"),
        (
            lambda: NaiveBayes(JointTable()).fit(X, Y).forget(NEVER[:1], [0]),
            "some of these cells were not learnt",
        ),
        (
            lambda: JointTable(Dirichlet(np.ones((2, 2)))),
            r"shape \(2, 2\).*the same for all combinations",
        ),
        (lambda: NaiveBayes(JointTable(Dirichlet([1, 1, 1]))).fit(X, Y), "each of 2 classes"),
        (lambda: JointTable(unseen="drop"), "unseen must be"),
        (
            lambda: NaiveBayes(JointTable(unseen="error")).fit(X, Y).predict([[9, 0, 0]]),
            "levels that the model does not know",
        ),
    ],
)
def test_what_cannot_be_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
