"""The command line: data on stdout, talk on stderr, codes 0, 1, 2 and 130, and whole files only."""

import argparse
import csv
import gzip
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from argcomplete import CompletionFinder

import bayesnb
from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
    PolyaTree,
)
from bayesnb.cli import main, option_values
from bayesnb.cli.command_line import build_parser
from bayesnb.cli.messages import in_options, quoted
from bayesnb.data import amounts_of, open_writer, read_file
from bayesnb.datasets import EXAMPLES, dogs, path, penguins
from bayesnb.families import FAMILIES
from bayesnb.families.family import conjugate_priors
from bayesnb.stages import Stages

HEAVY = ("numpy", "pandas", "matplotlib", "sklearn", "numba", "scipy")
RUN = [sys.executable, "-m", "bayesnb"]
COMMANDS = ("report", "fit", "predict", "compare", "data", "completion")
SMALL = "a,b,y\n1,x,u\n2,z,v\n3,x,u\n4,z,v\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(bayesnb.__file__).parent.parent))  # other processes test the same code
    return tmp_path


@pytest.fixture
def penguin_file() -> str:
    return write("penguins.csv", path("penguins").read_text(encoding="utf-8"))


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def ran(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([*RUN, *words], capture_output=True, check=False, text=True)


def fitted(name: str, *words: str, target: str = "y") -> NaiveBayes:
    assert main(["fit", name, "--target", target, "-o", "model.bnb", *words]) == 0
    return bayesnb.load("model.bnb")


def answers(capsys: pytest.CaptureFixture, *words: str) -> pd.DataFrame:
    capsys.readouterr()
    assert main(["predict", "model.bnb", *words]) == 0
    out = write("answers.out", capsys.readouterr().out)
    return read_file(out, kinds={"predicted": "text"})


# Reports


@pytest.mark.slow  # as a step of .ci/run
def test_report_without_a_table_is_about_the_penguins(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == "Wrote report.html"
    assert "accuracy 99.4" in said.err  # to drop a column declares no family: all else is chosen
    assert "warning" not in said.err
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Predicting species" in html
    assert "The column year says when a penguin was measured" in html
    assert "bayesnb report" in html
    assert [file.name for file in folder.iterdir()] == ["report.html"]


def test_report_reads_the_users_table_and_scores_the_test(folder: Path, capsys: pytest.CaptureFixture) -> None:
    dogs().to_parquet("dogs.parquet")
    write(
        "later.csv", "weight,extra,breed,height,curled_tail\n30,1,Labradoodle,40.5,true\n16,1,English cocker,,false\n"
    )
    words = ["report", "dogs.parquet", "--target", "breed", "--test", "later.csv", "-o", "out.html"]
    assert main(words) == 0
    html = (folder / "out.html").read_text(encoding="utf-8")
    assert "Predicting breed" in html
    assert "dogs.parquet" in html
    assert str(folder) not in html
    write("wrong.csv", "weight,breed,curled_tail\n30,Labradoodle,true\n")
    assert main([*words[:5], "wrong.csv"]) == 1
    assert "wrong.csv lacks the column 'height' of the table that is learnt from" in capsys.readouterr().err
    write("wrong.csv", "weight,breed,curled_tail,height\n30,Pug,true,1\n")
    assert main([*words[:5], "wrong.csv"]) == 1
    assert "wrong.csv: the labels 'Pug' in column 'breed' were never learnt" in capsys.readouterr().err


@pytest.mark.slow
def test_levels_of_the_test_that_were_never_learnt_are_told(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    write("later.csv", SMALL.replace("x", "new"))
    assert main(["report", "t.csv", "--target", "y", "--test", "later.csv", "-q"]) == 0
    said = capsys.readouterr().err
    assert said.count("does not know") == said.count("\n") == 1
    assert "'new'" in said


@pytest.mark.slow
def test_a_page_may_go_to_stdout(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    assert main(["report", "t.csv", "--target", "y", "-o", "-"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("<!doctype html>")
    assert "Wrote the page to stdout" in said.err


# Models


def test_a_model_from_the_command_line_is_that_of_python(penguin_file: str, capsys: pytest.CaptureFixture) -> None:
    model = fitted(penguin_file, "--family", "year=drop", target="species")
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    own = NaiveBayes().fit(X, y)
    assert model.log_evidence_ == own.log_evidence_
    np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
    said = capsys.readouterr()
    assert said.out == ""
    assert "344 rows, 3 classes of species: Adelie 152, Chinstrap 68, Gentoo 124" in said.err
    assert re.search(r"categorical +island, sex\n", said.err)
    assert re.search(r"gaussian +bill_length_mm, flipper_length_mm, body_mass_g\n", said.err)
    assert re.search(r"polyatree +bill_depth_mm\n", said.err)
    loo = own.loo(X, y)
    assert f"log score {loo.elpd:.2f} ± {loo.se:.2f}" in said.err


@pytest.mark.parametrize("kind", ["none", "forest", "pairs", "blocks"])
def test_dependence_is_that_of_python(kind: str, capsys: pytest.CaptureFixture) -> None:
    table = penguins().drop(columns="year")
    table.to_csv("birds.csv", index=False)
    assert main(["fit", "birds.csv", "--target", "species", "-o", "birds.bnb", "--dependence", kind]) == 0
    lines = capsys.readouterr()
    model, dependence = bayesnb.load("birds.bnb"), None if kind == "none" else kind
    X, y = table.drop(columns="species"), table["species"]
    same = NaiveBayes(dependence=dependence).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert ("linked by evidence" in lines.out + lines.err) == (kind in ("forest", "pairs"))


def test_the_score_is_that_of_the_estimate_and_the_temper(capsys: pytest.CaptureFixture) -> None:
    write("small.csv", SMALL)
    model = fitted("small.csv", "--estimate", "mean", "--temper", "0.5", "--class-prior", "u=0.3,v=0.7")
    loo = NaiveBayes(estimate="mean", temper=0.5, class_prior={"u": 0.3, "v": 0.7})
    frame = read_file("small.csv")
    loo = loo.fit(frame[["a", "b"]], frame["y"]).loo(frame[["a", "b"]], frame["y"])
    assert f"log score {loo.elpd:.2f}" in capsys.readouterr().err
    assert (model.temper_, model.estimate) == (0.5, "mean")


@pytest.mark.parametrize("second", ["csv", "parquet"])
def test_several_tables_are_one(second: str, penguin_file: str) -> None:
    whole = fitted(penguin_file, target="species")
    first, rest = penguins().iloc[:200], penguins().iloc[200:, ::-1]
    first.to_csv("one.csv", index=False)
    rest.to_csv("two.csv", index=False)
    rest.to_parquet("two.parquet", index=False)
    both = fitted("one.csv", f"two.{second}", target="species")
    assert both.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    assert [*both.feature_names_in_] == [*whole.feature_names_in_]


def test_a_zero_in_one_table_makes_text_of_all(capsys: pytest.CaptureFixture) -> None:
    write("one.csv", "zip,y\n123,u\n456,v\n")
    write("two.csv", "y,zip\nu,007\n")
    model = fitted("one.csv", "two.csv")
    assert [*model.schema_.blocks[0].levels[0]] == ["007", "123", "456"]


def test_tables_with_other_columns_are_told_apart(capsys: pytest.CaptureFixture) -> None:
    write("one.csv", SMALL)
    write("two.csv", SMALL.replace("b", "c", 1))
    assert main(["fit", "one.csv", "two.csv", "--target", "y", "-o", "m.bnb"]) == 1
    assert "two.csv lacks 'b' and also has 'c', unlike one.csv" in capsys.readouterr().err


DECLARED = [
    (["a=poisson"], {"a": Poisson(), "b": Categorical()}),
    (["a=categorical"], {"a": Categorical(), "b": Categorical()}),
    (["categorical"], {"a": Categorical(), "b": Categorical(), "c": Categorical()}),
    (["b=drop"], {"b": None}),
    (["a,c=multinomial", "b=drop"], {("a", "c"): Multinomial(), "b": None}),
    (["multinomial", "b=drop"], {("a", "c"): Multinomial(), "b": None}),
    (["?=categorical", "c=poisson"], {"a": Categorical(), "b": Categorical(), "c": Poisson()}),
    (["[ac]=poisson"], {"a": Poisson(), "c": Poisson()}),
    (["a,b=joint"], {("a", "b"): JointTable()}),
    (["a,c=multivariate"], {("a", "c"): MultivariateGaussian()}),
    (["a=gaussian:shared"], {"a": Gaussian(shared=True)}),
    (["multivariate : shared", "b=drop"], {("a", "c"): MultivariateGaussian(shared=True), "b": None}),
]


def as_text(frame: pd.DataFrame, families: dict) -> pd.DataFrame:
    """The table as the command line reads it for these families: levels are text."""
    levels = [name for name, family in families.items() if isinstance(family, Categorical | JointTable)]
    columns = [own for name in levels for own in (name if isinstance(name, tuple) else [name])]
    return frame.astype(dict.fromkeys(columns, str))


@pytest.mark.parametrize(("said", "families"), DECLARED, ids=lambda own: " ".join(own) if isinstance(own, list) else "")
def test_families_are_those_of_python(said: list[str], families: dict) -> None:
    write("t.csv", "a,b,c,y\n1,x,0,u\n2,z,3,v\n3,x,1,u\n4,z,1,v\n")
    model = fitted("t.csv", *(word for one in said for word in ("--family", one)))
    frame = as_text(read_file("t.csv"), families)
    own = NaiveBayes(families).fit(frame[["a", "b", "c"]], frame["y"])
    assert model.log_evidence_ == pytest.approx(own.log_evidence_, rel=1e-12)
    assert model.families_.keys() == own.families_.keys()


NORMAL = NormalInverseGamma(mean=2, count=1, shape=2, scale=3)
PRIORS = [
    (["0.5"], {"b": Categorical(0.5), "f": Bernoulli(0.5)}),
    (["b=0.5"], {"b": Categorical(0.5)}),
    (["Dirichlet(0.2)", "f=Beta(1, 3)"], {"b": Categorical(0.2), "f": Bernoulli(Beta(1, 3))}),
    (["b=Dirichlet([1, 2])"], {"b": Categorical(Dirichlet([1, 2]))}),
    (["2", "Beta(a=1, b=3)"], {"b": Categorical(2.0), "f": Bernoulli(Beta(1, 3))}),
    (["a=NormalInverseGamma(mean=2, count=1, shape=2, scale=3)"], {"a": Gaussian(NORMAL)}),
    (["NormalInverseGamma(2, 1, 2, 3)"], {"a": Gaussian(NORMAL)}),
    (
        ["?=0.1", "a=NormalInverseGamma(2, 1, 2, 3)"],
        {"a": Gaussian(NORMAL), "b": Categorical(0.1), "f": Bernoulli(0.1)},
    ),
]


@pytest.mark.parametrize(("said", "families"), PRIORS, ids=lambda own: " ".join(own) if isinstance(own, list) else "")
def test_priors_are_those_of_python(said: list[str], families: dict) -> None:
    write("t.csv", "a,b,f,y\n1,x,true,u\n2,z,false,v\n3,x,true,u\n4,z,true,v\n")
    model, frame = fitted("t.csv", *(word for one in said for word in ("--prior", one))), read_file("t.csv")
    own = NaiveBayes(families).fit(frame[["a", "b", "f"]], frame["y"])
    assert model.log_evidence_ == pytest.approx(own.log_evidence_, rel=1e-12)


def test_priors_of_blocks_are_those_of_python(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", "a,b,f,c,y\n1,x,true,2,u\n2,z,false,5,v\n3,x,true,7,u\n4,z,true,8,v\n")
    said = ["--family", "a,c=multivariate:shared", "--family", "b,f=joint", "--prior", "0.25"]
    model = fitted(
        "t.csv", *said, "--prior", "NormalInverseWishart(mean=[2, 3], count=1, dof=4, scale=[[2, 1], [1, 3]])"
    )
    wishart = NormalInverseWishart(mean=[2, 3], count=1, dof=4, scale=[[2, 1], [1, 3]])
    families = {("a", "c"): MultivariateGaussian(wishart, shared=True), ("b", "f"): JointTable(0.25)}
    frame = read_file("t.csv")
    assert model.log_evidence_ == pytest.approx(NaiveBayes(families).fit(frame[[*"abfc"]], frame["y"]).log_evidence_)
    told = capsys.readouterr().err
    assert re.search(r"multivariate:shared +a, c\n", told)
    assert re.search(r"joint +b, f\n", told)


@pytest.mark.parametrize("option", ["a=poisson:shared", "a=gaussian:own"])
def test_only_a_variance_can_be_shared(option: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "t.csv", "--target", "y", "-o", "m", "--family", option]) == 2
    message = "there are gaussian:shared and multivariate:shared, which have one variance for all classes"
    assert message in capsys.readouterr().err


def test_names_with_commas_quotes_and_equals_signs_can_be_said(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", '"a,b","say ""x""",c=d,y\n1,2,3,u\n2,3,4,v\n0,1,1,u\n')
    model = fitted("t.csv", "--family", '"a,b","say ""x""",c=d=poisson', "--prior", "c=d=Gamma(2, 1)")
    assert {type(family) for family in model.families_.values()} == {Poisson}
    assert model.families_["c=d"].prior.shape == 2
    for name in ("a,b", 'say "x"', "it's", "plain", "two words"):
        (word,) = shlex.split(quoted(name))
        said = build_parser().parse_args(["fit", "t", "--target", "y", "-o", "m", "--family", f"{word}=drop"])
        assert said.family[0].names == (name,)


def test_labels_are_text_unless_they_are_integers(capsys: pytest.CaptureFixture) -> None:
    for labels, classes in ((["1", "2"], [1, 2]), (["01", "2"], ["01", "2"]), (["true", "False"], ["False", "true"])):
        write("t.csv", "a,y\n" + "".join(f"{n},{labels[n % 2]}\n" for n in range(6)))
        assert fitted("t.csv").classes_.tolist() == classes
    model = fitted("t.csv", "--class-prior", "False=0.5,true=0.5")
    assert model.class_prior_.mean().tolist() == [0.5, 0.5]
    write("t.csv", "a,y\n1,1\n2,2\n3,1\n")
    assert fitted("t.csv", "--class-prior", "1=0.25,2=0.75").class_prior_.mean().tolist() == [0.25, 0.75]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_missing_text_is_no_level(name: str) -> None:
    frame = pd.DataFrame({"c": ["x", None, "z"] * 4, "d": np.arange(12) / 2, "y": list("aba") * 4})
    with open(name, "wb") as stream:
        writer = open_writer(stream, name.partition(".")[2])
        writer.write(frame)
        writer.close()
    model, X = fitted(name), frame.drop(columns="y")
    expected = NaiveBayes().fit(X, frame.y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    assert main(["predict", "model.bnb", name, "--append", "-o", "answers.parquet"]) == 0
    assert pd.read_parquet("answers.parquet").c.isna().tolist() == [False, True, False] * 4


def test_columns_that_are_most_likely_no_features_are_told(capsys: pytest.CaptureFixture) -> None:
    rows = [f"{n},n{n},2020-01-{n % 28 + 1:02d},{n if n else 'none'},{'uv'[n % 2]}" for n in range(40)]
    write("t.csv", "\n".join(["row,name,day,age,y", *rows]))
    fitted("t.csv")
    said = capsys.readouterr().err
    assert "column 'row' goes up by one from row to row" in said
    assert "To leave the column out: --family row=drop" in said
    assert "column 'name' has a different value in each of its 40 rows, so it most likely identifies them" in said
    assert "column 'day' holds dates, read as 28 levels" in said
    assert "because 1 of its 40 cells is not a number; the first is 'none'" in said
    assert said.count("warning") == 4
    fitted("t.csv", "--family", "row,name=drop", "--family", "day=categorical", "--missing", ",NA,NaN,?,none")
    assert "warning" not in capsys.readouterr().err
    pd.DataFrame({"day": pd.date_range("2020", periods=4), "a": [1, 2, 3, 4], "y": list("uvuv")}).to_parquet(
        "t.parquet"
    )
    fitted("t.parquet")
    assert "column 'day' holds dates" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["none", "no,ne", 'no "x"', "it's"])
def test_the_advice_about_a_cell_that_is_no_number_can_be_followed(cell: str, capsys: pytest.CaptureFixture) -> None:
    rows = "".join(f"{n},{'uv'[n % 2]}\n" for n in range(20))
    write("t.csv", f"a,y\n{rows}" + '"{}",u\n'.format(cell.replace('"', '""')))
    assert isinstance(fitted("t.csv").families_["a"], Categorical)
    (advice,) = re.findall("--missing .*", capsys.readouterr().err)
    assert isinstance(fitted("t.csv", *shlex.split(advice)).families_["a"], PolyaTree)
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cells", "warning", "first"),
    [
        (["$1,234.50", "$3.00"], "amounts of money, such as '$1,234.50', .*, 1234.50 for '$1,234.50'", 1234.5),
        (["1.234,50 €", "3,10 €"], "amounts of money, such as '1.234,50 €', .*, 1234.50 for '1.234,50 €'", 1234.5),
        (["1.234 €", "3,10 €"], "amounts of money, such as '1.234 €', .*, 1234 for '1.234 €'", 1234.0),
        (["12.5 %", "7 %"], "percentages, such as '12.5 %', .*, 12.5 for '12.5 %'", 12.5),
        (["1,234,567", "999"], "numbers with marks between thousands, .*, 1234567 for '1,234,567'", 1234567.0),
        (["1,234", "3,999"], "numbers with marks between thousands, .*With a decimal comma", 1234.0),
        (["12.5 kg", "3 kg"], "numbers with a unit, such as '12.5 kg', .*, 12.5 for '12.5 kg'", 12.5),
        (["-5.5 CHF", "7 CHF"], "amounts of money, .*, -5.5 for '-5.5 CHF'", -5.5),
        (["12,5", "7,25"], "numbers with a decimal comma, such as '12,5', .* --decimal ,", 12.5),
        (["2020-04-03", "2021-07-08"], "dates, read as 10 levels.*days since 1970", 18355.0),
    ],
)
def test_numbers_that_are_written_for_people_are_converted_by_the_advice(
    cells: list[str], warning: str, first: float, capsys: pytest.CaptureFixture
) -> None:
    one, second = cells
    every = dict.fromkeys([one, *(re.sub("[0-9](?=[^0-9]*$)", str(n), second) for n in range(1, 10))])
    write("t.csv", "a;y\n" + "".join(f"{cell};{'uv'[n % 2]}\n" for n, cell in enumerate(every)))
    assert isinstance(fitted("t.csv").families_["a"], Categorical)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert re.search(f"column 'a' holds {warning.replace('$', '[$]')}", line), line
    table = pd.read_csv("t.csv", sep=";")
    code = re.findall(r": (table\['a'\] = .*?)\.(?: To| With|$)", line)[0]
    exec(code, {"table": table, "pandas": pd})
    assert table["a"].iloc[0] == first
    table.to_csv("plain.csv", index=False)
    assert isinstance(fitted("plain.csv").families_["a"], PolyaTree | Gaussian | Poisson)
    assert "warning" not in capsys.readouterr().err


def test_a_decimal_comma_is_read_where_the_command_says_so(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", "a;b;y\n" + "".join(f"{n},5;{n};{'uv'[n % 2]}\n" for n in range(10)))
    assert isinstance(fitted("t.csv").families_["a"], Categorical)
    assert "add --decimal , to the command" in capsys.readouterr().err
    model = fitted("t.csv", "--decimal", ",")
    assert "warning: column 'a'" not in capsys.readouterr().err
    X = pd.DataFrame({"a": np.arange(10) + 0.5, "b": range(10)})
    assert (answers(capsys, "t.csv", "--decimal", ",")["predicted"] == model.predict(X)).all()
    assert main(["predict", "model.bnb", "t.csv"]) == 1
    error = capsys.readouterr().err
    assert "line 2, column 'a': '0,5' is not a number. If that is a decimal comma, add --decimal ," in error


def test_levels_most_of_which_are_in_one_row_only_are_told_with_their_number(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    names = [f"n{max(0, i - 9)}" for i in range(40)]  # one of them ten times
    write("t.csv", "a,b,y\n" + "".join(f"{name},{'uv'[i % 2]},{'st'[i % 2]}\n" for i, name in enumerate(names)))
    fitted("t.csv")
    message = capsys.readouterr().err
    assert "column 'a' has 31 levels in 40 rows, 30 of them in one row only" in message
    assert "column 'b'" not in message


def test_rows_that_cannot_be_held_out_are_told_with_their_number(folder: Path, capsys: pytest.CaptureFixture) -> None:
    write("t.csv", "a,y\n" + "".join(f"{x},{y}\n" for x, y in ((1.5, "s"), (2.5, "t"), (3.5, "t"), (4.0, "t"))))
    fitted("t.csv", "--family", "a=gaussian")
    assert "log score" in capsys.readouterr().err
    write("t.csv", "a,y\n1.5,s\n2.5,s\n2.5,t\n3.5,t\n4.0,t\n")
    fitted("t.csv", "--family", "a=gaussian", "--estimate", "mle")
    assert "no score, because 2 of the rows cannot be left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    "cells",
    [
        *("n1 n2", "007 012", "12A 13B", "34A 7A", "1.2.3 1.2.4", "192.168.1.1 10.0.0.1", "192.168.684 192.168.101"),
        *("12:30 12:45", "555-1234 555-9999", "3 5"),
    ],
)
def test_codes_are_not_taken_for_amounts(cells: str) -> None:
    assert amounts_of(cells.split()) is None
    assert amounts_of(["110 001", "110 002"]) is None
    assert amounts_of(["147 B", "12 B"]) is None
    assert amounts_of(["1,234", "1,5"]) is None


# Predictions


def test_no_label_or_name_in_predicted_csv_is_run_as_a_formula() -> None:
    write("t.csv", "a,@b,y\n1,=1+1,=cmd\n2,-2.5,-2+3|x\n3,-2.5,=cmd\n2,+z,-2+3|x\n")
    fitted("t.csv", "--family", "a=gaussian")
    assert main(["predict", "model.bnb", "t.csv", "--append", "-o", "out.csv"]) == 0
    header, *rows = csv.reader(Path("out.csv").read_text().splitlines())
    assert header[:2] == ["a", "'@b"]
    assert [row[1] for row in rows] == ["'=1+1", "-2.5", "-2.5", "'+z"]
    assert {row[header.index("predicted")] for row in rows} == {"'=cmd", "'-2+3|x"}


def test_predictions_are_those_of_the_model(penguin_file: str, capsys: pytest.CaptureFixture) -> None:
    model = fitted(penguin_file, target="species")
    found = answers(capsys, penguin_file)
    X = penguins().drop(columns="species")
    assert [*found] == ["predicted", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    np.testing.assert_array_equal(found.drop(columns="predicted"), model.predict_proba(X))
    assert found["predicted"].tolist() == model.predict(X).tolist()


@pytest.mark.slow
def test_intervals_are_those_of_the_model(penguin_file: str, capsys: pytest.CaptureFixture) -> None:
    plain = ["--family", "bill_depth_mm=gaussian", "--dependence", "none"]  # of others a row's interval takes a second
    model = fitted(penguin_file, *plain, target="species")
    law = model.predict_interval(penguins().drop(columns="species").iloc[:9], 0.5, "fixed")
    write("some.csv", "".join(Path(penguin_file).read_text().splitlines(keepends=True)[:10]))
    found = answers(capsys, "some.csv", "--interval", "--prob", "0.5", "--rows", "fixed")
    for prefix, name in (("p", "probability"), ("lower", "lower"), ("upper", "upper")):
        np.testing.assert_array_equal(found[[f"{prefix}_{label}" for label in model.classes_]], law[name].values)
    one, two = (answers(capsys, "some.csv", "--interval", "--method", "draws", "--seed", seed) for seed in "12")
    again = answers(capsys, "some.csv", "--interval", "--method", "draws", "--seed", "1")
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(two)


def test_columns_are_found_by_name_and_read_as_they_were_learnt(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", "zip,age,ok,y\n00123,3,true,u\n12345,4,false,v\n12345,5,true,u\n00123,6,false,v\n")
    model = fitted("t.csv")
    write("new.csv", "ok,other,age,zip\n1,x,3.5,12345\n0,,?,12345\n")
    X = pd.DataFrame({"zip": ["12345"] * 2, "age": [3.5, np.nan], "ok": [True, False]})
    found = answers(capsys, "new.csv")
    np.testing.assert_array_equal(found[["p_u", "p_v"]], model.predict_proba(X))
    pd.DataFrame({"zip": [12345] * 2, "ok": [True, False], "age": ["3.5", None]}).to_parquet("new.parquet")
    pd.testing.assert_frame_equal(answers(capsys, "new.parquet"), found)
    assert capsys.readouterr().err == ""


def test_levels_that_are_numbers_in_the_model_are_looked_up_as_such(capsys: pytest.CaptureFixture) -> None:
    X = pd.DataFrame({"dose": [1, 2, 1, 3], "gone": [1, 2, 3, 4]})
    model = NaiveBayes({"dose": Categorical(), "gone": None}).fit(X, [7, 7, 8, 8])
    model.save("model.bnb")
    write("new.csv", "dose\n1\n3.0\n\n?\n")
    found = answers(capsys, "new.csv")
    new = pd.DataFrame({"dose": [1, 3, np.nan], "gone": np.nan})
    np.testing.assert_array_equal(found[["p_7", "p_8"]], model.predict_proba(new))
    assert found["predicted"].tolist() == ["7", "8", "7"]


def test_a_model_of_an_array_takes_columns_by_their_place(capsys: pytest.CaptureFixture) -> None:
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [5.0, 0.0]])
    model = NaiveBayes().fit(X, list("uvuv"))
    model.save("model.bnb")
    write("new.csv", "p,q\n0.5,1\n2,\n")
    found = answers(capsys, "new.csv")
    np.testing.assert_array_equal(found[["p_u", "p_v"]], model.predict_proba([[0.5, 1.0], [2.0, np.nan]]))
    write("new.csv", "p\n0.5\n")
    assert main(["predict", "model.bnb", "new.csv"]) == 1
    assert "new.csv has 1 columns, and the model 2 without names" in capsys.readouterr().err


def test_new_levels_are_told_once_however_long_the_table(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    fitted("t.csv")
    write("new.csv", "a,b\n" + "1,x\n2,new\n3,newer\n" * 15_000)
    capsys.readouterr()
    assert main(["predict", "model.bnb", "new.csv", "-o", "out.csv"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "'new' (15000 times), 'newer' (15000 times)" in said[0]
    assert said[1] == "Wrote out.csv: 45,000 rows"
    assert len(read_file("out.csv")) == 45_000


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.jsonl", "out.parquet", "out.feather"])
def test_answers_beside_the_table_are_the_same_in_every_format(name: str, capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    model = fitted("t.csv")
    write("new.csv", "id,b,a\n007,x,1.50\n008,?,\n")
    assert main(["predict", "model.bnb", "new.csv", "--append", "-o", name]) == 0
    found = read_file(name, kinds={"id": "text", "a": "number"})
    assert [*found] == ["id", "b", "a", "predicted", "p_u", "p_v"]
    assert found["id"].tolist() == ["007", "008"]
    assert found["a"].tolist()[0] == 1.5
    assert found["b"].isna().tolist() == [False, True]
    X = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]})
    np.testing.assert_array_equal(found[["p_u", "p_v"]], model.predict_proba(X))
    if name == "out.csv":
        assert Path(name).read_text().splitlines()[1].startswith("007,x,1.50,u,")
    assert main(["predict", "model.bnb", name, "--append", "-o", "again.csv"]) == 1
    assert f"{name} has a column 'predicted' already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_columns_of_lists_are_in_no_ones_way(name: str, capsys: pytest.CaptureFixture) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [[1], [2], None, []], "y": list("uvuv")})
    frame.to_parquet("t.parquet")
    frame.to_json("t.jsonl", orient="records", lines=True)
    assert main(["fit", name, "--target", "y", "-o", "m.bnb"]) == 1
    assert f"{name}: column 'b' holds list" in capsys.readouterr().err
    assert list(fitted(name, "--family", "b=drop").families_) == ["a"]
    assert len(answers(capsys, name)) == 4
    assert main(["predict", "model.bnb", name, "--append", "-o", "all.parquet"]) == 0
    assert [*map(len, pd.read_parquet("all.parquet").b.dropna())] == [1, 1, 0]
    assert main(["predict", "model.bnb", name, "--append", "-o", "all.jsonl"]) == 0
    assert [json.loads(line)["b"] for line in Path("all.jsonl").read_text().splitlines()] == [[1], [2], None, []]


def test_an_interval_is_not_shown_around_a_point_estimate(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    fitted("t.csv", "--estimate", "mean")
    assert main(["predict", "model.bnb", "t.csv", "--interval"]) == 1
    assert "it predicts by the estimate 'mean', for which there are no intervals" in capsys.readouterr().err


def test_a_row_that_cannot_be_predicted_leaves_no_answers(folder: Path, capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    fitted("t.csv")
    write("new.csv", "a,b\n" + "1,x\n" * 40_000 + "abc,x\n")
    before = set(folder.iterdir())
    for goal in ("out.csv", "-"):
        capsys.readouterr()
        assert main(["predict", "model.bnb", "new.csv", "-o", goal]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert "new.csv, line 40002, column 'a': 'abc' is not a number" in said.err
    assert set(folder.iterdir()) == before


# Comparisons and examples


def test_compare_writes_the_table_of_python(penguin_file: str, capsys: pytest.CaptureFixture) -> None:
    words = ["compare", penguin_file, "--target", "species", "--smoothing", "0.1,1", "--estimates", "map,predictive"]
    words += ["--dependence", "none"]
    assert main(words) == 0
    said = capsys.readouterr()
    table = penguins()
    own = bayesnb.compare_smoothing(
        NaiveBayes(dependence=None), table.drop(columns="species"), table["species"], (0.1, 1), ("map", "predictive")
    )
    found = read_file(write("found.csv", said.out))
    assert [*found] == [*own.table]
    for name in own.table:
        np.testing.assert_array_equal(found[name], own.table[name])
    assert own.verdict in said.err
    assert main([*words, "-o", "found.parquet", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    pd.testing.assert_frame_equal(read_file("found.parquet"), own.table.reset_index(drop=True), check_dtype=False)


def test_data_lists_and_writes_the_examples(capsys: pytest.CaptureFixture) -> None:
    assert main(["data"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [*EXAMPLES]
    assert main(["data", "penguins"]) == 0
    assert capsys.readouterr().out == path("penguins").read_text(encoding="utf-8")
    for name in ("p.csv", "p.parquet", "p.csv.gz"):
        assert main(["data", "penguins", "-o", name]) == 0
        pd.testing.assert_frame_equal(read_file(name), penguins())


# What goes wrong

BAD_TABLES = {
    "none.csv": (None, "No such file"),
    "empty.csv": ("", "it is empty"),
    "header.csv": ("a,b,y\n", "a header but no rows"),
    "ragged.csv": ("a,b,y\n1,x,u\n2,z\n", "ragged.csv, line 3: it has 2 fields, but the header has 3"),
    "binary.csv": (bytes(range(256)), "it is not a table"),
    "latin.csv": ("a,b,y\n1,é,u\n".encode("latin-1"), "latin.csv, line 2: byte 3"),
    "twice.csv": ("a,a,y\n1,x,u\n", "the column 'a' twice"),
}
BAD_TO_LEARN = {
    "other.csv": ("a,b,Y\n1,x,u\n", "the table has no column 'y'; did you mean 'Y'?"),
    "gaps.csv": ("a,b,y\n1,x,u\n2,z,\n3,x,v\n", "column 'y': 1 of 3 labels are missing, first at row 1. Drop those"),
    "one.csv": ("a,b,y\n1,x,u\n2,z,u\n", "has only one class, 'u' in all 2 rows"),
    "blank.csv": ("a,b,y\n,x,u\n?,z,v\n", "column 'a' is empty: all 2 cells are missing"),
    "alone.csv": ("y\nu\nv\n", "no column is left to learn from"),
    "real.csv": ("a,y\n1,0.1\n2,0.2\n3,0.7\n", "the labels in column 'y' are real numbers"),
    "inf.csv": ("a,y\ninf,u\n2,v\n", "column 'a': a number is infinite"),
}
BAD_TO_PREDICT = {
    "lacks.csv": ("y,b\nu,x\n", "lacks.csv lacks the column 'a' of the model"),
    "text.csv": ("a,b\n1,x\nabc,x\n", "text.csv, line 3, column 'a': 'abc' is not a number"),
}
LEARN = {
    "report": ["report", "TABLE", "--target", "y", "-o", "goal"],
    "fit": ["fit", "TABLE", "--target", "y", "-o", "goal"],
    "compare": ["compare", "TABLE", "--target", "y", "-o", "goal.csv"],
}
PREDICT = {"predict": ["predict", "model.bnb", "TABLE", "-o", "goal.csv"]}
FAILURES = [
    (command, name)
    for commands, tables in (
        ({**LEARN, **PREDICT}, BAD_TABLES),
        (LEARN, BAD_TO_LEARN),
        (PREDICT, BAD_TO_PREDICT),
    )
    for command in commands
    for name in tables
]


@pytest.mark.parametrize(("command", "name"), FAILURES)
def test_a_bad_table_is_one_line_and_no_file(
    command: str, name: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    write("model.bnb", model_of_small())
    data, told = (BAD_TABLES | BAD_TO_LEARN | BAD_TO_PREDICT)[name]
    if data is not None:
        write(name, data)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    words = [name if word == "TABLE" else word for word in {**LEARN, **PREDICT}[command]]
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("bayesnb: error: ")
    assert told in said.err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def model_of_small(kept: list[bytes] = []) -> bytes:  # noqa: B006  (fitted once for all tests)
    if not kept:
        frame = read_file(write("small.csv", SMALL))
        NaiveBayes().fit(frame[["a", "b"]], frame["y"]).save("small.bnb")
        kept.append(Path("small.bnb").read_bytes())
        Path("small.csv").unlink()
        Path("small.bnb").unlink()
    return kept[0]


@pytest.mark.parametrize("command", ["report", "fit", "compare"])
def test_a_table_that_memory_cannot_hold_is_refused(command: str, capsys: pytest.CaptureFixture) -> None:
    with open("huge.csv", "wb") as file:
        file.truncate(1 << 40)
    words = ["huge.csv" if word == "TABLE" else word for word in LEARN[command]]
    assert main(words) == 1
    assert "huge.csv: the file has 1.1 TB, and would need about 2.2 TB of memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--family", "c=drop"], "--family: the table has no column 'c'; it has 'a', 'b'"),
        (["--family", "A=drop"], "did you mean 'a'?"),
        (["--family", "x*=drop"], "the table has no column 'x*'"),
        (["--family", "a,b=drop"], "no column is left"),
        (["--family", "b=gaussian"], "line 2, column 'b': 'x' is not a number"),
        (["--family", "a=bernoulli"], "Declare another family: --family a=gaussian"),
        (["--prior", "a=0.5"], "--prior 0.5 does not fit column 'a': it is gaussian, whose prior is a NormalInverse"),
        (["--prior", "Beta(1, 2)"], "--prior Beta(1, 2): no column is bernoulli"),
        (["--prior", "b=Dirichlet([1, 2, 3])"], "3 concentrations for the 2 levels of 'b': 'x', 'z'"),
        (["--prior", "c=1"], "--prior: the table has no column 'c'"),
        (["--class-prior", "u=0.5,w=0.5"], "names the classes ['u', 'w'], but the model has ['u', 'v']"),
    ],
)
def test_an_option_that_does_not_fit_the_table_is_1(
    words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    write("t.csv", SMALL)
    for command in LEARN.values():
        assert main(["t.csv" if word == "TABLE" else word for word in command] + words) == 1
        said = capsys.readouterr()
        assert said.err.count("\n") == 1
        assert told in said.err
    assert [file.name for file in folder.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["rapport"], "invalid choice: 'rapport'"),
        (["report", "--nonsense"], "unrecognized arguments"),
        (["report", "t.csv"], "Say --target COLUMN"),
        (["report", "-o", "."], ". is a folder"),
        (["report", "-o", "no/such/folder/report.html"], "there is no folder"),
        (["report", "t.csv", "--target", "y", "-o", "t.csv"], "-o t.csv would overwrite a file that is read"),
        (["fit", "t.csv", "--target", "y"], "required: -o/--output"),
        (["fit", "t.csv", "-o", "m.bnb"], "required: --target"),
        (["fit", "--target", "y", "-o", "m.bnb"], "required: TABLE"),
        (["fit", "t.csv", "--target", "y", "-o", "-"], "a model cannot be written to stdout"),
        (["fit", "-", "-", "--target", "y", "-o", "m"], "standard input can be read only once"),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--family", "a=normal"],
            "there is no family 'normal'; did you mean 'gaussian'?",
        ),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--family", "=drop"], "a name is empty"),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--family", "a=drop", "--family", "a=poisson"],
            "column 'a' twice",
        ),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--family", "drop", "--family", "poisson"],
            "two families for all columns",
        ),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "b=1", "--prior", "?=2", "--prior", "b=3"],
            "column 'b' twice",
        ),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "-1"], "must be finite and at least 0"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "Beta(1)"], "Beta: missing 1 required"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "Gauss(1)"], "there is no prior 'Gauss'; there are"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "Beta(-1, 1)"], "Beta: a must be finite"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "a=Beta(open('x'), 1)"], "is not a prior such as"),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--prior", "a=__import__('os')"],
            "is not of the form [COLUMNS=]NUMBER",
        ),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--temper", "0"], "above 0, auto, columns or loo"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--class-prior", "some"], "is not a number"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--delimiter", "ab"], "is neither one character nor tab"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--decimal", ",", "--delimiter", ","], "are both ','"),
        (["predict", "m.bnb"], "required: TABLE"),
        (["predict", "m.bnb", "t.csv", "-o", "out.doc"], "the format of out.doc is not clear from its name"),
        (
            ["predict", "m.bnb", "t.csv", "-o", "out.parquet.gz"],
            "the format of out.parquet.gz is not clear from its name",
        ),
        (["predict", "m.bnb", "t.csv", "--prob", "0.5"], "need --interval"),
        (["predict", "m.bnb", "t.csv", "--interval", "--prob", "1"], "1 is not between 0 and 1"),
        (["compare", "t.csv", "--target", "y", "--smoothing", "1,x"], "'x' is not a number"),
        (["compare", "t.csv", "--target", "y", "--smoothing", "1,1"], "names a number twice"),
        (["compare", "t.csv", "--target", "y", "--estimates", "median"], "choose from predictive"),
        (["data", "cats"], "there is no example table 'cats'; there are penguins"),
        (["data", "-o", "x.csv"], "-o needs the NAME"),
        (["completion", "ksh"], "invalid choice: 'ksh'"),
    ],
)
def test_bad_usage_is_2_and_one_line(words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture) -> None:
    write("t.csv", SMALL)
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert not re.search(r"[.?]\. ", said.err)
    assert said.err.count("\n") == 1
    assert told in said.err
    assert [file.name for file in folder.iterdir()] == ["t.csv"]


