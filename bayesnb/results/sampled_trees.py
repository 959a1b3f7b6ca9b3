"""Draws of chains with labels: trees in ArviZ's groups, diagnostics, and a regression's terms."""

from collections.abc import (
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import arviz_stats as azs
import numpy as np
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import Theta
from bayesnb.model.schema import Block
from bayesnb.results.drawn_trees import (
    LIBRARY_ATTRS,
    DrawPlan,
    labelled,
    parameters,
    store,
)
from bayesnb.results.explanations import cell_texts, explanation_dataset
from bayesnb.results.parameter_names import Layout, Variables, coordinate
from bayesnb.results.tables import set_long_names

MAX_BYTES = 512 << 20
MAX_ENTRIES = 200  # of a variable that are diagnosed
MCMC_ATTRS = {
    **LIBRARY_ATTRS,
    "sampling": "MCMC",
}
INTERCEPT_NAMES = {
    "class_term": "posterior mean of the class's intercept",
    "class_term_sd": "posterior standard deviation of the class's intercept",
}


# Naive Bayes


@dataclass(frozen=True, eq=False)
class ThetaDraws:
    """Draws of theta, chain after chain, and the names of its variables."""

    plan: DrawPlan
    layout: Layout
    of: Callable[[Array], Iterator[tuple[slice, Theta]]]  # indices of draws -> theta, by parts
    certain: bool  # whether the class prior is fixed, so that it has no draws

    @property
    def first(self) -> Variables:
        """The variables of the first draw."""
        _, theta = next(self.of(np.zeros(1, np.intp)))
        return parameters(theta, self.layout, self.certain)

    def explain_refusal(self) -> str | None:
        """Return why the draws are too large to be kept; None where they are not."""
        size = self.plan.size * sum(array.nbytes for _, array in self.first.values())
        if size <= MAX_BYTES:
            return None
        return (
            f"theta: its {self.plan.size} draws would take {size / 2**30:.1f} GiB, more than "
            f"{MAX_BYTES / 2**30:g}"
        )

    def dataset(self) -> xr.Dataset:
        """Label all draws."""
        variables: Variables = {}
        for place, theta in self.of(np.arange(self.plan.size)):
            drawn = parameters(theta, self.layout, self.certain)
            store(variables, self.plan.size, place, drawn)
        split = {name: self.plan.split(*part) for name, part in variables.items()}
        return labelled(split, self.plan.coords | self.layout.coords)


def tree(
    traces: Any,
    thetas: ThetaDraws,
    temper: Mapping[str, Any],
    index: Array | None = None,
    codes: Array | None = None,
) -> xr.DataTree:
    """Return hyperparameters and sampler statistics as they came, theta, and labels if given."""
    refusal = thetas.explain_refusal()
    drawn = xr.Dataset(coords=thetas.plan.coords) if refusal else thetas.dataset()
    attrs = {
        **MCMC_ATTRS,
        "created_at": datetime.now(UTC).isoformat(),
        **temper,
    }
    sampled = traces["posterior"].to_dataset()
    if "inference_library" in sampled.attrs:
        attrs["sampler"] = sampled.attrs["inference_library"]
    if refusal:
        attrs["omitted"] = refusal
    posterior = _merge(sampled, drawn, list(thetas.first)).assign_attrs(MCMC_ATTRS)
    groups = {
        "/": xr.Dataset(attrs=attrs),
        "posterior": posterior,
    }
    if "sample_stats" in traces.children:
        groups["sample_stats"] = traces["sample_stats"].to_dataset()
    if codes is not None and index is not None:
        coords = {
            "obs_id": coordinate(index),
            "class": thetas.layout.coords["class"],
        }
        groups["observed_data"] = xr.Dataset({"y": (("obs_id",), codes)}, coords)
    return xr.DataTree.from_dict(groups)


def _merge(sampled: xr.Dataset, drawn: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Merge the sampler's variables with our draws of theta, which replace the sampler's."""
    ours = []
    for name in map(str, sampled.data_vars):
        root, _, number = name.rpartition("_")  # a family's later blocks are numbered
        if name in names or (number.isdigit() and root in names):
            ours.append(name)
    others = sampled.drop_vars(ours)
    for dim in map(str, others.dims):
        if dim in drawn.coords and dim not in ("chain", "draw") and not _agree(others, drawn, dim):
            others = others.rename({dim: f"sampled_{dim}"})
    chains = {dim: others[dim] for dim in ("chain", "draw") if dim in others.coords}
    return drawn.assign_coords(chains).merge(others)


def _agree(one: xr.Dataset, two: xr.Dataset, dim: str) -> bool:
    if one.sizes[dim] != two.sizes[dim]:
        return False
    return dim not in one.coords or bool((one[dim] == two[dim].values).all())


# Logistic regression


def finished(tree: Any) -> Any:
    """Return PyMC's tree with attributes that say what made it."""
    attrs = tree["posterior"].attrs
    sampler = [attrs.get("inference_library"), attrs.get("inference_library_version")]
    tree.attrs = {
        **tree.attrs,
        **MCMC_ATTRS,
        "created_at": datetime.now(UTC).isoformat(),
    }
    if all(sampler):
        tree.attrs["sampler"] = " ".join(map(str, sampler))
    return tree


def draws(tree: Any) -> tuple[Array, Array]:
    """Return the intercepts of all chains, `(s, c)`, and the coefficients, `(s, c, k)`."""
    posterior = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    intercept = posterior["intercept"].transpose("sample", "class")
    coefficient = posterior["coefficient"].transpose("sample", "class", "feature")
    return intercept.values, coefficient.values


def linear_form(arrays: Mapping[str, Array], classes: Array, terms: Sequence[str]) -> xr.Dataset:
    """Label `w (c, k)` and `b (c,)` and their standard deviations."""
    dims = ("class", "feature")
    variables = {name: (dims[: array.ndim], array) for name, array in arrays.items()}
    return xr.Dataset(
        variables,
        {
            "class": coordinate(classes),
            "feature": coordinate(terms),
        },
    )


def explained(
    index: Array,
    classes: Array,
    blocks: Sequence[Block],
    cells: Sequence[Cells],
    arrays: Mapping[str, Array],
) -> xr.Dataset:
    """Label the explanation of a regression, features in the order of the table."""
    places = [place for block in blocks for place in block.places]
    names = [str(name) for block in blocks for name in block.names]
    order = np.argsort(places, kind="stable")
    texts = []
    for block, x in zip(blocks, cells, strict=True):  # all words of a list are one feature
        words = None if block.family.listed else np.arange(len(block.names))
        texts.append(cell_texts(block, x, words))
    shown = np.concatenate(texts, axis=1)[:, order]
    table = explanation_dataset(index, classes, np.array(names)[order], arrays, shown)
    set_long_names(table, INTERCEPT_NAMES)
    return table


# Diagnostics


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
    """Return the largest r_hat, the fewest effective draws in bulk or tails, and divergences.

    Where they are undefined, because draws are very few or not finite, r_hat is infinite and no
    draw is effective.
    """
    sampled = tree["posterior"].to_dataset()
    chains = sampled.sizes["chain"]
    draws = sampled.sizes["draw"]
    entries = {}
    for name, array in sampled.data_vars.items():
        values = _select_entries(array.values)
        if values.size:
            entries[str(name)] = ("chain", "draw", f"{name}_entry"), values
    posterior = xr.Dataset(entries)
    r_hat, ess = {"": -np.inf}, {"": np.inf}  # by variable
    with np.errstate(all="ignore"):
        if chains > 1 and entries:
            for name, values in azs.rhat(posterior).data_vars.items():
                r_hat[str(name)] = float(np.nan_to_num(values, nan=np.inf, posinf=np.inf).max())
        for method in ("bulk", "tail") if entries else ():
            for name, values in azs.ess(posterior, method=method).data_vars.items():
                least = float(np.nan_to_num(values, nan=0.0, posinf=np.inf).min())
                ess[str(name)] = min(ess.get(str(name), np.inf), least)
    worst = max(r_hat, key=r_hat.__getitem__)
    fewest = min(ess, key=ess.__getitem__)
    stats = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
    divergences = int(np.sum(stats["diverging"])) if "diverging" in stats else 0
    return Diagnosis(
        r_hat[worst],
        worst,
        ess[fewest],
        fewest,
        divergences,
        chains,
        chains * draws,
    )


def _select_entries(values: Array) -> Array:
    """Return at most MAX_ENTRIES entries, evenly spaced, without constant ones, on one axis."""
    chains, draws = values.shape[:2]
    values = values.reshape(chains, draws, -1)
    values = values[..., :: -(-values.shape[-1] // MAX_ENTRIES)]
    varies = (values != values[:1, :1]).any(axis=(0, 1))
    return values if (chains, draws) == (1, 1) else values[..., varies]
