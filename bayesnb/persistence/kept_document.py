"""Rows that stay in a shard as a document, and back: cells of every block are such as its columns can have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.model.kept_rows import MOST_ROWS, KeptRows
from bayesnb.model.schema import Block
from bayesnb.persistence.archive import ArrayReader, ArrayWriter
from bayesnb.persistence.budget import Unreadable
from bayesnb.persistence.json_values import pack, unpack

ARRAYS = ("codes", "weight", "keys")
CSR = ("data", "indices", "indptr")
LEAST_CODE = -2  # of a level that is not known; -1 is a missing cell


def describe_kept(kept: KeptRows, writer: ArrayWriter) -> Any:
    """Return the document of rows that stay; arrays go to the writer."""
    arrays = {name: getattr(kept, name) for name in ARRAYS}
    cells = [{name: getattr(x, name) for name in CSR} if sparse.issparse(x) else x for x in kept.cells]
    return pack(arrays | {"rows": kept.rows, "cells": cells}, writer, "the rows that stay")


def kept_of(packed: Any, blocks: Sequence[Block], classes: int, reader: ArrayReader) -> KeptRows:
    """Return the rows that `describe_kept` described; raise for any that no table of these columns has."""
    entry = unpack(packed, reader)
    if not isinstance(entry, dict) or set(entry) != {*ARRAYS, "rows", "cells"}:
        raise Unreadable("rows that stay have cells, labels, weights and keys")
    codes, weight, keys = (entry[name] for name in ARRAYS)
    size = len(codes) if isinstance(codes, np.ndarray) and codes.ndim == 1 else -1
    for name, array, dtype in zip(ARRAYS, (codes, weight, keys), (np.intp, float, np.uint64), strict=True):
        if not (isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == (size,)):
            raise Unreadable(f"the {name} of the rows that stay are not one for each")
    if not (0 < size <= MOST_ROWS and type(entry["rows"]) is int and size <= entry["rows"]):
        raise Unreadable("rows that stay are more than they can be")
    if not ((codes >= 0) & (codes < classes)).all() or not (np.isfinite(weight) & (weight > 0)).all():
        raise Unreadable("a row that stays has no class, or no weight")
    if not (keys[1:] >= keys[:-1]).all():
        raise Unreadable("rows that stay are not in the order of their keys")
    if not isinstance(entry["cells"], list) or len(entry["cells"]) != len(blocks):
        raise Unreadable("rows that stay have cells of other columns")
    cells = tuple(_cells_of(x, block, size) for x, block in zip(entry["cells"], blocks, strict=True))
    return KeptRows(cells, codes, weight, keys, entry["rows"])


def _cells_of(x: Any, block: Block, rows: int) -> Cells:
    """Return the cells of a block, `(r, f)`: numbers of its support, or codes of its levels or leaves."""
    width = len(block.words)
    if isinstance(x, dict):
        return _csr_of(x, block, (rows, width))
    codes, kinds = _upper(block), "i" if block.family.has_levels or block.family.has_grid or block.is_linked else "iufb"
    if not (isinstance(x, np.ndarray) and x.shape == (rows, width) and x.dtype.kind in kinds) or block.family.listed:
        raise Unreadable("cells of rows that stay are not those of their columns")
    if codes is None:
        block.check(x)
    elif not ((x >= LEAST_CODE) & (x < codes)).all():
        raise Unreadable("a row that stays has a level that its column has not")
    return x


def _csr_of(x: dict[str, Any], block: Block, shape: tuple[int, int]) -> Cells:
    """Return sparse cells; raise for arrays that do not make any."""
    arrays = tuple(x.get(name) for name in CSR)
    kinds = zip(arrays, ("iuf", "i", "i"), strict=True)
    if set(x) != set(CSR) or not all(isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in k for a, k in kinds):
        raise Unreadable("sparse cells of rows that stay have other arrays")
    if not (block.family.listed or block.family.reads_sparse):
        raise Unreadable("cells of rows that stay are sparse where none can be")
    cells = sparse.csr_array(arrays, shape=shape)
    cells.check_format(full_check=True)
    block.check(cells)
    return cells


def _upper(block: Block) -> Array | None:
    """Return the number of levels, or leaves, of each column; None for numbers."""
    coded = block.family.has_levels or block.family.has_grid or block.is_linked
    return np.array(block.sizes, np.int64) if coded else None
