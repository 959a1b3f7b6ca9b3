"""Tables in files: what cells are taken for, and what is refused; every format says the same."""

import gzip
import json
import subprocess
import sys
from io import BytesIO
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
from sklearn.base import clone

from bayesnb import NaiveBayes
from bayesnb.data import Reading, open_reader, read_file, write_frames
from bayesnb.datasets import path, penguins
from bayesnb.scale import fit_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def cells(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The cells of a frame, None where one is missing."""
    lists = {}
    for name in frame.columns:
        lists[name] = frame[name].astype(object).where(frame[name].notna(), None).tolist()
    return lists


KINDS = """
integer: 1 -2 0
number: 1 +3
integer: 123456789012345678
integer: 999999999999999999 3
number: 1 2.5
number: .5 3. -1e-3 1E5
number: 1e-05 7
number: inf -Infinity 1
number: 0.5 0 10
number: 1234567890.123456789 1e300
text: 007 1 2
text: -01
text: +491234 +7
number: +12345 -1234567 +1234567.5
text: 1_000
text: 0x1f
text: 1234567890123456789
text: 1234567890123456789 0.5
text: true 1
text: yes no
text: nan 1
text: 1,5 2,5
text: ٣
text: 1.2.3
flag: true FALSE True
"""


@pytest.mark.parametrize("line", KINDS.strip().splitlines())
def test_a_column_is_what_every_cell_looks_like(line: str) -> None:
    kind, text = line.split(": ")
    rows = [f"{cell};0\n" for cell in text.split()]
    reader = open_reader(write("t.csv", "a;b\n" + "".join(rows)))
    assert reader.kinds["a"] == kind


@given(st.lists(st.integers(-(10**15), 10**15) | st.floats(allow_nan=False), min_size=1))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_numbers_are_read_to_the_last_bit(values: list[float]) -> None:
    assert read_file(write("t.csv", "a\n" + "\n".join(map(repr, values))))["a"].tolist() == values


MESSY: dict[str, tuple[str, dict[str, Any]]] = {
    "quotes in cells and around them": ('a,b\n1,"say ""hi"""\n2,5" pipe\n"3",\'x\'\n', {}),
    "separators and lines in quotes": ('a,b\n"1,5\nx",2\n",",3\n"y\r\nz",4\n', {}),
    "a quote that goes on": ('a,b\n1,"2"x\n3,4\n', {}),
    "blank lines": ("\n\na,b\n\n1,x\n\n\n2,y\n\n", {}),
    "ends of lines as Windows has them": ("a,b\r\n1,x\r\n2,y\r\n", {}),
    "no end of the last line": ("a,b\n1,x\n2,y", {}),
    "a mark of UTF-8": ("\ufeffa,b\n1,\u00e9\n2,y\n", {}),
    "missing cells": ("a,b,c\n1,NA,?\n,x,2.5\nNaN,None,\n", {}),
    "nothing in a column": ("a,b\n1,\n2,\n", {}),
    "codes": ("a,b,c\n007,1,-01\n10,2,5\n", {"dtype": {"a": str, "c": str}}),
    "codes that are too long": ("a,b\n12345678901234567890,1\n7,2\n", {"dtype": {"a": str}}),
    "a code below numbers": ("a,b\n" + "1,2\n" * 5000 + "01,2\n", {"dtype": {"a": str}}),
    "numbers of all kinds": ("a,b,c\n+1,1e3,-.5\n2,1E-05,inf\n-3,0.10,-Infinity\n", {}),
    "numbers of other scripts": ("a,b\n\u0663,1\n\u0664,2\n", {}),
    "hexadecimal": ("a,b\n0x1F,1\n10,2\n", {}),
    "flags": ("a,b\ntrue,x\nFALSE,y\nTrue,z\n", {}),
    "flags with a missing cell": ("a,b\ntrue,x\n,y\n", {}),
    "dates and times": ("a,b\n2020-01-01,12:30\n2020-01-02T10:00,13:00\n", {}),
    "numbers for people": ("a,b\n$5,12 %\n1,5\n", {}),
    "a comma between thousands": ("a;b\n1,234;x\n5,678;y\n", {"sep": ";"}),
    "tabs": ("a\tb\n1\tx, y\n2\tz\n", {"sep": "\t"}),
    "bars, and a comma once": ("a|b\n1|x,y\n2|z\n", {"sep": "|"}),
    "one column": ("a\n1\n\n2\n", {}),
    "a line in a name": ('"a\nb",c\n1,2\n', {}),
    "many columns": (",".join(f"x{j}" for j in range(1000)) + "\n" + "1," * 999 + "2\n", {}),
    "long cells": ("a,b\n1," + "x" * 200_000 + "\n", {}),
    "lines in the last cell": ('a,b\n1,"x\ny"\n', {}),
    "quotes that close far above": ('a,b\n1,"2"\n' + "\n" * 30 + '3,"x\ny"z\n', {}),
    "lines of blanks": ("  \na,b\n \n1,x\n\t\n  \n2,y\n   ", {}),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(("text", "options"), MESSY.values(), ids=MESSY)
def test_messy_text_is_read_as_pandas_reads_it(text: str, options: dict, pack: Any) -> None:
    missing = {"keep_default_na": False, "na_values": ["", "NA", "NaN", "?"]}
    expected = pd.read_csv(
        BytesIO(text.encode("utf-8")), encoding="utf-8-sig", **missing, **options
    )
    found = read_file(write("t.csv", pack(text.encode("utf-8"))))
    assert cells(found) == cells(expected)
    numbers = expected.select_dtypes("number").columns
    assert [*found.select_dtypes("number")] == [*numbers]


TYPED = pd.DataFrame(
    {
        "whole": [1, -2, 3],
        "real": [1.5, None, -np.inf],
        "gap": [7.0, None, 8.0],
        "text": ["a", None, "007"],
        "flag": [True, False, True],
        "code": ["00:10", "1", "x,y"],
    }
)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl"])
def test_typed_files_are_read_as_pandas_reads_them(name: str, pack: Any) -> None:
    write_to = {
        "t.parquet": TYPED.to_parquet,
        "t.feather": TYPED.to_feather,
        "t.jsonl": lambda goal: TYPED.to_json(goal, orient="records", lines=True),
    }
    write_to[name](name)
    read = {"t.parquet": pd.read_parquet, "t.feather": pd.read_feather}
    expected = read[name](name) if name in read else pd.read_json(name, lines=True, dtype=False)
    write(name, pack(Path(name).read_bytes()))
    assert cells(read_file(name)) == cells(expected)


def test_a_folder_is_learnt_as_pandas_reads_it() -> None:
    table = TYPED.drop(columns="text").loc[[0, 1, 2] * 20].reset_index(drop=True)
    table["year"], table["y"] = np.arange(60) % 3 + 2024, np.arange(60) % 2
    table.to_parquet("hive", partition_cols=["year"])
    whole = pd.read_parquet("hive").astype({"year": int})
    families = {"whole": "gaussian", "real": None, "gap": "gaussian", "code": "categorical"}
    families |= {"flag": "bernoulli", "year": "gaussian"}
    model = NaiveBayes(families, temper=None, dependence=None)
    found = fit_files(clone(model), "hive", "y")
    expected = model.fit(whole.drop(columns="y"), whole["y"])
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-12)


