"""Evidence about columns as labelled Datasets: relevance to the class, and dependence of pairs."""

from collections.abc import Hashable, Sequence

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.results.parameter_names import coordinate

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
