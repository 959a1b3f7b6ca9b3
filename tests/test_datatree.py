"""Draws from the posterior: p(y | x, theta), and ArviZ's tree."""

import tracemalloc
import warnings
from typing import Any

import arviz_base as ab
import arviz_plots as azp
import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
)
from bayesnb.data import open_table
from bayesnb.inference import posterior_draws as drawing

RNG = np.random.default_rng(20261121)
ROWS = 60
LABELS = np.array(["cat", "dog", "eel"])[np.arange(ROWS) % 3]
DRAWS = ("chain", "draw")


def _frame() -> pd.DataFrame:
    code = np.arange(ROWS) % 3
    frame = pd.DataFrame(
        {
            "height": RNG.normal(code, 1.0),
            "colour": np.array(["red", "green", "blue", None], object)[RNG.integers(0, 4, ROWS)],
            "weight": RNG.normal(50.0 - 9 * code, 20.0),
            "tame": RNG.random(ROWS) < 0.2 + 0.3 * code,
            "eats": np.array(["fish", "meat"])[(RNG.random(ROWS) < 0.3 + 0.2 * code).astype(int)],
            "legs": RNG.poisson(1.0 + code),
        },
        index=[f"animal {i}" for i in range(ROWS)],
    )
    frame.iloc[3, 0] = frame.iloc[9, 2] = np.nan
    frame["tame"] = frame["tame"].astype("boolean")
    frame.loc["animal 5", "tame"] = pd.NA
    return frame


FRAME = _frame()
FAMILIES = {
    "height": Gaussian(),
    "weight": Gaussian(),
    "colour": Categorical(),
    "eats": Categorical(0.5),
    "tame": Bernoulli(),
    "legs": Poisson(),
}
WORDS = RNG.poisson([0.5, 2.0, 0.1, 1.0], (ROWS, 4))
REAL = RNG.normal(np.arange(ROWS)[:, None] % 3, [1.0, 2.0], (ROWS, 2))
FLAGS = (RNG.random((ROWS, 3)) < 0.4).astype(float)
CODES = RNG.integers(0, [2, 4], (ROWS, 2))

SINGLE = [
    (GaussianNB(), REAL, {"mu": ("feature",), "sigma2": ("feature",)}),
    (BernoulliNB(), FLAGS, {"theta": ("feature",)}),
    (BernoulliNB(), sparse.csr_array(FLAGS), {"theta": ("feature",)}),
    (MultinomialNB(), WORDS, {"theta": ("feature",)}),
    (MultinomialNB(), sparse.csr_array(WORDS), {"theta": ("feature",)}),
    (PoissonNB(), WORDS, {"rate": ("feature",)}),
    (CategoricalNB(), CODES, {"theta_0": ("0_level",), "theta_1": ("1_level",)}),
]


@pytest.fixture(scope="module")
def mixed() -> NaiveBayes:
    return NaiveBayes(FAMILIES).fit(FRAME, LABELS)


@pytest.fixture(scope="module")
def tree(mixed: NaiveBayes) -> xr.DataTree:
    return mixed.to_datatree(FRAME, LABELS, rng=1)


def within_five_errors(drawn: xr.DataArray, expected: Any) -> None:
    error = drawn.std(DRAWS) / np.sqrt(drawn.sizes["chain"] * drawn.sizes["draw"])
    gap = np.abs(drawn.mean(DRAWS) - expected)
    assert (gap.values <= 5 * error.values + 1e-12).all()


def nowhere_nan(tree: xr.DataTree) -> bool:
    return all(bool(value.notnull().all()) for group in tree.children.values() for value in group.data_vars.values())


# p(y | x, theta)


