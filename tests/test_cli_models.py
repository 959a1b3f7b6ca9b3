"""Commands about saved models: `show`, `explain`, `report --save`; names that are nearly right."""

import re
from pathlib import Path

import pytest

from bayesnb import load
from bayesnb.cli import main
from bayesnb.datasets import penguins


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return the file of a model of penguins, which a report saved, beside their table."""
    model = tmp_path / "model.bnb"
    page = str(tmp_path / "page.html")
    assert main(["report", "--brief", "--quiet", "-o", page, "--save", str(model)]) == 0
    penguins().to_csv(tmp_path / "penguins.csv", index=False)
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
    model, row = load(saved), penguins().iloc[[7]]
    assert str(model.explain(row[list(model.feature_names_in_)])) in out
    assert f"{model.predict_proba(row[list(model.feature_names_in_)]).max():.4g}" in out
    assert main(["explain", str(saved), table, "--row", "344"]) == 1
    assert "there is no row 344" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reprot"], "there is no command 'reprot'; .* Did you mean report[?]"),
        (["report", "--save", "-"], "a model cannot be written to stdout"),
        (["report", "--save", "a.html", "-o", "./a.html"], "is also another file of this command"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--famly", "x"], "Did you mean --family[?]"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_what_is_nearly_right_is_named(
    words: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(words) == 2
    assert re.search(message, capsys.readouterr().err)


def test_bayesnb_alone_prints_the_help(capsys: pytest.CaptureFixture) -> None:
    assert main([]) == 0
    assert "usage: bayesnb" in capsys.readouterr().out
