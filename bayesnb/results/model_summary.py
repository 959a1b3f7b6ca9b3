"""A fitted model in one table: its columns, their families and priors, and what the data say of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import pandas as pd

from bayesnb.results.result_tables import HALF, ShownTable, probability, shown_frame, shown_name

NARROWEST = 40  # letters of a line of text in a terminal
TEXT = 400  # letters of a text
WORDS = ["prior", "chosen_over"]
LISTED = 12  # lines of text below a table in a terminal
MOST_NAMES = 8  # features that share a line
FORMATS = {
    "inclusion": probability,
    "missing": lambda value: f"{value:,.6g}" if value == value else "",
}


@dataclass(frozen=True, eq=False, repr=False)
class ModelSummary:
    """A fitted model in one table.

    Attributes
    ----------
    title : str
    lines : tuple of str
        Facts about the whole model: rows, classes and their prior, estimate, exponents, dependence, log evidence.
    notes : tuple of str
        How to read the columns.
    """

    title: str
    lines: tuple[str, ...]
    columns: dict[str, Sequence[Any]]
    notes: tuple[str, ...]

    @cached_property
    def _table(self) -> pd.DataFrame:
        return pd.DataFrame(self.columns).set_index("feature")

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame with a row for each feature.

        Returns
        -------
        pandas.DataFrame
            By `feature`, in the table's order: `family`, `prior`, `log_evidence`, `temper`, `temper_sd`,
            `log_bayes_factor`, `inclusion`, `missing`, `chosen_over`. What is not known is NaN, or an empty text.

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
        {'height': 'PolyaTree', 'weight': 'PolyaTree', 'curled_tail': 'Bernoulli'}
        """
        return self._table.copy()

    def __repr__(self) -> str:
        """Return the numbers as a table, and below it the columns of text as a list, as they are too wide for one."""
        shown = self._shown(self._table.drop(columns=["temper_sd", "inclusion", *WORDS]))
        above, below = (_wrapped(texts) for texts in (self.lines, self.notes))
        lists = [line for name in WORDS for line in self._listed(name)]
        return "\n".join([self.title, *above, shown.in_terminal(), *lists, "", *below])

    def _listed(self, name: str) -> list[str]:
        """Return a column of text as a list of features, those that have the same text together."""
        groups: dict[str, list[str]] = {}
        for feature, text in self._table[name].items():
            groups.setdefault(text, []).append(shown_name(feature))
        texts = [f"{_few(features)}: {text}" for text, features in groups.items() if text]
        more = [f"{len(texts) - LISTED:,} more; .to_frame() has them."] * (len(texts) > LISTED)
        return ["", name.replace("_", " "), *_wrapped(texts[:LISTED] + more)] if texts else []

    def _repr_html_(self) -> str:
        numbers_first = [name for name in self._table if name not in WORDS] + WORDS
        return self._shown(
            self._table[numbers_first], self.title, self.lines, self.notes
        ).in_notebook()

    def _shown(
        self,
        table: pd.DataFrame,
        title: str = "",
        lines: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> ShownTable:
        parts = [table] if len(table) <= 2 * HALF + 1 else [table.iloc[:HALF], table.iloc[-HALF:]]
        more = [f"{len(table):,} features in all; .to_frame() has all of them."] * (len(parts) - 1)
        return ShownTable(
            title,
            *shown_frame(parts, FORMATS, dict.fromkeys(WORDS, TEXT)),
            lines=lines,
            notes=[*notes, *more],
        )


def _few(names: list[str]) -> str:
    """Return names in one line, of many the first."""
    return (
        ", ".join(names)
        if len(names) <= MOST_NAMES
        else f"{', '.join(names[:3])}, … ({len(names):,} features)"
    )


def _wrapped(texts: Sequence[str]) -> list[str]:
    """Return texts as lines that fit into the terminal."""
    wide = max(get_terminal_size().columns, NARROWEST)
    return [line for text in texts for line in wrap(text, wide, subsequent_indent="  ")]
