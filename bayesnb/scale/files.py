"""Fitting and predicting on files of any size, a few megabytes at a time.

`predict_files` and the command line both use `predict_tables`.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from operator import index
from pathlib import Path
from time import monotonic
from typing import Any

from bayesnb import __version__
from bayesnb.data.cells import gathering_unseen, warn
from bayesnb.data.columns import Kinds
from bayesnb.data.files import (
    MAX_BATCH_ROWS,
    PLAIN,
    Batch,
    Names,
    Reading,
    format_of_name,
    refuse_missing_labels,
    write_frames,
)
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import check_is_fitted, list_families
from bayesnb.estimators.learning import count_shard, learn_shard
from bayesnb.families.base import Array
from bayesnb.model.schema import are_alike
from bayesnb.model.shards import Shard, add_shards
from bayesnb.numerics.threads import ahead, threads_of
from bayesnb.persistence import read_shard, write_shard
from bayesnb.progress import bar
from bayesnb.safe_output import replacing, visible
from bayesnb.scale.many_files import TableFiles, kind_of_levels, kinds_to_learn

MAX_BATCH_CELLS = 1 << 20
MIN_BATCH_ROWS = 1 << 8
MAX_INTERVAL_ROWS = 1 << 12  # rows predicted at once with intervals


# Fits


def fit_files[Estimator: NaiveBayes](
    model: Estimator,
    paths: Any,
    target: str,
    *,
    sample_weight: str | None = None,
    columns: Names | None = None,
    kinds: Kinds | None = None,
    reading: Reading = PLAIN,
    batch_rows: int | None = None,
    checkpoint: Any = None,
    checkpoint_seconds: float = 10.0,
    progress: bool | None = None,
) -> Estimator:
    """Fit an estimator to all rows of files, in one pass and bounded memory.

    The result is the model that ``fit`` would give on the whole table, except that the first batch
    of rows determines undeclared families, cuts, and links between columns.

    Parameters
    ----------
    model : NaiveBayes or a preset
        The estimator to fit. Its ``n_jobs`` is the number of threads.
    paths : str, os.PathLike or list
        A file, a folder, a pattern such as ``"2026/*.parquet"``, or a list of those: Parquet, Arrow
        (Feather), CSV, TSV, and JSON lines (held in memory); text may be compressed with gzip. In a
        folder all files with such extensions are read, including subfolders, whose names may be
        columns, ``year=2026/``. All files must have the same columns, in any order.
    target : str
        The column of labels.
    sample_weight : str or None, default=None
        The column of weights.
    columns : sequence of str or None, default=None
        The columns to learn from. None: all except those two. Other columns, and those whose family
        is None, are not read, and may be missing in some files.
    kinds : dict or None, default=None
        ``{column: "number", "integer", "flag" or "text"}``, for columns whose inferred kind is
        wrong.
    reading : Reading, default=Reading()
        How to read text: ``scale.Reading(delimiter=..., decimal=..., encoding=...,
        missing=(...))``.
    batch_rows : int or None, default=None
        Rows read at once. None: a few megabytes.
    checkpoint : str, os.PathLike or None, default=None
        A file that stores the counts of completed files. A call that finds it continues with the
        next file, and gives exactly the same model as an uninterrupted one. Files, model and
        options must be the same. It is removed at the end.
    checkpoint_seconds : float, default=10.0
        Minimum time between writes of the checkpoint.
    progress : bool or None, default=None
        Whether to show a progress bar on stderr. None: if that is a terminal.

    Returns
    -------
    NaiveBayes or a preset
        The fitted estimator. If the call fails, it is unchanged.

    Raises
    ------
    ValueError
        For cells that cannot be read, missing labels, and columns that differ between files. The
        message names the file, the row and the column.

    See Also
    --------
    predict_files : Predict all rows of files.
    fit_shards : Learn from parts that were counted elsewhere.
    bayesnb.NaiveBayes.fit : Learn from a table in memory or in Dask.

    Notes
    -----
    Typed columns keep their types: integer levels are integers; dates are an error, as in ``fit``,
    unless ``kinds`` or a family makes them levels. The kind of a column of text, in CSV or the name
    of a folder, is inferred from its first rows by the rules of the command line: numbers, unless
    one is a code (007, +491234); ``true`` and ``false``; otherwise levels. As nothing is read
    twice, a later cell that is not a number or flag is an error, which says what to do. Columns
    that the model declares as levels are text. Only "", "NA", "NaN" and "?" are missing. Labels are
    read in the same way.

    Undeclared families, the cuts of a ``Histogram``, and links between columns come from the first
    batch of rows, and ``fit`` on the whole table may choose others. So the first batch should be
    representative: shuffle a sorted table, or declare ``families``, which has no links unless
    ``dependence`` asks for them.

    Exponents, which ``NaiveBayes()`` and ``temper="columns"`` or ``"loo"`` estimate from rows, are
    estimated at the end, from a sample: all rows up to 10,000, otherwise a part of all files that
    depends only on the order of the rows. It is smaller if it would have more than 2**24 numbers,
    or if there are many columns and classes.

    Memory is needed for a few batches and the sample. Row groups of Parquet files may have any
    size, but each column takes a few megabytes, usually two or three; Arrow files are held one
    batch at a time. A row of text can have at most eight megabytes.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, scale
    >>> from bayesnb.datasets import path
    >>> columns = ["island", "body_mass_g"]
    >>> model = scale.fit_files(NaiveBayes(), path("penguins"), "species", columns=columns)
    >>> model.classes_.tolist()
    ['Adelie', 'Chinstrap', 'Gentoo']
    """
    check_estimator(model, "model: ")
    others = {"target": target}
    if sample_weight is not None:
        others["sample_weight"] = sample_weight
    with bar("fitting", progress) as shown:
        tables = TableFiles.open(model, paths, reading, shown)
        names = columns_to_learn(tables, columns, others)
        read_as = kinds_of_fit(model, tables, names, others, kinds or {})
        rows = rows_at_once(len(read_as), batch_rows)
        params = model.get_params(deep=False)
        # everything that must be equal for exactly the same result
        identity = {
            "version": __version__,
            "files": [stamp(reader.name) for reader in tables.readers],
            "model": type(model).__name__,
            "params": {name: value for name, value in params.items() if name != "n_jobs"},
            "target": target,
            "sample_weight": sample_weight,
            "kinds": read_as,
            "columns": names,
            "reading": vars(reading),
            "batch_rows": rows,
        }
        total, done, unseen = resume(checkpoint, identity)
        next_checkpoint = 0.0
        shown.start(tables.size, TableFiles(tables.readers[:done]).size)
        for place, reader in enumerate(tables.readers[done:], done + 1):
            with read_ahead(model, reader.batches(read_as, rows)) as batches:
                for batch in batches:
                    refuse_missing_labels(batch.name, batch.frame[target], batch.start)
                    with working_on(batch, unseen):
                        if read_as[target] == "integer":
                            make_whole(batch.frame, target)
                        total = count_more(model, batch.frame, names, others, total)
            if checkpoint is not None and total is not None and monotonic() > next_checkpoint:
                note = {"identity": identity, "done": place, "unseen": unseen}
                write_shard(total, checkpoint, note)
                next_checkpoint = monotonic() + checkpoint_seconds
    if total is None:
        raise ValueError(f"{tables.name}: there is no row to learn from.")
    learn_shard(model, total)
    model.target_name_ = target
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    warn(unseen)
    return model


def columns_to_learn(tables: TableFiles, columns: Any, others: Mapping[str, str]) -> list[str]:
    """Return the columns to learn from: those named, or all without another role."""
    for role, name in others.items():
        tables.check_there([name], role)
    taken = others.values()
    if columns is None:
        tables.check_same()
        return [name for name in tables.columns if name not in taken]
    names = as_names(columns)
    tables.check_there(names, "columns")
    tables.check_same({*names, *taken})
    for name in names:
        if name in taken:
            raise ValueError(f"columns: {name!r} holds the labels or the weights.")
    return names


def kinds_of_fit(
    model: Any, tables: TableFiles, names: Names, others: Mapping[str, str], declared: Kinds
) -> dict[str, str]:
    """Return the kinds of all needed columns, and tell the readers which kinds are inferred."""
    families = list_families(model, names)
    kinds, guessed = kinds_to_learn(tables, names, families)
    for role, name in others.items():
        is_any = role == "target" or tables.kinds[name] == "flag"
        kinds[name] = tables.kinds[name] if is_any else "number"
    may_be_dates = {*families, *others.values()}
    for name, kind in kinds.items():
        if name not in declared:
            tables.check_kind(name, kind, name in may_be_dates)
    for reader in tables.readers:
        reader.guessed = {*guessed, others["target"]} - declared.keys()
    return tables.declare(kinds, declared)


def make_whole(frame: Any, target: str) -> None:
    """Convert labels of a batch to integers, like those of the first rows."""
    if (frame[target] % 1).any():
        raise ValueError(
            f"column {target!r}: a label is not a whole number, unlike those of the first rows. If "
            f"labels are names: kinds={{{target!r}: 'text'}}."
        )
    if frame[target].dtype.kind == "f":
        frame[target] = frame[target].astype(int)


def count_more(
    model: Any, frame: Any, names: Names, others: Mapping[str, str], total: Shard | None
) -> Shard | None:
    """Add the stats of a batch, counted with the grids of earlier batches."""
    X = frame.reindex(columns=names)  # dropped columns were not read
    rows = X, frame[others["target"]], frame.get(others.get("sample_weight"))
    if total is None:
        return count_shard(model, rows, first=0)
    first = total.kept.rows if total.kept else None
    more = count_shard(model, rows, known=total.schema, first=first)
    return add_shards((total, more))


# Interrupted fits: a checkpoint has the stats of completed files


def resume(checkpoint: Any, identity: Mapping[str, Any]) -> tuple[Shard | None, int, Any]:
    """Return the earlier counts, the number of completed files, and unseen levels."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None, 0, {}
    total, note = read_shard(checkpoint)
    before = note["identity"] if isinstance(note, dict) else {}
    for name, value in identity.items():
        if not are_alike(value, before.get(name)):
            change = f"`{name}` differs"
            if name == "files":
                change = describe_changed_files(before[name], value)
            raise ValueError(
                f"{str(checkpoint)!r} is the checkpoint of another fit: {change}. Repeat that fit "
                "unchanged, give another name, or delete the file to start again."
            )
    return total, note["done"], note["unseen"]


