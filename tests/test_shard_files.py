"""Shards as files and as bytes: the same rows come back, from any file that is one; of any other comes one error."""

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bayesnb import CategoricalNB, Dirichlet, Gaussian, GaussianNB, NaiveBayes, load, persistence
from bayesnb.families.base import Array
from bayesnb.scale import Shard, dumps, fit_shards, loads, shard
from tests.conftest import CASES
from tests.hostile import changed, changed_files, members_of
from tests.hostile import packed as zipped
from tests.test_storage import (
    DATA,
    MIXED,
    MODELS,
    REAL,
    ROWS,
    Fitted,
    OwnFamily,
    Y,
    alike,
    mixed_frame,
    same_state,
)

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")


# Each part by itself takes families, or the cuts of a grid, from its rows: such parts do not add up.
LEARNT_APART = {"the law's polya tree", *(each.name for each in MODELS if "by default" in each.name)}


def counted(fitted: Fitted, rows: slice = slice(None)) -> Shard:
    """Some rows of a case, counted."""
    X = fitted.X.iloc[rows] if isinstance(fitted.X, pd.DataFrame) else fitted.X[rows]
    weight = None if fitted.weight is None else fitted.weight[rows]
    found = shard(fitted.model, X, fitted.labels[rows], weight)
    assert found is not None
    return found


def same(a: Shard, b: Shard) -> None:
    """Two shards are the same to the last bit."""
    assert alike(a.classes, b.classes)
    assert alike(a.schema.columns, b.schema.columns)
    assert alike(a.schema.blocks, b.schema.blocks)
    assert alike(a.stats, b.stats)
    assert a.integer_weights is b.integer_weights


@pytest.mark.slow
@pytest.mark.parametrize("fitted", MODELS, ids=lambda fitted: fitted.name)
def test_a_shard_that_was_sent_is_the_one_that_was_counted(fitted: Fitted) -> None:
    own = counted(fitted)
    sent = loads(dumps(own))
    same(own, sent)
    assert dumps(sent) == dumps(own)
    model = clone(fitted.model).set_params(temper=None)
    same_state(fit_shards(model, [sent]), clone(model).fit(fitted.X, fitted.labels, sample_weight=fitted.weight))


