"""The command line gives Python's numbers, one line for every error, exit codes, and whole files.

Data goes to stdout, messages to stderr; codes are 0, 1 (failed), 2 (bad usage), 130 (interrupted).
"""

import csv
import gzip
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import NaiveBayes
from bayesnb.cli import main
from bayesnb.data import read_file
from bayesnb.datasets import dogs, path, penguins

RUN = [sys.executable, "-m", "bayesnb"]
COMMANDS = ("report", "fit", "predict", "show", "explain", "compare", "data", "help")
SMALL = "a,b,y\n1,x,u\n2,z,v\n3,x,u\n4,z,v\n"
WIDE = "a,b,c,f,y\n1,x,0,true,u\n2,z,3,false,v\n3,x,1,true,u\n4,z,1,true,v\n"
BIRDS = penguins().drop(columns="species")
SPECIES = penguins()["species"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(nb.__file__).parent.parent))  # for other processes
    return tmp_path


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def fit(name: str, *words: str, target: str = "y") -> NaiveBayes:
    assert main(["fit", name, "--target", target, "-o", "model.bnb", *words]) == 0
    return nb.load("model.bnb")


def predict(*words: str) -> pd.DataFrame:
    assert main(["predict", "model.bnb", *words, "-o", "answers.parquet", "-q"]) == 0
    return read_file("answers.parquet")


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# Every command is its Python function


def test_a_fitted_model_is_that_of_python(capsys: pytest.CaptureFixture) -> None:
    penguins()[::3].to_csv("birds.csv", index=False)
    model = fit("birds.csv", "--family", "year=drop", target="species")
    X = BIRDS[::3].drop(columns="year")
    y = SPECIES[::3]
    expected = NaiveBayes().fit(X, y)
    assert model.log_evidence_ == expected.log_evidence_
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    out, err = capsys.readouterr()
    assert out == ""
    assert "Rows: 115\nClasses (rows): Adelie (51), " in err
    assert re.search("^gaussian: .*body_mass_g", err, re.M)
    scores = expected.loo(X, y)
    assert f"log score {scores.elpd:.2f} ± {scores.se:.2f}" in err
    fit(write("t.csv", SMALL), "--quiet")
    assert capsys.readouterr() == ("", "")


NORMAL = nb.NormalInverseGamma(mean=2, count=1, shape=2, scale=3)
WISHART = nb.NormalInverseWishart(mean=[2, 3], count=1, dof=4, scale=[[2, 1], [1, 3]])
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("--family a=poisson", {"families": {"a": nb.Poisson()}}),
    (
        "--family a,c=multinomial --family b=drop",
        {"families": {("a", "c"): nb.Multinomial(), "b": None}},
    ),
    ("--family '[ac]=poisson'", {"families": {"a": nb.Poisson(), "c": nb.Poisson()}}),
    ("--family b,f=joint --prior 0.25", {"families": {("b", "f"): nb.JointTable(0.25)}}),
    ("--family a=gaussian:shared", {"families": {"a": nb.Gaussian(shared=True)}}),
    (
        "--family a,c=multivariate:shared "
        "--prior 'NormalInverseWishart(mean=[2, 3], count=1, dof=4, scale=[[2, 1], [1, 3]])'",
        {"families": {("a", "c"): nb.MultivariateGaussian(WISHART, shared=True)}},
    ),
    ("--prior 0.5", {"families": {"b": nb.Categorical(0.5), "f": nb.Bernoulli(0.5)}}),
    ("--prior 'b=Dirichlet([1, 2])'", {"families": {"b": nb.Categorical(nb.Dirichlet([1, 2]))}}),
    ("--prior 'a=NormalInverseGamma(2, 1, 2, 3)'", {"families": {"a": nb.Gaussian(NORMAL)}}),
    ("--estimate mean --temper 0.5", {"estimate": "mean", "temper": 0.5}),
    ("--class-prior u=0.3,v=0.7", {"class_prior": {"u": 0.3, "v": 0.7}}),
    ("--class-prior empirical --temper loo", {"class_prior": "empirical", "temper": "loo"}),
    ("--dependence none", {"dependence": None}),
    ("--dependence pairs", {"dependence": "pairs"}),
]


