"""Sensitivity of leave-one-out predictions to the strength of the priors: had a prior been worth more, or fewer, rows.

Only the prior changes; the data are counted once. A prior that is worth `times` as many rows has that many times the
pseudo-counts: Dirichlet(times a), Beta(times a, times b), Gamma(times shape, times rate), and of a Gaussian column
`count`, `shape` and `scale` times that, so that it expects the same mean and the same variance as before; so has every
column of a block of Gaussians, whose own shape is half of dof - d + 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.capabilities import strengthened
from bayesnb.model.powers import LengthPower, of_blocks, of_feature
from bayesnb.model.product import Model, Product, ProductStats, Rows, normalised
from bayesnb.numerics.views import EVERY
from bayesnb.selection.leave_one_out import PREDICT, PredictiveRule, leave_one_out


class Change(NamedTuple):
    """Effect of a prior of another strength on the predictions of rows that are left out."""

    largest: float  # change of a probability
    row: int  # of the largest change
    changed: int  # rows of which another class is the most probable
    elpd: float  # change of the sum of log p(own label)


@dataclass(frozen=True, eq=False)
class Strengths:
    """A model and the rows that it has learnt, each left out under priors of several strengths."""

    model: Model
    rows: Rows
    way: PredictiveRule = PREDICT
    n_jobs: int | None = None
    known: Array | None = None  # what `joint` is, where it was computed before

    @cached_property
    def joint(self) -> Array:
        """log p(x, y | all rows but this one), `(r, c)`, under the model's own priors."""
        if self.known is not None:
            return self.known
        return leave_one_out(self.model, self.rows, self.way, n_jobs=self.n_jobs)

    @cached_property
    def log_proba(self) -> Array:
        return normalised(self.joint)

    @property
    def defined(self) -> bool:
        """Whether every row has a score: a smoothing of 0 may leave it none."""
        return bool(np.isfinite(self._of_labels(self.log_proba)).all())

    def _of_labels(self, log_proba: Array) -> Array:
        return log_proba[np.arange(len(log_proba)), self.rows.codes]

    def everything(self, times: float) -> Change:
        """Change the priors of all columns."""
        blocks = tuple(strengthened(block, times) for block in self.model.prior.blocks)
        return self._change(self._left_out(replace(self.model.prior, blocks=blocks)))

    def classes(self, times: float) -> Change:
        """Change the prior of the class frequencies."""
        classes = strengthened(self.model.prior.classes, times)
        return self._change(self._left_out(replace(self.model.prior, classes=classes)))

    def column(self, b: int, f: int, several: Sequence[float]) -> list[Change]:
        """Change the prior of one column, at several strengths."""
        prior, stats = self.model.prior, self.model.stats.blocks[b].only(f)
        belief, rows = prior.blocks[b].only(f), self._rows_of(b, f, stats)
        seen = ProductStats(self.model.stats.classes, (stats,))
        exponent = of_blocks(self.way.power, len(prior.blocks))[b]
        by_length = isinstance(exponent, LengthPower)
        power = (exponent,) if by_length else of_feature(exponent, f)
        way = self.way._replace(power=power, covariance=None)

        def score(belief: Belief) -> Array:
            alone = Model(Product(prior.classes, (belief,)), seen)
            return leave_one_out(alone, rows, way, n_jobs=self.n_jobs)

        now, live = score(belief), self.model.posterior.live
        if np.isfinite(now[:, live]).all():
            with np.errstate(invalid="ignore"):
                gains = [score(strengthened(belief, times)) - now for times in several]
                return [self._change(np.where(live, self.joint + gain, -np.inf)) for gain in gains]
        changes, is_column = [], np.arange(np.shape(prior.blocks[b].proper)[-1]) == f
        for times in several:  # what was impossible may be so no more
            blocks = list(prior.blocks)
            blocks[b] = strengthened(blocks[b], np.where(is_column, times, 1.0))
            changes.append(self._change(self._left_out(replace(prior, blocks=tuple(blocks)))))
        return changes

    def _rows_of(self, b: int, f: int, stats: Stats) -> Rows:
        x = self.rows.cells[b]
        cells = x if self.model.prior.blocks[b].multivariate else x[EVERY][:, [f]]
        cells = cells.toarray() if sparse.issparse(cells) and cells is not x else cells
        return Rows([lambda x, weight, n_jobs: stats.alone(x, weight)], [cells], self.rows.codes, self.rows.weight)

    def _left_out(self, prior: Product) -> Array:
        return leave_one_out(Model(prior, self.model.stats), self.rows, self.way, n_jobs=self.n_jobs)

    def _change(self, joint: Array) -> Change:
        log_proba = normalised(joint)
        with np.errstate(invalid="ignore"):
            gaps = np.abs(np.exp(log_proba) - np.exp(self.log_proba)).max(axis=1)
            gain = float((self._of_labels(log_proba) - self._of_labels(self.log_proba)) @ self.rows.counts)
        changed = (log_proba.argmax(axis=1) != self.log_proba.argmax(axis=1)) & (self.rows.counts > 0)
        row = int(np.nan_to_num(gaps, nan=np.inf).argmax())
        return Change(float(gaps[row]), row, int(changed.sum()), gain)
