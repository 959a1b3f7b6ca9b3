"""Style shared by all figures, and their conversion to SVG for a page.

A class has one colour (Okabe and Ito's, safe for the colour-blind) and one dash, here and on every page. Text and
axes are drawn in INK, which `svg` turns into `currentColor`: an inline figure then follows the page's theme.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from html import escape
from io import StringIO
from math import ceil
from numbers import Integral
from typing import Any, cast

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

INK = "#010203"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A800", INK)
DASHES = ((), (5, 2), (1, 1.5), (6, 2, 1, 2), (3, 1.5), (8, 3), (1, 3), (6, 2, 1, 2, 1, 2))
MOST_CLASSES = len(COLOURS)
BROAD = 6.0  # inches; a phone scrolls what is wider
WIDTH = 4.9  # inches; a page shows it at some 360 to 480 pixels
LINE = 0.2  # inches of a line of a legend
ROUND = [1, 2, 5, 10]  # steps of ticks
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

OFF_SCREEN: ContextVar[bool] = ContextVar("OFF_SCREEN", default=False)
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")


@contextmanager
def _style() -> Iterator[None]:
    """Apply STYLE for a while. Other settings are kept: with its first figure a notebook changes them."""
    before = {name: rcParams[name] for name in STYLE}
    rcParams.update(STYLE)
    try:
        yield
    finally:
        rcParams.update(before)


def styled[**P, Out](draw: Callable[P, Out]) -> Callable[P, Out]:
    """Decorate a function to run under STYLE."""

    @wraps(draw)
    def run(*args: P.args, **kwargs: P.kwargs) -> Out:
        with _style(), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Glyph .* missing"
            )  # the reader's fonts draw the text
            return draw(*args, **kwargs)

    return run


@styled
def new_axes(height: float = 2.3, width: float = WIDTH, layout: Any = "constrained") -> Axes:
    """Make axes in a new figure."""
    return new_figure(height, width, layout).subplots()


def new_panels(
    count: int, columns: int, size: tuple[float, float], margin: tuple[float, float] = (0, 0)
) -> list[Axes]:
    """Make axes of a size, height and width in inches, side by side in a new figure."""
    columns = min(count, columns)
    rows = ceil(count / columns)
    figure = new_figure(size[0] * rows + margin[0], size[1] * columns + margin[1])
    return [figure.add_subplot(rows, columns, k + 1) for k in range(count)]


def new_figure(height: float, width: float, layout: Any = "constrained") -> Figure:
    """Make a figure; pyplot shows it once, in a notebook or where pyplot is loaded."""
    if OFF_SCREEN.get() or not ("matplotlib.pyplot" in sys.modules or _in_notebook()):
        return Figure(figsize=(width, height), layout=layout)
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout=layout)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def off_screen() -> Iterator[None]:
    """Keep figures that are made meanwhile off the screen: they go onto a page."""
    before = OFF_SCREEN.set(True)
    try:
        yield
    finally:
        OFF_SCREEN.reset(before)


def check_fitted(model: Any) -> None:
    """Raise unless this is a fitted estimator in closed form."""
    if not hasattr(model, "model_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first.")


def result_of(given: Any, make: Callable[..., Any], call: str, *rows: Any) -> Any:
    """Return the result to draw: the one that is given, or that of a model and rows, which `make` computes.

    `call` is how a user writes it, such as "calibration(model, X, y)".
    """
    is_model, there = hasattr(given, "predict_proba"), [each is not None for each in rows]
    if is_model and not all(there):
        raise TypeError(
            f"a model is drawn together with its data: give all of {call[call.index('(') :]}."
        )
    if not is_model and any(there):
        raise TypeError(
            f"X and y go with a model, as in {call}; with a result, name what follows, such as row=...."
        )
    return make(given, *rows) if is_model else given


def check_dataset(dataset: Any, name: str, maker: str) -> None:
    """Raise unless this is the Dataset that a function of this name returned."""
    if name not in getattr(dataset, "data_vars", ()):
        names = ", ".join(map(str, list(getattr(dataset, "data_vars", ()))[:5]))
        held = f" with {names}" if names else ""
        raise TypeError(
            f"expected a model, or what bayesnb.{maker} returned, got {type(dataset).__name__}{held}."
        )


def check_most(most: Any) -> None:
    """Raise unless `most` is a whole number, 1 or more."""
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
        raise ValueError(f"most must be a whole number, 1 or more, got {most!r}.")


def class_places(labels: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Return the places of the named classes among all labels."""
    if isinstance(classes, str):
        raise ValueError(f"classes must be a list of labels, got {classes!r}: say [{classes!r}].")
    if not len(classes) or any(label not in labels for label in classes):
        raise ValueError(f"classes must be some of {list(labels)}, got {list(classes)}.")
    return [labels.index(label) for label in classes]


