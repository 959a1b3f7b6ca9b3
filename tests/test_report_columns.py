"""What the page says of columns, words, smoothing, dependence and priors is what other computations find."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import bayesnb as nb
from bayesnb.datasets import dogs, penguins
from bayesnb.families.capabilities import strengthened
from bayesnb.model.product import Model
from bayesnb.report import About, gather, report, section
from bayesnb.report.sections.modelled import code_of, names_in
from bayesnb.selection.prior_strength import Strengths
from bayesnb.selection.word_ratios import ratio_interval
from tests.conftest import plainly
from tests.parsed import Page
from tests.test_report import hostile, split

MINUS = "\u2212"


def number(said: str) -> float:
    return float(said.replace(MINUS, "-").replace(",", "").replace("%", "").replace("+", ""))


@pytest.fixture(scope="module")
def birds() -> tuple[nb.NaiveBayes, pd.DataFrame, pd.Series]:
    X, y = split(penguins().drop(columns="year")[::3], "species")
    return nb.NaiveBayes({"sex": nb.Categorical(0.5)}).fit(X, y), X, y


@pytest.fixture(scope="module")
def page(birds: tuple) -> Page:
    return Page(report(*birds, about=About(label="species")))


def mails(rows: int = 60, words: int = 40, classes: int = 2) -> tuple[sparse.csr_array, np.ndarray]:
    rng, y = np.random.default_rng(4), np.arange(rows) % classes
    theta = rng.dirichlet(np.full(words, 0.3), classes)
    return sparse.csr_array(np.array([rng.multinomial(30, theta[c]) for c in y])), y


@pytest.mark.slow
def test_columns_are_in_the_order_of_their_importance_and_beside_it_their_bayes_factors(
    page: Page, birds: tuple
) -> None:
    _, *rows = page.tables["Columns, the most important first"]
    lost, factors = nb.importance(*birds), nb.relevance(birds[0]).log_bayes_factor.to_series()
    by_importance = lost.to_frame().sort_values("importance", ascending=False)
    assert [name for name, *_ in rows] == by_importance.index.tolist() != factors.sort_values()[::-1].index.tolist()
    for name, span, temper, factor, _, missing in rows:
        assert number(span.split()[0]) == pytest.approx(by_importance.importance[name], abs=0.00051)
        assert number(temper) == pytest.approx(birds[0].temper_, abs=0.0051)
        assert number(factor) == pytest.approx(factors[name], abs=0.5 if abs(factors[name]) > 99 else 0.051)
        assert missing == (str(birds[1][name].isna().sum()) if birds[1][name].isna().any() else "\u2013")


def test_families_say_what_was_declared_and_what_was_inferred(birds: tuple) -> None:
    _, *rows = Page(section("modelled", gather(*birds))).tables["Families of columns"]
    said = {(kind.split("\n")[0], chosen): names for kind, _, chosen, _, names in rows}
    assert said["Categorical", "declared"] == "sex"
    assert said["Categorical", "inferred"] == "island"
    assert said["Gaussian", "inferred"].startswith("bill_length_mm, bill_depth_mm")


def test_the_smoothing_table_is_that_of_compare_smoothing(page: Page, birds: tuple) -> None:
    found = nb.compare_smoothing(*birds, smoothing=(0.1,), estimates=("mean",)).table.iloc[0]
    _, *rows = page.tables["Settings of the smoothing, held out"]
    assert len(rows) == 21
    own = next(row for row in rows if row[0].split()[0] == "0.1" and row[1] == "mean")
    assert number(own[2]) == pytest.approx(found.elpd_loo, abs=0.051)
    assert number(own[4]) == pytest.approx(found.log_evidence, abs=0.051)
    assert number(own[6]) == pytest.approx(found.brier, abs=0.00051)
    assert "(n + l) / (N + l K)" in page.text
    assert "Dirichlet(1 + l)" in page.text


@pytest.mark.slow
def test_a_model_without_levels_has_its_prior_turned_instead() -> None:
    X, y = split(dogs().drop(columns="curled_tail"), "breed")
    text = Page(report(nb.NaiveBayes("gaussian"), X, y)).text
    assert "These columns have no levels to smooth" in text
    assert "In Gaussian columns the prior has l times" in text


def test_the_strongest_pairs_are_those_of_dependence(page: Page, birds: tuple) -> None:
    found = nb.dependence(*birds).log_bayes_factor
    _, *rows = page.tables["Pairs that depend on each other within the classes"]
    a, b, value = rows[0]
    assert number(value) == pytest.approx(float(found.max()), abs=0.5)
    assert float(found.sel(feature=a, feature_2=b)) == float(found.max())
    assert "would make no clear difference: the held-out log loss goes from" in page.text


@pytest.mark.slow
def test_a_tempered_model_is_told_its_exponent_and_is_offered_none() -> None:
    X, y = split(penguins()[["species", "bill_length_mm", "body_mass_g", "sex"]][::4], "species")
    model = nb.NaiveBayes(temper="loo", dependence=None).fit(X, y)
    text = Page(report(model, X, y)).text
    assert f"is raised to the power {model.temper_:.3g}, which predicts held-out labels" in text
    assert "the held-out log loss goes from" not in text


def weaker(model: nb.NaiveBayes, times: float, only: Any = None) -> dict[Any, Any]:
    """The model's own priors, worth so many times as many rows, declared."""
    families: dict[Any, Any] = {}
    for name, belief in model.prior_.items():
        factor = times if only in (None, name) else 1.0
        if isinstance(belief, nb.NormalInverseGamma):
            one = belief[0]
            families[name] = nb.Gaussian(
                nb.NormalInverseGamma(one.location, factor * one.count, factor * one.shape, factor * one.scale)
            )
        else:
            families[name] = nb.Categorical(factor * belief.concentration[0, 0])
    return families


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map"])
def test_priors_of_other_weight_change_what_a_declared_prior_changes(birds: tuple, estimate: str) -> None:
    _, X, y = birds
    model = nb.NaiveBayes(plainly(X)["families"], estimate=estimate).fit(X, y)
    facts = gather(model, X, y)
    strengths, codes = facts.comparisons.strengths, facts.codes

    def left_out(families: dict) -> np.ndarray:
        other = nb.NaiveBayes(families, estimate=estimate).fit(X, y)
        return gather(other, X, y).left_out

    for only, found in (
        (None, strengths.everything(2.0)),
        ("island", strengths.column(*place_of(model, "island"), [2.0])[0]),
        ("body_mass_g", strengths.column(*place_of(model, "body_mass_g"), [2.0])[0]),
    ):
        there = left_out(weaker(model, 2.0, only))
        gaps = np.abs(np.exp(there) - np.exp(facts.left_out)).max(axis=1)
        assert found.largest == pytest.approx(gaps.max(), rel=1e-8, abs=1e-12)
        assert found.row == gaps.argmax()
        assert found.changed == (there.argmax(axis=1) != facts.left_out.argmax(axis=1)).sum()
        own, before = (log_proba[np.arange(len(codes)), codes] for log_proba in (there, facts.left_out))
        assert strengths.defined
        assert found.elpd == pytest.approx((own - before).sum(), abs=1e-9)


