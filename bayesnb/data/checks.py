"""Checks for columns that are probably not what they are read as.

They are identifiers, dates, free text, codes, or formatted numbers: money, percentages, thousands
separators, units. Formatted numbers stay text, as only the user knows what 1.234 means.

The advice applies in Python and in the shell, with a line of pandas that converts a column to
numbers. Columns with a declared family are not checked.
"""

import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np

from bayesnb.data.cells import HERE
from bayesnb.data.columns import SAMPLE_ROWS, DistinctValues
from bayesnb.data.tables import FrameTable, Table

SYMBOL = r"[$\u00a2-\u00a5\u20a0-\u20c0%\u2030]"
AMOUNT = (
    r"(?=[.,]?\d)"
    r"(?:[1-9]\d{0,2}(?P<mark>[,.'\u2019 \u00a0\u202f])\d{3}(?:(?P=mark)\d{3})*|(?!0\d)\d+)?"
    r"(?:[.,]\d+)?"
)
UNIT = r"[^\W\d_]{1,10}(?:/[^\W\d_]{1,9})?[\u00b2\u00b3]?"
CELL = re.compile(
    rf"\(?[+\u2212-]?(?P<before>{SYMBOL}|[A-Z]{{3}}\s)?\s?[+\u2212-]?{AMOUNT}\s?"
    rf"(?P<after>{SYMBOL}|{UNIT})?\)?"
)
DECIMAL_COMMA = re.compile(r",(?!\d{3}(?!\d))\d|\.\d+[.,]\d|\b0,\d|\d{4},\d")  # 1,5 and 1.234.567
UNCLEAR_MARK = re.compile(r"\D*[1-9]\d{0,2}[.,]\d{3}\D*")  # 1.234 and 1,234
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]*)?")
DAY_AND_MONTH = re.compile(
    r"(?P<first>[0-9]{1,2})(?P<mark>[./-])(?P<second>[0-9]{1,2})(?P=mark)[0-9]{4}(?: [0-9:]+)?"
)
NUMBER = re.compile(
    r"[+-]?(?:(?:(?:0|[1-9]\d{0,17})(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.I | re.A
)
COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
IDENTIFIERS = re.compile(r"ids?|uuid|guid|key|isbn|ean|sku|ssn|phone|index|rownames")
CODES = re.compile(r"zip(code)?|postcode|postal|plz|codes?")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
NEGATIVE = "[(\u2212]"  # brackets, or a real minus sign
DAYS = "- pandas.Timestamp('1970-01-01', tz='UTC')) / pandas.Timedelta(days=1)"

Array = np.ndarray
Remedy = Literal["drop", "levels", "words", "dates", "numbers", "missing"]
FEWEST = 10  # rows needed to recognise a column as an identifier
LEVELS = 20  # distinct numbers that "auto" may take as levels
PHRASE = 4  # average words of a text that is more than a name
SPARSEST = 1.5  # span of identifiers per row: some numbers may be skipped
MOST_INVALID = 0.1  # share of cells that are not numbers, up to which a warning is useful


class Suspicion(NamedTuple):
    """What looks wrong about a column, as the rest of a sentence that starts with its name, and the
    remedy.
    """

    problem: str
    remedy: Remedy = "drop"
    result: str = ""  # an example of the conversion, or a text that may mean a missing cell
    code: str = ""  # pandas code that converts COLUMN


class ColumnWarning(UserWarning):
    """Columns look like identifiers, dates, free text, codes, or formatted numbers.

    The message says, for each of them, what looks wrong and what to do. `NaiveBayes.fit` warns once
    of all such columns of a dataframe whose families are not declared. To keep a column as it is,
    declare its family, as in `families={"id": "categorical"}`.

    Attributes
    ----------
    suspicions : what looks wrong, by column

    See Also
    --------
    NaiveBayes : Its parameter `families` declares what a column is.
    UnseenLevelWarning : The warning about levels not seen in training.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from bayesnb import ColumnWarning, NaiveBayes
    >>> X = pd.DataFrame({"id": range(100, 120), "height": [1.5, 1.6, 1.7, 1.9] * 5})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ColumnWarning)
    ...     _ = NaiveBayes().fit(X, ["short", "short", "tall", "tall"] * 5)
    >>> list(caught[0].message.suspicions)
    ['id']
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ColumnWarning)
    ...     _ = NaiveBayes({"id": "drop"}).fit(X, ["short", "short", "tall", "tall"] * 5)
    """

    suspicions: Mapping[Hashable, Suspicion]


