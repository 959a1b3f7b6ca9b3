"""Columns of a fitted model as figures need them: beliefs, cells, names of levels, and ranges to draw."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.data import open_table
from bayesnb.data.labels import encode
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.capabilities import margins_of
from bayesnb.families.family import Family
from bayesnb.families.joint import JointDirichlet
from bayesnb.families.quantiles import tails
from bayesnb.formatting import shorten
from bayesnb.model.schema import Block
from bayesnb.numerics.views import column
from bayesnb.plots.style import MOST_CLASSES, check_fitted
from bayesnb.selection.feature_evidence import class_belief
from bayesnb.selection.word_ratios import word_shares

GRID, AROUND = 200, 40  # points of a curve, and more of them around each class's mean
MOST_BARS = 25
MANY = 1e6  # combinations, whose number says no more
REACH = 0.99  # of a class's predictive lies in the range of a picture
WITHIN_ONE = 0.6827  # the probability of a Gaussian within one standard deviation
TAIL = 0.005  # of the cells lie beyond either end, where they lie far out


@dataclass(frozen=True, eq=False)
class Sight:
    """A column with its belief in each class, `(c,)`, and its cells, if given.

    Or several columns of a block that is modelled jointly, with their joint belief.
    """

    names: tuple[str, ...]
    family: Family
    levels: tuple[tuple[str, ...], ...]  # of each column, if they have any
    belief: Belief
    classes: Sequence[Any]
    counts: Array  # rows of each class
    cells: Array | None = None  # `(r,)`, or `(r, f)` of several columns
    codes: Array | None = None

    @property
    def name(self) -> str:
        return ", ".join(self.names)

    @property
    def shown(self) -> Array:
        """Places of the most frequent classes, as many as have a colour, in the order of the classes."""
        return shown_classes(self.counts)

    @property
    def parts(self) -> list[Array]:
        """Cells of each class that is shown, without missing ones, or rows that have one."""
        if self.cells is None or self.codes is None:
            return [np.empty(0 if len(self.names) == 1 else (0, len(self.names)))] * len(self.shown)
        seen = (
            np.isfinite(self.cells) if self.cells.ndim == 1 else np.isfinite(self.cells).all(axis=1)
        )
        return [self.cells[seen & (self.codes == k)] for k in self.shown]


def shown_classes(counts: Array) -> Array:
    """Return the places of the most frequent classes, as many as have a colour."""
    return np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])


def label_codes(model: Any, y: Any, rows: int) -> Array:
    """Return the places of rows' labels among the classes of a model."""
    codes = encode(np.asarray(y).ravel(), model.classes_)
    if len(codes) != rows:
        raise ValueError(f"X has {rows} rows, and y has {len(codes)} labels.")
    return codes


def unknown_column(name: Hashable, known: Sequence[Hashable]) -> ValueError:
    """Return an error for a name that no column of a model has."""
    shown = ", ".join(shorten(repr(word), 40) for word in known[:20]) + (
        ", ..." if len(known) > 20 else ""
    )
    return ValueError(f"{shorten(repr(name), 60)} is not a column of this model; it has {shown}.")


def sight_of(model: Any, name: Hashable, X: Any = None, y: Any = None) -> Sight:
    """Return a column of a fitted model, a word of a block of counts, or several columns that are modelled jointly."""
    check_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("give X and y together, the rows to draw and their labels, or neither.")
    b, places = _places(model, name)
    if X is None or model.schema_.blocks[b].family.words:
        return seen_at(model, b, places)
    x = model.schema_.blocks[b].read(open_table(X))
    return seen_at(model, b, places, cells_of(x, places), label_codes(model, y, x.shape[0]))


def seen_at(
    model: Any,
    b: int,
    places: Sequence[int],
    cells: Array | None = None,
    codes: Array | None = None,
) -> Sight:
    """Return the column, or word, at a place of a block; or several of its columns."""
    block = model.schema_.blocks[b]
    belief: Any = class_belief(model.model_.posterior.blocks[b])
    if block.family.words:
        belief = word_shares(belief.column(0).concentration)[:, places[0]]
    elif len(places) == 1:
        belief = margins_of(belief).column(places[0])
    else:
        belief = belief.of_columns(np.array(places)).column(0)
    return Sight(
        tuple(str(block.words[j]) for j in places),
        block.family.columnwise if len(places) == 1 else block.family,
        tuple(level_names(block, j) for j in places),
        belief,
        model.classes_.tolist(),
        model.model_.stats.classes.counts,
        cells,
        codes,
    )


def cells_of(x: Cells, places: Sequence[int]) -> Array:
    """Return the cells of a column, `(r,)`, or of several, `(r, f)`; NaN where they are missing."""
    cells = np.stack([column(x, j) for j in places], axis=-1)
    cells = np.where(cells < 0, np.nan, cells) if x.dtype.kind == "i" and len(places) > 1 else cells
    return cells[:, 0] if len(places) == 1 else cells


