"""Counts in compressed rows (`data`, `indices`, `indptr` of CSR): sums by class, and Dirichlet-multinomial scores.

    log p(counts | a) = ln N! - sum ln x! + sum [ln Gamma(a_k + x_k) - ln Gamma(a_k)] - [ln Gamma(A + N) - ln Gamma(A)]

A = sum a, N = sum x. Minka (2000), Estimating a Dirichlet distribution. Differences of log gammas are taken so that
their large parts never meet: at a = 1e15 a plain difference has no correct digit left.
"""

from math import lgamma

import numpy as np

from bayesnb.numerics.compilation import Array, Csr, compiled
from bayesnb.numerics.elementary import log, remaining
from bayesnb.numerics.row_kernels import add_and_clear, add_times

FEW = 16  # up to this count, Gamma(a + x) / (Gamma(a) x!) is a product of x factors, exact to some ulps
FAR = 1e18  # and while a is below this, as FEW factors of 1e18 are at most 1e288, which is a double
STIRLING_FROM = 16.0  # the first term that `stirling_tail` leaves out, z**-13 / 156, is 1.4e-18 here
SMALL = 4  # largest count with a table of powers: most in texts are, and each table costs log gammas of all words
FACTORS = 8  # factors of a product before its logarithm is taken
LARGEST = 1e30  # concentration up to which FACTORS factors fit a double, (1e30)**8; callers score larger ones in NumPy
MOST = 1e100  # largest count: beyond, sums of counts times weights and their squares might overflow
LOG_FACTORIALS = np.array([lgamma(n + 1.0) for n in range(256)])
REMEMBERED = 1024  # row lengths whose normaliser is kept: texts have few lengths, and it costs two log gammas a class


@compiled
def are_counts(data: Array, whole_numbers: bool, missing: bool) -> bool:
    """Whether all numbers are counts: from 0 to MOST, without a fraction if `whole_numbers`, or NaN if `missing`."""
    invalid = 0
    for p in range(len(data)):
        v = float(data[p])
        good = (v >= 0.0) & (v <= MOST) & ((v == np.floor(v)) | (not whole_numbers))
        invalid |= not (good | (missing & (v != v)))
    return invalid == 0


@compiled
def stirling_tail(z: float) -> float:
    """ln Gamma(z) - [(z - 1/2) ln z - z + ln(2 pi) / 2] for z >= STIRLING_FROM."""
    y = 1.0 / z
    v = y * y
    return y * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v * (1 / 1188 - v * 691 / 360360)))))


@compiled
def log_gamma_ratio(a: float, s: float) -> float:
    """ln Gamma(a + s) - ln Gamma(a) for a >= STIRLING_FROM, a + s >= STIRLING_FROM."""
    main = (a - 0.5) * np.log1p(s / a) + s * np.log(a + s) - s
    return main + stirling_tail(a + s) - stirling_tail(a)