@pytest.mark.parametrize(("words", "arguments"), OPTIONS, ids=[words for words, _ in OPTIONS])
def test_options_are_the_arguments_of_python(words: str, arguments: dict[str, Any]) -> None:
    model = fit(write("t.csv", WIDE), *shlex.split(words))
    table = read_file("t.csv")
    X = table.drop(columns="y")
    expected = NaiveBayes(**arguments).fit(X, table["y"])
    assert_allclose(model.log_evidence_, expected.log_evidence_, rtol=1e-12)
    assert_allclose(predict("t.csv")[["p_u", "p_v"]], expected.predict_proba(X), rtol=1e-9)
    assert model.families_.keys() == expected.families_.keys()


def test_names_with_commas_quotes_and_equals_signs_can_be_said() -> None:
    write("t.csv", '"a,b","say ""x""",c=d,y\n1,2,3,u\n2,3,4,v\n0,1,1,u\n')
    model = fit("t.csv", "--family", '"a,b","say ""x""",c=d=poisson', "--prior", "c=d=Gamma(2, 1)")
    assert {type(family) for family in model.families_.values()} == {nb.Poisson}
    assert model.families_["c=d"].prior.shape == 2


@pytest.mark.parametrize("second", ["two.csv", "two.parquet"])
def test_several_tables_are_one(second: str) -> None:
    table = read_file(write("whole.csv", WIDE))
    whole = fit("whole.csv")
    table[:2].to_csv("one.csv", index=False)
    rest = table.iloc[2:, ::-1]
    rest.to_csv(second, index=False) if second == "two.csv" else rest.to_parquet(second)
    both = fit("one.csv", second)
    assert_allclose(both.log_evidence_, whole.log_evidence_, rtol=1e-12)
    assert [*both.feature_names_in_] == [*whole.feature_names_in_]


def test_a_leading_zero_in_one_table_makes_text_of_the_column_in_all() -> None:
    write("one.csv", "zip,y\n123,u\n456,v\n")
    write("two.csv", "y,zip\nu,007\n")
    fit("one.csv", "two.csv")
    alone = predict(write("new.csv", "zip\n007\n7\n"))
    assert alone["p_u"][0] > alone["p_u"][1]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_missing_text_is_no_level(name: str) -> None:
    levels = ["x", None, "z"] * 4
    frame = pd.DataFrame({"c": levels, "d": np.arange(12) / 2, "y": list("aba") * 4})
    if name == "t.csv":
        frame.to_csv(name, index=False)
    elif name == "t.jsonl":
        frame.to_json(name, orient="records", lines=True)
    else:
        frame.to_parquet(name)
    model = fit(name)
    X = frame.drop(columns="y")
    expected = NaiveBayes().fit(X, frame["y"])
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    assert predict(name, "--append")["c"].isna().tolist() == [False, True, False] * 4


@pytest.mark.parametrize(
    ("labels", "classes"),
    [(["1", "2"], [1, 2]), (["01", "2"], ["01", "2"]), (["true", "False"], ["False", "true"])],
)
def test_labels_are_text_unless_they_are_integers(labels: list[str], classes: list) -> None:
    rows = [f"{n},{labels[n % 2]}\n" for n in range(6)]
    said = f"{labels[0]}=0.25,{labels[1]}=0.75"
    model = fit(write("t.csv", "a,y\n" + "".join(rows)), "--class-prior", said)
    assert model.classes_.tolist() == classes
    assert sorted(model.class_prior_.mean()) == [0.25, 0.75]


def test_columns_that_are_most_likely_no_features_are_named(capsys: pytest.CaptureFixture) -> None:
    ages = ["no,ne", *range(1, 40)]
    rows = [f"{n};n{n};2020-01-{n % 28 + 1:02d};{age};{'uv'[n % 2]}" for n, age in enumerate(ages)]
    fit(write("t.csv", "\n".join(["row;name;day;age;y", *rows])))
    err = capsys.readouterr().err
    assert err.count("warning") == 4
    assert "column 'row' increases by one in each row" in err
    assert "column 'name' has a different value in each of its 40 rows" in err
    assert "column 'day' holds dates, read as 28 levels" in err
    assert "because 1 of its 40 cells is not a number; the first is 'no,ne'" in err
    words = ["--family", "row,name=drop", "--family", "day=categorical"]
    words += ["--missing", ',NA,"no,ne"']
    assert not isinstance(fit("t.csv", *words).families_["age"], nb.Categorical)
    assert "warning" not in capsys.readouterr().err


