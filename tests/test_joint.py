"""The joint table: against all its cells written out, counts by hand, refits, and one column of the combinations."""

import itertools
import tracemalloc
import warnings
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import stats
from scipy.special import logsumexp

import bayesnb
from bayesnb import (
    Categorical,
    Dirichlet,
    JointTable,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseWishart,
    UnseenLevelWarning,
    mcmc,
)
from bayesnb.families.family import Family
from bayesnb.families.joint import JointStats

SIZES = (2, 3, 4)
CELLS = np.array(list(itertools.product(*map(range, SIZES))))
ROWS = 60


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three columns and two labels; many combinations have none."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, ROWS)
    x = np.minimum(rng.geometric(0.35 + 0.3 * y[:, None], (ROWS, 3)), SIZES) - 1
    x[0], x[1] = (1, 2, 3), (0, 0, 0)  # so that every column has seen all its levels
    return x, y


def single(x: np.ndarray) -> np.ndarray:
    """The combination as one column of 24 levels; missing where any of its cells is."""
    place = np.ravel_multi_index(np.maximum(x, 0).T, SIZES).astype(float)
    return np.where((x < 0).any(axis=1), np.nan, place)[:, None]


def twins(**how: Any) -> tuple[NaiveBayes, NaiveBayes]:
    """A joint table, and the one column with all its combinations for levels, which is the same model."""
    prior = how.pop("prior", 0.7)
    table = NaiveBayes(JointTable(prior), **how)
    column = NaiveBayes(Categorical(prior, levels=range(24)), **how)
    return table, column


def fitted_twins(**how: Any) -> tuple[NaiveBayes, NaiveBayes]:
    (x, y), (table, column) = rows(), twins(**how)
    return table.fit(x, y), column.fit(single(x), y)


