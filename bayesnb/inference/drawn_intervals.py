"""Intervals and entropies of p(y | x, theta) from draws: a check of those that need none, or where there are none."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import xlogy

from bayesnb.families.base import Array, Rng
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.entropies import Entropies, split
from bayesnb.inference.intervals import Law
from bayesnb.inference.posterior_draws import DrawnWarning, draw_proba, mean_error, quantile_error
from bayesnb.model.product import Observer, Product, Rows, normalised, observe
from bayesnb.numerics.threads import blocks

NUMBERS = 1 << 24  # probabilities held at once


def drawn_intervals(
    scores: Scores, observers: Sequence[Observer] | None, prob: float, draws: int, rng: Rng = None
) -> tuple[Law, float]:
    """The law of every row's probabilities, once the row was seen if there are observers to see it.

    And the largest standard error of its quantiles.
    """
    error, law = 0.0, Law(*np.empty((4, len(scores), scores.classes)))
    levels = [0.5, (1 - prob) / 2, (1 + prob) / 2]
    for rows, mean, proba in _drawn(scores, observers, draws, rng):
        law.mean[rows] = mean
        law.median[rows], law.lower[rows], law.upper[rows] = np.quantile(proba, levels, axis=0)
        error = max(error, quantile_error(proba, levels))
    return law, error


def drawn_entropies(
    scores: Scores, observers: Sequence[Observer] | None, draws: int, rng: Rng = None
) -> tuple[Entropies, float]:
    """What `entropies` are, from draws, and the largest standard error of the expected entropy."""
    error = 0.0
    probability, aleatoric = np.empty((len(scores), scores.classes)), np.empty(len(scores))
    for rows, mean, proba in _drawn(scores, observers, draws, rng):
        each = -xlogy(proba, proba).sum(axis=-1)
        probability[rows], aleatoric[rows] = mean, each.mean(axis=0)
        error = max(error, mean_error(each))
    return split(probability, aleatoric), error


def say_drawn(rows: int, draws: int, error: float) -> None:
    """A warning that the law of these rows had to be drawn, with the largest standard error of what is given."""
    warnings.warn(
        "classes share parameters that are not known, three or more of them under average_features or shared=True, or "
        f"two under average_features and a class_prior that is known: so the laws of {rows} rows were drawn ({draws} "
        f"draws each): the largest standard error is {error:.1g}.",
        DrawnWarning,
        skip_file_prefixes=(str(Path(__file__).parent.parent),),
    )


def _drawn(
    scores: Scores, observers: Sequence[Observer] | None, draws: int, rng: Rng
) -> Iterator[tuple[slice, Array, Array]]:
    """Rows, some at a time, the means of their laws, `(r, c)`, and draws, `(s, r, c)`."""
    rng, share = np.random.default_rng(rng), np.exp(normalised(scores.log_mean()))
    step = 1 if observers else max(NUMBERS // (draws * scores.classes), 1)
    seed = int(rng.integers(1 << 62))  # the same theta for all rows that none of them has seen
    for rows in blocks(len(scores), step):
        some = scores[rows]
        if observers:
            yield rows, share[rows], once_seen(some, observers, rng.multinomial(draws, share[rows.start]), rng)
        else:
            proba = draw_proba(some.belief, some.cells, draws, some.power, rng=seed)
            yield rows, proba.mean(axis=0), proba


def once_seen(scores: Scores, observers: Sequence[Observer], times: Array, rng: np.random.Generator) -> Array:
    """Draws for one row that has been seen as each class's so many times, `(s, 1, c)`."""
    parts, (own, see) = [], _narrowed(scores, observers)
    for c in np.flatnonzero(times):
        belief = _with_row(own, see, int(c))
        parts.append(draw_proba(belief, own.cells, int(times[c]), own.power, rng=rng))
    return np.concatenate(parts)


def _narrowed(scores: Scores, observers: Sequence[Observer]) -> tuple[Scores, Sequence[Observer]]:
    """The scores of one row as those of the cells that it has alone, and what sees these."""
    each = zip(scores.belief.blocks, scores.cells, observers, strict=True)
    beliefs, cells, see = zip(*(belief.narrowed(x, own) for belief, x, own in each), strict=True)
    return Scores(Product(scores.belief.classes, beliefs), cells, scores.power), see


def _with_row(scores: Scores, observers: Sequence[Observer], c: int) -> Product:
    """The belief after one row more of class c, its features counting by the temper."""
    classes = scores.classes
    seen = observe(Rows(observers, scores.cells, np.array([c]), np.array([scores.power])), classes)
    return scores.belief.update(replace(seen, classes=DirichletStats(np.eye(classes)[c])))
