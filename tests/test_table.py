"""Any table is seen one way: containers, dtypes, levels, and tables that cannot be read."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    UnseenLevelWarning,
)
from bayesnb.families.gaussian import GaussianStats
from bayesnb.families.weight import one_hot
from bayesnb.table import open_table

RNG = np.random.default_rng(1)
LABEL = RNG.choice(["no", "yes"], 60)
PLAIN = pd.DataFrame(
    {
        "size": RNG.normal(size=60),
        "rooms": RNG.integers(0, 9, 60),
        "owned": RNG.random(60) < 0.5,
        "town": RNG.choice(["Ayr", "Bo", "Cork"], 60),
    }
)


def holed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with a missing cell in every column, as pandas' nullable types."""
    frame = frame.convert_dtypes()
    for place, name in enumerate(frame.columns):
        frame.loc[place, name] = pd.NA
    return frame


CONTAINERS: list[Callable[[pd.DataFrame], Any]] = [
    lambda frame: frame,
    lambda frame: frame.astype({"size": float, "rooms": float, "owned": "boolean", "town": object}),
    lambda frame: frame.assign(town=frame["town"].astype("category")),
    pl.from_pandas,
    lambda frame: pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Categorical)),
    lambda frame: pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Enum(["Ayr", "Bo", "Cork"]))),
    pa.Table.from_pandas,
    lambda frame: (t := pa.Table.from_pandas(frame)).set_column(
        3, "town", t["town"].combine_chunks().dictionary_encode()
    ),
]


@pytest.mark.parametrize("container", CONTAINERS, ids=range(len(CONTAINERS)))
@pytest.mark.parametrize("frame", [PLAIN, holed(PLAIN)], ids=["full", "holes"])
def test_every_container_is_the_same_table(frame: pd.DataFrame, container: Callable) -> None:
    expected = NaiveBayes().fit(frame, LABEL)
    model = NaiveBayes().fit(container(frame), LABEL)
    assert [type(family) for family in model.families_.values()] == [type(f) for f in expected.families_.values()]
    np.testing.assert_allclose(model.predict_proba(container(frame)), expected.predict_proba(frame), rtol=1e-12)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-12)


def test_a_list_of_mixed_lists_and_an_array_of_objects_are_inferred_by_value() -> None:
    rows = [[1.5, "a", True], [2.5, "b", False], [None, "a", True], [0.5, None, None]]
    for table in (rows, np.array(rows, dtype=object)):
        model = NaiveBayes().fit(table, [0, 0, 1, 1])
        assert [type(family).__name__ for family in model.families_.values()] == [
            "Gaussian",
            "Categorical",
            "Bernoulli",
        ]
        assert model.posterior_[1].concentration.tolist() == [[2, 2], [2, 1]]


def test_declared_levels_count_even_if_they_are_never_seen() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v", "u"], categories=["v", "u", "w"])})
    assert NaiveBayes().fit(frame, [0, 0, 1]).posterior_["c"].concentration.tolist() == [[2, 2, 1], [1, 2, 1]]
    said = NaiveBayes(Categorical(levels=["w", "u", "v"])).fit([["u"], ["v"], ["u"]], [0, 0, 1])
    assert said.posterior_[0].concentration.tolist() == [[1, 2, 2], [1, 2, 1]]
    with pytest.warns(UnseenLevelWarning, match="column 0 has levels that the model does not know: 'z' "):
        assert (
            NaiveBayes(Categorical(levels=["u", "v"]))
            .fit([["u"], ["z"], ["v"]], [0, 0, 1])
            .stats_.blocks[0]
            .counts.sum()
            == 2
        )


def test_declared_levels_may_be_any_collection_but_a_string() -> None:
    for levels in (("u", "v", "w"), ["u", "v", "w"], np.array(["u", "v", "w"]), pd.Index(["u", "v", "w"])):
        assert NaiveBayes(Categorical(levels=levels)).fit([["u"], ["v"]], [0, 1]).posterior_[0].mean().shape == (2, 3)
    with pytest.raises(ValueError, match="levels must be a list of levels, got 'uvw'"):
        Categorical(levels="uvw")


