"""The words of a block of counts: which of them speak for which class, and how sure that is."""

import numpy as np

from bayesnb import plots
from bayesnb.families.wording import fixed, number
from bayesnb.plots.column_view import shown_classes
from bayesnb.plots.words_plot import Speaking, draw_words, speaking
from bayesnb.report.facts import Facts
from bayesnb.report.markup import named, paragraph, table, text
from bayesnb.report.wording import INTERVAL, brief, nats, percent

MOST = 10  # words of a class
STRONG = 3.0  # nats


def vocabulary(facts: Facts) -> str:
    """Pictures and a table of the words that speak for each class; nothing, where there is no block of counts."""
    blocks = facts.columns.blocks
    if not blocks:
        return ""
    if len(facts.classes) < 2:
        return paragraph("Words are compared between classes, and there is only one.")
    places = shown_classes(facts.counts).tolist()
    found = speaking(facts.model, places, MOST, INTERVAL)
    schema = facts.model.schema_
    widest = max(blocks, key=lambda own: len(schema.blocks[own.b].words))
    wide = sum(int(one.wide.sum()) for one in found)
    intro = paragraph(
        "For every class the words that it uses more often than all other classes together.",
        f"A dot is how many times as often, its line the {percent(INTERVAL, 0)} interval; words are in the order of "
        "its lower end, so that one seen a few times does not come first by chance.",
        f"Where an interval spans more than a factor of ten, as {wide} of these do, the dot is hollow: how many times "
        "as often is hardly known, as one side shows the word rarely or never."
        if wide
        else "",
    )
    left = len(facts.classes) - len(places)
    rest = paragraph(f"The {len(places)} most frequent classes are drawn, {left} are not.") if left else ""
    return (
        f"<h3>Words that tell the classes apart</h3>{intro}{factor(widest.log_bayes_factor)}{rest}"
        + f"<div class='panels'>{''.join(panel(c, one, facts) for c, one in enumerate(found))}</div>"
        + words_table(found, facts)
    )


def factor(value: float | None) -> str:
    if value is None:
        return ""
    verdict = f"speaks {'for' if value > 0 else 'against'} it" if abs(value) > STRONG else "leaves that open"
    return paragraph(
        f"Do the classes use the words differently at all? The log Bayes factor of the whole block, {nats(value)}, "
        f"{verdict}."
    )


def panel(c: int, one: Speaking, facts: Facts) -> str:
    label = facts.classes[one.place]
    ax = plots.new_axes(0.95 + 0.2 * max(len(one.words), 2), 3.65)
    draw_words(ax, one, c)
    said = f"Words that speak for {brief(label)}, as dots with intervals. The numbers are in the table below."
    picture = plots.svg(ax, said, f"words-{one.place}")
    return f"<figure><figcaption>{named(c, brief(label, 40))}</figcaption>{picture}</figure>"


def words_table(found: list[Speaking], facts: Facts) -> str:
    rows = []
    for one in found:
        for j, word in enumerate(one.words):
            ends = [times(float(np.exp(min(end[j], 700.0)))) for end in (one.ratio, one.lower, one.upper)]
            mark = " <small>(wide)</small>" if one.wide[j] else ""
            said = f"{ends[0]} ({ends[1]} to {ends[2]}){mark}"
            seen = (number(float(one.counts[j]), 6), number(float(one.rest[j]), 6))
            rows.append((text(brief(str(word), 40)), text(brief(facts.classes[one.place], 40)), said, *seen))
    head = ("Word", "Speaks for", "Times as often", "In the class", "Elsewhere")
    return table(f"Words and how many times as often, {percent(INTERVAL, 0)} intervals", head, rows, "sortable")


def times(x: float) -> str:
    return fixed(x, 1 if x < 9.95 else 0) if x < 1e6 else number(x)
