"""Whether the probabilities come true: of the rows that were given 80 %, are four in five right?"""

from typing import Any

import numpy as np

from bayesnb import figures
from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table
from bayesnb.report.words import INTERVAL, fixed, percent, percent_span

MOST_PANELS = 8


def reliability(facts: Facts) -> str:
    """Picture, verdict and bins of the most probable label; of each class in a fold."""
    judged = facts.judged
    if not judged.answered.any():
        return paragraph("Not known: no row has an answer when it is held out.")
    found = judged.calibration
    said = "Share of held-out rows labelled correctly, against the probability of the label: curve, bins, and a band."
    picture = figures.svg(figures.plot_calibration(found, by="predicted"), said, "reliability")
    return (
        verdict(found, facts)
        + paragraph(
            "Were every probability true, points and curve would lie on the diagonal, but for chance: within the grey "
            "band. Below it, labels were right less often than was said. The bars count rows."
        )
        + f'<div class="pair"><figure>{picture}</figure>{bins_table(found)}</div>'
        + by_class(facts)
    )


def verdict(found: Any, facts: Facts) -> str:
    """In words, as the numbers have it: the expected calibration error, its interval, and the noise in it."""
    error, low, high, noise = (float(found[f"ece{end}"]) for end in ("", "_lower", "_upper", "_if_calibrated"))
    gap = float((found["top_probability"].mean() - found["accuracy"]).item())
    sure = f"On average the chosen label was given {percent(float(found['top_probability'].mean()))}, and was right "
    sure += f"{percent(float(found['accuracy']))} of the time."
    off = (
        f"Bin by bin, the two are {points(error)} percentage points apart (between {points(low)} and {points(high)}); "
        f"chance alone would make it {points(noise)}."
    )
    return paragraph(f"<strong>{conclusion(low, gap, found)}</strong>", sure, off, advice(low, gap, facts))


def conclusion(low: float, gap: float, found: Any) -> str:
    """Whether the error is more than chance, and to which side."""
    if low == 0:
        return "The probabilities can be trusted, as far as so many rows can tell."
    if abs(gap) <= 2 * chance(found):
        return "The probabilities are off: too high for some rows, too low for others."
    return (
        "The model is too sure of itself."
        if gap > 0
        else "The model is too modest: it is more often right than it says."
    )


def chance(found: Any) -> float:
    """The standard error of the share of right labels, were their probabilities true."""
    p = np.asarray(found["top_probability"])
    return float(np.sqrt((p * (1 - p)).sum()) / len(p))


def advice(low: float, gap: float, facts: Facts) -> str:
    """What to do about probabilities that are off."""
    if low == 0 or facts.model.temper is not None:
        return ""
    loss = "Columns that say alike do that: each of them is counted." if gap > 0 else ""
    tried, held = facts.judged.tempered, facts.judged.held
    if tried is None or held is None or tried[1].log_loss.value >= held.log_loss.value:
        return loss
    better = f"{fixed(held.log_loss.value, 3)} to {fixed(tried[1].log_loss.value, 3)}"
    return f"{loss} <code>temper='loo'</code> mends some of it: the held-out log loss goes from {better}."


def points(share: float) -> str:
    """Percentage points."""
    return fixed(100 * share, 1)


def bins_table(found: Any) -> str:
    """What each bin said, and what came."""
    names = ("predicted", "observed", "lower", "upper", "count")
    bins = np.stack([np.asarray(found[f"top_{name}"]) for name in names], axis=1)
    rows = [
        (percent(p), percent_span(share, low, high), f"{rows:,.0f}")
        for p, share, low, high, rows in bins.tolist()
        if rows
    ]
    caption = f"Probability of the chosen label, and how often it was right ({percent(INTERVAL, 0)} intervals)"
    return table(caption, ("Said", "Right", "Rows"), rows[::-1])


def by_class(facts: Facts) -> str:
    """A panel for each class; with two classes one says it all."""
    size = len(facts.classes)
    if size < 2:
        return ""
    drawn = figures.plot_calibration(facts.judged.calibration, most=MOST_PANELS)
    ax = drawn if size == 2 else drawn[0]
    said = "How often each class came, against the probability that it was given: one panel a class."
    some = f"for the {MOST_PANELS} most frequent classes" if size > MOST_PANELS else "class by class"
    name = f"The same {'for the second class' if size == 2 else some}"
    return f"<details><summary>{name}</summary><figure>{figures.svg(ax, said, 'classes')}</figure></details>"
