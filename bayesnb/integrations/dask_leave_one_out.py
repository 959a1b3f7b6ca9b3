"""Exact leave-one-out of Dask's collections: rows are scored where they are, and three numbers of each come back.

A row that carries so much of its class that it cannot be taken back by arithmetic needs the class's other rows, which
may be anywhere. Where there is one, a second pass brings its partition the stats of all others.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesnb.integrations.dask_partitions import heading, together
from bayesnb.integrations.dask_tables import FAN_IN, on_each, planned, said, tree
from bayesnb.integrations.estimator import Scores
from bayesnb.model.shards import added
from bayesnb.selection.leave_one_out import Pointwise, warn_unverified

Array = np.ndarray


class PartScores(NamedTuple):
    """The names of a partition's rows, if they have any, their scores, and which of them need other rows' stats."""

    names: Array | None
    found: Pointwise
    stuck: Array


def lazy_loo(model: Scores, rows: tuple[Any, Any, Any], target: str) -> tuple[Array, Pointwise, Array]:
    """The rows' names, their scores, and which have none for want of rows that are not there."""
    model._check_columns(heading(rows[0]))
    model._way(target)
    own, every = model._on_one_thread(), together(*rows)
    parts, seen = scored(own, every, target)
    if seen is None:
        raise ValueError("there is no row to score: all partitions are empty.")
    model._check_covers(seen)
    warn_unverified(model.model_, seen.classes.counts)
    again = [number for number, part in enumerate(parts) if part is not None and part.stuck.any()]
    for number, part in zip(again, scored_again(own, every, target, again), strict=True):
        parts[number] = part
    return joined([part for part in parts if part is not None])


def scored(model: Scores, rows: Sequence[Any], target: str) -> tuple[list[PartScores | None], Any]:
    """Scores of all partitions, as far as each can be scored alone, and what all rows say together."""
    from dask import compute

    answers = on_each(model, "_part_left_out", rows, target)
    parts, seen = (planned("part", [(take, own, place) for own in answers]) for place in (0, 1))
    return compute(parts, tree(seen)[-1][0])


def take(answer: Any, place: int) -> Any:
    return answer and answer[place]


def scored_again(model: Scores, rows: Sequence[Any], target: str, numbers: Sequence[int]) -> Sequence[PartScores]:
    """Some partitions, each scored with what all others say at hand."""
    from dask import compute, delayed

    if not numbers:
        return []
    seen, own = tree(on_each(model, "_said_again", rows)), delayed(model, pure=False, traverse=False)
    others = planned("others", [(added, all_but(number, seen)) for number in numbers])
    ask = (partial(scored_with, number=number, target=target) for number in numbers)
    return compute(
        *planned("again", list(zip(ask, [own] * len(numbers), [rows[n] for n in numbers], others, strict=True)))
    )


def all_but(number: int, every: Sequence[Sequence[Any]]) -> list[Any]:
    """What adds up to all but one: those beside it, and the sums beside those that it is in."""
    others = []
    for tier in every[:-1]:
        first = number - number % FAN_IN
        others += [own for at, own in enumerate(tier[first : first + FAN_IN], first) if at != number]
        number //= FAN_IN
    return others


def scored_with(model: Any, rows: Any, elsewhere: Any, *, number: int, target: str) -> PartScores:
    """One partition, where it is known what all others say."""
    return said(model, rows, method="_part_left_out", number=number, more=(target, elsewhere))[0]


def joined(parts: Sequence[PartScores]) -> tuple[Array, Pointwise, Array]:
    """All rows, in their order."""
    stuck = np.concatenate([part.stuck for part in parts])
    score, fitted = (np.concatenate([getattr(part.found, name) for part in parts]) for name in ("score", "fitted"))
    weights = [part.found.weight for part in parts if part.found.weight is not None]
    names = [part.names for part in parts if part.names is not None]
    index = np.concatenate(names) if names else np.arange(len(stuck))
    return index, Pointwise(score, fitted, np.concatenate(weights) if weights else None), stuck
