"""The starting point of every criticism: an estimator that has learnt labelled rows, those rows, and other priors."""

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
class LearntRows:
    """A fitted estimator, and the rows that it has learnt with their names."""

    estimator: NaiveBayes
    index: Array
    rows: Rows

    @property
    def model(self) -> Model:
        return self.estimator.model_

    @property
    def weighty(self) -> Rows:
        """The rows of positive weight: one of weight zero is no row."""
        return self.rows.where(self.rows.counts > 0)

    @property
    def variants(self) -> PriorVariants:
        """Models of the rows of positive weight under other priors of the columns.

        These are all rows that were learnt. The class prior and the exponents stay, and links between columns, which no
        prior of a column chooses; but their margins have it.
        """
        estimator, schema, learnt = self.estimator, self.estimator.schema_, self.model

        def start(families: Sequence[Family]) -> Model:
            pairs = zip(schema.blocks, families, strict=True)
            changed = replace(
                schema, blocks=tuple(replace(block, family=family) for block, family in pairs)
            )
            changed = relink(changed, learnt.stats.blocks)
            return model_of(
                Shard(estimator.classes_, changed, learnt.stats), lambda stats: learnt.prior.classes
            )

        families, widths = (
            [block.family for block in schema.blocks],
            [len(block.keys) for block in schema.blocks],
        )
        rows = replace(self.weighty, cells=[read(x) for x in self.weighty.cells])
        exponents = estimator._exponents, estimator._once, estimator.n_jobs, estimator._covariance
        return PriorVariants(start, families, widths, learnt, rows, *exponents)

    def of_whole_weights(self) -> "LearntRows":
        """Return the rows of positive weight; an error if weights or counts are not whole numbers."""
        rows = self.weighty
        if not self.estimator.schema_.are_whole(rows.cells, rows.weight):
            raise ValueError(
                "a Bayes factor compares probabilities of rows: sample_weight must be whole numbers, which say how "
                "many rows a row is, and counts must be counts."
            )
        return replace(self, rows=rows)


def learnt_rows(
    estimator: NaiveBayes, X: Any, y: Any, sample_weight: Any = None, needed_by: str | None = None
) -> LearntRows:
    """Return the estimator with its rows: it learns them first, unless it is fitted and must have learnt them.

    `needed_by` names the function, if any, that needs all rows that were learnt.
    """
    check_estimator(estimator)
    refuse_lazy(X, "X")
    fitted = (
        estimator if hasattr(estimator, "model_") else estimator._fresh().fit(X, y, sample_weight)
    )
    index, rows = fitted._learnt_rows(X, y, sample_weight, needed_by)
    return LearntRows(fitted, index, rows)


def learnt_columns(estimator: NaiveBayes, X: Any, y: Any, sample_weight: Any = None) -> LearntRows:
    """Return the estimator with its rows as `learnt_rows` does, without links between columns; exponents stay."""
    check_estimator(estimator)
    start = estimator if hasattr(estimator, "model_") else estimator._fresh_of_columns()
    learnt = learnt_rows(start, X, y, sample_weight)
    rows = learnt.rows.of_first_blocks(len(learnt.estimator.schema_.columns_alone.blocks))
    return LearntRows(learnt.estimator._columns_alone(), learnt.index, rows)


def check_columns(
    columns: Any, known: Sequence[Hashable], schema: Schema, excluded: str
) -> list[Hashable]:
    """Return the names of chosen columns, or raise unless all are known; `excluded` says why others cannot be."""
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
    names = list(columns)
    for name in names:
        if name not in known:  # lists, as a name may not be hashable
            why = excluded if name in list(schema.families) else "is not a column of this model"
            raise ValueError(f"columns: {name!r} {why}. Name some of {list(known)[:20]}.")
    return names
