"""Greedy search for a partition of columns into blocks, each modelled jointly and independent of the others.

    log Bayes factor of a step = sum of log p(block) over the blocks it makes - the same over those it replaces

The two blocks whose union gains most are joined, and again, until no union gains; then the column is moved, to another
block or to a new one, whose move gains most. It ends where nothing gains. A step compares only the blocks that it
changes, on the rows that have all their cells, so the evidence of all others stays (semi-naive Bayes: Kononenko 1991;
Pazzani 1996; by the evidence: Cooper and Herskovits 1992).

The gain of a step that joins blocks of levels counts only as far as it is earned: see `BlockEvidence.unearned`.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from bayesnb.selection.joint_evidence import Block, BlockEvidence

ROUNDING = 1e-12  # of the evidence that a step compares


class Step(NamedTuple):
    """Blocks that are replaced, the blocks that replace them, its log Bayes factor, and the part of it that counts."""

    gone: tuple[Block, ...]
    made: tuple[Block, ...]
    gain: float
    worth: float


def gain_of(columns: BlockEvidence, gone: Sequence[Block], made: Sequence[Block]) -> float:
    """Log Bayes factor of `made` blocks against `gone` ones of the same columns, in the rows that have all of these."""
    among = union(*gone)
    before = sum(columns.log_evidence(block, among) for block in gone)
    after = sum(columns.log_evidence(block, among) for block in made)
    return after - before if abs(after - before) > ROUNDING * abs(before) else 0.0


def joining(columns: BlockEvidence, one: Block, two: Block) -> Step:
    """Return the step that joins two blocks."""
    return _step(columns, (one, two), (union(one, two),), (one, two))


def _step(
    columns: BlockEvidence,
    gone: tuple[Block, ...],
    made: tuple[Block, ...],
    joined: tuple[Block, Block] | None = None,
) -> Step:
    """Return the step from `gone` to `made`; `joined` are the two blocks that it joins, if any."""
    gain, among = gain_of(columns, gone, made), union(*gone)
    if gain <= 0 or joined is None:
        return Step(gone, made, gain, gain)
    worth = gain - columns.unearned(*joined, among)
    return Step(gone, made, gain, worth if worth > ROUNDING * abs(columns.log_evidence(made[0], among)) else 0.0)


def steps(columns: BlockEvidence, start: Sequence[Block], most: float) -> Iterator[Step]:
    """Yield the steps of the search from `start`; no block comes to have more than `most` columns."""
    blocks, pairs, been = set(start), dict[tuple[Block, Block], Step](), {frozenset(start)}
    while True:
        for one, two in combinations(sorted(blocks), 2):
            if (one, two) not in pairs and len(one) + len(two) <= most:
                pairs[one, two] = joining(columns, one, two)
        joined = (step for pair, step in pairs.items() if blocks.issuperset(pair))
        step = _best(joined, blocks, been) or _best(_moves(columns, sorted(blocks), most), blocks, been)
        if step is None:
            return
        yield step
        blocks = after(blocks, step)
        been.add(frozenset(blocks))


def after(blocks: set[Block], step: Step) -> set[Block]:
    """Return the blocks after a step."""
    return (blocks - set(step.gone)) | set(step.made)


def union(*blocks: Block) -> Block:
    """Return all columns of these blocks as one block."""
    return tuple(sorted(place for block in blocks for place in block))


def _moves(columns: BlockEvidence, blocks: Sequence[Block], most: float) -> Iterator[Step]:
    """Yield the steps that move one column out of its block, to be alone or in another block."""
    for block in blocks:
        for place in block if len(block) > 1 else ():
            left = tuple(column for column in block if column != place)
            yield _step(columns, (block,), (left, (place,)))
            for target in blocks:
                if target != block and len(target) < most:
                    yield _step(columns, (block, target), (left, union(target, (place,))), (target, (place,)))


def _best(candidates: Iterator[Step], blocks: set[Block], been: set[frozenset[Block]]) -> Step | None:
    """Return the step that is worth most, if any is worth something and it leads to blocks not `been` at yet.

    Where cells are missing, steps compare different rows, and the search might go in circles.
    """
    fresh = (step for step in candidates if step.worth > 0 and frozenset(after(blocks, step)) not in been)
    return max(fresh, key=lambda step: step.worth, default=None)


def interleaved(paths: Sequence[Iterator[Step]]) -> Iterator[tuple[int, Step]]:
    """Merge the steps of several independent searches: the step that is worth more comes next."""
    heads = {at: step for at, path in enumerate(paths) if (step := next(path, None)) is not None}
    while heads:
        at = max(heads, key=lambda which: heads[which].worth)
        yield at, heads.pop(at)
        step = next(paths[at], None)
        if step is not None:
            heads[at] = step