def stamp(path: str) -> list[Any]:
    """Return values that differ between files, and between states of one file."""
    state = Path(path).stat()
    return [str(Path(path).resolve()), state.st_size, state.st_mtime_ns]


def describe_changed_files(before: list[Any], now: list[Any]) -> str:
    """Return how the stamps of files differ between two fits."""
    for file in [*before, *now]:
        if file not in before or file not in now:
            return f"its files differ or have changed, first {file[0]!r}"
    return "its files had another order"


# Predictions


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
    r"""Predict all rows of files into one file, in bounded memory; it appears only when complete.

    Parameters
    ----------
    model : NaiveBayes or a preset
        A fitted estimator.
    paths : str, os.PathLike or list
        Files, as in ``fit_files``. Columns are matched by name; order and extra columns do not
        matter.
    output : str or os.PathLike
        The file to write: Parquet, unless its name ends in .arrow, .csv, .tsv or .jsonl.
    columns : sequence of str or None, default=None
        Columns to copy, before the new ones. From text to text, cells stay unchanged.
    ci_prob : float or None, default=None
        The probability of equal-tailed credible intervals, ``lower_CLASS`` and ``upper_CLASS``, in
        addition to ``predicted`` and ``p_CLASS``; all then come from ``predict_interval``. None: no
        intervals. Control characters of labels are escaped in these names, such as ``\x1b``.
    kinds : dict or None, default=None
        ``{column: "number", "integer", "flag" or "text"}``, for columns to be read differently from
        training.
    reading : Reading, default=Reading()
        How to read text, as in ``fit_files``.
    batch_rows : int or None, default=None
        Rows read at once, as in ``fit_files``.
    progress : bool or None, default=None
        Whether to show a progress bar on stderr, as in ``fit_files``.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError
        For files that lack a column, cells that cannot be read, and an output that is one of the
        input files.

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
        if Path(output).resolve() in [Path(reader.name).resolve() for reader in tables.readers]:
            raise ValueError(
                f"output: {str(output)!r} is one of the input files; give another name."
            )
        shown.start(tables.size)
        kind = format_of_name(str(output)) or "parquet"
        answers = predict_tables(
            model, tables, carried, kinds, batch_rows=batch_rows, ci_prob=ci_prob, output=kind
        )
        with replacing(output) as stream, closing(answers):
            return write_frames(answers, stream, kind, packed=str(output).endswith(".gz"))


def predict_tables(
    model: Any,
    tables: TableFiles,
    carried: Names,
    declared: Kinds | None = None,
    *,
    batch_rows: int | None = None,
    ci_prob: float | None = None,
    digits: int | None = None,
    output: str = "parquet",
    score: Any = None,
    find_sets: Callable[[Any], Any] | None = None,
) -> Generator[Any]:
    """Yield copied columns followed by predictions, a few rows at a time.

    A `score` has the column of labels as its `target`, and accumulates how well they are predicted.
    Sets of labels are those of `PredictionSets.predict`.
    """
    needed = list(carried) if score is None else [*carried, score.target]
    tables.check_there(needed, "columns")
    kinds = tables.declare(kinds_of_columns(model, tables), declared or {})
    tables.check_same({*kinds, *needed} if hasattr(model, "feature_names_in_") else None)
    rows = rows_at_once(len(kinds), batch_rows)
    if ci_prob is not None:
        rows = min(rows, MAX_INTERVAL_ROWS)
    unseen: dict[Any, Any] = {}
    is_empty = True
    with read_ahead(model, tables.batches(kinds, rows, needed)) as batches:
        for batch in batches:
            with working_on(batch, unseen):
                X = as_learnt(model, batch.frame, tables)
                if ci_prob is None:
                    numbers = {"p": model.predict_proba(X)}
                else:
                    intervals = model.predict_interval(X, ci_prob).rename(probability="p")
                    numbers = {name: intervals[name].values for name in ("p", "lower", "upper")}
            sets = None
            if find_sets is not None:
                with working_on(batch, {}):  # unseen levels were collected above
                    sets = find_sets(X)
                numbers["p_value"] = sets["p_value"].values
            if score is not None:
                score.add(model.classes_, batch.kept[score.target], numbers["p"])
            answers = name_columns(model.classes_, numbers, digits)
            if sets is not None:
                answers["set"] = sets["set"].values
            for name in answers:
                if name in carried:
                    raise ValueError(
                        f"{tables.name} already has a column {name!r}: rename it, or leave it out "
                        "of the output."
                    )
            yield batch.columns_to_write(output)[list(carried)].assign(**answers)
            is_empty = False
    if is_empty:
        raise ValueError(f"{tables.name}: there is no row to predict.")
    warn(unseen)


def kinds_of_columns(model: Any, tables: TableFiles) -> dict[str, str]:
    """Return the kind of each column: levels as in training, everything else as numbers.

    Columns are matched by position if those of the model have no names.
    """
    learnt: dict[Any, str] = {}
    for block in model.schema_.columns_alone.blocks:
        for place, name in enumerate(block.names):
            learnt[name] = kind_of_levels(block.levels[place]) if block.levels else "number"
            if block.family.listed:
                learnt[name] = "words"
    columns = model.schema_.columns
    names = tables.columns
    if hasattr(model, "feature_names_in_"):
        names = list(map(str, columns))
    elif len(names) != len(columns):
        raise ValueError(
            f"{tables.name} has {len(names)} columns, but the model has {len(columns)} without "
            "names: it was fitted on an array, so the table must have the same columns in the same "
            "order, and no others."
        )
    kinds = {name: learnt[key] for key, name in zip(columns, names, strict=True) if key in learnt}
    tables.check_there(kinds, "columns of the model")
    return kinds


def as_learnt(model: Any, frame: Any, tables: TableFiles) -> Any:
    """Return rows with all columns of the model, in its order; absent dropped columns are empty."""
    if hasattr(model, "feature_names_in_"):
        return frame.reindex(columns=[str(name) for name in model.feature_names_in_])
    return frame.reindex(columns=list(tables.columns)).to_numpy()


def name_columns(
    classes: Array, numbers: Mapping[str, Array], digits: int | None
) -> dict[str, Any]:
    """Return the most probable labels and the numbers of each class, as columns."""
    columns = {"predicted": classes[numbers["p"].argmax(axis=1)]}
    for c, label in enumerate(classes.tolist()):
        for prefix, values in numbers.items():
            name = f"{prefix}_{visible(str(label))}"  # without control characters
            columns[name] = values[:, c] if digits is None else values[:, c].round(digits)
    if len(columns) <= len(classes) * len(numbers):
        raise ValueError("several labels differ only in control characters: rename them.")
    return columns


# Batches, for both


def read_ahead(model: Any, batches: Iterator[Batch]) -> Any:
    """Return a context of batches, with the next one read ahead if several threads are allowed."""
    return closing(ahead(batches) if threads_of(model.n_jobs) > 1 else batches)


@contextmanager
def working_on(batch: Batch, unseen: dict[Any, Any]) -> Iterator[None]:
    """Make errors name the rows, and collect unseen levels."""
    try:
        with gathering_unseen(unseen):
            yield
    except ValueError as error:
        raise ValueError(f"{batch.where}: {error}") from error


def rows_at_once(columns: int, batch_rows: Any = None) -> int:
    """Return the number of rows of a batch: as requested, or a few megabytes."""
    if batch_rows is None:
        return min(max(MAX_BATCH_CELLS // max(columns, 1), MIN_BATCH_ROWS), MAX_BATCH_ROWS)
    if index(batch_rows) < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows!r}.")
    return batch_rows


def as_names(columns: Any) -> list[str]:
    """Return column names, or a single one, as a list of distinct names."""
    names = [] if columns is None else [columns] if isinstance(columns, str) else list(columns)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"columns: {twice[0]!r} is named twice.")
    return names
