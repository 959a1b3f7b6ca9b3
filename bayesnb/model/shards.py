"""What some rows said, under the names of their labels and levels, so that parts of a table add up to all of it.

    shard of (rows + more rows) = shard of rows + shard of more rows

Every part may know classes and levels of its own. Their sum knows those of both, sorted as if all rows had been seen
at once; where one part's are the beginning of the other's, as declared levels are, their order stays.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from bayesnb.data.labels import united_labels
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.model.product import Model, Product, ProductStats
from bayesnb.model.schema import Block, Schema
from bayesnb.selection.class_prior import ClassDie


@dataclass(frozen=True, eq=False)
class Shard:
    """The stats of some rows, with the labels, columns and levels that they are about.

    `whole` is whether every weight, and all that was counted, were whole numbers.
    """

    classes: Array
    schema: Schema
    stats: ProductStats
    whole: bool = True

    def __add__(self, other: Self) -> Self:
        classes, schema = united_labels(self.classes, other.classes), united(self.schema, other.schema)
        stats = self.laid_out(classes, schema) + other.laid_out(classes, schema)
        return type(self)(classes, schema, stats, self.whole and other.whole)

    def among(self, classes: Array) -> Self:
        """It, of more classes."""
        return replace(self, classes=classes, stats=self.laid_out(classes, self.schema))

    def followed_by(self, later: Self) -> Self:
        """The sum in which levels that are known keep their places, and those that `later` adds come after them."""
        blocks = zip(self.schema.blocks, united(self.schema, later.schema).blocks, strict=True)
        grown = later.schema.with_blocks([every.beginning(own) for own, every in blocks])
        return self + replace(later, schema=grown, stats=later.laid_out(later.classes, grown))

    def laid_out(self, classes: Array, schema: Schema) -> ProductStats:
        """Its stats among more classes and levels."""
        if classes is self.classes and schema is self.schema:
            return self.stats
        seen = [self._relevelled(b, block) for b, block in enumerate(schema.blocks)]
        if len(classes) == len(self.classes):
            return ProductStats(self.stats.classes, tuple(seen))
        places = np.searchsorted(classes, self.classes)
        every: list[Any] = [stats.among(places, len(classes)) for stats in (self.stats.classes, *seen)]
        return ProductStats(every[0], tuple(every[1:]))

    def _relevelled(self, b: int, block: Block) -> Stats:
        own: Any = self.schema.blocks[b]
        if own.levels == block.levels:
            return self.stats.blocks[b]
        return self.stats.blocks[b].relevelled(block.sizes, own.places_in(block))  # type: ignore[attr-defined]


def added(shards: Iterable[Shard | None]) -> Shard | None:
    """All of them together, one after the other; None if there are none."""
    total: Shard | None = None
    for part in shards:
        total = part if total is None else total if part is None else total + part
    return total


def united(a: Schema, b: Schema) -> Schema:
    """The schema with the levels of both; an error where they are not about the same columns."""
    if a is b:
        return a
    if a.columns != b.columns:
        raise ValueError(_unlike(a.columns, b.columns))
    together = [
        own.names == its.names and alike(own.family, its.family) for own, its in zip(a.blocks, b.blocks, strict=False)
    ]
    if not all(together) or len(a.blocks) != len(b.blocks):
        _refuse_families(a, b)
    return a.with_blocks([own.united(its) for own, its in zip(a.blocks, b.blocks, strict=True)])


def _unlike(a: Sequence[Hashable], b: Sequence[Hashable]) -> str:
    """Which columns only one of two parts has."""
    both, lacking = set(a) & set(b), []
    for own, where in ((a, "one part"), (b, "another")):
        only = [name for name in own if name not in both]
        lacking += [f"only {where} has {_shown(only)}"] if only else []
    told = "; ".join(lacking) or f"their order is {_shown(a)} in one part and {_shown(b)} in another"
    return f"the columns of two parts differ: {told}. Give both the same columns, in one order."


def _refuse_families(a: Schema, b: Schema) -> NoReturn:
    """Say which column is not of one kind in both parts."""
    mine, others = a.families, b.families
    for name in a.columns:
        if not alike(mine.get(name), others.get(name)):
            raise ValueError(
                f"column {name!r} is {mine.get(name, 'dropped')} in one part and {others.get(name, 'dropped')} in "
                "another: say its family, families={column: family}, with the same prior in both."
            )
    raise ValueError("the blocks of columns of one part are not those of another: say `families` for both alike.")


def alike(a: Any, b: Any) -> bool:
    """Whether two values say the same: families, priors, arrays, and what is made of those."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if is_dataclass(a):
        return all(alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)


def continued(model: Model, before: Shard, after: Shard, die: ClassDie) -> Model:
    """The model whose shard was `before`, with the stats of `after`: there its prior gets room for what is new."""
    priors, classes = model.prior.blocks, len(after.classes)
    if before.schema is not after.schema or before.classes is not after.classes:
        blocks = zip(before.schema.blocks, after.schema.blocks, priors, after.stats.blocks, strict=True)
        priors = tuple(_prior(old, block, belief, stats, classes) for old, block, belief, stats in blocks)
    return Model(Product(die(after.stats.classes), priors), after.stats, after.whole)


def _prior(old: Block, block: Block, belief: Belief, stats: Stats, classes: int) -> Belief:
    """A prior that took its scale from the first rows keeps it; one of levels is the declared one for all of them."""
    if old.levels == block.levels and len(belief) == classes:
        return belief
    try:
        wider = belief if len(belief) == classes else belief.for_classes(classes)
    except ValueError as error:
        raise ValueError(f"column {block.names[0]!r}: {error}") from None
    return block.belief(stats) if block.levels else wider


def _shown(columns: Sequence[Any]) -> str:
    return ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
