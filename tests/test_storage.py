"""`save` and `load`: a file of a model gives it back; any other, one clear error.

That a saved model of each family says the same is in test_contract.py. Here is what types of
labels, names and columns come back, when a file is whole, and what files of strangers can do.
"""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import log_softmax
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayesnb as nb
from bayesnb import NaiveBayes, load
from bayesnb.mcmc import Sampled
from bayesnb.persistence import read_shard, write_shard
from bayesnb.scale import dumps, fit_shards, loads, shard
from tests.hostile import changed, changed_files, members_of, packed

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
RNG = np.random.default_rng(3)
ROWS = 24
Y = np.arange(ROWS) % 3
REAL = RNG.normal(size=(ROWS, 3))
LEVELS = RNG.integers(0, 4, (ROWS, 3))
TEXTS = [list("abcab"[: row % 6]) for row in range(ROWS)]
FRAME = pd.DataFrame(REAL, columns=["real", "other", "dropped"])
FRAME["flag"] = REAL[:, 1] < 0.4
FRAME["level"] = np.array(["x", "y", "żółć", "\U0001f427"])[LEVELS[:, 0]]
FRAME["events"] = LEVELS[:, 1]
FRAME[["free", "money"]] = RNG.poisson(2, (ROWS, 2))
FAMILIES = {
    "events": nb.Poisson(),
    ("free", "money"): nb.Multinomial(0.5),
    "dropped": None,
    ("real", "other"): nb.MultivariateGaussian(),
    "flag": nb.Bernoulli(),
    "level": nb.Categorical(unseen="reserve"),
}
MODELS: list[tuple[NaiveBayes, Any]] = [
    (NaiveBayes(FAMILIES, temper="loo", class_prior={0: 0.5, 1: 0.25, 2: 0.25}), FRAME),
    (NaiveBayes(), FRAME),
    (NaiveBayes(nb.JointTable(0.5), dependence=None), LEVELS / 3),
    (nb.CategoricalNB(alpha=[0.5, 1, 2], min_categories=6), LEVELS),
    (nb.GaussianNB(estimate="map", class_prior=np.array([0.2, 0.3, 0.5])), REAL),
    (nb.MultinomialNB(alpha=np.arange(1, 5)), sparse.csr_matrix(RNG.poisson(1.0, (ROWS, 4)))),
    (NaiveBayes({"text": nb.Multinomial(unseen="reserve")}), pl.DataFrame({"text": TEXTS})),
    (NaiveBayes("categorical", dependence="forest"), LEVELS),
]


def save_and_load(model: Any, folder: Path) -> Any:
    model.save(folder / "model.bnb")
    return load(folder / "model.bnb")


def assert_alike(one: Any, two: Any, X: Any) -> None:
    """Two models have the same labels and columns, and say the same to the last bit."""
    assert one.classes_.dtype == two.classes_.dtype
    assert one.classes_.tolist() == two.classes_.tolist()
    assert str(one.__dict__.get("feature_names_in_")) == str(two.__dict__.get("feature_names_in_"))
    np.testing.assert_array_equal(one.predict_log_proba(X), two.predict_log_proba(X))
    assert one.log_evidence_ == two.log_evidence_


# ---- what comes back


def test_what_is_loaded_can_be_saved_again_and_gives_the_same_file(tmp_path: Path) -> None:
    for model, X in MODELS:
        clone(model).fit(X, Y).save(tmp_path / "one.bnb")
        load(tmp_path / "one.bnb").save(tmp_path / "two.bnb")
        assert (tmp_path / "one.bnb").read_bytes() == (tmp_path / "two.bnb").read_bytes()


LABELS = [
    np.array(["no", "yes", "żółć\x00z"]),
    np.array(["no", "yes", "\U0001f427"], object),
    np.array(["no", "yes", "z"], np.dtypes.StringDType()),
    *(np.array([0, 1, 2], dtype) for dtype in ("i1", "u8", ">i4")),
    np.array([-(2**62), 0, 2**62]),
    np.array([True, False, False]),
    np.array([1.0, 2.0, 3.0], np.float32),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels.dtype}-{labels[-1]!r}")
