"""Tables in files of any size are predicted by a model, some megabytes at a time."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesnb.data import PLAIN, Reading, beside, format_of_name, open_writer
from bayesnb.data.unseen import UnseenCollector
from bayesnb.estimators import check_estimator
from bayesnb.integrations.answers import SLOW, answered, as_learnt, named_kinds, refuse_taken
from bayesnb.integrations.file_kinds import Reads, decide
from bayesnb.integrations.fit_files import opened, read
from bayesnb.integrations.many_files import FileBatch, TableFiles, names_of, refuse_rows
from bayesnb.results.progress import Bar, bar
from bayesnb.safe_output import replacing


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
    """Predict all rows of some files into one file, in bounded memory; it appears when it is complete.

    Parameters
    ----------
    model : a fitted estimator
    paths : files as in `fit_files`; columns are found by name, in any order and among others
    output : the file to write, Parquet unless its name ends otherwise: .arrow, .csv, .tsv, .jsonl
    columns : columns to carry along, before the new ones
    ci_prob : None, or the probability of equal-tailed credible intervals: `lower_CLASS` and `upper_CLASS` beside
        `predicted` and `p_CLASS`, which then are those of `predict_interval`. A control character of a label is an
        escape in these names, such as `\\x1b`.
    kinds : {column: "number", "integer", "flag" or "text"}, where a column is not to be read as it was learnt
    reading, batch_rows, progress : as in `fit_files`

    Returns
    -------
    int
        How many rows there were.

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
    with bar("predicting", progress) as shown:
        tables = opened(model, paths, reading, shown)
        wanted = {name: Reads(kind) for name, kind in named_kinds(model, tables).items()}
        answers = FileAnswers(model, tables, decide(tables, wanted, kinds), names_of(columns), ci_prob)
        tables.check_there(answers.kept, "columns")
        tables.check_same({*answers.kinds, *answers.kept} if hasattr(model, "feature_names_in_") else None)
        refuse_input(output, tables)
        return answers.write(output, batch_rows or min(tables.rows_at_once(answers.kinds), answers.most), shown)


def refuse_input(output: Any, tables: TableFiles) -> None:
    """Raise for an output that is one of the files that are read."""
    goal = Path(output).resolve()
    if any(goal == file.path.resolve() for file in tables.files):
        raise ValueError(f"output: {str(output)!r} is one of the files that are read; give another name.")


@dataclass(frozen=True, eq=False)
class FileAnswers:
    """Answers of a model about tables in files."""

    model: Any
    tables: TableFiles
    kinds: Mapping[str, str]
    kept: Sequence[str]
    ci_prob: float | None

    @property
    def most(self) -> int:
        """Most rows that are predicted at once."""
        return SLOW if self.ci_prob is not None else 1 << 30

    def write(self, output: Any, rows: int, shown: Bar) -> int:
        """Write the answers for all rows into a file; return how many rows there were."""
        name, count, unseen = str(output), 0, UnseenCollector()
        shown.start(self.tables.size)
        batches = read(self.model, self.tables.batches(self.kinds, rows, self.kept))
        kind, packed = format_of_name(name) or "parquet", name.endswith(".gz")
        with replacing(output) as stream, closing(batches), closing(open_writer(stream, kind, packed)) as writer:
            for batch in batches:
                with unseen.collected():
                    writer.write(self._of(batch))
                count += len(batch.frame)
            if not count:
                raise ValueError(f"{self.tables.name}: there is no row to predict.")
        unseen.warn()
        return count

    def _of(self, batch: FileBatch) -> Any:
        try:
            interval = None if self.ci_prob is None else {"ci_prob": self.ci_prob}
            columns = answered(self.model, as_learnt(self.model, batch.frame, self.tables), interval)
        except ValueError as error:
            raise ValueError(f"{batch.where}: {error}") from error
        refuse_taken(self.tables, columns, self.kept, "do not carry it along")
        return beside(columns, batch.kept)
