"""Models in PyMC: those of the closed form, where there is one, and what SciPy and sums say, where there is none."""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import arviz_stats
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import gammaln, logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    mcmc,
)
from bayesnb.mcmc.hyperpriors import LearnedDirichlet
from bayesnb.mcmc.sampling import warn_sampling
from bayesnb.mcmc.variable_names import names_of

pm = pytest.importorskip("pymc")
pytensor = pytest.importorskip("pytensor")

from pymc.model.transform.conditioning import remove_value_transforms  # noqa: E402

Array = np.ndarray
Point = dict[str, Array]
CLASSES = ["ash", "elm", "oak"]
MANY = 60  # levels, more than are moved on the simplex itself


def log_density(model: Any) -> Callable[[Point], float]:
    """The log density of a model's variables as they are named."""
    terms = remove_value_transforms(model).compile_logp(jacobian=False, sum=False, mode="FAST_COMPILE")
    return lambda point: float(sum(np.sum(term) for term in terms(point)))


def shape_of(model: Any, name: str) -> tuple[int, ...]:
    return tuple(len(model.coords[dim]) for dim in model.named_vars_to_dims.get(name, ()))


def frame(rows: int = 60) -> tuple[pd.DataFrame, Array, Array]:
    """Columns of every family, with missing cells; two of the three classes have rows."""
    rng = np.random.default_rng(20261121)
    code = rng.integers(0, 2, rows)
    table = pd.DataFrame(
        {
            "girth": rng.normal(2.0 * code, 1.0),
            "height": rng.normal(-2e3 + 300 * code, 500.0),
            "wet": rng.random(rows) < 0.3 + 0.3 * code,
            "mossy": rng.random(rows) < 0.1,
            "soil": rng.choice(["clay", "loam", "sand"], rows),
            "plot": rng.choice([f"p{i:02}" for i in range(MANY)], rows),
            "country": "here",
            "nests": rng.poisson(0.4 + code),
            "rings": rng.poisson(20.0 + 4 * code),
            "red": rng.poisson(2.0, rows),
            "green": rng.poisson(0.5 + code),
            "blue": rng.poisson(1.0, rows),
        },
        index=[f"tree {row}" for row in range(rows)],
    ).astype({"wet": object, "nests": float})
    for row, column in ((3, "girth"), (5, "height"), (7, "wet"), (9, "soil"), (11, "plot"), (13, "nests")):
        table.loc[f"tree {row}", column] = np.nan
    return table, np.array(CLASSES)[code], 0.25 + np.arange(rows) % 4


TABLE, LABEL, WEIGHT = frame()
WORDS = ("red", "green", "blue")
EVERY = {
    "girth": Gaussian(),
    "height": Gaussian(NormalInverseGamma(-2e3, 0.5, 3.0, 4e5)),
    "wet": Bernoulli(),
    "mossy": Bernoulli(Beta(0.5, 4.0)),
    "soil": Categorical(),
    "nests": Poisson(),
    WORDS: Multinomial(),
}

COLUMNS = [*[*EVERY][:-1], *WORDS]


def words(columns: int) -> sparse.csr_array:
    return sparse.csr_array(np.random.default_rng(columns).poisson(0.7, (len(LABEL), columns)))


# Name -> families, columns (or another table), and what else the estimator is told
MODELS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "gaussian": (Gaussian(), ["girth", "height"], {}),
    "bernoulli": (Bernoulli(Beta(0.5, 2.0)), ["wet", "mossy"], {}),
    "sparse bernoulli": (Bernoulli(threshold=1), words(4), {}),
    "categorical": (Categorical(0.7), ["soil", "country"], {}),
    "many levels": (Categorical(levels=[f"p{i:02}" for i in range(MANY)]), ["plot"], {}),
    "poisson": (Poisson(), ["nests", "rings"], {}),
    "words": (Multinomial(), words(5), {}),
    "many words": (Multinomial(Dirichlet(np.linspace(0.2, 2.0, MANY))), words(MANY), {}),
    "mixed": (EVERY, COLUMNS, {}),
    "given": (EVERY, COLUMNS, {"class_prior": dict(zip(CLASSES, (0.5, 0.3, 0.2), strict=True))}),
    "uniform": (Gaussian(), ["girth"], {"class_prior": "uniform"}),
    "empirical": (Gaussian(), ["girth"], {"class_prior": "empirical", "classes": CLASSES[:2]}),
    "one class": (Gaussian(), ["girth"], {"classes": None}),
}


def case_of(name: str) -> tuple[NaiveBayes, Any, Array]:
    families, columns, said = MODELS[name]
    y = np.full(len(LABEL), "ash") if name == "one class" else LABEL
    X = TABLE[columns] if isinstance(columns, list) else columns
    return NaiveBayes(families, **{"classes": CLASSES} | said), X, y


def variables(fitted: NaiveBayes, rng: np.random.Generator, size: int) -> tuple[Point, Array]:
    """Draws of theta from a wider belief than the posterior, and log p(theta | D), `(s, ...)` and `(s,)`."""
    model = fitted.model_
    says, _ = names_of(fitted.classes_, list(fitted.schema_.blocks), list(model.posterior.blocks))
    die = model.prior.classes.update(0.3 * model.stats.classes).sample(rng, size)
    point, total = {"class_prob": die.probability}, np.zeros(size)
    if hasattr(model.posterior.classes, "log_density") and hasattr(model.posterior.classes, "concentration"):
        (log,) = model.posterior.classes.log_density(die).values()
        total += log
    for say, prior, seen, posterior in zip(
        says, model.prior.blocks, model.stats.blocks, model.posterior.blocks, strict=True
    ):
        theta = prior.update(0.3 * seen).sample(rng, size)
        point |= {say(*key)["name"]: array for key, array in theta.parts().items()}
        total += sum(log.reshape(size, -1).sum(axis=1) for log in posterior.log_density(theta).values())
    return point, total


def with_variates(model: Any, point: Point, rng: np.random.Generator) -> tuple[Point, Array | float]:
    """The point with Gamma variates for the shares, and what their totals add to the log density of the shares.

    Of independent variates g_k ~ Gamma(a_k, 1) the total t ~ Gamma(sum a) and the shares are independent, and
    d g = t**(k - 1) d t d shares.
    """
    found, extra = {}, 0.0
    for name in (variable.name for variable in model.free_RVs):
        if not name.endswith("_variate"):
            found[name] = point[name]
            continue
        share = point[name.removesuffix("_variate")]
        shape = np.broadcast_to(model[name].owner.op.dist_params(model[name].owner)[0].eval(), share.shape).sum(axis=-1)
        whole = rng.gamma(shape)
        found[name] = share * whole[..., None]
        own = stats.gamma.logpdf(whole, shape) - (share.shape[-1] - 1) * np.log(whole)
        extra = extra + own.reshape(len(own), -1).sum(axis=1)
    return found, extra


