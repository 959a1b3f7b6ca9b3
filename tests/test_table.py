"""Any table is seen one way: containers, dtypes, levels, and tables that cannot be read."""

from collections import namedtuple
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
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
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    UnseenLevelWarning,
)
from bayesnb.data import open_table
from bayesnb.families.gaussian import GaussianStats
from bayesnb.families.weight import one_hot

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


@pytest.mark.slow
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
            "PolyaTree",
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
    expected = NaiveBayes(temper=None).fit(PLAIN, LABEL).predict_proba(PLAIN)
    for empty in (None, np.nan, pd.NA):
        frame = PLAIN.assign(none=empty)
        np.testing.assert_allclose(NaiveBayes(temper=None).fit(frame, LABEL).predict_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pd.DataFrame({"when": pd.date_range("2020", periods=3)}),
            "column 'when' holds dates or times .Datetime.*days since a date",
        ),
        (pd.DataFrame.sparse.from_spmatrix(sparse.eye(3)), "no family can be inferred"),
        (pl.DataFrame({"a": [1, 2, 3]}).lazy(), "lazy frame"),
        (
            np.array(["2020", "2021", "2022"], dtype="datetime64[Y]")[:, None],
            "X holds dates or times .datetime64.*days since a date",
        ),
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
        model.predict_proba(objects), NaiveBayes("gaussian").fit(PLAIN[["size"]], LABEL).predict_proba(PLAIN[["size"]])
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
    with pytest.raises(TypeError, match="Sparse input cannot have levels"):
        NaiveBayes({3: Categorical()}).fit(sparse.csr_array(counts), LABEL)


def test_an_array_is_read_without_a_copy() -> None:
    x = RNG.normal(size=(50, 3))
    assert open_table(x).numbers((0, 1, 2)) is x


