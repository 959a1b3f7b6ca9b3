"""Results that show themselves as tables: a title, a frame as pandas prints it, a note."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, ClassVar

import pandas as pd
import xarray as xr

from bayesnb.formatting import fixed, shorten

MAX_ROWS = 20  # shown of a table: half of them from its beginning, half from its end
MAX_COLUMNS = 20  # in a notebook; in a terminal as many as fit
MAX_LETTERS = 60  # of a cell
Formats = Mapping[str, Callable[[Any], str]]  # by column; "" of all others
PANDAS_OPTIONS = {
    "display.max_rows": MAX_ROWS,
    "display.min_rows": MAX_ROWS,
    "display.max_columns": 0,  # as many as fit
    "display.max_colwidth": None,
    "display.show_dimensions": False,
}


def show_text(
    title: str,
    frame: pd.DataFrame,
    formats: Formats,
    note: str = "",
) -> str:
    """Return a table for a terminal."""
    if frame.empty:
        return title
    with pd.option_context(*(part for option in PANDAS_OPTIONS.items() for part in option)):
        lines = repr(format_ends(frame, formats)).splitlines()
    table = "\n".join(line.rstrip() for line in lines)
    return "\n\n".join(filter(None, (title, table, _mention_omitted(frame), note)))


def show_html(
    title: str, frame: pd.DataFrame, formats: Formats, note: str = "", details: str = ""
) -> str:
    """Return a table for a notebook, with further HTML folded below it."""
    with pd.option_context("display.max_colwidth", None):
        text = format_ends(frame, formats)
        table = text.to_html(max_rows=MAX_ROWS, max_cols=MAX_COLUMNS, border=0)
    notes = filter(None, (_mention_omitted(frame), note))
    lines = [f"<p><b>{_escape_lines(title)}</b></p>"]
    lines += [table] if len(frame) else []
    lines += [f"<p>{_escape_lines(text)}</p>" for text in notes]
    if details:
        lines.append(f"<details><summary>xarray.Dataset</summary>{details}</details>")
    return "\n".join(lines)


def format_ends(frame: pd.DataFrame, formats: Formats) -> pd.DataFrame:
    """Return the first and the last rows as text, a few more than are shown."""
    end = MAX_ROWS // 2 + 1
    if len(frame) > 2 * end:
        frame = frame.iloc[[*range(end), *range(-end, 0)]]
    columns = {}
    for at, name in enumerate(frame.columns):
        values = frame.iloc[:, at]
        default = formats.get("", _two_decimals) if values.dtype.kind == "f" else _one_line
        columns[at] = list(map(formats.get(str(name), default), values))
    levels = [frame.index.get_level_values(at).map(_one_line) for at in range(frame.index.nlevels)]
    names = frame.index.names
    index = pd.MultiIndex.from_arrays(levels, names=names) if len(levels) > 1 else levels[0]
    text = pd.DataFrame(columns, index)
    text.columns = pd.Index([_one_line(name) for name in frame.columns])
    return text


def _two_decimals(value: float) -> str:
    return fixed(value, 2)


def _one_line(value: Any) -> str:
    return "" if value is None or value != value else shorten(value, MAX_LETTERS)


def _mention_omitted(frame: pd.DataFrame) -> str:
    return "Not all rows are shown; .to_frame() has them." if len(frame) > MAX_ROWS else ""


def _escape_lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


class Result(xr.Dataset):
    """An xarray.Dataset that shows itself as a table under its title, `attrs["title"]`.

    A subclass names the axes of the table's rows and the variables in its columns; one with another
    axis has a column for each label. Where a computation or a selection has taken one of these
    away, the result shows itself as any other Dataset does.
    """

    __slots__ = ()
    _axes: ClassVar[tuple[str, ...]] = ()
    _columns: ClassVar[tuple[str, ...]] = ()
    _formats: ClassVar[Formats] = {}
    _sorted_by: ClassVar[str] = ""

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
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> intervals = GaussianNB().fit(x, y).predict_interval([[5.0]], ci_prob=0.9)
        >>> intervals.to_frame().round(2).to_dict("index")[0, "a"]
        {'probability': 0.65, 'median': 0.69, 'lower': 0.18, 'upper': 0.98}
        """
        return self._with_axes()._frame() if self._has_table() else self.to_dataframe()

    def __repr__(self) -> str:
        if not self._has_table():
            return super().__repr__()
        note = self.attrs.get("note", "")
        return show_text(
            self.attrs["title"],
            self._with_axes()._shown(),
            self._formats,
            note,
        )

    def _repr_html_(self) -> str:
        details = super()._repr_html_()
        if not self._has_table():
            return details
        frame = self._with_axes()._shown()
        note = self.attrs.get("note", "")
        return show_html(self.attrs["title"], frame, self._formats, note, details)

    def _has_table(self) -> bool:
        axes = [self[axis].dims in ((), (axis,)) for axis in self._axes if axis in self.coords]
        columns = all(name in self.data_vars for name in self._columns)
        return "title" in self.attrs and columns and all(axes) and len(axes) == len(self._axes)

    def _with_axes(self) -> "Result":
        """Return the result with the axes that the choice of a single label took away."""
        single = [axis for axis in self._axes if axis not in self.dims]
        if not single:
            return self.reset_coords(drop=True)
        expanded = {name: self[name].expand_dims(single) for name in self._columns}
        return self.assign(expanded).reset_coords(drop=True)

    def _frame(self) -> pd.DataFrame:
        variables = {}
        for name in self._columns:
            further = [dim for dim in self[name].dims if dim not in self._axes]
            if not further:
                variables[name] = self[name]
                continue
            (axis,) = further
            for at, label in enumerate(self[axis].values.tolist()):
                variables[f"{name}_{label}"] = self[name].isel({axis: at}, drop=True)
        return xr.Dataset(variables).to_dataframe(dim_order=list(self._axes))

    def _shown(self) -> pd.DataFrame:
        """Return the frame that is shown, the largest number of one column first."""
        frame = self._frame()
        if not self._sorted_by:
            return frame
        return frame.sort_values(self._sorted_by, ascending=False, kind="stable")


class TitledFrame(pd.DataFrame):
    """A pandas.DataFrame that is shown with a title; what is computed from it is a plain one."""

    _metadata: ClassVar[list[str]] = ["title"]
    title: str

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
        >>> models = {"one": NaiveBayes("gaussian"), "two": NaiveBayes("gaussian", estimate="mean")}
        >>> type(compare(models, x, y).to_frame())
        <class 'pandas.DataFrame'>
        """
        return pd.DataFrame(self).copy()

    def __repr__(self) -> str:
        return show_text(self.title, self._shown(), {})

    def _repr_html_(self) -> str:
        return show_html(self.title, self._shown(), {})

    def _shown(self) -> pd.DataFrame:
        table = self.to_frame()
        return table.loc[:, ~(table == "").all()]  # a diagnosis that no model needs is blank


def add_title(frame: pd.DataFrame, title: str) -> TitledFrame:
    """Return a frame that is shown with a title."""
    titled = TitledFrame(frame)
    titled.title = title
    return titled


def describe_intervals(prob: float) -> str:
    """Return `89 % intervals`."""
    return f"{100 * prob:.3g} % intervals"


def set_long_names(data: xr.Dataset, names: Mapping[str, str], **attrs: str) -> None:
    """Say in the attributes of variables what each holds."""
    for name, words in names.items():
        data[name].attrs |= {
            "long_name": words,
            **attrs,
        }
