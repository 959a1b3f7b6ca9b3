"""Explanations and linear forms as labelled Datasets: names of features, contents of cells."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.formatting import count, plus_minus, qualified_names, shorten
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.linear_form import Form
from bayesnb.model.covariance import Covariance
from bayesnb.model.linked import Linked
from bayesnb.model.powers import Numbers, feature_exponents
from bayesnb.model.schema import Block
from bayesnb.results.tables import MAX_ROWS, Result, coordinate, level_labels

CLASS_TERMS = {  # the terms of the class itself, beside those of features
    "evidence": "class_term",
    "sd": "class_term_sd",
    "predictive": "predictive_class_term",
}
AXES = {1: ("class",), 2: ("obs_id", "class"), 3: ("obs_id", "class", "feature")}  # of terms
CLASS_ROW = "(class frequency)"
TOTAL = "(total)"
INTERCEPT = "(intercept)"
MAX_FEATURES = 12  # printed for a row
TOLERANCE = 1e-6  # of a sum of features, relative
MAX_LETTERS = 44  # of a feature and its cell
MAX_CELL_LETTERS = 28  # the cells of a link are printed, even if its name is shortened


class RowExplanations(Result):
    """What each feature of each row adds to the scores of the classes.

    `to_frame` has a row for each (obs_id, class, feature), with `cell`, `evidence`, `sd` and
    `predictive`; the term of the class itself is the feature "(class frequency)", so `evidence`
    adds up to the score.
    """

    __slots__ = ()
    _axes = AXES[3]
    _columns = ("evidence", "sd", "predictive")

    def _terms(self) -> xr.Dataset:
        """Return the terms of the scores, with that of the class itself as the first feature."""
        first = _first_feature(self, CLASS_TERMS, CLASS_ROW).assign(cell="")
        features = self[["cell", *self._columns]]
        return xr.concat([first, features], "feature", data_vars="all")

    def _frame(self) -> pd.DataFrame:
        table = self._terms().to_dataframe(dim_order=list(self._axes))
        return table[["cell", *self._columns]]

    def _shown(self) -> pd.DataFrame:
        """Return a line for each of the features that differ most, and a column for each class.

        In a model with links, the lines are log predictives: where a class has no row with both
        cells of a link, the posterior mean of its log-ratio may be far below the log of the mean.
        """
        terms = self._terms().transpose("obs_id", "feature", "class")
        if "links" in self["cell"].attrs:
            terms = terms.assign(evidence=terms["predictive"], sd=0 * terms["sd"])
        total = terms["evidence"].sum("feature")
        is_score = abs(total - self["score"]) < TOLERANCE * (1 + abs(total))  # of all features
        terms["total_sd"] = xr.where(is_score, self["score_sd"], 0.0)
        rows = range(len(terms["obs_id"]))
        ends = sorted({*rows[:MAX_ROWS], *rows[-MAX_ROWS:]})
        return pd.concat(
            [_describe_row(terms.isel(obs_id=at)) for at in ends],
            keys=terms["obs_id"].values[ends],
            names=["obs_id", "feature = cell"],
        )


def _describe_row(terms: xr.Dataset) -> pd.DataFrame:
    """Return lines for the class itself, features, the sum of the rest, and the total, by class."""
    means = terms["evidence"].values
    sds = terms["sd"].values
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(np.ptp(means[1:], axis=1))
    order = 1 + np.argsort(-spread, kind="stable")
    rest = order[MAX_FEATURES:]
    lines = [(CLASS_ROW, means[0], sds[0])]
    for j in np.sort(order[:MAX_FEATURES]):
        cell = shorten(terms["cell"].values[j], MAX_CELL_LETTERS)
        name = shorten(terms["feature"].values[j], MAX_LETTERS - len(cell) - 3)
        lines.append((f"{name} = {cell}", means[j], sds[j]))
    if len(rest):
        lines.append((f"({len(rest):,} others)", means[rest].sum(axis=0), 0 * sds[0]))
    lines.append((TOTAL, means.sum(axis=0), terms["total_sd"].values))
    names, *numbers = zip(*lines, strict=True)
    to_text = np.vectorize(partial(plus_minus, max_decimals=2))
    return pd.DataFrame(to_text(*numbers), names, terms["class"].values.tolist())


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
    names = ("score", "score_sd", *CLASS_TERMS, *CLASS_TERMS.values())
    arrays = {name: getattr(ordered, name) for name in names}
    table = explanation_dataset(rows, classes, features, arrays)
    for name, power in tempers.items():
        numbers = feature_exponents(power, features.widths)
        table[name] = "feature", numbers[features.order]
    return table


def explain_regression(
    index: Array,
    classes: Array,
    blocks: Sequence[Block],
    cells: Sequence[Cells],
    arrays: Mapping[str, Array],
) -> Result:
    """Label the explanation of a regression, with features in the order of the table.

    All words of a list are one feature.
    """
    words = [None if block.family.listed else np.arange(len(block.names)) for block in blocks]
    features = list_features(blocks, cells, words)
    return explanation_dataset(index, classes, features, arrays)


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

    `words` is None for a block if every column is a feature, or if all columns are one feature.
    """
    names: list[Hashable] = []
    columns_of: list[Hashable] = []
    places: list[int] = []
    texts = []
    widths = []
    attrs: dict[str, list[Hashable]] = defaultdict(list)
    for block, x, columns in zip(blocks, cells, words, strict=True):
        labels, of_block = _list_features_of(block, x, columns)
        if columns is None and len(labels) < len(block.names) and not block.repeats:
            attrs["blocks"] += labels
        if isinstance(block.family, Linked):
            attrs["links"] += labels
        shown = range(len(labels)) if columns is None else columns
        names += labels
        texts.append(of_block)
        widths.append(len(labels))
        columns_of += [block.names[0]] * len(labels) if block.family.listed else labels
        places += [block.word_places[j] for j in shown]
    order = np.argsort(places, kind="stable")
    labels_of_all = coordinate(qualified_names(names, columns_of))
    texts_of_all = np.concatenate(texts, axis=1)
    return Features(labels_of_all[order], texts_of_all[:, order], order, widths, attrs)


