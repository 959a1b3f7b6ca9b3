"""Results as labelled Datasets that print as tables, and ArviZ's default for intervals."""

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
    interval,
    number,
    probability,
    shorten,
    signed,
)
from bayesnb.inference.decision import Decision
from bayesnb.results.tables import (
    Formats,
    Result,
    TitledFrame,
    add_title,
    along,
    coordinate,
    describe_intervals,
)
from bayesnb.selection.probability_scores import Calibration, Estimate, Reliability

MAX_FAMILY_LETTERS = 30
LARGE_EVIDENCE = 100.0  # nats; more may be due to a family that does not fit
ABOUT_SHAPES = (
    "A family of the wrong shape, such as a Gaussian for prices, makes large factors too."
)
VISIBLE = 0.001  # distance of a mean from its interval that is noted
EXPONENTS_KEPT = "The exponents (temper) of the other columns are kept; a refit would change them."
BINS = ("predicted", "observed", "lower", "upper", "band_lower", "band_upper", "count")
SHOWN_BINS = ("predicted", "observed", "lower", "upper", "count")
NO_CHOICE = "All families are declared or determined by the values of the columns."
SCORES_OF_FAMILIES = (
    "Families, chosen by the leave-one-out score of the label (elpd in nats, larger is better)"
)


def ci_prob(value: float | None) -> float:
    """Return the probability of an interval: the given one, or ArviZ's default."""
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
    kind: type[Result] = Result,
) -> Result:
    """Label arrays by row, `(r,)`, and arrays by row and class, `(r, c)`."""
    coords = {"obs_id": coordinate(index), "class": coordinate(classes)}
    variables = along("obs_id", by_row) | along(("obs_id", "class"), by_class)
    return kind(variables, coords, dict(attrs))


def frame(columns: Mapping[str, Sequence[Any] | Array]) -> pd.DataFrame:
    """Return columns of equal length as a pandas frame with numbered rows."""
    return pd.DataFrame(columns).rename_axis("row")


# Predictions


class PredictionIntervals(Result):
    """Class probabilities of rows with intervals; `to_frame` has a row for each row and class."""

    __slots__ = ()
    _axes = ("obs_id", "class")
    _columns = ("probability", "median", "lower", "upper")
    _formats: ClassVar[Formats] = {"": probability}


def prediction_intervals(
    index: Array, classes: Array, by_class: Mapping[str, Array], attrs: Mapping[str, Any]
) -> Result:
    """Label probabilities and the ends of their intervals, `(r, c)`."""
    title = f"Class probabilities with {describe_intervals(attrs['ci_prob'])}, rows {attrs['rows']}"
    mean = by_class["probability"]
    distance = np.maximum(by_class["lower"] - mean, mean - by_class["upper"])
    rows = np.count_nonzero((distance > VISIBLE).any(axis=1))
    about = {"title": title, **attrs}
    if rows:
        about["note"] = (
            f"A probability is a mean. In {rows:,} of {len(mean):,} rows it is outside its "
            "interval, as the distribution is skewed; the median is always inside."
        )
    return dataset(index, classes, {}, by_class, about, PredictionIntervals)


class LabelUncertainty(Result):
    """Entropy of each row's label in its two parts; `to_frame` has a row for each row.

    Its columns include the class probabilities, `probability_<label>`.
    """

    __slots__ = ()
    _axes = ("obs_id",)
    _columns = ("entropy", "aleatoric", "epistemic", "log_density", "probability")
    _optional = ("log_density",)
    _formats: ClassVar[Formats] = {"": probability}
    _short = (r"^probability_(.*)", r"p(\1)")


def label_uncertainty(
    index: Array,
    classes: Array,
    by_row: Mapping[str, Array],
    by_class: Mapping[str, Array],
    rows: str,
) -> Result:
    """Label entropies, `(r,)`, and probabilities, `(r, c)`."""
    title = f"Uncertainty of the labels, entropies in nats, rows {rows}"
    attrs = {"title": title, "rows": rows}
    return dataset(index, classes, by_row, by_class, attrs, LabelUncertainty)


