"""Rows that lack cells of a block that is modelled jointly: what they say of theta, though no count can be taken."""

from typing import Any

import numpy as np
import pytest

from bayesnb import JointTable, MultivariateGaussian, NaiveBayes
from bayesnb.data import open_table
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.posterior_draws import draw_theta, once_seen
from bayesnb.mcmc.ensemble import ConstantPrior, Ensemble, EnsembleScorer, RowConditioner

Array = np.ndarray
RNG = np.random.default_rng(20261123)
ROWS, SIZES, DRAWS = 12, (2, 3, 2), 8000
Y = np.arange(ROWS) % 3
REALS = RNG.normal(size=(ROWS, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.7, 0.5], [0.3, 0.0, 1.0]]) + 1.2 * Y[:, None]
LEVELS = np.minimum(RNG.geometric(0.25 + 0.25 * Y[:, None], (ROWS, 3)), SIZES) - 1.0
LEVELS[:3] = [[1, 2, 1], [0, 0, 0], [1, 0, 1]]  # so that every column has seen all its levels
NUMBERS = np.array([[2.5, np.nan, -2.0], [np.nan, 4.0, np.nan], [-1.5, 3.0, np.nan]])
CODES = np.array([[1, np.nan, 1], [np.nan, 2, np.nan], [0, 2, np.nan]])
FAMILIES = {
    "own": (lambda: MultivariateGaussian(), REALS, NUMBERS),
    "shared": (lambda: MultivariateGaussian(shared=True), REALS, NUMBERS),
    "table": (lambda: JointTable(0.2), LEVELS, CODES),
}
EVERY = pytest.mark.parametrize("kind", FAMILIES)
TEMPER = pytest.mark.parametrize("temper", [None, 0.4])


def fitted(kind: str, classes: int, **how: Any) -> tuple[NaiveBayes, Array]:
    """A model of so many classes, and rows that lack some cells, or all but one."""
    family, X, new = FAMILIES[kind]
    keep = classes > Y
    return NaiveBayes(family(), **how).fit(X[keep], Y[keep]), new


def moments(scores: Scores, prior_draws: int = 15_000) -> tuple[Array, Array]:
    """Of p(y | x, theta) and its square, the means and their squared errors: draws that no row has seen, weighed."""
    found = []
    for _, plain in draw_theta(scores.belief, prior_draws, 5):
        theta = plain.opened(scores.belief.blocks, scores.cells, np.random.default_rng(6))
        joint = theta.log_joint(scores.cells, scores.power)[0] + scores.shift_of_rows[0]
        found.append((np.logaddexp.reduce(joint, axis=-1), theta.proba(joint)))
    weight = np.exp(np.concatenate([own for own, _ in found]))
    share, proba = (weight / weight.sum())[:, None], np.concatenate([own for _, own in found])
    both = np.stack([proba, proba**2])
    mean = (share * both).sum(axis=1)
    return mean, (share**2 * (both - mean[:, None]) ** 2).sum(axis=1)


@pytest.mark.slow
@TEMPER
@EVERY
def test_ends_that_are_drawn_for_rows_with_holes_are_those_of_the_exact_law(kind: str, temper: float | None) -> None:
    """An end that is drawn lies between exact quantiles of five standard errors less and more."""
    model, new = fitted(kind, 2, temper=temper)
    error = 5 * np.sqrt(0.1 * 0.9 / DRAWS)
    drawn = model.predict_interval(new, 0.8, method="draws", draws=DRAWS, rng=1)
    narrow, wide = (model.predict_interval(new, 0.8 + 2 * by, method="exact") for by in (-error, error))
    for name, least, most in (("lower", wide, narrow), ("upper", narrow, wide)):
        assert ((least[name] <= drawn[name]) & (drawn[name] <= most[name])).all()


@pytest.mark.slow
@TEMPER
@pytest.mark.parametrize(
    ("kind", "average"), [("own", None), ("own", 0.999), ("shared", None), ("table", None), ("table", 0.9)]
)
def test_laws_of_three_classes_are_those_of_weighed_draws(kind: str, average: Any, temper: float | None) -> None:
    """And their mean is the predictive."""
    model, new = fitted(kind, 3, temper=temper, average_features=average)
    cells = model.schema_.read(open_table(new))
    for row in range(len(new)):
        scores = Scores(model.model_.posterior, [x[[row]] for x in cells], model.temper_)
        share = model.predict_proba(new[[row]])[0]
        times = np.random.default_rng(row).multinomial(DRAWS, share)
        drawn = once_seen(scores, model.schema_.observers, times, np.random.default_rng(row))[:, 0]
        both = np.stack([drawn, drawn**2])
        error = both.var(axis=1) / DRAWS
        expected, noise = moments(scores)
        assert (np.abs(drawn.mean(axis=0) - share) < 5 * np.sqrt(error[0])).all()
        assert (np.abs(both.mean(axis=1) - expected) < 5 * np.sqrt(error + noise)).all()


@EVERY
def test_draws_of_chains_see_rows_with_holes_too(kind: str) -> None:
    """Given their draws, of one prior all, theta is drawn once the row was seen; weighed it has the exact law."""
    model, new = fitted(kind, 2, temper=0.7)
    prior, size = model.model_.prior, DRAWS
    ensemble = Ensemble(prior.classes, [*map(ConstantPrior, prior.blocks)], model.model_.stats, size)
    conditioner = RowConditioner(EnsembleScorer(ensemble, 3, None), model.schema_.observers, model.temper_)
    exact = model.predict_interval(new, 0.8, method="exact")
    for row, x in enumerate(model.schema_.read(open_table(new))[0][:]):
        log_weight, proba = conditioner.distribution([x[None]])
        made = np.isfinite(log_weight)
        np.testing.assert_allclose(log_weight[made], log_weight[made][0], rtol=1e-9)
        for name, level in (("lower", 0.1), ("upper", 0.9)):
            below = (proba[made] < exact[name].values[row]).mean(axis=0)
            assert (np.abs(below - level) < 5 * np.sqrt(0.09 / made.sum())).all()
