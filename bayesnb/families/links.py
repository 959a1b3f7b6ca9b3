"""Links: how the probability of a column's level depends on another column of the row.

level b of child | level a of parent, class ~ Categorical(p_a)      p_a ~ Dirichlet(strength m)

m is the marginal distribution of the child's levels in the class. A link adds log p_a(b) / m(b) to
the score of the class. If the class has no row on level a, this ratio is expected to be 1: the pair
backs off to the product of its margins. Along a forest of links, with one parent for each child,
the ratios turn a product of columns into a joint distribution:

    p(x | class) = prod_v p(x_v | class) prod_(u, v) p(x_v | x_u, class) / p(x_v | class)

m is estimated from the counts, then taken as known: m(b) = (n(b) + c(b)) / (n + c), with
pseudo-counts c from the child's prior. Given the counts, the p_a are then independent Dirichlets,
and everything is in closed form. The log evidence

    sum_a log B(strength m + n_a) / B(strength m) - sum_b n(b) log m(b)

with B the multivariate Beta function, compares one distribution p_a for each a with the single
distribution m. The search for links uses c = 0: with a declared prior that disagrees with the rows,
m would fit them badly and p_a less badly, whether the columns depend on each other or not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Narrowed, Parts, Rng
from bayesnb.families.categorical import CategoricalDensity, CategoricalStats, ColumnDirichlets
from bayesnb.families.levels import ColumnLevels, EndToEnd, LevelBelief, RatioDensity, TableStats
from bayesnb.families.record import Parameter, checked
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut, staying
from bayesnb.numerics import special
from bayesnb.numerics.special import log, ratio
from bayesnb.numerics.views import EVERY


@dataclass(frozen=True, eq=False)
class Pairs(EndToEnd):
    """Layout of pairs of levels: the numbers of levels of the parent and child of each link.

    The pairs of all links lie end to end, `(k,)`; within a link, they are ordered by the parent's
    level.
    """

    shapes: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        numbers = [size for shape in self.shapes for size in shape]
        if not numbers or any(type(size) is not int or size <= 0 for size in numbers):
            raise ValueError("the two columns of a link must have at least one level each.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.shapes).astype(dtype or float)

    @cached_property
    def sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of pairs of levels of each link."""
        return tuple(parents * children for parents, children in self.shapes)

    @cached_property
    def parents(self) -> ColumnLevels:
        """The levels of the parents of all links, end to end."""
        return ColumnLevels(tuple(parents for parents, _ in self.shapes))

    @cached_property
    def children(self) -> ColumnLevels:
        """The pairs as one column of the child's levels for each level of a parent."""
        parents, children = np.transpose(self.shapes)
        return ColumnLevels(tuple(np.repeat(children, parents).tolist()))

    def sum_over_parents(self, values: Array) -> Array:
        """Sum over the parent's levels, repeated for each pair, `(..., k)`."""
        sums = []
        for table, (parents, children) in zip(self.split(values), self.shapes, strict=True):
            by_child = table.reshape(*table.shape[:-1], parents, children).sum(axis=-2)
            sums.append(np.tile(by_child, parents))
        return np.concatenate(sums, axis=-1)

    def only(self, link: int) -> "Pairs":
        return Pairs(self.shapes[link : link + 1])


@dataclass(frozen=True, eq=False)
class LinkStats(TableStats):
    """Counts of pairs of levels, `(c, k)`; rows that lack one of the two are not counted."""

    layout: ClassVar[tuple[str, ...]] = ("pairs",)
    counts: Array
    pairs: Pairs

    def check(self) -> None:
        if not isinstance(self.pairs, Pairs):
            raise ValueError("its cells must be pairs of levels.")

    def mle(self) -> RatioDensity:
        of_parents = self.pairs.children.totals(self.counts)
        of_children = self.pairs.sum_over_parents(self.counts)
        independent = ratio(of_parents * of_children, self.levels.totals(self.counts))
        share = np.where(independent > 0, ratio(self.counts, independent), 1.0)
        return RatioDensity.of_logs(log(share), self.pairs)


