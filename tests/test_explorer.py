"""The explorer: what a browser computes of a row is what the model says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb as nb
from bayesnb.data import open_table
from bayesnb.datasets import penguins
from bayesnb.report import explore, report
from bayesnb.report.explorer import Columns
from tests.browser import Browser, Tab, chromium

ROWS = 200
ASK = """((rows) => rows.map((row) => {
  const { share, ends } = document.getElementById('tried').ask(row);
  return [share, ends];
}))"""


def birds() -> tuple[pd.DataFrame, pd.Series]:
    table = penguins().drop(columns="year")
    return table.drop(columns="species"), table["species"]


def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of every kind, of which some depend on each other, and some cells are missing."""
    rng = np.random.default_rng(0)
    n = 300
    x = pd.DataFrame(
        {
            "letter": rng.choice(list("abcdefg"), n),
            "flag": rng.choice([0, 1, np.nan], n),
            "events": rng.poisson(3, n).astype(float),
            "one": rng.normal(size=n),
            "size": rng.choice([1, 2, 5], n),
            "two": rng.normal(size=n),
        }
    )
    x["one"] += 0.8 * x["two"]
    x.loc[rng.random(n) < 0.1, "one"] = np.nan
    score = x["two"] * x["one"].fillna(0) + 2.0 * (x["letter"] == "a") + (x["events"] > 3)
    return x, np.where(score + rng.normal(size=n) > 1, "yes", "no")


DECLARED: Any = {
    "letter": nb.Categorical(0.3, unseen="reserve"),
    "flag": "bernoulli",
    "events": "poisson",
    "one": "gaussian",
    "size": "categorical",
    "two": nb.Bernoulli(threshold=0.2),
}
BLOCKS: Any = {
    ("letter", "size"): nb.JointTable(),
    ("one", "two"): nb.MultivariateGaussian(),
    "flag": "bernoulli",
    "events": "poisson",
}
MODELS: dict[str, Any] = {
    "birds": lambda: (nb.NaiveBayes(), *birds()),
    "everything chosen": lambda: (nb.NaiveBayes(missing="auto"), *mixed()),
    "everything declared": lambda: (nb.NaiveBayes(DECLARED), *mixed()),
    "blocks": lambda: (nb.NaiveBayes(BLOCKS, temper=0.7), *mixed()),
    "covariance": lambda: (nb.NaiveBayes(dependence="covariance"), *mixed()),
    "one exponent": lambda: (nb.NaiveBayes(temper="loo", class_prior="uniform"), *birds()),
    "numbers without names": lambda: (
        nb.GaussianNB(),
        birds()[0].iloc[:, 1:5].to_numpy(),
        birds()[1],
    ),
}


@pytest.fixture(scope="module")
def browser() -> Any:
    with chromium() as one:
        yield one


def ask(browser: Browser, path: Path, cells: list) -> tuple[np.ndarray, np.ndarray | None]:
    """Return probabilities and intervals of rows, as the page computes them."""
    with Tab(browser) as tab:
        tab.open(path)
        answers = tab.ask(f"{ASK}({json.dumps(cells)})")
        assert tab.complaints() == []
        assert tab.requests() == []
    proba, ends = zip(*answers, strict=True)
    return np.array(proba), None if ends[0] is None else np.array(ends)


