"""Conformal prediction sets, which contain the true label with a given probability.

A label is in the set of a row if its conformity score is not among the lowest:

    p-value of c = (1 + #{i : s_i <= s(x, c)}) / (1 + n)       set {c : p-value > 1 - coverage}

s_i is the score of a row that was learnt and its own label, by the model of all other rows. That is
the jackknife of conformal prediction (Vovk, Gammerman and Shafer 2005, Algorithmic learning in a
random world). Usually it takes n refits; here it takes none.
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

DIGITS = 12  # of the share that is missed: 1 - 0.9 is less than 0.1 by rounding


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

    A set contains the label of a new row with the requested probability, also if the model is
    misspecified, as long as new rows and training rows are exchangeable.

    Parameters
    ----------
    model : estimator
        One that is not fitted is fitted to these rows first; one that is fitted must have learnt
        these rows.
    X : table of rows
        The rows that were learnt.
    y : array-like
        Their labels.
    class_conditional : bool, default False
        Whether a label is compared only with the rows of its own class. Coverage is then the same
        in every class, but the sets are larger.
    target : {"label", "joint"}, default "label"
        What is compared, as in `NaiveBayes.loo`. "label": log p(y | x); the sets are the smallest
        that way. "joint": log p(x, y), which is low where a row is unlike all rows of a class:
        sets of rows that are of none of the classes are empty.
    sample_weight : array-like, optional
        The weights of the rows, as they were learnt. A row of weight w counts as w rows.

    Returns
    -------
    PredictionSets
        Its `predict` returns the sets of new rows.

    See Also
    --------
    NaiveBayes.loo_proba : The held-out probabilities that are compared.
    NaiveBayes.decide : One action for each row, by what errors cost.

    Notes
    -----
    The coverage is marginal, over all rows, and not conditional on a row. It is that of the
    jackknife: approximately as requested, if leaving out one row changes little. Exponents are left
    by each row; families, links and the covariance are kept, and where a table is small, so that
    these matter, the sets hold the label somewhat less often.

    Where the model is right more often than the coverage, sets of the least certain rows are empty:
    that is how a share of rows is missed where no label is in doubt. Ask for a larger coverage.

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
        """Return the share of the rows, the new one among them, that fit no better."""
        worse = self.weight[np.searchsorted(self.scores, scores, side="right")]
        return (1 + worse) / (1 + self.weight[-1])


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """How well held-out rows fit their labels, by which sets of labels are found.

    See Also
    --------
    prediction_sets : Makes it.

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
    ranks: Sequence[Ranks]  # with which the label of each class is compared

    def predict(self, X: Any, coverage: float = 0.9) -> "results.Result":
        """Return the set of labels of each row.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.
        coverage : float, default 0.9
            The share of rows whose set holds their label.

        Returns
        -------
        xarray.Dataset
            By (obs_id, class): `p_value`, and `member`, whether the label is in the set: whether
            its p-value is above 1 - coverage. By obs_id: `set`, the labels in words, joined by
            "|". A set may be empty: of the rows learnt, too few fit any label as badly.

        Raises
        ------
        ValueError
            For a coverage that is not between 0 and 1.

        See Also
        --------
        prediction_sets : What the sets promise, and when.

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
        """Return the names of rows and how well each label fits them, `(r, c)`."""
        estimator = self.estimator
        table, cells = read_rows(estimator, X)
        rule = scoring_rule(estimator, self.target)
        model = estimator.model_.read(rule.kind)
        scores = model.log_joint(cells, rule.power, estimator.n_jobs)
        if self.target == "joint":
            return table.index, model.with_base(scores, cells)
        log_proba = normalise_log(scores)
        # a row that no class can have fits none of them
        return table.index, np.where(np.isnan(log_proba), -np.inf, log_proba)
