"""A verdict on a classifier in words: are the labels better than a guess, and can the probabilities
be used?

Every number is of rows that were held out. Labels are compared with those of a guess that always
names the most frequent class, and probabilities with the shares of the classes, row by row: a
paired difference counts where it is more than `CLEAR_ERRORS` standard errors. That they are no
better is said only where the rows are enough to see that. Exponents that were chosen by the log
score of the same rows make it a little too good, by about a nat for each that is free (Akaike
1974), so that many are taken off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import xlogy

from bayesnb.families.base import Array
from bayesnb.selection.probability_scores import (
    CurveOptions,
    Estimate,
    ece_interval,
    groups_of_top,
    mean_interval,
    right,
    split_groups,
)

# standard errors: there are two comparisons with a guess, each by chance once in 80 tables of
# noise
CLEAR_ERRORS = 2.25
SURPLUS_ERRORS = 2.0  # standard errors of the share of right labels, were the probabilities true
# of the errors of a guess that names the most frequent class: labels with fewer are good
GOOD_SHARE = 0.5
# of these errors, or of the log loss of the class shares: less than that is hardly a gain
SLIGHT_SHARE = 0.125
FEW_ROWS = 20  # with fewer, a standard error says little, and so does any verdict
HARM_SHARE = 0.05  # of the log loss of the class shares: any model of noise loses as much
# a calibration error that is possible, above which the rows are too few to tell
MAX_CALIBRATION_ERROR = 0.1
SIGN_PROB, MIN_TERMS = 0.95, 5  # an interval of so many rows or more that leaves out 0 has a sign
BINS, BAND, DRAWS = 10, 0.89, 2000  # of the calibration error

GOOD = "good"
FAIR = "fair"
SLIGHT = "hardly better than guessing"
GUESSING = "no better than guessing"
NOT_SHOWN = "not shown to be better with so few rows"
TOO_FEW = "too few rows"
USABLE = "can be used as they are"
TEMPERED = "better when tempered"
TOO_SURE = "too sure"
TOO_CAUTIOUS = "too cautious"
UNEVEN = "not well calibrated"
UNSETTLED = "too few rows to tell"
SHARES = "no better than the class shares"


class Difference(NamedTuple):
    """Mean of paired differences, and its standard error."""

    value: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it is positive, by more than chance."""
        return self.value > CLEAR_ERRORS * self.error


ANY_ERROR = Estimate(0.0, 0.0, 1.0)
ANY_MEAN = Estimate(0.0, -np.inf, np.inf)
ANY_DIFFERENCE = Difference(0.0, np.inf)


class MissedClass(NamedTuple):
    """The class with the smallest recall: its place, its rows, and its misses.

    A miss is a row that gets another label.
    """

    code: int
    rows: int
    misses: int

    @property
    def recall(self) -> float:
        """The share of its rows that get its label."""
        return 1 - self.misses / self.rows

    def describe(self, label: object) -> str:
        """Say how many rows of the class, which is called `label`, are missed."""
        missed = f"{self.misses:,} of its {self.rows:,} rows"
        return f"{str(label)!r} ({missed}, recall {100 * self.recall:.1f} %)"


@dataclass(frozen=True)
class Verdict:
    """Words for labels, for probabilities, and for the class that is missed most.

    The last is empty where no row is missed.
    """

    labels: str
    probabilities: str
    missed: str = ""

    def __str__(self) -> str:
        missed = f"; missed most: {self.missed}" if self.missed else ""
        return f"labels: {self.labels}; probabilities: {self.probabilities}{missed}"


