"""Evidence that two columns depend on each other within a class: their joint distribution against independence.

    log Bayes factor = log p(both columns | one joint distribution) - log p(one column) - log p(other column)

Priors have the same margins under both hypotheses, so no pair is preferred before anything is seen. A pair uses the
rows that have both cells.

**Two columns of levels.** A cell of the table has concentration A p q, where p and q are the levels' shares of their
Dirichlet priors, and A is the total of the table. Its margins are Dirichlet(A p) and Dirichlet(A q): the table says as
much as each margin, and a first row is as probable under either hypothesis (the equivalent sample size of Heckerman,
Geiger and Chickering 1995). Where the totals of the priors differ, A is their geometric mean in both hypotheses.

**A number and levels.** One theta for each level against one for all, each with the class's prior.

With a fixed A the margins of many levels are explained badly and the table, which is larger, less so: noise would be
evidence. The same goes for the prior of counts' rates. So positive evidence is capped by the evidence under the
concentrations that are best for each hypothesis: see `cautious`.

**Two Gaussian columns.** A bivariate normal against two independent ones:

    covariance ~ InverseWishart(nu, Psi), Psi diagonal      mean | covariance ~ Normal(m, covariance / count)

Its margins are those of the single columns, Normal-inverse-gamma with shape a = (nu - 1) / 2 and scales b_j =
Psi_jj / 2 (Geiger and Heckerman 2002, Parameter priors for directed acyclic graphical models). With primes for the
parameters after n rows, and rho the correlation in Psi', the ratio of normalizers collapses to

    log Bayes factor = L(a') - L(a) - log(b_1' / b_1) / 2 - log(b_2' / b_2) / 2 - (a' + 1/2) log(1 - rho**2)

where L(a) = log Gamma(a + 1/2) - log Gamma(a). Where two columns' priors differ in count or shape, both hypotheses take
the geometric means, and each scale keeps its ratio to the shape, the expected variance.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.poisson import Gamma
from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.numerics.threads import blocks, in_order

NUMBERS = 1 << 20  # numbers that are held at once
PAIRS_AT_ONCE = 1 << 19  # Gaussian pairs that are worked on at once
NEARLY_ONE = 1e-6  # share of unexplained variance below which it is summed again, without a difference
STRENGTHS = np.log([1e-3, 1e8])  # of a prior of rates, relative to the declared one: hardly any, and nearly certain
RUNGS, SECTIONS = 25, 24  # of the search for the best: places of a ladder, and steps that follow
GOLDEN = float((np.sqrt(5) - 1) / 2)


class Labels(NamedTuple):
    """Class codes and weights of the rows, and the number of classes."""

    codes: Array
    counts: Array
    classes: int


@dataclass(frozen=True, eq=False)
class LevelColumns:
    """Columns of levels: codes `(r, d)`, those from the number of levels on are missing; their Dirichlet priors."""

    codes: Array
    prior: ColumnDirichlets
    places: Array  # among all columns

    @property
    def sizes(self) -> Array:
        return np.array(self.prior.sizes)


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """Columns of numbers of one family: `(r, f)`, NaN where missing; their prior, and the function of their stats."""

    x: Array
    prior: Belief
    observe: Callable[..., Any]
    places: Array


class Work(NamedTuple):
    """Number of threads, and a callback that gets the number of pairs compared since the last call."""

    n_jobs: int | None = 1
    done: Callable[[float], None] = lambda count: None


def dependences(parts: Sequence[LevelColumns | NumberColumns], labels: Labels, width: int, work: Work) -> Array:
    """Log Bayes factors of all pairs of columns, `(c, n, n)`; NaN on the diagonal, and for pairs without one."""
    factors = np.full((labels.classes, width, width), np.nan)
    levels = [part for part in parts if isinstance(part, LevelColumns)]
    numbers = [part for part in parts if isinstance(part, NumberColumns)]
    gaussian = [part for part in numbers if isinstance(part.prior, NormalInverseGamma)]
    if levels:
        concentration = np.concatenate([part.prior.concentration for part in levels], axis=1)
        prior = ColumnDirichlets(concentration, tuple(int(size) for part in levels for size in part.sizes))
        together = LevelColumns(_columns(levels, "codes"), prior, _columns(levels, "places"))
        _compare_levels(together, labels, factors, work)
        for part in numbers:
            _compare_within_levels(part, together, labels, factors, work)
    if gaussian:
        priors: list[Any] = [part.prior for part in gaussian]
        prior = priors[0].map(lambda *arrays: np.concatenate(arrays, axis=1), *priors[1:])
        x, places = _columns(gaussian, "x"), _columns(gaussian, "places")
        for c in range(labels.classes):
            rows = np.flatnonzero(labels.codes == c)
            for span, pairs in correlations(x[rows], labels.counts[rows], prior[c]):
                one, two = places[span], places[span.start :]
                factors[c][np.ix_(one, two)] = pairs
                factors[c][np.ix_(two, one)] = pairs.T
                work.done((pairs.size - len(one) * (len(one) + 1) / 2) / labels.classes)
    factors[:, np.arange(width), np.arange(width)] = np.nan
    return factors


def _columns(parts: Sequence[Any], name: str) -> Array:
    """Put the columns of several parts side by side."""
    return np.concatenate([getattr(part, name) for part in parts], axis=-1)


def part_of(
    prior: Belief, x: Cells, columns: Sequence[int], observe: Callable[..., Any]
) -> LevelColumns | NumberColumns:
    """Return columns of a block, as numbers unless they have levels; `places` is yet to be replaced."""
    levels = prior.level_columns(x, columns)
    if levels is not None:
        return LevelColumns(*levels, np.array(columns))
    cells = x[:][:, columns]
    dense = np.asarray(cells.toarray() if sparse.issparse(cells) else cells, float)
    return NumberColumns(dense, prior[:, columns], observe, np.array(columns))


def _put(factors: Array, i: int, j: Array, value: Array) -> None:
    factors[:, i, j] = factors[:, j, i] = value


def _compare_levels(levels: LevelColumns, labels: Labels, factors: Array, work: Work) -> None:
    """Compare each column with those behind it, into `(c, n, n)`; columns in parallel, each pair by itself."""
    codes = np.ascontiguousarray(levels.codes.T, np.int32)
    starts = np.concatenate([[0], np.cumsum(levels.sizes)])
    beliefs, weight = levels.prior, labels.counts.astype(float)
    share, total = beliefs.share(beliefs.concentration), beliefs.level_sums(beliefs.concentration)

    def compare(d: int) -> None:
        seen = np.flatnonzero(codes[d] < levels.sizes[d])
        place = labels.codes[seen] * levels.sizes[d] + codes[d, seen]
        order = np.argsort(place, kind="stable")
        places, first = np.unique(place[order], return_index=True)
        groups, level = np.divmod(places, levels.sizes[d])
        of_rows = seen[order], np.append(first, len(order)), groups, weight
        value = np.empty((len(codes) - d - 1, labels.classes))
        numerics.pair_kernels.compare(codes, d, *of_rows, share[groups, starts[d] + level], share, starts, total, value)
        _put(factors, levels.places[d], levels.places[d + 1 :], value.T)
        work.done(len(value))

    list(in_order(compare, range(len(codes) - 1), work.n_jobs))


def _compare_within_levels(
    part: NumberColumns, levels: LevelColumns, labels: Labels, factors: Array, work: Work
) -> None:
    """Compare numbers with each column of levels, into `(c, n, n)`: one theta for each level against one for all."""
    for d, size in enumerate(levels.sizes.tolist()):
        code = levels.codes[:, d]
        seen = np.flatnonzero(code < size)
        if not len(seen):  # of a column without cells neither hypothesis has evidence
            _put(factors, levels.places[d], part.places, np.zeros((labels.classes, len(part.places))))
            work.done(len(part.places))
            continue
        places, group = np.unique(labels.codes[seen] * size + code[seen], return_inverse=True)
        each = one_hot(group, len(places), labels.counts[seen]), places // size
        pooled = one_hot(labels.codes[seen], labels.classes, labels.counts[seen]), np.arange(labels.classes)
        width = max(1, NUMBERS // max(len(seen), len(places)))
        for span in blocks(len(part.places), width):
            cells, prior = part.x[seen, span], part.prior[:, span]
            sides = [
                partial(_evidence_of_groups, part.observe(cells, weight), prior[owners], owners, labels.classes)
                for weight, owners in (each, pooled)
            ]
            value = sides[0]() - sides[1]()
            if isinstance(part.prior, Gamma) and (value.sum(axis=0) > 0).any():
                learnt = [_at_best_strength(side, value.shape[1]) for side in sides]
                value = cautious(value, learnt[0] - learnt[1])
            _put(factors, levels.places[d], part.places[span], value)
        work.done(len(part.places))


def _evidence_of_groups(stats: Any, prior: Belief, owners: Array, classes: int, times: Any = 1.0) -> Array:
    """Log evidence of each class, `(c, f)`, each of whose groups has a theta, under a prior worth `times` as much."""
    prior = prior if np.ndim(times) == 0 else prior.map(lambda array: times * array)
    total = np.zeros((classes, len(prior.proper[0])))
    np.add.at(total, owners, prior.log_evidence(stats))
    return total


def _at_best_strength(evidence: Callable[[Array], Array], features: int) -> Array:
    """Log evidence of each class, `(c, f)`, under the prior's strength that is best for all classes together."""
    logs = highest(lambda at: evidence(np.exp(at)).sum(axis=0), features, *STRENGTHS)
    return evidence(np.exp(logs))