def warn_of_columns(table: Table, places: Iterable[int]) -> None:
    """Warn once, at the caller's line, of suspicious columns of a dataframe."""
    if not isinstance(table, FrameTable):
        return
    suspicions = {}
    lines = []
    for place in places:
        suspicion = find_suspicion(table, place)
        if suspicion is not None:
            name = table.columns[place]
            suspicions[name] = suspicion
            advice = advise(name, suspicion, table.is_pandas)
            lines.append(f"column {name!r} {suspicion.problem}. {advice}")
    if suspicions:
        warning = ColumnWarning("\n".join(lines))
        warning.suspicions = suspicions
        warnings.warn(warning, skip_file_prefixes=(HERE,))


def find_suspicion(table: FrameTable, place: int) -> Suspicion | None:
    """Return what looks wrong about a column; None if nothing does."""
    kind = table.kind(place)
    if kind == "level" and table.declared(place) is None:
        return check_text(table.distinct(place))
    if kind == "number":
        return check_integers(table.columns[place], table.column_numbers(place))
    return None


# Text


def check_text(distinct: DistinctValues) -> Suspicion | None:
    """Return what looks wrong about a column of text."""
    texts = distinct.values
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    cells = [text.strip() for text in texts]
    times = np.bincount(distinct.codes[distinct.codes >= 0], minlength=len(texts))
    return (
        check_dates(cells)
        or check_amounts(cells)
        or check_numbers(cells, times)
        or check_free_text(cells, times)
    )


def check_dates(cells: Sequence[str]) -> Suspicion | None:
    """Detect dates."""
    problem = f"holds dates, read as {len(cells):,} levels"
    order = hint = ""
    if not all(map(DATE.fullmatch, cells)):
        if not all(map(DAY_AND_MONTH.fullmatch, cells)):
            return None
        numbers = np.array([re.findall(r"\d+", cell)[:2] for cell in cells], int)
        first, second = numbers.max(axis=0).tolist()
        if min(first, second) > 12 or max(first, second) > 31:
            return None
        is_unclear = max(first, second) <= 12
        order = f", dayfirst={is_unclear or first > 12}"
        problem = problem.replace("dates", f"dates such as {cells[0]!r}")
        if is_unclear:
            problem += "; the day or the month may come first"
            hint = ", with dayfirst=False if the month comes first"
    code = f"(pandas.to_datetime(COLUMN, utc=True{order}) {DAYS}{hint}"
    return Suspicion(problem, "dates", "days since 1970", code)


def check_amounts(cells: Sequence[str]) -> Suspicion | None:
    """Detect formatted numbers, or numbers with a decimal comma."""
    matches: list[Any] = list(takewhile(bool, map(CELL.fullmatch, cells)))
    what = describe_format(matches) if 1 < len(matches) == len(cells) else ""
    hint = ""
    if not what and all(map(COMMA.fullmatch, cells)):
        what = "numbers with a decimal comma"
        hint = FILE_HINT
    if not what:
        return None
    decimal = "," if any(map(DECIMAL_COMMA.search, cells)) else "."
    if decimal == "." and any(map(UNCLEAR_MARK.fullmatch, cells)):
        hint = f". With a decimal comma: {conversion(',')}"
    example = next(cell for cell in cells if not cell.isdigit())
    plain = re.sub(rf"[^\d{decimal}-]", "", re.sub(NEGATIVE, "-", example)).replace(",", ".")
    problem = f"holds {what}, such as {example!r}, read as levels"
    result = f"{plain} for {example!r}"
    return Suspicion(problem, "numbers", result, conversion(decimal) + hint)


def describe_format(cells: Sequence[re.Match[str]]) -> str:
    """Describe the format of numbers by their units and separators; "" for codes and plain
    numbers.
    """
    signs = {(cell["before"] or cell["after"] or "").strip() for cell in cells} - {""}
    if signs:
        sign = signs.pop()
        is_code = sign.isupper() and len(sign) != 3  # 34A and 147 B are seats or rooms
        return "" if signs or is_code else f"numbers with {sign!r}"
    marks = {cell["mark"] for cell in cells} - {None}
    if len(marks) != 1 or " " in marks:  # 110 001 may be a code
        return ""
    mark = marks.pop()
    has_decimals = any(cell["mark"] is None and mark in cell[0] for cell in cells)
    groups = {cell[0].count(mark) for cell in cells}
    is_code = len(groups) == 1 and max(groups) > 1  # such as versions and addresses
    # with 1,5 in the column, the mark in 1,234 does not separate thousands
    return "" if has_decimals or is_code else "numbers with thousands separators"


def conversion(decimal: str) -> str:
    """Return a pandas expression that converts cells with this decimal mark to numbers."""
    code = f"COLUMN.str.replace('{NEGATIVE}', '-', regex=True)"
    code += rf".str.replace(r'[^\d{decimal}-]', '', regex=True)"
    if decimal == ",":
        code += ".str.replace(',', '.')"
    return f"{code}.astype(float)"


