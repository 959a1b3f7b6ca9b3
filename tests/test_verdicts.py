"""What the page concludes and advises is true of the numbers beside it: a table for each verdict, and one beside it."""

import re
import shlex
import time
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesnb as nb
from bayesnb.cli.column_families import declared
from bayesnb.cli.messages import CommandLineAdvice
from bayesnb.cli.option_values import family
from bayesnb.report import About, Facts, gather, render, section
from bayesnb.report.facts.left_out_rows import chosen, uncertainties, with_intervals
from bayesnb.report.remedies import InPython
from bayesnb.report.sections.checks import CHECKS, Check
from bayesnb.report.sections.uncertainty_parts import verdict
from tests.parsed import Page

ROWS = 300


@cache
def repeated(times: int, gap: float = 1.5, rows: int = ROWS) -> Facts:
    """One column that differs between two classes, so many times over."""
    rng, y = np.random.default_rng(5), np.arange(rows) % 2
    x = rng.normal(gap * y, 1.0)
    return gather(nb.GaussianNB(), np.tile(x[:, None], times) + 1e-3 * rng.normal(size=(rows, times)), y)


@cache
def flipped(labels: int) -> Facts:
    """Two classes far apart, and labels that are wrong."""
    rng, y = np.random.default_rng(1), np.arange(1000) % 2
    x = rng.normal(12.0 * y, 1.0)[:, None]
    return gather(nb.GaussianNB(), x, np.where(np.arange(1000) < labels, 1 - y, y))


@cache
def rare(times: int) -> Facts:
    """One class in ten rows, and one column that hardly differs, so many times over."""
    rng, y = np.random.default_rng(5), (np.arange(400) % 10 == 0).astype(int)
    x = rng.normal(0.7 * y, 1.0)
    return gather(nb.GaussianNB(), np.tile(x[:, None], times) + 1e-3 * rng.normal(size=(400, times)), y)


def accuracy(facts: Facts) -> float:
    return float((facts.left_out.argmax(axis=1) == facts.codes).mean())


def log_loss(facts: Facts) -> float:
    return float(-facts.label_log_proba.mean())


def blind(facts: Facts) -> float:
    """Log loss of the classes' shares."""
    return float(-np.log((facts.counts / facts.counts.sum())[facts.codes]).mean())


def elpd_gain(facts: Facts) -> tuple[float, float]:
    """What temper="loo" gives by `loo`, and its standard error."""
    tempered = nb.GaussianNB(temper="loo").fit(facts.X, facts.y).loo(facts.X, facts.y).elpd_i
    gain = np.asarray(tempered) - facts.label_log_proba
    return float(gain.sum()), float(np.sqrt(len(gain) * gain.var(ddof=1)))


def tempered(facts: Facts) -> float:
    """Log loss with temper="loo"."""
    return log_loss(facts) - elpd_gain(facts)[0] / len(facts.codes)


Made = Callable[[], Facts]
True_ = Callable[[Facts], bool]
VERDICTS: dict[str, tuple[Callable[[Facts], str], Made, Made, True_]] = {
    "The labels are better than guessing, the probabilities are not": (
        "scores",
        lambda: repeated(12),
        lambda: repeated(1),
        lambda own: accuracy(own) > 0.6 and log_loss(own) > blind(own),
    ),
    "The probabilities are too extreme": (
        "scores",
        lambda: repeated(12),
        lambda: repeated(1),
        lambda own: np.exp(own.left_out.max(axis=1)).mean() > accuracy(own) + 0.1,
    ),
    "the columns remove": (
        "scores",
        lambda: repeated(1),
        lambda: repeated(1, gap=0.0),
        lambda own: log_loss(own) < blind(own) - 0.05,
    ),
    "The columns do not visibly help: held out, the log loss of": (
        "scores",
        lambda: repeated(1, gap=0.0),
        lambda: repeated(1),
        lambda own: abs(log_loss(own) - blind(own)) < 0.02 and accuracy(own) < 0.56,
    ),
    "The probabilities do not help as they stand": (
        "scores",
        lambda: rare(4),
        lambda: repeated(12),
        lambda own: accuracy(own) <= own.counts.max() / own.counts.sum() and log_loss(own) > blind(own) > tempered(own),
    ),
    "may help, but the rows are too few to tell": (
        "scores",
        lambda: repeated(1, gap=0.6, rows=50),
        lambda: repeated(1, gap=0.0),
        lambda own: log_loss(own) < blind(own) - 0.01 and len(own.codes) == 50,
    ),
    "harmful as they stand": (
        "scores",
        lambda: repeated(40, gap=0.0),
        lambda: repeated(1, gap=0.0),
        lambda own: log_loss(own) > blind(own) + 0.05 and accuracy(own) < 0.56,
    ),
    "which raises the evidence of the columns to the power": (
        "reliability",
        lambda: repeated(6),
        lambda: repeated(1),
        lambda own: elpd_gain(own)[0] > 2 * elpd_gain(own)[1],
    ),
    "would make no clear difference": (
        "dependence",
        lambda: repeated_slightly(),
        lambda: repeated(6),
        lambda own: elpd_gain(own)[0] < 2 * elpd_gain(own)[1],
    ),
    "can be trusted, as far as 900 rows can tell": (
        "reliability",
        lambda: repeated(1, rows=900),
        lambda: flipped(3),
        lambda own: -own.label_log_proba.mean() < 1.1 * own.held_out.entropy.mean(),
    ),
    "The model understates its uncertainty": (
        "uncertainty",
        lambda: repeated(6),
        lambda: repeated(1),
        lambda own: -own.label_log_proba.mean() > 1.5 * own.held_out.entropy.mean(),
    ),
}


