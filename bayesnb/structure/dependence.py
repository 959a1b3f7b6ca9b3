"""Which columns depend on each other within a class: the evidence for a pair's joint law against independence.

    log Bayes factor = log p(both columns | one joint law) - log p(one column) - log p(other column)

Every pair has priors whose margins are the same under both hypotheses, so nothing is said before anything is seen, and
uses the rows that have both cells. Two columns of levels, and a number within levels, are here; two numbers are in
`correlation`.

Levels: under the joint law a cell of the table has concentration A p q, where p and q are the levels' shares of their
dice, and A is the concentration of the whole table. Its margins are Dirichlet(A p) and Dirichlet(A q): the table says
as much as each margin, and a first row is as probable under either hypothesis (the equivalent sample size of Heckerman,
Geiger and Chickering 1995). Where the two dice's totals differ, A is their geometric mean, under both hypotheses.

A number and levels: one theta for each level against one for all, each with the class's prior.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.bernoulli import Beta
from bayesnb.families.categorical import Dice
from bayesnb.families.dirichlet import as_level
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.weight import one_hot
from bayesnb.special import log_gamma_ratio
from bayesnb.structure.correlation import correlations
from bayesnb.threads import blocks

CELLS = 1 << 20  # that are counted at once


class Labels(NamedTuple):
    """The places of the rows' classes, how often each row counts, and how many classes there are."""

    codes: Array
    counts: Array
    classes: int


