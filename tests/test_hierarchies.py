"""Simulation-based calibration of what is learned of priors (Talts et al. 2018): ranks of the truth
are uniform.

Columns share nothing but the labels, which are given. So each is a replicate: its own parameters of
its prior, drawn as
the model believes them to be; its own theta, its own cells. One fit has the draws of all of them.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from bayesnb import Categorical, Gamma, Gaussian, NaiveBayes, NormalInverseGamma, Poisson, mcmc
from bayesnb.mcmc import SamplingWarning
from bayesnb.mcmc.hyperpriors import LOG_SD

pytest.importorskip("pymc")
Array = np.ndarray
COLUMNS = 100
CLASSES = 4
ROWS = 4
LEVELS = 4
KEPT, BINS = 59, 6  # draws that are nearly independent; the bins that ranks are counted in
HOW: dict[str, Any] = {
    "draws": 236,
    "tune": 250,
    "chains": 1,
    "rng": 1,
    "sampler": "pymc",
    "sampling": {"cores": 1},
}


@dataclass(frozen=True)
class Story:
    """A family with its prior, parameters of that prior by name, `(f,)`, and cells that came of
    them.
    """

    family: Any
    truth: dict[str, Array]
    cells: Array


def log_normal(rng: np.random.Generator, middle: float) -> Array:
    return middle * np.exp(LOG_SD * rng.standard_normal(COLUMNS))


def labels() -> Array:
    return np.repeat(np.arange(CLASSES), ROWS)


def levels(rng: np.random.Generator) -> Story:
    alpha = log_normal(rng, 0.7)
    variates = rng.gamma(np.maximum(alpha, 1e-3)[:, None], size=(CLASSES, COLUMNS, LEVELS)) + 1e-300
    ends = (variates / variates.sum(axis=-1, keepdims=True)).cumsum(axis=-1)[labels()]
    cells = (rng.random((len(ends), COLUMNS, 1)) > ends[..., :-1]).sum(axis=-1)
    return Story(Categorical(0.7, levels=[*range(LEVELS)]), {"alpha": alpha}, cells)


def rates(rng: np.random.Generator) -> Story:
    shape = log_normal(rng, 2.0)
    mean = log_normal(rng, 4.0)
    rate = rng.gamma(shape, mean / shape, (CLASSES, COLUMNS))
    return Story(
        Poisson(Gamma(2.0, 0.5)),
        {"rate_shape": shape, "rate_mean": mean},
        rng.poisson(rate[labels()]),
    )


def normals(rng: np.random.Generator) -> Story:
    count = 0.5
    shape = 2.0
    scale = 6.0
    middle = rng.normal(1.0, np.sqrt(scale / shape / count), COLUMNS)
    spread = np.abs(rng.normal(0, count**-0.5, COLUMNS))
    like = log_normal(rng, shape)
    typical = log_normal(rng, scale / shape)
    variance = like * typical / rng.gamma(like, size=(CLASSES, COLUMNS))
    mean = rng.normal(middle, spread * np.sqrt(variance))
    truth = {
        "mu_mean": middle,
        "mu_spread": spread,
        "sigma2_shape": like,
        "sigma2_typical": typical,
    }
    cells = (
        rng.normal(mean, np.sqrt(variance), (ROWS, CLASSES, COLUMNS))
        .swapaxes(0, 1)
        .reshape(-1, COLUMNS)
    )
    return Story(Gaussian(NormalInverseGamma(1.0, count, shape, scale)), truth, cells)


def p_values(story: Story, times: float) -> dict[str, float]:
    """Of the ranks of every parameter's truth, where each row counts so many times."""
    weight = None if times == 1 else np.full(CLASSES * ROWS, times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        drawn = mcmc.fit(
            NaiveBayes(story.family), story.cells, labels(), True, sample_weight=weight, **HOW
        )
    found = {}
    for name, truth in story.truth.items():
        draws = drawn.datatree_["posterior"][name].values.reshape(-1, COLUMNS)
        kept = draws[:: len(draws) // KEPT][:KEPT]
        rank = (kept < truth).sum(axis=0)
        found[name] = chisquare(np.bincount(rank * BINS // (KEPT + 1), minlength=BINS)).pvalue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("story", [levels, rates, normals])
def test_the_rank_of_what_made_a_column_among_draws_of_it_is_uniform(story: Any) -> None:
    found = p_values(story(np.random.default_rng(21)), 1.0)
    print(found)
    assert min(found.values()) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("story", [levels])
def test_ranks_notice_columns_that_were_seen_four_times(story: Any) -> None:
    """The check above can fail: sampling that is too sure has its truths in the tails."""
    assert min(p_values(story(np.random.default_rng(22)), 4.0).values()) < 1e-6
