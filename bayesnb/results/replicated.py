"""Columns as observed, and as replicated from p(x | y, theta), for ArviZ's predictive checks.

A column has a variable under its name, `(obs_id,)`: numbers unchanged, flags as 0 and 1, levels as
indices among the column's levels, NaN where a cell is missing. Blocks of words and sparse tables
have no variables. Links between columns are left out, as they have no parameters in the tree.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from bayesnb.data import SparseTable, Table
from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import Theta
from bayesnb.model.schema import Block, Schema
from bayesnb.numerics.views import EVERY, FLOATS, numbers, readable

Variables = dict[str, tuple[tuple[str, ...], Array]]  # name -> dims, array
RESERVED = ("y", "p", "class_prob")  # names of variables that are not columns
ROW_AXIS = ("obs_id",)


def has_columns(block: Block) -> bool:
    """Return whether the block's columns are replicated: those of words are not."""
    return not (block.family.words or block.repeats)


def name_variable(column: Hashable) -> str:
    """Return the name of a column's variable."""
    name = str(column).replace("/", "_")
    return f"{name}_" if name in RESERVED else name


def observe_columns(schema: Schema, table: Table, cells: Sequence[Cells]) -> Variables:
    """Return the columns of a table, given the cells of its blocks."""
    variables: Variables = {}
    if isinstance(table, SparseTable):
        return variables
    for block, x in zip(schema.columns_alone.blocks, cells, strict=False):
        if not has_columns(block):
            continue
        if block.family.has_levels:
            codes = readable(x[EVERY], FLOATS)
            values = np.where(codes < 0, np.nan, codes)
        else:
            values = numbers(table.numbers(block.places), EVERY)
        for j, name in enumerate(block.names):
            variables[name_variable(name)] = ROW_AXIS, values[:, j]
    return variables


def replicate_columns(
    theta: Theta, blocks: Sequence[Block], codes: Array, rng: np.random.Generator
) -> Variables:
    """Draw columns for rows of these classes, `(s, r)`, for each draw of theta."""
    draws, classes = theta.shape
    owner = (np.arange(draws)[:, None] * classes + codes).ravel()
    variables: Variables = {}
    for block, density in zip(blocks, theta.blocks, strict=False):
        if not has_columns(block):
            continue
        drawn = density[owner].sample(rng).reshape(len(owner), -1)
        written = np.asarray(block.write(drawn, rng), float)
        for j, name in enumerate(block.names):
            variables[name_variable(name)] = ROW_AXIS, written[:, j].reshape(draws, -1)
    return variables
