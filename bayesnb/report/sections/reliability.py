"""Whether the probabilities come true: of the rows that were given 80 %, are four in five right?"""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.families.wording import fixed
from bayesnb.report.facts import Facts
from bayesnb.report.facts.judged import share_of
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.sections.remedies import tempering
from bayesnb.report.wording import INTERVAL, count, percent, percent_span

MOST_PANELS = 8
COARSE = 0.1  # a calibration error that is possible, above which nothing is known
DRAWS = 2000
STRONG = 3.0  # nats


def reliability(facts: Facts) -> str:
    """Picture, verdict and bins of the most probable label; of each class in a fold."""
    judged = facts.judged
    if not judged.answered.any():
        return paragraph("Not known: no row has an answer when it is held out.")
    found = judged.calibration
    said = "Share of held-out rows labelled correctly, against the probability of the label: curve, bins, and a band."
    picture = plots.svg(plots.plot_calibration(found, by="predicted"), said, "reliability")
    return (
        verdict(found, facts)
        + paragraph(
            "Were every probability true, points and curve would lie on the diagonal, but for chance: within the grey "
            "band. Below the diagonal, labels were right less often than was said. The bars count rows, on a "
            "logarithmic scale."
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
        f"were every probability right, chance alone would make that about {points(noise)}."
    )
    return paragraph(f"<strong>{conclusion(gap, found, facts)}</strong>", sure, off, advice(gap, facts))


def wrong(found: Any) -> bool:
    """Whether the error is more than chance: its interval does not reach 0, nor what true probabilities would make."""
    return float(found["ece_lower"]) > 0 and float(found["ece"]) > by_chance(found)


def by_chance(found: Any) -> float:
    """An upper end of the calibration error, were each bin's probability true."""
    p, rows = np.asarray(found["top_predicted"]), np.round(np.asarray(found["top_count"])).astype(int)
    p, rows = np.clip(p[rows > 0], 0, 1), rows[rows > 0]
    shares = np.random.default_rng(0).binomial(rows, p, (DRAWS, len(rows))) / rows
    return float(np.quantile(np.abs(shares - p) @ rows / rows.sum(), (1 + INTERVAL) / 2))


def unforeseen(facts: Facts) -> bool:
    """Whether the true labels cost clearly more than the probabilities themselves expect."""
    surplus = facts.judged.unforeseen
    return surplus.lower > 0 or surplus.value == np.inf


def conclusion(gap: float, found: Any, facts: Facts) -> str:
    """Whether the error is more than chance, and to which side."""
    if not wrong(found) and unforeseen(facts):
        return (
            "The probabilities hold on average, but not where they are extreme: labels that they all but ruled out "
            "came more often than they allow."
        )
    if not wrong(found) and float(found["ece_upper"]) > COARSE:
        rows, most = count(found.sizes["obs_id"], "row"), fixed(100 * float(found["ece_upper"]), 0)
        return (
            f"Nothing speaks against the probabilities, but {rows} cannot rule out that they are off by {most} "
            "percentage points on average."
        )
    if not wrong(found):
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


def advice(gap: float, facts: Facts) -> str:
    """What to do about probabilities that are off."""
    if not (wrong(facts.judged.calibration) or unforeseen(facts)) or facts.model.temper is not None:
        return ""
    twice = bool(facts.columns.blocks) or any(value > STRONG for *_, value in facts.asked.pairs)
    cause = "Columns that say alike can do that: each of them is counted. " if gap > 0 and twice else ""
    return cause + text(tempering(facts))


def points(share: float) -> str:
    """Percentage points."""
    return fixed(100 * share, 1)


def bins_table(found: Any) -> str:
    """What each bin said, and what came."""
    bins = np.stack([np.asarray(found[f"top_{name}"]) for name in ("predicted", "observed", "count")], axis=1)
    rows = [(percent(p), percent_span(*share_of(hits, n - hits)), f"{n:,.0f}") for p, hits, n in joined(bins)]
    caption = f"Probability of the chosen label, and how often it was right ({percent(INTERVAL, 0)} intervals)"
    return table(caption, ("Said", "Right", "Rows"), rows[::-1])


def joined(bins: Array) -> list[tuple[float, float, float]]:
    """What was predicted, how many were right, and rows, `(b, 3) -> `; bins that read the same are one."""
    own: list[tuple[float, float, float]] = []
    for p, share, rows in bins[bins[:, 2] > 0].tolist():
        if own and percent(own[-1][0]) == percent(p):
            last, hits, before = own.pop()
            own.append(((last * before + p * rows) / (before + rows), hits + share * rows, before + rows))
        else:
            own.append((p, share * rows, rows))
    return own


def by_class(facts: Facts) -> str:
    """A panel for each class; with two classes one says it all."""
    size = len(facts.classes)
    if size < 2:
        return ""
    drawn = plots.plot_calibration(facts.judged.calibration, most=MOST_PANELS)
    ax = drawn if size == 2 else drawn[0]
    said = "How often each class came, against the probability that it was given: one panel a class."
    some = f"for the {MOST_PANELS} most frequent classes" if size > MOST_PANELS else "class by class"
    name = f"The same {'for the second class' if size == 2 else some}"
    return f"<details><summary>{name}</summary><figure>{plots.svg(ax, said, 'classes')}</figure></details>"
