"""Coins, one for each class and feature: how often each came up, and what their sides are worth, for any table.

Dense tables are read eight features at a time, as one byte into a table of sums; CSR entry by entry.
"""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.families.base import Array, Cells
from bayesnb.families.scores import by_rows
from bayesnb.families.tables import Tables, by_class_ranges, by_tables
from bayesnb.families.weight import Weight
from bayesnb.numerics.special import dot_logs
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import Flags, entries, lanes, small_numbers, sweeps_of

MOST_BYTES = 1 << 11  # groups of features times classes for which every byte's worth is kept


def count_ones(x: Cells, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """The ones and the missing cells of each class, `(c, f)` each; NaN where a cell is neither that nor zero."""
    flags = x if isinstance(x, Flags) else Flags(x, None)
    count = _count_entries if sparse.issparse(flags.numbers) else _count_cells
    return count(flags, weight, n_jobs)


def _count_entries(x: Flags, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """Ones and missing cells of CSR, `(c, f)` each; every thread has classes of its own."""
    ones, missing = np.zeros((2, weight.classes, x.shape[1]))
    for rows in sweeps_of(x.numbers):
        found = entries(x.numbers, rows)
        add = partial(numerics.count_kernels.tally_flags, *found, weight.counts[rows], level(x), ones, missing)
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
            fine = numerics.flag_kernels.tally_bytes(part, codes, threshold, total[0])
        else:
            fine = numerics.flag_kernels.tally(part, codes, weight.counts[rows], threshold, *total)
        return total if fine else total * np.nan

    total = np.zeros((2, weight.classes, features))
    for part in in_order(some, pieces(x.shape[0], x.shape[1], 4 * weight.classes), n_jobs):
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
    def of_entries(self) -> Tables:
        """What a one is worth beyond a zero, and what a zero is worth."""
        return Tables(lambda some: (lanes(self.one[some] - self.zero[some]), lanes(self.zero[some])), self.one.shape)

    @cached_property
    def of_cells(self) -> Tables:
        """What every byte of features is worth, and a one, and a zero."""
        return Tables(lambda some: tuple(map(lanes, _by_byte(self.one[some], self.zero[some]))), self.one.shape)

    def score(self, x: Cells, out: Array | None, n_jobs: int | None) -> Array:
        flags = x if isinstance(x, Flags) else Flags(x, None)
        if not sparse.issparse(flags.numbers):
            return self._by_kernel(_score_cells, self.of_cells, flags, out, n_jobs)
        if self.possible:
            total = self._by_kernel(_score_entries, self.of_entries, flags, out, n_jobs)
            return np.add(total, self.zero.sum(axis=1), out=total)
        return by_rows(lambda rows: coin_score(flags[rows], self.one, self.zero), x.shape, len(self.one), out, n_jobs)

    def _by_kernel(
        self, add: Callable[..., bool], tables: Tables, x: Flags, out: Array | None, n_jobs: int | None
    ) -> Array:
        fine: list[bool] = []

        def some(rows: slice, own: tuple[Array, ...], first: int, part: Array) -> None:
            fine.append(add(x, rows, own, first, part))

        total = by_tables(some, tables, x.numbers, len(self.one), out, n_jobs)
        if not all(fine):
            total[:] = np.nan  # a cell that is neither 0 nor 1
        return total


class Tossed:
    """What has a worth for each side of every coin."""

    def worth(self, power: float) -> Coins:
        """What a one and a zero are worth, `power` times."""
        raise AssertionError("a belief or a density says what its sides are worth")

    @cached_property
    def _once(self) -> Coins:
        return self.worth(1.0)

    def toss(self, x: Cells, power: float, out: Array | None, n_jobs: int | None) -> Array:
        """The worth of the cells summed over features, added to `out`, if there is one."""
        return (self._once if power == 1 else self.worth(power)).score(x, out, n_jobs)


def _score_cells(x: Flags, rows: slice, own: tuple[Array, ...], first: int, out: Array) -> bool:
    return numerics.flag_kernels.score(small_numbers(x.numbers, rows), level(x), *own, first, out)


def _score_entries(x: Flags, rows: slice, own: tuple[Array, ...], first: int, out: Array) -> bool:
    return numerics.count_kernels.score_flags(*entries(x.numbers, rows), level(x), *own, first, out)


def _by_byte(one: Array, zero: Array) -> tuple[Array, Array, Array]:
    """What eight features are worth together, for each byte that they can make, `(c, groups * 256)`; none if many."""
    classes, features = one.shape
    groups = -(-features // 8)
    if groups * classes > MOST_BYTES:
        return np.zeros((classes, 0)), one, zero
    worth = np.zeros((2, classes, groups, 8, 1))
    worth.reshape(2, classes, -1)[:, :, :features] = zero, one
    bit = (np.arange(256) >> np.arange(8)[:, None]) & 1
    return np.where(bit, worth[1], worth[0]).sum(axis=2).reshape(classes, -1), one, zero


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


def sides_added(x: Cells, one: Array, zero: Array) -> Array:
    """What ones and zeros are worth, real or complex, summed over features, two of `(n, c, f) -> (r, c, n)`."""
    ones, missing = split(x)
    n, classes, features = one.shape
    with np.errstate(invalid="ignore"):  # of moments that do not exist

        def times(cells: Cells, worth: Array) -> Array:
            flat = np.ascontiguousarray(worth.swapaxes(0, 1).reshape(-1, features).T)
            return (cells @ flat.view(float)).view(flat.dtype).reshape(-1, classes, n)

        total = times(ones, one - zero) + zero.sum(axis=-1).T
        return total if missing is None else total - times(missing, zero)
