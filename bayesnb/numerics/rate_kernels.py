"""Counts in dense columns: sums by class, and scores under Poisson rates, known or with a Gamma belief."""

import numpy as np
from scipy.special import gammaln

from bayesnb.numerics import special
from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import (
    log_factorial,
    log_rising_binomial,
    log_rising_binomials,
    log_rising_words,
    room_for_words,
    score_words,
    what_remains,
)
from bayesnb.numerics.elementary import remaining
from bayesnb.numerics.row_kernels import add_and_clear, add_by_class, add_lanes, add_times, lanes_of


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


@tally.defined()
def tally_by_definition(x: Array, labels: Array, weight: Array, count: Array, events: Array, logs: Array) -> None:
    v = np.where(np.isnan(x), 0.0, x.astype(float))
    add_by_class(labels, weight[:, None] * ~np.isnan(x), count)
    add_by_class(labels, weight[:, None] * v, events)
    add_by_class(labels, weight[:, None] * gammaln(v + 1.0), logs)


@compiled
def score_gamma(x: Array, base: Array, slope: Array, shape: Array, logs: Array, first: int, out: Array) -> None:
    """Add log negative binomial probabilities, `(r, f), 4 of (f, lanes) -> (r, c)`.

    A cell has base + slope x + ln Gamma(shape + x) - ln Gamma(shape) - ln x!, `logs` being those of the shapes.
    """
    features, lanes = base.shape
    total, product = np.zeros(lanes), np.ones(lanes)
    row, places, room = np.empty(features), np.arange(features), room_for_words(features)
    for i in range(x.shape[0]):
        for j in range(features):
            v = float(x[i, j])
            row[j] = v if v == v else 0.0
            if v == v:
                add_times(total, 1.0, base[j])
            if v > 0.0:
                add_times(total, v, slope[j])
        score_words(row, places, shape, logs, total, product, room)
        add_and_clear(total, 0.0, out[i], first)


@score_gamma.defined(1 << 12)
def score_gamma_by_definition(
    x: Array, base: Array, slope: Array, shape: Array, logs: Array, first: int, out: Array
) -> None:
    base, slope, shape, logs = (lanes_of(table, out, first) for table in (base, slope, shape, logs))
    v, features = np.where(np.isnan(x), 0.0, x.astype(float)), np.tile(np.arange(x.shape[1]), len(x))
    rising = log_rising_words(v.reshape(-1), features, shape, logs).reshape(*x.shape, -1)
    terms = base + special.times(v[:, :, None], slope) + rising
    add_lanes(np.where(np.isnan(x)[:, :, None], 0.0, terms).sum(axis=1), out, first)


@compiled
def score_known(x: Array, rate: Array, logs: Array, each: Array, first: int, out: Array) -> None:
    """Add each * [x log(rate) - rate - log x!]; rates and their logs are `(f, lanes)`, exponents `each` `(f,)`."""
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
        add_and_clear(total, -orders, out[i], first)


@score_known.defined()
def score_known_by_definition(x: Array, rate: Array, logs: Array, each: Array, first: int, out: Array) -> None:
    rate, logs = lanes_of(rate, out, first), lanes_of(logs, out, first)
    v = np.where(np.isnan(x), 0.0, x.astype(float))
    terms = special.times((each * v)[:, :, None], logs) - each[:, None] * rate
    total = np.where(np.isnan(x)[:, :, None], 0.0, terms).sum(axis=1) - (gammaln(v + 1.0) @ each)[:, None]
    add_lanes(total, out, first)


@compiled
def left_out(x: Array, weight: Array, terms: Array, known: bool, out: Array) -> None:
    """Scores of a class's rows once each row's weight has left the class, `(r, f), (r,), (4, f) -> (r,)`.

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
            left = max(extra[j] + remaining(events[j], w * v), 0.0)
            rows = rate[j] + remaining(count[j], w)
            if rows <= 0.0 or (left <= 0.0 and not known):
                total = np.nan
            elif known:
                logs = v * np.log(left / rows) if v > 0.0 else 0.0
                total += logs - left / rows - log_factorial(v)
            else:
                total += log_rising_binomial(left, v) - left * np.log1p(1.0 / rows) - v * np.log(rows + 1.0)
        out[i] = total


@left_out.defined(1 << 12)
def left_out_by_definition(x: Array, weight: Array, terms: Array, known: bool, out: Array) -> None:
    extra, rate, events, count = terms
    missing, w = np.isnan(x), weight[:, None]
    v = np.where(missing, 0.0, x.astype(float))
    left, rows = np.maximum(extra + what_remains(events, w * v), 0.0), rate + what_remains(count, w)
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left
        if known:
            scores = special.times(v, np.log(left / rows)) - left / rows - gammaln(v + 1.0)
        else:
            scores = log_rising_binomials(left, v) - left * np.log1p(1.0 / rows) - v * np.log(rows + 1.0)
    scores[(rows <= 0.0) | ((left <= 0.0) & (not known))] = np.nan
    out[:] = np.where(missing, 0.0, scores).sum(axis=1)
