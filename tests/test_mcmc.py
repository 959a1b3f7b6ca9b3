"""Models in PyMC: those of the closed form, where there is one, and what SciPy and sums say, where there is none."""

from collections.abc import Callable
from dataclasses import dataclass
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
    return np.stack([(weight[:, None] * cells)[CODE == c].sum(axis=0) for c in range(len(CLASSES))])


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
        return total + np.stack([stats.multinomial.logpmf(counts, counts.sum(axis=1), p) for p in at["multinomial_theta"]], axis=1)

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
        if name == "class_prob" or "theta" in name and "bernoulli" not in name:
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


@pytest.mark.parametrize("said", [*OPTIONS.values(), *MORE.values()], ids=[*OPTIONS, *MORE])
def test_the_log_density_is_the_story_told_in_scipy(said: dict[str, Any]) -> None:
    model = mcmc.build(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, **said)
    own = log_density(model)
    for seed in range(5):
        at = anywhere(model, seed)
        story = Story(at, **said)
        noise = stats.beta.logpdf(at["label_noise"], 2, 20) if isinstance(said.get("label_noise"), Beta) else 0.0
        assert_allclose(own(at), story.log_hyper() + story.log_theta() + story.log_likelihood() + noise, rtol=1e-10)


@pytest.mark.parametrize("said", OPTIONS.values(), ids=OPTIONS)
def test_theta_is_integrated_out_whatever_it_is(said: dict[str, Any]) -> None:
    """log p(phi, theta, D) - log p(theta | phi, D) is log p(phi, D)."""
    full, own = (mcmc.build(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, collapse=c, **said) for c in (False, True))
    of_both, of_phi, phi = log_density(full), log_density(own), [v.name for v in own.free_RVs]
    assert set(phi) < {v.name for v in full.free_RVs}
    for seed in range(3):
        at = anywhere(full, seed)
        for other in range(3):  # theta moves, phi stays
            point = anywhere(full, 10 * seed + other + 5) | {name: at[name] for name in phi}
            theta = Story(point, **said).log_theta(seen=True)
            assert_allclose(of_both(point) - theta, of_phi({name: at[name] for name in phi}), rtol=1e-10)


def test_rows_without_labels_are_summed_over_the_classes() -> None:
    some, rest = MIXED_X[:40], MIXED_X[40:]
    model = mcmc.build(MIXED, some, LABEL[:40], unlabelled=rest, hierarchical=True, sample_weight=WEIGHT[:40])
    plain = mcmc.build(MIXED, some, LABEL[:40], hierarchical=True, sample_weight=WEIGHT[:40])
    own, without = log_density(model), log_density(plain)
    for seed in range(5):
        at = anywhere(model, seed)
        expected = logsumexp(Story(at, hierarchical=True).log_joint(TABLE[40:]), axis=1).sum()
        assert_allclose(own(at) - without(at), expected, rtol=1e-9)
