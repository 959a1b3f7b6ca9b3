"""A column of real numbers with outliers: Student's t, whose location, squared scale and degrees of freedom are known.

It has no conjugate prior and no sufficient statistics: only its draws are used. Lange, Little and Taylor (1989), Robust
statistical modeling using the t distribution.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Density, Parts, Rng
from bayesnb.families.record import silent
from bayesnb.families.scores import by_rows, mended
from bayesnb.numerics.special import log1p_square, log_gamma_ratio
from bayesnb.numerics.views import numbers

LOG_PI = float(np.log(np.pi))


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """Student's t about `mean`, with the squared scale `variance`. All `(c, f)`."""

    sufficient: ClassVar[bool] = False
    mean: Array
    variance: Array
    freedom: Array

    def parts(self) -> Parts:
        """Those of a Gaussian; the degrees of freedom are no class's own."""
        return {("mu", None): self.mean, ("sigma2", None): self.variance}

    def log_density(self, x: Array) -> Array:
        width = np.sqrt(self.freedom * self.variance)
        value = self._height - (self.freedom + 1) / 2 * log1p_square((x - self.mean) / width)
        return silent(np.isnan(x), value)

    @property
    def _height(self) -> Array:
        return log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(self.freedom) + np.log(self.variance)) / 2

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        width, exponent = 1 / (self.freedom * self.variance), power * (self.freedom + 1) / 2
        terms = np.array(self.mean), width, exponent, power * self._height, bool((exponent == exponent[:, :1]).all())
        return by_rows(lambda rows: self._score(numbers(x, rows), power, terms), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array, power: float, terms: tuple[Any, ...]) -> Array:
        total = np.zeros((len(x), len(self)))
        finite = numerics.gaussian_kernels.student(x, *terms, total)
        return mended(total, finite, lambda odd: self.defined_score(x[odd], power))

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        every = pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": self.freedom * every, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        return self.mean + np.sqrt(self.variance) * np.random.default_rng(rng).standard_t(self.freedom)

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance) & (self.freedom > 0)
