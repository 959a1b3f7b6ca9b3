"""What says how sure a prediction is: intervals of probabilities, and the two parts of their entropy."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.data import Table
from bayesnb.estimators.learnt import Learnt
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.entropies import drawn_entropies, entropies
from bayesnb.inference.intervals import TOLERANCES, drawn_intervals, intervals
from bayesnb.inference.posterior_draws import say_drawn

SHARED = 4000  # draws of a law in which classes share parameters
ROWS, METHODS = ("observed", "fixed"), (*TOLERANCES, "draws")


class Doubter(Learnt):
    """Everything is about the posterior, whatever `estimate` says; `temper_` is followed."""

    def predict_interval(
        self,
        X: Any,
        ci_prob: float | None = None,
        rows: str = "observed",
        method: str = "auto",
        *,
        draws: int = 4000,
        rng: Rng = None,
    ) -> Any:
        """Equal-tailed credible intervals of the class probabilities p(y | x, theta), theta being uncertain.

        Parameters
        ----------
        X : table of rows
        ci_prob : probability of the interval, default ArviZ's `rcParams["stats.ci_prob"]`
        rows : {"observed", "fixed"}
            "observed": x came from the population, and is itself evidence about theta; the law is that under
            p(theta | D, x), and its mean is `predict_proba`. "fixed": someone chose x, as on a grid; the law is that
            under p(theta | D), and its mean the average over the posterior.
        method : {"auto", "exact", "fast", "draws"}
            "exact" inverts the law's characteristic function. "fast" takes the first four cumulants, which are exact,
            while the error that this can make is below 0.02 on the probability scale, and "auto" while it is below
            0.001; what is left is done as in "exact". "draws" draws theta, for comparison.
        draws, rng : number of draws and a seed or numpy.random.Generator, for method="draws"

        Returns
        -------
        xarray.Dataset
            By (obs_id, class): `probability`, the mean of the law, `median`, `lower` and `upper`.

        Notes
        -----
        The mean of a skewed law can lie outside its interval; the median never does. Intervals hold if the model
        does: no interval knows that features depend on each other, see `temper`.

        Among three or more classes, ends below 1e-12 are orders of magnitude. And where someone chose a row so
        far out, or with levels of so little smoothing, that one class's score has endless tails, its law among three
        or more classes is drawn, with a `DrawnWarning`; "exact" refuses it. So is every row of three or more classes
        that have parameters in common, under `average_features` or `shared=True`, which "fast" refuses too; of two
        classes only where `average_features` meets a `class_prior` that is known. Under `average_features` "fast" is
        always refused: four cumulants do not tell how many hypotheses there are.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> found = model.predict_interval([[5.0]], ci_prob=0.9).isel(obs_id=0).sel({"class": "a"})
        >>> [round(float(found[name]), 3) for name in ("probability", "lower", "median", "upper")]
        [0.65, 0.177, 0.692, 0.981]
        """
        prob, observed = results.datasets.ci_prob(ci_prob), is_observed(rows)
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        if not isinstance(draws, Integral) or draws < 1:
            raise ValueError(f"draws must be a whole number, at least 1, got {draws!r}.")
        table, scores = self._scores(X)
        observers = self.schema_.observers if observed else None
        if method == "draws":
            law, _ = drawn_intervals(scores, observers, prob, int(draws), rng)
        elif not scores.belief.closed or (scores.belief.weighs and method == "fast"):
            self._refuse_shared(method)
            law, error = drawn_intervals(scores, observers, prob, SHARED, 0)
            say_drawn(len(scores), SHARED, error)
        else:
            law = intervals(scores, prob, observed, method, self.n_jobs)
        self._check_law(scores, law.median)
        named = {"probability": law.mean, "median": law.median, "lower": law.lower, "upper": law.upper}
        said = {"ci_prob": prob, "rows": rows, "method": method}
        return results.datasets.dataset(table.index, self.classes_, {}, named, said)

    def uncertainty(self, X: Any, rows: str = "observed") -> Any:
        """The entropy of each row's label, in nats, and its two parts: exact, without draws.

        Parameters
        ----------
        X : table of rows
        rows : {"observed", "fixed"}, as in `predict_interval`

        Returns
        -------
        xarray.Dataset
            By obs_id: `entropy` of `probability`; `aleatoric`, the expected entropy of p(y | x, theta), which more
            training does not take away; `epistemic`, their difference, the mutual information of label and
            parameters, which it does; `log_density`, how usual the row is. By (obs_id, class): `probability`.

        Notes
        -----
        Rows that `predict_interval` would draw are drawn here too, with a `DrawnWarning`.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> found = model.uncertainty([[1.0], [6.0]])
        >>> found.entropy.values.round(3).tolist(), found.epistemic.values.round(3).tolist()
        ([0.248, 0.693], [0.076, 0.166])
        """
        observed = is_observed(rows)
        table, scores = self._scores(X)
        if scores.belief.closed:
            found = entropies(scores, observed, self.n_jobs)
        else:
            found, error = drawn_entropies(scores, self.schema_.observers if observed else None, SHARED, 0)
            say_drawn(len(scores), SHARED, error)
        self._check_law(scores, found.aleatoric[:, None])
        by_row = {"entropy": found.entropy, "aleatoric": found.aleatoric, "epistemic": found.epistemic}
        by_row["log_density"] = self._log_density(scores.cells)
        by_class = {"probability": found.probability}
        return results.datasets.dataset(table.index, self.classes_, by_row, by_class, {"rows": rows})

    def log_density(self, X: Any) -> Array:
        """log p(x | D) of each row, `(r,)`: how usual it is, whatever its class. No temper enters."""
        _, cells = self._read(X)
        self.schema_.check_cells(cells)
        density = self._log_density(cells)
        self.schema_.tell_unseen(cells)
        return density

    def _log_density(self, cells: Sequence[Cells]) -> Array:
        return np.logaddexp.reduce(self._reader("predictive").log_joint(cells, 1.0, self.n_jobs), axis=1)

    def _scores(self, X: Any) -> tuple[Table, Scores]:
        table, cells = self._read(X)
        self._reader("predictive")  # an error where the posterior is no distribution
        return table, Scores(self.model_.posterior, cells, self.temper_)

    def _check_law(self, scores: Scores, numbers: Array) -> None:
        """Raise where a row's cells are bad, or it has no law, and its numbers are NaN; tell of unseen levels."""
        odd = ~np.isfinite(numbers).all(axis=1)
        if odd.any():
            self.schema_.check_cells(scores.cells)
            raise ValueError(
                f"row {odd.argmax()} has no law ({odd.sum()} such rows): it is impossible under some class, for which "
                "a level or a count was never seen and has no smoothing, or a number is out of all proportion. Use a "
                "smoothing above 0, and look at the row."
            )
        self.schema_.tell_unseen(scores.cells)

    @staticmethod
    def _refuse_shared(method: str) -> None:
        if method != "auto":
            raise ValueError(
                f"method={method!r} needs classes whose parameters are independent, and here they share some, under "
                "average_features or shared=True with three or more classes; two classes have 'exact' (under "
                "average_features if class_prior is not known), and under shared=True 'fast'. Use method='draws', or "
                "'auto', which finds what there is."
            )


def is_observed(rows: str) -> bool:
    """Whether rows came from the population, and are not someone's choice."""
    if rows not in ROWS:
        raise ValueError(f"rows must be 'observed' or 'fixed', got {rows!r}.")
    return rows == "observed"
