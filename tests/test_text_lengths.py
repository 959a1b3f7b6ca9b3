"""Exponents of words that fall with a text's length: of n words it is t / (1 + n / length)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp

from bayesnb import (
    Gaussian,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    calibration,
    datasets,
    load,
)

Array = np.ndarray
Table = tuple[sparse.csr_array, Array]


def draw_texts(rows: int, mean: float, burst: float = np.inf, seed: int = 0) -> Table:
    """Texts of two classes, of all lengths; `burst` is the concentration of each one's words."""
    rng = np.random.default_rng(seed)
    label = np.arange(rows) % 2
    share = 0.4 * rng.dirichlet(np.ones(60), 2) + 0.6 * rng.dirichlet(np.ones(60))
    lengths = 1 + rng.poisson(mean * rng.gamma(1.0, 1.0, rows))
    if np.isinf(burst):
        theta = share[label]
    else:
        theta = np.array([rng.dirichlet(burst * share[y]) for y in label])
    return sparse.csr_array(rng.multinomial(lengths, theta).astype(float)), label


@pytest.fixture(scope="module")
def bursty() -> Table:
    return draw_texts(400, 80, burst=16.0)


@pytest.fixture(scope="module")
def fitted(bursty: Table) -> NaiveBayes:
    return by_columns(*bursty)


def by_columns(x: Any, y: Array, weight: Any = None, **options: Any) -> NaiveBayes:
    return NaiveBayes(Multinomial(), temper="columns", **options).fit(x, y, weight)


def by_formula(plain: NaiveBayes, x: Any, tempered: NaiveBayes) -> Array:
    """The joint scores that exponents by length mean, of those of a model without exponents."""
    log_class = np.log(plain.class_posterior_.mean())
    words = np.asarray(x.sum(axis=1)).reshape(-1, 1)
    power = tempered.temper_.iloc[0] / (1 + words / tempered.temper_length_.iloc[0])
    return log_class + power * (plain.predict_joint_log_proba(x) - log_class)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_matrix, lambda x: x.toarray()])
def test_a_text_of_n_words_is_scored_by_the_exponent_of_its_length(
    bursty: Table, ordered: bool, estimate: str, layout: Any
) -> None:
    x = layout(bursty[0])
    label = bursty[1]
    family = Multinomial(ordered=ordered)
    tempered = NaiveBayes(family, temper="columns", estimate=estimate).fit(x, label)
    plain = NaiveBayes(family, temper=None, estimate=estimate).fit(x, label)
    found = tempered.predict_joint_log_proba(x)
    assert_allclose(found, by_formula(plain, x, tempered), rtol=1e-10)


def test_left_out_rows_are_scored_by_refits_with_the_same_exponents(
    fitted: NaiveBayes, bursty: Table
) -> None:
    x, label = bursty
    scores = fitted.loo(x, label, exponents="kept").elpd_i.values
    for row in range(0, 400, 57):
        rest = NaiveBayes(Multinomial(), temper=None).fit(x, label).forget(x[[row]], label[[row]])
        joint = by_formula(rest, x[[row]], fitted)[0]
        assert scores[row] == pytest.approx(joint[label[row]] - logsumexp(joint), abs=1e-9)


# How the length is chosen


def test_words_that_come_in_bursts_have_a_length_of_about_their_concentration(
    fitted: NaiveBayes,
) -> None:
    """n words that share one drawn theta are worth about n (1 + burst) / (n + burst) of others."""
    assert fitted.temper_length_.shape == fitted.temper_.shape == (1,)
    assert 4 <= fitted.temper_length_.iloc[0] <= 64


@pytest.mark.slow
@pytest.mark.parametrize("mean", [3, 80])
def test_independent_words_hardly_ever_have_a_length(mean: float) -> None:
    """Noise beats an infinite length by a nat in 3 % of such tables."""
    found = [NaiveBayes().fit(*draw_texts(150, mean, seed=100 + seed)) for seed in range(10)]
    assert sum(model.temper_length_ is not None for model in found) <= 2


@pytest.mark.slow
def test_only_exponents_by_column_have_a_length_and_only_those_of_words(bursty: Table) -> None:
    for temper in (None, "loo", 0.3):
        assert NaiveBayes(Multinomial(), temper=temper).fit(*bursty).temper_length_ is None
    assert MultinomialNB().fit(*bursty).temper_length_ is None
    assert by_columns(*draw_texts(400, 80, seed=4)).temper_length_ is None  # of independent words
    lists = [
        [f"w{word}" for word in np.repeat(np.arange(60), row)]
        for row in bursty[0].toarray().astype(int)
    ]
    number = np.random.default_rng(0).normal(bursty[1], 1.5)
    table = pd.DataFrame({"number": number, "text": lists})
    families = {"number": Gaussian(), "text": Multinomial()}
    model = NaiveBayes(families, temper="columns").fit(table, bursty[1])
    assert list(model.temper_.index) == ["number", "text"]
    assert list(model.temper_length_.index) == ["text"]
    assert_answers_agree(model, table.iloc[:3])


def test_whole_weights_are_repeated_texts(bursty: Table) -> None:
    times = 1 + np.arange(120) % 3
    rows = np.repeat(np.arange(120), times)
    weighted = by_columns(bursty[0][:120], bursty[1][:120], times)
    repeated = by_columns(bursty[0][rows], bursty[1][rows])
    pd.testing.assert_series_equal(weighted.temper_length_, repeated.temper_length_)
    assert_allclose(weighted.temper_, repeated.temper_, atol=1e-7)


