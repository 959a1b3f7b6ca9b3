"""Simulation-based calibration (Talts et al. 2018): ranks of the truth are uniform."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from bayesnb.families.joint import JointDirichlet
from bayesnb.families.multinomial import MultinomialDensity
from bayesnb.families.weight import one_hot
from tests.conftest import CASES, Case

REPLICATES = 4000
DRAWS = 79
ROWS = 12
BINS = 20


def least_p_value(case: Case, seed: int, times: float) -> float:
    """Of the ranks of all of theta among draws of a posterior that counts rows so many times.

    Every replicate is a class of one model, or two: its own theta and rows, a tenth missing.
    """
    rng = np.random.default_rng(seed)
    classes = 1 if case.prior.independent_classes else 2  # which have parameters in common
    prior: Any = case.prior[:classes].repeated(REPLICATES)
    if isinstance(prior, JointDirichlet):
        prior = prior.having(case.support)  # every combination is a coordinate
    theta = prior.sample(rng)
    thrown = isinstance(theta, MultinomialDensity)
    rows = [theta.sample(rng, 5) if thrown else theta.sample(rng) for _ in range(ROWS)]
    x = np.concatenate(rows).reshape(ROWS * len(prior), -1).astype(float)
    if not thrown:
        x[rng.random(x.shape) < 0.1] = np.nan
    seen = case.of(x, one_hot(np.tile(np.arange(len(prior)), ROWS), len(prior)))
    drawn = prior.update(times * seen).sample(rng, DRAWS)
    least = 1.0
    draws = drawn.parts()
    for key, truth in theta.parts().items():
        ties = (draws[key] == truth).sum(
            axis=0
        )  # of what is true or false, such as whether a node splits
        rank = ((draws[key] < truth).sum(axis=0) + rng.integers(0, ties + 1)).reshape(
            len(prior), -1
        )
        for own in rank[::classes].T:
            count = np.bincount(own * BINS // (DRAWS + 1), minlength=BINS)
            least = min(least, chisquare(count).pvalue)
    return least


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rank_of_the_truth_among_posterior_draws_is_uniform(case: Case) -> None:
    assert least_p_value(case, 11, 1.0) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_calibration_notices_a_posterior_that_saw_every_row_twice(case: Case) -> None:
    """The check above can fail: an overconfident posterior has its truths in the tails."""
    assert least_p_value(case, 12, 2.0) < 1e-6