def test_the_probabilities_of_every_draw_sum_to_one_and_are_labelled(mixed: NaiveBayes) -> None:
    p = mixed.draw_proba(FRAME, 50, chains=3, rng=0)
    assert p.dims == ("chain", "draw", "obs_id", "class")
    assert p.shape == (3, 50, ROWS, 3)
    assert p.attrs["sampling"] == "exact iid"
    assert p["obs_id"].values.tolist() == FRAME.index.tolist()
    assert p["class"].values.tolist() == ["cat", "dog", "eel"]
    np.testing.assert_allclose(p.sum("class"), 1.0, rtol=1e-12)


def test_the_same_seed_draws_the_same_and_another_does_not(mixed: NaiveBayes) -> None:
    first = mixed.draw_proba(FRAME, 20, rng=7)
    assert first.equals(mixed.draw_proba(FRAME, 20, rng=np.random.default_rng(7)))
    assert not first.equals(mixed.draw_proba(FRAME, 20, rng=8))
    assert not mixed.draw_proba(FRAME, 20).equals(mixed.draw_proba(FRAME, 20))


def test_theta_does_not_depend_on_which_rows_are_looked_at(mixed: NaiveBayes) -> None:
    every = mixed.draw_proba(FRAME, 300, rng=7)
    some = mixed.draw_proba(FRAME.iloc[10:13], 300, rng=7)
    np.testing.assert_allclose(some, every.isel(obs_id=slice(10, 13)), rtol=1e-10, atol=1e-300)


