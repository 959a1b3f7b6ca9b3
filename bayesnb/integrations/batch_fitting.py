"""A model is fitted to tables in files: batch by batch, in one pass, whatever their size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from bayesnb import __version__
from bayesnb.data import LABEL_ADVICE, PLAIN, Reading, is_missing
from bayesnb.estimators import NaiveBayes
from bayesnb.integrations.file_kinds import (
    Reads,
    decide,
    declared_families,
    of_columns,
    of_labels,
    refuse_dates,
)
from bayesnb.integrations.many_files import FileBatch, Tables, listed, names_of
from bayesnb.model.shards import Shard


@dataclass(frozen=True)
class FitOptions:
    """What a fit takes of the tables, and how it reads them: see `fit_files`."""

    target: str
    sample_weight: str | None = None
    columns: Sequence[str] | None = None
    kinds: Mapping[str, str] | None = None
    reading: Reading = PLAIN
    batch_rows: int | None = None


@dataclass(frozen=True, eq=False)
class FileFit:
    """A model, the tables that it is to learn from, and how."""

    model: NaiveBayes
    tables: Tables
    asked: FitOptions

    @cached_property
    def names(self) -> list[str]:
        """The columns that are learnt from."""
        asked, there = self.asked, self.tables.columns
        others = [asked.target, *(() if asked.sample_weight is None else (asked.sample_weight,))]
        self.tables.check_there(others[:1], "target")
        self.tables.check_there(others[1:], "sample_weight")
        if asked.columns is None:
            names = [name for name in there if name not in others]
        else:
            names = names_of(asked.columns)
            self.tables.check_there(names, "columns")
        self.tables.check_same(None if asked.columns is None else {*names, *others})
        odd = [name for name in names if name in others]
        if odd:
            raise ValueError(f"columns: {odd[0]!r} holds the labels or the weights.")
        if not names:
            raise ValueError(f"{self.tables.name}: no column is left to learn from; it has {listed(there)}.")
        return names

    @cached_property
    def kinds(self) -> dict[str, str]:
        """As what all columns are read that are needed."""
        asked, families = self.asked, self.model._families()
        gone = {name for name, family in declared_families(families, self.names).items() if family is None}
        wanted = of_columns(self.tables, [name for name in self.names if name not in gone], families)
        refuse_dates(self.tables, set(wanted) - set(declared_families(families, self.names)) - set(asked.kinds or ()))
        wanted[asked.target] = of_labels(self.tables, asked.target)
        if asked.sample_weight is not None:
            flags = self.tables.kinds[asked.sample_weight] == "flag"
            wanted[asked.sample_weight] = Reads("flag" if flags else "number")
        self.tables.check_kinds({name: own.kind for name, own in wanted.items() if name not in (asked.kinds or {})})
        return decide(self.tables, wanted, asked.kinds)

    @cached_property
    def rows(self) -> int:
        """Of a batch."""
        return self.asked.batch_rows or self.tables.rows_at_once(self.kinds)

    def shard(self, batch: FileBatch) -> Shard | None:
        """What some rows say."""
        weight = self.asked.sample_weight
        y = self._labels(batch)
        try:
            rows = batch.frame.reindex(columns=self.names)  # those that are dropped are not read
            return self.model._shard(rows, y, None if weight is None else batch.frame[weight])
        except ValueError as error:
            raise ValueError(f"{batch.where}: {error}") from error

    def _labels(self, batch: FileBatch) -> Any:
        target = self.asked.target
        labels = batch.frame[target]  # as it is: text has codes of its own
        missing = is_missing(labels)
        if missing.any():
            raise ValueError(
                f"{batch.name}: column {target!r}: {missing.sum()} of the labels of rows {batch.start} to "
                f"{batch.stop - 1} are missing, first at row {batch.start + missing.argmax()}. {LABEL_ADVICE}"
            )
        if self.kinds[target] == "integer" and labels.dtype.kind == "f":
            raise ValueError(
                f"{batch.where}: column {target!r}: a label is no whole number, unlike those of the first rows. If "
                f"labels are names: kinds={{{target!r}: 'text'}}."
            )
        return labels

    @property
    def identity(self) -> dict[str, Any]:
        """What has to be the same for another run to give the same, to the last bit."""
        params = self.model.get_params(deep=False)
        reading = self.asked.reading
        return {
            "versions": [__version__, version("pyarrow")],
            "files": [file.stamp for file in self.tables.files],
            "model": type(self.model).__name__,
            "params": {name: value for name, value in params.items() if name != "n_jobs"},
            "target": self.asked.target,
            "sample_weight": self.asked.sample_weight,
            "kinds": [list(pair) for pair in self.kinds.items()],
            "reading": [reading.format, reading.delimiter, reading.encoding, reading.decimal, reading.missing],
            "batch_rows": self.rows,
        }
