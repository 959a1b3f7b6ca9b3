"""Draws of all parameters theta, and p(y | x, theta) of rows under each draw.

The draws are exact and independent. A seed gives the same theta for any rows: each block has its
own generator, and the number of draws made at once depends only on the model. Parameters of all
combinations of levels that did not occur in training are drawn as one sum; rows with such a
combination split it off (`opened`).
"""

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Density, Rng
from bayesnb.families.dirichlet import DirichletDensity, DirichletStats
from bayesnb.families.levels import LevelDensity
from bayesnb.families.record import is_by_row
from bayesnb.families.weight import one_hot
from bayesnb.inference.class_scores import Scores
from bayesnb.model.powers import Exponents, of_rows
from bayesnb.model.product import (
    Observer,
    Product,
    ProductDensity,
    ProductStats,
    Rows,
    normalise,
    observe,
)
from bayesnb.numerics.threads import blocks

PARAMETERS_AT_ONCE = 1 << 20  # parameters drawn at once: 8 MiB
SCORES_AT_ONCE = 1 << 21  # log p(x, y | theta) held at once: 16 MiB
PROBABILITIES_AT_ONCE = 1 << 24  # p(y | x, theta) held at once: 128 MiB
MAX_DRAWS_TIMES_CLASSES = 1 << 11  # scored in one pass over the rows
MAX_BYTES = 2 << 30  # of a result: larger ones are refused before they are computed
# draws where nothing else works: the standard error of a probability is 0.0035 at most
FALLBACK_DRAWS = 20_000
HEAVY = (
    "the log-odds have too heavy tails for exact methods (extreme numbers, levels nearly new to a "
    "class, or counts of very few words)"
)


