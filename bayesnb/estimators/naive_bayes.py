"""Naive Bayes over columns of any kind, and presets with one family for all columns.

`NaiveBayes` combines mixins over one fitted model.

Presets have scikit-learn's names and arguments; `var_smoothing` has no effect, because a prior
replaces it. With a plug-in estimate, they also have its fitted attributes, read-only. Their
`class_prior` is None (learnt, under a Dirichlet(1)), "empirical", "uniform", or known probabilities
in the order of `classes_`; `fit_prior=False` is "uniform". For scikit-learn's own numbers:
`estimate="mean", class_prior="empirical"` in the discrete classes, `estimate="mle",
class_prior="empirical"` in `GaussianNB`.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import estimators, persistence
from bayesnb.data.families import resolve_names
from bayesnb.estimators.base import name_features
from bayesnb.estimators.cross_validation import CrossValidation
from bayesnb.estimators.inspection import InspectionMixin
from bayesnb.estimators.learning import IncrementalMixin
from bayesnb.estimators.uncertainty import UncertaintyMixin
from bayesnb.families import (
    Bernoulli,
    Beta,
    Categorical,
    Codes,
    Dirichlet,
    Family,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
)
from bayesnb.families.base import Array
from bayesnb.model.fitted import Fitted
from bayesnb.model.product import Model
from bayesnb.persistence import Saved

VAR_SMOOTHING = 1e-9  # scikit-learn's default
LEAST_ALPHA = 1e-10  # scikit-learn raises a smaller alpha to this if force_alpha=False


class NaiveBayes(
    UncertaintyMixin,
    InspectionMixin,
    CrossValidation,
    IncrementalMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Naive Bayes classifier over columns of any kind, with the exact posterior of all parameters.

    If you declare nothing, everything is chosen by held-out log loss: ``NaiveBayes()``. If you
    declare families, the model is what you declared: ``NaiveBayes("gaussian")`` is plain Gaussian
    naive Bayes.

    Parameters
    ----------
    families : "auto", Family, str or dict, default="auto"
        The distribution of the columns: one family for all, or a mapping from columns, or from
        tuples of columns that are modelled jointly, to families. A family can be given by its name
        in lower case: ``"gaussian"``, ``"categorical"``, ``"multivariate"``, ``"gaussian:shared"``.
        Columns that a mapping leaves out are treated as under ``"auto"``; None or ``"drop"`` drops
        a column.

        ``"auto"`` looks at the cells of each column. Booleans, and numbers that are only 0 and 1,
        are ``Bernoulli``; text and categories are ``Categorical``; lists of words, and sparse
        counts, are ``Multinomial``. Other numbers are a ``Histogram``, a density of any shape,
        unless another candidate predicts the label clearly better from this column alone, by more
        than 2 nats of exact leave-one-out log score: ``Gaussian``; ``Categorical``, where there are
        at most 20 distinct numbers, in five rows each on average; ``Poisson``, where all are
        counts. In the same way the prior of levels is flat, or follows the shares of all rows. See
        ``BestOf`` and ``choices_``.

        Units do not matter: shifting a column of numbers, or multiplying it by a positive number,
        changes nothing but round-off. There are two exceptions: a column of 0 and 1 becomes a
        column of two other numbers, and counts are Poisson only while they are whole numbers of at
        least 0.
    class_prior : float, Dirichlet, "uniform", "empirical" or dict, default=1.0
        The prior of the class probabilities: a concentration; a ``Dirichlet``, in the order of
        ``classes``, or of ``classes_`` where that is None; ``"uniform"``, all classes equally
        probable; ``"empirical"``, the shares of the rows; or ``{label: probability}``, known
        probabilities.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``. A declared class without rows keeps its prior
        probability.
    temper : "auto", "columns", "loo", "none", float or None, default="auto"
        Exponents: weights of the columns' evidence. Naive Bayes is overconfident if columns depend
        on each other, because it counts their common evidence twice. With exponents w, the score
        of a class is log p(c) + sum_j w_j log p(x_j | c).

        - None: all are 1, which is plain naive Bayes. A number: all are that number.
        - ``"loo"``: one exponent for all columns, between 0 and 1, found at ``fit``.
        - ``"columns"``: one for each column, or block of columns that are modelled jointly, 0 or
          more, found at ``fit``. All are nearly the same if there are many more columns than rows,
          and nearly 0 if they predict no better than the shares of the classes. The exponent of a
          block of words can decrease with the length of a text, see ``temper_length_``.
        - ``"auto"``: ``"columns"`` if no family is declared (columns may be dropped) and
          ``estimate`` is ``"predictive"``, else None.
    dependence : "auto", "all", "pairs", "forest", "covariance", "none" or None, default="auto"
        Dependence between columns, given the class. A link between two columns multiplies their
        distributions by the ratio p(cell | other cell) / p(cell). It is kept if its log Bayes
        factor against independence exceeds 3 log(1 + number of columns that vary) nats. See
        ``links_``. The covariance models the columns jointly, as one Gaussian for each class, in
        addition to their own distributions. See ``covariance_``.

        - None: columns are independent given the class, which is naive Bayes.
        - ``"forest"``: the links of the maximum spanning forest, a joint distribution of the
          columns.
        - ``"pairs"``: also further links, the strongest first, up to 60, or up to one for each 15
          rows and 120 in all. Together, the links are not a joint distribution: ``sample``,
          ``log_density`` and ``log_evidence_`` are those of the forest.
        - ``"covariance"``: one Gaussian over the columns of numbers, or also over indicators of
          levels, or also over products of two indicators, which capture rules that combine levels.
          There can be 200 of these, each needs three rows, a quarter of all rows must be complete,
          and the exact leave-one-out log score of the labels must gain more than 2 nats. The same
          score chooses what the Gaussian includes and its prior, which ranges from a covariance of
          each class to one that all classes share.
        - ``"all"``: ``"pairs"`` and ``"covariance"``.
        - ``"auto"``: ``"all"`` if no family is declared (columns may be dropped) and ``estimate``
          is ``"predictive"``, else None.

        All of these need ``estimate="predictive"``. Under ``temper="columns"``, each link and the
        covariance have exponents. ``partition`` finds blocks of columns to model jointly.
    missing : {"omit", "auto"}, default="omit"
        Treatment of missing cells. ``"omit"``: they are left out. ``"auto"``: that a cell is
        missing also counts as evidence, if it predicts the label: by itself it must gain more than
        2 nats plus the log of the number of columns with missing cells in exact leave-one-out log
        score.
        Such a column gets a ``Bernoulli`` flag, which has its own exponent under
        ``temper="columns"``. See ``missing_``.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use, within
        ``OMP_NUM_THREADS`` and the like.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, with all parameters integrated out; or with
        every parameter, class probabilities included, plugged in at its posterior mean, its mode,
        or its maximum likelihood estimate. With smoothing l, (n + l) / (N + l K) is ``"mean"``
        under Dirichlet(l), and ``"map"`` under Dirichlet(1 + l).

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : array
        Names of the columns, if all are text.
    target_name_ : str
        Name of the labels, if `y` has one, as a pandas series can.
    families_ : dict
        The family of each column, as declared, inferred or chosen.
    choices_ : xarray.Dataset
        How families were chosen among candidates, ``(feature, candidate)``: the label's exact
        leave-one-out score by each.
    prior_ : dict
        Prior beliefs by column, the classes on their first axis. A block of columns is one entry.
    posterior_ : dict
        Posterior beliefs, in the same form.
    class_prior_ : Dirichlet
        The prior of the class probabilities.
    class_posterior_ : Dirichlet
        The posterior of the class probabilities.
    stats_ : object
        Sufficient statistics of all training rows; its ``classes.counts`` are the weights of the
        classes.
    log_evidence_ : float
        log p(X, y | prior), exact. That of ``Histogram`` columns is relative to the distribution of
        all rows, so it is comparable only between models with the same such columns; compare with
        other families by ``loo``.
    temper_ : float or pandas.Series
        The exponents in use: a number, or one for each column or block.
    temper_sd_ : float or pandas.Series
        Their Laplace standard deviations, in the same form; 0 for a number that was given.
    temper_length_ : pandas.Series or None
        For blocks of words whose exponent decreases with the length of a text, the number of words
        at which it is half.
    links_ : xarray.Dataset
        The links between columns: their ends, evidence and exponents.
    missing_ : xarray.Dataset or None
        The columns whose missing cells are evidence, what their flags gained, and their exponents.
    unlabelled_weight_ : float
        Weight of a row without a label, if ``fit`` was given an ``unlabelled_weight``.
    covariance_ : xarray.Dataset or None
        The columns that are also modelled as one Gaussian, the prior of its covariance, its gain in
        log score, and its exponent.

    See Also
    --------
    GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, PoissonNB :
        One family for all columns, with scikit-learn's arguments.
    bayesnb.mcmc.fit : The same model sampled with PyMC, with options that have no closed form.
    bayesnb.scale.fit_files : Learn from files of any size.
    load : Read a saved estimator.

    Notes
    -----
    *Exact.* The model keeps only sufficient statistics of the rows. Posterior, predictive,
    evidence, leave-one-out, intervals and explanations follow from them in closed form, or with a
    bounded numerical error. ``fit`` draws nothing. If classes share parameters, so that an interval
    has no closed form, it is drawn, with a ``DrawnWarning``.

    *Missing cells* are left out by ``fit``, and integrated out exactly by ``predict``; with
    ``missing="auto"``, that a cell is missing can also be evidence. The columns of a frame are
    matched by name; other names, or another order, raise scikit-learn's error.

    *Batches.* If families are declared, ``partial_fit`` in any batches equals ``fit``, new levels
    included. Whatever is chosen from data comes from the first batch: families, links, blocks, the
    cuts of histograms, and priors such as that of ``Gaussian()``.

    *Exponents* are chosen empirically and are not part of the likelihood. They enter predictions,
    intervals, entropies, explanations, leave-one-out scores of labels, and decisions.
    ``log_evidence_``, ``log_density`` and ``sample`` are those of the model with exponent 1, the
    links of the forest, and no covariance; the parameters in ``to_datatree``, and those sampled by
    MCMC, are those of the columns alone. Exponents are found by the exact leave-one-out log score
    of the labels under the posterior predictive, whatever the ``estimate``. A single exponent has
    the prior log t ~ Normal(0, 0.5**2). Those of f columns have the prior Normal(t, (v t)**2),
    where t is the posterior mean of one for all under log t ~ Normal(-log(f) / 2, 0.5**2), and they
    are averaged over the width v, log v ~ Normal(0, 1), by the evidence of each (Laplace);
    ``temper_sd_`` are standard deviations of that average. Those of links have the same prior
    around t / 4, because the columns themselves carry most of the evidence; that of the covariance
    has the prior of a column. An exponent of 0 leaves its column out. That of words is
    w / (1 + n / n0) for a text of n words, because words of one text repeat each other; n0 is a
    power of 2, found by the same score, if this beats one exponent for all texts by a nat.

    *Many columns.* With more than 500 columns, the 499 that predict the label best by themselves
    have their own exponents, and all others share one. With more than 600, links are only searched
    for among the 600 best, and a warning says so.

    *Many rows.* With more than 10,000 rows, exponents are found on a subset that is spread evenly
    over every class. Under ``"columns"``, ``partial_fit`` scores each batch before learning it; the
    result is the prior for the next batch, and n0 is that of the first. ``"loo"`` uses the last
    batch. ``merge``, ``forget`` and ``decay`` keep the exponents. With files and Dask, at most
    10,000 rows are kept for this purpose, and each of them is left out of the model that scores it.

    Dask arrays and dataframes are fitted in one pass over their partitions, and predicted lazily:
    see ``bayesnb.scale``.

    Examples
    --------
    >>> from bayesnb import NaiveBayes
    >>> X = [[1.0, "a"], [1.2, "a"], [3.0, "b"], [3.1, "a"]]
    >>> model = NaiveBayes().fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[1.1, "a"]]).tolist()
    ['low']

    Families that are declared, and plain naive Bayes with them:

    >>> model = NaiveBayes({0: "gaussian", 1: "categorical"}).fit(X, ["low", "low", "high", "high"])
    >>> model.predict_proba([[1.1, "a"], [3.0, None]]).round(2)  # classes: high, low
    array([[0.08, 0.92],
           [0.88, 0.12]])
    """

    def __init__(
        self,
        families: Any = "auto",
        *,
        class_prior: Any = 1.0,
        classes: Any = None,
        temper: Any = "auto",
        dependence: Any = "auto",
        missing: str = "omit",
        n_jobs: int | None = None,
        estimate: str = "predictive",
    ) -> None:
        self.families = families
        self.class_prior = class_prior
        self.classes = classes
        self.temper = temper
        self.dependence = dependence
        self.missing = missing
        self.n_jobs = n_jobs
        self.estimate = estimate

    def _families(self) -> Any:
        return resolve_names(self.families)

    def _params_declaring(self, families: dict[Hashable, Any]) -> dict[str, Any]:
        if isinstance(self._families(), Family):
            return {"families": next(iter(families.values()))}
        # keep what "auto" meant before families were declared
        return {
            "families": families,
            "temper": self._temper_rule,
            "dependence": self._dependence_rule,
        }

    @property
    def _class_prior(self) -> Any:
        if isinstance(self.class_prior, (list, tuple, np.ndarray)):
            raise ValueError(
                "class_prior: a bare array may mean concentrations or probabilities. "
                "Use Dirichlet([...]) for concentrations, {label: probability} for probabilities."
            )
        return self.class_prior

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file that ``bayesnb.load`` reads.

        Parameters
        ----------
        path : str or os.PathLike
            Name of the file, such as ``"model.bnb"``. An existing file is replaced once the new one
            is completely on the disk.

        Raises
        ------
        ValueError
            For families or estimators that are not bayesnb's, and for labels or levels that are
            neither text nor numbers.

        See Also
        --------
        load : Read a saved estimator.
        bayesnb.scale.dumps : Statistics of some rows as bytes.

        Notes
        -----
        The file is a zip archive of ``model.json``, arrays in NumPy's format, and checksums. It
        holds no code. Metadata routing requests are not saved.

        Examples
        --------
        >>> import os, tempfile
        >>> from bayesnb import GaussianNB, load
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> path = os.path.join(tempfile.mkdtemp(), "model.bnb")
        >>> model.save(path)
        >>> bool((load(path).predict_proba([[2.0]]) == model.predict_proba([[2.0]])).all())
        True
        """
        persistence.write(describe_saved(self), path)

    @classmethod
    def _restored(cls, saved: Saved) -> Self:
        """Return the saved estimator."""
        estimator = cls(**saved.params)
        estimator._check_arguments()
        seen = saved.shard
        name_features(estimator, seen.schema.columns)
        estimator.target_name_ = saved.target
        model = Model(saved.prior, seen.stats, seen.integer_weights)
        return estimator._set_fitted(Fitted(seen.classes, seen.schema, model, saved.temper))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        family = self._families()
        inputs = tags.input_tags
        if isinstance(family, Family):
            inputs.allow_nan, inputs.sparse = family.missing, not family.has_levels
            inputs.categorical = inputs.string = family.has_levels
            inputs.positive_only = family.positive_only
            tags.classifier_tags.poor_score = not family.continuous
        else:  # sparse tables are accepted only if they hold counts, so the tag is not set
            inputs.allow_nan = inputs.string = True
        return tags


# Presets


@dataclass_transform(kw_only_default=True, eq_default=False)
def preset[T](estimator: type[T]) -> type[T]:
    """Make a dataclass for its `__init__` only; `repr` and equality are the estimator's."""
    return dataclass(kw_only=True, eq=False, repr=False)(estimator)