def tall(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows over and over, so that the columns are read one by one."""
    return pd.concat([frame] * 500, ignore_index=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.astype("float32"),
        lambda frame: frame.astype({"b": "float32"}),
        lambda frame: frame.fillna(0).astype("int64"),
        lambda frame: frame.fillna(0).astype({"a": "int8", "b": "uint64"}),
        lambda frame: frame.fillna(0).astype({"a": bool}),
        lambda frame: frame > 0,
        lambda frame: frame.astype("Float64"),
        lambda frame: frame.astype(object),
        lambda frame: frame.astype("double[pyarrow]"),
    ],
)
def test_a_few_rows_of_a_frame_are_read_as_many_are(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    few = change(pd.DataFrame({"a": [1.5, -2.0, 7.0], "b": [0.1, np.nan, 3.0], "c": [2.0, 4.0, 1e9]}))
    model = GaussianNB().fit(tall(few), np.arange(3 * 500) % 2)
    whole = model.predict_proba(tall(few))
    for rows in (few, few.iloc[::-1], few.iloc[[1]]):
        np.testing.assert_allclose(model.predict_proba(rows), whole[rows.index], rtol=1e-13)


def test_some_columns_of_a_few_rows_are_read_by_name() -> None:
    frame = PLAIN[["size", "rooms"]].assign(age=RNG.normal(size=60))
    model = NaiveBayes({"size": Gaussian(), "rooms": Poisson(), "age": None}).fit(frame, LABEL)
    whole = model.predict_proba(tall(frame))
    np.testing.assert_allclose(model.predict_proba(frame.iloc[[7]]), whole[[7]], rtol=1e-13)
    other = NaiveBayes({"age": Gaussian(), "rooms": Poisson(), "size": None}).fit(frame, LABEL)
    np.testing.assert_allclose(other.predict_proba(frame.iloc[[7]]), other.predict_proba(tall(frame))[[7]], rtol=1e-13)


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


DAMAGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "descends": (lambda x: {"indptr": np.array([0, 9**6, 2, 3], np.int32)}, "descends from 531441 to 2 at .* 1"),
    "negative": (lambda x: {"indptr": np.array([0, 1, -(9**6), 3], np.int32)}, "descends from 1 to -531441 at .* 1"),
    "ends too late": (lambda x: {"indptr": np.array([0, 1, 2, 9**6], np.int32)}, "indptr ends with 531441"),
    "begins late": (lambda x: {"indptr": np.array([1, 1, 2, 3], np.int32)}, "indptr begins with 1"),
    "pointers": (lambda x: {"indptr": x.indptr[:-1]}, "indptr has 3 entries, not 4"),
    "indices": (lambda x: {"indices": x.indices[:-1]}, "2 indices and 3 values"),
    "values": (lambda x: {"data": x.data[:-1]}, "3 indices and 2 values"),
    "real pointers": (lambda x: {"indptr": x.indptr.astype(float)}, "must be integers"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_a_sparse_table_with_wrong_row_pointers_is_refused(kind: Any, damage: str) -> None:
    damaged, (arrays, message) = kind(np.eye(3)), DAMAGES[damage]
    for name, array in arrays(damaged).items():
        setattr(damaged, name, array)
    model = MultinomialNB().fit(np.eye(3), [0, 1, 0])
    for call in (model.predict_proba, lambda x: NaiveBayes().fit(x, [0, 1, 0])):
        with pytest.raises(ValueError, match=f"damaged sparse table: .*{message}.* Build it anew"):
            call(damaged)


def test_sparse_tables_of_coordinates_and_of_diagonals_are_checked_too() -> None:
    points, diagonals = sparse.coo_array(np.eye(3)), sparse.dia_array(np.ones((3, 3)))
    points.coords[0][1] = 9**6
    diagonals.offsets = diagonals.offsets[:2]
    for damaged, message in ((points, "row of entry 1 is 531441"), (diagonals, "2 offsets")):
        with pytest.raises(ValueError, match=f"damaged sparse table: .*{message}"):
            MultinomialNB().fit(damaged, [0, 1, 0])


def test_room_behind_the_entries_of_a_sparse_table_is_no_index() -> None:
    x = sparse.csr_array(np.eye(3))
    model = MultinomialNB().fit(x, [0, 1, 0])
    roomy = x.copy()
    roomy.indices, roomy.data = np.append(x.indices, 10**6).astype(x.indices.dtype), np.append(x.data, np.inf)
    np.testing.assert_array_equal(model.predict_proba(roomy), model.predict_proba(x))


class Offering:
    """A table of which nothing is known but one of the protocols by which tables are handed on."""

    def __init__(self, frame: pd.DataFrame, protocol: str) -> None:
        setattr(type(self), protocol, lambda own, *said, **named: getattr(own.table, protocol)(*said, **named))
        self.table = pa.Table.from_pandas(frame)


class Stream(Offering):
    """It offers Arrow's stream of batches."""


class Interchange(Offering):
    """It offers the older protocol of dataframes."""


NAMED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "reader": lambda frame: pa.Table.from_pandas(frame).to_reader(7),
    "stream": lambda frame: Stream(frame, "__arrow_c_stream__"),
    "narwhals of pandas": nw.from_native,
    "narwhals of polars": lambda frame: nw.from_native(pl.from_pandas(frame)),
    "narwhals of arrow": lambda frame: nw.from_native(pa.Table.from_pandas(frame)),
    "Dataset": lambda frame: frame.to_xarray().assign_coords(noise=("index", np.arange(len(frame)))),
}
TURNED = pd.DataFrame({"far": LABEL == "yes", "near": LABEL == "no"}).astype(float) * 4 + RNG.normal(size=(60, 2))


@pytest.mark.parametrize("container", NAMED)
def test_names_are_read_wherever_there_are_any(container: str) -> None:
    make, turned = NAMED[container], TURNED[["near", "far"]]
    expected, model = (NaiveBayes("gaussian").fit(x, LABEL) for x in (TURNED, make(TURNED)))
    assert model.feature_names_in_.tolist() == ["far", "near"]
    assert list(model.posterior_) == ["far", "near"]
    np.testing.assert_allclose(model.predict_proba(make(TURNED)), expected.predict_proba(TURNED), rtol=1e-12)
    before = model.stats_.blocks[0].mean.copy()
    for ask in (model.predict, model.predict_proba, model.explain, model.uncertainty, model.decide, model.log_density):
        with pytest.raises(ValueError, match="feature names should match"):
            ask(make(turned))
    for learn in (model.partial_fit, model.forget, model.loo, model.score):
        with pytest.raises(ValueError, match="feature names should match"):
            learn(make(turned), LABEL)
    np.testing.assert_array_equal(model.stats_.blocks[0].mean, before)
    model.partial_fit(make(TURNED), LABEL)
    model.forget(make(TURNED), LABEL)
    np.testing.assert_allclose(model.stats_.blocks[0].mean, before, rtol=1e-12)


def test_the_names_of_the_columns_and_the_rows_of_a_labelled_array_are_read() -> None:
    rows = xr.DataArray(TURNED, dims=["when", "what"], coords={"when": np.arange(60) + 100, "what": ["far", "near"]})
    model = NaiveBayes().fit(rows, LABEL)
    assert list(model.posterior_) == ["far", "near"]
    assert model.uncertainty(rows[:3]).obs_id.values.tolist() == [100, 101, 102]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[:, ::-1])
    nameless = NaiveBayes().fit(TURNED.to_numpy(), LABEL)
    plain = xr.DataArray(TURNED.to_numpy(), dims=["a", "b"])
    np.testing.assert_array_equal(nameless.predict_proba(plain), nameless.predict_proba(TURNED.to_numpy()))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        nameless.predict(plain[0])


