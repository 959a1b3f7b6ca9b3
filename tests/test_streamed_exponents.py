"""Exponents where rows stream: found by rows that were kept on the way, which are left out of all that was learnt."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesnb import Gaussian, GaussianNB, MultinomialNB, NaiveBayes, PolyaTree
from bayesnb.cli import main
from bayesnb.criticism.learnt_rows import learnt_rows
from bayesnb.estimators.loading import load
from bayesnb.estimators.tempering import tempered_by
from bayesnb.model import kept_rows
from bayesnb.model.kept_rows import KeptRows
from bayesnb.scale import Shard, dumps, fit_files, fit_shards, loads, shard
from bayesnb.selection.column_scores import column_scores
from tests.conftest import same_bits
from tests.hostile import changed, members_of, packed
from tests.test_files_at_scale import interrupted
from tests.test_storage import MODELS, Fitted

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning"),
    pytest.mark.filterwarnings("ignore::bayesnb.InclusionWarning"),
]
RULES = ["columns", "loo"]
ROUNDING = 1e-6  # of exponents, which a search finds to so many digits


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with dask.config.set(scheduler="synchronous"):
        yield tmp_path


def table(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Columns of which two repeat each other; a level and a class come late, and cells are missing."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(rows) < 0.5, "no", "yes").astype(object)
    label[2 * rows // 3 :: 5] = "late"
    size = rng.normal(label == "yes", 0.7)
    town = np.where(rng.random(rows) < 0.7, np.where(label == "no", "Ulm", "Bonn"), "Genf").astype(object)
    town[3 * rows // 4 :: 6] = "Aachen"
    size[::17], town[::19] = np.nan, None
    again = size + rng.normal(0, 0.1, rows)
    weight = rng.integers(0, 3, rows) / 2
    return pd.DataFrame({"size": size, "town": town, "again": again, "weight": weight, "label": label})


def parts_of(frame: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    return frame.drop(columns=["label", "weight"]), frame["label"].to_numpy()


def written(frame: pd.DataFrame, *stops: int) -> list[str]:
    """The rows in as many files as there are ends of files."""
    names = []
    for start, stop in pairwise([0, *stops, len(frame)]):
        names.append(f"{start:06}.parquet")
        frame[start:stop].to_parquet(names[-1])
    return names


def same_exponents(one: Any, other: Any, tolerance: float = ROUNDING) -> None:
    np.testing.assert_allclose(one.temper_, other.temper_, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.temper_sd_, other.temper_sd_, rtol=0, atol=tolerance)


def counted(fitted: Fitted, model: Any, rows: slice) -> Shard:
    X = fitted.X.iloc[rows] if isinstance(fitted.X, pd.DataFrame) else fitted.X[rows]
    weight = None if fitted.weight is None else fitted.weight[rows]
    part = shard(model, X, fitted.labels[rows], weight, keep_rows=True)
    assert part is not None
    return part


# ---- few rows: all are kept, and the exponents are those of the table in memory


ADDED_UP = [each for each in MODELS if "by default" not in each.name and each.name != "the law's polya tree"]


@pytest.mark.slow
@pytest.mark.parametrize("fitted", ADDED_UP, ids=lambda fitted: fitted.name)
def test_shards_with_rows_give_the_exponents_of_the_whole_table(fitted: Fitted) -> None:
    model, rows = clone(fitted.model).set_params(temper="columns"), len(fitted.labels)
    cuts = [0, rows // 3, rows // 2, rows]
    parts = [loads(dumps(counted(fitted, model, slice(*cut)))) for cut in pairwise(cuts)]
    whole = clone(model).fit(fitted.X, fitted.labels, sample_weight=fitted.weight)
    same_exponents(fit_shards(clone(model), parts), whole)
    same_bits_of(parts[2] + (parts[1] + parts[0]), (parts[0] + parts[1]) + parts[2])


def same_bits_of(one: Shard, other: Shard) -> None:
    """The same rows were kept, in the same order."""
    assert one.kept is not None
    assert other.kept is not None
    for name in ("codes", "weight", "keys"):
        np.testing.assert_array_equal(getattr(one.kept, name), getattr(other.kept, name))
    for a, b in zip(one.kept.cells, other.kept.cells, strict=True):
        np.testing.assert_array_equal(*(x if isinstance(x, np.ndarray) else x.toarray() for x in (a, b)))
    assert one.kept.rows == other.kept.rows


@pytest.mark.slow
@pytest.mark.parametrize("temper", RULES)
@pytest.mark.parametrize("batch_rows", [None, 41])
def test_files_give_the_exponents_of_the_table_in_them(temper: str, batch_rows: int | None) -> None:
    frame = table()
    X, y = parts_of(frame)
    model = NaiveBayes({"size": "gaussian", "again": "gaussian", "town": "categorical"}, temper=temper)
    whole = clone(model).fit(X, y, sample_weight=frame["weight"])
    files = fit_files(model, written(frame, 100, 120), "label", sample_weight="weight", batch_rows=batch_rows)
    same_exponents(files, whole)
    assert (np.abs(np.asarray(whole.temper_) - 1) > 0.05).any()


def test_files_of_which_nothing_is_declared_have_an_exponent_for_each_column() -> None:
    frame = table().drop(columns="weight")
    files = fit_files(NaiveBayes(), written(frame), "label")
    whole = NaiveBayes().fit(frame.drop(columns="label"), frame["label"])
    same_exponents(files, whole)
    np.testing.assert_allclose(
        files.predict_log_proba(frame.drop(columns="label")),
        whole.predict_log_proba(frame.drop(columns="label")),
        atol=1e-6,
    )
    assert (files.temper_ < 0.9).any()


@pytest.mark.slow
@pytest.mark.parametrize("temper", RULES)
def test_collections_of_dask_give_the_exponents_of_their_rows(temper: str) -> None:
    X, y = parts_of(table())
    model = NaiveBayes({"size": "gaussian", "again": "gaussian", "town": "categorical"}, temper=temper)
    lazy = dd.from_pandas(X.assign(label=y), npartitions=7)
    same_exponents(clone(model).fit(lazy.drop(columns="label"), lazy["label"]), clone(model).fit(X, y))
    x, numbers = X[["size", "again"]].to_numpy(), GaussianNB(temper=temper)
    array = da.from_array(x, chunks=(64, 2))
    same_exponents(clone(numbers).fit(array, da.from_array(y, chunks=64)), clone(numbers).fit(x, y))


def test_a_default_model_of_dask_has_an_exponent_for_each_column() -> None:
    X, y = parts_of(table())
    lazy = dd.from_pandas(X.assign(label=y), npartitions=1)
    same_exponents(NaiveBayes().fit(lazy.drop(columns="label"), lazy["label"]), NaiveBayes().fit(X, y))
    spread = dd.from_pandas(X.assign(label=y), npartitions=4)
    exponents = NaiveBayes().fit(spread.drop(columns="label"), spread["label"]).temper_
    assert (exponents < 0.9).any()


def test_more_partitions_go_on_from_what_was_known_as_more_rows_do() -> None:
    X, y = parts_of(table())
    families, classes = {"size": "gaussian", "again": "gaussian", "town": "categorical"}, ["late", "no", "yes"]
    model = NaiveBayes(families, temper="columns").partial_fit(X[:150], y[:150], classes=classes)
    lazy = dd.from_pandas(X[150:].assign(label=y[150:]), npartitions=3)
    other = clone(model).partial_fit(X[:150], y[:150], classes=classes)
    other.partial_fit(lazy.drop(columns="label"), lazy["label"])
    same_exponents(other, model.partial_fit(X[150:], y[150:]))


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--temper", "columns"], ["--temper", "loo"]])
def test_the_command_line_follows_the_same_rule(options: list[str]) -> None:
    frame = table().drop(columns="weight")
    X, y = frame.drop(columns="label"), frame["label"]
    frame.to_csv("all.csv", index=False)
    names = [f"{start}.csv" for start in (0, 100)]
    for name, part in zip(names, (frame[:100], frame[100:]), strict=True):
        part.to_csv(name, index=False)
    whole = NaiveBayes(temper=options[1] if options else "auto").fit(X, y)
    for at, tables in enumerate((["all.csv"], names)):
        assert main(["fit", *tables, "--target", "label", "-o", f"{at}.bnb", "-q", *options]) == 0
        same_exponents(load(f"{at}.bnb"), whole)
    assert np.size(whole.temper_) == (1 if "loo" in options else 3)


# ---- many rows: a part of them is kept, the same however the table is cut


def kept_places(rows: int, size: int) -> np.ndarray:
    """The places of the smallest hashes, by SplitMix64 in Python's whole numbers."""
    mask = 2**64 - 1

    def hashed(place: int) -> int:
        x = place * 0x9E3779B97F4A7C15 & mask
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        return x ^ x >> 31

    return np.array(sorted(range(rows), key=hashed)[:size])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """At most so many rows are kept."""
    monkeypatch.setattr(kept_rows, "MOST_ROWS", 90)
    return 90


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [(), (10,), (7, 100, 101)])
@pytest.mark.parametrize("batch_rows", [None, 33])
def test_exponents_are_found_by_rows_that_are_spread_over_the_files(
    few: int, cuts: tuple[int, ...], batch_rows: int | None
) -> None:
    X, y = parts_of(table())
    families = {"size": "gaussian", "again": "gaussian", "town": "categorical"}
    plain = NaiveBayes(families, temper=None).fit(X, y)
    every = learnt_rows(plain, X, y).rows
    part = every.where(np.isin(np.arange(len(y)), kept_places(len(y), few)))
    expected = tempered_by("columns", plain.model_, plain.schema_, part, None)
    names = written(X.assign(label=y), *cuts)
    model = fit_files(NaiveBayes(families, temper="columns"), names, "label", batch_rows=batch_rows)
    np.testing.assert_allclose(model.temper_, expected.value, atol=ROUNDING)
    np.testing.assert_allclose(model.temper_sd_, expected.sd, atol=ROUNDING)


