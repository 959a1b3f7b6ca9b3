"""Counts in compressed rows (`data`, `indices`, `indptr` of CSR): sums by class, and scores of words under a die."""

from math import lgamma

import numpy as np

from bayesnb.kernels.compiled import compiled
from bayesnb.kernels.flags import is_odd
from bayesnb.kernels.math import log

LANES = 8  # classes whose table entries lie side by side: one line of a cache
FEW = 16  # counts up to here are products of factors
STIRLING_FROM = 16.0
FACTORS = 8  # of a product before its logarithm is taken: (1e30)**8 is a double
LARGEST = 1e30
MOST = 1e100
LOG_FACTORIALS = np.array([lgamma(n + 1.0) for n in range(256)])
SEEN = 4096  # lengths of rows whose normaliser is remembered


@compiled
def are_counts(data, whole, missing):
    """Whether all numbers are at least 0 and can be added up, are whole or need not be, NaN where that is missing."""
    odd = 0
    for p in range(len(data)):
        v = float(data[p])
        good = (v >= 0.0) & (v <= MOST) & ((v == np.floor(v)) | (not whole))
        odd |= not (good | (missing & (v != v)))
    return odd == 0


@compiled
def stirling_tail(z):
    """ln Gamma(z) - [(z - 1/2) ln z - z + ln(2 pi) / 2] for z >= STIRLING_FROM."""
    y = 1.0 / z
    v = y * y
    return y * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v * (1 / 1188 - v * 691 / 360360)))))


@compiled
def log_gamma_ratio(a, s):
    """ln Gamma(a + s) - ln Gamma(a) for a >= STIRLING_FROM, a + s >= STIRLING_FROM."""
    main = (a - 0.5) * np.log1p(s / a) + s * np.log(a + s) - s
    return main + stirling_tail(a + s) - stirling_tail(a)


@compiled
def log_rising_binomial(a, x):
    """ln Gamma(a + x) - ln Gamma(a) - ln x!, for a, x >= 0, by a difference whose large parts never meet."""
    if x <= FEW and x == np.floor(x):
        product = 1.0
        for k in range(int(x)):
            product *= (a + k) / (k + 1.0)
        return np.log(product)
    if a >= x and a >= STIRLING_FROM:
        return log_gamma_ratio(a, x) - lgamma(x + 1.0)
    if a < x and x + 1.0 >= STIRLING_FROM and x + a >= STIRLING_FROM and a > 0.0:
        return log_gamma_ratio(x + 1.0, a - 1.0) - lgamma(a)
    return lgamma(a + x) - lgamma(a) - lgamma(x + 1.0) if a > 0.0 else -np.inf


@compiled
def log_orders(data):
    """ln of the number of orders in which one row's counts can come."""
    total, logs = 0.0, 0.0
    for p in range(len(data)):
        total += data[p]
        logs += log_factorial(float(data[p]))
    return log_factorial(total) - logs


@compiled
def log_factorial(x):
    if x < len(LOG_FACTORIALS) and x == np.floor(x):
        return LOG_FACTORIALS[int(x)]
    return lgamma(x + 1.0)


@compiled
def tally(data, indices, indptr, weight, counts, orders, order, starts, first, last):
    """Adds the rows of some classes to their counts, `(c, k)`, and to the sums of their log orders, `(c,)`."""
    for c in range(first, last):
        own = counts[c]
        for e in range(starts[c], starts[c + 1]):
            i = order[e]
            w, a, b = weight[i], indptr[i], indptr[i + 1]
            for p in range(a, b):
                own[indices[p]] += w * data[p]
            orders[c] += w * log_orders(data[a:b])


