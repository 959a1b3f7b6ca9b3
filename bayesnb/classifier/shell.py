"""What every estimator is: it learns, predicts, and says how sure it is. Each method is one call into a room below."""

from bayesnb.classifier.learnt import Learnt


class Classifier(Learnt):
    """What every estimator shares; a subclass says its families and its class prior."""
