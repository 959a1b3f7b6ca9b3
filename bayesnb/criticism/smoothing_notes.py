"""What a comparison of smoothings says in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.criticism.trial import Trial
from bayesnb.families.family import ordered_hyperparameters
from bayesnb.selection.alone import ROUNDING, found_alone
from bayesnb.selection.settings import Outcome, Place, Setting, Trials

SAID = {
    False: "probability 0 once left out, a log score of -inf",
    True: "no score, as what is left of the class settles no distribution to predict from",
}


def best_of(table: Any, row: int) -> dict[str, Any]:
    """One row of the table, by name."""
    return {name: table[name].to_list()[row] for name in table.columns}


def verdict(best: dict[str, Any] | None, worse: int, settings: int) -> str:
    """How the settings compare, in a sentence."""
    if best is None:
        return "No setting has a leave-one-out score for every row."
    where = "" if best["estimate"] == "mle" else f", smoothing {best['smoothing']:g}"
    scale = f", scale {best['scale']:g}" if best.get("scale", 1.0) != 1.0 else ""
    said = f"Best by leave-one-out log score: {best['estimate']}{where}{scale} (elpd {best['elpd_loo']:.1f})"
    if settings == 1:
        return f"{said}, the only setting."
    if np.isneginf(best["elpd_loo"]):
        return f"{said}: every setting makes some row impossible."
    if not worse:
        none = f"none of the other {settings - 1} can" if settings > 2 else "the other one cannot"
        return f"{said}; {none} be told from it, by two standard errors of the difference."
    rest = f"{worse} of the other {settings - 1}" if settings > 2 else "the other one"
    verb = "is" if worse == 1 else "are"
    return f"{said}; {rest} {verb} worse by more than two standard errors of the difference."


def notes_of(trial: Trial, trials: Trials, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What is to be known about the numbers."""
    meaning = [each.note for each in ordered_hyperparameters(trials.families) if each.note]
    return (*meaning, *_kept(trial, outcomes), *_evidence(trials, outcomes), *_missing(trial, trials, outcomes))


def at_the_end(best: Setting | None, settings: Sequence[Setting]) -> list[str]:
    """A sentence, where the best smoothing is the last one on its side, and others lie beyond it."""
    sizes = {setting.smoothing for setting in settings if setting.estimate != "mle"}
    if best is None or best.estimate == "mle" or len(sizes) < 2:
        return []
    ends = {"largest": max(sizes), "smallest": min(sizes) or None}
    return [
        f"The best smoothing, {best.smoothing:g}, is the {side} that was tried: one beyond it may be better."
        for side, end in ends.items()
        if best.smoothing == end
    ]


def _kept(trial: Trial, outcomes: Sequence[Outcome]) -> list[str]:
    temper = trial.estimator.temper_
    said = "The class prior is the estimator's own throughout"
    said += "." if temper == 1 else f", and so is the exponent on the features' evidence, temper_ = {temper:.4g}."
    return [said] + ["No prior enters mle, so it has one row." for own in outcomes if own.setting.estimate == "mle"]


def _evidence(trials: Trials, outcomes: Sequence[Outcome]) -> list[str]:
    improper = [own.setting for own in outcomes if np.isnan(own.log_evidence) and own.setting.estimate != "mle"]
    notes = []
    if improper:
        notes.append(
            f"{_at(improper)}: the prior is improper, so there is no evidence; it would depend on a constant that the "
            "prior does not settle."
        )
    counts = trials.rows.counts
    if (counts != np.floor(counts)).any():
        notes.append(
            "Some weights are no whole numbers: the log evidence is that of the power likelihood, the product of each "
            "row's to its weight. It compares smoothings, but is no probability of the data."
        )
    return notes


def _missing(trial: Trial, trials: Trials, outcomes: Sequence[Outcome]) -> list[str]:
    """Why scores are infinite or not defined: a sentence for each set of rows."""
    groups: dict[tuple[Place | None, bool, bytes], list[Setting]] = {}
    for own in outcomes:
        for undefined, rows in ((False, np.isneginf(own.log_scores)), (True, np.isnan(own.log_scores))):
            if rows.any():
                groups.setdefault((own.unsettled, undefined, rows.tobytes()), []).append(own.setting)
    notes = []
    for (place, undefined, flags), settings in groups.items():
        rows = np.flatnonzero(np.frombuffer(flags, bool))
        which, why = _named(trial, trials, rows), _why(trial, trials, int(rows[0]))
        if place:
            notes.append(f"{_at(settings)}: no row has a score, {_unsettled(trial, place)}.")
        else:
            notes.append(f"{_at(settings)}: {_have(rows, trials)} {SAID[undefined]}: {which}, {why}.")
    return notes


def _at(settings: Sequence[Setting]) -> str:
    """Which smoothings, of which estimates."""
    sizes = sorted({setting.smoothing for setting in settings})
    told = ", ".join(f"{size:g}" for size in sizes) if len(sizes) < 10 else f"{sizes[0]:g} to {sizes[-1]:g}"
    return f"Smoothing {told} ({_listed([setting.estimate for setting in settings])})"


def _have(rows: Any, trials: Trials) -> str:
    return f"{len(rows)} of {len(trials.rows.codes)} rows {'has' if len(rows) == 1 else 'have'}"


def _named(trial: Trial, trials: Trials, rows: Any) -> str:
    """The first of some rows."""
    names = trial.index[trial.rows.counts > 0].tolist()
    label = trial.estimator.classes_.tolist()[trials.rows.codes[rows[0]]]
    start = "it is" if len(rows) == 1 else "the first is"
    return f"{start} row {_cell(names[rows[0]])} of class {_cell(label)}"


def _unsettled(trial: Trial, place: Place) -> str:
    block = trial.estimator.schema_.blocks[place.block]
    label = trial.estimator.classes_.tolist()[place.code]
    name = block.names[0] if block.family.whole and not block.family.combined else block.keys[place.column]
    return (
        f"as the rows of class {_cell(label)} settle no distribution of column {_cell(name)}: there are none, or they "
        "have no spread, and no prior adds any"
    )


def _why(trial: Trial, trials: Trials, row: int) -> str:
    """What is special about a row that is impossible by itself."""
    code, seen = trials.rows.codes[row], trials.learnt.stats.classes.counts
    if seen[code] <= trials.rows.counts[row] * (1 + ROUNDING):
        return "the only row of its class"
    alone = found_alone(trials, row)
    if alone is None:
        return "without which its class has too few rows, or no spread"
    block = trial.estimator.schema_.blocks[alone.block]
    if not block.family.counts_levels:
        return f"the only one of its class with any events in column {_cell(block.names[alone.column])}"
    if block.family.combined:
        return f"the only one of its class with its levels of the columns {_cell(block.names)}"
    if block.family.listed:
        return f"the only one of its class with the word {_cell(block.words[alone.level])}"
    if block.family.whole:
        return f"the only one of its class with any count in column {_cell(block.names[alone.level])}"
    levels = block.levels[alone.column] if block.levels else (0, 1)
    level = _cell(levels[alone.level]) if alone.level < len(levels) else "the level that is kept for new ones"
    return f"the only one of its class with {level} in column {_cell(block.names[alone.column])}"


def _cell(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:40] + "…" + shown[-19:]


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))