def held_out_proba(proba: Array, index: Array, classes: Array, selection: str) -> xr.DataArray:
    """Label held-out probabilities, `(r, c)`."""
    coords = {"obs_id": coordinate(index), "class": coordinate(classes)}
    return xr.DataArray(proba, coords, name="p", attrs={"selection": selection})


class LabelSets(Result):
    """Sets of labels; `to_frame` has a row for each row, and a column for each p-value."""

    __slots__ = ()
    _axes = ("obs_id",)
    _columns = ("set", "p_value")
    _formats: ClassVar[Formats] = {"": partial(fixed, decimals=3)}


def prediction_sets(
    index: Array, classes: Array, p_values: Array, members: Array, attrs: Mapping[str, Any]
) -> Result:
    """Label p-values and membership of labels in the sets, `(r, c)`."""
    names = np.array(list(map(str, classes.tolist())), object)
    texts = np.array(["|".join(names[each]) for each in members], str)
    title = f"Sets that contain the label of {100 * attrs['coverage']:.3g} % of the rows"
    by_class = {"p_value": p_values, "member": members}
    return dataset(index, classes, {"set": texts}, by_class, {"title": title, **attrs}, LabelSets)


class PointsTable(Result):
    """What each cell adds to a score, in points; `to_frame` has a row for each cell."""

    __slots__ = ()
    _axes = ("row",)
    _columns = ("feature", "cell", "points", "sd")
    _formats: ClassVar[Formats] = {"": partial(fixed, decimals=1)}


def points(rows: Sequence[Mapping[str, Any]], classes: Array, base: Array, factor: float) -> Result:
    """Label the points of cells, `(c,)` for each, and the meaning of their sum."""
    variables: dict[str, Any] = {
        name: ("row", np.array([str(row[name]) for row in rows], str))
        for name in ("feature", "cell")
    }
    one_class = len(classes) == 1
    for name in ("points", "exact", "sd"):
        values = np.array([row[name] for row in rows])
        values = values.astype(np.int64) if name == "points" else values
        variables[name] = ("row", values[:, 0]) if one_class else (("row", "class"), values)
    doubling = factor * np.log(2.0)
    variables |= {"base": ("class", base), "factor": factor, "doubling": doubling}
    names = ", ".join(map(str, classes.tolist()))
    odds = f"the odds of {names}" if one_class else "the odds of a class against another"
    at_zero = ", ".join(fixed(value, 2) for value in base.tolist())
    rounding = len({str(row["feature"]) for row in rows}) / 2
    title = (
        f"Points: +{doubling:.3g} doubles {odds}; at 0 points the log-odds are {at_zero}; "
        f"rounding changes a sum by at most {rounding:g}"
    )
    coords = {"row": np.arange(len(rows)), "class": coordinate(classes)}
    return PointsTable(variables, coords, {"title": title})


class Decisions(Result):
    """The action chosen for each row; `to_frame` has a row for each row.

    Its columns include the expected losses of all actions, `loss_<action>`.
    """

    __slots__ = ()
    _axes = ("obs_id",)
    _columns = ("action", "expected_loss", "abstained", "loss")
    _formats: ClassVar[Formats] = {"": partial(fixed, decimals=3)}


def decisions(rows: Array, actions: Sequence[Any], made: Decision, abstain: float | None) -> Result:
    """Label the action of each row, None if undecided, and the expected losses of all actions."""
    names = pd.Index(actions, tupleize_cols=False).to_numpy()
    chosen = names[made.action]
    attrs: dict[str, Any] = {"title": "Decisions with the least expected loss"}
    if abstain is not None:
        chosen = np.where(made.abstained, None, chosen.astype(object))
        attrs["abstain"] = abstain
        attrs["note"] = f"Leaving a row undecided costs {abstain:g}."
    variables = {
        "action": ("obs_id", chosen),
        "expected_loss": ("obs_id", made.expected_loss),
        "abstained": ("obs_id", made.abstained),
        "loss": (("obs_id", "choice"), made.loss),
    }
    return Decisions(variables, {"obs_id": coordinate(rows), "choice": names}, attrs)


