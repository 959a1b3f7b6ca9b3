"""Bayesian logistic regression: naive Bayes as a model of the labels given the rows, not of the rows.

    log p(y = c | x, theta) = intercept_c + terms(x) . coefficient_c  up to what all classes share

Ng and Jordan (2002), On discriminative vs. generative classifiers, NIPS 14: where features are independent given the
class, both are the same model. Levels, flags, words, Poisson counts, and Gaussians whose classes share variances have
a log p(y | x) of this form; Gaussians whose variances differ between classes do with squares.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn, Self

import numpy as np

from bayesnb import results
from bayesnb.data import Table
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.public_methods import PREDICTIONS, public_methods
from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.ensemble import thinned
from bayesnb.mcmc.importance_weights import LEAST, ImportanceScores, regression_loo, warn_pareto
from bayesnb.mcmc.sampled_uncertainty import NUMBERS, DrawsClassifier, Weighed
from bayesnb.mcmc.sampling import ChainParameters, sample
from bayesnb.mcmc.softmax_regression import Design, LinearDraws, RegressionData, build
from bayesnb.model.product import Rows
from bayesnb.model.schema import Schema
from bayesnb.numerics.threads import in_order


@public_methods(*PREDICTIONS)
@dataclass(eq=False, repr=False)
class Logistic(ChainParameters, DrawsClassifier):
    """Bayesian logistic regression on the columns of a naive Bayes model, sampled with PyMC.

    Parameters
    ----------
    families : how columns are read, as in `NaiveBayes`; their priors play no part
    squares : whether Gaussian columns have a term for their square too, to let variances differ between classes
    scale : prior sd of the log-odds of any two classes, for each term
        Terms are centred; numbers and counts are divided by their sd, and so are squares of numbers that were divided.
    intercept_scale : prior sd of the log-odds of any two classes where all terms are 0, at an average row
    draws, tune, chains, rng, sampler, progressbar, sampling : how chains are sampled, as in `mcmc.fit`
    n_jobs : number of threads that predict, default the cores that this process may use

    Attributes
    ----------
    classes_ : the labels, sorted
    estimator_ : NaiveBayes on the same rows: the generative twin, whose schema reads tables
    datatree_ : PyMC's draws, in ArviZ's groups: `posterior` has `intercept` (class) and `coefficient` (feature, class),
        on the terms' scales. `feature` names terms: `weight`, `weight^2`, `colour=red`. `rotated` (axis, class) is what
        was sampled, the coefficients along the terms' principal axes.
    design_ : how terms are made of cells

    Notes
    -----
    Coefficients and intercepts sum to 0 over the classes, so no class is special. With two classes the model is the
    usual one: its coefficient, that of the log-odds, is Normal(0, scale). The default of 2.5 follows Gelman, Jakulin,
    Pittau and Su (2008, Annals of Applied Statistics 2): the usual change of a feature hardly moves log-odds by more
    than 5. Theirs is a Cauchy, whose tails are longer.

    A missing cell contributes nothing: its terms are 0, as if it held the average of its column. That is not
    exact, as it is in naive Bayes: a model that says nothing about x cannot integrate a cell out. Nor do unknown levels
    contribute, of which a warning is raised, nor what never varied in the rows learnt.

    Rows count by their `sample_weight` as powers of their likelihood. A model of y given x draws nothing from x, so
    p(y | x, D) is the mean of p(y | x, theta) over draws, and rows="observed" and "fixed" give the same distribution.
    """

    families: Any = "auto"
    _: KW_ONLY
    squares: bool = False
    scale: float = 2.5
    intercept_scale: float = 5.0
    n_jobs: int | None = None

    def build(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The pm.Model of these rows, not yet sampled, to look at or to change.

        Its variables are those of `datatree_`; `y` (obs_id) is observed, so that `pm.compute_log_likelihood(datatree_,
        model=...)` works, unless rows have weights.
        """
        return build(self._learn(X, y, sample_weight)[1], self.scale, self.intercept_scale)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the coefficients given a table and its labels; what was learnt before is forgotten."""
        self._check_chains()
        estimator, data = self._learn(X, y, sample_weight)
        model = build(data, self.scale, self.intercept_scale)
        tree = results.sampled_trees.finished(sample(model, self, np.random.default_rng(self.rng)))
        self._adopt(estimator, "classes_", "n_features_in_", "feature_names_in_")
        self.estimator_, self.design_, self.datatree_ = estimator, data.design, tree
        self.chains_, self.draws_ = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
        return self

    def explain(self, X: Any) -> Any:
        """Explain what every feature of every row adds to the score of each class.

        A softmax of the scores is p(y | x, theta), and the score of a class is its intercept and the sum of what the
        features add, their terms times their coefficients.

        Parameters
        ----------
        X : table of rows

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): `evidence` and `sd`, posterior mean and standard deviation of what the feature
            adds; of a column of levels, all its levels' terms together. By class: `class_term`, `class_term_sd`, those
            of the intercept. By (obs_id, class): `score`, the sum of `class_term` and `evidence`, and `score_sd`,
            whose square is no sum: coefficients depend on each other. By (obs_id, feature): `cell`, what the cell
            held, as text.

        Notes
        -----
        Evidence is relative to the average row, of which every feature adds 0, and so does a missing cell. Over the
        classes it sums to 0.
        """
        (table, cells), linear = self._read(X), self._linear
        rows, classes, features = len(table.index), len(self.classes_), len(self.design_.starts)
        size, what = 8.0 * rows * classes * features, f"{rows} rows x {classes} classes x {features} features"
        refuse_large(what, 4 * size, "Explain fewer rows at once.")
        evidence, sd = np.empty((2, rows, classes, features))
        score, score_sd = np.empty((2, rows, classes))
        for part in linear.row_blocks(rows):
            z = self.design_.terms(cells, part)
            evidence[part], sd[part] = linear.term_moments(z, self.design_.starts)
            score[part], score_sd[part] = linear.score_moments(z)
        intercept = linear.intercept.mean(axis=0), linear.intercept.std(axis=0)
        arrays = {"score": score, "score_sd": score_sd, "evidence": evidence, "sd": sd}
        arrays |= dict(zip(("class_term", "class_term_sd"), intercept, strict=True))
        explained = results.sampled_trees.ExplainedRows(table.index, self.classes_, self.schema_.blocks, cells)
        return results.sampled_trees.explained(explained, arrays)

    def linear_form(self) -> Any:
        """The scores as linear functions of what the columns hold, in the units of the columns.

        Returns
        -------
        xarray.Dataset
            `w` (class, feature) and `b` (class), posterior means, and `w_sd`, `b_sd`: the score of a class is b plus
            the sum of w times a number, its square, a count, or 1 for yes and for the level that a cell holds. A
            missing cell counts as its column's mean.
        """
        self._check_fitted()
        linear = self._linear
        w, rest = self.design_.unscaled(linear.coefficient.reshape(-1, linear.coefficient.shape[-1]))
        w, b = w.reshape(linear.coefficient.shape), linear.intercept + rest.reshape(linear.intercept.shape)
        moments = {"w": w.mean(axis=0), "w_sd": w.std(axis=0), "b": b.mean(axis=0), "b_sd": b.std(axis=0)}
        return results.sampled_trees.linear_form(moments, self.classes_, self.design_.names)

    def loo(self, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None) -> Any:
        """Score every row as if it had not been learnt: leave-one-out by Pareto-smoothed importance sampling.

        Parameters
        ----------
        X, y, sample_weight : the rows that were learnt, or some of them, with their labels and weights
        target : {"label"}, as in `NaiveBayes.loo`; a regression knows no p(x, y)

        Returns
        -------
        arviz.ELPDData
            `elpd`, the sum of log p(y_i | x_i, all other rows), and `elpd_i`, row by row; `pareto_k`: above `good_k`
            the draws know too little of what is left without the row, which a `ParetoWarning` reports. `az.compare`
            takes it, and `bayesnb.compare` this model beside naive Bayes, whose leave-one-out is exact.

        Notes
        -----
        Without row i, draws are as probable as with it, times 1 / p(y_i | x_i, draw): Vehtari, Simpson, Gelman, Yao and
        Gabry (2024). All draws are taken, or some, evenly spaced, for more than some ten thousand rows. Of a row with a
        weight all of it goes; `elpd` is then the weighted mean score, times the number of rows, those of weight zero
        apart.
        """
        index, rows = self._learnt_rows(X, y, sample_weight)
        scores = self._loo_scores(rows, target)
        return results.elpd.sampled_elpd(scores.pointwise, index, scores.k, scores.draws, results.elpd.WeightedLOO)

    def _loo_scores(self, rows: Rows, target: str) -> ImportanceScores:
        if target != "label":
            raise ValueError(f"target must be 'label', got {target!r}: a regression says nothing about x.")
        size = self.chains_ * self.draws_
        most = max(NUMBERS // len(rows.codes), LEAST)
        scores = regression_loo(self._log_likelihood(rows, thinned(size, most)), rows)
        warn_pareto(scores, most)
        return scores

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[NaiveBayes, RegressionData]:
        """Return the estimator that reads the columns, and the rows; a row of weight zero is no row."""
        estimator = NaiveBayes(self.families, dependence=None, n_jobs=self.n_jobs).fit(X, y, sample_weight)
        classes = estimator.classes_
        if len(classes) < 2:
            raise ValueError(f"y has one class, {classes.tolist()[0]!r}: there is nothing to tell apart.")
        index, rows = estimator._counting_rows(X, y, sample_weight)
        design = Design.learn(estimator.schema_.blocks, rows.cells, rows.weight, bool(self.squares))
        return estimator, RegressionData(design, rows, classes, index)

    @property
    def schema_(self) -> Schema:
        """The schema by which tables are read."""
        return self.estimator_.schema_

    @property
    def _linear(self) -> LinearDraws:
        return LinearDraws(*results.sampled_trees.draws(self.datatree_))

    def _read(self, X: Any) -> tuple[Table, list[Cells]]:
        """Return the table and the cells; an invalid cell is an error."""
        self._check_fitted()
        table, cells = self.estimator_._read(X)
        self.schema_.check_cells(cells)
        return table, cells

    def _joint(self, X: Any) -> tuple[Array, list[Cells]]:
        """log p(y | x, D) of every row, and the cells of the rows."""
        (table, cells), linear = self._read(X), self._linear
        row_blocks = linear.row_blocks(table.rows)
        parts = in_order(lambda rows: linear.log_mean(self.design_.terms(cells, rows)), row_blocks, self.n_jobs)
        joint = np.concatenate(list(parts))
        return joint, cells

    def _weighed(self, cells: Sequence[Cells], draws: Array, observed: bool) -> Iterator[Weighed]:
        linear = self._linear[draws]
        for rows in linear.row_blocks(cells[0].shape[0], NUMBERS):
            proba = linear.proba(self.design_.terms(cells, rows)).swapaxes(0, 1)
            yield rows, np.zeros(proba.shape[:2]), proba

    def _log_likelihood(self, rows: Rows, draws: Array) -> Array:
        """log p(y | x, theta) of the label of every row, `(s, r)`."""
        linear, log_likelihood = self._linear[draws], np.empty((len(draws), len(rows.codes)))
        for part in linear.row_blocks(len(rows.codes)):
            log_proba = linear.proba(self.design_.terms(rows.cells, part), log=True)
            log_likelihood[:, part] = log_proba[np.arange(len(log_proba)), :, rows.codes[part]].T
        return log_likelihood

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        raise ValueError(
            f"row {row} has scores that no float holds: a number is out of all proportion to those learnt. Look at it."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


def logistic(X: Any, y: Any, families: Any = "auto", *, sample_weight: Any = None, **options: Any) -> Logistic:
    """Sample a Bayesian logistic regression: `Logistic(families, **options).fit(X, y, sample_weight)`."""
    return Logistic(families, **options).fit(X, y, sample_weight)
