"""Figures show the numbers that they are given, and can be read: no text lies on another, none is cut off."""

import re
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import bayesnb as nb
from bayesnb.datasets import dogs, penguins
from bayesnb.plots import svg
from bayesnb.plots.log_odds_axis import probability_ticks
from bayesnb.plots.nomogram_plot import fitting, folded, scales_of, spread
from tests.conftest import plainly

EVIL = "$x^ <b> & _"
LONG = "the name of a column that nobody ever wanted to be as long as this"


def birds() -> tuple[nb.NaiveBayes, pd.DataFrame]:
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    return nb.NaiveBayes(dependence=None).fit(X, y), X


def wide(features: int, plain: bool = False) -> tuple[nb.NaiveBayes, pd.DataFrame]:
    """Columns with long names, one of them markup, of numbers and levels by turns; plain of Gaussians, soon fitted."""
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    table: dict[str, Any] = {}
    for j in range(features):
        name = EVIL if j == 1 else f"{LONG}, number {j}"
        x = rng.normal(y * rng.normal(), 1 + y * (j % 3))
        table[name] = np.array([f"{LONG} {k}" for k in range(9)])[rng.integers(0, 9, 80)] if j % 2 else x * 10.0**j**0.5
    X = pd.DataFrame(table)
    labels = np.array([f"class {EVIL}", "a class with a long name, longer than others"])[y]
    return nb.NaiveBayes(dependence=None, **(plainly(X) if plain else {})).fit(X, labels), X


def words() -> tuple[nb.NaiveBayes, pd.DataFrame]:
    rng = np.random.default_rng(0)
    names = tuple(f"word{j}" for j in range(300))
    theta = rng.dirichlet(np.full(300, 0.3), 3)
    X = pd.DataFrame([rng.multinomial(80, theta[i % 3]) for i in range(60)], columns=names)
    return nb.NaiveBayes({names: nb.Multinomial()}).fit(X, np.arange(60) % 3), X


def boxes(figure: Figure) -> list[tuple[str, Any]]:
    """Every text that is shown, and the pixels that it takes."""
    FigureCanvasAgg(figure).draw()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]  # type: ignore[attr-defined]
    found = [(text.get_text(), text.get_window_extent()) for text in shown]
    inside = figure.bbox.padded(1)
    on_page = [(text, box) for text, box in found if box.width > 0 and _is_drawn(text, box, figure)]
    for text, box in on_page:
        assert inside.contains(box.x0, box.y0), text
        assert inside.contains(box.x1, box.y1), text
    return on_page


def _is_drawn(text: str, box: Any, figure: Figure) -> bool:
    """Matplotlib keeps ticks that lie beyond an axis, and does not draw them."""
    for ax in figure.findobj(Axes):
        for axis in (ax.xaxis, ax.yaxis):  # type: ignore[attr-defined]
            low, high = sorted(axis.get_view_interval())
            for tick, at in zip(axis.get_major_ticks(), axis.get_majorticklocs(), strict=False):
                for label in (tick.label1, tick.label2):
                    if label.get_text() == text and np.array_equal(label.get_window_extent().bounds, box.bounds):
                        return label.get_visible() and low <= at <= high
    return True


def assert_readable(figure: Figure) -> None:
    found = boxes(figure)
    assert len(found) > 5
    for (one, a), (other, b) in combinations(found, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= 1, f"{one!r} lies on {other!r}"


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def numbers(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


CASES = [(wide, 2), (wide, 12), (wide, 500), (words,), (birds,)]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, (case[0].__name__, *case[1:]))))
def test_the_texts_of_a_waterfall_do_not_overlap(case: tuple) -> None:
    model, X = case[0](*case[1:])
    found = model.explain(X.iloc[[0, 3, 4]])
    for row, by in zip(found.obs_id.values, ("evidence", "predictive", "evidence"), strict=True):
        assert_readable(nb.plot_waterfall(found, row=row, by=by).get_figure(root=True))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, (case[0].__name__, *case[1:]))))
def test_the_texts_of_a_nomogram_do_not_overlap(case: tuple) -> None:
    assert_readable(nb.plot_nomogram(case[0](*case[1:])[0])[0].get_figure())


