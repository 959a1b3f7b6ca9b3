"""Rows that leave their class one at a time, where all classes may share a theta: they leave what is shared, too.

What a row's cell says for or against a theta for each class is the ratio of its probabilities under the two hypotheses,
each with what all other rows say; a row that leaves takes that word with it. Then every class is scored by the mixture
that is left, in which only the row's own class and what is shared have changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.leaving import Leaving
from bayesnb.families.mixture import mixed
from bayesnb.families.weight import one_hot
from bayesnb.numerics.threads import blocks

Array = np.ndarray
NUMBERS = 1 << 20  # that are worked on at once


class Left(NamedTuple):
    """An averaged prior, what each class and all together said, and the posterior."""

    prior: Any
    stats: Any
    pooled: Any
    posterior: Any

    def scores(self, leaving: Leaving) -> Array:
        """`(r, f) -> (r, c)`; NaN where too few digits would stay."""
        total = np.empty((len(leaving.codes), len(self.prior)))
        for c, its in _alike(leaving):
            total[its] = self._way(len(its))(c, leaving[its])
        return total

    def _way(self, rows: int) -> Callable[[int, Leaving], Array]:
        if self.prior.whole:
            return self.of_whole_rows
        values = self.prior.own.every_value
        return self.by_cell if values is None or len(values) > rows else self.by_value

    def of_whole_rows(self, c: int, its: Leaving) -> Array:
        """Where the block is one feature, whose rows leave by a compiled loop.

        A row that lacks cells was not learnt, and has said nothing that it could take away.
        """
        once = replace(its, power=its.each)
        own, shared = self.prior.own[c : c + 1], self.prior.common
        word = own.own_left_out(self.stats[c : c + 1], once) - shared.own_left_out(self.pooled, once)
        word = np.where(self.stats.learnt(its.x), word, 0.0)
        found = self.posterior.own.score(its.x, its.power)
        found[:, c] = own.own_left_out(self.stats[c : c + 1], its)
        common = shared.own_left_out(self.pooled, its)
        return mixed(self.posterior.log_odds[0] - word[:, None], found, common[:, None])

    def by_value(self, c: int, its: Leaving) -> Array:
        """Where a cell has few values: what each is worth if it leaves, looked up for all rows.

        A value that the class never saw is worth something too, but no row that leaves can have it.
        """
        values, own = self.prior.own.every_value, self.prior.own
        every = Leaving(values, np.full(len(values), c), np.full(len(values), its.each), its.kind, its.power)
        return own.by_value(self.cells(c, every, _counts))(its.x, None, 1)

    def by_cell(self, c: int, its: Leaving) -> Array:
        width = len(self.prior) * sum(array[0].size for array in self.prior.parts().values())
        parts = (its[rows] for rows in blocks(len(its.codes), max(NUMBERS // width, 1)))
        found = np.concatenate([self.cells(c, part).sum(axis=-1) for part in parts])
        own = self.prior.own[c : c + 1].own_left_out(self.stats[c : c + 1], its)
        marks = own + self.prior.common.own_left_out(self.pooled, its)
        found[:, c] = np.where(np.isnan(marks), np.nan, found[:, c])
        return found

    def cells(self, c: int, its: Leaving, rest: Callable[[Any], Any] = lambda stats: stats) -> Array:
        """What every cell is worth to every class once its row has left class c, `(r, c, f)`."""
        rows = np.zeros(len(its.codes), np.intp)
        alone = self.stats.alone(its.x, one_hot(np.arange(len(rows)), len(rows), its.weight))
        own = self.prior.own[rows + c].update(rest(self.stats[rows + c] - alone))
        common = self.prior.common[rows].update(rest(self.pooled[rows] - alone))
        x, gone = self.prior.cells(its.x), its.weight[:, None]
        log_odds = self.posterior.log_odds - own.log_moment(x, gone) + common.log_moment(x, gone)
        found = self.posterior.own.log_moment(x[:, None], its.power)
        found[:, c] = own.log_moment(x, its.power)
        return mixed(log_odds[:, None], found, common.log_moment(x, its.power)[:, None])


def _counts(stats: Any) -> Any:
    """Counts, none below zero."""
    return stats.map(lambda array: np.maximum(array, 0.0))


def _alike(leaving: Leaving) -> Iterator[tuple[int, Array]]:
    """Places of rows of one class of which the same goes."""
    for c, its in leaving.groups():
        weights, which = np.unique(leaving.weight[its], return_inverse=True)
        for w in range(len(weights)):
            yield c, its[which == w]
