"""Results that print as tables: a title, a pandas frame, and notes."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from pandas.api.types import infer_dtype

from bayesnb.families.base import Array
from bayesnb.formatting import (
    MINUS,
    SUPERSCRIPTS,
    fixed,
    list_names,
    number,
    probability,
    shorten,
)
from bayesnb.model.schema import Block

MAX_ROWS = 20  # of a printed table: half from its beginning, half from its end
MAX_COLUMNS = 20  # in a notebook; in a terminal as many as fit
MAX_LETTERS = 60  # of a cell
Formats = Mapping[str, Callable[[Any], str]]  # by column; "" for all other numbers
# characters that LaTeX would read as commands, or that pdfLaTeX lacks
LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # at the beginning of a row, it would be an option of the line break before
        "*": "{*}",
        "∞": r"$\infty$",
        "→": r"$\to$",
        MINUS: "$-$",
    }
)
LATEX |= {raised: f"$^{chr(plain)}$" for plain, raised in SUPERSCRIPTS.items()}
WIDTH = 80  # of a line in a terminal
MAX_LINES = 12  # of a list below the table in a terminal
MAX_NAMES = 8  # features that share a line
MAX_NAME = 60  # letters of each
# labels that any file format can store unchanged
SIMPLE = ("integer", "floating", "mixed-integer-float", "boolean", "datetime64")
TEXTS = ["prior", "chosen_over"]
BAYES_FACTOR = (
    "log_bayes_factor: evidence in nats that the feature depends on the class; .to_frame() has its "
    "posterior probability at a prior of 0.5, as inclusion."
)
NO_BAYES_FACTOR = (
    "No Bayes factor: features whose prior is improper or differs between the classes, and all "
    "features if weights or counts are not whole numbers."
)
HISTOGRAM_EVIDENCE = "log_evidence of a Histogram is relative to the distribution of all rows."
MISSING = "missing: cells that were missing or had undeclared levels; for a block, rows."
SUMMARY_FORMATS: Formats = {
    "inclusion": probability,
    "missing": number,
    **dict.fromkeys(TEXTS, partial(shorten, most=400)),
}


def table_of_columns(columns: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return a table of these columns, by name or position."""
    return pd.DataFrame(columns)


def table_of_classes(x: Any, numbers: Array, classes: Array) -> pd.DataFrame:
    """Return numbers, `(r, c)`, as a table with the row names of `x` and the class names."""
    index = x.index if isinstance(x, pd.DataFrame | pd.Series) else None
    return pd.DataFrame(numbers, index, pd.Index(classes, name="class"))


def to_nested_dict(x: Any) -> Any:
    """Return a pandas frame as `{column: {row: value}}`, both by name; other values unchanged."""
    if not hasattr(x, "columns"):
        return x
    if not isinstance(x, pd.DataFrame):
        raise TypeError("loss: the frame has no row names. Use a pandas frame or a mapping.")
    if not (x.index.is_unique and x.columns.is_unique):
        raise ValueError("the frame has the same row name or column name twice.")
    return x.to_dict()


def show_text(title: str, frame: pd.DataFrame, formats: Formats, note: str = "") -> str:
    """Return a table for a terminal."""
    if frame.empty:
        return title
    text = format_ends(frame, formats)
    table = text.to_string(max_rows=MAX_ROWS, max_cols=0, line_width=WIDTH)
    lines = [line.rstrip() for line in table.splitlines()]
    parts = [title, "\n".join(lines), *_list_notes(frame, note)]
    return "\n\n".join(parts)


def show_html(title: str, frame: pd.DataFrame, formats: Formats, note: str = "") -> str:
    """Return a table for a notebook."""
    lines = [f"<p><b>{_escape_lines(title)}</b></p>"]
    if not frame.empty:
        with pd.option_context("display.max_colwidth", None):
            text = format_ends(frame, formats)
            lines.append(text.to_html(max_rows=MAX_ROWS, max_cols=MAX_COLUMNS, border=0))
    for line in _list_notes(frame, note):
        lines.append(f"<p>{_escape_lines(line)}</p>")
    return "\n".join(lines)


def show_latex(title: str, frame: pd.DataFrame, formats: Formats, options: Mapping) -> str:
    """Return a whole table for LaTeX, with numbers aligned to the right."""
    text = format_cells(frame, formats).map(escape_latex)
    text = text.rename(index=escape_latex, columns=escape_latex)
    text.index.names = [name and escape_latex(name) for name in text.index.names]
    sides = ["r" if kind.kind in "iuf" else "l" for kind in frame.dtypes]
    defaults = {
        "caption": escape_latex(". ".join(title.splitlines())),
        "column_format": "l" * text.index.nlevels + "".join(sides),
        "escape": False,
        "multirow": False,
    }
    return text.to_latex(**{**defaults, **options})


def escape_latex(text: Any) -> str:
    """Escape text for LaTeX."""
    return str(text).translate(LATEX)


def format_ends(frame: pd.DataFrame, formats: Formats) -> pd.DataFrame:
    """Return the first and the last rows as text, a few more than are shown."""
    end = MAX_ROWS // 2 + 1
    if len(frame) > 2 * end:
        frame = pd.concat([frame.head(end), frame.tail(end)])
    return format_cells(frame, formats)


