"""Rows and their labels: grouping by class, codes of labels, and probabilities from log joints."""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import exp, log

TILE = 512  # scores that are exponentiated at once: four KiB of a core's first-level cache
LANES = 64  # rows of a transposed strip


@compiled
def group(codes: Array, order: Array, starts: Array) -> None:
    """Write the rows in the order of their classes, and where each class starts: `(r,) -> (r,), (c + 1,)`."""
    for c in range(len(starts)):
        starts[c] = 0
    for i in range(len(codes)):
        starts[codes[i]] += 1
    end = 0
    for c in range(len(starts)):
        end += starts[c]
        starts[c] = end
    for i in range(len(codes) - 1, -1, -1):  # from the back, so that each class's end becomes its start
        starts[codes[i]] -= 1
        order[starts[codes[i]]] = i


@compiled
def normalise(joint: Array, proba: bool) -> int:
    """Write log p(y | x), or p(y | x) if `proba`, in place of log p(x, y), `(r, c)`.

    Return the first row that is impossible under all classes or holds NaN, where it stops; -1 if there is none.
    """
    rows, classes = joint.shape
    step = max(1, TILE // classes)
    spare, peak = np.empty(step * classes), np.empty(step)
    for start in range(0, rows, step):
        n, invalid = min(step, rows - start), -1
        for i in range(n):
            peak[i] = -np.inf
            for c in range(classes):
                peak[i] = max(peak[i], joint[start + i, c])
            if not np.isfinite(peak[i]):
                n, invalid = i, start + i
                break
            for c in range(classes):
                spare[i * classes + c] = joint[start + i, c] - peak[i]
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


@compiled
def most_probable(joint: Array, best: Array) -> int:
    """Write the class of each row's largest log p(x, y), the first of equal ones, `(r, c) -> (r,)`.

    Return the first row that is impossible under all classes or holds NaN; -1 if there is none.
    """
    for i in range(len(joint)):
        at, largest = 0, joint[i, 0]
        invalid = np.isnan(largest)
        for c in range(1, joint.shape[1]):
            invalid |= np.isnan(joint[i, c])
            if joint[i, c] > largest:
                at, largest = c, joint[i, c]
        if invalid or not np.isfinite(largest):
            return i
        best[i] = at
    return -1


@compiled
def transpose(x: Array, out: Array) -> None:
    """Transpose an array, in strips of the result that a core's cache holds."""
    for start in range(0, x.shape[1], LANES):
        for j in range(x.shape[0]):
            for i in range(start, min(start + LANES, x.shape[1])):
                out[i, j] = x[j, i]


@compiled
def mark(labels: Array, least: int, seen: Array) -> None:
    """Mark the integers that occur, counted from the least."""
    for i in range(len(labels)):
        seen[labels[i] - least] = True


@compiled
def totals(codes: Array, weight: Array, out: Array) -> None:
    """Add each row's weight to its class."""
    for i in range(len(codes)):
        out[codes[i]] += weight[i]


@compiled
def look_up(labels: Array, least: int, table: Array, codes: Array) -> int:
    """Write the code of each integer label, from a table that starts at `least`.

    Return the first row whose label has no code, where it stops; -1 if there is none.
    """
    for i in range(len(labels)):
        at = labels[i] - least
        codes[i] = table[at] if 0 <= at < len(table) else -1
        if codes[i] < 0:
            return i
    return -1


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


@compiled
def add_times(total: Array, times: float, row: Array) -> None:
    """Add times * row."""
    for k in range(len(total)):
        total[k] += times * row[k]


@compiled
def add_and_clear(total: Array, times: float, plus: float, out: Array, first: int) -> None:
    """Add times * total + plus to a row's classes from `first` on; the total is 0 again. Lanes beyond are padding."""
    for k in range(min(len(total), len(out) - first)):
        out[first + k] += times * total[k] + plus
    for k in range(len(total)):
        total[k] = 0.0
