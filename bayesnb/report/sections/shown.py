"""The cells of single rows, as the model saw them, in words."""

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array
from bayesnb.families.wording import number
from bayesnb.model.schema import Block
from bayesnb.report.facts import Facts
from bayesnb.report.markup import text
from bayesnb.report.wording import brief, name_of

MOST_CELLS = 12


def cells_of(rows: Array, facts: Facts) -> list[str]:
    """What the model saw of each row, in words, the first `MOST_CELLS` columns in the table's order."""
    found: list[list[tuple[int, str]]] = [[] for _ in rows]
    for block, x in zip(facts.model.schema_.blocks, facts.cells, strict=True):
        seen = x[rows]
        for said, cells in zip(found, seen.toarray() if sparse.issparse(seen) else np.asarray(seen), strict=True):
            said += [(block.word_places[j], block_cell(block, j, float(cells[j]))) for j in told(block, cells)]
    return [" · ".join(cell for _, cell in sorted(said)[:MOST_CELLS]) for said in found]


def told(block: Block, cells: Array) -> Array:
    """The columns of a block worth saying: the largest counts, or the first ones."""
    if len(cells) <= MOST_CELLS or not block.family.words:
        return np.arange(min(len(cells), MOST_CELLS))
    most = np.argsort(-cells, kind="stable")[:MOST_CELLS]
    return most[cells[most] > 0]


def block_cell(block: Block, j: int, cell: float) -> str:
    """One cell with its column's name."""
    return f'<span class="cell">{text(brief(name_of(block.words[j])))} <b>{value(block, j, cell)}</b></span>'


def value(block: Block, j: int, cell: float) -> str:
    if np.isnan(cell) or (block.family.has_levels and cell < 0):
        return "missing"
    if block.family.has_levels:
        return text(brief(str(block.levels[j][int(cell)]))) if cell < len(block.levels[j]) else "new"
    outcomes = block.family.outcomes
    return outcomes[int(cell)] if outcomes else number(cell, 6).replace(",", "")
