"""Prior sensitivity: ArviZ's power scaling against scaled posteriors in closed form."""

import arviz_stats as az
import numpy as np
import pytest
from scipy import stats

from bayesnb import Bernoulli, Beta, Gaussian, NaiveBayes, NormalInverseGamma

RNG = np.random.default_rng(3)


def distance(p: np.ndarray, q: np.ndarray, width: np.ndarray) -> float:
    """The cumulative Jensen-Shannon distance of two distribution functions on a grid."""

    def half(a: np.ndarray, b: np.ndarray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.where(a > 0, a * np.log2(a / ((a + b) / 2)), 0.0)
        return width @ term + 0.5 / np.log(2) * (width @ (b - a))

    return float(np.sqrt((half(p, q) + half(q, p)) / (width @ (p + q))))


def sensitivity(
    base: stats.rv_continuous,
    lower: stats.rv_continuous,
    upper: stats.rv_continuous,
    at: np.ndarray,
) -> float:
    """What ArviZ estimates from draws, from the distributions at powers 0.99, 1 and 1.01."""
    width = np.diff(at)
    found = []
    for scaled, power in ((lower, 0.99), (upper, 1.01)):
        both = [(own.cdf(at[:-1]), own.sf(at[1:])) for own in (base, scaled)]
        larger = max(
            distance(both[0][0], both[1][0], width), distance(both[0][1], both[1][1], width)
        )
        found.append(larger / abs(np.log2(power)))
    return float(np.mean(found))


@pytest.mark.slow
@pytest.mark.parametrize("group", ["prior", "likelihood"])
def test_a_scaled_priors_or_likelihoods_effect_is_that_of_the_scaled_conjugate_posterior(
    group: str,
) -> None:
    x = RNG.random((14, 1)) < 0.3
    y = np.arange(14) % 2
    model = NaiveBayes(Bernoulli(Beta(9.0, 4.0)), class_prior="uniform").fit(x, y)
    tree = model.to_datatree(x, y, draws=10_000, rng=0)
    row = ["row"] if group == "likelihood" else None
    found = az.psense(tree, var_names=["theta"], group=group, group_var_names=row)["theta"]
    seen = model.stats_.blocks[0]
    for c in range(2):
        ones = seen.ones[c, 0]
        zeros = seen.zeros[c, 0]

        def posterior(
            power: float, ones: float = ones, zeros: float = zeros
        ) -> stats.rv_continuous:
            prior, rows = (power, 1.0) if group == "prior" else (1.0, power)
            return stats.beta(1 + prior * 8 + rows * ones, 1 + prior * 3 + rows * zeros)

        draws = tree["posterior"]["theta"].values[..., c, 0]
        grid = np.linspace(draws.min(), draws.max(), 4001)
        expected = sensitivity(posterior(1.0), posterior(0.99), posterior(1.01), grid)
        assert float(found[c, 0]) == pytest.approx(expected, rel=0.03)


def test_a_prior_that_the_data_contradict_is_told_from_one_that_they_outweigh() -> None:
    x = RNG.normal(10.0, 1.0, (60, 1))
    y = np.arange(60) % 2
    said = {}
    for name, prior in (
        ("weak", NormalInverseGamma(0.0, 1e-3, 1.0, 1.0)),
        ("odd", NormalInverseGamma(0.0, 20.0, 5.0, 5.0)),
    ):
        tree = NaiveBayes(Gaussian(prior)).fit(x, y).to_datatree(x, y, rng=0)
        said[name] = az.psense_summary(tree, var_names=["mu"])["diagnosis"]
    assert (said["weak"] == "✓").all()
    assert said["odd"].str.contains("conflict").all()
