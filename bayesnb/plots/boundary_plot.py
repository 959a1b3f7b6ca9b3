"""Decision regions over two columns of a model, and a band for the uncertainty of their boundary.

The model is asked about the rows of a grid, in which all other columns are missing: it integrates
them out.
"""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import logit, ndtri

from bayesnb.data import table_of_columns
from bayesnb.families.base import Array, Rng
from bayesnb.formatting import list_names, shorten
from bayesnb.inference.posterior_draws import DrawnWarning
from bayesnb.plots.column_data import ColumnData, column_data, find_usual_range
from bayesnb.plots.style import COLOURS, INK, add_legend, check_fitted, new_axes, styled
from bayesnb.results.datasets import ci_prob as checked_prob

SHADE = 0.16
BAND = to_rgba(INK, 0.24)
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
MAX_ROWS_DRAWN = 5000
FINE, COARSE = 121, 41  # points of an axis, for regions and for the band
MAX_DRAWS = 2000
MAX_PROBABILITIES = 20_000_000  # that are drawn: 160 MB
MAX_LOG_ODDS = 30.0
FILLED = (0.0, 2 * MAX_LOG_ODDS)  # whatever is above 0
CLASS_LETTERS, AXIS_LETTERS, OTHER_LETTERS = 24, 36, 18
MAX_OTHERS_LISTED = 2
MAX_TICKS = 6


class Look(NamedTuple):
    """How a class is drawn, and what it is called in the legend."""

    colour: str = "#999999"
    mark: str = "."
    label: str = "other classes"


