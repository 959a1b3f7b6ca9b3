"""What held-out log loss loses without a column: against refits without it, with weights, links, and intervals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.datasets import penguins

RNG = np.random.default_rng(8)
ROWS = 60
LABEL = RNG.choice(["a", "b", "c"], ROWS)
SHIFT = (LABEL == "a").astype(float)
TABLE = pd.DataFrame({
    "height": RNG.normal(SHIFT, 1),
    "colour": RNG.choice(["red", "blue"], ROWS),
    "tail": RNG.random(ROWS) < 0.3 + 0.4 * SHIFT,
    "visits": RNG.poisson(2 + 3 * SHIFT),
    "u": RNG.choice(["x", "y"], ROWS),
    "v": RNG.choice(["x", "y", "z"], ROWS),
})  # fmt: skip
TABLE.loc[[3, 7], "height"] = np.nan
FAMILIES: dict[Any, Any] = {
    "height": "gaussian", "colour": "categorical", "tail": "bernoulli", "visits": "poisson", ("u", "v"): "joint",
}  # fmt: skip
WEIGHT = RNG.integers(0, 4, ROWS).astype(float)
COLUMNS = {"height": ["height"], "colour": ["colour"], "tail": ["tail"], "visits": ["visits"], "u, v": ["u", "v"]}


def log_loss(model: nb.NaiveBayes, X: pd.DataFrame, y: np.ndarray, weight: np.ndarray | None = None) -> float:
    scores = model.fit(X, y, weight).loo(X, y, sample_weight=weight)
    return -scores.elpd / scores.n_data_points


def without(columns: list[str]) -> dict[Any, Any]:
    return {key: family for key, family in FAMILIES.items() if not {*columns} & {*np.atleast_1d(key).tolist()}}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_in_the_plain_model_it_is_what_a_refit_without_the_column_loses(weight: Any, estimate: str) -> None:
    result = nb.importance(nb.NaiveBayes(FAMILIES, estimate=estimate), TABLE, LABEL, sample_weight=weight)
    whole = log_loss(nb.NaiveBayes(FAMILIES, estimate=estimate), TABLE, LABEL, weight)
    assert result.attrs["log_loss"] == pytest.approx(whole, rel=1e-12)
    assert list(result["feature"].values) == list(COLUMNS)
    for name, columns in COLUMNS.items():
        refit = nb.NaiveBayes(without(columns), estimate=estimate)
        loss = log_loss(refit, TABLE.drop(columns=columns), LABEL, weight)
        assert float(result.importance.sel(feature=name)) == pytest.approx(loss - whole, abs=1e-12), name
