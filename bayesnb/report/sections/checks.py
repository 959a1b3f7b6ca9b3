"""Warnings, as small named checks: each looks for one problem, and says in a sentence what to do about it."""

from collections.abc import Callable, Hashable, Iterable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.held_out_scores import warn_of_width
from bayesnb.criticism.tune import Bound
from bayesnb.criticism.wording import DROP_COPIES, TEST_TABLE
from bayesnb.data.checks import RANGES, describe_numeric_labels
from bayesnb.estimators.tempering import in_words
from bayesnb.formatting import count, list_names, percent, shorten
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import ModelledColumn
from bayesnb.report.facts.irregularities import ColumnCounts
from bayesnb.report.remedies import (
    declare_columns,
    drop_columns,
    is_tempered_by_rows,
    jointly,
    mends,
    possible,
    tempering,
)
from bayesnb.report.wording import stated

OK, LOOK, WARNING, SKIPPED = "ok", "look", "warning", "not done"
FEW = 10  # rows of a class
MOSTLY = 0.5  # of a column's cells: levels that no other row has, which are no help with new rows; of a class: recall
RESERVE = "or keep a level for them: Categorical with unseen='reserve'"
NEW = 0.05  # of new rows that will hold a level that was never seen
STRONG = 3.0  # nats
MOST = 4  # names in a sentence
UNLOOKED = "words are not checked one by one, and there are no other columns"


class Check(NamedTuple):
    """Result of a check: what was looked for, how it stands, what was seen, and what to do. All plain text."""

    name: str
    state: str
    what: str = ""
    advice: str = ""


CHECKS: list[Callable[[Facts], Check]] = []


def check(name: str, by_column: bool = False) -> Callable[[Callable[[Facts], tuple[str, ...]]], Any]:
    """Decorate a function of facts that returns the state, what was seen and advice: a check of this name.

    One that looks at columns one by one is skipped where all are words.
    """

    def decorate(look: Callable[[Facts], tuple[str, ...]]) -> Callable[[Facts], Check]:
        @wraps(look)
        def run(facts: Facts) -> Check:
            skipped = by_column and not facts.irregular.columns
            return Check(name, *((SKIPPED, UNLOOKED) if skipped else look(facts)))

        CHECKS.append(run)
        return run

    return decorate


def named(columns: Iterable[tuple[Any, str]], most: int = 40) -> str:
    """The first names of columns or classes, each with a remark in brackets."""
    shown = [(shorten(str(getattr(each, "name", each)), most), remark) for each, remark in columns]
    return list_names([f"{name} ({remark})" if remark else name for name, remark in shown], MOST)


@check("Classes with few rows")
def tiny_class(facts: Facts) -> tuple[str, ...]:
    counts = facts.counts
    order = np.argsort(counts, kind="stable")
    few = [c for c in order.tolist() if counts[c] < FEW]
    if not few:
        return OK, f"every class has {int(counts.min()):,} rows or more"
    names = named((facts.classes[c], f"{counts[c]:,}") for c in few)
    return (
        WARNING if counts[few[0]] < 2 else LOOK,
        f"{count(len(few), 'class')} with fewer than {FEW} rows: {names}.",
        "Collect more rows, or merge these classes with similar ones: their predictions rest on few rows and on the "
        "prior.",
    )


@check("Numbers as labels")
def numeric_labels(facts: Facts) -> tuple[str, ...]:
    """Labels that are amounts rather than classes."""
    what = describe_numeric_labels(facts.model.classes_)
    return (LOOK, what, RANGES) if what else (OK, "the labels are not many different numbers")


@check("Impossible labels")
def impossible(facts: Facts) -> tuple[str, ...]:
    rows = np.flatnonzero(~np.isfinite(facts.label_log_proba))
    if not len(rows):
        return OK, "every held-out label had a probability above 0"
    return (
        WARNING,
        f"When held out, {count(len(rows), 'row')} had a label with probability 0, or no prediction at all (first: row "
        f"{rows[0]:,}).",
        possible(facts),
    )


@check("Missed classes")
def missed(facts: Facts) -> tuple[str, ...]:
    """Classes of which most rows get another label."""
    observed = facts.held_out.observed
    if observed is None:
        return SKIPPED, "no row has a held-out label"
    worst = observed.missed
    if worst is None:
        return OK, "every held-out label was right"
    name = worst.describe(shorten(facts.classes[worst.code], 40))
    if worst.recall >= MOSTLY or len(facts.classes) < 2:
        return OK, f"missed most is {name}"
    advice = "If a miss costs more than a false alarm, decide by costs instead of by the most probable label"
    how = ": see 'ROC, precision-recall and threshold'." if len(facts.classes) == 2 else ": model.decide(X, loss=...)."
    return WARNING, f"Most rows of a class get another label: {name}.", advice + how


