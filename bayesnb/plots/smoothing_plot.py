"""Log score, evidence and calibration against the smoothing, on a log axis with a place for 0."""

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from bayesnb.families.base import Array
from bayesnb.plots.style import COLOURS, DASHES, INK, new_figure, styled

ORDER = ("predictive", "mean", "map", "mle")  # of estimates: each has a colour, a dash and a marker
MARKERS = ("o", "s", "^", "D")
TITLES = (
    "Leave-one-out log score, less the best\n(bars: 2 standard errors of that)",
    "Log evidence, less the largest\n",
    "Expected calibration error\n",
)
APART = (
    0.025  # how far, of the whole axis, markers of different estimates are drawn from each other
)
ROOM = 0.115  # of the whole axis, for a tick's label
FEW, SHORT = 10, 5  # settings with a tick of their own, and letters of one
LINE, MOST = 1.7, 0.6  # of a legend: a line, in letters; of an axis, at most
LINEAR = 30.0  # nats, beyond which an axis of differences is logarithmic
END = "\N{MINUS SIGN}\N{INFINITY}"


class Curves(NamedTuple):
    """A number for each setting, `(n,)`."""

    smoothing: Array
    estimate: Array
    log_evidence: Array
    elpd_diff: Array
    diff_se: Array
    ece: Array
    best: Array  # true for the best setting


@styled
def plot_smoothing(curves: Curves, axes: Any = None, named: str = "smoothing") -> Array:
    """Draw three panels in a row, a line for each estimate, a ring around the best setting by log score.

    Arrows at the bottom are scores of minus infinity. Large differences are on a log axis.
    """
    makes_figure = axes is None
    if not makes_figure and (
        np.shape(axes) != (3,) or not all(isinstance(ax, Axes) for ax in axes)
    ):
        raise ValueError(
            f"axes must be None or three matplotlib axes, as of plt.subplots(1, 3)[1], got {axes!r}."
        )
    axes = new_figure(3.9, 10.6).subplots(1, 3) if makes_figure else np.asarray(axes)
    places, ticks = _places(curves.smoothing)
    known = curves.log_evidence[np.isfinite(curves.log_evidence)]
    evidence = curves.log_evidence - (known.max() if known.size else 0.0)
    errors = 2 * np.nan_to_num(curves.diff_se)
    for ax, title, values in zip(
        axes, TITLES, (curves.elpd_diff, evidence, curves.ece), strict=True
    ):
        _lines(
            ax,
            places,
            values,
            errors if values is curves.elpd_diff else np.zeros(len(places)),
            curves,
        )
        ax.set_title(title, fontsize="medium", loc="left")
        ax.set_xlabel(named)
        _dress(ax, ticks, 0 in curves.smoothing)
        if not np.isfinite(values).any():
            ax.set_yticks([])
            ax.text(0.5, 0.5, "not defined", transform=ax.transAxes, ha="center", va="center")
    _scale_differences(axes[0], curves.elpd_diff - errors)
    _scale_differences(axes[1], evidence)
    axes[2].set_ylim(0, 1.1 * np.nanmax(curves.ece, initial=1e-3))
    marks, names = axes[0].get_legend_handles_labels()
    if makes_figure:
        axes[0].get_figure().legend(
            marks, names, loc="outside lower center", ncols=len(names), frameon=False
        )
    else:
        _legend_above(axes[0], marks, names)
    return axes


