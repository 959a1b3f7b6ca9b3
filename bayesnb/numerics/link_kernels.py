"""Links between columns of levels: the evidence that one depends on another given the class. See
families/links.py.

Codes are `(f, r)`, unsigned; those of a missing cell are the number of levels of its column. A
table of pairs has a place for these too, so that rows are counted without asking.
"""

import math
from typing import Any

import numpy as np

from bayesnb.numerics.compilation import Array, compiled, size_of
from bayesnb.numerics.count_kernels import gamma_ratio
from bayesnb.numerics.row_kernels import clear, sum_of
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.numerics.threads import blocks

# numbers: of 569 rows and 30 columns a column takes some 3 milliseconds longer, all pairs 40
LITTLE = 1 << 15
CELLS = 1 << 18  # of tables of pairs at once in a definition
TIE = 1e-9  # nats: of strengths with the same evidence the least is taken, whatever was rounded
STEP = 3  # between the strengths that are tried first


@compiled
def begin(labels: Array, codes: Array, size: int, rows: Array) -> None:
    """Write the row of a table of pairs that each row of a column belongs to: class and level."""
    for i in range(len(labels)):
        rows[i] = labels[i] * (size + 1) + codes[i]


@compiled
def tally(rows: Array, codes: Array, size: int, weight: Array, cells: Array) -> None:
    """Count pairs of codes by class, `(c, a, b)` end to end; no weights are weights of 1."""
    clear(cells)
    if len(weight) == 0:
        for i in range(len(rows)):
            cells[rows[i] * (size + 1) + codes[i]] += 1.0
    else:
        for i in range(len(rows)):
            cells[rows[i] * (size + 1) + codes[i]] += weight[i]


@compiled
def add_up(cells: Array, table: Array, parents: Array, children: Array) -> None:
    """Write counts of known levels, `(c, a, b)`, and their sums over b, `(c, a)`, and over a, `(c,
    b)`.
    """
    classes, size, width = table.shape
    for c in range(classes):
        clear(parents[c])
        clear(children[c])
        for a in range(size):
            for b in range(width):
                count = cells[(c * (size + 1) + a) * (width + 1) + b]
                table[c, a, b] = count
                parents[c, a] += count
                children[c, b] += count


@compiled
def mirror(table: Array, out: Array) -> None:
    """Write a table with its parent as child, `(c, a, b) -> (c, b, a)`: to transpose an array
    compiles for seconds.
    """
    for c in range(table.shape[0]):
        for a in range(table.shape[1]):
            for b in range(table.shape[2]):
                out[c, b, a] = table[c, a, b]


@compiled
def evidence(table: Array, parents: Array, mean: Array, strength: float) -> float:
    """Log probability of the child's levels given the parent's, of a Dirichlet(strength * mean) for
    each of these.

    `mean`, `(c, b)`, is the distribution of the child's levels if they are independent of the
    parent's.
    """
    total = 0.0
    for c in range(table.shape[0]):
        for a in range(table.shape[1]):
            if parents[c, a] > 0.0:
                total -= gamma_ratio(strength, parents[c, a])
                for b in range(table.shape[2]):
                    if table[c, a, b] > 0.0:
                        total += gamma_ratio(strength * mean[c, b], table[c, a, b])
    return total


@compiled
def strongest(
    table: Array, parents: Array, children: Array, strengths: Array, mean: Array, values: Array
) -> int:
    """Write the log Bayes factor of a table, `(c, a, b)`, at some strengths, and return which has
    the largest.

    It compares a distribution of the child for each level of the parent with one for all, the
    shares of the child's levels in the table: under a declared prior that disagrees with the rows,
    independent columns would seem linked. The factor is smooth in the log of the strength: every
    third is tried, and then those around the best; others stay -inf. Working memory: `mean`, `(c,
    b)`.
    """
    alone = 0.0
    for c in range(table.shape[0]):
        rows = sum_of(children[c])
        for b in range(table.shape[2]):
            mean[c, b] = 0.0
            if children[c, b] > 0.0:
                mean[c, b] = children[c, b] / rows
                alone += children[c, b] * math.log(mean[c, b])
    for k in range(len(values)):
        values[k] = -np.inf
    first, last, step, best = 1, len(strengths), STEP, 0
    for _ in range(2):
        most = -np.inf
        for k in range(len(values)):
            if values[k] == -np.inf and first <= k < last and (k - first) % step == 0:
                values[k] = evidence(table, parents, mean, strengths[k]) - alone
            most = max(most, values[k])
        for k in range(len(values) - 1, -1, -1):
            if values[k] >= most - TIE:
                best = k
        first, last, step = best - STEP + 1, best + STEP, 1
    return best


