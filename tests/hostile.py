"""Files of models and of shards, changed by someone who means harm: documents and arrays that say anything, with
checksums that are right.

`python -m tests.hostile FOLDER TIMES` changes the files in a folder so often, reads each, in MOST_BYTES more than there
were before and MOST_SECONDS of the processor, asks what was read, and prints what went wrong.
"""

import hashlib
import io
import json
import pickle
import resource
import subprocess
import sys
import time
import traceback
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb import load
from bayesnb.scale import dumps, loads

MOST_BYTES, MOST_SECONDS = 300 << 20, 2.0
FEW = 1_000  # changes of which no intervals are asked, which take long
DOCUMENTS = {".bnb": "model.json", ".shard": "shard.json"}
NUMBERS: list[Any] = [0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e308, -1e308, 5e-324, 10**6, 1 << 20, 10**12, 2**63, -(2**64)]
NUMBERS += [10**400, True, False, None, "1", float("inf")]
TEXTS = ["", "$", "$array", "Gaussian", "\ud800", "\x00", "a" * 100_000, "ignore", "reserve", "<U99999999", "nan"]
VALUES: list[Any] = [[], {}, [[]], {"$array": 0}, {"$array": 10**9}, {"$scalar": 0}, {"$float": "nan"}]
VALUES += [{"$tuple": []}, {"$set": [1, 2]}, {"$range": [0, 10**6, 1]}, {"$range": [0, 10**15, 1]}]
VALUES += [{"$mapping": [[1, 2]]}, {"$objects": [[0, 10**12], []]}, {"$objects": [[2], ["a", 1]]}]
VALUES += [{"$strings": [[0], []]}, {"$Dirichlet": {"concentration": 1}}, {"$Categorical": {}}, {"$JointTable": {}}]
VALUES += [{"$Gaussian": {"prior": None}}]
SHAPES = [[10**12], [0, 10**12], [10**12, 0], [2**62, 4], [-1], [1] * 9, [], [0], [10**5, 10**5, 0], [True]]
TYPES = ["<U99999999", "<f4", ">f8", "<i8", "|b1", "|S9", "|O", "<f16", "", 8]
CELLS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e308, 5e307, 1e200, 1e-320, 2.0**63, 3.0]


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A file of these members, with checksums that are right."""
    members = {name: data for name, data in members.items() if name != "SHA256SUMS"}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in {**members, "SHA256SUMS": sums.encode()}.items():
            archive.writestr(name, data)
    return file.getvalue()


def leaves(said: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of everything in a document."""
    yield path
    for key in said if isinstance(said, dict) else range(len(said)) if isinstance(said, list) else ():
        yield from leaves(said[key], (*path, key))


