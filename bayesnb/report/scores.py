"""How good the predictions are: scores, whether the probabilities can be trusted, and who is taken for whom."""

from math import log

import numpy as np

from bayesnb.evaluate.scores import accuracy, brier, log_loss
from bayesnb.families.base import Array
from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.words import NOTHING, count, percent, points, share, typical

MOST_CONFUSED = 12  # classes in a confusion table; of more, only the commonest confusions are listed


def scores(facts: Facts) -> str:
    """In-sample, held out, without columns, and on the test rows."""
    lines = [
        ("Held out, one row at a time", facts.left_out, facts.codes),
        ("On the rows it learnt from", facts.fitted, facts.codes),
        ("Class frequencies only, no columns", facts.blind, facts.codes),
    ]
    if facts.test is not None:
        lines.insert(0, (f"Test table, {count(len(facts.test[1]), 'row')}", *facts.test))
    rows = [(name, *score_cells(proba, codes)) for name, proba, codes in lines]
    return (
        paragraph(
            "<em>Held out</em> is the honest test: each row is predicted by the model that has seen all the other rows "
            "but not this one (leave-one-out, computed exactly).",
            "On the rows it learnt from, every model looks a little too good.",
            "The last line is what one gets without looking at any column.",
        )
        + table("Scores, ± one standard error", ("Rows", "Accuracy", "Log loss", "Brier score"), rows, "scores")
        + glossary(log_loss(facts.left_out, facts.codes).value, len(facts.classes))
        + trust(facts)
        + estimate_note(facts)
        + confusion(facts.left_out, facts.codes, facts, "held out")
        + ("" if facts.test is None else confusion(*facts.test, facts, "test table"))
    )


def score_cells(proba: Array, codes: Array) -> tuple[str, str, str]:
    return share(accuracy(proba, codes)), points(log_loss(proba, codes)), points(brier(proba, codes))


def glossary(loss: float, size: int) -> str:
    """What the scores mean."""
    terms = (
        ("Accuracy", "the share of rows whose most probable label is the true one. Higher is better."),
        (
            "Log loss",
            "the mean surprise at the true label. 0 is perfect; "
            f"guessing evenly among the {size} classes costs {log(size):.2f}. "
            "Lower is better, and confident mistakes cost most. "
            f"Held out, it means that the true label typically had a probability of {typical(loss)}.",
        ),
        ("Brier score", "the squared distance between the probabilities and the truth, from 0 to 2. Lower is better."),
        ("Standard error", "how much a score would typically move with other rows of the same kind."),
    )
    return f"<dl class='terms'>{''.join(f'<dt>{term}</dt><dd>{said}</dd>' for term, said in terms)}</dl>"


def trust(facts: Facts) -> str:
    """Whether the probabilities are as good as they sound."""
    sure, right = np.exp(facts.left_out.max(axis=1)), accuracy(facts.left_out, facts.codes).value
    said = (
        f"Held out, the model gave its answers a probability of {percent(sure.mean())} on average, "
        f"and {percent(right)} of them were right."
    )
    return paragraph("<strong>Can the probabilities be trusted?</strong>", said, verdict(sure, right, facts))


def verdict(sure: Array, right: float, facts: Facts) -> str:
    """Were the probabilities true, the share of right answers would have their mean, and this standard error."""
    gap, error = sure.mean() - right, np.sqrt((sure * (1 - sure)).sum()) / len(sure)
    if abs(gap) <= 2 * error:
        return "The two agree, as far as so many rows can tell."
    if gap < 0:
        return "It is more often right than it says: its probabilities are too modest."
    advice = "" if facts.model.temper == "loo" else " Fitting it with <code>temper='loo'</code> corrects for that."
    return f"It is too sure of itself: what two columns say alike is counted twice.{advice}"


def estimate_note(facts: Facts) -> str:
    """What is unusual about how this model predicts."""
    model, said = facts.model, []
    if model.estimate != "predictive":
        said.append(
            f"The model predicts with estimate={text(repr(model.estimate))}: one value for each parameter. "
            "Its held-out scores are those of the full posterior predictive."
        )
    if model.temper_ != 1:
        said.append(f"What the columns say is raised to the power {model.temper_:.3g}, in every score.")
    return paragraph(*said) if said else ""


def confusion(proba: Array, codes: Array, facts: Facts, where: str) -> str:
    """True labels against predicted ones."""
    size = len(facts.classes)
    seen = np.zeros((size, size), int)
    np.add.at(seen, (codes, proba.argmax(axis=1)), 1)
    if size > MOST_CONFUSED:
        return confusions(seen, facts, where)
    labels = [text(label) for label in facts.classes]
    rows = [(labels[c], *confusion_cells(c, own)) for c, own in enumerate(seen)]
    head = ("True label", *(f"as {label}" for label in labels), "Right")
    return table(f"True and predicted labels, {where}", head, rows, "counts")


def confusion_cells(c: int, own: Array) -> list[str]:
    def cell(j: int, n: int) -> str:
        return f"<strong>{n:,}</strong>" if j == c else f"{n:,}" if n else '<span class="none">0</span>'

    return [cell(j, n) for j, n in enumerate(own.tolist())] + [percent(own[c] / own.sum()) if own.sum() else NOTHING]


def confusions(counts: Array, facts: Facts, where: str) -> str:
    """The commonest mistakes, where a square table of classes would fill the page."""
    wrong = counts - np.diag(np.diag(counts))
    most = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = [divmod(int(k), len(counts)) for k in most]
    rows = [(text(facts.classes[a]), text(facts.classes[b]), f"{wrong[a, b]:,}") for a, b in pairs if wrong[a, b]]
    return table(f"The commonest mistakes, {where}", ("True label", "Predicted", "Rows"), rows) if rows else ""
