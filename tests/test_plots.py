"""Pictures show the numbers that functions return, and can be read."""

from functools import cache
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.plots.column_data import read_column
from bayesnb.plots.shape_plot import read_shape

EVIL = "$x^ <b> & _"
LONG = "the name of a column that nobody ever wanted to be as long as this"
PENGUINS = penguins().drop(columns="year")
X = PENGUINS.drop(columns="species")
SPECIES = PENGUINS["species"]
IRIS, KINDS = load_iris(return_X_y=True)
PLAIN: dict[str, Any] = {"dependence": None, "temper": None}


# Tables


@cache
def birds() -> tuple[nb.NaiveBayes, pd.DataFrame]:
    return nb.NaiveBayes(dependence=None).fit(X, SPECIES), X


@cache
def words(classes: int = 3) -> tuple[nb.NaiveBayes, pd.DataFrame]:
    rng = np.random.default_rng(0)
    names = tuple(f"{LONG} {j}" if j % 9 == classes else f"word{j}" for j in range(300))
    shares = rng.dirichlet(np.full(300, 0.3), classes)
    counts = pd.DataFrame([rng.multinomial(80, shares[i % classes]) for i in range(60)])
    counts.columns = names
    return nb.NaiveBayes({names: nb.Multinomial()}).fit(counts, np.arange(60) % classes), counts


@cache
def wide(features: int, classes: int = 2) -> tuple[nb.NaiveBayes, pd.DataFrame, np.ndarray]:
    """Long names and markup; numbers, levels, counts and flags by turns, one row far out."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % classes
    table: dict[str, Any] = {
        EVIL: np.where(np.arange(240) == 7, 1e9, rng.normal(y, 1)),
        LONG: np.array([f"{LONG} {k}" for k in range(30)])[rng.integers(0, 30, 240)],
        "visits": rng.poisson(3 + y),
        "flag": rng.random(240) < 0.3,
        "cut": rng.random(240),
        "nothing": np.nan,
        "constant": 2.0,
    }
    for j in range(features - len(table)):
        table[f"{LONG}, number {j}"] = rng.normal(y * rng.normal(), 10.0**j**0.5)
    families = {"visits": nb.Poisson(), "cut": nb.Bernoulli(threshold=0.5)}
    families |= {name: nb.Gaussian() for name in list(table)[7:]}
    labels = np.array([f"class {EVIL} {k}" if k % 2 else f"{LONG} {k}" for k in range(classes)])[y]
    x = pd.DataFrame(table)
    return nb.NaiveBayes(families, dependence=None).fit(x, labels), x, labels


@cache
def labelled(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, a fifth of them taken for another."""
    rng = np.random.default_rng(classes)
    names = np.array([EVIL, *(f"{LONG} {k}" if k % 3 else f"kind {k}" for k in range(1, classes))])
    y = rng.integers(0, classes, 900)
    guessed = np.where(rng.random(900) < 0.8, y, rng.integers(0, classes, 900))
    return names[y], names[guessed]


# What can be read


