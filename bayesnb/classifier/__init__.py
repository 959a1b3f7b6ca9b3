"""The scikit-learn shell: a thin mutable object around one value. The only room that knows scikit-learn."""

from bayesnb.classifier.checking import check_estimator
from bayesnb.classifier.shell import Classifier

__all__ = ["Classifier", "check_estimator"]
