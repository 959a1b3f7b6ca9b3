"""Labelled draws of a fitted model: probabilities, and a tree of ArviZ's groups.

The draws are exact and independent; they are split into chains because ArviZ expects chains. The
groups `prior` and `prior_predictive` share their draws of theta, and so do all other groups.

Columns of one family share an axis, even in different blocks: `feature`, or `<family>_feature` if
several families have such an axis. A column of levels has its own variable and axis,
`theta_<column> (class, <column>_level)`. So does a table of several columns,
`theta_<a,b> (class, <a,b>_combination)`: the combinations that were seen, and all others as one.
Covariances are `(class, feature, feature_2)`, with zeros between blocks.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.linalg import block_diag
from scipy.special import logsumexp

from bayesnb import __version__
from bayesnb.families.base import Array, Belief, Cells, Parts
from bayesnb.families.certain import KnownDie
from bayesnb.families.levels import draw_level
from bayesnb.inference.class_scores import scores_of
from bayesnb.inference.posterior_draws import (
    Additions,
    Theta,
    draw_proba,
    draw_theta,
    refuse_large,
    spawn_generator,
)
from bayesnb.model.fitted import Fitted
from bayesnb.model.product import Model
from bayesnb.model.schema import Block
from bayesnb.results.replicated import ROW_AXIS, Variables, replicate_columns
from bayesnb.results.tables import TitledFrame, add_title, coordinate, level_labels

Symbol = tuple[str, int | None]  # a pattern such as "theta{}", and the feature with its levels
Names = dict[Symbol, tuple[str, str]]  # name, axis

LIBRARY_ATTRS = {
    "inference_library": "bayesnb",
    "inference_library_version": __version__,
    "sampling": "exact iid",
}
NEEDS = {  # what each group needs, in the order of the tree
    "posterior": "",
    "prior": "",
    "log_prior": "",
    "log_likelihood": "X and y",
    "posterior_predictive": "X and y",
    "prior_predictive": "X and y",
    "predictions": "X",
    "observed_data": "X and y",
    "constant_data": "",
}
MCMC_ATTRS = {**LIBRARY_ATTRS, "sampling": "MCMC"}
MAX_BYTES = 512 << 20  # of theta in the tree of a sampler, and of some groups
MAX_ENTRIES = 200  # of each variable, for diagnostics
ELSEWHERE = "(elsewhere)"  # all unseen combinations of a table
NOT_DRAWN = ("observed_data", "constant_data")


@dataclass(frozen=True, eq=False)
class RowsToDraw:
    """Rows to draw for: names, cells, codes of classes if known, and columns to replicate.

    If `held_out` is given, labels are drawn from these probabilities, `(r, c)`. `keep_proba` is
    False if the probabilities would be too large to keep.
    """

    index: Array
    cells: Sequence[Cells]
    codes: Any = None
    columns: Variables = field(default_factory=dict)
    held_out: Array | None = None
    keep_proba: bool = True


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """Number of draws and chains, the random generator, and the number of threads."""

    draws: int
    chains: int
    rng: Any
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        sizes = {"draws": self.draws, "chains": self.chains}
        for name, value in sizes.items():
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}.")

    @property
    def size(self) -> int:
        return self.draws * self.chains

    def label(self, variables: Variables, coords: Mapping[str, Array]) -> xr.Dataset:
        """Label draws, `(s, ...)`, split into chains."""
        split: Variables = {}
        for name, (dims, array) in variables.items():
            shape = (self.chains, self.draws, *array.shape[1:])
            split[name] = ("chain", "draw", *dims), array.reshape(shape)
        chain = np.arange(self.chains)
        draw = np.arange(self.draws)
        return label_axes(split, {**coords, "chain": chain, "draw": draw})


def label_axes(variables: Variables, coords: Mapping[str, Array]) -> xr.Dataset:
    """Label the axes of variables, and the classes, as some variables are codes of classes."""
    data = xr.Dataset(variables)
    dims = ["class", *map(str, data.dims)]
    return data.assign_coords({dim: coords[dim] for dim in dims})


def add_time(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of a tree with its time of creation."""
    return {**attrs, "created_at": datetime.now(UTC).isoformat()}


