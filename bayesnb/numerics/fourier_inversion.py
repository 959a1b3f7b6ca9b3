"""Quantiles and means of log-odds from their characteristic functions (Gil-Pelaez)."""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import logistic

STEPS = 60  # of a search for a quantile, at most


@compiled
def search(re: Array, im: Array, step: float, lower: Array, upper: Array, start: Array, level: Array) -> None:
    """Quantiles by Newton's steps within brackets, from characteristic functions at (m + 1/2) step, 2 of `(r, n)`.

    `start`, `(q, r)`, holds guesses and then the quantiles of the levels, `(q,)`; brackets are `(r,)`.
    """
    for i in range(len(re)):
        for q in range(len(level)):
            low, high = lower[i], upper[i]
            x = min(max(start[q, i], low), high)
            for _ in range(STEPS):
                share, density = distribution(re[i], im[i], step, x)
                if share > level[q]:
                    high = x
                else:
                    low = x
                new = x - (share - level[q]) / density if density > 0 else np.inf
                if not low < new < high:
                    new = 0.5 * (low + high)
                moved = abs(new - x)
                x = new
                if moved <= 1e-12 * (1.0 + abs(x)) or high - low <= 1e-13 * (1.0 + abs(x)):
                    break
            start[q, i] = x


@compiled
def distribution(re: Array, im: Array, step: float, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x."""
    c, s = np.cos(0.5 * step * x), -np.sin(0.5 * step * x)
    turn_c, turn_s = np.cos(step * x), -np.sin(step * x)
    share, density = 0.5, 0.0
    for m in range(len(re)):
        if m % 64 == 0:  # afresh, before rounding adds up
            c, s = np.cos((m + 0.5) * step * x), -np.sin((m + 0.5) * step * x)
        share -= (re[m] * s + im[m] * c) / (np.pi * (m + 0.5))
        density += re[m] * c - im[m] * s
        c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
    return share, density * step / np.pi


@compiled
def search_half(
    re: Array, im: Array, step: float, below: Array, lower: Array, upper: Array, start: Array, level: Array
) -> None:
    """The same from transforms on the line 1/2, in units of the row's own probability; `below` is that of the rest."""
    for i in range(len(re)):
        for q in range(len(level)):
            low, high = lower[i], upper[i]
            x = min(max(start[q, i], low), high)
            for _ in range(STEPS):
                share, density = half_distribution(re[i], im[i], step, below[i], x)
                if share > level[q]:
                    high = x
                else:
                    low = x
                new = x - (share - level[q]) / density if density > 0 else np.inf
                if not low < new < high:
                    new = 0.5 * (low + high)
                moved = abs(new - x)
                x = new
                if moved <= 1e-11 * (1.0 + abs(x)) or high - low <= 1e-12 * (1.0 + abs(x)):
                    break
            start[q, i] = x


@compiled
def half_distribution(re: Array, im: Array, step: float, below: float, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x."""
    c, s = 1.0, 0.0
    turn_c, turn_s = np.cos(step * x), -np.sin(step * x)
    even, odd, density = 0.0, 0.0, 0.0
    for m in range(len(re)):
        t = (m + 0.5) * step
        if m % 64 == 0:  # afresh, before rounding adds up
            c, s = np.cos(t * x), -np.sin(t * x)
        real, imaginary = re[m] * c - im[m] * s, re[m] * s + im[m] * c
        even += real / (0.25 + t * t)
        odd += t * imaginary / (0.25 + t * t)
        density += real
        c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
    share = np.sinh(0.5 * x) * even - 2.0 * np.cosh(0.5 * x) * odd
    return below + share * step / np.pi, 2.0 * np.cosh(0.5 * x) * density * step / np.pi


@compiled
def search_panels(
    re: Array, im: Array, t: Array, weight: Array, lower: Array, upper: Array, start: Array, level: Array
) -> None:
    """The same from transforms at any places, by halving brackets."""
    for i in range(len(re)):
        for q in range(len(level)):
            low, high = lower[i], upper[i]
            while high - low > 1e-9:
                x = 0.5 * (low + high)
                share, _ = panel_distribution(re[i], im[i], t, weight, x)
                if share > level[q]:
                    high = x
                else:
                    low = x
            start[q, i] = 0.5 * (low + high)


@compiled
def panel_distribution(re: Array, im: Array, t: Array, weight: Array, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x."""
    share, density = 0.0, 0.0
    for m in range(len(re)):
        c, s = np.cos(t[m] * x), -np.sin(t[m] * x)
        share += weight[m] * (re[m] * s + im[m] * c) / t[m]
        density += weight[m] * (re[m] * c - im[m] * s)
    return 0.5 - share / np.pi, density / np.pi


@compiled
def mean_by_density(re: Array, im: Array, step: float, lower: Array, width: float, centre: Array, out: Array) -> None:
    """The mean of 1 / (1 + exp(-x)) from transforms about the centre, 2 of `(r, n) -> (r,)`, over a window each."""
    for i in range(len(re)):
        points = int(width * (len(re[i]) * step + 10.0) / (2.0 * np.pi)) + 1  # as fine as both functions need
        total = 0.0
        for k in range(points):
            x = lower[i] + width * k / points
            _, density = distribution(re[i], im[i], step, x)
            total += density * logistic(centre[i] + x)
        out[i] = total * width / points
