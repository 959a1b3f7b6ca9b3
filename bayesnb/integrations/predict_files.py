"""What a model answers about tables in files: how columns are read, the columns of the answer, one file of them all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.data import PLAIN, Reading, beside, format_of_name, open_writer
from bayesnb.data.declaration import near_columns
from bayesnb.data.levels import UnseenCollector
from bayesnb.estimators import check_estimator
from bayesnb.formatting import list_names, quote
from bayesnb.integrations.file_kinds import Reads, decide, kind_of_levels
from bayesnb.integrations.fit_files import opened, read
from bayesnb.integrations.many_files import FileBatch, TableFiles, names_of, refuse_rows
from bayesnb.results.progress import bar
from bayesnb.safe_output import replacing, visible

SLOW = 1 << 12  # rows that are predicted at once with intervals


def predict_files(
    model: Any,
    paths: Any,
    output: Any,
    *,
    columns: Sequence[str] | None = None,
    ci_prob: float | None = None,
    kinds: Mapping[str, str] | None = None,
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
        Columns to carry along, before the new ones.
    ci_prob : float or None, default=None
        The probability of equal-tailed credible intervals, ``lower_CLASS`` and ``upper_CLASS``, beside ``predicted``
        and ``p_CLASS``; all are then those of ``predict_interval``. None: no intervals. A control character of a label
        is an escape in these names, such as ``\x1b``.
    kinds : dict or None, default=None
        ``{column: "number", "integer", "flag" or "text"}``, where a column is not to be read as it was learnt.
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
        For files that lack a column, a cell that cannot be read, and an output that is one of the files.

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
    ...     scale.predict_files(model, path("penguins"), f"{folder}/answers.parquet", columns=["species"])
    344
    """
    check_estimator(model, "model: ")
    model._check_fitted()
    refuse_rows(batch_rows)
    kept, count, unseen = names_of(columns), 0, UnseenCollector()
    with bar("predicting", progress) as shown:
        tables = opened(model, paths, reading, shown)
        wanted = {name: Reads(kind) for name, kind in named_kinds(model, tables).items()}
        decided = decide(tables, wanted, kinds or {})
        tables.check_there(kept, "columns")
        tables.check_same({*decided, *kept} if hasattr(model, "feature_names_in_") else None)
        refuse_input(output, tables)
        rows = batch_rows or min(tables.rows_at_once(decided), SLOW if ci_prob is not None else 1 << 30)
        shown.start(tables.size)
        batches = read(model, tables.batches(decided, rows, kept))
        kind, packed = format_of_name(str(output)) or "parquet", str(output).endswith(".gz")
        with replacing(output) as stream, closing(batches), closing(open_writer(stream, kind, packed)) as writer:
            for batch in batches:
                with unseen.collected():
                    writer.write(answers_about(model, tables, batch, ci_prob))
                count += len(batch.frame)
            if not count:
                raise ValueError(f"{tables.name}: there is no row to predict.")
        unseen.warn()
    return count


def answers_about(model: Any, tables: TableFiles, batch: FileBatch, ci_prob: float | None) -> Any:
    """Return the answers about some rows, right of the columns that are carried along."""
    try:
        interval = None if ci_prob is None else {"ci_prob": ci_prob}
        columns = answered(model, as_learnt(model, batch.frame, tables), interval)
    except ValueError as error:
        raise ValueError(f"{batch.where}: {error}") from error
    kept = () if batch.kept is None else batch.kept.columns
    refuse_taken(tables, columns, kept, "do not carry it along")
    return beside(columns, batch.kept)


def refuse_input(output: Any, tables: TableFiles) -> None:
    """Raise for an output that is one of the files that are read."""
    goal = Path(output).resolve()
    if any(goal == file.path.resolve() for file in tables.files):
        raise ValueError(f"output: {str(output)!r} is one of the files that are read; give another name.")


def named_kinds(model: Any, table: Any) -> Mapping[str, str]:
    """Return how each column of the table is read: levels as they were learnt, all else as numbers.

    Columns are found by position if those of the model have no names.
    """
    learnt = {
        name: "words" if block.family.listed else kind_of_levels(block.levels[place]) if block.levels else "number"
        for block in model.schema_.blocks
        for place, name in enumerate(block.names)
    }
    kinds = {name: learnt[name] for name in model.schema_.columns if name in learnt}
    if hasattr(model, "feature_names_in_"):
        refuse_lacking(table, [str(name) for name in kinds], "the model")
        return {str(name): kind for name, kind in kinds.items()}
    if len(table.columns) != model.n_features_in_:
        raise ValueError(
            f"{table.name} has {len(table.columns)} columns, and the model {model.n_features_in_} without names: it "
            "was fitted on an array, so the table needs the same columns in the same order, and no others."
        )
    return {table.columns[place]: kind for place, kind in kinds.items()}


def refuse_lacking(table: Any, names: list[str], whose: str) -> None:
    """Raise for a table that lacks some columns."""
    lacks = [name for name in names if name not in table.columns]
    if lacks:
        what = (
            f"the column {lacks[0]!r}"
            if len(lacks) == 1
            else f"{len(lacks)} columns, {list_names(lacks, to_text=quote)},"
        )
        near = near_columns(lacks[0], [name for name in table.columns if name not in names])
        advice = f"did you mean its column {near[0]!r}?" if near else f"it has {list_names(table.columns, 20, quote)}."
        raise ValueError(f"{table.name} lacks {what} of {whose}; {advice}")


def as_learnt(model: Any, frame: Any, table: Any) -> Any:
    """Return rows with all columns of the model, in its order; one that it dropped is empty if it is not there."""
    if hasattr(model, "feature_names_in_"):
        return frame.reindex(columns=[str(name) for name in model.feature_names_in_])
    return frame.reindex(columns=list(table.columns)).to_numpy()


def answered(model: Any, X: Any, interval: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return labels and probabilities as columns, and by the arguments of `predict_interval` also their ends."""
    if interval is None:
        numbers = {"p": model.predict_proba(X)}
    else:
        ends = model.predict_interval(X, **interval)
        numbers = {"p": ends["probability"].values, "lower": ends["lower"].values, "upper": ends["upper"].values}
    columns = {"predicted": model.classes_[np.argmax(numbers["p"], axis=1)]}
    for c, label in enumerate(column_labels(model.classes_)):
        columns |= {f"{prefix}_{label}": values[:, c] for prefix, values in numbers.items()}
    return columns


def column_labels(classes: Any) -> list[str]:
    """Return labels as they stand in names of columns: without control characters, and each once."""
    labels = [visible(str(label)) for label in classes.tolist()]
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise ValueError(f"several labels differ by control characters only, and would name one column, {twice[0]!r}.")
    return labels


def refuse_taken(table: Any, answer: Mapping[str, Any], kept: Any, advice: str) -> None:
    """Raise where a column of the answer has the name of one that is kept."""
    taken = [name for name in answer if name in kept]
    if taken:
        raise ValueError(f"{table.name} has a column {taken[0]!r} already: rename it, or {advice}.")