def alike(a: Any, b: Any, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


# ---- the lecture's formula


def test_the_plug_in_is_the_share_of_identical_rows_with_that_label() -> None:
    X = [["a", "u"], ["a", "u"], ["a", "u"], ["b", "u"], ["b", "v"]]
    y = ["yes", "yes", "no", "no", "yes"]
    model = NaiveBayes(JointTable(), estimate="mle", class_prior="empirical").fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    alike(model.predict_proba([["a", "u"], ["b", "u"], ["b", "v"]]), [[1 / 3, 2 / 3], [1, 0], [0, 1]])


def test_the_plug_in_of_many_rows_is_what_a_group_by_counts() -> None:
    x, y = rows()
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model = NaiveBayes(JointTable(), estimate="mle", class_prior="empirical").fit(frame, y)
    share = frame.assign(y=y).groupby(["a", "b", "c"])["y"].transform("mean")
    alike(model.predict_proba(frame)[:, 1], share)


def test_without_an_identical_row_the_plug_in_is_undefined_and_the_predictive_is_not() -> None:
    X, y = [["a", "u"], ["b", "v"]], [0, 1]
    model = NaiveBayes({("p", "q"): JointTable()}, estimate="mle").fit(pd.DataFrame(X, columns=["p", "q"]), y)
    new = pd.DataFrame([["a", "u"], ["a", "v"]], columns=["p", "q"])
    with pytest.raises(ValueError, match=r"row 1 is impossible.*No training row is like it.*\('p', 'q'\)"):
        model.predict_proba(new)
    assert np.isneginf(model.predict_joint_log_proba(new)[1]).all()
    alike(model.set_params(estimate="predictive").predict_proba(new)[1], [0.5, 0.5])


def test_a_mode_under_a_flat_prior_gives_nothing_to_what_was_never_seen() -> None:
    x, y = rows()
    model = NaiveBayes(JointTable(1.0), estimate="map").fit(x, y)
    mode = model.posterior_[0, 1, 2].mode()
    assert (mode[:, -1] == 0).all()
    alike(mode[:, :-1], model.stats_.blocks[0].mle().probability[:, 0, :-1])
    half = NaiveBayes(JointTable(1.5)).fit(x, y).posterior_[0, 1, 2]
    alike(half.mode()[:, -1], 0.5 / (model.stats_.classes.counts + 12))


# ---- against all cells written out


@pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
def test_a_row_with_missing_cells_is_the_sum_over_all_that_it_may_be(kind: str) -> None:
    x, y = rows()
    model = NaiveBayes(JointTable(1.3), estimate=kind).fit(x, y)
    every = model.predict_joint_log_proba(CELLS)
    alike(np.exp(every).sum(), 1.0)
    for mask in itertools.product([True, False], repeat=3):
        lacking = np.where(mask, CELLS, -1)
        found = model.predict_joint_log_proba(np.where(lacking < 0, np.nan, lacking))
        for row, own in zip(lacking, found, strict=True):
            may_be = ((row == CELLS) | (row < 0)).all(axis=1)
            alike(np.exp(own), np.exp(logsumexp(every[may_be], axis=0)))


def test_the_laws_of_incomplete_rows_are_those_of_sums_of_cells() -> None:
    x, y = rows()
    belief = NaiveBayes(JointTable(0.4)).fit(x, y).model_.posterior.blocks[0]
    drawn = belief.sample(np.random.default_rng(1), 100)
    may_be = CELLS[(CELLS[:, 0] == 1) & (CELLS[:, 2] == 0)]
    each = [np.exp(drawn.log_density(cell[None, None])) for cell in may_be]
    alike(np.exp(drawn.log_density(np.array([[[1, -1, 0]]]))), sum(each))


def test_the_evidence_is_that_of_a_die_over_all_cells() -> None:
    x, y = rows()
    x[4, 1] = -1
    model = NaiveBayes(JointTable(Dirichlet([0.5, 2.0])), class_prior="uniform").fit(np.where(x < 0, np.nan, x), y)
    total = 0.0
    for c, each in enumerate([0.5, 2.0]):
        own = single(x[(y == c)])[:, 0]
        counts = np.bincount(own[~np.isnan(own)].astype(int), minlength=24)
        orders = stats.multinomial(counts.sum(), np.full(24, 1 / 24)).logpmf(counts) + counts.sum() * np.log(24)
        total += stats.dirichlet_multinomial(np.full(24, each), counts.sum()).logpmf(counts) - orders
    assert model.log_evidence_by_feature() == {(0, 1, 2): pytest.approx(total, rel=1e-12)}


def test_what_was_seen_and_what_was_not_may_be_asked_for_and_has_names() -> None:
    x, y = rows()
    belief = NaiveBayes(JointTable()).fit(x, y).posterior_[0, 1, 2]
    assert belief.combinations.tolist() == np.unique(x, axis=0).tolist()
    assert belief.others == 24 - len(belief.combinations)
    alike(belief.predictive().mean().sum(axis=-1), 1.0)


# ---- against one column of the combinations


@pytest.mark.parametrize("prior", [1.7, 0.4])
@pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
def test_one_column_of_all_combinations_is_the_same_model(kind: str, prior: float) -> None:
    (x, y), (table, column) = rows(), fitted_twins(prior=prior, estimate=kind)
    alike(table.predict_joint_log_proba(CELLS), column.predict_joint_log_proba(single(CELLS)))
    assert table.log_evidence_ == pytest.approx(column.log_evidence_, rel=1e-13)
    alike(table.loo(x, y).elpd_i, column.loo(single(x), y).elpd_i)


def test_a_table_of_one_column_is_a_categorical_column() -> None:
    x, y = rows()
    table, column = (NaiveBayes(family(0.3)).fit(x[:, [2]], y) for family in (JointTable, Categorical))
    seen = np.array([[0], [1], [2], [3], [np.nan]])
    np.testing.assert_array_equal(table.predict_proba(seen), column.predict_proba(seen))
    assert table.log_evidence_ == pytest.approx(column.log_evidence_, rel=1e-15)
    np.testing.assert_array_equal(table.posterior_[2 - 2].concentration[:, :-1], column.posterior_[0].concentration)


@pytest.mark.parametrize("temper", [None, 0.6])
def test_its_laws_are_those_of_one_column_of_combinations(temper: float | None) -> None:
    table, column = fitted_twins(temper=temper)
    some = CELLS[::5]
    for how in ("observed", "fixed"):
        own, its = table.predict_interval(some, rows=how), column.predict_interval(single(some), rows=how)
        for name in ("probability", "median", "lower", "upper"):
            alike(own[name], its[name], 1e-9)
        alike(table.uncertainty(some, how).epistemic, column.uncertainty(single(some), how).epistemic, 1e-8)
    own, its = table.explain(some), column.explain(single(some))
    for name in ("evidence", "sd", "predictive", "score_sd"):
        alike(own[name], its[name], 1e-10)


def test_its_smoothing_is_compared_and_tuned_as_that_of_one_column() -> None:
    x, y = rows()
    (table, column), cells = fitted_twins(), single(x)
    some = {"smoothing": (0, 0.5, 2), "estimates": ("map", "mean", "predictive", "mle")}
    own, its = bayesnb.compare_smoothing(table, x, y, **some), bayesnb.compare_smoothing(column, cells, y, **some)
    pd.testing.assert_frame_equal(own.table, its.table, rtol=1e-9)
    assert any("the only one of its class with its levels of the columns" in note for note in own.notes)
    for how in ({}, {"per": "class"}, {"criterion": "loo"}):
        pair = bayesnb.tune(table, x, y, **how), bayesnb.tune(column, cells, y, **how)
        best = [model.fit(*data).model_.prior.blocks[0] for model, data in zip(pair, ((x, y), (cells, y)), strict=True)]
        alike(best[0].concentration[:, 0, -1], best[1].concentration[:, 0], 1e-6)


def test_it_is_averaged_over_and_judged_as_one_feature() -> None:
    (x, y), (table, column) = rows(), fitted_twins(average_features=0.4)
    alike(table.predict_proba(CELLS), column.predict_proba(single(CELLS)))
    alike(bayesnb.relevance(table).log_bayes_factor, bayesnb.relevance(column).log_bayes_factor)
    alike(table.loo(x, y).elpd_i, column.loo(single(x), y).elpd_i)
    alike(table.explain(CELLS).sd, column.explain(single(CELLS)).sd)


def test_rows_are_left_out_as_if_they_had_not_been_learnt() -> None:
    x, y = rows()
    cells = x[:14].astype(float)
    cells[3, 1] = cells[8, 0] = cells[8, 2] = cells[9] = np.nan
    y, weight = y[:14], 1.0 + np.arange(14) % 3
    for kind in ("predictive", "map"):
        model = NaiveBayes(JointTable(1.4, levels=range(4)), estimate=kind).fit(cells, y, sample_weight=weight)
        found = model.loo(cells, y, sample_weight=weight).elpd_i.values
        for i in range(14):
            rest = np.arange(14) != i
            without = NaiveBayes(JointTable(1.4, levels=range(4)), estimate=kind).fit(
                cells[rest], y[rest], weight[rest]
            )
            alike(found[i], without.predict_log_proba(cells[[i]])[0, y[i]], 1e-9)


@pytest.mark.parametrize("family", [JointTable(1.4), MultivariateGaussian(NormalInverseWishart(0.0, 1.0, 4.0, 2.0))])
def test_a_row_that_was_not_learnt_takes_no_word_on_what_is_averaged_over(family: Family) -> None:
    x, y = (each[:20] for each in rows())
    cells = np.asarray(x, float)
    cells[3, 1] = cells[8, 0] = cells[8, 2] = cells[9] = np.nan
    found = NaiveBayes(family, average_features=0.4).fit(cells, y).loo(cells, y, target="joint").elpd_i.values
    for i in (2, 3, 8, 9):
        rest = np.arange(20) != i
        without = NaiveBayes(family, average_features=0.4).fit(cells[rest], y[rest])
        alike(found[i], without.predict_joint_log_proba(cells[[i]])[0, y[i]], 1e-9)


# ---- tables that nobody could write out


def test_thirty_columns_of_two_levels_take_little_memory() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2, (500, 30)), rng.integers(0, 2, 500)
    NaiveBayes(JointTable()).fit(x[:9], y[:9]).predict_proba(x[:9])
    tracemalloc.start()
    model = NaiveBayes(JointTable(1e-3)).fit(x, y)
    proba = model.predict_proba(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 3e6
    counts = model.stats_.classes.counts
    cell = 1e-3 + np.eye(2)[y]
    joint = cell / (counts + 1e-3 * 2.0**30) * (counts + 1)
    alike(proba, joint / joint.sum(axis=1, keepdims=True))


def test_more_combinations_than_integers_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 5, (40, 60)), rng.integers(0, 2, 40)
    x = np.concatenate([x, x[::2], np.where(np.arange(60) == 59, (x + 1) % 5, x)])
    y = np.concatenate([y, y[::2], 1 - y])
    model = NaiveBayes(JointTable(2.0, levels=range(5)), class_prior="uniform").fit(x, y)
    found = [(np.sum((x == row).all(axis=1) & (y == c)) + 2.0) for row in x for c in (0, 1)]
    own = np.reshape(found, (-1, 2)) / (model.stats_.classes.counts + 2 * 5.0**60)
    alike(np.exp(model.predict_joint_log_proba(x)), 0.5 * own)
    lacking = np.where(np.arange(60) == 59, np.nan, x)
    pairs = [(np.sum((x == row)[:, :59].all(axis=1) & (y == c)) + 10.0) for row in x for c in (0, 1)]
    alike(np.exp(model.predict_joint_log_proba(lacking)), 0.5 * np.reshape(pairs, (-1, 2)) / (5.0**60 * 2))


