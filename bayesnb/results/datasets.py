"""Arrays as labelled Datasets that show themselves, and ArviZ's default for intervals."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from bayesnb.families import Choice
from bayesnb.families.base import Array
from bayesnb.formatting import (
    count,
    fixed,
    number,
    plus_minus,
    probability,
    shorten,
    signed,
)
from bayesnb.inference.decision import Decision
from bayesnb.results.parameter_names import coordinate, row_names
from bayesnb.results.tables import Formats, Result, TitledFrame, add_title, describe_intervals

MAX_FAMILY_LETTERS = 30
LARGE_EVIDENCE = 100.0  # nats; more says that a family is wrong rather than what it says
ABOUT_SHAPES = (
    "Where a family has the wrong shape, as a Gaussian for prices, that makes large factors too."
)
EXPONENTS_KEPT = (
    "The exponents (temper) of the other columns are kept, though a refit would find others."
)
ABOUT_COLUMNS = {  # of tables of features
    "log_bayes_factor": {
        "long_name": "log Bayes factor, depends on the class",
        "units": "nats",
    },
    "importance": {
        "long_name": "held-out log loss without the feature, less that with it",
        "units": "nats",
    },
    "inclusion": {"long_name": "probability that the feature depends on the class"},
}


def ci_prob(value: float | None) -> float:
    """Return the probability of an interval: the one given, or that of ArviZ's settings."""
    if value is None:
        from arviz_base import rcParams  # a second of imports

        value = rcParams["stats.ci_prob"]
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"ci_prob must be a number between 0 and 1, got {value!r}.")
    return float(value)


def dataset(
    index: Array,
    classes: Array,
    by_row: Mapping[str, Array],
    by_class: Mapping[str, Array],
    attrs: Mapping[str, Any],
    kind: type[xr.Dataset] = xr.Dataset,
) -> xr.Dataset:
    """Label numbers of every row, `(r,)`, and of every row and class, `(r, c)`."""
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables |= {name: (("obs_id", "class"), values) for name, values in by_class.items()}
    coords = {
        "obs_id": row_names(index),
        "class": classes,
    }
    return kind(variables, coords, dict(attrs))


def frame(columns: Mapping[str, Sequence[Any] | Array]) -> pd.DataFrame:
    """Return columns of equal length as a pandas frame with numbered rows."""
    arrays = {name: ("row", np.asarray(values)) for name, values in columns.items()}
    return xr.Dataset(arrays).to_dataframe()


# Predictions


class PredictionIntervals(Result):
    """Class probabilities of rows with intervals; `to_frame` has a row for each row and class."""

    __slots__ = ()
    _axes = ("obs_id", "class")
    _columns = ("probability", "median", "lower", "upper")
    _formats: ClassVar[Formats] = {"": probability}


