"""A theta that is known for certain, as a belief: what a draw of it is, to those who integrate it out."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Contributions, Density, Rng
from bayesnb.families.record import Parts, lead
from bayesnb.families.removal import Leaving
from bayesnb.numerics import special


@dataclass(frozen=True, eq=False, repr=False)
class Certain(Belief):
    """All belief in one theta: no data change it, and every power of the density is its own mean.

    >>> from bayesnb.families.gaussian_density import GaussianDensity
    >>> belief = Certain(GaussianDensity([[0.0]], [[1.0]]))
    >>> belief.log_predictive(np.array([[0.0]])).round(4)
    array([[-0.9189]])
    """

    layout: ClassVar[tuple[str, ...]] = ("theta",)
    theta: Density

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.theta.moved(lambda array: array[index]))

    def __len__(self) -> int:
        return len(self.theta)

    def column(self, feature: int) -> Self:
        return type(self)(self.theta.column(feature))

    def parts(self) -> Parts:
        return self.theta.parts()

    def update(self, stats: Any) -> Self:
        return self

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        return self.theta.log_likelihood(stats)

    def log_moment(self, x: Array, s: Any) -> Array:
        return s * self.theta.log_density(x)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        first = self.theta.log_density(x)
        return np.stack([first] + [np.zeros_like(first)] * (order - 1))

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        if isinstance(power, np.ndarray):
            return super().score(x, power, out, n_jobs)
        return self.theta.score(x, power, out, n_jobs)

    def words(self, x: Cells) -> Array | None:
        return self.theta.words(x)

    def contributions(self, x: Array, power: float, words: Array | None = None) -> Contributions:
        worth = self.theta.contributed(x, power, words)
        nothing = np.zeros_like(worth)
        return Contributions(worth, nothing, worth, nothing[..., 0])

    def left_out(self, stats: Any, reader: Any, leaving: Leaving) -> Array:
        return self.theta.score(leaving.x, leaving.power, None, leaving.n_jobs)

    def sample(self, rng: Rng, size: Any = None) -> Density:
        return self.theta.moved(lambda array: np.broadcast_to(array, lead(size) + array.shape))

    def mean(self) -> Density:
        return self.theta

    mode = mean

    def interval(self, prob: float) -> tuple[Density, Density]:
        return self.theta, self.theta

    def predictive(self) -> NoReturn:
        raise TypeError("a density is its own predictive distribution: ask `theta`.")

    def estimate(self, kind: str) -> Density:
        return self.theta

    @property
    def proper(self) -> Array:
        return self.theta.proper
