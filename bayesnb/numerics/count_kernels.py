"""Counts in CSR (`data`, `indices`, `indptr`): sums by class, and Dirichlet-multinomial scores.

    log p(counts | a) = ln N! - sum ln x! + sum [ln Gamma(a_k + x_k) - ln Gamma(a_k)]
                        - [ln Gamma(A + N) - ln Gamma(A)]

A = sum a, N = sum x. Minka (2000), Estimating a Dirichlet distribution. Differences of log gammas
are computed without cancellation: at a = 1e15 a plain difference has no correct digit left.
"""

from math import lgamma

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesnb.numerics import special
from bayesnb.numerics.compilation import Array, Csr, compiled
from bayesnb.numerics.elementary import log
from bayesnb.numerics.row_kernels import (
    CHEAP,
    add_and_clear,
    add_lanes,
    add_rows,
    add_times,
    lanes_of,
    longest_row,
    sums_of_entries,
)

# up to this count, Gamma(a + x) / (Gamma(a) x!) is a product of x factors, exact to a few ulps
FEW = 16
FAR = 1e18  # largest a for that: FEW factors of 1e18 are at most 1e288, which is a double
# the first omitted term of `stirling_tail`, z**-13 / 156, is 1.4e-18 here
STIRLING_FROM = 16.0
FACTORS = 8  # factors of a product before its logarithm is taken
# largest concentration of which FACTORS factors, (1e30)**8, fit a double; callers score larger ones
# in NumPy
LARGEST = 1e30
MOST = 1e100  # largest count: beyond, weighted sums of counts and their squares might overflow
LOG_FACTORIALS = np.array([lgamma(n + 1.0) for n in range(256)])
# row lengths whose normaliser is cached: texts have few lengths, and each takes two log gammas per
# class
REMEMBERED = 1024


@compiled
def are_counts(data: Array, whole_numbers: bool, missing: bool) -> bool:
    """Whether all numbers are counts: from 0 to MOST, without a fraction if `whole_numbers`, or NaN
    if `missing`.
    """
    invalid = 0
    for p in range(len(data)):
        v = float(data[p])
        good = (v >= 0.0) & (v <= MOST) & ((v == np.floor(v)) | (not whole_numbers))
        invalid |= not (good | (missing & (v != v)))
    return invalid == 0


@are_counts.defined(CHEAP)
def are_counts_by_definition(data: Array, whole_numbers: bool, missing: bool) -> bool:
    good = (data >= 0) & (data <= MOST)
    if whole_numbers:
        good &= data == np.floor(data)
    return bool((good | np.isnan(data) if missing else good).all())


@compiled
def stirling_tail(z: float) -> float:
    """ln Gamma(z) - [(z - 1/2) ln z - z + ln(2 pi) / 2] for z >= STIRLING_FROM."""
    v = 1.0 / (z * z)
    total = 1 / 1188 - v * 691 / 360360
    total = 1 / 1260 - v * (1 / 1680 - v * total)
    return (1 / 12 - v * (1 / 360 - v * total)) / z


@compiled
def log_rising_binomial(a: float, x: float) -> float:
    """ln Gamma(a + x) - ln Gamma(a) - ln x! for a, x >= 0, without cancellation.

    The two log gammas with the largest arguments are subtracted as one ratio.
    """
    if x <= FEW and x == np.floor(x) and a < FAR:
        product = 1.0
        for k in range(int(x)):
            product *= (a + k) / (k + 1.0)
        return np.log(product)
    if a == 0.0:
        return -np.inf
    large = max(a, x + 1.0)
    small = min(a, x + 1.0)
    end = large + (small - 1.0)
    if large < STIRLING_FROM or end < STIRLING_FROM:
        return lgamma(end) - lgamma(large) - lgamma(small)
    step = small - 1.0
    main = (large - 0.5) * np.log1p(step / large) + step * np.log(end) - step
    return main + stirling_tail(end) - stirling_tail(large) - lgamma(small)


def log_orders_of(x: Array, starts: Array) -> Array:
    """Log multinomial coefficient of each row, `(e,), (r + 1,) -> (r,)`."""
    first = starts[:-1]
    last = starts[1:]
    some = first < last  # for an empty row reduceat returns the next entry
    lengths = np.zeros(len(first))
    lengths[some] = np.add.reduceat(x, first[some])
    # most counts in texts are 0 or 1, and ln x! of those is 0
    more = np.flatnonzero((x != 0) & (x != 1))
    row = np.searchsorted(last, more, side="right")
    logs = np.bincount(row, gammaln(x[more] + 1.0), minlength=len(first))
    return gammaln(lengths + 1.0) - logs


def read_entries(rows: Csr) -> tuple[Array, Array, Array]:
    """Counts, words, and row starts of the given rows only."""
    data, indices, indptr = rows
    part = slice(indptr[0], indptr[-1])
    return data[part].astype(float), indices[part], indptr - indptr[0]


@compiled
def log_factorial(x: float) -> float:
    """ln x!, from a table for small integers."""
    if 0.0 <= x < len(LOG_FACTORIALS) and x == np.floor(x):
        return LOG_FACTORIALS[int(x)]
    return lgamma(x + 1.0)


