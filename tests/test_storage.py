"""`save` and `load`: the same model comes back, from any file that is one; of any other comes one clear error."""

import hashlib
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayesnb
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
    JointTable,
    Live,
    Multinomial,
    MultinomialNB,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    PolyaTree,
    load,
)
from tests.conftest import CASES, Case
from tests.conftest import REAL as CASE_REAL
from tests.hostile import changed, changed_files, members_of, packed
from tests.waiting import Waiting

DATA = Path(__file__).parent / "data"
ROWS = 24
Y = np.arange(ROWS) % 3


def fresh(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def again(model: Any, folder: Path) -> Any:
    """The model, from its file."""
    model.save(folder / "model.bnb")
    return load(folder / "model.bnb")


def alike(a: Any, b: Any) -> bool:
    """Whether two values are of the same types and the same to the last bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape
        return same and (a.tolist() == b.tolist() if a.dtype.kind in "OT" else a.tobytes() == b.tobytes())
    if is_dataclass(a):
        return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b or (a != a and b != b)


def same_table(a: Any, b: Any) -> None:
    """Two drawn tables are the same, in their types too."""
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, (pl.DataFrame, pa.Table)):
        assert a.schema == b.schema
        assert a.equals(b)
    elif sparse.issparse(a):
        assert alike(a.toarray(), b.toarray())
    else:
        assert alike(a, b)


def same_state(a: Any, b: Any) -> None:
    """Two fitted estimators have the same parameters, and learnt the same."""
    assert type(a) is type(b)
    assert alike(a.get_params(deep=False), b.get_params(deep=False))
    assert alike(a.classes_, b.classes_)
    assert alike(a.schema_.columns, b.schema_.columns)
    assert alike(a.schema_.blocks, b.schema_.blocks)
    assert alike(a.model_.prior, b.model_.prior)
    assert alike(a.model_.stats, b.model_.stats)
    assert (a.model_.integer_weights, a.n_features_in_) == (b.model_.integer_weights, b.n_features_in_)
    for one, other in ((a.temper_, b.temper_), (a.temper_sd_, b.temper_sd_)):
        assert one.equals(other) if isinstance(one, pd.Series) else alike(one, other)
    assert alike(a.__dict__.get("feature_names_in_"), b.__dict__.get("feature_names_in_"))


def same_answers(a: Any, b: Any, X: Any, y: Any, weight: Any = None) -> None:
    """Two fitted estimators say the same of rows, to the last bit."""
    for name in ("predict", "predict_proba", "predict_joint_log_proba"):
        assert alike(getattr(a, name)(X), getattr(b, name)(X)), name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bayesnb.DrawnWarning)
        assert a.uncertainty(X[:3]).identical(b.uncertainty(X[:3]))
    assert a.explain(X).identical(b.explain(X))
    assert alike(a.posterior_, b.posterior_)
    assert alike(a.class_posterior_, b.class_posterior_)
    assert a.log_evidence_ == b.log_evidence_
    assert a.log_evidence_by_feature() == b.log_evidence_by_feature()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bayesnb.UnverifiedWarning)  # of models that have learnt more than X
        assert alike(a.loo(X, y, sample_weight=weight).elpd_i.values, b.loo(X, y, sample_weight=weight).elpd_i.values)
    for own, its in zip(a.sample(9, rng=3), b.sample(9, rng=3), strict=True):
        same_table(own, its)


@dataclass(frozen=True)
class Fitted:
    """An estimator and the rows that it has learnt."""

    name: str
    model: Any
    X: Any
    y: Any = None
    weight: Any = None

    @property
    def labels(self) -> Any:
        return Y if self.y is None else self.y

    def fit(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bayesnb.UnseenLevelWarning)
            return clone(self.model).fit(self.X, self.labels, sample_weight=self.weight)


def alone(prior: Any) -> Any:
    """What a user says of classes that share a parameter: the belief of one that does not."""
    return prior.alone(*(getattr(prior, name) for name in prior.alone.__match_args__))


def of_case(case: Case) -> Fitted:
    """A family of the laws' cases, with priors that differ between classes and a class without rows."""
    priors = {
        "gaussian": lambda: Gaussian(case.prior),
        "bernoulli": lambda: Bernoulli(case.prior),
        "poisson": lambda: Poisson(case.prior),
        "waiting": lambda: Waiting(case.prior),
        "categorical": lambda: Categorical(Dirichlet(fresh().gamma(2.0, size=(3, 2, 7))), levels=range(7)),
        "gaussian, shared": lambda: Gaussian(alone(case.prior), shared=True),
        "polya tree": lambda: PolyaTree(depth=3, concentration=[[2.0], [1.0], [0.5]], stop=0.25),
        "multivariate": lambda: MultivariateGaussian(case.prior),
        "multivariate, shared": lambda: MultivariateGaussian(alone(case.prior), shared=True),
        "multinomial": lambda: Multinomial(Dirichlet(case.prior.concentration[:, 0])),
        "joint": lambda: JointTable(Dirichlet(case.prior.concentration[:, 0, 0]), levels=range(3)),
        "sequences": lambda: Multinomial(Dirichlet(case.prior.concentration[:, 0]), ordered=True),
    }
    if case.name == "polya tree":
        return Fitted(
            f"the law's {case.name}",
            NaiveBayes(priors[case.name](), classes=[10, 20, 30]),
            CASE_REAL,
            10 * (1 + case.codes),
            case.weight,
        )
    x = np.where(case.x < 0, np.nan, case.x) if case.name in ("categorical", "joint") else case.x
    model = NaiveBayes(priors[case.name](), classes=[10, 20, 30])
    return Fitted(f"the law's {case.name}", model, x, 10 * (1 + case.codes), case.weight)


def mixed_frame() -> pd.DataFrame:
    rng = fresh()
    return pd.DataFrame(
        {
            "real": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(1e6, 3.0, ROWS)),
            "flag": rng.random(ROWS) < 0.4,
            "level": rng.choice(["x", "y", "żółć", "\U0001f427", ""], ROWS),
            "kind": pd.Categorical(rng.choice(list("ab"), ROWS), categories=["b", "a", "never"], ordered=True),
            "events": rng.poisson(3, ROWS),
            "free": rng.poisson(2, ROWS),
            "money": rng.poisson(1, ROWS),
            "dropped": rng.normal(size=ROWS),
            "weight": rng.normal(size=ROWS).astype(np.float32),
        }
    )


