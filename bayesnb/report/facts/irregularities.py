"""What may be wrong with a table that was learnt from, or tested on: counted when a check first asks."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from bayesnb.criticism.held_out_scores import CopiedRows, row_keys
from bayesnb.data import Amounts, amounts_of, open_table
from bayesnb.data.levels import UnseenLevelWarning
from bayesnb.families.base import Array
from bayesnb.numerics.views import Coded, WordCounts, column
from bayesnb.report.facts.features import ModelledColumn

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts

MOST = 1000  # columns that are looked at one by one
RARE = np.log(1e-3)  # a separation by chance, in the whole table, that is believed to be none
LONG = 20  # rows from which on a column can be a name of rows


class ColumnCounts(NamedTuple):
    """Counts of one column that show whether anything is wrong with it."""

    known: int  # cells that are not missing
    classes: int  # that have any of them
    distinct: int
    separated: tuple[int, ...]  # classes that it alone separates from all others
    singles: int  # cells whose value no other row has
    counting: bool  # whole numbers that only rise, or only fall, row by row


def column_counts(x: Array, codes: Array, leveled: bool, trials: int) -> ColumnCounts:
    """Count one column, NaN where a cell is missing. `trials` separations of columns and classes are looked for."""
    known = np.isfinite(x)
    x, codes = x[known], codes[known]
    values, place, times = np.unique(x, return_inverse=True, return_counts=True)
    separate = separating_levels if leveled else separating_ranges
    separated = separate(place, codes, trials) if len(values) > 1 else ()
    steps = np.diff(x)
    rising = bool((steps > 0).all() or (steps < 0).all()) and bool((x == np.floor(x)).all())
    counting = not leveled and rising and len(x) >= LONG
    return ColumnCounts(len(x), len(np.unique(codes)), len(values), separated, int((times == 1).sum()), counting)


def separating_ranges(place: Array, codes: Array, trials: int) -> tuple[int, ...]:
    """Classes in whose range no row of another class lies, further than chance would bring about."""
    classes = int(codes.max()) + 1
    low, high = np.full(classes, place.max() + 1), np.full(classes, -1)
    np.minimum.at(low, codes, place)
    np.maximum.at(high, codes, place)
    upto = np.concatenate([[0], np.cumsum(np.bincount(place))])
    size = np.bincount(codes, minlength=classes)
    there = np.flatnonzero((size > 0) & (size < len(codes)))
    alone = there[upto[high[there] + 1] - upto[low[there]] == size[there]]
    ways = np.log(len(codes) - size[alone] + 1.0)
    return _unlikely(alone, ways, size, len(codes), trials)


def separating_levels(place: Array, codes: Array, trials: int) -> tuple[int, ...]:
    """Classes whose levels no row of another class has, further than chance would bring about."""
    classes, levels = int(codes.max()) + 1, int(place.max()) + 1
    counts = np.zeros((levels, classes))
    np.add.at(counts, (place, codes), 1)
    mixed = (counts > 0) & (counts < counts.sum(axis=1, keepdims=True))
    size = counts.sum(axis=0)
    alone = np.flatnonzero(~mixed.any(axis=0) & (size > 0) & (size < len(codes)))
    return _unlikely(alone, np.full(len(alone), levels * np.log(2)), size, len(codes), trials)


def _unlikely(alone: Array, ways: Array, size: Array, rows: int, trials: int) -> tuple[int, ...]:
    """Classes that shuffled labels would hardly separate, by the log number of ways to do so and to shuffle."""
    sizes = size[alone]
    shuffles = gammaln(rows + 1) - gammaln(sizes + 1) - gammaln(rows - sizes + 1)
    return tuple(alone[ways - shuffles + np.log(trials) < RARE].tolist())


@dataclass(frozen=True, eq=False)
class Irregularities:
    """What may be wrong with the columns, words left out, and with the rows of a table."""

    facts: "Facts"

    @cached_property
    def columns(self) -> list[tuple[ModelledColumn, ColumnCounts]]:
        """All columns with their counts; of very many, the most relevant."""
        columns = self.facts.features.parts(self.facts.features.all)
        if len(columns) > MOST:
            columns = self.facts.features.parts(self.facts.features.ranked)[:MOST]
        trials = max(len(columns) * len(self.facts.classes), 1)
        return [(each, self._counts(each, trials)) for each in columns]

    def _counts(self, one: ModelledColumn, trials: int) -> ColumnCounts:
        leveled, x = one.family.has_levels, column(self.facts.cells[one.b], one.j)
        return column_counts(np.where(x < 0, np.nan, x) if leveled else x, self.facts.codes, leveled, trials)

    @property
    def left(self) -> int:
        """Columns, words left out, that were not looked at."""
        return len(self.facts.features.parts(self.facts.features.all)) - len(self.columns)

    @cached_property
    def amounts(self) -> list[tuple[ModelledColumn, Amounts]]:
        """Columns whose levels are money, percentages, or other numbers that were written for people."""
        leveled = [each for each, _ in self.columns if each.family.has_levels]
        blocks = self.facts.model.schema_.blocks
        amounts = ((each, amounts_of(blocks[each.b].levels[each.j])) for each in leveled)
        return [(each, amount) for each, amount in amounts if amount is not None]

    @cached_property
    def keys(self) -> Array:
        """Numbers that two rows share if they are the same."""
        return row_keys(self.facts.cells, self.facts.codes)

    @cached_property
    def copies(self) -> CopiedRows:
        """Rows that repeat an earlier one."""
        return CopiedRows.of(self.facts.cells, self.keys)

    @cached_property
    def unseen(self) -> list[tuple[Hashable, int]]:
        """Columns of the test table with levels that the model does not know, and in how many cells."""
        unseen: list[tuple[Hashable, int]] = []
        schema = self.facts.model.schema_
        for block, x in zip(schema.blocks, schema.read(open_table(self.facts.test_X)), strict=True):
            if isinstance(x, Coded | WordCounts) and block.family.unseen != "reserve":
                times = (sum(levels.values()) for levels in x.unknown_levels())
                unseen += [(name, n) for name, n in zip(block.names, times, strict=True) if n]
        return sorted(unseen, key=lambda each: -each[1])

    @cached_property
    def shift(self) -> tuple[float, float, float] | None:
        """Mean log density of held-out training rows and of the test's, and how many standard errors it is more."""
        learnt = self.facts.held_out.log_density
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)  # there was a warning before
            test = self.facts.model.log_density(self.facts.test_X)
        if not (np.isfinite(learnt).all() and np.isfinite(test).all()) or min(len(learnt), len(test)) < 2:
            return None
        error = np.sqrt(learnt.var(ddof=1) / len(learnt) + test.var(ddof=1) / len(test))
        gap = float(test.mean() - learnt.mean())
        return float(learnt.mean()), float(test.mean()), gap / error if error > 0 else 0.0
