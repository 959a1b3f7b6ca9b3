"""The sum of several classes' exponentiated scores, S = sum_k exp(U_k), by products of Laplace transforms.

    L_k(z) = E exp(-z exp(U_k))      E exp(-z S) = product of L_k(z)

on a ray z = exp(v + i angle). Mellin's transform takes M_k(s) = E exp(s U_k) = exp K_k(s), which is known, to L_k, and
the product back to E S**s: both are Fourier transforms in v. With tau along the line Re s = a,

    L_k = [1, or 1/2 if a = 0] + 1/(2 pi) int Gamma(tau i - a) z**(a - tau i) M_k(a - tau i) dtau
    n_k = z E exp(U_k - z exp(U_k)) z**-a = 1/(2 pi) int Gamma(1 - a + tau i) z**(-tau i) M_k(a - tau i) dtau
    E S**(a - t i) = 1/Gamma(1 - a + t i) int sum_k n_k (product of the others' L) z**(t i) dv

(Titchmarsh 1948, chapter 1). The way back divides by a Gamma function that decays like exp(-pi t / 2); turning the ray
by an angle near pi / 2 takes that decay away, and with it the loss of digits.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import fft, ifft
from scipy.special import loggamma

from bayesnb.families.base import Array

LOSS = 13.75  # nats lost on the way back; twice as many are what is cut off on the way there


class Ray(NamedTuple):
    """A line of places tau = (m + 1/2) step, up to `size` steps either way, and as many values of v from `start` on."""

    line: float
    step: float
    size: int
    start: float

    @property
    def angle(self) -> float:
        return max(0.0, np.pi / 2 - 2 * LOSS / (self.size / 2 * self.step))

    @property
    def tau(self) -> Array:
        """Above the axis, `(size / 2,)`."""
        return (np.arange(self.size // 2) + 0.5) * self.step

    @property
    def spacing(self) -> float:
        return 2 * np.pi / (self.size * self.step)

    @property
    def v(self) -> Array:
        return self.start + self.spacing * np.arange(self.size)

    @property
    def _all_tau(self) -> Array:
        """In the order of a Fourier transform: above the axis from the lowest, then below from the farthest."""
        return np.concatenate([self.tau, -self.tau[::-1]])

    def laplace(self, log_moments: Array) -> tuple[Array, Array]:
        """n_k and L_k on the ray from K_k(a + tau i), `(..., n) -> 2 of (..., v)`; z is scaled as the scores are."""
        below = np.exp(log_moments)
        moments = np.concatenate([below.conj(), below[..., ::-1]], axis=-1)  # of a - tau i
        tau = self._all_tau
        rates = self._forward(np.exp(loggamma(1 - self.line + 1j * tau) + self.angle * tau) * moments)
        values = self._forward(np.exp(loggamma(-self.line + 1j * tau) + self.angle * tau) * moments)
        whole = 1.0 if self.line else 0.5
        values = whole + np.exp(self.line * (self.v + 1j * self.angle)) * values
        size = np.abs(values)
        return rates, np.where(size > 1, values / np.where(size > 1, size, 1), values)  # beyond 1 is rounding

    def _forward(self, terms: Array) -> Array:
        """1/(2 pi) int terms exp(-i tau v) dtau."""
        turn = np.exp(-1j * self._all_tau * self.start)
        half = np.exp(-1j * np.pi * np.arange(self.size) / self.size)
        return fft(terms * turn, axis=-1) * half * self.step / (2 * np.pi)

    def moments(self, rates: Array) -> Array:
        """E S**(a - t i) at t = tau from the rates of a sum, `(..., v) -> (..., n)`."""
        half = np.exp(1j * np.pi * np.arange(self.size) / self.size)
        found = ifft(rates * half, axis=-1)[..., : len(self.tau)] * self.size * self.spacing
        return found * np.exp(
            1j * self.tau * self.start - loggamma(1 - self.line + 1j * self.tau) - self.angle * self.tau
        )


def joined(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
    """Rates and Laplace transform of the sum of two independent variables from those of each."""
    return one[0] * two[1] + one[1] * two[0], one[1] * two[1]


def of_the_rest(rates: Array, laplace: Array) -> Array:
    """The rates of the sum of all classes but one, for each of them, `(r, c, v), (r, c, v) -> (r, c, v)`."""
    nothing = np.zeros_like(rates[:, 0]), np.ones_like(laplace[:, 0])
    classes = rates.shape[1]
    before, after = [nothing], [nothing]
    for c in range(classes - 1):
        before.append(joined(before[-1], (rates[:, c], laplace[:, c])))
        last = classes - 1 - c
        after.append(joined(after[-1], (rates[:, last], laplace[:, last])))
    pairs = zip(before, reversed(after), strict=True)
    return np.stack([joined(one, two)[0] for one, two in pairs], axis=1)


def of_all(rates: Array, laplace: Array) -> tuple[Array, Array]:
    """The rates and the Laplace transform of the sum of all classes, `(r, c, v), (r, c, v) -> 2 of (r, v)`."""
    whole = rates[:, 0], laplace[:, 0]
    for c in range(1, rates.shape[1]):
        whole = joined(whole, (rates[:, c], laplace[:, c]))
    return whole