MIXED = {
    "events": Poisson(),
    ("free", "money"): Multinomial(0.5),
    "dropped": None,
    "real": Gaussian(),
    "weight": Gaussian(),
    "flag": Bernoulli(),
    ("level", "kind"): Categorical(),
}
ALL = {
    "flag": Bernoulli(),
    ("level", "kind"): Categorical(),
    **dict.fromkeys(["real", "events", "free", "money", "weight"], Gaussian()),
}
LISTS = [[1.5, "a"], [2.5, "b"], [1.0, "a"], [9.0, "b"]]
COUNTS = fresh(2).poisson([2.0, 0.3, 0.0, 25.0], (ROWS, 4))
REAL = fresh(3).normal(size=(ROWS, 3))
LEVELS = fresh(4).integers(0, 4, (ROWS, 3))
TEXTS = [list("abcab"[: row % 6]) for row in range(ROWS)]
ARROW = pa.table({"text": pa.array(TEXTS, pa.large_list(pa.string()))})


def texts_beside(frame: Any) -> Any:
    """Lists of words and numbers in a frame."""
    return frame({"text": TEXTS, "size": REAL[:, 0]})


MODELS = [
    *map(of_case, CASES),
    Fitted("a mixed frame", NaiveBayes(MIXED, class_prior={0: 0.5, 1: 0.25, 2: 0.25}), mixed_frame()),
    Fitted("tempered by loo", NaiveBayes(MIXED, temper="loo", class_prior="empirical"), mixed_frame()),
    Fitted("a number for a temper", GaussianNB(temper=0.3, n_jobs=1, fit_prior=False), REAL),
    Fitted("averaged features", NaiveBayes(ALL, average_features=0.5), mixed_frame().drop(columns="dropped")),
    Fitted(
        "some averaged features",
        NaiveBayes(MIXED, average_features={"real": 0.2, ("free", "money"): 0.7}),
        mixed_frame(),
    ),
    Fitted(
        "declared classes", NaiveBayes("gaussian", class_prior=Dirichlet([3, 1, 2, 0.5]), classes=[2, 1, 0, 7]), REAL
    ),
    Fitted("weights", GaussianNB(estimate="map", class_prior=np.array([0.2, 0.3, 0.5])), REAL, None, Y + 0.5),
    Fitted("reserved levels", NaiveBayes(Categorical(unseen="reserve")), LEVELS),
    Fitted("refused levels", CategoricalNB(alpha=[0.5, 1, 2], min_categories=6, unseen="error"), LEVELS),
    Fitted("a table of levels", NaiveBayes({(0, 2): JointTable(0.5), 1: Categorical()}, average_features=0.3), LEVELS),
    Fitted("a table of reserved levels", NaiveBayes(JointTable(unseen="reserve")), LEVELS / 3),
    Fitted("codes", CategoricalNB(class_prior=[0.2, 0.2, 0.6]), LEVELS),
    Fitted("levels that are floats", NaiveBayes(Categorical(0.5)), LEVELS / 3 - 0.5),
    Fitted("levels that are booleans", NaiveBayes(Categorical(levels=[True, False])), LEVELS > 1),
    Fitted("a threshold", BernoulliNB(alpha=np.float32(0.3), binarize=np.int64(0)), COUNTS),
    Fitted("words", MultinomialNB(alpha=0.1, estimate="mean"), sparse.csr_array(COUNTS)),
    Fitted("words of a matrix", MultinomialNB(alpha=np.arange(1, 5)), sparse.csr_matrix(COUNTS)),
    Fitted("weights of words", NaiveBayes(Multinomial(fractional=True)), COUNTS / 7),
    Fitted("lists of words", NaiveBayes(Multinomial(0.5)), TEXTS),
    Fitted(
        "lists of words in a frame",
        NaiveBayes({"text": Multinomial(unseen="reserve"), "size": Gaussian()}),
        texts_beside(pd.DataFrame),
    ),
    Fitted("lists of words of polars", NaiveBayes({"size": "gaussian"}, temper=0.5), texts_beside(pl.DataFrame)),
    Fitted("lists of words of Arrow", NaiveBayes(Multinomial(levels=["c", "b", "a"], unseen="error")), ARROW),
    Fitted("rates", PoissonNB(prior=Gamma([0.5, 1, 2, 3], 0.1)), COUNTS),
    Fitted(
        "a prior that lies in columns", GaussianNB(prior=NormalInverseGamma(np.asfortranarray(REAL[:3]), 1, 2, 3)), REAL
    ),
    Fitted("a list of lists", NaiveBayes({1: "categorical", 0: "gaussian"}), LISTS, list("ppqq")),
    Fitted("all by default", NaiveBayes(), mixed_frame()),
    Fitted("all by default, averaged", NaiveBayes(average_features=0.5), mixed_frame()),
    Fitted("all by default, and classes declared", NaiveBayes(classes=[2, 1, 0, 7]), REAL),
    Fitted("all by default, with a temper", NaiveBayes(temper=0.5), texts_beside(pl.DataFrame)),
    Fitted("all by default, of a list of lists", NaiveBayes(), LISTS, list("ppqq")),
]


@pytest.mark.slow
@pytest.mark.parametrize("fitted", MODELS, ids=lambda fitted: fitted.name)
def test_a_loaded_model_is_the_one_that_was_saved(fitted: Fitted, tmp_path: Path) -> None:
    model = fitted.fit()
    loaded = again(model, tmp_path)
    same_state(model, loaded)
    same_answers(model, loaded, fitted.X, fitted.labels, fitted.weight)
    assert repr(loaded.families_) == repr(model.families_)


@pytest.mark.slow
def test_a_loaded_model_goes_on_learning_as_the_one_that_was_saved(tmp_path: Path) -> None:
    X, more = mixed_frame(), mixed_frame().iloc[::-1].assign(level="new")
    model = NaiveBayes(MIXED, temper="loo").fit(X, Y)
    loaded = again(model, tmp_path)
    same_state(model.partial_fit(more, Y), loaded.partial_fit(more, Y))
    same_answers(model, loaded, more, Y)
    same_state(model.fit(X, Y), loaded.fit(X, Y))
    same_state(clone(model).fit(X, Y), clone(again(model, tmp_path)).fit(X, Y))


