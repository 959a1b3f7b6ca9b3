"""Stats of rows under the names of labels and levels, so that parts of a table add up.

    shard of (rows + more rows) = shard of rows + shard of more rows
    shard of rows = the sum - shard of more rows

Parts may have different classes and levels. Their sum has those of both, sorted as if all rows had
been seen at once; where one part's are the beginning of the other's, as declared levels are, their
order stays. Rows that were never learnt cannot be subtracted: that is noticed where something would
fall below zero, or where what stays is of no rows that there can be.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.labels import united_labels
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.levels import TableStats
from bayesnb.families.removal import rounding_of, slack
from bayesnb.formatting import list_names, quote
from bayesnb.model.kept_rows import KeptRows
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import Model, Product, ProductStats, Rows, observe
from bayesnb.model.schema import OTHER_LINKS, Block, Schema

MAX_COLUMNS_LISTED = 20
ADVICE = (
    "So these rows were not learnt, or were forgotten before. Give rows with the labels and "
    "weights with which they were learnt. Nothing was forgotten."
)


@dataclass(frozen=True, eq=False)
class Shard:
    """Statistics of a part of the rows, with the labels, columns and levels that they are about.

    ``bayesnb.scale.shard`` makes one. Shards add up, ``a + b``, and labels and levels are united by
    name.

    Parameters
    ----------
    classes : array
        The labels, sorted.
    schema : Schema
        Columns, families and levels.
    stats : ProductStats
        Sufficient statistics of the rows.
    integer_weights : bool, default=True
        Whether every weight, and all that was counted, were whole numbers.
    kept : KeptRows or None, default=None
        Rows that stay where exponents are to be found by them.

    See Also
    --------
    bayesnb.scale.shard : Count the rows of a part.
    bayesnb.scale.fit_shards : Learn from the sum of all parts.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> first = scale.shard(GaussianNB(), [[1.0], [1.2]], ["low", "low"])
    >>> second = scale.shard(GaussianNB(), [[3.0], [3.1]], ["high", "high"])
    >>> (first + second).classes.tolist()
    ['high', 'low']
    """

    classes: Array
    schema: Schema
    stats: ProductStats
    integer_weights: bool = True
    kept: KeptRows | None = None

    @classmethod
    def of(
        cls, schema: Schema, classes: Array, table: Table, codes: Array, weight: Array | None
    ) -> tuple[Self, Rows]:
        """Return the shard of labelled rows of a table, and the rows as they were read."""
        rows = Rows(schema.observers, schema.read(table), codes, weight)
        stats = observe(rows, len(classes), table.n_jobs)
        schema.check_stats(rows.cells, stats)
        return cls(classes, schema, stats, schema.are_whole(rows.cells, weight)), rows

    def __add__(self, other: Self) -> Self:
        classes = united_labels(self.classes, other.classes)
        schema = unite_schemas(self.schema, other.schema)
        stats = self.laid_out(classes, schema) + other.laid_out(classes, schema)
        one = self.kept_among(classes, schema)
        two = other.kept_among(classes, schema)
        kept = None if one is None or two is None else one.joined(two, schema, len(classes))
        return type(self)(
            classes, schema, stats, self.integer_weights and other.integer_weights, kept
        )

    def among(self, classes: Array) -> Self:
        """Shard of the same rows among more classes."""
        stats = self.laid_out(classes, self.schema)
        kept = self.kept_among(classes, self.schema)
        return replace(self, classes=classes, stats=stats, kept=kept)

    def followed_by(self, later: Self) -> Self:
        """Sum in which levels keep their places, and those that `later` adds come after them."""
        blocks = zip(
            self.schema.blocks, unite_schemas(self.schema, later.schema).blocks, strict=True
        )
        grown = later.schema.with_blocks([both.beginning(first) for first, both in blocks])
        wider = replace(later, schema=grown, stats=later.laid_out(later.classes, grown), kept=None)
        return self + wider

    def laid_out(self, classes: Array, schema: Schema) -> ProductStats:
        """Stats among more classes and levels."""
        if classes is self.classes and schema is self.schema:
            return self.stats
        seen = [self._relevelled(b, block) for b, block in enumerate(schema.blocks)]
        if len(classes) == len(self.classes):
            return ProductStats(self.stats.classes, tuple(seen))
        places = np.searchsorted(classes, self.classes)
        wider: list[Any] = [
            stats.among(places, len(classes)) for stats in (self.stats.classes, *seen)
        ]
        return ProductStats(wider[0], tuple(wider[1:]))

    def kept_among(self, classes: Array, schema: Schema) -> KeptRows | None:
        """Rows that stay, among more classes and levels."""
        if self.kept is None or (classes is self.classes and schema is self.schema):
            return self.kept
        return self.kept.laid_out(self.schema, schema, np.searchsorted(classes, self.classes))

    def _relevelled(self, b: int, block: Block) -> Stats:
        """Stats of a block among the levels of a wider one."""
        narrow = self.schema.blocks[b]
        if narrow.levels == block.levels:
            return self.stats.blocks[b]
        return self.stats.blocks[b].relevelled(block.sizes, narrow.places_in(block))  # type: ignore[attr-defined]


def add_shards(shards: Iterable[Shard | None]) -> Shard | None:
    """Sum of shards, one after the other; None if there are none."""
    total: Shard | None = None
    for part in shards:
        total = part if total is None else total if part is None else total + part
    return total


def unite_schemas(a: Schema, b: Schema) -> Schema:
    """Schema with the levels of both; raise where they are not about the same columns."""
    if a is b:
        return a
    if a.columns != b.columns:
        raise ValueError(_unlike(a.columns, b.columns))
    pairs = list(zip(a.blocks, b.blocks, strict=False))
    if not all(
        one.names == two.names and are_alike(one.family, two.family) for one, two in pairs
    ) or len(a.blocks) != len(b.blocks):
        _refuse_families(a, b)
    return a.with_blocks([one.united(two) for one, two in pairs])


def _unlike(a: Sequence[Hashable], b: Sequence[Hashable]) -> str:
    """Return a message that names the columns which only one of two parts has."""
    alone = [name for name in (*a, *b) if name not in a or name not in b]
    difference = "their order differs"
    if alone:
        difference = f"only one of them has {list_names(alone, MAX_COLUMNS_LISTED, quote)}"
    return (
        f"the columns of two parts differ: {difference}. Give both the same columns, in one order."
    )


def _refuse_families(a: Schema, b: Schema) -> NoReturn:
    """Raise with the column whose family is not the same in both parts."""
    mine = a.families
    others = b.families
    for name in a.columns:
        if not are_alike(mine.get(name), others.get(name)):
            one, other = (families.get(name, "dropped") for families in (mine, others))
            raise ValueError(
                f"column {name!r} is {one} in one part and {other} in another: declare its "
                "family, families={column: family}, with the same prior in both."
            )
    if (a.links is None) != (b.links is None):
        raise ValueError(OTHER_LINKS)
    raise ValueError(
        "the blocks of columns differ between the parts: declare the same `families` for both."
    )


def are_alike(a: Any, b: Any) -> bool:
    """Whether two values are equal: families, priors, arrays, and containers of those."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(are_alike(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(are_alike, a, b))
    if is_dataclass(a):
        return all(are_alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)


