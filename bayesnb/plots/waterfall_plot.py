"""Explanation of one row: steps from the class frequencies, feature by feature, to the log-odds of two classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.model.linked import ARROW
from bayesnb.plots.log_odds_axis import add_probabilities, pair_of, percent, signed
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    ROUND,
    figure_of,
    list_names,
    new_axes,
    result_of,
    styled,
)

WIDE, ROW = 7.2, 0.27  # inches
NAME, CELL, BLOCK, CLASS, MOST_TITLE = 20, 12, 28, 16, 46  # letters
LINKED = 17  # letters of either column of a link


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
    result: Any,
    X: Any = None,
    *,
    row: Any = None,
    classes: Sequence[Any] | None = None,
    by: str | None = None,
    most: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw what speaks for one class and against another in one row, as steps of the log-odds.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model together with `X`, or the result of its `explain`.
    X : table of rows, optional
        The rows to explain, where `result` is a model.
    row : label, optional
        Which row is drawn, a label in `obs_id`; by default the first.
    classes : pair of labels, optional
        By default the most probable class of the row and the next.
    by : {"evidence", "predictive"}, optional
        "evidence" draws posterior means, with a line of one posterior standard deviation to both sides, and marks the
        prediction; "predictive" draws log predictive ratios, which add up to the prediction and have none. The default
        is "evidence" or, of a model with links, "predictive": where a class has no row with both cells of a link, the
        posterior mean of its log-ratio may be far below the log of the mean.
    most : int, default 12
        How many features have a bar. All others are one bar, whose line is an upper bound where they are words of one
        block.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the steps.

    See Also
    --------
    NaiveBayes.explain : The numbers that are drawn.
    plot_nomogram : The whole model as scales, from which the prediction of any row can be read.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_waterfall
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> ax = plot_waterfall(model, table.drop(columns="breed"), row=2)
    >>> ax.get_xlabel().startswith("log-odds against")
    True
    >>> ax.get_figure().savefig("why.png")  # doctest: +SKIP
    """
    explained = result_of(
        result, lambda model, rows: model.explain(rows), "plot_waterfall(model, X, row=...)", X
    )
    steps = steps_of(_one_row(explained, row), classes, by, most)
    ax = ax or new_axes(height(steps), WIDE)
    ax.use_sticky_edges = False
    ax.margins(x=0.03)
    _bars(ax, steps)
    list_names(ax, steps.labels)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    ax.set_title(_titled(steps, figure_of(ax).get_figwidth()), loc="left")
    lines = "" if steps.sds is None else "\nlines: \u00b1 1 sd   \u25c6 prediction"
    ax.set_xlabel(f"log-odds against {shorten(steps.named[1], CLASS)}{lines}")
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
            f"plot_waterfall draws a model and rows, or the result of `explain`, got {type(explained).__name__}: "
            "plot_waterfall(model, X, row=...)."
        )
    if "obs_id" not in explained.dims:
        return explained
    if row is None:
        return explained.isel(obs_id=0)
    place = (
        row if row in explained.indexes["obs_id"] else str(row)
    )  # tuples, periods, times of a zone are text there
    if place not in explained.indexes["obs_id"]:
        raise ValueError(
            f"row {row!r} is not among the {explained.sizes['obs_id']} rows that were explained."
        )
    one = explained.sel(obs_id=place)
    if "obs_id" in one.dims:
        raise ValueError(
            f"{one.sizes['obs_id']} rows are called {row!r}: choose one, explained.isel(obs_id=[...])."
        )
    return one


def steps_of(
    one: Any, classes: Sequence[Any] | None = None, by: str | None = None, most: int = 12
) -> Steps:
    """Return the steps of one row of an explanation: the largest features first, the rest as one."""
    by = by or ("predictive" if has_links(one) else "evidence")
    if by not in ("evidence", "predictive"):
        raise ValueError(f"by must be 'evidence' or 'predictive', got {by!r}.")
    labels = one["class"].values.tolist()
    log_joint = one["predictive_class_term"].values + one["predictive"].values.sum(axis=-1)
    a, b = pair = pair_of(labels, log_joint, classes)
    of_pair = {
        name: one[name].values[list(pair)] for name in one.data_vars if "class" in one[name].dims
    }
    first, parts = (
        ("class_term", "evidence") if by == "evidence" else ("predictive_class_term", "predictive")
    )
    with np.errstate(invalid="ignore"):
        start, sizes = np.subtract(*of_pair[first]), np.subtract(*of_pair[parts])
    start_sd, sds, total_sd = (
        np.sqrt((of_pair[name] ** 2).sum(axis=0)) for name in ("class_term_sd", "sd", "score_sd")
    )
    _refuse_infinite(one, start, sizes, [labels[c] for c in pair])
    names, sizes, sds = _pooled(_names(one), sizes, sds, most)
    sizes = np.append(start, sizes)
    return Steps(
        _title(one, pair, log_joint),
        (str(labels[a]), str(labels[b])),
        (COLOURS[a % MOST_CLASSES], COLOURS[b % MOST_CLASSES]),
        ["class frequency", *names, "total"],
        sizes,
        np.append(start_sd, sds) if by == "evidence" else None,
        float(sizes.sum()),
        float(total_sd),
        float(log_joint[a] - log_joint[b]),
    )


