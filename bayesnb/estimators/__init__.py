"""The estimators, as scikit-learn knows them: thin mutable objects around one value. The only room that knows it."""

from bayesnb.estimators.checking import check_estimator

from bayesnb.estimators.shell import Classifier  # isort: skip
from bayesnb.estimators.presets import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "Classifier",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "check_estimator",
]
