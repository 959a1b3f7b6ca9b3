"""Squared distances of rows from the middle of each class, in the units of its spread in every direction.

Rows are the lanes of a transposed tile. A whitening is lower triangular: half of its entries are never read.
"""

import numpy as np

from bayesnb.kernels.compiled import Array, compiled
from bayesnb.kernels.gaussian import LANES, transpose
from bayesnb.kernels.rows import clear

BLOCK = 4  # columns that are added to a lane at once


@compiled
def distances(x: Array, location: Array, whitening: Array, out: Array) -> None:
    """The squared length of whitening @ (x - location): `(r, d), (c, d), (c, d, d) -> (r, c)`."""
    width = x.shape[1]
    padded = -(-width // BLOCK) * BLOCK
    tile, gap = np.empty((width, LANES)), np.zeros((padded, LANES))
    spare, total = np.empty(LANES), np.empty(LANES)
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        transpose(part, tile)
        for c in range(len(location)):
            for j in range(width):
                middle = location[c, j]
                for i in range(LANES):
                    gap[j, i] = tile[j, i] - middle
            squared_length(gap, whitening[c], spare, total)
            for i in range(len(part)):
                out[start + i, c] = total[i]


@compiled
def squared_length(gap: Array, whitening: Array, spare: Array, total: Array) -> None:
    """Of whitening @ gap, lane by lane; above its diagonal the whitening is zero, and so are rows beyond it of gap."""
    clear(total)
    for row in range(len(whitening)):
        own = whitening[row]
        clear(spare)
        for j in range(0, row + 1, BLOCK):
            w0 = own[j]
            w1 = own[j + 1] if j + 1 <= row else 0.0
            w2 = own[j + 2] if j + 2 <= row else 0.0
            w3 = own[j + 3] if j + 3 <= row else 0.0
            for i in range(LANES):
                spare[i] += (w0 * gap[j, i] + w1 * gap[j + 1, i]) + (w2 * gap[j + 2, i] + w3 * gap[j + 3, i])
        for i in range(LANES):
            total[i] += spare[i] * spare[i]
