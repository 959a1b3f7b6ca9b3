"""Draws of chains with labels: trees in ArviZ's groups, convergence diagnostics, and explanations of a regression."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import arviz_stats as azs
import numpy as np
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import Theta
from bayesnb.model.schema import Block
from bayesnb.results.drawn_trees import LIBRARY_ATTRS, DrawPlan, labelled, parameters
from bayesnb.results.explanations import cell_texts, explanation_dataset
from bayesnb.results.parameter_names import Layout, Variables, coordinate

MOST_BYTES = 512 << 20
MOST_ENTRIES = 200  # entries of a variable that are looked at


@dataclass(frozen=True, eq=False)
class ThetaDraws:
    """Draws of theta, chain after chain, and the names of its variables."""

    plan: DrawPlan
    layout: Layout
    of: Callable[
        [Array], Iterator[tuple[slice, Theta]]
    ]  # indices of draws -> theta of a part of them at a time
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
                    variables_of[name] = (
                        dims,
                        np.empty((self.plan.size, *array.shape[1:]), array.dtype),
                    )
                variables_of[name][1][place] = array
        named = {
            name: self.plan.labelled(*labelled_array)
            for name, labelled_array in variables_of.items()
        }
        return labelled(named, self.plan.coords | self.layout.coords)

    def names(self) -> list[str]:
        return [*next(self.in_parts(np.zeros(1, np.intp)))[1]]


def tree(
    traces: Any,
    thetas: ThetaDraws,
    temper: Mapping[str, Any],
    index: Array | None = None,
    codes: Array | None = None,
) -> Any:
    """Return hyperparameters and statistics of the sampler as they came, theta, and the labels where given."""
    why = thetas.refused()
    drawn = xr.Dataset(coords=thetas.plan.coords) if why else thetas.dataset()
    attrs = {
        **LIBRARY_ATTRS,
        "sampling": "MCMC",
        "created_at": datetime.now(UTC).isoformat(),
        **temper,
    }
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
    renamed = [
        dim for dim in others.dims if dim in drawn.coords and not _alike(others, drawn, str(dim))
    ]
    others = others.rename(
        {dim: f"sampled_{dim}" for dim in renamed if dim not in ("chain", "draw")}
    )
    return drawn.assign_coords(
        {dim: others[dim] for dim in ("chain", "draw") if dim in others.coords}
    ).merge(others)


def _ours(name: str, names: list[str]) -> bool:
    """Whether a variable is part of theta: by its name, or numbered as one of a later block of the family."""
    root, _, number = name.rpartition("_")
    return name in names or (number.isdigit() and root in names)


def _alike(one: xr.Dataset, two: xr.Dataset, dim: str) -> bool:
    return one.sizes[dim] == two.sizes[dim] and (
        dim not in one.coords or bool((one[dim] == two[dim].values).all())
    )


def without(posterior: Any, names: list[str]) -> xr.Dataset:
    """Return a posterior without the variables that were only a means of sampling."""
    return posterior.to_dataset().drop_vars(names, errors="ignore")


INTERCEPT_NAMES = {
    "class_term": "posterior mean of the class's intercept",
    "class_term_sd": "posterior standard deviation of the class's intercept",
}


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """Rows to explain: their names, the classes, and their cells."""

    index: Array
    classes: Array
    blocks: Sequence[Block]
    cells: Sequence[Cells]


def finished(tree: Any) -> Any:
    """Return PyMC's tree with attributes that say what made it."""
    attrs = tree["posterior"].attrs
    made = attrs.get("inference_library"), attrs.get("inference_library_version")
    about = {"sampling": "MCMC", "created_at": datetime.now(UTC).isoformat()}
    about |= {"sampler": " ".join(map(str, made))} if all(made) else {}
    tree.attrs = {**tree.attrs, **LIBRARY_ATTRS, **about}
    return tree