@preset
class Preset(NaiveBayes):
    """One family for all columns, and scikit-learn's parameters for the class prior."""

    fit_prior: bool = True
    class_prior: Any = None
    classes: Any = None
    temper: Any = None
    n_jobs: int | None = None
    estimate: str = "predictive"

    def _params_declaring(self, families: dict[Hashable, Any]) -> dict[str, Any]:
        (family,) = families.values()
        return {"prior": family.prior}

    @property
    def class_count_(self) -> Array:
        """Weighted count of the rows of each class, ``(c,)``."""
        return np.array(self.stats_.classes.counts)

    @property
    def class_log_prior_(self) -> Array:
        """Log probability of each class that is plugged in, ``(c,)``."""
        return np.array(self._plugged_in().log_class)

    def _plugged_in(self) -> Any:
        """Return the plug-in parameters; an AttributeError if they are integrated out."""
        self._check_fitted()
        if self.estimate == "predictive":
            raise AttributeError(
                "estimate='predictive' integrates the parameters out, so there are no fitted "
                "values of them. Use estimate='mean', 'map' or 'mle' for scikit-learn's "
                "attributes, or `posterior_` for their posterior."
            )
        return self._predictor()

    @property
    def _class_prior(self) -> Any:
        """Prior of the class probabilities, from `class_prior` or `fit_prior`."""
        return self.class_prior if self.fit_prior or self.class_prior is not None else "uniform"


