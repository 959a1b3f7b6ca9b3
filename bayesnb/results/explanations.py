"""Explanations and linear forms as labelled Datasets: names of features, contents of cells."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from bayesnb.data.levels import qualified_names
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import plus_minus, shorten
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.linear_form import Form
from bayesnb.model.linked import LinkBlock
from bayesnb.model.powers import Numbers, of_blocks
from bayesnb.model.schema import Block
from bayesnb.numerics.views import EVERY, as_numbers
from bayesnb.results.parameter_names import coordinate, level_labels, row_names
from bayesnb.results.tables import MAX_ROWS, Result

TERM_NAMES = {
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "predictive": "log predictive of the cell",
    "class_term": "posterior mean of the class's own part of its score",
    "class_term_sd": "posterior standard deviation of the class term",
    "predictive_class_term": "log predictive of the class",
}
WEIGHT_NAMES = {
    "w": "weight of the feature in the class's score",
    "b": "what the class's score is where every feature is 0",
    "w_sd": "posterior standard deviation of w",
    "b_sd": "posterior standard deviation of b",
}
CLASS_ROW = "(class frequency)"
TOTAL = "(total)"
INTERCEPT = "(intercept)"
MAX_FEATURES = 12  # shown of a row
MAX_LETTERS = 44  # of a feature and its cell
MAX_CELL_LETTERS = 28  # the cells of a link are seen, if not all of its name
MISSING, UNKNOWN, NEW = "missing", "unknown", "new"  # cells
UNKNOWN_CODE = -2


class RowExplanations(Result):
    """What each feature of each row adds to the scores of the classes.

    `to_frame` has a row for each (obs_id, class, feature), with `cell`, `evidence`, `sd` and
    `predictive`; the class's own part is the feature "(class frequency)", so that `evidence` adds
    up to the score.
    """

    __slots__ = ()
    _axes = ("obs_id", "class", "feature")
    _columns = ("evidence", "sd", "predictive")

    def _terms(self) -> xr.Dataset:
        """Return the terms of the scores, the class's own part as the first feature."""
        names = {
            "evidence": "class_term",
            "sd": "class_term_sd",
            "predictive": "predictive_class_term",
        }
        first = _first_feature(self, names, CLASS_ROW).assign(cell="")
        features = self[["cell", *self._columns]]
        return xr.concat([first, features], "feature", join="exact", data_vars="all")

    def _frame(self) -> pd.DataFrame:
        table = self._terms().to_dataframe(dim_order=list(self._axes))
        return table[["cell", *self._columns]]

    def _shown(self) -> pd.DataFrame:
        """Return a line for each of the features that differ most, and a column for each class."""
        rows = self.sizes["obs_id"]
        terms = self._terms()
        lines = {}
        for at in range(rows):
            if at < MAX_ROWS or at >= rows - MAX_ROWS:
                lines[at] = _describe_row(self.isel(obs_id=at), terms.isel(obs_id=at))
        table = pd.concat(lines)
        names = self["obs_id"].values[table.index.get_level_values(0)]
        table.index = pd.MultiIndex.from_arrays(
            [names, table.index.get_level_values(1)], names=["obs_id", "feature = cell"]
        )
        return table


def _describe_row(row: xr.Dataset, terms: xr.Dataset) -> pd.DataFrame:
    """Return the class's own part, features, the rest together, and the total, by class.

    In a model with links they are log predictives: where a class has no row with both cells of a
    link, the posterior mean of its log-ratio may be far below the log of the mean.
    """
    terms = terms.transpose("feature", "class")
    has_links = "links" in row["cell"].attrs
    means = terms["predictive" if has_links else "evidence"].values
    sds = np.zeros_like(means) if has_links else terms["sd"].values
    names = [CLASS_ROW]
    for name, cell in zip(terms["feature"].values[1:], terms["cell"].values[1:], strict=True):
        short_cell = shorten(cell, MAX_CELL_LETTERS)
        short_name = shorten(name, MAX_LETTERS - len(short_cell) - 3)
        names.append(f"{short_name} = {short_cell}")
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(np.ptp(means, axis=1))
    order = 1 + np.argsort(-spread[1:], kind="stable")
    rest = order[MAX_FEATURES:]
    total = means.sum(axis=0)
    unknown = np.zeros_like(total)
    is_complete = np.allclose(total, row["score"].values)  # all features were selected
    parts = [(names[j], means[j], sds[j]) for j in (0, *np.sort(order[:MAX_FEATURES]))]
    if len(rest):
        parts.append((f"({len(rest):,} others)", means[rest].sum(axis=0), unknown))
    total_sd = np.broadcast_to(row["score_sd"].values, total.shape)
    parts.append((TOTAL, total, total_sd if is_complete and not has_links else unknown))
    lines = []
    for _, mean, sd in parts:
        pairs = zip(mean, sd, strict=True)
        lines.append([plus_minus(*pair, max_decimals=2) for pair in pairs])
    classes = np.atleast_1d(row["class"].values).tolist()
    return pd.DataFrame(lines, [name for name, *_ in parts], classes)


