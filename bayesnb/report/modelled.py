"""What was modelled: rows, classes, columns, families, priors in words and numbers, and what was not used."""

import numpy as np

from bayesnb.families import Dirichlet
from bayesnb.report.facts import MOST_FEATURES, Facts, Feature
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.words import FAMILIES, count, fixed, percent, spelled, times, worth

MOST_CLASSES = 12  # are listed


def modelled(facts: Facts) -> str:
    """Rows, classes, columns, priors, evidence."""
    notes = "".join(paragraph(text(note)) for note in facts.about.notes)
    return (
        paragraph(
            "The model looks at one column at a time. For every class it learns which values the column usually has, "
            "and it multiplies what the columns say.",
            "A missing cell says nothing: it is left out, and the rest of its row still counts.",
        )
        + notes
        + dropped(facts)
        + classes(facts)
        + class_prior(facts)
        + "<h3>Columns</h3>"
        + columns(facts)
    )


def classes(facts: Facts) -> str:
    """How many rows each class has; of many classes, the most frequent."""
    counts, labels = facts.counts, facts.classes
    most = np.arange(len(counts))
    if len(counts) > MOST_CLASSES:
        most = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    rows = [(text(labels[c]), f"{counts[c]:,}", percent(counts[c] / counts.sum())) for c in most]
    left = len(counts) - len(most)
    rest = paragraph(f"{count(left, 'class')} more, with {count(counts.sum() - counts[most].sum(), 'row')}.")
    return table("Classes", ("Class", "Rows", "Share"), rows, "counts") + (rest if left else "")


def dropped(facts: Facts) -> str:
    names = facts.dropped
    return paragraph(f"Not used: {', '.join(map(text, names))}.") if names else ""


def class_prior(facts: Facts) -> str:
    """How often each class was expected."""
    prior = facts.model.model_.prior.classes
    if not isinstance(prior, Dirichlet):
        said = "How frequent the classes are was given, not learnt:"
        each = zip(facts.classes, prior.mean(), strict=True)
        return paragraph(said, ", ".join(f"{text(label)} {percent(p)}" for label, p in each) + ".")
    return paragraph(
        "How frequent the classes are was learnt too. Before the data, each class counted as if it had been seen "
        f"{times(prior.concentration)}."
    )


def columns(facts: Facts) -> str:
    """A row for each column: its family, missing cells, prior, evidence."""
    rows = [column_row(feature) for feature in facts.features]
    left = len(facts.model.schema_.keys) - len(rows)
    return (
        paragraph(
            "The <em>prior</em> is what was assumed before the data. A few rows' worth is soon outweighed.",
            "The <em>log evidence</em> says how well the assumptions foresaw the column: compare it between two models "
            "of the same column, where the higher one is better. Between columns it means nothing.",
        )
        + table(
            "Columns and what was assumed",
            ("Column", "Family", "Missing", "Prior", "Log evidence"),
            rows,
            "cards columns",
        )
        + (paragraph(f"The first {MOST_FEATURES} are listed; {left} more are modelled alike.") if left > 0 else "")
        + evidence(facts)
    )


def column_row(feature: Feature) -> tuple[str, ...]:
    said = "" if feature.log_evidence is None else fixed(feature.log_evidence, 1)
    kind = f"{type(feature.family).__name__}<br><small>{FAMILIES.get(feature.family.cells, '')}</small>"
    prior = f"{worth(feature.prior)}<br><small><code>{text(spelled(feature.prior))}</code></small>"
    return text(feature.name), kind, f"{feature.missing:,}", prior, said or "not defined: the prior is improper"


def evidence(facts: Facts) -> str:
    if any(feature.log_evidence is None for feature in facts.features):
        return ""
    return paragraph(f"Log evidence of the labels and all columns together: {fixed(facts.model.log_evidence_, 1)}.")
