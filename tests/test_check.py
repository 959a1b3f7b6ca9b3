"""Has a new table changed: noise and planted changes, prevalence, accuracy, rows, the command."""

import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from quapy.method.aggregative import EMQ
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import binom, chi2
from sklearn.metrics import accuracy_score, log_loss

from bayesnb import (
    Bernoulli,
    Categorical,
    CategoricalNB,
    Gamma,
    Gaussian,
    GaussianNB,
    Histogram,
    JointTable,
    Multinomial,
    MultinomialNB,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    UnseenLevelWarning,
    check,
    load,
    plot_check,
)
from bayesnb.cli import main
from bayesnb.formatting import MINUS, nats, percent
from bayesnb.inference.prevalence import estimate_prevalence

Array = np.ndarray
FAMILIES = {
    "income": Histogram(),
    "height": Gaussian(),
    "plan": Categorical(),
    "zip": Categorical(),
    "flag": Bernoulli(),
    "visits": Poisson(),
}
PRIOR = NormalInverseGamma(mean=0.0, count=1.0, shape=2.0, scale=2.0)


def draw(rng: np.random.Generator, rows: int, share: float = 0.3) -> tuple[pd.DataFrame, Array]:
    """Return a table with a column of every family, and labels of which a share is "churned"."""
    y = (rng.random(rows) < share).astype(int)
    usual = np.where(
        rng.random(rows) < 0.3 * y, 0, rng.choice(5, rows, p=[0.4, 0.3, 0.2, 0.05, 0.05])
    )
    table = pd.DataFrame(
        {
            "income": np.exp(rng.normal(size=rows) + y),
            "height": rng.normal(size=rows) + y,
            "plan": np.array(list("abcde"))[usual],
            "zip": rng.integers(0, 400, rows).astype(str),
            "flag": rng.random(rows) < 0.2 + 0.3 * y,
            "visits": rng.poisson(2 + y).astype(float),
        }
    )
    table.loc[rng.random(rows) < 0.1, "income"] = np.nan
    return table, np.array(["stays", "churned"])[y]


def fit(X: Any, y: Any, families: Any = FAMILIES) -> NaiveBayes:
    return NaiveBayes(families, temper=None).fit(X, y)


def changed(result: Any) -> list[str]:
    return result.table.loc[result.table["changed"], "feature"].tolist()


# Columns


@pytest.mark.parametrize("is_labelled", [True, False])
@pytest.mark.parametrize(
    ("column", "family"),
    [
        ("height", Gaussian(PRIOR)),
        ("height", Gaussian(PRIOR, shared=True)),
        ("flag", Bernoulli()),
        ("plan", Categorical(levels=list("abcde"))),
        ("visits", Poisson(Gamma(1, 1))),
    ],
)
def test_factors_are_those_of_three_models(column: str, family: Any, is_labelled: bool) -> None:
    rng = np.random.default_rng(1)
    X, y = draw(rng, 80)
    X = X[[column]]
    new, labels = X[20:], y[20:]  # of levels the smaller factor for a change would be another
    model = NaiveBayes(family, temper=None)
    result = check(model.fit(X, y), new, labels if is_labelled else None)
    groups = ["stays", "churned"] if is_labelled else [""]
    expected = 0.0
    for group in groups:  # a model of one class has no variance in common with another
        tables = []
        for table, classes in ((X, y), (new, labels)):
            tables.append(table[classes == group] if group else table)
        for sign, table in zip((1, -1, -1), (pd.concat(tables), *tables), strict=True):
            alone = NaiveBayes(family, temper=None).fit(table, [0] * len(table))
            expected += sign * alone.log_evidence_by_feature()[column]
    np.testing.assert_allclose(result.table["log_bayes_factor"], expected, rtol=1e-9)


def count_alarms(is_labelled: bool, tables: int, families: Any = FAMILIES) -> int:
    alarms = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, 200)
        new, labels = draw(rng, 300)
        result = check(fit(X, y, families), new, labels if is_labelled else None)
        alarms += "No change" not in result.verdict
    return alarms


