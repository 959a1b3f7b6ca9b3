"""Comparing smoothings, that is priors, by leave-one-out on rows that were learnt, and searching
for the best.

The data are counted once; a smoothing changes only the prior, and one pass over the rows gives the
leave-one-out scores. The search for the best log score of the labels is coarse, then fine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from bayesnb.families.base import Array
from bayesnb.families.family import (
    BOUNDS,
    Family,
    Hyperparameters,
    ordered_hyperparameters,
    positive,
)
from bayesnb.model.powers import Exponents, of_blocks
from bayesnb.model.product import Model, Product, Rows, normalise_log
from bayesnb.model.schema import Schema
from bayesnb.selection.hyperparameters import EDGE_TOLERANCE, End
from bayesnb.selection.leave_one_out import (
    Pointwise,
    PredictiveRule,
    leave_one_out,
)
from bayesnb.selection.link_search import relink
from bayesnb.selection.probability_scores import brier_of_rows, ece, right, tie_rows

BINS = 10  # of the calibration error
ESTIMATES = ("map", "mean", "predictive", "mle")
PREFERRED = ("predictive", "mean", "map", "mle")  # among equally good estimates, the first
SCORE_TOLERANCE = 1e-10  # relative difference up to which scores are equal
SIZES = np.linspace(*BOUNDS, 17)
SCALES = np.log(10.0) * np.arange(-2.0, 3.0)
MEAN_TOLERANCE = 1e-9  # difference up to which mean log scores are equal
LOG_TOLERANCE = 1e-3  # of the fine search, in logs
MAX_SCORES = 300  # most evaluations of the fine search
Place = tuple[int, int, int]  # a block, a column there, and a class or a level


class Setting(NamedTuple):
    """A smoothing and an estimate."""

    smoothing: float
    estimate: str

    @property
    def concentration(self) -> float:
        """Concentration of a symmetric Dirichlet prior; NaN for "mle", which has no prior."""
        return float("nan") if self.estimate == "mle" else self.smoothing + (self.estimate == "map")


class Outcome(NamedTuple):
    """Leave-one-out scores of a setting."""

    setting: Setting
    log_evidence: float
    log_scores: Array  # `(r,)`, log p(y | x, all other rows)
    scores: dict[str, float]  # accuracy, brier and ece
    # column and class without a proper distribution, so that no row has a score
    improper: Place | None


@dataclass(frozen=True, eq=False)
class PriorVariants:
    """Models that have learnt the same rows as `learnt`, under other priors of the columns."""

    schema: Schema
    learnt: Model
    rows: Rows
    rule: PredictiveRule
    # exponents of the joint distribution, which has an evidence: 0 for links outside the forest
    once: Exponents = 1.0
    n_jobs: int | None = None

    @property
    def families(self) -> list[Family]:
        return [block.family for block in self.schema.blocks]

    @cached_property
    def tied(self) -> Array:
        """Codes of rows that the model cannot distinguish: see `tie_rows`."""
        reader = self.learnt.read(self.rule.kind)
        joint = reader.log_joint(self.rows.cells, self.rule.power, self.n_jobs)
        return tie_rows(normalise_log(joint))

    def start(self, families: Sequence[Family]) -> Model:
        """Return the model with these families, block by block."""
        stats = self.learnt.stats
        blocks = zip(self.schema.blocks, families, strict=True)
        changed = tuple(replace(block, family=family) for block, family in blocks)
        schema = relink(replace(self.schema, blocks=changed), stats.blocks)
        priors = [
            block.belief(seen) for block, seen in zip(schema.blocks, stats.blocks, strict=True)
        ]
        return Model(Product(self.learnt.prior.classes, tuple(priors)), stats)

    def outcome(self, setting: Setting) -> Outcome:
        """Score a setting."""
        model = self.learnt
        smoothing, kind = setting
        if kind != "mle":
            families = []
            for family, seen in zip(self.families, model.stats.blocks, strict=True):
                families.append(family.smoothed(seen, smoothing, kind))
            model = self.start(families)
        log_proba = self.left_out(model, kind)
        codes = self.rows.codes
        weight = self.rows.counts
        scores = dict.fromkeys(("accuracy", "brier", "ece"), float("nan"))
        if not np.isnan(log_proba).any():
            scores = {
                "accuracy": float(np.average(right(log_proba, codes), weights=weight)),
                "brier": float(np.average(brier_of_rows(log_proba, codes), weights=weight)),
                "ece": ece(log_proba, codes, weight, BINS, self.tied),
            }
        improper = find_improper(model, kind)
        evidence = self.log_evidence(model, kind)
        return Outcome(setting, evidence, self.of_labels(log_proba), scores, improper)

    def left_out(self, model: Model, estimate: str) -> Array:
        """log p(y | x, all rows but this one), `(r, c)`.

        NaN where the other rows leave no proper distribution.
        """
        if find_improper(model, estimate):
            return np.full((len(self.rows.codes), len(model.stats.classes)), np.nan)
        rule = self.rule._replace(kind=estimate)
        return normalise_log(leave_one_out(model, self.rows, rule, n_jobs=self.n_jobs))

    def log_evidence(self, model: Model, estimate: str) -> float:
        """log p(X, y | prior); NaN without a prior, or with an improper one."""
        prior = model.prior
        proper = all(belief.strictly_proper.all() for belief in (prior.classes, *prior.blocks))
        if estimate == "mle" or not proper:
            return float("nan")
        total, blocks = prior.log_evidence(model.stats)
        for terms, once in zip(blocks, of_blocks(self.once, len(blocks)), strict=True):
            total += float(np.sum(terms * once))
        return total

    def of_labels(self, log_proba: Array) -> Array:
        return log_proba[np.arange(len(log_proba)), self.rows.codes]


def find_improper(model: Model, estimate: str) -> Place | None:
    """Return the first column and class without a proper distribution, if there is one."""
    reader = model.read(estimate)
    for b, block in enumerate(reader.blocks):
        bad = ~block.proper & reader.live[:, None]
        if bad.any():
            code, column = np.argwhere(bad)[0].tolist()
            return b, column, code
    return None


def differences_from_best(
    outcomes: Sequence[Outcome], counts: Array
) -> tuple[dict[str, Array], int | None]:
    """Compare settings by the leave-one-out log score of the labels, for rows with positive
    weights.

    Return the scores and their differences from the best, with standard errors, `(n,)` each, and
    the index of the best, None if no score is defined.
    """

    def sums(terms: Sequence[Array]) -> Array:
        scores = [Pointwise(each, each, counts) for each in terms]
        return np.array([[each.total, each.se] for each in scores])

    elpd, se = sums([outcome.log_scores for outcome in outcomes]).T
    best = _best(outcomes, elpd)
    diff = np.full((len(elpd), 2), np.nan)
    if best is not None:
        with np.errstate(invalid="ignore"):  # rows that are impossible under both
            diff = sums([outcome.log_scores - outcomes[best].log_scores for outcome in outcomes])
            diff[:, 0] = np.where(np.isfinite(elpd), diff[:, 0], elpd - elpd[best])
        diff[:, 0] = np.minimum(diff[:, 0], 0.0)
        diff[best] = 0.0
    return {"elpd_loo": elpd, "se": se, "elpd_diff": diff[:, 0], "diff_se": diff[:, 1]}, best


def _best(outcomes: Sequence[Outcome], elpd: Array) -> int | None:
    """Return the index of the largest score; among equal ones, of the preferred estimate."""
    if np.isnan(elpd).all():
        return None
    top = np.nanmax(elpd)
    slack = SCORE_TOLERANCE * abs(top) if np.isfinite(top) else 0.0
    good = np.flatnonzero(elpd >= top - slack).tolist()
    return min(good, key=lambda n: (PREFERRED.index(outcomes[n].setting.estimate), n))


def best_by_loo(variants: PriorVariants, estimate: str) -> tuple[list[Family], list[End]]:
    """Return families with the priors of the best leave-one-out log score, and factors at a bound.

    All columns of a kind share one factor for the smoothing, and one for the variance that Gaussian
    priors expect. Families that cannot be tuned stay as they are.
    """
    search = SmoothingSearch(variants, estimate)
    kinds = ordered_hyperparameters(variants.families)
    at = np.zeros(len(search.factors))
    for kind in kinds * min(2, len(kinds)):
        at = search.coarse(at, kind)
    if search.score(at) == -np.inf:
        raise ValueError(
            "criterion='loo': whatever the smoothing, some left-out rows have probability 0, or "
            f"an undefined one, under estimate={estimate!r}, such as the only row of a class. Use "
            "estimate='predictive', or another class_prior."
        )
    at = search.fine(at)
    return search.families(at), search.ends(at)


@dataclass(frozen=True, eq=False)
class SmoothingSearch:
    """The mean leave-one-out log score of the labels as a function of log factors of the priors."""

    variants: PriorVariants
    estimate: str

    @cached_property
    def factors(self) -> list[tuple[Hyperparameters, str]]:
        """The factors; families with the same hyperparameters share them."""
        return [
            (kind, name)
            for kind in ordered_hyperparameters(self.variants.families)
            for name in kind.factors
        ]

    def families(self, at: Array) -> list[Family]:
        values = dict(zip(self.factors, positive(at).tolist(), strict=True))
        families = []
        variants = self.variants
        for family, seen in zip(variants.families, variants.learnt.stats.blocks, strict=True):
            kind = family.hyperparameters
            if kind is not None:
                strength = values[kind, kind.factors[0]]
                scale = values.get((kind, "scale"), 1.0)
                family = family.smoothed(seen, strength, self.estimate, scale)
            families.append(family)
        return families

    def score(self, at: Array) -> float:
        """Return the mean log score, or minus infinity if it is undefined."""
        variants = self.variants
        counts = variants.rows.counts
        log_proba = variants.left_out(variants.start(self.families(at)), self.estimate)
        seen = counts > 0
        value = float(counts[seen] @ variants.of_labels(log_proba)[seen] / counts.sum())
        return value if np.isfinite(value) else -np.inf

    def coarse(self, at: Array, kind: Hyperparameters) -> Array:
        """Return the best point of a grid of sizes, or of sizes and scales, of one kind of prior.

        Among equally good ones, the nearest to 1. If nothing beats a practically infinite prior,
        and the default is worse, that prior.
        """
        places = [place for place, factor in enumerate(self.factors) if factor[0] is kind]
        axes = [SIZES] if len(places) == 1 else [SIZES[::2], SCALES]
        candidates = np.array(list(product(*axes)))
        grid = np.tile(at, (len(candidates), 1))
        grid[:, places] = candidates
        values = np.array([self.score(each) for each in grid])
        top = values.max()
        if top == -np.inf:
            return at
        good = values >= top - MEAN_TOLERANCE * max(1.0, abs(top))
        far = np.abs(candidates).sum(axis=1)
        endless = good & (candidates[:, 0] == SIZES[-1])
        if endless.any() and not good[far == 0].any():
            good = endless
        return grid[np.where(good, far, np.inf).argmin()]

    def fine(self, at: Array) -> Array:
        """Return the best point nearby, by Nelder-Mead over the factors that are not at the upper
        bound.
        """
        free = np.flatnonzero(at < BOUNDS[1] - EDGE_TOLERANCE)
        if not len(free):
            return at

        def move(values: Array) -> Array:
            there = at.copy()
            there[free] = values
            return there

        def loss(values: Array) -> float:
            return -self.score(move(values))

        inward = np.diag(np.where(at[free] > 0, -1.0, 1.0))
        options = {
            "initial_simplex": at[free] + np.vstack([np.zeros(len(free)), inward]),
            "xatol": LOG_TOLERANCE,
            "fatol": MEAN_TOLERANCE,
            "maxfev": MAX_SCORES,
        }
        bounds = [BOUNDS] * len(free)
        result = minimize(loss, at[free], method="Nelder-Mead", bounds=bounds, options=options)
        there = move(result.x)
        return there if self.score(there) > self.score(at) else at

    def ends(self, at: Array) -> list[End]:
        """Return the factors that are at a bound, with their columns."""
        ends = []
        for (kind, name), log in zip(self.factors, at, strict=True):
            if np.abs(np.subtract(BOUNDS, log)).min() <= EDGE_TOLERANCE:
                columns = []
                for b, block in enumerate(self.variants.schema.blocks):
                    if block.family.hyperparameters is kind:
                        columns += [(b, f) for f in range(len(block.keys))]
                ends.append(End(kind, name, bool(log > 0), tuple(columns)))
        return ends
