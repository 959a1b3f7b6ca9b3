"""Decision regions of a model over two of its columns, and a band for the uncertainty of their boundary.

The grid is of rows that someone chose. A column that is left out is integrated out, exactly: it is a factor of the
product, or a missing cell of its block.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import logit, ndtri

from bayesnb.data.labels import encode
from bayesnb.families.base import Array, Cells
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.intervals import intervals
from bayesnb.inference.posterior_draws import draw_theta
from bayesnb.model.product import Joint, Product
from bayesnb.model.schema import Block
from bayesnb.numerics.views import Flags, column
from bayesnb.plots.column_view import middle, shown_classes
from bayesnb.plots.style import COLOURS, INK, new_axes, short, styled
from bayesnb.results.datasets import ci_prob as checked_prob

HIGH, WIDE, LINE = 4.2, 5.4, 0.2  # inches
SHADE, BAND = 0.16, 0.24
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
OTHERS = "#999999"
MOST_POINTS = 5000
NAME, AXIS, UP, ACROSS, KEY, LEFT = 24, 48, 36, 76, 6, 66  # letters; KEY is what the mark of a legend takes
FINE, COARSE = 121, 61  # points of an axis
DRAWS, FEWEST, USUAL = 4000, 200, 400
SCORES = 40_000_000  # draws times points times classes
ROOM, REACH = 0.06, 0.01  # of an axis beyond the rows, and of rows to come that may lie beyond it
FAR = 30.0  # log-odds
Place = tuple[int, int]  # a block, and a column there


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a model, their predictor, and the beliefs about them alone."""

    blocks: Sequence[Block]
    places: tuple[Place, Place]
    reader: Joint
    belief: Product
    power: float
    n_jobs: int | None

    @property
    def names(self) -> list[str]:
        return [str(self.blocks[b].names[j]) for b, j in self.places]

    @property
    def counts(self) -> list[bool]:
        """Return which of the two are never below 0, as counts are."""
        return [self.blocks[b].family.support.nonnegative for b, _ in self.places]

    @property
    def unknown(self) -> list[str]:
        """Names of the columns that are left out."""
        places = ((block.places[j], (b, j)) for b, block in enumerate(self.blocks) for j in range(len(block.names)))
        return [str(self.blocks[b].names[j]) for _, (b, j) in sorted(places) if (b, j) not in self.places]

    def margins(self, x: Array, y: Array) -> Array:
        """Margin of each class's score over the best of the others, `(y, x, c)`."""
        joint = self.reader.log_joint(self.cells(x, y), self.power, self.n_jobs)
        best = np.sort(joint, axis=1)[:, -2:]
        with np.errstate(invalid="ignore"):
            gap = joint - np.where(joint == best[:, 1:], best[:, :1], best[:, 1:])
        return np.nan_to_num(gap, nan=-FAR, posinf=1e6, neginf=-1e6).reshape(len(y), len(x), -1)

    def uncertainty(self, x: Array, y: Array, prob: float, rng: Any) -> Array:
        """Positive where draws of theta disagree so much that an interval holds the boundary, `(y, x)`.

        Of two classes: where the interval of their probability holds one half. Of more: where none of them is decided
        on in as large a share of draws as such an interval has on one side.
        """
        live, cells = self.belief.live, self.cells(x, y)
        if live.sum() == 1:
            return np.full((len(y), len(x)), -1.0)
        if live.sum() == 2 and self.belief.closed:
            interval = intervals(Scores(self.belief, cells, self.power), prob, False, "auto", self.n_jobs)
            at = int(live.argmax())
            with np.errstate(divide="ignore"):
                ends = logit(interval.upper[:, at]), -logit(interval.lower[:, at])
            return np.clip(np.minimum(*ends), -FAR, FAR).reshape(len(y), len(x))
        share = np.clip(self.agreement(cells, rng), 0, 1 - 0.5 / DRAWS)
        return (ndtri((1 + prob) / 2) - ndtri(share)).reshape(len(y), len(x))  # between points nearly a straight line

    def agreement(self, cells: Sequence[Cells], rng: Any) -> Array:
        """Share of draws that decide on the class that most of them decide on, `(r,)`."""
        live = self.belief.live
        possible = Product(self.belief.classes[live], tuple(block[live] for block in self.belief.blocks))
        rows, classes = cells[0].shape[0], int(live.sum())
        draws = int(np.clip(SCORES // (rows * classes), FEWEST, DRAWS))
        times = np.zeros((rows, classes))
        for _, theta in draw_theta(possible, draws, rng):
            for part, joint in theta.by_rows(cells, self.power, self.n_jobs):
                best = joint.argmax(axis=-1)
                times[part] += np.stack([(best == c).sum(axis=1) for c in range(classes)], axis=1)
        return times.max(axis=1) / draws

    def cells(self, x: Array, y: Array) -> list[Cells]:
        """Cells of the rows of a grid, x first; a place below 0 on an axis of counts is 0."""
        columns = [np.tile(x, len(y)), np.repeat(y, len(x))]
        columns = [
            np.maximum(part, 0.0) if is_count else part for part, is_count in zip(columns, self.counts, strict=True)
        ]
        return [_filled(self.blocks[b], dict(part)) for b, part in _by_block(self.blocks, self.places, columns)]

    def usual(self) -> tuple[Array, Array]:
        """Draw cells of new rows, class by class, of both columns."""
        rng, drawn = np.random.default_rng(0), []
        for (b, part), belief in zip(_by_block(self.blocks, self.places, (0, 1)), self.belief.blocks, strict=True):
            block, live = self.blocks[b], belief[self.belief.live]
            cells = live.sample(rng, USUAL).sample(rng).reshape(USUAL * len(live), -1)
            if block.family.threshold is not None:
                cells = block.family.threshold + 2 * cells - 1
            drawn += [cells[:, j if block.family.whole else 0] for j, _ in part]
        return drawn[0], drawn[1]


def plane_of(model: Any, features: Sequence[Hashable] | None) -> Plane:
    """Return two columns of a fitted model: those that are named, or its first two of numbers."""
    if not hasattr(model, "model_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first.")
    blocks = model.schema_.blocks
    places = _first_two(blocks) if features is None else _named(blocks, features)
    reader: Any = model._reader()
    return Plane(
        blocks,
        places,
        type(reader)(reader.classes, _kept(reader.blocks, blocks, places)),
        Product(model.class_posterior_, _kept(model.model_.posterior.blocks, blocks, places)),
        model.temper_,
        model.n_jobs,
    )


def axis_of(cells: Array, usual: Array, is_count: bool) -> tuple[float, float]:
    """Return the limits of an axis: around the cells or, if they are not two, around new rows."""
    low, high = middle(cells)
    if not low < high:
        low, high = np.quantile(usual[np.isfinite(usual)], (REACH, 1 - REACH)).tolist()
        high = high if low < high else np.nextafter(low, np.inf) + 1
    room = ROOM * (high - low)
    return max(low, 0.0) - room if is_count else low - room, high + room


def numbers_at(cells: Sequence[Cells], places: Sequence[Place]) -> list[Array]:
    """Return the numbers of a table's columns, before their family reads them."""
    parts = [cells[b].numbers if isinstance(cells[b], Flags) else cells[b] for b, _ in places]
    return [column(part, j) for part, (_, j) in zip(parts, places, strict=True)]


def _kept(parts: Sequence[Any], blocks: Sequence[Block], places: Sequence[Place]) -> tuple[Any, ...]:
    """Return the parts of the two columns: of a single column, or of a block that is modelled jointly."""
    groups = _by_block(blocks, places, (0, 1))
    return tuple(parts[b] if blocks[b].family.whole else parts[b].only(part[0][0]) for b, part in groups)


def _by_block(
    blocks: Sequence[Block], places: Sequence[Place], values: Sequence[Any]
) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
    """Yield values by block; columns that are modelled jointly stay together."""
    (a, i), (b, j) = places
    if a == b and blocks[a].family.whole:
        yield a, [(i, values[0]), (j, values[1])]
    else:
        yield from ((a, [(i, values[0])]), (b, [(j, values[1])]))


def _filled(block: Block, columns: dict[int, Array]) -> Cells:
    """Fill cells of a block; all other columns are missing."""
    if not block.family.whole:
        (numbers,) = columns.values()
        cells = np.ascontiguousarray(numbers[:, None])
        return block.family.read(cells)
    cells = np.full((len(next(iter(columns.values()))), len(block.names)), np.nan)
    for j, numbers in columns.items():
        cells[:, j] = numbers
    return cells


def _first_two(blocks: Sequence[Block]) -> tuple[Place, Place]:
    places = [(block.places[j], (b, j)) for b, block in enumerate(blocks) for j in range(len(block.names))]
    numeric = [at for _, at in sorted(places) if _why_not(blocks[at[0]]) is None and not blocks[at[0]].family.outcomes]
    if len(numeric) < 2:
        raise ValueError(
            f"a plane needs two columns of numbers, and the model has {len(numeric)}: "
            f"{', '.join(repr(blocks[b].names[j]) for b, j in numeric) or 'none'}."
        )
    return numeric[0], numeric[1]


def _named(blocks: Sequence[Block], features: Sequence[Hashable]) -> tuple[Place, Place]:
    known = {name: (b, j) for b, block in enumerate(blocks) for j, name in enumerate(block.names)}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    for name in features:
        if name not in known:
            shown = ", ".join(short(repr(key), 40) for key in list(known)[:20]) + (", ..." if len(known) > 20 else "")
            raise ValueError(f"{short(repr(name), 60)} is no column of this model; it has {shown}.")
        why = _why_not(blocks[known[name][0]])
        if why:
            raise ValueError(f"column {name!r} {why}, so it has no axis of numbers. Name another.")
    return known[features[0]], known[features[1]]


def _why_not(block: Block) -> str | None:
    """Return why the columns of a block cannot be an axis, or None."""
    family = block.family
    if family.has_levels:
        return "has levels"
    if not family.missing:
        return "is one of a block of words, which are counted together"
    return "is yes or no" if family.outcomes and family.threshold is None else None


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
    plane, prob, new_figure = plane_of(model, features), checked_prob(ci_prob), ax is None
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
    _legend(ax, _keys(model.classes_.tolist(), look, sorted(seen), prob if unsure else None), new_figure)
    return ax


def _rows(model: Any, plane: Plane, X: Any, y: Any) -> tuple[list[Array], Array | None]:
    """Return the rows that lack neither cell, and the codes of their labels."""
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
    return [cells[keep] for cells in points], None if codes is None else codes[keep]


def _colours(counts: Array) -> list[tuple[str, str]]:
    """Return colour and mark of each class."""
    look = [(OTHERS, ".")] * len(counts)
    for at, k in enumerate(shown_classes(counts).tolist()):
        look[k] = COLOURS[at], MARKS[at]
    return look


def _regions(ax: Axes, plane: Plane, limits: Sequence[tuple[float, float]], look: list[tuple[str, str]]) -> set[int]:
    """Draw shades and the lines between them, and return the classes that have a region."""
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
    """Draw the band where the decision is uncertain, and return whether there is one."""
    x, y = (np.linspace(*ends, COARSE) for ends in limits)
    unsure = plane.uncertainty(x, y, prob, rng)
    if (unsure > 0).any():
        ax.contourf(x, y, unsure, [0, 2 * float(unsure.max())], colors=[to_rgba(INK, BAND)])
    return bool((unsure > 0).any())


def _points(ax: Axes, points: Sequence[Array], codes: Array | None, look: list[tuple[str, str]]) -> None:
    size = float(np.clip(4000 / max(len(points[0]), 1), 5, 26))
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.4, "zorder": 3, "s": size}
    if codes is None:
        ax.scatter(*points, color=INK, **edge)
        return
    for k in np.unique(codes).tolist():
        of_class = codes == k
        ax.scatter(points[0][of_class], points[1][of_class], color=look[k][0], marker=look[k][1], **edge)


def _keys(labels: list[Any], look: list[tuple[str, str]], seen: list[int], prob: float | None) -> list[Any]:
    """Return the keys of the legend: classes, and the band."""
    named = [k for k in seen if look[k][0] != OTHERS]
    shown = [(*look[k], short(str(labels[k]), NAME)) for k in named]
    shown += [(OTHERS, ".", "other classes")] if len(named) < len(seen) else []
    keys: list[Any] = [Line2D([], [], color=c, marker=m, linewidth=0, label=label) for c, m, label in shown]
    if prob is not None:
        keys.append(Patch(color=to_rgba(INK, BAND), linewidth=0, label=f"boundary, {100 * prob:.3g} % band"))
    return keys


def _legend(ax: Axes, keys: list[Any], new_figure: bool) -> None:
    style: Any = {"fontsize": "small", "alignment": "left"}
    if not new_figure:
        ax.legend(handles=keys, edgecolor="none", framealpha=0.75, **style)
        return
    figure: Any = ax.get_figure()
    columns = _abreast([len(key.get_label()) for key in keys])
    figure.set_figheight(HIGH + LINE * -(-len(keys) // columns))
    figure.legend(handles=keys, loc="outside upper left", ncols=columns, frameon=False, **style)


def _abreast(letters: list[int]) -> int:
    """Return how many columns a legend has room for, whose entries go down each column first."""

    def wide(columns: int) -> int:
        deep = -(-len(letters) // columns)
        return sum(max(letters[k : k + deep]) + KEY for k in range(0, len(letters), deep))

    return max((n for n in range(1, len(letters) + 1) if wide(n) <= ACROSS), default=1)


def _left_out(names: list[str]) -> str:
    """Return a second line below the axis, which names the columns that are left out."""
    if not names:
        return ""
    shown = ", ".join(names)
    return f"\n{shown} unknown" if len(shown) <= LEFT else f"\n{len(names)} other columns unknown"
