"""Tables in files: what cells are taken for, what is refused, and by which line; every format says the same."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

import bayesnb
from bayesnb import NaiveBayes
from bayesnb.data import Reading, open_sheet, open_writer, read_file
from bayesnb.data.files import quote_formula
from bayesnb.data.text_cells import CellRules, TextCells
from bayesnb.data.text_files import BLOCK, sniffed
from bayesnb.datasets import path, penguins
from bayesnb.scale import fit_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def kind_of(cells: list[str]) -> str:
    """What all of these cells look like, of which none is missing."""
    return TextCells.of(cells, CellRules(())).kind


def cells(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The cells of a frame, None where one is missing."""
    return {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 -2 +3 0", "integer"),
        ("1 2.5", "number"),
        (".5 3. -1e-3 1E5", "number"),
        ("inf -Infinity 1", "number"),
        ("007 1 2", "text"),
        ("0.5 0 10", "number"),
        ("-01", "text"),
        ("1_000", "text"),
        ("0x1f", "text"),
        ("123456789012345678", "integer"),
        ("1234567890123456789", "text"),
        ("-1000000000000000000 3", "text"),
        ("999999999999999999 3", "integer"),
        ("1234567890.123456789 1e300", "number"),
        ("1234567890123456789 0.5", "text"),
        ("1234567890123456789 0.123456789012345678", "text"),
        ("-1.23456789012345678 0.123456789012345678", "number"),
        ("true FALSE True", "flag"),
        ("true 1", "text"),
        ("yes no", "text"),
        ("nan 1", "text"),
        ("1,5 2,5", "text"),
        ("٣", "text"),
        ("a 1 2", "text"),
        ("1.2.3", "text"),
        ("", "empty"),
    ],
)
def test_a_column_is_what_every_cell_looks_like(text: str, kind: str) -> None:
    assert kind_of(text.split()) == kind


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("x,y\n1e-05,7\n2.5E+08,8\n", {"x": "number", "y": "integer"}),
        ("x,y\n1e-05,07\n2,8\n", {"x": "number", "y": "text"}),
        ("x,y\n1e-05,+07\n2,8\n", {"x": "number", "y": "text"}),
        ("x,y\n1e-05,-07\n2,8\n", {"x": "number", "y": "text"}),
        ("-07\n-05\n", {"-07": "text"}),
    ],
)
def test_zeros_that_lead_an_exponent_make_no_code_and_those_that_lead_a_cell_do(
    folder: Path, text: str, kinds: dict[str, str]
) -> None:
    sheet = open_sheet(write("t.csv", text))
    assert {name: summary.kind for name, summary in sheet.summaries.items()} == kinds


def test_a_delimiter_may_be_the_letter_of_exponents(folder: Path) -> None:
    sheet = open_sheet(write("t.csv", "xey\n1e-05\n2e-07\n"), Reading(delimiter="e"))
    assert {name: summary.kind for name, summary in sheet.summaries.items()} == {"x": "integer", "y": "text"}


def test_a_cell_with_a_line_in_it_is_not_two_numbers() -> None:
    assert kind_of(["1\n2"]) == "text"
    assert kind_of(["true\nfalse"]) == "text"


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-(10**15), 10**15), st.floats(allow_nan=False)), min_size=1))
def test_numbers_are_read_to_the_last_bit(values: list[float]) -> None:
    sheet = open_sheet(write("exact.csv", "a\n" + "\n".join(map(repr, values)) + "\n"))
    assert sheet.summaries["a"].kind in ("integer", "number")
    read = sheet.read({"a": sheet.summaries["a"].kind})["a"].tolist()
    assert read == [float(value) if sheet.summaries["a"].kind == "number" else value for value in values]


