"""Pairs of columns of levels: the evidence of their contingency table against that of its margins,
class by class.

    log Bayes factor = log p(table | A p q) - log p(first margin | A p) - log p(second margin | A q)

Each term is Dirichlet-multinomial; p and q are the shares that the levels have in their priors, A a
concentration: Good (1976), On the application of symmetric Dirichlet distributions to contingency
tables. Rows come sorted by class and level of the first column, so a table of any size is counted
in the memory of one of its rows; only cells that occurred are ever looked at.
"""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import gamma_ratio
from bayesnb.numerics.row_kernels import clear, sum_of
from bayesnb.numerics.special import log, log_gamma_ratio

TABLE, FIRST, SECOND = range(3)  # the table and its margins
# of a cell: its class, its part of the concentration, its number of rows
OWNER, SHARE, NUMBER = range(3)
# concentrations that are tried: as good as 0, and times rows**2 as good as infinite
LEAST, LARGEST = 1e-3, 1e4
# rungs between them, evenly on the log scale: the evidence is not unimodal, and the best rung is
# searched
LADDER = 24
STEPS = 24  # of the golden section, which shrink the rung to 1e-5 of it
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# rows times pairs: a definition takes some hundredths of a second, the compiler eight seconds
FEW = 1 << 13
SIGNS = np.array([1.0, -1.0, -1.0])  # of the table and its margins


@compiled
def rise(a: float, n: float) -> float:
    """ln Gamma(a + n) - ln Gamma(a); log a for n = 1, so that the log Bayes factor of a single row
    is exactly 0.
    """
    return np.log(a) if n == 1.0 else gamma_ratio(a, n)


@compiled
def gather(
    two: Array, order: Array, cuts: Array, classes: Array, weight: Array, p: Array, q: Array,
    tallies: Array,
    cells: Array, ends: Array, rows: Array,
) -> None:  # fmt: skip
    """List the cells of a table, and of its margins, that occurred: their classes, shares and
    numbers of rows.

    The rows of each level of the first column, `p` its share, lie between `cuts`, in the order of
    `classes`. `two` has the levels of the other column, and `q`, `(c, k)`, their shares. `tallies`,
    `(3, k)`, are 0 before and after.
    """
    ends[:] = 0
    rows[:] = 0.0
    begin = 0
    for g in range(len(classes)):
        c, total = classes[g], 0.0
        group = order[cuts[g] : cuts[g + 1]]
        for row in group:
            if two[row] < q.shape[1]:
                tallies[0, two[row]] += weight[row]
                total += weight[row]
        if total > 0:
            append_cell(FIRST, c, p[g], total, cells, ends)
            rows[c] += total
            harvest(TABLE, two, group, c, p[g], q[c], tallies[0:2], cells, ends)
        if g + 1 == len(classes) or classes[g + 1] != c:
            harvest(
                SECOND,
                two,
                order[cuts[begin] : cuts[g + 1]],
                c,
                1.0,
                q[c],
                tallies[1:3],
                cells,
                ends,
            )
            begin = g + 1


@compiled
def harvest(
    kind: int,
    two: Array,
    group: Array,
    c: int,
    p: float,
    q: Array,
    tallies: Array,
    cells: Array,
    ends: Array,
) -> None:
    """Append the cells that rows were tallied to, `(2, k)`, and move their tally from the first row
    to the second.

    The cells are looked for by level or by row, whichever are fewer.
    """
    levels = len(q)
    by_level = levels <= len(group)
    for i in range(min(levels, len(group))):
        level = i if by_level else two[group[i]]
        if level < levels and tallies[0, level] > 0.0:
            append_cell(kind, c, p * q[level], tallies[0, level], cells, ends)
            tallies[1, level] += tallies[0, level]
            tallies[0, level] = 0.0


@compiled
def append_cell(kind: int, c: int, share: float, count: float, cells: Array, ends: Array) -> None:
    """Append a cell's class, share and number of rows to the list of its kind."""
    at = ends[kind]
    cells[kind, OWNER, at], cells[kind, SHARE, at], cells[kind, NUMBER, at] = c, share, count
    ends[kind] = at + 1


@compiled
def evidence(concentration: float, cells: Array, rows: Array) -> float:
    """Log evidence of all classes' cells, `(3, n)`, under one concentration, of which each has a
    share.
    """
    total = 0.0
    for i in range(cells.shape[1]):
        total += rise(concentration * cells[SHARE, i], cells[NUMBER, i])
    for c in range(len(rows)):
        total -= rise(concentration, rows[c])
    return total


