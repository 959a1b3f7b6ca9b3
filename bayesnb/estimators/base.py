"""Shared by the mixins of an estimator: its parameters, its fitted value, reading tables."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import reduce
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb import results
from bayesnb.data import Table, is_missing, open_table, refuse_lazy
from bayesnb.data.columns import distinct_labels, united_labels, weights
from bayesnb.data.families import declared_families
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.families import Multinomial
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import near_columns, quote
from bayesnb.model.fitted import Fitted
from bayesnb.model.priors import ClassPriorRule, class_prior_rule
from bayesnb.model.product import Joint, Model
from bayesnb.model.schema import Schema
from bayesnb.selection.covariance import COVARIANCE
from bayesnb.selection.link_search import ALL, FOREST, PAIRS

ESTIMATES = ("predictive", "mean", "map", "mle")
DEPENDENCES = FOREST, PAIRS, COVARIANCE, ALL
AUTO, NONE, COLUMNS, LOO = "auto", "none", "columns", "loo"
OMIT = "omit"
MAX_SUGGESTED = 5  # missing columns for which a similar name is suggested


class ModelHolder(PredictionMixin):
    """A thin mutable object around one immutable value, `fitted_`.

    The mixins of this package add methods that use this value, and do not depend on each other. A
    concrete estimator defines its families and its class prior.
    """

    classes: Any
    temper: Any
    estimate: str

    dependence: Any = None  # presets have none
    missing: str = OMIT

    fitted_: Fitted
    schema_: Schema
    model_: Model

    @abstractmethod
    def _families(self) -> Any:
        """Return a family for all columns, a mapping, or "auto"."""

    @property
    @abstractmethod
    def _class_prior(self) -> Any:
        """Prior of the class probabilities, as declared."""

    def _class_prior_rule(self, classes: Array) -> ClassPriorRule:
        """Return the prior of the class probabilities."""
        return class_prior_rule(self._class_prior, classes, self.classes)

    @property
    def _temper_rule(self) -> Any:
        """`temper`, with "auto" resolved to "columns" if nothing is declared, else None."""
        return self._resolve(self.temper, COLUMNS)

    @property
    def _dependence_rule(self) -> str | None:
        """`dependence`, with "auto" resolved to "all" if nothing is declared, else None."""
        return self._resolve(self.dependence, ALL)

    def _resolve(self, rule: Any, chosen: str) -> Any:
        """Return a rule; "auto" becomes `chosen` if no family is declared, else None.

        Dropping columns does not count as declaring; the estimate must be predictive.
        """
        if rule != AUTO:
            return None if rule == NONE else rule
        families = self._families()
        declared = families.values() if isinstance(families, Mapping) else [families]
        is_auto = all(family in (None, AUTO) for family in declared)
        return chosen if is_auto and self.estimate == "predictive" else None

    def _set_fitted(self, fitted: Fitted) -> Self:
        """Set the fitted value."""
        self.fitted_ = fitted
        self.classes_ = fitted.classes
        self.schema_ = fitted.schema
        self.model_ = fitted.model
        return self

    @property
    def temper_(self) -> "float | results.Series":
        """Exponents: a number, or a Series by column. Those of links are in ``links_``."""
        fitted = self.fitted_.of_columns
        return fitted.by_name(fitted.temper.value, "temper")

    @property
    def temper_sd_(self) -> "float | results.Series":
        """Laplace standard deviations of ``temper_``, in the same form.

        0 for an exponent that was given.
        """
        fitted = self.fitted_.of_columns
        return fitted.by_name(fitted.temper.sd, "temper_sd")

    @property
    def temper_length_(self) -> "results.Series | None":
        """Number of words n0 in the exponent t / (1 + n / n0) of a text: t / 2 if n = n0.

        A Series by block of words, infinite if the exponent is the same for all texts; None if no
        exponent decreases.
        """
        length = self.fitted_.by_name(self.fitted_.temper.length, "temper_length")
        if length is None:
            return None
        return length[[self.schema_.blocks[b].family.words for _, b, _ in self.schema_.keys]]

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """Open a table in any container.

        Lists of texts are documents if the model is one of documents.
        """
        if reset:
            documents = isinstance(self._families(), Multinomial)
        else:
            schema = self.schema_
            documents = len(schema.columns) == 1 and schema.blocks[0].family.listed
        return open_table(X, self.n_jobs, documents=documents)

    def _open(self, X: Any) -> Table:
        """Open a table, with scikit-learn's errors for columns other than those of `fit`."""
        table = self._table(X)
        if table.columns != self.schema_.columns:
            try:
                validate_data(self, table.native, reset=False, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"{error}{suggest_names(table, self.schema_.columns)}") from None
        return table

    def _predictor(self) -> Joint:
        """Return the predictive or plug-in distribution, by `estimate`."""
        return predictor(self.fitted_, self.estimate)

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y) of every row and class, `(r, c)`, and the cells."""
        _, cells = read_rows(self, X)
        return self._predictor().log_joint(cells, self.fitted_.exponents, self.n_jobs), cells

    def _check_arguments(self) -> None:
        if self.estimate not in ESTIMATES:
            raise ValueError(
                f"estimate must be one of {', '.join(ESTIMATES)}, got {self.estimate!r}."
            )
        temper = self.temper
        is_exponent = temper is None or (isinstance(temper, Real) and 0 < float(temper) < np.inf)
        if not (is_exponent or str(temper) in (AUTO, COLUMNS, LOO, NONE)):
            raise ValueError(
                "temper must be 'auto', 'columns', 'loo', 'none', None or a positive number, got "
                f"{temper!r}."
            )
        dependence = self.dependence
        if not (dependence is None or str(dependence) in (AUTO, *DEPENDENCES, NONE)):
            raise ValueError(
                "dependence must be 'auto', 'forest', 'pairs', 'covariance', 'all', 'none' or "
                f"None, got {dependence!r}."
            )
        if dependence in DEPENDENCES and self.estimate != "predictive":
            raise ValueError(
                f"dependence={dependence!r} needs estimate='predictive': dependence between "
                "columns has no other estimate."
            )
        if not isinstance(self.missing, str) or self.missing not in (OMIT, AUTO):
            raise ValueError(f"missing must be 'omit' or 'auto', got {self.missing!r}.")
        if not (
            self.n_jobs is None or (isinstance(self.n_jobs, (int, Integral)) and self.n_jobs != 0)
        ):
            raise ValueError(f"n_jobs must be None or a number of threads, got {self.n_jobs!r}.")


# Reading rows


def name_features(estimator: Any, columns: Sequence[Hashable]) -> None:
    """Set scikit-learn's attributes: the number of columns, and their names if all are text."""
    estimator.__dict__.pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    estimator.n_features_in_ = len(columns)


