"""Search for the smoothing with the best leave-one-out log score of the labels: coarse, then fine from its best."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from bayesnb.families.base import Array
from bayesnb.families.family import Family, Hyperparameters, ordered_hyperparameters
from bayesnb.selection.ascent import EDGE, LEAST, MOST, positive
from bayesnb.selection.hyperparameters import End
from bayesnb.selection.settings import PriorVariants

BOUNDS = float(np.log(LEAST)), float(np.log(MOST))
SIZES, SCALES = np.linspace(*BOUNDS, 17), np.log(10.0) * np.arange(-2.0, 3.0)
ALIKE = 1e-9  # mean log scores this near are equal
NEAR, MOST_STEPS = 1e-3, 300  # of the fine search: how near in logs, and how many scores at most
Score = Callable[[Array], float]


class Dial(NamedTuple):
    """A factor of the priors of all families with the same hyperparameters."""

    kind: Hyperparameters
    name: str


def best_by_loo(variants: PriorVariants, estimate: str) -> tuple[list[Family], list[End]]:
    """Return families with the priors of the best leave-one-out log score, and the dials that end at a bound.

    One dial serves all columns of a kind: the smoothing, and the factor of the variance that Gaussian priors expect.
    Families that cannot be tuned stay as they were.
    """
    kinds = ordered_hyperparameters(variants.families)
    dials = [Dial(kind, name) for kind in kinds for name in kind.factors]
    score, at = _scorer(variants, estimate, dials), np.zeros(len(dials))
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
    return _families(variants, estimate, dials, at), _ends(variants, dials, at)


def _coarsely(score: Score, at: Array, dials: list[int]) -> Array:
    """Return the best place of a ladder, or of a grid of size and scale; of equally good ones the one nearest to 1.

    Where nothing beats a practically infinite prior, and the default is worse, it is that prior.
    """
    sizes = SIZES if len(dials) == 1 else SIZES[::2]
    places = np.array(list(product(sizes, *([SCALES] * (len(dials) - 1)))))
    grid = np.tile(at, (len(places), 1))
    grid[:, dials] = places
    values = np.array([score(each) for each in grid])
    top = values.max()
    if top == -np.inf:
        return at
    good, far = values >= top - ALIKE * max(1.0, abs(top)), np.abs(places).sum(axis=1)
    endless = good & (places[:, 0] == SIZES[-1])
    if endless.any() and not good[far == 0].any():
        good = endless
    return grid[np.where(good, far, np.inf).argmin()]


def _finely(score: Score, at: Array, free: Array) -> Array:
    """Return the best place near this one: a bounded search of one free dial, the simplex of several."""

    def loss(values: Array) -> float:
        return -score(_with(at, free, values))

    step = SIZES[1] - SIZES[0]
    if len(free) == 0:
        return at
    if len(free) == 1:
        now = float(at[free[0]])
        near = max(now - step, BOUNDS[0]), min(now + step, BOUNDS[1])
        result = minimize_scalar(loss, bounds=near, method="bounded", options={"xatol": NEAR})
    else:
        steps = np.diag(np.where(at[free] > 0, -1.0, 1.0))
        corners = at[free] + np.vstack([np.zeros(len(free)), steps])
        options = {"initial_simplex": corners, "xatol": NEAR, "fatol": ALIKE, "maxfev": MOST_STEPS}
        result = minimize(loss, at[free], method="Nelder-Mead", bounds=[BOUNDS] * len(free), options=options)
    low, high = np.asarray(result.x) < BOUNDS[0] + NEAR, np.asarray(result.x) > BOUNDS[1] - NEAR
    there = _with(at, free, np.select([low, high], BOUNDS, result.x))  # a bounded search stops short of the ends
    return there if score(there) > score(at) else at


def _with(at: Array, dials: Array, values: Array) -> Array:
    there = at.copy()
    there[dials] = values
    return there


def _scorer(variants: PriorVariants, estimate: str, dials: list[Dial]) -> Score:
    """Return a function of the dials, in logs: the mean log score, or minus infinity where there is none."""
    rows, counts = np.arange(len(variants.rows.codes)), variants.rows.counts

    def score(at: Array) -> float:
        model = variants.start(_families(variants, estimate, dials, at))
        log_scores = variants.left_out(model, estimate)[rows, variants.rows.codes][counts > 0]
        value = float(counts[counts > 0] @ log_scores / counts.sum())
        return value if np.isfinite(value) else -np.inf

    return score


def _families(variants: PriorVariants, estimate: str, dials: list[Dial], at: Array) -> list[Family]:
    value = {(dial.kind, dial.name == "scale"): float(positive(log)) for dial, log in zip(dials, at, strict=True)}
    return [
        family
        if family.hyperparameters is None
        else family.smoothed(
            seen, value[family.hyperparameters, False], estimate, value.get((family.hyperparameters, True), 1.0)
        )
        for family, seen in zip(variants.families, variants.learnt.stats.blocks, strict=True)
    ]


def _ends(variants: PriorVariants, dials: list[Dial], at: Array) -> list[End]:
    ends = []
    for dial, log in zip(dials, at, strict=True):
        low, high = log <= BOUNDS[0] + EDGE, log >= BOUNDS[1] - EDGE
        if low or high:
            columns = [
                (b, f)
                for b, family in enumerate(variants.families)
                if family.hyperparameters is dial.kind
                for f in range(variants.widths[b])
            ]
            ends.append(End(dial.kind, dial.name, bool(high), tuple(columns)))
    return ends
