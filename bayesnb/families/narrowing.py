"""What is believed of the cells that one row has: where a block is modelled jointly, of fewer columns than it has.

A row says nothing of theta but by the likelihood of the cells that it has, which is a function of what those columns
have by themselves: the sums of a table over all other columns, a part of the mean and of the covariance. So the law of
whatever depends on these cells alone, once the row was seen, is that under the belief about these columns, which the
row updates as a complete one would, to any power; the whole block's belief has no conjugate update by it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Narrowed(NamedTuple):
    """A belief about the cells that a row has, these, `(1, f)`, and what makes stats of them that update it."""

    belief: Any
    cells: Any
    see: Callable[..., Any]  # x, weight, n_jobs -> stats


class Narrowing:
    """What a belief about a block is as one about some of its columns."""

    def narrowed(self, x: Any, see: Callable[..., Any]) -> Narrowed:
        """The belief that one row updates by all that it says; for cells that are apart as it is."""
        return Narrowed(self, x, see)
