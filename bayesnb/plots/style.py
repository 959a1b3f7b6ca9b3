"""Style shared by all figures, and their conversion to SVG for a page.

A class has one colour (Okabe and Ito's, safe for the colour-blind) and one dash, here and on every
page. Text and axes are drawn in INK, which `svg` turns into `currentColor`: an inline figure then
follows the page's theme.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from io import StringIO
from math import ceil, log
from numbers import Integral
from typing import Any, cast

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bayesnb.families.base import Array
from bayesnb.formatting import MINUS, number, power_of_ten, shorten

INK = "#010203"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A800", INK)
DASHES = ((), (5, 2), (1, 1.5), (6, 2, 1, 2), (3, 1.5), (8, 3), (1, 3), (6, 2, 1, 2, 1, 2))
MOST_CLASSES = len(COLOURS)
BROAD = 6.0  # inches; a phone scrolls what is wider
WIDTH = 4.9  # inches; a page shows it at some 360 to 480 pixels
LIST_WIDTH, ROW_HEIGHT = 6.4, 0.25  # inches, of a figure that is a list and of its lines
MAX_LETTERS, MAX_LETTERS_OF_TWO = 24, 17  # of a name, and of each of two on a line
AXIS_LETTERS = 40  # of a name along an axis
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "lines.color": INK,
    "axes.edgecolor": INK,
    "axes.formatter.useoffset": False,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.titlesize": "medium",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "ytick.major.size": 0,
    "legend.frameon": False,  # a frame would be white on a dark page
    "legend.fontsize": "small",
    "text.parse_math": False,  # a column may be called "$x^"
    "svg.fonttype": "none",  # text stays text
}
METADATA: Any = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# Removed from figures for a page: styles of the whole page, fonts other than the page's, and ids
# that other figures also have. Ids that are referred to contain a salt.
STRIPPED = re.compile(r'<style.*?</style>|font-family: [^;"]*; |(?<=<g) id="[^"]*"')
DECADE = log(10)  # log-odds by which the odds become ten times as large

OFF_SCREEN: ContextVar[bool] = ContextVar("OFF_SCREEN", default=False)
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")


@contextmanager
def use_style() -> Iterator[None]:
    """Apply STYLE temporarily; other settings that a notebook changes meanwhile are kept."""
    before = {name: rcParams[name] for name in STYLE}
    rcParams.update(STYLE)
    try:
        yield
    finally:
        rcParams.update(before)


styled = use_style()  # a decorator: the function runs under STYLE


# Figures and axes


@styled
def new_figure(height: float, width: float = WIDTH, layout: Any = "constrained") -> Figure:
    """Make a figure, which pyplot shows unless it is for a page."""
    if OFF_SCREEN.get():
        return Figure(figsize=(width, height), layout=layout)
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout=layout)


@styled
def new_axes(height: float = 2.3, width: float = WIDTH, layout: Any = "constrained") -> Axes:
    """Make axes in a new figure."""
    return new_figure(height, width, layout).subplots()


@contextmanager
def off_screen() -> Iterator[None]:
    """Do not show figures that are made in this context: they go onto a page."""
    token = OFF_SCREEN.set(True)
    try:
        yield
    finally:
        OFF_SCREEN.reset(token)


@styled
def new_panels(count: int, columns: int, height: float, width: float) -> list[Axes]:
    """Make axes side by side in a new figure, each of a size in inches."""
    columns = min(count, columns)
    rows = ceil(count / columns)
    figure = new_figure(height * rows, width * columns)
    return [figure.add_subplot(rows, columns, k + 1) for k in range(count)]


def get_figure(ax: Axes) -> Figure:
    """Return the figure of axes."""
    return cast(Figure, ax.get_figure(root=True))


def list_names(ax: Axes | None, names: Sequence[str], margin: float = 1.4) -> Axes:
    """List names along the y axis, the first on top.

    New axes are as high as the names, plus a margin in inches.
    """
    ax = ax or new_axes(margin + ROW_HEIGHT * len(names), LIST_WIDTH)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    return ax


# Arguments


def check_fitted(model: Any) -> None:
    """Raise unless this is a fitted estimator in closed form."""
    if not hasattr(model, "model_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first.")


def get_result(given: Any, variable: str, make: Callable[..., Any], call: str, *rows: Any) -> Any:
    """Return the Dataset to draw: the given one, which has `variable`, or that of a model and rows.

    `call` is how a user writes `make`, such as "calibration(model, X, y)".
    """
    if hasattr(given, "predict_proba") and all(each is not None for each in rows):
        return make(given, *rows)
    has_rows = any(each is not None for each in rows)
    if has_rows or variable not in getattr(given, "data_vars", ()):
        types = [type(each).__name__ for each in (given, *rows) if each is not None]
        raise TypeError(
            f"expected the arguments of {call}, or its result, and all others by name; "
            f"got {', '.join(types)}."
        )
    return given


def check_most(most: Any) -> None:
    """Raise unless `most` is a whole number, 1 or more."""
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
        raise ValueError(f"most must be a whole number, 1 or more, got {most!r}.")


def find_classes(labels: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Return the places of the named classes among all labels."""
    if isinstance(classes, str):
        raise ValueError(f"classes must be a list of labels, got {classes!r}: write [{classes!r}].")
    if not len(classes) or any(label not in labels for label in classes):
        raise ValueError(f"classes must be some of {list(labels)}, got {list(classes)}.")
    return [labels.index(label) for label in classes]


