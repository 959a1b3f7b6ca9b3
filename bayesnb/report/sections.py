"""The sections of the page, one pure function each: facts in, HTML out."""

import platform
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from bayesnb.evaluate.scores import accuracy, log_loss
from bayesnb.families import Dirichlet
from bayesnb.report.facts import MOST_FEATURES, Facts, Feature
from bayesnb.report.markup import named, paragraph, table, text
from bayesnb.report.pictures import portrait, shown_classes
from bayesnb.report.rows import confident_mistakes, least_certain
from bayesnb.report.scores import scores
from bayesnb.report.words import (
    FAMILIES,
    INTERVAL,
    count,
    fixed,
    percent,
    spelled,
    times,
    typical,
    worth,
)

MOST_CLASSES = 12  # are listed
PARTS = ("bayesnb", "numpy", "scipy", "scikit-learn", "matplotlib")


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


def learnt(facts: Facts) -> str:
    """A picture and a table for each feature."""
    shown = shown_classes(facts)
    left = len(facts.classes) - len(shown)
    key = "".join(f"<li>{named(c, facts.classes[k])}</li>" for c, k in enumerate(shown))
    intro = paragraph(
        "For every column, what the model expects of a new row of each class: lines and bars are its predictions, "
        "shaded areas, ticks and dots the rows it learnt from.",
        "Where the classes overlap, the column cannot tell them apart.",
        f"An interval holds the true value with a probability of {percent(INTERVAL, 0)}, if the assumptions are right.",
    )
    rest = paragraph(f"The {len(shown)} most frequent classes are drawn, {left} are not.") if left else ""
    parts = (f"<h3>{text(f.name)}</h3>{portrait(f.posterior, f, facts)}" for f in facts.features)
    return intro + rest + f"<ul class='key'>{key}</ul>" + "".join(f"<section>{part}</section>" for part in parts)


def unsure(facts: Facts) -> str:
    """The rows that deserve a second look."""
    return (
        paragraph(
            "Held out again: what the model says of a row when it has learnt from all the others.",
            "Rows are counted from 0, the first under the header.",
        )
        + least_certain(facts)
        + confident_mistakes(facts)
    )


def made(facts: Facts) -> str:
    """Versions, command, date."""
    about = facts.about
    lines = [(part, version(part)) for part in PARTS] + [("Python", platform.python_version())]
    how = f"<p>Made with:</p><pre><code>{text(about.command)}</code></pre>" if about.command else ""
    return (
        (paragraph(f"Made on {text(about.date)}.") if about.date else "")
        + how
        + paragraph(
            "Nothing on this page was drawn at random: the same table, settings and versions make the same numbers.",
            f"Settings of the model: <code>{text(facts.model)}</code>.",
        )
        + table("Versions", ("Part", "Version"), [(name, text(number)) for name, number in lines], "narrow")
    )


SECTIONS: tuple[tuple[str, str, Callable[[Facts], str]], ...] = (
    ("modelled", "What was modelled", modelled),
    ("scores", "How good it is", scores),
    ("learnt", "What it learnt", learnt),
    ("rows", "Where it is unsure", unsure),
    ("made", "How this page was made", made),
)
