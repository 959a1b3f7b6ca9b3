"""What a model says over two of its columns, all others unknown: a grid of rows that someone chose.

A column that is left out is integrated out, exactly: it is a factor of its own, or a missing cell of its block.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit, ndtri

from bayesnb.families.base import Array, Cells
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.intervals import intervals
from bayesnb.inference.posterior_draws import draw_theta
from bayesnb.model.product import Joint, Product
from bayesnb.model.schema import Block
from bayesnb.numerics.views import Flags, column
from bayesnb.plots.sight import middle
from bayesnb.plots.style import short

FINE, COARSE = 121, 61  # points of an axis
DRAWS, FEWEST, USUAL = 4000, 200, 400
SCORES = 40_000_000  # draws times points times classes
ROOM, REACH = 0.06, 0.01  # of an axis beyond the rows, and of rows to come that may lie beyond it
FAR = 30.0  # log-odds
Place = tuple[int, int]  # a block, and a column there


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of a model, what reads them and what is believed of them alone."""

    blocks: Sequence[Block]
    places: tuple[Place, Place]
    reader: Joint
    belief: Product
    power: float
    n_jobs: int | None

    @property
    def names(self) -> list[str]:
        return [str(self.blocks[b].names[j]) for b, j in self.places]

    @property
    def counts(self) -> list[bool]:
        """Which of the two are never below 0, as counts are."""
        return [self.blocks[b].family.support.nonnegative for b, _ in self.places]

    @property
    def unknown(self) -> list[str]:
        """The columns that are left out."""
        every = ((block.places[j], (b, j)) for b, block in enumerate(self.blocks) for j in range(len(block.names)))
        return [str(self.blocks[b].names[j]) for _, (b, j) in sorted(every) if (b, j) not in self.places]

    def margins(self, x: Array, y: Array) -> Array:
        """By how much each class's score is above the best of the others, `(y, x, c)`."""
        joint = self.reader.log_joint(self.cells(x, y), self.power, self.n_jobs)
        best = np.sort(joint, axis=1)[:, -2:]
        with np.errstate(invalid="ignore"):
            gap = joint - np.where(joint == best[:, 1:], best[:, :1], best[:, 1:])
        return np.nan_to_num(gap, nan=-FAR, posinf=1e6, neginf=-1e6).reshape(len(y), len(x), -1)

    def doubt(self, x: Array, y: Array, prob: float, rng: Any) -> Array:
        """Positive where draws of theta disagree so much that an interval holds the boundary, `(y, x)`.

        Of two classes: where the interval of their probability holds one half. Of more: where none of them is decided
        on in as large a share of draws as such an interval has on one side.
        """
        live, cells = self.belief.live, self.cells(x, y)
        if live.sum() == 1:
            return np.full((len(y), len(x)), -1.0)
        if live.sum() == 2 and self.belief.closed:
            law = intervals(Scores(self.belief, cells, self.power), prob, False, "auto", self.n_jobs)
            at = int(live.argmax())
            with np.errstate(divide="ignore"):
                ends = logit(law.upper[:, at]), -logit(law.lower[:, at])
            return np.clip(np.minimum(*ends), -FAR, FAR).reshape(len(y), len(x))
        share = np.clip(self.agreement(cells, rng), 0, 1 - 0.5 / DRAWS)
        return (ndtri((1 + prob) / 2) - ndtri(share)).reshape(len(y), len(x))  # between points nearly a straight line

    def agreement(self, cells: Sequence[Cells], rng: Any) -> Array:
        """The share of draws that decide on the class that most of them decide on, `(r,)`."""
        live = self.belief.live
        possible = Product(self.belief.classes[live], tuple(block[live] for block in self.belief.blocks))
        rows, classes = cells[0].shape[0], int(live.sum())
        draws = int(np.clip(SCORES // (rows * classes), FEWEST, DRAWS))
        times = np.zeros((rows, classes))
        for _, theta in draw_theta(possible, draws, rng):
            for some, joint in theta.by_rows(cells, self.power, self.n_jobs):
                best = joint.argmax(axis=-1)
                times[some] += np.stack([(best == c).sum(axis=1) for c in range(classes)], axis=1)
        return times.max(axis=1) / draws

    def cells(self, x: Array, y: Array) -> list[Cells]:
        """The rows of a grid, x first, as the reader has them; a place below 0 on an axis of counts is 0."""
        columns = [np.tile(x, len(y)), np.repeat(y, len(x))]
        columns = [
            np.maximum(own, 0.0) if is_count else own for own, is_count in zip(columns, self.counts, strict=True)
        ]
        return [_filled(self.blocks[b], dict(own)) for b, own in _by_block(self.blocks, self.places, columns)]

    def usual(self) -> tuple[Array, Array]:
        """Cells of rows to come, class by class, of both columns."""
        rng, found = np.random.default_rng(0), []
        for (b, own), belief in zip(_by_block(self.blocks, self.places, (0, 1)), self.belief.blocks, strict=True):
            block, live = self.blocks[b], belief[self.belief.live]
            cells = live.sample(rng, USUAL).sample(rng).reshape(USUAL * len(live), -1)
            if block.family.threshold is not None:
                cells = block.family.threshold + 2 * cells - 1
            found += [cells[:, j if block.family.whole else 0] for j, _ in own]
        return found[0], found[1]


def plane_of(model: Any, features: Sequence[Hashable] | None) -> Plane:
    """Two columns of a fitted model: those that are named, or its first two of numbers."""
    if not hasattr(model, "model_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first.")
    blocks = model.schema_.blocks
    places = _first_two(blocks) if features is None else _named(blocks, features)
    reader: Any = model._reader()
    return Plane(
        blocks,
        places,
        type(reader)(reader.classes, _kept(reader.blocks, blocks, places)),
        Product(model.class_posterior_, _kept(model.model_.posterior.blocks, blocks, places)),
        model.temper_,
        model.n_jobs,
    )


def axis_of(cells: Array, usual: Array, is_count: bool) -> tuple[float, float]:
    """Where to draw a column: where its cells are, or, if they are no two, rows to come."""
    low, high = middle(cells)
    if not low < high:
        low, high = np.quantile(usual[np.isfinite(usual)], (REACH, 1 - REACH)).tolist()
        high = high if low < high else np.nextafter(low, np.inf) + 1
    room = ROOM * (high - low)
    return max(low, 0.0) - room if is_count else low - room, high + room


def numbers_at(cells: Sequence[Cells], places: Sequence[Place]) -> list[Array]:
    """The numbers of a table's columns, whatever their family makes of them."""
    parts = [cells[b].numbers if isinstance(cells[b], Flags) else cells[b] for b, _ in places]
    return [column(part, j) for part, (_, j) in zip(parts, places, strict=True)]


def _kept(parts: Sequence[Any], blocks: Sequence[Block], places: Sequence[Place]) -> tuple[Any, ...]:
    """The columns' parts: one of its own, or a whole block's."""
    groups = _by_block(blocks, places, (0, 1))
    return tuple(parts[b] if blocks[b].family.whole else parts[b].only(own[0][0]) for b, own in groups)


def _by_block(
    blocks: Sequence[Block], places: Sequence[Place], values: Sequence[Any]
) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
    """What belongs to each column; columns of one whole block stay together."""
    (a, i), (b, j) = places
    if a == b and blocks[a].family.whole:
        yield a, [(i, values[0]), (j, values[1])]
    else:
        yield from ((a, [(i, values[0])]), (b, [(j, values[1])]))


def _filled(block: Block, columns: dict[int, Array]) -> Cells:
    """A block's cells, of which all others are missing."""
    if not block.family.whole:
        (numbers,) = columns.values()
        cells = np.ascontiguousarray(numbers[:, None])
        return block.family.read(cells)
    found = np.full((len(next(iter(columns.values()))), len(block.names)), np.nan)
    for j, numbers in columns.items():
        found[:, j] = numbers
    return found


def _first_two(blocks: Sequence[Block]) -> tuple[Place, Place]:
    every = [(block.places[j], (b, j)) for b, block in enumerate(blocks) for j in range(len(block.names))]
    found = [at for _, at in sorted(every) if _why_not(blocks[at[0]]) is None and not blocks[at[0]].family.outcomes]
    if len(found) < 2:
        raise ValueError(
            f"a plane needs two columns of numbers, and the model has {len(found)}: "
            f"{', '.join(repr(blocks[b].names[j]) for b, j in found) or 'none'}."
        )
    return found[0], found[1]


def _named(blocks: Sequence[Block], features: Sequence[Hashable]) -> tuple[Place, Place]:
    known = {name: (b, j) for b, block in enumerate(blocks) for j, name in enumerate(block.names)}
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns, got {features!r}.")
    for name in features:
        if name not in known:
            some = ", ".join(short(repr(own), 40) for own in list(known)[:20]) + (", ..." if len(known) > 20 else "")
            raise ValueError(f"{short(repr(name), 60)} is no column of this model; it has {some}.")
        why = _why_not(blocks[known[name][0]])
        if why:
            raise ValueError(f"column {name!r} {why}, so it has no axis of numbers. Name another.")
    return known[features[0]], known[features[1]]


def _why_not(block: Block) -> str | None:
    """Why the columns of a block are no axis."""
    family = block.family
    if family.has_levels:
        return "has levels"
    if not family.missing:
        return "is one of a block of words, which are counted together"
    return "is yes or no" if family.outcomes and family.threshold is None else None
