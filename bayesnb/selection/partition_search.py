"""Partitions of columns into blocks, each modelled jointly and independent of the others: the search for a good one.

    log Bayes factor of a step = sum of log p(block) over the blocks it makes - the same over those it replaces

The two blocks whose union gains most are joined, and again, until no union gains; then the column is moved, to another
block or to one of its own, whose move gains most. It ends where nothing gains. Every step has only blocks of its own to
compare, on the rows that have all their cells, so what was found out about others stays (semi-naive Bayes: Kononenko
1991; Pazzani 1996; by the evidence: Cooper and Herskovits 1992).

What a step of levels gains by joining blocks counts only as far as it is earned: see `Columns.unearned`.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from bayesnb.selection.block_evidence import Block, Columns

ROUNDING = 1e-12  # of the evidence that a step compares


class Step(NamedTuple):
    """Blocks that are replaced by others, the log Bayes factor for that, and how much of it counts in the search."""

    gone: tuple[Block, ...]
    made: tuple[Block, ...]
    gain: float
    worth: float


def gain_of(columns: Columns, gone: Sequence[Block], made: Sequence[Block]) -> float:
    """The log Bayes factor for some blocks against others of the same columns, in the rows that have all of them."""
    among = union(*gone)
    before = sum(columns.log_evidence(block, among) for block in gone)
    after = sum(columns.log_evidence(block, among) for block in made)
    return after - before if abs(after - before) > ROUNDING * abs(before) else 0.0


def joining(columns: Columns, one: Block, other: Block) -> Step:
    """The step that joins two blocks."""
    return _step(columns, (one, other), (union(one, other),), (one, other))


def _step(
    columns: Columns, gone: tuple[Block, ...], made: tuple[Block, ...], joined: tuple[Block, Block] | None = None
) -> Step:
    """A step, of which two blocks are joined, or none."""
    gain, among = gain_of(columns, gone, made), union(*gone)
    if gain <= 0 or joined is None:
        return Step(gone, made, gain, gain)
    worth = gain - columns.unearned(*joined, among)
    return Step(gone, made, gain, worth if worth > ROUNDING * abs(columns.log_evidence(made[0], among)) else 0.0)


def steps(columns: Columns, start: Sequence[Block], most: float) -> Iterator[Step]:
    """The steps of the search from some blocks, none of which comes to have more than `most` columns."""
    blocks, pairs, been = set(start), dict[tuple[Block, Block], Step](), {frozenset(start)}
    while True:
        for one, other in combinations(sorted(blocks), 2):
            if (one, other) not in pairs and len(one) + len(other) <= most:
                pairs[one, other] = joining(columns, one, other)
        joined = (step for pair, step in pairs.items() if blocks.issuperset(pair))
        step = _best(joined, blocks, been) or _best(_moves(columns, sorted(blocks), most), blocks, been)
        if step is None:
            return
        yield step
        blocks = after(blocks, step)
        been.add(frozenset(blocks))


def after(blocks: set[Block], step: Step) -> set[Block]:
    """The blocks that there are after a step."""
    return (blocks - set(step.gone)) | set(step.made)


def union(*blocks: Block) -> Block:
    """All columns of some blocks."""
    return tuple(sorted(place for block in blocks for place in block))


def _moves(columns: Columns, blocks: Sequence[Block], most: float) -> Iterator[Step]:
    """Every column of a block, alone or in another block."""
    for block in blocks:
        for place in block if len(block) > 1 else ():
            left = tuple(other for other in block if other != place)
            yield _step(columns, (block,), (left, (place,)))
            for other in blocks:
                if other != block and len(other) < most:
                    yield _step(columns, (block, other), (left, union(other, (place,))), (other, (place,)))


def _best(found: Iterator[Step], blocks: set[Block], been: set[frozenset[Block]]) -> Step | None:
    """The step that is worth most, if one is worth anything; where cells are missing, it might lead in circles."""
    fresh = (step for step in found if step.worth > 0 and frozenset(after(blocks, step)) not in been)
    return max(fresh, key=lambda step: step.worth, default=None)


def interleaved(paths: Sequence[Iterator[Step]]) -> Iterator[tuple[int, Step]]:
    """The steps of several searches that have nothing to do with each other: what is worth more is next."""
    heads = {at: step for at, path in enumerate(paths) if (step := next(path, None)) is not None}
    while heads:
        at = max(heads, key=lambda which: heads[which].worth)
        yield at, heads.pop(at)
        step = next(paths[at], None)
        if step is not None:
            heads[at] = step
