"""Evidence that two columns depend on each other within a class: their joint distribution against
independence.

    log Bayes factor = log p(both columns | joint distribution) - log p(one column) - log p(other)

Priors have the same margins under both hypotheses, so neither is preferred before the data. A pair
uses the rows that have both cells.

**Two columns of levels.** A cell of the table has concentration A p q, where p and q are the
expected probabilities of the levels under their Dirichlet priors, and A is the total of the table.
Its margins are Dirichlet(A p) and Dirichlet(A q): the first row has the same probability under both
hypotheses (the equivalent sample size of Heckerman, Geiger and Chickering 1995; Good 1976, On the
application of symmetric Dirichlet distributions to contingency tables). If the totals of the priors
differ, A is their geometric mean under both hypotheses.

**A number and levels.** One theta for each level against one for all, each with the prior of the
class.

A fixed A fits margins of many levels badly and the larger table less badly, so noise would be
evidence. The same holds for the prior of Poisson rates. So positive evidence is capped by the
evidence under the best concentrations of each hypothesis: see `cap_factors`.

**Two Gaussian columns.** A bivariate normal against two independent ones:

    covariance ~ InverseWishart(nu, Psi), Psi diagonal
    mean | covariance ~ Normal(m, covariance / count)

Its margins are those of the single columns, Normal-inverse-gamma with shape a = (nu - 1) / 2 and
scales b_j = Psi_jj / 2 (Geiger and Heckerman 2002, Parameter priors for directed acyclic graphical
models). With primes for the parameters after n rows, and rho the correlation in Psi', the ratio of
normalizers collapses to

    log Bayes factor = L(a') - L(a) - log(b_1' / b_1) / 2 - log(b_2' / b_2) / 2
                       - (a' + 1/2) log(1 - rho**2)

where L(a) = log Gamma(a + 1/2) - log Gamma(a). If the priors of two columns differ in count or
shape, both hypotheses use the geometric means, and each scale keeps its ratio to the shape, the
expected variance.

Contingency tables are counted by class, and store only occupied cells. Tables of one column with
many others are counts of levels by group, where a group is a level of the column and a class.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.dirichlet import EvidenceTerms, log_evidence
from bayesnb.families.gaussian import NormalInverseGamma
from bayesnb.families.poisson import Gamma
from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.numerics.threads import blocks, in_order

# Contingency tables

CELLS_AT_ONCE = 1 << 17  # cells of tables counted at once, which fit in a cache
# table cells per observed pair of levels, above which pairs are sorted instead of tabulated
MAX_CELLS_PER_PAIR = 4


class LabelledRows(NamedTuple):
    """Class codes and weights of the rows, and the number of classes."""

    codes: Array
    counts: Array
    classes: int


class PairCells(NamedTuple):
    """Cells of tables: pair, class, levels of the first and second column, and weight.

    `shape` has the numbers of pairs and classes, and the largest numbers of levels of either
    column.
    """

    pair: Array
    owner: Array
    one: Array
    two: Array
    number: Array
    shape: tuple[int, int, int, int]

    def key(self, *sides: int) -> Array:
        """Encode the pair and class of each cell, with side 2 or 3 also its level."""
        key = self.pair * self.shape[1] + self.owner
        for side in sides:
            key = key * self.shape[side] + self[side]
        return key

    def add_up(self, *sides: int) -> Array:
        """Sum weights by pair and class, with side 2 or 3 also by level."""
        shape = tuple(self.shape[axis] for axis in (0, 1, *sides))
        return np.bincount(self.key(*sides), self.number, prod(shape)).reshape(shape)


def count_pairs(
    codes: Array, sizes: Array, column: int, others: Array, labels: LabelledRows
) -> Iterator[tuple[slice, PairCells]]:
    """Yield the tables of a column with blocks of other columns.

    Codes are `(r, f)`, preferably in Fortran order; codes of missing cells are below 0 or the
    number of levels.
    """
    if not len(others):
        return
    size = int(sizes[column])
    first = codes[:, column]
    rows = np.flatnonzero((first >= 0) & (first < size))
    columns = codes.T if len(rows) == len(codes) else codes[rows].T
    group = labels.codes[rows] * size + first[rows]
    weight = labels.counts[rows].astype(float)
    groups = labels.classes * size
    step = CELLS_AT_ONCE // (groups * int(sizes[others].max()))
    for part in blocks(len(others), max(step, 1)):
        few = others[part]
        widths = sizes[few]
        bounds = np.append(0, np.cumsum(widths))
        x = np.ascontiguousarray(columns[few].T, np.int32)
        count = _tally if groups * bounds[-1] <= MAX_CELLS_PER_PAIR * x.size else _sort
        at, number = count(x, bounds, group, weight, groups)
        place, row = np.divmod(at, groups)
        owner, one = np.divmod(row, size)
        pair = np.repeat(np.arange(len(few)), widths)[place]
        shape = len(few), labels.classes, size, int(widths.max())
        yield part, PairCells(pair, owner, one, place - bounds[pair], number, shape)


def _tally(
    x: Array, bounds: Array, group: Array, weight: Array, groups: int
) -> tuple[Array, Array]:
    """Return occupied cells and their weights, from a table of all cells; levels lie end to end."""
    counts = np.zeros((bounds[-1], groups))
    numerics.level_kernels.tally(x, bounds, group, weight, counts)
    at = np.flatnonzero(counts)
    return at, counts.ravel()[at]


def _sort(x: Array, bounds: Array, group: Array, weight: Array, groups: int) -> tuple[Array, Array]:
    """Compute `_tally` by sorting, where nearly all cells are empty."""
    row, column = np.nonzero((x >= 0) & (x < np.diff(bounds)))
    keys = (bounds[column] + x[row, column]) * groups + group[row]
    at, inverse = np.unique(keys, return_inverse=True)
    number = np.bincount(inverse, weight[row], len(at))
    return at[number > 0], number[number > 0]


def screen(cells: PairCells) -> Array:
    """Return the dependence of pairs of columns given the class, in nats, `(n,)`.

    Half the likelihood ratio statistic, minus its expectation under independence, half the degrees
    of freedom.
    """
    rows = cells.add_up()
    gain = np.bincount(cells.pair, cells.number * np.log(cells.number), len(rows))
    gain += _entropy(rows).sum(axis=1)
    freedom = 1
    for side in (2, 3):
        margin = cells.add_up(side)
        gain -= _entropy(margin).sum(axis=(1, 2))
        freedom = freedom * np.maximum(np.count_nonzero(margin, axis=2) - 1, 0)
    return gain - np.sum(freedom, axis=1) / 2


def _entropy(counts: Array) -> Array:
    """n log n, 0 for n = 0."""
    return counts * np.log(np.where(counts > 0, counts, 1.0))


# Evidence of pairs

# unexplained share of variance below which it is computed again without cancellation
MIN_UNEXPLAINED = 1e-6
# range of strengths of a prior of rates, relative to the declared one: nearly none to nearly fixed
STRENGTHS = np.log([1e-3, 1e8])
# range of concentrations: practically 0 and, times rows**2, practically infinite
MIN_CONCENTRATION = 1e-3
MAX_CONCENTRATION = 1e4
RUNGS, SECTIONS = 25, 24  # grid points, then golden-section steps
GOLDEN = float((np.sqrt(5) - 1) / 2)


@dataclass(frozen=True, eq=False)
class LevelColumns:
    """Columns of levels: codes `(r, d)`, numbers of levels (also the code of missing cells),
    expected probabilities under the Dirichlet priors, `(c, k)`, and totals of these, `(c, d)`.
    """

    codes: Array
    sizes: Array
    share: Array
    total: Array
    places: Array  # among all columns


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """Columns of numbers of one family, `(r, f)`, NaN where missing, their prior, and the function
    that counts them.
    """

    x: Array
    prior: Belief
    observe: Callable[..., Any]
    places: Array


class Work(NamedTuple):
    """Number of threads, and a progress callback that gets the number of pairs since its last
    call.
    """

    n_jobs: int | None = 1
    done: Callable[[float], None] = lambda count: None


def read_columns(
    prior: Belief, x: Cells, columns: Sequence[int], observe: Callable[..., Any]
) -> LevelColumns | NumberColumns:
    """Return columns of a block, as levels if they have any; `places` is set later."""
    levels = prior.level_columns(x, columns)
    places = np.array(columns)
    if levels is not None:
        codes, dirichlet = levels
        concentration = dirichlet.concentration
        share = dirichlet.levels.normalise(concentration)
        total = dirichlet.levels.sums(concentration)
        return LevelColumns(codes, np.array(dirichlet.sizes), share, total, places)
    cells = x[:][:, columns]
    dense = np.asarray(cells.toarray() if sparse.issparse(cells) else cells, float)
    return NumberColumns(dense, prior[:, columns], observe, places)


def dependences(
    parts: Sequence[LevelColumns | NumberColumns], labels: LabelledRows, width: int, work: Work
) -> Array:
    """Log Bayes factors of all pairs of columns, `(c, n, n)`.

    NaN on the diagonal, and for pairs without a factor.
    """
    factors = np.full((labels.classes, width, width), np.nan)
    levels = [part for part in parts if isinstance(part, LevelColumns)]
    numbers = [part for part in parts if isinstance(part, NumberColumns)]
    gaussian = [part for part in numbers if isinstance(part.prior, NormalInverseGamma)]
    if levels:
        names = "codes", "sizes", "share", "total", "places"
        together = LevelColumns(*(_side_by_side(levels, name) for name in names))
        _compare_levels(together, labels, factors, work)
        for part in numbers:
            for d in range(len(together.sizes)):
                _compare_within_levels(part, together, d, labels, factors)
                work.done(len(part.places))
    if gaussian:
        first, *others = [part.prior for part in gaussian]
        prior: Any = first.map(lambda *arrays: np.concatenate(arrays, axis=1), *others)
        x = _side_by_side(gaussian, "x")
        places = _side_by_side(gaussian, "places")
        for c in range(labels.classes):
            rows = labels.codes == c
            at = np.ix_([c], places, places)
            factors[at] = correlations(x[rows], labels.counts[rows], prior[c])
            work.done(len(places) * (len(places) - 1) / 2 / labels.classes)
    factors[:, np.arange(width), np.arange(width)] = np.nan
    return factors


def _side_by_side(parts: Sequence[Any], name: str) -> Array:
    """Concatenate the columns of several parts."""
    return np.concatenate([getattr(part, name) for part in parts], axis=-1)


def _put(factors: Array, i: int, j: Array, value: Array) -> None:
    factors[:, i, j] = factors[:, j, i] = value


def _compare_levels(levels: LevelColumns, labels: LabelledRows, factors: Array, work: Work) -> None:
    """Compare each column with later ones, in parallel, and write to `(c, n, n)`."""
    sizes = levels.sizes
    root = np.sqrt(levels.total)
    starts = np.cumsum(sizes) - sizes

    def find_factors(d: int, others: Array, learnt: bool) -> Array:
        factors = np.zeros((labels.classes, len(others)))
        for part, cells in count_pairs(levels.codes, sizes, d, others, labels):
            few = others[part]
            sides = _list_evidence(cells, levels.share, starts[d], starts[few])
            if learnt:
                ends = concentration_range(cells.add_up().sum(axis=1))
                both, first, second = (at_best(side, *ends) for side in sides)
            else:  # by square roots, as the product of the totals may overflow
                both, first, second = (side(root[:, [d]] * root[:, few]) for side in sides)
            factors[:, part] = both - first - second
        return factors

    def compare(d: int) -> None:
        others = np.arange(d + 1, len(sizes))
        value = find_factors(d, others, learnt=False)
        high = np.flatnonzero(value.sum(axis=0) > 0)
        value[:, high] = cap_factors(value[:, high], find_factors(d, others[high], learnt=True))
        _put(factors, levels.places[d], levels.places[others], value)
        work.done(len(others))

    list(in_order(compare, range(len(sizes) - 1), work.n_jobs))


def _list_evidence(
    cells: PairCells, share: Array, first: int, starts: Array
) -> list[Callable[[Array], Array]]:
    """Return log evidences of tables and of both margins, as functions of concentrations.

    `share`, `(c, k)`, are expected probabilities of levels, which start at `first` and `starts`.
    """
    group = cells.key()
    of_one = share[cells.owner, first + cells.one]
    of_two = share[cells.owner, starts[cells.pair] + cells.two]
    parts = [(group, cells.number, of_one * of_two)]
    for side, each in ((2, of_one), (3, of_two)):
        _, at, level = np.unique(cells.key(side), return_index=True, return_inverse=True)
        parts.append((group[at], np.bincount(level, cells.number), each[at]))
    return [table_evidence(*part, cells.add_up()) for part in parts]


def table_evidence(
    group: Array, number: Array, share: Array, rows: Array
) -> Callable[[Array], Array]:
    """Return the log evidence of tables as a function of concentrations, `(c, n) -> (c, n)`.

    Each count has a group, the index of its table and class among `rows`, `(n, c)`, and a share of
    the concentration, which may be `(n,)` for all classes.
    """
    every = np.arange(rows.size)
    total = EvidenceTerms(every, rows.ravel(), np.ones(rows.size), np.full(rows.size, -1.0))
    terms = EvidenceTerms(group, number, share, np.ones(len(group))) + total

    def evidence(concentration: Array) -> Array:
        each = np.broadcast_to(concentration, rows.T.shape).T.ravel()
        return log_evidence(terms, each).reshape(rows.shape).T

    return evidence


def _compare_within_levels(
    part: NumberColumns, levels: LevelColumns, d: int, labels: LabelledRows, factors: Array
) -> None:
    """Compare numbers with a column of levels, and write to `(c, n, n)`."""
    size = int(levels.sizes[d])
    code = levels.codes[:, d]
    seen = np.flatnonzero(code < size)
    owner = labels.codes[seen]

    def read(key: Array) -> Callable[..., Array]:
        groups, group = np.unique(key, return_inverse=True)
        owners = groups // size
        stats = part.observe(part.x[seen], one_hot(group, len(groups), labels.counts[seen]))

        def evidence(times: Any = None) -> Array:
            prior = part.prior[owners]
            each = (prior if times is None else prior.strengthened(times)).log_evidence(stats)
            total = np.zeros((labels.classes, len(part.places)))
            np.add.at(total, owners, each)
            return total

        return evidence

    value = np.zeros((labels.classes, len(part.places)))
    if len(seen):  # a column without cells is no evidence
        apart, pooled = read(owner * size + code[seen]), read(owner * size)
        value = apart() - pooled()
        if isinstance(part.prior, Gamma) and (value.sum(axis=0) > 0).any():
            low, high = STRENGTHS
            ends = np.full(value.shape[1], high)
            value = cap_factors(value, at_best(apart, low, ends) - at_best(pooled, low, ends))
    _put(factors, levels.places[d], part.places, value)


def cap_factors(declared: Array, learnt: Array) -> Array:
    """Log Bayes factors under the declared prior, `(c, f)`, capped by those under best
    concentrations.

    Only positive sums are capped. Evidence against dependence is that of the declared prior: with
    best concentrations, all classes may be equal under both hypotheses.
    """
    total = declared.sum(axis=0)
    cap = learnt.sum(axis=0)
    return np.where((total <= 0) | (cap >= total), declared, np.where(cap > 0, learnt, 0.0))


def concentration_range(rows: Array) -> tuple[float, Array]:
    """Return the range of log concentrations to try, given numbers of rows, `(n,)`."""
    return np.log(MIN_CONCENTRATION), np.log(MAX_CONCENTRATION * rows**2)


def at_best(evidence: Callable[[Array], Array], low: float, high: Array) -> Array:
    """Log evidence of each class at the strength that maximises the sum over classes.

    Shapes: `(f,) -> (c, f)`. Log strengths from `low` to `high`, `(f,)`, are searched on a grid,
    then by golden section.
    """

    def height(at: Array) -> Array:
        return evidence(np.exp(at)).sum(axis=0)

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
    best = np.where(height(middle) >= values.max(axis=0), middle, ladder[top, each])
    return evidence(np.exp(best))


def correlations(x: Array, weight: Array, prior: NormalInverseGamma) -> Array:
    """Log Bayes factors of all pairs of columns of one class, `(r, f), (r,), (f,) -> (f, f)`.

    Entries `(i, j)` of `mean`, `gap` and `ssd` are those of column i on the rows that also have
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
    # for nearly equal columns no digit is left: computed again without cancellation
    for i, j in np.argwhere(np.triu(left < MIN_UNEXPLAINED)):
        pair = [i, j]
        back = [j, i]
        both = seen[:, pair].all(axis=1)[:, None]
        rows = np.sqrt(weight / 2)[:, None] * np.where(both, x[:, pair] - mean[pair, back], 0.0)
        of_scale = np.diag(np.sqrt(scale[pair, back]))
        of_gap = np.sqrt(share[i, j] / 2) * gap[pair, back]
        left[i, j] = left[j, i] = unexplained_share(np.vstack([rows, of_scale, of_gap]))
    later = shape + n / 2
    grown = np.log(after / scale)
    rise = log_gamma_ratio(later, 0.5) - log_gamma_ratio(shape, 0.5)
    factors = np.triu(rise - (grown + grown.T) / 2 - (later + 0.5) * np.log(left), 1)
    return factors + factors.T  # exactly symmetric


def unexplained_share(sides: Array) -> float:
    """Unexplained share of the squares of one column, regressed on the other, `(n, 2) -> ()`."""
    one, two = sides.T
    slope = (one @ two) / (one @ one)
    return float(((two - slope * one) ** 2).sum() / (two @ two))
