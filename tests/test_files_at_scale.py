"""Tables in files of any size: what is learnt is what `fit` learns from the whole table."""

import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import feather, ipc, parquet
from sklearn.base import clone

import bayesnb as nb
from bayesnb import NaiveBayes
from bayesnb.data import read_file
from bayesnb.scale import Reading, fit_files, predict_files

ROWS = 600


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mixed(rows: int = ROWS) -> pd.DataFrame:
    """Columns of many types, with missing cells; a level and a class that the first half lacks."""
    rng = np.random.default_rng(0)
    label = np.where(rng.random(rows) < 0.4, "no", "yes").astype(object)
    label[rows * 3 // 4 :: 7] = "late"
    town = rng.choice(["Ulm", "Bonn", "Köln"], rows).astype(object)
    town[rows * 2 // 3 :: 5] = "Aachen"
    town[::11] = None
    age = rng.normal(np.where(label == "yes", 40, 60), 9.0).round(3)
    age[::13] = np.nan
    count = pd.array(rng.poisson(3, rows), dtype="Int64")
    count[::17] = pd.NA
    sent = pd.array(rng.random(rows) < 0.3, dtype="boolean")
    sent[::19] = pd.NA
    paid = rng.random(rows) < np.where(label == "no", 0.2, 0.7)
    weight = rng.integers(0, 3, rows) / 2
    columns = {"age": age, "town": town, "count": count, "sent": sent, "paid": paid}
    return pd.DataFrame({**columns, "weight": weight, "label": label})


def write(frame: pd.DataFrame, name: str) -> str:
    """A table as a file of the format that its name says, in several stretches."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if name.endswith(".parquet"):
        parquet.write_table(table, name, row_group_size=97)
    elif name.endswith(".feather"):
        feather.write_feather(table, name, chunksize=83)
    elif name.endswith(".arrows"):
        with ipc.new_stream(name, table.schema) as stream:
            stream.write_table(table, 71)
    else:
        frame.to_csv(name, sep="\t" if ".tsv" in name else ",", index=False)
    return name


def rows_of(frame: pd.DataFrame, *others: str) -> tuple[pd.DataFrame, np.ndarray]:
    return frame.drop(columns=["label", *others]), frame["label"].to_numpy()


def declared(X: Any, **more: Any) -> NaiveBayes:
    """A model that chooses nothing by its first batch: numbers are Gaussian, text has levels."""
    families = {}
    for name, dtype in X.dtypes.items():
        if dtype.kind in "iuf":
            families[name] = "gaussian"
        elif dtype.kind != "b":
            families[name] = "categorical"
    return NaiveBayes(families | more, temper=None, dependence=None)


def assert_same(model: Any, twin: Any, X: Any) -> None:
    """Two models have learnt the same, but for the order in which numbers were added."""
    assert model.classes_.tolist() == twin.classes_.tolist()
    assert model.classes_.dtype == twin.classes_.dtype
    assert list(model.families_) == list(twin.families_)
    assert_allclose(model.log_evidence_, twin.log_evidence_, rtol=1e-12)
    assert_allclose(model.predict_proba(X), twin.predict_proba(X), rtol=1e-9, atol=1e-300)


FORMATS = ["t.parquet", "t.feather", "t.arrows", "t.csv", "t.tsv", "t.csv.gz"]


FORMATS_AND_WEIGHTS = [(name, None) for name in FORMATS]
FORMATS_AND_WEIGHTS += [("t.parquet", "weight"), ("t.csv", "weight"), ("t.csv", "paid")]


@pytest.mark.parametrize(("name", "weight"), FORMATS_AND_WEIGHTS)
def test_a_file_is_learnt_and_predicted_as_the_table_in_it(name: str, weight: str | None) -> None:
    frame = read_file(write(mixed(), name))
    X, y = rows_of(frame, *([weight] if weight else []))
    counts = None if weight is None else frame[weight].to_numpy()
    model = declared(X)
    learnt = fit_files(clone(model), name, "label", sample_weight=weight, batch_rows=50)
    model.fit(X, y, sample_weight=counts)
    assert_same(learnt, model, X)
    assert predict_files(model, name, "out.parquet", batch_rows=70) == ROWS
    out = pd.read_parquet("out.parquet")
    assert list(out) == ["predicted", *(f"p_{label}" for label in model.classes_)]
    assert_array_equal(out.drop(columns="predicted"), model.predict_proba(X))
    assert_array_equal(out["predicted"], model.predict(X))


TEXT = {
    "quotes with lines and separators in them": 'a,label\n"x,\n y",p\n"say ""hi""",q\n"x,\n y",q\n',
    "ends of lines as Windows has them": "a,label\r\n1,p\r\n2,q\r\n",
    "a mark of UTF-8, and blanks around cells": "\ufeffa , label\n 1 ,p\n 2, q \n NA,q\n",
    "blank lines": "\n\na,label\n1,p\n\n2,q\n",
    "signs, exponents and infinities": "a,b,label\n+1,1e3,p\n-2.,.5,q\n3,-1E-3,q\n",
    "no cell in a column's first rows": "a,label\n,p\n2,q\n3,q\n",
    "flags": "a,label\ntrue,p\nFALSE,q\n,q\nTrue,p\n",
    "codes": "a,label\n007,p\n10,q\n1234567890123456789,q\n",
    "missing cells, and words that are none": "a,b,label\nNA,None,p\n?,NaN,q\n2,null,q\n3,n/a,p\n",
    "semicolons": "a;b;label\n1;x;p\n2;y,z;q\n",
    "labels that are numbers": "a,label\n1,0\n2,1\n3,10\n",
    "labels that are codes": "a,label\n1,00\n2,01\n",
    "names in quotes, one with a line in it": '"a,\nb","label"\n1,p\n2,q\n',
    "no end of the last line, and digits of other scripts": "a,label\n٣,p\n٤,q",
    "quotes within cells": 'a,label\nx,"p, q"\n5" pipe,r\nz,"p, q"\n',
}


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_text_holds_the_same_columns_in_batches_as_at_once(text: str) -> None:
    Path("t.csv").write_text(text, encoding="utf-8", newline="")
    X, y = rows_of(read_file("t.csv"))
    model = declared(X)
    assert_same(fit_files(clone(model), "t.csv", "label", batch_rows=1), model.fit(X, y), X)


@pytest.mark.parametrize("late", ["7", "true", "1.5"])
@pytest.mark.parametrize("files", [1, 2])
def test_a_level_that_looks_like_a_number_is_a_level(late: str, files: int) -> None:
    rows = [f"{'uvw'[at % 3]},{'pq'[at % 2]}\n" for at in range(100)]
    parts = [rows, [f"{late},p\n"] * 100]
    for at, part in enumerate(parts if files == 2 else [parts[0] + parts[1]]):
        Path(f"{at}.csv").write_text("a,label\n" + "".join(part))
    model = fit_files(NaiveBayes(), "*.csv", "label", batch_rows=50)
    assert late in model.schema_.blocks[0].levels[0]


LABELS_IN_FILES = [
    (["1\n2\n", "1.0\n2.0\n"], [1.0, 2.0]),
    (["1\n2\n" * 3000 + "1.0\n"], [1, 2]),
    (["true\nfalse\n", "TRUE\n"], [False, True]),
    (["true\nfalse\n", "x\n"], ["false", "true", "x"]),
    (["a\n7\n" * 3000, "7\n8\n"], ["7", "8", "a"]),
]


@pytest.mark.parametrize(("files", "classes"), LABELS_IN_FILES, ids=str)
def test_labels_of_several_files_are_what_they_are_in_one_table(
    files: list[str], classes: list[Any]
) -> None:
    for at, labels in enumerate(files):
        rows = [f"{at % 7},{label}\n" for at, label in enumerate(labels.split())]
        Path(f"{at}.csv").write_text("a,label\n" + "".join(rows))
    model = fit_files(NaiveBayes("gaussian"), "*.csv", "label")
    assert model.classes_.tolist() == classes
    assert {type(label) for label in model.classes_.tolist()} == set(map(type, classes))


def test_whole_numbers_and_real_ones_are_the_same_labels_in_typed_files() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "label": [1, 2, 1]})
    write(frame, "0.parquet")
    write(frame.astype({"label": float}), "1.parquet")
    assert fit_files(NaiveBayes("gaussian"), "*.parquet", "label").classes_.tolist() == [1.0, 2.0]


