"""Bayesian logistic regression, the discriminative counterpart of naive Bayes.

log p(y = c | x, theta) = intercept_c + terms(x) . coefficient_c + a term that classes share

Ng and Jordan (2002), On discriminative vs. generative classifiers, NIPS 14: if features are
independent given the class, both are the same model. Levels, flags, words, Poisson counts, and
Gaussians with shared variances have a log p(y | x) of this form; Gaussians whose variances differ
between classes need squares.
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

    It is the discriminative twin of naive Bayes: a model of the labels given the rows.

    Parameters
    ----------
    families : "auto", Family, str or dict, default="auto"
        How columns are read, as in ``NaiveBayes``; priors are not used.
    squares : bool, default=False
        Whether Gaussian columns also have a squared term, which lets variances differ between
        classes.
    scale : float, default=2.5
        Prior standard deviation of the log-odds of any two classes, for each term. Terms are
        centred; numbers, counts and squares of scaled numbers are divided by their standard
        deviation.
    intercept_scale : float, default=5.0
        Prior standard deviation of the log-odds of any two classes for an average row, where all
        terms are 0.
    n_jobs : int or None, default=None
        Number of threads for predictions. None: all cores that this process may use.
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
        The generative twin, fitted on the same rows.
    datatree_ : xarray.DataTree
        PyMC's draws, in ArviZ's groups. ``posterior`` has ``intercept`` (class) and ``coefficient``
        (feature, class), on the scales of the terms. ``feature`` names terms: ``weight``,
        ``weight^2``, ``colour=red``. ``rotated`` (axis, class) are the sampled coefficients, along
        the principal axes of the terms.
    design_ : object
        The construction of the design matrix.

    See Also
    --------
    bayesnb.mcmc.logistic : Make one, and fit it.
    bayesnb.NaiveBayes.linear_form : Naive Bayes as a linear classifier.

    Notes
    -----
    .. math::

        \log p(y = c \mid x, \theta) = \text{intercept}_c + \text{terms}(x) \cdot
        \text{coefficient}_c + \text{constant}

    Coefficients and intercepts sum to 0 over the classes. With two classes the model is the usual
    one: the coefficient of the log-odds is Normal(0, scale). With the default of 2.5, a typical
    change of a feature rarely changes the log-odds by more than 5; Gelman et al. propose a Cauchy
    with this scale, which has heavier tails.

    The terms of a missing cell are 0, as if it held the average of its column. Unlike in naive
    Bayes this is not exact: a model without a distribution of x cannot integrate out a cell. Terms
    of unknown levels are also 0, with a warning, and so are those that are constant in the training
    rows.

    ``sample_weight`` are powers of the likelihood of rows. A model of y given x learns nothing from
    new rows, so p(y | x, D) is the mean of p(y | x, theta) over draws, and rows="observed" and
    "fixed" give the same distribution.

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
        """Build the PyMC model of the regression, to inspect or change.

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
            Its variables are those of ``datatree_``. Without weights ``y`` (obs_id) is observed, so
            ``pymc.compute_log_likelihood(datatree_, model=...)`` works.

        See Also
        --------
        fit : Build the model and sample it.
        """
        return self._learn(X, y, sample_weight)[2]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the coefficients given a table and its labels, replacing any earlier fit.

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
        build : The PyMC model.
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
        """Return the contribution of every feature of every row to the score of each class.

        p(y | x, theta) is the softmax of the scores. The score of a class is its intercept plus the
        contributions of the features, their terms times their coefficients.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): ``evidence`` and ``sd``, posterior mean and standard
            deviation of the contribution; for a column of levels, of all its terms together. By
            class: ``class_term``, ``class_term_sd``, for the intercept. By (obs_id, class):
            ``score``, the sum of ``class_term`` and ``evidence``, and ``score_sd``, whose square is
            not a sum, as coefficients are correlated. By (obs_id, feature): ``cell``, its content
            as text.

        See Also
        --------
        bayesnb.NaiveBayes.explain : Explanations for naive Bayes.

        Notes
        -----
        Evidence is relative to the average row, for which every feature contributes 0, like a
        missing cell. Over the classes it sums to 0.
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
        """Return the scores as linear functions of the columns, in their original units.

        Returns
        -------
        xarray.Dataset
            Displayed as a table, with a `to_frame`. ``w`` (class, feature) and ``b`` (class),
            posterior means, and ``w_sd``, ``b_sd``: the score of a class is b plus the sum of w
            times a number, its square, a count, or 1 for yes and for the level of a cell. A missing
            cell counts as the mean of its column.

        See Also
        --------
        bayesnb.NaiveBayes.linear_form : The linear form of naive Bayes.
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
        """Leave-one-out scores of rows, by Pareto-smoothed importance sampling.

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
            ``elpd``, the sum of log p(y_i | x_i, all other rows), ``elpd_i``, by row, and
            ``pareto_k``. ``arviz.compare`` accepts it, and ``bayesnb.compare`` compares this model
            with naive Bayes, whose leave-one-out is exact.

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
        Leaving out row i gives draws weights 1 / p(y_i | x_i, draw). All draws are used, or an
        evenly spaced part for more than about ten thousand rows. A weighted row is left out as a
        whole; ``elpd`` is then the weighted mean score times the number of rows with positive
        weight.

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
                f"target must be 'label', got {target!r}: a regression has no distribution of x."
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
        """Return the estimator that reads the columns, the design, and the PyMC model.

        Rows with weight 0 are left out.
        """
        estimator = NaiveBayes(self.families, dependence=None, n_jobs=self.n_jobs)
        estimator.fit(X, y, sample_weight)
        classes = estimator.classes_
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes.tolist()[0]!r}: there is nothing to predict."
            )
        index, rows = read_labelled_rows(estimator, X, y, sample_weight)
        blocks = estimator.schema_.blocks
        design = Design.learn(blocks, rows.cells, rows.counts, bool(self.squares))
        coordinate = results.tables.coordinate
        coords = {"class": coordinate(classes), "obs_id": coordinate(index)}
        return estimator, design, build(design, rows, coords, self.scale, self.intercept_scale)

    @property
    def schema_(self) -> Schema:
        """The schema for reading tables, that of the generative twin."""
        return self.estimator_.schema_

    @property
    def _linear(self) -> LinearDraws:
        posterior = self.datatree_["posterior"].to_dataset().stack(sample=("chain", "draw"))
        posterior = posterior.transpose("sample", "class", "feature", ...)
        return LinearDraws(posterior["intercept"].values, posterior["coefficient"].values)

    def _read(self, X: Any) -> tuple[Table, list[Cells]]:
        """Return the table and the cells; raise for invalid cells."""
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
            f"the scores of row {row} overflow: a number is extremely far from those learnt. Check "
            "it."
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

    Short for ``Logistic(families, **options).fit(X, y, sample_weight)``.

    Parameters
    ----------
    X : table of rows
        The rows to learn from. A missing cell is left out.
    y : sequence of labels
        One for each row.
    families : "auto", Family, str or dict, default="auto"
        How columns are read, as in ``NaiveBayes``; priors are not used.
    sample_weight : sequence of float or None, default=None
        Weights of the rows: powers of their likelihood.
    **options
        Other parameters of ``Logistic``: ``squares``, ``scale``, ``intercept_scale``, ``n_jobs``,
        and those of the chains.

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
