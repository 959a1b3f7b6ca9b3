"""How good the predictions are: the headline, scores, whether probabilities come true, and what is confused."""

from collections.abc import Iterator, Sequence
from math import exp, isfinite, log
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families.base import Array
from bayesnb.report.facts import Facts
from bayesnb.report.facts.held_out import HeldOut, ScoreLine, share_of
from bayesnb.report.html_page import drawn
from bayesnb.report.remedies import mends, possible, settling, tempering
from bayesnb.report.wording import INTERVAL, NOTHING, brief, count, fixed, percent, percent_span, typical
from bayesnb.results.display import Name, element, phrase
from bayesnb.selection.proper_scores import Estimate

LEAST = 1e-3  # of a loss, that is shown
HARM = 0.05  # of the log loss of a constant guess; what is less, any model of noise loses
FEW = 30  # rows, of which no interval is wide enough
MOST_PANELS = 8
COARSE = 0.1  # a calibration error that is possible, above which nothing is known
DRAWS = 2000
STRONG = 3.0  # nats
MOST_CONFUSED = 12  # classes in a square table; of more, there are only a picture and the commonest mistakes
MOST_PAIRS = 20
FINE = 0.02  # an interval that is worth a decimal
BROAD = 6  # classes, of more the picture is wide
Values = dict[str, Any]


def headline(facts: Facts) -> Values:
    """The result in three numbers and two sentences."""
    return {
        "classes": count(len(facts.classes), "class"),
        "rows": count(len(facts.codes), "row"),
        "columns": count(len(facts.model.schema_.families), "column"),
        "source": Name(facts.about.source),
        "sentences": accuracy_in_words(facts.held_out),
        "tiles": tiles(facts.held_out),
    }


def accuracy_in_words(held_out: HeldOut) -> list[str]:
    """How often it was right, and how often one is right who knows no column."""
    if held_out.held is None:
        return ["None of its rows can be held out: the others leave no distribution of its class."]
    constant = held_out.constant.accuracy
    sentences = [
        f"Shown a row that it had not seen, it was right {percent(held_out.held.accuracy.value)} of the time;",
        f"always naming the most frequent class would be right {percent(constant.value)} of the time.",
    ]
    if held_out.tested is not None:
        right = percent(held_out.tested.accuracy.value)
        sentences.append(
            f"Of the {count(held_out.tested.rows, 'row')} of the test table it labelled {right} correctly."
        )
    return sentences


def tiles(held_out: HeldOut) -> list[tuple[str, str]]:
    """Three numbers with their intervals, and what each is."""
    if held_out.held is None:
        return [(fixed(held_out.facts.model.stats_.classes.counts.sum(), 0), "rows, none of which can be held out")]
    held, wrong = held_out.held, held_out.held.rows - round(held_out.held.accuracy.value * held_out.held.rows)
    right = held.accuracy
    ends = f"{fixed(100 * right.lower, 1)} to {fixed(100 * right.upper, 1)}"
    return [
        (percent(right.value), f"of held-out rows labelled correctly ({percent(INTERVAL, 0)} interval: {ends})"),
        (percent(exp(-held.log_loss.value)), f"typical probability given to the true label{typical_ends(held)}"),
        (f"{wrong:,} of {held.rows:,}", "rows labelled wrongly when held out"),
    ]


def typical_ends(line: ScoreLine) -> str:
    """The interval of the geometric mean of the probabilities given to the true labels."""
    loss: Estimate = line.log_loss
    low, high = fixed(100 * exp(-loss.upper), 1), fixed(100 * exp(-loss.lower), 1)
    return "" if low == high else f" ({percent(INTERVAL, 0)} interval: {low} to {high})"


def scores(facts: Facts) -> Values:
    """Scores held out, on the test table, in-sample, tempered, and without a look at the columns."""
    held_out, held = facts.held_out, facts.held_out.held
    lines = [held_out.tested, held, held_out.fitted, held_out.tempered and held_out.tempered.line, held_out.constant]
    return {
        "scores": [
            (line.name, percent_span(*line.accuracy), loss_span(line.log_loss), loss_span(line.brier))
            for line in lines
            if line is not None
        ],
        "gained": gained(facts),
        "classes": len(facts.classes),
        "even": f"{log(len(facts.classes)):.2f}",
        "typical": "" if held is None or not isfinite(held.log_loss.value) else typical(held.log_loss.value),
        "few": FEW if len(facts.codes) < FEW else 0,
        "undefined": list(undefined(facts)),
        "estimate": list(estimate_note(facts)),
    }


