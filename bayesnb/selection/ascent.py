"""The largest value of a function of a few positive numbers, in their logs and within bounds."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

Array = np.ndarray
LEAST, MOST = 1e-8, 1e8  # where a concentration or a count is as good as 0, or as infinite
EDGE = 1e-6  # how near to an end, in logs, is at the end


def positive(logs: Array) -> Array:
    """The numbers whose logs are given; an end of the range is exactly that."""
    return np.clip(np.exp(logs), LEAST, MOST)


class Hill(Protocol):
    """A height over `d` dials."""

    def heights(self, dials: Array) -> Array:
        """At many places at once, `(d, s) -> (s,)`."""

    def climb(self, dials: Array) -> tuple[float, Array]:
        """At one place, with its gradient, `(d,) -> (), (d,)`."""


def highest(hill: Hill, ladders: Sequence[Array], bounds: Sequence[tuple[float, float]], rungs: int = 1) -> Array:
    """The dials of the largest height: the best place of a coarse grid, and uphill from there by L-BFGS-B.

    With as many `rungs` as the first ladder has, uphill from the best place of each: there may be several hills.
    """
    grid = np.stack([each.ravel() for each in np.meshgrid(*ladders, indexing="ij")])
    best = np.argmax(hill.heights(grid).reshape(rungs, -1), axis=1) + np.arange(rungs) * (grid.shape[1] // rungs)
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10, "maxls": 50}

    def down(dials: Array) -> tuple[float, Array]:
        height, slope = hill.climb(dials)
        return -height, -slope

    def uphill(start: Array) -> Any:
        return minimize(down, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    at = min((uphill(start) for start in grid[:, best].T), key=lambda result: float(result.fun)).x
    for _ in range(2):  # a fresh start forgets the curvature of where it came from
        before, at = at, uphill(at).x
        if np.abs(at - before).max() < 1e-5:
            break
    return at