@compiled
def tally(
    rows: Csr,
    weight: Array,
    counts: Array,
    orders: Array,
    order: Array,
    starts: Array,
    first: int,
    last: int,
) -> None:
    """Add the rows of classes `first` to `last` to their counts, `(c, k)`, and sums of log orders.

    Shape: `(c,)`.
    """
    data, indices, indptr = rows
    for c in range(first, last):
        class_counts = counts[c]
        for e in range(starts[c], starts[c + 1]):
            i = order[e]
            total = 0.0
            logs = 0.0
            w = weight[i]
            for p in range(indptr[i], indptr[i + 1]):
                x = float(data[p])
                # unsigned, to skip the check for negative indices
                class_counts[np.uint64(indices[p])] += w * x
                total += x
                if x != 1.0:
                    logs += log_factorial(x)
            orders[c] += w * (log_factorial(total) - logs)


@tally.defined()
def tally_by_definition(
    rows: Csr,
    weight: Array,
    counts: Array,
    orders: Array,
    order: Array,
    starts: Array,
    first: int,
    last: int,
) -> None:
    x, words, row_starts = read_entries(rows)
    here = slice(starts[first], starts[last])
    ends = starts[first : last + 1] - starts[first]
    labels = csr_array((weight[order[here]], order[here], ends), (last - first, len(weight)))
    counts[first:last] += (
        labels @ csr_array((x, words, row_starts), (len(weight), counts.shape[1]))
    ).toarray()
    orders[first:last] += labels @ log_orders_of(x, row_starts)


@compiled
def score_dirichlet(
    rows: Csr, concentration: Array, logs: Array, totals: Array, first: int, out: Array
) -> None:
    """Add Dirichlet-multinomial scores: concentrations and their logs, each `(k, lanes)`, totals
    `(c,) -> (r, c)`.

    Most words occur once. The log of the first factor is tabulated, and the logs of several words
    are added together (`few`). Further factors of words that occur more often (`more`) are
    multiplied, and one logarithm, the slow step, is taken for FACTORS of them. Words are sorted
    into the two lists without a branch, which would be mispredicted.
    """
    data, indices, indptr = rows
    lanes = logs.shape[1]
    total = np.zeros(lanes)
    product = np.ones(lanes)
    longest = longest_row(indptr)
    few = np.empty(longest, np.uint64)
    more = np.empty(longest, np.int64)
    # no more than there are rows, so that a single row does not wait for memory
    remembered = min(REMEMBERED, len(indptr) - 1)
    lengths = np.full(remembered, -1.0)
    of_length = np.zeros((remembered, lanes))
    for i in range(len(indptr) - 1):
        n = 0
        m = 0
        length = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = float(data[p])
            length += x
            few[n] = indices[p]
            n += (x > 0.0) & (x <= FEW) & (x == np.floor(x))
            more[m] = p
            m += x != 1.0
        add_rows(total, logs, few, n)
        factors = 0
        for q in range(m):
            x = float(data[more[q]])
            row = concentration[np.uint64(indices[more[q]])]
            if x > FEW or x != np.floor(x):
                for k in range(lanes):
                    total[k] += log_rising_binomial(row[k], x)
                continue
            for j in range(1, int(x)):
                share = 1.0 / (j + 1.0)
                for k in range(lanes):
                    product[k] *= (row[k] + j) * share
                factors += 1
                if factors % FACTORS == 0:
                    take_logs(product, total)
        if factors % FACTORS != 0:
            take_logs(product, total)
        place = int(length) % remembered
        if lengths[place] != length:
            lengths[place] = length
            for k in range(min(lanes, out.shape[1] - first)):
                of_length[place, k] = log_rising_binomial(totals[first + k], length)
        add_times(total, -1.0, of_length[place])
        add_and_clear(total, 0.0, out[i], first)


@score_dirichlet.defined(1 << 12)  # of whole numbers; fractions take longest
def score_dirichlet_by_definition(
    rows: Csr, concentration: Array, logs: Array, totals: Array, first: int, out: Array
) -> None:
    x, words, starts = read_entries(rows)
    each = np.arange(len(x))
    a = lanes_of(concentration, out, first)[words]
    total = sums_of_entries(starts, each, log_rising_entries(a, x))
    lengths = sums_of_entries(starts, each, x[:, None])
    part = totals[first : first + total.shape[1]]
    add_lanes(total - special.log_rising_binomial(part, lengths), out, first)


def log_rising_entries(a: Array, x: Array) -> Array:
    """log [a (a + 1) ... (a + x - 1) / x!] of words and classes, `(e, n), (e,) -> (e, n)`.

    Most words occur once or a few times, and logs of factors are faster than log gammas.
    """
    terms = special.log(a)
    few = (x <= FEW) & (x == np.floor(x))
    terms[x == 0.0] = 0.0
    terms[~few] = special.log_rising_binomial(a[~few], x[~few, None])
    for n in range(1, int(x.max(initial=0.0, where=few))):
        more = few & (x > n)
        terms[more] += np.log((a[more] + n) / (n + 1.0))
    return terms


@compiled
def take_logs(product: Array, total: Array) -> None:
    """Add the logarithm of each class's product to its total, and reset the product to 1."""
    for k in range(len(product)):
        total[k] += log(product[k])
        product[k] = 1.0
