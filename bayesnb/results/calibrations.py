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
from bayesnb.selection.probability_scores import Calibration, Estimate, Reliability

BINS = ("predicted", "observed", "lower", "upper", "band_lower", "band_upper", "count")
SHOWN_BINS = ("predicted", "observed", "lower", "upper", "count")


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

    Names of bins and curves of the predicted label begin with `top_`; of scores, which are its own,
    those of each class begin with `class_`.
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
    coords = {"obs_id": coordinate(index), "class": coordinate(classes), "bin": table["bin"]}
    about = {
        "title": _describe(result),
        "note": "Bins of the most probable label of each row, with "
        f"{describe_intervals(attrs['ci_prob'])}; .to_frame() has the bins of each class.",
    }
    labelled = CalibrationResult(table.data_vars, coords, about | dict(attrs))
    return labelled.transpose("obs_id", "class", "bin")


def _tabulate(label: Reliability, size: int) -> xr.Dataset:
    """Return bins, curve and calibration error of one label.

    The last bins are empty where rows of equal probability leave fewer.
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


def _describe(result: Calibration) -> str:
    scores = result.scores
    return (
        "Calibration, each row predicted by a model that has not learnt it\n"
        f"Accuracy {interval(*scores.accuracy, 3)}; log loss {interval(*scores.log_loss, 3)}; "
        f"Brier score {interval(*scores.brier, 3)}\n"
        f"Expected calibration error {interval(*result.top.ece, 3)}; a calibrated model would show "
        f"about {fixed(result.top.noise, 3)}"
    )
