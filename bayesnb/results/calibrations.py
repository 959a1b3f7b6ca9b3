"""Calibration with labels: the names of classes and rows, and what every number means."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.results.parameter_names import row_names
from bayesnb.selection.calibration_curves import Calibration, Reliability

Variables = dict[str, tuple[Any, Any]]

WORDS = {
    "predicted": "mean predicted probability",
    "observed": "share of the rows that have the label",
    "lower": "lower end of the interval of the share",
    "upper": "upper end of the interval of the share",
    "band_lower": "lower end of where the share would be, were every prediction true",
    "band_upper": "upper end of where the share would be, were every prediction true",
    "count": "rows, by weight",
    "probability": "predicted probability, the row left out",
    "calibrated": "isotonic share of the rows of this probability that have the label",
    "curve_band_lower": "lower end of where `calibrated` would be, were every prediction true",
    "curve_band_upper": "upper end of where `calibrated` would be, were every prediction true",
    "ece": "mean distance of predicted from observed, over the bins",
    "ece_if_calibrated": "what noise alone would make of `ece`, were every prediction true",
    "brier": "mean squared distance from the label's ones and zeros",
    "log_loss": "mean of -log p(label), in nats",
    "accuracy": "share of the rows whose most probable label is theirs",
    "miscalibration": "what isotonic recalibration would take from the Brier score",
    "discrimination": "what telling rows apart takes from the Brier score",
    "uncertainty": "the Brier score of the labels' shares",
}


def calibration(
    found: Calibration, index: Array, classes: Array, codes: Array, weight: Array, said: dict[str, Any]
) -> xr.Dataset:
    """Bins by class, curves by row, scores; those of the predicted label have names that begin with `top_`."""
    size = said["bins"]
    variables = _together(found.classes, size, ("class", "bin"), ("obs_id", "class"), "")
    variables |= _together([found.top], size, ("bin",), ("obs_id",), "top_")
    for name, estimate in found.scores._asdict().items():
        variables |= _scalar(name, estimate)
    terms = np.array([own.corp for own in found.classes])
    for name, own in zip(("miscalibration", "discrimination", "uncertainty"), terms.T, strict=True):
        variables |= {name: ((), float(own.sum())), f"class_{name}": ("class", own)}
    variables |= {"label": ("obs_id", classes[codes]), "weight": ("obs_id", weight)}
    coords = {"obs_id": row_names(index), "class": classes, "bin": np.arange(size)}
    table = xr.Dataset(variables, coords, said)
    for name in variables:
        words = WORDS.get(name.removeprefix("top_").removeprefix("class_"))
        if words is not None:
            table[name].attrs["long_name"] = words
    return table


def _together(
    found: Sequence[Reliability], size: int, bins: tuple[str, ...], rows: tuple[str, ...], prefix: str
) -> Variables:
    """The bins and curves of some labels; of one, without an axis for it."""
    one = len(bins) == 1
    variables: Variables = {}
    for name in vars(found[0].bins):
        own = np.stack([_padded(getattr(each.bins, name), size, 0.0 if name == "count" else np.nan) for each in found])
        variables[prefix + name] = (bins, own[0] if one else own)
    for name in vars(found[0].curve):
        own = np.stack([getattr(each.curve, name) for each in found], axis=1)
        variables[prefix + ("curve_" * name.startswith("band") + name)] = (rows, own[:, 0] if one else own)
    if one:
        return variables | _scalar("ece", found[0].ece) | {"ece_if_calibrated": ((), found[0].noise)}
    errors = {f"class_{name}": ("class", own) for name, own in _ends("ece", np.array([each.ece for each in found]).T)}
    return variables | errors | {"class_ece_if_calibrated": ("class", np.array([each.noise for each in found]))}


def _scalar(name: str, estimate: Sequence[float]) -> Variables:
    return {called: ((), value) for called, value in _ends(name, estimate)}


def _ends(name: str, values: Any) -> list[tuple[str, Any]]:
    return list(zip((name, f"{name}_lower", f"{name}_upper"), values, strict=True))


def _padded(values: Array, size: int, empty: float) -> Array:
    """Where rows of equal probability leave fewer bins, the last are empty."""
    return np.append(values, np.full(size - len(values), empty))