def test_a_table_that_no_float_can_count_is_refused() -> None:
    x = np.tile([[0], [1]], 1100)
    with pytest.raises(ValueError, match="combinations of levels of 1100 columns are more than a float can count"):
        NaiveBayes(JointTable()).fit(x, [0, 1])


@pytest.mark.parametrize("dependent", [True, False])
def test_the_evidence_says_whether_columns_depend_on_each_other(dependent: bool) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    a = rng.random(400) < 0.3 + 0.4 * y
    b = np.where(rng.random(400) < 0.85, a, ~a) if dependent else rng.random(400) < 0.6
    x = np.column_stack([a, b])
    joint, naive = (NaiveBayes(family).fit(x, y).log_evidence_ for family in (JointTable(), Categorical()))
    assert (joint > naive) == dependent
    assert (joint - naive > 30) == dependent


# ---- learning over time, and from many places


def test_learning_over_time_is_learning_at_once() -> None:
    x, y = rows()
    frame = pd.DataFrame({"a": np.array(list("pq"))[x[:, 0]], "b": x[:, 1], "c": x[:, 2] > 1})
    frame.loc[5, "a"] = None
    families = {("a", "b"): JointTable(0.6), "c": Categorical()}
    whole = NaiveBayes(families).fit(frame, y)
    order = np.argsort(x[:, 1], kind="stable")  # new levels come late
    grown = NaiveBayes(families)
    for part in np.array_split(order, 5):
        grown.partial_fit(frame.iloc[part], y[part], classes=[0, 1])
    halves = [NaiveBayes(families, classes=[0, 1]).fit(frame.iloc[part], y[part]) for part in np.array_split(order, 2)]
    for model in (grown, halves[0].merge(halves[1])):
        alike(model.predict_proba(frame), whole.predict_proba(frame))
        assert model.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    few = NaiveBayes(families).fit(frame[:40], y[:40])
    assert few.schema_.blocks[0].levels == whole.schema_.blocks[0].levels
    alike(whole.forget(frame[40:], y[40:]).predict_proba(frame), few.predict_proba(frame))
    faded = NaiveBayes(families).fit(frame[:40], y[:40]).decay(0.5)
    alike(faded.stats_.blocks[0].counts, 0.5 * few.stats_.blocks[0].counts)