def test_labels_of_every_type_come_back(labels: np.ndarray, tmp_path: Path) -> None:
    model = nb.GaussianNB().fit(REAL, labels[Y])
    loaded = save_and_load(model, tmp_path)
    assert_alike(model, loaded, REAL)
    assert_alike(model.partial_fit(REAL, labels[Y]), loaded.partial_fit(REAL, labels[Y]), REAL)


NAMES = [
    pd.Index(["a\x00", "\ud800", "<script>"], dtype=object),
    pd.RangeIndex(0, 6, 2),
    [True, False, 2],
    pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["one", None]),
    pd.Index([1, 2, 3], dtype="Int64"),
]


@pytest.mark.parametrize("names", NAMES, ids=ascii)
def test_names_of_columns_of_every_type_come_back(names: Any, tmp_path: Path) -> None:
    X = pd.DataFrame(REAL, columns=names)
    model = NaiveBayes("gaussian").fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert_alike(model, loaded, X)
    one = model.sample(3, rng=1)[0]
    two = loaded.sample(3, rng=1)[0]
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def pandas_types() -> pd.DataFrame:
    texts = np.array(["a", "b", "c"])[Y]
    numbers = np.arange(ROWS) % 5
    frame = pd.DataFrame({name: numbers.astype(name) for name in ("int8", "float16", "bool")})
    for name in ("Int8", "Float64", "boolean", "int64[pyarrow]", "bool[pyarrow]"):
        frame[name] = pd.array((numbers > 2) if name.startswith("bool") else numbers, dtype=name)
    frame["text"] = pd.array(texts, dtype=pd.StringDtype("python"))
    frame["arrow's own"] = pd.array(texts, dtype=pd.ArrowDtype(pa.string()))
    frame["objects"] = texts.astype(object)
    frame["categories"] = pd.Categorical(texts, categories=list("cbaz"), ordered=True)
    frame["numbers as categories"] = pd.Categorical(
        numbers, categories=np.arange(6, dtype=np.int16)
    )
    frame["date"] = pd.Timestamp("2026-11-22")
    return frame


def polars_types() -> pl.DataFrame:
    texts = pl.Series(np.array(["a", "b", "c"])[Y])
    numbers = pl.Series(np.arange(ROWS) % 5)
    columns = {str(kind): numbers.cast(kind) for kind in (pl.Int8, pl.UInt64, pl.Float32)}
    columns |= {"text": texts, "categories": texts.cast(pl.Categorical), "flag": numbers > 1}
    columns |= {"enum": texts.cast(pl.Enum(list("zabc")))}
    return pl.DataFrame({**columns, "date": pl.Series([None] * ROWS, dtype=pl.Date)})


