"""What cannot be right is refused, in one sentence that says what, where, and what to do."""

import math
from collections import namedtuple
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    JointTable,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
)

NAN = math.nan
ROWS = np.array([[0.0, 1], [1, 0], [1, 1], [0, 1]])  # every family can read them
LABELS = np.array([0, 0, 1, 1])
HOUSES = pd.DataFrame(
    {
        "price": [1.0, 2.0, 3.0, 4.0],
        "Rooms": [1, 2, 2, 3],
        "town": list("abab"),
        "flag": [0, 1, 1, 0],
    }
)
NUMBERS = HOUSES[["price", "Rooms"]]
Row = namedtuple("Row", ["price", "Rooms"])


def with_cell(row: int, column: int, value: Any, dtype: Any = float) -> Any:
    """Return the good rows, but for one cell."""
    x = ROWS.astype(dtype)
    x[row, column] = value
    return x


def damaged(**arrays: Any) -> Any:
    """Return a sparse table some of whose arrays are others."""
    x = sparse.csr_array(np.eye(4, 2))
    for name, array in arrays.items():
        setattr(x, name, array)
    return x


LABEL_REFUSALS = [
    ([0, NAN, 1, 1], "1 labels are missing, first at row 1"),
    (np.array([0, 0, None, 1], object), "1 labels are missing, first at row 2"),
    (pd.array(["a", "b", pd.NA, "a"], dtype="string"), "1 labels are missing, first at row 2"),
    (pl.Series(["a", None, None, "a"]), "2 labels are missing, first at row 1"),
    (np.ma.array([0, 0, 1, 1], mask=[0, 0, 0, 1]), "missing|mask"),
    ([0, math.inf, 1, 1], "infinity"),
    ([0, 0.5, 1, 1], "1 of 4 labels are not whole numbers, such as 0.5"),
    (np.array([0, "a", 1, 1], object), "label"),
    ([0, 0, 1], "inconsistent numbers of samples"),
    ([[0, 1]] * 4, "1d array"),
    (None, "requires y"),
]


