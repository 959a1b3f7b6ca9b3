"""Words that speak for each class: log ratios of their shares as points, with intervals."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.column_view import shown_classes
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
from bayesnb.selection.feature_evidence import class_belief
from bayesnb.selection.word_ratios import WordRatios, ratio_interval, word_ratios

WIDE = np.log(10.0)  # an interval over more than a factor of ten
SIDE, ROW = 3.65, 0.2  # inches
PANELS = 2  # side by side
WORD, CLASS = 20, 20  # letters
NO_INTERVALS = np.empty(0), np.empty(0)


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
    """Draw the words that speak most for each class, and how much more often it uses them than all others together.

    Words are in the order of the lower ends of their intervals, so that one seen once does not come first for its
    rarity. Where an interval spans more than a factor of ten the dot is hollow.

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
    >>> model = MultinomialNB().fit([[9, 1, 4], [7, 0, 5], [0, 6, 4], [1, 8, 5]], ["spam", "spam", "ham", "ham"])
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
    if ax is not None and len(panels) > 1:
        raise ValueError(
            f"{len(panels)} panels do not fit into one ax. Name one class, classes=[label]."
        )
    height = 0.95 + ROW * max(2, *(len(words.words) for words in panels))
    axes = new_panels(len(panels), PANELS, (height, SIDE), (0.3, 0)) if ax is None else [ax]
    if ax is None:
        figure: Any = axes[0].get_figure()
        figure.suptitle("Words that speak for each class", x=0.01, ha="left", fontsize="medium")
    for k, (panel, words) in enumerate(zip(axes, panels, strict=True)):
        draw_words(
            panel,
            words,
            k if classes is None else words.place,
            shorten(str(labels[words.place]), CLASS),
        )
    return np.array(axes) if len(axes) > 1 else axes[0]


def class_words(model: Any, places: Sequence[int], most: int, prob: float) -> list[ClassWords]:
    """Return the words that speak for each of these classes, of the largest block of counts."""
    b, ratios = _word_ratios(model)
    names, counts = model.schema_.blocks[b].words, model.model_.stats.blocks[b].counts[:, 0]
    known = (counts > 0) & (
        ratios.rest.a > 0
    )  # without smoothing, a word that no other class has has no ratio
    with np.errstate(invalid="ignore"):
        mean, cautious = ratios.mean, ratios.mean - 2 * ratios.sd
    results = []
    for c in places:
        best = np.argsort(-cautious[c], kind="stable")
        best = best[known[c, best] & (mean[c, best] > 0)][:most]
        lower, upper = (
            ratio_interval(ratios.share[c, best], ratios.rest[c, best], prob)
            if len(best)
            else NO_INTERVALS
        )
        order = np.argsort(-lower, kind="stable")
        best, lower, upper = best[order], lower[order], upper[order]
        rest = counts[:, best].sum(axis=0) - counts[c, best]
        results.append(
            ClassWords(
                c, [names[j] for j in best], mean[c, best], lower, upper, counts[c, best], rest
            )
        )
    return results


def _word_ratios(model: Any) -> tuple[int, WordRatios]:
    """Return the place of the largest block of counts, and its words' shares in each class and in all others."""
    blocks = model.schema_.blocks
    word_blocks = [b for b, block in enumerate(blocks) if block.family.words]
    if not word_blocks:
        raise ValueError(
            "the model has no block of counts: declare one, families={('word', 'another'): Multinomial()}, or give "
            "lists of words."
        )
    if len(model.classes_) < 2:
        raise ValueError(
            f"words are compared between classes, and there is only {model.classes_.tolist()}."
        )
    b = max(word_blocks, key=lambda b: len(blocks[b].words))
    prior: Any = class_belief(model.model_.prior.blocks[b])
    return b, word_ratios(prior, model.model_.stats.blocks[b])


def draw_words(ax: Axes, words: ClassWords, shade: int, title: str = "") -> Axes:
    """Draw points with intervals; a word with a wide interval is hollow."""
    y, colour = range(len(words.words)), COLOURS[shade % MOST_CLASSES]
    ax.hlines(y, words.lower, words.upper, color=colour, linewidth=1.6)
    fill = ["none" if wide else colour for wide in words.wide]
    ax.scatter(words.ratio, y, s=26, facecolors=fill, edgecolors=colour, linewidths=1.4, zorder=3)
    ax.axvline(0, color=INK, linewidth=0.7)
    list_names(ax, [shorten(str(word), WORD) for word in words.words])
    low, high = min(0.0, words.lower.min(initial=0.0)), max(0.7, words.upper.max(initial=0.7))
    ax.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    _times(ax, low, high)
    ax.set_xlabel("times as often as in others" if len(y) else "no word speaks for this class")
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def _times(ax: Axes, low: float, high: float) -> None:
    """Label an axis of logs with ratios, not too many."""
    ladder = [m * 10.0**k for k in range(-300, 300) for m in (1, 2, 5)]
    inside = [x for x in ladder if low <= np.log(x) <= high]
    while len(inside) > 5:
        tens = [x for x in inside if f"{x:e}"[0] == "1"]
        inside = (
            tens
            if len(tens) < len(inside) and len(tens) > 1
            else [x for x in inside[:: len(inside) // 4] if x]
        )
    if 1.0 not in inside and low <= 0:
        inside = [1.0, *(x for x in inside if x > 1.5)]
    ax.set_xticks([float(np.log(x)) for x in inside])
    ax.xaxis.set_major_formatter(lambda x, _: _format(float(np.exp(x))))


def _format(x: float) -> str:
    return f"{x:,.0f}" if 1 <= x < 1e5 else f"{x:.3g}"