def test_the_texts_of_a_boundary_do_not_overlap() -> None:
    model, X = wide(4, plain=True)
    assert_readable(nb.plot_boundary(model, X, np.resize(model.classes_, 80)).get_figure())


def test_a_waterfalls_bars_are_the_differences_of_the_explanation_the_largest_first() -> None:
    model, X = birds()
    found = model.explain(X)
    ax = nb.plot_waterfall(found, row=200, classes=("Adelie", "Gentoo"))
    one = found.sel(obs_id=200)
    a, b = one.sel({"class": "Adelie"}), one.sel({"class": "Gentoo"})
    gap = (a.evidence - b.evidence).values
    order = np.argsort(-np.abs(gap), kind="stable")
    *steps, total = bars(ax)
    widths = [bar.get_width() for bar in steps]
    np.testing.assert_allclose(widths, [(a.class_term - b.class_term).item(), *gap[order]])
    np.testing.assert_allclose([bar.get_x() for bar in steps], np.cumsum([0, *widths[:-1]]), atol=1e-12)
    np.testing.assert_allclose(total.get_width(), (a.score - b.score).item())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    expected = [f"{one.feature.values[j]} = {one.cell.values[j]}" for j in order]
    assert labels == ["class frequency", *expected, "total"]


def test_a_waterfalls_lines_are_sds_of_differences_and_its_mark_is_the_prediction() -> None:
    model, X = birds()
    found = model.explain(X.iloc[[200]])
    ax = nb.plot_waterfall(found, classes=("Adelie", "Gentoo"))
    one = found.isel(obs_id=0)
    a, b = one.sel({"class": "Adelie"}), one.sel({"class": "Gentoo"})
    sds = np.hypot(a.sd, b.sd).values[np.argsort(-np.abs(a.evidence - b.evidence).values, kind="stable")]
    drawn = [np.ptp(path[:, 0]) / 2 for lines in ax.collections for path in lines.get_segments()]  # type: ignore[attr-defined]
    drawn = [half for half in drawn if half > 0]
    expected = [
        np.hypot(a.class_term_sd, b.class_term_sd).item(),
        *sds[sds > 0],
        np.hypot(a.score_sd, b.score_sd).item(),
    ]
    np.testing.assert_allclose(drawn, expected)
    joint = model.predict_joint_log_proba(X.iloc[[200]])[0]
    mark = next(line for line in ax.lines if line.get_marker() == "D")
    np.testing.assert_allclose(mark.get_xdata(), [joint[0] - joint[2]])


def test_a_waterfall_of_predictives_ends_at_the_prediction() -> None:
    model, X = words()
    ax = nb.plot_waterfall(model.explain(X.iloc[[4]]), by="predictive")
    joint = np.sort(model.predict_joint_log_proba(X.iloc[[4]])[0])
    np.testing.assert_allclose(bars(ax)[-1].get_width(), joint[-1] - joint[-2], atol=1e-10)
    assert "±" not in "".join(numbers(ax))


@pytest.mark.parametrize("features", [13, 500])
def test_small_features_are_one_bar(features: int) -> None:
    model, X = wide(features, plain=features > 13)
    found = model.explain(X.iloc[[3]])
    ax = nb.plot_waterfall(found)
    assert len(bars(ax)) == 12 + 3
    assert ax.get_yticklabels()[-2].get_text() == f"{features - 12} others"
    one = found.isel(obs_id=0)
    steps = bars(ax)[:-1]
    np.testing.assert_allclose(sum(bar.get_width() for bar in steps), abs(one.score.diff("class").item()))


def test_words_that_do_not_occur_in_the_row_are_not_counted() -> None:
    model, X = words()
    ax = nb.plot_waterfall(model.explain(X), row=4)
    assert ax.get_yticklabels()[-2].get_text() == f"{(X.loc[4] > 0).sum() - 12} others"


def test_a_waterfall_sets_the_most_probable_class_against_the_next() -> None:
    model, X = birds()
    joint = model.predict_joint_log_proba(X)
    for row in (0, 3, 200, 300):
        ax = nb.plot_waterfall(model.explain(X.iloc[[row]]))
        first, second = model.classes_[np.argsort(-joint[row])[:2]]
        title, proba = ax.get_title(loc="left"), np.sort(model.predict_proba(X.iloc[[row]])[0])
        assert re.match(f"Row {row} · {first}: .* · {second}: ", title)
        assert ("> 99.9 %" in title) == (proba[-1] > 0.9995)
        assert ax.get_xlabel().startswith(f"log-odds against {second}")