def place_of(model: nb.NaiveBayes, name: str) -> tuple[int, int]:
    return next((b, f) for key, b, f in model.schema_.keys if key == name)


def test_a_prior_of_the_same_weight_changes_nothing_in_any_family() -> None:
    model, X, y = hostile()
    model.fit(X, y)
    own = gather(model, X, y).comparisons.strengths
    assert own.everything(1.0).largest < 1e-12
    assert own.classes(1.0).largest < 1e-12
    for _, b, f in model.schema_.keys:
        assert own.column(b, f, [1.0])[0].largest < 1e-12


@pytest.mark.parametrize("temper", ["columns", 0.5])
def test_a_column_by_itself_changes_what_it_changes_among_all(temper: Any) -> None:
    X, y = split(penguins().drop(columns="year")[::3], "species")
    model = nb.NaiveBayes({"bill_length_mm": nb.PolyaTree()}, temper=temper).fit(X, y)
    strengths, prior = gather(model, X, y).comparisons.strengths, model.model_.prior
    for _, b, f in model.schema_.keys:
        one = np.where(np.arange(prior.blocks[b].proper.shape[-1]) == f, 2.0, 1.0)
        blocks = [strengthened(block, one) if at == b else block for at, block in enumerate(prior.blocks)]
        other = Strengths(
            Model(replace(prior, blocks=tuple(blocks)), model.model_.stats), strengths.rows, strengths.way
        )
        gaps = np.abs(np.exp(other.log_proba) - np.exp(strengths.log_proba))
        assert strengths.column(b, f, [2.0])[0].largest == pytest.approx(gaps.max(), rel=1e-8, abs=1e-12)