def format_cells(frame: pd.DataFrame, formats: Formats) -> pd.DataFrame:
    """Return a table as text, each cell and name on one line."""

    def format_column(column: pd.Series) -> pd.Series:
        default: Callable[[Any], str] = _one_line
        if column.dtype.kind == "f":
            default = formats.get("", partial(fixed, decimals=2))
        return column.map(formats.get(str(column.name), default))

    text = frame.apply(format_column)
    text = text.rename(index=_one_line, columns=_one_line)
    return text.rename_axis(columns=None)


def describe_intervals(prob: float) -> str:
    """Return `89 % intervals`."""
    return f"{100 * prob:.3g} % intervals"


def _one_line(value: Any) -> str:
    if value is None or value != value:
        return ""
    return shorten(value, MAX_LETTERS)


def _list_notes(frame: pd.DataFrame, note: str) -> list[str]:
    notes = [note] if note else []
    if len(frame) > MAX_ROWS:
        notes.insert(0, "Not all rows are shown; .to_frame() has them.")
    return notes


def _escape_lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


class ShownTable:
    """A result that prints as one table in a terminal, in a notebook and in LaTeX."""

    __slots__ = ()

    @abstractmethod
    def _parts(self) -> tuple[str, pd.DataFrame, Formats, str]:
        """Return a title, the table, formats of its columns, and a note."""

    def __repr__(self) -> str:
        return show_text(*self._parts())

    def _repr_html_(self) -> str:
        return show_html(*self._parts())

    def to_latex(self, **options: Any) -> str:
        r"""Return the printed table in LaTeX, with all its rows.

        Parameters
        ----------
        **options
            Further arguments of ``pandas.DataFrame.to_latex``, such as ``label="tab:models"``.

        Returns
        -------
        str
            A ``table`` with the title as its caption, which needs ``\usepackage{booktabs}``.
            Special characters are escaped.

        See Also
        --------
        pandas.DataFrame.to_latex : For all numbers with all digits, applied to ``to_frame()``.

        Examples
        --------
        >>> from bayesnb import CategoricalNB
        >>> model = CategoricalNB().fit([["red"], ["blue"], ["red"]], ["wine", "water", "wine"])
        >>> print(model.summary().to_latex(), end="")
        \begin{table}
        \caption{Summary of CategoricalNB}
        \begin{tabular}{llrrrr}
        \toprule
         & family & log\_evidence & temper & log\_bayes\_factor & missing \\
        feature &  &  &  &  &  \\
        \midrule
        0 & Categorical & $-$1.79 & 1.00 & 0.69 & 0 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        return show_latex(*self._parts()[:3], options)


class Result(xr.Dataset, ShownTable):
    """An xarray.Dataset that prints as a table under its title, `attrs["title"]`.

    A subclass names the axes of the table's rows and the variables in its columns; a variable with
    another axis has a column for each label. If a computation or a selection has removed one of
    these, the result prints as any other Dataset does.
    """

    __slots__ = ()
    _axes: ClassVar[tuple[str, ...]] = ()
    _columns: ClassVar[tuple[str, ...]] = ()
    _optional: ClassVar[tuple[str, ...]] = ()  # columns that may be absent
    _formats: ClassVar[Formats] = {}
    _sorted_by: ClassVar[str] = ""
    _short: ClassVar[tuple[str, str]] = ("", "")  # of long column names: pattern, replacement

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a tidy pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            If a selection or a sum has removed an axis or a column, the result of `to_dataframe`.

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
        if not self._has_table():
            return self.to_dataframe()
        return self._with_axes()._frame()

    def __repr__(self) -> str:
        if not self._has_table():
            return super().__repr__()
        return show_text(*self._parts())

    def _repr_html_(self) -> str:
        details = super()._repr_html_()
        if not self._has_table():
            return details
        folded = f"<details><summary>xarray.Dataset</summary>{details}</details>"
        return f"{show_html(*self._parts())}\n{folded}"

    def _parts(self) -> tuple[str, pd.DataFrame, Formats, str]:
        frame = self._with_axes()._shown() if self._has_table() else self.to_dataframe()
        return self.attrs.get("title", ""), frame, self._formats, self.attrs.get("note", "")

    def _has_table(self) -> bool:
        needed = {"title", *self._columns} - {*self._optional}
        axes = [axis for axis in self._axes if axis in self.coords]
        is_whole = all(self[axis].dims in ((), (axis,)) for axis in axes)
        return needed <= {*self, *self.attrs} and len(axes) == len(self._axes) and is_whole

    def _with_axes(self) -> "Result":
        """Return the result with the axes that selecting a single label has removed."""
        single = [axis for axis in self._axes if axis not in self.dims]
        columns = self[[name for name in self._columns if name in self]]
        return self.assign(columns.expand_dims(single)).reset_coords(drop=True)

    def _frame(self) -> pd.DataFrame:
        variables = {}
        for name in filter(self.__contains__, self._columns):
            array = self[name]
            further = [dim for dim in array.dims if dim not in self._axes]
            if not further:
                variables[name] = array
            for dim in further:
                for label, part in array.to_dataset(dim).items():
                    variables[f"{name}_{label}"] = part
        return xr.Dataset(variables).to_dataframe(dim_order=list(self._axes))

    def _shown(self) -> pd.DataFrame:
        """Return the frame to print, with the largest value of one column first."""
        frame = self._frame()
        if self._sorted_by:
            frame = frame.sort_values(self._sorted_by, ascending=False, kind="stable")
        frame.columns = frame.columns.str.replace(*self._short, regex=True)
        return frame


# Labels of axes


def coordinate(labels: Iterable[Any]) -> Array:
    """Return labels that any file format can store: numbers, flags, dates, text; others as text."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "OT":
        return labels
    labels = list(labels)
    if infer_dtype(labels, skipna=False) in SIMPLE:
        return np.array(labels)
    return np.array(list(map(str, labels)), str)