def count_bytes(variables: Variables) -> int:
    """Return the number of bytes of all arrays."""
    return sum(array.nbytes for _, array in variables.values())


# Names of parameters


@dataclass(frozen=True, eq=False)
class Layout:
    """Names and axes of the parameters of every block.

    A table of combinations has the entries of its belief.
    """

    classes: Array
    blocks: Sequence[Block]
    beliefs: Sequence[Belief]

    def arrange(self, parts: Sequence[Parts]) -> Variables:
        """Return arrays of all blocks, `(n, k)` or `(n,)` with n classes or draws, by variable.

        Parts of links, which come last, are left out: links have no columns.
        """
        arrays: dict[tuple[str, str], list[Array]] = defaultdict(list)
        parts = parts[: len(self.blocks)]
        for names, of_block in zip(self.name(parts), parts, strict=True):
            for key, array in of_block.items():
                arrays[names[key]].append(array)
        variables: Variables = {}
        for (name, axis), side_by_side in arrays.items():
            array = _join(side_by_side)
            dims = ("class", axis, f"{axis}_2")
            variables[name] = dims[: array.ndim], array
        return variables

    def name(self, parts: Sequence[Iterable[Symbol]]) -> list[Names]:
        """Return the names and axes of the arrays of every block, by symbol and feature.

        A name that two families share gets the family as a prefix.
        """
        families: dict[str, set[str]] = defaultdict(set)
        for block, symbols in zip(self.blocks, parts, strict=True):
            if not _has_levels(block):
                for symbol, _ in symbols:
                    families[_root(symbol)].add(_family(block))
        named = []
        for block, places, symbols in zip(self.blocks, self._places, parts, strict=True):
            names = Names()
            for symbol, feature in symbols:
                column, axis = places[feature or 0]
                name = symbol.format(column)
                if not column and len(families[_root(symbol)]) > 1:
                    name = f"{_family(block)}_{name}"
                names[symbol, feature] = name, axis
            named.append(names)
        return named

    @cached_property
    def coords(self) -> dict[str, Array]:
        """The labels of every axis."""
        coords = {"class": coordinate(self.classes)}
        columns: dict[str, list[Hashable]] = defaultdict(list)
        for block, belief, places in zip(self.blocks, self.beliefs, self._places, strict=True):
            for j, (_, axis) in enumerate(places):
                if not _has_levels(block):
                    columns[axis] += block.names
                elif block.family.combined:
                    coords[axis] = coordinate(combinations(block, belief))
                else:
                    coords[axis] = block.starts[j] if block.starts else level_labels(block, j)
        for axis, names in columns.items():
            coords[axis] = coords[f"{axis}_2"] = coordinate(names)
        return coords

    @cached_property
    def _places(self) -> list[list[tuple[str, str]]]:
        """The suffix of variables and the axis, by feature of every block.

        A block whose columns share an axis has one entry, with an empty suffix. Suffixes of columns
        of levels have no '/', and keep all names and axes distinct.
        """
        numeric = {_family(block) for block in self.blocks if not _has_levels(block)}
        taken: set[str] = set()
        places: list[list[tuple[str, str]]] = []
        for block in self.blocks:
            if not _has_levels(block):
                axis = "feature" if len(numeric) == 1 else f"{_family(block)}_feature"
                places.append([("", axis)])
                continue
            kind = "combination" if block.family.combined else "level"
            of_block = []
            for key in block.keys:
                columns = key if isinstance(key, tuple) else [key]
                text = ",".join(map(str, columns)).replace("/", "_")
                while taken & _names_with(text):
                    text += "_"
                taken |= _names_with(text)
                of_block.append((f"_{text}", f"{text}_{kind}"))
            places.append(of_block)
        return places