def arrow_types() -> pa.Table:
    texts = pa.array(list("abc") * (ROWS // 3))
    numbers = pa.array(np.arange(ROWS) % 5)
    columns = {str(kind): numbers.cast(kind) for kind in (pa.int8(), pa.uint64(), pa.float32())}
    columns |= {"text": texts, "large": texts.cast(pa.large_string()), "flag": pa.array(Y == 0)}
    columns |= {"dictionary": texts.dictionary_encode(), "date": pa.nulls(ROWS, pa.date32())}
    return pa.table(columns)


@pytest.mark.slow
@pytest.mark.parametrize("make", [pandas_types, polars_types, arrow_types])
def test_types_of_columns_come_back(make: Callable[[], Any], tmp_path: Path) -> None:
    X = make()
    model = NaiveBayes({"date": None}, dependence=None).fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert_alike(model, loaded, X)
    one = model.sample(5, rng=1)[0]
    two = loaded.sample(5, rng=1)[0]
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_a_zip_tool_and_a_reader_of_json_are_enough_to_use_a_model(tmp_path: Path) -> None:
    X = REAL[:, :2]
    y = np.array(["no", "yes"])[Y // 2]
    model = nb.GaussianNB().fit(X, y)
    model.save(tmp_path / "model.bnb")
    members = members_of((tmp_path / "model.bnb").read_bytes())
    saved = json.loads(members["model.json"])["content"]["model"]["$Saved"]
    seen = saved["shard"]["$Shard"]
    prior = saved["prior"]["$Product"]
    stats = seen["stats"]["$ProductStats"]

    def array_of(reference: dict[str, Any]) -> np.ndarray:
        ((tag, value),) = reference.items()
        number, shape = value if tag == "$repeated" else (value, None)
        array = np.load(io.BytesIO(members[f"arrays/{number}.npy"]), allow_pickle=False)
        return array if shape is None else np.broadcast_to(array, shape)

    (belief,), (counts,) = prior["blocks"]["$tuple"], stats["blocks"]["$tuple"]
    belief = belief["$NormalInverseGamma"]
    counts = counts["$GaussianStats"]
    m, k, a, b = (array_of(belief[name]) for name in ("location", "count", "shape", "scale"))
    n, mean, ssd = (array_of(counts[name]) for name in ("count", "mean", "ssd"))
    scale = b + ssd / 2 + k * n / (k + n) * (mean - m) ** 2 / 2
    width = np.sqrt(scale * (k + n + 1) / ((a + n / 2) * (k + n)))
    density = student(2 * (a + n / 2), (k * m + n * mean) / (k + n), width)
    shares = array_of(prior["classes"]["$Dirichlet"]["concentration"])
    shares = shares + array_of(stats["classes"]["$DirichletStats"]["counts"])
    joint = np.log(shares) + density.logpdf(X[:, None]).sum(axis=-1)
    assert_allclose(log_softmax(joint, axis=1), model.predict_log_proba(X), rtol=1e-10, atol=1e-12)
    assert array_of(seen["classes"]).tolist() == ["no", "yes"]


# ---- what is refused when saving, and files that are whole or not there at all


@dataclass(frozen=True, eq=False, repr=False)
class OwnFamily(nb.Gaussian):
    """A family of a user's own, outside the package."""


class OwnEstimator(nb.GaussianNB):
    """An estimator of a user's own."""


REALS = pd.DataFrame(REAL[:, :2], columns=["a", "b"])
DAYS = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"] * 12))})
DATES = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[D]")
UNSAVED: list[tuple[NaiveBayes, Any, str]] = [
    (NaiveBayes({"b": OwnFamily()}), REALS, r"\['families'\]\['b'\].*OwnFamily"),
    (OwnEstimator(), REAL, "OwnEstimator"),
    (NaiveBayes(), DAYS, "pandas.Timestamp cannot be saved"),
]


@pytest.mark.parametrize(
    ("model", "X", "message"), UNSAVED, ids=[message for _, _, message in UNSAVED]
)
def test_what_cannot_be_saved_is_named_and_the_old_file_stays(
    model: NaiveBayes, X: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.bnb"
    path.write_bytes(b"the old one")
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, Y).save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "model.bnb": b"the old one"
    }


def test_what_is_no_fitted_model_or_has_no_place_is_refused(tmp_path: Path) -> None:
    model = nb.GaussianNB().fit(REAL, Y)
    refused: list[tuple[Any, Any, type[Exception], str]] = [
        (nb.GaussianNB(), tmp_path / "a.bnb", NotFittedError, "not fitted"),
        (Sampled(nb.GaussianNB()), tmp_path / "a.bnb", TypeError, "Save the underlying estimator"),
        (model, tmp_path / "nowhere" / "a.bnb", FileNotFoundError, "there is no folder"),
        (model, tmp_path, IsADirectoryError, "is a folder"),
    ]
    for each, path, error, message in refused:
        with pytest.raises(error, match=message):
            each.save(path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "a.bnb")
    with pytest.raises(ValueError, match="not a zip archive"):
        load("/dev/zero")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a.csv' is not .*: it is not a zip archive"):
        load(tmp_path / "a.csv")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b")
    with pytest.raises(ValueError, match=r"it contains no model\.json"):
        load(tmp_path / "a.zip")


def test_a_link_stays_and_a_file_has_the_rights_of_any_file_or_its_own(tmp_path: Path) -> None:
    model = nb.GaussianNB().fit(REAL, Y)
    path = tmp_path / "model.bnb"
    link = tmp_path / "link.bnb"
    before = os.umask(0o027)
    try:
        model.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    model.save(str(link))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert_alike(model, load(path), REAL)


SAVING = """
import sys
from bayesnb import load
one, two, path = sys.argv[1:]
models = [load(one), load(two)]
models[0].save(path)
print("ready", flush=True)
while True:
    for model in models:
        model.save(path)
"""


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_the_old_model_or_the_new_one(tmp_path: Path) -> None:
    X = RNG.poisson(1.0, (20, 30_000))
    path = tmp_path / "model.bnb"
    names = [str(tmp_path / name) for name in ("one.bnb", "two.bnb")]
    for alpha, name in zip((0.5, 2.0), names, strict=True):
        nb.MultinomialNB(alpha=alpha).fit(X, np.arange(20) % 10).save(name)
    command = [sys.executable, "-c", SAVING, *names, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for _ in range(8):  # also while it writes
            assert load(path).alpha in (0.5, 2.0)
        child.kill()
    assert load(path).alpha in (0.5, 2.0)


# ---- files of strangers


def small() -> nb.GaussianNB:
    return nb.GaussianNB().fit([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"])


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    small().save(tmp_path / "whole.bnb")
    return (tmp_path / "whole.bnb").read_bytes()


def load_bytes(data: bytes, folder: Path) -> Any:
    """The model in these bytes, or None where a ValueError of one short line names the file."""
    path = folder / "changed.bnb"
    path.write_bytes(data)
    try:
        return load(path)
    except ValueError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 600
    return None


def with_json(data: bytes, document: Any) -> bytes:
    text = document if isinstance(document, str) else json.dumps(document)
    return packed(members_of(data) | {"model.json": text.encode()})


def test_a_file_that_was_cut_off_or_of_which_a_byte_changed_is_refused_or_the_same(
    whole: bytes, tmp_path: Path
) -> None:
    refused = 0
    places = range(0, len(whole), 61)
    for place in places:
        assert load_bytes(whole[:place], tmp_path) is None
        data = bytearray(whole)
        data[place] ^= int(RNG.integers(1, 256))
        model = load_bytes(bytes(data), tmp_path)
        refused += model is None
        if model is not None:
            assert_alike(model, small(), [[0.5]])
    assert refused > len(places) / 2


def test_members_that_are_missing_or_damaged_are_refused(whole: bytes, tmp_path: Path) -> None:
    members = members_of(whole)
    assert (
        load_bytes(packed(members | {"arrays/0.npy": members["arrays/0.npy"][:-1]}), tmp_path)
        is None
    )
    assert load_bytes(packed(members | {"arrays/0.npy": b""}), tmp_path) is None
    del members["arrays/1.npy"]
    assert load_bytes(packed(members), tmp_path) is None


def test_another_format_says_so(whole: bytes, tmp_path: Path) -> None:
    document = json.loads(members_of(whole)["model.json"])
    newer = document | {"version": document["version"] + 1, "written_by": "bayesnb 7.1"}
    (tmp_path / "newer.bnb").write_bytes(with_json(whole, newer))
    with pytest.raises(
        ValueError, match=r"newer.bnb' has format .* written by bayesnb 7.1; .* Install"
    ):
        load(tmp_path / "newer.bnb")
    for version in (1, "2", [2], None, True):
        assert load_bytes(with_json(whole, document | {"version": version}), tmp_path) is None


NO_MODELS = {
    "empty": b"",
    "text": b"petal,species\n1.0,setosa\n",
    "pickle": b"cos\nsystem\n(S'touch /tmp/owned'\ntR.",
    "an empty archive": b"PK\x05\x06" + bytes(18),
    "another archive": packed({"readme.txt": b"hello"}),
    "no JSON": packed({"model.json": b"{"}),
    "a key twice": packed(
        {"model.json": b'{"format": "bayesnb model", "format": "bayesnb model"}'}
    ),
    "a number of many digits": packed({"model.json": b'{"format": ' + b"9" * 9_000 + b"}"}),
}


@pytest.mark.parametrize("data", NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_is_refused(data: bytes, tmp_path: Path) -> None:
    assert load_bytes(data, tmp_path) is None


def overlapping(times: int) -> bytes:
    """An archive whose directory names the same bytes many times."""
    plain = packed({"model.json": b" " * 9_000, "last": b""})
    start = plain.index(b"PK\x01\x02")
    first = plain[start : plain.index(b"PK\x01\x02", start + 4)]
    copies = b"".join(first.replace(b"model.json", f"{i:010}".encode()) for i in range(times))
    sizes = times.to_bytes(2, "little") * 2 + len(copies).to_bytes(4, "little")
    return (
        plain[:start]
        + copies
        + b"PK\x05\x06"
        + bytes(4)
        + sizes
        + start.to_bytes(4, "little")
        + bytes(2)
    )


def with_header(data: bytes, description: dict[str, Any]) -> bytes:
    """An array in NumPy's format whose header says something else."""
    stream = io.BytesIO()
    numbers = np.load(io.BytesIO(data))
    header = {"descr": "<f8", "fortran_order": False, "shape": numbers.shape}
    np.lib.format.write_array_header_1_0(stream, header | description)
    return stream.getvalue() + numbers.tobytes()


SHAPES = [(10**12,), (10**6, 10**6), (2**62, 4), (-1, -2), (1,) * 40, (0, 10**30)]
TYPES = ["<U999999999", "|O", "<f16", "|V8", "<M8[D]"]
SAVED = ("content", "model", "$Saved")
SHARD = (*SAVED, "shard", "$Shard")
BLOCK = (*SHARD, "schema", "$Schema", "blocks", "$tuple", 0, "$Block")


def bombs(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Files of some kilobytes that claim to be, or would become, far more; or name odd things."""
    members = members_of(whole)
    document = json.loads(members["model.json"])
    large = members | {"arrays/0.npy": bytes(10_000_000)}
    yield "ten megabytes in ten kilobytes", packed(large, zipfile.ZIP_DEFLATED)
    yield "members that lie over each other", overlapping(1_000)
    yield "nested", with_json(whole, "[" * 9_000 + "]" * 9_000)
    yield "nested objects", with_json(whole, '{"a":' * 3_000 + "1" + "}" * 3_000)
    headers = [{"shape": shape} for shape in SHAPES] + [{"descr": name} for name in TYPES]
    for header in headers:
        array = with_header(members["arrays/2.npy"], header)
        yield f"{header!s:.60}", packed(members | {"arrays/2.npy": array})
    changes: list[tuple[tuple, list[Any]]] = [
        ((*BLOCK, "places"), [{"$range": [0, 10**15, 1]}]),
        ((*BLOCK, "family"), [{"$os.system": {}}, {"$GaussianStats": {"prior": None}}]),
        ((*SAVED, "estimator"), ["Classifier", "os.system", "__class__", "NaiveBayes"]),
        ((*SHARD, "schema", "$Schema", "columns"), [10**15, {"$range": [0, 10**15, 1]}]),
        (
            (*SHARD, "classes"),
            [{"$objects": [[10**15], []]}, {"$objects": [[1_000], ["a"] * 1_000]}],
        ),
        ((*SAVED, "temper"), [{"$float": "inf"}, {"$float": "nan"}]),
        ((*SAVED, "prior", "$Product", "classes"), [{"$array": 0}, {"$repeated": [0, [10**12]]}]),
    ]
    notes: list[Any] = [{"$range": [0, 10**15, 1]}, [{"$range": [0, 10**6, 1]}] * 1_000]
    notes += [[{"$repeated": [2, [10**6, 2, 1]]}] * 100, {"$csr": [[10**15, 3], 0, 0, 0]}]
    notes += [{"$objects": [sizes, []]} for sizes in ([3 * 10**8, [0]], [0, 10**12], [-1, 0])]
    notes += [{"$strings": [sizes, []]} for sizes in ([10**12, [0]], [10**12, 0], "ab")]
    changes.append(((*SAVED, "note"), notes))
    for place, values in changes:
        for value in values:
            yield f"{place} {value!s:.60}", with_json(whole, changed(document, place, value))


def test_bombs_are_refused_in_little_memory_and_time(whole: bytes, tmp_path: Path) -> None:
    load_bytes(whole, tmp_path)
    for name, data in bombs(whole):
        tracemalloc.start()
        start = time.process_time()
        model = load_bytes(data, tmp_path)
        seconds = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert model is None, name
        assert peak < 10_000_000, name
        assert seconds < 2, name


def test_numbers_that_no_rows_make_are_refused(tmp_path: Path) -> None:
    for model, X in MODELS[:4]:
        clone(model).fit(X, Y).save(tmp_path / "model.bnb")
        members = members_of((tmp_path / "model.bnb").read_bytes())
        seen = json.loads(members["model.json"])["content"]["model"]["$Saved"]["shard"]["$Shard"]
        for stats in seen["stats"]["$ProductStats"]["blocks"]["$tuple"]:
            (fields,) = stats.values()
            names = {"count", "counts", "ones", "zeros", "ssd", "total"} & set(fields)
            for name in names:
                member = f"arrays/{fields[name]['$array']}.npy"
                array = np.load(io.BytesIO(members[member])).copy()
                for number in (np.nan, np.inf, -1.0, 1e308):
                    array.flat[0] = number
                    data = members[member][: -array.nbytes] + array.tobytes("A")
                    changed_file = packed(members | {member: data})
                    assert load_bytes(changed_file, tmp_path) is None, (name, number)


EXPONENTS: list[tuple[tuple[str, ...], int, Any]] = [  # array, place, and a number it cannot have
    (("temper", "$Temper", "value"), 0, np.nan),
    (("temper", "$Temper", "value"), 0, -1.0),
    (("temper", "$Temper", "sd"), 0, 0.0),
    (("temper", "$Temper", "covariance", "$ExponentCovariance", "matrix"), 1, np.nan),
    (("temper", "$Temper", "covariance", "$ExponentCovariance", "matrix"), 1, 7.0),
    (("temper", "$Temper", "covariance", "$ExponentCovariance", "matrix"), 0, -1.0),
    (("temper", "$Temper", "covariance", "$ExponentCovariance", "group"), 0, 99),
]


@pytest.mark.parametrize(("path", "place", "number"), EXPONENTS, ids=str)
def test_exponents_that_no_rows_find_are_refused(
    path: tuple[str, ...], place: int, number: Any, tmp_path: Path
) -> None:
    NaiveBayes().fit(FRAME, Y).save(tmp_path / "model.bnb")
    members = members_of((tmp_path / "model.bnb").read_bytes())
    part = json.loads(members["model.json"])["content"]["model"]["$Saved"]
    for key in path:
        part = part[key]
    member = f"arrays/{part['$array']}.npy"
    array = np.load(io.BytesIO(members[member])).copy()
    assert load_bytes(packed(members), tmp_path) is not None
    array.flat[place] = number
    stream = io.BytesIO()
    np.save(stream, array)
    assert load_bytes(packed(members | {member: stream.getvalue()}), tmp_path) is None


def large_models() -> Iterator[tuple[Any, Any, Any]]:
    """Models that take much for the length of their files, with the rows that they learn."""
    y = np.arange(60) % 20
    words = [f"word {number}" for number in range(50_000)]
    yield NaiveBayes(nb.JointTable(levels=range(30_000))), RNG.integers(0, 3, (60, 30)), y
    yield nb.CategoricalNB(), np.array([[0], [400_000]] * 30), y % 2
    yield NaiveBayes(nb.Multinomial(levels=words)), [words[:2], words[2:3]] * 30, y % 2
    yield NaiveBayes(nb.MultivariateGaussian()), RNG.normal(size=(200, 100)), np.arange(200) % 2


@pytest.mark.slow
def test_a_model_that_takes_much_for_the_length_of_its_file_is_read(tmp_path: Path) -> None:
    for model, X, y in large_models():
        model.fit(X, y)
        assert_alike(model, save_and_load(model, tmp_path), X[:60])


PIECES = [st.binary(max_size=200), st.integers(0, 2_000), st.integers(0, 300), st.booleans()]


@given(*PIECES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_whatever_bytes_are_put_in_nothing_but_a_value_error_comes_of_it(
    whole: bytes, tmp_path: Path, piece: bytes, place: int, gone: int, within_json: bool
) -> None:
    if within_json:
        text = members_of(whole)["model.json"].decode()
        data = with_json(whole, text[:place] + piece.decode("latin-1") + text[place + gone :])
    else:
        data = whole[:place] + piece + whole[place + gone :]
    model = load_bytes(data, tmp_path)
    if model is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert_allclose(model.predict_proba([[0.5]]).sum(), 1)


@pytest.mark.slow
def test_files_that_say_anything_are_refused_or_work_in_little_memory_and_time(
    tmp_path: Path,
) -> None:
    for number, (model, X) in enumerate(MODELS):
        clone(model).fit(X, Y).save(tmp_path / f"{number}.bnb")
        (tmp_path / f"{number}.rows").write_bytes(pickle.dumps(X[:1]))
        (tmp_path / f"{number}.shard").write_bytes(
            dumps(shard(clone(model).set_params(temper=None), X, Y))
        )
    judged = changed_files(tmp_path, 250)
    assert judged["faults"] == []
    assert judged["loaded"] > 10  # else nothing is asked
    assert judged["refused"] > 100


# ---- shards


NOTES: list[Any] = [
    None,
    -0.5,
    np.inf,
    "row \ud800 12",
    {"done": ["a.parquet"], "rows": 2**70, "part": {"at": 0.1, "is": None, "last": False}},
    {0: 17, 1: 2**40},
    ("a", (1, frozenset({3}))),
    [np.float32(0.5), range(3)],
]


@pytest.mark.parametrize("note", NOTES, ids=ascii)
def test_a_file_of_a_shard_keeps_a_note(note: Any, tmp_path: Path) -> None:
    part = shard(nb.GaussianNB(), REAL, Y)
    write_shard(part, tmp_path / "shard.bnb", note)
    found, again = read_shard(tmp_path / "shard.bnb")
    assert dumps(found) == dumps(part)
    assert (type(again), again) == (type(note), note)


def test_shards_that_were_sent_make_the_model_of_all_rows() -> None:
    for model, X in MODELS[3:6]:
        model = clone(model).set_params(temper=None)
        parts = [
            loads(dumps(shard(model, X[rows], Y[rows]))) for rows in (slice(9), slice(9, None))
        ]
        total = loads(dumps(parts[0] + parts[1]))
        learnt = fit_shards(model, [total])
        whole = clone(model).fit(X, Y)
        assert_allclose(
            learnt.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12
        )


def test_what_no_shard_is_and_shards_of_other_families_are_refused(tmp_path: Path) -> None:
    part = shard(nb.GaussianNB(), REAL, Y)
    model = nb.GaussianNB().fit(REAL, Y)
    write_shard(part, tmp_path / "shard.bnb")
    model.save(tmp_path / "model.bnb")
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: load(tmp_path / "shard.bnb"), "holds a shard, not a model"),
        (lambda: read_shard(tmp_path / "model.bnb"), "holds a model, not a shard"),
        (lambda: loads((tmp_path / "model.bnb").read_bytes()), "^data of .* bytes holds a model"),
        (lambda: loads(dumps(part)[:-99]), "^data of .* bytes"),
        (lambda: loads("shard.bnb"), "bytes-like object"),  # type: ignore[arg-type]
        (lambda: dumps(model), "expected a shard"),  # type: ignore[arg-type]
        (lambda: fit_shards(model, [dumps(part)]), "expected shards"),
        (
            lambda: fit_shards(nb.CategoricalNB(), [part]),
            "column 0 is .* in the model, but Gaussian",
        ),
        (lambda: dumps(shard(nb.GaussianNB(), REAL, DATES[Y])), "the label datetime"),
        (
            lambda: write_shard(part, tmp_path / "x", {"at": object()}),
            r"note\['at'\].* cannot be",
        ),
    ]
    for call, message in refused:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    assert {file.name for file in tmp_path.iterdir()} == {"shard.bnb", "model.bnb"}