READINGS = [
    ("a;label\n1,5;p\n2,25;q\n-3;q\n", Reading(decimal=",")),
    ("a,label\nä,p\nb,q\n", Reading(encoding="latin-1")),
    ("a,label\nä,p\nb,q\n", Reading(encoding="utf-16")),
    ("a,label\n1,p\nnone,q\n2,q\n", Reading(missing=("", "none"))),
    ("a|label\n1|p\n2|q\n", Reading(format="csv", delimiter="|")),
]


@pytest.mark.parametrize(("text", "reading"), READINGS, ids=str)
def test_text_is_read_as_someone_says(text: str, reading: Reading) -> None:
    Path("t.txt").write_bytes(text.encode(reading.encoding or "utf-8"))
    reading = Reading(**{**reading.__dict__, "format": "csv"})
    X, y = rows_of(read_file("t.txt", reading))
    model = declared(X)
    learnt = fit_files(clone(model), "t.txt", "label", reading=reading, batch_rows=1)
    assert_same(learnt, model.fit(X, y), X)


LATE = [
    "nan",
    " 2.5\u00a0",
    "",
    '"1""5"',
    "+7",
    "0x1F",
    "007",
    '3"4',
    "12345678901234567890",
]


@pytest.mark.slow
@pytest.mark.parametrize("late", LATE)
def test_a_late_cell_that_is_read_otherwise_changes_nothing_else(late: str) -> None:
    """Far below, behind other pieces of text, where Arrow reads on otherwise or not at all."""
    rows = [f"{j % 800 / 8},{j:0>20},{'pq'[j % 2]}\n" for j in range(100_000)]
    rows[90_000] = f"{late},odd,p\n"
    Path("t.csv").write_text("x,key,label\n" + "".join(rows), encoding="utf-8")
    X, y = rows_of(read_file("t.csv"), "key")
    families = {"x": "categorical" if X["x"].dtype.kind == "O" else "gaussian", "key": None}
    model = NaiveBayes(families, temper=None)
    kinds = {"x": "text"} if X["x"].dtype.kind == "O" else None
    learnt = fit_files(clone(model), "t.csv", "label", kinds=kinds, batch_rows=4000)
    assert_same(learnt, model.fit(X.assign(key=""), y), X[89_000:91_000].assign(key=""))
    predict_files(learnt, "t.csv", "out.parquet", columns=["key"])
    keys = pd.read_parquet("out.parquet")["key"]
    assert keys.tolist() == [*(f"{j:0>20}" for j in range(90_000)), "odd", *keys[90_001:]]
    assert keys.iloc[-1] == f"{99_999:0>20}"


