"""Draws of a fitted model with labels: probabilities, and a tree of the groups of ArviZ.

The draws are exact and independent; chains are only what ArviZ expects. Every group has the same
theta behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from bayesnb import __version__
from bayesnb.families.base import Array, Cells
from bayesnb.families.capabilities import log_density_of
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import draw_level
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.posterior_draws import (
    Additions,
    Theta,
    another,
    draw_additions,
    draw_proba,
    draw_theta,
    refuse_large,
)
from bayesnb.model.powers import ExponentCovariance, Exponents, of_blocks
from bayesnb.model.product import Model
from bayesnb.results.parameter_names import Layout, Variables, coordinate

LIBRARY_ATTRS = {
    "inference_library": "bayesnb",
    "inference_library_version": __version__,
    "sampling": "exact iid",
}
NEEDS = {  # what each group needs, in the order of the tree
    "posterior": (),
    "prior": (),
    "log_prior": (),
    "log_likelihood": ("X", "y"),
    "posterior_predictive": ("X", "y"),
    "predictions": ("X",),
    "observed_data": ("X", "y"),
    "constant_data": (),
    "conjugate": (),
}
ROW_GROUPS = ("log_likelihood", "posterior_predictive", "predictions")
DRAWN_GROUPS = ("posterior", "prior", "log_prior", *ROW_GROUPS)
LIKELIHOODS = {
    "y": "log p(y | x, theta), the label given its row, under the exponents of predictions",
    "row": "log p(x, y | theta), the row with its label, in which the model is generative",
}


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to draw from, the names of its parameters, and its settings of prediction.

    `once` are the exponents of the joint distribution of class and columns: 0 for links that are
    not part of it.
    """

    model: Model
    layout: Layout
    exponents: Exponents
    once: Exponents
    temper: Mapping[str, Any]  # the exponents as attributes of results
    n_jobs: int | None
    covariance: ExponentCovariance | None = None  # of exponents that were found

    def scores(self, cells: Sequence[Cells]) -> Scores:
        """Return the scores of rows."""
        return Scores(self.model.posterior, cells, self.exponents, self.covariance)

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

    def split(self, dims: tuple[str, ...], array: Array) -> tuple[tuple[str, ...], Array]:
        """Return `(s, ...)` as dims and array, the draws split into chains."""
        return ("chain", "draw", *dims), array.reshape(self.chains, self.draws, *array.shape[1:])

    @property
    def coords(self) -> dict[str, Array]:
        return {
            "chain": np.arange(self.chains),
            "draw": np.arange(self.draws),
        }


# p(y | x, theta)


def probabilities(subject: Subject, sheet: RowsToDraw, plan: DrawPlan) -> xr.DataArray:
    """Return p(y | x, theta) of every draw and row."""
    classes = subject.layout.classes
    refuse_probabilities(plan, sheet.rows, len(classes))
    drawn = draw_proba(
        subject.scores(sheet.cells),
        plan.size,
        plan.rng,
        subject.n_jobs,
    )
    attrs = {**LIBRARY_ATTRS, **subject.temper}
    return labelled_proba(drawn, plan, sheet.index, classes, attrs)


def refuse_probabilities(plan: DrawPlan, rows: int, classes: int) -> None:
    """Raise where the probabilities of all draws, rows and classes would take too much memory."""
    refuse_large(
        f"{plan.chains} chains of {plan.draws} draws for {rows} rows and {classes} classes",
        8.0 * plan.size * rows * classes,
        "Ask for fewer draws or rows; predict_proba and predict_interval need no draws.",
    )


def labelled_proba(
    drawn: Array, plan: DrawPlan, index: Array, classes: Array, attrs: dict[str, Any]
) -> xr.DataArray:
    """Label draws of p(y | x, theta), `(s, r, c)`."""
    dims, array = plan.split(("obs_id", "class"), drawn)
    coords = {
        **plan.coords,
        "obs_id": coordinate(index),
        "class": coordinate(classes),
    }
    return xr.DataArray(array, coords, dims, "p", attrs)


# Trees


