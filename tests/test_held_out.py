"""What is said of rows that are held out, and of intervals, where exponents were found by the same rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import bayesnb
from bayesnb import Gaussian, NaiveBayes, NormalInverseGamma
from bayesnb.datasets import penguins
from bayesnb.model.powers import ExponentCovariance
from bayesnb.selection import column_scores
from bayesnb.selection.left_exponents import MOST_TOLD, leave_exponents
from tests.benchmarks.held_out import covers


def repeating(seed: int, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Six columns, three of which tell two classes apart, and one of which nearly repeats the first."""
    rng, y = np.random.default_rng(seed), np.arange(rows) % 2
    x = rng.normal(size=(rows, 6)) + 0.5 * y[:, None] * np.array([1, 1, 0.5, 0, 0, 0])
    x[:, 3] = x[:, 0] + 0.1 * rng.normal(size=rows)
    return x, y


def test_rows_leave_the_exponents_as_in_refits_that_find_them_anew() -> None:
    """One Newton step: its score is much nearer to that of refits than the score with exponents kept."""
    model, gaps = NaiveBayes(Gaussian(NormalInverseGamma(0, 0.01, 1, 1)), temper="columns"), []
    for seed in range(2):
        x, y = repeating(seed)
        refits = 0.0
        for i in range(len(y)):
            rest = clone(model).fit(np.delete(x, i, 0), np.delete(y, i))
            refits += rest.predict_log_proba(x[[i]])[0, y[i]]
        model.fit(x, y)
        gaps.append([model.loo(x, y, exponents=how).elpd - refits for how in ("left", "kept")])
    left, kept = np.mean(gaps, axis=0)
    assert kept > 1
    assert abs(left) < 0.4 * kept


def test_the_step_of_a_row_is_newtons_on_the_objective_without_it() -> None:
    """Spelled with the inverse of the second derivatives, where a row told no more than it is taken to."""
    rng, rows, classes, columns = np.random.default_rng(3), 40, 3, 5
    log_class, table = np.log(rng.dirichlet(np.ones(classes), rows)), rng.normal(size=(rows, classes, columns))
    codes, counts, w = (
        rng.integers(0, classes, rows),
        rng.integers(1, 4, rows).astype(float),
        rng.uniform(1, 2, columns),
    )
    root = rng.normal(size=(9, columns))
    covariance = ExponentCovariance(np.linalg.inv(root.T @ root + np.eye(columns)), np.arange(columns))
    found = leave_exponents((log_class, table), codes, counts, w, covariance)
    told = np.empty(rows)
    for i in range(rows):
        p = softmax(log_class[i] + table[i] @ w)
        mean = p @ table[i]
        slope = counts[i] * (table[i, codes[i]] - mean)
        curvature = counts[i] * (table[i].T * p @ table[i] - np.outer(mean, mean))
        told[i] = np.linalg.eigvals(covariance.matrix @ curvature).real.max()
        if told[i] < MOST_TOLD:
            rest = np.linalg.inv(covariance.matrix) - curvature
            np.testing.assert_allclose(found[i], np.maximum(w - np.linalg.solve(rest, slope), 0), rtol=1e-8)
    assert (told < MOST_TOLD).sum() > 20
    assert ((told > 0.5) & (told < MOST_TOLD)).any()
    assert np.isfinite(found).all()


def test_only_rows_that_chose_the_exponents_leave_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_ROWS", 50), ("PART", 30)):
        monkeypatch.setattr(column_scores, name, most)
    x, y = repeating(0)
    model = NaiveBayes("gaussian", temper="columns").fit(x, y)
    left, kept = (model.loo(x, y, exponents=how).elpd_i.values for how in ("left", "kept"))
    assert (left != kept).sum() == 30


