"""`sample`: new rows follow the posterior predictive, and come in the container that was learnt from."""

import copy
import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    Poisson,
    PoissonNB,
    PolyaTree,
)
from bayesnb.datasets import dogs, penguins
from tests.conftest import plainly

DRAWS = 20_000
FIVE_SE = 2 * stats.norm.sf(5)  # the p-value of five standard errors
SMALL_Y = np.array(["a", "a", "a", "b", "b", "a", "b"])


def fresh() -> np.random.Generator:
    """The same for every test, in whatever order they run."""
    return np.random.default_rng(20261122)


def follows(drawn: Any, pmf: Callable[[Any], Any], support: Any) -> bool:
    """Whether cells have the probabilities of a distribution, by chi-squared; what is rare is counted together."""
    expected = pmf(support) * len(drawn)
    seen = np.array([(drawn == value).sum() for value in support], float)
    common = expected >= 20
    rest = len(drawn) - expected[common].sum(), len(drawn) - seen[common].sum()
    both = np.array([np.append(expected[common], rest[0]), np.append(seen[common], rest[1])])
    both = both[:, both[0] > 1e-6]
    return len(both[0]) < 2 or stats.chisquare(both[1], both[0] * both[1].sum() / both[0].sum()).pvalue > FIVE_SE


# ---- the law


@pytest.mark.parametrize("label", [0, 1])
def test_real_columns_are_drawn_from_students_t(label: int) -> None:
    X = fresh().normal([3.0, -2e4], [1.0, 5e3], (7, 2))
    model = GaussianNB().fit(X, SMALL_Y)
    rows, _ = model.sample(DRAWS, model.classes_[label], rng=1)
    for f in range(2):
        assert stats.kstest(rows[:, f], model.posterior_[f][label].predictive().cdf).pvalue > FIVE_SE


@pytest.mark.parametrize("label", [0, 1])
def test_flags_are_drawn_from_the_mean_of_their_coin(label: int) -> None:
    model = NaiveBayes(Bernoulli(Beta(0.3, 2.0))).fit(fresh().random((7, 2)) < 0.6, SMALL_Y)
    rows, _ = model.sample(DRAWS, model.classes_[label], rng=2)
    for f in range(2):
        assert follows(rows[:, f], model.posterior_[f][label].predictive().pmf, np.array([0, 1]))


@pytest.mark.parametrize("label", [0, 1])
def test_counts_are_drawn_from_the_negative_binomial(label: int) -> None:
    model = NaiveBayes(Poisson(Gamma(0.8, 0.5))).fit(fresh().poisson([0.4, 9.0], (7, 2)), SMALL_Y)
    rows, _ = model.sample(DRAWS, model.classes_[label], rng=3)
    for f in range(2):
        assert follows(rows[:, f], model.posterior_[f][label].predictive().pmf, np.arange(200))


@pytest.mark.parametrize("label", [0, 1])
def test_levels_are_drawn_from_the_mean_of_their_die(label: int) -> None:
    X = pd.DataFrame({"colour": list("rgbrgrr"), "size": list("smlxsss")})
    model = NaiveBayes(Categorical(0.7)).fit(X, SMALL_Y)
    rows, _ = model.sample(DRAWS, model.classes_[label], rng=4)
    for name, levels in (("colour", list("bgr")), ("size", list("lmsx"))):
        probability = dict(zip(levels, model.posterior_[name][label].predictive().mean(), strict=True))
        assert follows(rows[name], lambda support, p=probability: np.array([p[x] for x in support]), levels)


@pytest.mark.parametrize("label", [0, 1])
def test_words_are_drawn_from_the_dirichlet_multinomial(label: int) -> None:
    model = NaiveBayes(Multinomial(0.5)).fit(fresh().poisson([2.0, 0.3, 0.5], (7, 3)), SMALL_Y)
    rows, _ = model.sample(DRAWS, model.classes_[label], length=4, rng=5)
    every = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)])
    belief = next(iter(model.posterior_.values()))[label]
    law = stats.dirichlet_multinomial(belief.concentration, 4)
    assert follows(rows @ [100, 10, 1], lambda support: law.pmf(every), every @ [100, 10, 1])


def test_labels_are_drawn_from_the_mean_of_the_class_die() -> None:
    model = GaussianNB().fit(fresh().normal(size=(7, 1)), SMALL_Y)
    _, labels = model.sample(DRAWS, rng=6)
    share = dict(zip(model.classes_, model.class_posterior_.mean(), strict=True))
    assert follows(labels, lambda support: np.array([share[label] for label in support]), model.classes_)


