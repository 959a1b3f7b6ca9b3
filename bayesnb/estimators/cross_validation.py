"""Scores of held-out rows: leave-one-out and k-fold in closed form, a baseline."""

from typing import Any

import numpy as np
from scipy import sparse

from bayesnb import results
from bayesnb.data.columns import encode
from bayesnb.estimators.base import ModelHolder, label_rows, read_rows
from bayesnb.estimators.prediction import ProbabilisticClassifier, check_choice
from bayesnb.families.base import Array, Rng
from bayesnb.model.product import Rows, normalise_log, observe
from bayesnb.model.schema import Schema
from bayesnb.numerics.views import as_numbers
from bayesnb.selection.leave_one_out import (
    Pointwise,
    PredictiveRule,
    are_there,
    find_stuck,
    fold_of_rows,
    k_fold,
    label_scores,
    leave_one_out,
    warn_undefined,
    warn_unverified,
)

TARGETS = ("label", "joint")
LEFT, KEPT = "left", "kept"  # whether exponents are also estimated without the held-out row
FOLDS = 5  # of the baseline
MAX_CELLS = 500_000  # rows x classes x columns of the baseline: takes a second or two
NEVER = "Give rows that the model was fitted to, or an estimator that is not fitted."


class CrossValidation(ModelHolder):
    """Cross-validation without refits: held-out rows are subtracted from the statistics.

    The prior stays as it is, even if its scale came from the data.
    """

    def loo(
        self,
        X: Any,
        y: Any,
        target: str = "label",
        *,
        sample_weight: Any = None,
        exponents: str = "left",
    ) -> "results.ShownScores":
        """Return leave-one-out log scores, in closed form.

        Parameters
        ----------
        X : table of rows
            The training rows, or some of them. If all rows of a class are given, their statistics
            must be those of the fit. If some are missing, they cannot be checked in full, and an
            `UnverifiedWarning` says so; rows that cannot be training rows are an error.
        y : array-like
            Their labels.
        target : {"label", "joint"}, default "label"
            "label": log p(y_i | x_i, all other rows), for comparing classifiers. "joint":
            log p(x_i, y_i | all other rows), as in the evidence; exponents do not enter it.
        sample_weight : array-like, optional
            The weights of the rows in `fit`.
        exponents : {"left", "kept"}, default "left"
            Whether exponents that were estimated are also estimated without each row, by one Newton
            step. "kept" scores each row under `temper_` as it is, which is too optimistic.

        Returns
        -------
        arviz.ELPDData
            `elpd`, the sum; `se`, its standard error; `p`, the excess of the same sum without
            leaving rows out; and `elpd_i`, the score of each row. `pareto_k` is None, because
            nothing is approximated. `az.compare` accepts it, and its `to_frame` has a row for each
            row of `X`.

        See Also
        --------
        NaiveBayes.kfold : Scores with whole folds left out.
        compare : Several models compared by these scores.
        calibration : Whether the probabilities can be trusted.

        Notes
        -----
        Rows are predicted with `estimate` and `temper_`. Exponents that were estimated are
        estimated without the row, approximately, by one Newton step. Families, links and cuts that
        were chosen on the rows are kept, and the result says so. A prior whose scale is estimated
        from the data keeps it; empirical class shares (class_prior="empirical") are computed
        without the row. A weighted row is left out as a whole; `elpd` is then the weighted mean
        score times the number of rows with a positive weight. A score is minus infinity if the row
        has probability 0 given the others, and NaN, with a warning, if these determine no
        distribution.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> scores = GaussianNB().fit(x, y).loo(x, y)
        >>> round(scores.elpd, 3), round(scores.se, 3), scores.elpd_i.values.round(2).tolist()
        (-0.709, 0.086, [-0.08, -0.11, -0.16, -0.16, -0.11, -0.08])
        """
        index, rows = read_learnt_rows(self, X, y, sample_weight)
        scores = score_left_out(self, rows, target, exponents)
        return results.elpd.elpd(scores, index, selection=describe_selection(self, exponents))

    def loo_proba(self, X: Any, y: Any, *, sample_weight: Any = None) -> "results.DataArray":
        """Return leave-one-out class probabilities, without a refit.

        Their log scores are those of `loo`; `calibration` and the verdict use them.

        Parameters
        ----------
        X : table of rows
            The training rows, or some of them, as in `loo`.
        y : array-like
            Their labels.
        sample_weight : array-like, optional
            The weights of the rows in `fit`.

        Returns
        -------
        xarray.DataArray
            By (obs_id, class): p(y | x_i, all other rows). Its attribute `selection` says what was
            selected on the rows, and whether the selection is redone without each row.

        See Also
        --------
        NaiveBayes.loo : Their log scores.
        calibration : Whether the probabilities can be trusted.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> GaussianNB().fit(x, y).loo_proba(x, y).values.round(2)[:2].tolist()
        [[0.92, 0.08], [0.9, 0.1]]
        """
        index, rows = read_learnt_rows(self, X, y, sample_weight)
        log_proba = normalise_log(leave_rows_out(self, rows))
        warn_undefined(log_proba.max(axis=1))
        return results.datasets.held_out_proba(
            np.exp(log_proba), index, self.classes_, describe_selection(self)
        )

    def kfold(
        self,
        X: Any,
        y: Any,
        folds: Any = 10,
        target: str = "label",
        *,
        sample_weight: Any = None,
        rng: Rng = 0,
    ) -> "results.ShownScores":
        """Return k-fold log scores: each row is predicted from the other folds, without a refit.

        Parameters
        ----------
        X : table of rows
            All training rows.
        y : array-like
            Their labels.
        folds : int or array-like, default 10
            The number of folds, or the fold of every row. With a number, rows are assigned at
            random, as evenly as possible in each class.
        target : {"label", "joint"}, default "label"
            What is scored, as in `loo`.
        sample_weight : array-like, optional
            The weights of the rows in `fit`.
        rng : int or numpy.random.Generator, default 0
            The source of randomness for assigning folds.

        Returns
        -------
        arviz.ELPDData
            As in `loo`.

        See Also
        --------
        NaiveBayes.loo : Scores with one row left out at a time.

        Notes
        -----
        Exponents, families and links that were estimated from all rows are kept in every fold.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> round(GaussianNB().fit(x, y).kfold(x, y, folds=3).elpd, 3)
        -0.769
        """
        index, rows = read_learnt_rows(self, X, y, sample_weight, needed_by="kfold")
        fold = fold_of_rows(folds, rows.codes, rng)
        joint = k_fold(self.model_, rows, fold, scoring_rule(self, target), self.n_jobs)
        scores = compare_with_fitted(self, rows, joint, target)
        return results.elpd.elpd(scores, index, int(fold.max()) + 1)