def test_a_concentration_for_each_class_stands_when_levels_are_new() -> None:
    x, y = np.array([["a", "u"], ["b", "u"], ["a", "v"], ["c", "w"]], object), np.array([0, 1, 1, 0])
    family = JointTable(Dirichlet([0.5, 2.0]))
    once = NaiveBayes(family).fit(x, y)
    later, apart = (NaiveBayes(family, classes=[0, 1]).partial_fit(x[:2], y[:2]) for _ in range(2))
    for found in (later.partial_fit(x[2:], y[2:]), apart.merge(NaiveBayes(family, classes=[0, 1]).fit(x[2:], y[2:]))):
        alike(found.predict_joint_log_proba(x), once.predict_joint_log_proba(x))
        alike(found.log_evidence_, once.log_evidence_)


def test_rows_that_were_never_learnt_cannot_be_forgotten() -> None:
    x, y = rows()
    model = NaiveBayes({(0, 1, 2): JointTable()}).fit(x, y)
    seen = {tuple(row) for row in x[y == 0].tolist()}
    odd = next(cell for cell in CELLS.tolist() if tuple(cell) not in seen)
    with pytest.raises(ValueError, match=r"column \(0, 1, 2\), class 0: 1 rows of levels .* would go, of 0"):
        model.forget([odd], [0])


