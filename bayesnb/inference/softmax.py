"""The exact law of each probability among many classes, as log-odds of the class against the rest.

logit p_c = U_c - W_c, where W_c = log of the sum of the others' exp(U) does not depend on U_c. So each class and its
rest are two classes, once E exp(s W_c) is known: `rays` finds it. What is needed is one transform on one line,

    phi_c(t) = E exp((a + t i) U_c) E exp((a - t i) W_c),

on the line a = 0 where the row was fixed, and a = 1/2 where it was observed: the law given the row has density
exp(U_c) + exp(W_c) = exp((U_c + W_c) / 2) 2 cosh((U_c - W_c) / 2) against the law before it, whatever the row.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.fft import next_fast_len

from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.inversion import FINE, HALF_WIDTH, SPARE, chernoff, too_heavy
from bayesnb.inference.rays import Ray, of_the_rest
from bayesnb.numerics.threads import blocks

SURE = 28.0  # minus the log of a probability that is taken for 0
HALF_START = -52.0  # where log E - U starts on the line 1/2, for the most probable class at 0
NEEDED = 9.0  # the least t that is reached; the kernels of means and entropies are exp(-pi t)
CUT = 1e-10  # the size at which a characteristic function is cut off
LARGEST = 1 << 18  # size of a ray
LONGEST = 1 << 20  # size times classes: some tenths of a second for a row
AT_ONCE = 1 << 20  # numbers of a transform


def active(scores: Scores, log_mean: Array, observed: bool, gap: float) -> Array:
    """The classes whose expected probability is at least exp(-gap), `(r, c)`, and the two most probable ones.

    Given the row it is known. Before it, p_c <= (exp U_c / exp U_b)**s for any class b and 0 < s <= 1.
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


class Characters(NamedTuple):
    """phi_c of some rows and of their active classes, `(r, a, n)`, at t = (m + 1/2) step."""

    rows: Array
    classes: Array  # `(r, a)`
    phi: Array
    step: float

    @property
    def t(self) -> Array:
        return (np.arange(self.phi.shape[-1]) + 0.5) * self.step

    def means(self) -> Array:
        """E p_c, on the line 0."""
        return 0.5 + self.step * (self.phi.imag / np.sinh(np.pi * np.minimum(self.t, 100))).sum(axis=-1)


class Rays(NamedTuple):
    """The ray that each row needs, `(r,)` each: known from a few values of its transforms, before any work is done."""

    width: Array  # of the window that holds all scores and their differences
    start: Array
    size: Array  # beyond LARGEST, or infinite, if no transform is small by then
    work: Array  # size times active classes

    @property
    def light(self) -> Array:
        """Whether a row's law is inverted, `(r,)`: it takes longer than draws otherwise."""
        return (self.size <= LARGEST) & (self.work <= LONGEST)

    def of(self, rows: Array) -> "Rays":
        return Rays(*(array[rows] for array in self))


def rays(scores: Scores, kept: Array, observed: bool, narrow: bool) -> Rays:
    """Every row's ray; `narrow` if transforms are asked for as far as they matter to quantiles, not only to means."""
    reach = _reach(scores, kept, observed) if narrow else np.full(len(scores), NEEDED)
    if observed:
        width, start = np.full(len(scores), HALF_WIDTH), np.full(len(scores), HALF_START)
    else:
        width, start = _extent(scores, kept, np.logaddexp.reduce(scores.log_mean(), axis=1))
    size = 4 * reach * width / (2 * np.pi)
    return Rays(width, start, size, size * kept.sum(axis=1))


def characters(scores: Scores, kept: Array, observed: bool, needed: Rays) -> Iterator[Characters]:
    """Every row's transforms, on the ray that it needs.

    On the line 1/2 they are in units of the row's predictive probability.
    """
    shift = np.logaddexp.reduce(scores.log_mean(), axis=1)
    order = np.argsort(~kept, axis=1, kind="stable")
    keys = np.stack([kept.sum(axis=1), needed.width, needed.size])
    for a, wide, places in np.unique(keys, axis=1).T:
        if places > LARGEST:
            raise too_heavy(wide)
        group = np.flatnonzero((keys == [[a], [wide], [places]]).all(axis=0))
        size = next_fast_len(int(places), real=False)
        size += size % 2
        ray = Ray(0.5 if observed else 0.0, 2 * np.pi / wide, size, float(needed.start[group].min()))
        for part in blocks(len(group), max(AT_ONCE // (size * scores.classes), 1)):
            rows = group[part]
            classes = order[rows, : int(a)]
            yield Characters(rows, classes, _on_ray(scores[rows], classes, shift[rows], ray), ray.step)


def _reach(scores: Scores, kept: Array, observed: bool) -> Array:
    """Where the transforms of the log-odds have become small, `(r,)`: a rest varies no less than one of its classes."""
    t = NEEDED * FINE ** np.arange(np.log(LARGEST * np.pi / (2 * SPARE * NEEDED)) / np.log(FINE) + 1)
    size = scores.transform((0.5 if observed else 0.0) + 1j * np.append(0.0, t)).real
    size = np.where(kept[..., None], size[..., 1:] - size[..., :1], -np.inf)
    small = np.sort(size, axis=1)[:, -2:].sum(axis=1) < np.log(CUT)
    for_good = np.logical_and.accumulate(small[:, ::-1], axis=1)[:, ::-1]
    return np.where(for_good[:, -1], t[for_good.argmax(axis=1)], np.inf)


def _extent(scores: Scores, kept: Array, shift: Array) -> tuple[Array, Array]:
    """How wide a window holds all scores and their differences, and where log E - U starts, `(r,)` each."""

    def moments(s: Array) -> tuple[Array, Array]:
        down, up = np.split(scores.transform(np.concatenate([-s, s])).real, 2, axis=-1)
        return tuple(np.where(kept[..., None], side, 0.0) for side in (down, up))  # type: ignore[return-value]

    lower, upper = chernoff(moments, np.where(kept, np.sqrt(scores.cumulants()[1]), 1.0))
    least, most = np.where(kept, lower, np.inf).min(axis=1), np.where(kept, upper, -np.inf).max(axis=1)
    width = FINE ** np.ceil(np.log(2 * (most - least) + SPARE) / np.log(FINE))
    first = shift - most - SURE
    return width, np.floor(first / 8) * 8


def _on_ray(scores: Scores, classes: Array, shift: Array, ray: Ray) -> Array:
    """phi_c up to half the ray's last t, `(r, a, n)`."""
    s = ray.line + 1j * ray.tau
    own = np.take_along_axis(scores.transform(s), classes[..., None], axis=1) - shift[:, None, None] * s
    rest = ray.moments(of_the_rest(*ray.laplace(own)))
    n = len(ray.tau) // 2
    return np.exp(own[..., :n]) * rest[..., :n]