def suggest_names(table: Table, names: Sequence[Hashable]) -> str:
    """Return how to rename columns with names similar to missing ones, or an empty string."""
    new = [name for name in table.columns if name not in names]
    renamed = {}
    for name in [name for name in names if name not in table.columns][:MAX_SUGGESTED]:
        for near in near_columns(name, new):
            renamed[near] = name
    return f"Are these the same columns? X.rename(columns={renamed}).\n" if renamed else ""


def read_rows(estimator: Any, X: Any) -> tuple[Table, list[Cells]]:
    """Return a table, and its cells in the model's blocks.

    One warning names all levels that did not occur in training.
    """
    if not hasattr(estimator, "fitted_"):  # faster for single rows than `check_is_fitted`
        check_is_fitted(estimator)
    estimator._check_arguments()
    table = estimator._open(X)
    cells = estimator.schema_.read(table)
    estimator.schema_.warn_unseen(cells, estimator.n_jobs)
    return table, cells


def label_rows(
    table: Table, y: Any, sample_weight: Any, keep_all: bool = False
) -> tuple[Table, Array, Array | None]:
    """Return rows with their labels and weights; rows of weight zero only if `keep_all`.

    The weights are None if all rows have weight 1.
    """
    labels = check_labels(y, table.rows)
    if sample_weight is None:
        return table, labels, None
    weight = weights(sample_weight, table.rows)
    count = weight > 0
    if not count.any():
        raise ValueError("sample_weight is zero for all rows: there is nothing to learn from.")
    if keep_all or count.all():
        return table, labels, weight
    return table.take(count), labels[count], weight[count]


# Labels


def known_classes(y: Array, before: Fitted | None, declared: Any, grow: bool = False) -> Array:
    """Return the earlier classes, the declared ones and, if they `grow`, those of the labels."""
    if before and not grow:
        return before.classes
    parts = [before.classes] if before else []
    if declared is not None:
        parts.append(declared_classes(declared))
    if grow or not parts:
        parts.append(distinct_labels(y))
    return reduce(united_labels, parts)