LATIN = Reading(encoding="latin-1")
SAME: list[tuple[bytes, Reading]] = [
    ("a,b\n1,é\n2,y\n".encode("utf-8-sig"), Reading()),
    ("a;b\r\n1;é\r\n2;y\r\n".encode(), Reading()),
    ("a|b\r1|é\r2|y".encode(), Reading()),
    ("a\tb\n1\té\n2\ty\n".encode("utf-16"), Reading()),
    ('a, b\n1 ,"é"\n\n 2, y \n\n'.encode(), Reading()),
    ("a,b\n1,é\n2,y\n".encode("latin-1"), LATIN),
    ("axb\n1xé\n2xy\n".encode(), Reading(delimiter="x")),
    (gzip.compress("a,b\n1,é\n2,y\n".encode(), mtime=0), Reading()),
]


@pytest.mark.parametrize(("data", "reading"), SAME)
def test_delimiters_ends_of_lines_encodings_and_blanks_play_no_part(
    data: bytes, reading: Reading
) -> None:
    assert cells(read_file(write("same.csv", data), reading)) == {"a": [1, 2], "b": ["é", "y"]}


def test_only_what_is_on_the_list_is_missing() -> None:
    name = write("gaps.csv", 'a,b,c\n1,x,NA\n,None,null\nNaN,?,N/A\n 4 ,"",nan\n')
    assert cells(read_file(name)) == {
        "a": [1.0, None, None, 4.0],
        "b": ["x", "None", None, None],
        "c": [None, "null", "N/A", "nan"],
    }
    frame = read_file(name, Reading(missing=("None", "null", "N/A", "nan", "x")))
    assert cells(frame[["b", "c"]]) == {"b": [None, None, "?", ""], "c": ["NA", None, None, None]}


