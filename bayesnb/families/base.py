"""The parts of a family: three small immutable values, and a declaration that names them.

    Stats    what was observed: they add, subtract and scale
    Density  p(x | theta), theta known
    Belief   p(theta), prior or posterior: both are the same type

A belief has ten abstract members. `Belief` derives the rest from them once: scores of rows and
their cumulants, leave-one-out, explanations. A family overrides what it can compute faster. Methods
that only some families have return None, or raise, by default.

One order of axes, here and everywhere: `s` draws, `r` rows, `c` classes, `f` features, `k` levels.
Values broadcast; only `Stats.of` contracts rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.families.record import (
    Array,
    Cells,
    Contributions,
    Exponent,
    Linear,
    Parts,
    Power,
    Record,
    Rng,
    Unit,
    VariableNames,
    is_one,
    of_powers,
    raised,
)
from bayesnb.families.removal import (
    PREDICTIVE,
    ROUNDING,
    SLACK,
    RowsLeftOut,
    left_of,
    log_moment_left,
    missing_cells,
    reader_of,
    slack,
)
from bayesnb.families.sums import by_rows, summed
from bayesnb.families.weight import Weight, hard, one_hot
from bayesnb.numerics import special
from bayesnb.numerics.threads import blocks, in_order, pieces

MOMENTS = 1 << 16  # log moments computed at once: cells times points of a transform
ORDER = 4  # the highest cumulant that is used


class Stats(Record):
    """What was observed. Stats are added, subtracted and scaled as rows are joined, removed and
    weighted.
    """

    # fields that enter only the evidence, and may have any sign
    constants: ClassVar[tuple[str, ...]] = ()

    def __add__(self, other: Self) -> Self:
        return self.map(np.add, other)

    def __mul__(self, times: Any) -> Self:
        """Scale by a number, or by one for each feature, `(f,)`."""
        each = self.expand(times) if isinstance(times, np.ndarray) else times
        return self.map(lambda array: each * array)

    __rmul__ = __mul__

    def __sub__(self, other: Self) -> Self:
        return self + -1 * other

    @classmethod
    def of(
        cls, x: Cells, weight: Weight | sparse.sparray, *layout: Any, n_jobs: int | None = 1
    ) -> Self:
        """One pass over the rows: `(r, f), (r, c) -> (c, f)`.

        Missing cells are skipped; a cell outside the support gives NaN.

        The weight is `one_hot` labels, or any sparse matrix of non-negative numbers for soft ones.
        The layout says what codes mean: numbers of levels, or a grid.
        """
        return reduce(add, (cls.counted(x, labels, n_jobs, *layout) for labels in hard(weight)))

    def alone(self, x: Cells, weight: Weight) -> Self:
        """The stats of each row by itself, with the layout of these: `(r, f)`."""
        return self.counted(x, weight, 1, *self.layout_values)

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, *layout: Any) -> Self:
        """Count blocks of rows with hard labels, in threads. Families with a kernel override it."""

        def count_rows(rows: slice) -> Any:
            part = Weight(weight.codes[rows], weight.counts[rows], weight.classes)
            return cls.defined(x[rows], part, *layout)

        rows, columns = x.shape
        return reduce(add, in_order(count_rows, pieces(rows, columns, 4 * weight.classes), n_jobs))

    @classmethod
    def defined(cls, x: Cells, weight: Weight, *layout: Any) -> Self:
        """Count some rows in NumPy; not needed where `counted` is overridden."""
        raise TypeError(f"{cls.__name__} must define `counted` or `defined`.")

    @property
    def cells(self) -> Array | None:
        """Weight of the cells that were counted, `(c, f)`; None where none can be missing."""
        return None

    def covers(self, part: Self, every: Any = False) -> bool:
        """Whether the rows of `part` can be a subset of the rows of these stats."""
        return not self.without(part, every)[1].any()

    def without(
        self, part: Self, every: Any = False, rounding: float = SLACK
    ) -> tuple[Self, Array]:
        """Subtract the rows of `part`; also flag where they cannot be a subset, `(c, k)`: a count
        would be negative.

        A remainder below `rounding` times the total counts as 0; with `rounding=0` counts are
        exact. Where all counts become 0, constants do too. Where `every`, `(c,)`, is true, `part`
        holds all rows of the class, so nothing may remain.
        """
        whole, part = self.aligned(part)
        rest = whole.map(np.subtract, part)
        stays = {}
        counted: Any = False
        invalid: Any = False
        for name in whole.__match_args__:
            if name in (*self.layout, *self.constants):
                continue
            field = getattr(rest, name)
            total = whole.about(name)
            stays[name] = left_of(total, field, rounding)
            counted = counted | (stays[name] != 0)
            emptied = np.reshape(every, (-1, *(1,) * (field.ndim - 1))) & (stays[name] > 0)
            invalid = invalid | emptied | (field < -slack(total, rounding))
        for name in whole.constants:
            field = getattr(rest, name)
            stays[name] = np.where(
                counted.any(axis=tuple(range(field.ndim, counted.ndim))), field, 0.0
            )
        left = type(whole)(*(stays.get(name, getattr(whole, name)) for name in self.__match_args__))
        return left, invalid.reshape(len(invalid), -1)

    def about(self, name: str) -> Array:
        """The sums whose rounding errors are in a field: the field itself, unless it is a
        difference.
        """
        return getattr(self, name)


class RowScores(Record):
    """Scores of rows. Families with a compiled kernel override `add_scores`."""

    multivariate: ClassVar[bool] = False  # a cell is a whole row of the block

    def score(
        self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1
    ) -> Array:
        """Log density or log predictive, times exponents, summed over features: `(r, f) -> (r, c)`.

        The result is added to `out`, if given. The exponent is a number, or one for each feature,
        `(f,)`, or one for each row, `(r, 1)`. A feature with exponent 0 contributes 0, even where a
        cell is impossible.
        """
        if is_one(power) or np.ndim(power) == 1:
            return self.add_scores(x, power, out, n_jobs)
        total = raised(power, self.add_scores(x, 1.0, None, n_jobs))
        return total if out is None else np.add(out, total, out=out)

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        """`score` with exponent 1, or one exponent for each feature, `(f,)`."""
        return by_rows(lambda rows: self.defined_score(x[rows], power), x, len(self), out, n_jobs)

    @abstractmethod
    def log_score(self, x: Array) -> Array:
        """Log density or log predictive of cells, elementwise and broadcasting."""

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        """Compute `add_scores` in NumPy."""
        if self.multivariate:
            return raised(power, self.cell_scores(x)[..., 0])
        return summed(lambda record: raised(power, record.log_score(x)), self, len(x))

    def cell_scores(self, x: Cells) -> Array:
        """Log density or log predictive of each cell, `(r, f) -> (r, c, f)`."""
        return self.log_score(self.broadcast(x))

    def broadcast(self, x: Cells) -> Array:
        """Rows with an axis for the classes, `(r, f) -> (r, 1, f)`.

        A cell that is a whole row is `(r, 1, 1, f)`.
        """
        part = x[:]
        cells = part.toarray() if sparse.issparse(part) else np.asarray(part)
        return cells[:, None, None] if self.multivariate else cells[:, None]

    def words(self, x: Cells) -> Array | None:
        """The columns by which a block that is one feature is explained, such as the words of a
        text.

        None where rows are explained feature by feature.
        """
        return None

    def cell_log_base(self, x: Cells) -> Array | None:
        """Log base density of cells, to which all scores are relative, `(r, f)`, or None.

        All classes share it, so it cancels in p(y | x). `Product.with_base` and explanations add it
        where the density of x itself is needed. It is 0 for a missing cell.
        """
        return None


class Density(RowScores, ABC):
    """p(x | theta) for a known theta.

    Where theta is one number a feature, `numpy.asarray` gives it.
    """

    theta: ClassVar[str] = ""  # the field that is theta, if theta is one field
    sufficient: ClassVar[bool] = True  # the stats are sufficient statistics for theta
    # logs, one array or several, stored beside the fields: small numbers underflow
    kept: ClassVar[str] = ""

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Elementwise and broadcasting; 0 for a missing cell."""

    @abstractmethod
    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        """Log likelihood of the rows behind the stats.

        `xp` is the module that `log` and `where` come from.
        """

    @abstractmethod
    def sample(self, rng: Rng) -> Array:
        """One cell for each theta."""

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where theta gives a distribution, `(c, f)`: False without rows, or without a variance."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not self.theta:
            raise TypeError(
                f"{type(self).__name__} has several parameters: take one of its fields."
            )
        return np.array(getattr(self, self.theta), dtype=dtype, copy=copy)

    def moved(self, change: Any) -> Self:
        """Apply `change` to every field, and to the logs that are kept."""
        made = self.map(change)
        if self.kept:
            logs = getattr(self, self.kept)
            made.__dict__[self.kept] = (
                tuple(map(change, logs)) if isinstance(logs, tuple) else change(logs)
            )
        return made

    def __getitem__(self, index: Any) -> Self:
        return self.moved(lambda array: array[index])

    @classmethod
    def of_parts(cls, parts: Parts, like: Self) -> Self:
        """The density with these `parts`, laid out like another density."""
        return cls(*(parts[cls.symbols.get(name, name), None] for name in cls.__match_args__))

    def log_score(self, x: Array) -> Array:
        return self.log_density(x)

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        """Contribution of each cell, or each word, to the scores of the classes, `(r, c, f)`."""
        return raised(power, self.cell_scores(x))

    def linear(self) -> Linear | None:
        """Weights and offset of each class.

        None where the log density is not linear in the cells.
        """
        return None

    def linear_against(self, place: int) -> Linear | None:
        """Differences of weights and offsets from those of one class."""
        linear = self.linear()
        return linear and Linear(
            linear.weights - linear.weights[place], linear.offset - linear.offset[place]
        )

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        """PyMC distribution of a cell, and its parameters, each `(c, f)`."""
        raise TypeError(f"{type(self).__name__} has no PyMC distribution.")


