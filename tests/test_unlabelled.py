"""Rows without labels, learnt by expectation and maximisation."""

import warnings
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

from bayesnb import (
    Bernoulli,
    Categorical,
    Gamma,
    Gaussian,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
)
from bayesnb.datasets import spam

Array = np.ndarray
PRIOR = {"a": 0.5, "b": 0.5}
FAMILIES = {
    "gaussian": Gaussian(NormalInverseGamma(0.0, 0.5, 2.0, 2.0)),
    "poisson": Poisson(Gamma(1.0, 1.0)),
    "categorical": Categorical(),
    "bernoulli": Bernoulli(threshold=0.0),
}


def draw(seed: int, rows: int, width: int = 6, shift: float = 1.0) -> tuple[Array, Array]:
    """Return rows of two classes that differ in each of some independent columns, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, width)) + shift * y[:, None], np.array(["a", "b"], object)[y]


def hide(y: Array, labelled: int) -> Array:
    """Return labels of which only the first are known."""
    hidden = y.copy()
    hidden[labelled:] = None
    return hidden


def cells_of(name: str, x: Array) -> Any:
    """Return numbers as cells of a family."""
    if name == "poisson":
        return np.floor(np.exp(x))
    return np.sign(x).astype(int).astype(str) if name == "categorical" else x


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weight", [0.2, 1.0])
@pytest.mark.parametrize("class_prior", [1.0, PRIOR, "empirical"], ids=str)
def test_it_is_where_expectation_and_maximisation_end(
    name: str, weight: float, class_prior: Any
) -> None:
    x, y = draw(0, 120)
    x = cells_of(name, x)
    model = NaiveBayes(FAMILIES[name], class_prior=class_prior)
    model.fit(x, hide(y, 30), unlabelled_weight=weight)
    assert model.unlabelled_weight_ == weight
    # rows without labels, once in each class, as often as they are in it
    proba = model.predict_proba(x[30:])
    rows = np.concatenate([x[:30], x[30:], x[30:]])
    labels = np.concatenate([y[:30], ["a"] * 90, ["b"] * 90])
    weights = np.concatenate([np.ones(30), weight * proba[:, 0], weight * proba[:, 1]])
    again = NaiveBayes(FAMILIES[name], class_prior=class_prior)
    again.fit(rows, labels, sample_weight=weights)
    np.testing.assert_allclose(again.predict_proba(x), model.predict_proba(x), atol=2e-3)
    total = 30 + weight * 90
    np.testing.assert_allclose(model.stats_.classes.counts.sum(), total, rtol=1e-9)


@pytest.mark.parametrize("unlabelled_weight", ["auto", 0, 0.5])
def test_where_all_rows_have_labels_it_is_a_fit(unlabelled_weight: Any) -> None:
    x, y = draw(0, 80)
    one = NaiveBayes().fit(x, y, unlabelled_weight=unlabelled_weight)
    np.testing.assert_array_equal(one.predict_proba(x), NaiveBayes().fit(x, y).predict_proba(x))
    assert one.unlabelled_weight_ == 0


def test_a_weight_of_zero_leaves_them_out() -> None:
    x, y = draw(0, 80)
    one = NaiveBayes().fit(x, hide(y, 40), unlabelled_weight=0)
    other = NaiveBayes().fit(x[:40], y[:40])
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    assert one.unlabelled_weight_ == 0


@pytest.mark.parametrize("missing", [None, np.nan, -1, pd.NA], ids=["None", "NaN", "-1", "NA"])
def test_a_label_is_missing_in_any_way(missing: Any) -> None:
    x, y = draw(0, 120)
    codes = (y == "b").astype(int)
    hidden = codes.astype(object)
    hidden[40:] = missing
    one = NaiveBayes("gaussian").fit(x, hidden, unlabelled_weight=1.0)
    whole = np.where(np.arange(120) < 40, codes, -1)
    other = NaiveBayes("gaussian").fit(x, whole, unlabelled_weight=1.0)
    assert one.classes_.tolist() == other.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    reals = NaiveBayes("gaussian").fit(x, np.where(whole < 0, np.nan, whole), unlabelled_weight=1.0)
    np.testing.assert_array_equal(reals.predict_proba(x), other.predict_proba(x))


def test_labels_stay_of_their_type_and_several_types_are_refused() -> None:
    x, y = draw(0, 120)
    dates = np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")[(y == "b").astype(int)]
    hidden = dates.copy()
    hidden[40:] = np.datetime64("NaT")
    model = NaiveBayes("gaussian").fit(x, hidden, unlabelled_weight=1.0)
    assert model.classes_.dtype == NaiveBayes("gaussian").fit(x, dates).classes_.dtype
    mixed = np.where(y == "a", 1, y).astype(object)
    with pytest.raises(ValueError, match="labels of several types"):
        NaiveBayes("gaussian").fit(x, hide(mixed, 40), unlabelled_weight=1.0)


def test_any_table_does_and_weights_of_rows_count() -> None:
    x, y = draw(0, 120)
    hidden = hide(y, 40)
    weight = np.where(np.arange(120) < 80, 1.0, 0.0)
    some = NaiveBayes("gaussian").fit(x[:80], hidden[:80], unlabelled_weight=0.5)
    by_weight = NaiveBayes("gaussian").fit(x, hidden, weight, unlabelled_weight=0.5)
    np.testing.assert_allclose(by_weight.predict_proba(x), some.predict_proba(x), rtol=1e-9)
    frame = pd.DataFrame(x, columns=list("uvwxyz"))
    labels = pd.Series(hidden, name="kind")
    by_name = NaiveBayes("gaussian").fit(frame[:80], labels[:80], unlabelled_weight=0.5)
    np.testing.assert_allclose(by_name.predict_proba(frame), some.predict_proba(x), rtol=1e-9)
    assert by_name.target_name_ == "kind"
    counts = np.floor(np.exp(x[:80]))
    dense = MultinomialNB().fit(counts, hidden[:80], unlabelled_weight=0.5)
    thin = MultinomialNB().fit(sparse.csr_array(counts), hidden[:80], unlabelled_weight=0.5)
    np.testing.assert_allclose(thin.predict_proba(counts), dense.predict_proba(counts), rtol=1e-9)


@pytest.mark.slow
def test_it_helps_where_the_model_is_true() -> None:
    losses = []
    weights = []
    for seed in range(8):
        x, y = draw(seed, 500, width=20, shift=0.5)
        new, labels = draw(100 + seed, 1_000, width=20, shift=0.5)
        alone = NaiveBayes("gaussian").fit(x[:30], y[:30])
        auto = NaiveBayes("gaussian").fit(x, hide(y, 30), unlabelled_weight="auto")
        losses.append([log_loss(labels, each.predict_proba(new)) for each in (alone, auto)])
        weights.append(auto.unlabelled_weight_)
    gains = -np.diff(losses)[:, 0]
    assert gains.mean() > 0.1
    assert gains.min() > -0.01
    assert np.count_nonzero(weights) >= 3


def test_it_is_left_where_the_model_is_wrong() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, y = draw(int(rng.integers(1_000)), 400)
        x[:, :5] += 4 * rng.integers(0, 2, (400, 1))  # what tells most rows apart is not the label
        model = NaiveBayes("gaussian").fit(x, hide(y, 40), unlabelled_weight="auto")
        assert model.unlabelled_weight_ == 0


@pytest.mark.slow
def test_of_spam_a_few_labels_are_nearly_enough() -> None:
    table = spam()
    x = table.drop(columns="label").to_numpy()
    y = table["label"].to_numpy().astype(object)
    few = np.concatenate([np.flatnonzero(y[:1500] == label)[:10] for label in ("ham", "spam")])
    hidden = np.full(1_500, None)
    hidden[few] = y[few]
    alone = MultinomialNB(temper="loo").fit(x[few], y[few])
    learnt = MultinomialNB(temper="loo").fit(x[:1500], hidden, unlabelled_weight=0.1)
    assert alone.score(x[1500:], y[1500:]) < 0.85
    assert learnt.score(x[1500:], y[1500:]) > 0.92


def test_classes_without_a_labelled_row_are_known_and_rare_cells_do_not_overflow() -> None:
    x, y = draw(0, 200, shift=6.0)  # of many rows, a class has a probability near 1e-300
    model = NaiveBayes(classes=["a", "b", "c"])
    model.fit(x, hide(y, 100), unlabelled_weight=1.0)
    proba = model.predict_proba(x)
    assert np.isfinite(proba).all()
    assert proba[:, 2].mean() < 0.1


def test_very_few_labels_tell_nothing_and_lists_of_words_are_rows() -> None:
    x, y = draw(0, 60)
    few = NaiveBayes("gaussian").fit(x, hide(y, 4), unlabelled_weight="auto")
    assert few.unlabelled_weight_ == 0
    texts = [["cheap", "pills"], ["see", "you"], ["cheap", "offer"], ["see", "her"], ["offer"]]
    labels = ["spam", "ham", None, None, None]
    model = NaiveBayes("multinomial").fit(texts, labels, unlabelled_weight=1.0)
    assert model.predict([["offer"], ["her"]]).tolist() == ["spam", "ham"]


@pytest.mark.parametrize("dependence", [None, "pairs", "all"])
def test_levels_that_no_labelled_row_has_are_learnt(dependence: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"], object)[rng.integers(0, 2, 300)]
    town = np.where(rng.random(300) < 0.8, np.where(y == "a", "Bern", "Brig"), "Biel")
    table = pd.DataFrame({"town": town, "copy": town, "x": rng.normal(size=300) + 2 * (y == "b")})
    table.loc[150:, "town"] = table.loc[150:, "town"].replace({"Brig": "Basel"})
    model = NaiveBayes(dependence=dependence)
    model.fit(table, hide(y, 150), unlabelled_weight=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a level that nobody knows
        assert model.score(table[150:], y[150:]) > 0.85
        model.predict_interval(table[150:155])


def test_what_was_learnt_goes_on() -> None:
    x, y = draw(0, 160)
    model = NaiveBayes("gaussian").fit(x[:120], hide(y[:120], 40), unlabelled_weight=1.0)
    model.partial_fit(x[120:], y[120:])
    np.testing.assert_allclose(model.stats_.classes.counts.sum(), 160)
    model.fit(x, y)
    assert not hasattr(model, "unlabelled_weight_")


@pytest.mark.parametrize("weight", [-0.1, np.inf, np.nan, "some", True, [1.0]], ids=str)
def test_another_weight_is_refused(weight: Any) -> None:
    x, y = draw(0, 40)
    with pytest.raises(ValueError, match="unlabelled_weight must be 'auto', or a number"):
        NaiveBayes().fit(x, hide(y, 20), unlabelled_weight=weight)


def test_what_cannot_be_learnt_is_refused_and_leaves_the_model_as_it_was() -> None:
    x, y = draw(0, 40)
    model = NaiveBayes().fit(x, y)
    before = model.predict_proba(x)
    with pytest.raises(ValueError, match="no row has a label"):
        model.fit(x, [None] * 40, unlabelled_weight=1.0)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(x, hide(y, 20)[:30], unlabelled_weight=1.0)
    bad = x.copy()
    bad[30] = np.inf
    with pytest.raises(ValueError, match="inf"):
        model.fit(bad, hide(y, 20), unlabelled_weight=1.0)
    with pytest.raises(TypeError, match="lazy"):
        model.fit(dask.array.from_array(x), hide(y, 20), unlabelled_weight=1.0)
    with pytest.raises(ValueError, match="missing"):
        model.fit(x, hide(y, 20))
    np.testing.assert_array_equal(model.predict_proba(x), before)