def test_known_class_probabilities_are_those_of_the_labels() -> None:
    model = NaiveBayes(class_prior={"a": 0.9, "b": 0.1}).fit(fresh().normal(size=(7, 1)), SMALL_Y)
    _, labels = model.sample(DRAWS, rng=7)
    assert stats.binomtest(int((labels == "b").sum()), DRAWS, 0.1).pvalue > FIVE_SE


def test_columns_of_one_row_are_independent_given_the_class() -> None:
    model = GaussianNB().fit(fresh().normal(size=(40, 2)) @ [[1, 0.9], [0, 0.4]], np.arange(40) % 2)
    rows, _ = model.sample(DRAWS, 0, rng=8)
    assert abs(stats.spearmanr(rows).statistic) < 5 / np.sqrt(DRAWS)


def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Ten rows: a wide posterior, of which every family and a block of words has a part."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(
        {
            "real": rng.normal(size=10),
            "flag": rng.random(10) < 0.4,
            "level": rng.choice(list("xyz"), 10),
            "events": rng.poisson(3, 10),
            "free": rng.poisson(2, 10),
            "money": rng.poisson(1, 10),
        }
    )
    return X, np.arange(10) % 3


def test_predict_proba_is_calibrated_on_rows_that_the_model_wrote() -> None:
    """(x, y) ~ p(x, y | D) and p(y | x, D) of the same model: that is an identity of the joint law.

    The lengths of the texts are no part of that law, so they must not tell the classes apart.
    """
    X, y = mixed()
    model = NaiveBayes({"events": Poisson(), ("free", "money"): Multinomial()}).fit(X, y)
    rows, labels = model.sample(DRAWS, length=6, rng=12)
    proba = model.predict_proba(rows)
    for c, label in enumerate(model.classes_):
        for times in (np.ones(DRAWS), proba[:, c], rows["real"] > 0, rows["free"]):
            surprise = ((labels == label) - proba[:, c]) * times
            assert abs(surprise.mean()) < 5 * surprise.std() / np.sqrt(DRAWS)


def test_a_model_of_20000_rows_that_it_wrote_agrees_with_itself() -> None:
    table = penguins()
    X, y = table.drop(columns="species"), table["species"]
    model = NaiveBayes(dependence=None).fit(X, y)  # a link draws a column as its counts are, less smoothly
    again = NaiveBayes(model.families_).fit(*model.sample(DRAWS, rng=13))
    rows = DRAWS * model.class_posterior_.mean()
    np.testing.assert_allclose(again.class_posterior_.mean(), model.class_posterior_.mean(), atol=5 / np.sqrt(DRAWS))
    for name, family in model.families_.items():
        old, new = model.posterior_[name], again.posterior_[name]
        if isinstance(family, Gaussian):
            law = old.predictive()
            assert (np.abs(new.location - law.mean()) < 5 * law.std() / np.sqrt(rows)).all()
        elif isinstance(family, PolyaTree):
            ones, both = old.predictive(), new.predictive()
            for x in np.quantile(X[name].dropna(), [0.1, 0.3, 0.5, 0.7, 0.9]):
                p = ones.cdf(x)
                error = 5 * np.sqrt(p * (1 - p) / rows[:, None]) + 0.02  # a level is not divided as all rows are
                assert (np.abs(both.cdf(x) - p) <= error).all(), (name, x)
        else:
            p = old.mean()
            assert (np.abs(new.mean() - p) <= 5 * np.sqrt(p * (1 - p) / rows[:, None]) + 2 / rows[:, None]).all()
    assert (again.predict(X) == model.predict(X)).mean() > 0.97


