"""A fitted model in one table: its columns, their families and priors, and what the data say."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import pandas as pd

from bayesnb.formatting import list_names, number, probability, shorten
from bayesnb.results.tables import Formats, show_html, show_text

MIN_WIDTH = 40  # of a line of text in a terminal
MAX_LINES = 12  # of a list below the table in a terminal
MAX_NAMES = 8  # features that share a line
MAX_NAME = 60  # letters of each
TEXTS = ["prior", "chosen_over"]
FORMATS: Formats = {
    "inclusion": probability,
    "missing": number,
    **dict.fromkeys(TEXTS, partial(shorten, most=400)),
}


@dataclass(frozen=True, eq=False, repr=False)
class ModelSummary:
    """A fitted model in one table.

    Attributes
    ----------
    title : str
    lines : tuple of str
        Facts about the whole model: rows, classes and their prior, estimate, exponents, dependence,
        log evidence.
    notes : tuple of str
        How to read the columns.
    """

    title: str
    lines: tuple[str, ...]
    columns: dict[str, Sequence[Any]]
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame with a row for each feature.

        Returns
        -------
        pandas.DataFrame
            By `feature`, in the table's order: `family`, `prior`, `log_evidence`, `temper`,
            `temper_sd`, `log_bayes_factor`, `inclusion`, `missing`, `chosen_over`. What is not
            known is NaN, or an empty text.

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
        return pd.DataFrame(self.columns).set_index("feature")

    def __repr__(self) -> str:
        """Return the numbers as a table, and the columns of text, too wide for it, as lists."""
        table = self.to_frame()
        title = "\n".join([self.title, *_wrap(self.lines)])
        numbers = table.drop(columns=["temper_sd", "inclusion", *TEXTS])
        parts = [show_text(title, numbers, FORMATS)]
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
        wide = table.drop(columns=TEXTS).join(table[TEXTS])
        return show_html("\n".join([self.title, *self.lines]), wide, FORMATS, "\n".join(self.notes))


def _wrap(texts: Sequence[str]) -> list[str]:
    """Return texts as lines that fit into the terminal."""
    width = max(get_terminal_size().columns, MIN_WIDTH)
    return [line for text in texts for line in wrap(text, width, subsequent_indent="  ")]
