"""The linear form reproduces what the plug-in says, and its sds are those of the weights under the posterior."""

from math import pi, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as sk
from scipy import sparse
from scipy.special import log_softmax, logit, polygamma, softmax

import bayesnb as nb
from bayesnb.report import gather, section
from bayesnb.report.sections.learnt_columns import weights
from tests.parsed import Page

ROWS = 300
RNG = np.random.default_rng(20261122)
Y = np.array(["ant", "bee", "cow"])[np.arange(ROWS) % 3]
THETA = RNG.dirichlet(np.full(6, 20.0), 3)
TABLE = pd.DataFrame(
    {
        "colour": np.array(["red", "green", "blue"])[RNG.binomial(2, 0.2 + 0.2 * (np.arange(ROWS) % 3))],
        "legs": RNG.poisson(np.array([6.0, 5.5, 4.0])[np.arange(ROWS) % 3]),
        "flies": RNG.random(ROWS) < np.array([0.2, 0.8, 0.1])[np.arange(ROWS) % 3],
        "size": np.array(["s", "m"])[RNG.integers(0, 2, ROWS)],
        "weight": RNG.normal(np.arange(ROWS) % 3, 1),
    }
)
COUNTS = np.array([RNG.multinomial(40, THETA[i % 3]) for i in range(ROWS)])
FLAGS = (RNG.random((ROWS, 4)) < THETA[np.arange(ROWS) % 3, :4] + 0.1).astype(float)
NUMBERS = RNG.normal((np.arange(ROWS) % 3)[:, None] * [1.0, 2.0, 30.0], [1.0, 3.0, 20.0], (ROWS, 3))
NUMBERS += [0, 10, 500]
LEVELS = TABLE[["colour", "size"]]
MIXED = {"legs": nb.Poisson(), "weight": nb.Bernoulli(threshold=1.0)}
TABLES: dict[str, tuple[Any, Any]] = {
    "bernoulli": (nb.Bernoulli(), FLAGS),
    "threshold": (nb.Bernoulli(nb.Beta(2.0, 3.0), threshold=6.0), COUNTS),
    "sparse flags": (nb.Bernoulli(threshold=6.0), sparse.csr_array(COUNTS)),
    "categorical": (nb.Categorical(2.0), LEVELS),
    "multinomial": (nb.Multinomial(1.5), COUNTS),
    "sparse words": (nb.Multinomial(), sparse.csr_array(COUNTS)),
    "poisson": (nb.Poisson(), COUNTS),
    "shared": (nb.Gaussian(shared=True), NUMBERS),
    "two blocks": ({(0, 2): nb.Multinomial(), (5, 1, 4): nb.Multinomial(2.0), 3: nb.Poisson()}, COUNTS),
    "mixed": (MIXED, TABLE),
    "all kinds": (MIXED | {"weight": nb.Gaussian(shared=True)}, TABLE),
}


def fitted(name: str, **how: Any) -> tuple[nb.NaiveBayes, Any]:
    family, X = TABLES[name]
    return nb.NaiveBayes(family, **how).fit(X, Y), X


def scores(model: nb.NaiveBayes, X: Any, **how: Any) -> np.ndarray:
    form = model.linear_form(**how)
    return model.linear_features(X) @ form.w.values.T + form.b.values


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "how",
    [
        {"estimate": "mean"},
        {"estimate": "mean", "temper": 0.3, "class_prior": "uniform"},
        {"estimate": "mle", "class_prior": {"ant": 0.7, "bee": 0.2, "cow": 0.1}},
    ],
    ids=["mean", "tempered", "mle"],
)
def test_the_form_has_the_plug_ins_probabilities_and_decisions(name: str, how: dict[str, Any]) -> None:
    model, X = fitted(name, **how)
    found = scores(model, X)
    np.testing.assert_allclose(log_softmax(found, axis=1), model.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(X)).all()
    against = scores(model, X, against="bee")
    np.testing.assert_allclose(softmax(against, axis=1), model.predict_proba(X), rtol=0, atol=1e-12)