def test_what_cannot_be_drawn_is_an_error_that_says_why() -> None:
    model, X = birds()
    found = model.explain(X.iloc[:3])
    with pytest.raises(ValueError, match="row 7 is not among the 3 rows"):
        nb.plot_waterfall(found, row=7)
    with pytest.raises(ValueError, match=r"two different ones of .*'Gentoo'.*got"):
        nb.plot_waterfall(found, classes=("Adelie", "Pinguin"))
    with pytest.raises(ValueError, match="by must be"):
        nb.plot_waterfall(found, by="mean")
    with pytest.raises(ValueError, match="only"):
        nb.plot_waterfall(nb.GaussianNB().fit([[1.0], [2.0]], [1, 1]).explain([[1.0]]))
    with pytest.raises(ValueError, match="not fitted"):
        nb.plot_nomogram(nb.GaussianNB())
    twice = X.iloc[[0, 0]]
    with pytest.raises(ValueError, match="2 rows are called 0"):
        nb.plot_waterfall(model.explain(twice), row=0)


def test_a_row_that_a_class_makes_impossible_has_no_waterfall() -> None:
    model = nb.NaiveBayes(nb.Categorical(0.0)).fit(pd.DataFrame({"x": ["u", "v", "v"]}), ["a", "b", "b"])
    with pytest.raises(ValueError, match="column 'x' makes one of the classes"):
        nb.plot_waterfall(model.explain(pd.DataFrame({"x": ["u"]})))


def points_of(model: nb.NaiveBayes, found: Any) -> dict[str, dict[str, float]]:
    return {
        scale.name: {label: at for line in scale.lines for label, at in zip(line.labels, line.points, strict=True)}
        for scale in found.scales
    }


@pytest.mark.parametrize("temper", [None, 0.3])
def test_the_points_of_a_nomogram_add_up_to_the_prediction(temper: float | None) -> None:
    rng, y = np.random.default_rng(0), np.arange(300) % 3
    X = pd.DataFrame(
        {
            "size": np.round(rng.normal(y, 1 + y)),
            "visits": rng.poisson(2.0 + y),
            "events": rng.poisson(1000 + 30 * y) // 100 * 100,
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, 300)],
            "member": rng.random(300) < 0.5,
        }
    )
    model = nb.NaiveBayes({"visits": nb.Poisson(), "events": nb.Poisson()}, temper=temper).fit(X, y)
    found = scales_of(model, (2, 0))
    points = points_of(model, found)
    rows = 0
    for row, joint in zip(X.to_dict("records"), model.predict_joint_log_proba(X), strict=True):
        said = {
            "size": f"{row['size']:g}".replace("-", "\u2212"),
            "visits": str(row["visits"]),
            "events": str(row["events"]),
            "colour": row["colour"],
            "member": "yes" if row["member"] else "no",
        }
        if all(said[name] in points[name] for name in said):
            total = found.start + sum(points[name][said[name]] for name in said)
            np.testing.assert_allclose(total, joint[2] - joint[0], atol=1e-10)
            rows += 1
    assert rows > 10


def test_a_words_point_is_that_of_a_row_with_this_word_alone() -> None:
    model, X = words()
    found = scales_of(model, (1, 2))
    points = points_of(model, found)
    for name, own in points.items():
        row = pd.DataFrame([(X.columns == name).astype(int)], columns=X.columns)
        joint = model.predict_joint_log_proba(row)[0]
        np.testing.assert_allclose(found.start + own["each time"], joint[1] - joint[2], atol=1e-10)


def test_the_most_influential_features_are_those_that_part_the_classes() -> None:
    rng, y = np.random.default_rng(0), np.arange(400) % 2
    X = rng.normal(size=(400, 40)) + y[:, None] * np.arange(40) / 20
    found = scales_of(nb.GaussianNB().fit(X, y), most=5)
    assert {scale.name for scale in found.scales} <= {str(j) for j in range(30, 40)}
    assert found.features == 40