def check_numbers(cells: Sequence[str], times: Array) -> Suspicion | None:
    """Detect numbers as text, in all or nearly all cells."""
    if not any(map(NUMBER.fullmatch, cells[:SAMPLE_ROWS])):
        return None
    like = np.array([NUMBER.fullmatch(cell) is not None for cell in cells])
    if like.all():
        # digits may be codes stored as text on purpose
        if len(cells) <= FEWEST or all(map(str.isdigit, cells)):
            return None
        problem = f"holds numbers as text, such as {cells[0]!r}, read as levels"
        result = f"{cells[0]} for {cells[0]!r}"
        return Suspicion(problem, "numbers", result, "COLUMN.astype(float)")
    total = times.sum()
    others = times[~like].sum()
    if others > MOST_INVALID * total:
        return None
    example = repr(cells[int(like.argmin())])
    verb = "is not a number" if others == 1 else "are not numbers"
    problem = f"is read as levels, because {others:,} of its {total:,} cells {verb}"
    code = "pandas.to_numeric(COLUMN, errors='coerce')"
    return Suspicion(f"{problem}; the first is {example}", "missing", example, code)


def check_free_text(cells: Sequence[str], times: Array) -> Suspicion | None:
    """Detect free text and identifiers."""
    total = int(times.sum())
    levels = len(cells)
    if total < FEWEST or 2 * levels <= total:
        return None
    if sum(cell.count(" ") + 1 for cell in cells) >= PHRASE * levels:
        problem = f"holds {levels:,} different texts of several words, read as levels"
        return Suspicion(problem, "words", code="COLUMN.str.split()")
    if levels == total:
        problem = f"has a different value in each of its {total:,} rows"
        return Suspicion(f"{problem}, so it most likely identifies them")
    if total < 2 * FEWEST:
        return None
    problem = f"has {levels:,} levels in {total:,} rows, {(times == 1).sum():,} of them only once"
    return Suspicion(f"{problem}, so little can be learnt from it")


# Numbers


def check_integers(name: Hashable, x: Array) -> Suspicion | None:
    """Detect whole numbers that count the rows, or are identifiers or codes by their name."""
    if x.dtype.kind not in "iu" or len(x) < FEWEST:
        return None
    rows = len(x)
    span = int(x.max()) - int(x.min()) + 1
    if span == rows and (np.diff(x) == 1).all():
        return Suspicion("increases by one in each row, like a row number")
    word = (WORD.findall(str(name)) or [""])[-1].lower()
    is_code = CODES.fullmatch(word)
    is_named = is_code or IDENTIFIERS.fullmatch(word)
    is_dense = rows >= 2 * FEWEST and rows <= span <= SPARSEST * rows
    if not (is_dense or is_named):
        return None
    distinct = len(np.unique(x))
    if is_dense and distinct == rows:
        problem = "holds a different whole number in each row, with few gaps"
        return Suspicion(f"{problem}, like a row number")
    if distinct <= LEVELS or not is_named:
        return None
    what = "codes" if is_code else "identifiers"
    problem = f"holds {what}, judging by its name, read as numbers: {distinct:,} different ones"
    return Suspicion(problem, "levels" if is_code else "drop")


# Labels


def describe_numeric_labels(labels: Array) -> str:
    """Describe labels that are many different numbers; "" for other labels."""
    if labels.dtype.kind not in "iuf" or len(labels) <= LEVELS:
        return ""
    return (
        f"The labels are {len(labels):,} different numbers. Each is treated as a separate class, "
        "whatever its distance from others: predicting a number is a regression problem."
    )


# Advice

FILE_HINT = ". If the whole file uses it, set the decimal mark to ',' when reading it"
KEEP = "Drop it, or declare it categorical to keep it"
RANGES = "Group the numbers into classes such as low and high, unless they are codes of classes."


def advise(name: Hashable, suspicion: Suspicion, is_pandas: bool = True) -> str:
    """Return advice on a column, as sentences."""
    column = f"table[{name!r}]"
    code = f"{column} = {suspicion.code}".replace("COLUMN", column)
    match suspicion.remedy:
        case "drop":
            return f"{KEEP}."
        case "levels":
            return "Declare it categorical if these are codes, or drop it."
        case "words":
            words = f": {code}" if is_pandas else ""
            return f"{KEEP}; to read the text word by word, split it first{words}."
    if not is_pandas:
        return f"{KEEP}; if it should be numbers, convert it first."
    if suspicion.remedy == "missing":
        return (
            f"If that stands for a missing cell, list {suspicion.result} among the `missing` "
            f"texts, or with pandas: {code}."
        )
    return f"{KEEP}; to convert it to numbers with pandas, {suspicion.result}: {code}."
