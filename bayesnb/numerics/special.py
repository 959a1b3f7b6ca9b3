"""Small functions that SciPy lacks, or does not compute to enough digits."""

from typing import Any

import numpy as np
from scipy.special import gammaln, loggamma, polygamma, psi

Array = np.ndarray
LOG_PI = float(np.log(np.pi))
LOG_2PI = float(np.log(2 * np.pi))

# from here on the series below is exact: its first omitted term, z**-13 / 156, is 1.4e-18
STIRLING_FROM = 16.0
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
# the series of its derivative
PSI_STIRLING = tuple((2 * k + 1) * term for k, term in enumerate(STIRLING))
# and of its second derivative
TRIGAMMA_STIRLING = tuple((2 * k + 2) * term for k, term in enumerate(PSI_STIRLING))


def ratio(part: Array, whole: Array) -> Array:
    """`part / whole`, but 0 where the whole is 0."""
    part = np.asarray(part, float)
    whole = np.asarray(whole, float)
    if np.count_nonzero(whole) == whole.size:  # three times as fast as `all` for few numbers
        return np.asarray(part / whole)
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole != 0)


def log(x: Array, out: Array | None = None) -> Array:
    """Logarithm of non-negative numbers, without a warning for log 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(x, out=out)


log1p = np.log1p


def accurate_log1p(z: Any) -> Array:
    """log(1 + z), real or complex; NumPy's complex log1p has no correct digit near 0."""
    if not np.iscomplexobj(z):
        return np.log1p(z)
    x = z.real
    y = z.imag
    square = x * (2 + x) + y * y  # |1 + z|**2 - 1
    near = square < -0.5  # 1 + square has lost its digits
    square = np.where(near, 0.0, square)
    whole = 1 + square
    # without AVX-512, log1p and arctan2 take twice as long as log and arctan
    lost = np.where(square < 1, square - (whole - 1), 0.0)  # rounding error of 1 + square
    out = np.empty(np.shape(z), complex)
    out.real = (np.log(whole) + lost / whole) / 2
    out.imag = np.arctan(y / (1 + x)) if (x > -1).all() else np.arctan2(y, 1 + x)
    if near.any():
        out.real[near] = np.log(np.hypot(1 + x, y)[near])
    return out


def times(x: Array, logs: Array) -> Array:
    """`x * logs`, but 0 where x is 0, even if the log is infinite."""
    return np.where(x == 0, 0.0, x * np.where(x == 0, 0.0, logs))


def draw_log_gamma(shape: Array, rng: np.random.Generator, size: Any = None) -> Array:
    """Draw log G for G ~ Gamma(shape, 1), with leading axes `size`: at a shape of 1e-3 most G would
    underflow.
    """
    axes = (() if size is None else tuple(np.atleast_1d(size))) + np.shape(shape)
    small = np.log(rng.uniform(size=axes)) / np.maximum(shape, np.finfo(float).tiny)
    return np.log(rng.standard_gamma(shape + 1, axes)) + small


def stirling_series(z: Array) -> Array:
    """ln Gamma(z) - [(z - 1/2) ln z - z + ln(2 pi) / 2] for large z, real or complex."""
    inverse = np.asarray(1 / z)
    square = inverse * inverse
    total = square * STIRLING[-1]
    for term in STIRLING[-2:0:-1]:
        total += term
        total *= square
    total += STIRLING[0]
    total *= inverse
    return total


def _tail(z: Array, terms: tuple[float, ...]) -> Array:
    """Sum of terms[k] / z**(2 k + 2); with PSI_STIRLING, log z - 1 / (2 z) - psi(z) for large z."""
    square = 1 / z**2
    total = np.zeros_like(z)
    for term in reversed(terms):
        total = (total + term) * square
    return total


