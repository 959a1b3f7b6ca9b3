"""The first calls of a process, in seconds, as JSON. `cold` runs this file, once for each kind of table."""

import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

ROWS, COLUMNS = 5_000, 20


def clocked[Out](call: Callable[[], Out]) -> tuple[Out, float]:
    """What the call returns, and its seconds."""
    start = perf_counter()
    return call(), perf_counter() - start


def import_package() -> Any:
    import bayesnb

    return bayesnb


def import_estimator() -> Any:
    from bayesnb import NaiveBayes

    return NaiveBayes


def example(family: str) -> Any:
    """A table of the kind that a family reads."""
    import numpy as np

    codes = np.random.default_rng(0).integers(3, size=(ROWS, COLUMNS))
    if family == "Multinomial":
        from scipy import sparse

        return sparse.csr_array(codes)
    if family == "Categorical":
        import pandas as pd

        levels = {f"c{j}": pd.Categorical.from_codes(codes[:, j], ["a", "b", "c"]) for j in range(COLUMNS)}
        return pd.DataFrame(levels)
    return (codes > 0).astype(float) if family == "Bernoulli" else codes + 0.5


def main(family: str) -> None:
    package, imported = clocked(import_package)
    _, named = clocked(import_estimator)
    x, y = example(family), [0, 1] * (ROWS // 2)
    make = package.NaiveBayes if family == "Categorical" else getattr(package, f"{family}NB")
    model, fitted = clocked(lambda: make().fit(x, y))
    _, predicted = clocked(lambda: model.predict_proba(x))
    print(json.dumps({"import": imported, "name": named, "fit": fitted, "predict": predicted}))


if __name__ == "__main__":
    main(sys.argv[1])
