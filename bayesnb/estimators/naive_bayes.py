"""Naive Bayes over columns of any kind: five capabilities over one fitted model."""

from collections.abc import Hashable
from typing import Any, Self

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
from bayesnb.families import Family
from bayesnb.model.fitted import Fitted
from bayesnb.model.product import Model
from bayesnb.persistence import Saved


class NaiveBayes(
    UncertaintyMixin,
    InspectionMixin,
    CrossValidation,
    IncrementalMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Naive Bayes classifier over columns of any kind, with the exact posterior of all parameters.

    Declare nothing, and everything is chosen for the best held-out probabilities: ``NaiveBayes()``.
    Declare families, and the model is what you declared: ``NaiveBayes("gaussian")`` is plain
    Gaussian naive Bayes.

    Parameters
    ----------
    families : "auto", Family, str or dict, default="auto"
        What the columns hold: one family for all, or a mapping from columns, or tuples of columns
        that are modelled jointly, to families. A family may be given by its name in lower case:
        ``"gaussian"``, ``"categorical"``, ``"multivariate"``, ``"gaussian:shared"``. Columns that a
        mapping leaves out are read as under ``"auto"``; None or ``"drop"`` drops a column.

        ``"auto"`` looks at the cells of each column. Booleans, and numbers that are only 0 and 1,
        are ``Bernoulli``; text and categories are ``Categorical``; lists of words, and sparse
        counts, are ``Multinomial``. Other numbers are a ``Histogram``, a density of any shape,
        unless another candidate predicts the label clearly better from this column alone, by more
        than 2 nats of exact leave-one-out log score: ``Gaussian``; ``Categorical``, where there are
        at most 20 distinct whole numbers; ``Poisson``, where all are counts. In the same way the
        prior of levels is flat, or follows the shares of all rows. See ``BestOf`` and ``choices_``.
    class_prior : float, Dirichlet, "uniform", "empirical" or dict, default=1.0
        The prior of the class probabilities: a concentration; a ``Dirichlet``, in the order of
        ``classes``, or of ``classes_`` where that is None; ``"uniform"``, all classes equally
        probable; ``"empirical"``, the shares of the rows; or ``{label: probability}``, known
        probabilities.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``. A declared class without rows keeps its prior
        probability.
    temper : "auto", "columns", "loo", "none", float or None, default="auto"
        Exponents on the evidence of the columns. Columns that depend on each other make naive Bayes
        overconfident, as what they have in common is counted twice. With exponents w the score of a
        class is log p(c) + sum_j w_j log p(x_j | c).

        - None: all are 1, which is plain naive Bayes. A number: all are that number.
        - ``"loo"``: one exponent for all columns, between 0 and 1, found at ``fit``.
        - ``"columns"``: one for each column, or block of columns that are modelled jointly, 0 or
          more, found at ``fit``. That of a block of words may fall with the length of a text, see
          ``temper_length_``.
        - ``"auto"``: ``"columns"`` where no family is declared (columns may be dropped) and
          ``estimate`` is ``"predictive"``, else None.
    dependence : "auto", "pairs", "forest", "none" or None, default="auto"
        What columns say together, given the class. A link between two columns multiplies their
        distributions by how much more probable the cell of one is once that of the other is known.
        It is kept where its log Bayes factor against independence is above 3 log(1 + number of
        columns that vary) nats. See ``links_``.

        - None: columns are independent given the class, which is naive Bayes.
        - ``"forest"``: the links of the maximum spanning forest, a joint distribution of the
          columns.
        - ``"pairs"``: further links besides, the strongest first, up to 60. All links together are
          not a joint distribution: ``sample``, ``log_density`` and ``log_evidence_`` are those of
          the forest.
        - ``"auto"``: ``"pairs"`` where no family is declared (columns may be dropped) and
          ``estimate`` is ``"predictive"``, else None.

        Links need ``estimate="predictive"``. Under ``temper="columns"`` each link has an exponent.
        ``partition`` finds blocks of columns that are better modelled jointly.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use, within
        ``OMP_NUM_THREADS`` and the like.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, with all parameters integrated out; or every
        parameter, the class probabilities included, plugged in at its posterior mean, its mode, or
        its maximum likelihood estimate. With smoothing l, (n + l) / (N + l K) is ``"mean"`` under
        Dirichlet(l), and ``"map"`` under Dirichlet(1 + l).

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : array
        Names of the columns, where all are text.
    target_name_ : str
        Name of the labels, where `y` has one, as a pandas series may.
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
        Sufficient statistics of all rows learnt; its ``classes.counts`` are the weights of the
        classes.
    log_evidence_ : float
        log p(X, y | prior), exact. Columns with ``Histogram`` count relative to the distribution of
        all rows, so it is comparable with that of other such models alone; compare with other
        families by ``loo``.
    temper_ : float or pandas.Series
        The exponents in use: a number, or one for each column or block.
    temper_sd_ : float or pandas.Series
        Their Laplace standard deviations, in the same form; 0 for a number that was given.
    temper_length_ : pandas.Series or None
        For blocks of words whose exponent falls with the length of a text, the number of words at
        which it is half.
    links_ : xarray.Dataset
        The links between columns: their ends, evidence and exponents.

    See Also
    --------
    GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, PoissonNB :
        One family for all columns, with scikit-learn's arguments.
    bayesnb.mcmc.fit : The same model sampled with PyMC, with options that have no closed form.
    bayesnb.scale.fit_files : Learn from files of any size.
    load : Read a saved estimator.

    Notes
    -----
    *Exact.* Statistics of the rows are all that is kept of them, and posterior, predictive,
    evidence, leave-one-out, intervals and explanations are computed from them in closed form or to
    a numerical error that is bounded. Nothing is drawn in ``fit``. Where classes share parameters,
    so that an interval has no such form, it is drawn, with a ``DrawnWarning``.

    *Missing cells* are left out, in ``fit`` and in ``predict``, which integrates them out exactly.
    The columns of a frame are matched by name; other names, or another order, raise scikit-learn's
    error.

    *Batches.* ``partial_fit`` in any batches equals ``fit``, new levels included, where families
    are declared. What is chosen or learnt from data comes from the first batch: families, links,
    blocks, the cuts of histograms, and priors such as that of ``Gaussian()``.

    *Exponents* are an empirical choice and not a part of the likelihood. They enter predictions,
    intervals, entropies, explanations, leave-one-out scores of labels, and decisions.
    ``log_evidence_``, ``log_density`` and ``sample`` are those of the model with exponent 1 and the
    links of the forest; the parameters in ``to_datatree``, and those sampled by MCMC, are those of
    the columns alone. Exponents are found by the exact leave-one-out log score of the labels under
    the posterior predictive, whatever ``estimate`` says. One for all features has the prior log t ~
    Normal(0, 0.5**2). Those of f columns have the prior Normal(t, (v t)**2), where t is the
    posterior mean of one for all under log t ~ Normal(-log(f) / 2, 0.5**2), and they are averaged
    over the width v, log v ~ Normal(0, 1), by the evidence of each (Laplace); ``temper_sd_`` are
    standard deviations of that average. Those of links have the same prior around t / 4, as most of
    what columns say is said without them. An exponent of 0 leaves its column out. That of words is
    w / (1 + n / n0) for a text of n words, as words of one text repeat one another; n0 is a power
    of 2, found by the same score, where this beats one exponent for all texts by a nat.

    *Many columns.* Of more than 500 columns, the 499 that alone say most about the label have
    exponents of their own, and all others share one. Of more than 600, links are looked for between
    the 600 that alone say most, and a warning says so.

    Where there are more than 10,000 rows, a part that is spread evenly over every class finds the
    exponents. Under ``"columns"``, ``partial_fit`` scores each batch before it is learnt; what is
    known by then is the prior for the next, and n0 is that of the first batch. ``"loo"`` uses the
    last batch. ``merge``, ``forget`` and ``decay`` keep the exponents. From files and from Dask, at
    most 10,000 rows are kept on the way for this purpose, and each of them is left out of all that
    was learnt.

    Arrays and dataframes of Dask are learnt from in one pass over their partitions, and predicted
    lazily: see ``bayesnb.scale``.

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
        n_jobs: int | None = None,
        estimate: str = "predictive",
    ) -> None:
        self.families = families
        self.class_prior = class_prior
        self.classes = classes
        self.temper = temper
        self.dependence = dependence
        self.n_jobs = n_jobs
        self.estimate = estimate

    def _families(self) -> Any:
        return resolve_names(self.families)

    def _params_declaring(self, families: dict[Hashable, Any]) -> dict[str, Any]:
        if isinstance(self._families(), Family):
            return {"families": next(iter(families.values()))}
        # what "auto" stands for where nothing is declared stays, now that families are
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
        """Write the fitted estimator to a file, from which ``bayesnb.load`` reads it again.

        Parameters
        ----------
        path : str or os.PathLike
            Name of the file, such as ``"model.bnb"``. A file that is there already is replaced,
            once the new one is completely on the disk.

        Raises
        ------
        ValueError
            For families or estimators that are not bayesnb's, and labels or levels that are neither
            text nor numbers.

        See Also
        --------
        load : Read a saved estimator.
        bayesnb.scale.dumps : Statistics of some rows as bytes.

        Notes
        -----
        The file is a zip archive of ``model.json``, arrays in NumPy's format, and checksums. It
        holds no code. Requests of metadata routing are not kept.

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
        else:  # sparse tables are refused unless they hold counts, so that is not promised
            inputs.allow_nan = inputs.string = True
        return tags


def describe_saved(estimator: NaiveBayes, note: Any = None) -> Saved:
    """Return the values that a file holds of the fitted estimator, and a note beside it."""
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
        It predicts, explains, draws and goes on learning as the estimator that was saved.

    Raises
    ------
    ValueError
        For a file that is damaged, was changed, is not a bayesnb model file, or has a newer format.
        The message says which.

    See Also
    --------
    NaiveBayes.save : Write the file.
    Live.open : Read a model that learns while it answers.

    Notes
    -----
    Files from strangers are safe to open: no code in a file is run, and its contents take some
    hundred megabytes more than a few dozen times its length at most. The model in it may still be
    wrong on purpose; the file does not say who made it.

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
    """Return a fitted estimator from its file, and the note beside it."""
    saved = persistence.read(path)
    with persistence.reading_errors(path):
        return getattr(estimators, saved.estimator)._restored(saved), saved.note