def assert_readable(figure: Any) -> None:
    """No two texts of a figure overlap, and none leaves it."""
    FigureCanvasAgg(figure).draw()
    page = figure.bbox.padded(1)
    shown = []
    for text in figure.findobj(Text):
        box = text.get_window_extent()
        if text.get_visible() and text.get_text().strip() and box.width and _is_drawn(text, figure):
            assert page.contains(box.x0, box.y0), text
            assert page.contains(box.x1, box.y1), text
            shown.append((text, box))
    assert len(shown) > 5
    for (one, a), (other, b) in combinations(shown, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= 1, f"{one.get_text()!r} lies on {other.get_text()!r}"


def _is_drawn(text: Text, figure: Any) -> bool:
    """Matplotlib keeps ticks that lie beyond an axis, and does not draw them."""
    for ax in figure.findobj(lambda artist: hasattr(artist, "xaxis")):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick, at in zip(axis.get_major_ticks(), axis.get_majorticklocs(), strict=False):
                if text in (tick.label1, tick.label2):
                    return low <= at <= high
    return True


def draw_uncertainty(rows: int, classes: int) -> Any:
    y = np.arange(rows) % classes
    x = np.random.default_rng(0).normal(size=(rows, 3)) + y[:, None]
    return nb.plot_uncertainty(nb.GaussianNB().fit(x, y).uncertainty(x))


@cache
def compare_smoothing() -> nb.SmoothingComparison:
    return nb.compare_smoothing(birds()[0], X, SPECIES, smoothing=(0, 1e-5, 0.01, 0.3, 1, 20))


def draw_column(name: str, classes: int, scale: str = "density") -> Any:
    model, x, labels = wide(7, classes)
    return nb.plot_column(model, name, x, labels, scale=scale)


PICTURES: dict[str, Any] = {
    "relevance": lambda: nb.plot_relevance(wide(60)[0]),
    "importance": lambda: nb.plot_relevance(nb.importance(*wide(12))),
    "dependence": lambda: nb.plot_dependence(birds()[0], X, SPECIES),
    "links": lambda: nb.plot_dependence(nb.NaiveBayes().fit(X, SPECIES)),
    "calibration": lambda: nb.plot_calibration(birds()[0], X, SPECIES, by="predicted"),
    "calibration of 3": lambda: nb.plot_calibration(birds()[0], X, SPECIES)[0],
    "calibration of 9": lambda: nb.plot_calibration(*wide(12, 9))[0],
    "smoothing": lambda: compare_smoothing().plot()[0],
    "waterfall": lambda: nb.plot_waterfall(birds()[0], X),
    "waterfall, wide": lambda: nb.plot_waterfall(*wide(500)[:2], row=3),
    "waterfall, words": lambda: nb.plot_waterfall(*words(), row=4, by="predictive"),
    "boundary": lambda: nb.plot_boundary(birds()[0], X, SPECIES),
    "boundary, nine classes": lambda: nb.plot_boundary(*wide(12, 9)),
    "words": lambda: nb.plot_words(words()[0])[0],
    "words of 20 classes": lambda: nb.plot_words(words(20)[0])[0],
    "confusion of 2": lambda: nb.plot_confusion(*labelled(2)),
    "confusion of 12": lambda: nb.plot_confusion(*labelled(12)),
    "confusion of 40": lambda: nb.plot_confusion(*labelled(40)),
    "uncertainty of 6 rows": lambda: draw_uncertainty(6, 2),
    "uncertainty of 20 classes": lambda: draw_uncertainty(400, 20),
}
for _name in wide(7)[1]:
    for _classes in (3, 20):
        PICTURES[f"{_name[:8]}, {_classes}"] = lambda n=_name, c=_classes: draw_column(n, c)
        PICTURES[f"{_name[:8]}, {_classes}, shape"] = lambda n=_name, c=_classes: draw_column(
            n, c, "log-odds"
        )


@pytest.mark.slow
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_no_text_of_a_picture_lies_on_another_or_is_cut_off(draw: Any) -> None:
    ax = draw()
    figure = ax.get_figure(root=True)
    assert ax.get_title(loc="left") or figure.get_suptitle()
    assert_readable(figure)


def test_pictures_are_drawn_in_given_axes_and_leave_settings_as_they_were() -> None:
    before = dict(matplotlib.rcParams)
    model = birds()[0]
    mails = words()[0]
    for draw, *given in (
        (nb.plot_relevance, model),
        (nb.plot_dependence, model, X, SPECIES),
        (nb.plot_waterfall, model, X),
        (nb.plot_column, model, "island"),
        (nb.plot_boundary, iris(2)),
        (nb.plot_words, mails, [0]),
        (nb.plot_confusion, list("aab"), list("aba")),
        (nb.plot_uncertainty, model, X),
    ):
        axes = Figure().subplots()
        result = draw(*given, ax=axes)
        assert np.all(np.equal(result, axes))
    assert dict(matplotlib.rcParams) == before


# What is drawn


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def segments(ax: Axes) -> np.ndarray:
    """Ends of all horizontal lines, `(n, 2)`."""
    lines = [
        path
        for part in ax.collections
        if hasattr(part, "get_segments")
        for path in part.get_segments()
    ]
    return np.array([path[:, 0] for path in lines if np.ptp(path[:, 1]) == 0])


def names(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_waterfall_is_the_difference_of_two_classes_column_by_column() -> None:
    model = birds()[0]
    explained = model.explain(X)
    ax = nb.plot_waterfall(explained, row=200, classes=("Adelie", "Gentoo"))
    row = explained.sel(obs_id=200)
    a = row.sel({"class": "Adelie"})
    b = row.sel({"class": "Gentoo"})
    gap = (a.evidence - b.evidence).values
    sd = np.hypot(a.sd, b.sd).values
    order = np.argsort(-np.abs(gap), kind="stable")
    *steps, total = bars(ax)
    widths = [bar.get_width() for bar in steps]
    assert_allclose(widths, [a.class_term - b.class_term, *gap[order]])
    assert_allclose([bar.get_x() for bar in steps], np.cumsum([0, *widths[:-1]]), atol=1e-12)
    assert_allclose(total.get_width(), a.score - b.score)
    first = np.hypot(a.class_term_sd, b.class_term_sd)
    assert_allclose(
        np.diff(segments(ax))[:, 0] / 2, [first, *sd[order], np.hypot(a.score_sd, b.score_sd)]
    )
    cells = [f"{row.feature.values[j]} = {row.cell.values[j]}" for j in order]
    assert names(ax.yaxis) == ["class frequency", *cells, "total"]
    joint = model.predict_joint_log_proba(X.loc[[200]])[0]
    mark = next(line for line in ax.lines if line.get_marker() == "D")
    assert_allclose(mark.get_xdata(), [joint[0] - joint[2]])


@pytest.mark.parametrize("table", [words, lambda: wide(60)[:2]])
def test_small_features_are_one_bar_and_the_sum_is_the_prediction(table: Any) -> None:
    model, x = table()
    ax = nb.plot_waterfall(model, x, row=4, by="predictive")
    *steps, total = bars(ax)
    joint = np.sort(model.predict_joint_log_proba(x.loc[[4]])[0])
    assert_allclose(total.get_width(), joint[-1] - joint[-2], atol=1e-9)
    assert_allclose(sum(bar.get_width() for bar in steps), total.get_width(), atol=1e-9)
    assert names(ax.yaxis)[-2].endswith(" others")


def iris(classes: int, rows: int = 50, **options: Any) -> nb.NaiveBayes:
    """The last classes, so many rows of each."""
    keep = (classes + KINDS >= 3) & (np.arange(150) % 50 < rows)
    return nb.NaiveBayes(**PLAIN | options).fit(IRIS[keep], KINDS[keep])


def plane(ax: Axes, features: tuple[int, int]) -> np.ndarray:
    """Rows at places of a picture, all other cells missing."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    rows = np.full((300, 4), np.nan)
    rows[:, features] = np.random.default_rng(0).uniform([left, low], [right, high], (300, 2))
    return rows


def inside(part: QuadContourSet, points: np.ndarray) -> np.ndarray:
    """Whether points lie in the filled region: in an odd number of its outlines."""
    crossed = [np.zeros(len(points), int)]
    for path in part.get_paths():
        for outline in path.to_polygons():
            crossed.append(matplotlib.path.Path(outline).contains_points(points).astype(int))
    return np.sum(crossed, axis=0) % 2 == 1


BOUNDARIES: dict[str, dict[str, Any]] = {
    "shared": {"families": nb.Gaussian(shared=True), "temper": 0.4},
    "trees": {"families": nb.Histogram()},
}


@pytest.mark.parametrize("kind", ["shared", pytest.param("trees", marks=pytest.mark.slow)])
def test_the_colour_of_a_place_is_what_predict_says_where_other_cells_are_missing(
    kind: str,
) -> None:
    model = iris(3, **BOUNDARIES[kind])
    features = (2, 1)
    ax = nb.plot_boundary(model, features=features)
    rows = plane(ax, features)
    contours = [part for part in ax.collections if isinstance(part, QuadContourSet)]
    regions = [part for part in contours if part.filled][:3]
    drawn = np.stack([inside(part, rows[:, features]) for part in regions], axis=1)
    joint = np.sort(model.predict_joint_log_proba(rows), axis=1)
    clear = joint[:, 2] - joint[:, 1] > 1.0
    assert clear.sum() > 50
    right = drawn.argmax(axis=1) == model.predict(rows)
    one = drawn.sum(axis=1) == 1
    assert (right & one)[clear].mean() > 0.98  # a grid of 121 places a side has steps
    for line in contours:
        if kind != "trees" and np.all(line.get_linewidths() == 1.3):
            vertices = line.get_paths()[0].vertices
            at = np.full((len(vertices), 4), np.nan)
            at[:, features] = vertices
            tie = np.sort(model.predict_joint_log_proba(at), axis=1)
            assert np.abs(tie[:, 2] - tie[:, 1]).max() < 0.05


@pytest.mark.parametrize(("classes", "rows"), [(2, 50), pytest.param(3, 8, marks=pytest.mark.slow)])
def test_the_band_is_what_the_posterior_leaves_open(classes: int, rows: int) -> None:
    """Between two classes the interval of a place holds 1/2; among three, draws disagree."""
    model = iris(classes, rows, families=nb.Gaussian())
    features = (0, 1)
    ax = nb.plot_boundary(model, features=features, ci_prob=0.8)
    at = plane(ax, features)
    *_, band = [part for part in ax.collections if isinstance(part, QuadContourSet) and part.filled]
    drawn = inside(band, at[:, features])
    if classes == 2:
        interval = model.predict_interval(at, ci_prob=0.8, rows="fixed").isel({"class": 0})
        gap = np.minimum(interval.upper - 0.5, 0.5 - interval.lower).values
        clear = np.abs(gap) > 0.02
    else:
        decided = model.draw_proba(at, 1000, rng=1).values.reshape(4000, 300, 3).argmax(axis=2)
        share = np.stack([(decided == c).mean(axis=0) for c in range(3)]).max(axis=0)
        gap = 0.9 - share
        clear = np.abs(gap) > 5 * np.sqrt(2 * 0.09 / 4000) + 0.01
    assert_array_equal(drawn[clear], gap[clear] > 0)
    assert 10 < drawn.sum() < 290


def test_curves_and_bars_of_a_column_are_its_predictive_densities() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    table = pd.DataFrame(
        {"size": rng.normal(y), "nests": rng.poisson(2 + y), "kind": y.astype(str)}
    )
    model = nb.NaiveBayes({"size": nb.Gaussian(), "nests": nb.Poisson()}, **PLAIN).fit(table, y)

    def log_density(name: str, cells: Any) -> np.ndarray:
        """What the cells of one column add to the score of each class, `(r, c)`."""
        rows = table.iloc[[0]].loc[np.zeros(len(cells), int)].reset_index(drop=True)
        rows = rows.astype({"nests": float})
        rows[table.columns.drop(name)] = None
        return model.predict_joint_log_proba(rows.assign(**{name: cells})) - np.log(0.5)

    curves = [line.get_data() for line in nb.plot_column(model, "size").lines]
    curves = [curve for curve in curves if len(curve[0])]
    assert len(curves) == 2
    for c, (at, height) in enumerate(curves):
        assert_allclose(height, np.exp(log_density("size", at)[:, c]), rtol=1e-9)
    heights = np.array([bar.get_height() for bar in nb.plot_column(model, "nests").patches])
    heights = heights.reshape(2, -1)
    assert_allclose(heights.T, np.exp(log_density("nests", np.arange(heights.shape[1]))), atol=1e-9)
    ax = nb.plot_column(model, "kind", ci_prob=0.5)
    belief = model.posterior_["kind"]
    assert_allclose([bar.get_width() for bar in ax.patches], belief.mean().ravel())
    assert_allclose(segments(ax).T, [end.ravel() for end in belief.interval(0.5)])
    mails = words()[0]
    share = next(iter(mails.posterior_.values())).mean()[..., 7].ravel()
    assert_allclose([bar.get_width() for bar in nb.plot_column(mails, "word7").patches], share)


COLUMNS = ["smooth", "skewed", "far", "zeros", "rounded", "years", "grades", "constant"]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("with_rows", [True, False])
def test_what_is_drawn_of_a_tree_are_shares_of_each_class(name: str, with_rows: bool) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    smooth = rng.normal(2 * y, 1)
    amount = np.exp(rng.normal(5 + y, 1.3))
    table = pd.DataFrame(
        {
            "smooth": smooth,
            "skewed": amount,
            "far": np.where(rng.random(400) < 0.01, 1e6, smooth),
            "zeros": np.where(rng.random(400) < 0.2 + 0.4 * y, 0.0, amount),
            "rounded": smooth.round(1),
            "years": rng.integers(18, 90, 400) + 5.0 * y,
            "grades": rng.integers(1, 6, 400),
            "constant": 1e6,
        }
    )[[name]]
    model = nb.NaiveBayes(nb.Histogram(), **PLAIN).fit(table, y)
    ax = nb.plot_column(model, name, *((table, y) if with_rows else ()))
    if name in ("grades", "constant"):
        heights = np.array([[bar.get_height() for bar in each] for each in ax.containers])
    else:
        heights = np.array([line.get_ydata()[:-1] for line in ax.lines])
    edges = np.linspace(*ax.get_xlim(), heights.shape[1] + 1)
    for c in range(2):
        cells = table[name][y == c].clip(lower=edges[0])
        assert_allclose(heights[c], np.histogram(cells, edges)[0] / 200, atol=0.07)
    beyond = 1 - heights.sum(axis=1).min()
    assert -1e-9 < beyond < 0.08
    assert (beyond > 0.001) == ("of a class" in ax.get_xlabel())
    if name == "far":
        assert edges[-1] < 30
        assert not with_rows or f"{(table['far'] == 1e6).sum()} rows" in ax.get_xlabel()


@pytest.mark.parametrize("rows", [True, False])
def test_a_density_is_not_cut_off(rows: bool) -> None:
    model = nb.NaiveBayes("gaussian").fit(X[["body_mass_g"]], SPECIES)
    ax = nb.plot_column(model, "body_mass_g", *((X[["body_mass_g"]], SPECIES) if rows else ()))
    curves = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) > 100]
    assert len(curves) == 3
    for height in curves:
        assert max(height[0], height[-1]) < 0.06 * height.max()


def test_intervals_of_words_hold_the_share_of_draws_that_they_promise() -> None:
    model, counts = words(2)
    shares = next(iter(model.posterior_.values())).sample(np.random.default_rng(1), 4_000)
    shares = np.asarray(getattr(shares, "probability", shares)).reshape(4_000, 2, 300)
    error = 5 * np.sqrt(0.1 * 0.9 / 4_000)
    for c, ax in enumerate(nb.plot_words(model, most=6, ci_prob=0.8)):
        lower, upper = np.log(segments(ax)).T
        assert len(lower) == 6
        assert (np.diff(lower) <= 0).all()
        for name, low, high in zip(names(ax.yaxis), lower, upper, strict=True):
            if name in counts:  # in full
                j = counts.columns.get_loc(name)
                gap = np.log(shares[:, c, j] / shares[:, 1 - c, j])
                assert (gap < low).mean() == pytest.approx(0.1, abs=error)
                assert (gap > high).mean() == pytest.approx(0.1, abs=error)


def test_a_confusion_has_a_share_and_its_interval_in_every_cell_that_has_rows() -> None:
    ax = nb.plot_confusion(list("aaaabbbbbc"), list("aaabbbbbba"), ci_prob=0.8)
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    low, high = stats.beta(3.5, 1.5).interval(0.8)
    assert cells[0, 0] == f"75 %\n{100 * low:.0f} to {100 * high:.0f}"
    assert set(cells) == {(0, 0), (1, 0), (1, 1), (0, 2)}
    assert names(ax.yaxis) == ["a (4)", "b (5)", "c (1)"]
    y, guessed = labelled(30)
    pairs, counts = np.unique(np.stack([y, guessed])[:, y != guessed], axis=1, return_counts=True)
    most = (y == pairs[0, counts.argmax()]).sum()
    assert nb.plot_confusion(y, guessed).patches[0].get_width() == counts.max() / most
    assert nb.plot_confusion(y, y).get_xlabel() == "no errors"


@pytest.mark.parametrize("rows", [30, 400])
def test_both_parts_of_the_uncertainty_lie_on_each_other_the_most_uncertain_row_first(
    rows: int,
) -> None:
    y = np.arange(rows) % 3
    x = np.random.default_rng(0).normal(size=(rows, 3)) + y[:, None]
    parts = nb.GaussianNB().fit(x, y).uncertainty(x).to_frame()
    ax = nb.plot_uncertainty(nb.GaussianNB().fit(x, y), x, most=50)
    low, high = (patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch))
    shown = parts.sort_values("entropy", ascending=False, kind="stable")[: int(high.edges[-1])]
    width = np.diff(high.edges)
    assert_allclose(width @ low.values, shown["aleatoric"].sum())
    assert_allclose(width @ high.values, shown["entropy"].sum())
    assert_allclose(high.baseline, low.values)
    if rows == 30:
        assert_allclose(high.values, shown["entropy"])


def test_calibration_relevance_and_dependence_draw_what_these_functions_return() -> None:
    model = birds()[0]
    found = nb.calibration(model, X, SPECIES)
    for k, ax in enumerate(nb.plot_calibration(found)):
        _, curve, points = ax.lines[:3]
        own = found.isel({"class": k})
        drawn = np.interp(own.probability, curve.get_xdata(), curve.get_ydata())
        assert_allclose(drawn, own.calibrated, atol=1e-12)
        assert_array_equal(points.get_ydata(), own.observed[own["count"] > 0])
        (band,) = ax.collections[0].get_paths()
        at = np.argmin(abs(own.probability.values - 0.5))
        heights = band.vertices[band.vertices[:, 0] == own.probability[at].item(), 1]
        assert heights.min() == pytest.approx(own.curve_band_lower[at].item())
        assert heights.max() == pytest.approx(own.curve_band_upper[at].item())
    factors = nb.relevance(model).log_bayes_factor.to_series().sort_values(ascending=False)
    lost = nb.importance(model, X, SPECIES).importance.to_series().sort_values(ascending=False)
    for ax, expected in (
        (nb.plot_relevance(model, most=4), factors),
        (nb.plot_relevance(nb.importance(model, X, SPECIES), most=4), lost),
    ):
        assert_allclose([bar.get_width() for bar in ax.patches], expected[:4])
        assert names(ax.yaxis) == expected.index[:4].tolist()
    pairs = nb.dependence(model, X, SPECIES)
    squares = nb.plot_dependence(pairs).collections[0].get_array()
    assert_allclose(np.ma.filled(squares, np.nan), pairs.log_bayes_factor)


def test_a_comparison_of_smoothings_draws_its_table_and_0_has_a_place() -> None:
    result = compare_smoothing()
    for ax, column in zip(result.plot(), ("elpd_diff", "log_evidence", "ece"), strict=True):
        for estimate, rows in result.table.groupby("estimate"):
            line = next(line for line in ax.lines if line.get_label() == estimate)
            drawn = rows[np.isfinite(rows[column])]
            assert_array_equal(line.get_xdata(), drawn["smoothing"])
            least = result.table["log_evidence"].max() if column == "log_evidence" else 0
            assert_allclose(line.get_ydata(), drawn[column] - least)
        assert ax.get_xlim()[0] < 0
        assert 0 in ax.get_xticks()


# What cannot be drawn

ONE = nb.GaussianNB().fit([[1.0], [2.0]], [1, 1])
REFUSED: list[tuple[Any, str]] = [
    (lambda: nb.plot_waterfall(birds()[0].explain(X[:3]), row=7), "row 7 is not among the 3 rows"),
    (lambda: nb.plot_waterfall(birds()[0].explain(X.iloc[[0, 0]]), row=0), "2 rows are called 0"),
    (lambda: nb.plot_waterfall(birds()[0], X, classes=("Adelie", "Emu")), "must be some of"),
    (lambda: nb.plot_column(birds()[0], "beak"), "'beak' is not a column of this model"),
    (lambda: nb.plot_column(birds()[0], "island", X, ["Adelie"]), "344 rows, and y has 1 labels"),
    (lambda: nb.plot_column(words()[0], tuple(words()[1])), "plot_words"),
    (lambda: nb.plot_words(birds()[0]), "no block of counts"),
    (lambda: nb.plot_confusion(["a", "b"], ["a", "c"], classes=["a", "b"]), "label 'c' is not"),
    (
        lambda: nb.plot_boundary(birds()[0], features=["island", "sex"]),
        "'island' is not a column of num",
    ),
    (lambda: nb.plot_boundary(nb.GaussianNB().fit([[1, 2]], [0])), "a boundary needs two classes"),
    (lambda: nb.plot_boundary(ONE), "two columns of numbers are needed"),
    (lambda: nb.plot_boundary(words()[0], features=["word1", "word2"]), "not a column of numbers"),
    (lambda: nb.plot_relevance(nb.dependence(birds()[0], X, SPECIES)), "relevance"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_has_no_picture_is_an_error_that_says_why(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


# Shapes


@pytest.mark.parametrize("classes", [2, 3])
def test_shapes_are_what_explain_says_of_each_cell(classes: int) -> None:
    kept = SPECIES.isin(["Adelie", "Gentoo", "Chinstrap"][:classes])
    x, y = X[kept], SPECIES[kept]
    families = {"bill_length_mm": nb.Gaussian(), "bill_depth_mm": nb.Histogram(depth=4)}
    model = nb.NaiveBayes(families, temper="columns").fit(x, y)
    why = model.explain(x)
    contrast = np.eye(classes) - 1 / classes if classes > 2 else np.array([[-1.0, 1.0]])
    for name in ("bill_length_mm", "bill_depth_mm", "island", "sex"):
        shape = read_shape(model, read_column(model, name, x, y))
        here = x[name].notna().to_numpy()
        evidence = why["evidence"].sel(feature=name).values[here] @ contrast.T
        variance = why["sd"].sel(feature=name).values[here] ** 2 @ contrast.T**2
        cells = shape.data.cells[here, 0]
        for c in range(len(contrast)):
            if shape.ends is not None:
                at = np.searchsorted(shape.ends[1:-1], cells)
            elif shape.names:
                at = cells.astype(int)
            else:
                between = (cells > shape.cells[0]) & (cells < shape.cells[-1])
                drawn = np.interp(cells, shape.cells, shape.effect[:, c])
                assert_allclose(drawn[between], evidence[between, c], atol=0.02)
                continue
            assert_allclose(shape.effect[at, c], evidence[:, c], atol=1e-9)
            assert_allclose(shape.sd[at, c], np.sqrt(variance[:, c]), atol=1e-9)
        ax = nb.plot_column(model, name, x, y, scale="log-odds", ci_prob=0.5)
        assert "Log-odds" in ax.get_title(loc="left")
        assert nb.plot_column(model, name, scale="log-odds").get_title(loc="left")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nb.plot_column(birds()[0], "island", scale="odds"), "scale must be one of"),
        (lambda: nb.plot_column(*words()[:1], "word1", scale="log-odds"), "scale='density'"),
    ],
)
def test_what_has_no_shape_says_so(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
