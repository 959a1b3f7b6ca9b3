"""What is drawn (a model, rows, a number of chains) and the labels of the draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr

from bayesnb import __version__
from bayesnb.families.base import Array, Cells
from bayesnb.families.known import KnownDie
from bayesnb.inference.posterior_draws import Theta, draw_proba, refuse_large
from bayesnb.model.product import Model
from bayesnb.results.parameter_names import Layout, Variables, coordinate

LIBRARY_ATTRS = {"inference_library": "bayesnb", "inference_library_version": __version__, "sampling": "exact iid"}


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to draw from, the names of its parameters, and its settings of prediction."""

    model: Model
    layout: Layout
    temper: float
    n_jobs: int | None

    @property
    def certain(self) -> bool:
        """Whether the class prior is fixed, so that it has no draws."""
        return isinstance(self.model.prior.classes, KnownDie)


@dataclass(frozen=True, eq=False)
class RowsToDraw:
    """Rows to draw for: their names, their cells, and the codes of their classes where known."""

    index: Array
    cells: Sequence[Cells]
    codes: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.index)


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """Number of draws and chains, and the random generator."""

    draws: int
    chains: int
    rng: Any

    def __post_init__(self) -> None:
        for name, value in (("draws", self.draws), ("chains", self.chains)):
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}.")

    @property
    def size(self) -> int:
        return self.draws * self.chains

    def labelled(self, dims: tuple[str, ...], array: Array) -> tuple[tuple[str, ...], Array]:
        """Return `(s, ...)` as dims and array, the draws split into chains."""
        return ("chain", "draw", *dims), array.reshape(self.chains, self.draws, *array.shape[1:])

    @property
    def coords(self) -> dict[str, Array]:
        return {"chain": np.arange(self.chains), "draw": np.arange(self.draws)}


def probabilities(subject: Subject, sheet: RowsToDraw, plan: DrawPlan) -> xr.DataArray:
    """Return p(y | x, theta) of every draw and row."""
    refuse_probabilities(plan, sheet.rows, len(subject.layout.classes))
    how = {"rng": plan.rng, "n_jobs": subject.n_jobs}
    drawn = draw_proba(subject.model.posterior, sheet.cells, plan.size, subject.temper, **how)
    return labelled_proba(drawn, plan, sheet.index, subject.layout.classes, {**LIBRARY_ATTRS, "temper": subject.temper})


def refuse_probabilities(plan: DrawPlan, rows: int, classes: int) -> None:
    """Raise where the probabilities of all draws, rows and classes would take too much memory."""
    what = f"{plan.chains} chains of {plan.draws} draws for {rows} rows and {classes} classes"
    advice = "Ask for fewer draws or rows; predict_proba and predict_interval need no draws."
    refuse_large(what, 8.0 * plan.size * rows * classes, advice)


def labelled_proba(drawn: Array, plan: DrawPlan, index: Array, classes: Array, attrs: dict[str, Any]) -> xr.DataArray:
    """Label draws of p(y | x, theta), `(s, r, c)`."""
    dims, array = plan.labelled(("obs_id", "class"), drawn)
    coords = {**plan.coords, "obs_id": coordinate(index), "class": coordinate(classes)}
    return xr.DataArray(array, coords, dims, "p", attrs)


def parameters(theta: Theta, layout: Layout, certain: bool) -> Variables:
    """Return theta by the names of its variables, `(s, c, ...)`, without the class prior where that is fixed."""
    arranged = layout.arrange([density.parts() for density in theta.blocks])
    class_prob: Variables = {} if certain else {"class_prob": (("class",), theta.class_probs.probability)}
    flags = [flag if flag is None else flag.astype(np.int64) for flag in theta.included]  # ArviZ subtracts them
    return class_prob | unfolded(theta, arranged) | layout.included(flags)


def unfolded(theta: Theta, variables: Variables) -> Variables:
    """Reshape draws of all classes, `(s * c, ...)`, to `(s, c, ...)`."""
    return {name: (dims, array.reshape(*theta.shape, *array.shape[1:])) for name, (dims, array) in variables.items()}


def labelled(variables: Variables, coords: dict[str, Array]) -> xr.Dataset:
    """Label the axes of variables; codes of classes bring the classes along."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    used |= {"class"} if any(array.dtype.kind == "i" for _, array in variables.values()) else set()
    return xr.Dataset(variables, {dim: coords[dim] for dim in coords if dim in used})
