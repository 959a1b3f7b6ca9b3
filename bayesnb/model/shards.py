"""Stats of rows with the names of labels and levels, so that parts of a table can be added.

shard of (rows + more rows) = shard of rows + shard of more rows shard of rows = the sum - shard of
more rows

Parts may have different classes and levels. Their sum has those of both, sorted as if all rows had
been seen at once; if the levels of one part begin with those of the other, as with declared levels,
their order is kept. Subtracting rows that were never learnt is an error where it can be detected: a
count would be negative, or no rows could have the remaining stats.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.columns import united_labels
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.levels import TableStats
from bayesnb.families.removal import rounding_of, slack
from bayesnb.formatting import list_names, quote
from bayesnb.model.kept_rows import KeptRows
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import Model, Product, ProductStats, Rows, combine, observe
from bayesnb.model.schema import Block, Schema, are_alike

MAX_COLUMNS_LISTED = 20
ADVICE = (
    "These rows were not learnt, or are already forgotten. Pass rows with the labels and weights "
    "they were learnt with. Nothing was forgotten."
)


@dataclass(frozen=True, eq=False)
class Shard:
    """Statistics of a part of the rows, with their labels, columns and levels.

    ``bayesnb.scale.shard`` makes one. Shards can be added, ``a + b``; labels and levels are matched
    by name.

    Parameters
    ----------
    classes : array
        The labels, sorted.
    schema : Schema
        Columns, families and levels.
    stats : ProductStats
        Sufficient statistics of the rows.
    integer_weights : bool, default=True
        Whether all weights and counts were whole numbers.
    kept : KeptRows or None, default=None
        A sample of rows, if exponents are to be estimated.

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
        one = self.laid_out(classes, schema)
        two = other.laid_out(classes, schema)
        kept = None
        if one.kept is not None and two.kept is not None:
            kept = one.kept.joined(two.kept, schema, len(classes))
        is_whole = one.integer_weights and two.integer_weights
        return type(self)(classes, schema, one.stats + two.stats, is_whole, kept)

    def followed_by(self, later: Self) -> Self:
        """Sum in which levels keep their places, followed by new ones from `later`."""
        both = unite_schemas(self.schema, later.schema)
        pairs = zip(self.schema.blocks, both.blocks, strict=True)
        grown = later.schema.with_blocks([block.beginning(first) for first, block in pairs])
        return self + replace(later.laid_out(later.classes, grown), kept=None)

    def laid_out(self, classes: Array, schema: Schema) -> Self:
        """Extend to more classes and levels."""
        if classes is self.classes and schema is self.schema:
            return self
        places = np.searchsorted(classes, self.classes)
        blocks: list[Any] = []
        pairs: Any = zip(self.schema.blocks, schema.blocks, self.stats.blocks, strict=True)
        for narrow, block, seen in pairs:
            same = narrow.levels == block.levels
            blocks.append(seen if same else seen.relevelled(block.sizes, narrow.places_in(block)))
        stats = replace(self.stats, blocks=tuple(blocks))
        if len(classes) > len(self.classes):
            stats = combine(ProductStats, lambda part: part.among(places, len(classes)), stats)
        kept = self.kept
        if kept is not None:
            kept = kept.laid_out(self.schema, schema, places)
        return replace(self, classes=classes, schema=schema, stats=stats, kept=kept)


def add_shards(shards: Iterable[Shard | None]) -> Shard | None:
    """Sum of shards, in order; None if there are none."""
    total: Shard | None = None
    for part in shards:
        total = part if total is None else total if part is None else total + part
    return total


def unite_schemas(a: Schema, b: Schema) -> Schema:
    """Schema with the levels of both; raise if the columns differ."""
    if a is b:
        return a
    if a.columns != b.columns:
        alone = [
            name
            for name in (*a.columns, *b.columns)
            if name not in a.columns or name not in b.columns
        ]
        names = list_names(alone, MAX_COLUMNS_LISTED, quote)
        raise ValueError(
            "the columns of two parts differ: "
            f"{f'only one of them has {names}' if alone else 'their order differs'}. Give both the "
            "same columns in the same order."
        )
    pairs = list(zip(a.blocks, b.blocks, strict=False))
    same = all(one.names == two.names and are_alike(one.family, two.family) for one, two in pairs)
    if not same or len(a.blocks) != len(b.blocks):
        raise ValueError(_name_difference(a, b))
    return a.with_blocks([one.united(two) for one, two in pairs])


