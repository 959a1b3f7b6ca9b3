"""Words that speak for each class: log ratios of their shares as points, with intervals."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MultipleLocator

from bayesnb.families.base import Array
from bayesnb.formatting import number, shorten
from bayesnb.plots.column_data import shown_classes
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    check_fitted,
    check_most,
    class_places,
    list_names,
    new_panels,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.selection.word_ratios import WordRatios, ratio_interval, word_ratios

WIDE = np.log(10.0)  # an interval over more than a factor of ten
TWO, TEN = np.log(2.0), np.log(10.0)  # between ticks
MAX_DOUBLINGS, MAX_TENS = 7, 5  # on an axis
PANEL_WIDTH, ROW_HEIGHT, MARGIN = 3.65, 0.2, 0.95  # inches
PANELS_ABREAST = 2
MAX_LETTERS = 20


@dataclass(frozen=True, eq=False)
class ClassWords:
    """Words that speak for a class, `(n,)`: log ratios of their shares, with an interval."""

    place: int  # of the class
    words: list[Hashable]
    ratio: Array
    lower: Array
    upper: Array
    counts: Array  # in the class
    rest: Array  # in all others

    @property
    def wide(self) -> Array:
        """Words whose interval spans more than a factor of ten."""
        return self.upper - self.lower > WIDE


@styled
def plot_words(
    model: Any,
    classes: Sequence[Any] | None = None,
    *,
    most: int = 10,
    ci_prob: float | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw the words that speak most for each class: how much more often it uses them than others.

    Words are in the order of the lower ends of their intervals, so that one seen once does not come
    first for its rarity. Where an interval spans more than a factor of ten the dot is hollow.

    Parameters
    ----------
    model : estimator
        A fitted model with a block of counts, or a column of lists of words (`Multinomial`).
    classes : sequence of labels, optional
        One panel each, by default the most frequent classes, at most eight.
    most : int, default 10
        How many words of each class are drawn.
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
        places = shown_classes(model.model_.stats.classes.counts).tolist()
    else:
        places = class_places(labels, classes)
    panels = class_words(model, places, most, checked_prob(ci_prob))
    if ax is None:
        height = MARGIN + ROW_HEIGHT * max(2, *(len(panel.words) for panel in panels))
        axes = new_panels(len(panels), PANELS_ABREAST, (height, PANEL_WIDTH), (0.3, 0))
        figure: Any = axes[0].get_figure()
        left_out = classes is None and len(places) < len(labels)
        whom = (
            f"the {len(places)} most frequent of {len(labels)} classes"
            if left_out
            else "each class"
        )
        figure.suptitle(f"Words that speak for {whom}", x=0.01, ha="left")
    elif len(panels) > 1:
        raise ValueError(
            f"{len(panels)} panels do not fit into one ax. Name one class, classes=[label]."
        )
    else:
        axes = [ax]
    for k, (panel, words) in enumerate(zip(axes, panels, strict=True)):
        draw_words(panel, words, k if classes is None else words.place)
        title = shorten(labels[words.place], MAX_LETTERS)
        panel.set_title(title)
    return np.array(axes) if len(axes) > 1 else axes[0]


def class_words(model: Any, places: Sequence[int], most: int, prob: float) -> list[ClassWords]:
    """Return the words that speak for each of these classes, of the largest block of counts."""
    b, ratios = _compare_words(model)
    names = model.schema_.blocks[b].words
    counts = model.model_.stats.blocks[b].counts[:, 0]
    with np.errstate(invalid="ignore"):
        cautious = ratios.mean - 2 * ratios.sd
        # without smoothing, a word that no other class has has no ratio
        speaks = (counts > 0) & (ratios.rest.a > 0) & (ratios.mean > 0)
    results = []
    for c in places:
        best = np.argsort(-cautious[c], kind="stable")
        best = best[speaks[c, best]][:most]
        lower, upper = ratio_interval(ratios.share[c, best], ratios.rest[c, best], prob)
        order = np.argsort(-lower, kind="stable")
        best = best[order]
        results.append(
            ClassWords(
                place=c,
                words=[names[j] for j in best],
                ratio=ratios.mean[c, best],
                lower=lower[order],
                upper=upper[order],
                counts=counts[c, best],
                rest=counts[:, best].sum(axis=0) - counts[c, best],
            )
        )
    return results


def _compare_words(model: Any) -> tuple[int, WordRatios]:
    """Return the largest block of counts, and its words' shares in each class and in all others."""
    widths = {
        b: len(block.words) for b, block in enumerate(model.schema_.blocks) if block.family.words
    }
    if not widths:
        raise ValueError(
            "the model has no block of counts: declare one, "
            "families={('word', 'another'): Multinomial()}, or give lists of words."
        )
    if len(model.classes_) < 2:
        raise ValueError(
            f"words are compared between classes, and there is only {model.classes_.tolist()}."
        )
    b = max(widths, key=widths.__getitem__)
    prior: Any = model.model_.prior.blocks[b]
    return b, word_ratios(prior, model.model_.stats.blocks[b])


def draw_words(ax: Axes, words: ClassWords, shade: int) -> None:
    """Draw points with intervals; a word with a wide interval is hollow."""
    y, colour = range(len(words.words)), COLOURS[shade % MOST_CLASSES]
    ax.hlines(y, words.lower, words.upper, color=colour, linewidth=1.6)
    fill = ["none" if wide else colour for wide in words.wide]
    ax.scatter(words.ratio, y, s=26, facecolors=fill, edgecolors=colour, linewidths=1.4, zorder=3)
    ax.axvline(0, color=INK, linewidth=0.7)
    list_names(ax, [shorten(word, MAX_LETTERS) for word in words.words])
    low, high = words.lower.min(initial=0.0), words.upper.max(initial=TWO)
    margin = 0.04 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    step = TWO
    if high - low > MAX_DOUBLINGS * TWO:
        step = TEN * np.ceil((high - low) / (MAX_TENS * TEN))
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: number(np.exp(ratio))))
    label = "times as often as in others" if len(y) else "no word speaks for this class"
    ax.set_xlabel(label, loc="right")
