"""Words: lists of them, counts whose order is known, words that no one knows, and numbers that are no counts."""

import json
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_predict
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
    mcmc,
    plot_column,
    plot_words,
)
from bayesnb.cli import main
from bayesnb.report import report
from bayesnb.scale import dumps, fit_files, fit_shards, loads, predict_files, shard

mpl.use("agg")
Array = np.ndarray
ESTIMATES = ("predictive", "mean", "map", "mle")
VOCABULARY = ["at", "cash", "meeting", "noon", "win"]
ROWS = 60
RNG = np.random.default_rng(20261122)
Y = np.array(["ham", "spam"])[RNG.integers(0, 2, ROWS)]
SHARES = {"ham": [0.3, 0.05, 0.3, 0.3, 0.05], "spam": [0.1, 0.35, 0.1, 0.1, 0.35]}
TEXTS = [RNG.choice(VOCABULARY, size, p=SHARES[y]).tolist() for size, y in zip(RNG.poisson(5, ROWS), Y, strict=True)]
COUNTS = np.array([[text.count(word) for word in VOCABULARY] for text in TEXTS])
LOG_ORDERS = gammaln(COUNTS.sum(axis=1) + 1) - gammaln(COUNTS + 1).sum(axis=1)
NUMBERS = RNG.normal(size=ROWS).round(3)
FIXED = Gaussian(NormalInverseGamma(0, 1, 1, 1))


def beside(frame: Callable[[dict[str, Any]], Any], rows: slice = slice(None)) -> Any:
    """Texts in a frame, beside numbers."""
    return frame({"text": TEXTS[rows], "size": NUMBERS[rows]})