def test_a_decimal_comma_is_read_where_the_command_says_so(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", "a;b;y\n" + "".join(f"{n},5;{n};{'uv'[n % 2]}\n" for n in range(10)))
    assert isinstance(fit("t.csv").families_["a"], nb.Categorical)
    assert "set the decimal mark to ','" in capsys.readouterr().err
    model = fit("t.csv", "--decimal", ",")
    X = pd.DataFrame({"a": np.arange(10) + 0.5, "b": range(10)})
    assert predict("t.csv", "--decimal", ",")["predicted"].tolist() == model.predict(X).tolist()
    assert main(["predict", "model.bnb", "t.csv"]) == 1
    error = capsys.readouterr().err
    assert "row 0, column 'a': '0,5' is not a number." in error
    assert "if it has a decimal comma, set the decimal mark to ','" in error


def test_predictions_and_their_intervals_are_those_of_python() -> None:
    words = ["--family", "gaussian", "--family", "island,sex=categorical"]
    model = fit(str(path("penguins")), *words, target="species")
    X = BIRDS[::40]
    X.to_csv("new.csv", index=False)
    intervals = model.predict_interval(X, 0.5)
    found = predict("new.csv", "--interval", "--prob", "0.5")
    assert found["predicted"].tolist() == model.predict(X).tolist()
    for prefix, name in (("p", "probability"), ("lower", "lower"), ("upper", "upper")):
        columns = [f"{prefix}_{label}" for label in model.classes_]
        assert_allclose(found[columns], intervals[name].values, rtol=1e-12)


def test_columns_are_found_by_name_and_read_as_they_were_learnt() -> None:
    write(
        "t.csv", "zip,age,ok,y\n00123,3,true,u\n12345,4,false,v\n12345,5,true,u\n00123,6,false,v\n"
    )
    model = fit("t.csv")
    X = pd.DataFrame({"zip": ["12345"] * 2, "age": [3.5, np.nan], "ok": [True, False]})
    found = predict(write("new.csv", "ok,other,age,zip\n1,x,3.5,12345\n0,,?,12345\n"))
    assert_array_equal(found[["p_u", "p_v"]], model.predict_proba(X))
    X.assign(zip=12345, age=["3.5", None]).to_parquet("new.parquet")
    pd.testing.assert_frame_equal(predict("new.parquet"), found)


def test_levels_that_are_numbers_in_the_model_are_looked_up_as_such() -> None:
    X = pd.DataFrame({"dose": [1, 2, 1, 3]})
    NaiveBayes("categorical").fit(X, [7, 7, 8, 8]).save("model.bnb")
    found = predict(write("new.csv", "dose\n1\n3.0\n?\n"))
    expected = nb.load("model.bnb").predict_proba(pd.DataFrame({"dose": [1, 3, np.nan]}))
    assert_array_equal(found[["p_7", "p_8"]], expected)


@pytest.mark.parametrize(
    "name", ["o.csv", "o.tsv", "o.csv.gz", "o.jsonl", "o.parquet", "o.feather"]
)
def test_answers_beside_the_table_are_the_same_in_every_format(name: str) -> None:
    model = fit(write("t.csv", SMALL))
    write("new.csv", "id,b,a\n007,x,1.50\n008,?,\n")
    assert main(["predict", "model.bnb", "new.csv", "--append", "-o", name]) == 0
    found = read_file(name, kinds={"id": "text", "a": "number"})
    assert [*found] == ["id", "b", "a", "predicted", "p_u", "p_v"]
    assert found["id"].tolist() == ["007", "008"]
    X = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]})
    assert_array_equal(found[["p_u", "p_v"]], model.predict_proba(X))


def test_no_label_or_name_in_predicted_csv_is_run_as_a_formula() -> None:
    write("t.csv", "a,@b,y\n1,=1+1,=cmd\n2,-2.5,-2+3|x\n3,-2.5,=cmd\n2,+z,-2+3|x\n")
    fit("t.csv", "--family", "a=gaussian")
    assert main(["predict", "model.bnb", "t.csv", "--append", "-o", "out.csv"]) == 0
    header, *rows = csv.reader(Path("out.csv").read_text().splitlines())
    assert header[:2] == ["a", "'@b"]
    assert [row[1] for row in rows] == ["'=1+1", "-2.5", "-2.5", "'+z"]
    assert {row[header.index("predicted")] for row in rows} == {"'=cmd", "'-2+3|x"}


