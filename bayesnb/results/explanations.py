"""Explanations and linear forms as labelled Datasets: names of classes and features, and the contents of cells."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import xarray as xr
from scipy import sparse

from bayesnb.data.levels import qualified_names
from bayesnb.families.base import Array, Cells
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.linear_form import Form
from bayesnb.model.linked import LinkBlock
from bayesnb.model.powers import Numbers, of_blocks
from bayesnb.numerics.views import EVERY, as_numbers
from bayesnb.results.parameter_names import ColumnBlock, coordinate, row_names
from bayesnb.results.result_tables import HALF, ResultDataset, fixed, plus_minus, text_frame

LONG_NAMES = {
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "predictive": "log predictive of the cell",
    "class_term": "posterior mean of the class's own part of its score",
    "class_term_sd": "posterior standard deviation of the class term",
    "predictive_class_term": "log predictive of the class",
}


CLASS_ROW, TOTAL, INTERCEPT = "(class frequency)", "(total)", "(intercept)"
MOST_FEATURES = 12  # of a row that is shown


class RowExplanations(ResultDataset):
    """What each feature of each row adds to the scores of the classes.

    `to_frame` has a row for each (obs_id, class, feature), with `cell`, `evidence`, `sd` and `predictive`; the class's
    own part is the feature "(class frequency)", so that `evidence` adds up to the score.
    """

    __slots__ = ()
    _form: ClassVar = {
        **dict.fromkeys(("evidence", "sd", "predictive"), ("obs_id", "class", "feature")),
        "cell": ("obs_id", "feature"),
        **dict.fromkeys(("score", "score_sd"), ("obs_id", "class")),
        **dict.fromkeys(("class_term", "class_term_sd", "predictive_class_term"), ("class",)),
    }

    def _title(self, whole: xr.Dataset) -> str:
        kind = "log predictive" if _has_links(whole) else "posterior mean ± sd"
        return f"What each feature adds to the scores of the classes (nats, {kind})"

    def _notes(self, whole: xr.Dataset) -> list[str]:
        kind = "log-odds of the prediction" if _has_links(whole) else "mean log-odds"
        return [
            f"(total) of one class less that of another is their {kind}; what all classes share says nothing."
        ]

    def _frame(self, whole: xr.Dataset) -> Any:
        names = {
            "evidence": "class_term",
            "sd": "class_term_sd",
            "predictive": "predictive_class_term",
        }
        first = xr.Dataset(
            {
                name: whole[term].expand_dims({"feature": [CLASS_ROW]})
                for name, term in names.items()
            }
        )
        blank = np.full((whole.sizes["obs_id"], 1), "", object)
        first = first.expand_dims({"obs_id": whole["obs_id"].values}).assign(
            cell=(("obs_id", "feature"), blank)
        )
        features = whole[["cell", *names]].reset_coords(drop=True)
        both = xr.concat([first.reset_coords(drop=True), features], "feature", join="exact")
        return both[["cell", *names]].to_dataframe(dim_order=["obs_id", "class", "feature"])

    def _lines_each(self, whole: xr.Dataset) -> int:
        return min(whole.sizes["feature"], MOST_FEATURES + 1) + 2

    def _seen(self, part: xr.Dataset) -> Any:
        """Return a line for each feature, those that differ most between the classes, and a column for each class.

        Of a model with links they are log predictives: where a class has no row with both cells of a link, the
        posterior mean of its log-ratio may be far below the log of the mean.
        """
        links, rows = _has_links(part), (part.isel(obs_id=at) for at in range(part.sizes["obs_id"]))
        lines = [line for row in rows for line in _lines_of(row, links)]
        return text_frame(
            ["obs_id", "feature", "cell", *map(str, part["class"].values.tolist())], lines, 2
        )


def _has_links(explained: xr.Dataset) -> bool:
    return "links" in explained["cell"].attrs


def _lines_of(one: xr.Dataset, links: bool) -> Iterator[list[Any]]:
    """Yield the lines of one row: the class term, features, the others together, and the total."""
    row, names, cells = (
        one["obs_id"].item(),
        one["feature"].values.tolist(),
        one["cell"].values.tolist(),
    )
    shares, term = ("predictive", "predictive_class_term") if links else ("evidence", "class_term")
    mean, sd = (one[name].transpose("feature", "class").values for name in (shares, "sd"))
    with np.errstate(invalid="ignore"):
        order = np.argsort(-np.nan_to_num(np.ptp(mean, axis=1)), kind="stable")
    kept, rest = np.sort(order[:MOST_FEATURES]), order[MOST_FEATURES:]
    first, first_sd = one[term].values, one["class_term_sd"].values
    total = first + mean.sum(axis=0)
    whole = np.allclose(total, one["score"].values)  # a selection of features has no sd of the sum

    def shown(values: Array, sds: Array) -> list[str]:
        return list(map(fixed, values)) if links else list(map(plus_minus, values, sds))

    yield [row, CLASS_ROW, "", *shown(first, first_sd)]
    for j in kept.tolist():
        yield [row, names[j], cells[j], *shown(mean[j], sd[j])]
    if len(rest):
        yield [row, f"({len(rest):,} others)", "", *map(fixed, mean[rest].sum(axis=0))]
    yield [row, TOTAL, "", *(shown(total, one["score_sd"].values) if whole else map(fixed, total))]


class LinearForms(ResultDataset):
    """Scores of the classes as linear functions: weights and offsets with their sds.

    `to_frame` has a row for each (class, feature), with `w` and `w_sd`; the offset b is the feature "(intercept)".
    """

    __slots__ = ()
    _form: ClassVar = {
        **dict.fromkeys(("w", "w_sd"), ("class", "feature")),
        **dict.fromkeys(("b", "b_sd"), ("class",)),
    }

    def _title(self, whole: xr.Dataset) -> str:
        against = f" against {whole.attrs['against']}" if "against" in whole.attrs else ""
        plugged = f", estimate {whole.attrs['estimate']}" if "estimate" in whole.attrs else ""
        return f"Weights of the linear scores of the classes{against} (± posterior sd{plugged})"

    def _frame(self, whole: xr.Dataset) -> Any:
        offsets = {"w": whole["b"], "w_sd": whole["b_sd"]}
        first = xr.Dataset(
            {name: b.expand_dims({"feature": [INTERCEPT]}) for name, b in offsets.items()}
        )
        parts = [each.reset_coords(drop=True) for each in (first, whole[["w", "w_sd"]])]
        return xr.concat(parts, "feature", join="exact").to_dataframe(
            dim_order=["class", "feature"]
        )

    def _parts(self, whole: xr.Dataset) -> list[Any]:
        """Return a column for each class but the one that all others are compared with, whose weights are 0."""
        total, classes = whole.sizes["feature"], whole["class"].values.tolist()
        shown = [at for at, label in enumerate(classes) if str(label) != whole.attrs.get("against")]
        w, sd, b, b_sd = (whole[name].values[shown] for name in ("w", "w_sd", "b", "b_sd"))
        lines = [[INTERCEPT, *map(plus_minus, b, b_sd)]]
        kept = range(total) if total <= 2 * HALF else [*range(HALF), *range(total - HALF, total)]
        lines += [[whole["feature"].values[j], *map(plus_minus, w[:, j], sd[:, j])] for j in kept]
        parts = [lines] if total <= 2 * HALF else [lines[: HALF + 1], lines[HALF + 1 :]]
        return [
            text_frame(["feature", *(str(classes[at]) for at in shown)], part, 1) for part in parts
        ]


class Placed(ColumnBlock, Protocol):
    """A block whose columns have positions in the table."""

    @property
    def places(self) -> Sequence[int]: ...
    @property
    def word_places(self) -> Sequence[int]: ...


def explained(
    explanation: Explanation,
    rows: Array,
    classes: Array,
    blocks: Sequence[Placed],
    cells: Sequence[Cells],
    tempers: Mapping[str, Numbers],
) -> xr.Dataset:
    """Label an explanation, features in the order of the table, with their exponents and what is known of these."""
    each = list(zip(blocks, cells, explanation.words, strict=True))
    features = [(block, columns) for block, _, words in each for columns in _features(block, words)]
    order = np.argsort(
        [block.word_places[columns[0]] for block, columns in features], kind="stable"
    )
    explanation = explanation.ordered(order)
    texts = np.concatenate([cell_texts(block, x, words) for block, x, words in each], axis=1)
    columns = [
        block.names[0] if block.family.listed else _name(block, columns)
        for block, columns in features
    ]
    names = qualified_names([_name(*feature) for feature in features], columns)
    arrays = {name: getattr(explanation, name) for name in LONG_NAMES}
    table = explanation_dataset(rows, classes, coordinate(names)[order], arrays, texts[:, order])
    widths = [len(_features(block, words)) for block, _, words in each]
    for name, power in tempers.items():
        numbers = [
            np.broadcast_to(w, n)
            for w, n in zip(of_blocks(power, len(widths)), widths, strict=True)
        ]
        table[name] = "feature", np.concatenate(numbers).astype(float)[order]
    joint = [_name(*columns) for columns in features if len(columns[1]) > 1]
    if joint:
        table["cell"].attrs["blocks"] = joint  # the features whose cells name their columns
    links = [
        name
        for name, (block, _) in zip(names, features, strict=True)
        if isinstance(block, LinkBlock)
    ]
    if links:
        table["cell"].attrs["links"] = links  # the features whose cells are two
    return table


def explanation_dataset(
    index: Array, classes: Array, features: Array, arrays: dict[str, Array], texts: Array
) -> xr.Dataset:
    """Label the terms of scores, `(c,)`, `(r, c)` or `(r, c, f)`, and what the cells held, `(r, f)`."""
    dims, units = ("obs_id", "class", "feature"), {"units": "nats"}
    axes = {1: dims[1:2], 2: dims[:2], 3: dims}
    variables: dict[str, Any] = {
        name: (axes[array.ndim], array, {"long_name": LONG_NAMES[name], **units})
        for name, array in arrays.items()
    }
    variables["cell"] = (("obs_id", "feature"), texts, {"long_name": "what the cell held"})
    return RowExplanations(
        variables, {"obs_id": row_names(index), "class": classes, "feature": features}
    )


def _features(block: ColumnBlock, words: Array | None) -> list[tuple[int, ...]]:
    """Return the columns of every feature: one, or all columns of a block with a joint density."""
    if words is None and block.family.multivariate:
        return [tuple(range(len(block.names)))]
    return [(j,) for j in (range(len(block.words)) if words is None else words.tolist())]


def _name(block: ColumnBlock, columns: tuple[int, ...]) -> Hashable:
    return (
        block.words[columns[0]]
        if len(columns) == 1
        else ", ".join(str(block.words[j]) for j in columns)
    )


def cell_texts(block: ColumnBlock, x: Cells, words: Array | None) -> Array:
    """Return the contents of the cells of every feature as text, `(r, f)`.

    Cells of several columns carry the names of the columns; lists are shown as words.
    """
    if words is None and block.family.listed:
        return _lists(block, x)
    if isinstance(block, LinkBlock):
        codes = x[EVERY]
        return np.stack([block.texts(j, codes[:, j]) for j in range(len(block.ends))], axis=1)
    features = _features(block, words)
    shown = [j for columns in features for j in columns]
    part = as_numbers(x)[EVERY]
    numbers = (
        part[:, shown].toarray() if sparse.issparse(part) else np.asarray(part)[:, shown]
    ).astype(float)
    texts = np.empty(numbers.shape, object)
    for at, j in enumerate(shown):
        texts[:, at] = _texts(block, j, numbers[:, at])
    if len(features) == len(shown):
        return texts
    names = [str(block.names[j]) for j in shown]
    lines = [
        ", ".join(f"{name}={cell}" for name, cell in zip(names, row, strict=True)) for row in texts
    ]
    return np.array(lines, object)[:, None]


def _lists(block: ColumnBlock, x: Cells) -> Array:
    words, rows = [str(word) for word in block.words], sparse.csr_array(x)
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    pairs = [zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True) for a, b in ends]
    texts = [
        ", ".join(words[j] if n == 1 else f"{words[j]} {n:.6g}" for j, n in pair) for pair in pairs
    ]
    return np.array(texts, object)[:, None]


def _texts(block: ColumnBlock, j: int, numbers: Array) -> Array:
    values, place = np.unique(numbers, return_inverse=True)
    return np.array([_text(block, j, value) for value in values.tolist()], object)[place]


def _text(block: ColumnBlock, j: int, value: float) -> str:
    if np.isnan(value) or (block.family.has_levels and value < 0):
        return "missing" if value != -2 else "unknown"
    if block.family.has_levels:
        return str(block.levels[j][int(value)]) if value < len(block.levels[j]) else "new"
    return block.family.outcomes[int(value)] if block.family.outcomes else f"{value:.6g}"


WEIGHT_NAMES = {
    "w": "weight of the feature in the class's score",
    "b": "what the class's score is where every feature is 0",
    "w_sd": "posterior standard deviation of w",
    "b_sd": "posterior standard deviation of b",
}


class Terms(NamedTuple):
    """The column and level that each weight multiplies, block by block, and their order in the table."""

    columns: list[object]
    levels: list[str | None]  # None for a column without any
    order: Array

    @property
    def names(self) -> list[object]:
        pairs = zip(self.columns, self.levels, strict=True)
        return [column if level is None else f"{column}={level}" for column, level in pairs]


def terms_of(blocks: Sequence[Placed]) -> Terms:
    """Return one term for each column, or for each level of a column that has levels."""
    terms = [term for block in blocks for term in _terms(block)]
    order = np.argsort([place for place, _, _ in terms], kind="stable")
    return Terms([column for _, column, _ in terms], [level for _, _, level in terms], order)


def linear_form(form: Form, classes: Array, terms: Terms, attrs: dict[str, object]) -> xr.Dataset:
    """Label a linear form, features in the order of the table."""
    dims, form = ("class", "feature"), form.ordered(terms.order)
    arrays = {"w": form.w, "b": form.b, "w_sd": form.w_sd, "b_sd": form.b_sd}
    named: dict[str, object] = {"class": coordinate(classes)}
    levels = ["" if level is None else level for level in terms.levels]
    for name, labels in (("feature", terms.names), ("column", terms.columns), ("level", levels)):
        values = coordinate(labels)[terms.order]
        named[name] = values if name == "feature" else ("feature", values)
    table = LinearForms(
        {name: (dims[: array.ndim], array) for name, array in arrays.items()}, named, attrs
    )
    for name, words in WEIGHT_NAMES.items():
        table[name].attrs = {"long_name": words}
    return table


def _terms(block: Placed) -> list[tuple[int, object, str | None]]:
    each = list(zip(block.places, block.names, strict=True))
    if not block.levels:
        return [(place, name, None) for place, name in each]
    triples = zip(each, block.levels, block.sizes, strict=True)
    return [
        (place, name, label)
        for (place, name), levels, size in triples
        for label in _level_labels(levels, size)
    ]


def _level_labels(levels: Sequence[object], size: int) -> list[str]:
    return [*map(str, levels), *["(unseen)"] * (size - len(levels))]
