"""Comparing smoothings: every number against refits and definitions, and what is said where there is no number."""

import re
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb as nb
from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
)
from bayesnb.datasets import penguins
from tests.test_figures import assert_readable

COLUMNS = [
    "smoothing",
    "estimate",
    "concentration",
    "log_evidence",
    "elpd_loo",
    "se",
    "elpd_diff",
    "diff_se",
    "accuracy",
    "brier",
    "ece",
]
RNG = np.random.default_rng(20261121)
ROWS = 30
Y = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
TABLE = pd.DataFrame(
    {
        "level": np.array(["low", "mid", "high"])[RNG.integers(0, 3, ROWS)],
        "flag": RNG.random(ROWS) < 0.4,
        "events": RNG.poisson(2 + np.arange(ROWS) % 3).astype(float),
        "size": RNG.normal(np.arange(ROWS) % 3, 1.0),
        "first": RNG.poisson(1.0, ROWS).astype(float),
        "second": RNG.poisson(3.0, ROWS).astype(float),
    }
)
FAMILIES: dict[Any, Any] = {
    "level": Categorical(),
    "flag": Bernoulli(),
    "events": Poisson(),
    "size": Gaussian(),
    ("first", "second"): Multinomial(),
}
WEIGHT = RNG.choice([0.5, 1.0, 2.5], ROWS)


def smoothed(size: float, estimate: str, weight: Any = None) -> dict[Any, Any]:
    """The families with the priors that a smoothing stands for, spelled out."""
    weight = np.ones(ROWS) if weight is None else weight
    more, events = float(estimate == "map"), TABLE["events"]
    mean = np.average(TABLE["size"], weights=weight)
    variance = np.average((TABLE["size"] - mean) ** 2, weights=weight)
    return {
        "level": Categorical(Dirichlet(size + more)),
        "flag": Bernoulli(Beta(size + more, size + more)),
        "events": Poisson(Gamma(size + more, size * weight.sum() / (weight @ events))),
        "size": Gaussian(NormalInverseGamma(mean, 0.01 * size, 1.0 * size, variance * size)),
        ("first", "second"): Multinomial(size + more),
    }


def refitted(families: Any, weight: Any = None, **said: Any) -> np.ndarray:
    """log p(y | x, all other rows), by as many fits as there are rows."""
    weight, found = np.ones(ROWS) if weight is None else weight, []
    for i in range(ROWS):
        others = np.arange(ROWS) != i
        model = nb.NaiveBayes(families, classes=["a", "b", "c"], **said)
        model.fit(TABLE[others], Y[others], weight[others])
        found.append(model.predict_log_proba(TABLE[i : i + 1])[0])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimate", "temper", "weight"),
    [("map", 0.4, WEIGHT), ("mean", None, None), ("mean", None, WEIGHT), ("predictive", 0.4, WEIGHT)],
    ids=["map, tempered and weighted", "mean, plain", "mean, weighted", "predictive, tempered and weighted"],
)
def test_a_row_of_the_table_is_what_refits_without_each_row_give(estimate: str, temper: Any, weight: Any) -> None:
    model = nb.NaiveBayes(FAMILIES, temper=temper)
    found = nb.compare_smoothing(model, TABLE, Y, (0.3, 2), (estimate,), sample_weight=weight).table
    share = np.full(ROWS, 1 / ROWS) if weight is None else weight / weight.sum()
    own = np.unique(Y, return_inverse=True)[1]
    for row, size in enumerate((0.3, 2)):
        families = smoothed(size, estimate, weight)
        log_proba = refitted(families, weight, temper=temper, estimate=estimate)
        score = log_proba[np.arange(ROWS), own]
        gap = ROWS * share * (score - share @ score)
        expected = {
            "smoothing": size,
            "concentration": size + (estimate == "map"),
            "log_evidence": nb.NaiveBayes(families).fit(TABLE, Y, weight).log_evidence_,
            "elpd_loo": ROWS * share @ score,
            "se": np.sqrt(ROWS / (ROWS - 1) * (gap**2).sum()),
            "accuracy": share @ (log_proba.argmax(axis=1) == own),
            "brier": share @ ((np.exp(log_proba) - np.eye(3)[own]) ** 2).sum(axis=1),
        }
        assert found.loc[row, list(expected)].astype(float).to_dict() == pytest.approx(expected, rel=1e-8)