def test_the_map_is_plugged_in_where_it_is_asked_for() -> None:
    model, X = fitted("mixed", estimate="map")
    np.testing.assert_allclose(log_softmax(scores(model, X), axis=1), model.predict_log_proba(X), rtol=0, atol=1e-12)
    other, _ = fitted("mixed", estimate="predictive")
    assert other.linear_form(estimate="map").identical(model.linear_form())
    assert other.linear_form().attrs["estimate"] == "mean"


def test_where_every_cell_is_read_once_the_form_is_that_of_the_predictive_too() -> None:
    model, X = fitted("categorical", estimate="predictive")
    np.testing.assert_allclose(softmax(scores(model, X), axis=1), model.predict_proba(X), rtol=0, atol=1e-12)


def test_weights_are_scikit_learns() -> None:
    words = nb.MultinomialNB(alpha=0.7, class_prior="empirical").fit(COUNTS, Y).linear_form()
    twin = sk.MultinomialNB(alpha=0.7).fit(COUNTS, Y)
    np.testing.assert_allclose(words.w, twin.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(words.b, twin.class_log_prior_, rtol=1e-12)
    coins = nb.BernoulliNB(alpha=0.7, class_prior="empirical").fit(FLAGS, Y).linear_form()
    other = sk.BernoulliNB(alpha=0.7).fit(FLAGS, Y)
    never = np.log1p(-np.exp(other.feature_log_prob_))
    np.testing.assert_allclose(coins.w, other.feature_log_prob_ - never, rtol=1e-12)
    np.testing.assert_allclose(coins.b, other.class_log_prior_ + never.sum(axis=1), rtol=1e-12)


def test_by_hand_of_two_classes_it_is_a_logistic_regressions_w_and_b() -> None:
    model = nb.BernoulliNB().fit([[1], [1], [0]], ["spam", "spam", "ham"])  # Beta(3, 1) and Beta(1, 2), classes 3 to 2
    form = model.linear_form(against="ham")
    spam = form.sel({"class": "spam"})
    assert float(spam.w.item()) == pytest.approx(np.log(3) - np.log(1 / 2), rel=1e-15)
    assert float(spam.b) == pytest.approx(np.log(3 / 2) + np.log(1 / 4) - np.log(2 / 3), rel=1e-15)
    first = pi**2 / 6  # psi'(1); psi'(2) is 1 less, and psi'(3) another quarter
    assert float(spam.w_sd.item()) == pytest.approx(sqrt((2 * first - 5 / 4) + (2 * first - 1)), rel=1e-14)
    classes, ones = (first - 5 / 4) + (first - 1), polygamma(1, 1) - polygamma(1, 4) + polygamma(1, 2) - polygamma(1, 3)
    assert float(spam.b_sd) == pytest.approx(sqrt(classes + ones), rel=1e-14)
    assert not form.sel({"class": "ham"}).to_array().any()  # it does not differ from itself


def drawn(name: str, draws: int) -> tuple[nb.NaiveBayes, np.ndarray, np.ndarray]:
    """Weights `(s, c, k)` and offsets `(s, c)` of parameters from the posterior's own draws."""
    model, _ = fitted(name, temper=0.5)
    rng, block = np.random.default_rng(1), model.model_.posterior.blocks[0]
    if name == "shared":
        theta = block.sample(rng, draws)
        w = theta.mean / theta.variance
        b = -(theta.mean * w).sum(axis=-1) / 2
    else:
        theta = np.asarray(block.sample(rng, draws)).reshape(draws, 3, -1)
        w = logit(theta) if name == "bernoulli" else np.log(theta)
        beside = {"bernoulli": lambda p: np.log1p(-p), "poisson": np.negative}.get(name, np.zeros_like)
        b = beside(theta).sum(axis=-1)
    log_class = np.log(np.asarray(model.class_posterior_.sample(rng, draws)))
    return model, w / 2, log_class + b / 2


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "multinomial", "poisson", "shared"])
def test_sds_are_those_of_draws(name: str) -> None:
    model, w, b = drawn(name, 50_000)
    for against in (None, "bee"):
        form = model.linear_form(against=against)
        own_w, own_b = (w, b) if against is None else (w - w[:, [1]], b - b[:, [1]])
        for array, sd in ((own_w, form.w_sd.values), (own_b, form.b_sd.values)):
            gap = (array - array.mean(axis=0)) ** 2
            error = gap.std(axis=0) / sqrt(len(gap))
            np.testing.assert_array_less(np.abs(gap.mean(axis=0) - sd**2), 5 * error + 1e-12)