def _places(model: Any, name: Hashable) -> tuple[int, list[int]]:
    """Return the block of a column, or of several that are modelled jointly, and their places there."""
    blocks = model.schema_.columns_alone.blocks
    columns_first = sorted(enumerate(blocks), key=lambda pair: pair[1].family.listed)
    for b, block in columns_first:  # a word of a list may have the same name
        if name in block.words:
            return b, [block.words.index(name)]
    known = [word for block in blocks for word in block.words]
    if any(block.family.listed and name == block.names[0] for block in blocks):
        raise ValueError(
            f"column {name!r} holds lists of words: plot_words(model) draws it, or name one of its words."
        )
    if isinstance(name, tuple) and set(name) <= set(known):
        joint = [
            b
            for b, block in enumerate(blocks)
            if block.family.multivariate and set(name) <= set(block.names)
        ]
        if not joint:
            raise ValueError(
                f"columns {name} are not modelled jointly, so each has a picture of its own: plot_column(model, "
                f"{name[0]!r})."
            )
        if blocks[joint[0]].family.words:
            raise ValueError(
                f"a block of {len(name)} columns has no picture of one column: plot_words(model) draws it."
            )
        return joint[0], [blocks[joint[0]].names.index(each) for each in dict.fromkeys(name)]
    raise unknown_column(name, known)


def level_names(block: Block, j: int) -> tuple[str, ...]:
    """Return the names of a column's levels; none, where it has no levels."""
    if not block.levels or block.family.listed:
        return ()
    return tuple(map(str, block.levels[j])) + (
        ("anything new",) if block.family.unseen == "reserve" else ()
    )


def combined(belief: JointDirichlet, levels: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of combinations of levels that have an entry, and of all others together."""
    names = [
        [*names, *["no level"] * (size - len(names))]
        for names, size in zip(levels, belief.sizes, strict=True)
    ]
    shown = [
        ", ".join(part[k] for part, k in zip(names, row, strict=True))
        for row in belief.combinations.tolist()
    ]
    if not belief.others:
        return shown
    more = f"{belief.others:,.0f} others" if belief.others < MANY else "all others"
    return [*shown, "the only other" if belief.others == 1 else f"any of {more}"]


def grid_of(x: Array, belief: Belief) -> Array:
    """Return points of curves, `(n,)`: around the data or, where they are not two, around the predictives.

    Points are dense around the classes' means, so that a narrow peak among far outliers keeps its height.
    """
    low, high = middle(x)
    reach = np.stack(_middle_part(belief, REACH))
    if not low < high:
        ends = reach
        ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.array([-1.0, 1.0])
        low, high = float(ends.min()), float(ends.max())
        room = 0.0 if low < high else max(abs(low), 1.0) / 2  # of one value
        return np.linspace(low - room, high + room, GRID)
    low, high = _reaching(low, high, reach)
    room = 0.08 * (high - low)
    even = np.linspace(low - room, high + room, GRID)
    middles, spread = belief.quantile(0.5), np.subtract(*_middle_part(belief, WITHIN_ONE)[::-1]) / 2
    near = (middles[:, None] + spread[:, None] * np.linspace(-4, 4, AROUND)).ravel()
    return np.union1d(
        even, near[(near > even[0]) & (near < even[-1])]
    )  # NaN, of no distribution, is outside


def _middle_part(belief: Belief, prob: float) -> tuple[Array, Array]:
    """Return the ends of the interval that a new cell is in with this probability, and as often below as above."""
    low, high = map(belief.quantile, tails(prob))
    return low, high


def _reaching(low: float, high: float, ends: Array) -> tuple[float, float]:
    """Return a range that holds nearly all of each predictive, at most twice as wide as that of the rows."""
    most, ends = (high - low) / 2, np.where(np.isfinite(ends), ends, np.nan)
    if np.isnan(ends).all(axis=1).any():
        return low, high
    return max(min(low, float(np.nanmin(ends[0]))), low - most), min(
        max(high, float(np.nanmax(ends[1]))), high + most
    )


def middle(x: Array) -> tuple[float, float]:
    """Return the range of the cells or, where a few lie far out, of nearly all."""
    x = x[np.isfinite(x)]
    if not len(x):
        return 0.0, 0.0
    low, high = np.quantile(x, (TAIL, 1 - TAIL))
    least, most = float(x.min()), float(x.max())
    if not low < high:
        return least, most
    return (
        least if low - least <= high - low else float(low),
        most if most - high <= high - low else float(high),
    )


def bins_of(x: Array) -> tuple[Array, int]:
    """Return the first count of each bar, and the number of counts in a bar: nearly all data in a few bars."""
    low, high = np.quantile(x, (TAIL, 1 - TAIL)) if len(x) else (0.0, 5.0)
    low = np.floor(low) if low > high / 3 else 0.0
    step = max(1, int(np.ceil((high - low) / MOST_BARS)))
    return np.arange(low, high + 1 + step, step), step
