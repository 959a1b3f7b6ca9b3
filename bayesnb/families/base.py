"""What every family is made of. Three small immutable values, and a declaration that names them.

    Stats    what was observed: they add, subtract and scale
    Density  p(x | theta), theta known
    Belief   p(theta): prior and posterior are the same type, they differ by when

A belief has a core of ten members, `BeliefCore`. What follows from it is written once, in a mixin for each question:
`BeliefScores` (rows), `LeaveOneOut`, `Contributing` (explanations), `Repeatable` (many models side by side). A family
overrides what it can do faster. What only some families can answer is in capabilities.py.

One order of axes, here and everywhere: `s` draws, `r` rows, `c` classes, `f` features, `k` levels. Values broadcast;
only `Stats.of` contracts rows.
"""

from abc import ABC, abstractmethod
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from bayesnb.families.record import (
    Array,
    Cells,
    Contributions,
    Drawn,
    Exponent,
    Parts,
    Power,
    Record,
    Rng,
    is_by_row,
    is_one,
    of_powers,
    raised,
)
from bayesnb.families.removal import Leaving, Removal, left_out_by_definition
from bayesnb.families.sums import by_rows, summed
from bayesnb.families.weight import Weight, hard
from bayesnb.numerics import special

ORDER = 4  # cumulants are summed up to this one


class Stats(Removal):
    """What was observed: a commutative group that can be scaled."""

    def __add__(self, other: Self) -> Self:
        return self.map(np.add, other)

    def __mul__(self, times: Any) -> Self:
        """Scale by a number, or by `(f,)` of them, one for each feature."""
        each = self.expand(times) if isinstance(times, np.ndarray) else times
        return self.map(lambda array: each * array)

    __rmul__ = __mul__

    def __sub__(self, other: Self) -> Self:
        return self + -1 * other

    @classmethod
    def of(cls, x: Cells, weight: Weight | sparse.sparray, n_jobs: int | None = 1) -> Self:
        """One pass over the rows: `(r, f), (r, c) -> (c, f)`. Missing cells are silent; one that cannot be makes NaN.

        The weight is `one_hot` labels, or any sparse matrix of non-negative numbers for soft ones.
        """
        return reduce(add, (cls.counted(x, labels, n_jobs) for labels in hard(weight)))

    def alone(self, x: Cells, weight: Weight) -> Self:
        """The stats of rows that are a class each, of one class's layout: `(r, f)`."""
        return self.defined(x, weight)

    @classmethod
    @abstractmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        """The compiled twin of `defined`, for hard labels."""

    @classmethod
    @abstractmethod
    def defined(cls, x: Cells, weight: Weight) -> Self:
        """What `of` means, spelled in NumPy."""

    @abstractmethod
    def mle(self) -> "Density":
        """The density under which these data are most likely."""


class RowScores(Record):
    """Scores of rows, which a family computes by a kernel where it overrides `score`."""

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        """Log density or log moment at a power, summed over features, `(r, f) -> (r, c)`; added to `out`, if given.

        The power is a number, `(f,)` numbers, one for each feature, or, for beliefs, `(r, 1)` numbers. A feature of the
        power 0 says nothing, even of a cell that is impossible.
        """
        power = np.asarray(power, float)
        each = (lambda rows: power[rows]) if is_by_row(power) else (lambda rows: power)
        return by_rows(lambda rows: self.defined_score(x[rows], each(rows)), x.shape, len(self), out, n_jobs)

    @abstractmethod
    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        """What `score` means, spelled in NumPy."""


