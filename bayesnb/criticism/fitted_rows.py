"""Shared by model checks: a fitted estimator with its training rows, and a verdict."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from bayesnb import results
from bayesnb.data import refuse_lazy
from bayesnb.estimators import check_estimator
from bayesnb.estimators.base import clone_with, clone_without_links, without_links
from bayesnb.estimators.cross_validation import read_learnt_rows, scoring_rule
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.formatting import fixed, number, quote, shorten
from bayesnb.model.product import Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.numerics.views import read
from bayesnb.results.tables import Formats, ShownTable
from bayesnb.selection.joint_evidence import Names
from bayesnb.selection.pair_evidence import LabelledRows
from bayesnb.selection.smoothing import PriorVariants

HIDDEN = ["concentration", "se", "accuracy", "brier"]  # columns that do not fit in a terminal
FORMATS: Formats = {"ece": partial(fixed, decimals=4), "joined": partial(shorten, most=36)}


@dataclass(frozen=True, eq=False)
class FittedRows:
    """A fitted estimator, and its training rows with their names.

    Rows of weight zero are not included.
    """

    estimator: Any
    index: Array
    rows: Rows

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        """Read the training rows of a fitted estimator; raise for other rows."""
        index, rows = read_learnt_rows(estimator, X, y, sample_weight, **options)
        keep = rows.counts > 0
        return cls(estimator, index[keep], rows.where(keep))

    @property
    def model(self) -> Model:
        return self.estimator.model_

    @property
    def schema(self) -> Schema:
        return self.estimator.schema_

    @property
    def labels(self) -> LabelledRows:
        return LabelledRows(self.rows.codes, self.rows.counts, len(self.estimator.classes_))

    def row_name(self, row: int) -> str:
        return quote(self.index[[row]].tolist()[0])

    def refuse_undefined(self, log_scores: Array) -> None:
        """Raise for NaN scores, `(r,)`: without such a row its class has no distribution."""
        undefined = np.flatnonzero(np.isnan(log_scores))
        if len(undefined):
            raise ValueError(
                f"{len(undefined)} rows, first row {self.row_name(undefined[0])}, cannot be left "
                "out: the other rows determine no distribution of their class (too few rows, or no "
                "variance, and no proper prior). Use a proper prior."
            )

    def prior_variants(self) -> PriorVariants:
        """Return models fitted to the rows, which are all training rows, under other priors."""
        estimator = self.estimator
        rows = replace(self.rows, cells=[read(x) for x in self.rows.cells])
        rule = scoring_rule(estimator)
        return PriorVariants(
            self.schema, self.model, rows, rule, estimator.fitted_.joint_exponents, estimator.n_jobs
        )


def fit_rows(model: Any, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> FittedRows:
    """Return an estimator with its training rows; it is fitted to them first if it is not fitted.

    Raise if a fitted one was not fitted to them; `needed_by` names a function that needs all
    training rows.
    """
    check_estimator(model)
    refuse_lazy(X, "X")
    if not hasattr(model, "model_"):
        model = clone_with(model).fit(X, y, sample_weight)
    return FittedRows.of(model, X, y, sample_weight, **options)


def fit_columns(model: Any, X: Any, y: Any, sample_weight: Any = None) -> FittedRows:
    """Return an estimator without links, and its rows; raise if weights are not whole numbers."""
    check_estimator(model)
    if not hasattr(model, "model_"):
        model = clone_without_links(model)
    fitted = fit_rows(model, X, y, sample_weight)
    alone = without_links(fitted.estimator)
    rows = fitted.rows.of_first_blocks(len(alone.schema_.blocks))
    if not alone.schema_.are_whole(rows.cells, rows.weight):
        raise ValueError(
            "a Bayes factor is defined only for whole sample_weight, which repeats rows, and for "
            "counts that are whole numbers."
        )
    return FittedRows(alone, fitted.index, rows)


def declare_families(
    schema: Schema, families: Mapping[Names, Family]
) -> dict[Hashable, Family | None]:
    """Return the parameter `families` that declares these families, and drops all other columns."""
    declared: dict[Hashable, Family | None] = {}
    for names, family in families.items():
        # the key of a column whose name is a tuple is a tuple of one name
        is_plain = len(names) == 1 and not isinstance(names[0], tuple)
        declared[names[0] if is_plain else names] = family
    dropped = tuple(name for name in schema.columns if name not in schema.families)
    return declared | ({dropped: None} if dropped else {})


@dataclass(frozen=True, eq=False, repr=False)
class VerdictTable(ShownTable):
    """A table, a one-sentence verdict, and notes on the numbers."""

    table: "results.DataFrame"
    verdict: str
    notes: tuple[str, ...]

    def to_frame(self) -> "results.DataFrame":
        """Return a copy of `table`.

        Returns
        -------
        pandas.DataFrame
            With the columns of `table`.

        See Also
        --------
        compare_smoothing, partition : The meaning of the columns.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, partition
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
        >>> partition(CategoricalNB(), X, y).to_frame().columns.to_list()
        ['step', 'joined', 'log_bayes_factor', 'log_evidence']
        """
        return self.table.copy()

    def _parts(self) -> tuple[str, Any, Formats, str]:
        rows = self.table.drop(columns=HIDDEN, errors="ignore")
        index = rows.pop(rows.columns[0]).map(number)
        return self.verdict, rows.set_index(index), FORMATS, "\n".join(self.notes)