def layout_of(fitted: Fitted) -> Layout:
    """Return the layout of a fitted model; entries of a table are those of its posterior."""
    blocks = fitted.schema.columns_alone.blocks
    return Layout(fitted.classes, blocks, fitted.model.posterior.blocks[: len(blocks)])


def combinations(block: Block, belief: Any) -> list[str]:
    """Return the labels of a table's entries: combinations of levels, and one for all unseen."""
    columns = []
    for j, codes in enumerate(belief.combinations.T):
        columns.append(level_labels(block, j).astype(str)[codes])
    names = list(map(", ".join, zip(*columns, strict=True)))
    if len(names) < prod(block.sizes):
        names.append(ELSEWHERE)
    return names


def _has_levels(block: Block) -> bool:
    return bool(block.levels or block.starts)


def _root(symbol: str) -> str:
    return symbol.partition("{")[0]


def _family(block: Block) -> str:
    return type(block.family).__name__.lower()


def _names_with(text: str) -> set[str]:
    """Return the names that a column of levels, or a table of several, reserves."""
    return {f"theta_{text}", f"ratio_{text}", f"{text}_level", f"{text}_combination"}


def _join(arrays: Sequence[Array]) -> Array:
    """Join blocks of a family along their features; without such an axis, sum them."""
    if len(arrays) == 1:
        return arrays[0]
    if arrays[0].ndim == 1:
        return np.sum(arrays, axis=0)
    if arrays[0].ndim == 2:
        return np.concatenate(arrays, axis=1)
    matrices = zip(*arrays, strict=True)
    return np.array([block_diag(*blocks) for blocks in matrices])


# p(y | x, theta)


def probabilities(fitted: Fitted, rows: RowsToDraw, plan: DrawPlan) -> xr.DataArray:
    """Return p(y | x, theta) of every draw and row."""
    classes = fitted.classes
    refuse_probabilities(plan, len(rows.index), len(classes))
    drawn = draw_proba(scores_of(fitted, rows.cells), plan.size, plan.rng, plan.n_jobs)
    attrs = {**LIBRARY_ATTRS, **fitted.temper_attributes}
    return label_probabilities(drawn, plan, rows.index, classes, attrs)


def refuse_probabilities(plan: DrawPlan, rows: int, classes: int) -> None:
    """Raise if the probabilities of all draws, rows and classes would take too much memory."""
    refuse_large(
        f"{plan.chains} chains of {plan.draws} draws for {rows} rows and {classes} classes",
        8.0 * plan.size * rows * classes,
        "Ask for fewer draws or rows; predict_proba and predict_interval need no draws.",
    )


def label_probabilities(
    drawn: Array, plan: DrawPlan, index: Array, classes: Array, attrs: dict[str, Any]
) -> xr.DataArray:
    """Label draws of p(y | x, theta), `(s, r, c)`."""
    coords = {"obs_id": coordinate(index), "class": coordinate(classes)}
    data = plan.label({"p": (("obs_id", "class"), drawn)}, coords)
    return data["p"].assign_attrs(attrs)


# Trees


