"""The doubt about rows and its two parts, held out if that can be afforded: a row that was learnt is doubted less."""

from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.entropies import Entropies, drawn_entropies, entropies
from bayesnb.model.product import Product
from bayesnb.report.facts.gathered import Facts
from bayesnb.report.facts.judged import settled
from bayesnb.report.facts.without import DRAWS, without

SECONDS = 3.0  # that this may take
COUNTED, ALONE, CLASS, COLUMN = 5e-9, 2e-3, 1e-3, 1e-5  # of them: to count a cell; for a row, its class, a class's cell
TOGETHER = 3  # times as fast, where one belief is for all rows
HELD, LEARNT, FEWEST = 400, 2000, 10  # rows at most, held out or not; and at least
SETTLED = 100  # rows for every class's column, of which one more does not matter
DRAWN, BATCHES = (
    40,
    4,
)  # rows at most, where each needs draws; and in how many parts, whose spread is the error of draws
TINY = np.finfo(float).tiny
PARTS = ("entropy", "aleatoric", "epistemic")


def doubted(facts: Facts) -> Any:
    """What `model.uncertainty` returns of each row, by the model of all others; of some rows, evenly spaced.

    Where holding rows out takes long, of new rows with the same cells as these. None where no row has a law; without
    rows where even that takes too long. The attribute `tried` counts rows, `held_out` says which it is.
    """
    held, rows = chosen(facts)
    if not len(rows):
        return results.datasets.dataset(rows, np.array(facts.classes, object), {}, {}, {"tried": 0})
    batches = held_out(rows, facts) if held else of_rows(facts.model.model_.posterior, rows, facts)
    found = Entropies(*(np.mean(part, axis=0) for part in zip(*batches, strict=True)))
    good = np.isfinite(found.aleatoric)
    if not good.any():
        return None
    by_row = {name: getattr(found, name)[good] for name in PARTS}
    labels, said = np.array(facts.classes, object), {"tried": len(rows), "held_out": int(held)}
    shares = [own.epistemic[good].sum() / max(own.entropy[good].sum(), TINY) for own in batches]
    error = {"drawn_error": float(np.std(shares, ddof=1) / np.sqrt(BATCHES))} if len(batches) > 1 else {}
    return results.datasets.dataset(rows[good], labels, by_row, {"probability": found.probability[good]}, said | error)


def chosen(facts: Facts) -> tuple[bool, Array]:
    """Whether rows are held out, and which are taken: so many as can be had in some seconds; none, if too few."""
    rows, classes, judged = len(facts.codes), len(facts.classes), facts.judged
    belief = facts.model.model_.posterior
    alone = ALONE + CLASS * classes
    if belief.weighs or not belief.closed:
        most = int(min(SECONDS / (alone + judged.row_seconds), DRAWN))
        return True, spaced(rows, most if most >= min(rows, FEWEST) else 0)
    held = int(min(SECONDS / (alone + judged.transforms + COUNTED * rows * judged.width), HELD))
    if held >= rows or (rows < SETTLED * classes * judged.width and held >= FEWEST):
        return True, spaced(rows, held)
    one = alone / TOGETHER + COLUMN * classes * judged.width
    learnt = int(min((2 * SECONDS - judged.transforms) / one, LEARNT))
    return False, spaced(rows, learnt if learnt >= min(rows, FEWEST) else 0)


def spaced(rows: int, most: int) -> Array:
    """So many of the rows, evenly spaced."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


def held_out(rows: Array, facts: Facts) -> list[Entropies]:
    """Each row by the belief of all others; NaN where that is no distribution."""
    each = [of_rows(without(int(row), facts), np.array([row]), facts) for row in rows]
    return [Entropies(*map(np.concatenate, zip(*batch, strict=True))) for batch in zip(*each, strict=True)]


def of_rows(belief: Product | None, rows: Array, facts: Facts) -> list[Entropies]:
    """By one belief, each row being new to it: once, or from several batches of draws."""
    model, batches = facts.model, 1 if facts.model.model_.posterior.closed else BATCHES
    if belief is None or not settled(belief):
        nothing = np.full((len(rows), len(facts.classes)), np.nan), *np.full((3, len(rows)), np.nan)
        return [Entropies(*nothing)] * batches
    scores = Scores(belief, [x[rows] for x in facts.cells], model.temper_)
    if belief.closed:
        return [entropies(scores, True, model.n_jobs)]
    return [drawn_entropies(scores, model.schema_.observers, DRAWS // BATCHES, seed)[0] for seed in range(BATCHES)]
