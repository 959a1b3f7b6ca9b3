"""Dask's collections: the model of all partitions is that of all rows, wherever and however often they are counted."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayesnb import (
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    PoissonNB,
    UndefinedWarning,
    UnseenLevelWarning,
    calibration,
    compare,
    scale,
)
from tests.conftest import plainly, same_bits

ROWS = 400
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def draw(seed: int = 0) -> Any:
    return np.random.default_rng(seed)


def numbers(rows: int = ROWS) -> np.ndarray:
    """Columns of several places and scales, with holes."""
    x = draw(1).normal(size=(rows, 4)) * [1.0, 50.0, 1e-3, 7.0] + [0.0, 1e3, 1.0, -3.0]
    x[draw(2).random(x.shape) < 0.1] = np.nan
    return x


def counts(rows: int = ROWS) -> np.ndarray:
    return draw(3).poisson(1.5, (rows, 6))


def texts(rows: int = ROWS) -> np.ndarray:
    cells = np.empty((rows, 3), object)
    cells[:, 0] = draw(4).choice(["low", "mid", "high", None], rows)
    cells[:, 1] = draw(5).normal(size=rows)
    cells[:, 2] = draw(6).random(rows) < 0.3
    return cells


def labels(rows: int = ROWS) -> np.ndarray:
    return draw(7).choice(["b", "a", "c"], rows, p=[0.5, 0.3, 0.2])


def frame(rows: int = ROWS) -> pd.DataFrame:
    """Columns of every kind; the last is the label."""
    cells = pd.DataFrame(numbers(rows), columns=list("uvwx"))
    cells["word"] = pd.Series(draw(4).choice(["p", "q", "r", "s"], rows), dtype="str").mask(cells.u > 1)
    cells["grade"] = pd.Categorical(draw(8).choice(["C", "A", "B"], rows), categories=["C", "B", "A", "D"])
    cells["flag"] = draw(9).random(rows) < 0.4
    cells["label"] = labels(rows)
    return cells


def parted(cells: pd.DataFrame, partitions: int = 6) -> tuple[dd.DataFrame, dd.Series]:
    lazy = dd.from_pandas(cells, npartitions=partitions, sort=False)
    return lazy.drop(columns="label"), lazy["label"]


def whole(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    return cells.drop(columns="label"), cells["label"]


def plain_model(**more: str) -> NaiveBayes:
    """A model whose families no partition chooses, with exponent 1."""
    families = plainly(whole(frame(10))[0])["families"]
    return NaiveBayes(families | more)


def same_model(lazy: Any, plain: Any) -> None:
    """Classes and levels exactly, stats and priors to the rounding of sums in another order."""
    np.testing.assert_array_equal(lazy.classes_, plain.classes_)
    assert lazy.schema_.columns == plain.schema_.columns
    assert [block.levels for block in lazy.schema_.blocks] == [block.levels for block in plain.schema_.blocks]
    assert lazy.model_.integer_weights == plain.model_.integer_weights
    close(lazy.model_.stats, plain.model_.stats)
    close(lazy.model_.prior, plain.model_.prior)


def close(a: Any, b: Any, where: str = "") -> None:
    assert type(a) is type(b)
    if is_dataclass(a):
        for own in fields(a):
            close(getattr(a, own.name), getattr(b, own.name), f"{where}.{own.name}")
    elif isinstance(a, tuple):
        for place, (own, its) in enumerate(zip(a, b, strict=True)):
            close(own, its, f"{where}[{place}]")
    elif isinstance(a, np.ndarray | float):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=where)
    else:
        assert a == b, where


KINDS = {
    "numbers with holes": (GaussianNB(), numbers),
    "counts": (PoissonNB(), counts),
    "words": (MultinomialNB(alpha=0.5), counts),
    "sparse words": (MultinomialNB(alpha=0.5), lambda: sparse.csr_array(counts())),
    "yes or no": (BernoulliNB(binarize=1), counts),
    "codes": (CategoricalNB(min_categories=3), counts),
    "levels": (NaiveBayes(Categorical(Dirichlet(0.5), unseen="reserve")), counts),
    "objects": (NaiveBayes({0: "categorical", 1: "gaussian", 2: "bernoulli"}), texts),
    "averaged": (NaiveBayes(Categorical(), average_features=0.5), counts),
}


def chunked(x: Any, chunks: tuple[int, int]) -> da.Array:
    if sparse.issparse(x):
        return da.from_array(x.toarray(), chunks=chunks).map_blocks(sparse.csr_array)
    return da.from_array(x, chunks=chunks)


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(ROWS, 9), (90, 2), (7, 9)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_an_array_in_any_chunks_is_learnt_as_a_whole_one_is(kind: str, chunks: tuple[int, int]) -> None:
    estimator, make = KINDS[kind]
    x, y = make(), labels()
    plain, lazy = clone(estimator).fit(x, y), clone(estimator).fit(chunked(x, chunks), da.from_array(y, chunks=61))
    same_model(lazy, plain)
    np.testing.assert_allclose(lazy.predict_log_proba(x), plain.predict_log_proba(x), rtol=0, atol=1e-10)


def test_a_dataframe_is_learnt_as_a_whole_one_is() -> None:
    cells = frame()
    lazy, plain = plain_model().fit(*parted(cells)), plain_model().fit(*whole(cells))
    same_model(lazy, plain)
    assert lazy.feature_names_in_.tolist() == plain.feature_names_in_.tolist()
    x, _ = whole(cells)
    np.testing.assert_allclose(lazy.predict_log_proba(x), plain.predict_log_proba(x), rtol=0, atol=1e-10)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=20).filter(any), st.booleans())
def test_whatever_the_lengths_of_the_partitions(lengths: list[int], weighted: bool) -> None:
    cells = frame(sum(lengths))
    weight = draw(11).integers(0, 4, len(cells)) * 0.5 if weighted else None
    if weighted and not np.any(weight):
        weight = np.ones(len(cells))
    ends = np.cumsum([0, *lengths])
    pieces = [cells.iloc[start:end] for start, end in pairwise(ends)]
    lazy = dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=cells.iloc[:0], verify_meta=False)
    given_weight = None if weight is None else da.from_array(weight, chunks=(tuple(lengths),))
    fitted = plain_model().fit(lazy.drop(columns="label"), lazy["label"], given_weight)
    same_model(fitted, plain_model().fit(*whole(cells), weight))


def test_partitions_that_a_filter_has_emptied_say_nothing() -> None:
    cells = frame()
    cells["row"] = np.arange(ROWS)
    x, y = parted(cells)
    kept, gone = x[x.row >= 250], cells[cells.row >= 250]
    lazy = plain_model(row="gaussian").fit(kept, y[x.row >= 250])
    same_model(lazy, plain_model(row="gaussian").fit(*whole(gone)))
    np.testing.assert_array_equal(lazy.predict_proba(kept).compute(), lazy.predict_proba(gone.drop(columns="label")))
    assert lazy.loo(kept, y[x.row >= 250]).n_data_points == 150
    nothing = x.row > ROWS
    with pytest.raises(ValueError, match="no row to learn from: all partitions are empty"):
        NaiveBayes().fit(x[nothing], y[nothing])
    with pytest.raises(ValueError, match="no row to score: all partitions are empty"):
        lazy.loo(x[nothing], y[nothing])
    with pytest.raises(ValueError, match="no row to score: all partitions are empty"):
        lazy.score(x[nothing], y[nothing])


def test_categories_that_each_partition_has_for_itself_are_united_by_name() -> None:
    cells = frame().drop(columns="grade")
    pieces = [cells.iloc[:150], cells.iloc[150:]]
    pieces = [piece.assign(word=piece.word.where(piece.word != gone)) for piece, gone in zip(pieces, "qs", strict=True)]
    cells = pd.concat(pieces)
    meta = cells.iloc[:0].assign(word=cells.word.iloc[:0].astype("category"))
    parts = [dask.delayed(piece.assign(word=piece.word.astype("category"))) for piece in pieces]
    lazy = dd.from_delayed(parts, meta=meta, verify_meta=False)
    fitted = NaiveBayes(**plainly(whole(cells)[0])).fit(lazy.drop(columns="label"), lazy["label"])
    same_model(fitted, NaiveBayes(**plainly(whole(cells)[0])).fit(*whole(cells)))
    assert fitted.posterior_["word"].concentration.shape[1] == 4


def test_labels_and_weights_in_memory_are_cut_as_the_rows_are() -> None:
    x, y, weight = numbers(), labels(), draw(12).random(ROWS)
    plain = GaussianNB().fit(x, y, weight)
    lazy = da.from_array(x, chunks=(90, 3))
    for own in (y, y.tolist(), pd.Series(y, index=range(7, ROWS + 7), dtype="category")):
        same_model(GaussianNB().fit(lazy, own, weight), plain)
    same_model(GaussianNB().fit(lazy, da.from_array(y, chunks=33), pd.Series(weight)), plain)
    same_model(GaussianNB().fit(lazy, y, 2), GaussianNB().fit(x, y, 2))


def test_rows_of_weight_zero_are_no_rows_even_where_a_partition_has_no_others() -> None:
    x, y, weight = numbers(), labels(), np.arange(ROWS) % 3.0
    weight[:120], y[:100] = 0, "nowhere else"
    X, Y, W = (da.from_array(own, chunks=(50, *own.shape[1:])) for own in (x, y, weight))
    lazy, plain = GaussianNB().fit(X, Y, W), GaussianNB().fit(x, y, weight)
    same_model(lazy, plain)
    assert "nowhere else" not in lazy.classes_
    with pytest.raises(ValueError, match="all weights zero"):
        GaussianNB().fit(X, Y, 0 * W)
    kept, all_known = slice(100, None), (X[100:], Y[100:], W[100:])
    np.testing.assert_allclose(lazy.score(*all_known), lazy.score(x[kept], y[kept], weight[kept]), rtol=1e-14)
    ours, theirs = (
        lazy.loo(*all_known[:2], sample_weight=W[100:]),
        lazy.loo(x[kept], y[kept], sample_weight=weight[kept]),
    )
    np.testing.assert_allclose(ours.elpd_i, theirs.elpd_i, rtol=1e-12)
    assert (ours.n_data_points, round(ours.se, 9)) == (theirs.n_data_points, round(theirs.se, 9))


def test_partial_fit_learns_more_as_it_does_of_rows_in_memory() -> None:
    cells = frame()
    first, rest = cells.iloc[:90], cells.iloc[90:].assign(word=cells.word.iloc[90:].replace("r", "a new level"))
    plain = NaiveBayes(Categorical(), classes=list("abc")).partial_fit(*whole(first))
    lazy = NaiveBayes(Categorical(), classes=list("abc")).partial_fit(*parted(first, 3))
    same_model(lazy, plain)
    same_model(lazy.partial_fit(*parted(rest)), plain.partial_fit(*whole(rest)))
    at = plain.schema_.columns.index("word")
    assert plain.schema_.blocks[0].levels[at][-1] == "a new level"  # levels that are known keep their places


@pytest.mark.parametrize("declared", [None, ["a", "z"]])
def test_partial_fit_grows_classes_as_it_does_in_memory(declared: Any) -> None:
    x, y = numbers(), labels()
    y = np.where((np.arange(ROWS) < 200) & (y == "c"), "a", y)
    plain = lazy = None
    for some in (slice(0, 200), slice(200, None)):
        X = da.from_array(x, chunks=(60, 4))[some]
        plain = (plain or GaussianNB(prior=NormalInverseGamma(0, 1, 1, 1))).partial_fit(
            x[some], y[some], declared, grow_classes=True
        )
        lazy = (lazy or GaussianNB(prior=NormalInverseGamma(0, 1, 1, 1))).partial_fit(
            X, y[some], declared, grow_classes=True
        )
        same_model(lazy, plain)
    assert "c" in lazy.classes_


def test_partial_fit_needs_classes_at_first_and_refuses_others_later() -> None:
    X, y = da.from_array(numbers(), chunks=(90, 4)), labels()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        GaussianNB().partial_fit(X, y)
    model = GaussianNB().partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"partition 1.*labels \['d'\] that are not among the classes"):
        model.partial_fit(X, np.where(np.arange(ROWS) == 100, "d", y))


def test_rows_in_memory_may_follow_lazy_ones_and_the_other_way_round() -> None:
    cells = frame()
    a, b = cells.iloc[:150], cells.iloc[150:]
    prior = NormalInverseGamma(0, 0.1, 1, 1)
    families = {("u", "v", "w", "x"): Gaussian(prior), ("word", "grade"): Categorical()}
    plain = NaiveBayes(families, classes=list("abc")).fit(*whole(cells))
    one = NaiveBayes(families, classes=list("abc")).fit(*parted(a)).partial_fit(*whole(b))
    other = NaiveBayes(families, classes=list("abc")).fit(*whole(a)).partial_fit(*parted(b))
    for model in (one, other):
        np.testing.assert_allclose(
            model.predict_log_proba(cells.drop(columns="label")),
            plain.predict_log_proba(cells.drop(columns="label")),
            atol=1e-10,
        )


def test_shards_of_lazy_parts_add_up_with_those_of_others() -> None:
    cells = frame()
    model = plain_model()
    shards = [scale.shard(model, *parted(cells.iloc[:150])), scale.shard(model, *whole(cells.iloc[150:]))]
    same_model(scale.fit_shards(model, shards), plain_model().fit(*whole(cells)))


@pytest.mark.slow
@pytest.mark.parametrize("method", PREDICTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("compiled_always")  # NumPy does what is small, so a partition's digits may be other ones
def test_lazy_predictions_are_bit_by_bit_those_of_rows_in_memory(kind: str, method: str) -> None:
    estimator, make = KINDS[kind]
    x, y = make(), labels()
    model = clone(estimator).fit(x, y)
    lazy, plain = getattr(model, method)(chunked(x, (90, 2))), getattr(model, method)(x)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == plain.shape
    assert lazy.chunks[0] == (90, 90, 90, 90, 40)
    assert lazy.dtype == plain.dtype
    np.testing.assert_array_equal(lazy.compute(), plain)


@pytest.mark.parametrize("method", PREDICTIONS)
def test_lazy_predictions_of_a_dataframe_have_lengths_that_are_not_known_yet(method: str) -> None:
    cells = frame()
    model = NaiveBayes().fit(*whole(cells))
    lazy, plain = getattr(model, method)(parted(cells)[0]), getattr(model, method)(cells.drop(columns="label"))
    assert np.isnan(lazy.shape[0])
    assert lazy.shape[1:] == plain.shape[1:]
    assert lazy.dtype == plain.dtype
    np.testing.assert_array_equal(lazy.compute(), plain)


def test_a_prediction_is_that_of_the_model_as_it_was_when_it_was_asked_for() -> None:
    x, y = numbers(), labels()
    model = GaussianNB().fit(x, y)
    lazy, before = model.predict_proba(da.from_array(x, chunks=(90, 4))), model.predict_proba(x)
    model.fit(x, np.roll(y, 1))
    np.testing.assert_array_equal(lazy.compute(), before)


@pytest.mark.parametrize("as_frame", [False, True])
def test_nothing_is_read_before_it_is_asked_for_and_everything_once(as_frame: bool) -> None:
    cells, read = frame()[["u", "v", "label"]], []

    def load(number: int) -> pd.DataFrame:
        read.append(number)
        return cells.iloc[number * 100 : number * 100 + 100]

    if as_frame:
        lazy = dd.from_map(load, range(4), meta=cells.iloc[:0])
        X, y = lazy[["u", "v"]], lazy["label"]
    else:
        parts = [
            da.from_delayed(dask.delayed(lambda n: load(n).to_numpy(object))(n), (100, 3), object) for n in range(4)
        ]
        lazy = da.concatenate(parts)
        X, y = lazy[:, :2].astype(float), lazy[:, 2]
    read.clear()  # dask may look at the first one
    model = GaussianNB().fit(X, y)
    assert sorted(read) == [0, 1, 2, 3]
    read.clear()
    answers = model.predict_proba(X)
    assert not read
    answers.compute()
    assert sorted(read) == [0, 1, 2, 3]
    read.clear()
    model.loo(X, y)
    assert sorted(read) == [0, 1, 2, 3]


def test_the_model_is_in_the_graph_once_and_no_row_comes_back() -> None:
    x, y = counts(2000), draw(7).integers(0, 3, 2000)
    x = np.hstack([x] * 100)
    model = MultinomialNB().fit(x, y)
    size = len(pickle.dumps(model))
    lazy = da.random.default_rng(0).poisson(1.5, size=(2000, 600), chunks=(20, 600))
    graph = model.predict_proba(lazy).__dask_graph__()
    graph.validate()
    held = [key for key, task in dict(graph).items() if len(pickle.dumps(task, protocol=5)) > size / 2]
    assert size > 20_000
    assert len(held) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_lazy_leave_one_out_is_that_of_rows_in_memory(kind: str) -> None:
    estimator, make = KINDS[kind]
    x, y = make(), labels()
    model = clone(estimator).fit(x, y)
    for target in ("label", "joint"):
        lazy, plain = model.loo(chunked(x, (90, 2)), y, target), model.loo(x, y, target)
        np.testing.assert_allclose(lazy.elpd_i, plain.elpd_i, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(lazy.elpd_i.obs_id, plain.elpd_i.obs_id)
        assert lazy.n_data_points == plain.n_data_points
        np.testing.assert_allclose([lazy.elpd, lazy.se, lazy.p], [plain.elpd, plain.se, plain.p], rtol=1e-9)


def test_lazy_leave_one_out_has_the_names_of_a_dataframes_rows() -> None:
    cells = frame().set_index(pd.Index([f"row {row:03}" for row in range(ROWS)]))
    model = NaiveBayes().fit(*whole(cells))
    lazy, plain = model.loo(*parted(cells)), model.loo(*whole(cells))
    np.testing.assert_array_equal(lazy.elpd_i.obs_id, plain.elpd_i.obs_id)
    np.testing.assert_allclose(lazy.elpd_i, plain.elpd_i, rtol=1e-12)
    assert compare({"a": model, "b": NaiveBayes(estimate="mean")}, *whole(cells)).loc["a", "elpd"] == pytest.approx(
        lazy.elpd
    )


def outliers() -> tuple[np.ndarray, np.ndarray]:
    """Rows that cannot be taken back from their class by arithmetic: it is small, or they are all of its spread."""
    x, y = numbers(200)[:, :2], np.repeat(np.array(["a", "b"], "U10"), 100)
    x[[20, 190], [0, 1]] = 1e17, -1e14
    y[[3, 150]], y[[77, 78, 130]] = "two rows", "three rows"
    return x, y


@pytest.mark.filterwarnings("ignore::bayesnb.UnverifiedWarning")
@pytest.mark.parametrize("estimate", ["predictive", "mle"])
def test_rows_that_carry_their_class_are_left_out_by_counting_all_other_partitions(estimate: str) -> None:
    x, y = outliers()
    model = GaussianNB(prior=NormalInverseGamma(0, 0, 0, 0), estimate=estimate).fit(x, y)
    X = da.from_array(x, chunks=(30, 2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lazy, plain = model.loo(X, y), model.loo(x, y)
    np.testing.assert_allclose(lazy.elpd_i, plain.elpd_i, rtol=1e-10)
    assert np.isnan(lazy.elpd_i[[3, 150]]).all()
    assert np.isfinite(lazy.elpd_i[[20, 77, 78, 130, 190]]).all()
    ours, theirs = (str(own.message) for own in told if own.category is UndefinedWarning)
    assert ours == theirs
    with pytest.raises(ValueError, match="row 120 cannot be taken back") as error:
        model.loo(X[30:], y[30:])
    with pytest.raises(ValueError, match="row 120 cannot be taken back") as plain_error:
        model.loo(x[30:], y[30:])
    assert str(error.value) == str(plain_error.value)


def test_leave_one_out_refuses_rows_that_were_not_learnt_in_one_partition_or_in_all_together() -> None:
    x, y = numbers(), labels()
    model = GaussianNB().fit(x, y)
    X = da.from_array(x, chunks=(100, 4))
    with pytest.raises(ValueError, match="not among those that the model has learnt"):
        model.loo(da.concatenate([X, X]), np.concatenate([y, y]))
    few = GaussianNB().fit(x[:50], y[:50])
    with pytest.raises(ValueError, match=r"partition \d.*not among those that the model has learnt"):
        few.loo(X, y)
    with pytest.raises(ValueError, match="target must be 'label' or 'joint'"):
        model.loo(X, y, "rows")


def test_accuracy_is_counted_where_the_rows_are() -> None:
    cells, weight = frame(), draw(13).random(ROWS)
    model = NaiveBayes().fit(*whole(cells))
    assert model.score(*parted(cells)) == model.score(*whole(cells))
    lazy = dd.from_pandas(pd.Series(weight), npartitions=6, sort=False)
    np.testing.assert_allclose(model.score(*parted(cells), lazy), model.score(*whole(cells), weight), rtol=1e-14)


def misfits() -> dict[str, tuple[Callable[[], tuple[Any, ...]], str]]:
    x, y = numbers(), labels()
    X = da.from_array(x, chunks=(100, 4))
    fx, fy = parted(frame())
    unknown = X[X[:, 3] > -1e9]
    return {
        "labels in memory beside a dataframe": ((fx, y), "y is in memory, and how long the partitions of X are"),
        "labels in memory beside unknown chunks": ((unknown, y), "compute_chunk_sizes"),
        "weights in memory beside a dataframe": ((fx, fy, np.ones(ROWS)), "sample_weight is in memory"),
        "other numbers of partitions": ((fx, fy.repartition(npartitions=2)), "X has 6 partitions and y 2"),
        "partitions of other lengths": (
            (fx, fy[fy != "a"]),
            r"partition \d.*X has \d+ rows, and y \d+: cut both alike",
        ),
        "too few labels": ((X, y[:-1]), "X has 400 rows, and y 399"),
        "too few lazy labels": ((X, da.from_array(y[:-1], chunks=9)), "X has 400 rows, and y 399"),
        "no labels": ((X, None), "y is None"),
        "one axis": ((X[:, 0], y), "Expected 2D array, got 1D array"),
        "a series": ((fx["u"], fy), r"Expected 2D array.*to_frame"),
        "two columns of labels": (
            (X, da.from_array(np.column_stack([y, y]), chunks=(60, 1))),
            "y should be a 1d array",
        ),
        "two columns of labels in unknown chunks": (
            (unknown, da.from_array(np.column_stack([y, y]), chunks=(100, 1))[X[:, 3] > -1e9]),
            "y should be a 1d array",
        ),
        "a missing label": (
            (X, np.where(np.arange(ROWS) == 205, None, y)),
            "partition 2.*labels are missing, first at row 5",
        ),
        "masked labels": ((X, np.ma.array(y, mask=y == "a")), "labels are masked"),
        "a negative weight": (
            (X, y, np.where(np.arange(ROWS) == 399, -1.0, 1.0)),
            "partition 3.*first at row 99: -1.0",
        ),
        "labels of two types": (
            (
                X[:200],
                da.concatenate([da.from_delayed(dask.delayed(np.full(100, own)), (100,), object) for own in (1, "a")]),
            ),
            "labels are .* in one part and .* in another",
        ),
        "columns of two kinds": (
            (da.concatenate([da.from_array(np.full((9, 1), own, object), chunks=9) for own in (1.0, "a")]), y[:18]),
            "partition 1, whose rows are counted from 0: column 0 is not numeric: it holds text",
        ),
        "an infinite cell": (
            (da.where(X > 20, np.inf, X), y),
            r"partition \d, whose rows are counted from 0: .* is infinite",
        ),
    }


@pytest.mark.parametrize("what", misfits())
def test_what_does_not_go_together_is_told_and_the_model_stays_as_it_was(what: str) -> None:
    rows, said = misfits()[what]
    model = GaussianNB().fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    model = NaiveBayes() if what in {"columns of two kinds"} else model
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=f"(?s){said}"):
        model.fit(*rows)
    assert model.__dict__ == before


@pytest.mark.parametrize("what", ["bag", "delayed", "labels or weights"])
def test_other_collections_of_dask_are_refused(what: str) -> None:
    y = da.from_array(labels(), chunks=100)
    wrong = {"bag": db.from_sequence([1, 2]), "delayed": dask.delayed(numbers)()}
    if what in wrong:
        with pytest.raises(TypeError, match="only arrays and dataframes"):
            GaussianNB().fit(wrong[what], y)
    else:
        X = da.from_array(numbers(), chunks=(100, 4))
        with pytest.raises(TypeError, match="y is a Bag"):
            GaussianNB().fit(X, db.from_sequence([1, 2]))
        with pytest.raises(TypeError, match=r"sample_weight is .*: give an array or a series"):
            GaussianNB().fit(X, y, da.ones(ROWS).sum())


def test_labels_and_weights_are_lazy_only_beside_lazy_rows() -> None:
    x, y = numbers(), labels()
    with pytest.raises(TypeError, match=r"y is a lazy collection of Dask.*: y\.compute\(\)"):
        GaussianNB().fit(x, da.from_array(y))
    with pytest.raises(TypeError, match=r"sample_weight is a lazy collection.*sample_weight\.compute\(\)"):
        GaussianNB().fit(x, y, da.ones(ROWS))
    with pytest.raises(TypeError, match="y is a lazy"):
        GaussianNB().fit(x, y).loo(x, da.from_array(y))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, y: model.predict_interval(X),
        lambda model, X, y: model.uncertainty(X),
        lambda model, X, y: model.explain(X),
        lambda model, X, y: model.draw_proba(X, 2),
        lambda model, X, y: model.kfold(X, y),
        lambda model, X, y: model.decide(X),
        lambda model, X, y: model.to_datatree(X, y, 2),
        lambda model, X, y: calibration(model, X, y),
        lambda model, X, y: calibration(clone(model), X, y),
        lambda model, X, y: compare({"a": model, "b": model}, X, y),
    ],
)
def test_whatever_else_needs_rows_in_memory_says_so(ask: Callable[..., Any]) -> None:
    x, y = numbers(), labels()
    model = GaussianNB().fit(x, y)
    with pytest.raises(TypeError, match=r"X is a lazy collection of Dask.*X\.compute\(\)"):
        ask(model, da.from_array(x, chunks=(100, 4)), da.from_array(y, chunks=100))


def explosive() -> da.Array:
    """Rows that cannot be read."""

    def read(block: np.ndarray) -> np.ndarray:
        raise AssertionError("it was read")

    return da.zeros((100, 4), chunks=(50, 4)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))


def test_what_is_known_to_fail_fails_before_a_row_is_read() -> None:
    X, y = explosive(), np.arange(100) % 3
    with pytest.raises(ValueError, match="estimate must be one of"):
        GaussianNB(estimate="best").fit(X, y)
    with pytest.raises(NotFittedError):
        GaussianNB().predict_proba(X)
    model = GaussianNB().fit(np.zeros((3, 2)) + np.arange(3)[:, None], [0, 1, 2])
    for ask in (model.predict_proba, model.predict, lambda X: model.partial_fit(X, y), lambda X: model.loo(X, y)):
        with pytest.raises(ValueError, match="X has 4 features, but GaussianNB is expecting 2"):
            ask(X)
    named = NaiveBayes().fit(*whole(frame()))
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict_proba(parted(frame())[0][["v", "u", "w", "x", "word", "grade", "flag"]])
    with pytest.raises(AssertionError, match="it was read"):
        GaussianNB().fit(X, y)


def test_an_error_in_a_prediction_names_the_partition() -> None:
    x, y = counts(), labels()
    model = PoissonNB().fit(x, y)
    wrong = x.astype(float)
    wrong[230, 1] = -1
    lazy = model.predict_proba(da.from_array(wrong, chunks=(100, 6)))
    with pytest.raises(ValueError, match=r"partition 2, whose rows are counted from 0: .*row 30"):
        lazy.compute()
    rows = model.predict(dd.from_pandas(pd.DataFrame(wrong), npartitions=4, sort=False).rename(columns=int))
    with pytest.raises(ValueError, match=r"partition 2, whose rows are counted from 0: .*row 30"):
        rows.compute()


def test_levels_that_training_never_saw_are_told_where_the_partition_is_read_or_are_errors_everywhere() -> None:
    cells = frame()
    new = parted(cells.assign(word=cells.word.replace("q", "unheard of")))[0]
    lazy = NaiveBayes().fit(*whole(cells)).predict_proba(new)
    with pytest.warns(UnseenLevelWarning, match="'unheard of'"):
        lazy.compute()
    strict = NaiveBayes({"word": Categorical(unseen="error")}).fit(*whole(cells))
    with pytest.raises(ValueError, match=r"partition .* has levels that the model does not know: 'unheard of'"):
        strict.predict_proba(new).compute()


def test_threads_in_any_order_change_no_digit() -> None:
    x, y = numbers(3000), labels(3000)

    def late(block: np.ndarray, seed: int) -> np.ndarray:
        time.sleep(float(draw(seed + int(abs(block[0, 0]) * 1e6) % 1000).random()) / 200)
        return block

    X = da.from_array(np.nan_to_num(x), chunks=(60, 4))
    expected = GaussianNB().fit(X, y)
    with dask.config.set(scheduler="threads", num_workers=8):
        for seed in range(3):
            delayed = X.map_blocks(late, seed, dtype=float, meta=np.empty((0, 0)))
            same_bits(GaussianNB().fit(delayed, y), expected)
            np.testing.assert_array_equal(
                expected.predict_proba(delayed).compute(), expected.predict_proba(np.nan_to_num(x))
            )


@pytest.mark.slow
def test_rows_in_memory_are_learnt_and_predicted_without_dask() -> None:
    code = (
        "import sys; from bayesnb import GaussianNB, scale; m = GaussianNB().fit([[1.0], [2.0], [4.0]], [0, 0, 1]); "
        "m.predict_proba([[1.0]]); print({'dask', 'distributed'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes, each of one thread."""
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.admin.tick.limit": "60s", "distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as own,
    ):
        yield own


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with dask.config.set(scheduler=None), Client(cluster) as own:
        yield own


