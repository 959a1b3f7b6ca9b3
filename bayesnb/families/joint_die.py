"""Columns of levels modelled jointly: one gigantic die a class, with a side for every combination of their levels.

    probability ~ Dirichlet(concentration)      row of the block | probability ~ Categorical(probability)

Nothing is taken to be independent, so all that ties the columns together is learnt, and needs rows of every combination
to be learnt from. The sides that never came up are alike, and are one number: a Dirichlet's probabilities are shares of
independent Gamma variates, sums of which are Gamma variates, so for those that came up and the rest as one it is a
Dirichlet again. Frigyik, Kapila and Gupta (2010), Introduction to the Dirichlet distribution and related processes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb.families.base import ORDER, Array, Cells, Drawn, Parts, Rng, Say
from bayesnb.families.dirichlet import Die, as_level, pick, throw_log_moment
from bayesnb.families.joint_margins import Margins
from bayesnb.families.joint_rows import unseen
from bayesnb.families.joint_seen import JointDensity, JointStats, flat
from bayesnb.families.leaving import Leaving, Pile, reader_of
from bayesnb.families.record import silent
from bayesnb.families.simplex import simplex
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, less, log_gamma_ratio, times


@dataclass(frozen=True, eq=False, repr=False)
class JointDie(Margins, Die):
    """A Dirichlet belief about every class's die; a cell is a row of codes, `(..., f)`.

    The concentration is `(c, 1, n + 1)`, the last entry that of each combination which was not seen.
    """

    whole: ClassVar[bool] = True
    concentration: Array
    combinations: Array
    sizes: tuple[int, ...]

    def update(self, stats: JointStats) -> Self:
        own = self.beside(stats)
        return Die.update(own, stats.beside(own))

    def log_evidence(self, stats: JointStats, xp: Any = special) -> Array:
        own = self.beside(stats)
        return Die.log_evidence(own, stats.beside(own), xp)

    def own(self, x: Array) -> tuple[Array, Array]:
        """The concentrations of rows, and their places, which are negative for a row that says nothing."""
        codes, rows = flat(x)
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
        a, rest = np.repeat(each, several, axis=-1), theta.others - several
        logs = draw_log_gamma(np.concatenate([a, each * rest], axis=-1) if rest else a, rng)
        logs = logs - self.log_sum(logs)
        return logs if rest else np.concatenate([logs, np.full_like(each, -np.inf)], axis=-1)

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
        return JointDensity(self.spread(theta)[:, None], self.combinations, self.sizes)


def _powers(a: Array, order: int, tilt: float) -> Array:
    """Cumulants of the log of a Gamma variate that was also seen `tilt` times."""
    with np.errstate(all="ignore"):
        return np.stack([psi(a + tilt), *(polygamma(n, a + tilt) for n in range(1, order))])
