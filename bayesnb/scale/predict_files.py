"""Predictions of tables in files: one loop over batches of rows, written as they come.

`predict_files` and the command line both go through `predict_tables`.
"""

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.data.cells import UnseenCollector
from bayesnb.data.columns import Kinds
from bayesnb.data.files import PLAIN, Names, Reading, format_of_name, write_frames
from bayesnb.estimators import check_estimator
from bayesnb.estimators.base import check_is_fitted
from bayesnb.families.base import Array
from bayesnb.progress import bar
from bayesnb.safe_output import replacing, visible
from bayesnb.scale.many_files import (
    TableFiles,
    as_names,
    kind_of_levels,
    read_ahead,
    rows_at_once,
    working_on,
)

ROWS, INTERVAL_ROWS = 1 << 14, 1 << 12  # that are predicted at once; with intervals, at most


def predict_files(
    model: Any,
    paths: Any,
    output: Any,
    *,
    columns: Names | None = None,
    ci_prob: float | None = None,
    kinds: Kinds | None = None,
    reading: Reading = PLAIN,
    batch_rows: int | None = None,
    progress: bool | None = None,
) -> int:
    r"""Predict all rows of files into one file, in bounded memory; it appears when it is complete.

    Parameters
    ----------
    model : NaiveBayes or a preset
        A fitted estimator.
    paths : str, os.PathLike or list
        Files, as in ``fit_files``. Columns are found by name, in any order and among others.
    output : str or os.PathLike
        The file to write: Parquet, unless its name ends in .arrow, .csv, .tsv or .jsonl.
    columns : sequence of str or None, default=None
        Columns to carry along, before the new ones. From text to text, their cells stay as they
        are.
    ci_prob : float or None, default=None
        The probability of equal-tailed credible intervals, ``lower_CLASS`` and ``upper_CLASS``,
        beside ``predicted`` and ``p_CLASS``; all are then those of ``predict_interval``. None: no
        intervals. A control character of a label is an escape in these names, such as ``\x1b``.
    kinds : dict or None, default=None
        ``{column: "number", "integer", "flag" or "text"}``, where a column is not to be read as it
        was learnt.
    reading : Reading, default=Reading()
        How text is read, as in ``fit_files``.
    batch_rows : int or None, default=None
        Rows that are read at once, as in ``fit_files``.
    progress : bool or None, default=None
        Whether a bar is shown on stderr, as in ``fit_files``.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError
        For files that lack a column, a cell that cannot be read, and an output that is one of the
        files.

    See Also
    --------
    fit_files : Fit an estimator to files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayesnb import NaiveBayes, scale
    >>> from bayesnb.datasets import path
    >>> model = scale.fit_files(NaiveBayes(), path("penguins"), "species")
    >>> with TemporaryDirectory() as folder:
    ...     output = f"{folder}/answers.parquet"
    ...     scale.predict_files(model, path("penguins"), output, columns=["species"])
    344
    """
    check_estimator(model, "model: ")
    check_is_fitted(model)
    carried = as_names(columns)
    with bar("predicting", progress) as shown:
        tables = TableFiles.open(model, paths, reading, shown)
        decided = tables.declare(kinds_of_columns(model, tables), kinds or {})
        tables.check_same({*decided, *carried} if hasattr(model, "feature_names_in_") else None)
        if Path(output).resolve() in [Path(reader.name).resolve() for reader in tables.readers]:
            raise ValueError(
                f"output: {str(output)!r} is one of the files that are read; give another name."
            )
        rows = rows_at_once(len(decided), batch_rows)
        shown.start(tables.size)
        kind = format_of_name(str(output)) or "parquet"
        answers = predict_tables(
            model, tables, carried, kinds=decided, rows=rows, ci_prob=ci_prob, output=kind
        )
        with replacing(output) as stream, closing(answers):
            return write_frames(answers, stream, kind, packed=str(output).endswith(".gz"))


@dataclass(eq=False)
class Score:
    """How well rows are predicted whose label is in a column of the table, summed over batches."""

    target: str
    rows: int = 0
    right: int = 0
    loss: float = 0.0

    def add(self, classes: Array, labels: Any, proba: Array) -> None:
        """Count the rows that have a label that was learnt."""
        to_text = str.lower if classes.dtype == bool else str  # true and TRUE are the flag True
        places = {to_text(str(label)): place for place, label in enumerate(classes.tolist())}
        codes = labels.astype(str).map(to_text).map(places).to_numpy(float)
        rows = np.flatnonzero(~np.isnan(codes))
        codes = codes[rows].astype(int)
        self.rows += len(rows)
        self.right += int((proba[rows].argmax(axis=1) == codes).sum())
        with np.errstate(divide="ignore"):
            self.loss -= float(np.log(proba[rows, codes]).sum())

    def __str__(self) -> str:
        if not self.rows:
            return ""
        return (
            f"Score by column {self.target!r}: accuracy {100 * self.right / self.rows:.1f} %, "
            f"log loss {self.loss / self.rows:.4f} a row, over {self.rows:,} rows"
        )


