"""What is an estimator of ours, and what is not."""

from typing import Any

from bayesnb.estimators.learning import Learner


def check_estimator(estimator: Any, whose: str = "") -> None:
    """Raise for what is no estimator of ours, and say where one may be found."""
    if isinstance(estimator, Learner):
        return
    advice, steps = "", getattr(estimator, "steps", None)
    if isinstance(estimator, type) and issubclass(estimator, Learner):
        advice = " That is the class: call it."
    elif steps and isinstance(steps[-1][-1], Learner):
        advice = (
            " Give the pipeline's last step, pipeline[-1], and the rows as that gets them, pipeline[:-1].transform(X)."
        )
    elif isinstance(getattr(estimator, "best_estimator_", None), Learner):
        advice = " Give its best_estimator_."
    elif isinstance(getattr(estimator, "estimator_", None), Learner):
        advice = " This needs a closed form: give that of what was sampled, estimator_."
    raise TypeError(f"{whose}expected an estimator of bayesnb such as NaiveBayes(), got {estimator!r}.{advice}")