def tree(
    fitted: Fitted, rows: RowsToDraw | None, plan: DrawPlan, groups: Sequence[str] | None = None
) -> xr.DataTree:
    """Return draws in ArviZ's groups."""
    model = fitted.model
    layout = layout_of(fitted)
    lacking = _list_lacking(fitted, rows)
    proper = [belief.proper for belief in model.posterior.blocks]
    improper = _find_improper(fitted, proper, "posterior")
    if improper:
        raise ValueError(
            f"{improper}, so it has no draws. Use a proper prior, or give rows of every class."
        )
    chosen = _choose(groups, lacking)
    attrs = add_time({**LIBRARY_ATTRS, **fitted.temper_attributes})
    omitted = []
    if groups is None and "prior" in lacking:
        omitted.append(f"prior, log_prior, prior_predictive: need {lacking['prior']}")
    drawn_for = rows
    if drawn_for is not None and rows is not None and rows.codes is not None:
        if plan.size * count_bytes(rows.columns) > MAX_BYTES:
            omitted.append("replicated columns of X: too large")
            drawn_for = replace(drawn_for, columns={})
        if 8 * plan.size * len(rows.codes) * len(fitted.classes) > MAX_BYTES:
            omitted.append("p in posterior_predictive: too large")
            drawn_for = replace(drawn_for, keep_proba=False)
    if omitted:
        attrs["omitted"] = "; ".join(omitted)
    one_draw = _draw_groups(fitted, layout, drawn_for, DrawPlan(1, 1, 0, plan.n_jobs), chosen)
    refuse_large(
        f"{plan.chains} chains of {plan.draws} draws in {', '.join(one_draw)}",
        float(plan.size * sum(map(count_bytes, one_draw.values()))),
        "Ask for fewer draws, fewer rows, or some `groups`.",
    )
    coords = dict(layout.coords)
    constants: dict[str, Variables] = {"constant_data": {}}
    if rows is not None:
        coords["obs_id"] = coordinate(rows.index)
        constants["observed_data"] = {"y": (ROW_AXIS, rows.codes), **rows.columns}
        constants["constant_data"] |= rows.columns
    if has_fixed_classes(model):
        class_prob = model.posterior.classes.mean()
        constants["constant_data"]["class_prob"] = ("class",), class_prob
    nodes = {"/": xr.Dataset(attrs=attrs)}
    for group, variables in _draw_groups(fitted, layout, drawn_for, plan, chosen).items():
        about = {**LIBRARY_ATTRS, **describe_group(group, rows)}
        nodes[group] = plan.label(variables, coords).assign_attrs(about)
    for group, variables in constants.items():
        if group in chosen and variables:
            nodes[group] = label_axes(variables, coords)
    return xr.DataTree.from_dict(nodes)


def describe_group(group: str, rows: RowsToDraw | None) -> dict[str, str]:
    """Return attributes of a group that describe its variables."""
    if group == "log_likelihood":
        return {"y": "log p(y | x, theta)", "row": "log p(x, y | theta)"}
    if group == "posterior_predictive":
        is_held_out = rows is not None and rows.held_out is not None
        y = "drawn from p(y | x, all other rows)" if is_held_out else "drawn from p(y | x, theta)"
        return {"y": y, "columns": "drawn from p(x | y, theta), y observed"}
    if group == "prior_predictive":
        return {"y": "drawn from p(y | theta)", "columns": "drawn from p(x | y, theta), y observed"}
    return {}


def has_fixed_classes(model: Model) -> bool:
    """Whether the class prior is fixed, so that it has no draws."""
    return isinstance(model.prior.classes, KnownDie)


def _list_lacking(fitted: Fitted, rows: RowsToDraw | None) -> dict[str, str]:
    """Return the groups that cannot be made from the given rows and prior, and what they need."""
    given = ""
    if rows is not None:
        given = "X" if rows.codes is None else "X and y"
    lacking = {group: needs for group, needs in NEEDS.items() if needs not in given}
    prior = fitted.model.prior
    proper = [belief.strictly_proper for belief in prior.blocks]
    improper = _find_improper(fitted, proper, "prior")
    if not prior.classes.strictly_proper:
        improper = "class_prior: a concentration of 0 is improper"
    if improper:
        needs = f"a proper prior ({improper})"
        lacking |= dict.fromkeys(("prior", "log_prior", "prior_predictive"), needs)
    return lacking


def _find_improper(fitted: Fitted, proper: Sequence[Array], kind: str) -> str:
    """Return text that names an improper column and its class; "" for none."""
    blocks = fitted.schema.columns_alone.blocks
    for block, is_proper in zip(blocks, proper, strict=False):  # links come last
        if not is_proper.all():
            c, f = np.argwhere(~is_proper)[0]
            label = fitted.classes.tolist()[c]
            return f"column {block.names[f]!r}, class {label!r}: the {kind} is improper"
    return ""


