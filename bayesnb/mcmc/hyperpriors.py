"""The prior of a block in a PyMC model: as declared, or with hyperparameters to be learned.

A prior that is learned is centred at the declared one; what is positive is log-normal, with a
standard deviation of 1.5 about its logarithm, a factor of 4.5 either way.

    levels, flags, words   theta_c ~ Dirichlet(alpha * proportions)
                           one alpha for each column, or block of words
    rates                  rate_c ~ Gamma(shape, shape / mean)           of each column
    Gaussians              variance_c ~ InverseGamma(shape, shape * typical)
                           mean_c | variance_c ~ Normal(mean, spread**2 * variance_c)
                           or sqrt(variance_c) ~ HalfNormal(width), or ~ LogNormal(mean, spread)
                           with shared=True one variance for all classes

Given the hyperparameters the classes are conjugate as ever, so theta is integrated out: the classes
of a column share them, and so borrow strength from each other. Gelman et al. (2013), Bayesian Data
Analysis, chapter 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesnb.families import Gamma, NormalInverseGamma
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Seen
from bayesnb.families.gaussian import NORMAL, GaussianDensity
from bayesnb.families.poisson import RATE
from bayesnb.mcmc.ensemble import PriorOfDraws
from bayesnb.mcmc.likelihood import BlockNames, tensors
from bayesnb.numerics import special

LOG_SD = 1.5  # standard deviation of the log of what is learned
Draws = Mapping[str, Array]  # name -> `(s, ...)`


@dataclass(frozen=True, eq=False)
class BlockPrior:
    """The prior of one block as declared, and the stats that it meets.

    A subclass has hyperparameters, and the belief that they make.
    """

    conjugate: ClassVar[bool] = True  # theta can be integrated out, given the hyperparameters
    learned: ClassVar[tuple[str, ...]] = ()  # the hyperparameters that `fields` needs
    family: Any
    declared: Belief
    stats: Any

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        """Add the hyperparameters as variables, `(f,)` each, or one for the whole block."""
        return {}

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arrays of the belief given hyperparameters, `(f,) -> (c, f)` or `(f,)`.

        Those of draws are `(s, 1, f) -> (s, c, f)`.
        """
        return ()

    def belief(self, *fields: Any) -> Belief:
        """Return the belief with these arrays."""
        return self.declared

    def add_theta(self, pm: Any, names: BlockNames) -> Any:
        """Add all variables of the block, theta too, and return the density of theta."""
        belief = self.belief(*self.fields(self.add_hyperparameters(pm, names)))
        return belief.variables(pm, names)

    def add_evidence(self, pm: Any, names: BlockNames) -> Any:
        """Add the hyperparameters alone, and return the log evidence given them."""
        values = self.add_hyperparameters(pm, names)
        belief = self.belief(*self.fields(values))
        return belief.log_evidence(self.stats, tensors() if values else special)

    def at_draws(self, draws: Draws, names: BlockNames) -> PriorOfDraws:
        """Return the priors that draws of the hyperparameters make."""
        values = {}
        for name in self.learned:
            array = draws[names.hyper(name)["name"]]
            values[name] = array if array.ndim == 3 else array.reshape(len(array), 1, -1)

        def make_prior(places: Array) -> Belief:
            if not values:
                return self.declared.repeated(len(places))
            fields = self.fields({name: array[places] for name, array in values.items()})
            features = np.broadcast_shapes(*map(np.shape, fields))[-1]
            shape = len(places), len(self.stats), features
            flat = [np.broadcast_to(field, shape).reshape(-1, features) for field in fields]
            return self.belief(*flat)

        return make_prior


@dataclass(frozen=True, eq=False)
class LearnedDirichlet(BlockPrior):
    """theta_c ~ Dirichlet(alpha * proportions).

    The proportions are as declared, or those of a learned `base`.
    """

    learned: ClassVar[tuple[str, ...]] = ("alpha",)

    @cached_property
    def seen(self) -> Seen:
        return self.family.seen(self.stats)

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        args = names.hyper("alpha")
        if self.family.multivariate:
            args["dims"] = None
        unit = self.family.of_levels(self.seen.unit, self.stats)
        one, declared = (next(iter(each.parts().values())) for each in (unit, self.declared))
        smoothing = declared.flat[0] / one.flat[0]
        return {"alpha": pm.LogNormal(**args, mu=np.log(smoothing), sigma=LOG_SD)}

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return (self._spread_alpha(values["alpha"]) * self.seen.unit,)

    def _spread_alpha(self, alpha: Any) -> Any:
        """Alpha of every level's column."""
        return alpha if self.family.multivariate else alpha[..., self.seen.column]

    def belief(self, *fields: Any) -> Belief:
        return self.family.of_levels(*fields, self.stats)


