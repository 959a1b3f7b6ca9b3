"""A known theta as a belief: a point mass, such as one posterior draw.

The mean of every power of the density is that power, and data do not change the belief.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Contributions, Density, Rng
from bayesnb.families.dirichlet import DirichletDensity, DirichletStats
from bayesnb.families.record import Parameter, Parts, VariableNames, lead
from bayesnb.families.removal import RowsLeftOut
from bayesnb.numerics import special
from bayesnb.numerics.special import log, ratio


class CertainBelief(Belief):
    """A point mass at one theta."""

    @property
    @abstractmethod
    def density(self) -> Density:
        """The density with the known theta."""

    def update(self, stats: Any) -> Self:
        return self

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        return self.density.log_likelihood(stats)

    def log_moment(self, x: Array, s: Any) -> Array:
        return s * self.density.log_density(x)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return constant_cumulants(self.density.log_density(x), order)

    def estimate(self, kind: str) -> Any:
        return self.density

    def mean(self) -> Any:
        return self.density

    def mode(self) -> Any:
        return self.mean()

    def interval(self, prob: float) -> tuple[Any, Any]:
        return self.mean(), self.mean()


def constant_cumulants(value: Array, order: int) -> Array:
    """Cumulants of a constant."""
    return np.stack([value] + [np.zeros_like(value)] * (order - 1))


@dataclass(frozen=True, eq=False, repr=False)
class Certain(CertainBelief):
    """A theta of a block, such as a draw from its posterior.

    >>> from bayesnb.families.gaussian import GaussianDensity
    >>> belief = Certain(GaussianDensity([[0.0]], [[1.0]]))
    >>> belief.log_predictive(np.array([[0.0]])).round(4)
    array([[-0.9189]])
    """

    layout: ClassVar[tuple[str, ...]] = ("theta",)
    theta: Density

    @property
    def density(self) -> Density:
        return self.theta

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.theta[index])

    def __len__(self) -> int:
        return len(self.theta)

    def column(self, feature: int) -> Self:
        return type(self)(self.theta.column(feature))

    def parts(self) -> Parts:
        return self.theta.parts()

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return self.theta.add_scores(x, power, out, n_jobs)

    def words(self, x: Cells) -> Array | None:
        return self.theta.words(x)

    def contributions(self, x: Array, power: Any, words: Array | None = None) -> Contributions:
        each = self.theta.contributed(x, power, words)
        nothing = np.zeros_like(each)
        return Contributions(each, nothing, each, nothing[..., 0])

    def left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        return self.theta.score(rows.x, 1.0, None, rows.n_jobs)

    def sample(self, rng: Rng, size: Any = None) -> Density:
        return self.theta.moved(lambda array: np.broadcast_to(array, lead(size) + array.shape))

    def predictive(self) -> NoReturn:
        raise TypeError("with a known theta the predictive is the density itself: use `theta`.")

    @property
    def proper(self) -> Array:
        return self.theta.proper


@dataclass(frozen=True, eq=False, repr=False)
class KnownDie(CertainBelief):
    """Known class probabilities, which data do not change.

    `rows` is the number of rows that they were counted from, if they were counted.
    """

    layout: ClassVar[tuple[str, ...]] = ("rows",)
    probability: Parameter
    rows: float = np.inf

    @property
    def density(self) -> DirichletDensity:
        return DirichletDensity(self.probability)

    def mean(self) -> Array:
        return self.probability

    def strengthened(self, times: Any) -> Self:
        return self

    def sample(self, rng: Rng, size: Any = None) -> DirichletDensity:
        return DirichletDensity(
            np.broadcast_to(self.probability, lead(size) + self.probability.shape)
        )

    def predictive(self, throws: int = 1) -> Any:
        from scipy.stats import multinomial

        return multinomial(throws, self.probability)

    def variables(self, pm: Any, names: VariableNames) -> DirichletDensity:
        return self.density

    def mle(self, stats: DirichletStats) -> DirichletDensity:
        return self.density

    def level_log_moment(self, s: float) -> Array:
        return self.density.level_log_moment(s)

    def weight_log_moment(self, s: Any) -> Array:
        """As weights of the levels the probabilities themselves, which are constant."""
        return self.level_log_moment(s)

    def weight_cumulants(self, order: int, tilt: Any = 0.0) -> Array:
        return constant_cumulants(log(self.probability), order)

    def log_variance(self, against: int | None = None) -> Array:
        """0: the probabilities are known."""
        return np.zeros_like(self.probability)

    def recounted(self, stats: DirichletStats) -> Self:
        """The class probabilities counted from these labels, or unchanged if they were not
        counted.
        """
        if np.isinf(self.rows):
            return self
        return type(self)(stats.counts / stats.counts.sum(), float(stats.counts.sum()))

    def labels_left_out(
        self, stats: DirichletStats, codes: Array, weight: Array, kind: str
    ) -> Array:
        """Leave-one-out log probability of every level, `-> (r, k)`."""
        rest = np.repeat(self.probability[None], len(codes), axis=0)
        rest[np.arange(len(codes)), codes] -= weight / self.rows
        return log(np.maximum(ratio(rest, (1 - weight / self.rows)[:, None]), 0.0))

    @property
    def proper(self) -> Array:
        return np.isfinite(self.probability.sum(axis=-1))
