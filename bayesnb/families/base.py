"""What every family is made of. Three small immutable values, and a declaration that names them.

    Stats    what the data said: they add, subtract and scale
    Density  p(x | theta), theta known
    Belief   p(theta): prior and posterior are the same type, they differ by when

One word per idea, here and everywhere: row, class, feature, block, level; stats, belief, density; update,
evidence, predictive; draw; prior, posterior; smoothing, concentration. One order of axes: `s` draws, `r`
rows, `c` classes, `f` features, `k` levels. Values broadcast; only `Stats.of` contracts rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.families.record import Array, Contributions, Drawn, Linear, Parts, Record
from bayesnb.families.removal import Leaving, Removal
from bayesnb.families.removal import defined as left_out_defined
from bayesnb.families.weight import Weight, hard
from bayesnb.numerics import special
from bayesnb.numerics.special import trigamma, trigamma_fall
from bayesnb.numerics.threads import in_order, pieces


class InCells:
    """What a density is as a function of its cells."""

    def linear(self) -> Linear | None:
        """The log-density as a linear function of the cells, class by class; None where it is not linear in them."""
        return None

    def linear_against(self, place: int) -> Linear | None:
        """How that differs from one class's."""
        linear = self.linear()
        return linear and Linear(linear.weights - linear.weights[place], linear.offset - linear.offset[place])


def independent_variances(weights: Array, offset: Array, against: int | None) -> Linear:
    """Variances of classes that are independent of one another, or of their differences from one of them."""
    if against is None:
        return Linear(weights, offset)
    return Linear(_added(weights, against), _added(offset, against))


def log_share_variance(concentration: Array, total: Array, against: int | None = None) -> Array:
    """Of the log of every level's probability, or of its log-odds against one level, in which the total plays no part.

    >>> from math import pi
    >>> (log_share_variance(np.ones(2), np.full(2, 2.0)) / (pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
    array([0.6079, 0.6079])
    """
    if against is None:
        return trigamma_fall(concentration, total - concentration)
    return _added(trigamma(concentration), against)


class LevelWeights:
    """Of a density that multiplies probabilities of levels, once for each time that one came up."""

    log_probability: Array

    def linear(self) -> Linear:
        """The log of every level's probability, `(c, k)`; nothing beside."""
        classes = len(self.log_probability)
        return Linear(self.log_probability.reshape(classes, -1), np.zeros(classes))


class LevelUncertainty:
    """Of a belief about such probabilities."""

    concentration: Array
    total: Array

    def linear_variance(self, against: int | None = None) -> Linear:
        """Cumulants level by level; levels of one column are not independent."""
        classes = len(self.concentration)
        each = log_share_variance(self.concentration, self.total).reshape(classes, -1)
        return independent_variances(each, np.zeros(classes), against)


def _added(variance: Array, against: int) -> Array:
    """Of differences from one class; from itself it does not differ."""
    total = variance + variance[against]
    total[against] = 0.0
    return total


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


EVERY = slice(None)


def by_rows(
    score: Callable[[slice], Array], shape: tuple[int, int], classes: int, out: Array | None, n_jobs: int | None
) -> Array:
    """Scores of blocks of rows, each computed apart, as one `(r, c)` array, or added to one."""
    parts = pieces(shape[0], max(shape[1], classes))
    if len(parts) == 1:
        total = score(EVERY)
        if out is not None:
            out += total
            return out
        return total
    out = np.zeros((shape[0], classes)) if out is None else out

    def add_rows(rows: slice) -> None:
        out[rows] += score(rows)

    list(in_order(add_rows, parts, n_jobs))
    return out


def mended(total: Array, finite: bool, definition: Callable[[Array], Array]) -> Array:
    """What a kernel made, but for rows where a square left the range of floats, as the definition has them."""
    if not finite:
        overflowed = ~np.isfinite(total).all(axis=1)
        total[overflowed] = definition(overflowed)
    return total


