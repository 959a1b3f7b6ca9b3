"""What learns: checks what comes in, and holds one value, `model_`, made by the rooms below.

Frames whose columns are reordered raise scikit-learn's error.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from bayesnb.data import Table, is_lazy, open_table
from bayesnb.data.labels import DECLARE, Labels, encode, weights
from bayesnb.estimators.answering import Answering
from bayesnb.estimators.labelled import (
    GROW,
    Labelled,
    checked_labels,
    declared_classes,
    known_classes,
    name_features,
)
from bayesnb.families import Multinomial
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.integrations import dask_partitions, dask_tables
from bayesnb.model.averaging import check_averaging
from bayesnb.model.product import Model, Rows, observe
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, continued
from bayesnb.selection.class_prior import ClassDie, class_die
from bayesnb.selection.exponents import temper_by_loo
from bayesnb.selection.inclusion import warn_of_inclusion

ESTIMATES = ("predictive", "mean", "map", "mle")
Given = tuple[Any, Any, Any]  # X, y and sample_weight, as they were given


class Learner(Answering):
    """An estimator that can be fitted; a subclass says its families and its class prior."""

    schema_: Schema
    model_: Model
    temper_: float
    average_features: Any = None

    def __init__(self, class_prior: Any, classes: Any, temper: Any, n_jobs: int | None, estimate: str) -> None:
        self.class_prior = class_prior
        self.classes = classes
        self.temper = temper
        self.n_jobs = n_jobs
        self.estimate = estimate

    def _families(self) -> Any:
        """A family for all columns, a mapping, or "auto"."""
        raise AssertionError("a subclass says its families")

    def _saying(self, families: dict[tuple[Hashable, ...], Any]) -> dict[str, Any]:
        """The parameters that say these families of these columns: `_families` undone."""
        raise AssertionError("a subclass knows its parameters")

    def _class_die(self, classes: Array) -> ClassDie:
        return class_die(self.class_prior, classes, self.classes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels; what was learnt before is forgotten."""
        with unchanged_on_error(self):
            return self._learn((X, y, sample_weight), None, self.classes)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, grow_classes: bool = False
    ) -> Self:
        """Learn from some more rows. The first call needs all `classes`, here or in the constructor.

        With `grow_classes` it does not: labels that are new become classes, of which nothing was seen before.
        """
        with unchanged_on_error(self):
            before = self._seen if hasattr(self, "model_") else None
            declared = self.classes if classes is None else classes
            if before is None and declared is None and not grow_classes:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            if before is not None and classes is not None and not grow_classes:
                self._check_same(classes)
            return self._learn((X, y, sample_weight), before, declared, grow_classes)

    def _check_same(self, classes: Any) -> None:
        if not np.array_equal(declared_classes(classes), self.classes_):
            raise ValueError(
                f"`classes={classes}` is not the same as on the last call to partial_fit: {self.classes_.tolist()}. "
                "With grow_classes=True new ones are added."
            )

    def _learn(self, said: Given, before: Shard | None, declared: Any, grow: bool = False) -> Self:
        self._check_arguments()
        X, y, sample_weight = said
        if is_lazy(X):
            return self._learn_lazily(said, before, declared, grow)
        table = self._open(X, reset=before is None)
        table, y, weight = self._counting(table, y, sample_weight)
        classes = known_classes(y, before, declared, grow)
        schema = before.schema.grown(table) if before else self._schema(table)
        shard, rows = self._observe(Labelled(table, y, weight, classes, schema, GROW if before else DECLARE))
        schema.tell_unseen(rows.cells)
        return self._hold(shard if before is None else before + shard, before, rows)

    def _learn_lazily(self, rows: Given, before: Shard | None, declared: Any, grow: bool) -> Self:
        """The same of a lazy table, in one pass over its partitions, none of which comes here."""
        if before is None:
            self._refuse_loo()
        else:
            self._check_columns(dask_partitions.heading(rows[0]))
        known = None if grow else declared if before is None else before.classes
        shard = dask_tables.shard(self._fresh(classes=None) if grow else self, *rows, known)
        if shard is None:
            raise ValueError("there is no row to learn from: all partitions are empty, or all weights zero.")
        return self._adopt(shard.among(known_classes(shard.classes, before, declared, grow)), more=before is not None)

    def _fresh(self, **changes: Any) -> Self:
        """An unfitted copy with some parameters changed."""
        return clone(self).set_params(**changes)

    @property
    def _seen(self) -> Shard:
        """What was learnt from, under its names."""
        return Shard(self.classes_, self.schema_, self.model_.stats, self.model_.whole)

    def _shard(self, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Shard | None:
        """What some rows say, which are learnt later, with those of other shards; None for no row. Nothing changes."""
        self._check_arguments()
        if is_lazy(X):
            return dask_tables.shard(self, X, y, sample_weight, declared)
        rows = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else None
        if rows == 0 or (sample_weight is not None and not np.any(sample_weight)):
            return None
        table, y, weight = self._counting(self._table(X, reset=True), y, sample_weight)
        classes = known_classes(y, None, self.classes if declared is None else declared, grow=False)
        shard, rows = self._observe(Labelled(table, y, weight, classes, self._schema(table)))
        shard.schema.tell_unseen(rows.cells)
        return shard

    def _adopt(self, shard: Shard, *, more: bool = False) -> Self:
        """Learn what a shard says: in place of what was learnt before, or besides it."""
        with unchanged_on_error(self):
            self._check_arguments()
            before = self._seen if more else None
            if before is None:
                self._refuse_loo()
                name_features(self, shard.schema.columns)
            return self._hold(shard if before is None else before.followed_by(shard), before, None)

    def _refuse_loo(self) -> None:
        """Raise where the exponent is to be found by rows that are not there at once."""
        if self.temper == "loo":
            raise ValueError(
                "temper='loo' scores every row with all others known, so it needs the rows at once. Find it on some of "
                "them, fit(some rows).temper_, and give that number as temper."
            )

    def _schema(self, table: Table) -> Schema:
        return Schema.learn(table, self._families(), self.average_features)

    def _counting(self, table: Table, y: Any, sample_weight: Any) -> tuple[Table, Labels, Array | None]:
        """The rows that count, with their labels and weights: a row of weight zero is no row."""
        y, weight = checked_labels(self, y, table.rows), weights(sample_weight, table.rows)
        if weight is None or weight.all():
            return table, y, weight
        keep = weight > 0
        return table.take(keep), y[keep], weight[keep]

    def _observe(self, labelled: Labelled) -> tuple[Shard, Rows]:
        """What rows say, and the rows as they were read."""
        schema, classes = labelled.schema, labelled.classes
        codes = encode(labelled.y, classes, labelled.advice)
        rows = Rows(schema.observers, schema.read(labelled.table), codes, labelled.weight)
        stats = observe(rows, len(classes), self.n_jobs)
        schema.check_stats(rows.cells, stats)
        return Shard(classes, schema, stats, schema.are_whole(rows.cells, labelled.weight)), rows

    def _hold(self, shard: Shard, before: Shard | None, rows: Rows | None) -> Self:
        """Know what the shard says, all at once; the prior that was there before stays."""
        die = self._class_die(shard.classes)
        if before is None:
            model = shard.schema.start(die, shard.stats, shard.whole)
        else:
            model = continued(self.model_, before, shard, die)
        if model.prior.weighs and not model.whole:
            raise ValueError(
                "average_features weighs hypotheses by their evidence, which needs whole numbers: a weight says how "
                "many rows a row is, and counts are counts. Give such, or average_features=None."
            )
        temper = self._temper(model, rows)
        warn_of_inclusion(shard.schema, model)
        self.__dict__.update(temper_=temper, classes_=shard.classes, schema_=shard.schema, model_=model)
        return self

    def _temper(self, model: Model, rows: Rows | None) -> float:
        """The exponent in use; that which was found stays, where there are no rows to find another by."""
        if self.temper == "loo":
            if rows is None:
                return self.temper_
            return temper_by_loo(model, rows, self.n_jobs)
        return 1.0 if self.temper is None else float(self.temper)

    def _open(self, X: Any, *, reset: bool) -> Table:
        """The table, with scikit-learn's checks of names and number of columns."""
        table = self._table(X, reset=reset)
        known = self.__dict__
        plain = table.unnamed and "feature_names_in_" not in known
        if reset or not plain or table.width != known.get("n_features_in_"):
            validate_data(self, table.native, reset=reset, skip_check_array=True)
        return table

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """The table behind whatever the user has; lists of texts are documents if such are learnt, or were."""
        learnt = None if reset else self.__dict__.get("schema_")
        documents = isinstance(self._families(), Multinomial) if learnt is None else learnt.of_documents
        return open_table(X, self.n_jobs, documents=documents)

    def _check_arguments(self) -> None:
        if self.estimate not in ESTIMATES:
            raise ValueError(f"estimate must be one of {', '.join(ESTIMATES)}, got {self.estimate!r}.")
        if not (
            self.temper is None
            or self.temper == "loo"
            or (isinstance(self.temper, Real) and 0 < float(self.temper) < np.inf)
        ):
            raise ValueError(f"temper must be None, 'loo' or a positive number, got {self.temper!r}.")
        check_averaging(self.average_features, self.estimate)
        if not (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0)):
            raise ValueError(f"n_jobs must be None or a number of threads, got {self.n_jobs!r}.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        said, inputs = self._families(), tags.input_tags
        if isinstance(said, Family):
            inputs.allow_nan, inputs.sparse = said.missing, not said.has_levels
            inputs.categorical = inputs.string = said.has_levels
            inputs.positive_only = said.positive_only
            tags.classifier_tags.poor_score = not said.continuous
        else:  # sparse tables are refused unless they hold counts, so that is not promised
            inputs.allow_nan = inputs.string = True
        return tags


@contextmanager
def unchanged_on_error(estimator: Answering) -> Iterator[None]:
    """A call that fails leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.update(before)
        for name in set(estimator.__dict__) - set(before):
            del estimator.__dict__[name]
        raise