@pytest.mark.browser
@pytest.mark.parametrize("name", MODELS)
def test_a_browser_computes_what_the_model_says(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    model, x, y = MODELS[name]()
    model.fit(x, y)
    rows = np.random.default_rng(1).integers(0, len(x), ROWS)
    new = x.iloc[rows] if hasattr(x, "iloc") else x[rows]
    path = explore(model).save(tmp_path / "page.html")
    proba, ends = ask(browser, path, Columns(model).read(open_table(new)))
    np.testing.assert_allclose(proba, model.predict_proba(new), rtol=0, atol=1e-6)
    expected = model.predict_interval(new, method="fast")
    assert ends is not None
    np.testing.assert_allclose(ends[..., 0], expected["lower"], rtol=0, atol=0.02)
    np.testing.assert_allclose(ends[..., 1], expected["upper"], rtol=0, atol=0.02)
    assert float((expected["upper"] - expected["lower"]).max()) > 0.1


@pytest.mark.browser
def test_rows_unlike_those_learnt_are_read_as_by_the_model(
    browser: Browser, tmp_path: Path
) -> None:
    x, y = mixed()
    x.loc[(y == "yes") & (np.arange(len(x)) % 3 > 0), "letter"] = None
    flagged = nb.NaiveBayes(DECLARED | {"letter": "categorical"}, missing="auto").fit(x, y)
    covariance = nb.NaiveBayes(dependence="covariance").fit(x, y)
    letters = pd.DataFrame({"a": list("aab") * 9, "b": list("abb") * 9})
    tiny = nb.NaiveBayes(nb.Categorical(1e-60)).fit(letters, list("xyz") * 9)
    counts = x[["events", "size", "flag"]].fillna(0.0)
    for model, new in (
        (flagged, x.assign(letter="never seen")),
        (covariance, x.assign(one=1e300, two=-1e200)),
        (tiny, pd.DataFrame({"a": ["b"], "b": ["a"]})),
        (nb.GaussianNB().fit(counts.to_numpy(), y), sparse.csr_matrix(counts)),
    ):
        path = explore(model, new).save(tmp_path / "page.html")
        proba, _ = ask(browser, path, Columns(model).read(open_table(new)))
        np.testing.assert_allclose(proba, model.predict_proba(new), rtol=0, atol=1e-6)


@pytest.mark.browser
def test_a_row_beyond_the_thousandth_can_be_tried(browser: Browser, tmp_path: Path) -> None:
    x, y = birds()
    x = pd.concat([x.iloc[:1]] * 1000 + [x], ignore_index=True)
    path = report(nb.NaiveBayes(), x, [y[0]] * 1000 + y.tolist()).save(tmp_path / "page.html")
    heads = "[...document.querySelectorAll('section:has(#rows) tbody th')]"
    with Tab(browser) as tab:
        tab.open(path)
        assert tab.ask(f"{heads}.some((head) => head.textContent.includes(','))")
        assert tab.ask(f"{heads}.every((head) => head.querySelector('button'))")


def test_levels_may_be_whole_numbers_larger_than_any_float() -> None:
    x = pd.DataFrame({"x": np.array([10**400, 1, 2], object)[[0, 1, 2, 0] * 5]})
    page = explore(nb.NaiveBayes("categorical").fit(x, list("abca") * 5), x)
    assert '"values":[1.0,2.0,null]' in page


@pytest.mark.browser
def test_cells_are_set_and_rows_opened(browser: Browser, tmp_path: Path) -> None:
    x, y = birds()
    path = report(nb.NaiveBayes(), x, y).save(tmp_path / "page.html")
    shown = "document.querySelector('#tried .shares').innerText"
    with Tab(browser, 390) as tab:
        tab.open(path)
        tab.ask("location.hash = '#explorer'")
        before = tab.ask(shown)
        menu = "document.getElementById('cell-0')"
        assert tab.ask(f"{menu}.labels[0].textContent") == "island"
        tab.ask(f"{menu}.value = '0'; {menu}.dispatchEvent(new Event('change'))")
        assert tab.ask(shown) != before
        tab.ask("document.querySelector('#tried .choose button').click()")
        assert tab.ask("[0, 1, 5].every((i) => !document.getElementById(`cell-${i}`).value)")
        shares = model_shares(x, y)
        for share in shares:
            assert f"{100 * share:.1f} %" in tab.ask(shown)
        tab.ask("document.querySelector('section:has(#rows) tbody th button').click()")
        assert tab.ask("document.getElementById('cell-1').value") != ""
        assert tab.ask("document.scrollingElement.scrollWidth") <= 390
        assert tab.complaints() == []


@pytest.mark.browser
def test_a_row_is_set_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    x, y = birds()
    page = explore(nb.NaiveBayes().fit(x, y), x)
    shown = "document.querySelector('#tried .shares').innerText"
    said = "[document.activeElement.labels?.[0]?.textContent, document.activeElement.ariaLabel]"
    with Tab(browser, 390) as tab:
        tab.open(page.save(tmp_path / "page.html"))
        tab.ask("document.getElementById('explorer-row').focus()")
        tab.press("Tab", 9)
        tab.press("Enter", 13)  # all cells are unknown now
        seen = [tab.ask(shown)]
        names = []
        for key, code in (("ArrowDown", 40), ("ArrowRight", 39)):  # a menu, then a slider
            tab.press("Tab", 9)
            names.append(tab.ask(said))
            tab.press(key, code)
            seen.append(tab.ask(shown))
        tab.press("Tab", 9)  # the slider's field
        tab.call("Input.insertText", text="7")
        seen.append(tab.ask(shown))
        said_unusual = (
            "[...document.querySelectorAll('.cell small')].map((each) => each.textContent)"
        )
        assert "unusual: most rows have 32.4 to 56.97" in tab.ask(said_unusual)
        tab.press("Tab", 9)  # and the button that forgets it
        names.append(tab.ask(said))
        tab.press("Enter", 13)
        assert names == [
            ["island", None],
            [None, "bill_length_mm, slider"],
            [None, "bill_length_mm: unknown"],
        ]
        assert len(set(seen)) == 4
        assert tab.ask(shown) == seen[1]


def model_shares(x: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Probabilities of a row without cells."""
    return nb.NaiveBayes().fit(x, y).predict_proba(x.iloc[:1].mask(x.iloc[:1].notna()))[0]


def test_what_cannot_be_explored_says_why() -> None:
    x, y = birds()
    for fitted, words in (
        (nb.NaiveBayes(estimate="map").fit(x, y), "estimate='map'"),
        (nb.MultinomialNB().fit(np.eye(3), list("aab")), "texts and counts of words"),
    ):
        with pytest.raises(ValueError, match=words):
            explore(fitted)
    with pytest.raises(ValueError, match="not fitted"):
        explore(nb.NaiveBayes())


def test_a_class_that_is_impossible_is_left_out_and_shared_variances_have_no_intervals() -> None:
    x, y = birds()
    model = nb.NaiveBayes(class_prior={"Adelie": 0.5, "Chinstrap": 0.0, "Gentoo": 0.5})
    page = explore(model.fit(x, y))
    assert '"classes":["Adelie","Gentoo"]' in page
    shared = nb.NaiveBayes(nb.Gaussian(shared=True)).fit(x.iloc[:, 1:5], y)
    assert '"intervals":false' in explore(shared)


def test_names_cannot_break_out_of_the_page() -> None:
    x = pd.DataFrame({"</script><b>": ["<", "&", "</script>"] * 4})
    page = explore(nb.NaiveBayes().fit(x, list("aab") * 4))
    assert "</script><b>" not in page
    assert page.count("</script>") == 3
