"""The exact distribution of each of many classes' log-odds against the others.

logit p_c = U_c - W_c, where W_c = log of the sum of the others' exp(U) is independent of U_c. So
each class and the others are two classes, once E exp(s W_c) is known. What is needed is one
transform on one line,

    phi_c(t) = E exp((a + t i) U_c) E exp((a - t i) W_c),

on the line a = 0 where the row was fixed, and a = 1/2 where it was observed: the distribution given
the row has density exp(U_c) + exp(W_c) = exp((U_c + W_c) / 2) 2 cosh((U_c - W_c) / 2) against the
one before it, whatever the row.

The second factor is a moment of the sum of several classes' exponentiated scores, S = sum_k
exp(U_k), by products of Laplace transforms:

    L_k(z) = E exp(-z exp(U_k))      E exp(-z S) = product of L_k(z)

on a ray z = exp(v + i angle). Mellin's transform takes M_k(s) = E exp(s U_k) = exp K_k(s), which is
known, to L_k, and the product back to E S**s: both are Fourier transforms in v. With tau along the
line Re s = a,

    L_k = [1, or 1/2 if a = 0] + 1/(2 pi) int Gamma(tau i - a) z**(a - tau i) M_k(a - tau i) dtau
    n_k = z E exp(U_k - z exp(U_k)) z**-a
        = 1/(2 pi) int Gamma(1 - a + tau i) z**(-tau i) M_k(a - tau i) dtau
    E S**(a - t i) = 1/Gamma(1 - a + t i) int sum_k n_k (product of the others' L) z**(t i) dv

Titchmarsh (1948), Introduction to the theory of Fourier integrals, chapter 1. The first line is
Mellin's inversion on a line left of the Gamma function's pole at 0, whose residue is M_k(0) = 1.
The line a = 0 passes through the pole: the midpoint sum over tau, symmetric about it, is the
principal value, and half of the residue stays.

The way back divides by a Gamma function that decays like exp(-pi t / 2): on the real axis, angle =
0, every digit would be lost at t = 23. Turning the ray by an angle multiplies the Gamma functions
by exp(angle tau), which takes the decay away but for exp(-(pi / 2 - angle) t), see ROUND_TRIP_LOSS.
A turn by pi / 2 itself would leave no decay that cuts the sums off.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.fft import fft, ifft, next_fast_len
from scipy.special import loggamma

from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.two_classes import (
    HALF_WIDTH,
    LOGISTIC_ROOM,
    TAIL_PROBABILITY,
    WIDTH_FACTOR,
    chernoff,
    too_heavy,
)
from bayesnb.numerics.threads import blocks

# Nats lost on the way back at the last t, half the last tau. exp(13.75) = 9e5 times rounding is
# 2e-10, about TERM_TOLERANCE; on the way there terms are cut off at the last tau, where they are
# exp(-2 ROUND_TRIP_LOSS) = 1e-12.
ROUND_TRIP_LOSS = 13.75
# minus the log of a probability that is taken for 0, 7e-13: S is 0 or 1 to that at the ends of a
# window
LOG_NEGLIGIBLE = 28.0
# Where log E - U starts on the line 1/2, scores being in units of the row's probability, so that
# those of the most probable class are around 0: tails are exp(-|v| / 2) whatever the row, 5e-12 at
# -52 and 1e-17 at 78, where a window of HALF_WIDTH ends.
HALF_START = -52.0
# the least t that is reached: the kernels of means and entropies are exp(-pi t), 5e-13
LAST_T = 9.0
TERM_TOLERANCE = 1e-10  # size at which a characteristic function is cut off, beside its 1 at t = 0
MAX_PLACES = 1 << 18  # places of a ray: a row whose transforms need more is drawn
MAX_WORK = (
    1 << 20
)  # places times classes: some tenths of a second for a row, longer than drawing it
NUMBERS_AT_ONCE = 1 << 20  # numbers of a transform that are held at once: 16 MiB


class Ray(NamedTuple):
    """A line of `size` places tau = (m + 1/2) step, and as many values of v.

    Half of the places are on either side of 0.
    """

    line: float
    step: float
    size: int
    start: float

    @property
    def angle(self) -> float:
        """Turn of the ray.

        It is pi / 2 less what makes exp(-(pi / 2 - angle) tau) = exp(-2 ROUND_TRIP_LOSS) at the
        last tau.
        """
        return max(0.0, np.pi / 2 - 2 * ROUND_TRIP_LOSS / (self.size / 2 * self.step))

    @property
    def tau(self) -> Array:
        """Places above the axis, `(size / 2,)`."""
        return (np.arange(self.size // 2) + 0.5) * self.step

    @property
    def spacing(self) -> float:
        """Step of v, to which a Fourier transform of `size` numbers takes a step of tau."""
        return 2 * np.pi / (self.size * self.step)

    @property
    def v(self) -> Array:
        return self.start + self.spacing * np.arange(self.size)

    @property
    def _all_tau(self) -> Array:
        """Places in the order of a Fourier transform.

        Above the axis from the lowest, then below from the farthest.
        """
        return np.concatenate([self.tau, -self.tau[::-1]])

    def laplace(self, log_moments: Array) -> tuple[Array, Array]:
        """n_k and L_k on the ray from K_k(a + tau i), `(..., n) -> 2 of (..., v)`.

        Z is scaled as the scores are.
        """
        below = np.exp(log_moments)
        moments = np.concatenate([below.conj(), below[..., ::-1]], axis=-1)  # of a - tau i
        tau = self._all_tau
        rates = self._forward(
            np.exp(loggamma(1 - self.line + 1j * tau) + self.angle * tau) * moments
        )
        values = self._forward(np.exp(loggamma(-self.line + 1j * tau) + self.angle * tau) * moments)
        # of Gamma's pole at 0, and half of it on the line through it
        residue = 1.0 if self.line else 0.5
        values = residue + np.exp(self.line * (self.v + 1j * self.angle)) * values
        size = np.abs(values)
        # a larger size is rounding
        return rates, np.where(size > 1, values / np.where(size > 1, size, 1), values)

    def _forward(self, terms: Array) -> Array:
        """1/(2 pi) int terms exp(-i tau v) dtau; the halves of (m + 1/2) step are taken out."""
        turn = np.exp(-1j * self._all_tau * self.start)
        half = np.exp(-1j * np.pi * np.arange(self.size) / self.size)
        return fft(terms * turn, axis=-1) * half * self.step / (2 * np.pi)

    def moments(self, rates: Array) -> Array:
        """E S**(a - t i) at t = tau from the rates of a sum, `(..., v) -> (..., n)`."""
        half = np.exp(1j * np.pi * np.arange(self.size) / self.size)
        integral = ifft(rates * half, axis=-1)[..., : len(self.tau)] * self.size * self.spacing
        return integral * np.exp(
            1j * self.tau * self.start
            - loggamma(1 - self.line + 1j * self.tau)
            - self.angle * self.tau
        )


def sum_of_two(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
    """Rates and Laplace transform of the sum of two independent variables from those of each."""
    return one[0] * two[1] + one[1] * two[0], one[1] * two[1]


def rates_of_others(rates: Array, laplace: Array) -> Array:
    """Rates of the sum of all classes but one, for each of them.

    Shapes: `(r, c, v), (r, c, v) -> (r, c, v)`.

    Products of the classes before and behind: to divide all by one would divide by what is 0.
    """
    nothing = np.zeros_like(rates[:, 0]), np.ones_like(laplace[:, 0])
    classes = rates.shape[1]
    before = [nothing]
    after = [nothing]
    for c in range(classes - 1):
        before.append(sum_of_two(before[-1], (rates[:, c], laplace[:, c])))
        last = classes - 1 - c
        after.append(sum_of_two(after[-1], (rates[:, last], laplace[:, last])))
    pairs = zip(before, reversed(after), strict=True)
    return np.stack([sum_of_two(one, two)[0] for one, two in pairs], axis=1)


def active(scores: Scores, log_mean: Array, observed: bool, gap: float) -> Array:
    """Whether a class's expected probability may be exp(-gap) or more, `(r, c)`.

    True of the two most probable ones.

    Given the row it is known. Before it, p_c <= (exp U_c / exp U_b)**s for any class b and 0 < s <=
    1.
    """
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
    """phi_c of rows and of their active classes, `(r, a, n)`, at t = (m + 1/2) step."""

    rows: Array
    classes: Array  # `(r, a)`
    phi: Array
    step: float

    @property
    def t(self) -> Array:
        return (np.arange(self.phi.shape[-1]) + 0.5) * self.step

    def widened(self, variance: Array, observed: bool) -> "CharacteristicFunctions":
        """Add normal noise of a variance, `(r, a)`, to log-odds, as exponents do: see `Scores`."""
        if not variance.any():
            return self
        exponent = -variance[..., None] * (self.t**2 / 2 + (0.125 if observed else 0.0))
        return self._replace(phi=self.phi * np.exp(exponent))

    def means(self) -> Array:
        """E p_c = 1/2 + int Im phi_c(t) / sinh(pi t) dt, on the line 0.

        Where t > 100 the kernel is 0 to any digit.
        """
        return 0.5 + self.step * (self.phi.imag / np.sinh(np.pi * np.minimum(self.t, 100))).sum(
            axis=-1
        )


class Rays(NamedTuple):
    """Ray that each row needs, `(r,)` each.

    Known from a few values of its transforms, before any work is done.
    """

    width: Array  # of the window that holds all scores and their differences
    start: Array
    size: Array  # beyond MAX_PLACES, or infinite, if no transform is small by then
    work: Array  # size times active classes

    @property
    def light(self) -> Array:
        """Whether a row's transforms are inverted, `(r,)`; otherwise draws take less time."""
        return (self.size <= MAX_PLACES) & (self.work <= MAX_WORK)

    def of(self, rows: Array) -> "Rays":
        return Rays(*(array[rows] for array in self))


