"""The scikit-learn estimators: thin mutable objects around one immutable value.

No other package implements scikit-learn's interface.
"""

from bayesnb.estimators.base import check_estimator as check_estimator
from bayesnb.estimators.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
]
