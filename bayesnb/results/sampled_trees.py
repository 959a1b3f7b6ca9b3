"""Draws of a sampler, and theta of every draw, as one tree in ArviZ's groups."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.inference.posterior_draws import Theta
from bayesnb.results.drawn_trees import LIBRARY_ATTRS, DrawPlan, labelled, parameters
from bayesnb.results.parameter_names import Layout, Variables, coordinate

MOST_BYTES = 512 << 20


@dataclass(frozen=True, eq=False)
class ThetaDraws:
    """Draws of theta, chain after chain, and the names of its variables."""

    plan: DrawPlan
    layout: Layout
    of: Callable[[Array], Iterator[tuple[slice, Theta]]]  # indices of draws -> theta of a part of them at a time
    certain: bool  # whether the class prior is fixed, so that it has no draws

    def in_parts(self, draws: Array) -> Iterator[tuple[slice, Variables]]:
        for rows, theta in self.of(draws):
            yield rows, parameters(theta, self.layout, self.certain)

    def refused(self) -> str | None:
        """Return why the draws are too large to be kept; None where they are not."""
        _, first = next(self.in_parts(np.zeros(1, np.intp)))
        size = float(self.plan.size * sum(array.nbytes for _, array in first.values()))
        if size <= MOST_BYTES:
            return None
        return f"theta: its {self.plan.size} draws would take {size / 2**30:.1f} GiB, more than {MOST_BYTES / 2**30:g}"

    def dataset(self) -> xr.Dataset:
        variables_of: Variables = {}
        for place, variables in self.in_parts(np.arange(self.plan.size)):
            for name, (dims, array) in variables.items():
                if name not in variables_of:
                    variables_of[name] = dims, np.empty((self.plan.size, *array.shape[1:]), array.dtype)
                variables_of[name][1][place] = array
        named = {name: self.plan.labelled(*labelled_array) for name, labelled_array in variables_of.items()}
        return labelled(named, self.plan.coords | self.layout.coords)

    def names(self) -> list[str]:
        return [*next(self.in_parts(np.zeros(1, np.intp)))[1]]


def tree(traces: Any, thetas: ThetaDraws, temper: float, index: Array | None = None, codes: Array | None = None) -> Any:
    """Return hyperparameters and statistics of the sampler as they came, theta, and the labels where given."""
    why = thetas.refused()
    drawn = xr.Dataset(coords=thetas.plan.coords) if why else thetas.dataset()
    attrs = {**LIBRARY_ATTRS, "sampling": "MCMC", "created_at": datetime.now(UTC).isoformat(), "temper": temper}
    if "inference_library" in traces["posterior"].attrs:
        attrs["sampler"] = traces["posterior"].attrs["inference_library"]
    if why:
        attrs["omitted"] = why
    groups = {
        "/": xr.Dataset(attrs=attrs),
        "posterior": _merged(traces["posterior"].to_dataset(), drawn, thetas.names()),
    }
    groups["posterior"].attrs |= {**LIBRARY_ATTRS, "sampling": "MCMC"}
    if "sample_stats" in traces.children:
        groups["sample_stats"] = traces["sample_stats"].to_dataset()
    if codes is not None and index is not None:
        coords = {"obs_id": coordinate(index), "class": thetas.layout.coords["class"]}
        groups["observed_data"] = xr.Dataset({"y": (("obs_id",), codes)}, coords)
    return xr.DataTree.from_dict(groups)


def _merged(sampled: xr.Dataset, drawn: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Merge the sampler's variables with our draws of theta, which replace the sampler's."""
    others = sampled.drop_vars([name for name in sampled.data_vars if _ours(str(name), names)])
    renamed = [dim for dim in others.dims if dim in drawn.coords and not _alike(others, drawn, str(dim))]
    others = others.rename({dim: f"sampled_{dim}" for dim in renamed if dim not in ("chain", "draw")})
    return drawn.assign_coords({dim: others[dim] for dim in ("chain", "draw") if dim in others.coords}).merge(others)


def _ours(name: str, names: list[str]) -> bool:
    """Whether a variable is part of theta: by its name, or numbered as one of a later block of the family."""
    root, _, number = name.rpartition("_")
    return name in names or (number.isdigit() and root in names)


def _alike(one: xr.Dataset, two: xr.Dataset, dim: str) -> bool:
    return one.sizes[dim] == two.sizes[dim] and (dim not in one.coords or bool((one[dim] == two[dim].values).all()))


def without(posterior: Any, names: list[str]) -> xr.Dataset:
    """Return a posterior without the variables that were only a means of sampling."""
    return posterior.to_dataset().drop_vars(names, errors="ignore")