@preset
class GaussianNB(Preset):
    """Gaussian naive Bayes: columns of real numbers with unknown means and variances.

    It is ``NaiveBayes`` with the family ``Gaussian`` in all columns, under scikit-learn's name and
    arguments. The predictive is Student's t, exact.

    Parameters
    ----------
    prior : NormalInverseGamma or None, default=None
        The prior of means and variances. None: a weak one on the scale of the data, see
        ``Gaussian``.
    shared : bool, default=False
        Whether a column has one variance for all classes.
    priors : array or None, default=None
        Probabilities of the classes: scikit-learn's name for ``class_prior`` in this class.
    var_smoothing : float, default=1e-09
        Accepted for compatibility with scikit-learn. It has no effect, because a prior replaces it,
        and any value but the default is an error: use ``prior``.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False means ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, or with the parameters plugged in at their
        posterior mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only with a plug-in estimate.
    theta_ : array
        Mean of each class and column. Only with a plug-in estimate.
    var_ : array
        Variance of each class and column. Only with a plug-in estimate.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Gaussian : The family, and its prior.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    For scikit-learn's own numbers, with ``var_smoothing=0``: ``estimate="mle",
    class_prior="empirical"``.

    Examples
    --------
    >>> from bayesnb import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
    >>> model.predict_proba([[1.1]]).round(2)  # classes: high, low
    array([[0.11, 0.89]])
    """

    prior: NormalInverseGamma | None = None
    shared: bool = False
    priors: Any = None
    var_smoothing: float = VAR_SMOOTHING

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.var_smoothing != VAR_SMOOTHING:
            raise ValueError(
                f"var_smoothing must be {VAR_SMOOTHING}, scikit-learn's default, which does "
                f"nothing here; got {self.var_smoothing!r}. What keeps variances from 0 is the "
                "prior: prior=NormalInverseGamma(mean=..., count=..., shape=..., scale=...). For "
                "maximum likelihood, which is scikit-learn's var_smoothing=0, use estimate='mle'."
            )

    @property
    def theta_(self) -> Array:
        """Mean of each class and column that is plugged in, ``(c, f)``."""
        return np.array(self._plugged_in().blocks[0].mean)

    @property
    def var_(self) -> Array:
        """Variance of each class and column that is plugged in, ``(c, f)``."""
        return np.array(self._plugged_in().blocks[0].variance)

    def _families(self) -> Gaussian:
        return Gaussian(self.prior, self.shared)

    @property
    def _class_prior(self) -> Any:
        if self.priors is None:
            return super()._class_prior
        if self.class_prior is not None or not self.fit_prior:
            raise ValueError(
                "priors, class_prior and fit_prior set the same prior: give one of them."
            )
        if np.ndim(self.priors) != 1:
            raise ValueError(
                "priors must be probabilities in the order of the classes, as in scikit-learn, "
                f"got {self.priors!r}. class_prior takes other forms too."
            )
        return np.asarray(self.priors, float)