def _legend_above(ax: Axes, marks: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend within an axis, with room above the lines."""
    scale, size = (
        ax.yaxis.get_transform(),
        font_manager.font_scalings["small"] * rcParams["font.size"],
    )
    low, high = scale.transform(np.array(ax.get_ylim()))
    tall = ax.get_window_extent().height * 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    share = min(LINE * size * ceil(len(names) / 2) / tall, MOST)
    ticks = [tick for tick in ax.get_yticks() if ax.get_ylim()[0] <= tick <= 0]
    ax.set_ylim(
        *scale.inverted().transform(np.array([low, low + (high - low) / (1 - share)])).tolist()
    )
    ax.set_yticks(ticks)
    ax.legend(
        marks, names, ncols=2, loc="upper left", fontsize="small", frameon=False, columnspacing=1
    )


def _places(smoothing: Array) -> tuple[Array, list[tuple[float, str]]]:
    """Place settings on an axis from 0 to 1, with ticks; a smoothing of 0 is at the left end, where no log is."""
    positive = smoothing > 0
    logs = np.log10(np.where(positive, smoothing, 1.0))
    low, high = (logs[positive].min(), logs[positive].max()) if positive.any() else (0.0, 0.0)
    left = 0.18 if positive.any() and not positive.all() else 0.0
    share = (logs - low) / (high - low) if high > low else np.full(len(logs), 0.5)
    places = np.where(positive, left + (1 - left) * share, 0.0 if positive.any() else 0.5)
    marks = list(zip(places.tolist(), smoothing.tolist(), strict=True))
    decades = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    crowded = len(set(smoothing)) > FEW or any(len(f"{value:.3g}") > SHORT for value in smoothing)
    if crowded and len(decades) > 1:
        marks = [
            (left + (1 - left) * (decade - low) / (high - low), 10.0**decade) for decade in decades
        ]
        marks += [(0.0, 0.0)] * (not positive.all())
    kept: list[tuple[float, str]] = []
    for place, value in sorted(marks, key=lambda mark: _rank(mark[1])):
        if all(abs(place - taken) >= ROOM for taken, _ in kept):
            kept.append((place, f"{value:.3g}"))
    return places, kept


def _rank(value: float) -> tuple[int, float]:
    """Rank labels: 0 and 1 first, then powers of ten, then numbers of one digit."""
    if value in (0, 1):
        return 0, value
    digits = f"{value:e}".split("e")[0].strip("0").strip(".")
    return {"1": 1, "2": 2, "5": 2}.get(digits, 2 + len(digits)), value


def _lines(ax: Axes, places: Array, values: Array, errors: Array, curves: Curves) -> None:
    """Draw a line for each estimate, and a ring around the best setting; minus infinity is an arrow at the bottom."""
    ax.margins(y=0.08)
    shown = [name for name in ORDER if name in curves.estimate]
    for n, name in enumerate(shown):
        order = np.flatnonzero((curves.estimate == name) & ~np.isnan(values))
        order = order[np.argsort(places[order])]
        shift = (n - (len(shown) - 1) / 2) * APART
        fine = order[np.isfinite(values[order])]
        low = np.setdiff1d(order, fine)
        style = ORDER.index(name)
        line: Any = {"color": COLOURS[style], "dashes": DASHES[style], "linewidth": 1.4}
        ax.plot([], [], marker=MARKERS[style], markersize=5, label=name, **line)
        if len(fine):
            x, y = places[fine] + shift, values[fine]
            ax.plot(x, y, **line)
            ax.errorbar(x, y, errors[fine], fmt=MARKERS[style], color=COLOURS[style], markersize=5)
        if len(low):
            below = ax.get_xaxis_transform()
            ax.plot(
                places[low] + shift,
                [0.03] * len(low),
                "v",
                color=COLOURS[style],
                transform=below,
                clip_on=False,
            )
        ring: Any = {
            "markersize": 13,
            "markerfacecolor": "none",
            "color": INK,
            "zorder": 4,
            "clip_on": False,
        }
        for at in fine[curves.best[fine]]:
            ax.plot(places[at] + shift, values[at], "o", **ring)
    ax.plot([], [], "o", markersize=11, markerfacecolor="none", color=INK, label="best log score")
    if np.isneginf(curves.elpd_diff).any():
        ax.plot([], [], "v", color=INK, label=END)


def _dress(ax: Axes, ticks: Sequence[tuple[float, str]], with_zero: bool) -> None:
    ax.set_xticks([place for place, _ in ticks], [text for _, text in ticks], fontsize="small")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(-0.06, 1.06)
    ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.tick_params(axis="y", labelsize="small")
    ax.grid(axis="y", color=INK, alpha=0.12, linewidth=0.7)
    if with_zero and len(ticks) > 1:  # the axis is broken between 0 and the rest
        for x in (0.075, 0.095):
            line = ax.plot([x, x + 0.014], [-0.022, 0.022], color=INK, clip_on=False, linewidth=0.9)
            line[0].set_transform(ax.get_xaxis_transform())


def _scale_differences(ax: Axes, lowest: Array) -> None:
    """Scale an axis of differences below 0: logarithmic, where a few are far below the rest."""
    span = -lowest[np.isfinite(lowest)].min(initial=0.0)
    if span > LINEAR:
        near = max(1.0, 10.0 ** (np.ceil(np.log10(span)) - 3))
        ax.set_yscale("symlog", linthresh=near, linscale=0.6)
        powers = near * 10.0 ** np.arange(np.floor(np.log10(span / near)) + 1)
        ax.yaxis.set_major_locator(FixedLocator([*-powers[::-1], 0.0]))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:,.0f}".replace("-", "\N{MINUS SIGN}"))
        )
