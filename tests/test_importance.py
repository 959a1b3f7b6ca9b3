"""What held-out log loss loses without a column: against refits, with links, and intervals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel

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
    "height": "gaussian",
    "colour": "categorical",
    "tail": "bernoulli",
    "visits": "poisson",
    ("u", "v"): "joint",
}
WEIGHT = RNG.integers(0, 4, ROWS).astype(float)
COLUMNS = {
    "height": ["height"],
    "colour": ["colour"],
    "tail": ["tail"],
    "visits": ["visits"],
    "u, v": ["u", "v"],
}


def log_loss(
    model: nb.NaiveBayes, X: pd.DataFrame, y: np.ndarray, weight: np.ndarray | None = None
) -> float:
    scores = model.fit(X, y, weight).loo(X, y, sample_weight=weight)
    return -scores.elpd / scores.n_data_points


def without(columns: list[str]) -> dict[Any, Any]:
    return {
        key: family
        for key, family in FAMILIES.items()
        if not {*columns} & {*np.atleast_1d(key).tolist()}
    }


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_in_the_plain_model_it_is_what_a_refit_without_the_column_loses(
    weight: Any, estimate: str
) -> None:
    result = nb.importance(
        nb.NaiveBayes(FAMILIES, estimate=estimate), TABLE, LABEL, sample_weight=weight
    )
    whole = log_loss(nb.NaiveBayes(FAMILIES, estimate=estimate), TABLE, LABEL, weight)
    assert result.attrs["log_loss"] == pytest.approx(whole, rel=1e-12)
    assert list(result["feature"].values) == list(COLUMNS)
    for name, columns in COLUMNS.items():
        refit = nb.NaiveBayes(without(columns), estimate=estimate)
        loss = log_loss(refit, TABLE.drop(columns=columns), LABEL, weight)
        assert float(result.importance.sel(feature=name)) == pytest.approx(
            loss - whole, abs=1e-12
        ), name


def test_exponents_and_links_are_kept_and_a_column_takes_its_own_links_with_it() -> None:
    X = TABLE[["colour", "u", "v"]].assign(u=TABLE["colour"], w=RNG.choice(["x", "y"], ROWS))
    y = LABEL
    model = nb.NaiveBayes("categorical", dependence="forest", temper=0.5).fit(X, y)
    (link,) = model.links_.to_frame()[["first", "second"]].values.tolist()
    assert {*link} == {"colour", "u"}
    plain = nb.NaiveBayes("categorical", temper=0.5)
    result = nb.importance(model, X, y)
    assert result.attrs["exponents"] == "given"
    assert (result["temper"] == 0.5).all()
    for name in link:  # what stays has no link
        loss = result.attrs["log_loss"] + float(result.importance.sel(feature=name))
        table = nb.importance(plain.fit(X.drop(columns=name), y), X.drop(columns=name), y)
        assert loss == pytest.approx(table.attrs["log_loss"], rel=1e-12)
    assert (
        nb.importance(nb.NaiveBayes("gaussian", temper="columns"), X=_numbers(), y=y).attrs[
            "exponents"
        ]
        == "kept"
    )


def _numbers() -> np.ndarray:
    return np.column_stack([RNG.normal(SHIFT), RNG.normal(size=ROWS)])


def test_a_copy_makes_a_column_unimportant_however_strongly_both_depend_on_the_class() -> None:
    X = penguins()[["flipper_length_mm", "bill_length_mm", "species"]].dropna()
    y = "species"
    X = X.assign(copy=X["flipper_length_mm"])
    model = nb.NaiveBayes("gaussian").fit(X.drop(columns=y), X[y])
    result = nb.importance(model, X.drop(columns=y), X[y]).to_frame()
    assert result.loc["copy", "upper"] < 0 < result.loc["bill_length_mm", "lower"]
    assert nb.relevance(model).to_frame().loc["copy", "log_bayes_factor"] > 200


@pytest.mark.slow
def test_intervals_hold_the_mean_over_many_new_rows_about_as_often_as_they_say() -> None:
    """One model of known densities, as its prior is worth a million rows: only the rows vary."""
    rng = np.random.default_rng(0)
    hits = 0
    tables = 400

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(0, 2, n)
        return (rng.random((n, 2)) < np.where(y == 1, 0.95, 0.3)[:, None] * [1.0, 0.6]).astype(
            float
        ), y

    share = np.array([[0.3, 0.18], [0.95, 0.57]])  # class, column
    prior = nb.Bernoulli(nb.Beta(1e6 * share, 1e6 * (1 - share)))
    model = nb.NaiveBayes(prior, class_prior="uniform")
    truth = nb.importance(model, *rows(200_000)).importance.values[0]
    for _ in range(tables):
        result = nb.importance(model, *rows(60), ci_prob=0.9)
        hits += int(result["lower"].values[0] <= truth <= result["upper"].values[0])
    assert abs(hits / tables - 0.9) < 4 * np.sqrt(0.09 / tables)


def test_a_row_that_is_impossible_with_and_without_a_column_counts_nothing() -> None:
    x = [["u", "p"], ["v", "p"], ["v", "q"], ["w", "q"], ["w", "p"], ["w", "q"]]
    model = nb.NaiveBayes(nb.Categorical(0.0), class_prior="empirical").fit(x, list("aabbbb"))
    result = nb.importance(model, x, list("aabbbb"))
    assert np.isposinf(result.attrs["log_loss"])
    assert not np.isnan(result["importance"]).any()


def test_a_model_does_not_know_it_and_scikit_learn_selects_columns_by_relevance() -> None:
    x, y = penguins().drop(columns="species"), penguins()["species"]
    model = nb.NaiveBayes().fit(x, y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match=r"bayesnb\.importance\(model, X, y\)"):
        model.feature_importances_  # noqa: B018
    selector = SelectFromModel(
        nb.NaiveBayes(),
        threshold=0.5,
        importance_getter=lambda model: nb.relevance(model).inclusion.values,
    )
    chosen = selector.fit(x, y).get_feature_names_out().tolist()
    assert chosen == [name for name in x if name not in ("sex", "year")]
