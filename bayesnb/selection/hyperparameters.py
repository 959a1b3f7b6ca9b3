"""Priors under which the data are most probable: the evidence of columns, maximised over a few
hyperparameters.

Type-II maximum likelihood, or empirical Bayes: Gelman et al. (2013), Bayesian Data Analysis,
section 5.1. It asks how probable the cells are given their classes, not the classes given the
cells.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import reduce
from itertools import pairwise, product
from operator import add
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array, Stats
from bayesnb.families.dirichlet import CONCENTRATION
from bayesnb.families.dirichlet_evidence import best_concentration, evidence_terms
from bayesnb.families.family import (
    BOUNDS,
    LEAST,
    MOST,
    Family,
    Hyperparameters,
    ordered_hyperparameters,
    positive,
)
from bayesnb.families.gaussian import NORMAL, NormalInverseGamma
from bayesnb.families.multivariate import BLOCK
from bayesnb.families.poisson import RATE
from bayesnb.model.schema import Block
from bayesnb.selection.prior_evidence import (
    EDGE_TOLERANCE,
    GaussianEvidence,
    PoissonEvidence,
    find_unbounded,
    find_unbounded_jointly,
    maximise,
    standardise_gaussian,
    standardise_poisson,
)

PER = ("model", "feature", "class")
# of numerical searches; by default the weak prior
STARTS = {BLOCK: ((0.01, 1.0, 1.0), (1.0, 10.0, 1.0))}


class End(NamedTuple):
    """A hyperparameter that is better without end the larger, or the smaller, it is.

    `columns` are those that share it.
    """

    kind: Hyperparameters
    name: str
    infinite: bool
    columns: tuple[tuple[int, int], ...]  # block, and feature there
    code: int | None = None  # of the class, if it is one class's


class SimilarBlocks(NamedTuple):
    """All blocks with the same hyperparameters.

    `groups`, `(c, f)`, says which cells of their columns share values.
    """

    families: Sequence[Any]  # with hyperparameters
    stats: Sequence[Any]
    spans: Sequence[slice]
    groups: Array
    per: str

    @property
    def kind(self) -> Hyperparameters:
        return self.families[0].hyperparameters

    @property
    def shared(self) -> bool:
        return self.families[0].shared

    @property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    @property
    def side_by_side(self) -> Any:
        """The stats of all columns."""
        return self.stats[0].map(lambda *arrays: np.hstack(arrays), *self.stats[1:])

    def tuned(self, best: Array) -> list[Family]:
        """Return the families with the hyperparameters of each group, `(g, d)`."""
        # number, (f,) or (c, 1)
        rows = {"model": np.s_[0, 0], "feature": np.s_[0], "class": np.s_[:, :1]}[self.per]
        return [
            family.tuned(seen, *(values[self.groups[:, span]][rows] for values in best.T))
            for family, seen, span in zip(self.families, self.stats, self.spans, strict=True)
        ]


def best_by_evidence(
    blocks: Sequence[Block], stats: Sequence[Any], per: str
) -> tuple[list[Family], list[End]]:
    """Return families with the priors of the largest evidence.

    With them come the hyperparameters that have none within reach.

    One set of hyperparameters for all columns of a kind in the "model", for each "feature" or
    for each "class". Families that cannot be tuned are as they were; columns whose classes have
    parameters in common are a kind of their own.
    """
    families = [block.family for block in blocks]
    widths = [len(block.keys) for block in blocks]
    tuned = list(families)
    ends = []
    for kind, shared in product(ordered_hyperparameters(families), (False, True)):
        members = [
            b
            for b, family in enumerate(families)
            if family.hyperparameters is kind and family.shared == shared
        ]
        if not members:
            continue
        edges = np.cumsum([0, *(widths[b] for b in members)])
        spans = [slice(int(start), int(stop)) for start, stop in pairwise(edges)]
        groups = _groups(per, len(stats[members[0]]), int(edges[-1]))
        similar = SimilarBlocks(
            [families[b] for b in members], [stats[b] for b in members], spans, groups, per
        )
        made, best = SEARCHES.get(kind, _search_numerically)(similar)
        for b, family in zip(members, made, strict=True):
            tuned[b] = family
        ends += _ends(kind, best, per, [(b, f) for b in members for f in range(widths[b])])
    return tuned, ends


def _groups(per: str, classes: int, columns: int) -> Array:
    """Number the classes and columns that share hyperparameters, `(c, f)`."""
    numbers = {
        "model": np.zeros((1, 1), int),
        "feature": np.arange(columns),
        "class": np.arange(classes)[:, None],
    }
    return np.broadcast_to(numbers[per], (classes, columns))


def _search_concentrations(blocks: SimilarBlocks) -> tuple[list[Family], Array]:
    counted = (
        family.seen(seen) for family, seen in zip(blocks.families, blocks.stats, strict=True)
    )
    terms = (
        evidence_terms(seen.counts, seen.unit, seen.column, blocks.groups[:, span])
        for seen, span in zip(counted, blocks.spans, strict=True)
    )
    best = best_concentration(reduce(add, terms), blocks.size)[:, None]
    return blocks.tuned(best), best


def _search_normals(blocks: SimilarBlocks) -> tuple[list[Family], Array]:
    """Search count, shape and scale.

    With per="feature" the mean too, in pooled standard deviations.
    """
    stats = blocks.side_by_side
    free = blocks.per == "feature"
    cells, mean, variance = standardise_gaussian(stats)
    pooled = cells.pooled()
    varies = pooled.ssd > 0.5 * pooled.count  # not so of a constant column
    groups = np.where(varies & ~find_unbounded(stats, blocks.shared), blocks.groups, -1)
    if blocks.shared:  # whose groups are columns
        cells = cells.map(np.transpose)
        groups = groups[0]

    def evidence(group: Any) -> GaussianEvidence:
        if blocks.shared:  # `(c, k)`, of columns with one variance each
            return GaussianEvidence(group.map(np.transpose), free, shared=True)
        return GaussianEvidence(group, free)

    best = _best(
        evidence,
        cells,
        groups,
        np.tile((*NORMAL.weak, 0.0) if free else NORMAL.weak, (blocks.size, 1)),
    )
    families: list[Any] = blocks.tuned(best[:, :3])
    if free:
        middle = mean + np.sqrt(variance) * best[:, 3]
        families = [
            replace(family, prior=NormalInverseGamma(middle[span], *astuple(family.prior)[1:]))
            for family, span in zip(families, blocks.spans, strict=True)
        ]
    return families, best[:, :3]


def _search_rates(blocks: SimilarBlocks) -> tuple[list[Family], Array]:
    cells = standardise_poisson(blocks.side_by_side)
    groups = np.where(cells.events.sum(axis=0) > 0, blocks.groups, -1)
    best = _best(PoissonEvidence, cells, groups, np.tile(RATE.weak, (blocks.size, 1)))
    return blocks.tuned(best), best


def _search_numerically(blocks: SimilarBlocks) -> tuple[list[Family], Array]:
    """Search the hyperparameters of any family, by the log evidence of its `tuned` prior."""
    groups = blocks.groups
    if blocks.kind is BLOCK:
        groups = np.where(
            np.hstack([find_unbounded_jointly(seen, blocks.shared) for seen in blocks.stats]),
            -1,
            groups,
        )

    def evidence(logs: Array, group: int) -> float:
        total = 0.0
        for family, seen, span in zip(blocks.families, blocks.stats, blocks.spans, strict=True):
            each = family.tuned(seen, *positive(logs)).belief(seen).log_evidence(seen)
            # where classes have parameters in common, it is one row
            members = groups[: len(each), span] == group
            total += each[np.broadcast_to(members, each.shape)].sum()
        return total

    best = np.tile(blocks.kind.weak, (blocks.size, 1)).astype(float)
    starts = np.log(STARTS.get(blocks.kind, (blocks.kind.weak,)))
    bounds = [BOUNDS] * starts.shape[1]
    for group in np.unique(groups[groups >= 0]):

        def log_evidence(places: Array, group: int = group) -> Array:
            return np.array([evidence(logs, group) for logs in places.T])

        best[group] = positive(maximise(log_evidence, starts, bounds))
    return blocks.tuned(best), best


# Families with many columns alike, whose evidence is quick to compute at several places.
SEARCHES: dict[Hyperparameters, Callable[[SimilarBlocks], tuple[list[Family], Array]]] = {
    CONCENTRATION: _search_concentrations,
    NORMAL: _search_normals,
    RATE: _search_rates,
}


def _best(evidence: Callable[[Any], Any], cells: Stats, groups: Array, weak: Array) -> Array:
    """Return the best values of each group, `(g, d)`, the positive ones no longer in logs.

    Those of a group without cells are weak.
    """
    best = weak.astype(float)
    for group in np.unique(groups[groups >= 0]):
        logs = evidence(cells[groups == group]).best()
        best[group] = np.concatenate([positive(logs[:3]), logs[3:]])
    return best


def _ends(
    kind: Hyperparameters, best: Array, per: str, columns: Sequence[tuple[int, int]]
) -> list[End]:
    """Return the hyperparameters that are at an end of their range."""
    ends = []
    for name, values in zip(kind.names, np.log(best).T, strict=True):
        for infinite, at in (
            (False, values <= np.log(LEAST) + EDGE_TOLERANCE),
            (True, values >= np.log(MOST) - EDGE_TOLERANCE),
        ):
            for group in np.flatnonzero(at).tolist() if per == "class" else []:
                ends.append(End(kind, name, infinite, tuple(columns), group))
            if per != "class" and at.any():
                where = (
                    columns
                    if per == "model"
                    else [columns[group] for group in np.flatnonzero(at).tolist()]
                )
                ends.append(End(kind, name, infinite, tuple(where)))
    return ends
