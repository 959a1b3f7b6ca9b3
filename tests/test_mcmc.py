"""Models in PyMC: those of the closed form, where there is one, and what SciPy and sums say, where there is none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import gammaln, logsumexp

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    mcmc,
)
from bayesnb.mcmc.names import names_of

pm = pytest.importorskip("pymc")

from pymc.model.transform.conditioning import remove_value_transforms  # noqa: E402

Array = np.ndarray
Point = dict[str, Array]
CLASSES = ["ash", "elm", "oak"]
MANY = 60  # levels, more than are moved on the simplex itself


def log_density(model: Any) -> Callable[[Point], float]:
    """The log density of a model's variables as they are named."""
    return remove_value_transforms(model).compile_logp(jacobian=False, mode="FAST_COMPILE")


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
    "mixed": (EVERY, [*EVERY][:-1] + [*WORDS], {}),
    "given": (EVERY, [*EVERY][:-1] + [*WORDS], {"class_prior": dict(zip(CLASSES, (0.5, 0.3, 0.2), strict=True))}),
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
    blocks, model = list(fitted.schema_.blocks), fitted.model_
    says, _ = names_of(fitted.classes_, blocks, list(model.posterior.blocks))
    die = model.prior.classes.update(0.3 * model.stats.classes).sample(rng, size)
    point, total = {"class_prob": die.probability}, np.zeros(size)
    if hasattr(model.posterior.classes, "log_density") and hasattr(model.posterior.classes, "concentration"):
        (log,) = model.posterior.classes.log_density(die).values()
        total += log
    for say, prior, seen, posterior in zip(says, model.prior.blocks, model.stats.blocks, model.posterior.blocks, strict=True):
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


@pytest.mark.parametrize("likelihood", ["statistics", "rows"])
@pytest.mark.parametrize("name", [*MODELS, "mixed, weights", "many words, weights"])
def test_the_log_density_is_that_of_the_posterior_and_the_evidence(name: str, likelihood: str) -> None:
    name, _, weighted = name.partition(", ")
    estimator, X, y = case_of(name)
    weight = WEIGHT if weighted else None
    model = mcmc.build(estimator, X, y, likelihood=likelihood, sample_weight=weight)
    estimator.fit(X, y, weight)
    rng, size = np.random.default_rng(4), 200 if likelihood == "statistics" else 40
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
    shapes = {v.name: v.eval().shape for v in (*model.free_RVs, *model.deterministics)}
    for name, shape in shapes.items():
        assert shape == tuple(len(model.coords[dim]) for dim in model.named_vars_to_dims.get(name, ())), name
    assert "soil_level" in pm.model_to_mermaid(model) or "theta_soil" in pm.model_to_mermaid(model)


# What has no closed form: the whole story told again in SciPy -------------------------------------------------------

MIXED, MIXED_X, _ = case_of("mixed")
HYPER = 1.5  # sd of the logs of what is learned


@dataclass(frozen=True)
class Told:
    """A model of all columns as SciPy has it: parameters by the names that PyMC has, rows, and options."""

    at: Point
    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False

    def prior_of_hyper(self) -> float:
        """log p(phi), of everything but theta."""
        at, total = self.at, 0.0
        if self.hierarchical:
            for name, alpha in (("bernoulli_alpha", 1.0), ("bernoulli_alpha_2", 2.25), ("categorical_alpha", 1.0), ("multinomial_alpha", 1.0)):
                total += _log_normal(at[name], alpha)
            total += _log_normal(at["rate_shape"], 1.0) + _log_normal(at["rate_mean"], np.nanmean(TABLE["nests"]))
        if self.hierarchical == "base":
            for name, unit in (("bernoulli_base", [1, 1]), ("bernoulli_base_2", [4.0 / 2.25, 0.5 / 2.25]), ("categorical_base", [1, 1, 1]), ("multinomial_base", [1, 1, 1])):
                total += stats.gamma.logpdf(at[f"{name}_variate"], unit).sum()
        for number, (mean, count, shape, scale) in self.declared.items():
            total += self._of_normals(number, mean, count, shape, scale)
        if self.student is True:
            total += sum(stats.gamma.logpdf(at[f"nu{number}"], 2.0, scale=10.0).sum() for number in ("", "_2"))
        return float(total)