def predict_tables(
    model: Any,
    tables: TableFiles,
    carried: Names = (),
    *,
    kinds: Kinds | None = None,
    rows: int = ROWS,
    ci_prob: float | None = None,
    digits: int | None = None,
    output: str = "parquet",
    score: Score | None = None,
) -> Generator[Any]:
    """Yield predictions right of the columns that are carried along, a few rows at a time.

    The score of rows that have a label is added up; the others say nothing.
    """
    kinds = kinds_of_columns(model, tables) if kinds is None else kinds
    needed = list(dict.fromkeys([*carried, *([] if score is None else [score.target])]))
    tables.check_there(needed, "columns")
    rows = rows if ci_prob is None else min(rows, INTERVAL_ROWS)
    unseen = UnseenCollector()
    is_empty = True

    with read_ahead(model, tables.batches(kinds, rows, needed)) as batches:
        for batch in batches:
            with working_on(batch, unseen):
                X = as_learnt(model, batch.frame, tables)
                numbers = predict_numbers(model, X, ci_prob)
            if score is not None:
                score.add(model.classes_, batch.kept[score.target], numbers["p"])
            answers = name_columns(model.classes_, numbers, digits)
            taken = [name for name in answers if name in carried]
            if taken:
                raise ValueError(
                    f"{tables.name} has a column {taken[0]!r} already: rename it, or write the "
                    "answers without it."
                )
            yield batch.columns_to_write(output)[list(carried)].assign(**answers)
            is_empty = False
    if is_empty:
        raise ValueError(f"{tables.name}: there is no row to predict.")
    unseen.warn()


def kinds_of_columns(model: Any, tables: TableFiles) -> dict[str, str]:
    """Return how each column is read: levels as they were learnt, all else as numbers.

    Columns are found by position if those of the model have no names.
    """
    learnt: dict[Any, str] = {}
    for block in model.schema_.blocks:
        for place, name in enumerate(block.names):
            is_table = bool(block.levels)
            learnt[name] = kind_of_levels(block.levels[place]) if is_table else "number"
            if block.family.listed:
                learnt[name] = "words"
    if hasattr(model, "feature_names_in_"):
        kinds = {str(name): learnt[name] for name in model.schema_.columns if name in learnt}
        tables.check_there([*kinds], "columns of the model")
        return kinds
    if len(tables.columns) != model.n_features_in_:
        raise ValueError(
            f"{tables.name} has {len(tables.columns)} columns, and the model "
            f"{model.n_features_in_} without names: it was fitted on an array, so the table needs "
            "the same columns in the same order, and no others."
        )
    return {tables.columns[place]: kind for place, kind in sorted(learnt.items())}


def as_learnt(model: Any, frame: Any, tables: TableFiles) -> Any:
    """Return rows with all columns of the model, in its order.

    One that the model dropped is empty if it is not there.
    """
    if hasattr(model, "feature_names_in_"):
        return frame.reindex(columns=[str(name) for name in model.feature_names_in_])
    return frame.reindex(columns=list(tables.columns)).to_numpy()


def predict_numbers(model: Any, X: Any, ci_prob: float | None) -> dict[str, Array]:
    """Return probabilities as `p`, and with `ci_prob` also ends of their intervals, `(r, c)`."""
    if ci_prob is None:
        return {"p": model.predict_proba(X)}
    intervals = model.predict_interval(X, ci_prob)
    names = {"p": "probability", "lower": "lower", "upper": "upper"}
    return {prefix: intervals[name].values for prefix, name in names.items()}


def name_columns(
    classes: Array, numbers: Mapping[str, Array], digits: int | None = None
) -> dict[str, Any]:
    """Return the most probable labels, and the numbers of each class side by side, as columns."""
    columns = {"predicted": classes[numbers["p"].argmax(axis=1)]}
    for c, label in enumerate(classes.tolist()):
        for prefix, values in numbers.items():
            name = f"{prefix}_{visible(str(label))}"  # without control characters
            columns[name] = values[:, c] if digits is None else values[:, c].round(digits)
    if len(columns) <= len(classes) * len(numbers):
        raise ValueError("several labels differ by control characters only: rename them.")
    return columns
