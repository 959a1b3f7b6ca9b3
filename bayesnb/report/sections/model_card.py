"""A model card: what the model is for, what it learnt from, how good it is, and where it should not be relied on.

Mitchell et al. (2019), Model Cards for Model Reporting.
"""

from typing import Any

from bayesnb.formatting import count, list_names, percent, shorten
from bayesnb.report.facts import Facts
from bayesnb.report.html import Name
from bayesnb.report.sections.checks import WARNING, checked
from bayesnb.report.wording import as_name

FEW = 30  # rows of a class, below which scores of it are rough
MOST = 6
Values = dict[str, Any]


def card(facts: Facts) -> Values:
    """The lines of the card: names, and paragraphs."""
    about = facts.about
    return {
        "title": as_name(facts.title),
        "author": Name(about.author, 400),
        "use": Name(about.use, 4000),
        "how": "use='...'",
        "data": data(facts),
        "verdict": "" if facts.held_out.verdict is None else str(facts.held_out.verdict),
        "limits": [Name(each, 1000) for each in limits(facts)],
    }


def data(facts: Facts) -> list[Any]:
    """What the model learnt from, in sentences."""
    counts, source = facts.counts, f" of {facts.about.source}" if facts.about.source else ""
    missing = sum(feature.missing for feature in facts.features.all)
    columns = f"{count(len(facts.model.schema_.families), 'column')}"
    order = sorted(range(len(counts)), key=lambda c: -counts[c])
    shares = [f"{shorten(facts.classes[c], 40)} {percent(counts[c] / counts.sum())}" for c in order]
    sentences = [
        f"{count(len(facts.codes), 'row')} and {columns}{source}; {missing:,} missing cells.",
        f"Classes: {list_names(shares, MOST)}.",
    ]
    return [Name(each, 1000) for each in [*sentences, *facts.about.notes]]


def limits(facts: Facts) -> list[str]:
    """Where the model should not be relied on, as far as the rows show it; plain text."""
    few = [shorten(label, 40) for label, rows in zip(facts.classes, facts.counts, strict=True) if rows < FEW]
    shown = [
        "The scores hold for new rows from the same source as the training rows. If the rows change over time, or come "
        "from elsewhere, score the model again.",
        f"It can only answer with one of the {count(len(facts.classes), 'class')} that it learnt.",
        "It describes how columns and labels occur together, not what would happen if someone changed a column.",
    ]
    if few:
        shown.append(f"Fewer than {FEW} rows: {list_names(few, MOST)}. Scores of these classes are rough.")
    warned = [check.name for check in checked(facts) if check.state == WARNING]
    if warned:
        shown.append(f"Open warnings: {list_names(warned, MOST)}.")
    return shown