def test_an_untidy_sparse_matrix_is_read_right_and_left_as_it_was() -> None:
    """Unsorted indices, and one cell stored in two parts."""
    data, indices, indptr = np.array([1.0, 2.0, 3.0, 1.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    untidy = sparse.csr_matrix((data, indices, indptr), shape=(2, 3))
    model = NaiveBayes(Multinomial()).fit(untidy, [0, 1])
    assert model.posterior_[(0, 1, 2)].concentration.tolist() == [[3, 1, 5], [1, 2, 1]]
    assert untidy.data.tolist() == [1, 2, 3, 1]
    assert untidy.indices.tolist() == [2, 0, 2, 1]
    assert untidy.indptr.tolist() == [0, 3, 4]


def test_levels_may_be_booleans_numbers_or_text_but_not_several() -> None:
    for levels in ([True, False], [3, 10**18], [0.5, 1.5], ["x", "y"], [b"x", b"y"]):
        x = np.array([[levels[0]], [levels[1]], [levels[0]]], dtype=object)
        model = NaiveBayes(Categorical()).fit(x, [0, 1, 0])
        assert model.predict(x).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="column 0 mixes"):
        NaiveBayes(Categorical()).fit(np.array([["1"], [1], ["1"]], dtype=object), [0, 1, 0])


def test_a_column_without_any_cell_says_nothing() -> None:
    expected = NaiveBayes().fit(PLAIN, LABEL).predict_proba(PLAIN)
    for empty in (None, np.nan, pd.NA):
        frame = PLAIN.assign(none=empty)
        np.testing.assert_allclose(NaiveBayes().fit(frame, LABEL).predict_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"when": pd.date_range("2020", periods=3)}), "column 'when' holds Datetime"),
        (pd.DataFrame.sparse.from_spmatrix(sparse.eye(3)), "no family can be guessed"),
        (pl.DataFrame({"a": [1, 2, 3]}).lazy(), "lazy frame"),
        (np.array(["2020", "2021", "2022"], dtype="datetime64[Y]")[:, None], "holds datetime64"),
        ([[1, 2], [3], [4, 5]], "X is not a table"),
        (np.zeros((3, 2, 2)), "Expected 2D array, got 3D"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(table: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        NaiveBayes().fit(table, [0, 1, 0])


def test_text_declared_as_numbers_is_refused_and_numbers_in_objects_are_read() -> None:
    with pytest.raises(ValueError, match=r"column 'town'.*Categorical"):
        NaiveBayes({"town": Gaussian()}).fit(PLAIN, LABEL)
    objects = PLAIN[["size"]].astype(object)
    model = NaiveBayes({"size": Gaussian()}).fit(objects, LABEL)
    np.testing.assert_allclose(
        model.predict_proba(objects), NaiveBayes().fit(PLAIN[["size"]], LABEL).predict_proba(PLAIN[["size"]])
    )


def test_a_block_of_counts_refuses_a_missing_cell_and_says_where() -> None:
    x = np.array([[1.0, 2.0], [0.0, np.nan], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"column 1: a cell is missing .NaN., first at row 1"):
        NaiveBayes(Multinomial()).fit(x, [0, 1, 0])


def test_columns_of_a_sparse_table_may_have_families_of_their_own() -> None:
    counts = RNG.poisson(1.0, (60, 4))
    families = {(0, 1): Multinomial(), 2: Poisson(), 3: Gaussian()}
    a = NaiveBayes(families).fit(sparse.csc_array(counts), LABEL)
    b = NaiveBayes(families).fit(counts, LABEL)
    np.testing.assert_allclose(a.predict_proba(sparse.coo_array(counts)), b.predict_proba(counts), rtol=1e-12)
    with pytest.raises(TypeError, match="Sparse input has no levels"):
        NaiveBayes({3: Categorical()}).fit(sparse.csr_array(counts), LABEL)


def test_an_array_is_read_without_a_copy() -> None:
    x = RNG.normal(size=(50, 3))
    assert open_table(x).numbers((0, 1, 2)) is x


NUMBERS = st.integers(-(10**9), 10**9).map(lambda n: n / 1000) | st.just(np.nan)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), rows=st.integers(2, 25), columns=st.integers(1, 4))
def test_any_batches_of_any_table_equal_one_fit(data: st.DataObject, rows: int, columns: int) -> None:
    """Random shapes, missing cells, weights and cuts; priors are given, so that no batch decides them."""
    x = data.draw(arrays(float, (rows, columns), elements=NUMBERS))
    counts = np.abs(np.floor(x))
    y = data.draw(arrays(int, rows, elements=st.integers(0, 2)))
    weight = data.draw(arrays(float, rows, elements=st.sampled_from([0.5, 1.0, 3.0])))
    cut = data.draw(st.integers(1, rows - 1))
    for family, table in ((Gaussian(NormalInverseGamma(0.0, 1.0, 1.0, 1.0)), x), (Poisson(Gamma(1.0, 1.0)), counts)):
        whole = NaiveBayes(family, classes=[0, 1, 2]).fit(table, y, weight)
        parts = NaiveBayes(family, classes=[0, 1, 2])
        for own in (slice(cut, None), slice(cut)):
            parts.partial_fit(table[own], y[own], sample_weight=weight[own])
        a, b = whole.predict_joint_log_proba(table), parts.predict_joint_log_proba(table)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-7)
        assert np.isfinite(a).all()
        np.testing.assert_allclose(whole.predict_proba(table).sum(axis=1), 1, rtol=1e-12)


