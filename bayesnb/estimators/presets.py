"""Presets: `NaiveBayes` with one family for all columns.

They have scikit-learn's names and arguments, but for `var_smoothing`, which a prior takes the place of. Where an
estimate is plugged in, they have its fitted attributes too, read-only. Their `class_prior`
is None (learnt, under a Dirichlet(1)), "empirical", "uniform", or known probabilities in the order of `classes_`;
`fit_prior=False` is "uniform". For scikit-learn's own numbers: `estimate="mean", class_prior="empirical"` in the
discrete classes, `estimate="mle", class_prior="empirical"` in `GaussianNB`.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

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
from bayesnb.model.priors import ClassPriorRule, class_prior_rule

LEAST_ALPHA = 1e-10  # of scikit-learn, which takes a smaller alpha for it under force_alpha=False


def forced(alpha: Any, force: bool) -> Any:
    """Return the concentration that scikit-learn takes."""
    return alpha if force else np.maximum(alpha, LEAST_ALPHA)


def plain(value: Array) -> Any:
    """Return an array, or the number that one without axes is."""
    return value if value.ndim else float(value)


@dataclass(kw_only=True, eq=False, repr=False)
class Preset(NaiveBayes):
    """One family for all columns, and scikit-learn's words for the class prior."""

    fit_prior: bool = True
    class_prior: Any = None
    classes: Any = None
    temper: Any = None
    n_jobs: int | None = None
    estimate: str = "predictive"

    def _params_declaring(self, families: dict[tuple[Hashable, ...], Any]) -> dict[str, Any]:
        (family,) = families.values()
        return self._params_of(family)

    def _params_of(self, family: Any) -> dict[str, Any]:
        """Return the parameters that declare this family of all columns."""
        return {"prior": family.prior}

    @property
    def class_count_(self) -> Array:
        """Weighted count of rows of each class, `(c,)`."""
        return np.array(self.stats_.classes.counts)

    @property
    def class_log_prior_(self) -> Array:
        """Log probability of each class that is plugged in, `(c,)`."""
        return np.array(self._plugged_in().log_class)

    def _plugged_in(self) -> Any:
        """Return the parameters that predict; an AttributeError where they are integrated out."""
        self._check_fitted()
        if self.estimate == "predictive":
            raise AttributeError(
                "estimate='predictive' integrates the parameters out, so there are no fitted values of them. Use "
                "estimate='mean', 'map' or 'mle' for scikit-learn's attributes, or `posterior_`, the beliefs."
            )
        return self._reader()

    @property
    def _class_prior(self) -> Any:
        """Prior of the class probabilities, by whichever parameter it was given."""
        return self.class_prior if self.fit_prior or self.class_prior is not None else "uniform"

    def _class_prior_rule(self, classes: Array) -> ClassPriorRule:
        return class_prior_rule(self._class_prior, classes, self.classes)


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(Preset):
    """Real-valued columns with unknown means and variances; the predictive is Student's t.

    Parameters
    ----------
    prior : NormalInverseGamma, default weak and on the scale of the data
    shared : bool, whether a column has one variance for all classes
    priors : probabilities of the classes, scikit-learn's name of `class_prior` here
    """

    prior: NormalInverseGamma | None = None
    shared: bool = False
    priors: Any = None

    @property
    def theta_(self) -> Array:
        """Mean of each class and column that is plugged in, `(c, f)`."""
        return np.array(self._plugged_in().blocks[0].mean)

    @property
    def var_(self) -> Array:
        """Variance of each class and column that is plugged in, `(c, f)`."""
        return np.array(self._plugged_in().blocks[0].variance)

    def _families(self) -> Gaussian:
        return Gaussian(self.prior, self.shared)

    @property
    def _class_prior(self) -> Any:
        if self.priors is None:
            return super()._class_prior
        if self.class_prior is not None or not self.fit_prior:
            raise ValueError(
                f"priors={self.priors!r}: class_prior={self.class_prior!r} and fit_prior={self.fit_prior} say the same "
                "thing, so give one of them."
            )
        if isinstance(self.priors, str | Mapping) or np.ndim(self.priors) != 1:
            raise ValueError(
                f"priors must be probabilities in the order of the classes, as in scikit-learn, got {self.priors!r}. "
                "class_prior takes other forms too."
            )
        return np.asarray(self.priors, float)


