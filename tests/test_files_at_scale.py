"""Tables in files of any size: what is learnt from them is what `fit` learns from the whole table."""

import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc, parquet
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayesnb
from bayesnb import (
    Bernoulli,
    Categorical,
    CategoricalNB,
    GaussianNB,
    Multinomial,
    NaiveBayes,
    Poisson,
    UnseenLevelWarning,
)
from bayesnb.data import read_file, text_cells, text_files
from bayesnb.data.frames import PandasTable
from bayesnb.integrations.many_files import TableFiles
from bayesnb.scale import Reading, Shard, fit_files, predict_files
from tests.conftest import plainly, same_bits
from tests.hostile import members_of, packed

ROWS = 600


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mixed(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Columns of many types, with missing cells; a level and a class that the first half does not have."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(rows) < 0.4, "no", "yes").astype(object)
    label[rows * 3 // 4 :: 7] = "late"
    town = rng.choice(["Ulm", "Bonn", "Köln"], rows).astype(object)
    town[rows * 2 // 3 :: 5] = "Aachen"
    town[::11] = None
    age = rng.normal(np.where(label == "yes", 40, 60), 9.0)
    age[::13] = np.nan
    count = pd.array(rng.poisson(3, rows), dtype="Int64")
    count[::17] = pd.NA
    sent = pd.array(rng.random(rows) < 0.3, dtype="boolean")
    sent[::19] = pd.NA
    return pd.DataFrame(
        {
            "age": age.round(3),
            "town": town,
            "visits": rng.integers(0, 40, rows),
            "count": count,
            "paid": rng.random(rows) < np.where(label == "no", 0.2, 0.7),
            "sent": sent,
            "weight": rng.integers(0, 3, rows) / 2,
            "label": label,
        }
    )


def write(frame: pd.DataFrame, name: str) -> str:
    """A table as a file of the format that its name says, in several stretches."""
    if name.endswith(".parquet"):
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), name, row_group_size=97)
    elif name.endswith(".feather"):
        feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), name, chunksize=83)
    elif name.endswith(".arrows"):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with ipc.new_stream(name, table.schema) as stream:
            stream.write_table(table, 71)
    else:
        text = frame.map(lambda cell: str(cell).lower() if isinstance(cell, bool) else cell)
        text.to_csv(name, sep="\t" if ".tsv" in name else ",", index=False)
    return name


def rows_of(frame: pd.DataFrame, *others: str) -> tuple[pd.DataFrame, np.ndarray]:
    return frame.drop(columns=["label", *others]), frame["label"].to_numpy()


def same(model: Any, twin: Any, rows: Any) -> None:
    """Two models have learnt the same, but for the order in which numbers were added."""
    assert model.classes_.tolist() == twin.classes_.tolist()
    assert list(model.families_) == list(twin.families_)
    assert [b.levels for b in model.schema_.blocks] == [b.levels for b in twin.schema_.blocks]
    np.testing.assert_allclose(model.log_evidence_, twin.log_evidence_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(rows), twin.predict_proba(rows), rtol=1e-9, atol=1e-300)


FORMATS = ("t.parquet", "t.feather", "t.arrows", "t.csv", "t.tsv", "t.csv.gz")


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("batch_rows", [None, 50])
def test_a_file_is_learnt_as_the_table_in_it(name: str, batch_rows: int | None) -> None:
    write(mixed(), name)
    X, y = rows_of(read_file(name))
    model = NaiveBayes(**plainly(X))
    same(fit_files(clone(model), name, "label", batch_rows=batch_rows), model.fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS[:4])
def test_rows_count_as_a_column_says(name: str) -> None:
    write(mixed(), name)
    frame = read_file(name)
    X, y = rows_of(frame, "weight")
    plain = plainly(X)
    model = fit_files(NaiveBayes(**plain), name, "label", sample_weight="weight", batch_rows=64)
    same(model, NaiveBayes(**plain).fit(X, y, sample_weight=frame["weight"]), X)