def test_the_prior_of_the_classes_is_turned_as_a_declared_one() -> None:
    X, y = split(dogs(), "breed")
    model = nb.NaiveBayes(**plainly(X), class_prior=nb.Dirichlet([1.0, 3.0])).fit(X, y)
    found = gather(model, X, y).comparisons.strengths.classes(0.5)
    other = nb.NaiveBayes(**plainly(X), class_prior=nb.Dirichlet([0.5, 1.5])).fit(X, y)
    gaps = np.abs(np.exp(gather(other, X, y).left_out) - np.exp(gather(model, X, y).left_out))
    assert found.largest == pytest.approx(gaps.max(), rel=1e-9)


def test_an_averaged_model_is_turned_as_a_declared_one() -> None:
    X, y = np.random.default_rng(0).integers(0, 2, (30, 2)).astype(str), np.arange(30) % 2
    model, other = (nb.NaiveBayes(nb.Categorical(a), average_features=0.5).fit(X, y) for a in (1.0, 2.0))
    found = gather(model, X, y).comparisons.strengths.everything(2.0)
    gaps = np.abs(np.exp(gather(other, X, y).left_out) - np.exp(gather(model, X, y).left_out))
    assert found.largest == pytest.approx(gaps.max(), rel=1e-9)


def test_what_an_average_includes_for_its_many_levels_is_said_beside_what_depends_on_the_class() -> None:
    y = np.arange(200) % 2
    X = pd.DataFrame({"<id>": np.arange(200).astype(str), "level": np.repeat(["a", "b"], 100)})
    for columns, times in (["<id>", "level"], 1), (["level"], 0):
        model = nb.NaiveBayes(average_features=0.5)
        facts = gather(model, X[columns], y)
        for name in ("modelled", "learnt"):
            html = section(name, facts)
            assert html.count("average_features includes columns") == times
            assert "<id>" not in html


def test_counts_are_turned_as_a_declared_prior() -> None:
    X, y = mails()
    model, other = (nb.MultinomialNB(alpha=a).fit(X, y) for a in (1.0, 0.5))
    found = gather(model, X, y).comparisons.strengths.everything(0.5)
    gaps = np.abs(np.exp(gather(other, X, y).left_out) - np.exp(gather(model, X, y).left_out))
    assert found.largest == pytest.approx(gaps.max(), rel=1e-9)


@pytest.mark.slow
def test_where_a_prior_is_improper_what_is_not_defined_is_said_and_columns_are_drawn() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    improper = Page(report(nb.GaussianNB(prior=nb.NormalInverseGamma(0, 0, -0.5, 0)), X, y))
    assert "negative shape has no weight" in improper.text
    assert "It is not known which columns depend on the class" in improper.text
    assert "column 0, with 89 % intervals" in improper.tables or "0, with 89 % intervals" in improper.tables
    assert improper.text.count("the prior is improper") == 2
    assert "no prior enters" in Page(report(nb.GaussianNB(estimate="mle"), X, y)).text


