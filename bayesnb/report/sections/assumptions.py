"""What the assumptions decide: independence of the columns, the weight of the priors, the smoothing."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.estimators.tempering import in_words
from bayesnb.formatting import SPACE, fixed, nats, percent, shorten, signed
from bayesnb.model.linked import ARROW
from bayesnb.report.facts import Facts
from bayesnb.report.html import Name, phrase
from bayesnb.report.html_page import drawn
from bayesnb.report.remedies import is_tempered_by_rows, jointly, tempering
from bayesnb.report.wording import as_name, name_of
from bayesnb.selection.prior_strength import Change

MOST = 12  # pairs
STRONG = 3.0  # nats
PANELS = ("log score", "evidence", "calibration error")
LETTERS = 400  # of a note, which may name a column
Values = dict[str, Any]


def dependence(facts: Facts) -> Values:
    """Pairs of columns that depend on each other within the classes: a map of all, and the strongest in words."""
    result = facts.comparisons.dependence
    if isinstance(result, str):
        return linked(facts) | {"unknown": as_name(result, LETTERS)}
    about = "A map of all pairs of columns: the log Bayes factors of a dependence. The strongest are listed."
    return linked(facts) | {
        "unknown": "",
        "unpaired": len(facts.features.parts(facts.features.all)) - len(facts.comparisons.paired),
        "strong": sum(value > STRONG for *_, value in facts.comparisons.pairs),
        "unconnected": sum(value > STRONG for *_, value in facts.comparisons.unconnected),
        "unlinked": sum(value > STRONG for *_, value in facts.comparisons.unlinked),
        "tempering": tempering(facts),
        "tempered": is_tempered_by_rows(facts),
        "declared": f"temper={facts.model.temper!r}",
        "temper": in_words(facts.model._temper_of_columns),
        "jointly": jointly(facts, STRONG),
        "picture": drawn(plots.plot_dependence(result), about, "dependence"),
        "pairs": [
            (as_name(a.name, 40), as_name(b.name, 40), nats(value))
            for a, b, value in facts.comparisons.pairs[:MOST]
            if value > 0
        ],
    }


def linked(facts: Facts) -> Values:
    """The links of a model: a picture of all, and the strongest in a table."""
    links = facts.comparisons.links
    if not links:
        return {"links": []}
    about = "The links between columns and their log Bayes factors. The strongest are listed."
    return {
        "links": [
            (
                phrase("{}" + ARROW + "{}", as_name(name_of(link.first), 40), as_name(name_of(link.second), 40)),
                nats(link.log_bayes_factor),
                f"{fixed(link.temper, 2)}{SPACE}±{SPACE}{fixed(link.temper_sd, 2)}",
            )
            for link in links[:MOST]
        ],
        "link_count": len(links),
        "forest_count": sum(link.in_forest for link in links),
        "forest": drawn(plots.plot_dependence(facts.model), about, "links"),
    }


def sensitivity(facts: Facts) -> Values:
    """What halving and doubling the weight of the priors changes in the predictions of held-out rows."""
    result = facts.comparisons.sensitivity
    if isinstance(result, str):
        return {"unknown": Name(result)}
    together = [("All columns together", result.columns), ("Class frequencies", result.classes)]
    alone = [(as_name(feature.name, 60), both) for feature, both in result.alone]
    return {
        "unknown": "",
        "largest": max((change for _, both in together + alone for change in both), key=lambda change: change.largest),
        "changed": max(change.changed for _, both in together + alone for change in both),
        "together": [change_row(*each) for each in together],
        "alone": [change_row(*each) for each in alone],
    }


def change_row(name: str, both: list[Change]) -> tuple[str, ...]:
    """What half and twice the weight of a prior change."""
    largest, changed = max(change.largest for change in both), max(change.changed for change in both)
    return (
        name,
        percent(largest).removesuffix("%").strip(),
        f"{changed:,}",
        *(signed(change.elpd, 2) for change in both),
    )


def smoothing(facts: Facts) -> Values:
    """Settings of the smoothing side by side: what a stronger or a weaker prior does to the scores."""
    result = facts.comparisons.smoothing
    if isinstance(result, str):
        return {"unknown": as_name(result, LETTERS)}
    verdict = shorten(result.verdict, LETTERS).replace("(elpd", "(log score")
    axes = [plots.new_axes(2.9, 3.65) for _ in PANELS]  # each in its own figure, so that they wrap on any screen
    result.plot(np.array(axes))
    about = "The {} of each setting against the smoothing. The numbers are in the table below."
    panels = enumerate(zip(axes, PANELS, strict=True))
    return {
        "unknown": "",
        "verdict": Name(verdict),
        "this_model": against_the_best(facts),
        "pictures": [drawn(ax, about.format(name), f"smoothing-{n}") for n, (ax, name) in panels],
        "settings": [setting_row(row, result.best) for row in result.table.to_dict("records")],
        "remarks": [as_name(note, LETTERS) for note in result.notes],
    }


def against_the_best(facts: Facts) -> str:
    """How the model itself compares with the best setting."""
    elpd, best = float(facts.label_log_proba.sum()), facts.comparisons.smoothing.best
    if best is None or not np.isfinite(elpd):
        return ""
    gap = elpd - best["elpd_loo"]
    if abs(gap) < 0.05:
        return "This model is as good as the best setting."
    word = "lower than" if gap < 0 else "higher than"
    return f"The log score of this model, {fixed(elpd, 1)}, is {fixed(abs(gap), 1)} {word} that of the best setting."


def setting_row(row: dict[str, Any], best_row: dict[str, Any] | None) -> tuple[Any, ...]:
    """A smoothing, whether it is the best, and its scores."""
    setting = ("smoothing", "estimate")  # other numbers may be NaN
    best = best_row is not None and all(row[name] == best_row[name] for name in setting)
    error = "" if not np.isfinite(row["diff_se"]) or row["diff_se"] == 0 else f" ±\u00a0{fixed(row['diff_se'], 2)}"
    scores = [
        Name(row["estimate"]),
        fixed(row["elpd_loo"], 1),
        ("0" if best else fixed(row["elpd_diff"], 2)) + error,
        fixed(row["log_evidence"], 1),
        percent(row["accuracy"]),
        fixed(row["brier"], 3),
        fixed(row["ece"], 3),
    ]
    return f"{row['smoothing']:g}", best, scores