def test_dask_and_shards_add_up_to_the_whole() -> None:
    x, y = rows()
    whole = NaiveBayes(JointTable()).fit(x, y)
    lazy = NaiveBayes(JointTable()).fit(da.from_array(x, chunks=(17, 3)), da.from_array(y, chunks=17))
    alike(lazy.predict_proba(CELLS), whole.predict_proba(CELLS))
    assert lazy.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)


def test_threads_change_no_digit() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(0, 4, (50_000, 12)), rng.integers(0, 3, 50_000)
    one, many = (NaiveBayes(JointTable(), n_jobs=jobs).fit(x, y) for jobs in (1, 3))
    np.testing.assert_array_equal(one.predict_proba(x), many.predict_proba(x))
    assert one.log_evidence_ == many.log_evidence_


# ---- draws


def test_draws_at_rows_never_seen_have_their_exact_law() -> None:
    x, y = rows()
    model = NaiveBayes(JointTable(0.8)).fit(x, y)
    seen = {tuple(row) for row in x.tolist()}
    never = [cell for cell in CELLS.tolist() if tuple(cell) not in seen][:3]
    new = np.array([*never, [0, 0, 0], [1, np.nan, 2], [np.nan, np.nan, 3], [np.nan] * 3])
    drawn = model.draw_proba(new, 5000, chains=1, rng=2).values[0]
    law = model.predict_interval(new, ci_prob=0.8, rows="fixed")
    share = (drawn < law["upper"].values).mean(axis=0), (drawn < law["lower"].values).mean(axis=0)
    for found, level in zip(share, (0.9, 0.1), strict=True):
        assert (np.abs(found - level) < 5 * np.sqrt(0.09 / 5000)).all()
    assert np.abs(drawn.mean(axis=0) - law["probability"].values).max() < 5 * drawn.std() / np.sqrt(5000)


def test_a_seed_draws_the_same_whatever_other_rows_are_looked_at() -> None:
    x, y = rows()
    model = NaiveBayes(JointTable()).fit(x, y)
    alone, among = model.draw_proba(x[:2], 50, rng=1), model.draw_proba(np.concatenate([x[:2], CELLS]), 50, rng=1)
    np.testing.assert_array_equal(alone.values, among.values[:, :, :2])


def test_generators_that_cannot_spawn_draw_too() -> None:
    x, y = rows()
    model = NaiveBayes(JointTable()).fit(x, y)
    one, two = (model.draw_proba(CELLS, 5, rng=np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)


def test_averaged_draws_at_rows_never_seen_have_the_mean_of_their_law() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, SIZES, (30, 3)), rng.integers(0, 2, 30)
    model = NaiveBayes(JointTable(0.5), average_features=0.5).fit(x, y)
    belief, new = model.model_.posterior.blocks[0], CELLS[~(CELLS[:, None] == x).all(axis=2).any(axis=1)][:3]
    theta = belief.draws(rng, 20_000)
    opened = belief.opened(theta, new, rng)
    logs = opened.log_density(new[:, None, None])[..., 0].reshape(3, -1, 2)
    expected = np.exp(belief.log_predictive(new[:, None, None])[..., 0])
    error = np.exp(logs).std(axis=1) / np.sqrt(20_000)
    assert (np.abs(np.exp(logs).mean(axis=1) - expected) < 5 * error).all()
    common = theta.included[:, 0] == 0
    assert (logs[:, common, 0] == logs[:, common, 1]).all()
    assert (logs[:, ~common, 0] != logs[:, ~common, 1]).all()