def test_the_columns_are_those_that_are_promised_and_the_best_is_first_among_none() -> None:
    model = nb.NaiveBayes(FAMILIES)
    found = nb.compare_smoothing(model, TABLE, Y, (0.1, 1, 10))
    table = found.table
    assert list(table.columns) == COLUMNS
    assert table["smoothing"].tolist() == [0.1, 1, 10] * 3
    assert table["estimate"].tolist() == ["map"] * 3 + ["mean"] * 3 + ["predictive"] * 3
    assert (table["elpd_diff"] <= 0).all()
    place = int(table["elpd_loo"].argmax())
    assert found.best == table.loc[place].to_dict()
    assert table.loc[place, ["elpd_diff", "diff_se"]].tolist() == [0, 0]
    assert found.distinguishable.tolist() == (table["elpd_diff"] < -2 * table["diff_se"]).tolist()


def test_differences_are_those_of_the_rows_scores() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0.1, 1, 10), ("predictive",)).table
    each = [
        nb.NaiveBayes(smoothed(size, "predictive")).fit(TABLE, Y).loo(TABLE, Y).elpd_i.values for size in (0.1, 1, 10)
    ]
    best = int(np.argmax(np.sum(each, axis=1)))
    for row in range(3):
        gap = each[row] - each[best]
        assert found.loc[row, "elpd_loo"] == pytest.approx(each[row].sum(), rel=1e-12)
        assert found.loc[row, "elpd_diff"] == pytest.approx(gap.sum(), abs=1e-10)
        assert found.loc[row, "diff_se"] == pytest.approx(np.sqrt(ROWS) * gap.std(ddof=1), abs=1e-10)


def test_one_smoothing_has_two_readings_as_mean_and_as_mode() -> None:
    """Under uniform class probabilities, which are the same for both."""
    X = TABLE[["level", "flag", "events", "first", "second"]]
    families = {name: family for name, family in FAMILIES.items() if name != "size"}
    model = nb.NaiveBayes(families, class_prior="uniform")
    table = nb.compare_smoothing(model, X, Y, (0.2, 1, 3), ("map", "mean")).table
    mode, mean = table[table.estimate == "map"], table[table.estimate == "mean"]
    np.testing.assert_allclose(mode["elpd_loo"], mean["elpd_loo"], rtol=1e-12)
    np.testing.assert_allclose(mode["concentration"], mean["concentration"] + 1)


def test_smoothing_one_is_the_default_prior_of_every_family() -> None:
    model = nb.NaiveBayes(FAMILIES).fit(TABLE, Y)
    table = nb.compare_smoothing(model, TABLE, Y, (1,), ("predictive",)).table
    assert table.loc[0, "log_evidence"] == pytest.approx(model.log_evidence_, rel=1e-14)
    assert table.loc[0, "elpd_loo"] == pytest.approx(model.loo(TABLE, Y).elpd, rel=1e-14)


@pytest.mark.parametrize("kind", ["map", "mean"])
def test_a_prior_said_with_an_array_keeps_its_proportions(kind: str) -> None:
    X, alpha = RNG.integers(0, 3, (ROWS, 3)), np.array([0.5, 1.0, 3.0])
    table = nb.compare_smoothing(nb.CategoricalNB(alpha=alpha), X, Y, (0.6,), (kind,)).table
    same = nb.CategoricalNB(alpha=0.6 * alpha / 1.5 + (kind == "map"), estimate=kind).fit(X, Y)
    assert table.loc[0, "log_evidence"] == pytest.approx(same.log_evidence_, rel=1e-13)
    assert table.loc[0, "elpd_loo"] == pytest.approx(same.loo(X, Y).elpd, rel=1e-13)


