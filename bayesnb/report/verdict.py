"""The top of the page, and its end: the verdict, and the model card.

The top has the verdict, the next step, the warnings and three scores. The end has the model card
(Mitchell et al. 2019, Model Cards for Model Reporting) and how the page was made, with code that
fits the model again.
"""

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

import bayesnb
from bayesnb.formatting import count, fixed, list_names, percent
from bayesnb.report.checks import WARNING, Check, find_problems, run_checks, write_remedies
from bayesnb.report.facts import Facts
from bayesnb.report.page import (
    Code,
    Items,
    Section,
    Table,
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
LITTLE = 0.1  # share of the uncertainty that more rows would remove
COLOURS = {  # all others are "fair"
    words.GOOD: "good",
    words.USABLE: "good",
    words.GUESSING: "bad",
    words.TOO_SURE: "bad",
}
MAX_IN_CARD = 6
MAX_CODE = 20_000  # characters
PACKAGES = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")


class Line(NamedTuple):
    """A judgement, the numbers behind it, and its colour."""

    claim: str
    why: str
    colour: str = ""


class Tile(NamedTuple):
    """A score with its interval, and a baseline."""

    name: str
    value: str
    baseline: str


class Verdict(NamedTuple):
    lines: Sequence[Line]
    tiles: Sequence[Tile]
    problems: Sequence[Check]


def headline(facts: Facts) -> Section:
    """Verdict, what to do next, warnings, scores and code for the advised changes."""
    remedies = write_remedies(facts)
    lines = [*judge_model(facts), Line("What to do next", find_next_step(facts))]
    source = f" of {name(facts.about.source)}" if facts.about.source else ""
    content: list = [
        f"A naive Bayes model of {count(len(facts.classes), 'class')}, fitted to "
        f"{count(len(facts.codes), 'row')} and "
        f"{count(len(facts.model.schema_.families), 'column')}{source}.",
        Verdict(lines, list_tiles(facts), find_problems(facts)),
    ]
    if remedies:
        content.append("This call fits the model again with the advised changes:")
        content.append(Code([write_code(remedies, 4000)]))
    return Section("headline", facts.title, content)


def judge_model(facts: Facts) -> list[Line]:
    """Return the verdicts on labels, on probabilities and on the test table."""
    observed = facts.observed
    verdict = facts.verdict
    if observed is None or verdict is None:
        why = "No row can be held out: without it, its class has no proper posterior."
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
    """Return the number of errors, and that of always predicting the most frequent class."""
    rows = observed.rows
    wrong, guessed = (rows - round(x * rows) for x in (observed.accuracy, observed.majority))
    if not guessed:
        return "There is only one class, so there is nothing to predict."
    sentences = [
        f"{wrong:,} of {rows:,} held-out labels {'is' if wrong == 1 else 'are'} wrong. Always "
        f"predicting {most_frequent(facts)} would be wrong {count(guessed, 'time')}."
    ]
    if verdict.missed:
        sentences.append(f"The class missed most is {verdict.missed}.")
    if verdict.labels in (words.FAIR, words.SLIGHT) and not observed.more_right.is_clear:
        sentences.append("The labels are not clearly better than that, but the probabilities are.")
    return " ".join(sentences)


def most_frequent(facts: Facts) -> str:
    """Return the most frequent class, in quotes."""
    return f"'{name(facts.classes[int(facts.counts.argmax())], 30)}'"


def explain_probabilities(observed: Observed, facts: Facts) -> str:
    """Compare the probabilities of predicted labels with how often these are right."""
    hits = facts.left_out.argmax(axis=1)[facts.answered] == facts.codes[facts.answered]
    right = float(hits.mean()) if len(hits) else 0.0
    loss = fixed(observed.log_loss, 3)
    text = (
        f"The predicted label had a mean probability of {percent(right + observed.surplus.value)} "
        f"and was right {percent(right)} of the time. The log loss is {loss}; predicting the class "
        f"shares in the other rows gives {fixed(observed.shares_loss, 3)}."
    )
    if observed.is_mended_by_temper and observed.tempered_gain is not None:
        after = fixed(observed.log_loss - observed.tempered_gain.value, 3)
        text += f" temper='loo' reduces the log loss from {loss} to {after}."
    return text


def find_next_step(facts: Facts) -> str:
    """Return what to do next."""
    verdict = facts.verdict
    if len(facts.classes) < 2:
        return "Add rows of another class: there is nothing to predict."
    if verdict is None or verdict.labels in (words.TOO_FEW, words.NOT_SHOWN):
        return "Collect more rows: these are too few to judge the model."
    if verdict.labels == words.GUESSING:
        return "Look for more informative columns: these hardly predict the label."
    steps = {
        words.TEMPERED: "Fit the model again with temper='loo' or temper='columns'.",
        words.TOO_SURE: "Calibrate it on held-out rows, for example with CalibratedClassifierCV.",
    }
    step = steps.get(verdict.probabilities, "")
    warned = [f"'{each.name}'" for each in find_problems(facts) if each.state == WARNING]
    if warned or step:
        look = f"See the advice on {list_names(warned, MAX_NAMED)}." if warned else ""
        return f"{step} {look}"
    if not isinstance(facts.uncertainty, str):
        entropy = facts.uncertainty["entropy"].mean()
        if entropy < CERTAIN:
            return "Score the model on a test table: the held-out scores show no problem."
        share = facts.uncertainty["epistemic"].mean() / entropy
        if share > LITTLE:
            return (
                f"Collect more rows: by the model's estimate, they would remove {percent(share)} "
                "of the uncertainty about labels. Better columns would help with the rest."
            )
    return "Look for better columns: the classes overlap, so more rows would hardly help."


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
        "Accuracy": f"{percent(observed.majority)} for always predicting {most_frequent(facts)}",
        "Log loss": f"{fixed(observed.shares_loss, 3)} for the class shares in the other rows",
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


def card(facts: Facts) -> Section:
    """What the model is for, what it was fitted to, how good it is, and its limits."""
    about = facts.about
    counts = facts.counts
    shares = []
    for c in np.argsort(-counts, kind="stable"):
        shares.append(f"{name(facts.classes[c], 40)} {percent(counts[c] / counts.sum())}")
    warned = [check.name for check in run_checks(facts) if check.state == WARNING]
    verdict = str(facts.verdict or "not known")
    terms = [
        ("Model", f"{name(facts.title)}: naive Bayes. {name(about.author)} {name(about.date)}"),
        ("Intended use", name(about.use, 4000) or "Not stated."),
        ("Data", f"{count(len(facts.codes), 'row')}: {list_names(shares, MAX_IN_CARD)}."),
        ("Verdict", f"{verdict[0].upper()}{verdict[1:]}."),
        (
            "Limits",
            "The scores apply to new rows from the same source. The model describes association, "
            "not causation: it cannot tell what would happen if someone changed a column. Open "
            f"warnings: {list_names(warned, MAX_IN_CARD) or 'none'}.",
        ),
    ]
    return Section("card", "Model card", [Items(terms)])


def made(facts: Facts) -> Section:
    """Versions, command, and code that fits the model again."""
    call = write_code(write_value(facts.model), MAX_CODE)
    names = sorted(set(re.findall(r"\b([A-Z]\w+)\(", call)).intersection(bayesnb.__all__))
    code = [
        f"from bayesnb import {', '.join(names)}",
        "from bayesnb.report import report",
        "",
        f"model = {call}.fit(X, y)",
        "html = report(model, X, y)",
    ]
    versions = {
        "Package": [*PACKAGES, "Python"],
        "Version": [*map(version, PACKAGES), platform.python_version()],
    }
    command = write_code(facts.about.command, 4000)
    content = [
        "All random numbers have fixed seeds: the same table, settings and versions give the same "
        "page, except for its date, on the same kind of machine. In Python, with a table X and "
        "labels y:",
        Code(code),
        *(["This command made the page:", Code([command])] if command else []),
        Table("Versions", versions),
    ]
    return Section("made", "How this page was made", content)


def write_value(value: Any) -> str:
    """Return a value as Python code, including estimators, families, priors and arrays."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        items = []
        for key, each in value.items():
            items.append(f"{write_value(key)}: {write_value(each)}")
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        start, end = "()" if isinstance(value, tuple) else "[]"
        return start + "".join(f"{write_value(each)}, " for each in value) + end
    if hasattr(value, "get_params"):
        defaults = type(value)().get_params(deep=False)
        return write_call(value, defaults)
    if is_dataclass(value):
        defaults = {field.name: field.default for field in fields(value) if field.init}
        return write_call(value, defaults)
    return repr(value)


def write_call(value: Any, defaults: Mapping[str, Any]) -> str:
    """Return the call that creates a value, with the arguments that differ from the defaults."""
    renamed = getattr(value, "renamed", {})
    args = []
    for key, default in defaults.items():
        part = getattr(value, key)
        if repr(part) != repr(default):
            args.append(f"{renamed.get(key, key)}={write_value(part)}")
    return f"{type(value).__name__}({', '.join(args)})"
