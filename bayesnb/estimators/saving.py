"""A fitted estimator is turned into the values that a file holds, and made of them again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.model.product import Model
from bayesnb.persistence import Saved


def saved_of(estimator: Any) -> Saved:
    """Return the values that are saved of a fitted estimator."""
    kind = type(estimator)
    if not kind.__module__.startswith(f"{__package__}."):
        raise ValueError(
            f"{kind.__module__}.{kind.__qualname__} is not one of bayesnb's own estimators, so a file without code "
            "cannot hold it. Fit one of those, such as NaiveBayes, with the same parameters."
        )
    _check(estimator)
    names, known = kind._get_param_names(), estimator.__dict__
    params = {name: getattr(estimator, name) for name in names}
    if hasattr(params["classes"], "__array__"):  # a series or an index of a frame's library too
        params["classes"] = np.asarray(params["classes"])
    named = "feature_names_in_" in known
    return Saved(kind.__name__, params, estimator._seen, estimator.model_.prior, estimator.temper_, named)


def restored(kind: Any, saved: Saved) -> Any:
    """Return the saved estimator of a class; parameters that an older version did not have take their defaults."""
    if not set(saved.params) <= set(kind._get_param_names()):
        raise ValueError(f"{kind.__name__} has the parameters {', '.join(kind._get_param_names())}")
    estimator, seen = kind(**saved.params), saved.shard
    columns = seen.schema.columns
    _check(estimator)
    if saved.named:
        estimator.feature_names_in_ = _names(columns)
    estimator.n_features_in_ = len(columns)
    estimator.temper_, estimator.classes_, estimator.schema_ = saved.temper, seen.classes, seen.schema
    estimator.model_ = Model(saved.prior, seen.stats, seen.whole)
    return estimator


def _names(columns: Any) -> Array:
    """Return `feature_names_in_`, which scikit-learn has as text only."""
    if not all(isinstance(name, str) for name in columns):
        raise ValueError("columns that have names have texts for names")
    return np.asarray(columns, dtype=object)


def _check(estimator: Any) -> None:
    """Raise for parameters that no table could be learnt with."""
    estimator._check_arguments()
    declared = estimator._families()
    families = list(declared.values()) if isinstance(declared, Mapping) else [declared]
    if declared != "auto" and not all(family is None or isinstance(family, Family) for family in families):
        raise ValueError(f"families: {declared!r:.50} is neither a family nor a mapping to such")