def test_draws_do_not_depend_on_how_many_rows_or_threads_go_at_once(
    mixed: NaiveBayes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = mixed.draw_proba(FRAME, 40, rng=3)
    monkeypatch.setattr(drawing, "CELLS", 1000)
    np.testing.assert_allclose(mixed.draw_proba(FRAME, 40, rng=3), whole, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("temper", [1.0, 0.3])
def test_the_probabilities_are_those_of_the_drawn_parameters_spelled_in_numpy(temper: float) -> None:
    """Mixed columns with missing cells, from the tree's own parameters and SciPy's densities."""
    model = NaiveBayes(FAMILIES, temper=temper).fit(FRAME, LABELS)
    tree = model.to_datatree(FRAME, draws=15, chains=2, rng=5)
    theta = tree["posterior"].dataset
    evidence: Any = 0.0
    for name in ("height", "weight"):
        own = theta.sel(gaussian_feature=name)
        x = FRAME[name].to_numpy()[:, None, None, None]
        logs = stats.norm.logpdf(x, own["mu"].values, np.sqrt(own["sigma2"].values))
        evidence = evidence + np.nan_to_num(logs, nan=0.0)
    for name in ("colour", "eats"):
        for i, level in enumerate(FRAME[name]):
            if isinstance(level, str):
                evidence[i] += np.log(theta[f"theta_{name}"].sel({f"{name}_level": level}).values)
    tame = theta["theta"].sel(bernoulli_feature="tame").values
    for i, flag in enumerate(FRAME["tame"]):
        evidence[i] += 0.0 if flag is pd.NA else np.log(tame if flag else 1 - tame)
    evidence += stats.poisson.logpmf(FRAME["legs"].to_numpy()[:, None, None, None], theta["rate"].values[..., 0])
    shift = 0.0  # by which the mean of a density's power is the power of its mean
    for block, cells in zip(model.model_.posterior.blocks, model.schema_.read(open_table(FRAME)), strict=True):
        shift = shift + temper * block.row_log_moment(cells, 1.0) - block.row_log_moment(cells, temper)
    joint = np.log(theta["class_prob"].values) + temper * evidence + shift[:, None, None]
    expected = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    p = tree["predictions"]["p"]
    np.testing.assert_allclose(p.transpose("obs_id", ...), expected, rtol=1e-9, atol=1e-300)
    assert model.draw_proba(FRAME, 15, chains=2, rng=5).equals(p.transpose("chain", "draw", "obs_id", "class"))


def test_words_of_a_sparse_table_are_scored_by_their_probabilities() -> None:
    table = sparse.csr_array(WORDS)
    tree = MultinomialNB().fit(table, LABELS).to_datatree(table, draws=30, chains=2, rng=5)
    theta = tree["posterior"]["theta"].values
    joint = np.log(tree["posterior"]["class_prob"].values)[..., None, :] + np.einsum(
        "rf,sdcf->sdrc", WORDS, np.log(theta)
    )
    np.testing.assert_allclose(
        tree["predictions"]["p"], np.exp(joint - logsumexp(joint, axis=-1, keepdims=True)), rtol=1e-9
    )


def test_the_mean_of_the_joint_density_is_the_predictive(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    """E[p(x, y | theta)] is p(x, y | D): draws that are weighed by their joint density give back `predict_proba`."""
    log_likelihood = tree["log_likelihood"]["row"]
    exact = mixed.predict_joint_log_proba(FRAME)[np.arange(ROWS), tree["observed_data"]["y"].values]
    within_five_errors(np.exp(log_likelihood - exact), 1.0)


def test_a_class_of_probability_zero_keeps_it_and_never_makes_nan() -> None:
    model = GaussianNB(class_prior=[0.5, 0.5, 0.0]).fit(REAL, LABELS)
    p = model.draw_proba(REAL, 20, rng=0)
    assert (p.sel({"class": "eel"}) == 0).all()
    assert p.notnull().all()
    tree = model.to_datatree(REAL, draws=20, rng=0)
    assert "class_prob" not in tree["posterior"]
    np.testing.assert_array_equal(tree["constant_data"]["class_prob"], [0.5, 0.5, 0.0])
    assert (tree["predictions"]["p"].sel({"class": "eel"}) == 0).all()
    assert nowhere_nan(tree)


@pytest.mark.parametrize("alpha", [1e-3, 1e-10])
@pytest.mark.parametrize("family", [Multinomial, Categorical, Bernoulli])
def test_words_that_no_class_has_seen_are_weighed_even_where_their_probabilities_underflow(
    family: Any, alpha: float
) -> None:
    """Such a draw is all but certain of one class; of two alike, in half of the draws."""
    x = np.array([[1, 0], [1, 0]] if family is not Categorical else [["a"], ["a"]], object)
    new = np.array([[0, 1]] if family is not Categorical else [["b"]], object)
    said = {"levels": ["a", "b"]} if family is Categorical else {}
    x, new = (x, new) if family is Categorical else (x.astype(int), new.astype(int))
    model = NaiveBayes(family(alpha, **said), class_prior="uniform").fit(x, ["no", "yes"])
    p = model.draw_proba(new, rng=1).sel({"class": "yes"})
    assert p.notnull().all()
    assert ((p < 0.01) | (p > 0.99)).mean() > 0.95
    assert float(p.mean()) == pytest.approx(0.5, abs=5 * 0.5 / 4000**0.5)


def test_a_coin_that_can_only_fall_one_way_is_drawn_so() -> None:
    model = BernoulliNB(alpha=0.0).fit([[1, 1], [1, 0], [0, 1]], ["a", "a", "b"])
    p = model.draw_proba([[1, 1], [0, 1]], 100, rng=0)
    assert p.notnull().all()
    assert (p.isel(obs_id=0).sel({"class": "a"}) == 1).all()
    assert (p.isel(obs_id=1).sel({"class": "b"}) == 1).all()


def test_a_row_that_no_class_can_have_is_refused() -> None:
    model = CategoricalNB(alpha=0.0, min_categories=2).fit([[0], [0], [0]], [0, 0, 1])
    with pytest.raises(ValueError, match="row 1 is impossible under every class"):
        model.draw_proba([[0], [1]])


def test_a_bad_cell_is_named() -> None:
    with pytest.raises(ValueError, match="column 1: a number is infinite"):
        GaussianNB().fit(REAL, LABELS).draw_proba([[0.0, np.inf]])


def test_a_result_that_is_too_large_is_refused_before_it_is_drawn(mixed: NaiveBayes) -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"would take 5\d\.\d GiB, more than 2\. Ask for fewer"):
        mixed.draw_proba(FRAME, 10_000_000)
    with pytest.raises(ValueError, match=r"more than 2\. Ask for fewer draws"):
        mixed.to_datatree(draws=10_000_000)
    assert tracemalloc.get_traced_memory()[1] < 1 << 28
    tracemalloc.stop()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "many"])
