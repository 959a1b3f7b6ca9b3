"""Made-up tables with their labels.

The classes overlap, so that most probabilities are neither 0 nor 1.

Every function takes the number of rows first, and makes the same table each time.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

Array = np.ndarray
Table = tuple[Any, Array]  # what is known, and the labels

SEED = 20
# the words' ranks are shifted by so much: a text then repeats a word here and there, not all the
# time
COMMON = 10


def head(x: Any, rows: int) -> Any:
    """The first rows of a table of any kind."""
    return x.iloc[:rows] if hasattr(x, "iloc") else x[:rows]


def labels(rng: np.random.Generator, rows: int, classes: int) -> Array:
    """Classes of equal size, shuffled."""
    return rng.permutation(rows) % classes


def reals(rows: int, columns: int, classes: int, dtype: Any = float, missing: float = 0.0) -> Table:
    """Normal columns; a share of the cells is missing."""
    rng = np.random.default_rng(SEED)
    y = labels(rng, rows, classes)
    x = rng.standard_normal((rows, columns), dtype)
    x += rng.normal(0, 1.5 / np.sqrt(columns), (classes, columns)).astype(dtype)[y]
    if missing:
        x[rng.random(x.shape, np.float32) < missing] = np.nan
    return x, y


def bits(rows: int, columns: int, classes: int, dtype: Any = float) -> Table:
    """Zeros and ones."""
    rng = np.random.default_rng(SEED)
    y = labels(rng, rows, classes)
    share = rng.uniform(0.25, 0.35, (classes, columns)).astype(np.float32)
    return (rng.random((rows, columns), np.float32) < share[y]).astype(dtype), y


def codes(rows: int, columns: int, classes: int, fewest: int = 2, most: int = 50) -> Table:
    """Levels as integers, from `fewest` in the first column to `most` in the last."""
    rng = np.random.default_rng(SEED)
    y = labels(rng, rows, classes)
    sizes = np.linspace(fewest, most, columns).astype(int)
    lean = rng.uniform(0.8, 1.25, (classes, columns))
    return (sizes * rng.random((rows, columns)) ** lean[y]).astype(np.int64), y


def texts(rows: int, columns: int, classes: int) -> Table:
    """A frame of strings, the levels of `codes`."""
    x, y = codes(rows, columns, classes)
    names = np.array([f"level {k}" for k in range(x.max() + 1)], object)
    return pd.DataFrame({f"c{j}": names[x[:, j]] for j in range(columns)}), y


def categories(rows: int, columns: int, classes: int) -> Table:
    """A frame of pandas categoricals, the levels of `codes`."""
    x, y = codes(rows, columns, classes)
    names = pd.Index([f"level {k}" for k in range(x.max() + 1)])
    columns_ = {f"c{j}": pd.Categorical.from_codes(x[:, j], names) for j in range(columns)}
    return pd.DataFrame(
        {name: column.remove_unused_categories() for name, column in columns_.items()}
    ), y


def mixed(rows: int, columns: int, classes: int) -> Table:
    """A frame with as many real columns, r0, r1, ..., as categorical ones, c0, c1, ....

    The labels are alike.
    """
    x, y = reals(rows, columns, classes)
    frame, _ = categories(rows, columns, classes)
    return pd.concat([pd.DataFrame(x, columns=[f"r{j}" for j in range(columns)]), frame], axis=1), y


def words(rows: int, columns: int, classes: int, length: int, binary: bool = False) -> Table:
    """A sparse table of word counts: texts of some `length`, by Zipf's law.

    A few words in each depend on the class.
    """
    rng = np.random.default_rng(SEED)
    y = labels(rng, rows, classes)
    heap = np.cumsum(1 / np.arange(COMMON, COMMON + columns))
    word = np.searchsorted(heap, heap[-1] * rng.random((rows, length))).astype(np.int32)
    telling = word[:, : max(1, length // 20)]
    telling += rng.integers(columns, size=classes, dtype=np.int32)[y, None]
    telling %= columns
    starts = np.arange(0, word.size + 1, length, dtype=np.int32)
    x = sparse.csr_array((np.ones(word.size, np.int64), word.ravel(), starts), (rows, columns))
    x.sum_duplicates()
    if binary:
        x.data[:] = 1
    return x, y


def iris(rows: int, kind: str) -> Table:
    """Iris as an array, a list of lists or a frame, however many rows are asked for."""
    x, y = load_iris(return_X_y=True, as_frame=kind == "frame")
    return (x.tolist() if kind == "list" else x), np.asarray(y)


def digits(rows: int) -> Table:
    """Handwritten digits, shuffled, however many rows are asked for."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(y))
    return x[order], y[order]
