"""A belief about a density on a grid: a histogram, averaged over all ways to join neighbouring levels into bins.

    cut ~ Bernoulli(expit(log_odds)), each cut of the grid: whether it is a boundary of bins
    shares of the bins ~ Dirichlet(concentration Q)      level | bin ~ as all rows are

Q is the share of a bin among all rows, of all classes together. All here is relative to their distribution: a level's
ratio p(x | class) / p(x) is theta / Q of the bin that it lies in, theta the class's share of the bin. With N rows, n of
them in a bin, the posterior given the bins is theta ~ Beta(a, A - a), a = concentration Q + n, A = concentration + N;
and how probable each binning is, and so each bin, follows from two passes over the bins: numerics/binning_kernels.py.
So K(s) = log E[ratio**s] of a level is a sum over the bins that hold it,

    exp K(s) = sum P(bin) Q**-s Gamma(a + s) / Gamma(a) Gamma(A) / Gamma(A + s)

Binnings are averaged as by Endres and Foeldiak (2005), Bayesian bin distribution inference and mutual information.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import betainc

from bayesnb import numerics
from bayesnb.families.base import ORDER, Array, Belief, Cells, Parts, Rng
from bayesnb.families.categorical import ColumnDirichlets, tables_of
from bayesnb.families.dirichlet import pick
from bayesnb.families.grid import Grid
from bayesnb.families.grid_levels import GridDensity, GridStats, RelativeScores
from bayesnb.families.grid_numbers import GridHistogram, NumberMargins
from bayesnb.families.record import Parameter, Power, checked, raised, silent
from bayesnb.families.removal import Leaving, RemainingLevels
from bayesnb.families.sums import Entries, KernelTables
from bayesnb.families.sums import nodes as transform_nodes
from bayesnb.numerics import special
from bayesnb.numerics.interpolation import interpolate
from bayesnb.numerics.special import draw_log_gamma
from bayesnb.numerics.threads import blocks, in_order

COARSE = 8  # levels of a column that is compared with others
COLUMNS = 4  # that a thread works on at once
HALVINGS = 60  # of the range in which a quantile lies


@dataclass(frozen=True, eq=False, repr=False)
class AveragedHistogram(RelativeScores, Belief[GridStats, GridDensity]):
    """Belief about a density on a grid: a histogram, averaged over all ways to join neighbouring levels into bins.

    It is the belief of ``PolyaTree`` columns, which make it; users meet it in ``prior_`` and ``posterior_``.

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
    PolyaTree : The family with this belief.

    Notes
    -----
    Everything is relative to the distribution of all rows. A level's ratio p(x | class) / p(x) is theta / Q of the bin
    in which it lies, with theta the share of the bin in the class and Q that among all rows. ``mean`` and ``mode`` are
    ratios, and so are the ends of ``interval``; ``mode`` is that of the most probable bins, and 1 where their Dirichlet
    has no peak. ``log_evidence`` is relative to that of the shares among all rows. ``predictive`` spreads the expected
    share of a level evenly over its range.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, PolyaTree
    >>> x = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]
    >>> belief = NaiveBayes(PolyaTree(depth=1)).fit(x, list("aaaabbbb")).posterior_[0]
    >>> belief.grid.cuts, belief.mean().round(2).tolist()
    (array([4.5]), [[1.51, 0.49], [0.49, 1.51]])
    """

    has_atoms: ClassVar[bool] = True  # where no cut is a boundary
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
            raise ValueError("AveragedHistogram: there is a count for each level of a grid. PolyaTree() makes one.")

    def of_column(self, array: Array, feature: int) -> Array:
        return super().of_column(array, feature) if array is self.counts else array[..., [feature]]

    @property
    def a(self) -> Array:
        """Concentration of each level, `(c, k)`: the prior's and the rows; that of a bin is their sum."""
        return self.expand(self.concentration) * self.grid.share + self.counts

    def parts(self) -> Parts:
        a = self.a
        return {("ratio{}_concentration", j): a[..., self.span(j)] for j in range(len(self.sizes))}

    @property
    def proper(self) -> Array:
        return self.concentration > 0

    def strengthened(self, times: Any) -> Self:
        return replace(self, concentration=times * self.concentration, counts=self.of_levels(times) * self.counts)

    def update(self, stats: GridStats) -> Self:
        return replace(self, counts=np.maximum(self.counts + stats.counts, 0.0))

    def log_evidence(self, stats: GridStats, xp: Any = special) -> Array:
        after, before = self.update(stats)._log_evidence(), self._log_evidence() if self.counts.any() else 0.0
        return after - before

    def _log_evidence(self) -> Array:
        """Log evidence of all rows that were counted, `(c, f)`."""
        out = np.empty(self._by_column)
        numerics.histogram_kernels.evidence(self.grid.share, self.bounds, *self._flat(), out.reshape(-1, out.shape[-1]))
        return out

    @property
    def _by_column(self) -> tuple[int, ...]:
        return (*self.counts.shape[:-1], len(self.sizes))

    def _flat(self) -> tuple[Array, Array, Array]:
        """Counts, concentrations and log-odds as kernels read them, all leading axes as one."""
        columns = (np.broadcast_to(each, self._by_column) for each in (self.concentration, self.log_odds))
        flat = [np.ascontiguousarray(each).reshape(-1, each.shape[-1]) for each in (self.counts, *columns)]
        return flat[0], flat[1], flat[2]

    def _pairs(self) -> Iterator[tuple[Array, int, tuple[Any, ...]]]:
        """Classes and a column, and what kernels take of them: shares, counts, concentration, log-odds.

        Classes that are alike come together: of thousands of draws side by side the bins are weighed once.
        """
        counts, *columns = self._flat()
        alike: dict[bytes, list[int]] = {}
        for c, parameters in enumerate(np.hstack([counts, *columns])):
            alike.setdefault(parameters.tobytes(), []).append(c)
        for classes in map(np.array, alike.values()):
            for j in range(len(self.sizes)):
                span, c = self.span(j), classes[0]
                yield classes, j, (self.grid.share[span], counts[c, span], *(each[c, j] for each in columns))

    @cached_property
    def log_mean(self) -> Array:
        """The log predictive ratio of each level, `(c, k)`."""
        return self._real_moment(np.ones(len(self.sizes)))

    def tables_at(self, power: Any) -> KernelTables:
        return tables_of(raised(self.of_levels(power), self.log_mean))

    def level_log_moment(self, s: Any) -> Array:
        """K(s) of each level; s is a number, one for each feature, `(f,)`, or `(n, 1, 1)` places of a transform."""
        every = np.arange(self.bounds[-1])
        if np.ndim(s) == 3:
            value = self._transform(np.broadcast_to(s[:, 0], (len(s), len(self.sizes))), every)
            return value.reshape(len(s), *self.counts.shape)
        s = np.broadcast_to(s, len(self.sizes))
        if np.iscomplexobj(s):
            return self._transform(s[None], every).reshape(self.counts.shape)
        return self._real_moment(s)

    def _real_moment(self, s: Array, n_jobs: int | None = 1) -> Array:
        """K(s) of each level, s real, `(f,) -> (c, k)`."""
        out = np.empty(self.counts.shape)
        self._by_columns(numerics.histogram_kernels.log_moments, (np.array(s, float),), out, n_jobs)
        return out

    def _by_columns(self, kernel: Any, of_columns: tuple[Array, ...], out: Array, n_jobs: int | None = 1) -> None:
        """Let a kernel write its results of all classes, some columns at a time."""
        counts, *parameters = self._flat()
        flat = out.reshape(*out.shape[: out.ndim - self.counts.ndim], *counts.shape[:-1], out.shape[-1])

        def work(columns: slice) -> None:
            bounds = self.bounds[columns.start : columns.stop + 1]
            parts = (np.ascontiguousarray(each[..., columns]) for each in (*parameters, *of_columns))
            kernel(self.grid.share, bounds, counts, *parts, flat)

        list(in_order(work, blocks(len(self.sizes), COLUMNS), n_jobs))

    def _transform(self, s: Array, levels: Array) -> Array:
        """K(s) of some levels, in their order, at complex places, `(n, f) -> (n, c, m)`."""
        counts, *_ = self._flat()
        out = np.zeros((len(s), len(counts), len(levels)), complex)
        for real in np.unique(s.real, axis=0):
            at = (s.real == real).all(axis=1)
            moments = self._real_moment(real).reshape(counts.shape)[:, levels]
            if not s.imag[at].any():
                out[at] = np.where(real[self.columns[levels]] == 0, 0.0, moments)
                continue
            for classes, j, arrays in self._pairs():
                here = np.flatnonzero(self.columns[levels] == j)
                if here.size:
                    out[np.ix_(at, classes, here)] = _column_transform(
                        arrays, s[at, j], levels[here] - self.bounds[j], moments[classes[0], here]
                    )[:, None]
        return out.reshape(len(s), *self.counts.shape[:-1], len(levels))

    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Array | None = None) -> Array:
        """Cumulants of the log of each level's ratio, at a tilt that is a number, or one for each feature.

        Where `places` are given, those of the levels there alone, and 0 of others: each takes long.
        """
        out, tilt = np.empty((4, *self.counts.shape)), np.array(np.broadcast_to(tilt, len(self.sizes)), float)
        wanted = np.full(self.bounds[-1], places is None)
        if places is not None:
            wanted[places[places >= 0]] = True

        def kernel(*args: Any) -> None:
            numerics.histogram_kernels.cumulants(*args[:-1], wanted, args[-1])

        self._by_columns(kernel, (tilt,), out)
        return out[:order]

    def mixture_variance(self, x: Cells, tilt: Any = 0.0, power: Any = 1.0) -> Array:
        """Variance of the scores' means given the bins, part of that in `score_cumulants`, `(r, f) -> (r, c)`."""
        out, tilt = np.empty(self.counts.shape), np.array(np.broadcast_to(tilt * power, len(self.sizes)), float)
        self._by_columns(numerics.histogram_kernels.mixture_variances, (tilt,), out)
        level, square = self.at(x[:]), np.broadcast_to(np.square(power), len(self.sizes))
        return np.stack([pick(table, level) @ square for table in out], axis=1)

    def cumulants_for(self, x: Cells, tilt: Any) -> Array:
        return self.level_cumulants(ORDER, tilt, self.at(x[:]) if x.shape[0] < max(self.sizes) else None)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        # not by tables of all levels, as each takes long: by those alone that the rows are on
        levels, entries = Entries.of_distinct(self.at(x[:]))
        s = np.broadcast_to((transform_nodes(s) * power)[:, 0], (len(s), len(self.sizes)))
        return entries.added(self._transform(s, levels))

    def log_moment(self, x: Array, s: Any) -> Array:
        level = self.at(x)
        if np.ndim(s) == 0 or np.shape(s) == (len(self.sizes),):
            return pick(self.level_log_moment(s), level)
        shape = np.broadcast_shapes(np.shape(s), level.shape, self._by_column)
        distinct, which = np.unique(s, return_inverse=True)
        which = np.broadcast_to(which.reshape(np.shape(s)), shape)
        value = np.zeros(shape, distinct.dtype if np.iscomplexobj(distinct) else float)
        for n, each in enumerate(distinct):
            np.copyto(value, pick(self.level_log_moment(each), level), where=which == n)
        return silent(level < 0, value)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        level = self.at(x)
        return np.stack([pick(table, level) for table in self.level_cumulants(order, tilt, level)])

    def sample(self, rng: Rng, size: Any = None) -> GridDensity:
        rng = np.random.default_rng(rng)
        logs = draw_log_gamma(self.a, rng, size)
        uniform = rng.uniform(size=logs.shape)
        drawn, chances = (each.reshape(-1, len(self._flat()[0]), self.bounds[-1]) for each in (logs, uniform))
        for classes, j, arrays in self._pairs():
            place = slice(None), classes, self.span(j)
            ratios, uniforms = (
                np.array(each[place], order="C").reshape(-1, len(arrays[0])) for each in (drawn, chances)
            )
            numerics.histogram_kernels.draw(*arrays, uniforms, ratios)
            drawn[place] = ratios.reshape(drawn[place].shape)
        return GridDensity.of_logs(logs, self.grid)

    def estimate(self, kind: str) -> GridDensity:
        return GridDensity.of_logs(self.level_log_moment(1.0) if kind == "mean" else self._log_mode(), self.grid)

    def mean(self) -> Array:
        """Return the expected ratio p(x | class) / p(x) of each level of the grid.

        Returns
        -------
        array
            Ratios, ``(c, k)``; 1 where a class is distributed as all rows are.

        See Also
        --------
        mode : The ratios under the most probable bins.

        Examples
        --------
        >>> from bayesnb import NaiveBayes, PolyaTree
        >>> x = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]
        >>> NaiveBayes(PolyaTree(depth=1)).fit(x, list("aaaabbbb")).posterior_[0].mean().round(2).tolist()
        [[1.51, 0.49], [0.49, 1.51]]
        """
        return np.exp(self.level_log_moment(1.0))

    def mode(self) -> Array:
        return np.exp(self._log_mode())

    def _log_mode(self) -> Array:
        out = np.empty(self.counts.shape)
        self._by_columns(numerics.histogram_kernels.log_modes, (), out)
        return out

    def interval(self, prob: float) -> tuple[Array, Array]:
        ends = np.ones((2, len(self._flat()[0]), self.bounds[-1]))
        for classes, j, arrays in self._pairs():
            ends[:, classes, self.span(j)] = _interval(arrays, prob)[:, None]
        return tuple(ends.reshape(2, *self.counts.shape))

    def log_density(self, theta: GridDensity) -> Parts:
        """log p(theta): the probability of the bins, which are runs of equal ratios, times the density of shares."""
        logs = theta.log_ratio
        drawn = logs.reshape(-1, len(self._flat()[0]), self.bounds[-1])
        out = np.empty((*drawn.shape[:2], len(self.sizes)))
        for classes, j, arrays in self._pairs():
            ratios = np.array(drawn[:, classes, self.span(j)], order="C").reshape(-1, len(arrays[0]))
            each = np.empty(len(ratios))
            numerics.histogram_kernels.log_density(*arrays, ratios, each)
            out[:, classes, j] = each.reshape(-1, len(classes))
        out = out.reshape(*logs.shape[:-1], len(self.sizes))
        return {("ratio{}", j): out[..., j] for j in range(len(self.sizes))}

    def predictive(self) -> GridHistogram:
        return self.margins().predictive()

    def margins(self) -> NumberMargins:
        """Each class and column as a distribution of numbers, not of levels."""
        return NumberMargins(self, *np.indices((len(self), len(self.sizes))))

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        """Columns as a few levels that hold about as many rows each, to be compared with others."""
        codes, first, concentration = self.at(x[:]), [], []
        for j in columns:
            share = self.grid.share[self.span(j)]
            middle = np.cumsum(share) - share / 2
            _, coarse = np.unique(np.floor(COARSE * middle), return_inverse=True)
            concentration.append(self.concentration[:, [j]] * np.bincount(coarse, share))
            place = np.maximum(codes[:, j] - self.bounds[j], 0)
            first.append(np.where(codes[:, j] < 0, concentration[-1].shape[1], coarse[place]))
        sizes = tuple(each.shape[1] for each in concentration)
        return np.stack(first, axis=1), ColumnDirichlets(np.concatenate(concentration, axis=1), sizes)

    def score_left_out(self, stats: GridStats, leaving: Leaving) -> Array:
        if not leaving.alike or leaving.kind in ("map", "mle"):
            return self.cells_left_out(stats, leaving).sum(axis=1)
        return self.added(leaving.x, tables_of(self._levels_left_out(stats, leaving)[None]), 1, None, 1)[:, 0]

    def cells_left_out(self, stats: GridStats, leaving: Leaving) -> Array:
        if leaving.kind == "mle":
            return self._left_out_of_counts(stats, leaving)
        codes = self.at(leaving.x[:])
        if leaving.alike and leaving.kind != "map":
            return pick(self._levels_left_out(stats, leaving), codes)
        cells = np.zeros(codes.shape)
        for _, j, column in self.update(stats)._pairs():
            known = codes[:, j] >= 0
            pairs = np.stack([codes[known, j] - self.bounds[j], leaving.weight[known]])
            (level, weight), which = np.unique(pairs, axis=1, return_inverse=True)
            each, of_rows = np.empty(len(level)), (level.astype(np.int64), weight.copy())
            if leaving.kind == "map":
                numerics.histogram_removal.left_out_modes(*column, *of_rows, each)
            else:
                numerics.histogram_removal.left_out_one_by_one(*column, *of_rows, each)
            cells[known, j] = each[which.ravel()]
        return cells

    def _levels_left_out(self, stats: GridStats, leaving: Leaving) -> Array:
        """The score of each level once the same weight of it has left, `(k,)`."""
        worth, arrays = np.empty(self.bounds[-1]), (each[0] for each in self.update(stats)._flat())
        numerics.histogram_removal.left_out(self.grid.share, self.bounds, *arrays, leaving.each, worth)
        return worth

    def _left_out_of_counts(self, stats: GridStats, leaving: Leaving) -> Array:
        """Logs of shares of the rows that stay, over those of all rows."""
        remaining = RemainingLevels.of(np.zeros_like(stats.counts), stats.counts, leaving.kind, self.total_of_levels)
        index = self.at(leaving.x[:])
        cells = RemainingLevels(*(pick(table[0], np.maximum(index, 0)) for table in remaining))
        worth = cells.worth(leaving.each, leaving.kind) - pick(self.grid.log_share, index)
        return silent(index < 0, worth)


