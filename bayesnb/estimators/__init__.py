"""The scikit-learn shell: a thin mutable object around one value. The only room that knows scikit-learn."""

from bayesnb.estimators.checking import check_estimator
from bayesnb.estimators.shell import Classifier

__all__ = ["Classifier", "check_estimator"]
