"""Logistic regression sampled with PyMC: its log-density, its draws, and what they say of rows."""

import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bayesnb import Categorical, Gaussian, Multinomial, NaiveBayes, Poisson, UnseenLevelWarning, compare
from bayesnb.data import open_table
from bayesnb.mcmc import Logistic, logistic
from bayesnb.mcmc.importance_weights import ParetoWarning
from bayesnb.mcmc.softmax_regression import Design

pytest.importorskip("pymc")
Array = np.ndarray
HOW: dict[str, Any] = {"draws": 400, "tune": 400, "chains": 2, "sampler": "pymc", "sampling": {"cores": 1}, "rng": 1}
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
    rng, coords = np.random.default_rng(2), {name: list(model.coords[name]) for name in ("feature", "class")}

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
    """A PyMC model's log-density of coefficients (feature, class) and intercepts, as functions of free numbers."""

    model: Any

    def __post_init__(self) -> None:
        self.height = self.model.compile_logp(jacobian=False, mode=QUICK)
        self.values = self.model.compile_fn(self.model.unobserved_value_vars, inputs=self.model.value_vars, mode=QUICK)

    def point(self, rng: np.random.Generator) -> dict[str, Array]:
        return {name: rng.normal(size=np.shape(own)) for name, own in self.model.initial_point().items()}

    def effects(self, point: dict[str, Array]) -> tuple[Array, Array]:
        """The coefficients (feature, class) and the intercepts."""
        found = dict(zip((own.name for own in self.model.unobserved_value_vars), self.values(point), strict=True))
        return found["coefficient"], found["intercept"]


def standardised(x: Array, weight: Array | None = None) -> Array:
    mean = np.average(x, axis=0, weights=weight)
    return (x - mean) / np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))


def test_the_log_density_is_that_of_softmax_regression_whose_effects_sum_to_zero() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal([1e3, -2.0], [10.0, 0.1], (12, 2)), rng.integers(0, 3, 12)
    z, basis = standardised(x), np.linalg.svd(np.eye(3) - 1 / 3)[0][:, :2]  # orthonormal, of what sums to 0
    twin = Twin(Logistic(scale=1.5, intercept_scale=4.0).build(x, y))
    for _ in range(4):
        point = twin.point(rng)
        b, a = twin.effects(point)
        np.testing.assert_allclose([*b.sum(axis=-1), a.sum()], 0.0, atol=1e-12)
        prior = norm.logpdf(b @ basis, 0, 1.5 / np.sqrt(2)).sum() + norm.logpdf(a @ basis, 0, 4 / np.sqrt(2)).sum()
        expected = prior + log_softmax(a + z @ b, axis=1)[np.arange(12), y].sum()
        assert float(twin.height(point)) == pytest.approx(expected, rel=1e-9)


def terms(table: Any, families: Any, new: Any = None, **how: Any) -> Array:
    """What the terms of new rows, or of the same, are after some rows were learnt."""
    reader = NaiveBayes(families).fit(table, np.arange(table.shape[0]) % 2)
    cells = reader.schema_.read(open_table(table))
    design = Design.learn(reader.schema_.blocks, cells, how.get("weight"), how.get("squares", False))
    return design.terms(cells if new is None else reader.schema_.read(open_table(new)))


def test_words_and_counts_are_standardised_whether_a_table_is_sparse_or_not() -> None:
    counts = np.random.default_rng(0).poisson([1.0, 5.0, 0.2], (30, 3))
    for family in (Multinomial(), Poisson()):
        for table in (counts, sparse.csr_array(counts)):
            np.testing.assert_allclose(terms(table, family), standardised(counts), rtol=1e-12)


def test_rows_count_by_their_weight_in_means_and_standard_deviations() -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(3, 2, (20, 2)), rng.random(20) + 0.1
    np.testing.assert_allclose(terms(x, Gaussian(), weight=weight), standardised(x, weight), rtol=1e-12)


def test_terms_do_not_change_when_a_column_is_shifted_and_rescaled() -> None:
    x = np.random.default_rng(0).integers(-4, 5, (25, 2)).astype(float)
    moved = x * [2.0, 0.5] + [2.0**27, -3.0]  # exact in floats
    np.testing.assert_allclose(
        terms(moved, Gaussian(), squares=True), terms(x, Gaussian(), squares=True), rtol=1e-6, atol=1e-7
    )


