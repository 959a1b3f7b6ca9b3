"""Evidence that two columns depend on each other within a class: their joint distribution against
independence.

    log Bayes factor = log p(both columns | joint distribution) - log p(one column) - log p(other)

Priors have the same margins under both hypotheses, so no pair is preferred before anything is seen.
A pair uses the rows that have both cells.

**Two columns of levels.** A cell of the table has concentration A p q, where p and q are the
levels' shares of their Dirichlet priors, and A is the total of the table. Its margins are
Dirichlet(A p) and Dirichlet(A q): the table says as much as each margin, and a first row is as
probable under either hypothesis (the equivalent sample size of Heckerman, Geiger and Chickering
1995; Good 1976, On the application of symmetric Dirichlet distributions to contingency tables).
Where the totals of the priors differ, A is their geometric mean in both hypotheses.

**A number and levels.** One theta for each level against one for all, each with the class's prior.

With a fixed A the margins of many levels are explained badly and the table, which is larger, less
so: noise would be evidence. The same goes for the prior of counts' rates. So positive evidence is
capped by the evidence under the concentrations that are best for each hypothesis: see
`cap_factors`.

**Two Gaussian columns.** A bivariate normal against two independent ones:

    covariance ~ InverseWishart(nu, Psi), Psi diagonal
    mean | covariance ~ Normal(m, covariance / count)

Its margins are those of the single columns, Normal-inverse-gamma with shape a = (nu - 1) / 2 and
scales b_j = Psi_jj / 2 (Geiger and Heckerman 2002, Parameter priors for directed acyclic graphical
models). With primes for the parameters after n rows, and rho the correlation in Psi', the ratio of
normalizers collapses to

    log Bayes factor = L(a') - L(a) - log(b_1' / b_1) / 2 - log(b_2' / b_2) / 2
                       - (a' + 1/2) log(1 - rho**2)

where L(a) = log Gamma(a + 1/2) - log Gamma(a). Where two columns' priors differ in count or shape,
both hypotheses take the geometric means, and each scale keeps its ratio to the shape, the expected
variance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.dirichlet_evidence import EvidenceTerms, log_evidence
from bayesnb.families.gaussian import NormalInverseGamma
from bayesnb.families.poisson import Gamma
from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.numerics.threads import blocks, in_order
from bayesnb.selection.contingency import LabelledRows, PairCells, count_pairs

NUMBERS_AT_ONCE = 1 << 20  # numbers that are held at once
# share of unexplained variance below which it is summed again, without a difference
MIN_UNEXPLAINED = 1e-6
# of a prior of rates, relative to the declared one: hardly any, and nearly certain
STRENGTHS = np.log([1e-3, 1e8])
# concentrations that are tried: as good as 0, and times rows**2 as good as infinite
MIN_CONCENTRATION = 1e-3
MAX_CONCENTRATION = 1e4
RUNGS, SECTIONS = 25, 24  # of the search for the best: places of a ladder, and steps that follow
GOLDEN = float((np.sqrt(5) - 1) / 2)


@dataclass(frozen=True, eq=False)
class LevelColumns:
    """Columns of levels: codes `(r, d)`, those from the number of levels on are missing.

    They come with their Dirichlet priors.
    """

    codes: Array
    prior: ColumnDirichlets
    places: Array  # among all columns

    @property
    def sizes(self) -> Array:
        return np.array(self.prior.sizes)


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """Columns of numbers of one family: `(r, f)`, NaN where missing.

    They come with their prior and the function that makes their stats.
    """

    x: Array
    prior: Belief
    observe: Callable[..., Any]
    places: Array


class Work(NamedTuple):
    """Number of threads, and a callback that gets the number of pairs since its last call."""

    n_jobs: int | None = 1
    done: Callable[[float], None] = lambda count: None


def dependences(
    parts: Sequence[LevelColumns | NumberColumns], labels: LabelledRows, width: int, work: Work
) -> Array:
    """Log Bayes factors of all pairs of columns, `(c, n, n)`.

    NaN on the diagonal, and for pairs without one.
    """
    factors = np.full((labels.classes, width, width), np.nan)
    levels = [part for part in parts if isinstance(part, LevelColumns)]
    numbers = [part for part in parts if isinstance(part, NumberColumns)]
    gaussian = [part for part in numbers if isinstance(part.prior, NormalInverseGamma)]
    if levels:
        concentration = np.concatenate([part.prior.concentration for part in levels], axis=1)
        prior = ColumnDirichlets(
            concentration, tuple(int(size) for part in levels for size in part.sizes)
        )
        together = LevelColumns(_columns(levels, "codes"), prior, _columns(levels, "places"))
        _compare_levels(together, labels, factors, work)
        for part in numbers:
            _compare_within_levels(part, together, labels, factors, work)
    if gaussian:
        priors: list[Any] = [part.prior for part in gaussian]
        prior = priors[0].map(lambda *arrays: np.concatenate(arrays, axis=1), *priors[1:])
        x = _columns(gaussian, "x")
        places = _columns(gaussian, "places")
        at = np.ix_(places, places)
        for c in range(labels.classes):
            rows = labels.codes == c
            factors[c][at] = correlations(x[rows], labels.counts[rows], prior[c])
            work.done(len(places) * (len(places) - 1) / 2 / labels.classes)
    factors[:, np.arange(width), np.arange(width)] = np.nan
    return factors


def _columns(parts: Sequence[Any], name: str) -> Array:
    """Put the columns of several parts side by side."""
    return np.concatenate([getattr(part, name) for part in parts], axis=-1)


def read_columns(
    prior: Belief, x: Cells, columns: Sequence[int], observe: Callable[..., Any]
) -> LevelColumns | NumberColumns:
    """Return columns of a block, as numbers unless they have levels.

    `places` is yet to be replaced.
    """
    levels = prior.level_columns(x, columns)
    if levels is not None:
        return LevelColumns(*levels, np.array(columns))
    cells = x[:][:, columns]
    dense = np.asarray(cells.toarray() if sparse.issparse(cells) else cells, float)
    return NumberColumns(dense, prior[:, columns], observe, np.array(columns))


def _put(factors: Array, i: int, j: Array, value: Array) -> None:
    factors[:, i, j] = factors[:, j, i] = value


def _compare_levels(levels: LevelColumns, labels: LabelledRows, factors: Array, work: Work) -> None:
    """Compare each column with those behind it, into `(c, n, n)`; columns in parallel."""
    codes = levels.codes
    sizes = levels.sizes
    beliefs = levels.prior
    share = beliefs.share(beliefs.concentration)
    root = np.sqrt(beliefs.level_sums(beliefs.concentration)).T
    starts = np.cumsum(sizes) - sizes

    def compare(d: int) -> None:
        others = np.arange(d + 1, len(sizes))
        for part, cells in count_pairs(codes, sizes, d, others, labels):
            few = others[part]
            total = root[d] * root[few]  # the product of the totals may leave the range of floats
            value = log_factors(pair_terms(cells, share, starts[d], starts[few]), total[:, None])
            high = np.flatnonzero(value.sum(axis=0) > 0)
            if len(high):
                cells = cells.select(high)
                terms = pair_terms(cells, share, starts[d], starts[few[high]])
                best = best_concentrations(terms, cells.add_up())
                value[:, high] = cap_factors(value[:, high], log_factors(terms, best))
            _put(factors, levels.places[d], levels.places[few], value)
        work.done(len(others))

    list(in_order(compare, range(len(sizes) - 1), work.n_jobs))


def pair_terms(cells: PairCells, share: Array, first: int, starts: Array) -> EvidenceTerms:
    """Return the terms of the log evidence of tables, of both margins, and of classes.

    Groups are numbered as `(pairs, 3, c)`.

    Levels have shares, `(c, k)`, of the concentration; those of the columns start at `first`
    and `starts`.
    """
    one = cells.add_up(2)
    two = cells.add_up(3)
    rows = cells.add_up()
    in_one = np.nonzero(one)
    in_two = np.nonzero(two)
    in_rows = np.nonzero(rows)
    both = (
        share[cells.owner, first + cells.one] * share[cells.owner, starts[cells.pair] + cells.two]
    )
    of_one = share[in_one[1], first + in_one[2]]
    of_two = share[in_two[1], starts[in_two[0]] + in_two[2]]
    parts = [
        (0, cells.pair, cells.owner, cells.number, both, 1.0),
        (1, *in_one[:2], one[in_one], of_one, 1.0),
        (2, *in_two[:2], two[in_two], of_two, 1.0),
    ]
    parts += [(kind, *in_rows, rows[in_rows], np.ones(len(in_rows[0])), -1.0) for kind in range(3)]
    terms = []
    for kind, pair, owner, number, unit, sign in parts:
        terms.append(
            EvidenceTerms(
                (3 * pair + kind) * len(share) + owner, number, unit, np.full(len(pair), sign)
            )
        )
    return reduce(add, terms)


def log_factors(terms: EvidenceTerms, concentration: Array) -> Array:
    """Log Bayes factors of tables against their margins, under concentrations.

    Shapes: `(pairs, 1 or 3, c) -> (c, pairs)`.
    """
    pairs, _, classes = concentration.shape
    each = np.broadcast_to(concentration, (pairs, 3, classes))
    table, one, two = log_evidence(terms, each.ravel()).reshape(each.shape).transpose(1, 2, 0)
    return table - one - two


def best_concentrations(terms: EvidenceTerms, rows: Array) -> Array:
    """Return the concentrations of the largest evidence, one for all classes.

    Shapes: `(pairs, c) -> (pairs, 3, c)`.
    """
    pairs, classes = rows.shape

    def height(at: Array) -> Array:
        return log_evidence(terms, np.repeat(np.exp(at), classes)).reshape(-1, classes).sum(axis=1)

    largest = np.log(MAX_CONCENTRATION * rows.sum(axis=1) ** 2)
    at = maximise_each(height, np.log(MIN_CONCENTRATION), np.repeat(largest, 3))
    return np.repeat(np.exp(at), classes).reshape(pairs, 3, classes)


def _compare_within_levels(
    part: NumberColumns, levels: LevelColumns, labels: LabelledRows, factors: Array, work: Work
) -> None:
    """Compare numbers with each column of levels, into `(c, n, n)`.

    One theta for each level against one for all.
    """
    for d, size in enumerate(levels.sizes.tolist()):
        code = levels.codes[:, d]
        seen = np.flatnonzero(code < size)
        if not len(seen):  # of a column without cells neither hypothesis has evidence
            _put(
                factors, levels.places[d], part.places, np.zeros((labels.classes, len(part.places)))
            )
            work.done(len(part.places))
            continue
        places, group = np.unique(labels.codes[seen] * size + code[seen], return_inverse=True)
        each = one_hot(group, len(places), labels.counts[seen]), places // size
        pooled = (
            one_hot(labels.codes[seen], labels.classes, labels.counts[seen]),
            np.arange(labels.classes),
        )
        width = max(1, NUMBERS_AT_ONCE // max(len(seen), len(places)))
        for span in blocks(len(part.places), width):
            cells = part.x[seen, span]
            prior = part.prior[:, span]
            sides = [
                partial(
                    _evidence_of_groups,
                    part.observe(cells, weight),
                    prior[owners],
                    owners,
                    labels.classes,
                )
                for weight, owners in (each, pooled)
            ]
            value = sides[0]() - sides[1]()
            if isinstance(part.prior, Gamma) and (value.sum(axis=0) > 0).any():
                learnt = [_at_best_strength(side, value.shape[1]) for side in sides]
                value = cap_factors(value, learnt[0] - learnt[1])
            _put(factors, levels.places[d], part.places[span], value)
        work.done(len(part.places))


def _evidence_of_groups(
    stats: Any, prior: Belief, owners: Array, classes: int, times: Any = 1.0
) -> Array:
    """Log evidence of each class, `(c, f)`, each of whose groups has a theta.

    The prior is worth `times` as much.
    """
    prior = prior if np.ndim(times) == 0 else prior.map(lambda array: times * array)
    total = np.zeros((classes, len(prior.proper[0])))
    np.add.at(total, owners, prior.log_evidence(stats))
    return total


def _at_best_strength(evidence: Callable[[Array], Array], features: int) -> Array:
    """Log evidence of each class, `(c, f)`, under the best strength of its prior.

    One strength is best for all classes together.
    """
    low, high = STRENGTHS
    logs = maximise_each(lambda at: evidence(np.exp(at)).sum(axis=0), low, np.full(features, high))
    return evidence(np.exp(logs))


def cap_factors(declared: Array, learnt: Array) -> Array:
    """Log Bayes factors under the declared prior, `(c, f)`.

    A positive sum is capped by that of learnt concentrations.

    Against a dependence the declared prior has the last word: with learnt concentrations, both
    hypotheses may take all classes to be alike, and then nothing speaks against either.
    """
    total = declared.sum(axis=0)
    cap = learnt.sum(axis=0)
    return np.where((total <= 0) | (cap >= total), declared, np.where(cap > 0, learnt, 0.0))


def maximise_each(height: Callable[[Array], Array], low: float, high: Array) -> Array:
    """Return the arguments at which functions are highest, `(f,)`.

    The best rung of a ladder, then a golden section around it.
    """
    ladder = np.linspace(low, high, RUNGS)
    values = np.stack([height(rung) for rung in ladder])
    top = values.argmax(axis=0)
    each = np.arange(len(high))
    a = ladder[np.maximum(top - 1, 0), each]
    b = ladder[np.minimum(top + 1, RUNGS - 1), each]
    for _ in range(SECTIONS):
        x = b - GOLDEN * (b - a)
        y = a + GOLDEN * (b - a)
        left = height(x) >= height(y)
        a = np.where(left, a, x)
        b = np.where(left, y, b)
    middle = (a + b) / 2
    return np.where(height(middle) >= values.max(axis=0), middle, ladder[top, each])


def correlations(x: Array, weight: Array, prior: NormalInverseGamma) -> Array:
    """Log Bayes factors of all pairs of columns of one class, `(r, f), (r,), (f,) -> (f, f)`.

    Entries `(i, j)` of `mean`, `gap` and `ssd` are of column i, in the rows that also have
    column j.
    """
    seen = (~np.isnan(x)).astype(float)
    weighted = seen * weight[:, None]
    x = np.where(seen > 0, x, 0.0)
    centre = ratio(x.T @ weight, seen.T @ weight)
    x = np.where(seen > 0, x - centre, 0.0)
    heavy = x * weight[:, None]
    n = weighted.T @ seen
    sums = heavy.T @ seen
    mean = ratio(sums, n)
    ssd = np.maximum((heavy * x).T @ seen - sums * mean, 0.0)
    gap = mean - (prior.location - centre)[:, None]
    count, shape = (np.sqrt(np.multiply.outer(each, each)) for each in (prior.count, prior.shape))
    share = ratio(count * n, count + n)
    scale = (prior.scale / prior.shape)[:, None] * shape
    after = scale + (ssd + share * gap**2) / 2
    cross = heavy.T @ x - n * mean * mean.T + share * gap * gap.T
    left = 1 - (cross / 2) ** 2 / (after * after.T)
    np.fill_diagonal(left, 1.0)
    for i, j in np.argwhere(np.triu(left < MIN_UNEXPLAINED)):
        pair = [i, j]
        back = [j, i]
        both = seen[:, pair].all(axis=1)[:, None]
        rows = np.sqrt(weight / 2)[:, None] * np.where(both, x[:, pair] - mean[pair, back], 0.0)
        gaps = np.sqrt(share[i, j] / 2) * gap[pair, back]
        left[pair, back] = unexplained_share(
            np.vstack([rows, np.diag(np.sqrt(scale[pair, back])), gaps])
        )
    later = shape + n / 2
    grown = np.log(after / scale)
    rise = log_gamma_ratio(later, 0.5) - log_gamma_ratio(shape, 0.5)
    factors = np.triu(rise - (grown + grown.T) / 2 - (later + 0.5) * np.log(left), 1)
    return factors + factors.T  # a pair that is there twice has one number, to the last digit


def unexplained_share(sides: Array) -> float:
    """Share of one column's squares that the other leaves, `(n, 2) -> ()`.

    It is summed without a difference.
    """
    one, two = sides.T
    slope = (one @ two) / (one @ one)
    return float(((two - slope * one) ** 2).sum() / (two @ two))