def test_with_one_variance_w_is_the_mean_over_the_variance() -> None:
    model, _ = fitted("shared", estimate="mle", class_prior="empirical")
    means = np.array([NUMBERS[label == Y].mean(axis=0) for label in model.classes_])
    variance = np.mean([NUMBERS[label == Y].var(axis=0) for label in model.classes_], axis=0)
    form = model.linear_form()
    np.testing.assert_allclose(form.w, means / variance, rtol=1e-12)
    np.testing.assert_allclose(form.b, np.log(1 / 3) - (means**2 / variance / 2).sum(axis=1), rtol=1e-12)


def test_far_from_zero_differences_keep_their_digits() -> None:
    near, _ = fitted("shared", estimate="mean")
    far = nb.NaiveBayes(nb.Gaussian(shared=True), estimate="mean").fit(NUMBERS + 1e7, Y)
    x = far.linear_features(NUMBERS + 1e7)
    form, twin = far.linear_form(against="ant"), near.linear_form(against="ant")
    np.testing.assert_allclose(form.w, twin.w, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        softmax(x @ form.w.values.T + form.b.values, axis=1), near.predict_proba(NUMBERS), atol=1e-6
    )


def test_levels_are_features_beside_their_columns() -> None:
    model, _ = fitted("mixed", estimate="mean")
    form = model.linear_form()
    assert form.feature.values.tolist() == [
        *("colour=blue", "colour=green", "colour=red", "legs", "flies", "size=m", "size=s", "weight")
    ]
    assert form.column.values.tolist() == [*["colour"] * 3, "legs", "flies", "size", "size", "weight"]
    assert form.level.values.tolist() == ["blue", "green", "red", "", "", "m", "s", ""]
    np.testing.assert_allclose(form.w.values[:, :3], np.log(model.posterior_["colour"].mean()), rtol=1e-14)
    assert (form.w.isel(feature=3) == np.log(model.posterior_["legs"].mean())).all()


def test_a_missing_or_unknown_level_is_left_out() -> None:
    ignoring, X = fitted("categorical", estimate="mean")
    model = nb.NaiveBayes(nb.Categorical(unseen="reserve"), estimate="mean").fit(X, Y)
    new = pd.DataFrame({"colour": [None, "red", "mauve"], "size": ["m", None, "s"]})
    np.testing.assert_allclose(softmax(scores(model, new), axis=1), model.predict_proba(new), rtol=0, atol=1e-12)
    assert model.linear_form().feature.values.tolist()[3] == "colour=(unseen)"
    with pytest.warns(nb.UnseenLevelWarning, match="mauve"):
        x = ignoring.linear_features(new)
    assert x.tolist() == [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]


def test_a_sparse_table_has_sparse_features() -> None:
    dense, X = fitted("multinomial")
    model, rows = fitted("sparse words")
    found = model.linear_features(rows)
    assert (found.toarray() == dense.linear_features(X)).all()
    flags, rows = fitted("sparse flags")
    assert (flags.linear_features(rows).toarray() == (COUNTS > 6)).all()
    numbers = nb.NaiveBayes(nb.Poisson()).fit(rows, Y)
    assert (numbers.linear_features(rows).toarray() == COUNTS).all()


