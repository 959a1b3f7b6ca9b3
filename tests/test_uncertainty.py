"""The law of p(y | x, theta), where it is known in closed form, and the parts that it is computed with.

Without cells the probabilities are the class die's: p ~ Dirichlet(alpha), whatever the number of classes. And where
the class's concentration is the sum of a column's, p(y | x, theta) is Dirichlet again, with those of x's level.
"""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import digamma, gammaln, loggamma, ndtri, softmax
from scipy.stats import beta, norm
from sklearn.datasets import load_digits, load_iris

from bayesnb import (
    Categorical,
    Dirichlet,
    DrawnWarning,
    Gaussian,
    GaussianNB,
    NaiveBayes,
    NormalInverseGamma,
    calibration,
    numerics,
)
from bayesnb.inference.many_classes import Ray, rates_of_others, sum_of_two
from tests.conftest import Array

CLASSES = [2, 3, 10, 50]
LAWS = ["observed", "fixed"]


def die_of(classes: int, smallest: float = 0.6) -> Array:
    return smallest + 1.3 * np.arange(classes)


def blank(classes: int, smallest: float = 0.6) -> tuple[NaiveBayes, pd.DataFrame, Array]:
    """A model, a row without any cell, and what the class's die is believed to be."""
    alpha = die_of(classes, smallest)
    x = pd.DataFrame({"size": np.arange(2.0 * classes), "kind": pd.array(["a", "b"] * classes, dtype="string")})
    y = np.repeat(np.arange(classes), 2)
    model = NaiveBayes(class_prior=Dirichlet(alpha)).fit(x, y)
    return model, pd.DataFrame({"size": [np.nan], "kind": pd.array([None], dtype="string")}), alpha + 2


def levelled(classes: int, smoothing: float) -> tuple[NaiveBayes, Array, Array]:
    """A model of one column, its levels, and the concentrations of the law of p(y | level), `(k, c)`."""
    levels, rng = 3, np.random.default_rng(classes)
    x, y = rng.integers(0, levels, 4 * classes), np.arange(4 * classes) % classes
    family = Categorical(smoothing, levels=range(levels))
    model = NaiveBayes(family, class_prior=levels * smoothing).fit(x[:, None], y)
    return model, np.arange(levels)[:, None], model.posterior_[0].concentration.T


def assert_dirichlet(found: object, alpha: Array, prob: float, error: float) -> None:
    """Every end is a quantile of the Beta law of its class, on the probability scale."""
    rest = alpha.sum(axis=-1, keepdims=True) - alpha
    tail = (1 - prob) / 2
    for name, level in (("lower", tail), ("median", 0.5), ("upper", 1 - tail)):
        end = found[name].values  # type: ignore[index]
        told = 1 - end > 1e-6  # beside 1 a float has too few digits, and the other classes have them
        np.testing.assert_allclose(beta(alpha, rest).cdf(end)[told], level, rtol=0, atol=error)
    np.testing.assert_allclose(found.probability, alpha / (alpha + rest), atol=error)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize(("method", "error"), [("exact", 1e-8), ("auto", 1e-3), ("fast", 2e-2)])
def test_without_cells_the_law_is_that_of_the_class_die(classes: int, rows: str, method: str, error: float) -> None:
    model, x, alpha = blank(classes)
    assert_dirichlet(model.predict_interval(x, 0.9, rows, method), alpha[None], 0.9, error)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "smoothing"), [(2, 1), (2, 0.1), (2, 0.02), (3, 0.02), (10, 1), (50, 0.1)])
