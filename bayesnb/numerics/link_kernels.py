"""Links between columns of levels: the evidence that one depends on another given the class. See families/links.py.

Codes are `(f, r)`, unsigned; those of a missing cell are the number of levels of its column. A table of pairs has a
place for these too, so that rows are counted without asking, and is used again and again.
"""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import gamma_ratio
from bayesnb.numerics.special import log_gamma_ratio
from bayesnb.numerics.threads import blocks

LITTLE = 1 << 15  # numbers: of 569 rows and 30 columns a column takes some 3 milliseconds longer, all pairs 40
CELLS = 1 << 18  # of tables of pairs at once in a definition
TIE = 1e-9  # nats: of strengths with the same evidence the least is taken, whatever was rounded
STEP = 3  # between the strengths that are tried first


@compiled
def begin(labels: Array, codes: Array, size: int, rows: Array) -> None:
    """Write which row of a table of pairs each row of a column belongs to: by class, and by level."""
    for i in range(len(labels)):
        rows[i] = labels[i] * (size + 1) + codes[i]


@compiled
def tally(rows: Array, codes: Array, size: int, weight: Array, table: Array) -> None:
    """Count pairs of codes by class, `(c, a, b)` end to end; no weights are weights of 1."""
    table[:] = 0.0
    if len(weight) == 0:
        for i in range(len(rows)):
            table[rows[i] * (size + 1) + codes[i]] += 1.0
    else:
        for i in range(len(rows)):
            table[rows[i] * (size + 1) + codes[i]] += weight[i]


@compiled
def add_up(table: Array, parents: Array, children: Array) -> None:
    """The sums of a table over the child's levels, `(c, a)`, and over the parent's, `(c, b)`."""
    parents[:], children[:] = 0.0, 0.0
    for c in range(table.shape[0]):
        for a in range(table.shape[1]):
            for b in range(table.shape[2]):
                parents[c, a] += table[c, a, b]
                children[c, b] += table[c, a, b]