# Conjugate models ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "likelihood"),
    [(name, "statistics") for name in [*MODELS, "mixed, weights", "many words, weights"]]
    + [
        (name, "rows") for name in [*MODELS, "mixed, weights"] if name not in ("given", "uniform", "empirical", "mixed")
    ],
)
def test_the_log_density_is_that_of_the_posterior_and_the_evidence(name: str, likelihood: str) -> None:
    name, _, weighted = name.partition(", ")
    estimator, X, y = case_of(name)
    weight = WEIGHT if weighted else None
    model = mcmc.build(estimator, X, y, likelihood=likelihood, sample_weight=weight)
    estimator.fit(X, y, weight)
    rng, size = np.random.default_rng(4), 30 if likelihood == "statistics" else 10
    point, posterior = variables(estimator, rng, size)
    point, extra = with_variates(model, point, rng)
    own = log_density(model)
    found = np.array([own({key: array[s] for key, array in point.items()}) for s in range(size)])
    assert_allclose(found - (posterior + extra), estimator.log_evidence_, rtol=1e-9)


def test_two_blocks_of_a_family_and_all_axes_have_names_of_their_own() -> None:
    estimator, X, y = case_of("mixed")
    model = mcmc.build(estimator, X, y, True, likelihood="rows")
    dims = {
        "class_prob": ("class",),
        "mu": ("class", "gaussian_feature"),
        "sigma2_2": ("class", "gaussian_feature_2"),
        "mu_spread": ("gaussian_feature",),
        "mu_mean_2": ("gaussian_feature_2",),
        "theta_soil": ("class", "soil_level"),
        "bernoulli_theta": ("class", "bernoulli_feature"),
        "bernoulli_theta_2": ("class", "bernoulli_feature_2"),
        "bernoulli_alpha_2": ("bernoulli_feature_2",),
        "categorical_alpha": ("categorical_feature",),
        "multinomial_theta": ("class", "multinomial_feature"),
        "rate": ("class", "poisson_feature"),
        "y": ("obs_id",),
        "x_multinomial": ("obs_id", "multinomial_feature"),
        "x_bernoulli_2": ("obs_id", "bernoulli_feature_2"),
    }
    assert {name: model.named_vars_to_dims[name] for name in dims} == dims
    assert "multinomial_alpha" in model.named_vars  # of the whole block, so without an axis
    assert "multinomial_alpha" not in model.named_vars_to_dims
    coords = {
        "class": CLASSES,
        "obs_id": [*TABLE.index],
        "gaussian_feature": ["girth"],
        "gaussian_feature_2": ["height"],
        "soil_level": ["clay", "loam", "sand"],
        "multinomial_feature": [*WORDS],
    }
    assert {name: list(model.coords[name]) for name in coords} == coords
    drawn = pm.draw(model.free_RVs, mode="FAST_COMPILE", random_seed=1)
    assert {v.name: own.shape for v, own in zip(model.free_RVs, drawn, strict=True)} == {
        v.name: shape_of(model, v.name) for v in model.free_RVs
    }
    assert "soil_level" in pm.model_to_mermaid(model) or "theta_soil" in pm.model_to_mermaid(model)


# What has no closed form: the whole story told again in SciPy -------------------------------------------------------

MIXED, MIXED_X, _ = case_of("mixed")
MIXED.fit(MIXED_X, LABEL, WEIGHT)
CODE = np.searchsorted(CLASSES, LABEL)
NORMALS = {"": "girth", "_2": "height"}
DICE = {  # theta -> how often each class saw each level is counted of these cells, alpha and proportions as declared
    "bernoulli_theta": ("wet", 1.0, [1.0, 1.0]),
    "bernoulli_theta_2": ("mossy", 2.25, [4.0 / 2.25, 0.5 / 2.25]),
    "theta_soil": ("soil", 1.0, [1.0, 1.0, 1.0]),
    "multinomial_theta": (None, 1.0, [1.0, 1.0, 1.0]),
}
WIDE = 1.5  # sd of the logs of what is learned


def one_hot(column: str | None) -> Array:
    """The levels of a column's cells, one column each; none where the cell is missing."""
    if column is None:
        return TABLE[[*WORDS]].to_numpy(float)
    levels = [False, True] if column in ("wet", "mossy") else ["clay", "loam", "sand"]
    return np.column_stack([TABLE[column] == level for level in levels]).astype(float)


def by_class(cells: Array, weight: Array = WEIGHT) -> Array:
    """Weighted sums over the rows of each class, `(r, k) -> (c, k)`."""
    return np.stack([(weight[:, None] * cells)[c == CODE].sum(axis=0) for c in range(len(CLASSES))])


