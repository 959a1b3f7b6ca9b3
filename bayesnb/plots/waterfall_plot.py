"""Explanation of one row: steps from the class frequencies, feature by feature, to the log-odds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.families.base import Array
from bayesnb.formatting import percent, shorten, signed
from bayesnb.model.linked import ARROW
from bayesnb.plots.log_odds_axis import add_probabilities, pair_of
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    check_most,
    list_names,
    new_axes,
    result_of,
    styled,
)

WIDE, ROW = 7.2, 0.27  # inches
NAME, CELL, BLOCK, CLASS = 20, 12, 28, 16  # letters
LINKED = 17  # letters of either column of a link


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
        "evidence" draws posterior means, with a line of one posterior standard deviation to both
        sides, and marks the prediction; "predictive" draws log predictive ratios, which add up to
        the prediction and have none. The default is "evidence" or, of a model with links,
        "predictive": where a class has no row with both cells of a link, the posterior mean of its
        log-ratio may be far below the log of the mean.
    most : int, default 12
        How many features have a bar. All others are one bar, whose line is an upper bound where
        they are words of one block.
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
    check_most(most)
    explained = result_of(
        result, lambda model, rows: model.explain(rows), "plot_waterfall(model, X, row=...)", X
    )
    one = _choose_row(explained, row)
    by = by or ("predictive" if has_links(one) else "evidence")
    if by not in ("evidence", "predictive"):
        raise ValueError(f"by must be 'evidence' or 'predictive', got {by!r}.")
    labels = one["class"].values.tolist()
    log_joint = one["predictive_class_term"].values + one["predictive"].values.sum(axis=-1)
    pair = pair_of(labels, log_joint, classes)
    first, second = (shorten(labels[c], CLASS) for c in pair)
    names, sizes, sds = _steps(one, list(pair), by, most)
    ax = ax or new_axes(1.9 + ROW * len(names), WIDE)
    _draw(ax, sizes, [COLOURS[c % MOST_CLASSES] for c in pair])
    numbers = [signed(size, _decimals(size)) for size in sizes]
    xlabel = f"log-odds against {second}"
    if by == "evidence":
        ends = np.cumsum(sizes)
        ends[-1] = sizes[-1]
        y = np.arange(len(sizes))
        ax.hlines(y, ends - sds, ends + sds, color=INK, linewidth=1.2)
        predicted = log_joint[pair[0]] - log_joint[pair[1]]
        ax.plot([predicted], [y[-1]], marker="D", markersize=6, color=INK, linestyle="")
        xlabel += "\nlines: \u00b1 1 sd   \u25c6 prediction"
        for at, sd in enumerate(sds):
            numbers[at] += f" \u00b1 {sd:,.{_decimals(sd)}f}"
    for at, number in enumerate(numbers):
        ax.text(1.02, at, number, transform=ax.get_yaxis_transform(), va="center", size="small")
    list_names(ax, names)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    share = np.exp(log_joint - np.logaddexp.reduce(log_joint))[list(pair)]
    share = np.clip(share, 1e-300, 1 - 1e-15)  # what is rounded to 0 or 1 is not certain
    title = [f"{first}: {percent(share[0])}", f"{second}: {percent(share[1])}"]
    if "obs_id" in one.coords:
        title.insert(0, _name_row(one))
    ax.set_title("\n".join(title))
    ax.set_xlabel(xlabel)
    add_probabilities(ax, labels[pair[0]])
    return ax


def _choose_row(explained: Any, row: Any) -> Any:
    if not {"class_term", "evidence"} <= set(getattr(explained, "data_vars", ())):
        raise TypeError(
            "plot_waterfall draws a model and rows, or the result of `explain`, got "
            f"{type(explained).__name__}: plot_waterfall(model, X, row=...)."
        )
    if "obs_id" not in explained.dims:
        return explained
    if row is None:
        return explained.isel(obs_id=0)
    ids = explained.indexes["obs_id"]
    place = row if row in ids else str(row)  # tuples, periods, times of a zone are text there
    if place not in ids:
        raise ValueError(f"row {row!r} is not among the {len(ids)} rows that were explained.")
    one = explained.sel(obs_id=place)
    if "obs_id" in one.dims:
        raise ValueError(
            f"{one.sizes['obs_id']} rows are called {row!r}: choose one, "
            "explained.isel(obs_id=[...])."
        )
    return one


def has_links(explained: Any) -> bool:
    """Whether some features of an explanation are links between columns."""
    return "cell" in explained and "links" in explained["cell"].attrs


def _name_row(one: Any) -> str:
    return f"Row {shorten(one['obs_id'].item(), 24)}" if "obs_id" in one.coords else "The row"


def _steps(one: Any, pair: list[int], by: str, most: int) -> tuple[list[str], Array, Array]:
    """Return names, sizes and standard deviations of the steps, and of their total.

    The class term is first, then the largest features, then the rest as one.
    """
    first = "class_term" if by == "evidence" else "predictive_class_term"
    of_pair = one.isel({"class": pair})
    with np.errstate(invalid="ignore"):
        start = float(np.subtract(*of_pair[first].values))
        sizes = np.subtract(*of_pair[by].values)
    _refuse_infinite(one, start, sizes, of_pair["class"].values.tolist())
    start_sd, sds, total_sd = (
        np.hypot(*of_pair[name].values) for name in ("class_term_sd", "sd", "score_sd")
    )
    order = np.argsort(-np.abs(sizes), kind="stable")
    if len(order) > most:
        order = order[sizes[order] != 0]  # of words, hardly any is in a text
    shown, rest = order[:most], order[most:]
    all_names = _names(one)
    names = [all_names[j] for j in shown]
    steps, step_sds = [start, *sizes[shown]], [start_sd, *sds[shown]]
    if len(rest):
        names.append(f"{len(rest):,} others")
        steps.append(sizes[rest].sum())
        step_sds.append(np.sqrt((sds[rest] ** 2).sum()))
    return (
        ["class frequency", *names, "total"],
        np.array([*steps, sum(steps)]),
        np.array([*step_sds, total_sd]),
    )


def _names(one: Any) -> list[str]:
    """Label features with their cells; a block with the cells alone, a link with its columns."""
    features = [str(name) for name in one["feature"].values.tolist()]
    if "cell" not in one:
        return [shorten(name, NAME) for name in features]
    blocks, links = (np.atleast_1d(one["cell"].attrs.get(kind, [])) for kind in ("blocks", "links"))
    names = []
    for name, cell in zip(features, one["cell"].values.tolist(), strict=True):
        if name in links:
            names.append(ARROW.join(shorten(end, LINKED) for end in name.split(ARROW)))
        elif name in blocks:
            names.append(shorten(cell, BLOCK))
        else:
            names.append(f"{shorten(name, NAME)} = {shorten(cell, CELL)}")
    return names


def _refuse_infinite(one: Any, start: float, sizes: Array, pair: list[Any]) -> None:
    if np.isfinite(start) and np.isfinite(sizes).all():
        return
    column = one["feature"].values[np.isfinite(sizes).argmin()].item()
    what = f"column {column!r}" if np.isfinite(start) else "its frequency"
    raise ValueError(
        f"{_name_row(one)}: {what} makes one of the classes {pair} impossible, so there are no "
        "log-odds to draw. A smoothing of 0 does that; use a larger one, or draw two other classes."
    )


def _draw(ax: Axes, sizes: Array, colours: Sequence[str]) -> None:
    """Draw a bar for each step, from the end of the last one, and one for the total."""
    *steps, total = sizes.tolist()
    ends, y = np.cumsum(steps), np.arange(len(steps))
    look: Any = {"alpha": 0.85, "linewidth": 0}
    of_steps = [colours[step < 0] for step in steps]
    ax.barh(y, steps, 0.62, ends - steps, color=of_steps, **look)
    ax.barh([len(steps)], [total], 0.8, color=colours[total < 0], **look)
    ax.vlines(ends, y, y + 1, color=INK, linewidth=0.6, alpha=0.5)
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.axhline(len(steps) - 0.5, color=INK, linewidth=0.7)
    ax.use_sticky_edges = False
    ax.margins(x=0.03)


def _decimals(x: float) -> int:
    """Return how many decimals a number has, three digits in all."""
    return 2 if abs(x) < 9.995 else 1 if abs(x) < 99.95 else 0
