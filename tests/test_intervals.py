"""Intervals and entropies of p(y | x, theta), judged by quadrature, draws and closed forms.

The error of an interval is on the probability scale: |F(reported end) - level|, F by an oracle.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_base import rc_context
from numpy.testing import assert_allclose
from scipy.special import digamma, logsumexp
from scipy.stats import beta
from sklearn.datasets import load_digits, load_iris

import bayesnb as nb
from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    CategoricalNB,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
)
from tests.oracle import TINY, Fitted, TwoClasses, draw

Array = np.ndarray
ROWS = ("observed", "fixed")
LEVELS = np.array([0.05, 0.5, 0.95])
ENDS = ["lower", "median", "upper"]
IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
every_kind_of_row = pytest.mark.parametrize("rows", ROWS)


# Fitted models, and a few rows for each ----------------------------------------------------------


def least_sure(model: Any, table: Array, rows: int) -> Fitted:
    sure = model.predict_proba(table).max(axis=1)
    return Fitted(model, table[np.argsort(sure, kind="stable")[:rows]])


def some_classes(data: tuple[Array, Array], classes: int) -> tuple[Array, Array]:
    """The rows of the last classes."""
    x, y = data
    keep = y > y.max() - classes
    return x[keep], y[keep]


def iris(classes: int = 2, **options: Any) -> Fitted:
    x, y = some_classes(IRIS, classes)
    return least_sure(GaussianNB(**options).fit(x, y), x, 3)


def digits(classes: int = 2, **options: Any) -> Fitted:
    x, y = some_classes(DIGITS, classes)
    return least_sure(GaussianNB(**options).fit(x[::2], y[::2]), x[1::2], 2)


def levels(smoothing: float, classes: int = 2, train: int = 20, **options: Any) -> Fitted:
    """Eight columns of four levels, some of which hardly occur."""
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.full(4, 0.7), (classes, 8))
    y = np.arange(train + 3) % classes
    x = (rng.random((train + 3, 8, 1)) > probability[y].cumsum(-1)).sum(-1).clip(0, 3)
    model = CategoricalNB(alpha=smoothing, min_categories=4, **options)
    return Fitted(model.fit(x[:train], y[:train]), x[train:])


def far_out() -> Fitted:
    """One row in each class, and rows at many of its standard deviations."""
    model = GaussianNB(prior=NormalInverseGamma(0.0, 0.5, 1.5, 0.5))
    model.fit([[0.0, 1.0], [1.0, -1.0]], [0, 1])
    return Fitted(model, np.array([[0.5, 0.1], [30.0, -3.0], [-20.0, 30.0]]))


def class_without_rows(classes: int = 2) -> Fitted:
    rng = np.random.default_rng(8)
    y = np.arange(18) % (classes - 1)
    model = GaussianNB(classes=range(classes), prior=NormalInverseGamma(0.5, 0.3, 1.5, 1.0))
    model.fit(rng.normal(y[:, None], 1.0, (18, 2)), y)
    return Fitted(model, np.array([[0.2, 0.4], [1.5, -0.7], [4.0, 4.0]]))


def mixed(classes: int = 2, **options: Any) -> Fitted:
    """Columns of four kinds with missing cells."""
    rng = np.random.default_rng(6)
    y = np.arange(44) % classes
    x = np.column_stack(
        [
            rng.normal(y * 0.7, 1 + 0.3 * y),
            np.floor(rng.random(44) * (2 + y * 0.5)),
            rng.poisson(1.0 + y),
            rng.random(44) < 0.3 + 0.2 * y,
        ]
    )
    x[rng.random(x.shape) < 0.15] = np.nan
    families = {0: Gaussian(), 1: Categorical(0.5, levels=range(3)), 2: Poisson(), 3: Bernoulli()}
    return Fitted(NaiveBayes(families, **options).fit(x[:40], y[:40]), x[40:])


def any_model(seed: int) -> Fitted:
    """A few rows of some family under some prior, class prior and exponent, and three more rows."""
    rng = np.random.default_rng(seed)
    kind, n, d = (int(rng.integers(*ends)) for ends in ((0, 5), (2, 30), (1, 5)))
    temper = rng.choice([None, 0.3, 1.7])
    class_prior = [1.0, 0.05, {0: 0.3, 1: 0.7}][rng.integers(0, 3)]
    y = np.arange(n + 3) % 2
    a, b, c = np.exp(rng.uniform(-3, 1, 3))
    size = np.exp(rng.normal(0, 1.5, d + 1))
    shape = (n + 3, d + 1)
    if kind == 0:
        family = Gaussian(NormalInverseGamma(0.0, a, 0.3 + b, c))
        x = rng.normal(y[:, None] * rng.normal(0, 2, d + 1), size, shape)
    elif kind == 1:
        family = Poisson(Gamma(a, b))
        x = rng.poisson(3 * size * (1 + y[:, None]), shape)
    elif kind == 2:
        family = Bernoulli(Beta(a, b))
        x = rng.random(shape) < rng.random((2, d + 1))[y]
    elif kind == 3:
        family = Categorical(float(a), levels=range(4))
        x = rng.integers(0, 4, shape)
    else:
        family = Multinomial(float(a))
        x = rng.poisson(size, shape)
    x = x.astype(float)
    model = NaiveBayes(family, temper=temper, class_prior=class_prior)
    return Fitted(model.fit(x[:n], y[:n]), x[n:])


TWO_CLASSES: dict[str, Callable[[], Fitted]] = {
    "iris": iris,
    "iris, tempered, known class prior": partial(iris, temper=0.5, class_prior=[0.2, 0.8]),
    "digits": digits,
    "digits, tempered": partial(digits, temper=0.1),
    "levels, smoothing 0.01": partial(levels, 0.01),
    "levels, uniform class prior": partial(levels, 1.0, class_prior="uniform"),
    "levels, tempered": partial(levels, 0.1, temper=0.5),
    "far out": far_out,
    "mixed": mixed,
    "mixed, known class prior": partial(mixed, class_prior={0: 0.9, 1: 0.1}),
    "a class without rows": class_without_rows,
} | {f"seed {seed}": partial(any_model, seed) for seed in (0, 4, 8, 12, 18, 20, 24, 33, 38, 39)}
MORE_CLASSES: dict[str, Callable[[], Fitted]] = {
    "iris": partial(iris, 3, temper=0.5, class_prior=[0.2, 0.3, 0.5]),
    "levels": partial(levels, 0.1, classes=4, train=40),
    "mixed": partial(mixed, 3),
    "a class without rows": partial(class_without_rows, 3),
    "digits": partial(digits, 5),
    "twenty classes": partial(levels, 1.0, classes=20, train=200),
}
QUICK = {"iris", "levels, uniform class prior", "mixed", "seed 12", "seed 24"}


def grid(names: Any) -> Any:
    """Every model with both kinds of rows; what takes long is slow."""
    params = []
    for name in names:
        for rows in ROWS:
            marks = [] if name in QUICK else [pytest.mark.slow]
            params.append(pytest.param(name, rows, marks=marks, id=f"{name}, {rows}"))
    return pytest.mark.parametrize(("name", "rows"), params)


def ends_of(intervals: Any) -> Array:
    """Lower end, median and upper end, `(r, q, c)`."""
    return np.stack([intervals[name].transpose("obs_id", "class").values for name in ENDS], axis=1)


def answers(model: Any, table: Any, rows: str = "observed", method: str = "exact") -> Array:
    """Everything that is said of rows: ends and probability by class, and the entropies."""
    intervals = model.predict_interval(table, 0.9, rows=rows, method=method)
    parts = model.uncertainty(table, rows=rows)
    entropies = [parts[name].values for name in ("entropy", "aleatoric", "epistemic")]
    probability = intervals["probability"].transpose("obs_id", "class").values
    ends = ends_of(intervals).reshape(len(probability), -1)
    return np.hstack([ends, probability, np.stack(entropies, axis=1)])


# Oracles -----------------------------------------------------------------------------------------


@grid(TWO_CLASSES)
def test_two_classes_are_as_quadrature_has_them(name: str, rows: str) -> None:
    fitted = TWO_CLASSES[name]()
    found = {}
    for method in ("exact", "auto"):
        found[method] = ends_of(fitted.model.predict_interval(fitted.table, 0.9, rows, method))
    parts = fitted.model.uncertainty(fitted.table, rows=rows)
    for row in range(len(fitted)):
        oracle = TwoClasses(fitted.row(row), rows)
        exact = 1e-6
        if oracle.top > 200:  # of few columns with a known class prior quadrature is slow
            oracle = draw(fitted.row(row), rows, 20_000)
            exact = 1e-3
        assert oracle.error(found["exact"][row], LEVELS) < exact, row
        assert oracle.error(found["auto"][row], LEVELS) < 1e-3, row
        if row == 0 and exact == 1e-6:
            mean, entropy = oracle.mean_and_entropy()
            assert float(parts["probability"][0, 1]) == pytest.approx(mean, abs=1e-6)
            assert float(parts["aleatoric"][0]) == pytest.approx(entropy, abs=1e-6)


@grid(MORE_CLASSES)
def test_more_classes_are_as_draws_have_them(name: str, rows: str) -> None:
    """One of probability 1e-50 has an interval that is as right as others, but for 64 columns."""
    least = 1e-12 if name == "digits" else TINY
    fitted = MORE_CLASSES[name]()
    parts = fitted.model.uncertainty(fitted.table, rows=rows)
    size = 60_000 // len(fitted.model.classes_)
    samples = [draw(fitted.row(row), rows, size, seed=row) for row in range(2)]
    for method in ("auto", "exact", "fast"):
        ends = ends_of(fitted.model.predict_interval(fitted.table, 0.9, rows, method))
        for row, sample in enumerate(samples):
            allowed = 0.05 if method == "fast" else 5e-3
            assert sample.error(ends[row], LEVELS, least) < allowed, method
    for row, sample in enumerate(samples):
        means, error = sample.means()
        found = np.append(parts["probability"].values[row], parts["aleatoric"].values[row])
        assert (np.abs(found - means) < error).all()


PRIOR = nb.NormalInverseWishart([0.5, 0.5, 0.5], 0.5, 6.0, 2 * np.eye(3))
BLOCKS: dict[str, Any] = {
    "own covariance": nb.MultivariateGaussian(PRIOR),
    "shared covariance": nb.MultivariateGaussian(PRIOR, shared=True),
    "joint table": nb.JointTable(0.2),
    "histogram": nb.Histogram(depth=3),
}


def holes(kind: str, classes: int, temper: float | None) -> Fitted:
    """Twelve rows of three columns that belong together, and rows that lack one or two cells."""
    rng = np.random.default_rng(20261123)
    y = np.arange(12) % 3
    if kind == "joint table":
        x = np.minimum(rng.geometric(0.25 + 0.25 * y[:, None], (12, 3)), [2, 3, 2]) - 1.0
        x[:3] = [[1, 2, 1], [0, 0, 0], [1, 0, 1]]  # so that every column has seen all its levels
        new = [[1, np.nan, 1], [np.nan, 2, np.nan], [0, 2, np.nan]]
    else:
        x = rng.normal(size=(12, 3)) @ [[1, 0.8, 0], [0, 0.7, 0.5], [0.3, 0, 1]] + 1.2 * y[:, None]
        new = [[2.5, np.nan, -2.0], [np.nan, 4.0, np.nan], [-1.5, 3.0, np.nan]]
    model = NaiveBayes(BLOCKS[kind], temper=temper).fit(x[y < classes], y[y < classes])
    return Fitted(model, np.array(new))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:three or more classes share")
@pytest.mark.parametrize("kind", BLOCKS)
def test_intervals_of_observed_rows_are_those_of_draws_weighed_by_how_probable_they_make_them(
    kind: str,
) -> None:
    """That weight is p(x | theta) = p(x, y | theta) / p(y | x, theta)."""
    fitted = holes(kind, 3, None)
    model = fitted.model
    x = fitted.table
    found = model.predict_interval(x, 0.8)
    tree = model.to_datatree(x, [0, 0, 0], draws=1500, rng=4, groups="log_likelihood")
    log_p = tree["log_likelihood"]["row"] - tree["log_likelihood"]["y"]
    weight = np.exp(log_p.stack(sample=("chain", "draw")))
    weight = weight / weight.sum("sample")
    proba = model.draw_proba(x, draws=1500, rng=4).stack(sample=("chain", "draw"))
    drawn = 0.05 if kind == "shared covariance" else 0.0  # of three classes they are drawn
    for end, level in (("lower", 0.1), ("upper", 0.9)):
        below = proba <= found[end]
        share = (weight * below).sum("sample")
        error = np.sqrt((weight**2 * (below - level) ** 2).sum("sample"))
        assert (error < 0.05).all()
        assert (np.abs(share - level) < 5 * error + drawn).all()


# Closed forms and published numbers --------------------------------------------------------------


def one_column(classes: int, smoothing: float) -> tuple[Any, Array, Array]:
    """A column whose prior is worth as many rows as that of the class. Dirichlets by level.

    G ~ Gamma(sum of a), theta ~ Dirichlet(a): G theta_k ~ Gamma(a_k), so p(y | x = k, theta) is
    Dirichlet with the counts of level k in all classes; it stays the same when x is learnt too.
    """
    rng = np.random.default_rng(classes)
    y = np.append(np.arange(classes), rng.integers(0, classes, 6 * classes))
    x = rng.integers(0, 3, len(y)) * (rng.random(len(y)) < 0.7)
    model = NaiveBayes(Categorical(smoothing, levels=range(3)), class_prior=3 * smoothing)
    counts = np.zeros((3, classes))
    np.add.at(counts, (x, y), 1)
    return model.fit(x[:, None], y), np.arange(3)[:, None], smoothing + counts


def labels_only(classes: int) -> tuple[Any, Array, Array]:
    """A row without cells: its probabilities have the posterior of the classes, a Dirichlet."""
    rng = np.random.default_rng(classes)
    y = np.append(np.arange(classes), rng.integers(0, classes, 3 * classes))
    model = GaussianNB(class_prior=0.5).fit(rng.normal(size=(len(y), 2)), y)
    return model, np.full((1, 2), np.nan), 0.5 + np.bincount(y)[None]


@every_kind_of_row
@pytest.mark.parametrize(
    "classes", [2, 3, *(pytest.param(c, marks=pytest.mark.slow) for c in (10, 50))]
)
@pytest.mark.parametrize(
    "made",
    [labels_only, partial(one_column, smoothing=1.0), partial(one_column, smoothing=0.05)],
    ids=["labels only", "smoothing 1", "smoothing 0.05"],
)
def test_everything_is_that_of_a_dirichlet_where_the_distribution_is_one(
    made: Callable, classes: int, rows: str
) -> None:
    """E[H] = psi(A + 1) - sum of a / A psi(a + 1), A the sum of a: Minka (2000)."""
    model, table, a = made(classes)
    total = a.sum(axis=1, keepdims=True)
    marginal = beta(a[:, None], (total - a)[:, None])
    for method, error in (("exact", 1e-7), ("auto", 1e-3), ("fast", 5e-2)):
        found = model.predict_interval(table, 0.9, rows=rows, method=method)
        ends = ends_of(found)
        readable = (ends > 1e-12) & (ends < 1 - 1e-6)  # elsewhere floats have few digits
        miss = np.abs(marginal.cdf(ends) - LEVELS[:, None])
        assert miss[readable].max() < error, method
        assert_allclose(found["probability"], a / total, rtol=0, atol=error)
    aleatoric = digamma(total[:, 0] + 1) - (a / total * digamma(a + 1)).sum(axis=1)
    parts = model.uncertainty(table, rows=rows)
    assert_allclose(parts["probability"], a / total, rtol=0, atol=1e-6)
    assert_allclose(parts["aleatoric"], aleatoric, rtol=0, atol=1e-6)


def test_between_two_triples_of_rows_the_predictive_and_the_mean_over_theta_differ() -> None:
    """Under the reference prior p(mean, variance) ~ 1 / variance; `fixed` by 400,000 draws."""
    reference = NormalInverseGamma(mean=0.0, count=0.0, shape=-0.5, scale=0.0)
    x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    model = NaiveBayes(Gaussian(reference), class_prior="uniform").fit(x, list("AAABBB"))
    observed, fixed = (model.uncertainty([[5.0], [6.5]], rows)["probability"] for rows in ROWS)
    assert_allclose(observed[:, 0], [0.749, 0.367], rtol=0, atol=5e-4)
    assert float(fixed[0, 0]) == pytest.approx(0.7006, abs=5 * 0.46 / np.sqrt(400_000))
    ends = model.predict_interval([[5.0]], 0.89, rows="fixed").isel({"class": 0})
    assert ends["lower"] < 1e-4
    assert ends["upper"] > 0.9999


@pytest.mark.parametrize(
    ("counts", "expected"), [((1, 0, 0), (0.2857, 0.3100)), ((10, 0, 0), (0.0109, 0.0708))]
)
def test_two_texts_of_six_words_have_the_published_probabilities(
    counts: tuple, expected: tuple
) -> None:
    model = MultinomialNB().fit([[4, 1, 1], [1, 4, 1]], [0, 1])
    found = [float(model.uncertainty([counts], rows)["probability"][0, 1]) for rows in ROWS]
    assert_allclose(found, expected, rtol=0, atol=5e-5)


# What must not matter, and limits ----------------------------------------------------------------


@every_kind_of_row
@pytest.mark.parametrize("classes", [2, 3])
def test_order_scale_company_threads_and_absent_columns_change_nothing(
    classes: int, rows: str
) -> None:
    x, y = some_classes(IRIS, classes)
    x = x[::3]
    y = y[::3]
    new = least_sure(GaussianNB().fit(x, y), x, 4).table
    new[3, 2] = np.nan
    expected = answers(GaussianNB(n_jobs=1).fit(x, y), new, rows)
    scaled = GaussianNB(n_jobs=2).fit(1e3 + 1e-2 * x[::-1, ::-1], y[::-1])
    turned = 1e3 + 1e-2 * new[:, ::-1]
    assert_allclose(answers(scaled, turned, rows), expected, rtol=0, atol=1e-6)
    backwards = answers(GaussianNB().fit(x, -y), new, rows)
    ends = backwards[:, : 4 * classes].reshape(4, 4, classes)[:, :, ::-1].reshape(4, -1)
    assert_allclose(ends, expected[:, : 4 * classes], rtol=0, atol=1e-6)
    keep = [0, 1, 3]
    alone = answers(GaussianNB().fit(x[:, keep], y), new[3:, keep], rows)
    assert_allclose(alone, expected[3:], rtol=0, atol=1e-6)


@every_kind_of_row
@pytest.mark.parametrize("method", ["auto", "exact", "fast", "draws"])
@pytest.mark.parametrize("prior", [[0.3, 0.7], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]], ids=str)
def test_a_row_that_says_nothing_has_the_known_class_prior_for_certain(
    prior: list, method: str, rows: str
) -> None:
    y = np.arange(12) % len(prior)
    model = GaussianNB(class_prior=prior).fit(np.random.default_rng(2).normal(size=(12, 1)), y)
    found = model.predict_interval([[np.nan]], 0.9, rows=rows, method=method)
    for name in found.data_vars:
        assert_allclose(found[name].values[0], prior, rtol=0, atol=1e-9)
    assert model.uncertainty([[np.nan]], rows)["epistemic"].item() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("class_prior", ["uniform", {0: 0.2, 1: 0.3, 2: 0.5}, 1.0])
@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_a_class_that_is_out_of_the_question_changes_no_interval(
    class_prior: object, rows: str
) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(8, 3)), 1e6 + rng.normal(size=(8, 3))])
    y = np.repeat([0, 1, 2], (4, 4, 8))
    prior = nb.NormalInverseGamma(mean=0.0, count=1.0, shape=2.0, scale=2.0)
    model = nb.GaussianNB(prior=prior, class_prior=class_prior).fit(x, y)
    beside = {0: 0.4, 1: 0.6} if isinstance(class_prior, dict) else class_prior
    alone = nb.GaussianNB(prior=prior, class_prior=beside).fit(x[:8], y[:8])
    new = rng.normal(size=(30, 3))
    three = model.predict_interval(new, rows=rows, method="exact").isel({"class": [0, 1]})
    two = alone.predict_interval(new, rows=rows, method="exact")
    for key in ("probability", "median", "lower", "upper"):
        assert_allclose(three[key], two[key], rtol=0, atol=1e-5)
    assert float((two["upper"] - two["lower"]).max()) > 0.3


def test_one_class_is_certain() -> None:
    model = GaussianNB().fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict_interval([[5.0]]).to_array().values.ravel().tolist() == [1, 1, 1, 1]
    assert float(model.uncertainty([[5.0]]).entropy[0]) == 0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weight", [1e6, 1e9])
@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_with_endless_data_the_interval_closes_on_the_prediction(
    method: str, weight: float, classes: int
) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(30) % classes
    x = rng.normal(size=(30, 2)) + y[:, None]
    model = GaussianNB().fit(x, y, sample_weight=np.full(30, weight))
    found = model.predict_interval(x[:3], 0.9, method=method)
    assert_allclose(found["median"], found.probability, atol=20 / weight)
    width = found.upper - found.lower
    unit = found.probability / np.sqrt(weight)
    assert (width > 0).all()
    assert (width < 16 * unit).all()


# Rows that were chosen: far out, or with endless tails -------------------------------------------


def assert_as_drawn(model: Any, table: Any, found: Any) -> None:
    """Ends have their levels among 8,000 draws of theta; the distribution may be drawn as well."""
    theta = model.draw_proba(table, draws=2000, rng=1).stack(sample=("chain", "draw"))
    theta = theta.transpose("sample", "obs_id", "class").values
    for name, level in zip(ENDS, LEVELS, strict=True):
        end = found[name].values
        error = 5 * np.sqrt(2 * level * (1 - level) / len(theta)) + 5e-3
        assert ((theta < end - 1e-9).mean(axis=0) <= level + error).all()
        assert ((theta <= end + 1e-9).mean(axis=0) >= level - error).all()
    error = 5 * theta.std(axis=0) * np.sqrt(2 / len(theta)) + 1e-3
    assert (np.abs(found.probability.values - theta.mean(axis=0)) <= error).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.slow
def test_a_grid_far_beyond_the_data_is_as_draws_have_it(classes: int) -> None:
    model = GaussianNB().fit(IRIS[0][: 50 * classes], IRIS[1][: 50 * classes])
    grid = np.array([[a, 3, b, 1.0] for a in np.linspace(0, 12, 6) for b in np.linspace(0, 9, 6)])
    assert_as_drawn(model, grid, model.predict_interval(grid, 0.9, "fixed"))


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("smoothing", [0.001, 0.008, 0.025])
def test_a_chosen_row_has_an_interval_at_any_smoothing(classes: int, smoothing: float) -> None:
    letters = "ababa" + "bbbbb" + "bbabb" + "aabbb"
    x = np.array(list(letters))[: 5 * classes, None]
    y = np.repeat(range(classes), 5)
    model = NaiveBayes(Categorical(smoothing), class_prior="uniform").fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.DrawnWarning)
        found = model.predict_interval([["a"]], 0.9, rows="fixed")
    assert_as_drawn(model, [["a"]], found)


@pytest.mark.parametrize("smoothing", [1e-4, 1e-3, 0.008, 0.03, 0.1])
def test_means_of_two_classes_are_exact_however_wide_the_log_odds(smoothing: float) -> None:
    x = np.array(list("ababa" + "bbbbb"))[:, None]
    y = np.repeat([0, 1], 5)
    model = NaiveBayes(Categorical(smoothing), class_prior="uniform").fit(x, y)
    found = model.predict_interval([["a"]], 0.9, rows="fixed", method="exact")
    u = (np.arange(4000) + 0.5) / 4000
    often, never = (beta.ppf(u, n + smoothing, 5 - n + smoothing) for n in (3, 0))
    mean = (often / (often + never[:, None])).mean()
    assert found.probability.values[0, 0] == pytest.approx(mean, abs=1e-5)


def test_what_takes_too_long_to_invert_is_drawn_with_a_warning_and_refused_by_exact() -> None:
    model = NaiveBayes(Categorical(1e-5)).fit([["a"], ["a"], ["b"], ["c"]], [0, 0, 1, 2])
    with pytest.warns(nb.DrawnWarning, match="1 rows"):
        found = model.predict_interval([["b"]], 0.9, "fixed")
    assert float(found["median"][0, 1]) > 0.999
    with pytest.warns(nb.DrawnWarning):
        model.uncertainty([["b"]], "fixed")
    with pytest.raises(ValueError, match="method='draws'"):
        model.predict_interval([["b"]], 0.9, "fixed", "exact")


@every_kind_of_row
@pytest.mark.filterwarnings("ignore::bayesnb.DrawnWarning")
def test_every_row_has_an_interval_however_heavy_the_tails(rows: str) -> None:
    """A flag that is never set under Beta(0.01, 1), and texts of a few of three words."""
    flags = np.zeros((28, 1))
    flags[0] = 1
    model = NaiveBayes(Bernoulli(Beta(0.01, 1.0))).fit(flags, np.arange(28) % 2)
    found = model.predict_interval([[1.0]], 0.9, rows)
    assert (found["lower"] <= found["median"]).all()
    assert (found["median"] <= found["upper"]).all()
    # a row that holds all three words has a log-likelihood that is bounded above
    words = np.random.default_rng(0).poisson(1.0, (12, 3))
    model = MultinomialNB().fit(words, np.arange(12) % 3)
    new = [[1, 2, 1], [3, 0, 0], [1, 1, 1]]
    found = model.predict_interval(new, 0.9, rows)
    drawn = model.predict_interval(new, 0.9, rows, "draws", draws=8000, rng=1)
    for name in ("probability", *ENDS):
        assert_allclose(found[name], drawn[name], atol=0.02)


@every_kind_of_row
def test_a_row_that_no_class_explains_without_smoothing_is_refused(rows: str) -> None:
    model = NaiveBayes(Categorical(0.0)).fit([["a"], ["a"], ["b"]], ["u", "u", "v"])
    for ask in (model.predict_interval, model.uncertainty):
        with pytest.raises(ValueError, match=r"row 1 .*\(1 such rows\).*smoothing above 0"):
            ask([[None], ["a"]], rows=rows)


# Coverage: theta from the prior, data from theta -------------------------------------------------


def world_of_levels(rng: np.random.Generator, chosen: bool) -> tuple[Any, Array, Array]:
    """Ten rows of six columns; new rows from the population, or chosen without looking."""
    share = rng.dirichlet([1.0, 1.0])
    theta = rng.dirichlet([1.0, 1.0, 1.0], (2, 6))
    y = (rng.random(16) < share[1]).astype(int)
    x = (rng.random((16, 6, 1)) > theta[y].cumsum(-1)).sum(-1).clip(0, 2)
    model = CategoricalNB(min_categories=3, classes=[0, 1]).fit(x[:10], y[:10])
    new = np.random.default_rng(0).integers(0, 3, (6, 6)) if chosen else x[10:]
    joint = np.log(share) + np.log(theta[:, np.arange(6), new]).sum(-1).T
    return model, new, np.exp(joint[:, 1] - logsumexp(joint, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [False, True], ids=["population", "chosen"])
def test_intervals_hold_what_they_promise_and_know_that_a_row_is_evidence(chosen: bool) -> None:
    """Intervals of chosen rows are too narrow for rows from the population."""
    shares: dict[str, list] = {rows: [] for rows in ROWS}
    for child in np.random.SeedSequence(1 + chosen).spawn(144):
        model, table, truth = world_of_levels(np.random.default_rng(child), chosen)
        for rows in ROWS:
            found = model.predict_interval(table, 0.8, rows=rows).isel({"class": 1})
            inside = (found["lower"].values <= truth) & (truth <= found["upper"].values)
            shares[rows].append(inside.mean())
    right, wrong = (np.array(shares[rows]) for rows in (ROWS[::-1] if chosen else ROWS))
    assert abs(right.mean() - 0.8) < 4 * right.std() / 12
    if not chosen:
        gap = right - wrong
        assert gap.mean() > 4 * gap.std() / 12


# Names, defaults and refusals --------------------------------------------------------------------


def test_the_default_probability_is_what_arviz_says_at_the_time() -> None:
    fitted = iris()
    with rc_context({"stats.ci_prob": 0.5}):
        usual = fitted.model.predict_interval(fitted.table)
    assert usual.identical(fitted.model.predict_interval(fitted.table, 0.5, rows="observed"))
    assert not usual.equals(fitted.model.predict_interval(fitted.table))


ROW_NAMES: list[tuple[Any, list[Any]]] = [
    (pd.Index(["u", "u"]), ["u", "u"]),
    (
        pd.date_range("2026-07-01", periods=2, tz="Europe/Berlin"),
        ["2026-07-01 00:00:00+02:00", "2026-07-02 00:00:00+02:00"],
    ),
    (pd.period_range("2026-07", periods=2, freq="M"), ["2026-07", "2026-08"]),
    (pd.interval_range(0, 2), ["(0, 1]", "(1, 2]"]),
    (pd.MultiIndex.from_tuples([("u", 1), ("v", 2)]), ["('u', 1)", "('v', 2)"]),
    (pd.Index([1, None], dtype=object), ["1", "None"]),
]


@pytest.mark.parametrize(("index", "names"), ROW_NAMES)
def test_results_are_written_to_netcdf_whatever_the_rows_are_called(
    index: Any, names: list, tmp_path: Path
) -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=index)
    model = NaiveBayes({"a": "gaussian", "b": "categorical"}).fit(rows, ["no", "yes"])
    results = [
        model.uncertainty(rows),
        model.predict_interval(rows),
        model.explain(rows),
        model.draw_proba(rows, draws=2, rng=1),
    ]
    for place, result in enumerate(results):
        path = tmp_path / f"{place}.nc"
        result.to_netcdf(path, engine="scipy")
        with xr.open_dataset(path, engine="scipy") as again:
            assert again.obs_id.values.tolist() == result.obs_id.values.tolist() == names


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "Exact"}, "method.*'Exact'"),
        ({"rows": "all"}, "rows.*'all'"),
        ({"ci_prob": 95}, "ci_prob.*95"),
        ({"ci_prob": np.nan}, "ci_prob.*nan"),
        ({"ci_prob": "x"}, "ci_prob"),
        ({"draws": 2.5}, "draws must be a whole number"),
    ],
)
def test_what_is_not_understood_is_named(options: dict, match: str) -> None:
    fitted = iris()
    with pytest.raises(ValueError, match=match):
        fitted.model.predict_interval(fitted.table, **options)