def add_title(ax: Axes, title: str) -> None:
    """Add a title at the left, above the axes."""
    ax.set_title(title, loc="left", fontsize="medium")


def make_taller(ax: Axes, inches: float) -> None:
    """Make room in the figure of some axes."""
    figure = cast(Figure, ax.get_figure(root=True))
    figure.set_figheight(figure.get_figheight() + inches)


def list_names(ax: Axes, names: Sequence[str], top: float = -0.6) -> None:
    """Turn the y axis into a list of names, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 0.4, top)


def width_in_points(ax: Axes) -> float:
    """Lay the figure out, and return how wide the axes are then."""
    figure = cast(Figure, ax.get_figure(root=True))
    layout = figure.get_layout_engine()
    if layout is None:
        figure.draw_without_rendering()
    else:
        layout.execute(figure)
    return ax.get_window_extent().width * 72 / figure.dpi


def add_legend(
    ax: Axes,
    keys: Sequence[Any],
    room: tuple[int, int],
    *,
    outside: bool,
    title: str | None = None,
    framed: bool = False,
) -> None:
    """Add a legend: below the axes of a new figure, which gets taller by it, or within the axes, with a frame or not.

    `room` is how many letters fit on a line, and how many a mark takes.
    """
    look: Any = {"handles": keys, "title": title, "fontsize": "small", "alignment": "left"}
    if not outside:
        ax.legend(edgecolor="none", framealpha=0.75, frameon=framed, **look)
        return
    figure = cast(Figure, ax.get_figure(root=True))
    columns = _abreast([len(key.get_label()) for key in keys], *room)
    figure.set_figheight(
        figure.get_figheight() + LINE * (ceil(len(keys) / columns) + (title is not None))
    )
    figure.legend(loc="outside lower left", ncols=columns, frameon=False, **look)


def _abreast(letters: list[int], room: int, mark: int) -> int:
    """Return how many columns a legend has room for, filled one after another as matplotlib does."""

    def width(columns: int) -> int:
        return sum(int(part.max()) + mark for part in np.array_split(letters, columns))

    return max((n for n in range(1, len(letters) + 1) if width(n) <= room), default=1)


@styled
def svg(ax: Axes, label: str, salt: str = "", wide: float | None = None) -> str:
    """Return the figure as inline SVG, with `label` for screen readers: no header, no style, no randomness.

    Each figure of a page needs a different salt: it goes into the ids. `wide` is its width in inches, if that is not
    the one it was drawn with. The figure is for the page alone: it is left without backgrounds.
    """
    text, figure = StringIO(), cast(Figure, ax.get_figure(root=True))
    if wide is not None:
        figure.set_size_inches(wide, figure.get_figheight())
    inner: list[Any] = [child for axes in figure.axes for child in axes.child_axes]
    for each in (figure, *figure.axes, *inner):
        each.patch.set(facecolor="none", edgecolor="none")
    before = figure.canvas
    with rc_context({"svg.hashsalt": salt or "bayesnb"}):
        FigureCanvasSVG(figure).print_svg(
            text, metadata={"Date": None}
        )  # `savefig` would draw it twice
    figure.set_canvas(before)
    shown = text.getvalue()
    shown = re.sub(
        r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>",
        "",
        shown[shown.index("<svg") :],
        flags=re.DOTALL,
    )
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', shown))
    shown = re.sub(r'\s+id="([^"]*)"', lambda match: match[0] if match[1] in used else "", shown)
    shown = re.sub(r'\sstyle="([^"]*)"', _attributes, shown)
    shown = re.sub(
        r'\bd="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), shown
    )  # hundredths of a point
    box = re.search(r'viewBox="[^"]*"', shown)
    broad = ' class="broad"' if figure.get_figwidth() > BROAD else ""
    head = (
        f'<svg {box[0] if box else ""}{broad} role="img" aria-label="{escape(label)}" stroke-linejoin="round" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return re.sub(r"\n\s*", "\n", head + shown[shown.index(">") + 1 :]).strip()


def _attributes(style: re.Match[str]) -> str:
    """Turn a style into attributes of SVG, as a page may forbid styles; fonts are those of the page."""
    pairs = dict(part.split(": ", 1) for part in style[1].strip("; ").split("; ") if part)
    kept = {
        name: "currentColor" if value == INK else value
        for name, value in pairs.items()
        if name != "font-family"
    }
    return "".join(f' {name}="{value}"' for name, value in kept.items())
