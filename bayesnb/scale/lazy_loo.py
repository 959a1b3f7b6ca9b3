"""Exact leave-one-out of Dask's collections: rows are scored where they are, and three numbers of each come back.

A row that carries so much of its class that it cannot be taken back by arithmetic needs the class's other rows, which
may be anywhere. Where there is one, a second pass brings its partition the stats of all others.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from bayesnb.evaluate.leaving import Pointwise
from bayesnb.scale.lazy import alone, heading, on_each, said, together, tree
from bayesnb.shards import added

Array = np.ndarray


class Part(NamedTuple):
    """The names of a partition's rows, if they have any, their scores, and which of them need other rows' stats."""

    names: Array | None
    found: Pointwise
    stuck: Array


def lazy_loo(model: Any, rows: tuple[Any, Any, Any], target: str) -> tuple[Array, Pointwise, Array]:
    """The rows' names, their scores, and which have none for want of rows that are not there."""
    model._check_columns(heading(rows[0]))
    model._way(target)
    own, every = alone(model), together(*rows)
    parts, seen = scored(own, every, target)
    if seen is None:
        raise ValueError("there is no row to score: all partitions are empty.")
    model._check_covers(seen)
    again = [number for number, part in enumerate(parts) if part is not None and part.stuck.any()]
    for number, part in zip(again, scored_again(own, every, target, again), strict=True):
        parts[number] = part
    return joined([part for part in parts if part is not None])


def scored(model: Any, rows: Sequence[Any], target: str) -> tuple[list[Part | None], Any]:
    """Scores of all partitions, as far as each can be scored alone, and what all rows say together."""
    from dask import compute, delayed

    answers = on_each(model, "_part_left_out", rows, target)
    first, second = delayed(scores_of, pure=False), delayed(stats_of, pure=False)
    return compute([first(own) for own in answers], tree([second(own) for own in answers]))


def scores_of(answer: Any) -> Part | None:
    return answer and answer[0]


def stats_of(answer: Any) -> Any:
    return answer and answer[1]


def scored_again(model: Any, rows: Sequence[Any], target: str, numbers: Sequence[int]) -> list[Part]:
    """Some partitions, each scored with what all others say at hand: the sum of those before it and those after."""
    from dask import compute, delayed

    if not numbers:
        return []
    add, score = delayed(both, pure=False), delayed(scored_with, pure=False)
    seen = on_each(model, "_said_again", rows)
    before, after = [None, *accumulate(seen, add)], [None, *accumulate(reversed(seen), add)][::-1]
    own = delayed(model, pure=False, traverse=False)
    others = [(number, add(before[number], after[number + 1])) for number in numbers]
    return list(compute(*[score(own, number, rows[number], target, its) for number, its in others]))


def scored_with(model: Any, number: int, rows: tuple[Any, Any, Any], target: str, elsewhere: Any) -> Part:
    """One partition, where it is known what all others say."""
    return said(model, "_part_left_out", number, rows, (target, elsewhere))[0]


def both(a: Any, b: Any) -> Any:
    """The sum of stats, of which there may be none."""
    return added([a, b])


def joined(parts: Sequence[Part]) -> tuple[Array, Pointwise, Array]:
    """All rows, in their order."""
    stuck = np.concatenate([part.stuck for part in parts])
    score, fitted = (np.concatenate([getattr(part.found, name) for part in parts]) for name in ("score", "fitted"))
    weights = [part.found.weight for part in parts if part.found.weight is not None]
    names = [part.names for part in parts if part.names is not None]
    index = np.concatenate(names) if names else np.arange(len(stuck))
    return index, Pointwise(score, fitted, np.concatenate(weights) if weights else None), stuck
