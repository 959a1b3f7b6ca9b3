"""Decision regions over two columns, and a band for the uncertainty of the boundary.

The model predicts the rows of a grid. All other columns are missing in them, so they are integrated
out.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from scipy.special import logit, ndtri

from bayesnb.families.base import Array, Rng
from bayesnb.formatting import list_names, quote
from bayesnb.inference.posterior_draws import DrawnWarning
from bayesnb.plots.column_data import ColumnData, find_usual_range, read_column
from bayesnb.plots.style import (
    AXIS_LETTERS,
    COLOURS,
    INK,
    add_legend,
    check_fitted,
    new_axes,
    short,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.results.tables import table_of_columns

SHADE = 0.16
BAND = to_rgba(INK, 0.24)
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
MAX_ROWS_DRAWN = 5000
FINE, COARSE = 121, 41  # points of an axis, for regions and for the band
MAX_DRAWS = 2000
MAX_PROBABILITIES = 20_000_000  # drawn at most: 160 MB
MAX_LOG_ODDS = 30.0
FILLED = (0.0, 2 * MAX_LOG_ODDS)  # contour levels: all above 0
MAX_UNKNOWN_LISTED = 2
MAX_COLUMNS_LISTED = 20


class Look(NamedTuple):
    """Colour, marker and legend label of a class."""

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
    """Draw the predicted class over two columns, and the uncertainty of the boundary.

    The colour of a point is the class that `predict` returns there. The dark band is the
    uncertainty of the boundary: along a line across it, the interval of where the decision changes.
    It narrows as rows are added, and does not show how much the classes overlap.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : table of rows, optional
        Rows to draw on top. Rows without both cells are left out; of many thousands, every n-th
        row is drawn.
    y : array-like, optional
        The labels of these rows. Without them, the marker of a row is its predicted class.
    features : pair of labels, optional
        Two columns of numbers, by default the first two. All others are integrated out.
    ci_prob : float, optional
        The probability of the band, by default ArviZ's `rcParams["stats.ci_prob"]`.
    rng : int or numpy.random.Generator, default 0
        For posterior draws, which are needed with more than two classes.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the regions, named after the two columns.

    See Also
    --------
    NaiveBayes.linear_form : The boundary in numbers, if it is straight.
    plot_column : One column at a time.

    Notes
    -----
    The points of the grid are fixed and give no evidence about the parameters (rows="fixed" of
    `predict_interval`). With two classes, the band is where the interval of p(y | x, theta)
    contains one half. With more, it is where fewer than (1 + ci_prob) / 2 of up to 2000 draws of
    theta agree on the most probable class.

    A model with a linear form (`linear_form`) has straight boundaries with plug-in parameters.
    Integrating parameters out, or a variance for each class, bends them. With more than eight
    classes, the most frequent have colours, and the others are grey.

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
    names = _choose_axes(model, features)
    if len(model.classes_) < 2:
        raise ValueError(
            f"a boundary needs two classes, and there is only {model.classes_.tolist()}."
        )
    prob = checked_prob(ci_prob)
    labels = y if X is None or y is not None else model.predict(X)
    columns = {name: read_column(model, name, X, labels) for name in names}
    first, second = columns.values()
    limits = [find_usual_range(each.belief[each.shown], each.parts) for each in columns.values()]
    looks = [Look()] * len(model.classes_)
    for k, colour, mark in zip(first.shown, COLOURS, MARKS, strict=False):
        looks[k] = Look(colour, mark, short(first.classes[k]))
    is_new = ax is None
    ax = ax or new_axes(4.2, 5.4)

    grid = [np.linspace(*ends, FINE) for ends in limits]
    joint = model.predict_joint_log_proba(_make_rows(model, columns, grid))
    cells = np.hstack([first.cells, second.cells])
    rows = np.flatnonzero(np.isfinite(cells).all(axis=1))
    rows = rows[:: 1 + len(rows) // MAX_ROWS_DRAWN]
    codes = first.codes[rows]
    drawn = sorted({*joint.argmax(axis=1).tolist(), *codes.tolist()})
    for k in drawn:
        _draw_region(ax, grid, joint, k, looks[k].colour)
        x, y_places = cells[rows[codes == k]].T
        ax.scatter(
            x,
            y_places,
            s=16,
            color=INK if y is None else looks[k].colour,
            marker=looks[k].mark,
            edgecolors="white",
            linewidths=0.4,
            zorder=3,
        )
    for look in dict.fromkeys(looks[k] for k in drawn):
        ax.plot(
            [],
            [],
            look.mark,
            color=look.colour,
            label=look.label,
        )
    grid = [np.linspace(*ends, COARSE) for ends in limits]
    unsettled = _measure_uncertainty(model, _make_rows(model, columns, grid), prob, rng)
    ax.contourf(*grid, unsettled.reshape(COARSE, COARSE), FILLED, colors=[BAND])
    ax.fill(
        [],
        [],
        color=BAND,
        linewidth=0,
        label=f"boundary, {100 * prob:.3g} % band",
    )
    add_legend(ax, outside=is_new)

    unknown = [name for name in model.schema_.columns_alone.families if name not in names]
    note = f"\nunknown: {list_names(unknown, MAX_UNKNOWN_LISTED, short)}" if unknown else ""
    ax.set(
        title="Decision regions",
        xlabel=short(first.name, AXIS_LETTERS) + note,
        ylabel=short(second.name, AXIS_LETTERS),
        xlim=limits[0],
        ylim=limits[1],
    )
    ax.locator_params(nbins=6)
    return ax


def _choose_axes(model: Any, features: Sequence[Hashable] | None) -> Sequence[Hashable]:
    """Return the two columns of numbers that are named, or the first two."""
    columns = []
    for name, family in model.schema_.columns_alone.families.items():
        if family.picture != "levels" and not family.words:
            columns.append(name)
    listed = list_names(columns, MAX_COLUMNS_LISTED, quote) or "none"
    if features is None:
        if len(columns) < 2:
            raise ValueError(
                f"two columns of numbers are needed, and the model has {len(columns)}: {listed}."
            )
        return columns[:2]
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    for name in features:
        if name not in columns:
            raise ValueError(f"{name!r} is not a column of numbers; this model has {listed}.")
    return features


def _make_rows(model: Any, columns: Mapping[Hashable, ColumnData], grid: Sequence[Array]) -> Any:
    """Return the rows of a grid as a table: other columns are missing, and texts have no words."""
    x, y = np.meshgrid(*grid)
    rows: dict[Hashable, Any] = dict.fromkeys(model.schema_.columns, np.full(x.size, np.nan))
    for name, family in model.schema_.columns_alone.families.items():
        if family.listed:
            rows[name] = [[]] * x.size
        elif family.words:
            rows[name] = np.zeros(x.size)
    for (name, column), numbers in zip(columns.items(), (x.ravel(), y.ravel()), strict=True):
        if column.family.picture == "mass":
            numbers = numbers.round()
        rows[name] = numbers.clip(min=0.0 if column.family.support.nonnegative else None)
    return table_of_columns(rows)


def _draw_region(ax: Axes, grid: Sequence[Array], scores: Array, k: int, colour: str) -> None:
    """Fill and outline the region where a class has the highest score."""
    others = np.delete(scores, k, axis=1).max(axis=1)
    with np.errstate(invalid="ignore"):
        lead = np.nan_to_num(scores[:, k] - others, nan=-MAX_LOG_ODDS)
    lead = lead.clip(-MAX_LOG_ODDS, MAX_LOG_ODDS).reshape(FINE, FINE)
    if lead.max() > 0:
        ax.contourf(*grid, lead, FILLED, colors=[to_rgba(colour, SHADE)])
        ax.contour(
            *grid,
            lead,
            [0],
            colors=INK,
            linewidths=1.3,
        )


def _measure_uncertainty(model: Any, rows: Any, prob: float, rng: Rng) -> Array:
    """Return a number for each row, above 0 where the posterior leaves the decision uncertain."""
    classes = len(model.classes_)
    if classes == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DrawnWarning)
            interval = model.predict_interval(rows, prob, rows="fixed").isel({"class": 0})
        with np.errstate(divide="ignore"):
            above = logit(interval.upper.values)
            below = logit(interval.lower.values)
        return np.minimum(above, -below).clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)
    draws = min(MAX_DRAWS, MAX_PROBABILITIES // (COARSE**2 * classes))
    proba = model.draw_proba(rows, draws, chains=1, rng=rng).values[0]
    decision = proba.argmax(axis=-1)
    agreement = np.max([(decision == k).mean(axis=0) for k in range(classes)], axis=0)
    # normal quantiles change more evenly than shares between points of the grid
    settled = ndtri((1 + prob) / 2)
    return settled - ndtri(np.minimum(agreement, 1 - 0.5 / draws))
