"""Counts in compressed rows (`data`, `indices`, `indptr` of CSR): sums by class, and
Dirichlet-multinomial scores.

    log p(counts | a) = ln N! - sum ln x! + sum [ln Gamma(a_k + x_k) - ln Gamma(a_k)] - [ln Gamma(A
    + N) - ln Gamma(A)]

A = sum a, N = sum x. Minka (2000), Estimating a Dirichlet distribution. Differences of log gammas
are taken so that their large parts never meet: at a = 1e15 a plain difference has no correct digit
left.
"""

from math import lgamma

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesnb.numerics import special
from bayesnb.numerics.compilation import Array, Csr, compiled, inlined
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

# up to this count, Gamma(a + x) / (Gamma(a) x!) is a product of x factors, exact to some ulps
FEW = 16
FAR = 1e18  # and while a is below this, as FEW factors of 1e18 are at most 1e288, which is a double
# the first term that `stirling_tail` leaves out, z**-13 / 156, is 1.4e-18 here
STIRLING_FROM = 16.0
# largest count with a table of powers: most in texts are, and each table costs log gammas of all
# words
SMALL = 4
FACTORS = 8  # factors of a product before its logarithm is taken
# concentration up to which FACTORS factors fit a double, (1e30)**8; callers score larger ones in
# NumPy
LARGEST = 1e30
MOST = 1e100  # largest count: beyond, sums of counts times weights and their squares might overflow
LOG_FACTORIALS = np.array([lgamma(n + 1.0) for n in range(256)])
# row lengths whose normaliser is kept: texts have few lengths, and it costs two log gammas a class
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
    y = 1.0 / z
    v = y * y
    return y * (
        1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v * (1 / 1188 - v * 691 / 360360))))
    )


@compiled
def log_gamma_ratio(a: float, s: float) -> float:
    """ln Gamma(a + s) - ln Gamma(a) for a >= STIRLING_FROM, a + s >= STIRLING_FROM."""
    main = (a - 0.5) * np.log1p(s / a) + s * np.log(a + s) - s
    return main + stirling_tail(a + s) - stirling_tail(a)


@compiled
def log_rising_binomial(a: float, x: float) -> float:
    """ln Gamma(a + x) - ln Gamma(a) - ln x!, for a, x >= 0, by a difference whose large parts never
    meet.

    Of the three log gammas, the two with the largest arguments are subtracted as one ratio.
    """
    if x <= FEW and x == np.floor(x) and a < FAR:
        product = 1.0
        for k in range(int(x)):
            product *= (a + k) / (k + 1.0)
        return np.log(product)
    if a >= x and a >= STIRLING_FROM:
        return log_gamma_ratio(a, x) - lgamma(x + 1.0)
    if a < x and x + 1.0 >= STIRLING_FROM and x + a >= STIRLING_FROM and a > 0.0:
        return log_gamma_ratio(x + 1.0, a - 1.0) - lgamma(a)
    return lgamma(a + x) - lgamma(a) - lgamma(x + 1.0) if a > 0.0 else -np.inf


def log_rising_binomials(a: Array, x: Array) -> Array:
    """Return `log_rising_binomial` of arrays."""
    a, x = np.broadcast_arrays(a, x)
    few = (x <= FEW) & (x == np.floor(x)) & (a < FAR)
    product = np.ones(a.shape)
    for k in range(int(np.max(x, initial=0.0, where=few))):
        product *= np.where(few & (x > k), (a + k) / (k + 1.0), 1.0)
    with np.errstate(divide="ignore"):
        value = np.log(product)
    value[~few] = special.log_rising_binomial(a[~few], x[~few])
    return value


def take_orders(data: Array, indptr: Array, out: Array) -> None:
    """Subtract each row's log multinomial coefficient from its scores `(r, c)`."""
    x = data[indptr[0] : indptr[-1]].astype(float)
    out -= log_orders_of(x, indptr - indptr[0])[:, None]


