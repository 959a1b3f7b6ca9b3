"""Checks of the table and the model: each looks for one problem and advises what to do.

Columns that were probably misread are those that `fit` warns about.
"""

import warnings
from collections.abc import Callable, Hashable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.criticism.tune import describe_boundaries
from bayesnb.data import open_table
from bayesnb.data.cells import UnseenLevelWarning
from bayesnb.data.checks import (
    RANGES,
    advise,
    check_integers,
    describe_numeric_labels,
    find_suspicion,
)
from bayesnb.data.tables import FrameTable
from bayesnb.estimators.base import LOO
from bayesnb.families.base import Array
from bayesnb.formatting import count, fixed, list_names, percent
from bayesnb.numerics.views import column
from bayesnb.report.facts import Column, Facts, attempt
from bayesnb.report.page import Heading, Items, Section, Table, name, name_column
from bayesnb.selection.verdict import TEMPERED

OK = "ok"
LOOK = "look"
WARNING = "warning"
SKIPPED = "not done"
FEW_ROWS = 10  # of a class, or of a column
MANY_SINGLES = 0.5  # share of a column's cells with a level that no other row has
MANY_NEW = 0.05  # share of new rows with an unseen level
LEAST_RECALL = 0.5
STRONG = 3.0  # nats (Kass and Raftery 1995)
RARE = np.log(1e-3)  # log probability below which a separation is not due to chance
FAR = 3.0  # standard errors between the mean log densities of two tables
MAX_NAMED = 4
MAX_COLUMNS = 1000
MAX_TUNED = 200_000  # classes x levels of all columns, to tune their priors
TEMPER = "temper='loo'"
MANY_COPIES = 0.25  # share of the rows that makes held-out scores visibly too good
FEW_COPIES = 0.01  # share of the rows that is not worth a remark
MIN_ROOM = 150  # possible rows per row; with more, copies are not due to chance
MAX_COUNTED = 10_000  # rows in which distinct values are counted
DROP_COPIES = (
    "If rows were recorded twice, drop the duplicates: otherwise the copy of a held-out row helps "
    "to predict it."
)
RESERVE = "or keep a level for them: Categorical with unseen='reserve'"
USELESS = ("drop", "words", "dates")  # remedies for uninformative columns


class Check(NamedTuple):
    """The name of a check, its state, the finding and the advice, as plain text."""

    name: str
    state: str
    what: str
    advice: str = ""


Outcome = tuple[str, ...]  # state, finding and, for problems, advice


def remember(function: Callable[[Facts], Any]) -> Callable[[Facts], Any]:
    """Cache a function of facts: it is called once per page."""

    def run(facts: Facts) -> Any:
        if function not in facts.memo:
            facts.memo[function] = function(facts)
        return facts.memo[function]

    return run


@remember
def run_checks(facts: Facts) -> list[Check]:
    """Return the results of all checks, problems first."""
    checks = [Check(title, *find(facts)) for title, find in CHECKS.items()]
    return sorted(checks, key=lambda check: (WARNING, LOOK, OK, SKIPPED).index(check.state))


def find_problems(facts: Facts) -> list[Check]:
    """Return the warnings, then the remarks."""
    return [check for check in run_checks(facts) if check.state in (WARNING, LOOK)]


def list_named(remarks: Mapping[Any, str], show: Callable[..., str] = name_column) -> str:
    """Return the first keys as `show` formats them, each with its remark."""
    names = []
    for key, remark in remarks.items():
        names.append(f"{show(key, 40)} ({remark})")
    return list_names(names, MAX_NAMED)


# Classes and labels


def find_rare_classes(facts: Facts) -> Outcome:
    rows = dict(zip(facts.classes, facts.counts.tolist(), strict=True))
    few = {label: f"{n:,}" for label, n in rows.items() if n < FEW_ROWS}
    if not few:
        return OK, f"every class has at least {min(rows.values()):,} rows"
    return (
        WARNING if min(rows.values()) < 2 else LOOK,
        f"{count(len(few), 'class')} with fewer than {FEW_ROWS} rows: {list_named(few, name)}.",
        "Collect more rows, or merge these classes with similar ones: their predictions rest on "
        "few rows and on the prior.",
    )


def find_numeric_labels(facts: Facts) -> Outcome:
    what = describe_numeric_labels(facts.model.classes_)
    return (LOOK, what, RANGES) if what else (OK, "the labels do not look like measurements")


