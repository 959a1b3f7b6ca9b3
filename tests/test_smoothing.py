"""Comparing smoothings: numbers against refits, and what is said where there is none."""

import re
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
    more = float(estimate == "map")
    events = TABLE["events"]
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
    weight = np.ones(ROWS) if weight is None else weight
    found = []
    for i in range(ROWS):
        others = np.arange(ROWS) != i
        model = nb.NaiveBayes(families, classes=["a", "b", "c"], **said)
        model.fit(TABLE[others], Y[others], weight[others])
        found.append(model.predict_log_proba(TABLE[i : i + 1])[0])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimate", "temper", "weight"),
    [
        ("map", 0.4, WEIGHT),
        ("mean", None, None),
        ("mean", None, WEIGHT),
        ("predictive", 0.4, WEIGHT),
    ],
)
def test_a_row_of_the_table_is_what_refits_without_each_row_give(
    estimate: str, temper: Any, weight: Any
) -> None:
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
        assert found.loc[row, list(expected)].astype(float).to_dict() == pytest.approx(
            expected, rel=1e-8
        )


def test_said_priors_of_numbers_are_scaled() -> None:
    X = TABLE[["events", "size"]]
    said = {"events": Poisson(Gamma(2, 3)), "size": Gaussian(NormalInverseGamma(1, 2, 3, 4))}
    same = {"events": Poisson(Gamma(1, 1.5)), "size": Gaussian(NormalInverseGamma(1, 1, 1.5, 2))}
    table = nb.compare_smoothing(nb.NaiveBayes(said), X, Y, (0.5,), ("mean",)).table
    assert table.loc[0, "log_evidence"] == pytest.approx(
        nb.NaiveBayes(same).fit(X, Y).log_evidence_, rel=1e-13
    )


def test_maximum_likelihood_has_one_row_and_no_evidence() -> None:
    X = TABLE[["size"]].to_numpy()
    found = nb.compare_smoothing(nb.GaussianNB(), X, Y, iter((0.5, 1)), iter(("mean", "mle")))
    row = found.table.loc[2]
    assert (row["smoothing"], row["estimate"]) == (0, "mle")
    assert np.isnan(row["log_evidence"])
    assert row["elpd_loo"] == pytest.approx(
        nb.GaussianNB(estimate="mle").fit(X, Y).loo(X, Y).elpd, rel=1e-13
    )
    assert any("there is none, as for mle" in note for note in found.notes)


def test_the_calibration_error_is_the_mean_gap_of_ten_equal_bins() -> None:
    X = RNG.normal(np.arange(200)[:, None] % 2, 1.5, (200, 3))
    y = np.arange(200) % 2
    table = nb.compare_smoothing(nb.GaussianNB(), X, y, (1,), ("predictive",)).table
    each = np.exp(nb.GaussianNB().fit(X, y).loo(X, y).elpd_i.values)
    top = np.maximum(each, 1 - each)
    right = each > 0.5
    bins = np.array_split(np.argsort(top), 10)
    expected = np.mean([abs(top[own].mean() - right[own].mean()) for own in bins])
    assert table.loc[0, "ece"] == pytest.approx(expected, rel=1e-10)


def rare() -> tuple[pd.DataFrame, np.ndarray]:
    """The third row is the only one of its class with a level."""
    X = pd.DataFrame(
        {"sky": ["grey"] * 12, "mood": ["good", "bad"] * 6}, index=[f"day {i}" for i in range(12)]
    )
    X.loc["day 2", "sky"] = "green"
    return X, np.array(["rain", "sun"]).repeat(6)


def test_without_smoothing_a_level_seen_once_is_impossible_and_only_the_mode_has_evidence() -> None:
    found = nb.compare_smoothing(nb.NaiveBayes(), *rare())
    zero = found.table[found.table.smoothing == 0]
    assert np.isneginf(zero["elpd_loo"]).all()
    assert np.isneginf(zero["elpd_diff"]).all()
    assert np.isfinite(found.table["elpd_loo"][found.table.smoothing > 0]).all()
    (told,) = (note for note in found.notes if "no finite" in note)
    for part in (
        "Under smoothing 0 (map)",
        "1 of 12 rows",
        "row 'day 2'",
        "class 'rain'",
    ):
        assert part in told
    evidence = zero.set_index("estimate")["log_evidence"]
    same = nb.NaiveBayes(Categorical(1.0)).fit(*rare())
    assert evidence["map"] == pytest.approx(same.log_evidence_, rel=1e-14)
    assert evidence[["mean", "predictive"]].isna().all()
    assert any("the prior is improper" in note for note in found.notes)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("family", ["gaussian", "poisson", "categorical"])
def test_a_declared_class_without_rows_has_no_score_and_no_warning(family: str) -> None:
    X = RNG.poisson(3.0, (20, 2))
    model = nb.NaiveBayes(family, classes=[0, 1, 2])
    table = nb.compare_smoothing(model, X, np.arange(20) % 2).table
    assert np.isfinite(table.elpd_loo[table.smoothing > 0]).all()


def test_a_best_setting_at_an_end_of_those_tried_is_named_as_such() -> None:
    y = np.arange(60) % 2
    sure = y[:, None]
    noise = RNG.integers(0, 2, (60, 3))
    for X, end in ((sure, "smallest"), (noise, "largest")):
        found = nb.compare_smoothing(nb.CategoricalNB(), X, y, (0.5, 1, 2), ("predictive",))
        best = f"smoothing {found.best['smoothing']:g} (elpd "
        assert re.search(re.escape(best) + rf"\S+\), the {end} tried", found.verdict)
        assert "Next: predictive, smoothing 1 (" in found.verdict


def test_where_a_class_settles_no_variance_no_row_has_a_score_and_it_is_said_why() -> None:
    X = np.append(RNG.normal(size=12), 5.0)[:, None]
    y = np.append(np.arange(12) % 2, 2)
    found = nb.compare_smoothing(nb.GaussianNB(), X, y, (0, 1), ("predictive",))
    assert found.table["elpd_loo"].isna().tolist() == [True, False]
    assert found.table["accuracy"].isna().tolist() == [True, False]
    assert found.best["smoothing"] == 1
    assert any("no row has a score, because the rows of class 2" in note for note in found.notes)


def test_a_sparse_table_whose_classes_have_a_row_or_two_has_every_score() -> None:
    x = (np.random.default_rng(0).random((25, 6)) < 0.3).astype(float)
    y = np.arange(25) % 20
    tables = [
        nb.compare_smoothing(nb.BernoulliNB(), cells, y).table for cells in (x, sparse.csr_array(x))
    ]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"smoothing": ()}, "smoothing must be different finite numbers"),
        ({"smoothing": (1, -0.5)}, "0 or more, got .*-0.5"),
        ({"smoothing": (1, 1.0)}, "different"),
        ({"smoothing": ("1",)}, "'1'"),
        ({"estimates": ("mean", "mean")}, "each once"),
        ({"estimates": ("mode",)}, "mode"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nb.compare_smoothing(nb.NaiveBayes(FAMILIES), TABLE, Y, **said)
