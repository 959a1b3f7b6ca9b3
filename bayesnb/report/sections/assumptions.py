"""What the assumptions decide: independence of the columns, the weight of the priors, the smoothing."""

from typing import Any

import numpy as np
from markupsafe import Markup

from bayesnb import plots
from bayesnb.report.facts import Facts
from bayesnb.report.facts.comparisons import DEAR, MOST_PAIRED
from bayesnb.report.html_page import drawn
from bayesnb.report.remedies import jointly, tempering
from bayesnb.report.wording import MINUS, brief, count, fixed, nats, number, percent
from bayesnb.results.display import Name, element
from bayesnb.selection.prior_strength import Change

MOST = 12  # pairs
STRONG = 3.0  # nats
SLIGHT, LARGE = 0.01, 0.1  # changes of a probability
FIRST = 10  # columns in a table that is open
PANELS = ("log score", "evidence", "calibration error")
LETTERS = 400  # of a note, which may name a column
Values = dict[str, Any]


def dependence(facts: Facts) -> Values:
    """Pairs of columns that depend on each other within the classes: a map of all, and the strongest in words."""
    result = facts.comparisons.dependence
    if result is None:
        return {"unknown": Name(brief(facts.advice.reworded(facts.comparisons.why_no_dependence), LETTERS))}
    about = "A map of all pairs of columns: how strongly the data speak for a dependence. The strongest are listed."
    left = len(facts.features.parts(facts.features.all)) - len(facts.comparisons.paired)
    which = "the most relevant" if facts.features.relevance is not None else "the first"
    return {
        "unknown": "",
        "blocks": any(feature.joint for feature in facts.features.all),
        "unpaired": f"Compared are {which} {MOST_PAIRED} columns; {left:,} others are not." if left else "",
        "verdict": dependence_verdict(facts),
        "picture": drawn(plots.plot_dependence(result), about, "dependence"),
        "pairs": [
            (Name(brief(a.name, 40)), Name(brief(b.name, 40)), nats(value))
            for a, b, value in facts.comparisons.pairs[:MOST]
            if value > 0
        ],
    }


def dependence_verdict(facts: Facts) -> list[str]:
    """What dependence does to the probabilities, and what was done about it, or can be."""
    pairs, model = facts.comparisons.pairs, facts.model
    strong = sum(value > STRONG for *_, value in pairs)
    if facts.comparisons.nothing_independent:
        claim = "Nothing is taken to be independent here:"
        return [element("strong", claim), "all columns are one block, modelled jointly."]
    if not pairs:
        return ["No pair of these columns can be compared."]
    if not strong:
        claim = f"None of {count(len(pairs), 'pair')} has strong evidence for a dependence:"
        return [element("strong", claim), "the assumption holds for them as far as these rows can tell."]
    have = "has" if strong == 1 else "have"
    claim = f"{strong:,} of {count(len(pairs), 'pair')} {have} strong evidence for a dependence."
    twice = "What such columns say alike is counted twice, which can make probabilities too extreme."
    remedies: list[str] = [Name(tempering(facts)), Name(jointly(facts, STRONG))]
    if model.temper == "loo":
        fitted = f"This model was fitted with {facts.advice.temper}: what the columns say is raised to the power"
        remedies = [f"{fitted} {model.temper_:.3g}, under which held-out labels are the most probable."]
    return [element("strong", claim), twice, *remedies]


def sensitivity(facts: Facts) -> Values:
    """What halving and doubling the weight of the priors changes in the predictions of held-out rows."""
    result = facts.comparisons.sensitivity
    if result is None:
        return {"unknown": Name(facts.advice.reworded(facts.comparisons.why_not_sensitive))}
    together = [("All columns together", result.columns), ("How frequent the classes are", result.classes)]
    left = len(facts.features.all) - len(result.alone)
    which = "most relevant" if facts.features.relevance is not None else "first"
    return {
        "unknown": "",
        "verdict": sensitivity_verdict([*(both for _, both in together), *(both for _, both in result.alone)], facts),
        "together": [change_row(name, both) for name, both in together],
        "alone": [change_row(Name(brief(feature.name, 60)), both) for feature, both in result.alone],
        "first": FIRST,
        "unturned": f"The {len(result.alone)} {which} columns were turned one by one; {left:,} others were not."
        if left
        else "",
    }


