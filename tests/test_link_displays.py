"""Links are drawn, listed and explained as what they are: pairs of columns, never columns; all numbers the model's."""

import re
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.plots.boundary_plot import plane_of
from bayesnb.plots.forest_plot import MOST_COLUMNS, forest_of
from bayesnb.report import gather, section
from bayesnb.report.facts.left_out_rows import left_out_row
from tests.parsed import Page
from tests.test_figures import EVIL, assert_readable

ROWS = 500
ARROW = " → "


def planted(columns: int = 4, rows: int = ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    """A column `copy` that is the first or its opposite, as the class says; another linked pair; the rest noise."""
    rng, y = np.random.default_rng(0), np.arange(rows) % 2
    x = rng.normal(size=(rows, columns))
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)])
    table["copy"] = (2 * y - 1) * x[:, 0] + 0.3 * rng.normal(size=rows)
    table["level"] = np.array(["a", "b", "c"])[np.digitize(x[:, 1] + 0.4 * rng.normal(size=rows), [-0.4, 0.4])]
    return table, np.array(["no", "yes"])[y]


def chained(columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, columns))
    for j in range(1, columns):
        x[:, j] = 0.9 * x[:, j // 2] + 0.3 * x[:, j]
    return pd.DataFrame(x, columns=[f"measure {j}" for j in range(columns)]), np.arange(300) % 2


@pytest.fixture(scope="module")
def model() -> nb.NaiveBayes:
    return nb.NaiveBayes().fit(*planted())


@pytest.fixture(scope="module")
def birds() -> tuple[nb.NaiveBayes, pd.DataFrame, pd.Series]:
    table = penguins()
    X, y = table.drop(columns="species"), table["species"]
    return nb.NaiveBayes().fit(X, y), X, y


def solid(ax: Axes) -> dict[tuple[str, str], float]:
    """The columns at both ends of each solid line, and its width."""
    names = dict(zip(ax.get_yticks().tolist(), [label.get_text() for label in ax.get_yticklabels()], strict=True))
    lines = [line for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 2]
    pairs = [tuple(names[float(height)] for height in line.get_ydata()) for line in lines]
    return {(pair[0], pair[1]): line.get_linewidth() for pair, line in zip(pairs, lines, strict=True)}


# The forest


@pytest.mark.parametrize("which", ["planted", "birds", "forest"])
def test_a_forests_lines_are_the_models_links_the_stronger_the_wider(birds: tuple, which: str) -> None:
    X, y = planted() if which == "planted" else birds[1:]
    model = nb.NaiveBayes(dependence="forest" if which == "forest" else "pairs").fit(X, y)
    links = model.links_.to_dataframe()
    forest = links[links.in_forest]
    ax = nb.plot_dependence(model)
    widths = solid(ax)
    assert set(widths) == set(zip(forest["first"], forest["second"], strict=True))
    ordered = forest.sort_values("log_bayes_factor")
    drawn = [widths[pair] for pair in zip(ordered["first"], ordered["second"], strict=True)]
    assert (np.diff(drawn) >= 0).all()
    arcs = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arcs) == (~links.in_forest).sum()
    linked = {*links["first"], *links["second"]}
    assert {label.get_text() for label in ax.get_yticklabels()} == linked
    for name in set(X) - linked:
        assert name in ax.get_xlabel()


def test_the_number_beside_a_column_is_that_of_the_link_to_the_column_above_it(model: nb.NaiveBayes) -> None:
    ax = nb.plot_dependence(model)
    names = dict(zip(ax.get_yticks().tolist(), [label.get_text() for label in ax.get_yticklabels()], strict=True))
    shown = {names[float(text.get_position()[1])]: text.get_text() for text in ax.texts}
    links = model.links_.to_dataframe()
    links = links[links.in_forest]
    expected = {name: f"{nats:,.0f}" for name, nats in zip(links["second"], links["log_bayes_factor"], strict=True)}
    assert shown == expected


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 12, 40])
def test_the_texts_of_a_forest_do_not_overlap(columns: int) -> None:
    ax = nb.plot_dependence(nb.NaiveBayes().fit(*chained(columns)))
    assert_readable(ax.get_figure(root=True))


def test_a_forests_lines_point_down_and_no_two_columns_share_a_row() -> None:
    model = nb.NaiveBayes(dependence="forest").fit(*chained(40))
    forest = forest_of(model.links_, list(model.schema_.families))
    places = forest.places
    assert len(set(places[:, 1].tolist())) == len(forest.columns)
    for parent, child in forest.ends:
        assert places[child, 0] == places[parent, 0] + 1
        assert places[child, 1] > places[parent, 1]