@compiled
def best(cells: Array, rows: Array) -> float:
    """Concentration of the largest evidence, one for all classes: the best rung of a ladder, then
    golden section.
    """
    low = math.log(LEAST)
    step = (math.log(LARGEST * sum_of(rows) * sum_of(rows)) - low) / LADDER
    top, height = 0, -np.inf
    for rung in range(LADDER + 1):
        value = evidence(math.exp(low + rung * step), cells, rows)
        if value > height:
            top, height = rung, value
    a, b = low + max(top - 1, 0) * step, low + min(top + 1, LADDER) * step
    x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_x, at_y = evidence(math.exp(x), cells, rows), evidence(math.exp(y), cells, rows)
    for _ in range(STEPS):
        if at_x >= at_y:
            b, y, at_y = y, x, at_x
            x = b - GOLDEN * (b - a)
            at_x = evidence(math.exp(x), cells, rows)
        else:
            a, x, at_x = x, y, at_y
            y = a + GOLDEN * (b - a)
            at_y = evidence(math.exp(y), cells, rows)
    middle = 0.5 * (a + b)
    end = low + top * step
    return math.exp(middle if evidence(math.exp(middle), cells, rows) >= height else end)


@compiled
def add(sign: float, concentration: Array, cells: Array, rows: Array, value: Array) -> None:
    """Add each class's log evidence of cells, with a sign."""
    for i in range(cells.shape[1]):
        c = int(cells[OWNER, i])
        value[c] += sign * rise(concentration[c] * cells[SHARE, i], cells[NUMBER, i])
    for c in range(len(rows)):
        value[c] -= sign * rise(concentration[c], rows[c])


@compiled
def compare(
    codes: Array, column: int, order: Array, cuts: Array, groups: Array, weight: Array, p: Array,
    share: Array,
    starts: Array, total: Array, factors: Array,
) -> None:  # fmt: skip
    """Log Bayes factors of a column and each one behind it, `(n, c)`, under the priors' totals `(c,
    f)`, or less.

    Where their sum is above 0 it is at most that with the concentrations that are best for the
    table, and for each margin: under a fixed concentration noise in many rare levels is strong
    evidence for a dependence.
    """
    classes, length, widest = len(total), max(len(order), 1), 0
    for j in range(len(starts) - 1):
        widest = max(widest, starts[j + 1] - starts[j])
    tallies, cells = np.zeros((3, widest)), np.empty((3, 3, length))
    ends, rows = np.zeros(3, np.int64), np.empty(classes)
    learnt, each = np.empty(classes), np.empty(classes)
    for other in range(column + 1, len(codes)):
        q = share[:, starts[other] : starts[other + 1]]
        gather(codes[other], order, cuts, groups, weight, p, q, tallies, cells, ends, rows)
        value = factors[other - column - 1]
        clear(value)
        for c in range(classes):  # the product of the totals may leave the range of floats
            each[c] = np.sqrt(total[c, column]) * np.sqrt(total[c, other])
        for kind in range(3):
            add(1.0 if kind == TABLE else -1.0, each, cells[kind, :, : ends[kind]], rows, value)
        fixed = sum_of(value)
        if fixed <= 0:
            continue
        clear(learnt)
        for kind in range(3):
            largest = best(cells[kind, :, : ends[kind]], rows)
            for c in range(classes):
                each[c] = largest
            add(1.0 if kind == TABLE else -1.0, each, cells[kind, :, : ends[kind]], rows, learnt)
        free = sum_of(learnt)
        if free < fixed:
            for c in range(classes):
                value[c] = learnt[c] if free > 0 else 0.0


@compare.defined(
    FEW, lambda codes, column, order, *others: (len(codes) - column - 1) * max(len(order), 1)
)
def compare_by_definition(
    codes: Array, column: int, order: Array, cuts: Array, groups: Array, weight: Array, p: Array,
    share: Array,
    starts: Array, total: Array, factors: Array,
) -> None:  # fmt: skip
    group = np.repeat(np.arange(len(groups)), np.diff(cuts))
    cells = []
    for pair, other in enumerate(range(column + 1, len(codes))):
        level, q = codes[other][order], share[:, starts[other] : starts[other + 1]]
        seen = level < q.shape[1]
        kinds = occurred(level[seen], group[seen], weight[order[seen]], groups, p, q)
        cells += [
            np.vstack([np.full((2, part.shape[1]), [[pair], [kind]]), part])
            for kind, part in enumerate(kinds)
        ]
    tables = Tables(np.concatenate(cells, axis=1) if cells else np.zeros((5, 0)), factors.shape)
    each = np.sqrt(total[:, column, None]) * np.sqrt(total[:, column + 1 :])
    factors[:] = tables.log_factors(np.repeat(each.T[:, None], 3, axis=1))
    sums = factors.sum(axis=1)
    if (sums > 0).any():
        learnt = tables.log_factors(np.repeat(tables.best()[..., None], len(total), axis=2))
        capped = np.maximum(learnt.sum(axis=1), 0.0)
        less = (sums > 0) & (capped < sums)
        factors[less] = np.where(capped[less, None] > 0, learnt[less], 0.0)


