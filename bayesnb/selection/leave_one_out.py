"""Exact leave-one-out: predictions of each row by a model that has not seen it.

A row touches only the stats of its class, so the scores of all other classes stay as they are.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.removal import PREDICTIVE, SLACK, Leaving, missing, reader_of
from bayesnb.families.weight import one_hot
from bayesnb.model.product import Model, Rows, normalised
from bayesnb.numerics.special import times


class PredictiveRule(NamedTuple):
    """How a model predicts: the estimate that is plugged in, or "predictive"; the exponent on the features."""

    kind: str = PREDICTIVE
    power: float = 1.0


PREDICT = PredictiveRule()


class UndefinedWarning(UserWarning):
    """Rows cannot be left out: the others leave no distribution of their class."""


class UnverifiedWarning(UserWarning):
    """Rows are fewer than were learnt, so nothing proves that they are among them."""


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Log scores of rows, held out and as the model fits them, and the weights of the rows."""

    score: Array
    fitted: Array
    weight: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.score) if self.weight is None else int((self.weight > 0).sum())

    @cached_property
    def shares(self) -> Array:
        """Each row's part of the total: its score times its weight, relative to the mean weight."""
        return self._shared(self.score)

    def _shared(self, values: Array) -> Array:
        if self.weight is None:
            return values
        return self.rows / self.weight.sum() * times(self.weight, values)

    @property
    def total(self) -> float:
        return float(self.shares.sum())

    @property
    def se(self) -> float:
        """Standard error of the total, over new rows of the same population; NaN where a score is not finite."""
        weight = np.ones(self.rows) if self.weight is None else self.weight[self.weight > 0]
        score = self.score if self.weight is None else self.score[self.weight > 0]
        if self.rows < 2 or not np.isfinite(score).all():
            return float("nan")
        gap = weight / weight.mean() * (score - weight @ score / weight.sum())
        return float(np.sqrt(self.rows / (self.rows - 1) * (gap**2).sum()))

    @property
    def optimism(self) -> float:
        """Gain of the scores by learning the rows: ArviZ's effective number of parameters."""
        with np.errstate(invalid="ignore"):
            return float(self._shared(self.fitted - self.score).sum())


def label_scores(joint: Array, codes: Array, target: str) -> Array:
    """log p(y | x) or log p(x, y) of each row's label, from log p(x, y) of all classes, `(r, c), (r,) -> (r,)`."""
    return (joint if target == "joint" else normalised(joint))[np.arange(len(codes)), codes]


def warn_undefined(score: Array) -> None:
    """Warn once of all rows whose score is NaN."""
    undefined = np.isnan(score)
    if undefined.any():
        warnings.warn(
            f"{undefined.sum()} rows, first row {undefined.argmax()}, cannot be held out: the rows that stay leave no "
            "distribution of their class (too few of them, or no spread, and a prior that adds none). Use a proper "
            "prior.",
            UndefinedWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )


def loo_log_proba(
    model: Model, rows: Rows, way: PredictiveRule = PREDICT, gone: Array | None = None, n_jobs: int | None = None
) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`; `gone` is the weight that is left out, by default all of it.

    NaN where the other rows leave no distribution.
    """
    return normalised(leave_one_out(model, rows, way, gone, n_jobs))


def leave_one_out(
    model: Model, rows: Rows, way: PredictiveRule = PREDICT, gone: Array | None = None, n_jobs: int | None = None
) -> Array:
    """log p(x, y | all rows but this one), `(r, c)`.

    NaN where the others leave no distribution, or must be counted again to know it and are not all there.
    """
    there = are_there(model, rows)[rows.codes]
    gone, reader = rows.counts if gone is None else gone, model.read(way.kind)
    total = model.prior.classes.labels_left_out(model.stats.classes, rows.codes, gone, way.kind)
    for b, x in enumerate(rows.cells):
        leaving = Leaving(x, rows.codes, gone, *way, n_jobs)
        score = model.prior.blocks[b].left_out(model.stats.blocks[b], reader.blocks[b], leaving)
        for i in np.flatnonzero(np.isnan(score[np.arange(len(score)), rows.codes]) & there):
            again = counted_again(model, rows, b, int(i), gone, way)
            score[i] = np.where(np.isnan(again) & (np.arange(len(again)) != rows.codes[i]), score[i], again)
        total += score
    total[:, ~reader.live] = -np.inf
    return total


def counted_again(model: Model, rows: Rows, b: int, row: int, gone: Array, way: PredictiveRule) -> Array:
    """Scores of a row by a block that all other rows are counted into again, `(c,)`; NaN for no proper distribution.

    For rows whose subtraction would leave too few digits. Classes whose scores do not change are NaN too.
    """
    prior, c = model.prior.blocks[b], rows.codes[row]
    weight = np.where(np.arange(len(rows.codes)) == row, rows.counts - gone, rows.counts)
    keep = np.flatnonzero((weight > 0) & (rows.codes == c if prior.apart else True))
    classes, changed = len(model.stats.classes), slice(c, c + 1) if prior.apart else slice(None)
    rest = rows.observers[b](rows.cells[b][keep], one_hot(rows.codes[keep], classes, weight[keep]), 1)
    if rows.elsewhere is not None:
        rest = rest + rows.elsewhere.blocks[b]
    x, score = rows.cells[b][[row]], np.full(classes, np.nan)
    reader = reader_of(prior[changed], rest[changed], way.kind)
    good = (reader.proper | missing(x, prior.whole)).all(axis=1)
    if good.any():
        score[np.arange(classes)[changed][good]] = reader[good].score(x, way.power)[0]
    return score


def are_there(model: Model, rows: Rows) -> Array:
    """Classes of which these rows, with the known stats of others, are all that the model has learnt, `(c,)`."""
    known = 0.0 if rows.elsewhere is None else rows.elsewhere.classes.counts
    return are_all(model, np.bincount(rows.codes, rows.counts, len(model.stats.classes)) + known)


def are_all(model: Model, counts: Array) -> Array:
    """Classes of which `counts` rows are all that the model has learnt, `(c,)`."""
    learnt = model.stats.classes.counts
    there = np.abs(counts - learnt) <= SLACK * learnt
    return there if model.prior.apart else np.broadcast_to(there.all(), there.shape)


def warn_unverified(model: Model, counts: Array) -> None:
    """Warn of classes of which more rows, by weight, were learnt than `counts`.

    The stats of all rows of a class prove that these were learnt. Those of fewer rows only show that such rows can be
    among those that were learnt.
    """
    unverified = (counts > 0) & ~are_all(model, counts)
    if unverified.any():
        warnings.warn(
            f"given are {counts.sum():.12g} of the {model.stats.classes.counts.sum():.12g} rows, by weight, that the "
            "model has learnt, so it cannot be proved that they are among them. If they are not, these are no "
            "leave-one-out scores. Give all rows that were learnt; of new rows, predict_log_proba has the scores.",
            UnverifiedWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )


def stuck(model: Model, rows: Rows, joint: Array) -> Array:
    """Rows without a score because the rows that must be counted again are not given, `(r,)`."""
    return np.isnan(joint[np.arange(len(joint)), rows.codes]) & ~are_there(model, rows)[rows.codes]
