"""Cells of linked columns: each child is drawn again, given the level of its parent in the row.

    p(cell | level a of the parent) = p(cell) r(a, level of the cell) / constant
    r the expected ratio of the link

Cells of the child's family are drawn until one is accepted, with the probability r / max r (von
Neumann). So all that the family knows of the cells of a level stays as it is. Parents come before
children, so that a whole forest is drawn in one pass over its links.
"""

from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.model.linked import levels_of_written
from bayesnb.model.product import Model
from bayesnb.model.schema import Schema

MAX_ROUNDS = 1_000  # after which cells are taken as they come: ratios are never so extreme
FEW, MANY = 1 << 6, 1 << 12  # cells that are drawn in a round, of few rows several for each
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
    for k in np.flatnonzero(links.in_forest).tolist():
        (parent, child), (u, v) = links.keys[k], links.ends[k]
        table = ratio[:, links.pairs_of(k)].reshape(len(ratio), *links.pairs.shapes[k])
        b, j = at[parent]
        seen = levels_of_written(links.columns[u], schema.blocks[b], j, cells[b][:, j])
        b, j = at[child]
        block = schema.blocks[b]
        for c, level in np.unique([codes, seen], axis=1).T.tolist():
            if level < 0:
                continue
            rows = np.flatnonzero((codes == c) & (seen == level))
            # the last is that of a cell of which the link knows nothing
            chance = np.append(table[c, level], 1.0)
            chance /= chance.max()
            belief = model.posterior.blocks[b][c]
            size = np.clip(4 * len(rows), FEW, MANY)
            accepted: list[Any] = []
            drawn = np.empty(0)
            for _ in range(MAX_ROUNDS):
                if sum(map(len, accepted)) >= len(rows):
                    break
                drawn = belief.sample(rng, size).sample(rng).reshape(size, -1)
                drawn = np.asarray(block.write(drawn, rng))[:, j]
                levels = levels_of_written(links.columns[v], block, j, drawn)
                accepted.append(drawn[rng.uniform(size=size) < chance[levels]])
            cells[b][rows, j] = np.concatenate([*accepted, drawn])[: len(rows)]