# The model


class FamilyChoices(Result):
    """How families were chosen: leave-one-out scores of the label given each column alone.

    `to_frame` has a row for each column, and a column `elpd_<candidate>` for each candidate.
    """

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("chosen", "chosen_over", "elpd")

    def _shown(self) -> pd.DataFrame:
        """Return the chosen families with their scores, and the other candidates."""
        elpd = self["elpd"].sel(candidate=self["chosen"])
        table = self[["chosen", "chosen_over"]].assign(elpd=elpd).to_dataframe()
        return table[["chosen", "elpd", "chosen_over"]]


def choices(made: Sequence[Choice]) -> Result:
    """Label the scores of candidate families by feature, and the chosen family."""
    scores = []
    chosen = []
    chosen_over = []
    for choice in made:
        elpd = pd.Series(choice.elpd, choice.candidates)
        name = choice.candidates[choice.chosen]
        gaps = (elpd - elpd[name]).drop(name).dropna().sort_values(ascending=False)
        texts = []
        for other, gap in gaps.items():
            texts.append(f"{shorten(other, MAX_FAMILY_LETTERS)} ({signed(gap, 1)})")
        scores.append(elpd)
        chosen.append(name)
        chosen_over.append(", ".join(texts))
    table = pd.DataFrame(scores)
    title = SCORES_OF_FAMILIES if made else NO_CHOICE
    features = coordinate(choice.key for choice in made)
    coords = {"feature": features, "candidate": coordinate(table.columns)}
    variables = {
        "elpd": (("feature", "candidate"), table),
        "chosen": ("feature", coordinate(chosen)),
        "chosen_over": ("feature", coordinate(chosen_over)),
    }
    return FamilyChoices(variables, coords, {"title": title})


def rejected(made: Sequence[Choice]) -> dict[Hashable, str]:
    """Return, as text for each feature, the candidates that its family was chosen over."""
    keys = [choice.key for choice in made]
    return dict(zip(keys, choices(made)["chosen_over"].values.tolist(), strict=True))


class ColumnLinks(Result):
    """Links between columns; `to_frame` has a row for each link, the strongest first."""

    __slots__ = ()
    _axes = ("link",)
    _columns = ("first", "second", "log_bayes_factor", "temper", "temper_sd", "in_forest")

    def _shown(self) -> pd.DataFrame:
        return self._frame().set_index(["first", "second"])


def links(block: Any, temper: Array, temper_sd: Array) -> Result:
    """Label links between columns; `block` is None if there are none."""
    ends = []
    evidence = []
    in_forest = np.zeros(0, bool)
    if block is not None:
        ends = block.keys
        evidence = block.evidence
        in_forest = np.asarray(block.in_forest, bool)
    variables = {
        "first": coordinate(name for name, _ in ends),
        "second": coordinate(name for _, name in ends),
        "log_bayes_factor": evidence,
        "temper": temper,
        "temper_sd": temper_sd,
        "in_forest": in_forest,
    }
    title = "No links between columns"
    if ends:
        title = (
            f"{count(len(ends), 'link')} between columns, {in_forest.sum():,} in the forest "
            "(log Bayes factor in nats)"
        )
    coords = {"link": np.arange(len(ends))}
    return ColumnLinks(along("link", variables), coords, {"title": title})


class MissingEvidence(Result):
    """Columns whose missing cells are evidence; `to_frame` has a row for each of them."""

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("gain", "temper", "temper_sd")


def missing_cells(
    names: Sequence[Hashable], gain: Array | None, temper: Array, temper_sd: Array
) -> Result:
    """Label the gains by flags of missing cells, and their exponents, each `(f,)`."""
    variables = along("feature", {"gain": gain, "temper": temper, "temper_sd": temper_sd})
    title = "Columns whose missing cells are evidence (gain in nats, from missingness alone)"
    return MissingEvidence(variables, {"feature": coordinate(names)}, {"title": title})


