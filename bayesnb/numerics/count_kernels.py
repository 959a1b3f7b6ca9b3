"""Counts in compressed rows (`data`, `indices`, `indptr` of CSR): sums by class, and scores of words under a die."""

from math import lgamma

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import log, staying
from bayesnb.numerics.flag_kernels import is_odd
from bayesnb.numerics.row_kernels import add_times, pour

FEW = 16  # counts up to here are products of factors
STIRLING_FROM = 16.0
FACTORS = 8  # of a product before its logarithm is taken: (1e30)**8 is a double
LARGEST = 1e30
MOST = 1e100
FAR = 1e18  # from here on FEW factors might not be a double
LOG_FACTORIALS = np.array([lgamma(n + 1.0) for n in range(256)])
SEEN = 1024  # lengths of rows whose normaliser is remembered


@compiled
def are_counts(data: Array, whole: bool, missing: bool) -> bool:
    """Whether all numbers are at least 0 and can be added up, are whole or need not be, NaN where that is missing."""
    odd = 0
    for p in range(len(data)):
        v = float(data[p])
        good = (v >= 0.0) & (v <= MOST) & ((v == np.floor(v)) | (not whole))
        odd |= not (good | (missing & (v != v)))
    return odd == 0


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
    """ln Gamma(a + x) - ln Gamma(a) - ln x!, for a, x >= 0, by a difference whose large parts never meet."""
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
    """ln of the number of orders in which one row's counts can come."""
    total, logs = 0.0, 0.0
    for p in range(len(data)):
        x = float(data[p])
        total += x
        if x != 1.0:  # most words occur once
            logs += log_factorial(x)
    return log_factorial(total) - logs


@compiled
def take_orders(data: Array, indptr: Array, power: float, out: Array) -> None:
    """Takes the log of the number of orders in which each row's counts can come, times the power, from `(r, c)`."""
    for i in range(len(indptr) - 1):
        most = power * log_orders(data[indptr[i] : indptr[i + 1]])
        for c in range(out.shape[1]):
            out[i, c] -= most


@compiled
def log_factorial(x: float) -> float:
    if 0.0 <= x < len(LOG_FACTORIALS) and x == np.floor(x):
        return LOG_FACTORIALS[int(x)]
    return lgamma(x + 1.0)


@compiled
def tally(
    data: Array,
    indices: Array,
    indptr: Array,
    weight: Array,
    counts: Array,
    orders: Array,
    order: Array,
    starts: Array,
    first: int,
    last: int,
) -> None:
    """Adds the rows of some classes to their counts, `(c, k)`, and to the sums of their log orders, `(c,)`."""
    for c in range(first, last):
        own = counts[c]
        for e in range(starts[c], starts[c + 1]):
            i = order[e]
            w, total, logs = weight[i], 0.0, 0.0
            for p in range(indptr[i], indptr[i + 1]):
                x = float(data[p])
                own[indices[p]] += w * x
                total += x
                if x != 1.0:
                    logs += log_factorial(x)
            orders[c] += w * (log_factorial(total) - logs)


@compiled
def tally_flags(
    data: Array,
    indices: Array,
    indptr: Array,
    weight: Array,
    threshold: float,
    ones: Array,
    missing: Array,
    order: Array,
    starts: Array,
    first: int,
    last: int,
) -> bool:
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
def score_flags(
    data: Array, indices: Array, indptr: Array, threshold: float, gain: Array, zero: Array, first: int, out: Array
) -> bool:
    """Adds what a one is worth beyond a zero, and takes back a missing cell's zero: 2 of `(k, lanes)`.

    Tells if no stored cell was odd.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    total, odd = np.zeros(gain.shape[1]), 0
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            v = data[p]
            if v > level:
                add_times(total, 1.0, gain[indices[p]])
            elif v != v:
                add_times(total, -1.0, zero[indices[p]])
            odd |= is_odd(v, strict)
        pour(total, 1.0, 0.0, out[i], first)
    return odd == 0


@compiled
def score_known(data: Array, indices: Array, indptr: Array, logs: Array, power: float, first: int, out: Array) -> None:
    """Adds the log-density of counts under known log probabilities, `(k, lanes) -> (r, c)`, times the power."""
    total = np.zeros(logs.shape[1])
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
        pour(total, power, power * (log_factorial(length) - factorials), out[i], first)


@compiled
def score_dirichlet(
    data: Array, indices: Array, indptr: Array, concentration: Array, logs: Array, totals: Array, first: int, out: Array
) -> None:
    """Adds the log of the Dirichlet-multinomial, of concentrations and their logs, `(k, lanes)` each."""
    lanes = logs.shape[1]
    total, product = np.zeros(lanes), np.ones(lanes)
    lengths, of_length = np.full(SEEN, -1.0), np.zeros((SEEN, lanes))
    for i in range(len(indptr) - 1):
        a, b = indptr[i], indptr[i + 1]
        length = score_words(data[a:b], indices[a:b], concentration, logs, total, product)
        place = int(length) % SEEN
        if lengths[place] != length:
            lengths[place] = length
            for k in range(min(lanes, out.shape[1] - first)):
                of_length[place, k] = log_rising_binomial(totals[first + k], length)
        add_times(total, -1.0, of_length[place])
        pour(total, 1.0, 0.0, out[i], first)


@compiled
def score_words(data: Array, indices: Array, concentration: Array, logs: Array, total: Array, product: Array) -> float:
    """Adds log of a (a + 1) ... (a + x - 1) / x! for one row's words; returns how many there are.

    Factors but the first, whose log is known, go into a product of which a logarithm is taken now and then.
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
    for k in range(len(product)):
        product[k] *= (concentration[k] + n) * share


@compiled
def take_logs(product: Array, total: Array) -> None:
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
def grown(a: float, x: float, power: float) -> float:
    """log E[g**(power * x)] of a Gamma variate g of shape a, less power * ln x!."""
    if power == 1.0:
        return log_rising_binomial(a, x)
    return gamma_ratio(a, power * x) - power * log_factorial(x)


@compiled
def left_out(
    data: Array,
    indices: Array,
    indptr: Array,
    weight: Array,
    extra: Array,
    counts: Array,
    whole: Array,
    known: bool,
    power: float,
    even: float,
    out: Array,
) -> None:
    """The scores of rows once so much of each has left its class, `(r,)`; see Pile for `extra` and `counts`, `(k,)`.

    `whole` holds the sums over levels of what is never below zero, of `extra`, and of `counts`. `even` is the log of
    a level's share of an empty die, NaN where that is no distribution.
    """
    plain = whole[1] >= 0.0
    for i in range(len(indptr) - 1):
        a, b = indptr[i], indptr[i + 1]
        w, length, gone, total = weight[i], 0.0, 0.0, 0.0
        for p in range(a, b):
            x, k = float(data[p]), indices[p]
            if x == 0.0:
                continue
            left = max(extra[k] + staying(counts[k], w * x), 0.0)
            length += x
            gone += max(extra[k] + counts[k], 0.0) - left
            total += x * np.log(left) - log_factorial(x) if known else grown(left, x, power)
        rest = whole[1] + staying(whole[2], w * length) if plain else whole[0] - gone
        if rest <= 0.0:
            out[i] = power * (length * even + log_orders(data[a:b])) if length > 0.0 or even != even else 0.0
        elif known:
            out[i] = power * (total - length * np.log(rest) + log_factorial(length))
        else:
            out[i] = total - grown(rest, length, power)
