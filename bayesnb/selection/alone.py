"""What a row holds that no other row of its class does: where it is left out without smoothing, it is impossible."""

from typing import NamedTuple

import numpy as np

from bayesnb.families.weight import one_hot
from bayesnb.selection.settings import Trials

ROUNDING = 1e-9


class Alone(NamedTuple):
    """A block, its column and the level there."""

    block: int
    column: int
    level: int


def found_alone(trials: Trials, row: int) -> Alone | None:
    """The first thing that only this row of its class holds; None if there is none."""
    rows, stats = trials.rows, trials.learnt.stats
    c, weight = rows.codes[[row]], rows.counts[[row]]
    for b, family in enumerate(trials.families):
        own = rows.observers[b](rows.cells[b][[row]], one_hot(c, len(stats.classes), weight), 1)
        whole = stats.blocks[b].beside(own)
        held, every = family.seen(own.beside(whole)), family.seen(whole)
        if held is None or every is None:
            continue
        only = (held.counts[c[0]] > 0) & (every.counts[c[0]] - held.counts[c[0]] <= ROUNDING * held.counts[c[0]])
        if only.any():
            entry = int(np.argmax(only))
            return Alone(b, int(held.column[entry]), int(held.level[entry]))
    return None
