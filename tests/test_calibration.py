"""Simulation-based calibration (Talts et al. 2018): theta from the prior, data from theta; ranks are uniform."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from bayesnb.families.base import one_hot
from tests.conftest import CASES, SIZES, Case, names

REPLICATES, DRAWS, ROWS, BINS = 4000, 79, 12, 20


def ranks(truth: np.ndarray, draws: np.ndarray) -> np.ndarray:
    return (draws < truth).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rank_of_the_truth_among_posterior_draws_is_uniform(case: Case) -> None:
    """Every replicate is a class of one model: its own theta, its own rows."""
    rng = np.random.default_rng(11)
    prior = case.prior[np.zeros(REPLICATES, int)]
    theta = prior.sample(rng)
    rows = [theta.sample(rng, 5) if case.whole else theta.sample(rng) for _ in range(ROWS)]
    x = np.concatenate([row[:, 0] if case.whole else row for row in rows])
    x = np.where(rng.random(x.shape) < 0.1, np.nan if case.name != "categorical" else -1, x) if not case.whole else x
    codes = np.tile(np.arange(REPLICATES), ROWS)
    posterior = prior.update(case.of(x, one_hot(codes, REPLICATES)))
    drawn = posterior.sample(rng, DRAWS)
    for name, truth, draws in quantities(case, theta, drawn):
        count = np.bincount(ranks(truth, draws).ravel() * BINS // (DRAWS + 1), minlength=BINS)
        assert chisquare(count).pvalue > 1e-4, name


def quantities(case: Case, theta: Any, drawn: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """One coordinate at a time, so that ranks are independent."""
    found = []
    for name in names(theta):
        if name == "sizes":
            continue
        truth, draws = getattr(theta, name), getattr(drawn, name)
        parts = range(truth.shape[-1])
        found += [(f"{name} {k}", truth[..., k], draws[..., k]) for k in parts]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_calibration_would_notice_a_posterior_that_saw_every_row_twice(case: Case) -> None:
    """The check above can fail: an overconfident posterior has its truths in the tails."""
    rng = np.random.default_rng(12)
    prior = case.prior[np.zeros(REPLICATES, int)]
    theta = prior.sample(rng)
    rows = [theta.sample(rng, 5) if case.whole else theta.sample(rng) for _ in range(ROWS)]
    x = np.concatenate([row[:, 0] if case.whole else row for row in rows])
    posterior = prior.update(2 * case.of(x, one_hot(np.tile(np.arange(REPLICATES), ROWS), REPLICATES)))
    drawn = posterior.sample(rng, DRAWS)
    worst = 1.0
    for _, truth, draws in quantities(case, theta, drawn):
        count = np.bincount(ranks(truth, draws).ravel() * BINS // (DRAWS + 1), minlength=BINS)
        worst = min(worst, chisquare(count).pvalue)
    assert worst < 1e-6
    assert sum(SIZES) == 10
