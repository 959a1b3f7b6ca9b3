"""What was modelled: rows, classes, columns, families, priors in words and numbers, and what was not used."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from bayesnb.families import Dirichlet
from bayesnb.families.family import Family
from bayesnb.families.wording import NOTHING, fixed, times
from bayesnb.report.facts import Facts
from bayesnb.report.facts.columns import Feature
from bayesnb.report.markup import Cell, details, paragraph, table, text
from bayesnb.report.wording import brief, count, described, listed, percent, spelled
from bayesnb.selection.inclusion import in_words, overstated_columns

MOST_CLASSES = 12  # are listed
MOST_NAMED = 6  # columns of a family
MOST_SHOWN = 25  # columns in a table that is open
MOST_LISTED = 1000  # columns in a table at all


def modelled(facts: Facts) -> str:
    """Rows, classes, columns, priors, evidence."""
    notes = "".join(paragraph(text(note, 4000)) for note in facts.about.notes)
    columns = count(len(facts.model.schema_.families), "column")
    return (
        paragraph(
            f"The model learnt from {count(len(facts.codes), 'row')} of {count(len(facts.classes), 'class')} and "
            f"{columns}.",
            how(facts),
            "A missing cell says nothing: it is left out, and the rest of its row still counts.",
            "A row that lacks a cell of a block teaches nothing about that block, and is predicted by what it has."
            if any(own.joint for own in facts.columns.features)
            else "",
        )
        + notes
        + dropped(facts)
        + classes(facts)
        + class_prior(facts)
        + "<h3>Columns and priors</h3>"
        + families(facts)
        + columns_of(facts)
    )


def how(facts: Facts) -> str:
    """What the model takes to be independent."""
    if not any(own.joint for own in facts.columns.features):
        return (
            "It looks at one column at a time: for every class it learns which values the column usually has, "
            "and it multiplies what the columns say."
        )
    if len(facts.columns.features) == 1:
        return "It looks at all columns at once: for every class it learns which values they usually have together."
    return (
        "It looks at one column at a time, or at a <em>block</em> of columns together: for every class it learns which "
        "values they usually have, and it multiplies what the columns and blocks say."
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
    names = [text(brief(name)) for name in facts.dropped]
    return paragraph(f"Not used: {listed(names, MOST_CLASSES)}.") if names else ""


def class_prior(facts: Facts) -> str:
    """How often each class was expected."""
    prior = facts.model.model_.prior.classes
    if isinstance(prior, Dirichlet):
        return paragraph(
            "How frequent the classes are was learnt too. Before the data, each class counted as if it had been seen "
            f"{times(prior.concentration)}."
        )
    how = "counted in the rows" if np.isfinite(getattr(prior, "rows", np.inf)) else "given, not learnt"
    each = zip(facts.classes, prior.mean(), strict=True)
    shown = [f"{text(brief(label))} {percent(p)}" for label, p in each]
    return paragraph(f"How frequent the classes are was {how}: {listed(shown, MOST_CLASSES)}.")


def families(facts: Facts) -> str:
    """A row for each family, with what was declared and what was inferred."""
    groups: dict[tuple[str, str, bool], list[Feature]] = {}
    said = declared(facts.model)
    for own in facts.columns.features:
        kind = type(own.family).__name__, described(own.family)
        groups.setdefault((*kind, is_said(own, said)), []).append(own)
    rows = [family_row(name, what, known, own) for (name, what, known), own in groups.items()]
    head = ("Family", "Columns", "Chosen", "Prior", "Names")
    return (
        paragraph(
            "The <em>prior</em> is what was assumed about every class before the data. A few rows' worth is soon "
            "outweighed; the section on the priors shows how soon.",
        )
        + table("Families of columns", head, rows, "cards families")
        + (averaged(facts) if getattr(facts.model, "average_features", None) is not None else "")
    )


def family_row(name: str, what: str, known: bool, own: list[Feature]) -> tuple[str, ...]:
    width = sum(len(each.key) if each.family.whole and isinstance(each.key, tuple) else 1 for each in own)
    priors = list(dict.fromkeys(each.family.describe(each.prior) for each in own))
    said = priors[0] if len(priors) == 1 else general(own)
    kind = f"{name}<br><small>{what}</small>"
    names = listed([text(brief(each.name)) for each in own], MOST_NAMED)
    return kind, f"{width:,}", "declared" if known else "inferred", said, names


def general(own: list[Feature]) -> str:
    """What priors that differ from column to column have in common."""
    strengths = list(dict.fromkeys(weight_of(each) for each in own))
    same = f", each worth {strengths[0]}" if len(strengths) == 1 and strengths[0] else ""
    return f"one for each column{same}; see the list"


def weight_of(feature: Feature) -> str:
    """How strong a prior of numbers is, in words."""
    said = feature.family.describe(feature.prior)
    return said.split("worth ")[-1] if "worth " in said else ""


def averaged(facts: Facts) -> str:
    return paragraph(
        "Whether a column depends on the class at all was left open: predictions are the average over all subsets of "
        f"columns, each at its posterior probability (<code>average_features="
        f"{text(brief(repr(facts.model.average_features)))}</code>). Priors are those of a column that does.",
        overstated(facts),
    )


def overstated(facts: Facts) -> str:
    """What is wrong where the average includes columns for their many levels; nothing where it does not."""
    columns = overstated_columns(facts.model.schema_, facts.model.model_)
    return text(facts.advice.reworded(in_words(columns)), 4000) if columns else ""


def declared(model: Any) -> Any:
    """The columns whose family a user chose: all of them (None), or a set of names."""
    said = getattr(model, "families", None)
    if said is None or isinstance(said, Family):
        return None
    if said == "auto":
        return set()
    names: set[Hashable] = set()
    for key in said:
        names |= {key} | (set(key) if isinstance(key, tuple) else set())
    return names


def is_said(own: Feature, said: set[Hashable] | None) -> bool:
    key = own.key
    return said is None or key in said or (isinstance(key, tuple) and own.family.whole and set(key) <= said)


def columns_of(facts: Facts) -> str:
    """A row for each column: its family, missing cells, prior, evidence."""
    shown = facts.columns.ranked[:MOST_LISTED] if len(facts.columns.features) > MOST_LISTED else facts.columns.features
    rows = [column_row(feature) for feature in shown]
    left = len(facts.columns.features) - len(rows)
    head = ("Column", "Family", "Missing", "Prior", "Log evidence")
    found = table("Columns and what was assumed", head, rows, "cards columns sortable")
    more = paragraph(f"Listed are the {len(rows):,} columns that say most; {left:,} more are modelled alike.")
    inside = (
        paragraph(
            "The <em>log evidence</em> says how well the assumptions foresaw the column: compare it between two models "
            "of the same column, where the higher one is better. Between columns it means nothing.",
        )
        + found
        + (more if left else "")
    )
    if len(rows) > MOST_SHOWN:
        inside = details(f"All {len(rows):,} columns, with their priors", inside)
    return inside + evidence(facts)


def column_row(feature: Feature) -> tuple[str, ...]:
    said = "" if feature.log_evidence is None else fixed(feature.log_evidence, 1)
    prior = (
        f"{feature.family.describe(feature.prior)}<br><small><code>{text(spelled(feature.prior), 400)}</code></small>"
    )
    missing = NOTHING if feature.words else lacking(feature)
    kind = type(feature.family).__name__
    return text(brief(feature.name)), kind, missing, prior, said or "not defined: the prior is improper"


def lacking(feature: Feature) -> str:
    """How many cells are missing, or how many rows of a block lack one."""
    return Cell(count(feature.missing, "row"), feature.missing) if feature.joint else f"{feature.missing:,}"


def evidence(facts: Facts) -> str:
    model = facts.model
    if any(own.log_evidence is None for own in facts.columns.features) or not model.class_prior_.strictly_proper.all():
        return ""
    return paragraph(f"Log evidence of the labels and all columns together: {fixed(model.log_evidence_, 1)}.")
