"""What every feature adds to the scores of the classes, by draws, closed forms and brute force."""

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import polygamma, psi

import bayesnb as nb

Array = np.ndarray
WORDS = ("free", "now", "never")
DRAWS = 20_000


def table_of_trees() -> tuple[pd.DataFrame, Array]:
    """Every family, words here and there in the table, and missing cells where they may be."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    table = pd.DataFrame(
        {
            "free": rng.poisson(0.5 + y),
            "size": rng.normal(y, 2.0),
            "colour": np.array(["red", "green", "blue", None], object)[rng.integers(0, 4, 60)],
            "now": rng.poisson(2.0, 60),
            "calls": rng.poisson(3 + 2 * y).astype(float),
            "member": rng.random(60) < 0.2 + 0.3 * y,
            "never": 0,
        },
        index=[f"id{i}" for i in range(60)],
    )
    table.iloc[1, 1] = table.iloc[2, 4] = np.nan
    return table, np.array(["a", "b", "c"])[y]


def fit(**options: Any) -> tuple[nb.NaiveBayes, pd.DataFrame]:
    families = {
        WORDS: nb.Multinomial(0.5),
        "size": nb.Gaussian(),
        "calls": nb.Poisson(),
        "colour": nb.Categorical(),
    }
    x, y = table_of_trees()
    return nb.NaiveBayes(families, **options).fit(x, y), x


def assert_moments(mean: Array, sd: Array, draws: Array) -> None:
    """Mean and variance lie within five standard errors of those of draws."""
    squares = (draws - draws.mean(axis=0)) ** 2
    for expected, values in ((mean, draws), (sd**2, squares)):
        error = 5 * values.std(axis=0) / np.sqrt(len(draws))
        assert (np.abs(expected - values.mean(axis=0)) <= error + 1e-9).all()


@pytest.mark.parametrize("temper", [None, 0.4])
def test_means_and_sds_are_those_of_draws_from_the_posterior(temper: float | None) -> None:
    """Under an exponent t, draws of t log p are shifted so that their exp has the mean E[p]**t."""
    model, x = fit(temper=temper)
    found = model.explain(x.iloc[:5])
    rng = np.random.default_rng(1)
    levels = {"blue": 0, "green": 1, "red": 2}
    for name in ("size", "calls", "member", "colour"):
        belief = model.posterior_[name]
        cells = x[name].iloc[:5]
        for row, cell in enumerate(cells):
            if pd.isna(cell):
                continue
            cell = np.array(levels[cell] if name == "colour" else float(cell))
            once, tempered = (belief.log_moment(cell, s) for s in (1.0, model.temper_))
            shift = model.temper_ * once - tempered
            draws = model.temper_ * belief.sample(rng, DRAWS).log_density(cell) + shift
            own = found.isel(obs_id=row).sel(feature=name)
            assert_moments(own.evidence.values, own.sd.values, draws)
    weights = np.log(rng.standard_gamma(model.class_posterior_.concentration, (DRAWS, 3)))
    assert_moments(found.class_term.values, found.class_term_sd.values, weights)
    assert_allclose(found.score, found.evidence.sum("feature") + found.class_term, atol=1e-10)


def test_a_word_adds_its_counts_times_the_expected_log_of_its_probability() -> None:
    counts = np.random.default_rng(2).poisson(1.0, (40, 6))
    model = nb.MultinomialNB().fit(counts, np.arange(40) % 2)
    found = model.explain(counts)
    x = counts[:, None].astype(float)
    a = model.posterior_[tuple(range(6))].concentration
    total = a.sum(axis=1, keepdims=True)
    expected = x * (psi(a) - psi(total))  # but for factors that both classes share
    gap = found.evidence.diff("class")[:, 0]
    assert_allclose(gap, np.diff(expected, axis=1)[:, 0], atol=1e-12)
    variance = x**2 * (polygamma(1, a) - polygamma(1, total))
    assert_allclose(found.sd, np.sqrt(variance), atol=1e-12)
    of_a_row = (x**2 * polygamma(1, a)).sum(-1) - x.sum(-1) ** 2 * polygamma(1, total[:, 0])
    assert_allclose(found.score_sd**2 - found.class_term_sd**2, of_a_row, atol=1e-12)


def test_a_words_log_predictive_is_what_it_adds_on_average_over_all_orders_of_reading() -> None:
    counts = np.array([[3, 1, 0], [2, 0, 4], [0, 5, 1], [1, 1, 1]])
    model = nb.MultinomialNB(alpha=0.7).fit(counts, [0, 0, 1, 1])
    found = model.explain([[2, 1, 2]]).isel(obs_id=0)
    a = model.posterior_[(0, 1, 2)].concentration
    added = np.zeros((2, 3))
    orders = list(permutations([0, 0, 1, 2, 2]))
    for order in orders:
        seen = np.zeros(3)
        for word in order:
            added[:, word] += np.log((a[:, word] + seen[word]) / (a.sum(axis=1) + seen.sum()))
            seen[word] += 1
    expected = np.diff(added / len(orders), axis=0)[0]
    assert_allclose(found.predictive.diff("class")[0], expected, atol=1e-12)


def test_an_explanation_says_what_each_cell_held() -> None:
    table = pd.DataFrame({"kind": ["low", "mid", "high"] * 4, "flag": [True, False] * 6})
    table["size"] = np.arange(12) / 8
    found = nb.NaiveBayes({"size": "gaussian"}).fit(table, [0, 0, 1] * 4).explain(table)
    expected = table.astype({"kind": str, "size": str})
    expected["flag"] = np.where(table["flag"], "yes", "no")
    expected["size"] = [f"{size:.6g}" for size in table["size"]]
    assert found.sel(feature=list(table)).cell.values.tolist() == expected.values.tolist()


def test_a_missing_or_unknown_cell_adds_nothing_for_certain() -> None:
    model, x = fit()
    x.loc["id5", "colour"] = "violet"
    with pytest.warns(nb.UnseenLevelWarning, match="'violet'"):
        found = model.explain(x)
    for row, column, cell in (
        (1, "size", "missing"),
        (2, "calls", "missing"),
        (5, "colour", "unknown"),
    ):
        part = found.isel(obs_id=row).sel(feature=column)
        assert part.cell == cell
        assert (part[["evidence", "sd", "predictive"]].to_array() == 0).all()
    row = int(x["colour"].isna().argmax())  # all of whose levels are missing
    alone = model.explain(x.iloc[[row]])
    xr.testing.assert_allclose(alone, found.sel(feature=alone.feature).isel(obs_id=[row]))


def test_a_large_vocabulary_is_explained_by_the_words_that_occur_or_refused() -> None:
    x = sparse.random_array((30, 50_000), density=1e-4, rng=0, format="csr")
    x.data[:] = 1
    model = nb.MultinomialNB().fit(x, np.arange(30) % 2)
    assert model.explain(x).sizes["feature"] == len(np.unique(x.indices))
    every_column = sparse.csr_array((300, 50_000))
    model = nb.BernoulliNB().fit(every_column, np.arange(300) % 2)
    with pytest.raises(ValueError, match=r"are 30,000,000 numbers.*at most 100 rows"):
        model.explain(every_column)


@pytest.mark.parametrize("prior", [{"a": 0.8, "b": 0.0, "c": 0.2}, nb.Dirichlet([0.8, 0.0, 0.2])])
def test_an_impossible_class_stays_so_and_a_known_probability_is_certain(prior: Any) -> None:
    model = nb.NaiveBayes("gaussian", class_prior=prior, classes=["a", "b", "c"])
    model.fit([[1.0], [2.0], [3.0], [5.0]], list("aacc"))
    found = model.explain([[1.5]])
    gone = found.sel({"class": "b"})
    assert np.isneginf(gone.class_term)
    assert np.isneginf(gone.score).all()
    assert (gone[["sd", "predictive"]].to_array() == 0).all()
    total = found.predictive.sum("feature") + found.predictive_class_term
    assert_allclose(total, model.predict_joint_log_proba([[1.5]]))
    if isinstance(prior, dict):
        assert_allclose(found.class_term[::2], np.log([0.8, 0.2]))
        assert (found.class_term_sd == 0).all()