def model_of(
    shard: Shard, class_prior: ClassPriorRule, before: tuple[Model, Shard] | None = None
) -> Model:
    """Return the model of all rows of a shard.

    A prior that was there before stays, with room for what is new.
    """
    if before is None:
        pairs = zip(shard.schema.blocks, shard.stats.blocks, strict=True)
        priors = tuple(block.belief(stats) for block, stats in pairs)
    else:
        priors = _priors(*before, shard)
    return Model(
        Product(class_prior(shard.stats.classes), priors), shard.stats, shard.integer_weights
    )


def _priors(model: Model, before: Shard, after: Shard) -> tuple[Belief, ...]:
    """Return the priors of the model of `before`, with room for what is new in `after`."""
    if before.schema is after.schema and before.classes is after.classes:
        return model.prior.blocks
    blocks = zip(
        before.schema.blocks,
        after.schema.blocks,
        model.prior.blocks,
        after.stats.blocks,
        strict=True,
    )
    return tuple(_prior(*block, len(after.classes)) for block in blocks)


def _prior(old: Block, block: Block, belief: Belief, stats: Stats, classes: int) -> Belief:
    """Prior of a block that may have new classes or levels.

    One that took its scale from the first rows keeps it; one of levels is the declared one for all
    of them.
    """
    if old.levels == block.levels and len(belief) == classes:
        return belief
    try:
        wider = belief if len(belief) == classes else belief.for_classes(classes)
    except ValueError as error:
        raise ValueError(f"column {block.names[0]!r}: {error}") from None
    return block.belief(stats) if block.levels else wider