def tree(
    subject: Subject, sheet: RowsToDraw | None, plan: DrawPlan, groups: Sequence[str] | None = None
) -> xr.DataTree:
    """Return draws in ArviZ's groups, and the closed form of the distribution of theta."""
    given = () if sheet is None else ("X",) if sheet.codes is None else ("X", "y")
    unavailable = _list_unavailable(subject)
    chosen = _choose(groups, given, unavailable)
    proper = [belief.proper for belief in subject.model.posterior.blocks]
    if why := _first_improper(subject, proper, "the posterior is improper"):
        raise ValueError(
            f"{why}, so nothing can be drawn from it. Give a proper prior, or rows of every class."
        )
    refuse_large(
        f"{plan.chains} chains of {plan.draws} draws in {', '.join(chosen)}",
        _count_bytes(subject, sheet, plan, chosen),
        "Ask for fewer draws, fewer rows, some `groups`, or the parameters of some `features`.",
    )
    coords = plan.coords | subject.layout.coords
    if sheet is not None:
        coords["obs_id"] = coordinate(sheet.index)
    drawn = _draw_groups(subject, sheet, plan, chosen)
    datasets = {}
    for group in chosen:
        if group in DRAWN_GROUPS:
            variables = {name: plan.split(*part) for name, part in drawn.pop(group).items()}
            datasets[group] = labelled(variables, coords).assign_attrs(LIBRARY_ATTRS)
        elif group == "observed_data" and sheet is not None and sheet.codes is not None:
            datasets[group] = labelled({"y": (("obs_id",), sheet.codes)}, coords)
        elif group == "constant_data" and subject.certain:
            shares = subject.model.posterior.classes.mean()
            datasets[group] = labelled({"class_prob": (("class",), shares)}, coords)
        elif group == "conjugate":
            datasets[group] = labelled(_closed_form(subject, "prior" not in unavailable), coords)
    for name, words in LIKELIHOODS.items() if "log_likelihood" in datasets else ():
        datasets["log_likelihood"][name].attrs["long_name"] = words
    attrs = {
        **LIBRARY_ATTRS,
        "created_at": datetime.now(UTC).isoformat(),
        **subject.temper,
    }
    if groups is None and unavailable:
        attrs["omitted"] = "; ".join(f"{group}: {why}" for group, why in unavailable.items())
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=attrs),
            **datasets,
        }
    )


