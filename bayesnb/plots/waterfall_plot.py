"""Explanation of one row: steps from the class frequencies, feature by feature, to the log-odds of two classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.plots.log_odds_axis import add_probabilities, pair_of, percent, signed
from bayesnb.plots.style import COLOURS, INK, MOST_CLASSES, new_axes, short, styled

Array = np.ndarray

WIDE, ROW = 7.2, 0.27  # inches
NAME, CELL, BLOCK, CLASS, MOST_TITLE = 20, 12, 28, 16, 46  # letters


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps to the log-odds of one class against another: the class term, then features."""

    title: str
    named: tuple[str, str]
    colours: tuple[str, str]
    labels: list[str]
    sizes: Array  # `(n,)`
    sds: Array | None
    total: float
    total_sd: float
    predicted: float  # log-odds by the predictive


@styled
def plot_waterfall(
    explained: Any,
    row: Any = None,
    classes: Sequence[Any] | None = None,
    *,
    by: str = "evidence",
    most: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw what speaks for one class and against another in one row, as steps of the log-odds.

    Parameters
    ----------
    explained : xarray.Dataset
        What `model.explain(X)` returned.
    row : label in `obs_id`, default the first row
    classes : two labels, default the most probable class of the row and the next
    by : {"evidence", "predictive"}
        "evidence" draws posterior means, with a line of one posterior standard deviation to both sides, and marks the
        prediction; "predictive" draws log predictive ratios, which add up to the prediction and have none.
    most : number of features with separate bars
        All others are one bar, whose line is an upper bound where they are words of one block.
    ax : matplotlib.axes.Axes, default new ones in a figure of their own

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_waterfall
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> ax = plot_waterfall(model.explain(table.drop(columns="breed")), row=2)
    >>> ax.get_figure().savefig("why.png")  # doctest: +SKIP
    """
    steps = steps_of(_one_row(explained, row), classes, by, most)
    ax = ax or new_axes(height(steps), WIDE)
    ax.use_sticky_edges = False
    ax.margins(x=0.03)
    _bars(ax, steps)
    _total(ax, steps, by == "evidence")
    ax.set_ylim(len(steps.sizes) + 0.6, -0.6)
    ax.set_yticks(range(len(steps.labels)), steps.labels)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.set_title(_titled(steps, ax.get_figure(root=True).get_figwidth()), loc="left", fontsize="medium")  # type: ignore[union-attr]
    lines = "\nlines: \u00b1 1 sd   \u25c6 prediction" if by == "evidence" else ""
    ax.set_xlabel(f"log-odds against {short(steps.named[1], CLASS)}{lines}")
    add_probabilities(ax, steps.named[0])
    return ax


def height(steps: Steps, width: float = WIDE) -> float:
    """Height in inches of a figure with these steps."""
    return 1.5 + ROW * (len(steps.sizes) + 1) + 0.18 * _titled(steps, width).count("\n")


def _titled(steps: Steps, width: float) -> str:
    """Return the title, split into lines where the figure is narrow."""
    return steps.title if width >= WIDE else steps.title.replace(" \u00b7 ", "\n")


def _one_row(explained: Any, row: Any) -> Any:
    if not {"class_term", "evidence"} <= set(getattr(explained, "data_vars", ())):
        raise TypeError(
            "plot_waterfall draws what explain returned, got "
            f"{type(explained).__name__}: plot_waterfall(model.explain(X), row=...)."
        )
    if "obs_id" not in explained.dims:
        return explained
    if row is None:
        return explained.isel(obs_id=0)
    place = row if row in explained.indexes["obs_id"] else str(row)  # tuples, periods, times of a zone are text there
    if place not in explained.indexes["obs_id"]:
        raise ValueError(f"row {row!r} is not among the {explained.sizes['obs_id']} rows that were explained.")
    one = explained.sel(obs_id=place)
    if "obs_id" in one.dims:
        raise ValueError(f"{one.sizes['obs_id']} rows are called {row!r}: choose one, explained.isel(obs_id=[...]).")
    return one


def steps_of(one: Any, classes: Sequence[Any] | None = None, by: str = "evidence", most: int = 12) -> Steps:
    """Return the steps of one row of an explanation: the largest features first, the rest as one."""
    if by not in ("evidence", "predictive"):
        raise ValueError(f"by must be 'evidence' or 'predictive', got {by!r}.")
    labels, log_joint = one["class"].values.tolist(), _log_joint(one)
    a, b = pair = pair_of(labels, log_joint, classes)
    first, parts = ("class_term", "evidence") if by == "evidence" else ("predictive_class_term", "predictive")
    with np.errstate(invalid="ignore"):
        start, sizes = (np.subtract(*one[name].values[list(pair)]) for name in (first, parts))
    spread = [np.sqrt((one[name].values[list(pair)] ** 2).sum(axis=0)) for name in ("class_term_sd", "sd")]
    _refuse_infinite(one, start, sizes, [labels[c] for c in pair])
    names, sizes, sds = _pooled(_names(one), sizes, spread[1], most)
    sizes = np.append(start, sizes)
    return Steps(
        _title(one, pair, log_joint),
        (str(labels[a]), str(labels[b])),
        (COLOURS[a % MOST_CLASSES], COLOURS[b % MOST_CLASSES]),
        ["class frequency", *names, "total"],
        sizes,
        np.append(spread[0], sds) if by == "evidence" else None,
        float(sizes.sum()),
        float(np.sqrt((one["score_sd"].values[list(pair)] ** 2).sum())),
        float(log_joint[a] - log_joint[b]),
    )


def _log_joint(one: Any) -> Array:
    return one["predictive_class_term"].values + one["predictive"].values.sum(axis=-1)


def _title(one: Any, pair: tuple[int, int], log_joint: Array) -> str:
    """Title with the row and the probabilities of both classes, on one line or several."""
    share = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    labels = one["class"].values.tolist()
    shares = [f"{short(str(labels[c]), CLASS)}: {percent(float(share[c]))}" for c in pair]
    parts = [part for part in (_called(one), *shares) if part]
    return (" \u00b7 " if sum(map(len, parts)) < MOST_TITLE else "\n").join(parts)


def _called(one: Any) -> str:
    return f"Row {one['obs_id'].item()!s:.24}" if "obs_id" in one.coords else ""


def _names(one: Any) -> list[str]:
    """Label features with their cells; the cells of a block name their columns."""
    names = one["feature"].values.tolist()
    if "cell" not in one:
        return [short(str(name), NAME) for name in names]
    pairs, blocks = (
        zip(names, one["cell"].values.tolist(), strict=True),
        np.atleast_1d(one["cell"].attrs.get("blocks", [])),
    )
    return [
        short(cell, BLOCK) if name in blocks else f"{short(str(name), NAME)} = {short(cell, CELL)}"
        for name, cell in pairs
    ]


def _refuse_infinite(one: Any, start: float, sizes: Array, pair: list[Any]) -> None:
    infinite = ~np.isfinite([start, *sizes])
    if infinite.any():
        what = (
            "its frequency" if infinite[0] else f"column {one['feature'].values[int(infinite[1:].argmax())].item()!r}"
        )
        raise ValueError(
            f"{_called(one) or 'the row'}: {what} makes one of the classes {pair} impossible, so there are no "
            "log-odds to draw. A smoothing of 0 does that; use a larger one, or draw two other classes."
        )


def _pooled(names: list[str], sizes: Array, sds: Array, most: int) -> tuple[list[str], Array, Array]:
    """Keep the largest steps, and sum the rest; of very many, steps of size 0 are not counted."""
    order = np.argsort(-np.abs(sizes), kind="stable")
    if len(order) <= most:
        return [names[j] for j in order], sizes[order], sds[order]
    order = order[(sizes[order] != 0) | (sds[order] != 0)]
    kept, rest = (order, order[:0]) if len(order) <= most else (order[:most], order[most:])
    shown = [names[j] for j in kept]
    if len(rest):
        shown.append(f"{len(rest):,} others")
        return shown, np.append(sizes[kept], sizes[rest].sum()), np.append(sds[kept], np.sqrt((sds[rest] ** 2).sum()))
    return shown, sizes[kept], sds[kept]


def _bars(ax: Axes, steps: Steps) -> None:
    """Draw a bar for each step, from the end of the last one, with its number in a column to the right."""
    ends = np.cumsum(steps.sizes)
    y, starts = np.arange(len(ends)), ends - steps.sizes
    colours = np.where(steps.sizes >= 0, *steps.colours)
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.barh(y, steps.sizes, 0.62, starts, color=colours.tolist(), alpha=0.85, linewidth=0)
    ax.vlines(ends, y, y + 1, color=INK, linewidth=0.6, alpha=0.5)
    if steps.sds is not None:
        ax.hlines(y, ends - steps.sds, ends + steps.sds, color=INK, linewidth=1.2)
    for j, size in enumerate(steps.sizes):
        _number(ax, j, size, None if steps.sds is None else steps.sds[j])


def _total(ax: Axes, steps: Steps, means: bool) -> None:
    y, colour = len(steps.sizes), steps.colours[0 if steps.total >= 0 else 1]
    ax.axhline(y - 0.5, color=INK, linewidth=0.7)
    ax.barh([y], [steps.total], 0.8, color=colour, alpha=0.85, linewidth=0)
    if means:
        ax.hlines([y], steps.total - steps.total_sd, steps.total + steps.total_sd, color=INK, linewidth=1.2)
        ax.plot([steps.predicted], [y], marker="D", markersize=6, color=INK, linestyle="")
    _number(ax, y, steps.total, steps.total_sd if means else None)


def _number(ax: Axes, y: float, size: float, sd: float | None) -> None:
    number = signed(size) if sd is None else f"{signed(size)} \u00b1 {signed(sd)[1:]}"
    ax.text(1.02, y, number, transform=ax.get_yaxis_transform(), va="center", fontsize="small")
