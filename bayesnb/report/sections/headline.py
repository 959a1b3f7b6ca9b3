"""The result in three numbers and two sentences."""

from math import exp

from bayesnb.families.wording import fixed
from bayesnb.report.facts import Facts
from bayesnb.report.facts.judged import Judged, Line
from bayesnb.report.markup import paragraph, text
from bayesnb.report.wording import INTERVAL, count, percent
from bayesnb.selection.proper_scores import Estimate


def headline(facts: Facts) -> str:
    """The result in three numbers and two sentences."""
    judged, source = facts.judged, f" in {text(facts.about.source)}" if facts.about.source else ""
    columns = count(len(facts.model.schema_.families), "column")
    lead = paragraph(
        f"A naive Bayes model learnt to tell {count(len(facts.classes), 'class')} apart from "
        f"{count(len(facts.codes), 'row')} and {columns}{source}.",
        *shown(judged),
    )
    said = "".join(f"<div><dt>{what}</dt><dd>{value}</dd></div>" for value, what in tiles(judged))
    return f'<div class="lead">{lead}</div><dl class="tiles">{said}</dl>'


def shown(judged: Judged) -> list[str]:
    """How often it was right, and how often one is right who knows no column."""
    blind = (
        f"always naming the most frequent class would be right {percent(judged.constant.accuracy.value)} of the time."
    )
    if judged.held is None:
        return ["None of its rows can be held out: the others leave no distribution of its class."]
    said = [f"Shown a row that it had not seen, it was right {percent(judged.held.accuracy.value)} of the time;", blind]
    if judged.tested is not None:
        right = percent(judged.tested.accuracy.value)
        said.append(f"Of the {count(judged.tested.rows, 'row')} of the test table it labelled {right} correctly.")
    return said


def tiles(judged: Judged) -> list[tuple[str, str]]:
    """Three numbers with their intervals."""
    if judged.held is None:
        return [(fixed(judged.facts.model.stats_.classes.counts.sum(), 0), "rows, none of which can be held out")]
    held, wrong = judged.held, judged.held.rows - round(judged.held.accuracy.value * judged.held.rows)
    right = held.accuracy
    ends = f"{fixed(100 * right.lower, 1)} to {fixed(100 * right.upper, 1)}"
    return [
        (percent(right.value), f"of held-out rows labelled correctly ({percent(INTERVAL, 0)} interval: {ends})"),
        (percent(exp(-held.log_loss.value)), f"typical probability given to the true label{typical_ends(held)}"),
        (f"{wrong:,} of {held.rows:,}", "rows labelled wrongly when held out"),
    ]


def typical_ends(line: Line) -> str:
    """The interval of the geometric mean of the probabilities given to the true labels."""
    loss: Estimate = line.log_loss
    low, high = fixed(100 * exp(-loss.upper), 1), fixed(100 * exp(-loss.lower), 1)
    if low == high:
        return ""
    return f" ({percent(INTERVAL, 0)} interval: {low} to {high})"