def _choose(groups: Sequence[str] | str | None, lacking: Mapping[str, str]) -> list[str]:
    """Return the groups to fill; raise if a requested group cannot be made.

    By default, these are all that can be made, without `predictions` for rows with labels.
    """
    if groups is None:
        groups = [group for group in NEEDS if group not in lacking]
        if "log_likelihood" in groups:
            groups.remove("predictions")
        return groups
    if isinstance(groups, str):
        groups = [groups]
    for group in groups:
        if group not in NEEDS:
            raise ValueError(f"groups: {group!r} is not one of {', '.join(NEEDS)}.")
        if group in lacking:
            raise ValueError(
                f"groups: {group!r} needs {lacking[group]}. Provide it, or leave out the group."
            )
    return [group for group in NEEDS if group in groups]


def store(variables: Variables, size: int, place: slice, drawn: Variables) -> None:
    """Put a part of the draws, `(s, ...)`, into the variables of all draws."""
    for name, (dims, array) in drawn.items():
        if name not in variables:
            shape = (size, *array.shape[1:])
            variables[name] = dims, np.empty(shape, array.dtype)
        _, out = variables[name]
        out[place] = array


def _draw_groups(
    fitted: Fitted,
    layout: Layout,
    rows: RowsToDraw | None,
    plan: DrawPlan,
    chosen: Sequence[str],
) -> dict[str, Variables]:
    """Return the variables of groups that are drawn, `(s, ...)`."""
    rng = np.random.default_rng(plan.rng)
    model = fitted.model
    additions = None
    if rows is not None:  # as `draw_proba` would, from the same state of the generator
        scores = scores_of(fitted, rows.cells)
        additions = Additions.draw(scores, plan.size, spawn_generator(rng, 2))
    posterior = draw_theta(model.posterior, plan.size, rng)
    prior = draw_theta(model.prior.beside(model.posterior), plan.size, rng)
    label_rng = np.random.default_rng(rng.integers(1 << 63))
    further = spawn_generator(rng)
    groups: dict[str, Variables] = {}
    for group in chosen:
        if group not in NOT_DRAWN:
            groups[group] = {}
    for place, theta in posterior:
        opened = None
        if rows is not None:
            opened = theta.opened(model.posterior.blocks, rows.cells, further)
        draws = GroupDraws(
            fitted, layout, plan.n_jobs, theta, place, rows, opened, additions, label_rng
        )
        for group in groups:
            if not group.startswith("prior"):
                store(groups[group], plan.size, place, getattr(draws, group)())
    if "prior" in groups or "prior_predictive" in groups:
        for place, theta in prior:
            drawn = {"prior": parameters(theta, layout, has_fixed_classes(model))}
            if "prior_predictive" in groups:
                drawn["prior_predictive"] = predict_prior(theta, layout, rows, label_rng)
            for group in groups.keys() & drawn.keys():
                store(groups[group], plan.size, place, drawn[group])
    return groups


def predict_prior(theta: Theta, layout: Layout, rows: Any, rng: np.random.Generator) -> Variables:
    """Return labels drawn from the prior, `(s, r)`, and columns given the observed classes."""
    shares = theta.class_probs.probability[:, None]
    proba = np.broadcast_to(shares, (len(shares), len(rows.codes), shares.shape[-1]))
    variables: Variables = {"y": (ROW_AXIS, draw_level(proba, rng).astype(np.int32))}
    if rows.columns:
        variables |= replicate_columns(theta, layout.blocks, rows.codes, rng)
    return variables


def parameters(theta: Theta, layout: Layout, certain: bool) -> Variables:
    """Return theta by variables, `(s, c, ...)`, without the class prior if that is fixed."""
    variables: Variables = {}
    if not certain:
        variables["class_prob"] = ("class",), theta.class_probs.probability
    parts = [density.parts() for density in theta.blocks]
    return variables | _arrange(layout, theta, parts)


def _arrange(layout: Layout, theta: Theta, parts: Sequence[Parts]) -> Variables:
    """Return arrays of all draws and classes, `(s * c, ...)`, by variable as `(s, c, ...)`."""
    variables: Variables = {}
    for name, (dims, array) in layout.arrange(parts).items():
        shape = (*theta.shape, *array.shape[1:])
        variables[name] = dims, array.reshape(shape)
    return variables


