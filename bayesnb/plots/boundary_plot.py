"""Decision regions of a model over two of its columns, and a band for the uncertainty of their boundary.

The grid is of rows that someone chose. A column that is left out is integrated out, exactly: it is a factor of the
product, or a missing cell of its block. A link between both columns counts; one to a column that is left out says
nothing, as in a row that lacks its cell.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import logit, ndtri

from bayesnb.families.base import Array, Cells, Rng
from bayesnb.formatting import shorten
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.intervals import find_smooth, intervals
from bayesnb.inference.posterior_draws import another, draw_additions, draw_theta
from bayesnb.model.linked import LinkBlock, levels_of_written
from bayesnb.model.powers import ExponentCovariance, Exponents, of_feature
from bayesnb.model.product import Joint, Product
from bayesnb.model.schema import Block
from bayesnb.numerics.views import Flags, column
from bayesnb.plots.column_view import label_codes, middle, shown_classes, unknown_column
from bayesnb.plots.style import COLOURS, INK, add_legend, add_title, check_fitted, new_axes, styled
from bayesnb.results.datasets import ci_prob as checked_prob

HIGH, WIDE = 4.2, 5.4  # inches
SHADE, BAND = 0.16, 0.24
MARKS = ("o", "^", "s", "D", "v", "P", "X", "*")
OTHERS = "#999999"
MOST_POINTS = 5000
NAME, AXIS, UP, LEFT = 24, 48, 36, 66  # letters
ACROSS = 76, 6  # letters of a line of the legend, and of a mark
FINE, COARSE = 121, 61  # points of an axis
DRAWS, FEWEST, USUAL = 4000, 200, 400
SCORES = 40_000_000  # draws times points times classes
ROOM, REACH = 0.06, 0.01  # of an axis beyond the rows, and of rows to come that may lie beyond it
FAR = 30.0  # log-odds


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a model, their predictor, and the beliefs about them alone.

    `groups` are the places of blocks, and of the columns there: two of a block that is modelled jointly, or one each.
    The link between both columns, if there is one, is the last block of the predictor and of the beliefs.
    """

    blocks: Sequence[Block]
    groups: Sequence[tuple[int, list[int]]]
    reader: Joint
    belief: Product
    power: Exponents
    n_jobs: int | None
    link: tuple[LinkBlock, int] | None = None  # and its place among all links
    covariance: ExponentCovariance | None = None  # of exponents that were found

    @property
    def places(self) -> list[tuple[int, int]]:
        """Places of both columns: that of their block, and where they are there."""
        return [(b, j) for b, columns in self.groups for j in columns]

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
        return [
            str(self.blocks[b].names[j])
            for b, j in _in_order(self.blocks)
            if (b, j) not in self.places
        ]

    def margins(self, x: Array, y: Array) -> Array:
        """Margin of each class's score over the best of the others, `(y, x, c)`."""
        joint = self.reader.log_joint(self.cells(x, y), self.power, self.n_jobs)
        best = np.sort(joint, axis=1)[:, -2:]
        with np.errstate(invalid="ignore"):
            gap = joint - np.where(joint == best[:, 1:], best[:, :1], best[:, 1:])
        return np.nan_to_num(gap, nan=-FAR, posinf=1e6, neginf=-1e6).reshape(len(y), len(x), -1)

    def uncertainty(self, x: Array, y: Array, prob: float, rng: Rng) -> Array:
        """Positive where draws of theta disagree so much that an interval holds the boundary, `(y, x)`.

        With two classes: where the interval of their probability holds one half. With more: where none of them is
        decided on in as large a share of draws as such an interval has on one side.
        """
        live, cells = self.belief.live, self.cells(x, y)
        if live.sum() == 1:
            return np.full((len(y), len(x)), -1.0)
        scores = self.scores(cells)
        if live.sum() == 2 and find_smooth(scores, False).all():
            interval = intervals(scores, prob, False, "auto", self.n_jobs)
            at = int(live.argmax())
            with np.errstate(divide="ignore"):
                ends = logit(interval.upper[:, at]), -logit(interval.lower[:, at])
            return np.clip(np.minimum(*ends), -FAR, FAR).reshape(len(y), len(x))
        share = np.clip(self.agreement(cells, rng), 0, 1 - 0.5 / DRAWS)
        return (ndtri((1 + prob) / 2) - ndtri(share)).reshape(
            len(y), len(x)
        )  # between points nearly a straight line

    def agreement(self, cells: Sequence[Cells], rng: Rng) -> Array:
        """Share of draws that decide on the class that most of them decide on, `(r,)`."""
        scores = self.scores(cells).of(self.belief.live)
        rows, classes = len(scores), scores.classes
        draws = int(np.clip(SCORES // (rows * classes), FEWEST, DRAWS))
        times = np.zeros((rows, classes))
        rng = np.random.default_rng(rng)
        additions = draw_additions(scores, draws, another(rng, 2))
        for place, theta in draw_theta(scores.belief, draws, rng):
            for part, joint in theta.by_rows(cells, self.power, self.n_jobs):
                joint += additions.of(part, place)
                times[part] += (joint.argmax(axis=-1)[..., None] == np.arange(classes)).sum(axis=1)
        return times.max(axis=1) / draws

    def scores(self, cells: Sequence[Cells]) -> Scores:
        """Return the scores of the classes, the exponents unknown where they were found."""
        return Scores(self.belief, cells, self.power, self.covariance)

    def cells(self, x: Array, y: Array) -> list[Cells]:
        """Cells of the rows of a grid, x first; a place below 0 on an axis of counts is 0."""
        axes = [np.tile(x, len(y)), np.repeat(y, len(x))]
        columns = iter(
            [
                np.maximum(a, 0.0) if is_count else a
                for a, is_count in zip(axes, self.counts, strict=True)
            ]
        )
        result = []
        for b, places in self.groups:
            block, numbers = self.blocks[b], np.stack([next(columns) for _ in places], axis=1)
            if block.family.multivariate:  # all other columns of the block are missing
                cells = np.full((len(numbers), len(block.names)), np.nan)
                cells[:, places] = numbers
            else:
                cells = block.read_numbers(numbers, places[0])
            result.append(cells)
        return result if self.link is None else [*result, self._pairs(axes)]

    def _pairs(self, axes: list[Array]) -> Array:
        """Codes of pairs of levels of the link between both columns, `(r, 1)`."""
        assert self.link is not None
        links, at = self.link
        levels = {}
        for x, (b, j) in zip(axes, self.places, strict=True):
            end = next(
                end for end in links.ends[at] if links.columns[end] == self.blocks[b].names[j]
            )
            levels[end] = levels_of_written(*links.reader_of(end), self.blocks[b], j, x)
        parent, child = (levels[end].astype(np.int64) for end in links.ends[at])
        return (parent * links.levels_of_columns[links.ends[at][1]] + child)[:, None].astype(
            np.int32
        )

    def usual(self) -> list[Array]:
        """Draw cells of new rows, class by class, of both columns."""
        rng, drawn = np.random.default_rng(0), []
        for (b, places), belief in zip(
            self.groups, self.belief.blocks, strict=False
        ):  # a link is behind them
            family, grid, live = (
                self.blocks[b].family,
                self.blocks[b].grid,
                belief[self.belief.live],
            )
            cells = live.sample(rng, USUAL).sample(rng).reshape(USUAL * len(live), -1)
            cells = cells if family.threshold is None else family.threshold + 2 * cells - 1
            cells = cells if grid is None else grid.only(places[0]).written(cells, rng)
            drawn += [cells[:, j if family.multivariate else 0] for j in places]
        return drawn


def plane_of(model: Any, features: Sequence[Hashable] | None) -> Plane:
    """Return two columns of a fitted model: those that are named, or its first two of numbers."""
    check_fitted(model)
    blocks = model.schema_.blocks
    (a, i), (b, j) = _first_two(blocks) if features is None else _named(blocks, features)
    groups = [(a, [i, j])] if a == b and blocks[a].family.multivariate else [(a, [i]), (b, [j])]
    link = _link_between(model.schema_.links, {blocks[a].names[i], blocks[b].names[j]})
    linked = [] if link is None else [(len(blocks) - 1, [link[1]])]

    def kept(parts: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            parts[b] if blocks[b].family.multivariate else parts[b].only(columns[0])
            for b, columns in groups + linked
        )

    reader: Any = model._reader()
    product = Product(model.class_posterior_, kept(model.model_.posterior.blocks))
    power = model._exponents
    if isinstance(power, tuple):
        power = tuple(of_feature(power[b], columns[0]) for b, columns in groups + linked)
    covariance = model._covariance
    if covariance is not None:
        starts = np.cumsum([0, *(len(block.keys) for block in blocks)])
        first = [
            0 if blocks[b].family.multivariate else columns[0] for b, columns in groups + linked
        ]
        places = [starts[b] + at for (b, _), at in zip(groups + linked, first, strict=True)]
        covariance = replace(covariance, group=covariance.group[places])
    predictor = type(reader)(reader.classes, kept(reader.blocks))
    return Plane(blocks, groups, predictor, product, power, model.n_jobs, link, covariance)


def _link_between(links: LinkBlock | None, columns: set[Hashable]) -> tuple[LinkBlock, int] | None:
    """Return the block of links, and the place there of the one between two columns; None where there is none."""
    places = (
        [] if links is None else [at for at, pair in enumerate(links.keys) if set(pair) == columns]
    )
    return (links, places[0]) if links is not None and places else None


def _in_order(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Return the places of all columns, in the order of the table."""
    places = [
        (block.places[j], (b, j)) for b, block in enumerate(blocks) for j in range(len(block.names))
    ]
    return [place for _, place in sorted(places)]


def _first_two(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    places = _in_order(blocks)
    numeric = [
        (b, j) for b, j in places if _why_not(blocks[b]) is None and not blocks[b].family.outcomes
    ]
    if len(numeric) < 2:
        raise ValueError(
            f"a plane needs two columns of numbers, and the model has {len(numeric)}: "
            f"{', '.join(repr(blocks[b].names[j]) for b, j in numeric) or 'none'}."
        )
    return numeric[:2]


def _named(blocks: Sequence[Block], features: Sequence[Hashable]) -> list[tuple[int, int]]:
    known = {name: (b, j) for b, block in enumerate(blocks) for j, name in enumerate(block.names)}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    for name in features:
        if name not in known:
            raise unknown_column(name, list(known))
        why = _why_not(blocks[known[name][0]])
        if why:
            raise ValueError(f"column {name!r} {why}, so it has no axis of numbers. Name another.")
    return [known[name] for name in features]


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
    rng: Rng = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw where a model decides on which class over two of its columns, and how sure it is of the boundary.

    The colour of a place is the class that `predict` gives a row there. The dark band around the boundary is what the
    posterior leaves open: on a way across, it is the interval of where the decision changes. It narrows as rows are
    added; where the classes overlap it says nothing of how mixed they are.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : table of rows, optional
        Rows to be drawn on top. Those that lack one of the two cells are left out, and of many thousands every n-th is
        drawn.
    y : array-like, optional
        The labels of these rows.
    features : pair of labels, optional
        Two columns of numbers, by default the first two. All others are unknown to the model then, and integrated
        out; of its links the one between both columns counts. A `Bernoulli` column with a threshold can be named too.
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
    The band is about parameters, each place being chosen and no evidence about them: rows="fixed" of
    `predict_interval`. Between two classes it is where the interval of p(y | x, theta) holds one half, without draws;
    among more, or under `average_features`, it is where no class is the most probable one in
    (1 + ci_prob) / 2 of up to 4000 draws of theta.

    A model with a linear form (`linear_form`) has straight boundaries where parameters are plugged in; with parameters
    integrated out, and with a variance for each class, they bend. Where there are more than eight classes, the most
    frequent have colours, and the others are grey.

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
    plane, prob, outside = plane_of(model, features), checked_prob(ci_prob), ax is None
    points, codes = _rows(model, plane, X, y)
    limits = [_limits(*each) for each in zip(points, plane.usual(), plane.counts, strict=True)]
    ax = ax or new_axes(HIGH, WIDE)
    look = [(OTHERS, ".")] * len(model.classes_)  # colour and mark of each class
    for at, k in enumerate(shown_classes(model.model_.stats.classes.counts).tolist()):
        look[k] = COLOURS[at], MARKS[at]
    seen = _regions(ax, plane, limits, look)
    grid = [np.linspace(*ends, COARSE) for ends in limits]
    unsure = plane.uncertainty(grid[0], grid[1], prob, rng)
    if (unsure > 0).any():
        ax.contourf(*grid, unsure, [0, 2 * float(unsure.max())], colors=[to_rgba(INK, BAND)])
    _points(ax, points, codes, look)
    ax.set(xlim=limits[0], ylim=limits[1], ylabel=shorten(plane.names[1], UP))
    ax.set_xlabel(shorten(plane.names[0], AXIS) + _left_out(plane.unknown))
    add_title(ax, "Decision regions")
    ax.spines["left"].set_visible(True)
    ax.tick_params(axis="y", length=3.5)
    seen |= set() if codes is None else set(codes.tolist())
    keys = _keys(model.classes_.tolist(), look, sorted(seen))
    if (unsure > 0).any():
        keys.append(
            Patch(color=to_rgba(INK, BAND), linewidth=0, label=f"boundary, {100 * prob:.3g} % band")
        )
    add_legend(ax, keys, ACROSS, outside=outside, framed=True)
    return ax


def _rows(model: Any, plane: Plane, X: Any, y: Any) -> tuple[list[Array], Array | None]:
    """Return the rows that lack neither cell, and the codes of their labels."""
    if X is None and y is not None:
        raise ValueError("y was given without X. Give the rows that have these labels.")
    if X is None:
        return [np.empty(0), np.empty(0)], None
    cells = model._cells(X)[1]
    parts = [
        (x.numbers if isinstance(x, Flags) else x, j)
        for x, j in ((cells[b], j) for b, j in plane.places)
    ]
    points = np.stack([column(x, j) for x, j in parts])
    codes = None if y is None else label_codes(model, y, points.shape[1])
    keep = np.flatnonzero(np.isfinite(points).all(axis=0))
    keep = keep[:: max(len(keep) // MOST_POINTS, 1)]
    return list(points[:, keep]), None if codes is None else codes[keep]


def _limits(cells: Array, usual: Array, is_count: bool) -> tuple[float, float]:
    """Return the limits of an axis: around the cells or, if they are not two, around new rows."""
    low, high = middle(cells)
    if not low < high:
        low, high = np.quantile(usual[np.isfinite(usual)], (REACH, 1 - REACH)).tolist()
        high = high if low < high else np.nextafter(low, np.inf) + 1
    room = ROOM * (high - low)
    return max(low, 0.0) - room if is_count else low - room, high + room


def _regions(
    ax: Axes, plane: Plane, limits: Sequence[tuple[float, float]], look: list[tuple[str, str]]
) -> set[int]:
    """Draw shades and the lines between them, and return the classes that have a region."""
    x, y = (np.linspace(*ends, FINE) for ends in limits)
    margins = plane.margins(x, y)
    seen = np.flatnonzero((margins > 0).any(axis=(0, 1))).tolist()
    for k in seen:
        top = max(float(margins[..., k].max()), 1e-300)
        ax.contourf(x, y, margins[..., k], [0, 2 * top], colors=[to_rgba(look[k][0], SHADE)])
    for k in seen[len(seen) <= 2 :]:  # two regions have one line
        ax.contour(x, y, margins[..., k], [0], colors=INK, linewidths=1.3)
    return set(seen)


def _points(
    ax: Axes, points: Sequence[Array], codes: Array | None, look: list[tuple[str, str]]
) -> None:
    size = float(np.clip(4000 / max(len(points[0]), 1), 5, 26))
    edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.4, "zorder": 3, "s": size}
    if codes is None:
        ax.scatter(*points, color=INK, **edge)
        return
    for k in np.unique(codes).tolist():
        of_class = codes == k
        ax.scatter(
            points[0][of_class], points[1][of_class], color=look[k][0], marker=look[k][1], **edge
        )


def _keys(labels: list[Any], look: list[tuple[str, str]], seen: list[int]) -> list[Any]:
    """Return the classes' keys of the legend."""
    named = [k for k in seen if look[k][0] != OTHERS]
    shown = [(*look[k], shorten(str(labels[k]), NAME)) for k in named]
    shown += [(OTHERS, ".", "other classes")] if len(named) < len(seen) else []
    return [Line2D([], [], color=c, marker=m, linewidth=0, label=label) for c, m, label in shown]


def _left_out(names: list[str]) -> str:
    """Return a second line below the axis, which names the columns that are left out."""
    if not names:
        return ""
    shown = ", ".join(names)
    return f"\n{shown} unknown" if len(shown) <= LEFT else f"\n{len(names)} other columns unknown"
