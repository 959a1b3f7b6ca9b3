"""What stats, densities and beliefs are: a frozen dataclass of arrays that share leading axes.

Beside it are the small values that they return: contributions of cells, linear forms and their
variances, and units, which are columns that can be joined in blocks (`selection.joint_evidence`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.numerics.special import trigamma, trigamma_fall

Array = np.ndarray
SMALLEST = float(np.finfo(float).tiny)  # of normal floats: the gamma function of less is infinite
Parameter = Any  # an array; a belief's constructor makes one of a number or a list
LARGEST = 1e303  # of the numbers that are known of a block, added up: n log n of it is a float
FARTHEST = 1e150  # that a location may be from 0: squares of deviations are floats
# a number, `(f,)` of them, one for each feature, or `(r, 1)`, one for each row
Power = float | np.ndarray
Exponent = complex | np.ndarray  # of a density
Parts = dict[tuple[str, int | None], np.ndarray]  # see Record.parts
Cells = Any  # an `(r, f)` array or view, or SciPy's CSR where the family can read it
Rng = int | np.random.Generator | None  # a seed, or a generator
# symbol, feature -> `name` and `dims` of a PyMC variable
VariableNames = Callable[..., dict[str, Any]]


class Contributions(NamedTuple):
    """What each cell adds to the scores of the classes, a power times log p(x | theta).

    Shape: `(r, c, f)`.
    """

    mean: Array
    variance: Array
    log_moment: Array  # at the power
    total_variance: Array  # `(r, c)`, of the sum over features


class Expected(np.ndarray):
    """`belief.mean` is a parameter of the belief, and `belief.mean()` what every belief has: its
    expectation.
    """

    expectation: Any

    @classmethod
    def of(cls, parameter: Array, expectation: Any) -> "Expected":
        """The parameter, which when called is the expectation."""
        view = parameter.view(cls)
        view.expectation = expectation
        return view

    def __call__(self) -> Any:
        return self.expectation

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()]  # what is computed from it is a plain array


class Linear(NamedTuple):
    """A log-density that is linear in its cells, up to what all classes share: weights @ x +
    offset.

    A cell is a number, or a one for its level and zeros for the others.
    """

    weights: Array  # `(c, k)`
    offset: Array  # `(c,)`


class Record:
    """A frozen dataclass of arrays that share their leading axes.

    Fields named in `layout` are not arrays.
    """

    __match_args__: ClassVar[Any]  # the names of its fields, which `dataclass` sets
    layout: ClassVar[tuple[str, ...]] = ()
    degree: ClassVar[int] = 1  # of its size in the number of columns, or levels: a matrix has 2
    renamed: ClassVar[dict[str, str]] = {}  # fields' names in the constructor, where these differ
    # fields' names in tables of results; {} stands for a feature's name
    symbols: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        for name in self.__match_args__:
            value = getattr(self, name)
            if type(value) is np.ndarray and value.dtype == float:  # a shortcut: most are
                continue
            # not so a PyMC variable
            is_array = isinstance(value, Real | Sequence) or hasattr(value, "__array__")
            if is_array and name not in self.layout:
                object.__setattr__(self, name, np.asarray(value, float))

    @classmethod
    def raw(cls, *values: Any) -> Self:
        """The record of these fields as they are, unchecked: PyMC's variables, say."""
        record = object.__new__(cls)
        for name, value in zip(cls.__match_args__, values, strict=True):
            object.__setattr__(record, name, value)
        return record

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The record of `change(array, ...)`, field by field."""
        values = []
        for name in self.__match_args__:
            field = getattr(self, name)
            values.append(
                field
                if name in self.layout
                else change(field, *[getattr(each, name) for each in others])
            )
        return type(self)(*values)

    def __getstate__(self) -> dict[str, Any]:
        # of a density, more exact than what would be derived again
        logs = getattr(self, "kept", "")
        return fields_alone(self) | ({logs: getattr(self, logs)} if logs else {})

    def __repr__(self) -> str:
        names = self.__match_args__
        shown = (f"{self.renamed.get(name, name)}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getitem__(self, index: Any) -> Self:
        return self.map(lambda array: array[index])

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))

    @property
    def layout_values(self) -> tuple[Any, ...]:
        """The fields in `layout`, which the stats, the density and the belief of a family have
        alike.
        """
        return tuple(getattr(self, name) for name in self.layout)

    def beside(self, other: Any) -> Self:
        """This record with entries for all that another has, where entries depend on the data."""
        return self

    def aligned[Other: Record](self, other: Other) -> tuple[Self, Other]:
        """Two records, each with entries for all that either has."""
        wide = self.beside(other)
        return wide, other.beside(wide)

    def check(self) -> None:
        """Raise for a layout that no such record can have, as a damaged file may."""

    def among(self, places: Array, classes: int) -> Self:
        """This record among more classes, each at its place there; zeros for the others."""

        def placed(field: Array) -> Array:
            every = np.zeros((classes, *field.shape[1:]))
            every[places] = field
            return every

        return self.map(placed)

    def for_classes(self, classes: int) -> Self:
        """This record for another number of classes; an error where classes differ."""

        def repeated(field: Array) -> Array:
            if (field != field[:1]).any():
                raise ValueError(
                    "its prior is not the same for all classes, so it says nothing about a new one."
                )
            return np.broadcast_to(field[:1], (classes, *field.shape[1:]))

        return self.map(repeated)

    @cached_property
    def overflow(self) -> str:
        """Message about numbers of which sums, and what is made of those, leave the range of
        floats; "" for none.
        """
        for name in self.__match_args__:
            field = getattr(self, name)
            if name in self.layout:
                continue
            once = unrepeated(field)
            # no product of BLAS, whose threads then spin
            largest = max(once.max(initial=0.0), -once.min(initial=0.0))
            if largest <= LARGEST / max(field.size, 1):
                continue
            with np.errstate(over="ignore"):
                total = np.abs(field).sum()
            if not total <= LARGEST:
                return (
                    f"{type(self).__name__}: the numbers in `{self.renamed.get(name, name)}` add "
                    f"up to {total:.3g}, "
                    f"and what is made of sums above {LARGEST:g} would overflow. Give smaller "
                    "weights, counts, or "
                    "parameters of the prior."
                )
        return ""

    def expand(self, values: Array) -> Array:
        """Numbers of features, `(..., f)`, so that they broadcast against the record's arrays."""
        return values

    def column(self, feature: int) -> Any:
        """One feature of a block, `(c, f) -> (c,)`."""
        return self[:, feature]

    def only(self, feature: int) -> Self:
        """One feature of a block, as a block, `(c, f) -> (c, 1)`."""
        return self[:, [feature]]

    def parts(self) -> Parts:
        """The arrays by symbol: `(c, f)` with None, or `(c, k)` with the feature whose levels they
        are.
        """
        names = [name for name in self.__match_args__ if name not in self.layout]
        return {(self.symbols.get(name, name), None): getattr(self, name) for name in names}