@pytest.mark.parametrize("is_labelled", [True, False])
def test_noise_is_no_change(is_labelled: bool) -> None:
    assert count_alarms(is_labelled, 30) <= 3


def test_a_histogram_on_a_grid_of_few_rows_is_no_change_of_many() -> None:
    factors = []
    for seed in range(15):
        x = np.random.default_rng(seed).normal(size=(3060, 1))
        model = NaiveBayes(Histogram()).fit(x[:60], np.arange(60) % 2)
        factors.append(check(model, x[60:]).table["log_bayes_factor"][0])
    assert np.mean(factors) > 0
    assert min(factors) > -3


def test_a_change_is_below_a_limit_that_counts_the_factors() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, _) = draw(rng, 100), draw(rng, 100)
    result = check(fit(X, y), new.assign(height=new["height"] + 0.8, flag=True))
    # six distributions, six shares of missing cells, three of new levels
    np.testing.assert_allclose(result.limit, np.log(0.05 / 15))
    factors = result.table.filter(like="factor").min(axis=1)
    assert (result.table["changed"] == (factors < result.limit)).all()
    assert 0 < result.table["changed"].sum() < 6


@pytest.mark.slow
@pytest.mark.parametrize("is_labelled", [True, False])
def test_noise_is_a_change_in_at_most_a_twentieth_of_tables(is_labelled: bool) -> None:
    assert count_alarms(is_labelled, 200) <= 10


@pytest.mark.slow
def test_noise_is_no_change_where_families_were_chosen() -> None:
    assert count_alarms(False, 50, "auto") <= 3


def shift(kind: str, table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    some = rng.random(len(table)) < 0.3
    table = table.copy()
    if kind == "mean":
        table["height"] += 0.5
    elif kind == "spread":
        table["height"] *= 1.6
    elif kind == "mean of a histogram":
        table["income"] *= 2
    elif kind == "spread of a histogram":
        table["income"] = table["income"] ** 1.8
    elif kind == "shares of levels":
        table.loc[some, "plan"] = "c"
    elif kind == "a new level":
        table.loc[some & (rng.random(len(table)) < 0.2), "plan"] = "f"
    elif kind == "missing":
        table.loc[some, "visits"] = np.nan
    elif kind == "no longer missing":
        table["income"] = table["income"].fillna(1.5)
    elif kind == "flag":
        table.loc[some, "flag"] = True
    else:
        table["visits"] += rng.poisson(0.8, len(table))
    return table


@pytest.mark.parametrize("is_labelled", [True, False])
@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("mean", "height", "nats"),
        ("spread", "height", "nats"),
        ("mean of a histogram", "income", "nats"),
        ("spread of a histogram", "income", "nats"),
        ("shares of levels", "plan", "nats"),
        ("a new level", "plan", "new levels in"),
        ("missing", "visits", "missing in"),
        ("no longer missing", "income", "missing in 0 % of the rows, 10 % in training"),
        ("flag", "flag", "nats"),
        ("counts", "visits", "nats"),
    ],
)
def test_planted_changes_are_found(kind: str, column: str, words: str, is_labelled: bool) -> None:
    rng = np.random.default_rng(3)
    X, y = draw(rng, 600)
    new, labels = draw(rng, 500)
    result = check(fit(X, y), shift(kind, new, rng), labels if is_labelled else None)
    assert changed(result) == [column]
    first = result.verdict.splitlines()[0].replace("\u00a0", " ")
    assert first.startswith(f"1 of 6 columns changed: {column} (")
    assert words in first


