"""What a sampler drew, and theta of every draw, as one tree in ArviZ's groups."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.inference.posterior_draws import Theta
from bayesnb.results.drawn_trees import SAID, Plan, labelled, parameters
from bayesnb.results.parameter_names import Layout, Variables, coordinate

MOST_BYTES = 512 << 20


@dataclass(frozen=True, eq=False)
class Thetas:
    """Draws of theta, chain after chain, and what they are called."""

    plan: Plan
    layout: Layout
    of: Callable[[Array], Iterator[tuple[slice, Theta]]]  # places of draws -> some of them at a time
    certain: bool  # whether the die of the classes is given, and so nothing that is drawn

    def of_some(self, draws: Array) -> Iterator[tuple[slice, Variables]]:
        for some, theta in self.of(draws):
            yield some, parameters(theta, self.layout, self.certain)

    def refused(self) -> str | None:
        """Why all draws are too large to be kept, if they are."""
        _, first = next(self.of_some(np.zeros(1, np.intp)))
        size = float(self.plan.size * sum(array.nbytes for _, array in first.values()))
        if size <= MOST_BYTES:
            return None
        return f"theta: its {self.plan.size} draws would take {size / 2**30:.1f} GiB, more than {MOST_BYTES / 2**30:g}"

    def dataset(self) -> xr.Dataset:
        found: Variables = {}
        for some, variables in self.of_some(np.arange(self.plan.size)):
            for name, (dims, array) in variables.items():
                if name not in found:
                    found[name] = dims, np.empty((self.plan.size, *array.shape[1:]), array.dtype)
                found[name][1][some] = array
        named = {name: self.plan.labelled(*own) for name, own in found.items()}
        return labelled(named, self.plan.coords | self.layout.coords)

    def names(self) -> list[str]:
        return [*next(self.of_some(np.zeros(1, np.intp)))[1]]


def tree(traces: Any, thetas: Thetas, temper: float, index: Array | None = None, codes: Array | None = None) -> Any:
    """Hyperparameters and statistics of the sampler as they came, theta, and labels, if they are given."""
    why = thetas.refused()
    own = xr.Dataset(coords=thetas.plan.coords) if why else thetas.dataset()
    said = {**SAID, "sampling": "MCMC", "created_at": datetime.now(UTC).isoformat(), "temper": temper}
    if "inference_library" in traces["posterior"].attrs:
        said["sampler"] = traces["posterior"].attrs["inference_library"]
    if why:
        said["omitted"] = why
    groups = {"/": xr.Dataset(attrs=said), "posterior": _beside(traces["posterior"].to_dataset(), own, thetas.names())}
    groups["posterior"].attrs |= {**SAID, "sampling": "MCMC"}
    if "sample_stats" in traces.children:
        groups["sample_stats"] = traces["sample_stats"].to_dataset()
    if codes is not None and index is not None:
        coords = {"obs_id": coordinate(index), "class": thetas.layout.coords["class"]}
        groups["observed_data"] = xr.Dataset({"y": (("obs_id",), codes)}, coords)
    return xr.DataTree.from_dict(groups)


def _beside(sampled: xr.Dataset, own: xr.Dataset, names: list[str]) -> xr.Dataset:
    """What was sampled beside our draws of theta, which take the place of the sampler's."""
    kept = sampled.drop_vars([name for name in sampled.data_vars if _ours(str(name), names)])
    other = [dim for dim in kept.dims if dim in own.coords and not _alike(kept, own, str(dim))]
    kept = kept.rename({dim: f"sampled_{dim}" for dim in other if dim not in ("chain", "draw")})
    return own.assign_coords({dim: kept[dim] for dim in ("chain", "draw") if dim in kept.coords}).merge(kept)


def _ours(name: str, names: list[str]) -> bool:
    """Whether a variable is theta: by its name, or numbered as that of a later block of the family."""
    root, _, number = name.rpartition("_")
    return name in names or (number.isdigit() and root in names)


def _alike(one: xr.Dataset, two: xr.Dataset, dim: str) -> bool:
    return one.sizes[dim] == two.sizes[dim] and (dim not in one.coords or bool((one[dim] == two[dim].values).all()))


def without(posterior: Any, names: list[str]) -> xr.Dataset:
    """The other variables: what a sampler moves may be a means to an end."""
    return posterior.to_dataset().drop_vars(names, errors="ignore")