def test_a_column_as_heavy_as_its_class_has_a_dirichlet_law(classes: int, smoothing: float) -> None:
    model, x, alpha = levelled(classes, smoothing)
    exact = model.predict_interval(x, 0.95, "fixed", "exact")
    assert_dirichlet(exact, alpha, 0.95, 1e-8)
    assert_dirichlet(model.predict_interval(x, 0.95, "fixed", "auto"), alpha, 0.95, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("classes", CLASSES)
def test_without_cells_the_entropies_are_those_of_the_class_die(classes: int, rows: str) -> None:
    model, x, alpha = blank(classes)
    found, mean = model.uncertainty(x, rows), alpha / alpha.sum()
    aleatoric = digamma(alpha.sum() + 1) - mean @ digamma(alpha + 1)
    assert float(found.aleatoric[0]) == pytest.approx(aleatoric, abs=1e-9)
    assert float(found.epistemic[0]) == pytest.approx(-mean @ np.log(mean) - aleatoric, abs=1e-9)
    assert float(found.log_density[0]) == pytest.approx(0, abs=1e-12)


def test_small_concentrations_have_their_entropies_too() -> None:
    model, x, alpha = levelled(3, 0.05)
    found = model.uncertainty(x, "fixed")
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    aleatoric = digamma(alpha.sum(axis=1) + 1) - (mean * digamma(alpha + 1)).sum(axis=1)
    np.testing.assert_allclose(found.aleatoric, aleatoric, atol=1e-8)


@pytest.mark.slow
def test_a_known_class_prior_and_one_gaussian_column_are_as_quadrature_has_them() -> None:
    """With the variances nearly known the score's only random part is the mean: a shifted square of a normal."""
    prior = NormalInverseGamma(np.array([[0.0], [1.0]]), 5.0, 1e9, 1e9)
    model = NaiveBayes({0: Gaussian(prior)}, class_prior="uniform").fit([[0.0], [1.0]], [0, 1])
    belief, x = model.posterior_[0], 0.8
    found = model.predict_interval([[x]], 0.9, "fixed", "exact").isel(obs_id=0).sel({"class": 1})
    spread = 1 / np.sqrt(belief.count)
    z = np.linspace(-9, 9, 4001)
    means = belief.location[:, None] + spread[:, None] * z
    odds = -((x - means[1]) ** 2)[:, None] / 2 + ((x - means[0]) ** 2)[None] / 2
    weight = norm.pdf(z)[:, None] * norm.pdf(z) * (z[1] - z[0]) ** 2
    for name, level in (("lower", 0.05), ("median", 0.5), ("upper", 0.95)):
        end = float(found[name])
        assert (weight * (odds <= np.log(end / (1 - end)))).sum() == pytest.approx(level, abs=1e-3)
    assert float(found.probability) == pytest.approx((weight / (1 + np.exp(-odds))).sum(), abs=1e-6)


@pytest.mark.parametrize("line", [0.0, 0.5])
@pytest.mark.parametrize("size", [1024, 4096, 16384])
def test_sums_of_gamma_variates_are_gamma_variates(line: float, size: int) -> None:
    alpha = np.array([0.7, 3.2, 40.0])
    ray = Ray(line, 2 * np.pi / 200, size, -70.0)
    s = line + 1j * ray.tau
    own = loggamma(alpha[:, None] + s) - gammaln(alpha)[:, None] - s * np.log(40)
    found = ray.moments(rates_of_others(*ray.laplace(own[None])))[0]
    rest = (alpha.sum() - alpha)[:, None]
    below = s.conj()
    wanted = np.exp(loggamma(rest + below) - gammaln(rest) - below * np.log(40))
    half = len(s) // 2
    np.testing.assert_allclose(found[:, :half], wanted[:, :half], rtol=0, atol=2e-9)


def test_joining_a_class_that_is_never_there_changes_nothing() -> None:
    rates, laplace = np.exp(-np.linspace(0, 3, 7)) + 0.1j, np.linspace(1, 0, 7) + 0j
    one = sum_of_two((rates, laplace), (np.zeros(7), np.ones(7)))
    np.testing.assert_array_equal(one, (rates, laplace))


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize(
    ("mean", "wide", "close"),
    [((0.0, -0.7, 0.4, -3.0), 1.0, 1e-6), pytest.param((0.0, 50.0, -30.0, 20.0), 6.0, 1e-5, marks=pytest.mark.slow)],
)
def test_the_rest_of_normal_scores_has_the_cumulants_of_a_brute_force_sum(
    mean: tuple[float, ...], wide: float, close: float, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = numerics.class_sums.others_of_rows
    way = kernel.machine_code if loops else kernel.definition
    monkeypatch.setattr("bayesnb.numerics.class_sums.others_of_rows", way)
    spread = wide * np.array([0.3, 1.1, 0.05, 0.8])
    z = np.linspace(-15, 15, 101)  # once seen, a score has moved by its variance: by 6.6 of z
    w = np.exp(-(z**2) / 2)
    w = w / w.sum()
    alone = np.zeros((4, 1, 4))
    alone[0, 0], alone[1, 0] = mean, spread**2
    seen = alone.copy()
    seen[0] += alone[1]  # what a tilt does to a normal law
    share = softmax(mean + spread**2 / 2)[None]
    rest, rest_seen, probability = np.empty_like(alone), np.empty_like(alone), np.empty_like(share)
    every = np.ones((1, 4), bool)
    numerics.class_sums.cumulants_of_others(alone, seen, share, every, rest, rest_seen, probability, np.empty(1))
    for c in range(4):
        others = [k for k in range(4) if k != c]
        u = np.stack(np.meshgrid(*(mean[k] + spread[k] * z for k in others)))
        weight = np.prod(np.meshgrid(w, w, w), axis=0)
        total = np.logaddexp.reduce(u, axis=0)
        for law, own in ((rest, weight), (rest_seen, weight * np.exp(total - total.max()))):
            own = own / own.sum()
            first = (own * total).sum()
            moments = [(own * (total - first) ** n).sum() for n in (2, 3, 4)]
            wanted = [first, moments[0], moments[1], moments[2] - 3 * moments[0] ** 2]
            unit = max(moments[0], 1.0) ** (np.arange(1, 5) / 2)
            np.testing.assert_allclose(law[:, 0, c] / unit, wanted / unit, rtol=close, atol=close / 10)
    assert probability.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("kurtosis", [0.0, 0.05])
@pytest.mark.parametrize("skew", [-0.2, 0.0, 0.2])
def test_a_mixture_of_two_equal_laws_is_that_law(skew: float, kurtosis: float) -> None:
    law = np.array([[1.0], [4.0], [8 * skew], [16 * kurtosis]])
    z = ndtri(np.array([0.05, 0.5, 0.95]))
    ends, error, mixed = np.empty((3, 1)), np.empty(1), np.empty((4, 1))
    numerics.cornish_fisher.quantiles(law, law + 1e-9 * np.eye(4)[:, :1], np.array([0.3]), z, -1.0, ends, error, mixed)
    cubic = (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skew**2 / 36
    np.testing.assert_allclose(ends[:, 0], 1 + 2 * (z + (z**2 - 1) * skew / 6 + cubic), atol=1e-6)
    np.testing.assert_allclose(mixed, law, atol=1e-8)


@pytest.mark.parametrize("rows", LAWS)
def test_rows_that_no_class_of_zero_smoothing_explains_have_no_law_and_say_so(rows: str) -> None:
    model = NaiveBayes(Categorical(0.0)).fit([["a"], ["a"], ["b"]], ["u", "u", "v"])
    for ask in (model.predict_interval, model.uncertainty):
        with pytest.raises(ValueError, match=r"row 1 has no distribution of .*\(1 such rows\).*smoothing above 0"):
            ask([[None], ["a"]], rows=rows)


def test_a_class_of_probability_zero_keeps_it() -> None:
    model = GaussianNB(class_prior=[0.5, 0.0, 0.5]).fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 1, 2, 2])
    found = model.predict_interval([[2.5]], 0.9)
    assert found.sel({"class": 1}).to_array().values.ravel().tolist() == [0, 0, 0, 0]
    two = model.predict_interval([[2.5]], 0.9, method="exact").sel({"class": [0, 2]})
    np.testing.assert_allclose(two.lower, 1 - two.upper[:, ::-1], atol=1e-12)


def test_one_class_is_certain() -> None:
    model = GaussianNB().fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict_interval([[5.0]]).to_array().values.ravel().tolist() == [1, 1, 1, 1]
    assert float(model.uncertainty([[5.0]]).entropy[0]) == 0


@pytest.mark.parametrize("rows", LAWS)
def test_draws_agree_with_the_exact_law(rows: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 2)) + np.arange(30)[:, None] % 3, np.arange(30) % 3
    model, new = GaussianNB(temper=0.7).fit(x, y), rng.normal(size=(4, 2)) + 1
    drawn = model.predict_interval(new, 0.8, rows, "draws", draws=20_000, rng=1)
    exact = model.predict_interval(new, 0.8, rows, "exact")
    for name in ("probability", "median", "lower", "upper"):
        np.testing.assert_allclose(drawn[name], exact[name], atol=0.015)


