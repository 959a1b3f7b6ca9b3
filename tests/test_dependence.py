"""Relevance of columns and dependence of pairs: evidences against SciPy and mpmath."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mpmath import mp
from scipy import sparse, stats
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit, gammaln
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    dependence,
    relevance,
)

Array = np.ndarray
RNG = np.random.default_rng(21)
ROWS = 36
STRONG = 3.0
Y = np.arange(ROWS) % 3
WORDS = ("the", "a", "of")
X = pd.DataFrame(
    {
        "long": RNG.normal(size=ROWS) + (Y == 0),
        "wide": RNG.normal(size=ROWS) * 1e3,
        "colour": RNG.integers(0, 3, ROWS).astype(float),
        "eggs": RNG.poisson(1.5, ROWS).astype(float),
        "tail": RNG.random(ROWS) < 0.4,
    }
)
X["colour"] = np.where(RNG.random(ROWS) < 0.5, X["tail"], X["colour"])
X = X.join(pd.DataFrame(RNG.poisson([2.0, 1.0, 3.0], (ROWS, 3)), columns=WORDS))
for place, column in enumerate(["long", "colour", "eggs"]):
    X.loc[place::9, column] = None
MODEL = NaiveBayes(
    {
        ("long", "wide"): Gaussian(NormalInverseGamma([0.0, 10.0], 0.4, 1.0, [1.0, 1e6])),
        "colour": Categorical(0.7),
        "eggs": Poisson(Gamma(1.0, 0.5)),
        "tail": Bernoulli(Beta(0.5, 2.0)),
        WORDS: Multinomial(0.6),
    }
)


def of_levels(counts: Array, concentration: Any) -> float:
    """log p of rows in their order, by SciPy's distribution of their counts."""
    n = counts.sum()
    concentration = np.broadcast_to(concentration, counts.shape)
    if n == 0:
        return 0.0
    orders = gammaln(n + 1) - gammaln(counts + 1).sum()
    counts = counts.astype(int)
    return float(stats.dirichlet_multinomial.logpmf(counts, concentration, int(n)) - orders)


def of_numbers(x: Array, mean: float, count: float, shape: float, scale: float) -> float:
    """Rows of one Gaussian column together are a multivariate t."""
    spread = scale / shape * (np.eye(len(x)) + 1 / count)
    return float(stats.multivariate_t.logpdf(x, np.full(len(x), mean), spread, 2 * shape))


def of_counts(x: Array, shape: float, rate: float) -> float:
    """One step ahead, row after row."""
    total = 0.0
    for cell in x:
        total += stats.nbinom.logpmf(cell, shape, rate / (rate + 1))
        shape = shape + cell
        rate = rate + 1
    return total


def tally(codes: Array, size: int) -> Array:
    return np.bincount(codes.astype(int), minlength=size)


EVIDENCE: dict[str, Callable[[Array], float]] = {
    "long": lambda x: of_numbers(x, 0.0, 0.4, 1.0, 1.0),
    "wide": lambda x: of_numbers(x, 10.0, 0.4, 1.0, 1e6),
    "eggs": lambda x: of_counts(x, 1.0, 0.5),
    "tail": lambda x: of_levels(tally(x, 2), [2.0, 0.5]),
    "colour": lambda x: of_levels(tally(x, 3), 0.7),
}


def evidence(name: str, rows: Any) -> float:
    cells = X[name][rows].dropna().to_numpy(float)
    return EVIDENCE[name](cells) if len(cells) else 0.0


# Which columns matter


def test_the_relevance_of_every_column_is_the_ratio_of_its_evidences() -> None:
    found = relevance(clone(MODEL).fit(X, Y), prior=0.2)
    factors = found.log_bayes_factor.to_series()
    for name in EVIDENCE:
        expected = sum(evidence(name, c == Y) for c in range(3)) - evidence(name, Y >= 0)
        assert factors[name] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    words = X[[*WORDS]].to_numpy()
    for j, word in enumerate(WORDS):
        ones = words[:, j]
        others = np.delete(words, j, 1).sum(axis=1)
        expected = betaln(0.6, 1.2) - betaln(0.6 + ones.sum(), 1.2 + others.sum())
        for c in range(3):
            own = c == Y
            expected += betaln(0.6 + ones[own].sum(), 1.2 + others[own].sum()) - betaln(0.6, 1.2)
        assert factors[word] == pytest.approx(expected, rel=1e-10, abs=1e-10)
    block = sum(of_levels(words[c == Y].sum(axis=0), 0.6) for c in range(3))
    block -= of_levels(words.sum(axis=0), 0.6)
    assert found.attrs["block_log_bayes_factor"] == [pytest.approx(block, rel=1e-10)]
    np.testing.assert_allclose(found.inclusion, expit(factors + np.log(0.25)), rtol=1e-12)