def rays(scores: Scores, kept: Array, observed: bool, narrow: bool) -> Rays:
    """Ray of each row.

    `narrow` if its transforms are needed as far as they matter to quantiles, not only to means.
    """
    reach = last_place(scores, kept, observed) if narrow else np.full(len(scores), LAST_T)
    if observed:
        width = np.full(len(scores), HALF_WIDTH)
        start = np.full(len(scores), HALF_START)
    else:
        width, start = _extent(scores, kept, np.logaddexp.reduce(scores.log_mean(), axis=1))
    size = 4 * reach * width / (2 * np.pi)
    return Rays(width, start, size, size * kept.sum(axis=1))


def characters(
    scores: Scores, kept: Array, observed: bool, needed: Rays
) -> Iterator[CharacteristicFunctions]:
    """Transforms of each row, on the ray that it needs, rows of equal rays together.

    On the line 1/2 they are in units of the row's predictive probability.
    """
    shift = np.logaddexp.reduce(scores.log_mean(), axis=1)
    order = np.argsort(~kept, axis=1, kind="stable")
    keys = np.stack([kept.sum(axis=1), needed.width, needed.size])
    for a, wide, places in np.unique(keys, axis=1).T:
        if places > MAX_PLACES:
            raise too_heavy()
        group = np.flatnonzero((keys == [[a], [wide], [places]]).all(axis=0))
        size = next_fast_len(int(places), real=False)
        size += size % 2
        ray = Ray(
            0.5 if observed else 0.0, 2 * np.pi / wide, size, float(needed.start[group].min())
        )
        for part in blocks(len(group), max(NUMBERS_AT_ONCE // (size * scores.classes), 1)):
            rows = group[part]
            classes = order[rows, : int(a)]
            yield CharacteristicFunctions(
                rows, classes, _on_ray(scores[rows], classes, shift[rows], ray), ray.step
            )


def last_place(scores: Scores, kept: Array, observed: bool) -> Array:
    """Last t that matters, `(r,)`.

    Infinite where transforms are not small at the end of the largest ray.

    W_c varies no less than one of its scores, so phi_c is at most the product of the two largest
    transforms of scores, and small where that is below TERM_TOLERANCE.
    """
    t = LAST_T * WIDTH_FACTOR ** np.arange(
        np.log(MAX_PLACES * np.pi / (2 * LOGISTIC_ROOM * LAST_T)) / np.log(WIDTH_FACTOR) + 1
    )
    size = scores.transform((0.5 if observed else 0.0) + 1j * np.append(0.0, t)).real
    size = np.where(kept[..., None], size[..., 1:] - size[..., :1], -np.inf)
    small = np.sort(size, axis=1)[:, -2:].sum(axis=1) < np.log(TERM_TOLERANCE)
    stays_small = np.logical_and.accumulate(small[:, ::-1], axis=1)[:, ::-1]
    return np.where(stays_small[:, -1], t[stays_small.argmax(axis=1)], np.inf)


def _extent(scores: Scores, kept: Array, shift: Array) -> tuple[Array, Array]:
    """Return the width of a window for all scores and differences, and its start, `(r,)` each."""

    def moments(s: Array) -> tuple[Array, Array]:
        down, up = np.split(scores.transform(np.concatenate([-s, s])).real, 2, axis=-1)
        return np.where(kept[..., None], down, 0.0), np.where(kept[..., None], up, 0.0)

    lower, upper = chernoff(moments, np.where(kept, np.sqrt(scores.cumulants()[1]), 1.0))
    least = np.where(kept, lower, np.inf).min(axis=1)
    most = np.where(kept, upper, -np.inf).max(axis=1)
    noise = np.sqrt(-2 * np.log(TAIL_PROBABILITY) * scores.exponent_variance.max(axis=1))
    width = WIDTH_FACTOR ** np.ceil(
        np.log(2 * (most - least + noise) + LOGISTIC_ROOM) / np.log(WIDTH_FACTOR)
    )
    # there exp(v + U) is below exp(-LOG_NEGLIGIBLE), but for the probability of leaving the window
    first = shift - most - LOG_NEGLIGIBLE
    return width, np.floor(first / 8) * 8  # rounded, so that rows of one width share their start


def _on_ray(scores: Scores, classes: Array, shift: Array, ray: Ray) -> Array:
    """phi_c up to half the ray's last tau, `(r, a, n)`.

    Beyond, the way back has lost more than ROUND_TRIP_LOSS.
    """
    s = ray.line + 1j * ray.tau
    terms = (
        np.take_along_axis(scores.transform(s), classes[..., None], axis=1)
        - shift[:, None, None] * s
    )
    of_others = ray.moments(rates_of_others(*ray.laplace(terms)))
    n = len(ray.tau) // 2
    return np.exp(terms[..., :n]) * of_others[..., :n]