def test_levels_that_lie_in_a_file_as_codes_are_learnt_as_texts() -> None:
    frame = mixed(3000)
    frame.loc[2995:, "town"] = "Trier"  # of one batch only, in a dictionary of all
    for name, has_codes in (("codes.parquet", True), ("texts.parquet", False)):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        parquet.write_table(table, name, use_dictionary=has_codes, row_group_size=1500)
    model = declared(frame.drop(columns="label"))
    models = [fit_files(clone(model), name, "label") for name in ("codes.parquet", "texts.parquet")]
    assert models[0].log_evidence_ == models[1].log_evidence_
    one, two = (model.sample(50, rng=0)[0] for model in models)
    pd.testing.assert_frame_equal(one, two)
    sizes = pd.Categorical(["M", "L"] * 1500, ["S", "M", "L"])
    write(frame.assign(size=sizes), "size.parquet")
    model = fit_files(NaiveBayes("categorical"), "size.parquet", "label", columns=["size"])
    assert model.posterior_["size"].concentration.shape == (3, 3)  # a level that no row has is one


def test_many_files_of_several_formats_are_one_table() -> None:
    frame = mixed().drop(columns=["count", "sent"])
    Path("all/sub").mkdir(parents=True)
    for at, name in enumerate(("a.parquet", "b.csv", "c.feather", "sub/d.tsv")):
        write(frame[at * 150 : (at + 1) * 150].iloc[:, :: 1 if at % 2 else -1], f"all/{name}")
    write(frame[:0], "all/e.parquet")
    Path("all/_SUCCESS").touch()
    for hidden in ("all/_temporary", "all/.part"):
        Path(hidden).mkdir()
        write(frame, f"{hidden}/rows.parquet")
    Path("all/notes.txt").write_text("no table")
    Path("all/empty.csv").touch()
    X, y = rows_of(frame.iloc[:, ::-1])
    model = declared(X).fit(X, y)
    names = ["all/a.parquet", "all/b.csv", Path("all/c.feather"), "all/sub/d.tsv"]
    for paths in ("all", names, "all/**/[a-d].*"):
        assert_same(fit_files(clone(model), paths, "label"), model, X)


