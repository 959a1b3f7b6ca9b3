"""What the page concludes and advises is true of the numbers: a table for each, and one beside."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesnb as nb
from bayesnb.report import Facts, gather, section
from bayesnb.report.checks import Check, run_checks
from tests.parsed import Page

ROWS = 300


@cache
def repeated(times: int, gap: float = 1.5, rows: int = ROWS) -> Facts:
    """One column that differs between two classes, so many times over."""
    rng = np.random.default_rng(5)
    y = np.arange(rows) % 2
    x = rng.normal(gap * y, 1.0)
    return gather(
        nb.GaussianNB(), np.tile(x[:, None], times) + 1e-3 * rng.normal(size=(rows, times)), y
    )


@cache
def flipped(labels: int) -> Facts:
    """Two classes far apart, and labels that are wrong."""
    rng = np.random.default_rng(1)
    y = np.arange(1000) % 2
    x = rng.normal(12.0 * y, 1.0)[:, None]
    return gather(nb.GaussianNB(), x, np.where(np.arange(1000) < labels, 1 - y, y))


def accuracy(facts: Facts) -> float:
    return float((facts.left_out.argmax(axis=1) == facts.codes).mean())


def log_loss(facts: Facts) -> float:
    return float(-facts.label_log_proba.mean())


def blind(facts: Facts) -> float:
    """Log loss of the classes' shares."""
    return float(-np.log((facts.counts / facts.counts.sum())[facts.codes]).mean())


def entropy(facts: Facts) -> float:
    """Log loss that the held-out probabilities expect."""
    return float(stats.entropy(np.exp(facts.left_out), axis=1).mean())


def elpd_gain(facts: Facts) -> tuple[float, float]:
    """What temper="loo" gives by `loo`, and its standard error."""
    tempered = nb.GaussianNB(temper="loo").fit(facts.X, facts.y).loo(facts.X, facts.y).elpd_i
    gain = np.asarray(tempered) - facts.label_log_proba
    return float(gain.sum()), float(np.sqrt(len(gain) * gain.var(ddof=1)))


Made = Callable[[], Facts]
True_ = Callable[[Facts], bool]
VERDICTS: dict[str, tuple[Callable[[Facts], str], Made, Made, True_]] = {
    "which raises the evidence of the columns to the power": (
        "reliability",
        lambda: repeated(6),
        lambda: repeated(1),
        lambda own: elpd_gain(own)[0] > 2 * elpd_gain(own)[1],
    ),
    "Judging by 900 rows, the probabilities can be trusted": (
        "reliability",
        lambda: repeated(1, rows=900),
        lambda: flipped(3),
        lambda own: -own.label_log_proba.mean() < 1.1 * entropy(own),
    ),
    "The model understates its uncertainty": (
        "uncertainty",
        lambda: repeated(6),
        lambda: repeated(1),
        lambda own: -own.label_log_proba.mean() > 1.5 * entropy(own),
    ),
}


@pytest.mark.parametrize("words", VERDICTS)
def test_a_verdict_is_given_where_it_is_true_and_not_beside_it(words: str) -> None:
    name, fires, near, true = VERDICTS[words]
    there = fires()
    beside = near()
    assert words in Page(section(name, there)).text
    assert true(there)
    assert words not in Page(section(name, beside)).text
    assert not true(beside)


def check(name: str, facts: Facts) -> Check:
    return next(each for each in run_checks(facts) if each.name == name)


def advised(facts: Facts) -> bool:
    return bool(np.isfinite(facts.label_log_proba).all())


@pytest.mark.parametrize(
    ("model", "words", "mended"),
    [
        (
            nb.CategoricalNB(class_prior="empirical"),
            "class_prior=1.0 gives",
            nb.CategoricalNB(class_prior=1.0),
        ),
        (nb.CategoricalNB(alpha=0), "Use a smoothing above 0", nb.CategoricalNB(alpha=0.1)),
        (
            nb.CategoricalNB(estimate="mle"),
            "estimate='predictive' with",
            nb.CategoricalNB(estimate="predictive"),
        ),
    ],
    ids=["class prior", "smoothing", "maximum likelihood"],
)
def test_what_is_advised_against_impossible_rows_makes_them_possible(
    model: Any, words: str, mended: Any
) -> None:
    X = np.array([0, 1, 0, 1, 2, 0])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1])
    if model.class_prior == "empirical":
        y = np.array([0, 0, 0, 1, 1, 2])
    facts = gather(model, X, y)
    assert not advised(facts)
    assert words in check("Impossible labels", facts).advice
    assert words in Page(section("scores", facts)).text
    assert advised(gather(mended, X, y))


def test_a_class_without_cells_in_a_column_is_not_told_apart_by_it() -> None:
    y = np.repeat([0, 1, 2], 40)
    X = pd.DataFrame(
        {"x": np.where(y < 2, 10.0 * y, np.nan) + np.random.default_rng(0).normal(size=120)}
    )
    assert (
        "all classes"
        not in check("Columns that separate classes perfectly", gather(nb.NaiveBayes(), X, y)).what
    )
    X["x"] = X["x"].fillna(99.0)
    assert (
        "all classes"
        in check("Columns that separate classes perfectly", gather(nb.NaiveBayes(), X, y)).what
    )
