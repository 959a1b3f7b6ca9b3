"""What was learnt about one feature: a figure and a table, from its posterior. One function per kind of belief."""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from bayesnb import figures
from bayesnb.families import Beta, Dirichlet, Gamma, NormalInverseGamma
from bayesnb.families.base import Array, Belief
from bayesnb.families.multinomial import DirichletMultinomial
from bayesnb.report.facts import Facts, Feature
from bayesnb.report.markup import named, paragraph, table, text
from bayesnb.report.words import INTERVAL, percent, percent_span, spans
from bayesnb.special import log, ratio

GRID = 240
MOST_LEVELS = 12
MOST_GROUPED = 36  # bars of a figure, all classes together
MOST_BARS = 25
MOST_WORDS = 10
LEVELS_SAID = 3


def shown_classes(facts: Facts) -> Array:
    """The most frequent classes, as many as have a colour, in the order of the classes."""
    return np.sort(np.argsort(-facts.counts, kind="stable")[: figures.MOST_CLASSES])


@singledispatch
def portrait(belief: Belief, feature: Feature, facts: Facts) -> str:
    """Figure and table of what the belief says about its feature."""
    return paragraph("There is no picture for this family yet.")


@portrait.register
def _(belief: NormalInverseGamma, feature: Feature, facts: Facts) -> str:
    shown = shown_classes(facts)
    grid = grid_of(feature.cells, belief[shown])
    density = np.exp(belief[shown][:, None].log_predictive(grid))
    density = np.where(belief.proper[shown][:, None], density, np.nan)
    ax = figures.densities(grid, density, parted(feature, facts, shown))
    ax.set_xlabel(text_of_axis(feature.name))
    cells = zip(*gaussian_cells(belief[shown]), strict=True)
    rows = [(named(c, facts.classes[k]), *own) for c, (k, own) in enumerate(zip(shown, cells, strict=True))]
    said = f"Predictive density of {feature.name} for each class. The numbers are in the table beside it."
    head = ("Class", "Mean", "Standard deviation")
    return side_by_side(figures.svg(ax, said, feature.name), table(said_of(feature), head, rows))


def gaussian_cells(belief: NormalInverseGamma) -> tuple[list[str], list[str]]:
    """Mean and standard deviation of each class, with their intervals; NaN where the data do not settle them."""
    settled = np.where(belief.proper, 1.0, np.nan)
    with np.errstate(all="ignore"):
        lower, upper = belief.interval(INTERVAL)
        spread = np.sqrt(settled * belief.scale / belief.shape)
        means = (settled * end for end in (belief.location, lower.mean, upper.mean))
        return spans(*means), spans(spread, *(np.sqrt(settled * end) for end in (lower.variance, upper.variance)))


def grid_of(x: Array, belief: NormalInverseGamma) -> Array:
    """Where to draw: a little beyond the data, or, where they are no two numbers, the middle of the predictives."""
    x = x[np.isfinite(x)]
    if len(x) and x.min() < x.max():
        room = 0.08 * (x.max() - x.min())
        return np.linspace(x.min() - room, x.max() + room, GRID)
    ends = np.stack(belief.predictive().interval(0.9))
    ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.array([-1.0, 1.0])
    return np.linspace(ends.min(), max(ends.max(), np.nextafter(ends.min(), np.inf)), GRID)


@portrait.register
def _(belief: Beta, feature: Feature, facts: Facts) -> str:
    shown = shown_classes(facts)
    lower, upper = belief.interval(INTERVAL)
    probability = np.stack([1 - belief.mean(), belief.mean()], axis=-1)[shown]
    ends = (np.stack([1 - upper, lower], axis=-1)[shown], np.stack([1 - lower, upper], axis=-1)[shown])
    cut = feature.family.threshold
    names = ("no", "yes") if cut is None else (f"at most {cut:g}", f"above {cut:g}")
    return bars(names, probability, ends, feature, facts)