@check("Overconfident probabilities")
def overconfident(facts: Facts) -> tuple[str, ...]:
    answered, tempered, observed = facts.held_out.answered, facts.held_out.tempered, facts.held_out.observed
    if observed is None or not answered.any():
        return SKIPPED, "no row has a held-out probability"
    mean = float(np.exp(facts.left_out[answered].max(axis=1)).mean())
    sure, right = percent(mean), percent(mean - observed.surplus.value)
    if not observed.is_too_sure:
        than = f"The mean probability, {sure}, is above that by no more than chance"
        than = than if observed.surplus.value > 0 else f"The mean probability is not above that: {sure}"
        return OK, f"{right} of the held-out predictions are right. {than}"
    advice, calibrate = tempering(facts), "Calibrate on held-out rows, for example with scikit-learn's"
    if is_tempered_by_rows(facts):
        advice = f"{calibrate} CalibratedClassifierCV: tempering was not enough."
    elif tempered is not None and not mends(facts):
        advice += f" {calibrate} CalibratedClassifierCV."
    return (
        WARNING,
        f"Held-out predictions have a mean probability of {sure}, but only {right} are right.",
        advice,
    )


@check("Columns that separate classes perfectly", by_column=True)
def separated(facts: Facts) -> tuple[str, ...]:
    """Columns that alone tell a class from all others may be too good to be true."""
    flagged = [(column, counts) for column, counts in facts.irregular.columns if counts.separated]
    if not flagged:
        return OK, f"no single column{scope(facts)} separates a class from all others more clearly than chance would"
    present = int((facts.counts > 0).sum())
    all_apart = [
        (column, "")
        for column, counts in flagged
        if len(counts.separated) >= max(present - 1, 1) and counts.classes == present > 1
    ]
    columns = len(all_apart or flagged)
    alone = "One column separates" if columns == 1 else f"Each of {columns} columns separates"
    if all_apart:
        return (
            WARNING,
            f"{alone} all classes without an error, wherever it is not missing: {named(all_apart)}.",
            "Check when and how the column was recorded. If that was after the label was known, or the column was "
            "derived from the label, drop it: new rows will not have it.",
        )
    classes = ((column, [shorten(facts.classes[c], 30) for c in counts.separated]) for column, counts in flagged)
    names = named((column, list_names(labels, 2)) for column, labels in classes)
    return (
        LOOK,
        f"{alone} one class from all others without an error, wherever it is not missing: {names}.",
        "If the column was measured before the label was known, this is good news. If it was recorded later, or "
        "derived from the label, drop it.",
    )


@check("Identifier columns", by_column=True)
def identifiers(facts: Facts) -> tuple[str, ...]:
    """Columns that name rows instead of describing them."""
    amounts = {column.key for column, _ in facts.irregular.amounts}
    flagged = [
        column for column, counts in facts.irregular.columns if is_name(column, counts) and column.key not in amounts
    ]
    if not flagged:
        return OK, f"no column{scope(facts)} numbers the rows or has a different level in every row"
    return (
        WARNING,
        f"Different in every row, as an identifier is: {named((column, '') for column in flagged)}.",
        "An identifier cannot help to predict new rows. If it is one, "
        f"{drop_columns([column.key for column in flagged])}.",
    )


@check("Numbers read as levels")
def numbers_as_levels(facts: Facts) -> tuple[str, ...]:
    """Columns of money, percentages, thousands or units, each of which is a level."""
    flagged = facts.irregular.amounts
    if not flagged:
        return OK, "no column of levels holds amounts of money, percentages or numbers with a unit"
    names = named((column, f"{amount.what}, such as {shorten(amount.example, 30)}") for column, amount in flagged)
    example = flagged[0][1]
    return (
        WARNING,
        f"These columns are read as levels without an order: {names}.",
        f"Convert them to plain numbers, for example {shorten(example.example, 30)} to {example.plain}, and fit again.",
    )


