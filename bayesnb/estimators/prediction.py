"""Labels, probabilities and decisions, all from one number for each row and class."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, NoReturn, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb import results
from bayesnb.data import Table, nested
from bayesnb.families.base import Array, Cells
from bayesnb.inference.decision import Losses, checked_abstain, decide
from bayesnb.model.product import most_probable, normalise


class PredictionMixin(ABC):
    """The predictions that scikit-learn knows, and decisions: for whatever has log p(x, y), or log p(y | x)."""

    _doc_link_module, _doc_link_template = "bayesnb", ""
    classes_: Array
    n_jobs: int | None

    @abstractmethod
    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y) of every row and class, up to what all classes share, and the cells of the rows."""

    @abstractmethod
    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        """Raise for a row that no class can have."""

    @abstractmethod
    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """Open a table of any container."""

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error where `fit` was not called yet."""
        check_is_fitted(self)

    def _check_columns(self, heading: Any) -> None:
        """Raise scikit-learn's errors for columns that are not those of `fit`, before any row is read."""
        check_is_fitted(self)
        validate_data(self, heading, reset=False, skip_check_array=True)

    def _on_one_thread(self) -> Self:
        """Return a copy for one worker of many, which stays as it is when this one learns more."""
        worker = copy(self)
        worker.n_jobs = 1
        return worker

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y | x, D), `(r, c)`."""
        return self._probabilities(X, proba=False)

    def predict_proba(self, X: Any) -> Array:
        """Return p(y | x, D), `(r, c)`: all parameters integrated out, in closed form or as the mean over draws."""
        return self._probabilities(X, proba=True)

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row."""
        joint, cells = self._joint(X)
        best, impossible = most_probable(joint, self.n_jobs)
        if impossible >= 0:
            self._refuse_row(impossible, cells)
        return self.classes_[best]

    def _probabilities(self, X: Any, *, proba: bool) -> Array:
        joint, cells = self._joint(X)
        impossible = normalise(joint, proba, self.n_jobs)
        if impossible >= 0:
            self._refuse_row(impossible, cells)
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
        choices = decide(self.predict_proba(table.native), losses.loss, cost)
        return results.datasets.decisions(table.index, losses.actions, choices, cost)


class ProbabilisticClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """An estimator of scikit-learn's that predicts, for models of other rooms, which are no product of beliefs."""