def test_a_coin_that_prefers_a_side_keeps_doing_so() -> None:
    X = RNG.random((ROWS, 2)) < 0.3
    table = nb.compare_smoothing(nb.NaiveBayes(Bernoulli(Beta(1, 3))), X, Y, (4,), ("predictive",)).table
    same = nb.NaiveBayes(Bernoulli(Beta(2, 6))).fit(X, Y)
    assert table.loc[0, "log_evidence"] == pytest.approx(same.log_evidence_, rel=1e-13)


def test_said_priors_of_numbers_are_scaled() -> None:
    X = TABLE[["events", "size"]]
    said = {"events": Poisson(Gamma(2, 3)), "size": Gaussian(NormalInverseGamma(1, 2, 3, 4))}
    same = {"events": Poisson(Gamma(1, 1.5)), "size": Gaussian(NormalInverseGamma(1, 1, 1.5, 2))}
    table = nb.compare_smoothing(nb.NaiveBayes(said), X, Y, (0.5,), ("mean",)).table
    assert table.loc[0, "log_evidence"] == pytest.approx(nb.NaiveBayes(same).fit(X, Y).log_evidence_, rel=1e-13)


def test_scales_multiply_the_variance_that_is_expected_and_have_a_column_if_they_are_several() -> None:
    X = TABLE[["size"]].to_numpy()
    table = nb.compare_smoothing(nb.GaussianNB(), X, Y, (0.5, 1), ("predictive",), scales=(1, 4)).table
    assert list(table.columns) == [*COLUMNS, "scale"]
    assert table["scale"].tolist() == [1, 1, 4, 4]
    prior = NormalInverseGamma(X.mean(), 0.005, 0.5, 4 * 0.5 * X.var())
    assert table.loc[2, "log_evidence"] == pytest.approx(nb.GaussianNB(prior=prior).fit(X, Y).log_evidence_, rel=1e-12)
    assert "scale" not in nb.compare_smoothing(nb.GaussianNB(), X, Y, (1,), scales=(2,)).table


def test_maximum_likelihood_has_one_row_and_no_evidence() -> None:
    X = TABLE[["size"]].to_numpy()
    found = nb.compare_smoothing(nb.GaussianNB(), X, Y, (0.5, 1), ("mean", "mle"))
    row = found.table.loc[2]
    assert (row["smoothing"], row["estimate"]) == (0, "mle")
    assert np.isnan(row["log_evidence"])
    assert row["elpd_loo"] == pytest.approx(nb.GaussianNB(estimate="mle").fit(X, Y).loo(X, Y).elpd, rel=1e-13)
    assert any("No prior enters mle" in note for note in found.notes)


def test_the_calibration_error_is_the_mean_gap_of_ten_equal_bins() -> None:
    X = RNG.normal(np.arange(200)[:, None] % 2, 1.5, (200, 3))
    y = np.arange(200) % 2
    table = nb.compare_smoothing(nb.GaussianNB(), X, y, (1,), ("predictive",)).table
    each = np.exp(nb.GaussianNB().fit(X, y).loo(X, y).elpd_i.values)
    top, right = np.maximum(each, 1 - each), each > 0.5
    bins = np.array_split(np.argsort(top), 10)
    expected = np.mean([abs(top[own].mean() - right[own].mean()) for own in bins])
    assert table.loc[0, "ece"] == pytest.approx(expected, rel=1e-10)


def test_intervals_hold_their_scores() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y)
    for name in ("accuracy", "brier", "ece"):
        assert (found.intervals[f"{name}_lower"] <= found.table[name]).all()
        assert (found.intervals[f"{name}_upper"] >= found.table[name]).all()
    wide = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, ci_prob=0.99).intervals
    assert (wide["brier_upper"] > found.intervals["brier_upper"]).all()


