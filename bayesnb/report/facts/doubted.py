"""The doubt about rows and its two parts, held out if that can be afforded: a row that was learnt is doubted less."""

from typing import Any

import numpy as np

from bayesnb import export
from bayesnb.families.base import Array
from bayesnb.model import Product
from bayesnb.report.facts.gathered import Facts
from bayesnb.report.facts.judged import settled
from bayesnb.report.facts.without import DRAWS, without
from bayesnb.uncertainty.drawn import drawn_entropies
from bayesnb.uncertainty.entropies import Entropies, entropies
from bayesnb.uncertainty.scores import Scores

SECONDS = 3.0  # that this may take
COUNTED, ALONE, CLASS, COLUMN = 5e-9, 2e-3, 1e-3, 1e-5  # of them: to count a cell; for a row, its class, a class's cell
TOGETHER = 3  # times as fast, where one belief is for all rows
HELD, LEARNT, FEWEST = 400, 2000, 10  # rows at most, held out or not; and at least
SETTLED = 100  # rows for every class's column, of which one more does not matter
DRAWN = 40  # rows, where each needs draws
PARTS = ("entropy", "aleatoric", "epistemic")


def doubted(facts: Facts) -> Any:
    """What `model.uncertainty` returns of each row, by the model of all others; of some rows, evenly spaced.

    Where holding rows out takes long, of new rows with the same cells as these. None where no row has a law; without
    rows where even that takes too long. The attribute `tried` counts rows, `held_out` says which it is.
    """
    held, rows = chosen(facts)
    if not len(rows):
        return export.datasets.dataset(rows, np.array(facts.classes, object), {}, {}, {"tried": 0})
    found = held_out(rows, facts) if held else of_rows(facts.model.model_.posterior, rows, facts)
    good = np.isfinite(found.aleatoric)
    if not good.any():
        return None
    by_row = {name: getattr(found, name)[good] for name in PARTS}
    labels, said = np.array(facts.classes, object), {"tried": len(rows), "held_out": int(held)}
    return export.datasets.dataset(rows[good], labels, by_row, {"probability": found.probability[good]}, said)


def chosen(facts: Facts) -> tuple[bool, Array]:
    """Whether rows are held out, and which are taken: so many as can be had in some seconds; none, if too few."""
    rows, classes, judged = len(facts.codes), len(facts.classes), facts.judged
    belief = facts.model.model_.posterior
    if belief.weighs or not belief.closed:
        return True, spaced(rows, DRAWN)
    alone = ALONE + CLASS * classes
    held = int(min(SECONDS / (alone + judged.transforms + COUNTED * rows * judged.width), HELD))
    if held >= rows or (rows < SETTLED * classes * judged.width and held >= FEWEST):
        return True, spaced(rows, held)
    one = alone / TOGETHER + COLUMN * classes * judged.width
    learnt = int(min((2 * SECONDS - judged.transforms) / one, LEARNT))
    return False, spaced(rows, learnt if learnt >= min(rows, FEWEST) else 0)


def spaced(rows: int, most: int) -> Array:
    """So many of the rows, evenly spaced."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


def held_out(rows: Array, facts: Facts) -> Entropies:
    """Each row by the belief of all others; NaN where that is no distribution."""
    size = len(facts.classes)
    nothing = Entropies(np.full((1, size), np.nan), *np.full((3, 1), np.nan))
    beliefs = ((row, without(int(row), facts)) for row in rows)
    each = [nothing if belief is None else of_rows(belief, np.array([row]), facts) for row, belief in beliefs]
    return Entropies(*(np.concatenate(part) for part in zip(*each, strict=True)))


def of_rows(belief: Product, rows: Array, facts: Facts) -> Entropies:
    """By one belief, each row being new to it."""
    model = facts.model
    if not settled(belief):
        return Entropies(np.full((len(rows), len(facts.classes)), np.nan), *np.full((3, len(rows)), np.nan))
    scores = Scores(belief, [x[rows] for x in facts.cells], model.temper_)
    if belief.closed:
        return entropies(scores, True, model.n_jobs)
    return drawn_entropies(scores, model.schema_.observers, DRAWS, 0)[0]