@pytest.mark.slow
def test_new_levels_are_named_once_however_long_the_table(capsys: pytest.CaptureFixture) -> None:
    fit(write("t.csv", SMALL))
    write("new.csv", "a,b\n" + "1,x\n2,new\n" * 17_000)
    capsys.readouterr()
    assert main(["predict", "model.bnb", "new.csv", "-o", "out.csv"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert "'new' (17000 times)" in err[0]
    assert err[1:] == ["Wrote out.csv: 34,000 rows"]


def test_compare_writes_the_table_of_python(capsys: pytest.CaptureFixture) -> None:
    table = read_file(write("t.csv", WIDE))
    words = ["compare", "t.csv", "--target", "y", "--smoothing", "0.1,1", "--estimates", "map,mean"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    expected = nb.compare_smoothing(
        NaiveBayes(), table.drop(columns="y"), table["y"], (0.1, 1), ("map", "mean")
    )
    found = read_file(write("found.csv", out))
    pd.testing.assert_frame_equal(
        found, expected.table.reset_index(drop=True), check_dtype=False, check_exact=True
    )
    assert expected.verdict in err


def test_data_lists_and_writes_the_examples(capsys: pytest.CaptureFixture) -> None:
    assert main(["data"]) == 0
    assert capsys.readouterr().out.startswith("penguins\t")
    assert main(["data", "penguins"]) == 0
    assert capsys.readouterr().out == path("penguins").read_text(encoding="utf-8")
    assert main(["data", "penguins", "-o", "p.parquet"]) == 0
    pd.testing.assert_frame_equal(read_file("p.parquet"), penguins())


@pytest.mark.slow
def test_the_page_is_about_the_users_table_and_scores_the_test(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    dogs().to_parquet("dogs.parquet")
    dogs()[:40].to_csv("later.csv", index=False)
    words = ["report", "dogs.parquet", "--brief", "--target", "breed", "--test", "later.csv", "-o"]
    assert main([*words, "out.html"]) == 0
    html = Path("out.html").read_text(encoding="utf-8")
    assert "Predicting breed" in html
    assert str(folder) not in html
    capsys.readouterr()
    write("later.csv", "weight,breed,curled_tail,height\n30,Pug,true,1\n")
    assert main([*words, "none.html"]) == 1
    assert "later.csv: the label 'Pug' in column 'breed'" in capsys.readouterr().err
    assert not Path("none.html").exists()
    assert main(["report", write("t.csv", SMALL), "--target", "y", "-o", "-", "--brief"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_standard_input_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (SMALL.encode(), gzip.compress(SMALL.encode())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        assert fit("-").n_features_in_ == 2


# What goes wrong is one line and a code, and no file is touched

TABLES: dict[str, str | bytes] = {
    "small": SMALL,
    "ragged": "a,b,y\n1,x,u\n2,z\n",
    "latin-1": "a,b,y\n1,é,u\n".encode("latin-1"),
    "cut off": gzip.compress(SMALL.encode() * 99, mtime=0)[:-9],
    "capital": "a,b,Y\n1,x,u\n",
    "unlabelled": "a,b,y\n1,x,u\n2,z,\n3,x,v\n",
    "one class": "a,b,y\n1,x,u\n2,z,u\n",
    "labels": "y\nu\nv\n",
    "real": "a,y\n1,0.1\n2,0.2\n3,0.7\n",
    "infinite": "a,y\ninf,u\n2,v\n",
    "no a": "y,b\nu,x\n",
    "predicted": SMALL.replace("y", "predicted"),
    "late text": "a,b\n" + "1,x\n" * 40_000 + "abc,x\n",
}
FAILURES = """
1 | small | fit none.csv --target y -o goal | none.csv: No such file or directory
1 | small | report none.csv --target y -o goal | none.csv: No such file or directory
1 | small | predict m.bnb none.csv -o goal.csv | none.csv: No such file or directory
1 | ragged | compare t.csv --target y -o goal.csv | row 1: it has 2 fields
1 | latin-1 | compare t.csv --target y -o goal.csv | row 0: it is not UTF-8
1 | cut off | predict m.bnb t.csv -o goal.csv | If the file is damaged
1 | capital | fit t.csv --target y -o goal | has no column 'y'; did you mean 'Y'?
1 | unlabelled | fit t.csv --target y -o goal | 1 of 3 labels are missing, first at row 1
1 | one class | compare t.csv --target y -o goal.csv | only one class, 'u' in all 2 rows
1 | labels | fit t.csv --target y -o goal | no column is left to learn from
1 | real | report t.csv --target y -o goal | the labels in column 'y' are real numbers
1 | infinite | fit t.csv --target y -o goal | column 'a': a number is infinite
1 | capital | fit more.csv t.csv --target y -o goal | t.csv lacks 'y' and also has 'Y'
1 | small | fit t.csv --target y -o goal --family A=drop | no column 'A'; did you mean 'a'?
1 | small | fit t.csv --target y -o goal --family a,b=drop | no column is left
1 | small | fit t.csv --target y -o goal --family b=gaussian | row 0, column 'b': 'x' is not
1 | small | fit t.csv --target y -o goal --family a=bernoulli | Declare it gaussian, or drop it
1 | small | fit t.csv --target y -o goal --family a,b=joint --prior a=2 | are one block
1 | small | fit t.csv --target y -o goal --prior a=0.5 | does not fit column 'a', which is histogram
1 | small | fit t.csv --target y -o goal --prior 'Beta(1, 2)' | does not fit any column
1 | small | fit t.csv --target y -o goal --prior 'b=Dirichlet([1, 2, 3])' | (3,) does not fit
1 | small | fit t.csv --target y -o goal --class-prior u=0.5,w=0.5 | but the model has ['u', 'v']
1 | no a | predict m.bnb t.csv -o goal.csv | columns of the model: t.csv has no column 'a'
1 | late text | predict m.bnb t.csv -o goal.csv | row 40000, column 'a': 'abc' is not a number
1 | late text | predict m.bnb t.csv | row 40000, column 'a': 'abc' is not a number
1 | predicted | predict m.bnb t.csv --append -o goal.csv | already has a column 'predicted'
1 | small | predict mean.bnb t.csv --interval -o goal.csv | there are no intervals
1 | small | predict m.bnb - -o goal.csv | standard input: it is closed
2 | small | rapport | No such command 'rapport'. (Did you mean one of: 'export', 'report'?)
2 | small | report t.csv | Use --target COLUMN
2 | small | report -o . | File '.' is a directory
2 | small | report t.csv --target y -o t.csv | t.csv would overwrite another file
2 | small | fit t.csv --target y | Missing option '-o'
2 | small | fit t.csv --target y -o - | a model cannot be written to stdout
2 | small | report --save - | a model cannot be written to stdout
2 | small | report --save goal -o ./goal | would overwrite another file
2 | small | fit t.csv --target y -o goal --famly x | Did you mean '--family'?
2 | small | fit - - --target y -o goal | standard input can be read only once
2 | small | fit t.csv --target y -o goal --family a=normal | did you mean 'gaussian'?
2 | small | fit t.csv --target y -o goal --family a=poisson:shared | 'gaussian:shared', 'multiv
2 | small | fit t.csv --target y -o goal --family a=drop --family a=poisson | column 'a' twice
2 | small | fit t.csv --target y -o goal --prior -1 | -1.0 is not in the range x>=0
2 | small | fit t.csv --target y -o goal --prior 'Gauss(1)' | rate=0.5). The priors are Dirichlet
2 | small | fit t.csv --target y -o goal --prior 'Beta(-1, 1)' | Beta: a must be finite
2 | small | fit t.csv --target y -o goal --prior "Beta(open('x'), 1)" | is not a prior such as
2 | small | fit t.csv --target y -o goal --prior "a=__import__('os')" | [COLUMNS=]NUMBER
2 | small | fit t.csv --target y -o goal --temper 0 | neither a number above 0
2 | small | fit t.csv --target y -o goal --decimal , --delimiter , | are both ','
2 | small | predict m.bnb t.csv -o out.doc | the format of out.doc is not clear from its name
2 | small | fit t.csv --target y -o none/goal | there is no folder
2 | small | fit t.csv --target y -o goal --delimiter ab | neither one character nor tab
2 | small | fit t.csv --target y -o goal --family gaussian --family poisson | column 'a' twice
2 | small | predict m.bnb t.csv --prob 0.5 | --prob needs --interval
2 | small | compare t.csv --target y --smoothing 1,1 | repeats a value
2 | small | data cats | 'cats' is not one of 'penguins', 'dogs', 'spam'
2 | small | predict t.csv m.bnb | MODEL comes before TABLE. Swap the two
2 | small | report t.csv m.bnb --target y | a saved MODEL followed by its TABLE
2 | small | report m.bnb t.csv --target y --temper 1 | --temper is for a new model
2 | small | report m.bnb --target y | a saved MODEL followed by its TABLE
2 | small | help tabels | 'tabels' is not one of 'tables', 'families'
"""


@pytest.mark.parametrize("failure", FAILURES.strip().splitlines())
def test_a_failure_is_one_line_and_a_code_and_leaves_every_file(
    failure: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    code, table, words, message = failure.split(" | ")
    monkeypatch.setattr(sys, "stdin", None)  # as Python has it after <&-
    X = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "z"]})
    y = ["u", "v"]
    NaiveBayes().fit(X, y).save("m.bnb")
    NaiveBayes(estimate="mean").fit(X, y).save("mean.bnb")
    for name in ("goal", "goal.csv"):
        write(name, "the old one")
    write("t.csv", TABLES[table])
    write("more.csv", SMALL)
    before = files_in(folder)
    assert main(shlex.split(words)) == int(code)
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("bayesnb")
    assert err.count("\n") == 1
    assert files_in(folder) == before


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            OSError(28, "No space left on device"),
            1,
            "bayesnb: error: goal: No space left on device",
        ),
        (MemoryError("9 TiB"), 1, "bayesnb: error: there is not enough memory for this. 9 TiB"),
        (AttributeError("no\n\x1b[31m"), 1, "bayesnb: error: AttributeError: no.* --debug shows"),
        (KeyboardInterrupt(), 130, "\n"),
        (None, 128 + signal.SIGTERM, ""),
    ],
)
def test_whatever_stops_a_file_half_written_leaves_the_old_one(
    error: BaseException | None,
    code: int,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    def stop(file: int) -> None:
        if error is None:
            signal.raise_signal(signal.SIGTERM)
        else:
            raise error

    write("t.csv", SMALL)
    write("goal", "the old one")
    monkeypatch.setattr(os, "fsync", stop)
    monkeypatch.setattr(sys, "argv", shlex.split("bayesnb fit t.csv --target y -o goal -q"))
    before = files_in(folder)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        found = main()
    except SystemExit as stopped:
        found = stopped.code
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert found == code
    err = capsys.readouterr().err
    assert re.match(message, err)
    assert err.count("\n") == (message != "")
    assert "\x1b" not in err
    assert files_in(folder) == before


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(FileNotFoundError):
        main(["report", "none.csv", "--target", "a", "--debug"])


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("data >&-", 1, "bayesnb: error: standard output: it is closed\n"),
        ("data > /dev/full", 1, "bayesnb: error: .*No space left on device.*\n"),
        ("data penguin 2>&-", 2, ""),
        ("data cats", 2, "bayesnb.*'cats'.*\n"),
        ("data spam | head -1", 0, ""),
        ("data spam -o goal.csv", 1, "bayesnb: error: goal.csv: File too large\n"),
    ],
)
def test_streams_that_are_closed_full_or_read_no_further_end_in_words(
    command: str, code: int, err: str, folder: Path
) -> None:
    write("goal.csv", "the old one")
    done = subprocess.run(
        f"{shlex.join(RUN)} {command}",
        shell=True,
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # which the limit would cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == code
    assert re.fullmatch(err, done.stderr)
    assert files_in(folder) == {"goal.csv": b"the old one"}


def test_a_pipe_is_written_to_a_link_stays_and_a_file_keeps_its_mode(folder: Path) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert main(["data", "penguins", "-o", "pipe", "-q"]) == 0
    assert len(os.read(reader, 100)) == 100
    os.close(reader)
    assert Path("pipe").is_fifo()
    Path(write("real.csv", "old")).chmod(0o600)
    Path("link.csv").symlink_to("real.csv")
    assert main(["data", "dogs", "-o", "link.csv"]) == 0
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_text() == path("dogs").read_text()
    assert Path("real.csv").stat().st_mode & 0o777 == 0o600


def test_no_control_character_of_a_table_reaches_a_terminal(capsys: pytest.CaptureFixture) -> None:
    name = "x\x1b]0;t\x07.csv"
    labels = ["u\x1b[31m", "v\u202e", "w\x9b2J"]
    rows = [f'{n},p\x1b[0m{n % 3},"{labels[n % 3]}"\n' for n in range(12)]
    fit(write(name, 'a,"b\nerror: \x7f",y\n' + "".join(rows)))
    assert main(["predict", "model.bnb", name]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        r"predicted,p_u\x1b[31m,p_v\u202e,p_w\x9b2J" + "\nu\x1b[31m,"
    )  # cells are data
    assert main(["fit", name, "--target", "\x1b[31m", "-o", "m"]) == 1
    assert main(["fit", name, "--target", "y", "-o", "m", "\x1b[31m=\x07"]) == 1
    err += capsys.readouterr().err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", err)
    assert "\nerror" not in err


# Help, completion, terminals


@pytest.mark.slow
def test_help_fits_the_width_and_its_examples_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    rows = [
        f"{30 + n % 11},0{n % 7}123,{'AB'[n % 2]},{n},{'yes' if n % 3 else 'no'}" for n in range(24)
    ]
    for name in ("customers.csv", "new.csv", "later.csv", "january.csv"):
        write(name, "\n".join(["age,zip,plan,id,churned", *rows]) + "\n")
    for name in ("february.parquet", "new.parquet"):
        read_file("new.csv").to_parquet(name)
    text = ""
    for command in COMMANDS:
        for width in ("60", "80"):
            monkeypatch.setenv("COLUMNS", width)
            assert main([command, "--help"]) == 0
            prose, _, examples = capsys.readouterr().out.partition("  Example")
            assert max(map(len, prose.splitlines())) <= int(width)
        assert max(map(len, examples.splitlines()), default=0) <= 80
        text += examples
    commands = re.findall("((?:cat|bayesnb) .*)", re.sub(r"\\\n +", "", text))
    assert len(commands) >= 14
    for line in dict.fromkeys(commands):
        if "bayesnb report" in line:  # pages take long
            continue
        piped = re.match(r"cat (\S+) \| ", line)
        if piped:
            data = Path(piped[1]).read_bytes()
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        words = shlex.split(line[piped.end() if piped else 0 :].split(" > ")[0])[1:]
        assert main(words) == 0, line


@pytest.mark.parametrize(
    "words", [["fit", "--help"], ["data"], ["fit", "none.csv", "--target", "y", "-o", "m"]]
)
def test_what_needs_no_table_loads_nothing_heavy(words: list[str]) -> None:
    heavy = ("numpy", "pandas", "matplotlib", "sklearn", "numba", "scipy")
    code = f"import sys; from bayesnb.cli import main; main({words!r}); "
    code += f"sys.exit(any(name in sys.modules for name in {heavy}))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("re", {"report"}),
        ("fit --estimate m", {"mean", "map", "mle"}),
        ("fit --family age=gauss", {"age=gaussian"}),
        ("help t", {"tables"}),
    ],
)
def test_commands_and_values_are_completed(line: str, offered: set[str]) -> None:
    words = f"bayesnb {line}".split(" ")
    variables = {
        "_BAYESNB_COMPLETE": "fish_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": words[-1],
    }
    done = subprocess.run(
        RUN, env=os.environ | variables, capture_output=True, check=True, text=True
    )
    assert {*re.findall("plain[,\n]([^\\s\t]+)", done.stdout)} == offered


@pytest.mark.slow
def test_on_a_terminal_a_long_job_says_what_it_does() -> None:
    """It was silent for 22 seconds about a table of this size."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"level {j}": rng.choice(list("abcde"), 1000) for j in range(10)})
    X = X.assign(**{f"number {j}": rng.lognormal(size=1000) for j in range(10)})
    X.assign(y=rng.choice(["good", "bad"], 1000)).to_csv("t.csv", index=False)
    words = [*RUN, "report", "t.csv", "--target", "y", "--brief"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1 << 16):
                shown += part
        except OSError:  # Linux has no end of file here
            pass
    assert process.returncode == 0
    assert re.search(rb"report: .* \.\.\.\r", shown)
