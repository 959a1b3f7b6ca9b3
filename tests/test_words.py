"""Words: texts as lists of words, words that are new, and numbers that are no counts."""

import tracemalloc
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import bayesnb
from bayesnb import (
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    UnseenLevelWarning,
    plot_column,
    plot_words,
)
from bayesnb.scale import fit_files

ROWS = 60
RNG = np.random.default_rng(20261122)
VOCABULARY = ["at", "cash", "meeting", "noon", "win"]
SHARES = {"ham": [0.3, 0.05, 0.3, 0.3, 0.05], "spam": [0.1, 0.35, 0.1, 0.1, 0.35]}
Y = np.array(["ham", "spam"])[RNG.integers(0, 2, ROWS)]
TEXTS = [RNG.choice(VOCABULARY, RNG.poisson(5), p=SHARES[y]).tolist() for y in Y]
COUNTS = np.array([[text.count(word) for word in VOCABULARY] for text in TEXTS])
LOG_ORDERS = gammaln(COUNTS.sum(axis=1) + 1) - gammaln(COUNTS + 1).sum(axis=1)
NUMBERS = RNG.normal(size=ROWS).round(3)
FIXED = Gaussian(NormalInverseGamma(0, 1, 1, 1))
BOTH = {"text": TEXTS, "size": NUMBERS}


def fit(x: Any = TEXTS, y: Any = Y, prior: Any = 1.0, **options: Any) -> NaiveBayes:
    return NaiveBayes(Multinomial(prior, **options)).fit(x, y)


# A text and its counts differ by the number of orders, which no class knows


@pytest.mark.parametrize("temper", [None, 0.4])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_a_text_is_less_probable_than_its_counts_by_the_number_of_orders(
    estimate: str, temper: Any
) -> None:
    counts = NaiveBayes(Multinomial(1.5), estimate=estimate, temper=temper).fit(COUNTS, Y)
    joint = counts.predict_joint_log_proba(COUNTS)
    gap = (temper or 1.0) * LOG_ORDERS[:, None]
    for ordered, x in ((True, COUNTS), (False, TEXTS)):
        family = Multinomial(1.5, ordered=ordered)
        words = NaiveBayes(family, estimate=estimate, temper=temper).fit(x, Y)
        assert_allclose(words.predict_joint_log_proba(x), joint - gap, rtol=1e-12)
        if temper is None:
            label = words.loo(x, Y).elpd_i
            expected = counts.loo(COUNTS, Y).elpd_i
            assert_allclose(label, expected, rtol=1e-11)
            both = words.loo(x, Y, target="joint"), counts.loo(COUNTS, Y, target="joint")
            assert_allclose(both[0].elpd_i, both[1].elpd_i - LOG_ORDERS, rtol=1e-11)


def test_evidence_differs_by_the_number_of_orders_and_bayes_factors_and_intervals_do_not() -> None:
    counts = fit(COUNTS)
    words = fit()
    assert words.log_evidence_ == pytest.approx(counts.log_evidence_ - LOG_ORDERS.sum(), rel=1e-12)
    factors = [bayesnb.relevance(model).log_bayes_factor for model in (counts, words)]
    assert_allclose(*factors, rtol=1e-12)
    ends = [model.predict_interval(x[:9]).lower for model, x in ((counts, COUNTS), (words, TEXTS))]
    assert_allclose(*ends, rtol=1e-6)


def test_all_texts_of_three_words_have_together_probability_one() -> None:
    prior = Dirichlet([0.5, 1.0, 2.0])
    model = fit([["a", "b", "a"], ["c"], [], ["c", "c", "b"]], [0, 1, 0, 1], prior, levels=[*"abc"])
    every = [list(words) for words in product("abc", repeat=3)]
    assert np.exp(model.predict_joint_log_proba(every)).sum() == pytest.approx(1, rel=1e-13)


def test_a_word_that_was_seen_once_is_likelier_to_be_seen_again() -> None:
    """Polya's urn in exact fractions: prior (.5, 1, 2), counts (3, 0, 7), a new row (2, 1, 0)."""
    urn = Fraction(7, 2) * Fraction(9, 2) / (Fraction(27, 2) * Fraction(29, 2) * Fraction(31, 2))
    made = Multinomial(Dirichlet([0.5, 1.0, 2.0]), levels=list("abc"))
    texts = [["a"] * 3 + ["c"] * 7, ["b"]]
    words = NaiveBayes(made, class_prior="uniform").fit(texts, [0, 1])
    found = words.predict_joint_log_proba([["a", "b", "a"]])[0, 0] - np.log(0.5)
    assert found == pytest.approx(np.log(float(urn)), rel=1e-13)
    counts = NaiveBayes(Multinomial(Dirichlet([0.5, 1.0, 2.0])), class_prior="uniform")
    counts.fit(np.array([[3, 0, 7], [0, 1, 0]]), [0, 1])
    found = counts.predict_joint_log_proba([[2, 1, 0]])[0, 0] - np.log(0.5)
    assert found == pytest.approx(np.log(float(3 * urn)), rel=1e-13)