class Density(RowScores, ABC):
    """p(x | theta) for a known theta. Where theta is one number a feature, `numpy.asarray` gives it."""

    theta: ClassVar[str] = ""  # the field that is theta, if one is
    sufficient: ClassVar[bool] = True  # stats say all that the rows say of it
    kept: ClassVar[str] = ""  # logs, an array or several, that are kept besides the fields: small numbers underflow

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Elementwise and broadcasting; 0 for a missing cell."""

    @abstractmethod
    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        """The log-density of all rows behind the stats; `xp` is where `log` and `where` come from."""

    @abstractmethod
    def sample(self, rng: Rng) -> Array:
        """One cell for each theta."""

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where theta is known and gives a distribution, `(c, f)`: not so after no rows, or with no variance."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not self.theta:
            raise TypeError(f"{type(self).__name__} has several parameters: take one of its fields.")
        return np.array(getattr(self, self.theta), dtype=dtype, copy=copy)

    def moved(self, change: Any, *others: Self) -> Self:
        """The density of `change(array, ...)`, field by field, with the logs that are kept."""
        made = self.map(change, *others)
        if self.kept:
            logs = [getattr(density, self.kept) for density in (self, *others)]
            several = isinstance(logs[0], tuple)
            made.__dict__[self.kept] = tuple(map(change, *logs)) if several else change(*logs)
        return made

    @classmethod
    def of_parts(cls, parts: Parts, like: Self) -> Self:
        """The density whose `parts` these are, laid out as the one `like` it."""
        return cls(*(parts[cls.symbols.get(name, name), None] for name in cls.__match_args__))

    def defined_score(self, x: Cells, power: Power = 1.0) -> Array:
        if np.ndim(power):
            return summed(lambda record: raised(power, record.log_density(x)), self, len(x))
        return power * summed(lambda record: record.log_density(x), self, len(x))

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        """What each cell, or each word's, adds to the scores of the classes, `(r, c, f)`."""
        return raised(power, self.log_density(x[:, None]))


class BeliefCore[S: Stats, D: Density](Record, ABC):
    """p(theta), prior or posterior: what a family must say.

    `log_moment` does nearly everything. With K(s) = log E[p(x | theta)**s], K(1) is the predictive, -K(-1)
    the predictive with this row left out, the derivatives at 0 are the cumulants of the log-density, exp K(it)
    is its characteristic function, and K(1 + s) - K(1) is K once the belief has also seen x.
    """

    multivariate: ClassVar[bool] = False  # a cell is a whole row of the block
    independent_classes: ClassVar[bool] = True  # what one class is believed to be says nothing about another
    is_mixture: ClassVar[bool] = False  # several hypotheses, by their evidence
    has_atoms: ClassVar[bool] = False  # a cell's density may be known exactly: the log has a probability of one value

    @abstractmethod
    def update(self, stats: S) -> Self:
        """The belief after the data behind the stats."""

    @abstractmethod
    def log_evidence(self, stats: S, xp: Any = special) -> Array:
        """log p(data) before they were seen; `xp` is where `log` and `log_gamma_ratio` come from."""

    @abstractmethod
    def log_moment(self, x: Array, s: Exponent) -> Array:
        """log E[p(x | theta)**s], s real or complex; +inf where the moment does not exist, 0 for a missing cell."""

    @abstractmethod
    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        """The first `order` cumulants of log p(x | theta), stacked on a leading axis: the derivatives of K at `tilt`.

        With a tilt they are those under the belief that has also seen x, so many times.
        """

    @abstractmethod
    def sample(self, rng: Rng, size: int | tuple[int, ...] | None = None) -> D:
        """Draws of theta, `size` in front of the belief's own axes. Sample the draw, and you have data."""

    @abstractmethod
    def estimate(self, kind: str) -> D:
        """theta plugged in: its posterior `"mean"`, or its mode, `"map"`."""

    @abstractmethod
    def mode(self) -> Any:
        """The most probable theta: an array, or a tuple of them with a name for each."""

    @abstractmethod
    def interval(self, prob: float) -> tuple[Any, Any]:
        """Equal-tailed intervals of theta, each end like `mode()`."""

    @abstractmethod
    def predictive(self) -> Any:
        """The distribution of a new cell, as SciPy's frozen distribution."""

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where this is a distribution, `(c, f)`: it integrates to one."""

    @property
    def strictly_proper(self) -> Array:
        """Where it has an evidence: `proper`, and not only as a limit."""
        return self.proper

    @property
    def public_name(self) -> str:
        """The name under which a user declares it."""
        return type(self).__name__


class BeliefScores[S: Stats, D: Density](BeliefCore[S, D], RowScores):
    """Predictive, cumulants and transform of rows: sums over features of the core's functions of a cell."""

    def log_predictive(self, x: Array) -> Array:
        """log p(x), theta integrated out. Elementwise and broadcasting; 0 for a missing cell."""
        return self.log_moment(x, 1)

    def defined_score(self, x: Cells, power: Power = 1.0) -> Array:
        if np.ndim(power) == 0 and power == 1:
            return summed(lambda record: record.log_predictive(x), self, len(x))
        return summed(lambda record: record.log_moment(x, power), self, len(x))

    def broadcast(self, x: Cells) -> Array:
        """Rows with an axis for the classes, `(r, f) -> (r, 1, f)`; a cell that is a whole row is `(r, 1, 1, f)`."""
        part = x[:]
        cells = part.toarray() if sparse.issparse(part) else np.asarray(part)
        return cells[:, None, None] if self.multivariate else cells[:, None]

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        """The first four cumulants of power * log p(x | theta) summed over features, `(r, f) -> (4, r, c)`.

        With a tilt t they are the derivatives of K(power * s) at s = t. The power may be one for each feature, `(f,)`.
        """
        cumulants = self.cumulants(self.broadcast(x), ORDER, tilt * power)
        return of_powers(cumulants, power).sum(axis=-1)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        """log_moment(x, power * s) summed over features, `(r, f), (n,) -> (r, c, n)`; s not below the real axis."""
        cells, places = self.broadcast(x), np.asarray(s, complex)
        return np.stack([self.log_moment(cells, each * power).sum(axis=-1) for each in places], axis=-1)


