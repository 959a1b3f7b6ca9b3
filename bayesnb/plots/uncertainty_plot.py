"""Uncertainty of rows' labels in its two parts: classes overlap, or too few rows were seen."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.families.base import Array
from bayesnb.plots.style import (
    COLOURS,
    INK,
    add_title,
    check_dataset,
    check_most,
    new_axes,
    result_of,
    styled,
)

HIGH, WIDE = 3.3, 6.4  # inches
CERTAIN = 0.01  # of the largest entropy: rows below are not drawn


@styled
def plot_uncertainty(result: Any, X: Any = None, *, most: int = 60, ax: Axes | None = None) -> Axes:
    """Draw the uncertainty about each row's label, the most uncertain row first, in its two parts.

    The part that more training rows would not take away, as classes overlap (aleatoric), is blue; on top of it, in
    orange, is the part that is left because too few rows were seen (epistemic). Both together are the entropy of the
    predicted label.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model together with `X`, or the result of its `uncertainty`.
    X : table of rows, optional
        The rows to predict, where `result` is a model.
    most : int, default 60
        How many bars are drawn at most. Where there are more rows, a bar is the mean of several neighbours, and as
        wide as they are many.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Rows with next to no uncertainty are left out, and the axis says how many are drawn.

    See Also
    --------
    NaiveBayes.uncertainty : The numbers that are drawn.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_uncertainty
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> ax = plot_uncertainty(model, table.drop(columns="breed"))
    >>> ax.get_xlabel()
    'all 6 rows, the most uncertain first'
    >>> ax.get_figure().savefig("uncertainty.png")  # doctest: +SKIP
    """
    dataset = result_of(
        result, lambda model, rows: model.uncertainty(rows), "uncertainty(model, X)", X
    )
    check_dataset(dataset, "epistemic", "NaiveBayes.uncertainty(X)")
    check_most(most)
    entropy, top = np.asarray(dataset["entropy"]), float(np.log(max(dataset.sizes["class"], 2)))
    order = np.argsort(-entropy, kind="stable")
    rows = int((entropy > CERTAIN * entropy.max(initial=0.0)).sum())
    ax = ax or new_axes(HIGH, WIDE)
    if rows:
        aleatoric, epistemic = (
            np.asarray(dataset[name])[order[:rows]] for name in ("aleatoric", "epistemic")
        )
        _bars(ax, aleatoric, epistemic, most)
    ax.axhline(top, color=INK, linewidth=0.7, dashes=(4, 3))
    place: Any = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "ha": "right",
    }
    ax.annotate(f"evenly uncertain: {top:.2f}", (1, top), (0, 3), fontsize="small", **place)
    ax.set(xlim=(0, max(rows, 1)), ylim=(0, 1.12 * top), ylabel="entropy of the label, nats")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel(_describe(rows, len(entropy)))
    figure: Any = ax.get_figure(root=True)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=2)
    add_title(ax, "Uncertainty of the labels")
    return ax


def _bars(ax: Axes, aleatoric: Array, epistemic: Array, most: int) -> None:
    edges = np.linspace(0, len(aleatoric), min(len(aleatoric), most) + 1).round().astype(int)
    wide, start = np.diff(edges), edges[:-1]
    low, high = (np.add.reduceat(part, start) / wide for part in (aleatoric, epistemic))
    look: dict[str, Any] = {"fill": True, "alpha": 0.85, "linewidth": 0}
    ax.stairs(low, edges, color=COLOURS[0], label="classes overlap (aleatoric)", **look)
    ax.stairs(
        low + high,
        edges,
        baseline=low,
        color=COLOURS[1],
        label="too few rows seen (epistemic)",
        **look,
    )


def _describe(rows: int, total: int) -> str:
    if not rows:
        return f"none of {total:,} rows is uncertain"
    if rows == total:
        return f"all {total:,} rows, the most uncertain first"
    return f"the {rows:,} most uncertain of {total:,} rows"