def test_numbers_of_draws_and_chains_are_whole_and_positive(mixed: NaiveBayes, wrong: Any) -> None:
    with pytest.raises(ValueError, match="draws must be a whole number"):
        mixed.draw_proba(FRAME, wrong)
    with pytest.raises(ValueError, match="chains must be a whole number"):
        mixed.to_datatree(chains=wrong)


# The tree


@pytest.mark.parametrize(("estimator", "x", "variables"), SINGLE)
def test_every_family_has_its_variables_and_axes(estimator: Any, x: Any, variables: dict[str, Any]) -> None:
    tree = estimator.fit(x, LABELS).to_datatree(x, LABELS, draws=30, chains=2, rng=2)
    expected = {"class_prob": (*DRAWS, "class")} | {name: (*DRAWS, "class", *axes) for name, axes in variables.items()}
    for group in ("posterior", "prior"):
        assert {name: value.dims for name, value in tree[group].data_vars.items()} == expected
    assert set(tree["log_prior"].data_vars) == set(expected)
    assert nowhere_nan(tree)


def test_a_mixed_frame_has_every_group_with_its_labels(tree: xr.DataTree) -> None:
    assert set(tree.children) == {
        "posterior",
        "prior",
        "log_prior",
        "log_likelihood",
        "posterior_predictive",
        "observed_data",
        "conjugate",
    }
    posterior = tree["posterior"]
    assert posterior["theta_colour"].dims == (*DRAWS, "class", "colour_level")
    assert posterior["colour_level"].values.tolist() == ["blue", "green", "red"]
    assert posterior["gaussian_feature"].values.tolist() == ["height", "weight"]
    assert posterior["bernoulli_feature"].values.tolist() == ["tame"]
    assert posterior["rate"].dims == (*DRAWS, "class", "poisson_feature")
    assert tree["log_likelihood"]["y"].shape == (4, 1000, ROWS)
    assert tree["observed_data"]["obs_id"].values.tolist() == FRAME.index.tolist()
    assert tree["observed_data"]["class"].values[tree["observed_data"]["y"]].tolist() == LABELS.tolist()
    assert tree.attrs["sampling"] == tree["posterior"].attrs["sampling"] == "exact iid"
    assert tree.attrs["inference_library"] == "bayesnb"
    assert nowhere_nan(tree)


