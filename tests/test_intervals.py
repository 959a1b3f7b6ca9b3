"""Intervals and entropies of p(y | x, theta), judged by quadrature, by draws and by closed forms (oracle.py).

Errors of an interval are on the probability scale: |F(reported quantile) - nominal|, F by an oracle.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from arviz_base import rc_context, rcParams
from scipy import integrate, sparse
from scipy.special import betaincinv, logsumexp, psi, xlogy
from scipy.stats import beta, gamma, ncx2
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    DrawnWarning,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    UnseenLevelWarning,
)
from bayesnb.datasets import penguins
from tests.oracle import RowLaw, Sample, Scene, TwoClassLaw, drawn, log_moment, scene, tabulated

Array = np.ndarray
LAWS = ("observed", "fixed")
WEAK = NormalInverseGamma(mean=3.0, count=0.1, shape=1.0, scale=1.0)
PROB = 0.9
LEVELS = np.array([0.05, 0.5, 0.95])
QUANTILES = ["lower", "median", "upper"]


# Scenes: a fitted model and a few rows for it --------------------------------------------------------------------


def most_doubtful(model: Any, table: Any, rows: int) -> Array:
    """The rows whose best class is least sure."""
    return np.argsort(model.predict_proba(table).max(axis=1), kind="stable")[:rows]


def iris(classes: tuple[int, ...] = (1, 2), **said: Any) -> Scene:
    table, label = load_iris(return_X_y=True)
    table, label = table[np.isin(label, classes)], label[np.isin(label, classes)]
    model = GaussianNB(**said).fit(table, label)
    return scene(model, table[np.append(most_doubtful(model, table, 3), 0)])


def digits(classes: tuple[int, ...] = (3, 8), rows: int = 3, **said: Any) -> Scene:
    table, label = load_digits(return_X_y=True)
    table, label = table[np.isin(label, classes)], label[np.isin(label, classes)]
    model = GaussianNB(**said).fit(table[::2], label[::2])
    return scene(model, table[1::2][most_doubtful(model, table[1::2], rows)])


def dice(
    smoothing: float, classes: int = 2, train: int = 20, columns: int = 8, rows: int = 4, seed: int = 1, **said: Any
) -> Scene:
    """Columns of four levels, some of which hardly occur."""
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.full(4, 0.7), (classes, columns))
    label = np.arange(train + rows) % classes
    height = rng.random((train + rows, columns, 1))
    table = (height > probability[label].cumsum(-1)).sum(-1).clip(0, 3)
    model = CategoricalNB(alpha=smoothing, min_categories=4, **said).fit(table[:train], label[:train])
    return scene(model, table[train:])


def text(smoothing: float, words: int = 1000, classes: int = 2, train: int = 60, **said: Any) -> Scene:
    """Texts of 50 to 500 words, whose frequencies follow Zipf's law and differ a little between classes."""
    rng = np.random.default_rng(words)
    share = np.exp(rng.normal(0, 0.6, (classes, words))) / np.arange(1, words + 1)
    label, rows = np.arange(train + 3) % classes, [50, 160, 500]
    length = np.append(rng.integers(50, 500, train), rows)
    counts = np.array([rng.multinomial(n, share[c] / share[c].sum()) for n, c in zip(length, label, strict=True)])
    model = MultinomialNB(alpha=smoothing, **said).fit(sparse.csr_array(counts[:train]), label[:train])
    return scene(model, sparse.csr_array(counts[train:].astype(float)))


def two_rows(prior: NormalInverseGamma | None = None) -> Scene:
    rng = np.random.default_rng(3)
    table = np.vstack([rng.normal(0, 1, (30, 3)), rng.normal(1.5, 2, (2, 3))])
    model = GaussianNB(prior=prior).fit(table, np.repeat(["many", "two"], [30, 2]))
    return scene(model, np.array([[0.1, -0.3, 0.5], [1.5, 1.0, 2.0], [0.0, 3.0, -2.0], [6.0, -7.0, 4.0]]))


def far_out() -> Scene:
    """One row in each class, and rows at many of its standard deviations."""
    model = GaussianNB(prior=NormalInverseGamma(0.0, 0.5, 1.5, 0.5)).fit([[0.0, 1.0], [1.0, -1.0]], [0, 1])
    return scene(model, np.array([[0.5, 0.1], [30.0, -3.0], [-20.0, 30.0]]))


def bernoulli(**said: Any) -> Scene:
    rng = np.random.default_rng(4)
    label = np.arange(25) % 2
    table = rng.random((25, 6)) < np.array([[0.1, 0.5, 0.9, 0.3, 0.02, 0.6], [0.3, 0.4, 0.6, 0.7, 0.02, 0.1]])[label]
    model = BernoulliNB(alpha=0.5, binarize=None, **said).fit(table[:20].astype(float), label[:20])
    return scene(model, table[20:].astype(float))


def poisson(**said: Any) -> Scene:
    rng = np.random.default_rng(5)
    label = np.arange(25) % 2
    table = rng.poisson(np.array([[0.3, 4.0, 30.0], [0.9, 3.0, 24.0]])[label]).astype(float)
    return scene(PoissonNB(**said).fit(table[:20], label[:20]), table[20:])


