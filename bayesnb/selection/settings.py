"""A setting of the smoothing, and what comes of it: the data are counted once, a setting only changes the prior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.model.product import Model, Rows
from bayesnb.selection.calibration_curves import Estimate, Plan, ece_interval, groups_of_top, scored
from bayesnb.selection.isotonic import split
from bayesnb.selection.leave_one_out import Way, loo_log_proba

BINS = 10  # of the calibration error
ESTIMATES = ("map", "mean", "predictive", "mle")


class Setting(NamedTuple):
    """A smoothing, what is done with the posterior, and by what the variance that the prior expects is multiplied."""

    smoothing: float
    estimate: str
    scale: float = 1.0

    @property
    def concentration(self) -> float:
        """Of a symmetric Dirichlet prior; no prior enters maximum likelihood."""
        return float("nan") if self.estimate == "mle" else self.smoothing + (self.estimate == "map")


class Place(NamedTuple):
    """A block's column, and a class."""

    block: int
    column: int
    code: int


class Worth(NamedTuple):
    """What probabilities are worth: the share of labels that they get right, their squared error, their calibration."""

    accuracy: Estimate
    brier: Estimate
    ece: Estimate

    @classmethod
    def of(cls, log_proba: Array, rows: Rows, prob: float) -> "Worth":
        """With intervals of this probability; NaN where some row has no prediction."""
        if np.isnan(log_proba).any():
            return cls(*[Estimate(*[float("nan")] * 3)] * 3)
        plan, data = Plan(BINS, prob, np.random.default_rng(0)), (log_proba, rows.codes, rows.counts)
        scores, groups = scored(*data, plan), groups_of_top(*data)
        return cls(scores.accuracy, scores.brier, ece_interval(groups.joined(split(groups.weight, BINS)), plan))


class Outcome(NamedTuple):
    """What comes of a setting: scores of labels that are predicted without their own row."""

    setting: Setting
    log_evidence: float
    log_scores: Array  # `(r,)`, log p(y | x, all other rows)
    worth: Worth
    unsettled: Place | None  # where not even all rows together settle a distribution; nothing has a score then


@dataclass(frozen=True, eq=False)
class Trials:
    """What settings are tried on: rows of some weight. `start` makes a model of families, as the estimator does."""

    start: Callable[[Sequence[Family]], Model]
    families: Sequence[Family]
    widths: Sequence[int]  # how many columns each family's block has
    learnt: Model
    rows: Rows
    power: float = 1.0
    n_jobs: int | None = None

    def model(self, setting: Setting) -> Model:
        """The model under the prior of a setting."""
        pairs = zip(self.families, self.learnt.stats.blocks, strict=True)
        smoothing, kind, scale = setting
        return self.start([family.smoothed(seen, smoothing, kind, scale) for family, seen in pairs])

    def outcome(self, setting: Setting, prob: float) -> Outcome:
        """All scores of a setting; the intervals are of this probability."""
        model = self.learnt if setting.estimate == "mle" else self.model(setting)
        log_proba = self.left_out(model, setting.estimate)
        own = log_proba[np.arange(len(log_proba)), self.rows.codes]
        worth = Worth.of(log_proba, self.rows, prob)
        return Outcome(setting, log_evidence(model, setting.estimate), own, worth, unsettled(model, setting.estimate))

    def left_out(self, model: Model, estimate: str) -> Array:
        """log p(y | x, all rows but this one), `(r, c)`; NaN where the others settle no distribution."""
        if unsettled(model, estimate):
            return np.full((len(self.rows.codes), len(model.stats.classes)), np.nan)
        return loo_log_proba(model, self.rows, Way(estimate, self.power), n_jobs=self.n_jobs)


def unsettled(model: Model, estimate: str) -> Place | None:
    """The first column and class of which the model knows no distribution, if there is one."""
    reader = model.read(estimate)
    for b, block in enumerate(reader.blocks):
        bad = ~block.proper & reader.live[:, None]
        if bad.any():
            code, column = np.argwhere(bad)[0].tolist()
            return Place(b, column, code)
    return None


def log_evidence(model: Model, estimate: str) -> float:
    """log p(X, y | prior); NaN where no prior enters, or an improper one."""
    prior = model.prior
    proper = all(belief.strictly_proper.all() for belief in (prior.classes, *prior.blocks))
    if estimate == "mle" or not proper:
        return float("nan")
    labels, blocks = prior.log_evidence(model.stats)
    return labels + float(sum(block.sum() for block in blocks))
