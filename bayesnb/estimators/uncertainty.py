"""Uncertainty of predictions: intervals of probabilities, entropy decompositions, and draws."""

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

# of theta: the default, also for a distribution without a closed form, or with too heavy tails
SHARED_DRAWS = 4000
ROWS = ("observed", "fixed")
INTERVAL = ("probability", "median", "lower", "upper")


class PredictiveUncertainty(ABC):
    """Intervals and entropies of rows, for models in closed form and for sampled ones."""

    classes_: Array
    # how intervals are computed, for each value of `method`
    _methods: ClassVar[Mapping[str, str]]

    @abstractmethod
    def _intervals(
        self, X: Any, prob: float, observed: bool, method: str, sampling: tuple[int | None, Rng]
    ) -> tuple[Array, Intervals]:
        """Return the names of the rows, and their intervals.

        `sampling` is the number of draws, and their source of randomness.
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
            "observed": x was drawn from the population, and is itself evidence about theta: the
            distribution is that under p(theta | D, x), and its mean is `predict_proba`. "fixed": x
            was chosen, as on a grid: the distribution is that under p(theta | D), and its mean the
            posterior average.
        method : {"auto", "exact", "fast", "draws"}, default "auto"
            "exact" inverts the characteristic function. "fast" uses the first four cumulants, which
            are exact, if the error bound is below 0.02 on the probability scale, and "auto" if it
            is below 0.001; both use "exact" for the other rows. "draws" draws theta, for
            comparison. A sampled model has no characteristic function: its "auto" and "draws" use
            the draws of its chains.
        draws : int, optional
            The number of draws for method="draws", by default 4000. A sampled model has the draws
            of its chains, so this and `rng` raise an error.
        rng : int, numpy.random.Generator or None
            For method="draws".

        Returns
        -------
        xarray.Dataset
            By (obs_id, class): `probability`, the mean, `median`, `lower` and `upper`. It is
            displayed as a table, and its `to_frame` has a row for each (obs_id, class).

        See Also
        --------
        NaiveBayes.uncertainty : The entropy of each label, in two parts.
        NaiveBayes.predict_proba : The mean only, faster.

        Notes
        -----
        The mean of a skewed distribution can lie outside its interval; the median never does.
        Intervals assume the model: they do not account for features that depend on each other, see
        `temper`.

        With three or more classes, limits below 1e-12 are accurate only to the order of magnitude,
        and some rows have no closed form: their intervals come from draws, with a `DrawnWarning`,
        and "exact" raises an error. These are fixed rows so extreme, or with levels of so little
        smoothing, that the score of a class has very heavy tails; and all rows if classes share
        parameters, under `shared=True`, where "fast" raises an error too. The same holds for rows
        with only Histogram cells, with any number of classes, if the `class_prior` is known and the
        classes may have the same distribution: one value then has positive probability.

        For a sampled model, limits are quantiles of its draws, which are weighted if the rows are
        observed, and have their Monte Carlo error; a row for which few draws have any weight raises
        a `DegenerateWarning`.

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
            It is displayed as a table, and its `to_frame` has a row for each row of `X`. By obs_id:
            `entropy` of `probability`; `aleatoric`, the expected entropy of p(y | x, theta), which
            more training data do not reduce; `epistemic`, their difference, the mutual information
            of label and parameters, which more data do reduce; it is never negative; and
            `log_density`, as in the method of this name, if the model has one. By (obs_id, class):
            `probability`.

        See Also
        --------
        plot_uncertainty : Both parts as bars.
        NaiveBayes.predict_interval : Intervals of the class probabilities.

        Notes
        -----
        Exact, without draws, except for a sampled model, and for rows that `predict_interval` would
        draw, which raise a `DrawnWarning` here too.

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
    """Predictions of the full posterior, whatever `estimate` is, with exponents `temper_`."""

    _methods: ClassVar = {method: method for method in (*TOLERANCES, "draws")}

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y), with parameters integrated out or plugged in, by `estimate`.

        Parameters
        ----------
        X : table of rows
            The rows to score.

        Returns
        -------
        numpy.ndarray of shape (rows, classes)
            Columns are in the order of `classes_`. A softmax of each row is `predict_proba`.

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
        """Return log p(x | D), which is low for unusual rows, whatever their class.

        Exponents do not enter it.

        Parameters
        ----------
        X : table of rows
            The rows to score.

        Returns
        -------
        numpy.ndarray of shape (rows,)
            The log density of each row, in nats. The lower it is, the more unusual the row.

        See Also
        --------
        NaiveBayes.uncertainty : The entropy of the label, beside `log_density`.

        Notes
        -----
        With links between columns, it is the density of the forest. For levels and flags, it sums
        to 1 over all complete rows if the training rows were complete too. Otherwise, and for
        numbers, it sums to 1 within some percent, because a link models a column by counts on a few
        levels, not by the column's density.

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

        For every row, new parameters are drawn from the posterior: rows are independent given the
        data, and each is an exact draw of the next row. `temper` and `estimate` have no effect.

        Parameters
        ----------
        n : int
            The number of rows.
        y : label or array-like, optional
            One label, or one for each row. By default the labels are drawn too, from the posterior
            predictive of the class.
        length : int or array-like, optional
            The number of words of a row in every `Multinomial` block. By default it is a Poisson
            count, with a rate estimated from the words and rows of each class as by `Poisson()`.
            Lengths of real texts vary more than that; give them if this matters.
        rng : int, numpy.random.Generator or None
            The source of randomness.

        Returns
        -------
        X : pandas.DataFrame, or an array where an array was fitted
            A frame has the columns of the training table, in order; `polars.from_pandas(X)`
            converts it. An array also for a list of lists; CSR for a sparse table; lists of words,
            in random order, for lists of words.
        y : numpy.ndarray of shape (n,)
            The labels of the rows, from `classes_`.

        See Also
        --------
        NaiveBayes.to_datatree : Draws of the parameters, and of labels of given rows.
        NaiveBayes.draw_proba : Draws of the class probabilities of given rows.

        Notes
        -----
        Columns hold numbers, flags (booleans) or levels, as in training: real numbers are floats,
        counts are integers. Columns without a family (None) are absent. No cell is missing, except
        in place of the level that `unseen="reserve"` keeps for new ones. Under a `Bernoulli` with a
        threshold, a one is some number above it. Counts are whole even with `fractional=True`,
        because the family has no distribution over other numbers.

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

        Their mean is the posterior average, not `predict_proba`: a new row is itself evidence about
        theta, which these draws ignore.

        Parameters
        ----------
        X : table of rows
            The rows to predict.
        draws : int, default 1000
            The number of draws of each chain.
        chains : int, default 4
            The number of chains, needed only by ArviZ's functions: all draws are exact and
            independent.
        rng : int, numpy.random.Generator or None
            A seed gives the same draws of theta for any rows, and the same as in `to_datatree`.

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
        The evidence of the features is weighted by `temper_`, and parameters of links between
        columns are drawn too; `estimate` has no effect. A class of probability 0 keeps it. Results
        that would take more than 2 GiB raise an error before anything is drawn.

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
            The training rows, with their labels, for model checks; without labels, rows to predict.
        y : array-like, optional
            The labels of the rows.
        draws : int, default 1000
            The number of draws of each chain.
        chains : int, default 4
            The number of chains, needed only by ArviZ's functions: all draws are exact and
            independent.
        rng : int, numpy.random.Generator or None
            The source of randomness.
        groups : sequence of str, optional
            The names of the groups, by default all that are possible.
        held_out : bool, default False
            Whether labels in `posterior_predictive` are drawn from the leave-one-out probabilities
            `loo_proba`, rather than those of a model fitted to the row as well. X and y are then
            the training rows.

        Returns
        -------
        xarray.DataTree
            `posterior`, `prior` : `class_prob` (class); `mu` and `sigma2`, `rate`, and `theta` of
            flags or words (class, feature); `theta_<column>` (class, <column>_level). `log_prior` :
            log p(theta) under the same names, that of `mu` given `sigma2`; one number for each
            Dirichlet. `log_likelihood` : two kinds (obs_id). `y`, log p(y | x, theta), for
            comparing classifiers: ``az.loo(tree, var_name="y")`` approximates `loo`. `row`,
            log p(x, y | theta), that of the generative model, without exponents, for
            ``az.psense_summary`` with ``likelihood_var_names="row"``. `posterior_predictive` :
            `p` (obs_id, class), p(y | x, theta), `y`, labels drawn from it, and each column of X,
            drawn from p(x | y, theta), with the observed label y. `prior_predictive` : `y` and
            columns likewise. `observed_data` : `y` and the columns of X. Labels are indices into
            the coordinate `class`, and levels into those of the column. `predictions`, if there are
            no labels : `p` and `y`. `constant_data` : the columns of X, and `class_prob`, if it is
            given and so not drawn. Attributes of the groups describe their variables.

        See Also
        --------
        NaiveBayes.draw_proba : Draws of the class probabilities alone.
        NaiveBayes.sample : New rows and labels.
        NaiveBayes.loo : Leave-one-out in closed form, without draws.

        Notes
        -----
        If there are several families, the axis `feature` becomes `<family>_feature`; if both flags
        and words have a `theta`, it becomes `bernoulli_theta` and `multinomial_theta`. An improper
        prior cannot be drawn: `prior` and `log_prior` are left out, as the tree's attributes say,
        and raise an error if `groups` includes them. Parameters of links between columns, see
        `links_`, are drawn too: they enter the predictions and, for links of the forest, the
        likelihood `row`; the parameters that are stored, and `log_prior`, are those of the columns
        alone. The closed form of the posterior is in `posterior_`. Labels other than numbers,
        booleans, dates and text become text. Results that would take more than 2 GiB raise an
        error; `p` and columns of `posterior_predictive` are left out if they would take more than
        half a GiB, as the tree's attributes say. Columns of words, and those of sparse tables, are
        not replicated.

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
        predictor(self.fitted_)  # an error if the posterior is improper
        if held_out and y is None:
            raise ValueError("held_out=True needs X and y, the training rows.")
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
        """Return the scores of rows, with the uncertainty of exponents that were estimated."""
        table, cells = read_rows(self, X)
        predictor(self.fitted_)  # an error if the posterior is improper
        return table, scores_of(self.fitted_, cells)

    def _check_distribution(self, scores: Scores, numbers: Array) -> None:
        """Raise for a row with NaN: a cell is invalid, or p(y | x, theta) has no distribution."""
        finite = np.isfinite(numbers)
        if not finite.all():
            undefined = ~finite.all(axis=1)
            self.schema_.check_cells(scores.cells)
            raise ValueError(
                f"row {undefined.argmax()} has no distribution of p(y | x, theta) "
                f"({undefined.sum()} such rows): it is impossible under some class, in which a "
                "level or a count did not occur and has no smoothing, or a number is extremely "
                "far from the training rows. Use a smoothing above 0, and look at the row."
            )

    def _rows_to_draw(self, X: Any, y: Any = None) -> Any:
        """Return rows and their labels.

        Raise for rows that are impossible under every class, as in `predict_proba`.
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
    """Return intervals in closed form, or by draws, with a warning, for rows that have none."""
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
                "method='draws', or 'auto', which draws only where it must."
            )
        result = Intervals(*np.empty((4, len(scores), scores.classes)))
        put_drawn(np.flatnonzero(~smooth), SHARED_DRAWS, reason)
        if smooth.any():
            result.put(smooth, intervals(scores[smooth], prob, observed, method, n_jobs))
    heavy = find_heavy(result)
    if len(heavy):
        if method == "exact":
            raise too_heavy()
        # each observed row needs its own draws of theta
        put_drawn(heavy, SHARED_DRAWS if observed else FALLBACK_DRAWS)
    return result
