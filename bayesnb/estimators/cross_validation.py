"""Leave-one-out and k-fold in closed form: how well an estimator predicts rows that are new."""

from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.data import Table
from bayesnb.data.labels import encode
from bayesnb.estimators.base import ModelHolder, refuse_weightless
from bayesnb.families.base import Array, Rng
from bayesnb.model.product import ProductStats, Rows, normalise_log, observe
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
LEFT, KEPT = "left", "kept"  # what a row that is held out does to exponents that were found with it
NEVER = "Give rows that the model has learnt from, or an estimator that is not fitted."


class CrossValidation(ModelHolder):
    """Rows that were learnt are taken back by algebra.

    The prior stays as it is, also where it came from the data.
    """

    def loo(
        self,
        X: Any,
        y: Any,
        target: str = "label",
        *,
        sample_weight: Any = None,
        exponents: str = "left",
    ) -> Any:
        """Score every row by the model of all other rows: leave-one-out in closed form.

        Parameters
        ----------
        X : table of rows
            The rows that were learnt, or some of them. All rows of a class are checked: it is an
            error if their statistics are not those that were learnt. A part of a class cannot be
            checked in full, and an `UnverifiedWarning` says so; rows that cannot have been learnt
            are an error.
        y : array-like
            Their labels.
        target : {"label", "joint"}, default "label"
            "label": log p(y_i | x_i, all other rows), by which classifiers are compared. "joint":
            log p(x_i, y_i | all other rows), which the evidence is made of; no temper enters it.
        sample_weight : array-like, optional
            The weights of the rows, as they were learnt.
        exponents : {"left", "kept"}, default "left"
            Whether each row leaves the exponents that were found with it, too, by one Newton step;
            "kept" scores it under `temper_` as it is, which is too good.

        Returns
        -------
        arviz.ELPDData
            `elpd`, the sum, `se`, its standard error, `p`, by how much the sum is larger over rows
            that were learnt, and `elpd_i`, row by row. There is no `pareto_k`, as nothing is
            approximated. `az.compare` takes it, and its `to_frame` has a row for each row of `X`.

        See Also
        --------
        NaiveBayes.kfold : Scores with whole folds left out.
        compare : Several models compared by these scores.
        calibration : Whether the probabilities can be trusted.

        Notes
        -----
        Predictions are those of `estimate`, with `temper_`. Where exponents were found by the rows,
        each row leaves them too: by one Newton step they become those of all other rows, about.
        Families, links and cuts that the rows chose are kept, and the result says so. A prior that
        took its scale from the data keeps it; class shares that were counted
        (class_prior="empirical") are counted without the row. A row with a weight is left out as a
        whole; `elpd` is then the weighted mean score, times the number of rows, those of weight
        zero apart. A score is minus infinity where the other rows give the row probability 0, and
        NaN, with a warning, where they leave no distribution.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> scores = GaussianNB().fit(x, y).loo(x, y)
        >>> round(scores.elpd, 3), round(scores.se, 3), scores.elpd_i.values.round(2).tolist()
        (-0.709, 0.086, [-0.08, -0.11, -0.16, -0.16, -0.11, -0.08])
        """
        index, rows = self._learnt_rows(X, y, sample_weight)
        return results.elpd.elpd(
            self._left_out(rows, target, exponents),
            index,
            selection=describe_selection(self, exponents),
        )

    def loo_proba(self, X: Any, y: Any, *, sample_weight: Any = None) -> Any:
        """Predict every row by the model that has learnt all other rows, without a refit.

        These are the probabilities whose log scores are `loo`: what `calibration` and the verdict
        are made of.

        Parameters
        ----------
        X : table of rows
            The rows that were learnt, or some of them, as in `loo`.
        y : array-like
            Their labels.
        sample_weight : array-like, optional
            The weights of the rows, as they were learnt.

        Returns
        -------
        xarray.DataArray
            By (obs_id, class): p(y | x_i, all other rows). Its attribute `selection` says what rows
            chose, and which of it a row that is held out leaves.

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
        index, rows = self._learnt_rows(X, y, sample_weight)
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
    ) -> Any:
        """Score every row by the model of the rows of all other folds, without a refit.

        Parameters
        ----------
        X : table of rows
            All rows that were learnt.
        y : array-like
            Their labels.
        folds : int or array-like, default 10
            The number of folds, or the fold of every row. With a number, rows are assigned at
            random, as evenly as possible in each class.
        target : {"label", "joint"}, default "label"
            What is scored, as in `loo`.
        sample_weight : array-like, optional
            The weights of the rows, as they were learnt.
        rng : int or numpy.random.Generator, default 0
            For the assignment to folds.

        Returns
        -------
        arviz.ELPDData
            As in `loo`.

        See Also
        --------
        NaiveBayes.loo : Scores with one row left out at a time.

        Notes
        -----
        Exponents, families and links that were chosen by the rows are those of all rows, in every
        fold.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> round(GaussianNB().fit(x, y).kfold(x, y, folds=3).elpd, 3)
        -0.769
        """
        index, rows = self._learnt_rows(X, y, sample_weight, "kfold")
        fold = fold_of_rows(folds, rows.codes, rng)
        scores = self._pointwise(
            rows, k_fold(self.model_, rows, fold, scoring_rule(self, target), self.n_jobs), target
        )
        warn_undefined(scores.score)
        return results.elpd.elpd(scores, index, len(np.unique(fold)))

    def _left_out(self, rows: Rows, target: str, exponents: str = LEFT) -> Pointwise:
        """Return the scores of `loo`."""
        scores = self._pointwise(rows, leave_rows_out(self, rows, target, exponents), target)
        warn_undefined(scores.score)
        return scores

    def _pointwise(self, rows: Rows, joint: Array, target: str) -> Pointwise:
        """Return the scores of rows held out, beside those of the model that has seen them."""
        fitted = self._predictor().log_joint(
            rows.cells, scoring_rule(self, target).power, self.n_jobs
        )
        if target == "joint":
            joint, fitted = (
                self._predictor().with_base(table, rows.cells) for table in (joint, fitted)
            )
        held_out, seen = (label_scores(table, rows.codes, target) for table in (joint, fitted))
        return Pointwise(held_out, seen, rows.weight)

    def _weighted_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Rows]:
        """Return the names of labelled rows, and the rows.

        One of weight zero is left out, whatever its label.
        """
        table, cells = self._cells(X)  # of levels that are not declared `fit` has warned
        labels, weight = self._labelled(table, y, sample_weight)
        refuse_weightless(weight)
        keep = np.full(table.rows, True) if weight is None else weight > 0
        codes = np.zeros(table.rows, np.int64)
        codes[keep] = encode(labels[keep], self.classes_, NEVER)
        return table.index[keep], Rows(self.schema_.observers, cells, codes, weight).where(keep)

    def _learnt_rows(
        self, X: Any, y: Any, sample_weight: Any = None, needed_by: str | None = None
    ) -> tuple[Array, Rows]:
        """Return the names of rows that were learnt, and the rows.

        An error for others, or too few for `needed_by`.
        """
        table, rows, seen = self._observed_again(X, y, sample_weight)
        refuse_weightless(rows.weight)
        if needed_by is not None and not are_there(self.model_, rows).all():
            given = rows.counts.sum()
            learnt = self.model_.stats.classes.counts.sum()
            raise ValueError(
                f"{needed_by} needs all rows that the model has learnt from; some are missing: "
                f"given are {given:.12g} of {learnt:.12g}. Give all, or an estimator that is not "
                "fitted."
            )
        warn_unverified(self.model_, seen.classes.counts)
        return table.index, rows

    def _observed_again(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Table, Rows, ProductStats]:
        """Return rows that were learnt, and their stats; an error for others."""
        table, cells = self._read(X)
        labels, weight = self._labelled(table, y, sample_weight)
        self._predictor()  # an error, where what predicts is no distribution
        rows = Rows(self.schema_.observers, cells, encode(labels, self.classes_, NEVER), weight)
        seen = observe(
            rows if weight is None else rows.where(weight > 0), len(self.classes_), self.n_jobs
        )
        self.schema_.check_stats(cells, seen)
        self._check_covers(seen)
        return table, rows, seen

    def _check_covers(self, seen: ProductStats) -> None:
        """Raise for stats of rows that were not learnt."""
        if not self.model_.stats.covers(seen):
            raise ValueError(
                "these rows are not among those that the model has learnt from, so they cannot be "
                "left out of it. Give the rows, labels and sample_weight that it was fitted on, "
                "or an estimator that is not fitted."
            )


def scoring_rule(estimator: Any, target: str = "label", exponents: str = LEFT) -> PredictiveRule:
    """Return the estimate and the exponents under which rows are scored."""
    if target not in TARGETS:
        raise ValueError(f"target must be 'label' or 'joint', got {target!r}.")
    if exponents not in (LEFT, KEPT):
        raise ValueError(f"exponents must be 'left' or 'kept', got {exponents!r}.")
    if target == "joint":
        return PredictiveRule(estimator.estimate, estimator.fitted_.joint_exponents)
    covariance = estimator.fitted_.temper.covariance if exponents == LEFT else None
    return PredictiveRule(estimator.estimate, estimator.fitted_.exponents, covariance)


def leave_rows_out(
    estimator: Any, rows: Rows, target: str = "label", exponents: str = LEFT
) -> Array:
    """Return log p(x, y | all rows but this one), `(r, c)`.

    NaN where the others leave no distribution.
    """
    rule = scoring_rule(estimator, target, exponents)
    joint = leave_one_out(estimator.model_, rows, rule, n_jobs=estimator.n_jobs)
    refuse_stuck(find_stuck(estimator.model_, rows, joint))
    return joint


def describe_selection(estimator: Any, exponents: str = LEFT) -> str:
    """Return in words what rows chose, and which of it those that are held out leave.

    "" if they chose nothing.
    """
    covariance = estimator.fitted_.temper.covariance
    found = 0 if covariance is None else len(covariance)
    number = "exponent" if found == 1 else f"{found} exponents"
    kept = [number] if found and exponents == KEPT else []
    if estimator.schema_.choices:
        kept.append("families")
    if estimator.schema_.links is not None:
        kept.append("links")
    sentences = []
    if found and exponents == LEFT:
        sentences.append(f"Each row leaves the {number}, too, by one Newton step.")
    if kept:
        listed = " and ".join(filter(None, [", ".join(kept[:-1]), kept[-1]]))
        sentences.append(f"The {listed} were chosen by all rows and are kept.")
    return " ".join(sentences)


def refuse_stuck(dominant: Array) -> None:
    """Raise for rows that carry too much of their class for the stats to leave them out."""
    if dominant.any():
        raise ValueError(
            f"row {dominant.argmax()} cannot be taken back from its class by arithmetic: it has so "
            "much of the class's weight that too little would be left. The class's other rows "
            "must be counted again: give all rows that were learnt."
        )
