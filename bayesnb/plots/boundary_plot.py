"""Where a model decides on which class, over two of its columns, and how sure it is of where that changes."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bayesnb.data.labels import encode
from bayesnb.plots.plane import COARSE, FINE, Plane, axis_of, numbers_at, plane_of
from bayesnb.plots.sight import shown_classes
from bayesnb.plots.style import COLOURS, INK, new_axes, short, styled
from bayesnb.results.datasets import ci_prob as checked_prob

Array = np.ndarray

HIGH, WIDE, LINE = 4.2, 5.4, 0.2  # inches
SHADE, BAND = 0.16, 0.24
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
OTHERS = "#999999"
MOST_POINTS = 5000
NAME, AXIS, UP, ACROSS, KEY, LEFT = 24, 48, 36, 76, 6, 66  # letters; KEY is what the mark of a legend takes


@styled
def plot_boundary(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[Hashable] | None = None,
    ci_prob: float | None = None,
    rng: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw where a model decides on which class over two of its columns, and how sure it is of the boundary.

    The colour of a place is the class that `predict` gives a row there. The dark band around the boundary is what the
    posterior leaves open: on a way across, it is the interval of where the decision changes. It narrows as rows are
    added; where the classes overlap it says nothing of how mixed they are.

    Parameters
    ----------
    model : fitted estimator
    X, y : rows, and their labels, to be drawn on top
        Those that lack one of the two cells are left out, and of many thousands every n-th is drawn.
    features : two columns of numbers, by default the first two
        All others are unknown to the model then, and integrated out. A `Bernoulli` column with a threshold can be
        named too.
    ci_prob : probability of the band, default ArviZ's `rcParams["stats.ci_prob"]`
    rng : a seed or numpy.random.Generator, for the draws where there are any
    ax : matplotlib.axes.Axes, default new ones in a figure of their own

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    The band is about parameters, each place being chosen and no evidence about them: rows="fixed" of
    `predict_interval`. Between two classes it is where the interval of p(y | x, theta) holds one half, without draws;
    among more, or under `average_features`, it is where no class is the most probable one in
    (1 + ci_prob) / 2 of up to 4000 draws of theta.

    A model with a linear form (`linear_form`) has straight boundaries where parameters are plugged in; with parameters
    integrated out, and with a variance for each class, they bend. Of more than eight classes the most frequent have
    colours, and the others are grey.

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
    plane, prob, own = plane_of(model, features), checked_prob(ci_prob), ax is None
    points, codes = _rows(model, plane, X, y)
    limits = [axis_of(*each) for each in zip(points, plane.usual(), plane.counts, strict=True)]
    ax = ax or new_axes(HIGH, WIDE)
    look = _colours(model.model_.stats.classes.counts)
    seen = _regions(ax, plane, limits, look)
    unsure = _band(ax, plane, limits, prob, rng)
    _points(ax, points, codes, look)
    ax.set(xlim=limits[0], ylim=limits[1])
    ax.set_xlabel(short(plane.names[0], AXIS) + _left_out(plane.unknown))
    ax.set_ylabel(short(plane.names[1], UP))
    ax.spines["left"].set_visible(True)
    ax.tick_params(axis="y", length=3.5)
    seen |= set() if codes is None else set(codes.tolist())
    _legend(ax, _keys(model.classes_.tolist(), look, sorted(seen), prob if unsure else None), own)
    return ax


def _rows(model: Any, plane: Plane, X: Any, y: Any) -> tuple[list[Array], Array | None]:
    """The rows to be drawn that lack neither cell, and the places of their labels."""
    if X is None and y is not None:
        raise ValueError("y was given without X. Give the rows that have these labels.")
    if X is None:
        return [np.empty(0), np.empty(0)], None
    points = numbers_at(model._read(X)[1], plane.places)
    codes = None if y is None else encode(np.asarray(y).ravel(), model.classes_)
    if codes is not None and len(codes) != len(points[0]):
        raise ValueError(f"X has {len(points[0])} rows, and y has {len(codes)} labels.")
    keep = np.flatnonzero(np.isfinite(points).all(axis=0))
    keep = keep[:: max(len(keep) // MOST_POINTS, 1)]
    return [own[keep] for own in points], None if codes is None else codes[keep]


def _colours(counts: Array) -> list[tuple[str, str]]:
    """Colour and mark of every class."""
    look = [(OTHERS, ".")] * len(counts)
    for at, k in enumerate(shown_classes(counts).tolist()):
        look[k] = COLOURS[at], MARKS[at]
    return look


def _regions(ax: Axes, plane: Plane, limits: Sequence[tuple[float, float]], look: list[tuple[str, str]]) -> set[int]:
    """Shades, and lines between them; the classes that have a region."""
    x, y = (np.linspace(*ends, FINE) for ends in limits)
    margins = plane.margins(x, y)
    seen = np.flatnonzero((margins > 0).any(axis=(0, 1)))
    for k in seen.tolist():
        top = max(float(margins[..., k].max()), 1e-300)
        ax.contourf(x, y, margins[..., k], [0, 2 * top], colors=[to_rgba(look[k][0], SHADE)])
    for k in seen.tolist()[1 if len(seen) == 2 else 0 :] if len(seen) > 1 else []:
        ax.contour(x, y, margins[..., k], [0], colors=INK, linewidths=1.3)
    return set(seen.tolist())


def _band(ax: Axes, plane: Plane, limits: Sequence[tuple[float, float]], prob: float, rng: Any) -> bool:
    """The places that the posterior leaves open; whether there are any."""
    x, y = (np.linspace(*ends, COARSE) for ends in limits)
    doubt = plane.doubt(x, y, prob, rng)
    if (doubt > 0).any():
        ax.contourf(x, y, doubt, [0, 2 * float(doubt.max())], colors=[to_rgba(INK, BAND)])
    return bool((doubt > 0).any())


def _points(ax: Axes, points: Sequence[Array], codes: Array | None, look: list[tuple[str, str]]) -> None:
    size = float(np.clip(4000 / max(len(points[0]), 1), 5, 26))
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.4, "zorder": 3, "s": size}
    if codes is None:
        ax.scatter(*points, color=INK, **edge)
        return
    for k in np.unique(codes).tolist():
        its = codes == k
        ax.scatter(points[0][its], points[1][its], color=look[k][0], marker=look[k][1], **edge)


def _keys(labels: list[Any], look: list[tuple[str, str]], seen: list[int], prob: float | None) -> list[Any]:
    """Which colour is which class, and what the band is."""
    named = [k for k in seen if look[k][0] != OTHERS]
    shown = [(*look[k], short(str(labels[k]), NAME)) for k in named]
    shown += [(OTHERS, ".", "other classes")] if len(named) < len(seen) else []
    keys: list[Any] = [Line2D([], [], color=c, marker=m, linewidth=0, label=said) for c, m, said in shown]
    if prob is not None:
        keys.append(Patch(color=to_rgba(INK, BAND), linewidth=0, label=f"boundary, {100 * prob:.3g} % band"))
    return keys


def _legend(ax: Axes, keys: list[Any], own: bool) -> None:
    style: Any = {"fontsize": "small", "alignment": "left"}
    if not own:
        ax.legend(handles=keys, edgecolor="none", framealpha=0.75, **style)
        return
    figure: Any = ax.get_figure()
    columns = _abreast([len(key.get_label()) for key in keys])
    figure.set_figheight(HIGH + LINE * -(-len(keys) // columns))
    figure.legend(handles=keys, loc="outside upper left", ncols=columns, frameon=False, **style)


def _abreast(letters: list[int]) -> int:
    """How many columns a legend has room for, whose entries go down each column first."""

    def wide(columns: int) -> int:
        deep = -(-len(letters) // columns)
        return sum(max(letters[k : k + deep]) + KEY for k in range(0, len(letters), deep))

    return max((n for n in range(1, len(letters) + 1) if wide(n) <= ACROSS), default=1)


def _left_out(names: list[str]) -> str:
    """A second line below the axis, of the columns that the picture knows nothing of."""
    if not names:
        return ""
    said = ", ".join(names)
    return f"\n{said} unknown" if len(said) <= LEFT else f"\n{len(names)} other columns unknown"