@pytest.mark.parametrize("rows", [FLAGS, sparse.csr_array(FLAGS)], ids=["dense", "sparse"])
def test_another_missing_cell_is_refused(rows: Any) -> None:
    model = nb.NaiveBayes(nb.Bernoulli()).fit(rows, Y)
    holes = FLAGS.copy()
    holes[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"column 3: a cell is missing at row 2 .*predict_proba"):
        model.linear_features(type(rows)(holes) if sparse.issparse(rows) else holes)


def test_an_impossible_class_has_an_offset_of_minus_infinity() -> None:
    prior, classes = {"ant": 0.5, "asp": 0.0, "bee": 0.25, "cow": 0.25}, ["ant", "asp", "bee", "cow"]
    model = nb.NaiveBayes(nb.Bernoulli(), class_prior=prior, classes=classes, estimate="mle").fit(FLAGS, Y)
    form = model.linear_form(against="cow")
    np.testing.assert_allclose(softmax(scores(model, FLAGS), axis=1), model.predict_proba(FLAGS), rtol=0, atol=1e-12)
    assert np.isneginf(form.b.values).tolist() == [False, True, False, False]
    nothing = form.w.values[1], form.w_sd.values[1], form.b_sd.values[1], form.b.values[3]
    assert not np.hstack(nothing).any()
    with pytest.raises(ValueError, match="'asp' has probability 0"):
        model.linear_form(against="asp")


def test_what_is_not_linear_says_so() -> None:
    numbers = nb.NaiveBayes().fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"'weight'.*Gaussian.*shared=True"):
        numbers.linear_form()
    with pytest.raises(ValueError, match="not linear"):
        numbers.linear_features(TABLE)
    alone = nb.NaiveBayes().fit([[1.0], [2.0]], ["one", "one"])
    with pytest.raises(ValueError, match="not linear"):
        alone.linear_form()
    averaged = nb.NaiveBayes(MIXED, average_features=0.5).fit(TABLE, Y)
    with pytest.raises(ValueError, match="average_features=None"):
        averaged.linear_form()


def test_a_probability_of_zero_has_no_weight() -> None:
    model = nb.NaiveBayes(nb.Categorical(), estimate="mle").fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
    for against in (None, "yes"):
        with pytest.raises(ValueError, match="feature '0=a', class 'no': a probability is 0"):
            model.linear_form(against=against)
    assert np.isfinite(model.linear_form(estimate="mean").w).all()


def test_bad_arguments_are_told() -> None:
    model, _ = fitted("poisson")
    with pytest.raises(ValueError, match=r"against must be one of the classes \['ant', 'bee', 'cow'\], got 'dog'"):
        model.linear_form(against="dog")
    with pytest.raises(ValueError, match="estimate must be None or one of mean, map, mle, got 'predictive'"):
        model.linear_form(estimate="predictive")
    with pytest.raises(ValueError, match="not fitted"):
        nb.NaiveBayes().linear_form()


def test_the_page_of_a_linear_model_shows_its_weights_the_surest_first() -> None:
    model, X = fitted("all kinds", temper=0.5)
    form = model.linear_form(against="ant").sel({"class": ["bee", "cow"]})  # all three are as frequent
    head, *rows = Page(section("learnt", gather(model, X, Y))).tables["Weights, the clearest first"]
    assert head == ["Weight of", "bee", "cow"]
    clear = (abs(form.w) / form.w_sd).max("class").values
    assert [name for name, *_ in rows] == [*form.feature.values[np.argsort(-clear)], "b"]
    for name, *cells in rows:
        w, sd = (form.b, form.b_sd) if name == "b" else (form.w.sel(feature=name), form.w_sd.sel(feature=name))
        for cell, value, error in zip(cells, w.values, sd.values, strict=True):
            shown, spread = (float(part) for part in cell.replace("\u2212", "-").split("\u00b1"))
            assert abs(shown - value) <= 0.051 * error
            assert spread == pytest.approx(error, rel=0.051)


def test_the_page_of_another_model_has_no_weights() -> None:
    assert not weights(gather(nb.NaiveBayes(), TABLE, Y))
    assert not weights(gather(nb.NaiveBayes(nb.Poisson()), COUNTS, np.zeros(ROWS)))