@dataclass(frozen=True, eq=False)
class Theta:
    """Draws of all parameters: class probabilities, `(s, c)`, and a density with s * c classes for
    each block.
    """

    class_probs: LevelDensity
    blocks: tuple[Density, ...]

    def opened(
        self, beliefs: Sequence[Belief], cells: Sequence[Cells], rng: np.random.Generator
    ) -> Self:
        """Split off the parameters of combinations of levels that occur only in these rows.

        The draws themselves do not change.
        """
        parts = zip(beliefs, self.blocks, cells, strict=True)
        return replace(
            self, blocks=tuple(belief.opened(theta, x, rng) for belief, theta, x in parts)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of draws and of classes."""
        return self.class_probs.probability.shape

    def log_joint(
        self, cells: Sequence[Cells], power: Exponents = 1.0, n_jobs: int | None = None
    ) -> Array:
        """log p(x, y | theta) with exponents on features, `(r, f) per block -> (r, s, c)`.

        Never NaN: overflow makes a row impossible.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            joint = self._flat.log_joint(cells, power, n_jobs)
        joint[np.isnan(joint)] = -np.inf
        return joint.reshape(len(joint), *self.shape)

    @cached_property
    def _flat(self) -> ProductDensity:
        return ProductDensity(
            DirichletDensity.of_logs(self.class_probs.log_theta.ravel()), self.blocks
        )

    def by_rows(
        self, cells: Sequence[Cells], power: Exponents = 1.0, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows and their log p(x, y | theta), `(r, s, c)`."""
        draws, classes = self.shape
        for rows in blocks(cells[0].shape[0], max(SCORES_AT_ONCE // (draws * classes), 1)):
            yield rows, self.log_joint([x[rows] for x in cells], power, n_jobs)

    def proba(self, joint: Array, n_jobs: int | None = None) -> Array:
        """Replace log p(x, y | theta) by p(y | x, theta), `(r, s, c)`.

        If a row is impossible under all classes in a draw, the probabilities are p(y | theta).
        """
        nowhere = np.isneginf(joint.max(axis=-1))
        if nowhere.any():
            joint[nowhere] = np.broadcast_to(self.class_probs.log_theta, joint.shape)[nowhere]
        normalise(joint.reshape(-1, joint.shape[-1]), True, n_jobs)
        return joint


def draw_theta(product: Product, draws: int, rng: Rng = None) -> Iterator[tuple[slice, Theta]]:
    """Draw from a belief, and yield slices of the draws; `rng` is only used before this returns."""
    seeds = np.random.default_rng(rng).integers(1 << 63, size=1 + len(product.blocks))
    return _draws(product, draws, [np.random.default_rng(seed) for seed in seeds])


def _draws(
    product: Product, draws: int, rngs: Sequence[np.random.Generator]
) -> Iterator[tuple[slice, Theta]]:
    for part in blocks(draws, at_once(product.blocks)):
        size = part.stop - part.start
        with np.errstate(all="ignore"):  # variances or rates may overflow
            pairs = zip(product.blocks, rngs[1:], strict=True)
            densities = tuple(belief.repeated(size).sample(rng) for belief, rng in pairs)
            theta = Theta(product.classes.sample(rngs[0], size), densities)
        yield part, theta


def spawn_generator(rng: np.random.Generator, number: int = 1) -> np.random.Generator:
    """Return a generator seeded by the state of another, which does not change; not all can
    spawn.
    """
    return np.random.default_rng([int(deepcopy(rng).integers(1 << 63)), number])


def repeat_classes(classes: int, draws: int) -> Array:
    """Indices of the classes, repeated for each draw."""
    return np.tile(np.arange(classes), draws)


def at_once(beliefs: Sequence[Belief]) -> int:
    """Number of draws that are made and scored together."""
    return max(
        min(PARAMETERS_AT_ONCE // max(map(count_parameters, beliefs)), MAX_DRAWS_TIMES_CLASSES)
        // len(beliefs[0]),
        1,
    )


def count_parameters(belief: Belief) -> int:
    """Return the size of the largest parameter of one class."""
    return max(np.size(array) // len(belief) for array in belief.parts().values())


class Additions(NamedTuple):
    """Terms added to log p(x, y | theta): constants by row, and the effect of drawn exponents.

    `by_exponent`, `(r, c, g)`, are derivatives of scores in uncertain exponents; `steps`, `(s, g)`,
    are the deviations of drawn exponents from their estimates.
    """

    shift: Array  # `(r, c)`
    by_exponent: Array
    steps: Array

    @classmethod
    def draw(
        cls, scores: Scores, draws: int, rng: np.random.Generator, seen_by: int | None = None
    ) -> Self:
        """Draw exponents, for fixed rows or given that a class has seen the row.

        Exponents that favour that class c are then more probable. With B_k = A_k - A_c and z ~
        Normal(0, S), S the covariance of exponents, the score of class k relative to c changes by
        B_k z - B_k S B_k / 2, which keeps the expectation of exp(U), as in `Scores`.
        """
        shift, by_exponent = scores.shift, scores.by_exponent
        if scores.covariance is None:
            return cls(shift, by_exponent, np.zeros((draws, 0)))
        matrix = scores.covariance.matrix
        steps = rng.multivariate_normal(np.zeros(len(matrix)), matrix, draws, method="eigh")
        if seen_by is not None:
            by_exponent = by_exponent - by_exponent[:, [seen_by]]
            shift = shift - np.einsum("rcf,fg,rcg->rc", by_exponent, matrix, by_exponent) / 2
        return cls(shift, by_exponent, steps)

    def of(self, rows: slice, draws: slice) -> Array:
        """The terms of some rows and draws, `(r, s, c)`."""
        by_exponent = self.by_exponent[rows]
        changes = np.einsum("rcf,sf->rsc", by_exponent, self.steps[draws], optimize=True)
        return self.shift[rows, None] + changes


def draw_proba(scores: Scores, draws: int, rng: Rng = None, n_jobs: int | None = None) -> Array:
    """p(y | x, theta) with drawn theta and uncertain exponents, `-> (s, r, c)`.

    A class with prior probability 0 keeps it.
    """
    out = np.zeros((draws, len(scores), len(scores.belief.live)))
    live = scores.belief.live
    if not live.all():
        out[..., live] = draw_proba(scores.of(live), draws, rng, n_jobs)
        return out
    rng = np.random.default_rng(rng)
    additions = Additions.draw(scores, draws, spawn_generator(rng, 2))
    return _draw_proba(scores, out, rng, n_jobs, additions)


def _draw_proba(
    scores: Scores, out: Array, rng: np.random.Generator, n_jobs: int | None, additions: Additions
) -> Array:
    """Write p(y | x, theta) of draws, `(s, r, c)`; every class must be possible."""
    further = spawn_generator(rng)
    for part, plain in draw_theta(scores.belief, len(out), rng):
        theta = plain.opened(scores.belief.blocks, scores.cells, further)
        for rows, joint in theta.by_rows(scores.cells, scores.power, n_jobs):
            joint += additions.of(rows, part)
            out[part, rows] = theta.proba(joint, n_jobs).swapaxes(0, 1)
    return out


class DrawnWarning(UserWarning):
    """Intervals or entropies of some rows were drawn, as their distribution has no closed form.

    The number of draws and the seed are fixed, so results are reproducible. The message gives the
    standard error.

    See Also
    --------
    NaiveBayes.predict_interval : Intervals of the class probabilities.
    NaiveBayes.uncertainty : Entropies of the class probabilities.
    """


def draw_fallback(scores: Scores) -> Array:
    """Draws of p(y | x, theta) for rows without closed form, `(s, r, c)`, with a fixed seed."""
    return draw_proba(scores, FALLBACK_DRAWS, rng=0)


def warn_drawn(rows: int, draws: int, error: float, reason: str = HEAVY) -> None:
    """Warn that rows were drawn, with the reason and the largest standard error."""
    warnings.warn(
        f"{reason}: so the probabilities of {rows} rows were drawn ({draws} draws each); the "
        f"largest standard error is {error:.1g}.",
        DrawnWarning,
        skip_file_prefixes=(str(Path(__file__).parent.parent),),
    )


def quantile_error(draws: Array, levels: Any) -> float:
    """Largest standard error of quantiles of draws, `(s, ...)`.

    The share of draws below a quantile is binomial. The error is half the distance between the
    quantiles one standard error of that share below and above, which needs no density.
    """
    levels = np.asarray(levels, float)
    off = np.sqrt(levels * (1 - levels) / len(draws))
    low, high = (np.quantile(draws, np.clip(levels + step, 0, 1), axis=0) for step in (-off, off))
    return float(np.nan_to_num(high - low).max(initial=0.0) / 2)


def mean_error(draws: Array) -> float:
    """Largest standard error of means of draws, `(s, ...)`."""
    return float(np.nan_to_num(draws.std(axis=0)).max(initial=0.0) / np.sqrt(len(draws)))


def refuse_large(what: str, size: float, advice: str) -> None:
    """Raise if a result would take more than MAX_BYTES."""
    if size > MAX_BYTES:
        raise ValueError(
            f"{what} would take {size / 2**30:.1f} GiB, more than {MAX_BYTES / 2**30:g}. {advice}"
        )


def draw_by_rows(
    scores: Scores, observers: Sequence[Observer] | None, draws: int, rng: Rng
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield blocks of rows, means of their probabilities, `(r, c)`, and draws, `(s, r, c)`."""
    rng = np.random.default_rng(rng)
    live = scores.belief.live
    possible = scores.of(live)
    share = scores.share
    step = 1 if observers else max(PROBABILITIES_AT_ONCE // (draws * scores.classes), 1)
    seed = int(rng.integers(1 << 62))  # the same theta for all rows, as none is evidence
    for rows in blocks(len(scores), step):
        if observers:
            times = rng.multinomial(draws, share[rows.start])[live]
            proba = np.zeros((draws, 1, scores.classes))
            proba[..., live] = draw_once_seen(possible[rows], observers, times, rng)
            yield rows, share[rows], proba
        else:
            proba = draw_proba(scores[rows], draws, rng=seed)
            yield rows, proba.mean(axis=0), proba


def draw_once_seen(
    scores: Scores, observers: Sequence[Observer], times: Array, rng: np.random.Generator
) -> Array:
    """Draw p(y | x, theta) of one row, `times[c]` times given that class c has seen it, `(s, 1,
    c)`.

    Blocks are restricted to the columns that the row has. Features count with their exponents.
    Every class must be possible.
    """
    each = zip(scores.belief.blocks, scores.cells, observers, strict=True)
    beliefs, cells, narrow = zip(
        *(block.narrowed(x, observer) for block, x, observer in each), strict=True
    )
    before = Product(scores.belief.classes, beliefs)
    proba = np.empty((times.sum(), 1, scores.classes))
    ends = times.cumsum()
    for c in np.flatnonzero(times).tolist():
        seen = observe_powered(Rows(narrow, cells, np.array([c])), scores.classes, scores.power)
        of_class = DirichletStats(np.eye(scores.classes)[c])
        posterior = before.update(replace(seen, classes=of_class))
        given = replace(scores, belief=posterior, cells=cells, covariance=None)
        additions = Additions.draw(scores, times[c], spawn_generator(rng, 3), c)
        _draw_proba(given, proba[ends[c] - times[c] : ends[c]], rng, 1, additions)
    return proba


def observe_powered(rows: Rows, classes: int, power: Exponents) -> ProductStats:
    """Stats of rows with exponents on features, as in the scores."""
    if not isinstance(power, tuple):
        return observe(replace(rows, weight=np.full(len(rows.codes), power)), classes)
    stats = observe(rows, classes)
    each = zip(rows.observers, rows.cells, of_rows(power, rows.cells), stats.blocks, strict=True)
    blocks_seen = []
    for observer, x, w, seen in each:
        if is_by_row(w):
            weight = one_hot(rows.codes, classes, w[:, 0])  # type: ignore[index]
            blocks_seen.append(observer(x, weight, 1))
        else:
            blocks_seen.append(seen * w)
    return replace(stats, blocks=tuple(blocks_seen))
