"""A model is fitted to tables in files of any size, some megabytes at a time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bayesnb.data import PLAIN, Reading
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.integrations.ahead import ahead
from bayesnb.integrations.batch_fitting import FileFit, FitOptions
from bayesnb.integrations.checkpoint import Checkpoint
from bayesnb.integrations.many_files import FileBatch, Tables, refuse_rows
from bayesnb.integrations.unseen_counts import Unheard
from bayesnb.model.shards import Shard, added
from bayesnb.numerics.threads import threads_of
from bayesnb.results.progress import Bar, bar


def fit_files(
    model: Any,
    paths: Any,
    target: str,
    *,
    sample_weight: str | None = None,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    reading: Reading = PLAIN,
    batch_rows: int | None = None,
    checkpoint: Any = None,
    checkpoint_seconds: float = 10.0,
    progress: bool | None = None,
) -> Any:
    """Fit an estimator to all rows of some files, as `fit` would on the whole table, in one pass and bounded memory.

    Parameters
    ----------
    model : an estimator, such as NaiveBayes(); its `n_jobs` is the number of threads
    paths : a file, a folder, a pattern such as "2026/*.parquet", or a list of those
        Parquet, Arrow (Feather) and CSV or TSV, which may be packed by gzip. Of a folder all files with such names are
        read, also in folders below, whose names may hold columns, `year=2026/`. All files have the same columns, in
        any order.
    target : the column of labels
    sample_weight : the column of weights, if there is one
    columns : the columns to learn from; None: all but those two
        Others are not read, and may be of some files only; nor are those read whose family is None.
    kinds : {column: "number", "integer", "flag" or "text"}, where a column is not to be read as it looks
    reading : how text is read, `scale.Reading(delimiter=..., decimal=..., encoding=..., missing=(...))`
    batch_rows : rows that are read at once; None: as many as have some megabytes
    checkpoint : a file that keeps what was counted so far
        A call that finds it goes on from there, and gives the same model as one that was never interrupted, to the
        last bit. Files, model and options have to be the same. It is removed at the end.
    checkpoint_seconds : how often it is written, at most
    progress : whether a bar is shown on stderr; None: if that is a terminal

    Returns
    -------
    The estimator, fitted. If the call fails, it is as it was.

    Notes
    -----
    Typed columns stay what they are: integers among levels are integers; dates are an error, as in `fit`, unless
    `kinds` or a family makes levels of them. A column of text, in CSV or the name of a folder, is what its first rows
    look like, by the rules of the command line: numbers, unless digits follow a leading zero; `true` and `false`; else
    levels. A later cell that does not look so is an error that says what to do, as nothing is read twice. Columns that
    the model declares as levels are text. Only "", "NA", "NaN" and "?" are missing. A quote after a blank does not
    quote, and is an error; text after a closing quote belongs to the cell.

    Memory is that of a few batches. A Parquet file's groups of rows may be of any size, but each of its columns takes
    some megabytes, two or three as a rule; of an Arrow file, its batches are held one at a time. A line of text is
    shorter than 2 MB.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, scale
    >>> from bayesnb.datasets import path
    >>> scale.fit_files(NaiveBayes(), path("penguins"), "species", columns=["island", "body_mass_g"]).classes_.tolist()
    ['Adelie', 'Chinstrap', 'Gentoo']
    """
    check_estimator(model, "model: ")
    model._refuse_loo()
    refuse_rows(batch_rows)
    options = FitOptions(target, sample_weight, columns, kinds, reading, batch_rows)
    with bar("fitting", progress) as shown:
        fit = FileFit(model, opened(model, paths, reading, shown), options)
        kept = None if checkpoint is None else Checkpoint(Path(checkpoint), fit.identity, checkpoint_seconds)
        total, unheard = counted(fit, kept, shown)
    if total is None:
        raise ValueError(f"{fit.tables.name}: there is no row to learn from.")
    model._adopt(total)
    if kept is not None:
        kept.remove()
    unheard.tell()
    return model


def counted(fit: FileFit, kept: Checkpoint | None, shown: Bar) -> tuple[Shard | None, Unheard]:
    """What all rows say, and levels that are not among the declared ones."""
    unheard = Unheard()
    total, (file, row) = (None, (0, 0)) if kept is None else kept.resumed(unheard)
    tables = fit.tables
    shown.start(tables.size, sum(sheet.source.size for sheet in tables.sheets[:file]))
    with closing(read(fit.model, tables.batches(fit.kinds, fit.rows, after=(file, row)))) as batches:
        for batch in batches:
            with unheard.kept():
                total = added((total, fit.shard(batch)))
            if kept is not None:
                kept.keep(total, (batch.file, batch.stop), unheard)
    return total, unheard


def opened(model: NaiveBayes, paths: Any, reading: Reading, shown: Bar) -> Tables:
    """The tables, which several threads read if the model may use them."""
    return Tables.open(paths, reading, shown.more, use_threads=threads_of(model.n_jobs) > 1)


def read(model: NaiveBayes, batches: Iterator[FileBatch]) -> Any:
    """Batches, of which a thread reads the next one if the model may use several."""
    return ahead(batches) if threads_of(model.n_jobs) > 1 else batches
