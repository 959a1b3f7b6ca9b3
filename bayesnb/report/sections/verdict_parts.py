"""The head of the page: the verdict in two lines, warnings, three numbers beside their baselines, and all remedies."""

from math import isfinite
from typing import Any, NamedTuple

from bayesnb.formatting import count, fixed, list_names, percent, shorten
from bayesnb.report.facts import Facts
from bayesnb.report.remedies import TEMPER, Remedies, all_remedies, write_call
from bayesnb.report.sections.checks import LOOK, WARNING, checked, useless
from bayesnb.report.wording import as_name, in_percent, name_of
from bayesnb.selection import verdict as words
from bayesnb.selection.probability_scores import Estimate
from bayesnb.selection.verdict import GOOD, GUESSING, TOO_SURE, USABLE, Observed, Verdict

MOST = 6  # names of columns in a sentence
COLOURS = {GOOD: "good", USABLE: "good", GUESSING: "bad", TOO_SURE: "bad"}  # of others: "fair"
Values = dict[str, Any]


class VerdictLine(NamedTuple):
    """One line of the verdict: what is judged, how, in which colour, and by which numbers."""

    subject: str
    words: str
    colour: str
    why: str


class Tile(NamedTuple):
    """A number, its name, what it is beside, and its interval."""

    value: str
    name: str
    beside: str
    interval: str = ""


def headline(facts: Facts) -> Values:
    """Verdict, warnings, numbers and remedies."""
    observed, verdict = facts.held_out.observed, facts.held_out.verdict
    remedies = all_remedies(facts, useless(facts))
    return {
        "verdict": [] if observed is None or verdict is None else lines(observed, verdict, facts),
        "test_line": test_line(facts),
        "tiles": [] if observed is None else tiles(observed, facts),
        "problem_counts": problem_counts(facts),
        "problems": [check for state in (WARNING, LOOK) for check in checked(facts) if check.state == state],
        "remedies": sentences(remedies, facts),
        "whole": write_call(remedies, facts.X) if remedies else "",
    }


def problem_counts(facts: Facts) -> str:
    """How many warnings and remarks there are."""
    states = [check.state for check in checked(facts)]
    counts = ((states.count(WARNING), "warning"), (states.count(LOOK), "remark"))
    return ", ".join(count(n, noun) for n, noun in counts if n)


def lines(observed: Observed, verdict: Verdict, facts: Facts) -> list[VerdictLine]:
    """The verdict on labels and on probabilities."""
    return [
        VerdictLine(
            "Labels", verdict.labels, COLOURS.get(verdict.labels, "fair"), why_labels(observed, verdict, facts)
        ),
        VerdictLine(
            "Probabilities",
            verdict.probabilities,
            COLOURS.get(verdict.probabilities, "fair"),
            why_probabilities(observed, verdict, facts),
        ),
    ]


def why_labels(observed: Observed, verdict: Verdict, facts: Facts) -> str:
    """The errors beside those of naming the most frequent class; plain text."""
    rows = observed.rows
    wrong, guessed = rows - round(observed.accuracy * rows), rows - round(observed.majority * rows)
    if not guessed:
        return "There is one class only, so there is nothing to tell apart."
    errors = (
        f"{wrong:,} of {rows:,} held-out labels {'is' if wrong == 1 else 'are'} wrong. Always answering "
        f"{most_frequent(facts)} would be wrong {guessed:,} {'time' if guessed == 1 else 'times'}"
    )
    if verdict.missed:
        errors += f". Missed most is the class {verdict.missed}"
    match verdict.labels:
        case words.FAIR | words.SLIGHT if not observed.more_right.is_clear:
            return f"{errors}. The labels are not clearly better, but the probabilities do tell rows apart."
        case words.NOT_SHOWN:
            return (
                f"{errors}. So few rows cannot show whether the labels, or the probabilities, are better than a guess."
            )
        case words.TOO_FEW:
            return f"{errors}. No verdict is given on fewer than {words.FEW_ROWS} rows."
    return f"{errors}."


def most_frequent(facts: Facts) -> str:
    """The most frequent class, as plain text."""
    return repr(shorten(facts.classes[int(facts.counts.argmax())], 30))


