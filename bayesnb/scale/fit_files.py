"""A model is fitted to tables in files of any size, some megabytes at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

from bayesnb import __version__
from bayesnb.data.cells import UnseenCollector
from bayesnb.data.columns import Kinds
from bayesnb.data.files import PLAIN, Batch, Names, Reading, refuse_missing_labels
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import list_families
from bayesnb.estimators.learning import count_shard, learn_shard
from bayesnb.formatting import list_names, quote
from bayesnb.model.schema import are_alike
from bayesnb.model.shards import Shard, add_shards
from bayesnb.persistence import read_shard, write_shard
from bayesnb.progress import bar
from bayesnb.scale.many_files import (
    TableFiles,
    as_names,
    kinds_to_learn,
    read_ahead,
    rows_at_once,
    working_on,
)


@dataclass(frozen=True, eq=False)
class FileFit:
    """A model, the tables that it is to learn from, and how they are read: see `fit_files`."""

    model: NaiveBayes
    tables: TableFiles
    target: str
    sample_weight: str | None
    columns: Names | None
    declared_kinds: Kinds

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns that are learnt from."""
        tables = self.tables
        others = {"target": self.target}
        if self.sample_weight is not None:
            others["sample_weight"] = self.sample_weight
        for whose, name in others.items():
            tables.check_there([name], whose)
        if self.columns is None:
            names = [name for name in tables.columns if name not in others.values()]
            tables.check_same()
        else:
            names = as_names(self.columns)
            tables.check_there(names, "columns")
            tables.check_same({*names, *others.values()})
        for name in names:
            if name in others.values():
                raise ValueError(f"columns: {name!r} holds the labels or the weights.")
        if not names:
            raise ValueError(
                f"{tables.name}: no column is left to learn from; it has "
                f"{list_names(tables.columns, to_text=quote)}."
            )
        return names

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kinds of all columns that are needed: as what each is read."""
        tables = self.tables
        declared = self.declared_kinds.keys()
        families = list_families(self.model, self.names)
        names = [name for name in self.names if families.get(name, ...) is not None]
        kinds, guessed = kinds_to_learn(tables, names, families)
        tables.refuse_dates(kinds.keys() - families.keys() - declared)
        kinds[self.target] = tables.kinds[self.target]
        if self.sample_weight is not None:
            is_flag = tables.kinds[self.sample_weight] == "flag"
            kinds[self.sample_weight] = "flag" if is_flag else "number"
        tables.check_kinds({name: kinds[name] for name in kinds if name not in declared})
        for reader in tables.readers:
            reader.guessed = {*guessed, self.target} - declared
        return tables.declare(kinds, self.declared_kinds)

    def count_batch(self, batch: Batch, total: Shard | None) -> Shard | None:
        """Return the stats of a batch of rows, on the grids of those before."""
        labels = batch.frame[self.target]
        if self.kinds[self.target] == "integer" and labels.dtype.kind == "f":
            if (labels % 1).any():
                raise ValueError(
                    f"column {self.target!r}: a label is not a whole number, unlike those of the "
                    f"first rows. If labels are names: kinds={{{self.target!r}: 'text'}}."
                )
            labels = labels.astype(int)
        weight = None if self.sample_weight is None else batch.frame[self.sample_weight]
        # columns that are dropped are not read
        rows = batch.frame.reindex(columns=self.names), labels, weight
        if total is None:
            return count_shard(self.model, rows, first=0)
        first, bound = (total.kept.rows, total.kept.bound) if total.kept else (None, None)
        return count_shard(self.model, rows, known=total.schema, first=first, bound=bound)

    def identity(self, reading: Reading, rows: int) -> dict[str, Any]:
        """Return all that has to be the same for another run to give the same, to the last bit."""
        params = self.model.get_params(deep=False)
        return {
            "versions": [__version__, version("pyarrow")],
            "files": [stamp(reader.name) for reader in self.tables.readers],
            "model": type(self.model).__name__,
            "params": {name: value for name, value in params.items() if name != "n_jobs"},
            "target": self.target,
            "sample_weight": self.sample_weight,
            "kinds": [list(pair) for pair in self.kinds.items()],
            "reading": list(vars(reading).values()),
            "batch_rows": rows,
        }


def stamp(path: str) -> list[Any]:
    """Return values that differ between files, and between states of one file."""
    state = Path(path).stat()
    return [str(Path(path).resolve()), state.st_size, state.st_mtime_ns]


def describe_changed_files(before: list[Any], now: list[Any]) -> str:
    """Return how the stamps of files differ between two fits."""
    for file in [*before, *now]:
        if file not in before or file not in now:
            return f"its files are others, or have changed since, {file[0]!r} first"
    return "its files had another order"


@dataclass(eq=False)
class Checkpoint:
    """A file with the stats of all files that are done, their number, and the fit it is of."""

    path: Path
    identity: Mapping[str, Any]  # what has to be the same for the fit to go on
    seconds: float
    written: float = float("-inf")

    def resume(self, unseen: UnseenCollector) -> tuple[Shard | None, int]:
        """Return what was counted, and how many files are done."""
        if not self.path.exists():
            return None, 0
        total, note = read_shard(self.path)
        if not isinstance(note, dict) or note.keys() != {"identity", "done", "unseen"}:
            raise ValueError(
                f"{str(self.path)!r} is not a checkpoint: it does not say how far a fit has come. "
                "Delete the file to begin anew."
            )
        before = note["identity"]
        for name, value in self.identity.items():
            if not are_alike(value, before.get(name)):
                what = f"`{name}` differs"
                if name == "files":
                    what = describe_changed_files(before[name], value)
                raise ValueError(
                    f"{str(self.path)!r} is the checkpoint of another fit: {what}. Go on with "
                    "what that fit had, give another name, or delete the file to begin anew."
                )
        unseen.levels = note["unseen"]
        return total, note["done"]

    def keep(self, total: Shard | None, done: int, unseen: UnseenCollector) -> None:
        """Write down what was counted in the files that are done, if it is time to."""
        if total is None or monotonic() - self.written < self.seconds:
            return
        note = {"identity": self.identity, "done": done, "unseen": unseen.levels}
        write_shard(total, self.path, note)
        self.written = monotonic()


def fit_files(
    model: Any,
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
) -> Any:
    """Fit an estimator to all rows of files, in one pass and bounded memory.

    It is the model that ``fit`` would give on the whole table, except for what the first batch of
    rows chooses: families that are not declared, cuts, and links between columns.

    Parameters
    ----------
    model : NaiveBayes or a preset
        The estimator to fit. Its ``n_jobs`` is the number of threads.
    paths : str, os.PathLike or list
        A file, a folder, a pattern such as ``"2026/*.parquet"``, or a list of those: Parquet, Arrow
        (Feather), and CSV or TSV, which may be compressed by gzip. In a folder all files with such
        names are read, also in folders below, whose names may hold columns, ``year=2026/``. All
        files have the same columns, in any order.
    target : str
        The column of labels.
    sample_weight : str or None, default=None
        The column of weights.
    columns : sequence of str or None, default=None
        The columns to learn from. None: all but those two. Others are not read, and may be missing
        in a part of the files; nor are those read whose family is None.
    kinds : dict or None, default=None
        ``{column: "number", "integer", "flag" or "text"}``, where a column is not to be read as it
        looks.
    reading : Reading, default=Reading()
        How text is read: ``scale.Reading(delimiter=..., decimal=..., encoding=...,
        missing=(...))``.
    batch_rows : int or None, default=None
        Rows that are read at once. None: as many as have some megabytes.
    checkpoint : str, os.PathLike or None, default=None
        A file that keeps what was counted in the files that are done. A call that finds it goes on
        with the next one, and gives the same model as one that was never interrupted, to the last
        bit. Files, model and options have to be the same. It is removed at the end.
    checkpoint_seconds : float, default=10.0
        How often it is written, at most.
    progress : bool or None, default=None
        Whether a bar is shown on stderr. None: where that is a terminal.

    Returns
    -------
    NaiveBayes or a preset
        The estimator, fitted. If the call fails, it is as it was.

    Raises
    ------
    ValueError
        For a cell that cannot be read, a label that is missing, and columns that differ between
        files. The message names the file, the row and the column.

    See Also
    --------
    predict_files : Predict all rows of files.
    fit_shards : Learn from parts that were counted elsewhere.
    bayesnb.NaiveBayes.fit : Learn from a table in memory, or of Dask.

    Notes
    -----
    Typed columns stay what they are: integers among levels are integers; dates are an error, as in
    ``fit``, unless ``kinds`` or a family makes levels of them. A column of text, in CSV or the name
    of a folder, is what its first rows look like, by the rules of the command line: numbers, unless
    one is a code (007, +491234); ``true`` and ``false``; else levels, whatever comes later. A later
    cell that is no number or flag is an error that says what to do, as nothing is read twice.
    Columns that the model declares as levels are text. Only "", "NA", "NaN" and "?" are missing.
    Labels are read likewise.

    Families that are not declared, the cuts of a ``Histogram``, and links between columns are those
    that the first batch of rows gives, and ``fit`` on the whole table may choose others. So the
    first batch should be like the rest: shuffle a table that is sorted, or declare ``families``,
    which has no links unless ``dependence`` asks for them.

    Exponents, which ``NaiveBayes()`` and ``temper="columns"`` or ``"loo"`` find by rows, are found
    at the end, by rows that were kept on the way: all up to 10,000, else a part spread over all
    files, which depends on nothing but the order of the rows. Fewer are kept where they would hold
    more than 2**24 numbers, or columns and classes are many.

    Memory is that of a few batches, and of the rows that are kept. A Parquet file's groups of rows
    may be of any size, but each of its columns takes some megabytes, two or three as a rule; of an
    Arrow file, its batches are held one at a time. A row of text has at most eight megabytes.

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
    with bar("fitting", progress) as shown:
        tables = TableFiles.open(model, paths, reading, shown)
        fit = FileFit(model, tables, target, sample_weight, columns, kinds or {})
        rows = rows_at_once(len(fit.kinds), batch_rows)
        total = None
        done = 0
        unseen = UnseenCollector()
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(Path(checkpoint), fit.identity(reading, rows), checkpoint_seconds)
            total, done = kept.resume(unseen)
        shown.start(tables.size, sum(reader.source.size for reader in tables.readers[:done]))
        for place, reader in enumerate(tables.readers[done:], done + 1):
            with read_ahead(model, reader.batches(fit.kinds, rows)) as batches:
                for batch in batches:
                    refuse_missing_labels(batch.name, batch.frame[target], batch.start)
                    with working_on(batch, unseen):
                        total = add_shards((total, fit.count_batch(batch, total)))
            if kept is not None:
                kept.keep(total, place, unseen)
    if total is None:
        raise ValueError(f"{tables.name}: there is no row to learn from.")
    learn_shard(model, total)
    model.target_name_ = target
    if kept is not None:
        kept.path.unlink(missing_ok=True)
    unseen.warn()
    return model
