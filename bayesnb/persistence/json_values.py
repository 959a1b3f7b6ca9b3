"""Values as JSON, and back. JSON's own kinds stand for themselves; an object is a mapping of texts, unless its one key

    $tuple $set $frozenset       of values
    $mapping                     of pairs, where keys are no texts
    $range                       first, last + 1, step
    $float                       "nan", "inf" or "-inf", which JSON lacks
    $array $scalar               the number of an array, or of one that holds a single NumPy value
    $objects $strings            shape and values of an array of Python's objects, or of NumPy's variable strings
    $Gaussian, $Dirichlet, ...   a family or a prior, by its fields

says what it is. A name in a file is only ever looked up among the names here.
"""

import math
from collections.abc import Callable
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import numpy as np

from bayesnb.families import FAMILIES, Codes, KnownDie, Vocabulary
from bayesnb.families.base import Belief
from bayesnb.families.family import Family, conjugate_priors
from bayesnb.persistence.archive import Unreadable
from bayesnb.persistence.arrays import Keeper, Shelf
from bayesnb.persistence.budget import PER_VALUE, check_hashes

GROUPS: dict[str, Callable[..., Any]] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
STRINGS = np.dtypes.StringDType()
MOST = 1 << 20  # numbers of a range
POINTER = NUMBER = 8  # bytes


def records() -> dict[str, type]:
    """The classes that a file may name: those of registered families and their priors, and three more."""
    families: list[type] = [*FAMILIES.values(), Codes, KnownDie, Vocabulary]
    return {kind.__name__: kind for kind in families} | conjugate_priors()


def packed(value: Any, keeper: Keeper, where: str) -> Any:
    """What JSON holds for a value; `where` says in an error whose it is."""
    kind = type(value)
    if kind in (NoneType, bool, str, int):
        return value
    if kind in PACKERS:
        return PACKERS[kind](value, keeper, where)
    if isinstance(value, np.generic):
        return {"$scalar": keeper.keep(np.asarray(value), where)}
    if records().get(kind.__name__) is kind:
        said = {f.name: packed(getattr(value, f.name), keeper, f"{where}, {f.name}") for f in fields(value)}
        return {f"${kind.__name__}": said}
    raise ValueError(_refusal(value, where))


def _refusal(value: Any, where: str) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, Family):
        return (
            f"{where}: the family {kind} is not one of bayesnb's own, so a file without code cannot hold it. "
            "Fit the model again where that class is."
        )
    return (
        f"{where}: {value!r:.100} of the class {kind} cannot be saved. Use text, numbers, booleans, None, and lists, "
        "tuples, sets, mappings or NumPy arrays of them."
    )


def _packed_list(value: Any, keeper: Keeper, where: str) -> list[Any]:
    check_hashes(value, where)
    return [packed(each, keeper, where) for each in value]


def _packed_set(value: Any, keeper: Keeper, where: str) -> list[Any]:
    return _packed_list(sorted(value, key=repr), keeper, where)


def _packed_float(value: float, keeper: Keeper, where: str) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _packed_range(value: range, keeper: Keeper, where: str) -> Any:
    if len(value) > MOST:
        raise ValueError(f"{where}: {value} is too long to be saved. Use a NumPy array, numpy.arange(...).")
    return {"$range": [value.start, value.stop, value.step]}


def _packed_mapping(value: dict[Any, Any], keeper: Keeper, where: str) -> Any:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: packed(own, keeper, f"{where}[{key!r}]") for key, own in value.items()}
    check_hashes(value, where)
    pairs = [[packed(key, keeper, where), packed(own, keeper, f"{where}[{key!r:.50}]")] for key, own in value.items()]
    return {"$mapping": pairs}


def _packed_array(value: np.ndarray, keeper: Keeper, where: str) -> Any:
    tag = {"O": "$objects", "T": "$strings"}.get(value.dtype.kind)
    if tag is None:
        return {"$array": keeper.keep(value, where)}
    if tag == "$strings" and value.dtype != STRINGS:
        raise ValueError(f"{where}: an array of {value.dtype!r} cannot be saved. Use StringDType() or objects.")
    return {tag: [list(value.shape), _packed_list(value.ravel().tolist(), keeper, where)]}


PACKERS: dict[type, Callable[[Any, Keeper, str], Any]] = {
    float: _packed_float,
    list: _packed_list,
    tuple: lambda value, keeper, where: {"$tuple": _packed_list(value, keeper, where)},
    set: lambda value, keeper, where: {"$set": _packed_set(value, keeper, where)},
    frozenset: lambda value, keeper, where: {"$frozenset": _packed_set(value, keeper, where)},
    range: _packed_range,
    dict: _packed_mapping,
    np.ndarray: _packed_array,
}


