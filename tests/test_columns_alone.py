"""A model with links between columns: what is about columns leaves links out, and predictions have them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesnb import NaiveBayes, compare_smoothing, dependence, mcmc, partition, relevance, tune

ROWS = 300
FAMILIES = {"c": "gaussian", "d": "gaussian", "a": "categorical", "b": "categorical"}
STRONG = 3.0


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    a, c = rng.integers(0, 3, ROWS), rng.normal(size=ROWS)
    b = np.where(rng.random(ROWS) < 0.8, (a + y) % 3, rng.integers(0, 3, ROWS))
    d = c * (2 * y - 1) + 0.3 * rng.normal(size=ROWS)
    return pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "c": c, "d": d}), y


X, Y = table()
LINKED = NaiveBayes(FAMILIES, dependence="pairs", temper="columns").fit(X, Y)
ALONE = NaiveBayes(FAMILIES, temper="columns").fit(X, Y)
MODELS = {"declared": (LINKED, ALONE), "auto": (NaiveBayes().fit(X, Y), NaiveBayes(dependence=None).fit(X, Y))}


def test_the_models_have_links() -> None:
    assert all(linked.links_.sizes["link"] == 2 for linked, _ in MODELS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fitted", [True, False])
def test_what_is_about_columns_is_that_of_the_model_without_links(name: str, fitted: bool) -> None:
    linked, alone = (model if fitted else clone(model) for model in MODELS[name])
    assert dependence(linked, X, Y).identical(dependence(alone, X, Y))
    assert partition(linked, X, Y).table.equals(partition(alone, X, Y).table)
    assert partition(linked, X, Y).estimator.dependence is None
    one, two = (compare_smoothing(model, X, Y, smoothing=(0.5, 1)).table for model in (linked, alone))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize("name", MODELS)
def test_relevance_is_that_of_columns(name: str) -> None:
    linked, alone = (relevance(model) for model in MODELS[name])
    assert linked.log_bayes_factor.identical(alone.log_bayes_factor)
    assert linked.temper.to_series().equals(MODELS[name][0].temper_.rename_axis("feature"))


@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_tuned_model_keeps_its_links_and_exponents_and_is_scored_without_links(name: str) -> None:
    linked, alone = MODELS[name]
    tuned, other = tune(linked, X, Y), tune(alone, X, Y)
    pd.testing.assert_frame_equal(tuned.tuning, other.tuning)
    assert (tuned.dependence, tuned.temper) == ("pairs", "columns")
    assert list(tuned.families) == list(other.families)
    assert tuned.fit(X, Y).links_.sizes["link"] == 2
    assert other.fit(X, Y).temper_.index.tolist() == list("abcd")


def test_a_tree_shows_parameters_of_columns_and_predicts_with_links() -> None:
    tree = LINKED.to_datatree(X[:20], draws=2000, chains=1, rng=0)
    assert set(tree["posterior"].data_vars) == set(ALONE.to_datatree(draws=2).posterior.data_vars)
    p = tree["predictions"].p
    median = LINKED.predict_interval(X[:20], rows="fixed")["median"]
    np.testing.assert_allclose(p.median(("chain", "draw")), median, atol=0.03)
    np.testing.assert_allclose(LINKED.draw_proba(X[:20], 2000, chains=1, rng=0), p)
    assert float(tree["conjugate"].log_evidence) == pytest.approx(LINKED.log_evidence_)


def test_the_likelihood_in_a_tree_is_that_of_the_forest() -> None:
    rows, labels = X[:20], Y[:20]
    tree = LINKED.to_datatree(rows, labels, draws=4000, chains=1, rng=0)
    mean = np.log(np.exp(tree["log_likelihood"].row).mean(("chain", "draw"))).to_numpy()
    joint = NaiveBayes(FAMILIES, dependence="forest", temper=None).fit(X, Y).predict_joint_log_proba(rows)
    np.testing.assert_allclose(mean, joint[np.arange(20), labels], atol=0.1)


def test_a_model_in_pymc_is_of_the_columns_alone() -> None:
    linked, alone = (mcmc.build(model, X, Y) for model in (LINKED, ALONE))
    assert [variable.name for variable in linked.free_RVs] == [variable.name for variable in alone.free_RVs]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1000])
@pytest.mark.parametrize("rows_per_level", [4, 2, 1])
def test_noise_of_any_number_of_levels_is_no_evidence_and_planted_effects_are_kept(
    rows: int, rows_per_level: int
) -> None:
    size, kept = rows // rows_per_level, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, rows)
        effect = np.where(rng.random(rows) < 0.4, 2 * y + rng.integers(0, 2, rows), rng.integers(0, 6, rows))
        noise = {f"noise {j}": rng.integers(0, size, rows).astype(str) for j in range(2)}
        twin = np.where(rng.random(rows) < 0.5, effect, rng.integers(0, 6, rows))
        x = pd.DataFrame(noise | {"effect": effect.astype(str), "twin": twin.astype(str)})
        model = NaiveBayes("categorical").fit(x, y)
        factors, pairs = relevance(model).log_bayes_factor.to_series(), dependence(model, x, y).log_bayes_factor
        assert factors[list(noise)].max() < STRONG
        assert float(pairs.sel(feature=list(noise)).max()) < STRONG
        kept.append(factors["effect"] > STRONG and float(pairs.sel(feature="effect", feature_2="twin")) > STRONG)
    assert np.mean(kept) > 0.75