# Training rows


def read_learnt_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, needed_by: str | None = None
) -> tuple[Array, Rows]:
    """Return the names of training rows, and the rows.

    Raise for other rows, and for some of them if `needed_by` names a function that needs all.
    """
    estimator = getattr(estimator, "estimator_", estimator)  # a sampled model reads with this
    table, cells = read_rows(estimator, X)
    _, labels, weight = label_rows(table, y, sample_weight, keep_all=True)
    estimator._predictor()  # an error if the predictive is improper
    schema = estimator.schema_
    model = estimator.model_
    rows = Rows(schema.observers, cells, encode(labels, estimator.classes_, NEVER), weight)
    seen = observe(rows.where(rows.counts > 0), len(estimator.classes_), estimator.n_jobs)
    schema.check_stats(cells, seen)
    if not model.stats.covers(seen):
        raise ValueError(
            "these rows are not among those that the model was fitted to, so they cannot be left "
            "out. Give the rows, labels and sample_weight that it was fitted to, or an estimator "
            "that is not fitted."
        )
    if needed_by is not None and not are_there(model, rows).all():
        learnt = model.stats.classes.counts.sum()
        raise ValueError(
            f"{needed_by} needs all rows that the model was fitted to, got "
            f"{rows.counts.sum():.12g} of {learnt:.12g}. Give all, or an estimator that is not "
            "fitted."
        )
    warn_unverified(model, seen.classes.counts)
    return table.index, rows


def read_labelled_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> tuple[Array, Rows]:
    """Return the names of labelled rows, and the rows, without those of weight zero."""
    table = estimator._open(X)
    table, labels, weight = label_rows(table, y, sample_weight)
    codes = encode(labels, estimator.classes_, NEVER)
    cells = estimator.schema_.read(table)
    return table.index, Rows(estimator.schema_.observers, cells, codes, weight)


# Scores of training rows


def score_left_out(
    estimator: Any, rows: Rows, target: str = "label", exponents: str = LEFT
) -> Pointwise:
    """Return the scores of `loo`."""
    if isinstance(estimator, ProbabilisticClassifier):
        return estimator._score_left_out(rows, target)
    joint = leave_rows_out(estimator, rows, target, exponents)
    return compare_with_fitted(estimator, rows, joint, target)