def explained(
    explanation: Explanation,
    rows: Array,
    classes: Array,
    blocks: Sequence[Block],
    cells: Sequence[Cells],
    tempers: Mapping[str, Numbers],
) -> xr.Dataset:
    """Label an explanation, features in the order of the table, with their exponents."""
    features: list[tuple[Block, tuple[int, ...]]] = []  # a block, and the feature's columns in it
    texts = []
    widths = []
    for block, x, words in zip(blocks, cells, explanation.words, strict=True):
        in_block = _columns_of_features(block, words)
        features += [(block, columns) for columns in in_block]
        widths.append(len(in_block))
        texts.append(cell_texts(block, x, words))
    places = [block.word_places[columns[0]] for block, columns in features]
    order = np.argsort(places, kind="stable")
    plain = [_name_feature(*feature) for feature in features]
    columns_of_words = [
        block.names[0] if block.family.listed else name
        for (block, _), name in zip(features, plain, strict=True)
    ]
    names = qualified_names(plain, columns_of_words)
    ordered = explanation.ordered(order)
    arrays = {name: getattr(ordered, name) for name in TERM_NAMES}
    shown = np.concatenate(texts, axis=1)[:, order]
    links = []
    joint = []
    for name, qualified, (block, columns) in zip(plain, names, features, strict=True):
        if isinstance(block, LinkBlock):
            links.append(qualified)
        if len(columns) > 1:
            joint.append(name)
    table = explanation_dataset(
        rows, classes, coordinate(names)[order], arrays, shown, has_links=bool(links)
    )
    for name, power in tempers.items():
        powers = zip(of_blocks(power, len(blocks)), widths, strict=True)
        numbers = np.concatenate([np.broadcast_to(w, n) for w, n in powers])
        table[name] = "feature", numbers.astype(float)[order]
    if joint:
        table["cell"].attrs["blocks"] = joint  # the features whose cells name their columns
    if links:
        table["cell"].attrs["links"] = links  # the features whose cells are two
    return table


def explanation_dataset(
    index: Array,
    classes: Array,
    features: Array,
    arrays: Mapping[str, Array],
    texts: Array,
    has_links: bool = False,
) -> xr.Dataset:
    """Label terms of scores, `(c,)`, `(r, c)` or `(r, c, f)`, and what the cells held, `(r, f)`."""
    axes = {
        1: ("class",),
        2: ("obs_id", "class"),
        3: ("obs_id", "class", "feature"),
    }
    kind = "log predictive" if has_links else "posterior mean ± sd"
    odds = "log-odds of the prediction" if has_links else "mean log-odds"
    attrs = {
        "title": f"What each feature adds to the scores of the classes (nats, {kind})",
        "note": f"(total) of one class less that of another is their {odds}; "
        "what all classes share says nothing.",
    }
    variables: dict[str, Any] = {}
    for name, x in arrays.items():
        about = {
            "long_name": TERM_NAMES[name],
            "units": "nats",
        }
        variables[name] = axes[x.ndim], x, about
    variables["cell"] = ("obs_id", "feature"), texts, {"long_name": "what the cell held"}
    coords = {
        "obs_id": row_names(index),
        "class": classes,
        "feature": features,
    }
    return RowExplanations(variables, coords, attrs)


def _columns_of_features(block: Block, words: Array | None) -> list[tuple[int, ...]]:
    """Return the columns of every feature: one, or all of a block with a joint density."""
    if words is not None:
        return [(j,) for j in words.tolist()]
    if block.family.multivariate:
        return [tuple(range(len(block.names)))]
    return [(j,) for j in range(len(block.words))]


def _name_feature(block: Block, columns: tuple[int, ...]) -> Hashable:
    if len(columns) == 1:
        return block.words[columns[0]]
    return ", ".join(str(block.words[j]) for j in columns)


def _first_feature(data: xr.Dataset, terms: Mapping[str, str], label: str) -> xr.Dataset:
    """Return terms that no feature has as variables of a feature of their own."""
    like = data[next(iter(terms))].isel(feature=0, drop=True)
    variables = {name: data[term] for name, term in terms.items()}
    return xr.Dataset(variables).broadcast_like(like).expand_dims({"feature": [label]})


# Cells