class ColumnsTogether(Result):
    """Columns as one Gaussian; `to_frame` has a row for each of them."""

    __slots__ = ()
    _axes = ("feature",)
    _columns = ("bent",)


def covariance(family: Any, names: Sequence[Hashable], temper: float, temper_sd: float) -> Result:
    """Label the columns that are one Gaussian, and the attributes of the Gaussian."""
    bent = np.zeros(len(names), bool)  # levels have no tail
    bent[: len(family.places)] = family.scale.bent[: len(family.places)]
    variables: dict[str, Any] = along("feature", {"bent": bent})
    variables |= {"products": family.has_products, "dof": family.dof, "gain": family.gain}
    variables |= {"temper": temper, "temper_sd": temper_sd}
    products = " with products of levels" if family.has_products else ""
    title = (
        f"{count(len(names), 'column')} as one Gaussian{products}: exponent {temper:.2g} ± "
        f"{temper_sd:.2g}, gain {family.gain:.3g} nats"
    )
    return ColumnsTogether(variables, {"feature": coordinate(names)}, {"title": title})


# Features


class Relevance(Result):
    """Evidence that each feature depends on the class; `to_frame` has a row for each feature.

    The printed table is sorted by log Bayes factor, the largest first.
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
) -> Result:
    """Label values by feature, `(f,)`; values of blocks of words go into `attrs`."""
    attrs: dict[str, Any] = {
        "title": "Evidence that each feature depends on the class (log Bayes factor in nats)",
        "prior": prior,
    }
    notes = [f"Prior probability of a dependence: {prior:g}."]
    if blocks:
        attrs["block"] = list(blocks)
        attrs["block_log_bayes_factor"] = list(blocks.values())
    for name, value in blocks.items():
        notes.append(f"All words of {shorten(name, 60)} together: {fixed(value, 2)} nats.")
    if (values_of["log_bayes_factor"] > LARGE_EVIDENCE).any():
        notes.append("Hundreds of nats do not mean that a feature is important: see importance().")
        notes.append(ABOUT_SHAPES)
    attrs["note"] = "\n".join(notes)
    return Relevance(along("feature", values_of), {"feature": coordinate(names)}, attrs)


class Importance(Result):
    """Increase in held-out log loss without each feature; `to_frame` has a row for each feature.

    The printed table begins with the most important feature.
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
) -> Result:
    """Label importances with their intervals, `(3, f)`, and exponents, `(f,)`."""
    kind = describe_intervals(attrs["ci_prob"])
    note = f"Log loss of the whole model: {number(attrs['log_loss'])}."
    if attrs["exponents"] == "kept":
        note = f"{note}\n{EXPONENTS_KEPT}"
    title = f"Increase in held-out log loss without each feature (nats per row), with {kind}"
    about = {"title": title, "note": note, **attrs}
    values_of = dict(zip(Importance._columns, (*estimate, temper), strict=True))
    return Importance(along("feature", values_of), {"feature": coordinate(names)}, about)


class Dependence(Result):
    """Evidence that columns depend on each other within the classes.

    `to_frame` has a row for each pair, (feature, feature_2), in the table's order, and a column for
    each class, `log_bayes_factor_<label>`. The printed table begins with the strongest pair.
    """

    __slots__ = ()
    _axes = ("feature", "feature_2")
    _columns = ("log_bayes_factor", "log_bayes_factor_by_class")
    _sorted_by = "log_bayes_factor"
    _short = ("^log_bayes_factor_", "")

    def _frame(self) -> pd.DataFrame:
        table = super()._frame()
        table.columns = table.columns.str.replace("_by_class_", "_")
        pairs = table.index.map(frozenset)
        return table[~pairs.duplicated() & (pairs.map(len) == 2)]


def dependent(names: Sequence[Hashable], classes: Array, log_bayes_factor: Array) -> Result:
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
    axes = Dependence._axes
    variables = {
        "log_bayes_factor": (axes, total),
        "log_bayes_factor_by_class": (("class", *axes), log_bayes_factor),
    }
    coords = {"class": coordinate(classes), **dict.fromkeys(axes, coordinate(names))}
    return Dependence(variables, coords, attrs)


