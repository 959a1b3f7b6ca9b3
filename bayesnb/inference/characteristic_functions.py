"""Characteristic functions of the log-odds of each class against all others.

logit p_c = U_c - W_c, where W_c, the log of the sum of exp(U) over the other classes, is
independent of U_c. So once E exp(s W_c) is known, each class and the others are like two classes;
with two classes W_c is a score. All that is needed is one transform on one line,

    phi_c(t) = E exp((a + t i) U_c) E exp((a - t i) W_c),

with a = 0 if the row is fixed, and a = 1/2 if it is observed: given the row, the density is that
before it times exp(U_c) + exp(W_c) = exp((U_c + W_c) / 2) 2 cosh((U_c - W_c) / 2), up to a
constant.

The second factor is a moment of a sum of exponentiated scores, S = sum_k exp(U_k), from products of
Laplace transforms:

    L_k(z) = E exp(-z exp(U_k))      E exp(-z S) = product of L_k(z)

on a ray z = exp(v + i angle). The Mellin transform takes the known M_k(s) = E exp(s U_k) = exp
K_k(s) to L_k, and the product back to E S**s: both are Fourier transforms in v. With tau along the
line Re s = a,

    L_k = [1, or 1/2 if a = 0] + 1/(2 pi) int Gamma(tau i - a) z**(a - tau i) M_k(a - tau i) dtau
    n_k = z E exp(U_k - z exp(U_k)) z**-a
        = 1/(2 pi) int Gamma(1 - a + tau i) z**(-tau i) M_k(a - tau i) dtau
    E S**(a - t i) = 1/Gamma(1 - a + t i) int sum_k n_k (product of the other L) z**(t i) dv

Titchmarsh (1948), Introduction to the theory of Fourier integrals, chapter 1. The first line is
Mellin inversion on a line left of the pole of the Gamma function at 0, whose residue is M_k(0) = 1.
The line a = 0 passes through the pole: the symmetric midpoint sum over tau is the principal value,
and half of the residue remains.

The way back divides by a Gamma function that decays like exp(-pi t / 2): on the real axis, angle =
0, all digits would be lost at t = 23. Rotating the ray by an angle multiplies Gamma functions by
exp(angle tau), which leaves a decay of exp(-(pi / 2 - angle) t), see ROUND_TRIP_LOSS. With an angle
of pi / 2 there would be no decay, and the sums would not end.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.fft import fft, ifft, next_fast_len
from scipy.special import loggamma

from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores, exponent_log_moment
from bayesnb.inference.two_classes import (
    LOG_NEGLIGIBLE,
    TAIL_PROBABILITY,
    WIDTH_FACTOR,
    chernoff,
    log_odds_window,
)
from bayesnb.numerics.fourier_inversion import mean_by_transform
from bayesnb.numerics.threads import blocks

# Nats lost on the way back at the last t, half the last tau: exp(13.75) = 9e5 times rounding is
# 2e-10, about TERM_TOLERANCE. On the way there terms are cut off at the last tau, where they are
# exp(-2 ROUND_TRIP_LOSS) = 1e-12.
ROUND_TRIP_LOSS = 13.75
# how much wider a window is than the range of scores: kernels of means and entropies have tails of
# exp(-|x|), exp(-40) at half of it
LOGISTIC_ROOM = 80.0
# width of a window on the line 1/2, where tails are at most exp(-|x| / 2): 8e-15 at half of it
HALF_WIDTH = 130.0
# Start of log E - U on the line 1/2, with scores in units of the probability of the row, so that
# those of the most probable class are around 0: tails are exp(-|v| / 2) for any row, 5e-12 at -52
# and 1e-17 at 78, where a window of HALF_WIDTH ends.
HALF_START = -52.0
# least range of t: the kernels of means and entropies are exp(-pi t), 5e-13
LAST_T = 9.0
LENGTHS = 38  # candidate ranges of t, between LAST_T and 5,500
TERM_TOLERANCE = 1e-10  # a characteristic function, 1 at t = 0, is cut off at this size
MAX_PLACES = 1 << 18  # of a ray: a row that needs more is drawn
# points times classes for a fixed row: beyond, drawing is faster; an observed row takes as long to
# draw, as it needs its own theta
MAX_WORK = 1 << 20
NUMBERS_AT_ONCE = 1 << 20  # numbers of a transform held at once: 16 MiB


class Ray(NamedTuple):
    """A line of `size` points tau = (m + 1/2) step, symmetric about 0.

    There are as many values of v, from `start` on, in steps of 2 pi / (size step).
    """

    line: float
    step: float
    size: int
    start: float

    @property
    def angle(self) -> float:
        """Angle of the ray, such that exp(-(pi / 2 - angle) tau) is exp(-2 ROUND_TRIP_LOSS) at the
        last tau.
        """
        return max(0.0, np.pi / 2 - 2 * ROUND_TRIP_LOSS / (self.size / 2 * self.step))

    @property
    def tau(self) -> Array:
        """Points above the axis, `(size / 2,)`."""
        return (np.arange(self.size // 2) + 0.5) * self.step

    @property
    def half_turn(self) -> Array:
        """Phase factors for the 1/2 in (m + 1/2) step of a Fourier transform over m."""
        return np.exp(-1j * np.pi * np.arange(self.size) / self.size)

    def laplace(self, log_moments: Array) -> tuple[Array, Array]:
        """n_k and L_k on the ray from K_k(a + tau i), `(..., n) -> 2 of (..., v)`.

        z is scaled like the scores.
        """
        below = np.exp(log_moments)
        moments = np.concatenate([below.conj(), below[..., ::-1]], axis=-1)  # of a - tau i
        # in the order of a Fourier transform: above the axis upwards, then below it upwards
        tau = np.concatenate([self.tau, -self.tau[::-1]])
        turn = (self.angle - 1j * self.start) * tau
        scale = self.half_turn * self.step / (2 * np.pi)
        rates, values = (
            fft(np.exp(loggamma(k - self.line + 1j * tau) + turn) * moments, axis=-1) * scale
            for k in (1, 0)
        )
        v = self.start + 2 * np.pi / (self.size * self.step) * np.arange(self.size)
        # residue of the pole of Gamma at 0, and half of it on the line through it
        residue = 1.0 if self.line else 0.5
        values = residue + np.exp(self.line * (v + 1j * self.angle)) * values
        return rates, values / np.maximum(np.abs(values), 1)  # sizes above 1 are rounding

    def moments(self, rates: Array) -> Array:
        """E S**(a - t i) at t = tau from the rates of a sum, `(..., v) -> (..., n)`."""
        tau = self.tau
        integral = ifft(rates * self.half_turn.conj(), axis=-1)[..., : len(tau)]
        turn = (1j * self.start - self.angle) * tau - loggamma(1 - self.line + 1j * tau)
        return integral * 2 * np.pi / self.step * np.exp(turn)


def rates_of_others(rates: Array, laplace: Array) -> Array:
    """Rates of the sum of all other classes, for each class, `(r, c, v), (r, c, v) -> (r, c, v)`.

    From products over the classes before and after; dividing the total product could divide by 0.
    """
    rate_before, before = _sums_before(rates, laplace)
    rate_after, after = _sums_before(rates[:, ::-1], laplace[:, ::-1])
    return rate_before * after[:, ::-1] + before * rate_after[:, ::-1]


def _sums_before(rates: Array, laplace: Array) -> tuple[Array, Array]:
    """Rates and Laplace transforms of the sums of the classes before each, `2 of (r, c, v)`."""
    of_rates = np.zeros_like(rates)
    of_laplace = np.ones_like(laplace)
    for c in range(1, rates.shape[1]):
        before = of_rates[:, c - 1], of_laplace[:, c - 1]
        last = rates[:, c - 1], laplace[:, c - 1]
        of_rates[:, c] = before[0] * last[1] + before[1] * last[0]
        of_laplace[:, c] = before[1] * last[1]
    return of_rates, of_laplace


def active(scores: Scores, observed: bool, gap: float) -> Array:
    """Whether the expected probability of a class may be at least exp(-gap), `(r, c)`.

    Always True for the two most probable classes. Given the row it is known; before it, p_c <= (exp
    U_c / exp U_b)**s for any class b and 0 < s <= 1.
    """
    log_mean = scores.log_mean
    best = np.argsort(-log_mean, axis=1)[:, :2]
    if observed or log_mean.shape[1] == 2:
        log_bound = log_mean - np.logaddexp.reduce(log_mean, axis=1)[:, None]
    else:
        s = np.array([0.25, 0.5, 1.0])
        up, down = np.split(scores.transform(np.concatenate([s, -s])).real, 2, axis=-1)
        log_bound = (up + down.min(axis=1, keepdims=True)).min(axis=-1)
    kept = log_bound > -gap
    np.put_along_axis(kept, best, True, axis=1)
    return kept


class CharacteristicFunctions(NamedTuple):
    """phi_c of rows and their active classes, `(r, a, n)`, at t = (m + 1/2) step."""

    rows: Array
    classes: Array  # `(r, a)`
    phi: Array
    step: float

    @property
    def t(self) -> Array:
        return (np.arange(self.phi.shape[-1]) + 0.5) * self.step

    @property
    def at(self) -> tuple[Array, Array]:
        """Index of the rows and classes in an array `(r, c)`."""
        return self.rows[:, None], self.classes

    def means(self) -> Array:
        """E p_c, on the line 0."""
        return mean_by_transform(self.phi, self.step)


def characteristic_functions(
    scores: Scores, kept: Array, observed: bool, narrow: bool
) -> Iterator[CharacteristicFunctions]:
    """Yield the transforms of active classes, grouped by rows that need the same ray.

    Rows that would take too long are left out. With `narrow`, transforms reach as far as quantiles
    need, not only means. On the line 1/2 they are in units of the predictive probability of the
    row.
    """
    reach = last_place(scores, kept, observed) if narrow else np.full(len(scores), LAST_T)
    log_row = np.logaddexp.reduce(scores.log_mean, axis=1)
    if observed:
        width, start = np.full((2, len(scores)), [[HALF_WIDTH], [HALF_START]])
    else:
        width, start = _extent(scores, kept, log_row)
    places = 4 * reach * width / (2 * np.pi)
    needed = np.stack([kept.sum(axis=1), width, places], axis=1)
    possible = places <= (MAX_PLACES if observed else MAX_WORK / kept.sum(axis=1))
    order = np.argsort(~kept, axis=1, kind="stable")
    for ray_of_rows in np.unique(needed[possible], axis=0):
        a, wide, most = ray_of_rows
        group = np.flatnonzero((needed == ray_of_rows).all(axis=1))
        size = next_fast_len(int(most), real=False)
        size += size % 2
        line = 0.5 if observed else 0.0
        ray = Ray(line, 2 * np.pi / float(wide), size, float(start[group].min()))
        for part in blocks(len(group), max(NUMBERS_AT_ONCE // (size * scores.classes), 1)):
            rows = group[part]
            classes = order[rows, : int(a)]
            phi = _on_ray(scores[rows], classes, log_row[rows], ray)
            yield CharacteristicFunctions(rows, classes, phi, ray.step)


def last_place(scores: Scores, kept: Array, observed: bool) -> Array:
    """Last t that matters, `(r,)`; infinite if transforms do not become small.

    W_c varies at least as much as any of its scores, so phi_c is at most the product of the two
    largest transforms of scores, and negligible where that is below TERM_TOLERANCE.
    """
    t = LAST_T * WIDTH_FACTOR ** np.arange(LENGTHS)
    size = scores.transform((0.5 if observed else 0.0) + 1j * np.append(0.0, t)).real
    size = np.where(kept[..., None], size[..., 1:] - size[..., :1], -np.inf)
    small = np.sort(size, axis=1)[:, -2:].sum(axis=1) < np.log(TERM_TOLERANCE)
    stays_small = np.logical_and.accumulate(small[:, ::-1], axis=1)[:, ::-1]
    return np.where(stays_small[:, -1], t[stays_small.argmax(axis=1)], np.inf)


def _extent(scores: Scores, kept: Array, log_row: Array) -> tuple[Array, Array]:
    """Width of a window for all scores and differences, and the start of v, `(r,)` each."""
    if scores.classes == 2:  # which may share parameters
        even = scores.cumulants().sum(axis=2) + scores.pair_cumulants(False)[0, ..., 1]
        ends = log_odds_window(scores, np.sqrt(even[1]), False)
        most, least = np.abs(ends).max(axis=0), 0.0
    else:
        spread = np.where(kept, np.sqrt(scores.cumulants()[1]), 1.0)
        lower, upper = chernoff(
            lambda s: np.where(kept[..., None], scores.transform(s).real, 0.0), spread
        )
        noise = np.sqrt(-2 * np.log(TAIL_PROBABILITY) * scores.exponent_variance.max(axis=1))
        least = np.where(kept, lower, np.inf).min(axis=1) - noise
        most = np.where(kept, upper, -np.inf).max(axis=1)
    width = 2 * (most - least) + LOGISTIC_ROOM
    # there exp(v + U) is below exp(-LOG_NEGLIGIBLE), except with the probability of leaving the
    # window
    first = log_row - most - LOG_NEGLIGIBLE
    # rounded, so that rows can share a ray
    return WIDTH_FACTOR ** np.ceil(np.log(width) / np.log(WIDTH_FACTOR)), np.floor(first / 8) * 8


def _on_ray(scores: Scores, classes: Array, log_row: Array, ray: Ray) -> Array:
    """phi_c up to half of the last tau, `(r, a, n)`; beyond, more than ROUND_TRIP_LOSS is lost."""
    n = ray.size // 4
    two = classes.shape[1] == 2
    s = ray.line + 1j * (ray.tau[:n] if two else ray.tau)
    terms = np.take_along_axis(scores.transform(s), classes[..., None], axis=1)
    terms = terms - log_row[:, None, None] * s
    if two:
        second = terms[:, 1] + terms[:, 0].conj() + scores.pair_transform(s, s.conj())
        phi = np.exp(np.stack([second.conj(), second], axis=1))
    else:
        of_others = ray.moments(rates_of_others(*ray.laplace(terms)))
        phi = np.exp(terms[..., :n]) * of_others[..., :n]
    variance = np.take_along_axis(scores.exponent_variance, classes, axis=1)
    if variance.any():
        phi = phi * np.exp(exponent_log_moment(variance, s[:n], s[:n].conj()))
    return phi