def test_what_never_varied_contributes_nothing_whatever_it_holds_later() -> None:
    table = pd.DataFrame({"number": [0.1, 0.1, 0.1], "flag": [True] * 3, "level": ["a"] * 3, "gone": [np.nan] * 3})
    new = pd.DataFrame({"number": [5.0], "flag": [False], "level": ["a"], "gone": [1.0]})
    assert not terms(table, "auto", squares=True).any()
    assert not terms(table, "auto", new, squares=True).any()


def test_levels_that_are_declared_or_reserved_have_terms_of_their_own() -> None:
    table, y = dogs(30)
    families = {"colour": Categorical(levels=("black", "brown", "white", "grey"), unseen="reserve")}
    names = Logistic(families).build(table, y).coords["feature"]
    assert names[:5] == tuple(f"colour={level}" for level in ("black", "brown", "white", "grey", "(unseen)"))


def test_a_row_of_weight_two_is_a_row_twice() -> None:
    table, y = dogs(10)
    weight = np.arange(10) % 3
    twice = np.repeat(np.arange(10), weight)
    counted = Twin(Logistic(squares=True).build(table, y, weight))
    repeated = Twin(Logistic(squares=True).build(table.iloc[twice].reset_index(drop=True), y[twice]))
    assert counted.model.coords["feature"] == repeated.model.coords["feature"]
    point = counted.point(np.random.default_rng(1))
    assert float(counted.height(point)) == pytest.approx(float(repeated.height(point)), rel=1e-12)


def test_scikit_learns_penalised_estimate_is_the_mode(line: tuple[Array, Array]) -> None:
    x, y = line
    z = standardised(x)
    fitted = LogisticRegression(C=2.5**2, tol=1e-12, max_iter=1000).fit(z, y)  # which leaves its intercept free
    twin = Twin(Logistic(intercept_scale=1e4).build(x, y))
    names = [own.name for own in twin.model.value_vars]
    ones = twin.effects({name: np.ones(np.shape(own)) for name, own in twin.model.initial_point().items()})
    units = dict(zip(("rotated", "intercept"), (float(np.diff(own.ravel())[0]) for own in ones), strict=True))
    found = {"rotated": fitted.coef_[0, 0], "intercept": fitted.intercept_[0]}
    wanted = {name: found[name.split("_")[0]] / units[name.split("_")[0]] for name in names}
    slope = twin.model.compile_dlogp(jacobian=False, mode=QUICK)

    def at(step: float) -> Array:
        start = twin.model.initial_point()
        return slope({name: np.full_like(start[name], wanted[name] + step) for name in names})

    assert np.abs(at(0.0)).max() < 1e-3 * np.abs(at(0.1)).min()


def grid(z: Array, y: Array) -> tuple[Array, Array, Array]:
    """Posterior weights on a grid of intercept and slope of the log-odds, by the textbook's formula."""
    a, b = np.meshgrid(np.linspace(-4, 5, 400), np.linspace(-2, 8, 400), indexing="ij")
    odds = a[..., None] + b[..., None] * z
    log_post = norm.logpdf(a, 0, 5) + norm.logpdf(b, 0, 2.5) + (y * odds - np.logaddexp(0, odds)).sum(axis=-1)
    weight = np.exp(log_post - log_post.max())
    return a, b, weight / weight.sum()


def test_two_classes_are_the_textbooks_logistic_regression(two: Logistic, line: tuple[Array, Array]) -> None:
    x, y = line
    a, b, weight = grid(standardised(x)[:, 0], y)
    intercept, coefficient = of_draws(two)
    for drawn, values in ((np.diff(intercept)[:, 0], a), (np.diff(coefficient[..., 0])[:, 0], b)):
        mean = (weight * values).sum()
        sd = np.sqrt((weight * (values - mean) ** 2).sum())
        worth = len(drawn) / 5  # draws of a chain depend on each other
        assert abs(drawn.mean() - mean) < ERRORS * sd / np.sqrt(worth)
        assert abs(drawn.std() / sd - 1) < ERRORS / np.sqrt(2 * worth)


def test_probabilities_intervals_and_loo_are_those_of_the_grid(two: Logistic, line: tuple[Array, Array]) -> None:
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
        own, order = law[..., j].ravel(), np.argsort(law[..., j].ravel())
        below = np.cumsum(weight.ravel()[order])
        for level, name in ((0.1, "lower"), (0.5, "median"), (0.9, "upper")):
            share = float(np.interp(found[name].values[j], own[order], below))
            assert abs(share - level) < ERRORS * np.sqrt(level * (1 - level) / (800 / 5))
    likelihood = expit(np.where(y, 1, -1) * (a[..., None] + b[..., None] * standardised(x)[:, 0]))
    exact = -np.log((weight[..., None] / likelihood).sum(axis=(0, 1)))  # 1 / p(y_i | D_-i) = E[1 / p(y_i | theta)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParetoWarning)
        scored = two.loo(x, y)
    np.testing.assert_allclose(scored.elpd_i.values, exact, atol=0.15)
    assert scored.elpd == pytest.approx(exact.sum(), abs=0.5)
    assert scored.good_k < 0.7
    assert scored.pareto_k.shape == (40,)