def unpacked(said: Any, shelf: Shelf) -> Any:
    """The value that JSON stands for; an error for what `packed` never makes."""
    if isinstance(said, list):
        return unpacked_list(said, shelf)
    if not isinstance(said, dict):
        return said
    if not any(key.startswith("$") for key in said):
        return {key: unpacked(each, shelf) for key, each in said.items()}
    if len(said) > 1:
        raise Unreadable(f"{', '.join(said)!r:.50} mean several things")
    ((tag, inner),) = said.items()
    if tag in GROUPS:
        return GROUPS[tag](unpacked_list(inner, shelf))
    if tag[1:] in records():
        return _record(records()[tag[1:]], inner, shelf)
    if tag not in UNPACKERS:
        raise Unreadable(f"{tag!r:.50} is nothing that a model holds")
    return UNPACKERS[tag](inner, shelf)


def unpacked_list(said: Any, shelf: Shelf) -> list[Any]:
    """The values that a list of JSON stands for, which a set can hold, or the keys of a mapping."""
    values = [unpacked(each, shelf) for each in _list(said)]
    check_hashes(values, "a list that it holds")
    return values


def _list(said: Any, length: int | None = None) -> list[Any]:
    if not isinstance(said, list) or (length is not None and len(said) != length):
        raise Unreadable(f"{said!r:.50} is no list, or not as long as it should be")
    return said


def _mapping(said: Any, shelf: Shelf) -> dict[Any, Any]:
    pairs = [_list(pair, 2) for pair in _list(said)]
    keys = unpacked_list([key for key, _ in pairs], shelf)
    mapping = dict(zip(keys, (unpacked(value, shelf) for _, value in pairs), strict=True))
    if len(mapping) < len(pairs):
        raise Unreadable("a key of a mapping stands twice")
    return mapping


def _range(said: Any, shelf: Shelf) -> range:
    found = range(*_list(said, 3))
    if len(found) > MOST:
        raise Unreadable(f"{found} is longer than any that is saved")
    shelf.budget.take(PER_VALUE * len(found))
    return found


def _float(said: Any, shelf: Shelf) -> float:
    if said not in ("nan", "inf", "-inf"):
        raise Unreadable(f"{said!r:.50} is a number of JSON's, or none")
    return float(said)


def _objects(said: Any, shelf: Shelf) -> np.ndarray:
    sizes, inner = _list(said, 2)
    shape, values = shelf.budget.shape(sizes, POINTER), unpacked_list(inner, shelf)
    if math.prod(shape) != len(values):
        raise Unreadable("an array of objects is not as large as its shape says")
    return np.fromiter(values, object, len(values)).reshape(shape)


def _scalar(said: Any, shelf: Shelf) -> Any:
    array = shelf[said]
    if array.ndim:
        raise Unreadable(f"an array of the shape {array.shape} is no single value")
    return array[()]


def _strings(said: Any, shelf: Shelf) -> np.ndarray:
    return _objects(said, shelf).astype(STRINGS)


def _record(kind: type, said: Any, shelf: Shelf) -> Any:
    """A family or a prior, made by its constructor, of fields of the kinds that its class declares.

    Fields that an older version did not have take their defaults.
    """
    declared = {f.name: f.type for f in fields(kind)}
    if not isinstance(said, dict) or not set(said) <= set(declared):
        raise Unreadable(f"{kind.__name__} has the fields {', '.join(declared)}")
    values = {name: unpacked(value, shelf) for name, value in said.items()}
    for name, value in values.items():
        if not _fits(value, declared[name]):
            raise Unreadable(f"{name} of {kind.__name__} cannot be {value!r:.50}")
    if issubclass(kind, Belief):  # a matrix may be made of a row of numbers
        width = max((size for value in values.values() for size in np.shape(value)[-1:]), default=1)
        shelf.budget.take(NUMBER * width**kind.degree)
    renamed = getattr(kind, "renamed", {})
    return kind(**{renamed.get(name, name): value for name, value in values.items()})


def _fits(value: Any, declared: Any) -> bool:
    """Whether a value is of the type that a field declares; a type's own parameters are not looked at."""
    if isinstance(declared, UnionType):
        return any(_fits(value, each) for each in get_args(declared))
    if declared is Any:
        return True
    if declared is float:
        return isinstance(value, (float, int, np.floating, np.integer)) and not isinstance(value, bool)
    return isinstance(value, get_origin(declared) or declared)


UNPACKERS: dict[str, Callable[[Any, Shelf], Any]] = {
    "$mapping": _mapping,
    "$range": _range,
    "$float": _float,
    "$array": lambda said, shelf: shelf[said],
    "$scalar": _scalar,
    "$objects": _objects,
    "$strings": _strings,
}
