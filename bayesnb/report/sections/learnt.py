"""What each column says about the class: Bayes factors of all, and portraits of those that say most."""

import numpy as np

from bayesnb import plots
from bayesnb.families.wording import NOTHING
from bayesnb.plots.column_view import shown_classes
from bayesnb.report.facts import Facts
from bayesnb.report.facts.columns import Feature
from bayesnb.report.markup import details, named, paragraph, table, text
from bayesnb.report.sections.modelled import lacking, overstated
from bayesnb.report.sections.pictures import portrait
from bayesnb.report.sections.vocabulary import vocabulary
from bayesnb.report.sections.weights import weights
from bayesnb.report.wording import INTERVAL, SURE, brief, count, nats, percent

FIRST, MOST = 12, 36  # portraits that are shown, and drawn at all
ROOM = 1_000_000  # letters that all of them may take
MOST_LISTED = 1000
WIDE = 5.0  # inches of the bars, which a phone has room for
STRONG = 3.0  # nats (Kass and Raftery 1995)


def learnt(facts: Facts) -> str:
    """How relevant each column is, and what the model expects of it."""
    return relevance(facts) + vocabulary(facts) + portraits(facts) + weights(facts)


def relevance(facts: Facts) -> str:
    """The Bayes factor of every column that it depends on the class."""
    columns = facts.columns
    if columns.relevance is None:
        why = text(brief(facts.advice.reworded(columns.why_not), 400))
        return paragraph(f"Which columns depend on the class is not known: {why}")
    single = columns.single
    intro = paragraph(
        "Does a column depend on the class at all? The <em>log Bayes factor</em> weighs two hypotheses: that each "
        "class has a distribution of its own, and that all share one.",
        "Above 0 the data speak for a dependence, below 0 against it; 3 are strong evidence, 5 very strong. Both "
        "hypotheses are of the column's family: where its shape is wrong, noise may look like evidence.",
        said(single),
    )
    if not single:
        return paragraph("All columns are words of a block of counts, which are compared below.")
    found = columns.relevance.isel(feature=[columns.relevant[own.key] for own in single])
    ax = plots.plot_relevance(found)
    about = "Log Bayes factors that each column depends on the class, as bars. All are in the table below."
    return intro + f"<figure>{plots.svg(ax, about, 'relevance', WIDE)}</figure>" + factors(facts, single)


def said(single: list[Feature]) -> str:
    """How many columns matter, in words."""
    factors = np.array([own.log_bayes_factor for own in single], float)
    strong, against = int((factors > STRONG).sum()), int((factors < 0).sum())
    things = "columns and blocks" if any(own.joint for own in single) else "columns"
    if len(factors) == 1:
        weak = "evidence against it" if against else "no strong evidence for it"
        return f"Of the only {things.rpartition(' ')[-1][:-1]} there is {'strong evidence for it' if strong else weak}."
    most = "all" if strong == len(factors) else "none" if not strong else f"{strong:,}"
    rest = f", against it for {against:,}" if against else ""
    return f"There is strong evidence for it for {most} of the {len(factors):,} {things}{rest}."


def factors(facts: Facts, single: list[Feature]) -> str:
    """Every column, the most relevant first."""
    shown = single[:MOST_LISTED]
    inclusion = facts.columns.relevance["inclusion"].values
    rows = [
        (
            text(brief(own.name)),
            nats(own.log_bayes_factor or 0.0),
            percent(min(float(inclusion[facts.columns.relevant[own.key]]), SURE)),
            kind(own),
            missing(own),
        )
        for own in shown
    ]
    head = ("Column", "Log Bayes factor", "Depends on the class", "Family", "Missing")
    left = len(single) - len(shown)
    found = table("Columns, the most relevant first", head, rows, "factors sortable")
    found += paragraph(
        "<em>Depends on the class</em> is the posterior probability that it does, if it was as likely as not before.",
        overstated(facts),
    ) + (paragraph(f"{left:,} less relevant columns are not listed.") if left else "")
    return details(f"All {len(shown):,} columns in numbers", found) if len(shown) > FIRST else found


def kind(own: Feature) -> str:
    return type(own.family).__name__


def missing(own: Feature) -> str:
    return lacking(own) if own.missing else NOTHING


def portraits(facts: Facts) -> str:
    """Pictures of what is expected in each class, the most relevant columns first."""
    single = facts.columns.single[:MOST]
    if not single:
        return ""
    shown = shown_classes(facts.counts)
    left = len(facts.classes) - len(shown)
    key = "".join(f"<li>{named(c, brief(facts.classes[k], 40))}</li>" for c, k in enumerate(shown))
    intro = paragraph(
        "For each column, what the model expects of a new row of each class: lines and bars are its predictions, "
        "shaded areas, ticks and dots the rows it learnt from.",
        "Where the classes overlap, the column cannot tell them apart.",
        f"An interval holds the true value with a probability of {percent(INTERVAL, 0)}, if the assumptions are right.",
        averaged(facts),
    )
    rest = paragraph(f"The {len(shown)} most frequent classes are drawn, {left} are not.") if left else ""
    drawn = fitting(single, facts)
    return (
        f"<h3>Column by column</h3>{intro}{rest}<ul class='key'>{key}</ul>{''.join(drawn[:FIRST])}{more(drawn, facts)}"
    )


def fitting(single: list[Feature], facts: Facts) -> list[str]:
    """As many portraits as there is room for on the page."""
    drawn: list[str] = []
    for own in single:
        if sum(map(len, drawn)) > ROOM and len(drawn) >= FIRST:
            break
        drawn.append(one(own, facts))
    return drawn


def averaged(facts: Facts) -> str:
    if getattr(facts.model, "average_features", None) is None:
        return ""
    return "They show what each class expects if the column depends on the class at all."


def more(drawn: list[str], facts: Facts) -> str:
    """The other pictures, folded, and how many columns have none."""
    every = len(facts.columns.single)
    rest, left = drawn[FIRST:], every - len(drawn)
    none = paragraph(f"{count(left, 'column')} of less relevance {'has' if left == 1 else 'have'} no picture.")
    folded = details(f"{count(len(rest), 'picture')} more", "".join(rest)) if rest else ""
    return folded + (none if left else "")


def one(own: Feature, facts: Facts) -> str:
    factor = own.log_bayes_factor
    note = "" if factor is None else f" <small>log Bayes factor {nats(factor)}</small>"
    salt = f"column-{own.b}-{own.f}"
    return f"<section><h4>{text(brief(own.name))}{note}</h4>{portrait(facts.columns.sight(own), salt)}</section>"
