"""Plots of rows: why a row gets its label, and how uncertain the label is.

A waterfall leads from the class frequencies, feature by feature, to the log-odds of a row. The
uncertainty of labels has two parts: classes overlap, or training rows are few.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import softmax

from bayesnb.families.base import Array
from bayesnb.formatting import MINUS, fixed, percent, signed
from bayesnb.model.linked import ARROW
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MAX_LETTERS_OF_TWO,
    MOST_CLASSES,
    add_legend,
    add_probabilities,
    check_most,
    choose_pair,
    get_result,
    list_names,
    new_axes,
    short,
    styled,
)

NEGLIGIBLE = 0.01  # share of the largest entropy, below which rows are not drawn


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
    """Draw what each feature of one row adds to the log-odds of one class against another.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model together with `X`, or the result of its `explain`.
    X : table of rows, optional
        The rows to explain, if `result` is a model.
    row : label, optional
        The row to draw, a label in `obs_id`; by default the first.
    classes : pair of labels, optional
        By default the two most probable classes of the row.
    by : {"evidence", "predictive"}, optional
        "evidence" draws posterior means, with lines of ± one posterior standard deviation, and
        marks the prediction; "predictive" draws log predictive ratios, which add up to the
        prediction and have no such lines. The default is "evidence", or "predictive" for a model
        with links: where a class has no row with both cells of a link, the posterior mean of its
        log-ratio may be far below the log of the mean.
    most : int, default 12
        The number of features with a bar of their own. All others share one bar, whose line is an
        upper bound if they are words of one block.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the steps.

    See Also
    --------
    NaiveBayes.explain : The numbers behind the plot.
    bayesnb.report.explore : The same for any row, on a page.

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
    explained = get_result(
        result, "class_term", lambda model, X: model.explain(X), "model.explain(X)", X
    )
    one = _choose_row(explained, row)
    has_links = "cell" in one and "links" in one["cell"].attrs
    by = by or ("predictive" if has_links else "evidence")
    if by not in ("evidence", "predictive"):
        raise ValueError(f"by must be 'evidence' or 'predictive', got {by!r}.")
    labels = one["class"].values.tolist()
    log_joint = (one["predictive_class_term"] + one["predictive"].sum("feature")).values
    pair = choose_pair(labels, log_joint, classes)
    first, second = (short(labels[c]) for c in pair)
    names, sizes, sds = _compute_steps(one, pair, by, most)
    ax = list_names(ax, names, 1.9)
    ends = _draw_steps(ax, sizes, [COLOURS[c % MOST_CLASSES] for c in pair])
    numbers = [signed(size, 2) for size in sizes]
    xlabel = f"log-odds against {second}"
    if by == "evidence":
        ax.hlines(range(len(ends)), ends - sds, ends + sds, color=INK)
        predicted = log_joint[pair[0]] - log_joint[pair[1]]
        ax.plot(predicted, len(ends) - 1, "D", color=INK)
        xlabel += "\nlines: \u00b1 1 sd   \u25c6 prediction"
        numbers = [f"{text} \u00b1 {fixed(sd, 2)}" for text, sd in zip(numbers, sds, strict=True)]
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(numbers)), numbers, fontsize="small")
    right.spines[:].set_visible(False)
    share = softmax(log_joint)[pair].clip(1e-300, 1 - 1e-15)  # one rounded to 0 or 1 is not certain
    title = [f"{first}: {percent(share[0])}", f"{second}: {percent(share[1])}"]
    if "obs_id" in one.coords:
        title.insert(0, _name_row(one))
    ax.set(title="\n".join(title), xlabel=xlabel)
    ax.locator_params(axis="x", nbins=5, steps=[1, 2, 5, 10])
    add_probabilities(ax, labels[pair[0]])
    return ax


def _choose_row(explained: Any, row: Any) -> Any:
    """Return the explanation of one row, by default the first."""
    if "obs_id" not in explained.dims:
        return explained
    if row is None:
        return explained.isel(obs_id=0)
    ids = explained.indexes["obs_id"]
    place = row if row in ids else str(row)  # tuples, periods and times with a zone are text there
    if place not in ids:
        raise ValueError(f"row {row!r} is not among the {len(ids)} rows that were explained.")
    one = explained.sel(obs_id=place)
    if "obs_id" in one.dims:
        raise ValueError(
            f"{one.sizes['obs_id']} rows are called {row!r}: choose one, "
            "explained.isel(obs_id=[...])."
        )
    return one


