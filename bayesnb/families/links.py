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
from bayesnb.families.base import Array, Belief, Cells, Density, Narrowed, Parts, Rng
from bayesnb.families.categorical import LaidOutStats, LevelTables, Row, ScoredLevels, tables_of
from bayesnb.families.dirichlet import draw_level, log_share_cumulants, pick
from bayesnb.families.record import (
    Exponent,
    Parameter,
    Power,
    checked,
    raised,
    silent,
)
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut, staying
from bayesnb.families.sums import Entries, KernelTables, nodes
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, less, log, log_gamma_ratio, ratio


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
        """Place of each pair's level of the child among those of all children, end to end, `(k,)`."""
        starts = np.cumsum([0, *(children for _, children in self.shapes)])
        each = [
            np.tile(np.arange(m) + start, n)
            for (n, m), start in zip(self.shapes, starts[:-1], strict=True)
        ]
        return np.concatenate(each)

    def by_link(self, rows: Array) -> Array:
        """Sums over the levels of the parent of each link, from numbers for each of these, `(...,
        a) -> (..., f)`.
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


class OnPairs(Row):
    """Arrays about pairs of levels, `(c, k)`, the links end to end."""

    layout: ClassVar[tuple[str, ...]] = ("pairs",)
    pairs: Pairs

    @property
    def sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.pairs.sizes

    def only(self, feature: int) -> Any:
        arrays = [
            self.of_link(getattr(self, name), feature)
            for name in self.__match_args__
            if name != "pairs"
        ]
        return type(self)(*arrays, self.pairs.only(feature))  # type: ignore[call-arg]

    def of_link(self, array: Array, link: int) -> Array:
        """A link's part of one of the arrays."""
        return array[..., self.span(link)]

    def column(self, feature: int) -> Any:
        return self.only(feature)


@dataclass(frozen=True, eq=False)
class LinkStats(OnPairs, LaidOutStats):
    """Rows on each pair of levels, `(c, k)`; a row that lacks one of both is on none."""

    counts: Array
    pairs: Pairs

    def check(self) -> None:
        if not isinstance(self.pairs, Pairs):
            raise ValueError("its cells are not pairs of levels.")

    def mle(self) -> "LinkDensity":
        of_parents, of_children = (
            self.pairs.of_parents(self.counts),
            self.pairs.of_children(self.counts),
        )
        independent = ratio(of_parents * of_children, self.total_of_levels(self.counts))
        return LinkDensity.of_logs(
            log(np.where(independent > 0, ratio(self.counts, independent), 1.0)), self.pairs
        )


@dataclass(frozen=True, eq=False)
class LinkDensity(OnPairs, ScoredLevels, Density):
    """Ratios of pairs of levels, p(b | a) / m(b), `(c, k)`."""

    symbols: ClassVar[dict[str, str]] = {"ratio": "ratio{}"}
    theta: ClassVar[str] = "ratio"
    kept: ClassVar[str] = "log_ratio"
    ratio: Array
    pairs: Pairs

    @classmethod
    def of_logs(cls, logs: Array, pairs: Pairs) -> Self:
        """Ratios whose logs are kept: small ones underflow."""
        density = cls(np.exp(logs), pairs)
        density.__dict__["log_ratio"] = logs
        return density

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        ratios = np.concatenate([parts["ratio{}", j] for j in range(len(like.sizes))], axis=-1)
        return cls.of_logs(log(ratios), like.pairs)

    def parts(self) -> Parts:
        return {("ratio{}", j): self.of_link(self.ratio, j) for j in range(len(self.sizes))}

    @cached_property
    def log_ratio(self) -> Array:
        return log(self.ratio)

    @property
    def proper(self) -> Array:
        return np.isfinite(self.level_sums(self.ratio))

    def level_log_moment(self, s: Any) -> Array:
        return raised(self.of_levels(s), self.log_ratio)

    def log_density(self, x: Array) -> Array:
        return pick(self.log_ratio, self.at(x))

    def defined_score(self, x: Cells, power: Power = 1.0) -> Array:
        return pick(self.level_log_moment(power), self.at(x[:])[:, None]).sum(axis=-1)

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        return pick(self.level_log_moment(power), self.at(x[:])[:, None])

    def log_likelihood(self, stats: LinkStats, xp: Any = np) -> Any:
        return self.level_sums(special.times(stats.counts, self.log_ratio))

    def sample(self, rng: Rng) -> Array:
        """Pairs as they would be if all levels of both columns were equally probable: the ratios
        alone know no more.
        """
        rng = np.random.default_rng(rng)
        return np.stack(
            [draw_level(self.of_link(self.ratio, j), rng) for j in range(len(self.sizes))], axis=-1
        )


