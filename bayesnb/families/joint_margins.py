"""What is believed of some columns of a joint table, whatever the others hold: sums over a Dirichlet's sides."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.categorical import Dice
from bayesnb.families.combined import Combined
from bayesnb.families.dirichlet import Dirichlet, as_level
from bayesnb.families.joint_seen import JointStats
from bayesnb.families.narrowing import Narrowed


class Margins(Combined):
    """A Dirichlet over all combinations of levels is one over those of fewer columns, by aggregation."""

    concentration: Array

    @property
    def entries(self) -> Dirichlet:
        """The combinations that have an entry, and all others together, which are the last, `(c, 1, n + 1)`."""
        return Dirichlet(self.lumped(self.concentration))

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """The expected probability of each combination with an entry, and of all others, and their intervals."""
        return self.entries.level_intervals(prob)

    def margins(self) -> Dice:
        """Every column by itself."""
        every = []
        for j, size in enumerate(self.sizes):
            seen, own = self.margin(self.concentration[:, 0], np.array([j]))
            each = np.repeat(own[..., -1:], size, axis=-1)
            each[..., seen[:, 0]] = own[..., :-1]
            every.append(each)
        return Dice(np.concatenate(every, axis=-1), self.sizes)

    def of_columns(self, columns: Array) -> "Margins":
        """Some columns together, in this order."""
        seen = self.margin(self.concentration, columns)[0]
        sizes = tuple(self.sizes[j] for j in columns)
        return self.relaid(lambda own: self.margin(own, columns)[1], seen, sizes)

    def narrowed(self, x: Cells, see: Callable[..., Any]) -> Narrowed:
        codes = as_level(x[:])
        columns = np.flatnonzero(codes[0] >= 0)
        if len(columns) in (0, codes.shape[1]):
            return Narrowed(self, x, see)
        own = self.of_columns(columns)
        return Narrowed(own, codes[:, columns], lambda x, weight, n_jobs: JointStats.of(x, weight, own.sizes, n_jobs))
