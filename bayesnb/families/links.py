"""Links: how much more, or less, probable a column's level is once another column of the row is
known.

    level b of the child | level a of the parent, class ~ Categorical(p_a)      p_a ~
    Dirichlet(strength m)

m is how the class's rows are spread over the child's levels, whatever the parent's. A link adds the
log of the ratio p_a(b) / m(b) to the score of the class. Where the class has no row on level a that
ratio is expected to be 1: the pair backs off to the product of its margins. Along a forest of
links, each child with one parent, the ratios turn a product of columns into a joint distribution:

    p(x | class) = prod_v p(x_v | class) prod_(u, v) p(x_v | x_u, class) / p(x_v | class)

m is taken from the counts, as if it were known: m(b) = (n(b) + c(b)) / (n + c), c what the child's
prior adds to them. So given the counts the p_a are independent Dirichlets, and all that is asked of
them is in closed form; the evidence

    sum_a log B(strength m + n_a) / B(strength m) - sum_b n(b) log m(b)        B the Beta function
    of several numbers

compares rows that are spread by one p for each a with rows that are spread by m. Links are looked
for with c = 0: a declared prior that disagrees with the rows makes m explain them badly, and p_a
less badly, whether they depend or not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from bayesnb.families import quantiles
from bayesnb.families.base import Array, Cells, Narrowed, Parts, Rng
from bayesnb.families.dirichlet import log_share_cumulants
from bayesnb.families.levels import (
    LevelBelief,
    LevelTable,
    RatioDensity,
    TableStats,
)
from bayesnb.families.record import Parameter, checked
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut, staying
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, less, log, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY


@dataclass(frozen=True, eq=False)
class Pairs:
    """The numbers of levels of parent and child of each link, and where each pair of levels stands.

    The pairs of levels of all links lie end to end, `(k,)`, those of a link parent's level by
    parent's level.
    """

    shapes: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not (
            self.shapes
            and all(type(size) is int and size > 0 for shape in self.shapes for size in shape)
        ):
            raise ValueError("each link has two columns of at least one level.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.shapes).astype(dtype or float)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of pairs of levels of each link."""
        return tuple(parents * children for parents, children in self.shapes)

    @cached_property
    def rows(self) -> Array:
        """Where the pairs of each level of a parent begin."""
        widths = np.concatenate([np.full(parents, children) for parents, children in self.shapes])
        return np.cumsum(widths) - widths

    @cached_property
    def row(self) -> Array:
        """Which of those each pair is in, `(k,)`."""
        return np.repeat(np.arange(len(self.rows)), np.diff(np.append(self.rows, sum(self.sizes))))

    @cached_property
    def child(self) -> Array:
        """Place of each pair's level of the child among those of all children, `(k,)`."""
        starts = np.cumsum([0, *(children for _, children in self.shapes)])
        each = [
            np.tile(np.arange(m) + start, n)
            for (n, m), start in zip(self.shapes, starts[:-1], strict=True)
        ]
        return np.concatenate(each)

    def by_link(self, rows: Array) -> Array:
        """Sums over the levels of the parent of each link, from numbers for each of these.

        Shapes: `(..., a) -> (..., f)`.
        """
        parents = np.array([parents for parents, _ in self.shapes])
        return np.add.reduceat(rows, np.cumsum(parents) - parents, axis=-1)

    def of_parents(self, values: Array) -> Array:
        """Sums over the child's levels, for each pair of the parent's level, `(..., k)`."""
        return np.add.reduceat(values, self.rows, axis=-1)[..., self.row]

    def of_children(self, values: Array) -> Array:
        """Sums over the parent's levels, for each pair of the child's level, `(..., k)`."""
        flat = values.reshape(-1, values.shape[-1])
        sums = np.stack([np.bincount(self.child, each) for each in flat]).reshape(
            *values.shape[:-1], -1
        )
        return sums[..., self.child]

    def only(self, link: int) -> "Pairs":
        return Pairs(self.shapes[link : link + 1])


class OnPairs(LevelTable):
    """Arrays about pairs of levels, `(c, k)`, the links end to end."""

    layout: ClassVar[tuple[str, ...]] = ("pairs",)
    pairs: Pairs

    @property
    def sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.pairs.sizes


