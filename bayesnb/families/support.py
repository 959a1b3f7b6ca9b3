"""What the cells of a column must be: the support of a family's densities.

The door through which tables come in asks it of every family, of rows to learn from and of rows to
predict. It does not judge missing cells: the family's `missing` tells whether a cell may be
missing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from bayesnb import numerics
from bayesnb.numerics.views import COUNTS, readable

Array = np.ndarray
ANOTHER = "Declare it gaussian, or drop it."


class Fault(NamedTuple):
    """One way in which cells can be outside: which are, what to say of them, and what to do."""

    invalid: Callable[[Array], Array]  # a missing cell is not
    message: str
    advice: str  # in which {name} is the column's


MISSING = Fault(
    np.isnan,
    "a cell is missing (NaN)",
    "This family does not accept missing cells: fill it or drop the row.",
)
INFINITE = Fault(np.isinf, "a number is infinite (inf)", "Make it NaN if it is missing.")


class Support(ABC):
    """Which cells a family's densities are defined for; as text, what they must be."""

    @abstractmethod
    def __str__(self) -> str: ...

    @property
    @abstractmethod
    def faults(self) -> Sequence[Fault]:
        """All ways in which a number can be outside."""

    @property
    def nonnegative(self) -> bool:
        """Whether no number below 0 is inside."""
        return not self.holds(np.full(1, -np.finfo(float).tiny), True)

    @property
    def has_zero(self) -> bool:
        """Whether 0 is inside, as the cells are that a sparse table does not store."""
        return self.holds(np.zeros(1), True)

    def holds(self, x: Array, missing: bool) -> bool:
        """Whether all numbers of an array are inside, or missing where they may be."""
        faults = self.faults if missing else (MISSING, *self.faults)
        return not any(fault.invalid(x).any() for fault in faults)


@dataclass(frozen=True)
class RealNumbers(Support):
    """Finite numbers between two bounds, both of which belong to them.

    >>> print(RealNumbers(at_least=0), RealNumbers(0, 1), sep="; ")
    numbers of at least 0; numbers from 0 to 1
    """

    at_least: float = -inf
    at_most: float = inf

    def __str__(self) -> str:
        if self.at_least > -inf and self.at_most < inf:
            return f"numbers from {self.at_least:g} to {self.at_most:g}"
        least = f" of at least {self.at_least:g}" if self.at_least > -inf else ""
        return f"numbers{least}" + (f" of at most {self.at_most:g}" if self.at_most < inf else "")

    @property
    def faults(self) -> Sequence[Fault]:
        below = Fault(lambda x: x < self.at_least, f"a number is below {self.at_least:g}", ANOTHER)
        above = Fault(lambda x: x > self.at_most, f"a number is above {self.at_most:g}", ANOTHER)
        return (INFINITE, *[below] * (self.at_least > -inf), *[above] * (self.at_most < inf))


@dataclass(frozen=True)
class Counts(Support):
    """Whole numbers of at least 0 that can be added up.

    With `fractional` they are any such numbers.
    """

    fractional: bool = False
    has_zero = True

    def __str__(self) -> str:
        return "numbers of at least 0" if self.fractional else "whole numbers of at least 0"

    @property
    def faults(self) -> Sequence[Fault]:
        advice = f"If it is not a count: {ANOTHER[0].lower()}{ANOTHER[1:]}"
        broken = Fault(
            lambda x: x - np.floor(x) > 0,
            "a count is not a whole number",
            f"{advice} Multinomial takes weights such as tf-idf with fractional=True.",
        )
        return (
            INFINITE,
            Fault(lambda x: x < 0, "Negative values in data passed as counts", advice),
            Fault(
                lambda x: x > numerics.count_kernels.MOST,
                "a count is too large to add up",
                "Rescale it.",
            ),
            *[broken] * (not self.fractional),
        )

    def holds(self, x: Array, missing: bool) -> bool:
        """Return whether all cells are counts, in one compiled pass."""
        return bool(
            numerics.count_kernels.are_counts(
                readable(x.reshape(-1), COUNTS), not self.fractional, missing
            )
        )


@dataclass(frozen=True)
class ZeroOrOne(Support):
    """Zeros and ones."""

    def __str__(self) -> str:
        return "0 and 1"

    @property
    def faults(self) -> Sequence[Fault]:
        other = Fault(
            lambda x: ~((x == 0) | (x == 1) | np.isnan(x)),
            "a cell is not 0 or 1",
            f"{ANOTHER} Bernoulli takes other numbers with a threshold.",
        )
        return (INFINITE, other)


@dataclass(frozen=True)
class AnyLevel(Support):
    """Values that are levels: those of a column say which there are, so none is outside."""

    def __str__(self) -> str:
        return "levels"

    @property
    def faults(self) -> Sequence[Fault]:
        return ()
