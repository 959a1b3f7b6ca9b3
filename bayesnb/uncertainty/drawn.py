"""Intervals of p(y | x, theta) from draws of theta: an independent check of those that need none."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bayesnb.families.base import Array, Cells, Rng
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.model import Observer, Product, Rows, normalised, observe
from bayesnb.threads import blocks
from bayesnb.uncertainty.draws import draw_proba
from bayesnb.uncertainty.intervals import Law
from bayesnb.uncertainty.scores import Scores

NUMBERS = 1 << 24  # probabilities held at once


def drawn_intervals(
    scores: Scores, observers: Sequence[Observer] | None, prob: float, draws: int, rng: Rng = None
) -> Law:
    """The law of every row's probabilities, once the row was seen if there are observers to see it."""
    rng, law = np.random.default_rng(rng), Law(*np.empty((4, len(scores), scores.classes)))
    levels = [0.5, (1 - prob) / 2, (1 + prob) / 2]
    share = np.exp(normalised(scores.log_mean()))
    step = 1 if observers else max(NUMBERS // (draws * scores.classes), 1)
    seed = int(rng.integers(1 << 62))  # the same theta for all rows that none of them has seen
    for rows in blocks(len(scores), step):
        some = scores[rows]
        if observers:
            proba = _once_seen(some, observers, rng.multinomial(draws, share[rows.start]), rng)
        else:
            proba = draw_proba(some.belief, some.cells, draws, some.power, rng=seed)
        law.mean[rows] = share[rows] if observers else proba.mean(axis=0)
        law.median[rows], law.lower[rows], law.upper[rows] = np.quantile(proba, levels, axis=0)
    return law


def _once_seen(scores: Scores, observers: Sequence[Observer], times: Array, rng: np.random.Generator) -> Array:
    """Draws for one row that has been seen as each class's so many times, `(s, 1, c)`."""
    parts = []
    for c in np.flatnonzero(times):
        belief = _with_row(scores.belief, observers, scores.cells, int(c), scores.power)
        parts.append(draw_proba(belief, scores.cells, int(times[c]), scores.power, rng=rng))
    return np.concatenate(parts)


def _with_row(belief: Product, observers: Sequence[Observer], cells: Sequence[Cells], c: int, power: float) -> Product:
    """The belief after one row more of class c, its features counting by the temper."""
    classes = len(belief.log_class)
    seen = observe(Rows(observers, cells, np.array([c]), np.array([power])), classes)
    return belief.update(replace(seen, classes=DirichletStats(np.eye(classes)[c])))