@pytest.mark.slow
def test_a_loaded_model_answers_the_longer_questions_alike(tmp_path: Path) -> None:
    X = mixed_frame()[["real", "level", "flag"]]
    model = NaiveBayes({"level": Categorical(2.0)}).fit(X, Y)
    loaded = again(model, tmp_path)
    assert model.predict_interval(X).identical(loaded.predict_interval(X))
    assert alike(model.draw_proba(X, 7, rng=1).values, loaded.draw_proba(X, 7, rng=1).values)
    for own, its in zip(
        model.to_datatree(X, Y, 5, rng=1).leaves, loaded.to_datatree(X, Y, 5, rng=1).leaves, strict=True
    ):
        assert own.to_dataset().identical(its.to_dataset())
    settings = {"smoothing": (0.5, 1), "estimates": ("mean",)}
    tables = [bayesnb.compare_smoothing(own, X, Y, **settings).table for own in (model, loaded)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bayesnb.BoundaryWarning)
        assert alike(*(bayesnb.tune(own, X, Y).get_params(deep=False) for own in (model, loaded)))
    assert bayesnb.relevance(model).identical(bayesnb.relevance(loaded))
    assert bayesnb.calibration(model, X, Y).identical(bayesnb.calibration(loaded, X, Y))
    assert model._repr_html_().count("<tr>") == loaded._repr_html_().count("<tr>")


@pytest.mark.slow
def test_what_is_loaded_can_be_saved_again_and_gives_the_same_file(tmp_path: Path) -> None:
    for fitted in MODELS:
        model = fitted.fit()
        model.save(tmp_path / "one.bnb")
        load(tmp_path / "one.bnb").save(tmp_path / "two.bnb")
        assert (tmp_path / "one.bnb").read_bytes() == (tmp_path / "two.bnb").read_bytes(), fitted.name


LABELS = [
    np.array(["no", "yes", "żółć\x00z"]),
    np.array(["no", "yes", "\U0001f427"], object),
    np.array(["no", "yes", "z"], np.dtypes.StringDType()),
    *(np.array([0, 1, 2], dtype) for dtype in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, ">i4")),
    np.array([-(2**62), 0, 2**62]),
    np.array([True, False, False]),
    np.array([1.0, 2.0, 3.0], np.float32),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels.dtype}-{labels[-1]!r}")
def test_labels_of_every_type_come_back(labels: np.ndarray, tmp_path: Path) -> None:
    model = GaussianNB().fit(REAL, labels[Y])
    loaded = again(model, tmp_path)
    assert alike(model.classes_, loaded.classes_)
    assert alike(model.predict(REAL), loaded.predict(REAL))
    same_state(model.partial_fit(REAL, labels[Y]), loaded.partial_fit(REAL, labels[Y]))


@pytest.mark.parametrize(
    "column", [pd.Index, pd.Series, pd.Categorical, pl.Series, pa.array], ids=lambda of: of.__name__
)
def test_labels_that_were_declared_as_a_column_come_back_as_an_array(
    column: Callable[[list[str]], Any], tmp_path: Path
) -> None:
    declared = column(["c", "b", "a"])
    model = GaussianNB(classes=declared, class_prior=Dirichlet([1, 2, 4])).fit(REAL, np.array(["a", "b", "c"])[Y])
    loaded = again(model, tmp_path)
    assert model.classes is declared
    assert isinstance(loaded.classes, np.ndarray)
    same_state(model.set_params(classes=np.asarray(declared)), loaded)
    same_state(
        model.partial_fit(REAL, np.array(["a", "b", "c"])[Y]), loaded.partial_fit(REAL, np.array(list("abc"))[Y])
    )


NAMES = [
    ["a", "b", "c"],
    pd.Index(["a\x00", "\ud800", "<script>"], dtype=object),
    [3, 1, 2],
    pd.RangeIndex(0, 6, 2),
    [0.5, 1.5, np.inf],
    [True, False, 2],
    pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["one", None]),
    pd.Index(["a", "b", "c"], name="columns", dtype=object),
    pd.Index([1, 2, 3], dtype="Int64"),
    pd.CategoricalIndex(["b", "a", "c"]),
]


@pytest.mark.slow
@pytest.mark.parametrize("names", NAMES, ids=str)
def test_names_of_columns_of_every_type_come_back(names: Any, tmp_path: Path) -> None:
    model = NaiveBayes().fit(pd.DataFrame(REAL, columns=names), Y)
    loaded = again(model, tmp_path)
    same_state(model, loaded)
    same_table(model.sample(3, rng=1)[0], loaded.sample(3, rng=1)[0])
    assert alike(
        model.predict_proba(pd.DataFrame(REAL, columns=names)), loaded.predict_proba(pd.DataFrame(REAL, columns=names))
    )