@dataclass(frozen=True, eq=False)
class Observed:
    """Scores of held-out rows beside their baselines, from which a verdict follows."""

    rows: int
    accuracy: float
    majority: float  # share of the most frequent class
    more_right: Difference  # of accuracy above that
    log_loss: float
    shares_loss: float  # log loss of the classes' shares in the other rows
    less_loss: Difference  # of log loss below that
    # error, with its interval; these four say nothing where every row is impossible
    calibration: Estimate = ANY_ERROR
    calibration_by_chance: float = 1.0  # an upper end of it, were all probabilities true
    # of the mean probability of the chosen label above the share that is right
    surplus: Difference = ANY_DIFFERENCE
    # log loss above what the probabilities themselves expect
    unforeseen: Estimate = ANY_MEAN
    power: float = 1.0  # one exponent for all columns that predicts better
    tempered_gain: Estimate | None = None  # of log loss, by that exponent
    missed: MissedClass | None = None

    @classmethod
    def of(
        cls,
        log_proba: Array,
        codes: Array,
        tied: Array | None = None,
        choices: float = 0.0,
        power: float = 1.0,
        gain: Estimate | None = None,
    ) -> Self:
        """Score log p(y | x) of held-out rows, `(r, c), (r,)`.

        `choices` exponents were chosen by these rows.

        Rows with the same cells are `tied`, `(r,)`: see `tie_rows`.
        """
        counts = np.bincount(codes, minlength=log_proba.shape[1])
        hits = right(log_proba, codes).astype(float)
        label = log_proba[np.arange(len(codes)), codes]
        # of a guess by the labels of the other rows: Laplace's rule of succession
        blind_loss = np.log(len(codes) - 1 + len(counts)) - np.log(counts[codes])
        less = average_difference(blind_loss + label)
        answered = np.isfinite(log_proba.max(axis=1))
        numbers: dict[str, Any] = {}
        if answered.any():
            tied = None if tied is None else tied[answered]
            numbers = calibration_numbers(log_proba[answered], codes[answered], tied)
        return cls(
            rows=len(codes),
            accuracy=float(hits.mean()),
            majority=float(counts.max() / len(codes)),
            more_right=average_difference(hits - (codes == counts.argmax())),
            log_loss=float(0.0 - label.mean()),
            shares_loss=float(blind_loss.mean()),
            less_loss=Difference(less.value - choices / len(codes), less.error),
            **numbers,
            power=power,
            tempered_gain=gain,
            missed=most_missed(hits, codes),
        )

    @property
    def is_better(self) -> bool:
        """Whether labels or probabilities are clearly better than a guess without the columns."""
        return self.more_right.is_clear or self.less_loss.is_clear

    @property
    def few_errors(self) -> float:
        """How many of a guess's errors are so few that to avoid them is hardly a gain."""
        return SLIGHT_SHARE * (1 - self.majority)

    @property
    def little_loss(self) -> float:
        """How much of the class shares' log loss is hardly a gain."""
        return SLIGHT_SHARE * self.shares_loss

    @property
    def is_slight(self) -> bool:
        """Whether labels avoid few of a guess's errors, and probabilities remove little loss."""
        return self.more_right.value < self.few_errors and self.less_loss.value < self.little_loss

    @property
    def labels_may_be_better(self) -> bool:
        """Whether labels may avoid more of a guess's errors, given so few rows.

        Where the labels are nearly those of the guess, their difference hardly varies: the
        error is then that of a share of so many rows.
        """
        error = max(self.more_right.error, np.sqrt(self.majority * (1 - self.majority) / self.rows))
        return max(self.more_right.value, 0.0) + CLEAR_ERRORS * error > self.few_errors

    @property
    def probabilities_may_be_better(self) -> bool:
        """Whether probabilities may remove more of the class shares' log loss.

        As far as so many rows can tell.
        """
        return self.less_loss.value + CLEAR_ERRORS * self.less_loss.error > self.little_loss

    @property
    def is_harmful(self) -> bool:
        """Whether the probabilities are clearly worse than the shares of the classes.

        By more than noise costs.
        """
        worse = self.less_loss.value < -CLEAR_ERRORS * self.less_loss.error
        return worse and self.log_loss > (1 + HARM_SHARE) * self.shares_loss

    @property
    def is_too_sure(self) -> bool:
        """Whether answers are right less often than their probabilities say, beyond chance."""
        return self.surplus.value > self.surplus.error * SURPLUS_ERRORS

    @property
    def is_miscalibrated(self) -> bool:
        """Whether the calibration error is more than chance would make it."""
        return self.calibration.lower > 0 and self.calibration.value > self.calibration_by_chance

    @property
    def is_mended_by_temper(self) -> bool:
        """Whether less extreme probabilities are clearly better."""
        return self.tempered_gain is not None and self.tempered_gain.lower > 0 and self.power < 1


def judge(observed: Observed, classes: Sequence[object] = ()) -> Verdict:
    """Return the verdict that the numbers give.

    Of classes with names, it says which is missed most.
    """
    missed = observed.missed
    words = missed.describe(classes[missed.code]) if missed and len(classes) > 1 else ""
    return Verdict(labels_verdict(observed), probabilities_verdict(observed), words)


def labels_verdict(observed: Observed) -> str:
    """Judge the labels by how many of a guess's errors they avoid.

    And whether the rows can tell.
    """
    if observed.rows < FEW_ROWS:
        return TOO_FEW
    if not observed.is_better:
        is_worse = observed.is_harmful and observed.more_right.value <= 0
        is_open = observed.labels_may_be_better or observed.probabilities_may_be_better
        return NOT_SHOWN if is_open and not is_worse else GUESSING
    if observed.is_slight:
        return SLIGHT
    few = 1 - observed.accuracy <= GOOD_SHARE * (1 - observed.majority)
    return GOOD if few and observed.more_right.is_clear else FAIR


