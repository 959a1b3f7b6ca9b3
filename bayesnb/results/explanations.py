"""Explanations and linear forms as labelled Datasets: names of features, contents of cells."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

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
from bayesnb.model.powers import Numbers, feature_exponents
from bayesnb.model.schema import Block
from bayesnb.numerics.views import EVERY, as_numbers
from bayesnb.results.parameter_names import coordinate, level_labels
from bayesnb.results.tables import MAX_ROWS, Result, label

CLASS_TERMS = {  # of the class's own part, beside the features'
    "evidence": "class_term",
    "sd": "class_term_sd",
    "predictive": "predictive_class_term",
}
CLASS_ROW = "(class frequency)"
TOTAL = "(total)"
INTERCEPT = "(intercept)"
MAX_FEATURES = 12  # shown of a row
TOLERANCE = 1e-6  # of a sum of features, relative
MAX_LETTERS = 44  # of a feature and its cell
MAX_CELL_LETTERS = 28  # the cells of a link are seen, if not all of its name
UNKNOWN_CODE = -2  # of a level that was never learnt


class RowExplanations(Result):
    """What each feature of each row adds to the scores of the classes.

    `to_frame` has a row for each (obs_id, class, feature), with `cell`, `evidence`, `sd` and
    `predictive`; the class's own part is the feature "(class frequency)", so that `evidence` adds
    up to the score.
    """

    __slots__ = ()
    _axes = ("obs_id", "class", "feature")
    _columns = ("evidence", "sd", "predictive")
    _about: ClassVar = {
        "score": "posterior mean of the class's score [nats]",
        "score_sd": "posterior standard deviation of the score [nats]",
        "evidence": "posterior mean of what the feature adds to the class's score [nats]",
        "sd": "posterior standard deviation of the evidence [nats]",
        "predictive": "log predictive of the cell [nats]",
        "class_term": "posterior mean of the class's own part of its score [nats]",
        "class_term_sd": "posterior standard deviation of the class term [nats]",
        "predictive_class_term": "log predictive of the class [nats]",
        "cell": "what the cell held",
    }

    def _terms(self) -> xr.Dataset:
        """Return the terms of the scores, the class's own part as the first feature."""
        first = _first_feature(self, CLASS_TERMS, CLASS_ROW).assign(cell="")
        features = self[["cell", *self._columns]]
        return xr.concat([first, features], "feature", data_vars="all")

    def _frame(self) -> pd.DataFrame:
        table = self._terms().to_dataframe(dim_order=list(self._axes))
        return table[["cell", *self._columns]]

    def _shown(self) -> pd.DataFrame:
        """Return a line for each of the features that differ most, and a column for each class.

        In a model with links they are log predictives: where a class has no row with both cells of
        a link, the posterior mean of its log-ratio may be far below the log of the mean.
        """
        terms = self._terms().transpose("obs_id", "feature", "class")
        if "links" in self["cell"].attrs:
            terms = terms.assign(evidence=terms["predictive"], sd=0 * terms["sd"])
        total = terms["evidence"].sum("feature")
        gap = abs(total - self["score"])
        is_score = gap < TOLERANCE * (1 + abs(total))  # all features were selected
        terms["total_sd"] = xr.where(is_score, self["score_sd"], 0.0)
        names = self["obs_id"].values
        tables = []
        for at, name in enumerate(names):
            if at < MAX_ROWS or at >= len(names) - MAX_ROWS:
                table = _describe_row(terms.isel(obs_id=at))
                table.index = pd.MultiIndex.from_product([[name], table.index])
                tables.append(table)
        return pd.concat(tables).rename_axis(["obs_id", "feature = cell"])


def _describe_row(terms: xr.Dataset) -> pd.DataFrame:
    """Return the class's own part, features, the rest together, and the total, by class."""
    means = terms["evidence"].values
    sds = terms["sd"].values
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(np.ptp(means[1:], axis=1))
    order = 1 + np.argsort(-spread, kind="stable")
    features = np.sort(order[:MAX_FEATURES])
    rest = order[MAX_FEATURES:]
    names = [CLASS_ROW]
    for j in features:
        cell = shorten(terms["cell"].values[j], MAX_CELL_LETTERS)
        room = MAX_LETTERS - len(cell) - 3
        name = shorten(terms["feature"].values[j], room)
        names.append(f"{name} = {cell}")
    shown = [0, *features]
    means_of_lines = [*means[shown]]
    sds_of_lines = [*sds[shown]]
    if len(rest):
        names.append(f"({len(rest):,} others)")
        means_of_lines.append(means[rest].sum(axis=0))
        sds_of_lines.append(0 * sds[0])
    names.append(TOTAL)
    means_of_lines.append(means.sum(axis=0))
    sds_of_lines.append(terms["total_sd"].values)
    to_text = np.vectorize(partial(plus_minus, max_decimals=2))
    texts = to_text(means_of_lines, sds_of_lines)
    return pd.DataFrame(texts, names, terms["class"].values.tolist())


