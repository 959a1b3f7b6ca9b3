"""What of a model can be joined: columns with even dice, and Gaussian ones, with their priors as those of one block."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.bernoulli import Beta
from bayesnb.families.categorical import Dice
from bayesnb.families.dirichlet import as_level
from bayesnb.families.gaussian import NormalInverseGamma
from bayesnb.families.joint import JointDie
from bayesnb.families.normal_inverse_wishart import NormalInverseWishart
from bayesnb.families.sharing import Sharing
from bayesnb.selection.block_evidence import Dies, Numbers
from bayesnb.selection.pair_evidence import Labels

ROUNDING = 1e-12  # how far concentrations that are alike may be apart, relatively


@dataclass(frozen=True, eq=False)
class Levelled:
    """Columns of levels that are one die: places in their block, codes `(r, d)`, numbers of levels, concentration."""

    places: tuple[int, ...]
    codes: Array  # negative where missing
    sizes: tuple[int, ...]
    concentration: Array  # of the whole die, `(c,)`


@dataclass(frozen=True, eq=False)
class Numeric:
    """Columns of numbers that are one Gaussian: places in their block, cells `(r, d)`, and its prior."""

    places: tuple[int, ...]
    x: Array
    count: Array  # `(c,)`
    shape: Array  # `(c,)`, that of each column by itself
    location: Array  # `(c, d)`
    scale: Array  # `(c, d, d)`


Unit = Levelled | Numeric


@singledispatch
def joinable(prior: Belief, x: Cells) -> Sequence[Unit]:
    """What can be joined of a block of columns: nothing of a family that has no joint law."""
    return ()


@joinable.register
def _(prior: Dice, x: Cells) -> Sequence[Unit]:
    codes, found = as_level(np.asarray(x[:])), []
    for j, size in enumerate(prior.sizes):
        own = prior.concentration[:, prior.span(j)]
        if (np.ptp(own, axis=1) <= ROUNDING * own[:, 0]).all():
            found.append(Levelled((j,), codes[:, [j]], (size,), own.sum(axis=1)))
    return found


@joinable.register
def _(prior: Beta, x: Cells) -> Sequence[Unit]:
    """A flag of which one value never occurs says nothing of others, and a table would know one level of it."""
    flags = _dense(x)
    both = (flags == 0).any(axis=0) & (flags == 1).any(axis=0)
    even = (np.abs(prior.a - prior.b) <= ROUNDING * prior.a).all(axis=0)
    codes = np.where(np.isnan(flags), -1, flags).astype(np.intp)
    return [
        Levelled((j,), codes[:, [j]], (2,), prior.a[:, j] + prior.b[:, j]) for j in np.flatnonzero(both & even).tolist()
    ]


@joinable.register
def _(prior: JointDie, x: Cells) -> Sequence[Unit]:
    total = prior.per_die(prior.concentration)[:, 0]
    return [Levelled(tuple(range(len(prior.sizes))), as_level(np.asarray(x[:])), prior.sizes, total)]


@joinable.register
def _(prior: NormalInverseGamma, x: Cells) -> Sequence[Unit]:
    numbers = _dense(x)
    columns = zip(*(own.T for own in (prior.count, prior.shape, prior.location, prior.scale)), strict=True)
    return [
        Numeric((j,), numbers[:, [j]], count, shape, location[:, None], 2 * scale[:, None, None])
        for j, (count, shape, location, scale) in enumerate(columns)
    ]


@joinable.register
def _(prior: NormalInverseWishart, x: Cells) -> Sequence[Unit]:
    location, scale, d = prior.location[:, 0], prior.scale[:, 0], prior.location.shape[-1]
    shape = (prior.dof[:, 0] - d + 1) / 2
    return [Numeric(tuple(range(d)), _dense(x), prior.count[:, 0], shape, np.asarray(location), scale)]


@joinable.register
def _(prior: Sharing, x: Cells) -> Sequence[Unit]:
    """One variance for all classes ties their rows together, so no class has an evidence of its own."""
    return ()


def _dense(x: Cells) -> Array:
    part = x[:]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, float)


def of_levels(units: Sequence[Levelled], labels: Labels, concentration: float | None) -> Dies:
    """Columns side by side, with one concentration of all dice: said, or their geometric mean."""
    total = _mean([unit.concentration for unit in units])
    return Dies(
        labels,
        np.asfortranarray(np.concatenate([unit.codes for unit in units], axis=1)),  # columns are read one by one
        tuple(size for unit in units for size in unit.sizes),
        total if concentration is None else np.full_like(total, concentration),
    )


def of_numbers(units: Sequence[Numeric], labels: Labels) -> Numbers:
    """Columns side by side, whose priors have the geometric means of counts and of shapes.

    Each scale keeps its ratio to the shape, which is the variance that is expected.
    """
    count, shape = _mean([unit.count for unit in units]), _mean([unit.shape for unit in units])
    x = np.concatenate([unit.x for unit in units], axis=1)
    location = np.concatenate([unit.location for unit in units], axis=1)
    scale, first = np.zeros((labels.classes, x.shape[1], x.shape[1])), 0
    for unit in units:
        span = slice(first, first := first + unit.x.shape[1])
        scale[:, span, span] = unit.scale * (shape / unit.shape)[:, None, None]
    return Numbers(labels, x, count, shape, location, scale)


def _mean(values: Sequence[Array]) -> Array:
    """The geometric mean of each class's, to the last digit where all are alike: `n of (c,) -> (c,)`."""
    every = np.stack(values)
    return np.where((every == every[0]).all(axis=0), every[0], np.exp(np.log(every).mean(axis=0)))
