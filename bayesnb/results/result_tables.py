"""Readable tables of results, for a terminal and for a notebook; and the labelled Datasets that show themselves so.

A result stays what it is, an `xarray.Dataset` or a `pandas.DataFrame`. What is shown is a part of it with rounded
numbers: the first rows and the last. Where a selection or a sum has taken away what the table needs, or arithmetic has
changed what its numbers mean, the result shows itself as any other Dataset does.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from shutil import get_terminal_size
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from bayesnb.results.display import Name, notebook, shortened

HALF = 10  # lines of a table above those that are left out, and below them
MOST_COLUMNS = 24  # in a notebook
LONGEST = 60  # letters of a name in a terminal
NAMES = ("obs_id", "link", "bin", "feature", "feature_2", "first", "second")  # that may be numbers
GAP, MINUS = "…", "\N{MINUS SIGN}"
Lines = list[list[str]]


def number(value: float) -> str:
    """Format a number with two decimals, a large one with none, a small one with two digits."""
    size = abs(value)
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if size >= 0.05 or not size else f"{value:.2g}"


def probability(value: float) -> str:
    """Format a probability with three decimals; one that is not certain never reads as 0 or 1."""
    if 0 < value < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 <= value < 1 else "" if np.isnan(value) else f"{value:.3f}"


def small(value: float) -> str:
    """Format a number with three decimals; one that is not 0 never reads as 0."""
    if 0 < abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">-0.001"
    return f"{value:.3f}" if abs(value) < 1000 else number(value)


def fixed(value: float) -> str:
    """Format a number with two decimals, a large one with none."""
    return (
        number(value) if not np.isfinite(value) or abs(value) >= 1000 else _unsigned(f"{value:.2f}")
    )


def _unsigned(text: str) -> str:
    return "0.00" if text == "-0.00" else text


def plus_minus(value: float, sd: float) -> str:
    """Format a number with its standard deviation."""
    if not np.isfinite([value, sd]).all() or max(abs(value), sd) >= 1000:
        return number(value)
    return f"{fixed(value)} ± {sd:.2f}"


def shown_name(value: Any, longest: int = LONGEST) -> str:
    """Return a name on one line, without control characters and not endless; nothing for a missing one."""
    if value is None or value != value:
        return ""
    line = " ".join(str(value).split())
    return shortened("".join(letter if letter.isprintable() else "�" for letter in line), longest)


@dataclass(frozen=True)
class ShownTable:
    """A table of text under a title: numbers are right-aligned, columns of text are not."""

    title: str
    head: Sequence[str]
    rows: Lines
    text: Sequence[bool]  # which columns are text
    lines: Sequence[str] = ()  # between the title and the table
    notes: Sequence[str] = ()  # below the table

    def in_terminal(self) -> str:
        """Return the table as plain text, no wider than the terminal where its middle columns can be left out."""
        columns = [list(column) for column in zip(self.head, *self.rows, strict=True)]
        widths = [max(map(len, column)) for column in columns]
        for column, width, is_text in zip(columns, widths, self.text, strict=True):
            column[:] = [cell.ljust(width) if is_text else cell.rjust(width) for cell in column]
        keep = _fitting(widths, get_terminal_size().columns, 1 + sum(self.text))
        columns = [columns[at] if at is not None else [GAP] * (len(self.rows) + 1) for at in keep]
        table = [line.rstrip() for line in map("  ".join, zip(*columns, strict=True))]
        above = [text for text in (self.title, *self.lines) if text]
        return "\n".join([*above, "", *table, *([""] if self.notes else []), *self.notes])

    def in_notebook(self, details: str = "", kind: str = "") -> str:
        """Return the table as HTML, with further HTML folded below it."""
        keep = _fitting([1] * len(self.head), 3 * MOST_COLUMNS, 1 + sum(self.text))
        columns = [
            (Name(self.head[at]), self.text[at]) if at is not None else (GAP, False) for at in keep
        ]
        rows = [
            [_signed(row[at], self.text[at]) if at is not None else GAP for at in keep]
            for row in self.rows
        ]
        return notebook(
            "result.html",
            title=self.title,
            remarks=self.lines,
            columns=columns,
            cells=rows,
            footnotes=self.notes,
            details=Markup(details),
            kind=kind,
        )


def _signed(cell: str, is_text: bool) -> Any:
    """Return a cell of a notebook's table: a name, or a number with a typographic minus."""
    if is_text:
        return Name(cell.replace("-", MINUS, 1) if cell[:1] == "-" and "±" in cell else cell)
    return MINUS + cell[1:].replace("inf", "∞") if cell[:1] == "-" else cell.replace("inf", "∞")


