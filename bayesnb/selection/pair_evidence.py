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

With a fixed A the margins of many levels are explained badly and the table, which is larger, less so: noise would be
evidence. The same goes for the prior of counts' rates, and what each level has. So what speaks for a dependence is
compared with what does under the concentrations that are best for each hypothesis: see `cautious`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.bernoulli import Beta
from bayesnb.families.categorical import Dice
from bayesnb.families.dirichlet import as_level
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.poisson import Gamma
from bayesnb.families.weight import one_hot
from bayesnb.numerics.threads import blocks, in_order
from bayesnb.selection.correlation import correlations

NUMBERS = 1 << 20  # that are held at once
STRENGTHS = np.log([1e-3, 1e8])  # of a prior of rates, against the declared one: hardly any, and as good as certain
RUNGS, SECTIONS = 25, 24  # of the search for the best: places of a ladder, and steps that follow
GOLDEN = float((np.sqrt(5) - 1) / 2)


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


class Work(NamedTuple):
    """How many threads there are, and what is told how many more pairs were compared."""

    n_jobs: int | None = 1
    done: Callable[[float], None] = lambda count: None


def dependences(parts: Sequence[Leveled | Numbers], labels: Labels, width: int, work: Work = Work()) -> Array:  # noqa: B008
    """log Bayes factors of all pairs of columns, `(c, n, n)`; NaN for a column and itself, and pairs without one."""
    found = np.full((labels.classes, width, width), np.nan)
    levels, numbers = _joined(parts), [part for part in parts if isinstance(part, Numbers)]
    if levels is not None:
        _of_levels(levels, labels, found, work)
        for part in numbers:
            _within_levels(part, levels, labels, found, work)
    for part in _together(numbers):
        for c in range(labels.classes):
            rows = np.flatnonzero(labels.codes == c)
            for some, pairs in correlations(part.x[rows], labels.counts[rows], part.prior[c]):  # type: ignore[arg-type]
                one, two = part.places[some], part.places[some.start :]
                found[c][np.ix_(one, two)] = pairs
                found[c][np.ix_(two, one)] = pairs.T
                work.done((pairs.size - len(one) * (len(one) + 1) / 2) / labels.classes)
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


def _of_levels(levels: Leveled, labels: Labels, found: Array, work: Work) -> None:
    """Each column against those behind it, into `(c, n, n)`; several columns at once, each pair by itself."""
    codes = np.ascontiguousarray(levels.codes.T, np.int32)
    starts = np.concatenate([[0], np.cumsum(levels.sizes)])
    dice, weight = levels.prior, labels.counts.astype(float)
    share, total = dice.share(dice.concentration), dice.per_die(dice.concentration)

    def compare(d: int) -> None:
        seen = np.flatnonzero(codes[d] < levels.sizes[d])
        place = labels.codes[seen] * levels.sizes[d] + codes[d, seen]
        order = np.argsort(place, kind="stable")
        places, first = np.unique(place[order], return_index=True)
        groups, level = np.divmod(places, levels.sizes[d])
        of_rows = seen[order], np.append(first, len(order)), groups, weight
        value = np.empty((len(codes) - d - 1, labels.classes))
        numerics.pair_kernels.compare(codes, d, *of_rows, share[groups, starts[d] + level], share, starts, total, value)
        _put(found, levels.places[d], levels.places[d + 1 :], value.T)
        work.done(len(value))

    list(in_order(compare, range(len(codes) - 1), work.n_jobs))


def _within_levels(part: Numbers, levels: Leveled, labels: Labels, found: Array, work: Work) -> None:
    """Numbers given each column of levels, into `(c, n, n)`: one theta a level against one for all."""
    for d, size in enumerate(levels.sizes.tolist()):
        code = levels.codes[:, d]
        seen = np.flatnonzero(code < size)
        places, group = np.unique(labels.codes[seen] * size + code[seen], return_inverse=True)
        each = one_hot(group, len(places), labels.counts[seen]), places // size
        every = one_hot(labels.codes[seen], labels.classes, labels.counts[seen]), np.arange(labels.classes)
        width = max(1, NUMBERS // max(len(seen), len(places)))
        for some in blocks(len(part.places), width):
            sides = [Grouped.of(part, seen, some, weight, owners, labels.classes) for weight, owners in (each, every)]
            value = sides[0].evidence() - sides[1].evidence()
            if isinstance(part.prior, Gamma) and (value.sum(axis=0) > 0).any():
                value = cautious(value, sides[0].best_evidence() - sides[1].best_evidence())
            _put(found, levels.places[d], part.places[some], value)
        work.done(len(part.places))


class Grouped(NamedTuple):
    """What some columns of numbers say of groups of rows, each of which has a theta, and the groups' classes."""

    stats: Any
    prior: Belief
    owners: Array
    classes: int

    @classmethod
    def of(cls, part: Numbers, rows: Array, some: slice, weight: Any, owners: Array, classes: int) -> "Grouped":
        return cls(part.observe(part.x[rows, some], weight), part.prior[owners][:, some], owners, classes)

    def evidence(self, times: Any = 1.0) -> Array:
        """Log evidence of each class, `(c, f)`, under a prior that is worth so many times the rows, of rates."""
        prior = self.prior if np.ndim(times) == 0 else self.prior.map(lambda array: times * array)
        total = np.zeros((self.classes, len(self.prior.proper[0])))
        np.add.at(total, self.owners, prior.log_evidence(self.stats))
        return total

    def best_evidence(self) -> Array:
        """The log evidence under the strength of the prior of rates that is best for all classes together."""
        features = len(self.prior.proper[0])
        logs = highest(lambda at: self.evidence(np.exp(at)).sum(axis=0), features, *STRENGTHS)
        return self.evidence(np.exp(logs))


def cautious(declared: Array, learnt: Array) -> Array:
    """Log Bayes factors under the declared prior, `(c, f)`; what is above 0 in sum is no more than what was learnt.

    Against a dependence the declared prior has the last word: with concentrations of their own, both hypotheses may
    take all classes to be alike, and then nothing speaks against either.
    """
    total, other = declared.sum(axis=0), learnt.sum(axis=0)
    return np.where((total <= 0) | (other >= total), declared, np.where(other > 0, learnt, 0.0))


def highest(height: Callable[[Array], Array], size: int, low: float, high: float) -> Array:
    """Where functions are highest, `(f,) -> (f,)`: the best rung of a ladder, and a golden section around it."""
    ladder = np.linspace(low, high, RUNGS)
    values = np.stack([height(np.full(size, rung)) for rung in ladder])
    top = values.argmax(axis=0)
    a, b = ladder[np.maximum(top - 1, 0)], ladder[np.minimum(top + 1, RUNGS - 1)]
    for _ in range(SECTIONS):
        x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        left = height(x) >= height(y)
        a, b = np.where(left, a, x), np.where(left, y, b)
    middle = (a + b) / 2
    return np.where(height(middle) >= values.max(axis=0), middle, ladder[top])
