"""Leave-one-out from draws: exact given a draw, and the draws weighed by what the row had told them.

    p(draw | D_-i)  is  p(draw | D) / p(x_i, y_i | draw, D_-i)      so draws get weights 1 / p(x_i, y_i | draw, D_-i)

The largest weights are smoothed, and the tail that they have says whether there are enough draws: Vehtari, Simpson,
Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.mcmc.ensemble import Ensemble
from bayesnb.model.product import Model, Rows
from bayesnb.numerics.special import log, times
from bayesnb.selection.leave_one_out import Pointwise, Way, leave_one_out, tell_undefined

MOST, LEAST = 400, 100  # draws
NUMBERS = 1 << 25  # draws times rows


class ParetoWarning(UserWarning):
    """The draws know too little of what is left without some rows."""


class Judgement(NamedTuple):
    """Scores, the shapes of the tails of the rows' weights, from which on they are too long, and how many draws."""

    found: Pointwise
    k: Array
    good_k: float
    draws: int


@dataclass(frozen=True, eq=False)
class Judge:
    """An ensemble that scores rows; the exponent on the features; what of a row is scored."""

    ensemble: Ensemble
    power: float
    target: str
    n_jobs: int | None = None

    def judge(self, rows: Rows, draws: Array) -> Judgement:
        """Every row's score without the row, and that of the ensemble that has seen it."""
        own, every, given = np.empty((3, len(draws), len(rows.codes)))
        seen = np.full((2, len(rows.codes)), -np.inf)
        for at, draw in enumerate(draws):
            model = self.ensemble.model(int(draw))
            left = leave_one_out(model, rows, Way(power=self.power), n_jobs=self.n_jobs)
            own[at], every[at] = self._parts(left, rows, draw)
            given[at] = self._given(model, rows, draw, left)
            fitted = model.posterior.log_joint(rows.cells, self.power, self.n_jobs)
            np.logaddexp(seen, self._parts(fitted, rows, draw), out=seen)
        log_weight, k = results.elpd.smoothed(given)
        score = self._score(_summed(log_weight + own, 0), _summed(log_weight + every, 0))
        tell_undefined(score)
        fitted = self._score(*(seen - np.log(len(draws))))
        return Judgement(Pointwise(score, fitted, rows.weight), k, results.elpd.good_k(len(draws)), len(draws))

    def _score(self, own: Array, every: Array) -> Array:
        if self.target == "joint":
            return own
        never = np.isneginf(own)
        return np.where(never, -np.inf, own - np.where(never, 0.0, every))

    def _parts(self, joint: Array, rows: Rows, draw: int) -> tuple[Array, Array]:
        """log p(x, the label that was read) and log p(x), from log p(x, y), `(r, c) -> (r,)` each."""
        return self._read(joint, rows, draw), _summed(joint, 1)

    def _read(self, joint: Array, rows: Rows, draw: int) -> Array:
        if self.ensemble.confusion is None:
            return joint[np.arange(len(joint)), rows.codes]
        return _summed(joint + log(self.ensemble.confusion[draw]).T[rows.codes], 1)

    def _given(self, model: Model, rows: Rows, draw: int, left: Array) -> Array:
        """log p(x, y | draw, all other rows) of the rows as often as they count, up to what all draws share."""
        if self.ensemble.confusion is None and (rows.counts != 1).any():
            return self._counted(model, rows, draw)
        if self.power != 1:
            left = leave_one_out(model, rows, n_jobs=self.n_jobs)
        return times(rows.counts, self._read(left, rows, draw))

    def _counted(self, model: Model, rows: Rows, draw: int) -> Array:
        """The same of rows with weights w: the inverse of E[p(x | theta)**-w] once all rows were seen."""
        total, places = np.zeros((len(rows.codes), self.ensemble.classes)), np.arange(len(rows.codes))
        for belief, x in zip(model.posterior.blocks, rows.cells, strict=True):
            belief.score(x, -rows.counts[:, None], total, self.n_jobs)
        own = -total[places, rows.codes]
        if self.ensemble.class_prob is None:
            return own
        return own + times(rows.counts, log(self.ensemble.class_prob[draw])[rows.codes])


def weighed(own: Array, rows: Rows) -> Judgement:
    """From log p(y | x, draw) of every row's own label, `(s, r)`, under a model in which rows share nothing else."""
    log_weight, k = results.elpd.smoothed(times(rows.counts, own))
    score, fitted = _summed(log_weight + own, 0) - _summed(log_weight, 0), _summed(own, 0) - np.log(len(own))
    return Judgement(Pointwise(score, fitted, rows.weight), k, results.elpd.good_k(len(own)), len(own))


def draws_for(rows: int) -> int:
    """How many draws judge so many rows."""
    return int(np.clip(NUMBERS // rows, LEAST, MOST))


def warn_pareto(judged: Judgement, most: int) -> None:
    """Warn where the weights of some rows have too long a tail; of more draws than `most` no more are judged."""
    odd = judged.k > judged.good_k
    if odd.any():
        more = ", or sample more draws" if judged.draws < most else f" (more draws do not help: {most} are judged)"
        warnings.warn(
            f"{odd.sum()} rows, first row {odd.argmax()}, change so much of what was sampled that {judged.draws} draws "
            f"do not settle their scores: Pareto k is {judged.k[odd.argmax()]:.2f}, above {judged.good_k:.2f}. Look at "
            f"these rows; score them by a fit without them{more}.",
            ParetoWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )


def _summed(logs: Array, axis: int) -> Array:
    """log of the sum; NaN, of a row that has no distribution, stays."""
    with np.errstate(invalid="ignore"):
        return np.logaddexp.reduce(logs, axis=axis)