def explained(
    explanation: Explanation,
    rows: Array,
    classes: Array,
    blocks: Sequence[Block],
    cells: Sequence[Cells],
    tempers: Mapping[str, Numbers],
) -> Result:
    """Label an explanation, features in the order of the table, with their exponents."""
    features = list_features(blocks, cells, explanation.words)
    ordered = explanation.ordered(features.order)
    arrays = {}
    for name in RowExplanations._about:
        if name != "cell":
            arrays[name] = getattr(ordered, name)
    table = explanation_dataset(rows, classes, features, arrays)
    for name, power in tempers.items():
        numbers = feature_exponents(power, features.widths)
        table[name] = "feature", numbers[features.order]
    return table


class Features(NamedTuple):
    """Names of features and texts of their cells, `(r, f)`, in the order of the table."""

    names: Array
    texts: Array
    order: Array
    widths: list[int]  # features of each block
    attrs: dict[str, list[Hashable]]  # features that are "blocks" of columns, and "links"


def list_features(
    blocks: Sequence[Block], cells: Sequence[Cells], words: Sequence[Array | None]
) -> Features:
    """Return the features of all blocks; `words` are the columns that are features by themselves.

    They are None for a block of which every column is, or of which all columns are one feature.
    """
    names: list[Hashable] = []
    columns_of: list[Hashable] = []
    places: list[int] = []
    texts = []
    widths = []
    joint: list[Hashable] = []
    links: list[Hashable] = []
    for block, x, of_block in zip(blocks, cells, words, strict=True):
        columns = range(len(block.words)) if of_block is None else of_block.tolist()
        labels = [block.words[j] for j in columns]
        if of_block is None and block.family.listed:
            labels = list(block.names)
            texts.append(_join_words(block, x))
        elif of_block is None and block.family.multivariate and len(labels) > 1:
            texts.append(_join_cells(labels, cell_texts(block, x, columns)))
            labels = [", ".join(map(str, labels))]
            joint += labels
        else:
            texts.append(cell_texts(block, x, columns))
        if block.is_linked:
            links += labels
        names += labels
        columns_of += [block.names[0]] * len(labels) if block.family.listed else labels
        places += [block.word_places[j] for j in columns[: len(labels)]]
        widths.append(len(labels))
    attrs = {}
    if joint:
        attrs["blocks"] = joint
    if links:
        attrs["links"] = links
    order = np.argsort(places, kind="stable")
    labels_of_all = coordinate(qualified_names(names, columns_of))
    texts_of_all = np.concatenate(texts, axis=1)
    return Features(labels_of_all[order], texts_of_all[:, order], order, widths, attrs)


def explanation_dataset(
    index: Array, classes: Array, features: Features, arrays: Mapping[str, Array]
) -> Result:
    """Label terms of scores, `(c,)`, `(r, c)` or `(r, c, f)`, in the order of the table."""
    kind = "posterior mean ± sd"
    odds = "mean log-odds"
    if "links" in features.attrs:
        kind = "log predictive"
        odds = "log-odds of the prediction"
    attrs = {
        "title": f"What each feature adds to the scores of the classes (nats, {kind})",
        "note": f"(total) of one class less that of another is their {odds}; "
        "what all classes share says nothing.",
    }
    axes = ("obs_id", "class", "feature")
    variables: dict[tuple[str, ...], dict[str, Array]] = {}
    variables["obs_id", "feature"] = {"cell": features.texts}
    for name, array in arrays.items():
        dims = axes[: array.ndim]
        if array.ndim == 1:
            dims = ("class",)
        variables.setdefault(dims, {})[name] = array
    coords = {"obs_id": coordinate(index), "class": coordinate(classes), "feature": features.names}
    table = label(RowExplanations, coords, variables, attrs)
    table["cell"].attrs |= features.attrs
    return table


def _first_feature(data: xr.Dataset, terms: Mapping[str, str], name: str) -> xr.Dataset:
    """Return terms that no feature has as variables of a feature of their own."""
    variables = {variable: data[term] for variable, term in terms.items()}
    return xr.Dataset(variables).expand_dims(feature=[name])


# Cells


