"""Draws of a fitted model with labels: probabilities, and a tree of the groups that ArviZ looks for.

The draws are exact and independent; chains are only what ArviZ expects. Every group has the same theta behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to draw from, the names of its parameters, and its settings of prediction.

    `once` are the exponents of the joint distribution of class and columns: 0 for links that are not part of it.
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

    def labelled(self, dims: tuple[str, ...], array: Array) -> tuple[tuple[str, ...], Array]:
        """Return `(s, ...)` as dims and array, the draws split into chains."""
        return ("chain", "draw", *dims), array.reshape(self.chains, self.draws, *array.shape[1:])

    @property
    def coords(self) -> dict[str, Array]:
        return {"chain": np.arange(self.chains), "draw": np.arange(self.draws)}


def probabilities(subject: Subject, sheet: RowsToDraw, plan: DrawPlan) -> xr.DataArray:
    """Return p(y | x, theta) of every draw and row."""
    refuse_probabilities(plan, sheet.rows, len(subject.layout.classes))
    drawn = draw_proba(subject.scores(sheet.cells), plan.size, plan.rng, subject.n_jobs)
    return labelled_proba(
        drawn, plan, sheet.index, subject.layout.classes, {**LIBRARY_ATTRS, **subject.temper}
    )


def refuse_probabilities(plan: DrawPlan, rows: int, classes: int) -> None:
    """Raise where the probabilities of all draws, rows and classes would take too much memory."""
    what = f"{plan.chains} chains of {plan.draws} draws for {rows} rows and {classes} classes"
    advice = "Ask for fewer draws or rows; predict_proba and predict_interval need no draws."
    refuse_large(what, 8.0 * plan.size * rows * classes, advice)


def labelled_proba(
    drawn: Array, plan: DrawPlan, index: Array, classes: Array, attrs: dict[str, Any]
) -> xr.DataArray:
    """Label draws of p(y | x, theta), `(s, r, c)`."""
    dims, array = plan.labelled(("obs_id", "class"), drawn)
    coords = {**plan.coords, "obs_id": coordinate(index), "class": coordinate(classes)}
    return xr.DataArray(array, coords, dims, "p", attrs)


def parameters(theta: Theta, layout: Layout, certain: bool) -> Variables:
    """Return theta by the names of its variables, `(s, c, ...)`, without the class prior where that is fixed."""
    arranged = layout.arrange([density.parts() for density in layout.of_columns(theta.blocks)])
    class_prob: Variables = (
        {} if certain else {"class_prob": (("class",), theta.class_probs.probability)}
    )
    flags = [
        flag if flag is None else flag.astype(np.int64) for flag in theta.included
    ]  # ArviZ subtracts them
    return class_prob | unfolded(theta, arranged) | layout.included(flags)


def unfolded(theta: Theta, variables: Variables) -> Variables:
    """Reshape draws of all classes, `(s * c, ...)`, to `(s, c, ...)`."""
    return {
        name: (dims, array.reshape(*theta.shape, *array.shape[1:]))
        for name, (dims, array) in variables.items()
    }


def labelled(variables: Variables, coords: dict[str, Array]) -> xr.Dataset:
    """Label the axes of variables; codes of classes bring the classes along."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    used |= {"class"} if any(array.dtype.kind == "i" for _, array in variables.values()) else set()
    return xr.Dataset(variables, {dim: coords[dim] for dim in coords if dim in used})


DRAWN = {
    "posterior": (),
    "prior": (),
    "log_prior": (),
    "log_likelihood": ("X", "y"),
    "posterior_predictive": ("X", "y"),
    "predictions": ("X",),
}
GROUPS = {**DRAWN, "observed_data": ("X", "y"), "constant_data": (), "conjugate": ()}
LIKELIHOODS = {
    "y": {
        "long_name": "log p(y | x, theta), the label given its row, under the exponents of predictions"
    },
    "row": {
        "long_name": "log p(x, y | theta), the row with its label, in which the model is generative"
    },
}
ADVICE = "Ask for fewer draws, fewer rows, some `groups`, or the parameters of some `features`."