def has_links(explained: Any) -> bool:
    """Whether some features of an explanation are links between columns."""
    return "cell" in explained and "links" in explained["cell"].attrs


def _title(one: Any, pair: tuple[int, int], log_joint: Array) -> str:
    """Title with the row and the probabilities of both classes, on one line or several."""
    share = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    labels = one["class"].values.tolist()
    shares = [f"{shorten(str(labels[c]), CLASS)}: {percent(float(share[c]))}" for c in pair]
    parts = [part for part in (_called(one), *shares) if part]
    return (" \u00b7 " if sum(map(len, parts)) < MOST_TITLE else "\n").join(parts)


def _called(one: Any) -> str:
    return f"Row {one['obs_id'].item()!s:.24}" if "obs_id" in one.coords else ""


def _names(one: Any) -> list[str]:
    """Label features with their cells, which of a block name its columns; links with their columns alone."""
    names = one["feature"].values.tolist()
    if "cell" not in one:
        return [shorten(str(name), NAME) for name in names]
    blocks, links = (np.atleast_1d(one["cell"].attrs.get(kind, [])) for kind in ("blocks", "links"))

    def label(name: str, cell: str) -> str:
        if name in links:
            return ARROW.join(shorten(end, LINKED) for end in name.split(ARROW))
        return (
            shorten(cell, BLOCK)
            if name in blocks
            else f"{shorten(str(name), NAME)} = {shorten(cell, CELL)}"
        )

    return [
        label(str(name), cell)
        for name, cell in zip(names, one["cell"].values.tolist(), strict=True)
    ]


def _refuse_infinite(one: Any, start: float, sizes: Array, pair: list[Any]) -> None:
    infinite = ~np.isfinite(sizes)
    if np.isfinite(start) and not infinite.any():
        return
    column = one["feature"].values[int(infinite.argmax())].item()
    what = f"column {column!r}" if np.isfinite(start) else "its frequency"
    raise ValueError(
        f"{_called(one) or 'the row'}: {what} makes one of the classes {pair} impossible, so there are no "
        "log-odds to draw. A smoothing of 0 does that; use a larger one, or draw two other classes."
    )


def _pooled(
    names: list[str], sizes: Array, sds: Array, most: int
) -> tuple[list[str], Array, Array]:
    """Keep the largest steps, and sum the rest; of very many, steps of size 0 are not counted."""
    order = np.argsort(-np.abs(sizes), kind="stable")
    if len(order) > most:
        order = order[(sizes[order] != 0) | (sds[order] != 0)]
    kept, rest = (order, order[:0]) if len(order) <= most else (order[:most], order[most:])
    shown, sizes_shown, sds_shown = [names[j] for j in kept], sizes[kept], sds[kept]
    if len(rest):
        shown.append(f"{len(rest):,} others")
        sizes_shown = np.append(sizes_shown, sizes[rest].sum())
        sds_shown = np.append(sds_shown, np.sqrt((sds[rest] ** 2).sum()))
    return shown, sizes_shown, sds_shown


def _bars(ax: Axes, steps: Steps) -> None:
    """Draw a bar for each step, from the end of the last one, and for the total, with numbers to the right."""
    ends, total = np.cumsum(steps.sizes), len(steps.sizes)
    y = np.arange(total)
    ax.axvline(0, color=INK, linewidth=0.7)
    colours = np.where(steps.sizes >= 0, *steps.colours).tolist()
    ax.barh(y, steps.sizes, 0.62, ends - steps.sizes, color=colours, alpha=0.85, linewidth=0)
    ax.vlines(ends, y, y + 1, color=INK, linewidth=0.6, alpha=0.5)
    ax.axhline(total - 0.5, color=INK, linewidth=0.7)
    ax.barh(
        [total], [steps.total], 0.8, color=steps.colours[steps.total < 0], alpha=0.85, linewidth=0
    )
    numbers = [signed(size) for size in (*steps.sizes, steps.total)]
    if steps.sds is not None:
        ends, sds = np.append(ends, steps.total), np.append(steps.sds, steps.total_sd)
        ax.hlines(range(total + 1), ends - sds, ends + sds, color=INK, linewidth=1.2)
        ax.plot([steps.predicted], [total], marker="D", markersize=6, color=INK, linestyle="")
        numbers = [
            f"{number} \u00b1 {signed(sd)[1:]}" for number, sd in zip(numbers, sds, strict=True)
        ]
    for at, number in enumerate(numbers):
        ax.text(1.02, at, number, transform=ax.get_yaxis_transform(), va="center", fontsize="small")