def _name_row(one: Any) -> str:
    return f"Row {short(one['obs_id'].item())}" if "obs_id" in one.coords else "The row"


def _compute_steps(one: Any, pair: list[int], by: str, most: int) -> tuple[list[str], Array, Array]:
    """Return names, sizes and standard deviations of the steps, and of their total.

    The class term is first, then the largest features, then the rest as one.
    """
    first, second = (one.isel({"class": c}) for c in pair)
    term = "class_term" if by == "evidence" else "predictive_class_term"
    with np.errstate(invalid="ignore"):
        start = (first[term] - second[term]).item()
        sizes = (first[by] - second[by]).values
    start_sd, sds, total_sd = (
        np.hypot(first[name], second[name]).values for name in ("class_term_sd", "sd", "score_sd")
    )
    impossible = ~np.isfinite(sizes)
    if impossible.any() or not np.isfinite(start):
        column = one["feature"].values[impossible.argmax()].item()
        raise ValueError(
            f"{_name_row(one)}: {f'column {column!r}' if np.isfinite(start) else 'its frequency'} "
            f"makes one of the classes {one['class'].values[pair].tolist()} impossible, so there "
            "are no log-odds to draw. A smoothing of 0 does that; use a larger one, or draw two "
            "other classes."
        )
    order = np.argsort(-np.abs(sizes), kind="stable")
    if len(order) > most:
        order = order[sizes[order] != 0]  # a text lacks most words
    shown = order[:most]
    rest = order[most:]
    names = ["class frequency", *(_name_feature(one.isel(feature=j)) for j in shown)]
    steps = [start, *sizes[shown]]
    step_sds = [start_sd, *sds[shown]]
    if len(rest):
        names.append(f"{len(rest):,} others")
        steps.append(sizes[rest].sum())
        step_sds.append(np.hypot.reduce(sds[rest]))
    return [*names, "total"], np.array([*steps, sum(steps)]), np.array([*step_sds, total_sd])


def _name_feature(one: Any) -> str:
    """Return a feature with its cell, the cells of a block, or the columns of a link."""
    name = str(one["feature"].item())
    if "cell" not in one:
        return short(name)
    cell = str(one["cell"].item())
    attrs = one["cell"].attrs
    if name in np.atleast_1d(attrs.get("links", [])):
        return ARROW.join(short(end, MAX_LETTERS_OF_TWO) for end in name.split(ARROW))
    if name in np.atleast_1d(attrs.get("blocks", [])):
        return short(cell)
    cell = re.sub(r"^-(?=[\d.])", MINUS, cell)
    return f"{short(name, MAX_LETTERS_OF_TWO)} = {short(cell, MAX_LETTERS_OF_TWO)}"


def _draw_steps(ax: Axes, sizes: Array, colours: Sequence[str]) -> Array:
    """Draw a bar for each step, from the end of the last one, and one for the total.

    Return where the bars end.
    """
    last = len(sizes) - 1
    ends = np.append(np.cumsum(sizes[:-1]), sizes[-1])
    of_bars = [colours[int(size < 0)] for size in sizes]
    ax.barh(
        range(last + 1),
        sizes,
        0.66,
        ends - sizes,
        color=of_bars,
        alpha=0.7,
    )
    ax.vlines(
        ends[:-1],
        range(last),
        range(1, last + 1),
        color=INK,
        linewidth=0.6,
        alpha=0.5,
    )
    ax.axvline(0, linewidth=0.7)
    ax.axhline(last - 0.5, linewidth=0.7)
    ax.use_sticky_edges = False
    ax.margins(x=0.03)
    return ends


@styled
def plot_uncertainty(result: Any, X: Any = None, *, most: int = 60, ax: Axes | None = None) -> Axes:
    """Draw the uncertainty of each row's label in two parts, the most uncertain row first.

    Blue is the part that more training rows would not remove, because classes overlap (aleatoric).
    Orange, on top of it, is the part due to too few training rows (epistemic). Their sum is the
    entropy of the predicted label.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model together with `X`, or the result of its `uncertainty`.
    X : table of rows, optional
        The rows to predict, if `result` is a model.
    most : int, default 60
        The largest number of bars. If there are more rows, a bar is the mean of several neighbours,
        and its width is their number.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Rows with almost no uncertainty are left out; the axis says how many are drawn.

    See Also
    --------
    NaiveBayes.uncertainty : The numbers behind the plot.

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
    """Draw means of neighbouring rows, the epistemic part on top of the aleatoric part."""
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