@dataclass(frozen=True, eq=False)
class Leveled:
    """Columns of levels: codes `(r, d)`, of which those from the number of levels on are missing; their dice."""

    codes: Array
    prior: Dice
    places: Array  # among all columns

    @property
    def sizes(self) -> Array:
        return np.array(self.prior.sizes)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers of one family: `(r, f)`, NaN where missing; their prior, and what makes stats of them."""

    x: Array
    prior: Belief
    observe: Callable[..., Any]
    places: Array


def dependences(parts: Sequence[Leveled | Numbers], labels: Labels, width: int) -> Array:
    """log Bayes factors of all pairs of columns, `(c, n, n)`; NaN for a column and itself, and pairs without one."""
    found = np.full((labels.classes, width, width), np.nan)
    levels, numbers = _joined(parts), [part for part in parts if isinstance(part, Numbers)]
    if levels is not None:
        for d, j, value in _of_levels(levels, labels):
            _put(found, levels.places[d], levels.places[j], value)
        for part in numbers:
            for d, value in _within_levels(part, levels, labels):
                _put(found, levels.places[d], part.places, value)
    for part in _together(numbers):
        for c in range(labels.classes):
            own = labels.codes == c
            pairs = correlations(part.x[own], labels.counts[own], part.prior[c])  # type: ignore[arg-type]
            found[c][np.ix_(part.places, part.places)] = pairs
    found[:, np.arange(width), np.arange(width)] = np.nan
    return found


@singledispatch
def part_of(prior: Belief, x: Cells, some: Sequence[int], observe: Callable[..., Any]) -> Leveled | Numbers:
    """Some columns of a block: numbers, if nothing else is known of the family. Their places are yet to be said."""
    return Numbers(_dense(x, some), prior[:, some], observe, np.array(some))


@part_of.register
def _(prior: Dice, x: Cells, some: Sequence[int], observe: Callable[..., Any]) -> Leveled:
    sizes = tuple(prior.sizes[j] for j in some)
    codes = as_level(np.asarray(x[:]))[:, some]
    own = Dice(np.concatenate([prior.concentration[:, prior.span(j)] for j in some], axis=1), sizes)
    return Leveled(np.where(codes < 0, sizes, codes), own, np.array(some))


@part_of.register
def _(prior: Beta, x: Cells, some: Sequence[int], observe: Callable[..., Any]) -> Leveled:
    flags = _dense(x, some)
    sides = np.stack([prior.b[:, some], prior.a[:, some]], axis=-1)
    return Leveled(
        np.where(np.isnan(flags), 2, flags).astype(np.intp),
        Dice(sides.reshape(len(sides), -1), (2,) * len(some)),
        np.array(some),
    )


def _dense(x: Cells, some: Sequence[int]) -> Array:
    part = x[:][:, some]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, float)


def _joined(parts: Sequence[Leveled | Numbers]) -> Leveled | None:
    """All columns of levels side by side."""
    own = [part for part in parts if isinstance(part, Leveled)]
    if not own:
        return None
    concentration = np.concatenate([part.prior.concentration for part in own], axis=1)
    dice = Dice(concentration, tuple(int(size) for part in own for size in part.sizes))
    return Leveled(np.concatenate([part.codes for part in own], axis=1), dice, np.concatenate([p.places for p in own]))


def _together(parts: Sequence[Numbers]) -> list[Numbers]:
    """All Gaussian columns side by side."""
    own = [part for part in parts if isinstance(part.prior, NormalInverseGamma)]
    if not own:
        return []
    prior = own[0].prior.map(lambda *arrays: np.concatenate(arrays, axis=1), *(part.prior for part in own[1:]))
    x, places = np.concatenate([part.x for part in own], axis=1), np.concatenate([part.places for part in own])
    return [replace(own[0], x=x, prior=prior, places=places)]


def _put(found: Array, i: int, j: Any, value: Array) -> None:
    found[:, i, j] = found[:, j, i] = value


def _of_levels(levels: Leveled, labels: Labels) -> Iterator[tuple[int, slice, Array]]:
    """Each column against those behind it: `(c, n)`, from a sparse table of counts that has only what occurred."""
    slots = levels.sizes + 1  # the last is for missing cells
    starts = np.cumsum(slots) - slots
    column, level = np.repeat(np.arange(len(slots)), slots), np.arange(slots.sum()) - np.repeat(starts, slots)
    own, total = levels.prior.share(levels.prior.concentration), levels.prior.per_die(levels.prior.concentration)
    share = np.zeros((labels.classes, len(level)))
    share[:, level < levels.sizes[column]] = own
    for d in range(len(slots) - 1):
        behind = starts[d + 1]
        counts = _tables(levels.codes, labels, d, starts).tocoo()
        c, row, at = counts.row // slots[d], counts.row % slots[d], counts.col + behind
        seen = (row < levels.sizes[d]) & (level[at] < levels.sizes[column[at]]) & (counts.data > 0)
        entries = Entries(c[seen], row[seen], at[seen], column[at[seen]] - d - 1, counts.data[seen])
        root = np.sqrt(total)  # of either: their product may leave the range of floats
        prior = root[:, [d]] * root[:, d + 1 :]
        yield d, slice(d + 1, None), entries.factors(prior, share[:, starts[d] : starts[d] + slots[d]], share)


def _tables(codes: Array, labels: Labels, d: int, starts: Array) -> sparse.csr_array:
    """How often each slot of a column, class by class, goes with each slot of those behind it: `(c * l, n)`."""
    size, wide = int(starts[d + 1] - starts[d]), codes.shape[1] - d - 1
    places = starts[d + 1 :] - starts[d + 1]
    last = int(codes[:, -1].max(initial=0)) + 1
    shape = labels.classes * size, int(places[-1]) + last
    counts = sparse.csr_array(shape)
    for rows in blocks(len(codes), max(1, CELLS // wide)):
        own = codes[rows]
        behind = (own[:, d + 1 :] + places).reshape(-1)
        ends = np.arange(len(own) + 1) * wide
        cells = sparse.csr_array((np.ones(len(behind)), behind, ends), (len(own), shape[1]))
        groups = labels.codes[rows] * size + own[:, d]
        weight = sparse.coo_array((labels.counts[rows], (groups, np.arange(len(own)))), (shape[0], len(own)))
        counts = counts + weight.tocsr() @ cells
    return counts


class Entries(NamedTuple):
    """The cells of tables of one column against several that occurred, so often."""

    classes: Array
    rows: Array  # the level of the one column
    places: Array  # the level of another, among all columns' levels
    columns: Array  # the other
    counts: Array

    def factors(self, prior: Array, p: Array, q: Array) -> Array:
        """Tables against their margins: `(c, n)` concentrations of tables, shares `(c, l)` and `(c, k)`."""
        classes, width = prior.shape
        table = self.classes * width + self.columns
        whole, p_own, q_own = prior.reshape(-1)[table], p[self.classes, self.rows], q[self.classes, self.places]
        cells = np.bincount(table, log_gamma_ratio(whole * p_own * q_own, self.counts), classes * width)
        total = np.bincount(table, self.counts, classes * width)
        value = cells + log_gamma_ratio(prior.reshape(-1), total)
        for margin, share in (
            (table * p.shape[1] + self.rows, p_own),
            (self.classes * q.shape[1] + self.places, q_own),
        ):
            _, first, group = np.unique(margin, return_index=True, return_inverse=True)
            gain = log_gamma_ratio((whole * share)[first], np.bincount(group, self.counts))
            value -= np.bincount(table[first], gain, classes * width)
        return value.reshape(classes, width)


def _within_levels(part: Numbers, levels: Leveled, labels: Labels) -> Iterator[tuple[int, Array]]:
    """Numbers given each column of levels: one theta a level against one for all, `(c, f)`."""
    every = _evidence(part, labels, np.zeros(len(labels.codes), np.intp), 1)
    for d, size in enumerate(levels.sizes.tolist()):
        code = levels.codes[:, d]
        keep = code < size
        whole = every if keep.all() else _evidence(part, labels, np.zeros_like(code), 1, keep)
        yield d, _evidence(part, labels, code, size, keep) - whole


def _evidence(part: Numbers, labels: Labels, code: Array, size: int, keep: Any = slice(None)) -> Array:
    """Of the numbers of each class, a theta for each code, `(c, f)`."""
    groups, place = np.unique((labels.codes * size + code)[keep], return_inverse=True)
    stats = part.observe(part.x[keep], one_hot(place, len(groups), labels.counts[keep]))
    gain, total = part.prior[groups // size].log_evidence(stats), np.zeros((labels.classes, part.x.shape[1]))
    np.add.at(total, groups // size, gain)
    return total