@preset
class SmoothedPreset(Preset):
    """A preset whose prior is a number that is added to all counts."""

    alpha: Any = 1.0
    force_alpha: bool = True

    @property
    def _alpha(self) -> Any:
        """The number that scikit-learn adds."""
        return self.alpha if self.force_alpha else np.maximum(self.alpha, LEAST_ALPHA)

    def _params_declaring(self, families: dict[Hashable, Any]) -> dict[str, Any]:
        (family,) = families.values()
        alpha = getattr(family.prior, family.prior.__match_args__[0])
        if alpha.ndim and isinstance(family, Categorical):
            alpha = alpha[..., 0]  # the last axis is that of levels
        return {"alpha": alpha if alpha.ndim else float(alpha)}


@preset
class MultinomialNB(SmoothedPreset):
    """Multinomial naive Bayes: counts, such as those of words, or lists of words.

    It is ``NaiveBayes`` with the family ``Multinomial``, under scikit-learn's name and arguments.
    The predictive is the Dirichlet-multinomial, exact. Weights that are not counts, such as tf-idf,
    are accepted as in scikit-learn, through the power likelihood: it is
    ``Multinomial(fractional=True)``.

    Parameters
    ----------
    alpha : float or array, default=1.0
        Concentration of the Dirichlet prior: a number, or numbers that broadcast to (class,
        feature).
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is used as given. False raises it to 1e-10, as scikit-learn
        does.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False means ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, or with the parameters plugged in at their
        posterior mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only with a plug-in estimate.
    feature_count_ : array
        Weighted count of each word in each class.
    feature_log_prob_ : array
        Log probability of each word in each class. Only with a plug-in estimate.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Multinomial : The family, raw text, and what the power likelihood means.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    For scikit-learn's own numbers: ``estimate="mean", class_prior="empirical"``. With
    smoothing ``alpha``, that is the posterior mean under Dirichlet(alpha).

    Examples
    --------
    >>> from bayesnb import MultinomialNB
    >>> model = MultinomialNB(alpha=0.5).fit([[2, 0], [1, 3], [4, 1]], ["spam", "ham", "spam"])
    >>> model.predict([[1, 0], [0, 2]]).tolist()
    ['spam', 'ham']
    """

    @property
    def feature_count_(self) -> Array:
        """Weighted count of each word in each class, ``(c, f)``."""
        return np.array(self.stats_.blocks[0].counts[:, 0])  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> Array:
        """Log probability of each word that is plugged in, ``(c, f)``."""
        return np.array(self._plugged_in().blocks[0].log_theta[:, 0])

    def _families(self) -> Multinomial:
        return Multinomial(Dirichlet(self._alpha), fractional=True)


