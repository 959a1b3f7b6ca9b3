"""Values as JSON plus numbered arrays, and back.

JSON types stand for themselves. An object is a mapping, unless its single key is one of these tags:

    $tuple $set $frozenset     of values
    $mapping                   of pairs, if keys are not strings
    $range                     start, stop, step
    $float                     "nan", "inf" or "-inf", which JSON lacks
    $array $scalar             the number of an array, or of a NumPy scalar
    $repeated                  the number of an array, and the shape that it broadcasts to
    $objects $strings          shape and values of an array of objects, or of NumPy strings
    $csr                       shape, data, indices and indptr of a sparse matrix
    $Gaussian, $Shard, ...     a record of bayesnb, by its fields

Names in a file are only looked up among the names here.
"""

import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from numbers import Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import numpy as np
from scipy import sparse

from bayesnb.data import TableTemplate
from bayesnb.families import FAMILIES, BestOf, Choice, Codes, EmpiricalDirichlet, Vocabulary
from bayesnb.families.base import Belief
from bayesnb.families.grid import Grid
from bayesnb.families.links import Pairs
from bayesnb.families.record import Array, Record, unrepeated
from bayesnb.model.covariance import Covariance, Indicators, Scale
from bayesnb.model.fitted import Temper
from bayesnb.model.kept_rows import KeptRows
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells
from bayesnb.model.powers import ExponentCovariance
from bayesnb.model.product import Product, ProductStats
from bayesnb.model.schema import Block, Schema
from bayesnb.model.shards import Shard

Json = Any
GROUPS: dict[str, type] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
}
STRINGS = np.dtypes.StringDType()
PLAIN_KINDS = "biufUS"  # kinds of arrays that NumPy writes without pickle
MAX_RANGE = 1 << 20  # numbers of a range; longer ones are written out
POINTER = NUMBER = 8  # bytes


@dataclass(frozen=True, eq=False)
class Saved:
    """A fitted estimator: class, parameters, stats, prior, exponents, and a note."""

    estimator: str
    params: dict[str, Any]
    shard: Shard
    prior: Product
    temper: Temper
    note: Any = None
    target: str | None = None  # the name of the labels


def list_records() -> dict[str, type]:
    """Return the classes that a file may name: families, stats, beliefs, parts of a model."""
    kinds = [
        Block,
        Schema,
        TableTemplate,
        Choice,
        KeptRows,
        ProductStats,
        Product,
        Shard,
        Saved,
        Temper,
        ExponentCovariance,
        Codes,
        EmpiricalDirichlet,
        Vocabulary,
        Grid,
        Pairs,
        BestOf,
        Linked,
        MissingCells,
        Covariance,
        Indicators,
        Scale,
        *FAMILIES.values(),
    ]
    kinds += subclasses(Record)  # including those of registered third-party families
    return {kind.__name__: kind for kind in kinds}


def subclasses(kind: type) -> Iterable[type]:
    """Yield all subclasses of a class."""
    each: type
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


class Packer:
    """Converts values to JSON, and collects their arrays, each once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._records = list_records()
        self._numbers: dict[int, int] = {}
        self._originals: list[Array] = []  # kept alive, so that their ids stay unique

    def pack(self, value: Any, where: str) -> Json:
        """Return a value as JSON; `where` names it in errors."""
        kind = type(value)
        if kind in (NoneType, bool, str, int):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if kind is list:
            return self._pack_all(value, where)
        if kind in GROUPS.values():
            values = value if kind is tuple else sorted(value, key=repr)
            return {f"${kind.__name__}": self._pack_all(values, where)}
        if kind is dict:
            return self._pack_mapping(value, where)
        if kind is range:
            if len(value) > MAX_RANGE:
                return {"$tuple": list(value)}
            return {"$range": [value.start, value.stop, value.step]}
        if kind is np.ndarray:
            return self._pack_array(value, where)
        if isinstance(value, np.generic):
            return {"$scalar": self._number(np.asarray(value), where)}
        if sparse.issparse(value):
            arrays = [value.data, value.indices, value.indptr]
            return {"$csr": [list(value.shape), *self._pack_all(arrays, where)]}
        if self._records.get(kind.__name__) is kind:
            parts = {}
            for name in field_names(kind):
                path = f"{where}.{name}" if where else name
                parts[name] = self.pack(getattr(value, name), path)
            return {f"${kind.__name__}": parts}
        raise ValueError(
            f"{where}: {value!r:.100} of the class {kind.__module__}.{kind.__qualname__} cannot be "
            "saved. Use text, numbers, booleans, None, and lists, tuples, sets, mappings or NumPy "
            "arrays of them, and the families of bayesnb."
        )

    def _pack_all(self, values: Iterable[Any], where: str) -> list[Json]:
        return [self.pack(value, where) for value in values]

    def _pack_mapping(self, value: dict[Any, Any], where: str) -> Json:
        items = {}
        for key, item in value.items():
            items[key] = self.pack(item, f"{where}[{key!r:.50}]")
        if all(type(key) is str and not key.startswith("$") for key in value):
            return items
        return {"$mapping": [[self.pack(key, where), item] for key, item in items.items()]}

    def _pack_array(self, array: Array, where: str) -> Json:
        match array.dtype.kind:
            case "O":
                return {"$objects": [list(array.shape), self._pack_all(array.ravel(), where)]}
            case "T" if array.dtype == STRINGS:
                return {"$strings": [list(array.shape), array.ravel().tolist()]}
        number = self._number(array, where)
        if self.arrays[number].shape == array.shape:
            return {"$array": number}
        return {"$repeated": [number, list(array.shape)]}

    def _number(self, array: Array, where: str) -> int:
        """Return the number of an array; repeats from broadcasting are not stored."""
        if array.dtype.kind not in PLAIN_KINDS:
            raise ValueError(
                f"{where}: an array of {array.dtype} cannot be saved. "
                "Use text, integers, booleans or floats."
            )
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self._originals.append(array)
            self.arrays.append(np.asarray(unrepeated(array)))
        return self._numbers[id(array)]


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of the constructor's fields."""
    return tuple(each.name for each in fields(kind) if each.init)


