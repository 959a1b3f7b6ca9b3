"""The result in three numbers and two sentences."""

from bayesnb.evaluate.scores import accuracy, log_loss
from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, text
from bayesnb.report.words import count, percent, typical


def headline(facts: Facts) -> str:
    """The result in three numbers and two sentences."""
    right, loss, blind = (
        accuracy(facts.left_out, facts.codes).value,
        log_loss(facts.left_out, facts.codes).value,
        accuracy(facts.blind, facts.codes).value,
    )
    wrong = int((facts.left_out.argmax(axis=1) != facts.codes).sum())
    source = f" in {text(facts.about.source)}" if facts.about.source else ""
    columns = count(len(facts.model.families_), "column")
    lead = paragraph(
        f"A naive Bayes model learnt to tell {count(len(facts.classes), 'class')} apart from "
        f"{count(len(facts.codes), 'row')} and {columns}{source}.",
        f"Shown a row that it had not seen, it was right {percent(right)} of the time;",
        f"always naming the most frequent class would be right {percent(blind)} of the time.",
    )
    tiles = (
        (percent(right), "of held-out rows labelled correctly"),
        (typical(loss), "typical probability given to the true label"),
        (f"{wrong:,} of {len(facts.codes):,}", "rows labelled wrongly when held out"),
    )
    said = "".join(f"<div><dt>{what}</dt><dd>{value}</dd></div>" for value, what in tiles)
    return f'<div class="lead">{lead}</div><dl class="tiles">{said}</dl>'