def log_orders_of(x: Array, starts: Array) -> Array:
    """Log multinomial coefficient of each row, `(e,), (r + 1,) -> (r,)`."""
    first = starts[:-1]
    last = starts[1:]
    some = first < last  # of an empty row reduceat gives the entry that comes next
    lengths = np.zeros(len(first))
    lengths[some] = np.add.reduceat(x, first[some])
    # most counts in texts are 0 or 1, and ln x! of those is 0
    more = np.flatnonzero((x != 0) & (x != 1))
    row = np.searchsorted(last, more, side="right")
    logs = np.bincount(row, gammaln(x[more] + 1.0), minlength=len(first))
    return gammaln(lengths + 1.0) - logs


def read_entries(rows: Csr) -> tuple[Array, Array, Array]:
    """Counts, their words, and where each row starts among them; of these rows alone."""
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
                # unsigned: of others it is asked whether they are below 0
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
    labels = labels_of(len(weight), order, starts, first, last)
    each, weights = (np.repeat(of_rows, np.diff(row_starts)) for of_rows in (labels, weight))
    add_entries(each, words, weights * x, counts[first:last])
    here = labels >= 0
    logs = weight[here] * log_orders_of(x, row_starts)[here]
    np.add.at(orders, first + labels[here], logs)


def add_entries(labels: Array, words: Array, numbers: Array, out: Array) -> None:
    """Add a number to a class and word for each entry, `3 of (e,) -> (c, k)`.

    An entry of a negative class adds nothing.

    Other threads write to other classes, which is why `out` must have no others.
    """
    here = labels >= 0
    places = labels[here] * np.int64(out.shape[1]) + words[here]
    # row by row, so that blocks make no difference
    np.add.at(out.reshape(-1, copy=False), places, numbers[here])


def labels_of(rows: int, order: Array, starts: Array, first: int, last: int) -> Array:
    """Class of each row, counted from `first` on; -1 if it is not one of `first` to `last`."""
    labels = np.full(rows, -1)
    here = np.diff(starts[first : last + 1])
    labels[order[starts[first] : starts[last]]] = np.repeat(np.arange(last - first), here)
    return labels


@compiled
def score_multinomial(rows: Csr, logs: Array, first: int, out: Array) -> None:
    """Add multinomial scores of known probabilities, whose logs are `(k, lanes) -> (r, c)`."""
    (data, indices, indptr), total = rows, np.zeros(logs.shape[1])
    for i in range(len(indptr) - 1):
        length = 0.0
        log_factorials = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = float(data[p])
            length += x
            if x != 1.0:
                log_factorials += log_factorial(x)
            if x != 0.0:  # of a word that a class never has, 0 times minus infinity is 0
                add_times(total, x, logs[np.uint64(indices[p])])
        add_and_clear(total, log_factorial(length) - log_factorials, out[i], first)


@score_multinomial.defined()
def score_multinomial_by_definition(rows: Csr, logs: Array, first: int, out: Array) -> None:
    x, words, starts = read_entries(rows)
    counts = csr_array((x, words, starts), (len(starts) - 1, len(logs)))
    total = special.dot_logs(counts, lanes_of(logs, out, first).T)
    add_lanes(total + log_orders_of(x, starts)[:, None], out, first)