@dataclass(frozen=True, eq=False)
class GroupDraws:
    """Some draws of theta and their place among all, with a method for each group that is drawn."""

    fitted: Fitted
    layout: Layout
    n_jobs: int | None
    theta: Theta
    place: slice
    rows: Any
    opened: Any  # theta with entries for all cells of the rows
    additions: Any  # to the scores of the rows
    rng: np.random.Generator  # of labels

    def posterior(self) -> Variables:
        """Return theta."""
        return parameters(self.theta, self.layout, has_fixed_classes(self.fitted.model))

    def log_prior(self) -> Variables:
        """Return log p(theta), one number for each categorical distribution."""
        layout = self.layout
        prior = self.fitted.model.prior
        draws, _ = self.theta.shape
        parts = []
        for at, _ in enumerate(layout.blocks):  # links come last, and have no parameters here
            belief = prior.blocks[at].repeated(draws)
            parts.append(belief.log_density(self.theta.blocks[at]))
        variables = _arrange(layout, self.theta, parts)
        if not has_fixed_classes(self.fitted.model):
            (logs,) = prior.classes.log_density(self.theta.class_probs).values()
            variables["class_prob"] = (), logs
        return variables

    def log_likelihood(self) -> Variables:
        """Return log p(y | x, theta), with the exponents found, and log p(x, y | theta)."""
        fitted = self.fitted
        cells = self.rows.cells
        codes = self.rows.codes
        draws, _ = self.opened.shape
        of_labels, of_rows = np.empty((2, draws, len(codes)))
        for rows, joint in self.opened.by_rows(cells, fitted.exponents, self.n_jobs):
            joint += self.additions.shift[rows, None]
            total = logsumexp(joint, axis=2)
            total[np.isneginf(total)] = 0.0  # a row that is impossible has no possible label
            of_labels[:, rows] = (_pick(joint, codes[rows]) - total).T
        for rows, joint in self.opened.by_rows(cells, fitted.joint_exponents, self.n_jobs):
            of_rows[:, rows] = _pick(joint, codes[rows]).T
        zeros = np.zeros((len(codes), 1))
        of_rows += fitted.model.posterior.with_base(zeros, cells)[:, 0]
        return {"y": (ROW_AXIS, of_labels), "row": (ROW_AXIS, of_rows)}

    def predictions(self) -> Variables:
        """Return labels drawn from p(y | x, theta), and these probabilities."""
        fitted = self.fitted
        draws, classes = self.opened.shape
        size = len(self.rows.index)
        y = np.empty((draws, size), np.int32)
        p = np.empty((draws, size, classes))
        for rows, joint in self.opened.by_rows(self.rows.cells, fitted.exponents, self.n_jobs):
            joint += self.additions.of(rows, self.place)
            proba = self.opened.proba(joint, self.n_jobs)
            y[:, rows] = draw_level(proba, self.rng).T
            p[:, rows] = proba.swapaxes(0, 1)
        return {"y": (ROW_AXIS, y), "p": (("obs_id", "class"), p)}

    def posterior_predictive(self) -> Variables:
        """Return drawn labels, their probabilities, and replicated columns."""
        variables = self.predictions()
        rows = self.rows
        if rows.held_out is not None:
            draws, _ = self.theta.shape
            proba = np.broadcast_to(rows.held_out, (draws, *rows.held_out.shape))
            variables["y"] = ROW_AXIS, draw_level(proba, self.rng).astype(np.int32)
        if not rows.keep_proba:
            del variables["p"]
        if rows.columns:
            variables |= replicate_columns(self.theta, self.layout.blocks, rows.codes, self.rng)
        return variables


def _pick(joint: Array, codes: Array) -> Array:
    """Return the entries of the rows' classes, `(r, s, c), (r,) -> (r, s)`."""
    return np.take_along_axis(joint, codes[:, None, None], axis=2)[..., 0]


# Draws of a sampler


