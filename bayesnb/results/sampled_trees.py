"""Draws of chains with labels: trees in ArviZ's groups, and diagnostics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import Theta
from bayesnb.model.schema import Block
from bayesnb.results.drawn_trees import (
    LIBRARY_ATTRS,
    DrawPlan,
    add_time,
    count_bytes,
    label_axes,
    parameters,
    store,
)
from bayesnb.results.explanations import explanation_dataset, list_features
from bayesnb.results.parameter_names import Layout, Variables, coordinate
from bayesnb.results.tables import Result

MAX_BYTES = 512 << 20
MAX_ENTRIES = 200  # of a variable that are diagnosed
MCMC_ATTRS = {**LIBRARY_ATTRS, "sampling": "MCMC"}


# Naive Bayes


@dataclass(frozen=True, eq=False)
class ThetaDraws:
    """Draws of theta, chain after chain, and the names of its variables."""

    plan: DrawPlan
    layout: Layout
    of: Callable[[Array], Iterator[tuple[slice, Theta]]]  # indices of draws -> theta, by parts
    certain: bool  # whether the class prior is fixed, so that it has no draws

    def variables(self, draws: Array) -> Variables:
        """Return theta of some draws by variable, `(s, ...)`."""
        variables: Variables = {}
        for place, theta in self.of(draws):
            drawn = parameters(theta, self.layout, self.certain)
            store(variables, len(draws), place, drawn)
        return variables


def tree(
    traces: Any,
    thetas: ThetaDraws,
    temper: Mapping[str, Any],
    index: Array | None = None,
    codes: Array | None = None,
) -> xr.DataTree:
    """Return hyperparameters and sampler statistics as they came, theta, and labels if given."""
    plan = thetas.plan
    first = thetas.variables(np.zeros(1, np.intp))
    attrs = {**describe_sampler(traces), **temper}
    size = plan.size * count_bytes(first)
    if size > MAX_BYTES:
        attrs["omitted"] = (
            f"theta: its {plan.size} draws would take {size / 2**30:.1f} GiB, more than "
            f"{MAX_BYTES / 2**30:g}"
        )
    variables = {} if size > MAX_BYTES else thetas.variables(np.arange(plan.size))
    drawn = plan.label(variables, thetas.layout.coords)
    sampled = traces["posterior"].to_dataset()
    posterior = _merge(sampled, drawn, list(first))
    groups = {
        "/": xr.Dataset(attrs=attrs),
        "posterior": posterior.assign_attrs(MCMC_ATTRS),
    }
    if "sample_stats" in traces.children:
        groups["sample_stats"] = traces["sample_stats"].to_dataset()
    if codes is not None and index is not None:
        coords = {**thetas.layout.coords, "obs_id": coordinate(index)}
        labels: Variables = {"y": (("obs_id",), codes)}
        groups["observed_data"] = label_axes(labels, coords)
    return xr.DataTree.from_dict(groups)


def _merge(sampled: xr.Dataset, drawn: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Merge the sampler's variables with our draws of theta, which replace the sampler's."""
    ours = []
    for name in map(str, sampled.data_vars):
        root, _, number = name.rpartition("_")  # a family's later blocks are numbered
        if name in names or (number.isdigit() and root in names):
            ours.append(name)
    others = sampled.drop_vars(ours)
    drawn = drawn.assign_coords(chain=sampled["chain"], draw=sampled["draw"])
    for dim in map(str, others.dims):
        if dim in drawn.coords and not others[dim].equals(drawn[dim]):
            others = others.rename({dim: f"sampled_{dim}"})
    return drawn.merge(others)


def describe_sampler(traces: Any) -> dict[str, Any]:
    """Return attributes of a tree that say what made it."""
    sampler = []
    for name in ("inference_library", "inference_library_version"):
        sampler.append(str(traces["posterior"].attrs.get(name, "")))
    return {**add_time(MCMC_ATTRS), "sampler": " ".join(sampler)}


# Logistic regression


def draws(tree: Any) -> tuple[Array, Array]:
    """Return the intercepts of all chains, `(s, c)`, and the coefficients, `(s, c, k)`."""
    posterior = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    intercept = posterior["intercept"].transpose("sample", "class")
    coefficient = posterior["coefficient"].transpose("sample", "class", "feature")
    return intercept.values, coefficient.values


def explained(
    index: Array,
    classes: Array,
    blocks: Sequence[Block],
    cells: Sequence[Cells],
    arrays: Mapping[str, Array],
) -> Result:
    """Label the explanation of a regression, whose features are in the order of the table.

    All words of a list are one feature.
    """
    words = []
    for block in blocks:
        columns = None if block.family.listed else np.arange(len(block.names))
        words.append(columns)
    features = list_features(blocks, cells, words)
    return explanation_dataset(index, classes, features, arrays)


# Diagnostics


def diagnose(posterior: xr.Dataset) -> pd.DataFrame:
    """Return the largest r_hat and the fewest effective draws, in bulk or tails, by variable.

    Where they are undefined, because draws are very few or not finite, r_hat is infinite and no
    draw is effective. One chain has no r_hat.
    """
    entries = {}
    for name, array in posterior.data_vars.items():
        values = _select_entries(array.values)
        if values.size:
            entries[name] = ("chain", "draw", f"{name}_entry"), values
    selected = xr.Dataset(entries)
    with np.errstate(all="ignore"):
        r_hat = azs.rhat(selected).fillna(np.inf).max()
        bulk = azs.ess(selected, method="bulk")
        tail = azs.ess(selected, method="tail")
        ess = np.minimum(bulk, tail).fillna(0.0).min()
    table = pd.DataFrame({"r_hat": r_hat.to_pandas(), "ess": ess.to_pandas()})
    if posterior.sizes["chain"] == 1:
        table["r_hat"] = np.nan
    return table


def _select_entries(values: Array) -> Array:
    """Return at most MAX_ENTRIES entries, evenly spaced, without constant ones, on one axis."""
    values = values.reshape(*values.shape[:2], -1)
    step = -(-values.shape[-1] // MAX_ENTRIES)
    values = values[..., ::step]
    if values.shape[:2] == (1, 1):
        return values
    varies = (values != values[0, 0]).any(axis=(0, 1))
    return values[..., varies]