def labelled(variables: Variables, coords: Mapping[str, Array]) -> xr.Dataset:
    """Label the axes of variables; codes of classes bring the classes along."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    if any(array.dtype.kind == "i" for _, array in variables.values()):
        used.add("class")
    return xr.Dataset(variables, {dim: coords[dim] for dim in coords if dim in used})


def store(
    variables: Variables,
    size: int,
    place: slice,
    drawn: Variables,
) -> None:
    """Put a part of the draws, `(s, ...)`, into the variables of all draws."""
    for name, (dims, array) in drawn.items():
        if name not in variables:
            variables[name] = dims, np.empty((size, *array.shape[1:]), array.dtype)
        variables[name][1][place] = array


def _draw_groups(
    subject: Subject, sheet: RowsToDraw | None, plan: DrawPlan, chosen: Sequence[str]
) -> dict[str, Variables]:
    """Return the variables of groups that are drawn, `(s, ...)`."""
    rng = np.random.default_rng(plan.rng)
    model = subject.model
    additions = None
    if sheet is not None:  # as `draw_proba` would, from the same state of the generator
        additions = draw_additions(subject.scores(sheet.cells), plan.size, another(rng, 2))
    posterior = draw_theta(model.posterior, plan.size, rng)
    prior = draw_theta(model.prior.beside(model.posterior), plan.size, rng)
    label_rng = np.random.default_rng(rng.integers(1 << 63))
    further = another(rng)
    groups: dict[str, Variables] = {group: {} for group in chosen if group in DRAWN_GROUPS}
    for place, theta in posterior if groups.keys() - {"prior"} else ():
        drawn = {}
        if "posterior" in groups:
            drawn["posterior"] = parameters(theta, subject.layout, subject.certain)
        if "log_prior" in groups:
            drawn["log_prior"] = _log_prior(subject, theta)
        if sheet is not None and additions is not None and groups.keys() & ROW_GROUPS:
            opened = theta.opened(model.posterior.blocks, sheet.cells, further)
            draws = RowDraws(subject, sheet, opened, additions, place)
            if "log_likelihood" in groups:
                drawn["log_likelihood"] = draws.log_likelihoods()
            if "posterior_predictive" in groups:
                drawn["posterior_predictive"] = draws.predict(label_rng, with_p=False)
            if "predictions" in groups:
                drawn["predictions"] = draws.predict(label_rng, with_p=True)
        for group, variables in drawn.items():
            store(groups[group], plan.size, place, variables)
    for place, theta in prior if "prior" in groups else ():
        variables = parameters(theta, subject.layout, subject.certain)
        store(groups["prior"], plan.size, place, variables)
    return groups


def _count_bytes(
    subject: Subject, sheet: RowsToDraw | None, plan: DrawPlan, chosen: Sequence[str]
) -> float:
    """Return the number of bytes that the draws will take."""
    _, theta = next(draw_theta(subject.model.posterior, 1, 0))
    variables = parameters(theta, subject.layout, subject.certain)
    each = sum(array.nbytes for _, array in variables.values())
    rows = 0 if sheet is None else sheet.rows
    classes = len(subject.layout.classes)
    bytes_of = {
        "log_likelihood": 16 * rows,
        "posterior_predictive": 4 * rows,
        "predictions": (8 * classes + 4) * rows,
    }
    sizes = [bytes_of.get(group, each) for group in chosen if group in DRAWN_GROUPS]
    return float(plan.size * sum(sizes))


# Groups of parameters


def parameters(theta: Theta, layout: Layout, certain: bool) -> Variables:
    """Return theta by variables, `(s, c, ...)`, without the class prior where that is fixed."""
    densities = layout.of_columns(theta.blocks)
    arranged = layout.arrange([density.parts() for density in densities])
    variables: Variables = {}
    if not certain:
        variables["class_prob"] = ("class",), theta.class_probs.probability
    return variables | _split_classes(theta, arranged)


def _split_classes(theta: Theta, variables: Variables) -> Variables:
    """Reshape draws of all classes, `(s * c, ...)`, to `(s, c, ...)`."""
    return {
        name: (dims, array.reshape(*theta.shape, *array.shape[1:]))
        for name, (dims, array) in variables.items()
    }


def _log_prior(subject: Subject, theta: Theta) -> Variables:
    """Return log p(theta) by variables, one number for each categorical distribution."""
    prior = subject.model.prior
    layout = subject.layout
    parts = []
    blocks = zip(layout.of_columns(prior.blocks), layout.of_columns(theta.blocks), strict=True)
    for belief, density in blocks:
        parts.append(log_density_of(belief.repeated(theta.shape[0]), density))
    variables = _split_classes(theta, layout.arrange(parts))
    if not subject.certain:
        (logs,) = log_density_of(prior.classes, theta.class_probs).values()
        variables["class_prob"] = (), logs
    return variables


def _closed_form(subject: Subject, proper: bool) -> Variables:
    """Return the parameters of the posterior, and the log evidence of a proper prior."""
    posterior = subject.model.posterior
    layout = subject.layout
    beliefs = layout.of_columns(posterior.blocks)
    variables = layout.arrange([belief.parts() for belief in beliefs])
    if not subject.certain:
        concentration = next(iter(posterior.classes.parts().values()))
        variables["class_prob_concentration"] = ("class",), concentration
    if proper:
        labels, columns = subject.model.prior.log_evidence(subject.model.stats)
        powers = of_blocks(subject.once, len(columns))
        terms = [(column * power).sum() for column, power in zip(columns, powers, strict=True)]
        variables["log_evidence"] = (), np.array(labels + sum(terms))
    return variables


# Groups of rows


@dataclass(frozen=True, eq=False)
class RowDraws:
    """Rows under some draws of theta, at their place among all draws."""

    subject: Subject
    sheet: RowsToDraw
    theta: Theta
    additions: Additions  # to the scores
    place: slice

    def log_likelihoods(self) -> Variables:
        """Return log p(y | x, theta), under the exponents found, and log p(x, y | theta)."""
        sheet = self.sheet
        subject = self.subject
        codes = np.asarray(self.sheet.codes)
        of_labels = np.empty((self.theta.shape[0], sheet.rows))
        of_rows = np.empty_like(of_labels)
        for rows, joint in self.theta.by_rows(sheet.cells, subject.exponents, subject.n_jobs):
            joint += self.additions.shift[rows, None]
            total = logsumexp(joint, axis=2)
            total[np.isneginf(total)] = 0.0  # no label is possible of a row that is impossible
            of_labels[:, rows] = (joint[np.arange(len(joint)), :, codes[rows]] - total).T
        for rows, joint in self.theta.by_rows(sheet.cells, subject.once, subject.n_jobs):
            of_rows[:, rows] = joint[np.arange(len(joint)), :, codes[rows]].T
        base = subject.model.posterior.with_base(np.zeros((sheet.rows, 1)), sheet.cells)
        return {
            "y": (("obs_id",), of_labels),
            "row": (("obs_id",), of_rows + base[:, 0]),
        }

    def predict(self, rng: np.random.Generator, with_p: bool) -> Variables:
        """Return labels drawn from p(y | x, theta), `(s, r)`, and these probabilities."""
        sheet = self.sheet
        subject = self.subject
        draws, classes = self.theta.shape
        y = np.empty((draws, sheet.rows), np.int32)
        p = np.empty((draws, sheet.rows if with_p else 0, classes))
        for rows, joint in self.theta.by_rows(sheet.cells, subject.exponents, subject.n_jobs):
            joint += self.additions.of(rows, self.place)
            proba = self.theta.proba(joint, subject.n_jobs)
            y[:, rows] = draw_level(proba, rng).T
            if with_p:
                p[:, rows] = proba.swapaxes(0, 1)
        variables: Variables = {"y": (("obs_id",), y)}
        if with_p:
            variables["p"] = ("obs_id", "class"), p
        return variables


# Which groups


def _list_unavailable(subject: Subject) -> dict[str, str]:
    """Return the groups that this model cannot have, and why."""
    prior = subject.model.prior
    proper = [belief.strictly_proper for belief in prior.blocks]
    why = _first_improper(subject, proper, "the prior is improper")
    if not prior.classes.strictly_proper:
        why = "class_prior: a concentration of 0 is improper"
    if why is not None:
        return dict.fromkeys(("prior", "log_prior"), f"{why}; give a proper prior")
    return {}


def _first_improper(subject: Subject, proper: Sequence[Array], message: str) -> str | None:
    for block, ok in zip(subject.layout.blocks, subject.layout.of_columns(proper), strict=True):
        if not ok.all():
            c, f = np.argwhere(~ok)[0]
            label = subject.layout.classes.tolist()[c]
            return f"column {block.names[f]!r}, class {label!r}: {message}"
    return None


def _choose(
    groups: Sequence[str] | str | None, given: Sequence[str], unavailable: Mapping[str, str]
) -> list[str]:
    """Return the groups to fill; an error for one that was asked for and cannot be had.

    By default these are all that can be; rows with labels are checked and not predicted.
    """
    if groups is None:
        possible = [group for group, needs in NEEDS.items() if set(needs) <= set(given)]
        left_out = {*unavailable, "predictions"} if "y" in given else set(unavailable)
        return [group for group in possible if group not in left_out]
    groups = [groups] if isinstance(groups, str) else list(groups)
    for group in groups:
        if group not in NEEDS:
            raise ValueError(f"groups: {group!r} is not one of {', '.join(NEEDS)}.")
        missing = [name for name in NEEDS[group] if name not in given]
        if missing:
            raise ValueError(
                f"groups: {group!r} needs {' and '.join(missing)}. Give {missing[0]}, or leave it "
                "out."
            )
        if group in unavailable:
            raise ValueError(
                f"groups: {group!r} is not available, because {unavailable[group]}. Leave it out."
            )
    return groups
