"""Columns of numbers whose density has any shape: histograms on a grid of quantiles of the column.

    each cut of the grid is a bin boundary with the same probability
    shares of the bins ~ Dirichlet(concentration Q)        number | bin ~ as in all rows

Q is the share of a bin among the rows of all classes. All ways to join levels of the grid into bins
are averaged, weighted by their evidence, in closed form: see numerics/histogram.py.

Densities are relative to the distribution of all rows. The ratio p(x | class) / p(x) of a level is
theta / Q of its bin, with theta the class's share of the bin. Given the bins theta ~ Beta(a, A -
a), with a = concentration Q + rows of the class in the bin.

Endres and Foeldiak (2005), Bayesian bin distribution inference and mutual information.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import formatting, numerics
from bayesnb.families.base import Array, Belief, Cells, Parts, Rng, Stats
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.family import Family, Hyperparameters, RealNumbers, Support, unless_alike
from bayesnb.families.grid import MAX_DEPTH, MIN_SHARE, Grid
from bayesnb.families.levels import LevelBelief, RatioDensity, TableStats
from bayesnb.families.record import Parameter, checked, raised
from bayesnb.families.removal import log_shares_left, staying
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, log
from bayesnb.numerics.threads import blocks
from bayesnb.numerics.views import EVERY

NUMBERS = 1 << 17  # bins whose probabilities are computed at once
# Halvings of a grid, one more from so many rows on: with fewer rows, more levels predict no better,
# and the work grows with the square of their number.
DEPTH, MANY_ROWS = 5, 8_000
MAX_TABLES = 8  # cached tables of cumulants; one set of exponents needs four
COARSE_LEVELS = 8  # levels of a column that is compared with others
VANISHING = 1e-200  # a concentration of 0 is the limit of small ones
SHAPES = Hyperparameters(
    names=("concentration",),
    weak=(2.0,),
    note="In histogram columns l multiplies the declared concentration: how similar the classes "
    "are where they differ at all.",
    extremes={
        ("concentration", True): "where classes differ at all, they hardly do",
        ("concentration", False): "each class has all its cells in one bin",
    },
)


@dataclass(frozen=True, eq=False)
class GridStats(TableStats):
    """Rows on each level, `(c, k)`."""

    layout: ClassVar[tuple[str, ...]] = ("grid",)
    counts: Array
    grid: Grid

    def check(self) -> None:
        if not isinstance(self.grid, Grid):
            raise ValueError("its cells have no grid.")

    def mle(self) -> RatioDensity:
        return RatioDensity(self.mle_share() / self.grid.share, self.grid)


@dataclass(frozen=True, eq=False)
class NumberDistributions:
    """Distributions of numbers, with the methods of SciPy's frozen distributions.

    Within a level numbers are uniform; levels end at cuts, or at the smallest and largest number
    learnt. `classes` and `features` are arrays of one shape, `(c, f)`.
    """

    belief: Any
    classes: Array
    features: Array

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.belief, self.classes[index], self.features[index])

    def __len__(self) -> int:
        return len(self.classes)

    def column(self, feature: int) -> Self:
        return self[:, feature]

    @property
    def grid(self) -> Grid:
        return self.belief.grid

    @property
    def proper(self) -> Array:
        return self.belief.proper[self.classes, self.features]

    def predictive(self) -> Self:
        return self

    def margins(self) -> Self:
        return self

    def level_columns(self, x: Cells, columns: Any) -> Any:
        """Columns as levels, for comparison with other columns."""
        return self.belief.level_columns(x, columns)

    @cached_property
    def mass(self) -> Array:
        """Probability of each level, `(c, k)`."""
        return np.exp(self.belief.log_mean + self.grid.log_share)

    def log_predictive(self, x: Array) -> Array:
        """log p(x), beyond the ends that of the outer level; 0 for a missing number."""
        x, c, f = np.broadcast_arrays(np.asarray(x, float), self.classes, self.features)
        table = self.belief.log_mean + self.grid.log_base
        logs = np.zeros(x.shape)
        for j in np.unique(self.features):
            here = (f == j) & ~np.isnan(x)
            levels = np.searchsorted(self.grid.cuts_of(j), x[here])
            logs[here] = table[c[here], self.grid.bounds[j] + levels]
        return logs

    def cdf(self, x: Any) -> Array:
        return self._interpolate(x, lambda x, edges, below: np.interp(x, edges, below))

    def ppf(self, p: Any) -> Array:
        return self._interpolate(p, lambda p, edges, below: np.interp(p, below, edges))

    quantile = ppf

    def _interpolate(self, at: Any, read: Callable[[Array, Array, Array], Array]) -> Array:
        """Interpolate between the edges of levels and the probability below each edge."""
        lower, upper = self.grid.ends
        at, c, f = np.broadcast_arrays(np.asarray(at, float), self.classes, self.features)
        out = np.empty(at.shape)
        for place in np.ndindex(self.classes.shape):
            i = self.classes[place]
            j = self.features[place]
            span = self.grid.span(j)  # type: ignore[arg-type]
            here = (c == i) & (f == j)
            below = np.append(0.0, np.cumsum(self.mass[i, span]))
            out[here] = read(at[here], np.append(lower[span], upper[span][-1]), below / below[-1])
        return out

    def pdf(self, x: Any) -> Array:
        """The density: 0 beyond the ends, infinite at the only value of a column."""
        lower, upper = self.grid.ends
        first = lower[self.grid.bounds[self.features]]
        last = upper[self.grid.bounds[self.features + 1] - 1]
        density = np.where(first == last, np.inf, np.exp(self.log_predictive(x)))
        return np.where((x >= first) & (x <= last), density, 0.0)

    def logpdf(self, x: Any) -> Array:
        return log(self.pdf(x))

    def mean(self) -> Array:
        lower, upper = self.grid.ends
        middle = lower / 2 + upper / 2
        means = self.grid.sums(self.mass * middle) / self.grid.sums(self.mass)
        return means[self.classes, self.features]

    def median(self) -> Array:
        return self.ppf(0.5)

    def interval(self, prob: float) -> tuple[Array, Array]:
        return self.ppf((1 - prob) / 2), self.ppf((1 + prob) / 2)


@dataclass(frozen=True, eq=False, repr=False)
class AveragedHistogram(LevelBelief):
    """Belief about a density on a grid: a histogram averaged over all binnings of the levels.

    ``Histogram`` columns make it; it appears in ``prior_`` and ``posterior_``.

    Parameters
    ----------
    concentration : array
        Concentration of the prior of a class's shares, ``(c, f)``.
    log_odds : array
        Log-odds, before the data, that a cut of the grid is a boundary of bins, ``(c, f)``.
    counts : array
        Rows seen on each level of the grid, ``(c, k)``.
    grid : Grid
        The levels, and their shares among all rows.

    See Also
    --------
    Histogram : The family with this belief.

    Notes
    -----
    Densities are relative to the distribution of all rows. The ratio p(x | class) / p(x) of a level
    is theta / Q of its bin, with theta the share of the bin in the class and Q its share among all
    rows. ``mean``, ``mode`` and the ends of ``interval`` are such ratios; ``mode`` uses the most
    probable bins, and is 1 where their Dirichlet has no peak. ``log_evidence`` is relative to that
    under the shares of all rows. ``predictive`` spreads the expected share of a level evenly over
    its range.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, Histogram
    >>> x = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]
    >>> belief = NaiveBayes(Histogram(depth=1)).fit(x, list("aaaabbbb")).posterior_[0]
    >>> belief.grid.cuts, belief.mean().round(2).tolist()
    (array([4.5]), [[1.51, 0.49], [0.49, 1.51]])
    """

    has_atoms: ClassVar[bool] = True  # the ratio is 1 where no cut is a boundary
    layout: ClassVar[tuple[str, ...]] = ("grid",)
    by_column: ClassVar[tuple[str, ...]] = ("concentration", "log_odds")
    concentration: Parameter
    log_odds: Parameter
    counts: Parameter
    grid: Grid

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("AveragedHistogram: concentration", self.concentration)
        checked("AveragedHistogram: log_odds", self.log_odds, -np.inf)
        checked("AveragedHistogram: counts", self.counts)
        if not isinstance(self.grid, Grid) or np.shape(self.counts)[-1:] != (len(self.grid.low),):
            raise ValueError("AveragedHistogram: each level of the grid must have a count.")

    @property
    def a(self) -> Array:
        """Posterior concentration of each level, `(c, k)`; a bin has the sum over its levels."""
        return self.grid.expand(self.concentration) * self.grid.share + self.counts

    def parts(self) -> Parts:
        return self.grid.parts("ratio{}_concentration", self.a)

    @property
    def proper(self) -> Array:
        return self.concentration > 0

    def strengthened(self, times: Any) -> Self:
        counts = self.grid.per_level(times) * self.counts
        return replace(self, concentration=times * self.concentration, counts=counts)

    def update(self, stats: GridStats) -> Self:
        return replace(self, counts=np.maximum(self.counts + stats.counts, 0.0))

    def log_evidence(self, stats: GridStats, xp: Any = special) -> Array:
        before = self._log_evidence() if self.counts.any() else 0.0
        return self.update(stats)._log_evidence() - before

    def relative_to(self, stats: GridStats) -> Self:
        weight = np.maximum(stats.counts.sum(axis=0), MIN_SHARE)
        return replace(self, grid=replace(self.grid, weight=weight))

    def _log_evidence(self) -> Array:
        """Log evidence of all rows that were counted, `(c, f)`."""
        out = np.empty((*self.counts.shape[:-1], len(self.grid.sizes)))
        for columns, _, bins in self._averages():
            out[..., columns] = bins.evidence
        return out

    def _averages(self) -> Iterator[tuple[Array, Array, Any]]:
        """Yield columns with the same number of levels, `(f,)`, their levels, `(f, k)`, and
        bins.
        """
        lead = self.counts.shape[:-1]
        share = self.grid.share
        average = numerics.histogram.average
        sizes = np.array(self.grid.sizes)
        for k in np.unique(sizes):
            alike = np.flatnonzero(sizes == k)
            bins = max(int(np.prod(lead)), 1) * k * (k + 1) // 2
            for part in blocks(len(alike), max(NUMBERS // bins, 1)):
                columns = alike[part]
                levels = self.grid.bounds[columns, None] + np.arange(k)
                parameters = self.concentration[..., columns], self.log_odds[..., columns]
                yield columns, levels, average(share[levels], self.counts[..., levels], *parameters)

    def _tables(self, answer: Callable[[Any, Array], Array], *axes: int) -> Array:
        """Call a function of bins for all columns, `(..., c, k)`."""
        out = np.empty((*axes, *self.counts.shape))
        for columns, levels, bins in self._averages():
            out[..., levels] = answer(bins, columns)
        return out

    @cached_property
    def log_mean(self) -> Array:
        """The log predictive ratio of each level, `(c, k)`."""
        return self._real_moments(np.ones((1, len(self.grid.sizes))))[0]

    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        if np.ndim(s) == 0 and s == 1:
            return self.log_mean[..., places]
        lead, s = np.shape(s)[:-2], np.asarray(s) + 0.0
        columns = len(self.grid.sizes)
        s = np.broadcast_to(s, (*s.shape[:-1], columns)).reshape(-1, columns)
        levels = np.arange(self.grid.bounds[-1])[places]
        moments = np.empty((len(s), *self.counts.shape[:-1], len(levels)), s.dtype)
        real = ~s.imag.any(axis=1)
        if real.any():
            moments[real] = self._real_moments(s.real[real])[..., levels]
        for at_real in np.unique(s.real[~real], axis=0):
            here = ~real & (s.real == at_real).all(axis=1)
            moments[here] = self._moments_on_line(at_real, s.imag[here], levels)
        return moments.reshape(*lead, *moments.shape[1:])

    def _real_moments(self, s: Array) -> Array:
        """K(s) of each level, s real, `(n, f) -> (n, c, k)`."""

        def moments(bins: Any, columns: Array) -> Array:
            return np.stack([numerics.histogram.log_moments(bins, each[columns]) for each in s])

        return self._tables(moments, len(s))

    def _moments_on_line(self, real: Array, t: Array, levels: Array) -> Array:
        """K(real + i t) of some levels, in their order, `(f,), (n, f) -> (n, c, m)`."""
        out = np.empty((len(t), len(self), len(levels)), complex)
        columns = self.grid.columns[levels]
        for j in np.unique(columns):
            here = np.flatnonzero(columns == j)
            span = self.grid.span(j)
            share, within = self.grid.share[span], levels[here] - span.start
            for c in range(len(self)):
                parameters = self.counts[c, span], self.concentration[c, j], self.log_odds[c, j]
                line = numerics.histogram.line_of(real[j], share, *parameters)
                out[:, c, here] = line.log_moments_at(t[:, j], within)
        return out

    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        return self._cumulants(tilt)[:order, ..., places]

    def _cumulants(self, tilt: Any, *, between: bool = False) -> Array:
        """Four cumulants of each level's log ratio, or of its mean given the bins, `(4, c, k)`."""
        tilt = np.array(np.broadcast_to(tilt, len(self.grid.sizes)), float)

        def answer(bins: Any, columns: Array) -> Array:
            return numerics.histogram.cumulants(bins, tilt[columns], between=between)

        # a few tables are cached, as all rows use the same ones
        tables: dict[Any, Array] = self.__dict__.setdefault("_cumulants_kept", {})
        key = between, tilt.tobytes()
        table = tables.get(key)
        if table is None:
            if len(tables) >= MAX_TABLES:
                tables.clear()
            table = tables[key] = self._tables(answer, 4)
        return table

    def mixture_variance(self, x: Cells, tilt: Any = 0.0, power: Any = 1.0) -> Array:
        """Variance of the scores' conditional means given the bins, `(r, f) -> (r, c)`."""
        variance = self._cumulants(tilt * power, between=True)[1]
        return self.add_up(x, raised(self.grid.per_level(np.square(power)), variance))

    def sample(self, rng: Rng, size: Any = None) -> RatioDensity:
        rng = np.random.default_rng(rng)
        draw = numerics.histogram.draw
        logs = draw_log_gamma(self.a, rng, size)
        uniform = rng.uniform(size=logs.shape)
        share = self.grid.share
        belief, which = self._distinct_classes()
        drawn, uniform = (each.reshape(-1, len(which), each.shape[-1]) for each in (logs, uniform))
        for _, levels, bins in belief._averages():
            here = (..., levels)
            drawn[here] = draw(bins, which, share[levels], uniform[here], drawn[here])
        return RatioDensity.of_logs(drawn.reshape(logs.shape), self.grid)

    def _distinct_classes(self) -> tuple[Self, Array]:
        """Distinct classes, and the index of each class among them: thousands of draws are
        equal.
        """
        arrays = self.concentration, self.log_odds, self.counts
        flat = [array.reshape(-1, array.shape[-1]) for array in arrays]
        places: dict[bytes, int] = {}
        keys = [row.tobytes() for row in np.concatenate(flat, axis=-1)]
        which = np.array([places.setdefault(key, len(places)) for key in keys])
        first = np.unique(which, return_index=True)[1]
        concentration, log_odds, counts = (array[first] for array in flat)
        return type(self)(concentration, log_odds, counts, self.grid), which

    def estimate(self, kind: str) -> RatioDensity:
        logs = self.log_mean if kind == "mean" else self._log_mode()
        return RatioDensity.of_logs(logs, self.grid)

    def mean(self) -> Array:
        """Return the expected ratio p(x | class) / p(x) of each level of the grid.

        Returns
        -------
        array
            Ratios, ``(c, k)``; 1 where a class has the distribution of all rows.

        See Also
        --------
        mode : The ratios under the most probable bins.

        Examples
        --------
        >>> from bayesnb import NaiveBayes, Histogram
        >>> x = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]
        >>> belief = NaiveBayes(Histogram(depth=1)).fit(x, list("aaaabbbb")).posterior_[0]
        >>> belief.mean().round(2).tolist()
        [[1.51, 0.49], [0.49, 1.51]]
        """
        return np.exp(self.log_mean)

    def mode(self) -> Array:
        return np.exp(self._log_mode())

    def _log_mode(self) -> Array:
        return self._tables(lambda bins, columns: numerics.histogram.log_modes(bins))

    def interval(self, prob: float) -> tuple[Array, Array]:
        ends = np.empty((2, *self.counts.shape))
        for _, levels, bins in self._averages():
            for *c, f in np.ndindex(bins.evidence.shape):
                ends[:, *c, levels[f]] = numerics.histogram.interval(bins.one(*c, f), prob)
        return ends[0], ends[1]

    def log_density(self, theta: RatioDensity) -> Parts:
        """log p(theta): the bins, which are runs of equal ratios, and their shares."""
        logs, (belief, which) = theta.log_theta, self._distinct_classes()
        ratios = logs.reshape(-1, len(which), logs.shape[-1])
        out = np.empty((*ratios.shape[:-1], len(self.grid.sizes)))
        for columns, levels, bins in belief._averages():
            out[..., columns] = numerics.histogram.log_density(bins, which, ratios[..., levels])
        out = out.reshape(*logs.shape[:-1], len(self.grid.sizes))
        return {("ratio{}", j): out[..., j] for j in range(len(self.grid.sizes))}

    def predictive(self) -> NumberDistributions:
        return self.margins()

    def margins(self) -> NumberDistributions:
        """Each class and column as a distribution of numbers, not of levels."""
        return NumberDistributions(self, *np.indices((len(self), len(self.grid.sizes))))

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        """Columns as a few levels with about equally many rows, for comparison with other
        columns.
        """
        codes = self.grid.places(x[:])
        first = []
        concentration = []
        for j in columns:
            share = self.grid.share[self.grid.span(j)]
            middle = np.cumsum(share) - share / 2
            _, coarse = np.unique(np.floor(COARSE_LEVELS * middle), return_inverse=True)
            concentration.append(self.concentration[:, [j]] * np.bincount(coarse, share))
            place = np.maximum(codes[:, j] - self.grid.bounds[j], 0)
            first.append(np.where(codes[:, j] < 0, concentration[-1].shape[1], coarse[place]))
        sizes = tuple(each.shape[1] for each in concentration)
        prior = ColumnDirichlets(np.concatenate(concentration, axis=1), sizes)
        return np.stack(first, axis=1), prior

    def levels_left_out(self, stats: GridStats, w: Any, kind: str, places: Any = EVERY) -> Array:
        if kind == "mle":
            counts = stats.counts[0]
            share = log_shares_left(0 * counts, counts, self.grid.totals, w, kind, places)
            return share - self.grid.log_share[places]
        weights, which = np.unique(w, return_inverse=True)
        posterior = self.update(stats)
        if kind == "map":
            table = np.stack([posterior._log_modes_left_out(weight) for weight in weights])
        else:

            def answer(bins: Any, columns: Array) -> Array:
                return np.stack([numerics.histogram.log_left_out(bins, each) for each in weights])

            table = posterior._tables(answer, len(weights))[:, 0]
        return table[which.reshape(np.shape(w)), places]

    def _log_modes_left_out(self, weight: float) -> Array:
        """The score of each level at the mode that is found without one of its rows, `(k,)`."""
        place = np.arange(self.grid.bounds[-1])
        level = place - self.grid.bounds[self.grid.columns]
        each = self[np.zeros(level.max() + 1, int)]  # the class without a row on level 0, 1, ...
        total = self.grid.totals(self.counts)[0]
        each.counts[level, place] = staying(self.counts[0] - weight, total)
        return each._log_mode()[level, place]


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Family[GridStats]):
    """Columns of numbers with densities of any shape, learnt on a grid of quantiles of the column.

    The density of a class is a histogram whose bins are runs of levels of the grid; within a bin it
    has the distribution of all rows. All ways to join levels into bins are averaged, weighted by
    their evidence, in closed form.

    Parameters
    ----------
    depth : int or None, default=None
        The grid has 2**depth levels: rows are halved ``depth`` times. None: 5, or 6 from 8,000 rows
        on.
    concentration : float or array, default=2.0
        Total pseudo-count of the shares of a class, given the bins: they are
        Dirichlet(concentration q), where q are the shares of all rows.
    stop : float, default=0.5
        Prior probability that no cut of the grid is a boundary, so that the class has the
        distribution of all rows. Each cut is a boundary with the same probability.
    cuts : sequence or None, default=None
        The grid: increasing numbers for all columns, or a list of them for each column. All levels
        then have the same prior probability, and models of parts of a table can be merged. None:
        the grid is learnt from the first table, all classes together, and then fixed.

    See Also
    --------
    Gaussian : Columns of numbers with a normal distribution for each class.
    BestOf : The choice between the two from data.
    AveragedHistogram : The belief of this family.

    Notes
    -----
    Only the cuts between which a number lies matter. So predictions do not change under increasing
    transformations of a column, and an outlier has the density of its level. Numbers beyond the
    grid are on its outer levels.

    A learnt grid is in the belief: ``model.posterior_["age"].grid``. Its ``cuts`` can be declared
    in another model.

    ``log_evidence_`` is relative to the distribution of all rows. It can be compared with that of
    other models on the same grid; compare with other families by leave-one-out. ``sample`` draws
    numbers from the range of their level, whole numbers if all numbers of the column were whole.

    References
    ----------
    Endres, D. and Foeldiak, P. (2005), Bayesian bin distribution inference and mutual information.
    IEEE Transactions on Information Theory 51.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, Histogram
    >>> x = [[0.1], [0.2], [0.3], [0.4], [5.0], [6.0], [7.0], [8.0], [9.0], [80.0], [81.0], [82.0]]
    >>> model = NaiveBayes(Histogram()).fit(x, list("aaabbbbbbaaa"))
    >>> model.predict([[0.15], [6.5], [900.0]]).tolist()
    ['a', 'b', 'a']
    """

    depth: int | None = None
    concentration: Any = 2.0
    stop: float = 0.5
    cuts: Any = None

    content: ClassVar[str] = "numbers, a density of any shape"
    conjugate: ClassVar[type[Belief] | None] = None  # a prior would need the grid
    hyperparameters: ClassVar[Hyperparameters | None] = SHAPES
    support: ClassVar[Support] = RealNumbers()
    stats: ClassVar[type[Stats]] = GridStats
    has_grid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        depth = self.depth
        stop = self.stop
        is_depth = depth is None or (type(depth) is int and 1 <= depth <= MAX_DEPTH)
        if not is_depth:
            raise ValueError(f"Histogram: depth must be from 1 to {MAX_DEPTH}, got {depth!r}.")
        if not (isinstance(stop, float | int) and 0 < stop < 1):
            raise ValueError(f"Histogram: stop must be between 0 and 1, exclusive, got {stop!r}.")
        checked("Histogram: concentration", self.concentration)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _checked_cuts(self.cuts))

    def grid_of(self, x: Cells, weight: Array | None, n_jobs: int | None = 1) -> Grid:
        """The declared grid, or else the grid of these cells, `(r, f)`."""
        if self.cuts is None:
            rows = x.shape[0] if weight is None else weight.sum()
            depth = self.depth or DEPTH + (rows >= MANY_ROWS)
            return Grid.learnt(x, weight, depth, n_jobs)
        columns = self.cuts if isinstance(self.cuts[0], tuple) else (self.cuts,) * x.shape[1]
        if len(columns) != x.shape[1]:
            raise ValueError(
                f"Histogram: cuts are given for {len(columns)} columns, not {x.shape[1]}."
            )
        return Grid.declared([np.array(each) for each in columns])

    def belief(self, stats: GridStats) -> AveragedHistogram:
        sizes = np.array(stats.grid.sizes)
        shape = len(stats), len(sizes)
        try:
            concentration = np.broadcast_to(np.maximum(self.concentration, VANISHING), shape)
        except ValueError:
            raise ValueError(
                f"Histogram: a concentration of shape {np.shape(self.concentration)} does not "
                f"broadcast to (classes, columns) = {shape}. Give a number, or one for each column."
            ) from None
        log_no_cut = np.log(self.stop) / np.maximum(sizes - 1, 1)
        log_odds = np.broadcast_to(np.log(np.expm1(-log_no_cut)), shape)
        return AveragedHistogram(concentration, log_odds, np.zeros_like(stats.counts), stats.grid)

    def describe(self, belief: Any) -> str:
        levels = max(belief.grid.sizes)
        if levels == 1:
            return "one value, the same in all classes"
        rows = formatting.number_range(belief.concentration)
        return (
            f"with probability {self.stop:g} the same as all rows together; otherwise bins with "
            f"{rows} pseudo-rows; at most {levels} bins"
        )

    def of_column(self, belief: Any, levels: Any = None, unseen: str = "ignore") -> "Histogram":
        each = unless_alike(belief.concentration)
        return replace(self, concentration=float(each[0]) if each.shape == (1,) else each)

    def tuned(self, stats: GridStats, *values: Any) -> Self:
        return replace(self, concentration=values[0])

    def smoothed(self, stats: GridStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        return replace(self, concentration=np.asarray(smoothing) * self.concentration)


def _checked_cuts(cuts: Any) -> tuple[Any, ...]:
    """Check cuts, and return a tuple of numbers, or one tuple for each column."""
    each = list(cuts)
    if each and np.ndim(each[0]):
        return tuple(_checked_cuts(column) for column in each)
    numbers = np.array(each, float)
    if not (len(numbers) and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()):
        raise ValueError(f"Histogram: cuts must be finite and increasing, got {each!r:.80}.")
    if len(numbers) >= 1 << MAX_DEPTH:
        raise ValueError(f"Histogram: at most {(1 << MAX_DEPTH) - 1} cuts, got {len(numbers)}.")
    return tuple(numbers.tolist())
