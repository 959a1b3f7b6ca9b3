"""How good a model is on rows that are held out: computed once, when a section first asks."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesnb import results
from bayesnb.criticism.held_out_scores import observe_held_out, one_exponent, row_widths
from bayesnb.estimators.tempering import as_attributes
from bayesnb.families.base import Array
from bayesnb.model.product import Product
from bayesnb.report.remedies import TEMPER
from bayesnb.report.wording import INTERVAL
from bayesnb.selection.leave_one_out import PredictiveRule, leave_one_out
from bayesnb.selection.probability_scores import (
    CurveOptions,
    Estimate,
    calibrated,
    mean_interval,
    right,
    share_interval,
)
from bayesnb.selection.verdict import Observed, Verdict, blind_loss, entropy_of, judge, signed_mean

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts

BINS = 10
WORDS, VALUES, NUMBERS = 8e-5, 3.5e-4, 7e-6  # seconds for a class's column: of words, of few values, of numbers
BIN = 2e-5  # for each bin of a column's grid: k (k + 1) / 2 of k levels
LEFT_OUT = 1.3e-3  # seconds, at most, in which all rows are left out of a class's column on a grid
SEARCHED = 4e-4  # seconds to search the prior of a class's column on a grid, where there are many
BIN_EXPLAINED = 2.6e-7  # for each bin of a class's column, to explain a row
DRAWN = {"density": 8e-5, "levels": 9e-4, "mass": 1e-4}  # seconds for the draws of a class's column
DRAWN_LEVEL, DRAWN_ROW = 1.2e-4, 0.01  # for those of each of its levels; for a row, whatever its columns


@dataclass(frozen=True, eq=False)
class ScoreLine:
    """Scores of predictions of labelled rows. `unanswered` of them are impossible under every class."""

    name: str
    rows: int
    accuracy: Estimate
    log_loss: Estimate
    brier: Estimate
    impossible: int = 0
    unanswered: int = 0

    @classmethod
    def of(cls, name: str, log_proba: Array, codes: Array, prob: float = INTERVAL) -> "ScoreLine":
        """Return the scores of log p(y | x) and labels, `(r, c), (r,)`."""
        label_log_proba = log_proba[np.arange(len(codes)), codes]
        gaps = np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]
        hits = int(right(log_proba, codes).sum())
        return cls(
            name,
            len(codes),
            share_of(hits, len(codes) - hits, prob),
            mean_interval(-label_log_proba, prob),
            mean_interval((gaps**2).sum(axis=1), prob, 2.0),
            int(np.isneginf(label_log_proba).sum()),
            int(np.isneginf(log_proba.max(axis=1)).sum()),
        )


def share_of(hits: float, misses: float, prob: float = INTERVAL) -> Estimate:
    """A share with its interval, that of the posterior under Jeffreys' prior, Beta(1/2, 1/2)."""
    low, high = share_interval(np.asarray(hits), np.asarray(misses), prob)
    return Estimate(hits / (hits + misses), float(low), float(high))


