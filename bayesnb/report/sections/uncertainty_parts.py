"""Where the uncertainty about labels comes from: the data, or what the model does not know yet."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.formatting import NOTHING, count, number, percent
from bayesnb.report.facts import Facts
from bayesnb.report.facts.left_out_rows import PARTS, uncertainties
from bayesnb.report.html import element
from bayesnb.report.html_page import drawn

LITTLE, MUCH = 0.1, 0.5  # of the uncertainty, that more rows would take away
NEXT_TO_NONE = 1e-3  # nats
WIDE = 5.5  # inches of the picture, which a phone has room for


def uncertainty(facts: Facts) -> dict[str, Any]:
    """Verdict, picture, and both parts of the uncertainty in numbers."""
    result = uncertainties(facts)
    if result is None:
        return {"state": "unknown"}
    if not result.attrs["tried"]:
        return {"state": "too slow"}
    observed = facts.held_out.observed
    # The true labels cost clearly more, on average, than the entropies foresee.
    understated = observed is not None and observed.unforeseen.lower > 0
    about = (
        "The uncertainty of each row's label in nats, the most uncertain first: the part that stays, and the part that "
        "more rows would remove."
    )
    return {
        "state": "known",
        "result": result,
        "verdict": distrusted(result, facts) if understated else verdict(result, facts),
        "picture": drawn(plots.plot_uncertainty(result), about, "uncertainty", WIDE),
        "parts": part_rows(result),
    }


def verdict(result: Any, facts: Facts) -> list[str]:
    """What the uncertainty is made of, and what follows, if the rows looked at settle that."""
    account, low, high = both_parts(result, facts)
    if not account:
        mean = number(float(result["entropy"].mean()), 2)
        return [element("strong", "There is next to no uncertainty:"), f"{mean} nats a row."]
    if low < LITTLE <= high or low < MUCH <= high:
        claim, follows = "The rows are too few to tell which part dominates:", ""
    elif high < LITTLE:
        claim, follows = "The classes overlap:", "Better columns would help; more rows of this kind would hardly help."
    elif high < MUCH:
        claim, follows = "Mostly, the classes overlap:", "More rows would help a little, better columns more."
    else:
        claim, follows = "The model has seen too few rows:", "More rows would help most."
    return [element("strong", claim), account, follows]


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
        f"of a mean uncertainty of {number(float(entropy.mean()), 2)} nats a row, {number(float(stays.mean()), 2)} "
        f"({percent(1 - share, 0)}) stay however many rows are seen, and {number(float(goes.mean()), 2)} "
        f"({percent(share, 0)}) would be removed by more rows."
    )
    return account, share - reach, share + reach


def distrusted(result: Any, facts: Facts) -> list[str]:
    """The parts by the account of a model whose true labels cost clearly more than it expects."""
    held, held_out = facts.held_out.held, facts.held_out
    cost = number(held.log_loss.value, 2) if held is not None else NOTHING
    expected = number(float(np.mean(held_out.entropy[held_out.answered])), 2)
    account, _, _ = both_parts(result, facts)
    return [
        element("strong", "The model understates its uncertainty:"),
        f"held out, the log loss is {cost} nats per row, where its probabilities expect {expected}. What the "
        "model ignores, such as dependence between columns, is in neither part, so the parts do not explain the "
        "mistakes.",
        f"According to the model, {account or 'there is next to no uncertainty.'}",
    ]


def part_rows(result: Any) -> list[tuple[str, ...]]:
    """The mean parts of all rows, and of the most uncertain ones."""
    parts = np.stack([np.asarray(result[name]) for name in PARTS])
    worst = np.argsort(-parts[0], kind="stable")[: max(1, parts.shape[1] // 10)]
    rows = []
    for name, at in (("All rows", slice(None)), (f"The most uncertain tenth, {count(len(worst), 'row')}", worst)):
        entropy, _, goes = means = parts[:, at].mean(axis=1).tolist()
        rows.append((name, *(number(mean, 3) for mean in means), percent(goes / entropy if entropy > 0 else 0.0, 0)))
    return rows
