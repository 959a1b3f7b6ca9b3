"""A verdict on a classifier in words: are the labels better than guessing, and can the
probabilities be used?

All numbers are for held-out rows. Labels are compared with a guess, always the most frequent class,
and probabilities with the class shares, row by row: a paired difference is clear if it exceeds
`CLEAR_ERRORS` standard errors. They are called no better only if there are enough rows to tell.
Exponents estimated from the log score of the same rows make it slightly too good, by about one nat
per free exponent (Akaike 1974), which is subtracted.
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

# standard errors: each of the two comparisons with a guess exceeds them in one of 80 tables of
# noise
CLEAR_ERRORS = 2.25
SURPLUS_ERRORS = 2.0  # standard errors of the accuracy, if the probabilities were calibrated
# labels are good with at most this share of the errors of the guess
GOOD_SHARE = 0.5
# a gain below this share of these errors, or of the log loss of the class shares, is slight
SLIGHT_SHARE = 0.125
FEW_ROWS = 20  # with fewer, standard errors are unreliable, and so is any verdict
HARM_SHARE = 0.05  # of the log loss of the class shares: models of pure noise lose as much
# if the calibration error may be larger, the rows are too few to tell
MAX_CALIBRATION_ERROR = 0.1
SIGN_PROB, MIN_TERMS = 0.95, 5  # probability of the interval for a sign, and rows that it needs
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
    """Mean of paired differences and its standard error."""

    value: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it is clearly positive."""
        return self.value > CLEAR_ERRORS * self.error


ANY_ERROR = Estimate(0.0, 0.0, 1.0)
ANY_MEAN = Estimate(0.0, -np.inf, np.inf)
ANY_DIFFERENCE = Difference(0.0, np.inf)


class MissedClass(NamedTuple):
    """The class with the smallest recall: its code, number of rows, and rows with another label."""

    code: int
    rows: int
    misses: int

    @property
    def recall(self) -> float:
        """Share of the rows of the class that get its label."""
        return 1 - self.misses / self.rows

    def describe(self, label: object) -> str:
        """Describe how many rows of the class are missed, given its name."""
        missed = f"{self.misses:,} of its {self.rows:,} rows"
        return f"{str(label)!r} ({missed}, recall {100 * self.recall:.1f} %)"


@dataclass(frozen=True)
class Verdict:
    """Words for labels, probabilities, and the class missed most (empty if no row is missed)."""

    labels: str
    probabilities: str
    missed: str = ""

    def __str__(self) -> str:
        missed = f"; missed most: {self.missed}" if self.missed else ""
        return f"labels: {self.labels}; probabilities: {self.probabilities}{missed}"


