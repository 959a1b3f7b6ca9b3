"""Rows to look at: what the model says of them that has not seen them, how sure it is, and why."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy import sparse

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.families.capabilities import words_of
from bayesnb.formatting import MINUS, NOTHING, SPACE, count, fixed, number, percent, shorten
from bayesnb.inference.explanation import explain
from bayesnb.model.schema import Block
from bayesnb.numerics.views import as_numbers
from bayesnb.plots.waterfall_plot import has_links
from bayesnb.report.facts import Facts
from bayesnb.report.facts.held_out import settled
from bayesnb.report.facts.left_out_rows import (
    ROWS,
    Pick,
    RowLeftOut,
    distinct,
    most_rows,
    spaced,
    with_intervals,
)
from bayesnb.report.html import Name, element, phrase
from bayesnb.report.html_page import drawn
from bayesnb.report.wording import SURE, as_name, name_of, percent_span

MOST_LABELS, LEAST_LABEL = 3, 0.005  # of a row, and their probability
MOST_CELLS = 12  # of a row
MOST_REASONS = 3  # features for, and as many against
LEAST, SLIGHT = 0.01, 0.05  # nats, and a share of the most that any cell adds, which are not worth a line
BLOCK = 44  # letters of the cells of a block, which all of the row are beside
UNUSUAL = 0.1  # nats less than usual, which are
USUAL = (2_000_000, 500)  # numbers of the rows by which one knows what is usual; and rows, at most
CERTAIN = 1e-3  # nats of entropy of a label, which are next to none
PLAIN, UNLIKELY = 0.1, 0.01  # probabilities of a label: above, nothing stands out; below, it would be rare
WIDTH = 5.0  # inches of a picture, which a phone has room for
Values = dict[str, Any]
Measure = Callable[[RowLeftOut], str]


def unsure(facts: Facts) -> Values:
    """The rows that deserve a second look."""
    return {
        "in_brackets": with_intervals(facts),
        "most": most_rows(facts),
        "fewer": most_rows(facts) < ROWS[1],
        "linked": bool(facts.comparisons.links),
        "answered": int(facts.held_out.answered.sum()),
        "mislabelled": mislabelled(facts),
        "uncertain": uncertain(facts),
        "surprising": surprising(facts),
        "most_entropy": number(float(np.log(len(facts.classes))), 3),
    }


def mislabelled(facts: Facts) -> Values | None:
    """Rows of whose label the other rows say that it is unlikely; None, where there are none."""
    log_proba, answered = facts.label_log_proba, facts.held_out.answered
    wrong = answered & (facts.left_out.argmax(axis=1) != facts.codes)
    if not wrong.any():
        return None
    order = np.flatnonzero(wrong)[np.argsort(log_proba[wrong], kind="stable")]
    p, known = np.exp(facts.left_out[answered]), log_proba[answered]

    def measure(one: RowLeftOut) -> str:
        return phrase("{} against the label", odds(float(log_proba[one.row])))

    return {
        "wrong": int(wrong.sum()),
        "most_odds": odds(float(known.min())) if known.min() > np.log(PLAIN) else "",
        "unlikely": percent(UNLIKELY, 0),
        "few": int((known < np.log(UNLIKELY)).sum()),
        "by_chance": number(float(p[p < UNLIKELY].sum()), 2),
        **compared(order, lambda one: (int(one.ranked[0]), int(facts.codes[one.row])), measure, facts, "mislabelled"),
    }


def uncertain(facts: Facts) -> Values | None:
    """The rows whose label has the largest entropy; None, where there is next to none."""
    entropy = facts.held_out.entropy
    undecided = np.flatnonzero(entropy > CERTAIN)
    if not len(undecided):
        return None
    order = undecided[np.argsort(-entropy[undecided], kind="stable")]

    def measure(one: RowLeftOut) -> str:
        return f"{number(float(entropy[one.row]), 3)} nats"

    return compared(order, lambda one: (int(one.ranked[0]), int(one.ranked[1])), measure, facts, "uncertain")


def compared(
    order: Array, pair: Callable[[RowLeftOut], tuple[int, int]], measure: Measure, facts: Facts, salt: str
) -> Values:
    """The first rows of an order, what speaks for each of two labels, and a picture of that for the first row."""
    picks = distinct(order, facts, most_rows(facts))
    first = facts.row_left_out(picks[0].row, with_intervals(facts) > 0)
    return {
        "rows": shown_rows(picks, measure, lambda one: weighed(one, pair(one), facts), facts),
        "picture": waterfall(first, pair(first), salt),
    }


def surprising(facts: Facts) -> list[Values]:
    """The rows that are least like all others; none, where the others leave no distribution."""
    density = facts.held_out.log_density
    known = np.flatnonzero(~np.isnan(density))
    order = known[np.argsort(density[known], kind="stable")]
    rank = {row: place for place, row in enumerate(order.tolist(), 1)}
    usual = usually(facts)

    def measure(one: RowLeftOut) -> str:
        return f"{ranked(rank[one.row], len(order))}; log p(x) = {number(float(density[one.row]), 3)}"

    return shown_rows(distinct(order, facts, most_rows(facts)), measure, lambda one: surprises(one, usual), facts)


def odds(log_proba: float) -> Markup | str:
    """Odds against a label of a log probability."""
    if log_proba == -np.inf:
        return "impossible: the odds are infinite"
    size = np.log(-np.expm1(log_proba)) - log_proba if log_proba < 0 else -np.inf
    if size > 30:
        return phrase("10{} to 1", element("sup", f"{size / np.log(10):.0f}"))
    return f"{number(float(f'{np.exp(size):.2g}'), 2)} to 1"


def ranked(place: int, rows: int) -> str:
    """The place of a row among all, the least usual being the first."""
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{'the' if place == 1 else f'the {place:,}{ending}'} least typical of {count(rows, 'row')}"


def shown_rows(picks: list[Pick], measure: Measure, why: Callable[[RowLeftOut], Any], facts: Facts) -> list[Values]:
    """Rows with their labels, probabilities, cells, and what speaks for them."""
    most = with_intervals(facts)
    rows = [facts.row_left_out(pick.row, place < most) for place, pick in enumerate(picks)]
    cells = cells_of(np.array([one.row for one in rows]), facts)
    return [
        {
            "row": one.row,
            "copies": pick.times - 1,
            "label": as_name(facts.classes[facts.codes[one.row]]),
            "predicted": predicted(one, facts),
            "measure": measure(one),
            "probabilities": probabilities(one, facts),
            "cells": shown,
            "why": why(one),
        }
        for pick, one, shown in zip(picks, rows, cells, strict=True)
    ]


def predicted(one: RowLeftOut, facts: Facts) -> Name | None:
    """The predicted label where it is another than the given one; None, where there is none."""
    best = int(one.ranked[0])
    if not np.isfinite(one.log_proba[best]):
        return None
    return as_name("" if best == facts.codes[one.row] else facts.classes[best])


def probabilities(one: RowLeftOut, facts: Facts) -> list[str] | str:
    """The two most probable labels, a third that is not negligible, and always the given one, with intervals."""
    if not np.isfinite(one.log_proba.max()):
        return NOTHING
    p = np.exp(one.log_proba)
    best = one.ranked[: min(MOST_LABELS, max(2, int((p > LEAST_LABEL).sum())))].tolist()
    given, possible = int(facts.codes[one.row]), int((p > 0).sum())
    shown: list[str] = []
    for c in best if given in best else [*best, given]:
        value = min(float(p[c]), SURE) if possible > 1 else float(p[c])
        low, high = float(one.lower[c]), float(one.upper[c])
        seen = not np.isnan(low) and fixed(100 * low, 1) != fixed(100 * high, 1)  # wide enough to be seen
        shown.append(
            phrase("{}: {}", as_name(facts.classes[c]), percent_span(value, low, high) if seen else percent(value))
        )
    return shown


def waterfall(one: RowLeftOut, pair: tuple[int, int], salt: str) -> Markup | None:
    """The picture of what each column adds to the log-odds of two classes, where there is one."""
    if one.explained is None or pair[0] == pair[1]:
        return None
    if not all(np.isfinite(one.explained[name].values[list(pair)]).all() for name in ("evidence", "class_term")):
        return None
    names = [one.explained["class"].values.tolist()[c] for c in pair]
    first, second = (shorten(name, 80) for name in names)
    about = f"Row {one.row}: what each column adds to the log-odds of {first} against {second}."
    return drawn(plots.plot_waterfall(one.explained, classes=names), about, salt, WIDTH)


def weighed(one: RowLeftOut, pair: tuple[int, int], facts: Facts) -> list[Values] | str:
    """The features that speak most for the first class against the second, and for the second.

    By posterior means and sds; where there are links, whose log-ratios have long tails, by predictives.
    """
    if one.explained is None:
        return "not known: an improper prior"
    if pair[0] == pair[1]:
        return NOTHING
    linked = has_links(one.explained)
    names = ("predictive" if linked else "evidence", "sd")
    terms, spread = (np.asarray(one.explained[name])[list(pair)] for name in names)
    if not np.isfinite(terms).all():
        return "a cell is impossible under one of the two labels"
    gap, sd = terms[0] - terms[1], np.sqrt((spread**2).sum(axis=0))
    order = np.argsort(-np.abs(gap), kind="stable")
    least = max(LEAST, SLIGHT * float(np.abs(gap).max(initial=0.0)))  # a text may have no word
    sides = [[j for j in order.tolist() if way * gap[j] > least][:MOST_REASONS] for way in (1, -1)]
    reasons = [
        {
            "label": as_name(facts.classes[c]),
            "lines": [
                (f"+{rounded(abs(gap[j]))}" + spread_of(sd[j], linked), *shown_cell(one.explained, j)) for j in side
            ],
        }
        for c, side in zip(pair, sides, strict=True)
        if side
    ]
    return reasons or "no column has evidence; only the class frequencies count"


def spread_of(sd: float, linked: bool) -> str:
    """A standard deviation behind a number; nothing, where predictives are shown."""
    return "" if linked else f"{SPACE}±{SPACE}{rounded(sd)}"


def shown_cell(explained: Any, j: int) -> tuple[Name | None, Name]:
    """A column and its cell; a column of an array has only its place, and a block only its cells."""
    name, cell = str(explained["feature"].values[j]), str(explained["cell"].values[j])
    name = f"column {name}" if name.isdigit() else name
    if name in np.atleast_1d(explained["cell"].attrs.get("blocks", [])):
        return None, as_name(cell, BLOCK)
    if re.fullmatch(r"-[\d.]+(e[-+]?\d+)?", cell):
        cell = MINUS + cell[1:]
    return as_name(name), as_name(cell)


def rounded(x: float) -> str:
    """A number of nats."""
    return fixed(x, 2 if x < 9.995 else 1)


def surprises(one: RowLeftOut, usual: dict[str, float]) -> list[Values] | str:
    """Which cells of a row are less probable than cells usually are, under its likeliest class."""
    if one.explained is None or not np.isfinite(one.log_proba.max()):
        return "not known: an improper prior, or an impossible row"
    names = [str(name) for name in one.explained["feature"].values.tolist()]
    excess = np.array([usual.get(name, 0.0) for name in names])
    excess = excess - np.asarray(one.explained["predictive"])[one.ranked[0]]
    order = [j for j in np.argsort(-excess, kind="stable").tolist() if excess[j] > UNUSUAL][:MOST_REASONS]
    lines = [(f"{fixed(excess[j], 1)}\u00a0nats:", *shown_cell(one.explained, j)) for j in order]
    return [{"label": "", "lines": lines}] if lines else "no cell is unusual"


def usually(facts: Facts) -> dict[str, float]:
    """The mean log predictive of every column's cells under their own class, where cells have one; not of words."""
    belief, size = facts.model.model_.posterior, len(facts.classes)
    listed = any(words_of(block, x[:1]) is not None for block, x in zip(belief.blocks, facts.cells, strict=True))
    if listed or not settled(belief):
        return {}
    most = int(np.clip(USUAL[0] / (size * sum(x.shape[1] for x in facts.cells)), 1, USUAL[1]))
    rows = spaced(len(facts.codes), most)
    predictive = explain(belief, [x[rows] for x in facts.cells], facts.model._exponents).predictive
    log_p: Array = predictive[np.arange(len(rows)), facts.codes[rows]]
    names = [  # of features, as an explanation has them
        ", ".join(map(str, key)) if isinstance(key, tuple) and block.family.multivariate else str(key)
        for block in facts.model.schema_.blocks
        for key in (block.words if block.is_linked else block.keys)
    ]
    with np.errstate(invalid="ignore"):
        return dict(zip(names, np.where(np.isfinite(log_p), log_p, 0.0).mean(axis=0).tolist(), strict=True))