def test_scores_say_what_is_left_and_what_is_kept_and_belong_to_the_probabilities() -> None:
    x, y = repeating(0)
    model = NaiveBayes("gaussian", temper="columns").fit(x, y)
    score, proba = model.loo(x, y), model.loo_proba(x, y)
    np.testing.assert_allclose(np.log(proba.values[np.arange(60), y]), score.elpd_i, rtol=1e-12)
    np.testing.assert_allclose(proba.sum("class"), 1, rtol=1e-12)
    assert "leaves the 6 exponents" in str(score)
    assert "kept" not in str(score)
    assert "The 6 exponents were chosen by all rows and are kept." in str(model.loo(x, y, exponents="kept"))
    assert "Exact leave-one-out" in str(NaiveBayes("gaussian").fit(x, y).loo(x, y))
    assert "chosen by all rows and are kept." in str(NaiveBayes().fit(x, y).loo(x, y))
    with pytest.raises(ValueError, match="'left' or 'kept', got 'gone'"):
        model.loo(x, y, exponents="gone")


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_wine, penguins], ids=["wine", "penguins"])
def test_what_is_reported_of_held_out_rows_is_what_refits_give(load: Any) -> None:
    """Everything is chosen anew in ten folds; with exponents kept the loss would be .45 and .75 of that."""
    if load is penguins:
        x, label = penguins().drop(columns=["year", "species"]), penguins()["species"].to_numpy()
    else:
        x, label = load(return_X_y=True, as_frame=True)
    y = np.unique(label, return_inverse=True)[1]
    model = NaiveBayes().fit(x, y)
    refits = cross_val_predict(NaiveBayes(), x, y, cv=StratifiedKFold(10), method="predict_log_proba")
    truth = refits[np.arange(len(y)), y].sum()
    assert 0.8 < model.loo(x, y).elpd / truth < 1.25
    assert model.loo(x, y, exponents="kept").elpd / truth < 0.85


@pytest.mark.parametrize("temper", ["loo", "columns"])
@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_intervals_of_exponents_that_were_found_are_wider_and_those_of_draws(temper: str, rows: str) -> None:
    x, y = repeating(1, 100)
    model = NaiveBayes("gaussian", temper=temper).fit(x, y)
    exact, auto = (model.predict_interval(x[:8], 0.8, rows, method) for method in ("exact", "auto"))
    if rows == "observed":
        np.testing.assert_allclose(exact.probability, model.predict_proba(x[:8]), rtol=1e-9)
    if temper == "loo":
        known = NaiveBayes("gaussian", temper=model.temper_).fit(x, y).predict_interval(x[:8], 0.8, rows)
        assert float((exact.upper - exact.lower).mean()) > float((known.upper - known.lower).mean())
    drawn = model.predict_interval(x[:8], 0.8, rows, "draws", draws=20_000, rng=0)
    for name in ("probability", "median", "lower", "upper"):
        np.testing.assert_allclose(auto[name], exact[name], atol=3e-3)
        np.testing.assert_allclose(drawn[name], exact[name], atol=0.02)


def test_a_file_keeps_what_is_not_known_of_exponents(tmp_path: Path) -> None:
    x, y = repeating(2)
    for temper in ("loo", "columns"):
        model = NaiveBayes("gaussian", temper=temper).fit(x, y)
        model.save(tmp_path / "model.bnb")
        again = bayesnb.load(tmp_path / "model.bnb")
        assert again.predict_interval(x).equals(model.predict_interval(x))
        np.testing.assert_array_equal(again.loo(x, y).elpd_i, model.loo(x, y).elpd_i)


@pytest.mark.slow
def test_intervals_cover_known_probabilities_more_often_with_unknown_exponents() -> None:
    """Of independent columns and of copies, .80 and .81 are covered by 24 tables (.02), without .72 and .66."""
    for name in ("independent", "copies"):
        shares = np.array([covers(name, 300, seed, 0) for seed in range(8)])
        with_exponents, without = shares.mean(axis=0)
        assert with_exponents > 0.7
        assert with_exponents > without + 0.04
