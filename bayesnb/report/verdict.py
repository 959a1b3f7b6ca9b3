"""The head of the page: the verdict and what to do next, warnings, and three numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bayesnb.formatting import count, fixed, list_names, percent
from bayesnb.report.checks import WARNING, Check, find_problems, write_remedies
from bayesnb.report.facts import Facts
from bayesnb.report.page import (
    Code,
    Section,
    name,
    show_interval,
    show_loss,
    show_percent,
    write_code,
)
from bayesnb.report.performance import score
from bayesnb.selection import verdict as words
from bayesnb.selection.verdict import Observed, judge

MAX_NAMED = 3
CERTAIN = 0.005  # nats, the mean entropy of labels
LITTLE = 0.1  # of the uncertainty that more rows would remove
COLOURS = {  # of others: "fair"
    words.GOOD: "good",
    words.USABLE: "good",
    words.GUESSING: "bad",
    words.TOO_SURE: "bad",
}


class Line(NamedTuple):
    """A judgement, the numbers behind it, and its colour."""

    claim: str
    why: str
    colour: str = ""


class Tile(NamedTuple):
    """A number with its interval, beside what it is without the columns, or by chance."""

    name: str
    value: str
    baseline: str


class Verdict(NamedTuple):
    lines: Sequence[Line]
    tiles: Sequence[Tile]
    problems: Sequence[Check]


def headline(facts: Facts) -> Section:
    """Verdict, what to do next, warnings, numbers and remedies."""
    remedies = write_remedies(facts)
    lines = [*judge_model(facts), Line("What to do next", find_next_step(facts))]
    source = f" of {name(facts.about.source)}" if facts.about.source else ""
    content: list = [
        f"A naive Bayes model that distinguishes {count(len(facts.classes), 'class')}. Fitted to "
        f"{count(len(facts.codes), 'row')} and "
        f"{count(len(facts.model.schema_.families), 'column')}{source}.",
        Verdict(lines, list_tiles(facts), find_problems(facts)),
    ]
    if remedies:
        content.append("One call makes the model again with these remedies:")
        content.append(Code([write_code(remedies, 4000)]))
    return Section("headline", facts.title, content)


def judge_model(facts: Facts) -> list[Line]:
    """Return the verdict on labels and on probabilities, and that on the test table."""
    observed = facts.observed
    verdict = facts.verdict
    if observed is None or verdict is None:
        why = "None of the rows can be held out: the others leave no distribution of its class."
        return [Line("Labels and probabilities: not known.", why, "bad")]
    lines = []
    for subject, judgement, why in (
        ("Labels", verdict.labels, explain_labels(observed, verdict, facts)),
        ("Probabilities", verdict.probabilities, explain_probabilities(observed, facts)),
    ):
        lines.append(Line(f"{subject}: {judgement}.", why, COLOURS.get(judgement, "fair")))
    if facts.test is not None:
        _, log_proba, codes = facts.test
        tested = Observed.of(log_proba, codes)
        right = f"{percent(tested.accuracy)} of the labels are right"
        why = str(judge(tested))
        why = f"{why[0].upper()}{why[1:]}."
        line = Line(f"Test table of {count(len(codes), 'row')}: {right}.", why)
        lines.append(line)
    return lines


def explain_labels(observed: Observed, verdict: words.Verdict, facts: Facts) -> str:
    """Return the errors beside those of naming the most frequent class."""
    rows = observed.rows
    wrong, guessed = (rows - round(x * rows) for x in (observed.accuracy, observed.majority))
    if not guessed:
        return "There is one class only, so there is nothing to tell apart."
    sentences = [
        f"{wrong:,} of {rows:,} held-out labels {'is' if wrong == 1 else 'are'} wrong. Always "
        f"answering {most_frequent(facts)} would be wrong {count(guessed, 'time')}."
    ]
    if verdict.missed:
        sentences.append(f"Missed most is the class {verdict.missed}.")
    if verdict.labels in (words.FAIR, words.SLIGHT) and not observed.more_right.is_clear:
        sentences.append("The labels are not clearly better, but the probabilities are.")
    return " ".join(sentences)


def most_frequent(facts: Facts) -> str:
    """Return the most frequent class, in quotes."""
    return f"'{name(facts.classes[int(facts.counts.argmax())], 30)}'"


def explain_probabilities(observed: Observed, facts: Facts) -> str:
    """Return what the probabilities promised and what came."""
    hits = facts.left_out.argmax(axis=1)[facts.answered] == facts.codes[facts.answered]
    right = float(hits.mean()) if len(hits) else 0.0
    loss = fixed(observed.log_loss, 3)
    text = (
        f"The predicted label was given {percent(right + observed.surplus.value)} on average, and "
        f"was right {percent(right)} of the time. The log loss is {loss}, that of the shares of "
        f"the classes in the other rows {fixed(observed.shares_loss, 3)}."
    )
    if observed.is_mended_by_temper and observed.tempered_gain is not None:
        after = fixed(observed.log_loss - observed.tempered_gain.value, 3)
        text += f" temper='loo' takes the log loss from {loss} to {after}."
    return text


def find_next_step(facts: Facts) -> str:
    """Return what to do next."""
    verdict = facts.verdict
    if len(facts.classes) < 2:
        return "Add rows of another class: there is nothing to tell apart."
    if verdict is None or verdict.labels in (words.TOO_FEW, words.NOT_SHOWN):
        return "Collect more rows: these are too few to judge the model."
    if verdict.labels == words.GUESSING:
        return "Look for columns that have to do with the label: these say hardly anything of it."
    steps = {
        words.TEMPERED: "Fit the model again with temper='loo' or temper='columns'.",
        words.TOO_SURE: "Calibrate it on held-out rows, as with CalibratedClassifierCV.",
    }
    step = steps.get(verdict.probabilities, "")
    warned = [f"'{each.name}'" for each in find_problems(facts) if each.state == WARNING]
    if warned or step:
        look = f"See what helps against {list_names(warned, MAX_NAMED)}." if warned else ""
        return f"{step} {look}"
    if not isinstance(facts.uncertainty, str):
        entropy = facts.uncertainty["entropy"].mean()
        if entropy < CERTAIN:
            return "Score the model on a test table: the held-out rows leave nothing to mend."
        share = facts.uncertainty["epistemic"].mean() / entropy
        if share > LITTLE:
            return (
                f"Collect more rows: they would remove {percent(share)} of the uncertainty about "
                "labels. Better columns would help with the rest."
            )
    return "Look for better columns: the classes overlap, so more rows of this kind hardly help."


def list_tiles(facts: Facts) -> list[Tile]:
    """Return accuracy, log loss and calibration error, each beside a baseline."""
    observed = facts.observed
    result = facts.calibration
    if observed is None or isinstance(result, str):
        return []
    estimates: dict[str, Any] = score(facts.left_out, facts.codes, facts.prob)
    estimates["Calibration error"] = [
        float(result[f"ece{end}"]) for end in ("", "_lower", "_upper")
    ]
    baselines = {
        "Accuracy": f"{percent(observed.majority)} by always answering {most_frequent(facts)}",
        "Log loss": (
            f"{fixed(observed.shares_loss, 3)} by the shares of the classes in the other rows"
        ),
        "Calibration error": (
            f"a perfect model would show about {percent(float(result['ece_if_calibrated']))}"
        ),
    }
    tiles = []
    for title, baseline in baselines.items():
        show = show_loss if title == "Log loss" else show_percent
        value, _, ends = show(*estimates[title]).partition(" (")
        interval = f"\n{show_interval(facts.prob)} interval: {ends.rstrip(')')}" if ends else ""
        tiles.append(Tile(title, value, f"{baseline}{interval}"))
    return tiles
