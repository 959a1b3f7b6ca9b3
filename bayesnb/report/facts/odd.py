"""What is odd about the table that was learnt from, or tested on: found out when a check first asks."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayesnb.data import Amounts, amounts_of, open_table
from bayesnb.data.unseen import UnseenLevelWarning
from bayesnb.families.base import Array
from bayesnb.model.product import Rows
from bayesnb.numerics.views import Coded, Counted, column
from bayesnb.report.facts.columns import Column
from bayesnb.report.facts.oddities import Oddities, oddities, repeated
from bayesnb.selection.leave_one_out import leave_one_out

if TYPE_CHECKING:
    from bayesnb.report.facts.gathered import Facts

MOST = 1000  # columns that are looked at one by one


@dataclass(frozen=True, eq=False)
class Odd:
    """Of columns, words left out, and of rows."""

    facts: "Facts"

    @cached_property
    def columns(self) -> list[tuple[Column, Oddities]]:
        """Every column; of very many, the most relevant."""
        own = self.facts.columns.parts(self.facts.columns.features)
        if len(own) > MOST:
            own = self.facts.columns.parts(self.facts.columns.ranked)[:MOST]
        trials = max(len(own) * len(self.facts.classes), 1)
        return [(each, self._of(each, trials)) for each in own]

    def _of(self, own: Column, trials: int) -> Oddities:
        leveled, x = own.family.has_levels, column(self.facts.cells[own.b], own.j)
        return oddities(np.where(x < 0, np.nan, x) if leveled else x, self.facts.codes, leveled, trials)

    @property
    def left(self) -> int:
        """Columns, words left out, that were not looked at."""
        return len(self.facts.columns.parts(self.facts.columns.features)) - len(self.columns)

    @cached_property
    def amounts(self) -> list[tuple[Column, Amounts]]:
        """Columns whose levels are money, percentages, or other numbers that were written for people."""
        leveled = [own for own, _ in self.columns if own.family.has_levels]
        blocks = self.facts.model.schema_.blocks
        each = ((own, amounts_of(blocks[own.b].levels[own.j])) for own in leveled)
        return [(own, amounts) for own, amounts in each if amounts is not None]

    @cached_property
    def repeated(self) -> Array:
        """The rows that are copies of an earlier one."""
        return repeated(self.facts.cells, self.facts.codes)

    @cached_property
    def unseen(self) -> list[tuple[Hashable, int]]:
        """Columns of the test table with levels that the model does not know, and in how many cells."""
        found: list[tuple[Hashable, int]] = []
        schema = self.facts.model.schema_
        for block, x in zip(schema.blocks, schema.read(open_table(self.facts.test_X)), strict=True):
            if isinstance(x, Coded | Counted) and block.family.unseen != "reserve":
                times = (sum(own.values()) for own in x.unknown_levels())
                found += [(name, n) for name, n in zip(block.names, times, strict=True) if n]
        return sorted(found, key=lambda each: -each[1])

    @cached_property
    def shift(self) -> tuple[float, float, float] | None:
        """Mean log density of held-out training rows and of the test's, and how many standard errors it is more."""
        model = self.facts.model
        rows = Rows(model.schema_.observers, self.facts.cells, self.facts.codes)
        with np.errstate(invalid="ignore"):
            own = np.logaddexp.reduce(leave_one_out(model.model_, rows, n_jobs=model.n_jobs), axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)  # which was told before
            test = model.log_density(self.facts.test_X)
        if not (np.isfinite(own).all() and np.isfinite(test).all()) or min(len(own), len(test)) < 2:
            return None
        error = np.sqrt(own.var(ddof=1) / len(own) + test.var(ddof=1) / len(test))
        gap = float(test.mean() - own.mean())
        return float(own.mean()), float(test.mean()), gap / error if error > 0 else 0.0
