"""What learns: checks what comes in, and holds one value, `model_`, made by the rooms below.

Frames whose columns are reordered raise scikit-learn's error.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from bayesnb.averaging import check_averaging
from bayesnb.classifier.answering import Answering
from bayesnb.evaluate.temper import temper_by_loo
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.labels import distinct, encode, weights
from bayesnb.model import Model, Rows, observe
from bayesnb.priors import ClassDie, class_die
from bayesnb.schema import Schema
from bayesnb.table import Table, is_missing, open_table

ESTIMATES = ("predictive", "mean", "map", "mle")


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
            for name in ("model_", "schema_", "classes_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, self.classes, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows. The first call needs all `classes`, here or in the constructor."""
        with unchanged_on_error(self):
            declared = self.classes if classes is None else classes
            if not hasattr(self, "model_") and declared is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            if (
                hasattr(self, "model_")
                and classes is not None
                and not np.array_equal(np.unique(classes), self.classes_)
            ):
                raise ValueError(
                    f"`classes={classes}` is not the same as on the last call to partial_fit: {self.classes_.tolist()}."
                )
            return self._learn(X, y, declared, sample_weight)

    def _learn(self, X: Any, y: Any, declared: Any, sample_weight: Any) -> Self:
        self._check_arguments()
        first = not hasattr(self, "model_")
        table = self._open(X, reset=first)
        y, weight = checked_labels(self, y, table.rows), weights(sample_weight, table.rows)
        if weight is not None and not weight.all():  # a row of weight zero is no row
            keep = weight > 0
            table, y, weight = table.take(keep), y[keep], weight[keep]
        classes = self.classes_ if not first else distinct(y if declared is None else declared)
        codes = encode(y, classes)
        schema = Schema.learn(table, self._families(), self.average_features) if first else self.schema_.grown(table)
        rows = Rows(schema.observers, schema.read(table), codes, weight)
        new = observe(rows, len(classes), self.n_jobs)
        schema.check_stats(rows.cells, new)
        schema.tell_unseen(rows.cells)
        die = self._class_die(classes)
        model = schema.start(die, new) if first else schema.extend(self.model_, die, new)
        model = self._counted(model, schema, rows)
        self.temper_ = self._temper(model, rows)
        self.classes_, self.schema_, self.model_ = classes, schema, model
        return self

    def _counted(self, model: Model, schema: Schema, rows: Rows) -> Model:
        """The model, which remembers that these rows held or counted by fractions; an error where that may not be."""
        if schema.are_whole(rows.cells, rows.weight):
            return model
        if not model.prior.apart:
            raise ValueError(
                "average_features weighs hypotheses by their evidence, which needs whole numbers: a weight says how "
                "many rows a row is, and counts are counts. Give such, or average_features=None."
            )
        return replace(model, whole=False)

    def _temper(self, model: Model, rows: Rows) -> float:
        if self.temper == "loo":
            return temper_by_loo(model, rows, self.n_jobs)
        return 1.0 if self.temper is None else float(self.temper)

    def _open(self, X: Any, *, reset: bool) -> Table:
        """The table, with scikit-learn's checks of names and number of columns."""
        table = open_table(X, self.n_jobs)
        known = self.__dict__
        plain = table.unnamed and "feature_names_in_" not in known
        if reset or not plain or table.width != known.get("n_features_in_"):
            validate_data(self, table.native, reset=reset, skip_check_array=True)
        return table

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
            inputs.allow_nan, inputs.sparse = said.missing, said.cells != "level"
            inputs.categorical = inputs.string = said.cells == "level"
            inputs.positive_only = said.positive_only
            tags.classifier_tags.poor_score = said.cells != "real"
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
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def checked_labels(estimator: Learner, y: Any, rows: int) -> Array:
    """One label for each row, none missing."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if np.ma.is_masked(y):
        raise ValueError("Input y contains NaN: some labels are masked, missing. Drop those rows.")
    y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(np.asarray(y), warn=True)
    if len(y) != rows:
        check_consistent_length(range(rows), y)
    if y.dtype.kind in "iub":
        return y
    missing = is_missing(y)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} labels are missing, first at row {missing.argmax()}. "
            "Drop those rows."
        )
    assert_all_finite(y, input_name="y")
    if y.dtype.kind == "O":
        distinct(y)
    check_classification_targets(y)
    return y
