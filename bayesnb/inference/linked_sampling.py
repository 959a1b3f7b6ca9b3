"""Cells of linked columns: each child is drawn again, given the level of its parent in the row.

    p(cell | level a of the parent) = p(cell) r(a, level of the cell) / constant
    r the expected ratio of the link

Cells of the child's family are drawn until one is accepted, with the probability r / max r (von
Neumann). So all that the family knows of the cells of a level stays as it is. Parents come before
children, so that a whole forest is drawn in one pass over its links.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief
from bayesnb.model.linked import levels_of_written
from bayesnb.model.product import Model
from bayesnb.model.schema import Block, Schema

MAX_ROUNDS = 1_000  # after which a cell is taken as it comes: ratios are never so extreme
CELLS_AT_ONCE = 1 << 12  # cells that are drawn in a round, of few rows several for each
Generator = np.random.Generator


def relink(schema: Schema, model: Model, codes: Array, cells: list[Any], rng: Generator) -> None:
    """Draw the children of a forest again, into the cells of their blocks, `(r, f)`.

    Links beyond the forest draw nothing.
    """
    links: Any = schema.links
    belief: Any = model.posterior.blocks[-1]
    ratio = belief.mean()
    at = {
        name: (b, j)
        for b, block in enumerate(schema.columns_alone.blocks)
        for j, name in enumerate(block.names)
    }
    packed = {
        b for b in {at[name][0] for key in links.keys for name in key} if sparse.issparse(cells[b])
    }
    for b in packed:
        cells[b] = cells[b].toarray()
    for k in np.flatnonzero(links.in_forest).tolist():
        (parent, child), shape = links.keys[k], links.pairs.shapes[k]
        readers = [links.reader_of(end) for end in links.ends[k]]
        seen = _levels(at[parent], readers[0], schema, cells)
        table = ratio[:, links.pairs_of(k)].reshape(len(ratio), *shape)
        b, j = at[child]
        for c in np.unique(codes[seen >= 0]):
            rows = np.flatnonzero((codes == c) & (seen >= 0))
            of_class = schema.blocks[b], model.posterior.blocks[b][c]
            cells[b][rows, j] = _draw_accepted(*of_class, j, readers[1], table[c, seen[rows]], rng)
    for b in packed:
        cells[b] = schema.template.pack(cells[b])


def _levels(
    at: tuple[int, int], reader: tuple[Block, int], schema: Schema, cells: Sequence[Any]
) -> Array:
    """Levels, as the links know them, of a column that was drawn, `(r,)`."""
    b, j = at
    return levels_of_written(*reader, schema.blocks[b], j, np.asarray(cells[b])[:, j])


def _draw_accepted(
    block: Block, belief: Belief, j: int, reader: tuple[Block, int], ratio: Array, rng: Generator
) -> Array:
    """Cells of one column and class, of which those on a level are accepted by its ratio.

    Shapes: `(r, b) -> (r,)`.
    """
    # the last is that of a cell of which the link knows nothing
    of_levels = np.column_stack([ratio, np.ones(len(ratio))])
    chance = of_levels / of_levels.max(axis=1, keepdims=True)
    waiting = np.arange(len(ratio))
    out = None
    for _ in range(MAX_ROUNDS):
        each = max(CELLS_AT_ONCE // len(waiting), 1)
        size = each * len(waiting)
        drawn = np.asarray(
            block.write(belief.sample(rng, size).sample(rng).reshape(size, -1), rng)
        )[:, j]
        levels = levels_of_written(*reader, block, j, drawn).reshape(-1, each)
        good = rng.uniform(size=levels.shape) < np.take_along_axis(chance[waiting], levels, axis=1)
        first = good.argmax(axis=1)
        cells = drawn.reshape(-1, each)[np.arange(len(waiting)), first]
        out = np.empty(len(ratio), drawn.dtype) if out is None else out
        out[waiting] = cells
        waiting = waiting[~good.any(axis=1)]
        if not len(waiting):
            break
    return np.asarray(out)
