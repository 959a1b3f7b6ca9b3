"""Two columns of numbers that are modelled jointly: ellipses of what is expected of a new row of each class."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from scipy.special import fdtri

from bayesnb.families import NormalInverseWishart
from bayesnb.families.base import Array
from bayesnb.plots.sight import middle
from bayesnb.plots.style import COLOURS, DASHES, new_axes, short, styled

HALF = 0.5
MOST_POINTS = 600  # of a figure
AROUND = 181  # points of an ellipse
WIDTHS = (1.1, 1.8)  # of the inner line and the outer one
ROOM = 0.06  # of the range of the rows, beside them
HIGH = 3.1  # inches
NAMES = 32  # letters of an axis


class Cloud(NamedTuple):
    """What is expected of a new row of one class: around which point, how it is spread, and how far shares of rows lie.

    Rows within a distance of `reach`, in units of the spread, are so probable.
    """

    centre: Array  # `(2,)`
    spread: Array  # `(2, 2)`, a Cholesky factor
    reach: tuple[float, float]

    @property
    def far(self) -> Array:
        """How far the outer ellipse reaches along each axis."""
        return self.reach[-1] * np.sqrt((self.spread**2).sum(axis=-1))


def clouds_of(belief: NormalInverseWishart, prob: float) -> list[Cloud | None]:
    """The predictive of two columns in each class, a multivariate t, of which half and `prob` of rows lie in ellipses.

    Its squared distance is twice an F variate: Kotz and Nadarajah (2004), Multivariate t distributions. None for a
    class of which too little is known.
    """
    return [_cloud(belief, c, prob) if good else None for c, good in enumerate(belief.proper)]


def _cloud(belief: NormalInverseWishart, c: int, prob: float) -> Cloud:
    free = belief.dof[c] - 1
    half, most = np.sqrt(2 * fdtri(2, free, np.array([HALF, prob]))).tolist()
    return Cloud(belief.location[c], np.sqrt((1 + 1 / belief.count[c]) / free) * belief.factor[c], (half, most))


@styled
def clouds(found: Sequence[Cloud | None], data: Sequence[Array], names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Two ellipses for each class over its rows, `(n, 2)`; of many rows some, evenly spaced."""
    ax = ax or new_axes(HIGH)
    step = max(1, -(-sum(map(len, data)) // MOST_POINTS))
    turn = np.linspace(0, 2 * np.pi, AROUND)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for c, (own, x) in enumerate(zip(found, data, strict=True)):
        some = x[::step]
        ax.plot(some[:, 0], some[:, 1], ".", color=COLOURS[c], markersize=4.5, alpha=0.6, markeredgewidth=0)
        if own is not None:
            for reach, width in zip(own.reach, WIDTHS, strict=True):
                line = own.centre[:, None] + reach * own.spread @ circle
                ax.plot(*line, color=COLOURS[c], linewidth=width, dashes=DASHES[c])
    _frame(ax, [own for own in found if own], np.concatenate(data))
    ax.set_xlabel(short(names[0], NAMES))
    ax.set_ylabel(short(names[1], NAMES))
    return ax


def _frame(ax: Axes, found: Sequence[Cloud], x: Array) -> None:
    """Around the rows, of which some may lie far out, and around the ellipses, unless they are far larger."""
    ends = [(own.centre - own.far, own.centre + own.far) for own in found]
    sides: tuple[Any, Any] = (ax.set_xlim, ax.set_ylim)
    for j, side in enumerate(sides):
        low, high = min((own[0][j] for own in ends), default=0.0), max((own[1][j] for own in ends), default=1.0)
        if len(x):
            least, most = middle(x[:, j])
            most = most if most > least else np.nextafter(least, np.inf)
            low, high = (np.clip(end, least - most + least, most + most - least) for end in (low, high))
            low, high = min(low, least), max(high, most)
        room = ROOM * (high - low)
        side(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