def subtract_rows(shard: Shard, gone: Shard, rows: int) -> Shard:
    """Subtract the stats of rows that are to be forgotten.

    Raise if they cannot be among those that were learnt.

    `gone` has the shard's classes and levels. Whole weights are subtracted exactly; sums of others
    are rounded, the more so the more rows they are of.
    """
    touched = np.flatnonzero(gone.stats.classes.counts)
    before, removed = (
        Shard(part.classes[touched], part.schema, part.stats[touched], part.integer_weights)
        for part in (shard, gone)
    )
    integer_weights = shard.integer_weights and gone.integer_weights
    rounding = 0.0 if integer_weights else rounding_of(rows)
    _check_labels(before, removed, rounding)
    after = before.stats.remains(removed.stats, rounding)
    for b in range(len(after.blocks)):
        _check_block(before, removed, after, rounding, b)
    return Shard(shard.classes, shard.schema, shard.stats.replaced(touched, after), integer_weights)


def _check_labels(before: Shard, removed: Shard, rounding: float) -> None:
    """Raise if more rows of a class would leave than it has."""
    counts = before.stats.classes
    gone = removed.stats.classes
    invalid = counts.faults(gone, np.zeros(len(counts), bool), rounding)[:, 0]
    if invalid.any():
        c = int(invalid.argmax())
        raise ValueError(
            f"class {before.classes.tolist()[c]!r}: {gone.counts[c]:.12g} rows, by weight, would "
            f"go, and it has {counts.counts[c]:.12g}. {ADVICE}"
        )


def _check_block(
    before: Shard, removed: Shard, after: ProductStats, rounding: float, b: int
) -> None:
    """Raise for the first column of a block whose cells cannot leave it."""
    stay = after.classes.counts
    counts = before.stats.classes.counts
    block = before.schema.blocks[b]
    stats = before.stats.blocks[b].beside(removed.stats.blocks[b])
    gone = removed.stats.blocks[b].beside(stats)
    invalid = stats.faults(gone, stay == 0, rounding)
    cells = after.blocks[b].cells
    if invalid.any():
        c, entry = np.argwhere(invalid)[0]
        name = _column_of(block, stats, int(entry))
        what = "cells would go that were not learnt there"
    elif cells is not None and (crowded := cells > (stay + slack(counts, rounding))[:, None]).any():
        c, f = np.argwhere(crowded)[0]
        name = block.keys[f]
        what = f"{cells[c, f]:.12g} cells would stay, of {stay[c]:.12g} rows"
    else:
        return
    raise ValueError(f"column {name!r}, class {before.classes.tolist()[c]!r}: {what}. {ADVICE}")


def _column_of(block: Block, stats: Any, entry: int) -> Hashable:
    """Return the name of the column that an entry of stats is about."""
    if block.family.combined or block.family.listed:
        return block.keys[0]
    if isinstance(stats, TableStats):  # the levels of all columns lie end to end
        entry = stats.levels.columns[entry]
    return block.names[entry]