def sensitivity_verdict(turned: list[list[Change]], facts: Facts) -> list[str]:
    """How far the probabilities move, whichever of the priors is turned."""
    changes = [change for both in turned for change in both]
    largest, changed = max(change.largest for change in changes), max(change.changed for change in changes)
    rows, farthest = len(facts.codes), percent(largest).replace("%", "percentage points")
    flips = "no row's predicted class" if not changed else f"the predicted class of {count(changed, 'row')} of {rows:,}"
    if largest < LARGE:
        claim = "The priors hardly matter:" if largest < SLIGHT else "The priors matter a little:"
        return [
            element("strong", claim),
            "whichever prior has half or twice its weight, no held-out probability moves by more than "
            f"{farthest}, and {flips} changes.",
        ]
    row = max(changes, key=lambda change: change.largest).row
    return [
        element("strong", "Some predictions lean on the priors:"),
        f"with half or twice the weight of one prior, or of all, a held-out probability moves by up to {farthest} (row "
        f"{row:,}), and {flips} changes. More rows, or a prior that one can give reasons for, would settle them.",
    ]


def change_row(name: str, both: list[Change]) -> tuple[str, ...]:
    """What half and twice the weight of a prior change."""
    half, twice = both
    largest, changed = max(half.largest, twice.largest), max(half.changed, twice.changed)
    return name, percent(largest).removesuffix("%").strip(), f"{changed:,}", signed(half.elpd), signed(twice.elpd)


def signed(x: float) -> str:
    """A change of a log score."""
    size = fixed(abs(x), 2)
    return "0" if size == "0.00" else (MINUS if x < 0 else "+") + size


def smoothing(facts: Facts) -> Values:
    """Settings of the smoothing side by side: what a stronger or a weaker prior does to the scores."""
    result = facts.comparisons.smoothing
    if result is None:
        return {"unknown": Name(brief(facts.advice.reworded(facts.comparisons.why_no_smoothing), LETTERS))}
    verdict = brief(result.verdict, LETTERS).replace("elpd -", f"elpd {MINUS}").replace("(elpd", "(log score")
    return {
        "unknown": "",
        "levels": any(feature.family.counts_levels for feature in facts.features.all),
        "few": facts.comparisons.cost > DEAR,
        "verdict": Name(verdict),
        "this_model": against_the_best(facts),
        "pictures": smoothing_pictures(result),
        "settings": [setting_row(row, row == result.best) for row in result.table.to_dict("records")],
        "remarks": [Name(brief(note, LETTERS)) for note in result.notes],
    }


def against_the_best(facts: Facts) -> str:
    """How the model itself compares with the best setting."""
    elpd, best = float(facts.label_log_proba.sum()), facts.comparisons.smoothing.best
    if best is None or not np.isfinite(elpd):
        return ""
    gap = elpd - best["elpd_loo"]
    if abs(gap) < 0.05:
        return "This model does as well as the best of them."
    word = "below" if gap < 0 else "above"
    return f"This model, as it is, has a log score of {fixed(elpd, 1)}: {fixed(abs(gap), 1)} {word} the best of them."


def smoothing_pictures(result: Any) -> list[Markup]:
    """Three pictures, each in a figure of its own, so that they find their places on any screen."""
    axes = [plots.new_axes(2.9, 3.65) for _ in PANELS]
    result.plot(np.array(axes))
    about = "The {} of each setting against the smoothing. The numbers are in the table below."
    panels = enumerate(zip(axes, PANELS, strict=True))
    return [drawn(ax, about.format(name), f"smoothing-{n}") for n, (ax, name) in panels]


def setting_row(row: dict[str, Any], best: bool) -> tuple[Any, ...]:
    """A smoothing, whether it is the best, and its scores."""
    error = "" if not np.isfinite(row["diff_se"]) or row["diff_se"] == 0 else f" ±\u00a0{fixed(row['diff_se'], 2)}"
    scores = [
        Name(row["estimate"]),
        score(row["elpd_loo"]),
        ("0" if best else score(row["elpd_diff"], 2)) + error,
        score(row["log_evidence"]),
        percent(row["accuracy"]),
        score(row["brier"], 3),
        score(row["ece"], 3),
    ]
    return f"{row['smoothing']:g}", best, scores


def score(x: float, decimals: int = 1) -> str:
    """A score, or that it is infinite or undefined."""
    return fixed(x, decimals) if np.isfinite(x) else number(x)