def tuning(columns: Mapping[str, Any]) -> TitledFrame:
    """Return the scores of the labels before and after tuning the priors, with a title."""
    table = pd.DataFrame(columns, ["before", "after"])
    return add_title(table, "Leave-one-out log score of the labels, before and after tuning")


# Calibration


class CalibrationResult(Result):
    """Predicted probabilities and observed shares; `to_frame` has a row for each class and bin.

    The printed table is that of the predicted label.
    """

    __slots__ = ()
    _axes = ("class", "bin")
    _columns = BINS
    _formats: ClassVar[Formats] = {"": probability, "count": "{:,.6g}".format}

    def _shown(self) -> pd.DataFrame:
        top = {name: self[f"top_{name}"] for name in SHOWN_BINS}
        table = xr.Dataset(top, {"bin": self["bin"]}).to_dataframe()
        return table[table["count"] > 0]


def calibration(
    result: Calibration,
    index: Array,
    classes: Array,
    codes: Array,
    weight: Array,
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Label bins by class, curves by row, and scores.

    Names of bins and curves of the predicted label begin with `top_`, and names of scores of each
    class with `class_`.
    """
    of_classes = [_tabulate(label, attrs["bins"]) for label in result.classes]
    of_top = _tabulate(result.top, attrs["bins"])
    table = xr.concat(of_classes, "class")
    scores = [name for name, values in of_top.items() if not values.dims]
    table = table.rename({name: f"class_{name}" for name in scores})
    for name, values in of_top.items():
        table[name if name in scores else f"top_{name}"] = values
    for name in ("miscalibration", "discrimination", "uncertainty"):
        terms = [getattr(label.corp, name) for label in result.classes]
        table[name] = float(np.sum(terms))
        table[f"class_{name}"] = "class", terms
    for name, estimate in result.scores._asdict().items():
        table = table.assign(_list_ends(name, estimate))
    table["label"] = "obs_id", coordinate(classes)[codes]
    table["weight"] = "obs_id", weight
    table = table.assign_coords({"obs_id": coordinate(index), "class": coordinate(classes)})
    about = {
        "title": _describe_calibration(result),
        "note": "Bins of the most probable label of each row, with "
        f"{describe_intervals(attrs['ci_prob'])}; .to_frame() has the bins of each class.",
    }
    table = table.transpose("obs_id", "class", "bin")
    return CalibrationResult(table.data_vars, attrs=about | dict(attrs))


def _tabulate(label: Reliability, size: int) -> xr.Dataset:
    """Return bins, curve and calibration error of one label.

    The last bins are empty if rows of equal probability leave fewer bins.
    """
    bins = pd.DataFrame(vars(label.bins)).reindex(range(size)).fillna({"count": 0.0})
    curve = pd.DataFrame(vars(label.curve)).rename(columns="curve_{}".format)
    table = bins.rename_axis("bin").to_xarray().merge(curve.rename_axis("obs_id").to_xarray())
    table = table.rename(curve_probability="probability", curve_calibrated="calibrated")
    return table.assign(**_list_ends("ece", label.ece), ece_if_calibrated=label.noise)


def _list_ends(name: str, estimate: Estimate) -> dict[str, float]:
    """Return a number and the ends of its interval, by name."""
    value, lower, upper = estimate
    return {name: value, f"{name}_lower": lower, f"{name}_upper": upper}


def _describe_calibration(result: Calibration) -> str:
    scores = result.scores
    return (
        "Calibration, each row predicted by a model fitted without it\n"
        f"Accuracy {interval(*scores.accuracy, 3)}; log loss {interval(*scores.log_loss, 3)}; "
        f"Brier score {interval(*scores.brier, 3)}\n"
        f"Expected calibration error {interval(*result.top.ece, 3)}; a calibrated model would show "
        f"about {fixed(result.top.noise, 3)}"
    )