def fields_alone(value: Any) -> dict[str, Any]:
    """The state to copy and pickle of an immutable value: fields, not caches, which another thread
    may be writing.
    """
    return {name: getattr(value, name) for name in value.__match_args__}


def is_one(power: Any) -> bool:
    """Whether a power is the number 1."""
    return isinstance(power, float | int) and power == 1


def is_by_row(power: Any) -> bool:
    """Whether powers are `(r, 1)`, one for each row."""
    return isinstance(power, np.ndarray) and power.ndim == 2


def by_feature(power: Any, features: int) -> Array:
    """A power, or one for each feature, as kernels read them, `(f,)`."""
    return np.array(np.broadcast_to(power, features), float)


def raised(power: Any, logs: Array) -> Array:
    """The log of a power: `power * logs`, and 0 where the power is 0, whatever the log."""
    if np.all(power):
        return power * logs
    return np.where(np.equal(power, 0), 0.0, power * np.where(np.equal(power, 0), 0.0, logs))


def difference(one: Array, two: Array) -> Array:
    """`one - two`, and 0 where both are infinite: of a cell that is impossible."""
    with np.errstate(invalid="ignore"):
        gap = one - two
    return np.where(np.isfinite(gap), gap, 0.0)


def of_powers(cumulants: Array, power: Any) -> Array:
    """The cumulants of numbers times a power, stacked on a leading axis: the nth times power**n."""
    if is_one(power):
        return cumulants
    orders = np.arange(1.0, len(cumulants) + 1).reshape(-1, *(1,) * (cumulants.ndim - 1))
    return raised(power**orders, cumulants)


def lead(size: Any) -> tuple[int, ...]:
    """The leading axes of draws, from None, a number or a tuple."""
    return () if size is None else tuple(np.atleast_1d(size))


def silent(missing: Array, value: Array) -> Array:
    """The value, but 0 where the cell is missing."""
    return np.where(missing, 0.0, value) if np.any(missing) else value


def unrepeated(array: Array) -> Array:
    """Return an array without what broadcasting repeats: a prior is often a few numbers, of the
    shape of all words.
    """
    return array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]


def checked(name: str, value: Any, least: float = 0.0, most: float = np.inf) -> Array:
    """A belief's parameter as floats, all finite and within bounds."""
    array = np.asarray(value, float)
    once = unrepeated(array)
    lowest, highest = once.min(initial=np.inf), once.max(initial=-np.inf)  # NaN if one is
    if not (least <= lowest and highest <= most and -np.inf < lowest and highest < np.inf):
        good = np.isfinite(array) & (array >= least) & (array <= most)
        bound = "" if least == -np.inf else f" and at least {least:g}"
        bound = bound if most == np.inf else f" and from {least:g} to {most:g}"
        raise ValueError(f"{name} must be finite{bound}, got {array[~good].flat[0]:g}.")
    if least > -np.inf and lowest < SMALLEST and ((array > 0) & (array < SMALLEST)).any():
        denormal = array[(array > 0) & (array < SMALLEST)].flat[0]
        raise ValueError(
            f"{name} must be 0 or at least {SMALLEST:.3g}, got {denormal:.3g}: the gamma function "
            "overflows below."
        )
    return array


# Linear forms, and columns that can be joined


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

    >>> import numpy as np
    >>> variance = log_share_variance(np.ones(2), np.full(2, 2.0))
    >>> (variance / (np.pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
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
