"""The page says what public functions return, and holds what users wrote as text."""

import copy
import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.report import About, report
from tests import five_tables
from tests.parsed import Page

Columns = dict[str, Sequence[Any]]  # what cells begin with, by the title of their column
EVIL = '<script>alert("1")</script>'


class Reported:
    """A model, its rows, and its page."""

    def __init__(self, model: Any, X: Any, y: Any, **options: Any) -> None:
        self.model, self.X, self.y = model.fit(X, y), X, np.asarray(y)
        self.html = report(self.model, X, y, **options)
        self.page = Page(self.html)
        self.codes = np.searchsorted(self.model.classes_, self.y)
        self.held_out = self.model.loo_proba(X, y).values
        self.label_proba = self.held_out[np.arange(len(y)), self.codes]

    def without(self, row: int) -> Any:
        """The model of all other rows, under the same priors."""
        return copy.deepcopy(self.model).forget(self.X.iloc[[row]], self.y[[row]])


@pytest.fixture(scope="module")
def loans() -> Reported:
    return Reported(nb.NaiveBayes(), *five_tables.credit_rows(200))


@pytest.fixture(scope="module")
def birds() -> Reported:
    """Declared families, no exponents: to forget a row is to refit without it."""
    table = penguins().drop(columns="year")[::3].reset_index(drop=True)
    X = table.drop(columns="species")
    families = {name: "categorical" if X[name].dtype == object else "gaussian" for name in X}
    families |= {"island": nb.Categorical(1.0), "sex": nb.Categorical(1.0)}
    return Reported(nb.NaiveBayes(families, dependence=None, temper=None), X, table["species"])


# What the tables of the page begin with


def regress(it: Reported) -> np.ndarray:
    """Predict each row by a logistic regression of the other folds, `(r, c)`."""
    numbers = list(it.X.select_dtypes(["number", "bool"]))
    texts = list(it.X.columns.drop(numbers))
    filled = make_pipeline(StandardScaler(), SimpleImputer())
    design = make_column_transformer((filled, numbers), (OneHotEncoder(), texts))
    X = np.asarray(design.fit_transform(it.X))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(
        LogisticRegression(tol=1e-8, max_iter=1000), X, it.y, cv=folds, method="predict_proba"
    )


def scores(it: Reported) -> Columns:
    found = nb.calibration(it.model, it.X, it.y)
    fitted = it.model.predict_proba(it.X)
    regression = regress(it)
    one = np.eye(2)
    share = np.bincount(it.codes) / len(it.y)
    high = 100 * found.accuracy_upper
    low = 100 * found.accuracy_lower
    return {
        "Accuracy": [
            (100 * found.accuracy, low, high),
            100 * it.model.score(it.X, it.y),
            100 * (regression.argmax(axis=1) == it.codes).mean(),
            100 * max(share),
        ],
        "Log loss": [
            found.log_loss,
            -np.log(fitted[np.arange(len(it.y)), it.codes]).mean(),
            log_loss(it.y, regression),
            stats.entropy(share),
        ],
        "Brier score": [
            found.brier,
            ((fitted - one[it.codes]) ** 2).sum(axis=1).mean(),
            ((regression - one[it.codes]) ** 2).sum(axis=1).mean(),
            1 - (share**2).sum(),
        ],
    }


def reliability(it: Reported) -> Columns:
    found = nb.calibration(it.model, it.X, it.y)
    ends = found.top_observed, found.top_lower, found.top_upper
    return {
        "Predicted": 100 * found.top_predicted.values,
        "Observed": list(zip(*(100 * end.values for end in ends), strict=True)),
        "Rows": found.top_count.values,
    }


def confusion(it: Reported) -> Columns:
    best = it.held_out.argmax(axis=1)
    recalls = []
    taken = []
    for c, label in enumerate(it.model.classes_):
        right = ((it.y == label) & (best == c)).sum()
        rows = (it.y == label).sum()
        low, high = stats.beta(right + 0.5, rows - right + 0.5).interval(0.89)
        recalls.append((100 * right / rows, 100 * low, 100 * high))
        taken.append(f"{it.model.classes_[1 - c]} ({rows - right})" if rows > right else "")
    rows = np.bincount(it.codes)
    return {
        "Class": it.model.classes_,
        "Rows": rows,
        "Recall": recalls,
        "Most often missed as": taken,
    }


