"""The page says what is true, is safe to open, and needs nothing else."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb as nb
from bayesnb.datasets import dogs, penguins
from bayesnb.report import About, gather, render, report, section
from bayesnb.report.sections import BRIEF, SECTIONS
from tests.conftest import plainly
from tests.parsed import Page
from tests.test_report_rows import without

EVIL = '<script>alert("1")</script>'


def split(table: pd.DataFrame, label: str) -> tuple[pd.DataFrame, pd.Series]:
    return table.drop(columns=label), table[label]


@pytest.fixture(scope="module")
def birds() -> tuple[nb.NaiveBayes, pd.DataFrame, pd.Series]:
    X, y = split(penguins().drop(columns="year"), "species")
    return nb.NaiveBayes().fit(X, y), X, y


ABOUT = About(label="species", source="penguins", command="bayesnb report")


@pytest.fixture(scope="module")
def page(birds: tuple) -> str:
    return report(*birds, about=ABOUT)


def hostile() -> tuple[nb.NaiveBayes, pd.DataFrame, np.ndarray]:
    """Every family, every odd column, and names that are markup."""
    rng, rows = np.random.default_rng(1), 90
    k = rng.integers(0, 3, rows)
    X = pd.DataFrame(
        {
            EVIL: rng.normal(k, 1),
            "$x^$": np.array([EVIL, "</svg>", "$_$"])[rng.integers(0, 3, rows)],
            '"><img src=x onerror=alert(1)>': rng.random(rows) < 0.5,
            "count & more": rng.poisson(3 + k),
            "'w1'": rng.poisson(2, rows),
            "<w2>": rng.poisson(2, rows),
            "nothing": np.full(rows, np.nan),
            "constant": np.ones(rows),
            "cut": rng.random(rows),
        }
    )
    families = {
        "count & more": nb.Poisson(),
        ("'w1'", "<w2>"): nb.Multinomial(),
        "cut": nb.Bernoulli(threshold=0.5),
    }
    return nb.NaiveBayes(families), X, np.array([EVIL, "b & c", 'quo"te'])[k]


def test_the_page_has_its_sections_in_order(page: str) -> None:
    titles = re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert titles == [
        "How good are the predictions?",
        "Can the probabilities be trusted?",
        "Confusion matrix",
        "Warnings and checks",
        "Model and priors",
        "Column overview",
        "What does each column contribute?",
        "Where does the uncertainty come from?",
        "Rows to look at",
        "Effect of smoothing",
        "Dependence between columns",
        "Sensitivity to priors",
        "Model card",
        "How this page was made",
    ]
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert max(np.diff(levels)) == 1


def test_the_page_loads_nothing_and_runs_its_own_script_only(page: str) -> None:
    seen = Page(page)
    assert not seen.open
    assert not {"link", "img", "iframe", "object", "embed"} & set(seen.tags)
    assert seen.tags.count("script") == 1
    loads = [value for _, name, value in seen.attributes if name in ("src", "href", "xlink:href", "srcset", "data")]
    assert loads
    assert all(value.startswith("#") for value in loads)
    assert all(target == "#" for target in re.findall(r"url\(['\"]?(.)", page))
    assert "@import" not in page


def test_the_page_of_the_penguins_is_small(page: str) -> None:
    assert len(page.encode()) < 500_000


@pytest.mark.slow
def test_gathering_and_writing_make_the_same_page_every_time() -> None:
    X, y = split(penguins()[["species", "bill_length_mm", "sex"]][::9], "species")
    model = nb.NaiveBayes().fit(X, y)
    assert render(gather(model, X, y, None, ABOUT)) == report(model, X, y, about=ABOUT)


def test_every_figure_says_what_it_is_and_every_id_is_unique(page: str) -> None:
    figures = re.findall(r"<figure[^>]*>(?:<figcaption>.*?</figcaption>)?<svg ([^>]*)>", page)
    assert len(figures) == page.count("<figure") == 18
    assert all('role="img"' in figure and 'aria-label="' in figure for figure in figures)
    assert sum('aria-label="Predictive' in figure for figure in figures) == 6
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)


def test_every_table_has_a_caption_and_scoped_headers(page: str) -> None:
    tables = re.findall(r"<table.*?</table>", page, flags=re.DOTALL)
    assert len(tables) > 8
    assert all("<caption>" in table for table in tables)
    assert not re.search(r"<th(?! scope=)(?!ead)", page)


@pytest.fixture(scope="module")
def odd() -> Page:
    about = About(label=EVIL, source=EVIL, notes=(EVIL,), command=EVIL, date=EVIL)
    return Page(report(*hostile(), about=about))


def test_names_that_are_markup_stay_text(odd: Page) -> None:
    assert not odd.open
    assert "img" not in odd.tags
    assert odd.tags.count("script") == 1
    assert not [name for _, name, _ in odd.attributes if name.startswith("on")]
    assert EVIL in odd.text
    assert 'quo"te' in odd.text


def test_a_model_of_every_family_has_a_picture_or_a_table_of_each(odd: Page) -> None:
    figures = [value for tag, name, value in odd.attributes if tag == "svg" and name == "aria-label"]
    assert sum(said.startswith("Predictive") for said in figures) == 7
    assert sum(said.startswith("Words") for said in figures) == 3
    assert odd.tables["Words and how many times as often, 89 % intervals"]


def scores_on(page: str) -> dict[str, list[str]]:
    return {name: rest for name, *rest in Page(page).tables["Scores, with 89 % intervals"]}


def brute_force(model: nb.NaiveBayes, X: pd.DataFrame, y: pd.Series, row: int) -> np.ndarray:
    """p(y | x, all other rows), by a fit without the row under the very priors of the whole table."""
    return without(model, X, y, row).predict_proba(X.iloc[[row]])[0]


@pytest.mark.slow
def test_held_out_scores_are_those_of_a_refit_without_each_row() -> None:
    X, y = split(dogs(), "breed")
    model = nb.NaiveBayes(**plainly(X)).fit(X, y)
    proba = np.array([brute_force(model, X, y, row) for row in range(len(X))])
    codes = np.searchsorted(model.classes_, y)
    losses = -np.log(proba[np.arange(6), codes])
    right = proba.argmax(axis=1) == codes
    briers = ((proba - np.eye(2)[codes]) ** 2).sum(axis=1)
    shown = scores_on(report(model, X, y))["Held out, one row at a time"]
    assert [cell.split(" (")[0] for cell in shown] == [
        f"{100 * right.mean():.0f} %",
        f"{losses.mean():.3f}",
        f"{briers.mean():.3f}",
    ]


def test_scores_on_the_rows_it_learnt_from_are_those_of_predict_proba(page: str, birds: tuple) -> None:
    model, X, y = birds
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    accuracy, loss, _ = scores_on(page)["On the training rows"]
    assert float(accuracy.split(" %")[0]) == pytest.approx(100 * model.score(X, y), abs=0.5)
    assert loss.startswith(f"{-np.log(own).mean():.3f}")


def test_evidence_and_missing_cells_are_those_of_the_model(page: str, birds: tuple) -> None:
    model, X, _ = birds
    terms = model.log_evidence_by_feature()
    _, *rows = Page(page).tables["Columns and their priors"]
    assert [name for name, *_ in rows] == list(X.columns)
    for name, _, missing, _, evidence in rows:
        assert int(missing) == X[name].isna().sum()
        assert evidence == f"{terms[name]:,.1f}".replace("-", "\u2212")


def test_the_confusion_table_counts_every_row(page: str, birds: tuple) -> None:
    _, *rows = Page(page).tables["Predicted and observed labels, held out"]
    assert [sum(map(int, row[1:-1])) for row in rows] == [152, 68, 124]


@pytest.mark.slow
def test_a_test_table_is_scored_by_the_model_of_the_other_rows() -> None:
    X, y = split(penguins().drop(columns="year")[::3], "species")
    train = np.arange(len(X)) % 3 > 0
    html = report(nb.NaiveBayes(), X[train], y[train], test=(X[~train], y[~train]), brief=True)
    right = nb.NaiveBayes().fit(X[train], y[train]).score(X[~train], y[~train])
    assert scores_on(html)["Test table, 39 rows"][0].startswith(f"{100 * right:.0f} %")
    assert "Predicted and observed labels, test table" in Page(html).tables


@pytest.mark.slow
def test_a_model_that_is_not_fitted_stays_so() -> None:
    X, y = split(dogs(), "breed")
    model = nb.NaiveBayes()
    report(model, X, y)
    assert not hasattr(model, "model_")


def test_rows_that_the_model_did_not_learn_from_are_refused(birds: tuple) -> None:
    model, X, y = birds
    changed = X.assign(body_mass_g=X["body_mass_g"] + 1)
    with pytest.raises(ValueError, match="not fitted on these 344 rows"):
        report(model, changed, y)
    with pytest.raises(ValueError, match="not fitted on these 343 rows"):
        report(model, X[1:], y[1:])


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
def test_a_plugged_in_estimate_is_named(estimate: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    assert f"estimate='{estimate}'" in Page(section("made", gather(nb.GaussianNB(estimate=estimate), X, y))).text


@pytest.mark.slow
def test_a_smoothing_of_zero_that_leaves_a_row_impossible_still_has_a_page() -> None:
    X = np.array([["x"], ["y"], ["x"], ["z"]], dtype=object)
    seen = Page(report(nb.NaiveBayes({0: nb.Categorical(0.0)}), X, list("aabb")))
    assert "without the row its own cells are impossible" in seen.text
    assert "4 rows had a label with probability 0, or no prediction at all" in seen.text


@pytest.mark.slow
@pytest.mark.parametrize("model", [nb.MultinomialNB(), nb.BernoulliNB(), nb.NaiveBayes(nb.Gaussian())])
def test_sparse_tables_have_a_page(model: nb.NaiveBayes) -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.5, (30, 12)))
    seen = Page(report(model, counts, np.arange(30) % 2))
    assert not seen.open


@pytest.mark.slow
def test_many_classes_and_columns_keep_the_page_short() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 120)
    html = report(nb.GaussianNB(), rng.normal(size=(120, 40)) + y[:, None], y)
    assert 12 <= html.count("Predictive density") <= 36
    assert len(Page(html).tables["Columns and their priors"]) == 41
    assert len(Page(html).tables["Columns, the most important first"]) == 41
    assert "The 8 most frequent classes are drawn, 2 are not." in html
    assert len(html) < 3_000_000


@pytest.mark.slow
def test_a_class_without_rows_and_a_class_with_one_have_a_page() -> None:
    seen = Page(report(nb.NaiveBayes(classes=["a", "b", "c"]), [[1.0], [2.0], [3.0]], ["a", "a", "b"]))
    assert seen.tables["Classes"][3] == ["c", "0", "0.0 %"]


@pytest.mark.slow
def test_a_brief_page_ends_after_the_sections_that_take_little_time(capsys: pytest.CaptureFixture[str]) -> None:
    table = dogs()
    X, y = table.drop(columns="breed"), table["breed"]
    pages = {brief: report(nb.NaiveBayes(), X, y, brief=brief, progress=brief) for brief in (True, False)}
    anchors = {brief: tuple(re.findall(r'<h2 id="(\w+)">', page)) for brief, page in pages.items()}
    assert anchors == {True: BRIEF, False: tuple(name for name, *_ in SECTIONS)}  # of two classes
    shown = capsys.readouterr().err
    assert "report: model and priors" in shown  # the bar that was asked for
    assert "report: what does each column contribute?" not in shown  # and the one that was not, as this is no terminal
