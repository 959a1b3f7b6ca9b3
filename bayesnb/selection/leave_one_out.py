"""Exact leave-one-out: what every row's prediction would be, had the model never seen the row.

A row touches only its own class, so all other classes' scores stay as they are.
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


class Way(NamedTuple):
    """How a model predicts: theta integrated out, or an estimate of it plugged in; the exponent on the features."""

    kind: str = PREDICTIVE
    power: float = 1.0


PREDICT = Way()


class UndefinedWarning(UserWarning):
    """Some rows cannot be left out: the others leave no distribution of their class."""


class UnverifiedWarning(UserWarning):
    """Rows are fewer than were learnt, so nothing proves that they are among them."""


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Log scores of rows, held out and as the model fits them, and how much each row counts."""

    score: Array
    fitted: Array
    weight: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.score) if self.weight is None else int((self.weight > 0).sum())

    @cached_property
    def shares(self) -> Array:
        """What each row adds to the total: its score, times its weight where the mean weight is 1."""
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
        """The total's standard error, were the rows others of the same kind; NaN where a score is not finite."""
        weight = np.ones(self.rows) if self.weight is None else self.weight[self.weight > 0]
        score = self.score if self.weight is None else self.score[self.weight > 0]
        if self.rows < 2 or not np.isfinite(score).all():
            return float("nan")
        gap = weight / weight.mean() * (score - weight @ score / weight.sum())
        return float(np.sqrt(self.rows / (self.rows - 1) * (gap**2).sum()))

    @property
    def optimism(self) -> float:
        """How much better the rows fit once they were learnt: ArviZ's effective number of parameters."""
        with np.errstate(invalid="ignore"):
            return float(self._shared(self.fitted - self.score).sum())


def own_entries(joint: Array, codes: Array, target: str) -> Array:
    """log p(y | x) or log p(x, y) of each row's own class, from log p(x, y) of all, `(r, c), (r,) -> (r,)`."""
    return (joint if target == "joint" else normalised(joint))[np.arange(len(codes)), codes]


def tell_undefined(score: Array) -> None:
    """One warning for all rows whose score is NaN."""
    odd = np.isnan(score)
    if odd.any():
        warnings.warn(
            f"{odd.sum()} rows, first row {odd.argmax()}, cannot be held out: the rows that stay leave no distribution "
            "of their class (too few of them, or no spread, and a prior that adds none). Use a proper prior.",
            UndefinedWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )


def loo_log_proba(
    model: Model, rows: Rows, way: Way = PREDICT, gone: Array | None = None, n_jobs: int | None = None
) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`; of a row of some weight, `gone` goes, by default all of it.

    NaN where the other rows leave no distribution.
    """
    return normalised(leave_one_out(model, rows, way, gone, n_jobs))


def leave_one_out(
    model: Model, rows: Rows, way: Way = PREDICT, gone: Array | None = None, n_jobs: int | None = None
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


def counted_again(model: Model, rows: Rows, b: int, row: int, gone: Array, way: Way) -> Array:
    """One row's scores of a block under what all other rows lead to, `(c,)`; NaN where that is no distribution.

    For rows of which too few digits would stay if they were taken back. Other classes are NaN where they do not change.
    """
    prior, c = model.prior.blocks[b], rows.codes[row]
    weight = np.where(np.arange(len(rows.codes)) == row, rows.counts - gone, rows.counts)
    keep = np.flatnonzero((weight > 0) & (rows.codes == c if prior.apart else True))
    classes, every = len(model.stats.classes), slice(c, c + 1) if prior.apart else slice(None)
    rest = rows.observers[b](rows.cells[b][keep], one_hot(rows.codes[keep], classes, weight[keep]), 1)
    if rows.elsewhere is not None:
        rest = rest + rows.elsewhere.blocks[b]
    x, score = rows.cells[b][[row]], np.full(classes, np.nan)
    own = reader_of(prior[every], rest[every], way.kind)
    good = (own.proper | missing(x, prior.whole)).all(axis=1)
    if good.any():
        score[np.arange(classes)[every][good]] = own[good].score(x, way.power)[0]
    return score


def are_there(model: Model, rows: Rows) -> Array:
    """The classes of which these, with what is known of others, are all rows that the model has learnt, `(c,)`."""
    known = 0.0 if rows.elsewhere is None else rows.elsewhere.classes.counts
    return are_all(model, np.bincount(rows.codes, rows.counts, len(model.stats.classes)) + known)


def are_all(model: Model, counts: Array) -> Array:
    """The classes of which so many rows are all that the model has learnt, `(c,)`."""
    learnt = model.stats.classes.counts
    there = np.abs(counts - learnt) <= SLACK * learnt
    return there if model.prior.apart else np.broadcast_to(there.all(), there.shape)


def warn_unverified(model: Model, counts: Array) -> None:
    """Warn of classes of which there are so many rows, by weight, and more were learnt.

    Of all rows of a class the stats are those that were learnt, or they are not. Of fewer it is only known whether
    there can be such rows among those that were learnt.
    """
    odd = (counts > 0) & ~are_all(model, counts)
    if odd.any():
        warnings.warn(
            f"given are {counts.sum():.12g} of the {model.stats.classes.counts.sum():.12g} rows, by weight, that the "
            "model has learnt, so it cannot be proved that they are among them. If they are not, these are no "
            "leave-one-out scores. Give all rows that were learnt; of new rows, predict_log_proba has the scores.",
            UnverifiedWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )


def stuck(model: Model, rows: Rows, joint: Array) -> Array:
    """Rows without a score of their own class for want of other rows that must be counted again, `(r,)`."""
    return np.isnan(joint[np.arange(len(joint)), rows.codes]) & ~are_there(model, rows)[rows.codes]
