"""One rule of exponents, the exponent times the score, and intervals that count found ones as unknown."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesnb import Bernoulli, Categorical, Gaussian, NaiveBayes, Poisson

ROWS = 240
FAMILIES = {"length": Gaussian(), "twin": Gaussian(), "colour": Categorical(1.0), "flag": Bernoulli(), "n": Poisson()}


def rows_of(classes: int, rows: int = ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(classes)
    y = np.arange(rows) % classes
    length = rng.normal(y, 1.5)
    colour = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "length": length,
            "twin": length + rng.normal(0, 0.3, rows),
            "colour": colour.astype(str),
            "flag": (colour + y + rng.integers(0, 2, rows)) % 2,
            "n": rng.poisson(1.0 + y),
        }
    )
    table.loc[[3, 8], "length"] = np.nan
    table.loc[5, "colour"] = None
    return table, y


def of_draws(model: NaiveBayes, table: Any, draws: int = 20_000, seed: int = 1) -> np.ndarray:
    """Draws of p(y | x, theta), `(s, r, c)`."""
    return model.draw_proba(table, draws, chains=1, rng=seed).values[0]


# ---- the score


def test_a_declared_exponent_multiplies_the_log_predictive() -> None:
    table, y = rows_of(3)
    joint, tempered = (
        NaiveBayes(FAMILIES, temper=temper).fit(table, y).predict_joint_log_proba(table) for temper in (None, 0.5)
    )
    log_class = np.log(1 / 3)
    np.testing.assert_allclose(tempered, log_class + 0.5 * (joint - log_class), rtol=1e-12)


def test_columns_and_links_count_by_their_exponents() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    u = rng.integers(0, 3, 300)
    v = np.where(rng.random(300) < 0.8, (u + y) % 3, rng.integers(0, 3, 300))
    table = pd.DataFrame({"u": u.astype(str), "v": v.astype(str), "w": rng.integers(0, 3, 300).astype(str)})
    model = NaiveBayes(Categorical(1.0), dependence="forest", temper="columns").fit(table, y)
    plain = NaiveBayes(Categorical(1.0), dependence="forest", temper=None).fit(table, y)
    assert model.links_.sizes["link"] == 1
    log_class = np.log(0.5)
    columns = {
        name: NaiveBayes(Categorical(1.0), temper=None).fit(table[[name]], y).predict_joint_log_proba(table[[name]])
        - log_class
        for name in table
    }
    link = plain.predict_joint_log_proba(table) - log_class - sum(columns.values())
    expected = log_class + sum(model.temper_[name] * each for name, each in columns.items())
    expected = expected + model.links_.temper.values[0] * link
    np.testing.assert_allclose(model.predict_joint_log_proba(table), expected, rtol=1e-10, atol=1e-10)
    why = model.explain(table)
    total = (why.predictive.sum("feature") + why.predictive_class_term).transpose("obs_id", "class")
    np.testing.assert_allclose(total, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("temper", [0.5, "loo", "columns"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_distribution_has_the_prediction_as_its_mean(classes: int, temper: Any) -> None:
    """The mean over p(theta | D, x): draws of p(theta | D), weighted by what they say of the row."""
    table, y = rows_of(classes, 60)
    model, few = NaiveBayes(FAMILIES, temper=temper).fit(table, y), table.iloc[:8]
    drawn = model.predict_interval(few, 0.5, method="draws", draws=20_000, rng=1)
    exact = model.predict_interval(few, 0.5, method="exact")
    np.testing.assert_allclose(exact.probability, model.predict_proba(few), atol=1e-9)
    for name, level in (("lower", 0.25), ("median", 0.5), ("upper", 0.75)):
        # a quantile of draws is off by the standard error of its level over the density
        step = 5 * np.sqrt(level * (1 - level) / 20_000)
        width = (drawn.upper - drawn.lower).values
        # With three classes the exact one is linear in the exponents, at their estimate.
        linear = 0.03 if classes == 3 and temper != 0.5 else 0.0
        assert (np.abs(exact[name] - drawn[name]).values < 4 * step * width + linear + 1e-9).all()


def test_the_mean_of_draws_of_a_fixed_row_is_the_exact_one() -> None:
    table, y = rows_of(2, 60)
    for temper in (0.5, "loo", "columns"):
        model = NaiveBayes(FAMILIES, temper=temper).fit(table, y)
        drawn, exact = of_draws(model, table[:8]), model.predict_interval(table[:8], rows="fixed", method="exact")
        error = drawn.std(axis=0) / np.sqrt(len(drawn))
        assert (np.abs(drawn.mean(axis=0) - exact.probability.values) < 5 * error + 1e-9).all()


# ---- intervals of exponents that were found


@pytest.mark.parametrize("temper", ["loo", "columns"])
@pytest.mark.parametrize("rows", ["observed", "fixed"])
@pytest.mark.parametrize("classes", [2, 3])
def test_auto_and_fast_keep_their_bounds_where_exponents_were_found(classes: int, rows: str, temper: str) -> None:
    table, y = rows_of(classes, 60)
    model = NaiveBayes(FAMILIES, temper=temper).fit(table, y)
    exact = model.predict_interval(table, 0.8, rows, method="exact")
    for method, bound in (("auto", 0.001), ("fast", 0.02)):
        other = model.predict_interval(table, 0.8, rows, method=method)
        for name in ("probability", "median", "lower", "upper"):
            np.testing.assert_allclose(other[name], exact[name], atol=bound)
    np.testing.assert_allclose(exact.probability.sum("class"), 1.0, atol=1e-9)


@pytest.mark.parametrize("method", ["exact", "auto", "fast", "draws"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_found_exponent_makes_intervals_wider_than_the_same_one_declared(classes: int, method: str) -> None:
    table, y = rows_of(classes, 60)
    found = NaiveBayes(FAMILIES, temper="loo").fit(table, y)
    declared = NaiveBayes(FAMILIES, temper=found.temper_).fit(table, y)
    asked = pd.concat([table.iloc[:4], table.iloc[[0]].reindex([ROWS])])  # the last lacks all cells
    one, two = (model.predict_interval(asked, method=method, rng=1) for model in (found, declared))
    np.testing.assert_allclose(one.probability, two.probability, atol=1e-12)
    wider = (one.upper - one.lower).values - (two.upper - two.lower).values
    assert wider[:4].mean() > 0.01
    np.testing.assert_allclose(wider[4], 0.0, atol=0.02 if method == "draws" else 1e-9)


@pytest.mark.parametrize("temper", [None, 0.5, "loo", "columns"])
@pytest.mark.parametrize("sure", [False, True], ids=["a class without rows", "impossible cells"])
def test_empty_classes_impossible_and_missing_cells_give_no_nan(sure: bool, temper: Any) -> None:
    table, y = rows_of(2, 60)
    table["sure"] = np.where(y == 0, "a", np.array(["a", "b"])[np.arange(60) // 2 % 2])
    families = FAMILIES | {"sure": Categorical(0.0 if sure else 1.0)}
    classes = [0, 1] if sure else [0, 1, 2]
    asked = table.iloc[:6].assign(sure="b")  # never seen of the first class
    asked = pd.concat([asked, asked.iloc[[0]].reindex([ROWS])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what has no rows, or is impossible
        model = NaiveBayes(families, temper=temper, classes=classes).fit(table, y)
    assert (model.predict_proba(asked)[:6, 0] == 0).all() == sure
    if sure:  # of a class that a cell makes impossible there is no interval, whatever the exponent
        with pytest.raises(ValueError, match="no distribution"):
            model.predict_interval(asked)
    for method in ("exact", "auto", "fast", "draws"):
        for rows in ("observed", "fixed"):
            result = model.predict_interval(asked.assign(sure="a"), rows=rows, method=method)
            assert all(np.isfinite(result[name]).all() for name in ("probability", "median", "lower", "upper"))
    tree = model.to_datatree(asked, draws=50, chains=1, rng=0)
    assert np.isfinite(tree["predictions"]["p"]).all()
    np.testing.assert_allclose(tree["predictions"]["p"].values[0], of_draws(model, asked, 50, 0), rtol=1e-12)