@preset
class BernoulliNB(SmoothedPreset):
    """Bernoulli naive Bayes: columns of zeros and ones, or of yes and no.

    It is ``NaiveBayes`` with the family ``Bernoulli`` in all columns, under scikit-learn's name and
    arguments. Probabilities are exact.

    Parameters
    ----------
    alpha : float or array, default=1.0
        Both sides of the Beta prior: a number, or numbers that broadcast to (class, feature).
    binarize : float or None, default=0.0
        Numbers above this are ones, all others zeros. None: cells are zeros and ones already.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is used as given. False raises it to 1e-10, as scikit-learn
        does.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False means ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, or with the parameters plugged in at their
        posterior mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only with a plug-in estimate.
    feature_count_ : array
        Weighted count of ones in each class and column.
    feature_log_prob_ : array
        Log probability of a one in each class and column. Only with a plug-in estimate.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Bernoulli : The family, and its prior.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    For scikit-learn's own numbers: ``estimate="mean", class_prior="empirical"``. With
    smoothing ``alpha``, that is the posterior mean under Beta(alpha, alpha).

    Examples
    --------
    >>> from bayesnb import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict_proba([[1, 0]]).round(2)  # classes: ham, spam
    array([[0.16, 0.84]])
    """

    binarize: float | None = 0.0

    @property
    def feature_count_(self) -> Array:
        """Weighted count of ones in each class and column, ``(c, f)``."""
        return np.array(self.stats_.blocks[0].ones)  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> Array:
        """Log probability of a one that is plugged in, ``(c, f)``."""
        return np.array(self._plugged_in().blocks[0].log_sides[1])

    def _families(self) -> Bernoulli:
        return Bernoulli(Beta(self._alpha, self._alpha), threshold=self.binarize)


