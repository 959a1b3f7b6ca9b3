"""The prior of a block in a PyMC model: as declared, or hierarchical.

Hyperpriors are centred at the declared prior; positive hyperparameters are log-normal, with a
standard deviation of 1.5 on the log scale, a factor of 4.5 in either direction.

    levels, flags, words   theta_c ~ Dirichlet(alpha * proportions)
                           one alpha for each column, or block of words
    rates                  rate_c ~ Gamma(shape, shape / mean)           of each column
    Gaussians              variance_c ~ InverseGamma(shape, shape * typical)
                           mean_c | variance_c ~ Normal(mean, spread**2 * variance_c)
                           or sqrt(variance_c) ~ HalfNormal(width), or ~ LogNormal(mean, spread)
                           with shared=True one variance for all classes

Given the hyperparameters the model is conjugate, so theta is integrated out. The classes of a
column share the hyperparameters, and so borrow strength from each other. Gelman et al. (2013),
Bayesian Data Analysis, chapter 5.
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

LOG_SD = 1.5  # standard deviation of the log of positive hyperparameters
Draws = Mapping[str, Array]  # name -> `(s, ...)`


@dataclass(frozen=True, eq=False)
class BlockPrior:
    """The declared prior of one block, and its stats.

    Subclasses add hyperparameters, and make a belief from them.
    """

    conjugate: ClassVar[bool] = True  # theta can be integrated out, given the hyperparameters
    learned: ClassVar[tuple[str, ...]] = ()  # the hyperparameters that `belief` needs
    family: Any
    declared: Belief
    stats: Any

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        """Add the hyperparameters as variables, `(f,)` each, or one for the whole block."""
        return {}

    def belief(self, values: Mapping[str, Any], draws: int = 1) -> Belief:
        """Return the belief given hyperparameters; for several draws, `(s * c, f)`."""
        return self.declared.repeated(draws)

    def add_theta(self, pm: Any, names: BlockNames) -> Any:
        """Add all variables of the block including theta, and return its density."""
        return self.belief(self.add_hyperparameters(pm, names)).variables(pm, names)

    def add_evidence(self, pm: Any, names: BlockNames) -> Any:
        """Add only the hyperparameters, and return the log evidence given them."""
        values = self.add_hyperparameters(pm, names)
        return self.belief(values).log_evidence(self.stats, tensors() if values else special)

    def at_draws(self, draws: Draws, names: BlockNames) -> PriorOfDraws:
        """Return the priors given draws of the hyperparameters."""
        arrays = {name: draws[names.hyper(name)["name"]] for name in self.learned}

        def make_prior(places: Array) -> Belief:
            rows = np.repeat(places, len(self.stats))
            values = {name: array[rows].reshape(len(rows), -1) for name, array in arrays.items()}
            return self.belief(values, len(places))

        return make_prior


@dataclass(frozen=True, eq=False)
class LearnedDirichlet(BlockPrior):
    """theta_c ~ Dirichlet(alpha * proportions), with declared proportions."""

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
        return {"alpha": add_positive(pm, args, declared.flat[0] / one.flat[0])}

    def belief(self, values: Mapping[str, Any], draws: int = 1) -> Belief:
        alpha = values["alpha"]
        if not self.family.multivariate:
            alpha = alpha[..., self.seen.column]
        unit = np.tile(self.seen.unit, (draws, 1))
        return self.family.of_levels(alpha * self._proportions(unit, values), self.stats)

    def _proportions(self, unit: Array, values: Mapping[str, Any]) -> Any:
        """Proportions of the levels, relative to uniform, given the declared ones."""
        return unit


class LearnedBase(LearnedDirichlet):
    """theta_c ~ Dirichlet(alpha * base), with base a Dirichlet times the number of levels.

    Columns keep their declared differences in average concentration.
    """

    learned = ("alpha", "base")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        args = names.hyper("base", names.levels)
        variables = super().add_hyperparameters(pm, names)
        unit = self.seen.unit.mean(axis=0) / self.strength
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
        """Average concentration of the column's levels, relative to alpha, `(k,)`."""
        return self._column_means(self.seen.unit.mean(axis=0))

    def _proportions(self, unit: Array, values: Mapping[str, Any]) -> Any:
        return np.ones_like(unit) * self.strength * values["base"]


class LearnedRates(BlockPrior):
    """rate_c ~ Gamma(shape, shape / mean)."""

    learned = ("rate_shape", "rate_mean")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        declared: Any = self.declared
        shape = geometric_mean(declared.shape)
        centres = shape, shape / geometric_mean(declared.rate)
        pairs = zip(self.learned, centres, strict=True)
        return {name: add_positive(pm, names.hyper(name), centre) for name, centre in pairs}

    def belief(self, values: Mapping[str, Any], draws: int = 1) -> Belief:
        return Gamma.raw(values["rate_shape"], values["rate_shape"] / values["rate_mean"])