def pandas_types() -> pd.DataFrame:
    texts, numbers = np.array(["a", "b", "c"])[Y], np.arange(ROWS) % 5
    frame = pd.DataFrame({name: numbers.astype(name) for name in ("int8", "uint64", "float16", "float32", "bool")})
    for name in ("Int8", "UInt32", "Float64", "boolean", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"):
        frame[name] = pd.array((numbers > 2) if name.startswith("bool") else numbers, dtype=name)
    frame["text"] = pd.array(texts, dtype=pd.StringDtype("python"))
    frame["arrow text"] = pd.array(texts, dtype=pd.StringDtype("pyarrow"))
    frame["text, nan"] = pd.array(texts, dtype=pd.StringDtype("python", np.nan))
    frame["arrow's own"] = pd.array(texts, dtype=pd.ArrowDtype(pa.string()))
    frame["objects"] = texts.astype(object)
    frame["categories"] = pd.Categorical(texts, categories=list("cbaz"), ordered=True)
    frame["numbers as categories"] = pd.Categorical(numbers, categories=np.arange(6, dtype=np.int16))
    frame["booleans as categories"] = pd.Categorical(numbers > 1)
    frame["date"] = pd.Timestamp("2026-11-22")
    return frame


def polars_types() -> pl.DataFrame:
    texts = pl.Series(np.array(["a", "b", "c"])[Y])
    numbers = pl.Series(np.arange(ROWS) % 5)
    wholes = {str(kind): numbers.cast(kind) for kind in (pl.Int8, pl.UInt64, pl.Float32, pl.Float64)}
    levels = {"text": texts, "categories": texts.cast(pl.Categorical), "enum": texts.cast(pl.Enum(list("zabc")))}
    return pl.DataFrame({**wholes, "flag": numbers > 1, **levels, "date": pl.Series([None] * ROWS, dtype=pl.Date)})


def arrow_types() -> pa.Table:
    texts, numbers = pa.array(list("abc") * (ROWS // 3)), pa.array(np.arange(ROWS) % 5)
    wholes = {str(kind): numbers.cast(kind) for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64())}
    levels = {"text": texts, "large": texts.cast(pa.large_string()), "dictionary": texts.dictionary_encode()}
    return pa.table(
        {**wholes, "flag": pa.array(np.arange(ROWS) % 2 == 0), **levels, "date": pa.nulls(ROWS, pa.date32())}
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [pandas_types, polars_types, arrow_types], ids=lambda make: make.__name__)
def test_types_of_columns_come_back(make: Callable[[], Any], tmp_path: Path) -> None:
    X = make()
    model = NaiveBayes({"date": None}).fit(X, Y)
    loaded = again(model, tmp_path)
    assert alike(model.predict_proba(X), loaded.predict_proba(X))
    same_table(model.sample(5, rng=1)[0], loaded.sample(5, rng=1)[0])
    assert type(loaded.sample(5)[0]) is type(X)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f4", "f8", "?", "U7", "O", "T"])
def test_types_of_arrays_come_back(dtype: str, tmp_path: Path) -> None:
    X = LEVELS.astype(str).astype(dtype) if dtype in "U7OT" else LEVELS.astype(dtype)
    model = NaiveBayes().fit(X, Y)
    same_table(model.sample(5, rng=1)[0], again(model, tmp_path).sample(5, rng=1)[0])


def test_a_model_of_a_frame_whose_library_is_gone_predicts_but_draws_no_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = NaiveBayes().fit(pl.DataFrame(REAL, schema=["a", "b", "c"]), Y)
    model.save(tmp_path / "model.bnb")

    def gone(library: Any) -> Any:
        raise ModuleNotFoundError(f"No module named {library.value!r}")

    with monkeypatch.context() as patched:
        patched.setattr(nw.Implementation, "to_native_namespace", gone)
        loaded = load(tmp_path / "model.bnb")
        with pytest.raises(ImportError, match='pip install "polars"'):
            loaded.sample(2)
        loaded.save(tmp_path / "copy.bnb")
    X = pd.DataFrame(REAL, columns=["a", "b", "c"])
    assert alike(loaded.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "copy.bnb").read_bytes() == (tmp_path / "model.bnb").read_bytes()


# ---- what a file is


def test_a_zip_tool_and_a_reader_of_json_are_enough_to_use_a_model(tmp_path: Path) -> None:
    X, y = REAL[:, :2], np.array(["no", "yes"])[Y // 2]
    model = GaussianNB().fit(X, y)
    model.save(tmp_path / "model.bnb")
    with zipfile.ZipFile(tmp_path / "model.bnb") as archive:
        said = json.loads(archive.read("model.json"))
        arrays = [
            np.load(io.BytesIO(archive.read(f"arrays/{i}.npy")), allow_pickle=False) for i in range(len(said["arrays"]))
        ]
    (block,) = said["blocks"]
    m, k, a, b = (arrays[block["prior"][name]["$array"]] for name in ("location", "count", "shape", "scale"))
    n, mean, ssd = (arrays[block["stats"][name]["$array"]] for name in ("count", "mean", "ssd"))
    scale = b + ssd / 2 + k * n / (k + n) * (mean - m) ** 2 / 2
    width = np.sqrt(scale * (k + n + 1) / ((a + n / 2) * (k + n)))
    law = student(2 * (a + n / 2), (k * m + n * mean) / (k + n), width)
    shares = (
        arrays[said["class_prior"]["$Dirichlet"]["concentration"]["$array"]]
        + arrays[said["class_stats"]["counts"]["$array"]]
    )
    joint = np.log(shares) + law.logpdf(X[:, None]).sum(axis=-1)
    np.testing.assert_allclose(log_softmax(joint, axis=1), model.predict_log_proba(X), rtol=1e-10, atol=1e-12)
    assert said["classes"] == {"$array": 0}
    assert arrays[0].tolist() == ["no", "yes"]


def test_the_checksums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    GaussianNB().fit(REAL, Y).save(tmp_path / "model.bnb")
    with zipfile.ZipFile(tmp_path / "model.bnb") as archive:
        lines = archive.read("SHA256SUMS").decode().splitlines()
        for line in lines:
            digest, name = line.split("  ")
            assert hashlib.sha256(archive.read(name)).hexdigest() == digest
        assert {line.split("  ")[1] for line in lines} == {*archive.namelist()} - {"SHA256SUMS"}
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())


def test_a_prior_that_is_the_same_everywhere_is_stored_once(tmp_path: Path) -> None:
    words = sparse.random_array((40, 20_000), density=0.01, format="csr", rng=fresh())
    words.data[:] = 1
    model = MultinomialNB(alpha=0.5).fit(words, np.arange(40) % 2)
    model.save(tmp_path / "model.bnb")
    assert (tmp_path / "model.bnb").stat().st_size < 2 * 20_000 * 8 + 5_000
    assert alike(load(tmp_path / "model.bnb").predict_proba(words), model.predict_proba(words))


def golden() -> tuple[NaiveBayes, np.ndarray]:
    """The model of the file that is kept: columns of all families, in an array."""
    X = np.column_stack(
        [
            REAL.round(3).astype(object),
            np.array(["x", "y", "z"], object)[fresh(5).integers(0, 3, ROWS)],
            COUNTS.astype(object),
            np.array([None, 0, 1], object)[fresh(6).integers(0, 3, ROWS)],
        ]
    )
    families = {
        (0, 1): Gaussian(),
        2: None,
        3: Categorical(Dirichlet(0.5), unseen="reserve"),
        4: Poisson(Gamma(2, 0.5)),
        (5, 6, 7): Multinomial(Dirichlet([1.0, 0.5, 2.0])),
        8: Bernoulli(Beta(1, 2)),
    }
    model = NaiveBayes(families, class_prior={"a": 0.25, "b": 0.25, "c": 0.5}, temper=0.5)
    return model.fit(X, np.array(["a", "b", "c"])[Y]), X


def test_the_format_does_not_change_unless_its_version_does(tmp_path: Path) -> None:
    Live(golden()[0], {"stream.jsonl": 17}).save(tmp_path / "model.bnb")
    said = []
    for path in (DATA / "model-1.4.bnb", tmp_path / "model.bnb"):
        with zipfile.ZipFile(path) as archive:
            said.append(json.loads(archive.read("model.json")) | {"written_by": "someone"})
    assert said[0] == said[1]


# ---- what is refused when saving


def saved_error(model: Any, folder: Path) -> str:
    """The error of saving, which leaves what was there, and nothing else."""
    path = folder / "model.bnb"
    path.write_bytes(b"the old one")
    with pytest.raises(ValueError, match=r"\w") as caught:
        model.save(path)
    assert [each.name for each in folder.iterdir()] == ["model.bnb"]
    assert path.read_bytes() == b"the old one"
    return str(caught.value)


@dataclass(frozen=True, eq=False, repr=False)
class OwnFamily(Gaussian):
    """A family of a user's own, outside the package."""


class OwnEstimator(GaussianNB):
    """An estimator of a user's own."""


class OwnNumber(float):
    """A number of a user's own."""


def test_a_family_outside_the_package_cannot_be_saved_and_is_named(tmp_path: Path) -> None:
    error = saved_error(NaiveBayes({"b": OwnFamily()}).fit(pd.DataFrame(REAL, columns=list("abc")), Y), tmp_path)
    assert "parameter families['b']" in error
    assert "test_storage.OwnFamily" in error
    assert "\n" not in error


def test_an_estimator_outside_the_package_cannot_be_saved_and_is_named(tmp_path: Path) -> None:
    assert "test_storage.OwnEstimator" in saved_error(OwnEstimator().fit(REAL, Y), tmp_path)


def test_labels_and_parameters_without_a_place_in_json_cannot_be_saved_and_are_named(tmp_path: Path) -> None:
    when = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[D]")
    model = GaussianNB().fit(REAL, Y)
    model.classes_ = when
    assert "datetime" in saved_error(model, tmp_path)
    assert "parameter temper" in saved_error(GaussianNB(temper=OwnNumber(0.5)).fit(REAL, Y), tmp_path)


def test_levels_and_types_without_a_place_in_json_cannot_be_saved_and_are_named(tmp_path: Path) -> None:
    day = pd.DataFrame({"a": REAL[:, 0], "day": pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"] * 12))})
    assert "column 'day'" in saved_error(NaiveBayes().fit(day, Y), tmp_path)
    odd = pd.DataFrame({"a": REAL[:, 0], "b": pd.arrays.SparseArray(REAL[:, 1])})
    assert "column 'b' has the type Sparse[float64, nan]" in saved_error(
        NaiveBayes({"b": Gaussian()}).fit(odd, Y), tmp_path
    )


def test_a_model_that_is_not_fitted_or_was_sampled_cannot_be_saved(tmp_path: Path) -> None:
    from bayesnb.mcmc import Sampled

    with pytest.raises(NotFittedError):
        GaussianNB().save(tmp_path / "model.bnb")
    with pytest.raises(TypeError, match=r"a sampled model cannot be saved.*Save the estimator"):
        Sampled(GaussianNB()).save(tmp_path / "model.bnb")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    model = GaussianNB().fit(REAL, Y)
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere' to write 'model.bnb' into"):
        model.save(tmp_path / "nowhere" / "model.bnb")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model.bnb")


# ---- whole or not at all


def test_a_new_file_has_the_rights_of_any_new_file_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    model, path = GaussianNB().fit(REAL, Y), tmp_path / "model.bnb"
    before = os.umask(0o027)
    try:
        model.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.bnb").symlink_to(tmp_path / "there" / "model.bnb")
    GaussianNB().fit(REAL, Y).save(str(tmp_path / "link.bnb"))
    assert (tmp_path / "link.bnb").is_symlink()
    assert load(tmp_path / "there" / "model.bnb").predict(REAL[:1]).shape == (1,)


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_the_old_model_or_the_new_one(tmp_path: Path) -> None:
    X, path = fresh().poisson(1.0, (20, 60_000)), tmp_path / "model.bnb"
    for alpha in (0.5, 2.0):
        MultinomialNB(alpha=alpha).fit(X, np.arange(20) % 10).save(tmp_path / f"{alpha}.bnb")
    code = f"""if True:
        from bayesnb import load
        models = [load({str(tmp_path)!r} + name) for name in ("/0.5.bnb", "/2.0.bnb")]
        models[0].save({str(path)!r})
        print("ready", flush=True)
        while True:
            for model in models:
                model.save({str(path)!r})
        """
    seen = set()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            for _ in range(8):  # also while it writes
                seen.add(load(path).alpha)
        finally:
            child.kill()
    seen.add(load(path).alpha)
    assert seen <= {0.5, 2.0}
    left = [each.name for each in tmp_path.iterdir() if each.name not in ("0.5.bnb", "2.0.bnb", "model.bnb")]
    assert all(name.startswith(".model.bnb.") and name.endswith(".part") for name in left)
    assert (load(path).stats_.classes.counts == 2).all()


# ---- what is refused when loading


def small() -> GaussianNB:
    return GaussianNB().fit([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"])


def bytes_of(model: Any, folder: Path) -> bytes:
    model.save(folder / "whole.bnb")
    return (folder / "whole.bnb").read_bytes()


def outcome(data: bytes, folder: Path) -> Any:
    """The model in these bytes, or None where they are refused."""
    path = folder / "odd.bnb"
    path.write_bytes(data)
    return opened(path)


def opened(path: Path) -> Any:
    """The model in a file, or None where it is refused: by a ValueError of one short line that names the file."""
    try:
        return load(path)
    except ValueError as error:
        said = str(error)
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < 600
    return None


@pytest.mark.slow
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_byte_that_changed_is_refused_or_changes_nothing(step: int, tmp_path: Path) -> None:
    model, path, rng = small(), tmp_path / "whole.bnb", fresh()
    whole, refused = bytes_of(model, tmp_path), 0
    with path.open("r+b", buffering=0) as file:
        for place in range(0, len(whole), step):
            byte = whole[place]
            os.pwrite(file.fileno(), bytes([byte ^ int(rng.integers(1, 256))]), place)
            found = opened(path)
            os.pwrite(file.fileno(), bytes([byte]), place)
            refused += found is None
            if found is not None:
                same_state(model, found)
    assert refused > len(whole) / step / 2


@pytest.mark.slow
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    length, path = len(bytes_of(small(), tmp_path)), tmp_path / "whole.bnb"
    while length:
        length -= 1
        os.truncate(path, length)
        assert opened(path) is None


def with_json(data: bytes, said: Any) -> bytes:
    text = said if isinstance(said, str) else json.dumps(said)
    return packed(members_of(data) | {"model.json": text.encode()})


HOLDING = ["some averaged features", "words of a matrix", "codes", "a threshold", "weights"]


@pytest.mark.slow
@pytest.mark.parametrize("times", [150, pytest.param(1_000, marks=pytest.mark.slow)])
def test_files_that_say_anything_are_refused_or_make_models_that_work_in_little_memory_and_time(
    times: int, tmp_path: Path
) -> None:
    for number, fitted in enumerate(MODELS):
        fitted.fit().save(tmp_path / f"{number}.bnb")
        (tmp_path / f"{number}.rows").write_bytes(pickle.dumps(fitted.X[:1]))
    judged = changed_files(tmp_path, times)
    assert judged["faults"] == []
    assert judged["loaded"] > times / 50  # else nothing is asked
    assert judged["refused"] > times / 2


def still_works(model: Any, X: Any) -> None:
    """What was loaded predicts, or says in a ValueError why not."""
    clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bayesnb.UnseenLevelWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # numbers of 1e308 overflow
        try:
            proba = model.predict_proba(X[:4])
        except ValueError:
            return
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("temper", ["inf", "nan", "-inf"])
def test_an_exponent_that_is_not_finite_is_refused(temper: str, tmp_path: Path) -> None:
    whole = bytes_of(small(), tmp_path)
    document = json.loads(members_of(whole)["model.json"])
    assert outcome(with_json(whole, document), tmp_path) is not None
    assert outcome(with_json(whole, document | {"temper": {"$float": temper}}), tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLDING)
def test_numbers_that_no_rows_make_are_refused(name: str, tmp_path: Path) -> None:
    (fitted,) = [fitted for fitted in MODELS if fitted.name == name]
    whole = bytes_of(fitted.fit(), tmp_path)
    said = json.loads(members_of(whole)["model.json"])
    held = [(b, part, field, own["$array"]) for b, block in enumerate(said["blocks"]) for part in ("stats", "prior")
            for field, own in block[part].items() if isinstance(own, dict) and "$array" in own]  # fmt: skip
    held.append((0, "stats", "class_stats", said["class_stats"]["counts"]["$array"]))
    for _, part, field, number in held:
        for odd in (np.nan, np.inf, -1.0, *([1e308] if part == "stats" else [])):
            if odd == -1.0 and field in ("mean", "location", "log_factorial", "log_orders"):
                continue
            members = members_of(whole)
            array = np.load(io.BytesIO(members[f"arrays/{number}.npy"])).copy()
            array.flat[0] = odd
            file = members[f"arrays/{number}.npy"]
            members[f"arrays/{number}.npy"] = file[: len(file) - array.nbytes] + array.tobytes()
            assert outcome(packed(members), tmp_path) is None, (part, field, odd)


def test_arrays_that_were_exchanged_are_refused(tmp_path: Path) -> None:
    whole = bytes_of(small(), tmp_path)
    members = members_of(whole)
    arrays = [name for name in members if name.endswith(".npy")]
    for one in arrays:
        for other in arrays:
            if members[one] != members[other]:
                swapped = members | {one: members[other], other: members[one]}
                file = io.BytesIO()
                with zipfile.ZipFile(file, "w") as archive:
                    for name, data in swapped.items():
                        archive.writestr(name, data)
                assert outcome(file.getvalue(), tmp_path) is None
                if len(members[one]) != len(members[other]):
                    assert outcome(packed(swapped), tmp_path) is None


def test_members_that_do_not_belong_are_refused(tmp_path: Path) -> None:
    members = members_of(bytes_of(small(), tmp_path))
    assert outcome(packed(members | {"arrays/99.npy": b""}), tmp_path) is None
    assert outcome(packed(members | {"../evil": b""}), tmp_path) is None
    assert outcome(packed({name: data for name, data in members.items() if name != "arrays/1.npy"}), tmp_path) is None
    assert outcome(packed(members, zipfile.ZIP_DEFLATED), tmp_path) is None
    file = io.BytesIO(packed(members))
    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as archive:
        warnings.simplefilter("ignore", UserWarning)
        archive.writestr("model.json", members["model.json"])
    assert outcome(file.getvalue(), tmp_path) is None


def test_a_newer_format_says_so_and_an_older_minor_one_is_read(tmp_path: Path) -> None:
    whole = bytes_of(small(), tmp_path)
    said = json.loads(members_of(whole)["model.json"])
    path = tmp_path / "newer.bnb"
    path.write_bytes(with_json(whole, said | {"version": [2, 0], "written_by": "bayesnb 7.1"}))
    with pytest.raises(ValueError, match=r"newer.bnb' is of format 2.0, written by bayesnb 7.1; .* Install a newer"):
        load(path)
    later = outcome(with_json(whole, said | {"version": [1, 5], "addition": {"to": ["be", "ignored"]}}), tmp_path)
    same_state(small(), later)
    for odd in ([0, 1], ["1", 0], [1], 1, None, [1.0, 0], [True, 0]):
        assert outcome(with_json(whole, said | {"version": odd}), tmp_path) is None


NO_MODELS = {
    "empty": b"",
    "text": b"petal,species\n1.0,setosa\n",
    "pickle": b"cos\nsystem\n(S'touch /tmp/owned'\ntR.",
    "an empty archive": b"PK\x05\x06" + bytes(18),
    "another archive": packed({"readme.txt": b"hello"}),
    "no JSON": packed({"model.json": b"{"}),
    "NaN": packed({"model.json": b'{"format": NaN}'}),
    "a key twice": packed({"model.json": b'{"format": "bayesnb model", "format": "bayesnb model"}'}),
    "a number of many digits": packed({"model.json": b'{"format": ' + b"9" * 9_000 + b"}"}),
    "no letters": packed({"model.json": b"\xff\xfe\x00"}),
}


@pytest.mark.parametrize("data", NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_is_refused(data: bytes, tmp_path: Path) -> None:
    assert outcome(data, tmp_path) is None


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a regular file"):
        load("/dev/zero")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def bombs(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Files of some kilobytes that claim to be, or would become, far more."""
    members = members_of(whole)
    said = json.loads(members["model.json"])
    deflated = {**members, "arrays/0.npy": bytes(10_000_000)}
    yield "ten megabytes in ten kilobytes", packed(deflated, zipfile.ZIP_DEFLATED)
    for shape in ([10**12], [10**6, 10**6], [2**62, 4], [-1, -2], [1] * 40, [0, 10**30]):
        arrays = [{**each, "shape": shape} for each in said["arrays"]]
        yield f"arrays of {shape[:2]}", with_json(whole, said | {"arrays": arrays})
    for dtype in ("<U999999999", "|O", "<f16", "|V8", "i8,i8", "<U0", "<M8[D]"):
        yield f"arrays of {dtype}", with_json(whole, changed(said, ("arrays", 0, "dtype"), dtype))
    yield "nested", with_json(whole, "[" * 9_000 + "]" * 9_000)
    yield "nested objects", with_json(whole, '{"a":' * 3_000 + "1" + "}" * 3_000)
    yield (
        "nested values",
        with_json(whole, json.dumps(said)[:-1] + ',"params":' + '{"$tuple":[' * 400 + "]}" * 400 + "}"),
    )
    yield "columns", with_json(whole, said | {"columns": 10**15})
    yield "places", with_json(whole, changed(said, ("blocks", 0, "places"), [0, 10**15]))
    yield "a range", with_json(whole, changed(said, ("params", "classes"), {"$range": [0, 10**15, 1]}))
    yield "many labels", with_json(whole, said | {"classes": {"$objects": [[10**15], []]}})
    yield "labels that are the same", with_json(whole, said | {"classes": {"$objects": [[1_000], ["a"] * 1_000]}})
    yield "members that lie over each other", overlapping(1_000)
    for sizes in ([3 * 10**8, [0]], [10**12, [0]], [0, 10**12], [10**12, 0], [-1, 0], [[0]], [True, 0], [0] * 9, "ab"):
        yield f"objects of {sizes!s:.20}", with_json(whole, said | {"note": {"$objects": [sizes, []]}})
        yield f"texts of {sizes!s:.20}", with_json(whole, said | {"note": {"$strings": [sizes, []]}})
    for shape, dtype in (([0, 10**12], "<f8"), ([10**12, 0], "<f8"), ([0], "<U99999999"), ([10**9, 10**9, 0], "|b1")):
        arrays = [{**said["arrays"][0], "shape": shape, "dtype": dtype}, *said["arrays"][1:]]
        yield f"an empty array of {shape} of {dtype}", with_json(whole, said | {"arrays": arrays})
    yield "a number that is no single one", with_json(whole, said | {"note": {"$scalar": 0}})
    yield "ranges", with_json(whole, said | {"note": [{"$range": [0, 10**6, 1]}] * 1_000})
    names = {"tuples": [{"$tuple": ["a"] * 3_000}, *[{"$tuple": []}] * 3_000], "names": []}
    texts = {"values": ["a"] * 1_000, "type": "|S999999", "name": None}
    for own in (names, texts):
        table = {"kind": "frame", "library": "pandas", "types": [None], "names": own}
        yield "names of columns", with_json(whole, said | {"table": table})


def collisions(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Files with lists of values that differ, and have one hash."""
    said, prime = json.loads(members_of(whole)["model.json"]), sys.hash_info.modulus
    integers = [prime * times for times in range(1, 3_001)]
    for values in (integers, [{"$tuple": ["a", each]} for each in integers[:2_000]]):
        for note in ({"$set": values}, {"$frozenset": values}, {"$mapping": [[each, 0] for each in values]}):
            yield f"a {min(note)}", with_json(whole, said | {"note": note})
        yield "names of columns of one hash", with_json(whole, said | {"columns": values})
        family = {"$Categorical": {"levels": {"$tuple": values}}}
        yield "levels of one hash", with_json(whole, changed(said, ("blocks", 0, "family"), family))
        yield "labels of one hash", with_json(whole, said | {"classes": {"$objects": [[len(values)], values]}})


def with_array(size: int, note: Callable[[Any], Any], folder: Path) -> bytes:
    """A file with an array of zeros, and a note that refers to it."""
    Live(small(), np.zeros(size)).save(folder / "array.bnb")
    whole = (folder / "array.bnb").read_bytes()
    said = json.loads(members_of(whole)["model.json"])
    return with_json(whole, said | {"note": note(said["note"]["at"])})


def overlapping(times: int) -> bytes:
    """An archive whose directory names the same bytes many times."""
    plain, offset = packed({"model.json": b" " * 9_000}), 0
    end = plain.rindex(b"PK\x05\x06")
    directory, start = plain[plain.index(b"PK\x01\x02") : end], plain.index(b"PK\x01\x02")
    first = directory[: directory.index(b"PK\x01\x02", 4)]
    copies = b"".join(first.replace(b"model.json", f"{i:010}".encode()) for i in range(times))
    sizes = times.to_bytes(2, "little") * 2 + len(copies).to_bytes(4, "little") + (start + offset).to_bytes(4, "little")
    return plain[:start] + copies + b"PK\x05\x06" + bytes(4) + sizes + bytes(2)


def test_bombs_are_refused_in_little_memory_and_time(tmp_path: Path) -> None:
    whole = bytes_of(small(), tmp_path)
    outcome(whole, tmp_path)
    for name, data in bombs(whole):
        refused_within(10_000_000, data, name, tmp_path)


def refused_within(most: int, data: bytes, name: str, folder: Path) -> None:
    """A small file is refused in so many bytes, and in two seconds."""
    assert len(data) < 150_000, name
    tracemalloc.start()
    start = time.process_time()
    result = outcome(data, folder)
    spent, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result is None, name
    assert peak < most, name
    assert spent < 2, name


@pytest.mark.slow
def test_values_that_have_one_hash_are_refused_before_a_set_compares_them(tmp_path: Path) -> None:
    for name, data in collisions(bytes_of(small(), tmp_path)):
        refused_within(10_000_000, data, name, tmp_path)


@pytest.mark.slow
def test_what_many_parts_of_a_file_ask_for_is_refused_together(tmp_path: Path) -> None:
    whole = bytes_of(NaiveBayes(JointTable()).fit(LEVELS[:, :2], Y), tmp_path)
    said = json.loads(members_of(whole)["model.json"])
    (block,) = said["blocks"]
    levels = [{**block, "places": [2 * b, 2 * b + 2], "levels": [1 << 19] * 2} for b in range(20)]
    wide = [{**block, "places": [0, 10**6]}] * 200
    prior = {"count": 1, "dof": 10**6, "scale": 1}
    files = {
        "levels of many blocks": with_json(whole, said | {"columns": 40, "blocks": levels}),
        "columns of many blocks": with_json(whole, said | {"columns": 10**6, "blocks": wide}),
        "an array, often": with_array(6_000, lambda array: [array] * 3_500, tmp_path),
        "a matrix": with_array(5_000, lambda array: {"$NormalInverseWishart": {"location": array} | prior}, tmp_path),
    }
    for name, data in files.items():
        refused_within(200_000_000, data, name, tmp_path)


@pytest.mark.slow
def test_a_number_of_combinations_of_many_digits_is_refused_before_it_is_multiplied(tmp_path: Path) -> None:
    whole, columns = bytes_of(NaiveBayes(JointTable()).fit(np.full((4, 2), None), [0, 1, 0, 1]), tmp_path), 300_000
    members = members_of(whole)
    said = json.loads(members["model.json"])
    (block,) = said["blocks"]
    number = block["stats"]["combinations"]["$array"]
    file = members[f"arrays/{number}.npy"].replace(b"(0, 2,), }     ", b"(0, 300000,), }")
    said["arrays"][number]["shape"] = [0, columns]
    stats = block["stats"] | {"sizes": {"$tuple": [2] * columns}}
    said |= {"columns": columns, "blocks": [block | {"places": [0, columns], "levels": [2] * columns, "stats": stats}]}
    start = time.process_time()
    data = packed(members | {"model.json": json.dumps(said).encode(), f"arrays/{number}.npy": file})
    with pytest.raises(ValueError, match="more combinations of levels than a float can count"):
        load(written(data, tmp_path))
    assert time.process_time() - start < 2


def written(data: bytes, folder: Path) -> Path:
    """A file of these bytes."""
    (folder / "changed.bnb").write_bytes(data)
    return folder / "changed.bnb"


def test_what_could_not_be_read_again_is_not_saved(tmp_path: Path) -> None:
    alike = tuple(sys.hash_info.modulus * times for times in range(1, 100))
    model = NaiveBayes({"a": Categorical(levels=alike)}).fit(pd.DataFrame({"a": alike[:8]}), np.arange(8) % 2)
    assert "more than 64 different values have the same hash" in saved_error(model, tmp_path)
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="cannot be saved: more than 200 lists and mappings lie within each other"):
        Live(small(), deep).save(tmp_path / "deep.bnb")


def large_models() -> Iterator[tuple[Any, Any, Any]]:
    """Models that take much for the length of their files, with the rows that they learn."""
    rng, y = fresh(), np.arange(60) % 20
    codes = rng.integers(0, 3, (60, 30))
    frame = pd.DataFrame(rng.integers(0, 5, (60, 300)), columns=[f"c{place}" for place in range(300)])
    prior = Dirichlet(rng.gamma(2.0, size=(20, 1, 50)))
    yield NaiveBayes(JointTable(levels=range(30_000))), codes, y
    yield NaiveBayes({name: Categorical(prior, levels=range(50)) for name in frame}), frame, y
    yield CategoricalNB(), np.array([[0], [400_000]] * 30), y % 2
    yield MultinomialNB(), sparse.random_array((60, 300_000), density=1e-4, format="csr", rng=rng), y % 2
    words = [f"word {number}" for number in range(50_000)]
    yield NaiveBayes(Multinomial(levels=words)), [words[:2], words[2:3]] * 30, y % 2
    yield NaiveBayes({"c0": Multinomial()} | dict.fromkeys(frame.columns[1:])), frame, y
    yield NaiveBayes(JointTable()), np.full((60, 2), None), y
    yield GaussianNB(), rng.normal(size=(6_000, 1)), np.arange(6_000) % 3_000
    yield NaiveBayes(MultivariateGaussian()), rng.normal(size=(300, 200)), np.arange(300) % 2
    yield NaiveBayes(Categorical(levels=[-1.0, -2.0, *(2.0 ** np.arange(-900, 900)).tolist()])), codes[:, :2] - 2.0, y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
@pytest.mark.parametrize("number", range(10))
def test_a_model_that_takes_much_for_the_length_of_its_file_is_read(number: int, tmp_path: Path) -> None:
    model, X, y = list(large_models())[number]
    model.fit(X, y)
    same_state(model, again(model, tmp_path))


def test_levels_that_were_never_counted_are_refused_before_there_are_any(tmp_path: Path) -> None:
    whole = bytes_of(CategoricalNB().fit(LEVELS, Y), tmp_path)
    said = json.loads(members_of(whole)["model.json"])
    assert said["blocks"][0]["levels"] == [4, 4, 4]
    for levels in (
        [10**12, 4, 4],
        [4, 4, 5],
        [4, 4],
        [4, 4, -4],
        [4, 4, [0, 0, 1, 2]],
        [4, 4, [0, 1, 2, {"$float": "nan"}]],
    ):
        tracemalloc.start()
        assert outcome(with_json(whole, changed(said, ("blocks", 0, "levels"), levels)), tmp_path) is None, levels
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_a_model_of_few_codes_that_lie_far_apart_predicts_in_little_memory(tmp_path: Path) -> None:
    X = np.zeros((4, 60), int)
    X[1] = (1 << 20) - 1
    model = NaiveBayes(Categorical()).fit(X, [0, 1, 0, 1])
    loaded = again(model, tmp_path)
    tracemalloc.start()
    proba = loaded.predict_proba(X)
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()
    assert alike(proba, model.predict_proba(X))


def test_names_in_a_file_are_looked_up_only_among_known_ones(tmp_path: Path) -> None:
    whole = bytes_of(small(), tmp_path)
    said = json.loads(members_of(whole)["model.json"])
    for name in ("Classifier", "os.system", "__class__", "GaussianNB()", "NaiveBayes"):
        assert outcome(with_json(whole, said | {"estimator": name}), tmp_path) is None
    for tag in ("$Classifier", "$object", "$__import__", "$Family", "$GaussianStats"):
        odd = changed(said, ("blocks", 0, "family"), {tag: {"prior": None}})
        assert outcome(with_json(whole, odd), tmp_path) is None


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(st.binary(max_size=200), st.integers(0, 2_000), st.integers(0, 300), st.booleans())
def test_whatever_bytes_are_put_into_a_file_nothing_but_a_value_error_comes_of_it(
    tmp_path: Path, piece: bytes, place: int, gone: int, within_json: bool
) -> None:
    model = small()
    whole = bytes_of(model, tmp_path)
    if within_json:
        text = members_of(whole)["model.json"]
        found = outcome(
            packed(members_of(whole) | {"model.json": text[:place] + piece + text[place + gone :]}), tmp_path
        )
        if found is not None:
            still_works(found, [[0.5]])
    else:
        found = outcome(whole[:place] + piece + whole[place + gone :], tmp_path)
        if found is not None:
            same_state(model, found)