@dataclass(frozen=True, eq=False, repr=False)
class Links(LevelBelief):
    """Belief about pairs of levels: counts, `(c, k)`, margins of the children, `(c, k)`, strength.

    `margin` holds the counts of the child's levels plus its pseudo-counts, repeated for each level
    of the parent.
    """

    layout: ClassVar[tuple[str, ...]] = ("pairs",)
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
            raise ValueError("Links: there must be a count for each pair of levels.")

    @cached_property
    def log_margin(self) -> Array:
        """log m of the child's level of each pair, `(c, k)`."""
        return log(ratio(self.margin, self.pairs.children.totals(self.margin)))

    @cached_property
    def prior_tables(self) -> ColumnDirichlets:
        """Priors of the child's levels, one Dirichlet for each level of the parent."""
        prior = self.levels.expand(self.strength) * np.exp(self.log_margin)
        return ColumnDirichlets(prior, self.pairs.children.sizes)

    @cached_property
    def tables(self) -> ColumnDirichlets:
        """Posteriors of the child's levels, one Dirichlet for each level of the parent."""
        return self.prior_tables.map(lambda prior: prior + self.counts)

    @property
    def proper(self) -> Array:
        return self.strength > 0

    def strengthened(self, times: Any) -> Self:
        """Multiply the pseudo-counts by a number, or by one for each link."""
        margin = self.levels.per_level(times) * self.margin
        return type(self)(self.counts, margin, times * self.strength, self.pairs)

    def parts(self) -> Parts:
        return self.levels.parts("ratio{}_concentration", self.tables.concentration)

    def update(self, stats: LinkStats) -> Self:
        counts = np.maximum(self.counts + stats.counts, 0.0)
        margin = np.maximum(self.margin + self.pairs.sum_over_parents(stats.counts), 0.0)
        return type(self)(counts, margin, self.strength, self.pairs)

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        """The links with fixed margins, which one row does not change."""
        known = KnownMargins(self.counts, self.margin, self.strength, self.pairs)
        return Narrowed(known, x, observe)

    def log_evidence(self, stats: LinkStats, xp: Any = special) -> Array:
        """Log Bayes factor of one distribution for each level of the parent against one for all,
        `(c, f)`.
        """
        before = self._log_evidence() if self.counts.any() else 0.0
        return self.update(stats)._log_evidence() - before

    def _log_evidence(self) -> Array:
        counts = CategoricalStats(self.counts, self.pairs.children.sizes)
        gain = self.pairs.parents.sums(self.prior_tables.log_evidence(counts))
        return gain - self.levels.sums(special.times(self.counts, self.log_margin))

    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        moment = self.tables.level_log_moment(self.pairs.parents.per_level(s), places)
        return moment - self.levels.per_level(s, places) * self.log_margin[..., places]

    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        by_parent = self.pairs.parents.per_level(tilt)
        cumulants = self.tables.level_cumulants(order, by_parent, places)
        cumulants[0] -= self.log_margin[..., places]
        return cumulants

    def sample(self, rng: Rng, size: Any = None) -> RatioDensity:
        logs = self.tables.sample(rng, size).log_theta - self.log_margin
        return RatioDensity.of_logs(logs, self.pairs)

    def estimate(self, kind: str) -> RatioDensity:
        """The expected ratios, or with `"map"` those at the modes."""
        logs = self.level_log_moment(1) if kind == "mean" else log(self.mode())
        return RatioDensity.of_logs(logs, self.pairs)

    def mean(self) -> Array:
        """The expected ratio of each pair of levels."""
        return np.exp(self.level_log_moment(1))

    def mode(self) -> Array:
        """Ratios at the mode of each Dirichlet, or expected ratios if it has none."""
        peak = self.tables.levels.totals(np.maximum(self.tables.concentration - 1, 0.0)) > 0
        return np.where(peak, self.tables.mode() / np.exp(self.log_margin), self.mean())

    def log_density(self, theta: RatioDensity) -> Parts:
        """log p(theta): the sum of the log densities of the Dirichlets of a link."""
        shares = CategoricalDensity.of_logs(theta.log_theta + self.log_margin, self.tables.sizes)
        each = self.pairs.parents.sums(self.tables.dirichlet_log_density(shares))
        return {("ratio{}", j): each[..., j] for j in range(len(self.pairs.shapes))}

    def interval(self, prob: float) -> tuple[Array, Array]:
        lower, upper = (end / np.exp(self.log_margin) for end in self.tables.interval(prob))
        return lower, upper

    def predictive(self) -> Any:
        """For each level of each parent, a distribution of one-hot vectors for the child's
        level.
        """
        return self.tables.predictive()

    def cells_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        if rows.kind in (PREDICTIVE, "mean"):
            return super().cells_left_out(stats, rows)
        return self.estimate_left_out(stats, rows)

    def score_left_out(self, stats: LinkStats, rows: RowsLeftOut) -> Array:
        if rows.kind in (PREDICTIVE, "mean"):
            return super().score_left_out(stats, rows)
        return self.estimate_left_out(stats, rows).sum(axis=1)

    def levels_left_out(self, stats: LinkStats, w: Any, kind: str, places: Any = EVERY) -> Array:
        """Leave-one-out scores; leaving out a row also changes the margins, so K alone is not
        enough.
        """

        def left(sums: Array) -> Array:
            return staying(sums[places] - w, sums[places])

        of_parents = self.pairs.children.totals
        strength = self.levels.expand(self.strength)[0][places]
        counts = self.counts[0] + stats.counts[0]
        prior = self.margin[0]
        of_children = self.pairs.sum_over_parents(stats.counts[0])
        all_children = of_parents(prior)[places] + left(of_parents(of_children))
        margin = ratio(prior[places] + left(of_children), all_children)
        expected = ratio(strength * margin + left(counts), strength + left(of_parents(counts)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(margin > 0, np.log(expected) - np.log(margin), -np.inf)


class KnownMargins(Links):
    """Links with known margins: an update changes only the tables."""

    def update(self, stats: LinkStats) -> Self:
        counts = np.maximum(self.counts + stats.counts, 0.0)
        return type(self)(counts, self.margin, self.strength, self.pairs)
