"""How work on CSR is cut: by classes to count, and by classes and rows to score, so that no table grows large."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb import kernels
from bayesnb.families.base import Array, Cells
from bayesnb.threads import in_order, pieces, threads_of
from bayesnb.views import class_groups, entries, rows_at_once


class Tables:
    """Tables that a kernel reads, `(c, ..., k)` as tiles, some classes at a time; all are kept if they are few."""

    def __init__(self, make: Callable[[slice], tuple[Array, ...]], shape: tuple[int, ...]) -> None:
        self.make, self.groups = make, class_groups(shape[0], shape[-1])

    @cached_property
    def _all(self) -> tuple[Array, ...]:
        return self.make(self.groups[0])

    def __iter__(self) -> Any:
        """The first class of a group, and its tables."""
        return iter([(0, self._all)] if len(self.groups) == 1 else ((g.start, self.make(g)) for g in self.groups))


def by_tables(
    add: Callable[..., Any], tables: Iterable[Any], x: Cells, classes: int, out: Array | None, n_jobs: int | None
) -> Array:
    """`add(data, indices, indptr, tables, first class, out)` for blocks of rows and groups of classes."""
    out = np.zeros((x.shape[0], classes)) if out is None else out
    for first, own in tables:
        work = lambda rows: add(*entries(x, rows), own, first, out[rows])  # noqa: B023, E731
        list(in_order(work, pieces(x.shape[0], rows_at_once(x)), n_jobs))
    return out


def by_class_ranges(add: Callable[..., Any], codes: Array, classes: int, n_jobs: int | None) -> list[Any]:
    """`add(order, starts, first, last)` for ranges of classes, which hold about as many rows: no two share a count."""
    order, starts = kernels.rows.by_class(codes, classes)
    parts = min(4 * threads_of(n_jobs), classes)
    cuts = np.unique(np.searchsorted(starts[1:], np.linspace(0, len(codes), parts + 1)[1:-1], "left") + 1)
    edges = [0, *cuts[cuts < classes].tolist(), classes]
    ranges = list(zip(edges[:-1], edges[1:], strict=True))
    return list(in_order(lambda some: add(order, starts, *some), ranges, n_jobs))