def loss_span(loss: Estimate) -> str:
    """A loss with its interval, if it has one."""
    if 0 < loss.upper < LEAST:
        return f"under {fixed(LEAST, 3)}"
    if loss.lower == loss.upper:
        return fixed(loss.value, 3)
    return f"{fixed(loss.value, 3)} ({fixed(loss.lower, 3)}\u00a0to\u00a0{fixed(loss.upper, 3)})"


def gained(facts: Facts) -> Sequence[str]:
    """What the columns are worth: to the probabilities, to the labels, to neither."""
    held_out = facts.held_out
    held, most = held_out.held, held_out.constant.log_loss.value
    if held is None or most == 0 or not isfinite(held.log_loss.value):
        return []
    surprise = held_out.less_surprise
    if surprise.lower > 0 and held.log_loss.value < most:
        taken = percent(1 - held.log_loss.value / most, 0)
        return [f"Held out, the columns take away {taken} of the surprise that a constant guess leaves."]
    harmful = held.log_loss.lower > most and held.log_loss.value > (1 + HARM) * most
    worse = "worse" if harmful else "not clearly better"
    losses = f"their log loss of {fixed(held.log_loss.value, 3)} is {worse} than that of the best constant guess"
    losses += f", {fixed(most, 3)}"
    if held_out.more_right.lower > 0:
        return [
            element("strong", "The labels are better than a guess, the probabilities are not."),
            f"Of the held-out labels {percent(held.accuracy.value)} are right, and "
            f"{percent(held_out.constant.accuracy.value)} would be if the most frequent class were always named; but "
            f"{losses}.",
            "The probabilities are too extreme." if mends(facts) or held_out.too_sure else "",
            Name(tempering(facts)),
        ]
    if held_out.tempered is not None and held_out.tempered.over_constant.lower > 0:
        return [f"The probabilities are of no help as they stand: {losses}.", Name(tempering(facts))]
    if harmful:
        return [
            f"The held-out probabilities are harmful as they stand: {losses}; nor are the labels clearly more often "
            "right than the most frequent class.",
            Name(tempering(facts)),
        ]
    help_ = "may help, but so many rows cannot tell" if held.log_loss.value < most else "are of no help that shows"
    return [
        f"The columns {help_}: held out, the {losses.removeprefix('their ')}; nor are the labels clearly more often "
        "right than the most frequent class."
    ]


def undefined(facts: Facts) -> Iterator[str]:
    """Which rows have no held-out score, or an infinite one."""
    held_out = facts.held_out
    lost = int((~held_out.defined).sum())
    if lost:
        yield (
            f"{count(lost, 'row')} cannot be held out: without the row, what is left of its class is no distribution "
            "(too few rows, or no spread, and no prior that adds any). The held-out scores are those of the others."
        )
        yield Name(settling(facts))
    held = held_out.held
    if held is not None and held.unanswered:
        yield (
            f"{count(held.unanswered, 'row')} would have no answer: without the row, its cells are impossible under "
            "every class. Such rows count as labelled wrongly."
        )
        yield Name(possible(facts))
    if held is not None and held.impossible > held.unanswered:
        wrong = held.impossible - held.unanswered
        yield f"Of {count(wrong, 'row')} the true label was said to be impossible, which costs infinitely much."
        yield Name(possible(facts))


def estimate_note(facts: Facts) -> Iterator[str]:
    """What is unusual about how this model predicts."""
    model = facts.model
    if model.estimate != "predictive":
        yield phrase(
            "The model predicts with estimate={}: one value for each parameter, in every score and probability here. "
            "Intervals are those of the posterior.",
            Name(repr(model.estimate)),
        )
    if model.temper_ != 1:
        yield f"What the columns say is raised to the power {model.temper_:.3g} (temper), in every score."
    if model.average_features is not None:
        yield "Every prediction is an average over all subsets of the columns."


