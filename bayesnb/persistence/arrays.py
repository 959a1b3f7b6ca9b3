"""Arrays as `.npy` members of an archive.

`model.json` repeats the type and shape of each, and a header must be the one that these make. So no header is ever
parsed, and nothing is allocated but what has been read already. What is derived from an array later, sums and beliefs,
is as large as the array: every reference to it is charged to the budget again.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from bayesnb.persistence.archive import Archive, Bytes, Unreadable
from bayesnb.persistence.budget import MOST_AXES, Budget

Array = np.ndarray
TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|[<>]U[1-9]\d{0,8}|\|S[1-9]\d{0,8}")
ALIGNED = 64


def name_of(number: int) -> str:
    """Return the name of the member that holds an array."""
    return f"arrays/{number}.npy"


def header(description: Mapping[str, Any]) -> bytes:
    """Return the header of an array in NumPy's format 1.0: https://numpy.org/neps/nep-0001-npy-format.html."""
    shape = "(" + "".join(f"{size}, " for size in description["shape"]).rstrip(" ") + ")"
    text = f"{{'descr': {description['dtype']!r}, 'fortran_order': {description['fortran_order']}, 'shape': {shape}, }}"
    length = -(-(10 + len(text) + 1) // ALIGNED) * ALIGNED - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


class ArrayWriter:
    """Arrays to be written, each once however often it is used."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.numbers: dict[int, int] = {}

    def add(self, array: Array, where: str) -> int:
        """Add an array unless it is there, and return its number."""
        if id(array) not in self.numbers:
            if not TYPES.fullmatch(array.dtype.str) or array.ndim > MOST_AXES:
                raise ValueError(
                    f"{where}: an array of {array.dtype} cannot be saved. Use text, integers, booleans or floats of at "
                    "most 64 bits, with at most 8 axes."
                )
            self.numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self.numbers[id(array)]

    @property
    def descriptions(self) -> list[dict[str, Any]]:
        """Type and layout of every array, as `model.json` holds them."""
        return [{"dtype": a.dtype.str, "shape": list(a.shape), "fortran_order": _is_fortran(a)} for a in self.arrays]

    def members(self) -> dict[str, tuple[Bytes, ...]]:
        """Return the members of the archive that hold the arrays."""
        pairs = zip(self.arrays, self.descriptions, strict=True)
        return {name_of(i): (header(description), _bytes(array)) for i, (array, description) in enumerate(pairs)}


def _is_fortran(array: Array) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _bytes(array: Array) -> Bytes:
    """Return the bytes of an array, without a copy where it is contiguous."""
    lying = np.ascontiguousarray(array.T if _is_fortran(array) else array)
    return lying.reshape(-1).view(np.uint8).data if lying.size else b""


class ArrayReader:
    """The arrays of an archive, each read once; `budget` bounds what reading the archive may cost."""

    def __init__(self, archive: Archive, descriptions: Any) -> None:
        if not isinstance(descriptions, list):
            raise Unreadable("`arrays` is no list")
        self.archive, self.descriptions = archive, descriptions
        self.budget = Budget(archive.size)
        self.loaded: dict[int, Array] = {}

    def __getitem__(self, number: Any) -> Array:
        if type(number) is not int or not 0 <= number < len(self.descriptions):
            raise Unreadable(f"there is no array {number!r:.50}")
        description = _checked(self.descriptions[number], number)
        self.budget.shape(description["shape"], np.dtype(description["dtype"]).itemsize)
        if number not in self.loaded:
            self.loaded[number] = self._read(description, name_of(number))
        return self.loaded[number]

    def _read(self, description: Mapping[str, Any], name: str) -> Array:
        dtype, shape, first = np.dtype(description["dtype"]), description["shape"], header(description)
        count = prod(shape)
        if self.archive.length(name) != len(first) + count * dtype.itemsize:
            raise Unreadable(f"{name} is not as long as its type and shape say")
        data = self.archive.read(name)
        if not data.startswith(first):
            raise Unreadable(f"{name} does not begin as its type and shape say")
        numbers = np.frombuffer(data, dtype, count, len(first)).copy()
        array = numbers.reshape(shape[::-1]).T if description["fortran_order"] else numbers.reshape(shape)
        if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise Unreadable(f"{name} holds what is neither false nor true")
        if dtype.kind == "U":
            array.tolist()  # raises where a code is no letter
        return array


def _checked(description: Any, number: int) -> dict[str, Any]:
    """Return the description of an array, or raise `Unreadable`."""
    keys = {"dtype", "shape", "fortran_order"}
    if not (isinstance(description, dict) and set(description) == keys and type(description["fortran_order"]) is bool):
        raise Unreadable(f"array {number} is not described")
    if not (isinstance(description["dtype"], str) and TYPES.fullmatch(description["dtype"])):
        raise Unreadable(f"array {number} is of a type that no model has")
    return description
