"""Points tables: they add up to the log-odds, and say how sure they are."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma

from bayesnb import (
    Bernoulli,
    Categorical,
    Histogram,
    MultinomialNB,
    NaiveBayes,
    Poisson,
    points,
)
from bayesnb.cli import main

Array = np.ndarray
FAMILIES = {
    "town": Categorical(),
    "smokes": Bernoulli(),
    "visits": Poisson(),
    "income": Histogram(),
}


def draw(rows: int = 300, classes: int = 2, seed: int = 0) -> tuple[pd.DataFrame, Array]:
    """Return columns of levels, flags, counts and numbers with missing cells, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    town = np.minimum(rng.integers(0, 3, rows), y + 1)
    table = pd.DataFrame(
        {
            "town": np.array(["Bern", "Biel", "Brig"], object)[town],
            "smokes": (rng.random(rows) < 0.2 + 0.3 * y).astype(float),
            "visits": rng.poisson(1.0 + 2 * y).astype(float),
            "income": np.exp(rng.normal(y, 1.0)),
        }
    )
    for place, name in enumerate(table):
        table.loc[place + 3 :: 17, name] = None
    return table, np.array(["no", "yes", "maybe"])[y]


def look_up(table: pd.DataFrame, feature: str, cell: Any, column: str) -> float:
    """Return the number of a cell in a points table."""
    rows = table[table["feature"] == feature].reset_index(drop=True)
    if pd.isna(cell):
        return float(rows.loc[rows["cell"] == "missing", column].iloc[0])
    if feature == "income":
        ends = rows["cell"].str.extract(r"to ([\d.]+)$")[0].astype(float)
        return float(rows.loc[int((cell > ends.dropna()).sum()), column])
    text = {"smokes": {0.0: "no", 1.0: "yes"}}.get(feature, {}).get(cell, str(cell))
    if feature == "visits":
        text = str(int(cell))
    return float(rows.loc[rows["cell"] == text, column].iloc[0])


@pytest.mark.parametrize("temper", [None, 0.5, "columns"])
def test_points_add_up_to_the_log_odds(temper: Any) -> None:
    table, y = draw()
    model = NaiveBayes(FAMILIES, temper=temper).fit(table, y)
    made = points(model, total=10_000)  # so that neighbouring ranges stay apart
    frame = made.to_frame().assign(exact=made["exact"].values)
    rows = table[(table["visits"] < 6) | table["visits"].isna()][:60]
    why = model.explain(rows)
    score = why["class_term"] + why["evidence"].sum("feature")
    odds = (score.sel({"class": "yes"}) - score.sel({"class": "no"})).values
    for i, (_, row) in enumerate(rows.iterrows()):
        exact = sum(look_up(frame, name, row[name], "exact") for name in FAMILIES)
        whole = sum(look_up(frame, name, row[name], "points") for name in FAMILIES)
        factor = float(made["factor"])
        np.testing.assert_allclose(float(made["base"][0]) + exact / factor, odds[i], atol=2e-4)
        assert abs(whole - exact) <= 0.5 * len(FAMILIES) + 1e-9


def test_levels_have_the_expected_log_shares_of_their_dirichlets() -> None:
    table, y = draw()
    model = NaiveBayes({"town": Categorical(), "smokes": Bernoulli()}).fit(
        table[["town", "smokes"]], y
    )
    made = points(model, total=7)
    exact = made["exact"].values / float(made["factor"])
    log_odds = []
    town = model.posterior_["town"].concentration.reshape(2, 3)
    smokes = model.posterior_["smokes"]
    no_and_yes = np.column_stack([np.ravel(smokes.b), np.ravel(smokes.a)])
    for counts in (town, no_and_yes):
        logs = digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))
        log_odds.append(np.append(logs[1] - logs[0], 0.0))
    least = sum(each.min() for each in log_odds)
    expected = np.concatenate([each - each.min() for each in log_odds])
    np.testing.assert_allclose(exact, expected, atol=1e-10)
    rows = np.ravel(model.class_posterior_.concentration)
    base = digamma(rows[1]) - digamma(rows[0])
    np.testing.assert_allclose(float(made["base"][0]), base + least, atol=1e-10)