def test_rows_that_are_kept_are_left_out_exactly(few: int) -> None:
    x, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 3
    model = GaussianNB(temper="columns")
    total = shard(model, x, y, keep_rows=True)
    fitted = fit_shards(model, [total])
    assert total is not None
    assert total.kept is not None
    rows = total.kept.labelled(total.schema)
    assert len(rows.codes) == few
    scores = column_scores(fitted.model_, rows)[1]
    for at in range(0, few, 10):
        gone = np.flatnonzero((x == rows.cells[0][at]).all(axis=1))
        rest = clone(model).set_params(temper=None).fit(x, y).forget(x[gone], y[gone]).model_.posterior.blocks[0]
        expected = np.stack([rest.only(j).score(x[gone][:, [j]])[0] for j in (0, 1)], axis=-1)
        np.testing.assert_allclose(scores[at], expected, atol=1e-10)


def test_the_rows_that_are_kept_are_spread_over_time_and_classes(few: int) -> None:
    rows = 20_000
    x, y = np.arange(rows, dtype=float)[:, None], np.arange(rows) % 10 // 9
    part = shard(GaussianNB(temper="columns"), x, y, keep_rows=True)
    assert part is not None
    assert part.kept is not None
    times = np.histogram(part.kept.cells[0], 3, (0, rows))[0]
    assert (abs(times - few / 3) < 4 * np.sqrt(few * 2 / 9)).all()
    assert abs(part.kept.codes.mean() - 0.1) < 4 * np.sqrt(0.1 * 0.9 / few)


