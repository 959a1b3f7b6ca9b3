"""Uncertainty of predictions from MCMC draws of theta.

    theta_s ~ p(theta | D)      p(y | x, D) = sum over s of w_s(x) p(y | x, theta_s)

A row observed from the population is evidence about theta, so it gives the draws weights; a row
chosen by someone is not.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy.special import xlogy

from bayesnb import results
from bayesnb.data import Table
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.prediction import ProbabilisticClassifier
from bayesnb.estimators.uncertainty import PredictiveUncertainty
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.inference.entropies import Entropies, split_entropy
from bayesnb.inference.intervals import Intervals
from bayesnb.mcmc.ensemble import thin
from bayesnb.mcmc.importance_weights import (
    ImportanceScores,
    effective,
    shares,
    warn_degenerate,
)
from bayesnb.model.product import Rows, normalise
from bayesnb.selection.leave_one_out import Pointwise

# rows, log weights of the draws `(s, r)`, and p(y | x, theta) `(s, r, c)`
Weighed = tuple[slice, Array, Array]
MAX_PROBABILITIES = 1 << 24  # probabilities held at once


class DrawsClassifier(PredictiveUncertainty, ProbabilisticClassifier):
    """Base of classifiers with distributions of p(y | x, theta) from draws of theta.

    Subclasses set `classes_`, `chains_` and `draws_` in `fit`; draws are chain after chain. They
    define `_joint`, `_refuse_row` and `_weighed`, and `_log_density` if rows have a density.
    """

    estimator_: NaiveBayes  # reads the columns
    datatree_: Any
    n_jobs: int | None = None
    _methods: ClassVar = {"auto": "draws", "draws": "draws"}
    chains_: int
    draws_: int  # per chain

    @abstractmethod
    def _joint(self, X: Any, warn: bool = True) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y) or log p(y | x) of every row and class, and the cells of the rows.

        With `warn`, it warns if few draws have any weight.
        """

    @abstractmethod
    def _weighed(self, cells: Sequence[Cells], observed: bool) -> Iterator[Weighed]:
        """Yield p(y | x, theta) of all draws, some rows at a time.

        Log weights are zeros unless rows were observed. At most `MAX_PROBABILITIES` at once.
        """

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        return self.estimator_._table(X, reset=reset)

    def _log_density(self, cells: Sequence[Cells]) -> Array | None:
        """log p(x | D), `(r,)`, or None if the model has no distribution of x."""
        return None

    @abstractmethod
    def _loo_scores(self, rows: Rows, target: str) -> ImportanceScores:
        """Leave-one-out scores of learnt rows, averaged over the draws."""

    def _score_left_out(self, rows: Rows, target: str) -> Pointwise:
        return self._loo_scores(rows, target).pointwise

    def _adopt(self, estimator: Any, *names: str) -> Self:
        """Copy attributes of a fitted estimator, replacing those of an earlier fit."""
        for name in names:
            self.__dict__.pop(name, None)
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _intervals(
        self, X: Any, prob: float, observed: bool, method: str, sampling: tuple[int | None, Rng]
    ) -> tuple[Array, Intervals]:
        if sampling != (None, None):
            raise ValueError(
                "draws and rng: the intervals of a sampled model use the draws of its chains. "
                "Leave both out."
            )
        mean, cells = self._mean(X)
        ends = np.empty((3, *mean.shape))
        levels = [0.5, (1 - prob) / 2, (1 + prob) / 2]
        for rows, share, proba in self._weighted(cells, observed):
            weights = np.broadcast_to(share[..., None], proba.shape)
            ends[:, rows] = np.quantile(
                proba, levels, axis=0, weights=weights, method="inverted_cdf"
            )
            if not observed:
                mean[rows] = proba.mean(axis=0)
        return self._table(X).index, Intervals(mean, *ends)

    def _entropies(self, X: Any, observed: bool) -> tuple[Array, Entropies, Array | None]:
        mean, cells = self._mean(X)
        aleatoric = np.empty(len(mean))
        for places, share, proba in self._weighted(cells, observed):
            aleatoric[places] = (share * -xlogy(proba, proba).sum(axis=-1)).sum(axis=0)
            if not observed:
                mean[places] = proba.mean(axis=0)
        return self._table(X).index, split_entropy(mean, aleatoric), self._log_density(cells)

    def draw_proba(self, X: Any, draws: int | None = None) -> "results.DataArray":
        """Return p(y | x, theta) for the draws of the chains.

        Their mean is the ensemble average, not ``predict_proba``: a new row is itself evidence
        about theta, which the draws leave out.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.
        draws : int or None, default=None
            Number of draws per chain, evenly spaced. None: all.

        Returns
        -------
        xarray.DataArray
            With dimensions (chain, draw, obs_id, class); ``obs_id`` is the index of the frame.
            Results above 2 GiB are refused.

        See Also
        --------
        predict_interval : Intervals of the class probabilities.
        """
        self._check_fitted()
        if draws is not None and (not isinstance(draws, Integral) or draws < 1):
            raise ValueError(f"draws must be None or a whole number, at least 1, got {draws!r}.")
        kept = thin(self.draws_, self.draws_ if draws is None else int(draws))
        plan = results.drawn_trees.DrawPlan(len(kept), self.chains_, None)
        mean, cells = self._mean(X)
        results.drawn_trees.refuse_probabilities(plan, *mean.shape)
        all_kept = (np.arange(self.chains_)[:, None] * self.draws_ + kept).ravel()
        probabilities = np.empty((plan.size, *mean.shape))
        for rows, _, proba in self._weighed(cells, False):
            probabilities[:, rows] = proba[all_kept]
        index = self._table(X).index
        attrs = results.drawn_trees.MCMC_ATTRS
        labelled = results.drawn_trees.label_probabilities(
            probabilities, plan, index, self.classes_, attrs
        )
        return labelled.assign_coords(draw=kept)

    def summary(self, var_names: Any = None, ci_prob: float | None = None) -> "results.TitledFrame":
        """Summarise the draws: means, intervals, and convergence diagnostics.

        Parameters
        ----------
        var_names : str, sequence of str or None, default=None
            The variables of ``datatree_`` to summarise. None: all, which takes seconds for
            thousands of entries.
        ci_prob : float or None, default=None
            The probability of an interval. None: ``arviz.rcParams["stats.ci_prob"]``, 0.89.

        Returns
        -------
        pandas.DataFrame
            One row for each entry of a variable: ``mean``, ``sd``, the ends of the interval,
            effective draws, ``r_hat``, and Monte Carlo errors, as in ``arviz.summary``.

        See Also
        --------
        bayesnb.NaiveBayes.summary : The columns of a model in closed form.
        """
        self._check_fitted()
        return results.drawn_trees.summarise(self.datatree_, var_names, ci_prob)

    def save(self, path: Any) -> NoReturn:
        """Raise a TypeError: a sampled model cannot be saved.

        Parameters
        ----------
        path : str or os.PathLike
            Not used.

        See Also
        --------
        bayesnb.NaiveBayes.save : Save a model in closed form.
        """
        raise TypeError(
            f"{type(self).__name__}: a sampled model cannot be saved, only one in closed form. "
            "Save the underlying estimator, fitted on the same rows, and the draws: "
            "datatree_.to_netcdf(...)."
        )

    def _mean(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """p(y | x, D) of every row, and the cells of the rows."""
        self._check_fitted()
        joint, cells = self._joint(X, warn=False)
        impossible = normalise(joint, True, self.n_jobs)
        if impossible >= 0:
            self._refuse_row(impossible, cells)
        return joint, cells

    def _weighted(self, cells: Sequence[Cells], observed: bool) -> Iterator[Weighed]:
        """Yield rows, the weight of each draw, and p(y | x, theta); warn if few draws have any
        weight.
        """
        counts = []
        for rows, log_weight, proba in self._weighed(cells, observed):
            counts.append(effective(log_weight))
            yield rows, shares(log_weight), proba
        if observed:
            warn_degenerate(np.concatenate(counts), self.chains_ * self.draws_)
