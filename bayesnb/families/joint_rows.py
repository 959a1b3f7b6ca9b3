"""Rows of combinations that a table has not seen: throws of them, and those that rows hold."""

from itertools import product
from math import prod

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.combined import Combined, distinct, patterns, smallest
from bayesnb.families.dirichlet import as_level

MOST = 1 << 16  # combinations that one row with missing cells may be


def fresh(table: Combined, several: int, rng: np.random.Generator) -> Array:
    """So many of the combinations without an entry, `(n, f)`, each as probable as any other."""
    if 2 * len(table.combinations) > prod(table.sizes):
        every = np.stack(np.unravel_index(np.arange(prod(table.sizes)), table.sizes), axis=-1)
        rest = every[table.places(every) < 0]
        return rest[rng.integers(len(rest), size=several)] if several else rest[:0]
    codes = rng.integers(table.sizes, size=(several, len(table.sizes)))
    while (seen := np.flatnonzero(table.places(codes) >= 0)).size:  # at most half of them, on average
        codes[seen] = rng.integers(table.sizes, size=(len(seen), len(table.sizes)))
    return codes


def unseen(table: Combined, x: Cells) -> Array:
    """The combinations that rows hold, or may hold where cells are missing, and that have no entry."""
    codes = as_level(x[:])
    parts = [_completed(table, columns, codes[rows]) for columns, rows in patterns(codes) if len(columns)]
    every = distinct(table.sizes, np.concatenate([np.empty((0, len(table.sizes)), np.intp), *parts]))
    return every[table.places(every) < 0].astype(smallest(table.sizes))


def _completed(table: Combined, columns: Array, codes: Array) -> Array:
    """All combinations that rows with cells in these columns may be."""
    rest = [j for j in range(len(table.sizes)) if j not in set(columns.tolist())]
    several = prod(table.sizes[j] for j in rest)
    if several > MOST:
        raise ValueError(
            f"a row lacks {len(rest)} of the {len(table.sizes)} columns of a joint table, and may be {several} "
            f"combinations of their levels, more than {MOST}: each of them would have to be drawn. Draw for rows with "
            "fewer missing cells; predict_proba and predict_interval need no draws."
        )
    rows = distinct([table.sizes[j] for j in columns], codes[:, columns])
    every = np.repeat(np.empty((len(rows), len(table.sizes)), np.intp), several, axis=0)
    every[:, columns] = np.repeat(rows, several, axis=0)
    if rest:
        every[:, rest] = np.tile(np.array(list(product(*(range(table.sizes[j]) for j in rest)))), (len(rows), 1))
    return every
