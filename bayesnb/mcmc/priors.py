"""How the prior of a block is made in a PyMC model: as it was declared, or with parameters of its own to be learned.

A prior that is learned is centred at the declared one; what is positive is log-normal, with a standard deviation of 1.5
about its logarithm, a factor of 4.5 either way.

    dice, coins, words     theta_c ~ Dirichlet(alpha * proportions)      one alpha for each column, or block of words
    rates                  rate_c ~ Gamma(shape, shape / mean)           of each column
    Gaussians              variance_c ~ InverseGamma(shape, shape * typical)
                           mean_c | variance_c ~ Normal(mean, spread**2 * variance_c)
                           or sqrt(variance_c) ~ HalfNormal(width), or ~ LogNormal(mean, spread)
                           with shared=True one variance for all classes

Given these the classes are conjugate as ever, so theta is integrated out: the classes of a column share what they say
about them, and each of them borrows from the others. Gelman et al. (2013), Bayesian Data Analysis, chapter 5.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.families import Gamma, NormalInverseGamma
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Family, Seen
from bayesnb.families.normal_inverse_gamma import NormalMean
from bayesnb.families.shared import SharedNormalInverseGamma
from bayesnb.mcmc.backend import tensors
from bayesnb.mcmc.ensemble import Given, Same
from bayesnb.mcmc.variable_names import Say

WIDE = 1.5  # standard deviation of the log of what is learned
Draws = Mapping[str, Array]  # name -> `(s, ...)`


@dataclass(frozen=True, eq=False)
class Prior(ABC):
    """The prior of one block: what was declared, and the stats that it meets."""

    family: Family
    declared: Belief
    stats: Any

    @abstractmethod
    def theta(self, pm: Any, say: Say) -> Any:
        """All its variables, theta too, in the PyMC model around; the density of theta."""

    @abstractmethod
    def evidence(self, pm: Any, say: Say) -> Any:
        """Its own variables alone; the log evidence given them, or None where there are none."""

    @abstractmethod
    def given(self, draws: Draws, say: Say) -> Given:
        """The priors that draws of its own variables make."""


class Fixed(Prior):
    """As it was declared."""

    def theta(self, pm: Any, say: Say) -> Any:
        return self.declared.variables(pm, say)

    def evidence(self, pm: Any, say: Say) -> Any:
        return None

    def given(self, draws: Draws, say: Say) -> Given:
        return Same(self.declared)


class Learned(Prior):
    """With parameters of its own; a subclass says which, and what belief they make."""

    @abstractmethod
    def parameters(self, pm: Any, say: Say) -> dict[str, Any]:
        """The variables, `(f,)` each, or one for the whole block."""

    @abstractmethod
    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What they make the belief's arrays, `(f,) -> (c, f)` or `(f,)`; of draws `(s, 1, f) -> (s, c, f)`."""

    @abstractmethod
    def made(self, *fields: Any) -> Belief:
        """The belief with these arrays."""

    def theta(self, pm: Any, say: Say) -> Any:
        return self.made(*self.fields(self.parameters(pm, say))).variables(pm, say)

    def evidence(self, pm: Any, say: Say) -> Any:
        return self.made(*self.fields(self.parameters(pm, say))).log_evidence(self.stats, tensors())

    def given(self, draws: Draws, say: Say) -> Given:
        classes = len(self.stats)
        own = {name: draws[say.hyper(name)["name"]] for name in self.learned}
        own = {name: array if array.ndim == 3 else array.reshape(len(array), 1, -1) for name, array in own.items()}

        def at(some: Array) -> Belief:
            fields = self.fields({name: array[some] for name, array in own.items()})
            shape = len(some), classes, np.broadcast_shapes(*map(np.shape, fields))[-1]
            return self.made(*(np.broadcast_to(field, shape).reshape(-1, shape[-1]) for field in fields))

        return at

    @property
    @abstractmethod
    def learned(self) -> tuple[str, ...]:
        """The names of what `fields` needs."""


