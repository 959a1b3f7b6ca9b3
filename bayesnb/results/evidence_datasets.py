"""What the evidence says of the columns, as labelled Datasets."""

from collections.abc import Hashable, Sequence

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.results.parameter_names import coordinate

MOST_SAID = 5  # pairs


def relevant(names: Sequence[Hashable], found: dict[str, Array], prior: float, blocks: dict[str, float]) -> xr.Dataset:
    """Numbers of every feature, `(f,)`; those of whole blocks of words go into `attrs`."""
    table = xr.Dataset({name: ("feature", values) for name, values in found.items()}, {"feature": coordinate(names)})
    table["log_bayes_factor"].attrs = {"long_name": "log Bayes factor, depends on the class", "units": "nats"}
    table["inclusion"].attrs = {"long_name": "probability that the feature depends on the class"}
    said = {"block": list(blocks), "block_log_bayes_factor": list(blocks.values())} if blocks else {}
    return table.assign_attrs({"prior": prior, **said})


def dependent(names: Sequence[Hashable], classes: Array, found: Array) -> xr.Dataset:
    """log Bayes factors of pairs within each class, `(c, n, n)`, and their sums over classes."""
    labels, total = coordinate(names), found.sum(axis=0)
    pairs = ("feature", "feature_2")
    variables = {"log_bayes_factor": (pairs, total), "log_bayes_factor_by_class": (("class", *pairs), found)}
    coords = {"class": coordinate(classes), "feature": labels, "feature_2": labels}
    table = xr.Dataset(variables, coords, {"strongest": _strongest(labels, total)})
    for name in variables:
        table[name].attrs = {
            "long_name": "log Bayes factor, the two depend on each other given the class",
            "units": "nats",
        }
    return table


def _strongest(labels: Array, total: Array) -> str:
    """The pairs with the most evidence for dependence, in words."""
    top = [_best_of(i, total[i, i + 1 :]) for i in range(len(total) - 1)]
    best = sorted((pair for row in top for pair in row), key=lambda pair: -pair[2])[:MOST_SAID]
    if np.isnan(total).all():  # as the diagonal is
        return "No pair of columns can be compared."
    if not best:
        return "No pair of columns has evidence for dependence within the classes."
    return "; ".join(f"{labels[i]} and {labels[j]}: {value:+.1f} nats" for i, j, value in best)


def _best_of(i: int, worth: Array) -> list[tuple[int, int, float]]:
    """The pairs of a column with those behind it that have the most evidence for dependence, some at most."""
    order = np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable")[:MOST_SAID]
    return [(i, i + 1 + int(at), float(worth[at])) for at in order if worth[at] > 0]
