"""Uncertainty of rows' labels in its two parts: classes overlap, or too few rows were seen."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.plots.style import (
    COLOURS,
    add_legend,
    check_most,
    get_result,
    new_axes,
    styled,
)

NEGLIGIBLE = 0.01  # share of the largest entropy, below which rows are not drawn


@styled
def plot_uncertainty(result: Any, X: Any = None, *, most: int = 60, ax: Axes | None = None) -> Axes:
    """Draw the uncertainty about each row's label, the most uncertain row first, in its two parts.

    The part that more training rows would not take away, as classes overlap (aleatoric), is blue.
    On top of it, in orange, is the part that is left because too few rows were seen (epistemic).
    Both together are the entropy of the predicted label.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model together with `X`, or the result of its `uncertainty`.
    X : table of rows, optional
        The rows to predict, where `result` is a model.
    most : int, default 60
        How many bars are drawn at most. Where there are more rows, a bar is the mean of several
        neighbours, and as wide as they are many.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Rows with next to no uncertainty are left out; the axis says how many are drawn.

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
    '6 of 6 rows, the most uncertain first'
    >>> ax.get_figure().savefig("uncertainty.png")  # doctest: +SKIP
    """
    dataset = get_result(
        result, "epistemic", lambda model, X: model.uncertainty(X), "model.uncertainty(X)", X
    )
    check_most(most)
    entropy = dataset["entropy"].values
    aleatoric = dataset["aleatoric"].values
    rows = int((entropy > NEGLIGIBLE * entropy.max(initial=0.0)).sum())
    order = np.argsort(-entropy, kind="stable")[:rows]
    axes = ax or new_axes(3.3, 6.4)
    if rows:
        _draw_bars(axes, np.stack([aleatoric, entropy])[:, order], min(rows, most))
    even = float(np.log(max(dataset.sizes["class"], 2)))
    axes.axhline(even, linewidth=0.7, linestyle="--")
    axes.set(
        title="Uncertainty of the labels",
        xlabel=f"{rows:,} of {len(entropy):,} rows, the most uncertain first",
        ylabel="entropy of the label, nats",
        xlim=(0, max(rows, 1)),
        ylim=(0, 1.2 * even),
    )
    axes.text(max(rows, 1), even, f"evenly uncertain: {even:.2f} ", ha="right", va="bottom")
    axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    add_legend(axes, outside=ax is None)
    return axes


def _draw_bars(ax: Axes, nats: Array, bars: int) -> None:
    """Draw means of neighbouring rows, the rest of the entropy on top of its aleatoric part."""
    edges = np.linspace(0, nats.shape[1], bars + 1).round().astype(int)
    middle, top = np.add.reduceat(nats, edges[:-1], axis=1) / np.diff(edges)
    ax.stairs(
        middle,
        edges,
        fill=True,
        color=COLOURS[0],
        alpha=0.85,
        label="classes overlap (aleatoric)",
    )
    ax.stairs(
        top,
        edges,
        baseline=middle,
        fill=True,
        color=COLOURS[1],
        alpha=0.85,
        label="too few rows seen (epistemic)",
    )