def test_a_typed_file_is_learnt_as_pandas_reads_it() -> None:
    write(mixed().assign(size=pd.Categorical(["M", "L"] * (ROWS // 2), ["S", "M", "L"])), "t.parquet")
    frame = pd.read_parquet("t.parquet")
    X, y = rows_of(frame)
    model = fit_files(NaiveBayes(**plainly(X)), "t.parquet", "label", batch_rows=90)
    same(model, NaiveBayes(**plainly(X)).fit(X, y), X)
    assert model.posterior_["size"].concentration.shape == (3, 3)  # a category that no row has is a level


def levels_of_one_batch(rows: int = 3000) -> pd.DataFrame:
    """A table whose rows lie in one group; a level occurs among the last rows only."""
    frame = mixed(rows)
    frame.loc[rows - 5 :, "town"] = "Trier"
    return frame


def test_levels_that_lie_in_a_file_as_codes_are_learnt_as_texts() -> None:
    table = pa.Table.from_pandas(levels_of_one_batch(), preserve_index=False)
    for name, has_codes in (("codes.parquet", True), ("texts.parquet", False)):
        parquet.write_table(table, name, use_dictionary=has_codes, row_group_size=1500)
    tables = {name: opened(name) for name in ("codes.parquet", "texts.parquet")}
    batches = {name: next(files.native_batches(files.kinds, 1000)) for name, files in tables.items()}
    assert (batches["codes.parquet"].coded, batches["texts.parquet"].coded) == ({"town", "label"}, set())
    codes, texts = (fit_files(NaiveBayes(), name, "label") for name in tables)
    same_bits(codes, texts)
    assert [block.levels for block in codes.schema_.blocks] == [block.levels for block in texts.schema_.blocks]
    one, two = (model.sample(50, rng=0)[0] for model in (codes, texts))
    pd.testing.assert_frame_equal(one, two)


def test_links_are_those_of_the_first_batch_as_the_documentation_says() -> None:
    rng, first = np.random.default_rng(0), 300
    frame = pd.DataFrame({name: rng.choice(["x", "y", "z"], 4 * first) for name in "abc"})
    frame["label"] = rng.integers(0, 2, len(frame))
    frame.loc[: first - 1, "b"] = frame["a"]  # two that are linked there, and two among the other rows
    frame.loc[first:, "c"] = frame["b"]
    write(frame, "t.parquet")
    X, y = rows_of(frame)
    model = NaiveBayes("categorical", dependence="forest")
    links = [
        {frozenset(link) for link in each.links_.to_frame()[["first", "second"]].values.tolist()}
        for each in (fit_files(clone(model), "t.parquet", "label", batch_rows=first), model.fit(X, y))
    ]
    assert links == [{frozenset("ab")}, {frozenset("ab"), frozenset("bc")}]


def test_a_level_is_learnt_from_the_batch_in_which_it_occurs() -> None:
    parquet.write_table(pa.Table.from_pandas(levels_of_one_batch(), preserve_index=False), "t.parquet")
    files = opened("t.parquet")
    first = next(files.native_batches(files.kinds, 1000))
    table = PandasTable(first.frame, first.coded)
    town = table.columns.index("town")
    assert "Trier" in first.frame["town"].cat.categories
    assert table.declared(town) is None
    assert set(table.distinct(town).values) == {"Ulm", "Bonn", "Köln"}
    assert table.take(np.arange(table.rows) < 9).declared(town) is None


def opened(name: str) -> TableFiles:
    return TableFiles.open(name, Reading(), lambda count: None, use_threads=False)


def test_batches_of_a_group_are_of_one_size_after_the_first_batch() -> None:
    table = pa.Table.from_pandas(mixed(), preserve_index=False)
    parquet.write_table(table, "t.parquet", row_group_size=250)
    files = opened("t.parquet")
    sizes = [len(batch.frame) for batch in files.native_batches(files.kinds, 60)]
    assert sizes == [60, 65, 125, 125, 125, 100]
    assert [len(batch.frame) for batch in files.batches(files.kinds, 100)] == [100, 100, 50, 100, 100, 50, 100]


LATE = [
    "1.5",
    "nan",
    " 2.5\u00a0",
    "\t2.5",
    "",
    "NA",
    '"NA"',
    '"1""5"',
    "+7",
    "0x1F",
    "007",
    "inf",
    "true",
    "12345678901234567890",
]

UNLIKE = ["0x1F", "007", "true", "12345678901234567890"]  # the first rows: refused where those were a guess


@pytest.mark.parametrize("guessed", [False, True])
@pytest.mark.parametrize("before", ["", "\n\n"])
@pytest.mark.parametrize("late", LATE)
def test_numbers_read_at_once_are_those_of_their_text(
    late: str, before: str, guessed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a later one is not, in a block behind many others, reading goes on there as text."""
    monkeypatch.setattr(text_files, "BLOCK", 1 << 12)
    rows = [f"{j / 8},{j % 3},p" for j in range(5000)]
    rows[4500] = f"{late},0x1F,p"
    Path("t.csv").write_text(f"{before}1,2,label\n" + "\n".join(rows), encoding="utf-8")
    files, kinds = opened("t.csv"), {"1": "number", "2": "text", "label": "text"}
    if guessed:
        files.guess(["1"])

    def read(batches: Callable[..., Any]) -> Any:
        try:
            return pd.concat([batch.frame.astype({"2": str, "label": str}) for batch in batches(kinds, 400)])
        except ValueError as error:
            return str(error)

    at_once, as_text = read(files.native_batches), read(files.batches)
    assert isinstance(as_text, str) or not (guessed and late in UNLIKE)
    if isinstance(as_text, str):
        assert at_once == as_text
    else:
        assert len(as_text) == 5000
        pd.testing.assert_frame_equal(at_once.reset_index(drop=True), as_text.reset_index(drop=True))


def test_where_a_stray_quote_changes_the_reader_does_not_depend_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 1 << 14)
    rows = [f"{j / 8},p" for j in range(12_000)]
    rows[11_000] = '3"4,p'
    Path("t.csv").write_text("x,label\n" + "\n".join(rows), encoding="utf-8")
    files = opened("t.csv")
    kinds = {"x": "text", "label": "text"}
    sizes = {tuple(len(batch.frame) for batch in files.batches(kinds, 20_000)) for _ in range(20)}
    assert (len(sizes), sum(next(iter(sizes))), min(map(len, sizes)) > 2) == (1, 12_000, True)


def test_a_row_that_lies_across_the_place_where_the_reader_changes_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow is given no more than the part before a stray quote, which ends within a long cell."""
    monkeypatch.setattr(text_files, "BLOCK", 1 << 14)
    labels = [f"{j:0>200}" for j in range(300)]
    lines = [f"3,{label}" for label in labels]
    lines[100] = f'3"4,{labels[100]}'
    Path("t.csv").write_text("x,label\n" + "\n".join(lines), encoding="utf-8")
    files, kinds = opened("t.csv"), {"x": "text", "label": "text"}
    for read in (files.batches, files.native_batches):
        assert [label for batch in read(kinds, 50) for label in batch.frame["label"]] == labels


def test_numbers_of_a_text_become_no_text_first(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.csv").write_text("x,label\n" + 5000 * "0.5,p\n,q\n", encoding="utf-8")
    files = opened("t.csv")
    kinds = files.kinds
    monkeypatch.setattr(text_cells, "as_numbers", lambda cells, decimal: pytest.fail("text was cast to numbers"))
    batches = [batch.frame["x"] for batch in files.native_batches(kinds, 400)]
    assert (sum(map(len, batches)), sum(map(np.nansum, batches))) == (10_000, 2500.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv"])
def test_native_batches_hold_the_rows_and_go_on_where_they_ended(name: str) -> None:
    frame = mixed(60_000)  # text is split into several pieces
    if name == "t.parquet":
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), name, row_group_size=14_000)
    else:
        write(frame, name)
    files = opened(name)
    batches = list(files.native_batches(files.kinds, 9000))
    assert [batch.start for batch in batches[1:]] == [batch.stop for batch in batches[:-1]]
    plain = dict.fromkeys(batches[0].coded, str)
    rows = pd.concat([batch.frame.astype(plain) for batch in batches], ignore_index=True)
    expected = pd.concat([batch.frame for batch in files.batches(files.kinds, 9000)], ignore_index=True)
    pd.testing.assert_frame_equal(rows, expected)
    for place, batch in list(enumerate(batches))[:4]:
        rest = files.native_batches(files.kinds, 9000, after=(0, batch.stop))
        for one, two in zip(batches[place + 1 :], rest, strict=True):
            pd.testing.assert_frame_equal(one.frame, two.frame)


def test_pieces_of_text_with_and_without_missing_numbers_stay_apart() -> None:
    whole = [str((1 << 53) + 1)] * 200_000  # more than Arrow splits at once
    Path("t.csv").write_text("a,label\n" + "".join(f"{cell},p\n" for cell in [*whole, "", *whole]))
    files = opened("t.csv")
    types = {batch.start: batch.frame["a"].dtype.kind for batch in files.native_batches(files.kinds, 1 << 16)}
    assert set(types.values()) == {"i", "f"}


def test_many_files_of_several_formats_are_one_table() -> None:
    frame = mixed().drop(columns="count")
    Path("all").mkdir()
    for at, name in enumerate(("a.parquet", "b.csv", "c.feather", "sub/d.tsv")):
        Path("all", name).parent.mkdir(exist_ok=True)
        write(frame[at * 150 : (at + 1) * 150].iloc[:, :: 1 if at % 2 else -1], f"all/{name}")
    Path("all/_SUCCESS").touch()
    Path("all/notes.txt").write_text("no table")
    X, y = rows_of(frame)
    twin = NaiveBayes(**plainly(X)).fit(X.iloc[:, ::-1], y)
    for paths in ("all", ["all/a.parquet", "all/b.csv", Path("all/c.feather"), "all/sub/d.tsv"], "all/**/[a-d].*"):
        same(fit_files(NaiveBayes(**plainly(X)), paths, "label"), twin, X.iloc[:, ::-1])


def test_the_names_of_folders_are_columns() -> None:
    frame = mixed()[["age", "label"]].assign(year=[2024, 2025, 2026] * 200, land=["de", "at"] * 300)
    for (year, land), part in frame.groupby(["year", "land"]):
        place = Path("table", f"year={year}", f"land={land}")
        place.mkdir(parents=True)
        write(part[["age", "label"]], str(place / "part.parquet"))
    X, y = rows_of(frame)
    for paths in ("table", "table/*/*/*.parquet"):
        model = fit_files(NaiveBayes(**plainly(X)), paths, "label")
        same(model, NaiveBayes(**plainly(X)).fit(X, y), X)
    assert fit_files(NaiveBayes(), "table", "year", columns=["age"]).classes_.tolist() == [2024, 2025, 2026]
    text = fit_files(NaiveBayes(), "table", "label", kinds={"year": "text"})
    levels = {name: own for block in text.schema_.blocks for name, own in zip(block.names, block.levels, strict=False)}
    assert levels == {"land": ("at", "de"), "year": ("2024", "2025", "2026")}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_number_of_threads_changes_no_digit(jobs: int) -> None:
    for name in ("t.parquet", "t.csv"):
        write(mixed(), name)
        one = fit_files(NaiveBayes(n_jobs=2), name, "label", batch_rows=40)
        other = fit_files(NaiveBayes(n_jobs=jobs), name, "label", batch_rows=40)
        assert one.log_evidence_ == other.log_evidence_


def test_columns_are_read_as_their_families_need_them() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "zip": rng.choice(["101", "202"], 300),
            "hits": rng.poisson(4, 300),
            "w1": rng.poisson(2, 300),
            "w2": rng.poisson(3, 300),
            "flag": rng.integers(0, 2, 300),
            "note": ["007"] * 299 + ["x"],
            "label": rng.integers(0, 2, 300),
        }
    )
    frame.to_csv("t.csv", index=False)
    families = {"zip": Categorical(), "hits": Poisson(), ("w1", "w2"): Multinomial(), "flag": Bernoulli(), "note": None}
    model = fit_files(NaiveBayes(families), "t.csv", "label", batch_rows=30)
    X, y = rows_of(frame)
    same(model, NaiveBayes(families).fit(X, y), X)
    assert model.schema_.blocks[0].levels == (("101", "202"),)
    assert model.classes_.dtype == np.int64


def test_presets_read_text_as_their_one_family_needs_it() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 0] * 50, "b": [3, 0, 1, 1] * 50, "label": ["x", "y"] * 100})
    frame.to_csv("t.csv", index=False)
    X, y = rows_of(frame)
    for preset in (CategoricalNB, GaussianNB):
        same(fit_files(preset(), "t.csv", "label", batch_rows=7), preset().fit(X, y), X)


