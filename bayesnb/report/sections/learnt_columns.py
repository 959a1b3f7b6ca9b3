"""What each column says about the class: importance, words, portraits, and the weights of a linear model."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families import NormalInverseGamma
from bayesnb.families.capabilities import margins_of
from bayesnb.formatting import NOTHING, fixed, interval, nats, number, plus_minus, shorten
from bayesnb.model.powers import of_feature
from bayesnb.plots.column_data import ColumnData, choose_classes
from bayesnb.plots.column_plot import compute_level_bars, draw_column
from bayesnb.plots.words_plot import ClassWords, draw_words, find_words
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import Feature
from bayesnb.report.html import Cell, Name, phrase
from bayesnb.report.html_page import drawn, swatch
from bayesnb.report.sections.modelled import lacking
from bayesnb.report.wording import as_name, in_percent, name_of, percent_span, spans

FIRST, MOST = 12, 36  # portraits that are drawn however large they are, and at all
ROOM = 1_000_000  # letters that all of them may take
MOST_LISTED = 1000
WIDE = 5.0  # inches of the bars, which a phone has room for
STRONG = 3.0  # nats (Kass and Raftery 1995)
MOST_WORDS = 10  # of a class
MOST_LEVELS = 3  # of a class, in a table
MOST_CORRELATIONS = 3  # of a class, in a table
MOST_WEIGHTS, ABREAST = 30, 4  # weights that are listed, and classes beside each other
DRAWN = {
    "density": "Predictive density of {} for each class, as curves. The numbers are in the table beside it.",
    "mass": "Predictive probability of each count of {} for each class, as bars; dots are the data.",
    "levels": "Predictive probability of {levels} of {} for each class, as bars with intervals.",
}
TOGETHER = {
    "density": "What is expected of {} together in each class, as ellipses over the rows. The numbers are beside it.",
    "levels": "Predictive probability of combinations of {} for each class, as bars with intervals.",
}
PLUGGED = {"mean": "their posterior means", "map": "their most probable values", "mle": "their likeliest values"}
Values = dict[str, Any]
Table = tuple[tuple[str, ...], list[Any]]  # head and rows


def learnt(facts: Facts) -> Values:
    """How important each column is, and what the model expects of it."""
    return {
        "contributions": contributions(facts),
        "words": vocabulary(facts),
        "portraits": portraits(facts),
        "weights": weights(facts),
    }


def class_name(c: int, label: str) -> tuple[Any, Name]:
    """The swatch of a class that is drawn in place c, and its name."""
    return swatch(c), as_name(label, 40)


def contributions(facts: Facts) -> Values:
    """What held-out log loss loses without each column, beside the evidence that the column depends on the class."""
    features, single = facts.features, facts.features.single
    shown = features.by_importance if single else []
    values: Values = {
        "rows": [contribution(feature, facts) for feature in shown[:MOST_LISTED]],
        "unlisted": len(shown[MOST_LISTED:]),
        "unknown": "",
        "no_factors": "",
        "summary": "",
    }
    if isinstance(features.relevance, str):
        values["no_factors"] = as_name(features.relevance, 400)
    elif single:
        values["summary"] = relevance_summary(single)
    if isinstance(features.importance, str):
        values["unknown"] = as_name(features.importance, 400)
    elif single:
        about = "What held-out log loss loses without each column, as bars. All are in the table below."
        values["picture"] = drawn(plots.plot_relevance(features.importance), about, "importance", WIDE)
        values["loss"] = fixed(features.importance.attrs["log_loss"], 3)
        values["kept"] = features.importance.attrs["exponents"] == "kept"
    return values


def contribution(feature: Feature, facts: Facts) -> tuple[Any, ...]:
    """A column, what is lost without it, its exponent, its Bayes factor, its family, and how many cells are missing."""
    result = facts.features.importance
    lost: Cell | str = NOTHING
    temper = NOTHING
    if not isinstance(result, str):
        at = facts.features.all.index(feature)
        lost = loss_span(*(float(result[name].values[at]) for name in ("importance", "lower", "upper")))
        temper = fixed(float(result["temper"].values[at]), 2)
    return (
        as_name(feature.name),
        lost,
        temper,
        NOTHING if feature.log_bayes_factor is None else nats(feature.log_bayes_factor),
        feature.kind,
        lacking(feature) if feature.missing else NOTHING,
    )


def lost_without(feature: Feature, facts: Facts) -> str:
    """The importance of a column, in nats a row; nothing, where that is not known."""
    result = facts.features.importance
    if isinstance(result, str):
        return ""
    return fixed(float(result["importance"].values[facts.features.all.index(feature)]), 3)


def loss_span(value: float, lower: float, upper: float) -> Cell:
    """A mean loss with its interval, to three decimals."""
    return Cell(interval(value, lower, upper, 3), value)


def relevance_summary(single: list[Feature]) -> str:
    """For how many columns there is evidence of a dependence on the class, in words."""
    factors = np.array([feature.log_bayes_factor for feature in single], float)
    strong, against = int((factors > STRONG).sum()), int((factors < 0).sum())
    what = "columns and blocks" if any(feature.joint for feature in single) else "columns"
    if len(factors) == 1:
        weak = "evidence against dependence" if against else "no strong evidence of dependence"
        only = what.rpartition(" ")[-1][:-1]
        return f"For the only {only}, there is {'strong evidence of dependence' if strong else weak}."
    most = "all" if strong == len(factors) else "none" if not strong else f"{strong:,}"
    rest = f", and evidence against it for {against:,}" if against else ""
    return f"There is strong evidence of dependence for {most} of the {len(factors):,} {what}{rest}."


def vocabulary(facts: Facts) -> Values | None:
    """The words that speak for each class, and how sure that is; None, where there is no block of counts."""
    blocks = facts.features.blocks
    if not blocks:
        return None
    if len(facts.classes) < 2:
        return {"single_class": True}
    spoken = find_words(facts.model, choose_classes(facts.counts).tolist(), MOST_WORDS, facts.prob)
    widest = max(blocks, key=lambda block: len(facts.model.schema_.blocks[block.b].words))
    factor = widest.log_bayes_factor
    return {
        "single_class": False,
        "wide": sum(int(words.wide.sum()) for words in spoken),
        "factor": "" if factor is None else nats(factor),
        "settled": factor is not None and abs(factor) > STRONG,
        "panels": [words_panel(c, words, facts) for c, words in enumerate(spoken)],
        "rows": [row for words in spoken for row in word_rows(words, facts)],
    }


def words_panel(c: int, words: ClassWords, facts: Facts) -> tuple[Any, ...]:
    """A class and the picture of its words."""
    label = facts.classes[words.place]
    ax = plots.new_axes(0.95 + 0.2 * max(len(words.words), 2), 3.65)
    draw_words(ax, words, c)
    about = f"Words that speak for {shorten(label, 80)}, as dots with intervals. The numbers are in the table below."
    return *class_name(c, label), drawn(ax, about, f"words-{words.place}")


def word_rows(words: ClassWords, facts: Facts) -> Iterable[Values]:
    """Each word of a class with its ratio, whether that is hardly known, and how often it was seen."""
    ends = np.exp(np.minimum([words.ratio, words.lower, words.upper], 700.0))
    for j, word in enumerate(words.words):
        ratio, low, high = (fixed(x, 1 if x < 9.95 else 0) if x < 1e6 else number(x) for x in ends[:, j].tolist())
        yield {
            "name": as_name(word, 40),
            "speaks_for": as_name(facts.classes[words.place], 40),
            "ratio": f"{ratio} ({low} to {high})",
            "wide": words.wide[j],
            "here": number(float(words.counts[j]), 6),
            "elsewhere": number(float(words.rest[j]), 6),
        }


def portraits(facts: Facts) -> Values | None:
    """Pictures of what is expected in each class, the most important columns first; None, where there is no column."""
    single = facts.features.single
    if not single:
        return None
    pictured: list[Values] = []
    for feature in single[:MOST]:
        if len(pictured) >= FIRST and sum(len(portrait["picture"]) for portrait in pictured) > ROOM:
            break
        pictured.append(portrait(feature, facts))
    return {
        "key": [class_name(c, facts.classes[k]) for c, k in enumerate(choose_classes(facts.counts))],
        "drawn": pictured,
        "rest": len(single) - len(pictured),
    }


def portrait(feature: Feature, facts: Facts) -> Values:
    """Figure and tables of what is believed of a column."""
    data = facts.features.column_data(feature)
    pictured, name = drawable(data), as_name(data.name)
    levels = " and ".join(data.family.outcomes[::-1]) or "each level"
    message = (TOGETHER if len(data.names) > 1 else DRAWN)[data.family.picture]
    about = message.format(shorten(pictured.name, 80), levels=levels)
    tables = [(phrase("{}, with {} intervals", name, in_percent(facts.prob)), *numbers(data.belief, data, facts.prob))]
    if len(data.names) > 1 and data.family.continuous:  # its table is too wide to stand beside the picture
        tables.insert(0, (phrase("{}, correlations", name), *correlations(data)))
    ax = draw_column(pictured, facts.prob)
    return {
        "name": as_name(feature.name),
        "lost": lost_without(feature, facts),
        "picture": drawn(ax, about, f"column-{feature.b}-{feature.f}"),
        "remark": undrawn(data, pictured, facts.prob),
        "counts": counted(feature, facts),
        "tables": tables,
    }


def counted(feature: Feature, facts: Facts) -> str:
    """How often the evidence of a column counts in predictions; nothing, where all columns count alike."""
    if isinstance(facts.model.temper_, float):
        return ""
    tempers = facts.model._tempers
    value, sd, *length = (of_feature(each[feature.b], feature.f) for each in tempers.values())  # type: ignore[index]
    if length and np.isfinite(length[0]):
        once = f"{fixed(value, 2)} \u00b1 {fixed(sd, 2)}"
        return f"The evidence of a text of n words has the exponent t / (1 + n / {length[0]:.3g}), where t is {once}."
    return f"The evidence of this column has the exponent {fixed(value, 2)} \u00b1 {fixed(sd, 2)}."


def drawable(data: ColumnData) -> ColumnData:
    """The columns that are drawn: all, but of many columns of numbers the two in which the classes differ most."""
    belief: Any = data.belief
    if not data.family.continuous or len(data.names) < 3:
        return data
    spread = np.diagonal(belief.scale, axis1=-2, axis2=-1) / belief.dof[:, None]
    between = belief.location[data.shown].var(axis=0) / spread[data.shown].mean(axis=0)
    two = np.sort(np.argsort(-between, kind="stable")[:2])
    names = tuple(data.names[j] for j in two)
    return replace(data, names=names, belief=belief.of_columns(two), cells=data.cells[:, two])


def numbers(belief: Any, data: ColumnData, prob: float) -> Table:
    """Head and rows of a table about the classes that are drawn."""
    if data.family.picture == "levels":
        return bar_table(data, prob)
    shown = belief[data.shown]
    if len(data.names) > 1:  # every column of a block that is modelled jointly
        margins = margins_of(shown[:, None])
        by_column = [by_class(data, *gaussian_cells(margins.column(j), prob)) for j in range(len(data.names))]
        pairs = zip(data.names, by_column, strict=True)
        rows = [(label, as_name(name, 40), *values) for name, cells in pairs for label, *values in cells]
        return ("Class", "Column", "Mean", "Standard deviation"), rows
    if data.family.has_width:
        return ("Class", "Mean", "Standard deviation"), by_class(data, *gaussian_cells(shown, prob))
    if data.family.picture == "mass":
        return ("Class", "Events per row"), by_class(data, spans(shown.mean(), *shown.interval(prob)))
    predictive = shown.predictive()
    return ("Class", "Median"), by_class(data, spans(predictive.median(), *predictive.interval(prob)))


def correlations(data: ColumnData) -> Table:
    """The strongest correlations of each class, as its expected covariance has them."""
    belief: Any = data.belief[data.shown]
    cells, (i, j) = [], np.triu_indices(len(data.names), 1)
    for scale in belief.scale:
        unit = np.sqrt(np.diagonal(scale))
        values = (scale / np.outer(unit, unit))[i, j]
        best = np.argsort(-np.abs(values), kind="stable")[:MOST_CORRELATIONS]
        pairs = [Name(f"{shorten(data.names[i[k]], 40)} and {shorten(data.names[j[k]], 40)}") for k in best]
        cells.append([phrase("{}: {}", pair, fixed(values[k], 2)) for pair, k in zip(pairs, best, strict=True)])
    head = ("Class", "Strongest correlations" if len(i) > MOST_CORRELATIONS else "Correlation")
    return head, by_class(data, cells)


def gaussian_cells(belief: NormalInverseGamma, prob: float) -> tuple[list[str], list[str]]:
    """Mean and standard deviation of each class, with their intervals; NaN where the data do not settle them."""
    settled = np.where(belief.proper, 1.0, np.nan)
    with np.errstate(all="ignore"):
        lower, upper = belief.interval(prob)
        spread = np.sqrt(settled * belief.scale / belief.shape)
        means = (settled * end for end in (belief.location, lower.mean, upper.mean))
        return spans(*means), spans(spread, *(np.sqrt(settled * end) for end in (lower.variance, upper.variance)))


def bar_table(data: ColumnData, prob: float) -> Table:
    """The most probable levels of each class, or combinations of levels."""
    names, *probabilities = compute_level_bars(data, prob)
    cells = []
    for p, low, high in zip(*probabilities, strict=True):
        best = np.argsort(-p, kind="stable")[:MOST_LEVELS]
        cells.append([phrase("{}: {}", as_name(names[j], 40), percent_span(p[j], low[j], high[j])) for j in best])
    what = "Most probable combinations" if len(data.names) > 1 else "Most probable levels"
    return ("Class", "Level" if len(names) == len(data.names) == 1 else what), by_class(data, cells)


def by_class(data: ColumnData, *columns: list[Any]) -> list[Any]:
    """A row for each class that is drawn: its name, then cells."""
    names = [class_name(c, str(data.classes[k])) for c, k in enumerate(data.shown.tolist())]
    return list(zip(names, *columns, strict=True))


def undrawn(data: ColumnData, pictured: ColumnData, prob: float) -> str:
    """What the picture has no room for, and what its ellipses hold."""
    if len(data.names) > 1 and data.family.continuous:
        two = f"Of {len(data.names)} columns, the two in which the classes differ most are drawn. "
        return f"{two if pictured is not data else ''}Ellipses hold half and {in_percent(prob)} of new rows."
    if not data.family.has_levels:
        return ""
    left = len(data.levels) - len(compute_level_bars(data, prob)[0])
    what = "levels" if len(data.names) == 1 else "combinations"
    return f"{left:,} rarer {what} are not drawn." if left > 0 else ""


def weights(facts: Facts) -> Values | None:
    """The weights of a linear model that are furthest from 0 in their sds; None, where the model is not linear."""
    order = np.argsort(-facts.counts, kind="stable")[: ABREAST + 1]
    if len(order) < 2:
        return None
    try:
        form: Any = facts.model.linear_form(against=facts.model.classes_[order[0]])
    except ValueError:
        return None
    w, sd = form["w"].values[order[1:]], form["w_sd"].values[order[1:]]
    clear = np.divide(np.abs(w), sd, out=np.zeros_like(w), where=sd > 0).max(axis=0)
    shown = np.argsort(-clear, kind="stable")[:MOST_WEIGHTS].tolist()
    rows = [(as_name(name_of(form["feature"].values[k])), *map(weight, w[:, k], sd[:, k])) for k in shown]
    return {
        "against": as_name(facts.classes[order[0]], 40),
        "estimate": PLUGGED[form.attrs["estimate"]],
        "head": ["Weight of", *(as_name(facts.classes[c], 40) for c in order[1:])],
        "rows": [*rows, ("b", *map(weight, form["b"].values[order[1:]], form["b_sd"].values[order[1:]]))],
        "unlisted": w.shape[1] - len(shown),
        "other_classes": len(facts.classes) - len(order),
    }


def weight(value: float, sd: float) -> Cell:
    """A weight ± its sd."""
    return Cell(plus_minus(value, sd), value)