def quiet(call: Callable[[], Any]) -> Any:
    """What a call says, if it warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenLevelWarning)
        return call()


# ---- the coefficient


def test_in_a_known_order_the_evidence_is_less_by_the_coefficients_alone() -> None:
    counts, words = NaiveBayes(Multinomial(0.7)).fit(COUNTS, Y), NaiveBayes(Multinomial(0.7)).fit(TEXTS, Y)
    ordered = NaiveBayes(Multinomial(0.7, ordered=True)).fit(COUNTS, Y)
    assert counts.log_evidence_ - words.log_evidence_ == pytest.approx(LOG_ORDERS.sum(), rel=1e-12)
    assert words.log_evidence_ == pytest.approx(ordered.log_evidence_, rel=1e-14)


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("temper", [None, 0.4])
def test_in_a_known_order_every_row_is_less_probable_by_its_coefficient_alone(
    estimate: str, temper: float | None
) -> None:
    made = [NaiveBayes(Multinomial(1.5, ordered=o), estimate=estimate, temper=temper) for o in (False, True)]
    counts, ordered = (model.fit(COUNTS, Y) for model in made)
    words = NaiveBayes(Multinomial(1.5), estimate=estimate, temper=temper).fit(TEXTS, Y)
    gap = (temper or 1.0) * LOG_ORDERS[:, None]
    for model, X in ((ordered, COUNTS), (words, TEXTS)):
        both = counts.predict_joint_log_proba(COUNTS), model.predict_joint_log_proba(X)
        np.testing.assert_allclose(both[0] - gap, both[1], rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X), counts.predict_proba(COUNTS), rtol=1e-12)
        if estimate == "predictive":
            np.testing.assert_allclose(model.log_density(X), counts.log_density(COUNTS) - LOG_ORDERS, rtol=1e-12)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_rows_that_are_left_out_lack_the_coefficient_in_their_joint_score_alone(estimate: str) -> None:
    counts = NaiveBayes(Multinomial(1.5), estimate=estimate).fit(COUNTS, Y)
    words = NaiveBayes(Multinomial(1.5), estimate=estimate).fit(TEXTS, Y)
    joint = [model.loo(X, Y, target="joint").elpd_i for model, X in ((counts, COUNTS), (words, TEXTS))]
    np.testing.assert_allclose(joint[0] - LOG_ORDERS, joint[1], rtol=1e-11)
    label = [model.loo(X, Y).elpd_i for model, X in ((counts, COUNTS), (words, TEXTS))]
    np.testing.assert_allclose(label[0], label[1], rtol=1e-11)


def test_what_is_not_known_and_what_speaks_for_a_class_are_those_of_counts() -> None:
    columns = [Multinomial(), Multinomial()]
    counts, words = (NaiveBayes(own).fit(X, Y) for own, X in zip(columns, (COUNTS, TEXTS), strict=True))
    for method in ("fast", "exact"):
        found = [model.predict_interval(X[:9], method=method) for model, X in ((counts, COUNTS), (words, TEXTS))]
        np.testing.assert_allclose(found[0]["lower"], found[1]["lower"], rtol=1e-6)
    doubts = [model.uncertainty(X[:9]) for model, X in ((counts, COUNTS), (words, TEXTS))]
    np.testing.assert_allclose(doubts[0]["epistemic"], doubts[1]["epistemic"], rtol=1e-9)
    factors = [bayesnb.relevance(model).log_bayes_factor for model in (counts, words)]
    np.testing.assert_allclose(*factors, rtol=1e-12)


def test_an_explanation_of_words_names_them_and_adds_up_to_the_score() -> None:
    model = NaiveBayes(Multinomial()).fit(TEXTS, Y)
    found = model.explain(TEXTS[:5])
    assert found["feature"].values.tolist() == VOCABULARY
    assert found["cell"].values.tolist() == [list(map(str, row)) for row in COUNTS[:5].tolist()]
    total = found["predictive"].sum("feature") + found["predictive_class_term"]
    np.testing.assert_allclose(total, model.predict_joint_log_proba(TEXTS[:5]), rtol=1e-12)


def test_all_documents_of_three_words_have_together_probability_one() -> None:
    model = NaiveBayes(Multinomial(Dirichlet([0.5, 1.0, 2.0]), levels=["a", "b", "c"]))
    model.fit([["a", "b", "a"], ["c"], [], ["c", "c", "b"]], [0, 1, 0, 1])
    every = [list(words) for words in product("abc", repeat=3)]
    assert np.exp(model.predict_joint_log_proba(every)).sum() == pytest.approx(1, rel=1e-13)


def test_a_word_that_was_seen_once_is_likelier_to_be_seen_again() -> None:
    """Pitfall 2: alpha = (.5, 1, 2), counts (3, 0, 7), a new row (2, 1, 0): the Polya urn, by exact fractions."""
    texts = [["a"] * 3 + ["c"] * 7, ["b"]]
    counts = np.array([[3, 0, 7], [0, 1, 0]])
    family = {"prior": Dirichlet([0.5, 1.0, 2.0])}
    urn = Fraction(7, 2) * Fraction(9, 2) * 1 / (Fraction(27, 2) * Fraction(29, 2) * Fraction(31, 2))
    known = np.log(0.5)
    words = NaiveBayes(Multinomial(**family, levels=list("abc")), class_prior="uniform").fit(texts, [0, 1])
    table = NaiveBayes(Multinomial(**family), class_prior="uniform").fit(counts, [0, 1])
    in_order = words.predict_joint_log_proba([["a", "b", "a"]])[0, 0] - known
    of_counts = table.predict_joint_log_proba([[2, 1, 0]])[0, 0] - known
    assert in_order == pytest.approx(np.log(float(urn)), rel=1e-13)
    assert of_counts == pytest.approx(np.log(float(3 * urn)), rel=1e-13)
    assert of_counts == pytest.approx(-4.1622, abs=5e-5)
    plugged = table.set_params(estimate="mean").predict_joint_log_proba([[2, 1, 0]])[0, 0] - known
    assert plugged == pytest.approx(-4.2039, abs=5e-5)


def test_a_text_without_words_says_nothing_of_the_class() -> None:
    model = NaiveBayes(Multinomial()).fit(TEXTS, Y)
    np.testing.assert_allclose(model.predict_proba([[]])[0], model.class_posterior_.mean(), rtol=1e-14)
    assert model.predict_proba([[], []]).shape == (2, 2)
    empty = NaiveBayes(Multinomial()).fit([[], []], ["a", "b"])
    assert empty.log_evidence_by_feature() == {0: 0.0}


# ---- containers


CONTAINERS: dict[str, Callable[[], Any]] = {
    "lists": lambda: TEXTS,
    "tuples": lambda: [tuple(text) for text in TEXTS],
    "arrays": lambda: [np.array(text, str) for text in TEXTS],
    "an array of lists": lambda: np.fromiter(TEXTS, object, ROWS),
    "a column of an array": lambda: np.fromiter(TEXTS, object, ROWS)[:, None],
    "a series of pandas": lambda: pd.Series(TEXTS, index=np.arange(ROWS) + 5),
    "a series of polars": lambda: pl.Series(TEXTS),
    "a column of Arrow": lambda: pa.chunked_array([TEXTS[:7], TEXTS[7:]]),
    "pandas": lambda: pd.DataFrame({"text": TEXTS}, index=np.arange(ROWS) + 5),
    "pandas of Arrow": lambda: pd.DataFrame({"text": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.list_(pa.string())))}),
    "polars": lambda: pl.DataFrame({"text": TEXTS}),
    "polars of categories": lambda: pl.DataFrame({"text": pl.Series(TEXTS, dtype=pl.List(pl.Categorical))}),
    "Arrow": lambda: pa.table({"text": TEXTS}),
    "Arrow in chunks": lambda: pa.concat_tables([pa.table({"text": TEXTS[:7]}), pa.table({"text": TEXTS[7:]})]),
    "large lists of Arrow": lambda: pa.table({"text": pa.array(TEXTS, pa.large_list(pa.large_string()))}),
    "numbers that stand for words": lambda: pl.DataFrame({"text": [[*map(VOCABULARY.index, own)] for own in TEXTS]}),
}


UNTYPED = {"tuples", "arrays", "an array of lists", "a series of pandas", "a series of polars", "a column of Arrow"}


@pytest.mark.parametrize("name", CONTAINERS)
def test_lists_of_words_may_be_in_any_table(name: str) -> None:
    X = CONTAINERS[name]()
    model = NaiveBayes(Multinomial()).fit(X, Y)
    expected = NaiveBayes(Multinomial(ordered=True)).fit(COUNTS, Y)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-14)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(COUNTS), rtol=1e-13)
    assert model.n_features_in_ == 1
    drawn, _ = model.sample(40, rng=1)
    assert type(drawn) is (list if name in UNTYPED else type(X))
    if isinstance(X, pd.DataFrame):
        assert drawn.dtypes.tolist() == X.dtypes.tolist()
    if isinstance(X, pl.DataFrame | pa.Table):
        assert drawn.schema == X.schema
    assert np.isfinite(quiet(lambda: model.predict_proba(drawn))).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_words_is_found_by_itself_beside_other_columns(frame: Any) -> None:
    model = NaiveBayes({"size": FIXED}).fit(beside(frame), Y)
    assert isinstance(model.families_["text"], Multinomial)
    alone = NaiveBayes(FIXED).fit(NUMBERS[:, None], Y), NaiveBayes(Multinomial()).fit(TEXTS, Y)
    terms = model.log_evidence_by_feature()
    assert terms["size"] == pytest.approx(alone[0].log_evidence_by_feature()[0], rel=1e-13)
    assert terms["text"] == pytest.approx(alone[1].log_evidence_by_feature()[0], rel=1e-13)
    assert model.posterior_["text"].concentration.shape == (2, 5)
    assert quiet(lambda: model.predict_proba(model.sample(9, rng=0)[0])).shape == (9, 2)


def test_every_column_of_words_has_a_vocabulary_and_a_die_of_its_own() -> None:
    titles = [text[:1] for text in TEXTS]
    table = pd.DataFrame({"title": titles, "free": COUNTS[:, 0], "text": TEXTS, "money": COUNTS[:, 1]})
    model = NaiveBayes(Multinomial()).fit(table, Y)
    assert set(model.posterior_) == {"title", "text", ("free", "money")}
    apart = [NaiveBayes(Multinomial()).fit(own, Y) for own in (titles, TEXTS, COUNTS[:, :2])]
    both = model.log_evidence_by_feature()
    expected = [own.log_evidence_by_feature()[key] for own, key in zip(apart, (0, 0, (0, 1)), strict=True)]
    np.testing.assert_allclose([both["title"], both["text"], both["free", "money"]], expected, rtol=1e-13)
    names = model.explain(table[:9])["feature"].values.tolist()
    assert len(set(names)) == len(names)
    assert {"title=cash", "text=cash", "free", "money"} <= set(names)


def test_the_preset_takes_lists_of_words_too() -> None:
    model = MultinomialNB(alpha=0.5).fit(TEXTS, Y)
    np.testing.assert_allclose(
        model.predict_proba(TEXTS), MultinomialNB(alpha=0.5).fit(COUNTS, Y).predict_proba(COUNTS), rtol=1e-12
    )
    assert cross_val_predict(model, TEXTS, Y, method="predict_proba", cv=3).shape == (ROWS, 2)


def test_texts_that_all_have_one_length_are_documents_only_where_words_are_declared() -> None:
    pairs = [text[:2] for text in TEXTS if len(text) > 1]
    labels = np.arange(len(pairs)) % 2
    assert NaiveBayes(Multinomial()).fit(pairs, labels).n_features_in_ == 1
    assert NaiveBayes().fit(pairs, labels).n_features_in_ == 2
    assert NaiveBayes(Categorical()).fit(pairs, labels).n_features_in_ == 2
    assert NaiveBayes(Multinomial()).fit(TEXTS, Y).predict_proba(pairs).shape == (len(pairs), 2)


def test_drawn_texts_have_as_many_words_as_are_asked_for_in_no_special_order() -> None:
    model = NaiveBayes(Multinomial(levels=VOCABULARY)).fit(TEXTS, Y)
    drawn, _ = model.sample(400, "ham", length=3, rng=3)
    assert set(map(len, drawn)) == {3}
    first, last = (np.array([text[place] for text in drawn]) for place in (0, 2))
    table = np.array([[np.sum(own == word) for word in VOCABULARY] for own in (first, last)])
    assert stats.chi2_contingency(table + 1).pvalue > 1e-3


# ---- learning over time


def grown(part: Callable[[slice], Any]) -> list[Any]:
    """Three parts of the rows, each of which lacks words of the others."""
    return [part(own) for own in PARTS]


ORDER = np.argsort([max(text, default="") for text in TEXTS], kind="stable")
SORTED, LABELS = [TEXTS[row] for row in ORDER], Y[ORDER]
PARTS = [slice(0, 12), slice(12, 30), slice(30, ROWS)]


def test_vocabularies_that_differ_are_united_by_name() -> None:
    whole = NaiveBayes(Multinomial(0.3)).fit(SORTED, LABELS)
    vocabularies = [{word for text in SORTED[own] for word in text} for own in PARTS]
    assert vocabularies[0] < {*VOCABULARY}
    pieces = [NaiveBayes(Multinomial(0.3)).fit(SORTED[own], LABELS[own]) for own in PARTS]
    found = {
        "merge": pieces[0].merge(pieces[1]).merge(pieces[2]),
        "shards": fit_shards(
            NaiveBayes(Multinomial(0.3)),
            [loads(dumps(shard(NaiveBayes(Multinomial(0.3)), SORTED[own], LABELS[own]))) for own in PARTS],
        ),
        "partial_fit": NaiveBayes(Multinomial(0.3), classes=["ham", "spam"]),
    }
    for own in PARTS:
        found["partial_fit"].partial_fit(SORTED[own], LABELS[own])
    for name, model in found.items():
        assert model.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-13), name
        np.testing.assert_allclose(model.predict_proba(TEXTS), whole.predict_proba(TEXTS), rtol=1e-12, err_msg=name)


def test_texts_that_are_forgotten_were_never_there_but_for_their_words() -> None:
    model = NaiveBayes(Multinomial(levels=VOCABULARY)).fit(TEXTS, Y).forget(TEXTS[:20], Y[:20])
    again = NaiveBayes(Multinomial(levels=VOCABULARY)).fit(TEXTS[20:], Y[20:])
    assert model.log_evidence_ == pytest.approx(again.log_evidence_, rel=1e-13)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), again.predict_proba(TEXTS))
    with pytest.raises(ValueError, match=r"column 0, class 'ham': 99 counts of the word 'cash' would go"):
        model.forget([["cash"] * 99], ["ham"])
    with pytest.raises(ValueError, match=r"'zebra'.*never learnt"):
        NaiveBayes(Multinomial()).fit(TEXTS, Y).forget([["zebra"]], ["ham"])


def test_partitions_of_dask_have_vocabularies_of_their_own() -> None:
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame({"text": SORTED, "size": NUMBERS, "y": LABELS})
    families = {"text": Multinomial(), "size": FIXED}
    whole = NaiveBayes(families).fit(table[["text", "size"]], table["y"])
    with dask.config.set({"dataframe.convert-string": False}):  # which would make text of lists
        lazy = dd.from_pandas(table, npartitions=4)
        model = NaiveBayes(families).fit(lazy[["text", "size"]], lazy["y"])
        found = model.predict_proba(lazy[["text", "size"]]).compute()
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-13)
    np.testing.assert_allclose(found, whole.predict_proba(table[["text", "size"]]), rtol=1e-12)


def test_files_have_columns_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"text": SORTED, "size": NUMBERS, "y": LABELS})
    for place, own in enumerate(PARTS):
        table[own].to_parquet(f"{place}.parquet")
    table.to_json("all.jsonl", orient="records", lines=True)
    table.to_parquet("all.parquet")
    X = table[["text", "size"]]
    whole = NaiveBayes({"size": FIXED}).fit(X, table["y"])
    model = fit_files(NaiveBayes({"size": FIXED}), [f"{place}.parquet" for place in range(3)], "y", batch_rows=7)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-13)
    assert predict_files(model, "all.parquet", "out.parquet") == ROWS
    np.testing.assert_allclose(pd.read_parquet("out.parquet")["p_ham"], whole.predict_proba(X)[:, 0], rtol=1e-12)
    for name in ("all.jsonl", "all.parquet"):
        assert main(["fit", name, "--target", "y", "-o", "m.bnb", "--quiet"]) == 0
        assert main(["predict", "m.bnb", "all.jsonl", "-o", "out.csv", "--quiet"]) == 0
        expected = NaiveBayes().fit(X, table["y"]).predict_proba(X)
        np.testing.assert_allclose(pd.read_csv("out.csv")["p_ham"], expected[:, 0], rtol=1e-12)
    assert main(["fit", "all.parquet", "--target", "y", "-o", "m.bnb", "--family", "text=gaussian"]) == 1
    assert "column 'text' holds lists of words instead of numbers" in capsys.readouterr().err


# ---- words that no one knows


def test_a_word_that_was_never_seen_is_left_out_with_one_warning_of_all() -> None:
    model = NaiveBayes({"text": Multinomial(), "size": FIXED}).fit(beside(pd.DataFrame), Y)
    table = pd.DataFrame({"text": [["cash", "zebra", "zebra"], ["yak"]], "size": [0.1, 0.2]})
    with pytest.warns(UnseenLevelWarning, match=r"column 'text' .*'zebra' \(2 times\), 'yak' \(1 times\)") as caught:
        found = model.predict_proba(table)
    assert len(caught) == 1
    assert caught[0].message.unseen == {"text": {"zebra": 2, "yak": 1}}  # type: ignore[union-attr]
    np.testing.assert_array_equal(found, model.predict_proba(table.assign(text=[["cash"], []])))


def test_a_word_that_was_never_seen_may_be_an_error() -> None:
    model = NaiveBayes(Multinomial(unseen="error")).fit(TEXTS, Y)
    with pytest.raises(ValueError, match=r"column 0 has levels .*'zebra' \(1 times\)\. Fit on rows that have them"):
        model.predict([["zebra"]])


def test_a_reserved_word_stands_for_all_that_are_new() -> None:
    model = NaiveBayes(Multinomial(0.5, unseen="reserve")).fit(TEXTS, Y)
    table = np.column_stack([COUNTS, np.zeros(ROWS, int)])
    expected = NaiveBayes(Multinomial(0.5, ordered=True)).fit(table, Y)
    found = quiet(lambda: model.predict_joint_log_proba([["zebra", "cash", "yak"]]))
    np.testing.assert_allclose(found, expected.predict_joint_log_proba([[0, 1, 0, 0, 0, 2]]), rtol=1e-14)
    more = model.partial_fit([["zebra", "zebra"]], ["ham"])
    again = NaiveBayes(Multinomial(0.5, unseen="reserve")).fit([*TEXTS, ["zebra", "zebra"]], [*Y, "ham"])
    assert more.log_evidence_ == pytest.approx(again.log_evidence_, rel=1e-13)


def test_declared_words_are_the_only_ones() -> None:
    model = NaiveBayes(Multinomial(Dirichlet([1.0, 2.0]), levels=["cash", "never"]))
    with pytest.warns(UnseenLevelWarning, match="'meeting'"):
        model.fit(TEXTS, Y)
    table = np.column_stack([COUNTS[:, 1], np.zeros(ROWS, int)])
    expected = NaiveBayes(Multinomial(Dirichlet([1.0, 2.0]), ordered=True)).fit(table, Y)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-13)


# ---- what is refused


def test_what_is_no_list_of_words_is_refused_and_it_is_said_what_to_do() -> None:
    odd: dict[str, tuple[Any, Any]] = {
        r"column 'a': a cell is missing .*row 1 .*use \[\]": (pd.DataFrame({"a": [["x"], None]}), "auto"),
        r"column 'a': a cell is missing .*row 0": (pl.DataFrame({"a": [None, ["x"]]}), "auto"),
        r"column 'a' holds lists of words, but row 1 holds 'raw text'": (
            pd.DataFrame({"a": [["x"], "raw text"]}),
            "auto",
        ),
        r"column 'a': a word is missing .*row 1 \(1 such": (pl.DataFrame({"a": [["x"], ["y", None]]}), "auto"),
        r"column 'a' holds lists that are not of text": (pl.DataFrame({"a": [[0.5], [1.5]]}), "auto"),
        r"column 'a' mixes levels of the types int, str": (pd.DataFrame({"a": [["x", 1], ["y"]]}), Multinomial()),
        r"column 'a' holds list objects, which cannot be levels.*Multinomial\(\)": (
            pd.DataFrame({"a": [["x"], ["y"]]}),
            Categorical(),
        ),
        r"Expected 2D array, got 1D array": (pd.Series([1.0, 2.0]), Multinomial()),
        r"column 'a' is not numeric: .*text.split": (pd.DataFrame({"a": ["some text", "more"]}), Multinomial()),
        r"a list of 2 texts\. Split each into its words.*CountVectorizer": (["some text", "more"], Multinomial()),
        r"column 'a' does not hold lists of words, so it cannot have declared `levels`": (
            pd.DataFrame({"a": [1, 2]}),
            Multinomial(levels=["x"]),
        ),
        r"levels has one twice": (TEXTS[:2], None),
    }
    for said, (X, family) in odd.items():
        with pytest.raises(ValueError, match=said):
            NaiveBayes(Multinomial(levels=["x", "x"]) if family is None else family).fit(X, [0, 1])


# ---- numbers that are no counts: the sentences of Multinomial's docstring, one by one

WEIGHTS = COUNTS * RNG.gamma(2.0, 0.5, COUNTS.shape)


def test_weights_are_refused_by_default_in_fit_and_in_predict() -> None:
    with pytest.raises(ValueError, match=r"a count is not a whole number, first at row .*tf-idf: fractional=True"):
        NaiveBayes(Multinomial()).fit(WEIGHTS, Y)
    with pytest.raises(ValueError, match="fractional=True"):
        NaiveBayes(Multinomial()).fit(COUNTS, Y).predict(WEIGHTS)


def test_each_word_counts_as_so_many_occurrences() -> None:
    model = NaiveBayes(Multinomial(0.5, fractional=True)).fit(WEIGHTS, Y)
    summed = np.stack([WEIGHTS[label == Y].sum(axis=0) for label in ("ham", "spam")])
    np.testing.assert_allclose(model.posterior_[tuple(range(5))].concentration, 0.5 + summed, rtol=1e-13)
    whole = NaiveBayes(Multinomial(0.5, fractional=True)).fit(COUNTS, Y)
    counts = NaiveBayes(Multinomial(0.5)).fit(COUNTS, Y)
    assert whole.log_evidence_ == counts.log_evidence_
    np.testing.assert_array_equal(whole.predict_proba(COUNTS), counts.predict_proba(COUNTS))


def test_the_likelihood_of_weights_is_the_product_of_powers_and_the_rest_is_constant() -> None:
    model = NaiveBayes(Multinomial(0.5, fractional=True), estimate="mean").fit(WEIGHTS, Y)
    theta = model.posterior_[tuple(range(5))].mean()
    powers = WEIGHTS @ np.log(theta).T + np.log(model.class_posterior_.mean())
    orders = gammaln(WEIGHTS.sum(axis=1) + 1) - gammaln(WEIGHTS + 1).sum(axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(WEIGHTS), powers + orders[:, None], rtol=1e-12)
    plain = NaiveBayes(Multinomial(0.5, fractional=True, ordered=True), estimate="mean").fit(WEIGHTS, Y)
    np.testing.assert_allclose(plain.predict_joint_log_proba(WEIGHTS), powers, rtol=1e-12)
    assert model.log_evidence_ - plain.log_evidence_ == pytest.approx(orders.sum(), rel=1e-10)


def test_over_weights_the_likelihood_is_no_distribution() -> None:
    theta = np.array([0.3, 0.7])
    halves = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])  # the rows of total 1, in steps of a half
    model = NaiveBayes(Multinomial(fractional=True, ordered=True), estimate="mle", class_prior="uniform")
    model.fit(np.array([theta, [0.5, 0.5]]), [0, 1])
    each = 2 * np.exp(model.predict_joint_log_proba(halves)[:, 0])
    np.testing.assert_allclose(each, [0.3, np.sqrt(0.21), 0.7], rtol=1e-14)
    assert each.sum() > 1.4


def test_bayes_factors_refuse_weights_and_what_rests_on_them_too() -> None:
    model = NaiveBayes(Multinomial(fractional=True)).fit(WEIGHTS, Y)
    assert np.isfinite(model.log_evidence_)
    with pytest.raises(ValueError, match="not whole numbers"):
        bayesnb.relevance(model)
    with pytest.raises(ValueError, match="counts are counts"):
        NaiveBayes(Multinomial(fractional=True), average_features=0.5).fit(WEIGHTS, Y)


def test_intervals_read_the_sum_of_the_weights_as_the_number_of_words() -> None:
    X = WEIGHTS[:6]
    small, large = (NaiveBayes(Multinomial(fractional=True)).fit(scale * WEIGHTS, Y) for scale in (1.0, 10.0))
    copies = NaiveBayes(Multinomial(fractional=True)).fit(np.repeat(WEIGHTS, 10, axis=0), np.repeat(Y, 10))
    own, its = (model.posterior_[tuple(range(5))].concentration for model in (large, copies))
    np.testing.assert_allclose(own, its, rtol=1e-12)
    widths = [model.predict_interval(X, rows="fixed") for model in (small, large)]
    widths = [(found["upper"] - found["lower"]).values for found in widths]
    assert (widths[1] < widths[0]).all()
    effective = WEIGHTS * (COUNTS.sum(axis=1) / np.maximum(WEIGHTS.sum(axis=1), 1e-300))[:, None]
    rescaled = NaiveBayes(Multinomial(fractional=True)).fit(effective, Y)
    assert rescaled.stats_.blocks[0].counts.sum() == pytest.approx(COUNTS.sum(), rel=1e-12)


# ---- raw text

RAW = ["Win CASH now!", "meeting at noon", "cash, cash, win", "see you at the meeting", "win a meeting"]
KINDS = ["spam", "ham", "spam", "ham", "spam"]


def test_raw_text_goes_through_a_vectorizer_that_drops_words_it_has_not_seen() -> None:
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(RAW, KINDS)
    split = CountVectorizer().build_analyzer()
    words = NaiveBayes(Multinomial()).fit([split(text) for text in RAW], KINDS)
    new = ["cash at noon", "zebra"]
    with pytest.warns(UnseenLevelWarning, match="zebra"):
        expected = words.predict_proba([split(text) for text in new])
    np.testing.assert_allclose(quiet(lambda: model.predict_proba(new)), expected, rtol=1e-13)


def test_in_a_pipeline_the_order_of_words_changes_the_evidence_alone() -> None:
    pipes = [
        make_pipeline(CountVectorizer(), NaiveBayes(Multinomial(ordered=o))).fit(RAW, KINDS) for o in (False, True)
    ]
    np.testing.assert_allclose(pipes[0].predict_proba(RAW), pipes[1].predict_proba(RAW), rtol=1e-14)
    counts = CountVectorizer().fit_transform(RAW).toarray()
    orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    assert pipes[0][-1].log_evidence_ - pipes[1][-1].log_evidence_ == pytest.approx(orders.sum(), rel=1e-12)


def test_tf_idf_goes_through_a_pipeline_only_as_a_power_likelihood() -> None:
    with pytest.raises(ValueError, match="Multinomial\\(fractional=True\\)"):
        make_pipeline(TfidfVectorizer(), NaiveBayes()).fit(RAW, KINDS)
    found = make_pipeline(TfidfVectorizer(), NaiveBayes(Multinomial(fractional=True))).fit(RAW, KINDS)
    assert found.predict(["cash"]).tolist() == ["spam"]


# ---- what is shown


def test_words_have_their_names_in_results_and_figures() -> None:
    model = NaiveBayes({"size": FIXED}).fit(beside(pd.DataFrame), Y)
    assert {*VOCABULARY, "size"} == set(bayesnb.relevance(model)["feature"].values.tolist())
    tree = model.to_datatree(beside(pd.DataFrame, slice(0, 3)), Y[:3], draws=5, rng=0)
    theta = tree["posterior"]["theta_text"]
    assert theta.dims == ("chain", "draw", "class", "text_level")
    assert theta["text_level"].values.tolist() == VOCABULARY
    np.testing.assert_allclose(theta.sum("text_level"), 1, rtol=1e-12)
    axes = plot_words(model, ["spam"])
    assert {label.get_text() for label in axes.get_yticklabels()} == {"cash", "win"}
    assert plot_column(model, "cash").get_legend_handles_labels() is not None
    with pytest.raises(ValueError, match=r"holds lists of words: plot_words\(model\)"):
        plot_column(model, "text")


def test_a_smoothing_of_zero_names_the_word_that_no_other_text_of_the_class_has() -> None:
    lists = [["at", "cash"], ["at", "win"], ["cash", "at"], ["cash"]]
    found = bayesnb.compare_smoothing(MultinomialNB(), lists, [*"uuvv"], smoothing=(0, 1))
    assert any("row 0 of class 'u', the only one of its class with the word 'cash'" in note for note in found.notes)


@pytest.mark.slow
def test_a_page_tells_of_words_by_their_names() -> None:
    table = beside(pd.DataFrame)
    page = str(report(NaiveBayes().fit(table, Y), table, Y))
    assert "Words that tell the classes apart" in page
    assert all(word in page for word in VOCABULARY)


@pytest.mark.slow
def test_pymc_has_the_die_of_the_words_and_each_word_is_a_throw() -> None:
    few = slice(0, 6)
    model = NaiveBayes(Multinomial()).fit(TEXTS[few], Y[few])
    built = {kind: mcmc.build(model, TEXTS[few], Y[few], likelihood=kind) for kind in ("statistics", "rows")}
    assert list(built["rows"].coords["0_level"]) == sorted({word for text in TEXTS[few] for word in text})
    assert built["rows"].named_vars_to_dims["theta_0"] == ("class", "0_level")
    point = built["rows"].initial_point(1)
    logs = [own.compile_logp(mode="FAST_COMPILE")(point) for own in built.values()]
    assert logs[0] == pytest.approx(logs[1], rel=1e-12)


def test_declared_words_and_lists_survive_json(tmp_path: Path) -> None:
    model = NaiveBayes(Multinomial(levels=VOCABULARY, unseen="reserve")).fit(TEXTS, Y)
    model.save(tmp_path / "model.bnb")
    loaded = bayesnb.load(tmp_path / "model.bnb")
    assert loaded.families_[0].levels == tuple(VOCABULARY)
    assert loaded.sample(5, rng=1)[0] == model.sample(5, rng=1)[0]
    assert json.dumps(loaded.sample(5, rng=1)[0])


def test_counts_of_words_are_sparse_whatever_the_vocabulary() -> None:
    texts = [[f"w{row}"] for row in range(3000)]
    model = NaiveBayes(Multinomial()).fit(texts, np.arange(3000) % 2)
    assert sparse.issparse(model.schema_.read(bayesnb.data.open_table(texts, documents=True))[0])
    assert model.predict_proba(texts).shape == (3000, 2)
