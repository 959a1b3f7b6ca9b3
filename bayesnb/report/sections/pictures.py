"""What was learnt about one column: a figure and a table, from its posterior. One function per kind of belief."""

from functools import singledispatch

import numpy as np

from bayesnb import figures
from bayesnb.families import Beta, Dirichlet, Gamma, NormalInverseGamma
from bayesnb.families.base import Belief
from bayesnb.figures.column import bars_of, sketch
from bayesnb.figures.sight import Sight
from bayesnb.report.markup import named, paragraph, side_by_side, table, text
from bayesnb.report.words import INTERVAL, brief, percent, percent_span, spans

LEVELS_SAID = 3
Said = tuple[tuple[str, ...], list[tuple[str, ...]]]  # the head of a table, and its rows
DRAWN = {
    "real": "Predictive density of {} for each class, as curves. The numbers are in the table beside it.",
    "flag": "Predictive probability of yes and no of {} for each class, as bars with intervals.",
    "count": "Predictive probability of each count of {} for each class, as bars; dots are the data.",
    "level": "Predictive probability of each level of {} for each class, as bars with intervals.",
}


def portrait(sight: Sight, salt: str) -> str:
    """Figure and table of what is believed of a column."""
    if sketch.dispatch(type(sight.belief)) is sketch.dispatch(object):
        return paragraph("There is no picture for this family yet.")
    ax = sketch(sight.belief, sight, INTERVAL)
    said = DRAWN[sight.family.cells].format(brief(sight.name))
    head, rows = numbers(sight.belief, sight)
    caption = f"{text(brief(sight.name))}, with {percent(INTERVAL, 0)} intervals"
    return side_by_side(figures.svg(ax, said, salt) + left_out(sight), table(caption, head, rows))


@singledispatch
def numbers(belief: Belief, sight: Sight) -> Said:
    """What a table says of the classes that are drawn."""
    raise AssertionError("asked of beliefs that have a picture")


@numbers.register
def _(belief: NormalInverseGamma, sight: Sight) -> Said:
    means, spreads = gaussian_cells(belief[sight.shown])
    return ("Class", "Mean", "Standard deviation"), by_class(sight, means, spreads)


@numbers.register
def _(belief: Beta, sight: Sight) -> Said:
    return bar_rows(belief, sight)


@numbers.register
def _(belief: Dirichlet, sight: Sight) -> Said:
    return bar_rows(belief, sight)


@numbers.register
def _(belief: Gamma, sight: Sight) -> Said:
    shown = belief[sight.shown]
    lower, upper = shown.interval(INTERVAL)
    return ("Class", "Events per row"), by_class(sight, spans(shown.mean(), lower, upper))


def gaussian_cells(belief: NormalInverseGamma) -> tuple[list[str], list[str]]:
    """Mean and standard deviation of each class, with their intervals; NaN where the data do not settle them."""
    settled = np.where(belief.proper, 1.0, np.nan)
    with np.errstate(all="ignore"):
        lower, upper = belief.interval(INTERVAL)
        spread = np.sqrt(settled * belief.scale / belief.shape)
        means = (settled * end for end in (belief.location, lower.mean, upper.mean))
        return spans(*means), spans(spread, *(np.sqrt(settled * end) for end in (lower.variance, upper.variance)))


def bar_rows(belief: Belief, sight: Sight) -> Said:
    """The most probable levels of each class."""
    names, probability, ends = bars_of(belief, sight, INTERVAL)
    cells = []
    for own, low, high in zip(probability, *ends, strict=True):
        best = np.argsort(-own, kind="stable")[:LEVELS_SAID]
        lines = [f"{text(brief(names[j], 40))}: {percent_span(own[j], low[j], high[j])}" for j in best]
        cells.append("<br>".join(lines))
    return ("Class", "Level" if len(names) == 1 else "Most probable levels"), by_class(sight, cells)


def left_out(sight: Sight) -> str:
    """How many levels there was no room for."""
    if not isinstance(sight.belief, Dirichlet):
        return ""
    left = len(sight.levels) - len(bars_of(sight.belief, sight, INTERVAL)[0])
    return paragraph(f"{left:,} rarer levels are not drawn.") if left > 0 else ""


def by_class(sight: Sight, *columns: list[str]) -> list[tuple[str, ...]]:
    names = [named(c, brief(str(sight.classes[k]), 40)) for c, k in enumerate(sight.shown.tolist())]
    return list(zip(names, *columns, strict=True))