def mixed(classes: int = 2, **said: Any) -> Scene:
    """A frame with columns of four kinds, in which some cells are missing, and one row all of whose cells are."""
    rng = np.random.default_rng(6)
    code = np.arange(46) % classes
    frame = pd.DataFrame(
        {
            "size": rng.normal(code * 0.7, 1 + 0.3 * code),
            "colour": np.array(["blue", "green", "red"], object)[(rng.random(46) * (2 + code * 0.5)).astype(int)],
            "events": rng.poisson(1.0 + code).astype(float),
            "flag": (rng.random(46) < 0.3 + 0.2 * code).astype(float),
        },
        index=[f"row {i}" for i in range(46)],
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame.iloc[-1] = np.nan
    families = {"size": Gaussian(), "colour": Categorical(0.5), "events": Poisson(), "flag": Bernoulli()}
    model = NaiveBayes(families, **said).fit(frame[:40], np.array(["a", "b", "c"])[code[:40]])
    known = "class_prior" in said  # then a row that is missing altogether has no law, see below
    return scene(model, frame[41 : 45 if known else 46], {"colour": ["blue", "green", "red"]})


def no_rows(classes: int = 2) -> Scene:
    """The last class is declared, and has no row."""
    rng = np.random.default_rng(8)
    label = np.arange(18) % (classes - 1)
    table = rng.normal(label[:, None], 1.0, (18, 2))
    model = GaussianNB(classes=range(classes), prior=NormalInverseGamma(0.5, 0.3, 1.5, 1.0)).fit(table, label)
    return scene(model, np.array([[0.2, 0.4], [1.5, -0.7], [4.0, 4.0]]))


TWO_CLASSES: dict[str, Callable[[], Scene]] = {
    "iris": iris,
    "iris, known class prior": partial(iris, class_prior=[0.2, 0.8]),
    "iris, uniform class prior": partial(iris, class_prior="uniform"),
    "iris, tempered": partial(iris, temper=0.5),
    "digits": digits,
    "digits, tempered": partial(digits, temper=0.1),
    "dice, smoothing 1": partial(dice, 1.0),
    "dice, smoothing 0.1": partial(dice, 0.1),
    "dice, smoothing 0.01": partial(dice, 0.01),
    "dice, uniform class prior": partial(dice, 1.0, class_prior="uniform"),
    "dice, tempered": partial(dice, 0.1, temper=0.5),
    "text, smoothing 1": partial(text, 1.0, 3000),
    "text, smoothing 0.1": partial(text, 0.1),
    "text, smoothing 0.01": partial(text, 0.01),
    "text, tempered": partial(text, 1.0, temper=0.5),
    "a class of two rows": two_rows,
    "a class of two rows, nearly flat prior": partial(two_rows, NormalInverseGamma(0.0, 0.1, 0.5, 1.0)),
    "far out": far_out,
    "bernoulli": bernoulli,
    "bernoulli, known class prior": partial(bernoulli, class_prior=[0.3, 0.7]),
    "poisson": poisson,
    "poisson, tempered": partial(poisson, temper=0.5),
    "mixed": mixed,
    "mixed, known class prior": partial(mixed, class_prior={"a": 0.9, "b": 0.1}),
    "a class without rows": no_rows,
}
MANY_CLASSES: dict[str, tuple[Callable[[], Scene], Callable[..., Sample], int]] = {
    "iris": (partial(iris, (0, 1, 2)), drawn, 60_000),
    "iris, tempered, known class prior": (
        partial(iris, (0, 1, 2), temper=0.5, class_prior=[0.2, 0.3, 0.5]),
        drawn,
        60_000,
    ),
    "dice": (partial(dice, 1.0, classes=3, train=12, columns=4), tabulated, 100_000),
    "dice, smoothing 0.1": (partial(dice, 0.1, classes=4, train=40, columns=4, rows=2), tabulated, 100_000),
    "mixed": (partial(mixed, 3), drawn, 60_000),
    "a class without rows": (partial(no_rows, 3), drawn, 60_000),
    "ten dice": (partial(dice, 1.0, classes=10, train=100, columns=3, rows=1), tabulated, 60_000),
    "ten digits": (partial(digits, tuple(range(10)), rows=1), tabulated, 60_000),
    "fifty dice": (partial(dice, 1.0, classes=50, train=500, columns=5, rows=1), tabulated, 100_000),
}


@cache
def two_classes(name: str) -> Scene:
    return TWO_CLASSES[name]()


@cache
def row_law(name: str, row: int) -> RowLaw:
    return two_classes(name).law(row)


@cache
def exact_law(name: str, row: int, rows: str) -> TwoClassLaw:
    return TwoClassLaw(row_law(name, row), rows)


def by_turns(names: Iterable[str]) -> list[Any]:
    """Every name under every law; by turns one of the two is slow, as a name hardly meets another path under either."""
    return [
        pytest.param(
            name, rows, marks=[pytest.mark.slow] * (name == "fifty dice" or (i + j) % 2 == 1), id=f"{name}-{rows}"
        )
        for i, name in enumerate(names)
        for j, rows in enumerate(LAWS)
    ]


@cache
def many_classes(name: str) -> Scene:
    return MANY_CLASSES[name][0]()


@cache
def sample_of(name: str, row: int, rows: str, share: float = 1.0) -> Sample:
    _, oracle, size = MANY_CLASSES[name]
    return oracle(many_classes(name).law(row), rows, int(share * size), seed=row)


def quantiles(found: Any) -> Array:
    """Lower end, median and upper end, `(r, q, c)`."""
    return np.stack([found[name].transpose("obs_id", "class").values for name in QUANTILES], axis=1)


def every_scene() -> list[Scene]:
    return [two_classes(name) for name in TWO_CLASSES] + [many_classes(name) for name in MANY_CLASSES]


@cache
def intervals_of(own: Scene, rows: str, method: str) -> Any:
    """A scene's intervals: several tests look at the same ones."""
    return own.model.predict_interval(own.table, PROB, rows=rows, method=method)


@cache
def parts_of(own: Scene, rows: str) -> Any:
    """A scene's entropies, for several tests too."""
    return own.model.uncertainty(own.table, rows=rows)


# The oracles agree with each other, and with integrals done otherwise --------------------------------------------


@pytest.mark.parametrize(("x", "t"), [(0.7, 1.0), (4.0, 0.3), (-2.0, 6.0)])
def test_the_oracles_gaussian_transform_is_a_plain_double_integral(x: float, t: float) -> None:
    """Over the precision by SciPy's Gamma density, and the mean given it by SciPy's noncentral chi-squared density."""
    belief = NormalInverseGamma(0.5, 1.7, 2.5, 1.3)
    z, w = np.polynomial.legendre.leggauss(250)
    precision = gamma(2.5, scale=1 / 1.3)
    ends = np.log(precision.ppf([1e-13, 1 - 1e-13]))
    tau = np.exp(ends[0] + np.ptp(ends) * (z + 1) / 2)
    noncentral = 1.7 * tau * (x - 0.5) ** 2
    start = np.maximum(np.sqrt(noncentral) - 9, 0)  # the root of the noncentral chi-squared is |Normal(root, 1)|
    length = np.sqrt(noncentral) + 9 - start
    root = start + length * (z[:, None] + 1) / 2
    density = ncx2.pdf(root**2, 1, noncentral) * 2 * root
    given_tau = (w[:, None] * length / 2 * density * np.exp(-1j * t * root**2 / (2 * 1.7))).sum(axis=0)
    wave = given_tau * tau ** (0.5j * t) * (2 * np.pi) ** (-0.5j * t)
    whole = (w * np.ptp(ends) / 2 * tau * precision.pdf(tau) * wave).sum()
    assert abs(whole - np.exp(log_moment(belief, x, 1j * t))) < 1e-9


@pytest.mark.parametrize(
    ("belief", "x"),
    [
        (NormalInverseGamma(0.5, 1.7, 2.5, 1.3), 4.0),
        (Gamma(2.5, 1.5), 3.0),
        (Beta(0.5, 2.0), 1.0),
        (Beta(0.5, 2.0), 0.0),
        (Dirichlet([0.3, 1.0, 2.0]), 0),
    ],
    ids=["gaussian", "poisson", "one", "zero", "dice"],
)
@pytest.mark.parametrize("s", [1.0, 0.4, 2.5j])
def test_the_oracles_transforms_are_means_over_draws(belief: Any, x: float, s: complex) -> None:
    size = 100_000
    power = np.exp(s * belief.sample(np.random.default_rng(0), size).log_density(np.asarray(x)))
    coefficient = np.exp(-s * np.log(6.0)) if isinstance(belief, Gamma) else 1.0  # 3!, the same for all classes
    gap = power.mean() - np.exp(log_moment(belief, x, s)) * coefficient
    assert abs(gap.real) < 5 * power.real.std() / np.sqrt(size)
    assert abs(gap.imag) <= 5 * power.imag.std() / np.sqrt(size)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("name", ["iris", "dice, smoothing 0.01", "poisson", "mixed", "far out"])
def test_quadrature_agrees_with_draws(name: str, rows: str) -> None:
    law, exact = row_law(name, 1), exact_law(name, 1, rows)
    sample = drawn(law, rows, 100_000, seed=3)
    level = np.array([0.025, 0.05, 0.5, 0.95, 0.975])
    miss = np.abs(exact.cdf_log_odds(np.quantile(sample.log_odds[1], level)) - level)
    assert np.all(miss < 5 * np.sqrt(level * (1 - level) / len(sample)))
    for (mean, error), value in ((sample.mean(), exact.mean()), (sample.mean_entropy(), exact.mean_entropy())):
        assert abs(np.ravel(mean)[-1] - value) < 5 * np.ravel(error)[-1] + sample.rare


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("name", ["dice, smoothing 0.01", "iris", "bernoulli, known class prior"])
def test_draws_by_quantile_functions_agree_with_quadrature(name: str, rows: str) -> None:
    exact = exact_law(name, 0, rows)
    sample = tabulated(row_law(name, 0), rows, 100_000)
    level = np.array([0.05, 0.5, 0.95])
    miss = np.abs(exact.cdf_log_odds(np.quantile(sample.log_odds[1], level)) - level)
    assert np.all(miss < 5 * np.sqrt(level * (1 - level) / len(sample)))


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_quadrature_agrees_with_thirty_digits(rows: str) -> None:
    model = NaiveBayes({0: Gaussian(NormalInverseGamma(0.0, 0.2, 1.0, 1.0)), 1: Categorical(0.05)}).fit(
        [[0.1, 0], [0.9, 0], [2.0, 1], [2.2, 1]], [0, 0, 1, 1]
    )
    law = TwoClassLaw(scene(model, np.array([[1.7, 0.0]])).law(0), rows)
    assert law.cdf(0.03) == pytest.approx(law.cdf_30_digits(0.03), abs=1e-11)


@pytest.mark.slow
def test_the_oracles_mixture_has_the_mean_that_bayes_rule_gives() -> None:
    """Two routes to p(y | x, D): the mean of the law given x too, and the predictive."""
    for name in TWO_CLASSES:
        found, proba = (
            exact_law(name, 0, "observed"),
            two_classes(name).model.predict_proba(two_classes(name).rows([0])),
        )
        np.testing.assert_allclose(found.law.probability, proba[0], rtol=1e-8, atol=1e-300, err_msg=name)
        assert found.mean() == pytest.approx(proba[0, 1], abs=1e-9), name


# Two classes -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), by_turns(TWO_CLASSES))
def test_exact_intervals_of_two_classes_are_right_to_six_digits(name: str, rows: str) -> None:
    own = two_classes(name)
    found = quantiles(intervals_of(own, rows, "exact"))
    miss = [exact_law(name, row, rows).shortfall(found[row], LEVELS).max() for row in range(len(own))]
    assert max(miss) < 1e-6, f"by row: {np.array(miss)}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), by_turns(TWO_CLASSES))
def test_intervals_of_two_classes_are_right_to_three_digits_by_default(name: str, rows: str) -> None:
    own = two_classes(name)
    found = quantiles(own.model.predict_interval(own.table, PROB, rows=rows))
    miss = [exact_law(name, row, rows).shortfall(found[row], LEVELS).max() for row in range(len(own))]
    assert max(miss) < 1e-3, f"by row: {np.array(miss)}"


@pytest.mark.slow
@pytest.mark.parametrize("prob", [0.5, 0.99])
@pytest.mark.parametrize("method", ["exact", "auto"])
def test_narrow_and_wide_intervals_are_as_right(prob: float, method: str) -> None:
    tolerance = {"exact": 1e-6, "auto": 1e-3}[method]
    level = np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2])
    for name in ("iris", "dice, smoothing 0.1", "far out"):
        own = two_classes(name)
        for rows in LAWS:
            found = quantiles(own.model.predict_interval(own.table, prob, rows=rows, method=method))
            miss = [exact_law(name, row, rows).shortfall(found[row], level).max() for row in range(len(own))]
            assert max(miss) < tolerance, f"{name}, {rows}, by row: {np.array(miss)}"


