"""One row given as a Series, a dict, a named tuple or a flat array: every method says in one sentence what to write."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesnb import NaiveBayes
from bayesnb.datasets import load

PENGUINS = load("penguins")
X, Y = PENGUINS[["bill_length_mm", "flipper_length_mm", "island"]], PENGUINS["species"]
NUMBERS = X[["bill_length_mm", "flipper_length_mm"]]
MODEL = NaiveBayes({"bill_length_mm": "gaussian", "flipper_length_mm": "gaussian", "island": "categorical"}).fit(X, Y)
Penguin = namedtuple("Penguin", X.columns)
ROWS: dict[str, Any] = {
    "series": X.iloc[0],
    "series of numbers": NUMBERS.iloc[0],
    "dict": X.iloc[0].to_dict(),
    "named tuple": Penguin(*X.iloc[0]),
}
METHODS: dict[str, Callable] = {
    **{
        name: lambda row, name=name: getattr(MODEL, name)(row)
        for name in (
            *("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decide", "explain"),
            *("predict_interval", "uncertainty", "draw_proba", "log_density"),
        )
    },
    "score": lambda row: MODEL.score(row, Y[:1]),
    "partial_fit": lambda row: MODEL.partial_fit(row, Y[:1]),
    "forget": lambda row: MODEL.forget(row, Y[:1]),
    "loo": lambda row: MODEL.loo(row, Y[:1]),
    "fit": lambda row: NaiveBayes().fit(row, Y[:1]),
    "to_datatree": lambda row: MODEL.to_datatree(row, Y[:1]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", ROWS)
def test_one_row_says_what_to_write(row: str, method: str) -> None:
    with pytest.raises((TypeError, ValueError), match=r"one row.*X\.iloc\[\[0\]\], or pandas\.DataFrame\(\[row\]\)"):
        METHODS[method](ROWS[row])


def test_what_the_error_advises_is_the_answer_for_this_row() -> None:
    whole = MODEL.predict_proba(X)[:1]
    row = X.iloc[0]
    np.testing.assert_array_equal(MODEL.predict_proba(X.iloc[[0]]), whole)
    np.testing.assert_array_equal(MODEL.predict_proba(pd.DataFrame([row])), whole)
    np.testing.assert_array_equal(MODEL.predict_proba(pd.DataFrame([row.to_dict()])), whole)
    np.testing.assert_array_equal(MODEL.predict_proba(pd.DataFrame([Penguin(*row)])), whole)


def test_a_flat_array_says_how_to_make_one_row_of_it() -> None:
    model = NaiveBayes("gaussian").fit(NUMBERS.to_numpy(), Y)
    for row in (NUMBERS.to_numpy()[0], NUMBERS.to_numpy()[0].tolist()):
        with pytest.raises(ValueError, match=r"X\.reshape\(1, -1\) if it is one row"):
            model.predict(row)