@compiled
def log_rising_binomial(a: float, x: float) -> float:
    """ln Gamma(a + x) - ln Gamma(a) - ln x!, for a, x >= 0, by a difference whose large parts never meet.

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


@compiled
def log_orders(data: Array) -> float:
    """Log multinomial coefficient ln N! - sum ln x! of one row: the number of orders in which its words can come."""
    total, logs = 0.0, 0.0
    for p in range(len(data)):
        x = float(data[p])
        total += x
        if x != 1.0:  # most words occur once
            logs += log_factorial(x)
    return log_factorial(total) - logs


@compiled
def take_orders(data: Array, indptr: Array, power: Array, out: Array) -> None:
    """Subtract each row's log multinomial coefficient, times the row's power, from its scores `(r, c)`."""
    for i in range(len(indptr) - 1):
        orders = power[i] * log_orders(data[indptr[i] : indptr[i + 1]])
        for c in range(out.shape[1]):
            out[i, c] -= orders


@compiled
def log_factorial(x: float) -> float:
    """ln x!, from a table for small integers."""
    if 0.0 <= x < len(LOG_FACTORIALS) and x == np.floor(x):
        return LOG_FACTORIALS[int(x)]
    return lgamma(x + 1.0)


@compiled
def tally(
    rows: Csr, weight: Array, counts: Array, orders: Array, order: Array, starts: Array, first: int, last: int
) -> None:
    """Add the rows of classes `first` to `last` to their counts, `(c, k)`, and sums of log orders, `(c,)`."""
    data, indices, indptr = rows
    for c in range(first, last):
        class_counts = counts[c]
        for e in range(starts[c], starts[c + 1]):
            i = order[e]
            w, total, logs = weight[i], 0.0, 0.0
            for p in range(indptr[i], indptr[i + 1]):
                x = float(data[p])
                class_counts[indices[p]] += w * x
                total += x
                if x != 1.0:
                    logs += log_factorial(x)
            orders[c] += w * (log_factorial(total) - logs)


@compiled
def score_known(rows: Csr, logs: Array, power: Array, first: int, out: Array) -> None:
    """Add the log-density of counts under known log probabilities, `(k, lanes) -> (r, c)`, times each row's power."""
    (data, indices, indptr), total = rows, np.zeros(logs.shape[1])
    for i in range(len(indptr) - 1):
        length, factorials = 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = float(data[p])
            length += x
            if x == 1.0:  # most words occur once
                add_times(total, 1.0, logs[indices[p]])
            elif x != 0.0:
                add_times(total, x, logs[indices[p]])
                factorials += log_factorial(x)
        add_and_clear(total, power[i], power[i] * (log_factorial(length) - factorials), out[i], first)


@compiled
def score_dirichlet(rows: Csr, concentration: Array, logs: Array, totals: Array, first: int, out: Array) -> None:
    """Add Dirichlet-multinomial scores: concentrations and their logs, `(k, lanes)` each, totals `(c,) -> (r, c)`."""
    (data, indices, indptr), lanes = rows, logs.shape[1]
    total, product = np.zeros(lanes), np.ones(lanes)
    lengths, of_length = np.full(REMEMBERED, -1.0), np.zeros((REMEMBERED, lanes))
    for i in range(len(indptr) - 1):
        a, b = indptr[i], indptr[i + 1]
        length = score_words(data[a:b], indices[a:b], concentration, logs, total, product)
        place = int(length) % REMEMBERED
        if lengths[place] != length:
            lengths[place] = length
            for k in range(min(lanes, out.shape[1] - first)):
                of_length[place, k] = log_rising_binomial(totals[first + k], length)
        add_times(total, -1.0, of_length[place])
        add_and_clear(total, 1.0, 0.0, out[i], first)


@compiled
def score_words(data: Array, indices: Array, concentration: Array, logs: Array, total: Array, product: Array) -> float:
    """Add log [a (a + 1) ... (a + x - 1) / x!] for one row's words; return how many words there are.

    The log of the first factor is known. The others go into a product of which one logarithm is taken for FACTORS of
    them: the logarithm is what costs time.
    """
    length, factors = 0.0, 0
    for p in range(len(data)):
        x, word = float(data[p]), indices[p]
        length += x
        if x == 1.0:
            add_times(total, 1.0, logs[word])
        elif x > FEW or x != np.floor(x):
            for k in range(len(total)):
                total[k] += log_rising_binomial(concentration[word, k], x)
        elif x > 0.0:
            add_times(total, 1.0, logs[word])
            for n in range(1, int(x)):
                rise(product, concentration[word], float(n), 1.0 / (n + 1.0))
                factors += 1
                if factors == FACTORS:
                    factors = 0
                    take_logs(product, total)
    if factors > 0:
        take_logs(product, total)
    return length


@compiled
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


@compiled
def gamma_ratio(a: float, s: float) -> float:
    """ln Gamma(a + s) - ln Gamma(a) for a, s >= 0."""
    if s == 0.0:
        return 0.0
    if a >= STIRLING_FROM:
        return log_gamma_ratio(a, s)
    return lgamma(a + s) - lgamma(a) if a > 0.0 else -np.inf


