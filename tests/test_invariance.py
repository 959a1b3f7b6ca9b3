"""The unit and the zero of a column of numbers say nothing of the label: x -> a x + b, a > 0."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from bayesnb import Bernoulli, Categorical, NaiveBayes, Poisson, datasets

# counts plus 5 would be counts, which may be Poisson's
MAPS = [(1000.0, 5.0), (0.01, 0.0), (2.0**-20, 0.0), (1.0, 5.5), (0.37, -3.0)]
PRICES = np.array([1.5, 2.25, 3.99, 4.5, 7.1])


def read_penguins() -> tuple[pd.DataFrame, np.ndarray]:
    table = datasets.penguins()
    return table.drop(columns=["species", "year"]), table["species"].to_numpy()


def read(load: Callable[..., tuple[pd.DataFrame, pd.Series]], step: int = 1) -> tuple:
    x, y = load(return_X_y=True, as_frame=True)
    return x[::step], y.to_numpy()[::step]


def make_prices() -> tuple[pd.DataFrame, np.ndarray]:
    """Few distinct prices, counts, two numbers, zeros and ones, and missing cells."""
    rng = np.random.default_rng(20261128)
    y = rng.integers(0, 3, 300)
    # the dearest price is of all classes, so no histogram tells them apart as well
    places = np.where(rng.random(300) < 0.7, np.array([1, 4, 2])[y], rng.integers(0, 5, 300))
    table = {
        "price": PRICES[places],
        "noise": rng.choice(PRICES, 300),
        "number": rng.normal(y).round(2),
        "two": np.where(rng.random(300) < 0.2 + 0.3 * (y == 1), 1.5, 9.75),
        "count": rng.poisson(3 + 4 * y),
        "flag": rng.random(300) < 0.3 + 0.2 * y,
    }
    x = pd.DataFrame(table).astype(float)
    return x.mask(rng.random(x.shape) < 0.1), y


TABLES = {
    "penguins": read_penguins,
    "iris": lambda: read(load_iris),
    "wine": lambda: read(load_wine),
    "cancer": lambda: read(load_breast_cancer),
    "digits": lambda: read(load_digits, 3),
    "prices": make_prices,
}


SMALL = [name for name in TABLES if name != "digits"]


@pytest.mark.parametrize("name", [*SMALL, pytest.param("digits", marks=pytest.mark.slow)])
def test_the_default_is_the_same_in_all_units(name: str) -> None:
    """But for zeros and ones, and counts that are Poisson's: their zero and unit mean something."""
    x, y = TABLES[name]()
    learnt = np.arange(len(y)) % 2 == 0
    model = NaiveBayes().fit(x[learnt], y[learnt])
    columns = [
        column
        for column in x.select_dtypes("number")
        if not isinstance(model.families_[column], Bernoulli | Poisson)
    ]
    assert columns
    proba = model.predict_proba(x)
    for a, b in MAPS:
        mapped = x.assign(**{column: a * x[column] + b for column in columns})
        other = NaiveBayes().fit(mapped[learnt], y[learnt])
        assert repr(other.families_) == repr(model.families_)
        assert other.links_["log_bayes_factor"].size == model.links_["log_bayes_factor"].size
        assert_allclose(
            other.links_["log_bayes_factor"], model.links_["log_bayes_factor"], rtol=1e-9
        )
        assert_allclose(other.temper_, model.temper_, atol=1e-7)
        assert_allclose(other.predict_proba(mapped), proba, atol=1e-7)
        for column in columns:
            grid = getattr(model.prior_[column], "grid", None)
            if grid is not None:
                cuts = other.prior_[column].grid.cuts
                assert_allclose(cuts, a * grid.cuts + b, rtol=1e-9, atol=1e-9 * a)


def test_a_few_prices_are_levels_as_whole_numbers_are() -> None:
    x, y = make_prices()
    families = NaiveBayes().fit(x, y).families_
    assert type(families["price"]) is Categorical
    assert repr(NaiveBayes().fit(x * 100, y).families_["price"]) == repr(families["price"])


@pytest.mark.parametrize(("rows", "distinct"), [(100, 20), (99, 20), (105, 21)])
def test_levels_are_at_most_twenty_numbers_with_five_rows_each(rows: int, distinct: int) -> None:
    x = pd.DataFrame({"price": np.resize(np.arange(distinct) / 8, rows)})
    candidates = NaiveBayes().fit(x, np.resize([0, 1, 1], rows)).choices_["candidate"]
    assert ("Categorical" in candidates) == ((rows, distinct) == (100, 20))


def test_a_number_that_was_not_learnt_is_silent_among_levels() -> None:
    x, y = make_prices()
    model = NaiveBayes().fit(x, y)
    row = x.dropna().iloc[[0]]
    with pytest.warns(UserWarning, match="price"):
        proba = model.predict_proba(row.assign(price=1.75))
    assert_allclose(proba, model.predict_proba(row.assign(price=np.nan)), rtol=1e-12)


def test_a_cell_midway_between_levels_is_on_the_lower_one_in_any_unit() -> None:
    tenths = np.arange(0, 400, 2) / 10
    y = np.arange(200) // 20 % 2
    for unit in 1.0, 0.01, 0.37, 1e6:
        model = NaiveBayes("histogram").fit(unit * tenths[:, None], y)
        midway = unit * ((np.arange(0, 398, 2) + 1) / 10)
        lower = model.predict_proba(unit * tenths[:-1, None])
        assert_allclose(model.predict_proba(midway[:, None]), lower, rtol=1e-12)


def test_two_numbers_as_levels_are_as_zeros_and_ones() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 200)
    flags = rng.random((200, 4)) < 0.15 + 0.25 * (y[:, None] == np.arange(4) % 3)
    flags[:, 3] = np.where(rng.random(200) < 0.9, flags[:, 0], flags[:, 3])  # a link
    x = pd.DataFrame(np.where(rng.random(flags.shape) < 0.1, np.nan, flags))
    declared = {"temper": "columns", "dependence": "pairs"}
    one = NaiveBayes("bernoulli", **declared).fit(x, y)
    other = NaiveBayes("categorical", **declared).fit(1000 * x - 3, y)
    assert one.links_["log_bayes_factor"].size > 0
    assert_allclose(one.links_["log_bayes_factor"], other.links_["log_bayes_factor"], rtol=1e-12)
    assert_allclose(one.temper_, other.temper_, rtol=1e-12)
    assert_allclose(one.predict_proba(x), other.predict_proba(1000 * x - 3), rtol=1e-12)
    assert_allclose(one.loo_proba(x, y), other.loo_proba(1000 * x - 3, y), rtol=1e-12)
