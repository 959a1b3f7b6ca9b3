"""What stays of a shard once rows that it has learnt have left: its stats less theirs.

Rows that were never learnt are noticed where something would fall below zero, or where what stays is of no rows that
there can be.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array, Stats
from bayesnb.families.removal import rounding_of, slack
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Block
from bayesnb.model.shards import Shard

ADVICE = (
    "So these rows are not among those that were learnt, or no more. Give rows with the labels and weights with which "
    "they were learnt. Nothing was forgotten."
)


def without(shard: Shard, gone: Shard, rows: int) -> Shard:
    """What stays once so many rows have left, which know the shard's classes and levels; an error if they cannot."""
    touched = np.flatnonzero(gone.stats.classes.counts)
    own, its = (Shard(part.classes[touched], part.schema, part.stats[touched], part.whole) for part in (shard, gone))
    whole = shard.whole and gone.whole
    rounding = 0.0 if whole else rounding_of(rows)
    check_labels(own, its, rounding)
    rest = own.stats.remains(its.stats, rounding)
    for b in range(len(rest.blocks)):
        check_block(own, its, Rest(rest, rounding), b)
    return Shard(shard.classes, shard.schema, shard.stats.replaced(touched, rest), whole)


class Rest(NamedTuple):
    """What stays, and the rounding with which it was found, as a part of what was there."""

    stats: ProductStats
    rounding: float


def check_labels(shard: Shard, gone: Shard, rounding: float) -> None:
    """Raise if more rows of a class would leave than it has."""
    own, its = shard.stats.classes, gone.stats.classes
    odd = own.faults(its, np.zeros(len(own), bool), rounding)[:, 0]
    if odd.any():
        c = int(odd.argmax())
        raise ValueError(
            f"class {shard.classes.tolist()[c]!r}: {its.counts[c]:.12g} rows, by weight, would go, and it has "
            f"{own.counts[c]:.12g}. {ADVICE}"
        )


def check_block(shard: Shard, gone: Shard, rest: Rest, b: int) -> None:
    """Raise for the first column of a block whose cells cannot leave it."""
    stay, counts = rest.stats.classes.counts, shard.stats.classes.counts
    block, own = shard.schema.blocks[b], shard.stats.blocks[b].beside(gone.stats.blocks[b])
    its = gone.stats.blocks[b].beside(own)
    odd, cells = own.faults(its, stay == 0, rest.rounding), rest.stats.blocks[b].cells
    if odd.any():
        c, k = first_odd(own, its, odd)
        name, what = told(block, own, its, c, k)
    elif cells is not None and (crowded := _crowded(cells, stay, slack(counts, rest.rounding))).any():
        c, f = (int(place) for place in np.argwhere(crowded)[0])
        name, what = block.keys[f], f"{cells[c, f]:.12g} cells would stay, of {stay[c]:.12g} rows"
    else:
        return
    raise ValueError(f"column {name!r}, class {shard.classes.tolist()[c]!r}: {what}. {ADVICE}")


def _crowded(cells: Array, stay: Array, off: Array) -> Array:
    """Where more cells would stay than rows, `(c, f)`, which may be off by so much."""
    return cells > (stay + off)[:, None]


def first_odd(own: Stats, its: Stats, odd: Array) -> tuple[int, int]:
    """The entry to be told of: one of which more would go than there is, if there is such a one."""
    over = [_flat(getattr(its, field)) > _flat(getattr(own, field)) for field in own.counted_fields]
    worst = odd & np.any(over, axis=0)
    c, k = np.argwhere(worst if worst.any() else odd)[0]
    return int(c), int(k)


def told(block: Block, own: Stats, its: Stats, c: int, k: int) -> tuple[Hashable, str]:
    """Whose entry of some stats cannot be taken back, and why."""
    at, what = k, ""
    if block.family.combined:
        return _of_table(block, own, its, (c, k))
    if block.family.listed:
        at, what = 0, f" of the word {block.words[k]!r}"
    elif block.levels:
        at = int(own.columns[k])  # type: ignore[attr-defined]
        levels, place = block.levels[at], k - int(own.starts[at])  # type: ignore[attr-defined]
        what = f" of level {levels[place]!r}" if place < len(levels) else " of levels that are not declared"
    name = block.names[at]
    for field in own.counted_fields:
        before, part = (float(_flat(getattr(stats, field))[c, k]) for stats in (own, its))
        if part > before:
            return name, f"{part:.12g} {field}{what} would go, of {before:.12g}"
    return name, f"what would stay{what} is of no rows that there can be"


def _of_table(block: Block, own: Any, its: Any, at: tuple[int, int]) -> tuple[Hashable, str]:
    """The same of a combination of levels."""
    codes = zip(block.levels, own.combinations[at[1]].tolist(), strict=True)
    levels = ", ".join(repr(known[code]) if code < len(known) else "a level not declared" for known, code in codes)
    before, part = (float(stats.counts[at[0], 0, at[1]]) for stats in (own, its))
    if part > before:
        return block.keys[0], f"{part:.12g} rows of levels {levels} would go, of {before:.12g}"
    return block.keys[0], f"what would stay of levels {levels} is of no rows that there can be"


def _flat(array: Any) -> Array:
    return array.reshape(len(array), -1)