class Unpacker:
    """Converts JSON to values, with arrays from `read(number)`, up to `limit` bytes in total.

    The limit covers everything that a few bytes can request repeatedly: references to an array, a
    shape, a range.
    """

    def __init__(self, read: Callable[[int], Array], limit: int) -> None:
        self._read = read
        self._records = list_records()
        self._left = limit
        self._arrays: dict[int, Array] = {}

    def take(self, shape: Iterable[int], itemsize: int) -> None:
        """Charge an array against the limit before it is made; empty axes count as 1."""
        self._left -= math.prod(max(size, 1) for size in shape) * itemsize
        if self._left < 0:
            raise ValueError(
                "its contents would take more memory than any valid file of its length"
            )

    def unpack(self, packed: Json) -> Any:
        """Return the value of JSON; raise for JSON that `Packer.pack` never makes."""
        if isinstance(packed, list):
            return self._unpack_all(packed)
        if not isinstance(packed, dict):
            return packed
        if not any(key.startswith("$") for key in packed):
            return {key: self.unpack(value) for key, value in packed.items()}
        ((tag, inner),) = packed.items()
        match tag:
            case "$tuple" | "$set" | "$frozenset":
                return GROUPS[tag](self._unpack_all(inner))
            case "$mapping":
                return dict(map(self._unpack_all, inner))
            case "$range":
                return self._unpack_range(inner)
            case "$float" if inner in ("nan", "inf", "-inf"):
                return float(inner)
            case "$array":
                return self._array(inner)
            case "$scalar":
                return self._array(inner).reshape(())[()]
            case "$repeated":
                number, shape = inner
                array = self._array(number)
                self.take(shape, array.itemsize)
                return np.broadcast_to(array, shape)
            case "$objects":
                return self._unpack_objects(inner)
            case "$strings":
                return self._unpack_objects(inner).astype(STRINGS)
            case "$csr":
                return self._unpack_csr(inner)
        if tag[1:] in self._records:
            return self._unpack_record(self._records[tag[1:]], inner)
        raise ValueError(f"{tag!r:.50} is not something that a model holds")

    def _unpack_all(self, packed: Json) -> list[Any]:
        return [self.unpack(each) for each in expect(packed, list)]

    def _unpack_range(self, packed: Json) -> range:
        numbers = range(*packed)
        self.take([len(numbers)], 8 * NUMBER)  # as if it were a tuple of integers
        return numbers

    def _array(self, number: Json) -> Array:
        if number not in self._arrays:
            self._arrays[number] = self._read(number)
        array = self._arrays[number]
        self.take(array.shape, array.itemsize)
        return array

    def _unpack_objects(self, packed: Json) -> Array:
        shape, values = packed
        self.take(shape, POINTER)
        objects = self._unpack_all(values)
        return np.fromiter(objects, object, len(objects)).reshape(shape)

    def _unpack_csr(self, packed: Json) -> Any:
        shape, *arrays = packed
        rows, _ = shape
        self.take([rows], NUMBER)
        cells = sparse.csr_array(tuple(self._unpack_all(arrays)), shape=shape)
        cells.check_format(full_check=True)
        return cells

    def _unpack_record(self, kind: type, packed: Json) -> Any:
        """Make a record by its constructor, after checking the types of its fields."""
        values = {}
        for name, value in expect(packed, dict).items():
            values[name] = self.unpack(value)
        for field in fields(kind):
            if not field.init:
                continue
            value = values[field.name]
            is_parameter = issubclass(kind, Record) and field.name not in kind.layout
            if not (is_floats(value) if is_parameter else is_instance(value, field.type)):
                raise ValueError(f"{field.name} of {kind.__name__} cannot be {value!r:.50}")
        if issubclass(kind, Belief):  # the constructor may expand a row of numbers to a matrix
            widths = (size for value in values.values() for size in np.shape(value)[-1:])
            self.take([max(widths, default=1)] * kind.degree, NUMBER)
        if issubclass(kind, Record):
            return kind(*(values[name] for name in kind.__match_args__))
        return getattr(kind, "of_fields", kind)(**values)


def expect(value: Any, kind: type) -> Any:
    """Return the value if it is of this type, and raise otherwise."""
    if not isinstance(value, kind):
        raise ValueError(f"expected a {kind.__name__}, got {value!r:.50}")
    return value


def is_floats(value: Any) -> bool:
    """Return whether a value is an array of double-precision numbers."""
    return isinstance(value, np.ndarray) and value.dtype == float


def is_instance(value: Any, declared: Any) -> bool:
    """Return whether a value has the declared type of a field, ignoring type parameters."""
    if isinstance(declared, UnionType):
        return any(is_instance(value, each) for each in get_args(declared))
    if declared is Any:
        return True
    if declared is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    return isinstance(value, get_origin(declared) or declared)


def array_bytes(array: Array) -> bytes:
    """Return an array in NumPy's format."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def read_array(data: bytes) -> Array:
    """Return the array in these bytes; raise unless their number matches the header."""
    stream = io.BytesIO(data)
    np.lib.format.read_magic(stream)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError("an array holds neither numbers nor texts")
    numbers = np.frombuffer(data, dtype, offset=stream.tell()).copy()
    array = numbers.reshape(shape, order="F" if is_fortran else "C")
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError("an array of booleans holds another value")
    if dtype.kind == "U":
        array.tolist()  # raises for invalid characters
    return array