@pytest.mark.slow
def test_a_cluster_of_processes_learns_predicts_and_judges_bit_by_bit_as_one_thread_does(client: Any) -> None:
    cells = frame()
    X, y = parted(cells)
    model = NaiveBayes().fit(X, y)
    answers, found, right = model.predict_proba(X).compute(), model.loo(X, y), model.score(X, y)
    more = NaiveBayes(classes=list("abc")).partial_fit(X, y).partial_fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        alone = NaiveBayes().fit(X, y)
        same_bits(model, alone)
        same_bits(more, NaiveBayes(classes=list("abc")).partial_fit(X, y).partial_fit(X, y))
        np.testing.assert_array_equal(answers, alone.predict_proba(X).compute())
        np.testing.assert_array_equal(found.elpd_i, alone.loo(X, y).elpd_i)
        assert right == alone.score(X, y)
    same_model(plain_model().fit(X, y), plain_model().fit(*whole(cells)))


@pytest.mark.slow
def test_an_error_of_a_worker_arrives_as_what_it_is(client: Any) -> None:
    x, y = numbers(), labels()
    x[230, 1] = np.inf
    model = GaussianNB().fit(np.nan_to_num(x, posinf=0), y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=r"partition 2, whose rows are counted from 0: .*first at row 30"):
        model.fit(da.from_array(x, chunks=(100, 4)), y)
    assert model.__dict__ == before