@check("New levels")
def new_levels(facts: Facts) -> tuple[str, ...]:
    """Levels that the model does not know, or will soon meet."""
    if facts.test_X is not None:
        return unseen_in_test(facts)
    columns = facts.irregular.columns
    leveled = [(column, counts) for column, counts in columns if column.family.has_levels and counts.known]
    if not leveled:
        return OK, f"no column{scope(facts)} has levels"
    open_ = [pair for pair in leveled if pair[0].family.unseen != "reserve" and not is_name(*pair)]
    risks = [(column, counts.singles / counts.known) for column, counts in open_ if counts.singles / counts.known > NEW]
    if not risks:
        rest = ", identifiers and columns that reserve a level aside," if len(open_) < len(leveled) else ""
        share = f"at most {percent(NEW, 0)} of new rows should have a new level"
        return OK, f"in each column{scope(facts)}{rest} {share}"
    risks.sort(key=lambda each: -each[1])
    return (
        LOOK,
        f"Many levels were seen only once, so new rows will bring new levels. Expected share of such rows "
        f"(Good-Turing): {named((column, percent(risk, 0)) for column, risk in risks)}.",
        f"Merge rare levels, {RESERVE}. Otherwise, cells with a new level are ignored.",
    )


def unseen_in_test(facts: Facts) -> tuple[str, ...]:
    """Levels of the test table that the model does not know."""
    flagged = facts.irregular.unseen
    if not flagged:
        return OK, "the test table has no levels that are new to the model"
    names = named((key, f"{rows:,} cells") for key, rows in flagged)
    return (
        LOOK,
        f"The test table has levels that are new to the model: {names}. These cells are ignored.",
        f"Fit the model on rows that have them, {RESERVE}.",
    )


@check("Dependent columns")
def dependent(facts: Facts) -> tuple[str, ...]:
    """Pairs of columns whose evidence is counted twice."""
    pairs, reason = facts.comparisons.pairs, facts.comparisons.dependence
    if facts.comparisons.nothing_independent:
        return OK, "all columns are one block, which is modelled jointly"
    if not pairs:
        return SKIPPED, shorten(reason, 200) if isinstance(reason, str) else "no pair can be compared"
    strong = [pair for pair in pairs if pair[2] > STRONG]
    if not strong:
        return OK, f"none of {count(len(pairs), 'pair')} shows strong evidence of dependence"
    unconnected = [pair for pair in facts.comparisons.unconnected if pair[2] > STRONG]
    if not unconnected:
        return OK, f"links connect the {count(len(strong), 'pair')} with strong evidence of dependence"
    a, b, value = unconnected[0]
    tempered = facts.model._temper_rule is not None
    return (
        OK if is_tempered_by_rows(facts) else LOOK,
        f"Strong evidence in {len(unconnected):,} of {count(len(pairs), 'pair')}"
        + (" without a link" if facts.comparisons.links else "")
        + f", most of all {shorten(a.name, 40)} and {shorten(b.name, 40)} ({stated(value)})"
        + (f". The exponents ({in_words(facts.model._temper_of_columns)}) correct for that" if tempered else "."),
        f"Evidence that such columns share is counted twice. {tempering(facts)} {jointly(facts, STRONG)}".strip(),
    )


@check("Priors at a boundary")
def boundary(facts: Facts) -> tuple[str, ...]:
    """Parameters of priors that the data want as large, or as small, as can be."""
    ends = facts.comparisons.bounds
    if isinstance(ends, str):
        return SKIPPED, ends
    if not ends:
        return OK, "no parameter of the priors with the largest evidence is at a boundary"
    ranges = " ".join(f"{shorten(end.where, 200)}: {end.dial} {end.goal}, as {end.meaning}." for end in ends)
    first = {(end.dial, end.infinite): end for end in reversed(ends)}
    kinds = dict.fromkeys((end.dial, end.infinite) for end in ends)
    return (
        LOOK,
        f"The priors with the largest evidence have a parameter at a boundary. {shorten(ranges, 700)}",
        "This concerns that parameter only, and the model keeps its priors. "
        + " ".join(one_variance(first[kind], facts) if kind == SHAPE else REMEDIES.get(kind, FITS) for kind in kinds),
    )


SHAPE = ("shape", True)
DEPENDS = (
    "The log Bayes factor, under 'What does each column contribute?', shows whether such a column depends on the class."
)
FITS = "Look at the pictures of these columns: another family, or their logarithm, may fit better."
REMEDIES: dict[tuple[str, bool], str] = {
    ("count", True): DEPENDS,
    ("concentration", True): DEPENDS,
    ("concentration", False): "Keep a smoothing above 0 nevertheless, unless other levels are impossible.",
}


def one_variance(end: Bound, facts: Facts) -> str:
    """What to do about variances that do not differ between classes."""
    if not end.family.shareable():
        return DEPENDS
    if end.family.shared:
        return "The model already has one variance for all classes, so nothing needs to be done."
    keys = list(end.keys[0]) if isinstance(end.keys[0], tuple) else list(end.keys)
    how = declare_columns(keys, f"{end.family.word}:shared")
    return f"One variance for all classes fits the data: {how}. The means can still differ."


