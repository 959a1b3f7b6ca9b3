"""The linear form, and the picture of a boundary, where numbers are modelled jointly."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesnb as nb
from bayesnb.plots.boundary_plot import plane_of

RNG = np.random.default_rng(5)
Y = np.arange(240) % 3
X = RNG.normal(size=(240, 3)) @ [[1.0, 0.7, -0.3], [0.0, 1.0, 0.4], [0.0, 0.0, 0.5]]
X += np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 1.0, 1.0]])[Y]
X = np.column_stack([X, RNG.poisson(3 + Y)])
SHARED = {(0, 1, 2): nb.MultivariateGaussian(shared=True), 3: nb.Poisson()}


def fitted(X: Any = X, **how: Any) -> nb.NaiveBayes:
    return nb.NaiveBayes(SHARED, **how).fit(X, Y)


@pytest.mark.parametrize("against", [None, 1])
def test_one_covariance_for_all_classes_is_linear(against: int | None) -> None:
    model = fitted(estimate="mean", temper=0.7)
    form = model.linear_form(against=against)
    found = softmax(model.linear_features(X) @ form.w.values.T + form.b.values, axis=1)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def test_its_weights_are_those_of_a_linear_discriminant_analysis() -> None:
    model = nb.NaiveBayes({(0, 1, 2): SHARED[0, 1, 2]}, estimate="mle", class_prior="empirical").fit(X[:, :3], Y)
    form, twin = model.linear_form(against=0), LinearDiscriminantAnalysis(solver="lsqr").fit(X[:, :3], Y)
    np.testing.assert_allclose(form.w, twin.coef_ - twin.coef_[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(form.b, twin.intercept_ - twin.intercept_[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("against", [None, 2])
def test_its_sds_are_those_of_draws(against: int | None) -> None:
    model, rng, draws = fitted(class_prior="uniform"), np.random.default_rng(0), 40_000
    vectors, rates = (block.sample(rng, draws) for block in model.model_.posterior.blocks)
    mean, covariance = vectors.mean.reshape(draws, 3, 3), vectors.covariance.reshape(draws, 3, 3, 3)
    w = np.linalg.solve(covariance, mean[..., None])[..., 0]
    b = -(w * mean).sum(axis=-1) / 2 - rates.rate[..., 0]
    form = model.linear_form(against=against)
    for own, sd in ((w, form.w_sd.values[:, :3]), (b, form.b_sd.values)):
        gap = own if against is None else own - own[:, [against]]
        square = (gap - gap.mean(axis=0)) ** 2
        error = square.std(axis=0) / np.sqrt(draws)
        np.testing.assert_array_less(np.abs(square.mean(axis=0) - sd**2), 5 * error + 1e-12)


def test_far_from_zero_differences_of_blocks_keep_their_digits() -> None:
    far, near = (fitted(x, estimate="mle").linear_form(against=0) for x in (np.add(X, [1e7, 0, -1e6, 0]), X))
    np.testing.assert_allclose(far.w, near.w, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("features", [(0, 2), (3, 1)])
def test_a_plane_of_columns_of_a_block_has_the_others_integrated_out(shared: bool, features: tuple[int, int]) -> None:
    families = {(0, 1, 2): nb.MultivariateGaussian(shared=shared), 3: nb.Poisson()}
    model = nb.NaiveBayes(families).fit(X, Y)
    x, y = np.array([0.0, 2.0, 5.0]), np.array([-1.0, 1.0])
    rows = np.full((6, 4), np.nan)
    rows[:, features[0]], rows[:, features[1]] = np.tile(x, 2), np.repeat(y, 3)
    margins = plane_of(model, features).margins(x, y).reshape(6, 3)
    joint = np.sort(model.predict_joint_log_proba(rows), axis=1)
    assert (margins.argmax(axis=1) == model.predict(rows)).all()
    np.testing.assert_allclose(margins.max(axis=1), joint[:, 2] - joint[:, 1], rtol=1e-9, atol=1e-12)


def test_what_is_modelled_jointly_and_not_linear_says_so() -> None:
    own = nb.NaiveBayes({(0, 1, 2): nb.MultivariateGaussian(), 3: nb.Poisson()}).fit(X, Y)
    with pytest.raises(ValueError, match=r"0, 1, 2 \(MultivariateGaussian\).*MultivariateGaussian\(shared=True\)"):
        own.linear_form()
    levels = np.column_stack([RNG.integers(0, 2, 240), RNG.integers(0, 3, 240)])
    with pytest.raises(ValueError, match=r"0, 1 \(JointTable\).*Categorical"):
        nb.NaiveBayes({(0, 1): nb.JointTable()}).fit(levels, Y).linear_form()
