"""The exact leave-one-out score of a fitted model, in a line."""

from typing import Any

import numpy as np


def held_out(model: Any, X: Any, y: Any) -> str:
    """How well every row is predicted by all others, as `Classifier.loo` scores it."""
    from bayesnb.evaluate.leaving import Way, loo_log_proba
    from bayesnb.labels import encode
    from bayesnb.model import Rows
    from bayesnb.table import open_table

    codes = encode(np.asarray(y), model.classes_)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(X)), codes)
    found = loo_log_proba(model.model_, rows, Way(model.estimate, model.temper_), n_jobs=model.n_jobs)
    own = found[np.arange(len(codes)), codes]
    undefined = int(np.isnan(own).sum())
    if undefined:
        return f"Held out one row at a time: no score, as {undefined:,} rows are impossible without themselves."
    right = float((found.argmax(axis=1) == codes).mean())
    error = "" if not np.isfinite(own).all() else f" ± {np.sqrt(len(own) * own.var(ddof=1)):.2f}"
    return (
        f"Held out one row at a time, exactly: accuracy {100 * right:.1f} %, log score {own.sum():.2f}{error} "
        f"(log loss {0.0 - own.mean():.4f} a row)"
    )