def cell_texts(block: Block, x: Cells, words: Array | None) -> Array:
    """Return the contents of the cells of every feature as text, `(r, f)`.

    Cells of several columns carry the names of the columns; lists are shown as words.
    """
    if words is None and block.family.listed:
        return _join_words(block, x)
    if isinstance(block, LinkBlock):
        codes = x[EVERY]
        return np.stack([block.texts(j, codes[:, j]) for j in range(len(block.ends))], axis=1)
    features = _columns_of_features(block, words)
    columns = [j for feature in features for j in feature]
    numbers = as_numbers(x)[EVERY][:, columns]
    numbers = numbers.toarray() if sparse.issparse(numbers) else np.asarray(numbers)
    texts = np.empty(numbers.shape, object)
    for at, j in enumerate(columns):
        values, places = np.unique(numbers[:, at].astype(float), return_inverse=True)
        distinct = [_describe_cell(block, j, value) for value in values.tolist()]
        texts[:, at] = np.array(distinct, object)[places]
    if len(features) == len(columns):
        return texts
    names = [f"{block.names[j]}=" for j in columns]
    lines = [", ".join(map(str.__add__, names, row)) for row in texts]
    return np.array(lines, object)[:, None]


def _join_words(block: Block, x: Cells) -> Array:
    rows = sparse.csr_array(x)
    texts = []
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        words = []
        for j, count in zip(rows.indices[start:stop], rows.data[start:stop], strict=True):
            words.append(f"{block.words[j]}" if count == 1 else f"{block.words[j]} {count:.6g}")
        texts.append(", ".join(words))
    return np.array(texts, object)[:, None]


def _describe_cell(block: Block, j: int, value: float) -> str:
    has_levels = block.family.has_levels
    if np.isnan(value) or (has_levels and value < 0):
        return UNKNOWN if value == UNKNOWN_CODE else MISSING
    if has_levels:
        levels = block.levels[j]
        return str(levels[int(value)]) if value < len(levels) else NEW
    outcomes = block.family.outcomes
    return outcomes[int(value)] if outcomes else f"{value:.6g}"


# Linear forms


class LinearForms(Result):
    """Scores of the classes as linear functions: weights and offsets with their sds.

    `to_frame` has a row for each (class, feature), with `w` and `w_sd`; the offset b is the feature
    "(intercept)".
    """

    __slots__ = ()
    _axes = ("class", "feature")
    _columns = ("w", "w_sd")

    def _frame(self) -> pd.DataFrame:
        first = _first_feature(self, {"w": "b", "w_sd": "b_sd"}, INTERCEPT)
        both = xr.concat([first, self[["w", "w_sd"]]], "feature", join="exact")
        return both.to_dataframe(dim_order=list(self._axes))

    def _shown(self) -> pd.DataFrame:
        """Return a column for each class but the one against which the others are shown."""
        table = self._frame()
        against = self.attrs.get("against")
        texts = pd.Series(list(map(plus_minus, table["w"], table["w_sd"])), table.index)
        by_class = texts.unstack("class", sort=False)
        return by_class.loc[:, [str(label) != against for label in by_class.columns]]


class Terms(NamedTuple):
    """The column and level that each weight multiplies, block by block, and their order."""

    columns: list[Hashable]
    levels: list[str | None]  # None for a column without any
    order: Array  # that of the table

    @property
    def names(self) -> list[Hashable]:
        pairs = zip(self.columns, self.levels, strict=True)
        return [column if level is None else f"{column}={level}" for column, level in pairs]


def terms_of(blocks: Sequence[Block]) -> Terms:
    """Return one term for each column, or for each level of a column that has levels."""
    places: list[int] = []
    columns: list[Hashable] = []
    levels: list[str | None] = []
    for block in blocks:
        for j, (place, name) in enumerate(zip(block.places, block.names, strict=True)):
            labels: list[str | None] = [None]
            if block.levels:
                labels = list(map(str, level_labels(block, j)))
            places += [place] * len(labels)
            columns += [name] * len(labels)
            levels += labels
    return Terms(columns, levels, np.argsort(places, kind="stable"))


def linear_form(
    form: Form, classes: Array, terms: Terms, attrs: Mapping[str, object]
) -> xr.Dataset:
    """Label a linear form, features in the order of the table."""
    form = form.ordered(terms.order)
    levels = ["" if level is None else level for level in terms.levels]
    against = f" against {attrs['against']}" if "against" in attrs else ""
    estimate = f", estimate {attrs['estimate']}" if "estimate" in attrs else ""
    title = f"Weights of the linear scores of the classes{against} (± posterior sd{estimate})"
    variables = {}
    for name, words in WEIGHT_NAMES.items():
        weights = getattr(form, name)
        variables[name] = ("class", "feature")[: weights.ndim], weights, {"long_name": words}
    coords = {
        "class": coordinate(classes),
        "feature": coordinate(terms.names)[terms.order],
        "column": ("feature", coordinate(terms.columns)[terms.order]),
        "level": ("feature", coordinate(levels)[terms.order]),
    }
    return LinearForms(variables, coords, {"title": title, **attrs})
