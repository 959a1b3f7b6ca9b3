"""Whether the data or the model's ignorance make it doubt: how much of the doubt more rows would take away."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.families.wording import NOTHING, number
from bayesnb.report.facts import Facts
from bayesnb.report.facts.doubted import doubted
from bayesnb.report.markup import paragraph, table
from bayesnb.report.sections.sensitivity import points
from bayesnb.report.wording import count, percent

LITTLE, MUCH = 0.1, 0.5  # of the doubt, that more rows would take away
NEXT_TO_NONE = 1e-3  # nats
WIDE = 5.5  # inches of the picture, which a phone has room for


def doubt(facts: Facts) -> str:
    """Verdict, picture, and both parts of the doubt in numbers."""
    found = doubted(facts)
    if found is None:
        return paragraph(
            "Not known: no row's probabilities have a law, as some class has no distribution, or makes every row "
            "impossible. An improper prior or a smoothing of 0 does that; a proper prior mends it."
        )
    if not found.attrs["tried"]:
        return paragraph(
            f"Left out: with {count(len(facts.classes), 'class')} and so many columns or levels it takes too long. "
            "<code>model.uncertainty(X)</code> computes it for the rows that you name."
        )
    return explained(found, facts) + drawn(found) + numbers(found) + paragraph(*left_out(found, facts))


def explained(found: Any, facts: Facts) -> str:
    """What both parts are, and the verdict."""
    held = "Each row is held out: the doubt is that of the model of all other rows."
    new = "The doubt is that about a new row with the same cells."
    return paragraph(
        "A label can be in doubt because the classes overlap there, which no further row changes (<em>aleatoric"
        "</em>), or because too few rows were seen to know the classes (<em>epistemic</em>).",
        "The two add up to the entropy of the predicted label, exactly.",
        held if found.attrs["held_out"] else new,
    ) + paragraph(*(verdict(found, facts) if not understated(facts) else distrusted(found, facts)))


def drawn(found: Any) -> str:
    """The picture."""
    said = (
        "The doubt about each row's label in nats, the most doubtful first: what stays, and what more rows take away."
    )
    return f"<figure>{plots.svg(plots.plot_uncertainty(found), said, 'doubt', WIDE)}</figure>"


def verdict(found: Any, facts: Facts) -> list[str]:
    """What the doubt is made of, in one sentence, and what follows, if the rows looked at settle that."""
    said, low, high = account(found, facts)
    if not said:
        return [f"<strong>There is next to no doubt:</strong> {number(float(found['entropy'].mean()), 2)} nats a row."]
    if low < LITTLE <= high or low < MUCH <= high:
        return [f"<strong>So few rows do not settle which it is:</strong> {said}"]
    if high < LITTLE:
        return [f"<strong>It is the data:</strong> {said}", "Better columns would help; more rows of this kind hardly."]
    if high < MUCH:
        return [f"<strong>It is mostly the data:</strong> {said}", "More rows would help some, better columns more."]
    return [f"<strong>It is what the model does not know yet:</strong> {said}", "More rows are what would help most."]


def account(found: Any, facts: Facts) -> tuple[str, float, float]:
    """Both parts in a sentence, and between which shares the one that goes away is; no sentence, without a doubt.

    Two standard errors of a ratio, of rows taken from a table of so many.
    """
    entropy, stays, goes = (np.asarray(found[name]) for name in ("entropy", "aleatoric", "epistemic"))
    if entropy.mean() < NEXT_TO_NONE:
        return "", 0.0, 0.0
    share, rows = float(goes.mean() / entropy.mean()), len(entropy)
    left = max(1 - rows / len(facts.codes), 0.0)
    spread = float(((goes - share * entropy) ** 2).sum()) / max(rows - 1, 1) * rows * left
    reach = 2 * np.sqrt(spread) / float(entropy.sum()) if rows > 1 or not left else 1.0
    said = (
        f"of {number(float(entropy.mean()), 2)} nats of doubt a row, {number(float(stays.mean()), 2)} "
        f"({percent(1 - share, 0)}) stay however many rows are seen, and {number(float(goes.mean()), 2)} "
        f"({percent(share, 0)}) would go away with more rows."
    )
    return said, share - reach, share + reach


def understated(facts: Facts) -> bool:
    """Whether the true labels cost clearly more than the doubt of the model, which would be the mean of that cost."""
    return facts.judged.unforeseen.lower > 0


def distrusted(found: Any, facts: Facts) -> list[str]:
    """What a model says of its doubt that has too little of it."""
    held, judged = facts.judged.held, facts.judged
    cost = number(held.log_loss.value, 2) if held is not None else NOTHING
    expected = number(float(np.mean(judged.entropy[judged.answered])), 2)
    said, _, _ = account(found, facts)
    return [
        f"<strong>The model doubts too little:</strong> held out, the true label cost {cost} nats a row, where its "
        f"probabilities expect {expected}. What it does not see, such as columns that depend on each other, is in "
        "neither part, so the parts do not say where the mistakes come from.",
        f"By its own account, {said}" if said else "By its own account there is next to no doubt.",
    ]


def numbers(found: Any) -> str:
    """The mean, and the most doubtful rows."""
    entropy, stays, goes = (np.asarray(found[name]) for name in ("entropy", "aleatoric", "epistemic"))
    worst = np.argsort(-entropy, kind="stable")[: max(1, len(entropy) // 10)]
    parts = (("All rows", np.arange(len(entropy))), (f"The most doubtful tenth, {count(len(worst), 'row')}", worst))
    rows = [
        (name, *(number(float(part[at].mean()), 3) for part in (entropy, stays, goes)), shared(goes[at], entropy[at]))
        for name, at in parts
    ]
    head = ("Rows", "Doubt", "Classes overlap", "Too few rows", "Would go away")
    return table("Mean doubt about the label, in nats", head, rows, "counts")


def shared(goes: Any, entropy: Any) -> str:
    total = float(entropy.sum())
    return percent(float(goes.sum()) / total, 0) if total > 0 else percent(0.0, 0)


def left_out(found: Any, facts: Facts) -> list[str]:
    """Which rows these are, if not all, and how they were computed."""
    seen, every = found.sizes["obs_id"], len(facts.codes)
    said = []
    tried = found.attrs["tried"]
    if tried < every:
        said.append(f"Computed for {tried:,} of {every:,} rows, evenly spaced in the table.")
    if seen < tried:
        said.append(
            f"{count(tried - seen, 'row')} of them are impossible under some class, or leave one without distribution. "
            "They are not counted: their probabilities have no law."
        )
    if not facts.model.model_.posterior.closed:
        error = points(2 * float(found.attrs["drawn_error"]))
        said.append(
            f"The classes share parameters here, so the parts were drawn: twice the standard error of the share that "
            f"would go away is {error}, by the spread of the draws."
        )
    if facts.model.estimate != "predictive":
        said.append("The doubt is that of the posterior, whatever estimate the model predicts with.")
    return said
