"""How sure a prediction is: intervals of probabilities, parts of their entropy, and draws."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb import results
from bayesnb.data import Table, is_lazy
from bayesnb.data.columns import encode
from bayesnb.estimators.base import ModelHolder, check_labels, predictor, read_rows
from bayesnb.estimators.prediction import check_choice, dask_room
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.inference.class_scores import Scores, scores_of
from bayesnb.inference.entropies import Entropies, draw_entropies, entropies
from bayesnb.inference.intervals import (
    TOLERANCES,
    Intervals,
    draw_intervals,
    find_heavy,
    find_smooth,
    intervals,
)
from bayesnb.inference.posterior_draws import FALLBACK_DRAWS, warn_drawn
from bayesnb.inference.row_sampling import draw_codes, draw_table
from bayesnb.inference.two_classes import too_heavy
from bayesnb.model.product import normalise

# of theta, where a user gives no number, and for a distribution without a closed form, or with
# tails too heavy for it
SHARED_DRAWS = 4000
ROWS = ("observed", "fixed")
INTERVAL = ("probability", "median", "lower", "upper")


class PredictiveUncertainty(ABC):
    """Intervals and entropies of rows, of models in closed form and of sampled ones."""

    classes_: Array
    # how intervals are computed: by the name that a user gives
    _methods: ClassVar[Mapping[str, str]]

    @abstractmethod
    def _intervals(
        self, X: Any, prob: float, observed: bool, method: str, sampling: tuple[int | None, Rng]
    ) -> tuple[Array, Intervals]:
        """Return the names of the rows, and their intervals.

        `sampling` is how many draws to take, and by what.
        """

    @abstractmethod
    def _entropies(self, X: Any, observed: bool) -> tuple[Array, Entropies, Array | None]:
        """Return the names of the rows, their entropies, and log p(x | D) if the model has it."""

    def predict_interval(
        self,
        X: Any,
        ci_prob: float | None = None,
        rows: str = "observed",
        method: str = "auto",
        *,
        draws: int | None = None,
        rng: Rng = None,
    ) -> "results.Result":
        """Return equal-tailed credible intervals of the class probabilities p(y | x, theta).

        Parameters
        ----------
        X : table of rows
            The rows to predict.
        ci_prob : float, optional
            The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.
        rows : {"observed", "fixed"}, default "observed"
            "observed": x came from the population, and is itself evidence about theta: the
            distribution is that under p(theta | D, x), and its mean is `predict_proba`. "fixed":
            someone chose x, as on a grid: the distribution is that under p(theta | D), and its mean
            the average over the posterior.
        method : {"auto", "exact", "fast", "draws"}, default "auto"
            "exact" inverts the characteristic function. "fast" takes the first four cumulants,
            which are exact, while the error that this can make is below 0.02 on the probability
            scale, and "auto" while it is below 0.001; what is left is done as in "exact". "draws"
            draws theta, for comparison. A sampled model has no characteristic function: its "auto"
            and "draws" take the draws of its chains.
        draws : int, optional
            The number of draws for method="draws", by default 4000. A sampled model has the draws
            of its chains, so it refuses this and `rng`.
        rng : int, numpy.random.Generator or None
            For method="draws".

        Returns
        -------
        xarray.Dataset
            By (obs_id, class): `probability`, the mean, `median`, `lower` and `upper`. It shows
            itself as a table, and its `to_frame` has a row for each (obs_id, class).

        See Also
        --------
        NaiveBayes.uncertainty : The entropy of each label, in two parts.
        NaiveBayes.predict_proba : The mean alone, faster.

        Notes
        -----
        The mean of a skewed distribution can lie outside its interval; the median never does.
        Intervals hold if the model does: no interval knows that features depend on each other, see
        `temper`.

        Among three or more classes, ends below 1e-12 are orders of magnitude. And where someone
        chose a row so far out, or with levels of so little smoothing, that one class's score has
        endless tails, the row is drawn among three or more classes, with a `DrawnWarning`; "exact"
        refuses it. So is every row of three or more classes that have parameters in common, under
        `shared=True`, which "fast" refuses too. Rows of which only Histogram columns are known are
        drawn, and refused, where the `class_prior` is known and all classes may have one
        distribution: nothing may be unknown of them.

        Of a sampled model ends are quantiles of its draws, weighted where the row was observed, and
        as noisy as those are; a row that leaves few draws with any weight raises a
        `DegenerateWarning`.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> intervals = model.predict_interval([[5.0]], ci_prob=0.9)
        >>> of_a = intervals.isel(obs_id=0).sel({"class": "a"})
        >>> [round(float(of_a[name]), 3) for name in ("probability", "lower", "median", "upper")]
        [0.65, 0.177, 0.692, 0.981]
        """
        prob = results.datasets.ci_prob(ci_prob)
        check_choice("rows", rows, ROWS)
        check_choice("method", method, self._methods)
        if draws is not None:
            results.drawn_trees.DrawPlan(draws, 1, rng)  # an error, unless it is a whole number
        index, result = self._intervals(X, prob, rows == "observed", method, (draws, rng))
        by_class = dict(zip(INTERVAL, result, strict=True))
        attrs = {"ci_prob": prob, "rows": rows, "method": self._methods[method]}
        return results.datasets.prediction_intervals(index, self.classes_, by_class, attrs)

    def uncertainty(self, X: Any, rows: str = "observed") -> "results.Result":
        """Return the entropy of each row's label, in nats, and its two parts.

        Parameters
        ----------
        X : table of rows
            The rows to predict.
        rows : {"observed", "fixed"}, default "observed"
            As in `predict_interval`.

        Returns
        -------
        xarray.Dataset
            It shows itself as a table, and its `to_frame` has a row for each row of `X`. By obs_id:
            `entropy` of `probability`; `aleatoric`, the expected entropy of p(y | x, theta), which
            more training does not take away; `epistemic`, their difference, the mutual information
            of label and parameters, which it does, and which is never negative; `log_density`, how
            usual the row is, where the model says so. By (obs_id, class): `probability`.

        See Also
        --------
        plot_uncertainty : Both parts as bars.
        NaiveBayes.predict_interval : Intervals of the class probabilities.

        Notes
        -----
        Exact, without draws, but of a sampled model; rows that `predict_interval` would draw are
        drawn here too, with a `DrawnWarning`.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> parts = model.uncertainty([[1.0], [6.0]])
        >>> parts.entropy.values.round(3).tolist(), parts.epistemic.values.round(3).tolist()
        ([0.248, 0.693], [0.076, 0.166])
        """
        check_choice("rows", rows, ROWS)
        index, result, density = self._entropies(X, rows == "observed")
        by_row = result._asdict()
        by_class = {"probability": by_row.pop("probability")}
        if density is not None:
            by_row["log_density"] = density
        return results.datasets.label_uncertainty(index, self.classes_, by_row, by_class, rows)


class UncertaintyMixin(PredictiveUncertainty, ModelHolder):
    """What the posterior says of rows, whatever `estimate` is; `temper_` is followed."""

    _methods: ClassVar = {method: method for method in (*TOLERANCES, "draws")}

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y): every parameter integrated out, or plugged in as `estimate` says.

        Parameters
        ----------
        X : table of rows
            The rows to score.

        Returns
        -------
        numpy.ndarray of shape (rows, classes)
            In the order of `classes_`. A softmax of each row is `predict_proba`.

        See Also
        --------
        NaiveBayes.predict_log_proba : The log probability of each class, log p(y | x).
        NaiveBayes.log_density : The log density of each row, log p(x).

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
        >>> model.predict_joint_log_proba([[1, 1]]).round(2)
        array([[-1.49, -2.42]])
        """
        if is_lazy(X):
            return dask_room().answer("predict_joint_log_proba", self, X)
        joint, cells = self._joint(X)
        if not np.isfinite(joint).all():
            self.schema_.check_cells(cells)
        return self._predictor().with_base(joint, cells, self.fitted_.exponents)

    def log_density(self, X: Any) -> Array:
        """Return log p(x | D), which tells how usual each row is, whatever its class.

        No temper enters.

        Parameters
        ----------
        X : table of rows
            The rows to score.

        Returns
        -------
        numpy.ndarray of shape (rows,)
            The log density of each row, in nats. The lower it is, the more unusual is the row.

        See Also
        --------
        NaiveBayes.uncertainty : The entropy of the label, beside `log_density`.

        Notes
        -----
        With links between columns it is that of the forest. Over rows of levels and flags without a
        missing cell it sums to 1 as long as those learnt had none either; else, and over numbers,
        to within some percent, as a link knows a column by counts on a few levels, and not by the
        column's density.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb"))
        >>> model.log_density([[1.0], [100.0]]).round(1)
        array([ -2.9, -16.7])
        """
        _, cells = read_rows(self, X)
        self.schema_.check_cells(cells)
        return self._log_density(cells)

    def sample(
        self, n: int, y: Any = None, *, length: Any = None, rng: Rng = None
    ) -> tuple[Any, Array]:
        """Draw new rows and their labels from the posterior predictive, as a table.

        Every row has parameters of its own, drawn from the posterior: rows are independent given
        the data, and each is an exact draw of the row to come next. `temper` and `estimate` play no
        part.

        Parameters
        ----------
        n : int
            The number of rows.
        y : label or array-like, optional
            One label, or one for each row. By default the labels are drawn too, from the posterior
            predictive of the class.
        length : int or array-like, optional
            How many words a row of a `Multinomial` block has, in every such block. By default it is
            drawn: a Poisson count, with a rate that is learnt from the words and rows of each class
            as `Poisson()` would. Real texts' lengths vary more than that; where it matters, give
            them.
        rng : int, numpy.random.Generator or None
            The source of randomness.

        Returns
        -------
        X : pandas.DataFrame, or an array where an array was fitted
            A frame has the names of the columns, in their order; `polars.from_pandas(X)` makes one
            of polars of it. An array also for a list of lists; CSR for a sparse table; lists of
            words for such, in a random order.
        y : numpy.ndarray of shape (n,)
            The labels of the rows, from `classes_`.

        See Also
        --------
        NaiveBayes.to_datatree : Draws of the parameters, and labels of rows that are there.
        NaiveBayes.draw_proba : Draws of the class probabilities of given rows.

        Notes
        -----
        Columns hold numbers, flags (booleans) or levels, as those that were fitted: real numbers
        are floats, counts integers. Columns without a family (None) are absent. No cell is missing,
        but for the level that `unseen="reserve"` keeps for whatever is new. Under a `Bernoulli`
        with a threshold, a one is some number above it. With `fractional=True` too the rows hold
        whole counts: of other numbers the family has no distribution.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> from bayesnb.datasets import dogs
        >>> table = dogs()
        >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
        >>> rows, labels = model.sample(3, "Labradoodle", rng=1)
        >>> rows.dtypes.astype(str).to_dict()
        {'height': 'float64', 'weight': 'float64', 'curled_tail': 'bool'}
        >>> labels.tolist()
        ['Labradoodle', 'Labradoodle', 'Labradoodle']
        """
        check_is_fitted(self)
        rng = np.random.default_rng(rng)
        log_class = predictor(self.fitted_).log_class
        codes = draw_codes(n, y, self.classes_, np.exp(log_class), rng)
        return draw_table(self.schema_, self.model_, codes, length, rng), self.classes_[codes]

    def draw_proba(
        self, X: Any, draws: int = 1000, *, chains: int = 4, rng: Rng = None
    ) -> "results.DataArray":
        """Draw class probabilities p(y | x, theta), with theta from the posterior.

        Their mean is the ensemble average, not `predict_proba`: a row to come is itself evidence
        about theta, which the draws leave out.

        Parameters
        ----------
        X : table of rows
            The rows to predict.
        draws : int, default 1000
            The number of draws of each chain.
        chains : int, default 4
            The number of chains, which only ArviZ's functions need: all draws are exact and
            independent.
        rng : int, numpy.random.Generator or None
            A seed draws the same theta whatever the rows are, and the same as in `to_datatree`.

        Returns
        -------
        xarray.DataArray
            (chain, draw, obs_id, class); `obs_id` is the frame's index.

        See Also
        --------
        NaiveBayes.predict_interval : Intervals of the same distribution, without draws.
        NaiveBayes.to_datatree : Draws of the parameters.

        Notes
        -----
        The features' part is scaled by `temper_`, and links between columns are drawn too;
        `estimate` plays no part. A class of probability 0 keeps it. What would take more than 2 GiB
        is refused beforehand.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> p = model.draw_proba([[2.0]], rng=1)
        >>> dict(p.sizes)
        {'chain': 4, 'draw': 1000, 'obs_id': 1, 'class': 2}
        """
        plan = results.drawn_trees.DrawPlan(draws, chains, rng, self.n_jobs)
        return results.drawn_trees.probabilities(self.fitted_, self._rows_to_draw(X), plan)

    def to_datatree(
        self,
        X: Any = None,
        y: Any = None,
        draws: int = 1000,
        chains: int = 4,
        *,
        rng: Rng = None,
        groups: Any = None,
        held_out: bool = False,
    ) -> "results.DataTree":
        """Draw from the posterior into ArviZ's groups, for its summaries, plots and checks.

        Parameters
        ----------
        X : table of rows, optional
            The rows learnt from, with their labels, for checks of the model; without labels, rows
            to predict.
        y : array-like, optional
            The labels of the rows.
        draws : int, default 1000
            The number of draws of each chain.
        chains : int, default 4
            The number of chains, which only ArviZ's functions need: all draws are exact and
            independent.
        rng : int, numpy.random.Generator or None
            The source of randomness.
        groups : sequence of str, optional
            The names of the groups, by default all that there can be.
        held_out : bool, default False
            Whether labels in `posterior_predictive` are drawn from `loo_proba`, the probabilities
            of each row by all others, and not from those of a model that has seen the row. Then X
            and y are the rows that were learnt.

        Returns
        -------
        xarray.DataTree
            `posterior`, `prior` : `class_prob` (class); `mu` and `sigma2`, `rate`, and `theta` of
            flags or words (class, feature); `theta_<column>` (class, <column>_level). `log_prior` :
            log p(theta) under the same names, that of `mu` given `sigma2`; one number for each
            Dirichlet. `log_likelihood` : of both kinds (obs_id). `y`, log p(y | x, theta), what
            classifiers are compared by: ``az.loo(tree, var_name="y")`` approximates `loo`. `row`,
            log p(x, y | theta), in which the model is generative; never tempered, and what
            ``az.psense_summary`` takes: ``likelihood_var_names="row"``. `posterior_predictive` :
            `p` (obs_id, class), p(y | x, theta), `y`, labels drawn from it, and each column of X,
            drawn from p(x | y, theta), y the label observed. `prior_predictive` : `y` and columns
            likewise. `observed_data` : `y` and the columns of X. Labels are places in the
            coordinate `class`, and levels places among those of the column. `predictions`, where
            there are no labels : `p` and `y`. `constant_data` : the columns of X, and `class_prob`,
            where it is given and so not drawn. Attributes of the groups say which is which.

        See Also
        --------
        NaiveBayes.draw_proba : Draws of the class probabilities alone.
        NaiveBayes.sample : New rows and labels.
        NaiveBayes.loo : Exact leave-one-out, which needs no draws.

        Notes
        -----
        Where several families have columns, the axis `feature` becomes `<family>_feature`; where
        both flags and words have a `theta`, it becomes `bernoulli_theta` and `multinomial_theta`.
        An improper prior cannot be drawn: `prior` and `log_prior` are left out, which the tree's
        attributes say, and are an error in `groups`. Links between columns, see `links_`, are drawn
        as well, and are in the predictions and, those of the forest, in the likelihood `row`; the
        parameters that are shown, and `log_prior`, are of the columns alone. The closed form of the
        posterior is in `posterior_`. Labels other than numbers, booleans, dates and text become
        text. What would take more than 2 GiB is refused; `p` and columns of `posterior_predictive`
        are left out where they would take more than half a GiB, which the tree's attributes say.
        Columns of words, and those of sparse tables, are not drawn again.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> tree = model.to_datatree(rng=1)
        >>> sorted(tree.children)
        ['log_prior', 'posterior', 'prior']
        >>> tree["posterior"]["mu"].dims
        ('chain', 'draw', 'class', 'feature')
        """
        check_is_fitted(self)
        if X is None and y is not None:
            raise ValueError("y was given without X. Give the rows that have these labels.")
        predictor(self.fitted_)  # an error, where the posterior is no distribution
        if held_out and y is None:
            raise ValueError("held_out=True needs X and y, the rows that were learnt.")
        sheet = None if X is None else self._rows_to_draw(X, y)
        if held_out:
            proba = self.loo_proba(X, y).values  # type: ignore[attr-defined]
            sheet = replace(sheet, held_out=proba)  # type: ignore[type-var]
        plan = results.drawn_trees.DrawPlan(draws, chains, rng, self.n_jobs)
        return results.drawn_trees.tree(self.fitted_, sheet, plan, groups)

    def _log_density(self, cells: Sequence[Cells]) -> Array:
        reader = predictor(self.fitted_)
        joint = reader.log_joint(cells, self.fitted_.joint_exponents, self.n_jobs)
        return np.logaddexp.reduce(reader.with_base(joint, cells), axis=1)

    def _intervals(
        self, X: Any, prob: float, observed: bool, method: str, sampling: tuple[int | None, Rng]
    ) -> tuple[Array, Intervals]:
        table, scores = self._scores(X)
        observers = self.schema_.observers if observed else None
        if method == "draws":
            draws, rng = sampling
            result, _ = draw_intervals(scores, observers, prob, draws or SHARED_DRAWS, rng)
        else:
            result = find_intervals(scores, observers, prob, method, self.n_jobs)
        self._check_distribution(scores, result.median)
        return table.index, result

    def _entropies(self, X: Any, observed: bool) -> tuple[Array, Entropies, Array | None]:
        table, scores = self._scores(X)
        scores = replace(scores, covariance=None)
        if scores.belief.closed:
            result = entropies(scores, observed, self.n_jobs)
        else:
            observers = self.schema_.observers if observed else None
            result, error = draw_entropies(scores, observers, SHARED_DRAWS, 0)
            warn_drawn(len(scores), SHARED_DRAWS, error, scores.belief.why_drawn)
        self._check_distribution(scores, result.aleatoric[:, None])
        return table.index, result, self._log_density(scores.cells)

    def _scores(self, X: Any) -> tuple[Table, Scores]:
        """Return the scores of rows; exponents that were found by rows are uncertain."""
        table, cells = read_rows(self, X)
        predictor(self.fitted_)  # an error where the posterior is no distribution
        return table, scores_of(self.fitted_, cells)

    def _check_distribution(self, scores: Scores, numbers: Array) -> None:
        """Raise for a row with a bad cell, or without a distribution, whose numbers are NaN."""
        undefined = ~np.isfinite(numbers).all(axis=1)
        if undefined.any():
            self.schema_.check_cells(scores.cells)
            raise ValueError(
                f"row {undefined.argmax()} has no distribution of p(y | x, theta) "
                f"({undefined.sum()} such rows): it is impossible under some class, for which a "
                "level or a count was never seen and has no smoothing, or a number is extremely "
                "far from those learnt. Use a smoothing above 0, and look at the row."
            )

    def _rows_to_draw(self, X: Any, y: Any = None) -> Any:
        """Return rows and their labels.

        An error for rows that no class can have, as in `predict_proba`.
        """
        table, cells = read_rows(self, X)
        joint = predictor(self.fitted_).log_joint(cells, self.fitted_.exponents, self.n_jobs)
        impossible = normalise(joint, True, self.n_jobs)
        if impossible >= 0:
            self._refuse_row(impossible, cells)
        codes = None if y is None else encode(check_labels(y, table.rows), self.classes_)
        columns = results.replicated.observe_columns(self.schema_, table, cells)
        return results.drawn_trees.RowsToDraw(table.index, cells, codes, columns)