def test_a_text_without_words_says_nothing_of_the_class() -> None:
    model = fit()
    assert_allclose(model.predict_proba([[]])[0], model.class_posterior_.mean(), rtol=1e-14)
    assert fit([[], []], ["a", "b"]).log_evidence_by_feature() == {0: 0.0}


# Where texts are found


LARGE = pa.large_list(pa.large_string())
CONTAINERS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: [np.array(text, str) for text in TEXTS],
    "a series of pandas": lambda: pd.Series(TEXTS, index=np.arange(ROWS) + 5),
    "a series of polars": lambda: pl.Series(TEXTS),
    "a column of Arrow": lambda: pa.chunked_array([TEXTS[:7], TEXTS[7:]]),
    "pandas": lambda: pd.DataFrame({"text": TEXTS}, index=np.arange(ROWS) + 5),
    "polars of categories": lambda: pl.DataFrame(
        {"text": pl.Series(TEXTS, dtype=pl.List(pl.Categorical))}
    ),
    "Arrow": lambda: pa.table({"text": pa.chunked_array([TEXTS[:7], TEXTS[7:]])}),
    "large lists of Arrow": lambda: pa.table({"text": pa.array(TEXTS, LARGE)}),
    "numbers that stand for words": lambda: pl.DataFrame(
        {"text": [[VOCABULARY.index(word) for word in text] for text in TEXTS]}
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_texts_may_be_in_any_table(name: str) -> None:
    x = CONTAINERS[name]()
    model = fit(x)
    assert_allclose(model.predict_proba(x), fit().predict_proba(TEXTS), rtol=1e-13)
    assert model.log_evidence_ == pytest.approx(fit().log_evidence_, rel=1e-14)
    drawn, _ = model.sample(40, rng=1)
    with warnings.catch_warnings(action="error"):
        assert np.isfinite(model.predict_proba(drawn)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_texts_is_recognised_beside_others(frame: Any) -> None:
    model = NaiveBayes({"size": FIXED}).fit(frame(BOTH), Y)
    assert isinstance(model.families_["text"], Multinomial)
    assert model.posterior_["text"].concentration.shape == (2, 5)
    terms = model.log_evidence_by_feature()
    assert terms["text"] == pytest.approx(fit().log_evidence_by_feature()[0], rel=1e-13)


def test_every_column_of_texts_has_words_of_its_own() -> None:
    titles = [text[:1] for text in TEXTS]
    table = pd.DataFrame(
        {"title": titles, "free": COUNTS[:, 0], "text": TEXTS, "money": COUNTS[:, 1]}
    )
    model = fit(table)
    assert set(model.posterior_) == {"title", "text", ("free", "money")}
    terms = model.log_evidence_by_feature()
    for key, x in (("title", titles), ("text", TEXTS), (("free", "money"), COUNTS[:, :2])):
        (alone,) = fit(x).log_evidence_by_feature().values()
        assert terms[key] == pytest.approx(alone, rel=1e-13)
    names = model.explain(table[:9])["feature"].values.tolist()
    assert len(set(names)) == len(names)
    assert {"title=cash", "text=cash", "free", "money"} <= set(names)


def test_texts_of_one_length_are_texts_only_where_words_are_declared() -> None:
    pairs = [text[:2] for text in TEXTS if len(text) > 1]
    labels = np.arange(len(pairs)) % 2
    assert fit(pairs, labels).n_features_in_ == 1
    assert NaiveBayes().fit(pairs, labels).n_features_in_ == 2
    assert NaiveBayes(Categorical()).fit(pairs, labels).n_features_in_ == 2


# Parts of the rows, each of which lacks words of the others

ORDER = np.argsort([max(text, default="") for text in TEXTS], kind="stable")
TABLE = pd.DataFrame({**BOTH, "y": Y}).iloc[ORDER].reset_index(drop=True)
X = TABLE[["text", "size"]]
PARTS = [slice(0, 12), slice(12, 30), slice(30, ROWS)]
MIXED = {"text": Multinomial(0.3), "size": FIXED}


def by_merge(folder: Path) -> NaiveBayes:
    first, second, third = (NaiveBayes(MIXED).fit(X[part], TABLE["y"][part]) for part in PARTS)
    return first.merge(second).merge(third)


def by_batches(folder: Path) -> NaiveBayes:
    model = NaiveBayes(MIXED, classes=["ham", "spam"])
    for part in PARTS:
        model.partial_fit(X[part], TABLE["y"][part])
    return model


def by_files(folder: Path) -> NaiveBayes:
    for place, part in enumerate(PARTS):
        TABLE[part].to_parquet(folder / f"{place}.parquet")
    return fit_files(NaiveBayes(MIXED), sorted(folder.glob("*.parquet")), "y", batch_rows=7)


def by_dask(folder: Path) -> NaiveBayes:
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    with dask.config.set({"dataframe.convert-string": False}):  # which would make text of lists
        lazy = dd.from_pandas(TABLE, npartitions=4)
        return NaiveBayes(MIXED).fit(lazy[["text", "size"]], lazy["y"])


@pytest.mark.parametrize("learn", [by_merge, by_batches, by_files, by_dask])
def test_vocabularies_that_differ_are_united_by_name(learn: Any, tmp_path: Path) -> None:
    assert {word for text in X["text"][PARTS[0]] for word in text} < {*VOCABULARY}
    model = learn(tmp_path)
    whole = NaiveBayes(MIXED).fit(X, TABLE["y"])
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-13)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


# Words that are new


def test_new_words_are_left_out_with_one_warning_of_all() -> None:
    model = NaiveBayes(MIXED).fit(X, TABLE["y"])
    table = pd.DataFrame({"text": [["cash", "zebra", "zebra"], ["yak"]], "size": [0.1, 0.2]})
    with pytest.warns(UnseenLevelWarning, match=r"column 'text' .*'zebra' \(2 times\)") as caught:
        found = model.predict_proba(table)
    (warning,) = caught
    assert warning.message.unseen == {"text": {"zebra": 2, "yak": 1}}
    assert_array_equal(found, model.predict_proba(table.assign(text=[["cash"], []])))


def test_a_reserved_word_stands_for_all_that_are_new() -> None:
    model = fit(prior=0.5, unseen="reserve")
    expected = fit(np.column_stack([COUNTS, np.zeros(ROWS, int)]), prior=0.5, ordered=True)
    with warnings.catch_warnings(action="error"):
        found = model.predict_joint_log_proba([["zebra", "cash", "yak"]])
    assert_allclose(found, expected.predict_joint_log_proba([[0, 1, 0, 0, 0, 2]]), rtol=1e-14)
    more = model.partial_fit([["zebra", "zebra"]], ["ham"])
    again = fit([*TEXTS, ["zebra", "zebra"]], [*Y, "ham"], 0.5, unseen="reserve")
    assert more.log_evidence_ == pytest.approx(again.log_evidence_, rel=1e-13)


def test_declared_words_are_the_only_ones(tmp_path: Path) -> None:
    with pytest.warns(UnseenLevelWarning, match="'meeting'"):
        model = fit(prior=Dirichlet([1.0, 2.0]), levels=["cash", "never"])
    table = np.column_stack([COUNTS[:, 1], np.zeros(ROWS, int)])
    expected = fit(table, prior=Dirichlet([1.0, 2.0]), ordered=True)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-13)
    model.save(tmp_path / "model.bnb")
    loaded = bayesnb.load(tmp_path / "model.bnb")
    assert loaded.families_[0].levels == ("cash", "never")
    assert loaded.sample(5, rng=1)[0] == model.sample(5, rng=1)[0]


