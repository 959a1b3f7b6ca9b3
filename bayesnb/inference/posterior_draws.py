"""Draws of theta from a belief about everything, and what rows are under each.

    theta ~ belief      p(y | x, theta) and log p(x, y | theta) of every draw and row

The draws are exact and independent. A seed draws the same theta whatever rows are looked at, and however many: every
block has a generator of its own, and how many draws are made at once depends on the model alone. What a theta says of
all that no row had is drawn together; rows that hold some of it open it, and what they find there is drawn then.
"""

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Density, Drawn, Rng
from bayesnb.families.dirichlet import DirichletDensity
from bayesnb.model.product import Product, ProductDensity, normalise
from bayesnb.numerics.threads import blocks

NUMBERS = 1 << 20  # parameters that are drawn at once
CELLS = 1 << 21  # log p(x, y | theta) that are held at once
SIDE_BY_SIDE = 1 << 11  # classes that are scored at once, all draws' together
MOST_BYTES = 2 << 30
FALLBACK = 20_000  # draws


@dataclass(frozen=True, eq=False)
class Theta:
    """Some draws of everything unknown: the die of the classes, `(s, c)`, and every block, s * c classes in a row."""

    die: DirichletDensity
    blocks: tuple[Density, ...]
    included: tuple[Array | None, ...] = ()  # of each block, the features that depend on the class, `(s, f)`; or all

    def opened(self, beliefs: Sequence[Belief], cells: Sequence[Cells], rng: np.random.Generator) -> Self:
        """With entries of their own for all that rows hold; nothing that was drawn changes."""
        included = self.included or (None,) * len(self.blocks)
        parts = zip(beliefs, map(Drawn, self.blocks, included), cells, strict=True)
        return replace(self, blocks=tuple(belief.opened(own, x, rng) for belief, own, x in parts))

    @property
    def shape(self) -> tuple[int, int]:
        """Draws and classes."""
        return self.die.probability.shape

    def log_joint(self, cells: Sequence[Cells], power: float = 1.0, n_jobs: int | None = None) -> Array:
        """log p(x, y | theta), `(r, f) per block -> (r, s, c)`, the features' part times the power; never NaN.

        A number that left the range of floats on the way makes a row impossible.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            joint = self._flat.log_joint(cells, power, n_jobs)
        joint[np.isnan(joint)] = -np.inf
        return joint.reshape(len(joint), *self.shape)

    @cached_property
    def _flat(self) -> ProductDensity:
        return ProductDensity(DirichletDensity.of_logs(self.die.log_probability.ravel()), self.blocks)

    def by_rows(
        self, cells: Sequence[Cells], power: float = 1.0, n_jobs: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """The same, some rows at a time."""
        draws, classes = self.shape
        for rows in blocks(cells[0].shape[0], max(CELLS // (draws * classes), 1)):
            yield rows, self.log_joint([x[rows] for x in cells], power, n_jobs)

    def proba(self, joint: Array, n_jobs: int | None = None) -> Array:
        """p(y | x, theta) in place of log p(x, y | theta), `(r, s, c)`.

        Where a draw makes a row impossible under every class, x says nothing, and the probabilities are the die's.
        """
        nowhere = np.isneginf(joint.max(axis=-1))
        if nowhere.any():
            joint[nowhere] = np.broadcast_to(self.die.log_probability, joint.shape)[nowhere]
        normalise(joint.reshape(-1, joint.shape[-1]), True, n_jobs)
        return joint


def draw_theta(product: Product, draws: int, rng: Rng = None) -> Iterator[tuple[slice, Theta]]:
    """So many draws from a belief, some at a time. The generator has done its part when this returns."""
    seeds = np.random.default_rng(rng).integers(1 << 63, size=1 + len(product.blocks))
    return _drawn(product, draws, [np.random.default_rng(seed) for seed in seeds])


def _drawn(product: Product, draws: int, rngs: Sequence[np.random.Generator]) -> Iterator[tuple[slice, Theta]]:
    for some in blocks(draws, at_once(product.blocks)):
        size = some.stop - some.start
        with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
            pairs = zip(product.blocks, rngs[1:], strict=True)
            parts, included = zip(*(belief.draws(rng, size) for belief, rng in pairs), strict=True)
            theta = Theta(product.classes.sample(rngs[0], size), parts, included)
        yield some, theta


def another(rng: np.random.Generator) -> np.random.Generator:
    """Another generator, by the state of this one, from which it takes nothing; some cannot spawn any."""
    return np.random.default_rng([int(deepcopy(rng).integers(1 << 63)), 1])


def repeated(classes: int, draws: int) -> Array:
    """The places of the classes, once for each draw."""
    return np.tile(np.arange(classes), draws)


def at_once(beliefs: Sequence[Belief]) -> int:
    """How many draws of all classes' parameters are made and scored together."""
    return max(min(NUMBERS // max(map(_width, beliefs)), SIDE_BY_SIDE) // len(beliefs[0]), 1)


def _width(belief: Belief) -> int:
    """How many numbers one class's parameters are."""
    return max(np.size(array) // len(belief) for array in belief.parts().values())


def draw_proba(product: Product, cells: Sequence[Cells], draws: int, power: float, **how: Any) -> Array:
    """p(y | x, theta), theta drawn from a belief, `(r, f) per block -> (s, r, c)`; `how` is `rng` and `n_jobs`.

    A class of probability 0 keeps it, whatever its features say.
    """
    out, live = np.zeros((draws, cells[0].shape[0], len(product.live))), product.live
    if not product.all_live:
        possible = Product(product.classes[live], tuple(block[live] for block in product.blocks))
        out[..., live] = draw_proba(possible, cells, draws, power, **how)
        return out
    n_jobs, rng = how.get("n_jobs"), np.random.default_rng(how.get("rng"))
    further = another(rng)
    for some, plain in draw_theta(product, draws, rng):
        theta = plain.opened(product.blocks, cells, further)
        for rows, joint in theta.by_rows(cells, power, n_jobs):
            out[some, rows] = theta.proba(joint, n_jobs).swapaxes(0, 1)
    return out


class DrawnWarning(UserWarning):
    """Some rows' laws were drawn: they have no other way to be known."""


def drawn_proba(scores: Any) -> Array:
    """p(y | x, theta) of rows whose law is known by draws alone, `(s, r, c)`, always the same ones."""
    return draw_proba(scores.belief, scores.cells, FALLBACK, scores.power, rng=0)


def warn_drawn(rows: int, error: float) -> None:
    """Warn of rows whose law is known by draws alone, with the largest standard error of what was estimated."""
    warnings.warn(
        f"{rows} rows are so far out, or have such levels that a class never saw, that their law was drawn "
        f"({FALLBACK} draws): the largest standard error is {error:.1g}. More smoothing helps.",
        DrawnWarning,
        skip_file_prefixes=(str(Path(__file__).parent.parent),),
    )


def quantile_error(draws: Array, levels: Any) -> float:
    """The largest standard error of quantiles of draws, `(s, ...)`.

    The share of draws below a quantile is binomial: half the way between the quantiles a standard error of that share
    below and above.
    """
    levels = np.asarray(levels, float)
    off = np.sqrt(levels * (1 - levels) / len(draws))
    low, high = (np.quantile(draws, np.clip(levels + step, 0, 1), axis=0) for step in (-off, off))
    return float(np.nan_to_num(high - low).max(initial=0.0) / 2)


def mean_error(draws: Array) -> float:
    """The largest standard error of means of draws, `(s, ...)`."""
    return float(np.nan_to_num(draws.std(axis=0)).max(initial=0.0) / np.sqrt(len(draws)))


def refuse_large(what: str, size: float, advice: str) -> None:
    """An error before more memory is taken than a result may have, in bytes."""
    if size > MOST_BYTES:
        raise ValueError(f"{what} would take {size / 2**30:.1f} GiB, more than {MOST_BYTES / 2**30:g}. {advice}")
