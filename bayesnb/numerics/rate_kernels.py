"""Counts in dense columns: sums by class, and scores under Poisson rates, known or with a Gamma belief."""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import gamma_ratio, log_factorial, log_rising_moment, score_words
from bayesnb.numerics.elementary import remaining
from bayesnb.numerics.row_kernels import add_and_clear, add_times


@compiled
def tally(x: Array, labels: Array, weight: Array, count: Array, events: Array, logs: Array) -> None:
    """Add rows, events and log x! by class, `(r, f), (r,), (r,) -> (c, f) each`; a missing cell adds nothing."""
    for i in range(x.shape[0]):
        c, w = labels[i], weight[i]
        for j in range(x.shape[1]):
            v = float(x[i, j])
            if v == v:
                count[c, j] += w
                events[c, j] += w * v
                if v > 1.0 or v != np.floor(v):
                    logs[c, j] += w * log_factorial(v)


@compiled
def score_gamma(x: Array, base: Array, slope: Array, shape: Array, logs: Array, first: int, out: Array) -> None:
    """Add log negative binomial probabilities, `(r, f), 4 of (f, lanes) -> (r, c)`.

    A cell has base + slope x + ln Gamma(shape + x) - ln Gamma(shape) - ln x!, `logs` being those of the shapes.
    """
    features, lanes = base.shape
    total, product = np.zeros(lanes), np.ones(lanes)
    row, places = np.empty(features), np.arange(features)
    for i in range(x.shape[0]):
        for j in range(features):
            v = float(x[i, j])
            row[j] = v if v == v else 0.0
            if v == v:
                add_times(total, 1.0, base[j])
            if v > 0.0:
                add_times(total, v, slope[j])
        score_words(row, places, shape, logs, total, product)
        add_and_clear(total, 1.0, 0.0, out[i], first)


@compiled
def score_known(x: Array, rate: Array, logs: Array, each: Array, power: float, first: int, out: Array) -> None:
    """Add power * each * [x log(rate) - rate - log x!]; rates and their logs are `(f, lanes)`, powers `each` `(f,)`."""
    total = np.zeros(rate.shape[1])
    for i in range(x.shape[0]):
        orders = 0.0
        for j in range(x.shape[1]):
            v = float(x[i, j])
            if v == v:
                add_times(total, -each[j], rate[j])
            if v > 0.0 and each[j] > 0.0:
                add_times(total, each[j] * v, logs[j])
                orders += each[j] * log_factorial(v)
        add_and_clear(total, power, -power * orders, out[i], first)


@compiled
def gamma_moment(shape: float, rate: float, x: float, power: float) -> float:
    """log E[p(x | rate)**power] of a Poisson count x, its rate having a Gamma belief."""
    rows = shape * np.log1p(power / rate) + power * x * np.log(rate + power)
    return gamma_ratio(shape, power * x) - rows - power * log_factorial(x)


@compiled
def fill_power_tables(shape: Array, rate: Array, power: Array, tables: Array) -> None:
    """Fill tables of the log moment of each count under each Gamma belief, 2 of `(f, lanes), (f,) -> (x, f, lanes)`."""
    for x in range(len(tables)):
        for k in range(shape.shape[0]):
            for c in range(shape.shape[1]):
                tables[x, k, c] = gamma_moment(shape[k, c], rate[k, c], float(x), power[k])


@compiled
def score_power(x: Array, shape: Array, rate: Array, tables: Array, power: Array, first: int, out: Array) -> None:
    """Add log E[p(x | rate)**power] of counts under Gamma rates, `(r, f), 2 of (f, lanes), (f,) -> (r, c)`."""
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
                    total[c] += gamma_moment(shape[j, c], rate[j, c], v, power[j])
        add_and_clear(total, 1.0, 0.0, out[i], first)


@compiled
def left_out(x: Array, weight: Array, terms: Array, known: bool, powers: Array, out: Array) -> None:
    """Scores of a class's rows once each row's weight has left the class, `(r, f), (r,), (4, f), (f,) -> (r,)`.

    The terms are (extra, rate, events, count): the shape that is left is `extra` plus the events that are left. NaN
    where no distribution is left.
    """
    extra, rate, events, count = terms
    for i in range(x.shape[0]):
        w, total = weight[i], 0.0
        for j in range(x.shape[1]):
            v = float(x[i, j])
            if v != v:
                continue
            power, left = powers[j], max(extra[j] + remaining(events[j], w * v), 0.0)
            rows = rate[j] + remaining(count[j], w)
            if rows <= 0.0 or (left <= 0.0 and not known):
                total = np.nan
            elif power == 0.0:
                continue
            elif known:
                logs = v * np.log(left / rows) if v > 0.0 else 0.0
                total += power * (logs - left / rows - log_factorial(v))
            else:
                total += (
                    log_rising_moment(left, v, power) - left * np.log1p(power / rows) - power * v * np.log(rows + power)
                )
        out[i] = total