def test_advice_for_python_becomes_advice_for_the_command_line() -> None:
    assert in_options("Declare it: families={'a b': Categorical()}.") == "Declare it: --family 'a b'=categorical."
    assert in_options("or drop it: {'a': None}.") == "or drop it: --family a=drop."
    assert in_options("Use estimate='predictive', or drop the column: families={...: None}.") == (
        "Use --estimate predictive, or drop the column: --family COLUMN=drop."
    )


def test_cells_that_are_missing_can_be_said(capsys: pytest.CaptureFixture) -> None:
    for said, missing in (("", ("",)), (",NA", ("", "NA")), ('"a,b",c', ("a,b", "c")), ("c", ("c",))):
        assert build_parser().parse_args(["fit", "t", "--target", "y", "-o", "m", "--missing", said]).missing == missing
    write("t.csv", "a,y\n1,u\nunknown,v\n3,u\n")
    model = fitted("t.csv", "--missing", "unknown", "--family", "gaussian")
    assert model.stats_.blocks[0].count.ravel().tolist() == [2, 0]


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(FileNotFoundError):
        main(["report", "none.csv", "--target", "a", "--debug"])


def test_memory_that_runs_out_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def full(*words: object, **more: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    write("t.csv", SMALL)
    monkeypatch.setattr(NaiveBayes, "fit", full)
    assert main(["fit", "t.csv", "--target", "y", "-o", "m.bnb"]) == 1
    assert capsys.readouterr().err == "bayesnb: error: there is not enough memory for this. Unable to allocate 9 TiB\n"


@pytest.mark.parametrize("error", [RecursionError("too\ndeep"), AttributeError("no \x1b[31m"), ZeroDivisionError()])
def test_an_error_that_no_one_foresaw_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def fail(*words: object, **more: object) -> None:
        raise error

    write("t.csv", SMALL)
    monkeypatch.setattr(NaiveBayes, "fit", fail)
    assert main(["fit", "t.csv", "--target", "y", "-o", "m.bnb"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"bayesnb: error: {type(error).__name__}")
    assert said.endswith(". This is unexpected: --debug shows the traceback.\n")
    assert said.count("\n") == 1
    assert "\x1b" not in said
    with pytest.raises(type(error)):
        main(["fit", "t.csv", "--target", "y", "-o", "m.bnb", "--debug"])


GZIPPED = gzip.compress("".join(f'{{"a": {n * 7919 % 1000}, "y": "uv"}}\n' for n in range(30_000)).encode(), mtime=0)
BAD_FILES = {
    "cut.jsonl.gz": (GZIPPED[:-30], "a gzip file that is damaged or cut off"),
    "summed.jsonl.gz": (GZIPPED[:-6] + b"123456", "a gzip file that is damaged or cut off: CRC"),
    "deep.jsonl": (b'{"y": 1}\n{"y": ' + b"[" * 10**5 + b"]" * 10**5 + b"}\n", "line 2: it is nested too deeply"),
    "half.jsonl": (b'{"b": "x"}\n{"b": "\\ud800"}\n', r"line 2: \\ud800 is half of a surrogate pair"),
    "name.jsonl": (b'{"\\ud800": "x"}\n', r"line 1: \\ud800 is half of a surrogate pair"),
    "long.jsonl": (
        b'{"a": ' + b"9" * 400 + b', "y": 1}\n{"a": 2.5, "y": 2}\n',
        "column 'a' .* too large for a real number",
    ),
    "wide.jsonl": ('{"a": 1}\n'.encode("utf-16"), "line 1: byte 1 of the line, 0xff, is not UTF-8"),
    "bad.jsonl": (b'{"a": 1}\n{"a": "\xe9"}\n', "line 2: byte 8 of the line, 0xe9, is not UTF-8"),
    "inf.jsonl": (b'{"a": Infinity, "y": "u"}\n{"a": 1, "y": "v"}\n', "a number is infinite|lacks the column 'b'"),
    "nul.csv": (b"a,b,y\n1,x\0,u\n", "it is not a table"),
    "junk.csv": (np.random.default_rng(0).bytes(999), "it is not a table"),
    "wide.csv": (SMALL.encode("utf-16") + b"x", "it is not utf-16"),
    "bad.csv": (b"a,b,y\n1,caf\xe9,u\n", "line 2: byte 6 of the line, 0xe9, is not UTF-8"),
    "empty.csv": (b"", "it is empty"),
    "empty.csv.gz": (gzip.compress(b""), "it is empty"),
    "empty.jsonl": (b"", "it has no rows"),
    "empty.parquet": (b"", "it cannot be read"),
    "text.feather": (SMALL.encode(), "it cannot be read"),
    "cut.csv.zst": (b"\x28\xb5\x2f\xfd....", "compressed by zstd"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_table_is_one_line_that_names_it(name: str, capsys: pytest.CaptureFixture) -> None:
    data, why = BAD_FILES[name]
    write(name, data)
    write("m.bnb", model_of_small())
    target = [name, "--target", "y"]
    for words in (
        ["report", *target],
        ["fit", *target, "-o", "o.bnb"],
        ["compare", *target],
        ["predict", "m.bnb", name],
    ):
        assert main(words) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert re.fullmatch(f"bayesnb: error: {re.escape(name)}.*({why}).*\n", said.err), said.err


def test_no_control_character_of_a_table_reaches_a_terminal(capsys: pytest.CaptureFixture) -> None:
    red, name = "u\x1b[31m", "x\x1b]0;t\x07.csv"
    labels = [red, "v\u202e", "w\x9b2J"]
    rows = "".join(f'{n},p\x1b[0m{n % 3},"{labels[n % 3]}"\n' for n in range(12))
    write(name, f'a,"b\nerror: \x7f",y\n{rows}')
    fitted(name)
    told = capsys.readouterr().err
    assert r"3 classes of y: u\x1b[31m 4, v\u202e 4, w\x9b2J 4" in told
    assert main(["predict", "model.bnb", name]) == 0
    said = capsys.readouterr()
    header, first = said.out.splitlines(keepends=True)[:2]
    assert header == r"predicted,p_u\x1b[31m,p_v\u202e,p_w\x9b2J" + "\n"
    assert first.startswith(red)  # cells are data
    for words in (["fit", name, "--target", red, "-o", "m"], ["fit", name, "--target", "y", "-o", "m", "--prior", red]):
        assert main(words) in (1, 2)
    assert main(["report", name, "--target", "y", "-o", "o.html", red]) == 2
    told += said.err + capsys.readouterr().err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told)
    assert "\nerror" not in told


def test_a_terminal_shows_control_characters_of_cells_as_escapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    write("t.csv", "a,y\n" + "1,u\x1b[31m\n2,v\n" * 3)
    fitted("t.csv")
    capsys.readouterr()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["predict", "model.bnb", "t.csv", "--append"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(r"1,u\x1b[31m,u\x1b[31m,")


def test_labels_whose_columns_would_have_one_name_are_refused(capsys: pytest.CaptureFixture) -> None:
    write("t.csv", 'a,y\n1,"u\x1b"\n2,u\\x1b\n')
    fitted("t.csv")
    assert main(["predict", "model.bnb", "t.csv"]) == 1
    assert "several labels differ by control characters only" in capsys.readouterr().err


def read_terminal(fd: int) -> str:
    """Return what was written to a terminal whose other end is closed."""
    text = b""
    while True:
        try:
            part = os.read(fd, 1 << 16)
        except OSError:  # Linux has no end of file here
            part = b""
        if not part:
            return text.decode()
        text += part


def test_a_stage_is_named_on_a_terminal_once_the_work_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with Stages() as stages:
            stages.begin("a short stage")
            stages.begin("a long \x1b stage")
            time.sleep(2.5)
            stages.begin("a short stage")
            stages.begin("another long stage")
            time.sleep(0.6)
        with Stages() as stages:
            stages.begin("short work")
    assert read_terminal(ours).splitlines() == ["a long \\x1b stage ...", "another long stage ..."]


@pytest.mark.slow
def test_a_report_on_a_terminal_says_what_it_does_and_elsewhere_it_does_not() -> None:
    """It was silent for 22 seconds about a table of this size."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"level {j}": rng.choice(list("abcde"), 1000) for j in range(10)})
    X = X.assign(**{f"number {j}": rng.lognormal(size=1000) for j in range(10)})
    write("t.csv", X.assign(y=rng.choice(["good", "bad"], 1000)).to_csv(index=False))
    words = [*RUN, "report", "t.csv", "--target", "y"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = read_terminal(ours)
    assert process.returncode == 0
    assert re.search(r"^report: .* \.\.\.\r$", shown, re.MULTILINE)
    assert " ...\n" not in subprocess.run(words, capture_output=True, text=True, check=True).stderr


def test_an_interruption_is_130_and_quiet(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def stop(*words: object, **more: object) -> None:
        raise KeyboardInterrupt

    write("t.csv", SMALL)
    monkeypatch.setattr(NaiveBayes, "save", stop)
    assert main(["fit", "t.csv", "--target", "y", "-o", "m.bnb", "--quiet"]) == 130
    assert capsys.readouterr() == ("", "")
    assert [file.name for file in folder.iterdir()] == ["t.csv"]


def test_a_job_that_is_told_to_stop_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(file: int) -> None:
        signal.raise_signal(signal.SIGTERM)

    write("t.csv", SMALL)
    monkeypatch.setattr(os, "fsync", stop)  # when half of it may be written
    monkeypatch.setattr(sys, "argv", ["bayesnb", "fit", "t.csv", "--target", "y", "-o", "m.bnb"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.value.code == 128 + signal.SIGTERM
    assert [file.name for file in folder.iterdir()] == ["t.csv"]


def test_a_full_disk_leaves_the_old_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    write("t.csv", SMALL)
    write("m.bnb", "the old one")
    monkeypatch.setattr(os, "fsync", full)
    assert main(["fit", "t.csv", "--target", "y", "-o", "m.bnb", "--quiet"]) == 1
    assert capsys.readouterr().err == "bayesnb: error: m.bnb: No space left on device\n"
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"t.csv": SMALL, "m.bnb": "the old one"}


def test_a_full_disk_leaves_the_old_file(folder: Path) -> None:
    write("goal.csv", "the old one")
    done = subprocess.run(
        [*RUN, "data", "spam", "-o", "goal.csv"],
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == 1
    assert done.stderr == "bayesnb: error: goal.csv: File too large\n"
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [("goal.csv", "the old one")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_stdout_that_is_full_is_an_error() -> None:
    with open("/dev/full", "wb") as full:
        for words in (["data"], ["data", "penguins"]):
            done = subprocess.run([*RUN, *words], stdout=full, stderr=subprocess.PIPE, check=False, text=True)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert "No space left on device" in done.stderr


def test_a_stream_that_is_closed_is_no_riddle() -> None:
    shell = shlex.join(RUN)
    done = subprocess.run(f"{shell} data >&-", shell=True, stderr=subprocess.PIPE, check=False, text=True)
    assert (done.returncode, done.stderr) == (1, "bayesnb: error: standard output: it is closed\n")
    done = subprocess.run(f"{shell} data penguin 2>&-", shell=True, stdout=subprocess.PIPE, check=False, text=True)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("words", ["report - --target y", "fit - --target y -o o.bnb", "predict m.bnb -"])
def test_a_standard_input_that_is_closed_is_said_to_be(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    write("m.bnb", model_of_small())
    monkeypatch.setattr(sys, "stdin", None)  # as Python has it after <&-
    assert main(words.split()) == 1
    assert capsys.readouterr() == ("", "bayesnb: error: standard input: it is closed\n")


def test_a_device_or_a_pipe_is_written_to_and_not_replaced() -> None:
    write("t.csv", SMALL)
    fitted("t.csv")
    commands = (["data", "penguins"], ["fit", "t.csv", "--target", "y"], ["predict", "model.bnb", "t.csv"])
    os.mkfifo("goal")
    for command in commands:
        reader = os.open("goal", os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert main([*command, "-o", "goal", "--quiet"]) == 0
            assert len(os.read(reader, 100)) == 100
        finally:
            os.close(reader)
        assert Path("goal").is_fifo()


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(folder: Path) -> None:
    (folder / "real.csv").write_text("old")
    (folder / "real.csv").chmod(0o600)
    (folder / "link.csv").symlink_to("real.csv")
    assert main(["data", "dogs", "-o", "link.csv"]) == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text() == path("dogs").read_text()
    assert (folder / "real.csv").stat().st_mode & 0o777 == 0o600


# Help, completion, streams


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_0_fits_the_width_and_has_examples(
    command: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (60, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main([command, "--help"]) == 0
        said = capsys.readouterr().out
        prose = said.split("examples:")[0]
        assert max(map(len, prose.splitlines())) <= columns
        assert f"  bayesnb {command}" in said.split("examples:")[1]


def examples() -> list[str]:
    """Every example that a help text gives, as one line."""
    texts = [str(parser.epilog) for parser in [build_parser(), *commands().values()]]
    lines = re.sub(r"\\\n +", "", "\n".join(texts)).splitlines()
    found = [re.split(r" {3,}", line.strip())[0] for line in lines if re.match(r"  (cat |bayesnb )", line)]
    return [line for line in dict.fromkeys(found) if "~/" not in line]


def run_examples(found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run them in a folder that has what they name; pipes and redirections are the shell's."""
    rows = [f"{30 + n % 11},0{n % 7}123,{'AB'[n % 2]},{n},{['yes', 'no'][n % 3 == 0]}" for n in range(24)]
    table = "\n".join(["age,zip,plan,id,churned", *rows]) + "\n"
    for name in ("customers.csv", "new.csv", "later.csv", "january.csv"):
        write(name, table)
    for name in ("february.parquet", "new.parquet"):
        read_file("new.csv").to_parquet(name)
    write("mail.csv", "w_a,w_b,label\n" + "3,0,spam\n0,2,ham\n1,1,spam\n0,3,ham\n")
    for line in found:
        piped = re.match(r"cat (\S+) \| ", line)
        words = line[piped.end() if piped else 0 :].split(" > ")[0]
        if piped:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(Path(piped[1]).read_bytes())))
        assert main(shlex.split(words)[1:]) == 0, line


def test_every_example_of_the_help_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [line for line in examples() if "bayesnb report" not in line]
    assert len(found) >= 15
    run_examples(found, monkeypatch)
    made = {"churn.bnb", "answers.csv", "answers.parquet", "answers.csv.gz", "smoothing.csv", "mail.bnb"}
    assert made <= set(map(str, Path().iterdir()))


@pytest.mark.slow
def test_every_example_of_report_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that name the page have all of it; of the others, what takes little time."""
    found = [line for line in examples() if "bayesnb report" in line]
    assert len(found) >= 6
    run_examples([line if "churn.html" in line else f"{line} --brief" for line in found], monkeypatch)
    assert Path("churn.html").stat().st_size > 10_000
    assert Path("report.html").stat().st_size > 10_000


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["data"], ["completion", "bash"], ["fit"]])
def test_what_needs_no_table_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        f"import sys; from bayesnb.cli import main; main({words!r}); sys.exit(any(m in sys.modules for m in {HEAVY}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        "report none.csv --target y",
        "report --test none.csv",
        "fit none.csv --target y -o m.bnb",
        "compare none.csv --target y -o out.csv",
        "predict none.csv none.csv -o out.parquet",
    ],
)
def test_a_misspelt_file_is_found_before_anything_heavy_is_loaded(words: str) -> None:
    code = (
        f"import sys; from bayesnb.cli import main; code = main({words.split()!r}); "
        f"sys.exit(code if not any(m in sys.modules for m in {HEAVY}) else 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (1, "bayesnb: error: none.csv: No such file or directory\n")


def test_the_package_runs_as_a_module_and_returns_the_code() -> None:
    assert ran("data").returncode == 0
    assert ran("data", "cats").returncode == 2


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{shlex.join(RUN)} data spam | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, check=False, text=True)
    assert done.stdout.startswith("label,")
    assert done.stderr == ""


def test_tables_come_from_standard_input(
    penguin_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    data = Path(penguin_file).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
    fitted("-", target="species")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
    found = answers(capsys, "-", "--to", "jsonl")
    assert len(found) == 344


@pytest.fixture
def complete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A function that returns what a shell's script is given to offer for the last of the words."""
    monkeypatch.setattr(CompletionFinder, "_init_debug_stream", lambda self: None)  # it takes a descriptor of pytest's
    write("my table.csv", '\ufeff"age","zip code","a,b",churned\r\n1,2,3,u\r\n')
    write("semi.csv", "age;zip;churned\n1;2;3\n")

    def complete(*words: str, shell: str = "fish") -> list[str]:
        line = shlex.join(["bayesnb", *words[:-1]]) + f" {words[-1]}"
        asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SHELL": shell}
        with monkeypatch.context() as patch:
            for name, value in ({"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": "offered"} | asked).items():
                patch.setenv(name, value)
            patch.setenv("_ARGCOMPLETE_IFS", "\n")
            patch.setenv("_ARGCOMPLETE_SUPPRESS_SPACE", "1")
            assert main(["words", "that", "are", "not", "asked", "for"]) == 0
        return Path("offered").read_text().split("\n")

    return complete


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["report"]),
        (["fit", "--estimate", "m"], ["mean", "map", "mle"]),
        (["compare", "--estimates", "map,m"], ["map,mean", "map,map", "map,mle"]),
        (["report", "my"], ["my table.csv"]),
        (["report", "--test", "se"], ["semi.csv"]),
        (["predict", "model.bnb", "se"], ["semi.csv"]),
        (["completion", ""], ["bash", "zsh", "fish", "--quiet", "--debug", "--help"]),
        (["data", "p"], ["penguins"]),
        (["fit", "semi.csv", "--target", ""], ["age", "zip", "churned"]),
        (["report", "my table.csv", "--target", "z"], ["zip code"]),
        (["fit", "my table.csv", "--family", "a"], ["age="]),
        (["fit", "my table.csv", "--family", "age,z"], ["age,zip code="]),
        (["fit", "my table.csv", "--family", "age=gauss"], ["age=gaussian", "age=gaussian:shared"]),
        (["fit", "my table.csv", "--family", "'\"a"], ['"a,b"=']),
        (["fit", "semi.csv", "--prior", "age=G"], ["age=Gamma("]),
        (["fit", "semi.csv", "--temper", ""], ["auto", "columns", "loo"]),
        (["fit", "semi.csv", "--class-prior", "e"], ["empirical"]),
        (["fit", "no.csv", "--target", ""], [""]),
        (["fit", "semi.csv", "--encoding", ""], [""]),
    ],
)
def test_values_files_and_columns_are_completed(
    words: list[str], offered: list[str], complete: Callable[..., list[str]]
) -> None:
    assert {*complete(*words)} == {*offered}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_completed(shell: str, complete: Callable[..., list[str]]) -> None:
    assert {offer.partition(":")[0] for offer in complete("", shell=shell)} == {*COMMANDS, "--help", "--version"}
    for name, parser in commands().items():
        offers = {offer.partition(":")[0] for offer in complete(name, "-", shell=shell)}
        assert offers == {option for action in parser._actions for option in action.option_strings}