@dataclass(frozen=True, eq=False)
class Observed:
    """Scores of held-out rows and their baselines, from which a verdict follows."""

    rows: int
    accuracy: float
    majority: float  # share of the most frequent class
    more_right: Difference  # accuracy minus that share
    log_loss: float
    shares_loss: float  # log loss of the class shares in the other rows
    less_loss: Difference  # that loss minus the log loss
    # calibration error with interval; these four are vacuous if every row is impossible
    calibration: Estimate = ANY_ERROR
    calibration_by_chance: float = 1.0  # upper end if all probabilities were calibrated
    # mean probability of the predicted label minus accuracy
    surplus: Difference = ANY_DIFFERENCE
    # log loss minus its expectation under the probabilities themselves
    unforeseen: Estimate = ANY_MEAN
    power: float = 1.0  # a common exponent that predicts better
    tempered_gain: Estimate | None = None  # in log loss, by that exponent
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

        `choices` exponents were estimated from these rows. Rows with the same cells are `tied`,
        `(r,)`: see `tie_rows`.
        """
        counts = np.bincount(codes, minlength=log_proba.shape[1])
        hits = right(log_proba, codes).astype(float)
        label = log_proba[np.arange(len(codes)), codes]
        # loss of the class shares in the other rows, by Laplace's rule of succession
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
        """Whether labels or probabilities are clearly better than without the columns."""
        return self.more_right.is_clear or self.less_loss.is_clear

    @property
    def few_errors(self) -> float:
        """Share of rows such that avoiding fewer errors of the guess is a slight gain."""
        return SLIGHT_SHARE * (1 - self.majority)

    @property
    def little_loss(self) -> float:
        """Reduction of the log loss of the class shares below which the gain is slight."""
        return SLIGHT_SHARE * self.shares_loss

    @property
    def is_slight(self) -> bool:
        """Whether the gains of labels and of probabilities are both slight."""
        return self.more_right.value < self.few_errors and self.less_loss.value < self.little_loss

    @property
    def labels_may_be_better(self) -> bool:
        """Whether labels may have more than a slight gain, given the number of rows.

        If the labels are nearly those of the guess, their difference hardly varies, and the
        standard error is that of a share.
        """
        error = max(self.more_right.error, np.sqrt(self.majority * (1 - self.majority) / self.rows))
        return max(self.more_right.value, 0.0) + CLEAR_ERRORS * error > self.few_errors

    @property
    def probabilities_may_be_better(self) -> bool:
        """Whether probabilities may have more than a slight gain, given the number of rows."""
        return self.less_loss.value + CLEAR_ERRORS * self.less_loss.error > self.little_loss

    @property
    def is_harmful(self) -> bool:
        """Whether the probabilities are clearly worse than the class shares, by more than noise
        costs.
        """
        worse = self.less_loss.value < -CLEAR_ERRORS * self.less_loss.error
        return worse and self.log_loss > (1 + HARM_SHARE) * self.shares_loss

    @property
    def is_too_sure(self) -> bool:
        """Whether predicted labels are right clearly less often than their probabilities say."""
        return self.surplus.value > self.surplus.error * SURPLUS_ERRORS

    @property
    def is_miscalibrated(self) -> bool:
        """Whether the calibration error is larger than by chance."""
        return self.calibration.lower > 0 and self.calibration.value > self.calibration_by_chance

    @property
    def is_mended_by_temper(self) -> bool:
        """Whether less extreme probabilities are clearly better."""
        return self.tempered_gain is not None and self.tempered_gain.lower > 0 and self.power < 1


def judge(observed: Observed, classes: Sequence[object] = ()) -> Verdict:
    """Return the verdict; given the names of classes, it names the one missed most."""
    missed = observed.missed
    words = missed.describe(classes[missed.code]) if missed and len(classes) > 1 else ""
    return Verdict(labels_verdict(observed), probabilities_verdict(observed), words)


def labels_verdict(observed: Observed) -> str:
    """Judge the labels by the errors of the guess that they avoid, if there are enough rows."""
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
    """Judge the probabilities; what tempering corrects comes first."""
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
    """Describe whether the probabilities are calibrated, and if not, how."""
    if observed.is_too_sure:
        return TOO_SURE
    if observed.is_miscalibrated:
        surplus, error = observed.surplus
        return TOO_CAUTIOUS if surplus < -SURPLUS_ERRORS * error else UNEVEN
    if observed.unforeseen.lower > 0 or observed.unforeseen.value == np.inf:
        return TOO_SURE
    return UNSETTLED if observed.calibration.upper > MAX_CALIBRATION_ERROR else USABLE


def most_missed(hits: Array, codes: Array) -> MissedClass | None:
    """Return the class with the smallest recall, of ties the largest; None if no row is missed."""
    rows = np.bincount(codes)
    misses = np.bincount(codes, 1 - hits).astype(int)
    if not misses.any():
        return None
    recall = 1 - misses / np.maximum(rows, 1)
    code = int(np.lexsort((-rows, recall))[0])
    return MissedClass(code, int(rows[code]), int(misses[code]))


def average_difference(terms: Array) -> Difference:
    """Mean of paired differences and its standard error, `(r,) -> ()`."""
    error = np.inf
    if len(terms) > 1 and np.isfinite(terms).all():
        error = float(terms.std(ddof=1) / np.sqrt(len(terms)))
    return Difference(float(np.mean(terms)), error)


def signed_mean(terms: Array, prob: float = SIGN_PROB) -> Estimate:
    """Mean of terms, with an interval that excludes 0 if the mean clearly has a sign."""
    if not np.isfinite(terms).all():
        total = float(np.sum(terms[~np.isfinite(terms)]))
        return Estimate(total, total, total)
    if len(terms) < MIN_TERMS:
        return Estimate(float(np.mean(terms)), -np.inf, np.inf)
    least = float(np.min(terms))
    return Estimate(*(least + end for end in mean_interval(terms - least, prob)))


def entropy_of(log_proba: Array) -> Array:
    """Entropy of probabilities in nats, `(r, c) -> (r,)`; NaN if a row is impossible under all
    classes.
    """
    p = np.exp(log_proba)
    return np.where(p.max(axis=1) > 0, -xlogy(p, p).sum(axis=1), np.nan)


def calibration_numbers(log_proba: Array, codes: Array, tied: Array | None) -> dict[str, Any]:
    """Calibration of the probabilities of predicted labels, and its values by chance."""
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
    """Upper end of the calibration error of calibrated bins, `(b,), (b,) -> ()`."""
    p = np.clip(predicted, 0, 1)
    rows = np.round(weight).astype(int)
    shares = np.random.default_rng(0).binomial(rows, p, (DRAWS, len(rows))) / rows
    return float(np.quantile(np.abs(shares - p) @ rows / rows.sum(), (1 + BAND) / 2))