def _fitting(widths: Sequence[int], room: int, first: int) -> list[int | None]:
    """Return the columns to show: the first ones, and of too many only those at both ends, with None for a gap."""
    if sum(widths) + 2 * (len(widths) - 1) <= room:
        return list(range(len(widths)))
    kept, used = list(range(min(first, len(widths)))), sum(widths[:first]) + 2 * first + len(GAP)
    head: list[int] = []
    tail: list[int] = []
    left, right = first, len(widths) - 1
    while left <= right:
        at = left if len(head) <= len(tail) else right
        used += widths[at] + 2
        if used > room and head:
            break
        (head if at == left else tail).append(at)
        left, right = (left + 1, right) if at == left else (left, right - 1)
    return [*kept, *head, *([None] if left <= right else []), *tail[::-1]]


def sentence(prob: Any) -> str:
    """Return "89 % intervals", or "intervals" where their probability is not known."""
    return "intervals" if prob is None else f"{100 * prob:.3g} % intervals"


def shown_frame(
    parts: Sequence[Any],
    formats: Mapping[str, Callable[[float], str]],
    longest: Mapping[str, int] | None = None,
) -> tuple[list[str], Lines, list[bool]]:
    """Return the head, the rows and the columns of text of a table; between parts is a row of gaps.

    `formats` are those of columns of numbers, and `longest` how many letters a cell of a column of text may have.
    """
    room = longest or {}
    columns = _columns(parts[0])
    text = [not _is_number(name, values) for name, values in columns]
    rows: Lines = []
    for part in parts:
        cells = [
            [
                shown_name(value, room.get(str(name), LONGEST))
                if is_text
                else formats.get(str(name), number)(float(value))
                for value in values
            ]
            for (name, values), is_text in zip(_columns(part), text, strict=True)
        ]
        lines = [list(row) for row in zip(*cells, strict=True)]
        lines = (
            [*lines[:HALF], [GAP] * len(text), *lines[-HALF:]]
            if len(lines) > 2 * HALF + 1
            else lines
        )
        rows += [*([[GAP] * len(text)] if rows else []), *_sparse(lines, part.index.nlevels)]
    return [shown_name(name) for name, _ in columns], rows, text