def cautious(declared: Array, learnt: Array) -> Array:
    """Log Bayes factors under the declared prior, `(c, f)`; a positive sum is capped by that of learnt concentrations.

    Against a dependence the declared prior has the last word: with learnt concentrations, both hypotheses may take all
    classes to be alike, and then nothing speaks against either.
    """
    total, cap = declared.sum(axis=0), learnt.sum(axis=0)
    return np.where((total <= 0) | (cap >= total), declared, np.where(cap > 0, learnt, 0.0))


def highest(height: Callable[[Array], Array], size: int, low: float, high: float) -> Array:
    """Arguments at which functions are highest, `(f,)`: the best rung of a ladder, then a golden section around it."""
    ladder = np.linspace(low, high, RUNGS)
    values = np.stack([height(np.full(size, rung)) for rung in ladder])
    top = values.argmax(axis=0)
    a, b = ladder[np.maximum(top - 1, 0)], ladder[np.minimum(top + 1, RUNGS - 1)]
    for _ in range(SECTIONS):
        x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        left = height(x) >= height(y)
        a, b = np.where(left, a, x), np.where(left, y, b)
    middle = (a + b) / 2
    return np.where(height(middle) >= values.max(axis=0), middle, ladder[top])


class PairSide(NamedTuple):
    """One column of each pair, in the rows that have both cells, `(n, f)` each."""

    mean: Array
    gap: Array  # from the prior's location
    scale: Array
    ssd: Array


