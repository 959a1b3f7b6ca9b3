"""New rows, each of a draw of its own.

p(x | y, D) = mean over draws of p(y | draw) p(x | y, draw, D), over p(y | D)
"""

from typing import Any

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.inference.row_sampling import draw_cells, stacked
from bayesnb.mcmc.ensemble import Ensemble
from bayesnb.model.schema import Schema


def draw_rows(schema: Schema, ensemble: Ensemble, codes: Array, length: Any, rng: np.random.Generator) -> list[Cells]:
    """The cells of every block, one row for each class in `codes`."""
    draws, lengths = _draws(ensemble, codes, rng), None if length is None else np.broadcast_to(length, codes.shape)
    order, parts = [], []
    for draw in np.unique(draws):
        its = np.flatnonzero(draws == draw)
        own = None if lengths is None else lengths[its]
        order.append(its)
        parts.append(draw_cells(schema, ensemble.model(int(draw)), codes[its], own, rng))
    back = np.argsort(np.concatenate(order))
    return [stacked(block)[back] for block in zip(*parts, strict=True)]


def _draws(ensemble: Ensemble, codes: Array, rng: np.random.Generator) -> Array:
    """The draw behind each row: the more probable, the more probable its class is under it."""
    found = np.empty(len(codes), np.intp)
    die = np.exp(ensemble.log_class(np.arange(ensemble.size)))
    for c in np.unique(codes):
        its = np.flatnonzero(codes == c)
        found[its] = rng.choice(ensemble.size, len(its), p=die[:, c] / die[:, c].sum())
    return found