def test_threads_and_blocks_of_rows_change_no_digit() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(60, 3)) + np.arange(60)[:, None] % 2, np.arange(60) % 2
    new = rng.normal(size=(40_000, 3)) + 1
    found = [GaussianNB(n_jobs=n).fit(x, y).predict_interval(new, 0.9, method="fast") for n in (1, 2)]
    assert found[0].equals(found[1])


def shares_below(model: object, x: Array, found: object, draws: int = 4000) -> tuple[Array, Array]:
    """Of draws, the share at or below each end, `(3, r, c)`, and how much of it lies within rounding of that end."""
    proba = model.draw_proba(x, draws, chains=1, rng=1).values[0]  # type: ignore[attr-defined]
    ends = np.stack([found[name].values for name in ("lower", "median", "upper")])[:, None]  # type: ignore[index]
    return (proba <= ends * (1 + 1e-9)).mean(axis=1), (proba < ends * (1 - 1e-9)).mean(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_grid_far_beyond_the_data_has_the_laws_that_draws_have(classes: int) -> None:
    x, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(x[: 50 * classes], y[: 50 * classes])
    grid = np.array([[a, 3, b, 1.0] for a in np.linspace(0, 12, 6) for b in np.linspace(0, 9, 6)])
    found = model.predict_interval(grid, 0.9, "fixed")
    upto, below = shares_below(model, grid, found)
    levels, error = np.array([0.05, 0.5, 0.95])[:, None, None], 5 * np.sqrt(0.25 / 4000)
    told = np.stack([found[name].values for name in ("lower", "median", "upper")])
    told = (told > 1e-12) & (told < 1 - 1e-12)  # beyond, draws are 0 or 1
    assert (upto[told] > (levels - error - 5e-3 + 0 * upto)[told]).all()
    assert (below[told] < (levels + error + 5e-3 + 0 * upto)[told]).all()
    mean = model.draw_proba(grid, 4000, chains=1, rng=1).mean(("chain", "draw"))
    np.testing.assert_allclose(found.probability, mean, atol=error)
    np.testing.assert_allclose(model.uncertainty(grid, "fixed").probability, mean, atol=error)


@pytest.mark.slow
@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_rows_whose_classes_are_hundreds_of_nats_apart_have_laws(rows: str, method: str) -> None:
    x, y = load_digits(return_X_y=True)
    model = GaussianNB().fit(x[:1200], y[:1200])
    found = model.predict_interval(x[1200:1230], 0.9, rows, method)
    parts = model.uncertainty(x[1200:1230], rows)
    np.testing.assert_allclose(found.probability.sum("class"), 1, atol=1e-12)
    np.testing.assert_allclose(found.probability, parts.probability, atol=1e-3)
    assert (found.lower <= found["median"]).all()
    assert (found["median"] <= found.upper).all()
    assert (parts.aleatoric >= 0).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weight", [1e6, 1e9])
@pytest.mark.parametrize("method", ["auto", "exact", "fast"])
def test_with_endless_data_the_interval_closes_on_the_prediction(classes: int, weight: float, method: str) -> None:
    rng, y = np.random.default_rng(0), np.arange(30) % classes
    x = rng.normal(size=(30, 2)) + y[:, None]
    model = GaussianNB().fit(x, y, sample_weight=np.full(30, weight))
    found = model.predict_interval(x[:3], 0.9, method=method)
    np.testing.assert_allclose(found["median"], found.probability, atol=20 / weight)
    width, wanted = found.upper - found.lower, 3.3 * found.probability * np.sqrt(1 / weight)
    assert (width > 0).all()
    assert (width < 5 * wanted).all()


def test_five_hundred_features_have_windows() -> None:
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 15)
    x = rng.normal(size=(30, 500)) + 0.1 * y[:, None]
    model = GaussianNB().fit(x, y)
    exact = model.predict_interval(x, 0.9, method="exact")
    np.testing.assert_allclose(exact.probability, model.predict_proba(x), atol=1e-12)
    assert np.isfinite(exact.to_array()).all()
    assert (model.uncertainty(x, "fixed").aleatoric >= 0).all()