def test_a_stored_nan_in_a_sparse_table_is_a_missing_cell() -> None:
    dense = RNG.integers(0, 2, (60, 3)).astype(float)
    dense[::7, 1] = np.nan
    a = NaiveBayes(Bernoulli(0.3)).fit(sparse.csr_array(dense), LABEL)
    b = NaiveBayes(Bernoulli(0.3)).fit(dense, LABEL)
    np.testing.assert_allclose(
        a.predict_joint_log_proba(sparse.csr_array(dense)), b.predict_joint_log_proba(dense), rtol=1e-12
    )
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, rel=1e-12)


def test_two_declarations_with_arrays_keep_their_own_columns() -> None:
    x = RNG.normal(size=(60, 4))
    first, second = (NormalInverseGamma([place, place + 1.0], 1.0, 2.0, 1.0) for place in (0.0, 5.0))
    model = NaiveBayes({(0, 1): Gaussian(first), (2, 3): Gaussian(second)}).fit(x, LABEL)
    assert [model.prior_[column].mean[0] for column in range(4)] == [0, 1, 5, 6]


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_moments_are_those_of_exact_fractions(offset: float) -> None:
    """Means and summed squares about them, of integers far from zero and of a first row that is an outlier."""
    x = np.floor(np.random.default_rng(1).normal(0, 50, (501, 1))) + offset
    x[0] = offset + 2**30
    exact = [Fraction(float(cell)) for cell in x[:, 0]]
    mean = sum(exact) / len(exact)
    ssd = sum((cell - mean) ** 2 for cell in exact)
    seen = GaussianStats.of(x, one_hot(np.zeros(501, int), 1))
    assert abs(seen.mean[0, 0] - float(mean)) <= np.spacing(abs(float(mean)))  # the nearest float, or the next one
    assert seen.ssd[0, 0] == pytest.approx(float(ssd), rel=1e-14)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame], ids=["array", "sparse", "frame"])
def test_a_block_of_all_columns_in_another_order_keeps_that_order(container: Callable) -> None:
    counts = np.array([[1, 2, 0], [4, 0, 3], [0, 1, 1]])
    model = NaiveBayes({(2, 0, 1): Multinomial(Dirichlet([10.0, 20.0, 30.0]))}).fit(container(counts), [0, 1, 1])
    assert model.posterior_[(2, 0, 1)].concentration.tolist() == [[10, 21, 32], [14, 24, 31]]


@pytest.mark.parametrize(
    "model", [MultinomialNB(), BernoulliNB(), NaiveBayes(Gaussian())], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("index", [-1, 3, 10**6])
def test_a_sparse_table_whose_indices_leave_it_is_refused(model: Any, index: int) -> None:
    x = sparse.csr_array(np.eye(3))
    model.fit(x, [0, 1, 0])
    damaged = x.copy()
    damaged.indices[1] = index
    for call in (model.predict_proba, lambda x: model.fit(x, [0, 1, 0])):
        with pytest.raises(ValueError, match="damaged sparse table"):
            call(damaged)