@pytest.mark.parametrize("name", ["iris", "digits", "text, smoothing 1"])
def test_fast_intervals_of_ordinary_rows_are_right_to_two_digits(name: str) -> None:
    """Cornish-Fisher with four cumulants: 2e-4 where the law is nearly Gaussian, as for most of these rows."""
    own = two_classes(name)
    found = quantiles(intervals_of(own, "fixed", "fast"))
    miss = [exact_law(name, row, "fixed").shortfall(found[row], LEVELS).max() for row in range(3)]
    assert max(miss) < 5e-3
    assert np.median(miss) < 5e-4


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_intervals_by_draws_are_right_to_the_error_of_a_thousand_draws(rows: str) -> None:
    for name in ("iris", "dice, smoothing 0.1", "mixed"):
        own = two_classes(name)
        ask = partial(own.model.predict_interval, own.table, PROB, rows=rows, method="draws", rng=1)
        found = quantiles(ask())
        error = np.sqrt(LEVELS * (1 - LEVELS) / 1000)[:, None]
        for row in range(len(own)):
            assert np.all(exact_law(name, row, rows).shortfall(found[row], LEVELS) < 5 * error), name
        np.testing.assert_array_equal(quantiles(ask()), found)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), by_turns(TWO_CLASSES))
def test_probability_and_mean_entropy_of_two_classes_are_those_of_the_law(name: str, rows: str) -> None:
    own = two_classes(name)
    found = parts_of(own, rows)
    law = exact_law(name, 0, rows)
    assert found["probability"].sel({"class": own.model.classes_[1]}).values[0] == pytest.approx(law.mean(), abs=1e-6)
    assert found["aleatoric"].values[0] == pytest.approx(law.mean_entropy(), abs=1e-6)


def any_model(seed: int) -> Scene:
    """A few rows of some family under some prior, class prior and temper, and three more rows."""
    rng = np.random.default_rng(seed)
    kind, n, d = (int(rng.integers(*ends)) for ends in ((0, 5), (2, 30), (1, 5)))
    said = {"temper": rng.choice([None, 0.3, 1.7]), "class_prior": [1.0, 0.05, {0: 0.3, 1: 0.7}][rng.integers(0, 3)]}
    label = np.arange(n + 3) % 2
    a, b, c = np.exp(rng.uniform(-3, 1, 3))
    size = np.exp(rng.normal(0, 1.5, d + 1))
    table, family = [
        (
            rng.normal(label[:, None] * rng.normal(0, 2, d + 1), size, (n + 3, d + 1)),
            Gaussian(NormalInverseGamma(0.0, a, 0.3 + b, c)),
        ),
        (rng.poisson(3 * size * (1 + label[:, None]), (n + 3, d + 1)).astype(float), Poisson(Gamma(a, b))),
        ((rng.random((n + 3, d)) < rng.random((2, d))[label]).astype(float), Bernoulli(Beta(a, b))),
        (rng.integers(0, 4, (n + 3, d)), Categorical(float(a), levels=range(4))),
        (rng.poisson(size, (n + 3, d + 1)).astype(float), Multinomial(float(a))),
    ][kind]
    return scene(NaiveBayes(family, **said).fit(table[:n], label[:n]), table[n:])