def test_large_counts_are_in_ranges_that_follow_the_log_odds() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pd.DataFrame({"n": rng.poisson(500 + 20 * y)})
    model = NaiveBayes("poisson").fit(table, y)
    made = points(model)
    frame = made.to_frame()[:-1]
    ends = frame["cell"].str.extract(r"to ([\d.]+)$")[0].dropna().astype(float)
    place = np.searchsorted(ends, table["n"])
    score = float(made["base"][0]) + frame["points"].to_numpy()[place] / float(made["factor"])
    why = model.explain(table)
    odds = (why["evidence"].sum("feature") + why["class_term"]).transpose("obs_id", "class").values
    odds = odds[:, 1] - odds[:, 0]
    step = np.diff(frame["points"]).max() / float(made["factor"])
    assert len(np.unique(place)) > 10
    assert np.abs(score - odds).max() <= step


def test_a_count_that_varies_little_begins_where_it_is() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    cells = points(NaiveBayes("poisson").fit(rng.poisson(1 + y)[:, None], y)).to_frame()["cell"]
    assert cells.iloc[:3].tolist() == ["0", "1", "2"]
    assert cells.iloc[-2].endswith(" or more")


def test_ranges_of_large_numbers_have_different_names() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    x = 1e8 + rng.normal(size=(300, 1)) + 2 * y[:, None]
    for family in ("gaussian", "histogram"):
        cells = points(NaiveBayes(family).fit(x, y)).to_frame()["cell"]
        assert cells.is_unique
        ends = cells.str.extract(r"to ([\d.]+)$")[0].dropna().astype(float)
        assert (np.diff(ends) > 0).all()


@pytest.mark.parametrize("family", ["gaussian", "poisson", "categorical", "histogram"])
def test_a_column_without_a_cell_says_nothing(family: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    table = pd.DataFrame({"a": rng.poisson(1 + y), "none": np.full(100, np.nan)})
    frame = points(NaiveBayes(family).fit(table, y)).to_frame()
    assert (frame.loc[frame["feature"] == "none", "points"] == 0).all()
    assert frame.loc[frame["feature"] == "a", "points"].max() == 100


def test_a_class_that_is_impossible_is_refused() -> None:
    table, y = draw()
    model = NaiveBayes(FAMILIES, class_prior={"no": 1.0, "yes": 0.0}).fit(table, y)
    with pytest.raises(ValueError, match="a class has probability 0"):
        points(model)


@pytest.mark.parametrize("total", [1, 20, 100, 1000.0])
def test_the_least_sum_is_nothing_and_the_largest_the_total(total: float) -> None:
    table, y = draw()
    frame = points(NaiveBayes(FAMILIES).fit(table, y), total).to_frame()
    by_column = frame.groupby("feature")["points"]
    assert (by_column.min() == 0).all()
    assert abs(by_column.max().sum() - total) <= 0.5 * len(FAMILIES)


def test_so_many_points_double_the_odds() -> None:
    table, y = draw()
    made = points(NaiveBayes(FAMILIES).fit(table, y))
    odds = np.exp(
        float(made["base"][0])
        + np.array([10.0, 10.0 + float(made["doubling"])]) / float(made["factor"])
    )
    np.testing.assert_allclose(odds[1], 2 * odds[0])
    assert f"{float(made['doubling']):.3g} doubles the odds of yes" in repr(made)
    assert "rounding changes a sum by at most 2" in repr(made)


def test_standard_deviations_are_those_of_draws() -> None:
    table, y = draw()
    model = NaiveBayes({"town": Categorical()}).fit(table[["town"]], y)
    made = points(model)
    frame = made.to_frame()
    belief = model.posterior_["town"]
    logs = np.log(belief.sample(np.random.default_rng(0), 20_000).probability)  # (s, c, k)
    drawn = (logs[:, 1] - logs[:, 0]) * float(made["factor"])
    rows = frame[(frame["feature"] == "town") & (frame["cell"] != "missing")]
    error = 4 / np.sqrt(2 * 20_000)
    np.testing.assert_allclose(rows["sd"], drawn.std(axis=0).ravel(), rtol=error + 0.02)


def test_of_three_classes_the_most_points_are_most_probable() -> None:
    table, y = draw(classes=3)
    table = table[["town", "smokes"]]
    model = NaiveBayes({"town": Categorical(), "smokes": Bernoulli()}).fit(table, y)
    made = points(model, total=1_000)
    frame = made.to_frame()
    rows = table.dropna()[:40]
    found = []
    for _, row in rows.iterrows():
        sums = made["base"].values.copy()
        for name in rows:
            cell = {0.0: "no", 1.0: "yes"}.get(row[name], row[name])
            here = (frame["feature"] == name) & (frame["cell"] == cell)
            columns = [f"points_{label}" for label in model.classes_]
            sums += frame.loc[here, columns].to_numpy()[0] / float(made["factor"])
        found.append(sums)
    why = model.explain(rows)
    score = (why["class_term"] + why["evidence"].sum("feature")).transpose("obs_id", "class").values
    centred = score - score.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, centred, atol=0.02)