def test_a_folder_that_holds_a_link_to_itself_is_read_once() -> None:
    frame = mixed()[["age", "label"]]
    Path("all").mkdir()
    write(frame, "all/t.parquet")
    Path("all/again").symlink_to(Path("all").resolve())
    X, y = rows_of(frame)
    model = declared(X).fit(X, y)
    assert_same(fit_files(clone(model), "all", "label"), model, X)


def test_the_names_of_folders_are_columns() -> None:
    frame = mixed()[["age", "label"]].assign(year=[2024, 2025, 2026] * 200, land=["de", "at"] * 300)
    for (year, land), part in frame.groupby(["year", "land"]):
        place = Path("table", f"year={year}", f"land={land}")
        place.mkdir(parents=True)
        write(part[["age", "label"]], str(place / "part.parquet"))
    X, y = rows_of(frame)
    model = declared(X).fit(X, y)
    assert_same(fit_files(clone(model), "table", "label"), model, X)
    years = fit_files(NaiveBayes(), "table", "year", columns=["age"])
    assert years.classes_.tolist() == [2024, 2025, 2026]


def test_names_of_folders_may_have_any_order_and_a_column_only_once() -> None:
    for at, place in enumerate(["k=1/l=2", "l=3/k=4", "=5/k=6/l=7"]):
        Path("in-order", place).mkdir(parents=True)
        write(mixed()[["age", "label"]][at::3], f"in-order/{place}/t.parquet")
    model = fit_files(NaiveBayes("gaussian"), "in-order", "label")
    assert list(model.families_) == ["age", "k", "l"]
    Path("twice/k=1/k=2").mkdir(parents=True)
    write(mixed(), "twice/k=1/k=2/t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: the names of its folders contain 'k' twice"):
        fit_files(NaiveBayes(), "twice", "label")


def test_columns_are_read_as_their_families_need_them() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.poisson(2, (300, 3)), columns=["hits", "w1", "w2"])
    frame["zip"] = rng.choice(["101", "202"], 300)
    frame["note"] = ["007"] * 299 + ["x"]
    frame["label"] = rng.integers(0, 2, 300)
    families = {"zip": "categorical", "hits": "poisson", ("w1", "w2"): "multinomial", "note": None}
    X, y = rows_of(read_file(write(frame, "t.csv"), kinds={"zip": "text"}))
    model = NaiveBayes(families)
    assert_same(fit_files(clone(model), "t.csv", "label", batch_rows=30), model.fit(X, y), X)
    X = X[["hits", "w1"]]
    model = nb.CategoricalNB()
    learnt = fit_files(nb.CategoricalNB(), "t.csv", "label", columns=["hits", "w1"], batch_rows=7)
    assert_same(learnt, model.fit(X, y), X)