@compiled
def score_dirichlet(
    rows: Csr, concentration: Array, logs: Array, totals: Array, first: int, out: Array
) -> None:
    """Add Dirichlet-multinomial scores: concentrations and their logs, `(k, lanes)` each, totals
    `(c,) -> (r, c)`.
    """
    (data, indices, indptr), lanes = rows, logs.shape[1]
    total = np.zeros(lanes)
    product = np.ones(lanes)
    room = room_for_words(longest_row(indptr))
    # no more than there are rows: a single one is not to wait for memory
    remembered = min(REMEMBERED, len(indptr) - 1)
    lengths = np.full(remembered, -1.0)
    of_length = np.zeros((remembered, lanes))
    for i in range(len(indptr) - 1):
        a = indptr[i]
        b = indptr[i + 1]
        length = score_words(data[a:b], indices[a:b], concentration, logs, total, product, room)
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
    terms = log_rising_words(
        x, words, lanes_of(concentration, out, first), lanes_of(logs, out, first)
    )
    lengths = sums_of_entries(starts, np.arange(len(x)), x[:, None])
    total = sums_of_entries(starts, np.arange(len(x)), terms)
    part = totals[first : first + total.shape[1]]
    add_lanes(total - log_rising_binomials(part, lengths), out, first)


def log_rising_words(x: Array, words: Array, concentration: Array, logs: Array) -> Array:
    """log [a (a + 1) ... (a + x - 1) / x!] of words, `(e,), (e,), 2 of (k, n) -> (e, n)`.

    Most words occur once or a few times, and logs of factors take less time than log gammas.
    """
    terms = logs[words]
    if (x == 1.0).all():
        return terms
    terms[x == 0.0] = 0.0
    many = (x > FEW) | (x != np.floor(x))
    terms[many] = special.log_rising_binomial(concentration[words[many]], x[many, None])
    few = np.where(many, 0.0, x)
    for n in range(1, int(few.max(initial=0.0))):
        more = few > n
        terms[more] += np.log((concentration[words[more]] + n) / (n + 1.0))
    return terms


@inlined
def room_for_words(longest: int) -> tuple[Array, Array, Array, Array]:
    """Room for a row's words, as `score_words` parts them."""
    return (
        np.empty(longest, np.uint64),
        np.empty(longest, np.int64),
        np.empty(longest),
        np.empty(longest, np.int64),
    )


@compiled
def score_words(
    data: Array, indices: Array, concentration: Array, logs: Array, total: Array, product: Array,
    room: tuple[Array, Array, Array, Array],
) -> float:  # fmt: skip
    """Add log [a (a + 1) ...

    (a + x - 1) / x!] for one row's words; return how many words there are.

    The log of the first factor is known, of words that occur a `few` times: most do once. The
    others' factors go into a product of which one logarithm is taken for FACTORS of them: the
    logarithm is what costs time. There is no branch where words are parted, as it would be guessed
    wrong; sums are those of one word after the other.
    """
    few, others, counts, before = room
    n = 0
    m = 0
    length = 0.0
    for p in range(len(data)):
        x = float(data[p])
        length += x
        others[m], counts[m], before[m] = indices[p], x, n
        m += x != 1.0
        few[n] = indices[p]
        n += (x > 0.0) & (x <= FEW) & (x == np.floor(x))
    factors = 0
    done = 0
    for q in range(m):
        x = counts[q]
        word = others[q]
        if x > FEW or x != np.floor(x):
            add_rows(total, logs, few[done : before[q]], before[q] - done)
            done = before[q]
            for k in range(len(total)):
                total[k] += log_rising_binomial(concentration[word, k], x)
        else:
            for i in range(1, int(x)):
                rise(product, concentration[word], float(i), 1.0 / (i + 1.0))
                factors += 1
                if factors == FACTORS:
                    factors = 0
                    add_rows(total, logs, few[done : before[q] + 1], before[q] + 1 - done)
                    done = before[q] + 1
                    take_logs(product, total)
    add_rows(total, logs, few[done:n], n - done)
    if factors > 0:
        take_logs(product, total)
    return length


@inlined
def rise(product: Array, concentration: Array, n: float, share: float) -> None:
    """Multiply each class's product by (a + n) * share."""
    for k in range(len(product)):
        product[k] *= (concentration[k] + n) * share


@compiled
def take_logs(product: Array, total: Array) -> None:
    """Add the logarithm of each class's product to its total; the product is 1 again."""
    for k in range(len(product)):
        total[k] += log(product[k])
        product[k] = 1.0