@preset
class CategoricalNB(SmoothedPreset):
    """Categorical naive Bayes: columns of levels.

    It is ``NaiveBayes`` with the family ``Categorical`` in all columns, under scikit-learn's name
    and arguments. Integers are codes: 0, 1, ... up to the largest that occurs are levels; text and
    categories are levels too. If there are codes of 65,536 or more and fewer than one code in 16
    occurs, as with customer numbers, only those that occur are levels (and those below
    ``min_categories``). Probabilities are exact.

    Parameters
    ----------
    alpha : float or array, default=1.0
        Concentration of the Dirichlet prior: a number, or numbers that broadcast to (class,
        feature).
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is used as given. False raises it to 1e-10, as scikit-learn
        does.
    min_categories : int, array or None, default=None
        The minimum number of levels: one for all features, or one for each.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        Treatment of levels that did not occur in training, as in ``Categorical``.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False means ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, or with the parameters plugged in at their
        posterior mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only with a plug-in estimate.
    n_categories_ : array
        Number of levels of each column.
    category_count_ : list of array
        Weighted count of each level in each class, for each column.
    feature_log_prob_ : list of array
        Log probability of each level in each class, for each column. Only with a plug-in
        estimate.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Categorical : The family, and its prior.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    For scikit-learn's own numbers: ``estimate="mean", class_prior="empirical"``. With
    smoothing ``alpha``, that is the posterior mean under Dirichlet(alpha).

    Examples
    --------
    >>> from bayesnb import CategoricalNB
    >>> model = CategoricalNB().fit([["red"], ["white"], ["red"]], ["wine", "wine", "juice"])
    >>> model.predict_proba([["white"]]).round(2)  # classes: juice, wine
    array([[0.31, 0.69]])
    """

    min_categories: Any = None
    unseen: str = "ignore"

    @property
    def n_categories_(self) -> Array:
        """Number of levels of each column, ``(f,)``."""
        return np.array(self.stats_.blocks[0].sizes)  # type: ignore[attr-defined]

    @property
    def category_count_(self) -> list[Array]:
        """Weighted count of each level in each class, ``(c, k)`` for each column."""
        return self._by_column(self.stats_.blocks[0].counts)  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> list[Array]:
        """Log probability of each level that is plugged in, ``(c, k)`` for each column."""
        return self._by_column(self._plugged_in().blocks[0].log_theta)

    def _by_column(self, values: Array) -> list[Array]:
        return np.split(np.array(values), np.cumsum(self.n_categories_)[:-1], axis=1)

    def _families(self) -> Categorical:
        alpha = np.asarray(self._alpha, float)
        levels = Codes() if self.min_categories is None else Codes(self.min_categories)
        return Categorical(
            Dirichlet(alpha[..., None] if alpha.ndim else alpha), levels=levels, unseen=self.unseen
        )


