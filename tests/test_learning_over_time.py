"""Learning over time is the algebra of stats: merging, forgetting and fading equal a fit from scratch.

The oracle is always `fit` on the rows that should be known, with the weights that they should have.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    UnseenLevelWarning,
)
from bayesnb.families.normal_inverse_gamma import GaussianStats
from bayesnb.families.weight import one_hot
from tests.conftest import CLASSES, Case, names, same

Array = np.ndarray
PRIOR = NormalInverseGamma(mean=0.5, count=0.3, shape=1.5, scale=2.0)
ROWS, LABELS = 60, ["alder", "birch", "elm", "oak"]  # no row is an elm
RNG = np.random.default_rng(20261122)
Y = np.array(LABELS)[RNG.choice([0, 1, 3], ROWS)]
WEIGHT = RNG.integers(1, 4, ROWS) / 4
CODES = RNG.integers(0, 4, (ROWS, 3))
COUNTS = RNG.poisson([0.5, 3.0, 20.0], (ROWS, 3))
FLAGS = (RNG.random((ROWS, 3)) < 0.4).astype(float)
REAL = RNG.normal([0, 1, 2], [1, 2, 0.5], (ROWS, 3))


def _mixed() -> pd.DataFrame:
    frame = pd.DataFrame(REAL[:, :2], columns=["height", "girth"])
    frame["evergreen"] = pd.array(FLAGS[:, 0] > 0, "boolean")
    frame["bark"] = np.array(["rough", "smooth", "peeling", "burnt"], dtype=object)[CODES[:, 0]]
    frame["soil"] = CODES[:, 1]
    frame["nests"] = COUNTS[:, 0].astype(float)
    frame[["leaves", "twigs"]] = COUNTS[:, 1:]
    for place, column in enumerate(["height", "girth", "evergreen", "bark", "nests"]):
        frame.loc[place::7, column] = None
    return frame


FRAME = _mixed()
FAMILIES: dict[Any, Any] = {
    ("height", "girth"): Gaussian(PRIOR),
    "evergreen": Bernoulli(0.7),
    "bark": Categorical(0.5, levels=["burnt", "peeling", "rough", "smooth"]),
    "soil": Categorical(levels=[0, 1, 2], unseen="reserve"),
    "nests": Poisson(Gamma(1, 2)),
    ("leaves", "twigs"): Multinomial(Dirichlet([0.5, 2.0])),
}
TASKS: dict[str, tuple[Any, Any]] = {
    "mixed": (NaiveBayes(FAMILIES, classes=LABELS), FRAME),
    "empirical": (NaiveBayes(FAMILIES, classes=LABELS, class_prior="empirical"), FRAME),
    "gaussian": (GaussianNB(prior=PRIOR, classes=LABELS), np.where(CODES == 3, np.nan, REAL)),
    "mle": (GaussianNB(prior=PRIOR, estimate="mle", classes=LABELS, class_prior="empirical"), REAL),
    "bernoulli": (BernoulliNB(alpha=0.3, classes=LABELS), np.where(CODES == 3, np.nan, FLAGS)),
    "multinomial": (MultinomialNB(classes=LABELS), sparse.csr_array(COUNTS.astype(float))),
    "tf-idf": (MultinomialNB(classes=LABELS), COUNTS * 0.3),
    "categorical": (CategoricalNB(min_categories=4, classes=LABELS), np.where(CODES == 2, np.nan, CODES)),
    "poisson": (PoissonNB(prior=Gamma(1, 2), classes=LABELS), np.where(CODES == 3, np.nan, COUNTS)),
    "averaged": (NaiveBayes(FAMILIES, classes=LABELS, average_features=0.5), FRAME),
}
EVERY = pytest.mark.parametrize("task", TASKS)
FADING = pytest.mark.parametrize("task", [name for name in TASKS if name != "averaged"])
FIRST, LAST = np.arange(ROWS) < 25, np.arange(ROWS) >= 25


def taken(table: Any, rows: Any) -> Any:
    return table[rows] if not isinstance(table, pd.DataFrame) else table.iloc[np.flatnonzero(rows)]


def fitted(task: str, rows: Array, weight: Array | None = None) -> Any:
    estimator, table = TASKS[task]
    if rows.dtype != bool:
        rows = np.isin(np.arange(ROWS), rows)
    return clone(estimator).fit(taken(table, rows), Y[rows], None if weight is None else weight[rows])


def state(model: Any) -> list[Array]:
    """Copies of all that predictions are made of."""
    joint = (model.model_.prior, model.stats_, model.model_.posterior)
    records = [record for part in joint for record in (part.classes, *part.blocks)]
    plain = [getattr(record, "separate", record) for record in records]
    arrays = [getattr(record, name) for record in plain for name in names(record)]
    return [np.array(array) for array in arrays if isinstance(array, np.ndarray)]


def agree(model: Any, oracle: Any, table: Any, rtol: float = 1e-10) -> None:
    """The same numbers everywhere. Sums were taken in other orders: 1e-10 is a million roundings."""
    assert_array_equal(model.classes_, oracle.classes_)
    for mine, its in zip(state(model), state(oracle), strict=True):
        assert_allclose(mine, its, rtol=rtol, atol=rtol)
    assert model.model_.integer_weights == oracle.model_.integer_weights
    try:
        expected = oracle.predict_log_proba(table)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20].replace("(", ".")):
            model.predict_log_proba(table)
    else:
        assert_allclose(model.predict_log_proba(table), expected, rtol=rtol, atol=rtol)
    if oracle.class_prior_.strictly_proper:
        assert model.log_evidence_ == pytest.approx(oracle.log_evidence_, rel=rtol, abs=rtol)


def refuses(call: Callable[[], Any], model: Any, match: str) -> None:
    """The call is an error that says so, and leaves the model as it was, to the last bit."""
    before, numbers = dict(vars(model)), state(model)
    with pytest.raises(ValueError, match=match):
        call()
    assert vars(model) == before
    assert all(vars(model)[name] is value for name, value in before.items())
    for was, now in zip(numbers, state(model), strict=True):
        assert_array_equal(now, was)


# The stats of every family


def test_what_stays_of_stats_are_those_of_the_rows_that_stay(case: Case) -> None:
    first, last = slice(None, 15), slice(15, None)
    total = case.stats()
    most = np.bincount(case.codes, case.weight, CLASSES)
    stays = most - np.bincount(case.codes[last], case.weight[last], CLASSES)
    assert not total.faults(case.stats(last), stays == 0).any()
    same(total.remains(case.stats(last), 1e-12), case.stats(first), rtol=1e-11, atol=1e-11)


def test_nothing_stays_of_stats_whose_rows_are_all_gone(case: Case) -> None:
    order, none = np.random.default_rng(0).permutation(len(case.x)), np.full(CLASSES, True)
    total, part = case.stats(), case.stats(order[:7]) + case.stats(order[7:])
    assert not total.faults(part, none).any()
    rest = total.remains(part, 1e-12)
    for name in names(rest):
        if name not in rest.layout:
            assert_array_equal(getattr(rest, name), 0 * getattr(rest, name), err_msg=name)


def test_rows_that_count_more_than_they_were_learnt_are_noticed(case: Case) -> None:
    every = np.full(CLASSES, False)
    for part in (case.stats(slice(3, 9), 6.0), 1.001 * case.stats()):
        odd = case.stats(slice(2, 9)).faults(part, every)
        assert odd[:2].any(axis=1).all()
        assert not odd[2].any()  # the class without rows


def test_no_events_stay_without_rows() -> None:
    model = PoissonNB(prior=Gamma(1, 1)).fit([[3.0], [np.nan], [1.0]], [0, 0, 1])
    refuses(lambda: model.forget([[1.0], [np.nan]], [0, 0]), model, r"column 0, class 0: .* cannot come from any rows")
    refuses(lambda: model.forget([[2.0]], [0]), model, r"column 0, class 0: .* cannot come from any rows")


def test_rounding_leaves_nothing_where_nothing_is_left_and_one_row_of_many_where_it_is() -> None:
    x, y = [[1.0], [1.0], [5.0]], [0, 0, 1]
    for preset in (
        BernoulliNB(binarize=2.0),
        MultinomialNB(),
        CategoricalNB(),
        PoissonNB(prior=Gamma(1, 1)),
        GaussianNB(),
    ):
        model = clone(preset).fit(x, y, sample_weight=[0.1, 0.2, 1.0]).forget(x[:1], y[:1], [0.3])
        assert model.stats_.classes.counts.tolist() == [0.0, 1.0]
        for stats in model.stats_.blocks:
            assert all(not getattr(stats, name)[0].any() for name in names(stats) if name not in stats.layout)
        model = clone(preset).fit(x, y, sample_weight=[1e10, 1.0, 1.0]).forget(x[:1], y[:1], [1e10])
        again = clone(preset).fit(x[1:], y[1:])
        assert model.stats_.classes.counts.tolist() == [1.0, 1.0]
        for mine, its in zip(model.stats_.blocks, again.stats_.blocks, strict=True):
            same(mine, its, rtol=0, atol=0)  # logs of factorials of ones are zeros
        with pytest.raises(ValueError, match=r"class 0: 2 rows, by weight, would go, and it has 1\."):
            model.forget(x[:1], y[:1], [2.0])


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_tenth_of_a_row_so_often_that_sums_are_off_leaves_nothing(pieces: int) -> None:
    """0.1 added up 200,000 times is 20000.000000028: the sums of parts add up to another number."""
    n = 200_000
    x, y, w = np.stack([np.arange(n) % 2, np.arange(n) > 2], axis=1).astype(float), np.zeros(n), np.full(n, 0.1)
    for preset in (BernoulliNB(), PoissonNB(prior=Gamma(1, 1)), CategoricalNB(), GaussianNB(prior=PRIOR)):
        model = clone(preset).fit(x, y, w)
        for rows in np.array_split(np.random.default_rng(0).permutation(n), pieces):
            model.forget(x[rows], y[rows], w[rows])
        assert not any(array.any() for array in arrays_of(model.stats_.blocks[0]))
        assert model.stats_.classes.counts.tolist() == [0.0]
    half = BernoulliNB().fit([[1], [0]], [0, 0], sample_weight=[1e10, 0.5]).forget([[1]], [0], [1e10])
    assert half.stats_.blocks[0].zeros.tolist() == [[0.5]]


def test_more_whole_rows_than_there_are_are_noticed_to_the_last_of_1e12() -> None:
    model = BernoulliNB().fit([[1], [0], [1]], [0, 0, 1], sample_weight=[1e12, 1.0, 1e12])
    refuses(lambda: model.forget([[0]], [0], [2.0]), model, r"column 0, class 0: 2 zeros would go, of 1\.")
    refuses(lambda: model.forget([[1]], [1], [1e12 + 1]), model, "class 1")
    assert model.forget([[0]], [0]).stats_.blocks[0].zeros.tolist() == [[0.0], [0.0]]


# Merging


@EVERY
def test_two_merged_models_have_seen_both_tables(task: str) -> None:
    table, weight = TASKS[task][1], None if task == "averaged" else WEIGHT
    every = np.full(ROWS, True)
    agree(fitted(task, FIRST, weight).merge(fitted(task, LAST, weight)), fitted(task, every, weight), table)


@EVERY
def test_merging_commutes_and_associates(task: str) -> None:
    third = np.arange(ROWS) % 3
    a, b, c = (fitted(task, third == part) for part in range(3))
    agree(a.merge(b), b.merge(a), TASKS[task][1], rtol=1e-12)
    agree(a.merge(b).merge(c), a.merge(b.merge(c)), TASKS[task][1], rtol=1e-12)
    agree(c.merge(a).merge(b), fitted(task, np.full(ROWS, True)), TASKS[task][1], rtol=1e-12)


def test_merging_checks_parameters_that_were_set_since_as_learning_does() -> None:
    model = BernoulliNB().fit(FLAGS, Y).set_params(temper=-1)
    with pytest.raises(ValueError, match="temper must be"):
        model.merge(BernoulliNB().fit(FLAGS, Y))


def test_merging_leaves_both_models_as_they_were() -> None:
    a, b = fitted("mixed", FIRST), fitted("mixed", LAST)
    before = state(a), state(b), dict(vars(a)), dict(vars(b))
    merged = a.merge(b)
    merged.decay(0.5).partial_fit(FRAME[:3], Y[:3])
    for was, now in zip((*before[0], *before[1]), (*state(a), *state(b)), strict=True):
        assert_array_equal(now, was)
    assert (vars(a), vars(b)) == before[2:]
    assert merged is not a
    assert merged.get_params()["classes"] == LABELS


def test_merged_models_know_the_labels_and_levels_of_both() -> None:
    x = np.array([["a"], ["c"], ["b"], ["d"], ["c"], ["a"]], dtype=object)
    y = np.array(["x", "y", "y", "z", "longer", "z"])
    parts = [NaiveBayes("categorical").fit(x[rows], y[rows]) for rows in (slice(0, 3), slice(3, 4), slice(4, 6))]
    whole = NaiveBayes("categorical").fit(x, y)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        merged = parts[order[0]].merge(parts[order[1]]).merge(parts[order[2]])
        agree(merged, whole, x, rtol=1e-13)
        assert merged.schema_.blocks[0].levels == (("a", "b", "c", "d"),)


def test_a_prior_on_the_scale_of_the_data_stays_that_of_the_first() -> None:
    a, b = GaussianNB().fit(REAL[FIRST], Y[FIRST]), GaussianNB().fit(5 * REAL[LAST], Y[LAST])
    merged, streamed = a.merge(b), copy.copy(a).partial_fit(5 * REAL[LAST], Y[LAST])
    agree(merged, streamed, REAL)
    for name in ("location", "scale"):
        assert_array_equal(getattr(merged.prior_[1], name), getattr(a.prior_[1], name))


def test_an_exponent_that_was_found_stays_that_of_the_first() -> None:
    a, b = (GaussianNB(prior=PRIOR, temper="loo").fit(REAL[rows], Y[rows]) for rows in (FIRST, LAST))
    assert a.merge(b).temper_ == a.temper_ != b.temper_
    found = a.temper_
    assert a.forget(REAL[:5], Y[:5]).decay(0.9).temper_ == found


def test_parts_with_a_fraction_of_a_row_make_a_whole_that_is_none() -> None:
    a, b = NaiveBayes(Bernoulli()).fit(FLAGS, Y), NaiveBayes(Bernoulli()).fit(FLAGS, Y, np.full(ROWS, 0.5))
    assert (a.merge(a).model_.integer_weights, a.merge(b).model_.integer_weights) == (True, False)
    averaged = NaiveBayes(Bernoulli(), average_features=0.5).fit(FLAGS, Y)
    refuses(lambda: averaged.merge(b), averaged, "needs whole numbers")


WRONG_MERGES: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "another family": (
        NaiveBayes(Gaussian(PRIOR)).fit(COUNTS, Y),
        NaiveBayes(Poisson(Gamma(1, 1))).fit(COUNTS, Y),
        ValueError,
        r"column 0 is Gaussian\(.*in one part and Poisson\(",
    ),
    "another prior": (
        NaiveBayes({"bark": Categorical(0.5)}).fit(FRAME[["soil", "bark"]], Y),
        NaiveBayes({"bark": Categorical(0.6)}).fit(FRAME[["soil", "bark"]], Y),
        ValueError,
        "column 'bark' is Categorical.*0.5.*0.6",
    ),
    "another column": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes().fit(FRAME[["height", "nests"]], Y),
        ValueError,
        "only one part has 'girth'; only another has 'nests'",
    ),
    "another order": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes().fit(FRAME[["girth", "height"]], Y),
        ValueError,
        "their order is 'height', 'girth' in one part",
    ),
    "a table without names": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes().fit(FRAME[["height", "girth"]].to_numpy(), Y),
        ValueError,
        "the columns of two parts differ",
    ),
    "another container": (
        NaiveBayes().fit(COUNTS, Y),
        NaiveBayes().fit(sparse.csr_array(COUNTS), Y),
        ValueError,
        r"column 0 is PolyaTree\(\) in one part and Multinomial",
    ),
    "a column dropped": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes({"girth": None}).fit(FRAME[["height", "girth"]], Y),
        ValueError,
        r"column 'girth' is PolyaTree\(\) in one part and dropped in another",
    ),
    "other labels": (
        BernoulliNB().fit(FLAGS, Y),
        BernoulliNB().fit(FLAGS, CODES[:, 0]),
        ValueError,
        "labels are text in one part and numbers in another: 'alder', 'birch', 'oak' and 0, 1",
    ),
    "other types of levels": (
        NaiveBayes(Categorical()).fit(CODES, Y),
        NaiveBayes(Categorical()).fit(CODES.astype(str), Y),
        ValueError,
        "column 0 mixes levels of the types int, str",
    ),
    "another class": (
        BernoulliNB().fit(FLAGS, Y),
        NaiveBayes(Bernoulli()).fit(FLAGS, Y),
        TypeError,
        "BernoulliNB.*NaiveBayes",
    ),
    "not fitted": (BernoulliNB().fit(FLAGS, Y), BernoulliNB(), ValueError, "the other BernoulliNB is not fitted"),
    "no estimator": (
        BernoulliNB().fit(FLAGS, Y),
        "model",
        TypeError,
        "merge: expected an estimator of bayesnb.*'model'",
    ),
    "a pipeline": (
        BernoulliNB().fit(FLAGS, Y),
        make_pipeline(BernoulliNB()),
        TypeError,
        r"Use the last step of the pipeline",
    ),
}


@pytest.mark.parametrize("what", WRONG_MERGES)
def test_models_that_do_not_fit_together_are_refused(what: str) -> None:
    a, b, error, match = WRONG_MERGES[what]
    with pytest.raises(error, match=match):
        a.merge(b)


def test_a_prior_for_each_class_says_nothing_about_the_classes_of_another() -> None:
    per_class = NormalInverseGamma(mean=[[0.0], [1.0]], count=1, shape=1, scale=1)
    a, b = (GaussianNB(prior=per_class).fit([[1.0], [2.0]], y) for y in (["x", "y"], ["x", "z"]))
    with pytest.raises(ValueError, match="column 0: its prior is not the same for all classes"):
        a.merge(b)
    whole = GaussianNB(prior=per_class).fit([[1.0], [2.0]] * 2, ["x", "y"] * 2)
    agree(a.merge(a), whole, [[1.0]], rtol=1e-13)


# Forgetting


@EVERY
def test_a_model_without_some_rows_is_the_one_that_never_saw_them(task: str) -> None:
    table, weight = TASKS[task][1], None if task in ("averaged", "mle") else WEIGHT
    every = np.full(ROWS, True)
    for gone in (LAST, np.arange(ROWS) == 11, Y == "oak"):
        own = None if weight is None else weight[gone]
        model = fitted(task, every, weight).forget(taken(table, gone), Y[gone], own)
        agree(model, fitted(task, ~gone, weight), table)


@pytest.mark.parametrize("task", [name for name in TASKS if name not in ("empirical", "mle")])
def test_a_model_that_has_forgotten_all_believes_its_prior(task: str) -> None:
    table, weight = TASKS[task][1], None if task == "averaged" else WEIGHT / 3
    model = fitted(task, np.full(ROWS, True), weight)
    third = np.random.default_rng(2).integers(0, 3, ROWS)
    for rows in (third == part for part in range(3)):
        model.forget(taken(table, rows), Y[rows], None if weight is None else weight[rows])
    assert not any(array.any() for stats in (model.stats_.classes, *model.stats_.blocks) for array in arrays_of(stats))
    assert model.log_evidence_ == 0.0
    for before, after in zip(model.prior_.values(), model.posterior_.values(), strict=True):
        for name in names(before):
            if isinstance(getattr(before, name), np.ndarray):
                assert_array_equal(getattr(after, name), getattr(before, name))


def arrays_of(record: Any) -> list[Array]:
    return [getattr(record, name) for name in names(record) if name not in record.layout]


def test_class_shares_that_were_counted_are_counted_again_and_need_a_row() -> None:
    model = fitted("empirical", np.full(ROWS, True)).forget(taken(FRAME, Y == "oak"), Y[Y == "oak"])
    assert_allclose(model.class_prior_.mean(), [np.mean(Y[Y != "oak"] == label) for label in LABELS])
    rest = Y != "oak"
    refuses(lambda: model.forget(taken(FRAME, rest), Y[rest]), model, "no row is left")


WRONG_ROWS: dict[str, tuple[dict[str, Any], str | None, Any, str]] = {
    "a label that never came": ({}, "ash", None, r"labels \['ash'\] .* They were never learnt"),
    "a class without rows": ({}, "elm", None, "class 'elm': 1 rows, by weight, would go, and it has 0"),
    "a level that never came": ({"bark": "velvet"}, None, None, "column 'bark' has levels .*'velvet'.* never learnt"),
    "more weight than there is": ({}, None, 200.0, "class 'alder': 200 rows"),
    "another number": ({"height": 40.0}, None, None, "column 'height', class 'alder'.* cannot come from any rows"),
    "a count that is too large": (
        {"leaves": 4000},
        None,
        None,
        r"column 'leaves', class 'alder': 4000 counts would go",
    ),
    "a missing weight of words": ({"leaves": np.nan}, None, None, "column 'leaves'"),
    "an infinite number": ({"height": np.inf}, None, None, "column 'height'"),
}


@pytest.mark.parametrize("what", WRONG_ROWS)
def test_forgetting_what_was_never_learnt_is_an_error_that_changes_nothing(what: str) -> None:
    cells, label, weight, match = WRONG_ROWS[what]
    families = {**FAMILIES, "bark": Categorical(levels=["burnt", "peeling", "rough", "smooth"], unseen="error")}
    model = NaiveBayes(families, classes=LABELS).fit(FRAME, Y)
    row = FRAME[Y == "alder"].iloc[[1]].assign(**cells)
    refuses(lambda: model.forget(row, [label or "alder"], None if weight is None else [weight]), model, match)


def test_forgetting_rows_of_other_tables_is_an_error_that_changes_nothing() -> None:
    model = NaiveBayes(FAMILIES).fit(FRAME, Y)
    refuses(lambda: model.forget(FRAME.drop(columns="soil"), Y), model, "soil")
    refuses(lambda: model.forget(FRAME[FRAME.columns[::-1]], Y), model, "order")
    refuses(lambda: model.forget(FRAME, Y[:5]), model, "inconsistent")
    refuses(lambda: model.forget(FRAME[:0], Y[:0]), model, "0 sample")
    refuses(lambda: model.forget(FRAME[:2], Y[:2], [0, 0]), model, "zero for all rows")
    refuses(lambda: model.forget(FRAME[:2], Y[:2], [1, -1]), model, "not negative")
    plain = GaussianNB().fit(REAL, Y)
    refuses(lambda: plain.forget(REAL[:, :2], Y), plain, "3 features")
    with pytest.raises(ValueError, match="not fitted"):
        GaussianNB().forget(REAL, Y)


def test_cells_that_were_missing_cannot_be_more_than_rows() -> None:
    model = BernoulliNB().fit([[1.0], [0.0], [np.nan], [1.0]], [0, 0, 0, 1])
    refuses(
        lambda: model.forget([[np.nan], [np.nan]], [0, 0]), model, "column 0, class 0: 2 cells would stay, of 1 rows"
    )
    agree(model.forget([[np.nan]], [0]), BernoulliNB().fit([[1.0], [0.0], [1.0]], [0, 0, 1]), [[1.0]], rtol=0)


def test_a_single_row_that_stays_has_no_spread() -> None:
    model = GaussianNB(prior=PRIOR).fit([[1.1], [2.3], [7.7], [0.0]], [0, 0, 0, 1])
    refuses(lambda: model.forget([[1.1], [2.4]], [0, 0]), model, "column 0, class 0")
    rest = model.forget([[1.1], [2.3]], [0, 0]).stats_.blocks[0]
    assert (rest.count[0, 0], rest.ssd[0, 0]) == (1.0, 0.0)
    assert rest.mean[0, 0] == pytest.approx(7.7, rel=1e-15)


def test_a_constant_column_stays_exactly_that() -> None:
    model = GaussianNB(prior=NormalInverseGamma(0, 0, -0.5, 0)).fit([[0.1]] * 7 + [[5.0], [6.0]], [0] * 7 + [1, 1])
    rest = model.forget([[0.1]] * 4, [0] * 4).stats_.blocks[0]
    assert (rest.count[0, 0], rest.mean[0, 0], rest.ssd[0, 0]) == (3.0, 0.1, 0.0)


def test_declared_levels_leave_others_out_or_in_reserve_and_so_does_forgetting() -> None:
    x, y = np.array([["a"], ["z"], ["b"], ["z"], ["a"]], dtype=object), [0, 0, 1, 1, 1]
    for unseen in ("ignore", "reserve"):
        model = NaiveBayes(Categorical(levels=["a", "b"], unseen=unseen))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)
            whole, some = clone(model).fit(x, y), clone(model).fit(x[[0, 2, 3, 4]], [0, 1, 1, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            agree(whole.forget(x[[1]], [0]), some, x[:1], rtol=0)
    refuses(lambda: some.forget(x[[1]], [0]), some, "class 0: 1 counts of levels that are not declared would go, of 0")
    learnt = NaiveBayes(Categorical(unseen="reserve")).fit(x, y)
    refuses(lambda: learnt.forget([["q"]], [0]), learnt, "'q'.* never learnt")
    codes = CategoricalNB().fit(CODES, Y)
    refuses(lambda: codes.forget([[1, 2, 9]], [Y[0]]), codes, "column 2 .* 9 .*never learnt")


def test_an_average_over_features_forgets_whole_rows_only() -> None:
    model = fitted("averaged", np.full(ROWS, True))
    refuses(lambda: model.forget(FRAME[:2], Y[:2], [0.5, 0.5]), model, "needs whole numbers")


OUTLIERS = {
    "an outlier": (np.r_[REAL[:20, 0], 1e9], [20], 1.0),
    "most of a class that is far out": (1e8 + np.arange(20.0) % 3, range(17), 1.0),
    "all but a millionth of one": (1e4 + REAL[:10, 0], [0], 1e7),
}


@pytest.mark.parametrize("what", OUTLIERS)
def test_rows_that_leave_too_few_digits_are_refused(what: str) -> None:
    x, gone, weight = OUTLIERS[what]
    w, rows, y = np.ones(len(x)), list(gone), np.zeros(len(x))
    w[rows] = weight
    model = GaussianNB(prior=NormalInverseGamma(np.median(x), 1, 1, 1)).fit(x[:, None], y, sample_weight=w)
    few = model.posterior_[0].count[0]
    refuses(lambda: model.forget(x[rows, None], y[rows], w[rows]), model, r"column 0, class 0\.0: .*rounding errors")
    assert model.forget(x[[0], None], y[:1], w[[0]] / 64).posterior_[0].count[0] == few - w[0] / 64  # a little can go


def test_an_outlier_is_no_harm_to_a_prior_of_its_own_scale() -> None:
    x, y = np.r_[REAL[:20, 0], 1e9][:, None], np.zeros(21)
    model = GaussianNB().fit(x, y).forget(x[20:], y[20:])
    prior = model.model_.prior.blocks[0]
    given = NormalInverseGamma(*(getattr(prior, name) for name in names(prior)))
    again = GaussianNB(prior=given).fit(x[:20], y[:20])
    for name in names(prior):
        assert_allclose(getattr(model.posterior_[0], name), getattr(again.posterior_[0], name), rtol=1e-8)
    plugged = GaussianNB(estimate="mle").fit(x, y)
    refuses(lambda: plugged.forget(x[20:], y[20:]), plugged, "rounding errors")


def test_the_bound_of_what_subtraction_loses_holds() -> None:
    """Against extended precision, whose 64 bits are as good as exact here; batches err a few times as much."""
    if np.finfo(np.longdouble).eps > 2e-19:
        pytest.skip("no extended precision on this machine")
    rng, tightest = np.random.default_rng(5), 0.0
    for _ in range(300):
        n, far, spread = int(rng.integers(3, 200)), 10 ** rng.uniform(-2, 8), 10 ** rng.uniform(0, 9)
        k = int(rng.integers(1, n))
        x, w = rng.normal(far, 1, n), rng.uniform(0.1, 3, n)
        x[:k] += spread * rng.normal(size=k)
        total, part = (GaussianStats.of(x[:m, None], one_hot(np.zeros(m, int), 1, w[:m])) for m in (n, k))
        rest = total - part
        slip = total.slip(part, rest)
        y, v = x[k:].astype(np.longdouble), w[k:].astype(np.longdouble)
        mean = (v * y).sum() / v.sum()
        ssd = (v * (y - mean) ** 2).sum()
        own = np.spacing(abs(float(mean)))  # its last digit
        off = abs(rest.mean[0, 0] - mean) / (slip.mean[0, 0] + own), abs(rest.ssd[0, 0] - ssd) / slip.ssd[0, 0]
        assert max(off) < 1
        tightest = max(tightest, *map(float, off))
    assert tightest > 0.05  # the bound is not idle


# Fading


@FADING
def test_fading_is_a_fit_with_weights_that_fade_with_age(task: str) -> None:
    estimator, table = TASKS[task]
    factor, ages = 0.8, np.repeat([3, 2, 1, 0], 15)
    model = clone(estimator)
    for age in (3, 2, 1, 0):
        rows = ages == age
        model.partial_fit(taken(table, rows), Y[rows], sample_weight=WEIGHT[rows])
        if age:
            model.decay(factor)
    agree(model, fitted(task, np.full(ROWS, True), WEIGHT * factor**ages), table)


@pytest.mark.parametrize("factor", [0, -0.5, 1.1, np.nan, np.inf, "half", None, [0.5]])
def test_factors_that_are_none_are_refused(factor: Any) -> None:
    model = fitted("mixed", FIRST)
    refuses(lambda: model.decay(factor), model, "above 0, and at most 1, got")


def test_what_fades_is_no_number_of_rows_any_more() -> None:
    assert fitted("mixed", FIRST).decay(1).model_.integer_weights
    assert not fitted("mixed", FIRST).decay(0.5).model_.integer_weights
    averaged = fitted("averaged", FIRST)
    refuses(lambda: averaged.decay(0.5), averaged, "needs whole numbers")
    agree(averaged.decay(1.0), fitted("averaged", FIRST), FRAME, rtol=0)


def test_what_has_faded_away_leaves_the_prior() -> None:
    model = fitted("mixed", FIRST)
    for _ in range(3):
        model.decay(1e-200)
    assert not model.stats_.classes.counts.any()
    for before, after in zip(model.prior_.values(), model.posterior_.values(), strict=True):
        for name in set(names(before)) - {*before.layout}:
            assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-15)
    agree(model.partial_fit(FRAME[FIRST], Y[FIRST], sample_weight=WEIGHT[FIRST]), fitted("mixed", FIRST, WEIGHT), FRAME)


def test_rows_of_another_age_are_forgotten_with_the_weight_they_faded_to() -> None:
    model = fitted("mixed", FIRST).decay(0.7).partial_fit(FRAME[LAST], Y[LAST])
    model.forget(FRAME[FIRST], Y[FIRST], np.full(FIRST.sum(), 0.7))
    expected = fitted("mixed", LAST)
    assert not model.model_.integer_weights
    for mine, its in zip(state(model), state(expected), strict=True):
        assert_allclose(mine, its, rtol=1e-10, atol=1e-12)


# Levels that come later

LEVELS = np.array([["a"], ["c"], ["b"], ["b"], ["e"], ["d"], ["a"], ["e"]], dtype=object)
SIDES = np.array([0, 1, 0, 1, 1, 0, 1, 0])


def _frames(kind: str) -> list[Any]:
    """Batches of one column of levels, each with its own idea of the levels that there are."""
    parts = [LEVELS[:3, 0], LEVELS[3:5, 0], LEVELS[5:, 0]]
    if kind == "object":
        return [part[:, None] for part in parts]
    if kind == "pandas":
        return [pd.DataFrame({"x": pd.Categorical(part, sorted(set(part)))}) for part in parts]
    if kind == "polars":
        return [pl.DataFrame({"x": pl.Series(part, dtype=pl.Enum(sorted(set(part))))}) for part in parts]
    return [pd.DataFrame({"x": pd.array(part, "string")}) for part in parts]


@pytest.mark.parametrize("kind", ["object", "pandas", "polars", "text"])
@pytest.mark.parametrize("unseen", ["ignore", "error", "reserve"])
def test_levels_that_come_later_are_learnt_and_the_reserved_one_stays_last(kind: str, unseen: str) -> None:
    parts, ends = _frames(kind), [SIDES[:3], SIDES[3:5], SIDES[5:]]
    family = Categorical(0.5, unseen=unseen)
    streamed, merged = NaiveBayes(family, classes=[0, 1]), None
    for x, y in zip(parts, ends, strict=True):
        streamed.partial_fit(x, y)
        one = NaiveBayes(family, classes=[0, 1]).fit(x, y)
        merged = one if merged is None else merged.merge(one)
    for model in (streamed, merged):
        levels = model.schema_.blocks[0].levels[0]
        assert set(levels) == set("abcde")
        assert len(levels) == 5
        counts = model.stats_.blocks[0].counts
        assert counts.shape == (2, 5 + (unseen == "reserve"))
        for place, level in enumerate(levels):
            for c in (0, 1):
                assert counts[c, place] == ((LEVELS[:, 0] == level) & (c == SIDES)).sum()
        if unseen == "reserve":
            assert_array_equal(counts[:, -1], [0, 0])
        again = NaiveBayes(Categorical(0.5)).fit(LEVELS, SIDES)  # without a reserve
        if unseen != "reserve":
            expected = again.predict_proba(LEVELS[:3])
            assert_allclose(model.predict_proba(parts[0]), expected, rtol=1e-14)


@pytest.mark.parametrize("more", ["partial_fit", "merge"])
def test_declared_levels_stay_as_they_are_declared(more: str) -> None:
    for unseen in ("ignore", "reserve", "error"):
        model = NaiveBayes(Categorical(levels=["b", "a"], unseen=unseen), classes=[0, 1])
        first, last = (LEVELS[[0, 2]], SIDES[[0, 2]]), (LEVELS[[3, 4, 5]], SIDES[[3, 4, 5]])
        model.fit(*first)
        if unseen == "error":
            refuses(lambda model=model, last=last: model.partial_fit(*last), model, "column 0 has levels .*'e' .*'d' ")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if unseen == "ignore" else "error", UnseenLevelWarning)
            after = model.partial_fit(*last) if more == "partial_fit" else model.merge(clone(model).fit(*last))
            whole = clone(model).fit(np.concatenate([first[0], last[0]]), np.concatenate([first[1], last[1]]))
        assert after.schema_.blocks[0].levels == (("b", "a"),)
        agree(after, whole, LEVELS[:1], rtol=0)
        counts = after.stats_.blocks[0].counts
        assert counts.tolist() == (
            [[1.0, 1.0], [1.0, 0.0]] if unseen == "ignore" else [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
        )


def test_a_reserved_level_that_holds_counts_keeps_them_when_others_come() -> None:
    """Its counts came as reserve of the levels then known; they are where the reserve is afterwards, at the end."""
    from bayesnb.families.categorical import CategoricalStats

    stats = CategoricalStats(np.array([[1.0, 2.0, 7.0, 4.0, 9.0]]), (3, 2))  # a c +; u +
    wider = stats.relevelled((5, 3), np.array([0, 2, 4, 6, 7]))  # a b c d +; t u +
    assert wider.counts.tolist() == [[1.0, 0.0, 2.0, 0.0, 7.0, 0.0, 4.0, 9.0]]


def test_codes_that_come_later_make_room_for_those_between() -> None:
    parts = [[[0], [2]], [[5], [1]], [[np.nan], [0]]]
    streamed, merged = CategoricalNB(classes=[0, 1]), None
    for x in parts:
        streamed.partial_fit(x, [0, 1])
        one = CategoricalNB(classes=[0, 1]).fit(x, [0, 1])
        merged = one if merged is None else merged.merge(one)
    whole = CategoricalNB().fit([row for part in parts for row in part], [0, 1] * 3)
    for model in (streamed, merged):
        assert [list(levels) for levels in model.schema_.blocks[0].levels] == [[*range(6)]]
        agree(model, whole, [[0], [5], [3]], rtol=1e-14)


def test_a_column_whose_cells_are_all_missing_at_first_learns_its_levels_later() -> None:
    missing, there = [[None], [None]], [["a"], ["b"]]
    for unseen, size in (("ignore", 2), ("reserve", 3)):
        model = NaiveBayes(Categorical(unseen=unseen), classes=[0, 1])
        late = clone(model).fit(missing, [0, 1]).partial_fit(there, [0, 1])
        for found in (late, clone(model).fit(missing, [0, 1]).merge(clone(model).fit(there, [0, 1]))):
            assert found.stats_.blocks[0].counts.shape == (2, size)
            agree(found, clone(model).fit([*missing, *there], [0, 1] * 2), there, rtol=1e-14)


# Classes that come later

GROWING: dict[str, tuple[Any, Any]] = {
    name: (clone(TASKS[name][0]).set_params(classes=None), TASKS[name][1]) for name in TASKS
}


@pytest.mark.parametrize("task", GROWING)
def test_classes_that_come_later_are_as_good_as_early_ones(task: str) -> None:
    estimator, table = GROWING[task]
    order = np.argsort(Y[::-1] == "oak", kind="stable")  # oaks come last
    batches, model = np.array_split(order, 5), clone(estimator)
    for rows in batches:
        model.partial_fit(taken_in(table, rows), Y[rows], grow_classes=True)
    agree(model, clone(estimator).fit(taken_in(table, order), Y[order]), table)


def taken_in(table: Any, rows: Array) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]


LABEL_KINDS: dict[str, tuple[Any, Any, list[Any]]] = {
    "wider text": (np.array(["a", "b"]), np.array(["longer"]), ["a", "b", "longer"]),
    "objects": (np.array(["a", "b"], object), np.array(["c"]), ["a", "b", "c"]),
    "integers": (np.array([3, 1], np.int8), np.array([1000], np.int64), [1, 3, 1000]),
    "floats": (np.array([2.0, 1.0]), np.array([-3.0]), [-3.0, 1.0, 2.0]),
    "booleans": (np.array([True, True]), np.array([False]), [False, True]),
}


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels_of_any_type_can_grow(kind: str) -> None:
    first, later, expected = LABEL_KINDS[kind]
    model = BernoulliNB().partial_fit([[1], [0]], first, grow_classes=True)
    refuses(lambda: model.partial_fit([[1]], later), model, "grow_classes=True")
    model.partial_fit([[1]], later, grow_classes=True)
    assert model.classes_.tolist() == expected
    assert model.predict([[1]])[0] in expected
    other = [1] if kind in ("wider text", "objects") else ["x"]
    refuses(lambda: model.partial_fit([[1]], other, grow_classes=True), model, "labels are .* Convert them to one type")


def test_the_type_of_known_labels_stays_where_none_is_new() -> None:
    model = BernoulliNB().partial_fit([[1], [0]], np.array([1, 2]), grow_classes=True)
    model.partial_fit([[1]], np.array([2.0]), grow_classes=True)
    assert model.classes_.dtype == np.int64
    assert model.stats_.classes.counts.tolist() == [1.0, 2.0]


def test_growing_classes_may_be_named_before_they_come() -> None:
    model = BernoulliNB(classes=["x"]).partial_fit([[1]], ["y"], grow_classes=True)
    assert model.classes_.tolist() == ["x", "y"]
    model.partial_fit([[1]], ["y"], classes=["z"], grow_classes=True)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.predict_proba([[1]])[0, 2] > 0
    refuses(lambda: model.partial_fit([[1]], ["y"], classes=["w", "x", "y", "z"]), model, "not the same as on the last")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        BernoulliNB().partial_fit([[1]], ["y"])


PER_CLASS: dict[str, Any] = {
    "gaussian": GaussianNB(prior=NormalInverseGamma([[0.0], [1.0]], 1, 1, 1)),
    "bernoulli": BernoulliNB(alpha=[[1.0], [2.0]]),
    "poisson": PoissonNB(prior=Gamma([[1.0], [2.0]], 1)),
    "multinomial": MultinomialNB(alpha=[[1.0], [2.0]]),
    "categorical": NaiveBayes(Categorical(Dirichlet(np.array([[[1.0]], [[2.0]]])))),
}


@pytest.mark.parametrize("kind", PER_CLASS)
def test_a_prior_for_each_class_says_nothing_about_a_new_one(kind: str) -> None:
    model = clone(PER_CLASS[kind]).partial_fit([[1], [0]], ["a", "b"], grow_classes=True)
    refuses(
        lambda: model.partial_fit([[1]], ["c"], grow_classes=True),
        model,
        "column 0: its prior is not the same for all",
    )
    model.partial_fit([[1]], ["b"], grow_classes=True)


def test_class_priors_grow_if_they_say_something_about_new_classes() -> None:
    for said, expected in ((1.0, [2 / 6, 2 / 6, 2 / 6]), ("uniform", [1 / 3] * 3), ("empirical", [1 / 3] * 3)):
        model = BernoulliNB(class_prior=said).partial_fit([[1], [0]], ["a", "b"], grow_classes=True)
        model.partial_fit([[1]], ["c"], grow_classes=True)
        assert_allclose(np.exp(model.model_.posterior.log_class), expected)
    named: list[Any] = [
        (BernoulliNB(class_prior=[0.5, 0.5]), "2 probabilities for 3 classes"),
        (BernoulliNB(class_prior=Dirichlet([1.0, 2.0])), "2 concentrations for 3 classes"),
        (NaiveBayes(Bernoulli(), class_prior={"a": 0.5, "b": 0.5}), "give each of them one probability"),
    ]
    for model, match in named:
        model.partial_fit([[1], [0]], ["a", "b"], grow_classes=True)
        refuses(lambda model=model: model.partial_fit([[1]], ["c"], grow_classes=True), model, match)


def test_growing_can_be_routed() -> None:
    with config_context(enable_metadata_routing=True):
        asked = BernoulliNB().set_partial_fit_request(grow_classes=True).get_metadata_routing().partial_fit.requests
    assert asked == {"classes": None, "grow_classes": True, "sample_weight": None}


# Copies


@EVERY
def test_a_copy_that_learns_leaves_the_original_as_it_is(task: str) -> None:
    table = TASKS[task][1]
    model = fitted(task, FIRST)
    answers, numbers = model.predict_proba(table) if task != "mle" else None, state(model)
    twin = copy.copy(model).partial_fit(taken(table, LAST), Y[LAST])
    twin.forget(taken(table, LAST), Y[LAST])
    copy.copy(model).decay(1)
    copy.copy(model).merge(twin)
    for was, now in zip(numbers, state(model), strict=True):
        assert_array_equal(now, was)
    if task != "mle":
        assert_array_equal(model.predict_proba(table), answers)


def test_stats_of_some_rows_less_those_of_others_are_those_of_the_rest() -> None:
    whole, part, rest = (
        GaussianNB(prior=PRIOR).fit(REAL[rows], Y[rows]) for rows in (slice(None), slice(20), slice(20, None))
    )
    left = whole.stats_ - part.stats_
    assert_allclose(left.classes.counts, rest.stats_.classes.counts)
    assert_allclose(left.blocks[0].count, rest.stats_.blocks[0].count)
    assert_allclose(left.blocks[0].mean, rest.stats_.blocks[0].mean)