class Narrowed(NamedTuple):
    """A belief about the columns that one row has cells in, these cells, `(1, f)`, and a function
    that counts them.
    """

    belief: Any
    cells: Any
    observe: Callable[..., Any]  # x, weight, n_jobs -> stats


class Belief[S: Stats, D: Density](RowScores, ABC):
    """p(theta), prior or posterior.

    A family defines the abstract members; the others follow from them.

    Nearly everything comes from `log_moment`, K(s) = log E[p(x | theta)**s]. K(1) is the log
    predictive, the derivatives at 0 are the cumulants of the log density, and exp K(it) is its
    characteristic function. After an update by x, K(s) becomes K(1 + s) - K(1). Leaving out a row
    of weight w, the log predictive is K(1 - w) - K(-w).
    """

    # the parameters of different classes are independent
    independent_classes: ClassVar[bool] = True
    # the log density of a cell may take one value with positive probability
    has_atoms: ClassVar[bool] = False
    # for every theta the log density is linear in the cells: see `linear_variance`
    is_linear: ClassVar[bool] = False

    @abstractmethod
    def update(self, stats: S) -> Self:
        """Return the posterior, given sufficient statistics of the data.

        The update is exact and in closed form. It is additive: updating by two sets of statistics,
        one after the other, is the same as updating by their sum.

        Parameters
        ----------
        stats : Stats
            Sufficient statistics of the data, from the belief's family. A fitted estimator has them
            in ``stats_``.

        Returns
        -------
        Belief
            A new belief of the same type. This one does not change.

        See Also
        --------
        log_evidence : How probable the data are under this belief.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> from bayesnb.families.bernoulli import BernoulliStats
        >>> Beta(1, 1).update(BernoulliStats(ones=3.0, zeros=1.0))
        Beta(a=4.0, b=2.0)
        """

    @abstractmethod
    def log_evidence(self, stats: S, xp: Any = special) -> Array:
        """Return the log evidence: log p(data), with theta integrated out under this belief. Exact.

        Parameters
        ----------
        stats : Stats
            Sufficient statistics of the data.
        xp : module, default=bayesnb.numerics.special
            The module that ``log``, ``log1p`` and ``log_gamma_ratio`` come from. PyMC's builds the
            same formula as a graph.

        Returns
        -------
        array
            One number for each class and feature. It equals the sum of the log predictives of the
            rows, each given the rows before it.

        See Also
        --------
        update : The belief after these data.
        log_predictive : Log probability of a single new cell.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> from bayesnb.families.bernoulli import BernoulliStats
        >>> float(Beta(1, 1).log_evidence(BernoulliStats(ones=3.0, zeros=1.0)).round(3))
        -2.996
        """

    def relative_to(self, stats: S) -> Self:
        """Return the belief with its evidence relative to the distribution of these rows.

        By default evidence is absolute, and this is the belief itself.
        """
        return self

    @abstractmethod
    def log_moment(self, x: Array, s: Exponent) -> Array:
        """Return K(s) = log E[p(x | theta)**s], the log moment of the density of each cell. Exact.

        K(1) is the log predictive, and -K(-1) the leave-one-out log predictive of a cell that the
        belief has seen. The derivatives at 0 are the cumulants of the log density, and exp K(it) is
        its characteristic function.

        Parameters
        ----------
        x : array
            Cells, which broadcast against the belief.
        s : float, complex or array
            The exponent.

        Returns
        -------
        array
            K(s), elementwise: plus infinity where the moment does not exist, and 0 for a missing
            cell.

        See Also
        --------
        log_predictive : K(1).
        cumulants : The derivatives of K.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb import Beta
        >>> # the mean of the square of a uniform number
        >>> float(np.exp(Beta(1, 1).log_moment(1.0, 2)).round(3))
        0.333
        """

    @abstractmethod
    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        """Return the first cumulants of log p(x | theta) under this belief. Exact.

        The first two are the mean and the variance.

        Parameters
        ----------
        x : array
            Cells, which broadcast against the belief.
        order : int
            How many cumulants.
        tilt : float, default=0.0
            Where the derivatives of ``log_moment`` are taken. With a tilt of 1 they are the
            cumulants after an update by the cell.

        Returns
        -------
        array
            Cumulants 1 to ``order``, stacked on a leading axis; 0 for a missing cell.

        See Also
        --------
        log_moment : The function whose derivatives these are.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> # the log of a uniform number has the mean -1 and the variance 1
        >>> Beta(1, 1).cumulants(1.0, 2).ravel().tolist()
        [-1.0, 1.0]
        """

    @abstractmethod
    def sample(self, rng: Rng, size: int | tuple[int, ...] | None = None) -> D:
        """Draw theta from this belief. Sampling from the returned density draws data.

        Parameters
        ----------
        rng : None, int or numpy.random.Generator
            A seed or a generator.
        size : None, int or tuple of int, default=None
            Number of draws, as leading axes in front of the belief's own. None for one draw,
            without a new axis.

        Returns
        -------
        Density
            The density p(x | theta) for the drawn theta. ``numpy.asarray`` gives theta where it is
            one number per feature.

        See Also
        --------
        predictive : The distribution of a new cell, theta integrated out.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb import Beta
        >>> theta = Beta(40, 60).sample(rng=1, size=1000)
        >>> float(np.asarray(theta).mean().round(2))
        0.4
        >>> theta.sample(rng=2).shape
        (1000,)
        """

    @abstractmethod
    def estimate(self, kind: str) -> D:
        """Return the density with a point estimate of theta plugged in.

        Parameters
        ----------
        kind : {"mean", "map"}
            The posterior mean of theta, or its mode.

        Returns
        -------
        Density
            The density p(x | theta) with this theta.

        See Also
        --------
        mode : The most probable theta, as numbers.
        predictive : The distribution of a new cell, theta integrated out.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb import Beta
        >>> belief = Beta(2, 4)
        >>> np.asarray(belief.estimate("map")).tolist()
        0.25
        """

    def mle(self, stats: Any) -> Any:
        """The density at the maximum likelihood estimate."""
        return stats.mle()

    @abstractmethod
    def mode(self) -> Array | tuple[Array, ...]:
        """Return the most probable theta.

        Returns
        -------
        array or tuple of arrays
            The mode, or a named tuple where theta has several parameters, such as a mean and a
            variance.

        See Also
        --------
        interval : An interval of theta.
        estimate : The density with theta plugged in.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> Beta(2, 4).mode()
        array(0.25)
        """

    @abstractmethod
    def interval(self, prob: float) -> tuple[Any, Any]:
        """Return exact equal-tailed intervals of each parameter of theta.

        Parameters
        ----------
        prob : float
            The probability that theta lies in the interval.

        Returns
        -------
        lower, upper : array or tuple of arrays
            The ends of the intervals, in the form of ``mode()``.

        See Also
        --------
        mode : The most probable theta.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> lower, upper = Beta(1, 1).interval(0.9)
        >>> float(lower.round(2)), float(upper.round(2))
        (0.05, 0.95)
        """

    @abstractmethod
    def predictive(self) -> Any:
        """Return the predictive distribution of a new cell, as a frozen SciPy distribution.

        Returns
        -------
        scipy.stats frozen distribution
            Theta is integrated out. The parameters broadcast over classes and features.

        See Also
        --------
        log_predictive : The log density of cells under it.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> float(Beta(3, 1).predictive().pmf(1))
        0.75
        """

    def quantile(self, p: float) -> Array:
        """Return a quantile of the predictive distribution, `(c, f)`."""
        quantile: Array = self.predictive().ppf(p)
        return quantile

    @property
    @abstractmethod
    def proper(self) -> Array:
        """Where this distribution integrates to one, `(c, f)`."""

    @property
    def strictly_proper(self) -> Array:
        """Where the evidence is defined: where the belief is proper, and not only as a limit."""
        return self.proper

    @property
    def public_name(self) -> str:
        """Name of the belief's class, as users write it."""
        return type(self).__name__

    def margins(self) -> Any:
        """The marginal belief about each column and class, `(c, f)`.

        It differs only where columns are modelled jointly or classes share parameters.
        """
        return self

    def strengthened(self, times: Any) -> Self:
        """Multiply the pseudo-counts by a number, or by one for each feature."""
        raise TypeError(f"{self.public_name} has no strength that could be scaled.")

    def rounding_error(self, before: S, part: S, rest: S) -> Array:
        """Rounding error of the update after a subtraction, relative to its scale, `(c, f)`.

        0 by default: only the coordinates of Gaussians lose digits when subtracted.
        """
        return np.zeros(1)

    def linear_variance(self, against: int | None = None) -> Linear:
        """Posterior variances of weights and offset, or of their differences from one class."""
        raise TypeError(f"densities of {self.public_name} are not linear.")

    def units(self, x: Cells) -> Sequence[Unit]:
        """The columns that can be joined in blocks with a closed-form evidence: one unit each, or
        one for all.

        Empty where classes have no separate evidence. See `selection.joint_evidence`.
        """
        return []

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, Any] | None:
        """Codes of columns with levels, `(r, d)`, and the `ColumnDirichlets` about them.

        A missing cell has the number of levels as its code. None for columns of numbers.
        """
        return None

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        """The belief that one row, `(1, f)`, can update by all of its cells.

        It is another belief where the row lacks some columns of a joint model.
        """
        return Narrowed(self, x, observe)

    def opened(self, theta: Any, x: Cells, rng: Rng) -> Any:
        """Extend a drawn theta by entries for combinations of levels that occur only in these rows.

        The entries that were drawn keep their values.
        """
        return theta

    def log_density(self, theta: Any) -> Parts:
        """log p(theta) by symbol, as in the density's `parts`.

        Shape `(c, f)`, or `(c,)` for levels of one Dirichlet.
        """
        raise TypeError(f"{self.public_name} has no log-density of its parameters.")

    def variables(self, pm: Any, names: VariableNames) -> Any:
        """A density with theta as variables of the current PyMC model.

        The belief's parameters may be PyMC variables too.
        """
        raise TypeError(f"{self.public_name} has no PyMC model.")

    def log_predictive(self, x: Array) -> Array:
        """Return log p(x), with theta integrated out under this belief. Exact.

        Parameters
        ----------
        x : array
            Cells, which broadcast against the belief.

        Returns
        -------
        array
            The log predictive, elementwise; 0 for a missing cell.

        See Also
        --------
        predictive : The same distribution as a SciPy object.
        log_moment : The function whose value at 1 this is.

        Examples
        --------
        >>> import numpy as np
        >>> from bayesnb import Beta
        >>> np.exp(Beta(3, 1).log_predictive([1.0, 0.0, np.nan]))
        array([0.75, 0.25, 1.  ])
        """
        return self.log_moment(x, 1)

    def log_score(self, x: Array) -> Array:
        return self.log_predictive(x)

    def row_log_moment(self, x: Cells, s: Power) -> Array:
        """K(s) summed over features, `(r, f) -> (r, c)`.

        `s` is a number, or one for each feature, `(f,)`, or one for each row, `(r, 1)`.
        """
        return self.log_moment(self.broadcast(x), s if np.ndim(s) < 2 else s[:, None]).sum(axis=-1)  # type: ignore[index]

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        """The first four cumulants of power * log p(x | theta) summed over features.

        Shapes: `(r, f) -> (4, r, c)`.

        With a tilt t they are the derivatives of K(power * s) at s = t. The power is a number, or
        one for each feature, `(f,)`.
        """
        cumulants = self.cumulants(self.broadcast(x), ORDER, tilt * power)
        return of_powers(cumulants, power).sum(axis=-1)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        """log_moment(x, power * s) summed over features, `(r, f), (n,) -> (r, c, n)`.

        `s` lies on or above the real axis.
        """
        cells = self.broadcast(x)
        places = np.asarray(s)[:, None, None, None]
        step = MOMENTS // (cells.size * len(self)) + 1
        moments = []
        for part in blocks(len(places), step):
            moments.append(self.log_moment(cells, places[part] * power).sum(axis=-1))
        return np.moveaxis(np.concatenate(moments), 0, -1)

    def contributions(self, x: Cells, power: Power, words: Array | None = None) -> Contributions:
        """Contribution of each cell, or each word, to the scores of the classes.

        It is 0 for a missing cell.
        """
        cells = self.broadcast(x)
        mean, variance = self.cumulants(cells, 2)
        gain = self.log_predictive(cells) if is_one(power) else self.log_moment(cells, power)
        each = raised(np.square(power), variance)
        total = each.sum(axis=-1) if np.ndim(power) else power**2 * variance.sum(axis=-1)
        return Contributions(raised(power, mean), each, gain, total)

    def repeated(self, times: int) -> Self:
        """Return `times` copies of this model side by side, as further classes."""
        return self[np.tile(np.arange(len(self)), times)]

    def missing(self, x: Cells) -> Array:
        """Which cells are missing, `(r, f)`.

        For a block that is modelled jointly: rows without any cell, `(r, 1)`.
        """
        lacks = missing_cells(x)
        return lacks.all(axis=1, keepdims=True) if self.multivariate else lacks

    def is_counted(self, x: Cells) -> Array:
        """Which rows are counted, `(r,)`: in a joint block, only complete rows."""
        if not self.multivariate or sparse.issparse(x):
            return np.ones(x.shape[0], bool)
        return ~missing_cells(x).any(axis=1)

    def left_out(self, stats: S, reader: Any, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores of rows, with this belief as the prior: `(r, f) -> (r, c)`.

        A row changes only its own class, so the scores of the others come from `reader`, the
        predictor. NaN where nothing proper is left, or where too few digits are left: the class
        must then be counted again without the row.
        """
        scores, counted = self._read(reader, rows)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            scores[places, c] = self[c : c + 1].score_left_out(stats[c : c + 1], part)

        rows.for_classes(score_rows, counted)
        return scores

    def _read(self, reader: Any, rows: RowsLeftOut) -> tuple[Array, Array]:
        """Scores by the predictor, `(r, c)`, NaN where it is improper; and which rows were
        counted.
        """
        scores = reader.score(rows.x, 1.0, None, rows.n_jobs)
        counted = self.is_counted(rows.x)
        if not counted.all():
            undefined = np.flatnonzero(
                ~(counted | self.missing(rows.x)[:, 0] | reader.proper[rows.codes, 0])
            )
            scores[undefined, rows.codes[undefined]] = np.nan
        return scores, counted

    def features_left_out(self, stats: S, reader: Any, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores by feature, which add up to `left_out`: `(r, f) -> (r, c, f)`."""
        if self.multivariate:
            return self.left_out(stats, reader, rows)[..., None]
        scores = reader.cell_scores(rows.x)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            scores[places, c] = self[c : c + 1].cells_left_out(stats[c : c + 1], part)

        rows.for_classes(score_rows, self.is_counted(rows.x))
        return scores

    def score_left_out(self, stats: S, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores of rows that all belong to this one class, `(1, f)`: `(r, f) ->
        (r,)`.
        """
        if rows.kind != PREDICTIVE:
            return self.estimate_left_out(stats, rows).sum(axis=1)
        return self.update(stats).score_without(rows.x, rows.each)

    def cells_left_out(self, stats: S, rows: RowsLeftOut) -> Array:
        """`score_left_out` cell by cell, `(r, f) -> (r, f)`."""
        if rows.kind != PREDICTIVE:
            return self.estimate_left_out(stats, rows)
        seen = self.update(stats)
        w = rows.each
        cells = self.broadcast(rows.x)[:, 0]
        score = log_moment_left(lambda s: seen.log_moment(cells, s), w)
        return np.where(seen.is_fragile(rows.x, w), np.nan, score)

    def score_without(self, x: Cells, w: Any) -> Array:
        """Leave-one-out log predictive of rows that this posterior of one class has seen with
        weight w: `(r,)`.
        """
        score = log_moment_left(lambda s: self.row_log_moment(x, s), w)[:, 0]
        return np.where(np.any(self.is_fragile(x, w), axis=-1), np.nan, score)

    def estimate_left_out(self, stats: S, rows: RowsLeftOut) -> Array:
        """`cells_left_out` for a point estimate, which has no K: it is computed anew without each
        row.
        """
        each = np.arange(len(rows.codes))
        leaving = stats.alone(rows.x[:], one_hot(each, len(each), rows.weight))
        first = np.zeros_like(each)
        estimate = reader_of(
            self[first], stats[first].without(leaving, rounding=ROUNDING)[0], rows.kind
        )
        cells = rows.x[:, None] if self.multivariate else rows.x[:]
        return np.where(estimate.proper | self.missing(rows.x), estimate.log_density(cells), np.nan)

    def is_fragile(self, x: Cells, w: Any) -> Any:
        """Whether this posterior has too few digits left after a row of weight w is removed, `(r,
        f)`.
        """
        return False