@pytest.mark.parametrize(("y", "match"), LABEL_REFUSALS)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_labels_that_are_no_labels(learn: str, y: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(GaussianNB().fit(ROWS, LABELS), learn)(ROWS, y)


WEIGHT_REFUSALS = [
    ([1, -0.5, 1, 1], r"sample_weight.* row 1: -0\.5"),
    ([1, 1, NAN, 1], r"sample_weight.* row 2: nan"),
    ([1, 1, 1, math.inf], r"sample_weight.* row 3: inf"),
    (["a", 1, 1, 1], r"sample_weight must be numbers.*'a'"),
    ([Decimal(1), Decimal("sNaN"), Decimal(2), Decimal(2)], "sample_weight must be numbers"),
    ([1, None, 1, 1], "sample_weight"),
    ([1, 1, 1], r"sample_weight.* 4 rows, got shape \(3,\)"),
    ([[1, 1, 1, 1]], r"sample_weight.* got shape \(1, 4\)"),
    ([0, 0, 0, 0], "sample_weight is zero for all rows"),
    (np.ma.array([1.0, 1, 1, 1], mask=[0, 0, 1, 0]), "sample_weight"),
]


@pytest.mark.parametrize(("weight", "match"), WEIGHT_REFUSALS)
@pytest.mark.parametrize("preset", [GaussianNB, CategoricalNB])
def test_weights_that_are_no_weights(preset: Any, weight: Any, match: str) -> None:
    for learn in ("fit", "partial_fit"):
        with pytest.raises((ValueError, TypeError), match=match):
            getattr(preset().fit(ROWS, LABELS), learn)(ROWS, LABELS, sample_weight=weight)


DAYS = pd.date_range("2020-01-30", periods=4)
TABLE_REFUSALS = [
    # numbers that a family cannot read
    (GaussianNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
    (GaussianNB(), with_cell(2, 1, -math.inf, np.float32), r"column 1.*row 2: -inf"),
    (MultinomialNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
    (PoissonNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
    (BernoulliNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
    (CategoricalNB(), with_cell(2, 1, math.inf), r"column 1.*inf"),
    (MultinomialNB(), sparse.csc_array(with_cell(3, 0, -3)), r"column 0: Negative.*row 3: -3"),
    (PoissonNB(), with_cell(3, 0, -3, np.int8), r"column 0: Negative.*row 3: -3"),
    (CategoricalNB(), with_cell(3, 0, -3, int), r"column 0 .*-3"),
    (NaiveBayes(Multinomial()), with_cell(1, 1, 1.5), r"column 1: .*row 1: 1\.5.*fractional=True"),
    (NaiveBayes(Poisson()), with_cell(1, 1, 1.5), r"column 1: .*row 1: 1\.5.*fractional=True"),
    (NaiveBayes(Bernoulli()), with_cell(1, 1, 2), r"column 1: .*not 0 or 1.*row 1: 2.*threshold"),
    (CategoricalNB(), with_cell(1, 1, 1.5), r"column 1 .*1\.5"),
    (MultinomialNB(), with_cell(1, 1, NAN), r"column 1: .*missing.*row 1"),
    (GaussianNB(), with_cell(1, 1, 1e200), r"column 1 .*1e\+200"),
    (GaussianNB(), ROWS * [1e-310, 1], r"column 0 .*1e-310"),
    (GaussianNB(), [[1e200, 0], [NAN, 1], [1e200, 7], [1e200, 1]], r"column 0 ranges from 1e.200"),
    # types that are no numbers
    (GaussianNB(), with_cell(1, 1, "u", object), r"column 1 is not numeric"),
    (GaussianNB(), ROWS.astype(str), "column 0 is not numeric: it holds text.*row 0"),
    (GaussianNB(), ROWS + 1j, "Complex data not supported"),
    (NaiveBayes(), np.zeros((4, 2), "V8"), "neither numbers nor levels: split it into columns"),
    (
        GaussianNB(),
        pd.DataFrame({"x": [1, 10**400, 2, 2]}, dtype=object),
        r"column .x.*first at row 1",
    ),
    (NaiveBayes({"town": Gaussian()}), HOUSES, r"column 'town'.*categorical"),
    (NaiveBayes(), np.array([["a", 1], [2, 3]] * 2, object), "column 0 mixes.*str"),
    (NaiveBayes(), np.array([[1, True], [2, 3.5]] * 2, object), "column 1 mixes.*bool"),
    (NaiveBayes(), pd.DataFrame({"b": ["x", 1.5] * 2}), "column 'b' mixes.*float, str"),
    (NaiveBayes(), pd.DataFrame({"a": [1] * 4, "b": [[1]] * 4}), "column 'b'"),
    (
        NaiveBayes(),
        pd.DataFrame({"when": DAYS}),
        "holds dates or times .*days since a date.*; or drop",
    ),
    (NaiveBayes(), pd.DataFrame({"when": DAYS - DAYS[0]}), "a duration in seconds"),
    (NaiveBayes(), pl.DataFrame({"when": DAYS.time}), "hours since midnight"),
    (NaiveBayes("gaussian"), pd.DataFrame({"when": DAYS.tz_localize("UTC")}), "days since a date"),
    (NaiveBayes(), DAYS.to_numpy()[:, None], "days since a date.*month"),
    # what is no table
    (NaiveBayes(), pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), "same name.*\n?.*'a'"),
    (NaiveBayes(), pd.DataFrame.sparse.from_spmatrix(sparse.eye(4)), "no family can be inferred"),
    (NaiveBayes({1: Categorical()}), sparse.csr_array(ROWS), "Sparse input cannot have levels"),
    (GaussianNB(), [[0, 1], [1], [1, 1], [0, 1]], "X is not a table.*inhomogeneous"),
    (GaussianNB(), ROWS[:, 0], r"Expected 2D array, got 1D.*reshape"),
    (GaussianNB(), ROWS[None], r"Expected 2D array, got 3D"),
    (GaussianNB(), ROWS[:, :0], r"0 feature"),
    (NaiveBayes(), pl.DataFrame({"a": [1, 2, 3, 4]}).lazy(), r"lazy frame.*X\.collect\(\)"),
    (NaiveBayes(), ["a", "b", "c", "d"], r"a list of 4 texts.*CountVectorizer.*one row: \[X\]"),
    (NaiveBayes(), HOUSES.to_dict("list"), r"Give pandas\.DataFrame\(X\)"),
    (NaiveBayes(), HOUSES.to_records(index=False), r"Give pandas\.DataFrame\(X\)"),
    (NaiveBayes(), [row for _, row in HOUSES.iterrows()], r"Give pandas\.DataFrame\(X\)"),
    (NaiveBayes(), pl.from_pandas(NUMBERS).to_struct("rows"), "1D array instead: a Series of"),
    (NaiveBayes(), NUMBERS.to_xarray().expand_dims("twice"), "2 dimensions"),
    # a sparse table that would read or write outside of its memory
    (
        MultinomialNB(),
        damaged(indptr=np.array([0, 9**6, 2, 2, 2], np.int32)),
        "damaged sparse table",
    ),
    (
        MultinomialNB(),
        damaged(indptr=np.array([0, 1, 2, 2, 9**6], np.int32)),
        "damaged sparse table",
    ),
    (MultinomialNB(), damaged(indptr=np.array([1, 1, 2, 2, 2], np.int32)), "damaged sparse table"),
    (MultinomialNB(), damaged(indptr=np.array([0, 1], np.int32)), "damaged sparse table"),
    (MultinomialNB(), damaged(indices=np.array([0, 9**6], np.int32)), "damaged sparse table"),
    (MultinomialNB(), damaged(indices=np.array([0, -1], np.int32)), "damaged sparse table"),
    (MultinomialNB(), damaged(data=np.ones(1)), "damaged sparse table"),
]


@pytest.mark.parametrize(("model", "x", "match"), TABLE_REFUSALS)
def test_tables_that_cannot_be_learnt(model: Any, x: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(x, LABELS)
    with pytest.raises((ValueError, TypeError), match=match):
        model.partial_fit(x, LABELS, classes=[0, 1])


@pytest.mark.parametrize(
    "x",
    [
        damaged(indptr=np.array([0, 9**6, 2, 2, 2], np.int32)),
        damaged(indices=np.array([0, 9**6], np.int32)),
        with_cell(1, 0, -1),
    ],
)
def test_tables_that_cannot_be_predicted(x: Any) -> None:
    with pytest.raises(ValueError, match=r"damaged sparse table|Negative"):
        MultinomialNB().fit(ROWS, LABELS).predict_proba(x)


ARGUMENT_REFUSALS = [
    (NaiveBayes(estimate="median"), "estimate must be one of"),
    (NaiveBayes(temper=-1), "temper must be"),
    (NaiveBayes(temper="column"), "temper must be"),
    (NaiveBayes(n_jobs=0), "n_jobs must be"),
    (NaiveBayes(class_prior=[0.5, 0.5]), "bare array"),
    (NaiveBayes(class_prior={0: 1.0}), "give each of them one probability"),
    (NaiveBayes(class_prior={0: 0.5, 1: 0.6}), "sum to 1"),
    (NaiveBayes(class_prior=Dirichlet([1.0, 1.0, 1.0])), "3 concentrations for 2 classes"),
    (NaiveBayes(class_prior="flat"), "'uniform' or 'empirical'"),
    (NaiveBayes(class_prior=-1.0), "concentration must be finite and at least 0"),
    (NaiveBayes(class_prior=1e-310), r"must be 0 or at least 2\.23e-308"),
    (NaiveBayes(classes=[0, 2]), r"labels \[1\] that are not among the classes"),
    (NaiveBayes(classes=[0, 1, 0]), r"classes: \[0\] are listed more than once"),
    (GaussianNB(priors="uniform"), "priors must be probabilities.*class_prior takes other forms"),
    (GaussianNB(priors=[0.5, 0.5], class_prior=[0.5, 0.5]), "give one of them"),
    (GaussianNB(var_smoothing=0.1), "var_smoothing"),
    (CategoricalNB(min_categories=3.5), "min_categories"),
    (CategoricalNB(min_categories=[3, 3, 3]), "min_categories"),
    (CategoricalNB(min_categories="many"), "min_categories"),
    # families
    (NaiveBayes(3), "families must be .auto."),
    (NaiveBayes("drop"), "leaves nothing to learn from"),
    (NaiveBayes(dict.fromkeys(HOUSES)), "all columns are dropped"),
    (NaiveBayes({"price": Gaussian}), "must be an instance such as Gaussian"),
    (NaiveBayes({"price": Gaussian(), ("price", "Rooms"): Poisson()}), "listed more than once"),
    (NaiveBayes("gausian"), "no family 'gausian'; did you mean 'gaussian'[?]"),
    (NaiveBayes({"town": "Categorical"}), "did you mean 'categorical'[?]"),
    (NaiveBayes({"town": "JointTable"}), "did you mean 'joint'[?]"),
    (NaiveBayes({"price": "normal"}), "did you mean 'gaussian'[?]"),
    (NaiveBayes({"town": "dirichlet"}), "did you mean 'categorical'[?]"),
    (NaiveBayes({"price": "poisson:shared"}), "'gaussian:shared', 'multivariate:shared', 'drop'"),
    (NaiveBayes({"price": "xyzzy"}), "there are 'categorical', 'bernoulli'.*, 'drop'"),
    (NaiveBayes({"prise": "gaussian"}), "no column 'prise'; did you mean 'price'[?]"),
    (NaiveBayes({("price", "room"): "multivariate"}), "did you mean 'Rooms'[?]"),
    (NaiveBayes({"xyzzy": "gaussian"}), "it has 'price', 'Rooms', 'town', 'flag'[.]"),
    (NaiveBayes({3: "gaussian"}), "the table has no column 3; it has"),
    # priors at the ends of floats
    (NaiveBayes({"town": Categorical(1e305)}), r"overflow|must be finite and from -1e\+150"),
    (NaiveBayes({"Rooms": Poisson(Gamma(1e305, 1))}), r"overflow|must be finite and from -1e\+150"),
    (
        NaiveBayes({("town", "flag"): JointTable(1e305)}),
        r"overflow|must be finite and from -1e\+150",
    ),
]


@pytest.mark.parametrize(("model", "match"), ARGUMENT_REFUSALS)
def test_arguments_that_mean_nothing(model: Any, match: str) -> None:
    x = HOUSES if isinstance(model, NaiveBayes) and type(model) is NaiveBayes else ROWS
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(x, LABELS)


VALUE_REFUSALS = [
    (lambda: Categorical(levels="uvw"), "levels must be a list of levels, got 'uvw'"),
    (lambda: Dirichlet([1.0, 1e-310]), r"must be 0 or at least 2\.23e-308"),
    (lambda: Gamma(1e-320, 1.0), r"must be 0 or at least 2\.23e-308"),
    (lambda: NormalInverseGamma(0, 1, 1e-320, 1), r"must be 0 or at least 2\.23e-308"),
    (lambda: NaiveBayes().set_params(family__prior=1), "Invalid parameter 'family'"),
]


@pytest.mark.parametrize(("call", "match"), VALUE_REFUSALS)
def test_parameters_that_are_none(call: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()


MODEL = NaiveBayes("gaussian").fit(NUMBERS, LABELS)
ONE_ROW = r"one row.*X\.iloc\[\[0\]\], or pandas\.DataFrame\(\[row\]\)"
ROW_REFUSALS = [
    (NUMBERS.iloc[0], ONE_ROW),
    (NUMBERS.iloc[0].to_dict(), ONE_ROW),
    (Row(1.0, 2.0), ONE_ROW),
    (NUMBERS["price"], r"Expected 2D array.*X\[\['name'\]\]"),
    (NUMBERS[["Rooms", "price"]], "feature names should match"),
    (nw.from_native(NUMBERS[["Rooms", "price"]]), "feature names should match"),
    (NUMBERS.rename(columns={"Rooms": "rooms"}), r"X\.rename\(columns=\{'rooms': 'Rooms'\}\)"),
    (HOUSES[["price", "town"]], "feature names should match"),
    (HOUSES[["price"]], "feature names should match|X has 1 features"),
]
METHODS = [
    "predict",
    "predict_proba",
    "decide",
    "explain",
    "predict_interval",
    "uncertainty",
    "log_density",
]


@pytest.mark.parametrize(("rows", "match"), ROW_REFUSALS)
def test_rows_that_are_not_those_of_the_model(rows: Any, match: str) -> None:
    for method in METHODS:
        with pytest.raises((ValueError, TypeError), match=f"(?s){match}"):
            getattr(MODEL, method)(rows)
    for method in ("partial_fit", "forget", "loo", "score"):
        with pytest.raises((ValueError, TypeError), match=f"(?s){match}"):
            getattr(MODEL, method)(rows, LABELS[: len(rows)])


def test_a_flat_row_of_an_array_says_how_to_make_a_table_of_it() -> None:
    model = GaussianNB().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=r"X\.reshape\(1, -1\) if it is one row"):
        model.predict(ROWS[0])
    with pytest.raises(ValueError, match="X has 3 features, but GaussianNB is expecting 2"):
        model.predict(np.ones((1, 3)))


def test_a_stream_that_was_read_already_says_so() -> None:
    reader = pa.Table.from_pandas(NUMBERS).to_reader()
    model = NaiveBayes("gaussian").fit(reader, LABELS)
    with pytest.raises(ValueError, match=r"read only once.*pyarrow\.table\(X\)"):
        model.predict(reader)


def test_an_improper_prior_predicts_where_it_can_and_has_no_evidence() -> None:
    prior = NormalInverseGamma(0.0, 0.0, -0.5, 0.0)
    reference = GaussianNB(prior=prior).fit([[1.0], [2.0], [4.0], [5.0]], LABELS)
    assert reference.predict([[1.5], [4.5]]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="column 0: its prior is improper"):
        reference.log_evidence_  # noqa: B018
    with pytest.raises(ValueError, match="column 0, class 0: the data do not determine"):
        GaussianNB(prior=prior).fit([[1.0], [1.0], [2.0], [3.0]], LABELS).predict([[1.0]])
    with pytest.raises(ValueError, match="use estimate='predictive', or drop the column"):
        GaussianNB(estimate="mle").fit([[1.0], [1.0], [2.0], [3.0]], LABELS).predict([[1.0]])


def test_weights_whose_sums_overflow_are_refused_before_they_are_learnt() -> None:
    much = [1e307] * 4
    model = GaussianNB().fit(ROWS[:, :1], LABELS, sample_weight=[1e149] * 4)
    before = model.predict_joint_log_proba(ROWS[:, :1])
    with pytest.raises(ValueError, match=r"weight|overflow"):
        model.partial_fit(ROWS[:, :1], LABELS, sample_weight=much)
    np.testing.assert_array_equal(model.predict_joint_log_proba(ROWS[:, :1]), before)
