"""What the columns hold: missing cells, distinct values, and the range or the commonest levels of each."""

from typing import Any

import numpy as np

from bayesnb.formatting import NOTHING, SPACE, number, percent
from bayesnb.numerics.views import column
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import ModelledColumn
from bayesnb.report.facts.irregularities import ColumnCounts
from bayesnb.report.html import Cell, phrase
from bayesnb.report.wording import as_name

MOST_LEVELS = 4  # of a column
Values = dict[str, Any]


def overview(facts: Facts) -> Values:
    """A row for each column, in the table's order, and how many words there are besides."""
    places = {key: place for place, key in enumerate(facts.model.schema_.columns)}
    columns = sorted(facts.irregular.columns, key=lambda pair: places.get(pair[0].key, len(places)))
    blocks = facts.features.blocks
    return {
        "columns": [overview_row(each, counts, facts) for each, counts in columns],
        "unlisted": facts.irregular.left,
        "words": sum(len(facts.model.schema_.blocks[block.b].words) for block in blocks),
    }


def overview_row(one: ModelledColumn, counts: ColumnCounts, facts: Facts) -> tuple[Any, ...]:
    """Name, family, missing cells, distinct values, and what they are."""
    rows = len(facts.codes)
    missing = rows - counts.known
    x = column(facts.cells[one.b], one.j)
    known = x[np.isfinite(x) & ((x >= 0) | (not one.family.has_levels))]
    return (
        as_name(one.name),
        type(one.family).__name__,
        Cell(f"{missing:,} ({percent(missing / rows)})" if missing else "0", missing),
        f"{counts.distinct:,}",
        contents(one, known, facts),
    )


def contents(one: ModelledColumn, known: Any, facts: Facts) -> Any:
    """The commonest levels with their shares, or the least, the median and the largest number."""
    if not len(known):
        return NOTHING
    outcomes = one.family.outcomes
    if not (one.family.has_levels or outcomes):
        low, middle, high = (number(float(each), 5) for each in (known.min(), np.median(known), known.max()))
        return low if known.min() == known.max() else f"{low} to {high}, median{SPACE}{middle}"
    levels, times = np.unique(known, return_counts=True)
    order = np.argsort(-times, kind="stable")
    if len(levels) == len(known) > 1 and not outcomes:
        name = facts.model.schema_.blocks[one.b].levels[one.j][int(levels[0])]
        return phrase("different in every row, such as {}", as_name(name, 40))
    names = outcomes or facts.model.schema_.blocks[one.b].levels[one.j]
    shown = [
        phrase("{} {}", as_name(names[int(levels[k])], 30), percent(times[k] / len(known), 0))
        for k in order[:MOST_LEVELS]
        if levels[k] < len(names)
    ]
    rest = len(levels) - len(shown)
    return phrase(", ".join(["{}"] * len(shown)) + (f" and {rest:,} more" if rest > 0 else ""), *shown)