def correlations(x: Array, weight: Array, prior: NormalInverseGamma) -> Iterator[tuple[slice, Array]]:
    """Yield log Bayes factors of all pairs of columns of one class, `(r, f), (r,), (f,)`, span by span.

    A span of n columns is compared with itself and all m - n columns behind it, `(n, m)`.
    """
    seen = (~np.isnan(x)).astype(float)
    centre = ratio(np.where(seen > 0, x, 0.0).T @ weight, seen.T @ weight)
    x = np.where(seen > 0, x - centre, 0.0)
    columns = GaussianColumns(x, seen, weight, prior.location - centre, prior)
    for span in blocks(x.shape[1], max(1, PAIRS_AT_ONCE // max(1, x.shape[1]))):
        factors = columns.factors(span, slice(span.start, None))
        lower = np.tril_indices(len(factors), -1)
        factors[lower] = factors.T[lower]  # a pair that is there twice has one number, to the last digit
        yield span, factors


@dataclass(frozen=True, eq=False)
class GaussianColumns:
    """Centred columns of one class, 0 where `seen` is 0 and a cell is missing; and their prior."""

    x: Array
    seen: Array
    weight: Array
    location: Array
    prior: NormalInverseGamma

    @cached_property
    def heavy(self) -> Array:
        """Cells times the weights of their rows."""
        return self.x * self.weight[:, None]

    @cached_property
    def square(self) -> Array:
        return self.heavy * self.x

    def factors(self, span: slice, others: slice) -> Array:
        """Log Bayes factors of a span of columns with others, `(n, m)`, the first n of which are the same."""
        prior, n = self.prior, (self.seen[:, span] * self.weight[:, None]).T @ self.seen[:, others]
        count, shape = (np.sqrt(np.multiply.outer(p[span], p[others])) for p in (prior.count, prior.shape))
        each = self._sides(span, others, n, shape)
        share = ratio(count * n, count + n)
        one, two = (side.scale + (side.ssd + share * side.gap**2) / 2 for side in each)
        cross = self.heavy[:, span].T @ self.x[:, others] - n * each[0].mean * each[1].mean
        left = 1 - ((cross + share * each[0].gap * each[1].gap) / 2) ** 2 / (one * two)
        left[np.diag_indices(len(left))] = 1.0
        for i, j in np.argwhere(left < NEARLY_ONE):
            sides = [PairSide(*(part[i, j] for part in side)) for side in each]
            left[i, j] = self._again([span.start + i, others.start + j], sides, share[i, j])
        later = shape + n / 2
        grown = np.log(one / each[0].scale) + np.log(two / each[1].scale)
        return log_gamma_ratio(later, 0.5) - log_gamma_ratio(shape, 0.5) - grown / 2 - (later + 0.5) * np.log(left)

    def _sides(self, span: slice, others: slice, n: Array, shape: Array) -> list[PairSide]:
        """Return the first column of each pair, and the second."""
        variance = self.prior.scale / self.prior.shape
        sides = []
        for sums, squares, location, each in (
            (self.heavy[:, span].T @ self.seen[:, others], self.square[:, span].T @ self.seen[:, others],
             self.location[span, None], variance[span, None]),
            (self.seen[:, span].T @ self.heavy[:, others], self.seen[:, span].T @ self.square[:, others],
             self.location[others], variance[others]),
        ):  # fmt: skip
            mean = ratio(sums, n)
            sides.append(PairSide(mean, mean - location, each * shape, np.maximum(squares - sums * mean, 0.0)))
        return sides

    def _again(self, pair: list[int], sides: list[PairSide], share: float) -> float:
        """Unexplained share of one pair's variance, summed over its rows without a difference."""
        both = self.seen[:, pair].all(axis=1)[:, None]
        rows = np.where(both, self.x[:, pair] - [side.mean for side in sides], 0.0)
        extra = np.zeros((3, 2))
        extra[[0, 1], [0, 1]] = np.sqrt([side.scale for side in sides])
        extra[2] = np.sqrt(share / 2) * np.array([side.gap for side in sides])
        one, two = np.vstack([np.sqrt(self.weight / 2)[:, None] * rows, extra]).T
        slope = (one @ two) / (one @ one)
        return float(((two - slope * one) ** 2).sum() / (two @ two))
