"""Scores of counts raised to a power: log E[p(x | theta)**power], summed over words or columns.

Terms of small counts are looked up in tables, `(FEW + 1, k, lanes)`; those of larger ones are computed.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import REMEMBERED, gamma_ratio, log_factorial, log_orders
from bayesnb.numerics.row_kernels import add_and_clear, add_times

FEW = 4  # largest count with a table: most counts in texts are at most 4, and each table costs log gammas of all words


@compiled
def words(concentration: Array, power: float, tables: Array) -> None:
    """Fill the tables of words: ln Gamma(a + power x) - ln Gamma(a) for each count x."""
    for x in range(len(tables)):
        for k in range(concentration.shape[0]):
            for c in range(concentration.shape[1]):
                tables[x, k, c] = gamma_ratio(concentration[k, c], power * x)


@compiled
def score_words(
    data: Array,
    indices: Array,
    indptr: Array,
    concentration: Array,
    tables: Array,
    totals: Array,
    power: float,
    first: int,
    out: Array,
) -> None:
    """Add the log moments of the Dirichlet-multinomial, `(k, lanes)`, `(c,) -> (r, c)`."""
    lanes = concentration.shape[1]
    total, lengths, of_length = np.zeros(lanes), np.full(REMEMBERED, -1.0), np.zeros((REMEMBERED, lanes))
    for i in range(len(indptr) - 1):
        a, b = indptr[i], indptr[i + 1]
        length = 0.0
        for p in range(a, b):
            x, word = float(data[p]), indices[p]
            length += x
            if x < len(tables) and x == np.floor(x):
                add_times(total, 1.0, tables[int(x), word])
            else:
                for c in range(lanes):
                    total[c] += gamma_ratio(concentration[word, c], power * x)
        place = int(length) % REMEMBERED
        if lengths[place] != length:
            lengths[place] = length
            for c in range(min(lanes, out.shape[1] - first)):
                of_length[place, c] = gamma_ratio(totals[first + c], power * length)
        add_times(total, -1.0, of_length[place])
        add_and_clear(total, 1.0, power * log_orders(data[a:b]), out[i], first)


@compiled
def gamma_moment(shape: float, rate: float, x: float, power: float) -> float:
    """log E[p(x | rate)**power] of a Poisson count x, its rate having a Gamma belief."""
    rows = shape * np.log1p(power / rate) + power * x * np.log(rate + power)
    return gamma_ratio(shape, power * x) - rows - power * log_factorial(x)


@compiled
def rates(shape: Array, rate: Array, power: float, tables: Array) -> None:
    """Fill the tables of columns of counts: the log moment of each count under each Gamma belief."""
    for x in range(len(tables)):
        for k in range(shape.shape[0]):
            for c in range(shape.shape[1]):
                tables[x, k, c] = gamma_moment(shape[k, c], rate[k, c], float(x), power)


@compiled
def score_rates(x: Array, shape: Array, rate: Array, tables: Array, power: float, first: int, out: Array) -> None:
    """Add the log moments of counts under Gamma rates, `(r, f), (f, lanes), (f, lanes) -> (r, c)`."""
    total = np.zeros(shape.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            v = float(x[i, j])
            if v != v:
                continue
            if v < len(tables) and v == np.floor(v):
                add_times(total, 1.0, tables[int(v), j])
            else:
                for c in range(len(total)):
                    total[c] += gamma_moment(shape[j, c], rate[j, c], v, power)
        add_and_clear(total, 1.0, 0.0, out[i], first)
