"""Incremental learning: fit, add rows, merge models, remove rows, and discount old rows.

All of these add, subtract or scale statistics. A call that fails leaves the estimator unchanged.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from bayesnb.data import Table, is_lazy, refuse_lazy
from bayesnb.data.cells import NEVER_LEARNT
from bayesnb.data.checks import warn_of_columns
from bayesnb.data.columns import DECLARE, encode, split_labels, weights
from bayesnb.data.families import families_of, undeclared
from bayesnb.estimators.base import (
    AUTO,
    COLUMNS,
    LOO,
    ModelHolder,
    adds_to_columns,
    check_estimator,
    clone_with,
    declared_classes,
    known_classes,
    label_rows,
    name_features,
)
from bayesnb.estimators.cross_validation import read_labelled_rows
from bayesnb.estimators.prediction import dask_room
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.model.fitted import Fitted, Temper
from bayesnb.model.kept_rows import KeptRows
from bayesnb.model.product import Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, model_of, subtract_rows
from bayesnb.selection.best_families import LabelledTable, choose_families
from bayesnb.selection.column_exponents import (
    exponents_of,
    find_exponents,
    find_one_exponent,
    update_exponents,
)
from bayesnb.selection.covariance import (
    COVARIANCE,
    drop_covariance,
    keep_covariance,
    try_covariance,
)
from bayesnb.selection.leave_one_out import rewind_model
from bayesnb.selection.link_search import ALL, add_links
from bayesnb.selection.missing import add_missing
from bayesnb.selection.pair_evidence import LabelledRows, Work
from bayesnb.selection.unlabelled import Unlabelled

GROW = "Fit with all of them declared as `classes`, or let partial_fit add them: grow_classes=True."
DIGITS = 1e-8  # largest rounding error of a belief after rows are removed, relative to its scale
XYWeight = tuple[Any, Any, Any]  # X, y and sample_weight, as the user passes them


class IncrementalMixin(ModelHolder):
    """A fitted model is a sum of statistics, so rows can be added, removed and discounted.

    The prior does not change.
    """

    unlabelled_weight_: float

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled_weight: Any = None
    ) -> Self:
        """Fit the model to a table and its labels. An earlier fit is discarded.

        The statistics of the rows are computed in one pass. The posterior follows from them in
        closed form, without sampling.

        Parameters
        ----------
        X : table of rows
            An array, a SciPy sparse matrix, a pandas, polars or pyarrow table or any that narwhals
            reads, a list of lists, or an array or dataframe of Dask. Missing cells are left out.
        y : sequence of labels
            One for each row; none may be missing unless there is an ``unlabelled_weight``.
        sample_weight : sequence of float or None, default=None
            Weights of the rows, 0 or more. A row of weight 2 counts as two such rows.
        unlabelled_weight : "auto", float or None, default=None
            The weight of a row whose label is missing: None, NaN, or -1 among numbers. Such rows
            are fitted by expectation-maximisation, with class probabilities in place of a label.
            ``"auto"`` compares 0, 0.1, 0.3 and 1 on held-out labelled rows, and uses 0 unless
            another is clearly better; ``unlabelled_weight_`` is the weight that was used. None: a
            missing label is an error.

        Returns
        -------
        self : NaiveBayes
            The fitted estimator.

        Raises
        ------
        ValueError
            For cells outside the support of their family, labels that are missing or not in
            ``classes``, and parameters that contradict each other. The message names the column or
            row, and what to do. The estimator is left unchanged.

        See Also
        --------
        partial_fit : Add rows.
        bayesnb.scale.fit_files : Fit to files of any size.
        predict_proba : Class probabilities of new rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from bayesnb import NaiveBayes
        >>> table = {"weight": [1.0, 1.2, 3.0, None], "coat": ["short", "long", "long", "long"]}
        >>> model = NaiveBayes().fit(pd.DataFrame(table), ["cat", "cat", "dog", "dog"])
        >>> model.classes_.tolist(), list(model.families_)
        (['cat', 'dog'], ['weight', 'coat'])
        """
        if unlabelled_weight is not None:
            return self._learn_unlabelled((X, y, sample_weight), unlabelled_weight)
        self.__dict__.pop("unlabelled_weight_", None)
        return self._learn((X, y, sample_weight), None, self.classes, is_whole=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        grow_classes: bool = False,
    ) -> Self:
        """Add rows to the fitted model.

        If families, priors and exponents are declared, the result equals ``fit`` on all rows to
        round-off, in any batches and any order. Families, links and priors that are chosen from
        data are chosen from the first batch, and exponents are updated with each batch; see the
        class's notes.

        Parameters
        ----------
        X : table of rows
            As in ``fit``. New levels of a column are added.
        y : sequence of labels
            One for each row.
        classes : sequence or None, default=None
            All possible labels. The first call needs them, here or in the constructor, unless
            ``grow_classes`` is True.
        sample_weight : sequence of float or None, default=None
            Weights of the rows, 0 or more.
        grow_classes : bool, default=False
            Whether new labels become new classes.

        Returns
        -------
        self : NaiveBayes
            The fitted estimator.

        Raises
        ------
        ValueError
            For the errors of ``fit``, and for labels that are not among the classes. The estimator
            is left unchanged.

        See Also
        --------
        fit : Fit to one table, discarding an earlier fit.
        merge : Combine two fitted estimators.
        forget : Remove rows.
        decay : Reduce the weight of old rows.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> labels = ["low", "high"]
        >>> model = GaussianNB().partial_fit([[1.0], [3.0]], labels, classes=labels)
        >>> model = model.partial_fit([[1.2], [3.1]], ["low", "high"])
        >>> model.class_count_.tolist()
        [2.0, 2.0]
        """
        before = self.__dict__.get("fitted_")
        declared = self.classes if classes is None else classes
        if not grow_classes:
            if before is None and declared is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            is_fixed = before is not None and classes is not None
            if is_fixed and not np.array_equal(declared_classes(classes), self.classes_):
                raise ValueError(
                    f"`classes={classes}` is not the same as on the last call to partial_fit: "
                    f"{self.classes_.tolist()}. With grow_classes=True new ones are added."
                )
        return self._learn((X, y, sample_weight), before, declared, grow_classes)

    def merge(self, other: Self) -> Self:
        """Return a new estimator fitted to the rows of this one and of another.

        Parameters
        ----------
        other : NaiveBayes or a preset
            A fitted estimator of the same class, with the same columns, families and priors. Its
            labels and levels may differ: they are matched by name.

        Returns
        -------
        NaiveBayes or a preset
            A new fitted estimator, with the parameters of this one. Both are left unchanged.

        Raises
        ------
        TypeError
            For an estimator of another class.
        ValueError
            For different columns or families, and for new classes if a prior differs between
            classes, because it does not define a prior for new ones.

        See Also
        --------
        partial_fit : Add rows.
        bayesnb.scale.fit_shards : Fit to parts, with a prior and exponents from all rows.

        Notes
        -----
        The result equals ``partial_fit`` of this model on the other's rows, to round-off, except
        for exponents. Everything but the statistics comes from this model: ``class_prior``,
        ``estimate``, a prior whose scale is estimated from the data, such as that of
        ``Gaussian()``, and ``temper_``, even if it was estimated. There are no rows to estimate it
        from, and the two posteriors of exponents cannot be multiplied: their common prior, an
        average over widths, would count twice and cannot be divided out.

        With fixed priors and exponents, ``a.merge(b)`` equals ``b.merge(a)``, and any number of
        models can be merged in any order. Classes that only the other has are added.

        Examples
        --------
        >>> from bayesnb import MultinomialNB
        >>> monday = MultinomialNB().fit([[2, 0], [1, 3]], ["spam", "ham"])
        >>> tuesday = MultinomialNB().fit([[4, 1], [0, 2]], ["spam", "news"])
        >>> both = monday.merge(tuesday)
        >>> both.classes_.tolist(), both.stats_.classes.counts.tolist()
        (['ham', 'news', 'spam'], [1.0, 1.0, 2.0])
        """
        check_is_fitted(self)
        check_estimator(other, "merge: ")
        if type(other) is not type(self):
            raise TypeError(
                f"merge: {type(self).__name__} cannot be merged with {type(other).__name__}. Fit "
                "both parts with the same class, such as NaiveBayes(families)."
            )
        check_is_fitted(other, msg="merge: the other %(name)s is not fitted yet. Fit it first.")
        return copy(self)._set_model(self.fitted_.shard + other.fitted_.shard, self.fitted_)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove training rows, as if the model had never been fitted to them.

        Parameters
        ----------
        X : table of rows
            Training rows. They are needed because the estimator keeps only statistics.
        y : sequence of labels
            Their labels in training.
        sample_weight : sequence of float or None, default=None
            Their weights in training. A smaller weight removes a part of a row. After ``decay``, a
            row has its reduced weight.

        Returns
        -------
        self : NaiveBayes
            The estimator without these rows.

        Raises
        ------
        ValueError
            For rows that cannot be training rows, and if too few digits would be left. The
            estimator is left unchanged.

        See Also
        --------
        partial_fit : Add rows.
        decay : Reduce the weight of old rows.

        Notes
        -----
        The model equals one fitted without these rows, under the same prior: a prior whose scale is
        estimated from the data, such as that of ``Gaussian()``, keeps that scale. Levels, classes
        and ``temper_`` are kept as well. Counts are exact if weights are whole numbers.

        Rows that were never in the training data are an error if this can be detected: an unknown
        label or level, a count that would become negative, or a remainder that no rows can have,
        such as a negative variance. Other rows cannot be detected, because the training rows are
        not kept.

        If the remaining cells of a Gaussian column are far smaller than those removed, such as
        numbers around 1 after an outlier of 1e9, too few digits are left. A possible error of more
        than 1e-8 of a belief's scale raises: fit again on the remaining rows. The rounding errors
        of many calls add up.

        Examples
        --------
        >>> from bayesnb import GaussianNB, NormalInverseGamma
        >>> prior = NormalInverseGamma(mean=0, count=1, shape=1, scale=1)
        >>> x, y = [[1.0], [1.2], [9.0], [3.0], [3.1]], ["low", "low", "low", "high", "high"]
        >>> model = GaussianNB(prior=prior).fit(x, y).forget([[9.0]], ["low"])
        >>> again = GaussianNB(prior=prior).fit(x[:2] + x[3:], y[:2] + y[3:])
        >>> bool(abs(model.predict_proba([[2.0]]) - again.predict_proba([[2.0]])).max() < 1e-14)
        True
        """
        check_is_fitted(self)
        table = self._open(X)
        table, labels, weight = label_rows(table, y, sample_weight)
        codes = encode(labels, self.classes_, NEVER_LEARNT)
        gone, rows = Shard.of(self.schema_, self.classes_, table, codes, weight)
        self.schema_.refuse_unseen(rows.cells, self.n_jobs)
        rest = subtract_rows(self.fitted_.shard, gone, len(codes))
        self._check_digits(gone, rest)
        return self._set_model(rest, self.fitted_)

    def decay(self, factor: float) -> Self:
        """Discount all training rows: the weight of every row is multiplied by a factor.

        If it is called once a day, or once a batch, a row of age t has weight factor**t. This is
        exponential forgetting, for data that drift.

        Parameters
        ----------
        factor : float
            Above 0, and at most 1. At 0.99 the statistics of a steady stream level off at those of
            100 batches.

        Returns
        -------
        self : NaiveBayes
            The estimator with discounted statistics.

        Raises
        ------
        ValueError
            For a factor that is not above 0 and at most 1.

        See Also
        --------
        forget : Remove rows.
        Live : A model that learns while other threads predict with it.

        Notes
        -----
        Only the statistics are scaled: the posteriors move towards the prior, including that of the
        class probabilities. Classes that no longer occur become less probable. ``partial_fit``,
        ``decay``, ``partial_fit`` equals ``fit`` with weights. ``log_evidence_`` is then that of
        weighted rows, not a probability of data.

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> model = BernoulliNB().fit([[1], [1], [0]], ["new", "old", "old"])
        >>> model.decay(0.5).stats_.classes.counts.tolist()
        [0.5, 1.0]
        """
        check_is_fitted(self)
        if not (isinstance(factor, Real) and 0 < float(factor) <= 1):
            raise ValueError(
                f"decay: the factor must be a number above 0, and at most 1, got {factor!r}. To "
                "start over, call fit."
            )
        seen = self.fitted_.shard
        faded = replace(
            seen,
            stats=float(factor) * seen.stats,
            integer_weights=seen.integer_weights and factor == 1,
        )
        return self._set_model(faded, self.fitted_)

    def _learn(
        self,
        rows: XYWeight,
        before: Fitted | None,
        declared: Any,
        grow: bool = False,
        is_whole: bool = False,
    ) -> Self:
        """Add rows to a fitted model, or fit to them; warn about columns if they are all rows."""
        self._check_arguments()
        X, y, sample_weight = rows
        if is_lazy(X):
            total = count_lazy_rows(self, rows, before, declared, grow)
            classes = known_classes(total.classes, before, declared, grow)
            return learn_shard(self, total.laid_out(classes, total.schema), more=before is not None)
        table = self._table(X, reset=True) if before is None else self._open(X)
        if is_whole and (places := undeclared(self._families(), table)):
            warn_of_columns(table, places)
        grown = None if before is None else before.schema.grown
        shard, read = self._count(table, y, sample_weight, grown, before, declared, grow)
        self._set_model(shard if before is None else before.shard + shard, before, read)
        if before is None:
            name_features(self, table.columns)
            self.target_name_ = name_of(y)
        return self

    def _learn_unlabelled(self, rows: XYWeight, unlabelled_weight: Any) -> Self:
        """Fit to rows, some without a label."""
        is_number = isinstance(unlabelled_weight, Real) and not isinstance(unlabelled_weight, bool)
        is_weight = is_number and 0 <= float(unlabelled_weight) < np.inf
        if not (is_weight or str(unlabelled_weight) == AUTO):
            raise ValueError(
                "unlabelled_weight must be 'auto', or a number that is 0 or more, got "
                f"{unlabelled_weight!r}."
            )
        X, y, sample_weight = rows
        for name, each in (("X", X), ("y", y)):
            refuse_lazy(each, name)
        labels, unlabelled = split_labels(y)
        table = self._table(X, reset=True)
        check_consistent_length(range(table.rows), unlabelled)
        if unlabelled.all():
            raise ValueError("no row has a label, so the classes are unknown.")
        counts = np.ones(table.rows)
        if sample_weight is not None:
            counts = weights(sample_weight, table.rows)
        weight = None if sample_weight is None else counts[~unlabelled]
        labelled = table.take(~unlabelled).native, labels, weight
        learnt = copy(self)._learn(labelled, None, self.classes, is_whole=True)
        learnt.target_name_ = name_of(y)
        chosen = 0.0
        if unlabelled.any():
            others = learnt._open(table.take(unlabelled).native)
            wide = learnt._widened(others)
            parts = Unlabelled(
                wide.fitted_,
                read_labelled_rows(wide, *labelled)[1],
                wide.schema_.read(others),
                counts[unlabelled],
                wide._class_prior_rule(wide.classes_),
                wide._find_new_temper,
                self.n_jobs,
            )
            chosen = unlabelled_weight
            if unlabelled_weight == AUTO:
                chosen = parts.choose_weight()
            if chosen > 0:
                learnt._set_fitted(parts.learn(chosen))
        learnt.unlabelled_weight_ = float(chosen)
        self.__dict__.update(learnt.__dict__)
        return self

    def _widened(self, table: Table) -> Self:
        """Return a copy that also has the levels of a table, with counts of 0."""
        fitted = self.fitted_
        shard = fitted.shard.laid_out(fitted.classes, fitted.schema.grown(table))
        rule = self._class_prior_rule(fitted.classes)
        model = model_of(shard, rule, (fitted.model, fitted.shard))
        return copy(self)._set_fitted(replace(fitted, schema=shard.schema, model=model))

    def _count(
        self,
        table: Table,
        y: Any,
        sample_weight: Any,
        read_columns: Callable[[Table], Schema] | None,
        before: Fitted | None,
        declared: Any,
        grow: bool = False,
    ) -> tuple[Shard, Rows]:
        """Return the stats of rows, and the rows as they were read.

        `read_columns` gives the schema of the table; if it is None, the schema is learnt.
        """
        table, labels, weight = label_rows(table, y, sample_weight)
        classes = known_classes(labels, before, declared, grow)
        codes = encode(labels, classes, GROW if before else DECLARE)
        schema = (
            self._schema_of(table, codes, weight, classes)
            if read_columns is None
            else read_columns(table)
        )
        shard, read = Shard.of(schema, classes, table, codes, weight)
        schema.warn_unseen(read.cells, self.n_jobs, learnt=True)
        return shard, read

    def _schema_of(
        self, table: Table, codes: Array, weight: Array | None, classes: Array
    ) -> Schema:
        """Return the schema of a table: levels and families, some of them chosen by these rows."""
        rows = LabelledTable(table, codes, weight, classes, self._class_prior_rule(classes))
        families, choices, grids = choose_families(families_of(self._families(), table), rows)
        schema = replace(Schema.learn(table, families, weight, grids), choices=choices)
        if self.missing == AUTO:
            schema = add_missing(schema, rows)
        kind = self._dependence_rule
        if kind not in (None, COVARIANCE):
            counts = np.ones(len(codes)) if weight is None else weight
            labelled = LabelledRows(codes, counts, len(classes))
            schema = add_links(schema, table, labelled, kind, Work(self.n_jobs))
        return try_covariance(schema, rows) if kind in (COVARIANCE, ALL) else schema

    def _set_model(self, shard: Shard, before: Fitted | None, rows: Rows | None = None) -> Self:
        """Set the model of all rows of a shard, with the prior of an earlier fit, if any."""
        self._check_arguments()
        known = None if before is None else (before.model, before.shard)
        model = model_of(shard, self._class_prior_rule(shard.classes), known)
        fitted = Fitted(shard.classes, shard.schema, model)
        covariance = shard.schema.covariance
        if covariance is not None and covariance.gain is None:  # not yet decided whether to keep it
            if rows is not None:
                return self._set_fitted(
                    keep_covariance(fitted, rows, self._find_new_temper, self.n_jobs)
                )
            fitted = drop_covariance(fitted)
        temper = self._find_temper(model, shard, before, rows)
        return self._set_fitted(replace(fitted, temper=temper))

    def _find_new_temper(
        self, model: Model, rows: Any, scores: tuple[Array, Array] | None = None
    ) -> Temper:
        """Return exponents, estimated from rows or given; `scores` saves scoring the rows."""
        rule = self._temper_rule
        if rule not in (COLUMNS, LOO):
            return Temper(float(rule or 1))
        if rule == LOO:
            return find_one_exponent(model, rows, self.n_jobs)
        if scores is None:
            return find_exponents(model, rows, self.n_jobs)
        return exponents_of(model, rows, scores)

    def _find_temper(
        self, model: Model, shard: Shard, before: Fitted | None, rows: Rows | None
    ) -> Temper:
        """Return the exponents; without rows, those that were estimated are kept."""
        rule = self._temper_rule
        if rows is None and rule in (COLUMNS, LOO):
            return Temper() if before is None else before.temper
        if rows is None or rule != COLUMNS or before is None or not before.temper.by_feature:
            return self._find_new_temper(model, rows)
        known = before.shard.laid_out(shard.classes, shard.schema)
        return update_exponents(before.temper, rewind_model(model, known.stats), rows)

    def _check_digits(self, gone: Shard, rest: Shard) -> None:
        """Raise if subtraction leaves too few digits of beliefs, or of an estimate."""
        fitted = self.fitted_
        parts = (each.stats.blocks for each in (fitted.model, gone, rest))
        for block, belief, *stats in zip(
            fitted.schema.blocks, fitted.model.prior.blocks, *parts, strict=True
        ):
            flat = belief.map(np.zeros_like) if self.estimate == "mle" else belief
            off = flat.rounding_error(*stats)
            if (off > DIGITS).any():
                c, f = np.unravel_index(off.argmax(), off.shape)
                raise ValueError(
                    f"column {block.keys[f]!r}, class {fitted.classes.tolist()[c]!r}: these rows "
                    "are so large a part of the statistics that rounding errors in the rest could "
                    f"reach {off[c, f]:.1g} of its scale ({DIGITS:g} is allowed). Fit again on the "
                    "other rows. Nothing was forgotten."
                )