WRITTEN = r"(?!nan)[+-]?(?:(?!0[0-9])[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?"


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.text("0123456789+-.einfaty_x", min_size=1, max_size=21), min_size=1, max_size=3))
def test_numbers_are_what_is_written_as_one(cells: list[str]) -> None:
    is_number = [re.fullmatch(WRITTEN, cell) and not re.fullmatch(r"[+-]?[0-9]{19,}", cell) for cell in cells]
    is_integer = [re.fullmatch(r"[+-]?(?!0[0-9])[0-9]{1,18}", cell) for cell in cells]
    assert kind_of(cells) == ("integer" if all(is_integer) else "number" if all(is_number) else "text")


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "7", ",", ",", '"', '"', '""', " ", "\n", "\n", "\r\n", "é"]), max_size=25).map(
        "".join
    )
)
def test_cells_are_those_of_the_strict_csv_module(text: str) -> None:
    name = write("any.csv", "x,y\n" + text)
    try:
        rows = [row for row in csv.reader(text.splitlines(True), strict=True, skipinitialspace=True) if row]
        ragged = [row for row in rows if len(row) != 2]
    except csv.Error:
        rows, ragged = [], []
    if not rows or ragged:
        with pytest.raises(ValueError, match=r"^any\.csv"):
            read_file(name, Reading(delimiter=","))
        return
    frame = read_file(name, Reading(delimiter=",", missing=()), {"x": "text", "y": "text"})
    assert frame.values.tolist() == [[cell.strip() for cell in row] for row in rows]


def test_leading_zeros_stay() -> None:
    frame = read_file(write("zip.csv", "zip,n\n01234,1\n99999,02\n"))
    assert cells(frame) == {"zip": ["01234", "99999"], "n": ["1", "02"]}


def test_a_zero_far_down_makes_the_whole_column_text() -> None:
    frame = read_file(write("far.csv", "a\n" + "1\n" * 10_000 + "01\n"))
    assert frame["a"].tolist() == ["1"] * 10_000 + ["01"]


def test_only_what_is_on_the_list_is_missing() -> None:
    name = write("gaps.csv", 'a,b,c\n1,x,NA\n,None,null\nNaN,?,N/A\n 4 ,"",nan\n')
    assert cells(read_file(name)) == {
        "a": [1.0, None, None, 4.0],
        "b": ["x", "None", None, None],
        "c": [None, "null", "N/A", "nan"],
    }
    said = read_file(name, Reading(missing=("None", "null", "N/A", "nan", "x")))
    assert cells(said)["b"] == [None, None, "?", ""]
    assert cells(said)["c"] == ["NA", None, None, None]


def test_integers_with_a_missing_cell_are_numbers_and_flags_stay_flags() -> None:
    frame = read_file(write("kinds.csv", "i,j,f,g\n1,1,true,TRUE\n2,,False,\n"))
    assert [frame[name].dtype.kind for name in "ij"] == ["i", "f"]
    assert str(frame["f"].dtype) == "bool"
    assert cells(frame)["g"] == [True, None]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_recognised(mark: str) -> None:
    name = write("marks.csv", "a,b,c\n1,x,2\n3,y,4\n".replace(",", mark))
    assert cells(read_file(name)) == {"a": [1, 3], "b": ["x", "y"], "c": [2, 4]}


def test_the_delimiter_is_that_of_records_of_one_length() -> None:
    assert sniffed(["a;b;c\n", "1,5;2,5;x\n", "3;4;y,z\n"]) == ";"
    assert sniffed(["name,about\n", '"a;b","c;d;e"\n', "f,g;h\n"]) == ","
    assert sniffed(["alone\n", "1\n"]) == ","
    assert sniffed(["a,b\n", "1,2,3\n"]) == ","


def test_decimal_commas_are_read_where_the_user_says_so() -> None:
    name = write("comma.csv", "a;b\n1,5;x\n-2;y\n")
    assert cells(read_file(name))["a"] == ["1,5", "-2"]
    assert cells(read_file(name, Reading(decimal=",")))["a"] == [1.5, -2.0]