@pytest.mark.parametrize(
    ("column", "empty"), [("age", 0), ("town", 0), ("town", 1), ("count", 1), ("sent", 0)]
)
def test_a_column_of_nothing_in_one_file_is_what_it_is_in_others(column: str, empty: int) -> None:
    frame = mixed()
    halves = [slice(0, 299), slice(300, ROWS)]
    frame.loc[halves[empty], column] = None
    for place, half in enumerate(halves):
        part = frame.loc[half]
        write(part.assign(**{column: None}) if place == empty else part, f"{place}.parquet")
    X, y = rows_of(frame)
    model = declared(X)
    paths = ["0.parquet", "1.parquet"]
    assert_same(fit_files(clone(model), paths, "label", batch_rows=50), model.fit(X, y), X)
    assert predict_files(model, paths, "out.parquet", columns=[column]) == ROWS
    carried = pd.read_parquet("out.parquet")[column]
    assert carried.isna().tolist() == frame[column].isna().tolist()
    assert carried.dropna().tolist() == frame[column].dropna().tolist()


def test_columns_that_are_not_needed_hold_anything_or_are_of_some_files_only() -> None:
    frame = mixed()
    X, y = rows_of(frame)
    extra = {"days": pd.date_range("2020", periods=ROWS), "lists": [[1, 2]] * ROWS}
    write(frame.assign(**extra)[:300].assign(first=1.0), "0.parquet")
    write(frame.assign(**extra)[300:][[*extra, *reversed(list(frame))]], "1.parquet")
    model = declared(X).fit(X, y)
    paths = ["0.parquet", "1.parquet"]
    assert_same(fit_files(clone(model), paths, "label", columns=list(X)), model, X)
    dropped = declared(X, days=None, lists=None)
    assert not set(extra) & set(fit_files(dropped, paths[1], "label").posterior_)
    assert predict_files(model, paths, "out.parquet", columns="town") == ROWS


def test_predictions_have_intervals_and_columns_that_are_carried_along() -> None:
    X, y = rows_of(read_file(write(mixed(), "t.csv")))
    model = declared(X).fit(X[:300], y[:300])
    Path("part=1").mkdir()
    write(mixed().drop(columns="label"), "part=1/t.csv")
    with pytest.warns(nb.UnseenLevelWarning) as warned:
        predict_files(
            model, "p*/*.csv", "out.parquet", columns=["town", "part"], ci_prob=0.8, batch_rows=99
        )
    (only,) = warned.list
    assert only.filename == __file__
    assert only.message.unseen == {"town": {"Aachen": (X["town"] == "Aachen").sum()}}
    with pytest.warns(nb.UnseenLevelWarning):
        intervals = model.predict_interval(X, 0.8)
    out = pd.read_parquet("out.parquet")
    assert list(out)[:4] == ["town", "part", "predicted", "p_no"]
    for kind, name in (("p", "probability"), ("lower", "lower"), ("upper", "upper")):
        assert_allclose(out[[f"{kind}_no", f"{kind}_yes"]], intervals[name].values, rtol=1e-12)


# What cannot be learnt or predicted is named, and changes nothing


