"""Draws from the posterior, p(y | x, theta) and ArviZ's tree: by SciPy, Bayes' rule and ArviZ."""

from typing import Any

import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gaussian,
    GaussianNB,
    JointTable,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
)

Array = np.ndarray
DRAWS = ("chain", "draw")
ROWS = 60
RNG = np.random.default_rng(20261121)
CODES = np.arange(ROWS) % 3
Y = np.array(["cat", "dog", "eel"])[CODES]
FRAME = pd.DataFrame(
    {
        "height": RNG.normal(CODES, 1.0),
        "colour": np.array(["red", "green", "blue", None], object)[RNG.integers(0, 4, ROWS)],
        "weight": RNG.normal(50.0 - 9 * CODES, 20.0),
        "tame": pd.array(RNG.random(ROWS) < 0.2 + 0.3 * CODES, "boolean"),
        "eats": np.array(["fish", "meat"])[(RNG.random(ROWS) < 0.3 + 0.2 * CODES).astype(int)],
        "legs": RNG.poisson(1.0 + CODES),
    },
    index=[f"animal {i}" for i in range(ROWS)],
)
FRAME.iloc[3, 0] = FRAME.iloc[9, 2] = np.nan
FRAME.loc["animal 5", "tame"] = pd.NA
FAMILIES = {
    ("height", "weight"): Gaussian(),
    "colour": Categorical(),
    "eats": Categorical(0.5),
    "tame": Bernoulli(),
    "legs": Poisson(),
}
WORDS = RNG.poisson([0.5, 2.0, 0.1, 1.0], (ROWS, 4))
REAL = FRAME[["height", "weight"]].to_numpy()


@pytest.fixture(scope="module")
def mixed() -> NaiveBayes:
    return NaiveBayes(FAMILIES).fit(FRAME, Y)


@pytest.fixture(scope="module")
def tree(mixed: NaiveBayes) -> xr.DataTree:
    return mixed.to_datatree(FRAME, Y, rng=1)


def assert_mean(draws: xr.DataArray, expected: Any) -> None:
    error = 5 * draws.std(DRAWS) / np.sqrt(draws.sizes["chain"] * draws.sizes["draw"])
    assert (np.abs(draws.mean(DRAWS) - expected) <= error + 1e-12).all()


def parameters(theta: Any, densities: Any) -> Array:
    """Log density of every draw, `(s,)`, by a function of SciPy for each parameter."""
    total = np.zeros(theta.sizes["chain"] * theta.sizes["draw"])
    for logs in densities:
        total += np.asarray(logs).reshape(len(total), -1).sum(axis=1)
    return total


# p(y | x, theta)