@compiled
def tally_flags(data, indices, indptr, weight, threshold, ones, missing, order, starts, first, last):
    """Adds the rows of some classes to their ones and missing cells, `(c, k)` each; tells if none was odd."""
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    odd = 0
    for c in range(first, last):
        up, hole = ones[c], missing[c]
        for e in range(starts[c], starts[c + 1]):
            i = order[e]
            for p in range(indptr[i], indptr[i + 1]):
                v = data[p]
                if v > level:
                    up[indices[p]] += weight[i]
                elif v != v:
                    hole[indices[p]] += weight[i]
                odd |= is_odd(v, strict)
    return odd == 0


@compiled
def score_flags(data, indices, indptr, threshold, gain, zero, start, out):
    """Adds what a one is worth beyond a zero, and takes back a missing cell's zero: `2 of (tiles, k, LANES)`.

    Tells if no stored cell was odd.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    total, odd = np.empty(LANES), 0
    for tile in range(len(gain)):
        first = start + tile * LANES
        for i in range(len(indptr) - 1):
            for k in range(LANES):
                total[k] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                v, word = data[p], indices[p]
                if v > level:
                    for k in range(LANES):
                        total[k] += gain[tile, word, k]
                elif v != v:
                    for k in range(LANES):
                        total[k] -= zero[tile, word, k]
                odd |= is_odd(v, strict)
            for k in range(min(LANES, out.shape[1] - first)):
                out[i, first + k] += total[k]
    return odd == 0


@compiled
def score_known(data, indices, indptr, logs, power, start, out):
    """Adds the log-density of counts under known log probabilities, `(tiles, k, LANES) -> (r, c)`, times the power."""
    total = np.empty(LANES)
    for tile in range(len(logs)):
        first = start + tile * LANES
        for i in range(len(indptr) - 1):
            for k in range(LANES):
                total[k] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                v, word = float(data[p]), indices[p]
                if v != 0.0:
                    for k in range(LANES):
                        total[k] += v * logs[tile, word, k]
            orders = log_orders(data[indptr[i] : indptr[i + 1]])
            for k in range(min(LANES, out.shape[1] - first)):
                out[i, first + k] += power * (total[k] + orders)


@compiled
def score_dirichlet(data, indices, indptr, concentration, logs, totals, start, out):
    """Adds the log of the Dirichlet-multinomial, concentrations and their logs as `(tiles, k, LANES)`."""
    total, product = np.empty(LANES), np.empty(LANES)
    lengths, of_length = np.full(SEEN, -1.0), np.empty((SEEN, LANES))
    for tile in range(len(logs)):
        first = start + tile * LANES
        classes = min(LANES, out.shape[1] - first)
        for n in range(SEEN):
            lengths[n] = -1.0
        for i in range(len(indptr) - 1):
            a, b = indptr[i], indptr[i + 1]
            length = score_words(data[a:b], indices[a:b], concentration[tile], logs[tile], total, product)
            place = int(length) % SEEN
            if lengths[place] != length:
                lengths[place] = length
                for k in range(classes):
                    of_length[place, k] = log_rising_binomial(totals[first + k], length)
            for k in range(classes):
                out[i, first + k] += total[k] - of_length[place, k]


@compiled
def score_words(data, indices, concentration, logs, total, product):
    """One row's words, for LANES classes; returns how many there are."""
    length, factors = 0.0, 0
    for k in range(LANES):
        total[k] = 0.0
        product[k] = 1.0
    for p in range(len(data)):
        x, word = float(data[p]), indices[p]
        length += x
        if x == 0.0:
            continue
        if x > FEW or x != np.floor(x):
            for k in range(LANES):
                total[k] += log_rising_binomial(concentration[word, k], x)
            continue
        for k in range(LANES):
            total[k] += logs[word, k]
        for n in range(1, int(x)):
            share = 1.0 / (n + 1.0)
            for k in range(LANES):
                product[k] *= (concentration[word, k] + n) * share
            factors += 1
            if factors == FACTORS:
                factors = 0
                take_logs(product, total)
    take_logs(product, total)
    return length


@compiled
def take_logs(product, total):
    for k in range(LANES):
        total[k] += log(product[k])
        product[k] = 1.0