def test_the_moments_of_the_draws_are_those_of_the_closed_form(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    theta, belief = tree["posterior"].dataset, mixed.posterior_
    within_five_errors(theta["class_prob"], mixed.class_posterior_.mean())
    within_five_errors(theta["mu"], np.column_stack([belief[name].mean().mean for name in ("height", "weight")]))
    within_five_errors(
        theta["sigma2"], np.column_stack([belief[name].mean().variance for name in ("height", "weight")])
    )
    within_five_errors(theta["theta_colour"], belief["colour"].mean())
    within_five_errors(theta["theta"], belief["tame"].mean()[:, None])
    within_five_errors(theta["rate"], belief["legs"].mean()[:, None])
    beta = belief["tame"]
    variance = beta.a * beta.b / ((beta.a + beta.b) ** 2 * (beta.a + beta.b + 1))
    within_five_errors((theta["theta"][..., 0] - beta.mean()) ** 2, variance)
    gamma = belief["legs"]
    within_five_errors((theta["rate"][..., 0] - gamma.mean()) ** 2, gamma.shape / gamma.rate**2)


def test_the_prior_is_drawn_from_the_prior(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    prior = tree["prior"].dataset
    within_five_errors(prior["theta_eats"], np.full((3, 2), 0.5))
    within_five_errors(prior["rate"], mixed.prior_["legs"].mean()[:, None])
    assert not prior["theta_eats"].equals(tree["posterior"]["theta_eats"])


def test_the_log_prior_is_that_of_scipy(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    theta, logs, prior = tree["posterior"].isel(draw=slice(5)), tree["log_prior"].isel(draw=slice(5)), mixed.prior_
    own, mu, sigma2 = prior["weight"], *(theta[name].sel(gaussian_feature="weight").values for name in ("mu", "sigma2"))
    np.testing.assert_allclose(
        logs["mu"].sel(gaussian_feature="weight"), stats.norm.logpdf(mu, own.location, np.sqrt(sigma2 / own.count))
    )
    np.testing.assert_allclose(
        logs["sigma2"].sel(gaussian_feature="weight"), stats.invgamma.logpdf(sigma2, own.shape, scale=own.scale)
    )
    np.testing.assert_allclose(logs["theta"], stats.beta.logpdf(theta["theta"], 1, 1), atol=1e-12)
    rate = prior["legs"]
    np.testing.assert_allclose(
        logs["rate"][..., 0], stats.gamma.logpdf(theta["rate"][..., 0], rate.shape, scale=1 / rate.rate)
    )
    eats = [
        [[stats.dirichlet.logpdf(p, [0.5, 0.5]) for p in one] for one in some] for some in theta["theta_eats"].values
    ]
    np.testing.assert_allclose(logs["theta_eats"], eats)
    np.testing.assert_allclose(logs["class_prob"], np.log(2))


def test_the_log_prior_of_a_die_is_one_number() -> None:
    tree = MultinomialNB(alpha=[0.5, 1.0, 2.0, 3.0]).fit(WORDS, LABELS).to_datatree(draws=3, chains=1, rng=0)
    theta, logs = tree["posterior"]["theta"].values[0], tree["log_prior"]["theta"]
    assert logs.dims == (*DRAWS, "class")
    expected = [[stats.dirichlet.logpdf(p, [0.5, 1.0, 2.0, 3.0]) for p in some] for some in theta]
    np.testing.assert_allclose(logs[0], expected)


def test_the_posterior_is_the_prior_times_the_likelihood_over_the_evidence(
    mixed: NaiveBayes, tree: xr.DataTree
) -> None:
    """log p(theta) + log p(X, y | theta) - log p(theta | X, y) is the log evidence, whatever theta is."""
    theta, closed = tree["posterior"].dataset, tree["conjugate"].dataset
    prior = sum(value.sum([d for d in value.dims if d not in DRAWS]) for value in tree["log_prior"].data_vars.values())
    posterior = stats.dirichlet.logpdf(theta["class_prob"].values.reshape(-1, 3).T, closed["class_prob_concentration"])
    spread = np.sqrt(theta["sigma2"] / closed["mu_count"])
    parts = [
        stats.norm.logpdf(theta["mu"], closed["mu_mean"], spread),
        stats.invgamma.logpdf(theta["sigma2"], closed["sigma2_shape"], scale=closed["sigma2_scale"]),
        stats.beta.logpdf(theta["theta"], closed["theta_a"], closed["theta_b"]),
        stats.gamma.logpdf(theta["rate"], closed["rate_shape"], scale=1 / closed["rate_rate"]),
    ]
    posterior = posterior + sum(part.reshape(4000, -1).sum(axis=1) for part in parts)
    for name in ("colour", "eats"):
        for c in range(3):
            p = theta[f"theta_{name}"].values[:, :, c].reshape(4000, -1).T
            posterior += stats.dirichlet.logpdf(p / p.sum(axis=0), closed[f"theta_{name}_concentration"][c])
    joint = prior + tree["log_likelihood"]["row"].sum("obs_id")
    np.testing.assert_allclose(joint.values.ravel() - posterior, mixed.log_evidence_, rtol=1e-9)
    assert float(closed["log_evidence"]) == pytest.approx(mixed.log_evidence_)


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes()], ids=["plain", "default"])
def test_arviz_leave_one_out_of_either_likelihood_is_about_that_of_the_model(model: NaiveBayes) -> None:
    x, y = load_iris(return_X_y=True)
    tree = model.fit(x, y).to_datatree(x, y, draws=1000, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of Pareto k
        sampled = {name: az.loo(tree, var_name=name) for name in ("y", "row")}
    for name, target in {"y": "label", "row": "joint"}.items():
        exact = model.loo(x, y, target, exponents="kept")  # which draws keep, too
        assert abs(sampled[name].elpd - exact.elpd) < 0.5 * exact.se, name
    with pytest.raises(TypeError, match=r"\['y', 'row'\]"):
        az.loo(tree)
    assert "log p(y | x, theta)" in tree["log_likelihood"]["y"].attrs["long_name"]
    assert "log p(x, y | theta)" in tree["log_likelihood"]["row"].attrs["long_name"]


def test_labels_that_are_thrown_are_as_frequent_as_their_probabilities(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    thrown, p = tree["posterior_predictive"]["y"], mixed.draw_proba(FRAME, rng=1)
    for c in range(3):
        own = p.isel({"class": c}, drop=True)
        gap = np.abs(((thrown == c) - own).mean(DRAWS))
        assert (gap <= 5 * np.sqrt((own * (1 - own)).mean(DRAWS) / 4000) + 5 / 4000).all()


def test_rows_without_labels_are_predicted(mixed: NaiveBayes) -> None:
    tree = mixed.to_datatree(FRAME.iloc[:7], draws=50, chains=2, rng=4)
    predictions = tree["predictions"]
    assert "log_likelihood" not in tree.children
    assert predictions["p"].dims == (*DRAWS, "obs_id", "class")
    assert predictions["y"].dims == (*DRAWS, "obs_id")
    assert predictions["obs_id"].values.tolist() == FRAME.index[:7].tolist()
    assert mixed.draw_proba(FRAME.iloc[:7], 50, chains=2, rng=4).equals(predictions["p"])


def test_theta_is_the_same_with_and_without_rows(mixed: NaiveBayes) -> None:
    alone = mixed.to_datatree(draws=600, rng=9)
    along = mixed.to_datatree(FRAME, LABELS, draws=600, rng=9)
    for group in ("posterior", "prior", "log_prior", "conjugate"):
        assert alone[group].equals(along[group])
    assert alone["posterior"].equals(mixed.to_datatree(draws=600, rng=9, groups="posterior")["posterior"])


def test_only_what_is_asked_for_is_drawn(mixed: NaiveBayes) -> None:
    tree = mixed.to_datatree(draws=10, rng=0, groups=["posterior", "conjugate"], features=["weight", "eats"])
    assert set(tree.children) == {"posterior", "conjugate"}
    assert set(tree["posterior"].data_vars) == {"class_prob", "mu", "sigma2", "theta_eats"}
    assert tree["posterior"]["gaussian_feature"].values.tolist() == ["weight"]
    whole = mixed.to_datatree(draws=10, rng=0)["posterior"]
    assert tree["posterior"]["mu"].equals(whole["mu"].sel(gaussian_feature=["weight"]))


def test_what_cannot_be_had_is_refused_with_advice(mixed: NaiveBayes) -> None:
    with pytest.raises(ValueError, match="'nothing' is not one of posterior"):
        mixed.to_datatree(groups=["nothing"])
    with pytest.raises(ValueError, match="'predictions' needs X"):
        mixed.to_datatree(groups="predictions")
    with pytest.raises(ValueError, match="'log_likelihood' needs y"):
        mixed.to_datatree(FRAME, groups="log_likelihood")
    with pytest.raises(ValueError, match="no column 'wings'"):
        mixed.to_datatree(features=["wings"])
    with pytest.raises(ValueError, match="y was given without X"):
        mixed.to_datatree(y=LABELS)
    with pytest.raises(ValueError, match="labels \\['fox'\\]"):
        mixed.to_datatree(FRAME.iloc[:1], ["fox"])


def test_an_improper_prior_is_left_out_and_the_tree_says_so() -> None:
    model = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0)).fit(REAL, LABELS)
    tree = model.to_datatree(REAL, LABELS, draws=20, rng=0)
    assert not {"prior", "log_prior"} & set(tree.children)
    assert "log_evidence" not in tree["conjugate"]
    assert "column 0, class 'cat': the prior is improper" in tree.attrs["omitted"]
    assert nowhere_nan(tree)
    with pytest.raises(ValueError, match="'prior' is not available, because column 0"):
        model.to_datatree(groups=["posterior", "prior"])


def test_a_class_whose_posterior_is_improper_is_an_error() -> None:
    model = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0), classes=["cat", "dog", "eel", "fox"])
    with pytest.raises(ValueError, match="do not determine a distribution"):
        model.fit(REAL, LABELS).to_datatree()


