"""Two classes: how well the probabilities rank the rows, and which threshold is best for given costs of errors."""

from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.formatting import NOTHING, fixed, percent, shorten
from bayesnb.inference.decision import decide
from bayesnb.plots.ranking_plots import plot_precision_recall, plot_roc, plot_thresholds
from bayesnb.report.facts import Facts
from bayesnb.report.html_page import drawn
from bayesnb.report.wording import as_name
from bayesnb.selection.ranking_curves import RankingCurves

RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # cost of a missed row of the positive class, in false alarms
Values = dict[str, Any]


def has_two_classes(facts: Facts) -> bool:
    """Whether there are two classes, each with rows that can be held out."""
    codes = facts.codes[facts.held_out.answered]
    return len(facts.classes) == 2 and 0 < int(codes.sum()) < len(codes)


def thresholds(facts: Facts) -> Values:
    """Curves, their areas, and the best threshold for each ratio of costs."""
    answered, positive = facts.held_out.answered, facts.positive
    proba = np.exp(facts.left_out[answered])[:, [1 - positive, positive]]
    is_positive = facts.codes[answered] == positive
    curves = RankingCurves.of(proba[:, 1], is_positive)
    name = shorten(facts.classes[positive], 40)
    pictures = (
        (plot_roc, f"ROC curve of {name}: recall against false alarms; the area is {curves.area:.3f}."),
        (plot_precision_recall, f"Precision against recall of {name}, over all thresholds."),
        (plot_thresholds, f"Recall and precision of {name} against the threshold."),
    )
    return {
        "positive": as_name(facts.classes[positive], 40),
        "negative": as_name(facts.classes[1 - positive], 40),
        "chosen": facts.about.positive is not None,
        "another": f"positive={facts.model.classes_.tolist()[1 - positive]!r}",
        "area": fixed(curves.area, 3),
        "average": fixed(curves.average_precision, 3),
        "share": fixed(curves.total / curves.rows, 3),
        "pictures": [drawn(draw(curves), about, draw.__name__) for draw, about in pictures],
        "settings": [setting_row(ratio, proba, is_positive) for ratio in RATIOS],
        "example": decide_call(facts),
        "on_command_line": bool(facts.about.command),
    }


def setting_row(ratio: float, proba: Array, is_positive: Array) -> tuple[str, ...]:
    """The threshold for a ratio of costs, and the errors and costs that it has on held-out rows."""
    chosen = decide(proba, np.array([[0.0, 1.0], [ratio, 0.0]])).action
    positives, hits, total = int(chosen.sum()), int((chosen & is_positive).sum()), int(is_positive.sum())
    missed, alarms = total - hits, positives - hits
    cost = (ratio * missed + alarms) / len(proba)
    without = min(ratio * total, len(proba) - total) / len(proba)
    return (
        f"{ratio:g}",
        percent(1 / (1 + ratio)),
        f"{positives:,}",
        f"{missed:,}",
        f"{alarms:,}",
        percent(hits / total),
        percent(hits / positives) if positives else NOTHING,
        fixed(cost, 3),
        fixed(without, 3),
    )


def decide_call(facts: Facts) -> Any:
    """The call that decides by costs: a missed row of the positive class costs five false alarms."""
    labels = facts.model.classes_.tolist()
    no, yes = labels[1 - facts.positive], labels[facts.positive]
    loss = {no: {no: 0, yes: 5}, yes: {no: 1, yes: 0}}
    model = "bayesnb.load('model.bnb')" if facts.about.command else "model"
    return as_name(f"{model}.decide(X, loss={loss!r})", 600)
