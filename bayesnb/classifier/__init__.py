"""The scikit-learn shell: a thin mutable object around one value. The only room that knows scikit-learn."""

from bayesnb.classifier.shell import Classifier

__all__ = ["Classifier"]