def prediction_intervals(
    index: Array, classes: Array, by_class: Mapping[str, Array], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Label probabilities and the ends of their intervals, `(r, c)`."""
    kind = describe_intervals(attrs["ci_prob"])
    about = {"title": f"Class probabilities with {kind}, rows {attrs['rows']}"}
    return dataset(index, classes, {}, by_class, about | dict(attrs), PredictionIntervals)


class LabelUncertainty(Result):
    """Entropy of each row's label in its two parts; `to_frame` has a row for each row.

    The probabilities of the classes are columns there, `probability_<label>`.
    """

    __slots__ = ()
    _axes = ("obs_id",)
    _columns = ("entropy", "aleatoric", "epistemic", "probability")
    _formats: ClassVar[Formats] = {"": probability}

    def _frame(self) -> pd.DataFrame:
        table = super()._frame()
        if "log_density" in self:
            table.insert(3, "log_density", self["log_density"].values)
        return table

    def _shown(self) -> pd.DataFrame:
        table = super()._shown()
        table.columns = table.columns.str.replace(r"^probability_(.*)", r"p(\1)", regex=True)
        return table


def label_uncertainty(
    index: Array,
    classes: Array,
    by_row: Mapping[str, Array],
    by_class: Mapping[str, Array],
    rows: str,
) -> xr.Dataset:
    """Label entropies, `(r,)`, and probabilities, `(r, c)`."""
    attrs = {
        "title": f"Uncertainty of the labels, entropies in nats, rows {rows}",
        "rows": rows,
    }
    return dataset(index, classes, by_row, by_class, attrs, LabelUncertainty)


def held_out_proba(
    proba: Array,
    index: Array,
    classes: Array,
    selection: str,
) -> xr.DataArray:
    """Label the probabilities of rows that are held out, `(r, c)`."""
    coords = {
        "obs_id": coordinate(index),
        "class": coordinate(classes),
    }
    return xr.DataArray(proba, coords, name="p", attrs={"selection": selection})


class Decisions(Result):
    """The action chosen for each row; `to_frame` has a row for each row.

    The expected losses of all actions are columns there, `loss_<action>`.
    """

    __slots__ = ()
    _axes = ("obs_id",)
    _columns = ("action", "expected_loss", "abstained", "loss")
    _formats: ClassVar[Formats] = {"": partial(fixed, decimals=3)}

    def _shown(self) -> pd.DataFrame:
        table = self._frame()
        return table if "abstain" in self.attrs else table.drop(columns="abstained")


def decisions(
    rows: Array, actions: Sequence[Any], made: Decision, abstain: float | None
) -> xr.Dataset:
    """Label the action of each row, None where none is chosen, and expected losses of all."""
    alike = len({*map(type, actions)}) == 1 and np.ndim(actions[0]) == 0
    names = np.asarray(actions) if alike else np.fromiter(actions, object, len(actions))
    chosen = names[made.action]
    attrs: dict[str, Any] = {"title": "Decisions with the least expected loss"}
    if abstain is not None:
        chosen = np.where(made.abstained, None, chosen.astype(object))
        attrs["abstain"] = abstain
        attrs["note"] = f"To leave a row undecided costs {abstain:g}."
    variables = {
        "action": ("obs_id", chosen),
        "expected_loss": ("obs_id", made.expected_loss),
        "abstained": ("obs_id", made.abstained),
        "loss": (("obs_id", "choice"), made.loss),
    }
    coords = {
        "obs_id": row_names(rows),
        "choice": names,
    }
    return Decisions(variables, coords, attrs)


# The model


class FamilyChoices(Result):
    """How families were chosen: leave-one-out scores of the label by each column alone.

    `to_frame` has a row for each column, and a column `elpd_<candidate>` for each candidate.
    """

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("chosen", "elpd")

    def _shown(self) -> pd.DataFrame:
        """Return the score of the family that was chosen, and the best of the others."""
        table = self["elpd"].transpose("feature", "candidate").to_pandas()
        chosen = self["chosen"].to_series()
        rows = []
        for name, (_, elpd) in zip(chosen, table.iterrows(), strict=True):
            rows.append((name, elpd[name], *compare_others(elpd, name)[:1]))
        columns = ["chosen", "elpd", "next best, against it"]
        return pd.DataFrame(rows, chosen.index).reindex(columns=range(3)).set_axis(columns, axis=1)


def choices(made: Sequence[Choice]) -> xr.Dataset:
    """Label the scores by each feature under each candidate family, and which was chosen."""
    candidates = list(dict.fromkeys(name for choice in made for name in choice.candidates))
    elpd = np.full((len(made), len(candidates)), np.nan)
    for scores, choice in zip(elpd, made, strict=True):
        scores[[candidates.index(name) for name in choice.candidates]] = choice.elpd
    chosen = np.array([choice.candidates[choice.chosen] for choice in made], dtype=str)
    title = (
        "Families, chosen by the leave-one-out score of the label (elpd in nats, larger is better)"
        if made
        else "All families are declared, or follow from the values of the columns."
    )
    return FamilyChoices(
        {
            "elpd": (("feature", "candidate"), elpd),
            "chosen": ("feature", chosen),
        },
        {
            "feature": coordinate([choice.key for choice in made]),
            "candidate": np.array(candidates, dtype=str),
        },
        {"title": title},
    )


def compare_others(elpd: pd.Series, chosen: str) -> list[str]:
    """Return the candidates that were not chosen, the best first, with their scores less its."""
    gaps = (elpd.drop(chosen) - elpd[chosen]).dropna().sort_values(ascending=False)
    return [f"{shorten(name, MAX_FAMILY_LETTERS)} ({signed(gap, 1)})" for name, gap in gaps.items()]


def rejected(made: Sequence[Choice]) -> dict[Hashable, str]:
    """Return for each feature the candidates that its family was chosen over, in words."""
    words = {}
    for choice in made:
        elpd = pd.Series(choice.elpd, choice.candidates)
        words[choice.key] = ", ".join(compare_others(elpd, choice.candidates[choice.chosen]))
    return words


class ColumnLinks(Result):
    """Links between columns; `to_frame` has a row for each link, the strongest first."""

    __slots__ = ()
    _axes = ("link",)
    _columns = ("first", "second", "log_bayes_factor", "temper", "temper_sd", "in_forest")

    def _shown(self) -> pd.DataFrame:
        table = self._frame()
        table["temper"] = list(map(plus_minus, table["temper"], table.pop("temper_sd")))
        table["in_forest"] = np.where(table["in_forest"], "yes", "no")
        return table.set_index(["first", "second"])


def links(block: Any, temper: Array, temper_sd: Array) -> xr.Dataset:
    """Label links between columns; `block` is None where none were found."""
    ends: Sequence[Any] = () if block is None else block.keys
    in_forest = np.empty(0, bool) if block is None else block.in_forest.astype(bool)
    evidence = {
        "long_name": "log Bayes factor against independence given the class",
        "units": "nats",
    }
    variables = {
        "first": ("link", coordinate([name for name, _ in ends])),
        "second": ("link", coordinate([name for _, name in ends])),
        "log_bayes_factor": ("link", np.empty(0) if block is None else block.evidence, evidence),
        "temper": ("link", temper, {"long_name": "exponent on the evidence of the link"}),
        "temper_sd": ("link", temper_sd),
        "in_forest": ("link", in_forest),
    }
    title = "No links between columns"
    if ends:
        title = (
            f"{count(len(ends), 'link')} between columns, {in_forest.sum():,} in the forest "
            "(log Bayes factor in nats)"
        )
    return ColumnLinks(variables, {"link": np.arange(len(ends))}, {"title": title})


# Features


def by_feature(
    names: Sequence[Hashable],
    values_of: Mapping[str, Array],
    attrs: Mapping[str, Any],
    kind: type[xr.Dataset],
) -> xr.Dataset:
    """Label numbers of every feature, `(f,)`."""
    variables = {
        name: ("feature", values, ABOUT_COLUMNS.get(name, {})) for name, values in values_of.items()
    }
    return kind(variables, {"feature": coordinate(names)}, dict(attrs))


class Relevance(Result):
    """Evidence that each feature depends on the class; `to_frame` has a row for each feature.

    The table that is shown begins with the largest log Bayes factor.
    """

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("log_bayes_factor", "inclusion", "temper", "temper_sd")
    _sorted_by = "log_bayes_factor"
    _formats: ClassVar[Formats] = {"inclusion": probability}


def relevant(
    names: Sequence[Hashable],
    values_of: Mapping[str, Array],
    prior: float,
    blocks: Mapping[str, float],
) -> xr.Dataset:
    """Label numbers of every feature, `(f,)`; those of blocks of words go into `attrs`."""
    attrs: dict[str, Any] = {
        "title": "Evidence that each feature depends on the class (log Bayes factor in nats)",
        "prior": prior,
    }
    notes = [f"Probability of a dependence before the data: {prior:g}."]
    if blocks:
        attrs["block"] = list(blocks)
        attrs["block_log_bayes_factor"] = list(blocks.values())
    for name, value in blocks.items():
        notes.append(f"All words of {shorten(name, 60)} together: {fixed(value, 2)} nats.")
    if (values_of["log_bayes_factor"] > LARGE_EVIDENCE).any():
        notes.append("Hundreds of nats do not say that a feature is important: see importance().")
        notes.append(ABOUT_SHAPES)
    attrs["note"] = "\n".join(notes)
    return by_feature(names, values_of, attrs, Relevance)


class Importance(Result):
    """What held-out log loss loses without each feature; `to_frame` has a row for each feature.

    The table that is shown begins with the most important feature.
    """

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("importance", "lower", "upper", "temper")
    _sorted_by = "importance"
    _formats: ClassVar[Formats] = dict.fromkeys(
        ("importance", "lower", "upper"), partial(fixed, decimals=4)
    )


def important(
    names: Sequence[Hashable], estimate: Array, temper: Array, attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Label what is lost without each feature, its interval, `(3, f)`, and exponents, `(f,)`."""
    kind = describe_intervals(attrs["ci_prob"])
    notes = [f"Log loss of the whole model: {number(attrs['log_loss'])}."]
    if attrs["exponents"] == "kept":
        notes.append(EXPONENTS_KEPT)
    about = {
        "title": f"What held-out log loss loses without each feature (nats a row), with {kind}",
        "note": "\n".join(notes),
    }
    columns = dict(zip(("importance", "lower", "upper"), estimate, strict=True))
    return by_feature(names, columns | {"temper": temper}, about | dict(attrs), Importance)


class Dependence(Result):
    """Evidence that columns depend on each other within the classes.

    `to_frame` has a row for each pair, (feature, feature_2), in the table's order, and a column for
    each class, `log_bayes_factor_<label>`. The table that is shown begins with the strongest pair.
    """

    __slots__ = ()
    _axes = ("feature", "feature_2")
    _columns = ("log_bayes_factor", "log_bayes_factor_by_class")
    _sorted_by = "log_bayes_factor"

    def _has_table(self) -> bool:
        return super()._has_table() and np.array_equal(self["feature"], self["feature_2"])

    def _frame(self) -> pd.DataFrame:
        size = self.sizes["feature"]
        table = super()._frame()[np.triu(np.ones((size, size), bool), 1).ravel()]
        table.columns = table.columns.str.replace("_by_class", "", n=1)
        return table

    def _shown(self) -> pd.DataFrame:
        known = super()._shown().dropna(subset="log_bayes_factor")
        known.columns = known.columns.str.removeprefix("log_bayes_factor_")
        return known


def dependent(names: Sequence[Hashable], classes: Array, log_bayes_factor: Array) -> xr.Dataset:
    """Label log Bayes factors of pairs within each class, `(c, n, n)`, and their sums."""
    total = log_bayes_factor.sum(axis=0)
    pairs = total[np.triu_indices(len(names), 1)]
    unknown = int(np.isnan(pairs).sum())
    notes = []
    if unknown:
        notes.append(f"{unknown:,} of {len(pairs):,} pairs cannot be compared.")
    if (pairs > LARGE_EVIDENCE).any():
        notes.append(ABOUT_SHAPES)
    attrs = {
        "title": "Evidence that two columns depend on each other within the classes "
        "(log Bayes factor in nats)",
        "note": "\n".join(notes),
    }
    about = {
        "long_name": "log Bayes factor, the two depend on each other given the class",
        "units": "nats",
    }
    axes = ("feature", "feature_2")
    variables = {
        "log_bayes_factor": (axes, total, about),
        "log_bayes_factor_by_class": (("class", *axes), log_bayes_factor, about),
    }
    coords = {
        "class": coordinate(classes),
        **dict.fromkeys(axes, coordinate(names)),
    }
    return Dependence(variables, coords, attrs)


def tuning(columns: Mapping[str, Any]) -> TitledFrame:
    """Return the scores of the labels before and after priors were tuned, with a title."""
    table = pd.DataFrame(columns, ["before", "after"])
    return add_title(table, "Leave-one-out log score of the labels, before and after the tuning")