TEXT = {
    "quotes with lines and separators in them": 'a,label\n"x,\n y",p\n"say ""hi""",q\n"x,\n y",q\n',
    "ends of lines as Windows has them": "a,label\r\n1,p\r\n2,q\r\n",
    "a mark of UTF-8": "\ufeffa,label\n1,p\n2,q\n",
    "blanks around cells": "a , label\n 1 ,p\n 2, q \n NA,q\n",
    "blank lines": "\n\na,label\n1,p\n\n2,q\n",
    "signs, exponents and infinities of all spellings": "a,b,label\n+1,1e3,p\n-2.,.5,q\n3,-1E-3,q\n",
    "no cell in a column's first rows": "a,label\n,p\n2,q\n3,q\n",
    "flags": "a,label\ntrue,p\nFALSE,q\n,q\nTrue,p\n",
    "codes": "a,label\n007,p\n10,q\n007,q\n",
    "long codes": "a,label\n1234567890123456789,p\n10,q\n",
    "missing cells, and words that are none": "a,b,label\nNA,None,p\n?,NaN,q\n2,null,q\n3,n/a,p\n",
    "semicolons": "a;b;label\n1;x;p\n2;y,z;q\n",
    "labels that are numbers": "a,label\n1,0\n2,1\n3,10\n",
    "labels that are codes": "a,label\n1,00\n2,01\n",
    "names in quotes": '"a, b","label"\n1,p\n2,q\n',
    "a cell of a header with a line in it": '"a\nb",label\n1,p\n2,q\n',
    "one column beside the labels, some empty": 'a,label\n"",p\n2,q\n',
    "digits of other scripts": "a,label\n٣,p\n٤,q\n",
    "no end of the last line": "a,label\n1,p\n2,q",
    "quotes after blanks": 'a,label\nx, "p, q"\ny,r\nz, "p, q"\n',
    "quotes within cells": 'a,label\n5" pipe,p\n7",q\n5" pipe,q\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT.keys())
def test_text_holds_the_same_columns_as_for_the_command_line(text: str) -> None:
    Path("t.csv").write_text(text, encoding="utf-8", newline="")
    frame = read_file("t.csv")
    X, y = rows_of(frame)
    twin = NaiveBayes(**plainly(X)).fit(X, y)
    model = fit_files(NaiveBayes(**plainly(X)), "t.csv", "label", batch_rows=1)
    same(model, twin, X)
    assert model.classes_.dtype == twin.classes_.dtype
    assert model.families_.keys() == twin.families_.keys()


@pytest.mark.parametrize(
    ("name", "text", "reading"),
    [
        ("comma.csv", "a;label\n1,5;p\n2,25;q\n-3;q\n", Reading(decimal=",")),
        ("latin.csv", "a,label\nä,p\nb,q\n", Reading(encoding="latin-1")),
        ("wide.csv", "a,label\nä,p\nb,q\n", Reading(encoding="utf-16")),
        ("words.csv", "a,label\n1,p\nnone,q\n2,q\n", Reading(missing=("", "none"))),
        ("bars.txt", "a|label\n1|p\n2|q\n", Reading(format="csv", delimiter="|")),
    ],
)
def test_text_is_read_as_someone_says(name: str, text: str, reading: Reading) -> None:
    Path(name).write_bytes(text.encode(reading.encoding or "utf-8"))
    X, y = rows_of(read_file(name, reading))
    model = NaiveBayes(**plainly(X))
    same(fit_files(clone(model), name, "label", reading=reading, batch_rows=1), model.fit(X, y), X)


def test_numbers_of_text_are_read_to_the_last_bit() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=500) * 10.0 ** rng.integers(-300, 100, 500), [5e-324, 0.1 + 0.2]])
    frame = pd.DataFrame({"a": values, "label": ["p", "q"] * 251})
    frame.to_csv("t.csv", index=False)
    learnt = fit_files(NaiveBayes({"a": Categorical(levels=sorted(values))}), "t.csv", "label", batch_rows=100)
    assert learnt.stats_.blocks[0].counts.sum() == len(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "later", "odd"),
    [
        ("101", "007", "'007' is not a number"),
        ("1", "x", "'x' is not a number"),
        ("true", "1", "'1' is neither true nor false"),
        ("", "x", "'x' is not a number"),
        ("2.5", "1234567890123456789", "is not a number"),
        ("1", "true", "'true' is not a number"),
    ],
)
def test_a_later_cell_that_is_unlike_the_first_is_an_error_that_says_what_to_do(
    first: str, later: str, odd: str
) -> None:
    lines = [f"{first},{'pq'[at % 2]}" for at in range(5000)]
    lines[4800] = f"{later},p"
    Path("t.csv").write_text("zip,label\n" + "\n".join(lines))
    model = NaiveBayes()
    with pytest.raises(ValueError, match=r"t\.csv, row 4800, column 'zip': .*kinds=\{'zip': 'text'\}") as raised:
        fit_files(model, "t.csv", "label", batch_rows=1000)
    assert odd in str(raised.value)
    assert not hasattr(model, "model_")
    assert later in fit_files(model, "t.csv", "label", kinds={"zip": "text"}).schema_.blocks[0].levels[0]