@check("Columns with a single value", by_column=True)
def empty(facts: Facts) -> tuple[str, ...]:
    flagged = [(column, counts) for column, counts in facts.irregular.columns if counts.distinct < 2]
    if not flagged:
        return OK, f"every column{scope(facts)} has at least two values"
    names = named((column, "constant" if counts.known else "all missing") for column, counts in flagged)
    drop = drop_columns([column.key for column, _ in flagged])
    return LOOK, f"{names}.", f"Find out why it has no other value, or {drop}."


@check("Duplicate rows")
def copies(facts: Facts) -> tuple[str, ...]:
    """Rows that are in the table more than once."""
    found = facts.irregular.copies
    if not len(found.rows):
        return OK, "no two rows are equal"
    if found.are_few or found.by_chance:
        return OK, f"{found.describe()}{', which can happen by chance' if found.by_chance else ''}"
    if found.flatter:
        return WARNING, found.describe_scores(), DROP_COPIES
    return LOOK, f"{found.describe()} (the first is row {found.rows[0]:,}).", DROP_COPIES


@check("More columns than rows")
def wide(facts: Facts) -> tuple[str, ...]:
    """Tables in which some columns seem to help by chance."""
    what = warn_of_width(facts.model, len(facts.codes))
    if what:
        return WARNING, what, TEST_TABLE
    return OK, "no more exponents were chosen than there are rows"


@check("Shifted test table")
def shifted(facts: Facts) -> tuple[str, ...]:
    """A test table of other rows than those learnt from."""
    if facts.test_X is None:
        return SKIPPED, "no test table was given"
    shift = facts.irregular.shift
    if shift is None:
        return SKIPPED, "the rows have no density under these priors, or there is only one of them"
    learnt, test, z = shift
    if z > -3:
        return OK, "its rows are not clearly less typical than the training rows"
    return (
        WARNING,
        f"Its rows are less typical: their mean log density is {test:.2f}, that of held-out training rows {learnt:.2f} "
        f"({-z:.1f} standard errors).",
        "Compare how the two tables were made: the probabilities hold only for rows like the training rows.",
    )


def useless(facts: Facts) -> list[Hashable]:
    """Columns that say nothing about new rows: names of rows, constants, and levels most of which one row has."""
    amounts = {column.key for column, _ in facts.irregular.amounts}
    return [
        column.key
        for column, counts in facts.irregular.columns
        if column.key not in amounts
        and (is_name(column, counts) or counts.distinct < 2 or is_mostly_single(column, counts))
    ]


def is_mostly_single(column: ModelledColumn, counts: ColumnCounts) -> bool:
    """Whether most cells hold a level that no other row has, as free text does."""
    return column.family.has_levels and counts.known >= FEW and counts.singles > MOSTLY * counts.known


def is_name(column: ModelledColumn, counts: ColumnCounts) -> bool:
    """Whether a column counts the rows, or has a level for each."""
    return counts.counting or (column.family.has_levels and counts.known >= FEW and counts.distinct == counts.known)


def scope(facts: Facts) -> str:
    """Which columns were not looked at one by one."""
    words = ", words aside," if facts.features.blocks else ""
    return words + (f" of the {len(facts.irregular.columns):,} most relevant" if facts.irregular.left else "")


def checked(facts: Facts) -> list[Check]:
    """The results of all checks, computed once for a page."""
    if "checked" not in facts.memo:
        facts.memo["checked"] = [run(facts) for run in CHECKS]
    return facts.memo["checked"]


def checks(facts: Facts) -> dict[str, Any]:
    """The results of all checks: problems, the worst first, and, shortly, what was fine or not done."""
    done = checked(facts)
    by_state = {state: [each for each in done if each.state == state] for state in (WARNING, LOOK, OK, SKIPPED)}
    problems = by_state[WARNING] + by_state[LOOK]
    return {
        "summary": summary(len(problems), len(by_state[WARNING]), len(done) - len(by_state[SKIPPED])),
        "problems": problems,
        "fine": by_state[OK],
        "skipped": by_state[SKIPPED],
    }


def summary(problems: int, warnings: int, done: int) -> str:
    """How many checks found a problem, in a sentence."""
    start = f"Of {count(done, 'check')} of the table and the model,"
    if not problems:
        return f"{start} none found a problem."
    if problems == 1:
        return f"{start} one found a problem{': a warning' if warnings else ''}."
    tail = f", {warnings} of them {'a warning' if warnings == 1 else 'warnings'}" if warnings else ""
    return f"{start} {problems} found a problem{tail}."
