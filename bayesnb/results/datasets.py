"""Arrays as labelled Datasets, and ArviZ's defaults for intervals."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from arviz_base import rcParams

from bayesnb.inference.decision import Decision
from bayesnb.results.parameter_names import row_names

Array = np.ndarray


def ci_prob(value: float | None) -> float:
    """Return the probability of an interval: the value given, or that of ArviZ's current settings."""
    prob = rcParams["stats.ci_prob"] if value is None else value
    if not isinstance(prob, Real) or not 0 < float(prob) < 1:
        raise ValueError(f"ci_prob must be a number between 0 and 1, got {prob!r}.")
    return float(prob)


def dataset(
    index: Array,
    classes: Array,
    by_row: dict[str, Array],
    by_class: dict[str, Array],
    attrs: dict[str, Any] | None = None,
) -> xr.Dataset:
    """Label numbers of every row, `(r,)`, and of every row and class, `(r, c)`; settings go into `attrs`."""
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables |= {name: (("obs_id", "class"), values) for name, values in by_class.items()}
    return xr.Dataset(variables, {"obs_id": row_names(index), "class": classes}, attrs)


def decisions(rows: Array, actions: Sequence[Any], made: Decision, abstain: float | None) -> xr.Dataset:
    """Label the action chosen for each row, None where none is, and the expected losses of all actions."""
    names = _names(actions)
    chosen = names[made.action]
    if abstain is not None:
        chosen = np.where(made.abstained, None, chosen.astype(object))
    by_row = {"action": chosen, "expected_loss": made.expected_loss, "abstained": made.abstained}
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables["loss"] = (("obs_id", "choice"), made.loss)
    attrs = {} if abstain is None else {"abstain": abstain}
    return xr.Dataset(variables, {"obs_id": row_names(rows), "choice": names}, attrs)


def _names(actions: Sequence[Any]) -> Array:
    """Return the actions as one axis of names, objects where their types differ or they are no scalars."""
    alike = len({*map(type, actions)}) == 1 and np.ndim(actions[0]) == 0
    return np.asarray(actions) if alike else np.fromiter(actions, object, len(actions))


def frame(columns: dict[str, Sequence[Any] | Array]) -> Any:
    """Return columns of equal length as a pandas frame with numbered rows."""
    return xr.Dataset({name: ("row", np.asarray(values)) for name, values in columns.items()}).to_dataframe()