@pytest.mark.slow
def test_labels_that_are_no_numbers_any_more_are_an_error() -> None:
    for odd in ("x", "2.5", "007"):
        Path("t.csv").write_text("a,label\n" + "".join(f"{at},{at % 2}\n" for at in range(5000)) + f"1,{odd}\n")
        with pytest.raises(ValueError, match=r"column 'label'.*kinds=\{'label': 'text'\}"):
            fit_files(NaiveBayes(), "t.csv", "label")
        assert odd in fit_files(NaiveBayes(), "t.csv", "label", kinds={"label": "text"}).classes_.tolist()


ODD = {
    "a row that is too short": ("a,b,label\n1,2,p\n1,q\n", "bad.csv, line 3: it has 2 fields"),
    "a quote that is never closed": ('a,b,label\n1,2,p\n1,"2,q\n', "bad.csv"),
    "a byte that is no UTF-8": ("a,b,label\n1,\udcff,p\n1,2,q\n", "bad.csv.*UTF"),
    "a label that is missing": ("a,b,label\n1,2,p\n1,2,\n", "bad.csv.*column 'label'.*first at row 1"),
    "a column that stands twice": ("a,a,label\n1,2,p\n", "bad.csv.*'a' twice"),
    "another column": ("a,c,label\n1,2,p\n", "bad.csv lacks 'b' and also has 'c'"),
    "text in a column of numbers": (
        "a,b,label\n1,x,p\n",
        "good.parquet: column 'b' holds numbers, and in bad.csv text",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), ODD.values(), ids=ODD.keys())