def test_decimal_commas_quotes_and_lines_in_cells() -> None:
    name = write("comma.csv", 'a;b\n1,5;"say ""no;""\nplease"\n-2;5" pipe\n')
    assert cells(read_file(name))["a"] == ["1,5", "-2"]
    frame = read_file(name, Reading(decimal=","))
    assert cells(frame) == {"a": [1.5, -2.0], "b": ['say "no;"\nplease', '5" pipe']}


REFUSED = {
    b"": "it is empty",
    b"a,b\n": "a header but no rows",
    b"a,b\n1,2\n3\n": "row 1: it has 1 field, but the header has 2",
    b'\na,b\n"1\n1",2\n\n3,4,5\n': "row 1: it has 3 fields",
    b'a,b\n1,2\n3,"4\n5,6\n': r"a quote \(\"\) is opened and never closed",
    b'a,b\r1,2\r3,"4\r5,6\r': "is opened and never closed",
    b'a\r"x\ry\r': "is opened and never closed",
    b'a,b\n1,"x\ny""': "is opened and never closed",
    b'a,b\n1,2\n3,"4': "is opened and never closed",
    b"a,b\n1,2\n  \n\n3\n": "row 1: it has 1 field, but the header has 2",
    b"a,b\n1,2\n3,caf\xe9\n": "row 1: it is not UTF-8. Name the encoding",
    b"a, a\n1,2\n": "the column 'a' twice",
    b",a\n0,2\n": "column 1 of 2 has no name in the header",
    b"\x00\x01\x02": "it is neither text nor Parquet nor Arrow",
    b"PK\x03\x04....": "a zip archive, such as a saved model or an Excel",
    b"PAR1....": "cannot be read",
    b"ARROW1....": "cannot be read",
    b"\xff\xff\xff\xff....": "cannot be read",
    b"\x28\xb5\x2f\xfd....": "compressed by zstd",
    gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-9]: "cannot be read: Truncated",
    gzip.compress(b"a\n1\n" * 100, mtime=0)[:-6] + b"123456": "cannot be read: .*incorrect data",
    b'{"a": 1}\n{"a": 1\n': "cannot be read: .* in row 1",
    b"\n{}": "it has no columns",
    b'{"a": 1}\n[1]\n': "changed from object to array in row 1",
    b'[\n  {"a": 1}\n]\n': "one JSON array. Write JSON lines",
    b'{"a": [1]}\n{"a": [2]}\n': r"column 'a' holds list<item: int64>",
    b'{"a": 1}\n{"a": "x"}\n': r"Column\(/a\) changed from number to string in row 1",
    b'{"y": 1}\n{"y": ' + b"[" * 10**5 + b"]" * 10**5 + b"}\n": "to array in row 1",
    b'{"b": "x"}\n{"b": "\\ud800"}\n': "surrogate pair .* in row 1",
}


