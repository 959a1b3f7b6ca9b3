"""Dask's collections: the model of all partitions is that of all rows, wherever it is counted."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
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
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import bayesnb as nb
from bayesnb import GaussianNB, NaiveBayes

Array = np.ndarray
ROWS = 400
RNG = np.random.default_rng(7)
NUMBERS = RNG.normal([0.0, 1e3, 1.0, -3.0], [1.0, 50.0, 1e-3, 7.0], (ROWS, 4))
NUMBERS[RNG.random(NUMBERS.shape) < 0.1] = np.nan
COUNTS = RNG.poisson(1.5, (ROWS, 6))
Y = RNG.choice(["b", "a", "c"], ROWS, p=[0.5, 0.3, 0.2])
FRAME = pd.DataFrame(NUMBERS, columns=list("uvwx"))
FRAME["word"] = pd.Series(RNG.choice(["p", "q", "r", "s"], ROWS), dtype="str").mask(FRAME.u > 1)
FRAME["grade"] = pd.Categorical(RNG.choice(["C", "A", "B"], ROWS), ["C", "B", "A", "D"])
FRAME["flag"] = RNG.random(ROWS) < 0.4
OBJECTS = FRAME[["word", "u", "flag"]].to_numpy(object)
FAMILIES = dict.fromkeys("uvwx", "gaussian") | dict.fromkeys(["word", "grade"], "categorical")
PLAIN = NaiveBayes(FAMILIES)
KINDS: dict[str, tuple[Any, Any]] = {
    "numbers": (GaussianNB(), NUMBERS),
    "words": (nb.MultinomialNB(alpha=0.5), COUNTS),
    "sparse words": (nb.MultinomialNB(alpha=0.5), sparse.csr_array(COUNTS)),
    "codes": (nb.CategoricalNB(min_categories=3), COUNTS),
    "levels": (NaiveBayes(nb.Categorical(0.5, unseen="reserve")), COUNTS),
    "objects": (NaiveBayes({0: "categorical", 1: "gaussian", 2: "bernoulli"}), OBJECTS),
}


@pytest.fixture(autouse=True)
def in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def chunk(x: Any, chunks: Any = (90, 2)) -> da.Array:
    if sparse.issparse(x):
        return da.from_array(x.toarray(), chunks=chunks).map_blocks(sparse.csr_array)
    return da.from_array(x, chunks=chunks)


def part(cells: pd.DataFrame = FRAME, y: Any = Y, partitions: int = 6) -> tuple[Any, Any]:
    labels = pd.Series(y, index=cells.index)
    return (
        dd.from_pandas(cells, npartitions=partitions, sort=False),
        dd.from_pandas(labels, npartitions=partitions, sort=False),
    )


def assert_same(lazy: Any, plain: Any, x: Any, rtol: float = 1e-10) -> None:
    """Classes exactly, numbers to the rounding of sums in another order."""
    assert_array_equal(lazy.classes_, plain.classes_)
    joint = plain.predict_joint_log_proba(x)
    assert_allclose(lazy.predict_joint_log_proba(x), joint, rtol=rtol, atol=rtol)
    assert_allclose(lazy.log_evidence_, plain.log_evidence_, rtol=rtol)


# What is learnt


@pytest.mark.parametrize("chunks", [(90, 2), (37, 9)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_an_array_in_any_chunks_is_learnt_as_a_whole_one(kind: str, chunks: Any) -> None:
    estimator, x = KINDS[kind]
    plain = clone(estimator).fit(x, Y)
    lazy = clone(estimator).fit(chunk(x, chunks), da.from_array(Y, chunks=61))
    assert_same(lazy, plain, x)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6).filter(any), st.booleans())
def test_partitions_of_any_length_are_one_table(lengths: list[int], weighted: bool) -> None:
    rows = sum(lengths)
    cells = FRAME[:rows].assign(label=Y[:rows])
    weight = None
    lazy_weight = None
    if weighted:
        weight = 0.5 * (np.arange(rows) % 4 + (rows < 4))
        lazy_weight = da.from_array(weight, chunks=(tuple(lengths),))
    pieces = [cells.iloc[start:end] for start, end in pairwise(np.cumsum([0, *lengths]))]
    lazy = dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=cells.iloc[:0])
    fitted = clone(PLAIN).fit(lazy.drop(columns="label"), lazy["label"], lazy_weight)
    whole = FRAME[:rows]
    assert_same(fitted, clone(PLAIN).fit(whole, Y[:rows], weight), whole)


def test_partitions_that_a_filter_has_emptied_say_nothing() -> None:
    cells = FRAME.assign(row=np.arange(ROWS))
    X, y = part(cells)
    kept = X[X.row >= 250].drop(columns="row")
    rest = FRAME[250:]
    lazy = clone(PLAIN).fit(kept, y[X.row >= 250])
    plain = clone(PLAIN).fit(rest, Y[250:])
    assert_same(lazy, plain, rest)
    assert_array_equal(lazy.predict_proba(kept).compute(), lazy.predict_proba(rest))
    none = X.drop(columns="row")[X.row > ROWS], y[X.row > ROWS]
    for ask in (clone(PLAIN).fit, lazy.score):
        with pytest.raises(ValueError, match="all partitions are empty"):
            ask(*none)


def test_categories_that_each_partition_has_for_itself_are_united_by_name() -> None:
    words = pd.DataFrame({"word": np.where(np.arange(ROWS) < 150, "p", FRAME["word"].fillna("q"))})
    pieces = [words[:150].astype("category"), words[150:].astype("category")]
    lazy = dd.from_delayed([*map(dask.delayed, pieces)], meta=pieces[0][:0], verify_meta=False)
    labels = dd.from_delayed([dask.delayed(pd.Series(own)) for own in (Y[:150], Y[150:])])
    model = NaiveBayes(temper=None)
    assert_same(clone(model).fit(lazy, labels), clone(model).fit(words, Y), words)
    # exponents are found to a millionth, whatever the order of the rows
    assert_same(NaiveBayes().fit(lazy, labels), NaiveBayes().fit(words, Y), words, rtol=1e-6)


def test_rows_of_weight_zero_are_no_rows_even_where_a_partition_has_no_others() -> None:
    y = Y.astype(object)
    weight = np.arange(ROWS) % 3.0
    weight[:120], y[:100] = 0, "nowhere else"
    lazy = GaussianNB().fit(chunk(NUMBERS, (50, 4)), chunk(y, 50), chunk(weight, 50))
    assert_same(lazy, GaussianNB().fit(NUMBERS, y, weight), NUMBERS)
    x = NUMBERS[100:]
    y = y[100:]
    weight = weight[100:]
    rows = chunk(x, (50, 4)), chunk(y, 50)
    assert_allclose(lazy.score(*rows, chunk(weight, 50)), lazy.score(x, y, weight), rtol=1e-14)


def test_lazy_rows_and_those_in_memory_follow_each_other() -> None:
    """Levels and classes that come later are learnt too."""
    first = FRAME[:90]
    rest = FRAME[90:].assign(word=FRAME["word"][90:].replace("r", "new"))
    y = np.where((np.arange(ROWS) < 90) & (Y == "c"), "a", Y)
    words = {"word": nb.Categorical(), "grade": nb.Categorical()} | dict.fromkeys("uvwx")
    plain = NaiveBayes(words)
    for rows in ((first, y[:90]), (rest, y[90:])):
        plain.partial_fit(*rows, grow_classes=True)
    for lazy_first in (True, False):
        model = NaiveBayes(words)
        for rows, is_first in (((first, y[:90]), True), ((rest, y[90:]), False)):
            own = part(*rows, 3) if is_first == lazy_first else rows
            model.partial_fit(*own, grow_classes=True)
        assert_same(model, plain, rest)


# What is answered


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_joint_log_proba"])
def test_lazy_predictions_are_those_of_rows_in_memory(method: str) -> None:
    model = clone(PLAIN).fit(FRAME, Y)
    lazy = getattr(model, method)(part()[0])
    plain = getattr(model, method)(FRAME)
    assert np.isnan(lazy.shape[0])  # lengths of a dataframe's partitions are not known yet
    assert lazy.shape[1:] == plain.shape[1:]
    assert lazy.dtype == plain.dtype
    model.fit(FRAME, np.roll(Y, 1))  # the answer is of the model that was asked
    found = lazy.compute()
    assert_array_equal(found, plain) if method == "predict" else assert_allclose(found, plain, 1e-9)
    words = nb.MultinomialNB().fit(COUNTS, Y)
    lazy = getattr(words, method)(chunk(sparse.csr_array(COUNTS)))
    assert lazy.chunks[0] == (90, 90, 90, 90, 40)


def test_nothing_is_read_before_it_is_asked_for_and_everything_once() -> None:
    read = []

    def load(number: int) -> pd.DataFrame:
        read.append(number)
        return FRAME[["u", "v"]].assign(y=Y)[number * 100 : number * 100 + 100]

    lazy = dd.from_map(load, range(4), meta=FRAME[["u", "v"]].assign(y=Y)[:0])
    X = lazy[["u", "v"]]
    y = lazy["y"]
    model = GaussianNB()
    model.fit(X, y)
    assert sorted(read) == [0, 1, 2, 3]
    read.clear()
    answers = model.predict_proba(X)
    assert not read
    answers.compute()
    assert sorted(read) == [0, 1, 2, 3]


def test_threads_in_any_order_change_no_digit() -> None:
    x = np.tile(np.nan_to_num(NUMBERS), (5, 1))
    y = np.tile(Y, 5)
    expected = GaussianNB().fit(chunk(x, (60, 4)), y)

    def wait(block: Array, seed: int) -> Array:
        time.sleep(int(abs(block[0, 0]) * 1e6 + seed) % 1000 / 2e5)
        return block

    with dask.config.set(scheduler="threads", num_workers=8):
        for seed in (0, 371):
            late = chunk(x, (60, 4)).map_blocks(wait, seed, dtype=float, meta=np.empty((0, 0)))
            assert_same(GaussianNB().fit(late, y), expected, x, rtol=0)


# What is refused


def misfits() -> dict[str, tuple[tuple[Any, ...], str]]:
    """What is learnt, and what the error says of it."""
    X, (frame, labels), row = chunk(NUMBERS, (100, 4)), part(), np.arange(ROWS)
    unknown = X[X[:, 3] > -1e9]
    two_types = [
        da.from_delayed(dask.delayed(np.full)(100, label), (100,), object) for label in (1, "a")
    ]
    two_kinds = [chunk(np.full((9, 1), cell, object), 9) for cell in (1.0, "a")]
    return {
        "labels in memory beside a frame": ((frame, Y), "y is in memory, but the lengths"),
        "labels in memory beside unknown chunks": ((unknown, Y), "compute_chunk_sizes"),
        "weights in memory": ((frame, labels, np.ones(ROWS)), "sample_weight is in memory"),
        "other partitions": (
            (frame, labels.repartition(npartitions=2)),
            "6 partitions and y has 2",
        ),
        "other lengths": ((frame, labels[labels != "a"]), r"partition \d.*split alike"),
        "too few labels": ((X, Y[:-1]), "X has 400 rows, but y has 399"),
        "no labels": ((X, None), "y is None"),
        "one axis": ((X[:, 0], Y), "Expected 2D array, got 1D array"),
        "a series": ((frame["u"], labels), r"Expected 2D array.*to_frame"),
        "two labels": ((X, chunk(np.stack([Y, Y], 1), (60, 1))), "should be a 1d array"),
        "a missing label": (
            (X, np.where(row == 205, None, Y)),
            "partition 2.*labels are missing, first at row 5",
        ),
        "masked labels": ((X, np.ma.array(Y, mask=Y == "a")), "labels are masked"),
        "a negative weight": (
            (X, Y, np.where(row == 399, -1.0, 1.0)),
            "partition 3.*first at row 99: -1.0",
        ),
        "labels of two types": ((X[:200], da.concatenate(two_types)), "labels are .* in one part"),
        "columns of two kinds": (
            (da.concatenate(two_kinds), Y[:18]),
            "partition 1, counting its rows from 0: column 0 is not numeric",
        ),
        "an infinite cell": ((da.where(X > 20, np.inf, X), Y), r"partition \d.* is infinite"),
        "a bag": ((db.from_sequence([1]), Y), "only arrays and dataframes"),
        "a bag of labels": ((X, db.from_sequence([1])), "y is a Dask Bag"),
        "a lazy number": ((X, Y, da.ones(ROWS).sum()), "give an array or a series"),
        "lazy labels": ((NUMBERS, chunk(Y, 90)), r"y is a lazy Dask collection.*y\.compute\(\)"),
    }


@pytest.mark.parametrize("what", misfits())
def test_what_does_not_go_together_is_refused(what: str) -> None:
    rows, match = misfits()[what]
    model = NaiveBayes() if what == "columns of two kinds" else GaussianNB()
    with pytest.raises((ValueError, TypeError), match=f"(?s){match}"):
        model.fit(*rows)


IN_MEMORY = {
    "interval": lambda model, X: model.predict_interval(X),
    "decision": lambda model, X: model.decide(X),
    "folds": lambda model, X: model.kfold(X, Y),
    "calibration": lambda model, X: nb.calibration(model, X, Y),
}


@pytest.mark.parametrize("ask", IN_MEMORY.values(), ids=IN_MEMORY)
def test_whatever_else_needs_rows_in_memory_says_so(ask: Any) -> None:
    model = GaussianNB().fit(NUMBERS, Y)
    with pytest.raises(TypeError, match=r"X is a lazy Dask collection.*X\.compute\(\)"):
        ask(model, chunk(NUMBERS, (100, 4)))


def test_what_is_known_to_fail_fails_before_a_row_is_read() -> None:
    def read(block: Array) -> Array:
        raise AssertionError("it was read")

    X = da.zeros((100, 4), chunks=(50, 4)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    y = np.arange(100) % 3
    model = GaussianNB().fit(np.arange(6.0).reshape(3, 2), [0, 1, 2])
    with pytest.raises(ValueError, match="estimate must be one of"):
        GaussianNB(estimate="best").fit(X, y)
    for ask in (model.predict_proba, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="X has 4 features, but GaussianNB is expecting 2"):
            ask(X)
    with pytest.raises(ValueError, match="feature names should match"):
        clone(PLAIN).fit(FRAME, Y).predict_proba(part(FRAME[FRAME.columns[::-1]])[0])
    with pytest.raises(AssertionError, match="it was read"):
        GaussianNB().fit(X, y)


def test_an_error_or_a_warning_of_a_prediction_comes_with_its_partition() -> None:
    wrong = COUNTS.astype(float)
    wrong[230, 1] = -1
    lazy = nb.PoissonNB().fit(COUNTS, Y).predict_proba(chunk(wrong, (100, 6)))
    with pytest.raises(ValueError, match=r"partition 2, counting its rows from 0: .*row 30"):
        lazy.compute()
    new = part(FRAME.assign(word=FRAME["word"].replace("q", "unheard of")))[0]
    with pytest.warns(nb.UnseenLevelWarning, match="'unheard of'"):
        clone(PLAIN).fit(FRAME, Y).predict_proba(new).compute()


# Processes


@pytest.mark.slow
def test_rows_in_memory_need_no_dask() -> None:
    code = (
        "import sys; from bayesnb import GaussianNB, scale\n"
        "GaussianNB().fit([[1.0], [2.0], [4.0]], [0, 0, 1]).predict_proba([[1.0]])\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def client() -> Iterator[Any]:
    """Two processes, each of one thread."""
    from distributed import Client, LocalCluster

    patient = {"distributed.admin.tick.limit": "60s", "distributed.comm.timeouts.connect": "20s"}
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(patient | {"scheduler": None}),
        LocalCluster(**how) as cluster,
        Client(cluster) as found,
    ):
        yield found


@pytest.mark.slow
def test_a_cluster_learns_and_answers_bit_by_bit_as_one_thread(client: Any) -> None:
    X, y = part()
    with dask.config.set(scheduler="synchronous"):
        alone = clone(PLAIN).fit(X, y)
        expected = alone.predict_proba(X).compute()
        score = alone.score(X, y)
    model = clone(PLAIN).fit(X, y)
    assert_array_equal(model.predict_proba(X).compute(), expected)
    assert model.score(X, y) == score
    infinite = np.where(NUMBERS > 1e3, np.inf, NUMBERS)
    with pytest.raises(ValueError, match=r"partition \d.* is infinite"):
        GaussianNB().fit(chunk(infinite, (100, 4)), Y)


def mark(block: Array, folder: Path) -> Array:
    """A chunk that takes its time, and notes which process reads it."""
    (folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.15)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("done", [3, 20])
def test_a_worker_that_is_killed_changes_no_digit(client: Any, tmp_path: Path, done: int) -> None:
    x = np.tile(np.nan_to_num(NUMBERS), (6, 1))
    y = np.tile(Y, 6)
    X = chunk(x, (100, 4))
    expected = GaussianNB().fit(X, y)
    fitted = []
    slow = X.map_blocks(mark, tmp_path, dtype=float, meta=np.empty((0, 0)))
    work = threading.Thread(target=lambda: fitted.append(GaussianNB().fit(slow, y)), daemon=True)
    work.start()
    while len(os.listdir(tmp_path)) < done:
        assert work.is_alive()
        time.sleep(0.005)
    victim = max(os.listdir(tmp_path), key=lambda name: name.split("-")[1]).split("-")[0]
    os.kill(int(victim), signal.SIGKILL)
    work.join(timeout=180)  # a worker may wait for the dead one as long as for a slow one
    assert_same(fitted[0], expected, x, rtol=0)
    assert len(os.listdir(tmp_path)) > 24  # what the dead worker had counted was counted again
    client.wait_for_workers(2)