def tree(
    subject: Subject, sheet: RowsToDraw | None, plan: DrawPlan, groups: Sequence[str] | None = None
) -> xr.DataTree:
    """Return draws in ArviZ's groups, and the closed form of the distribution that they come from."""
    given = () if sheet is None else ("X",) if sheet.codes is None else ("X", "y")
    improper = _improper(subject)
    without = _without(subject, improper)
    chosen = _default(given, without) if groups is None else _checked(groups, given, without)
    proper = [belief.proper for belief in subject.model.posterior.blocks]
    if why := _first_improper(subject, proper, "the posterior is improper"):
        raise ValueError(
            f"{why}, so nothing can be drawn from it. Give a proper prior, or rows of every class."
        )
    writer = GroupWriter(subject, sheet, plan)
    refuse_large(
        f"{plan.chains} chains of {plan.draws} draws in {', '.join(chosen)}",
        writer.size(chosen),
        ADVICE,
    )
    writer.fill(chosen)
    datasets = {group: writer.dataset(group) for group in chosen if group in DRAWN}
    if "observed_data" in chosen and sheet is not None and sheet.codes is not None:
        datasets["observed_data"] = writer.label({"y": (("obs_id",), sheet.codes)})
    if "constant_data" in chosen and subject.certain:
        datasets["constant_data"] = writer.label(
            {"class_prob": (("class",), subject.model.posterior.classes.mean())}
        )
    if "conjugate" in chosen:
        datasets["conjugate"] = writer.label(_closed_form(subject, improper is None))
    attrs = {**LIBRARY_ATTRS, "created_at": datetime.now(UTC).isoformat(), **subject.temper}
    if groups is None and without:
        attrs["omitted"] = "; ".join(f"{', '.join(names)}: {why}" for names, why in without.items())
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs), **datasets})