def test_both_laws_are_one_since_x_says_nothing_about_the_coefficients(two: Logistic) -> None:
    new = [[30.0], [52.0]]
    xr.testing.assert_allclose(two.predict_interval(new), two.predict_interval(new, rows="fixed"), rtol=1e-12)
    observed, fixed = two.uncertainty(new), two.uncertainty(new, rows="fixed")
    for name in ("entropy", "aleatoric", "epistemic", "probability"):
        np.testing.assert_allclose(observed[name], fixed[name], rtol=1e-12)
    assert "log_density" not in observed
    assert (observed.epistemic > 0).all()


def test_a_probability_too_small_for_a_float_keeps_its_log(two: Logistic, line: tuple[Array, Array]) -> None:
    far, x = 2e4, line[0]
    intercept, coefficient = of_draws(two)
    odds = np.diff(intercept)[:, 0] + np.diff(coefficient[..., 0])[:, 0] * (far - x.mean()) / x.std()
    expected = np.logaddexp.reduce(-np.logaddexp(0, odds)) - np.log(len(odds))
    assert expected < -750
    np.testing.assert_allclose(two.predict_log_proba([[far]])[0, 0], expected, rtol=1e-9)


def test_probabilities_are_means_over_draws_and_follow_the_rows_order(three: Logistic) -> None:
    table, _ = dogs()
    drawn = three.draw_proba(table)
    assert drawn.dims == ("chain", "draw", "obs_id", "class")
    assert drawn.sizes["chain"] == 2
    assert drawn.obs_id.values.tolist() == table.index.tolist()
    proba = three.predict_proba(table)
    np.testing.assert_allclose(drawn.mean(("chain", "draw")), proba, rtol=1e-12)
    np.testing.assert_allclose(np.log(proba), three.predict_log_proba(table), rtol=1e-12)
    np.testing.assert_allclose(three.predict_proba(table.iloc[::-1])[::-1], proba, rtol=1e-12)
    assert (three.predict(table) == np.array(["beagle", "collie", "poodle"])[proba.argmax(axis=1)]).all()


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
    np.testing.assert_allclose(three.predict_proba(table), softmax(scores, axis=-1).mean(axis=1), rtol=1e-9)
    found = three.explain(table)
    np.testing.assert_allclose(found.score, scores.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.score_sd, scores.std(axis=1), rtol=1e-9)


def test_an_explanation_adds_up_and_knows_what_it_does_not_know(three: Logistic) -> None:
    table, _ = dogs()
    found = three.explain(table)
    assert found.feature.values.tolist() == ["colour", "weight", "tail"]
    np.testing.assert_allclose(found.class_term + found.evidence.sum("feature"), found.score.T, rtol=1e-9)
    np.testing.assert_allclose(found.evidence.sum("class"), 0.0, atol=1e-12)
    _, coefficient = of_draws(three)
    tail = (table["tail"] - table["tail"].mean()).to_numpy(float)
    np.testing.assert_allclose(found.sd.sel(feature="tail"), np.abs(tail)[:, None] * coefficient[..., -1].std(axis=0))
    missing = found.sel(obs_id="dog 3", feature="weight")
    assert missing.cell.item() == "missing"
    assert (missing.evidence == 0).all()
    assert (missing.sd == 0).all()


def test_the_linear_form_has_the_units_of_the_columns(three: Logistic) -> None:
    table, _ = dogs()
    whole = table.dropna()
    form, score = three.linear_form(), three.explain(whole).score
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


def test_an_unknown_level_and_a_missing_one_contribute_nothing(three: Logistic) -> None:
    row = pd.DataFrame({"colour": ["pink", None], "weight": [25.0, 25.0], "tail": [True, True]})
    with pytest.warns(UnseenLevelWarning, match="pink"):
        proba = three.predict_proba(row)
    np.testing.assert_array_equal(proba[0], proba[1])
    with pytest.raises(ValueError, match="infinite"):
        three.predict(pd.DataFrame({"colour": ["black"], "weight": [np.inf], "tail": [True]}))


