"""Rows that leave for good: what stays of the stats, and whether those rows can have been among them.

Whole numbers that a float holds are subtracted exactly. Sums of other weights are rounded, and what rounding may have
left of nothing is nothing.
"""

from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.leaving import ROUNDING, staying
from bayesnb.families.record import Array, Record

SLACK = 1e-9  # what rounding may leave of numbers that are the same
EPSILON = float(np.finfo(float).eps)
EXACT = 2.0**53  # whole numbers below are floats


class Forgetting(Record):
    """Stats from which rows can be taken back."""

    constants: ClassVar[tuple[str, ...]] = ()  # fields that no parameter meets, and which may have any sign

    @property
    def cells(self) -> Array | None:
        """How many cells were seen, `(c, f)`; None for a family that misses none."""
        return None

    def covers(self, part: Self, every: Array) -> bool:
        """Whether the rows behind `part` can be among the rows behind these."""
        return not self.faults(part, every).any()

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Where they cannot, as something would fall below zero, `(c, k)`.

        Of some classes, `every` of `(c,)`, they are all rows: nothing would stay. Without `rounding` it is exact.
        """
        odd: Any = False
        for name in self.counted_fields:
            count, its = getattr(self, name), getattr(part, name)
            rest, none = count - its, slack(self.about(name), rounding)
            odd = odd | (rest < -none) | along(every, rest) & (rest > none)
        return odd.reshape(len(odd), -1)

    def remains(self, part: Self, rounding: float) -> Self:
        """What stays once the rows behind `part` have left, unless it is no more than `rounding` of what was there.

        Where nothing was counted any more, what no parameter meets is nothing too.
        """
        rest = self.map(np.subtract, part)
        left = {name: left_of(self.about(name), getattr(rest, name), rounding) for name in self.counted_fields}
        there = np.any([array != 0 for array in left.values()], axis=0)
        for name in self.constants:
            own = getattr(rest, name)
            left[name] = np.where(there.any(axis=tuple(range(own.ndim, there.ndim))), own, 0.0)
        return type(self)(*(left.get(name, getattr(self, name)) for name in self.__match_args__))

    def about(self, name: str) -> Array:
        """The numbers whose rounding a field carries: its own, if it was added up by itself."""
        return getattr(self, name)

    def slip(self, part: Self, rest: Self) -> Any:
        """How far off may be what stays, for a belief to judge; None where subtraction loses no digits."""
        return None

    @property
    def counted_fields(self) -> list[str]:
        """The names of its arrays that no row can make smaller."""
        return [name for name in self.__match_args__ if name not in (*self.layout, *self.constants)]


def rounding_of(rows: int) -> float:
    """The part of a sum of weights that its rounding may be, if it is of so many rows, or of some more."""
    return max(ROUNDING, 8 * EPSILON * rows)


def slack(about: Array, rounding: float) -> Array:
    """How far two sums of the same weights may be apart."""
    most = max(SLACK, rounding) * np.abs(about)
    return most if rounding else np.where(about < EXACT, 0.0, most)


def left_of(about: Array, rest: Array, rounding: float) -> Array:
    """What is left of sums of weights, which are of such a size."""
    if not rounding:
        return np.where(about < EXACT, np.maximum(rest, 0.0), left_of(about, rest, ROUNDING))
    return staying(rest, about, rounding)


def along(classes: Array, like: Array) -> Array:
    """Numbers of classes, `(c,)`, that meet an array whose first axis they are."""
    return classes.reshape(-1, *(1,) * (like.ndim - 1))