def test_shares_of_missing_cells_and_of_unknown_levels_are_counted() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, _) = draw(rng, 100), draw(rng, 100)
    new.loc[:24, "plan"] = ["x", "y", "x", "x", "x"] * 5
    new.loc[90:, "plan"] = None
    table = check(fit(X, y), new).table.set_index("feature")
    assert table.loc["income", "missing"] == new["income"].isna().mean()
    assert table.loc["income", "missing_learnt"] == X["income"].isna().mean()
    assert table.loc["plan", "missing"] == 0.1
    assert table.loc["plan", "unseen_levels"] == 2
    np.testing.assert_allclose(table.loc["plan", "unseen"], 25 / 90)
    times = X["zip"].value_counts()
    np.testing.assert_allclose(table.loc["zip", "unseen_learnt"], (times == 1).sum() / 100)
    np.testing.assert_allclose(table.loc["zip", "unseen"], (~new["zip"].isin(X["zip"])).mean())
    assert np.isnan(table.loc["height", "unseen"])


def test_ids_are_new_in_every_table() -> None:
    names = [f"id{i}" for i in range(400)]
    X = pd.DataFrame({"id": names[:200], "x": np.arange(200) % 2})
    new = pd.DataFrame({"id": names[200:], "x": np.arange(200) % 2})
    model = NaiveBayes({"id": Categorical(), "x": Bernoulli()}).fit(X, [0, 1] * 100)
    assert changed(check(model, new)) == []
    assert changed(check(model, new.assign(id="id0"))) == ["id"]


@pytest.mark.parametrize("unseen", ["ignore", "reserve"])
def test_levels_that_are_not_declared_are_missing_cells_or_reserved(unseen: str) -> None:
    X = pd.DataFrame({"plan": list("aabb") * 50})
    new = pd.DataFrame({"plan": list("aabc") * 50})
    family = Categorical(levels=["a", "b"], unseen=unseen)
    result = check(NaiveBayes(family).fit(X, [0, 1] * 100), new)
    assert changed(result) == ["plan"]
    assert result.table["missing"][0] == (0.25 if unseen == "ignore" else 0)
    assert result.table["unseen"][0] == (0 if unseen == "ignore" else 0.25)


def make_blocks(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, Array]:
    y = rng.integers(0, 2, rows)
    table = pd.DataFrame(rng.normal(size=(rows, 2)) + y[:, None], columns=["u", "v"])
    table["a"], table["b"] = rng.integers(0, 3, (2, rows))
    return table, y


def test_columns_that_are_modelled_jointly_are_one_column() -> None:
    rng = np.random.default_rng(0)
    families = {("u", "v"): MultivariateGaussian(), ("a", "b"): JointTable()}
    (X, y), (new, labels) = make_blocks(rng, 300), make_blocks(rng, 300)
    model = NaiveBayes(families).fit(X, y)
    assert changed(check(model, new)) == changed(check(model, new, labels)) == []
    new[["u", "a"]] = new[["v", "b"]].to_numpy()  # each column is as it was, not both together
    result = check(model, new)
    assert result.table["feature"].tolist() == ["u, v", "a, b"]
    assert changed(result) == ["u, v", "a, b"]


def draw_linked(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, Array]:
    """Return correlated numbers, linked levels, and cells that are missing in one class."""
    y = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, 3)) + 3 * rng.normal(size=(rows, 1)) + np.outer(y, [1, 0, 0])
    table = pd.DataFrame(x, columns=["u", "v", "w"])
    table["a"] = rng.integers(0, 3, rows).astype(str)
    table["b"] = np.where(rng.random(rows) < 0.8, table["a"], "0")
    table.loc[(y == 1) & (rng.random(rows) < 0.4), "a"] = None
    return table, y


def test_columns_alone_are_checked_where_columns_have_links_flags_and_a_covariance() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, labels) = draw_linked(rng, 400), draw_linked(rng, 400)
    model = NaiveBayes(missing="auto", dependence="all").fit(X, y)
    repeating = [block for block in model.schema_.blocks if block.repeats]
    assert len(repeating) == 3
    for classes in (None, labels):
        result = check(model, new, classes)
        assert result.table["feature"].tolist() == X.columns.tolist()
        assert changed(result) == []


