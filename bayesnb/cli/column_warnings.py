"""Warnings of columns that are most likely not what they were read as, each with a remedy as an option."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.cli.messages import in_list, in_shell, quoted
from bayesnb.data import amounts_of, looks_numeric

FEWEST = 10  # rows, before levels of one row each are worth a warning
MANY_CLASSES = 50


def warn_of_columns(console: Any, X: Any, y: Any, summaries: Mapping[str, Any]) -> None:
    """Warn of columns with an inferred family, and of labels, that look wrong."""
    if looks_numeric((*X.columns,)):
        console.warn("the names of the columns are numbers: does the table lack its first line, with the names?")
    for name in X.columns:
        warning = column_warning(name, X[name], summaries[name]) if name in summaries else None
        if warning is not None:
            console.warn(f"column {name!r} {warning}")
    labels, counts = np.unique(y.astype(str) if y.dtype == object else y, return_counts=True)
    if len(labels) > MANY_CLASSES:
        single = int((counts == 1).sum())
        console.warn(
            f"there are {len(labels)} classes among {len(y)} rows, {single} of them with one row: is it the label?"
        )


def column_warning(name: str, column: Any, summary: Any) -> str | None:
    """Return what looks wrong about a column, and the remedy; None if nothing does."""
    if summary.kind == "text":
        return text_warning(f"--family {quoted(name)}=drop", column.dropna(), summary)
    if summary.kind == "integer" and len(column) >= FEWEST and numbers_rows(column):
        return (
            "goes up by one from row to row, as a number of the rows does. If it is one, leave it out: "
            f"--family {quoted(name)}=drop"
        )
    return None


def text_warning(drop: str, cells: Any, summary: Any) -> str | None:
    """Return what looks wrong about a column of levels, given its cells that are not missing."""
    distinct = cells.nunique()
    if summary.dates:
        return f"holds dates, which are read as {distinct:,} levels. Leave it out, {drop}, or make numbers of it."
    if (amounts := amounts_of(cells.unique().tolist())) is not None:
        decimal = " If the comma is that of decimals: --decimal ,." if summary.commas else ""
        return (
            f"holds {amounts.what}, such as {amounts.example!r}, which are read as levels. Write plain numbers into "
            f"the table: {amounts.plain} for {amounts.example!r}.{decimal}"
        )
    if summary.commas:
        return "holds numbers with decimal commas, which are read as levels. If they are numbers: --decimal ,"
    if summary.is_almost_numeric:
        line, cell = summary.first_non_number
        missing = in_shell(",NA,NaN,?," + in_list(cell))
        return (
            f"is read as levels, as {summary.cells - summary.numbers:,} of {summary.cells:,} cells are no numbers; the "
            f"first is {cell!r} in line {line}. If it says that the cell is missing: --missing {missing}"
        )
    if len(cells) >= FEWEST and distinct == len(cells):
        return f"has another level in each of {distinct:,} rows: most likely it names them. Leave it out: {drop}"
    if len(cells) >= 2 * FEWEST and distinct > len(cells) / 2:
        single = int((cells.value_counts() == 1).sum())
        return (
            f"has {distinct:,} levels in {len(cells):,} rows, and {single:,} of them in one row only, of which little "
            f"can be learnt. To leave it out: {drop}"
        )
    return None


def numbers_rows(column: Any) -> bool:
    """Return whether a column of whole numbers goes up by one from row to row."""
    numbers = column.to_numpy()
    return numbers.dtype.kind == "i" and bool((np.diff(numbers) == 1).all())
