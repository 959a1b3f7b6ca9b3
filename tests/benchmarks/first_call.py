"""The first calls of a process, in its processor seconds, as JSON.

`cold` runs this file for each kind of table.
"""

import json
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

ROWS = 5_000
COLUMNS = 20


def clocked[Out](call: Callable[[], Out]) -> tuple[Out, float]:
    """What the call returns, and its processor seconds."""
    start = process_time()
    return call(), process_time() - start


def import_package() -> Any:
    import bayesnb

    return bayesnb


def import_estimator() -> Any:
    from bayesnb import NaiveBayes

    return NaiveBayes


def example(family: str) -> tuple[Any, Any]:
    """A table of the kind that a family reads, or of that name, and its labels."""
    import numpy as np

    if family == "penguins":
        from bayesnb import datasets

        table = datasets.penguins()
        return table.drop(columns="species"), table["species"]
    if family == "100,000 x 20":
        random = np.random.default_rng(0)
        y = random.integers(3, size=100_000)
        return random.normal(size=(100_000, 20)) + 0.3 * y[:, None], y
    return table_of(family), [0, 1] * (ROWS // 2)


def table_of(family: str) -> Any:
    """A table of the kind that a family reads."""
    import numpy as np

    codes = np.random.default_rng(0).integers(3, size=(ROWS, COLUMNS))
    if family == "Multinomial":
        from scipy import sparse

        return sparse.csr_array(codes)
    if family == "Categorical":
        import pandas as pd

        levels = {
            f"c{j}": pd.Categorical.from_codes(codes[:, j], ["a", "b", "c"]) for j in range(COLUMNS)
        }
        return pd.DataFrame(levels)
    return (codes > 0).astype(float) if family == "Bernoulli" else codes + 0.5


def main(family: str) -> None:
    package, imported = clocked(import_package)
    _, named = clocked(import_estimator)
    x, y = example(family)
    make = (
        getattr(package, f"{family}NB", package.NaiveBayes)
        if family != "Categorical"
        else package.NaiveBayes
    )
    model, fitted = clocked(lambda: make().fit(x, y))
    _, predicted = clocked(lambda: model.predict_proba(x))
    seconds = {"import": imported, "name": named, "fit": fitted, "predict": predicted}
    if make is package.NaiveBayes:
        _, seconds["interval"] = clocked(
            lambda: model.predict_interval(x[:3] if family == "penguins" else x[:1000])
        )
    if family == "penguins":
        _, seconds["loo"] = clocked(lambda: model.loo(x, y))
        seconds["all"] = fitted + predicted + seconds["interval"] + seconds["loo"]
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1])