@portrait.register
def _(belief: Dirichlet, feature: Feature, facts: Facts) -> str:
    shown, mean = shown_classes(facts), belief.mean()
    room = int(np.clip(MOST_GROUPED // len(shown), 2, MOST_LEVELS))
    most = np.sort(np.argsort(-mean[shown].sum(axis=0), kind="stable")[:room])
    lower, upper = (end[np.ix_(shown, most)] for end in belief.interval(INTERVAL))
    return bars([feature.levels[k] for k in most], mean[np.ix_(shown, most)], (lower, upper), feature, facts)


def bars(names: Sequence[str], probability: Array, ends: tuple[Array, Array], feature: Feature, facts: Facts) -> str:
    """Figure and table of the levels' probabilities in the shown classes, all `(c, k)`."""
    ends = tuple(np.where(np.isfinite(end), end, probability) for end in ends)  # type: ignore[assignment]
    ax = figures.levels([text_of_axis(name) for name in names], probability, ends)
    rows = []
    for c, k in enumerate(shown_classes(facts)):
        best = np.argsort(-probability[c], kind="stable")[:LEVELS_SAID]
        parts = (percent_span(probability[c, j], ends[0][c, j], ends[1][c, j]) for j in best)
        lines = [f"{text(names[j])}: {part}" for j, part in zip(best, parts, strict=True)]
        rows.append((named(c, facts.classes[k]), "<br>".join(lines)))
    said = f"Predictive probability of each level of {feature.name} for each class, as bars with intervals."
    left = len(feature.levels) - len(names)
    more = paragraph(f"{left} rarer levels are not drawn.") if left > 0 else ""
    head = ("Class", "Level" if len(names) == 1 else "Most probable levels")
    return side_by_side(figures.svg(ax, said, feature.name) + more, table(said_of(feature), head, rows))


@portrait.register
def _(belief: Gamma, feature: Feature, facts: Facts) -> str:
    shown = shown_classes(facts)
    data = parted(feature, facts, shown)
    values, step = counts_of(np.concatenate(data))
    predictive = belief[shown][:, None].predictive()
    probability = predictive.cdf(values + step - 1) - predictive.cdf(values - 1)
    observed = np.array([np.histogram(x, [*values, values[-1] + step])[0] / max(len(x), 1) for x in data])
    ax = figures.counts(values, probability, observed)
    ax.set_xlabel(text_of_axis(feature.name) + ("" if step == 1 else f" (each bar: {step:g} numbers)"))
    lower, upper = belief.interval(INTERVAL)
    cells = spans(belief.mean()[shown], lower[shown], upper[shown])
    rows = [(named(c, facts.classes[k]), own) for c, (k, own) in enumerate(zip(shown, cells, strict=True))]
    said = f"Predictive probability of each count of {feature.name} for each class, as bars; dots are the data."
    return side_by_side(figures.svg(ax, said, feature.name), table(said_of(feature), ("Class", "Events per row"), rows))


def counts_of(x: Array) -> tuple[Array, int]:
    """The first count of every bar, and how many counts a bar holds: nearly all of the data in a few bars."""
    low, high = np.quantile(x, (0.005, 0.995)) if len(x) else (0.0, 5.0)
    low = np.floor(low) if low > high / 3 else 0.0
    step = max(1, int(np.ceil((high - low) / MOST_BARS)))
    return np.arange(low, high + 1 + step, step), step


@portrait.register
def _(belief: DirichletMultinomial, feature: Feature, facts: Facts) -> str:
    shown, mean = shown_classes(facts), belief.mean()
    usual = mean.mean(axis=0)
    pull = np.where(mean > 0, mean * log(ratio(mean, usual)), 0.0)
    rows = []
    for c, k in enumerate(shown):
        best = np.argsort(-pull[k], kind="stable")[: min(MOST_WORDS, (pull[k] > 0).sum())]
        words = (f"{text(feature.levels[j])}: {percent(mean[k, j], 2)}" for j in best)
        rows.append((named(c, facts.classes[k]), ", ".join(words)))
    caption = "The columns that tell each class apart, and their share of the class's counts"
    return table(caption, ("Class", "Columns"), rows, "prose")


def parted(feature: Feature, facts: Facts, shown: Array) -> list[Array]:
    """The cells of each class, missing ones left out."""
    seen = np.isfinite(feature.cells)
    return [feature.cells[seen & (facts.codes == k)] for k in shown]


def said_of(feature: Feature) -> str:
    return f"{text(feature.name)}, with {percent(INTERVAL, 0)} intervals"


def text_of_axis(name: str) -> str:
    """Text for a figure, which escapes it itself: on one line, printable, and not long."""
    line = "".join(letter for letter in " ".join(name.split()) if letter.isprintable())
    return line if len(line) <= 48 else line[:47] + "…"


def side_by_side(picture: str, numbers: str) -> str:
    return f'<div class="pair"><figure>{picture}</figure>{numbers}</div>'