def test_the_same_rng_gives_the_same_rows_and_another_gives_others() -> None:
    X, y = mixed()
    model = NaiveBayes({("free", "money"): Multinomial()}).fit(X, y)
    (rows, labels), (same, same_labels), (others, _) = (model.sample(50, rng=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(rows, same)
    np.testing.assert_array_equal(labels, same_labels)
    assert not rows["real"].equals(others["real"])
    generator = np.random.default_rng(0)
    pd.testing.assert_frame_equal(model.sample(50, rng=generator)[0], rows)
    assert not model.sample(50, rng=generator)[0]["real"].equals(rows["real"])


def test_neither_temper_nor_estimate_plays_a_part() -> None:
    X, y = mixed()
    plain, other = NaiveBayes().fit(X, y), NaiveBayes(temper=0.2, estimate="map").fit(X, y)
    pd.testing.assert_frame_equal(plain.sample(20, rng=0)[0], other.sample(20, rng=0)[0])


# ---- labels


def test_a_label_gives_rows_of_that_class_and_an_array_one_row_each() -> None:
    table = penguins()
    model = NaiveBayes().fit(table.drop(columns="species"), table["species"])
    rows, labels = model.sample(30, "Gentoo", rng=0)
    assert labels.tolist() == ["Gentoo"] * 30
    assert (model.predict(rows) == "Gentoo").mean() > 0.9
    wanted = np.array(["Gentoo", "Adelie", "Chinstrap"] * 10)
    rows, labels = model.sample(30, wanted, rng=0)
    np.testing.assert_array_equal(labels, wanted)
    assert (model.predict(rows) == wanted).mean() > 0.9
    assert labels.dtype == model.classes_.dtype


@pytest.mark.parametrize("labels", [np.array([3, 5, 5, 3], np.int8), np.array([True, False, False, True])])
def test_labels_have_the_dtype_of_the_classes(labels: np.ndarray) -> None:
    model = GaussianNB().fit(fresh().normal(size=(4, 1)), labels)
    assert model.sample(5)[1].dtype == model.classes_.dtype
    assert model.sample(5, labels[0])[1].tolist() == [labels[0]] * 5


def test_a_class_without_rows_is_drawn_from_its_prior() -> None:
    model = GaussianNB(classes=[0, 1, 2]).fit(fresh().normal(50, 2, (40, 1)), np.arange(40) % 2)
    rows, _ = model.sample(DRAWS, 2, rng=3)
    assert stats.kstest(rows[:, 0], model.prior_[0][2].predictive().cdf).pvalue > FIVE_SE


# ---- containers


def test_a_pandas_frame_keeps_names_order_and_types() -> None:
    X = pd.DataFrame(
        {
            "level": pd.Categorical(["m", "s", "m", "l"], ["s", "m", "l", "xl"], ordered=True),
            "number_level": pd.Categorical([2, 1, 2, 1]),
            "flag": [True, False, True, True],
            "maybe": pd.array([True, None, False, True], "boolean"),
            "text": ["a", None, "b", "a"],
            "thing": pd.Series(["a", "b", None, "a"], dtype=object),
            "single": np.array([1, 2, 3, 5], np.float32),
            "count": np.array([1, 2, 3, 5], np.int16),
            "nullable": pd.array([1, 2, None, 5], "Int32"),
            "day": pd.to_datetime(["2026-01-01", "2026-01-02"] * 2),
            "arrow": pd.array(["a", "b", "a", "b"], pd.ArrowDtype(pa.string())),
        }
    )
    families = {"count": Poisson(), "nullable": Poisson(), "day": Categorical()}
    model = NaiveBayes(families).fit(X, [0, 1, 0, 1])
    rows, labels = model.sample(60, rng=0)
    pd.testing.assert_series_equal(rows.dtypes, X.dtypes)
    assert rows.columns.equals(X.columns)
    assert rows.index.equals(pd.RangeIndex(60))
    assert set(rows["level"]) == {"s", "m", "l", "xl"}  # a declared level without rows has prior mass
    assert not rows.isna().any(axis=None)
    again = NaiveBayes(families).fit(rows, labels)
    assert again.families_.keys() == model.families_.keys()


def test_integers_under_a_gaussian_become_floats() -> None:
    X = pd.DataFrame({"year": [2007, 2008, 2009, 2009], "size": np.array([1, 2, 3, 4], np.float32)})
    rows, _ = NaiveBayes().fit(X, [0, 1, 0, 1]).sample(5, rng=0)
    assert rows.dtypes.astype(str).tolist() == ["float64", "float32"]


def test_columns_named_by_numbers_keep_their_names() -> None:
    X = pd.DataFrame(fresh().normal(size=(6, 3)), columns=[7, 3, 5])
    assert NaiveBayes().fit(X, [0, 1] * 3).sample(2)[0].columns.tolist() == [7, 3, 5]


def test_rows_of_penguins_are_penguins_without_a_warning() -> None:
    table = penguins()
    model = NaiveBayes(dependence=None).fit(table.drop(columns="species"), table["species"])
    rows, labels = model.sample(200, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proba = model.predict_proba(rows)
        again = NaiveBayes(dependence=None).fit(rows, labels)
    assert proba.shape == (200, 3)
    assert again.families_.keys() == model.families_.keys()
    assert {name: type(f) for name, f in again.families_.items()} == {
        name: type(f) for name, f in model.families_.items()
    }


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "enum": pl.Series(["x", "y", "x", None], dtype=pl.Enum(["z", "y", "x"])),
            "level": pl.Series(["x", "y", None, "x"], dtype=pl.Categorical),
            "text": ["a", "b", "a", None],
            "flag": [True, False, None, True],
            "single": pl.Series([1.0, 2.0, 3.0, 4.0], dtype=pl.Float32),
            "count": pl.Series([1, 2, 3, 4], dtype=pl.UInt8),
            "year": [2007, 2008, 2009, 2007],
        }
    )


def test_a_polars_frame_keeps_names_order_and_types() -> None:
    X = polars_frame()
    model = NaiveBayes({"count": Poisson()}).fit(X, [0, 1, 0, 1])
    rows, labels = model.sample(40, rng=0)
    assert isinstance(rows, pl.DataFrame)
    assert rows.schema == {**X.schema, "year": pl.Float64}
    assert rows.columns == X.columns
    NaiveBayes({"count": Poisson()}).fit(rows, labels).predict_proba(X)


def test_an_arrow_table_keeps_names_order_and_types() -> None:
    X = polars_frame().to_arrow()
    model = NaiveBayes({"count": Poisson()}).fit(X, [0, 1, 0, 1])
    rows, labels = model.sample(40, rng=0)
    assert isinstance(rows, pa.Table)
    assert rows.schema.names == X.schema.names
    assert rows.schema.types == [pa.float64() if t == pa.int64() else t for t in X.schema.types]
    NaiveBayes({"count": Poisson()}).fit(rows, labels).predict_proba(X)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("estimator", [BernoulliNB(), CategoricalNB(), PoissonNB(), MultinomialNB()])
def test_an_array_keeps_its_dtype(estimator: Any, dtype: str) -> None:
    X = fresh().integers(0, 2, (20, 4)).astype(dtype)
    rows, _ = estimator.fit(X, np.arange(20) % 2).sample(30, rng=0)
    counts = dtype == "bool" and isinstance(estimator, PoissonNB | MultinomialNB)
    assert rows.dtype == ("int64" if counts else dtype)
    assert rows.shape == (30, 4)
    assert estimator.predict_proba(rows).shape == (30, 2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_an_array_of_real_numbers_is_one_of_floats(dtype: str) -> None:
    rows, _ = GaussianNB().fit(fresh().integers(0, 2, (20, 4)).astype(dtype), np.arange(20) % 2).sample(30, rng=0)
    assert rows.dtype == ("float32" if dtype == "float32" else "float64")


def test_an_array_or_a_list_of_mixed_values_is_one_of_objects() -> None:
    X = [[1.0, "a", True], [1.2, "a", False], [3.0, "b", True], [3.1, None, True]]
    rows, labels = NaiveBayes().fit(X, [0, 0, 1, 1]).sample(10, rng=0)
    assert isinstance(rows, np.ndarray)
    assert rows.dtype == object
    assert [type(cell) for cell in rows[0]] == [float, str, bool]
    NaiveBayes().fit(rows, labels)


def test_an_array_of_text_is_one_of_text() -> None:
    X = np.array([["a", "long"], ["b", "short"], ["a", "long"]])
    rows, _ = NaiveBayes().fit(X, [0, 1, 1]).sample(10, rng=0)
    assert rows.dtype == X.dtype


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_matrix])
@pytest.mark.parametrize("dtype", [float, np.int32])
def test_a_sparse_table_gives_csr_of_its_kind(make: Any, dtype: Any) -> None:
    X = make(fresh().poisson(0.3, (30, 50)).astype(dtype))
    model = NaiveBayes().fit(X, np.arange(30) % 2)
    rows, _ = model.sample(20, rng=0)
    assert rows.format == "csr"
    assert sparse.isspmatrix(rows) == sparse.isspmatrix(X)
    assert rows.dtype == X.dtype
    assert rows.shape == (20, 50)
    model.predict_proba(rows)


