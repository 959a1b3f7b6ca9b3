"""Columns of levels modelled jointly: one gigantic die a class, with a side for every combination of their levels.

    probability ~ Dirichlet(concentration)      row of the block | probability ~ Categorical(probability)

Nothing is taken to be independent, so all that ties the columns together is learnt, and needs rows of every combination
to be learnt from. The sides that never came up are alike, and are one number: a Dirichlet over all sides is, for those
that came up and the rest as one, a Dirichlet again. Frigyik, Kapila and Gupta (2010), Introduction to the Dirichlet
distribution and related processes, section 1.4 (aggregation).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb import special
from bayesnb.families.base import ORDER, Array, Cells, Drawn, Parts, Rng, Say
from bayesnb.families.combined import Codes, Combined, distinct, found, smallest
from bayesnb.families.dirichlet import Die, DieDensity, LevelStats, as_level, pick, tally, throw, throw_log_moment
from bayesnb.families.joint_margins import Margins
from bayesnb.families.joint_rows import fresh, unseen
from bayesnb.families.leaving import Leaving, Pile, reader_of
from bayesnb.families.record import silent
from bayesnb.families.simplex import simplex
from bayesnb.families.weight import Weight, hard, one_hot
from bayesnb.special import draw_log_gamma, less, log_gamma_ratio, times
from bayesnb.threads import in_order, pieces


@dataclass(frozen=True, eq=False)
class JointStats(Combined, LevelStats):
    """How often each combination of levels was seen, `(c, 1, n + 1)`; each other one never, which is the last entry.

    A row with missing cells is none of one combination, and is not counted: there is no conjugate update by it.
    """

    counts: Array
    combinations: Codes
    sizes: tuple[int, ...]

    @classmethod
    def of(  # type: ignore[override]
        cls, x: Cells, weight: Any, sizes: tuple[int, ...] | None = None, n_jobs: int | None = 1
    ) -> Self:
        """Codes `(r, f)`, missing ones negative. Without sizes, the largest code of each column decides."""
        sizes = tuple(int(top) + 1 for top in as_level(x).max(axis=0)) if sizes is None else sizes
        return reduce(add, (cls.counted(x, labels, n_jobs, sizes) for labels in hard(weight)))

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

    def alone(self, x: Array, weight: Weight) -> Self:
        """The stats of some of the rows."""
        codes = as_level(x)
        place = np.full(len(codes), -1)
        complete = (codes >= 0).all(axis=1)
        place[complete] = self.places(codes[complete])
        return type(self)(tally(place, self.counts.shape[-1], weight)[:, None], self.combinations, self.sizes)

    def remains(self, part: Self, rounding: float) -> Self:
        own = self.beside(part)
        return super(Combined, own).remains(part.beside(own), rounding)

    def faults(self, part: Self, every: Array, rounding: float = 1e-9) -> Array:
        own = self.beside(part)
        return super(Combined, own).faults(part.beside(own), every, rounding)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The same counts where columns have more levels, each old one, the columns' end to end, at its new place."""
        starts, ends = (np.cumsum(own) - own for own in (self.sizes, sizes))
        moved = places[self.combinations + starts] - ends
        every = distinct(sizes, moved).astype(smallest(sizes))
        counts = np.zeros_like(self.counts)
        counts[..., found(sizes, every, moved)] = self.counts[..., :-1]
        return type(self)(counts, every, sizes)

    @property
    def cells(self) -> Array:
        return self.per_die(self.counts)

    def mle(self) -> "JointDensity":
        return JointDensity(self.mle_share(), self.combinations, self.sizes)