def test_an_odd_file_is_named(text: str, said: str) -> None:
    write(pd.DataFrame({"a": [1.0, 2.0], "b": [2, 4], "label": ["p", "q"]}), "good.parquet")
    Path("bad.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    model = fit_files(NaiveBayes(), "good.parquet", "label")
    before = model.__dict__.copy()
    with pytest.raises(ValueError, match=said):
        fit_files(model, ["good.parquet", "bad.csv"], "label", batch_rows=1)
    assert model.__dict__ == before


@pytest.mark.parametrize(
    ("late", "said"),
    [
        ("1,q\n", "bad.csv, line 5002: it has 2 fields, but the header has 3.*needs quotes"),
        ('1,"2,q\n', r'bad.csv, line 5002: a quote \("\) opens here or below and is not closed'),
        ('1,"2"x,q\n', "bad.csv, line 5002: ',' is expected after '\"'"),
        ("1,\udcff,q\n", "bad.csv, line 5002: .* not UTF-8"),
        ("1,2,\n", "bad.csv: column 'label'.* first at row 5000"),
    ],
)
def test_a_row_that_is_odd_far_below_is_an_error_as_well(late: str, said: str) -> None:
    Path("bad.csv").write_bytes(("a,b,label\n" + 2500 * "1,2,p\n1,2,q\n" + late).encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=said):
        fit_files(NaiveBayes(), "bad.csv", "label", batch_rows=1000)


def test_damaged_files_are_named() -> None:
    write(mixed(), "good.parquet")
    whole = Path("good.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    Path("holed.parquet").write_bytes(whole[:2000] + bytes(3000) + whole[5000:])
    Path("cut.csv.gz").write_bytes(gzip.compress(mixed().to_csv(index=False).encode())[:-900])
    for name in ("cut.parquet", "holed.parquet", "cut.csv.gz"):
        with pytest.raises(ValueError, match=name):
            fit_files(NaiveBayes(), ["good.parquet", name], "label")


def test_what_is_not_there_is_said() -> None:
    write(mixed(), "t.parquet")
    Path("none").mkdir()
    for paths, said in (
        ("x.csv", "no file or folder 'x.csv'"),
        ("*.csv", "no Parquet"),
        ("none", "no Parquet"),
        ([], "empty"),
        ("", "empty"),
    ):
        with pytest.raises((FileNotFoundError, ValueError), match=said):
            fit_files(NaiveBayes(), paths, "label")
    for asked, said in (
        ({"target": "labels"}, "target: t.parquet has no column 'labels'; it has 'age'"),
        ({"target": "label", "sample_weight": "w"}, "sample_weight: .* 'w'"),
        ({"target": "label", "columns": ["a"]}, "columns: .* 'a'"),
        ({"target": None}, "target: .* None"),
        ({"target": "label", "columns": ["age", "age"]}, "'age' is named twice"),
        ({"target": "label", "batch_rows": 0}, "batch_rows must be at least 1, got 0"),
        ({"target": "label", "sample_weight": "town"}, "'town' holds text, and numbers are needed"),
        ({"target": "label", "columns": ["age", "label"]}, "'label' holds the labels"),
        ({"target": "label", "kinds": {"b": "text"}}, "kinds: .* 'b'"),
        ({"target": "label", "kinds": {"age": "real"}}, "'real'; it is one of number"),
    ):
        with pytest.raises(ValueError, match=said):
            fit_files(NaiveBayes(), "t.parquet", **asked)
    with pytest.raises(ValueError, match="named 2 times"):
        fit_files(NaiveBayes(), ["t.parquet", Path("t.parquet").resolve()], "label")
    with pytest.raises(TypeError, match="model: expected an estimator of bayesnb"):
        fit_files(object(), "t.parquet", "label")
    with pytest.raises(TypeError, match="model: expected an estimator of bayesnb"):
        fit_files(NaiveBayes, "t.parquet", "label")
    with pytest.raises(TypeError, match="batch_rows must be a whole number"):
        fit_files(NaiveBayes(), "t.parquet", "label", batch_rows=1.5)


def test_types_that_differ_are_an_error_that_names_the_file() -> None:
    write(pd.DataFrame({"a": [1, 2], "label": ["p", "q"]}), "one.parquet")
    write(pd.DataFrame({"a": ["x", "2"], "label": ["p", "q"]}), "two.parquet")
    with pytest.raises(ValueError, match=r"one.parquet: column 'a' holds numbers, and in two.parquet text"):
        fit_files(NaiveBayes(), ["one.parquet", "two.parquet"], "label")
    model = fit_files(NaiveBayes(), ["one.parquet", "two.parquet"], "label", kinds={"a": "text"})
    assert model.schema_.blocks[0].levels == (("1", "2", "x"),)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["age", "town", "count", "sent"])
@pytest.mark.parametrize("empty", [0, 1])
def test_a_column_of_nothing_in_one_file_is_what_it_is_in_others(column: str, empty: int) -> None:
    halves = np.array_split(np.arange(ROWS), 2)
    frame = mixed()
    frame.loc[halves[empty], column] = None
    for place, rows in enumerate(halves):
        part = frame.iloc[rows]
        write(part.assign(**{column: None}) if place == empty else part, f"{place}.parquet")
    assert pa.types.is_null(parquet.read_schema(f"{empty}.parquet").field(column).type)
    X, y = rows_of(frame)
    model = fit_files(NaiveBayes(**plainly(X)), ["0.parquet", "1.parquet"], "label", batch_rows=50)
    same(model, NaiveBayes(**plainly(X)).fit(X, y), X)
    assert predict_files(model, ["0.parquet", "1.parquet"], "out.parquet", columns=[column]) == ROWS
    found = pd.read_parquet("out.parquet")
    np.testing.assert_array_equal(found["p_yes"], model.predict_proba(X)[:, 2])
    assert found[column].isna().tolist() == frame[column].isna().tolist()
    there = frame[column].notna().to_numpy()
    assert found[column][there].tolist() == frame[column][there].tolist()


@pytest.mark.slow
def test_columns_that_are_dropped_hold_anything() -> None:
    frame = mixed()
    X, y = rows_of(frame)
    odd = {"days": pa.array(pd.date_range("2020", periods=ROWS)), "lists": pa.array([[1, 2]] * ROWS)}
    odd |= {"bytes": pa.array([b"x"] * ROWS)}
    cells = pa.Table.from_pandas(frame, preserve_index=False)
    for place, (name, column) in enumerate(odd.items()):
        cells = cells.add_column(place, name, column)
    parquet.write_table(cells, "t.parquet")
    families = dict.fromkeys(odd, None)
    rows = cells.drop_columns(["label"])
    declared = plainly(X)["families"] | families
    model = fit_files(NaiveBayes(declared), "t.parquet", "label")
    same(model, NaiveBayes(declared).fit(rows, y), rows)
    assert predict_files(model, "t.parquet", "out.parquet") == ROWS
    plain = NaiveBayes(**plainly(X))
    same(fit_files(clone(plain), "t.parquet", "label", columns=list(X)), plain.fit(X, y), X)
    with pytest.raises(
        ValueError,
        match=r"t.parquet: column 'days' holds dates or times.*days since 1970.*families=\{'days': 'drop'",
    ):
        fit_files(NaiveBayes(), "t.parquet", "label")
    with pytest.raises(ValueError, match="column 'lists' holds list"):
        fit_files(NaiveBayes({"days": None}), "t.parquet", "label")
    only = ["days", "age"]
    model = fit_files(NaiveBayes(), "t.parquet", "label", columns=only, kinds={"days": "text"})
    assert len(model.schema_.blocks[0].levels[0] if model.schema_.blocks[0].levels else ()) == ROWS


def test_columns_that_are_not_needed_may_be_of_some_files_only() -> None:
    frame = mixed()
    X, y = rows_of(frame)
    write(frame[:300].assign(first=1.0), "0.parquet")
    write(frame[300:][[*reversed(list(frame))]].assign(second="x"), "1.parquet")
    paths = ["0.parquet", "1.parquet"]
    with pytest.raises(ValueError, match=r"1\.parquet lacks 'first' and also has 'second', unlike 0.parquet"):
        fit_files(NaiveBayes(), paths, "label")
    model = fit_files(NaiveBayes(**plainly(X)), paths, "label", columns=list(X))
    same(model, NaiveBayes(**plainly(X)).fit(X, y), X)
    assert predict_files(model, paths, "out.parquet", columns="town") == ROWS
    with pytest.raises(ValueError, match=r"1\.parquet lacks 'first', unlike 0.parquet"):
        predict_files(model, paths, "out.parquet", columns=["first"])


def test_rows_may_be_chosen_by_true_and_false() -> None:
    frame = mixed()
    write(frame, "t.parquet")
    X, y = rows_of(frame, "paid")
    model = fit_files(NaiveBayes(**plainly(X)), "t.parquet", "label", sample_weight="paid")
    same(model, NaiveBayes(**plainly(X)).fit(X, y, sample_weight=frame["paid"].to_numpy()), X)


@pytest.mark.slow
def test_columns_that_are_carried_along_have_one_type(capfd: pytest.CaptureFixture) -> None:
    frame = mixed().assign(key=np.arange(ROWS))
    X, y = rows_of(frame, "key")
    model, paths = NaiveBayes().fit(X, y), ["0.parquet", "1.parquet"]
    write(frame[:300], "0.parquet")
    write(frame[300:].assign(key=frame["key"] + 0.5), "1.parquet")
    predict_files(model, paths, "out.parquet", columns=["key"])
    assert pd.read_parquet("out.parquet")["key"].tolist() == [*range(300), *np.arange(300, ROWS) + 0.5]
    write(frame[300:].assign(key="k"), "1.parquet")
    with pytest.raises(ValueError, match=r"needs one type, but 'key' is int64, and later (large_)?string"):
        predict_files(model, paths, "none.parquet", columns=["key"])
    assert not Path("none.parquet").exists()
    assert capfd.readouterr().err == ""


def test_files_and_groups_without_rows_are_skipped() -> None:
    frame = mixed()
    write(frame, "b.parquet")
    write(frame[:0], "a.parquet")
    Path("c.csv").touch()
    Path("d.csv").write_text(",".join(frame.columns) + "\n")
    X, y = rows_of(pd.read_parquet("b.parquet"))
    model = NaiveBayes(**plainly(X))
    same(fit_files(clone(model), ["a.parquet", "b.parquet", "c.csv", "d.csv"], "label"), model.fit(X, y), X)
    for paths in ("a.parquet", ["c.csv", "d.csv"], "c.csv"):
        with pytest.raises(ValueError, match="no row"):
            fit_files(NaiveBayes(), paths, "label")


def test_all_levels_that_are_not_declared_are_one_warning() -> None:
    frame = mixed()
    write(frame, "t.parquet")
    model = NaiveBayes({"town": Categorical(levels=["Ulm", "Bonn"])})
    with pytest.warns(UnseenLevelWarning) as warned:
        fit_files(model, "t.parquet", "label", batch_rows=50)
    (only,) = warned.list
    assert only.filename == __file__
    counts = frame["town"].value_counts()
    assert only.message.unseen == {"town": {name: counts[name] for name in ("Köln", "Aachen")}}


@pytest.mark.slow
def test_a_bar_shows_what_was_read(capsys: pytest.CaptureFixture) -> None:
    write(mixed(), "t.parquet")
    fit_files(NaiveBayes(), "t.parquet", "label")
    assert capsys.readouterr() == ("", "")
    size = Path("t.parquet").stat().st_size
    fit_files(NaiveBayes(), "t.parquet", "label", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting: 100%|" in err
    assert f"{size / 1000:.1f}k/{size / 1000:.1f}k" in err


def table(rows: int = ROWS) -> list[str]:
    """Three files, of several formats."""
    frame = mixed(rows).drop(columns="count")
    third = rows // 3
    parts = zip(("a.parquet", "b.csv", "c.feather"), range(0, rows, third), strict=True)
    return [write(frame[start : start + third], name) for name, start in parts]


def interrupted(additions: int, model: Any, paths: list[str], **asked: Any) -> None:
    """A fit that is interrupted when so many shards were added."""
    left, add = iter(range(additions)), Shard.__add__

    def one_more(self: Shard, other: Shard) -> Shard:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return add(self, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shard, "__add__", one_more)
        fit_files(model, paths, "label", checkpoint_seconds=0, **asked)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(1, 1), (2, 1), (1, 3)])
