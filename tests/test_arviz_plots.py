"""ArviZ's plots of a classification, all from one `to_datatree`."""

from typing import Any

import arviz_plots as azp
import arviz_stats as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_base.labels import MapLabeller
from scipy import sparse
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    Gaussian,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    calibration,
)
from bayesnb.datasets import penguins

NUMBERS = ["bill_depth_mm", "body_mass_g"]
COLUMNS = [*NUMBERS, "sex"]
Rows = tuple[NaiveBayes, pd.DataFrame, pd.Series, xr.DataTree]


@pytest.fixture(scope="module")
def drawn() -> Rows:
    """Return a model under priors that are not flat, its rows, and one tree of them."""
    table = penguins().dropna()
    X, y = table[COLUMNS], table["species"]
    families = {
        "bill_depth_mm": Gaussian(NormalInverseGamma(17.0, 0.1, 2.0, 5.0)),
        "body_mass_g": Gaussian(NormalInverseGamma(4_200.0, 0.1, 2.0, 3e5)),
        "sex": Categorical(2.0),
    }
    model = NaiveBayes(families).fit(X, y)
    return model, X, y, model.to_datatree(X, y, draws=250, chains=4, rng=1, held_out=True)


def titles() -> str:
    """Return the titles of all axes of the figure that was drawn last."""
    return " ".join(ax.get_title() for ax in plt.gcf().axes)


def few(tree: xr.DataTree) -> xr.DataTree:
    """Return the first rows of a tree."""
    return tree.isel(obs_id=slice(5))


PLOTS = {
    "calibration": lambda tree: azp.plot_ppc_pava(tree, var_names=["y"], data_type="categorical"),
    "residuals by a column": lambda tree: azp.plot_ppc_pava_residuals(
        tree, var_names=["y"], data_type="categorical", x_var="body_mass_g"
    ),
    "columns": lambda tree: azp.plot_ppc_dist(tree, var_names=NUMBERS),
    "columns under the prior": lambda tree: azp.plot_ppc_dist(
        tree, var_names=NUMBERS, group="prior_predictive"
    ),
    "pit": lambda tree: azp.plot_ppc_pit(tree, var_names=NUMBERS),
    "means": lambda tree: azp.plot_ppc_tstat(tree, var_names=COLUMNS, t_stat="mean"),
    "prior and posterior": lambda tree: azp.plot_prior_posterior(tree, var_names=["class_prob"]),
    "leave-one-out pit": lambda tree: azp.plot_loo_pit(tree, var_names=["y"]),
    "probabilities": lambda tree: azp.plot_forest(
        few(tree), group="posterior_predictive", var_names=["p"]
    ),
    "sensitivity": lambda tree: azp.plot_psense_dist(
        tree, var_names=["class_prob"], likelihood_var_names=["row"]
    ),
}


@pytest.mark.parametrize("name", PLOTS)
def test_arviz_draws_it_from_the_tree(name: str, drawn: Rows) -> None:
    before = set(plt.get_fignums())
    PLOTS[name](drawn[3])
    made = set(plt.get_fignums()) - before
    assert made
    assert any(ax.lines or ax.collections for ax in plt.figure(made.pop()).axes)
    plt.close("all")


def test_names_of_classes_reach_titles(drawn: Rows) -> None:
    model, _, _, tree = drawn
    azp.plot_prior_posterior(tree, var_names=["class_prob"])
    assert all(name in titles() for name in model.classes_)
    names = {f"y {k} vs others": f"{name} vs others" for k, name in enumerate(model.classes_)}
    labeller = MapLabeller(var_name_map=names)
    azp.plot_ppc_pava(tree, var_names=["y"], data_type="categorical", labeller=labeller)
    assert all(f"{name} vs others" in titles() for name in model.classes_)
    plt.close("all")


def test_the_prior_matters_as_much_as_power_scaling_says(drawn: Rows) -> None:
    table = az.psense_summary(drawn[3], var_names=["class_prob"], likelihood_var_names=["row"])
    assert (table["likelihood"] > table["prior"]).all()


def test_labels_that_are_held_out_are_calibrated_as_leave_one_out_says(drawn: Rows) -> None:
    model, X, y, tree = drawn
    proba = model.loo_proba(X, y)
    shares = np.eye(3)[tree["posterior_predictive"]["y"].values].mean(axis=(0, 1))
    error = np.sqrt(proba.values * (1 - proba.values) / 1_000)
    assert (np.abs(shares - proba.values) <= 5 * error + 5e-3).all()
    for k, label in enumerate(model.classes_):
        found = calibration(model, X, y).sel({"class": label})
        # what ArviZ draws: labels, isotonic in the share of draws that have them
        curve = IsotonicRegression().fit_transform(shares[:, k], y == label)
        assert np.abs(curve - found["calibrated"].values).mean() < 0.03