def _list_features_of(
    block: Block, x: Cells, columns: Array | None
) -> tuple[list[Hashable], Array]:
    """Return the features of a block, and the texts of their cells."""
    if columns is not None:
        return [block.words[j] for j in columns], block.describe(x, columns)
    if block.family.listed:
        return list(block.names), block.describe_words(x)
    if isinstance(block.family, Covariance):
        text = count(len(block.names), "column")
        return ["covariance"], np.full((x.shape[0], 1), text, object)
    names = list(block.words)
    texts = block.describe(x, range(len(names)))
    if block.family.multivariate and len(names) > 1:  # one feature
        prefixes = np.array([f"{name}=" for name in names], object)
        lines = [[", ".join(cells)] for cells in prefixes + texts]
        return [", ".join(map(str, names))], np.array(lines, object)
    return names, texts


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
        "note": f"(total) of one class minus that of another is their {odds}; "
        "terms equal in all classes cancel.",
    }
    variables: dict[str, Any] = {name: (AXES[array.ndim], array) for name, array in arrays.items()}
    variables["cell"] = ("obs_id", "feature"), features.texts, features.attrs
    coords = {"obs_id": coordinate(index), "class": coordinate(classes), "feature": features.names}
    return RowExplanations(variables, coords, attrs)


def _first_feature(data: xr.Dataset, terms: Mapping[str, str], name: str) -> xr.Dataset:
    """Return terms that belong to no feature as variables of an additional feature."""
    variables = {variable: data[term] for variable, term in terms.items()}
    return xr.Dataset(variables).expand_dims(feature=[name])


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
        both = xr.concat([first, self[["w", "w_sd"]]], "feature")
        return both.to_dataframe(dim_order=list(self._axes))

    def _shown(self) -> pd.DataFrame:
        """Return a column for each class except the reference class."""
        table = self._frame()
        texts = list(map(plus_minus, table["w"], table["w_sd"]))
        by_class = pd.Series(texts, table.index).unstack("class", sort=False)
        is_other = by_class.columns.astype(str) != self.attrs.get("against")
        return by_class.loc[:, is_other]


class Terms(NamedTuple):
    """What each weight multiplies: names block by block, order and coordinates of the table."""

    names: list[Hashable]
    order: Array
    coords: dict[str, Any]


def terms_of(blocks: Sequence[Block]) -> Terms:
    """Return one term for each column, or for each level of a column that has levels."""
    terms: list[tuple[Any, ...]] = []
    for block in blocks:
        for j, name in enumerate(block.names):
            place = block.places[j]
            if not block.levels:
                terms.append((place, name, name, ""))
                continue
            for level in map(str, level_labels(block, j)):
                terms.append((place, f"{name}={level}", name, level))
    places, *labels = map(list, zip(*terms, strict=True))
    order = np.argsort(places, kind="stable")
    features, columns, levels = [coordinate(each)[order] for each in labels]
    coords = {"feature": features, "column": ("feature", columns), "level": ("feature", levels)}
    return Terms(labels[0], order, coords)


def linear_form(
    form: Form, classes: Array, features: Mapping[str, Any], attrs: Mapping[str, object]
) -> Result:
    """Label a linear form with the coordinates of its features."""
    against = f" against {attrs['against']}" if "against" in attrs else ""
    estimate = f", estimate {attrs['estimate']}" if "estimate" in attrs else ""
    title = f"Weights of the linear scores of the classes{against} (± posterior sd{estimate})"
    axes = LinearForms._axes
    variables = {
        "w": (axes, form.w),
        "w_sd": (axes, form.w_sd),
        "b": ("class", form.b),
        "b_sd": ("class", form.b_sd),
    }
    coords = {"class": coordinate(classes), **features}
    return LinearForms(variables, coords, {"title": title, **attrs})
