"""Warnings about columns that are most likely not what they are read as, their remedies, and columns without any."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import datasets as tables_of_sklearn

import bayesnb
from bayesnb import Categorical, ColumnWarning, Gaussian, NaiveBayes, datasets
from bayesnb.cli.column_warnings import column_warnings
from bayesnb.data import open_table
from bayesnb.data.suspect_columns import suspicion

ROWS = 40
RNG = np.random.default_rng(0)
LABELS = ["u", "v"] * (ROWS // 2)
ORDINARY = {
    "height": RNG.normal(size=ROWS).tolist(),
    "children": RNG.poisson(2, ROWS).tolist(),
    "colour": RNG.choice(["red", "green", "light blue"], ROWS).tolist(),
}
SUSPECT: dict[str, tuple[list[Any], str, str]] = {  # cells, what is observed, and the remedy in Python
    "row": (list(range(1, ROWS + 1)), "goes up by one from row to row", "families={'row': 'drop'}"),
    "shuffled": (RNG.permutation(50)[:ROWS].tolist(), "a different whole number in each row", "'drop'"),
    "customer_id": (RNG.choice(10**6, ROWS).tolist(), "holds identifiers, to judge by its name", "'drop'"),
    "customerID": (RNG.choice(10**6, ROWS).tolist(), "holds identifiers, to judge by its name", "'drop'"),
    "zip": ([*range(10115, 10115 + 70 * 25, 70)] + [10115] * 15, "holds codes", "families={'zip': 'categorical'}"),
    "name": ([f"n{i}" for i in range(ROWS)], "a different value in each of its 40 rows", "families={'name': 'drop'}"),
    "street": ([f"n{max(0, i - 9)}" for i in range(ROWS)], "has 31 levels in 40 rows, 30 of them in one", "'drop'"),
    "review": (
        [f"it was {'very ' * (i % 3)}good, said guest {i}" for i in range(ROWS)],
        "holds 40 different texts of several words",
        "X['review'] = X['review'].str.split()",
    ),
    "day": ([f"2020-01-{i % 28 + 1:02d}" for i in range(ROWS)], "holds dates, read as 28 levels", "to_datetime"),
    "at": ([f"2020-01-01T12:00:{i:02d}Z" for i in range(ROWS)], "holds dates, read as 40 levels", "to_datetime"),
    "british": ([f"{i % 28 + 1}/3/2020" for i in range(ROWS)], "such as '1/3/2020', read", "dayfirst=True"),
    "american": ([f"3/{i % 28 + 1}/2020" for i in range(ROWS)], "such as '3/1/2020', read", "dayfirst=False"),
    "unclear": ([f"3/{i % 12 + 1}/2020" for i in range(ROWS)], "the day or the month may come first", "dayfirst=False"),
    "age": (
        [str(i) if i else "none" for i in range(ROWS)],
        "1 of its 40 cells is not a number; the first is 'none'",
        "coerce",
    ),
    "text": ([str(i / 2) for i in range(ROWS)], "holds numbers as text", "X['text'].astype(float)"),
    "money": ([f"${i},234.50" for i in range(1, ROWS + 1)], "amounts of money, such as '$1,234.50'", "1234.50 for"),
    "euro": ([f"{i}.234,50 €" for i in range(1, ROWS + 1)], "amounts of money, such as '1.234,50 €'", "1234.50 for"),
    "share": ([f"{i} %" for i in range(ROWS)], "holds percentages, such as '0 %'", "0 for '0 %'"),
    "debt": ([f"({i}.50 $)" for i in range(ROWS)], "holds amounts of money", "replace('[("),
    "people": (
        [f"{i},234" for i in range(1, ROWS + 1)],
        "numbers with marks between thousands",
        "With a decimal comma",
    ),
    "comma": ([f"{i},5" for i in range(ROWS)], "numbers with a decimal comma, such as '0,5'", "0.5 for '0,5'"),
}


def warned(X: Any, model: Any = None) -> list[ColumnWarning]:
    """The warnings of this kind that a fit gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (NaiveBayes(dependence=None, temper=None) if model is None else model).fit(X, LABELS[: len(X)])
    return [each.message for each in caught if isinstance(each.message, ColumnWarning)]


@pytest.mark.parametrize("name", SUSPECT)
def test_a_column_that_looks_like_something_else_is_recognised(name: str) -> None:
    cells, problem, remedy = SUSPECT[name]
    one = suspicion(open_table(pd.DataFrame({name: cells})), 0)
    assert one is not None
    assert problem in one.problem
    message = str(ColumnWarning.of({name: one}))
    assert message.startswith(f"column {name!r} ")
    assert remedy in message
    other = str(ColumnWarning.of({name: one}, is_pandas=False))
    assert "str.replace" not in other
    assert "pandas" not in other


