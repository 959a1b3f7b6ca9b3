"""Importance weights of draws, for adding a row and for leaving one out.

    p(theta | D, x)  is  p(theta | D) p(x | theta)
                     so draws from p(theta | D) get weights p(x | theta)
    p(draw | D_-i)   is  p(draw | D) / p(x_i, y_i | draw, D_-i)
                     so draws get weights 1 / p(x_i, y_i | draw, D_-i)

The effective number of draws is (sum w)**2 / sum w**2: Kish (1965), Survey Sampling, section 11.7.
Leave-one-out is exact given a draw. The largest weights are smoothed, and their tail shows whether
there are enough draws: Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance
sampling.
"""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.mcmc.ensemble import Ensemble
from bayesnb.model.powers import Exponents
from bayesnb.model.product import Model, Rows
from bayesnb.numerics.special import log, times
from bayesnb.selection.leave_one_out import Pointwise, PredictiveRule, leave_one_out, warn_undefined

MIN_DRAWS_OF_ROW = 50  # effective draws needed for the mean and quantiles of a row
MIN_SHARE_OF_DRAWS = 10  # or one in so many, if there are few draws
MAX_DRAWS, MIN_DRAWS = 400, 100  # draws over which leave-one-out is averaged
MAX_SCORES = 1 << 25  # draws times rows of leave-one-out
ROUNDING = 1e-9  # relative error of a log density
MIN_TAIL_DRAWS = 5
PACKAGE = (str(Path(__file__).parent.parent),)


class DegenerateWarning(UserWarning):
    """For some rows a few draws carry nearly all the weight, so results are noisy.

    Sample more draws, and inspect these rows: they are highly informative. With ``rows="fixed"``
    draws have no weights.

    See Also
    --------
    bayesnb.mcmc.Sampled : The estimator that warns.
    """


class ParetoWarning(UserWarning):
    """Leave-one-out by importance sampling is unreliable for some rows: their Pareto k is large.

    The posterior without these rows differs too much from the draws. Scores of other rows are not
    affected.

    See Also
    --------
    bayesnb.mcmc.Sampled.loo : Leave-one-out of a sampled model.
    """


def shares(log_weight: Array) -> Array:
    """Weights that sum to 1 over draws, `(s, r) -> (s, r)`; equal if all are 0."""
    best = log_weight.max(axis=0)
    weight = np.exp(log_weight - np.where(np.isfinite(best), best, 0.0))
    weight[:, np.isneginf(best)] = 1.0
    return weight / weight.sum(axis=0)


def effective(log_weight: Array) -> Array:
    """Return the effective number of draws, `(s, r) -> (r,)`; 0 if all weights are 0."""
    return np.where(
        np.isneginf(log_weight.max(axis=0)), 0.0, 1 / (shares(log_weight) ** 2).sum(axis=0)
    )


def few(effective_draws: Array, draws: int) -> Array:
    """Return whether a row has too few effective draws, `(r,)`."""
    return effective_draws < min(MIN_DRAWS_OF_ROW, draws / MIN_SHARE_OF_DRAWS)


def warn_degenerate(effective_draws: Array, draws: int) -> None:
    """Warn once of all rows with too few effective draws, `(r,)`."""
    degenerate = few(effective_draws, draws)
    if degenerate.any():
        row = int(degenerate.argmax())
        warnings.warn(
            f"{degenerate.sum()} rows have nearly all their weight on a few of the {draws} draws, "
            f"so their results are noisy; the first is row {row}, with "
            f"{effective_draws[row]:.3g} effective draws. Sample more draws, and inspect the row, "
            "which is highly informative; with rows='fixed' draws have no weights.",
            DegenerateWarning,
            skip_file_prefixes=PACKAGE,
        )


class ImportanceScores(NamedTuple):
    """Held-out scores, the Pareto k of each row, its limit, and the number of draws."""

    pointwise: Pointwise
    k: Array
    good_k: float
    draws: int


def good_k(draws: int) -> float:
    """Return the largest Pareto k for which this many draws are enough (Vehtari et al., 2024)."""
    return float(min(1 - 1 / np.log10(max(draws, 2)), 0.7))


def smooth_weights(log_density: Array) -> tuple[Array, Array]:
    """Return log weights with a smoothed tail and Pareto k, `(s, r) -> (s, r), (r,)`."""
    log_weight = np.empty(log_density.shape)
    k = np.empty(log_density.shape[1])
    for row, values in enumerate(log_density.T):
        log_weight[:, row], k[row] = _smooth_row(values)
    return log_weight, k


