"""Columns that are not what they are read as: `fit` warns, with code that mends them."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import datasets as tables_of_sklearn

from bayesnb import Categorical, ColumnWarning, Gaussian, NaiveBayes, datasets
from bayesnb.cli import main

ROWS = 40
RNG = np.random.default_rng(0)
LABELS = ["u", "v"] * (ROWS // 2)
ORDINARY = {
    "height": RNG.normal(size=ROWS).tolist(),
    "children": RNG.poisson(2, ROWS).tolist(),
    "colour": RNG.choice(["red", "green", "light blue"], ROWS).tolist(),
}
DAYS = range(1, ROWS + 1)
# cells, what is observed, the remedy, and what its code makes of the first cell where it makes
# numbers
SUSPECT: dict[str, tuple[list[Any], str, str, float | None]] = {
    "row": (list(DAYS), "increases by one in each row", "Drop it", None),
    "shuffled": (RNG.permutation(50)[:ROWS].tolist(), "a different whole number", "Drop it", None),
    "customer_id": (RNG.choice(10**6, ROWS).tolist(), "holds identifiers", "Drop it", None),
    "zip": ([10115 + 70 * (i % 25) for i in DAYS], "holds codes", "Declare it categorical", None),
    "name": ([f"n{i}" for i in DAYS], "a different value in each", "or declare it", None),
    "street": ([f"n{max(0, i - 9)}" for i in DAYS], "32 levels in 40 rows", "Drop it", None),
    "review": ([f"it was good, said guest {i}" for i in DAYS], "texts", ".str.split()", None),
    "day": ([f"2020-01-{i % 28 + 1:02d}" for i in DAYS], "holds dates", "to_datetime", 18263.0),
    "at": ([f"2020-01-01T12:00:{i:02d}Z" for i in DAYS], "holds dates", "to_datetime", None),
    "british": ([f"{i % 28 + 1}/3/2020" for i in DAYS], "holds dates", "dayfirst=True", 18323.0),
    "american": ([f"3/{i % 28 + 1}/2020" for i in DAYS], "dates", "dayfirst=False", 18323.0),
    "unclear": ([f"3/{i % 12 + 1}/2020" for i in DAYS], "day or the month may", "dayfirst", None),
    "age": (["none", *map(str, DAYS)][:ROWS], "1 of its 40 cells is not", "coerce", np.nan),
    "text": ([str(i / 2) for i in DAYS], "holds numbers as text", ".astype(float)", 0.5),
    "money": ([f"${i},234.50" for i in DAYS], "numbers with '$'", "1234.50 for", 1234.5),
    "euro": ([f"{i}.234,50 \u20ac" for i in DAYS], "numbers with '\u20ac'", "1234.50 for", 1234.5),
    "share": ([f"{i} %" for i in DAYS], "holds numbers with '%'", "1 for '1 %'", 1.0),
    "debt": ([f"({i}.50 $)" for i in DAYS], "numbers with '$'", "replace('[(", -1.5),
    "people": ([f"{i},234" for i in DAYS], "thousands separators", "With a decimal comma", 1234.0),
    "comma": ([f"{i},5" for i in DAYS], "a decimal comma", "1.5 for '1,5'", 1.5),
}


def warned(X: Any, model: Any = None) -> list[ColumnWarning]:
    """The warnings of this kind that a fit gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = NaiveBayes(dependence=None, temper=None) if model is None else model
        plain.fit(X, (LABELS * len(X))[: len(X)])
    return [each.message for each in caught if isinstance(each.message, ColumnWarning)]


@pytest.mark.parametrize("name", SUSPECT)
def test_a_column_that_looks_like_something_else_is_told_with_its_remedy(name: str) -> None:
    cells, problem, remedy, number = SUSPECT[name]
    X = pd.DataFrame({name: cells})
    (one,) = warned(X)
    assert str(one).startswith(f"column {name!r} ")
    assert problem in str(one)
    assert remedy in str(one)
    (other,) = warned(pl.from_pandas(X))
    assert "str.replace" not in str(other)
    assert "pandas" not in str(other)
    if number is not None:
        code, *_ = re.findall(r": (table\[.*?)(?:, with|\. If|\. With|\.\n)", f"{one}\n")
        exec(code, {"table": X, "pandas": pd})
        np.testing.assert_allclose(X[name].iloc[0], number)


def test_a_fit_warns_once_of_all_such_columns_at_the_line_of_the_caller() -> None:
    X = pd.DataFrame(ORDINARY | {name: SUSPECT[name][0] for name in ("row", "day", "money")})
    with pytest.warns(ColumnWarning) as caught:
        NaiveBayes(dependence=None, temper=None).fit(X, LABELS)
    (one,) = [each for each in caught if each.category is ColumnWarning]
    assert list(one.message.suspicions) == ["row", "day", "money"]
    assert Path(one.filename) == Path(__file__)


def test_nothing_is_said_of_a_column_that_is_declared() -> None:
    X = pd.DataFrame(ORDINARY | {name: SUSPECT[name][0] for name in ("row", "day", "name")})
    for families in (
        {"row": "drop", "day": "categorical", "name": None},
        {("day", "name"): "joint", "row": Gaussian()},
        Categorical(),
    ):
        assert not warned(X, NaiveBayes(families, dependence=None, temper=None))
    assert not warned(X.astype({"day": "category", "name": "category"}).drop(columns="row"))
    assert not warned(X.to_numpy()[:, :3])


def test_the_command_line_says_the_same_a_line_for_each_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.DataFrame({name: cells for name, (cells, *_) in SUSPECT.items()})
    path = tmp_path / "t.csv"
    table.assign(label=LABELS).to_csv(path, index=False)
    words = ["--target", "label", "-o", str(tmp_path / "m.bnb"), "--quiet"]
    assert main(["fit", str(path), *words]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " column '" in line]
    assert len(lines) >= len(SUSPECT) - 3  # numbers as text are read as numbers
    for message in warned(table[["row", "zip", "money"]])[0].args[0].splitlines():
        assert f"bayesnb: warning: {message}" in lines


FRAMES: dict[str, Any] = {name: lambda n=name: datasets.load(n) for name in datasets.EXAMPLES}
for _name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
    FRAMES[_name] = lambda n=_name: getattr(tables_of_sklearn, f"load_{n}")(as_frame=True).frame
FRAMES |= {
    name: lambda c=cells: pd.DataFrame(c)
    for name, cells in {
        "ordinary": ORDINARY,
        "codes that are text": {"zip": [f"{i % 15:05d}" for i in DAYS]},
        "versions": {"v": [f"1.{i % 9}.2" for i in DAYS]},
        "years": {"year": RNG.integers(1950, 2020, ROWS)},
        "prices": {"price": RNG.choice(10**6, ROWS), "valid": RNG.integers(0, 99, ROWS)},
        "few rows": {"a": ["x", "y", "z"], "b": [1, 2, 3]},
        "small codes": {"code": [i % 7 for i in DAYS]},
        "phrases": {"a": ["a rather long name of a level", "and one more such"] * (ROWS // 2)},
    }.items()
}


LONG = pytest.param("spam", marks=pytest.mark.slow)  # the texts of all messages are looked at


@pytest.mark.parametrize("name", [LONG, *(name for name in FRAMES if name != "spam")])
def test_ordinary_columns_are_not_suspected(name: str) -> None:
    assert not warned(FRAMES[name]())
