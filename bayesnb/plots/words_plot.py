"""Words that favour each class: log ratios of their shares as points, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.plots.column_data import choose_classes
from bayesnb.plots.style import (
    COLOURS,
    MOST_CLASSES,
    check_fitted,
    check_most,
    find_classes,
    format_tick,
    get_figure,
    list_names,
    new_panels,
    short,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.results.datasets import frame
from bayesnb.selection.feature_evidence import ratio_interval, word_ratios

WIDE = np.log(10.0)  # an interval over more than a factor of ten
MAX_LOG = 700.0  # of a ratio that can be drawn


@styled
def plot_words(
    model: Any,
    classes: Sequence[Any] | None = None,
    *,
    most: int = 10,
    ci_prob: float | None = None,
    ax: Axes | None = None,
) -> Axes | Array:
    """Draw the words that most favour each class: how much more often it uses them than others.

    Words are sorted by the lower ends of their intervals, so that a word seen only once does not
    come first. Where an interval spans more than a factor of ten, the dot is hollow.

    Parameters
    ----------
    model : estimator
        A fitted model with a block of counts, or a column of lists of words (`Multinomial`).
    classes : sequence of labels, optional
        One panel each, by default the most frequent classes, at most eight.
    most : int, default 10
        The number of words to draw for each class.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, for one panel. By default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes or numpy.ndarray
        The axes of the panel, or an array of them where there are several.

    See Also
    --------
    relevance : Whether each word depends on the class.
    plot_column : The share of one word in each class.

    Examples
    --------
    >>> from bayesnb import MultinomialNB, plot_words
    >>> counts = [[9, 1, 4], [7, 0, 5], [0, 6, 4], [1, 8, 5]]
    >>> model = MultinomialNB().fit(counts, ["spam", "spam", "ham", "ham"])
    >>> [label.get_text() for label in plot_words(model, ["spam"]).get_yticklabels()]
    ['0']
    """
    check_most(most)
    check_fitted(model)
    labels = model.classes_.tolist()
    if classes is None:
        places = choose_classes(model.model_.stats.classes.counts).tolist()
    else:
        places = find_classes(labels, classes)
    if ax is not None and len(places) > 1:
        raise ValueError(
            f"{len(places)} panels do not fit into one ax. Name one class, classes=[label]."
        )
    tables = _find_words(model, places, most, checked_prob(ci_prob))
    if ax is None:
        rows = max(2, *map(len, tables))
        panels = new_panels(len(tables), 2, 1.1 + 0.2 * rows, 3.65)
        whom = "each class"
        if classes is None and len(places) < len(labels):
            whom = f"the {len(places)} most frequent of {len(labels)} classes"
        get_figure(panels[0]).suptitle(f"Words that favour {whom}", x=0.01, ha="left")
    else:
        panels = [ax]
    for k, (panel, place, words) in enumerate(zip(panels, places, tables, strict=True)):
        _draw_words(panel, words, k if classes is None else place)
        panel.set_title(short(labels[place]))
    return np.array(panels) if len(panels) > 1 else panels[0]


def _find_words(model: Any, places: Sequence[int], most: int, prob: float) -> list[Any]:
    """Return the words of the largest block of counts that favour each of these classes.

    The tables have the log ratios of their shares, with intervals.
    """
    blocks = model.schema_.blocks
    with_words = [b for b, block in enumerate(blocks) if block.family.words]
    if not with_words:
        raise ValueError(
            "the model has no block of counts: declare one, "
            "families={('word', 'another'): Multinomial()}, or give lists of words."
        )
    if len(model.classes_) < 2:
        raise ValueError(
            f"words are compared between classes, and there is only {model.classes_.tolist()}."
        )
    b = max(with_words, key=lambda b: len(blocks[b].words))
    stats = model.model_.stats.blocks[b]
    ratios = word_ratios(model.model_.prior.blocks[b], stats)
    names = blocks[b].words
    counts = stats.counts[:, 0]
    with np.errstate(invalid="ignore"):
        cautious = ratios.mean - 2 * ratios.sd
        # without smoothing, a word that no other class has is without a ratio
        speaks = (counts > 0) & (ratios.rest.a > 0) & (ratios.mean > 0)
    tables = []
    for c in places:
        best = np.argsort(-cautious[c], kind="stable")
        best = best[speaks[c, best]][:most]
        lower, upper = ratio_interval(ratios.share[c, best], ratios.rest[c, best], prob)
        words: dict[str, Any] = {
            "word": [names[j] for j in best],
            "ratio": ratios.mean[c, best],
            "lower": lower,
            "upper": upper,
        }
        table = frame(words)
        tables.append(table.sort_values("lower", ascending=False, kind="stable"))
    return tables


def _draw_words(ax: Axes, words: Any, place: int) -> None:
    """Draw points with intervals in the colour of a class; hollow if the interval is wide."""
    y = range(len(words))
    colour = COLOURS[place % MOST_CLASSES]
    ratio, lower, upper = np.exp(words[["ratio", "lower", "upper"]].clip(upper=MAX_LOG)).T.values
    ax.hlines(y, lower, upper, color=colour)
    is_wide = words["upper"] - words["lower"] > WIDE
    fill = np.where(is_wide, "none", colour).tolist()
    ax.scatter(ratio, y, s=26, facecolors=fill, edgecolors=colour, zorder=3)
    ax.axvline(1, linewidth=0.7)
    list_names(ax, list(map(short, words["word"])))
    ax.set_xscale("log", base=10 if upper.max(initial=1.0) > 100 else 2)
    ax.minorticks_off()
    ax.xaxis.set_major_formatter(format_tick)
    label = "times as often as in others" if len(y) else "no word favours this class"
    ax.set_xlabel(label, loc="right")