@dataclass(frozen=True)
class Story:
    """A model of all columns at a point of its variables, which are named as in PyMC."""

    at: Point
    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False
    label_noise: Any = None

    def log_hyper(self) -> float:
        """log p(phi), of all variables but theta and the probabilities of the classes."""
        found = [*map(self._of_die, DICE), self._of_rates(), *map(self._of_normals, NORMALS)]
        return float(sum(np.sum(part) for part in found))

    def _of_die(self, name: str) -> Array | float:
        if not self.hierarchical:
            return 0.0
        _, alpha, unit = DICE[name]
        found = stats.lognorm.logpdf(self.at[hyper(name, "alpha")], WIDE, scale=alpha)
        if self.hierarchical == "base":
            return found + stats.gamma.logpdf(self.at[f"{hyper(name, 'base')}_variate"], unit).sum()
        return found

    def _of_rates(self) -> Array | float:
        if not self.hierarchical:
            return 0.0
        own = MIXED.prior_["nests"]
        shape = stats.lognorm.logpdf(self.at["rate_shape"], WIDE, scale=own.shape[0])
        return shape + stats.lognorm.logpdf(self.at["rate_mean"], WIDE, scale=own.shape[0] / own.rate[0])

    def _of_normals(self, number: str) -> Array | float:
        at, own = lambda name: self.at[f"{name}{number}"], MIXED.prior_[NORMALS[number]]
        typical, total = np.sqrt(own.scale[0] / own.shape[0]), 0.0
        if self.student is True:
            total += stats.gamma.logpdf(at("nu"), 2.0, scale=10.0)
        if self.hierarchical:
            total += stats.norm.logpdf(at("mu_mean"), own.location[0], typical / np.sqrt(own.count[0]))
            total += stats.halfnorm.logpdf(at("mu_spread"), scale=own.count[0] ** -0.5)
        match self.scale_prior, bool(self.hierarchical):
            case None, True:
                total += stats.lognorm.logpdf(at("sigma2_shape"), WIDE, scale=own.shape[0])
                total += stats.lognorm.logpdf(at("sigma2_typical"), WIDE, scale=typical**2)
            case "half-normal", False:
                total += stats.halfnorm.logpdf(at("sigma"), scale=typical).sum()
            case "half-normal", True:
                total += stats.lognorm.logpdf(at("sigma_width"), WIDE, scale=typical)
                total += stats.halfnorm.logpdf(at("sigma"), scale=at("sigma_width")).sum()
            case "log-normal", False:
                total += stats.lognorm.logpdf(at("sigma"), 1.0, scale=typical).sum()
            case "log-normal", True:
                total += stats.norm.logpdf(at("log_sigma_mean"), np.log(typical), WIDE)
                total += stats.halfnorm.logpdf(at("log_sigma_spread"))
                total += stats.norm.logpdf(self.at[f"sigma{number}_variate"]).sum()
        return total

    def variance(self, number: str) -> Array:
        """Those of a scale prior, `(c, 1)`."""
        if self.scale_prior == "log-normal" and self.hierarchical:
            spread = self.at[f"log_sigma_spread{number}"] * self.at[f"sigma{number}_variate"]
            return np.exp(2 * (self.at[f"log_sigma_mean{number}"] + spread))
        return self.at[f"sigma{number}"] ** 2

    def concentration(self, name: str) -> Array:
        _, alpha, unit = DICE[name]
        if not self.hierarchical:
            return np.tile(alpha * np.array(unit), (len(CLASSES), 1))
        if self.hierarchical == "base":
            variates = self.at[f"{hyper(name, 'base')}_variate"]
            unit = variates / variates.mean()
        return np.tile(self.at[hyper(name, "alpha")] * np.array(unit), (len(CLASSES), 1))

    def rate(self) -> tuple[Array, Array]:
        """Shape and rate of the Gamma over rates, `(c, 1)`."""
        own = MIXED.prior_["nests"]
        if not self.hierarchical:
            return own.shape[:, None], own.rate[:, None]
        shape = np.tile(self.at["rate_shape"], (len(CLASSES), 1))
        return shape, shape / self.at["rate_mean"]

    def normal(self, number: str) -> tuple[Array, ...]:
        """location, count, shape, scale, `(c, 1)`; the last two play no part under a scale prior."""
        own = MIXED.prior_[NORMALS[number]]
        given = [part[:, None] for part in (own.location, own.count, own.shape, own.scale)]
        if self.hierarchical:
            every = np.ones((len(CLASSES), 1))
            given[:2] = every * self.at[f"mu_mean{number}"], every * self.at[f"mu_spread{number}"] ** -2
            if not self.scale_prior:
                shape = self.at[f"sigma2_shape{number}"]
                given[2:] = every * shape, every * shape * self.at[f"sigma2_typical{number}"]
        return tuple(given)

    def log_theta(self, seen: bool = False) -> float:
        """log p(theta | phi), or log p(theta | phi, D) once the rows were seen with their weights."""
        at, total = self.at, 0.0
        total += stats.dirichlet.logpdf(at["class_prob"], 1.0 + seen * np.bincount(CODE, WEIGHT, len(CLASSES)))
        for name, (column, _, _) in DICE.items():
            concentration = self.concentration(name) + seen * by_class(one_hot(column))
            theta = np.hstack([1 - at[name], at[name]]) if "bernoulli" in name else at[name]
            total += sum(map(stats.dirichlet.logpdf, theta, concentration))
        cells = TABLE[["nests"]].to_numpy(float)
        there, (shape, rate) = ~np.isnan(cells), self.rate()
        shape, rate = shape + seen * by_class(np.nan_to_num(cells)), rate + seen * by_class(there)
        total += stats.gamma.logpdf(at["rate"], shape, scale=1 / rate).sum()
        return float(total + sum(self._log_normal(number, seen) for number in NORMALS))

    def _log_normal(self, number: str, seen: bool) -> float:
        (location, count, shape, scale), total = self.normal(number), 0.0
        if seen:
            cells = TABLE[[NORMALS[number]]].to_numpy(float)
            rows, first = by_class(~np.isnan(cells)), by_class(np.nan_to_num(cells - cells[0]))
            mean = np.divide(first, rows, out=np.zeros_like(first), where=rows > 0) + cells[0]
            ssd = by_class(np.nan_to_num(cells - mean[CODE]) ** 2)
            scale = scale + (ssd + count * rows / (count + rows) * (mean - location) ** 2) / 2
            location, count, shape = (count * location + rows * mean) / (count + rows), count + rows, shape + rows / 2
        variance = self.variance(number) if self.scale_prior else self.at[f"sigma2{number}"]
        if not self.scale_prior:
            total += stats.invgamma.logpdf(variance, shape, scale=scale).sum()
        return float(total + stats.norm.logpdf(self.at[f"mu{number}"], location, np.sqrt(variance / count)).sum())

    def log_joint(self, table: pd.DataFrame = TABLE) -> Array:
        """log p(x, y | theta) of every row and class, `(r, c)`; missing cells are silent."""
        at, total = self.at, np.log(self.at["class_prob"])
        for number, column in NORMALS.items():
            variance = self.variance(number) if self.scale_prior else at[f"sigma2{number}"]
            x, mean, sd = table[[column]].to_numpy(float), at[f"mu{number}"][:, 0], np.sqrt(variance[:, 0])
            freedom = at[f"nu{number}"] if self.student is True else self.student
            own = stats.t.logpdf(x, freedom, mean, sd) if self.student else stats.norm.logpdf(x, mean, sd)
            total = total + np.where(np.isnan(x), 0.0, own)
        for name, column in (("bernoulli_theta", "wet"), ("bernoulli_theta_2", "mossy")):
            x = np.array(table[[column]], float)
            total = total + np.where(np.isnan(x), 0.0, stats.bernoulli.logpmf(x == 1, at[name][:, 0]))
        soil = np.stack([np.log(at["theta_soil"][:, level]) for level in range(3)])
        level = table["soil"].map({"clay": 0, "loam": 1, "sand": 2}).to_numpy()
        total = total + np.where(np.isnan(level)[:, None], 0.0, soil[np.nan_to_num(level).astype(int)])
        nests = table[["nests"]].to_numpy(float)
        total = total + np.where(np.isnan(nests), 0.0, stats.poisson.logpmf(nests, at["rate"][:, 0]))
        counts = table[[*WORDS]].to_numpy()
        return total + np.stack(
            [stats.multinomial.logpmf(counts, counts.sum(axis=1), p) for p in at["multinomial_theta"]], axis=1
        )

    def log_likelihood(self, weight: Array = WEIGHT) -> float:
        """log p(D | theta), the labels being read with errors, if there is noise."""
        joint = self.log_joint()
        if self.label_noise is None:
            return float(weight @ joint[np.arange(len(CODE)), CODE])
        noise = self.at["label_noise"] if isinstance(self.label_noise, Beta) else self.label_noise
        read = np.where(np.eye(len(CLASSES))[CODE] == 1, 1 - noise, noise / (len(CLASSES) - 1))
        return float(weight @ logsumexp(joint + np.log(read), axis=1))


def hyper(name: str, symbol: str) -> str:
    """What a hyperparameter of a die is called."""
    if name == "theta_soil":
        return f"categorical_{symbol}"
    family, _, number = name.partition("_theta")
    return f"{family}_{symbol}{number}"


