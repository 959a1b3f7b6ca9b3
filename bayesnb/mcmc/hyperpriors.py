"""The prior of a block in a PyMC model: as declared, or with hyperparameters to be learned.

A prior that is learned is centred at the declared one; what is positive is log-normal, with a standard deviation of 1.5
about its logarithm, a factor of 4.5 either way.

    levels, flags, words   theta_c ~ Dirichlet(alpha * proportions)      one alpha for each column, or block of words
    rates                  rate_c ~ Gamma(shape, shape / mean)           of each column
    Gaussians              variance_c ~ InverseGamma(shape, shape * typical)
                           mean_c | variance_c ~ Normal(mean, spread**2 * variance_c)
                           or sqrt(variance_c) ~ HalfNormal(width), or ~ LogNormal(mean, spread)
                           with shared=True one variance for all classes

Given the hyperparameters the classes are conjugate as ever, so theta is integrated out: the classes of a column share
them, and so borrow strength from each other. Gelman et al. (2013), Bayesian Data Analysis, chapter 5.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.families import Gamma, NormalInverseGamma
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Seen
from bayesnb.families.sharing import SharedNormalInverseGamma
from bayesnb.mcmc.ensemble import ConstantPrior, PriorOfDraws
from bayesnb.mcmc.gaussians import NormalMean
from bayesnb.mcmc.likelihood import tensors
from bayesnb.mcmc.variable_names import BlockNames

WIDE = 1.5  # standard deviation of the log of what is learned
Draws = Mapping[str, Array]  # name -> `(s, ...)`


@dataclass(frozen=True, eq=False)
class BlockPrior(ABC):
    """The prior of one block: the declared one, and the stats that it meets."""

    family: Any
    declared: Belief
    stats: Any

    @abstractmethod
    def theta(self, pm: Any, names: BlockNames) -> Any:
        """Add all variables of the block, theta too, to the PyMC model around, and return the density of theta."""

    @abstractmethod
    def evidence(self, pm: Any, names: BlockNames) -> Any:
        """Add the hyperparameters alone, and return the log evidence given them."""

    @abstractmethod
    def at_draws(self, draws: Draws, names: BlockNames) -> PriorOfDraws:
        """Return the priors that draws of the hyperparameters make."""


class DeclaredPrior(BlockPrior):
    """The declared prior, with nothing to be learned."""

    def theta(self, pm: Any, names: BlockNames) -> Any:
        return self.declared.variables(pm, names)

    def evidence(self, pm: Any, names: BlockNames) -> Any:
        return self.declared.log_evidence(self.stats)

    def at_draws(self, draws: Draws, names: BlockNames) -> PriorOfDraws:
        return ConstantPrior(self.declared)


class LearnedPrior(BlockPrior):
    """A prior with hyperparameters; a subclass has them, and the belief that they make."""

    @property
    @abstractmethod
    def learned(self) -> tuple[str, ...]:
        """The names of the hyperparameters that `fields` needs."""

    @abstractmethod
    def hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        """Add the hyperparameters as variables, `(f,)` each, or one for the whole block."""

    @abstractmethod
    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arrays of the belief given hyperparameters, `(f,) -> (c, f)` or `(f,)`; of draws `(s, 1, f) -> (s, c, f)`."""

    @abstractmethod
    def belief(self, *fields: Any) -> Belief:
        """Return the belief with these arrays."""

    def theta(self, pm: Any, names: BlockNames) -> Any:
        return self.belief(*self.fields(self.hyperparameters(pm, names))).variables(pm, names)

    def evidence(self, pm: Any, names: BlockNames) -> Any:
        return self.belief(*self.fields(self.hyperparameters(pm, names))).log_evidence(self.stats, tensors())

    def at_draws(self, draws: Draws, names: BlockNames) -> PriorOfDraws:
        arrays = {name: draws[names.hyper(name)["name"]] for name in self.learned}
        arrays = {name: a if a.ndim == 3 else a.reshape(len(a), 1, -1) for name, a in arrays.items()}

        def prior(places: Array) -> Belief:
            fields = self.fields({name: array[places] for name, array in arrays.items()})
            shape = len(places), len(self.stats), np.broadcast_shapes(*map(np.shape, fields))[-1]
            return self.belief(*(np.broadcast_to(field, shape).reshape(-1, shape[-1]) for field in fields))

        return prior


