"""What the values of every feature are worth, in log-odds of one class against another: the scales of a nomogram.

Where the worth of a number rises and falls, its scale is folded: each stretch in which it only rises or only falls is
a line of its own. Mozina et al. (2004), Nomograms for visualization of naive Bayesian classifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from bayesnb.families import Beta, Gamma, NormalInverseWishart
from bayesnb.families.base import Array, Belief
from bayesnb.families.categorical import Dice
from bayesnb.families.joint import JointDie
from bayesnb.families.multinomial import DirichletMultinomial
from bayesnb.model.schema import Block
from bayesnb.plots.odds import pair_of
from bayesnb.plots.sight import combined, level_names

QUANTILES = (np.arange(32) + 0.5) / 32
EDGE = 0.01  # of new cells lie beyond each end of a scale
GRID = 400
FEW = 8  # counts that are marked one by one
SLIGHT = 0.03  # of a scale: a fold that is smaller is not drawn


@dataclass(frozen=True, eq=False)
class Line:
    """Values and what they are worth, `(n,)`; the line's ends; which labels matter most; where it turns to the next."""

    points: Array
    labels: Sequence[str]
    ends: tuple[float, float]
    weight: Array
    turn: float | None = None


@dataclass(frozen=True, eq=False)
class Scale:
    name: str
    lines: Sequence[Line]


@dataclass(frozen=True, eq=False)
class Scales:
    """The most influential features' scales, and what the classes are worth before any feature."""

    named: tuple[str, str]
    places: tuple[int, int]  # among all classes
    start: float
    scales: Sequence[Scale]
    features: int


def scales_of(model: Any, classes: Sequence[Any] | None = None, most: int = 12) -> Scales:
    """The scales of a fitted model, for two of its classes, by default the two most frequent."""
    if not hasattr(model, "model_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first.")
    belief, labels = model.model_.posterior, model.classes_.tolist()
    if belief.weighs:
        raise ValueError(
            "a nomogram has a scale for what each class says of a feature, and under average_features that may be "
            "nothing. Fit with average_features=None, or draw rows: plot_waterfall(model.explain(X))."
        )
    pair = list(pair_of(labels, belief.log_class, classes))
    if not np.isfinite(belief.log_class[pair]).all():
        raise ValueError(f"one of the classes {[labels[c] for c in pair]} is impossible: draw two others.")
    blocks = [(block, own[pair]) for block, own in zip(model.schema_.blocks, belief.blocks, strict=True)]
    for block, _ in blocks:
        _refuse_vectors(block)
    worth = [influence(own, model.temper_) for _, own in blocks]
    places = [(b, j) for b, own in enumerate(worth) for j in range(len(own))]
    best = np.argsort(-np.nan_to_num(np.concatenate(worth)), kind="stable")[:most]
    chosen = [(*blocks[b], j) for b, j in (places[i] for i in best)]
    scales = [Scale(name_of(block, j), lines(own, j, block, model.temper_)) for block, own, j in chosen]
    start = float(np.subtract(*belief.log_class[pair]))
    named = str(labels[pair[0]]), str(labels[pair[1]])
    return Scales(named, (pair[0], pair[1]), start, scales, len(places))


def name_of(block: Block, j: int) -> str:
    """What a feature, or a word, is called."""
    return str(block.words[j]) if len(block.keys) > 1 or block.family.words else ", ".join(map(str, block.names))


def _refuse_vectors(block: Block) -> None:
    if block.family.whole and block.family.continuous and len(block.names) > 1:
        raise ValueError(
            f"a nomogram has a scale for each feature, and {', '.join(map(str, block.names))} are modelled jointly: "
            "what one of these numbers is worth depends on the others. Draw rows: plot_waterfall(model.explain(X))."
        )


def worth_of(pair: Belief, x: Array, power: float) -> Array:
    """The log-odds that cells speak for the first class, `(n, f) -> (n, f)`."""
    cells = x[:, None]
    with np.errstate(invalid="ignore"):
        moment = pair.log_predictive(cells) if power == 1 else pair.log_moment(cells, power)
        return moment[:, 0] - moment[:, 1]


@singledispatch
def influence(pair: Belief, power: float) -> Array:
    """How far apart rows of the two classes come to lie by each feature, on average, `(f,)`."""
    x = pair.predictive().ppf(QUANTILES[:, None, None])
    points = [worth_of(pair, x[:, c], power).mean(axis=0) for c in range(2)]
    return points[0] - points[1]


@influence.register
def _(pair: Dice, power: float) -> Array:
    return pair.per_die(_level_influence(pair, power))


@influence.register
def _(pair: JointDie, power: float) -> Array:
    return pair.per_die(_level_influence(pair, power))


@influence.register
def _(pair: NormalInverseWishart, power: float) -> Array:
    return influence(pair.margins(), power)  # of a single column


