"""Unlabelled rows: expectation-maximisation, with the M step in closed form.

E step: p_ic = p(class c | x_i, D) for each unlabelled row M step: stats = stats of labelled rows +
weight * sum_i p_ic stats of row i in class c

repeated until no probability changes by more than TOLERANCE, at most STEPS times. Nigam, McCallum,
Thrun and Mitchell (2000), Text classification from labeled and unlabeled documents using EM. A
weight below 1 limits the influence of many unlabelled rows, which would outweigh the labelled ones
if the model is wrong.

Exponents are those of the labelled rows: leave-one-out over rows whose labels came from the model
itself would make them too large.

Whether it helps depends on how well the model fits. So weights are compared on held-out labelled
rows, in folds: everything except families, links and the covariance is estimated anew without them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.families.removal import PREDICTIVE
from bayesnb.model.fitted import Fitted, Temper
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import ProductStats, Rows, normalise_log, observe
from bayesnb.model.shards import model_of
from bayesnb.selection.leave_one_out import fold_of_rows

WEIGHTS = (0.1, 0.3, 1.0)  # candidates
FOLDS = 5
# required gain in the log score of held-out labels: nats, and standard errors
MARGIN, ERRORS = 3.0, 1.0
STEPS = 20
TOLERANCE = 1e-3  # of probabilities
NEGLIGIBLE = 1e-12  # smaller weights of a row in a class are dropped


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Labelled rows, cells of unlabelled rows, and how to make a model from their stats."""

    start: Fitted  # from the labelled rows only
    rows: Rows
    cells: Sequence[Cells]
    counts: Array  # weights of the unlabelled rows
    class_prior: ClassPriorRule
    find_temper: Callable[..., Temper]
    n_jobs: int | None

    def without(self, rows: Array) -> "Unlabelled":
        """Leave out some labelled rows, `(r,)`."""
        rest = self.rows.where(~rows)
        stats = observe(rest, len(self.start.classes), self.n_jobs)
        start = self.with_stats(stats)
        start = replace(start, temper=self.find_temper(start.model, rest))
        return replace(self, start=start, rows=rest)

    def with_stats(self, stats: ProductStats) -> Fitted:
        """Return the model with other stats, and the prior and exponents of the start."""
        start = self.start
        shard = replace(start.shard, stats=stats, integer_weights=False)
        model = model_of(shard, self.class_prior, (start.model, start.shard))
        return replace(start, model=model)

    def learn(self, weight: float) -> Fitted:
        """Learn the unlabelled rows, each with this weight."""
        fitted = self.start
        if weight == 0:
            return fitted
        proba = self.predict(fitted, self.cells)
        for _ in range(STEPS):
            stats = self.start.model.stats + self.observe(weight * self.counts[:, None] * proba)
            fitted = self.with_stats(stats)
            before = proba
            proba = self.predict(fitted, self.cells)
            if np.abs(proba - before).max() < TOLERANCE:
                break
        return fitted

    def observe(self, weight: Array) -> ProductStats:
        """Return the stats of the unlabelled rows, given their weight in each class, `(r, c)`."""
        soft = sparse.csc_array(np.where(weight < NEGLIGIBLE, 0.0, weight))
        pairs = zip(self.rows.observers, self.cells, strict=True)
        seen = tuple(see(x, soft, self.n_jobs) for see, x in pairs)
        return ProductStats(DirichletStats(soft.sum(axis=0)), seen)

    def predict(self, fitted: Fitted, cells: Sequence[Cells]) -> Array:
        """Return the probabilities of the classes, `(r, c)`."""
        return np.exp(self.predict_log(fitted, cells))

    def predict_log(self, fitted: Fitted, cells: Sequence[Cells]) -> Array:
        """Return the log probabilities of the classes, `(r, c)`."""
        reader = fitted.model.read(PREDICTIVE)
        return normalise_log(reader.log_joint(cells, fitted.exponents, self.n_jobs))

    def choose_weight(self) -> float:
        """Return the weight that predicts held-out labels best; 0 unless the gain is clear."""
        if len(self.rows.codes) < FOLDS:
            return 0.0
        folds = fold_of_rows(FOLDS, self.rows.codes, 0)
        scores = np.zeros((1 + len(WEIGHTS), len(folds)))
        for fold in range(folds.max() + 1):
            gone = folds == fold
            held_out = self.rows.where(gone)
            rest = self.without(gone)
            for k, weight in enumerate((0.0, *WEIGHTS)):
                log_proba = self.predict_log(rest.learn(weight), held_out.cells)
                own = log_proba[np.arange(len(held_out.codes)), held_out.codes]
                scores[k, gone] = held_out.counts * own
        gains = scores[1:] - scores[0]
        gain = gains.sum(axis=1)
        needed = np.maximum(MARGIN, ERRORS * np.sqrt(len(folds)) * gains.std(axis=1))
        gain[gain <= needed] = 0.0
        return WEIGHTS[int(gain.argmax())] if gain.any() else 0.0
