"""The estimators, as scikit-learn knows them: thin mutable objects around one value.

The only room that knows it.
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