def summed(term: Callable[[Any], Array], record: Any, rows: int) -> Array:
    """A term of every cell summed over features, class by class: no temporary with rows and classes and features."""
    total = np.empty((rows, len(record)))
    for c in range(len(record)):
        total[:, c] = term(record[c]).sum(axis=1)
    return total


Rng = Any  # a seed, or numpy.random.Generator
ORDER = 4  # cumulants are summed up to this one
Say = Callable[..., dict[str, Any]]  # symbol, feature -> `name` and `dims` of a PyMC variable
Cells = Any  # an `(r, f)` array or view, or SciPy's CSR where the family can read it


class Stats(Removal):
    """What the data said: a commutative group that can be scaled."""

    def __add__(self, other: Self) -> Self:
        return self.map(np.add, other)

    def __mul__(self, times: float) -> Self:
        return self.map(lambda array: times * array)

    __rmul__ = __mul__

    def __sub__(self, other: Self) -> Self:
        return self + -1 * other

    @classmethod
    def of(cls, x: Cells, weight: Any, n_jobs: int | None = 1) -> Self:
        """One pass over the rows: `(r, f), (r, c) -> (c, f)`. Missing cells are silent; one that cannot be makes NaN.

        The weight is `one_hot` labels, or any sparse matrix of non-negative numbers for soft ones.
        """
        return reduce(add, (cls.counted(x, labels, n_jobs) for labels in hard(weight)))

    def alone(self, x: Array, weight: Weight) -> Self:
        """The stats of rows that are a class each, of one class's layout: `(r, f)`."""
        return self.defined(x, weight)

    @classmethod
    @abstractmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        """The compiled twin of `defined`, for hard labels."""

    @classmethod
    @abstractmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        """What `of` means, spelled in NumPy."""

    @abstractmethod
    def mle(self) -> "Density":
        """The density under which these data are most likely."""


class Density(InCells, Record, ABC):
    """p(x | theta) for a known theta. Where theta is one number a feature, `numpy.asarray` gives it."""

    theta: ClassVar[str] = ""  # the field that is theta, if one is
    sufficient: ClassVar[bool] = True  # stats say all that the rows say of it
    kept: ClassVar[str] = ""  # logs, an array or several, that are kept besides the fields: small numbers underflow

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not self.theta:
            raise TypeError(f"{type(self).__name__} has several parameters: take one of its fields.")
        return np.array(getattr(self, self.theta), dtype=dtype, copy=copy)

    def moved(self, change: Callable[..., Array], *others: Self) -> Self:
        """The density of `change(array, ...)`, field by field, with the logs that are kept."""
        made = self.map(change, *others)
        if self.kept:
            logs = [getattr(density, self.kept) for density in (self, *others)]
            several = isinstance(logs[0], tuple)
            made.__dict__[self.kept] = tuple(map(change, *logs)) if several else change(*logs)
        return made

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Elementwise and broadcasting; 0 for a missing cell."""

    @abstractmethod
    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        """The log-density of all rows behind the stats; `xp` is where `log` and `where` come from."""

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        """PyMC's distribution of a cell, and its parameters, `(c, f)` each."""
        raise TypeError(f"{type(self).__name__} has no PyMC distribution.")

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        """The density whose `parts` these are, laid out as the one `like` it."""
        return cls(*(parts[cls.symbols.get(name, name), None] for name in cls.__match_args__))

    @abstractmethod
    def sample(self, rng: Rng) -> Array:
        """One cell for each theta."""

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where theta is known and gives a distribution, `(c, f)`: not so after no rows, or with no variance."""

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        """`power` times the log-density summed over features, `(r, f) -> (r, c)`; added to `out`, if there is one."""
        return by_rows(lambda rows: self.defined_score(x[rows], power), x.shape, len(self), out, n_jobs)

    def defined_score(self, x: Array, power: float = 1.0) -> Array:
        """What `score` means."""
        return power * summed(lambda record: record.log_density(x), self, len(x))

    def words(self, x: Cells) -> Array | None:
        """The columns that are explained one by one though the block is one feature; None: features are."""
        return None

    def contributed(self, x: Array, power: float, words: Array | None = None) -> Array:
        """What each cell, or each word's, adds to the scores of the classes, `(r, c, f)`."""
        return power * self.log_density(x[:, None])