def test_without_held_out_labels_are_those_of_a_model_that_has_seen_the_rows(drawn: Rows) -> None:
    model, X, y, tree = drawn
    seen = model.to_datatree(X, y, draws=250, chains=4, rng=1)
    assert seen["posterior_predictive"].attrs["y"] == "drawn from p(y | x, theta)"
    assert tree["posterior_predictive"].attrs["y"] == "drawn from p(y | x, all other rows)"
    p = seen["posterior_predictive"]["p"].mean(["chain", "draw"]).values
    shares = np.eye(3)[seen["posterior_predictive"]["y"].values].mean(axis=(0, 1))
    assert (np.abs(shares - p) <= 5 * np.sqrt(p * (1 - p) / 1_000) + 5e-3).all()
    xr.testing.assert_equal(seen["posterior"].to_dataset(), tree["posterior"].to_dataset())


def test_columns_are_drawn_from_the_distribution_of_the_observed_class(drawn: Rows) -> None:
    _, X, y, tree = drawn
    theta = tree["posterior"]
    codes = pd.factorize(y, sort=True)[0]
    for name in NUMBERS:
        column = {"feature": name}
        mean = theta["mu"].sel(column).values[..., codes]
        sd = np.sqrt(theta["sigma2"].sel(column).values[..., codes])
        u = norm.cdf((tree["posterior_predictive"][name].values - mean) / sd)
        assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * u.size)
        assert abs((u < 0.1).mean() - 0.1) < 5 * np.sqrt(0.09 / u.size)
        np.testing.assert_array_equal(tree["observed_data"][name], X[name])
        np.testing.assert_array_equal(tree["constant_data"][name], X[name])
    share = theta["theta_sex"].values[..., 1][..., codes]
    drawn_share = tree["posterior_predictive"]["sex"].values
    assert abs((drawn_share - share).mean()) < 5 * 0.5 / np.sqrt(share.size)
    levels = theta["sex_level"].values
    assert (levels[tree["observed_data"]["sex"].values.astype(int)] == X["sex"]).all()


def test_every_family_of_columns_is_drawn_again_and_words_are_not() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    table = pd.DataFrame(
        {
            "y": rng.normal(size=80),
            "a/b": rng.poisson(2.0, 80),
            "flag": pd.array(rng.random(80) < 0.5, "boolean"),
            "level": np.array(["u", "v", "w"])[rng.integers(0, 3, 80)],
            "density": rng.normal(size=80),
        }
    )
    table.loc[3, ["y", "flag", "level", "density"]] = None
    families = {"y": "gaussian", "a/b": Poisson(), "flag": Bernoulli(), "level": Categorical()}
    model = NaiveBayes({**families, "density": "histogram"}).fit(table, y)
    tree = model.to_datatree(table, y, draws=20, chains=2, rng=1)
    names = ["y_", "a_b", "flag", "level", "density"]
    for group in ("posterior_predictive", "prior_predictive"):
        for name in names:
            values = tree[group][name]
            assert values.dims == ("chain", "draw", "obs_id")
            assert np.isfinite(values).all()
    observed = tree["observed_data"]
    assert [int(np.isnan(observed[name]).sum()) for name in names] == [1, 0, 1, 1, 1]
    assert tree["observed_data"]["y"].values.tolist() == y.tolist()
    counts = rng.poisson(1.0, (80, 5))
    words = MultinomialNB().fit(counts, y).to_datatree(counts, y, draws=5, chains=2, rng=1)
    assert list(words["posterior_predictive"].data_vars) == ["y", "p"]
    assert "constant_data" not in words.children


def test_columns_are_left_out_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesnb.results import drawn_trees

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = NaiveBayes("gaussian").fit(x, y)
    monkeypatch.setattr(drawn_trees, "MAX_BYTES", 25_000)  # of 28,800 and 19,200
    tree = model.to_datatree(x, y, draws=10, chains=2, rng=1)
    assert tree.attrs["omitted"] == "replicated columns of X: too large"
    assert list(tree["posterior_predictive"].data_vars) == ["y", "p"]
    monkeypatch.setattr(drawn_trees, "MAX_BYTES", 10_000)
    tree = model.to_datatree(x, y, draws=10, chains=2, rng=1)
    assert "p in posterior_predictive" in tree.attrs["omitted"]
    assert list(tree["posterior_predictive"].data_vars) == ["y"]
    assert list(tree["prior_predictive"].data_vars) == ["y"]
    assert {"0", "1", "2"} <= set(tree["observed_data"].data_vars)


def test_a_sparse_table_has_labels_and_probabilities_alone() -> None:
    rng = np.random.default_rng(0)
    x, y = sparse.csr_array(rng.integers(0, 2, (60, 3))), rng.integers(0, 2, 60)
    tree = BernoulliNB().fit(x, y).to_datatree(x, y, draws=10, chains=2, rng=1)
    assert list(tree["posterior_predictive"].data_vars) == ["y", "p"]
    assert list(tree["observed_data"].data_vars) == ["y"]


@pytest.mark.parametrize("rows", [{}, {"X": [[1.0]]}])
def test_held_out_labels_need_rows_with_labels(rows: Any) -> None:
    model = NaiveBayes("gaussian").fit([[1.0], [2.0], [3.0], [4.0]], list("aabb"))
    with pytest.raises(ValueError, match="held_out=True needs X and y"):
        model.to_datatree(**rows, held_out=True)