class LearnedBase(LearnedDirichlet):
    """theta_c ~ Dirichlet(alpha * base), base a Dirichlet times the number of levels."""

    learned = ("alpha", "base")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        args = names.hyper("base", names.levels)
        unit = self.seen.unit.mean(axis=0) / self.strength
        variables = super().add_hyperparameters(pm, names)
        variates = pm.Gamma(f"{args['name']}_variate", alpha=unit, beta=1.0, dims=args["dims"])
        base = pm.Deterministic(**args, var=variates / self._column_means(variates))
        return {**variables, "base": base}

    def _column_means(self, values: Any) -> Any:
        """Mean over the levels of each level's column, `(k,) -> (k,)`."""
        column = self.seen.column
        member = np.eye(column.max() + 1)[column]
        return (values @ (member / member.sum(axis=0)))[column]

    @cached_property
    def strength(self) -> Array:
        """How often alpha a level is worth on average, `(k,)`.

        It is 1, unless columns were declared to differ.
        """
        return self._column_means(self.seen.unit.mean(axis=0))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        classes = np.ones((len(self.stats), 1))
        return (self._spread_alpha(values["alpha"]) * (classes * self.strength * values["base"]),)


class LearnedRates(BlockPrior):
    """rate_c ~ Gamma(shape, shape / mean)."""

    learned = ("rate_shape", "rate_mean")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        declared: Any = self.declared
        shape = geometric_mean(declared.shape)
        rate = geometric_mean(declared.rate)
        return {
            "rate_shape": add_positive(pm, names, "rate_shape", shape),
            "rate_mean": add_positive(pm, names, "rate_mean", shape / rate),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return values["rate_shape"], values["rate_shape"] / values["rate_mean"]

    def belief(self, *fields: Any) -> Belief:
        return Gamma.raw(*fields)


class LearnedGaussians(BlockPrior):
    """The priors of Gaussians.

    variance_c ~ InverseGamma(shape, shape * typical), mean_c ~ Normal(mean, spread**2 * variance_c)
    """

    learned = ("mu_mean", "mu_spread", "sigma2_shape", "sigma2_typical")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        centre = average_classes(self.declared)
        typical = centre.scale / centre.shape
        return {
            **add_mean_hyperparameters(pm, names, centre),
            "sigma2_shape": add_positive(pm, names, "sigma2_shape", centre.shape),
            "sigma2_typical": add_positive(pm, names, "sigma2_typical", typical),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        shape = values["sigma2_shape"]
        scale = shape * values["sigma2_typical"]
        return values["mu_mean"], values["mu_spread"] ** -2, shape, scale

    def belief(self, *fields: Any) -> Belief:
        if not self.family.shared:
            return NormalInverseGamma.raw(*fields, 0)
        classes = np.ones((len(self.stats), 1))
        if fields[0].ndim == 1:
            return NormalInverseGamma.raw(*[classes * field for field in fields], 1)
        return NormalInverseGamma.raw(*fields, len(fields[0]) // len(classes))


@dataclass(frozen=True, eq=False)
class DeviationPrior(BlockPrior):
    """Standard deviations with a half-normal or log-normal prior as wide as the declared one says.

    Means are as ever. Together they are not conjugate, so both are sampled.
    """

    conjugate: ClassVar[bool] = False
    learned: ClassVar[tuple[str, ...]] = ("sigma",)
    kind: str

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        centre = average_classes(self.declared)
        dims = names("sigma2")["dims"]
        args = names.hyper("sigma", *(dims[1:] if self.family.shared else dims))
        return {"sigma": self._add_sigma(pm, names, args, np.sqrt(centre.scale / centre.shape))}

    def _add_sigma(self, pm: Any, names: BlockNames, args: dict[str, Any], width: Array) -> Any:
        if self.kind == "half-normal":
            return pm.HalfNormal(**args, sigma=width)
        return pm.LogNormal(**args, mu=np.log(width), sigma=1.0)

    def add_theta(self, pm: Any, names: BlockNames) -> Any:
        location, count, variance = self.fields(self.add_hyperparameters(pm, names))
        mean = pm.Normal(**names("mu"), mu=location, sigma=(variance / count) ** 0.5)
        of_classes = variance * np.ones((len(self.stats), 1))  # it may be one for all classes
        return GaussianDensity(mean, pm.Deterministic(**names("sigma2"), var=of_classes))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        declared: Any = self.declared
        return declared.location, declared.count, values["sigma"] ** 2


class LearnedDeviations(DeviationPrior):
    """Standard deviations whose prior has hyperparameters, and so has that of the means."""

    learned = ("sigma", "mu_mean", "mu_spread")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        sigma = super().add_hyperparameters(pm, names)
        return sigma | add_mean_hyperparameters(pm, names, average_classes(self.declared))

    def _add_sigma(self, pm: Any, names: BlockNames, args: dict[str, Any], width: Array) -> Any:
        if self.kind == "half-normal":
            return pm.HalfNormal(**args, sigma=add_positive(pm, names, "sigma_width", width))
        centre = pm.Normal(**names.hyper("log_sigma_mean"), mu=np.log(width), sigma=LOG_SD)
        spread = pm.HalfNormal(**names.hyper("log_sigma_spread"), sigma=1.0)
        # a spread near 0 is no dead end
        variate = pm.Normal(f"{args['name']}_variate", 0.0, 1.0, dims=args["dims"])
        return pm.Deterministic(**args, var=pm.math.exp(centre + spread * variate))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return values["mu_mean"], values["mu_spread"] ** -2, values["sigma"] ** 2


LEARNED = {RATE: LearnedRates, NORMAL: LearnedGaussians}  # by the hyperparameters of a family


def choose_prior(
    family: Any, declared: Belief, stats: Any, hierarchical: Any, scale_prior: str | None
) -> BlockPrior:
    """Return the prior of a block under the options of a model."""
    if family.has_width and scale_prior:
        deviations = LearnedDeviations if hierarchical else DeviationPrior
        return deviations(family, declared, stats, scale_prior)
    kind: type[BlockPrior] | None = BlockPrior
    if hierarchical and family.counts_levels:
        kind = LearnedBase if hierarchical == "base" else LearnedDirichlet
    elif hierarchical:
        kind = LEARNED.get(family.hyperparameters)
    if kind is None:
        raise ValueError(
            f"hierarchical={hierarchical!r}: there is no hierarchy over priors of "
            f"{type(family).__name__}. Leave it out."
        )
    return kind(family, declared, stats)


def add_positive(pm: Any, names: BlockNames, symbol: str, centre: Array) -> Any:
    """Add a positive hyperparameter of every feature, given the median of its prior."""
    return pm.LogNormal(**names.hyper(symbol), mu=np.log(centre), sigma=LOG_SD)


def add_mean_hyperparameters(
    pm: Any, names: BlockNames, centre: NormalInverseGamma
) -> dict[str, Any]:
    """Add where the classes' means lie, and how far apart in units of the spread within classes."""
    sd = np.sqrt(centre.scale / centre.shape / centre.count)
    return {
        "mu_mean": pm.Normal(**names.hyper("mu_mean"), mu=centre.location, sigma=sd),
        "mu_spread": pm.HalfNormal(**names.hyper("mu_spread"), sigma=centre.count**-0.5),
    }


def geometric_mean(values: Array) -> Array:
    """Geometric mean over classes, `(c, f) -> (f,)`."""
    return np.exp(np.log(values).mean(axis=0))


def average_classes(declared: Any) -> NormalInverseGamma:
    """Return one belief in place of those of all classes, `(c, f) -> (f,)`."""
    positive = declared.count, declared.shape, declared.scale
    count, shape, scale = map(geometric_mean, positive)
    return NormalInverseGamma(declared.location.mean(axis=0), count, shape, scale)