def best_of(log_evidence: Callable[[float], float]) -> float:
    """Return the largest log evidence under any concentration."""
    options = {"bounds": (-6, 20), "method": "bounded", "options": {"xatol": 1e-9}}
    return -float(minimize_scalar(lambda at: -log_evidence(np.exp(at)), **options).fun)


@pytest.mark.parametrize("family", [Categorical(1.0), Categorical(Dirichlet(0.9))])
def test_evidence_of_many_levels_is_no_more_than_under_learnt_concentrations(family: Any) -> None:
    rng = np.random.default_rng(8)
    y = np.arange(300) % 3
    x = np.floor(150 * rng.random(300) ** 1.5) + 30 * y  # some levels more often than others
    codes = np.unique(x, return_inverse=True)[1]
    tables = [tally(codes[y == c], codes.max() + 1) for c in range(3)]
    learnt = best_of(lambda a: sum(of_levels(table, a) for table in tables))
    learnt -= best_of(lambda a: of_levels(sum(tables), a))
    declared = sum(of_levels(table, 1.0) for table in tables) - of_levels(sum(tables), 1.0)
    assert 0 < learnt < declared
    found = relevance(NaiveBayes(family).fit(x[:, None], y)).log_bayes_factor
    assert float(found[0]) == pytest.approx(learnt, abs=1e-3)


# Noise