def thresholds(it: Reported) -> Columns:
    costs = np.array([0.1, 0.2, 0.5, 1, 2, 5, 10])
    p = it.held_out[:, 1]
    default = it.y == "yes"
    called = p > 1 / (1 + costs[:, None])
    missed = (default & ~called).sum(axis=1)
    alarms = (called & ~default).sum(axis=1)
    return {
        "A miss costs": costs,
        "Threshold": 100 / (1 + costs),
        "Predicted yes": called.sum(axis=1),
        "Missed": missed,
        "False alarms": alarms,
        "Recall": 100 * (1 - missed / default.sum()),
        "Cost per row": (costs * missed + alarms) / len(p),
        "Without columns": np.minimum(costs * default.mean(), 1 - default.mean()),
    }


def priors(it: Reported) -> Columns:
    terms = it.model.log_evidence_by_feature()
    return {
        "Column": list(it.X),
        "Missing": it.X.isna().sum().values,
        "Log evidence": [terms[name] for name in it.X],
    }


def overview(it: Reported) -> Columns:
    return {
        "Column": list(it.X),
        "Missing cells": 100 * it.X.isna().mean().values,
        "Distinct values": it.X.nunique().values,
    }


def importance(it: Reported) -> Columns:
    lost = nb.importance(it.model, it.X, it.y).to_frame().sort_values("importance", ascending=False)
    spans = lost[["importance", "lower", "upper"]].itertuples(index=False)
    factors = nb.relevance(it.model).log_bayes_factor.to_series()
    return {
        "Column": lost.index,
        "Importance, nats per row": [tuple(span) for span in spans],
        "Exponent": it.model.temper_[lost.index],
        "Evidence that it depends on the class": factors[lost.index],
    }


def mislabelled(it: Reported) -> Columns:
    rows = np.argsort(it.label_proba, kind="stable")[:4]
    return {"Row": rows, "Label": it.y[rows], "Probabilities": 100 * it.held_out[rows].max(axis=1)}


def uncertain(it: Reported) -> Columns:
    entropy = stats.entropy(it.held_out, axis=1)
    rows = np.argsort(-entropy, kind="stable")[:3]
    return {
        "Row": rows,
        "Label": entropy[rows],
        "Probabilities": 100 * it.held_out[rows].max(axis=1),
    }


def smoothing(it: Reported) -> Columns:
    settings = (0, 0.01, 0.1, 0.5, 1, 2, 10)
    found = nb.compare_smoothing(it.model, it.X, it.y, settings, ("predictive",)).table
    return {
        "Smoothing": settings,
        "Log score": found["elpd_loo"],
        "Difference": found["elpd_diff"],
        "Log evidence": found["log_evidence"],
        "Accuracy": 100 * found["accuracy"],
        "Brier": found["brier"],
        "Calibration error": found["ece"],
    }


def links(it: Reported) -> Columns:
    found = it.model.links_.to_frame().sort_values("log_bayes_factor", ascending=False)
    return {
        "Link": (found["first"] + " \u2192 " + found["second"]).tolist(),
        "Log Bayes factor": found["log_bayes_factor"],
        "Exponent": list(zip(found["temper"], found["temper_sd"], strict=True)),
    }


BY_FUNCTIONS: dict[str, Callable[[Reported], Columns]] = {
    "Scores, with 89 % intervals": scores,
    "Predicted probability and observed share of correct labels (89 % intervals)": reliability,
    "Recall of each class, held out": confusion,
    "Thresholds for costs of errors, held out": thresholds,
    "Columns and their priors": priors,
    "Column overview": overview,
    "Columns, the most important first": importance,
    "Rows with the least probable labels, held out": mislabelled,
    "Rows with the most uncertain label, held out": uncertain,
    "Settings of the smoothing, held out": smoothing,
    "The strongest links": links,
}