def _smooth_row(log_density: Array) -> tuple[Array, float]:
    """Return the smoothed log weights of one row, and their Pareto k.

    k is 0 if the largest weights are all equal, and infinite if there are too few draws to fit a
    tail.
    """
    least = log_density.min()
    if np.isnan(least):
        return np.full(len(log_density), np.nan), float("nan")
    if np.isneginf(least):  # draws under which the row is impossible have all the weight
        impossible = log_density == least
        k = 0.0 if impossible.all() else float("inf")
        return np.where(impossible, -np.log(impossible.sum()), -np.inf), k
    plain = -log_density - np.logaddexp.reduce(-log_density)
    draws = len(log_density)
    tail = int(3 * draws**0.5 if draws > 225 else draws / 5)
    end = np.sort(log_density)[max(tail, 1) - 1]
    if end - least <= ROUNDING * max(1.0, -least):
        return plain, 0.0
    if tail < MIN_TAIL_DRAWS:
        return plain, float("inf")
    log_weight, k = results.elpd.smooth_tail(log_density)
    if not np.isfinite(k) or np.isnan(log_weight).any():
        return plain, float("inf")
    return log_weight, k


def ensemble_loo(
    ensemble: Ensemble,
    rows: Rows,
    draws: Array,
    power: Exponents,
    target: str,
    n_jobs: int | None,
) -> ImportanceScores:
    """Held-out and in-sample scores of every row, with exponents; target is "label" or "joint"."""
    label, density, held_out = np.empty((3, len(draws), len(rows.codes)))
    fitted_label, fitted_density = np.full((2, len(rows.codes)), -np.inf)
    for at, draw in enumerate(draws):
        model = ensemble.model(int(draw))
        left = leave_one_out(model, rows, PredictiveRule(power=power), n_jobs=n_jobs)
        label[at] = ensemble.log_read(draw, left, rows.codes)
        density[at] = _logsum(left, 1)
        if ensemble.confusion is None and (rows.counts != 1).any():
            held_out[at] = _weighted_held_out(ensemble, model, rows, draw)
        else:
            if power != 1:
                left = leave_one_out(model, rows, n_jobs=n_jobs)
            held_out[at] = times(rows.counts, ensemble.log_read(draw, left, rows.codes))
        joint = model.posterior.log_joint(rows.cells, power, n_jobs)
        fitted_label = np.logaddexp(fitted_label, ensemble.log_read(draw, joint, rows.codes))
        fitted_density = np.logaddexp(fitted_density, _logsum(joint, 1))
    log_weight, k = smooth_weights(held_out)
    score = _logsum(log_weight + label, 0)
    fitted = fitted_label - np.log(len(draws))
    if target == "label":
        score = _condition(score, _logsum(log_weight + density, 0))
        fitted = _condition(fitted_label, fitted_density)
    warn_undefined(score)
    pointwise = Pointwise(score, fitted, rows.weight)
    return ImportanceScores(pointwise, k, good_k(len(draws)), len(draws))


def _condition(joint: Array, density: Array) -> Array:
    """log p(y | x) from log p(x, y) and log p(x)."""
    never = np.isneginf(joint)
    return np.where(never, -np.inf, joint - np.where(never, 0.0, density))


def _weighted_held_out(ensemble: Ensemble, model: Model, rows: Rows, draw: int) -> Array:
    """log p(x, y | draw, all other rows) of rows with weights w, up to a term shared by all draws.

    It is 1 / E[p(x | theta)**-w] under the posterior of all rows.
    """
    held_out = np.zeros(len(rows.codes))
    for belief, x in zip(model.posterior.blocks, rows.cells, strict=True):
        log_moment = belief.row_log_moment(x, -rows.counts[:, None])
        held_out -= log_moment[np.arange(len(held_out)), rows.codes]
    if ensemble.class_prob is None:
        return held_out
    return held_out + times(rows.counts, log(ensemble.class_prob[draw])[rows.codes])


def regression_loo(log_likelihood: Array, rows: Rows) -> ImportanceScores:
    """Score rows by log p(y | x, draw) of their labels, `(s, r)`."""
    log_weight, k = smooth_weights(times(rows.counts, log_likelihood))
    score = _logsum(log_weight + log_likelihood, 0) - _logsum(log_weight, 0)
    draws = len(log_likelihood)
    pointwise = Pointwise(score, _logsum(log_likelihood, 0) - np.log(draws), rows.weight)
    return ImportanceScores(pointwise, k, good_k(draws), draws)


def draws_for(rows: int) -> int:
    """Return the number of draws over which leave-one-out of this many rows is averaged."""
    return int(np.clip(MAX_SCORES // rows, MIN_DRAWS, MAX_DRAWS))


def warn_pareto(scores: ImportanceScores, most: int) -> None:
    """Warn of rows whose weights have too heavy a tail; at most `most` draws are used."""
    long = scores.k > scores.good_k
    if long.any():
        row = long.argmax()
        more = ", or sample more draws"
        if scores.draws >= most:
            more = f" (more draws do not help: at most {most} are used)"
        warnings.warn(
            f"{long.sum()} rows, first row {row}, influence the posterior so much that "
            f"{scores.draws} draws are not enough for their scores: Pareto k is "
            f"{scores.k[row]:.2f}, above {scores.good_k:.2f}. Inspect these rows; score them by a "
            f"fit without them{more}.",
            ParetoWarning,
            skip_file_prefixes=PACKAGE,
        )


def _logsum(logs: Array, axis: int) -> Array:
    """Log-sum-exp; NaN stays for rows without a distribution."""
    with np.errstate(invalid="ignore"):
        return np.logaddexp.reduce(logs, axis=axis)
