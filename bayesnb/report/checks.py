"""Checks of the table and the model: each looks for one problem, and says what to do about it.

Columns that look like something else than they are read as are found by what `fit` warns of, too.
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
MANY_SINGLES = 0.5  # of a column's cells have a level that no other row has
MANY_NEW = 0.05  # of new rows will hold a level that was never seen
LEAST_RECALL = 0.5
STRONG = 3.0  # nats (Kass and Raftery 1995)
RARE = np.log(1e-3)  # a separation by chance, in the whole table, that is believed to be none
FAR = 3.0  # standard errors between the mean log densities of two tables
MAX_NAMED = 4
MAX_COLUMNS = 1000
MAX_TUNED = 200_000  # classes x levels of all columns whose best priors are searched for
TEMPER = "temper='loo'"
MANY_COPIES = 0.25  # of the rows: so many make the held-out scores visibly better
FEW_COPIES = 0.01  # of the rows: fewer are not worth a word
MIN_ROOM = 150  # possible rows for each row, among which copies are no chance
MAX_COUNTED = 10_000  # rows in which the values of a column are counted
DROP_COPIES = (
    "If rows were recorded twice, drop the duplicates: otherwise the copy of a held-out row helps "
    "to predict it."
)
RESERVE = "or keep a level for them: Categorical with unseen='reserve'"
USELESS = ("drop", "words", "dates")  # remedies of columns that say nothing


class Check(NamedTuple):
    """What was looked for, how it stands, what was seen, and what to do. All plain text."""

    name: str
    state: str
    what: str
    advice: str = ""


Outcome = tuple[str, ...]  # a state, what was seen and, of problems, what to do


def remember(function: Callable[[Facts], Any]) -> Callable[[Facts], Any]:
    """Decorate a function of facts, which is called once for a page."""

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
    """Return the first names of columns, or of what `show` names, each with its remark."""
    names = []
    for key, remark in remarks.items():
        names.append(f"{show(key, 40)} ({remark})")
    return list_names(names, MAX_NAMED)


# Classes and labels


def find_rare_classes(facts: Facts) -> Outcome:
    rows = dict(zip(facts.classes, facts.counts.tolist(), strict=True))
    few = {label: f"{n:,}" for label, n in rows.items() if n < FEW_ROWS}
    if not few:
        return OK, f"every class has {min(rows.values()):,} rows or more"
    return (
        WARNING if min(rows.values()) < 2 else LOOK,
        f"{count(len(few), 'class')} with fewer than {FEW_ROWS} rows: {list_named(few, name)}.",
        "Collect more rows, or merge these classes with similar ones: their predictions rest on "
        "few rows and on the prior.",
    )


def find_numeric_labels(facts: Facts) -> Outcome:
    what = describe_numeric_labels(facts.model.classes_)
    return (LOOK, what, RANGES) if what else (OK, "the labels are not many different numbers")


def find_impossible_labels(facts: Facts) -> Outcome:
    rows = np.flatnonzero(~np.isfinite(facts.label_log_proba))
    if not len(rows):
        return OK, "every held-out label had a probability above 0"
    what = (
        f"When held out, {count(len(rows), 'row')} had a label with probability 0, or no "
        f"prediction at all (first: row {rows[0]:,})."
    )
    return WARNING, what, advise_possible(facts)


def find_missed_classes(facts: Facts) -> Outcome:
    """Find classes of which most rows get another label."""
    worst = None if facts.observed is None else facts.observed.missed
    if worst is None:
        return OK, "no class is missed"
    missed = worst.describe(name(facts.classes[worst.code], 40))
    if worst.recall >= LEAST_RECALL:
        return OK, f"missed most is {missed}"
    return (
        WARNING,
        f"Most rows of a class get another label: {missed}.",
        "If a miss costs more than a false alarm, decide by costs instead of by the most probable "
        "label: `model.decide(X, loss=...)`.",
    )


# Columns, one by one


class ColumnCounts(NamedTuple):
    """Counts of one column that show whether anything is wrong with it."""

    known: int  # cells that are not missing
    classes: int  # that have any of them
    distinct: int
    separated: list[int]  # classes that it alone separates from all others
    singles: int  # cells whose value no other row has


@remember
def count_columns(facts: Facts) -> list[tuple[Column, ColumnCounts]]:
    """Count each column, words left out."""
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
    """Return classes whose values no other class has, further than chance would bring about.

    Its values are the levels that a class has, or the range of its numbers. Shuffled labels would
    separate a class in one of `ways` among all `shuffles`.
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
    """Find columns that alone tell a class from all others: they may be too good to be true."""
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
        return OK, "no single column separates a class from all others more clearly than chance"
    return (
        WARNING if all_apart else LOOK,
        f"Columns that alone separate {'all classes' if all_apart else 'a class from all others'} "
        f"without an error, wherever they are not missing: {list_named(classes)}.",
        "Check when and how the column was recorded. If that was after the label was known, or the "
        "column was derived from the label, drop it: new rows will not have it. If it was measured "
        "before, this is good news.",
    )