@pytest.mark.slow
@pytest.mark.parametrize("quarter", range(4))
def test_exact_intervals_and_entropies_of_random_models_are_right(quarter: int) -> None:
    """Among their seeds are 12, 18, 20, 24, 39: two heavy tails, few words under a known prior, no words."""
    judged, seeds = 0, range(quarter, 40, 4)
    for seed in seeds:
        own = any_model(seed)
        for rows in LAWS:
            exact = quantiles(own.model.predict_interval(own.table, PROB, rows=rows, method="exact"))
            usual = quantiles(own.model.predict_interval(own.table, PROB, rows=rows))
            parts = own.model.uncertainty(own.table, rows=rows)
            for row in range(len(own)):
                law = TwoClassLaw(own.law(row), rows)
                if law.top > 200:  # with a known class prior and few columns the oracle is slow
                    continue
                judged += 1
                told = f"seed {seed}, {rows}, row {row}"
                assert law.shortfall(exact[row], LEVELS).max() < 1e-6, told
                assert law.shortfall(usual[row], LEVELS).max() < 1e-3, told
                if row == 0:
                    assert float(parts["probability"][0, 1]) == pytest.approx(law.mean(), abs=1e-6), told
                    assert float(parts["aleatoric"][0]) == pytest.approx(law.mean_entropy(), abs=1e-6), told
    assert judged > 2 * len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_two_classes_agree_with_very_many_draws(rows: str) -> None:
    for name in ("iris", "bernoulli"):
        own, sample = two_classes(name), drawn(row_law(name, 1), rows, 300_000, seed=5)
        found = intervals_of(own, rows, "exact")
        for c in range(2):
            assert np.all(sample.shortfall(c, quantiles(found)[1][:, c], LEVELS) < 1e-6)
        mean, error = sample.mean()
        assert np.all(np.abs(found["probability"].values[1] - mean) < 5 * error)
        entropy, error = sample.mean_entropy()
        assert abs(parts_of(own, rows)["aleatoric"].values[1] - entropy) < 5 * error


# More classes ----------------------------------------------------------------------------------------------------


def misses(name: str, rows: str, method: str, least: float) -> Array:
    """How wrong the intervals are beyond five standard errors of the draws, `(r, c)`."""
    own = many_classes(name)
    found = quantiles(intervals_of(own, rows, method))
    some = range(min(len(own), 2))
    shortfalls = [
        [sample_of(name, row, rows).shortfall(c, ends, LEVELS, least).max() for c, ends in enumerate(found[row].T)]
        for row in some
    ]
    return np.array(shortfalls)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), by_turns(MANY_CLASSES))
@pytest.mark.parametrize("method", ["auto", pytest.param("exact", marks=pytest.mark.slow)])
def test_intervals_of_many_classes_agree_with_draws(name: str, rows: str, method: str) -> None:
    """But for probabilities below 1e-12, for which the next test is."""
    miss = misses(name, rows, method, 1e-12)
    assert miss.max() < 5e-3, f"by row and class: {miss.round(4)}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), by_turns(MANY_CLASSES))
@pytest.mark.parametrize("method", ["auto", pytest.param("exact", marks=pytest.mark.slow)])
def test_intervals_of_hopeless_classes_agree_with_draws(name: str, rows: str, method: str) -> None:
    """Of many, some class is next to impossible; its own interval, on the probability scale, is as right as others."""
    miss = misses(name, rows, method, np.finfo(float).tiny)
    assert miss.max() < 5e-3, f"by row and class: {miss.round(4)}"


@pytest.mark.parametrize(("name", "rows"), by_turns(MANY_CLASSES))
@pytest.mark.parametrize("share", [0.25, pytest.param(1.0, marks=pytest.mark.slow)], ids=["few draws", "many draws"])
def test_probability_and_mean_entropy_of_many_classes_agree_with_draws(name: str, rows: str, share: float) -> None:
    own = many_classes(name)
    found = parts_of(own, rows)
    for row in range(min(len(own), 2)):
        sample = sample_of(name, row, rows, share)
        mean, error = sample.mean()
        gap = np.abs(found["probability"].transpose("obs_id", "class").values[row] - mean)
        assert np.all(gap < 5 * error + sample.rare), f"row {row}: {gap / error} standard errors"
        entropy, slip = sample.mean_entropy()
        gap = abs(float(found["aleatoric"][row]) - entropy)
        assert gap < 5 * slip + sample.rare, f"row {row}: {gap} is {gap / slip} standard errors"


def one_die(classes: int, smoothing: float, levels: int = 3) -> tuple[Any, Array, Array]:
    """One column whose posterior is worth as many rows as the class is. A model, its rows, and the Dirichlets.

    G ~ Gamma(sum of a), theta ~ Dirichlet(a): G theta_k ~ Gamma(a_k), so p(y | x = k, theta) is a Dirichlet with the
    counts of level k in every class. Its marginals stay the same when x is learnt too.
    """
    rng = np.random.default_rng(classes)
    label = np.append(np.arange(classes), rng.integers(0, classes, 6 * classes))
    level = rng.integers(0, levels, len(label)) * (rng.random(len(label)) < 0.7)
    model = NaiveBayes(Categorical(smoothing, levels=range(levels)), class_prior=levels * smoothing)
    model.fit(level[:, None], label)
    tally = np.array([np.bincount(level[label == c], minlength=levels) for c in range(classes)])
    return model, np.arange(levels)[:, None], (smoothing + tally).T


def only_labels(classes: int) -> tuple[Any, Array, Array]:
    """A row all of whose cells are missing: p(y | x, theta) is what the die of the classes says, a Dirichlet."""
    rng = np.random.default_rng(classes)
    label = np.append(np.arange(classes), rng.integers(0, classes, 3 * classes))
    model = GaussianNB(class_prior=0.5).fit(rng.normal(size=(len(label), 2)), label)
    return model, np.full((1, 2), np.nan), 0.5 + np.bincount(label)[None]


CLOSED_FORMS = [
    pytest.param(partial(one_die, classes, smoothing), id=f"{classes} classes, one die, smoothing {smoothing}")
    for classes in (2, 3, 10, 50)
    for smoothing in (1.0, 0.2)
] + [pytest.param(partial(only_labels, classes), id=f"{classes} classes, labels only") for classes in (2, 3, 10, 50)]


def one_against_all(concentration: Array) -> Any:
    """The law of each of a Dirichlet's probabilities."""
    return beta(concentration, concentration.sum(axis=-1, keepdims=True) - concentration)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("made", CLOSED_FORMS)
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_intervals_are_those_of_a_dirichlet_where_the_law_is_one(made: Callable, rows: str, method: str) -> None:
    model, table, concentration = made()
    found = quantiles(model.predict_interval(table, PROB, rows=rows, method=method))
    miss = np.abs(one_against_all(concentration[:, None, :]).cdf(found) - LEVELS[:, None]).max()
    assert miss < (5e-3 if len(model.classes_) > 2 else 1e-3 if method == "auto" else 1e-6)


