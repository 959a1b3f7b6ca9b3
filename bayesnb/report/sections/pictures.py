"""What was learnt about one column: a figure and a table, from its posterior. One function per kind of belief."""

from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families import NormalInverseGamma
from bayesnb.families.base import Belief
from bayesnb.families.wording import fixed
from bayesnb.plots.column_plot import bars_of, names_of, sketch
from bayesnb.plots.column_view import Sight
from bayesnb.report.markup import named, paragraph, side_by_side, table, text
from bayesnb.report.wording import INTERVAL, brief, percent, percent_span, spans

LEVELS_SAID = 3
Said = tuple[tuple[str, ...], list[tuple[str, ...]]]  # the head of a table, and its rows
DRAWN = {
    "density": "Predictive density of {} for each class, as curves. The numbers are in the table beside it.",
    "mass": "Predictive probability of each count of {} for each class, as bars; dots are the data.",
    "levels": "Predictive probability of {levels} of {} for each class, as bars with intervals.",
}
TOGETHER = {
    "density": "What is expected of {} together in each class, as ellipses over the rows. The numbers are beside it.",
    "levels": "Predictive probability of combinations of {} for each class, as bars with intervals.",
}
CORRELATIONS = 3  # of a class, that are said


def portrait(sight: Sight, salt: str) -> str:
    """Figure and table of what is believed of a column."""
    drawn = telling(sight)
    ax = sketch(drawn.belief, drawn, INTERVAL)
    levels = " and ".join(sight.family.outcomes[::-1]) or "each level"
    message = (TOGETHER if len(sight.names) > 1 else DRAWN)[sight.family.picture]
    said = message.format(brief(drawn.name), levels=levels)
    head, rows = numbers(sight.belief, sight)
    caption = f"{text(brief(sight.name))}, with {percent(INTERVAL, 0)} intervals"
    picture, found, more = plots.svg(ax, said, salt) + left_out(sight, drawn), table(caption, head, rows), ""
    if len(sight.names) > 1 and sight.family.continuous:  # too wide to stand beside it
        found, more = correlated(sight), found
    return side_by_side(picture, found) + more


def telling(sight: Sight) -> Sight:
    """What is drawn of it: all of it, but of many columns of numbers the two in which the classes differ most."""
    belief: Any = sight.belief
    if not sight.family.continuous or len(sight.names) < 3:
        return sight
    spread = np.diagonal(belief.scale, axis1=-2, axis2=-1) / belief.dof[:, None]
    apart = belief.location[sight.shown].var(axis=0) / spread[sight.shown].mean(axis=0)
    two = np.sort(np.argsort(-apart, kind="stable")[:2])
    cells = None if sight.cells is None else sight.cells[:, two]
    names = tuple(sight.names[j] for j in two)
    return replace(sight, names=names, belief=belief.of_columns(two), cells=cells)


def numbers(belief: Any, sight: Sight) -> Said:
    """What a table says of the classes that are drawn."""
    if sight.family.picture == "levels":
        head, rows = bar_rows(belief, sight)
        return (("Class", "Most probable combinations") if len(sight.names) > 1 else head), rows
    if len(sight.names) > 1:
        return vector_rows(belief, sight)
    shown = belief[sight.shown]
    if sight.family.has_width:
        means, spreads = gaussian_cells(shown)
        return ("Class", "Mean", "Standard deviation"), by_class(sight, means, spreads)
    if sight.family.picture == "mass":
        return ("Class", "Events per row"), by_class(sight, spans(shown.mean(), *shown.interval(INTERVAL)))
    predictive = shown.predictive()
    return ("Class", "Median"), by_class(sight, spans(predictive.median(), *predictive.interval(INTERVAL)))


def vector_rows(belief: Any, sight: Sight) -> Said:
    """A row for each column and class."""
    shown = belief[sight.shown][:, None].margins()
    every: list[tuple[str, ...]] = []
    for j, name in enumerate(sight.names):
        rows = by_class(sight, *gaussian_cells(shown.column(j)))
        every += [(label, text(brief(name, 40)), *values) for label, *values in rows]
    return ("Class", "Column", "Mean", "Standard deviation"), every


def correlated(sight: Sight) -> str:
    """The strongest correlations of each class, as its expected covariance has them."""
    belief: Any = sight.belief
    cells, (i, j) = [], np.triu_indices(belief.width, 1)
    for scale in belief[sight.shown].scale:
        unit = np.sqrt(np.diagonal(scale))
        values = (scale / np.outer(unit, unit))[i, j]
        best = np.argsort(-np.abs(values), kind="stable")[:CORRELATIONS]
        pairs = [f"{brief(sight.names[i[k]], 40)} and {brief(sight.names[j[k]], 40)}" for k in best]
        cells.append("<br>".join(f"{text(pair)}: {fixed(values[k], 2)}" for pair, k in zip(pairs, best, strict=True)))
    head = ("Class", "Strongest correlations" if len(i) > CORRELATIONS else "Correlation")
    return table(f"{text(brief(sight.name))}, correlations", head, by_class(sight, cells))


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


def left_out(sight: Sight, drawn: Sight) -> str:
    """What there was no room for."""
    if drawn is not sight:
        return paragraph(
            f"Drawn are the two of {len(sight.names)} columns in which the classes differ most. Ellipses hold half and "
            f"{percent(INTERVAL, 0)} of new rows."
        )
    if len(sight.names) > 1 and sight.family.continuous:
        return paragraph(f"Ellipses hold half and {percent(INTERVAL, 0)} of new rows.")
    if not sight.family.has_levels:
        return ""
    left = len(names_of(sight.belief, sight)) - len(bars_of(sight.belief, sight, INTERVAL)[0])
    what = "levels" if len(sight.names) == 1 else "combinations"
    return paragraph(f"{left:,} rarer {what} are not drawn.") if left > 0 else ""


def by_class(sight: Sight, *columns: list[str]) -> list[tuple[str, ...]]:
    names = [named(c, brief(str(sight.classes[k]), 40)) for c, k in enumerate(sight.shown.tolist())]
    return list(zip(names, *columns, strict=True))
