"""The rows that one should look at: what the page says of each is what a refit without the row says."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.report import Facts, gather, report, section
from bayesnb.report.facts import comparisons, left_out_rows
from bayesnb.report.facts.left_out_rows import distinct, left_out_row, most_rows
from bayesnb.report.sections.shown_rows import odds, ranked
from tests.conftest import plainly
from tests.parsed import Page

EVIL = '<script>alert("1")</script>'
MISLABELLED = "Rows with the least probable labels, held out"
UNCERTAIN = "Rows with the most uncertain label, held out"
SURPRISING = "Least typical rows, held out"
Table = list[list[str]]


def tables(facts: Facts) -> dict[str, Table]:
    return {name: rows[1:] for name, rows in Page(section("rows", facts)).tables.items()}


def birds() -> tuple[nb.NaiveBayes, pd.DataFrame, pd.Series]:
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    return nb.NaiveBayes(**plainly(X)).fit(X, y), X, y


def without(model: Any, X: Any, y: Any, row: int, **said: Any) -> nb.NaiveBayes:
    """A fit of all other rows, under the very priors of the whole table."""
    families: dict = {}
    for column, belief in model.prior_.items():
        if isinstance(belief, nb.NormalInverseGamma):
            own = belief[0]
            families[column] = nb.Gaussian(nb.NormalInverseGamma(own.location, own.count, own.shape, own.scale))
        elif isinstance(belief, nb.Dirichlet):
            families[column] = nb.Categorical(1.0, levels=sorted(X[column].dropna().unique()))
    rest = np.arange(len(X)) != row
    return nb.NaiveBayes(families, classes=model.classes_, **said).fit(X[rest], y[rest])


@pytest.fixture(scope="module")
def facts() -> Facts:
    return gather(*birds())


@pytest.fixture(scope="module")
def shown(facts: Facts) -> dict[str, Table]:
    return tables(facts)


def test_probabilities_intervals_and_odds_are_those_of_a_refit(facts: Facts, shown: dict[str, Table]) -> None:
    model, X, y = birds()
    for caption in (MISLABELLED, UNCERTAIN):
        for row, label, probabilities, _, _ in shown[caption][:4]:
            other = without(model, X, y, int(row))
            law = other.predict_interval(X.iloc[[int(row)]], ci_prob=0.89).isel(obs_id=0)
            assert label.split("\n")[0] == y[int(row)]
            for line in probabilities.split("\n"):
                name, said = line.split(": ")
                p, low, high = (float(law[part].sel({"class": name})) for part in ("probability", "lower", "upper"))
                found = [float(number) for number in re.findall(r"[\d.]+", said)]
                assert found == pytest.approx([100 * p, 100 * low, 100 * high], abs=0.51)
            if caption == MISLABELLED:
                own = float(law["probability"].sel({"class": y[int(row)]}))
                assert float(re.findall(r"([\d.]+) to 1", label)[0]) == pytest.approx((1 - own) / own, rel=0.06)


@pytest.mark.parametrize("place", range(4))
def test_the_evidence_is_that_of_a_refit(facts: Facts, shown: dict[str, Table], place: int) -> None:
    model, X, y = birds()
    row, label, _, _, evidence = shown[MISLABELLED][place]
    why = without(model, X, y, int(row)).explain(X.iloc[[int(row)]]).isel(obs_id=0)
    best = label.split("predicted ")[1].split("\n")[0]
    a, b = why.sel({"class": best}), why.sel({"class": y[int(row)]})
    gap, sd = (a.evidence - b.evidence).values, np.hypot(a.sd, b.sd).values
    lines = {}
    for line in evidence.split("\n"):
        if line.startswith("for "):
            sign = 1 if line == f"for {best}:" else -1
        elif line:
            size, spread, name = re.match(r"\+([\d.]+) ± ([\d.]+) (\w+)", line).groups()  # type: ignore[union-attr]
            lines[name] = sign * float(size), float(spread)
    order = np.argsort(-np.abs(gap))
    largest = [j for j in order if gap[j] > 0.01][:3] + [j for j in order if gap[j] < -0.01][:3]
    assert list(lines) == [why.feature.values[j] for j in largest]
    for j in largest:
        assert lines[why.feature.values[j]] == pytest.approx((gap[j], sd[j]), abs=0.006)


@pytest.mark.parametrize("prior", ["empirical", "uniform", 2.0])
def test_a_look_without_the_row_leaves_its_label_out_of_the_classes_too(prior: Any) -> None:
    model, X, y = birds()
    model = nb.NaiveBayes(plainly(X)["families"], class_prior=prior, temper=0.7).fit(X, y)
    found = left_out_row(306, gather(model, X, y))
    law = without(model, X, y, 306, class_prior=prior, temper=0.7).predict_interval(X.iloc[[306]], ci_prob=0.89)
    np.testing.assert_allclose(np.exp(found.log_proba), law.probability.values[0], rtol=1e-9)
    np.testing.assert_allclose(found.lower, law.lower.values[0], atol=1e-9)
    np.testing.assert_allclose(found.upper, law.upper.values[0], atol=1e-9)


def test_uncertain_rows_are_those_of_the_largest_entropy(facts: Facts, shown: dict[str, Table]) -> None:
    p = np.exp(facts.left_out)
    entropy = -np.where(p > 0, p * np.log(p), 0).sum(axis=1)
    rows = [int(row.split("\n")[0]) for row, *_ in shown[UNCERTAIN]]
    assert rows == np.argsort(-entropy, kind="stable")[: len(rows)].tolist()
    assert f"{entropy[rows[0]]:.3f} nats" in shown[UNCERTAIN][0][1]


@pytest.mark.slow
def test_surprising_rows_are_those_that_other_rows_expect_least() -> None:
    model, X, y = birds()
    X, y = X[::6].reset_index(drop=True), y[::6].reset_index(drop=True)
    model = nb.NaiveBayes(**plainly(X)).fit(X, y)
    density = np.array([without(model, X, y, i).log_density(X.iloc[[i]])[0] for i in range(len(X))])
    facts = gather(model, X, y)
    np.testing.assert_allclose(facts.held_out.log_density, density, rtol=1e-9)
    found = tables(facts)[SURPRISING]
    assert [int(row) for row, *_ in found] == np.argsort(density, kind="stable")[:10].tolist()
    assert f"the 2nd least typical of {len(X)} rows" in found[1][1]
    assert f"log p(x) = \u2212{-np.sort(density)[1]:.1f}" in found[1][1]


def planted() -> tuple[np.ndarray, np.ndarray]:
    rng, y = np.random.default_rng(1), np.arange(200) % 2
    return rng.normal(size=(200, 4)) + 3 * y[:, None], y


def test_a_label_that_was_changed_is_the_first_suspect() -> None:
    X, y = planted()
    y[77] = 1 - y[77]
    facts = gather(nb.GaussianNB(), X, y)
    page = Page(section("rows", facts))
    first = page.tables[MISLABELLED][1]
    assert first[0] == "77"
    assert first[1].startswith(f"{y[77]}\npredicted {1 - y[77]}")
    few = int((facts.label_log_proba < np.log(0.01)).sum())
    assert (
        f"{few} of {len(facts.label_log_proba)} held-out rows had an observed label with a probability below 1 %"
        in page.text
    )


def test_labels_that_nothing_speaks_against_do_not_stand_out() -> None:
    rng = np.random.default_rng(0)
    said = Page(section("rows", gather(nb.GaussianNB(), rng.normal(size=(300, 2)), np.arange(300) % 2))).text
    assert "None of them stands out: the odds against a label are at most" in said


def test_a_perfect_model_suspects_no_label() -> None:
    X, y = planted()
    said = Page(section("rows", gather(nb.GaussianNB(), X + 20 * y[:, None], y))).text
    assert "No label is suspect" in said


def test_a_cell_that_is_out_of_all_proportion_makes_its_row_the_least_usual_and_is_named() -> None:
    X, y = planted()
    X[31, 2] = 1e9  # taken back by arithmetic, it would leave no digit of the others
    model = nb.NaiveBayes(nb.Gaussian(nb.NormalInverseGamma(0, 0.1, 1, 1))).fit(X, y)
    facts = gather(model, X, y)
    row, label, _, _, cells = tables(facts)[SURPRISING][0]
    assert row == "31"
    assert "the least typical of 200 rows" in label
    assert "column 2 1e+09" in cells.split("\n")[0]
    rest = np.arange(200) != 31
    other = nb.NaiveBayes(nb.Gaussian(nb.NormalInverseGamma(0, 0.1, 1, 1))).fit(X[rest], y[rest])
    law = other.predict_interval(X[[31]], ci_prob=0.89)
    found = left_out_row(31, facts)
    np.testing.assert_allclose(np.exp(found.log_proba), law.probability.values[0], rtol=1e-8)
    np.testing.assert_allclose(found.lower, law.lower.values[0], atol=1e-8)


def test_the_same_row_is_shown_once_and_counted() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(400) < 0.5, "b": rng.random(400) < 0.5})
    y = rng.integers(0, 2, 400)
    facts = gather(nb.NaiveBayes(), X, y)
    kinds = X.assign(y=y).groupby(["a", "b", "y"]).size()
    picks = distinct(np.arange(400), facts, 20)
    assert len(picks) == len(kinds) == 8
    for pick in picks:
        assert pick.times == kinds[X["a"][pick.row], X["b"][pick.row], y[pick.row]]
    found = tables(facts)[UNCERTAIN]
    assert len(found) == 8
    assert all(re.fullmatch(r"\d+\nand \d+ rows like it", row) for row, *_ in found)


def test_rows_that_differ_in_one_cell_or_label_are_not_the_same() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    X[1, 2] = np.nextafter(X[0, 2], 9)
    y = np.arange(40) // 2 % 2
    y[3] = 1 - y[2]
    picks = distinct(np.arange(40), gather(nb.GaussianNB(), X, y), 40)
    assert [pick.row for pick in picks] == [0, 1, 2, 3, *range(4, 40, 2)]
    assert [pick.times for pick in picks] == [1, 1, 1, 1, *[2] * 18]


def test_sparse_rows_are_the_same_however_their_zeros_are_stored() -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.4, (30, 40)).astype(float))
    both = sparse.vstack([counts, counts]).tocsr()
    both.data[0] = 0.0  # a zero that is stored
    both.data[counts.nnz] = 0.0
    picks = distinct(np.arange(60), gather(nb.MultinomialNB(), both, np.arange(60) % 30 % 2), 60)
    assert [pick.times for pick in picks] == [2] * 30


def test_words_are_the_evidence_of_texts() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(50, 0.2), 2)
    names = tuple(f"word{j}" for j in range(50))
    X = pd.DataFrame([rng.multinomial(30, theta[i % 2]) for i in range(80)], columns=names)
    y = np.arange(80) % 2
    y[12] = 1
    facts = gather(nb.NaiveBayes({names: nb.Multinomial()}), X, y)
    row, _, _, cells, evidence = tables(facts)[MISLABELLED][0]
    assert row == "12"
    found = left_out_row(12, facts).explained
    gap = (found.evidence.sel({"class": "0"}) - found.evidence.sel({"class": "1"})).values
    best = found.feature.values[gap.argmax()]
    assert f"{best} {X[best][12]}" in evidence.split("\n")[1]
    assert f"{best} {X[best][12]}" in cells
    assert len(tables(facts)[SURPRISING]) == 10


def test_averages_over_columns_have_intervals_too() -> None:
    X, y = planted()
    facts = gather(nb.NaiveBayes("gaussian", average_features=0.5), X[:30] * 0.3, y[:30])
    found = left_out_row(3, facts)
    assert (found.lower <= np.exp(found.log_proba) + 0.05).all()
    assert (found.upper > found.lower).all()
    assert len(tables(facts)[UNCERTAIN]) == min(10, int((facts.held_out.entropy > 1e-3).sum()))


@pytest.mark.slow
def test_hostile_names_stay_text_and_long_ones_are_cut() -> None:
    rng, k = np.random.default_rng(0), np.arange(60) % 3
    labels = np.array([EVIL, "\u05d0\u05d1\u05d2", "\U0001f427" * 5000])[k]
    X = pd.DataFrame({EVIL: rng.normal(k), "x" * 10_000: np.array(["</svg>", "y" * 10_000])[rng.integers(0, 2, 60)]})
    html = section("rows", gather(nb.NaiveBayes(), X, labels))
    seen = Page(html)
    assert not seen.open
    assert "script" not in seen.tags
    assert "x" * 100 not in html
    assert "y" * 100 not in html
    assert "\U0001f427" * 100 not in html
    assert EVIL in seen.text


def test_odds_say_what_a_probability_is() -> None:
    assert odds(np.log(0.25)) == "3 to 1"
    assert odds(np.log(1 / 1001)) == "1,000 to 1"
    assert odds(-200.0) == "10<sup>87</sup> to 1"
    assert "infinite" in odds(-np.inf)


def test_ranks_are_spelled() -> None:
    said = [ranked(place, 50).split(" least")[0] for place in (1, 2, 3, 4, 11, 21, 112)]
    assert said == ["the", "the 2nd", "the 3rd", "the 4th", "the 11th", "the 21st", "the 112th"]


@pytest.mark.slow
def test_a_text_without_a_word_has_a_page() -> None:
    counts = np.random.default_rng(0).poisson(0.3, (30, 6))
    counts[[0, 20]] = 0
    page = Page(report(nb.MultinomialNB(), sparse.csr_array(counts), np.repeat(["a", "b"], 15)))
    assert UNCERTAIN in page.tables


@pytest.mark.slow
def test_sections_that_would_take_long_say_what_they_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 20
    X = pd.DataFrame(rng.normal(size=(60, 12)) + y[:, None] / 9).add_prefix("x")
    facts = gather(nb.NaiveBayes(dependence=None), X, y)
    assert len(facts.held_out.grid_sizes) == 12
    assert most_rows(facts) == 10
    monkeypatch.setattr(left_out_rows, "EXPLAINING", 4.5 * 3 * facts.held_out.explanation_seconds)
    monkeypatch.setattr(comparisons, "VARIED", 10.5 * 3 * facts.held_out.column_seconds)
    monkeypatch.setattr(comparisons, "SETTINGS", 3.5 * facts.held_out.left_out_seconds)
    monkeypatch.setattr(comparisons, "SEARCH", 0.9 * facts.held_out.search_seconds)
    seen = Page(section("rows", facts))
    assert "at most 4 rows of each kind are shown. model.explain(X) explains selected rows." in seen.text
    assert len(seen.tables[UNCERTAIN]) == 4 + 1
    assert "compare_smoothing compares selected settings." in Page(section("smoothing", facts)).text
    assert "10 most relevant columns were varied one by one; 2 others were not." in " ".join(
        section("sensitivity", facts).split()
    )
    assert "use tune" in section("checks", facts)


def test_a_few_settings_are_compared_where_all_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = planted()
    facts = gather(nb.NaiveBayes(nb.PolyaTree(), dependence=None), X[:40], y[:40])
    monkeypatch.setattr(comparisons, "SETTINGS", 4.5 * facts.held_out.left_out_seconds)
    assert len(facts.comparisons.smoothing.table) == 4
    assert "With a table of this size, only a few settings are compared." in Page(section("smoothing", facts)).text


def test_a_row_without_any_cell_is_explained_by_nothing() -> None:
    X = pd.DataFrame({"a": ["x", "y", None, "x"] * 5, "b": ["u", "v", None, "v"] * 5})
    model = nb.CategoricalNB().fit(X, ["c", "d"] * 10)
    explained = model.explain(X[2:3])
    for name in ("evidence", "sd", "predictive"):
        np.testing.assert_array_equal(explained[name].values, 0.0)