@dataclass(frozen=True, eq=False)
class LearnedDirichlet(LearnedPrior):
    """theta_c ~ Dirichlet(alpha * proportions); the proportions as declared or, with a `base`, learned too."""

    base: bool = False

    @cached_property
    def seen(self) -> Seen:
        return self.family.seen(self.stats)

    @cached_property
    def smoothing(self) -> float:
        """The alpha that was declared."""
        unit = self.family.of_levels(self.seen.unit, self.stats)
        pairs = zip(self.declared.parts().values(), unit.parts().values(), strict=True)
        concentration, one = next((declared.flat[0], one.flat[0]) for declared, one in pairs)
        return float(concentration / one)

    @property
    def learned(self) -> tuple[str, ...]:
        return ("alpha", "base") if self.base else ("alpha",)

    def hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        args = names.block_hyper("alpha") if self.family.multivariate else names.hyper("alpha")
        variables = {"alpha": pm.LogNormal(**args, mu=np.log(self.smoothing), sigma=WIDE)}
        if self.base:  # proportions whose mean over a column's levels is 1, of all classes: a Dirichlet
            args, unit = names.hyper("base", names.levels), self.seen.unit.mean(axis=0) / self.strength
            variates = pm.Gamma(f"{args['name']}_variate", alpha=unit, beta=1.0, dims=args["dims"])
            variables["base"] = pm.Deterministic(**args, var=variates / self._column_means(variates))
        return variables

    def _column_means(self, values: Any) -> Any:
        """Mean over the levels of each level's column, `(k,) -> (k,)`."""
        column = self.seen.column
        member = np.eye(column.max() + 1)[column]
        return (values @ (member / member.sum(axis=0)))[column]

    @cached_property
    def strength(self) -> Array:
        """Return how often alpha a level is worth on average, `(k,)`: 1, unless columns were declared to differ."""
        return self._column_means(self.seen.unit.mean(axis=0))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        alpha = values["alpha"] if self.family.multivariate else values["alpha"][..., self.seen.column]
        classes = np.ones((len(self.stats), 1))
        return (alpha * (classes * self.strength * values["base"] if self.base else self.seen.unit),)

    def belief(self, *fields: Any) -> Belief:
        (concentration,) = fields
        return self.family.of_levels(concentration, self.stats)


