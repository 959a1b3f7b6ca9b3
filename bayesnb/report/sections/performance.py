"""How good the predictions are: scores beside their baselines, whether probabilities come true, what is confused."""

from math import exp, isfinite, log
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.estimators.tempering import in_words
from bayesnb.families.base import Array
from bayesnb.formatting import NOTHING, count, fixed, interval, percent
from bayesnb.report.facts import Facts
from bayesnb.report.facts.held_out import share_of
from bayesnb.report.html import phrase
from bayesnb.report.html_page import drawn
from bayesnb.report.remedies import mends, possible, settling, tempering
from bayesnb.report.wording import as_name, percent_span
from bayesnb.selection.probability_scores import Estimate
from bayesnb.selection.verdict import TOO_CAUTIOUS, TOO_SURE, UNEVEN, UNSETTLED, calibration_state

LEAST = 1e-3  # of a loss, that is shown
MOST_PANELS = 8
STRONG = 3.0  # nats
MOST_CONFUSED = 12  # classes in a square table; of more, there are only a picture and the commonest mistakes
MOST_PAIRS = 20
FINE = 0.02  # an interval that is worth a decimal
BROAD = 6  # classes, of more the picture is wide
CONCLUSIONS = {TOO_CAUTIOUS: "underconfident", UNEVEN: "off", UNSETTLED: "unknown"}
Values = dict[str, Any]


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
        "harmful": held_out.observed is not None and held_out.observed.is_harmful,
        "extreme": mends(facts) or (held_out.observed is not None and held_out.observed.is_too_sure),
        "tempering": tempering(facts),
        "temper": in_words(facts.model._temper_of_columns),
        "even": f"{log(len(facts.classes)):.2f}",
        "typical": "" if held is None or not isfinite(held.log_loss.value) else percent(exp(-held.log_loss.value)),
        "undefined": int((~held_out.defined).sum()),
        "settling": settling(facts),
        "possible": possible(facts),
        "other_prob": "ci_prob=0.95",
        "usual_prob": facts.about.ci_prob is None,
    }


def loss_span(loss: Estimate) -> str:
    """A loss with its interval, if it has one."""
    if 0 < loss.upper < LEAST:
        return f"under {fixed(LEAST, 3)}"
    return interval(*loss, decimals=3)


def gained(facts: Facts) -> str:
    """To what the columns are worth something: "probabilities", only "labels", only "tempered", or else how little."""
    held_out = facts.held_out
    held, most = held_out.held, held_out.constant.log_loss.value
    if held is None or most == 0 or not isfinite(held.log_loss.value):
        return ""
    observed = held_out.observed
    assert observed is not None  # as rows are held out
    if observed.less_loss.is_clear and held.log_loss.value < most:
        return "probabilities"
    if observed.more_right.is_clear:
        return "labels"
    if held_out.tempered is not None and held_out.tempered.over_constant.lower > 0:
        return "tempered"
    if observed.is_harmful:
        return "harmful"
    return "may help" if held.log_loss.value < most else "no help"


def reliability(facts: Facts) -> Values:
    """Whether the probabilities come true: of the rows that were given 80 %, are four in five right?"""
    if not facts.held_out.answered.any():
        return {"picture": None}
    result, size = facts.held_out.calibration, len(facts.classes)
    about = "Observed share of right labels against their predicted probability, held out: curve, bins, and a band."
    by_class = None
    if size > 1:  # with two classes one panel shows both
        axes = plots.plot_calibration(result, most=MOST_PANELS)
        panels = "Observed share of each class against its predicted probability: one panel for each class."
        by_class = drawn(axes if size == 2 else axes[0], panels, "classes")
    several = f"for the {MOST_PANELS} most frequent classes" if size > MOST_PANELS else "class by class"
    return {
        "result": result,
        "conclusion": conclusion(facts),
        "remedy": remedy(result, facts),
        "picture": drawn(plots.plot_calibration(result, by="predicted"), about, "reliability"),
        "bins": bin_rows(result, facts.prob),
        "by_class": by_class,
        "which": "for the second class" if size == 2 else several,
    }


def remedy(result: Any, facts: Facts) -> tuple[bool, str]:
    """Whether redundant columns may make probabilities too extreme, and what a temper would give; plain text."""
    if facts.model._temper_rule is not None or conclusion(facts) in ("trusted", "unknown"):
        return False, ""
    redundant = bool(facts.features.blocks) or any(value > STRONG for *_, value in facts.comparisons.unconnected)
    return redundant and gap_of(result) > 0, tempering(facts)


def gap_of(result: Any) -> float:
    """How much the mean probability of the chosen labels is above the share that is right."""
    return float((result["top_probability"].mean() - result["accuracy"]).item())


def conclusion(facts: Facts) -> str:
    """Whether the probabilities come true, and to which side they miss."""
    observed = facts.held_out.observed
    assert observed is not None  # as rows are held out
    state = calibration_state(observed)
    if state == TOO_SURE:
        return "overconfident" if observed.is_too_sure else "extremes"
    return CONCLUSIONS.get(state, "trusted")


def bin_rows(result: Any, prob: float) -> list[tuple[str, str, str]]:
    """What each bin promised, and what came, the surest first."""
    bins = np.stack([np.asarray(result[f"top_{name}"]) for name in ("predicted", "observed", "count")], axis=1)
    rows = [(percent(p), percent_span(*share_of(hits, n - hits, prob)), f"{n:,.0f}") for p, hits, n in joined(bins)]
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


def confusion(facts: Facts) -> Values:
    """True labels against predicted ones with the intervals of their shares, held out and on the test table."""
    held_out = facts.held_out
    if not held_out.answered.any():
        return {"picture": None}
    about = "Confusion matrix: of the held-out rows of each class, the share predicted as each label."
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
    labels = [as_name(label) for label in facts.classes]
    wrong = counts - np.diag(np.diag(counts))
    most = [divmod(int(k), len(counts)) for k in np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]]
    return {
        "where": where,
        "head": ["Observed", *(phrase("Predicted {}", label) for label in labels), "Recall"],
        "all": list(zip(labels, counts.tolist(), recognised(counts, facts.prob), strict=True)),
        "square": len(counts) <= MOST_CONFUSED,
        "mistakes": [
            (labels[a], labels[b], f"{n:,}", percent_span(*share_of(n, counts[a].sum() - n, facts.prob)))
            for a, b in most
            if (n := int(wrong[a, b])) and len(counts) > 2
        ],
        "rows": count(int(counts.sum()), "row"),
    }


def recognised(counts: Array, prob: float) -> list[str]:
    """The share of each class that is recognised, all to the same decimals."""
    shares = [
        share_of(int(row[c]), int(row.sum() - row[c]), prob) if row.sum() else None for c, row in enumerate(counts)
    ]
    wide = max((share.upper - share.lower for share in shares if share is not None), default=1.0) > FINE
    return [NOTHING if share is None else percent_span(*share, decimals=0 if wide else 1) for share in shares]