def predictions(it: Reported) -> Columns:
    """Of the rows whose labels are least probable, by refits without them."""
    columns: dict[str, list] = {"Row": [], "Probabilities": [], "Evidence": []}
    for row in np.argsort(it.label_proba, kind="stable")[:4]:
        other = it.without(row)
        cells = it.X.iloc[[row]]
        law = other.predict_interval(cells, ci_prob=0.89).isel(obs_id=0)
        best = law.isel({"class": int(law.probability.values.argmax())})
        columns["Row"].append(row)
        columns["Probabilities"].append(
            [100 * float(best[end]) for end in ("probability", "lower", "upper")]
        )
        why = other.explain(cells).isel(obs_id=0)
        a = why.sel({"class": best["class"]})
        b = why.sel({"class": it.y[row]})
        columns["Evidence"].append((a.predictive - b.predictive).values.max())
    return columns


def untypical(it: Reported) -> Columns:
    density = [it.without(row).log_density(it.X.iloc[[row]])[0] for row in range(len(it.y))]
    rows = np.argsort(density, kind="stable")[:3]
    return {"Row": rows}


BY_REFITS: dict[str, Callable[[Reported], Columns]] = {
    "Rows with the least probable labels, held out": predictions,
    "Least typical rows, held out": untypical,
}


def assert_shows(cell: str, expected: Any, where: str) -> None:
    """A cell begins with such a text, or with such numbers, rounded to the digits that it has."""
    if isinstance(expected, str):
        assert cell.split("\n")[0] == expected, where
        return
    plain = cell.replace("\u2212", "-").replace(",", "")
    found = re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?", plain)
    values = np.ravel(np.asarray(expected, float))
    if np.isfinite(values).all():
        assert len(found) >= len(values), where
        for shown, value in zip(found[: len(values)], values, strict=True):
            unit = 10.0 ** -len(shown.partition(".")[2])
            assert float(shown) == pytest.approx(value, abs=0.51 * unit), f"{where}: {cell!r}"


def assert_table(it: Reported, caption: str, columns: Columns) -> None:
    head, *rows = it.page.tables[caption]
    for title, cells in columns.items():
        place = head.index(title)
        for row, expected in zip(rows, cells, strict=False):
            assert_shows(row[place], expected, f"{title} of {row[0]}")


@pytest.mark.parametrize("caption", BY_FUNCTIONS)
def test_a_table_of_the_page_has_the_numbers_that_a_function_returns(
    loans: Reported, caption: str
) -> None:
    assert_table(loans, caption, BY_FUNCTIONS[caption](loans))


@pytest.mark.slow
@pytest.mark.parametrize("caption", BY_REFITS)
def test_a_table_of_the_page_has_the_numbers_of_refits_without_the_row(
    birds: Reported, caption: str
) -> None:
    assert_table(birds, caption, BY_REFITS[caption](birds))


@pytest.mark.slow
def test_the_parts_of_the_uncertainty_are_those_of_refits_without_the_rows(birds: Reported) -> None:
    rows = np.linspace(0, len(birds.y) - 1, 60).round().astype(int)
    parts = []
    for start in range(10):
        group = np.sort(rows[start::10])
        other = copy.deepcopy(birds.model).forget(birds.X.iloc[group], birds.y[group])
        parts.append(other.uncertainty(birds.X.iloc[group]).to_frame())
    mean = pd.concat(parts)[["entropy", "aleatoric", "epistemic"]].mean()
    (sentence,) = re.findall(r"Of a mean uncertainty of .*?\.\s", birds.page.text)
    assert_shows(sentence, [mean["entropy"], mean["aleatoric"]], "uncertainty")


def test_calls_and_code_on_the_page_do_what_they_say(loans: Reported) -> None:
    there = {"model": loans.model, "X": loans.X} | {name: getattr(nb, name) for name in nb.__all__}
    decide = re.search(r"model\.decide\(X, loss=\{.*?\}\)", loans.page.text)
    assert decide
    at = loans.model.predict_proba(loans.X)[:, 1] > 1 / 6
    np.testing.assert_array_equal(eval(decide[0], there)["action"] == "yes", at)
    assert (
        f"with probability {roc_auc_score(loans.y == 'yes', loans.held_out[:, 1]):.3f}"
        in loans.page.text
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        nb.NaiveBayes({"kind": nb.Categorical(nb.Dirichlet([0.5, 1.0])), "flag": None}, temper=0.7),
        nb.NaiveBayes({("a", "b"): nb.Gaussian(nb.NormalInverseGamma(4.0, 1.0, 2.0, 9.0))}),
        nb.NaiveBayes(class_prior={"u": 0.5, "v": 0.5}),
        nb.NaiveBayes(class_prior=nb.Dirichlet([1.0, 2.0]), estimate="mean", n_jobs=1),
    ],
)
def test_the_code_on_the_page_makes_the_same_model(model: nb.NaiveBayes) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["u", "v"] * 30)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(flag=y == "u")
    X["kind"] = rng.choice(["m", "n"], 60)
    html = report(model, X, y, brief=True)
    (call,) = re.findall(r"(NaiveBayes\(.*?)\.fit\(X, y\)\s*html =", Page(html).text)
    again = eval(call, {name: getattr(nb, name) for name in nb.__all__})
    proba = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), proba)


