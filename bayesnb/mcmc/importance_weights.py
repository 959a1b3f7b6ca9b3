"""Draws that do not count alike: for a row that came from the population, each by how probable it makes the row.

    p(theta | D, x)  is  p(theta | D) p(x | theta)      so draws from p(theta | D) get weights p(x | theta)

How many equal draws they are worth is (sum w)**2 / sum w**2: Kish (1965), Survey Sampling, section 11.7.
"""

import warnings
from pathlib import Path

import numpy as np

from bayesnb.families.base import Array

FEWEST = 50  # draws that a row should have for its mean and its quantiles
SHARE = 10  # or one in so many, where there are few at all


class DegenerateWarning(UserWarning):
    """Few of the draws carry nearly all the weight of some rows, whose numbers are then noisy."""


def shares(log_weight: Array) -> Array:
    """Weights that sum to 1 over draws, `(s, r) -> (s, r)`; all alike where no draw has any."""
    best = log_weight.max(axis=0)
    weight = np.exp(log_weight - np.where(np.isfinite(best), best, 0.0))
    weight[:, np.isneginf(best)] = 1.0
    return weight / weight.sum(axis=0)


def effective(log_weight: Array) -> Array:
    """How many draws of equal weight these are worth, `(s, r) -> (r,)`; 0 where no draw has any."""
    return np.where(np.isneginf(log_weight.max(axis=0)), 0.0, 1 / (shares(log_weight) ** 2).sum(axis=0))


def quantiles(values: Array, share: Array, levels: Array) -> Array:
    """Weighted quantiles over draws, `(s, r, c), (s, r), (l,) -> (l, r, c)`, never decreasing in the level.

    Every draw stands for the middle of its share, and in between they are interpolated.
    """
    found = np.empty((len(levels), *values.shape[1:]))
    for r in range(values.shape[1]):
        order = np.argsort(values[:, r], axis=0)
        own, weight = np.take_along_axis(values[:, r], order, axis=0), share[:, r][order]
        middle = np.cumsum(weight, axis=0) - weight / 2
        for at, level in enumerate(levels):
            found[at, r] = _interpolated(own, middle, level)
    return found


def _interpolated(own: Array, middle: Array, level: float) -> Array:
    """Where a rising line through (middle, own) meets the level, `(s, c), (s, c) -> (c,)`."""
    after = np.clip((middle < level).sum(axis=0), 0, len(own) - 1)
    before = np.where(middle[-1] < level, after, np.maximum(after - 1, 0))
    every = np.arange(own.shape[1])
    low, high = own[before, every], own[after, every]
    gap = middle[after, every] - middle[before, every]
    part = np.divide(level - middle[before, every], gap, out=np.zeros(len(every)), where=gap > 0)
    return np.minimum(low + np.clip(part, 0.0, 1.0) * (high - low), high)


def few(worth: Array, draws: int) -> Array:
    """The rows whose draws are worth too few, `(r,)`."""
    return worth < min(FEWEST, draws / SHARE)


def tell_degenerate(worth: Array, draws: int) -> None:
    """One warning for all rows whose draws are worth too few, `(r,)`."""
    odd = few(worth, draws)
    if odd.any():
        row = int(odd.argmax())
        warnings.warn(
            f"{odd.sum()} rows have nearly all their weight on few of the {draws} draws, the first being row {row}, "
            f"which is left with {worth[row]:.3g} effective draws: their numbers are noisy. Sample more draws, and "
            "look at the row, from which much would be learnt; under rows='fixed' no law has weights.",
            DegenerateWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )
