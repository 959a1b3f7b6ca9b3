"""Exponents by column: what a column's evidence counts is learnt by exact leave-one-out."""

import numpy as np
import pandas as pd
import pytest

from bayesnb import Bernoulli, Categorical, Gaussian, JointTable, MultivariateGaussian, NaiveBayes, Poisson
from bayesnb.criticism.learnt_rows import learnt_rows
from bayesnb.model.product import Rows
from bayesnb.selection.column_scores import column_scores
from bayesnb.selection.leave_one_out import leave_one_out

RNG = np.random.default_rng(5)
ROWS = 60
LABEL = np.arange(ROWS) % 3
TABLE = pd.DataFrame(
    {
        "length": RNG.normal(LABEL, 1.0),
        "width": RNG.normal(-1e4, 3e3, ROWS),
        "flag": RNG.integers(0, 2, ROWS),
        "colour": np.array(["red", "green", "blue"])[RNG.integers(0, 3, ROWS)],
        "count": RNG.poisson(1.0 + LABEL),
        "u": RNG.normal(LABEL, 2.0),
        "v": RNG.normal(0, 1.0, ROWS),
        "a": RNG.integers(0, 2, ROWS),
        "b": RNG.integers(0, 3, ROWS),
    }
)
TABLE.loc[[4, 9], ["length", "u"]] = np.nan
FAMILIES = {
    "length": Gaussian(),
    "width": Gaussian(shared=True),
    "flag": Bernoulli(),
    "colour": Categorical(),
    "count": Poisson(),
    ("u", "v"): MultivariateGaussian(),
    ("a", "b"): JointTable(),
}


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    return NaiveBayes(FAMILIES).fit(TABLE, LABEL)


def rows_of(model: NaiveBayes, table: pd.DataFrame, label: np.ndarray, weight: np.ndarray | None = None) -> Rows:
    return learnt_rows(model, table, label, weight).rows


def test_the_columns_scores_of_a_row_add_up_to_its_leave_one_out_score(fitted: NaiveBayes) -> None:
    rows = rows_of(fitted, TABLE, LABEL)
    log_class, table = column_scores(fitted.model_, rows)
    assert table.shape == (ROWS, 3, len(FAMILIES))
    np.testing.assert_allclose(log_class + table.sum(axis=2), leave_one_out(fitted.model_, rows), atol=1e-11)


def test_a_columns_scores_are_those_of_the_column_alone(fitted: NaiveBayes) -> None:
    rows = rows_of(fitted, TABLE, LABEL)
    log_class, table = column_scores(fitted.model_, rows)
    for k, (name, b, f) in enumerate(sorted(fitted.schema_.keys, key=lambda at: at[1:])):
        columns = TABLE[list(name) if isinstance(name, tuple) else [name]]
        alone = NaiveBayes({name: FAMILIES[name]}).fit(columns, LABEL)
        expected = leave_one_out(alone.model_, rows_of(alone, columns, LABEL))
        np.testing.assert_allclose(log_class + table[:, :, k], expected, atol=1e-11, err_msg=str((name, b, f)))


def test_a_row_that_is_all_of_its_classes_spread_is_scored_by_counting_again() -> None:
    x = np.column_stack([np.r_[1e7, RNG.normal(size=5), RNG.normal(size=6)], RNG.normal(size=12)])
    label = np.repeat([0, 1], 6)
    model = NaiveBayes(Gaussian()).fit(x, label)
    rows = rows_of(model, x, label)
    log_class, table = column_scores(model.model_, rows)
    assert np.isfinite(table).all()
    np.testing.assert_allclose(log_class + table.sum(axis=2), leave_one_out(model.model_, rows), rtol=1e-12)
