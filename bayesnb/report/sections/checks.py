"""Warnings, as small named checks: each looks for one thing, and says in a sentence what to do about it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bayesnb.report.facts import Facts
from bayesnb.report.facts.columns import Column, Feature
from bayesnb.report.words import brief, count, listed, percent, stated

OK, LOOK, WARNING, SKIPPED = "ok", "look", "warning", "not done"
FEW = 10  # rows of a class
NEW = 0.05  # of new rows that will hold a level that was never seen
STRONG = 3.0  # nats
COPIES, ROOM = 0.01, 150  # a share of rows that are copies; possible rows for each row, among which they are no chance
MOST = 4  # names in a sentence


class Check(NamedTuple):
    """What was looked for, how it stands, what was found, and what to do. All plain text."""

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
    said = listed([f"{brief(facts.classes[c], 40)} ({counts[c]:,})" for c in order], MOST)
    state = WARNING if counts[order[0]] < 2 else LOOK
    return Check(
        name,
        state,
        f"{count(len(few), 'class')} with fewer than {FEW} rows: {said}.",
        "Collect more rows of them, or merge them with a class that is treated alike: what the model says of them is "
        "mostly the prior.",
    )


def impossible(facts: Facts) -> Check:
    """Rows that the model would have called impossible."""
    name, own = "Rows said to be impossible", facts.own
    odd = np.flatnonzero(~np.isfinite(own))
    if not len(odd):
        return Check(name, OK, "every held-out label had a probability above 0")
    return Check(
        name,
        WARNING,
        f"{count(len(odd), 'row')} had a label of probability 0, or none at all, when held out (the first is row "
        f"{odd[0]:,}).",
        "Use a smoothing above 0, or a proper prior: without one, whatever a class has not shown is impossible.",
    )


def new_levels(facts: Facts) -> Check:
    """Levels that the model does not know, or will soon meet."""
    name = "Levels never seen"
    if facts.test_X is not None:
        return unseen_in_test(name, facts)
    risks = [(own, odd.singles / odd.known) for own, odd in facts.odd.columns if is_leveled(own) and odd.known > 1]
    risks = [(own, risk) for own, risk in risks if NEW < risk < 1]
    if not any(is_leveled(own) for own in facts.columns.features):
        return Check(name, OK, "no column has levels")
    if not risks:
        return Check(name, OK, f"in each column, under {percent(NEW, 0)} of new rows should hold a new level")
    risks.sort(key=lambda each: -each[1])
    said = listed([f"{brief(own.name, 40)} ({percent(risk, 0)})" for own, risk in risks], MOST)
    return Check(
        name,
        LOOK,
        f"Many levels were seen once, so new rows will bring new ones, by the Good-Turing estimate in so many rows: "
        f"{said}.",
        "Merge rare levels, or declare unseen='reserve', which makes a new level evidence; by default its cell is left "
        "out.",
    )


def unseen_in_test(name: str, facts: Facts) -> Check:
    found = facts.odd.unseen
    if not found:
        return Check(name, OK, "the test table has no level that the model does not know")
    said = listed([f"{brief(str(key), 40)} ({rows:,} cells)" for key, rows in found], MOST)
    return Check(
        name,
        LOOK,
        f"The test table holds levels that the model has never seen: {said}. Those cells are left out.",
        "Learn from rows that have them, or declare unseen='reserve', which makes a new level evidence.",
    )


def separated(facts: Facts) -> Check:
    """Columns that alone tell a class from all others: too good to be true?"""
    name = "Columns that give the class away"
    found = [(own, odd.apart) for own, odd in facts.odd.columns if odd.apart]
    if not found:
        return Check(name, OK, "no column alone tells a class from all others")
    present = int((facts.counts > 0).sum())
    whole = [own for own, apart in found if len(apart) >= max(present - 1, 1) and present > 1]
    if whole:
        said = listed([brief(own.name, 40) for own in whole], MOST)
        return Check(
            name,
            WARNING,
            f"Without an error, and alone, {them(whole)} all classes apart: {said}.",
            "Ask when and how the column was written down: if after the label, or from it, drop it, for new rows will "
            "not have it.",
        )
    said = listed([f"{brief(own.name, 40)} ({classes_of(apart, facts)})" for own, apart in found], MOST)
    return Check(
        name,
        LOOK,
        f"Without an error, and alone, {them(found)} one class from all others: {said}.",
        "If it was measured before the label was known, be glad; if after it, or from it, drop the column.",
    )


def them(found: Sequence[object]) -> str:
    return "one column tells" if len(found) == 1 else f"each of {len(found)} columns tells"


def classes_of(apart: Sequence[int], facts: Facts) -> str:
    return listed([brief(facts.classes[c], 30) for c in apart], 2)


def dependent(facts: Facts) -> Check:
    """Pairs of columns that say the same twice."""
    name, pairs = "Columns that depend on each other", facts.asked.pairs
    if facts.asked.nothing_independent:
        return Check(name, OK, "all columns are one block, which is modelled jointly")
    if not pairs:
        return Check(name, SKIPPED, brief(facts.asked.why_no_dependence or "no pair can be compared", 200))
    strong = [pair for pair in pairs if pair[2] > STRONG]
    if not strong:
        return Check(name, OK, f"none of {count(len(pairs), 'pair')} has strong evidence for it")
    a, b, value = strong[0]
    mended = facts.model.temper is not None
    return Check(
        name,
        OK if facts.model.temper == "loo" else LOOK,
        f"{len(strong):,} of {count(len(pairs), 'pair')}, most of all {brief(a.name, 40)} and {brief(b.name, 40)} "
        f"({stated(value)})" + (f", which the temper of {facts.model.temper_:.3g} is for" if mended else "."),
        "Model such columns jointly, in one block; or fit with temper='loo', or drop one column of each pair: what "
        "they say alike is counted twice.",
    )


def boundary(facts: Facts) -> Check:
    """Priors that the data want as strong, or as weak, as can be."""
    name = "Priors at the end of their range"
    tuned, told = facts.asked.tuned
    if tuned is None:
        return Check(name, SKIPPED, "these priors cannot be tuned")
    if not told:
        return Check(name, OK, "the best prior is an ordinary one")
    return Check(
        name,
        LOOK,
        f"By the evidence, priors should be as strong or as weak as can be: "
        f"{brief(told.removeprefix('priors at the end of their range: '), 600)}",
        "Nothing is wrong with the predictions; but such columns fit the family badly, or do not depend on the class: "
        "look at their pictures.",
    )


def empty(facts: Facts) -> Check:
    """Columns that say nothing."""
    name = "Columns that say nothing"
    found = [(own, odd) for own, odd in facts.odd.columns if odd.distinct < 2]
    if not found:
        return Check(name, OK, "every column has two values or more")
    said = listed([f"{brief(own.name, 40)} ({'constant' if odd.known else 'all missing'})" for own, odd in found], MOST)
    return Check(name, LOOK, f"{said}.", "Drop it, families={column: None}, or find out why it is empty.")


def identifiers(facts: Facts) -> Check:
    """Columns that name rows instead of describing them."""
    name = "Columns that name the rows"
    amounts = {own.key for own, _ in facts.odd.amounts}
    found = [own for own, odd in facts.odd.columns if is_name(own, odd.known, odd.distinct, odd.counting)]
    found = [own for own in found if own.key not in amounts]
    if not found:
        return Check(name, OK, "no column numbers the rows, or has a level for each of them")
    said = listed([brief(own.name, 40) for own in found], MOST)
    return Check(
        name,
        WARNING,
        f"Different in every row, like a number or a name of it: {said}.",
        "Drop it, families={column: None}: of a new row it says nothing, or only when it was written down.",
    )


def numbers_as_levels(facts: Facts) -> Check:
    """Columns of money, percentages, thousands or units, each of which is a level."""
    name, found = "Numbers that are read as levels", facts.odd.amounts
    if not found:
        return Check(name, OK, "no column's levels are all amounts of money, percentages or numbers with a unit")
    columns = [f"{brief(own.name, 40)} ({each.what}, such as {brief(each.example, 30)})" for own, each in found]
    example = found[0][1]
    return Check(
        name,
        WARNING,
        f"Each value is a level of its own, without an order: {listed(columns, MOST)}.",
        f"Make plain numbers of them, such as {example.plain} of {brief(example.example, 30)}, and fit again.",
    )


def is_name(own: Column, known: int, distinct: int, counting: bool) -> bool:
    return counting or (is_leveled(own) and known >= FEW and distinct == known)


def overconfident(facts: Facts) -> Check:
    """Probabilities that sound better than they are. Were they true, the share of right answers would have their mean,
    and this standard error."""
    name, defined = "Overconfident probabilities", np.isfinite(facts.left_out.max(axis=1))
    if not defined.any():
        return Check(name, SKIPPED, "no row has a held-out probability")
    sure = np.exp(facts.left_out[defined].max(axis=1))
    right = float((facts.left_out[defined].argmax(axis=1) == facts.codes[defined]).mean())
    gap, error = float(sure.mean() - right), float(np.sqrt((sure * (1 - sure)).sum()) / len(sure))
    if gap <= 2 * error:
        return Check(
            name,
            OK,
            f"{percent(right)} of held-out answers are right; {percent(sure.mean())}, their mean probability, is above "
            "that by no more than chance"
            if gap > 0
            else f"{percent(right)} of held-out answers are right, which is no less than their mean probability, "
            f"{percent(sure.mean())}",
        )
    advice = (
        "Fit with temper='loo', which raises the columns' evidence to the power that predicts best."
        if facts.model.temper != "loo"
        else "Calibrate on held-out rows, for example with scikit-learn's CalibratedClassifierCV: tempering was not "
        "enough."
    )
    return Check(
        name,
        WARNING,
        f"Held out, answers had a mean probability of {percent(sure.mean())}, but only {percent(right)} of them are "
        "right.",
        advice,
    )


def shifted(facts: Facts) -> Check:
    """A test table of other rows than those learnt from."""
    name = "A test table that looks different"
    if facts.test_X is None:
        return Check(name, SKIPPED, "no test table was given")
    found = facts.odd.shift
    if found is None:
        return Check(name, SKIPPED, "the rows have no density under these priors")
    own, test, z = found
    if z > -3:
        return Check(name, OK, "its rows are as usual as those that were learnt from")
    return Check(
        name,
        WARNING,
        f"Its rows are less usual: their mean log density is {test:.2f}, that of held-out training rows {own:.2f} "
        f"({-z:.1f} standard errors).",
        "Compare how the two tables were made: probabilities hold for rows like those that were learnt from.",
    )


def copies(facts: Facts) -> Check:
    """Rows that are there more than once."""
    name, rows = "Rows that are copies", facts.odd.repeated
    share = len(rows) / len(facts.codes)
    if not len(rows):
        return Check(name, OK, "no two rows are the same")
    room = sum(np.log(max(odd.distinct, 1)) for _, odd in facts.odd.columns) if not facts.columns.blocks else np.inf
    said = f"{count(len(rows), 'row')} ({percent(share)}) are the same as an earlier one, label and all"
    if share < COPIES or room < np.log(ROOM * len(facts.codes)):
        return Check(name, OK, f"{said}, as can be by chance" if share >= COPIES else said)
    return Check(
        name,
        LOOK,
        f"{said} (the first is row {rows[0]:,}).",
        "If they were recorded twice, drop the copies: a copy of a held-out row is still there to predict it.",
    )


def is_leveled(own: Column | Feature) -> bool:
    return own.family.cells == "level"


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
