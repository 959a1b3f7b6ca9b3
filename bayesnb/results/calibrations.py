"""Calibration as a labelled Dataset: names of classes and rows, and what each number means."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.results.parameter_names import row_names
from bayesnb.results.result_tables import ResultDataset, probability, sentence, small
from bayesnb.selection.probability_scores import Calibration, Reliability

Variables = dict[str, tuple[Any, Any]]

LONG_NAMES = {
    "predicted": "mean predicted probability",
    "observed": "share of the rows that have the label",
    "lower": "lower end of the interval of the share",
    "upper": "upper end of the interval of the share",
    "band_lower": "lower end of where the share would be, if the predictions were calibrated",
    "band_upper": "upper end of where the share would be, if the predictions were calibrated",
    "count": "rows, by weight",
    "probability": "predicted probability, the row left out",
    "calibrated": "isotonic share of the rows of this probability that have the label",
    "curve_band_lower": "lower end of where `calibrated` would be, if the predictions were calibrated",
    "curve_band_upper": "upper end of where `calibrated` would be, if the predictions were calibrated",
    "ece": "mean distance of predicted from observed, over the bins",
    "ece_if_calibrated": "what noise alone would make of `ece`, if the predictions were calibrated",
    "brier": "mean squared distance from the label's ones and zeros",
    "log_loss": "mean of -log p(label), in nats",
    "accuracy": "share of the rows whose most probable label is the observed one",
    "miscalibration": "what isotonic recalibration would take from the Brier score",
    "discrimination": "what telling rows apart takes from the Brier score",
    "uncertainty": "the Brier score of the labels' shares",
}


BINS = ("predicted", "observed", "lower", "upper", "band_lower", "band_upper", "count")
SHOWN_BINS = ("predicted", "observed", "lower", "upper", "count")


SCORES = {
    "accuracy": "Accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "ece": "Expected calibration error",
}


class CalibrationResult(ResultDataset):
    """Predicted probabilities beside observed shares; `to_frame` has a row for each class and bin.

    The table that is shown is of the predicted label, below the scores.
    """

    __slots__ = ()
    _form: ClassVar = {
        **dict.fromkeys(BINS, ("class", "bin")),
        **{f"top_{name}": ("bin",) for name in SHOWN_BINS},
        **{name + end: () for name in SCORES for end in ("", "_lower", "_upper")},
        "ece_if_calibrated": (),
    }
    _formats: ClassVar = {**dict.fromkeys(BINS, probability), "count": "{:,.6g}".format}

    def _title(self, whole: xr.Dataset) -> str:
        return "Calibration, each row predicted by a model that has not learnt it"

    def _lines(self, whole: xr.Dataset) -> list[str]:
        def shown(name: str) -> str:
            value, low, high = (small(float(whole[name + end])) for end in ("", "_lower", "_upper"))
            return f"{SCORES[name]} {value} ({low} to {high})"

        chance = f"{small(float(whole['ece_if_calibrated']))} by chance alone if calibrated"
        return [
            "; ".join(map(shown, ("accuracy", "log_loss", "brier"))),
            f"{shown('ece')}, {chance}",
        ]

    def _notes(self, whole: xr.Dataset) -> list[str]:
        shown = f"Bins of the most probable label of each row, with {sentence(whole.attrs.get('ci_prob'))}"
        return [f"{shown}; .to_frame() has the bins of each class."]

    def _frame(self, whole: xr.Dataset) -> Any:
        return whole[list(BINS)].reset_coords(drop=True).to_dataframe(dim_order=["class", "bin"])

    def _parts(self, whole: xr.Dataset) -> list[Any]:
        bins = whole[[f"top_{name}" for name in SHOWN_BINS]].reset_coords(drop=True).to_dataframe()
        bins.columns = list(SHOWN_BINS)
        return [bins[bins["count"] > 0]]


def calibration(
    result: Calibration,
    index: Array,
    classes: Array,
    codes: Array,
    weight: Array,
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Label bins by class, curves by row, and scores; names of the predicted label's variables begin with `top_`."""
    size = attrs["bins"]
    variables = _bins_and_curves(result.classes, size, ("class", "bin"), ("obs_id", "class"), "")
    variables |= _bins_and_curves([result.top], size, ("bin",), ("obs_id",), "top_")
    for name, estimate in result.scores._asdict().items():
        variables |= _scalar(name, estimate)
    terms = np.array([values.corp for values in result.classes])
    for name, values in zip(
        ("miscalibration", "discrimination", "uncertainty"), terms.T, strict=True
    ):
        variables |= {name: ((), float(values.sum())), f"class_{name}": ("class", values)}
    variables |= {"label": ("obs_id", classes[codes]), "weight": ("obs_id", weight)}
    coords = {"obs_id": row_names(index), "class": classes, "bin": np.arange(size)}
    table = CalibrationResult(variables, coords, attrs)
    for name in variables:
        words = LONG_NAMES.get(name.removeprefix("top_").removeprefix("class_"))
        if words is not None:
            table[name].attrs["long_name"] = words
    return table


def _bins_and_curves(
    reliabilities: Sequence[Reliability],
    size: int,
    bins: tuple[str, ...],
    rows: tuple[str, ...],
    prefix: str,
) -> Variables:
    """Return the bins and curves of labels; those of a single label have no axis for it."""
    single = len(bins) == 1
    variables: Variables = {}
    for name in vars(reliabilities[0].bins):
        values = np.stack(
            [
                _padded(getattr(item.bins, name), size, 0.0 if name == "count" else np.nan)
                for item in reliabilities
            ]
        )
        variables[prefix + name] = (bins, values[0] if single else values)
    for name in vars(reliabilities[0].curve):
        values = np.stack([getattr(item.curve, name) for item in reliabilities], axis=1)
        variables[prefix + ("curve_" * name.startswith("band") + name)] = (
            rows,
            values[:, 0] if single else values,
        )
    if single:
        return (
            variables
            | _scalar("ece", reliabilities[0].ece)
            | {"ece_if_calibrated": ((), reliabilities[0].noise)}
        )
    errors = {
        f"class_{name}": ("class", values)
        for name, values in _with_interval("ece", np.array([item.ece for item in reliabilities]).T)
    }
    return (
        variables
        | errors
        | {"class_ece_if_calibrated": ("class", np.array([item.noise for item in reliabilities]))}
    )


def _scalar(name: str, estimate: Sequence[float]) -> Variables:
    return {called: ((), value) for called, value in _with_interval(name, estimate)}


def _with_interval(name: str, values: Any) -> list[tuple[str, Any]]:
    return list(zip((name, f"{name}_lower", f"{name}_upper"), values, strict=True))


def _padded(values: Array, size: int, empty: float) -> Array:
    """Return one value for each bin; the last bins are empty where rows of equal probability leave fewer."""
    return np.append(values, np.full(size - len(values), empty))