def level_labels(block: Block, j: int) -> Array:
    """Return the levels of a column, and a label for each reserved one."""
    levels = list(block.levels[j])
    reserved = block.sizes[j] - len(levels)
    return coordinate(levels + ["(unseen)"] * reserved)


def along(dims: str | tuple[str, ...], arrays: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return arrays with the same axes as variables for a Dataset."""
    return {name: (dims, array) for name, array in arrays.items()}


# Frames under a title


class TitledFrame(ShownTable, pd.DataFrame):
    """A pandas.DataFrame that prints with a title; frames computed from it are plain."""

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

    def _parts(self) -> tuple[str, pd.DataFrame, Formats, str]:
        table = self.to_frame()
        is_blank = (table == "").all()  # such as a diagnosis that no model needs
        return self.title, table.loc[:, ~is_blank], {}, ""


def add_title(frame: pd.DataFrame, title: str) -> TitledFrame:
    """Return a frame that prints with a title."""
    titled = TitledFrame(frame)
    titled.title = title
    return titled


# The summary of a model


@dataclass(frozen=True, eq=False, repr=False)
class ModelSummary(ShownTable):
    """A fitted model in one table.

    Attributes
    ----------
    title : str
    lines : tuple of str
        Facts about the whole model: rows, classes and their prior, estimate, exponents, dependence,
        log evidence.
    """

    title: str
    lines: tuple[str, ...]
    features: list[dict[str, Any]]

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read the columns of numbers."""
        table = self.to_frame()
        notes = {
            BAYES_FACTOR: True,
            NO_BAYES_FACTOR: table["log_bayes_factor"].isna().any(),
            HISTOGRAM_EVIDENCE: table["family"].str.contains("Histogram").any(),
            MISSING: (table["missing"] > 0).any(),
        }
        return tuple(note for note, holds in notes.items() if holds)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame with a row for each feature.

        Returns
        -------
        pandas.DataFrame
            By `feature`, in the table's order: `family`, `prior`, `log_evidence`, `temper`,
            `temper_sd`, `log_bayes_factor`, `inclusion`, `missing`, `chosen_over`. Unknown
            values are NaN, or empty text.

        See Also
        --------
        bayesnb.relevance : The Bayes factors, also of each word of a block of counts.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> from bayesnb.datasets import dogs
        >>> table = dogs()
        >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
        >>> model.summary().to_frame()["family"].to_dict()
        {'height': 'Histogram', 'weight': 'Histogram', 'curled_tail': 'Bernoulli'}
        """
        return pd.DataFrame(self.features).set_index("feature")

    def _parts(self) -> tuple[str, pd.DataFrame, Formats, str]:
        numbers = self.to_frame().drop(columns=["temper_sd", "inclusion", *TEXTS])
        return self.title, numbers, SUMMARY_FORMATS, ""

    def __repr__(self) -> str:
        """Return the numbers as a table, and the columns of text, which are too wide, as lists."""
        title, numbers, formats, _ = self._parts()
        table = self.to_frame()
        parts = [show_text("\n".join([title, *_wrap(self.lines)]), numbers, formats)]
        for name in TEXTS:
            lines = []
            for text, features in table.groupby(name, sort=False).groups.items():
                names = list_names(features, MAX_NAMES, partial(shorten, most=MAX_NAME))
                if text:
                    lines.append(f"{names}: {text}")
            rest = len(lines) - MAX_LINES
            if rest > 0:
                lines[MAX_LINES:] = [f"{rest:,} more; .to_frame() has them."]
            if lines:
                parts.append("\n".join([name.replace("_", " "), *_wrap(lines)]))
        return "\n\n".join([*parts, "\n".join(_wrap(self.notes))]).strip()

    def _repr_html_(self) -> str:
        table = self.to_frame()
        table = table.drop(columns=TEXTS).join(table[TEXTS])
        title = "\n".join([self.title, *self.lines])
        return show_html(title, table, SUMMARY_FORMATS, "\n".join(self.notes))


def _wrap(texts: Sequence[str]) -> list[str]:
    """Wrap texts to the width of a table."""
    return [line for text in texts for line in wrap(text, WIDTH, subsequent_indent="  ")]
