"""Tables of JSON lines, whose values have types of their own."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from bayesnb.data.column_kinds import Look, text_of
from bayesnb.data.records import check_names
from bayesnb.data.sheets import NO_ROWS, framed, kind_of_type
from bayesnb.data.typed import TypedSheet


class JsonSheet(TypedSheet):
    """JSON lines: one object a line, whose keys are the columns; a key that is left out is a missing cell."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._whole)

    @cached_property
    def looks(self) -> dict[str, Look]:
        return {
            str(name): Look(kind_of_json(series), 1, is_plain=name not in self.refused)
            for name, series in self._whole.items()
        }

    @cached_property
    def refused(self) -> dict[str, str]:
        objects = [name for name, series in self._whole.items() if series.dtype == object]
        odd = [str(name) for name in objects if kind_of_json(self._whole[name]) != "words"]
        return dict.fromkeys(odd, "lists or objects")

    @cached_property
    def _whole(self) -> pd.DataFrame:
        self.source.refuse_too_large()
        rows = list(self._objects())
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not rows:
            raise ValueError(f"{self.name}: {NO_ROWS.replace('a header and ', '')}")
        check_names(self.name, names)
        return framed({name: self._column(name, [row.get(name) for row in rows]) for name in names}, len(rows))

    def _column(self, name: str, values: list[Any]) -> pd.Series:
        try:
            return column(values)
        except OverflowError:
            raise ValueError(
                f"{self.name}: column {name!r} holds real numbers, and a whole number that is too large for one. Write "
                "it as text, or leave it out."
            ) from None

    def _objects(self) -> Iterator[dict[str, Any]]:
        with self.source.open() as stream:
            for line, text in enumerate(stream, 1):
                if not text.strip():
                    continue
                try:
                    row = value_of(text)
                except ValueError as error:
                    raise ValueError(f"{self.name}, line {line}: {error}.") from None
                if not isinstance(row, dict):
                    raise ValueError(f'{self.name}, line {line}: it is no object, such as {{"age": 3}}, one a line.')
                yield row

    def frames(self, rows: int, names: Sequence[str], skip: int = 0) -> Iterator[pd.DataFrame]:
        for start in range(skip, len(self._whole), rows):
            yield self._whole[list(names)].iloc[start : start + rows].reset_index(drop=True)


def value_of(line: bytes) -> Any:
    """Return the value that a line of JSON holds; a ValueError says why there is none."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} of the line, 0x{line[error.start]:02x},"
        raise ValueError(f"{where} is no UTF-8, which JSON lines are written in") from None
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep to be read; a row is one flat object") from None
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("unicode_escape").decode("ascii")
        raise ValueError(f"{half} is half of a surrogate pair, which is no character") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    return value


def kind_of_json(series: pd.Series) -> str:
    """What a column of JSON's values holds; of objects, lists of texts are words."""
    if series.dtype != object:
        return kind_of_type(series)
    there = [value for value in series if value is not None]
    lists = all(isinstance(value, list) and all(isinstance(word, str) for word in value) for value in there)
    return "words" if lists else "text"


def column(values: list[Any]) -> pd.Series:
    """Values of JSON as a column of one type: of several types, as text."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if kinds & {dict, list}:
        return pd.Series(values, dtype=object)
    if kinds == {int} and all(abs(value) < 1 << 63 for value in there):
        return pd.Series(values, dtype="int64" if len(there) == len(values) else "Int64")
    if kinds <= {int, float} and kinds != {int}:
        return pd.Series(values, dtype=float)
    if kinds == {bool}:
        return pd.Series(values, dtype=bool if len(there) == len(values) else "boolean")
    return pd.Series([None if value is None else text_of(value) for value in values], dtype=str)