def test_words_are_one_column() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    share = np.array([[0.5, 0.3, 0.2, 0, 0], [0.2, 0.3, 0.5, 0, 0]])
    first, second, other = (
        sparse.csr_array(np.array([rng.multinomial(20, p) for p in shares[y]]))
        for shares in (share, share, share[:, [3, 0, 1, 2, 4]])
    )
    model = MultinomialNB().fit(first, y)
    for labels in (None, y):
        assert changed(check(model, second, labels)) == []
        result = check(model, other, labels)
        assert len(result.table) == result.table["changed"].sum() == 1
        assert result.table["unseen_levels"][0] == 1
    texts = [["spam", "eggs"] * 3, ["ham", "eggs"] * 3] * 20
    table = pd.DataFrame({"text": texts})
    model = NaiveBayes({"text": Multinomial()}).fit(table, [0, 1] * 20)
    assert changed(check(model, table)) == []
    assert changed(check(model, pd.DataFrame({"text": [["bread"] * 6] * 20}))) == ["text"]


def test_a_model_that_was_saved_or_learnt_in_parts_says_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, _) = draw(rng, 100), draw(rng, 100)
    families = FAMILIES | {"income": Gaussian(PRIOR), "height": Gaussian(PRIOR)}
    families["visits"] = Poisson(Gamma(1, 1))
    model = fit(X, y, families)
    model.save(tmp_path / "model.bnb")
    parts = (
        NaiveBayes(families, temper=None)
        .partial_fit(X[:40], y[:40], ["churned", "stays"])
        .partial_fit(X[40:], y[40:])
    )
    result = check(model, new)
    for other in (load(tmp_path / "model.bnb"), parts):
        pd.testing.assert_frame_equal(check(other, new).table, result.table)


# Classes


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("information", [0.5, 2.0])
def test_prevalence_is_that_of_quapy(
    classes: int, information: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EMQ, "MAX_ITER", 100_000)
    rng = np.random.default_rng(classes)
    learnt, true = rng.dirichlet(np.full((2, classes), 2.0)[0], 2)
    y = rng.choice(classes, 500, p=true)
    logits = rng.normal(size=(500, classes)) + information * np.eye(classes)[y]
    proba = softmax(information * logits + np.log(learnt), axis=1)
    share, _ = EMQ.EM(learnt, proba, epsilon=1e-13)
    shares, lower, upper = estimate_prevalence(proba, learnt, 0.9)
    np.testing.assert_allclose(shares, share, atol=1e-6)
    assert (lower <= shares).all()
    assert (shares <= upper).all()


def test_a_class_that_cannot_be_stays_so() -> None:
    proba = np.array([[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]])
    result = estimate_prevalence(proba, np.array([0.5, 0.5, 0.0]), 0.9)
    assert (result[:, 2] == 0).all()
    assert (estimate_prevalence(np.ones((5, 1)), np.ones(1), 0.9) == 1).all()


@pytest.mark.parametrize("true", [[0.2, 0.8], [0.03, 0.97], [0.1, 0.3, 0.6]])
def test_intervals_of_prevalence_cover(true: list[float]) -> None:
    classes, times = len(true), 400
    covered = np.zeros(classes)
    learnt = np.full(classes, 1 / classes)
    for seed in range(times):
        rng = np.random.default_rng(seed)
        y = rng.choice(classes, 400, p=true)
        x = rng.normal(size=(400, classes)) + 1.5 * np.eye(classes)[y]
        _, lower, upper = estimate_prevalence(softmax(1.5 * x, axis=1), learnt, 0.9)
        covered += (lower <= true) & (true <= upper)
    se = np.sqrt(0.9 * 0.1 / times)
    np.testing.assert_allclose(covered / times, 0.9, atol=3 * se)


