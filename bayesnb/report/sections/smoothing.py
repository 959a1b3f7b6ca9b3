"""Settings of the smoothing side by side: what a stronger or a weaker prior does to the scores."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families.wording import MINUS, fixed, number
from bayesnb.report.facts import Facts
from bayesnb.report.facts.asked import DEAR
from bayesnb.report.markup import details, paragraph, table, text
from bayesnb.report.wording import brief, count, percent

PANELS = ("log score", "evidence", "calibration error")
LETTERS = 400  # of a note, which may name a column


def smoothing(facts: Facts) -> str:
    """The comparison, its verdict, and what its numbers mean."""
    found = facts.asked.smoothing
    if found is None:
        return paragraph(f"Settings of the priors cannot be compared here: {text(brief(asked(facts), LETTERS))}")
    notes = "".join(f"<li>{text(brief(note, LETTERS))}</li>" for note in found.notes)
    few = " Of so large a table only a few settings are tried." if facts.asked.cost > DEAR else ""
    verdict = brief(found.verdict, LETTERS).replace("elpd -", f"elpd {MINUS}").replace("(elpd", "(log score")
    return (
        paragraph(
            f"{opening(facts)} Every setting is scored on the same held-out rows, without a refit. The <em>log score"
            f"</em> adds up the log probabilities that their labels were given: 0 is perfect.{few}"
        )
        + paragraph(f"<strong>{text(verdict)}</strong>", own_setting(facts))
        + f"<div class='panels'>{pictures(found)}</div>"
        + settings(found)
        + f"<ul class='notes'>{notes}</ul>"
    )


def asked(facts: Facts) -> str:
    return facts.advice.reworded(facts.asked.why_no_smoothing)


def opening(facts: Facts) -> str:
    """What is turned, in words."""
    if any(own.family.counts_levels for own in facts.columns.features):
        return (
            "A level or a word that a class has not shown yet is not impossible, only rare: <em>smoothing</em> says "
            "how rare. A smoothing of l adds l to every count, which is a Dirichlet(l) prior read by its mean, or a "
            "Dirichlet(1 + l) prior read by its mode (MAP); <em>predictive</em> plugs neither in and integrates over "
            "the first."
        )
    return (
        "These columns have no levels to be smoothed. What is turned is how strongly the prior is believed: a "
        "smoothing of l makes it worth l times as many rows as the usual one, and 0 leaves it out."
    )


def own_setting(facts: Facts) -> str:
    """How the model itself compares with the best setting."""
    own, best = float(facts.own.sum()), facts.asked.smoothing.best
    if best is None or not np.isfinite(own):
        return ""
    gap = own - best["elpd_loo"]
    if abs(gap) < 0.05:
        return "This model does as well as the best of them."
    word = "below" if gap < 0 else "above"
    return f"This model, as it is, has a log score of {fixed(own, 1)}: {fixed(abs(gap), 1)} {word} the best of them."


def pictures(found: Any) -> str:
    """Three pictures, each in a figure of its own, so that they find their places on any screen."""
    axes = [plots.new_axes(2.9, 3.65) for _ in PANELS]
    found.plot(np.array(axes))
    said = "The {} of each setting against the smoothing. The numbers are in the table below."
    return "".join(
        f"<figure>{plots.svg(ax, said.format(name), f'smoothing-{n}')}</figure>"
        for n, (ax, name) in enumerate(zip(axes, PANELS, strict=True))
    )


def settings(found: Any) -> str:
    """A row for each setting."""
    rows = [setting(own, own == found.best) for own in found.table.to_dict("records")]
    head = (
        "Smoothing",
        "Estimate",
        "Log score",
        "Less the best",
        "Log evidence",
        "Accuracy",
        "Brier",
        "Calibration error",
    )
    found = table("Settings of the smoothing, held out", head, rows, "sortable counts settings")
    return details(f"All {count(len(rows), 'setting')} in numbers", found)


def setting(own: dict[str, Any], best: bool) -> tuple[str, ...]:
    name = f"<strong>{own['smoothing']:g}</strong> <small>best</small>" if best else f"{own['smoothing']:g}"
    error = "" if not np.isfinite(own["diff_se"]) or own["diff_se"] == 0 else f" ±&nbsp;{fixed(own['diff_se'], 2)}"
    return (
        name,
        text(own["estimate"]),
        score(own["elpd_loo"]),
        ("0" if best else score(own["elpd_diff"], 2)) + error,
        score(own["log_evidence"]),
        percent(own["accuracy"]),
        score(own["brier"], 3),
        score(own["ece"], 3),
    )


def score(x: float, decimals: int = 1) -> str:
    return fixed(x, decimals) if np.isfinite(x) else number(x)
