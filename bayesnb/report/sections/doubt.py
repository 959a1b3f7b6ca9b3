"""Where the uncertainty about labels comes from: the data, or what the model does not know yet."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families.number_format import NOTHING, number
from bayesnb.report.facts import Facts
from bayesnb.report.facts.left_out_rows import uncertainties
from bayesnb.report.html_page import drawn
from bayesnb.report.wording import count, percent
from bayesnb.results.display import element

LITTLE, MUCH = 0.1, 0.5  # of the uncertainty, that more rows would take away
NEXT_TO_NONE = 1e-3  # nats
WIDE = 5.5  # inches of the picture, which a phone has room for
PARTS = ("entropy", "aleatoric", "epistemic")


def doubt(facts: Facts) -> dict[str, Any]:
    """Verdict, picture, and both parts of the uncertainty in numbers."""
    result = uncertainties(facts)
    if result is None:
        return {"state": "unknown"}
    if not result.attrs["tried"]:
        return {"state": "too slow", "classes": count(len(facts.classes), "class")}
    understated = facts.held_out.unforeseen.lower > 0  # the mean cost of the true labels is clearly above the entropy
    about = (
        "The doubt about each row's label in nats, the most doubtful first: what stays, and what more rows take away."
    )
    return {
        "state": "known",
        "held_out": result.attrs["held_out"],
        "verdict": distrusted(result, facts) if understated else verdict(result, facts),
        "picture": drawn(plots.plot_uncertainty(result), about, "doubt", WIDE),
        "parts": part_rows(result),
        "remarks": remarks(result, facts),
    }


def verdict(result: Any, facts: Facts) -> list[str]:
    """What the uncertainty is made of, and what follows, if the rows looked at settle that."""
    account, low, high = both_parts(result, facts)
    if not account:
        mean = number(float(result["entropy"].mean()), 2)
        return [element("strong", "There is next to no doubt:"), f"{mean} nats a row."]
    if low < LITTLE <= high or low < MUCH <= high:
        return [element("strong", "So few rows do not settle which it is:"), account]
    if high < LITTLE:
        follows = "Better columns would help; more rows of this kind hardly."
        return [element("strong", "It is the data:"), account, follows]
    if high < MUCH:
        follows = "More rows would help some, better columns more."
        return [element("strong", "It is mostly the data:"), account, follows]
    follows = "More rows are what would help most."
    return [element("strong", "It is what the model does not know yet:"), account, follows]


def both_parts(result: Any, facts: Facts) -> tuple[str, float, float]:
    """Both parts in a sentence, and between which shares the one that goes away is; no sentence, without uncertainty.

    Two standard errors of a ratio, of rows taken from a finite table.
    """
    entropy, stays, goes = (np.asarray(result[name]) for name in PARTS)
    if entropy.mean() < NEXT_TO_NONE:
        return "", 0.0, 0.0
    share, rows = float(goes.mean() / entropy.mean()), len(entropy)
    left = max(1 - rows / len(facts.codes), 0.0)
    spread = float(((goes - share * entropy) ** 2).sum()) / max(rows - 1, 1) * rows * left
    reach = 2 * np.sqrt(spread) / float(entropy.sum()) if rows > 1 or not left else 1.0
    account = (
        f"of {number(float(entropy.mean()), 2)} nats of doubt a row, {number(float(stays.mean()), 2)} "
        f"({percent(1 - share, 0)}) stay however many rows are seen, and {number(float(goes.mean()), 2)} "
        f"({percent(share, 0)}) would go away with more rows."
    )
    return account, share - reach, share + reach


def distrusted(result: Any, facts: Facts) -> list[str]:
    """The parts by the account of a model whose true labels cost clearly more than it expects."""
    held, held_out = facts.held_out.held, facts.held_out
    cost = number(held.log_loss.value, 2) if held is not None else NOTHING
    expected = number(float(np.mean(held_out.entropy[held_out.answered])), 2)
    account, _, _ = both_parts(result, facts)
    return [
        element("strong", "The model doubts too little:"),
        f"held out, the true label cost {cost} nats a row, where its probabilities expect {expected}. What it does not "
        "see, such as columns that depend on each other, is in neither part, so the parts do not say where the "
        "mistakes come from.",
        f"By its own account, {account}" if account else "By its own account there is next to no doubt.",
    ]


def part_rows(result: Any) -> list[tuple[str, ...]]:
    """The mean parts of all rows, and of the most uncertain ones."""
    parts = [np.asarray(result[name]) for name in PARTS]
    entropy, _, goes = parts
    worst = np.argsort(-entropy, kind="stable")[: max(1, len(entropy) // 10)]
    groups = (("All rows", slice(None)), (f"The most doubtful tenth, {count(len(worst), 'row')}", worst))
    rows = []
    for name, at in groups:
        total = float(entropy[at].sum())
        share = percent(float(goes[at].sum()) / total if total > 0 else 0.0, 0)
        rows.append((name, *(number(float(part[at].mean()), 3) for part in parts), share))
    return rows


def remarks(result: Any, facts: Facts) -> list[str]:
    """Which rows these are, if not all, and how they were computed."""
    rows, tried, of = result.sizes["obs_id"], result.attrs["tried"], len(facts.codes)
    sentences = []
    if tried < of:
        sentences.append(f"Computed for {tried:,} of {of:,} rows, evenly spaced in the table.")
    if rows < tried:
        sentences.append(
            f"{count(tried - rows, 'row')} of them are impossible under some class, or leave one without distribution. "
            "They are not counted: their probabilities have no law."
        )
    if not facts.model.model_.posterior.closed:
        error = percent(2 * float(result.attrs["drawn_error"])).replace("%", "percentage points")
        sentences.append(
            "The classes share parameters here, so the parts were drawn: twice the standard error of the share that "
            f"would go away is {error}, by the spread of the draws."
        )
    if facts.model.estimate != "predictive":
        sentences.append("The doubt is that of the posterior, whatever estimate the model predicts with.")
    return sentences