@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("made", CLOSED_FORMS)
def test_mean_entropy_is_that_of_a_dirichlet_where_the_law_is_one(made: Callable, rows: str) -> None:
    """E[H] = psi(A + 1) - sum of a / A psi(a + 1), A the sum of a: Minka (2000)."""
    model, table, a = made()
    total = a.sum(axis=1, keepdims=True)
    expected = psi(total[:, 0] + 1) - (a / total * psi(a + 1)).sum(axis=1)
    found = model.uncertainty(table, rows=rows)
    np.testing.assert_allclose(found["probability"], a / total, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found["aleatoric"], expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("method", ["auto", "exact", "fast", "draws"])
@pytest.mark.parametrize("prior", [[0.3, 0.7], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]], ids=str)
def test_a_row_that_says_nothing_has_the_known_class_prior_for_certain(prior: list, rows: str, method: str) -> None:
    rng = np.random.default_rng(2)
    label = np.arange(12) % len(prior)
    model = GaussianNB(class_prior=prior).fit(rng.normal(size=(12, 2)), label)
    found = model.predict_interval([[np.nan, np.nan]], PROB, rows=rows, method=method)
    for name in found.data_vars:
        np.testing.assert_allclose(found[name].values[0], prior, rtol=0, atol=1e-9, err_msg=name)
    parts = model.uncertainty([[np.nan, np.nan]], rows=rows)
    np.testing.assert_allclose(parts["probability"].values[0], prior, rtol=0, atol=1e-9)
    assert parts["epistemic"].item() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_a_class_of_known_probability_zero_keeps_it(rows: str, method: str) -> None:
    """The others have the law that they have among themselves."""
    table, label = load_iris(return_X_y=True)
    some = label > 0
    two = GaussianNB(prior=WEAK, class_prior=[0.4, 0.6]).fit(table[some], label[some])
    three = GaussianNB(prior=WEAK, class_prior=[0.0, 0.4, 0.6]).fit(table, label)
    rest, parts = both(two, table[60:80], rows, method)
    found, same = both(three, table[60:80], rows, method)
    np.testing.assert_array_equal(found[:, :, 0], 0.0)
    equal((found[:, :, 1:], same), (rest, parts))


# The mean of the law, and what follows from it -------------------------------------------------------------------


@pytest.mark.slow
def test_the_probability_of_an_observed_row_is_predict_proba() -> None:
    for own in every_scene():
        proba = own.model.predict_proba(own.table)
        for method in ("auto", "exact", "fast"):
            found = intervals_of(own, "observed", method)
            np.testing.assert_allclose(found["probability"].transpose("obs_id", "class"), proba, rtol=0, atol=1e-10)
        found = parts_of(own, "observed")
        np.testing.assert_allclose(found["probability"].transpose("obs_id", "class"), proba, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_intervals_lie_in_order_between_zero_and_one(rows: str) -> None:
    for own in every_scene():
        for method in ("auto", "exact", "fast"):
            found = intervals_of(own, rows, method)
            lower, median, upper = quantiles(found).swapaxes(0, 1)
            assert np.all((lower >= 0) & (lower <= median) & (median <= upper) & (upper <= 1)), method
            np.testing.assert_allclose(found["probability"].sum("class"), 1.0, rtol=0, atol=1e-9)
            assert float(found["probability"].min()) >= 0


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_intervals_and_uncertainty_show_the_same_probability(rows: str) -> None:
    for own in every_scene():
        b = parts_of(own, rows)["probability"].transpose("obs_id", "class")
        for method, digits in (("exact", 1e-6), ("auto", 1e-3)):
            a = intervals_of(own, rows, method)["probability"]
            np.testing.assert_allclose(a.transpose("obs_id", "class"), b, rtol=0, atol=digits)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
def test_entropy_is_that_of_the_probability_and_the_sum_of_its_two_parts(rows: str) -> None:
    for own in every_scene():
        found = parts_of(own, rows)
        p = found["probability"].transpose("obs_id", "class").values
        np.testing.assert_allclose(found["entropy"], -xlogy(p, p).sum(axis=1), rtol=0, atol=1e-9)
        gap = found["entropy"] - found["aleatoric"] - found["epistemic"]
        np.testing.assert_allclose(gap, 0.0, rtol=0, atol=1e-15)
        assert float(found["epistemic"].min()) >= 0
        assert float(found["aleatoric"].min()) >= 0
        assert float(found["entropy"].max()) <= np.log(p.shape[1]) + 1e-12


@pytest.mark.parametrize("rows", LAWS)
def test_the_epistemic_part_vanishes_with_data(rows: str) -> None:
    rng = np.random.default_rng(9)
    label = np.arange(40_000) % 3
    table = rng.normal(label[:, None] * [1.0, 0.3], 1.0)
    grid = np.array([[0.5, 0.5], [1.5, 0.0], [-1.0, 1.0]])
    sizes = (20, 400, 8_000, 40_000)
    part = [
        GaussianNB().fit(table[:n], label[:n]).uncertainty(grid, rows=rows)["epistemic"].mean().item() for n in sizes
    ]
    assert all(later < earlier for earlier, later in pairwise(part))
    assert part[-1] < 1e-3
    np.testing.assert_allclose(part[3] / part[2], 0.2, atol=0.05)  # as one over the number of rows


def test_the_law_does_not_depend_on_the_estimate_that_predicts() -> None:
    table, label = load_iris(return_X_y=True)
    usual = GaussianNB().fit(table, label).predict_interval(table[::10], PROB)
    for estimate in ("mean", "map", "mle"):
        other = GaussianNB(estimate=estimate).fit(table, label).predict_interval(table[::10], PROB)
        np.testing.assert_array_equal(quantiles(other), quantiles(usual))
        np.testing.assert_array_equal(other["probability"], usual["probability"])


def test_a_median_does_not_depend_on_the_probability_of_its_interval_and_intervals_are_nested() -> None:
    for name in ("iris", "dice, smoothing 0.1", "mixed"):
        own = two_classes(name)
        narrow, wide = (own.model.predict_interval(own.table, prob, method="exact") for prob in (0.5, 0.95))
        np.testing.assert_allclose(narrow["median"], wide["median"], rtol=0, atol=1e-6)
        assert np.all((wide["lower"] <= narrow["lower"]) & (narrow["upper"] <= wide["upper"]))


@pytest.mark.slow
def test_of_two_classes_one_is_one_minus_the_other() -> None:
    for name in TWO_CLASSES:
        own = two_classes(name)
        for method in ("auto", "exact", "fast"):
            lower, median, upper = quantiles(intervals_of(own, "observed", method)).swapaxes(0, 1)
            np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1], rtol=0, atol=1e-9)
            np.testing.assert_allclose(median[:, 0], 1 - median[:, 1], rtol=0, atol=1e-9)


# What must not matter --------------------------------------------------------------------------------------------


def both(model: Any, table: Any, rows: str, method: str) -> tuple[Array, Array]:
    """Intervals with their probabilities, `(r, 4, c)`, and the entropies, `(r, 3)`."""
    found, parts = model.predict_interval(table, PROB, rows=rows, method=method), model.uncertainty(table, rows=rows)
    probability = found["probability"].transpose("obs_id", "class").values[:, None]
    entropies = np.stack([parts[name].values for name in ("entropy", "aleatoric", "epistemic")], axis=1)
    return np.concatenate([quantiles(found), probability], axis=1), entropies