@cache
def repeated_slightly() -> Facts:
    """Columns that depend on each other, and say next to nothing about the class twice."""
    rng, y = np.random.default_rng(3), np.arange(ROWS) % 2
    both = rng.normal(size=ROWS)
    X = np.column_stack([both + rng.normal(2.0 * y, 1.0), -both + rng.normal(0.0 * y, 1.0)])
    return gather(nb.GaussianNB(), X, y)


@pytest.mark.parametrize("words", VERDICTS)
def test_a_verdict_is_given_where_it_is_true_and_not_beside_it(words: str) -> None:
    name, fires, near, true = VERDICTS[words]
    there, beside = fires(), near()
    assert words in Page(section(name, there)).text
    assert true(there)
    assert words not in Page(section(name, beside)).text
    assert not true(beside)


def test_what_a_temper_gives_is_computed() -> None:
    facts = repeated(6)
    said = Page(section("dependence", facts)).text
    models = [nb.GaussianNB(temper=temper) for temper in (None, "loo")]
    found = [nb.calibration(model, facts.X, facts.y) for model in models]
    changed = (found[0].probability.values.argmax(axis=1) != found[1].probability.values.argmax(axis=1)).sum()
    assert f"log loss goes from {float(found[0].log_loss):.3f} to {float(found[1].log_loss):.3f}" in said
    assert f"from {100 * float(found[0].accuracy):.1f} % to {100 * float(found[1].accuracy):.1f} %" in said
    assert f"changes for {changed} row" in said
    assert "hardly changes" not in said


SHARES = {  # of uncertainty that would go away, row by row; rows of the table; what is concluded
    "The classes overlap:": ([0.02, 0.05, 0.03], 3),
    "Mostly, the classes overlap": ([0.2, 0.3, 0.25], 3),
    "The model has seen too few rows": ([0.7, 0.6, 0.8], 3),
    "The rows are too few to tell which part dominates": ([0.02, 0.3, 0.01], 1000),
    "There is next to no uncertainty": ([0.02, 0.05, 0.03], 3),
}


@pytest.mark.parametrize("words", SHARES)
def test_what_the_uncertainty_is_made_of_is_concluded_from_as_many_rows_as_that_takes(words: str) -> None:
    shares, rows = SHARES[words]
    size = 1e-4 if "no uncertainty" in words else 0.5
    parts = {"entropy": np.full(3, size), "epistemic": size * np.array(shares)}
    parts["aleatoric"] = parts["entropy"] - parts["epistemic"]
    found = xr.Dataset({name: ("obs_id", values) for name, values in parts.items()})
    said = {each: words in " ".join(verdict(found, SimpleNamespace(codes=np.zeros(each)))) for each in (rows, 10**6)}
    assert said[rows]
    if words == "Mostly, the classes overlap":
        assert said[10**6], "all three rows agree, so of a larger table they say the same"


def check(name: str, facts: Facts) -> Check:
    return next(each for each in CHECKS if each.__name__ == name)(facts)


def spread_of(gap: float, factor: float, advice: Any = None) -> Facts:
    """Two columns whose classes have means so far apart, and standard deviations of such a ratio."""
    rng, y = np.random.default_rng(0), np.arange(ROWS) % 2
    X = pd.DataFrame({name: rng.normal(gap * y, factor**y) for name in ("a", "b")})
    return gather(nb.NaiveBayes(), X, y, about=About(advice=advice))