def declared_classes(classes: Any) -> Array:
    """Return declared classes, sorted; raise if one is listed twice."""
    known = distinct_labels(classes)
    if len(known) < len(classes):
        twice = [label for label in known.tolist() if list(classes).count(label) > 1]
        raise ValueError(f"classes: {twice} are listed more than once. List each class once.")
    return known


def check_labels(y: Any, rows: int) -> Array:
    """Return one label for each row; raise if one is missing."""
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None.")
    refuse_lazy(y, "y")
    if np.ma.is_masked(y):
        raise ValueError("Input y contains NaN: some labels are masked, missing. Drop those rows.")
    if type(y) is not np.ndarray or y.ndim != 1:
        y = column_or_1d(np.asarray(y), warn=True)
    if len(y) != rows:
        check_consistent_length(range(rows), y)
    if y.dtype.kind in "OUST":
        refuse_missing(is_missing(y))
        classes = distinct_labels(y)
        if not isinstance(classes[0], str):
            # twice each: labels that differ in most rows would look like a regression target
            check_classification_targets(classes.repeat(2))
    elif y.dtype.kind not in "iub":
        refuse_missing(is_missing(y))
        assert_all_finite(y, input_name="y")
        if y.dtype.kind == "f":
            fractions = y % 1 != 0
            if fractions.any():
                raise ValueError(
                    f"Unknown label type: {fractions.sum()} of {len(y)} labels are not whole "
                    f"numbers, such as {y[fractions.argmax()]:g}. A classifier predicts classes: "
                    "bin the numbers, such as with pandas.cut(y, 3), or use a regressor."
                )
        else:
            check_classification_targets(y)
    return y


def refuse_missing(missing: Array) -> None:
    """Raise if labels are missing."""
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} labels are missing, first at row "
            f"{missing.argmax()}. Drop those rows."
        )


# Predictive distributions


def predictor(fitted: Fitted, estimate: str = "predictive") -> Joint:
    """Return the predictive or plug-in distribution; raise if it is improper."""
    model = fitted.model
    if estimate in model.readers:
        return model.readers[estimate]
    reader = model.read(estimate)
    for block, part in zip(fitted.schema.blocks, reader.blocks, strict=True):
        improper = ~part.proper & reader.live[:, None]
        if improper.any():
            c, f = np.argwhere(improper)[0]
            raise ValueError(
                f"column {quote(block.keys[f])}, class {fitted.classes.tolist()[c]!r}: the data do "
                f"not determine a distribution for estimate={estimate!r} (no rows, or no variance, "
                "and no proper prior). Use a proper prior; if estimate is 'mle', which has none, "
                "use estimate='predictive', or drop the column."
            )
    model.readers[estimate] = reader  # set last, because other threads may read it
    return reader


# Copies


def clone_with(estimator: Any, **changes: Any) -> Any:
    """Return an unfitted copy with some parameters changed."""
    return clone(estimator).set_params(**changes)


def clone_declaring(estimator: Any, families: dict[Hashable, Any]) -> Any:
    """Return an unfitted copy that declares these families."""
    return clone_with(estimator, **estimator._params_declaring(families))


def clone_without_links(estimator: Any) -> Any:
    """Return an unfitted copy with the columns only: no links, flags or covariance."""
    changes: dict[str, Any] = {}
    if estimator.dependence is not None:
        changes["dependence"] = None
    if estimator.missing != OMIT:
        changes["missing"] = OMIT
    return clone_with(estimator, **changes)


def without_links(estimator: Any) -> Any:
    """Return a fitted estimator with its columns only, without links, flags or covariance."""
    alone = copy(estimator)
    alone.dependence = None
    alone.missing = OMIT
    return alone._set_fitted(estimator.fitted_.of_columns)


def list_families(estimator: Any, columns: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Return the families that an estimator declares, for the columns that have one."""
    return declared_families(estimator._families(), columns)


def adds_to_columns(estimator: Any) -> bool:
    """Return whether fitting may add links, a covariance, or flags of missing cells."""
    return estimator._dependence_rule is not None or estimator.missing != OMIT


def check_estimator(estimator: Any, prefix: str = "") -> None:
    """Raise for anything but an estimator in closed form, and say where to find one."""
    if not isinstance(estimator, ModelHolder):
        raise TypeError(
            f"{prefix}expected an estimator of bayesnb such as NaiveBayes(), got {estimator!r}. "
            "For a pipeline, use the last step, pipeline[-1], and pipeline[:-1].transform(X); for "
            "a search best_estimator_; for a sampled or calibrated model estimator_."
        )
