"""Cells of linked columns: each child is drawn again, given the level of its parent in the row.

    level b of the child | level a of the parent ~ the link's expected distribution      cell | b ~ the child's family

A cell on a level that came later stays, as the link says nothing of it. Parents come before children, so that a whole
forest is drawn in one pass over its links. A cell on a level is one of many that the family of the child draws, which
lies there: where none does, as the level has hardly any probability, it is one of those that were learnt there, any
number between its ends.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief
from bayesnb.families.dirichlet import draw_level
from bayesnb.model.linked import LinkBlock, levels_of_written
from bayesnb.model.product import Model
from bayesnb.model.schema import Block, Schema

ROUNDS = 50  # of draws from which cells on a level are taken
LEAST = 64  # cells in a round
Generator = np.random.Generator


def relink(schema: Schema, model: Model, codes: Array, cells: list[Any], rng: Generator) -> None:
    """Draw the children of a forest again, into the cells of their blocks, `(r, f)`; of links beyond it none."""
    links: LinkBlock = schema.links
    belief: Any = model.posterior.blocks[-1]
    share = belief.concentration / belief.total
    at = {name: (b, j) for b, block in enumerate(schema.blocks) for j, name in enumerate(block.names)}
    packed = {b for b in {at[name][0] for key in links.keys for name in key} if sparse.issparse(cells[b])}
    for b in packed:
        cells[b] = cells[b].toarray()
    for k in np.flatnonzero(links.in_forest).tolist():
        (parent, child), shape = links.keys[k], links.pairs.shapes[k]
        readers = [links.reader_of(end) for end in links.ends[k]]
        seen, there = (
            _levels(at[end], reader, schema, cells) for end, reader in zip((parent, child), readers, strict=True)
        )
        table = share[:, links.pairs_of(k)].reshape(len(share), *shape)
        known = np.flatnonzero((seen >= 0) & (there >= 0))
        wanted = draw_level(table[codes[known], seen[known]], rng)
        b, j = at[child]
        for c in np.unique(codes[known]):
            of_class = codes[known] == c
            rows = known[of_class]
            cells[b][rows, j] = _on_levels(
                schema.blocks[b], model.posterior.blocks[b][c], j, readers[1], wanted[of_class], rng
            )
    for b in packed:
        cells[b] = schema.blank.pack(cells[b])


def _levels(at: tuple[int, int], reader: tuple[Block, int], schema: Schema, cells: Sequence[Any]) -> Array:
    """Levels, as the links know them, of a column that was drawn, `(r,)`."""
    b, j = at
    return levels_of_written(*reader, schema.blocks[b], j, np.asarray(cells[b])[:, j])


def _on_levels(block: Block, belief: Belief, j: int, reader: tuple[Block, int], wanted: Array, rng: Generator) -> Array:
    """Cells of one column and class that lie on the levels wanted, `(r,)`."""
    known, at = reader
    if block.levels:
        places = {level: place for place, level in enumerate(block.levels[j])}
        return np.array([places[known.levels[at][code]] for code in wanted])
    out, missing = np.empty(len(wanted)), np.arange(len(wanted))
    for _ in range(ROUNDS):
        size = max(len(missing), LEAST)
        drawn = np.asarray(block.write(belief.sample(rng, size).sample(rng).reshape(size, -1), rng))[:, j]
        levels = levels_of_written(known, at, block, j, drawn)
        left = []
        for level in np.unique(wanted[missing]):
            places, have = missing[wanted[missing] == level], drawn[levels == level]
            taken = min(len(places), len(have))
            out[places[:taken]] = have[:taken]
            left.append(places[taken:])
        missing = np.sort(np.concatenate(left))
        if not len(missing):
            return out
    grid: Any = known.grid
    out[missing] = grid.only(at).written(wanted[missing][:, None], rng)[:, 0]
    return out