# What kind of document it is


def test_the_page_loads_nothing_and_runs_its_own_style_and_script_alone(loans: Reported) -> None:
    html = loans.html
    page = loans.page
    assert not page.open
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    names = ("src", "href", "xlink:href", "srcset", "data")
    assert all(value.startswith("#") for _, name, value in page.attributes if name in names)
    assert all(target == "#" for target in re.findall(r"url\(['\"]?(.)", html))
    (policy,) = [
        value for _, name, value in page.attributes if name == "content" and "default-src" in value
    ]
    assert policy.startswith("default-src 'none'")
    assert len(html.encode()) < 500_000
    assert "nan" not in page.text.lower().split()


def test_the_page_can_be_read_aloud(loans: Reported) -> None:
    html = loans.html
    page = loans.page
    levels = [int(level) for level in re.findall(r"<h(\d)", html)]
    assert levels[0] == 1
    assert max(np.diff(levels)) == 1
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', html)) <= set(ids)
    assert page.tags.count("table") == page.tags.count("caption") > 8
    assert not re.search(r"<th(?! scope=)(?!ead)", html)
    figures = re.findall(r"<figure[^>]*>(?:<figcaption>.*?</figcaption>)?<svg ([^>]*)>", html)
    assert len(figures) == page.tags.count("figure") > 8
    assert all('role="img"' in figure and 'aria-label="' in figure for figure in figures)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_every_colour_of_text_can_be_read_on_every_ground(loans: Reported) -> None:
    assert luminance("#ffffff") == pytest.approx(1)
    (style,) = re.findall(r"<style>(.*?)</style>", loans.html, flags=re.DOTALL)
    roots = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    light, dark, *_, paper = (dict(re.findall(r"--(\w+): (#\w{6})", root)) for root in roots)
    for theme in (light, dark, light | paper):
        for front, ground in product(("ink", "quiet", "accent"), ("paper", "wash")):
            low, high = sorted(luminance(theme[name]) for name in (front, ground))
            assert (high + 0.05) / (low + 0.05) >= 4.5, f"{front} on {ground}"


def hostile() -> tuple[nb.NaiveBayes, pd.DataFrame, np.ndarray]:
    """Every family, every odd column, and names, levels and labels that are markup or endless."""
    rng = np.random.default_rng(1)
    rows = 90
    k = rng.integers(0, 3, rows)
    X = pd.DataFrame(
        {
            EVIL: rng.normal(k, 1),
            "$x^$": np.array([EVIL, "</svg>", "y" * 9_000])[rng.integers(0, 3, rows)],
            '"><img src=x onerror=alert(1)>': rng.random(rows) < 0.5,
            "count & more": rng.poisson(3 + k),
            "'w1'": rng.poisson(2, rows),
            "<w2>": rng.poisson(2, rows),
            "nothing": np.nan,
            "x" * 9_000: 1.0,
            "cut": rng.random(rows),
        }
    )
    families = {
        "count & more": nb.Poisson(),
        ("'w1'", "<w2>"): nb.Multinomial(),
        "cut": nb.Bernoulli(threshold=0.5),
    }
    return nb.NaiveBayes(families), X, np.array([EVIL, "\u05d0\u05d1\u05d2", 'quo"te' * 900])[k]


@pytest.mark.slow
def test_what_users_wrote_stays_text_and_endless_names_are_cut() -> None:
    about = About(label=EVIL, source=EVIL, notes=(EVIL,), command=EVIL, date=EVIL)
    html = report(*hostile(), about=about, title=EVIL, author='"><b>', use=EVIL)
    page = Page(html)
    assert not page.open
    assert "img" not in page.tags
    assert page.tags.count("script") == 1
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert EVIL in page.text
    assert "\u2068\u05d0\u05d1\u05d2\u2069" in html  # isolates
    for endless in ("x" * 700, "y" * 700, 'quo"te' * 120):
        assert endless not in page.text