def test_rows_keep_their_names_and_their_library_under_narwhals() -> None:
    frame = TURNED.set_index(np.arange(60) * 2)
    model = NaiveBayes().fit(nw.from_native(frame), LABEL)
    assert model.uncertainty(nw.from_native(frame[:2])).obs_id.values.tolist() == [0, 2]
    assert isinstance(model.sample(2, rng=1)[0], pd.DataFrame)
    assert isinstance(model.fit(pa.RecordBatch.from_pandas(frame), LABEL).sample(2, rng=1)[0], pa.Table)


Row = namedtuple("Row", ["near", "far"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "advice"),
    [
        (TURNED.to_dict("list"), r"Give pandas\.DataFrame\(X\)"),
        (TURNED.to_dict("records"), r"Give pandas\.DataFrame\(X\)"),
        (TURNED.to_records(index=False), r"Give pandas\.DataFrame\(X\)"),
        ([row for _, row in TURNED.iterrows()], r"Give pandas\.DataFrame\(X\)"),
        ([Row(*row) for row in TURNED.to_numpy().tolist()], r"Give pandas\.DataFrame\(X\)"),
        (TURNED.iloc[0].to_dict(), r"one row.*pandas\.DataFrame\(\[row\]\)"),
        (Row(1.0, 2.0), r"one row.*pandas\.DataFrame\(\[row\]\)"),
        (
            pa.RecordBatch.from_pandas(TURNED).to_struct_array(),
            r"Make its fields columns.*Table\.from_struct_array\(X\)",
        ),
        (pl.from_pandas(TURNED).to_struct("rows"), r"Make its fields columns.*X\.struct\.unnest\(\)"),
        (Interchange(TURNED, "__dataframe__"), r"pandas, polars or pyarrow"),
        (pl.from_pandas(TURNED).lazy(), r"lazy frame.*X\.collect\(\)"),
        (nw.from_native(pl.from_pandas(TURNED).lazy()), r"lazy frame.*X\.collect\(\)"),
        (TURNED.to_xarray().expand_dims("twice"), "2 dimensions"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_names_that_cannot_be_read_are_an_error_that_says_what_to_do(table: Any, advice: str) -> None:
    model = NaiveBayes().fit(TURNED, LABEL)
    for ask in (model.predict, lambda rows: NaiveBayes().fit(rows, LABEL)):
        with pytest.raises((TypeError, ValueError), match=advice):
            ask(table)


def test_a_stream_that_was_read_already_says_so() -> None:
    reader = pa.Table.from_pandas(TURNED).to_reader()
    model = NaiveBayes().fit(reader, LABEL)
    with pytest.raises(ValueError, match=r"read only once.*pyarrow\.table\(X\)"):
        model.predict(reader)


@pytest.mark.filterwarnings("ignore:Dask support")
def test_a_lazy_frame_under_narwhals_is_told_from_the_lazy_collection_that_it_hides() -> None:
    lazy = dd.from_pandas(TURNED, npartitions=2)
    assert NaiveBayes().fit(lazy, dd.from_pandas(pd.Series(LABEL), npartitions=2)).n_features_in_ == 2
    with pytest.raises(TypeError, match=r"lazy frame.*X\.to_native\(\)"):
        NaiveBayes().fit(nw.from_native(lazy), LABEL)


def test_a_relation_of_duckdb_has_no_order_of_rows_and_says_how_to_get_them() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.from_arrow(pa.Table.from_pandas(TURNED))
    for table in (relation, nw.from_native(relation)):
        with pytest.raises(TypeError, match=r"lazy frame of duckdb.*(X|from_native\(X\))\.collect\(\)"):
            NaiveBayes().fit(table, LABEL)
    assert NaiveBayes().fit(nw.from_native(relation).collect(), LABEL).n_features_in_ == 2


@pytest.mark.slow
def test_a_sparse_array_of_pydata_is_the_sparse_table_that_it_holds() -> None:
    pydata = pytest.importorskip("sparse")
    counts = RNG.poisson(0.3, (60, 5))
    expected = MultinomialNB().fit(counts, LABEL)
    for make in (pydata.COO.from_numpy, pydata.GCXS.from_numpy):
        model = MultinomialNB().fit(make(counts), LABEL)
        np.testing.assert_array_equal(model.predict_proba(make(counts)), expected.predict_proba(counts))


@pytest.mark.parametrize(
    "series",
    [
        PLAIN.iloc[0],
        PLAIN[["town"]].iloc[0],
        TURNED.iloc[0],
        TURNED["far"],
        pl.from_pandas(TURNED)["far"],
        nw.from_native(TURNED)["far"],
        pa.Table.from_pandas(TURNED)["far"],
    ],
    ids=lambda own: type(own).__module__ + str(len(own)),
)
def test_one_row_or_one_column_of_a_frame_says_how_to_keep_its_names(series: Any) -> None:
    frame = PLAIN if len(series) == 4 else PLAIN[["town"]] if len(series) == 1 else TURNED
    with pytest.raises(
        ValueError, match=r"Expected 2D array.*X\.iloc\[\[0\]\].*pandas\.DataFrame\(\[row\]\).*X\[\['name'\]\]"
    ):
        NaiveBayes().fit(frame, LABEL).predict(series)
    with pytest.raises(
        ValueError, match=r"Expected 2D array.*X\.iloc\[\[0\]\].*pandas\.DataFrame\(\[row\]\).*X\[\['name'\]\]"
    ):
        NaiveBayes().fit(series, LABEL)


def test_a_list_of_texts_that_may_be_one_row_says_so() -> None:
    for texts in (["a", "b", "c"], pd.Series(["a", "b", "c"]), pl.Series(["a", "b", "c"])):
        with pytest.raises(ValueError, match=r"a list of 3 texts.*CountVectorizer.*one row: \[X\]"):
            NaiveBayes().fit(texts, [0, 1, 0])
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array instead \(shape=\(3,\)\)"):
        NaiveBayes().fit(["a", 1.5, 2], [0, 1, 0])


DAYS = pd.date_range("2020-01-30", periods=3)
WHEN: dict[str, tuple[Any, str]] = {
    "pandas": (pd.DataFrame({"when": DAYS}), "days since a date.*month"),
    "a time zone": (pd.DataFrame({"when": DAYS.tz_localize("Asia/Tokyo")}), "days since a date.*month"),
    "periods": (pd.DataFrame({"when": DAYS.to_period("M")}), "days since a date.*month"),
    "dates": (pd.DataFrame({"when": DAYS.date}), "days since a date.*month"),
    "polars": (pl.DataFrame({"when": DAYS.date}), "days since a date.*month"),
    "arrow": (pa.table({"when": DAYS}), "days since a date.*month"),
    "durations": (pd.DataFrame({"when": DAYS - DAYS[0]}), "one unit, such as days or seconds"),
    "durations of polars": (pl.DataFrame({"when": DAYS - DAYS[0]}), "one unit, such as days or seconds"),
    "times": (pl.DataFrame({"when": DAYS.time}), "hours since midnight"),
    "times in objects": (pd.DataFrame({"when": DAYS.time}), "hours since midnight"),
    "an array": (DAYS.to_numpy()[:, None], "days since a date.*month"),
    "an array of durations": ((DAYS - DAYS[0]).to_numpy()[:, None], "one unit, such as days or seconds"),
    "an array of objects": (np.array([[1.0, day] for day in DAYS.to_numpy()], object), "days since a date.*month"),
    "lists": ([[None, 1.0], *([day, 1.0] for day in DAYS[:2].date)], "days since a date.*month"),
}


@pytest.mark.parametrize("kind", WHEN)
@pytest.mark.parametrize("model", [NaiveBayes(), GaussianNB(), NaiveBayes(Poisson())])
def test_dates_and_times_say_what_can_be_made_of_them(kind: str, model: Any) -> None:
    table, advice = WHEN[kind]
    with pytest.raises(ValueError, match=f"holds dates or times .*{advice}.*; or drop"):
        model.fit(table, [0, 1, 0])


def test_dates_that_are_declared_as_levels_are_levels() -> None:
    model = NaiveBayes({"when": Categorical()}).fit(pd.DataFrame({"when": DAYS.date}), [0, 1, 0])
    assert model.predict(pd.DataFrame({"when": DAYS.date[1:2]})).tolist() == [1]


def test_a_level_beyond_every_float_is_a_level_beside_one_that_is_no_integer() -> None:
    x, y = np.array([[1], [1], [2]]), ["u", "u", "v"]
    far = NaiveBayes(Categorical(levels=[0.5, 1, 2, 10**400])).fit(x, y)
    near = NaiveBayes(Categorical(levels=[0.5, 1, 2, 3])).fit(x, y)
    assert (far.predict_proba(x) == near.predict_proba(x)).all()
