"""Priors under which the data are most probable: the evidence of columns, maximised over a few dials of their priors.

Type-II maximum likelihood, or empirical Bayes: Gelman et al. (2013), Bayesian Data Analysis, section 5.1. It asks
how probable the cells are given their classes, not the classes given the cells.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise, product
from operator import add
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Stats
from bayesnb.families.dirichlet import CONCENTRATION
from bayesnb.families.family import Family, Hyperparameters, ordered_hyperparameters
from bayesnb.families.gaussian import NORMAL
from bayesnb.families.multivariate import BLOCK
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.poisson import RATE, Gamma
from bayesnb.selection import gamma_evidence, gaussian_evidence, wishart_evidence
from bayesnb.selection.ascent import EDGE, LEAST, MOST, positive
from bayesnb.selection.dirichlet_evidence import best_concentration, throws

Array = np.ndarray
PER = ("model", "feature", "class")
BLOCK_STARTS = ((0.01, 1.0, 1.0), (1.0, 10.0, 1.0))
START = 0.0  # of a Gaussian column's mean, on the scale of its pooled standard deviation


class End(NamedTuple):
    """A dial for which more, or less, is always better: for some columns, or for a class in all of its kind."""

    kind: Hyperparameters
    dial: str
    infinite: bool
    columns: tuple[tuple[int, int], ...]  # block, and feature there
    code: int | None = None


class Kin(NamedTuple):
    """All blocks of a kind: their columns lie side by side, and `groups`, `(c, f)`, says whose dials are one."""

    families: Sequence[Family]
    stats: Sequence[Any]
    spans: Sequence[slice]
    groups: Array
    per: str

    @property
    def kind(self) -> Hyperparameters:
        return self.families[0].hyperparameters  # type: ignore[return-value]

    @property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    @property
    def together(self) -> Any:
        """The stats of all columns."""
        return self.stats[0].map(lambda *arrays: np.hstack(arrays), *self.stats[1:])

    def shared(self, values: Array, span: slice) -> Array:
        """The groups' values for some columns: one number, `(f,)` or `(c, 1)`."""
        by_cell = values[self.groups[:, span]]
        return {"model": by_cell[0, 0], "feature": by_cell[0], "class": by_cell[:, :1]}[self.per]


def most_probable(
    families: Sequence[Family], stats: Sequence[Any], widths: Sequence[int], per: str
) -> tuple[list[Family], list[End]]:
    """The families with priors of the largest evidence, and the dials that have none within reach.

    One set of dials for all columns of a kind in the "model", for each "feature", of which a block has as many as
    it is wide, or for each "class". Families that cannot be tuned are as they were; columns whose classes have
    parameters in common are a kind of their own.
    """
    tuned, ends = list(families), []
    for kind, shared in product(ordered_hyperparameters(families), (False, True)):
        members = [b for b, family in enumerate(families) if family.hyperparameters is kind and family.shared == shared]
        if not members:
            continue
        edges = np.cumsum([0, *(widths[b] for b in members)])
        spans = [slice(int(start), int(stop)) for start, stop in pairwise(edges)]
        groups = _groups(per, len(stats[members[0]]), int(edges[-1]))
        made, dials = TUNERS.get(kind, _tuned_numerically)(
            Kin([families[b] for b in members], [stats[b] for b in members], spans, groups, per)
        )
        for b, family in zip(members, made, strict=True):
            tuned[b] = family
        ends += _ends(kind, dials, per, [(b, f) for b in members for f in range(widths[b])])
    return tuned, ends


def _groups(per: str, classes: int, columns: int) -> Array:
    """Which classes and columns share dials, `(c, f)`."""
    each = {
        "model": np.zeros((1, 1), int),
        "feature": np.arange(columns)[None],
        "class": np.arange(classes)[:, None],
    }
    return np.broadcast_to(each[per], (classes, columns))


def _tuned_dice(kin: Kin) -> tuple[list[Family], Array]:
    counted = [family.seen(seen) for family, seen in zip(kin.families, kin.stats, strict=True)]
    pairs = zip(counted, kin.spans, strict=True)
    every = (throws(levels.counts, levels.unit, levels.column, kin.groups[:, span]) for levels, span in pairs if levels)
    best = best_concentration(reduce(add, every), kin.size)
    members = zip(kin.families, kin.stats, kin.spans, strict=True)
    return [family.smoothed(seen, kin.shared(best, span), "mean") for family, seen, span in members], best[:, None]


def _tuned_normals(kin: Kin) -> tuple[list[Family], Array]:
    cells, mean, variance = gaussian_evidence.standardised(kin.together)
    pooled, free = cells.pooled(), kin.per == "feature"
    varies = pooled.ssd > 0.5 * pooled.count  # not so of a constant column
    weak = (*NORMAL.weak, START) if free else NORMAL.weak
    shared = kin.families[0].shared
    groups = np.where(varies & ~gaussian_evidence.unbounded(kin.together, shared), kin.groups, -1)
    if shared:  # whose groups are columns
        cells, groups = cells.map(np.transpose), groups[0]
    dials = _best(lambda group: _normal_cells(group, free, shared), cells, groups, np.tile(weak, (kin.size, 1)))
    made = []
    for family, span in zip(kin.families, kin.spans, strict=True):
        count, shape, ratio, *place = (kin.shared(each, span) for each in dials.T)
        middle = mean[span] + np.sqrt(variance[span]) * (place[0] if place else 0.0)
        prior = NormalInverseGamma(middle, count, shape, shape * ratio * variance[span])
        made.append(replace(family, prior=prior))  # type: ignore[type-var]
    return made, dials[:, :3]


