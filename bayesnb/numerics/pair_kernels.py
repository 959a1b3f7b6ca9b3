"""Pairs of columns of levels: the evidence of their contingency table against that of its margins, class by class.

    log Bayes factor = log p(table | A p q) - log p(first margin | A p) - log p(second margin | A q)

Each term is Dirichlet-multinomial; p and q are the shares that the levels have in their priors, A a concentration: Good
(1976), On the application of symmetric Dirichlet distributions to contingency tables. Rows come sorted by class and
level of the first column, so a table of any size is counted in the memory of one of its rows; only cells that occurred
are ever looked at.
"""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import gamma_ratio
from bayesnb.numerics.row_kernels import clear, sum_of

TABLE, FIRST, SECOND = range(3)  # the table and its margins
OWNER, SHARE, NUMBER = range(3)  # of a cell: its class, its part of the concentration, its number of rows
LEAST, LARGEST = 1e-3, 1e4  # concentrations that are tried: as good as 0, and times rows**2 as good as infinite
LADDER = 24  # rungs between them, evenly on the log scale: the evidence is not unimodal, and the best rung is searched
STEPS = 24  # of the golden section, which shrink the rung to 1e-5 of it
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@compiled
def rise(a: float, n: float) -> float:
    """ln Gamma(a + n) - ln Gamma(a); log a for n = 1, so that the log Bayes factor of a single row is exactly 0."""
    return np.log(a) if n == 1.0 else gamma_ratio(a, n)


@compiled
def gather(
    two: Array, order: Array, cuts: Array, classes: Array, weight: Array, p: Array, q: Array, tallies: Array,
    cells: Array, ends: Array, rows: Array,
) -> None:  # fmt: skip
    """List the cells of a table, and of its margins, that occurred: their classes, shares and numbers of rows.

    The rows of each level of the first column, `p` its share, lie between `cuts`, in the order of `classes`. `two` has
    the levels of the other column, and `q`, `(c, k)`, their shares. `tallies`, `(3, k)`, are 0 before and after.
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
            harvest(SECOND, two, order[cuts[begin] : cuts[g + 1]], c, 1.0, q[c], tallies[1:3], cells, ends)
            begin = g + 1


@compiled
def harvest(
    kind: int, two: Array, group: Array, c: int, p: float, q: Array, tallies: Array, cells: Array, ends: Array
) -> None:
    """Append the cells that rows were tallied to, `(2, k)`, and move their tally from the first row to the second.

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
    """Log evidence of all classes' cells, `(3, n)`, under one concentration, of which each has a share."""
    total = 0.0
    for i in range(cells.shape[1]):
        total += rise(concentration * cells[SHARE, i], cells[NUMBER, i])
    for c in range(len(rows)):
        total -= rise(concentration, rows[c])
    return total


@compiled
def best(cells: Array, rows: Array) -> float:
    """Concentration of the largest evidence, one for all classes: the best rung of a ladder, then golden section."""
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
    codes: Array, column: int, order: Array, cuts: Array, groups: Array, weight: Array, p: Array, share: Array,
    starts: Array, total: Array, factors: Array,
) -> None:  # fmt: skip
    """Log Bayes factors of a column and each one behind it, `(n, c)`, under the priors' totals `(c, f)`, or less.

    Where their sum is above 0 it is at most that with the concentrations that are best for the table, and for each
    margin: under a fixed concentration noise in many rare levels is strong evidence for a dependence.
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