@pytest.mark.parametrize("rows", LAWS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_without_cells_under_a_known_class_prior_is_certain(classes: int, rows: str) -> None:
    model, x, _ = blank(classes)
    model = NaiveBayes(class_prior="uniform").fit(
        pd.DataFrame({"size": np.arange(2.0 * classes), "kind": ["a", "b"] * classes}), np.repeat(np.arange(classes), 2)
    )
    found, parts = model.predict_interval(x, 0.9, rows), model.uncertainty(x, rows)
    np.testing.assert_allclose(found.to_array(), 1 / classes, atol=1e-9)
    np.testing.assert_allclose(parts.epistemic, 0, atol=1e-9)


def test_endless_tails_among_several_fixed_classes_are_drawn_and_say_so() -> None:
    model = NaiveBayes(Categorical(1e-5)).fit([["a"], ["a"], ["b"], ["c"]], [0, 0, 1, 2])
    with pytest.warns(DrawnWarning, match="1 rows"):
        found = model.predict_interval([["b"]], 0.9, "fixed")
    assert float(found["median"].sel({"class": 1}).values[0]) > 0.999
    with pytest.raises(ValueError, match="method='draws'"):
        model.predict_interval([["b"]], 0.9, "fixed", "exact")
    with pytest.warns(DrawnWarning):
        model.uncertainty([["b"]], "fixed")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"draws": 0}, "draws must be a whole number, at least 1, got 0"),
        ({"draws": 2.5}, "draws must be a whole number"),
        ({"ci_prob": 1.0}, "ci_prob must be a number between 0 and 1, got 1.0"),
        ({"ci_prob": "x"}, "ci_prob must be a number"),
        ({"rows": "all"}, "rows must be 'observed' or 'fixed', got 'all'"),
        ({"method": "best"}, "method must be one of auto, fast, exact, draws, got 'best'"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(said: dict, told: str) -> None:
    model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=told):
        model.predict_interval([[1.0]], **said)