@pytest.mark.parametrize(
    "data",
    [
        "a,b\n1,é\n2,y\n".encode(),
        "a,b\n1,é\n2,y\n".encode("utf-8-sig"),
        "a,b\r\n1,é\r\n2,y\r\n".encode(),
        "a,b\r1,é\r2,y".encode(),
        "a\tb\n1\té\n2\ty\n".encode("utf-16"),
        'a, b\n1 ,"é"\n\n 2, y \n\n'.encode(),
    ],
)
def test_ends_of_lines_marks_of_bytes_and_blanks_play_no_part(data: bytes) -> None:
    assert cells(read_file(write("same.csv", data))) == {"a": [1, 2], "b": ["é", "y"]}


def test_quotes_hold_delimiters_quotes_and_lines() -> None:
    name = write("quotes.csv", 'a,b\n"1,5","say ""no""\nplease"\n2,5" pipe\n')
    assert cells(read_file(name)) == {"a": ["1,5", "2"], "b": ['say "no"\nplease', '5" pipe']}


def test_another_encoding_can_be_said() -> None:
    name = write("latin.csv", "a,b\n1,é\n".encode("latin-1"))
    assert cells(read_file(name, Reading(encoding="latin-1")))["b"] == ["é"]
    with pytest.raises(ValueError, match="the encoding 'utf-9' is not known"):
        read_file(name, Reading(encoding="utf-9"))
    name = write("wide.csv", "a\nx\n".encode("utf-16-le"))
    assert cells(read_file(name, Reading(encoding="utf-16-le"))) == {"a": ["x"]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"a,b\n", "a header but no rows"),
        (b"a,b\n1,2\n3\n", "line 3: it has 1 field, but the header has 2"),
        (b"a,b\n1,2\n\n1,2,3\n", "line 4: it has 3 fields"),
        (b'a,b\n"1\n1",2\n3,4,5\n', "line 4: it has 3 fields"),
        (b'a,b\n1,2\n3,"4\n5,6\n', r"line 3: a quote \(\"\) opens here or below and is not closed"),
        (b'a,b\n1,"2"x\n', "line 2: .* is expected after"),
        (b"a,b\n1,2\n3,caf\xe9\n", "line 3: byte 6 of the line, 0xe9, is not UTF-8"),
        (b"a,a\n1,2\n", "the column 'a' twice"),
        (b"a, a\n1,2\n", "the column 'a' twice"),
        (b",a\n0,2\n", "column 1 of 2 has no name in the header. Give it one, or write the table without its index"),
        (b"a,\n0,2\n", "column 2 of 2 has no name"),
        (b"\x00\x01\x02", "it is not a table: neither text nor Parquet nor Arrow"),
        (b"PK\x03\x04....", "a zip archive, such as an Excel"),
        (b"PAR1....", "cannot be read"),
        (b"ARROW1....", "cannot be read"),
        (b"\xff\xff\xff\xff....", "cannot be read"),
        (b"\x1f\x8b.....", "a gzip file that is damaged"),
        (gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-9], "gzip file"),
        (b'{"a": 1}\n{"a": 1\n', "line 2: it is not valid JSON"),
        (b'{"a": 1}\n[1]\n', "line 2: it is not an object"),
        (b'[\n  {"a": 1}\n]\n', "one JSON array. Write JSON lines"),
        (b'{"a": 1}\n{"a": [1]}\n', "column 'a' holds lists or objects"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "line 2: a cell has more than 131,072 characters"),
    ],
)
def test_what_is_no_table_is_refused_and_the_file_and_line_are_named(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_file(write("odd.file", data))
    assert str(error.value).startswith("odd.file")
    assert "\n" not in str(error.value)


def test_a_folder_is_no_table(folder: Path) -> None:
    with pytest.raises(ValueError, match="it is a folder"):
        read_file(folder)


def test_a_cell_that_is_not_of_the_kind_that_is_needed_is_named() -> None:
    name = write("bad.csv", 'a,b\n1,true\n"2\n2",true\nabc,maybe\n')
    with pytest.raises(ValueError, match=r"bad.csv, line 3, column 'a': '2\\n2' is not a number"):
        read_file(name, kinds={"a": "number"})
    with pytest.raises(ValueError, match="line 5, column 'b': 'maybe' is neither true nor false"):
        read_file(name, kinds={"b": "flag"})


def test_a_file_that_cannot_fit_into_memory_is_refused_unread(folder: Path) -> None:
    for name in ("huge.csv", "huge.parquet", "huge.jsonl", "huge"):
        with open(name, "wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(ValueError, match=r"1\.1 TB, and would need about"):
            read_file(name)


def test_every_format_holds_the_same_penguins() -> None:
    frame = penguins()
    frame.to_parquet("p.parquet")
    feather.write_feather(frame, "p.feather")
    feather.write_feather(frame, "p.arrow", compression="uncompressed")
    with ipc.new_stream("p.arrows", pa.Table.from_pandas(frame).schema) as stream:
        stream.write_table(pa.Table.from_pandas(frame), max_chunksize=100)
    text = path("penguins").read_text(encoding="utf-8")
    write("p.csv", text)
    write("p.tsv", text.replace(",", "\t"))
    write("p.csv.gz", gzip.compress(text.encode()))
    write("p.jsonl", frame.to_json(orient="records", lines=True))
    write("p.ndjson.gz", gzip.compress(frame.to_json(orient="records", lines=True).encode()))
    for file in sorted(Path().glob("p.*")):
        pd.testing.assert_frame_equal(read_file(file.name), frame)
        bare = write("bare", file.read_bytes())  # its bytes say what it is
        pd.testing.assert_frame_equal(read_file(bare), frame)


def test_standard_input_and_pipes_are_read_as_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = BytesIO()
    penguins().to_parquet(stream)
    for data in (stream.getvalue(), path("penguins").read_bytes(), gzip.compress(path("penguins").read_bytes())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        pd.testing.assert_frame_equal(read_file("-"), penguins())
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"a,b\n1\n")))
    with pytest.raises(ValueError, match="standard input, line 2: it has 1 field"):
        read_file("-")