@pytest.mark.parametrize(("data", "message"), REFUSED.items(), ids=REFUSED.values())
def test_what_is_no_table_is_refused_and_file_and_line_are_named(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_file(write("odd.file", data))
    assert str(error.value).startswith("odd.file")
    assert "\n" not in str(error.value)


def test_a_cell_that_is_not_of_the_kind_that_is_asked_for_is_named() -> None:
    name = write("bad.csv", 'a,b\n1,true\n"2\n2",true\nabc,maybe\n')
    with pytest.raises(ValueError, match=r"bad.csv, row 1, column 'a': '2\\n2' is not a number"):
        read_file(name, kinds={"a": "number"})
    with pytest.raises(ValueError, match="row 2, column 'b': 'maybe' is neither true nor false"):
        read_file(name, kinds={"b": "flag"})
    frame = pd.DataFrame({"n": [1.0, 2.5, None], "s": ["1", "02", None], "f": [True, False, True]})
    frame.to_parquet("k.parquet")
    read = read_file("k.parquet", kinds={"n": "text", "s": "number", "f": "text"})
    assert cells(read) == {
        "n": ["1", "2.5", None],
        "s": [1.0, 2.0, None],
        "f": ["true", "false", "true"],
    }


def test_every_format_holds_the_same_penguins_by_its_name_and_by_its_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = penguins()
    table = pa.Table.from_pandas(penguins())
    frame.to_parquet("p.parquet")
    feather.write_feather(frame, "p.feather")
    with ipc.new_stream("p.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=100)
    text = path("penguins").read_text(encoding="utf-8")
    write("p.csv", text)
    write("p.tsv.gz", gzip.compress(text.replace(",", "\t").encode()))
    frame.to_json("p.jsonl", orient="records", lines=True)
    for file in sorted(Path().glob("p.*")):
        data = file.read_bytes()
        pd.testing.assert_frame_equal(read_file(file.name), frame)
        pd.testing.assert_frame_equal(read_file(write("bare", data)), frame)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        pd.testing.assert_frame_equal(read_file("-"), frame)


BERLIN = pa.timestamp("us", tz="Europe/Berlin")
TYPES: list[tuple[pa.Array, list]] = [
    (pa.array([0, None], pa.date32()), ["1970-01-01", None]),
    (pa.array([0, 1], pa.timestamp("s")), ["1970-01-01 00:00:00", "1970-01-01 00:00:01"]),
    (pa.array([0, None], BERLIN), ["1970-01-01 01:00:00+0100", None]),
    (pa.array(["1.50", None]).cast(pa.decimal128(5, 2)), [1.5, None]),
    (pa.array([True, None]), [True, None]),
    (pa.array([1, None], pa.int64()), [1.0, None]),
    (pa.array([1, 2], pa.uint8()), [1, 2]),
    (pa.array(["u", None]).dictionary_encode(), ["u", None]),
    (pa.nulls(2), [None, None]),
]


@pytest.mark.parametrize(
    ("column", "expected"), TYPES, ids=[str(column.type) for column, _ in TYPES]
)
def test_types_of_arrow_become_what_text_would(column: pa.Array, expected: list) -> None:
    parquet.write_table(pa.table({"a": column}), "t.parquet")
    assert cells(read_file("t.parquet"))["a"] == expected


def test_types_of_json_are_its_own() -> None:
    rows = [{"a": 1, "b": "1", "c": True, "e": "1"}, {"b": "?", "c": None, "e": "x", "f": 3}]
    frame = read_file(write("t.jsonl", "\n\n".join(map(json.dumps, rows))))
    expected = {
        "a": [1.0, None],
        "b": ["1", "?"],
        "c": [True, None],
        "e": ["1", "x"],
        "f": [None, 3.0],
    }
    assert cells(frame) == expected


@pytest.mark.parametrize("levels", [["a", "b", "a"], ["a", None, "b"], [1.5, float("nan"), 2.5]])
def test_a_dictionary_with_a_level_twice_or_missing_holds_what_its_cells_say(levels: list) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None] * 2), pa.array(levels))
    table = pa.table({"d": column})
    with ipc.new_file("d.feather", table.schema) as file:
        file.write_table(table)
    expected = [None if level != level else level for level in levels] + [None]
    assert cells(read_file("d.feather"))["d"] == expected * 2
    if isinstance(levels[0], str):
        plain = pd.DataFrame({"d": expected * 2}, dtype=object)
        one, two = (NaiveBayes().fit(each, [0, 1] * 4) for each in (table, plain))
        assert one.log_evidence_ == two.log_evidence_


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff"), max_size=8)
ROWS = st.lists(st.tuples(TEXTS.map(str.strip), st.floats(), st.booleans()), min_size=1, max_size=5)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
@given(rows=ROWS)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_written_is_read_again(kind: str, rows: list[tuple]) -> None:
    frame = pd.DataFrame(rows, columns=["text", "real", "flag"])
    frame["text"] = "t" + frame["text"]  # neither missing nor a formula
    if kind == "jsonl":
        frame["real"] = frame["real"].where(np.isfinite(frame["real"]))
    with open("again", "wb") as stream:
        assert write_frames([frame, frame], stream, kind) == 2 * len(frame)
    read = read_file("again", Reading(format=kind), {"text": "text", "real": "number"})
    assert cells(read) == cells(pd.concat([frame, frame], ignore_index=True))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_within_a_cell_keeps_its_end_wherever_arrow_cuts_the_text(encoding: str) -> None:
    rows = "x,1\r\n" * (((1 << 21) - 100) // 5)  # Arrow splits the text after 2 MiB
    cell = "line\r\n" * 40 + "z"
    for shift in range(6):
        text = f'a,b\r\n{"x" * shift},0\r\n{rows}"{cell}",2\r\nx,3\r\n'
        read = read_file(write("t.csv", text.encode(encoding)))
        assert read["a"].iloc[-2] == cell
        assert read["b"].iloc[-1] == 3


# Damaged files are tables, or errors that name the file; never the end of the process

DAMAGE = r"""
import random, resource
from pathlib import Path
import numpy as np, pyarrow as pa
from pyarrow import feather, ipc, parquet
from sklearn.base import clone
from bayesnb.data import read_file

table = pa.table({
    "kind": pa.array(["a", "bb", None, "a"] * 10).dictionary_encode(),
    "text": pa.array([None if i % 7 == 0 else "x" * (i % 5) + "ü" for i in range(40)]),
    "words": pa.array([["u", "v", "w"][: i % 4] for i in range(40)]),
    "flag": pa.array([None if i % 5 == 0 else i % 2 > 0 for i in range(40)]),
    "at": pa.array(range(40), pa.timestamp("us", tz="UTC")),
    "price": pa.array([f"{i}.50" for i in range(40)]).cast(pa.decimal128(7, 2)),
    "real": pa.array(np.random.default_rng(0).normal(size=40)),
})
feather.write_feather(table, "plain.feather", compression="uncompressed", chunksize=13)
feather.write_feather(table, "lz4.feather", compression="lz4", chunksize=13)
with ipc.new_stream("plain.arrows", table.schema) as stream:
    stream.write_table(table, 13)
parquet.write_table(table, "plain.parquet", compression="none", row_group_size=13)
parquet.write_table(table, "summed.parquet", write_page_checksum=True, use_dictionary=False)
rng = random.Random(1)
tables = 0
for path in list(Path().iterdir()):
    whole = path.read_bytes()
    for _ in range(60):
        data, at = bytearray(whole), rng.randrange(len(whole))
        if rng.random() < 0.2:
            data[at:] = rng.choice([b"", bytes(64) + whole[at + 64 :]])
        for _ in range(rng.choice([1, 2, 8]) if data else 0):
            data[rng.randrange(len(data))] = rng.choice([0, 127, 128, 255])
        path.write_bytes(data)
        try:
            frame = read_file(path.name)
            frame.astype(str).to_csv("out")
            tables += 1
        except (ValueError, MemoryError) as error:
            assert str(error).startswith(path.name) and "\n" not in str(error), error
assert 0 < tables < 300
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20, "kilobytes took a gigabyte"
"""


@pytest.mark.slow
def test_a_damaged_typed_file_is_a_table_or_an_error_that_names_it(folder: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n{DAMAGE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
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
    with pytest.raises(ValueError, match=message):
        fit_files(NaiveBayes(), name, "y")
    model = fit_files(NaiveBayes(), name, "y", columns=["a"])  # others are not looked at
    assert model.classes_.tolist() == ["u", "v"]


def test_the_checksums_of_a_parquet_file_are_checked() -> None:
    table = pa.table({"a": np.arange(1000.0)})
    options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"}
    parquet.write_table(table, "a.parquet", **options)
    data = bytearray(Path("a.parquet").read_bytes())
    data[data.index(np.float64(500.0).tobytes())] = 1
    with pytest.raises(ValueError, match=r"a\.parquet: it cannot be read: .*CRC checksum"):
        read_file(write("a.parquet", bytes(data)))


def test_levels_of_a_dictionary_are_read_as_numbers_with_a_decimal_comma() -> None:
    pd.DataFrame({"n": pd.Categorical(["1,5", "2", "1,5"])}).to_parquet("levels.parquet")
    frame = read_file("levels.parquet", Reading(decimal=","), kinds={"n": "number"})
    assert cells(frame) == {"n": [1.5, 2.0, 1.5]}
    with pytest.raises(ValueError, match="row 0, column 'n': '1,5' is neither true nor false"):
        read_file("levels.parquet", Reading(decimal=","), kinds={"n": "flag"})