@dataclass(eq=False)
class GroupWriter:
    """The variables of every group, `(s, ...)`, while they are filled a part of the draws at a time."""

    subject: Subject
    sheet: RowsToDraw | None
    plan: DrawPlan
    groups: dict[str, Variables] = field(default_factory=dict)

    def size(self, chosen: Sequence[str]) -> float:
        """Return the number of bytes that the draws will take."""
        _, theta = next(draw_theta(self.subject.model.posterior, 1, 0))
        each = float(sum(array.nbytes for _, array in self._parameters(theta).values()))
        rows, classes = (
            0 if self.sheet is None else self.sheet.rows,
            len(self.subject.layout.classes),
        )
        bytes_of = {
            "log_likelihood": 16 * rows,
            "posterior_predictive": 4 * rows,
            "predictions": (8 * classes + 4) * rows,
        }
        return self.plan.size * sum(bytes_of.get(group, each) for group in chosen if group in DRAWN)

    def fill(self, chosen: Sequence[str]) -> None:
        rng, model = np.random.default_rng(self.plan.rng), self.subject.model
        products = model.posterior, model.prior.beside(model.posterior)
        # as `draw_proba` would, from the same state of the generator
        additions = None if self.sheet is None else self._additions(self.sheet, another(rng, 2))
        posterior, prior = (draw_theta(product, self.plan.size, rng) for product in products)
        label_rng, further = np.random.default_rng(rng.integers(1 << 63)), another(rng)
        if set(chosen) & (DRAWN.keys() - {"prior"}):
            for place, theta in posterior:
                if "posterior" in chosen:
                    self._put("posterior", place, self._parameters(theta))
                if "log_prior" in chosen:
                    self._put("log_prior", place, self._log_prior(theta))
                if self.sheet is not None and set(chosen) & {
                    "log_likelihood",
                    "posterior_predictive",
                    "predictions",
                }:
                    opened = theta.opened(model.posterior.blocks, self.sheet.cells, further)
                    self._of_rows(place, opened, chosen, label_rng, additions)
        if "prior" in chosen:
            for place, theta in prior:
                self._put("prior", place, self._parameters(theta))

    def _additions(self, sheet: RowsToDraw, rng: np.random.Generator) -> Additions:
        return draw_additions(self.subject.scores(sheet.cells), self.plan.size, rng)

    def _of_rows(
        self,
        place: slice,
        theta: Theta,
        chosen: Sequence[str],
        rng: np.random.Generator,
        additions: Any,
    ) -> None:
        if "log_likelihood" in chosen:
            kinds = {
                "y": self._log_likelihood_of_labels(theta, additions.shift),
                "row": self._log_likelihood_of_rows(theta),
            }
            self._put(
                "log_likelihood",
                place,
                {name: (("obs_id",), values) for name, values in kinds.items()},
            )
        for group in ("posterior_predictive", "predictions"):
            if group in chosen:
                self._put(
                    group,
                    place,
                    self._predicted(theta, rng, additions, place, group == "predictions"),
                )

    def _put(self, group: str, place: slice, variables: Variables) -> None:
        arrays = self.groups.setdefault(group, {})
        for name, (dims, array) in variables.items():
            if name not in arrays:
                arrays[name] = dims, np.empty((self.plan.size, *array.shape[1:]), array.dtype)
            arrays[name][1][place] = array

    def _parameters(self, theta: Theta) -> Variables:
        return parameters(theta, self.subject.layout, self.subject.certain)

    def _log_prior(self, theta: Theta) -> Variables:
        """Return log p(theta) by the names of its variables, one number for each categorical distribution."""
        prior, (draws, _) = self.subject.model.prior, theta.shape
        layout = self.subject.layout
        beliefs = (belief.repeated(draws) for belief in layout.of_columns(prior.blocks))
        densities = layout.of_columns(theta.blocks)
        parts = [
            log_density_of(belief, density)
            for belief, density in zip(beliefs, densities, strict=True)
        ]
        variables = unfolded(theta, layout.arrange(parts))
        if not self.subject.certain:
            variables["class_prob"] = (
                (),
                next(iter(log_density_of(prior.classes, theta.class_probs).values())),
            )
        return variables

    def _log_likelihood_of_labels(self, theta: Theta, shift: Array) -> Array:
        """Return log p(y | x, theta) of every row's label, `(s, r)`, under exponents as they were found."""
        sheet: Any = self.sheet
        values = np.empty((theta.shape[0], sheet.rows))
        for rows, joint in theta.by_rows(sheet.cells, self.subject.exponents, self.subject.n_jobs):
            joint += shift[rows, None]
            total = logsumexp(joint, axis=2)
            total[np.isneginf(total)] = (
                0.0  # a row that is impossible has no label that is possible
            )
            values[:, rows] = (joint[np.arange(len(joint)), :, sheet.codes[rows]] - total).T
        return values

    def _log_likelihood_of_rows(self, theta: Theta) -> Array:
        """Return log p(x, y | theta) of every row with its label, `(s, r)`."""
        sheet: Any = self.sheet
        values = np.empty((theta.shape[0], sheet.rows))
        for rows, joint in theta.by_rows(sheet.cells, self.subject.once, self.subject.n_jobs):
            values[:, rows] = joint[np.arange(len(joint)), :, sheet.codes[rows]].T
        base = self.subject.model.posterior.with_base(np.zeros((sheet.rows, 1)), sheet.cells)
        return values + base[:, 0]

    def _predicted(
        self,
        theta: Theta,
        rng: np.random.Generator,
        additions: Additions,
        place: slice,
        with_p: bool,
    ) -> Variables:
        """Return labels drawn from p(y | x, theta), `(s, r)`, and these probabilities, `(s, r, c)`."""
        sheet: Any = self.sheet
        draws, classes = theta.shape
        y, p = (
            np.empty((draws, sheet.rows), np.int32),
            np.empty((draws, sheet.rows if with_p else 0, classes)),
        )
        for rows, joint in theta.by_rows(sheet.cells, self.subject.exponents, self.subject.n_jobs):
            joint += additions.of(rows, place)
            proba = theta.proba(joint, self.subject.n_jobs)
            y[:, rows] = draw_level(proba, rng).T
            if with_p:
                p[:, rows] = proba.swapaxes(0, 1)
        variables: Variables = {"y": (("obs_id",), y)}
        return variables | ({"p": (("obs_id", "class"), p)} if with_p else {})

    def dataset(self, group: str) -> xr.Dataset:
        """Return a group of draws as a Dataset, and forget its arrays."""
        drawn = {
            name: self.plan.labelled(*variable) for name, variable in self.groups.pop(group).items()
        }
        dataset = self.label(drawn).assign_attrs(LIBRARY_ATTRS)
        for name, attrs in LIKELIHOODS.items() if group == "log_likelihood" else ():
            dataset[name].attrs.update(attrs)
        return dataset

    def label(self, variables: Variables) -> xr.Dataset:
        """Label the axes of variables; codes of classes bring the classes along."""
        coords = self.plan.coords | self.subject.layout.coords
        if self.sheet is not None:
            coords["obs_id"] = coordinate(self.sheet.index)
        return labelled(variables, coords)


