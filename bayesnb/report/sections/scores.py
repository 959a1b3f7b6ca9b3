"""How good the predictions are: exact leave-one-out, beside what is easier to get."""

from collections.abc import Iterator
from math import isfinite, log

from bayesnb.families.wording import fixed
from bayesnb.report.facts import Facts
from bayesnb.report.facts.judged import Judged, Line
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.sections.remedies import mends, possible, settling, tempering
from bayesnb.report.wording import INTERVAL, count, percent, percent_span, typical
from bayesnb.selection.proper_scores import Estimate

LEAST = 1e-3  # of a loss, that is shown
HARM = 0.05  # of the log loss of a constant guess; what is less, any model of noise loses
FEW = 30  # rows, of which no interval is wide enough


def scores(facts: Facts) -> str:
    """Held out, on the test table, in-sample, tempered, and without a look at the columns."""
    judged = facts.judged
    rows = [(line.name, *cells(line)) for line in lines(judged)]
    head = ("Rows", "Accuracy", "Log loss", "Brier score")
    return (
        paragraph(
            "<em>Held out</em> is the honest test: each row is predicted by the model that has seen all the other rows "
            "but not this one (leave-one-out, computed exactly).",
            "On the rows it learnt from, every model looks a little too good.",
        )
        + table(f"Scores, with {percent(INTERVAL, 0)} intervals", head, rows, "cards scores")
        + gained(facts)
        + glossary(facts)
        + paragraph(*undefined(facts))
        + paragraph(*estimate_note(facts))
    )


def lines(judged: Judged) -> Iterator[Line]:
    """The best test first, the easiest guess last."""
    if judged.tested is not None:
        yield judged.tested
    if judged.held is not None:
        yield judged.held
    yield judged.fitted
    if judged.tempered is not None:
        yield judged.tempered[1]
    yield judged.constant


def cells(line: Line) -> tuple[str, str, str]:
    return percent_span(*line.accuracy), span(line.log_loss), span(line.brier)


def span(found: Estimate) -> str:
    """A loss with its interval, if it has one."""
    if 0 < found.upper < LEAST:
        return f"under {fixed(LEAST, 3)}"
    if found.lower == found.upper:
        return fixed(found.value, 3)
    return f"{fixed(found.value, 3)} ({fixed(found.lower, 3)}\u00a0to\u00a0{fixed(found.upper, 3)})"


def gained(facts: Facts) -> str:
    """What the columns are worth: to the probabilities, to the labels, to neither."""
    judged = facts.judged
    held, most = judged.held, judged.constant.log_loss.value
    if held is None or most == 0 or not isfinite(held.log_loss.value):
        return ""
    surprise = judged.less_surprise
    if surprise.lower > 0 and held.log_loss.value < most:
        taken = percent(1 - held.log_loss.value / most, 0)
        return paragraph(f"Held out, the columns take away {taken} of the surprise that a constant guess leaves.")
    harmful = held.log_loss.lower > most and held.log_loss.value > (1 + HARM) * most
    worse = "worse" if harmful else "not clearly better"
    losses = f"their log loss of {fixed(held.log_loss.value, 3)} is {worse} than that of the best constant guess"
    losses += f", {fixed(most, 3)}"
    if judged.more_right.lower > 0:
        return paragraph(
            "<strong>The labels are better than a guess, the probabilities are not.</strong> Of the held-out labels "
            f"{percent(held.accuracy.value)} are right, and {percent(judged.constant.accuracy.value)} would be if the "
            f"most frequent class were always named; but {losses}.",
            "The probabilities are too extreme." if mends(facts) or judged.too_sure else "",
            text(tempering(facts)),
        )
    if judged.tempered is not None and judged.tempered.over_constant.lower > 0:
        return paragraph(f"The probabilities are of no help as they stand: {losses}.", text(tempering(facts)))
    if harmful:
        return paragraph(
            f"The held-out probabilities are harmful as they stand: {losses}; nor are the labels clearly more often "
            "right than the most frequent class.",
            text(tempering(facts)),
        )
    help_ = "may help, but so many rows cannot tell" if held.log_loss.value < most else "are of no help that shows"
    return paragraph(
        f"The columns {help_}: held out, the {losses.removeprefix('their ')}; nor are the labels clearly more often "
        "right than the most frequent class."
    )


def glossary(facts: Facts) -> str:
    """What the scores mean, and where their intervals come from."""
    held = facts.judged.held
    loss = ""
    if held is not None and isfinite(held.log_loss.value):
        typically = typical(held.log_loss.value)
        loss = f"Held out, it means that the true label typically had a probability of {typically}."
    few = f" Of fewer than {FEW} rows even this is too narrow." if len(facts.codes) < FEW else ""
    terms = (
        ("Accuracy", "the share of rows whose most probable label is the true one. Higher is better."),
        (
            "Log loss",
            "the mean surprise at the true label: minus the natural logarithm of the probability that it was given, in "
            "units called <em>nats</em> (0.7 for 50 %, 2.3 for 10 %). 0 is perfect; "
            f"guessing evenly among the {len(facts.classes)} classes costs {log(len(facts.classes)):.2f}. "
            f"Lower is better, and confident mistakes cost most. {loss}",
        ),
        ("Brier score", "the squared distance between the probabilities and the truth, from 0 to 2. Lower is better."),
        (
            "Intervals",
            "what the score may be on many rows of the same kind. Of the accuracy: its posterior under Jeffreys' "
            "Beta(1/2, 1/2). Of the losses: Student's t, corrected for their skewness by Hall's transformation, since "
            f"few large losses make the mean.{few}",
        ),
    )
    return f"<dl class='terms'>{''.join(f'<dt>{term}</dt><dd>{said}</dd>' for term, said in terms)}</dl>"


def undefined(facts: Facts) -> Iterator[str]:
    """Which rows have no held-out score, or an infinite one."""
    judged = facts.judged
    lost = int((~judged.defined).sum())
    if lost:
        yield (
            f"{count(lost, 'row')} cannot be held out: without the row, what is left of its class is no distribution "
            "(too few rows, or no spread, and no prior that adds any). The held-out scores are those of the others. "
            + text(settling(facts))
        )
    held = judged.held
    if held is not None and held.unanswered:
        yield (
            f"{count(held.unanswered, 'row')} would have no answer: without the row, its cells are impossible under "
            f"every class. Such rows count as labelled wrongly. {text(possible(facts))}"
        )
    if held is not None and held.impossible > held.unanswered:
        wrong = held.impossible - held.unanswered
        yield (
            f"Of {count(wrong, 'row')} the true label was said to be impossible, which costs infinitely much. "
            f"{text(possible(facts))}"
        )


def estimate_note(facts: Facts) -> Iterator[str]:
    """What is unusual about how this model predicts."""
    model = facts.model
    if model.estimate != "predictive":
        yield (
            f"The model predicts with estimate={text(repr(model.estimate))}: one value for each parameter, in every "
            "score and probability here. Intervals are those of the posterior."
        )
    if model.temper_ != 1:
        yield f"What the columns say is raised to the power {model.temper_:.3g} (temper), in every score."
    if model.average_features is not None:
        yield "Every prediction is an average over all subsets of the columns."
