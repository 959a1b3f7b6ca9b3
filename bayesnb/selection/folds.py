"""Exact k-fold cross-validation: predictions of each row by a model that has not seen the rows of its fold.

The stats of each fold are counted once; those of all other folds are added up, so nothing is ever subtracted.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Rng
from bayesnb.model.product import Joint, Model, Product, ProductStats, Rows, observe
from bayesnb.selection.leave_one_out import PREDICT, PredictiveRule


def k_fold(model: Model, rows: Rows, folds: Array, way: PredictiveRule = PREDICT, n_jobs: int | None = None) -> Array:
    """log p(x, y | the rows of other folds), `(r,), -> (r, c)`; NaN where those leave no distribution."""
    total = np.empty((len(folds), len(model.stats.classes)))
    names = np.unique(folds)
    parts = [observe(rows.where((folds == name) & (rows.counts > 0)), total.shape[1], n_jobs) for name in names]
    for name, rest in zip(names, rests(parts), strict=True):
        held_out = np.flatnonzero(folds == name)
        reader = learnt_from(model, rest, way.kind)
        joint = reader.log_joint([x[held_out] for x in rows.cells], way.power, n_jobs)
        total[held_out] = np.where(np.array(_proper(reader)), joint, np.nan)
    return total


def rests(parts: Sequence[ProductStats]) -> list[ProductStats]:
    """For each part, sum all others."""
    before = list(accumulate(parts, add))
    after = list(accumulate(reversed(parts), add))[::-1]
    inner = (a + b for a, b in zip(before, after[2:], strict=False))
    return [after[1], *inner, before[-2]]


def learnt_from(model: Model, stats: ProductStats, kind: str) -> Joint:
    """Return the predictor of a model that has learnt these stats instead."""
    prior = Product(model.prior.classes.recounted(stats.classes), model.prior.blocks)
    return Model(prior, stats).read(kind)


def _proper(reader: Joint) -> Array:
    """Classes that have a distribution, or are impossible anyway, `(c,)`."""
    return np.all([block.proper.all(axis=-1) for block in reader.blocks], axis=0) | ~reader.live


def assigned(folds: Any, codes: Array, rng: Rng) -> Array:
    """Fold of each row, 0, 1, ...: as given, or dealt out at random, class by class."""
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool):
        return _given(folds, len(codes))
    if not 2 <= folds <= len(codes):
        raise ValueError(f"folds must be at least 2 and at most the number of rows, {len(codes)}, got {folds}.")
    order = np.random.default_rng(rng).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.intp)
    fold[order] = np.arange(len(codes)) % int(folds)
    return fold


def _given(folds: Any, rows: int) -> Array:
    """Number the given folds in the order in which they come."""
    given = np.asarray(folds)
    if given.shape != (rows,):
        what = repr(folds) if given.ndim == 0 else f"an array of shape {given.shape}"
        raise ValueError(f"folds must be a whole number, or one fold for each of {rows} rows, got {what}.")
    names = given.tolist()
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    missing = {name for name in place if name is None or (name == name) is not True}
    if missing:
        lost = [name in missing for name in names]
        raise ValueError(f"folds: {sum(lost)} rows have none (first row {lost.index(True)}). Give each row a fold.")
    if len(place) < 2:
        raise ValueError(f"folds must be at least two, and all rows are in {names[0]!r}.")
    return np.array([place[name] for name in names])
