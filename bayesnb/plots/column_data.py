"""What figures need of a column: the belief in each class, the rows, the names of levels."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.data import open_table
from bayesnb.data.columns import encode
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.family import Family
from bayesnb.families.joint import JointDirichlet
from bayesnb.formatting import list_names, number, quote
from bayesnb.model.schema import Block
from bayesnb.numerics.views import column
from bayesnb.plots.style import MOST_CLASSES, check_fitted
from bayesnb.selection.feature_evidence import word_shares

MIN_ROWS = 15  # of a class, for a histogram
FENCE = 3.0  # interquartile ranges beyond the quartiles: Tukey's outer fences
EXPECTED_ROWS = (np.arange(50) + 0.5) / 50  # quantiles that replace rows
MAX_NAMES_LISTED = 20


@dataclass(frozen=True, eq=False)
class ColumnData:
    """A column, or several that are modelled jointly: the belief in each class, and the rows."""

    block: int
    places: Sequence[int]  # in the block
    names: tuple[str, ...]
    family: Family
    levels: Sequence[str]  # names of levels, or of combinations of levels
    belief: Belief  # `(c,)`
    classes: Sequence[Any]
    counts: Array  # training rows of each class
    cells: Array  # `(r, f)`
    codes: Array  # of the classes of these rows

    @property
    def name(self) -> str:
        return ", ".join(self.names)

    @property
    def shown(self) -> Array:
        return choose_classes(self.counts)

    @property
    def parts(self) -> list[Array]:
        """Rows of each class that is shown, without missing cells."""
        known = np.isfinite(self.cells).all(axis=1)
        return [self.cells[known & (self.codes == k)] for k in self.shown]


def choose_classes(counts: Array) -> Array:
    """Return the places of the most frequent classes, at most one for each colour."""
    return np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])


def read_column(model: Any, name: Hashable, X: Any = None, y: Any = None) -> ColumnData:
    """Return a column of a fitted model, a word, or several columns that are modelled jointly."""
    check_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("give X and y together (the rows to draw and their labels), or neither.")
    b, places = _find_columns(model.schema_.columns_alone.blocks, name)
    block = model.schema_.blocks[b]
    if X is None or block.family.words:
        return select_columns(model, b, places)
    table = open_table(X)
    if table.width != model.n_features_in_:
        raise ValueError(
            f"X has {table.width} columns, and the model was fitted to {model.n_features_in_}."
        )
    codes = encode(np.asarray(y).ravel(), model.classes_)
    if len(codes) != table.rows:
        raise ValueError(f"X has {table.rows} rows, and y has {len(codes)} labels.")
    return select_columns(model, b, places, block.read(table), codes)


def select_columns(
    model: Any,
    b: int,
    places: Sequence[int],
    x: Cells | None = None,
    codes: Array | None = None,
) -> ColumnData:
    """Return the column, word or columns at some places of a block with the cells `x`."""
    block = model.schema_.blocks[b]
    names = tuple(str(block.words[j]) for j in places)
    belief: Any = model.model_.posterior.blocks[b]
    levels: Sequence[str] = _name_levels(block, places[0])
    if block.family.words:
        belief = word_shares(belief.column(0).concentration)[:, places[0]]
        levels = [f"{names[0]}: share"]
    elif len(places) == 1:
        belief = belief.margins().column(places[0])
    else:
        belief = belief.of_columns(np.array(places)).column(0)
        if levels:
            levels = _name_combinations(belief, [_name_levels(block, j) for j in places])
    cells = np.empty((0, len(places)))
    if x is not None:
        cells = np.stack([column(x, j) for j in places], axis=1)
    return ColumnData(
        block=b,
        places=places,
        names=names,
        family=block.family.columnwise if len(places) == 1 else block.family,
        levels=levels,
        belief=belief,
        classes=model.classes_.tolist(),
        counts=model.model_.stats.classes.counts,
        cells=cells,
        codes=np.empty(0, int) if codes is None else codes,
    )


def _find_columns(blocks: Sequence[Block], name: Hashable) -> tuple[int, list[int]]:
    """Return the block of one column, or of several modelled jointly, and their places there."""
    columns_first = sorted(enumerate(blocks), key=lambda pair: pair[1].family.listed)
    for b, block in columns_first:  # a word of a list may have the same name
        if name in block.words:
            return b, [block.words.index(name)]
    for block in blocks:
        if block.family.listed and name == block.names[0]:
            raise ValueError(
                f"column {name!r} holds lists of words: use plot_words(model), or name one of its "
                "words."
            )
    known = [word for block in blocks for word in block.words]
    if not (isinstance(name, tuple) and set(name) <= set(known)):
        listed = list_names(known, MAX_NAMES_LISTED, quote)
        raise ValueError(f"{quote(name)} is not a column of this model; it has {listed}.")
    for b, block in enumerate(blocks):
        if block.family.multivariate and set(name) <= set(block.names):
            if block.family.words:
                raise ValueError(
                    f"a block of {len(name)} columns cannot be drawn as one column: "
                    "use plot_words(model)."
                )
            return b, [block.names.index(each) for each in dict.fromkeys(name)]
    raise ValueError(
        f"columns {name} are not modelled jointly: draw them one by one, "
        f"plot_column(model, {name[0]!r})."
    )


def _name_levels(block: Block, j: int) -> Sequence[str]:
    """Return the names of a column's levels, if it has levels."""
    if block.family.outcomes:
        cut = block.family.threshold
        return block.family.outcomes if cut is None else (f"at most {cut:g}", f"above {cut:g}")
    if not block.levels or block.family.listed:
        return ()
    new = ("anything new",) if block.family.unseen == "reserve" else ()
    return (*map(str, block.levels[j]), *new)


def _name_combinations(belief: JointDirichlet, levels: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of combinations of levels that have an entry, and of all others together."""
    names = []
    for combination in belief.combinations.tolist():
        cells = zip(levels, combination, strict=True)
        names.append(", ".join(part[k] if k < len(part) else "no level" for part, k in cells))
    if belief.levels.others == 1:
        names.append("the only other")
    elif belief.levels.others:
        names.append(f"any of {number(belief.levels.others)} others")
    return names


def find_usual_range(
    belief: Belief, parts: Sequence[Array], margin: float = 0.08
) -> tuple[float, float]:
    """Return a range that contains most numbers of each class; a few may be far out.

    The numbers are rows or, where rows are few, quantiles. Quartiles are those of distinct values,
    as most rows may be 0.
    """
    if max(map(len, parts)) < MIN_ROWS:
        parts = list(np.transpose([belief.quantile(p) for p in EXPECTED_ROWS]))
    ends = []
    for numbers in parts:
        values = np.unique(numbers[np.isfinite(numbers)])
        if len(values):
            first, third = np.quantile(values, (0.25, 0.75))
            reach = FENCE * (third - first)
            ends += [max(values[0], first - reach), min(values[-1], third + reach)]
    low = float(min(ends, default=0.0))
    high = float(max(ends, default=1.0))
    room = margin * (high - low) if low < high else max(0.5, 1e-9 * abs(low))
    return low - room, high + room