def test_a_parameter_at_the_end_is_said_of_itself_not_of_the_columns() -> None:
    equal, unequal = spread_of(3.0, 1.0), spread_of(3.0, 8.0)
    assert equal.features.ranked[0].log_bayes_factor > 50
    one = check("boundary", equal)
    assert "shape 1e+08, as good as infinite, as the classes' variances differ no more than chance" in one.what
    assert "classes differ no more" not in one.what
    assert "families={'a': Gaussian(shared=True), 'b': Gaussian(shared=True)}" in one.advice
    assert "--family a,b=gaussian:shared" in check("boundary", spread_of(3.0, 1.0, CommandLineAdvice())).advice.replace(
        "'", ""
    )
    assert "variances differ no more" not in check("boundary", unequal).what
    y, grid = np.repeat([0, 1], 30), np.tile(np.arange(30) - 14.5, 2)
    means = check("boundary", gather(nb.GaussianNB(), (grid * 8.0**y)[:, None], y)).what
    assert "count 1e+08, as good as infinite, as the classes' means differ no more than chance" in means
    assert "variances differ no more" not in means
    rates = gather(nb.PoissonNB(), np.tile(np.arange(6.0), 10)[:, None], y)
    assert "rates differ no more than chance" in check("boundary", rates).what
    assert "variance" not in check("boundary", rates).what + check("boundary", rates).advice


def advised(facts: Facts) -> bool:
    return bool(np.isfinite(facts.label_log_proba).all())


@pytest.mark.parametrize(
    ("model", "words", "mended"),
    [
        (nb.CategoricalNB(class_prior="empirical"), "class_prior=1.0 gives", nb.CategoricalNB(class_prior=1.0)),
        (nb.CategoricalNB(alpha=0), "Use a smoothing above 0", nb.CategoricalNB(alpha=0.1)),
        (nb.CategoricalNB(estimate="mle"), "estimate='predictive' with", nb.CategoricalNB(estimate="predictive")),
    ],
    ids=["class prior", "smoothing", "maximum likelihood"],
)
def test_what_is_advised_against_impossible_rows_makes_them_possible(model: Any, words: str, mended: Any) -> None:
    X, y = np.array([0, 1, 0, 1, 2, 0])[:, None], np.array([0, 0, 0, 1, 1, 1])
    if model.class_prior == "empirical":
        y = np.array([0, 0, 0, 1, 1, 2])
    facts = gather(model, X, y)
    assert not advised(facts)
    assert words in check("impossible", facts).advice
    assert words in Page(section("scores", facts)).text
    assert advised(gather(mended, X, y))


def test_a_class_without_cells_in_a_column_is_not_told_apart_by_it() -> None:
    y = np.repeat([0, 1, 2], 40)
    X = pd.DataFrame({"x": np.where(y < 2, 10.0 * y, np.nan) + np.random.default_rng(0).normal(size=120)})
    assert "all classes" not in check("separated", gather(nb.NaiveBayes(), X, y)).what
    X["x"] = X["x"].fillna(99.0)
    assert "all classes" in check("separated", gather(nb.NaiveBayes(), X, y)).what


def test_columns_of_words_are_not_said_to_have_been_looked_at() -> None:
    X, y = np.array([[3, 0, 1], [2, 0, 2], [0, 0, 4], [1, 0, 5]]), np.array([0, 0, 1, 1])
    facts = gather(nb.MultinomialNB(), X, y)
    assert {check(name, facts).state for name in ("empty", "separated", "identifiers")} == {"not done"}


def test_names_of_rows_do_not_hide_that_new_rows_bring_new_levels() -> None:
    y = np.arange(200) % 2
    X = pd.DataFrame({"id": [f"n{i}" for i in range(200)], "place": [f"p{i}" if i < 40 else "q" for i in range(200)]})
    assert "place (20" in check("new_levels", gather(nb.NaiveBayes(), X, y)).what
    only = check("new_levels", gather(nb.NaiveBayes(), X.assign(place="q"), y))
    assert only.state == "ok"
    assert "identifiers and columns that reserve a level aside" in only.what


def test_a_prior_that_matters_by_itself_is_not_said_to_hardly_matter() -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    X = pd.DataFrame({"x": rng.normal(y, 1.0, 60), "z": rng.normal(y, 1.0, 60)})
    facts = gather(nb.NaiveBayes(), X, y)
    own = facts.comparisons.sensitivity
    every = [change.largest for both in (own.columns, own.classes, *(each for _, each in own.alone)) for change in both]
    said = re.search(r"by (?:more than|up to) ([\d.]+) percentage points", Page(section("sensitivity", facts)).text)
    assert float(said[1]) == pytest.approx(100 * max(every), abs=0.051)


def named() -> tuple[pd.DataFrame, np.ndarray]:
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    return pd.DataFrame({"it's, an id": [f"n{i}" for i in range(60)], "x": rng.normal(y, 1.0, 60)}), y