def find_impossible_labels(facts: Facts) -> Outcome:
    rows = np.flatnonzero(~np.isfinite(facts.label_log_proba))
    if not len(rows):
        return OK, "every held-out label had a probability above 0"
    what = (
        f"When held out, {count(len(rows), 'row')} had probability 0 for their label, or no "
        f"prediction at all (first: row {rows[0]:,})."
    )
    return WARNING, what, advise_possible(facts)


def find_missed_classes(facts: Facts) -> Outcome:
    """Find a class most of whose rows get another label."""
    worst = None if facts.observed is None else facts.observed.missed
    if worst is None:
        return OK, "no class is missed"
    missed = worst.describe(name(facts.classes[worst.code], 40))
    if worst.recall >= LEAST_RECALL:
        return OK, f"the class missed most is {missed}"
    return (
        WARNING,
        f"Most rows of a class get another label: {missed}.",
        "If a miss costs more than a false alarm, decide by costs instead of by the most probable "
        "label: `model.decide(X, loss=...)`.",
    )


# Columns, one by one


class ColumnCounts(NamedTuple):
    """Counts of one column, to find problems."""

    known: int  # cells that are not missing
    classes: int  # classes with such cells
    distinct: int
    separated: list[int]  # classes that the column by itself separates from all others
    singles: int  # cells whose value no other row has


@remember
def count_columns(facts: Facts) -> list[tuple[Column, ColumnCounts]]:
    """Count the cells of each column, except words."""
    columns = facts.columns[:MAX_COLUMNS]
    counted = []
    for one in columns:
        cells = one.cells[one.known]
        codes = facts.codes[one.known]
        values, place, times = np.unique(cells, return_inverse=True, return_counts=True)
        separated: list[int] = []
        if len(values) > 1:
            trials = len(columns) * len(facts.classes)
            separated = find_separated(place, codes, one.family.has_levels, trials)
        singles = int((times == 1).sum())
        numbers = len(cells), len(np.unique(codes)), len(values), separated, singles
        counted.append((one, ColumnCounts(*numbers)))
    return counted


def find_separated(place: Array, codes: Array, has_levels: bool, trials: int) -> list[int]:
    """Return classes whose values no other class has, if that is not due to chance.

    The values of a class are its levels, or the range of its numbers. Of all `shuffles` of the
    labels, `ways` separate the class.
    """
    counts = np.zeros((int(place.max()) + 1, int(codes.max()) + 1))
    np.add.at(counts, (place, codes), 1)
    rows = len(codes)
    size = counts.sum(axis=0)
    claimed = counts > 0
    ways = len(counts) * np.log(2)
    if not has_levels:
        above = np.logical_or.accumulate(claimed[::-1])[::-1]
        claimed = np.logical_or.accumulate(claimed) & above
        ways = np.log(rows - size + 1.0)
    shuffles = gammaln(rows + 1) - gammaln(size + 1) - gammaln(rows - size + 1)
    is_alone = (counts.sum(axis=1) @ claimed == size) & (size > 0) & (size < rows)
    is_unlikely = ways - shuffles + np.log(trials) < RARE
    return np.flatnonzero(is_alone & is_unlikely).tolist()


def find_separation(facts: Facts) -> Outcome:
    """Find columns that separate a class from all others by themselves, as leaks do."""
    present = int((facts.counts > 0).sum())
    classes = {}
    all_apart = []
    for one, counts in count_columns(facts):
        if counts.separated:
            labels = [name(facts.classes[c], 30) for c in counts.separated]
            classes[one.key] = list_names(labels, 2)
            if len(labels) >= present - 1 and counts.classes == present:
                all_apart.append(one.key)
    if not classes:
        return OK, "no single column separates a class from all others, except by chance"
    return (
        WARNING if all_apart else LOOK,
        f"Single columns separate {'all classes' if all_apart else 'a class from all others'} "
        f"without error, where they are not missing: {list_named(classes)}.",
        "Check when and how the column was recorded. If that was after the label was known, or the "
        "column was derived from the label, drop it: new rows will not have it. If it was measured "
        "before, keep it.",
    )


@remember
def find_suspicions(facts: Facts) -> Mapping[Hashable, Any]:
    """Return what `fit` warns about in columns without a declared family."""
    table = open_table(facts.X)
    declared = declared_columns(facts.model)
    places = {key: place for place, key in enumerate(table.columns)}
    suspicions = {}
    for one in facts.columns[:MAX_COLUMNS]:
        looks = None
        if isinstance(table, FrameTable):
            looks = find_suspicion(table, places[one.key])
        elif (one.cells == np.round(one.cells)).all():  # an array of floats
            looks = check_integers(one.key, one.cells.astype(int))
        if looks is not None and one.key not in declared:
            suspicions[one.key] = looks
    return suspicions