def _closed_form(subject: Subject, proper: bool) -> Variables:
    """Return the parameters of the posterior, and the log evidence where the prior is proper."""
    posterior = subject.model.posterior
    variables = subject.layout.arrange(
        [belief.parts() for belief in subject.layout.of_columns(posterior.blocks)]
    )
    if not subject.certain:
        variables["class_prob_concentration"] = (
            ("class",),
            next(iter(posterior.classes.parts().values())),
        )
    shares = [getattr(belief, "included", None) for belief in posterior.blocks]
    variables |= subject.layout.included([None if share is None else share[0] for share in shares])
    if proper:
        labels, columns = subject.model.prior.log_evidence(subject.model.stats)
        once = of_blocks(subject.once, len(columns))
        total = sum((column * power).sum() for column, power in zip(columns, once, strict=True))
        variables["log_evidence"] = (), np.array(labels + total)
    return variables


def _improper(subject: Subject) -> str | None:
    """Return which part of the prior is improper; None if none is."""
    prior = subject.model.prior
    if not prior.classes.strictly_proper:
        return "class_prior: a concentration of 0 is improper"
    return _first_improper(
        subject, [belief.strictly_proper for belief in prior.blocks], "the prior is improper"
    )


def _first_improper(subject: Subject, proper: Sequence[Array], message: str) -> str | None:
    for block, ok in zip(subject.layout.blocks, subject.layout.of_columns(proper), strict=True):
        if not ok.all():
            c, f = np.argwhere(~ok)[0]
            return f"column {block.names[f]!r}, class {subject.layout.classes.tolist()[c]!r}: {message}"
    return None


def _without(subject: Subject, improper: str | None) -> dict[tuple[str, ...], str]:
    """Return the groups that this model cannot have, and why."""
    if improper is not None:
        return {("prior", "log_prior"): f"{improper}; give a proper prior"}
    if subject.model.prior.is_mixture:
        return {
            (
                "log_prior",
            ): "under average_features classes may share a parameter, which then has no density"
        }
    return {}


def _default(given: Sequence[str], without: dict[tuple[str, ...], str]) -> list[str]:
    """Return all groups that can be drawn; rows with labels are checked and not predicted."""
    left_out = {name for names in without for name in names} | (
        {"predictions"} if "y" in given else set()
    )
    return [
        group
        for group, needs in GROUPS.items()
        if set(needs) <= set(given) and group not in left_out
    ]


def _checked(
    groups: Sequence[str], given: Sequence[str], without: dict[tuple[str, ...], str]
) -> list[str]:
    groups = [groups] if isinstance(groups, str) else list(groups)
    for group in groups:
        if group not in GROUPS:
            raise ValueError(f"groups: {group!r} is not one of {', '.join(GROUPS)}.")
        missing = [name for name in GROUPS[group] if name not in given]
        if missing:
            raise ValueError(
                f"groups: {group!r} needs {' and '.join(missing)}. Give {missing[0]}, or leave it out."
            )
        why = next((why for names, why in without.items() if group in names), None)
        if why is not None:
            raise ValueError(f"groups: {group!r} is not available, because {why}. Leave it out.")
    return groups