ODD: dict[str, tuple] = {
    "one class": (nb.GaussianNB(), [[1.0], [2.0], [4.0]], [1, 1, 1]),
    "a class without rows": (
        nb.NaiveBayes(classes=["a", "b", "c"]),
        [[1.0], [2.0], [3.0]],
        ["a", "a", "b"],
    ),
    "one row": (nb.NaiveBayes(), [[1.0]], ["a"]),
    "a smoothing of zero": (
        nb.NaiveBayes({0: nb.Categorical(0.0)}),
        np.array([["x"], ["y"], ["x"], ["z"]], object),
        list("aabb"),
    ),
    "an improper prior": (
        nb.GaussianNB(prior=nb.NormalInverseGamma(0, 0, -0.5, 0)),
        np.random.default_rng(0).normal(size=(24, 2)),
        np.arange(24) < 2,
    ),
    "a text without a word": (
        nb.MultinomialNB(),
        sparse.csr_array(
            np.random.default_rng(0).poisson(0.3, (30, 6)) * (np.arange(30) > 1)[:, None]
        ),
        np.arange(30) % 2,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD.values(), ids=ODD)
def test_odd_models_have_a_page(case: tuple) -> None:
    html = report(*case)
    page = Page(html)
    assert not page.open
    assert not re.search(r"\bnan\b", page.text.lower())
    assert len(html) < 3_000_000


@pytest.mark.slow
def test_a_test_table_is_scored_by_the_model_of_the_other_rows() -> None:
    X, y = five_tables.penguin_rows()
    train = np.arange(len(X)) % 3 > 0
    model = nb.NaiveBayes()
    other = X[~train], np.random.default_rng(0).permutation(y[~train])
    page = Page(report(model, X[train], y[train], test=other, brief=True))
    assert not hasattr(model, "classes_")
    accuracy = nb.NaiveBayes().fit(X[train], y[train]).score(*other)
    assert_shows(page.tables["Scores, with 89 % intervals"][1][1], 100 * accuracy, "test table")
    assert "Labels: no better than guessing" in page.text
    assert "Labels: good." in page.text


def test_an_interval_has_the_probability_that_was_asked_for() -> None:
    X, y = five_tables.penguin_rows()
    page = Page(report(nb.GaussianNB(), X.iloc[:, 1:3], y, ci_prob=0.99, brief=True))
    assert "Scores, with 99 % intervals" in page.tables


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": [[1.0], [2.0], [5.0], [7.0]]}, "not among those that the model was fitted to"),
        ({"ci_prob": 2}, "ci_prob"),
        ({"positive": "worse"}, "is not one of two classes. The classes are bad, good"),
    ],
)
def test_what_has_no_page_is_an_error_that_says_why(changes: dict[str, Any], words: str) -> None:
    X = [[1.0], [2.0], [3.0], [4.0]]
    y = ["bad", "good", "bad", "good"]
    given = {"model": nb.GaussianNB().fit(X, y), "X": X, "y": y} | changes
    with pytest.raises(ValueError, match=words):
        report(**given)


@pytest.mark.slow
def test_ranks_are_about_the_class_that_is_named() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 5 == 0, "bad", "good")
    X = rng.normal(size=(60, 2)) + 1.0 * (y == "bad")[:, None]
    model = nb.GaussianNB().fit(X, y)
    page = Page(report(model, X, y, positive="good"))  # by default it is the rarer one
    area = roc_auc_score(y == "good", model.loo_proba(X, y).sel({"class": "good"}))
    assert "A row of class good ranks above" in page.text
    assert f"with probability {area:.3f}" in page.text


def test_a_page_is_saved_whole_or_not_at_all(loans: Reported, tmp_path: Path) -> None:
    path = loans.html.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == loans.html
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        loans.html.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="make it first"):
        loans.html.save(tmp_path / "nowhere" / "page.html")
    assert list(tmp_path.iterdir()) == [path]
    assert loans.html._repr_html_().count("<") == 2  # a frame, whose source is an attribute