@styled
def plot_boundary(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[Hashable] | None = None,
    ci_prob: float | None = None,
    rng: Rng = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw which class a model decides on over two columns, and how sure it is of the boundary.

    The colour of a place is the class that `predict` gives a row there. The dark band around the
    boundary is what the posterior leaves open: on a way across, it is the interval of where the
    decision changes. It narrows as rows are added; where the classes overlap it says nothing of how
    mixed they are.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : table of rows, optional
        Rows to be drawn on top. Those that lack one of the two cells are left out, and of many
        thousands every n-th is drawn.
    y : array-like, optional
        The labels of these rows. Without them, a row has the mark of the class that is predicted.
    features : pair of labels, optional
        Two columns of numbers, by default the first two. All others are missing in the rows that
        the model is asked about, and so integrated out.
    ci_prob : float, optional
        The probability of the band, by default ArviZ's `rcParams["stats.ci_prob"]`.
    rng : int or numpy.random.Generator, default 0
        For the draws where there are any.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the regions, named after the two columns.

    See Also
    --------
    NaiveBayes.linear_form : The boundary in numbers, where it is straight.
    plot_column : One column at a time.

    Notes
    -----
    The band is about parameters, each place being chosen and no evidence about them: rows="fixed"
    of `predict_interval`. Between two classes it is where the interval of p(y | x, theta) holds one
    half. Among more it is where fewer than (1 + ci_prob) / 2 of up to 2000 draws of theta agree on
    the most probable class.

    A model with a linear form (`linear_form`) has straight boundaries where parameters are plugged
    in; with parameters integrated out, and with a variance for each class, they bend. Where there
    are more than eight classes, the most frequent have colours, and the others are grey.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_boundary
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> X, y = table[["height", "weight"]], table["breed"]
    >>> ax = plot_boundary(NaiveBayes().fit(X, y), X, y)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('height', 'weight')
    """
    check_fitted(model)
    names = _find_axes(model, features)
    if len(model.classes_) < 2:
        raise ValueError(
            f"a boundary is between classes, and there is only {model.classes_.tolist()}."
        )
    labels = y if X is None or y is not None else model.predict(X)
    columns = {name: column_data(model, name, X, labels) for name in names}
    limits = [_find_limits(column) for column in columns.values()]
    prob = checked_prob(ci_prob)
    is_new = ax is None
    ax = ax or new_axes(4.2, 5.4)

    first, second = columns.values()
    looks = _choose_looks(first)
    drawn = _draw_regions(ax, model, columns, limits, looks)
    drawn |= _draw_rows(ax, first, second, looks, has_labels=y is not None)
    grid = [np.linspace(*ends, COARSE) for ends in limits]
    unsettled = _measure_uncertainty(model, _make_rows(model, columns, grid), prob, rng)
    ax.contourf(*grid, unsettled.reshape(COARSE, COARSE), FILLED, colors=[BAND])

    keys: list[Artist] = []
    for look in dict.fromkeys(looks[k] for k in sorted(drawn)):
        key = Line2D(
            [],
            [],
            color=look.colour,
            marker=look.mark,
            linewidth=0,
            label=look.label,
        )
        keys.append(key)
    keys.append(Patch(color=BAND, linewidth=0, label=f"boundary, {100 * prob:.3g} % band"))
    add_legend(ax, keys, outside=is_new)
    ax.set(
        title="Decision regions",
        xlabel=shorten(first.name, AXIS_LETTERS) + _list_unknown_columns(model, names),
        ylabel=shorten(second.name, AXIS_LETTERS),
        xlim=limits[0],
        ylim=limits[1],
    )
    ax.spines["left"].set_visible(True)
    ax.locator_params(nbins=MAX_TICKS)
    return ax


def _draw_regions(
    ax: Axes,
    model: Any,
    columns: dict[Hashable, ColumnData],
    limits: Sequence[tuple[float, float]],
    looks: Sequence[Look],
) -> set[int]:
    """Fill the region of each class, outline it, and return the classes that have one."""
    grid = [np.linspace(*ends, FINE) for ends in limits]
    joint = model.predict_joint_log_proba(_make_rows(model, columns, grid))
    margins = _compute_margins(joint).T.reshape(-1, FINE, FINE)
    decided = set(joint.argmax(axis=1).tolist())
    for k in decided:
        shade = to_rgba(looks[k].colour, SHADE)
        ax.contourf(*grid, margins[k], FILLED, colors=[shade])
        ax.contour(*grid, margins[k], [0], colors=INK, linewidths=1.3)
    return decided


def _draw_rows(
    ax: Axes,
    first: ColumnData,
    second: ColumnData,
    looks: Sequence[Look],
    *,
    has_labels: bool,
) -> set[int]:
    """Draw rows as points, and return their classes: they have colours if these are labels."""
    known = np.isfinite(first.cells) & np.isfinite(second.cells)
    rows = np.flatnonzero(known)
    rows = rows[:: 1 + len(rows) // MAX_ROWS_DRAWN]
    codes = first.codes[rows]
    classes = set(codes.tolist())
    for k in classes:
        of_class = rows[codes == k]
        ax.scatter(
            first.cells[of_class],
            second.cells[of_class],
            s=16,
            color=looks[k].colour if has_labels else INK,
            marker=looks[k].mark,
            edgecolors="white",
            linewidths=0.4,
            zorder=3,
        )
    return classes


def _find_axes(model: Any, features: Sequence[Hashable] | None) -> Sequence[Hashable]:
    """Return the two columns of numbers that are named, or the first two."""
    reasons: dict[Hashable, str] = {}  # why a column has no axis of numbers
    for block in model.schema_.columns_alone.blocks:
        reason = ""
        if block.family.words:
            reason = "belongs to a block of words"
        elif block.family.has_levels:
            reason = "has levels"
        elif block.family.outcomes:
            reason = "is yes or no"
        reasons |= dict.fromkeys(block.names, reason)
    if features is None:
        numeric = [name for name in model.schema_.columns if reasons.get(name) == ""]
        if len(numeric) < 2:
            raise ValueError(
                "a plane needs two columns of numbers, and the model has "
                f"{len(numeric)}: {list_names(list(map(repr, numeric))) or 'none'}."
            )
        return numeric[:2]
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    for name in features:
        if reasons.get(name):
            raise ValueError(
                f"column {name!r} {reasons[name]}, so it has no axis of numbers. Name another."
            )
    return features


def _find_limits(column: ColumnData) -> tuple[float, float]:
    """Return the limits of an axis."""
    parts = [rows[:, 0] for rows in column.parts]
    return find_usual_range(column.belief[column.shown], parts)


def _choose_looks(column: ColumnData) -> list[Look]:
    """Return how each class is drawn: the most frequent in colours, all others alike."""
    looks = [Look()] * len(column.classes)
    for k, colour, mark in zip(column.shown, COLOURS, MARKS, strict=False):
        looks[k] = Look(colour, mark, shorten(column.classes[k], CLASS_LETTERS))
    return looks


def _make_rows(model: Any, columns: dict[Hashable, ColumnData], grid: Sequence[Array]) -> Any:
    """Return the rows of a grid as a table: other columns are missing, and texts have no words."""
    x, y = np.meshgrid(*grid)
    rows: dict[Hashable, Any] = dict.fromkeys(model.schema_.columns, np.full(x.size, np.nan))
    for block in model.schema_.columns_alone.blocks:
        if block.family.listed:
            rows[block.names[0]] = [[]] * x.size
        elif block.family.words:
            rows |= dict.fromkeys(block.names, np.zeros(x.size))
    for name, numbers in zip(columns, (x.ravel(), y.ravel()), strict=True):
        family = columns[name].family
        if family.picture == "mass":
            numbers = numbers.round()
        rows[name] = numbers.clip(min=0.0 if family.support.nonnegative else None)
    return table_of_columns(rows)


def _compute_margins(scores: Array) -> Array:
    """Return how far each score is above the best of the others, `(r, c)`."""
    second, best = np.partition(scores, -2)[:, -2:].T[:, :, None]
    with np.errstate(invalid="ignore"):
        margins = scores - np.where(scores == best, second, best)
    return np.nan_to_num(margins, nan=-MAX_LOG_ODDS).clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)


def _measure_uncertainty(model: Any, rows: Any, prob: float, rng: Rng) -> Array:
    """Return a number for each row, above 0 where the posterior does not settle the decision."""
    classes = len(model.classes_)
    if classes == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DrawnWarning)
            interval = model.predict_interval(rows, prob, rows="fixed").isel({"class": 0})
        with np.errstate(divide="ignore"):
            above, below = logit(interval.upper.values), logit(interval.lower.values)
        return np.minimum(above, -below).clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)
    draws = min(MAX_DRAWS, MAX_PROBABILITIES // (COARSE**2 * classes))
    proba = model.draw_proba(rows, draws, chains=1, rng=rng).values[0]
    decision = proba.argmax(axis=-1)
    agreement = np.max([(decision == k).mean(axis=0) for k in range(classes)], axis=0)
    # quantiles of a normal change evenly between the points of the grid, unlike shares
    settled = ndtri((1 + prob) / 2)
    return settled - ndtri(np.minimum(agreement, 1 - 0.5 / draws))


def _list_unknown_columns(model: Any, names: Sequence[Hashable]) -> str:
    """Return a line below the axis about columns that are integrated out."""
    modelled = {name for block in model.schema_.columns_alone.blocks for name in block.names}
    others = [name for name in model.schema_.columns if name in modelled.difference(names)]
    shown = list_names([shorten(name, OTHER_LETTERS) for name in others], MAX_OTHERS_LISTED)
    return f"\nunknown: {shown}" if others else ""
