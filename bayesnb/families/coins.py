"""Coins, one for each class and feature: how often each came up, and what their sides are worth, for any table.

Dense tables are read four features at a time, as one number into a table of sums; CSR entry by entry.
"""

from functools import cached_property, partial

import numpy as np
from scipy import sparse

from bayesnb import kernels
from bayesnb.families.base import Array, Cells
from bayesnb.families.tables import Tables, by_class_ranges, by_tables
from bayesnb.families.weight import Weight
from bayesnb.special import dot_logs
from bayesnb.threads import PIECE, in_order, pieces
from bayesnb.views import Flags, entries, rows_at_once, small_numbers, tiles


def count_ones(x: Cells, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """The ones and the missing cells of each class, `(c, f)` each; NaN where a cell is neither that nor zero."""
    flags = x if isinstance(x, Flags) else Flags(x, None)
    count = _count_entries if sparse.issparse(flags.numbers) else _count_cells
    return count(flags, weight, n_jobs)


def _count_entries(x: Flags, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """Ones and missing cells of CSR, `(c, f)` each; every thread has classes of its own."""
    ones, missing = np.zeros((2, weight.classes, x.shape[1]))
    for rows in pieces(x.shape[0], 16 * rows_at_once(x.numbers)):
        found = entries(x.numbers, rows)
        add = partial(kernels.counts.tally_flags, *found, weight.counts[rows], level(x), ones, missing)
        if not all(by_class_ranges(add, weight.codes[rows], weight.classes, n_jobs)):
            ones[:] = np.nan
    return ones, missing


def _count_cells(x: Flags, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """Ones and missing cells of an array, `(c, f)` each. Bytes are counted in bytes, where all rows count once."""
    features, threshold = x.shape[1], level(x)
    single = bool((weight.counts == 1).all())

    def some(rows: slice) -> Array:
        part, codes, total = small_numbers(x.numbers, rows), weight.codes[rows], np.zeros((2, weight.classes, features))
        if single and part.dtype == np.uint8 and not threshold < 0:
            fine = kernels.flags.tally_bytes(part, codes, threshold, total[0])
        else:
            fine = kernels.flags.tally(part, codes, weight.counts[rows], threshold, *total)
        return total if fine else total * np.nan

    total = np.zeros((2, weight.classes, features))
    for part in in_order(some, pieces(len(weight.codes), max(PIECE // features, 4 * weight.classes)), n_jobs):
        total += part
    return total[0], total[1]


def level(x: Flags) -> float:
    """The threshold as kernels know it."""
    return np.nan if x.threshold is None else float(x.threshold)


class Coins:
    """What a one and a zero are worth to each class, `(c, f)` each, as tables that kernels read."""

    def __init__(self, one: Array, zero: Array) -> None:
        self.one, self.zero = one, zero
        self.possible = bool(np.isfinite(one).all() and np.isfinite(zero).all())

    @cached_property
    def tables(self) -> Tables:
        """What a one is worth beyond a zero, and what a zero is worth."""
        return Tables(lambda some: (tiles(self.one[some] - self.zero[some]), tiles(self.zero[some])), self.one.shape)

    @cached_property
    def of_pairs(self) -> Array:
        return tiles(_packed(self.one, self.zero, 2))

    @cached_property
    def of_triples(self) -> Array:
        return tiles(_packed(self.one, self.zero, 3))

    def score(self, x: Cells, out: Array | None, n_jobs: int | None) -> Array:
        flags = x if isinstance(x, Flags) else Flags(x, None)
        out = np.zeros((x.shape[0], len(self.one))) if out is None else out
        if sparse.issparse(flags.numbers) and self.possible:
            return self._score_entries(flags, out, n_jobs)
        sum_up = self._add_defined if sparse.issparse(flags.numbers) else self._add_cells
        blocks = pieces(x.shape[0], rows_at_once(flags.numbers))
        list(in_order(lambda rows: sum_up(flags, rows, out[rows]), blocks, n_jobs))
        return out

    def _add_cells(self, x: Flags, rows: slice, out: Array) -> None:
        part, threshold = small_numbers(x.numbers, rows), level(x)
        codes = np.empty((len(part), -(-x.shape[1] // kernels.flags.GROUP)), np.int32)
        found, digits, table = kernels.flags.pack(part, threshold, 2, codes), 2, self.of_pairs
        if found & 1:
            digits, table = 3, self.of_triples
            kernels.flags.pack(part, threshold, 3, codes)
        starts = np.arange(codes.shape[1] + 1) * digits**kernels.flags.GROUP
        kernels.levels.score(codes, starts, table, out)
        if found & 2:
            out[:] = np.nan

    def _score_entries(self, x: Flags, out: Array, n_jobs: int | None) -> Array:
        threshold, fine = level(x), []

        def add(data: Array, indices: Array, indptr: Array, own: tuple[Array, Array], first: int, out: Array) -> None:
            fine.append(kernels.counts.score_flags(data, indices, indptr, threshold, *own, first, out))

        out += self.zero.sum(axis=1)
        by_tables(add, self.tables, x.numbers, out.shape[1], out, n_jobs)
        if not all(fine):
            out[:] = np.nan
        return out

    def _add_defined(self, x: Flags, rows: slice, out: Array) -> None:
        out += coin_score(x[rows], self.one, self.zero)


def _packed(one: Array, zero: Array, digits: int) -> Array:
    """What every number that `pack` can make is worth, `(c, groups * digits**GROUP)`."""
    group, (classes, features) = kernels.flags.GROUP, one.shape
    groups = -(-features // group)
    worth = np.zeros((digits, classes, groups * group))  # of the digits 0, 1 and 2, which is a missing cell
    worth[0, :, :features], worth[1, :, :features] = zero, one
    number = np.arange(digits**group)
    table = np.zeros((classes, groups, len(number)))
    for place in range(group):
        digit = number // digits**place % digits
        table += np.moveaxis(worth[digit][:, :, place::group], 0, -1)
    return table.reshape(classes, -1)


def split(x: Cells) -> tuple[Cells, Cells | None]:
    """Where the ones are, and where the missing cells are (None if nowhere); sparse stays sparse."""
    if not sparse.issparse(x):
        x = np.asarray(x, float)
        missing = np.isnan(x)
        return (np.where(missing, 0.0, x), missing.astype(float)) if missing.any() else (x, None)
    data = x.data.astype(float)
    missing = np.isnan(data)
    ones = sparse.csr_array((np.where(missing, 0.0, data), x.indices, x.indptr), shape=x.shape)
    if not missing.any():
        return ones, None
    return ones, sparse.csr_array((missing.astype(float), x.indices, x.indptr), shape=x.shape)


def coin_score(x: Cells, log_one: Array, log_zero: Array) -> Array:
    """Sums over features of what a one and a zero are worth, `(r, f), (c, f), (c, f) -> (r, c)`."""
    ones, missing = split(x)
    if not sparse.issparse(ones):
        return dot_logs(ones, log_one) + dot_logs(1 - ones - (0 if missing is None else missing), log_zero)
    never_one, never_zero = np.isneginf(log_one).astype(float), np.isneginf(log_zero).astype(float)
    up, down = np.where(never_one > 0, 0.0, log_one), np.where(never_zero > 0, 0.0, log_zero)
    total = down.sum(axis=1) + ones @ (up - down).T
    impossible = never_zero.sum(axis=1) + ones @ (never_one - never_zero).T
    if missing is not None:
        total, impossible = total - missing @ down.T, impossible - missing @ never_zero.T
    return np.where(impossible > 0.5, -np.inf, total)
