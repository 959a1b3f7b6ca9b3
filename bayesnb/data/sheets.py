"""A table in a file: its columns, what they look like, and its rows, all at once or some at a time."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from bayesnb.data.sources import Reading, Source
from bayesnb.data.text_cells import CellRules, ColumnSummary

MOST_ROWS, MOST_CELLS = 1 << 12, 1 << 22  # that are read at once: few, which stay near the processor
MEANT = {"number": "not a number", "integer": "not a number", "flag": "neither true nor false"}
NO_ROWS = "it has a header but no rows; at least one is needed."


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, as columns of the kinds that were asked for."""

    start: int  # rows before it
    frame: Any
    kept: Any  # all columns, as the file has them
    missing: frozenset[str] | None = None  # texts among them that say that a cell is missing, if all are text
    coded: frozenset[str] = frozenset()  # columns of text that are there as categories

    def kept_for(self, kind: str) -> Any:
        """Return all columns, to be written in a format: text as it was in text, else of types that are known."""
        if self.missing is None or kind in ("csv", "tsv"):
            return self.kept
        missing = self.kept.isin(self.missing)
        text = self.kept.where(~missing, None).astype("string")  # str would make None a text in pandas 2
        return text.assign(**{name: self.frame[name] for name in self.frame.columns if name in self.kept})

    def __len__(self) -> int:
        return len(self.kept)


@dataclass(eq=False)
class FileSheet(ABC):
    """A table in a file that can be read from its beginning as often as is needed."""

    source: Source
    reading: Reading = field(default_factory=Reading)
    use_threads: bool = True
    guessed: Collection[str] = ()  # columns whose kind is known by the first rows, which all others are to be like
    is_text: ClassVar[bool] = False  # whether its cells are text, which may be read as anything
    default_missing: ClassVar[tuple[str, ...]] = ()  # texts that say that a cell is missing, if the user does not

    @property
    def name(self) -> str:
        return self.source.name

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, each once."""

    @cached_property
    @abstractmethod
    def summaries(self) -> dict[str, ColumnSummary]:
        """What the cells of each column look like."""

    def batches(self, kinds: Mapping[str, str], rows: int = MOST_ROWS) -> Iterator[Batch]:
        """Yield rows, at most `rows` at a time, with the columns of `kinds`, in that order; raise if there is none."""
        batches = self.parts(kinds, rows, self.columns)
        first = next(batches, None)
        if first is None:
            raise ValueError(f"{self.name}: {NO_ROWS}")
        yield first
        yield from batches

    @abstractmethod
    def parts(
        self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0, native: bool = False
    ) -> Iterator[Batch]:
        """Yield rows after the first `skip`, at most `rows` at a time; the columns `kept` stay as they are.

        Native batches suit the file: they may have nearly four times as many rows, and texts as categories, which they
        name.
        """

    @cached_property
    def rules(self) -> CellRules:
        """Rules by which cells of text are read."""
        missing = self.default_missing if self.reading.missing is None else self.reading.missing
        return CellRules(missing, self.reading.decimal)

    def read(self, kinds: Mapping[str, str]) -> Any:
        """Return all rows as a dataframe."""
        return stacked([batch.frame for batch in self.batches(kinds)])

    def most(self, rows: int) -> int:
        """Return how many rows are read at once, if `rows` are asked for."""
        return max(min(rows, MOST_CELLS // max(len(self.columns), 1)), 1)


def after(skip: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches without the first `skip` rows."""
    for batch in batches:
        if skip < len(batch):
            yield batch.slice(skip)
        skip = max(skip - len(batch), 0)


def check_names(name: str, columns: list[str]) -> None:
    """Raise for columns without a name, and for names that stand twice."""
    blank = [place for place, column in enumerate(columns, 1) if not column]
    if blank:
        raise ValueError(
            f"{name}: column {blank[0]} of {len(columns)} has no name in the header. Give it one"
            + (", or write the table without its index." if blank == [1] else ".")
        )
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(f"{name}: the header names the column {twice[0]!r} twice. Rename one of the two.")


def nothing(rows: int, kind: str) -> pd.Series:
    """Return a column of missing cells that is like others of a kind."""
    dtype: Any = {"text": str, "flag": "boolean", "words": object}.get(kind, float)
    return pd.Series([None] * rows, dtype=dtype)


def kind_of_type(series: pd.Series) -> str:
    """Return what a column holds, by its type."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "text"  # its categories are levels, whatever they are
    if pd.api.types.is_bool_dtype(series.dtype):
        return "flag"
    if pd.api.types.is_integer_dtype(series.dtype):
        return "integer"
    return "number" if pd.api.types.is_numeric_dtype(series.dtype) else "text"


def framed(series: Mapping[str, pd.Series], rows: int) -> pd.DataFrame:
    """Return columns side by side."""
    return pd.DataFrame(dict(series), index=pd.RangeIndex(rows), copy=False)


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return rows below each other; categories that differ become their union."""
    if len(frames) == 1:
        return frames[0]
    parts = {}
    for name in frames[0].columns:
        series = [frame[name] for frame in frames]
        if all(isinstance(part.dtype, pd.CategoricalDtype) for part in series):
            parts[name] = pd.Series(pd.api.types.union_categoricals(series))
        else:
            parts[name] = pd.concat(series, ignore_index=True)
    return pd.DataFrame(parts)