def occurred(
    level: Array, group: Array, weight: Array, classes: Array, p: Array, q: Array
) -> list[Array]:
    """Classes, shares and numbers of rows of the cells of a table, and of its margins, that
    occurred, `3 of (3, n)`.
    """
    parts = []
    keys = group * q.shape[1] + level, group, classes[group] * q.shape[1] + level
    for kind, key in enumerate(keys):
        _, at, which = np.unique(key, return_index=True, return_inverse=True)
        owner = classes[group[at]]
        of_first, of_second = p[group[at]], q[owner, level[at]]
        cell_share = (
            of_first * of_second if kind == TABLE else of_first if kind == FIRST else of_second
        )
        count = np.bincount(which, weight, minlength=len(at))
        parts.append(np.stack([owner, cell_share, count])[:, count > 0])
    return parts


class Tables:
    """Tables of pairs of columns with their margins: cells with their pair, kind, class, share and
    number of rows.
    """

    def __init__(self, cells: Array, shape: tuple[int, ...]) -> None:
        (self.pair, self.kind, self.owner), (self.share, self.number) = (
            cells[:3].astype(int),
            cells[3:],
        )
        self.rows = self.by_class(np.where(self.kind == FIRST, self.number, 0.0), shape)

    def by_class(self, terms: Array, shape: tuple[int, ...]) -> Array:
        """Sum terms of cells over each pair's classes, `(n,) -> (pairs, c)`."""
        return np.bincount(
            self.pair * shape[1] + self.owner, terms, minlength=math.prod(shape)
        ).reshape(shape)

    def log_factors(self, concentration: Array) -> Array:
        """Log Bayes factors by class, under concentrations `(pairs, 3, c) -> (pairs, c)`."""
        each = rises(concentration[self.pair, self.kind, self.owner] * self.share, self.number)
        return self.by_class(SIGNS[self.kind] * each, self.rows.shape) - np.einsum(
            "k,pkc->pc", SIGNS, rises(concentration, self.rows[:, None])
        )

    def evidence(self, log_concentration: Array) -> Array:
        """Log evidence of each table and margin, `(pairs, 3)`, under one concentration each."""
        concentration = np.exp(log_concentration)
        each = rises(concentration[self.pair, self.kind] * self.share, self.number)
        total = np.bincount(self.pair * 3 + self.kind, each, minlength=concentration.size)
        return total.reshape(concentration.shape) - rises(
            concentration[..., None], self.rows[:, None]
        ).sum(axis=2)

    def best(self) -> Array:
        """Concentrations of the largest evidence, `(pairs, 3)`, by the steps of `best`."""
        low, shape = math.log(LEAST), (len(self.rows), 3)
        step = (log(LARGEST * np.maximum(self.rows.sum(axis=1), 1.0) ** 2) - low)[:, None] / LADDER
        values = np.stack(
            [self.evidence(np.broadcast_to(low + rung * step, shape)) for rung in range(LADDER + 1)]
        )
        top, height = values.argmax(axis=0), values.max(axis=0)
        a, b = low + np.maximum(top - 1, 0) * step, low + np.minimum(top + 1, LADDER) * step
        x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        at_x, at_y = self.evidence(x), self.evidence(y)
        for _ in range(STEPS):
            left = at_x >= at_y
            a, b = np.where(left, a, x), np.where(left, y, b)
            new = np.where(left, b - GOLDEN * (b - a), a + GOLDEN * (b - a))
            value = self.evidence(new)
            x, y = np.where(left, new, y), np.where(left, x, new)
            at_x, at_y = np.where(left, value, at_y), np.where(left, at_x, value)
        middle = 0.5 * (a + b)
        return np.exp(np.where(self.evidence(middle) >= height, middle, low + top * step))


def rises(a: Array, n: Array) -> Array:
    """`rise` of arrays."""
    return np.where(n == 1.0, log(a), log_gamma_ratio(a, n))
