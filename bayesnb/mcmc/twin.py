"""Bayesian logistic regression: naive Bayes as a model of the labels given the rows.

    log p(y = c | x, theta) = intercept_c + terms(x) . coefficient_c  up to what all classes share

Ng and Jordan (2002), On discriminative vs. generative classifiers, NIPS 14: where features are
independent given the class, both are the same model. Levels, flags, words, Poisson counts, and
Gaussians whose classes share variances have a log p(y | x) of this form; Gaussians whose variances
differ between classes do with squares.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from bayesnb import results
from bayesnb.data import Table
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.base import read_rows
from bayesnb.estimators.cross_validation import read_labelled_rows, read_learnt_rows
from bayesnb.families.base import Array, Cells
from bayesnb.inference.linear_form import Form
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.ensemble import thin
from bayesnb.mcmc.importance_weights import MIN_DRAWS, ImportanceScores, regression_loo, warn_pareto
from bayesnb.mcmc.sampled_uncertainty import MAX_PROBABILITIES, DrawsClassifier, Weighed
from bayesnb.mcmc.sampling import ChainParameters, sample
from bayesnb.mcmc.softmax_regression import Design, LinearDraws, build
from bayesnb.model.product import Rows
from bayesnb.model.schema import Schema
from bayesnb.numerics.threads import in_order

if TYPE_CHECKING:
    from pymc import Model


@dataclass(eq=False, repr=False)
class Logistic(ChainParameters, DrawsClassifier):
    r"""Bayesian logistic regression on the columns of a naive Bayes model, sampled with PyMC.

    It is naive Bayes' discriminative twin: a model of the labels given the rows, not of the rows.

    Parameters
    ----------
    families : "auto", Family, str or dict, default="auto"
        How columns are read, as in ``NaiveBayes``; priors play no part.
    squares : bool, default=False
        Whether Gaussian columns have a term for their square too, which lets variances differ
        between classes.
    scale : float, default=2.5
        Prior standard deviation of the log-odds of any two classes, for each term. Terms are
        centred; numbers and counts are divided by their standard deviation, and so are squares of
        numbers that were divided.
    intercept_scale : float, default=5.0
        Prior standard deviation of the log-odds of any two classes at an average row, where all
        terms are 0.
    n_jobs : int or None, default=None
        Number of threads that predict. None: as many as the cores that this process may use.
    draws : int, default=1000
        Draws of each chain.
    tune : int, default=1000
        Steps of tuning before them.
    chains : int, default=4
        Number of chains.
    rng : None, int or numpy.random.Generator, default=None
        A seed or a generator.
    sampler : {"nutpie", "pymc", "numpyro", "blackjax"} or None, default=None
        The program that samples. None: nutpie where it is installed, else PyMC.
    progressbar : bool or None, default=None
        Whether to show how far the chains are. None: where stderr is a terminal.
    sampling : dict or None, default=None
        Further arguments of ``pymc.sample``, such as ``{"cores": 1}``.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    estimator_ : NaiveBayes
        The generative twin, fitted on the same rows, which reads tables.
    datatree_ : xarray.DataTree
        PyMC's draws, in ArviZ's groups. ``posterior`` has ``intercept`` (class) and ``coefficient``
        (feature, class), on the terms' scales. ``feature`` names terms: ``weight``, ``weight^2``,
        ``colour=red``. ``rotated`` (axis, class) is what was sampled, the coefficients along the
        terms' principal axes.
    design_ : object
        How terms are made of cells.

    See Also
    --------
    bayesnb.mcmc.logistic : Make one, and fit it.
    bayesnb.NaiveBayes.linear_form : Naive Bayes as a linear classifier.

    Notes
    -----
    .. math::

        \log p(y = c \mid x, \theta) = \text{intercept}_c + \text{terms}(x) \cdot
        \text{coefficient}_c + \text{constant}

    Coefficients and intercepts sum to 0 over the classes, so no class is special. With two classes
    the model is the usual one: its coefficient, that of the log-odds, is Normal(0, scale). Under
    the default of 2.5, the usual change of a feature hardly moves log-odds by more than 5; Gelman
    et al. propose a Cauchy of this scale, whose tails are longer.

    A missing cell contributes nothing: its terms are 0, as if it held the average of its column.
    That is not exact, as it is in naive Bayes: a model that says nothing about x cannot integrate a
    cell out. Unknown levels contribute nothing, with a warning, nor does what never varied in the
    rows that were learnt.

    Rows count by their ``sample_weight`` as powers of their likelihood. A model of y given x learns
    nothing from new rows, so p(y | x, D) is the mean of p(y | x, theta) over draws, and
    rows="observed" and "fixed" give the same distribution.

    References
    ----------
    Ng, A. and Jordan, M. (2002), On discriminative vs. generative classifiers. NIPS 14.

    Gelman, A., Jakulin, A., Pittau, M. and Su, Y. (2008), A weakly informative default prior
    distribution for logistic and other regression models. Annals of Applied Statistics 2.

    Examples
    --------
    >>> from bayesnb import mcmc
    >>> X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> drawn = mcmc.Logistic("gaussian", rng=1).fit(X, y)  # doctest: +SKIP
    >>> drawn.predict([[1.1], [2.9]]).tolist()  # doctest: +SKIP
    ['low', 'high']
    """

    families: Any = "auto"
    _: KW_ONLY
    squares: bool = False
    scale: float = 2.5
    intercept_scale: float = 5.0
    n_jobs: int | None = None

    def build(self, X: Any, y: Any, sample_weight: Any = None) -> "Model":
        """Write the regression as a PyMC model, not yet sampled, to look at or to change.

        Parameters
        ----------
        X : table of rows
            The rows to learn from. A missing cell is left out.
        y : sequence of labels
            One for each row.
        sample_weight : sequence of float or None, default=None
            Weights of the rows: powers of their likelihood.

        Returns
        -------
        pymc.Model
            Its variables are those of ``datatree_``. ``y`` (obs_id) is observed, so that
            ``pymc.compute_log_likelihood(datatree_, model=...)`` works, unless rows have weights.

        See Also
        --------
        fit : Build the model and sample it.
        """
        return self._learn(X, y, sample_weight)[2]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the coefficients given a table and its labels, and forget what was learnt before.

        Parameters
        ----------
        X : table of rows
            The rows to learn from. A missing cell is left out.
        y : sequence of labels
            One for each row.
        sample_weight : sequence of float or None, default=None
            Weights of the rows: powers of their likelihood.

        Returns
        -------
        self : Logistic
            The fitted estimator.

        Warns
        -----
        SamplingWarning
            Where chains have not converged, have too few effective draws, or diverged.

        See Also
        --------
        build : The model in PyMC.
        """
        self._check_chains()
        estimator, design, model = self._learn(X, y, sample_weight)
        tree = sample(model, self, np.random.default_rng(self.rng))
        tree.attrs |= results.drawn_trees.describe_sampler(tree)
        self._adopt(estimator, "classes_", "n_features_in_", "feature_names_in_")
        self.estimator_ = estimator
        self.design_ = design
        self.datatree_ = tree
        self.chains_ = tree["posterior"].sizes["chain"]
        self.draws_ = tree["posterior"].sizes["draw"]
        return self

    def explain(self, X: Any) -> "results.Result":
        """Explain what every feature of every row adds to the score of each class.

        A softmax of the scores is p(y | x, theta). The score of a class is its intercept and the
        sum of what the features add, their terms times their coefficients.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): ``evidence`` and ``sd``, posterior mean and standard
            deviation of what the feature adds; for a column of levels, all its terms together. By
            class: ``class_term``, ``class_term_sd``, those of the intercept. By (obs_id, class):
            ``score``, the sum of ``class_term`` and ``evidence``, and ``score_sd``, whose square is
            not a sum, as coefficients depend on each other. By (obs_id, feature): ``cell``, what
            the cell held, as text.

        See Also
        --------
        bayesnb.NaiveBayes.explain : The same for naive Bayes.

        Notes
        -----
        Evidence is relative to the average row, of which every feature adds 0, and so
        does a missing cell. Over the classes it sums to 0.
        """
        table, cells = self._read(X)
        linear = self._linear
        features = self.design_.features
        shape = len(table.index), len(self.classes_), len(features)
        refuse_large(
            "{} rows x {} classes x {} features".format(*shape),
            4 * 8.0 * np.prod(shape),
            "Explain fewer rows at once.",
        )
        evidence, sd = np.empty((2, *shape))
        score, score_sd = np.empty((2, *shape[:2]))
        for rows in linear.row_blocks(len(score)):
            z = self.design_.terms(cells, rows)
            total = linear.intercept + linear.add_terms(z)
            score[rows], score_sd[rows] = total.mean(axis=1), total.std(axis=1)
            for f, terms in enumerate(features):
                added = linear.add_terms(z, terms)
                evidence[rows, :, f], sd[rows, :, f] = added.mean(axis=1), added.std(axis=1)
        arrays = {
            "score": score,
            "score_sd": score_sd,
            "evidence": evidence,
            "sd": sd,
            "class_term": linear.intercept.mean(axis=0),
            "class_term_sd": linear.intercept.std(axis=0),
        }
        return results.explanations.explain_regression(
            table.index, self.classes_, self.schema_.blocks, cells, arrays
        )

    def linear_form(self) -> "results.Result":
        """Return the scores as linear functions of what the columns hold, in their units.

        Returns
        -------
        xarray.Dataset
            It shows itself as a table, with a `to_frame`. ``w`` (class, feature) and ``b`` (class),
            posterior means, and ``w_sd``, ``b_sd``: the score of a class is b plus the sum of w
            times a number, its square, a count, or 1 for yes and for the level that a cell holds. A
            missing cell counts as its column's mean.

        See Also
        --------
        bayesnb.NaiveBayes.linear_form : The same for naive Bayes.
        """
        self._check_fitted()
        linear = self._linear
        draws, classes, terms = linear.coefficient.shape
        w, rest = self.design_.unscale(linear.coefficient.reshape(-1, terms))
        w = w.reshape(draws, classes, terms)
        b = linear.intercept + rest.reshape(draws, classes)
        form = Form(w.mean(axis=0), b.mean(axis=0), w.std(axis=0), b.std(axis=0))
        return results.explanations.linear_form(
            form, self.classes_, {"feature": self.design_.names}, {}
        )

    def loo(
        self, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None
    ) -> "results.ShownScores":
        """Score every row as if it had not been learnt, by Pareto-smoothed importance sampling.

        Parameters
        ----------
        X : table of rows
            The rows that were learnt, or a part of them.
        y : sequence of labels
            Their labels.
        target : {"label"}, default="label"
            As in ``NaiveBayes.loo``. A regression has no p(x, y).
        sample_weight : sequence of float or None, default=None
            The weights with which they were learnt.

        Returns
        -------
        arviz.ELPDData
            ``elpd``, the sum of log p(y_i | x_i, all other rows), ``elpd_i``, row by row, and
            ``pareto_k``. ``arviz.compare`` takes it, and ``bayesnb.compare`` takes this model
            beside naive Bayes, whose leave-one-out is exact.

        Warns
        -----
        ParetoWarning
            Where ``pareto_k`` is above ``good_k``: the draws know too little about the model
            without the row.

        See Also
        --------
        bayesnb.compare : Compare models by leave-one-out.

        Notes
        -----
        Without row i, draws are as probable as with it, times 1 / p(y_i | x_i, draw).
        All draws are taken, or a part, evenly spaced, for more than some ten thousand rows. A row
        with a weight is left out as a whole; ``elpd`` is then the weighted mean score times the
        number of rows of positive weight.

        References
        ----------
        Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024),
        Pareto smoothed importance sampling. JMLR 25.
        """
        index, rows = read_learnt_rows(self, X, y, sample_weight)
        scores = self._loo_scores(rows, target)
        return results.elpd.sampled_elpd(index, *scores)

    def _loo_scores(self, rows: Rows, target: str) -> ImportanceScores:
        if target != "label":
            raise ValueError(
                f"target must be 'label', got {target!r}: a regression says nothing about x."
            )
        size = self.chains_ * self.draws_
        most = max(MAX_PROBABILITIES // len(rows.codes), MIN_DRAWS)
        linear = self._linear[thin(size, most)]
        log_likelihood = np.empty((len(linear.intercept), len(rows.codes)))
        for part in linear.row_blocks(len(rows.codes)):
            log_proba = linear.proba(self.design_.terms(rows.cells, part), log=True)
            codes = rows.codes[part]
            log_likelihood[:, part] = log_proba[np.arange(len(codes)), :, codes].T
        scores = regression_loo(log_likelihood, rows)
        warn_pareto(scores, most)
        return scores

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[NaiveBayes, Design, Any]:
        """Return the estimator that reads the columns, their terms, and PyMC's model of them.

        Rows of weight zero are left out.
        """
        estimator = NaiveBayes(self.families, dependence=None, n_jobs=self.n_jobs)
        estimator.fit(X, y, sample_weight)
        classes = estimator.classes_
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes.tolist()[0]!r}: there is nothing to tell apart."
            )
        index, rows = read_labelled_rows(estimator, X, y, sample_weight)
        blocks = estimator.schema_.blocks
        design = Design.learn(blocks, rows.cells, rows.counts, bool(self.squares))
        coordinate = results.tables.coordinate
        coords = {"class": coordinate(classes), "obs_id": coordinate(index)}
        return estimator, design, build(design, rows, coords, self.scale, self.intercept_scale)

    @property
    def schema_(self) -> Schema:
        """Schema by which tables are read: that of the generative twin."""
        return self.estimator_.schema_

    @property
    def _linear(self) -> LinearDraws:
        posterior = self.datatree_["posterior"].to_dataset().stack(sample=("chain", "draw"))
        posterior = posterior.transpose("sample", "class", "feature", ...)
        return LinearDraws(posterior["intercept"].values, posterior["coefficient"].values)

    def _read(self, X: Any) -> tuple[Table, list[Cells]]:
        """Return the table and the cells; an invalid cell is an error."""
        self._check_fitted()
        table, cells = read_rows(self.estimator_, X)
        self.schema_.check_cells(cells)
        return table, cells

    def _joint(self, X: Any, warn: bool = True) -> tuple[Array, list[Cells]]:
        """log p(y | x, D) of every row, and the cells of the rows."""
        table, cells = self._read(X)
        linear = self._linear

        def score_rows(rows: slice) -> Array:
            return linear.log_mean(self.design_.terms(cells, rows))

        return np.concatenate(
            list(in_order(score_rows, linear.row_blocks(table.rows), self.n_jobs))
        ), cells

    def _weighed(self, cells: Sequence[Cells], observed: bool) -> Iterator[Weighed]:
        linear = self._linear
        for rows in linear.row_blocks(cells[0].shape[0], MAX_PROBABILITIES):
            proba = linear.proba(self.design_.terms(cells, rows)).swapaxes(0, 1)
            yield rows, np.zeros(proba.shape[:2]), proba

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        raise ValueError(
            f"row {row} has scores that no float holds: a number is extremely far from those "
            "learnt. Look at it."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


def logistic(
    X: Any, y: Any, families: Any = "auto", *, sample_weight: Any = None, **options: Any
) -> Logistic:
    """Sample a Bayesian logistic regression on the columns of a naive Bayes model.

    It is short for ``Logistic(families, **options).fit(X, y, sample_weight)``.

    Parameters
    ----------
    X : table of rows
        The rows to learn from. A missing cell is left out.
    y : sequence of labels
        One for each row.
    families : "auto", Family, str or dict, default="auto"
        How columns are read, as in ``NaiveBayes``; priors play no part.
    sample_weight : sequence of float or None, default=None
        Weights of the rows: powers of their likelihood.
    **options
        The other parameters of ``Logistic``: ``squares``, ``scale``, ``intercept_scale``,
        ``n_jobs``, and how chains are sampled.

    Returns
    -------
    Logistic
        The fitted estimator.

    Warns
    -----
    SamplingWarning
        Where chains have not converged, have too few effective draws, or diverged.

    See Also
    --------
    fit : Sample a naive Bayes model.

    Examples
    --------
    >>> from bayesnb import mcmc
    >>> X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> mcmc.logistic(X, y, "gaussian", rng=1).predict([[1.1], [2.9]]).tolist()  # doctest: +SKIP
    ['low', 'high']
    """
    return Logistic(families, **options).fit(X, y, sample_weight)
