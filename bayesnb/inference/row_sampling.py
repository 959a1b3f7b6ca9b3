"""New rows from the posterior predictive, in tables like the training table.

    class ~ Categorical(p)
    theta ~ posterior, given the class
    row | theta ~ p(x | theta, class)

Each row has its own theta, so rows are independent given the data: each is a draw of the next row.
A multinomial block does not model the length of a text; lengths have a Poisson rate for each class.

In linked columns each child is drawn again, given the level of its parent in the row:

p(cell | level a of the parent) = p(cell) r(a, level of the cell) / constant r the expected ratio of
the link

Cells of the child are drawn from its family until one is accepted with probability r / max r
(rejection sampling), so their distribution within a level does not change. Parents come before
children, so one pass over the links draws a whole forest.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.data import is_missing
from bayesnb.data.columns import encode
from bayesnb.families import Poisson
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.poisson import PoissonStats
from bayesnb.inference.posterior_draws import PARAMETERS_AT_ONCE, count_parameters
from bayesnb.model.linked import levels_of_written
from bayesnb.model.product import Model
from bayesnb.model.schema import Block, Schema
from bayesnb.numerics.threads import blocks

Generator = np.random.Generator


def draw_codes(n: Any, y: Any, classes: Array, probability: Array, rng: Generator) -> Array:
    """Return the codes of n labels, given by `y` or drawn, `(r,)`."""
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be a whole number of rows, at least 1, got {n!r}.")
    if y is None:
        return rng.choice(len(classes), n, p=probability / probability.sum())
    labels = np.asarray(y)
    labels = np.full(n, labels) if labels.ndim == 0 else labels
    if labels.shape != (n,):
        raise ValueError(
            f"y must be one label, or one for each of {n} rows, got an array of shape "
            f"{labels.shape}."
        )
    if is_missing(labels).any():
        raise ValueError(
            f"y: label {is_missing(labels).argmax()} is missing. Use y=None to draw labels."
        )
    codes = encode(labels, classes)
    never = probability[codes] == 0
    if never.any():
        label = classes.tolist()[codes[never.argmax()]]
        raise ValueError(f"y: the label {label!r} has probability 0 in this model.")
    return codes


def draw_table(schema: Schema, model: Model, codes: Array, length: Any, rng: Generator) -> Any:
    """Draw one row for each class code; columns without a family are absent."""
    check_length(length, len(codes), schema.blocks)
    return fill_table(schema, draw_cells(schema, model, codes, length, rng))


def draw_cells(
    schema: Schema, model: Model, codes: Array, length: Any, rng: Generator
) -> list[Cells]:
    """Draw the cells of each block, in the form that the table template needs."""
    cells: list[Any] = []
    pack = schema.template.pack if schema.links is None else np.asarray
    for block, belief, seen in zip(
        schema.columns_alone.blocks, model.posterior.blocks, model.stats.blocks, strict=False
    ):
        lengths = None
        if block.family.words:
            words = seen.counts.sum(axis=-1)  # type: ignore[attr-defined]
            lengths = _lengths(length, words, model.stats.classes.counts, codes, rng)
        cells.append(_draw(block, belief, codes, lengths, pack, rng))
    if schema.links is not None:
        relink(schema, model, codes, cells, rng)
        cells = [schema.template.pack(x) for x in cells]
    return cells


def fill_table(schema: Schema, cells: Sequence[Cells]) -> Any:
    """Make a table of the same kind as the training table."""
    pairs = zip(schema.columns_alone.blocks, cells, strict=True)
    parts = [(block.places, x, () if block.family.listed else block.levels) for block, x in pairs]
    return schema.template.fill(schema.columns, parts)


def stack_rows(parts: Sequence[Cells]) -> Cells:
    """Stack the rows of several parts."""
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


def _draw(
    block: Block, belief: Belief, codes: Array, lengths: Array | None, pack: Any, rng: Generator
) -> Cells:
    """Draw the cells of a block, `(r,) -> (r, f)`, class by class, some parameters at a time."""
    step = max(PARAMETERS_AT_ONCE // count_parameters(belief), 1)
    order = []
    drawn = []
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        posterior = belief[c]
        for part in blocks(len(members), step):
            rows = members[part]
            total = () if lengths is None else (lengths[rows, None],)
            with np.errstate(over="ignore"):  # concentrations may be 0
                cells = posterior.sample(rng, len(rows)).sample(rng, *total)
            order.append(rows)
            drawn.append(pack(block.write(cells.reshape(len(rows), -1), rng)))
    back = np.argsort(np.concatenate(order))
    return stack_rows(drawn)[back]


def _lengths(length: Any, words: Array, rows: Array, codes: Array, rng: Generator) -> Array:
    """Number of words of each row, `(r,)`, by default drawn by `Poisson()` fitted to the lengths.

    Words and rows both count with their weights, also when stats are added, subtracted or scaled.
    """
    if length is not None:
        return np.broadcast_to(np.asarray(length).astype(np.int64), codes.shape)
    seen = PoissonStats(rows[:, None], words, np.zeros_like(words))
    belief = Poisson().belief(seen).update(seen)
    return belief[codes].sample(rng).sample(rng)[:, 0].astype(np.int64)


def check_length(length: Any, rows: int, blocks: Sequence[Block]) -> None:
    """Raise for invalid lengths."""
    if length is None:
        return
    if not any(block.family.words for block in blocks):
        raise ValueError(
            "length is the number of words of a row, but the model has no Multinomial block. Leave "
            "it out."
        )
    lengths = np.asarray(length)
    if lengths.dtype.kind not in "iu" or lengths.shape not in ((), (rows,)) or (lengths < 0).any():
        raise ValueError(
            f"length must be a whole number, or one for each of {rows} rows, none negative, got "
            f"{length!r}."
        )


# Linked columns

MAX_ROUNDS = 1_000  # then cells are accepted anyway: ratios are never so extreme
FEW, MANY = 1 << 6, 1 << 12  # bounds on the cells drawn per round


def relink(schema: Schema, model: Model, codes: Array, cells: list[Any], rng: Generator) -> None:
    """Draw the children of a forest again, into the cells of their blocks, `(r, f)`.

    Links outside the forest are ignored.
    """
    links: Any = schema.links
    columns = schema.columns_alone.blocks
    belief: Any = model.posterior.blocks[len(columns)]
    ratio = belief.mean()
    at = {name: (b, j) for b, block in enumerate(columns) for j, name in enumerate(block.names)}
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
            # the last is for cells whose level the link does not know
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
