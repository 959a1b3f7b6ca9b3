"""A linear model as its weights: the log-odds of the classes against the most frequent one."""

from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.wording import SPACE, fixed, number
from bayesnb.report.facts import Facts
from bayesnb.report.markup import Cell, paragraph, table, text
from bayesnb.report.wording import brief, count, name_of

MOST, ABREAST = 30, 4  # weights that are listed, and classes beside each other
FINEST = 6  # decimals


def weights(facts: Facts) -> str:
    """The weights that are furthest from 0 in their own sds; nothing, where the model is not linear."""
    order = np.argsort(-facts.counts, kind="stable")[: ABREAST + 1]
    form = linear(facts, facts.model.classes_[order[0]]) if len(order) > 1 else None
    if form is None:
        return ""
    w, sd = form["w"].values[order[1:]], form["w_sd"].values[order[1:]]
    clear = np.divide(np.abs(w), sd, out=np.zeros_like(w), where=sd > 0).max(axis=0)
    shown = np.argsort(-clear, kind="stable")[:MOST]
    rows = [(text(brief(name_of(form["feature"].values[k]))), *said(w[:, k], sd[:, k])) for k in shown.tolist()]
    rows.append(("b", *said(form["b"].values[order[1:]], form["b_sd"].values[order[1:]])))
    head = ("Weight of", *(text(brief(facts.classes[c], 40)) for c in order[1:]))
    left, others = w.shape[1] - len(shown), len(facts.classes) - len(order)
    return (
        "<h3>The model as a formula</h3>"
        + intro(facts, form, facts.classes[order[0]])
        + table("Weights, the surest first", head, rows, "sortable")
        + paragraph(
            f"{count(left, 'weight')} less sure {'is' if left == 1 else 'are'} not listed." if left else "",
            f"{count(others, 'class')} less frequent {'is' if others == 1 else 'are'} not shown." if others else "",
        )
    )


def linear(facts: Facts, label: Any) -> Any:
    """The form against a class; None, where there is none."""
    try:
        return facts.model.linear_form(against=label)
    except ValueError:
        return None


def intro(facts: Facts, form: Any, against: str) -> str:
    """What the numbers are."""
    plugged = {"mean": "their posterior means", "map": "their most probable values", "mle": "their likeliest values"}
    return paragraph(
        "This model is linear, as a logistic regression is, but its weights are in closed form: the log-odds of a "
        f"class against {text(brief(against, 40))} are b, and for every column a weight times its number or "
        "count, a weight where it says yes, or the weight of its level.",
        f"Parameters have {plugged[form.attrs['estimate']]} here; after ± stands the posterior standard deviation.",
        "Which probabilities follow from it, <code>model.linear_form()</code> says.",
    )


def said(values: Array, sds: Array) -> list[str]:
    """Weights and their sds, to two digits of the latter."""
    return [Cell(one(value, sd), value) for value, sd in zip(values.tolist(), sds.tolist(), strict=True)]


def one(value: float, sd: float) -> str:
    if not np.isfinite(value) or not 0 < sd < np.inf:
        return number(value)
    decimals = int(np.clip(1 - np.floor(np.log10(sd)), 0, FINEST))
    return f"{fixed(value, decimals)}{SPACE}±{SPACE}{fixed(sd, decimals)}"
