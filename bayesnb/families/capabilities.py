"""What only some stats, beliefs and densities can answer: one protocol for each capability.

A family that has a capability defines the methods and is done. Whoever needs them asks
`isinstance(belief, HasX)`, at one place, which holds the fallback or the error that a user reads;
where several rooms ask, that place is here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from bayesnb.families.record import Array, Cells, Linear, Parts, Rng, VariableNames
from bayesnb.numerics.special import trigamma, trigamma_fall


@runtime_checkable
class HasMargins(Protocol):
    """A belief about columns that are modelled jointly, or classes that share parameters."""

    def margins(self) -> Any:
        """The belief about each column and class by itself, `(c, f)`."""


def margins_of(belief: Any) -> Any:
    """The belief about each column and class by itself; the belief as it is, if that is what it
    holds.
    """
    return belief.margins() if isinstance(belief, HasMargins) else belief


class Narrowed(NamedTuple):
    """A belief about the columns of which one row has cells, these cells, `(1, f)`, and a function
    to their stats.
    """

    belief: Any
    cells: Any
    observe: Callable[..., Any]  # x, weight, n_jobs -> stats


@runtime_checkable
class HasNarrowing(Protocol):
    """A belief about a block of which some columns have a belief of the same kind: rows with
    missing cells need it.
    """

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        """The belief about the columns of which one row, `(1, f)`, has cells."""


def narrowed(belief: Any, x: Cells, observe: Callable[..., Any]) -> Narrowed:
    """The belief that one row updates by all that it holds; for independent columns, as it is."""
    return (
        belief.narrowed(x, observe)
        if isinstance(belief, HasNarrowing)
        else Narrowed(belief, x, observe)
    )


@runtime_checkable
class HasSparseDraws(Protocol):
    """A belief whose draws have no entries for what no row held, until rows that hold it are to be
    scored.
    """

    def opened(self, theta: Any, x: Cells, rng: Rng) -> Any:
        """The theta that was drawn, with entries for all that the rows hold; nothing that was drawn
        changes.
        """


def opened(belief: Any, theta: Any, x: Cells, rng: Rng) -> Any:
    """The theta that was drawn, with entries for all that the rows hold."""
    return belief.opened(theta, x, rng) if isinstance(belief, HasSparseDraws) else theta


@runtime_checkable
class HasWords(Protocol):
    """A belief or density of a block that is one feature, explained by columns, such as a text by
    its words.
    """

    def words(self, x: Cells) -> Array | None:
        """The columns that explain these rows; None for features."""


def words_of(record: Any, x: Cells) -> Array | None:
    """The columns of a block that explain rows one by one though the block is one feature; None:
    features do.
    """
    return record.words(x) if isinstance(record, HasWords) else None


@runtime_checkable
class HasBaseDensity(Protocol):
    """A belief or density of which all scores are relative to one density of cells, the same for
    all classes.

    It cancels in p(y | x). Where a density of x itself is asked for, `Joint.with_base` and
    explanations add it.
    """

    def log_base(self, x: Cells) -> Array:
        """log of that density, summed over features, `(r, f) -> (r,)`; nothing of missing cells."""

    def cell_log_base(self, x: Cells) -> Array:
        """log of that density, cell by cell, `(r, f)`."""


@runtime_checkable
class HasStrength(Protocol):
    """A belief that can be worth more rows, or fewer, and expect the same."""

    def strengthened(self, times: Any) -> Self:
        """The belief that is worth `times` as many rows; a number, or one for each feature."""


def strengthened(belief: Any, times: Any) -> Any:
    """The belief that is worth `times` as many rows and expects the same; an error where that has
    no meaning.
    """
    if not isinstance(belief, HasStrength):
        raise TypeError(
            f"{belief.public_name} does not say what more or fewer rows' worth of it would be."
        )
    return belief.strengthened(times)


class PseudoCounts:
    """A belief of which every parameter is a number of rows or events."""

    map: Callable[..., Any]
    expand: Callable[[Array], Array]

    def strengthened(self, times: Any) -> Self:
        """The belief that is worth `times` as many rows; a number, or one for each feature."""
        each = self.expand(times) if np.ndim(times) else times
        return self.map(lambda array: each * array)


@runtime_checkable
class HasSlip(Protocol):
    """Stats in coordinates in which subtraction loses digits, as those of Gaussians do."""

    def slip(self, part: Any, rest: Any) -> Any:
        """Bound the rounding error of what stays, for `HasRoundingError` to judge."""


@runtime_checkable
class HasRoundingError(Protocol):
    """A belief that knows what the rounding of its stats does to it."""

    def rounding_error(self, stats: Any, slip: Any) -> Array:
        """How far off the update is, in the belief's scale, if the stats are off by a slip, `(c,
        f)`.
        """


@runtime_checkable
class HasParameterDensity(Protocol):
    """A belief with a density of its parameters, for the log prior of draws."""

    def log_density(self, theta: Any) -> Parts:
        """log p(theta), by symbol as in the density's `parts`: `(c, f)`, or `(c,)` of levels that
        share a Dirichlet.
        """


def log_density_of(belief: Any, theta: Any) -> Parts:
    """log p(theta) by symbol."""
    if not isinstance(belief, HasParameterDensity):
        raise TypeError(f"{belief.public_name} has no log-density of its parameters.")
    return belief.log_density(theta)


@runtime_checkable
class HasVariables(Protocol):
    """A belief that a PyMC model can have as its prior."""

    def variables(self, pm: Any, names: VariableNames) -> Any:
        """theta as variables of the PyMC model around, in a density; the belief's parameters may be
        variables too.
        """


def variables_of(belief: Any, pm: Any, names: VariableNames) -> Any:
    """theta as variables of the PyMC model around, in a density."""
    if not isinstance(belief, HasVariables):
        raise TypeError(f"{belief.public_name} has no PyMC model.")
    return belief.variables(pm, names)


@runtime_checkable
class HasCell(Protocol):
    """A density that PyMC has a distribution for."""

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        """PyMC's distribution of a cell, and its parameters, `(c, f)` each."""


def cell_of(density: Any, pm: Any) -> tuple[Any, dict[str, Any]]:
    """PyMC's distribution of a cell, and its parameters."""
    if not isinstance(density, HasCell):
        raise TypeError(f"{type(density).__name__} has no PyMC distribution.")
    return density.cell(pm)


@dataclass(frozen=True, eq=False)
class LevelUnit:
    """Columns of levels with one joint Dirichlet: places in their block, codes, numbers of levels,
    concentration.
    """

    places: tuple[int, ...]
    codes: Array  # `(r, d)`, negative where missing
    sizes: tuple[int, ...]
    concentration: Array  # the total, `(c,)`


@dataclass(frozen=True, eq=False)
class NumberUnit:
    """Columns of numbers with one joint Gaussian: places in their block, cells `(r, d)`, and its
    prior.
    """

    places: tuple[int, ...]
    x: Array
    count: Array  # `(c,)`
    shape: Array  # `(c,)`, that of each column by itself
    location: Array  # `(c, d)`
    scale: Array  # `(c, d, d)`


Unit = LevelUnit | NumberUnit


@runtime_checkable
class HasUnits(Protocol):
    """A prior of columns that can be joined in blocks whose evidence is known: see
    `selection.joint_evidence`.
    """

    def units(self, x: Cells) -> list[Any]:
        """The columns, each a unit, or all of them one unit; none where no class has an evidence by
        itself.
        """


@runtime_checkable
class HasLevelColumns(Protocol):
    """A belief about columns of levels, by a Dirichlet for each column and class."""

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, Any]:
        """Codes of some columns, `(r, d)`, missing ones at the number of levels, and their
        `ColumnDirichlets`.
        """


@runtime_checkable
class HasLinearVariance(Protocol):
    """A belief about densities that are linear in their cells, whichever theta is drawn."""

    def linear_variance(self, against: int | None = None) -> Linear:
        """The variances of weights and offset of a drawn theta, or of their differences from one
        class.
        """


class LinearDensity(ABC):
    """A density whose log is linear in its cells."""

    @abstractmethod
    def linear(self) -> Linear | None:
        """Weights and offset of each class; None where it is not linear after all, as variances
        differ.
        """

    def linear_against(self, place: int) -> Linear | None:
        """Weights and offset of each class, less those of one class."""
        linear = self.linear()
        return linear and Linear(
            linear.weights - linear.weights[place], linear.offset - linear.offset[place]
        )


class LevelWeights(LinearDensity):
    """A density that multiplies probabilities of levels, once for each time that one came up."""

    log_probability: Array

    def linear(self) -> Linear:
        """The log of every level's probability, `(c, k)`; no offset."""
        classes = len(self.log_probability)
        return Linear(self.log_probability.reshape(classes, -1), np.zeros(classes))


class LevelUncertainty:
    """A belief about such probabilities."""

    concentration: Array
    total: Array

    def linear_variance(self, against: int | None = None) -> Linear:
        """Level by level; levels of one column are not independent."""
        classes = len(self.concentration)
        each = log_share_variance(self.concentration, self.total).reshape(classes, -1)
        return independent_variances(each, np.zeros(classes), against)


def independent_variances(weights: Array, offset: Array, against: int | None) -> Linear:
    """Variances of classes that are independent of one another, or of their differences from one of
    them.
    """
    if against is None:
        return Linear(weights, offset)
    return Linear(_of_difference(weights, against), _of_difference(offset, against))


def log_share_variance(concentration: Array, total: Array, against: int | None = None) -> Array:
    """Variance of the log of every level's probability, or of its log-odds against one level (free
    of the total).

    >>> from math import pi
    >>> (log_share_variance(np.ones(2), np.full(2, 2.0)) / (pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
    array([0.6079, 0.6079])
    """
    if against is None:
        return trigamma_fall(concentration, total - concentration)
    return _of_difference(trigamma(concentration), against)


def _of_difference(variance: Array, against: int) -> Array:
    """Variances of differences from one class, which has none from itself."""
    total = variance + variance[against]
    total[against] = 0.0
    return total