def test_intervals_end_where_the_profile_likelihood_has_fallen() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 500, p=[0.2, 0.3, 0.5])
    x = rng.normal(size=(500, 3)) + np.eye(3)[y]
    x[:, 1] = x[:, 2] + rng.normal(size=500)  # so that two classes are hard to tell apart
    proba = softmax(x, axis=1)
    shares, lower, upper = estimate_prevalence(proba, np.full(3, 1 / 3), 0.9)
    best = np.log(proba @ shares).sum()
    for c, ends in enumerate(zip(lower, upper, strict=True)):
        for end in ends:

            def lose(part: float, c: int = c, end: float = end) -> float:
                others = np.insert([part * (1 - end), (1 - part) * (1 - end)], c, end)
                return best - np.log(proba @ others).sum()

            drop = minimize_scalar(lose, bounds=(0, 1), method="bounded").fun
            np.testing.assert_allclose(2 * drop, chi2.ppf(0.9, 1), rtol=0.03)


def test_a_shift_of_prevalence_is_found_and_corrected() -> None:
    rng = np.random.default_rng(0)
    X, y = draw(rng, 3000, 0.2)
    new, labels = draw(rng, 3000, 0.6)
    X, new = X.drop(columns="zip"), new.drop(columns="zip")  # whose shares are hardly known
    model = fit(X, y, {name: FAMILIES[name] for name in X})
    result = check(model, new)
    table = result.prevalence.set_index("class").loc["churned"]
    proba = model.predict_proba(new)
    assert table["lower"] < 0.6 < table["upper"]
    odds = proba[:, 0] / proba[:, 1] * table["share"] / (1 - table["share"])
    odds *= (y == "stays").mean() / (y == "churned").mean()
    np.testing.assert_allclose(result.probability[:, 0], odds / (1 + odds), rtol=0.01)
    assert log_loss(labels, result.probability) < log_loss(labels, proba) - 0.05
    words = result.verdict.splitlines()[1].replace("\u00a0", " ")
    low, high = (f"{100 * table[name]:.0f} %" for name in ("lower", "upper"))
    assert f"({low} to {high}), 21 % in training" in words
    # the columns are as they were within the classes, and not all of them over both
    assert changed(check(model, new, labels)) == []
    assert "height" in changed(result)


def test_prevalence_is_counted_where_labels_are_known() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, labels) = draw(rng, 100), draw(rng, 150)
    table = check(fit(X, y), new, labels, ci_prob=0.8).prevalence.set_index("class")
    for label in ("stays", "churned"):
        count = (labels == label).sum()
        assert table.loc[label, "share"] == count / 150
        assert table.loc[label, "learnt"] == (y == label).mean()
        for end in table.loc[label, ["lower", "upper"]]:  # as likely as the interval is wide
            drop = binom.logpmf(count, 150, count / 150) - binom.logpmf(count, 150, end)
            np.testing.assert_allclose(2 * drop, chi2.ppf(0.8, 1), rtol=1e-6)


# Accuracy


def draw_gaussians(rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, 2)) + y[:, None], y


@pytest.mark.slow
def test_accuracy_is_as_expected_where_the_model_is_right() -> None:
    rng = np.random.default_rng(0)
    model = GaussianNB().fit(*draw_gaussians(rng, 50_000))
    inside = agrees = 0
    for _ in range(200):
        new, labels = draw_gaussians(rng, 300)
        accuracy = check(model, new, labels, ci_prob=0.9).accuracy
        inside += accuracy["lower"] <= accuracy["observed"] <= accuracy["upper"]
        agrees += accuracy["agrees"]
    assert abs(inside / 200 - 0.9) < 3 * np.sqrt(0.9 * 0.1 / 200)
    assert agrees >= 194


def test_accuracy_and_log_loss_are_those_observed() -> None:
    rng = np.random.default_rng(0)
    model = GaussianNB().fit(*draw_gaussians(rng, 1_000))
    new, labels = draw_gaussians(rng, 500)
    proba = model.predict_proba(new)
    accuracy = check(model, new, labels).accuracy
    assert accuracy["expected"] == proba.max(axis=1).mean()
    assert accuracy["observed"] == accuracy_score(labels, model.predict(new))
    np.testing.assert_allclose(accuracy["log_loss"], log_loss(labels, proba))
    entropy = -(proba * np.log(proba)).sum(axis=1).mean()
    np.testing.assert_allclose(accuracy["expected_log_loss"], entropy)
    assert "observed" not in check(model, new).accuracy


