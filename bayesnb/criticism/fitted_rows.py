"""The starting point of every criticism: a fitted estimator and the rows that it has learnt."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.data import refuse_lazy
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.model.product import Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, model_of
from bayesnb.numerics.views import read
from bayesnb.selection.link_search import relink
from bayesnb.selection.smoothing import PriorVariants


@dataclass(frozen=True, eq=False)
class FittedRows:
    """A fitted estimator, and rows that it has learnt with their names."""

    estimator: NaiveBayes
    index: Array
    rows: Rows

    @property
    def model(self) -> Model:
        return self.estimator.model_

    @property
    def schema(self) -> Schema:
        return self.estimator.schema_

    @property
    def counted(self) -> Rows:
        """The rows of positive weight: one of weight zero is no row."""
        return self.rows.where(self.rows.counts > 0)

    def prior_variants(self) -> PriorVariants:
        """Return models of the counted rows, which are all that were learnt, under other priors.

        The class prior, the exponents and the links between columns stay as they are.
        """
        blocks, stats = self.schema.blocks, self.model.stats

        def fit_under(families: Sequence[Family]) -> Model:
            pairs = zip(blocks, families, strict=True)
            changed = tuple(replace(block, family=family) for block, family in pairs)
            schema = relink(replace(self.schema, blocks=changed), stats.blocks)
            shard = Shard(self.estimator.classes_, schema, stats)
            return model_of(shard, lambda _: self.model.prior.classes)

        rows = self.counted
        return PriorVariants(
            start=fit_under,
            families=[block.family for block in blocks],
            widths=[len(block.keys) for block in blocks],
            learnt=self.model,
            rows=replace(rows, cells=[read(x) for x in rows.cells]),
            power=self.estimator._exponents,
            once=self.estimator._once,
            n_jobs=self.estimator.n_jobs,
            covariance=self.estimator._covariance,
        )


def fit_rows(
    estimator: NaiveBayes, X: Any, y: Any, sample_weight: Any = None, needed_by: str | None = None
) -> FittedRows:
    """Return an estimator with its rows, which it learns first if it is not fitted.

    Raise where a fitted one has not learnt them; `needed_by` names a function that needs all rows
    that were learnt.
    """
    check_estimator(estimator)
    refuse_lazy(X, "X")
    if not hasattr(estimator, "model_"):
        estimator = estimator._fresh().fit(X, y, sample_weight)
    return FittedRows(estimator, *estimator._learnt_rows(X, y, sample_weight, needed_by))


def fit_columns(estimator: NaiveBayes, X: Any, y: Any, sample_weight: Any = None) -> FittedRows:
    """Return an estimator without links between columns, and its rows, which have whole weights."""
    check_estimator(estimator)
    if not hasattr(estimator, "model_"):
        estimator = estimator._fresh_of_columns()
    fitted = fit_rows(estimator, X, y, sample_weight)
    alone = fitted.estimator._columns_alone()
    rows = fitted.counted.of_first_blocks(len(alone.schema_.blocks))
    if not alone.schema_.are_whole(rows.cells, rows.weight):
        raise ValueError(
            "a Bayes factor compares probabilities of rows: sample_weight must be whole numbers, "
            "which say how many rows a row is, and counts must be counts."
        )
    return FittedRows(alone, fitted.index, rows)


def refuse_undefined(log_scores: Array) -> None:
    """Raise for rows, `(r,)`, without which their class has no distribution."""
    undefined = np.isnan(log_scores)
    if undefined.any():
        raise ValueError(
            f"{undefined.sum()} rows, first row {undefined.argmax()}, cannot be left out: the "
            "other rows leave no distribution of their class (too few of them, or no spread, and a "
            "prior that adds none). Use a proper prior."
        )


def check_columns(
    columns: Any, known: Sequence[Hashable], schema: Schema, excluded: str
) -> list[Hashable]:
    """Return the names of chosen columns; raise unless all are known, and not `excluded`."""
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
    names = list(columns)
    for name in names:
        if name not in known:  # lists, as a name may not be hashable
            why = excluded if name in list(schema.families) else "is not a column of this model"
            raise ValueError(f"columns: {name!r} {why}. Name some of {list(known)[:20]}.")
    return names