@remember
def find_suspicions(facts: Facts) -> Mapping[Hashable, Any]:
    """Return what looks wrong about columns whose family is not declared, as `fit` sees it."""
    table = open_table(facts.X)
    declared = declared_columns(facts.model)
    places = {key: place for place, key in enumerate(table.columns)}
    suspicions = {}
    for one in facts.columns[:MAX_COLUMNS]:
        looks = None
        if isinstance(table, FrameTable):
            looks = find_suspicion(table, places[one.key])
        elif (one.cells == np.round(one.cells)).all():  # numbers of an array may be whole, too
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
        problems.append(f"So do {len(suspicions) - MAX_NAMED:,} more columns.")
    return WARNING, "\n".join(problems), "\n".join(advice)


def find_constant_columns(facts: Facts) -> Outcome:
    constant = {}
    for one, counts in count_columns(facts):
        if counts.distinct < 2:
            constant[one.key] = "constant" if counts.known else "all missing"
    if not constant:
        return OK, "every column has at least two values"
    return LOOK, f"{list_named(constant)}.", "Find out why it has no other value, or leave it out."


def find_new_levels(facts: Facts) -> Outcome:
    """Find levels that the model does not know, or will soon meet."""
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
        return OK, f"at most {percent(MANY_NEW, 0)} of new rows should have a new level in a column"
    return (
        LOOK,
        "Many levels were seen only once, so new rows will bring new levels. Expected share of "
        f"such rows (Good-Turing): {list_named(risks)}.",
        f"Merge rare levels, {RESERVE}. Otherwise, cells with a new level are ignored.",
    )


def find_unseen_levels(facts: Facts) -> Outcome:
    """Find levels of the test table that the model does not know."""
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
        return OK, f"{found}, and links or blocks connect all of these"
    first, second, factor, _ = open_pairs[0]
    what = (
        f"{found}. The model takes {len(open_pairs):,} of these to be independent, the strongest "
        f"being {name_column(first, 40)} and {name_column(second, 40)} (log Bayes factor "
        f"{fixed(factor, 1)})."
    )
    if is_tempered_by_rows(facts):
        return OK, f"{what} Exponents correct for that"
    return (
        LOOK,
        what,
        f"Evidence that such columns share is counted twice. {advise_temper(facts)} Or declare "
        "columns of one kind together, as a block that is modelled jointly.",
    )


def find_bounds(facts: Facts) -> Outcome:
    """Find parameters of priors that the data want as large, or as small, as can be."""
    blocks = facts.model.schema_.columns_alone.blocks
    levels = sum(sum(block.sizes) for block in blocks)
    if len(facts.classes) * levels > MAX_TUNED:
        return SKIPPED, "the search for the best priors takes too long with so many levels"
    places = attempt(describe_boundaries, facts.model)
    if isinstance(places, str):
        return SKIPPED, "these priors cannot be tuned"
    if not places:
        return OK, "no parameter of the priors with the largest evidence is at a boundary"
    sentences = [f"{place[0].upper()}{place[1:]}" for place in places[:MAX_NAMED]]
    if len(places) > MAX_NAMED:
        sentences.append(f"So it is in {len(places) - MAX_NAMED:,} more places.")
    return (
        LOOK,
        f"The best priors have a parameter at a boundary. {name(' '.join(sentences), 4000)}",
        "This concerns that parameter only, and the model keeps its priors. Look at the columns "
        "with `plot_column`: another family may fit better, or, for numbers, one variance for all "
        "classes ('gaussian:shared') or their logarithm.",
    )


def find_copies(facts: Facts) -> Outcome:
    """Find rows that are in the table more than once."""
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
    """Return whether the columns have so few values that rows are the same by chance."""
    log_combinations = 0.0
    for x in facts.rows.cells:
        if sparse.issparse(x):
            return False
        for j in range(x.shape[1]):
            values = column(x[:MAX_COUNTED], j)
            log_combinations += np.log(len(np.unique(values)))
    return bool(log_combinations < np.log(MIN_ROOM * len(facts.codes)))


def find_width(facts: Facts) -> Outcome:
    """Find tables in which some columns seem to help by chance."""
    model = facts.model
    rows = len(facts.codes)
    columns = np.size(model.temper_)
    if not model.fitted_.temper.by_feature or columns <= rows:
        return OK, "no more exponents than rows were chosen"
    return (
        WARNING,
        f"There are {columns:,} columns and only {rows:,} rows, so the held-out scores may be "
        "too good: among so many columns some tell these rows apart by chance.",
        "Score the model on a test table that it has not learnt from before you rely on it.",
    )