def why_probabilities(observed: Observed, verdict: Verdict, facts: Facts) -> str:
    """What the probabilities promised and what came, or what mends them; plain text."""
    right = observed.accuracy if observed.surplus.error == float("inf") else mean_right(facts)
    promised = (
        f"The predicted label was given {percent(right + observed.surplus.value)} on average, and was right "
        f"{percent(right)} of the time"
    )
    losses = f"log loss {fixed(observed.log_loss, 3)}, that of the class shares {fixed(observed.shares_loss, 3)}"
    match verdict.probabilities:
        case words.TEMPERED:
            gain, before = observed.tempered_gain, fixed(observed.log_loss, 3)
            after = fixed(observed.log_loss - (gain.value if gain else 0), 3)
            return f"They are too extreme as they are. {TEMPER} takes the log loss from {before} to {after}."
        case words.SHARES:
            return f"They are not clearly better than the shares of the classes: {losses}."
        case words.UNSETTLED:
            return f"{promised}; {losses}. {count(observed.rows, 'row')} cannot show more."
        case words.UNEVEN:
            error, chance = (100 * observed.calibration.value, 100 * observed.calibration_by_chance)
            return (
                f"They are too high for some rows and too low for others: {fixed(error, 1)} percentage points off on "
                f"average, where chance explains at most {fixed(chance, 1)}."
            )
        case words.TOO_SURE if not observed.is_too_sure:
            return f"True labels too often had a probability close to 0: {losses}."
    return f"{promised}."


def mean_right(facts: Facts) -> float:
    """Share of right labels among the rows that have an answer when held out."""
    answered = facts.held_out.answered
    return float((facts.left_out[answered].argmax(axis=1) == facts.codes[answered]).mean())


def test_line(facts: Facts) -> str:
    """The verdict on the test table, where there is one; plain text."""
    verdict, tested = facts.held_out.test_verdict, facts.held_out.tested
    if verdict is None or tested is None:
        return ""
    right, text = percent(tested.accuracy.value), str(verdict)
    return (
        f"On the test table of {count(tested.rows, 'row')}, {right} of the labels are right. "
        f"{text[0].upper()}{text[1:]}."
    )


def tiles(observed: Observed, facts: Facts) -> list[Tile]:
    """Accuracy, log loss and calibration error, each beside what it is without columns, or by chance."""
    held = facts.held_out.held
    calibration = facts.held_out.calibration if facts.held_out.answered.any() else None
    prob = in_percent(facts.prob)
    assert held is not None  # as rows are held out
    shown = [
        Tile(
            percent(observed.accuracy),
            "Accuracy",
            f"{percent(observed.majority)} by always answering {most_frequent(facts)}",
            f"{prob} interval: {fixed(100 * held.accuracy.lower, 1)} to {fixed(100 * held.accuracy.upper, 1)}",
        ),
        Tile(
            fixed(observed.log_loss, 3),
            "Log loss",
            f"{fixed(observed.shares_loss, 3)} by the shares of the classes",
            loss_interval(held.log_loss, prob),
        ),
    ]
    if calibration is not None:
        error, lower, upper, chance = (
            fixed(100 * float(calibration[name]), 1) for name in ("ece", "ece_lower", "ece_upper", "ece_if_calibrated")
        )
        beside = f"{chance} points would be chance, were all probabilities right"
        shown.append(Tile(f"{error} points", "Calibration error", beside, f"{prob} interval: {lower} to {upper}"))
    return shown


def loss_interval(loss: Estimate, prob: str) -> str:
    """The interval of a loss, if three decimals show one."""
    low, high = fixed(loss.lower, 3), fixed(loss.upper, 3)
    return "" if low == high or not isfinite(loss.value) else f"{prob} interval: {low} to {high}"


def sentences(remedies: Remedies, facts: Facts) -> list[Any]:
    """What the remedies change, as plain text."""
    shown = []
    if remedies.dropped:
        names = list_names([shorten(name_of(key), 40) for key in remedies.dropped], MOST)
        are = "that says" if len(remedies.dropped) == 1 else "that say"
        shown.append(f"It leaves out {count(len(remedies.dropped), 'column')} {are} nothing about new rows: {names}.")
    if "temper" in remedies.params:
        shown.append("It tempers the probabilities, so that they are less extreme.")
    if "estimate" in remedies.params or "class_prior" in remedies.params:
        shown.append("It leaves no label impossible.")
    return [as_name(each, 600) for each in shown]
