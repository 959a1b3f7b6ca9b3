"""Links between columns of levels: the evidence that one depends on another given the class. See families/links.py."""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import gamma_ratio


@compiled
def tally(one: Array, two: Array, labels: Array, weight: Array, table: Array) -> None:
    """Count pairs of codes by class, `(c, a, b)`; rows that lack one, of a negative code, are left out."""
    table[:] = 0.0
    for i in range(len(labels)):
        if one[i] >= 0 and two[i] >= 0:
            table[labels[i], one[i], two[i]] += weight[i]


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
def evidence(table: Array, parents: Array, children: Array, margin: Array, strength: float) -> float:
    """Log Bayes factor of a distribution of the child for each level of the parent against one for all.

    `margin`, `(b,)`, is what the child's prior adds to its counts.
    """
    total, smoothing = 0.0, margin.sum()
    for c in range(table.shape[0]):
        rows = children[c].sum()
        if rows == 0.0:
            continue
        for a in range(table.shape[1]):
            if parents[c, a] > 0.0:
                total -= gamma_ratio(strength, parents[c, a])
                for b in range(table.shape[2]):
                    n = table[c, a, b]
                    if n > 0.0:
                        m = (children[c, b] + margin[b]) / (rows + smoothing)
                        total += gamma_ratio(strength * m, n) - n * math.log(m)
    return total


@compiled
def strongest(table: Array, margin: Array, strengths: Array) -> tuple[float, float]:
    """The largest evidence of a table, `(c, a, b)`, among some strengths, and that strength."""
    parents = np.empty((table.shape[0], table.shape[1]))
    children = np.empty((table.shape[0], table.shape[2]))
    add_up(table, parents, children)
    best, at = -np.inf, 0.0
    for strength in strengths:
        value = evidence(table, parents, children, margin, strength)
        if value > best:
            best, at = value, strength
    return best, at


@compiled
def compare(
    codes: Array, sizes: Array, others: Array, column: int, labels: Array, weight: Array, classes: int,
    margins: Array, starts: Array, strengths: Array, out: Array,
) -> None:  # fmt: skip
    """Evidence and strength of links of a column with others, `(n, 2, 2)`: as their parent, and as their child.

    `codes` are `(f, r)`; `margins` of all columns lie end to end, each from its place in `starts` on.
    """
    for k in range(len(others)):
        other = others[k]
        table = np.empty((classes, sizes[column], sizes[other]))
        tally(codes[column], codes[other], labels, weight, table)
        of_other = margins[starts[other] : starts[other] + sizes[other]]
        of_column = margins[starts[column] : starts[column] + sizes[column]]
        out[k, 0, 0], out[k, 0, 1] = strongest(table, of_other, strengths)
        turned = np.ascontiguousarray(table.transpose(0, 2, 1))
        out[k, 1, 0], out[k, 1, 1] = strongest(turned, of_column, strengths)


@compiled
def screen(
    codes: Array, sizes: Array, column: int, labels: Array, weight: Array, classes: int, out: Array
) -> None:  # fmt: skip
    """How far pairs of a column and those behind it are from independence given the class, in nats, `(n,)`.

    It is half the likelihood ratio statistic less half its degrees of freedom: as cheap as a logarithm for each cell.
    """
    for other in range(column + 1, len(sizes)):
        table = np.empty((classes, sizes[column], sizes[other]))
        tally(codes[column], codes[other], labels, weight, table)
        parents = np.empty((classes, sizes[column]))
        children = np.empty((classes, sizes[other]))
        add_up(table, parents, children)
        gain = 0.0
        for c in range(classes):
            rows, seen, levels = children[c].sum(), 0, 0
            for a in range(sizes[column]):
                if parents[c, a] > 0.0:
                    seen += 1
                    gain -= parents[c, a] * math.log(parents[c, a])
                    for b in range(sizes[other]):
                        if table[c, a, b] > 0.0:
                            gain += table[c, a, b] * math.log(table[c, a, b])
            for b in range(sizes[other]):
                if children[c, b] > 0.0:
                    levels += 1
                    gain -= children[c, b] * math.log(children[c, b])
            if rows > 0.0:
                gain += rows * math.log(rows) - 0.5 * (seen - 1) * (levels - 1)
        out[other - column - 1] = gain
