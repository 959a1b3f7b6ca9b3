"""Warnings about columns, with the remedies as options; what looks wrong is observed where rows are learnt."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from bayesnb.cli.messages import in_list, in_shell, quoted
from bayesnb.data.suspect_columns import conversion_advice

MANY_CLASSES = 50


def warn_of_header_and_labels(console: Any, X: Any, y: Any) -> None:
    """Warn of a table whose first line looks like a row, and of labels that look like anything but labels."""
    from bayesnb.data import looks_numeric
    from bayesnb.data.suspect_columns import RANGES, describe_numeric_labels

    if looks_numeric((*X.columns,)):
        console.warn(
            "the names of the columns are numbers: is the first line, with the names, missing from the table?"
        )
    labels, counts = np.unique(y.astype(str) if y.dtype == object else y, return_counts=True)
    if numeric := describe_numeric_labels(labels):
        console.warn(f"{numeric} {RANGES}")
    elif len(labels) > MANY_CLASSES:
        single = int((counts == 1).sum())
        console.warn(
            f"there are {len(labels)} classes in {len(y)} rows, {single} of them with one row only. Is this the column "
            "of labels?"
        )


def column_warnings(suspicions: Mapping[Hashable, Any]) -> list[str]:
    """Return a line for each column that looks wrong."""
    return [
        f"column {name!r} {each.problem}. {in_options(str(name), each)}"
        for name, each in suspicions.items()
    ]


def in_options(name: str, suspicion: Any) -> str:
    """Return what to do about a column, as options; where none does it, as code of pandas."""
    column = quoted(name)
    drop = f"To leave the column out: --family {column}=drop"
    match suspicion.remedy:
        case "drop" | "words":
            return drop
        case "levels":
            return f"If they are codes: --family {column}=categorical. {drop}"
        case "missing":
            missing = in_shell(",NA,NaN,?," + in_list(suspicion.cell))
            return f"If that means that the cell is missing: --missing {missing}"
    convert = conversion_advice(f"table[{name!r}]", suspicion)
    if suspicion.remedy == "decimal comma":
        return f"If all numbers of the table have one, add --decimal , to the command. {convert}"
    return f"{convert} {drop}"
