"""The base of stats, densities and beliefs: a frozen dataclass of arrays with common leading axes.

Also the small values that they return: contributions of cells, linear forms and their variances,
and units, which are columns that can be joined in blocks (`selection.joint_evidence`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.numerics.special import trigamma, trigamma_fall

Array = np.ndarray
SMALLEST = float(np.finfo(float).tiny)  # smallest normal float; below, the gamma function overflows
Parameter = Any  # an array; the constructor of a belief converts numbers and lists
LARGEST = 1e303  # largest sum n of the numbers in a field: n log n is still a float
FARTHEST = 1e150  # largest absolute location: squares of deviations are still floats
# a number, or one for each feature, `(f,)`, or one for each row, `(r, 1)`
Power = float | np.ndarray
Exponent = complex | np.ndarray  # of a density
Parts = dict[tuple[str, int | None], np.ndarray]  # see Record.parts
Cells = Any  # an `(r, f)` array or view, or SciPy's CSR where the family can read it
Rng = int | np.random.Generator | None  # a seed, or a generator
# symbol, feature -> `name` and `dims` of a PyMC variable
VariableNames = Callable[..., dict[str, Any]]


class Contributions(NamedTuple):
    """Contribution of each cell to the scores of the classes, a power times log p(x | theta).

    Shape: `(r, c, f)`.
    """

    mean: Array
    variance: Array
    log_moment: Array  # at the power
    total_variance: Array  # `(r, c)`, of the sum over features


class Expected(np.ndarray):
    """A parameter called `mean` that can also be called: `belief.mean` is the parameter, and
    `belief.mean()` the expectation, as for every belief.
    """

    expectation: Any

    @classmethod
    def of(cls, parameter: Array, expectation: Any) -> "Expected":
        """View a parameter as an array that returns the expectation when called."""
        view = parameter.view(cls)
        view.expectation = expectation
        return view

    def __call__(self) -> Any:
        return self.expectation

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()]  # results of computations are plain arrays


class Linear(NamedTuple):
    """A log density that is linear in the cells, up to a term that classes share: weights @ x +
    offset.

    Cells are numbers, or one-hot vectors of levels.
    """

    weights: Array  # `(c, k)`
    offset: Array  # `(c,)`


class Record:
    """A frozen dataclass of arrays that share their leading axes.

    Fields named in `layout` are not arrays.
    """

    __match_args__: ClassVar[Any]  # names of the fields, set by `dataclass`
    layout: ClassVar[tuple[str, ...]] = ()
    degree: ClassVar[int] = 1  # the size is of this degree in the number of columns or levels
    renamed: ClassVar[dict[str, str]] = {}  # field -> its name in the constructor, if different
    # field -> its name in tables of results; {} stands for the name of a feature
    symbols: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        for name in self.__match_args__:
            value = getattr(self, name)
            if type(value) is np.ndarray and value.dtype == float:  # a shortcut for most
                continue
            # PyMC variables stay as they are
            is_array = isinstance(value, Real | Sequence) or hasattr(value, "__array__")
            if is_array and name not in self.layout:
                object.__setattr__(self, name, np.asarray(value, float))

    @classmethod
    def raw(cls, *values: Any) -> Self:
        """Build from fields without conversion or checks, for example from PyMC variables."""
        record = object.__new__(cls)
        for name, value in zip(cls.__match_args__, values, strict=True):
            object.__setattr__(record, name, value)
        return record

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """Apply `change(array, ...)` to every field."""
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
        # the kept logs of a density are more exact than logs of its probabilities
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
        """The fields in `layout`, the same for the stats, density and belief of a family."""
        return tuple(getattr(self, name) for name in self.layout)

    def beside(self, other: Any) -> Self:
        """Add entries for everything that another record has, if entries depend on the data."""
        return self

    def aligned[Other: Record](self, other: Other) -> tuple[Self, Other]:
        """Extend two records to the union of their entries."""
        wide = self.beside(other)
        return wide, other.beside(wide)

    def check(self) -> None:
        """Raise for an invalid layout, for example from a damaged file."""

    def among(self, places: Array, classes: int) -> Self:
        """Embed in a record with more classes, at these places; zeros elsewhere."""

        def placed(field: Array) -> Array:
            every = np.zeros((classes, *field.shape[1:]))
            every[places] = field
            return every

        return self.map(placed)

    def for_classes(self, classes: int) -> Self:
        """Repeat for another number of classes; an error if classes differ."""

        def repeated(field: Array) -> Array:
            if (field != field[:1]).any():
                raise ValueError("its prior differs between classes, so a new class has none.")
            return np.broadcast_to(field[:1], (classes, *field.shape[1:]))

        return self.map(repeated)

    @cached_property
    def overflow(self) -> str:
        """Error message if sums of the numbers, or results computed from them, would overflow, else
        "".
        """
        for name in self.__match_args__:
            field = getattr(self, name)
            if name in self.layout:
                continue
            once = unrepeated(field)
            # not by BLAS, whose threads would keep spinning
            largest = max(once.max(initial=0.0), -once.min(initial=0.0))
            if largest <= LARGEST / max(field.size, 1):
                continue
            with np.errstate(over="ignore"):
                total = np.abs(field).sum()
            if not total <= LARGEST:
                return (
                    f"{type(self).__name__}: the numbers in `{self.renamed.get(name, name)}` add "
                    f"up to {total:.3g}; sums above {LARGEST:g} would overflow. Give smaller "
                    "weights, counts, or parameters of the prior."
                )
        return ""

    def expand(self, values: Array) -> Array:
        """Expand numbers of features, `(..., f)`, to broadcast against the record's arrays."""
        return values

    def column(self, feature: int) -> Any:
        """One feature of a block, `(c, f) -> (c,)`."""
        return self[:, feature]

    def only(self, feature: int) -> Self:
        """One feature of a block, as a block, `(c, f) -> (c, 1)`."""
        return self[:, [feature]]

    def parts(self) -> Parts:
        """The arrays by symbol and feature: `(c, f)` with feature None, or `(c, k)` for levels of
        one.
        """
        names = [name for name in self.__match_args__ if name not in self.layout]
        return {(self.symbols.get(name, name), None): getattr(self, name) for name in names}