def test_code_that_drops_a_column_drops_it() -> None:
    X, y = named()
    for model in (nb.NaiveBayes(), nb.NaiveBayes({"x": nb.Gaussian()})):
        advice = check("identifiers", gather(model, X, y)).advice
        found = eval(re.search(r"\{.*\}", advice)[0])
        assert found == {"it's, an id": None}
        whole = dict(model.families) | found if isinstance(model.families, dict) else found
        assert list(nb.NaiveBayes(whole).fit(X, y).families_) == ["x"]


def test_presets_which_take_no_families_are_not_advised_to() -> None:
    y = np.arange(60) % 2
    coded = np.column_stack([np.arange(60), np.arange(60) % 3])
    facts = gather(nb.CategoricalNB(), coded, y)
    advice = check("identifiers", facts).advice
    assert "out of X: column 0" in advice
    assert "families" not in advice
    assert InPython(nb.GaussianNB()).declare(["a"], "gaussian:shared").startswith("NaiveBayes(families=")


def test_options_that_are_advised_are_options_and_mean_these_columns() -> None:
    X, y = named()
    facts = gather(nb.NaiveBayes(), X, y, about=About(advice=CommandLineAdvice()))
    advice = check("identifiers", facts).advice
    assert "families=" not in advice
    _, value = shlex.split(advice[advice.index("--family") :].removesuffix("."))
    assert declared(list(X.columns), [family(value)]) == {"it's, an id": ("drop", 0)}
    blocks = CommandLineAdvice().declare(["u", "v"], "multivariate")
    assert family(shlex.split(blocks)[1]) == (("u", "v"), "multivariate")


@pytest.mark.slow
def test_a_page_made_by_the_command_line_advises_in_options() -> None:
    facts = repeated(6)
    by_options = gather(nb.GaussianNB(), facts.X, facts.y, about=About(advice=CommandLineAdvice()))
    for name in ("scores", "reliability", "dependence"):
        assert "temper='loo'" not in Page(section(name, by_options)).text
        assert "--temper loo" not in Page(section(name, facts)).text
        assert "--temper loo" in Page(section(name, by_options)).text


def levelled(levels: int, classes: int = 2, rows: int = 400, **how: Any) -> Facts:
    """A column of numbers, and two of so many levels."""
    rng, y = np.random.default_rng(0), np.arange(rows) % classes
    table = {f"level {j}": [f"l{i % levels}" for i in range(rows)] for j in range(2)}
    return gather(nb.NaiveBayes(**how), pd.DataFrame(table | {"x": rng.normal(y, 1.0, rows)}), y)


def test_as_many_rows_are_asked_for_their_uncertainty_however_many_levels_a_column_has() -> None:
    """A row is asked for the levels that it has: it once took longer the more others there were."""
    asked = [len(chosen(levelled(levels))[1]) for levels in (3, 40, 400)]
    assert asked[0] == asked[1] == asked[2] > 10


@pytest.mark.slow
def test_levels_count_where_the_uncertainty_of_a_row_must_be_drawn() -> None:
    """Three classes share which columns matter: 3 columns of 400 levels took 16 s of 40 rows."""
    tables = [levelled(levels, classes=3, average_features=0.5) for levels in (3, 120, 200, 400)]
    asked = [len(chosen(facts)[1]) for facts in tables]
    assert 40 == asked[0] > asked[1] > asked[2] > asked[3] == 0
    assert [with_intervals(facts) > 0 for facts in (tables[0], levelled(400, classes=9, average_features=0.5))] == [
        True,
        False,
    ]
    assert "it takes too long" in Page(section("uncertainty", tables[-1])).text


@pytest.mark.slow
def test_a_page_about_names_and_dates_takes_seconds() -> None:
    """Of 400 rows with a date, an identifier and a text: 65 seconds of a processor where levels are not counted."""
    rng, y = np.random.default_rng(0), np.arange(400) % 2
    X = pd.DataFrame({name: [f"{name} {i}" for i in range(400)] for name in ("date", "id", "text")})
    X["size"] = rng.normal(y, 1.0, 400)
    render(gather(nb.NaiveBayes(), X, y))  # once to compile
    start = time.process_time()
    render(gather(nb.NaiveBayes(), X, y))
    assert time.process_time() - start < 30


@pytest.mark.slow
def test_the_error_of_draws_is_told_where_there_are_draws_and_not_beside_it() -> None:
    drawn, computed = levelled(3, classes=3, rows=60, average_features=0.5), levelled(3, rows=60)
    share = uncertainties(drawn).attrs["drawn_error"]
    assert share > 0
    assert "drawn" in Page(section("uncertainty", drawn)).text
    assert "drawn_error" not in uncertainties(computed).attrs
    assert "drawn" not in Page(section("uncertainty", computed)).text