def log_gamma_ratio(a: Array, s: Any) -> Array:
    """ln Gamma(a + s) - ln Gamma(a) for a >= 0 and s real or complex; +inf where the real part of a
    + s is not above 0.

    The plain difference loses five digits at a = 1e9 and all of them at 1e15. Where both arguments
    are large, Stirling's series are subtracted term by term, without cancellation.

    >>> round(float(log_gamma_ratio(1e15, 5)), 10)  # 5 log(1e15), and gammaln says 174
    172.6938819746
    """
    a = np.asarray(a, float)
    s = np.asarray(s)
    lgamma = loggamma if np.iscomplexobj(s) else gammaln
    with np.errstate(all="ignore"):
        z = np.asarray(a + s)
        large = (a >= STIRLING_FROM) & (z.real >= STIRLING_FROM)
        if not large.any():
            value = lgamma(z) - lgamma(a)
        else:  # each only where it is needed, as both are slow
            value = np.empty(z.shape, z.dtype)
            near = ~large
            far = np.broadcast_to(a, z.shape)[large]
            step = np.broadcast_to(s, z.shape)[large]
            # s itself, as z - a would be 0 at a = 1e17
            leading = (far - 0.5) * accurate_log1p(step / far) + step * np.log(z[large]) - step
            value[large] = leading + stirling_series(z[large]) - stirling_series(far)
            value[near] = lgamma(z[near]) - lgamma(np.broadcast_to(a, z.shape)[near])
        value = np.where(s == 0, 0.0, value)
        return np.where((z.real <= 0) & (s != 0), np.inf, value)


def log_gamma_cumulants(a: Array, order: int) -> Array:
    """Cumulants of the log of a Gamma(a) variate, on a leading axis."""
    with np.errstate(all="ignore"):
        return np.stack([psi(a), *(polygamma(n, a) for n in range(1, order))])


def psi_rise(a: Array, s: Array) -> Array:
    """psi(a + s) - psi(a) for a > 0 and s >= 0, without cancellation.

    It is the derivative of `log_gamma_ratio` in a. For large a, the terms of log z - 1 / (2 z) -
    ... are subtracted one by one.

    >>> float(psi_rise(1e15, 1.0))
    1e-15
    """
    a = np.asarray(a, float)
    s = np.asarray(s, float)
    large = a >= STIRLING_FROM
    near = np.where(large, STIRLING_FROM, a)
    far = np.where(large, a, STIRLING_FROM)
    leading = accurate_log1p(s / far) + s / (2 * far * (far + s))
    return np.where(
        large,
        leading + _tail(far, PSI_STIRLING) - _tail(far + s, PSI_STIRLING),
        psi(near + s) - psi(near),
    )


def trigamma(z: Array) -> Array:
    """psi'(z), the variance of the log of a Gamma(z) variate, z >= 0."""
    return polygamma(1, z)


def trigamma_fall(a: Array, s: Array) -> Array:
    """psi'(a) - psi'(a + s) for a > 0 and s >= 0, without cancellation, by the series of
    `psi_rise`.

    >>> round(1e24 * float(trigamma_fall(1e12, 1.0)), 10)  # psi' less psi' is 1.00005
    1.0
    """
    a, s = np.broadcast_arrays(np.asarray(a, float), np.asarray(s, float))
    near = a < STIRLING_FROM
    far = np.maximum(a, STIRLING_FROM)
    end = far + s
    leading = s / far / end * (1 + (1 / far + 1 / end) / 2)
    value = np.asarray(
        leading + _tail(far, TRIGAMMA_STIRLING) / far - _tail(end, TRIGAMMA_STIRLING) / end
    )
    value[near] = trigamma(a[near]) - trigamma(a[near] + s[near])
    return value


def log_rising_binomial(a: Array, x: Array) -> Array:
    """ln Gamma(a + x) - ln Gamma(a) - ln x! for a, x >= 0, without cancellation."""
    with np.errstate(invalid="ignore"):
        return np.where(
            a >= x,
            log_gamma_ratio(a, x) - gammaln(x + 1),
            log_gamma_ratio(x + 1, np.maximum(a, 0) - 1) - gammaln(a),
        )


def less(moment: Array, normalizer: Array) -> Array:
    """`moment - normalizer`, but infinite where the moment is, whatever the normalizer."""
    return np.where(
        np.isposinf(moment.real),
        np.inf,
        moment - np.where(np.isposinf(normalizer.real), 0, normalizer),
    )


def log1p_square(z: Array) -> Array:
    """log(1 + z**2) for any real z, also where the square overflows."""
    size = np.abs(z)
    if size.size and np.fmax.reduce(size, axis=None) >= 1e8:
        small = np.where(size < 1e8, size, 0.0)
        return np.where(
            size < 1e8, np.log1p(small * small), 2 * log(np.where(size < 1e8, 1.0, size))
        )
    return np.log1p(size * size)


def dot_logs(x: Array, logs: Array) -> Array:
    """Sum of x * logs over features, `(r, f), (c, f) -> (r, c)`, where 0 * -inf is 0.

    x may be sparse.
    """
    never = np.isneginf(logs)
    if not never.any():
        return x @ logs.T
    total = x @ np.where(never, 0.0, logs).T
    return np.where(x @ never.T.astype(float) > 0, -np.inf, total)