def equal(a: tuple[Array, Array], b: tuple[Array, Array]) -> None:
    np.testing.assert_allclose(a[0], b[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(a[1], b[1], rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_the_order_of_classes_features_and_training_rows_changes_nothing(rows: str, method: str) -> None:
    table, label = load_iris(return_X_y=True)
    table, label = table[::3], label[::3]
    new = table[most_doubtful(GaussianNB().fit(table, label), table, 5)]
    for classes in ([1, 2], [0, 1, 2]):
        some = np.isin(label, classes)
        x, y = table[some], label[some]
        usual = both(GaussianNB().fit(x, y), new, rows, method)
        equal(both(GaussianNB().fit(x[:, ::-1], y), new[:, ::-1], rows, method), usual)
        equal(both(GaussianNB().fit(x[::-1], y[::-1]), new, rows, method), usual)
        intervals, parts = both(GaussianNB().fit(x, -y), new, rows, method)
        equal((intervals[:, :, ::-1], parts), usual)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_one_row_at_a_time_equals_all_at_once(rows: str, method: str) -> None:
    for own in (two_classes("iris"), two_classes("dice, smoothing 0.1"), two_classes("mixed"), many_classes("iris")):
        whole = both(own.model, own.table, rows, method)
        single = [both(own.model, own.rows([row]), rows, method) for row in range(len(own))]
        equal(tuple(np.concatenate(parts) for parts in zip(*single, strict=True)), whole)


def test_the_number_of_threads_changes_no_digit() -> None:
    table, label = load_iris(return_X_y=True)
    one, two = (both(GaussianNB(n_jobs=n).fit(table, label), table, "observed", "auto") for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_batches_change_nothing() -> None:
    own = two_classes("dice, smoothing 0.1")
    rng = np.random.default_rng(2)
    table, label = rng.integers(0, 3, (30, 3)), np.arange(30) % 2
    whole = CategoricalNB(min_categories=4).fit(table, label)
    parts = CategoricalNB(min_categories=4)
    for some in np.array_split(np.arange(30), 4):
        parts.partial_fit(table[some], label[some], classes=[0, 1])
    equal(both(parts, table[:5], "observed", "exact"), both(whole, table[:5], "observed", "exact"))
    assert len(own) == 4


def test_a_missing_cell_is_a_column_that_was_not_there() -> None:
    table, label = load_iris(return_X_y=True)
    holes = table[::10].copy()
    holes[:, 2] = np.nan
    with_it = both(GaussianNB().fit(table, label), holes, "observed", "exact")
    keep = [0, 1, 3]
    equal(with_it, both(GaussianNB().fit(table[:, keep], label), holes[:, keep], "observed", "exact"))


def test_an_unseen_level_is_a_missing_cell_and_is_told() -> None:
    model = NaiveBayes(Categorical(0.5)).fit([["a", "x"], ["b", "y"], ["a", "y"]], [0, 1, 1])
    expected = both(model, np.array([["a", None]], object), "observed", "exact")
    with pytest.warns(UnseenLevelWarning, match="'z'"):
        model.predict_interval([["a", "z"]])
    with pytest.warns(UnseenLevelWarning, match="'z'"):
        equal(both(model, np.array([["a", "z"]], object), "observed", "exact"), expected)


def test_shifting_and_rescaling_columns_changes_nothing() -> None:
    table, label = load_iris(return_X_y=True)
    usual = both(GaussianNB().fit(table, label), table[::10], "observed", "exact")
    moved = GaussianNB().fit(1e3 + 1e-2 * table, label)
    equal(both(moved, 1e3 + 1e-2 * table[::10], "observed", "exact"), usual)


def test_sparse_and_dense_counts_are_the_same_counts() -> None:
    own = two_classes("text, smoothing 1")
    equal(both(own.model, own.table.toarray(), "observed", "auto"), both(own.model, own.table, "observed", "auto"))


# Labels, defaults and errors -------------------------------------------------------------------------------------


def test_the_default_probability_is_what_arviz_says_at_the_time() -> None:
    own = two_classes("iris")
    usual = own.model.predict_interval(own.table)
    expected = own.model.predict_interval(own.table, ci_prob=rcParams["stats.ci_prob"])
    np.testing.assert_array_equal(quantiles(usual), quantiles(expected))
    with rc_context({"stats.ci_prob": 0.5}):
        narrow = own.model.predict_interval(own.table)
    np.testing.assert_array_equal(quantiles(narrow), quantiles(own.model.predict_interval(own.table, 0.5)))
    assert not np.array_equal(quantiles(narrow), quantiles(usual))


def test_rows_are_from_the_population_unless_they_are_said_to_be_chosen() -> None:
    own = two_classes("iris")
    usual, parts = own.model.predict_interval(own.table, PROB), own.model.uncertainty(own.table)
    assert usual.identical(intervals_of(own, "observed", "auto"))
    assert parts.identical(parts_of(own, "observed"))
    assert not usual.equals(intervals_of(own, "fixed", "auto"))
    assert not parts.equals(parts_of(own, "fixed"))


def test_results_are_labelled_by_the_index_of_the_frame_and_the_classes() -> None:
    table = penguins().drop(columns="year").iloc[::-7]
    model = NaiveBayes().fit(table.drop(columns="species"), table["species"])
    found = model.predict_interval(table.drop(columns="species"))
    assert set(found.data_vars) == {"probability", "median", "lower", "upper"}
    assert all(found[name].dims == ("obs_id", "class") for name in found.data_vars)
    parts = model.uncertainty(table.drop(columns="species"))
    assert set(parts.data_vars) == {"entropy", "aleatoric", "epistemic", "log_density", "probability"}
    assert all(parts[name].dims == ("obs_id",) for name in set(parts.data_vars) - {"probability"})
    assert parts["probability"].dims == ("obs_id", "class")
    for one in (found, parts):
        assert one["obs_id"].values.tolist() == table.index.tolist()
        assert one["class"].values.tolist() == model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]


def test_tables_without_an_index_are_numbered() -> None:
    table, label = load_iris(return_X_y=True)
    frame = pl.DataFrame(table, schema=list("abcd"))
    for rows, model in ((table, GaussianNB().fit(table, label)), (frame, GaussianNB().fit(frame, label))):
        assert model.predict_interval(rows[:7])["obs_id"].values.tolist() == list(range(7))
        assert model.uncertainty(rows[:7])["obs_id"].values.tolist() == list(range(7))


def test_an_index_may_repeat_itself() -> None:
    own = two_classes("mixed")
    frame = own.table.set_axis(["same"] * len(own))
    found = own.model.predict_interval(frame, PROB)
    assert found["obs_id"].values.tolist() == ["same"] * len(own)
    np.testing.assert_array_equal(quantiles(found), quantiles(own.model.predict_interval(own.table, PROB)))


@pytest.mark.parametrize("method", ["mcmc", "Exact", None, 3])
def test_a_method_that_is_none_is_named(method: Any) -> None:
    own = two_classes("iris")
    with pytest.raises(ValueError, match=rf"method.*{method!r}"):
        own.model.predict_interval(own.table, method=method)


@pytest.mark.parametrize("rows", ["all", "Fixed", None])
def test_a_kind_of_rows_that_is_none_is_named(rows: Any) -> None:
    own = two_classes("iris")
    with pytest.raises(ValueError, match=rf"rows.*{rows!r}"):
        own.model.predict_interval(own.table, rows=rows)
    with pytest.raises(ValueError, match=rf"rows.*{rows!r}"):
        own.model.uncertainty(own.table, rows=rows)


@pytest.mark.parametrize("prob", [0, 1, -0.1, 95, np.nan, np.inf])
def test_an_impossible_probability_of_an_interval_is_named(prob: float) -> None:
    own = two_classes("iris")
    with pytest.raises(ValueError, match=rf"ci_prob.*{prob:g}"):
        own.model.predict_interval(own.table, ci_prob=prob)


def test_nothing_is_told_before_fit_or_of_other_columns() -> None:
    own = two_classes("iris")
    for name in ("predict_interval", "uncertainty", "log_density"):
        with pytest.raises(NotFittedError):
            getattr(GaussianNB(), name)([[1.0]])
        with pytest.raises(ValueError, match="features"):
            getattr(own.model, name)(own.table[:, :2])


@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_a_level_never_seen_in_a_class_has_no_interval_without_smoothing(method: str) -> None:
    """A Dirichlet with a concentration of 0 is a limit: it predicts, but its log-density has no law."""
    model = CategoricalNB(alpha=0.0, min_categories=3).fit([[0, 0], [0, 1], [1, 1], [1, 2]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"smoothing|concentration|improper"):
        model.predict_interval([[0, 2]], method=method)


# How usual a row is ----------------------------------------------------------------------------------------------


def test_log_density_is_the_joint_summed_over_classes() -> None:
    for own in every_scene():
        found = own.model.log_density(own.table)
        assert found.shape == (len(own),)
        if own.model.temper_ == 1:
            joint = own.model.predict_joint_log_proba(own.table)
            np.testing.assert_allclose(found, logsumexp(joint, axis=1), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(own.model.uncertainty(own.table)["log_density"], found, rtol=1e-12, atol=1e-12)


def test_tempering_the_evidence_does_not_change_how_usual_a_row_is() -> None:
    table, label = load_iris(return_X_y=True)
    plain, tempered = (GaussianNB(temper=t).fit(table, label).log_density(table) for t in (None, 0.3))
    np.testing.assert_allclose(plain, tempered, rtol=1e-12)


def test_the_density_of_a_discrete_table_sums_to_one() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.integers(0, 3, 12), rng.integers(0, 2, 12), rng.integers(0, 2, 12)])
    model = NaiveBayes({0: Categorical(0.3, levels=range(3)), 1: Categorical(2.0, levels=range(2)), 2: Bernoulli()})
    model.fit(x, np.arange(12) % 3)
    every = np.array(np.meshgrid(range(3), range(2), range(2))).reshape(3, -1).T
    assert np.exp(model.log_density(every)).sum() == pytest.approx(1.0, abs=1e-13)


def test_the_density_of_counts_sums_to_one_over_texts_of_a_length() -> None:
    model = NaiveBayes(Multinomial(0.5)).fit([[4, 1, 1], [1, 4, 1], [0, 1, 9]], [0, 1, 1])
    every = np.array([[i, j, 5 - i - j] for i in range(6) for j in range(6 - i)])
    assert np.exp(model.log_density(every)).sum() == pytest.approx(1.0, abs=1e-13)


def test_the_density_of_a_real_column_integrates_to_one() -> None:
    model = GaussianNB().fit([[0.0], [1.0], [0.5], [4.0], [5.5]], [0, 0, 0, 1, 1])
    density = lambda x: float(np.exp(model.log_density([[x]])[0]))  # noqa: E731
    area = sum(
        integrate.quad(density, *ends, limit=200)[0] for ends in ((-np.inf, -5), (-5, 1), (1, 4), (4, 10), (10, np.inf))
    )
    assert area == pytest.approx(1.0, abs=1e-6)


# Published numbers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_triples() -> Any:
    """Three rows a class and the reference prior, p(mean, variance) ~ 1 / variance."""
    reference = NormalInverseGamma(mean=0.0, count=0.0, shape=-0.5, scale=0.0)
    x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    return NaiveBayes(Gaussian(reference), class_prior="uniform").fit(x, list("AAABBB"))


def test_between_two_triples_of_rows_the_predictive_and_the_mean_over_theta_differ(two_triples: Any) -> None:
    observed, fixed = (two_triples.uncertainty([[5.0], [6.5]], rows=rows)["probability"] for rows in LAWS)
    np.testing.assert_allclose(observed[:, 0], [0.749, 0.367], rtol=0, atol=5e-4)
    assert float(fixed[0, 0]) == pytest.approx(0.7006, abs=5 * 0.46 / np.sqrt(400_000))  # 400,000 draws


def test_between_two_triples_of_rows_the_interval_is_nearly_everything(two_triples: Any) -> None:
    found = two_triples.predict_interval([[5.0]], 0.89, rows="fixed").sel({"class": "A"})
    assert found["lower"].item() < 1e-4
    assert found["upper"].item() > 0.9999


@pytest.mark.parametrize(("counts", "observed", "fixed"), [((1, 0, 0), 0.2857, 0.3100), ((10, 0, 0), 0.0109, 0.0708)])
def test_two_texts_of_six_words_tell_the_predictive_from_the_mean_over_theta(
    counts: tuple, observed: float, fixed: float
) -> None:
    model = MultinomialNB().fit([[4, 1, 1], [1, 4, 1]], [0, 1])
    found = [float(model.uncertainty([counts], rows=rows)["probability"][0, 1]) for rows in LAWS]
    np.testing.assert_allclose(found, [observed, fixed], rtol=0, atol=5e-5)


def test_a_die_of_labels_has_the_intervals_of_a_beta() -> None:
    """Five rows of one class and two of the other, under Dirichlet(1): p ~ Beta(6, 3)."""
    model = GaussianNB().fit(np.arange(7.0)[:, None], [0] * 5 + [1] * 2)
    found = quantiles(model.predict_interval([[np.nan]], 0.9, method="exact"))[0, :, 0]
    np.testing.assert_allclose(found, betaincinv(6, 3, LEVELS), rtol=0, atol=1e-6)


# Calibration: theta from the prior, data from theta --------------------------------------------------------------


PROBS = (0.5, 0.9, 0.95)


def coverage(
    world: Callable[[np.random.Generator], tuple[Any, Array, Array]],
    rows: str,
    seed: int,
    probs: tuple[float, ...] = PROBS,
) -> tuple[Array, Array]:
    """How often the truth lies inside, and its standard error; a replicate's rows share one theta and one model."""
    replicates = 400
    inside = np.empty((replicates, len(probs)))
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(replicates)):
        model, table, truth = world(np.random.default_rng(child))
        for j, prob in enumerate(probs):
            found = model.predict_interval(table, prob, rows=rows)
            lower, upper = found["lower"].values[:, 1], found["upper"].values[:, 1]
            inside[i, j] = ((lower <= truth) & (truth <= upper)).mean()
    return inside.mean(axis=0), inside.std(axis=0) / np.sqrt(replicates)


def dice_world(rng: np.random.Generator, chosen: bool) -> tuple[Any, Array, Array]:
    """Ten rows of six columns; new rows from the population, or chosen by a user who knows nothing of theta."""
    share, theta = rng.dirichlet([1.0, 1.0]), rng.dirichlet([1.0, 1.0, 1.0], (2, 6))
    rows = 10 + 6
    label = (rng.random(rows) < share[1]).astype(int)
    x = (rng.random((rows, 6, 1)) > theta[label].cumsum(-1)).sum(-1).clip(0, 2)
    model = CategoricalNB(min_categories=3, classes=[0, 1]).fit(x[:10], label[:10])
    new = np.random.default_rng(0).integers(0, 3, (6, 6)) if chosen else x[10:]
    joint = np.log(share) + np.log(theta[:, np.arange(6), new]).sum(-1).T
    return model, new, np.exp(joint[:, 1] - logsumexp(joint, axis=1))


def gaussian_world(rng: np.random.Generator, chosen: bool) -> tuple[Any, Array, Array]:
    """Six rows of two columns; new rows from the population, or far out."""
    share = rng.dirichlet([1.0, 1.0])
    variance = 1.5 / rng.standard_gamma(2.0, (2, 2))
    mean = rng.normal(0.0, np.sqrt(variance / 0.5))
    label = (rng.random(6 + 6) < share[1]).astype(int)
    x = rng.normal(mean[label], np.sqrt(variance[label]))
    model = GaussianNB(prior=NormalInverseGamma(0.0, 0.5, 2.0, 1.5), classes=[0, 1]).fit(x[:6], label[:6])
    new = np.array([[4.0, 4.0]]) if chosen else x[6:]
    z = (new[:, None, :] - mean) ** 2 / variance + np.log(variance)
    joint = np.log(share) - z.sum(-1) / 2
    return model, new, np.exp(joint[:, 1] - logsumexp(joint, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("world", [dice_world, gaussian_world])
def test_intervals_of_rows_from_the_population_hold_what_they_promise(world: Callable) -> None:
    share, error = coverage(partial(world, chosen=False), "observed", seed=1)
    assert np.all(np.abs(share - PROBS) < 4 * error), f"{share} of {PROBS}, +-{error}"


@pytest.mark.slow
@pytest.mark.parametrize("world", [dice_world, gaussian_world])
def test_intervals_of_chosen_rows_hold_what_they_promise(world: Callable) -> None:
    share, error = coverage(partial(world, chosen=True), "fixed", seed=2)
    assert np.all(np.abs(share - PROBS) < 4 * error), f"{share} of {PROBS}, +-{error}"


@pytest.mark.slow
def test_the_law_of_chosen_rows_is_too_narrow_for_rows_from_the_population() -> None:
    """So the two laws can be told apart: intervals that do not know that x is evidence too."""
    share, error = coverage(partial(dice_world, chosen=False), "fixed", seed=1, probs=(0.5,))
    assert share - 0.5 < -4 * error, f"{share} +- {error}"


@pytest.mark.slow
def test_the_law_of_rows_from_the_population_is_wrong_for_a_row_chosen_far_out() -> None:
    share, error = coverage(partial(gaussian_world, chosen=True), "observed", seed=2, probs=(0.9,))
    assert share - 0.9 < -5 * error, f"{share} +- {error}"


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("name", [name for name in MANY_CLASSES if name != "fifty dice"])
def test_intervals_of_many_classes_agree_with_very_many_draws(name: str, rows: str) -> None:
    own = many_classes(name)
    found, parts = quantiles(intervals_of(own, rows, "auto")), parts_of(own, rows)
    for row in range(min(len(own), 2)):
        sample = tabulated(own.law(row), rows, 300_000, seed=10 + row)
        miss = [sample.shortfall(c, ends, LEVELS, 1e-12).max() for c, ends in enumerate(found[row].T)]
        assert max(miss) < 5e-3, f"row {row}, by class: {np.array(miss).round(4)}"
        entropy, slip = sample.mean_entropy()
        assert abs(float(parts["aleatoric"][row]) - entropy) < 5 * slip + sample.rare


@pytest.mark.slow
def test_draws_by_quantile_functions_agree_with_draws_of_theta() -> None:
    """The two Monte Carlo oracles, ten classes of 64 columns."""
    law = many_classes("ten digits").law(0)
    for rows in LAWS:
        a, b = drawn(law, rows, 25_000, chunk=25_000), tabulated(law, rows, 200_000)
        for own, other in ((a.mean(), b.mean()), (a.mean_entropy(), b.mean_entropy())):
            gap = np.abs(np.subtract(own[0], other[0]))
            assert np.all(gap < 5 * np.hypot(own[1], other[1]) + a.rare)
        for c in np.argsort(b.mean()[0])[-3:]:
            at = np.exp(np.quantile(b.log_p[:, c], LEVELS))
            assert np.all(np.abs(a.cdf(c, at) - LEVELS) < 5 * np.sqrt(LEVELS * (1 - LEVELS) / len(a)))


@pytest.mark.slow
def test_quadrature_agrees_with_thirty_digits_at_small_smoothing() -> None:
    law = exact_law("dice, smoothing 0.01", 0, "observed")
    assert law.cdf(1e-3) == pytest.approx(law.cdf_30_digits(1e-3), abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("smoothing", [0.001, 0.004, 0.008, 0.016, 0.025, 0.1])
def test_a_chosen_row_has_an_interval_at_once_at_any_smoothing(classes: int, smoothing: float) -> None:
    words, levels, draws = ["ababa", "bbbbb", "bbabb", "aabbb"][:classes], (0.055, 0.5, 0.945), 20_000
    cells, labels = np.array([[letter] for word in words for letter in word]), np.repeat(range(classes), 5)
    model = NaiveBayes(Categorical(smoothing), class_prior="uniform").fit(cells, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DrawnWarning)
        law = model.predict_interval([["a"]], ci_prob=0.89, rows="fixed")
        start = process_time()
        model.predict_interval([["a"]], ci_prob=0.89, rows="fixed")
        assert process_time() - start < 3
    theta = model.draw_proba([["a"]], draws=draws // 4, rng=1).values.reshape(draws, classes)
    for level, name in zip(levels, ("lower", "median", "upper"), strict=True):
        end, error = law[name].values[0], 5 * np.sqrt(2 * level * (1 - level) / draws)  # the law may be drawn as well
        assert ((theta < end - 1e-9).mean(axis=0) <= level + error).all()
        assert ((theta <= end + 1e-9).mean(axis=0) >= level - error).all()
    spread = 5 * theta.std(axis=0) * np.sqrt(2 / draws)
    assert (np.abs(law.probability.values[0] - theta.mean(axis=0)) <= spread + 1e-9).all()


def test_a_chosen_row_that_takes_too_long_to_invert_is_drawn_and_this_is_told_but_refused_by_exact() -> None:
    cells, labels = np.array([[letter] for letter in "abababbbbbbbabb"]), np.repeat(range(3), 5)
    for smoothing in (0.008, 0.02):
        model = NaiveBayes(Categorical(smoothing), class_prior="uniform").fit(cells, labels)
        for method in ("auto", "fast"):
            with pytest.warns(DrawnWarning, match="1 rows"):
                model.predict_interval([["a"]], rows="fixed", method=method)
        with pytest.raises(ValueError, match="method='draws'"):
            model.predict_interval([["a"]], rows="fixed", method="exact")