def find_intervals(
    scores: Scores, observers: Any, prob: float, method: str, n_jobs: int | None
) -> Intervals:
    """Return intervals in closed form; rows that have none are drawn, with a warning."""
    observed = observers is not None

    def put_drawn(rows: Array, draws: int, *reason: str) -> None:
        drawn, error = draw_intervals(scores[rows], observers, prob, draws, 0)
        warn_drawn(len(rows), draws, error, *reason)
        result.put(rows, drawn)

    smooth = find_smooth(scores, observed)
    if smooth.all():
        result = intervals(scores, prob, observed, method, n_jobs)
    else:
        reason = scores.belief.why_drawn
        if method != "auto":
            raise ValueError(
                f"method={method!r} needs a distribution in closed form, but {reason}. Use "
                "method='draws', or 'auto', which takes what is possible."
            )
        result = Intervals(*np.empty((4, len(scores), scores.classes)))
        put_drawn(np.flatnonzero(~smooth), SHARED_DRAWS, reason)
        if smooth.any():
            result.put(smooth, intervals(scores[smooth], prob, observed, method, n_jobs))
    heavy = find_heavy(result)
    if len(heavy):
        if method == "exact":
            raise too_heavy()
        # each row that was observed needs theta of its own
        put_drawn(heavy, SHARED_DRAWS if observed else FALLBACK_DRAWS)
    return result