@compiled
def compare(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array,
    classes: int,
    strengths: Array, out: Array,
) -> None:  # fmt: skip
    """Evidence and strength of links of a column with others, `(n, 2, 2)`: as their parent, and as
    their child.
    """
    size, rows = sizes[column], np.empty(len(labels), np.int32)
    begin(labels, codes[column], size, rows)
    values = np.empty(len(strengths))
    for k in range(len(others)):
        other = others[k]
        width = sizes[other]
        cells = np.empty(classes * (size + 1) * (width + 1))
        tally(rows, codes[other], width, weight, cells)
        child, parent = np.empty((classes, size, width)), np.empty((classes, width, size))
        parents, children = np.empty((classes, size)), np.empty((classes, width))
        add_up(cells, child, parents, children)
        mirror(child, parent)
        mean = np.empty((classes, max(size, width)))
        for way in range(2):  # one call, as each is compiled in place with all that it calls
            best = strongest(child, parents, children, strengths, mean, values)
            out[k, way, 0], out[k, way, 1] = values[best], strengths[best]
            child, parents, children = parent, children, parents


def work_of_comparing(codes: Array, *others: Any) -> int:
    """Numbers in all, or fewer where columns are few: NumPy counts 100,000 rows almost as fast as a
    loop.

    In the definition a pair of columns takes some .2 milliseconds more, and as much again for
    100,000 rows. Of 20 columns with so many rows all pairs take 70 more, a fifth of a fit, where to
    compile takes more than a second.
    """
    columns, rows = codes.shape
    return min(size_of(codes, *others), columns * columns * (rows + 100_000) >> 12)


@compare.defined(LITTLE, work_of_comparing)
def compare_by_definition(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array,
    classes: int,
    strengths: Array, out: Array,
) -> None:  # fmt: skip
    if not len(others):
        return
    size = int(sizes[column])
    for part in blocks(len(others), max(CELLS // (classes * size * int(sizes[others].max())), 1)):
        few = others[part]
        widest = int(sizes[few].max())
        rows = (labels * (size + 1) + codes[column]) * (widest + 1)
        places, tables = np.empty(len(rows), np.int64), np.zeros((len(few), classes, size, widest))
        # one by one: a table, and its rows' places, stay in a cache
        for table, other in zip(tables, few, strict=True):
            np.add(rows, codes[other], out=places)
            cells = np.bincount(
                places, weight if len(weight) else None, classes * (size + 1) * (widest + 1)
            )
            table[:] = cells.reshape(classes, size + 1, widest + 1)[:, :size, :widest]
            table[:, :, sizes[other] :] = 0.0  # that of a missing level
        out[part, 0] = strongest_of_each(tables, strengths)
        out[part, 1] = strongest_of_each(tables.swapaxes(2, 3), strengths)


def strongest_of_each(tables: Array, strengths: Array) -> Array:
    """Evidence and strength of each table, `(n, c, a, b), (s,) -> (n, 2)`, as of one by
    `strongest`.

    Log gammas are only computed for cells that have counts, and for their parents.
    """
    n, tried = len(tables), np.arange(1, len(strengths), STEP)[:, None]
    parents, children = tables.sum(axis=3), tables.sum(axis=2)
    mean = ratio(children, children.sum(axis=2, keepdims=True))
    seen, had, born = np.nonzero(tables), np.nonzero(parents), np.nonzero(children)
    alone = np.bincount(born[0], children[born] * np.log(mean[born]), n)
    cells, sign = (
        np.concatenate([seen[0], had[0]]),
        np.repeat([1.0, -1.0], [len(seen[0]), len(had[0])]),
    )
    share = np.concatenate([mean[seen[0], seen[1], seen[3]], np.ones(len(had[0]))])
    counts = np.concatenate([tables[seen], parents[had]])
    values, each = np.full((n, len(strengths)), -np.inf), np.arange(n)
    tried = np.broadcast_to(tried, (len(tried), n))
    for _ in range(2):
        for k in tried:
            values[each, k] = np.bincount(
                cells, sign * log_gamma_ratio(strengths[k][cells] * share, counts), n
            )
        best = (values >= values.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        around = np.array([step for step in range(1 - STEP, STEP) if step != 0])
        tried = np.clip(best + around[:, None], 0, len(strengths) - 1)
    return np.stack([values[each, best] - alone, strengths[best]], axis=1)


@compiled
def x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@compiled
def screen(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array,
    classes: int, out: Array
) -> None:  # fmt: skip
    """How far pairs of a column and others are from independence given the class, in nats, `(n,)`.

    It is half the likelihood ratio statistic less half its degrees of freedom: as cheap as a
    logarithm for each cell.
    """
    size, rows = sizes[column], np.empty(len(labels), np.int32)
    begin(labels, codes[column], size, rows)
    parents = np.empty((classes, size))
    for k in range(len(others)):
        other = others[k]
        width = sizes[other]
        cells = np.empty(classes * (size + 1) * (width + 1))
        tally(rows, codes[other], width, weight, cells)
        table, children = np.empty((classes, size, width)), np.empty((classes, width))
        add_up(cells, table, parents, children)
        gain = 0.0
        for c in range(classes):
            seen, levels = 0, 0
            for a in range(size):
                if parents[c, a] > 0.0:
                    seen += 1
                    gain -= x_log_x(parents[c, a])
                    for b in range(width):
                        gain += x_log_x(table[c, a, b])
            for b in range(width):
                if children[c, b] > 0.0:
                    levels += 1
                    gain -= x_log_x(children[c, b])
            if seen > 0:
                gain += x_log_x(sum_of(children[c])) - 0.5 * (seen - 1) * (levels - 1)
        out[k] = gain
