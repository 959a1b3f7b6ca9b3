"""`sample`: new rows follow the posterior predictive, in the container that was learnt from."""

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
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
)

Array = np.ndarray
DRAWS = 20_000
FIVE_SE = 2 * stats.norm.sf(5)  # the p-value of five standard errors
Y = np.array(list("aaabbab"))
RNG = np.random.default_rng(20261122)


def assert_follows(cells: Any, support: Any, probability: Any) -> None:
    """Chi-squared; what is rare is counted together."""
    expected = len(cells) * np.asarray(probability, float)
    seen = np.array([(cells == value).sum() for value in support], float)
    common = expected >= 20
    seen = np.append(seen[common], len(cells) - seen[common].sum())
    expected = np.append(expected[common], max(len(cells) - expected[common].sum(), 1e-9))
    if expected[-1] < 1e-6:
        assert seen[-1] == 0
        seen = seen[:-1]
        expected = expected[:-1]
    expected *= seen.sum() / expected.sum()
    assert stats.chisquare(seen, expected).pvalue > FIVE_SE


# Distributions


@pytest.mark.parametrize("label", [0, 1])
def test_every_family_is_drawn_from_its_predictive(label: int) -> None:
    x = pd.DataFrame(
        {
            "real": RNG.normal(-2e4, 5e3, 7),
            "flag": RNG.random(7) < 0.6,
            "count": RNG.poisson(4.0, 7),
            "level": list("rgbrgrr"),
        }
    )
    words = pd.DataFrame(RNG.poisson([2.0, 0.3, 0.5], (7, 3)), columns=list("uvw"))
    families = {
        "real": Gaussian(),
        "flag": Bernoulli(Beta(0.3, 2.0)),
        "count": Poisson(Gamma(0.8, 0.5)),
        "level": Categorical(0.7),
        ("u", "v", "w"): Multinomial(0.5),
    }
    model = NaiveBayes(families).fit(x.join(words), Y)
    rows, _ = model.sample(DRAWS, "ab"[label], length=4, rng=1)
    law = {key: belief[label] for key, belief in model.posterior_.items()}
    assert stats.kstest(rows["real"], law["real"].predictive().cdf).pvalue > FIVE_SE
    assert_follows(rows["flag"], [0, 1], law["flag"].predictive().pmf([0, 1]))
    counts = np.arange(200)
    assert_follows(rows["count"], counts, law["count"].predictive().pmf(counts))
    assert_follows(rows["level"], list("bgr"), law["level"].mean())
    texts = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)])
    predictive = stats.dirichlet_multinomial(law["u", "v", "w"].concentration, 4)
    code = [100, 10, 1]
    assert_follows(rows[["u", "v", "w"]] @ code, texts @ code, predictive.pmf(texts))
    assert abs(stats.spearmanr(rows["real"], rows["count"]).statistic) < 5 / np.sqrt(DRAWS)


@pytest.mark.parametrize("prior", [1.0, {"a": 0.9, "b": 0.1}])
def test_labels_are_drawn_from_the_probabilities_of_the_classes(prior: Any) -> None:
    model = NaiveBayes("gaussian", class_prior=prior).fit(RNG.normal(size=(7, 1)), Y)
    expected = [0.9, 0.1] if isinstance(prior, dict) else model.class_posterior_.mean()
    assert_follows(model.sample(DRAWS, rng=6)[1], model.classes_, expected)


def small_table() -> tuple[pd.DataFrame, Array]:
    x = pd.DataFrame(
        {
            "real": RNG.normal(size=10),
            "flag": RNG.random(10) < 0.4,
            "level": RNG.choice(list("xyz"), 10),
            "events": RNG.poisson(3, 10),
            "free": RNG.poisson(2, 10),
            "money": RNG.poisson(1, 10),
        }
    )
    return x, np.arange(10) % 3


FAMILIES = {
    "real": Gaussian(),
    "level": Categorical(),
    "events": Poisson(),
    ("free", "money"): Multinomial(),
}


@pytest.mark.slow
def test_predict_proba_is_calibrated_on_rows_that_the_model_wrote() -> None:
    """(x, y) ~ p(x, y | D) and p(y | x, D) of the same model.

    The lengths of texts are no part of it, so they must not tell the classes apart.
    """
    model = NaiveBayes(FAMILIES).fit(*small_table())
    rows, labels = model.sample(DRAWS, length=6, rng=12)
    proba = model.predict_proba(rows)
    for c, label in enumerate(model.classes_):
        for factor in (np.ones(DRAWS), proba[:, c], rows["real"] > 0, rows["free"]):
            surprise = ((labels == label) - proba[:, c]) * factor
            assert abs(surprise.mean()) < 5 * surprise.std() / np.sqrt(DRAWS)