def noise(rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Columns from two levels up to one a row that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < (0.5, 0.1)[seed % 2]).astype(int)
    y[:2] = 0, 1
    rare = 1 / np.arange(1, rows + 1)
    levels = {f"1/{n}": rng.integers(0, rows // n, rows) for n in (2, 4, 5, 20, rows // 2)}
    levels |= {"id": np.arange(rows), "rare": rng.choice(rows, rows, p=rare / rare.sum())}
    numbers = {
        "flag": rng.random(rows) < 0.5,
        "seldom": rng.random(rows) < 0.02,
        "events": rng.poisson(3.0, rows),
        "zeros": rng.poisson(0.1, rows),
        "normal": rng.normal(1e3, 1.0, rows),
    }
    return pd.DataFrame(levels).astype(str).assign(**numbers), y


@pytest.mark.parametrize(
    ("pairs", "seeds"),
    [(False, 20), pytest.param(False, 100, marks=pytest.mark.slow),
     pytest.param(True, 20, marks=pytest.mark.slow)],
)  # fmt: skip
def test_noise_is_strong_evidence_in_at_most_one_of_twenty_tables(pairs: bool, seeds: int) -> None:
    families = {"events": Poisson(), "zeros": Poisson(), "normal": Gaussian()}
    strong = []
    for seed in range(seeds):
        x, y = noise(400, seed)
        plain = NaiveBayes(families | dict.fromkeys(x.columns[:7], "categorical"))
        found = dependence(plain, x, y) if pairs else relevance(plain.fit(x, y))
        strong.append(found.log_bayes_factor.values > STRONG)
    assert np.mean(strong, axis=0).max() <= 0.05


# Which pairs depend on each other


def pair_of(model: Any, x: Any, y: Any, i: Any = 0, j: Any = 1) -> Array:
    """Return the log Bayes factor of one pair within each class."""
    found = dependence(model, x, y).log_bayes_factor_by_class
    return found.sel(feature=i, feature_2=j).values


def test_a_table_against_its_margins_is_the_ratio_of_three_evidences() -> None:
    x = np.column_stack([RNG.integers(0, size, 60) for size in (3, 5, 2)]).astype(float)
    x[RNG.random(x.shape) < 0.1] = np.nan
    y = np.arange(60) % 2
    flag = Bernoulli(Beta(0.5, 2.0))
    model = NaiveBayes({0: Categorical(0.7), 1: Categorical(0.7), 2: flag})
    priors = [np.full(3, 0.7), np.full(5, 0.7), np.array([2.0, 0.5])]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        total = np.sqrt(priors[i].sum() * priors[j].sum())
        p = priors[i] / priors[i].sum()
        q = priors[j] / priors[j].sum()
        found = pair_of(model, x, y, i, j)
        for c in range(2):
            both = (y == c) & ~np.isnan(x[:, [i, j]]).any(axis=1)
            table = np.zeros((len(p), len(q)))
            np.add.at(table, tuple(x[both][:, [i, j]].astype(int).T), 1)
            expected = of_levels(table.ravel(), total * np.outer(p, q).ravel())
            expected -= of_levels(table.sum(axis=1), total * p)
            expected -= of_levels(table.sum(axis=0), total * q)
            assert found[c] == pytest.approx(expected, rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("concentration", [1e-250, 1.0, 1e250])
def test_one_row_says_nothing_about_a_dependence(concentration: float) -> None:
    one_class = NaiveBayes(Categorical(concentration, levels=range(3)), classes=[0])
    assert pair_of(one_class, [[1, 2]], [0])[0] == pytest.approx(0, abs=1e-12)
    uneven = {0: Categorical(0.2, levels=range(4)), 1: Bernoulli(Beta(3.0, 1.0)), 2: Poisson()}
    factors = dependence(NaiveBayes(uneven, classes=[0]), [[3, 1, 4]], [0]).log_bayes_factor
    np.testing.assert_allclose(factors.values[np.triu_indices(3, 1)], 0, atol=1e-14)


def log_bayes_factor_of_normals(x: Array, prior: list[tuple[float, ...]]) -> float:
    """A bivariate normal against two normals, in sixty digits; priors are (mean, count, a, b)."""
    with mp.workdps(60):
        n = len(x)
        k = mp.mpf(prior[0][1])
        a = mp.mpf(prior[0][2])
        scale = [mp.mpf(p[3]) for p in prior]
        cells = mp.matrix(x.tolist())
        psi = mp.diag([2 * b for b in scale])
        mean = [mp.fsum(cells[:, j]) / n for j in range(2)]
        for i in range(2):
            for j in range(2):
                gaps = [(cells[r, i] - mean[i]) * (cells[r, j] - mean[j]) for r in range(n)]
                gap = (mean[i] - prior[i][0]) * (mean[j] - prior[j][0])
                psi[i, j] += mp.fsum(gaps) + k * n / (k + n) * gap
        value = mp.mpf(0)
        a_after = a + mp.mpf(n) / 2
        for sign, shape in ((1, a_after), (-1, a)):
            nu = 2 * shape + 1
            value += sign * (mp.loggamma(nu / 2) + mp.loggamma((nu - 1) / 2))
            value -= sign * 2 * mp.loggamma(shape)
        value += (a + 0.5) * mp.log(4 * scale[0] * scale[1]) - (a_after + 0.5) * mp.log(mp.det(psi))
        for j in range(2):
            value -= a * mp.log(2 * scale[j]) - a_after * mp.log(psi[j, j])
        return float(value)


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-6, 1e-4, 1.0])
def test_a_column_and_its_copy_are_compared_to_the_last_digit(spread: float) -> None:
    rng = np.random.default_rng(8)
    first = rng.normal(size=25)
    x = np.column_stack([first, 3 * first + spread * rng.normal(size=25)])
    prior = NormalInverseGamma([0.25, 0.75], 0.5, 1.5, 1e-15)
    found = pair_of(NaiveBayes(Gaussian(prior)), x, np.zeros(25, int))[0]
    expected = log_bayes_factor_of_normals(x, [(0.25, 0.5, 1.5, 1e-15), (0.75, 0.5, 1.5, 1e-15)])
    assert found == pytest.approx(expected, rel=1e-10)


def test_two_gaussian_columns_are_compared_within_classes_and_by_whole_rows() -> None:
    found = pair_of(MODEL, X, Y, "long", "wide")
    for c in range(3):
        rows = X.loc[c == Y, ["long", "wide"]].dropna().to_numpy()
        prior = [(0.0, 0.4, 1.0, 1.0), (10.0, 0.4, 1.0, 1e6)]
        assert found[c] == pytest.approx(log_bayes_factor_of_normals(rows, prior), rel=1e-9)


def test_different_priors_of_gaussian_columns_meet_in_the_middle_and_keep_their_variance() -> None:
    one = Gaussian(NormalInverseGamma(0.0, 0.1, 1.0, 2.0))
    two = Gaussian(NormalInverseGamma(1.0, 0.9, 4.0, 2.0))
    middle = Gaussian(NormalInverseGamma([0.0, 1.0], 0.3, 2.0, [4.0, 1.0]))
    x = RNG.normal(size=(ROWS, 2))
    found = pair_of(NaiveBayes({0: one, 1: two}), x, Y)
    np.testing.assert_allclose(found, pair_of(NaiveBayes(middle), x, Y), rtol=1e-12)


@pytest.mark.parametrize("levels", ["colour", "tail"])
@pytest.mark.parametrize("name", ["long", "wide", "eggs"])
def test_numbers_and_counts_within_levels_are_the_ratio_of_their_evidences(
    name: str, levels: str
) -> None:
    found = pair_of(MODEL, X, Y, name, levels)
    for c in range(3):
        known = (c == Y) & X[levels].notna()
        expected = -evidence(name, known)
        for level in X[levels].dropna().unique():
            expected += evidence(name, known & (X[levels] == level))
        assert found[c] == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.slow
def test_factors_are_symmetric_permuted_with_columns_and_counted_by_weight() -> None:
    found = dependence(MODEL, X, Y).log_bayes_factor
    np.testing.assert_array_equal(found, found.values.T)
    absent = np.argwhere(np.triu(np.isnan(found), 1))
    names = found.feature.values[absent].tolist()
    assert sorted(map(sorted, names)) == [["eggs", "long"], ["eggs", "wide"]]
    turned = dependence(MODEL, X[X.columns[::-1]], Y, iter(["wide", "tail"])).log_bayes_factor
    same = found.sel(feature=turned.feature, feature_2=turned.feature_2)
    np.testing.assert_allclose(turned, same, rtol=1e-12)
    times = np.arange(ROWS) % 5 * 1_000  # rows are counted in pieces
    once = dependence(MODEL, X, Y, sample_weight=times).log_bayes_factor
    often = dependence(MODEL, X.loc[np.repeat(X.index, times)], np.repeat(Y, times))
    np.testing.assert_allclose(once, often.log_bayes_factor, rtol=1e-9, atol=1e-10)


COUNTS = X[["the", "a", "of"]].to_numpy()
UNEVEN = Dirichlet(np.where(np.arange(6).reshape(3, 2, 1) == 3, np.arange(1.0, 10.0), 1.0))
REFUSED = [
    (lambda: relevance(NaiveBayes(Categorical(0.0)).fit(COUNTS, Y)), "column 0 is improper"),
    (
        lambda: relevance(NaiveBayes(Categorical(UNEVEN, levels=range(9))).fit(COUNTS[:, :2], Y)),
        "column 1 differs between classes",
    ),
    (lambda: relevance(MultinomialNB().fit(sparse.csr_array(COUNTS / 2), Y)), "not whole numbers"),
    (lambda: dependence(MODEL, X, Y, ["the", "long"]), "'the' is in a block"),
    (lambda: dependence(MODEL, X, Y, ["no", "long"]), "'no' is not a column"),
    (lambda: dependence(MODEL, X, Y, "long"), "a list of names, got 'long'"),
    (lambda: dependence(MODEL, X, Y, sample_weight=np.full(ROWS, 0.5)), "whole numbers"),
    (lambda: dependence(NaiveBayes(Multinomial()), COUNTS, Y), "needs two columns"),
    (
        lambda: dependence(
            NaiveBayes(Bernoulli(threshold=0.0)), sparse.csr_array((3, 6000)), [0, 1, 0]
        ),
        "too many for",
    ),
]


@pytest.mark.parametrize(("call", "match"), REFUSED, ids=[match for _, match in REFUSED])
def test_what_cannot_be_compared_is_refused(call: Callable[[], Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()