def test_a_fit_that_was_interrupted_goes_on_to_the_same_bits(threads: tuple[int, int]) -> None:
    paths, before, after = table(), *threads
    asked: dict[str, Any] = {"sample_weight": "weight", "batch_rows": 23, "checkpoint": "fit.ckpt"}
    families = {"town": Categorical(levels=["Ulm", "Bonn", "Köln"])}
    with pytest.warns(UnseenLevelWarning) as told:
        whole = fit_files(NaiveBayes(families), paths, "label", **asked | {"checkpoint": None})
    for additions in (3, 0, 7, 11):
        model = NaiveBayes(families, n_jobs=before)
        with pytest.raises(KeyboardInterrupt):
            interrupted(additions, model, paths, **asked)
        assert not hasattr(model, "model_")
        assert Path("fit.ckpt").exists()
    with pytest.warns(UnseenLevelWarning) as told_again:
        same_bits(fit_files(NaiveBayes(families, n_jobs=after), paths, "label", **asked), whole)
    assert str(told.list[0].message) == str(told_again.list[0].message)
    assert not Path("fit.ckpt").exists()


def test_a_checkpoint_of_another_fit_is_refused() -> None:
    paths = table()
    asked: dict[str, Any] = {"batch_rows": 23, "checkpoint": "fit.ckpt"}
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, NaiveBayes(), paths, **asked)
    kept = Path("fit.ckpt").read_bytes()
    others: list[tuple[Any, Any, dict[str, Any], str]] = [
        (NaiveBayes(class_prior=2.0), paths, {}, "`params` differs"),
        (NaiveBayes({"age": Categorical()}), paths, {}, "`params` differs"),
        (GaussianNB(), paths, {"columns": ["age"]}, "`model` differs"),
        (NaiveBayes(), paths, {"columns": ["age"]}, "`kinds` differs"),
        (NaiveBayes(), paths, {"batch_rows": 24}, "`batch_rows` differs"),
        (NaiveBayes(), paths, {"sample_weight": "weight"}, "`sample_weight` differs"),
        (NaiveBayes(), paths[:2], {}, r"its files are others, or have changed since, '.*c\.feather' first"),
        (NaiveBayes(), paths[::-1], {}, "its files had another order"),
    ]
    for model, files, more, said in others:
        with pytest.raises(ValueError, match=f"'fit.ckpt' is the checkpoint of another fit: {said}"):
            fit_files(model, files, "label", **asked | more)
    os.utime("b.csv", (0, 0))
    with pytest.raises(ValueError, match=r"changed since, '.*b\.csv' first"):
        fit_files(NaiveBayes(), paths, "label", **asked)
    assert Path("fit.ckpt").read_bytes() == kept
    Path("fit.ckpt").write_bytes(kept[:-50])
    with pytest.raises(ValueError, match=r"fit\.ckpt"):
        fit_files(NaiveBayes(), paths, "label", **asked)