# Statistics of parts of a table, wherever they are computed


def count_shard(
    estimator: Any,
    rows: XYWeight,
    declared: Any = None,
    known: Schema | None = None,
    first: int | None = None,
) -> Shard | None:
    """Return the stats of rows, to be added to those of other shards; None without rows.

    Families and grids are those of the `known` schema, if given, so that the stats can be
    added up. `first` is the number of rows before these, if known.
    """
    estimator._check_arguments()
    X, y, sample_weight = rows
    size = X.shape[0] if hasattr(X, "shape") else len(X)
    if size == 0 or (sample_weight is not None and not np.any(sample_weight)):
        return None
    table = estimator._table(X, reset=True)
    classes = estimator.classes if declared is None else declared
    of_part = None
    if known is not None and tuple(known.columns) == tuple(table.columns):
        of_part = known.of_part
    shard, read = estimator._count(table, y, sample_weight, of_part, None, classes)
    if estimator._temper_rule not in (COLUMNS, LOO):
        return shard
    kept = KeptRows.of(shard.schema, len(shard.classes), read, first)
    return replace(shard, kept=kept)


def count_lazy_rows(
    estimator: Any, rows: XYWeight, before: Fitted | None, declared: Any, grow: bool
) -> Shard:
    """Return the stats of Dask rows, computed by partition, on the grids of earlier rows."""
    dask = dask_room()
    known = None
    if before is not None:
        dask.check_columns(estimator, dask.heading(rows[0]))
        known = before.schema
        declared = before.classes
    if grow:  # the classes are those of the rows
        estimator = clone_with(estimator, classes=None)
        declared = None
    total = dask.count_partitions(estimator, rows, declared, known)
    if total is None:
        raise ValueError(
            "there is no row to learn from: all partitions are empty, or all weights are zero."
        )
    return total


def name_of(y: Any) -> str | None:
    """Return the name of the labels, if they are a named series."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else None


def learns_from_first_rows(estimator: Any) -> bool:
    """Return whether families, grids or links for all rows are chosen from the first ones."""
    families = estimator._families()
    return not isinstance(families, Family) or families.has_grid or adds_to_columns(estimator)


def learn_shard(estimator: Any, shard: Shard, *, more: bool = False) -> Any:
    """Fit to the rows of a shard, or add them to the fitted model if `more`."""
    if estimator.temper in (COLUMNS, LOO) and shard.kept is None:
        raise ValueError(
            f"temper={estimator.temper!r} estimates exponents from rows, and these shards keep "
            "none. Make them by shard(model, X, y, keep_rows=True) with a model that has this "
            "temper, or give temper a number."
        )
    before = estimator.fitted_ if more else None
    total = shard if before is None else before.shard.followed_by(shard)
    kept = shard.laid_out(total.classes, total.schema).kept
    estimator._set_model(total, before, None if kept is None else kept.labelled(total.schema))
    name_features(estimator, total.schema.columns)
    return estimator
