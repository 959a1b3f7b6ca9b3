"""Values as JSON, and back. JSON's own kinds stand for themselves; an object is a mapping of texts, unless its one key

    $tuple $set $frozenset       of values
    $mapping                     of pairs, where keys are not texts
    $range                       first, last + 1, step
    $float                       "nan", "inf" or "-inf", which JSON lacks
    $array $scalar               the number of an array, or of one that holds a single NumPy value
    $objects $strings            shape and values of an array of Python's objects, or of NumPy's variable strings
    $Gaussian, $Dirichlet, ...   a family or a prior, by its fields

says what it is. A name in a file is only ever looked up among the names here.
"""

import math
from collections.abc import Collection
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import numpy as np

from bayesnb.families import FAMILIES, BestOf, Codes, EmpiricalDirichlet, KnownDie, Vocabulary
from bayesnb.families.base import Belief
from bayesnb.families.family import Family, conjugate_priors
from bayesnb.families.grid import Grid
from bayesnb.families.links import Pairs
from bayesnb.persistence.archive import ArrayReader, ArrayWriter
from bayesnb.persistence.budget import PER_VALUE, Unreadable, check_hashes

GROUPS: dict[str, type] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
STRINGS = np.dtypes.StringDType()
LONGEST_RANGE = 1 << 20  # numbers of a range
POINTER = NUMBER = 8  # bytes


def records() -> dict[str, type]:
    """Return the classes that a file may name: registered families, their priors, and six more."""
    families: list[type] = [*FAMILIES.values(), BestOf, Codes, EmpiricalDirichlet, Grid, KnownDie, Pairs, Vocabulary]
    return {kind.__name__: kind for kind in families} | conjugate_priors()


def pack(value: Any, writer: ArrayWriter, where: str) -> Any:
    """Return the JSON of a value; `where` names it in an error."""
    kind, tag = type(value), f"${type(value).__name__}"
    if kind in (NoneType, bool, str, int):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return _pack_list(value, writer, where)
    if kind is dict:
        return _pack_mapping(value, writer, where)
    if kind is np.ndarray:
        return _pack_array(value, writer, where)
    if kind in GROUPS.values():
        return {tag: _pack_list(value if kind is tuple else sorted(value, key=repr), writer, where)}
    if kind is range:
        if len(value) > LONGEST_RANGE:
            raise ValueError(f"{where}: {value} is too long to be saved. Use a NumPy array, numpy.arange(...).")
        return {"$range": [value.start, value.stop, value.step]}
    if isinstance(value, np.generic):
        return {"$scalar": writer.add(np.asarray(value), where)}
    if records().get(kind.__name__) is kind:
        return {tag: {f.name: pack(getattr(value, f.name), writer, f"{where}, {f.name}") for f in fields(value)}}
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, Family):
        raise ValueError(
            f"{where}: the family {name} is not part of bayesnb, so a file without code cannot hold it. "
            "Fit the model again where that class is."
        )
    raise ValueError(
        f"{where}: {value!r:.100} of the class {name} cannot be saved. Use text, numbers, booleans, None, and lists, "
        "tuples, sets, mappings or NumPy arrays of them."
    )


def _pack_list(values: Collection[Any], writer: ArrayWriter, where: str) -> list[Any]:
    check_hashes(values, where)
    return [pack(each, writer, where) for each in values]


def _pack_mapping(value: dict[Any, Any], writer: ArrayWriter, where: str) -> Any:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: pack(item, writer, f"{where}[{key!r}]") for key, item in value.items()}
    check_hashes(value, where)
    pairs = [[pack(key, writer, where), pack(item, writer, f"{where}[{key!r:.50}]")] for key, item in value.items()]
    return {"$mapping": pairs}


def _pack_array(value: np.ndarray, writer: ArrayWriter, where: str) -> Any:
    tag = {"O": "$objects", "T": "$strings"}.get(value.dtype.kind)
    if tag is None:
        return {"$array": writer.add(value, where)}
    if tag == "$strings" and value.dtype != STRINGS:
        raise ValueError(f"{where}: an array of {value.dtype!r} cannot be saved. Use StringDType() or objects.")
    return {tag: [list(value.shape), _pack_list(value.ravel().tolist(), writer, where)]}


