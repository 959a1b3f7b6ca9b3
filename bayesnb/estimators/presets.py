"""Presets: `NaiveBayes` with one family for all columns.

They have scikit-learn's names and arguments; `var_smoothing` does nothing, as there is a prior in
its place. Where an estimate is plugged in, they have its fitted attributes too, read-only. Their
`class_prior` is None (learnt, under a Dirichlet(1)), "empirical", "uniform", or known probabilities
in the order of `classes_`; `fit_prior=False` is "uniform". For scikit-learn's own numbers:
`estimate="mean", class_prior="empirical"` in the discrete classes, `estimate="mle",
class_prior="empirical"` in `GaussianNB`.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, dataclass_transform

import numpy as np

from bayesnb.estimators.naive_bayes import NaiveBayes
from bayesnb.families import (
    Bernoulli,
    Beta,
    Categorical,
    Codes,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
)
from bayesnb.families.base import Array

VAR_SMOOTHING = 1e-9  # scikit-learn's default
LEAST_ALPHA = 1e-10  # of scikit-learn, which takes a smaller alpha for it under force_alpha=False


@dataclass_transform(kw_only_default=True, eq_default=False)
def preset[T](estimator: type[T]) -> type[T]:
    """Give a class its `__init__`; it is shown and compared as any estimator."""
    return dataclass(kw_only=True, eq=False, repr=False)(estimator)


@preset
class Preset(NaiveBayes):
    """One family for all columns, and scikit-learn's words for the class prior."""

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
        """Return the parameters that predict; an AttributeError where they are integrated out."""
        self._check_fitted()
        if self.estimate == "predictive":
            raise AttributeError(
                "estimate='predictive' integrates the parameters out, so there are no fitted "
                "values of them. Use estimate='mean', 'map' or 'mle' for scikit-learn's "
                "attributes, or `posterior_`, the beliefs."
            )
        return self._predictor()

    @property
    def _class_prior(self) -> Any:
        """Prior of the class probabilities, by whichever parameter it was given."""
        return self.class_prior if self.fit_prior or self.class_prior is not None else "uniform"


@preset
class GaussianNB(Preset):
    """Gaussian naive Bayes: columns of real numbers with unknown means and variances.

    It is ``NaiveBayes`` with the family ``Gaussian`` in all columns, under scikit-learn's name and
    arguments. The predictive is Student's t, exact.

    Parameters
    ----------
    prior : NormalInverseGamma or None, default=None
        The belief about means and variances before the data. None: a weak one on the scale of the
        data, see ``Gaussian``.
    shared : bool, default=False
        Whether a column has one variance for all classes.
    priors : array or None, default=None
        Probabilities of the classes: scikit-learn's name of ``class_prior`` in this class.
    var_smoothing : float, default=1e-09
        Taken because scikit-learn has it. It does nothing, as a prior takes its place, and another
        value than the default is an error: use ``prior``.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False stands for ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, or the parameters plugged in at their posterior
        mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only where an estimate is plugged in.
    theta_ : array
        Mean of each class and column. Only where an estimate is plugged in.
    var_ : array
        Variance of each class and column. Only where an estimate is plugged in.
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
                "priors, class_prior and fit_prior say the same thing, so give one of them."
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
        Whether an alpha below 1e-10 is taken as it is. False takes 1e-10 for it, as scikit-learn
        does.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False stands for ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, or the parameters plugged in at their posterior
        mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only where an estimate is plugged in.
    feature_count_ : array
        Weighted count of each word in each class.
    feature_log_prob_ : array
        Log probability of each word in each class. Only where an estimate is plugged in.
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
        A number above it is a one, and any other a zero. None: cells are zeros and ones already.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is taken as it is. False takes 1e-10 for it, as scikit-learn
        does.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False stands for ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, or the parameters plugged in at their posterior
        mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only where an estimate is plugged in.
    feature_count_ : array
        Weighted count of ones in each class and column.
    feature_log_prob_ : array
        Log probability of a one in each class and column. Only where an estimate is plugged in.
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
    and arguments. Integers are codes 0, 1, ... up to the largest that occurs, each of them a level;
    text and categories are levels too. Where codes of 65,536 and more occur and fewer than one code
    in 16 does, such as numbers of customers, only those that occur are levels (and those below
    ``min_categories``). Probabilities are exact.

    Parameters
    ----------
    alpha : float or array, default=1.0
        Concentration of the Dirichlet prior: a number, or numbers that broadcast to (class,
        feature).
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is taken as it is. False takes 1e-10 for it, as scikit-learn
        does.
    min_categories : int, array or None, default=None
        The least number of levels: one for all features, or one for each.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a level that training never saw, as in ``Categorical``.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False stands for ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, or the parameters plugged in at their posterior
        mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only where an estimate is plugged in.
    n_categories_ : array
        Number of levels of each column.
    category_count_ : list of array
        Weighted count of each level in each class, for each column.
    feature_log_prob_ : list of array
        Log probability of each level in each class, for each column. Only where an estimate is
        plugged in.
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
        The belief about the rates before the data. None: worth one event, at the rate of all
        classes together.
    fit_prior : bool, default=True
        Whether class probabilities are learnt. False stands for ``class_prior="uniform"``.
    class_prior : None, "empirical", "uniform", array, float, Dirichlet or dict, default=None
        The prior of the class probabilities. None: learnt, under a Dirichlet(1). ``"empirical"``:
        the shares of the rows. ``"uniform"``: all classes equally probable. An array: known
        probabilities in the order of ``classes_``. The other forms are those of ``NaiveBayes``.
    classes : sequence or None, default=None
        All labels that exist. None: those of ``y``.
    temper : None, "loo", "columns" or float, default=None
        Exponents on the evidence of the columns, as in ``NaiveBayes``. None: all are 1, plain naive
        Bayes.
    n_jobs : int or None, default=None
        Number of threads. None: as many as the cores that this process may use.
    estimate : {"predictive", "mean", "map", "mle"}, default="predictive"
        What predicts: the posterior predictive, or the parameters plugged in at their posterior
        mean, their mode, or their maximum likelihood estimate.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    class_count_ : array
        Weighted count of the rows of each class.
    class_log_prior_ : array
        Log probability of each class. Only where an estimate is plugged in.
    prior_, posterior_ : dict
        Beliefs by column. The other attributes are those of ``NaiveBayes``.

    See Also
    --------
    Poisson : The family, and its prior.
    MultinomialNB : Counts out of one total, such as the words of a text.
    NaiveBayes : Any family for each column, exponents and links.

    Notes
    -----
    scikit-learn has no such class; the arguments are those of its others.

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
