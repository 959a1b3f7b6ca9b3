"""What speaks for a row's label and against it, and which of its cells are unexpected: a few lines for a table."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.wording import MINUS, NOTHING, fixed
from bayesnb.inference.explanation import explain
from bayesnb.report.facts import Facts
from bayesnb.report.facts.judged import settled
from bayesnb.report.facts.without import Look
from bayesnb.report.markup import text
from bayesnb.report.wording import brief

MOST = 3  # features for, and as many against
LEAST, SLIGHT = 0.01, 0.05  # nats, and a share of the most that any cell adds, which are not worth a line
BLOCK = 44  # letters of the cells of a block, which all of the row are beside
UNUSUAL = 0.1  # nats less than usual, which are
USUAL = (2_000_000, 500)  # numbers of the rows by which one knows what is usual; and rows, at most


def weighed(one: Look, pair: tuple[int, int], facts: Facts) -> str:
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
    least = max(LEAST, SLIGHT * float(np.abs(gap).max()))
    sides = [[j for j in order.tolist() if way * gap[j] > least][:MOST] for way in (1, -1)]
    parts = [
        side(facts.classes[c], [line(one.explained, j, abs(gap[j]), sd[j]) for j in own])
        for c, own in zip(pair, sides, strict=True)
    ]
    return "".join(parts) or "no column says anything; only how frequent the classes are"


def side(label: str, lines: list[str]) -> str:
    return f"<small>for</small> {text(brief(label))}:<br>{'<br>'.join(lines)}<br>" if lines else ""


def line(explained: Any, j: int, gap: float, sd: float) -> str:
    """A cell and what it adds to the log-odds."""
    return f"+{rounded(gap)}\u00a0±\u00a0{rounded(sd)} {named(explained, j)}"


def named(explained: Any, j: int) -> str:
    """A column and its cell; a column of an array has only its place."""
    name, cell = str(explained["feature"].values[j]), explained["cell"].values[j]
    name = f"column {name}" if name.isdigit() else name
    if name in np.atleast_1d(explained["cell"].attrs.get("blocks", [])):
        return f'<span class="cell"><b>{text(brief(str(cell), BLOCK))}</b></span>'
    return f'<span class="cell">{text(brief(name))} <b>{text(brief(signed(str(cell))))}</b></span>'


def signed(cell: str) -> str:
    """A number below 0 with a real minus sign."""
    return MINUS + cell[1:] if re.fullmatch(r"-[\d.]+(e[-+]?\d+)?", cell) else cell


def rounded(x: float) -> str:
    return fixed(x, 2 if x < 9.995 else 1)


def surprises(facts: Facts) -> Callable[[Look], str]:
    """What says which cells of a row are less probable than cells usually are, under its likeliest class."""
    usual = usually(facts)

    def said(one: Look) -> str:
        if one.explained is None or not np.isfinite(one.log_proba.max()):
            return "the other rows leave no distribution, or make it impossible"
        found = np.asarray(one.explained["predictive"])[one.ranked[0]]
        names = [str(name) for name in one.explained["feature"].values.tolist()]
        excess = np.array([usual.get(name, 0.0) for name in names]) - found
        order = [j for j in np.argsort(-excess, kind="stable").tolist() if excess[j] > UNUSUAL][:MOST]
        lines = [f"{fixed(excess[j], 1)}\u00a0nats: {named(one.explained, j)}" for j in order]
        return "<br>".join(lines) or "no cell is unusual"

    return said


def usually(facts: Facts) -> dict[str, float]:
    """The mean log predictive of every column's cells under their own class, where cells have one; not of words."""
    belief, size = facts.model.model_.posterior, len(facts.classes)
    if not settled(belief) or any(
        block.words(x[:1]) is not None for block, x in zip(belief.blocks, facts.cells, strict=True)
    ):
        return {}
    most = int(np.clip(USUAL[0] / (size * sum(x.shape[1] for x in facts.cells)), 1, USUAL[1]))
    every = np.unique(np.linspace(0, len(facts.codes) - 1, min(most, len(facts.codes))).round().astype(int))
    cells = [x[every] for x in facts.cells]
    found = explain(belief, cells, facts.model.temper_)
    own: Array = found.predictive[np.arange(len(every)), facts.codes[every]]
    features = [name for block, x in zip(facts.model.schema_.blocks, cells, strict=True) for name in names_of(block)]
    with np.errstate(invalid="ignore"):
        return dict(zip(features, np.where(np.isfinite(own), own, 0.0).mean(axis=0).tolist(), strict=True))


def names_of(block: Any) -> list[str]:
    """What its features are called in an explanation."""
    return [
        ", ".join(map(str, own)) if isinstance(own, tuple) and block.family.whole else str(own) for own in block.keys
    ]