def compare_with_fitted(estimator: Any, rows: Rows, joint: Array, target: str) -> Pointwise:
    """Return the scores of held-out rows, with those of the model fitted to them as well."""
    reader = estimator._predictor()
    power = scoring_rule(estimator, target).power
    fitted = reader.log_joint(rows.cells, power, estimator.n_jobs)
    if target == "joint":
        joint = reader.with_base(joint, rows.cells)
        fitted = reader.with_base(fitted, rows.cells)
    held_out = label_scores(joint, rows.codes, target)
    warn_undefined(held_out)
    return Pointwise(held_out, label_scores(fitted, rows.codes, target), rows.weight)


def scoring_rule(estimator: Any, target: str = "label", exponents: str = LEFT) -> PredictiveRule:
    """Return the estimate and the exponents for scoring rows."""
    check_choice("target", target, TARGETS)
    check_choice("exponents", exponents, (LEFT, KEPT))
    fitted = estimator.fitted_
    if target == "joint":
        return PredictiveRule(estimator.estimate, fitted.joint_exponents)
    covariance = fitted.temper.covariance if exponents == LEFT else None
    return PredictiveRule(estimator.estimate, fitted.exponents, covariance)


def leave_rows_out(
    estimator: Any, rows: Rows, target: str = "label", exponents: str = LEFT
) -> Array:
    """Return log p(x, y | all rows but this one), `(r, c)`.

    NaN if the other rows determine no distribution.
    """
    rule = scoring_rule(estimator, target, exponents)
    joint = leave_one_out(estimator.model_, rows, rule, n_jobs=estimator.n_jobs)
    refuse_stuck(find_stuck(estimator.model_, rows, joint))
    return joint


def describe_selection(estimator: Any, exponents: str = LEFT) -> str:
    """Describe what was selected on the rows, and whether this is redone without each row.

    Return "" if nothing was selected.
    """
    schema = estimator.schema_
    covariance = estimator.fitted_.temper.covariance
    left = ""
    kept = []
    if covariance is not None:
        found = "exponent" if len(covariance) == 1 else f"{len(covariance):,} exponents"
        if exponents == LEFT:
            left = f"Each row is also left out of the {found}, by one Newton step."
        else:
            kept.append(found)
    if schema.choices:
        kept.append("families")
    if schema.links is not None:
        kept.append("links")
    if schema.missing is not None:
        kept.append("flags of missing cells")
    if schema.covariance is not None:
        kept.append("covariance")
    if not kept:
        return left
    words = " and ".join(filter(None, (", ".join(kept[:-1]), kept[-1])))
    return f"{left} The {words} were chosen using all rows and are kept.".strip()


def refuse_stuck(dominant: Array) -> None:
    """Raise for rows with too much of their class's weight to be subtracted."""
    if dominant.any():
        raise ValueError(
            f"row {dominant.argmax()} cannot be subtracted from its class: it has so much of the "
            "class's weight that too few digits would be left. The class's other rows must be "
            "counted again: give all training rows."
        )


# A baseline


def predict_by_logistic_regression(schema: Schema, rows: Rows, classes: int) -> Array | None:
    """Return log p(y | x) of each row by a regression on the other folds, `(r, c)`.

    None if a class has too few rows, or the table too many cells.
    """
    if classes < 2 or np.bincount(rows.codes, minlength=classes).min() < FOLDS:
        return None
    x = make_design(schema, rows)
    if x.shape[0] * x.shape[1] * classes > MAX_CELLS:
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    regression = LogisticRegression(solver="newton-cg", max_iter=1000)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return cross_val_predict(regression, x, rows.codes, cv=folds, method="predict_log_proba")


def make_design(schema: Schema, rows: Rows) -> Any:
    """Return one-hot encoded levels, standardised numbers, and counts of words."""
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    parts = []
    for block, x in zip(schema.columns_alone.blocks, rows.cells, strict=False):
        cells = as_numbers(x)[:]
        if block.family.has_levels:
            cells = OneHotEncoder().fit_transform(cells)
        elif not sparse.issparse(cells):  # missing cells become 0, the mean
            cells = np.nan_to_num(StandardScaler().fit_transform(np.asarray(cells, float)))
        parts.append(sparse.csr_array(cells))
    return sparse.hstack(parts, "csr")