def test_a_nomograms_dots_are_its_points_and_its_scales_are_named() -> None:
    model, _ = birds()
    found = scales_of(model, ("Adelie", "Chinstrap"))
    upper, lower = nb.plot_nomogram(model, ("Adelie", "Chinstrap"))
    drawn = [np.asarray(dots.get_offsets())[:, 0] for dots in upper.collections if len(dots.get_offsets()) > 0]
    drawn = [x for x in drawn if len(x)]
    lines = [line for scale in found.scales for line in scale.lines if len(line.points)]  # one without marks has no dot
    scattered = [x for x in drawn if any(len(x) == len(line.points) and np.allclose(x, line.points) for line in lines)]
    assert len(scattered) == len(lines)
    assert [label.get_text() for label in upper.get_yticklabels()] == [
        "class frequency",
        *(scale.name for scale in found.scales),
    ]
    assert lower.get_xlim() == (-7, 7)


def test_a_scale_that_turns_is_folded_and_every_value_lies_on_its_line() -> None:
    x = np.linspace(-4, 4, 401)
    lines = folded(x, x**2, np.arange(-4.0, 5), np.arange(-4.0, 5) ** 2)
    assert [[label.replace("\u2212", "-") for label in line.labels] for line in lines] == [
        ["-4", "-3", "-2", "-1"],
        ["0", "1", "2", "3", "4"],
    ]
    assert [line.turn for line in lines] == [0, None]
    assert all(line.ends == (0, 16) for line in lines)
    assert len(folded(x, np.tanh(x), x[::50], np.tanh(x[::50]))) == 1
    wobble = x + 0.05 * np.sin(20 * x)  # turns, but slightly
    assert len(folded(x, wobble, x[::50], wobble[::50])) == 1


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_spread_without_overlap_and_no_further_than_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at, widths = np.sort(rng.normal(50, 10 * rng.random(), 6)), rng.uniform(2, 12, 6)
    place = spread(at, widths, (0, 100), 1.0)
    assert (np.diff(place) >= (widths[1:] + widths[:-1]) / 2 + 1 - 1e-9).all()
    assert place[0] - widths[0] / 2 >= -1e-9
    assert place[-1] + widths[-1] / 2 <= 100 + 1e-9
    far = np.arange(6) * 15.0 + 10
    np.testing.assert_allclose(spread(far, widths, (0, 100), 1.0), far)


def test_of_labels_without_room_the_most_important_stay() -> None:
    assert fitting(np.full(4, 3.0), np.array([1.0, 4.0, 2.0, 3.0]), 7.0).tolist() == [1, 3]


def test_probabilities_stand_where_their_log_odds_are() -> None:
    at, labels = probability_ticks(-8, 8, 600, 10)
    assert "50 %" in labels
    p = [float(label.removesuffix(" %")) / 100 for label in labels]
    np.testing.assert_allclose(at, np.log(p) - np.log1p(-np.array(p)), atol=1e-9)
    assert probability_ticks(0, 400, 150, 10)[1][0] == "50 %"


@pytest.mark.slow
def test_figures_go_onto_pages_and_take_their_colour() -> None:
    model, X = wide(3)
    for ax in (nb.plot_waterfall(model.explain(X.iloc[:1])), nb.plot_nomogram(model)[0]):
        shown = svg(ax, "why")
        assert shown.startswith("<svg viewBox=")
        assert "currentColor" in shown
        assert "#000000" not in shown
        assert EVIL not in shown
        assert EVIL.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in shown


def test_figures_are_drawn_in_given_axes_and_leave_matplotlib_as_it_was() -> None:
    model, X = birds()
    before = dict(matplotlib.rcParams)
    ax = Figure().subplots()
    assert nb.plot_waterfall(model.explain(X.iloc[:1]), ax=ax) is ax
    upper, lower = Figure().subplots(2)
    drawn = nb.plot_nomogram(model, ax=(upper, lower))
    assert drawn[0] is upper
    assert drawn[1] is lower
    assert dict(matplotlib.rcParams) == before