@compiled
def log_rising_moment(a: float, x: float, power: float) -> float:
    """log E[g**(power * x)] - power * ln x!, where g ~ Gamma(a, 1)."""
    if power == 1.0:
        return log_rising_binomial(a, x)
    return gamma_ratio(a, power * x) - power * log_factorial(x)


@compiled
def fill_power_tables(concentration: Array, power: float, tables: Array) -> None:
    """Fill tables of ln Gamma(a + power x) - ln Gamma(a) for each count x, `(k, lanes) -> (x, k, lanes)`."""
    for x in range(len(tables)):
        for k in range(concentration.shape[0]):
            for c in range(concentration.shape[1]):
                tables[x, k, c] = gamma_ratio(concentration[k, c], power * x)


@compiled
def score_power(
    rows: Csr, concentration: Array, tables: Array, totals: Array, power: Array, first: int, out: Array
) -> None:
    """Add log E[p(x | theta)**power] of Dirichlet-multinomials, `(k, lanes)`, `(c,) -> (r, c)`; a power for each row.

    Terms of small counts are looked up in tables, if rows of one power have any; others are computed.
    """
    (data, indices, indptr), lanes = rows, concentration.shape[1]
    total, lengths, of_length = np.zeros(lanes), np.full(REMEMBERED, -1.0), np.zeros((REMEMBERED, lanes))
    for i in range(len(indptr) - 1):
        a, b, length, t = indptr[i], indptr[i + 1], 0.0, power[i]
        for p in range(a, b):
            x, word = float(data[p]), indices[p]
            length += x
            if x < len(tables) and x == np.floor(x):
                add_times(total, 1.0, tables[int(x), word])
            else:
                for c in range(lanes):
                    total[c] += gamma_ratio(concentration[word, c], t * x)
        place, scaled = int(length) % REMEMBERED, t * length
        if lengths[place] != scaled:
            lengths[place] = scaled
            for c in range(min(lanes, out.shape[1] - first)):
                of_length[place, c] = gamma_ratio(totals[first + c], scaled)
        add_times(total, -1.0, of_length[place])
        add_and_clear(total, 1.0, t * log_orders(data[a:b]), out[i], first)


@compiled
def left_out(
    rows: Csr, weight: Array, extra: Array, counts: Array, sums: Array, known: bool, power: Array, even: float,
    out: Array,
) -> None:  # fmt: skip
    """Scores of rows of one class once each row's weight has left the class's counts, `-> (r,)`.

    A level's concentration is max(extra + count, 0), `(k,)` each: `extra` is the prior, or the prior less one for a
    mode, and each row has a power. `sums` are the sums over levels of that maximum, of `extra`, and of `counts`. Where
    nothing is left of the total, the score is that of even shares, their logs `even`; NaN if that is no distribution.
    """
    data, indices, indptr = rows
    never_clipped = sums[1] >= 0.0  # then the total is a difference of two sums, which rounds less
    for i in range(len(indptr) - 1):
        a, b = indptr[i], indptr[i + 1]
        w, t, length, removed, total = weight[i], power[i], 0.0, 0.0, 0.0
        for p in range(a, b):
            x, k = float(data[p]), indices[p]
            if x == 0.0:
                continue
            left = max(extra[k] + remaining(counts[k], w * x), 0.0)
            length += x
            removed += max(extra[k] + counts[k], 0.0) - left
            total += x * np.log(left) - log_factorial(x) if known else log_rising_moment(left, x, t)
        rest = sums[1] + remaining(sums[2], w * length) if never_clipped else sums[0] - removed
        if rest <= 0.0:
            no_words = length == 0.0 and even == even
            out[i] = 0.0 if no_words else t * (length * even + log_orders(data[a:b]))
        elif known:
            out[i] = t * (total - length * np.log(rest) + log_factorial(length))
        else:
            out[i] = total - log_rising_moment(rest, length, t)
