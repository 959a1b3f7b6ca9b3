"""Naive Bayes over columns of any kind: five capabilities over one fitted model."""

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesnb import persistence
from bayesnb.data.declaration import Declared, resolved
from bayesnb.estimators.cross_validation import CrossValidation
from bayesnb.estimators.incremental import IncrementalMixin
from bayesnb.estimators.inspection import InspectionMixin
from bayesnb.estimators.nested_parameters import is_nested, nested_parameters, with_nested
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.estimators.public_methods import PREDICTIONS, public_methods
from bayesnb.estimators.tempering import TemperEstimate
from bayesnb.estimators.training import name_features
from bayesnb.estimators.uncertainty import UncertaintyMixin
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.model.priors import ClassPriorRule, class_prior_rule
from bayesnb.model.product import Model
from bayesnb.persistence import Saved


@public_methods(*PREDICTIONS, "fit", "partial_fit", "loo")
class NaiveBayes(
    UncertaintyMixin,
    InspectionMixin,
    CrossValidation,
    IncrementalMixin,
    PredictionMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Naive Bayes over columns of any kind, with the whole posterior kept.

    Declare nothing, and everything is chosen for the best held-out probabilities: `NaiveBayes()`. Declare families, and
    the model is what you declared: `NaiveBayes("gaussian")` is plain Gaussian naive Bayes.

    Parameters
    ----------
    families : "auto", a family, or a mapping from columns (or tuples of columns) to families, default="auto"
        A family may be named in lower case: "gaussian", "categorical", "multivariate", "gaussian:shared", ...
        "auto" reads the cells of each column. Booleans, and numbers that are only 0 and 1, are Bernoulli; lists of
        words, and sparse counts, are Multinomial; levels (text, categories) are Categorical. Other numbers have a
        density of any shape, `PolyaTree`, unless another candidate predicts the label clearly better from this column
        alone, by more than 2 nats of exact leave-one-out log score: `Gaussian`; `Categorical`, where there are at most
        20 distinct whole numbers; `Poisson`, where all are counts. In the same way the prior of levels is flat, or
        follows the shares of all rows: see `BestOf` and `choices_`.
        Columns that a mapping leaves out are read as under "auto"; None or "drop" drops one.
    class_prior : concentration, Dirichlet, "uniform", "empirical" or {label: probability}, default=1.0
        A Dirichlet's array is in the order of `classes`, or of `classes_` where that is None.
    classes : labels that exist, default those of `y`
        A declared class without rows keeps its prior mass.
    temper : "auto", "columns", "loo", None, or a positive number, default="auto"
        The exponents on the columns' evidence. Columns that depend on each other make naive Bayes overconfident, as
        what they say alike is counted twice. With exponents w the score of a class is
        log p(c) + sum_j w_j log p(x_j | c).

        - None: all are 1, which is plain naive Bayes. A number: all are that number.
        - "loo": one for all columns, from 0 to 1. "columns": one for each column, or block of columns that are modelled
          jointly, from 0 up. Both are found at `fit`, by the exact leave-one-out log score of the labels under the
          posterior predictive, whatever `estimate` says. Under "columns" the exponent of a block of words may fall with
          the length of a text, see `temper_length_`.
        - "auto": "columns" where `families` is "auto" and `estimate` is "predictive"; None where you declare either.
    dependence : "auto", None, "forest", "pairs" or "blocks", default="auto"
        What columns say together, given the class. A link between two columns multiplies their distributions by how
        much more probable the cell of the one is once that of the other is known: it is kept where its log Bayes factor
        against independence is above 3 log(1 + number of columns that vary) nats.

        - None: columns are independent given the class, which is naive Bayes.
        - "forest": the links of the maximum spanning forest, a joint distribution of the columns.
        - "pairs": further links besides, the strongest first, up to 60. All links together are no joint distribution:
          `sample`, `log_density` and `log_evidence_` are those of the forest.
        - "blocks": no links, but columns that belong together are modelled jointly, as if you had declared the blocks
          that `bayesnb.partition` finds: a `JointTable` of levels and flags, a `MultivariateGaussian` of Gaussian
          columns; see `families_`. Columns are joined one by one, as long as that gains 3 log(number of columns) nats.
          Left alone are `PolyaTree` and `Poisson` columns, words, blocks that you declare, flags that are numbers made
          by a threshold, and levels whose prior is uneven: links are for those. Of each kind at most 100 columns can
          be joined, for which the search takes up to half a minute; of more than 10,000 rows a part is compared.
        - "auto": "pairs" where `families` is "auto" and `estimate` is "predictive"; None where you declare either.

        See `links_`. Under `temper="columns"` each link, or block, has an exponent. Links need estimate="predictive".
    n_jobs : number of threads, default the cores that this process may use, within OMP_NUM_THREADS and the like
    estimate : {"predictive", "mean", "map", "mle"}
        What predicts: the posterior predictive, or every parameter, the classes' included, plugged in at its
        posterior mean, its mode, or its maximum likelihood estimate. With smoothing l, (n + l) / (N + l K) is
        "mean" under Dirichlet(l), and "map" under Dirichlet(1 + l).
    average_features : None, a probability, or {column: probability}
        How probably a feature depends on the class at all, before the data. Predictions are then the exact average
        over all subsets of features, each weighted by its posterior probability; columns that a mapping leaves out
        are in all of them. A block of words is one feature. It needs estimate="predictive", whole weights and
        counts, and proper priors that are the same for all classes. The vaguer a prior is, the more has to speak for
        parameters of each class's own. Many rare levels may be included though they are noise: an
        `InclusionWarning` names such columns, and says what to do.

    Attributes
    ----------
    classes_ : the labels, sorted
    families_ : families by column, as declared, inferred or chosen
    choices_ : how families were chosen among several, a Dataset (feature, candidate) of the label's score by each
    links_ : links between columns, a Dataset: the two columns, the evidence, the exponent; see `dependence`
    prior_, posterior_ : beliefs by column, the class on the first axis; a block of counts is one entry
    class_prior_, class_posterior_ : beliefs about the class probabilities
    stats_ : the statistics of the rows learnt
    log_evidence_ : log p(X, y | prior); columns with `PolyaTree` count relative to the distribution of all rows, so
        it compares with that of other Polya trees alone: models of other families by leave-one-out
    temper_ : the exponent in use; for "columns" a pandas Series by column, a block being the tuple of its columns
    temper_sd_ : the Laplace standard deviation of `temper_`, in the same form; 0 for a number that was given
    temper_length_ : for "columns" a Series by block of words of n0: a text of n words counts `temper_` / (1 + n / n0)
        times; infinite for a block whose texts all count `temper_` times, and None where no block's exponent falls

    Notes
    -----
    Missing cells are left out, in `fit` and in `predict`. A frame's columns are matched by name, and reordered ones
    are scikit-learn's error. `partial_fit` in any batches equals `fit`, new levels included, where families are
    declared; what is chosen or learnt from data, families, cuts of Polya trees and priors such as that of
    `Gaussian()`, is that of the first batch, and "loo" looks at the last; so are links and blocks.

    An exponent is an empirical choice, not a part of the likelihood: it enters predictions, intervals, entropies,
    explanations, leave-one-out scores of labels, and decisions. `log_evidence_`, `log_density` and `sample` are those
    of the model with exponent 1 and the links of the forest; parameters in `to_datatree`, and what is sampled by MCMC,
    are those of the columns alone. One for all features has the prior log t ~ Normal(0, 0.5**2). Those of f columns
    have the prior Normal(t, (v t)**2): t is the posterior mean of one for all under log t ~ Normal(-log(f) / 2,
    0.5**2), and they are averaged over the width v, log v ~ Normal(0, 1), by the evidence of each (Laplace). Those of
    links have the same prior around t / 4, as most of what columns say is said without them. The standard deviations
    are those of the inverse second derivatives, and of the average. An exponent of 0 leaves its column out. That of
    words is w / (1 + n / n0) for a text of n words, as words of one text repeat one another; n0 is a power of 2, by the
    same score, if this beats one exponent for all texts by a nat.

    Of more than 10,000 rows a part, spread evenly over every class, finds the exponents. Under "columns",
    `partial_fit` scores each batch before it is learnt: what is known by then, the exponents and their standard
    deviations as independent normal distributions, is the prior for the next; n0 is that of the first batch. `merge`,
    `forget` and `decay` keep them. Of rows that are counted in parts, from files or of Dask, at most 10,000 are kept
    on the way: all, or a part spread over the table, and each of them leaves all that was learnt. Shards keep rows
    where that is asked for; of shards without rows "columns" and "loo" are an error, and "auto" has the exponent 1.

    Dask's arrays and dataframes are learnt from in one pass over their partitions, and predicted lazily: see
    `bayesnb.scale`.

    Examples
    --------
    >>> from bayesnb import NaiveBayes
    >>> model = NaiveBayes().fit([[1.0, "a"], [1.2, "a"], [3.0, "b"], [3.1, "a"]], ["low", "low", "high", "high"])
    >>> model.predict([[1.1, "a"]]).tolist()
    ['low']
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
        average_features: Any = None,
    ) -> None:
        self.families = families
        self.average_features = average_features
        self.class_prior = class_prior
        self.classes = classes
        self.temper = temper
        self.dependence = dependence
        self.n_jobs = n_jobs
        self.estimate = estimate

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether the parameters of families and priors are there too, such as `families__prior__concentration`, or
            `families__age__prior` where `families` is a mapping from columns.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=False)
        return params | nested_parameters(params) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of families and priors too: see `get_params`.

        Parameters
        ----------
        **params : the new values, by the names that `get_params` returns
            Families and priors are immutable: new ones take their places.

        Returns
        -------
        self

        Examples
        --------
        >>> from bayesnb import Categorical, NaiveBayes
        >>> NaiveBayes(Categorical()).set_params(families__prior__concentration=0.5).families
        Categorical(prior=Dirichlet(concentration=0.5))
        """
        names = self._get_param_names()
        nested = {key: value for key, value in params.items() if is_nested(key, names)}
        super().set_params(**{key: value for key, value in params.items() if key not in nested})
        if nested:
            super().set_params(**with_nested(self.get_params(deep=False), nested))
        return self

    def _families(self) -> Any:
        return resolved(self.families)

    def _params_declaring(self, families: dict[tuple[Hashable, ...], Any]) -> dict[str, Any]:
        if isinstance(self._families(), Family):
            return {"families": next(iter(families.values()))}
        if not self._declares_nothing:
            return {"families": families}
        # what "auto" stands for where nothing is declared stays, now that families are
        return {"families": families, "temper": self._temper_rule, "dependence": self._dependence_rule}

    def _class_prior_rule(self, classes: Array) -> ClassPriorRule:
        if isinstance(self.class_prior, (list, tuple, np.ndarray)):
            raise ValueError(
                "class_prior: a bare array may mean concentrations or probabilities. "
                "Use Dirichlet([...]) for concentrations, {label: probability} for probabilities."
            )
        return class_prior_rule(self.class_prior, classes, self.classes)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file, from which `bayesnb.load` makes it again.

        Parameters
        ----------
        path : str or os.PathLike, such as "model.bnb"
            A file that is there already is replaced, once the new one is on the disk as a whole.

        Notes
        -----
        The file is a zip archive of `model.json`, arrays in NumPy's format, and checksums; see `bayesnb.persistence`.
        It holds no code, so families and estimators of your own cannot be saved, nor can labels and levels
        that are neither text nor numbers. Requests of metadata routing are not kept.

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
        check_is_fitted(self)
        persistence.write(self._saved(), path)

    def _saved(self) -> Saved:
        """Return the values that a file holds of the fitted estimator."""
        kind = type(self)
        if not kind.__module__.startswith(f"{__package__}."):
            raise ValueError(
                f"{kind.__module__}.{kind.__qualname__} is not an estimator of bayesnb, so a file without code cannot "
                "hold it. Fit one of bayesnb's, such as NaiveBayes, with the same parameters."
            )
        self._check_declared()
        params = self.get_params(deep=False)
        if hasattr(params["classes"], "__array__"):  # a series or an index of a frame's library too
            params["classes"] = np.asarray(params["classes"])
        named = "feature_names_in_" in self.__dict__
        value, sd, length = self._temper
        return Saved(kind.__name__, params, self._seen, self.model_.prior, value, sd, named, temper_length=length)

    @classmethod
    def _restored(cls, saved: Saved) -> Self:
        """Return the saved estimator; parameters that an older version did not have take their defaults."""
        names, seen = cls._get_param_names(), saved.shard
        if not set(saved.params) <= set(names):
            raise ValueError(f"{cls.__name__} has the parameters {', '.join(names)}")
        estimator = cls(**saved.params)
        estimator._check_declared()
        name_features(estimator, seen.schema.columns)
        if saved.named and not hasattr(estimator, "feature_names_in_"):
            raise ValueError("columns that have names have texts for names")
        if not saved.named:
            estimator.__dict__.pop("feature_names_in_", None)
        estimator.classes_, estimator.schema_ = seen.classes, seen.schema
        estimator.model_ = Model(saved.prior, seen.stats, seen.integer_weights)
        return estimator._temper_as(TemperEstimate(saved.temper, saved.temper_sd, saved.temper_length))

    def _check_declared(self) -> None:
        """Raise for parameters that no table could be learnt with."""
        self._check_arguments()
        declared = self._families()
        families = list(declared.values()) if isinstance(declared, Mapping) else [declared]
        if declared != "auto" and not all(family is None or isinstance(family, Declared) for family in families):
            raise ValueError(f"families: {declared!r:.50} is neither a family nor a mapping to families")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        family, inputs = self._families(), tags.input_tags
        if isinstance(family, Family):
            inputs.allow_nan, inputs.sparse = family.missing, not family.has_levels
            inputs.categorical = inputs.string = family.has_levels
            inputs.positive_only = family.positive_only
            tags.classifier_tags.poor_score = not family.continuous
        else:  # sparse tables are refused unless they hold counts, so that is not promised
            inputs.allow_nan = inputs.string = True
        return tags