def test_sparse_columns_of_several_families_come_in_their_order() -> None:
    X = sparse.csr_array(
        np.column_stack([fresh().poisson(50, 30), fresh().random((30, 2)) < 0.5, fresh().poisson(3, (30, 2))])
    )
    families = {(1, 2): Bernoulli(threshold=0), 0: Poisson(), (3, 4): Multinomial()}
    rows = NaiveBayes(families).fit(X, np.arange(30) % 2).sample(200, rng=0)[0].toarray()
    assert rows[:, 0].mean() > 40
    assert set(np.unique(rows[:, 1:3])) == {0, 1}
    assert rows[:, 3:].max() > 2


def test_columns_without_a_family_are_absent() -> None:
    X, y = mixed()
    rows, _ = NaiveBayes({"flag": None, "real": None}).fit(X, y).sample(3, rng=0)
    assert rows.columns.tolist() == ["level", "events", "free", "money"]


def test_a_column_too_narrow_for_a_count_is_widened() -> None:
    X = np.full((50, 1), 250, np.uint8)
    rows, _ = PoissonNB().fit(X, np.arange(50) % 2).sample(100, rng=0)
    assert rows.dtype == np.int64
    assert rows.max() > 255


@pytest.mark.parametrize("threshold", [-3.0, -0.5, 0.0, 0.5, 127.0])
def test_a_flag_lies_on_its_side_of_the_threshold(threshold: float) -> None:
    X = np.where(fresh().random((60, 1)) < 0.3, threshold + 10, threshold - 10)
    model = BernoulliNB(binarize=threshold).fit(X, np.arange(60) % 2)
    rows, _ = model.sample(2000, 1, rng=0)
    ones = int((rows > threshold).sum())
    assert stats.binomtest(ones, 2000, float(model.posterior_[0].mean()[1])).pvalue > FIVE_SE