@influence.register
def _(pair: DirichletMultinomial, power: float) -> Array:
    return _level_influence(pair, power)[0]


def _level_influence(pair: Any, power: float) -> Array:
    share = pair.mean()
    points = _level_points(pair, power)
    return np.where(share[0] == share[1], 0.0, (share[0] - share[1]) * points)


def _level_points(pair: Any, power: float) -> Array:
    moment = pair.level_log_moment(power)
    with np.errstate(invalid="ignore"):
        return moment[0] - moment[1]


@singledispatch
def lines(pair: Belief, j: int, block: Block, power: float) -> list[Line]:
    """The scale of one feature: here, of a number, folded where its worth turns."""
    ends = pair[:, [j]].predictive().ppf(np.array([EDGE, 1 - EDGE])[:, None, None])
    x = np.linspace(ends.min(), max(ends.max(), np.nextafter(ends.min(), np.inf)), GRID)
    ticks = np.asarray(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(x[0], x[-1]))
    return folded(x, _points_at(pair, j, x, power), ticks, _points_at(pair, j, ticks, power))


def _points_at(pair: Belief, j: int, x: Array, power: float) -> Array:
    return worth_of(pair[:, [j]], x[:, None], power)[:, 0]


def folded(x: Array, points: Array, ticks: Array, at: Array) -> list[Line]:
    """A curve as lines on which it only rises or only falls, each with the ticks that lie there."""
    cuts, found = _turns(points), []
    for start, stop in pairwise(cuts):
        inside = (ticks >= x[start]) & (ticks < x[stop] if stop != cuts[-1] else ticks <= x[stop])
        labels = [f"{tick:.6g}".replace("-", "\u2212") for tick in ticks[inside]]
        own = points[start : stop + 1]
        turn = None if stop == cuts[-1] else points[stop]
        found.append(Line(at[inside], labels, (own.min(), own.max()), np.ones(len(labels)), turn))
    return found


def _turns(points: Array) -> list[int]:
    """Where a curve starts, turns and ends, but for slight turns."""
    cuts, slight = [0], SLIGHT * np.ptp(points)
    for turn in np.flatnonzero(np.diff(np.sign(np.diff(points))) != 0) + 1:
        if abs(points[turn] - points[cuts[-1]]) > slight:
            cuts.append(int(turn))
    if len(cuts) > 1 and abs(points[-1] - points[cuts[-1]]) <= slight:
        cuts.pop()
    return [*cuts, len(points) - 1]


@lines.register
def _(pair: Gamma, j: int, block: Block, power: float) -> list[Line]:
    top = pair[:, j].predictive().ppf(1 - EDGE).max()
    if top > FEW:
        return lines.dispatch(Belief)(pair, j, block, power)
    x = np.arange(top + 1)
    return [_marked(_points_at(pair, j, x, power), [f"{n:g}" for n in x], np.ones(len(x)))]


@lines.register
def _(pair: Beta, j: int, block: Block, power: float) -> list[Line]:
    cut = block.family.threshold
    names = ("no", "yes") if cut is None else (f"\u2264 {cut:g}", f"> {cut:g}")
    return [_marked(_points_at(pair, j, np.array([0.0, 1.0]), power), names, np.ones(2))]


@lines.register
def _(pair: Dice, j: int, block: Block, power: float) -> list[Line]:
    own = pair.column(j)
    names = [str(level) for level in block.levels[j]] + ["anything new"] * (block.family.unseen == "reserve")
    return [_marked(_level_points(own, power), names, own.mean().max(axis=0))]


@lines.register
def _(pair: JointDie, j: int, block: Block, power: float) -> list[Line]:
    names = combined(pair, [level_names(block, at) for at in range(len(block.names))])
    points, share = _level_points(pair, power)[0], pair.mean().max(axis=0)[0]
    return [_marked(points[: len(names)], names, share[: len(names)])]


@lines.register
def _(pair: NormalInverseWishart, j: int, block: Block, power: float) -> list[Line]:
    return lines(pair.margins(), j, block, power)


@lines.register
def _(pair: DirichletMultinomial, j: int, block: Block, power: float) -> list[Line]:
    """A word that is absent says nothing; each time that it occurs adds about as much as the first time."""
    once = _level_points(pair, power)[0, j]
    return [_marked(np.array([0.0, once]), ("absent", "each time"), np.ones(2))]


def _marked(points: Array, labels: Sequence[str], weight: Array) -> Line:
    """A line with a mark for each level; those that are impossible in one class have no place on it."""
    good = np.isfinite(points)
    own = points[good]
    ends = (own.min(), own.max()) if len(own) else (0.0, 0.0)
    return Line(own, [label for label, fine in zip(labels, good, strict=True) if fine], ends, weight[good])