def _normal_cells(stats: Any, free: bool, shared: bool) -> gaussian_evidence.GaussianCells:
    """The cells of a group, `(n,)`; of columns with one variance each, `(k, c)`."""
    return gaussian_evidence.GaussianCells(stats.map(np.transpose) if shared else stats, free, shared)


def _tuned_rates(kin: Kin) -> tuple[list[Family], Array]:
    cells, rate = gamma_evidence.standardised(kin.together)
    has_events = cells.events.sum(axis=0) > 0
    dials = _best(
        gamma_evidence.GammaCells, cells, np.where(has_events, kin.groups, -1), np.tile(RATE.weak, (kin.size, 1))
    )
    made = []
    for family, span in zip(kin.families, kin.spans, strict=True):
        shape, mean = (kin.shared(each, span) for each in dials.T)
        made.append(replace(family, prior=Gamma(shape, shape / (mean * rate[span]))))  # type: ignore[type-var]
    return made, dials


def _tuned_blocks(kin: Kin) -> tuple[list[Family], Array]:
    """The shape is that of each column's variance, half of dof - d + 1, as of columns that are apart."""
    weak = [
        wishart_evidence.WishartBlock.of(family, seen) for family, seen in zip(kin.families, kin.stats, strict=True)
    ]
    without = np.stack([wishart_evidence.unbounded(block.stats, block.family.shared) for block in weak], axis=1)
    groups = np.where(without, -1, kin.groups)

    def evidence(dials: Array, group: int) -> float:
        total = 0.0
        for block, span in zip(weak, kin.spans, strict=True):
            each = block.evidence(*dials)  # of blocks whose classes share a covariance one number
            total += each[groups[: len(each), span] == group].sum()
        return total

    dials = np.tile(BLOCK.weak, (kin.size, 1))
    for group in np.unique(groups[groups >= 0]):
        dials[group] = wishart_evidence.best(partial(evidence, group=group), BLOCK_STARTS)
    spans = zip(weak, kin.spans, strict=True)
    made: list[Family] = [block.tuned(*(kin.shared(each, span) for each in dials.T)) for block, span in spans]
    return made, dials


def _tuned_numerically(kin: Kin) -> tuple[list[Family], Array]:
    """The hyperparameters of any family, by what the log evidence is under its `tuned` prior."""
    weak = kin.kind.weak

    def evidence(dials: Array, group: int) -> float:
        total = 0.0
        for family, seen, span in zip(kin.families, kin.stats, kin.spans, strict=True):
            groups = kin.groups[:, span]
            each = family.tuned(seen, *dials).belief(seen).log_evidence(seen)
            total += each[np.broadcast_to(groups == group, each.shape)].sum()
        return total

    dials = np.stack([wishart_evidence.best(partial(evidence, group=group), (weak,)) for group in range(kin.size)])
    members = zip(kin.families, kin.stats, kin.spans, strict=True)
    return [family.tuned(seen, *(kin.shared(each, span) for each in dials.T)) for family, seen, span in members], dials


# Families whose evidence has derivatives, or many columns alike; all others are tuned numerically.
TUNERS: dict[Hyperparameters, Callable[[Kin], tuple[list[Family], Array]]] = {
    CONCENTRATION: _tuned_dice,
    NORMAL: _tuned_normals,
    BLOCK: _tuned_blocks,
    RATE: _tuned_rates,
}


def _best(hill: Callable[[Any], Any], cells: Stats, groups: Array, weak: Array) -> Array:
    """The best dials of each group, `(g, d)`, the positive ones no longer in logs; the weak ones for no cells."""
    dials = weak.astype(float)
    for group in np.unique(groups[groups >= 0]):
        best = hill(cells[groups == group]).best()
        dials[group] = np.concatenate([positive(best[:3]), best[3:]])
    return dials


def _ends(kind: Hyperparameters, dials: Array, per: str, columns: Sequence[tuple[int, int]]) -> list[End]:
    """The dials that are at one of their ends."""
    ends = []
    for name, values in zip(kind.names, np.log(dials).T, strict=True):
        for infinite, at in ((False, values <= np.log(LEAST) + EDGE), (True, values >= np.log(MOST) - EDGE)):
            groups = np.flatnonzero(at)
            if groups.size and per == "class":
                ends += [End(kind, name, infinite, tuple(columns), int(c)) for c in groups]
            elif groups.size:
                where = columns if per == "model" else [columns[int(g)] for g in groups]
                ends.append(End(kind, name, infinite, tuple(where)))
    return ends
