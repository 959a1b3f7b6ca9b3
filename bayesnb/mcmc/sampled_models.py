"""The estimator of a model that was sampled with PyMC.

Given a draw, everything else is conjugate and is integrated out, so results are means over draws of
closed forms.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from bayesnb import results
from bayesnb.data import is_lazy
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.base import read_rows
from bayesnb.estimators.cross_validation import TARGETS, read_learnt_rows
from bayesnb.estimators.prediction import check_choice, dask_room
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.families.certain import KnownDie
from bayesnb.inference.row_sampling import check_length, draw_codes, fill_table
from bayesnb.mcmc.ensemble import (
    Ensemble,
    draw_rows,
    explain,
    thin,
)
from bayesnb.mcmc.importance_weights import (
    ImportanceScores,
    draws_for,
    effective,
    ensemble_loo,
    few,
    warn_degenerate,
    warn_pareto,
)
from bayesnb.mcmc.pymc_model import ModelBuilder, ModelOptions
from bayesnb.mcmc.sampled_uncertainty import MAX_PROBABILITIES, DrawsClassifier, Weighed
from bayesnb.mcmc.sampling import ChainParameters, sample
from bayesnb.model.product import Rows
from bayesnb.numerics.threads import blocks
from bayesnb.results.drawn_trees import Variables

MAX_EXPLAINED_DRAWS = 200


@dataclass(eq=False, repr=False)
class Sampled(ModelOptions, ChainParameters, DrawsClassifier):
    """Classifier whose model is sampled with PyMC: an average of one conjugate model per draw.

    Only parameters without closed form are sampled, such as hyperparameters. Given a draw of them,
    everything else is exact. ``bayesnb.mcmc.fit`` makes one and fits it.

    Parameters
    ----------
    estimator : NaiveBayes or a preset
        Its families, priors and class prior are taken.
    collapse : bool, default=True
        Whether to integrate out everything with a closed form. False: theta is also sampled.
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
    hierarchical : {False, True, "base"}, default=False
        Whether hyperparameters are learnt, so that classes borrow strength from each other. True:
        of levels, flags and words the concentration ``alpha``, which multiplies the declared
        proportions; of Gaussian columns where the classes' means lie, how far apart they are, and
        how alike their variances are; of rates likewise. ``"base"``: the proportions of levels,
        flags and words too, up to 500 levels of a column, which pays where many classes have few
        rows. Where proportions are far from even, True alone learns too small an ``alpha`` to
        explain that.
    scale_prior : {None, "half-normal", "log-normal"}, default=None
        The prior of the standard deviations of Gaussian columns. None: the declared one.
    student : bool or float, default=False
        Whether Gaussian columns have Student's t, which outliers do not move: True, or the degrees
        of freedom.
    label_noise : float, Beta or None, default=None
        The probability that a label is wrong, or a ``Beta`` about it.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    datatree_ : xarray.DataTree
        The draws, in ArviZ's groups.
    estimator_ : NaiveBayes or a preset
        The closed-form estimator, fitted on the same rows.
    temper_ : float or pandas.Series
        Exponents on the evidence of the columns: those of ``estimator_``.

    See Also
    --------
    bayesnb.mcmc.fit : Make one, and fit it.
    bayesnb.NaiveBayes : Models in closed form, without sampling.

    Notes
    -----
    Results have a Monte Carlo error, which a ``SamplingWarning`` reports if it is large.

    Examples
    --------
    >>> from bayesnb import GaussianNB, mcmc
    >>> X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> drawn = mcmc.Sampled(GaussianNB(), hierarchical=True, rng=1).fit(X, y)  # doctest: +SKIP
    >>> drawn.predict([[1.1], [2.9]]).tolist()  # doctest: +SKIP
    ['low', 'high']
    """

    estimator: Any
    _: KW_ONLY
    collapse: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None) -> Self:
        """Sample the model, given labelled rows and perhaps unlabelled ones.

        Parameters
        ----------
        X : table of rows
            The rows to learn from. A missing cell is left out.
        y : sequence of labels
            One for each row.
        sample_weight : sequence of float or None, default=None
            Weights of the rows: powers of their likelihood.
        unlabelled : table of rows or None, default=None
            Unlabelled rows, which are informative about the features and so about the classes.

        Returns
        -------
        self : Sampled
            The fitted estimator.

        Warns
        -----
        SamplingWarning
            If chains have not converged, have too few effective draws, or diverged.

        See Also
        --------
        bayesnb.mcmc.fit : The same in one call.
        """
        self._check_chains()
        self._check_options()
        rng = np.random.default_rng(self.rng)
        builder = ModelBuilder(self, self.estimator, X, y, sample_weight, unlabelled)
        theta = builder.closed_form or not self.collapse
        model = builder.build(theta)
        traces = sample(model, self, rng, builder.start(model))
        ensemble = builder.make_ensemble(traces, theta)
        seed = int(rng.integers(1 << 31))
        sampled = copy(self)  # errors from here on leave the estimator unchanged
        sampled._answer_by(builder.estimator, ensemble, traces["posterior"].sizes["chain"], seed)
        sampled.datatree_ = sampled._datatree(traces, builder)
        self.__dict__ = sampled.__dict__
        return self

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """Number of threads of the underlying estimator."""
        return self.estimator_.n_jobs

    def _answer_by(self, estimator: NaiveBayes, ensemble: Ensemble, chains: int, seed: int) -> Self:
        """Set an ensemble, chain after chain, and the estimator that reads tables."""
        self.estimator_, self.ensemble_, self.seed_ = estimator, ensemble, seed
        self.chains_, self.draws_ = chains, ensemble.size // chains
        return self._adopt(
            estimator,
            "classes_",
            "temper_",
            "temper_sd_",
            "temper_length_",
            "n_features_in_",
            "feature_names_in_",
        )

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y | D) of each class: the log of the mean over the draws.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted. A missing cell is integrated out.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns are in the order of ``classes_``.

        See Also
        --------
        predict_proba : The class probabilities.
        """
        if is_lazy(X):
            return dask_room().answer("predict_joint_log_proba", self, X)
        joint, cells = self._joint(X)
        if not np.isfinite(joint).all():
            self.estimator_.schema_.check_cells(cells)
        return joint

    def log_density(self, X: Any) -> Array:
        """Return log p(x | D) of each row, over all classes.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.

        Returns
        -------
        array of shape (n_rows,)
            The log of the mean over the draws, without exponents.

        See Also
        --------
        predict_joint_log_proba : Log joint density by class.
        """
        cells = self._read(X)
        self.estimator_.schema_.check_cells(cells)
        return self._log_density(cells)

    def explain(self, X: Any) -> "results.Result":
        """Return the contribution of every feature of every row to the score of each class.

        Like ``NaiveBayes.explain``, but over the draws: means are averaged, and a variance is the
        mean of the variances plus the variance of the means.

        Parameters
        ----------
        X : table of rows
            With the columns that were fitted.

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): ``evidence`` and ``sd``, posterior mean and standard
            deviation of the contribution; ``predictive``, the log predictive of the cell, averaged
            over draws. By class: ``class_term``, ``class_term_sd``, ``predictive_class_term``. By
            (obs_id, class): ``score``, the sum of ``class_term`` and ``evidence``, and
            ``score_sd``. By (obs_id, feature): ``cell``, its content as text.

        See Also
        --------
        bayesnb.NaiveBayes.explain : Explanations in closed form.

        Notes
        -----
        At most 200 draws are used, evenly spaced. ``predictive`` does not exactly add up to
        ``predict_joint_log_proba``, nor do the squared standard deviations to that of ``score_sd``,
        as cells share the sampled parameters.
        """
        self._check_fitted()
        table, cells = read_rows(self.estimator_, X)
        self.estimator_.schema_.check_cells(cells)
        draws = thin(self.ensemble_.size, MAX_EXPLAINED_DRAWS)
        explanation = explain(self.ensemble_, draws, cells, self.estimator_.fitted_.exponents)
        return results.explanations.explained(
            explanation,
            table.index,
            self.classes_,
            self.estimator_.schema_.blocks,
            cells,
            self.estimator_.fitted_.tempers,
        )

    def loo(
        self, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None
    ) -> "results.ShownScores":
        """Leave-one-out scores of rows, without sampling again.

        Given a draw, leave-one-out is exact. Draws are averaged with Pareto-smoothed importance
        weights.

        Parameters
        ----------
        X : table of rows
            The rows that were learnt, or a part of them.
        y : sequence of labels
            Their labels.
        target : {"label", "joint"}, default="label"
            ``"label"``: log p(y_i | x_i, all other rows), for comparing classifiers. ``"joint"``:
            log p(x_i, y_i | all other rows), without exponents.
        sample_weight : sequence of float or None, default=None
            The weights with which they were learnt.

        Returns
        -------
        arviz.ELPDData
            ``elpd``, the sum, ``se``, its standard error, ``p``, the in-sample minus the held-out
            sum, ``elpd_i``, by row, and ``pareto_k``. ``arviz.compare`` accepts it.

        Warns
        -----
        ParetoWarning
            If ``pareto_k`` is above ``good_k``: the posterior without the row differs too much from
            the draws.

        See Also
        --------
        bayesnb.compare : Compare models by leave-one-out.
        bayesnb.NaiveBayes.loo : Leave-one-out in closed form.

        Notes
        -----
        Leaving out row i gives draws weights 1 / p(x_i, y_i | draw, all other rows). At most 400
        draws are used, evenly spaced; fewer, at least 100, for more than 80,000 rows. With label
        noise, the score of a row is that of its observed label.

        References
        ----------
        Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024),
        Pareto smoothed importance sampling. JMLR 25.
        """
        index, rows = read_learnt_rows(self, X, y, sample_weight)
        scores = self._loo_scores(rows, target)
        return results.elpd.sampled_elpd(index, *scores)

    def sample(
        self, n: int, y: Any = None, *, length: Any = None, rng: Rng = None
    ) -> tuple[Any, Array]:
        """Draw new rows and their labels from the posterior predictive.

        Each row uses one of the draws, and parameters from the posterior given that draw.

        Parameters
        ----------
        n : int
            Number of rows.
        y : label, sequence of labels or None, default=None
            The labels of the rows. None: drawn too.
        length : int, sequence of int or None, default=None
            Number of words in each row, as in ``NaiveBayes.sample``.
        rng : None, int or numpy.random.Generator, default=None
            A seed or a generator.

        Returns
        -------
        X : table
            Like the training table.
        y : array
            Labels, as in ``classes_``.

        See Also
        --------
        bayesnb.NaiveBayes.sample : Sampling in closed form.
        """
        self._check_fitted()
        rng = np.random.default_rng(rng)
        schema = self.estimator_.schema_
        class_prob = np.exp(self.ensemble_.log_class(np.arange(self.ensemble_.size)))
        codes = draw_codes(n, y, self.classes_, class_prob.mean(axis=0), rng)
        check_length(length, n, schema.blocks)
        return fill_table(
            schema, draw_rows(schema, self.ensemble_, codes, length, rng)
        ), self.classes_[codes]

    def _loo_scores(self, rows: Rows, target: str) -> ImportanceScores:
        check_choice("target", target, TARGETS)
        power = self.estimator_.fitted_.exponents if target == "label" else 1.0
        most = draws_for(len(rows.codes))
        draws = thin(self.ensemble_.size, most)
        scores = ensemble_loo(self.ensemble_, rows, draws, power, target, self.n_jobs)
        warn_pareto(scores, most)
        return scores

    def _datatree(self, traces: Any, builder: ModelBuilder) -> "results.DataTree":
        """Return the draws of the sampler, theta for each, and the labels."""
        ensemble = self.ensemble_
        given = ensemble.class_prob is None and isinstance(ensemble.class_prior, KnownDie)

        def draw_parameters() -> Iterator[tuple[slice, Variables]]:
            for place, theta in ensemble.draw_theta(self.seed_):
                yield place, results.drawn_trees.parameters(theta, builder.layout, given)

        return results.drawn_trees.sampled_tree(
            traces,
            results.drawn_trees.DrawPlan(self.draws_, self.chains_, None),
            builder.layout,
            draw_parameters,
            self.estimator_.fitted_.temper_attributes,
            builder.index,
            builder.rows.codes,
        )

    def _read(self, X: Any) -> list[Cells]:
        self._check_fitted()
        return read_rows(self.estimator_, X)[1]

    def _joint(self, X: Any, warn: bool = True) -> tuple[Array, Sequence[Cells]]:
        cells = self._read(X)
        joint, counts = self.ensemble_.log_joint(
            cells, self.estimator_.fitted_.exponents, self.n_jobs
        )
        if warn:
            warn_degenerate(counts, self.ensemble_.size)
        return joint, cells

    def _log_density(self, cells: Sequence[Cells]) -> Array:
        joint, _ = self.ensemble_.log_joint(cells, 1.0, self.n_jobs)
        return np.logaddexp.reduce(joint, axis=1)

    def _weighed(self, cells: Sequence[Cells], observed: bool) -> Iterator[Weighed]:
        ensemble = self.ensemble_
        power = self.estimator_.fitted_.exponents
        rows_at_once = max(MAX_PROBABILITIES // (ensemble.size * ensemble.classes), 1)
        for rows in blocks(cells[0].shape[0], rows_at_once):
            part_cells = [x[rows] for x in cells]
            log_weight = np.zeros((ensemble.size, rows.stop - rows.start))
            proba = np.empty((*log_weight.shape, ensemble.classes))
            for draws, theta in ensemble.draw_theta(self.seed_, part_cells):
                for part, joint in theta.by_rows(part_cells, power, self.n_jobs):
                    if observed:
                        log_weight[draws, part] = np.logaddexp.reduce(joint, axis=-1).T
                    proba[draws, part] = theta.proba(joint, self.n_jobs).swapaxes(0, 1)
            if observed:
                observers = self.estimator_.schema_.observers
                for row in np.flatnonzero(few(effective(log_weight), ensemble.size)):
                    row_cells = [x[[row]] for x in part_cells]
                    log_weight[:, row], proba[:, row] = ensemble.condition_on_row(
                        self.seed_, observers, row_cells, power
                    )
            yield rows, log_weight, proba


def fit(
    model: Any,
    X: Any,
    y: Any,
    hierarchical: Any = False,
    *,
    sample_weight: Any = None,
    unlabelled: Any = None,
    **options: Any,
) -> Sampled:
    """Sample a model with PyMC, as it is or with options without closed form.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Its families, priors and class prior are used. It need not be fitted.
    X : table of rows
        The rows to learn from. A missing cell is left out.
    y : sequence of labels
        One for each row.
    hierarchical : {False, True, "base"}, default=False
        Whether hyperparameters are learnt, so that classes borrow strength from each other. True:
        of levels, flags and words the concentration ``alpha``, which multiplies the declared
        proportions; of Gaussian columns where the classes' means lie, how far apart they are, and
        how alike their variances are; of rates likewise. ``"base"``: the proportions of levels,
        flags and words too, up to 500 levels of a column, which pays where many classes have few
        rows. Where proportions are far from even, True alone learns too small an ``alpha`` to
        explain that.
    sample_weight : sequence of float or None, default=None
        Weights of the rows: powers of their likelihood.
    unlabelled : table of rows or None, default=None
        Unlabelled rows, which are informative about the features and so about the classes.
    **options
        Other parameters of ``Sampled``: ``draws=1000``, ``tune=1000``, ``chains=4``, ``rng``,
        ``sampler``, ``progressbar`` and ``sampling`` for the chains; ``scale_prior``, ``student``
        and ``label_noise`` for the model; ``collapse=False`` to sample theta too.

    Returns
    -------
    Sampled
        An estimator with ``predict``, ``predict_proba``, ``predict_interval``, ``uncertainty``,
        ``draw_proba``, ``explain``, ``loo``, ``decide``, and the draws in ``datatree_``.

    Raises
    ------
    ImportError
        If PyMC is not installed.
    TypeError
        For an unknown option.

    Warns
    -----
    SamplingWarning
        If chains have not converged, have too few effective draws, or diverged.

    See Also
    --------
    build : The PyMC model, to inspect or change.
    logistic : The discriminative model for the same columns.

    Notes
    -----
    Only parameters without closed form are sampled: given the hyperparameters, theta is integrated
    out, and drawn exactly for ``datatree_``. If everything has a closed form, theta is sampled, as
    a check. ``predict_proba`` is p(y | x, D): joint densities are averaged over draws, then
    normalised. Rows for which few draws have any weight give a ``DegenerateWarning``.

    With ``unlabelled`` or ``label_noise`` classes could be interchanged, so chains start at the
    posterior mean given the labelled rows.

    ``temper`` is used, with the exponents of the closed form; ``estimate`` is not. Links between
    columns, as in ``NaiveBayes()``, are left out.

    Examples
    --------
    >>> from bayesnb import GaussianNB, mcmc
    >>> X, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> drawn = mcmc.fit(GaussianNB(), X, y, hierarchical=True, rng=1)  # doctest: +SKIP
    >>> drawn.predict([[1.1], [2.9]]).tolist()  # doctest: +SKIP
    ['low', 'high']
    """
    known = [name for name in Sampled._get_param_names() if name != "estimator"]
    unknown = set(options) - set(known)
    if unknown:
        raise TypeError(
            f"fit has no option {min(unknown)!r}. There are {', '.join(known)}. "
            f"Other arguments of pymc.sample go in sampling={{{min(unknown)!r}: ...}}."
        )
    return Sampled(model, hierarchical=hierarchical, **options).fit(X, y, sample_weight, unlabelled)