def test_a_weight_of_two_counts_as_two_rows_in_the_evidence_and_as_one_that_leaves_in_the_score() -> None:
    weight = np.arange(ROWS) // 3 % 3.0
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0.5,), ("mean",), sample_weight=weight)
    copies = np.repeat(np.arange(ROWS), weight.astype(int))
    many = nb.NaiveBayes(smoothed(0.5, "mean", weight)).fit(TABLE.iloc[copies], Y[copies])
    assert found.table.loc[0, "log_evidence"] == pytest.approx(many.log_evidence_, rel=1e-12)
    assert not any("power likelihood" in note for note in found.notes)
    fitted = nb.NaiveBayes(smoothed(0.5, "mean", weight), estimate="mean").fit(TABLE, Y, weight)
    score = fitted.loo(TABLE, Y, sample_weight=weight)
    assert found.table.loc[0, "elpd_loo"] == pytest.approx(score.elpd, rel=1e-12)


def test_fractional_weights_make_the_evidence_that_of_a_power_likelihood_and_it_is_said() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0.5,), sample_weight=WEIGHT)
    assert np.isfinite(found.table["log_evidence"]).all()
    assert any("power likelihood" in note for note in found.notes)


def test_permuting_rows_and_columns_changes_nothing() -> None:
    order, columns = RNG.permutation(ROWS), RNG.permutation(list(TABLE.columns))
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y).table
    other = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE.iloc[order][columns], Y[order]).table
    pd.testing.assert_frame_equal(found, other, rtol=1e-9, atol=1e-9)


def rare() -> tuple[pd.DataFrame, np.ndarray]:
    """The third row is the only one of its class with a level."""
    X = pd.DataFrame({"sky": ["grey"] * 12, "mood": ["good", "bad"] * 6}, index=[f"day {i}" for i in range(12)])
    X.loc["day 2", "sky"] = "green"
    return X, np.array(["rain", "sun"]).repeat(6)


def test_without_smoothing_a_level_seen_once_makes_its_row_impossible_and_it_is_said_which() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(), *rare())
    zero = found.table[found.table.smoothing == 0]
    assert np.isneginf(zero["elpd_loo"]).all()
    assert np.isneginf(zero["elpd_diff"]).all()
    assert np.isfinite(found.table["elpd_loo"][found.table.smoothing > 0]).all()
    assert found.distinguishable[found.table.smoothing == 0].all()
    (told,) = (note for note in found.notes if "-inf" in note)
    for part in ("Smoothing 0 (map, mean, predictive)", "1 of 12 rows", "row 'day 2'", "'rain'", "'green'", "'sky'"):
        assert part in told


def test_a_row_of_weight_zero_is_no_row() -> None:
    X, y = rare()
    extra, labels = pd.concat([X.iloc[[2, 2]].set_axis(["none", "nor"]), X]), np.append(["rain", "sun"], y)
    weight = np.append([0.0, 0.0], np.ones(12))
    found = nb.compare_smoothing(nb.NaiveBayes(), extra, labels, sample_weight=weight)
    pd.testing.assert_frame_equal(found.table, nb.compare_smoothing(nb.NaiveBayes(), X, y).table)
    (told,) = (note for note in found.notes if "-inf" in note)
    assert "1 of 12 rows" in told
    assert "row 'day 2'" in told


def test_without_smoothing_only_the_mode_of_dice_has_an_evidence() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(), *rare())
    zero = found.table[found.table.smoothing == 0].set_index("estimate")["log_evidence"]
    same = nb.NaiveBayes(Categorical(1.0)).fit(*rare())
    assert zero["map"] == pytest.approx(same.log_evidence_, rel=1e-14)
    assert zero[["mean", "predictive"]].isna().all()
    (told,) = (note for note in found.notes if "improper" in note)
    assert told.startswith("Smoothing 0 (mean, predictive)")