def fields_alone(value: Any) -> dict[str, Any]:
    """The state for copies and pickles: the fields, without caches that other threads may write."""
    return {name: getattr(value, name) for name in value.__match_args__}


def is_one(power: Any) -> bool:
    """Whether a power is the number 1."""
    return isinstance(power, float | int) and power == 1


def is_by_row(power: Any) -> bool:
    """Whether powers are `(r, 1)`, one for each row."""
    return isinstance(power, np.ndarray) and power.ndim == 2


def by_feature(power: Any, features: int) -> Array:
    """Expand a power to one for each feature, `(f,)`, for kernels."""
    return np.array(np.broadcast_to(power, features), float)


def raised(power: Any, logs: Array) -> Array:
    """`power * logs`, but 0 where the power is 0, even if the log is infinite."""
    if np.all(power):
        return power * logs
    return np.where(np.equal(power, 0), 0.0, power * np.where(np.equal(power, 0), 0.0, logs))


def difference(one: Array, two: Array) -> Array:
    """`one - two`, but 0 where it is not finite: for an impossible cell."""
    with np.errstate(invalid="ignore"):
        gap = one - two
    return np.where(np.isfinite(gap), gap, 0.0)


def of_powers(cumulants: Array, power: Any) -> Array:
    """Cumulants of scaled variables, on the leading axis: the nth is multiplied by power**n."""
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
    """Undo broadcasting: a prior for all words often consists of a few repeated numbers."""
    return array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]


def checked(name: str, value: Any, least: float = 0.0, most: float = np.inf) -> Array:
    """Convert a parameter to floats; raise unless all are finite and within bounds."""
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
    """Variances of independent classes, or of their differences from one class."""
    if against is None:
        return Linear(weights, offset)
    return Linear(_of_difference(weights, against), _of_difference(offset, against))


def log_share_variance(concentration: Array, total: Array, against: int | None = None) -> Array:
    """Variance of the log probability of every level, or of its log-odds against one level.

    >>> import numpy as np
    >>> variance = log_share_variance(np.ones(2), np.full(2, 2.0))
    >>> (variance / (np.pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
    array([0.6079, 0.6079])
    """
    if against is None:
        return trigamma_fall(concentration, total - concentration)
    return _of_difference(trigamma(concentration), against)


def _of_difference(variance: Array, against: int) -> Array:
    """Variances of differences from one class; 0 for that class."""
    total = variance + variance[against]
    total[against] = 0.0
    return total


@dataclass(frozen=True, eq=False)
class LevelUnit:
    """Columns of levels with one joint Dirichlet: places in the block, codes, numbers of levels,
    concentration.
    """

    places: tuple[int, ...]
    codes: Array  # `(r, d)`, negative where missing
    sizes: tuple[int, ...]
    concentration: Array  # the total, `(c,)`


@dataclass(frozen=True, eq=False)
class NumberUnit:
    """Columns of numbers with one joint Gaussian: places in the block, cells `(r, d)`, and
    prior.
    """

    places: tuple[int, ...]
    x: Array
    count: Array  # `(c,)`
    shape: Array  # `(c,)`, marginally for each column
    location: Array  # `(c, d)`
    scale: Array  # `(c, d, d)`


Unit = LevelUnit | NumberUnit