class LearnedRates(LearnedPrior):
    """rate_c ~ Gamma(shape, shape / mean)."""

    learned = ("rate_shape", "rate_mean")

    def hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        shape, rate = typical(self.declared.shape), typical(self.declared.rate)  # type: ignore[attr-defined]
        return {
            "rate_shape": pm.LogNormal(**names.hyper("rate_shape"), mu=np.log(shape), sigma=WIDE),
            "rate_mean": pm.LogNormal(**names.hyper("rate_mean"), mu=np.log(shape / rate), sigma=WIDE),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return values["rate_shape"], values["rate_shape"] / values["rate_mean"]

    def belief(self, *fields: Any) -> Belief:
        return Gamma.raw(*fields)


class LearnedGaussians(LearnedPrior):
    """variance_c ~ InverseGamma(shape, shape * typical), mean_c ~ Normal(mean, spread**2 * variance_c)."""

    learned = ("mu_mean", "mu_spread", "sigma2_shape", "sigma2_typical")

    def hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        centre = typical_normal(self.declared)
        variance = centre.scale / centre.shape
        return mean_hyperparameters(pm, names, centre) | {
            "sigma2_shape": pm.LogNormal(**names.hyper("sigma2_shape"), mu=np.log(centre.shape), sigma=WIDE),
            "sigma2_typical": pm.LogNormal(**names.hyper("sigma2_typical"), mu=np.log(variance), sigma=WIDE),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        shape = values["sigma2_shape"]
        return values["mu_mean"], values["mu_spread"] ** -2, shape, shape * values["sigma2_typical"]

    def belief(self, *fields: Any) -> Belief:
        if not self.family.shared:
            return NormalInverseGamma.raw(*fields)
        classes = np.ones((len(self.stats), 1))
        by_class = [classes * field if field.ndim == 1 else field for field in fields]
        return SharedNormalInverseGamma.raw(*by_class, 1 if fields[0].ndim == 1 else len(by_class[0]) // len(classes))


@dataclass(frozen=True, eq=False)
class DeviationPrior(LearnedPrior):
    """Standard deviations with a half-normal or a log-normal prior, as wide as the declared one says; means as ever.

    With `hierarchy` the hyperparameters of both are learned.
    """

    kind: str = "half-normal"
    hierarchy: bool = False

    @property
    def learned(self) -> tuple[str, ...]:
        return ("sigma", "mu_mean", "mu_spread") if self.hierarchy else ("sigma",)

    def hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        centre = typical_normal(self.declared)
        sigma = self._sigma(pm, names, np.sqrt(centre.scale / centre.shape))
        return {"sigma": sigma} | (mean_hyperparameters(pm, names, centre) if self.hierarchy else {})

    def _sigma(self, pm: Any, names: BlockNames, width: Array) -> Any:
        dims = names("sigma2")["dims"]
        args = names.hyper("sigma", *(dims[1:] if self.family.shared else dims))
        if self.kind == "half-normal":
            if self.hierarchy:
                width = pm.LogNormal(**names.hyper("sigma_width"), mu=np.log(width), sigma=WIDE)
            return pm.HalfNormal(**args, sigma=width)
        if not self.hierarchy:
            return pm.LogNormal(**args, mu=np.log(width), sigma=1.0)
        centre = pm.Normal(**names.hyper("log_sigma_mean"), mu=np.log(width), sigma=WIDE)
        spread = pm.HalfNormal(**names.hyper("log_sigma_spread"), sigma=1.0)
        variate = pm.Normal(f"{args['name']}_variate", 0.0, 1.0, dims=args["dims"])  # a spread near 0 is no dead end
        return pm.Deterministic(**args, var=pm.math.exp(centre + spread * variate))

    def theta(self, pm: Any, names: BlockNames) -> Any:
        density = super().theta(pm, names)
        variance = density.variance * np.ones((len(self.stats), 1))  # which may be one for all classes
        return replace(density, variance=pm.Deterministic(**names("sigma2"), var=variance))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        if self.hierarchy:
            return values["mu_mean"], values["mu_spread"] ** -2, values["sigma"] ** 2
        return self.declared.location, self.declared.count, values["sigma"] ** 2  # type: ignore[attr-defined]

    def belief(self, *fields: Any) -> Belief:
        return NormalMean.raw(*fields)


def mean_hyperparameters(pm: Any, names: BlockNames, centre: NormalInverseGamma) -> dict[str, Any]:
    """Add where the classes' means lie, and how far apart they are in units of the spread within classes."""
    sd = np.sqrt(centre.scale / centre.shape / centre.count)
    return {
        "mu_mean": pm.Normal(**names.hyper("mu_mean"), mu=centre.location, sigma=sd),
        "mu_spread": pm.HalfNormal(**names.hyper("mu_spread"), sigma=centre.count**-0.5),
    }


def typical(values: Array) -> Array:
    """Geometric mean over classes, `(c, f) -> (f,)`."""
    return np.exp(np.log(values).mean(axis=0))


def typical_normal(declared: Any) -> NormalInverseGamma:
    """Return one belief in place of those of all classes, `(c, f) -> (f,)`."""
    fields = typical(declared.count), typical(declared.shape), typical(declared.scale)
    return NormalInverseGamma(declared.location.mean(axis=0), *fields)