def find_suspicious_columns(facts: Facts) -> Outcome:
    suspicions = list(find_suspicions(facts).items())
    if not suspicions:
        return OK, "no column looks like an identifier, dates, free text, or numbers as text"
    is_pandas = hasattr(facts.X, "iloc")
    problems = []
    advice = []
    for key, each in suspicions[:MAX_NAMED]:
        problems.append(f"{name_column(key)} {name(each.problem, 300)}.")
        advice.append(f"{name_column(key)}: {name(advise(key, each, is_pandas), 600)}")
    if len(suspicions) > MAX_NAMED:
        more = count(len(suspicions) - MAX_NAMED, "more column")
        problems.append(f"There is a similar problem in {more}.")
    return WARNING, "\n".join(problems), "\n".join(advice)


def find_constant_columns(facts: Facts) -> Outcome:
    constant = {}
    for one, counts in count_columns(facts):
        if counts.distinct < 2:
            constant[one.key] = "constant" if counts.known else "all missing"
    if not constant:
        return OK, "every column has at least two values"
    advice = "Find out why such a column has no other value, or drop it."
    return LOOK, f"{list_named(constant)}.", advice


def find_new_levels(facts: Facts) -> Outcome:
    """Find levels of the test table that are new to the model, or columns that expect new ones."""
    if facts.test is not None:
        return find_unseen_levels(facts)
    useless = find_useless_columns(facts)
    risks = {}
    for one, counts in count_columns(facts):
        is_open = one.family.has_levels and one.family.unseen != "reserve"
        risk = counts.singles / max(counts.known, 1)
        if is_open and risk > MANY_NEW and one.key not in useless:
            risks[one.key] = percent(risk)
    if not risks:
        return OK, f"no column should have new levels in more than {percent(MANY_NEW, 0)} of rows"
    return (
        LOOK,
        "Many levels were seen only once, so new rows will have new levels. Expected share of "
        f"such rows (Good-Turing): {list_named(risks)}.",
        f"Merge rare levels, {RESERVE}. Otherwise, cells with a new level are ignored.",
    )


def find_unseen_levels(facts: Facts) -> Outcome:
    """Find levels of the test table that are new to the model."""
    assert facts.test is not None
    unseen: dict[Hashable, str] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        facts.model.predict_joint_log_proba(facts.test[0])
    for warning in caught:
        if isinstance(warning.message, UnseenLevelWarning):
            for key, levels in warning.message.unseen.items():
                unseen[key] = f"{sum(levels.values()):,} cells"
    if not unseen:
        return OK, "the test table has no levels that are new to the model"
    return (
        LOOK,
        f"The test table has levels that are new to the model: {list_named(unseen)}. These cells "
        "are ignored.",
        f"Fit the model on rows that have them, {RESERVE}.",
    )


# Dependence, priors, rows


def find_dependence(facts: Facts) -> Outcome:
    """Find pairs of columns whose evidence is counted twice."""
    pairs = count(len(facts.pairs), "pair")
    if not facts.pairs:
        reason = facts.dependence if isinstance(facts.dependence, str) else "no pair is comparable"
        return SKIPPED, name(reason, 200)
    strong = [pair for pair in facts.pairs if pair[2] > STRONG]
    if not strong:
        return OK, f"no strong evidence of dependence in {pairs}"
    open_pairs = [pair for pair in strong if not pair[3]]
    found = f"strong evidence of dependence in {len(strong):,} of {pairs}"
    if not open_pairs:
        return OK, f"{found}, all of them connected by links or blocks"
    first, second, factor, _ = open_pairs[0]
    what = (
        f"{found}. The model treats {len(open_pairs):,} of these as independent; the strongest is "
        f"{name_column(first, 40)} and {name_column(second, 40)} (log Bayes factor "
        f"{fixed(factor, 1)})."
    )
    if is_tempered_by_rows(facts):
        return OK, f"{what} Exponents correct for this"
    return (
        LOOK,
        f"{what[0].upper()}{what[1:]}",
        f"Evidence that such columns share is counted twice. {advise_temper(facts)} Or declare "
        "columns of one kind together, as a block that is modelled jointly.",
    )