def test_labels_that_are_wrong_break_the_promise() -> None:
    rng = np.random.default_rng(0)
    model = GaussianNB().fit(*draw_gaussians(rng, 1_000))
    new, labels = draw_gaussians(rng, 500)
    result = check(model, new, 1 - labels)
    assert not result.accuracy["agrees"]
    observed, expected = (100 * result.accuracy[name] for name in ("observed", "expected"))
    words = f"Accuracy is {observed:.1f} %; the probabilities imply {expected:.1f} %."
    assert result.verdict.replace("\u00a0", " ").endswith(words)


# Rows


def test_unusual_rows_are_named_with_the_column_that_makes_them_so() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, _) = draw(rng, 300), draw(rng, 300)
    new.index = [f"row {i}" for i in range(300)]
    new.loc["row 17", "height"] = 40.0
    new.loc["row 203", "visits"] = 60.0
    new.loc["row 5", ["income", "plan"]] = None  # missing cells are not unusual
    model = fit(X, y)
    result = check(model, new)
    assert set(result.rows["row"][:2]) == {"row 17", "row 203"}
    by_row = result.rows.set_index("row")
    assert by_row.loc["row 17", "feature"] == "height"
    assert by_row.loc["row 203", "feature"] == "visits"
    assert "row 5" not in by_row.index
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        density = model.log_density(new)
    np.testing.assert_allclose(result.rows["log_density"], np.sort(density)[:5])
    np.testing.assert_allclose(by_row["below_median"], np.median(density) - by_row["log_density"])
    assert "'row 17' (height)" in result.notes[-1]


def test_a_number_is_unusual_by_its_density_among_all_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = draw(rng, 1000)
    columns = ["income", "height"]
    model = fit(X[columns], y, {name: FAMILIES[name] for name in columns})
    new = X[columns].assign(height=0.3)
    new.loc[new["income"] > new["income"].quantile(0.95), "height"] = 2.0  # a little unusual
    assert (check(model, new).rows["feature"] == "income").all()


# Refusals


def test_what_cannot_be_checked_is_refused() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, labels) = draw(rng, 60), draw(rng, 60)
    model = fit(X, y)
    with pytest.raises(ValueError, match=r"labels \['left'\].*Leave such rows out"):
        check(model, new, np.where(labels == "stays", "left", labels))
    with pytest.raises(ValueError, match="not fitted"):
        check(NaiveBayes(), new)
    with pytest.raises(TypeError, match="expected an estimator of bayesnb"):
        check("model", new)
    with pytest.raises(ValueError, match="whole numbers"):
        check(NaiveBayes(FAMILIES, temper=None).fit(X, y, sample_weight=np.full(60, 0.5)), new)
    with pytest.raises(ValueError, match="improper"):
        check(CategoricalNB(alpha=0).fit([[0], [1]] * 9, [0, 1] * 9), [[0], [1]])
    with pytest.raises(ValueError, match="ci_prob"):
        check(model, new, ci_prob=2)
    with pytest.raises(ValueError, match="now missing:\n- zip"):
        check(model, new.drop(columns="zip"))


# Displays


def test_the_result_shows_itself() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, labels) = draw(rng, 200), draw(rng, 200)
    result = check(fit(X, y), new.assign(height=new["height"] + 1), labels)
    text = str(result)
    assert text.startswith(result.verdict)
    assert all(note in text for note in result.notes)
    assert re.search(rf"^height +{MINUS}[\d.]+ .*changed$", text, re.M)
    assert "unseen_levels" not in text  # a terminal has no room
    assert "<table" in result._repr_html_()
    assert result.to_frame().columns.tolist() == result.table.columns.tolist()
    complete = check(fit(X[["height"]], y, Gaussian()), new[["height"]])
    assert "missing" not in str(complete).split("\n\n")[1]