@compiled
def evidence(table: Array, parents: Array, mean: Array, strength: float) -> float:
    """Log probability of the child's levels given the parent's, of a Dirichlet(strength * mean) for each of these.

    `mean`, `(c, b)`, is the distribution of the child's levels if they are independent of the parent's.
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
def strongest(table: Array, parents: Array, children: Array, margin: Array, strengths: Array) -> tuple[float, float]:
    """The largest log Bayes factor of a table, `(c, a, b)`, among some strengths, and that strength.

    It compares a distribution of the child for each level of the parent with one for all. `margin`, `(b,)`, is what the
    child's prior adds to its counts. The factor is smooth in the log of the strength: every third is tried, and then
    those around the best.
    """
    mean, alone, smoothing = np.empty(children.shape), 0.0, margin.sum()
    for c in range(table.shape[0]):
        rows = children[c].sum()
        for b in range(table.shape[2]):
            mean[c, b] = (children[c, b] + margin[b]) / (rows + smoothing)
            if children[c, b] > 0.0:
                alone += children[c, b] * math.log(mean[c, b])
    values, first, last, step = np.full(len(strengths), -np.inf), 1, len(strengths), STEP
    for _ in range(2):
        for k in range(first, last, step):
            if values[k] == -np.inf:
                values[k] = evidence(table, parents, mean, strengths[k])
        best = int((values >= values.max() - TIE).argmax())
        first, last, step = max(best - STEP + 1, 0), min(best + STEP, len(strengths)), 1
    return values[best] - alone, strengths[best]


@compiled
def compare(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array, classes: int,
    margins: Array, starts: Array, strengths: Array, out: Array,
) -> None:  # fmt: skip
    """Evidence and strength of links of a column with others, `(n, 2, 2)`: as their parent, and as their child.

    `margins` of all columns lie end to end, each from its place in `starts` on.
    """
    size, rows = sizes[column], np.empty(len(labels), np.int32)
    begin(labels, codes[column], size, rows)
    widest = 0
    for other in others:
        widest = max(widest, sizes[other])
    every = np.empty(classes * (size + 1) * (widest + 1))
    of_column, parents = margins[starts[column] : starts[column] + size], np.empty((classes, size))
    for k in range(len(others)):
        other = others[k]
        width = sizes[other]
        cells = every[: classes * (size + 1) * (width + 1)]
        tally(rows, codes[other], width, weight, cells)
        table = cells.reshape(classes, size + 1, width + 1)[:, :size, :width]
        children = np.empty((classes, width))
        add_up(table, parents, children)
        margin = margins[starts[other] : starts[other] + width]
        for way in range(2):  # one call, as each is compiled in place with all that it calls
            out[k, way, 0], out[k, way, 1] = strongest(table, parents, children, margin, strengths)
            table, parents, children, margin = table.transpose(0, 2, 1), children, parents, of_column


@compare.defined(LITTLE)
def compare_by_definition(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array, classes: int,
    margins: Array, starts: Array, strengths: Array, out: Array,
) -> None:  # fmt: skip
    if not len(others):
        return
    size = int(sizes[column])
    rows = labels * size + codes[column]
    for part in blocks(len(others), max(CELLS // (classes * size * int(sizes[others].max())), 1)):
        few = others[part]
        widest = int(sizes[few].max())
        known = (codes[column] < size) & (codes[few] < sizes[few, None])
        place = ((np.arange(len(few))[:, None] * (classes * size) + rows) * widest + codes[few])[known]
        weights = np.broadcast_to(weight, known.shape)[known] if len(weight) else None
        shape = len(few), classes, size, widest
        tables = np.bincount(place, weights, math.prod(shape)).reshape(shape).astype(float)
        level = np.arange(widest)
        there = level < sizes[few, None]
        of_others = np.where(there, margins[np.where(there, starts[few, None] + level, 0)], 0.0)
        of_column = np.broadcast_to(margins[starts[column] : starts[column] + size], (len(few), size))
        out[part, 0] = strongest_of_each(tables, of_others, strengths)
        out[part, 1] = strongest_of_each(tables.swapaxes(2, 3), of_column, strengths)


def strongest_of_each(tables: Array, margins: Array, strengths: Array) -> Array:
    """Evidence and strength of each table, `(n, c, a, b), (n, b), (s,) -> (n, 2)`, as of one by `strongest`.

    Log gammas are only computed for cells that have counts, and for their parents.
    """
    n, tried = len(tables), np.arange(1, len(strengths), STEP)[:, None]
    parents, children = tables.sum(axis=3), tables.sum(axis=2)
    mean = (children + margins[:, None]) / (children.sum(axis=2) + margins.sum(axis=1)[:, None])[:, :, None]
    seen, had, born = np.nonzero(tables), np.nonzero(parents), np.nonzero(children)
    alone = np.bincount(born[0], children[born] * np.log(mean[born]), n)
    cells, sign = np.concatenate([seen[0], had[0]]), np.repeat([1.0, -1.0], [len(seen[0]), len(had[0])])
    share = np.concatenate([mean[seen[0], seen[1], seen[3]], np.ones(len(had[0]))])
    counts = np.concatenate([tables[seen], parents[had]])
    values, each = np.full((n, len(strengths)), -np.inf), np.arange(n)
    tried = np.broadcast_to(tried, (len(tried), n))
    for _ in range(2):
        for k in tried:
            values[each, k] = np.bincount(cells, sign * log_gamma_ratio(strengths[k][cells] * share, counts), n)
        best = (values >= values.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        around = np.array([step for step in range(1 - STEP, STEP) if step != 0])
        tried = np.clip(best + around[:, None], 0, len(strengths) - 1)
    return np.stack([values[each, best] - alone, strengths[best]], axis=1)


@compiled
def x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@compiled
def screen(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array, classes: int, out: Array
) -> None:  # fmt: skip
    """How far pairs of a column and others are from independence given the class, in nats, `(n,)`.

    It is half the likelihood ratio statistic less half its degrees of freedom: as cheap as a logarithm for each cell.
    """
    size, rows = sizes[column], np.empty(len(labels), np.int32)
    begin(labels, codes[column], size, rows)
    widest = 0
    for other in others:
        widest = max(widest, sizes[other])
    every, parents = np.empty(classes * (size + 1) * (widest + 1)), np.empty((classes, size))
    for k in range(len(others)):
        other = others[k]
        width = sizes[other]
        cells = every[: classes * (size + 1) * (width + 1)]
        tally(rows, codes[other], width, weight, cells)
        table = cells.reshape(classes, size + 1, width + 1)[:, :size, :width]
        children = np.empty((classes, width))
        add_up(table, parents, children)
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
                gain += x_log_x(children[c].sum()) - 0.5 * (seen - 1) * (levels - 1)
        out[k] = gain