@pytest.mark.parametrize(
    ("family", "x", "said"),
    [
        (Poisson(), [0, 0, 4, 0, 0, 3, 1, 2], "any events in column 'x'"),
        (Bernoulli(), [0, 0, 1, 0, 0, 0, 1, 1], "with 1 in column 'x'"),
        (Categorical(unseen="reserve"), [7, 7, 9, 7, 7, 9, 9, 7], "with 9 in column 'x'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_only_one_row_of_a_class_holds_is_named_for_every_family(family: Any, x: list[int], said: str) -> None:
    X = pd.DataFrame({"x": x})
    found = nb.compare_smoothing(nb.NaiveBayes({"x": family}), X, [0, 0, 0, 0, 1, 1, 1, 1], (0, 1), ("mean",))
    assert found.table["elpd_loo"].tolist()[0] == -np.inf
    (told,) = (note for note in found.notes if "-inf" in note)
    assert said in told
    assert "row 2 of class 0" in told


def test_a_word_that_only_one_row_of_a_class_holds_is_named() -> None:
    X = np.array([[3, 1, 0], [2, 1, 1], [1, 2, 0], [0, 3, 1], [1, 1, 2]])
    found = nb.compare_smoothing(nb.MultinomialNB(), sparse.csr_array(X), [0, 0, 0, 1, 1], (0, 1), ("mean",))
    (told,) = (note for note in found.notes if "-inf" in note)
    assert "row 1 of class 0, the only one of its class with any count in column 2" in told


def test_where_a_class_settles_no_variance_no_row_has_a_score_and_it_is_said_why() -> None:
    X = np.append(RNG.normal(size=12), 5.0)[:, None]
    y = np.append(np.arange(12) % 2, 2)
    found = nb.compare_smoothing(nb.GaussianNB(), X, y, (0, 1), ("predictive",))
    assert found.table["elpd_loo"].isna().tolist() == [True, False]
    assert found.table["accuracy"].isna().tolist() == [True, False]
    assert found.best["smoothing"] == 1
    assert any("no row has a score, as the rows of class 2 leave no distribution" in note for note in found.notes)


def test_a_row_without_which_nothing_is_settled_is_named() -> None:
    X, y = np.array([0.0, 1.0, 2.5, 4.0, 5.0]), np.array([0, 0, 1, 1, 1])
    found = nb.compare_smoothing(nb.GaussianNB(), X[:, None], y, (0, 1), ("predictive",))
    assert np.isnan(found.table.loc[0, "elpd_loo"])
    assert any("2 of 5 rows have no score" in note and "the first is row 0 of class 0" in note for note in found.notes)


def test_the_only_row_of_a_class_is_told_from_a_rare_level() -> None:
    X, y = np.arange(7.0)[:, None], np.array([0, 0, 0, 1, 1, 1, 2])
    found = nb.compare_smoothing(nb.GaussianNB(), X, y, (0.5, 1), ("map",))
    (told,) = (note for note in found.notes if "-inf" in note)
    assert told.startswith("Smoothing 0.5, 1 (map): 1 of 7 rows has probability 0")
    assert "row 6 of class 2, the only row of its class" in told


def test_a_sparse_table_whose_classes_have_a_row_or_two_has_every_score() -> None:
    x = (np.random.default_rng(0).random((25, 6)) < 0.3).astype(float)
    y = np.arange(25) % 20
    tables = [nb.compare_smoothing(nb.BernoulliNB(), cells, y).table for cells in (x, sparse.csr_array(x))]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def test_where_no_setting_has_a_score_there_is_no_best() -> None:
    X, y = np.array([0.0, 1.0, 2.5, 4.0])[:, None], np.array([0, 0, 1, 1])
    found = nb.compare_smoothing(nb.GaussianNB(), X, y, (0,), ("predictive",))
    assert found.best is None
    assert found.table["elpd_diff"].isna().all()
    assert not found.distinguishable.any()
    assert found.verdict.startswith("No setting")
    assert found._repr_html_()
    assert_readable(found.plot()[0].get_figure())


def test_an_explicit_zero_in_a_prior_is_a_level_that_is_impossible_unless_it_was_seen() -> None:
    X, y = np.array([[0], [1], [0], [2], [1], [2]]), np.array([0, 0, 0, 1, 1, 1])
    model = nb.NaiveBayes(Categorical(Dirichlet([1.0, 1.0, 0.0]), levels=(0, 1, 2)))
    table = nb.compare_smoothing(model, X, y, (1,), ("predictive",)).table
    assert np.isnan(table.loc[0, "log_evidence"])


def test_the_page_holds_the_notes_and_nothing_that_a_label_says_becomes_markup() -> None:
    X, y = rare()
    X = X.rename(columns={"sky": "<script>alert(1)</script>"}).replace("green", "<img src=x onerror=alert(1)>")
    found = nb.compare_smoothing(nb.NaiveBayes(), X, np.where(y == "rain", "<b>rain & 'so'</b>", y))
    page = found._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>rain" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert page.count("<tr") == len(found.table) + 1
    assert page.count("<li>") == len(found.notes)
    assert page.count('<tr class="best">') == 1
    assert "http" not in page
    assert not re.search(r"color:\s*#", page)  # the page's own colours, in light and dark


def test_the_page_says_first_what_was_set() -> None:
    page = nb.compare_smoothing(nb.GaussianNB(), TABLE[["size"]], Y, (1,), scales=(1, 2))._repr_html_()
    assert re.findall(r'<th scope="col">(\w+)', page)[:4] == ["smoothing", "estimate", "scale", "concentration"]


def test_the_text_holds_the_verdict_the_table_and_the_notes() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(), *rare())
    text = repr(found)
    assert text.startswith(found.verdict)
    assert all(note in text for note in found.notes)
    assert all(column in text for column in COLUMNS)


def test_the_notes_say_what_a_smoothing_is_for_each_family_that_is_there() -> None:
    every = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (1,)).notes
    assert "both the posterior mean under a Dirichlet(l) prior and the mode (MAP) under Dirichlet(1 + l)" in every[0]
    assert "Gaussian" in every[1]
    assert "Poisson" in every[2]
    alone = nb.compare_smoothing(nb.GaussianNB(), TABLE[["size"]], Y, (1,))
    assert not any("Dirichlet" in note for note in alone.notes)
    assert alone.table["concentration"].isna().all()
    tempered = nb.compare_smoothing(nb.GaussianNB(temper=0.5), TABLE[["size"]], Y, (1,))
    assert any("temper_ = 0.5" in note for note in tempered.notes)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"smoothing": ()}, "smoothing is empty"),
        ({"smoothing": (1, -0.5)}, "0 or more, got -0.5"),
        ({"smoothing": (1, np.inf)}, "finite"),
        ({"smoothing": (1, np.nan)}, "finite"),
        ({"smoothing": (1, 1.0)}, "twice"),
        ({"smoothing": ("1",)}, "'1'"),
        ({"smoothing": None}, "got None"),
        ({"estimates": ()}, "each once"),
        ({"estimates": ("mean", "mean")}, "each once"),
        ({"estimates": ("mode",)}, "mode"),
        ({"scales": (0,)}, "above 0"),
        ({"scales": ()}, "scales is empty"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, **said)


