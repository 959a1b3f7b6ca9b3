"""What the priors decide: predictions of held-out rows, had a prior been worth half, or twice, as many rows."""

from bayesnb.families.wording import MINUS, fixed
from bayesnb.report.facts import Facts
from bayesnb.report.facts.columns import Feature
from bayesnb.report.markup import details, paragraph, table, text
from bayesnb.report.wording import brief, count, percent
from bayesnb.selection.prior_strength import Change

SLIGHT, LARGE = 0.01, 0.1  # changes of a probability
FIRST = 10  # columns in a table that is open


def sensitivity(facts: Facts) -> str:
    """What halving and doubling the weight of the priors changes."""
    found = facts.asked.sensitivity
    if found is None:
        return paragraph(text(facts.advice.reworded(facts.asked.why_not_sensitive)))
    lines = [("All columns together", found.columns), ("How frequent the classes are", found.classes)]
    return (
        paragraph(
            "How much do the conclusions owe to the priors, and how much to the data? Here every prior is made worth "
            "half, and then twice, as many rows as it was; it expects the same, more or less firmly. The data stay as "
            "they are, and every row is held out.",
            "The tables say how far a row's probabilities move at most, how many predicted classes change, and what "
            "the log score of all rows gains.",
        )
        + paragraph(verdict([found.columns, found.classes, *(own for _, own in found.alone)], facts))
        + table(
            "What priors of other weight change", HEAD, [line(text(name), own) for name, own in lines], "counts weights"
        )
        + columns(found.alone, facts)
    )


HEAD = (
    "Prior of",
    "Probability moves by (points)",
    "Predictions changed",
    "Log score, half",
    "Log score, twice",
)


def verdict(turned: list[list[Change]], facts: Facts) -> str:
    """In words: how far the probabilities move, whichever of the priors is turned."""
    changes = [change for both in turned for change in both]
    largest, changed = max(own.largest for own in changes), max(own.changed for own in changes)
    rows = len(facts.codes)
    flips = "no row's predicted class" if not changed else f"the predicted class of {count(changed, 'row')} of {rows:,}"
    weight = "whichever prior has half or twice its weight, "
    moved = f"{weight}no held-out probability moves by more than {points(largest)}, and {flips} changes"
    if largest < SLIGHT:
        return f"<strong>The priors hardly matter:</strong> {moved}."
    if largest < LARGE:
        return f"<strong>The priors matter a little:</strong> {moved}."
    row = max(changes, key=lambda own: own.largest).row
    return (
        f"<strong>Some predictions lean on the priors:</strong> with half or twice the weight of one prior, or of all, "
        f"a held-out probability moves by up to {points(largest)} (row {row:,}), and {flips} changes. More rows, or a "
        "prior that one can give reasons for, would settle them."
    )


def columns(alone: list[tuple[Feature, list[Change]]], facts: Facts) -> str:
    """One column's prior at a time."""
    if not alone:
        return ""
    rows = [line(text(brief(own.name, 60)), changes) for own, changes in alone]
    left = len(facts.columns.features) - len(alone)
    which = "most relevant" if facts.columns.relevance is not None else "first"
    more = paragraph(f"The {len(alone)} {which} columns were turned one by one; {left:,} others were not.")
    found = table("One column's prior at a time", HEAD, rows, "counts weights sortable")
    found = (
        details(f"One column's prior at a time, {count(len(rows), 'column')}", found) if len(rows) > FIRST else found
    )
    return found + (more if left else "")


def line(name: str, changes: list[Change]) -> tuple[str, ...]:
    half, twice = changes
    largest, changed = max(half.largest, twice.largest), max(half.changed, twice.changed)
    return name, percent(largest).removesuffix("%").strip(), f"{changed:,}", signed(half.elpd), signed(twice.elpd)


def points(change: float) -> str:
    """Percentage points."""
    return percent(change).replace("%", "percentage points")


def signed(x: float) -> str:
    said = fixed(abs(x), 2)
    return "0" if said == "0.00" else (MINUS if x < 0 else "+") + said