def test_families_and_priors_that_help_and_completion_show_are_those_of_the_registry() -> None:
    built_in = {word: family for word, family in FAMILIES.items() if family.__module__.startswith("bayesnb.")}
    assert {*option_values.FAMILIES} == {*built_in}
    assert {*option_values.SHARED} == {f"{word}:shared" for word, family in built_in.items() if family.shareable()}
    priors = {name for name, kind in conjugate_priors().items() if kind.__module__.startswith("bayesnb.")}
    assert {*option_values.BELIEFS} == priors


def test_a_completion_loads_nothing_heavy(complete: Callable[..., list[str]]) -> None:
    code = f"import sys; from bayesnb.cli import main; main(); sys.exit(any(m in sys.modules for m in {HEAVY}))"
    line = "bayesnb fit semi.csv --family "
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": "offered"}
    done = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, "_ARGCOMPLETE": "1", **asked})
    assert done.returncode == 0
    assert "churned=" in Path("offered").read_text()


def test_bash_asks_the_command(folder: Path, capsys: pytest.CaptureFixture) -> None:
    write("my table.csv", SMALL)
    assert main(["completion", "bash"]) == 0
    write("bayesnb.sh", capsys.readouterr().out)
    write("bayesnb", f'#!/bin/sh\nexec {shlex.join(RUN)} "$@"\n')
    Path("bayesnb").chmod(0o755)
    line = "bayesnb report my"
    script = f"PATH=$PWD:$PATH; source ./bayesnb.sh; COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_TYPE=9; "
    script += "$(complete -p bayesnb | sed 's/.*-F \\([^ ]*\\).*/\\1/') bayesnb; printf '%s' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == r"my\ table.csv"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nospace -o default -o bashdefault -F"),
        ("zsh", "#compdef bayesnb"),
        ("fish", "complete --command bayesnb"),
    ],
)
def test_a_completion_script_is_of_that_shell(shell: str, line: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert line in script
    assert "bayesnb" in script


def test_quiet_is_quiet(penguin_file: str, capsys: pytest.CaptureFixture) -> None:
    fitted(penguin_file, "--quiet", target="species")
    assert capsys.readouterr() == ("", "")


def test_answers_in_json_are_json(capsys: pytest.CaptureFixture) -> None:
    write("model.bnb", model_of_small())
    write("new.csv", "a,b\n1,x\n,z\n")
    assert main(["predict", "model.bnb", "new.csv", "--to", "jsonl", "--append"]) == 0
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert (one["a"], one["b"], two["a"]) == (1.0, "x", None)
    assert one["p_u"] + one["p_v"] == pytest.approx(1, abs=1e-15)