@dataclass(frozen=True, eq=False)
class LearnedDice(Learned):
    """theta_c ~ Dirichlet(alpha * proportions); the proportions as declared or, with a `base`, learned too."""

    base: bool = False

    @cached_property
    def seen(self) -> Seen:
        return self.family.seen(self.stats)  # type: ignore[return-value]

    @cached_property
    def smoothing(self) -> float:
        """The alpha that was declared."""
        unit = self.family.of_levels(self.seen.unit, self.stats)
        pairs = zip(self.declared.parts().values(), unit.parts().values(), strict=True)
        own, one = next((own.flat[0], one.flat[0]) for own, one in pairs)
        return float(own / one)

    @property
    def learned(self) -> tuple[str, ...]:
        return ("alpha", "base") if self.base else ("alpha",)

    def parameters(self, pm: Any, say: Say) -> dict[str, Any]:
        said = say.one("alpha") if self.family.whole else say.hyper("alpha")
        found = {"alpha": pm.LogNormal(**said, mu=np.log(self.smoothing), sigma=WIDE)}
        if self.base:
            found["base"] = self._base(pm, say)
        return found

    def _base(self, pm: Any, say: Say) -> Any:
        """Proportions whose mean over a column's levels is 1, of all its classes: a Dirichlet, as Gamma variates."""
        said, unit = say.hyper("base", say.levels), self.seen.unit.mean(axis=0) / self.strength
        variates = pm.Gamma(f"{said['name']}_variate", alpha=unit, beta=1.0, dims=said["dims"])
        return pm.Deterministic(**said, var=variates / self._averaged(variates))

    def _averaged(self, values: Any) -> Any:
        """The mean over the levels of each level's column, `(k,) -> (k,)`."""
        column = self.seen.column
        member = np.eye(column.max() + 1)[column]
        return (values @ (member / member.sum(axis=0)))[column]

    @cached_property
    def strength(self) -> Array:
        """How many times alpha a level is worth on average, `(k,)`: 1, unless columns were declared to differ."""
        return self._averaged(self.seen.unit.mean(axis=0))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        alpha = values["alpha"] if self.family.whole else values["alpha"][..., self.seen.column]
        every = np.ones((len(self.stats), 1))
        return (alpha * (every * self.strength * values["base"] if self.base else self.seen.unit),)

    def made(self, *fields: Any) -> Belief:
        (concentration,) = fields
        return self.family.of_levels(concentration, self.stats)