def test_types_of_arrow_become_what_text_would() -> None:
    table = pa.table(
        {
            "day": pa.array([0, None], pa.date32()),
            "at": pa.array([0, 1], pa.timestamp("s")),
            "price": pa.array(["1.50", None]).cast(pa.decimal128(5, 2)),
            "flag": pa.array([True, None]),
            "count": pa.array([1, None], pa.int64()),
            "small": pa.array([1, 2], pa.uint8()),
            "level": pa.array(["u", None]).dictionary_encode(),
            "nothing": pa.nulls(2),
        }
    )
    parquet.write_table(table, "t.parquet")
    frame = read_file("t.parquet")
    assert cells(frame) == {
        "day": ["1970-01-01", None],
        "at": ["1970-01-01 00:00:00", "1970-01-01 00:00:01"],
        "price": [1.5, None],
        "flag": [True, None],
        "count": [1.0, None],
        "small": [1, 2],
        "level": ["u", None],
        "nothing": [None, None],
    }
    assert isinstance(frame["level"].dtype, pd.CategoricalDtype)
    summaries = open_sheet("t.parquet").summaries
    assert [name for name, summary in summaries.items() if summary.dates] == ["day", "at"]
    assert summaries["flag"].kind == "flag"
    assert str(frame["flag"].dtype) == "boolean"
    parquet.write_table(pa.table({"a": [[1]], "b": [b"x"]}), "nested.parquet")
    with pytest.raises(ValueError, match=r"nested\.parquet: column 'a' holds list"):
        read_file("nested.parquet")
    assert [summary.is_plain for summary in open_sheet("nested.parquet").summaries.values()] == [False, False]
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), "none.parquet")
    with pytest.raises(ValueError, match="no rows"):
        read_file("none.parquet")


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_integers_too_long_for_a_float_stay_apart_beside_a_missing_cell(name: str) -> None:
    values = [2**60, 2**60 + 1, None]
    parquet.write_table(pa.table({"a": pa.array(values, pa.int64())}), "t.parquet")
    write("t.jsonl", "".join(json.dumps({"a": value}) + "\n" for value in values))
    assert cells(read_file(name, kinds={"a": "text"}))["a"] == [str(2**60), str(2**60 + 1), None]
    (batch,) = open_sheet(name).batches({})
    assert cells(batch.kept)["a"] == values
    assert cells(read_file(name))["a"] == [2.0**60, 2.0**60, None]
    long = [2**63, 2**63 + 2]
    parquet.write_table(pa.table({"a": pa.array(long, pa.uint64())}), "t.parquet")
    write("t.jsonl", "".join(json.dumps({"a": value}) + "\n" for value in long))
    assert cells(read_file(name, kinds={"a": "text"}))["a"] == [str(value) for value in long]


