"""All columns of numbers once more as a family: which columns, and how they are standardised.

A block of this family has no columns: those belong to other blocks. It reads them again. Nothing
changes where a column is shifted or rescaled.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.cells import as_cells
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.covariance import RIDGE, PooledWishart
from bayesnb.families.family import Family, RealNumbers, Support
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.vectors import root_of
from bayesnb.numerics.views import FLOATS, View, readable

COUNT = 0.01  # rows that the prior of a mean is worth, as that of a Gaussian column
# Of the distance between the least number of a column with a long tail and its mean: nearer to the
# least one the scale is linear, farther away it is logarithmic.
LINEAR = 0.1
# The largest distance of a row from the mean of all rows, in units of their covariance, is FAR
# times that of the rows on average, and FAR_OFFSET more: of a Gaussian, one row in 300 is as far at
# two columns, and hardly any at ten. Tuned where columns have long tails (spambase, segment,
# digits).
FAR, FAR_OFFSET = 1.5, 1.5
STEPS = 4  # by which the covariance of rows that are not far is found
LARGEST = 1e100  # standard deviations, whose squares are floats
MAX_ROWS = 10_000  # by which a scale is learnt


@dataclass(frozen=True, eq=False)
class Scale:
    """How columns are put on one scale, `(d,)` each: u = (x - start) / unit, or arcsinh(u).

    The latter where a column is `bent`, as it has a long tail. The unit is negative where that is
    the lower one.
    """

    bent: Array
    start: Array
    unit: Array
    mean: Array
    sd: Array
    # of the covariance of all rows, `(d, d)`, in units in which the largest distance is 1; zeros
    # where no row is far
    whitening: Array

    @classmethod
    def learn(cls, x: Array, weight: Array, *, bend: bool) -> Self:
        """Learn the scale of columns, of which each has more than one value.

        If `bend` is true, columns that are less skewed for it are bent.
        """
        width = x.shape[1]
        mean, sd, skewness = measure(x, weight)
        start = np.where(skewness > 0, np.nanmin(x, axis=0), np.nanmax(x, axis=0))
        unit = LINEAR * (mean - start)
        bent_mean, bent_sd, bent_skewness = measure(np.arcsinh((x - start) / unit), weight)
        bent = bend & (np.abs(bent_skewness) < np.abs(skewness))
        columns = cls(
            bent,
            np.where(bent, start, mean),
            np.where(bent, unit, sd),
            np.where(bent, bent_mean, 0.0),
            np.where(bent, bent_sd, 1.0),
            np.zeros((width, width)),
        )
        return columns.with_limit(x, weight)

    def with_limit(self, x: Array, weight: Array) -> Self:
        """Return the scale with a largest distance from the mean of these rows.

        The covariance is that of rows which are already within it, found in some steps: far rows
        would else widen it in just the directions in which they are far.
        """
        scale = self
        share = weight / weight.sum()
        for _ in range(STEPS):
            z = np.nan_to_num(scale.read(x))
            whitening = root_of((z.T * share) @ z + RIDGE * np.eye(z.shape[1])).whitening
            usual = share @ np.linalg.norm(z @ whitening.T, axis=1)
            scale = replace(self, whitening=whitening / (FAR * usual + FAR_OFFSET))
        return scale

    def read(self, x: Array) -> Array:
        """Standardise some rows, `(r, d)`; missing numbers stay.

        A row that is far from all others is moved towards their mean. Densities of Gaussians fall
        so fast that else it would be sure of the class that is the least far from it.
        """
        with np.errstate(over="ignore"):  # what is beyond floats is LARGEST
            u = (x - self.start) / self.unit
        u[:, self.bent] = np.arcsinh(u[:, self.bent])
        z = np.clip((u - self.mean) / self.sd, -LARGEST, LARGEST)
        distance = np.linalg.norm(np.nan_to_num(z) @ self.whitening.T, axis=1)
        return z / np.maximum(distance, 1.0)[:, None]


def measure(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and skewness of columns with missing numbers, `(d,)` each."""
    part = weight[:, None] * ~np.isnan(x)
    rows = part.sum(axis=0)
    mean = (part * np.nan_to_num(x)).sum(axis=0) / rows
    gap = np.nan_to_num(x - mean)
    sd = np.sqrt((part * gap**2).sum(axis=0) / rows)
    return mean, sd, (part * (gap / sd) ** 3).sum(axis=0) / rows


@dataclass(frozen=True, eq=False)
class Standardised(View):
    """Numbers on a common scale."""

    dtype = np.dtype(float)
    numbers: Any  # an array or a view
    scale: Scale

    def __getitem__(self, index: Any) -> Array:
        return self.scale.read(readable(self.numbers[index], FLOATS))


@dataclass(frozen=True, eq=False)
class Covariance(Family[VectorStats]):
    """Columns of numbers as one Gaussian.

    Nobody declares it: `NaiveBayes(dependence=...)` makes it.
    """

    content: ClassVar[str] = "columns of numbers together"
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = RealNumbers()
    stats: ClassVar[type[Stats]] = VectorStats
    multivariate: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    places: tuple[int, ...]  # of the columns in the table
    scale: Scale
    dof: float  # of the prior of a class's covariance
    # of the labels' score by which it was kept, in nats; None where that is not known yet
    gain: float | None = None

    @property
    def in_joint(self) -> float:
        return 0.0

    def read_table(self, table: Table) -> Cells:
        return Standardised(as_cells(self, table.numbers(self.places)), self.scale)

    def belief(self, stats: VectorStats) -> PooledWishart:
        count = np.full((len(stats), 1), COUNT)
        dof = np.full((len(stats), 1), self.dof)
        return PooledWishart(np.zeros_like(stats.mean), count, dof)

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return the same: a smoothing is about the columns' priors."""
        return self
