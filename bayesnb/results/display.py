"""What a notebook shows of a fitted estimator, below its parameters."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.formatting import list_names, shorten
from bayesnb.results.tables import show_html

MAX_LETTERS = 600  # of a list of names
MAX_NAME = 40  # letters of each name
MAX_NAMES = 10  # that are listed


def state_html(
    classes: Array,
    counts: Array,
    families: Mapping[Hashable, Family],
    how: str,
) -> str:
    """Return what an estimator has learnt: classes with their rows, families with their columns.

    A block that is modelled jointly has a row of its own.
    """
    labels = [
        f"{shorten(label, MAX_NAME)} ({count:g})"
        for label, count in zip(classes.tolist(), counts, strict=True)
    ]
    columns: dict[tuple[str, Any], list[str]] = {}
    for name, family in families.items():
        block = name if isinstance(name, tuple) and family.multivariate else None
        names = [shorten(each, MAX_NAME) for each in block or [name]]
        columns.setdefault((repr(family), block), []).extend(names)
    rows = [
        (kind, len(names), list_names(names, MAX_NAMES)) for (kind, _), names in columns.items()
    ]
    table = pd.DataFrame(rows, columns=["family", "columns", "names"]).set_index("family")
    title = f"Learnt from {counts.sum():g} rows"
    note = f"Classes (rows): {list_names(labels, MAX_NAMES)}. {how}"
    return show_html(
        title,
        table,
        {"names": partial(shorten, most=MAX_LETTERS)},
        note,
    )