def find_bounds(facts: Facts) -> Outcome:
    """Find parameters of priors with their optimum at a boundary."""
    blocks = facts.model.schema_.columns_alone.blocks
    levels = sum(sum(block.sizes) for block in blocks)
    if len(facts.classes) * levels > MAX_TUNED:
        return SKIPPED, "the search for the best priors takes too long with so many levels"
    places = attempt(describe_boundaries, facts.model)
    if isinstance(places, str):
        return SKIPPED, "these priors cannot be tuned"
    if not places:
        return OK, "no parameter of a prior has its optimum at a boundary"
    sentences = [f"{place[0].upper()}{place[1:]}" for place in places[:MAX_NAMED]]
    if len(places) > MAX_NAMED:
        more = count(len(places) - MAX_NAMED, "more parameter")
        sentences.append(f"The same holds for {more}.")
    return (
        LOOK,
        f"The best priors have a parameter at a boundary. {name(' '.join(sentences), 4000)}",
        "The model keeps its own priors. Look at the columns with `plot_column`: another family "
        "may fit better, or, for numbers, one variance for all classes ('gaussian:shared') or "
        "their logarithm.",
    )


def find_copies(facts: Facts) -> Outcome:
    """Find duplicate rows."""
    _, first = np.unique(facts.row_keys, return_index=True)
    copies = np.setdiff1d(np.arange(len(facts.codes)), first)
    share = len(copies) / len(facts.codes)
    verb = "repeats" if len(copies) == 1 else "repeat"
    what = f"{count(len(copies), 'row')} ({percent(share)}) {verb} an earlier row, label included"
    if share < FEW_COPIES or has_copies_by_chance(facts):
        return OK, what
    what = f"{what} (the first is row {copies[0]:,})"
    if share < MANY_COPIES:
        return LOOK, f"{what}.", DROP_COPIES
    return WARNING, f"{what}, so the held-out scores are too good.", DROP_COPIES


def has_copies_by_chance(facts: Facts) -> bool:
    """Return whether the columns have so few values that rows are identical by chance."""
    log_combinations = 0.0
    for x in facts.rows.cells:
        if sparse.issparse(x):
            return False
        for j in range(x.shape[1]):
            values = column(x[:MAX_COUNTED], j)
            log_combinations += np.log(len(np.unique(values)))
    return bool(log_combinations < np.log(MIN_ROOM * len(facts.codes)))


def find_width(facts: Facts) -> Outcome:
    """Find tables with so many columns that some seem to help by chance."""
    model = facts.model
    rows = len(facts.codes)
    columns = np.size(model.temper_)
    if not model.fitted_.temper.by_feature or columns <= rows:
        return OK, "the model has no more exponents than rows"
    return (
        WARNING,
        f"There are {columns:,} columns and only {rows:,} rows, so the held-out scores may be "
        "too good: among so many columns, some separate these rows by chance.",
        "Score the model on a test table before you rely on it.",
    )


def find_shift(facts: Facts) -> Outcome:
    """Find a test table whose rows are less typical than the training rows."""
    if facts.test is None:
        return SKIPPED, "no test table was given"
    learnt = facts.log_density
    test = attempt(facts.model.log_density, facts.test[0])
    if isinstance(test, str) or not np.isfinite([*learnt, *test]).all() or len(test) < 2:
        return SKIPPED, "a row has no density under these priors, or there is only one test row"
    errors = [x.std(ddof=1) / np.sqrt(len(x)) for x in (learnt, test)]
    error = np.hypot(*errors)
    gap = learnt.mean() - test.mean()
    if gap <= FAR * error:
        return OK, "its rows are not clearly less typical than the training rows"
    return (
        WARNING,
        f"Its rows are less typical: their mean log density is {fixed(gap, 2)} nats below that of "
        f"held-out training rows ({fixed(gap / error, 1)} standard errors).",
        "Compare how the two tables were collected: the probabilities apply only to rows like the "
        "training rows.",
    )


CHECKS: dict[str, Callable[[Facts], Outcome]] = {
    "Classes with few rows": find_rare_classes,
    "Numbers as labels": find_numeric_labels,
    "Impossible labels": find_impossible_labels,
    "Missed classes": find_missed_classes,
    "Columns that separate classes perfectly": find_separation,
    "Columns that may be misread": find_suspicious_columns,
    "Columns with a single value": find_constant_columns,
    "New levels": find_new_levels,
    "Dependent columns": find_dependence,
    "Priors at a boundary": find_bounds,
    "Duplicate rows": find_copies,
    "More columns than rows": find_width,
    "Shifted test table": find_shift,
}


# What to do