def test_the_picture_has_the_columns_and_the_classes() -> None:
    rng = np.random.default_rng(0)
    (X, y), (new, _) = draw(rng, 200), draw(rng, 200)
    new.loc[:60, "plan"] = None
    result = check(fit(X, y), new)
    columns, classes = result.plot()
    table = result.table.set_index("feature")
    factors = table[[name for name in table if "factor" in name]].min(axis=1)
    widths = {bar.get_y() + 0.35: bar.get_width() for bar in columns.patches}
    names = [text.get_text() for text in columns.get_yticklabels()]
    for place, name in enumerate(names):
        np.testing.assert_allclose(widths[place], -factors[name])
    assert names[0] == "plan"
    new_rows, learnt = classes.collections[1:]
    np.testing.assert_allclose(new_rows.get_offsets()[:, 0], result.prevalence["share"])
    np.testing.assert_allclose(learnt.get_offsets()[:, 0], result.prevalence["learnt"])
    assert len(plot_check(result, most=2)[0].patches) == 2
    with pytest.raises(ValueError, match="most"):
        plot_check(result, most=0)
    plt.close("all")


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, a new table, and the same with a new level and <b>."""
    path = tmp_path_factory.mktemp("check")
    rng = np.random.default_rng(0)
    (X, y), (new, labels) = draw(rng, 300), draw(rng, 300)
    fit(X, y).save(path / "model.bnb")
    new.assign(churned=labels).to_csv(path / "same.csv", index=False)
    new.loc[:90, "plan"] = "<b>"
    new.to_csv(path / "other.csv", index=False)
    return path


@pytest.mark.parametrize("target", [True, False])
def test_check_prints_the_verdict_and_the_table(
    folder: Path, capsys: pytest.CaptureFixture, target: bool
) -> None:
    words = ["check", str(folder / "model.bnb"), str(folder / "same.csv")]
    assert main([*words, *(["--target", "churned"] if target else [])]) == 0
    frame = pd.read_csv(folder / "same.csv", dtype={"zip": str})
    labels = frame.pop("churned")
    result = check(load(folder / "model.bnb"), frame, labels if target else None)
    assert capsys.readouterr().out == f"{result}\n"
    assert "No change was found in 6 columns." in str(result)


def test_check_writes_a_page(folder: Path, capsys: pytest.CaptureFixture) -> None:
    page = folder / "page.html"
    words = ["check", str(folder / "model.bnb"), str(folder / "other.csv"), "--html", str(page)]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "1 of 6 columns changed: plan" in captured.out
    assert f"Wrote {page}" in captured.err
    html = page.read_text("utf-8")
    assert "<title>Has other.csv changed?</title>" in html
    assert "1 of 6 columns changed: plan" in html
    assert html.count("<svg") == 1
    assert '<th scope="row">plan</th>' in html
    assert "<b>" not in html
    plan = re.search(r'<th scope="row">plan</th>(.*?)</tr>', html, re.DOTALL)
    cells = re.findall(r">([^<]+)</td>", plan[1])
    table = check(load(folder / "model.bnb"), pd.read_csv(folder / "other.csv", dtype={"zip": str}))
    row = table.to_frame().set_index("feature").loc["plan"]
    assert cells[0] == nats(row["log_bayes_factor"])
    assert cells[4] == percent(row["unseen"])
    assert cells[-2:] == ["1", "changed"]
    assert not re.search(r"(src|href)=\"(?!#)", html)  # nothing is loaded


def test_check_says_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture) -> None:
    model, table = str(folder / "model.bnb"), str(folder / "other.csv")
    assert main(["check", model, table, "--target", "left"]) == 1
    assert "left" in capsys.readouterr().err
    assert main(["check", model, table, "--html", table]) == 2
    assert "overwrite" in capsys.readouterr().err
