"""Calibration as a labelled Dataset: names of classes and rows, and what each number means."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.formatting import fixed, interval, probability
from bayesnb.results.parameter_names import coordinate
from bayesnb.results.tables import Formats, Result, describe_intervals
from bayesnb.selection.probability_scores import Calibration

BINS = ("predicted", "observed", "lower", "upper", "band_lower", "band_upper", "count")
SHOWN_BINS = ("predicted", "observed", "lower", "upper", "count")
LONG_NAMES = {
    "predicted": "mean predicted probability",
    "observed": "share of the rows that have the label",
    "lower": "lower end of the interval of the share",
    "upper": "upper end of the interval of the share",
    "band_lower": "lower end of the share, if the predictions were calibrated",
    "band_upper": "upper end of the share, if the predictions were calibrated",
    "count": "rows, by weight",
    "probability": "predicted probability, the row left out",
    "calibrated": "isotonic share of the rows of this probability that have the label",
    "curve_band_lower": "lower end of `calibrated`, if the predictions were calibrated",
    "curve_band_upper": "upper end of `calibrated`, if the predictions were calibrated",
    "ece": "mean distance of predicted from observed, over the bins",
    "ece_if_calibrated": "what noise alone would make of `ece`, if predictions were calibrated",
    "brier": "mean squared distance from the label's ones and zeros",
    "log_loss": "mean of -log p(label), in nats",
    "accuracy": "share of the rows whose most probable label is the observed one",
    "miscalibration": "what isotonic recalibration would take from the Brier score",
    "discrimination": "what telling rows apart takes from the Brier score",
    "uncertainty": "the Brier score of the labels' shares",
}


class CalibrationResult(Result):
    """Predicted probabilities beside observed shares; `to_frame` has a row for each class and bin.

    The table that is shown is of the predicted label.
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

    Names of bins and curves of the predicted label begin with `top_`.
    """
    variables: dict[str, Any] = {}
    for name, (dims, values) in _list_variables(result, attrs["bins"]).items():
        of_classes, of_top = name, f"top_{name}"
        if not dims:  # a score: that of the predicted label is the main one
            of_classes, of_top = f"class_{name}", name
        variables[of_classes] = ("class", *dims), values[:-1]
        variables[of_top] = dims, values[-1]
    for name, estimate in result.scores._asdict().items():
        ends = zip(("", "_lower", "_upper"), estimate, strict=True)
        for end, value in ends:
            variables[f"{name}{end}"] = (), value
    for name in ("miscalibration", "discrimination", "uncertainty"):
        terms = [getattr(label.corp, name) for label in result.classes]
        variables[name] = (), float(np.sum(terms))
        variables[f"class_{name}"] = "class", terms
    variables["label"] = "obs_id", coordinate(classes)[codes]
    variables["weight"] = "obs_id", weight
    coords = {
        "obs_id": coordinate(index),
        "class": coordinate(classes),
        "bin": np.arange(attrs["bins"]),
    }
    about = {
        "title": _describe(result),
        "note": "Bins of the most probable label of each row, with "
        f"{describe_intervals(attrs['ci_prob'])}; .to_frame() has the bins of each class.",
    }
    table = CalibrationResult(variables, coords, about | dict(attrs))
    for name in variables:
        words = LONG_NAMES.get(name.removeprefix("top_").removeprefix("class_"))
        if words:
            table[name].attrs["long_name"] = words
    return table.transpose("obs_id", "class", "bin")


def _list_variables(result: Calibration, size: int) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Return bins, curves and calibration errors of each class and, last, of the predicted label.

    The last bins are empty where rows of equal probability leave fewer.
    """
    labels = [*result.classes, result.top]
    variables: dict[str, tuple[tuple[str, ...], Array]] = {}
    for name in BINS:
        values = np.full((len(labels), size), 0.0 if name == "count" else np.nan)
        for row, label in zip(values, labels, strict=True):
            filled = getattr(label.bins, name)
            row[: len(filled)] = filled
        variables[name] = ("bin",), values
    for name in ("probability", "calibrated", "band_lower", "band_upper"):
        key = f"curve_{name}" if name.startswith("band") else name
        curves = np.array([getattr(label.curve, name) for label in labels])
        variables[key] = ("obs_id",), curves
    scores = np.array([(*label.ece, label.noise) for label in labels])
    names = ("ece", "ece_lower", "ece_upper", "ece_if_calibrated")
    return variables | {name: ((), scores[:, at]) for at, name in enumerate(names)}


def _describe(result: Calibration) -> str:
    scores = result.scores
    return (
        "Calibration, each row predicted by a model that has not learnt it\n"
        f"Accuracy {interval(*scores.accuracy, 3)}; log loss {interval(*scores.log_loss, 3)}; "
        f"Brier score {interval(*scores.brier, 3)}\n"
        f"Expected calibration error {interval(*result.top.ece, 3)}; a calibrated model would show "
        f"about {fixed(result.top.noise, 3)}"
    )