GOOD = pd.DataFrame({"a": [1.0, 2.0], "b": [2, 4], "label": ["p", "q"]})
LONG = "a,b,label\n" + 2500 * "1,2,p\n1,2,q\n"
FAULTS = [
    ("a,b,label\n1,2,p\n1,q\n", "bad.csv, row 1: it has 2 fields"),
    ('a,b,label\n1,2,p\n1,"2,q\n', "bad.csv"),
    ("a,b,label\n1,\udcff,p\n1,2,q\n", "bad.csv.*UTF"),
    ("a,b,label\n1,2,p\n1,2,\n", "bad.csv.*column 'label'.*first at row 1"),
    ("a,a,label\n1,2,p\n", "bad.csv.*'a' twice"),
    ("a,c,label\n1,2,p\n", "bad.csv lacks 'b' and also has 'c'"),
    ("a,b,label\n1,x,p\n", "good.parquet: column 'b' holds numbers, but in bad.csv text"),
    (LONG + "1,q\n", "bad.csv, row 5000: it has 2 fields, but the header has 3"),
    (LONG + '1,"2,q\n', r'bad.csv, row 5000: .* a quote \("\) is not closed'),
    (LONG + '1,2,"q\n1,2,q\n', r'bad.csv: a quote \("\) is opened and never'),
    (LONG + "1,\udcff,q\n", "bad.csv, row 5000: .* not UTF-8"),
    (LONG + "1,2,\n", "bad.csv: column 'label'.* first at row 5000"),
    (LONG + "1,007,p\n", "bad.csv, row 5000, column 'b': '007' is not a number.*kinds="),
    (LONG + "1,1234567890123456789,p\n", "bad.csv, row 5000, column 'b'.*is not a number"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_file_with_a_fault_is_named_and_the_model_stays(text: str, message: str) -> None:
    write(GOOD, "good.parquet")
    Path("bad.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    model = fit_files(NaiveBayes(), "good.parquet", "label")
    before = model.__dict__.copy()
    with pytest.raises(ValueError, match=message):
        fit_files(model, ["good.parquet", "bad.csv"], "label", batch_rows=1000)
    assert model.__dict__ == before


@pytest.mark.parametrize("late", ["2.5", "007"])
def test_labels_that_are_no_numbers_any_more_are_an_error_and_can_be_text(late: str) -> None:
    rows = [f"{at},{at % 2}\n" for at in range(5000)]
    Path("t.csv").write_text("a,label\n" + "".join(rows) + f"1,{late}\n")
    with pytest.raises(ValueError, match=r"column 'label'.*kinds=\{'label': 'text'\}"):
        fit_files(NaiveBayes("gaussian"), "t.csv", "label")
    model = fit_files(NaiveBayes("gaussian"), "t.csv", "label", kinds={"label": "text"})
    assert late in model.classes_.tolist()


def test_damaged_files_are_named() -> None:
    whole = Path(write(mixed(), "good.parquet")).read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    Path("holed.parquet").write_bytes(whole[:2000] + bytes(3000) + whole[5000:])
    Path("cut.csv.gz").write_bytes(gzip.compress(mixed().to_csv(index=False).encode())[:-900])
    for name in ("cut.parquet", "holed.parquet", "cut.csv.gz"):
        with pytest.raises(ValueError, match=name):
            fit_files(NaiveBayes(), ["good.parquet", name], "label")


ARGUMENTS: list[tuple[Any, dict[str, Any], str]] = [
    ("x.csv", {}, "no file or folder 'x.csv'"),
    ("*.csv", {}, "no Parquet"),
    ([], {}, "empty"),
    ("none.parquet", {}, "no row"),
    (["t.parquet", Path("t.parquet")], {}, "named twice"),
    (
        "t.parquet",
        {"target": "labels"},
        "target: t.parquet has no column 'labels'; did you mean 'label'",
    ),
    ("t.parquet", {"sample_weight": "town"}, "'town' holds text, but numbers are needed"),
    ("t.parquet", {"columns": ["age", "age"]}, "'age' is named twice"),
    ("t.parquet", {"columns": ["age", "label"]}, "'label' holds the labels"),
    ("t.parquet", {"kinds": {"age": "real"}}, "'real'; use one of number"),
    ("t.parquet", {"batch_rows": 0}, "batch_rows must be at least 1, got 0"),
    ("days.parquet", {}, "column 'days' holds dates or times.*days since 1970"),
    (["t.parquet", "days.parquet"], {}, "days.parquet also has 'days', unlike t.parquet"),
]


@pytest.mark.parametrize(("paths", "arguments", "message"), ARGUMENTS)
def test_what_cannot_be_read_is_named(paths: Any, arguments: dict[str, Any], message: str) -> None:
    write(mixed(), "t.parquet")
    write(mixed()[:0], "none.parquet")
    write(mixed().assign(days=pd.Timestamp("2020-01-01")), "days.parquet")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        fit_files(NaiveBayes(), paths, **{"target": "label"} | arguments)


PREDICTIONS: list[tuple[Any, dict[str, Any], str]] = [
    ("u.parquet", {}, "columns of the model: u.parquet has no column 'age'"),
    ("v.parquet", {"columns": ["p_no"]}, "already has a column 'p_no': rename it"),
    (["t.parquet", "v.parquet"], {"columns": ["p_no"]}, "t.parquet.* 'p_no'"),
    (["t.parquet", "w.parquet"], {"columns": ["weight"]}, "'weight' is .* later"),
    ("none.parquet", {}, "there is no row to predict"),
    ("bad.csv", {}, "bad.csv, row 500, column 'age': 'x' is not a number"),
]


@pytest.mark.parametrize(("paths", "arguments", "message"), PREDICTIONS)
def test_what_cannot_be_predicted_leaves_no_file(
    paths: Any, arguments: dict[str, Any], message: str
) -> None:
    frame = mixed()
    write(frame, "t.parquet")
    model = fit_files(
        declared(frame.drop(columns=["label", "weight"]), weight=None), "t.parquet", "label"
    )
    write(frame.drop(columns="age"), "u.parquet")
    write(frame.assign(p_no=1.0), "v.parquet")
    write(frame.assign(weight="k"), "w.parquet")
    write(frame[:0], "none.parquet")
    frame["age"] = frame["age"].astype(object)
    frame.loc[500, "age"] = "x"
    frame.to_csv("bad.csv", index=False)
    with pytest.raises(ValueError, match=message):
        predict_files(model, paths, "out.parquet", batch_rows=100, **arguments)
    with pytest.raises(ValueError, match="is one of the input files"):
        predict_files(model, "t.parquet", "./t.parquet")
    assert not list(Path().glob("*out*"))


# Fits that are interrupted go on


def several_files(rows: int = ROWS, files: int = 9) -> list[str]:
    frame = mixed(rows).drop(columns=["count", "sent"])
    names = []
    for part in range(files):
        name = f"{part}.{('parquet', 'csv', 'feather')[part % 3]}"
        names.append(write(frame[part * rows // files : (part + 1) * rows // files], name))
    return names


def interrupt(checkpoints: int, model: Any, paths: list[str], **asked: Any) -> None:
    """Fit, and be interrupted when so many checkpoints were written."""
    replace = os.replace
    left = iter(range(checkpoints))

    def replace_once_more(*names: Any, **more: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        replace(*names, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", replace_once_more)
        with pytest.raises(KeyboardInterrupt):
            fit_files(model, paths, "label", checkpoint_seconds=0, **asked)


ASKED: dict[str, Any] = {"sample_weight": "weight", "batch_rows": 23, "checkpoint": "fit.ckpt"}


@pytest.mark.parametrize("threads", [(2, 1), (1, 3)])
@pytest.mark.slow
def test_a_fit_that_was_interrupted_goes_on_to_the_same_bits(threads: tuple[int, int]) -> None:
    paths, (before, after) = several_files(), threads
    families = {"town": nb.Categorical(levels=["Ulm", "Bonn", "Köln"])}
    with pytest.warns(nb.UnseenLevelWarning) as warned:
        whole = fit_files(NaiveBayes(families), paths, "label", **ASKED | {"checkpoint": None})
    for checkpoints in (3, 2):
        model = NaiveBayes(families, n_jobs=before)
        interrupt(checkpoints, model, paths, **ASKED)
        assert not hasattr(model, "classes_")
    with pytest.warns(nb.UnseenLevelWarning) as warned_again:
        model = fit_files(NaiveBayes(families, n_jobs=after), paths, "label", **ASKED)
    X = rows_of(mixed()[:400], "count", "sent", "weight")[0]
    assert_array_equal(model.predict_log_proba(X), whole.predict_log_proba(X))
    assert model.log_evidence_ == whole.log_evidence_
    assert str(warned.list[0].message) == str(warned_again.list[0].message)
    assert not Path("fit.ckpt").exists()


OTHERS: list[tuple[Any, dict[str, Any], str]] = [
    (NaiveBayes(class_prior=2.0), {}, "`params` differs"),
    (nb.GaussianNB(), {"columns": ["age"]}, "`model` differs"),
    (NaiveBayes(), {"columns": ["age"]}, "`kinds` differs"),
    (NaiveBayes(), {"batch_rows": 24}, "`batch_rows` differs"),
    (NaiveBayes(), {"sample_weight": None}, "`sample_weight` differs"),
    (NaiveBayes(), {"paths": ["2.feather", "0.parquet", "1.csv"]}, "its files had another order"),
    (NaiveBayes(), {"paths": ["0.parquet", "1.csv"]}, "its files differ"),
]


def test_a_checkpoint_of_another_fit_is_refused() -> None:
    paths = several_files(files=3)
    interrupt(2, NaiveBayes(), paths, **ASKED)
    checkpoint = Path("fit.ckpt").read_bytes()
    for model, more, message in OTHERS:
        with pytest.raises(
            ValueError, match=f"'fit.ckpt' is the checkpoint of another fit: {message}"
        ):
            fit_files(model, **{"paths": paths, "target": "label"} | ASKED | more)
    os.utime("1.csv", (0, 0))
    with pytest.raises(ValueError, match=r"have changed, first '.*1\.csv'"):
        fit_files(NaiveBayes(), paths, "label", **ASKED)
    assert Path("fit.ckpt").read_bytes() == checkpoint
    Path("fit.ckpt").write_bytes(checkpoint[:-50])
    with pytest.raises(ValueError, match=r"fit\.ckpt"):
        fit_files(NaiveBayes(), paths, "label", **ASKED)


def python(code: str, *arguments: Any) -> str:
    """What a process of its own prints."""
    home = {"PYTHONPATH": str(Path(nb.__file__).parent.parent)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | home
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


KILLED = """
import os, signal, sys, time
from pathlib import Path
from bayesnb import NaiveBayes
from bayesnb.scale import fit_files

paths, asked = sys.argv[1:], dict(batch_rows=40, checkpoint="fit.ckpt", checkpoint_seconds=0)
for kill in range(10):
    before = Path("fit.ckpt").stat().st_mtime_ns if kill else 0
    child = os.fork()
    if not child:
        fit_files(NaiveBayes(), paths, "label", **asked)
        os._exit(0)
    while not Path("fit.ckpt").exists() or Path("fit.ckpt").stat().st_mtime_ns == before:
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
fit_files(NaiveBayes(), paths, "label", **asked).save("killed.bnb")
"""


@pytest.mark.slow
def test_a_process_that_is_killed_ten_times_ends_with_the_same_bits() -> None:
    paths = several_files(rows=18_000, files=30)
    assert python(KILLED, *paths).split() == ["-9"] * 10
    fit_files(NaiveBayes(), paths, "label", batch_rows=40).save("whole.bnb")
    assert Path("killed.bnb").read_bytes() == Path("whole.bnb").read_bytes()


PEAK = """
import re, sys
from pathlib import Path
from bayesnb import GaussianNB, scale

def peak():  # ru_maxrss would be the parent's, where that is more
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

scale.fit_files(GaussianNB(n_jobs=2), "small.parquet", "label")
start = peak()
model = scale.fit_files(GaussianNB(n_jobs=2), sys.argv[1], "label")
scale.predict_files(model, sys.argv[1], "out.parquet")
print((peak() - start) >> 10)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file() -> None:
    values = np.random.default_rng(0).normal(size=(1_000_000, 40))
    table = pa.table({f"x{j}": values[:, j] for j in range(40)})
    table = table.append_column("label", pa.array(np.arange(len(values)) % 2))
    parquet.write_table(table.slice(0, 5000), "small.parquet")
    options = {"use_dictionary": False, "compression": "none"}
    parquet.write_table(table, "big.parquet", len(values), **options)  # one group of rows
    assert Path("big.parquet").stat().st_size > 300e6
    assert int(python(PEAK, "big.parquet")) < 190  # megabytes: buffers and some batches


@pytest.mark.slow
def test_many_files_wait_closed() -> None:
    Path("many").mkdir()
    for at in range(40):
        write(mixed(20)[["age", "label"]], f"many/{at}.{('parquet', 'csv', 'feather')[at % 3]}")
    fit_files(NaiveBayes(), "many", "label")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 15, hard))
    try:
        fit_files(NaiveBayes(), "many", "label")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