class LearnedGaussians(BlockPrior):
    """The priors of Gaussians.

    variance_c ~ InverseGamma(shape, shape * typical), mean_c ~ Normal(mean, spread**2 * variance_c)
    """

    learned = ("mu_mean", "mu_spread", "sigma2_shape", "sigma2_typical")

    def add_hyperparameters(self, pm: Any, names: BlockNames) -> dict[str, Any]:
        centre = average_classes(self.declared)
        location, spread = add_mean_hyperparameters(pm, names, centre)
        shape = add_positive(pm, names.hyper("sigma2_shape"), centre.shape)
        typical = add_positive(pm, names.hyper("sigma2_typical"), centre.scale / centre.shape)
        return dict(zip(self.learned, (location, spread, shape, typical), strict=True))

    def belief(self, values: Mapping[str, Any], draws: int = 1) -> Belief:
        location, spread, shape, typical = (values[name] for name in self.learned)
        classes = np.ones((draws * len(self.stats), 1))
        fields = [classes * field for field in (location, spread**-2, shape, shape * typical)]
        return NormalInverseGamma.raw(*fields, draws * self.family.shared)


@dataclass(frozen=True, eq=False)
class DeviationPrior(BlockPrior):
    """Standard deviations with a half-normal or log-normal prior, on the scale of the declared one.

    This is not conjugate with the normal means, so both are sampled. Either prior may be
    hierarchical.
    """

    conjugate: ClassVar[bool] = False
    kind: str
    hierarchical: bool

    def add_theta(self, pm: Any, names: BlockNames) -> Any:
        declared: Any = self.declared
        centre = average_classes(declared)
        dims = names("sigma2")["dims"]
        args = names.hyper("sigma", *(dims[1:] if self.family.shared else dims))
        sigma = self._add_sigma(pm, names, args, np.sqrt(centre.scale / centre.shape))
        location, spread = declared.location, declared.count**-0.5
        if self.hierarchical:
            location, spread = add_mean_hyperparameters(pm, names, centre)
        mean = pm.Normal(**names("mu"), mu=location, sigma=spread * sigma)
        of_classes = sigma**2 * np.ones((len(self.stats), 1))  # sigma may be shared
        return GaussianDensity(mean, pm.Deterministic(**names("sigma2"), var=of_classes))

    def _add_sigma(self, pm: Any, names: BlockNames, args: dict[str, Any], width: Array) -> Any:
        if self.kind == "half-normal":
            if self.hierarchical:
                width = add_positive(pm, names.hyper("sigma_width"), width)
            return pm.HalfNormal(**args, sigma=width)
        if not self.hierarchical:
            return pm.LogNormal(**args, mu=np.log(width), sigma=1.0)
        centre = pm.Normal(**names.hyper("log_sigma_mean"), mu=np.log(width), sigma=LOG_SD)
        spread = pm.HalfNormal(**names.hyper("log_sigma_spread"), sigma=1.0)
        # non-centred, so that the sampler does not get stuck at a spread near 0
        variate = pm.Normal(f"{args['name']}_variate", 0.0, 1.0, dims=args["dims"])
        return pm.Deterministic(**args, var=pm.math.exp(centre + spread * variate))


LEARNED = {RATE: LearnedRates, NORMAL: LearnedGaussians}  # by the hyperparameters of a family


def choose_prior(
    family: Any, declared: Belief, stats: Any, hierarchical: Any, scale_prior: str | None
) -> BlockPrior:
    """Return the prior of a block under the options of a model."""
    if family.has_width and scale_prior:
        return DeviationPrior(family, declared, stats, scale_prior, bool(hierarchical))
    kind: type[BlockPrior] | None = BlockPrior
    if hierarchical and family.counts_levels:
        kind = LearnedBase if hierarchical == "base" else LearnedDirichlet
    elif hierarchical:
        kind = LEARNED.get(family.hyperparameters)
    if kind is None:
        raise ValueError(
            f"hierarchical={hierarchical!r} does not support {type(family).__name__} columns. "
            "Leave it out."
        )
    return kind(family, declared, stats)


def add_positive(pm: Any, args: dict[str, Any], median: Any) -> Any:
    """Add a positive hyperparameter, given the median of its prior."""
    return pm.LogNormal(**args, mu=np.log(median), sigma=LOG_SD)


def add_mean_hyperparameters(
    pm: Any, names: BlockNames, centre: NormalInverseGamma
) -> tuple[Any, Any]:
    """Add the location of the class means, and their spread relative to that within classes."""
    sd = np.sqrt(centre.scale / centre.shape / centre.count)
    location = pm.Normal(**names.hyper("mu_mean"), mu=centre.location, sigma=sd)
    return location, pm.HalfNormal(**names.hyper("mu_spread"), sigma=centre.count**-0.5)


def geometric_mean(values: Array) -> Array:
    """Geometric mean over classes, `(c, f) -> (f,)`."""
    return np.exp(np.log(values).mean(axis=0))


def average_classes(declared: Any) -> NormalInverseGamma:
    """Average the belief over classes, `(c, f) -> (f,)`."""
    positive = declared.count, declared.shape, declared.scale
    count, shape, scale = map(geometric_mean, positive)
    return NormalInverseGamma(declared.location.mean(axis=0), count, shape, scale)
