"""Rows to look at: what the model says of them that has not seen them, how sure it is, and why."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.families.wording import NOTHING, fixed, number
from bayesnb.plots.waterfall_plot import height, steps_of
from bayesnb.report.facts import Facts
from bayesnb.report.facts.twins import Pick, distinct
from bayesnb.report.facts.without import Look, hasty, look
from bayesnb.report.markup import details, paragraph, table, text
from bayesnb.report.sections.evidence import surprises, weighed
from bayesnb.report.sections.shown import cells_of
from bayesnb.report.wording import INTERVAL, SURE, brief, count, percent, percent_span

MOST_ROWS, FIRST = 10, 5  # of each kind; those of them that are not folded
MOST_SAID, LEAST_SAID = 3, 0.005
CERTAIN = 1e-3  # nats of doubt about a row, which are next to none
PLAIN, UNLIKELY = 0.1, 0.01  # probabilities of a label: above, nothing is odd; below, it would be rare
WIDTH = 5.0  # inches of a picture, which a phone has room for
Say = Callable[[Look], str]


def unsure(facts: Facts) -> str:
    """The rows that deserve a second look."""

    @cache
    def seen(row: int) -> Look:
        return look(row, facts)

    return (
        paragraph(
            "Held out again: what the model says of a row when it has learnt from all the others.",
            "Intervals are left out: with so many columns, levels and classes they take too long."
            if hasty(facts)
            else f"In brackets, the {percent(INTERVAL, 0)} interval of the probability: what it may be, since so many "
            "rows leave the classes uncertain. A very lopsided one may not hold the probability, which is its mean.",
            "<em>Evidence</em> is what a cell adds to the log-odds of one label against another, ± one standard "
            "deviation: 0.7 doubles the odds, 2.3 makes them ten times as large.",
            "Rows are counted from 0, the first under the header; the same row twice is shown once.",
        )
        + mislabelled(facts, seen)
        + uncertain(facts, seen)
        + surprising(facts, seen)
    )


def mislabelled(facts: Facts, seen: Callable[[int], Look]) -> str:
    """Rows of whose label the other rows say that it is unlikely."""
    title, own = "<h3>Likely mislabelled</h3>", facts.own
    if not facts.judged.answered.any():
        return title + paragraph("Not known: no row has an answer when it is held out.")
    wrong = facts.judged.answered & (facts.left_out.argmax(axis=1) != facts.codes)
    if not wrong.any():
        return title + paragraph("No label is doubted: every held-out row that has an answer was labelled correctly.")
    order = np.flatnonzero(wrong)[np.argsort(own[wrong], kind="stable")]
    picks = distinct(order, facts, MOST_ROWS)
    said = paragraph(
        f"Another label than the given one is likelier for {count(int(wrong.sum()), 'row')}. Here are those whose "
        "label has the odds most against it. Check them first: the label itself may be wrong, or a cell.",
        expected(facts),
    )

    def measure(one: Look) -> str:
        return f"<small>{odds(float(own[one.row]))} against the label</small>"

    def why(one: Look) -> str:
        return weighed(one, (int(one.ranked[0]), int(facts.codes[one.row])), facts)

    caption = "Rows whose label is the least likely, held out"
    top = seen(picks[0].row)
    shown = picture(top, (int(top.ranked[0]), int(facts.codes[top.row])), facts, "mislabelled")
    return title + said + rows_table(caption, picks, (seen, measure, why), facts) + shown


def expected(facts: Facts) -> str:
    """Whether any label stands out, and how many labels of a small probability chance alone makes."""
    own = facts.own[facts.judged.answered]
    p, every = np.exp(facts.left_out[facts.judged.answered]), count(len(own), "held-out row")
    if own.min() > np.log(PLAIN):
        return f"None of them stands out: the odds against a label are at most {odds(float(own.min()))}."
    few = int((own < np.log(UNLIKELY)).sum())
    chance = number(float(p[p < UNLIKELY].sum()), 2)
    many = f"{few:,} of {every}" if few else f"None of {every}"
    gave = f"{many} had a label that was given under {percent(UNLIKELY, 0)}."
    return gave if not few else f"{gave} If all probabilities were right, about {chance} such rows would be expected."


def odds(log_proba: float) -> str:
    """Against a label of this log probability."""
    if log_proba == -np.inf:
        return "impossible: the odds are infinite"
    size = np.log(-np.expm1(log_proba)) - log_proba if log_proba < 0 else -np.inf
    if size > 30:
        return f"10<sup>{size / np.log(10):.0f}</sup> to 1"
    return f"{number(float(f'{np.exp(size):.2g}'), 2)} to 1"


def uncertain(facts: Facts, seen: Callable[[int], Look]) -> str:
    """The rows whose label has the largest entropy."""
    title, entropy = "<h3>Most uncertain</h3>", facts.judged.entropy
    if not np.isfinite(entropy).any():
        return title + paragraph("Not known: no row has an answer when it is held out.")
    doubted = np.flatnonzero(entropy > CERTAIN)
    if not len(doubted):
        return title + paragraph("There is next to no doubt about any row.")
    most = np.log(len(facts.classes))
    said = paragraph(
        "The rows about whose label the model is least certain: the entropy of the held-out probabilities, of at most "
        f"{number(float(most), 3)} nats. An undecided model is not a wrong one."
    )

    def measure(one: Look) -> str:
        return f"<small>{number(float(entropy[one.row]), 3)} nats</small>"

    def why(one: Look) -> str:
        return weighed(one, (int(one.ranked[0]), int(one.ranked[1])), facts)

    picks = distinct(doubted[np.argsort(-entropy[doubted], kind="stable")], facts, MOST_ROWS)
    top = seen(picks[0].row)
    shown = picture(top, (int(top.ranked[0]), int(top.ranked[1])), facts, "uncertain")
    return (
        title
        + said
        + rows_table("Rows with the most uncertain label, held out", picks, (seen, measure, why), facts)
        + shown
    )


def surprising(facts: Facts, seen: Callable[[int], Look]) -> str:
    """The rows that are least like all others."""
    title, density = "<h3>Most surprising</h3>", facts.judged.log_density
    known = np.flatnonzero(~np.isnan(density))
    if not len(known):
        return title + paragraph("Not known: the other rows leave no distribution of the cells.")
    said = paragraph(
        "The rows that are least like any class: log p(x | all other rows) is the lowest, whatever the label. "
        "Look for typing errors, other units, or a kind of row that has no class yet. Beside each row, the cells that "
        "are less expected under its likeliest label than cells of their column usually are, and by how many nats.",
        "Rows with many cells or words have more to be surprised by than rows with missing cells.",
    )
    order = known[np.argsort(density[known], kind="stable")]
    rank = {int(row): place for place, row in enumerate(order.tolist(), 1)}

    def measure(one: Look) -> str:
        log = f"log p(x) = {number(float(density[one.row]), 3)}"
        return f"<small>{ranked(rank[one.row], len(order))}; {log}</small>"

    picks = distinct(order, facts, MOST_ROWS)
    caption = "Rows least like all others, held out"
    why = surprises(facts)
    return title + said + rows_table(caption, picks, (seen, measure, why), facts, "Least expected cells")


def ranked(place: int, rows: int) -> str:
    """Its place among all rows."""
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{'the' if place == 1 else f'the {place:,}{ending}'} least usual of {count(rows, 'row')}"


def rows_table(
    caption: str,
    picks: Sequence[Pick],
    say: tuple[Callable[[int], Look], Say, Say],
    facts: Facts,
    why: str = "Evidence",
) -> str:
    """Rows with their labels, probabilities, what speaks for them, and cells."""
    seen, measure, because = say
    columns = cells_of(np.array([pick.row for pick in picks]), facts)
    lines = []
    for pick, cells in zip(picks, columns, strict=True):
        one = seen(pick.row)
        named = f"{pick.row:,}{pick.others}"
        lines.append((named, f"{labels(one, facts)}<br>{measure(one)}", probabilities(one, facts), cells, because(one)))
    head = ("Row", "Label", "Probabilities", "Cells", why)
    first = FIRST if len(lines) > FIRST + 1 else len(lines)
    rest = table(f"{caption}, continued", head, lines[first:], "cards rows")
    folded = details(f"{len(lines) - first} more rows", rest) if lines[first:] else ""
    return table(caption, head, lines[:first], "cards rows") + folded


def labels(one: Look, facts: Facts) -> str:
    """The given label, and the predicted one where it is another."""
    own, best = int(facts.codes[one.row]), int(one.ranked[0])
    given = text(brief(facts.classes[own]))
    if not np.isfinite(one.log_proba[best]):
        return f"{given}<br><small>no prediction</small>"
    return (
        given if own == best else f'{given}<br><span class="wrong">predicted {text(brief(facts.classes[best]))}</span>'
    )


def probabilities(one: Look, facts: Facts) -> str:
    """The two most probable labels, a third that is not negligible, and always the given one, with intervals."""
    if not np.isfinite(one.log_proba.max()):
        return NOTHING
    p = np.exp(one.log_proba)
    best = one.ranked[: min(MOST_SAID, max(2, int((p > LEAST_SAID).sum())))].tolist()
    own = int(facts.codes[one.row])
    return "<br>".join(probability(c, p, one, facts) for c in (best if own in best else [*best, own]))


def probability(c: int, p: Array, one: Look, facts: Facts) -> str:
    low, high = float(one.lower[c]), float(one.upper[c])
    plain = np.isnan(low) or fixed(100 * low, 1) == fixed(100 * high, 1)
    own = min(float(p[c]), SURE) if (one.log_proba > -np.inf).sum() > 1 else float(p[c])
    shown = percent(own) if plain else percent_span(own, low, high)
    return f"{text(brief(facts.classes[c]))}: {shown}"


def picture(one: Look, pair: tuple[int, int], facts: Facts, salt: str) -> str:
    """The whole account of one row, where there is one."""
    if one.explained is None or pair[0] == pair[1]:
        return ""
    gap = np.asarray(one.explained["evidence"])[list(pair)]
    start = np.asarray(one.explained["class_term"])[list(pair)]
    if not (np.isfinite(gap).all() and np.isfinite(start).all()):
        return ""
    names = [one.explained["class"].values.tolist()[c] for c in pair]
    said = f"Row {one.row}: what each column adds to the log-odds of {brief(names[0])} against {brief(names[1])}."
    ax = plots.new_axes(height(steps_of(one.explained, names), WIDTH), WIDTH)
    plots.plot_waterfall(one.explained, classes=names, ax=ax)
    return f"<figure>{plots.svg(ax, said, salt)}</figure>"