@pytest.mark.parametrize("temper", [1.0, 0.3])
def test_probabilities_are_those_of_the_drawn_parameters_by_scipy(temper: float) -> None:
    model = NaiveBayes(FAMILIES, temper=temper).fit(FRAME, Y)
    tree = model.to_datatree(FRAME, draws=15, chains=2, rng=5)
    theta = tree["posterior"].dataset
    joint = np.log(theta["class_prob"].values) + np.zeros((ROWS, 1, 1, 1))
    for i, (_, row) in enumerate(FRAME.iterrows()):
        for name, x in row.items():
            if pd.isna(x):
                continue
            if name in ("height", "weight"):
                own = theta.sel(gaussian_feature=name)
                logs = stats.norm.logpdf(x, own["mu"], np.sqrt(own["sigma2"]))
            elif name == "tame":
                logs = stats.bernoulli.logpmf(int(x), theta["theta"][..., 0])
            elif name == "legs":
                logs = stats.poisson.logpmf(x, theta["rate"][..., 0])
            else:
                levels = theta[f"{name}_level"].values.tolist()
                logs = np.log(theta[f"theta_{name}"].sel({f"{name}_level": x}))
                x = levels.index(x)
            belief = model.posterior_[name]
            cell = np.array(x, int if name == "eats" else float)
            cell = cell.astype(int) if name == "colour" else cell
            once, tempered = (belief.log_moment(cell, s) for s in (1.0, temper))
            joint[i] += temper * np.asarray(logs) + temper * once - tempered
    expected = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    p = tree["predictions"]["p"].transpose("obs_id", *DRAWS, "class")
    assert_allclose(p, expected, rtol=1e-8, atol=1e-300)
    assert model.draw_proba(FRAME, 15, chains=2, rng=5).equals(p.transpose(*DRAWS, ...))
    some = model.draw_proba(FRAME.iloc[10:13], 15, chains=2, rng=5)
    assert_allclose(some, p.transpose(*DRAWS, ...)[:, :, 10:13], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("alpha", [1e-3, 1e-10])
@pytest.mark.parametrize("family", [Multinomial, Categorical, Bernoulli])
def test_what_no_class_has_seen_is_weighed_even_where_probabilities_underflow(
    family: Any, alpha: float
) -> None:
    """Such a draw is all but certain of one class; of two alike, in half of the draws."""
    if family is Categorical:
        model = NaiveBayes(Categorical(alpha, levels=["a", "b"]), class_prior="uniform")
        model.fit([["a"], ["a"]], ["no", "yes"])
        p = model.draw_proba([["b"]], rng=1)[..., 0, 1]
    else:
        model = NaiveBayes(family(alpha), class_prior="uniform")
        p = model.fit([[1, 0], [1, 0]], ["no", "yes"]).draw_proba([[0, 1]], rng=1)[..., 0, 1]
    assert ((p < 0.01) | (p > 0.99)).mean() > 0.95
    assert float(p.mean()) == pytest.approx(0.5, abs=5 * 0.5 / 4000**0.5)


def test_a_flag_that_can_only_be_one_thing_is_drawn_so() -> None:
    model = BernoulliNB(alpha=0.0).fit([[1, 1], [1, 0], [0, 1]], ["a", "a", "b"])
    p = model.draw_proba([[1, 1], [0, 1]], 100, rng=0)
    assert (p[..., 0, 0] == 1).all()
    assert (p[..., 1, 1] == 1).all()


# The tree


def test_prior_times_likelihood_over_posterior_is_the_evidence_whatever_theta_is(
    mixed: NaiveBayes, tree: xr.DataTree
) -> None:
    theta = tree["posterior"].dataset
    belief = mixed.posterior_
    flag = belief["tame"]
    rate = belief["legs"]
    densities = [
        stats.beta.logpdf(theta["theta"][..., 0], flag.a, flag.b),
        stats.gamma.logpdf(theta["rate"][..., 0], rate.shape, scale=1 / rate.rate),
    ]
    for name in ("height", "weight"):
        real = belief[name]
        mu, variance = (theta[key].sel(gaussian_feature=name) for key in ("mu", "sigma2"))
        densities += [
            stats.norm.logpdf(mu, real.location, np.sqrt(variance / real.count)),
            stats.invgamma.logpdf(variance, real.shape, scale=real.scale),
        ]
    shares = [(theta["class_prob"].values, mixed.class_posterior_.concentration)]
    for name in ("colour", "eats"):
        for c in range(3):
            concentration = belief[name].concentration[c]
            shares.append((theta[f"theta_{name}"].values[:, :, c], concentration))
    for p, concentration in shares:
        p = p.reshape(4000, -1).T
        densities.append(stats.dirichlet.logpdf(p / p.sum(axis=0), concentration))
    prior = parameters(theta, [v.transpose(*DRAWS, ...) for v in tree["log_prior"].values()])
    likelihood = tree["log_likelihood"]["row"].sum("obs_id").values.ravel()
    evidence = prior + likelihood - parameters(theta, densities)
    assert_allclose(evidence, mixed.log_evidence_, rtol=1e-9)
    exact = mixed.predict_joint_log_proba(FRAME)[np.arange(ROWS), CODES]
    assert_mean(np.exp(tree["log_likelihood"]["row"] - exact), 1.0)


def test_draws_have_the_moments_of_the_closed_form(mixed: NaiveBayes, tree: xr.DataTree) -> None:
    theta = tree["posterior"].dataset
    prior = tree["prior"].dataset
    belief = mixed.posterior_
    assert_mean(theta["class_prob"], mixed.class_posterior_.mean())
    for place, name in enumerate(("height", "weight")):
        moments = belief[name].mean()
        assert_mean(theta["mu"][..., place], moments.mean)
        assert_mean(theta["sigma2"][..., place], moments.variance)
    assert_mean(theta["theta_colour"], belief["colour"].mean())
    a = belief["tame"].a
    b = belief["tame"].b
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert_mean((theta["theta"][..., 0] - a / (a + b)) ** 2, variance)
    rate = belief["legs"]
    assert_mean((theta["rate"][..., 0] - rate.mean()) ** 2, rate.shape / rate.rate**2)
    assert_mean(prior["theta_eats"], np.full((3, 2), 0.5))
    assert_mean(prior["rate"], mixed.prior_["legs"].mean()[:, None])
    thrown = tree["posterior_predictive"]["y"]
    p = mixed.draw_proba(FRAME, rng=1)
    for c in range(3):
        assert_mean((thrown == c).mean("obs_id") - p.isel({"class": c}).mean("obs_id"), 0.0)


def test_arviz_finds_independent_draws_and_leaves_one_out_as_the_model_does(
    mixed: NaiveBayes, tree: xr.DataTree
) -> None:
    summary = az.summary(tree, round_to="none")
    assert (summary["r_hat"] < 1.01).all()
    assert (summary["ess_bulk"] > 3000).all()
    assert "theta_colour[dog, green]" in summary.index
    for name, target in {"y": "label", "row": "joint"}.items():
        exact = mixed.loo(FRAME, Y, target)
        assert abs(az.loo(tree, var_name=name).elpd - exact.elpd) < 0.5 * exact.se


def test_blocks_of_one_family_lie_side_by_side_and_names_never_collide() -> None:
    columns = ["a/b", "a_b", "class", "chain", "level", "7", "x_level", "theta_x", "g", "h"]
    x = pd.DataFrame(RNG.integers(0, 3, (ROWS, len(columns))), columns=columns)
    families = {
        tuple(columns[:6]): Categorical(unseen="reserve"),
        "x_level": Bernoulli(threshold=1),
        ("theta_x", "g"): Multinomial(),
        "h": Gaussian(NormalInverseGamma(0.0, 1.0, 2.0, 3.0)),
    }
    posterior = NaiveBayes(families).fit(x, Y).to_datatree(draws=5, rng=0)["posterior"]
    assert not set(posterior.data_vars) & set(posterior.dims)
    assert not any("/" in name for name in posterior.data_vars)
    assert posterior["class_level"].values.tolist() == ["0", "1", "2", "(unseen)"]
    assert posterior["bernoulli_theta"].dims == (*DRAWS, "class", "bernoulli_feature")
    assert_allclose(posterior["multinomial_theta"].sum("multinomial_feature"), 1.0)


def test_theta_is_the_same_with_and_without_rows_and_only_what_is_asked_for_is_drawn(
    mixed: NaiveBayes,
) -> None:
    along = mixed.to_datatree(FRAME, Y, draws=60, rng=9)
    alone = mixed.to_datatree(draws=60, rng=9, groups=["posterior", "log_prior"])
    assert set(alone.children) == {"posterior", "log_prior"}
    assert alone["posterior"].equals(along["posterior"])


def test_a_combination_that_no_learnt_row_had_changes_no_parameter() -> None:
    table = pd.DataFrame({"u": list("aabb"), "v": list("xyxx")})
    model = NaiveBayes({("u", "v"): JointTable()}).fit(table, list("pqpq"))
    alone = model.to_datatree(draws=20, rng=3)["posterior"]
    new = pd.DataFrame({"u": ["b"], "v": ["y"]})
    assert model.to_datatree(new, draws=20, rng=3)["posterior"].equals(alone)


def test_an_improper_prior_is_left_out_and_the_tree_says_so() -> None:
    prior = NormalInverseGamma(0.0, 0.0, -0.5, 0.0)
    model = GaussianNB(prior=prior).fit(REAL, Y)
    tree = model.to_datatree(REAL, Y, draws=20, rng=0)
    assert not {"prior", "log_prior"} & set(tree.children)
    assert "column 0, class 'cat': the prior is improper" in tree.attrs["omitted"]
    with pytest.raises(ValueError, match=r"'prior' needs a proper prior \(column 0"):
        model.to_datatree(groups=["posterior", "prior"])
    with pytest.raises(ValueError, match="do not determine a distribution"):
        GaussianNB(prior=prior, classes=[*set(Y), "fox"]).fit(REAL, Y).to_datatree()
    certain = {"cat": 0.5, "dog": 0.25, "eel": 0.25, "fox": 0.0}
    never = GaussianNB(prior=prior, class_prior=certain, classes=list(certain)).fit(REAL, Y)
    with pytest.raises(ValueError, match="column 0, class 'fox': the posterior is improper"):
        never.to_datatree(REAL)


def test_priors_of_the_classes_are_drawn_in_their_own_order() -> None:
    model = NaiveBayes(Bernoulli(), class_prior=Dirichlet([1.0, 2.0, 30.0])).fit(WORDS > 0, Y)
    assert_mean(model.to_datatree(rng=0)["prior"]["class_prob"], np.array([1, 2, 30]) / 33)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": ["nothing"]}, "'nothing' is not one of posterior"),
        ({"groups": "predictions"}, "'predictions' needs X"),
        ({"X": FRAME, "groups": "log_likelihood"}, "'log_likelihood' needs X and y"),
        ({"y": Y}, "y was given without X"),
        ({"X": FRAME.iloc[:1], "y": ["fox"]}, r"labels \['fox'\]"),
        ({"draws": 10_000_000}, "more than 2. Ask for fewer draws"),
        ({"chains": 2.5}, "chains must be a whole number"),
        ({"draws": 0}, "draws must be a whole number"),
    ],
)
def test_what_cannot_be_had_is_refused(mixed: NaiveBayes, options: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        mixed.to_datatree(**options)


def test_a_row_that_no_class_can_have_is_refused() -> None:
    model = CategoricalNB(alpha=0.0, min_categories=2).fit([[0], [0], [0]], [0, 0, 1])
    with pytest.raises(ValueError, match="row 1 is impossible under every class"):
        model.draw_proba([[0], [1]])