def test_six_dogs_have_both_figures() -> None:
    table = dogs()
    known, breed = table.drop(columns="breed"), table["breed"]
    model = nb.NaiveBayes(**plainly(known)).fit(known, breed)
    stray = known.head(1).assign(height=25, weight=31, curled_tail=True)
    ax = nb.plot_waterfall(model.explain(stray))
    assert ax.get_title(loc="left") == "Row 0 · Labradoodle: 72 % · English cocker: 28 %"
    assert len(nb.plot_nomogram(model)) == 2


def test_a_waterfall_of_a_model_or_of_another_result_says_what_it_draws() -> None:
    model, X = birds()
    for wrong in (X, model.uncertainty(X.iloc[:2])):
        with pytest.raises(TypeError, match=r"plot_waterfall\(model, X, row=\.\.\.\)"):
            nb.plot_waterfall(wrong)
    with pytest.raises(TypeError, match="a model is drawn together with its data"):
        nb.plot_waterfall(model)
    with pytest.raises(TypeError, match=r"X and y go with a model"):
        nb.plot_waterfall(model.explain(X.iloc[:2]), 1)
    ours, theirs = nb.plot_waterfall(model, X.iloc[:3], row=2), nb.plot_waterfall(model.explain(X.iloc[:3]), row=2)
    assert numbers(ours) == numbers(theirs)


@pytest.mark.slow
def test_a_waterfall_finds_a_row_by_the_name_that_it_has_in_the_frame() -> None:
    model, X = birds()
    rows = X.iloc[:2].set_axis(pd.MultiIndex.from_tuples([("u", 1), ("v", 2)]))
    found = model.explain(rows)
    titles = [nb.plot_waterfall(found, row=row).get_title() for row in (("v", 2), "('v', 2)")]
    assert titles[0] == titles[1]
    with pytest.raises(ValueError, match="not among the 2 rows"):
        nb.plot_waterfall(found, row=("v", 1))


@pytest.mark.slow
def test_every_picture_has_a_title_and_named_axes_and_takes_a_model() -> None:
    model, X = birds()
    table = penguins().drop(columns="year")
    y = table["species"]
    linked = nb.NaiveBayes().fit(X, y)
    drawn: dict[str, Any] = {
        "relevance": nb.plot_relevance(model),
        "dependence": nb.plot_dependence(model, X, y),
        "links": nb.plot_dependence(linked),
        "uncertainty": nb.plot_uncertainty(model, X),
        "confusion": nb.plot_confusion(model, X, y),
        "calibration": nb.plot_calibration(model, X, y, by="predicted"),
        "waterfall": nb.plot_waterfall(model, X),
        "column": nb.plot_column(model, "bill_length_mm", X, y),
        "levels": nb.plot_column(model, "island"),
        "boundary": nb.plot_boundary(model, X, y),
        "nomogram": nb.plot_nomogram(model)[0],
        "words": nb.plot_words(words()[0], [1]),
    }
    for name, ax in drawn.items():
        figure = ax.get_figure()
        assert ax.get_title(loc="left") or figure.get_suptitle(), name
        assert ax.get_xlabel() or name == "dependence", name
        if name not in (
            "relevance",
            "dependence",
            "links",
            "waterfall",
            "levels",
            "nomogram",
            "words",
        ):  # names of rows
            assert ax.get_ylabel(), name
        assert_readable(figure)


def test_links_are_drawn_from_the_model_or_its_links() -> None:
    table = penguins()
    model = nb.NaiveBayes().fit(table.drop(columns="species"), table["species"])
    assert numbers(nb.plot_dependence(model)) == numbers(nb.plot_dependence(model.links_))


@pytest.mark.parametrize("rows", [True, False])
def test_a_density_is_not_cut_off(rows: bool) -> None:
    X, y = penguins()[["bill_length_mm", "body_mass_g"]], penguins()["species"]
    gaussian = nb.NaiveBayes("gaussian").fit(X, y)
    for column in ("bill_length_mm", "body_mass_g"):
        ax = nb.plot_column(gaussian, column, *((X, y) if rows else ()))
        curves = [line for line in ax.get_lines() if len(line.get_xdata()) > 100]  # type: ignore[arg-type]
        assert len(curves) == 3
        for curve in curves:
            height = np.asarray(curve.get_ydata())
            assert max(height[0], height[-1]) < 0.06 * height.max()