def test_the_reserved_level_is_a_missing_cell() -> None:
    X = pd.DataFrame({"level": list("aabb"), "code": [1, 2, 1, 2]})
    model = NaiveBayes(Categorical(unseen="reserve")).fit(X, [0, 1, 0, 1])
    rows, _ = model.sample(DRAWS, 0, rng=0)
    for name in X:
        share = float(model.posterior_[name].mean()[0, -1])
        assert stats.binomtest(int(rows[name].isna().sum()), DRAWS, share).pvalue > FIVE_SE
    assert set(rows["code"].dropna()) == {1, 2}
    model.predict_proba(rows)


def test_levels_that_later_batches_brought_are_drawn_too() -> None:
    first = pd.DataFrame({"level": pd.Categorical(["a", "b"])})
    later = pd.DataFrame({"level": pd.Categorical(["c", "c"])})
    model = NaiveBayes().partial_fit(first, [0, 1], classes=[0, 1]).partial_fit(later, [0, 1])
    rows, _ = model.sample(100, rng=0)
    assert rows["level"].cat.categories.tolist() == ["a", "b", "c"]
    assert set(rows["level"]) == {"a", "b", "c"}


# ---- how long a text is


def text(rows: int = 60) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(5)
    y = np.arange(rows) % 2
    return sparse.csr_array(rng.poisson(np.where(y[:, None], 0.9, 0.2), (rows, 40))), y


def test_lengths_are_given_by_a_number_or_by_one_for_each_row() -> None:
    model = MultinomialNB().fit(*text())
    assert (model.sample(10, length=7, rng=0)[0].sum(axis=1) == 7).all()
    for type_ in (int, np.uint8, np.uint64):  # a sum of small unsigned counts is of the last
        lengths = np.array([0, 3, 1, 50, 2], dtype=type_)
        rows, labels = model.sample(5, [1, 0, 1, 0, 0], length=lengths, rng=0)
        np.testing.assert_array_equal(rows.sum(axis=1), lengths)
        assert labels.tolist() == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("label", [0, 1])
def test_lengths_are_by_default_those_of_a_poisson_column_of_lengths(label: int) -> None:
    X, y = text()
    lengths = X.sum(axis=1)
    law = NaiveBayes(Poisson()).fit(lengths[:, None], y).posterior_[0][label].predictive()
    rows, _ = MultinomialNB().fit(X, y).sample(2000, label, rng=0)
    assert follows(rows.sum(axis=1), law.pmf, np.arange(100))