@preset
class PoissonNB(Preset):
    """Poisson naive Bayes: columns of counts, each with a rate.

    It is ``NaiveBayes`` with the family ``Poisson`` in all columns. The predictive is negative
    binomial, exact. Numbers that are not counts are accepted, through the power likelihood rate**x
    exp(-rate), which is not a distribution over x.

    Parameters
    ----------
    prior : Gamma or None, default=None
        The prior of the rates. None: worth one event, at the rate of all classes together.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False means ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All possible labels. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        How to predict: by the posterior predictive, or with the parameters plugged in at their
        posterior mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only with a plug-in estimate.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Poisson : The family, and its prior.
    MultinomialNB : Counts out of one total, such as the words of a text.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    scikit-learn has no such class; the arguments are those of its other classes.

    Examples
    --------
    >>> from bayesnb import PoissonNB
    >>> calls = [[0], [1], [0], [5], [7]]
    >>> model = PoissonNB().fit(calls, ["quiet", "quiet", "quiet", "busy", "busy"])
    >>> model.predict([[1], [4]]).tolist()
    ['quiet', 'busy']
    """

    prior: Gamma | None = None

    def _families(self) -> Poisson:
        return Poisson(self.prior, fractional=True)


# Files


def describe_saved(estimator: NaiveBayes, note: Any = None) -> Saved:
    """Return what is saved of a fitted estimator, with a note."""
    check_is_fitted(estimator)
    kind = type(estimator)
    if not kind.__module__.startswith(f"{__package__}."):
        raise ValueError(
            f"{kind.__module__}.{kind.__qualname__} is not an estimator of bayesnb, so a file "
            "without code cannot hold it. Fit one of bayesnb's, such as NaiveBayes, with the "
            "same parameters."
        )
    estimator._check_arguments()
    params = estimator.get_params(deep=False)
    if hasattr(params["classes"], "__array__"):  # a series or an index of a frame's library too
        params["classes"] = np.asarray(params["classes"])
    fitted = estimator.fitted_
    return Saved(
        kind.__name__,
        params,
        fitted.shard,
        fitted.model.prior,
        fitted.temper,
        note=note,
        target=getattr(estimator, "target_name_", None),
    )


def load(path: Any) -> NaiveBayes:
    """Read a fitted estimator from a file that ``save`` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        Name of the file.

    Returns
    -------
    NaiveBayes or a preset
        The estimator that was saved, with all its methods, ``partial_fit`` included.

    Raises
    ------
    ValueError
        For a file that is damaged or changed, is not a bayesnb model file, or has a newer format.
        The message says which.

    See Also
    --------
    NaiveBayes.save : Write the file.
    Live.open : Read a model that is updated while it predicts.

    Notes
    -----
    Files from untrusted sources are safe to open: no code in a file is run, and reading it takes at
    most a few dozen times its size in memory, plus some hundred megabytes. The model in it may
    still be malicious, and give wrong predictions; the file does not prove who made it.

    Examples
    --------
    >>> import os, tempfile
    >>> from bayesnb import GaussianNB, load
    >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.bnb")
    >>> model.save(path)
    >>> load(path).predict([[1.1]]).tolist()
    ['low']
    """
    return opened(path)[0]


def opened(path: Any) -> tuple[NaiveBayes, Any]:
    """Return a fitted estimator from its file, and its note."""
    saved = persistence.read(path)
    with persistence.reading_errors(path):
        return getattr(estimators, saved.estimator)._restored(saved), saved.note
