"""Columns that are most likely not what they were read as: a warning for each, with what to do, as options."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.cli.problems import in_list, in_options, in_shell, quoted

FEWEST = 10  # rows, for every row's own level to be worth a word
MANY_CLASSES = 50


@dataclass(frozen=True)
class InOptions:
    """What the page advises, as options of the command that made it: see `bayesnb.report.remedies.Advice`."""

    @property
    def temper(self) -> str:
        return "--temper loo"

    def drop(self, keys: Sequence[Hashable]) -> str:
        return f"leave {'it' if len(keys) == 1 else 'them'} out: {self.declare(keys, 'drop')}"

    def declare(self, keys: Sequence[Hashable], family: str) -> str:
        return f"--family {in_shell(','.join(in_list(str(key)) for key in keys))}={family}"

    def reserve(self, key: Hashable) -> str:
        return ""  # a family's own parameters have no option

    def setting(self, name: str, value: Any) -> str:
        return f"--{name.replace('_', '-')} {value}"

    def reworded(self, message: str) -> str:
        return in_options(message)


def advise(talk: Any, X: Any, y: Any, looks: Mapping[str, Any]) -> None:
    """Warn of columns whose family was inferred, and of labels, where they look odd."""
    from bayesnb.data import looks_numeric

    if looks_numeric((*X.columns,)):
        talk.warn("the names of the columns are numbers: does the table lack its first line, with the names?")
    for name in X.columns:
        said = None if name not in looks else odd(name, X[name], looks[name])
        if said is not None:
            talk.warn(f"column {name!r} {said}")
    labels, counts = np.unique(y.astype(str) if y.dtype == object else y, return_counts=True)
    if len(labels) > MANY_CLASSES:
        single = int((counts == 1).sum())
        talk.warn(
            f"there are {len(labels)} classes among {len(y)} rows, {single} of them with one row: is it the label?"
        )


def odd(name: str, column: Any, look: Any) -> str | None:
    """What is odd about a column, and what to do."""
    if look.kind == "words":
        return None
    drop, there = f"--family {quoted(name)}=drop", column.dropna()
    distinct = there.nunique()
    if look.kind == "text" and look.dates:
        return f"holds dates, which are read as {distinct:,} levels. Leave it out, {drop}, or make numbers of it."
    if look.kind == "text" and (advice := on_amounts(there, look)) is not None:
        return advice
    if look.kind == "text" and look.commas:
        return "holds numbers with decimal commas, which are read as levels. If they are numbers: --decimal ,"
    if look.kind == "text" and look.is_almost_numeric:
        line, cell = look.odd
        also = in_shell(",NA,NaN,?," + in_list(cell))
        return (
            f"is read as levels, as {look.cells - look.numbers:,} of {look.cells:,} cells are no numbers; the first is "
            f"{cell!r} in line {line}. If it says that the cell is missing: --missing {also}"
        )
    if look.kind == "text" and len(there) >= FEWEST and distinct == len(there):
        return f"has another level in each of {distinct:,} rows: most likely it names them. Leave it out: {drop}"
    if look.kind == "text" and len(there) >= 2 * FEWEST and distinct > len(there) / 2:
        single = int((there.value_counts() == 1).sum())
        return (
            f"has {distinct:,} levels in {len(there):,} rows, and {single:,} of them in one row only, of which little "
            f"can be learnt. To leave it out: {drop}"
        )
    if look.kind == "integer" and len(column) >= FEWEST and counts_rows(column):
        return f"goes up by one from row to row, as a number of the rows does. If it is one, leave it out: {drop}"
    return None


def on_amounts(cells: Any, look: Any) -> str | None:
    """What to do about a column of money, percentages, thousands or units; None for any other."""
    from bayesnb.data import amounts_of

    amounts = amounts_of(cells.unique().tolist())
    if amounts is None:
        return None
    decimal = " If the comma is that of decimals: --decimal ,." if look.commas else ""
    return (
        f"holds {amounts.what}, such as {amounts.example!r}, which are read as levels. Write plain numbers into the "
        f"table: {amounts.plain} for {amounts.example!r}.{decimal}"
    )


def counts_rows(column: Any) -> bool:
    """Whether a column of whole numbers goes up by one from row to row."""
    numbers = column.to_numpy()
    return numbers.dtype.kind == "i" and bool((np.diff(numbers) == 1).all())