def cells_of(rows: Array, facts: Facts) -> list[list[tuple[Name, str]]]:
    """Columns and cells of each row as the model saw it, the first `MOST_CELLS` columns in the table's order."""
    shown: list[list[tuple[int, Name, str]]] = [[] for _ in rows]
    for block, x in zip(facts.model.schema_.columns_alone.blocks, facts.cells, strict=False):  # links are the last
        part = as_numbers(x)[rows]
        for row, cells in zip(shown, part.toarray() if sparse.issparse(part) else np.asarray(part), strict=True):
            columns = np.arange(min(len(cells), MOST_CELLS))
            if block.family.words and len(cells) > MOST_CELLS:  # the largest counts are worth a place
                columns = np.argsort(-cells, kind="stable")[:MOST_CELLS]
                columns = columns[cells[columns] > 0]
            for j in columns.tolist():
                row.append((block.word_places[j], as_name(name_of(block.words[j])), cell_value(block, j, cells[j])))
    return [[(name, value) for _, name, value in sorted(row, key=lambda cell: cell[0])[:MOST_CELLS]] for row in shown]


def cell_value(block: Block, j: int, cell: float) -> str:
    """A cell as the table has it."""
    leveled, outcomes = block.family.has_levels, block.family.outcomes
    if np.isnan(cell) or (leveled and cell < 0):
        return "missing"
    if leveled:
        return as_name(block.levels[j][int(cell)]) if cell < len(block.levels[j]) else "new"
    return outcomes[int(cell)] if outcomes else number(float(cell), 6).replace(",", "")