def test_a_row_that_may_be_too_many_combinations_cannot_be_drawn_for() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.integers(0, 2, (20, 30)), rng.integers(0, 2, 20)
    model = NaiveBayes(JointTable()).fit(x, y)
    hidden = np.where(np.arange(30) < 20, np.nan, x[:1])
    with pytest.raises(ValueError, match="lacks 20 of the 30 columns of a joint table"):
        model.draw_proba(hidden)
    assert model.predict_interval(hidden).probability.shape == (1, 2)
    assert model.predict_interval(hidden, method="draws", draws=50, rng=1).probability.shape == (1, 2)


@pytest.mark.parametrize("left", [24, 5, 1])
def test_new_rows_have_the_predictive_law_of_all_cells(left: int) -> None:
    """`left` combinations were not seen: few are enumerated, many thrown until one is new."""
    seen = CELLS[left:]
    x = np.concatenate([seen, seen[:4]]) if left < 24 else CELLS[:0]
    seen_stats = JointStats.of(x, bayesnb.families.weight.one_hot(np.zeros(len(x), int), 1), SIZES)
    belief = JointTable(0.7).belief(seen_stats).update(seen_stats)[0]
    thrown = belief.sample(3, 20_000).sample(4)[:, 0]
    counts = np.bincount(single(thrown)[:, 0].astype(int), minlength=24)
    expected = np.exp(belief.log_predictive(CELLS[:, None]))[:, 0]
    assert stats.chisquare(counts, 20_000 * expected).pvalue > 1e-3


def test_rows_of_a_table_that_nobody_could_write_out_are_drawn() -> None:
    rng = np.random.default_rng(10)
    x, y = rng.integers(0, 2, (50, 40)), rng.integers(0, 2, 50)
    X, labels = NaiveBayes(JointTable(1e-12)).fit(x, y).sample(200, rng=1)
    known = {tuple(row) for row in x.tolist()}
    assert X.shape == (200, 40)
    assert len(labels) == 200
    expected = 50 / (50 + 2 * 1e-12 * 2.0**40)
    assert abs(np.mean([tuple(row) in known for row in X.tolist()]) - expected) < 5 * np.sqrt(0.25 / 200)


def test_a_tree_of_draws_has_one_theta_for_its_groups() -> None:
    x, y = rows()
    model = NaiveBayes(JointTable()).fit(x[:20], y[:20])
    tree = model.to_datatree(x, y, draws=200, chains=1, rng=1)
    assert np.isfinite(tree["log_likelihood"]["row"]).all()
    alone = model.to_datatree(draws=200, chains=1, rng=1)
    name = next(name for name in tree["posterior"].data_vars if "theta" in name)
    np.testing.assert_array_equal(tree["posterior"][name], alone["posterior"][name])
    alike(tree["posterior"][name].sum(axis=-1), 1.0)
    assert tree["prior"][name].shape == tree["posterior"][name].shape


# ---- PyMC


def log_density_of(model: pm.Model, **point: np.ndarray) -> float:
    return float(remove_value_transforms(model).compile_logp(jacobian=False, mode="FAST_COMPILE")(point))


@pytest.mark.slow
def test_pymc_has_the_rows_that_were_seen_and_those_of_unknown_labels() -> None:
    x, y = rows()
    cells = np.where(np.arange(ROWS)[:, None] == 7, np.nan, x)
    model = NaiveBayes(JointTable(0.5)).fit(cells, y)
    theta = np.random.default_rng(1).dirichlet(np.ones(24), 2)  # rows of unknown labels hold all combinations
    die = np.array([0.3, 0.7])
    built = mcmc.build(model, cells, y, likelihood="rows", unlabelled=CELLS)
    found = log_density_of(built, **{"class_prob": die, "theta_0,1,2": theta})
    seen = np.arange(ROWS) != 7
    of_rows = np.log(die[y]).sum() + np.log(theta[y[seen], single(x)[seen, 0].astype(int)]).sum()
    of_others = np.log(die @ theta).sum()
    prior = sum(stats.dirichlet(np.full(24, 0.5)).logpdf(own) for own in theta) + stats.dirichlet([1, 1]).logpdf(die)
    assert found == pytest.approx(of_rows + of_others + prior, rel=1e-9)