class LeaveOneOut[S: Stats, D: Density](BeliefScores[S, D]):
    """Exact leave-one-out: by definition a row's class is updated by all of its rows but this one."""

    def left_out(self, stats: S, reader: RowScores, leaving: Leaving) -> Array:
        """Scores of rows once each has left its class, this being the prior: `(r, f) -> (r, c)`.

        Of the other classes they are those of `reader`, which predicts. NaN where the class must be counted again.
        """
        every = reader.score(leaving.x, leaving.power, None, leaving.n_jobs)
        return leaving.scored(lambda c, rows: self[c : c + 1].score_left_out(stats[c : c + 1], rows), every)

    def score_left_out(self, stats: S, leaving: Leaving) -> Array:
        """Scores of rows that are all of this one class, `(1, f)`, once each has left it: `(r, f) -> (r,)`."""
        return left_out_by_definition(self, stats, leaving)


class Contributing[S: Stats, D: Density](BeliefScores[S, D]):
    """Explanation of scores: each cell's cumulants and moment."""

    def contributions(self, x: Cells, power: Power, words: Array | None = None) -> Contributions:
        """What each cell, or each word's, adds to the scores of the classes; nothing, where it is missing."""
        cells = self.broadcast(x)
        mean, variance = self.cumulants(cells, 2)
        gain = self.log_predictive(cells) if is_one(power) else self.log_moment(cells, power)
        each = raised(np.square(power), variance)
        total = each.sum(axis=-1) if np.ndim(power) else power**2 * variance.sum(axis=-1)
        return Contributions(raised(power, mean), each, gain, total)


class Repeatable[S: Stats, D: Density](BeliefCore[S, D]):
    """Many models side by side: the classes of one after those of another, each with a theta drawn for it."""

    def repeated(self, times: int) -> Self:
        """As many such models side by side."""
        return self[np.tile(np.arange(len(self)), times)]

    def draws(self, rng: Rng, size: int) -> Drawn:
        """Draw the theta of all classes `size` times, one draw's classes after another's."""
        return Drawn(self.repeated(size).sample(rng))


class Belief[S: Stats, D: Density](LeaveOneOut[S, D], Contributing[S, D], Repeatable[S, D]):
    """p(theta), prior or posterior: the core, and what is derived from it."""
