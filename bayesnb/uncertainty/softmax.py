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
from bayesnb.threads import blocks
from bayesnb.uncertainty.inversion import FINE, HALF_WIDTH, SPARE, chernoff, too_heavy
from bayesnb.uncertainty.rays import Ray, of_the_rest
from bayesnb.uncertainty.scores import Scores

SURE = 28.0  # minus the log of a probability that is taken for 0
HALF_START = -52.0  # where log E - U starts on the line 1/2, for the most probable class at 0
NEEDED = 9.0  # the least t that is reached; the kernels of means and entropies are exp(-pi t)
CUT = 1e-10  # the size at which a characteristic function is cut off
LARGEST = 1 << 18  # size of a ray
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


class Group(NamedTuple):
    """Rows with as many active classes, and the rays that suit them."""

    rows: Array
    classes: Array
    ray: Ray


def characters(scores: Scores, kept: Array, observed: bool, narrow: bool) -> Iterator[Characters]:
    """Every row's transforms; `narrow` if they are asked for as far as they matter to quantiles, not only to means.

    On the line 1/2 they are in units of the row's predictive probability.
    """
    shift = np.logaddexp.reduce(scores.log_mean(), axis=1)
    queue = _groups(scores, kept, shift, observed, narrow)
    while queue:
        group = queue.pop()
        late = []
        for part in blocks(len(group.rows), max(AT_ONCE // (group.ray.size * scores.classes), 1)):
            rows, classes = group.rows[part], group.classes[part]
            phi, done = _on_ray(scores[rows], classes, shift[rows], group.ray)
            done |= not narrow
            late.append(np.arange(len(group.rows))[part][~done])
            if done.any():
                yield Characters(rows[done], classes[done], phi[done], group.ray.step)
        again = np.concatenate(late)
        if len(again):
            ray = group.ray._replace(size=2 * group.ray.size)
            if ray.size > LARGEST:
                raise too_heavy(2 * np.pi / ray.step)
            queue.append(Group(group.rows[again], group.classes[again], ray))


def _groups(scores: Scores, kept: Array, shift: Array, observed: bool, narrow: bool) -> list[Group]:
    number, reach = kept.sum(axis=1), _reach(scores, kept) if narrow else np.full(len(scores), NEEDED)
    if observed:
        width, start = np.full(len(scores), HALF_WIDTH), np.full(len(scores), HALF_START)
    else:
        width, start = _extent(scores, kept, shift)
    order = np.argsort(~kept, axis=1, kind="stable")
    found = []
    for a, wide, far in sorted(set(zip(number.tolist(), width.tolist(), reach.tolist(), strict=True))):
        rows = np.flatnonzero((number == a) & (width == wide) & (reach == far))
        step = 2 * np.pi / wide
        size = next_fast_len(int(4 * far / step), real=False)
        size += size % 2
        if size > LARGEST:
            raise too_heavy(wide)
        found.append(Group(rows, order[rows, :a], Ray(0.5 if observed else 0.0, step, size, float(start[rows].min()))))
    return found


def _reach(scores: Scores, kept: Array) -> Array:
    """Where the transforms of the log-odds would be small, were the two least spread scores normal."""
    least = np.sort(np.where(kept, scores.cumulants()[1], np.inf), axis=1)[:, :2].sum(axis=1)
    far = np.sqrt(-2 * np.log(CUT) / np.maximum(least, 1e-10))
    return np.maximum(FINE ** np.ceil(np.log(far) / np.log(FINE)), NEEDED)


def tame(scores: Scores, kept: Array) -> Array:
    """Rows whose scores, before they were seen, lie within a window that a ray can have, `(r,)`."""
    width, _ = _extent(scores, kept, np.zeros(len(scores)))
    return 2 * NEEDED * width / np.pi < LARGEST / 4


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


def _on_ray(scores: Scores, classes: Array, shift: Array, ray: Ray) -> tuple[Array, Array]:
    """phi_c up to half the ray's last t, `(r, a, n)`, and whether it is small by then."""
    s = ray.line + 1j * ray.tau
    own = np.take_along_axis(scores.transform(s), classes[..., None], axis=1) - shift[:, None, None] * s
    rest = ray.moments(of_the_rest(*ray.laplace(own)))
    n = len(ray.tau) // 2
    size = np.sort(own[..., n].real - own[..., 0].real, axis=1)  # a rest varies no less than one of its classes
    return np.exp(own[..., :n]) * rest[..., :n], np.exp(size[:, -1] + size[:, -2]) < CUT