def test_a_time_with_its_zone_has_no_empty_decimals() -> None:
    at = pa.array([0, 1_500_000], pa.timestamp("us", tz="Europe/Berlin"))
    parquet.write_table(pa.table({"at": at}), "t.parquet")
    assert cells(read_file("t.parquet"))["at"] == ["1970-01-01 01:00:00+0100", "1970-01-01 01:00:01.500000+0100"]


def test_types_of_json_are_its_own() -> None:
    rows = [{"a": 1, "b": "1", "c": True, "d": 1.5, "e": 1}, {"b": "?", "c": None, "d": 2, "e": "x", "f": 3}]
    frame = read_file(write("t.jsonl", "\n\n".join(map(json.dumps, rows))))
    assert cells(frame) == {
        "a": [1.0, None],
        "b": ["1", "?"],
        "c": [True, None],
        "d": [1.5, 2.0],
        "e": ["1", "x"],
        "f": [None, 3.0],
    }
    assert cells(read_file("t.jsonl", Reading(missing=("?",))))["b"] == ["1", None]


def test_typed_columns_are_read_as_what_is_asked_for() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.5, None], "s": ["1", "02", None], "f": [True, False, True]})
    frame.to_parquet("k.parquet")
    read = read_file("k.parquet", kinds={"n": "text", "s": "number", "f": "text"})
    assert cells(read) == {"n": ["1", "2.5", None], "s": [1.0, 2.0, None], "f": ["true", "false", "true"]}
    with pytest.raises(ValueError, match=r"column 's': 'x' in row 1 is not a number"):
        read_file(write("k.jsonl", '{"s": "1"}\n{"s": "x"}\n'), kinds={"s": "number"})


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff"), max_size=8).map(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS.filter(lambda text: text not in ("", "NA", "NaN", "?")), st.floats(), st.booleans()),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["csv", "tsv", "jsonl", "parquet", "arrow"]),
    st.booleans(),
)
def test_what_is_written_is_read_again(rows: list[tuple], kind: str, packed: bool) -> None:
    frame = pd.DataFrame(
        {
            "text": pd.Series([row[0] for row in rows], dtype=str),
            "real": [row[1] for row in rows],
            "flag": [r[2] for r in rows],
        }
    )
    if kind == "jsonl":
        frame["real"] = frame["real"].where(np.isfinite(frame["real"]))
    with open("again", "wb") as stream:
        writer = open_writer(stream, kind, packed and kind in ("csv", "tsv", "jsonl"))
        writer.write(frame)
        writer.write(frame)
        writer.close()
    read = read_file("again", Reading(format=kind), {"text": "text", "real": "number"})
    twice = pd.concat([frame, frame], ignore_index=True)
    if kind in ("csv", "tsv"):
        twice["text"] = twice["text"].map(quote_formula)
    assert cells(read) == cells(twice)


