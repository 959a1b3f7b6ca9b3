"""Sources of uncertainty, and rows to look at, by models that have not seen these rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb import plots, results
from bayesnb.families.base import Array
from bayesnb.formatting import count, fixed, number, percent, signed
from bayesnb.report.facts import UNCERTAINTY, Facts, attempt
from bayesnb.report.page import (
    Claim,
    Figures,
    Heading,
    Section,
    Table,
    draw,
    name,
    name_column,
    show_interval,
    show_percent,
)
from bayesnb.selection.verdict import entropy_of

MAX_ROWS = 4  # of a table
MAX_REASONS = 3  # columns for, and as many against
LEAST = 0.05  # nats; smaller contributions are not listed
CERTAIN = 1e-3  # nats of entropy that count as none
LITTLE, MUCH = 0.1, 0.5  # shares of the uncertainty that more rows would remove
UNLIKELY = 0.01  # probability of a label
WIDE = 5.5  # inches, the width of a figure that fits on a phone


def uncertainty(facts: Facts) -> Section:
    """How much of the uncertainty is aleatoric, and how much more rows would remove."""
    title = "Where does the uncertainty come from?"
    parts = facts.uncertainty
    if isinstance(parts, str):
        return Section("uncertainty", title, [f"Not known: {parts}"])
    rows = len(parts["entropy"])
    labels = np.array(facts.classes, object)
    dataset = results.datasets.dataset(np.arange(rows), labels, parts, {}, {})
    about = "Aleatoric and epistemic uncertainty of each row's label in nats, the largest first."
    content = [
        "A label can be uncertain because the classes overlap, which more rows cannot change "
        "(aleatoric), or because there are too few rows to learn the classes (epistemic). The two "
        "parts add up to the entropy of the predicted label. Each row is predicted by a model that "
        f"has not seen it: {count(rows, 'row')}, evenly spaced in the table, are held out in ten "
        "groups.",
        judge_uncertainty(parts, facts),
        Figures([draw(plots.plot_uncertainty(dataset), about, wide=WIDE)]),
    ]
    return Section("uncertainty", title, content)


def judge_uncertainty(parts: dict[str, Array], facts: Facts) -> Claim:
    """Return the parts of the uncertainty, and what would reduce it."""
    entropy, stays, removable = (float(parts[key].mean()) for key in UNCERTAINTY)
    if entropy < CERTAIN:
        return Claim("There is almost no uncertainty.")
    share = removable / entropy
    account = (
        f"Of a mean uncertainty of {fixed(entropy, 3)} nats per row, {fixed(stays, 3)} "
        f"({percent(1 - share)}) would remain with any number of rows; more rows would remove "
        f"{fixed(removable, 3)} ({percent(share)})."
    )
    observed = facts.observed
    if observed is not None and observed.unforeseen.lower > 0:
        return Claim(
            "The model understates its uncertainty.",
            f"The held-out log loss is {fixed(observed.unforeseen.value, 3)} nats per row above "
            "its expectation under the model's probabilities. What the model ignores, such as "
            f"dependence between columns, is in neither part. According to the model: {account}",
        )
    if share < LITTLE:
        claim = "The classes overlap: better columns would help, more rows would hardly help."
        return Claim(claim, account)
    if share < MUCH:
        claim = "Mainly, the classes overlap: more rows would help a little, better columns more."
        return Claim(claim, account)
    return Claim("There are too few training rows: more would help most.", account)


def rows_to_look_at(facts: Facts) -> Section:
    """Rows that are likely mislabelled, uncertain, or least like any class."""
    content: list = [
        "Each row is held out: it is predicted by the model of all other rows. Brackets show the "
        f"{show_interval(facts.prob)} credible interval of a probability. Evidence is what a cell "
        "adds to the log-odds of the first of two labels against the second: 0.7 doubles the odds, "
        "2.3 multiplies them by ten. Row 0 is the first below the header; identical rows are shown "
        "once.",
        *list_mislabelled(facts),
    ]
    entropy = find_entropy(facts)
    shown = find_rows(facts)
    content += [
        Heading("Most uncertain"),
        "The rows with the largest entropy of the held-out probabilities. An uncertain prediction "
        "need not be wrong.",
        tabulate_rows(
            "Rows with the most uncertain label, held out",
            shown["uncertain"],
            [("{} nats", entropy)],
            compare_evidence,
            facts,
        ),
        Heading("Most surprising"),
        "The rows that are least like any class, with the lowest log p(x | all other rows). Look "
        "for typing errors, other units, or rows of a class that is not in the table. The most "
        "unusual cells are listed beside each row, with how far (in nats) their log density is "
        "below what is usual for their column.",
        tabulate_rows(
            "Least typical rows, held out",
            shown["surprising"],
            [("log p(x) = {}", facts.log_density)],
            list_unusual_cells,
            facts,
        ),
    ]
    return Section("rows", "Rows to look at", content)


def find_entropy(facts: Facts) -> Array:
    """Return the entropy of each row's held-out label, 0 where it has none."""
    return np.where(facts.answered, entropy_of(facts.left_out), 0.0)


def find_wrong(facts: Facts) -> Array:
    """Return the rows whose held-out prediction is not their label, the worst first."""
    wrong = facts.answered & (facts.left_out.argmax(axis=1) != facts.codes)
    order = np.argsort(facts.label_log_proba[wrong], kind="stable")
    return np.flatnonzero(wrong)[order]