def anywhere(model: Any, seed: int) -> Point:
    """A point of all free variables, each of about the size that it should have."""
    rng, found = np.random.default_rng(seed), {}
    for variable in model.free_RVs:
        name, shape = variable.name, shape_of(model, variable.name)
        scale = 500.0 if name in ("height", "sigma_2", "sigma_width_2") else 2.5e5 if name == "sigma2_2" else 1.0
        if name == "class_prob" or ("theta" in name and "bernoulli" not in name):
            found[name] = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        elif "bernoulli_theta" in name or name == "label_noise":
            found[name] = rng.uniform(size=shape)
        elif name in ("mu", "mu_mean", "sigma_variate", "sigma_2_variate", "log_sigma_mean"):
            found[name] = rng.normal(size=shape)
        elif name in ("mu_2", "mu_mean_2"):
            found[name] = rng.normal(-2e3, 500.0, shape)
        else:
            found[name] = scale * np.exp(0.7 * rng.normal(size=shape)) + 6 * (name == "log_sigma_mean_2")
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "hierarchical": {"hierarchical": True},
    "base": {"hierarchical": "base"},
    "half-normal": {"scale_prior": "half-normal"},
    "log-normal": {"scale_prior": "log-normal"},
    "half-normal, hierarchical": {"scale_prior": "half-normal", "hierarchical": True},
    "log-normal, base": {"scale_prior": "log-normal", "hierarchical": "base"},
}
MORE: dict[str, dict[str, Any]] = {
    "student": {"student": True},
    "student of four": {"student": 4},
    "student, hierarchical": {"student": True, "hierarchical": True},
    "student, log-normal": {"student": 3.5, "scale_prior": "log-normal", "hierarchical": True},
    "noise": {"label_noise": 0.1},
    "noise of a beta": {"label_noise": Beta(2.0, 20.0), "hierarchical": True},
    "noise, student": {"label_noise": Beta(2.0, 20.0), "student": True, "scale_prior": "half-normal"},
}


@cache
def whole(name: str) -> tuple[Any, Callable[[Point], float]]:
    """The model of all variables that an entry's options make, and its log density: two tests look at some."""
    model = mcmc.build(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, **(OPTIONS | MORE)[name])
    return model, log_density(model)