def test_an_average_over_features_has_neither_point_estimates_nor_improper_priors() -> None:
    model = nb.NaiveBayes()
    model.average_features = 0.5
    with pytest.raises(ValueError, match="no point estimates"):
        nb.compare_smoothing(model, TABLE, Y, (1,))
    with pytest.raises(ValueError, match="smoothings above 0"):
        nb.compare_smoothing(model, TABLE, Y, (0, 1), ("predictive",))
    with pytest.raises(ValueError, match="one prior for all classes"):
        nb.tune(model, TABLE, Y, per="class")


def test_a_prior_of_no_strength_is_refused() -> None:
    reference = NormalInverseGamma(0, 0, -0.5, 0)
    with pytest.raises(ValueError, match="no strength to be scaled"):
        nb.compare_smoothing(nb.GaussianNB(prior=reference), TABLE[["size"]], Y)


def test_single_values_are_lists_of_one() -> None:
    table = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, 0.5, "mean").table
    assert len(table) == 1


def test_a_fitted_estimator_must_have_learnt_the_rows_and_is_left_as_it_was() -> None:
    model = nb.NaiveBayes(FAMILIES).fit(TABLE, Y)
    before = model.predict_proba(TABLE)
    nb.compare_smoothing(model, TABLE, Y)
    np.testing.assert_array_equal(model.predict_proba(TABLE), before)
    with pytest.raises(ValueError, match="not among those"):
        nb.compare_smoothing(model, TABLE.assign(size=99.0), Y)
    with pytest.raises(ValueError, match="compare_smoothing needs all rows"):
        nb.compare_smoothing(model, TABLE[:-1], Y[:-1])