def test_loo_is_arvizs_own_and_stands_beside_that_of_naive_bayes(three: Logistic) -> None:
    table, y = dogs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = three.loo(table, y)
        shown = compare({"naive Bayes": NaiveBayes(), "logistic": three}, table, y)
    assert shown.loc["logistic", "elpd"] == pytest.approx(found.elpd)
    assert "logistic" in shown.index
    assert found.p > 0
    with pytest.raises(ValueError, match="a regression says nothing about x"):
        three.loo(table, y, "joint")
    with pytest.raises(ValueError, match="not among those"):
        three.loo(table.assign(weight=99.0), y)


def test_decisions_and_scikit_learns_conventions_hold(two: Logistic, line: tuple[Array, Array]) -> None:
    x, y = line
    assert two.n_features_in_ == 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(two)).predict_proba(x), two.predict_proba(x))
    assert two.classes_.tolist() == [False, True]
    assert clone(two).get_params() == two.get_params()
    assert two.score(x, y) > 0.6
    assert two.decide(x, {"keep": {False: 0, True: 1}, "sell": {False: 1, True: 0}}).action.values[0] in (
        "keep",
        "sell",
    )
    with pytest.raises(ValueError, match="features"):
        two.predict(np.ones((2, 3)))
    with pytest.raises(Exception, match="not fitted"):
        Logistic().predict(x)


def test_what_cannot_be_a_regression_is_an_error_that_says_so(line: tuple[Array, Array]) -> None:
    x, y = line
    with pytest.raises(ValueError, match="one class"):
        Logistic().build(x, np.zeros(len(x), int))
    with pytest.raises(ValueError, match="not fitted yet, and sampling takes long"):
        compare({"naive Bayes": NaiveBayes(), "logistic": Logistic()}, x, y)
    with pytest.raises(ValueError, match="draws must be a whole number"):
        Logistic(draws=0).fit(x, y)
    with pytest.raises(ValueError, match="scale must be a positive number, got 0"):
        Logistic(scale=0).build(x, y)
    with pytest.raises(ValueError, match="intercept_scale must be a positive number, got inf"):
        Logistic(intercept_scale=np.inf).build(x, y)


def words(rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Rows of a naive Bayes model: a Gaussian of shared variance, a die, a coin and a Poisson count."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 2, rows)
    table = pd.DataFrame(
        {
            "number": rng.normal([0.0, 1.0], 2.0, (rows, 2))[np.arange(rows), code],
            "die": [
                rng.choice(["one", "two", "three"], p=p) for p in np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])[code]
            ],
            "coin": rng.random(rows) < np.array([0.3, 0.6])[code],
            "count": rng.poisson(np.array([2.0, 3.0])[code]),
        }
    )
    return table, code


@pytest.mark.slow
def test_where_naive_bayes_is_true_its_probabilities_are_approached() -> None:
    table, code = words(4000, 5)
    families = {"count": Poisson()}
    model = Logistic(families, **HOW).fit(table, code)
    new, _ = words(50, 6)
    die = new["die"].map({"one": np.log(0.2 / 0.5), "two": 0.0, "three": np.log(0.5 / 0.2)})
    coin = np.where(new["coin"], np.log(0.6 / 0.3), np.log(0.4 / 0.7))
    odds = (2 * new["number"] - 1) / 8 + die + coin + new["count"] * np.log(1.5) - 1.0
    drawn = model.draw_proba(new).sel({"class": 1}).stack(s=("chain", "draw"))
    own = np.log(drawn) - np.log1p(-drawn)
    assert (np.abs(own.mean("s") - odds) < ERRORS * own.std("s")).all()
    assert own.std("s").max() < 0.5  # so that the line above says something
    generative = NaiveBayes(families).fit(table, code).predict_proba(new)[:, 1]
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], generative, atol=0.08)
    assert (model.linear_form()["w"].sel({"class": 1}).sel(feature="count") * 2 > 0.3).item()


@pytest.mark.slow
def test_pymc_and_arviz_score_the_draws_alike() -> None:
    import arviz_stats
    import pymc as pm

    table, y = dogs()
    three = logistic(table, y, squares=True, **HOW)
    with three.build(table, y), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tree = pm.compute_log_likelihood(three.datatree_.copy(), progressbar=False)
        own, other = three.loo(table, y), arviz_stats.loo(tree, reff=1.0, pointwise=True)
    np.testing.assert_allclose(own.elpd_i, other.elpd_i, rtol=1e-6)
    np.testing.assert_allclose(own.pareto_k, other.pareto_k, atol=1e-6)
