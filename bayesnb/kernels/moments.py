"""Moments of the rows of each class, as exact as two passes over a block that stays in a core's cache can be."""

import numpy as np

from bayesnb.kernels.compiled import compiled
from bayesnb.kernels.rows import by_class, clear, holes

BLOCK = 1 << 15  # cells


@compiled
def moments(x, codes, weight, classes):
    """Count, mean, what rounding left of the mean, and ssd: `(r, f), (r,), (r,) -> 4 arrays (c, f)`."""
    rows, features = x.shape
    total = np.zeros((4, classes, features))
    block = np.empty((4, classes, features))
    step = max(BLOCK // max(features, 1), 4 * classes)
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        block_moments(x[start:stop], codes[start:stop], weight[start:stop], block)
        merge(total, block)
    return total


@compiled
def merge(total, new):
    """Chan's merge, in place. Means are pairs of numbers, so that their difference keeps its digits."""
    for c in range(total.shape[1]):
        for j in range(total.shape[2]):
            n = new[0, c, j]
            if n > 0.0:
                both = total[0, c, j] + n
                if both == n:
                    for k in range(4):
                        total[k, c, j] = new[k, c, j]
                else:
                    gap = (new[1, c, j] - total[1, c, j]) + (new[2, c, j] - total[2, c, j])
                    share = n / both
                    total[3, c, j] += new[3, c, j] + total[0, c, j] * share * gap * gap
                    total[2, c, j] += share * gap
                    total[0, c, j] = both


@compiled
def block_moments(x, codes, weight, out):
    """Means by a plain sum; then deviations about them, which say how far the sum was off."""
    classes, features = out.shape[1], out.shape[2]
    order, starts = by_class(codes, classes)
    for k in range(4):
        for c in range(classes):
            clear(out[k, c])
    for i in range(len(x)):
        add(out[1, codes[i]], x[i], weight[i])
    for c in range(classes):
        count = 0.0
        for e in range(starts[c], starts[c + 1]):
            count += weight[order[e]]
        if count > 0.0:
            for j in range(features):
                out[0, c, j] = count
                out[1, c, j] /= count
    if holes(out[1]):
        means_with_holes(x, codes, weight, out)
    lost = np.zeros((classes, features))
    for c in range(classes):
        deviations(x, order[starts[c] : starts[c + 1]], weight, out[1, c], out[2, c], lost[c], out[3, c])
    for c in range(classes):
        for j in range(features):
            count = out[0, c, j]
            if count > 0.0:
                slip = (out[2, c, j] + lost[c, j]) / count
                out[2, c, j] = slip
                out[3, c, j] = max(out[3, c, j] - count * slip * slip, 0.0)


@compiled
def add(total, row, w):
    for j in range(len(total)):
        total[j] += w * row[j]


@compiled
def means_with_holes(x, codes, weight, out):
    """Counts and means again, cell by cell, missing cells left out."""
    for c in range(out.shape[1]):
        clear(out[0, c])
        clear(out[1, c])
    for i in range(len(x)):
        count_seen(out[0, codes[i]], out[1, codes[i]], x[i], weight[i])
    for c in range(out.shape[1]):
        for j in range(out.shape[2]):
            if out[0, c, j] > 0.0:
                out[1, c, j] /= out[0, c, j]


@compiled
def count_seen(count, total, row, w):
    for j in range(len(count)):
        seen = row[j] == row[j]
        count[j] += w if seen else 0.0
        total[j] += w * row[j] if seen else 0.0


@compiled
def deviations(x, rows, weight, mean, slip, lost, ssd):
    """Sums of deviations and of their squares over one class's rows, four at a time; missing cells deviate by 0."""
    whole = len(rows) - len(rows) % 4
    for e in range(0, whole, 4):
        a, b, c, d = rows[e], rows[e + 1], rows[e + 2], rows[e + 3]
        four(mean, slip, lost, ssd, x[a], x[b], x[c], x[d], weight[a], weight[b], weight[c], weight[d])
    for e in range(whole, len(rows)):
        i = rows[e]
        four(mean, slip, lost, ssd, x[i], x[i], x[i], x[i], weight[i], 0.0, 0.0, 0.0)


@compiled
def four(mean, slip, lost, ssd, xa, xb, xc, xd, wa, wb, wc, wd):
    for j in range(len(mean)):
        a, b, c, d = xa[j] - mean[j], xb[j] - mean[j], xc[j] - mean[j], xd[j] - mean[j]
        a, b, c, d = (a if a == a else 0.0), (b if b == b else 0.0), (c if c == c else 0.0), (d if d == d else 0.0)
        old, new = slip[j], (wa * a + wb * b) + (wc * c + wd * d)
        slip[j] = old + new
        kept = slip[j] - old
        lost[j] += (old - (slip[j] - kept)) + (new - kept)  # Knuth's: what the sum rounded away
        ssd[j] += (wa * a * a + wb * b * b) + (wc * c * c + wd * d * d)
