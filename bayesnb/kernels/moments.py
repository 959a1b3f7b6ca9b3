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
        x = filled(x, codes, out[1])
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
def filled(x, codes, mean):
    """The block with the mean of its class in place of a missing cell, which so deviates by nothing."""
    copy = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            copy[i, j] = x[i, j] if x[i, j] == x[i, j] else mean[codes[i], j]
    return copy


@compiled
def deviations(x, rows, weight, mean, slip, lost, ssd):
    """Sums of deviations and of their squares over one class's rows, eight at a time, the last ones filled up."""
    eight, w = np.empty(8, np.int64), np.empty(8)
    for start in range(0, len(rows), 8):
        for k in range(8):
            inside = start + k < len(rows)
            eight[k] = rows[start + k if inside else start]
            w[k] = weight[eight[k]] if inside else 0.0
        add_eight(x, eight, w, mean, slip, lost, ssd)


@compiled
def add_eight(x, rows, w, mean, slip, lost, ssd):
    a, b, c, d = x[rows[0]], x[rows[1]], x[rows[2]], x[rows[3]]
    e, f, g, h = x[rows[4]], x[rows[5]], x[rows[6]], x[rows[7]]
    wa, wb, wc, wd, we, wf, wg, wh = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    for j in range(len(mean)):
        m = mean[j]
        da, db, dc, dd, de, df, dg, dh = a[j] - m, b[j] - m, c[j] - m, d[j] - m, e[j] - m, f[j] - m, g[j] - m, h[j] - m
        va, vb, vc, vd, ve, vf, vg, vh = wa * da, wb * db, wc * dc, wd * dd, we * de, wf * df, wg * dg, wh * dh
        old, new = slip[j], ((va + vb) + (vc + vd)) + ((ve + vf) + (vg + vh))
        total = old + new
        kept = total - old
        slip[j] = total
        lost[j] += (old - (total - kept)) + (new - kept)  # Knuth's: what the sum rounded away
        ssd[j] += ((va * da + vb * db) + (vc * dc + vd * dd)) + ((ve * de + vf * df) + (vg * dg + vh * dh))