@pytest.mark.slow
def test_of_very_many_columns_the_strongest_links_are_drawn_and_the_others_counted() -> None:
    model = nb.NaiveBayes(dependence="forest").fit(*chained(90))
    forest = forest_of(model.links_, list(model.schema_.families))
    assert len(forest.columns) <= MOST_COLUMNS
    assert forest.hidden == len(model.links_.link) - len(forest.ends) > 0
    assert f"{forest.hidden:,} other links are not drawn" in nb.plot_dependence(model).get_xlabel()


def test_a_model_without_links_has_none_to_draw_and_one_that_has_no_dependence_says_what_to_do() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    nothing = nb.plot_dependence(nb.NaiveBayes().fit(X, np.arange(60) % 2))
    assert nothing.get_xlabel() == "no link between the 3 columns"
    with pytest.raises(ValueError, match=r"dependence=None.*has no links to draw.*dependence='forest'"):
        nb.plot_dependence(nb.NaiveBayes(dependence=None).fit(X, np.arange(60) % 2))
    with pytest.raises(ValueError, match="not fitted"):
        nb.plot_dependence(nb.NaiveBayes())


def test_a_map_has_its_numbers_in_its_cells_up_to_a_dozen_columns() -> None:
    X, y = chained(12)
    found = nb.dependence(nb.NaiveBayes(dependence=None), X, y)
    ax = nb.plot_dependence(found)
    values = found.log_bayes_factor.values
    shown = {tuple(map(int, text.get_position())): text.get_text().replace("\N{MINUS SIGN}", "-") for text in ax.texts}
    assert len(shown) == 12 * 11
    for (j, i), text in shown.items():
        number = float(text[:-1]) * 1000 if text.endswith("k") else float(text)
        assert number == pytest.approx(values[i, j], rel=0.05, abs=0.51)
        assert len(text) <= 5
    X, y = chained(13)
    assert not nb.plot_dependence(nb.dependence(nb.NaiveBayes(dependence=None), X, y)).texts


# Other figures


def test_a_waterfall_has_links_as_bars_and_ends_at_the_prediction(model: nb.NaiveBayes) -> None:
    X, _ = planted()
    ax = nb.plot_waterfall(model.explain(X.iloc[:3]), row=1)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert {label for label in labels if ARROW in label} == set(model.schema_.links.words)
    joint = np.sort(model.predict_joint_log_proba(X.iloc[[1]])[0])
    assert ax.patches[len(labels) - 1].get_width() == pytest.approx(joint[1] - joint[0], abs=1e-9)
    means = nb.plot_waterfall(model.explain(X.iloc[:3]), row=1, by="evidence")
    one = model.explain(X.iloc[:3]).isel(obs_id=1)
    gap = abs(float(one.score[0] - one.score[1]))
    assert means.patches[len(labels) - 1].get_width() == pytest.approx(gap, abs=1e-9)
    assert_readable(ax.get_figure(root=True))


def test_a_nomogram_of_a_model_with_links_says_why_there_is_none(model: nb.NaiveBayes) -> None:
    with pytest.raises(ValueError, match=r"links.*Fit with dependence=None.*plot_waterfall"):
        nb.plot_nomogram(model)


def test_a_link_is_no_column_of_a_picture(model: nb.NaiveBayes) -> None:
    with pytest.raises(ValueError, match="is not a column of this model; it has ") as caught:
        nb.plot_column(model, model.schema_.links.words[0])
    assert ARROW not in str(caught.value).split("it has")[1]
    assert nb.plot_column(model, "x0").get_xlabel()
    assert nb.relevance(model).feature.values.tolist() == list(model.schema_.families)


@pytest.mark.parametrize("columns", [("x0", "copy"), ("copy", "x0"), ("x0", "x1")])
def test_a_boundary_is_where_rows_without_the_other_columns_change_class(
    model: nb.NaiveBayes, columns: tuple[str, str]
) -> None:
    X, _ = planted()
    plane = plane_of(model, columns)
    assert (plane.link is not None) == ("copy" in columns)
    rows = X.iloc[:40].copy()
    for name in set(X) - set(columns):
        rows[name] = None if name == "level" else np.nan
    joint = model.predict_joint_log_proba(rows)
    margins = [plane.margins(*rows.loc[[at], list(columns)].to_numpy(float).T)[0, 0] for at in rows.index]
    np.testing.assert_allclose(np.array(margins)[:, 1], joint[:, 1] - joint[:, 0], atol=1e-10)


@pytest.mark.slow
def test_the_band_of_a_boundary_is_where_the_interval_of_such_rows_holds_one_half(model: nb.NaiveBayes) -> None:
    X, _ = planted()
    plane = plane_of(model, ("x0", "copy"))
    rows = X.iloc[:30].copy()
    rows[["x1", "x2", "x3"]], rows["level"] = np.nan, None
    interval = model.predict_interval(rows, rows="fixed", ci_prob=0.8).sel({"class": "yes"})
    inside = ((interval.lower < 0.5) & (interval.upper > 0.5)).values
    x = rows[["x0", "copy"]].to_numpy(float)
    unsure = [plane.uncertainty(row[:1], row[1:], 0.8, 0)[0, 0] for row in x]
    assert (np.array(unsure) > 0).tolist() == inside.tolist()
    assert nb.plot_boundary(model, *planted(), features=("x0", "copy")).get_ylabel() == "copy"


