"""How work on CSR is cut: by classes to count, and by classes and rows to score, so that no table grows large."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells
from bayesnb.numerics.threads import in_order, threads_of
from bayesnb.numerics.views import class_groups, pieces_of


class Tables:
    """Tables that a kernel reads, `(c, ..., k)` as lanes, some classes at a time; all are kept if they are few."""

    def __init__(self, make: Callable[[slice], tuple[Array, ...]], shape: tuple[int, ...]) -> None:
        self.groups = class_groups(shape[0], shape[-1])
        self._only = make(self.groups[0]) if len(self.groups) == 1 else None
        self._make = make if self._only is None else None  # which may hold an array that is as large

    def __iter__(self) -> Iterator[tuple[int, tuple[Array, ...]]]:
        """The first class of a group, and its tables."""
        if self._only is not None:
            yield 0, self._only
        elif self._make is not None:
            yield from ((group.start, self._make(group)) for group in self.groups)


def by_tables(
    add: Callable[..., Any], tables: Tables, x: Cells, classes: int, out: Array | None, n_jobs: int | None
) -> Array:
    """`add(rows, tables, first class, out)` for blocks of rows and groups of classes."""
    out = np.zeros((x.shape[0], classes)) if out is None else out
    parts = pieces_of(x)
    for first, own in tables:
        list(in_order(lambda rows: add(rows, own, first, out[rows]), parts, n_jobs))  # noqa: B023
    return out


def by_class_ranges(add: Callable[..., Any], codes: Array, classes: int, n_jobs: int | None) -> list[Any]:
    """`add(order, starts, first, last)` for ranges of classes, which hold about as many rows: no two share a count."""
    order, starts = np.empty(len(codes), np.int64), np.empty(classes + 1, np.int64)
    numerics.row_kernels.group(codes, order, starts)
    parts = min(4 * threads_of(n_jobs), classes)
    cuts = np.unique(np.searchsorted(starts[1:], np.linspace(0, len(codes), parts + 1)[1:-1], "left") + 1)
    edges = [0, *cuts[cuts < classes].tolist(), classes]
    ranges = list(pairwise(edges))
    return list(in_order(lambda some: add(order, starts, *some), ranges, n_jobs))