CASES = [(3.0, 500.0, 0.01, 300.0), (0.7, 20.0, 5.0, 90.0), (1.0, 3.0, 1.0, 2.0), (40.0, 1e5, 0.5, 3e4)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_of_log_ratios_hold_as_many_draws_as_they_say(case: tuple) -> None:
    a, b, c, d = (np.array([value]) for value in case)
    low, high = ratio_interval(nb.Beta(a, b), nb.Beta(c, d), 0.9)
    rng, draws = np.random.default_rng(1), 400_000
    logs = [np.log(rng.gamma(shape + 1, size=draws)) + np.log(rng.random(draws)) / shape for shape in case]
    gap = logs[0] - np.logaddexp(logs[0], logs[1]) - logs[2] + np.logaddexp(logs[2], logs[3])
    error = 5 * np.sqrt(0.05 * 0.95 / draws)
    assert (gap < low).mean() == pytest.approx(0.05, abs=error)
    assert (gap > high).mean() == pytest.approx(0.05, abs=error)


def test_the_ratio_of_two_flat_coins_has_its_closed_form() -> None:
    """log U - log V of uniform variates is Laplace; where a coin may be 1 the quadrature meets a kink."""
    one = nb.Beta(np.ones(1), np.ones(1))
    low, high = ratio_interval(one, one, 0.9)
    np.testing.assert_allclose([low[0], high[0]], stats.laplace.ppf([0.05, 0.95]), atol=5e-4)


@pytest.mark.slow
def test_words_on_the_page_speak_for_the_class_that_uses_them_more() -> None:
    X, y = mails()
    counts = np.array([np.asarray(X[y == c].sum(axis=0)).ravel() for c in range(2)])
    share = (1 + counts) / (1 + counts).sum(axis=1, keepdims=True)
    _, *rows = Page(report(nb.MultinomialNB(), X, y)).tables["Words and how many times as often, 89 % intervals"]
    assert len(rows) == 20
    for word, label, times, here, elsewhere in rows:
        j, c = int(word), int(label)
        assert share[c, j] > share[1 - c, j]
        assert [number(here), number(elsewhere)] == [counts[c, j], counts[1 - c, j]]
        low, high = (number(end) for end in times.split("(")[1].split(")")[0].split(" to "))
        assert low < number(times.split(" (")[0]) < high
        assert ("(wide)" in times) == (high / low > 10) or 9 < high / low < 11


def test_words_without_smoothing_that_no_other_class_has_are_left_out() -> None:
    X = np.array([[5, 3, 0], [4, 2, 0], [0, 6, 3], [0, 5, 4]])
    ax = nb.plot_words(nb.MultinomialNB(alpha=0.0).fit(X, [0, 0, 1, 1]), [1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1"]


SETTINGS = [
    nb.NaiveBayes({"island": nb.Categorical(nb.Dirichlet([0.5, 1.0, 2.0])), "sex": None}, temper=0.7),
    nb.NaiveBayes({("bill_length_mm", "body_mass_g"): nb.Gaussian(nb.NormalInverseGamma(40.0, 1.0, 2.0, 9.0))}),
    nb.NaiveBayes(class_prior={"Adelie": 0.5, "Gentoo": 0.25, "Chinstrap": 0.25}, average_features=0.5),
    nb.NaiveBayes(class_prior=nb.Dirichlet([1.0, 2.0, 3.0]), estimate="mean", n_jobs=1),
]


@pytest.mark.parametrize("model", SETTINGS, ids=range(len(SETTINGS)))
def test_the_code_on_the_page_makes_the_same_model(birds: tuple, model: nb.NaiveBayes) -> None:
    _, X, y = birds
    there = {name: getattr(nb, name) for name in names_in(model)}
    again = eval(code_of(model), there)
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.fit(X, y).predict_proba(X))


def test_the_code_of_a_preset_says_its_arguments() -> None:
    assert code_of(nb.MultinomialNB(alpha=np.array([0.5, 1.0]))) == "MultinomialNB(alpha=[0.5, 1.0])"
    assert code_of(nb.NaiveBayes(nb.Multinomial())) == "NaiveBayes(Multinomial(prior=Dirichlet(concentration=1.0)))"
    assert code_of(nb.GaussianNB()) == "GaussianNB()"


@pytest.mark.slow
def test_a_page_of_many_columns_lists_them_all_and_stays_small() -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 20
    X = pd.DataFrame(rng.normal(size=(60, 500)) + y[:, None] / 9, columns=[f"a column, number {j}" for j in range(500)])
    html = report(nb.NaiveBayes("gaussian"), X, y)
    assert len(html.encode()) < 3_000_000
    seen = Page(html)
    assert len(seen.tables["Columns, the most important first"]) == 501
    assert "The most relevant 40 columns are compared; 460 others are not." in seen.text
