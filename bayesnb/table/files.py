"""Tables in files, and a column of labels beside them."""

from io import StringIO
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from bayesnb.table.values import is_missing

Array = np.ndarray


def read_file(path: Any) -> Any:
    """A CSV file, or a TSV by its ending, as a dataframe."""
    return pd.read_csv(path, sep="\t" if str(path).endswith(".tsv") else ",")


def read_text(text: str) -> Any:
    """The text of a CSV file as a dataframe."""
    return pd.read_csv(StringIO(text))


def split_labels(frame: Any, column: str) -> tuple[Any, Array]:
    """A dataframe without one column, and that column, which holds the labels."""
    table = nw.from_native(frame, eager_only=True)
    if column not in table.columns:
        raise ValueError(f"the table has no column {column!r}; it has {', '.join(map(repr, table.columns))}.")
    labels = table[column].to_numpy()
    missing = is_missing(labels)
    if missing.any():
        raise ValueError(
            f"column {column!r}: {missing.sum()} of {len(labels)} labels are missing, first at row "
            f"{missing.argmax()}. Drop those rows from the table, or write a label of their own into them."
        )
    return table.drop(column).to_native(), labels
