"""The smoothing that predicts labels best, each without its own row: a coarse search, and a fine one from its best."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from bayesnb.families.base import Array
from bayesnb.families.family import Family, Hyperparameters, ordered_hyperparameters
from bayesnb.selection.ascent import EDGE, LEAST, MOST, positive
from bayesnb.selection.largest_evidence import End
from bayesnb.selection.settings import Trials

BOUNDS = float(np.log(LEAST)), float(np.log(MOST))
SIZES, SCALES = np.linspace(*BOUNDS, 17), np.log(10.0) * np.arange(-2.0, 3.0)
ALIKE = 1e-9  # mean log scores this near are the same
NEAR, MOST_STEPS = 1e-3, 300  # of the fine search: how near in logs, and how many scores at most
Score = Callable[[Array], float]


class Dial(NamedTuple):
    """A factor of the priors of all families with the same hyperparameters."""

    kind: Hyperparameters
    name: str


def best_by_loo(trials: Trials, estimate: str) -> tuple[list[Family], list[End]]:
    """The families with the priors of the best leave-one-out log score, and the dials that have none within reach.

    One dial for all columns of a kind: the smoothing, and what the variance that Gaussian priors expect is multiplied
    by. Families that cannot be tuned are as they were.
    """
    kinds = ordered_hyperparameters(trials.families)
    dials = [Dial(kind, name) for kind in kinds for name in kind.factors]
    score, at = _scorer(trials, estimate, dials), np.zeros(len(dials))
    for _ in range(min(2, len(kinds))):
        for kind in kinds:
            at = _coarsely(score, at, [d for d, dial in enumerate(dials) if dial.kind == kind])
    if score(at) == -np.inf:
        raise ValueError(
            f"criterion='loo': whatever the smoothing, some rows have probability 0, or none that is defined, under "
            f"estimate={estimate!r} once they are left out, such as the only row of a class. "
            "Use estimate='predictive', or another class_prior."
        )
    at = _finely(score, at, np.flatnonzero(at < BOUNDS[1] - EDGE))
    return _families(trials, estimate, dials, at), _ends(trials, dials, at)


def _coarsely(score: Score, at: Array, own: list[int]) -> Array:
    """The best place of a ladder, or of a grid of size and scale; of equally good ones the one nearest to 1.

    Where nothing is better than what is as good as infinitely strong, and the default is worse, it is that.
    """
    sizes = SIZES if len(own) == 1 else SIZES[::2]
    places = np.array(list(product(sizes, *([SCALES] * (len(own) - 1)))))
    every = np.tile(at, (len(places), 1))
    every[:, own] = places
    values = np.array([score(each) for each in every])
    top = values.max()
    if top == -np.inf:
        return at
    good, far = values >= top - ALIKE * max(1.0, abs(top)), np.abs(places).sum(axis=1)
    endless = good & (places[:, 0] == SIZES[-1])
    if endless.any() and not good[far == 0].any():
        good = endless
    return every[np.where(good, far, np.inf).argmin()]


def _finely(score: Score, at: Array, free: Array) -> Array:
    """The best place near this one, by the dials that are free: a bounded search of one, the simplex of several."""

    def loss(values: Array) -> float:
        return -score(_with(at, free, values))

    step = SIZES[1] - SIZES[0]
    if len(free) == 0:
        return at
    if len(free) == 1:
        now = float(at[free[0]])
        near = max(now - step, BOUNDS[0]), min(now + step, BOUNDS[1])
        found = minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": NEAR})
    else:
        steps = np.diag(np.where(at[free] > 0, -1.0, 1.0))
        corners = at[free] + np.vstack([np.zeros(len(free)), steps])
        options = {"initial_simplex": corners, "xatol": NEAR, "fatol": ALIKE, "maxfev": MOST_STEPS}
        found = minimize(loss, at[free], method="Nelder-Mead", bounds=[BOUNDS] * len(free), options=options)
    low, high = np.asarray(found.x) < BOUNDS[0] + NEAR, np.asarray(found.x) > BOUNDS[1] - NEAR
    there = _with(at, free, np.select([low, high], BOUNDS, found.x))  # a bounded search stops short of the ends
    return there if score(there) > score(at) else at


def _with(at: Array, own: Array, values: Array) -> Array:
    there = at.copy()
    there[own] = values
    return there


def _scorer(trials: Trials, estimate: str, dials: list[Dial]) -> Score:
    """Dials, in logs -> the mean log score; minus infinity where there is none."""
    rows, counts = np.arange(len(trials.rows.codes)), trials.rows.counts

    def score(at: Array) -> float:
        model = trials.start(_families(trials, estimate, dials, at))
        own = trials.left_out(model, estimate)[rows, trials.rows.codes][counts > 0]
        value = float(counts[counts > 0] @ own / counts.sum())
        return value if np.isfinite(value) else -np.inf

    return score


def _families(trials: Trials, estimate: str, dials: list[Dial], at: Array) -> list[Family]:
    value = {(dial.kind, dial.name == "scale"): float(positive(log)) for dial, log in zip(dials, at, strict=True)}
    return [
        family
        if family.hyperparameters is None
        else family.smoothed(
            seen, value[family.hyperparameters, False], estimate, value.get((family.hyperparameters, True), 1.0)
        )
        for family, seen in zip(trials.families, trials.learnt.stats.blocks, strict=True)
    ]


def _ends(trials: Trials, dials: list[Dial], at: Array) -> list[End]:
    found = []
    for dial, log in zip(dials, at, strict=True):
        low, high = log <= BOUNDS[0] + EDGE, log >= BOUNDS[1] - EDGE
        if low or high:
            columns = [
                (b, f)
                for b, family in enumerate(trials.families)
                if family.hyperparameters is dial.kind
                for f in range(trials.widths[b])
            ]
            found.append(End(dial.kind, dial.name, bool(high), tuple(columns)))
    return found