def reliability(facts: Facts) -> Values:
    """Whether the probabilities come true: of the rows that were given 80 %, are four in five right?"""
    if not facts.held_out.answered.any():
        return {"picture": None}
    result = facts.held_out.calibration
    about = "Share of held-out rows labelled correctly, against the probability of the label: curve, bins, and a band."
    return {
        "verdict": reliability_verdict(result, facts),
        "picture": drawn(plots.plot_calibration(result, by="predicted"), about, "reliability"),
        "bins": bin_rows(result),
        "by_class": reliability_by_class(facts),
    }


def reliability_verdict(result: Any, facts: Facts) -> list[str]:
    """The expected calibration error in words, with its interval and the noise in it."""
    error, low, high, noise = (float(result[f"ece{end}"]) for end in ("", "_lower", "_upper", "_if_calibrated"))
    gap = float((result["top_probability"].mean() - result["accuracy"]).item())
    return [
        element("strong", conclusion(gap, result, facts)),
        f"On average the chosen label was given {percent(float(result['top_probability'].mean()))}, and was right "
        f"{percent(float(result['accuracy']))} of the time.",
        f"Bin by bin, the two are {points(error)} percentage points apart (between {points(low)} and {points(high)}); "
        f"were every probability right, chance alone would make that about {points(noise)}.",
        *advice(gap, facts),
    ]


def points(share: float) -> str:
    """Percentage points."""
    return fixed(100 * share, 1)


def is_wrong(result: Any) -> bool:
    """Whether the error is more than chance: its interval does not reach 0, nor what true probabilities would make."""
    return float(result["ece_lower"]) > 0 and float(result["ece"]) > by_chance(result)


def by_chance(result: Any) -> float:
    """An upper end of the calibration error, were each bin's probability true."""
    p, rows = np.asarray(result["top_predicted"]), np.round(np.asarray(result["top_count"])).astype(int)
    p, rows = np.clip(p[rows > 0], 0, 1), rows[rows > 0]
    shares = np.random.default_rng(0).binomial(rows, p, (DRAWS, len(rows))) / rows
    return float(np.quantile(np.abs(shares - p) @ rows / rows.sum(), (1 + INTERVAL) / 2))


def unforeseen(facts: Facts) -> bool:
    """Whether the true labels cost clearly more than the probabilities themselves expect."""
    surplus = facts.held_out.unforeseen
    return surplus.lower > 0 or surplus.value == np.inf


def conclusion(gap: float, result: Any, facts: Facts) -> str:
    """Whether the error is more than chance, and to which side."""
    if not is_wrong(result) and unforeseen(facts):
        return (
            "The probabilities hold on average, but not where they are extreme: labels that they all but ruled out "
            "came more often than they allow."
        )
    if not is_wrong(result) and float(result["ece_upper"]) > COARSE:
        rows, most = count(result.sizes["obs_id"], "row"), fixed(100 * float(result["ece_upper"]), 0)
        return (
            f"Nothing speaks against the probabilities, but {rows} cannot rule out that they are off by {most} "
            "percentage points on average."
        )
    if not is_wrong(result):
        return "The probabilities can be trusted, as far as so many rows can tell."
    p = np.asarray(result["top_probability"])
    error = float(np.sqrt((p * (1 - p)).sum()) / len(p))  # of the share of right labels, were the probabilities true
    if abs(gap) <= 2 * error:
        return "The probabilities are off: too high for some rows, too low for others."
    return (
        "The model is too sure of itself."
        if gap > 0
        else "The model is too modest: it is more often right than it says."
    )


def advice(gap: float, facts: Facts) -> list[str]:
    """What to do about probabilities that are off."""
    if not (is_wrong(facts.held_out.calibration) or unforeseen(facts)) or facts.model.temper is not None:
        return []
    twice = bool(facts.features.blocks) or any(value > STRONG for *_, value in facts.comparisons.pairs)
    cause = "Columns that say alike can do that: each of them is counted." if gap > 0 and twice else ""
    return [cause, Name(tempering(facts))]