NUMBERS = {  # what the code of a warning makes of the first cell, by hand
    "day": 18262.0,
    "at": 18262.5,
    "british": 18322.0,
    "american": 18322.0,
    "text": 0.0,
    "money": 1234.5,
    "euro": 1234.5,
    "share": 0.0,
    "debt": -0.5,
    "people": 1234.0,
    "comma": 0.5,
    "age": np.nan,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_code_of_a_warning_makes_the_numbers_that_are_meant(name: str) -> None:
    X = pd.DataFrame({name: SUSPECT[name][0]})
    code = re.findall(r": (X\[.*?)(?:, with|\. To|\. With|\.\n)", f"{warned_text(X)}\n")[0]
    exec(code, {"X": X, "pandas": pd})
    assert X[name].dtype.kind in "if"
    np.testing.assert_allclose(X[name].iloc[0], NUMBERS[name])
    if name == "debt":
        assert X[name].iloc[1] == -1.5
    assert suspicion(open_table(X), 0) is None or name in ("day", "british", "american")  # days that go up by one


def warned_text(X: pd.DataFrame) -> str:
    one = suspicion(open_table(X), 0)
    assert one is not None
    return str(ColumnWarning.of({X.columns[0]: one})).splitlines()[0]


def test_a_fit_warns_once_of_all_such_columns_at_the_line_of_the_caller() -> None:
    X = pd.DataFrame(ORDINARY | {name: SUSPECT[name][0] for name in ("row", "day", "money")})
    with pytest.warns(ColumnWarning) as caught:
        NaiveBayes(dependence=None, temper=None).fit(X, LABELS)
    (one,) = [each for each in caught if each.category is ColumnWarning]
    assert list(one.message.suspicions) == ["row", "day", "money"]
    assert Path(one.filename) == Path(__file__)
    assert [line.split("'")[1] for line in str(one.message).splitlines()[:-1]] == ["row", "day", "money"]
    (again,) = warned(pl.from_pandas(X))
    assert list(again.suspicions) == ["row", "day", "money"]


def test_nothing_is_said_of_a_column_that_is_declared() -> None:
    X = pd.DataFrame(ORDINARY | {name: SUSPECT[name][0] for name in ("row", "day", "name")})
    families = {"row": "drop", "day": "categorical", "name": None}
    plain = {"dependence": None, "temper": None}
    assert not warned(X, NaiveBayes(families, **plain))
    assert not warned(X, NaiveBayes({("day", "name"): "joint", "row": Gaussian()}, **plain))
    assert not warned(X, NaiveBayes(Categorical()))
    (one,) = warned(X, NaiveBayes({"row": "gaussian"}, **plain))
    assert list(one.suspicions) == ["day", "name"]
    assert not warned(X.astype({"day": "category", "name": "category"}).drop(columns="row"))
    assert not warned(X.to_numpy()[:, :3])


FRAMES = {
    **{name: lambda name=name: datasets.load(name) for name in datasets.EXAMPLES},
    **{
        name: lambda name=name: getattr(tables_of_sklearn, f"load_{name}")(as_frame=True).frame
        for name in ("iris", "wine", "breast_cancer", "diabetes", "digits")
    },
    "ordinary": lambda: pd.DataFrame(ORDINARY),
    "codes that are text": lambda: pd.DataFrame({"zip": [f"{i % 15:05d}" for i in range(ROWS)]}),
    "versions": lambda: pd.DataFrame({"v": [f"1.{i % 9}.2" for i in range(ROWS)]}),
    "years": lambda: pd.DataFrame({"year": RNG.integers(1950, 2020, ROWS)}),
    "prices": lambda: pd.DataFrame({"price": RNG.choice(10**6, ROWS), "valid": RNG.integers(0, 99, ROWS)}),
    "few rows": lambda: pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]}),
    "small codes": lambda: pd.DataFrame({"code": [i % 7 for i in range(ROWS)]}),
    "phrases": lambda: pd.DataFrame({"a": ["a rather long name of a level", "and one more such name"] * (ROWS // 2)}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_ordinary_columns_are_not_suspected(name: str) -> None:
    table = open_table(FRAMES[name]())
    suspicions = {column: suspicion(table, place) for place, column in enumerate(table.columns)}
    assert not {column: each for column, each in suspicions.items() if each is not None}


def test_the_command_line_has_a_remedy_for_every_suspicion() -> None:
    table = open_table(pd.DataFrame({name: cells for name, (cells, _, _) in SUSPECT.items()}))
    lines = column_warnings({name: suspicion(table, place) for place, name in enumerate(table.columns)})
    assert len(lines) == len(SUSPECT)
    for name, line in zip(SUSPECT, lines, strict=True):
        assert line.startswith(f"column {name!r} ")
        assert re.search("--(family|missing|decimal) ", line), line
        assert "X[" not in line


def test_the_warning_is_public() -> None:
    assert issubclass(bayesnb.ColumnWarning, UserWarning)
    assert "ColumnWarning" in bayesnb.__all__