@dataclass(frozen=True, eq=False, repr=False)
class Links(OnPairs, LevelTables, Belief[LinkStats, LinkDensity]):
    """Tables of pairs of levels: the rows on each, `(c, k)`, the margins of the children, `(c, k)`,
    and the strength.

    `margin` are the rows on the child's level, and what its prior adds to them, repeated for each
    level of the parent.
    """

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

    def of_link(self, array: Array, link: int) -> Array:
        return array[..., [link]] if array is self.strength else super().of_link(array, link)

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
        each = self.expand(times) if np.ndim(times) else times
        return type(self)(self.counts, each * self.margin, times * self.strength, self.pairs)

    def parts(self) -> Parts:
        return {
            ("ratio{}_concentration", j): self.of_link(self.concentration, j)
            for j in range(len(self.sizes))
        }

    def update(self, stats: LinkStats) -> Self:
        counts, margin = (
            self.counts + stats.counts,
            self.margin + self.pairs.of_children(stats.counts),
        )
        return type(self)(
            np.maximum(counts, 0.0), np.maximum(margin, 0.0), self.strength, self.pairs
        )

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        """The links as one row updates them, by which their margins stay."""
        return Narrowed(
            KnownMargins(self.counts, self.margin, self.strength, self.pairs), x, observe
        )

    def log_evidence(self, stats: LinkStats, xp: Any = special) -> Array:
        """The log Bayes factor of a distribution for each level of the parent against one for all,
        `(c, f)`.
        """
        return self.update(stats)._log_evidence() - (
            self._log_evidence() if self.counts.any() else 0.0
        )

    def _log_evidence(self) -> Array:
        margin = np.exp(self.log_margin)
        gain = log_gamma_ratio(self.expand(self.strength) * margin, self.counts)
        of_rows = np.add.reduceat(self.counts, self.pairs.rows, axis=-1)
        loss = log_gamma_ratio(self.expand(self.strength)[..., self.pairs.rows], of_rows)
        return self.level_sums(
            gain - special.times(self.counts, self.log_margin)
        ) - self.pairs.by_link(loss)

    def level_log_moment(self, s: Any) -> Array:
        return self._log_moment_at(np.arange(self.counts.shape[-1]), self.of_levels(s))

    def _log_moment_at(self, places: Array, s: Any) -> Array:
        """log E[ratio**s] of pairs of levels, `(..., k)`; s is a number, or such that it meets the
        pairs.

        A level of the parent has one total: its gamma functions are found once for all pairs that
        it is in.
        """
        _, first, which = np.unique(self.pairs.row[places], return_index=True, return_inverse=True)
        by_pair = np.shape(s)[-1:] == places.shape
        totals = log_gamma_ratio(self.total[..., places[first]], s[..., first] if by_pair else s)[
            ..., which
        ]
        return (
            less(log_gamma_ratio(self.concentration[..., places], s), totals)
            - s * self.log_margin[..., places]
        )

    @cached_property
    def log_mean(self) -> Array:
        """log E[ratio] of each pair of levels, `(c, k)`."""
        return log(ratio(self.concentration, self.total)) - self.log_margin

    def level_cumulants(self, order: int, tilt: Any = 0.0) -> Array:
        tilt = self.of_levels(tilt)
        made = log_share_cumulants(self.concentration + tilt, self.total + tilt, order)
        made[0] -= self.log_margin
        return made

    def tables_at(self, power: Any) -> KernelTables:
        return tables_of(raised(self.of_levels(power), self.log_mean))

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        pairs, entries = Entries.of_distinct(self.at(x[:]).reshape(x.shape))
        at = np.broadcast_to(self.of_levels(power), self.counts.shape[-1:])
        return entries.added(self._log_moment_at(pairs, nodes(s) * at[pairs]))

    def log_moment(self, x: Array, s: Exponent) -> Array:
        level = self.at(x)
        concentration, total = pick(self.concentration, level), pick(self.total, level)
        s = np.asarray(s)
        with np.errstate(all="ignore"):
            moment = less(log_gamma_ratio(concentration, s), log_gamma_ratio(total, s))
        return silent(level < 0, moment - s * pick(self.log_margin, level))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        level = self.at(x)
        return np.stack([pick(table, level) for table in self.level_cumulants(order, tilt)])

    def _log_ratios(self, gammas: Array) -> Array:
        """Logs of ratios, from the logs of Gamma variates."""
        sums = np.logaddexp.reduceat(gammas, self.pairs.rows, axis=-1)[..., self.pairs.row]
        return gammas - sums - self.log_margin

    def sample(self, rng: Rng, size: Any = None) -> LinkDensity:
        logs = draw_log_gamma(self.concentration, np.random.default_rng(rng), size)
        return LinkDensity.of_logs(self._log_ratios(logs), self.pairs)

    def estimate(self, kind: str) -> LinkDensity:
        """The expected ratio, `"mean"`; or, `"map"`, that of the modes; of one without a peak the
        expected one.
        """
        return LinkDensity.of_logs(
            self.log_mean if kind == "mean" else log(self.mode()), self.pairs
        )

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
        logs = special.times(self.concentration - 1, theta.log_ratio + self.log_margin) - gammaln(
            self.concentration
        )
        rows = gammaln(self.total[..., self.pairs.rows])
        each = self.level_sums(logs) + self.pairs.by_link(rows)
        return {("ratio{}", j): each[..., j] for j in range(len(self.sizes))}

    def interval(self, prob: float) -> tuple[Array, Array]:
        rest = self.total - self.concentration
        ends = (
            quantiles.beta(p, self.concentration, np.where(rest > 0, rest, 1.0))
            for p in quantiles.tails(prob)
        )
        lower, upper = (np.where(rest > 0, end, 1.0) / np.exp(self.log_margin) for end in ends)
        return lower, upper

    def predictive(self) -> Any:
        """For each link a distribution of the child's level, a one-hot vector, given each level of
        the parent.
        """
        from scipy.stats import dirichlet_multinomial

        tables = (self.of_link(self.concentration, j) for j in range(len(self.sizes)))
        pairs = zip(tables, self.pairs.shapes, strict=True)
        return [
            dirichlet_multinomial(each.reshape(*each.shape[:-1], *shape), 1)
            for each, shape in pairs
        ]

    def score_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        return self.cells_left_out(stats, rows).sum(axis=1)

    def cells_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        """A row takes its part of the margins with it, so that no K of the tables alone is enough."""
        if rows.kind not in (PREDICTIVE, "mean"):
            return self.estimate_left_out(stats, rows)
        level = self.at(rows.x[:])
        at, weight = np.maximum(level, 0), rows.weight[:, None]

        def left(sums: Array) -> Array:
            return staying(sums[at] - weight, sums[at])

        pairs, strength, prior = self.pairs, self.expand(self.strength)[0][at], self.margin[0]
        counts, of_children = self.counts[0] + stats.counts[0], pairs.of_children(stats.counts[0])
        margin = ratio(
            prior[at] + left(of_children),
            pairs.of_parents(prior)[at] + left(pairs.of_parents(of_children)),
        )
        expected = ratio(
            strength * margin + left(counts), strength + left(pairs.of_parents(counts))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(margin > 0, np.log(expected) - np.log(margin), -np.inf)
        return silent(level < 0, value)


class KnownMargins(Links):
    """Links whose margins are known: rows that update them are evidence about the tables alone."""

    def update(self, stats: LinkStats) -> Self:
        return type(self)(
            np.maximum(self.counts + stats.counts, 0.0), self.margin, self.strength, self.pairs
        )