def sampled_tree(
    traces: Any,
    plan: DrawPlan,
    layout: Layout,
    parts: Callable[[], Iterator[tuple[slice, Variables]]],
    temper: Mapping[str, Any],
    index: Array | None = None,
    codes: Any = None,
) -> xr.DataTree:
    """Return the sampler's hyperparameters and statistics, theta, and labels if given.

    `parts` yields theta by variable, `(s, ...)`, for some draws at a time, chain after chain.
    """
    place, first = next(parts())
    variables: Variables = {}
    attrs = {**describe_sampler(traces), **temper}
    size = plan.size * count_bytes(first) // place.stop
    if size > MAX_BYTES:
        attrs["omitted"] = (
            f"theta: its {plan.size} draws would take {size / 2**30:.1f} GiB, more than "
            f"{MAX_BYTES / 2**30:g}"
        )
    else:
        for place, drawn in parts():
            store(variables, plan.size, place, drawn)
    coords = dict(layout.coords)
    posterior = _merge(traces["posterior"].to_dataset(), plan.label(variables, coords), first)
    groups = {"/": xr.Dataset(attrs=attrs), "posterior": posterior.assign_attrs(MCMC_ATTRS)}
    if "sample_stats" in traces.children:
        groups["sample_stats"] = traces["sample_stats"].to_dataset()
    if index is not None:
        coords["obs_id"] = coordinate(index)
        groups["observed_data"] = label_axes({"y": (ROW_AXIS, codes)}, coords)
    return xr.DataTree.from_dict(groups)


def _merge(sampled: xr.Dataset, drawn: xr.Dataset, names: Variables) -> xr.Dataset:
    """Merge the sampler's variables with our draws of theta, which replace the sampler's.

    The sampler numbers the later blocks of a family.
    """
    drawn = drawn.assign_coords(chain=sampled["chain"], draw=sampled["draw"])
    ours = [name for name in sampled if {name, re.sub(r"_\d+$", "", str(name))} & names.keys()]
    others = sampled.drop_vars(ours)
    clashing = {}
    for dim in others.dims:
        if dim in drawn.coords and not others[dim].equals(drawn[dim]):
            clashing[dim] = f"sampled_{dim}"
    return drawn.merge(others.rename(clashing))


def describe_sampler(traces: Any) -> dict[str, Any]:
    """Return attributes of a tree that name its sampler."""
    attrs = traces["posterior"].attrs
    sampler = f"{attrs.get('inference_library')} {attrs.get('inference_library_version')}"
    return {**add_time(MCMC_ATTRS), "sampler": sampler}


# Diagnostics


def summarise(tree: xr.DataTree, var_names: Any, ci_prob: float | None) -> TitledFrame:
    """Return ArviZ's table of means, intervals and diagnostics of the posterior's variables."""
    import arviz_stats as azs  # a second of imports

    table = azs.summary(tree, var_names=var_names, ci_prob=ci_prob, round_to="none")
    sizes = tree["posterior"].sizes
    return add_title(table, f"Posterior, {sizes['chain']} chains of {sizes['draw']:,} draws")


def diagnose(posterior: xr.Dataset) -> pd.DataFrame:
    """Return the largest r_hat and the fewest effective draws, in bulk or tails, by variable.

    Where they are undefined, because draws are very few or not finite, r_hat is infinite and `ess`
    is 0. One chain has no r_hat.
    """
    import arviz_stats as azs  # a second of imports

    entries = {}
    for name, array in posterior.items():
        values = _select_entries(array.values)
        if values.size:
            entries[name] = ("chain", "draw", f"{name}_entry"), values
    selected = xr.Dataset(entries)
    with np.errstate(all="ignore"):
        r_hat = azs.rhat(selected)
        ess = np.minimum(azs.ess(selected, method="bulk"), azs.ess(selected, method="tail"))
    table = pd.DataFrame(
        {
            "r_hat": r_hat.fillna(np.inf).max().to_pandas(),
            "ess": ess.fillna(0.0).min().to_pandas(),
        }
    )
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