def draws(tree: Any) -> tuple[Array, Array]:
    """Return the intercepts of all chains, `(s, c)`, and the coefficients, `(s, c, k)`."""
    dims, posterior = ("chain", "draw", "class", "feature"), tree["posterior"]
    intercept, coefficient = (
        posterior["intercept"].transpose(*dims[:3]).values,
        posterior["coefficient"].transpose(*dims).values,
    )
    return intercept.reshape(-1, intercept.shape[-1]), coefficient.reshape(
        -1, *coefficient.shape[2:]
    )


def linear_form(arrays: dict[str, Array], classes: Array, terms: Sequence[str]) -> xr.Dataset:
    """Label `w (c, k)` and `b (c,)` and their standard deviations."""
    dims = ("class", "feature")
    variables = {name: (dims[: array.ndim], array) for name, array in arrays.items()}
    return xr.Dataset(variables, {"class": coordinate(classes), "feature": coordinate(terms)})


def explained(sheet: ExplainedRows, arrays: dict[str, Array]) -> xr.Dataset:
    """Label the explanation of a regression, features in the order of the table."""
    places = [place for block in sheet.blocks for place in block.places]
    names = [str(name) for block in sheet.blocks for name in block.names]
    order = np.argsort(places, kind="stable")
    pairs = zip(
        sheet.blocks, sheet.cells, strict=True
    )  # the words of a column of lists are one feature
    shown = (
        (block, x, None if block.family.listed else np.arange(len(block.names)))
        for block, x in pairs
    )
    texts = np.concatenate([cell_texts(*each) for each in shown], axis=1)
    table = explanation_dataset(
        sheet.index, sheet.classes, np.array(names)[order], arrays, texts[:, order]
    )
    for name, long_name in INTERCEPT_NAMES.items():
        table[name].attrs["long_name"] = long_name
    return table


class Diagnosis(NamedTuple):
    """The worst value of each diagnostic, and the variable that has it."""

    r_hat: float
    r_hat_of: str
    ess: float
    ess_of: str
    divergences: int
    chains: int
    draws: int  # of all chains


def diagnose(tree: Any) -> Diagnosis:
    """Return the largest r_hat, the fewest effective draws in the bulk or the tails, and the number of divergences.

    Where they are undefined, because draws are very few or not finite, r_hat is infinite and no draw is effective.
    """
    entries = {
        name: _entries(str(name), array) for name, array in tree["posterior"].data_vars.items()
    }
    posterior = xr.Dataset(
        {name: variable for name, variable in entries.items() if variable[1].size}
    )
    chains, draws = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
    with np.errstate(all="ignore"):
        rhat = [azs.rhat(posterior)] if chains > 1 and posterior else []
        ess = (
            [azs.ess(posterior, method=method) for method in ("bulk", "tail")] if posterior else []
        )
    worst, few = _worst(rhat, max, np.inf), _worst(ess, min, 0.0)
    stats = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
    diverging = stats["diverging"] if "diverging" in stats else np.zeros(1)
    return Diagnosis(*worst, *few, int(np.sum(diverging)), chains, chains * draws)


def _entries(name: str, array: xr.DataArray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return at most MOST_ENTRIES entries of a variable, evenly spaced, without the constant ones, on a new axis."""
    values = array.values.reshape(*array.shape[:2], -1)
    values = values[..., :: -(-values.shape[-1] // MOST_ENTRIES)]
    varies = (values != values[:1, :1]).any(axis=(0, 1)) | (values.shape[:2] == (1, 1))
    return ("chain", "draw", f"{name}_entry"), values[..., varies]


def _worst(datasets: list[xr.Dataset], worst: Any, unknown: float) -> tuple[float, str]:
    """Return the worst number and the variable that has it; the best possible value where there is none."""
    values = [
        (float(worst(np.where(np.isnan(array), unknown, array).flat)), str(name))
        for dataset in datasets
        for name, array in dataset.data_vars.items()
    ]
    return worst(values, key=lambda pair: pair[0], default=(-unknown if unknown else np.inf, ""))
