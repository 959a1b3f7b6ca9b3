"""Conformal prediction sets, which contain the true label with a given probability.

A label is in the set of a row if its conformity score is not among the lowest:

    p-value of c = (1 + #{i : s_i <= s(x, c)}) / (1 + n)       set {c : p-value > 1 - coverage}

s_i is the score of a training row with its own label, given all other rows. This is jackknife
conformal prediction (Vovk, Gammerman and Shafer 2005, Algorithmic learning in a random world). It
usually needs n refits; here it needs none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import fit_rows
from bayesnb.data import refuse_lazy
from bayesnb.estimators.base import read_rows
from bayesnb.estimators.cross_validation import (
    describe_selection,
    score_left_out,
    scoring_rule,
)
from bayesnb.families.base import Array
from bayesnb.model.product import normalise_log

DIGITS = 12  # to which 1 - coverage is rounded: in floating point 1 - 0.9 is less than 0.1


def prediction_sets(
    model: Any,
    X: Any,
    y: Any,
    class_conditional: bool = False,
    *,
    target: str = "label",
    sample_weight: Any = None,
) -> "PredictionSets":
    """Compute leave-one-out conformity scores, to predict sets of labels.

    A set contains the label of a new row with the requested probability, even if the model is
    misspecified, as long as new rows and training rows are exchangeable.

    Parameters
    ----------
    model : estimator
        If it is not fitted, it is fitted to these rows first; if it is, it must have been fitted to
        them.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    class_conditional : bool, default False
        Whether a label is compared only with the rows of its own class. Coverage is then the same
        in every class, but the sets are larger.
    target : {"label", "joint"}, default "label"
        What is compared, as in `NaiveBayes.loo`. "label": log p(y | x), which gives the smallest
        sets. "joint": log p(x, y), which is low if a row is unlike all rows of a class: the set is
        empty if the row does not belong to any class.
    sample_weight : array-like, optional
        The weights of the rows, as in `fit`. A row of weight w counts as w rows.

    Returns
    -------
    PredictionSets
        Its method `predict` returns the sets for new rows.

    See Also
    --------
    NaiveBayes.loo_proba : The held-out probabilities that are compared.
    NaiveBayes.decide : One action for each row, given the costs of errors.

    Notes
    -----
    The coverage is marginal, over all rows, not conditional on a row. It is that of the jackknife:
    approximately as requested, if leaving out one row changes little. Exponents are re-estimated
    without each row; families, links and the covariance are kept. In small tables this matters, and
    coverage is somewhat lower.

    If the accuracy of the model exceeds the coverage, the sets of the least certain rows are empty,
    because a set of one label for every row would cover too much. Ask for a larger coverage.

    Examples
    --------
    >>> from bayesnb import GaussianNB, prediction_sets
    >>> from bayesnb.datasets import penguins
    >>> table = penguins()
    >>> X, y = table[["bill_length_mm", "bill_depth_mm"]].to_numpy(), table["species"]
    >>> sets = prediction_sets(GaussianNB(), X, y)
    >>> sets.predict([[38.0, 18.5], [43.5, 18.0], [46.0, 17.0]], coverage=0.95)["set"].values
    array(['Adelie', 'Adelie|Chinstrap', 'Chinstrap|Gentoo'], dtype='<U16')
    """
    fitted = fit_rows(model, X, y, sample_weight)
    estimator = fitted.estimator
    scores = score_left_out(estimator, fitted.rows, target).score
    fitted.refuse_undefined(scores)
    codes = fitted.rows.codes
    counts = fitted.rows.counts
    ranks = [Ranks.of(scores, counts)] * len(estimator.classes_)
    if class_conditional:
        groups = [codes == c for c in range(len(ranks))]
        ranks = [Ranks.of(scores[group], counts[group]) for group in groups]
    return PredictionSets(estimator, target, class_conditional, tuple(ranks))


@dataclass(frozen=True, eq=False)
class Ranks:
    """Scores of rows in increasing order, and the weight of all rows up to each, `(r,)`."""

    scores: Array
    weight: Array

    @classmethod
    def of(cls, scores: Array, weight: Array) -> "Ranks":
        """Sort the scores of rows."""
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], np.concatenate([[0.0], np.cumsum(weight[order])]))

    def p_values(self, scores: Array) -> Array:
        """Return the share of rows, including the new one, with a score that is not higher."""
        worse = self.weight[np.searchsorted(self.scores, scores, side="right")]
        return (1 + worse) / (1 + self.weight[-1])


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Leave-one-out conformity scores of the training rows, from which sets are predicted.

    See Also
    --------
    prediction_sets : The function that returns it.

    Examples
    --------
    >>> from bayesnb import GaussianNB, prediction_sets
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> sets = prediction_sets(GaussianNB(), x, y)
    >>> sets.predict([[1.0], [6.0]], coverage=0.8)["set"].values.tolist()
    ['a', '']
    """

    estimator: Any
    target: str
    class_conditional: bool
    ranks: Sequence[Ranks]  # for each class, the scores that its label is compared with

    def predict(self, X: Any, coverage: float = 0.9) -> "results.Result":
        """Return the set of labels of each row.

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`.
        coverage : float, default 0.9
            The share of rows whose set contains their label.

        Returns
        -------
        xarray.Dataset
            By (obs_id, class): `p_value`, and `member`, whether the label is in the set: whether
            its p-value is above 1 - coverage. By obs_id: `set`, the labels as text, joined by "|".
            A set may be empty: for every label, too few training rows have a score as low.

        Raises
        ------
        ValueError
            For a coverage that is not between 0 and 1.

        See Also
        --------
        prediction_sets : The guarantee, and its assumptions.

        Examples
        --------
        >>> from bayesnb import GaussianNB, prediction_sets
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> sets = prediction_sets(GaussianNB(), x, y, target="joint")
        >>> sets.predict([[1.0], [100.0]], coverage=0.8)["member"].values.tolist()
        [[True, False], [False, False]]
        """
        if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
        refuse_lazy(X, "X")
        index, scores = self._score(X)
        pairs = zip(self.ranks, scores.T, strict=True)
        p_values = np.stack([ranks.p_values(column) for ranks, column in pairs], axis=1)
        attrs = {
            "coverage": float(coverage),
            "class_conditional": self.class_conditional,
            "target": self.target,
            "selection": describe_selection(self.estimator),
        }
        members = p_values > round(1 - float(coverage), DIGITS)
        return results.datasets.prediction_sets(
            index, self.estimator.classes_, p_values, members, attrs
        )

    def _score(self, X: Any) -> tuple[Array, Array]:
        """Return the names of rows, and the score of each label for them, `(r, c)`."""
        estimator = self.estimator
        table, cells = read_rows(estimator, X)
        rule = scoring_rule(estimator, self.target)
        model = estimator.model_.read(rule.kind)
        scores = model.log_joint(cells, rule.power, estimator.n_jobs)
        if self.target == "joint":
            return table.index, model.with_base(scores, cells)
        log_proba = normalise_log(scores)
        # a row that is impossible under every class has the lowest scores
        return table.index, np.where(np.isnan(log_proba), -np.inf, log_proba)