def test_flags_of_missing_cells_have_points() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    table = pd.DataFrame({"town": np.array(["u", "v"], object)[rng.integers(0, 2, 400)]})
    table.loc[rng.random(400) < 0.1 + 0.5 * y, "town"] = None
    model = NaiveBayes(Categorical(), missing="auto").fit(table, y)
    frame = points(model).to_frame()
    flag = frame[frame["feature"] == "town missing"]
    assert flag["cell"].tolist() == ["no", "yes"]
    assert flag["points"].max() > 50


def test_numbers_have_ranges_and_a_gaussian_ten_of_them() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    x = rng.normal(size=(500, 1)) + 2 * y[:, None]
    frame = points(NaiveBayes("gaussian").fit(x, y)).to_frame()
    assert len(frame) <= 11
    assert frame["points"].iloc[:-1].is_monotonic_increasing
    assert frame["cell"].iloc[0].startswith("to ")
    assert frame["cell"].iloc[-1] == "missing"


REFUSED = {
    "dependence=None": lambda x, y: NaiveBayes("categorical", dependence="pairs").fit(
        np.column_stack([x[:, 0] > 0, x[:, 0] > 0.1, x[:, 1] > 0]).astype(str), y
    ),
    "are modelled jointly": lambda x, y: NaiveBayes({(0, 1): "multivariate"}).fit(x[:, :2], y),
    "cannot include words": lambda x, y: MultinomialNB().fit(np.abs(np.rint(x)), y),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_is_no_sum_over_columns_is_refused(match: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    with pytest.raises(ValueError, match=match):
        points(REFUSED[match](x, rng.integers(0, 2, 200)))


@pytest.mark.parametrize("total", [0, -1, np.inf, "100", None])
def test_another_total_is_refused(total: Any) -> None:
    table, y = draw(100)
    with pytest.raises(ValueError, match="total must be a positive number"):
        points(NaiveBayes(FAMILIES).fit(table, y), total)


def test_the_command_line_writes_it_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, y = draw()
    model = str(tmp_path / "model.bnb")
    NaiveBayes(FAMILIES).fit(table, y).save(model)
    assert main(["export", model, "--points", "--total", "50"]) == 0
    shown = capsys.readouterr()
    frame = pd.read_csv(io.StringIO(shown.out))
    assert list(frame) == ["feature", "cell", "points", "sd"]
    assert "doubles the odds of yes" in shown.err
    assert frame.groupby("feature")["points"].max().sum() <= 52