@pytest.mark.slow
def test_data_that_are_in_the_workers_memory_stay_there(client: Any) -> None:
    cells = frame(20_000)
    X, y = parted(cells, 8)
    X, y = X.persist(), y.persist()
    same_model(plain_model().fit(X, y), plain_model().fit(*whole(cells)))


@pytest.mark.slow
def test_processes_without_a_cluster_learn_the_same() -> None:
    cells = frame()
    X, y = parted(cells)
    expected = NaiveBayes().fit(X, y)
    with dask.config.set(scheduler="processes", num_workers=2):
        model = NaiveBayes().fit(X, y)
        same_bits(model, expected)
        np.testing.assert_array_equal(model.predict(X).compute(), expected.predict(X).compute())


def slow_and_marked(block: np.ndarray, folder: str) -> np.ndarray:
    """A chunk that takes its time, and says which process reads it."""
    number = time.monotonic_ns()
    with open(os.path.join(folder, f"{os.getpid()}-{number}"), "w"):
        time.sleep(0.15)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("done", [3, 20], ids=lambda done: f"after {done} partitions")
def test_a_worker_that_is_killed_while_it_counts_changes_no_digit(client: Any, tmp_path: Any, done: int) -> None:
    x, y = np.nan_to_num(numbers(2400)), labels(2400)
    X = da.from_array(x, chunks=(100, 4))
    expected = GaussianNB().fit(X, y)
    slow = X.map_blocks(slow_and_marked, str(tmp_path), dtype=float, meta=np.empty((0, 0)))
    fitted: list[Any] = []
    fit = threading.Thread(target=lambda: fitted.append(GaussianNB().fit(slow, y)), daemon=True)
    fit.start()
    while len(os.listdir(tmp_path)) < done:
        assert fit.is_alive()
        time.sleep(0.005)
    victim = int(max(os.listdir(tmp_path), key=lambda name: name.split("-")[1]).split("-")[0])
    os.kill(victim, signal.SIGKILL)
    fit.join(timeout=120)
    same_bits(fitted[0], expected)
    readers = [int(name.split("-")[0]) for name in os.listdir(tmp_path)]
    assert len(readers) > 24  # what the dead worker had counted was counted again
    assert victim in readers
    assert victim not in client.run(os.getpid).values()
    client.wait_for_workers(2)