@dataclass(frozen=True, eq=False)
class JointDensity(Combined, DieDensity):
    """Known probabilities of combinations, `(c, 1, n + 1)`, the last entry that of each other one."""

    probability: Array
    combinations: Codes
    sizes: tuple[int, ...]

    def relaid(self, change: Callable[[Array], Array], combinations: Codes, sizes: tuple[int, ...]) -> Self:
        made = super().relaid(change, combinations, sizes)
        made.__dict__[self.kept] = change(self.log_probability)
        return made

    def moved(self, change: Callable[..., Array], *others: Self) -> Self:
        own = reduce(lambda one, other: one.beside(other), others, self)
        return super(Combined, own).moved(change, *(other.beside(own) for other in others))

    def log_density(self, x: Array) -> Array:
        codes, rows = _flat(x)
        return pick(self.gathered(self.log_probability, codes, np.logaddexp), rows[..., None])[..., 0]

    def log_likelihood(self, stats: JointStats, xp: Any = np) -> Any:
        own = self.beside(stats)
        return super(Combined, own).log_likelihood(stats.beside(own), xp)

    def defined_score(self, x: Array, power: float = 1.0) -> Array:
        logs = self.gathered(self.log_probability[:, 0], as_level(x), np.logaddexp).T
        return power * silent((as_level(x) < 0).all(axis=1)[:, None], logs)

    def contributed(self, x: Array, power: float, words: Array | None = None) -> Array:
        return power * self.log_density(x[:, None, None])

    def sample(self, rng: Rng) -> Codes:
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

    def opened(self, combinations: Codes, shares: Array) -> Self:
        """With entries of their own for more combinations, which have these shares, as logs, of what others had.

        The last share is that of all that still have none, `(..., m + 1)`.
        """
        rest = special.log(np.array(self.others)) + self.log_probability[..., -1:]
        wide = self.having(combinations)
        logs = wide.log_probability.copy()
        logs[..., wide.places(combinations)] = rest + shares[..., :-1]
        logs[..., -1:] = rest + shares[..., -1:] - np.log(wide.others) if wide.others else -np.inf
        return type(self).of_logs(logs, wide.combinations, wide.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class JointDie(Margins, Die):
    """A Dirichlet belief about every class's die; a cell is a row of codes, `(..., f)`.

    The concentration is `(c, 1, n + 1)`, the last entry that of each combination which was not seen.
    """

    whole: ClassVar[bool] = True
    concentration: Array
    combinations: Codes
    sizes: tuple[int, ...]

    def update(self, stats: JointStats) -> Self:
        own = self.beside(stats)
        return super(Combined, own).update(stats.beside(own))

    def log_evidence(self, stats: JointStats, xp: Any = special) -> Array:
        own = self.beside(stats)
        return super(Combined, own).log_evidence(stats.beside(own), xp)

    def own(self, x: Array) -> tuple[Array, Array]:
        """The concentrations of rows, and their places, which are negative for a row that says nothing."""
        codes, rows = _flat(x)
        return pick(self.gathered(self.concentration, codes), rows[..., None])[..., 0], rows

    def log_moment(self, x: Array, s: Any) -> Array:
        own, rows = self.own(x)
        return throw_log_moment(own, self.per_die(self.concentration), rows, s)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        own, rows = self.own(x)
        pairs = zip(_powers(own, order, tilt), _powers(self.per_die(self.concentration), order, tilt), strict=True)
        return silent(rows < 0, np.stack([one - whole for one, whole in pairs]))

    def defined_score(self, x: Array, power: Any = 1.0) -> Array:
        codes = as_level(x)
        level = np.where((codes >= 0).any(axis=1), 0, -1)[:, None]
        own = self.gathered(self.concentration[:, 0], codes).T
        return throw_log_moment(own, self.per_die(self.concentration)[:, 0], level, power)

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        own = self._distinct(x, lambda each: _powers(each, ORDER, tilt))
        whole = _powers(self.per_die(self.concentration)[:, 0], ORDER, tilt)
        return silent(self._says_nothing(x), own - whole[:, None])

    def score_transform(self, x: Cells, s: Array) -> Array:
        s = np.asarray(s, complex)
        own = self._distinct(x, lambda each: log_gamma_ratio(each, s[:, None]))
        whole = log_gamma_ratio(self.per_die(self.concentration)[:, 0], s[:, None])
        return np.moveaxis(silent(self._says_nothing(x), less(own, whole[:, None])), 0, -1)

    def _distinct(self, x: Cells, worth: Callable[[Array], Array]) -> Array:
        """The worth of rows' concentrations, each distinct one's once: `(k,) -> (n, k)` makes `(r, f) -> (n, r, c)`."""
        values, which = np.unique(self.gathered(self.concentration[:, 0], as_level(x[:])), return_inverse=True)
        return worth(np.nan_to_num(values, nan=1.0))[:, which.reshape(len(self), -1).T]

    @staticmethod
    def _says_nothing(x: Cells) -> Array:
        return (as_level(x[:]) < 0).all(axis=1)[:, None]

    def own_left_out(self, stats: JointStats, leaving: Leaving) -> Array:
        """A row with missing cells has not been counted, so it leaves nothing behind, and takes nothing away."""
        own, codes = self.beside(stats), as_level(leaving.x[:])
        reader = reader_of(self, stats, leaving.kind)
        out = reader.score(codes, leaving.power)[:, 0]
        out[(codes >= 0).any(axis=1) & ~reader.proper[0, 0]] = np.nan
        rows = np.flatnonzero((codes >= 0).all(axis=1))
        every = own.beside(stats), stats.beside(own)
        pile = Pile.of(every[0].concentration, every[1].counts, leaving.kind, lambda v: own.expand(own.per_die(v)))
        at = own.places(codes[rows])
        cells = Pile(*(np.broadcast_to(each, own.concentration.shape)[0, 0, at] for each in pile))
        out[rows] = cells.worth(leaving.weight[rows], leaving.kind, leaving.power)
        return out

    def sample(self, rng: Rng, size: Any = None) -> JointDensity:
        logs = draw_log_gamma(self.lumped(self.concentration), np.random.default_rng(rng), size)
        logs = logs - self.log_sum(logs)
        last = logs[..., -1:] - np.log(self.others) if self.others else np.full_like(logs[..., :1], -np.inf)
        every = np.concatenate([logs[..., : len(self.combinations)], last], axis=-1)
        return JointDensity.of_logs(every, self.combinations, self.sizes)

    def opened(self, drawn: Drawn, x: Cells, rng: Rng) -> JointDensity:
        theta: Any = drawn.theta
        new = unseen(theta, x)
        return theta.opened(new, self.shares(theta, len(new), rng)) if len(new) else theta

    def shares(self, theta: JointDensity, several: int, rng: Rng) -> Array:
        """What so many of the combinations without an entry have of what all those have, and the rest, `(s, 1, m + 1)`.

        As logs, of as many draws as theta has.
        """
        each = np.tile(self.concentration[..., -1:], (len(theta) // len(self), 1, 1))
        rest = each * (theta.others - several)
        logs = draw_log_gamma(np.concatenate([np.repeat(each, several, axis=-1), rest], axis=-1), rng)
        return logs - self.log_sum(logs if theta.others > several else logs[..., :-1])

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}_concentration", None): self.lumped(self.concentration)[..., 0, :]}

    def log_density(self, theta: JointDensity) -> Parts:
        own = self.beside(theta)
        a, theta = own.lumped(own.concentration), theta.beside(own)
        logs = theta.log_probability[..., : len(theta.combinations)]
        if theta.others:
            logs = np.concatenate([logs, theta.log_probability[..., -1:] + np.log(theta.others)], axis=-1)
        found = times(a - 1, logs).sum(axis=-1) + gammaln(a.sum(axis=-1)) - gammaln(a).sum(axis=-1)
        return {("theta{}", None): found[..., 0]}

    def predictive(self) -> Any:  # type: ignore[override]
        """One-hot vectors over the combinations that were seen and all others together, as SciPy's distribution."""
        from scipy.stats import dirichlet_multinomial

        return dirichlet_multinomial(self.lumped(self.concentration), 1)

    def estimate(self, kind: str) -> JointDensity:
        return JointDensity(self.mean() if kind == "mean" else self.mode(), self.combinations, self.sizes)

    def variables(self, pm: Any, say: Say) -> JointDensity:
        theta = simplex(pm, say("theta{}"), self.lumped(self.concentration)[:, 0])
        last = theta[:, -1:] / self.others if self.others else pm.math.zeros_like(theta[:, :1])
        every = pm.math.concatenate([theta[:, : len(self.combinations)], last], axis=-1)
        return JointDensity(every[:, None], self.combinations, self.sizes)


def _flat(x: Array) -> tuple[Codes, Array]:
    """Rows below rows, `(..., f) -> (r, f)`, and which of them each was, `(...)`; -1 for one without any cell."""
    codes = as_level(x)
    rows = np.arange(codes[..., 0].size).reshape(codes.shape[:-1])
    return codes.reshape(-1, codes.shape[-1]), np.where((codes >= 0).any(axis=-1), rows, -1)


def _powers(a: Array, order: int, tilt: float) -> Array:
    """Cumulants of the log of a Gamma variate that was also seen `tilt` times."""
    with np.errstate(all="ignore"):
        return np.stack([psi(a + tilt), *(polygamma(n, a + tilt) for n in range(1, order))])