def find_rows(facts: Facts) -> dict[str, Array]:
    """Return the first mislabelled, uncertain and surprising rows; identical ones once."""
    entropy = find_entropy(facts)
    density = facts.log_density
    orders = {
        "mislabelled": find_wrong(facts),
        "uncertain": np.argsort(-entropy, kind="stable")[: int((entropy > CERTAIN).sum())],
        "surprising": np.argsort(density, kind="stable")[: int(np.isfinite(density).sum())],
    }
    shown = {}
    for kind, order in orders.items():
        _, first = np.unique(facts.row_keys[order], return_index=True)
        shown[kind] = order[np.sort(first)[:MAX_ROWS]]
    return shown


def list_mislabelled(facts: Facts) -> list:
    """Return rows whose label is unlikely according to the other rows."""
    log_proba = facts.label_log_proba
    answered = facts.answered
    wrong = find_wrong(facts)
    if not len(wrong):
        return [Heading("Likely mislabelled"), "No label is suspect."]
    proba = np.exp(facts.left_out[answered])
    few = int((log_proba[answered] < np.log(UNLIKELY)).sum())
    caption = "Rows with the least probable labels, held out"
    return [
        Heading("Likely mislabelled"),
        f"For {count(len(wrong), 'row')}, the predicted label differs from the observed one. The "
        "rows with the least probable observed labels come first. Check these: the label or a cell "
        f"may be wrong. {few:,} held-out labels had a probability below "
        f"{percent(UNLIKELY, 0)}; with perfect calibration, about "
        f"{number(float(proba[proba < UNLIKELY].sum()), 2)} such rows would be expected.",
        tabulate_rows(caption, find_rows(facts)["mislabelled"], [], compare_evidence, facts),
    ]


def tabulate_rows(
    caption: str,
    rows: Array,
    remarks: list[tuple[str, Array]],
    explain: Callable[[int, Any, Facts], str],
    facts: Facts,
) -> Table:
    """Return rows with their labels, remarks, probabilities and evidence."""
    columns: dict[str, list] = {"Row": [], "Label": [], "Probabilities": [], "Evidence": []}
    for row in rows:
        other = facts.hold_out([row])
        interval = explained = other
        if not isinstance(other, str):
            interval = attempt(other.predict_interval, facts.take([row])[0], ci_prob=facts.prob)
            explained = facts.explain(other, [row])
        if isinstance(explained, str):
            why = f"not known: {name(explained, 200)}"
        else:
            why = explain(row, explained.isel(obs_id=0), facts)
        label = [name(facts.classes[facts.codes[row]], 40)]
        label += [pattern.format(number(values[row])) for pattern, values in remarks]
        columns["Row"].append(row)
        columns["Label"].append("\n".join(label))
        columns["Probabilities"].append(list_probabilities(row, interval, facts))
        columns["Evidence"].append(why)
    return Table(caption, columns, kind="cards")


def list_labels(row: int, facts: Facts) -> list[int]:
    """Return the two most probable classes of a row, and the observed one."""
    best = np.argsort(-facts.left_out[row], kind="stable")[:2].tolist()
    return list(dict.fromkeys([*best, int(facts.codes[row])]))


def list_probabilities(row: int, interval: Any, facts: Facts) -> str:
    """Return the two most probable labels, and the observed one, with intervals."""
    lines = []
    for c in list_labels(row, facts):
        ends = (0.0, 0.0)
        if not isinstance(interval, str):
            ends = float(interval["lower"][0, c]), float(interval["upper"][0, c])
        shown = show_percent(float(np.exp(facts.left_out[row, c])), *ends)
        lines.append(f"{name(facts.classes[c], 40)}: {shown}")
    return "\n".join(lines)


def compare_evidence(row: int, explained: Any, facts: Facts) -> str:
    """Return the columns with the most evidence for the predicted label, and against it."""
    first, *others = list_labels(row, facts)
    if not others:
        return "there is only one class"
    second = others[-1]  # the observed label, unless it is predicted
    terms = explained["predictive"].values
    with np.errstate(invalid="ignore"):
        gap = terms[first] - terms[second]
    if not np.isfinite(gap).all():
        return "a cell is impossible under one of the two labels"
    pair = " against ".join(name(facts.classes[c], 40) for c in (first, second))
    return "\n".join(
        [f"{pair}:", *list_largest(gap, explained), *list_largest(-gap, explained, -1)]
    )


def list_unusual_cells(row: int, explained: Any, facts: Facts) -> str:
    """Return the cells of a row whose log density is below what is usual for their columns."""
    excess = -explained["predictive"].values[facts.left_out[row].argmax()]
    if not isinstance(facts.explained, str) and not facts.has_words:
        places = facts.spaced(facts.explained.sizes["obs_id"])
        usual = facts.explained["predictive"].values[np.arange(len(places)), facts.codes[places]]
        excess += np.where(np.isfinite(usual), usual, 0.0).mean(axis=0)
    return "\n".join(list_largest(excess, explained)) or "no cell is unusual"


def list_largest(nats: Array, explained: Any, sign: int = 1) -> list[str]:
    """Return the cells with the largest contributions, times the sign."""
    lines = []
    for j in np.argsort(-nats, kind="stable")[:MAX_REASONS]:
        if nats[j] > LEAST:
            lines.append(f"{signed(sign * nats[j], 2)} {show_cell(explained, j)}")
    return lines


def show_cell(explained: Any, j: int) -> str:
    """Return the name of a column and its cell; the cell of a block contains the names."""
    feature, cell = (str(explained[key].values[j]) for key in ("feature", "cell"))
    is_block = feature in np.atleast_1d(explained["cell"].attrs.get("blocks", []))
    return name(cell, 44) if is_block else f"{name_column(feature, 40)} {name(cell, 44)}"