def test_rows_depend_on_the_seed_but_not_on_temper_or_estimate() -> None:
    x, y = small_table()
    model = NaiveBayes(FAMILIES).fit(x, y)
    rows, _ = model.sample(50, rng=0)
    generator = np.random.default_rng(0)
    pd.testing.assert_frame_equal(model.sample(50, rng=generator)[0], rows)
    assert not model.sample(50, rng=generator)[0]["real"].equals(rows["real"])
    other = NaiveBayes(FAMILIES, temper=0.2, estimate="map").fit(x, y)
    for twin in (other, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        pd.testing.assert_frame_equal(twin.sample(50, rng=0)[0], rows)


@pytest.mark.parametrize("classes", [[3, 5], [False, True], ["a", "b"]])
def test_labels_that_are_asked_for_come_back_with_the_dtype_of_the_classes(classes: list) -> None:
    wanted = np.array(classes * 10)
    model = GaussianNB().fit(
        50.0 * (wanted[:, None] == classes[1]) + RNG.normal(size=(20, 1)), wanted
    )
    rows, labels = model.sample(20, wanted, rng=0)
    assert_array_equal(labels, wanted)
    assert_array_equal(model.predict(rows), wanted)
    assert labels.dtype == model.classes_.dtype
    assert model.sample(3, classes[0])[1].tolist() == [classes[0]] * 3


# Containers


FRAME = pd.DataFrame(
    {
        "level": pd.Categorical(["m", "s", "m", "l"], ["s", "m", "l", "xl"], ordered=True),
        "number_level": pd.Categorical([2, 1, 2, 1]),
        "maybe": pd.array([True, None, False, True], "boolean"),
        "text": ["a", None, "b", "a"],
        "real": [1.5, 2.0, 3.0, 5.0],
        "count": [1, 2, 3, 5],
        "unused": [1, 2, 3, 4],
    }
)


@pytest.mark.parametrize("make", [None, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_gives_pandas_with_names_order_numbers_flags_and_levels(make: Any) -> None:
    families = {"count": Poisson(), "real": Gaussian(), "unused": None}
    x = FRAME if make is None else make(FRAME.drop(columns="number_level"))
    model = NaiveBayes(families).fit(x, [0, 1, 0, 1])
    rows, labels = model.sample(60, rng=0)
    assert rows.columns.tolist() == [name for name in FRAME.columns if name in model.families_]
    assert rows.index.equals(pd.RangeIndex(60))
    assert not rows.isna().any(axis=None)
    assert [rows[name].dtype for name in ("maybe", "real", "count")] == [bool, float, np.int64]
    if make is None:
        assert set(rows["level"]) == {"s", "m", "l", "xl"}  # a declared level has prior mass
        assert set(rows["number_level"]) == {1, 2}
    assert NaiveBayes().fit(rows, labels).families_.keys() == model.families_.keys()


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
@pytest.mark.parametrize(
    "model", [BernoulliNB(), CategoricalNB(), PoissonNB(), MultinomialNB(), GaussianNB()]
)
def test_an_array_gives_an_array_of_numbers_or_flags(model: Any, dtype: str) -> None:
    x = RNG.integers(0, 2, (20, 4)).astype(dtype)
    rows, _ = model.fit(x, np.arange(20) % 2).sample(30, rng=0)
    kind = "f" if isinstance(model, GaussianNB) else "i"
    if dtype == "bool" and isinstance(model, BernoulliNB):
        kind = "b"
    if dtype == "float64" and isinstance(model, CategoricalNB):
        kind = rows.dtype.kind
    assert rows.dtype.kind == kind
    assert model.predict_proba(rows).shape == (30, 2)


def test_lists_and_arrays_of_objects_come_as_arrays() -> None:
    x = [[1.0, "a", True], [1.2, "a", False], [3.0, "b", True], [3.1, None, True]]
    rows, _ = NaiveBayes().fit(x, [0, 0, 1, 1]).sample(10, rng=0)
    assert [type(cell) for cell in rows[0]] == [float, str, bool]


@pytest.mark.parametrize("make", [sparse.csc_array, sparse.csr_matrix, sparse.coo_matrix])
def test_a_sparse_table_gives_csr(make: Any) -> None:
    x = make(RNG.poisson(0.3, (30, 50)))
    rows, _ = NaiveBayes().fit(x, np.arange(30) % 2).sample(20, rng=0)
    assert (rows.format, rows.shape) == ("csr", (20, 50))


@pytest.mark.parametrize("threshold", [-3.0, 0.0, 0.5, 127.0])
def test_a_flag_lies_on_its_side_of_the_threshold(threshold: float) -> None:
    x = np.where(RNG.random((60, 1)) < 0.3, threshold + 10, threshold - 10)
    model = BernoulliNB(binarize=threshold).fit(x, np.arange(60) % 2)
    share = float(model.posterior_[0].mean()[1])
    assert_follows(model.sample(2000, 1, rng=0)[0] > threshold, [True, False], [share, 1 - share])


def test_the_reserved_level_is_a_missing_cell_and_later_levels_are_drawn_too() -> None:
    x = pd.DataFrame({"level": pd.Categorical(list("aabb")), "code": [1, 2, 1, 2]})
    model = NaiveBayes(Categorical(unseen="reserve")).fit(x, [0, 1, 0, 1])
    share = float(model.posterior_["code"].mean()[0, -1])
    rows, _ = model.sample(DRAWS, 0, rng=0)
    assert_follows(rows["code"].isna(), [True, False], [share, 1 - share])
    assert set(rows["code"].dropna()) == {1, 2}
    later = pd.DataFrame({"level": pd.Categorical(["c", "c"])})
    growing = NaiveBayes().fit(x[["level"]], [0, 1, 0, 1]).partial_fit(later, [0, 1])
    assert set(growing.sample(100, rng=0)[0]["level"]) == {"a", "b", "c"}


# How long a text is


def texts() -> tuple[sparse.csr_array, Array]:
    y = np.arange(60) % 2
    return sparse.csr_array(RNG.poisson(np.where(y[:, None], 0.9, 0.2), (60, 40))), y


def test_lengths_are_given_by_a_number_or_by_one_for_each_row() -> None:
    model = MultinomialNB().fit(*texts())
    assert (model.sample(10, length=7, rng=0)[0].sum(axis=1) == 7).all()
    for dtype in (int, np.uint8, np.uint64):
        lengths = np.array([0, 3, 1, 50, 2], dtype=dtype)
        rows, _ = model.sample(5, [1, 0, 1, 0, 0], length=lengths, rng=0)
        assert_array_equal(rows.sum(axis=1), lengths)


def test_lengths_are_by_default_those_of_a_poisson_column_of_lengths() -> None:
    """Whatever the scale of weights and the batches are; a class without texts has those of all."""
    x, y = texts()
    lengths = x.sum(axis=1)
    counts = np.arange(100)
    belief = NaiveBayes(Poisson()).fit(lengths[:, None], y).posterior_[0]
    whole = MultinomialNB(classes=[0, 1, 2]).fit(x, y)
    parts = MultinomialNB().partial_fit(x[:20], y[:20], classes=[0, 1]).partial_fit(x[20:], y[20:])
    weighted = MultinomialNB().fit(x, y, sample_weight=np.full(len(y), 3.0))
    for c in (0, 1):
        sizes = whole.sample(2000, c, rng=0)[0].sum(axis=1)
        assert_follows(sizes, counts, belief[c].predictive().pmf(counts))
        for model in (parts, weighted):
            mean = model.sample(2000, c, rng=1)[0].sum(axis=1).mean()
            assert_allclose(mean, lengths[y == c].mean(), rtol=0.1)
    sizes = whole.sample(2000, 2, rng=1)[0].sum(axis=1)
    assert abs(sizes.mean() - lengths.mean()) < 5 * sizes.std() / np.sqrt(2000)


@pytest.mark.slow
def test_thetas_of_all_rows_are_never_held_at_once() -> None:
    x = sparse.random_array((20, 30_000), density=1e-3, rng=1, format="csr")
    x.data[:] = 1
    model = MultinomialNB().fit(x, np.arange(20) % 2)
    tracemalloc.start()
    model.sample(400, length=20, rng=0)  # 96 MB for each array of thetas
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 90e6


# Refusals


NUMBERS = GaussianNB(class_prior={"a": 1.0, "b": 0.0}).fit(
    [[1.0], [2.0], [3.0], [4.0]], list("aabb")
)
TEXTS = MultinomialNB().fit([[1, 2], [2, 1]], [0, 1])
IMPROPER = NaiveBayes(Categorical(Dirichlet(0.0)), classes=[0, 1]).fit([["a"], ["b"]], [0, 0])


@pytest.mark.parametrize(
    ("model", "options", "match"),
    [
        (NUMBERS, {"n": 2.5}, "n must be a whole number of rows"),
        (NUMBERS, {"y": "c"}, "not among the classes"),
        (NUMBERS, {"y": ["a", "b"]}, "one for each of 3 rows"),
        (NUMBERS, {"y": ["a", None, "a"]}, "label 1 is missing"),
        (NUMBERS, {"y": "b"}, "'b' has probability 0"),
        (NUMBERS, {"length": 5}, "no Multinomial block"),
        (TEXTS, {"length": 2.5}, "length must be a whole number"),
        (TEXTS, {"length": [1, -2, 3]}, "length must be a whole number"),
        (IMPROPER, {}, "Use a proper prior"),
    ],
)
def test_what_cannot_be_drawn_is_refused(model: Any, options: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        model.sample(**{"n": 3, **options})