def choose_pair(labels: list[Any], best: Array, classes: Sequence[Any] | None) -> list[int]:
    """Return the places of two classes: the named ones, or the two best."""
    if len(labels) < 2:
        raise ValueError(f"two classes are needed, and there is only {labels}.")
    if classes is None:
        return np.argsort(-best, kind="stable")[:2].tolist()
    pair = find_classes(labels, classes)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"classes must be two different ones of {labels}, got {list(classes)}.")
    return pair


# Parts of a figure


def short(name: Any, letters: int = MAX_LETTERS) -> str:
    """Shorten a name for a figure."""
    return shorten(name, letters)


def class_line(place: int, width: float = 1.8) -> dict[str, Any]:
    """Return the style of the line of a class."""
    return {"color": COLOURS[place], "dashes": DASHES[place], "linewidth": width}


def place_bar(k: int, bars: int) -> tuple[float, float]:
    """Return the offset of a bar from the middle of its group, and its width."""
    width = 0.84 / bars
    return (k - (bars - 1) / 2) * width, 0.9 * width


def format_tick(value: float, _place: float) -> str:
    """Format the number at a tick."""
    return number(value)


def clip_artists(ax: Axes, left: float, bottom: float) -> None:
    """Hide what is drawn left of or below a point of the data."""
    visible = Rectangle((left, bottom), 2, 2, transform=ax.transData)
    for artist in (*ax.lines, *ax.collections):
        artist.set_clip_path(visible)
        artist.set_in_layout(False)  # it would need room for what is hidden


def mark_shares(ax: Axes) -> None:
    """Mark 0, 50 and 100 % on both axes."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([0, 0.5, 1])
        axis.set_major_formatter(PERCENT)


@styled
def add_legend(
    ax: Axes, *, outside: bool, keys: Sequence[Any] | None = None, title: str | None = None
) -> None:
    """Add a legend: within the axes, or below those of a new figure, which is made taller."""
    look: Any = {
        "handles": ax.get_legend_handles_labels()[0] if keys is None else keys,
        "title": title,
        "alignment": "left",
    }
    if not outside:
        ax.legend(**look)
        return
    figure = get_figure(ax)
    for columns in (4, 3, 2, 1):  # as many as fit
        legend = figure.legend(
            loc="outside lower left",
            ncols=columns,
            **look,
        )
        box = legend.get_window_extent()
        if box.width < 0.95 * figure.bbox.width or columns == 1:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)


def add_probabilities(ax: Axes, label: str) -> None:
    """Add an axis of probabilities above one of log-odds, with evenly spaced ticks."""
    powers: Any = (lambda log_odds: log_odds / DECADE, lambda power: power * DECADE)
    above = ax.secondary_xaxis("top", functions=powers)
    above.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    above.xaxis.set_major_formatter(lambda power, _: _format_probability(power))
    above.tick_params(labelsize="small")
    above.set_xlabel(f"probability of {short(label)}")
    above.spines["top"].set_visible(True)


def _format_probability(power: float) -> str:
    """Format the probability whose odds are 10**power."""
    if power < -3:
        return power_of_ten(round(power))
    if power > 3:
        return f"1 {MINUS} {power_of_ten(-round(power))}"
    percent = 100 / (1 + 10**-power)
    return f"{percent:.1g} %" if percent < 1 else f"{percent:.3g} %"


@styled
def svg(ax: Axes, label: str, salt: str = "bayesnb", wide: float | None = None) -> str:
    """Return the figure as inline SVG, with `label` for screen readers.

    Each figure of a page needs a different salt, which goes into the ids. `wide` is the width in
    inches, if it differs from that of the figure.
    """
    figure = get_figure(ax)
    buffer = StringIO()
    if wide is not None:
        figure.set_figwidth(wide)
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": salt}):
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text
        figure.savefig(buffer, format="svg", transparent=True, metadata=METADATA)
    text = buffer.getvalue()
    drawing = STRIPPED.sub("", text[text.index(" viewBox=") :]).replace(INK, "currentColor")
    broad = ' class="broad"' if figure.get_figwidth() > BROAD else ""
    return (
        f'<svg{broad} role="img" aria-label="{escape(label)}" stroke-linejoin="round" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink"{drawing.strip()}'
    )