def test_blocks_of_one_family_lie_side_by_side() -> None:
    """Two Gaussians with priors of their own, and both coins and words, which have a theta each."""
    own = Gaussian(NormalInverseGamma(0.0, 1.0, 2.0, 3.0))
    frame = pd.DataFrame({"a": REAL[:, 0], "b": FLAGS[:, 0], "c": REAL[:, 1], "d": WORDS[:, 0], "e": WORDS[:, 1]})
    words = {("d", "e"): Multinomial()}
    model = NaiveBayes({"a": Gaussian(), "b": Bernoulli(), "c": own, **words}).fit(frame, LABELS)
    posterior = model.to_datatree(frame, LABELS, draws=200, rng=0)["posterior"]
    assert posterior["gaussian_feature"].values.tolist() == ["a", "c"]
    assert posterior["bernoulli_theta"].dims == (*DRAWS, "class", "bernoulli_feature")
    assert posterior["multinomial_theta"].dims == (*DRAWS, "class", "multinomial_feature")
    np.testing.assert_allclose(posterior["multinomial_theta"].sum("multinomial_feature"), 1.0)
    within_five_errors(posterior["mu"].sel(gaussian_feature="c"), model.posterior_["c"].mean().mean)


def test_names_of_columns_never_collide_and_labels_stay_what_they_are() -> None:
    columns = ["a/b", "a_b", "class", "chain", "level", "7", "x_level", "theta_x"]
    frame = pd.DataFrame(RNG.integers(0, 3, (ROWS, len(columns))), columns=columns)
    model = NaiveBayes(Categorical(unseen="reserve")).fit(frame, LABELS)
    posterior = model.to_datatree(draws=5, rng=0)["posterior"]
    assert len(posterior.data_vars) == len(columns) + 1
    assert not set(posterior.data_vars) & set(posterior.dims)
    assert not any("/" in name for name in posterior.data_vars)
    assert posterior["class_level"].values.tolist() == ["0", "1", "2", "(unseen)"]