class Belief(Narrowing, Record, ABC):
    """p(theta), prior or posterior.

    `log_moment` does nearly everything. With K(s) = log E[p(x | theta)**s], K(1) is the predictive, -K(-1)
    the predictive with this row left out, the derivatives at 0 are the cumulants of the log-density, exp K(it)
    is its characteristic function, and K(1 + s) - K(1) is K once the belief has also seen x.
    """

    whole: ClassVar[bool] = False  # a cell is a whole row of the block
    apart: ClassVar[bool] = True  # what one class is believed to be says nothing about another
    paired: ClassVar[bool] = False  # if not, powers of two classes' densities have a joint moment: see `sharing`
    weighs: ClassVar[bool] = False  # several hypotheses, by their evidence

    @abstractmethod
    def update(self, stats: Any) -> Self:
        """The belief after the data behind the stats."""

    @abstractmethod
    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        """log p(data) before they were seen; `xp` is where `log` and `log_gamma_ratio` come from."""

    @abstractmethod
    def log_moment(self, x: Array, s: Any) -> Array:
        """log E[p(x | theta)**s], s real or complex; +inf where the moment does not exist, 0 for a missing cell."""

    def log_predictive(self, x: Array) -> Array:
        """log p(x), theta integrated out. Elementwise and broadcasting; 0 for a missing cell."""
        return self.log_moment(x, 1)

    @abstractmethod
    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        """The first `order` cumulants of log p(x | theta), stacked on a leading axis: the derivatives of K at `tilt`.

        With a tilt they are those under the belief that has also seen x, so many times.
        """

    @abstractmethod
    def sample(self, rng: Rng, size: Any = None) -> Density:
        """Draws of theta, `size` in front of the belief's own axes. Sample the draw, and you have data."""

    def opened(self, drawn: Drawn, x: Cells, rng: Rng) -> Density:
        """The theta that was drawn, with entries of their own for all that rows hold; see the joint table's."""
        return drawn.theta

    def draws(self, rng: Rng, size: int) -> Drawn:
        """So many draws of the theta of all classes, one draw's classes after another's."""
        return Drawn(self.repeated(size).sample(rng))

    def repeated(self, times: int) -> Self:
        """As many such models side by side, the classes of one after those of another."""
        return self[np.tile(np.arange(len(self)), times)]

    def linear_variance(self, against: int | None = None) -> Linear:
        """The variances of what `linear` says of a theta that is drawn, or of its differences from one class."""
        raise TypeError(f"{type(self).__name__} has no linear form.")

    def log_density(self, theta: Any) -> Parts:
        """log p(theta), by symbol as in the density's `parts`: `(c, f)`, or `(c,)` of levels that share a Dirichlet."""
        raise TypeError(f"{type(self).__name__} has no log-density of its parameters.")

    @property
    def public_name(self) -> str:
        """The name under which a user declares it."""
        return type(self).__name__

    def strengthened(self, times: Any) -> Self:
        """The belief that is worth `times` as many rows and expects the same; a number, or one for each feature.

        Where every parameter is a pseudo-count, each is multiplied.
        """
        each = self.expand(times) if np.ndim(times) else times
        return self.map(lambda array: each * array)

    @abstractmethod
    def mode(self) -> Any:
        """The most probable theta."""

    @abstractmethod
    def interval(self, prob: float) -> tuple[Any, Any]:
        """Equal-tailed intervals of theta, each end like `mean()`."""

    @abstractmethod
    def predictive(self) -> Any:
        """The distribution of a new cell, as SciPy's frozen distribution."""

    @abstractmethod
    def estimate(self, kind: str) -> Density:
        """theta plugged in: its posterior `"mean"`, or its mode, `"map"`."""

    def variables(self, pm: Any, say: Say) -> Any:
        """theta as variables of the PyMC model around, in a density; `say` names them and their axes by symbol.

        The belief's own parameters may be variables too.
        """
        raise TypeError(f"{type(self).__name__} has no PyMC model.")

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where this is a distribution, `(c, f)`: it integrates to one."""

    @property
    def strictly_proper(self) -> Array:
        """Where it has an evidence: `proper`, and not only as a limit."""
        return self.proper

    def rounding_error(self, stats: Any, slip: Any) -> Array:
        """How far off the update is, in its own scale, if the stats are off by a `Stats.slip`, `(c, f)`."""
        raise AssertionError("asked of families whose stats can slip")

    def left_out(self, stats: Any, reader: Any, leaving: Leaving) -> Array:
        """Scores of rows once each has left its class, this being the prior: `(r, f) -> (r, c)`.

        Of the other classes they are those of `reader`, which predicts. NaN where the class must be counted again.
        """
        every = reader.score(leaving.x, leaving.power, None, leaving.n_jobs)
        return leaving.scored(lambda c, rows: self[c : c + 1].score_left_out(stats[c : c + 1], rows), every)

    def score_left_out(self, stats: Any, leaving: Leaving) -> Array:
        """The same of rows that are all of this one class, `(1, f)`, for it alone: `(r, f) -> (r,)`."""
        return left_out_defined(self, stats, leaving)

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        """log_moment(x, power) summed over features, `(r, f) -> (r, c)`; with power 1 the predictive.

        The power is a number, or `(r, 1)` numbers. The sums are added to `out`, if there is one.
        """
        power = np.asarray(power, float)
        each = (lambda rows: power[rows]) if power.ndim else (lambda rows: power)
        return by_rows(lambda rows: self.defined_score(x[rows], each(rows)), x.shape, len(self), out, n_jobs)

    @property
    def every_value(self) -> Array | None:
        """Rows that together hold every value that each cell can have, `(v, f)`; None where those are many."""
        return None

    def by_value(self, worth: Array) -> Callable[..., Array]:
        """`score` of x, out and n_jobs when every value is worth so much to each class, `(v, c, f)`."""
        raise AssertionError("asked of families that have every value")

    def broadcast(self, x: Cells) -> Array:
        """Rows with an axis for the classes, `(r, f) -> (r, 1, f)`; a cell that is a whole row is `(r, 1, 1, f)`."""
        cells = np.asarray(x[:])
        return cells[:, None, None] if self.whole else cells[:, None]

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        """The first four cumulants summed over features, `(r, f) -> (4, r, c)`."""
        return self.cumulants(self.broadcast(x), ORDER, tilt).sum(axis=-1)

    def score_transform(self, x: Cells, s: Array) -> Array:
        """log_moment(x, s) summed over features, `(r, f), (n,) -> (r, c, n)`; s on the real axis or above it."""
        cells = self.broadcast(x)
        return np.stack([self.log_moment(cells, each).sum(axis=-1) for each in np.asarray(s, complex)], axis=-1)

    def words(self, x: Cells) -> Array | None:
        """The columns that are explained one by one though the block is one feature; None: features are."""
        return None

    def contributions(self, x: Array, power: float, words: Array | None = None) -> Contributions:
        """What each cell, or each word's, adds to the scores of the classes; nothing, where it is missing."""
        cells = self.broadcast(x)
        mean, variance = self.cumulants(cells, 2)
        gain = self.log_predictive(cells) if power == 1 else self.log_moment(cells, power)
        return Contributions(power * mean, power**2 * variance, gain, power**2 * variance.sum(axis=-1))

    def defined_score(self, x: Array, power: Any = 1.0) -> Array:
        """What `score` means."""
        if np.ndim(power) == 0 and power == 1:
            return summed(lambda record: record.log_predictive(x), self, len(x))
        return summed(lambda record: record.log_moment(x, power), self, len(x))
