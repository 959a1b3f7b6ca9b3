"""Hyperparameters that maximise the evidence of columns.

Type-II maximum likelihood, or empirical Bayes: Gelman et al. (2013), Bayesian Data Analysis,
section 5.1. It maximises the probability of the cells given their classes, not that of the classes
given the cells.

The logs of the positive hyperparameters of `Family.tuned` are searched, on the scale of each
column. Gaussian columns may also have a mean, in pooled standard deviations. All except
concentrations are found by L-BFGS-B, from the best of a few starts or of a coarse grid.

For n equal rows the evidence of a Gaussian grows like b^(-n/2) without a maximum, and a few such
columns would drive a prior shared by all columns to variance 0. So they are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from bayesnb.families.base import Array
from bayesnb.families.dirichlet import CONCENTRATION, best_concentration, evidence_terms
from bayesnb.families.family import (
    BOUNDS,
    Family,
    Hyperparameters,
    ordered_hyperparameters,
    positive,
)
from bayesnb.families.gaussian import (
    NORMAL,
    NormalInverseGamma,
    constant,
    weak_prior,
)
from bayesnb.families.multivariate import BLOCK, VectorStats
from bayesnb.families.poisson import RATE
from bayesnb.families.vectors import factor
from bayesnb.model.schema import Block
from bayesnb.numerics.special import ratio

PER = ("model", "feature", "class")
STEP = 1e-4  # of a hyperparameter, for finite differences
EDGE_TOLERANCE = 1e-6  # distance in logs below which a value counts as at the bound
FLAT_TOLERANCE = 1e-6  # differences of log evidence that count as 0


def _grid(*axes: tuple[float, float, int]) -> Array:
    """Grid of powers of 10, given first exponent, last exponent and number for each axis."""
    return np.array(list(product(*(np.logspace(*axis) for axis in axes))))


# Starts, by default the weak prior, in groups: one search starts from the best of each group, as
# there may be several local maxima.
TRIALS = {
    NORMAL: _grid((-6, 6, 7), (-2, 6, 7), (-4, 1, 6))[None],
    RATE: _grid((-6, 6, 7), (-4, 4, 9)).reshape(7, 9, 2),
    BLOCK: np.array([[(0.01, 1.0, 1.0)], [(1.0, 10.0, 1.0)]]),
}


class End(NamedTuple):
    """A hyperparameter whose best value is at a bound, and the columns that share it."""

    kind: Hyperparameters
    name: str
    infinite: bool
    columns: tuple[tuple[int, int], ...]  # block, and feature there
    code: int | None = None  # the class, if it is for one class


class SimilarBlocks(NamedTuple):
    """All blocks with the same hyperparameters; `groups`, `(c, f)` each, say which share values."""

    families: Sequence[Any]  # with hyperparameters
    stats: Sequence[Any]
    groups: Sequence[Array]
    size: int  # number of groups
    per: str

    @property
    def kind(self) -> Hyperparameters:
        return self.families[0].hyperparameters

    def tuned(self, best: Array) -> list[Any]:
        """Return the families with the hyperparameters of each group, `(g, d)`."""
        # number, (f,) or (c, 1)
        rows = {"model": np.s_[0, 0], "feature": np.s_[0], "class": np.s_[:, :1]}[self.per]
        tuned = []
        for family, seen, groups in zip(self.families, self.stats, self.groups, strict=True):
            tuned.append(_tune(family, seen, np.moveaxis(best[groups][rows], -1, 0)))
        return tuned

    def values(self, at: Array) -> Array:
        """Convert logs to hyperparameters, `(d, ...)`; a mean is not on the log scale."""
        size = len(self.kind.names)
        return np.concatenate([positive(at[:size]), at[size:]])

    def log_evidence(self, group: int, at: Array) -> Array:
        """Log evidence of the cells of a group at several points, `(d, s) -> (s,)`."""
        total = np.zeros(at.shape[1])
        values = self.values(at)
        for family, seen, groups in zip(self.families, self.stats, self.groups, strict=True):
            members = groups == group
            if self.kind in (NORMAL, RATE) and not family.shared:  # vectorised over points
                columns = members.any(axis=0)
                members = members[:, columns]
                part = seen[:, columns]
                each = _tune(family, part, values[..., None, None]).prior.log_evidence(part)
            else:
                priors = [_tune(family, seen, place).belief(seen) for place in values.T]
                each = np.array([prior.log_evidence(seen) for prior in priors])
                # classes that share parameters are one row
                members = members[: each.shape[1]]
            total += np.where(members, each, 0.0).sum(axis=(1, 2))
        return total


def _tune(family: Any, seen: Any, values: Any) -> Any:
    """Return a family with these hyperparameters; a Gaussian may have its mean as the last one."""
    size = len(family.hyperparameters.names)
    tuned = family.tuned(seen, *values[:size])
    if len(values) == size:
        return tuned
    weak = weak_prior(seen.pooled())
    mean = weak.location + np.sqrt(weak.scale) * values[size]
    prior = NormalInverseGamma(mean, tuned.prior.count, tuned.prior.shape, tuned.prior.scale)
    return replace(tuned, prior=prior)


def best_by_evidence(
    blocks: Sequence[Block], stats: Sequence[Any], per: str
) -> tuple[list[Family], list[End]]:
    """Return families with the priors of the largest evidence, and hyperparameters at a bound.

    There is one set of hyperparameters for all columns of a kind in the "model", for each
    "feature", or for each "class". Families that cannot be tuned stay as they are; columns whose
    classes share parameters are a separate kind.
    """
    tuned = [block.family for block in blocks]
    ends = []
    for kind, shared in product(ordered_hyperparameters(tuned), (False, True)):
        members = [
            b
            for b, block in enumerate(blocks)
            if block.family.hyperparameters is kind and block.family.shared == shared
        ]
        if not members:
            continue
        columns = [(b, f) for b in members for f in range(len(blocks[b].keys))]
        classes = len(stats[members[0]])
        numbers = {"feature": np.arange(len(columns)), "class": np.arange(classes)[:, None]}
        groups = np.broadcast_to(numbers.get(per, 0), (classes, len(columns)))
        edges = np.cumsum([len(blocks[b].keys) for b in members])[:-1]
        similar = SimilarBlocks(
            [blocks[b].family for b in members],
            [stats[b] for b in members],
            np.split(groups, edges, axis=1),
            int(groups.max()) + 1,
            per,
        )
        search = _search_concentrations if kind is CONCENTRATION else _search_numerically
        best = search(similar)
        for b, family in zip(members, similar.tuned(best), strict=True):
            tuned[b] = family
        ends += _list_ends(kind, best, per, columns)
    return tuned, ends


def _search_concentrations(blocks: SimilarBlocks) -> Array:
    """Return the best concentration of each group, `(g, 1)`."""
    terms = []
    for family, stats, groups in zip(blocks.families, blocks.stats, blocks.groups, strict=True):
        seen = family.seen(stats)
        terms.append(evidence_terms(seen.counts, seen.unit, seen.column, groups))
    return best_concentration(reduce(add, terms), blocks.size)[:, None]


def _search_numerically(blocks: SimilarBlocks) -> Array:
    """Return the best values of each group, `(g, d)`; weak ones if its cells are uninformative."""
    kind = blocks.kind
    groups = []
    for family, seen, numbers in zip(blocks.families, blocks.stats, blocks.groups, strict=True):
        groups.append(np.where(_find_informative(family, seen), numbers, -1))
    blocks = blocks._replace(groups=groups)
    places = np.log(TRIALS.get(kind, np.array([[kind.weak]])))
    weak = np.array(kind.weak)
    bounds = [BOUNDS] * len(weak)
    if kind is NORMAL and blocks.per == "feature":  # the mean is also searched
        places = np.pad(places, ((0, 0), (0, 0), (0, 1)))
        weak = np.append(weak, 0.0)
        bounds.append((-np.inf, np.inf))
    best = np.tile(weak, (blocks.size, 1))
    for group in np.unique(np.hstack([numbers.ravel() for numbers in groups])):
        if group >= 0:
            log_evidence = partial(blocks.log_evidence, group)
            starts = [part[log_evidence(part.T).argmax()] for part in places]
            best[group] = blocks.values(maximise(log_evidence, starts, bounds))
    return best


def _find_informative(family: Any, seen: Any) -> Array:
    """Return whether the cells of a class and column are informative about a prior, `(c, f)`."""
    if family.hyperparameters is NORMAL:
        unbounded = constant(seen) & (seen.count > 1)
        if family.shared:  # all classes have one variance
            unbounded = constant(seen).all(axis=0) & (seen.count > 1).any(axis=0)
        return ~(constant(seen.pooled()) | unbounded)
    if family.hyperparameters is BLOCK:
        return ~_find_unbounded_jointly(seen, family.shared)
    if family.hyperparameters is RATE:
        return seen.events.sum(axis=0) > 0
    return np.array(True)


def maximise(
    log_evidence: Callable[[Array], Array],
    starts: Sequence[Array],
    bounds: Sequence[tuple[float, float]],
) -> Array:
    """Return the maximum of a log evidence, `(d, s) -> (s,)`, by L-BFGS-B from starts, `(d,)`.

    Gradients are central differences, evaluated together. Where the evidence is flat in a positive
    hyperparameter, its value is at the bound.
    """
    low, high = np.transpose(bounds)
    steps = STEP * np.eye(len(low))
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-8, "maxls": 50}

    def loss(at: Array) -> tuple[float, Array]:
        below = np.maximum(at - steps, low)
        above = np.minimum(at + steps, high)
        values = log_evidence(np.vstack([at, below, above]).T)
        before, after = values[1:].reshape(2, -1)
        return -float(values[0]), -ratio(after - before, np.diagonal(above - below))

    def search(start: Array) -> Any:
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    at = min(map(search, starts), key=lambda result: float(result.fun)).x
    for _ in range(2):  # restarts discard the old approximation of the curvature
        at = search(at).x
    for axis in np.flatnonzero(low == BOUNDS[0]):
        places = np.tile(at, (3, 1))
        places[1:, axis] = BOUNDS
        heights = log_evidence(places.T) - [FLAT_TOLERANCE, 0.0, 0.0]
        at = places[heights.argmax()]
    return np.asarray(at)


def _find_unbounded_jointly(stats: VectorStats, shared: bool) -> Array:
    """Return classes whose scatter is singular, `(c, 1)`; all together if they share a covariance.

    Few rows always have a singular scatter; they count only if a column is constant.
    """
    more = np.maximum(stats.count[:, 0] - 1, 0)
    scatter = stats.scatter[:, 0]
    equal = constant(stats.columns)
    if shared:
        more = more.sum(keepdims=True)
        scatter = scatter.sum(axis=0, keepdims=True)
        equal = equal.all(axis=0, keepdims=True)
    flat = np.isnan(factor(scatter)).any(axis=(1, 2))
    bad = (more >= scatter.shape[-1]) & flat | (more > 0) & equal.any(axis=1)
    return np.broadcast_to(bad, len(stats))[:, None]


def _list_ends(
    kind: Hyperparameters, best: Array, per: str, columns: Sequence[tuple[int, int]]
) -> list[End]:
    """Return the hyperparameters, `(g, d)`, that are at a bound."""
    ends = []
    for name, logs in zip(kind.names, np.log(best[:, : len(kind.names)]).T, strict=True):
        for infinite, end in enumerate(BOUNDS):
            groups = np.flatnonzero(np.abs(logs - end) <= EDGE_TOLERANCE).tolist()
            if per == "class":
                ends += [End(kind, name, bool(infinite), tuple(columns), c) for c in groups]
            elif groups:
                where = columns if per == "model" else [columns[f] for f in groups]
                ends.append(End(kind, name, bool(infinite), tuple(where)))
    return ends
