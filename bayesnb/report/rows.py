"""Single rows on the page: what the model said of them when it had not seen them."""

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array
from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.words import name_of, number, percent
from bayesnb.schema import Block

MOST_ROWS = 10
MOST_CELLS = 12
MOST_SAID, LEAST_SAID = 3, np.log(0.005)


def unsure(facts: Facts) -> str:
    """The rows that deserve a second look."""
    return (
        paragraph(
            "Held out again: what the model says of a row when it has learnt from all the others.",
            "Rows are counted from 0, the first under the header.",
        )
        + least_certain(facts)
        + confident_mistakes(facts)
    )


def least_certain(facts: Facts) -> str:
    """The rows whose most probable label is the least probable."""
    certain = facts.left_out.max(axis=1)
    most = np.argsort(certain, kind="stable")[:MOST_ROWS]
    said = paragraph("The rows about which the model is least certain. An undecided model is not a wrong one.")
    return "<h3>Least certain rows</h3>" + said + rows_table("Least certain rows, held out", most, facts)


def confident_mistakes(facts: Facts) -> str:
    """The rows whose wrong label is the most probable."""
    wrong = np.flatnonzero(facts.left_out.argmax(axis=1) != facts.codes)
    if not len(wrong):
        return "<h3>Confident mistakes</h3>" + paragraph("There are none: every held-out row was labelled correctly.")
    most = wrong[np.argsort(-facts.left_out[wrong].max(axis=1), kind="stable")[:MOST_ROWS]]
    said = paragraph(
        "The mistakes of which the model was surest. Check these rows first: the label itself may be wrong."
    )
    return "<h3>Confident mistakes</h3>" + said + rows_table("Most confident mistakes, held out", most, facts)


def rows_table(caption: str, rows: Array, facts: Facts) -> str:
    """Rows with their labels, probabilities and cells."""
    columns = cells_of(rows, facts)
    lines = [
        (f"{row:,}", *verdict(int(row), facts), probabilities(facts.left_out[row], facts), said)
        for row, said in zip(rows.tolist(), columns, strict=True)
    ]
    return table(caption, ("Row", "Label", "Predicted", "Probabilities", "Cells"), lines, "cards rows")


def verdict(row: int, facts: Facts) -> tuple[str, str]:
    """The true label and the predicted one, which is marked where it is wrong."""
    own, best = int(facts.codes[row]), int(facts.left_out[row].argmax())
    guess = text(facts.classes[best])
    return text(
        facts.classes[own]
    ), guess if own == best else f'<span class="wrong">{guess} <small>(wrong)</small></span>'


def probabilities(log_proba: Array, facts: Facts) -> str:
    """The two most probable labels, and a third that is not negligible."""
    best = np.argsort(-log_proba, kind="stable")[:MOST_SAID]
    best = best[: 2 + int((log_proba[best[2:]] > LEAST_SAID).sum())]
    return "<br>".join(f"{text(facts.classes[c])}: {percent(float(np.exp(log_proba[c])))}" for c in best)


def cells_of(rows: Array, facts: Facts) -> list[str]:
    """What the model saw of each row, in words, the first `MOST_CELLS` columns in the table's order."""
    order = {name: place for place, name in enumerate(facts.model.schema_.columns)}
    found: list[list[tuple[int, str]]] = [[] for _ in rows]
    for block, x in zip(facts.model.schema_.blocks, facts.cells, strict=True):
        seen = x[rows]
        for said, cells in zip(found, seen.toarray() if sparse.issparse(seen) else np.asarray(seen), strict=True):
            said += [(order[block.names[j]], block_cell(block, j, float(cells[j]))) for j in told(block, cells)]
    return [" · ".join(cell for _, cell in sorted(said)[:MOST_CELLS]) for said in found]


def told(block: Block, cells: Array) -> Array:
    """The columns of a block worth saying: the largest counts, or the first ones."""
    if len(cells) <= MOST_CELLS or not block.family.whole:
        return np.arange(min(len(cells), MOST_CELLS))
    most = np.argsort(-cells, kind="stable")[:MOST_CELLS]
    return most[cells[most] > 0]


def block_cell(block: Block, j: int, cell: float) -> str:
    """One cell with its column's name."""
    return f'<span class="cell">{text(name_of(block.names[j]))}&nbsp;<b>{value(block, j, cell)}</b></span>'


def value(block: Block, j: int, cell: float) -> str:
    if np.isnan(cell) or (block.family.cells == "level" and cell < 0):
        return "missing"
    if block.family.cells == "level":
        return text(block.levels[j][int(cell)]) if cell < len(block.levels[j]) else "new"
    return ("yes" if cell else "no") if block.family.cells == "flag" else number(cell, 6)
