"""What answers: labels, probabilities and decisions, all from one number for each row and class."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb import results
from bayesnb.data import Table, is_lazy, nested
from bayesnb.families.base import Array, Cells
from bayesnb.inference.decision import Losses, checked_abstain, decide
from bayesnb.integrations import dask_tables
from bayesnb.integrations.dask_tables import by_partition
from bayesnb.model.product import Rows, normalise
from bayesnb.selection.leave_one_out import Pointwise


class Answering(ClassifierMixin, BaseEstimator):
    """The predictions that scikit-learn knows, and decisions; a subclass knows log p(x, y), or log p(y | x)."""

    _doc_link_module, _doc_link_template = "bayesnb", ""
    classes_: Array
    n_jobs: int | None

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """log p(x, y) of every row and class, up to what all classes share, and the cells that it is of."""
        raise AssertionError("a subclass answers")

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        """Say why a row has no answer."""
        raise AssertionError("a subclass knows why")

    def _learnt_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Rows]:
        """Rows that were learnt from, and their names; an error for any others."""
        raise AssertionError("a subclass knows its rows")

    def _left_out(self, rows: Rows, target: str) -> Pointwise:
        """How well every row is predicted from all other rows."""
        raise AssertionError("a subclass scores rows")

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """The table behind whatever the user has."""
        raise AssertionError("a subclass reads tables")

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error where `fit` was not called yet."""
        check_is_fitted(self)

    def _on_one_thread(self) -> Self:
        """A copy for one worker of many, which stays as it is when this one learns more."""
        own = copy(self)
        own.n_jobs = 1
        return own

    def _check_columns(self, heading: Any) -> None:
        """Raise scikit-learn's errors for columns that are not those of `fit`, before any row is read."""
        self._check_fitted()
        validate_data(self, heading, reset=False, skip_check_array=True)

    @by_partition
    def predict_log_proba(self, X: Any) -> Array:
        """log p(y | x)."""
        return self._normalised(X, proba=False)

    @by_partition
    def predict_proba(self, X: Any) -> Array:
        """p(y | x, D): every parameter is integrated out, in closed form or as the mean over what was sampled."""
        return self._normalised(X, proba=True)

    @by_partition
    def predict(self, X: Any) -> Array:
        """The most probable label of each row."""
        joint, cells = self._joint(X)
        best = joint.argmax(axis=1)
        odd = ~np.isfinite(joint[np.arange(len(best)), best])
        if odd.any():
            self._refuse_row(int(odd.argmax()), cells)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows, by their weights, whose most probable label is their own."""
        if is_lazy(X):
            return dask_tables.accuracy(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def _right(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The weight of rows that are labelled right, and of all."""
        weight = np.ones(len(y)) if sample_weight is None else np.broadcast_to(sample_weight, len(y))
        if not weight.any():
            return 0.0, 0.0
        right = accuracy_score(y, self.predict(X), normalize=False, sample_weight=weight)
        return float(right), float(weight.sum())

    def _normalised(self, X: Any, *, proba: bool) -> Array:
        joint, cells = self._joint(X)
        odd = normalise(joint, proba, self.n_jobs)
        if odd >= 0:
            self._refuse_row(odd, cells)
        return joint

    def decide(self, X: Any, loss: Any = None, abstain: float | None = None) -> Any:
        """Choose for each row the action with the least expected loss under `predict_proba`.

        Parameters
        ----------
        X : table of rows
        loss : None, {action: {label: loss}}, pandas frame (index: labels, columns: actions), or array (class, action)
            None: actions are the labels, and each error costs 1. An array's rows are in the order of `classes_`; its
            actions are the labels where there are as many, else 0, 1, ... A loss may be negative, which is a gain,
            or infinite, never to be risked; for a class of probability 0 even that is no risk.
        abstain : None, or what it costs not to decide
            A row is left undecided where that costs less than every action.

        Returns
        -------
        xarray.Dataset
            By obs_id: `action`, of several equally good ones the first, None where undecided; `expected_loss`, and
            where undecided the cost of that; `abstained`. By (obs_id, choice): `loss`, expected of every action.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[36.5], [36.7], [36.8], [38.9], [39.4]], ["well", "well", "well", "ill", "ill"])
        >>> loss = {"send home": {"ill": 20, "well": 0}, "keep": {"ill": 1, "well": 2}}
        >>> model.decide([[36.6], [37.5]], loss)["action"].values.tolist()
        ['send home', 'keep']
        >>> model.predict([[36.6], [37.5]]).tolist()
        ['well', 'well']
        """
        self._check_fitted()
        table = self._table(X)
        losses, cost = Losses.of(nested(loss), self.classes_.tolist()), checked_abstain(abstain)
        made = decide(self.predict_proba(table.native), losses.loss, cost)
        return results.datasets.decisions(table.index, losses.actions, made, cost)