def test_pymc_learns_the_concentration_by_the_evidence() -> None:
    x, y = rows()
    built = mcmc.build(NaiveBayes(JointTable(0.5)), x, y, hierarchical=True, collapse=True)
    for alpha in (0.2, 3.0):
        evidence = NaiveBayes(JointTable(alpha)).fit(x, y).log_evidence_
        prior = stats.norm(np.log(0.5), 1.5).logpdf(np.log(alpha)) - np.log(alpha)
        assert log_density_of(built, alpha=np.array(alpha)) == pytest.approx(evidence + prior, rel=1e-10)


# ---- what may be said


def test_whatever_is_a_level_of_a_column_is_one_here() -> None:
    frame = pd.DataFrame({"flag": [True, False, True], "size": [1.5, 2.5, 1.5], "name": ["a", None, "b"]})
    model = NaiveBayes(JointTable()).fit(frame, [0, 1, 1])
    assert model.schema_.blocks[0].levels == ((False, True), (1.5, 2.5), ("a", "b"))
    assert model.stats_.blocks[0].combinations.tolist() == [[1, 0, 0], [1, 0, 1]]


def test_levels_that_training_never_saw_follow_the_policy() -> None:
    x, y = [["a", "u"], ["b", "v"], ["b", "u"]], [0, 1, 1]
    ignoring = NaiveBayes(JointTable()).fit(x, y)
    with pytest.warns(UnseenLevelWarning, match="'c'"):
        found = ignoring.predict_proba([["c", "u"]])
    alike(found, ignoring.predict_proba([[None, "u"]]))
    with pytest.raises(ValueError, match="levels that the model does not know: 'c'"):
        NaiveBayes(JointTable(unseen="error")).fit(x, y).predict([["c", "u"]])
    reserve = NaiveBayes(JointTable(unseen="reserve")).fit(x, y)
    assert reserve.stats_.blocks[0].sizes == (3, 3)
    alike(reserve.predict_joint_log_proba([["c", "u"]])[0], np.log([2 / 5 * 1 / 10, 3 / 5 * 1 / 11]))


def test_what_a_concentration_can_be_is_said() -> None:
    x, y = rows()
    assert repr(JointTable(0.5)) == repr(JointTable(Dirichlet(0.5)))
    each = NaiveBayes(JointTable(Dirichlet([0.5, 2.0]))).fit(x, y).prior_[0, 1, 2]
    alike(each.concentration[:, -1], [0.5, 2.0])
    with pytest.raises(ValueError, match=r"shape \(2, 2\).*alike before the data"):
        JointTable(Dirichlet([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match=r"shape \(3,\) is neither a number nor one for each of 2 classes"):
        NaiveBayes(JointTable(Dirichlet([1.0, 1.0, 1.0]))).fit(x, y)
    with pytest.raises(ValueError, match="JointTable: unseen must be"):
        JointTable(unseen="drop")


def test_stats_of_a_table_that_no_rows_make_are_refused() -> None:
    good = JointStats.of(CELLS[:5], bayesnb.families.weight.one_hot(np.zeros(5, int), 1), SIZES)
    good.check()
    for odd in (good.combinations[::-1], good.combinations[[0, 0, 1, 2, 3]], good.combinations + np.uint8(3)):
        with pytest.raises(ValueError, match="combinations of levels are"):
            JointStats(good.counts, odd, SIZES).check()
    with pytest.raises(ValueError, match="never seen have no counts"):
        JointStats(good.counts + 1, good.combinations, SIZES).check()


def test_a_search_over_smoothings_is_scikit_learns() -> None:
    from sklearn.model_selection import GridSearchCV

    x, y = rows()
    grid = {"families": [JointTable(each) for each in (0.1, 1.0, 10.0)]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = GridSearchCV(NaiveBayes(), grid, cv=3, scoring="neg_log_loss").fit(x, y)
    assert found.best_params_["families"] in grid["families"]