def _column_transform(column: tuple[Any, ...], s: Array, levels: Array, moments: Array) -> Array:
    """K(s) of some levels of a class and column, at places of one real part, `(n,) -> (n, m)`."""
    wanted = np.full(len(column[0]), np.inf)
    wanted[levels] = moments

    def ratios(t: Array) -> Array:
        out = np.empty((len(wanted), len(t)), complex)
        numerics.histogram_kernels.transform(*column, s[0].real + 1j * t, wanted, out)
        return out[levels].T

    order = np.argsort(s.imag)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.log(interpolate(ratios, s.imag[order]))[np.argsort(order)] + moments
    value = np.where(np.isposinf(moments), np.inf, value)
    return np.where(s[:, None] == 0, 0.0, value)


def _interval(column: tuple[Any, ...], prob: float) -> Array:
    """Equal-tailed intervals of the ratios of the levels of a class and column, `(2, k)`."""
    share, _, concentration, _ = column
    k = len(share)
    q, a, chance = np.zeros((3, k, k))
    total = concentration + numerics.binning_kernels.posterior(*column, q, a, chance)
    alike = chance[-1, 0]
    last, first = np.nonzero((chance > 0) & (q < 1.0))
    a, q, chance, level = a[last, first], q[last, first], chance[last, first], np.arange(k)
    holds = ((first <= level[:, None]) & (level[:, None] <= last)).astype(float)

    def below(x: Array) -> Array:
        pairs = zip(holds, x, strict=True)
        return np.array([here @ (chance * betainc(a, total - a, np.minimum(each * q, 1.0))) for here, each in pairs])

    at_one, ends = below(np.ones(k)), np.empty((2, k))
    for side, p in enumerate(((1 - prob) / 2, (1 + prob) / 2)):
        low, high = np.zeros(k), 1 / share
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            less = below(middle) + alike * (middle >= 1) < p
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        ends[side] = np.where((at_one < p) & (p <= at_one + alike), 1.0, (low + high) / 2)
    return ends