def advise_temper(facts: Facts) -> str:
    """Return what the best single exponent gains on held-out rows."""
    observed = facts.observed
    tempered = facts.tempered
    if is_tempered_by_rows(facts):
        return ""
    if tempered is None or observed.tempered_gain is None:
        return f"{TEMPER} raises the evidence of the columns to the power that predicts best."
    before = observed.log_loss
    after = before - observed.tempered_gain.value
    helps = "" if observed.is_mended_by_temper else " The difference is not clear."
    return (
        f"With {TEMPER}, which raises the evidence of the columns to the power "
        f"{fixed(tempered.power, 2)}, the held-out log loss goes from {fixed(before, 3)} to "
        f"{fixed(after, 3)}.{helps}"
    )


def is_tempered_by_rows(facts: Facts) -> bool:
    """Return whether the exponents were estimated from the rows."""
    return facts.model.fitted_.temper.is_found


def advise_possible(facts: Facts) -> str:
    """Return advice against impossible cells or classes."""
    if facts.model.estimate in ("map", "mle"):
        return (
            f"With estimate={facts.model.estimate!r}, values that were not seen in a class can be "
            "impossible. Under estimate='predictive' with a smoothing above 0, none are."
        )
    if has_proper_priors(facts.model):
        return (
            "This is due to the class prior, not to the columns: without the row, its class has "
            "probability 0. class_prior=1.0 gives every class a probability above 0."
        )
    return (
        "Use a smoothing above 0, or a proper prior. Otherwise, values that were not seen in a "
        "class are impossible."
    )


def has_proper_priors(model: Any) -> bool:
    """Return whether no cell is impossible under the priors of the columns."""
    return all(block.strictly_proper.all() for block in model.model_.prior.blocks)


def declared_columns(model: Any) -> set[Hashable]:
    """Return the columns with a declared family."""
    families = getattr(model, "families", None)
    if not isinstance(families, Mapping):
        return set()
    return set(families).union(*(key for key in families if isinstance(key, tuple)))


def find_useless_columns(facts: Facts) -> list[Hashable]:
    """Return columns that cannot help with new rows: identifiers, constants, free text."""
    suspicions = find_suspicions(facts)
    declared = declared_columns(facts.model)
    useless = []
    for one, counts in count_columns(facts):
        looks = suspicions.get(one.key)
        is_single = one.family.has_levels and counts.known >= FEW_ROWS
        is_single &= counts.singles > MANY_SINGLES * counts.known
        says_nothing = is_single if looks is None else looks.remedy in USELESS
        if one.key not in declared and (says_nothing or counts.distinct < 2):
            useless.append(one.key)
    return useless


def write_remedies(facts: Facts) -> str:
    """Return the line of Python that fits the model with the changes that the page advises."""
    params: dict[str, Any] = {}
    if facts.verdict is not None and facts.verdict.probabilities == TEMPERED:
        params["temper"] = LOO
    if facts.observed is not None and not isfinite(facts.observed.log_loss):
        if facts.model.estimate in ("map", "mle"):
            params["estimate"] = "predictive"
        elif has_proper_priors(facts.model):
            params["class_prior"] = 1.0
    changes = ", ".join(f"{key}={value!r}" for key, value in params.items())
    model = f"model.set_params({changes})" if changes else "model"
    table = "X"
    useless = find_useless_columns(facts)
    if len(useless) == len(facts.columns) and not facts.has_words:
        useless = []  # some column must remain
    if useless and hasattr(facts.X, "columns"):
        table = f"X.drop({'columns=' if hasattr(facts.X, 'iloc') else ''}{useless!r})"
    elif useless and sparse.issparse(facts.X):
        table = f"X[:, np.delete(np.arange(X.shape[1]), {useless!r})]"
    elif useless:
        table = f"np.delete(X, {useless!r}, axis=1)"
    return f"{model}.fit({table}, y)" if changes or useless else ""


# The section of the page


def list_checks(facts: Facts) -> Section:
    """Return a table of problems, and lists of the checks that found none or were not done."""
    checks = run_checks(facts)
    problems = find_problems(facts)
    done = count(len(checks), "check")
    found = f"{len(problems)} found a problem" if problems else "none found a problem"
    content: list = [f"Of {done} of the table and the model, {found}."]
    if problems:
        columns = {
            "Check": [check.name for check in problems],
            "State": ["Warning" if check.state == WARNING else "Remark" for check in problems],
            "Finding": [check.what for check in problems],
            "What to do": [check.advice for check in problems],
        }
        content.append(Table("Problems", columns, kind="cards prose"))
    for heading, state in (("No problem", OK), ("Not checked", SKIPPED)):
        lines = [f"{check.name}: {check.what}." for check in checks if check.state == state]
        if lines:
            content += [Heading(heading), Items(lines)]
    return Section("checks", "Warnings and checks", content)
