"""What is gained beyond conjugacy: on rows of the truth that were not learnt, each option beats the
closed form.

The score is log p(y | x), the mean over rows that were drawn from the truth; both models score the
same rows, so the
standard error is that of the difference. Every test prints its numbers (`pytest -m slow -n 0 -s`).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayesnb import Beta, GaussianNB, MultinomialNB, mcmc
from bayesnb.mcmc import DegenerateWarning, Sampled, SamplingWarning

pytest.importorskip("pymc")
Array = np.ndarray
Task = tuple[Array, Array, Array, Array]  # rows and their labels, new rows and theirs
HOW: dict[str, Any] = {
    "draws": 300,
    "tune": 300,
    "chains": 2,
    "rng": 1,
    "sampler": "pymc",
    "sampling": {"cores": 1},
}
ERRORS = 3
TESTED = 2000


def fitted(model: Any, *given: Any, **options: Any) -> Sampled:
    """A fit of few draws, which may say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        return mcmc.fit(model, *given, **options, **HOW)


def task(rng: np.random.Generator, classes: int, rows: int, draw: Callable[[Array], Array]) -> Task:
    """So many rows of each class, and new rows of any."""
    code = np.repeat(np.arange(classes), rows)
    new = rng.integers(0, classes, TESTED)
    return draw(code), code, draw(new), new


def gain(name: str, closed: Any, drawn: Any, X: Array, y: Array) -> float:
    """By how many standard errors the sampled model is better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        own = [model.predict_log_proba(X)[np.arange(len(y)), y] for model in (closed, drawn)]
    difference = own[1] - own[0]
    error = difference.std() / np.sqrt(len(y))
    scores = f"{own[0].mean():.3f} -> {own[1].mean():.3f}"
    print(f"\n{name}: {scores}, +{difference.mean():.3f} +- {error:.3f}")
    return float(difference.mean() / error)


def normals(rng: np.random.Generator, mean: Array, sd: Array | float) -> Callable[[Array], Array]:
    return lambda code: rng.normal(mean[code], np.broadcast_to(sd, mean.shape)[code])


@pytest.mark.slow
def test_many_classes_of_few_rows_learn_from_each_other_how_means_and_variances_lie() -> None:
    rng = np.random.default_rng(12)
    mean = rng.normal(0, 2.0, (20, 4))
    sd = np.exp(rng.normal(0, 0.2, (20, 4)))
    X, y, new, truth = task(rng, 20, 4, normals(rng, mean, sd))
    closed = GaussianNB().fit(X, y)
    drawn = fitted(GaussianNB(), X, y, hierarchical=True)
    assert gain("hierarchical=True, Gaussian", closed, drawn, new, truth) > ERRORS


@pytest.mark.slow
def test_a_concentration_that_was_declared_far_too_large_is_learned_for_words() -> None:
    rng = np.random.default_rng(11)
    theta = rng.dirichlet(np.full(200, 0.05), 5)
    X, y, new, truth = task(rng, 5, 4, lambda code: rng.multinomial(4, theta[code]))
    closed = MultinomialNB().fit(X, y)
    drawn = fitted(MultinomialNB(), X, y, hierarchical=True)
    assert gain("hierarchical=True, words", closed, drawn, new, truth) > ERRORS
    low, high = (
        drawn.datatree_["posterior"]["alpha"].quantile([0.01, 0.99], ("chain", "draw")).values
    )
    assert low < 0.05 < high < 0.3


@pytest.mark.slow
def test_classes_of_few_rows_share_proportions_that_are_far_from_even() -> None:
    rng = np.random.default_rng(11)
    zipf = 1 / np.arange(1, 101)
    theta = rng.dirichlet(30 * zipf / zipf.sum(), 20)
    X, y, new, truth = task(rng, 20, 2, lambda code: rng.multinomial(15, theta[code]))
    closed = MultinomialNB().fit(X, y)
    drawn = fitted(MultinomialNB(), X, y, hierarchical="base")
    assert gain("hierarchical='base', words", closed, drawn, new, truth) > ERRORS


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["half-normal", "log-normal"])
def test_standard_deviations_far_below_a_columns_own_are_found_in_few_rows(prior: str) -> None:
    rng = np.random.default_rng(11)
    X, y, new, truth = task(rng, 12, 5, normals(rng, rng.normal(0, 1, (12, 2)), 0.05))
    closed = GaussianNB().fit(X, y)
    drawn = fitted(GaussianNB(), X, y, scale_prior=prior)
    assert gain(f"scale_prior={prior!r}", closed, drawn, new, truth) > ERRORS


@pytest.mark.slow
def test_outliers_do_not_move_students_t() -> None:
    rng = np.random.default_rng(11)
    mean = rng.normal(0, 1.5, (3, 4))
    X, y, new, truth = task(rng, 3, 20, lambda code: mean[code] + rng.standard_t(2, (len(code), 4)))
    closed = GaussianNB().fit(X, y)
    drawn = fitted(GaussianNB(), X, y, student=True)
    assert gain("student=True", closed, drawn, new, truth) > ERRORS


@pytest.mark.slow
def test_rows_without_labels_tell_where_the_clusters_of_six_labelled_rows_lie() -> None:
    rng = np.random.default_rng(12)
    draw = normals(rng, np.array([[0.0, 0.0], [2.5, 2.5]]), 1.0)
    X, y, new, truth = task(rng, 2, 3, draw)
    unlabelled = draw(rng.integers(0, 2, 300))
    closed = GaussianNB().fit(X, y)
    drawn = fitted(GaussianNB(), X, y, unlabelled=unlabelled)
    assert gain("unlabelled=", closed, drawn, new, truth) > ERRORS


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_labels_of_which_a_fifth_are_wrong_are_read_as_such_on_any_scale(scale: float) -> None:
    """Exchanging the classes, and taking most labels for wrong, fits as well: chains must not end
    there.
    """
    rng = np.random.default_rng(8)
    draw = normals(rng, scale * np.array([[0.0] * 3, [1.5] * 3]), scale)
    X, y, new, truth = task(rng, 2, 100, draw)
    read = np.where(rng.random(len(y)) < 0.2, 1 - y, y)
    closed = GaussianNB().fit(X, read)
    drawn = fitted(GaussianNB(), X, read, label_noise=Beta(1, 4))
    assert gain("label_noise=Beta(1, 4)", closed, drawn, new, truth) > ERRORS
    low, high = drawn.datatree_["posterior"]["label_noise"].quantile([0.025, 0.975]).values
    assert low < 0.2 < high < 0.5