class Tempered(NamedTuple):
    """The exponent of temper="loo", its scores, and how they differ from those without."""

    power: float
    line: ScoreLine
    gain: Estimate  # of log loss, a row
    over_constant: Estimate  # gain of log loss over the best constant guess
    changed: int  # rows of which another label is the most probable


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores, calibration and costs of the held-out rows."""

    facts: "Facts"

    @cached_property
    def defined(self) -> Array:
        """The rows that can be held out."""
        return ~np.isnan(self.facts.left_out).any(axis=1)

    @property
    def log_proba(self) -> Array:
        return self.facts.left_out[self.defined]

    @property
    def codes(self) -> Array:
        return self.facts.codes[self.defined]

    @cached_property
    def held(self) -> ScoreLine | None:
        """The scores of the rows that can be held out, if any can."""
        return (
            ScoreLine.of("Held out, one row at a time", self.log_proba, self.codes, self.facts.prob)
            if self.defined.any()
            else None
        )

    @cached_property
    def fitted(self) -> ScoreLine:
        return ScoreLine.of("On the training rows", self.facts.fitted, self.facts.codes, self.facts.prob)

    @cached_property
    def tested(self) -> ScoreLine | None:
        test = self.facts.test
        return None if test is None else ScoreLine.of(f"Test table, {len(test[1]):,} rows", *test, self.facts.prob)

    @cached_property
    def constant(self) -> ScoreLine:
        """The best constant prediction, without the columns: the shares of the classes."""
        with np.errstate(divide="ignore"):
            shares = np.log(self.facts.counts / self.facts.counts.sum())
        shares = np.broadcast_to(shares, self.facts.left_out.shape)
        return ScoreLine.of("Constant guess (class shares)", shares, self.facts.codes, self.facts.prob)

    @cached_property
    def observed(self) -> Observed | None:
        """The numbers of the verdict; None, where no row can be held out."""
        tempered = self.one_exponent if self.defined.all() else None
        return observe_held_out(self.facts.model, self.facts.rows, self.facts.left_out, tempered)

    @property
    def verdict(self) -> Verdict | None:
        """Words for labels and probabilities; None, where no row can be held out."""
        return None if self.observed is None else judge(self.observed, self.facts.short_classes)

    @cached_property
    def test_verdict(self) -> Verdict | None:
        """Words for labels and probabilities of the test table."""
        return None if self.facts.test is None else judge(Observed.of(*self.facts.test), self.facts.short_classes)

    @cached_property
    def one_exponent(self) -> Any:
        """What temper="loo" would give, where that is known."""
        return one_exponent(self.facts.model, self.facts.rows, self.facts.left_out)

    @cached_property
    def tempered(self) -> Tempered | None:
        """Scores of what temper="loo" would give, where that is known."""
        if self.one_exponent is None:
            return None
        facts, (power, log_proba) = self.facts, self.one_exponent
        label_log_proba = facts.of_labels(log_proba)
        return Tempered(
            power,
            ScoreLine.of(f"Held out, with {TEMPER} ({power:.2g})", log_proba, facts.codes, facts.prob),
            signed_mean(label_log_proba - facts.label_log_proba),
            signed_mean(blind_loss(facts.counts, facts.codes) + label_log_proba),
            int((log_proba.argmax(axis=1) != facts.left_out.argmax(axis=1)).sum()),
        )

    @cached_property
    def widths(self) -> list[float]:
        """Cells of a row in every block: of words those that are there."""
        return row_widths(self.facts.model, self.facts.cells)

    @property
    def width(self) -> float:
        return sum(self.widths)

    @property
    def cost(self) -> float:
        """Rows x classes x columns."""
        return self.facts.left_out.size * self.width

    @cached_property
    def row_seconds(self) -> float:
        """Seconds that the distribution of a row's probabilities takes, about: computed, or drawn where it must be.

        Draws are of all levels of a column, and of the words that the row has.
        """
        if self.facts.model.model_.posterior.closed:
            return self.transforms
        families = [block.family for block in self.facts.model.schema_.blocks]
        each = [0.0 if x.has_levels else DRAWN["mass"] if x.words else DRAWN[x.picture] for x in families]
        return DRAWN_ROW + len(self.facts.classes) * (np.dot(each, self.widths) + DRAWN_LEVEL * self.levels)

    @cached_property
    def transforms(self) -> float:
        """Seconds that the distribution of a row's scores takes, about: more where cells are on a grid."""
        families = [block.family for block in self.facts.model.schema_.blocks]
        each = [WORDS if x.words else NUMBERS if x.continuous else VALUES for x in families]
        return len(self.facts.classes) * (np.dot(each, self.widths) + BIN * self.bins)

    @cached_property
    def grid_sizes(self) -> list[int]:
        """Levels of each column that is on a grid."""
        grids = [grid for block in self.facts.model.schema_.blocks for _, grid in block.grids()]
        return [size for grid in grids for size in grid.sizes]

    @property
    def bins(self) -> int:
        """Bins of all columns that are on a grid."""
        return sum(size * (size + 1) // 2 for size in self.grid_sizes)

    @property
    def column_seconds(self) -> float:
        """Seconds, at most about, in which all rows are left out of a column on a grid, by which most time is taken."""
        return LEFT_OUT * len(self.facts.classes)

    @property
    def left_out_seconds(self) -> float:
        """Seconds, at most about, in which all rows are left out of all columns on grids: one setting of the priors."""
        return self.column_seconds * len(self.grid_sizes)

    @property
    def search_seconds(self) -> float:
        """Seconds, about, that the search for the best priors takes; of a small table it is one at most."""
        return SEARCHED * len(self.facts.classes) * len(self.grid_sizes)

    @property
    def explanation_seconds(self) -> float:
        """Seconds, about, in which a row is explained."""
        return BIN_EXPLAINED * len(self.facts.classes) * self.bins

    @property
    def levels(self) -> int:
        """Levels of all columns that have a table of them; a block's combinations are looked up one by one."""
        blocks = self.facts.model.schema_.blocks
        return sum(sum(block.sizes) for block in blocks if block.family.has_levels and not block.family.multivariate)

    @cached_property
    def answered(self) -> Array:
        """The rows that have an answer when they are held out: they are possible under some class."""
        return np.isfinite(self.facts.left_out.max(axis=1))

    @cached_property
    def calibration(self) -> Any:
        """The result of `bayesnb.calibration` for the rows that have an answer when they are held out."""
        plan, model = CurveOptions(BINS, self.facts.prob, np.random.default_rng(0)), self.facts.model
        where = np.flatnonzero(self.answered)
        codes, weight = self.facts.codes[where], np.ones(len(where))
        result = calibrated(self.facts.left_out[where], codes, weight, plan)
        attrs = {
            "leave_one_out": model._selection_note() or "exact",
            "estimate": model.estimate,
            **as_attributes(model._known_temper),
            "ci_prob": self.facts.prob,
            "bins": BINS,
            "impossible": int(np.isneginf(self.facts.label_log_proba[where]).sum()),
        }
        labels = np.array(self.facts.classes, object)
        return results.calibrations.calibration(result, where, labels, codes, weight, attrs)

    @cached_property
    def entropy(self) -> Array:
        """Entropy of the held-out probabilities of each row, in nats; NaN where there are none, `(r,)`."""
        return entropy_of(self.facts.left_out)

    @cached_property
    def log_density(self) -> Array:
        """log p(x | all other rows) of each row, whatever its class, `(r,)`; no temper enters. NaN where undefined."""
        model = self.facts.model
        with np.errstate(invalid="ignore"):
            way = PredictiveRule(power=model._once)
            joint = leave_one_out(model.model_, self.facts.rows, way, n_jobs=model.n_jobs)
            return np.logaddexp.reduce(model.model_.posterior.with_base(joint, self.facts.cells), axis=1)


def settled(belief: Product) -> bool:
    """Whether every class that is possible has a distribution in every column."""
    return bool(np.all([block.proper.all(axis=-1) | ~belief.live for block in belief.blocks]))
