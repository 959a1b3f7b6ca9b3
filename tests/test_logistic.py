"""Logistic regression sampled with PyMC: its log-density, its draws, and what they say of rows."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from bayesnb.mcmc import Logistic, logistic
from bayesnb.mcmc.importance_weights import ParetoWarning

pytest.importorskip("pymc")
Array = np.ndarray
HOW: dict[str, Any] = {
    "draws": 400,
    "tune": 400,
    "chains": 2,
    "sampler": "pymc",
    "sampling": {"cores": 1},
    "rng": 1,
}
ERRORS = 5  # standard errors
QUICK = "FAST_COMPILE"


def dogs(rows: int = 90) -> tuple[pd.DataFrame, Array]:
    """Three breeds by columns of three kinds, with missing cells."""
    rng = np.random.default_rng(7)
    code = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "colour": rng.choice(["black", "brown", "white"], rows),
            "weight": rng.normal(20 + 4 * code, 4.0),
            "tail": rng.random(rows) < 0.2 + 0.3 * code,
        },
        index=[f"dog {row}" for row in range(rows)],
    )
    table.loc["dog 3", "weight"], table.loc["dog 5", "colour"] = np.nan, None
    return table, np.array(["beagle", "collie", "poodle"])[code]


@pytest.fixture(scope="module")
def line() -> tuple[Array, Array]:
    """One number and two classes."""
    rng = np.random.default_rng(3)
    x = rng.normal(50.0, 8.0, 40)
    return x[:, None], rng.random(40) < expit((x - 48) / 5)


@pytest.fixture(scope="module")
def two(line: tuple[Array, Array]) -> Logistic:
    return Logistic(**HOW).fit(*line)


@pytest.fixture(scope="module")
def three() -> Logistic:
    """Whatever the coefficients are: draws that no sampler made."""
    with pytest.MonkeyPatch.context() as patch:  # undone once it is fitted: other tests sample
        patch.setattr("bayesnb.mcmc.twin.sample", thrown)
        return logistic(*dogs(), squares=True, **HOW)


def thrown(model: Any, parameters: Any, rng: Any) -> xr.DataTree:
    """Intercepts and coefficients near 0 that sum to 0 over the classes."""
    rng = np.random.default_rng(2)
    coords = {name: list(model.coords[name]) for name in ("feature", "class")}

    def values(*dims: str) -> tuple[tuple[str, ...], Array]:
        own = rng.normal(0.0, 0.4, (2, 200, *(len(coords[dim]) for dim in dims)))
        return ("chain", "draw", *dims), own - own.mean(axis=-1, keepdims=True)

    found = {"intercept": values("class"), "coefficient": values("feature", "class")}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(found, coords)})


def of_draws(model: Logistic) -> tuple[Array, Array]:
    """Draws of intercepts, `(s, c)`, and coefficients, `(s, c, k)`."""
    drawn = model.datatree_["posterior"].to_dataset().stack(s=("chain", "draw"))
    return drawn["intercept"].transpose("s", "class").values, drawn["coefficient"].transpose(
        "s", "class", "feature"
    ).values


@dataclass
class Twin:
    """A PyMC model's log-density of coefficients (feature, class) and intercepts, as functions of
    free numbers.
    """

    model: Any

    def __post_init__(self) -> None:
        self.height = self.model.compile_logp(jacobian=False, mode=QUICK)
        self.values = self.model.compile_fn(
            self.model.unobserved_value_vars, inputs=self.model.value_vars, mode=QUICK
        )

    def point(self, rng: np.random.Generator) -> dict[str, Array]:
        return {
            name: rng.normal(size=np.shape(own)) for name, own in self.model.initial_point().items()
        }

    def effects(self, point: dict[str, Array]) -> tuple[Array, Array]:
        """The coefficients (feature, class) and the intercepts."""
        found = dict(
            zip(
                (own.name for own in self.model.unobserved_value_vars),
                self.values(point),
                strict=True,
            )
        )
        return found["coefficient"], found["intercept"]


def standardised(x: Array, weight: Array | None = None) -> Array:
    mean = np.average(x, axis=0, weights=weight)
    return (x - mean) / np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))


@pytest.mark.slow
def test_the_log_density_is_that_of_softmax_regression_whose_effects_sum_to_zero() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal([1e3, -2.0], [10.0, 0.1], (12, 2))
    y = rng.integers(0, 3, 12)
    z, basis = (
        standardised(x),
        np.linalg.svd(np.eye(3) - 1 / 3)[0][:, :2],
    )  # orthonormal, of what sums to 0
    twin = Twin(Logistic(scale=1.5, intercept_scale=4.0).build(x, y))
    for _ in range(4):
        point = twin.point(rng)
        b, a = twin.effects(point)
        np.testing.assert_allclose([*b.sum(axis=-1), a.sum()], 0.0, atol=1e-12)
        prior = (
            norm.logpdf(b @ basis, 0, 1.5 / np.sqrt(2)).sum()
            + norm.logpdf(a @ basis, 0, 4 / np.sqrt(2)).sum()
        )
        expected = prior + log_softmax(a + z @ b, axis=1)[np.arange(12), y].sum()
        assert float(twin.height(point)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_a_row_of_weight_two_is_a_row_twice() -> None:
    table, y = dogs(10)
    weight = np.arange(10) % 3
    twice = np.repeat(np.arange(10), weight)
    counted = Twin(Logistic(squares=True).build(table, y, weight))
    repeated = Twin(
        Logistic(squares=True).build(table.iloc[twice].reset_index(drop=True), y[twice])
    )
    assert counted.model.coords["feature"] == repeated.model.coords["feature"]
    point = counted.point(np.random.default_rng(1))
    assert float(counted.height(point)) == pytest.approx(float(repeated.height(point)), rel=1e-12)


@pytest.mark.slow
def test_scikit_learns_penalised_estimate_is_the_mode(line: tuple[Array, Array]) -> None:
    x, y = line
    z = standardised(x)
    fitted = LogisticRegression(C=2.5**2, tol=1e-12, max_iter=1000).fit(
        z, y
    )  # which leaves its intercept free
    twin = Twin(Logistic(intercept_scale=1e4).build(x, y))
    names = [own.name for own in twin.model.value_vars]
    ones = twin.effects(
        {name: np.ones(np.shape(own)) for name, own in twin.model.initial_point().items()}
    )
    units = dict(
        zip(("rotated", "intercept"), (float(np.diff(own.ravel())[0]) for own in ones), strict=True)
    )
    found = {"rotated": fitted.coef_[0, 0], "intercept": fitted.intercept_[0]}
    wanted = {name: found[name.split("_")[0]] / units[name.split("_")[0]] for name in names}
    slope = twin.model.compile_dlogp(jacobian=False, mode=QUICK)

    def at(step: float) -> Array:
        start = twin.model.initial_point()
        return slope({name: np.full_like(start[name], wanted[name] + step) for name in names})

    assert np.abs(at(0.0)).max() < 1e-3 * np.abs(at(0.1)).min()


def grid(z: Array, y: Array) -> tuple[Array, Array, Array]:
    """Posterior weights on a grid of intercept and slope of the log-odds, by the textbook's
    formula.
    """
    a, b = np.meshgrid(np.linspace(-4, 5, 400), np.linspace(-2, 8, 400), indexing="ij")
    odds = a[..., None] + b[..., None] * z
    log_post = (
        norm.logpdf(a, 0, 5)
        + norm.logpdf(b, 0, 2.5)
        + (y * odds - np.logaddexp(0, odds)).sum(axis=-1)
    )
    weight = np.exp(log_post - log_post.max())
    return a, b, weight / weight.sum()


@pytest.mark.slow
def test_two_classes_are_the_textbooks_logistic_regression(
    two: Logistic, line: tuple[Array, Array]
) -> None:
    x, y = line
    a, b, weight = grid(standardised(x)[:, 0], y)
    intercept, coefficient = of_draws(two)
    for drawn, values in ((np.diff(intercept)[:, 0], a), (np.diff(coefficient[..., 0])[:, 0], b)):
        mean = (weight * values).sum()
        sd = np.sqrt((weight * (values - mean) ** 2).sum())
        worth = len(drawn) / 5  # draws of a chain depend on each other
        assert abs(drawn.mean() - mean) < ERRORS * sd / np.sqrt(worth)
        assert abs(drawn.std() / sd - 1) < ERRORS / np.sqrt(2 * worth)


@pytest.mark.slow
def test_probabilities_intervals_and_loo_are_those_of_the_grid(
    two: Logistic, line: tuple[Array, Array]
) -> None:
    x, y = line
    a, b, weight = grid(standardised(x)[:, 0], y)
    new = np.array([[40.0], [50.0], [66.0]])
    law = expit(a[..., None] + b[..., None] * ((new[:, 0] - x.mean()) / x.std()))
    mean = (weight[..., None] * law).sum(axis=(0, 1))
    sd = np.sqrt((weight[..., None] * (law - mean) ** 2).sum(axis=(0, 1)))
    error = ERRORS * sd / np.sqrt(800 / 5)
    assert (np.abs(two.predict_proba(new)[:, 1] - mean) < error).all()
    found = two.predict_interval(new, ci_prob=0.8).sel({"class": True})
    for j in range(3):
        own = law[..., j].ravel()
        order = np.argsort(law[..., j].ravel())
        below = np.cumsum(weight.ravel()[order])
        for level, name in ((0.1, "lower"), (0.5, "median"), (0.9, "upper")):
            share = float(np.interp(found[name].values[j], own[order], below))
            assert abs(share - level) < ERRORS * np.sqrt(level * (1 - level) / (800 / 5))
    likelihood = expit(np.where(y, 1, -1) * (a[..., None] + b[..., None] * standardised(x)[:, 0]))
    exact = -np.log(
        (weight[..., None] / likelihood).sum(axis=(0, 1))
    )  # 1 / p(y_i | D_-i) = E[1 / p(y_i | theta)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParetoWarning)
        scored = two.loo(x, y)
    np.testing.assert_allclose(scored.elpd_i.values, exact, atol=0.15)
    assert scored.elpd == pytest.approx(exact.sum(), abs=0.5)
    assert scored.good_k < 0.7
    assert scored.pareto_k.shape == (40,)


@pytest.mark.slow
def test_a_probability_too_small_for_a_float_keeps_its_log(
    two: Logistic, line: tuple[Array, Array]
) -> None:
    far = 2e4
    x = line[0]
    intercept, coefficient = of_draws(two)
    odds = (
        np.diff(intercept)[:, 0] + np.diff(coefficient[..., 0])[:, 0] * (far - x.mean()) / x.std()
    )
    expected = np.logaddexp.reduce(-np.logaddexp(0, odds)) - np.log(len(odds))
    assert expected < -750
    np.testing.assert_allclose(two.predict_log_proba([[far]])[0, 0], expected, rtol=1e-9)


def test_terms_are_named_and_standardised_whatever_the_columns_hold(three: Logistic) -> None:
    table, _ = dogs()
    names = ["colour=black", "colour=brown", "colour=white", "weight", "weight^2", "tail"]
    assert three.datatree_["posterior"]["feature"].values.tolist() == names
    hot = pd.get_dummies(table["colour"])[["black", "brown", "white"]].to_numpy(float, copy=True)
    hot[table["colour"].isna()] = np.nan
    z = (table["weight"] - table["weight"].mean()) / table["weight"].std(ddof=0)
    square = (z**2 - (z**2).mean()) / (z**2).std(ddof=0)
    tail = table["tail"].astype(float)
    expected = np.column_stack([hot - np.nanmean(hot, axis=0), z, square, tail - tail.mean()])
    intercept, coefficient = of_draws(three)
    scores = intercept + np.einsum("rk,sck->rsc", np.nan_to_num(expected), coefficient)
    np.testing.assert_allclose(
        three.predict_proba(table), softmax(scores, axis=-1).mean(axis=1), rtol=1e-9
    )
    found = three.explain(table)
    np.testing.assert_allclose(found.score, scores.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.score_sd, scores.std(axis=1), rtol=1e-9)


def test_the_linear_form_has_the_units_of_the_columns(three: Logistic) -> None:
    table, _ = dogs()
    whole = table.dropna()
    form = three.linear_form()
    score = three.explain(whole).score
    w = form["w"].to_pandas()
    for label in ("beagle", "collie", "poodle"):
        own = w.loc[label]
        by_hand = (
            float(form["b"].sel({"class": label}))
            + whole["colour"].map(lambda colour, own=own: own[f"colour={colour}"])
            + whole["weight"] * own["weight"]
            + whole["weight"] ** 2 * own["weight^2"]
            + whole["tail"] * own["tail"]
        )
        np.testing.assert_allclose(by_hand, score.sel({"class": label}), rtol=1e-9, atol=1e-9)
    assert (form["w_sd"] > 0).all()


@pytest.mark.slow
def test_pymc_and_arviz_score_the_draws_alike() -> None:
    import arviz_stats
    import pymc as pm

    table, y = dogs()
    three = logistic(table, y, squares=True, **HOW)
    with three.build(table, y), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tree = pm.compute_log_likelihood(three.datatree_.copy(), progressbar=False)
        own = three.loo(table, y)
        other = arviz_stats.loo(tree, reff=1.0, pointwise=True)
    np.testing.assert_allclose(own.elpd_i, other.elpd_i, rtol=1e-6)
    np.testing.assert_allclose(own.pareto_k, other.pareto_k, atol=1e-6)
