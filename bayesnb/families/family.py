"""How a user says what columns hold: the family's name, its prior, and how to read the cells."""

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.support import Support
from bayesnb.families.weight import Weight
from bayesnb.numerics.special import ratio


class Seen(NamedTuple):
    """What was counted, entry by entry: `k` levels of all columns, or events of each."""

    counts: Array  # `(c, k)`
    unit: Array  # `(c, k)`, their concentrations at a smoothing of 1
    column: Array  # `(k,)`, whose entry it is
    level: Array  # `(k,)`, which of the column's it is


class Family(ABC):
    """How a user says that columns are of this kind: the prior, and how to read their cells."""

    cells: ClassVar[str]  # "real", "flag", "count" or "level": how the table's reader is to see a column
    stats: ClassVar[type[Stats]]
    dial: ClassVar[str] = ""  # what its prior is tuned like: "die", "normal" or "rate"; "" if it is not
    whole: ClassVar[bool] = False  # one density over all columns of the block
    words: ClassVar[bool] = False  # the block's columns are words of one text, each of which is told of
    reads_sparse: ClassVar[bool] = False  # reads CSR as it is
    shows_invalid: ClassVar[bool] = False  # a cell outside the support makes NaN of scores and stats: no need to look
    missing: ClassVar[bool] = True  # a missing cell is silent
    levels: Any = None  # declared levels, or how to find them
    unseen: str = "ignore"  # what a level does that training never saw
    listed: bool = False  # a cell is a list of the column's levels, which are counted
    threshold: float | None = None  # a one is above it
    fractional: bool = False  # numbers that are no counts are taken too
    shared: bool = False  # classes have parameters in common

    @property
    def columnwise(self) -> "Family":
        """The family of one of its columns by itself, whose beliefs are the `margins` of this one's."""
        return self

    @property
    def combined(self) -> bool:
        """Whether a cell is a combination of its columns' levels."""
        return self.whole and self.cells == "level"

    @property
    @abstractmethod
    def support(self) -> Support:
        """What its cells must be. Tables are checked by it whenever they are read, to learn and to predict."""

    @property
    def positive_only(self) -> bool:
        """Whether a negative number is an error."""
        return self.support.nonnegative

    @property
    def of_lists(self) -> Self:
        """The same of a column whose cells are lists; itself, for a family that reads none."""
        return self

    def observe(self, x: Cells, weight: Weight, sizes: tuple[int, ...] = (), n_jobs: int | None = 1) -> Stats:
        """The stats of one block of cells; `sizes` are the levels of each column, where columns have levels."""
        return self.stats.of(x, weight, n_jobs)

    @abstractmethod
    def belief(self, stats: Any) -> Belief:
        """The prior, shaped like the stats, which it may take its scale from."""

    def smoothed(self, stats: Any, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """The family with the prior of this smoothing: a number, or numbers that broadcast to `(c, f)`.

        A smoothing l adds l to every count: for dice it is the concentration where `kind` is "mean" or "predictive",
        and 1 + l is where it is "map". `scale` multiplies the variance that a prior of variances expects.
        """
        raise TypeError(f"{type(self).__name__} has no smoothing that could be set. Compare other columns.")

    def seen(self, stats: Any) -> Seen | None:
        """What the stats have counted; None for a family that counts nothing."""
        return None

    def of_levels(self, concentration: Any, stats: Any) -> Belief:
        """The belief with these concentrations, `(c, k)` in the order of `seen`; they may be PyMC's variables."""
        raise TypeError(f"{type(self).__name__} has no concentrations.")

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if _is_said(f, getattr(self, f.name)))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def proportions(*concentrations: Array) -> tuple[Array, ...]:
    """Concentrations divided by their mean over all of them; ones, if they are all 0."""
    mean = np.mean([np.mean(own) for own in concentrations])
    return tuple(np.where(mean > 0, ratio(own, mean), 1.0) for own in concentrations)


def checked_unseen(family: str, unseen: Any) -> None:
    """Raise for what no policy for new levels is."""
    if unseen not in ("ignore", "error", "reserve"):
        raise ValueError(f"{family}: unseen must be 'ignore', 'error' or 'reserve', got {unseen!r}.")


def checked_prior(family: str, prior: Any, kind: type[Belief], short: bool = False) -> None:
    """Raise for a prior that is another family's, or none at all; the `short` form of one is left to the prior."""
    odd = isinstance(prior, Belief | str) if short else prior is not None
    if odd and not isinstance(prior, kind):
        said = f"{kind.__name__}(...){' or a number' if short else ''}"
        raise TypeError(f"{family}: the prior must be {said}, got {prior!r:.80}.")


def declared_levels(family: str, levels: Any) -> tuple[Any, ...]:
    """Levels as a user declares them, each once."""
    if isinstance(levels, str):
        raise ValueError(f"{family}: levels must be a list of levels, got {levels!r}.")
    said = tuple(levels.tolist() if isinstance(levels, np.ndarray) else levels)
    try:
        repeated = len(set(said)) < len(said)
    except TypeError:
        raise ValueError(
            f"{family}: levels is one list of levels, the same for all columns, got {list(said)!r:.80}. Where columns "
            "have different levels, give them a categorical type that has its own."
        ) from None
    if repeated:
        raise ValueError(f"{family}: levels has one twice: {list(said)}.")
    return said


def _is_said(field: Any, value: Any) -> bool:
    same = value is field.default or (isinstance(value, str) and value == field.default)  # a text may be a copy
    return is_dataclass(value) or not same


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
