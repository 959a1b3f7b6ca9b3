"""Student's t, which only sampled models have: outliers do not move it."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from bayesnb.families.base import Array, Density, Parts, Rng
from bayesnb.families.record import silent
from bayesnb.numerics.special import LOG_PI, log1p_square, log_gamma_ratio


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """Student's t about `mean`, with the squared scale `variance`. All `(c, f)`."""

    sufficient: ClassVar[bool] = False
    mean: Array
    variance: Array
    freedom: Array

    def parts(self) -> Parts:
        """The parts of a Gaussian; the degrees of freedom are the same for all classes."""
        return {("mu", None): self.mean, ("sigma2", None): self.variance}

    def log_density(self, x: Array) -> Array:
        scale = self.freedom * self.variance
        height = log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(scale)) / 2
        fall = (self.freedom + 1) / 2 * log1p_square((x - self.mean) / np.sqrt(scale))
        return silent(np.isnan(x), height - fall)

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        nu = self.freedom * pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": nu, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        noise = np.random.default_rng(rng).standard_t(self.freedom)
        return self.mean + np.sqrt(self.variance) * noise

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance) & (self.freedom > 0)