def test_the_length_stays_that_of_the_first_batch_and_the_exponent_is_found_at_it(
    bursty: Table,
) -> None:
    x, label = bursty
    model = by_columns(x[:200], label[:200])
    plain = NaiveBayes(Multinomial(), temper=None).fit(x[:200], label[:200])
    t, sd, length = (
        each.iloc[0] for each in (model.temper_, model.temper_sd_, model.temper_length_)
    )
    log_class = np.log(plain.class_posterior_.mean())
    evidence = plain.predict_joint_log_proba(x[200:]) - log_class
    share = 1 / (1 + x[200:].sum(axis=1)[:, None] / length)

    def log_posterior(w: float) -> float:
        joint = log_class + w * share * evidence
        scores = joint[np.arange(200), label[200:]] - logsumexp(joint, axis=1)
        return scores.sum() - ((w - t) / sd) ** 2 / 2

    best = model.partial_fit(x[200:], label[200:]).temper_.iloc[0]
    assert model.temper_length_.iloc[0] == length
    for step in (-0.05, -0.01, 0.01, 0.05):
        assert log_posterior(best) >= log_posterior(best + step)
    later = model.merge(by_columns(x[:200], label[:200])).forget(x[:100], label[:100]).decay(0.9)
    assert later.temper_length_.iloc[0] == length


@pytest.mark.slow
def test_held_out_mails_are_predicted_far_better_than_by_one_exponent() -> None:
    mails = datasets.spam()
    x = sparse.csr_array(mails.drop(columns="label").to_numpy(float))
    label = mails["label"].to_numpy(str)
    order = np.random.default_rng(0).permutation(2000)
    loss = {}
    learnt = order[:1300]
    held_out = order[1300:]
    for temper in (None, "loo", "auto"):
        model = NaiveBayes(temper=temper).fit(x[learnt], label[learnt])
        place = np.searchsorted(model.classes_, label[held_out])
        loss[temper] = -model.predict_log_proba(x[held_out])[np.arange(700), place].mean()
    assert loss["auto"] < 0.75 * loss["loo"] < 0.75 * loss[None]


# What a model says with it


def assert_answers_agree(model: NaiveBayes, x: Any) -> None:
    """The interval's mean is the prediction, and the explanation adds up to it."""
    assert_allclose(model.predict_interval(x).probability, model.predict_proba(x), atol=1e-6)
    why = model.explain(x)
    total = (why.predictive.sum("feature") + why.predictive_class_term).transpose("obs_id", "class")
    assert_allclose(total, model.predict_joint_log_proba(x), atol=1e-9)


@pytest.mark.parametrize("rows", ["observed", "fixed"])
@pytest.mark.slow
def test_intervals_are_those_of_draws(fitted: NaiveBayes, bursty: Table, rows: str) -> None:
    x = bursty[0][:4]
    exact = fitted.predict_interval(x, 0.8, rows, method="exact")
    drawn = fitted.predict_interval(x, 0.8, rows, method="draws", draws=20_000, rng=1)
    for name in ("probability", "median", "lower", "upper"):
        assert_allclose(exact[name], drawn[name], atol=0.02)


def test_explanations_and_files_hold_the_length(
    fitted: NaiveBayes, bursty: Table, tmp_path: Path
) -> None:
    assert_answers_agree(fitted, bursty[0][:6])
    assert (fitted.explain(bursty[0][:6]).temper_length == fitted.temper_length_.iloc[0]).all()
    fitted.save(tmp_path / "model.bnb")
    loaded = load(tmp_path / "model.bnb")
    pd.testing.assert_series_equal(loaded.temper_length_, fitted.temper_length_)
    assert_array_equal(loaded.predict_proba(bursty[0]), fitted.predict_proba(bursty[0]))


def test_weights_of_a_linear_form_multiply_the_shortened_counts(bursty: Table) -> None:
    x, label = bursty
    model = by_columns(x, label, estimate="mean")
    form = model.linear_form()
    joint = model.linear_features(x) @ form.w.values.T + form.b.values
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(model.predict_log_proba(x), expected, atol=1e-10)
    assert form.attrs["temper_length"] == [model.temper_length_.iloc[0]]
    assert calibration(model, x, label).attrs["temper_length"] == form.attrs["temper_length"]


def test_a_length_is_saved_with_its_column_wherever_that_stands(
    bursty: Table, tmp_path: Path
) -> None:
    x, y = bursty
    names = np.array([f"word{k}" for k in range(x.shape[1])])
    texts = [np.repeat(names, row.astype(int)).tolist() for row in x.toarray()]
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"level": rng.choice(["u", "v"], len(y)), "text": texts, "number": rng.normal(y)}
    )
    families = {"text": "multinomial", "number": "gaussian", "level": "categorical"}
    model = NaiveBayes(families, temper="columns").fit(table, y)
    assert list(model.temper_.index) == ["level", "text", "number"]
    assert list(model.temper_length_.index) == ["text"]
    assert np.isfinite(model.temper_length_).all()
    model.save(tmp_path / "model.bnb")
    again = load(tmp_path / "model.bnb")
    pd.testing.assert_series_equal(again.temper_, model.temper_)
    assert_array_equal(again.predict_proba(table), model.predict_proba(table))