@dataclass(kw_only=True, eq=False, repr=False)
class MultinomialNB(Preset):
    """Counts such as words, or lists of words; the predictive is the Dirichlet-multinomial.

    Weights that are no counts, such as tf-idf, are taken as scikit-learn takes them, through the power likelihood: it
    is `Multinomial(fractional=True)`, where `Multinomial()` refuses them. See that, also for raw text.

    Parameters
    ----------
    alpha : concentration of the Dirichlet, a number or numbers that broadcast to (class, feature)
    force_alpha : bool, whether an alpha below 1e-10 is taken as it is; False takes 1e-10, as in scikit-learn
    """

    alpha: Any = 1.0
    force_alpha: bool = True

    @property
    def feature_count_(self) -> Array:
        """Weighted count of each word in each class, `(c, f)`."""
        return np.array(self.stats_.blocks[0].counts[:, 0])  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> Array:
        """Log probability of each word that is plugged in, `(c, f)`."""
        return np.array(self._plugged_in().blocks[0].log_probability[:, 0])

    def _families(self) -> Multinomial:
        return Multinomial(Dirichlet(forced(self.alpha, self.force_alpha)), fractional=True)

    def _params_of(self, family: Multinomial) -> dict[str, Any]:
        return {"alpha": plain(family.concentration)}


@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliNB(Preset):
    """Yes-or-no columns.

    Parameters
    ----------
    alpha : both sides of the Beta, a number or numbers that broadcast to (class, feature)
    force_alpha : bool, whether an alpha below 1e-10 is taken as it is; False takes 1e-10, as in scikit-learn
    binarize : a one is any number above it; None if the columns are zeros and ones
    """

    alpha: Any = 1.0
    binarize: float | None = 0.0
    force_alpha: bool = True

    @property
    def feature_count_(self) -> Array:
        """Weighted count of ones in each class and column, `(c, f)`."""
        return np.array(self.stats_.blocks[0].ones)  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> Array:
        """Log probability of a one that is plugged in, `(c, f)`."""
        return np.array(self._plugged_in().blocks[0].logs[0])

    def _families(self) -> Bernoulli:
        alpha = forced(self.alpha, self.force_alpha)
        return Bernoulli(Beta(alpha, alpha), threshold=self.binarize)

    def _params_of(self, family: Bernoulli) -> dict[str, Any]:
        return {"alpha": plain(family.prior.a)}  # type: ignore[union-attr]


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(Preset):
    """Columns of levels. Integers are codes 0, 1, ... up to the largest seen, each of them a level.

    Parameters
    ----------
    alpha : concentration of the Dirichlet, a number or numbers that broadcast to (class, feature)
    force_alpha : bool, whether an alpha below 1e-10 is taken as it is; False takes 1e-10, as in scikit-learn
    min_categories : the least number of levels, a number or one for each feature
    unseen : {"ignore", "error", "reserve"}, what a level does that training never saw
    """

    alpha: Any = 1.0
    min_categories: Any = None
    unseen: str = "ignore"
    force_alpha: bool = True

    @property
    def n_categories_(self) -> Array:
        """Number of levels of each column, `(f,)`."""
        return np.array(self.stats_.blocks[0].sizes)  # type: ignore[attr-defined]

    @property
    def category_count_(self) -> list[Array]:
        """Weighted count of each level in each class, `(c, k)` for each column."""
        return self._by_column(self.stats_.blocks[0].counts)  # type: ignore[attr-defined]

    @property
    def feature_log_prob_(self) -> list[Array]:
        """Log probability of each level that is plugged in, `(c, k)` for each column."""
        return self._by_column(self._plugged_in().blocks[0].log_probability)

    def _by_column(self, values: Array) -> list[Array]:
        return np.split(np.array(values), np.cumsum(self.n_categories_)[:-1], axis=1)

    def _families(self) -> Categorical:
        alpha = np.asarray(forced(self.alpha, self.force_alpha), float)
        levels = Codes() if self.min_categories is None else Codes(self.min_categories)
        return Categorical(Dirichlet(alpha[..., None] if alpha.ndim else alpha), levels=levels, unseen=self.unseen)

    def _params_of(self, family: Categorical) -> dict[str, Any]:
        concentration = family.concentration
        return {"alpha": plain(concentration[..., 0] if concentration.ndim else concentration)}


@dataclass(kw_only=True, eq=False, repr=False)
class PoissonNB(Preset):
    """Counts that have rates of their own, column by column; the predictive is negative binomial.

    Numbers that are no counts are taken through rate**x exp(-rate), which is then no distribution over x.

    Parameters
    ----------
    prior : Gamma, default worth one event at the data's pooled rate
    """

    prior: Gamma | None = None

    def _families(self) -> Poisson:
        return Poisson(self.prior, fractional=True)
