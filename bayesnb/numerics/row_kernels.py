"""Rows and their labels: grouping by class, codes of labels, and probabilities from log joints."""

import math

import numpy as np
from scipy.sparse import csr_array

from bayesnb.numerics.compilation import Array, compiled, inlined
from bayesnb.numerics.elementary import exp, log

TILE = 512  # scores exponentiated at once: four KiB of a core's first-level cache
# Size of the arguments: NumPy definitions of a few steps, without logarithms, are then at most
# about 2 ms slower than loops. For 569 rows of 30 columns, a kernel that reads cells, has lookup
# tables for levels and writes codes has 66,000 numbers.
CHEAP = 3 << 15


@compiled
def group(codes: Array, order: Array, starts: Array) -> None:
    """Write the order of rows by class, and the start of each class: `(r,) -> (r,), (c + 1,)`."""
    for c in range(len(starts)):
        starts[c] = 0
    for i in range(len(codes)):
        starts[codes[i]] += 1
    end = 0
    for c in range(len(starts)):
        end += starts[c]
        starts[c] = end
    # backwards, so that the end of each class becomes its start
    for i in range(len(codes) - 1, -1, -1):
        starts[codes[i]] -= 1
        order[starts[codes[i]]] = i


@group.defined(CHEAP)
def group_by_definition(codes: Array, order: Array, starts: Array) -> None:
    order[:] = np.argsort(codes, kind="stable")
    starts[0] = 0
    np.cumsum(np.bincount(codes, minlength=len(starts) - 1), out=starts[1:])


@compiled
def normalise(joint: Array, proba: bool) -> int:
    """Write log p(y | x), or p(y | x) if `proba`, in place of log p(x, y), `(r, c)`.

    Return the first row that is impossible under all classes or holds NaN, where it stops; -1 if
    there is none.
    """
    rows, classes = joint.shape
    step = max(1, TILE // classes)
    spare = np.empty(step * classes)
    peak = np.empty(step)
    for start in range(0, rows, step):
        n = min(step, rows - start)
        invalid = -1
        for i in range(n):
            most = -np.inf
            for c in range(classes):
                most = max(most, joint[start + i, c])
            if not np.isfinite(most):
                n = i
                invalid = start + i
                break
            peak[i] = most
            for c in range(classes):
                spare[i * classes + c] = joint[start + i, c] - most
        for k in range(n * classes):
            spare[k] = exp(spare[k])
        for i in range(n):
            total = 0.0
            for c in range(classes):
                total += spare[i * classes + c]
            if not total >= 1.0:
                return start + i
            if proba:
                for c in range(classes):
                    joint[start + i, c] = spare[i * classes + c] / total
            else:
                log_total = log(total)
                for c in range(classes):
                    joint[start + i, c] = joint[start + i, c] - peak[i] - log_total
        if invalid >= 0:
            return invalid
    return -1


@normalise.defined()
def normalise_by_definition(joint: Array, proba: bool) -> int:
    peak = np.maximum.reduce(joint, axis=1, keepdims=True)
    possible, impossible = until_impossible(peak)
    joint = joint[:possible]
    peak = peak[:possible]
    joint -= peak
    shares = np.exp(joint)
    total = np.add.reduce(shares, axis=1, keepdims=True)
    if proba:
        np.divide(shares, total, out=joint)
    else:
        joint -= np.log(total)
    return impossible


def until_impossible(peak: Array) -> tuple[int, int]:
    """Return the number of rows before the first whose peak is not finite, and its index or -1."""
    if math.isfinite(np.add.reduce(peak, axis=None)):
        return len(peak), -1
    first = int((~np.isfinite(peak)).argmax())
    return (len(peak), -1) if np.isfinite(peak[first]) else (first, first)


def most_probable(joint: Array) -> tuple[Array, int]:
    """Return the most probable class of each row, the first of equal ones, `(r, c) -> (r,)`.

    Also the first row that is impossible under all classes or holds NaN; -1 if there is none.
    """
    return joint.argmax(axis=1), until_impossible(np.maximum.reduce(joint, axis=1))[1]


@compiled
def clear(numbers: Array) -> None:
    """Set all numbers to 0."""
    for i in range(len(numbers)):
        numbers[i] = 0.0


@compiled
def any_infinite_or_missing(x: Array) -> bool:
    """Whether any number is NaN or infinite."""
    invalid = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            invalid |= x[i, j] - x[i, j] != 0.0
    return invalid != 0


@inlined
def add_times(total: Array, times: float, row: Array) -> None:
    """Add times * row."""
    for k in range(len(total)):
        total[k] += times * row[k]


@compiled
def add_rows(total: Array, table: Array, places: Array, n: int) -> None:
    """Add the rows of a table at the first n places, four at a time to save loads and stores.

    Places are unsigned, to skip the check for negative indices.
    """
    whole = n - n % 4
    for e in range(0, whole, 4):
        one = table[places[e]]
        two = table[places[e + 1]]
        three = table[places[e + 2]]
        four = table[places[e + 3]]
        for k in range(len(total)):
            # in order, with the same digits as one by one
            total[k] = (((total[k] + one[k]) + two[k]) + three[k]) + four[k]
    for e in range(whole, n):
        add_times(total, 1.0, table[places[e]])


@inlined
def longest_row(indptr: Array) -> int:
    """Largest number of entries of a row."""
    longest = 0
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@inlined
def add_and_clear(total: Array, plus: float, out: Array, first: int) -> None:
    """Add total + plus to a row's classes from `first` on, and clear the total.

    Lanes beyond the classes are padding.
    """
    for k in range(min(len(total), len(out) - first)):
        out[first + k] += total[k] + plus
    for k in range(len(total)):
        total[k] = 0.0


def add_lanes(total: Array, out: Array, first: int) -> None:
    """Add rows' totals to their classes from `first` on, `(r, n) -> (r, c)`."""
    part = out[:, first : first + total.shape[1]]
    part += total


def lanes_of(table: Array, out: Array, first: int) -> Array:
    """Drop the padding of a table, `(..., lanes) -> (..., n)`."""
    return table[..., : out.shape[1] - first]


def sums_of_entries(starts: Array, places: Array, table: Array) -> Array:
    """Sum of each row's entries of a table, `(r + 1,), (e,), (k, n) -> (r, n)`.

    Negative places count as 0.
    """
    known = places >= 0
    if not known.all():
        starts = np.append(0, np.cumsum(known))[starts]
        places = places[known]
    if len(starts) == 2:  # for one row, making a sparse array takes longer than using it
        return table[places[starts[0] : starts[1]]].sum(axis=0, keepdims=True)
    return csr_array((np.ones(len(places)), places, starts), (len(starts) - 1, len(table))) @ table


def sums_of_cells(places: Array, table: Array) -> Array:
    """Sum of a table's entries over features, `(r, f), (k, n) -> (r, n)`.

    Negative places count as 0.
    """
    rows, features = places.shape
    return sums_of_entries(np.arange(rows + 1) * features, places.reshape(-1), table)