def test_no_link_is_tuned(model: nb.NaiveBayes) -> None:
    X, y = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.BoundaryWarning)  # of columns that are noise
        assert () not in nb.tune(model, X, y, force=True).families


# The page


@pytest.fixture(scope="module")
def facts(birds: tuple) -> object:
    return gather(*birds)


def test_the_page_lists_the_strongest_links_with_the_models_numbers(birds: tuple, facts: object) -> None:
    text = section("dependence", facts)  # type: ignore[arg-type]
    links = birds[0].links_.to_dataframe().sort_values("log_bayes_factor", ascending=False)
    title = "The links" if len(links) <= 12 else "The strongest links"
    _, *rows = Page(text).tables[title]
    assert len(rows) == min(len(links), 12)
    for (name, nats, exponent), link in zip(rows, links.itertuples(), strict=False):
        assert name == f"{link.first}{ARROW}{link.second}"
        assert float(nats) == pytest.approx(link.log_bayes_factor, abs=0.51)
        assert exponent == f"{link.temper:.2f} ± {link.temper_sd:.2f}"
    assert len(re.findall("<figure", text)) == 2
    assert f"This model has {len(links)} link" in text


def test_what_the_page_says_of_connected_pairs_is_true(birds: tuple, facts: object) -> None:
    table = birds[0].links_.to_dataframe()
    tree = {name: {name} for name in birds[1]}
    for one, two in zip(table["first"], table["second"], strict=True):
        both = tree[one] | tree[two]
        tree |= dict.fromkeys(both, both)
    pairs = facts.comparisons.pairs  # type: ignore[attr-defined]
    apart = {(a.key, b.key) for a, b, _ in pairs if b.key not in tree[a.key]}
    assert {(a.key, b.key) for a, b, _ in facts.comparisons.unconnected} == apart  # type: ignore[attr-defined]
    strong = [(a.key, b.key) for a, b, value in pairs if value > 3]
    text = " ".join(section("dependence", facts).split())  # type: ignore[arg-type]
    assert ("Links connect all of these" in text) == (not set(strong) & apart)
    assert ("counted twice" in text) == bool(set(strong) & apart)


def test_facts_by_column_are_of_columns_alone(birds: tuple, facts: object) -> None:
    names = list(birds[1])
    assert [feature.key for feature in facts.features.all] == names  # type: ignore[attr-defined]
    assert {column.key for column, _ in facts.irregular.columns} == set(names)  # type: ignore[attr-defined]
    assert len(facts.features.single) == len(names)  # type: ignore[attr-defined]
    _, *rows = Page(section("modelled", facts)).tables["Columns and their priors"]  # type: ignore[arg-type]
    assert [row[0] for row in rows] == names


def test_the_density_of_a_row_is_that_of_a_model_that_has_forgotten_it(birds: tuple, facts: object) -> None:
    model, X, y = birds
    for row in (0, 3, 150, 300):
        without = deepcopy(model).forget(X.iloc[[row]], y.iloc[[row]])
        expected = without.log_density(X.iloc[[row]])[0]
        assert facts.held_out.log_density[row] == pytest.approx(expected, rel=1e-6)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_row_is_explained_by_its_columns_and_links_and_its_cells_are_those_of_columns(
    birds: tuple, facts: object
) -> None:
    model, X, _ = birds
    one = left_out_row(0, facts)  # type: ignore[arg-type]
    predictive = one.explained.predictive.sum("feature") + one.explained.predictive_class_term
    gaps = (predictive - predictive[0]).values, one.log_proba - one.log_proba[0]
    np.testing.assert_allclose(*gaps, rtol=1e-3)  # an explanation keeps the exponents, which the row leaves
    text = section("rows", facts)  # type: ignore[arg-type]
    assert one.explained.cell.values.tolist() == model.explain(X.iloc[[0]]).cell.values[0].tolist()
    assert ARROW in text
    assert "standard deviation" not in text.split("<h3>")[0]
    for cells in re.findall(r'data-head="Cells">(.*?)</td>', text, flags=re.DOTALL):
        assert ARROW not in cells


@pytest.mark.slow
def test_names_of_links_that_are_markup_stay_text() -> None:
    X, y = planted()
    X = X.rename(columns={"x0": EVIL, "copy": '<script>alert("1")</script>'})
    facts = gather(nb.NaiveBayes(), X, y)
    for name in ("dependence", "rows", "checks", "headline", "modelled"):
        assert "<script>alert" not in section(name, facts)
    assert "&lt;script&gt;" in section("dependence", facts)