def probabilities_verdict(observed: Observed) -> str:
    """Judge the probabilities, what can be mended first."""
    if observed.rows < FEW_ROWS:
        return UNSETTLED
    if observed.is_mended_by_temper:
        return TEMPERED
    state = calibration_state(observed)
    if observed.is_better and (state != USABLE or observed.less_loss.is_clear):
        return state
    if state == TOO_SURE or observed.is_harmful:
        return TOO_SURE
    is_open = labels_verdict(observed) == NOT_SHOWN or observed.probabilities_may_be_better
    return UNSETTLED if is_open else SHARES


def calibration_state(observed: Observed) -> str:
    """Whether the probabilities come true, and in which way they do not."""
    if observed.is_too_sure:
        return TOO_SURE
    if observed.is_miscalibrated:
        surplus, error = observed.surplus
        return TOO_CAUTIOUS if surplus < -SURPLUS_ERRORS * error else UNEVEN
    if observed.unforeseen.lower > 0 or observed.unforeseen.value == np.inf:
        return TOO_SURE
    return UNSETTLED if observed.calibration.upper > MAX_CALIBRATION_ERROR else USABLE


def most_missed(hits: Array, codes: Array) -> MissedClass | None:
    """Return the class of the smallest recall, of several the one with most rows.

    None where no row is missed.
    """
    rows = np.bincount(codes)
    misses = np.bincount(codes, 1 - hits).astype(int)
    if not misses.any():
        return None
    recall = 1 - misses / np.maximum(rows, 1)
    code = int(np.lexsort((-rows, recall))[0])
    return MissedClass(code, int(rows[code]), int(misses[code]))


def average_difference(terms: Array) -> Difference:
    """Mean of differences, row by row, and its standard error, `(r,) -> ()`."""
    error = np.inf
    if len(terms) > 1 and np.isfinite(terms).all():
        error = float(terms.std(ddof=1) / np.sqrt(len(terms)))
    return Difference(float(np.mean(terms)), error)


def signed_mean(terms: Array, prob: float = SIGN_PROB) -> Estimate:
    """Mean of terms, with an interval that leaves out 0 where the mean clearly has a sign."""
    if not np.isfinite(terms).all():
        total = float(np.sum(terms[~np.isfinite(terms)]))
        return Estimate(total, total, total)
    if len(terms) < MIN_TERMS:
        return Estimate(float(np.mean(terms)), -np.inf, np.inf)
    least = float(np.min(terms))
    return Estimate(*(least + end for end in mean_interval(terms - least, prob)))


def entropy_of(log_proba: Array) -> Array:
    """Entropy of probabilities, in nats; NaN where a row is impossible under every class.

    Shapes: `(r, c) -> (r,)`.
    """
    p = np.exp(log_proba)
    return np.where(p.max(axis=1) > 0, -xlogy(p, p).sum(axis=1), np.nan)


def calibration_numbers(log_proba: Array, codes: Array, tied: Array | None) -> dict[str, Any]:
    """How far the probabilities of the chosen labels are from what came.

    Beside it, what chance makes of true ones.
    """
    groups = groups_of_top(log_proba, codes, np.ones(len(codes)), tied)
    bins = groups.joined(split_groups(groups.weight, BINS))
    p = np.exp(log_proba.max(axis=1))
    hits = right(log_proba, codes)
    label = log_proba[np.arange(len(codes)), codes]
    error = np.sqrt((p * (1 - p)).sum()) / len(p)
    return {
        "calibration": ece_interval(bins, CurveOptions(BINS, BAND, np.random.default_rng(0))),
        "calibration_by_chance": error_by_chance(bins.at, bins.weight),
        "surplus": Difference(float(p.mean() - hits.mean()), float(error)),
        "unforeseen": signed_mean(-label - entropy_of(log_proba)),
    }


def error_by_chance(predicted: Array, weight: Array) -> float:
    """Upper end of the calibration error of bins, were each bin's probability true.

    Shapes: `(b,), (b,) -> ()`.
    """
    p = np.clip(predicted, 0, 1)
    rows = np.round(weight).astype(int)
    shares = np.random.default_rng(0).binomial(rows, p, (DRAWS, len(rows))) / rows
    return float(np.quantile(np.abs(shares - p) @ rows / rows.sum(), (1 + BAND) / 2))