def unpack(packed: Any, reader: ArrayReader) -> Any:
    """Return the value that JSON stands for; raise `Unreadable` for what `pack` never makes."""
    if isinstance(packed, list):
        return unpack_list(packed, reader)
    if not isinstance(packed, dict):
        return packed
    if not any(key.startswith("$") for key in packed):
        return {key: unpack(each, reader) for key, each in packed.items()}
    if len(packed) > 1:
        raise Unreadable(f"{', '.join(packed)!r:.50} mean several things")
    ((tag, inner),) = packed.items()
    match tag:
        case "$tuple" | "$set" | "$frozenset":
            return GROUPS[tag](unpack_list(inner, reader))
        case "$mapping":
            return _unpack_mapping(inner, reader)
        case "$range":
            return _unpack_range(inner, reader)
        case "$float" if inner in ("nan", "inf", "-inf"):
            return float(inner)
        case "$array":
            return reader[inner]
        case "$scalar" if not (array := reader[inner]).ndim:
            return array[()]
        case "$objects":
            return _unpack_objects(inner, reader)
        case "$strings":
            return _unpack_objects(inner, reader).astype(STRINGS)
    if tag[1:] in records():
        return _unpack_record(records()[tag[1:]], inner, reader)
    raise Unreadable(f"{tag!r:.50} is not something that a model holds")


def unpack_list(packed: Any, reader: ArrayReader) -> list[Any]:
    """Return the values of a JSON list, safe to be put into a set or to be the keys of a mapping."""
    values = [unpack(each, reader) for each in _list(packed)]
    check_hashes(values, "a list that it holds")
    return values


def _list(packed: Any, length: int | None = None) -> list[Any]:
    if not isinstance(packed, list) or (length is not None and len(packed) != length):
        raise Unreadable(f"{packed!r:.50} is not a list, or not as long as it should be")
    return packed


def _unpack_mapping(packed: Any, reader: ArrayReader) -> dict[Any, Any]:
    pairs = [_list(pair, 2) for pair in _list(packed)]
    keys = unpack_list([key for key, _ in pairs], reader)
    mapping = dict(zip(keys, (unpack(value, reader) for _, value in pairs), strict=True))
    if len(mapping) < len(pairs):
        raise Unreadable("a key of a mapping is there twice")
    return mapping


def _unpack_range(packed: Any, reader: ArrayReader) -> range:
    result = range(*_list(packed, 3))
    if len(result) > LONGEST_RANGE:
        raise Unreadable(f"{result} is longer than any that is saved")
    reader.budget.take(PER_VALUE * len(result))
    return result


def _unpack_objects(packed: Any, reader: ArrayReader) -> np.ndarray:
    sizes, inner = _list(packed, 2)
    shape, values = reader.budget.shape(sizes, POINTER), unpack_list(inner, reader)
    if math.prod(shape) != len(values):
        raise Unreadable("an array of objects is not as large as its shape says")
    return np.fromiter(values, object, len(values)).reshape(shape)


def _unpack_record(kind: type, packed: Any, reader: ArrayReader) -> Any:
    """Return a family or a prior, made by its constructor of fields of the types that its class declares.

    Fields that an older version did not have take their defaults.
    """
    declared = {f.name: f.type for f in fields(kind)}
    if not isinstance(packed, dict) or not set(packed) <= set(declared):
        raise Unreadable(f"{kind.__name__} has the fields {', '.join(declared)}")
    values = {name: unpack(value, reader) for name, value in packed.items()}
    for name, value in values.items():
        if not _fits(value, declared[name]):
            raise Unreadable(f"{name} of {kind.__name__} cannot be {value!r:.50}")
    if issubclass(kind, Belief):  # a matrix may be made of a row of numbers
        width = max((size for value in values.values() for size in np.shape(value)[-1:]), default=1)
        reader.budget.take(NUMBER * width**kind.degree)
    renamed = getattr(kind, "renamed", {})
    make = getattr(kind, "of_fields", kind)
    return make(**{renamed.get(name, name): value for name, value in values.items()})


def _fits(value: Any, declared: Any) -> bool:
    """Whether a value is of the type that a field declares, whatever the type's parameters."""
    if isinstance(declared, UnionType):
        return any(_fits(value, each) for each in get_args(declared))
    if declared is Any:
        return True
    if declared is float:
        return isinstance(value, (float, int, np.floating, np.integer)) and not isinstance(value, bool)
    return isinstance(value, get_origin(declared) or declared)