def _columns(table: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Return the levels of the index, where they have a name, and the columns."""
    levels = [
        (name, table.index.get_level_values(at))
        for at, name in enumerate(table.index.names)
        if name is not None
    ]
    return levels + [(name, table.iloc[:, at]) for at, name in enumerate(table.columns)]


def _is_number(name: Any, values: Any) -> bool:
    return values.dtype.kind in "fiu" and name not in NAMES


def _sparse(rows: Lines, levels: int) -> Lines:
    """Blank the labels of rows that the row above has too, all but the last level of an index."""
    blanked = [list(row) for row in rows]
    for above, row, shown in zip(rows, rows[1:], blanked[1:], strict=False):
        for at in range(levels - 1):
            if row[: at + 1] != above[: at + 1]:
                break
            shown[at] = ""
    return blanked


class ResultDataset(xr.Dataset):
    """An xarray.Dataset that shows itself as a readable table, and has `to_frame`.

    A subclass declares the variables that its table needs, with their axes. A selection along an axis keeps the table.
    """

    __slots__ = ()
    _form: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    _formats: ClassVar[Mapping[str, Callable[[float], str]]] = {}

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a tidy pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Where a selection or a sum has left no such table, what `to_dataframe` returns.

        See Also
        --------
        xarray.Dataset.to_dataframe : All variables, broadcast against each other.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> model.predict_interval([[5.0]], ci_prob=0.9).to_frame().round(2).to_dict("index")[0, "a"]
        {'probability': 0.65, 'median': 0.69, 'lower': 0.18, 'upper': 0.98}
        """
        whole = self._whole()
        return self.to_dataframe() if whole is None else self._frame(whole)

    def __repr__(self) -> str:
        whole = self._whole()
        return super().__repr__() if whole is None else self._shown(whole).in_terminal()

    def _repr_html_(self) -> str:
        whole, details = self._whole(), super()._repr_html_()
        return (
            details if whole is None else self._shown(whole).in_notebook(details, "xarray.Dataset")
        )

    def _whole(self) -> xr.Dataset | None:
        """Return a plain Dataset that has all axes; None where a variable or an axis is gone."""
        if not all(name in self.data_vars for name in self._form):
            return None
        axes = dict.fromkeys(axis for dims in self._form.values() for axis in dims)
        single = [axis for axis in axes if axis not in self.dims and axis in self.coords]
        if any(axis not in self.indexes for axis in axes if axis not in single):
            return None
        if any(
            {*self[name].dims} != {axis for axis in dims if axis not in single}
            for name, dims in self._form.items()
        ):
            return None
        plain = xr.Dataset(self.data_vars, self.coords, self.attrs)
        for name in self._form if single else ():
            missing = [axis for axis in self._form[name] if axis in single]
            plain[name] = self[name].expand_dims(missing)
        return plain.transpose(*axes, ...)

    def _frame(self, whole: xr.Dataset) -> pd.DataFrame:
        """Return the tidy frame of a whole result."""
        names = list(self._form)
        axes = [axis for axis in whole.dims if any(axis in self._form[name] for name in names)]
        return whole[names].reset_coords(drop=True).to_dataframe(dim_order=axes)

    def _shown(self, whole: xr.Dataset) -> ShownTable:
        parts = self._parts(whole)
        notes = [*self._notes(whole), *([] if len(parts) < 2 else [self._counted(whole)])]
        return ShownTable(
            self._title(whole),
            *shown_frame(parts, self._formats),
            lines=tuple(self._lines(whole)),
            notes=tuple(notes),
        )

    def _parts(self, whole: xr.Dataset) -> list[pd.DataFrame]:
        """Return the frames that are shown, one, or the first rows and the last."""
        lead = next(iter(whole.sizes))
        total, each = whole.sizes[lead], self._lines_each(whole)
        most = max(1, HALF // max(each, 1))
        if total <= 2 * most + 1 or total * each <= 2 * HALF + 1:
            return [self._seen(whole)]
        return [
            self._seen(whole.isel({lead: part}))
            for part in (slice(most), slice(total - most, None))
        ]

    def _lines_each(self, whole: xr.Dataset) -> int:
        """Return how many lines an entry of the first axis takes."""
        return int(np.prod([whole.sizes[axis] for axis in list(whole.sizes)[1:]], dtype=int))

    def _seen(self, part: xr.Dataset) -> pd.DataFrame:
        """Return the frame that is shown of a part of the rows."""
        return self._frame(part)

    def _counted(self, whole: xr.Dataset) -> str:
        lead = next(iter(whole.sizes))
        noun = {"obs_id": "row", "feature": "feature", "link": "link"}.get(str(lead), str(lead))
        return f"{whole.sizes[lead]:,} {noun}s in all; .to_frame() has all of them."

    @abstractmethod
    def _title(self, whole: xr.Dataset) -> str:
        """Return the line above the table."""

    def _lines(self, whole: xr.Dataset) -> Sequence[str]:
        return ()

    def _notes(self, whole: xr.Dataset) -> Sequence[str]:
        return ()


def _as_plain(method: Callable[..., Any]) -> Any:
    """Return a method whose result is a plain Dataset: what it computes is no longer what the title says."""

    @wraps(method)
    def plain(self: xr.Dataset, *args: Any, **kwargs: Any) -> Any:
        return method(xr.Dataset(self.data_vars, self.coords, self.attrs), *args, **kwargs)

    return plain


for _name in ("_binary_op", "_unary_op", "map", "reduce", "quantile", "rank", "diff"):
    if hasattr(
        xr.Dataset, _name
    ):  # two are private names, which another version of xarray may not have
        setattr(ResultDataset, _name, _as_plain(getattr(xr.Dataset, _name)))


def by_label(array: xr.DataArray, axis: str) -> dict[str, xr.DataArray]:
    """Return a variable for each label of an axis, named `<variable>_<label>`."""
    labels = array[axis].values.tolist()
    return {
        f"{array.name}_{label}": array.isel({axis: at}, drop=True)
        for at, label in enumerate(labels)
    }


class ShownFrame(pd.DataFrame):
    """A pandas.DataFrame with a title, and numbers rounded where it is shown; what is computed from it is plain."""

    _metadata: ClassVar[list[str]] = ["title", "notes"]
    title: str
    notes: tuple[str, ...]

    @classmethod
    def titled(cls, table: pd.DataFrame, title: str, notes: Sequence[str] = ()) -> "ShownFrame":
        shown = cls(table)
        shown.title, shown.notes = title, tuple(notes)
        return shown

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return a plain copy of the table.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from bayesnb import NaiveBayes, compare
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> models = {"one": NaiveBayes("gaussian"), "other": NaiveBayes("gaussian", estimate="mean")}
        >>> type(compare(models, x, y).to_frame())
        <class 'pandas.DataFrame'>
        """
        return pd.DataFrame(self).copy()

    def __repr__(self) -> str:
        return self._shown().in_terminal()

    def _repr_html_(self) -> str:
        return self._shown().in_notebook()

    def _shown(self) -> ShownTable:
        plain = pd.DataFrame(self).rename_axis(index="")
        blank = [
            name
            for name in plain.columns
            if not _is_number(name, plain[name]) and (plain[name] == "").all()
        ]
        plain = plain.drop(columns=blank)
        return ShownTable(
            self.title, *shown_frame([plain], {"rank": "{:.0f}".format}), notes=self.notes
        )


def text_frame(head: Sequence[str], rows: Sequence[Sequence[Any]], index: int) -> pd.DataFrame:
    """Return rows of text as a frame, the first columns of which are its index; two heads may be the same."""
    levels = [[row[at] for row in rows] for at in range(index)]
    labels = (
        pd.MultiIndex.from_arrays(levels, names=head[:index])
        if index > 1
        else pd.Index(levels[0], name=head[0])
    )
    return pd.DataFrame([row[index:] for row in rows], labels, head[index:], dtype=object)


def table_of(
    title: str,
    columns: Mapping[str, Sequence[Any]],
    lines: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ShownTable:
    """Return columns, the first the rows' names, as a table."""
    return ShownTable(
        title, *shown_frame([pd.DataFrame(dict(columns))], {}), lines=lines, notes=notes
    )