def test_batches_are_the_rows_in_order_with_their_cells_as_they_were() -> None:
    text = "".join(f"{at:03d},{at}\n" for at in range(25))
    sheet = open_sheet(write("some.csv", "a,b\n" + text))
    batches = list(sheet.batches({"b": "number"}, 10))
    assert [(batch.start, len(batch)) for batch in batches] == [(0, 10), (10, 10), (20, 5)]
    assert pd.concat([batch.frame["b"] for batch in batches]).tolist() == list(range(25))
    assert batches[2].kept["a"].tolist() == ["020", "021", "022", "023", "024"]
    sheet.read({"a": "text", "b": "number"}).to_parquet("some.parquet", row_group_size=7)
    again = list(open_sheet("some.parquet").batches({"b": "number"}, 10))
    assert pd.concat([batch.frame["b"] for batch in again]).tolist() == list(range(25))
    assert [batch.start for batch in again] == np.cumsum([0] + [len(batch) for batch in again])[:-1].tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_within_a_cell_keeps_its_end_wherever_arrow_cuts_the_text(encoding: str) -> None:
    rows = "x,1\r\n" * ((BLOCK - 100) // 5)
    cell = "line\r\n" * 40 + "z"
    for shift in range(6):
        text = f'a,b\r\n{"x" * shift},0\r\n{rows}"{cell}",2\r\nx,3\r\n'
        assert text[:BLOCK].count('"') == 1
        read = read_file(write("t.csv", text.encode(encoding)))
        assert read.a.iloc[-2] == cell
        assert read.b.iloc[-1] == 3


def test_progress_is_reported_in_bytes() -> None:
    counts: list[int] = []
    sheet = open_sheet(write("p.csv", "a\n" + "1\n" * 1000), on_read=counts.append)
    counts.clear()
    sheet.summaries  # noqa: B018
    assert sum(counts) >= 2002


# Damaged files: what is read is a table, or an error that names the file; never the end of the process


@pytest.mark.slow
@pytest.mark.parametrize("words", [["40"], pytest.param(["150", "fit"], marks=pytest.mark.slow)])
def test_a_damaged_typed_file_is_a_table_or_an_error_that_names_it(words: list[str]) -> None:
    command = [sys.executable, str(Path(__file__).with_name("damage.py")), *words]
    home = {"PYTHONPATH": str(Path(bayesnb.__file__).parent.parent)}
    done = subprocess.run(command, env=os.environ | home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("name", ["bad.feather", "bad.arrows"])
def test_an_offset_outside_of_its_column_is_refused_before_it_is_followed(name: str) -> None:
    offsets = pa.py_buffer(np.array([0, 1, 10**6, 3], np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"uvw")])
    table = pa.table({"a": [1.0, 2.0, 3.0], "text": bad, "y": ["u", "v", "u"]})
    with (ipc.new_stream if name == "bad.arrows" else ipc.new_file)(name, table.schema) as file:
        file.write_table(table)
    message = f"{name}: it cannot be read: .*Offset invariant failure.* download or write it again"
    with pytest.raises(ValueError, match=message):
        read_file(name)
    model = NaiveBayes()
    with pytest.raises(ValueError, match=message):
        fit_files(model, name, "y")
    assert not hasattr(model, "classes_")
    fit_files(model, name, "y", columns=["a"])  # what is not needed is not looked at
    assert model.classes_.tolist() == ["u", "v"]


def test_the_checksums_of_a_parquet_file_are_checked() -> None:
    table = pa.table({"a": np.arange(1000.0)})
    parquet.write_table(table, "a.parquet", write_page_checksum=True, use_dictionary=False, compression="none")
    data = Path("a.parquet").read_bytes()
    at = data.index(np.float64(500.0).tobytes())
    write("a.parquet", data[:at] + b"\x01" + data[at + 1 :])
    with pytest.raises(ValueError, match=r"a\.parquet: it cannot be read: .*CRC checksum"):
        read_file("a.parquet")


@pytest.mark.parametrize("levels", [["a", "b", "a"], ["a", None, "b"], [1.5, float("nan"), 2.5]])
def test_a_dictionary_with_a_level_twice_or_missing_holds_what_its_cells_say(levels: list) -> None:
    own = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(levels))
    with ipc.new_file("d.feather", pa.schema([("d", own.type)])) as file:
        file.write_table(pa.table({"d": own}))
    expected = [None if level != level else level for level in levels] + [None]
    assert cells(read_file("d.feather"))["d"] == expected
