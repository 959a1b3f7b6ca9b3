"""Who is taken for whom: true labels against predicted ones, with the intervals of their shares."""

import numpy as np

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.families.wording import NOTHING
from bayesnb.report.facts import Facts
from bayesnb.report.facts.judged import share_of
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.wording import INTERVAL, brief, count, percent, percent_span

MOST_CONFUSED = 12  # classes in a square table; of more, there are only a picture and the commonest mistakes
MOST_PAIRS = 20
FINE = 0.02  # an interval that is worth a decimal
BROAD = 6  # classes, of more the picture is wide


def confusion(facts: Facts) -> str:
    """Held out, and on the test table."""
    judged = facts.judged
    if not judged.answered.any():
        return paragraph("Not known: no row has an answer when it is held out.")
    intro = paragraph(
        "For each true class, how many of its rows got each label, and what share of them that is: "
        f"in brackets, the {percent(INTERVAL, 0)} interval of that share on many rows of the same kind.",
        "A class of few rows has wide intervals, however good its share looks.",
    )
    held = counted(judged.log_proba, judged.codes)
    tested = "" if facts.test is None else tables(counted(*facts.test), facts, "test table")
    return intro + picture(facts) + tables(held, facts, "held out") + tested


def counted(log_proba: Array, codes: Array) -> Array:
    """Rows of each true class that got each label, `(c, c)`; rows that are impossible got none."""
    answered = log_proba.max(axis=1) > -np.inf
    seen = np.zeros((log_proba.shape[1], log_proba.shape[1]), int)
    np.add.at(seen, (codes[answered], log_proba[answered].argmax(axis=1)), 1)
    return seen


def picture(facts: Facts) -> str:
    ax = plots.plot_confusion(facts.judged.calibration)
    said = "Of the held-out rows of each class, the share that got each label. The numbers are in the tables below."
    kind = " class='broad'" if len(facts.classes) > BROAD else ""
    return f"<figure{kind}>{plots.svg(ax, said, 'confusion')}</figure>"


def tables(seen: Array, facts: Facts, where: str) -> str:
    """All pairs where they are few, and the commonest mistakes where there are more than one sees at once."""
    square = full(seen, facts, where) if len(seen) <= MOST_CONFUSED else right(seen, facts, where)
    return square + (mistakes(seen, facts, where) if len(seen) > 2 else "")


def full(seen: Array, facts: Facts, where: str) -> str:
    """A line for each true class."""
    labels = [text(brief(label)) for label in facts.classes]
    both = enumerate(zip(seen, diagonal(seen), strict=True))
    rows = [(labels[c], *(cell(c, j, own) for j in range(len(own))), last) for c, (own, last) in both]
    head = ("True label", *(f"as {label}" for label in labels), "Right")
    return table(f"True and predicted labels, {where}", head, rows, "counts")


def cell(c: int, j: int, own: Array) -> str:
    n = int(own[j])
    return f"<strong>{n:,}</strong>" if j == c else f"{n:,}" if n else '<span class="none">0</span>'


def diagonal(seen: Array) -> list[str]:
    """The share of each class that is recognised, all to the same decimals."""
    shares = [share_of(int(own[c]), int(own.sum() - own[c])) if own.sum() else None for c, own in enumerate(seen)]
    wide = max((share.upper - share.lower for share in shares if share is not None), default=1.0) > FINE
    return [NOTHING if share is None else percent_span(*share, decimals=0 if wide else 1) for share in shares]


def right(seen: Array, facts: Facts, where: str) -> str:
    """Of many classes, how well each is recognised."""
    each = zip(facts.classes, seen, diagonal(seen), strict=True)
    rows = [(text(brief(label)), f"{own.sum():,}", share) for label, own, share in each]
    return table(f"Recognised rows of each class, {where}", ("True label", "Rows", "Right"), rows, "counts sortable")


def mistakes(seen: Array, facts: Facts, where: str) -> str:
    """The commonest mistakes, with their share of the true class."""
    wrong = seen - np.diag(np.diag(seen))
    most = [divmod(int(k), len(seen)) for k in np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]]
    rows = [
        (
            text(brief(facts.classes[a])),
            text(brief(facts.classes[b])),
            f"{wrong[a, b]:,}",
            percent_span(*of_class(seen, a, b)),
        )
        for a, b in most
        if wrong[a, b]
    ]
    if not rows:
        return paragraph(f"There are no mistakes, {where}: {count(int(seen.sum()), 'row')} labelled correctly.")
    head = ("True label", "Predicted", "Rows", "Share of the class")
    return table(f"The commonest mistakes, {where}", head, rows, "mistakes sortable")


def of_class(seen: Array, a: int, b: int) -> tuple[float, float, float]:
    return share_of(int(seen[a, b]), int(seen[a].sum() - seen[a, b]))
