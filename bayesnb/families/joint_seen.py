"""What rows say of a table of all combinations of levels, and such a table whose probabilities are known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from sys import float_info
from typing import Any, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Parts, Rng
from bayesnb.families.combined import Combined, distinct, found, smallest
from bayesnb.families.dice import CodedStats
from bayesnb.families.dirichlet import DieDensity, LevelStats, as_level, pick, tally, throw
from bayesnb.families.forgetting import SLACK
from bayesnb.families.joint_rows import fresh
from bayesnb.families.record import silent
from bayesnb.families.weight import Weight, one_hot
from bayesnb.numerics.threads import in_order, pieces

MOST_BITS = float_info.max_exp


@dataclass(frozen=True, eq=False)
class JointStats(Combined, CodedStats):
    """How often each combination of levels was seen, `(c, 1, n + 1)`; each other one never, which is the last entry.

    A row with missing cells is none of one combination, and is not counted: there is no conjugate update by it.
    """

    counts: Array
    combinations: Array
    sizes: tuple[int, ...]

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()) -> Self:
        def some(rows: slice) -> Any:
            return cls.defined(x[rows], one_hot(weight.codes[rows], weight.classes, weight.counts[rows]), sizes)

        return reduce(add, in_order(some, pieces(*x.shape), n_jobs))

    @classmethod
    def defined(cls, x: Array, weight: Weight, sizes: tuple[int, ...] = ()) -> Self:
        codes = as_level(x)
        seen = distinct(sizes, codes[(codes >= 0).all(axis=1)]).astype(smallest(sizes))
        return cls(np.zeros((weight.classes, 1, len(seen) + 1)), seen, sizes).alone(codes, weight)

    @staticmethod
    def learnt(x: Cells) -> Array:
        """Where rows are counted, `(r,)`."""
        return (as_level(x[:]) >= 0).all(axis=1)

    def alone(self, x: Array, weight: Weight) -> Self:
        """The stats of some of the rows."""
        codes, complete = as_level(x), self.learnt(x)
        place = np.full(len(codes), -1)
        place[complete] = self.places(codes[complete])
        return type(self)(tally(place, self.counts.shape[-1], weight)[:, None], self.combinations, self.sizes)

    def remains(self, part: Self, rounding: float) -> Self:
        own = self.beside(part)
        return LevelStats.remains(own, part.beside(own), rounding)

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        own = self.beside(part)
        return LevelStats.faults(own, part.beside(own), every, rounding)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The same counts where columns have more levels, each old one, the columns' end to end, at its new place."""
        starts, ends = (np.cumsum(own) - own for own in (self.sizes, sizes))
        moved = places[self.combinations + starts] - ends
        every = distinct(sizes, moved).astype(smallest(sizes))
        counts = np.zeros_like(self.counts)
        counts[..., found(sizes, every, moved)] = self.counts[..., :-1]
        return type(self)(counts, every, sizes)

    def check(self) -> None:
        codes = self.combinations
        if np.log2(self.sizes).sum() > MOST_BITS:  # sooner than the product of a million numbers
            raise ValueError("there are more combinations of levels than a float can count")
        good = codes.ndim == 2 and codes.shape[1] == len(self.sizes) and codes.dtype == smallest(self.sizes)
        if not good or (codes >= self.sizes).any() or len(distinct(self.sizes, codes)) < len(codes):
            raise ValueError("combinations of levels are different ones, of levels that there are")
        if (np.diff(self.places(codes)) != 1).any() or self.counts[..., -1].any():
            raise ValueError("combinations of levels are sorted, and those that were never seen have no counts")

    @property
    def cells(self) -> Array:
        return self.per_die(self.counts)

    def mle(self) -> "JointDensity":
        return JointDensity(self.mle_share(), self.combinations, self.sizes)


@dataclass(frozen=True, eq=False)
class JointDensity(Combined, DieDensity):
    """Known probabilities of combinations, `(c, 1, n + 1)`, the last entry that of each other one."""

    probability: Array
    combinations: Array
    sizes: tuple[int, ...]

    def relaid(self, change: Callable[[Array], Array], combinations: Array, sizes: tuple[int, ...]) -> Self:
        made = super().relaid(change, combinations, sizes)
        made.__dict__[self.kept] = change(self.log_probability)
        return made

    def moved(self, change: Callable[..., Array], *others: Self) -> Self:
        own = reduce(lambda one, other: one.beside(other), others, self)
        return DieDensity.moved(own, change, *(other.beside(own) for other in others))

    def log_density(self, x: Array) -> Array:
        codes, rows = flat(x)
        return pick(self.gathered(self.log_probability, codes, np.logaddexp), rows[..., None])[..., 0]

    def log_likelihood(self, stats: JointStats, xp: Any = np) -> Any:
        own = self.beside(stats)
        return DieDensity.log_likelihood(own, stats.beside(own), xp)

    def defined_score(self, x: Array, power: float = 1.0) -> Array:
        logs = self.gathered(self.log_probability[:, 0], as_level(x), np.logaddexp).T
        return power * silent((as_level(x) < 0).all(axis=1)[:, None], logs)

    def contributed(self, x: Array, power: float, words: Array | None = None) -> Array:
        return power * self.log_density(x[:, None, None])

    def sample(self, rng: Rng) -> Array:
        """A row of the block for each theta, `(...) -> (..., f)`; of combinations that are alike any."""
        rng = np.random.default_rng(rng)
        places = throw(self.lumped(self.probability), rng)
        codes = np.empty((*places.shape, len(self.sizes)), np.intp)
        new = places == len(self.combinations)
        codes[~new] = self.combinations[places[~new]]
        codes[new] = fresh(self, int(new.sum()), rng)
        return codes

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}", None): self.lumped(self.probability)[..., 0, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(like.spread(parts["theta{}", None])[..., None, :], like.combinations, like.sizes)

    def opened(self, combinations: Array, shares: Array) -> Self:
        """With entries of their own for more combinations, which have these shares, as logs, of what others had.

        The last share is that of all that still have none, `(..., m + 1)`.
        """
        wide, rest = self.having(combinations), np.log(self.others) + self.log_probability[..., -1:]
        logs = wide.log_probability.copy()
        logs[..., wide.places(combinations)] = rest + shares[..., :-1]
        logs[..., -1:] = rest + shares[..., -1:] - np.log(wide.others or 1.0)
        return type(self).of_logs(logs, wide.combinations, wide.sizes)


def flat(x: Array) -> tuple[Array, Array]:
    """Rows below rows, `(..., f) -> (r, f)`, and which of them each was, `(...)`; -1 for one without any cell."""
    codes = as_level(x)
    rows = np.arange(codes[..., 0].size).reshape(codes.shape[:-1])
    return codes.reshape(-1, codes.shape[-1]), np.where((codes >= 0).any(axis=-1), rows, -1)
