"""A categorical distribution whose probabilities are given, for class priors that no data may change.

cell ~ Categorical(probability)
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Rng, Say
from bayesnb.families.dirichlet import DirichletDensity, DirichletStats
from bayesnb.families.record import Parameter, lead
from bayesnb.numerics import special
from bayesnb.numerics.special import log, ratio


@dataclass(frozen=True, eq=False, repr=False)
class KnownDie(Belief):
    """A belief that is certain: no data change it. It may have been counted from so many rows."""

    layout: ClassVar[tuple[str, ...]] = ("rows",)
    probability: Parameter
    rows: float = np.inf

    def strengthened(self, times: Any) -> Self:
        return self

    def update(self, stats: Any) -> Self:
        return self

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        return self._density.log_likelihood(stats)

    @property
    def _density(self) -> DirichletDensity:
        return DirichletDensity(self.probability)

    def level_log_moment(self, s: float) -> Array:
        return self._density.level_log_moment(s)

    def log_moment(self, x: Array, s: Any) -> Array:
        return s * self._density.log_density(x)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        first = self._density.log_density(x)
        return np.stack([first] + [np.zeros_like(first)] * (order - 1))

    def sample(self, rng: Rng, size: Any = None) -> DirichletDensity:
        return DirichletDensity(np.broadcast_to(self.probability, lead(size) + self.probability.shape))

    def mean(self) -> Array:
        return self.probability

    mode = mean

    def interval(self, prob: float) -> tuple[Array, Array]:
        return self.probability, self.probability

    def predictive(self, throws: int = 1) -> Any:
        from scipy.stats import multinomial

        return multinomial(throws, self.probability)

    def estimate(self, kind: str) -> DirichletDensity:
        return self._density

    def variables(self, pm: Any, say: Say) -> DirichletDensity:
        return self._density

    def mle(self, stats: DirichletStats) -> DirichletDensity:
        return self._density

    def weight_log_moment(self, s: Any) -> Array:
        """The probabilities themselves are weights of the levels, and certain."""
        return self.level_log_moment(s)

    def weight_cumulants(self, order: int, tilt: float = 0.0) -> Array:
        first = log(self.probability)
        return np.stack([first] + [np.zeros_like(first)] * (order - 1))

    def log_variance(self, against: int | None = None) -> Array:
        """What is given does not vary."""
        return np.zeros_like(self.probability)

    def recounted(self, stats: DirichletStats) -> Self:
        """The class prior that these labels give, where it is one that was counted."""
        if np.isinf(self.rows):
            return self
        return type(self)(stats.counts / stats.counts.sum(), float(stats.counts.sum()))

    def labels_left_out(self, stats: DirichletStats, codes: Array, weight: Array, kind: str) -> Array:
        """The log share of every level once a throw has left, which changes what was counted, `-> (r, k)`."""
        rest = np.repeat(self.probability[None], len(codes), axis=0)
        rest[np.arange(len(codes)), codes] -= weight / self.rows
        return log(np.maximum(ratio(rest, (1 - weight / self.rows)[:, None]), 0.0))

    @property
    def proper(self) -> Array:
        return np.isfinite(self.probability.sum(axis=-1))
