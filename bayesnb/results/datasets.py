"""Arrays as labelled Datasets, and ArviZ's defaults for intervals."""

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families import Choice
from bayesnb.families.base import Array
from bayesnb.inference.decision import Decision
from bayesnb.results.parameter_names import coordinate, row_names


def ci_prob(value: float | None) -> float:
    """Return the probability of an interval: the value given, or that of ArviZ's current settings."""
    prob = _usual_prob() if value is None else value
    if not isinstance(prob, Real) or not 0 < float(prob) < 1:
        raise ValueError(f"ci_prob must be a number between 0 and 1, got {prob!r}.")
    return float(prob)


def _usual_prob() -> Any:
    from arviz_base import rcParams  # a second of imports, which a page with intervals does not need

    return rcParams["stats.ci_prob"]


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


def choices(made: Sequence[Choice]) -> xr.Dataset:
    """Label the label's score by each feature under each candidate for its family, and which was chosen."""
    candidates = list(dict.fromkeys(name for choice in made for name in choice.candidates))
    elpd = np.full((len(made), len(candidates)), np.nan)
    for scores, choice in zip(elpd, made, strict=True):
        scores[[candidates.index(name) for name in choice.candidates]] = choice.elpd
    chosen = np.array([choice.candidates[choice.chosen] for choice in made], dtype=str)
    coords = {"feature": coordinate([choice.key for choice in made]), "candidate": np.array(candidates, dtype=str)}
    return xr.Dataset({"elpd": (("feature", "candidate"), elpd), "chosen": ("feature", chosen)}, coords)


def frame(columns: dict[str, Sequence[Any] | Array]) -> Any:
    """Return columns of equal length as a pandas frame with numbered rows."""
    return xr.Dataset({name: ("row", np.asarray(values)) for name, values in columns.items()}).to_dataframe()


MOST_PAIRS = 5  # pairs


def relevant(
    names: Sequence[Hashable], values_of: dict[str, Array], prior: float, blocks: dict[str, float]
) -> xr.Dataset:
    """Label numbers of every feature, `(f,)`; those of blocks of words go into `attrs`."""
    table = xr.Dataset(
        {name: ("feature", values) for name, values in values_of.items()}, {"feature": coordinate(names)}
    )
    table["log_bayes_factor"].attrs = {"long_name": "log Bayes factor, depends on the class", "units": "nats"}
    table["inclusion"].attrs = {"long_name": "probability that the feature depends on the class"}
    attrs = {"block": list(blocks), "block_log_bayes_factor": list(blocks.values())} if blocks else {}
    return table.assign_attrs({"prior": prior, **attrs})


def dependent(names: Sequence[Hashable], classes: Array, log_bayes_factor: Array) -> xr.Dataset:
    """Label log Bayes factors of pairs within each class, `(c, n, n)`, and their sums over classes."""
    labels, total = coordinate(names), log_bayes_factor.sum(axis=0)
    pairs = ("feature", "feature_2")
    variables = {"log_bayes_factor": (pairs, total), "log_bayes_factor_by_class": (("class", *pairs), log_bayes_factor)}
    coords = {"class": coordinate(classes), "feature": labels, "feature_2": labels}
    table = xr.Dataset(variables, coords, {"strongest": _strongest(labels, total)})
    for name in variables:
        table[name].attrs = {
            "long_name": "log Bayes factor, the two depend on each other given the class",
            "units": "nats",
        }
    return table


def _strongest(labels: Array, total: Array) -> str:
    """Return the pairs with the most evidence for dependence, in words."""
    top = [_best_of(i, total[i, i + 1 :]) for i in range(len(total) - 1)]
    best = sorted((pair for row in top for pair in row), key=lambda pair: -pair[2])[:MOST_PAIRS]
    if np.isnan(total).all():  # as the diagonal is
        return "No pair of columns can be compared."
    if not best:
        return "No pair of columns has evidence for dependence within the classes."
    return "; ".join(f"{labels[i]} and {labels[j]}: {value:+.1f} nats" for i, j, value in best)


def _best_of(i: int, worth: Array) -> list[tuple[int, int, float]]:
    """Return the pairs of a column with later ones that have the most evidence for dependence."""
    order = np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable")[:MOST_PAIRS]
    return [(i, i + 1 + int(at), float(worth[at])) for at in order if worth[at] > 0]


def links(block: Any, temper: Any, temper_sd: Any) -> xr.Dataset:
    """Label links between columns; `block` is None where none were found."""
    ends = [] if block is None else block.keys
    count = len(ends)

    def of_links(values: Any) -> Any:
        return np.full(count, values) if isinstance(values, float) else np.asarray(values)[len(values) - count :]

    names = [[name for name, _ in ends], [name for _, name in ends]]
    arrays = {
        "first": coordinate(names[0]),
        "second": coordinate(names[1]),
        "log_bayes_factor": np.empty(0) if block is None else block.evidence,
        "temper": of_links(temper),
        "temper_sd": of_links(temper_sd),
        "in_forest": np.empty(0, bool) if block is None else block.in_forest.astype(bool),
    }
    table = xr.Dataset({name: ("link", array) for name, array in arrays.items()}, {"link": np.arange(count)})
    table["log_bayes_factor"].attrs = {
        "long_name": "log Bayes factor against independence given the class",
        "units": "nats",
    }
    table["temper"].attrs = {"long_name": "exponent on the evidence of the link"}
    return table
