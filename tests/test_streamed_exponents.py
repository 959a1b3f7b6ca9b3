"""Exponents where rows stream: found by rows that were kept on the way."""

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

from bayesnb import GaussianNB, NaiveBayes
from bayesnb.scale import fit_files, fit_shards, shard

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
RULES = ["columns", "loo"]
ROUNDING = 1e-6  # of exponents, which a search finds to so many digits


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with dask.config.set(scheduler="synchronous"):
        yield tmp_path


def table(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Two columns repeat each other; a level and a class come late; cells are missing."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(rows) < 0.5, "no", "yes").astype(object)
    label[2 * rows // 3 :: 5] = "late"
    size = rng.normal(label == "yes", 0.7)
    town = np.where(rng.random(rows) < 0.7, np.where(label == "no", "Ulm", "Bonn"), "Genf").astype(
        object
    )
    town[3 * rows // 4 :: 6] = "Aachen"
    size[::17], town[::19] = np.nan, None
    again = size + rng.normal(0, 0.1, rows)
    weight = rng.integers(0, 3, rows) / 2
    return pd.DataFrame(
        {"size": size, "town": town, "again": again, "weight": weight, "label": label}
    )


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


# ---- few rows: all are kept, and the exponents are those of the table in memory


@pytest.mark.slow
@pytest.mark.parametrize("temper", RULES)
@pytest.mark.parametrize("batch_rows", [None, 41])
def test_files_give_the_exponents_of_the_table_in_them(temper: str, batch_rows: int | None) -> None:
    frame = table()
    X, y = parts_of(frame)
    model = NaiveBayes(
        {"size": "gaussian", "again": "gaussian", "town": "categorical"}, temper=temper
    )
    whole = clone(model).fit(X, y, sample_weight=frame["weight"])
    files = fit_files(
        model, written(frame, 100, 120), "label", sample_weight="weight", batch_rows=batch_rows
    )
    same_exponents(files, whole)
    assert (np.abs(np.asarray(whole.temper_) - 1) > 0.05).any()


@pytest.mark.slow
@pytest.mark.parametrize("temper", RULES)
def test_collections_of_dask_give_the_exponents_of_their_rows(temper: str) -> None:
    X, y = parts_of(table())
    model = NaiveBayes(
        {"size": "gaussian", "again": "gaussian", "town": "categorical"}, temper=temper
    )
    lazy = dd.from_pandas(X.assign(label=y), npartitions=7)
    same_exponents(
        clone(model).fit(lazy.drop(columns="label"), lazy["label"]), clone(model).fit(X, y)
    )
    x = X[["size", "again"]].to_numpy()
    numbers = GaussianNB(temper=temper)
    array = da.from_array(x, chunks=(64, 2))
    same_exponents(clone(numbers).fit(array, da.from_array(y, chunks=64)), clone(numbers).fit(x, y))


def test_more_partitions_go_on_from_what_was_known_as_more_rows_do() -> None:
    X, y = parts_of(table())
    families = {"size": "gaussian", "again": "gaussian", "town": "categorical"}
    classes = ["late", "no", "yes"]
    model = NaiveBayes(families, temper="columns").partial_fit(X[:150], y[:150], classes=classes)
    lazy = dd.from_pandas(X[150:].assign(label=y[150:]), npartitions=3)
    other = clone(model).partial_fit(X[:150], y[:150], classes=classes)
    other.partial_fit(lazy.drop(columns="label"), lazy["label"])
    same_exponents(other, model.partial_fit(X[150:], y[150:]))


# ---- many rows: a part of them is kept, the same however the table is cut


# ---- where no rows are kept


def test_a_shard_holds_no_row_unless_that_is_asked_for() -> None:
    X, y = parts_of(table())
    assert shard(NaiveBayes(), X, y).kept is None  # type: ignore[union-attr]
    assert shard(NaiveBayes(temper=0.5), X, y, keep_rows=True).kept is None
    assert fit_shards(NaiveBayes(), [shard(NaiveBayes(), X, y)]).temper_ == 1.0
    with_rows = shard(GaussianNB(temper="loo"), X[["size"]], y, keep_rows=True)
    for parts in (
        [shard(GaussianNB(), X[["size"]], y)],
        [with_rows, shard(GaussianNB(), X[["size"]], y)],
    ):
        with pytest.raises(
            ValueError,
            match="temper='loo' estimates exponents from rows, and these shards keep none",
        ):
            fit_shards(GaussianNB(temper="loo"), parts)


# ---- files of rows


def test_of_many_rows_the_same_part_is_kept_however_files_are_cut() -> None:
    """Of more than 10,000 rows a part finds the exponents, the same of all files."""
    X, y = parts_of(table(12_000))
    numbers = X[["size", "again"]].assign(label=y)
    model = NaiveBayes("gaussian", temper="columns")
    whole = fit_files(clone(model), written(numbers), "label")
    cut = fit_files(clone(model), written(numbers, 700, 9_000), "label", batch_rows=2_500)
    same_exponents(whole, cut)
    others = clone(model).fit(numbers[["size", "again"]], y)
    assert (abs(whole.temper_ - others.temper_) < 4 * others.temper_sd_).all()
