"""Rows to look at: what the model says of them that has not seen them, how sure it is, and why."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy import sparse

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.inference.explanation import explain
from bayesnb.model.schema import Block
from bayesnb.plots.waterfall_plot import height, steps_of
from bayesnb.report.facts import Facts
from bayesnb.report.facts.held_out import settled
from bayesnb.report.facts.left_out_rows import Pick, RowLeftOut, distinct, hasty, left_out_row
from bayesnb.report.html_page import drawn
from bayesnb.report.wording import (
    MINUS,
    NOTHING,
    SURE,
    brief,
    count,
    fixed,
    name_of,
    number,
    percent,
    percent_span,
)
from bayesnb.results.display import Name, element, phrase

MOST_ROWS, FIRST = 10, 5  # of each kind; those of them that are not folded
MOST_LABELS, LEAST_LABEL = 3, 0.005  # of a row, and their probability
MOST_CELLS = 12  # of a row
MOST_REASONS = 3  # features for, and as many against
LEAST, SLIGHT = 0.01, 0.05  # nats, and a share of the most that any cell adds, which are not worth a line
BLOCK = 44  # letters of the cells of a block, which all of the row are beside
UNUSUAL = 0.1  # nats less than usual, which are
USUAL = (2_000_000, 500)  # numbers of the rows by which one knows what is usual; and rows, at most
CERTAIN = 1e-3  # nats of doubt about a row, which are next to none
PLAIN, UNLIKELY = 0.1, 0.01  # probabilities of a label: above, nothing is odd; below, it would be rare
WIDTH = 5.0  # inches of a picture, which a phone has room for
NO_ANSWER = "Not known: no row has an answer when it is held out."
Values = dict[str, Any]
See = Callable[[int], RowLeftOut]


def unsure(facts: Facts) -> Values:
    """The rows that deserve a second look."""

    @cache
    def see(row: int) -> RowLeftOut:
        return left_out_row(row, facts)

    kinds = [mislabelled(facts, see), uncertain(facts, see), surprising(facts, see)]
    return {"hasty": hasty(facts), "kinds": kinds, "first": FIRST}


def mislabelled(facts: Facts, see: See) -> Values:
    """Rows of whose label the other rows say that it is unlikely."""
    heading, log_proba = "Likely mislabelled", facts.label_log_proba
    if not facts.held_out.answered.any():
        return nothing(heading, NO_ANSWER)
    wrong = facts.held_out.answered & (facts.left_out.argmax(axis=1) != facts.codes)
    if not wrong.any():
        return nothing(heading, "No label is doubted: every held-out row that has an answer was labelled correctly.")
    order = np.flatnonzero(wrong)[np.argsort(log_proba[wrong], kind="stable")]
    intro = [
        f"Another label than the given one is likelier for {count(int(wrong.sum()), 'row')}. Here are those whose "
        "label has the odds most against it. Check them first: the label itself may be wrong, or a cell.",
        expected(facts),
    ]

    def pair(one: RowLeftOut) -> tuple[int, int]:
        return int(one.ranked[0]), int(facts.codes[one.row])

    def measure(one: RowLeftOut) -> str:
        return phrase("{} against the label", odds(float(log_proba[one.row])))

    picks = distinct(order, facts, MOST_ROWS)
    return {
        "heading": heading,
        "intro": intro,
        "caption": "Rows whose label is the least likely, held out",
        "why": "Evidence",
        "rows": shown_rows(picks, see, measure, lambda one: weighed(one, pair(one), facts), facts),
        "picture": waterfall(see(picks[0].row), pair(see(picks[0].row)), facts, "mislabelled"),
    }


def nothing(heading: str, why: str) -> Values:
    """A kind of rows of which there is none to show."""
    return {"heading": heading, "intro": [why], "rows": []}


def expected(facts: Facts) -> Markup | str:
    """Whether any label stands out, and how many labels of a small probability chance alone makes."""
    log_proba = facts.label_log_proba[facts.held_out.answered]
    p, rows = np.exp(facts.left_out[facts.held_out.answered]), count(len(log_proba), "held-out row")
    if log_proba.min() > np.log(PLAIN):
        most = odds(float(log_proba.min()))
        return phrase("None of them stands out: the odds against a label are at most {}.", most)
    few = int((log_proba < np.log(UNLIKELY)).sum())
    chance = number(float(p[p < UNLIKELY].sum()), 2)
    many = f"{few:,} of {rows}" if few else f"None of {rows}"
    gave = f"{many} had a label that was given under {percent(UNLIKELY, 0)}."
    return gave if not few else f"{gave} If all probabilities were right, about {chance} such rows would be expected."


def odds(log_proba: float) -> Markup | str:
    """Odds against a label of a log probability."""
    if log_proba == -np.inf:
        return "impossible: the odds are infinite"
    size = np.log(-np.expm1(log_proba)) - log_proba if log_proba < 0 else -np.inf
    if size > 30:
        return phrase("10{} to 1", element("sup", f"{size / np.log(10):.0f}"))
    return f"{number(float(f'{np.exp(size):.2g}'), 2)} to 1"


def uncertain(facts: Facts, see: See) -> Values:
    """The rows whose label has the largest entropy."""
    heading, entropy = "Most uncertain", facts.held_out.entropy
    if not np.isfinite(entropy).any():
        return nothing(heading, NO_ANSWER)
    undecided = np.flatnonzero(entropy > CERTAIN)
    if not len(undecided):
        return nothing(heading, "There is next to no doubt about any row.")

    def pair(one: RowLeftOut) -> tuple[int, int]:
        return int(one.ranked[0]), int(one.ranked[1])

    def measure(one: RowLeftOut) -> str:
        return f"{number(float(entropy[one.row]), 3)} nats"

    picks = distinct(undecided[np.argsort(-entropy[undecided], kind="stable")], facts, MOST_ROWS)
    most = number(float(np.log(len(facts.classes))), 3)
    return {
        "heading": heading,
        "intro": [
            "The rows about whose label the model is least certain: the entropy of the held-out probabilities, of at "
            f"most {most} nats. An undecided model is not a wrong one."
        ],
        "caption": "Rows with the most uncertain label, held out",
        "why": "Evidence",
        "rows": shown_rows(picks, see, measure, lambda one: weighed(one, pair(one), facts), facts),
        "picture": waterfall(see(picks[0].row), pair(see(picks[0].row)), facts, "uncertain"),
    }


def surprising(facts: Facts, see: See) -> Values:
    """The rows that are least like all others."""
    heading, density = "Most surprising", facts.held_out.log_density
    known = np.flatnonzero(~np.isnan(density))
    if not len(known):
        return nothing(heading, "Not known: the other rows leave no distribution of the cells.")
    order = known[np.argsort(density[known], kind="stable")]
    rank = {int(row): place for place, row in enumerate(order.tolist(), 1)}
    usual = usually(facts)

    def measure(one: RowLeftOut) -> str:
        return f"{ranked(rank[one.row], len(order))}; log p(x) = {number(float(density[one.row]), 3)}"

    picks = distinct(order, facts, MOST_ROWS)
    return {
        "heading": heading,
        "intro": [
            "The rows that are least like any class: log p(x | all other rows) is the lowest, whatever the label. "
            "Look for typing errors, other units, or a kind of row that has no class yet. Beside each row, the cells "
            "that are less expected under its likeliest label than cells of their column usually are, and by how many "
            "nats.",
            "Rows with many cells or words have more to be surprised by than rows with missing cells.",
        ],
        "caption": "Rows least like all others, held out",
        "why": "Least expected cells",
        "rows": shown_rows(picks, see, measure, lambda one: surprises(one, usual), facts),
        "picture": None,
    }


def ranked(place: int, rows: int) -> str:
    """The place of a row among all, the least usual being the first."""
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{'the' if place == 1 else f'the {place:,}{ending}'} least usual of {count(rows, 'row')}"


def shown_rows(
    picks: list[Pick], see: See, measure: Callable[[RowLeftOut], str], why: Callable[[RowLeftOut], Any], facts: Facts
) -> list[Values]:
    """Rows with their labels, probabilities, cells, and what speaks for them."""
    cells = cells_of(np.array([pick.row for pick in picks]), facts)
    return [
        {
            "row": pick.row,
            "copies": "" if pick.times == 1 else count(pick.times - 1, "row"),
            "label": Name(brief(facts.classes[facts.codes[pick.row]])),
            "predicted": predicted(see(pick.row), facts),
            "measure": measure(see(pick.row)),
            "probabilities": probabilities(see(pick.row), facts),
            "cells": shown,
            "why": why(see(pick.row)),
        }
        for pick, shown in zip(picks, cells, strict=True)
    ]


def predicted(one: RowLeftOut, facts: Facts) -> Name | None:
    """The predicted label where it is another than the given one; None, where there is none."""
    best = int(one.ranked[0])
    if not np.isfinite(one.log_proba[best]):
        return None
    return Name("" if best == facts.codes[one.row] else brief(facts.classes[best]))


def probabilities(one: RowLeftOut, facts: Facts) -> list[str] | str:
    """The two most probable labels, a third that is not negligible, and always the given one, with intervals."""
    if not np.isfinite(one.log_proba.max()):
        return NOTHING
    p = np.exp(one.log_proba)
    best = one.ranked[: min(MOST_LABELS, max(2, int((p > LEAST_LABEL).sum())))].tolist()
    given = int(facts.codes[one.row])
    shown = best if given in best else [*best, given]
    return [phrase("{}: {}", Name(brief(facts.classes[c])), probability(c, p, one)) for c in shown]


def probability(c: int, p: Array, one: RowLeftOut) -> str:
    """The probability of a class with its interval, where that is wide enough to be seen."""
    low, high = float(one.lower[c]), float(one.upper[c])
    value = min(float(p[c]), SURE) if (one.log_proba > -np.inf).sum() > 1 else float(p[c])
    if np.isnan(low) or fixed(100 * low, 1) == fixed(100 * high, 1):
        return percent(value)
    return percent_span(value, low, high)


def waterfall(one: RowLeftOut, pair: tuple[int, int], facts: Facts, salt: str) -> Markup | None:
    """The picture of what each column adds to the log-odds of two classes, where there is one."""
    if one.explained is None or pair[0] == pair[1]:
        return None
    terms = [np.asarray(one.explained[name])[list(pair)] for name in ("evidence", "class_term")]
    if not all(np.isfinite(term).all() for term in terms):
        return None
    names = [one.explained["class"].values.tolist()[c] for c in pair]
    about = f"Row {one.row}: what each column adds to the log-odds of {brief(names[0])} against {brief(names[1])}."
    ax = plots.new_axes(height(steps_of(one.explained, names), WIDTH), WIDTH)
    plots.plot_waterfall(one.explained, classes=names, ax=ax)
    return drawn(ax, about, salt)


def weighed(one: RowLeftOut, pair: tuple[int, int], facts: Facts) -> list[Values] | str:
    """The features that speak most for the first class against the second, and for the second."""
    if one.explained is None:
        return "the other rows leave no distribution"
    if pair[0] == pair[1]:
        return NOTHING
    terms, spread = (np.asarray(one.explained[name])[list(pair)] for name in ("evidence", "sd"))
    if not np.isfinite(terms).all():
        return "some cell is impossible under one of the two labels"
    gap, sd = terms[0] - terms[1], np.sqrt((spread**2).sum(axis=0))
    order = np.argsort(-np.abs(gap), kind="stable")
    least = max(LEAST, SLIGHT * float(np.abs(gap).max(initial=0.0)))  # a text may have no word
    sides = [[j for j in order.tolist() if way * gap[j] > least][:MOST_REASONS] for way in (1, -1)]
    reasons = [
        {
            "label": Name(brief(facts.classes[c])),
            "lines": [
                (f"+{rounded(abs(gap[j]))}\u00a0±\u00a0{rounded(sd[j])}", *shown_cell(one.explained, j)) for j in side
            ],
        }
        for c, side in zip(pair, sides, strict=True)
        if side
    ]
    return reasons or "no column says anything; only how frequent the classes are"


def shown_cell(explained: Any, j: int) -> tuple[Name | None, Name]:
    """A column and its cell; a column of an array has only its place, and a block only its cells."""
    name, cell = str(explained["feature"].values[j]), str(explained["cell"].values[j])
    name = f"column {name}" if name.isdigit() else name
    if name in np.atleast_1d(explained["cell"].attrs.get("blocks", [])):
        return None, Name(brief(cell, BLOCK))
    if re.fullmatch(r"-[\d.]+(e[-+]?\d+)?", cell):
        cell = MINUS + cell[1:]
    return Name(brief(name)), Name(brief(cell))


def rounded(x: float) -> str:
    """A number of nats."""
    return fixed(x, 2 if x < 9.995 else 1)


def surprises(one: RowLeftOut, usual: dict[str, float]) -> list[Values] | str:
    """Which cells of a row are less probable than cells usually are, under its likeliest class."""
    if one.explained is None or not np.isfinite(one.log_proba.max()):
        return "the other rows leave no distribution, or make it impossible"
    names = [str(name) for name in one.explained["feature"].values.tolist()]
    excess = np.array([usual.get(name, 0.0) for name in names])
    excess = excess - np.asarray(one.explained["predictive"])[one.ranked[0]]
    order = [j for j in np.argsort(-excess, kind="stable").tolist() if excess[j] > UNUSUAL][:MOST_REASONS]
    lines = [(f"{fixed(excess[j], 1)}\u00a0nats:", *shown_cell(one.explained, j)) for j in order]
    return [{"label": "", "lines": lines}] if lines else "no cell is unusual"


def usually(facts: Facts) -> dict[str, float]:
    """The mean log predictive of every column's cells under their own class, where cells have one; not of words."""
    belief, size = facts.model.model_.posterior, len(facts.classes)
    if not settled(belief) or any(
        block.words(x[:1]) is not None for block, x in zip(belief.blocks, facts.cells, strict=True)
    ):
        return {}
    most = int(np.clip(USUAL[0] / (size * sum(x.shape[1] for x in facts.cells)), 1, USUAL[1]))
    rows = np.unique(np.linspace(0, len(facts.codes) - 1, min(most, len(facts.codes))).round().astype(int))
    predictive = explain(belief, [x[rows] for x in facts.cells], facts.model.temper_).predictive
    log_p: Array = predictive[np.arange(len(rows)), facts.codes[rows]]
    features = [name for block in facts.model.schema_.blocks for name in explained_names(block)]
    with np.errstate(invalid="ignore"):
        return dict(zip(features, np.where(np.isfinite(log_p), log_p, 0.0).mean(axis=0).tolist(), strict=True))


