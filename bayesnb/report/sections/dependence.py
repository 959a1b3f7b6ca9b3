"""Where independence fails: pairs of columns that depend on each other within the classes."""

from bayesnb import plots
from bayesnb.report.facts import Facts
from bayesnb.report.facts.asked import MOST_PAIRED
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.sections.remedies import jointly, tempering
from bayesnb.report.wording import brief, count, nats

MOST = 12  # pairs
STRONG = 3.0  # nats


def dependence(facts: Facts) -> str:
    """The map of all pairs, and the strongest in words."""
    found = facts.asked.dependence
    if found is None:
        why = text(brief(facts.advice.reworded(facts.asked.why_no_dependence), 400))
        return paragraph(
            "Naive Bayes takes the columns of a class to be independent.", f"Here no pair is judged: {why}"
        )
    ax = plots.plot_dependence(found)
    about = "A map of all pairs of columns: how strongly the data speak for a dependence. The strongest are listed."
    return (
        paragraph(
            "Naive Bayes takes the columns to be independent of each other once the class is known. For every pair "
            "the log Bayes factor weighs that against a joint distribution of the two: above 0 the data speak for a "
            "dependence within the classes.",
            together(facts),
            some(facts),
        )
        + verdict(facts)
        + f"<figure class='map'>{plots.svg(ax, about, 'dependence')}</figure>"
        + strongest(facts)
    )


def together(facts: Facts) -> str:
    """What there is to say of columns that are modelled jointly."""
    if not any(own.joint for own in facts.columns.features):
        return ""
    return "Columns of one block are modelled jointly: the map shows them too, but their dependence is learnt."


def some(facts: Facts) -> str:
    """Whether all columns were paired."""
    left = len(facts.columns.parts(facts.columns.features)) - len(facts.asked.paired)
    if not left:
        return ""
    which = "the most relevant" if facts.columns.relevance is not None else "the first"
    return f"Compared are {which} {MOST_PAIRED} columns; {left:,} others are not."


def verdict(facts: Facts) -> str:
    """What it does to the probabilities, and what to do."""
    pairs = facts.asked.pairs
    strong = sum(value > STRONG for *_, value in pairs)
    if facts.asked.nothing_independent:
        return paragraph(
            "<strong>Nothing is taken to be independent here:</strong> all columns are one block, modelled jointly."
        )
    if not pairs:
        return paragraph("No pair of these columns can be compared.")
    if not strong:
        return paragraph(
            f"<strong>None of {count(len(pairs), 'pair')} has strong evidence for a dependence:</strong> the "
            "assumption holds for them as far as these rows can tell."
        )
    have = "has" if strong == 1 else "have"
    said = f"<strong>{strong:,} of {count(len(pairs), 'pair')} {have} strong evidence for a dependence.</strong>"
    twice = "What such columns say alike is counted twice, which can make probabilities too extreme."
    return paragraph(said, twice, mend(facts))


def mend(facts: Facts) -> str:
    """What was done about it, or what can be."""
    model = facts.model
    if model.temper == "loo":
        return (
            f"This model was fitted with {text(facts.advice.temper)}: what the columns say is raised to the power "
            f"{model.temper_:.3g}, under which held-out labels are the most probable."
        )
    return f"{text(tempering(facts))} {text(jointly(facts, STRONG))}"


def strongest(facts: Facts) -> str:
    """The pairs with the most evidence."""
    rows = [
        (text(brief(a.name, 40)), text(brief(b.name, 40)), nats(value))
        for a, b, value in facts.asked.pairs[:MOST]
        if value > 0
    ]
    head = ("Column", "and", "Log Bayes factor")
    return table("Pairs that depend on each other within the classes", head, rows, "sortable") if rows else ""
