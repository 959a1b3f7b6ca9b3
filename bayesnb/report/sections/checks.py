"""Warnings, as small named checks: each looks for one thing, and says in a sentence what to do about it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.tune import Bound
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import Feature, ModelledColumn
from bayesnb.report.facts.irregularities import ColumnCounts
from bayesnb.report.remedies import jointly, mends, possible, tempering
from bayesnb.report.wording import brief, count, listed, percent, stated

OK, LOOK, WARNING, SKIPPED = "ok", "look", "warning", "not done"
FEW = 10  # rows of a class
NEW = 0.05  # of new rows that will hold a level that was never seen
STRONG = 3.0  # nats
COPIES, ROOM = 0.01, 150  # a share of rows that are copies; possible rows for each row, among which they are no chance
MOST = 4  # names in a sentence
UNLOOKED = "words are not looked at one by one, and there is no other column"


class Check(NamedTuple):
    """Result of a check: what was looked for, how it stands, what was seen, and what to do. All plain text."""

    name: str
    state: str
    what: str = ""
    advice: str = ""


def tiny_class(facts: Facts) -> Check:
    """Classes of which hardly anything is known."""
    name, counts = "Classes with few rows", facts.counts
    few = np.flatnonzero(counts < FEW)
    if not len(few):
        return Check(name, OK, f"every class has {int(counts.min()):,} rows or more")
    order = few[np.argsort(counts[few], kind="stable")]
    names = listed([f"{brief(facts.classes[c], 40)} ({counts[c]:,})" for c in order], MOST)
    state = WARNING if counts[order[0]] < 2 else LOOK
    return Check(
        name,
        state,
        f"{count(len(few), 'class')} with fewer than {FEW} rows: {names}.",
        "Collect more rows of them, or merge them with a class that is treated alike: what the model says of them "
        "rests on few rows and on the prior.",
    )


def impossible(facts: Facts) -> Check:
    """Rows that the model would have called impossible."""
    name = "Rows said to be impossible"
    rows = np.flatnonzero(~np.isfinite(facts.label_log_proba))
    if not len(rows):
        return Check(name, OK, "every held-out label had a probability above 0")
    return Check(
        name,
        WARNING,
        f"{count(len(rows), 'row')} had a label of probability 0, or none at all, when held out (the first is row "
        f"{rows[0]:,}).",
        possible(facts),
    )


def new_levels(facts: Facts) -> Check:
    """Levels that the model does not know, or will soon meet."""
    name = "Levels never seen"
    if facts.test_X is not None:
        return unseen_in_test(name, facts)
    leveled = [(column, counts) for column, counts in facts.irregular.columns if is_leveled(column) and counts.known]
    open_ = [
        (column, counts)
        for column, counts in leveled
        if column.family.unseen != "reserve" and not is_name(column, counts)
    ]
    risks = [(column, counts.singles / counts.known) for column, counts in open_ if counts.singles / counts.known > NEW]
    if not leveled:
        return Check(name, OK, f"no column{scope(facts)} has levels")
    if not risks:
        rest = "that does not name the rows or keep a level for new ones, " if len(open_) < len(leveled) else ""
        return Check(
            name,
            OK,
            f"in each column{scope(facts)} {rest}at most {percent(NEW, 0)} of new rows should hold a new level",
        )
    risks.sort(key=lambda each: -each[1])
    names = listed([f"{brief(column.name, 40)} ({percent(risk, 0)})" for column, risk in risks], MOST)
    return Check(
        name,
        LOOK,
        f"Many levels were seen once, so new rows will bring new ones, by the Good-Turing estimate in so many rows: "
        f"{names}.",
        f"Merge rare levels{reserving(facts, risks[0][0].key)}; as it is, the cell of a new level is left out.",
    )


def reserving(facts: Facts, key: Any) -> str:
    """How a new level becomes evidence, where there is a way to say it."""
    how = facts.advice.reserve(key)
    return f", or keep a level for new ones, which makes them evidence: {how}" if how else ""


def unseen_in_test(name: str, facts: Facts) -> Check:
    flagged = facts.irregular.unseen
    if not flagged:
        return Check(name, OK, "the test table has no level that the model does not know")
    names = listed([f"{brief(str(key), 40)} ({rows:,} cells)" for key, rows in flagged], MOST)
    return Check(
        name,
        LOOK,
        f"The test table holds levels that the model has never seen: {names}. Those cells are left out.",
        f"Learn from rows that have them{reserving(facts, flagged[0][0])}.",
    )


def separated(facts: Facts) -> Check:
    """Columns that alone tell a class from all others: too good to be true?"""
    name = "Columns that give the class away"
    flagged = [(column, counts.separated) for column, counts in facts.irregular.columns if counts.separated]
    if not facts.irregular.columns:
        return Check(name, SKIPPED, UNLOOKED)
    if not flagged:
        clear = "more clearly than chance can"
        return Check(name, OK, f"no column{scope(facts)} alone tells a class from all others {clear}")
    present = int((facts.counts > 0).sum())
    class_counts = {column.key: counts.classes for column, counts in facts.irregular.columns}
    telling = [
        column
        for column, labels in flagged
        if len(labels) >= max(present - 1, 1) and class_counts[column.key] == present > 1
    ]
    if telling:
        names = listed([brief(column.name, 40) for column in telling], MOST)
        return Check(
            name,
            WARNING,
            f"Without an error where it is not missing, and alone, {them(telling)} all classes apart: {names}.",
            "Ask when and how the column was written down: if after the label, or from it, drop it, for new rows will "
            "not have it.",
        )
    names = listed([f"{brief(column.name, 40)} ({classes_of(labels, facts)})" for column, labels in flagged], MOST)
    return Check(
        name,
        LOOK,
        f"Without an error where it is not missing, and alone, {them(flagged)} one class from all others: {names}.",
        "If it was measured before the label was known, be glad; if after it, or from it, drop the column.",
    )


def them(flagged: Sequence[object]) -> str:
    return "one column tells" if len(flagged) == 1 else f"each of {len(flagged)} columns tells"


def classes_of(labels: Sequence[int], facts: Facts) -> str:
    return listed([brief(facts.classes[c], 30) for c in labels], 2)


def dependent(facts: Facts) -> Check:
    """Pairs of columns that say the same twice."""
    name, pairs = "Columns that depend on each other", facts.comparisons.pairs
    if facts.comparisons.nothing_independent:
        return Check(name, OK, "all columns are one block, which is modelled jointly")
    if not pairs:
        return Check(name, SKIPPED, brief(facts.comparisons.why_no_dependence or "no pair can be compared", 200))
    strong = [pair for pair in pairs if pair[2] > STRONG]
    if not strong:
        return Check(name, OK, f"none of {count(len(pairs), 'pair')} has strong evidence for it")
    a, b, value = strong[0]
    tempered = facts.model.temper is not None
    return Check(
        name,
        OK if facts.model.temper == "loo" else LOOK,
        f"{len(strong):,} of {count(len(pairs), 'pair')}, most of all {brief(a.name, 40)} and {brief(b.name, 40)} "
        f"({stated(value)})" + (f", which the temper of {facts.model.temper_:.3g} is for" if tempered else "."),
        f"What such columns say alike is counted twice. {tempering(facts)} {jointly(facts, STRONG)}".strip(),
    )


def boundary(facts: Facts) -> Check:
    """Parameters of priors that the data want as large, or as small, as can be."""
    name = "Priors at the end of their range"
    tuned, ends = facts.comparisons.tuned
    if tuned is None:
        return Check(name, SKIPPED, "these priors cannot be tuned")
    if not ends:
        return Check(name, OK, "under the priors of the largest evidence no parameter is at the end of its range")
    ranges = " ".join(f"{brief(end.where, 200)}: {end.dial} {end.goal}, as {end.meaning}." for end in ends)
    kinds = dict.fromkeys((end.dial, end.infinite) for end in ends)
    first = {(end.dial, end.infinite): end for end in reversed(ends)}
    return Check(
        name,
        LOOK,
        f"The priors of the largest evidence have a parameter at its end. {brief(ranges, 700)}",
        "This is about that parameter only, and the model keeps the priors that it has. "
        + " ".join(REMEDIES.get(kind, look_at_pictures)(first[kind], facts) for kind in kinds),
    )


def one_variance(end: Bound, facts: Facts) -> str:
    """Of variances that do not differ between classes."""
    if not end.family.shareable():
        return look_at(end, facts)
    if end.shared:
        return "The prior says so already by one variance for all classes: nothing is to be done."
    family = f"{end.family.word}:shared"
    keys = list(end.keys[0]) if isinstance(end.keys[0], tuple) else list(end.keys)
    how = facts.advice.declare(keys, family)
    return f"One variance for all classes says what the data say: {how}. The means may differ all the same."


def look_at(end: Bound, facts: Facts) -> str:
    """Where to see whether the columns say anything at all."""
    return "Whether such a column depends on the class, its log Bayes factor says, under 'What each column says'."


def look_at_pictures(end: Bound, facts: Facts) -> str:
    """Where to see whether the family fits."""
    return "Look at the pictures of these columns: another family, or their logarithm, may fit better."


def keep_smoothing(end: Bound, facts: Facts) -> str:
    """Of classes that show one level each."""
    return "Keep a smoothing above 0 all the same, unless other levels are impossible."


REMEDIES: dict[tuple[str, bool], Callable[[Bound, Facts], str]] = {
    ("shape", True): one_variance,
    ("count", True): look_at,
    ("concentration", True): look_at,
    ("concentration", False): keep_smoothing,
}


def empty(facts: Facts) -> Check:
    """Columns that say nothing."""
    name = "Columns that say nothing"
    flagged = [(column, counts) for column, counts in facts.irregular.columns if counts.distinct < 2]
    if not facts.irregular.columns:
        return Check(name, SKIPPED, UNLOOKED)
    if not flagged:
        return Check(name, OK, f"every column{scope(facts)} has two values or more")
    names = listed(
        [f"{brief(column.name, 40)} ({'constant' if counts.known else 'all missing'})" for column, counts in flagged],
        MOST,
    )
    drop = facts.advice.drop([column.key for column, _ in flagged])
    return Check(name, LOOK, f"{names}.", f"Find out why there is nothing else in it, or {drop}.")


def identifiers(facts: Facts) -> Check:
    """Columns that name rows instead of describing them."""
    name = "Columns that name the rows"
    amounts = {column.key for column, _ in facts.irregular.amounts}
    flagged = [
        column for column, counts in facts.irregular.columns if is_name(column, counts) and column.key not in amounts
    ]
    if not facts.irregular.columns:
        return Check(name, SKIPPED, UNLOOKED)
    if not flagged:
        return Check(name, OK, f"no column{scope(facts)} numbers the rows, or has a level for each of them")
    names = listed([brief(column.name, 40) for column in flagged], MOST)
    return Check(
        name,
        WARNING,
        f"Different in every row, like a number or a name of it: {names}.",
        "A number or a name of the row says nothing of a new one, or only when it was written down. If it is that, "
        f"{facts.advice.drop([column.key for column in flagged])}.",
    )


def numbers_as_levels(facts: Facts) -> Check:
    """Columns of money, percentages, thousands or units, each of which is a level."""
    name, flagged = "Numbers that are read as levels", facts.irregular.amounts
    if not flagged:
        return Check(name, OK, "no column's levels are all amounts of money, percentages or numbers with a unit")
    columns = [f"{brief(column.name, 40)} ({each.what}, such as {brief(each.example, 30)})" for column, each in flagged]
    example = flagged[0][1]
    return Check(
        name,
        WARNING,
        f"Each value is a level of its own, without an order: {listed(columns, MOST)}.",
        f"Make plain numbers of them, such as {example.plain} of {brief(example.example, 30)}, and fit again.",
    )


def is_name(column: ModelledColumn, counts: ColumnCounts) -> bool:
    """Whether a column counts the rows, or has a level for each."""
    return counts.counting or (is_leveled(column) and counts.known >= FEW and counts.distinct == counts.known)


def scope(facts: Facts) -> str:
    """Which columns were not looked at one by one."""
    words = ", words aside," if facts.features.blocks else ""
    return words + (f" of the {len(facts.irregular.columns):,} that say most" if facts.irregular.left else "")


def overconfident(facts: Facts) -> Check:
    """Probabilities that sound better than they are. Were they true, the share of right answers would have their mean,
    and this standard error."""
    name, defined = "Overconfident probabilities", np.isfinite(facts.left_out.max(axis=1))
    if not defined.any():
        return Check(name, SKIPPED, "no row has a held-out probability")
    (gap, chance), p = facts.held_out.surplus, np.exp(facts.left_out[defined].max(axis=1))
    sure, right = percent(float(p.mean())), percent(float(p.mean()) - gap)
    if gap <= chance:
        than = f"{sure}, their mean probability, is above that by no more than chance"
        than = than if gap > 0 else f"which is no less than their mean probability, {sure}"
        return Check(name, OK, f"{right} of held-out answers are right{';' if gap > 0 else ','} {than}")
    return Check(
        name,
        WARNING,
        f"Held out, answers had a mean probability of {sure}, but only {right} of them are right.",
        mending(facts),
    )


def mending(facts: Facts) -> str:
    """What makes probabilities less extreme."""
    calibrate = "Calibrate on held-out rows, for example with scikit-learn's CalibratedClassifierCV"
    if facts.model.temper == "loo":
        return f"{calibrate}: tempering was not enough."
    tempered = facts.held_out.tempered
    return tempering(facts) + ("" if tempered is None or mends(facts) else f" {calibrate}.")


def shifted(facts: Facts) -> Check:
    """A test table of other rows than those learnt from."""
    name = "A test table that looks different"
    if facts.test_X is None:
        return Check(name, SKIPPED, "no test table was given")
    shift = facts.irregular.shift
    if shift is None:
        return Check(name, SKIPPED, "the rows have no density under these priors, or there is only one of them")
    learnt, test, z = shift
    if z > -3:
        return Check(name, OK, "its rows are not clearly less usual than those that were learnt from")
    return Check(
        name,
        WARNING,
        f"Its rows are less usual: their mean log density is {test:.2f}, that of held-out training rows {learnt:.2f} "
        f"({-z:.1f} standard errors).",
        "Compare how the two tables were made: probabilities hold for rows like those that were learnt from.",
    )


def copies(facts: Facts) -> Check:
    """Rows that are there more than once."""
    name, rows = "Rows that are copies", facts.irregular.repeated
    share = len(rows) / len(facts.codes)
    if not len(rows):
        return Check(name, OK, "no two rows are the same")
    room = np.inf
    if not facts.features.blocks:
        room = sum(np.log(max(counts.distinct, 1)) for _, counts in facts.irregular.columns)
    are = "is" if len(rows) == 1 else "are"
    copied = f"{count(len(rows), 'row')} ({percent(share)}) {are} the same as an earlier one, label and all"
    if share < COPIES or room < np.log(ROOM * len(facts.codes)):
        return Check(name, OK, f"{copied}, as can be by chance" if share >= COPIES else copied)
    return Check(
        name,
        LOOK,
        f"{copied} (the first is row {rows[0]:,}).",
        "If they were recorded twice, drop the copies: a copy of a held-out row is still there to predict it.",
    )


def is_leveled(column: ModelledColumn | Feature) -> bool:
    return column.family.has_levels


CHECKS: tuple[Callable[[Facts], Check], ...] = (
    tiny_class,
    impossible,
    overconfident,
    separated,
    identifiers,
    numbers_as_levels,
    new_levels,
    dependent,
    boundary,
    empty,
    copies,
    shifted,
)


def checks(facts: Facts) -> dict[str, Any]:
    """What the checks found, the worst first, and, shortly, what they did not."""
    done = [check(facts) for check in CHECKS]
    findings = [check for state in (WARNING, LOOK) for check in done if check.state == state]
    skipped = [check for check in done if check.state == SKIPPED]
    return {
        "summary": summary(findings, len(done) - len(skipped)),
        "findings": findings,
        "fine": [check for check in done if check.state == OK],
        "skipped": skipped,
    }


def summary(findings: list[Check], done: int) -> str:
    """How many checks found something, in a sentence."""
    if not findings:
        return f"Of {count(done, 'check')} of the table and the model, none found anything."
    serious = sum(check.state == WARNING for check in findings)
    many = f"{len(findings)} found something"
    tail = f", {serious} of them {'a warning' if serious == 1 else 'warnings'}" if serious else ""
    if len(findings) == 1:
        many, tail = "one found something", ": a warning" if serious else ""
    return f"Of {count(done, 'check')} of the table and the model, {many}{tail}."