def explained_names(block: Any) -> list[str]:
    """What the features of a block are called in an explanation."""
    joint = block.family.whole
    return [", ".join(map(str, key)) if isinstance(key, tuple) and joint else str(key) for key in block.keys]


def cells_of(rows: Array, facts: Facts) -> list[list[tuple[Name, Any]]]:
    """Columns and cells of each row as the model saw it, the first `MOST_CELLS` columns in the table's order."""
    shown: list[list[tuple[int, Name, Any]]] = [[] for _ in rows]
    for block, x in zip(facts.model.schema_.blocks, facts.cells, strict=True):
        part = x[rows]
        for row, cells in zip(shown, part.toarray() if sparse.issparse(part) else np.asarray(part), strict=True):
            for j in telling(block, cells):
                name = Name(brief(name_of(block.words[j])))
                row.append((block.word_places[j], name, cell_value(block, j, float(cells[j]))))
    return [[(name, value) for _, name, value in sorted(row, key=lambda cell: cell[0])[:MOST_CELLS]] for row in shown]


def telling(block: Block, cells: Array) -> Array:
    """The columns of a block that are worth a place: the largest counts, or the first ones."""
    if len(cells) <= MOST_CELLS or not block.family.words:
        return np.arange(min(len(cells), MOST_CELLS))
    most = np.argsort(-cells, kind="stable")[:MOST_CELLS]
    return most[cells[most] > 0]


def cell_value(block: Block, j: int, cell: float) -> str:
    """A cell as the table has it."""
    leveled = block.family.has_levels
    if np.isnan(cell) or (leveled and cell < 0):
        return "missing"
    if leveled:
        return Name(brief(str(block.levels[j][int(cell)]))) if cell < len(block.levels[j]) else "new"
    outcomes = block.family.outcomes
    return outcomes[int(cell)] if outcomes else number(cell, 6).replace(",", "")
