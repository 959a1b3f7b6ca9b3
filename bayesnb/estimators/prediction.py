"""Labels, probabilities and decisions, computed from one score for each row and class."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb import results
from bayesnb.data import Table, is_lazy, refuse_lazy
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import quote
from bayesnb.inference.decision import check_abstain, decide, read_losses
from bayesnb.model.product import Rows, normalise
from bayesnb.numerics.row_kernels import most_probable
from bayesnb.selection.leave_one_out import Pointwise


def dask_room() -> Any:
    """Import the module for Dask. This is done lazily, because it depends on this package."""
    return import_module("bayesnb.scale.shards")


class PredictionMixin(ABC):
    """Predictions as in scikit-learn, and decisions, from log p(x, y) or log p(y | x)."""

    _doc_link_module = "bayesnb"
    _doc_link_template = ""
    classes_: Array
    n_jobs: int | None

    @abstractmethod
    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y), up to a constant for each row, `(r, c)`, and the cells of rows."""

    @abstractmethod
    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """Open a table in any container."""

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error if `fit` was not called yet."""
        check_is_fitted(self)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log of the class probabilities, log p(y | x, D).

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`. A missing cell is integrated out.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns are in the order of ``classes_``. A lazy array if X is a Dask collection.

        See Also
        --------
        predict_proba : The probabilities.

        Notes
        -----
        Everything is computed in logs, so probabilities far below 1e-308 keep full precision.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> model.predict_log_proba([[1.1]]).round(2)
        array([[-2.21, -0.12]])
        """
        return self._answer("predict_log_proba", X)

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities, p(y | x, D).

        Under ``estimate="predictive"`` this is the posterior predictive: all parameters are
        integrated out, jointly with the row, in closed form. A model sampled by MCMC averages over
        its draws.

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`: an array, a sparse matrix, a frame or a list of lists. A
            missing cell is integrated out. A cell with a level that did not occur in training is
            left out, with an ``UnseenLevelWarning``.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns are in the order of ``classes_``; each row sums to 1. A lazy array if X is a
            Dask collection.

        Raises
        ------
        ValueError
            For a row that has probability 0 under every class, as can happen with smoothing 0.

        See Also
        --------
        predict : The most probable labels.
        predict_interval : Intervals of the probabilities.
        decide : Actions under a loss.

        Notes
        -----
        Exponents in ``temper_`` are applied. The probabilities are not the mean of p(y | x, theta)
        over posterior draws, which does not let the row inform the parameters;
        ``predict_interval(X, rows="fixed")`` returns that.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> model.classes_.tolist()
        ['high', 'low']
        >>> model.predict_proba([[1.1], [2.9]]).round(2)
        array([[0.11, 0.89],
               [0.86, 0.14]])
        """
        return self._answer("predict_proba", X)

    def predict_proba_frame(self, X: Any) -> "results.DataFrame":
        """Return the class probabilities as a frame, with a column for each class.

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`, as in ``predict_proba``.

        Returns
        -------
        pandas.DataFrame
            The index is that of X, if X is a pandas frame; the columns are named by ``classes_``.

        See Also
        --------
        predict_proba : The same numbers as an array, as in scikit-learn.
        predict_interval : The probabilities with their intervals.

        Notes
        -----
        scikit-learn's ``set_output`` only affects the output of ``transform``.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> from bayesnb.datasets import penguins
        >>> table = penguins()
        >>> X = table[["bill_length_mm", "island"]]
        >>> model = NaiveBayes().fit(X, table["species"])
        >>> model.predict_proba_frame(X.loc[[0, 200]]).round(3)
        class  Adelie  Chinstrap  Gentoo
        0       1.000      0.000   0.000
        200     0.018      0.001   0.981
        """
        refuse_lazy(X, "X")
        return results.tables.table_of_classes(X, self.predict_proba(X), self.classes_)

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row.

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`. A missing cell is integrated out.

        Returns
        -------
        array of shape (n_rows,)
            Labels from ``classes_``; of equally probable ones, the first. A lazy array if X is a
            Dask collection.

        See Also
        --------
        predict_proba : The class probabilities.
        decide : Actions under a loss, if errors have different costs.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> model.predict([[1.1], [2.9]]).tolist()
        ['low', 'high']
        """
        return self._answer("predict", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the weighted share of rows whose most probable label is correct.

        Parameters
        ----------
        X : table
            The rows to predict.
        y : array-like
            Their labels.
        sample_weight : array-like or None, default=None
            Their weights.

        Returns
        -------
        float
            Between 0 and 1.

        See Also
        --------
        predict : The labels.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
        >>> GaussianNB().fit(x, y).score(x, y)
        1.0
        """
        if is_lazy(X):
            return dask_room().score(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)  # type: ignore[misc]  # ClassifierMixin's

    def _answer(self, method: str, X: Any) -> Array:
        """Return a method's predictions; of a lazy table they are lazy."""
        if is_lazy(X):
            return dask_room().answer(method, self, X)
        answer, cells = self._joint(X)
        if method == "predict":
            best, impossible = most_probable(answer)
            answer = self.classes_[best]
        else:
            impossible = normalise(answer, method == "predict_proba", self.n_jobs)
        if impossible >= 0:
            self._refuse_row(impossible, cells)
        return answer

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        """Raise for a row without probabilities: a cell is invalid, or all classes exclude it."""
        reader: Any = getattr(self, "estimator_", self)  # of a sampled model
        reader.schema_.check_cells(cells)
        never = []
        parts = zip(reader.schema_.blocks, reader._predictor().blocks, cells, strict=True)
        for block, part, x in parts:
            if block.family.combined and np.isneginf(part.score(x[[row]])).all():
                never.append(quote(block.keys[0]))
        why = f" No training row is like it in the columns {', '.join(never)}." if never else ""
        raise ValueError(
            f"row {row} is impossible under every class: its probabilities are 0/0.{why} This "
            "happens without smoothing, as in the MLE, or in the MAP under Dirichlet(1). Use "
            "smoothing, or estimate='predictive'."
        )

    def decide(self, X: Any, loss: Any = None, abstain: float | None = None) -> "results.Result":
        """Choose for each row the action with the least expected loss under ``predict_proba``.

        Parameters
        ----------
        X : table of rows
            With the columns seen in `fit`.
        loss : None, dict, pandas.DataFrame or array, default=None
            None: actions are the labels, and each error costs 1. Otherwise ``{action: {label:
            loss}}``; a frame, with labels as index and actions as columns; or an array ``(class,
            action)``, with rows in the order of ``classes_``. Its actions are the labels if there
            are equally many, otherwise 0, 1, ... A loss can be negative, a gain, or infinite: such
            an action is chosen only if the class has probability 0.
        abstain : float or None, default=None
            The cost of abstaining. The model abstains if this is less than the expected loss of
            every action.

        Returns
        -------
        xarray.Dataset
            By ``obs_id``: ``action``, the first of several equally good ones, None if the model
            abstains; ``expected_loss``, or the cost of abstaining; ``abstained``. By ``(obs_id,
            choice)``: ``loss``, the expected loss of every action.

        See Also
        --------
        predict : The most probable labels: the decision if all errors cost the same.
        predict_proba : The probabilities that weight the losses.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> degrees = [[36.5], [36.7], [36.8], [38.9], [39.4]]
        >>> model = GaussianNB().fit(degrees, ["well", "well", "well", "ill", "ill"])
        >>> loss = {"send home": {"ill": 20, "well": 0}, "keep": {"ill": 1, "well": 2}}
        >>> model.decide([[36.6], [37.5]], loss)["action"].values.tolist()
        ['send home', 'keep']
        >>> model.predict([[36.6], [37.5]]).tolist()
        ['well', 'well']
        """
        self._check_fitted()
        table = self._table(X)
        nested = results.tables.to_nested_dict(loss)
        actions, losses = read_losses(nested, self.classes_.tolist())
        cost = check_abstain(abstain)
        choices = decide(self.predict_proba(table.native), losses, cost)
        return results.datasets.decisions(table.index, actions, choices, cost)


class ProbabilisticClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """Base of classifiers in other packages that are not a product of beliefs."""

    @abstractmethod
    def _score_left_out(self, rows: Rows, target: str) -> Pointwise:
        """Return the leave-one-out scores of training rows."""


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise for an argument that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}.")


def check_columns(estimator: Any, heading: Any) -> None:
    """Raise scikit-learn's errors for columns other than those of `fit`, before reading."""
    check_is_fitted(estimator)
    validate_data(estimator, heading, reset=False, skip_check_array=True)