def test_lengths_do_not_depend_on_the_scale_of_weights_or_on_batches() -> None:
    X, y = text()
    whole = MultinomialNB().fit(X, y)
    mean = {c: X[y == c].sum(axis=1).mean() for c in (0, 1)}
    parts = MultinomialNB().partial_fit(X[:20], y[:20], classes=[0, 1]).partial_fit(X[20:], y[20:])
    weighted = MultinomialNB().fit(X, y, sample_weight=np.full(len(y), 3.0))
    for model in (whole, parts, weighted):
        for c in (0, 1):
            length = model.sample(2000, c, rng=1)[0].sum(axis=1)
            assert abs(length.mean() - mean[c]) < 5 * length.std() / np.sqrt(2000) + 0.05 * mean[c]


def test_a_class_without_texts_has_lengths_around_those_of_all() -> None:
    X, y = text()
    length = MultinomialNB(classes=[0, 1, 2]).fit(X, y).sample(2000, 2, rng=1)[0].sum(axis=1)
    pooled = X.sum() / len(y)
    assert abs(length.mean() - pooled) < 5 * length.std() / np.sqrt(2000)


@pytest.mark.slow
def test_thetas_of_all_rows_are_never_held_at_once() -> None:
    words, rows = 30_000, 400  # 96 MB for each array of thetas
    X = sparse.random_array((20, words), density=1e-3, rng=1, data_sampler=lambda size: np.ones(size), format="csr")
    model = MultinomialNB().fit(X, np.arange(20) % 2)
    tracemalloc.start()
    drawn, _ = model.sample(rows, length=20, rng=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert drawn.shape == (rows, words)
    assert peak < 90e6


# ---- what is kept


def test_the_memory_of_the_container_is_small_and_survives_copies() -> None:
    X = pd.DataFrame({"real": fresh().normal(size=20_000), "level": fresh().choice(list("abc"), 20_000)})
    model = NaiveBayes(**plainly(X)).fit(X, np.arange(20_000) % 2)
    state = pickle.dumps(model)
    assert len(state) < 10_000
    expected = model.sample(5, rng=0)[0]
    for other in (pickle.loads(state), copy.deepcopy(model)):
        pd.testing.assert_frame_equal(other.sample(5, rng=0)[0], expected)


def test_sampling_changes_nothing() -> None:
    X, y = mixed()
    model = NaiveBayes().fit(X, y)
    before = model.predict_proba(X)
    model.sample(100, rng=0)
    np.testing.assert_array_equal(model.predict_proba(X), before)


# ---- errors


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None])
def test_a_number_of_rows_that_is_none_is_an_error(n: Any) -> None:
    with pytest.raises(ValueError, match="n must be a whole number of rows"):
        GaussianNB().fit([[1.0], [2.0]], [0, 1]).sample(n)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ("c", "not among the classes"),
        (["a", "b"], "one for each of 3 rows"),
        ([["a"], ["b"], ["a"]], "one for each of 3 rows"),
        (["a", None, "b"], "label 1 is missing"),
    ],
)
def test_labels_that_do_not_fit_are_an_error(y: Any, said: str) -> None:
    model = GaussianNB().fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match=said):
        model.sample(3, y)


def test_a_label_of_probability_zero_has_no_rows() -> None:
    model = NaiveBayes("gaussian", class_prior={"a": 1.0, "b": 0.0}).fit([[1.0], [2.0], [3.0], [4.0]], list("aabb"))
    assert set(model.sample(50, rng=0)[1]) == {"a"}
    with pytest.raises(ValueError, match="'b' has probability 0"):
        model.sample(3, "b")


@pytest.mark.parametrize("length", [-1, 2.5, [1, 2], "long", [1, -2, 3]])
def test_a_length_that_is_none_is_an_error(length: Any) -> None:
    with pytest.raises(ValueError, match="length must be a whole number"):
        MultinomialNB().fit(*text()).sample(3, length=length)


def test_a_length_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="no Multinomial block"):
        GaussianNB().fit([[1.0], [2.0]], [0, 1]).sample(3, length=5)


def test_an_improper_belief_is_an_error() -> None:
    with pytest.raises(ValueError, match="Use a proper prior"):
        NaiveBayes(Categorical(Dirichlet(0.0)), classes=[0, 1]).fit([["a"], ["b"]], [0, 0]).sample(3)


def test_a_model_that_has_learnt_nothing_writes_nothing() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        GaussianNB().sample(3)


def test_dogs_come_as_dogs() -> None:
    table = dogs()
    rows, labels = NaiveBayes().fit(table.drop(columns="breed"), table["breed"]).sample(5, rng=0)
    assert rows.columns.tolist() == ["height", "weight", "curled_tail"]
    assert rows["curled_tail"].dtype == bool
    assert set(labels) <= set(table["breed"])