def bin_rows(result: Any) -> list[tuple[str, str, str]]:
    """What each bin promised, and what came, the surest first."""
    bins = np.stack([np.asarray(result[f"top_{name}"]) for name in ("predicted", "observed", "count")], axis=1)
    rows = [(percent(p), percent_span(*share_of(hits, n - hits)), f"{n:,.0f}") for p, hits, n in joined(bins)]
    return rows[::-1]


def joined(bins: Array) -> list[tuple[float, float, float]]:
    """What was predicted, how many were right, and rows, `(b, 3) -> `; bins that read the same are one."""
    merged: list[tuple[float, float, float]] = []
    for p, share, rows in bins[bins[:, 2] > 0].tolist():
        if merged and percent(merged[-1][0]) == percent(p):
            last, hits, before = merged.pop()
            merged.append(((last * before + p * rows) / (before + rows), hits + share * rows, before + rows))
        else:
            merged.append((p, share * rows, rows))
    return merged


def reliability_by_class(facts: Facts) -> Values | None:
    """A panel for each class; with two classes one shows both."""
    size = len(facts.classes)
    if size < 2:
        return None
    axes = plots.plot_calibration(facts.held_out.calibration, most=MOST_PANELS)
    about = "How often each class came, against the probability that it was given: one panel a class."
    several = f"for the {MOST_PANELS} most frequent classes" if size > MOST_PANELS else "class by class"
    return {
        "which": "for the second class" if size == 2 else several,
        "picture": drawn(axes if size == 2 else axes[0], about, "classes"),
    }


def confusion(facts: Facts) -> Values:
    """True labels against predicted ones with the intervals of their shares, held out and on the test table."""
    held_out = facts.held_out
    if not held_out.answered.any():
        return {"picture": None}
    about = "Of the held-out rows of each class, the share that got each label. The numbers are in the tables below."
    tables = [confusion_tables(counted(held_out.log_proba, held_out.codes), facts, "held out")]
    if facts.test is not None:
        tables.append(confusion_tables(counted(*facts.test), facts, "test table"))
    return {
        "picture": drawn(plots.plot_confusion(held_out.calibration), about, "confusion"),
        "broad": len(facts.classes) > BROAD,
        "counted": tables,
    }


def counted(log_proba: Array, codes: Array) -> Array:
    """Rows of each true class that got each label, `(c, c)`; rows that are impossible got none."""
    answered = log_proba.max(axis=1) > -np.inf
    counts = np.zeros((log_proba.shape[1], log_proba.shape[1]), int)
    np.add.at(counts, (codes[answered], log_proba[answered].argmax(axis=1)), 1)
    return counts


def confusion_tables(counts: Array, facts: Facts, where: str) -> Values:
    """All pairs where they are few, and the commonest mistakes where there are more than one sees at once."""
    labels, shares = [Name(brief(label)) for label in facts.classes], recognised(counts)
    both = list(zip(labels, counts, shares, strict=True))
    return {
        "where": where,
        "head": ["True label", *(phrase("as {}", label) for label in labels), "Right"],
        "full": [(label, row.tolist(), share) for label, row, share in both] if len(counts) <= MOST_CONFUSED else [],
        "right": [(label, f"{row.sum():,}", share) for label, row, share in both],
        "several": len(counts) > 2,
        "mistakes": mistakes(counts, labels) if len(counts) > 2 else [],
        "rows": count(int(counts.sum()), "row"),
    }


def recognised(counts: Array) -> list[str]:
    """The share of each class that is recognised, all to the same decimals."""
    shares = [share_of(int(row[c]), int(row.sum() - row[c])) if row.sum() else None for c, row in enumerate(counts)]
    wide = max((share.upper - share.lower for share in shares if share is not None), default=1.0) > FINE
    return [NOTHING if share is None else percent_span(*share, decimals=0 if wide else 1) for share in shares]


def mistakes(counts: Array, labels: list[Name]) -> list[tuple[str, ...]]:
    """The commonest mistakes, with their share of the true class."""
    wrong = counts - np.diag(np.diag(counts))
    most = [divmod(int(k), len(counts)) for k in np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]]
    shares = {(a, b): share_of(int(counts[a, b]), int(counts[a].sum() - counts[a, b])) for a, b in most if wrong[a, b]}
    return [(labels[a], labels[b], f"{wrong[a, b]:,}", percent_span(*share)) for (a, b), share in shares.items()]