def find_shift(facts: Facts) -> Outcome:
    """Find a test table of other rows than those that were learnt."""
    if facts.test is None:
        return SKIPPED, "no test table was given"
    learnt = facts.log_density
    test = attempt(facts.model.log_density, facts.test[0])
    if isinstance(test, str) or not np.isfinite([*learnt, *test]).all() or len(test) < 2:
        return SKIPPED, "some rows have no density under these priors, or there is only one of them"
    errors = [x.std(ddof=1) / np.sqrt(len(x)) for x in (learnt, test)]
    error = np.hypot(*errors)
    gap = learnt.mean() - test.mean()
    if gap <= FAR * error:
        return OK, "its rows are not clearly less typical than the training rows"
    return (
        WARNING,
        f"Its rows are less typical: their mean log density is {fixed(gap, 2)} nats below that of "
        f"held-out training rows ({fixed(gap / error, 1)} standard errors).",
        "Compare how the two tables were made: the probabilities hold only for rows like the "
        "training rows.",
    )


CHECKS: dict[str, Callable[[Facts], Outcome]] = {
    "Classes with few rows": find_rare_classes,
    "Numbers as labels": find_numeric_labels,
    "Impossible labels": find_impossible_labels,
    "Missed classes": find_missed_classes,
    "Columns that separate classes perfectly": find_separation,
    "Columns that look like something else": find_suspicious_columns,
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
    """Return what the exponent that predicts best gives on held-out rows."""
    observed = facts.observed
    tempered = facts.tempered
    if is_tempered_by_rows(facts):
        return ""
    if tempered is None or observed.tempered_gain is None:
        return f"{TEMPER} raises the evidence of the columns to the power that predicts best."
    before = observed.log_loss
    after = before - observed.tempered_gain.value
    helps = "" if observed.is_mended_by_temper else " That is no clear difference."
    return (
        f"With {TEMPER}, which raises the evidence of the columns to the power "
        f"{fixed(tempered.power, 2)}, the held-out log loss goes from {fixed(before, 3)} to "
        f"{fixed(after, 3)}.{helps}"
    )


def is_tempered_by_rows(facts: Facts) -> bool:
    """Return whether the exponents were chosen by the rows."""
    return facts.model.fitted_.temper.is_found


def advise_possible(facts: Facts) -> str:
    """Return what keeps cells or classes from being impossible."""
    if facts.model.estimate in ("map", "mle"):
        return (
            f"With estimate={facts.model.estimate!r}, values that a class has not shown can be "
            "impossible. estimate='predictive' with a smoothing above 0 leaves nothing impossible."
        )
    if has_proper_priors(facts.model):
        return (
            "The columns make nothing impossible here, but the class prior does: without the row, "
            "the class has probability 0. class_prior=1.0 gives every class a probability above 0."
        )
    return (
        "Use a smoothing above 0, or a proper prior. Without one, whatever a class has not shown "
        "is impossible."
    )


def has_proper_priors(model: Any) -> bool:
    """Return whether the priors of all columns make nothing impossible."""
    return all(block.strictly_proper.all() for block in model.model_.prior.blocks)


def declared_columns(model: Any) -> set[Hashable]:
    """Return the columns whose family a user chose in a mapping."""
    families = getattr(model, "families", None)
    if not isinstance(families, Mapping):
        return set()
    return set(families).union(*(key for key in families if isinstance(key, tuple)))


def find_useless_columns(facts: Facts) -> list[Hashable]:
    """Return columns that say nothing about new rows: identifiers, constants, free text."""
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
    """Return the line of Python that makes the model with the changes that the page recommends."""
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
        useless = []  # the last column stays
    if useless and hasattr(facts.X, "columns"):
        table = f"X.drop({'columns=' if hasattr(facts.X, 'iloc') else ''}{useless!r})"
    elif useless and sparse.issparse(facts.X):
        table = f"X[:, np.delete(np.arange(X.shape[1]), {useless!r})]"
    elif useless:
        table = f"np.delete(X, {useless!r}, axis=1)"
    return f"{model}.fit({table}, y)" if changes or useless else ""


# The section of the page


def list_checks(facts: Facts) -> Section:
    """Return the results of all checks: problems, and, shortly, what was fine or not done."""
    checks = run_checks(facts)
    problems = find_problems(facts)
    done = count(len(checks), "check")
    content: list = [f"Of {done} of the table and the model, {len(problems)} found a problem."]
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
