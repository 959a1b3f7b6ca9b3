"""Links between columns: what is about columns leaves them out, and predictions have them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Gaussian,
    NaiveBayes,
    compare_smoothing,
    dependence,
    partition,
    relevance,
    tune,
)

ROWS = 300
FAMILIES = {"c": "gaussian", "d": "gaussian", "a": "categorical", "b": "categorical"}
STRONG = 3.0


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    a = rng.integers(0, 3, ROWS)
    c = rng.normal(size=ROWS)
    b = np.where(rng.random(ROWS) < 0.8, (a + y) % 3, rng.integers(0, 3, ROWS))
    d = c * (2 * y - 1) + 0.3 * rng.normal(size=ROWS)
    return pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "c": c, "d": d}), y


X, Y = table()
LINKED = NaiveBayes(FAMILIES, dependence="pairs", temper="columns").fit(X, Y)
ALONE = NaiveBayes(FAMILIES, temper="columns").fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("fitted", [True, False])
def test_what_is_about_columns_is_that_of_the_model_without_links(fitted: bool) -> None:
    linked, alone = (model if fitted else clone(model) for model in (LINKED, ALONE))
    assert dependence(linked, X, Y).identical(dependence(alone, X, Y))
    assert partition(linked, X, Y).table.equals(partition(alone, X, Y).table)
    linked, alone = (relevance(model) for model in (LINKED, ALONE))
    assert linked.log_bayes_factor.identical(alone.log_bayes_factor)


def test_relevance_is_that_of_columns_where_they_have_one_exponent_with_their_links() -> None:
    linked = NaiveBayes(FAMILIES, dependence="pairs", temper="loo").fit(X, Y)
    factors = relevance(NaiveBayes(FAMILIES).fit(X, Y)).log_bayes_factor
    assert relevance(linked).log_bayes_factor.identical(factors)


@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
@pytest.mark.parametrize("criterion", ["evidence", "loo"])
@pytest.mark.slow
def test_a_tuned_model_keeps_its_links_and_is_scored_with_them_as_loo_scores_it(
    criterion: str,
) -> None:
    tuned = tune(LINKED, X, Y, criterion, force=True)
    assert (tuned.dependence, tuned.temper) == ("pairs", "columns")
    scores = tuned.tuning.elpd_loo
    assert scores["before"] == pytest.approx(LINKED.loo(X, Y).elpd, rel=1e-9)
    assert tuned.fit(X, Y).links_.sizes["link"] == 2
    assert scores["after"] == pytest.approx(tuned.loo(X, Y).elpd, rel=1e-9)


@pytest.mark.parametrize("dependence", ["forest", "pairs"])
def test_smoothings_are_compared_with_the_links_that_models_of_these_priors_have(
    dependence: str,
) -> None:
    rng = np.random.default_rng(1)
    x = X.assign(
        e=np.where(rng.random(ROWS) < 0.8, X.a, X.b), f=rng.random(ROWS) < 0.1 + 0.4 * (X.b == "1")
    )
    families = FAMILIES | {"e": "categorical", "f": "bernoulli"}
    model = NaiveBayes(families, dependence=dependence, temper=0.5).fit(x, Y)
    table = compare_smoothing(model, x, Y, smoothing=(1, 20)).table.set_index("smoothing")
    assert set(table.estimate) == {"predictive"}
    assert table.elpd_loo[1] == pytest.approx(model.loo(x, Y).elpd)
    assert table.log_evidence[1] == pytest.approx(model.log_evidence_)
    strong = dict.fromkeys("abe", Categorical(20.0)) | {"f": Bernoulli(Beta(20.0, 20.0))}
    for name in "cd":
        one = NaiveBayes({name: "gaussian"}).fit(x[[name]], Y).model_.prior.blocks[0]
        strong[name] = Gaussian(one.strengthened(20.0))
    other = NaiveBayes(strong, dependence=dependence, temper=0.5).fit(x, Y)
    assert table.elpd_loo[20] == pytest.approx(other.loo(x, Y).elpd)
    assert table.log_evidence[20] == pytest.approx(other.log_evidence_)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1000])
@pytest.mark.parametrize("rows_per_level", [4, 2, 1])
def test_noise_of_any_number_of_levels_is_no_evidence_and_planted_effects_are_kept(
    rows: int, rows_per_level: int
) -> None:
    size = rows // rows_per_level
    kept = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, rows)
        effect = np.where(
            rng.random(rows) < 0.4, 2 * y + rng.integers(0, 2, rows), rng.integers(0, 6, rows)
        )
        noise = {f"noise {j}": rng.integers(0, size, rows).astype(str) for j in range(2)}
        twin = np.where(rng.random(rows) < 0.5, effect, rng.integers(0, 6, rows))
        x = pd.DataFrame(noise | {"effect": effect.astype(str), "twin": twin.astype(str)})
        model = NaiveBayes("categorical").fit(x, y)
        factors = relevance(model).log_bayes_factor.to_series()
        pairs = dependence(model, x, y).log_bayes_factor
        assert factors[list(noise)].max() < STRONG
        assert float(pairs.sel(feature=list(noise)).max()) < STRONG
        kept.append(
            factors["effect"] > STRONG
            and float(pairs.sel(feature="effect", feature_2="twin")) > STRONG
        )
    assert np.mean(kept) > 0.75