@pytest.mark.slow
@pytest.mark.parametrize("fitted", MODELS, ids=lambda fitted: fitted.name)
def test_shards_that_were_sent_add_up_as_those_that_were_counted(fitted: Fitted) -> None:
    rows = len(fitted.labels)
    parts = [counted(fitted, slice(a, b)) for a, b in pairwise([0, rows // 3, rows // 2, rows])]
    if fitted.name in LEARNT_APART:
        for one, other in (parts[:2], [loads(dumps(part)) for part in parts[:2]]):
            with pytest.raises(ValueError, match=r"families=\{"):
                one + other
        return
    total, again = parts[0] + parts[1] + parts[2], loads(dumps(loads(dumps(parts[0] + parts[1])) + parts[2]))
    same(total, again)


def test_all_families_are_among_the_cases() -> None:
    assert {f"the law's {case.name}" for case in CASES} <= {fitted.name for fitted in MODELS}


def test_a_shard_knows_nothing_of_priors_and_takes_less_than_its_model(tmp_path: Path) -> None:
    fitted = Fitted("large priors", NaiveBayes(Gaussian(), class_prior=Dirichlet([9.0, 1.0, 2.0])), REAL)
    fitted.fit().save(tmp_path / "model.bnb")
    data = dumps(counted(fitted))
    assert len(data) < (tmp_path / "model.bnb").stat().st_size
    assert set(json.loads(members_of(data)["shard.json"])["blocks"][0]) == {
        "family",
        "places",
        "levels",
        "included",
        "stats",
    }


# ---- files, and their notes


def small() -> Shard:
    found = shard(GaussianNB(), [[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    assert found is not None
    return found


NOTES: list[Any] = [
    None,
    17,
    -0.5,
    np.inf,
    "row \ud800 12",
    {},
    {"done": ["a.parquet", "b.parquet"], "rows": 2**70, "part": {"at": 0.1, "is": None, "last": False}},
    {0: 17, 1: 2**40},
    ("a", (1, frozenset({3}))),
    [np.arange(5), np.float32(0.5), range(3)],
]


@pytest.mark.parametrize("note", NOTES, ids=repr)
def test_a_file_of_a_shard_keeps_a_note(note: Any, tmp_path: Path) -> None:
    persistence.write_shard(small(), tmp_path / "shard.bnb", note)
    found, again = persistence.read_shard(tmp_path / "shard.bnb")
    same(small(), found)
    assert alike(again, note)
    assert [each.name for each in tmp_path.iterdir()] == ["shard.bnb"]


def test_what_cannot_be_written_leaves_the_file_and_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "shard.bnb"
    path.write_bytes(b"the old one")
    own = shard(NaiveBayes({0: OwnFamily()}), REAL, Y)
    for what, note, said in (
        (small(), {"at": {"now": object()}}, r"the note\['at'\]\['now'\].* cannot be saved"),
        (small(), pd.Timestamp("2026-11-22"), "the note: Timestamp.* cannot be saved"),
        (own, None, "the family .*OwnFamily is not part of bayesnb"),
    ):
        with pytest.raises(ValueError, match=said):
            persistence.write_shard(what, path, note)  # type: ignore[arg-type]
    for odd in (None, GaussianNB()):
        with pytest.raises(TypeError, match=r"expected a shard, as bayesnb\.scale\.shard makes of rows, got"):
            dumps(odd)  # type: ignore[arg-type]
    assert path.read_bytes() == b"the old one"
    assert [each.name for each in tmp_path.iterdir()] == ["shard.bnb"]


def test_a_shard_of_labels_that_json_has_no_word_for_is_refused() -> None:
    when = np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")[Y % 2]
    own = shard(GaussianNB(), REAL, when)
    assert own is not None
    with pytest.raises(ValueError, match="the label datetime"):
        dumps(own)


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_always")  # as when it was written
def test_a_file_of_the_first_version_still_says_what_it_did() -> None:
    found, note = persistence.read_shard(DATA / "shard-1.0.bnb")
    same(found, shard(NaiveBayes(MIXED), mixed_frame(), Y))  # type: ignore[arg-type]
    assert note == {"file": "mixed.parquet", "rows": ROWS}


def test_a_shard_is_no_model_and_a_model_no_shard(tmp_path: Path) -> None:
    persistence.write_shard(small(), tmp_path / "shard.bnb")
    fit_shards(GaussianNB(), [small()]).save(tmp_path / "model.bnb")
    with pytest.raises(ValueError, match=r"shard.bnb' holds a shard, not a model: bayesnb.scale.loads reads it\.$"):
        load(tmp_path / "shard.bnb")
    with pytest.raises(ValueError, match=r"model.bnb' holds a model, not a shard: bayesnb.load reads it\.$"):
        persistence.read_shard(tmp_path / "model.bnb")
    with pytest.raises(ValueError, match=r"^data of \d+ bytes holds a model, not a shard: bayesnb.load reads it\.$"):
        loads((tmp_path / "model.bnb").read_bytes())


def test_what_is_no_bytes_is_told() -> None:
    with pytest.raises(TypeError, match=r"expected bytes, as `dumps` makes them, got str\."):
        loads("shard.bnb")  # type: ignore[arg-type]
    same(loads(memoryview(dumps(small()))), small())  # type: ignore[arg-type]


# ---- bytes of strangers


def outcome(data: bytes) -> Shard | None:
    """The shard in these bytes, or None where they are refused: by a ValueError of one short line."""
    try:
        return loads(data)
    except ValueError as error:
        said = str(error)
    assert said.startswith(f"data of {len(data)} bytes ")
    assert "\n" not in said
    assert len(said) < 600
    return None


def test_a_byte_that_changed_is_refused_or_changes_nothing() -> None:
    whole, rng, refused = dumps(small()), np.random.default_rng(1), 0
    for place in range(0, len(whole), 3):
        odd = bytearray(whole)
        odd[place] ^= int(rng.integers(1, 256))
        found = outcome(bytes(odd))
        refused += found is None
        if found is not None:
            same(found, small())
    assert refused > len(whole) / 3 / 2


def test_bytes_that_were_cut_off_are_refused() -> None:
    whole = dumps(small())
    assert all(outcome(whole[:length]) is None for length in range(len(whole)))


def with_json(data: bytes, said: Any) -> bytes:
    text = said if isinstance(said, str) else json.dumps(said)
    return zipped(members_of(data) | {"shard.json": text.encode()})


@pytest.mark.slow
@pytest.mark.parametrize("times", [100, pytest.param(700, marks=pytest.mark.slow)])
def test_files_that_say_anything_are_refused_or_make_shards_that_add_up_in_little_memory_and_time(
    times: int, tmp_path: Path
) -> None:
    for number, fitted in enumerate(MODELS):
        (tmp_path / f"{number}.shard").write_bytes(dumps(counted(fitted)))
        model = clone(fitted.model).set_params(temper="columns")
        with_rows = shard(model, fitted.X, fitted.labels, fitted.weight, keep_rows=True)
        (tmp_path / f"{number}-rows.shard").write_bytes(dumps(with_rows))  # type: ignore[arg-type]
    judged = changed_files(tmp_path, times)
    assert judged["faults"] == []
    assert judged["loaded"] > times / 50  # else nothing is asked
    assert judged["refused"] > times / 2


def added(own: Shard, found: Shard) -> None:
    """The sum is a shard, or a ValueError says why not."""
    try:
        total = own + found
    except ValueError:
        return
    np.testing.assert_allclose(
        total.stats.classes.counts.sum(), own.stats.classes.counts.sum() + found.stats.classes.counts.sum(), rtol=1e-12
    )


def numbers(members: dict[str, bytes], name: str) -> Array:
    return np.frombuffer(members[name][128:]).copy()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -1.0, 1e308])
def test_numbers_that_no_rows_make_are_refused(odd: float) -> None:
    whole = dumps(small())
    members = members_of(whole)
    said = json.loads(members["shard.json"])
    counts = said["class_stats"]["counts"]["$array"]
    spread = said["blocks"][0]["stats"]["ssd"]["$array"]
    for number in (counts, spread):
        name = f"arrays/{number}.npy"
        array = numbers(members, name)
        assert array.size == 2
        array[0] = odd
        assert outcome(zipped(members | {name: members[name][:128] + array.tobytes()})) is None
    assert outcome(zipped(members)) is not None


def test_claims_of_size_allocate_nothing() -> None:
    whole = dumps(small())
    said = json.loads(members_of(whole)["shard.json"])
    odd = [
        said | {"columns": 10**15},
        changed(said, ("arrays", 0, "shape"), [10**12]),
        changed(said, ("blocks", 0, "places"), [0, 10**15]),
        said | {"note": {"$range": [0, 10**15, 1]}},
        said | {"classes": {"$objects": [[10**15], []]}},
    ]
    for each in odd:
        tracemalloc.start()
        assert outcome(with_json(whole, each)) is None
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_a_newer_format_says_so_and_an_older_minor_one_is_read() -> None:
    whole = dumps(small())
    said = json.loads(members_of(whole)["shard.json"])
    with pytest.raises(ValueError, match=r"is of format 2.0, written by bayesnb 7.1; .* up to 1\. Install a newer"):
        loads(with_json(whole, said | {"version": [2, 0], "written_by": "bayesnb 7.1"}))
    same(loads(with_json(whole, said | {"version": [1, 5], "addition": {"to": "be ignored"}})), small())
    for odd in ([0, 1], ["1", 0], [1], 1, None, [True, 0]):
        assert outcome(with_json(whole, said | {"version": odd})) is None


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200), st.integers(0, 2_000), st.integers(0, 300), st.booleans())
def test_whatever_bytes_are_put_in_nothing_but_a_value_error_comes_of_it(
    piece: bytes, place: int, gone: int, within_json: bool
) -> None:
    whole = dumps(small())
    if within_json:
        text = members_of(whole)["shard.json"]
        found = outcome(zipped(members_of(whole) | {"shard.json": text[:place] + piece + text[place + gone :]}))
        if found is not None:
            added(small(), found)
    else:
        found = outcome(whole[:place] + piece + whole[place + gone :])
        if found is not None:
            same(small(), found)


@given(st.binary(max_size=400))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_bytes_are_refused(data: bytes) -> None:
    assert outcome(data) is None


def test_a_file_that_is_no_regular_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'/dev/zero' is not a readable bayesnb shard: it is not a regular file"):
        persistence.read_shard("/dev/zero")
    with pytest.raises(FileNotFoundError):
        persistence.read_shard(tmp_path / "nothing.bnb")


def test_what_no_shard_is_and_shards_of_other_families_are_refused() -> None:
    counted = shard(GaussianNB(), [[1.0], [1.2], [3.0]], ["low", "low", "high"])
    model = GaussianNB().fit([[0.0], [1.0]], ["a", "b"])
    for parts in ([dumps(counted)], [counted, "part"]):
        with pytest.raises(TypeError, match=r"expected a shard, as bayesnb\.scale\.shard makes of rows, got"):
            fit_shards(model, parts)
    with pytest.raises(TypeError, match="expected a shard"):
        dumps(dumps(counted))
    for other in (NaiveBayes({0: None}), CategoricalNB()):
        with pytest.raises(ValueError, match=r"column 0 is .* in the model, and Gaussian.* in the shards"):
            fit_shards(other, [counted])
    assert model.classes_.tolist() == ["a", "b"]
    assert fit_shards(model, [loads(dumps(counted))]).classes_.tolist() == ["high", "low"]