class LearnedRates(Learned):
    """rate_c ~ Gamma(shape, shape / mean)."""

    learned = ("rate_shape", "rate_mean")

    def parameters(self, pm: Any, say: Say) -> dict[str, Any]:
        shape, rate = typical(self.declared.shape), typical(self.declared.rate)  # type: ignore[attr-defined]
        return {
            "rate_shape": pm.LogNormal(**say.hyper("rate_shape"), mu=np.log(shape), sigma=WIDE),
            "rate_mean": pm.LogNormal(**say.hyper("rate_mean"), mu=np.log(shape / rate), sigma=WIDE),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return values["rate_shape"], values["rate_shape"] / values["rate_mean"]

    def made(self, *fields: Any) -> Belief:
        return Gamma.raw(*fields)


class LearnedNormals(Learned):
    """variance_c ~ InverseGamma(shape, shape * typical), mean_c ~ Normal(mean, spread**2 * variance_c)."""

    learned = ("mu_mean", "mu_spread", "sigma2_shape", "sigma2_typical")

    def parameters(self, pm: Any, say: Say) -> dict[str, Any]:
        own = typical_normal(self.declared)
        variance = own.scale / own.shape
        return means(pm, say, own) | {
            "sigma2_shape": pm.LogNormal(**say.hyper("sigma2_shape"), mu=np.log(own.shape), sigma=WIDE),
            "sigma2_typical": pm.LogNormal(**say.hyper("sigma2_typical"), mu=np.log(variance), sigma=WIDE),
        }

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        shape = values["sigma2_shape"]
        return values["mu_mean"], values["mu_spread"] ** -2, shape, shape * values["sigma2_typical"]

    def made(self, *fields: Any) -> Belief:
        if not self.family.shared:
            return NormalInverseGamma.raw(*fields)
        every = np.ones((len(self.stats), 1))
        wide = [every * own if own.ndim == 1 else own for own in fields]
        return SharedNormalInverseGamma.raw(*wide, 1 if fields[0].ndim == 1 else len(wide[0]) // len(every))


@dataclass(frozen=True, eq=False)
class Scaled(Learned):
    """Standard deviations with a half-normal or a log-normal prior, as wide as the declared one says; means as ever.

    With `hierarchy` the parameters of both are learned.
    """

    kind: str = "half-normal"
    hierarchy: bool = False

    @property
    def learned(self) -> tuple[str, ...]:
        return ("sigma", "mu_mean", "mu_spread") if self.hierarchy else ("sigma",)

    def parameters(self, pm: Any, say: Say) -> dict[str, Any]:
        own = typical_normal(self.declared)
        sigma = self._sigma(pm, say, np.sqrt(own.scale / own.shape))
        return {"sigma": sigma} | (means(pm, say, own) if self.hierarchy else {})

    def _sigma(self, pm: Any, say: Say, width: Array) -> Any:
        dims = say("sigma2")["dims"]
        said = say.hyper("sigma", *(dims[1:] if self.family.shared else dims))
        if self.kind == "half-normal":
            known = not self.hierarchy
            wide = width if known else pm.LogNormal(**say.hyper("sigma_width"), mu=np.log(width), sigma=WIDE)
            return pm.HalfNormal(**said, sigma=wide)
        if not self.hierarchy:
            return pm.LogNormal(**said, mu=np.log(width), sigma=1.0)
        typical = pm.Normal(**say.hyper("log_sigma_mean"), mu=np.log(width), sigma=WIDE)
        spread = pm.HalfNormal(**say.hyper("log_sigma_spread"), sigma=1.0)
        apart = pm.Normal(f"{said['name']}_variate", 0.0, 1.0, dims=said["dims"])  # a spread near 0 is no dead end
        return pm.Deterministic(**said, var=pm.math.exp(typical + spread * apart))

    def theta(self, pm: Any, say: Say) -> Any:
        density = super().theta(pm, say)
        variance = density.variance * np.ones((len(self.stats), 1))  # which may be one for all classes
        return replace(density, variance=pm.Deterministic(**say("sigma2"), var=variance))

    def fields(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        if self.hierarchy:
            return values["mu_mean"], values["mu_spread"] ** -2, values["sigma"] ** 2
        return self.declared.location, self.declared.count, values["sigma"] ** 2  # type: ignore[attr-defined]

    def made(self, *fields: Any) -> Belief:
        return NormalMean.raw(*fields)


def means(pm: Any, say: Say, own: NormalInverseGamma) -> dict[str, Any]:
    """Where the classes' means lie, and how far apart they are in units of the classes' own spread."""
    wide = np.sqrt(own.scale / own.shape / own.count)
    return {
        "mu_mean": pm.Normal(**say.hyper("mu_mean"), mu=own.location, sigma=wide),
        "mu_spread": pm.HalfNormal(**say.hyper("mu_spread"), sigma=own.count**-0.5),
    }


def typical(values: Array) -> Array:
    """The geometric mean over classes, `(c, f) -> (f,)`."""
    return np.exp(np.log(values).mean(axis=0))


def typical_normal(declared: Any) -> NormalInverseGamma:
    """One belief in place of every class's own."""
    own = typical(declared.count), typical(declared.shape), typical(declared.scale)
    return NormalInverseGamma(declared.location.mean(axis=0), *own)