def cell_texts(block: Block, x: Cells, columns: Sequence[int]) -> Array:
    """Return the contents of cells as text, `(r, f)`."""
    if isinstance(block, LinkBlock):
        codes = x[EVERY]
        links = [block.texts(j, codes[:, j]) for j in columns]
        return np.stack(links, axis=1)
    numbers = as_numbers(x)[EVERY][:, columns]
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    texts = np.empty(numbers.shape, object)
    for at, j in enumerate(columns):
        cells = np.asarray(numbers[:, at], float)
        values, places = np.unique(cells, return_inverse=True)
        names = [_describe_cell(block, j, value) for value in values.tolist()]
        distinct = np.array(names, object)
        texts[:, at] = distinct[places]
    return texts


def _join_cells(names: Sequence[Hashable], texts: Array) -> Array:
    """Join the cells of a row, with the names of their columns, `(r, f) -> (r, 1)`."""
    prefixes = np.array([f"{name}=" for name in names], object)
    lines = [[", ".join(row)] for row in prefixes + texts]
    return np.array(lines, object)


def _join_words(block: Block, x: Cells) -> Array:
    """Join the words of a row, and how often they occur in it, `(r, f) -> (r, 1)`."""
    entries = sparse.coo_array(x)
    words = []
    for j, count in zip(entries.col, entries.data, strict=True):
        times = "" if count == 1 else f" {count:.6g}"
        words.append(f"{block.words[j]}{times}")
    series = pd.Series(words, entries.row, dtype=object)
    texts = series.groupby(level=0).agg(", ".join)
    every_row = texts.reindex(range(x.shape[0]), fill_value="")
    return every_row.to_numpy()[:, None]


def _describe_cell(block: Block, j: int, value: float) -> str:
    if np.isnan(value):
        return "missing"
    if block.family.has_levels:
        levels = block.levels[j]
        if value < 0:
            return "unknown" if value == UNKNOWN_CODE else "missing"
        return str(levels[int(value)]) if value < len(levels) else "new"
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
    _about: ClassVar = {
        "w": "weight of the feature in the class's score",
        "b": "what the class's score is where every feature is 0",
        "w_sd": "posterior standard deviation of w",
        "b_sd": "posterior standard deviation of b",
    }

    def _frame(self) -> pd.DataFrame:
        first = _first_feature(self, {"w": "b", "w_sd": "b_sd"}, INTERCEPT)
        both = xr.concat([first, self[["w", "w_sd"]]], "feature")
        return both.to_dataframe(dim_order=list(self._axes))

    def _shown(self) -> pd.DataFrame:
        """Return a column for each class but the one against which the others are shown."""
        table = self._frame()
        texts = list(map(plus_minus, table["w"], table["w_sd"]))
        by_class = pd.Series(texts, table.index).unstack("class", sort=False)
        is_other = by_class.columns.astype(str) != self.attrs.get("against")
        return by_class.loc[:, is_other]


class Terms(NamedTuple):
    """Names of what each weight multiplies, its column and its level, block by block."""

    names: list[Hashable]
    columns: list[Hashable]
    levels: list[str]  # "" for a column without any
    order: Array  # that of the table

    @property
    def coords(self) -> dict[str, Any]:
        """Labels in the order of the table."""
        return {
            "feature": coordinate(self.names)[self.order],
            "column": ("feature", coordinate(self.columns)[self.order]),
            "level": ("feature", coordinate(self.levels)[self.order]),
        }


def terms_of(blocks: Sequence[Block]) -> Terms:
    """Return one term for each column, or for each level of a column that has levels."""
    terms = []
    for block in blocks:
        for j, name in enumerate(block.names):
            place = block.places[j]
            if not block.levels:
                terms.append((place, name, name, ""))
                continue
            for level in map(str, level_labels(block, j)):
                terms.append((place, f"{name}={level}", name, level))
    places, names, columns, levels = map(list, zip(*terms, strict=True))
    order = np.argsort(places, kind="stable")
    return Terms(names, columns, levels, order)


def linear_form(
    form: Form, classes: Array, features: Mapping[str, Any], attrs: Mapping[str, object]
) -> Result:
    """Label a linear form, whose features have these coordinates."""
    against = f" against {attrs['against']}" if "against" in attrs else ""
    estimate = f", estimate {attrs['estimate']}" if "estimate" in attrs else ""
    title = f"Weights of the linear scores of the classes{against} (± posterior sd{estimate})"
    variables = {
        ("class", "feature"): {"w": form.w, "w_sd": form.w_sd},
        ("class",): {"b": form.b, "b_sd": form.b_sd},
    }
    coords = {"class": coordinate(classes), **features}
    return label(LinearForms, coords, variables, {"title": title, **attrs})