CHANGES: dict[str, Any] = {
    "no place": lambda note: {key: value for key, value in note.items() if key != "place"},
    "no unseen levels": lambda note: {key: value for key, value in note.items() if key != "unseen"},
    "a place that is none": lambda note: note | {"place": [0, "1"]},
    "half a place": lambda note: note | {"place": [0]},
    "a row before the first": lambda note: note | {"place": [0, -1]},
    "a file after the last": lambda note: note | {"place": [99, 0]},
    "levels that are none": lambda note: note | {"unseen": [1]},
    "levels without counts": lambda note: note | {"unseen": {"town": {"Ulm": "often"}}},
    "questions that are none": lambda note: note | {"asked": 5},
    "files that are none": lambda note: note | {"asked": note["asked"] | {"files": [[[]], []]}},
    "levels of no column": lambda note: note | {"unseen": {"$mapping": [[1, 2]]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_checkpoint_that_says_anything_is_refused_and_named(change: Any) -> None:
    paths = table()
    asked: dict[str, Any] = {"batch_rows": 23, "checkpoint": "fit.ckpt"}
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, NaiveBayes(), paths, **asked)
    members = members_of(Path("fit.ckpt").read_bytes())
    said = json.loads(members["shard.json"])
    text = json.dumps(said | {"note": change(said["note"])}).encode()
    Path("fit.ckpt").write_bytes(packed(members | {"shard.json": text}))
    model = NaiveBayes()
    with pytest.raises(ValueError, match=r"'fit\.ckpt' .*[Dd]elete the file to begin anew\."):
        fit_files(model, paths, "label", **asked)
    assert not hasattr(model, "model_")


KILLED = """
import os, signal, sys, time, warnings
from pathlib import Path
from bayesnb import NaiveBayes
from bayesnb.scale import fit_files

asked = dict(batch_rows=40, checkpoint="fit.ckpt", checkpoint_seconds=0)
for seconds in (0.0, 0.05, 0.4, 0.15, 0.3):
    child = os.fork()
    if not child:
        fit_files(NaiveBayes(), ["a.parquet", "b.csv", "c.feather"], "label", **asked)
        os._exit(0)
    while not Path("fit.ckpt").exists():
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
fit_files(NaiveBayes(), ["a.parquet", "b.csv", "c.feather"], "label", **asked).save("killed.bnb")
"""


@pytest.mark.slow  # six processes load the kernels
def test_a_process_that_is_killed_again_and_again_ends_with_the_same_bits() -> None:
    paths = table(rows=18_000)
    done = python(KILLED)
    assert done.stdout.split() == ["-9"] * 5, done.stderr
    same_bits(bayesnb.load("killed.bnb"), fit_files(NaiveBayes(), paths, "label", batch_rows=40))


def python(code: str, *arguments: Any) -> subprocess.CompletedProcess:
    """A process of its own."""
    home = {"PYTHONPATH": str(Path(bayesnb.__file__).parent.parent)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | home)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.feather"])
def test_predictions_are_those_of_the_table_in_memory(name: str) -> None:
    write(mixed(), name)
    frame = read_file(name)
    X, y = rows_of(frame)
    model = NaiveBayes().fit(X, y)
    assert predict_files(model, name, "out.parquet", batch_rows=70) == ROWS
    out = parquet.read_table("out.parquet")
    assert out.column_names == ["predicted", "p_late", "p_no", "p_yes"]
    np.testing.assert_array_equal(out.drop_columns("predicted").to_pandas(), model.predict_proba(X))
    np.testing.assert_array_equal(out["predicted"].to_numpy(), model.predict(X))
    assert parquet.read_metadata("out.parquet").num_row_groups > 5


@pytest.mark.slow
def test_predictions_have_intervals_and_columns_that_are_carried_along() -> None:
    write(mixed(), "t.csv")
    frame = read_file("t.csv")
    X, y = rows_of(frame)
    model = NaiveBayes(**plainly(X)).fit(X[:300], y[:300])
    Path("part=1").mkdir()
    write(mixed().drop(columns=["label", "town"]).assign(town=mixed()["town"]), "part=1/t.csv")
    with pytest.warns(UnseenLevelWarning) as told:
        rows = predict_files(
            model, "p*/*.csv", "out.parquet", columns=["town", "age", "part"], ci_prob=0.8, batch_rows=99
        )
    assert (rows, len(told.list), told.list[0].filename) == (ROWS, 1, __file__)
    with pytest.warns(UnseenLevelWarning) as told_once:
        law = model.predict_interval(X, 0.8)
    assert told.list[0].message.unseen == told_once.list[0].message.unseen
    out = pd.read_parquet("out.parquet")
    assert list(out)[:7] == ["town", "age", "part", "predicted", "p_no", "p_yes", "lower_no"]
    for kind, name in (("p", "probability"), ("lower", "lower"), ("upper", "upper")):
        np.testing.assert_allclose(out[[f"{kind}_no", f"{kind}_yes"]], law[name].values, rtol=1e-12, atol=1e-15)
    pd.testing.assert_frame_equal(out[["town", "age"]], X[["town", "age"]])
    assert out["part"].eq("1").all()


def test_what_cannot_be_predicted_leaves_no_file() -> None:
    write(mixed(), "t.parquet")
    model = fit_files(NaiveBayes(), "t.parquet", "label")
    write(mixed().drop(columns="age"), "u.parquet")
    write(mixed().assign(p_no=1.0), "v.parquet")
    write(mixed()[:0], "empty.parquet")
    Path("bad.csv").write_text("age,town,visits,count,paid,sent,weight\n1,Ulm,2,3,true,true,1\nx,Ulm,2,3,true,true,1\n")
    for paths, more, said in (
        ("u.parquet", {}, "u.parquet lacks the column 'age' of the model"),
        ("v.parquet", {"columns": ["p_no"]}, "column 'p_no' already: rename it, or do not carry it along"),
        ("t.parquet", {"columns": ["none"]}, "columns: t.parquet has no column 'none'"),
        ("empty.parquet", {}, "there is no row to predict"),
        ("bad.csv", {}, "bad.csv, row 1, column 'age': 'x' is not a number"),
    ):
        with pytest.raises(ValueError, match=said):
            predict_files(model, paths, "out.parquet", **more)
    with pytest.raises(ValueError, match="is one of the files that are read"):
        predict_files(model, "t.parquet", "./t.parquet")
    assert not list(Path().glob("*out*"))
    with pytest.raises(NotFittedError):
        predict_files(NaiveBayes(), "t.parquet", "out.parquet")


PEAK = """
import re, sys
from pathlib import Path
from bayesnb import GaussianNB, scale
scale.fit_files(GaussianNB(n_jobs=2), "small.parquet", "label")
def peak():  # ru_maxrss would be the parent's, where that is more
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
start = peak()
model = scale.fit_files(GaussianNB(n_jobs=2), sys.argv[1], "label")
scale.predict_files(model, sys.argv[1], "out.parquet")
print((peak() - start) >> 10)
"""


@pytest.mark.slow  # a file of 320 MB
@pytest.mark.parametrize("name", ["big.parquet", "big.csv"])
def test_memory_does_not_grow_with_the_file(name: str) -> None:
    rng = np.random.default_rng(0)
    rows, label = 1_000_000, np.arange(1_000_000) % 2
    values = rng.normal(size=(rows, 40)).round(3)
    whole = pa.table({f"x{j}": values[:, j] for j in range(40)} | {"label": label})
    parquet.write_table(whole.slice(0, 5000), "small.parquet")
    if name.endswith("csv"):
        arrow_csv.write_csv(whole, name)
    else:
        parquet.write_table(whole, name, row_group_size=rows, use_dictionary=False, compression="none")
    assert Path(name).stat().st_size > 200e6
    done = python(PEAK, name)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 190  # megabytes: buffers of every column, and some batches


@pytest.mark.slow
def test_many_files_wait_closed() -> None:
    Path("many").mkdir()
    for at in range(40):
        write(mixed(rows=20, seed=at)[["age", "label"]], f"many/{at}.{('parquet', 'csv', 'feather')[at % 3]}")
    fit_files(NaiveBayes(), "many", "label")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 15, hard))
    try:
        fit_files(NaiveBayes(), "many", "label")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