def _name_difference(a: Schema, b: Schema) -> str:
    """Return a message that names a column whose family differs between the parts."""
    for name in a.columns:
        one, two = (schema.families.get(name, "dropped") for schema in (a, b))
        if not are_alike(one, two):
            return (
                f"column {name!r} is {one} in one part and {two} in another: declare its family, "
                "families={column: family}, with the same prior in both."
            )
    if not are_alike((a.links, a.missing, a.covariance), (b.links, b.missing, b.covariance)):
        return (
            "the links between columns, their covariance, or flags of missing cells differ between "
            "the parts, as each part finds them in its first table. Continue one part from the "
            "other with partial_fit, or fit both with dependence=None and missing='omit'."
        )
    return "the blocks of columns differ between the parts: declare the same `families` for both."


def model_of(
    shard: Shard, class_prior: ClassPriorRule, before: tuple[Model, Shard] | None = None
) -> Model:
    """Return the model of all rows of a shard.

    A previous prior is kept, and extended to new classes and levels.
    """
    pairs = zip(shard.schema.blocks, shard.stats.blocks, strict=True)
    if before is None:
        priors = [block.belief(stats) for block, stats in pairs]
    else:
        model, known = before
        each = zip(known.schema.blocks, model.prior.blocks, pairs, strict=True)
        priors = [widen(old, belief, *pair, len(shard.classes)) for old, belief, pair in each]
    prior = Product(class_prior(shard.stats.classes), tuple(priors))
    return Model(prior, shard.stats, shard.integer_weights)


def widen(old: Block, belief: Belief, block: Block, stats: Stats, classes: int) -> Belief:
    """Extend the prior of a block to new classes or levels.

    A prior on the scale of the first rows stays; a prior over levels is the declared one for all
    levels.
    """
    is_wide = len(belief) == classes
    if is_wide and old.levels == block.levels:
        return belief
    try:
        wider = belief if is_wide else belief.for_classes(classes)
    except ValueError as error:
        raise ValueError(f"column {block.names[0]!r}: {error}") from None
    return block.belief(stats) if block.levels else wider


def subtract_rows(shard: Shard, gone: Shard, rows: int) -> Shard:
    """Subtract the stats of rows to forget; raise if they cannot have been learnt.

    `gone` has the classes and levels of the shard. Whole weights are subtracted exactly; sums of
    other weights have rounding errors, which grow with the number of rows.
    """
    touched = np.flatnonzero(gone.stats.classes.counts)
    before = shard.stats[touched]
    part = gone.stats[touched]
    integer_weights = shard.integer_weights and gone.integer_weights
    rounding = 0.0 if integer_weights else rounding_of(rows)
    classes, invalid = before.classes.without(part.classes, False, rounding)
    labels = shard.classes[touched].tolist()
    counts = before.classes.counts
    stay = classes.counts
    if invalid.any():
        c = int(invalid.argmax())
        raise ValueError(
            f"class {labels[c]!r}: {part.classes.counts[c]:.12g} rows, by weight, would be "
            f"forgotten, but it has {counts[c]:.12g}. {ADVICE}"
        )
    blocks = []
    each: Any = zip(shard.schema.blocks, before.blocks, part.blocks, strict=True)
    for block, stats, removed in each:
        rest, missing = stats.without(removed, stay == 0, rounding)
        blocks.append(rest)
        crowded = np.zeros((0, 0))
        if rest.cells is not None:
            crowded = rest.cells > (stay + slack(counts, rounding))[:, None]
        if missing.any():
            c, column = np.argwhere(missing)[0].tolist()
            if isinstance(stats, TableStats):  # the levels of all columns, end to end
                column = stats.levels.columns[column]
            what = "some of these cells were not learnt there"
        elif crowded.any():
            c, column = np.argwhere(crowded)[0].tolist()
            what = f"{rest.cells[c, column]:.12g} cells would be left in {stay[c]:.12g} rows"
        else:
            continue
        is_one = block.family.combined or block.family.listed
        name = block.keys[0] if is_one else block.words[column]
        raise ValueError(f"column {name!r}, class {labels[c]!r}: {what}. {ADVICE}")
    after = ProductStats(classes, tuple(blocks))
    return Shard(shard.classes, shard.schema, shard.stats.replaced(touched, after), integer_weights)
