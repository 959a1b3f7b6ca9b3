"""How a user says what columns hold: the family's name, its prior, and how to read the cells."""

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from bayesnb.families.base import Belief, Cells, Stats
from bayesnb.families.weight import Weight


class Family(ABC):
    """How a user says that columns are of this kind: the prior, and how to read their cells."""

    cells: ClassVar[str]  # "real", "flag", "count" or "level": how the table's reader is to see a column
    stats: ClassVar[type[Stats]]
    whole: ClassVar[bool] = False  # one density over all columns of the block
    reads_sparse: ClassVar[bool] = False  # reads CSR as it is
    missing: ClassVar[bool] = True  # a missing cell is silent
    levels: Any = None  # declared levels, or how to find them
    unseen: str = "ignore"  # what a level does that training never saw
    threshold: float | None = None  # a one is above it
    fractional: bool = False  # numbers that are no counts are taken too

    @property
    def positive_only(self) -> bool:
        """Whether a negative number is an error."""
        return self.cells == "count"

    def observe(self, x: Cells, weight: Weight, sizes: tuple[int, ...] = (), n_jobs: int | None = 1) -> Stats:
        """The stats of one block of cells; `sizes` are the levels of each column, where columns have levels."""
        return self.stats.of(x, weight, n_jobs)

    @abstractmethod
    def belief(self, stats: Any) -> Belief:
        """The prior, shaped like the stats, which it may take its scale from."""

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if _is_said(f, getattr(self, f.name)))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_said(field: Any, value: Any) -> bool:
    return is_dataclass(value) or value is not field.default


def shaped(family: str, prior: Belief, shape: tuple[int, ...]) -> Any:
    """The prior with the axes of the data, or an error that says which it lacks."""
    try:
        return prior.map(lambda array: np.broadcast_to(np.array(array), shape))  # a copy: the user's may change
    except ValueError:
        axes = "(classes, columns)" if len(shape) == 2 else "(classes, 1, levels)"
        raise ValueError(
            f"{family}: the prior {prior} does not broadcast to {axes} = {shape}. "
            "Give a number, or as many as there are columns."
        ) from None
