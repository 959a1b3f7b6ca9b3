"""Checks of sparse tables before compiled code trusts their index arrays, SciPy's own conversions included.

A wrong row pointer makes such code read and write beyond its arrays, which ends the process.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray
UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}
NO_INDICES = "{} must be integers of 32 or 64 bits in one dimension"


def refuse_damaged(x: Any) -> None:
    """Raise if the arrays of a SciPy sparse table contradict each other or its shape."""
    fault = next(FAULTS[x.format](x), None) if x.format in FAULTS else None
    if fault is not None:
        raise ValueError(
            f"X is a damaged sparse table: {fault}. Build it anew from its rows, columns and values: "
            f"scipy.sparse.csr_array((values, (rows, columns)), shape={x.shape})."
        )


def _compressed_faults(x: Any) -> Iterator[str]:
    """Yield what is wrong with a table of the format CSR, CSC or BSR."""
    if x.data.ndim != (3 if x.format == "bsr" else 1):
        yield f"its values have the shape {x.data.shape}"
    height, width = x.data.shape[1:] or (1, 1)
    kind, (lines, places) = "row", (x.shape[0] // height, x.shape[1] // width)
    if x.format == "csc":
        kind, lines, places = "column", places, lines
    if not (_are_indices(x.indptr) and _are_indices(x.indices)):
        yield NO_INDICES.format("indptr and indices")
    if len(x.data) != len(x.indices):
        yield f"it has {len(x.indices)} indices and {len(x.data)} values"
    if len(x.indptr) != lines + 1:
        yield f"indptr has {len(x.indptr)} entries, not {lines + 1}, one more than there are {kind}s"
    if x.indptr[0] != 0:
        yield f"indptr begins with {x.indptr[0]}, not with 0"
    if lines > 1 and (descents := x.indptr[1:] < x.indptr[:-1]).any():  # one row alone is soon checked
        line = int(descents.argmax())
        yield f"indptr descends from {x.indptr[line]} to {x.indptr[line + 1]} at {kind} {line}"
    stored = int(x.indptr[-1])
    if not 0 <= stored <= len(x.indices):
        yield f"indptr ends with {stored}, but there are {len(x.indices)} indices"
    at = _first_outside(x.indices[:stored], places)  # what is behind has no meaning
    if at is not None:
        line = int(np.searchsorted(x.indptr, at, "right")) - 1
        yield f"an index of {kind} {line} is {x.indices[at]}, not within 0 to {places - 1}"


def _coordinate_faults(x: Any) -> Iterator[str]:
    """Yield what is wrong with a table of the format COO."""
    for name, indices, length in (("row", x.row, x.shape[0]), ("column", x.col, x.shape[1])):
        if not _are_indices(indices):
            yield NO_INDICES.format(f"{name} numbers")
        if len(indices) != len(x.data):
            yield f"it has {len(indices)} {name} numbers and {len(x.data)} values"
        at = _first_outside(indices, length)
        if at is not None:
            yield f"the {name} of entry {at} is {indices[at]}, not within 0 to {length - 1}"


def _diagonal_faults(x: Any) -> Iterator[str]:
    """Yield what is wrong with a table of the format DIA."""
    if not _are_indices(x.offsets):
        yield NO_INDICES.format("offsets")
    if x.data.ndim != 2 or len(x.data) != len(x.offsets):
        yield f"it has {len(x.offsets)} offsets, and data of the shape {x.data.shape}"


FAULTS = {
    "csr": _compressed_faults,
    "csc": _compressed_faults,
    "bsr": _compressed_faults,
    "coo": _coordinate_faults,
    "dia": _diagonal_faults,
}  # others have Python lists or a dictionary, and are checked once they are CSR


def _are_indices(x: Any) -> bool:
    """Return whether an array holds indices as compiled code reads them."""
    return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype in UNSIGNED


def _first_outside(indices: Array, length: int) -> int | None:
    """Return where the first index is that is not within a length."""
    unsigned = indices.view(UNSIGNED[indices.dtype])  # negative ones are the largest there
    if not len(unsigned) or np.maximum.reduce(unsigned) < length:
        return None
    return int((unsigned >= length).argmax())