@dataclass(frozen=True, eq=False)
class LinkStats(OnPairs, TableStats):
    """Rows on each pair of levels, `(c, k)`; a row that lacks one of both is on none."""

    counts: Array
    pairs: Pairs

    def check(self) -> None:
        if not isinstance(self.pairs, Pairs):
            raise ValueError("its cells are not pairs of levels.")

    def mle(self) -> "LinkDensity":
        of_parents = self.pairs.of_parents(self.counts)
        of_children = self.pairs.of_children(self.counts)
        independent = ratio(of_parents * of_children, self.total_of_levels(self.counts))
        share = np.where(independent > 0, ratio(self.counts, independent), 1.0)
        return LinkDensity.of_logs(log(share), self.pairs)


@dataclass(frozen=True, eq=False)
class LinkDensity(OnPairs, RatioDensity):
    """Ratios of pairs of levels, p(b | a) / m(b), `(c, k)`.

    Pairs are drawn as if all levels of both columns were equally probable: the ratios alone know no
    more.
    """

    ratio: Array
    pairs: Pairs


@dataclass(frozen=True, eq=False, repr=False)
class Links(OnPairs, LevelBelief):
    """Tables of pairs of levels: the rows on each, `(c, k)`, the margins of the children, `(c, k)`,
    and the strength.

    `margin` are the rows on the child's level, and what its prior adds to them, repeated for each
    level of the parent.
    """

    by_column: ClassVar[tuple[str, ...]] = ("strength",)
    counts: Parameter
    margin: Parameter
    strength: Parameter
    pairs: Pairs

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("Links: counts", self.counts)
        checked("Links: margin", self.margin)
        checked("Links: strength", self.strength)
        if not isinstance(self.pairs, Pairs) or np.shape(self.counts)[-1:] != (
            sum(self.pairs.sizes),
        ):
            raise ValueError("Links: there is a count for each pair of levels.")

    @cached_property
    def log_margin(self) -> Array:
        """log m of each pair's level of the child, `(c, k)`."""
        return log(ratio(self.margin, self.pairs.of_parents(self.margin)))

    @cached_property
    def concentration(self) -> Array:
        """Concentration of each level of the child, given the parent's, `(c, k)`."""
        return self.expand(self.strength) * np.exp(self.log_margin) + self.counts

    @cached_property
    def total(self) -> Array:
        """The concentration of all levels of the child, given the parent's, `(c, k)`."""
        return self.expand(self.strength) + self.pairs.of_parents(self.counts)

    @property
    def proper(self) -> Array:
        return self.strength > 0

    def strengthened(self, times: Any) -> Self:
        """The prior that is worth `times` as many rows; a number, or one for each link."""
        margin = self.per_level(times) * self.margin
        return type(self)(self.counts, margin, times * self.strength, self.pairs)

    def parts(self) -> Parts:
        parts: Parts = {}
        for j in range(len(self.sizes)):
            parts["ratio{}_concentration", j] = self.concentration[..., self.span(j)]
        return parts

    def update(self, stats: LinkStats) -> Self:
        counts = np.maximum(self.counts + stats.counts, 0.0)
        margin = np.maximum(self.margin + self.pairs.of_children(stats.counts), 0.0)
        return type(self)(counts, margin, self.strength, self.pairs)

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        """The links as one row updates them, by which their margins stay."""
        return Narrowed(
            KnownMargins(self.counts, self.margin, self.strength, self.pairs), x, observe
        )

    def log_evidence(self, stats: LinkStats, xp: Any = special) -> Array:
        """The log Bayes factor of a distribution for each level of the parent against one for all.

        Shape: `(c, f)`.
        """
        before = self._log_evidence() if self.counts.any() else 0.0
        return self.update(stats)._log_evidence() - before

    def _log_evidence(self) -> Array:
        strength = self.expand(self.strength)
        gain = log_gamma_ratio(strength * np.exp(self.log_margin), self.counts)
        gain = gain - special.times(self.counts, self.log_margin)
        of_rows = np.add.reduceat(self.counts, self.pairs.rows, axis=-1)
        loss = log_gamma_ratio(strength[..., self.pairs.rows], of_rows)
        return self.level_sums(gain) - self.pairs.by_link(loss)

    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        if np.ndim(s) == 0 and s == 1:
            return self.log_mean[..., places]
        # a level of the parent has one total: its gamma functions are found once for all its pairs
        places = np.arange(self.bounds[-1])[places]
        _, first, which = np.unique(self.pairs.row[places], return_index=True, return_inverse=True)
        total = log_gamma_ratio(self.total[..., places[first]], self.per_level(s, places[first]))
        s = self.per_level(s, places)
        moment = less(log_gamma_ratio(self.concentration[..., places], s), total[..., which])
        return moment - s * self.log_margin[..., places]

    @cached_property
    def log_mean(self) -> Array:
        """log E[ratio] of each pair of levels, `(c, k)`."""
        return log(ratio(self.concentration, self.total)) - self.log_margin

    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        tilt = self.per_level(tilt, places)
        concentration = self.concentration[..., places]
        total = self.total[..., places]
        cumulants = log_share_cumulants(concentration + tilt, total + tilt, order)
        cumulants[0] -= self.log_margin[..., places]
        return cumulants

    def sample(self, rng: Rng, size: Any = None) -> LinkDensity:
        gammas = draw_log_gamma(self.concentration, np.random.default_rng(rng), size)
        sums = np.logaddexp.reduceat(gammas, self.pairs.rows, axis=-1)[..., self.pairs.row]
        return LinkDensity.of_logs(gammas - sums - self.log_margin, self.pairs)

    def estimate(self, kind: str) -> LinkDensity:
        """The expected ratio, `"mean"`.

        With `"map"` it is that of the modes, and the expected one where there is no peak.
        """
        logs = self.log_mean if kind == "mean" else log(self.mode())
        return LinkDensity.of_logs(logs, self.pairs)

    def mean(self) -> Array:
        """The expected ratio of each pair of levels."""
        return np.exp(self.log_mean)

    def mode(self) -> Array:
        """Ratios at the mode of each Dirichlet, or expected ones where that has none."""
        above = np.maximum(self.concentration - 1, 0.0)
        total = self.pairs.of_parents(above)
        return np.where(total > 0, ratio(above, total) / np.exp(self.log_margin), self.mean())

    def log_density(self, theta: LinkDensity) -> Parts:
        """log p(theta): the sum of the log-densities of the Dirichlets, one for each level of the
        parent.
        """
        logs = special.times(self.concentration - 1, theta.log_theta + self.log_margin)
        logs = logs - gammaln(self.concentration)
        rows = gammaln(self.total[..., self.pairs.rows])
        each = self.level_sums(logs) + self.pairs.by_link(rows)
        return {("ratio{}", j): each[..., j] for j in range(len(self.sizes))}

    def interval(self, prob: float) -> tuple[Array, Array]:
        rest = self.total - self.concentration
        rests = np.where(rest > 0, rest, 1.0)
        ends = (quantiles.beta(p, self.concentration, rests) for p in quantiles.tails(prob))
        lower, upper = (np.where(rest > 0, end, 1.0) / np.exp(self.log_margin) for end in ends)
        return lower, upper

    def predictive(self) -> Any:
        """For each link a distribution of the child's level, a one-hot vector, given each level of
        the parent.
        """
        from scipy.stats import dirichlet_multinomial

        links = []
        for j, shape in enumerate(self.pairs.shapes):
            table = self.concentration[..., self.span(j)]
            links.append(dirichlet_multinomial(table.reshape(*table.shape[:-1], *shape), 1))
        return links

    def cells_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        if rows.kind in (PREDICTIVE, "mean"):
            return super().cells_left_out(stats, rows)
        return self.estimate_left_out(stats, rows)

    def score_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        if rows.kind in (PREDICTIVE, "mean"):
            return super().score_left_out(stats, rows)
        return self.estimate_left_out(stats, rows).sum(axis=1)

    def levels_left_out(self, stats: LinkStats, w: Any, kind: str, places: Any = EVERY) -> Array:
        """A row takes its part of the margins with it, so that no K of the tables is enough."""

        def left(sums: Array) -> Array:
            return staying(sums[places] - w, sums[places])

        pairs = self.pairs
        strength = self.expand(self.strength)[0][places]
        counts = self.counts[0] + stats.counts[0]
        prior = self.margin[0]
        of_children = pairs.of_children(stats.counts[0])
        of_parents = pairs.of_parents
        all_children = of_parents(prior)[places] + left(of_parents(of_children))
        margin = ratio(prior[places] + left(of_children), all_children)
        expected = ratio(strength * margin + left(counts), strength + left(of_parents(counts)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(margin > 0, np.log(expected) - np.log(margin), -np.inf)


class KnownMargins(Links):
    """Links whose margins are known: rows that update them are evidence about the tables alone."""

    def update(self, stats: LinkStats) -> Self:
        counts = np.maximum(self.counts + stats.counts, 0.0)
        return type(self)(counts, self.margin, self.strength, self.pairs)