@pytest.mark.parametrize(  # what is also in a combination with another option is slow by itself
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("student", "student of four", "noise of a beta")))
        for name in OPTIONS | MORE
    ],
)
@pytest.mark.slow
def test_the_log_density_is_the_story_told_in_scipy(name: str) -> None:
    (model, own), said = whole(name), (OPTIONS | MORE)[name]
    for seed in range(5):
        at = anywhere(model, seed)
        story = Story(at, **said)
        noise = stats.beta.logpdf(at["label_noise"], 2, 20) if isinstance(said.get("label_noise"), Beta) else 0.0
        assert_allclose(own(at), story.log_hyper() + story.log_theta() + story.log_likelihood() + noise, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_theta_is_integrated_out_whatever_it_is(name: str) -> None:
    """log p(phi, theta, D) - log p(theta | phi, D) is log p(phi, D)."""
    (full, of_both), said = whole(name), OPTIONS[name]
    own = mcmc.build(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, collapse=True, **said)
    of_phi, phi = log_density(own), [v.name for v in own.free_RVs]
    assert set(phi) < {v.name for v in full.free_RVs}
    for seed in range(3):
        at = anywhere(full, seed)
        for other in range(3):  # theta moves, phi stays
            point = anywhere(full, 10 * seed + other + 5) | {name: at[name] for name in phi}
            theta = Story(point, **said).log_theta(seen=True)
            assert_allclose(of_both(point) - theta, of_phi({name: at[name] for name in phi}), rtol=1e-10)


@pytest.mark.slow
def test_rows_without_labels_are_summed_over_the_classes() -> None:
    some, rest = MIXED_X[:40], MIXED_X[40:]
    model = mcmc.build(MIXED, some, LABEL[:40], unlabelled=rest, hierarchical=True, sample_weight=WEIGHT[:40])
    plain = mcmc.build(MIXED, some, LABEL[:40], hierarchical=True, sample_weight=WEIGHT[:40])
    own, without = log_density(model), log_density(plain)
    for seed in range(5):
        at = anywhere(model, seed)
        expected = logsumexp(Story(at, hierarchical=True).log_joint(TABLE[40:]), axis=1).sum()
        assert_allclose(own(at) - without(at), expected, rtol=1e-9)


SHARED = {
    "rows": (Gaussian(shared=True), {"likelihood": "rows"}),
    "half-normal": (Gaussian(shared=True), {"scale_prior": "half-normal"}),
    "hierarchy": (Gaussian(shared=True), {"hierarchical": True}),
    "noise, collapsed": (Gaussian(shared=True), {"label_noise": 0.1, "collapse": True}),
    "block": ({"girth": Gaussian(shared=True), ("red", "blue"): MultivariateGaussian(shared=True)}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in ("half-normal", "block") else pytest.param(name, marks=pytest.mark.slow) for name in SHARED],
)
def test_pytensor_rewrites_what_classes_share_without_an_error(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """An error in a rewrite stops nothing: it is logged, as a traceback on the terminal."""
    families, said = SHARED[name]
    model = mcmc.build(NaiveBayes(families), TABLE[["girth", "red", "blue"]], LABEL, **said)
    mode = pytensor.compile.get_default_mode().clone(linker="py")  # rewritten as ever, and not compiled
    with caplog.at_level("ERROR", "pytensor"):
        pytensor.function(model.value_vars, model.dlogp(), mode=mode, on_unused_input="ignore")
        pytensor.function([], model.basic_RVs, mode=mode)
    assert not [record for record in caplog.records if record.name.startswith("pytensor")]


# Names that meet, rows that do not count, and what is refused ------------------------------------------------------


def test_names_that_would_be_alike_are_not() -> None:
    rng, y = np.random.default_rng(1), LABEL[:30]
    level = rng.choice(["a", "b", "c"], (2, 30))
    table = pd.DataFrame({"feature": level[0], "variate": np.where(level[1] == "c", "b", level[1])})
    model = mcmc.build(NaiveBayes(Categorical()), table, y, "base")  # both a column's axis and that of all levels
    assert {name: len(model.coords[name]) for name in ("feature", "feature_level", "feature_levels")} == {
        "feature": 2,
        "feature_level": 3,
        "feature_levels": 5,
    }
    flags = np.column_stack([rng.random((30, 2)) < 0.4, rng.integers(0, 3, 30)]).astype(float)
    model = mcmc.build(NaiveBayes({0: Bernoulli(1.0), 1: Bernoulli(2.0), 2: Categorical()}), flags, y)
    assert {"theta", "theta_2", "theta_3"} < set(model.named_vars)  # the second is that of column 2
    assert model.named_vars_to_dims["theta_2"] == ("class", "2_level")


def test_a_row_of_weight_zero_is_no_row_and_the_estimate_plays_no_part() -> None:
    X, y = np.array([[1.0, 5.0], [2.0, 5.0], [1.5, 5.0], [2.5, 5.0]]), ["a", "b", "a", "b"]
    plain = log_density(mcmc.build(NaiveBayes(Gaussian()), X, y))
    more = np.vstack([X, [[9.0, 9.0]]])
    own = mcmc.build(NaiveBayes(Gaussian(), estimate="mle"), more, [*y, "never"], sample_weight=[1, 1, 1, 1, 0])
    point = {"class_prob": np.array([0.3, 0.7]), "mu": np.ones((2, 2)), "sigma2": np.full((2, 2), 2.0)}
    assert_allclose(log_density(own)(point), plain(point), rtol=1e-12)


HALF = {column: Gaussian() for column in ("girth", "height")}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "hierarchical": ({"hierarchical": "yes"}, "hierarchical must be True, False or 'base', got 'yes'"),
    "scale_prior": ({"scale_prior": "cauchy"}, "scale_prior must be None, 'half-normal' or 'log-normal', got 'cauchy'"),
    "student": ({"student": -1}, "student must be True, False or the degrees of freedom.*got -1"),
    "student without end": ({"student": np.inf}, "finite number above 0, got inf"),
    "noise": ({"label_noise": 1.0}, "label_noise must be None.*below 1, or a Beta, got 1.0"),
    "noises": ({"label_noise": Beta([1.0, 2.0], 9.0)}, "needs one a and one b, both above 0"),
    "improper noise": ({"label_noise": Beta(0.0, 9.0)}, "needs one a and one b, both above 0"),
    "likelihood": ({"likelihood": "cells"}, "likelihood must be one of statistics, rows, got 'cells'"),
    "rows without theta": ({"likelihood": "rows", "collapse": True}, "collapse=True has no theta.*Use 'statistics'"),
    "rows without classes": ({"likelihood": "rows", "label_noise": 0.1}, "no row's class is certain.*Use 'statistics'"),
    "base": ({"hierarchical": "base"}, "columns of levels, flags and words, and the model has none. Use True"),
}


@pytest.mark.parametrize(("said", "message"), BAD.values(), ids=BAD)
def test_a_bad_option_is_an_error_that_says_so(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcmc.build(NaiveBayes(HALF), TABLE[[*HALF]], LABEL, **said)


PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "draws": ({"draws": 0}, "draws must be a whole number, at least 1, got 0"),
    "tune": ({"tune": -1}, "tune must be a whole number, at least 0, got -1"),
    "chains": ({"chains": True}, "chains must be a whole number, at least 1, got True"),
    "sampler": ({"sampler": "stan"}, "sampler must be None or one of nutpie, pymc, numpyro, blackjax, got 'stan'"),
}


@pytest.mark.parametrize(("said", "message"), PLANS.values(), ids=PLANS)
def test_bad_chains_are_an_error_before_anything_is_sampled(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcmc.fit(NaiveBayes(HALF), TABLE[[*HALF]], LABEL, **said)
    with pytest.raises(
        TypeError, match=r"fit has no option 'draw'. There are chains, collapse, draws, .*sampling={'draw'"
    ):
        mcmc.fit(NaiveBayes(HALF), TABLE[[*HALF]], LABEL, draw=7)


def test_a_model_that_has_no_use_for_an_option_or_no_distribution_is_refused() -> None:
    soil, girth = TABLE[["soil"]], TABLE[["girth"]]
    for said in ({"student": True}, {"scale_prior": "half-normal"}):
        with pytest.raises(ValueError, match=r"is about Gaussian columns, and the model has none. Leave it out"):
            mcmc.build(NaiveBayes(Categorical()), soil, LABEL, **said)
    with pytest.raises(ValueError, match=r"average_features has no PyMC model. Give an estimator with"):
        mcmc.build(NaiveBayes(Categorical(), average_features=0.5), soil, LABEL)
    with pytest.raises(ValueError, match=r"class_prior: a concentration of 0 is improper"):
        mcmc.build(NaiveBayes(Categorical(), class_prior=0.0), soil, LABEL)
    for families, table in ((Categorical(0.0), soil), (Gaussian(NormalInverseGamma(0.0, 0.0, -0.5, 0.0)), girth)):
        with pytest.raises(ValueError, match=rf"column '{table.columns[0]}': its prior is improper.*Give another"):
            mcmc.build(NaiveBayes(families), table, LABEL)
    with pytest.raises(TypeError, match=r"expected an estimator of bayesnb such as NaiveBayes\(\), got 'gaussian'"):
        mcmc.build("gaussian", soil, LABEL)
    halves = np.arange(len(LABEL))[:, None] + 0.5
    for families in (Poisson(fractional=True), Multinomial(fractional=True)):
        with pytest.raises(ValueError, match=r"column 0 or one beside it holds fractions.*Use likelihood='statistics'"):
            mcmc.build(NaiveBayes(families), halves, LABEL, likelihood="rows")
        model = mcmc.build(NaiveBayes(families), np.floor(halves), LABEL, likelihood="rows")
        assert "x" in model.named_vars
    with pytest.raises(ValueError, match="X has 2 features, but NaiveBayes is expecting 1"):
        mcmc.build(NaiveBayes(Poisson()), np.floor(halves), LABEL, unlabelled=np.ones((2, 2)))
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        mcmc.Sampled(NaiveBayes(Gaussian())).predict_proba(girth)


WITHOUT = """
import sys
import bayesnb, bayesnb.mcmc
from bayesnb import NaiveBayes, mcmc
mcmc.Sampled(NaiveBayes())
assert "pymc" not in sys.modules
sys.modules["pymc"] = None
X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
for call in (mcmc.build, mcmc.fit, lambda *table: mcmc.logistic(*table[1:])):
    try:
        call(NaiveBayes(), X, y)
    except ImportError as error:
        assert 'pip install ".[mcmc]"' in str(error), error
    else:
        raise AssertionError("no error")
print(NaiveBayes().fit(X, y).predict([[1.1]])[0])
"""


@pytest.mark.slow
def test_pymc_is_asked_for_only_where_something_is_built() -> None:
    said = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "low"


# Chains that cannot be trusted ---------------------------------------------------------------------------------------

DRAWS = np.random.default_rng(2).normal(size=(4, 500))
APART = np.arange(4)[:, None]


def tree(diverging: int | None = 0, **variables: Array) -> xr.DataTree:
    """Draws of some chains, as a sampler would return them."""
    own = {name: (["chain", "draw", f"{name}_k"][: a.ndim], a) for name, a in variables.items()}
    groups = {"posterior": xr.Dataset(own)}
    size = groups["posterior"].sizes["chain"], groups["posterior"].sizes["draw"]
    if diverging is not None:
        marks = np.arange(size[0] * size[1]).reshape(size) < diverging
        groups["sample_stats"] = xr.Dataset({"diverging": (("chain", "draw"), marks)})
    return xr.DataTree.from_dict(groups)


@pytest.mark.parametrize(
    "good",
    [
        tree(alpha=DRAWS),
        tree(alpha=DRAWS, theta=np.ones((4, 500, 3))),  # a die of one level
        tree(theta=np.stack([DRAWS, 0 * DRAWS], axis=-1)),
        tree(theta=np.ones((4, 500))),
        tree(alpha=DRAWS[:1]),
        tree(None, alpha=DRAWS),
    ],
    ids=["several", "a constant", "a constant entry", "only a constant", "one chain", "no divergences known"],
)
def test_good_chains_are_not_told_of(good: xr.DataTree) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_sampling(good)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            tree(alpha=DRAWS + APART),
            r"r_hat of alpha is 1\.5.*have not converged. Sample longer: more `tune` and `draws`",
        ),
        (tree(ok=DRAWS, alpha=0 * DRAWS + APART), "r_hat of alpha .*have not converged"),  # every chain is stuck
        (tree(ok=DRAWS, theta=np.stack([DRAWS, DRAWS + APART], axis=-1)), "r_hat of theta is 1"),
        (tree(alpha=DRAWS[:, :30]), r"alpha has \d+ effective draws, fewer than 100 a chain.*Sample more `draws`"),
        (tree(alpha=DRAWS[:1, :90]), r"alpha has \d+ effective draws, fewer than 100 a chain"),
        (tree(alpha=DRAWS[:, :3]), "alpha has 0 effective draws"),  # too few for any diagnostic
        (tree(alpha=DRAWS[:1, :1]), "alpha has 0 effective draws"),
        (tree(alpha=np.where(DRAWS[1, 7] == DRAWS, np.nan, DRAWS)), "alpha has 0 effective draws"),
        (
            tree(3, alpha=DRAWS),
            "3 of 2000 draws diverged.*Try sampling={'target_accept': 0.99}, more `tune`, or a more informative prior",
        ),
    ],
    ids=["apart", "stuck", "one entry", "few", "one short chain", "three", "one", "not a number", "divergences"],
)
def test_bad_chains_are_told_of_and_what_to_do(bad: xr.DataTree, message: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_sampling(bad)
    assert [warning.category for warning in told] == [mcmc.SamplingWarning]  # one for everything, and no other
    assert re.search(message, str(told[0].message))


# What was sampled ----------------------------------------------------------------------------------------------------

ERRORS = 5  # Monte Carlo standard errors
HOW: dict[str, Any] = {"chains": 2, "rng": 1, "sampler": "pymc", "progressbar": False, "sampling": {"cores": 1}}
TINY = HOW | {"draws": 20, "tune": 20}


def within_errors(found: xr.Dataset, name: str, mean: Array, sd: Array) -> None:
    """The draws of a variable have this mean and this standard deviation."""
    for method, own, expected in (("mean", found.mean, mean), ("sd", found.std, sd)):
        error = arviz_stats.mcse(found[[name]], method=method)[name].values
        assert (np.abs(own(("chain", "draw"))[name].values - expected) < ERRORS * error).all(), (name, method)


@pytest.fixture(scope="module")
def flowers() -> tuple[Array, Array]:
    """Two numbers of three kinds, with a missing cell."""
    rng, code = np.random.default_rng(5), np.arange(45) % 3
    x = rng.normal(code[:, None] * [0.7, -30.0], [1.0, 40.0])
    x[4, 1] = np.nan
    return x, np.array(["setosa", "versicolor", "virginica"])[code]


@pytest.fixture(scope="module")
def conjugate(flowers: tuple[Array, Array]) -> mcmc.Sampled:
    """A model that has a closed form, sampled all the same."""
    return mcmc.fit(NaiveBayes(Gaussian(NormalInverseGamma(0.0, 0.5, 3.0, [3.0, 3e3]))), *flowers, **HOW)


@pytest.mark.slow
def test_a_conjugate_model_is_sampled_as_the_closed_form_says(
    conjugate: mcmc.Sampled, flowers: tuple[Array, Array]
) -> None:
    exact, found = conjugate.estimator_, conjugate.datatree_["posterior"].to_dataset()
    die, own = exact.class_posterior_.concentration, exact.model_.posterior.blocks[0]
    share, size = die / die.sum(), die.sum()
    within_errors(found, "class_prob", share, np.sqrt(share * (1 - share) / (size + 1)))
    variance = own.scale / (own.shape - 1)
    within_errors(found, "sigma2", variance, variance / np.sqrt(own.shape - 2))
    within_errors(found, "mu", own.location, np.sqrt(variance / own.count))
    assert_allclose(conjugate.predict_proba(flowers[0]), exact.predict_proba(flowers[0]), atol=0.02)
    assert (conjugate.classes_ == exact.classes_).all()


def test_the_tree_has_arvizs_groups_and_the_chains_as_they_were_drawn(
    conjugate: mcmc.Sampled, flowers: tuple[Array, Array]
) -> None:
    tree = conjugate.datatree_
    assert {"posterior", "sample_stats", "observed_data"} <= set(tree.children)
    assert tree["posterior"]["mu"].dims == ("chain", "draw", "class", "feature")
    assert [*tree["posterior"]["class"].values] == ["setosa", "versicolor", "virginica"]
    assert (conjugate.classes_[tree["observed_data"]["y"].values] == flowers[1]).all()
    assert len(arviz_stats.summary(tree, var_names=["mu", "class_prob"])) == 9
    model = mcmc.build(conjugate.estimator, *flowers)
    drawn = tree["posterior"].to_dataset().isel(draw=slice(0, 1000, 97))
    forward = pm.distributions.transforms.simplex.forward(drawn["class_prob"].values).eval()
    own = model.compile_logp(mode="FAST_COMPILE")
    for chain, draw in np.ndindex(2, drawn.sizes["draw"]):
        one = drawn.isel(chain=chain, draw=draw)
        point = {"class_prob_simplex__": forward[chain, draw], "mu": one["mu"].values}
        point |= {"sigma2_log__": np.log(one["sigma2"].values)}
        expected = tree["sample_stats"]["lp"].isel(draw=slice(0, 1000, 97)).values[chain, draw]
        assert_allclose(own(point), expected, rtol=1e-9)


@pytest.mark.usefixtures("compiled_always")  # NumPy does what is small, so a partition's digits may be other ones
def test_what_was_sampled_predicts_lazily_what_it_predicts_of_rows_in_memory(
    conjugate: mcmc.Sampled, flowers: tuple[Array, Array]
) -> None:
    x, y = flowers
    lazy = da.from_array(x, chunks=(20, 1))
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        answers = getattr(conjugate, method)(lazy)
        assert answers.chunks[0] == (20, 20, 5)
        np.testing.assert_array_equal(answers.compute(scheduler="synchronous"), getattr(conjugate, method)(x))
    with pytest.raises(TypeError, match="X is a lazy collection of Dask"):
        conjugate.loo(lazy, y)


@pytest.fixture(scope="module")
def birds() -> tuple[pd.DataFrame, Array, Array]:
    """One column of three levels, six kinds with few rows each, and how often each kind saw each level."""
    rng, code = np.random.default_rng(8), np.arange(48) % 6
    share = rng.dirichlet([2.0, 3.0, 4.0], 6)
    level = np.array([rng.choice(3, p=share[c]) for c in code])
    counts = np.zeros((6, 3))
    np.add.at(counts, (code, level), 1)
    return pd.DataFrame({"song": np.array(["low", "mid", "shrill"])[level]}), np.array([*"abcdef"])[code], counts


@pytest.fixture(scope="module")
def hierarchy(birds: tuple[pd.DataFrame, Array, Array]) -> mcmc.Sampled:
    return mcmc.fit(NaiveBayes(Categorical(2.0), temper=0.5), *birds[:2], hierarchical=True, **HOW)


@pytest.mark.slow
def test_a_hierarchy_is_what_a_grid_of_concentrations_says(
    hierarchy: mcmc.Sampled, birds: tuple[pd.DataFrame, Array, Array]
) -> None:
    alpha, counts = np.exp(np.linspace(-9.0, 12.0, 4001)), birds[2]
    own, total = alpha[:, None, None] + counts, 3 * alpha[:, None] + counts.sum(axis=1)
    evidence = (gammaln(own) - gammaln(alpha)[:, None, None]).sum(axis=(1, 2))
    evidence += (gammaln(3 * alpha)[:, None] - gammaln(total)).sum(axis=1)
    weight = np.exp(evidence - evidence.max()) * stats.norm.pdf(np.log(alpha), np.log(2.0), 1.5)
    weight /= weight.sum()
    mean = weight @ alpha
    found = hierarchy.datatree_["posterior"].to_dataset()
    within_errors(found, "alpha", mean, np.sqrt(weight @ (alpha - mean) ** 2))
    theta = np.einsum("g,gck->ck", weight, own / total[:, :, None])
    spread = np.einsum("g,gck->ck", weight, own * (own + 1) / (total * (total + 1))[:, :, None])
    within_errors(found, "theta_song", theta, np.sqrt(spread - theta**2))

    die, t = (1 + counts.sum(axis=1)) / (6 + counts.sum()), 0.5
    levels = pd.DataFrame({"song": ["low", "mid", "shrill"]})
    assert_allclose(hierarchy.log_density(levels), np.log(die @ theta), atol=0.02)
    gain = gammaln(own + t) - gammaln(own) - (gammaln(total + t) - gammaln(total))[:, :, None]
    joint = die[:, None] * np.einsum("g,gck->ck", weight, np.exp(gain))
    assert hierarchy.temper_ == 0.5
    assert_allclose(hierarchy.predict_proba(levels), (joint / joint.sum(axis=0)).T, atol=0.01)


@pytest.mark.slow
def test_the_same_seed_draws_the_same_and_another_does_not(birds: tuple[pd.DataFrame, Array, Array]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mcmc.SamplingWarning)
        one, two, other = (
            mcmc.fit(NaiveBayes(Categorical()), *birds[:2], True, **TINY | {"rng": rng})
            for rng in (7, np.random.default_rng(7), 8)
        )
    for name in ("alpha", "theta_song", "class_prob"):
        drawn = [each.datatree_["posterior"][name].values for each in (one, two, other)]
        assert (drawn[0] == drawn[1]).all()
        assert (drawn[0] != drawn[2]).any()
    assert (one.predict_proba(birds[0]) == two.predict_proba(birds[0])).all()


def test_a_fit_that_fails_leaves_what_was_fitted(
    hierarchy: mcmc.Sampled, birds: tuple[pd.DataFrame, Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dict(hierarchy.__dict__)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        hierarchy.fit(birds[0], birds[1][:5])
    monkeypatch.setattr(pm, "sample", lambda **said: tree(beta=DRAWS))  # what comes back has no alpha
    with pytest.raises(KeyError, match="alpha"):
        hierarchy.fit(birds[0], np.roll(birds[1], 1))
    assert hierarchy.__dict__ == before


def test_a_copy_has_the_same_parameters_and_has_learnt_nothing(
    hierarchy: mcmc.Sampled, birds: tuple[pd.DataFrame, Array, Array]
) -> None:
    copy = clone(hierarchy)
    assert {name: value for name, value in copy.get_params().items() if name != "estimator"}.items() >= HOW.items()
    assert (copy.get_params()["estimator__temper"], copy.hierarchical, copy.draws) == (0.5, True, 1000)
    copy.set_params(estimator__temper=None, draws=7)
    assert (copy.estimator.temper, copy.draws) == (None, 7)
    with pytest.raises(NotFittedError):
        copy.predict(birds[0])


def test_chains_asked_for_otherwise_are_the_chains_that_there_are(flowers: tuple[Array, Array]) -> None:
    said = TINY | {"chains": 3, "sampling": {"cores": 1, "chains": 2, "draws": 10}}
    with pytest.warns(mcmc.SamplingWarning):
        found = mcmc.fit(NaiveBayes(Gaussian()), *flowers, scale_prior="half-normal", **said)
    assert (found.chains_, found.draws_) == (2, 10)
    assert found.datatree_["posterior"]["mu"].shape == (2, 10, 3, 2)


def test_a_base_is_centred_at_what_was_declared_column_by_column() -> None:
    rng, declared = np.random.default_rng(3), Beta([1.0, 30.0], [3.0, 10.0])  # worth 4 rows and 40
    estimator, X, y = NaiveBayes(Bernoulli(declared)), rng.random((20, 2)) < 0.5, np.arange(20) % 2
    model, fitted = mcmc.build(estimator, X, y, "base"), estimator.fit(X, y)
    unit, alpha = (
        variable.owner.op.dist_params(variable.owner)[0].eval() for variable in (model["base_variate"], model["alpha"])
    )
    share = unit.reshape(2, 2) / unit.reshape(2, 2).sum(axis=0)  # sides, columns
    assert_allclose(share, [[0.75, 0.25], [0.25, 0.75]])
    own = LearnedDirichlet(Bernoulli(declared), fitted.model_.prior.blocks[0], fitted.model_.stats.blocks[0], base=True)
    (found,) = own.fields({"alpha": np.exp(alpha) * np.ones(2), "base": 2 * share.ravel()})
    assert_allclose(found, [[3.0, 10.0, 1.0, 30.0]] * 2)


# What becomes of draws, whoever drew them: points of the variables that no sampler has moved -------------------------


def points(draws: int = 3) -> xr.DataTree:
    """In place of a sampler: points of the model around, each variable on its axes, with what follows from them."""
    model = pm.modelcontext(None)
    every = [anywhere(model, seed) for seed in range(2 * draws)]
    found = {}
    for name in every[0]:
        own = np.stack([at[name] for at in every])
        dims = ("chain", "draw", *model.named_vars_to_dims.get(name, ()))
        found[name] = dims, own.reshape(2, draws, *own.shape[1:])
    drawn = xr.Dataset(found, {dim: list(labels) for dim, labels in model.coords.items()})
    if model.deterministics:
        said = {"progressbar": False, "compile_kwargs": {"mode": "FAST_COMPILE"}}
        drawn = pm.compute_deterministics(drawn, model=model, extend_dataset=True, **said)
    return xr.DataTree.from_dict({"posterior": drawn})


def unsampled(monkeypatch: pytest.MonkeyPatch, unlabelled: Any = None, **said: Any) -> mcmc.Sampled:
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", mcmc.SamplingWarning)
        patch.setattr(pm, "sample", lambda **plan: points())
        return mcmc.fit(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, unlabelled=unlabelled, rng=1, **said)


def stories(found: mcmc.Sampled, said: dict[str, Any]) -> list[Story]:
    """The story at every draw, chain after chain."""
    drawn, every = found.datatree_["posterior"].to_dataset().stack(s=("chain", "draw")), []
    for s in range(drawn.sizes["s"]):
        at = {str(name): array.values for name, array in drawn.isel(s=s).data_vars.items()}
        for name in ("mu", "sigma2", "bernoulli_theta"):
            at |= {name: at[name][:, :1], f"{name}_2": at[name][:, 1:]}
        at |= {f"{name}_variate": own for name, own in at.items() if "_base" in name}  # their scale says nothing
        every.append(Story(at, **said))
    return every


THETA: dict[str, dict[str, Any]] = {
    "student and noise": {"student": True, "label_noise": Beta(2.0, 20.0)},
    "student": {"student": 4, "hierarchical": True, "collapse": False},
    "scales": {"scale_prior": "log-normal", "hierarchical": True, "collapse": False},
    "unlabelled": {"unlabelled": MIXED_X[:9]},
}


@pytest.mark.parametrize("said", THETA.values(), ids=THETA)
def test_predictions_are_the_mean_of_the_story_over_draws_of_theta(
    said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where theta was drawn, p(x, y | D) is the mean of p(x, y | theta)."""
    found = unsampled(monkeypatch, **said)
    told = {name: value for name, value in said.items() if name in ("hierarchical", "student")}
    every = [story.log_joint() for story in stories(found, told)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mcmc.DegenerateWarning)
        joint = found.predict_joint_log_proba(MIXED_X)
    assert_allclose(joint, logsumexp(every, axis=0) - np.log(len(every)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("said", OPTIONS.values(), ids=OPTIONS)
def test_every_draw_makes_the_prior_that_the_story_has(said: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = unsampled(monkeypatch, **said)
    for s, story in enumerate(stories(found, said)):
        beliefs = found.ensemble_.posterior(np.array([s]))
        by_name = {block.names: belief for block, belief in zip(MIXED.schema_.blocks, beliefs, strict=True)}
        rows = by_class(np.where(np.isnan(TABLE[["nests"]]), 0.0, 1.0))
        shape, rate = story.rate()
        events = by_class(np.nan_to_num(TABLE[["nests"]].to_numpy()))
        assert_allclose(by_name["nests",].shape, shape + events)
        assert_allclose(by_name["nests",].rate, rate + rows)
        soil = story.concentration("theta_soil") + by_class(one_hot("soil"))
        assert_allclose(by_name["soil",].concentration, soil)
        for name, column in (("bernoulli_theta", "wet"), ("bernoulli_theta_2", "mossy")):
            own = story.concentration(name) + by_class(one_hot(column))
            assert_allclose(np.hstack([by_name[column,].b, by_name[column,].a]), own)
        counts = story.concentration("multinomial_theta") + by_class(one_hot(None))
        assert_allclose(by_name[WORDS].concentration[:, 0], counts)
        for number, column in NORMALS.items():
            _, count, _, _ = story.normal(number)
            there = by_class(~np.isnan(TABLE[[column]].to_numpy()))
            assert_allclose(by_name[column,].count, count + there)
            if story.scale_prior:
                assert_allclose(by_name[column,].variance, story.at[f"sigma{number}"] ** 2)


@pytest.mark.slow
def test_rows_are_scored_and_drawn_again_by_pymc() -> None:
    model, said = mcmc.build(MIXED, MIXED_X, LABEL, likelihood="rows"), {"compile_kwargs": {"mode": "FAST_COMPILE"}}
    with model:
        tree = points(2)
        pm.compute_log_likelihood(tree, progressbar=False, **said)
        again = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False, **said)["posterior_predictive"]
    logs, drawn = tree["log_likelihood"], tree["posterior"]
    assert logs["y"].dims == logs["x_multinomial"].dims == ("chain", "draw", "obs_id")
    counts = TABLE[[*WORDS]].to_numpy()
    for chain, draw in np.ndindex(2, 2):
        at = {str(name): array.values[chain, draw] for name, array in drawn.data_vars.items()}
        total = sum(array.values[chain, draw].sum() for array in logs.data_vars.values())
        assert total == pytest.approx(Story(at).log_likelihood(np.ones(len(LABEL))), rel=1e-10)
        expected = stats.multinomial.logpmf(counts, counts.sum(axis=1), at["multinomial_theta"][CODE])
        assert_allclose(logs["x_multinomial"].values[chain, draw], expected, rtol=1e-9, atol=1e-12)
    assert again["y"].dims == ("chain", "draw", "obs_id")
    assert [*again["obs_id"].values] == [*TABLE.index]
    assert (again["x_multinomial"].sum("multinomial_feature") == counts.sum(axis=1)).all()
    assert again["x_poisson"].shape == (2, 2, TABLE["nests"].notna().sum())


@pytest.mark.slow
def test_folds_are_scored_by_scikit_learn(flowers: tuple[Array, Array]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mcmc.SamplingWarning)
        model = mcmc.Sampled(NaiveBayes(Gaussian()), hierarchical=True, **TINY)
        found = cross_val_score(model, *flowers, cv=3, scoring="neg_log_loss")
    exact = cross_val_score(NaiveBayes(Gaussian()), *flowers, cv=3, scoring="neg_log_loss")
    assert_allclose(found, exact, atol=0.3)


def test_rows_without_labels_that_would_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).poisson(1.0, (20, 6))
    monkeypatch.setattr("bayesnb.inference.posterior_draws.MOST_BYTES", 8 * 10 * 6)
    mcmc.build(NaiveBayes(Multinomial()), x, np.arange(20) % 2, unlabelled=x[:10])
    with pytest.raises(
        ValueError, match=r"11 rows whose class is not certain, by 6 numbers would take .* Give fewer rows"
    ):
        mcmc.build(NaiveBayes(Multinomial()), x, np.arange(20) % 2, unlabelled=x[:11])
