"""Commands about saved models: `show`, `explain`, `report --save`."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesnb import NaiveBayes, load
from bayesnb.cli import main
from bayesnb.datasets import penguins


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of penguins, which a report saved, beside their table."""
    folder = tmp_path_factory.mktemp("saved")
    model = folder / "model.bnb"
    page = str(folder / "page.html")
    assert main(["report", "--brief", "--quiet", "-o", page, "--save", str(model)]) == 0
    penguins().to_csv(folder / "penguins.csv", index=False)
    return model


def test_show_prints_the_summary_and_the_links(saved: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["show", str(saved)]) == 0
    out = capsys.readouterr().out
    model = load(saved)
    assert str(model.summary()) in out
    assert str(model.links_) in out


def test_explain_prints_the_probabilities_of_a_row_and_what_columns_add(
    saved: Path, capsys: pytest.CaptureFixture
) -> None:
    table = str(saved.parent / "penguins.csv")
    assert main(["explain", str(saved), table, "--row", "7"]) == 0
    out = capsys.readouterr().out
    model = load(saved)
    row = penguins().iloc[[7]]
    assert str(model.explain(row[list(model.feature_names_in_)])) in out
    assert f"{model.predict_proba(row[list(model.feature_names_in_)]).max():.4g}" in out
    assert main(["explain", str(saved), table, "--row", "344"]) == 1
    assert "there is no row 344" in capsys.readouterr().err


def test_bayesnb_alone_prints_the_help(capsys: pytest.CaptureFixture) -> None:
    assert main([]) == 0
    assert "Usage: bayesnb" in capsys.readouterr().out


def test_a_saved_model_is_reported_without_a_fit(saved: Path) -> None:
    pages = [saved.parent / name for name in ("page.html", "again.html")]
    words = [str(saved), str(saved.parent / "penguins.csv"), "--target", "species"]
    assert main(["report", *words, "--brief", "--quiet", "-o", str(pages[1])]) == 0
    rows = [re.findall(r"<dd>.*?</dd>", page.read_text()) for page in pages]
    assert rows[0] == rows[1]


def test_labels_in_the_table_are_scored_under_the_name_that_the_model_remembers(
    saved: Path, capsys: pytest.CaptureFixture
) -> None:
    out = str(saved.parent / "out.csv")
    table = penguins()
    table[:9].assign(species=["Adelie"] * 7 + ["Gentoo", "?"]).to_csv(out, index=False)
    model = load(saved)
    assert model.target_name_ == "species"
    proba = model.predict_proba(table[:8][list(model.feature_names_in_)])
    loss = -np.log([*proba[:7, 0], proba[7, 2]]).mean()
    assert main(["predict", str(saved), out, "--digits", "2"]) == 0
    written, err = capsys.readouterr()
    assert f"accuracy 87.5 %, log loss {loss:.4f} per row, over 8 rows" in err
    assert written.splitlines()[1] == "Adelie,1.0,0.0,0.0"
    model.fit(table[["island"]], table["species"].to_numpy()).save(saved)
    assert main(["predict", str(saved), out, "--target", "species"]) == 0
    assert "over 8 rows" in capsys.readouterr().err
    assert main(["predict", str(saved), out, "--interval"]) == 0
    written, err = capsys.readouterr()
    assert err == ""
    assert written.startswith("predicted,p_Adelie,lower_Adelie,upper_Adelie,p_Chinstrap,")


def test_flags_are_scored_however_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,y\n1,true\n2,TRUE\n7,false\n8,False\n9,\n9,?\n")
    model = str(tmp_path / "m.bnb")
    rows = pd.DataFrame({"a": [1.0, 2.0, 7.0, 8.0]})
    NaiveBayes("gaussian").fit(rows, [True, True, False, False]).save(model)
    assert main(["predict", model, str(table), "--target", "y"]) == 0
    err = capsys.readouterr().err
    assert "accuracy 100.0 %" in err
    assert "over 4 rows" in err


@pytest.mark.parametrize("topic", ["tables", "families"])
def test_the_long_parts_of_the_help_fit_80_columns(
    topic: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["help", topic]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20
    assert max(map(len, lines)) <= 80