def test_of_two_settings_alike_the_verdict_says_the_other_one() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (1, 1.01), "mean")
    assert "; the other one cannot be distinguished from it" in found.verdict


PICTURES = {
    "all": lambda: nb.compare_smoothing(nb.NaiveBayes(), *rare(), estimates=("map", "mean", "predictive", "mle")),
    "many": lambda: nb.compare_smoothing(
        nb.NaiveBayes(FAMILIES), TABLE, Y, np.append(0, np.logspace(-4, 4, 40)), ("predictive",)
    ),
    "near": lambda: nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, np.linspace(1, 1.4, 30), ("mean",)),
    "one": lambda: nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0,), ("mle",)),
    "scales": lambda: nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0.12345, 7), scales=(1, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_the_texts_of_the_picture_do_not_overlap(name: str) -> None:
    axes = PICTURES[name]().plot()
    assert len(axes) == 3
    assert_readable(axes[0].get_figure())


def test_axes_of_ones_own_are_three() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, 1, "mean")
    with pytest.raises(ValueError, match="three matplotlib axes"):
        found.plot([1, 2])


def test_the_picture_shows_the_tables_numbers() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, (0.1, 1, 10), ("predictive",))
    scores, evidence, error = (ax.get_lines()[1].get_ydata() for ax in found.plot())
    np.testing.assert_allclose(scores, found.table["elpd_diff"])
    np.testing.assert_allclose(evidence, found.table["log_evidence"] - found.table["log_evidence"].max())
    np.testing.assert_allclose(error, found.table["ece"])


@pytest.mark.slow
def test_fifty_settings_of_many_rows_take_seconds() -> None:
    rng, rows = np.random.default_rng(0), 30_000
    y = rng.integers(0, 5, rows)
    smoothing = np.append(0, np.logspace(-3, 2, 49))
    for model, X in (
        (nb.CategoricalNB(), rng.integers(0, 8, (rows, 50))),
        (nb.GaussianNB(), rng.normal(y[:, None] * 0.1, 1, (rows, 50))),
    ):
        nb.compare_smoothing(model, X[:500], y[:500], (1,), ("predictive",))
        start = time.perf_counter()
        nb.compare_smoothing(model, X, y, smoothing, ("predictive",))
        assert time.perf_counter() - start < 12


def test_real_birds_are_compared_from_end_to_end() -> None:
    table = penguins().drop(columns="year")
    found = nb.compare_smoothing(nb.NaiveBayes(temper="loo"), table.drop(columns="species"), table["species"])
    assert len(found.table) == 8  # the predictive estimate alone, as columns are linked
    assert found.best["accuracy"] > 0.97


@pytest.mark.parametrize(("sizes", "side"), [((0.1, 1, 10), None), ((1, 10), "smallest"), ((0.01, 0.1), "largest")])
def test_a_best_smoothing_beyond_which_none_was_tried_is_told(sizes: tuple[float, ...], side: str | None) -> None:
    x, y = np.array([[0, 1], [0, 1], [0, 0], [1, 1], [1, 2], [1, 2], [0, 2], [1, 0]]), np.repeat([0, 1], 4)
    fine = nb.compare_smoothing(nb.CategoricalNB(), x, y, np.geomspace(0.01, 10, 31), "predictive").best
    assert 0.1 < fine["smoothing"] < 1  # so that the best of the others lies where it should
    told = [
        note for note in nb.compare_smoothing(nb.CategoricalNB(), x, y, sizes, "predictive").notes if "tried" in note
    ]
    assert [side in note for note in told if side] == [True] * (side is not None)
    assert len(told) == (side is not None)


def test_no_smoothing_lies_below_zero_and_none_beside_the_only_one() -> None:
    x, y = [[0], [0], [1], [1]], [0, 0, 1, 1]
    for sizes in ((0, 1), (1,)):
        found = nb.compare_smoothing(nb.CategoricalNB(), x, y, sizes, "predictive")
        assert found.best["smoothing"] == sizes[0]
        assert not any("tried" in note for note in found.notes)
