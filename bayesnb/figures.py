"""Small figures from arrays. The only module that knows matplotlib; it leaves pyplot and its state alone.

A class has one colour (Okabe and Ito's, safe for the colour-blind) and one dash, here and on every page. Text and
axes are drawn in INK, which `svg` turns into `currentColor`: an inline figure then follows the page's theme.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from html import escape
from io import StringIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

Array = np.ndarray

INK = "#010203"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A800", INK)
DASHES = ((), (5, 2), (1, 1.5), (6, 2, 1, 2), (3, 1.5), (8, 3), (1, 3), (6, 2, 1, 2, 1, 2))
MOST_CLASSES = len(COLOURS)
WIDTH = 4.9  # inches; a page shows it at some 360 to 480 pixels
FEW = 15  # cells, which make no histogram
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "ytick.major.size": 0,
    "text.parse_math": False,  # a column may be called "$x^"
    "svg.fonttype": "none",
}

PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")


def styled[**P, Out](draw: Callable[P, Out]) -> Callable[P, Out]:
    """The function, run under STYLE."""

    @wraps(draw)
    def run(*args: P.args, **kwargs: P.kwargs) -> Out:
        with rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text
            return draw(*args, **kwargs)

    return run


@styled
def new_axes(height: float = 2.3) -> Axes:
    """Axes in a figure of their own."""
    return Figure(figsize=(WIDTH, height), layout="constrained").subplots()


@styled
def densities(grid: Array, density: Array, data: Sequence[Array], ax: Axes | None = None) -> Axes:
    """A curve for each class, `(n,), (c, n)`, over the histogram of the class's cells; few are ticks."""
    ax = ax or new_axes()
    bins = np.linspace(grid[0], grid[-1], 1 + int(np.clip(np.sqrt(sum(map(len, data))), 10, 40))).tolist()
    for c, (curve, x) in enumerate(zip(density, data, strict=True)):
        inside = x[(x >= grid[0]) & (x <= grid[-1])]
        if len(inside) < FEW:
            ax.plot(inside, np.zeros(len(inside)), "|", color=COLOURS[c], markersize=14, clip_on=False)
        else:
            ax.hist(inside, bins, density=True, histtype="stepfilled", color=COLOURS[c], alpha=0.25, linewidth=0)
        ax.plot(grid, curve, color=COLOURS[c], linewidth=1.8, dashes=DASHES[c])
    ax.set_yticks([])
    ax.set_ylim(0, None)
    ax.set_xlim(grid[0], grid[-1])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return ax


@styled
def levels(names: Sequence[str], probability: Array, ends: tuple[Array, Array], ax: Axes | None = None) -> Axes:
    """Bars of each level's probability, a group for each level, with intervals, all `(c, k)`."""
    classes, size = probability.shape
    ax = ax or new_axes(0.6 + size * (0.16 * classes + 0.12))
    thick = 0.84 / classes
    for c, own in enumerate(probability):
        y = np.arange(size) + (c - (classes - 1) / 2) * thick
        ax.barh(y, own, thick * 0.86, color=COLOURS[c], alpha=0.85, linewidth=0)
        ax.hlines(y, ends[0][c], ends[1][c], color=INK, linewidth=1)
    ax.set_yticks(range(size), [_short(name) for name in names])
    ax.set_ylim(size - 0.5, -0.5)
    ax.set_xlim(0, min(1.0, 1.04 * float(ends[1].max())))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PERCENT)
    return ax


@styled
def counts(values: Array, probability: Array, observed: Array, ax: Axes | None = None) -> Axes:
    """Bars of each count's probability, `(n,), (c, n)`; a dot is its share in the data."""
    ax = ax or new_axes()
    thick = 0.84 * (values[1] - values[0] if len(values) > 1 else 1) / len(probability)
    for c, own in enumerate(probability):
        x = values + (c - (len(probability) - 1) / 2) * thick
        ax.bar(x, own, thick * 0.9, color=COLOURS[c], alpha=0.6, linewidth=0)
        seen = observed[c] > 0
        ax.plot(x[seen], observed[c][seen], linestyle="", marker="o", markersize=2.5, color=COLOURS[c])
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PERCENT)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


@styled
def svg(ax: Axes, said: str, salt: str = "") -> str:
    """The figure as inline SVG, read aloud as `said`: no header, no fixed size, nothing that differs between runs.

    Each figure of a page needs a salt of its own: it goes into the ids.
    """
    text = StringIO()
    with rc_context({"svg.hashsalt": salt or "bayesnb"}):
        ax.get_figure(root=True).savefig(text, format="svg", transparent=True, metadata={"Date": None})  # type: ignore[union-attr]
    shown = text.getvalue()
    shown = shown[shown.index("<svg") :]
    shown = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", shown, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', shown))
    shown = re.sub(r'\s+id="([^"]*)"', lambda found: found[0] if found[1] in used else "", shown)
    shown = re.sub(rf"(fill|stroke): ?{INK}", r"\1: currentColor", shown)
    box = re.search(r'viewBox="[^"]*"', shown)
    head = f'<svg {box[0] if box else ""} role="img" aria-label="{escape(said)}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return re.sub(r"\n\s*", "\n", head + shown[shown.index(">") + 1 :]).strip()
