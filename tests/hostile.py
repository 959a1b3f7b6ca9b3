"""Files of models and of shards, changed by someone who means harm.

`python -m tests.hostile FOLDER TIMES` changes the files in a folder so often, reads each within
MAX_BYTES of memory and MAX_SECONDS of the processor, asks what was read, and prints the faults.
"""

import io
import json
import pickle
import resource
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb import load
from bayesnb.scale import dumps, loads

MAX_BYTES = 300 << 20
MAX_SECONDS = 2.0
DOCUMENTS = {".bnb": "model.json", ".shard": "shard.json"}
VALUES = """
0 1 -1 2 7 0.5 -0.0 1e308 5e-324 1048576 1000000000000 -18446744073709551616 true null "1" "" "$"
"$array" "Gaussian" "\\ud800" "\\u0000" "reserve" "<U99999999" "<f4" ">f8" "|O" "|b1" "<f16"
{} [] [[]] [1000000000000] [0,1000000000000] [4611686018427387904,4] [-1] [0] [true]
{"$array":0} {"$array":1000000000} {"$scalar":0} {"$float":"nan"} {"$float":"inf"} {"$tuple":[]}
{"$set":[1,2]} {"$range":[0,1000000000000000,1]} {"$mapping":[[1,2]]} {"$strings":[[0],[]]}
{"$repeated":[0,[2,3]]} {"$repeated":[1,[1000000000000]]} {"$csr":[[2,2],0,0,0]}
{"$objects":[[0,1000000000000],[]]} {"$objects":[[2],["a",1]]} {"$Dirichlet":{"concentration":1}}
{"$Categorical":{}} {"$JointTable":{}} {"$Gaussian":{"prior":null}}
"""
CELLS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e308, 5e307, 1e200, 1e-320, 2.0**63, 3.0]


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A file of these members, whose checksums are right."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the document with another value at one place."""
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(document[path[0]], path[1:], value)
    return copy


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in a document, and what stands there."""
    yield path, document
    keys = (
        document
        if isinstance(document, dict)
        else range(len(document))
        if isinstance(document, list)
        else ()
    )
    for key in keys:
        yield from places(document[key], (*path, key))


def mutate(members: dict[str, bytes], document: str, rng: np.random.Generator) -> bytes:
    """The file with one to three changes: of numbers, of values, or of the length of lists."""
    members = dict(members)
    values = VALUES.split()
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.3 and arrays:
            name = str(rng.choice(arrays))
            array = np.load(io.BytesIO(members[name])).copy()
            if array.dtype == float and array.size:
                array.flat[rng.integers(array.size)] = rng.choice(CELLS)
                members[name] = members[name][: -array.nbytes] + array.tobytes("A")
            continue
        text = json.loads(members[document])
        every = list(places(text))
        path, value = every[rng.integers(len(every))]
        others: list[Any] = [json.loads(rng.choice(values)), every[rng.integers(len(every))][1]]
        if isinstance(value, list):
            others += [value * 9, value[1:], value[:-1], value[::-1], [value]]
        elif isinstance(value, dict) and value:
            others += [
                dict(zip(value, list(value.values())[::-1], strict=True)),
                {**value, "$set": []},
            ]
        members[document] = json.dumps(
            changed(text, path, others[rng.integers(len(others))])
        ).encode()
    return packed(members)


def fault_of(path: Path, rows: Path) -> tuple[str | None, bool]:
    """What is wrong with how a file is read, and whether it was."""
    data = path.read_bytes()
    start = time.process_time()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, hard))
    try:
        result = load(path) if path.suffix == ".bnb" else loads(data)
    except ValueError as error:
        message = str(error)
        return (
            f"an odd message: {message:.300}" if "\n" in message or len(message) > 600 else None
        ), False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    if time.process_time() - start > MAX_SECONDS:
        return "it takes long", True
    try:
        if path.suffix == ".bnb":
            np.testing.assert_allclose(
                result.predict_proba(pickle.loads(rows.read_bytes())).sum(), 1
            )
            assert isinstance(result.log_evidence_, float)
        else:
            assert dumps(loads(dumps(result))) == dumps(result)
            assert dumps(result + result)
    except ValueError:  # it says why there is no answer
        pass
    return None, True


def main(folder: Path, times: int) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(times)
    sources = sorted(path for path in folder.iterdir() if path.suffix in DOCUMENTS)
    for path in sources:  # what is imported, and threads that are started, are not a changed file's
        assert load(path) if path.suffix == ".bnb" else loads(path.read_bytes())
    faults = []
    loaded = 0
    for change in range(times):
        source = sources[rng.integers(len(sources))]
        path = folder / f"changed{source.suffix}"
        path.write_bytes(mutate(members_of(source.read_bytes()), DOCUMENTS[source.suffix], rng))
        try:
            fault, is_loaded = fault_of(path, source.with_suffix(".rows"))
        except Exception as error:
            fault = f"{error!r:.300}"
            is_loaded = False
        loaded += is_loaded
        if fault is not None:
            faults.append(f"{source.name}, change {change}: {fault}")
            path.rename(folder / f"fault-{change}{source.suffix}.kept")
    return {"loaded": loaded, "refused": times - loaded, "faults": faults}


def changed_files(folder: Path, times: int) -> dict[str, Any]:
    """What `main` says of the files in a folder, in a process of which a limit is no one else's."""
    command = [sys.executable, "-m", "tests.hostile", str(folder), str(times)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
