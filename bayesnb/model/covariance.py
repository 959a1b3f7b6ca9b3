"""The covariance model: which columns enter one joint Gaussian, indicators of levels, and scaling.

A block of this family has no columns of its own: it reads those of other blocks again. Results do
not change when a column is shifted or rescaled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.cells import as_cells
from bayesnb.families import Gaussian
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.covariance import RIDGE, PooledWishart
from bayesnb.families.family import Family, RealNumbers, Support
from bayesnb.families.levels import as_level
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.vectors import root_of
from bayesnb.numerics.views import FLOATS, View, readable

if TYPE_CHECKING:
    from bayesnb.model.schema import Block

COUNT = 0.01  # pseudo-count of a mean, as for a Gaussian column
# For a column with a long tail: the part of the distance from its minimum to its mean up to which
# the scale is linear; beyond it is logarithmic.
LINEAR = 0.1
# Rows are limited to FAR times the average Mahalanobis distance of rows from their mean, plus
# FAR_OFFSET: under a Gaussian, one row in 300 is farther with two columns, and hardly any with ten.
# Tuned on tables with long tails (spambase, segment, digits).
FAR, FAR_OFFSET = 1.5, 1.5
STEPS = 4  # iterations for the covariance of rows within the limit
LARGEST = 1e100  # standard deviations at most, so that squares are floats
MAX_ROWS = 10_000  # rows from which a scale is learnt


@dataclass(frozen=True, eq=False)
class Scale:
    """Scaling of columns, each field `(d,)`: u = (x - start) / unit, or arcsinh(u) if `bent`.

    Columns with a long tail are bent. The unit is negative if the long tail is the lower one.
    """

    bent: Array
    start: Array
    unit: Array
    mean: Array
    sd: Array
    # whitening of the covariance of all rows, `(d, d)`, scaled so that the largest allowed distance
    # is 1; zeros for no limit
    whitening: Array

    @classmethod
    def learn(cls, x: Array, weight: Array, bend: Array) -> Self:
        """Learn the scale of columns with more than one value each.

        Columns that may `bend`, `(d,)`, are bent if that makes them less skewed.
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
        """Return the scale with a limit on the distance from the mean of these rows.

        The covariance is that of rows moved within the limit, by iteration: outliers would
        otherwise widen it in their own directions.
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
        """Standardise some rows, `(r, d)`; missing numbers stay missing.

        Outlying rows are moved towards the mean. Gaussian densities fall so fast that an outlier
        would otherwise be assigned to the nearest class with certainty.
        """
        with np.errstate(over="ignore"):  # overflow is clipped to LARGEST
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
class Indicators:
    """Dummy variables of columns of levels for a Gaussian, and products of two of them.

    The first level of each column is the reference level, without an indicator.
    """

    readers: tuple["Block", ...]  # blocks that read the columns again
    # the two indicators in each product, `(t, 2)`, numbered like all levels of all readers end to
    # end; one twice is an indicator itself
    ends: Array

    @classmethod
    def of_levels(cls, readers: tuple["Block", ...]) -> Self:
        """Indicators of all levels except the first of each column."""
        none = cls(readers, np.zeros((0, 2), int))
        sizes = none.sizes
        others = np.setdiff1d(np.arange(sizes.sum()), np.cumsum(sizes) - sizes)
        return replace(none, ends=np.column_stack([others, others]))

    @cached_property
    def sizes(self) -> Array:
        """Number of levels of each column of the readers."""
        return np.array([size for reader in self.readers for size in reader.sizes])

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, which: Array) -> Self:
        return replace(self, ends=self.ends[which])

    @property
    def with_products(self) -> Self:
        """These indicators, and products of indicators of different columns."""
        single = self.ends[:, 0]
        pairs = np.stack([each.ravel() for each in np.meshgrid(single, single)], axis=1)
        places = self.place_of[pairs]
        return replace(self, ends=np.concatenate([self.ends, pairs[places[:, 0] < places[:, 1]]]))

    @property
    def are_products(self) -> Array:
        """Which of them are products, `(t,)`."""
        return self.ends[:, 0] != self.ends[:, 1]

    @cached_property
    def place_of(self) -> Array:
        """The place in the table of the column of each level."""
        places = [place for reader in self.readers for place in reader.places]
        return np.repeat(places, self.sizes)

    @property
    def places(self) -> tuple[int, ...]:
        """The places in the table of the columns that are used."""
        return tuple(np.unique(self.place_of[self.ends]).tolist())

    def using(self, place: int) -> Array:
        """Which indicators use a column of the table, `(t,)`."""
        return (self.place_of[self.ends] == place).any(axis=1)

    @property
    def labels(self) -> list[str]:
        """The indicators in words."""
        levels = [
            f"{name}={level}"
            for reader in self.readers
            for j, name in enumerate(reader.names)
            for level in reader.level_names(j)
        ]
        both = [sorted({a, b}) for a, b in self.ends.tolist()]
        return [" and ".join(levels[at] for at in each) for each in both]

    def of_codes(self, codes: Array) -> Array:
        """Return the indicators of rows, `(r, f) -> (r, t)`; NaN where a level is unknown."""
        flags = np.concatenate(
            [
                np.where(code[:, None] < 0, np.nan, code[:, None] == np.arange(size))
                for code, size in zip(codes.T, self.sizes, strict=True)
            ],
            axis=1,
        )
        return flags[:, self.ends[:, 0]] * flags[:, self.ends[:, 1]]


@dataclass(frozen=True, eq=False)
class WithIndicators(View):
    """Numbers followed by indicators of columns of levels, `(r, d)`."""

    dtype = np.dtype(float)
    numbers: Any  # an array or a view
    codes: tuple[Any, ...]  # codes of levels from each reader
    indicators: Indicators

    @property
    def shape(self) -> tuple[int, int]:
        rows, width = self.numbers.shape
        return rows, width + len(self.indicators)

    def __getitem__(self, index: Any) -> Array:
        codes = np.concatenate([as_level(x[index]) for x in self.codes], axis=1)
        numbers = readable(self.numbers[index], FLOATS)
        return np.concatenate([numbers, self.indicators.of_codes(codes)], axis=1)


def read_together(table: Table, places: Sequence[int], indicators: Indicators | None) -> Cells:
    """Return columns of numbers followed by indicators of levels."""
    numbers = as_cells(Gaussian(), table.numbers(places)) if places else None
    if indicators is None:
        return numbers
    codes = tuple(reader.read(table) for reader in indicators.readers)
    if numbers is None:
        numbers = np.empty((codes[0].shape[0], 0))
    return WithIndicators(numbers, codes, indicators)


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
    """One joint Gaussian for columns of numbers and indicators of levels.

    `NaiveBayes(dependence=...)` makes it; users do not declare it.
    """

    content: ClassVar[str] = "columns together"
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = RealNumbers()
    stats: ClassVar[type[Stats]] = VectorStats
    multivariate: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    places: tuple[int, ...]  # columns of numbers in the table
    scale: Scale  # of numbers, then indicators
    dof: float  # of the prior of a class covariance
    # gain in the score of the labels, in nats; None if not known yet
    gain: float | None = None
    indicators: Indicators | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """The places in the table of all columns, numbers first, then levels."""
        return (*self.places, *(self.indicators.places if self.indicators is not None else ()))

    @property
    def has_products(self) -> bool:
        """Whether there are products of indicators of two columns."""
        return self.indicators is not None and bool(self.indicators.are_products.any())

    @property
    def labels(self) -> Sequence[str]:
        """The indicators in words."""
        return () if self.indicators is None else self.indicators.labels

    def using(self, place: int) -> Array:
        """Which numbers and indicators use a column of the table, `(d,)`."""
        own = np.array(self.places) == place
        if self.indicators is None:
            return own
        return np.concatenate([own, self.indicators.using(place)])

    @property
    def in_joint(self) -> float:
        return 0.0

    def read_table(self, table: Table) -> Cells:
        return Standardised(read_together(table, self.places, self.indicators), self.scale)

    def belief(self, stats: VectorStats) -> PooledWishart:
        count = np.full((len(stats), 1), COUNT)
        dof = np.full((len(stats), 1), self.dof)
        return PooledWishart(np.zeros_like(stats.mean), count, dof)

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return itself: smoothing changes only the priors of columns."""
        return self
