"""Scores in a database: one SELECT, in SQLite and in DuckDB, against `predict_proba`."""

import sqlite3
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from bayesnb import (
    Bernoulli,
    Categorical,
    Gaussian,
    Histogram,
    JointTable,
    MultinomialNB,
    NaiveBayes,
    Poisson,
    UnseenLevelWarning,
)
from bayesnb.cli import main
from bayesnb.datasets import penguins

Array = np.ndarray
Case = tuple[NaiveBayes, pd.DataFrame, Any]


def draw(rows: int = 200, seed: int = 0) -> tuple[pd.DataFrame, Array]:
    """Return columns of all kinds with missing cells, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "age": rng.normal(40 + 5 * y, 10),
            "visits": rng.poisson(2.0 + 3 * y).astype(float),
            "town": np.array(["Bern", "Biel", 'O\'Brien "x"; --'], object)[
                np.minimum(rng.integers(0, 3, rows), y)
            ],
            "smokes": (rng.random(rows) < 0.2 + 0.2 * y).astype(float),
            "grade": rng.integers(1, 5, rows).astype(float),
            "income": np.exp(rng.normal(y, 1.0)),
        }
    )
    table["area"] = table["town"].map({"Bern": "east"}).fillna("west")
    for place, name in enumerate(table):
        table.loc[place + 3 :: 17, name] = None
    return table, np.array(["low", "mid", 'hi"gh'])[y]


FAMILIES = {
    "age": Gaussian(),
    "visits": Poisson(),
    "town": Categorical(),
    "smokes": Bernoulli(),
    "grade": Categorical(),
    "income": Histogram(),
    "area": None,
}


def cases() -> dict[str, Any]:
    """Return models that are not fitted, by what is special about them."""
    joint = {key: FAMILIES[key] for key in ("age", "smokes", "income")}
    return {
        "declared": NaiveBayes(FAMILIES),
        "exponents": NaiveBayes(FAMILIES, temper="columns"),
        "shared variance": NaiveBayes({**FAMILIES, "age": Gaussian(shared=True)}, temper=0.3),
        "reserved levels": NaiveBayes({**FAMILIES, "town": Categorical(unseen="reserve")}),
        "threshold": NaiveBayes({**FAMILIES, "income": Bernoulli(threshold=1.5)}),
        "links": NaiveBayes(FAMILIES, dependence="pairs", temper="columns"),
        "forest": NaiveBayes({**FAMILIES, "area": Categorical()}, dependence="forest"),
        "missing cells": NaiveBayes(FAMILIES, missing="auto", temper="columns"),
        "a joint table": NaiveBayes({**joint, ("town", "area"): JointTable(0.5)}),
        "uniform classes": NaiveBayes(FAMILIES, class_prior="uniform"),
        "a class without rows": NaiveBayes(FAMILIES, classes=["low", "mid", 'hi"gh', "none"]),
        "known classes": NaiveBayes(FAMILIES, class_prior={"low": 0.5, "mid": 0.5, 'hi"gh': 0.0}),
        "the default": NaiveBayes(dependence="pairs"),
    }


def ask(engine: str, statement: str, table: pd.DataFrame, name: str = "t") -> pd.DataFrame:
    """Return the answer of a database that holds a table."""
    if engine == "duckdb":
        with duckdb.connect() as database:
            database.register("given", table)
            quoted = '"' + name.replace('"', '""') + '"'
            database.execute(f"CREATE TABLE {quoted} AS SELECT * FROM given")
            return database.execute(statement).df()
    with sqlite3.connect(":memory:") as database:
        table.to_sql(name, database, index=False)
        return pd.read_sql_query(statement, database)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", cases())
def test_a_database_computes_the_probabilities(engine: str, name: str) -> None:
    table, y = draw()
    model = cases()[name].fit(table, y)
    new = draw(seed=1)[0]
    new.loc[0, "town"] = "Basel"  # which nobody has seen
    new.loc[1, ["age", "income", "visits"]] = [1e6, 1e-9, 400.0]
    new.loc[2] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(new)
    found = ask(engine, model.to_sql(), new.infer_objects())
    assert list(found) == [f"p_{label}" for label in model.classes_]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_penguins_and_numbers_as_names(engine: str) -> None:
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    model = NaiveBayes(dependence="pairs").fit(X, y)
    rows = X.assign(id=np.arange(len(X)))
    found = ask(engine, model.to_sql("t", key=["id"]), rows)
    assert found["id"].tolist() == list(range(len(X)))
    proba = found.drop(columns="id").to_numpy()
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=1e-9, atol=1e-12)
    array = X[["bill_length_mm", "bill_depth_mm"]].to_numpy()
    by_place = NaiveBayes("gaussian").fit(array, y)
    named = pd.DataFrame(array, columns=["0", "1"])
    proba = ask(engine, by_place.to_sql(), named).to_numpy()
    np.testing.assert_allclose(proba, by_place.predict_proba(array), rtol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_names_and_levels_of_somebody_who_means_harm_stay_names_and_levels(engine: str) -> None:
    evil = 'x"; DROP TABLE t; --'
    levels = ["a'; DROP TABLE t; --", "b''", 'c"', "ü\n"]
    rng = np.random.default_rng(0)
    table = pd.DataFrame({evil: np.array(levels, object)[rng.integers(0, 4, 60)]})
    y = np.array([levels[0], levels[1]])[rng.integers(0, 2, 60)]
    model = NaiveBayes().fit(table, y)
    found = ask(engine, model.to_sql(evil), table, name=evil)
    np.testing.assert_allclose(found.to_numpy(), model.predict_proba(table), rtol=1e-9)
    assert list(found) == [f"p_{label}" for label in model.classes_]


def test_scores_far_below_floats_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    x = pd.DataFrame(rng.normal(size=(60, 40)) + 100 * y[:, None]).rename(columns=str)
    model = NaiveBayes("gaussian").fit(x, y)
    for engine in ("sqlite", "duckdb"):
        found = ask(engine, model.to_sql(), x).to_numpy()
        np.testing.assert_allclose(found, model.predict_proba(x), atol=1e-12)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("family", ["bernoulli", "categorical", "auto"])
@pytest.mark.parametrize("dtype", ["bool", "boolean", "int64"])
def test_flags_and_whole_numbers_are_levels(engine: str, family: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = pd.DataFrame({"a": rng.random(200) < 0.2 + 0.5 * y, "b": rng.random(200) < 0.5})
    table = table.astype(dtype)
    if dtype == "boolean":
        table.iloc[3:20, 0] = pd.NA
    model = NaiveBayes(family).fit(table, y)
    proba = ask(engine, model.to_sql(), table).to_numpy()
    np.testing.assert_allclose(proba, model.predict_proba(table), rtol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_whole_numbers_that_floats_round_are_different_levels(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = pd.DataFrame({"id": 2**53 + rng.integers(0, 4, 200) // (1 + y)})
    model = NaiveBayes("categorical").fit(table, y)
    new = pd.DataFrame({"id": [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 7]})
    with pytest.warns(UnseenLevelWarning):
        expected = model.predict_proba(new)
    assert len(np.unique(expected[:, 0])) == 5
    np.testing.assert_allclose(ask(engine, model.to_sql(), new), expected, rtol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["cells", "Scores", "peaks", "weights", "x1", "order"])
def test_a_table_and_keys_may_have_any_name(engine: str, name: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    names = ["x2", "x1", "s0", "w0", "k1", "largest"]
    table = pd.DataFrame(rng.normal(size=(50, 6)) + y[:, None], columns=names)
    model = NaiveBayes("gaussian").fit(table, y)
    found = ask(engine, model.to_sql(name, key=names), table, name=name)
    assert list(found) == [*names, "p_0", "p_1"]
    np.testing.assert_array_equal(found[names], table)
    proba = found[["p_0", "p_1"]]
    np.testing.assert_allclose(proba, model.predict_proba(table), rtol=1e-9, atol=1e-12)


def test_one_key_is_a_name_and_none_may_be_that_of_a_probability() -> None:
    model = NaiveBayes("gaussian").fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert model.to_sql(key="id") == model.to_sql(key=["id"])
    with pytest.raises(ValueError, match="two columns of the result are 'p_a'"):
        model.to_sql(key="p_a")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("mean", "rows"), [(0.01, 300), (20, 300), (1e5, 300), (2e3, 20_000)])
def test_counts_of_all_sizes_keep_nine_digits(engine: str, mean: float, rows: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    rates = mean + y * np.sqrt(mean) / 6  # so that many rows are near one half, where digits show
    table = pd.DataFrame({"n": rng.poisson(rates).astype(float)})
    model = NaiveBayes("poisson").fit(table, y)
    new = pd.DataFrame({"n": [0.0, 1.0, np.nan, *table["n"][:50], 2 * mean, 1e6, 1e9]})
    new["n"] = new["n"].round()
    found = ask(engine, model.to_sql(), new)
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_numbers_whose_squares_overflow_have_probabilities(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    model = NaiveBayes("gaussian").fit(pd.DataFrame({"a": rng.normal(size=60) + y}), y)
    new = pd.DataFrame({"a": [1e7, -1e9, 1e100, -1e160, 1e200, 1e300]})
    found = ask(engine, model.to_sql(), new)
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_cells_on_the_ends_of_a_bin_are_in_it(engine: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pd.DataFrame({"a": np.round(rng.normal(size=300) + y, 1)})
    model = NaiveBayes("histogram").fit(table, y)
    ends = np.unique(np.concatenate([table["a"], (table["a"] + 0.05).round(3)]))
    near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
    new = pd.DataFrame({"a": near})
    found = ask(engine, model.to_sql(), new)
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=1e-9)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("classes", "columns"), [(30, 3), pytest.param(2, 1_100, marks=pytest.mark.slow)]
)
def test_many_classes_and_many_columns(engine: str, classes: int, columns: int) -> None:
    # without MATERIALIZED ten classes take gigabytes of SQLite, and long sums nest too deep
    rng = np.random.default_rng(0)
    y = np.arange(600) % classes
    x = pd.DataFrame(rng.normal(size=(600, columns)) + 0.1 * y[:, None]).rename(columns=str)
    model = NaiveBayes("gaussian", temper=0.1).fit(x, y)
    found = ask(engine, model.to_sql(), x[:50])
    np.testing.assert_allclose(found, model.predict_proba(x[:50]), rtol=1e-9, atol=1e-12)


def refused() -> dict[str, NaiveBayes]:
    """Return models that no SELECT computes, by what the message says."""
    table, y = draw()
    numbers = table[["age", "income"]].ffill().bfill()
    there = table["town"].notna()
    words = pd.DataFrame({"text": [["a", "b"], ["b"]] * 30})
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"] * 20)})
    strict = {"town": Categorical(unseen="error")}
    pair = {("age", "income"): "multivariate"}
    never = Categorical(0.0)
    return {
        "a covariance needs matrices": NaiveBayes(pair).fit(numbers, y),
        "blocks of words are not supported": NaiveBayes().fit(words, ["u", "v"] * 30),
        "use 'ignore' or 'reserve'": NaiveBayes(strict).fit(table[["town"]][there], y[there]),
        "estimate='mean'": NaiveBayes("gaussian", estimate="mean").fit(numbers, y),
        "impossible in a class": NaiveBayes(never).fit([["a"], ["b"]] * 5, ["u", "v"] * 5),
        "convert the column to text": NaiveBayes(Categorical()).fit(dates, ["u", "v"] * 20),
        "'0', '1'|0, 1": MultinomialNB().fit(np.ones((4, 2)), list("aabb")),
    }


@pytest.mark.parametrize("match", refused())
def test_what_a_select_cannot_compute_is_refused(match: str) -> None:
    with pytest.raises(ValueError, match=match):
        refused()[match].to_sql()


def test_a_select_of_very_many_numbers_is_refused() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 12)) + 2 * rng.normal(size=(3_000, 1))
    y = rng.integers(0, 60, 3_000)
    model = NaiveBayes("histogram", dependence="pairs").fit(x, y)
    with pytest.raises(ValueError, match="too many for a SELECT"):
        model.to_sql()


def test_the_command_line_exports_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, y = draw()
    model = str(tmp_path / "model.bnb")
    learnt = NaiveBayes(dependence="pairs").fit(table, y)
    learnt.save(model)
    assert main(["export", model, "--sql", "--table", "people", "--key", "id"]) == 0
    statement = capsys.readouterr().out
    rows = table.assign(id=range(len(table)))
    found = ask("sqlite", statement, rows, name="people")
    proba = found.drop(columns="id").to_numpy()
    np.testing.assert_allclose(proba, learnt.predict_proba(table), rtol=1e-9, atol=1e-12)
    assert main(["export", model]) == 2
    assert "give either --sql or --points" in capsys.readouterr().err