@pytest.mark.parametrize("labels", [[3, 10, 20], [False, True, True], [1.0, 2.0, 3.0]])
def test_labels_that_are_numbers_stay_numbers(labels: list[Any]) -> None:
    model = GaussianNB().fit(REAL, np.array(labels)[np.arange(ROWS) % 3])
    tree = model.to_datatree(REAL, draws=5, rng=0)
    assert tree["posterior"]["class"].values.tolist() == model.classes_.tolist()
    assert tree["posterior"]["feature"].values.tolist() == [0, 1]


def test_an_index_of_several_levels_or_dates_becomes_labels() -> None:
    frame = pd.DataFrame(REAL[:2], index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    model = GaussianNB().fit(pd.DataFrame(REAL), LABELS)
    assert model.draw_proba(frame, 5)["obs_id"].values.tolist() == ["('a', 1)", "('b', 2)"]
    dated = frame.set_axis(pd.date_range("2026-01-01", periods=2))
    assert model.draw_proba(dated, 5)["obs_id"].dtype.kind == "M"


def test_numpys_global_generator_is_never_touched(mixed: NaiveBayes) -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    mixed.to_datatree(FRAME, draws=5)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# ArviZ


def test_arviz_summarises_the_tree_and_finds_the_draws_independent(tree: xr.DataTree) -> None:
    summary = az.summary(tree, round_to="none")
    assert (summary["r_hat"] < 1.01).all()
    assert (summary["ess_bulk"] > 3000).all()
    assert "theta_colour[dog, green]" in summary.index


def test_arviz_scales_the_prior_and_the_likelihood(tree: xr.DataTree) -> None:
    both = az.psense_summary(tree, var_names=["class_prob", "theta_colour", "mu"], likelihood_var_names="row")
    assert both[["prior", "likelihood"]].notna().all(axis=None)
    strong = CategoricalNB(alpha=200.0).fit(CODES, LABELS).to_datatree(CODES, LABELS, rng=0)
    weak = CategoricalNB(alpha=2.0).fit(CODES, LABELS).to_datatree(CODES, LABELS, rng=0)
    options = {"var_names": ["theta_1"], "likelihood_var_names": "row", "round_to": 6}
    felt = [az.psense_summary(one, **options)["prior"].mean() for one in (strong, weak)]
    assert felt[0] > felt[1]


def test_arviz_extracts_and_estimates_intervals(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    assert ab.extract(tree, var_names="mu").sizes["sample"] == 4000
    lower = az.eti(tree["posterior"]["theta"], prob=0.89).sel(ci_bound="lower")
    exact, _ = mixed.posterior_["tame"].interval(0.89)
    np.testing.assert_allclose(lower[:, 0], exact, atol=0.02)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_arviz_leaves_one_out_as_the_closed_form_does() -> None:
    """With the joint log-likelihood, its smoothed importance sampling estimates log p(x, y | the other rows)."""
    x, y = REAL[:30], LABELS[:30]
    model = GaussianNB().fit(x, y)
    loo = az.loo(model.to_datatree(x, y, draws=2000, rng=0), var_name="row", pointwise=True)
    for i in (0, 7, 20):
        rest = np.arange(30) != i
        belief = GaussianNB(prior=NormalInverseGamma(*_first_prior(model))).fit(x[rest], y[rest])
        exact = belief.predict_joint_log_proba(x[[i]])[0, list("cde").index(y[i][0])]
        assert float(loo.elpd_i[i]) == pytest.approx(exact, abs=0.1)


def _first_prior(model: Any) -> tuple[Any, ...]:
    prior = [model.prior_[name] for name in (0, 1)]
    return tuple([getattr(own, field)[0] for own in prior] for field in ("location", "count", "shape", "scale"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arviz_plots_the_tree(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    azp.plot_forest(tree, var_names=["mu", "theta_colour"], backend="none")
    azp.plot_dist(tree, var_names=["class_prob"], backend="none")
    azp.plot_prior_posterior(tree, var_names=["theta_eats"], backend="none")
    azp.plot_rank_dist(tree, var_names=["class_prob"], backend="none")
    azp.plot_ppc_tstat(tree, t_stat="mean", backend="none")
    azp.plot_ppc_rootogram(tree, backend="none")
    azp.plot_ppc_dist(tree, backend="none", num_samples=10)
    predicted = mixed.to_datatree(FRAME.iloc[:4], draws=100, rng=0)
    azp.plot_forest(predicted, group="predictions", var_names=["p"], backend="none")


def test_dirichlet_and_beta_priors_of_the_classes_are_drawn_in_their_own_order() -> None:
    model = NaiveBayes(Bernoulli(Beta(1, 3)), class_prior=Dirichlet([1.0, 2.0, 30.0])).fit(FLAGS, LABELS)
    tree = model.to_datatree(draws=1000, rng=0)
    within_five_errors(tree["prior"]["class_prob"], np.array([1, 2, 30]) / 33)
    within_five_errors(tree["prior"]["theta"], np.full((3, 3), 0.25))