def test_shards_that_begin_with_other_cells_keep_other_rows(few: int) -> None:
    model, rng = GaussianNB(temper="columns"), np.random.default_rng(0)
    keys = [shard(model, rng.normal(size=(5, 1)), [0, 1, 0, 1, 0], keep_rows=True).kept.keys for _ in range(50)]  # type: ignore[union-attr]
    assert len(np.unique(np.concatenate(keys))) == 250


def test_a_part_of_the_rows_that_were_kept_is_scored_where_there_were_more(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "PART", 40)
    model, x = GaussianNB(temper="columns"), np.random.default_rng(0).normal(size=(500, 2))
    part, all_there = (shard(model, x[:n], np.arange(n) % 2, keep_rows=True) for n in (500, few))
    sizes = [len(each.kept.labelled(each.schema).codes) for each in (part, all_there)]  # type: ignore[union-attr]
    assert sizes == [40, few]


def test_fewer_rows_of_wide_tables_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "NUMBERS", 1 << 12)
    x = np.random.default_rng(0).poisson(1.0, (500, 16))
    parts = [shard(MultinomialNB(temper="columns"), x[rows], np.arange(250) % 2, keep_rows=True) for rows in HALVES]
    total = parts[0] + parts[1]  # type: ignore[operator]
    assert isinstance(total.kept, KeptRows)
    assert (total.kept.rows, len(total.kept)) == (500, (1 << 12) // 16)


HALVES = (slice(250), slice(250, 500))


# ---- where no rows are kept


def test_a_shard_holds_no_row_unless_that_is_asked_for() -> None:
    X, y = parts_of(table())
    assert shard(NaiveBayes(), X, y).kept is None  # type: ignore[union-attr]
    assert shard(NaiveBayes(temper=0.5), X, y, keep_rows=True).kept is None  # type: ignore[union-attr]
    assert fit_shards(NaiveBayes(), [shard(NaiveBayes(), X, y)]).temper_ == 1.0
    with_rows = shard(GaussianNB(temper="loo"), X[["size"]], y, keep_rows=True)
    for parts in ([shard(GaussianNB(), X[["size"]], y)], [with_rows, shard(GaussianNB(), X[["size"]], y)]):
        with pytest.raises(ValueError, match="temper='loo' finds exponents by rows, and these shards have kept none"):
            fit_shards(GaussianNB(temper="loo"), parts)


def test_an_estimator_keeps_no_row() -> None:
    X, y = parts_of(table())
    model = fit_files(NaiveBayes(), written(X.assign(label=y)), "label")
    assert model._seen.kept is None
    assert not any(isinstance(value, KeptRows) for value in vars(model).values())


# ---- files of rows


def test_a_fit_that_was_interrupted_finds_the_same_exponents_to_the_last_bit(few: int) -> None:
    names = written(table(), 100)
    asked: dict[str, Any] = {"sample_weight": "weight", "batch_rows": 23, "checkpoint": "fit.ckpt"}
    whole = fit_files(NaiveBayes(), names, "label", **asked | {"checkpoint": None})
    for additions in (3, 5):
        with pytest.raises(KeyboardInterrupt):
            interrupted(additions, NaiveBayes(), names, **asked)
    model = fit_files(NaiveBayes(), names, "label", **asked)
    same_bits(model, whole)
    np.testing.assert_array_equal(model.temper_, whole.temper_)


CHANGES: dict[str, Any] = {
    "no codes": lambda kept: {name: value for name, value in kept.items() if name != "codes"},
    "fewer rows than are there": lambda kept: kept | {"rows": 3},
    "no number of rows": lambda kept: kept | {"rows": 7.5},
    "weights as codes": lambda kept: kept | {"codes": kept["weight"]},
    "codes as keys": lambda kept: kept | {"keys": kept["codes"]},
    "cells of fewer blocks": lambda kept: kept | {"cells": kept["cells"][:1]},
    "cells in another order": lambda kept: kept | {"cells": kept["cells"][::-1]},
    "cells of words": lambda kept: kept | {"cells": [{"data": kept["codes"]}, *kept["cells"][1:]]},
    "a list": lambda kept: [kept],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_rows_in_a_file_that_no_table_has_are_refused(change: Any) -> None:
    members = members_of(dumps(small()))
    document = json.loads(members["shard.json"])
    text = json.dumps(changed(document, ("kept",), change(document["kept"]))).encode()
    with pytest.raises(ValueError, match="is not a readable bayesnb shard"):
        loads(packed(members | {"shard.json": text}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("codes", 3), ("codes", -1), ("weight", -1.0), ("weight", np.nan), ("keys", 0), ("level", 999), ("level", -3)],
)
def test_numbers_in_the_rows_of_a_file_that_cannot_be_are_refused(name: str, value: float) -> None:
    members = members_of(dumps(small()))
    kept = json.loads(members["shard.json"])["kept"]
    number = kept["cells"][1]["$array"] if name == "level" else kept[name]["$array"]
    place = f"arrays/{number}.npy"
    dtype = {"codes": np.int64, "weight": float, "keys": np.uint64, "level": np.int32}[name]
    data = np.frombuffer(members[place][128:], dtype).copy()
    data[-1] = value
    with pytest.raises(ValueError, match="is not a readable bayesnb shard"):
        loads(packed(members | {place: members[place][:128] + data.tobytes()}))


def small() -> Shard:
    X, y = parts_of(table(40))
    part = shard(
        NaiveBayes({"size": Gaussian(), "again": PolyaTree(), "town": "categorical"}, temper="columns"),
        X,
        y,
        keep_rows=True,
    )
    assert part is not None
    return part