ROW_NAMES: dict[str, tuple[Any, list[Any]]] = {
    "text": (pd.Index(["u", "v"]), ["u", "v"]),
    "text of objects": (pd.Index(["u", "v"], dtype=object), ["u", "v"]),
    "numbers": (pd.Index([3, 1]), [3, 1]),
    "a time zone": (
        pd.date_range("2026-07-01", periods=2, tz="Europe/Berlin"),
        ["2026-07-01 00:00:00+02:00", "2026-07-02 00:00:00+02:00"],
    ),
    "dates": (pd.Index([date(2026, 7, 1), date(2026, 7, 2)]), ["2026-07-01", "2026-07-02"]),
    "periods": (pd.period_range("2026-07", periods=2, freq="M"), ["2026-07", "2026-08"]),
    "intervals": (pd.interval_range(0, 2), ["(0, 1]", "(1, 2]"]),
    "tuples": (pd.MultiIndex.from_tuples([("u", 1), ("v", 2)]), ["('u', 1)", "('v', 2)"]),
    "several types": (pd.Index([1, None], dtype=object), ["1", "None"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROW_NAMES)
def test_results_are_written_to_netcdf_whatever_the_rows_are_called(kind: str, tmp_path: Path) -> None:
    index, names = ROW_NAMES[kind]
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=index)
    model = NaiveBayes().fit(rows, ["no", "yes"])
    results = {
        "uncertainty": model.uncertainty(rows),
        "interval": model.predict_interval(rows),
        "explain": model.explain(rows),
        "decide": model.decide(rows),
        "calibration": calibration(model, rows, ["no", "yes"]),
        "draws": model.draw_proba(rows, draws=2, rng=1),
    }
    for name, result in results.items():
        assert result.obs_id.values.tolist() == names
        result.to_netcdf(tmp_path / f"{name}.nc", engine="scipy")
        with xr.open_dataset(tmp_path / f"{name}.nc", engine="scipy") as again:
            assert again.obs_id.values.tolist() == names


def test_dates_and_durations_stay_such_as_names_of_rows() -> None:
    for index in (pd.date_range("2026-07-01", periods=2), pd.timedelta_range("1D", periods=2)):
        rows = pd.DataFrame({"a": [1.0, 2.0]}, index=index)
        assert (NaiveBayes().fit(rows, [0, 1]).uncertainty(rows).obs_id.values == index.to_numpy()).all()