def at(said: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        said = said[key]
    return said


def changed(said: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the document with another value at one place."""
    if not path:
        return value
    copy = dict(said) if isinstance(said, dict) else list(said)
    copy[path[0]] = changed(said[path[0]], path[1:], value)
    return copy


def one_of(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def another(value: Any, path: tuple[Any, ...], said: Any, rng: np.random.Generator) -> Any:
    """What may stand in place of a value, given where it stands."""
    if path[-1:] == ("shape",):
        return one_of([*SHAPES, value[::-1], [*value, 1], [size + 1 for size in value]], rng)
    if path[-1:] == ("dtype",):
        return one_of(TYPES, rng)
    if path[-1:] == ("$array",):
        return one_of([*range(len(said["arrays"])), *NUMBERS], rng)
    if rng.random() < 0.2:
        return one_of([*VALUES, at(said, one_of(list(leaves(said)), rng))], rng)
    if isinstance(value, list):
        several = int(rng.integers(2, 50))
        lists = [value * several, value[1:], value[:-1], [value], value[::-1], [*value, one_of(NUMBERS, rng)]]
        return one_of([*lists, [*value, *value[:1]], list(range(len(value)))], rng)
    if isinstance(value, dict) and value:
        one, other = one_of(list(value), rng), one_of(list(value), rng)
        swapped = value | {one: value[other], other: value[one]}
        renamed = {(other + "s" if key == one else key): each for key, each in value.items()}
        return one_of([swapped, renamed, {key: value[key] for key in value if key != one}, value | {"$set": []}], rng)
    return one_of(TEXTS if isinstance(value, str) and rng.random() < 0.7 else NUMBERS, rng)


def other_cells(member: bytes, rng: np.random.Generator) -> bytes:
    """An array's file with other numbers in it."""
    array = np.load(io.BytesIO(member)).copy()
    if array.dtype.kind not in "fiub" or not array.size:
        return member
    start, flat = len(member) - array.nbytes, array.reshape(-1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat[rng.random(flat.size) < rng.choice([0.0, 0.3, 1.0])] = np.asarray(one_of(CELLS, rng)).astype(array.dtype)
        flat[int(rng.integers(flat.size))] = np.asarray(one_of(CELLS, rng)).astype(array.dtype)
    return member[:start] + array.tobytes("A")


def mutated(members: dict[str, bytes], document: str, rng: np.random.Generator) -> bytes:
    """The file with one to three changes."""
    said, members = json.loads(members[document]), dict(members)
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.3 and arrays:
            name = one_of(arrays, rng)
            members[name] = other_cells(members[name], rng)
            continue
        path = one_of(list(leaves(said)), rng)
        try:
            said = changed(said, path, another(at(said, path), path, said, rng))
        except (TypeError, KeyError, AttributeError):
            continue  # what was there is no longer of its kind
    return packed(members | {document: json.dumps(said).encode()})


@contextmanager
def limited(more: int) -> Iterator[None]:
    """So much more memory than there is now, and not a byte above."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def fault_of_answers(model: Any, rows: Any, questions: int) -> str | None:
    """What is wrong with the answers of a model; None if they are numbers, or a ValueError says why there are none."""
    for question in (model.predict_proba, lambda rows: model.log_evidence_, model.predict_interval)[:questions]:
        try:
            answer = question(rows)
        except ValueError:
            continue
        if isinstance(answer, np.ndarray):
            np.testing.assert_allclose(answer.sum(axis=1), 1, rtol=1e-9)
        elif not isinstance(answer, float) and any(np.isnan(each).any() for each in answer.data_vars.values()):
            return f"an interval has no ends: {answer}"
    return None


def fault_of_sum(part: Any) -> str | None:
    """What is wrong with adding a shard to itself; None if the sum is one, or a ValueError says why there is none."""
    if dumps(loads(dumps(part))) != dumps(part):
        return "it is another shard after it was written and read"
    try:
        total = part + part
    except ValueError:
        return None
    same = np.array_equal(total.stats.classes.counts, 2 * part.stats.classes.counts)
    return None if same else "its labels do not add up"


def fault_of(path: Path, rows: Path, questions: int) -> tuple[str | None, bool]:
    """What is wrong with how a file is read, and whether it was."""
    start = time.process_time()
    is_model = path.suffix == ".bnb"
    data = path.read_bytes()
    try:
        with limited(MOST_BYTES):
            result = load(path) if is_model else loads(data)
    except ValueError as error:
        message = str(error)
        is_readable = (str(path) if is_model else f"{len(data)} bytes") in message and "\n" not in message
        return (None if is_readable and len(message) < 600 else f"an odd message: {message:.300}"), False
    spent = time.process_time() - start
    if spent > MOST_SECONDS:
        return f"{spent:.1f} s", True
    if not is_model:
        return fault_of_sum(result), True
    return fault_of_answers(result, pickle.loads(rows.read_bytes()), questions), True


def main(folder: Path, times: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(times)
    sources = sorted(path for path in folder.iterdir() if path.suffix in (".bnb", ".shard"))
    members = {path: members_of(path.read_bytes()) for path in sources}
    questions = 3 if times > FEW else 2
    for path in sources:  # what is imported, and threads that are started, are not a changed file's
        assert load(path) if path.suffix == ".bnb" else loads(path.read_bytes())
    faults, loaded = [], 0
    for change in range(times):
        source = one_of(sources, rng)
        path = folder / f"changed{source.suffix}"
        path.write_bytes(mutated(members[source], DOCUMENTS[source.suffix], rng))
        try:
            fault, is_loaded = fault_of(path, source.with_suffix(".rows"), questions)
        except Exception as error:
            fault, is_loaded = f"{error!r:.300} in {traceback.format_tb(error.__traceback__)[-1]}", False
        loaded += is_loaded
        if fault is not None:
            faults.append(f"{source.name}, change {change}: {fault}")
            path.rename(folder / f"fault-{change}{source.suffix}.kept")
    return {"loaded": loaded, "refused": times - loaded, "faults": faults}


def changed_files(folder: Path, times: int) -> dict[str, Any]:
    """What `main` says of the files in a folder, in a process of which a limit is no one else's."""
    command = [sys.executable, "-m", "tests.hostile", str(folder), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


if __name__ == "__main__":
    from tests import waiting  # noqa: F401  # registers a family that the files may name

    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
