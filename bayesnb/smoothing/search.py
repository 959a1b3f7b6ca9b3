"""The smoothing that predicts labels best, each without its own row: one dial after the other, until none helps."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.priors.ascent import EDGE, LEAST, MOST
from bayesnb.priors.evidence import End
from bayesnb.smoothing.settings import Trials

ALIKE = 1e-9  # mean log scores this near are the same
LADDER = np.linspace(np.log(LEAST), np.log(MOST), 17)
ROUNDS, ENOUGH = 8, 1e-7  # of the mean log score, which another round must gain


class Dial(NamedTuple):
    """A kind of families, and what of their priors is turned."""

    kind: str
    name: str


DIALS = (Dial("die", "smoothing"), Dial("normal", "strength"), Dial("normal", "scale"), Dial("rate", "strength"))


def best_by_loo(trials: Trials, estimate: str) -> tuple[list[Family], list[End]]:
    """The families with the priors of the best leave-one-out log score, and the dials that have none within reach.

    One dial for all columns of a kind: the smoothing, and what the variance that Gaussian priors expect is multiplied
    by. Families that cannot be tuned are as they were.
    """
    kinds = {family.dial for family in trials.families}
    dials, at = [dial for dial in DIALS if dial.kind in kinds], np.zeros(len(DIALS))
    score = _scorer(trials, estimate, dials)
    best = -np.inf
    for turn in range(ROUNDS):
        before = best
        for d in range(len(dials)):
            at[d], best = _turned(lambda value: score(_with(at, d, value)), at[d], turn == 0)  # noqa: B023
        if len(dials) < 2 or best - before <= ENOUGH * max(1.0, abs(best)):
            break
    if not np.isfinite(best):
        raise ValueError(
            f"criterion='loo': whatever the smoothing, some rows have probability 0, or none that is defined, under "
            f"estimate={estimate!r} once they are left out, such as the only row of a class. "
            "Use estimate='predictive', or another class_prior."
        )
    return _families(trials, estimate, dials, at), _ends(trials, dials, at)


def _with(at: Array, place: int, value: float) -> Array:
    return np.where(np.arange(len(at)) == place, value, at)


def _scorer(trials: Trials, estimate: str, dials: list[Dial]) -> Callable[[Array], float]:
    """Dials, in logs -> the mean log score; minus infinity where there is none."""
    rows, counts = np.arange(len(trials.rows.codes)), trials.rows.counts

    def score(at: Array) -> float:
        model = trials.start(_families(trials, estimate, dials, at))
        own = trials.left_out(model, estimate)[rows, trials.rows.codes][counts > 0]
        value = float(counts[counts > 0] @ own / counts.sum())
        return value if np.isfinite(value) else -np.inf

    return score


def _turned(score: Callable[[float], float], now: float, first: bool) -> tuple[float, float]:
    """The best place of one dial, and its score: by a ladder over its whole range at first, then near where it is."""
    step = LADDER[1] - LADDER[0]
    if first:
        values = np.array([score(value) for value in LADDER])
        if values.max() == -np.inf:
            return now, -np.inf
        good = values >= values.max() - ALIKE * max(1.0, abs(values.max()))
        if good[-1] and not good[len(LADDER) // 2]:  # no limit to how strong it should be
            return float(LADDER[-1]), float(values[-1])
        now = float(LADDER[np.where(good, np.abs(LADDER), np.inf).argmin()])
    ends = max(now - step, LADDER[0]), min(now + step, LADDER[-1])
    found = minimize_scalar(lambda value: -score(value), bounds=ends, method="bounded", options={"xatol": 1e-3})
    tried = [(-float(found.fun), float(found.x)), (score(now), now)]
    top, place = max(tried, key=lambda pair: pair[0])
    return place, top


def _families(trials: Trials, estimate: str, dials: list[Dial], at: Array) -> list[Family]:
    value = {(dial.kind, dial.name == "scale"): float(np.exp(log)) for dial, log in zip(dials, at, strict=False)}
    return [
        family.smoothed(seen, value[family.dial, False], estimate, value.get((family.dial, True), 1.0))
        if family.dial
        else family
        for family, seen in zip(trials.families, trials.learnt.stats.blocks, strict=True)
    ]


def _ends(trials: Trials, dials: list[Dial], at: Array) -> list[End]:
    found = []
    for dial, log in zip(dials, at, strict=False):
        low, high = log <= LADDER[0] + EDGE, log >= LADDER[-1] - EDGE
        if low or high:
            columns = [
                (b, f)
                for b, family in enumerate(trials.families)
                if family.dial == dial.kind
                for f in range(trials.widths[b])
            ]
            found.append(End(dial.kind, dial.name, bool(high), tuple(columns)))
    return found