WEIGHTS = COUNTS * RNG.gamma(2.0, 0.5, COUNTS.shape)
RAW = ["Win CASH now!", "meeting at noon", "cash, cash, win", "see you at the meeting", "win!"]
KINDS = ["spam", "ham", "spam", "ham", "spam"]
TF_IDF = TfidfVectorizer().fit_transform(RAW)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: fit(pd.DataFrame({"a": [["x"], None]}), [0, 1]),
            r"row 1 holds None.*missing.*use \[\]",
        ),
        (
            lambda: fit(pl.DataFrame({"a": [["x"], ["y", None]]}), [0, 1]),
            "words are missing .*row 1",
        ),
        (lambda: fit(pd.DataFrame({"a": [["x"], "raw text"]}), [0, 1]), "row 1 holds 'raw text'"),
        (lambda: fit(["some text", "more"], [0, 1]), "Split each into its words.*CountVectorizer"),
        (lambda: fit(pd.DataFrame({"a": ["some text", "more"]}), [0, 1]), r"text\.split"),
        (lambda: NaiveBayes().fit(pl.DataFrame({"a": [[0.5], [1.5]]}), [0, 1]), "other than text"),
        (lambda: fit(pd.DataFrame({"a": [["x", 1], ["y"]]}), [0, 1]), "types int, str"),
        (
            lambda: NaiveBayes(Categorical()).fit(pd.DataFrame(BOTH), Y),
            r"list objects.*multinomial",
        ),
        (lambda: fit(pd.DataFrame({"a": [1, 2]}), [0, 1], levels=["x"]), "declared `levels`"),
        (lambda: fit(levels=["x", "x"]), "levels must differ"),
        (lambda: fit(unseen="error").predict([["zebra"]]), r"'zebra' \(1 times\)"),
        (
            lambda: fit().forget([["cash"] * 99], ["ham"]),
            "some of these cells were not learnt",
        ),
        (lambda: fit().forget([["zebra"]], ["ham"]), "'zebra'.*never learnt"),
        (lambda: plot_column(NaiveBayes(MIXED).fit(X, TABLE["y"]), "text"), r"plot_words\(model\)"),
        (lambda: fit(WEIGHTS), "not a whole number.*fractional=True"),
        (lambda: fit(COUNTS).predict(WEIGHTS), "fractional=True"),
        (lambda: NaiveBayes().fit(TF_IDF, KINDS), r"Multinomial\(fractional=True\)"),
        (lambda: bayesnb.relevance(fit(WEIGHTS, fractional=True)), "not whole numbers"),
    ],
)
def test_what_holds_no_words_or_counts_is_refused_and_it_is_said_what_to_do(
    call: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        call()


# Numbers that are no counts, such as tf-idf: a likelihood to the power of each


def test_a_weight_counts_as_so_many_occurrences() -> None:
    (belief,) = fit(WEIGHTS, prior=0.5, fractional=True).posterior_.values()
    for c, label in enumerate(("ham", "spam")):
        assert_allclose(belief.concentration[c].ravel(), 0.5 + WEIGHTS[label == Y].sum(axis=0))
    whole = fit(COUNTS, fractional=True)
    counts = fit(COUNTS)
    assert whole.log_evidence_ == counts.log_evidence_
    assert_array_equal(whole.predict_proba(COUNTS), counts.predict_proba(COUNTS))


def test_the_likelihood_of_weights_is_a_product_of_powers() -> None:
    family = Multinomial(0.5, fractional=True, ordered=True)
    model = NaiveBayes(family, estimate="mean").fit(WEIGHTS, Y)
    (belief,) = model.posterior_.values()
    powers = WEIGHTS @ np.log(belief.mean()).T + np.log(model.class_posterior_.mean())
    assert_allclose(model.predict_joint_log_proba(WEIGHTS), powers, rtol=1e-12)
    orders = gammaln(WEIGHTS.sum(axis=1) + 1) - gammaln(WEIGHTS + 1).sum(axis=1)
    counted = fit(WEIGHTS, prior=0.5, fractional=True)
    gap = counted.log_evidence_ - model.log_evidence_
    assert gap == pytest.approx(orders.sum(), rel=1e-10)


# Raw text, results and pictures


def test_raw_text_goes_through_a_vectorizer_that_drops_words_it_has_not_seen() -> None:
    split = CountVectorizer().build_analyzer()
    words = fit([split(text) for text in RAW], KINDS)
    with pytest.warns(UnseenLevelWarning, match="zebra"):
        expected = words.predict_proba([["cash", "at", "noon"], ["zebra"]])
    for made in (MultinomialNB(), NaiveBayes(Multinomial(ordered=True))):
        pipe = make_pipeline(CountVectorizer(), made).fit(RAW, KINDS)
        assert_allclose(pipe.predict_proba(["cash at noon", "zebra"]), expected, rtol=1e-13)


def test_words_have_their_names_in_results_and_figures() -> None:
    model = NaiveBayes({"size": FIXED}).fit(pd.DataFrame(BOTH), Y)
    assert {*VOCABULARY, "size"} == {*bayesnb.relevance(model)["feature"].values}
    explained = fit().explain(TEXTS[:5])
    assert explained["cell"].values.tolist() == COUNTS[:5].astype(str).tolist()
    tree = model.to_datatree(pd.DataFrame(BOTH)[:3], Y[:3], draws=5, rng=0)
    theta = tree["posterior"]["theta_text"]
    assert theta.dims == ("chain", "draw", "class", "text_level")
    assert theta["text_level"].values.tolist() == VOCABULARY
    labels = plot_words(model, ["spam"]).get_yticklabels()
    assert {label.get_text() for label in labels} == {"cash", "win"}


def test_memory_is_that_of_the_words_of_texts_and_not_of_the_vocabulary() -> None:
    rows = 2000
    texts = [[f"w{row}"] for row in range(rows)]
    labels = np.arange(rows) % 2
    fit(texts, labels).predict_proba(texts)  # what is compiled is there
    tracemalloc.start()
    fit(texts, labels).predict_proba(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows * rows  # bytes, of which a dense table of numbers has eight times as many
