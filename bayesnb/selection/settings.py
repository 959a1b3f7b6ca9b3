"""Settings of the smoothing, their scores, and how they compare with the best of them.

The data are counted once; a setting changes the prior, and one pass over the rows leaves each of them out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.families.weight import one_hot
from bayesnb.model.product import Model, Rows
from bayesnb.selection.calibration_curves import CurveOptions, ece_interval, groups_of_top, scored, split
from bayesnb.selection.leave_one_out import Pointwise, PredictiveRule, loo_log_proba
from bayesnb.selection.proper_scores import Estimate

BINS = 10  # of the calibration error
ESTIMATES = ("map", "mean", "predictive", "mle")
PREFERRED = ("predictive", "mean", "map", "mle")  # of equally good estimates, the first
EQUAL = 1e-10  # scores this near to each other, relative to their size, are equal
ROUNDING = 1e-9  # of weights


class Setting(NamedTuple):
    """A smoothing, an estimate, and the factor of the variance that the prior of Gaussian columns expects."""

    smoothing: float
    estimate: str
    scale: float = 1.0

    @property
    def concentration(self) -> float:
        """Concentration of a symmetric Dirichlet prior; NaN for "mle", which no prior enters."""
        return float("nan") if self.estimate == "mle" else self.smoothing + (self.estimate == "map")


class ColumnOfClass(NamedTuple):
    """A column of a block, in one class."""

    block: int
    column: int
    code: int


class LabelScores(NamedTuple):
    """Accuracy, Brier score and calibration error of predicted probabilities."""

    accuracy: Estimate
    brier: Estimate
    ece: Estimate

    @classmethod
    def of(cls, log_proba: Array, rows: Rows, prob: float) -> "LabelScores":
        """Compute the scores, with intervals of this probability; NaN where a row has no prediction."""
        if np.isnan(log_proba).any():
            return cls(*[Estimate(*[float("nan")] * 3)] * 3)
        plan, data = CurveOptions(BINS, prob, np.random.default_rng(0)), (log_proba, rows.codes, rows.counts)
        scores, groups = scored(*data, plan), groups_of_top(*data)
        return cls(scores.accuracy, scores.brier, ece_interval(groups.joined(split(groups.weight, BINS)), plan))


class Outcome(NamedTuple):
    """Scores of a setting, each label predicted without its row."""

    setting: Setting
    log_evidence: float
    log_scores: Array  # `(r,)`, log p(y | x, all other rows)
    scores: LabelScores
    improper: ColumnOfClass | None  # where all rows together leave no proper distribution; no row has a score then


@dataclass(frozen=True, eq=False)
class PriorVariants:
    """Models that have learnt the same rows under other priors; `start` makes one from families."""

    start: Callable[[Sequence[Family]], Model]
    families: Sequence[Family]
    widths: Sequence[int]  # number of columns of each family's block
    learnt: Model
    rows: Rows
    power: float = 1.0
    n_jobs: int | None = None

    def model(self, setting: Setting) -> Model:
        """Return the model under the prior of a setting."""
        pairs = zip(self.families, self.learnt.stats.blocks, strict=True)
        smoothing, kind, scale = setting
        return self.start([family.smoothed(seen, smoothing, kind, scale) for family, seen in pairs])

    def outcome(self, setting: Setting, prob: float) -> Outcome:
        """Score a setting, with intervals of this probability."""
        model = self.learnt if setting.estimate == "mle" else self.model(setting)
        log_proba = self.left_out(model, setting.estimate)
        return Outcome(
            setting,
            log_evidence(model, setting.estimate),
            log_proba[np.arange(len(log_proba)), self.rows.codes],
            LabelScores.of(log_proba, self.rows, prob),
            first_improper(model, setting.estimate),
        )

    def left_out(self, model: Model, estimate: str) -> Array:
        """log p(y | x, all rows but this one), `(r, c)`; NaN where the others leave no proper distribution."""
        if first_improper(model, estimate):
            return np.full((len(self.rows.codes), len(model.stats.classes)), np.nan)
        return loo_log_proba(model, self.rows, PredictiveRule(estimate, self.power), n_jobs=self.n_jobs)


def first_improper(model: Model, estimate: str) -> ColumnOfClass | None:
    """Return the first column and class without a proper distribution, if there is one."""
    reader = model.read(estimate)
    for b, block in enumerate(reader.blocks):
        bad = ~block.proper & reader.live[:, None]
        if bad.any():
            code, column = np.argwhere(bad)[0].tolist()
            return ColumnOfClass(b, column, code)
    return None


def log_evidence(model: Model, estimate: str) -> float:
    """log p(X, y | prior); NaN where no prior enters, or an improper one."""
    prior = model.prior
    proper = all(belief.strictly_proper.all() for belief in (prior.classes, *prior.blocks))
    if estimate == "mle" or not proper:
        return float("nan")
    labels, blocks = prior.log_evidence(model.stats)
    return labels + float(sum(block.sum() for block in blocks))


@dataclass(frozen=True, eq=False)
class Differences:
    """Leave-one-out scores of settings and their differences from the best, `(n,)`."""

    elpd: Array
    se: Array
    elpd_diff: Array
    diff_se: Array
    best: int | None  # place of the best setting; None if no score is defined

    @property
    def distinguishable(self) -> Array:
        """Settings that are worse than the best by more than twice the standard error of the difference."""
        return (self.elpd_diff == -np.inf) | (self.elpd_diff < -2 * self.diff_se)


def differences_from_best(outcomes: Sequence[Outcome], counts: Array) -> Differences:
    """Compare settings by the leave-one-out log score of the labels, of rows with these positive weights."""
    elpd, se = np.array([_sum_of(outcome.log_scores, counts) for outcome in outcomes]).T
    best = _best(outcomes, elpd)
    if best is None:
        undefined = np.full_like(elpd, np.nan)
        return Differences(elpd, se, undefined, undefined, None)
    best_scores = outcomes[best].log_scores
    with np.errstate(invalid="ignore"):  # two rows that are both impossible
        diff = np.array([_sum_of(outcome.log_scores - best_scores, counts) for outcome in outcomes])
        diff[~np.isfinite(elpd), 0] = (elpd - elpd[best])[~np.isfinite(elpd)]
    diff[:, 0] = np.minimum(diff[:, 0], 0.0)
    diff[best] = 0.0
    return Differences(elpd, se, diff[:, 0], diff[:, 1], best)


def _sum_of(terms: Array, counts: Array) -> tuple[float, float]:
    """Weighted sum over rows, and its standard error, which is NaN where a term is not finite."""
    scores = Pointwise(terms, terms, counts)
    return scores.total, scores.se


def _best(outcomes: Sequence[Outcome], elpd: Array) -> int | None:
    """Return the place of the setting with the largest score; of equal ones, that of the preferred estimate."""
    if np.isnan(elpd).all():
        return None
    top = np.nanmax(elpd)
    good = np.flatnonzero(elpd >= top - EQUAL * abs(top) if np.isfinite(top) else elpd == top)
    return int(min(good, key=lambda n: (PREFERRED.index(outcomes[int(n)].setting.estimate), n)))


class Unique(NamedTuple):
    """A block, its column, and the level there that only one row of a class holds."""

    block: int
    column: int
    level: int


def first_unique(variants: PriorVariants, row: int) -> Unique | None:
    """Return the first level that only this row of its class holds, if there is one.

    Without smoothing, such a row is impossible once it is left out.
    """
    rows, stats = variants.rows, variants.learnt.stats
    c, weight = rows.codes[[row]], rows.counts[[row]]
    for b, family in enumerate(variants.families):
        row_stats = rows.observers[b](rows.cells[b][[row]], one_hot(c, len(stats.classes), weight), 1)
        block_stats = stats.blocks[b].beside(row_stats)
        held, total = family.seen(row_stats.beside(block_stats)), family.seen(block_stats)
        if held is None or total is None:
            continue
        only = (held.counts[c[0]] > 0) & (total.counts[c[0]] - held.counts[c[0]] <= ROUNDING * held.counts[c[0]])
        if only.any():
            entry = int(np.argmax(only))
            return Unique(b, int(held.column[entry]), int(held.level[entry]))
    return None
