"""Arrays as `.npy` members: type and shape are said in `model.json` too, and a header has to be the one that they make.

So no header is ever parsed, and nothing is allocated but what has been read already. What is made of an array later,
sums and beliefs, is as large as it is: whoever refers to an array pays for it again.
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
    """What the member with an array is called."""
    return f"arrays/{number}.npy"


def header(said: Mapping[str, Any]) -> bytes:
    """NumPy's format 1.0, which any version of it reads: https://numpy.org/neps/nep-0001-npy-format.html."""
    shape = "(" + "".join(f"{size}, " for size in said["shape"]).rstrip(" ") + ")"
    text = f"{{'descr': {said['dtype']!r}, 'fortran_order': {said['fortran_order']}, 'shape': {shape}, }}"
    length = -(-(10 + len(text) + 1) // ALIGNED) * ALIGNED - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


class Keeper:
    """Arrays that are to be written, each once however often it is used."""

    def __init__(self) -> None:
        self.kept: list[Array] = []
        self.numbers: dict[int, int] = {}

    def keep(self, array: Array, where: str) -> int:
        """The number of an array."""
        if id(array) not in self.numbers:
            if not TYPES.fullmatch(array.dtype.str) or array.ndim > MOST_AXES:
                raise ValueError(
                    f"{where}: an array of {array.dtype} cannot be saved. Use text, integers, booleans or floats of at "
                    "most 64 bits, with at most 8 axes."
                )
            self.numbers[id(array)] = len(self.kept)
            self.kept.append(array)
        return self.numbers[id(array)]

    @property
    def said(self) -> list[dict[str, Any]]:
        """What is said of every array."""
        return [{"dtype": a.dtype.str, "shape": list(a.shape), "fortran_order": _is_fortran(a)} for a in self.kept]

    def members(self) -> dict[str, tuple[Bytes, ...]]:
        """Every array as a file."""
        pairs = zip(self.kept, self.said, strict=True)
        return {name_of(i): (header(said), _bytes(array)) for i, (array, said) in enumerate(pairs)}


def _is_fortran(array: Array) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _bytes(array: Array) -> Bytes:
    """An array's numbers as they lie, without a copy where they lie close together."""
    lying = np.ascontiguousarray(array.T if _is_fortran(array) else array)
    return lying.reshape(-1).view(np.uint8).data if lying.size else b""


class Shelf:
    """The arrays of an archive, each read once; `budget` is what reading the archive may still take."""

    def __init__(self, archive: Archive, said: Any) -> None:
        if not isinstance(said, list):
            raise Unreadable("`arrays` is no list")
        self.archive, self.said = archive, said
        self.budget = Budget(archive.size)
        self.found: dict[int, Array] = {}

    def __getitem__(self, number: Any) -> Array:
        if type(number) is not int or not 0 <= number < len(self.said):
            raise Unreadable(f"there is no array {number!r:.50}")
        said = _checked(self.said[number], number)
        self.budget.shape(said["shape"], np.dtype(said["dtype"]).itemsize)
        if number not in self.found:
            self.found[number] = self._read(said, name_of(number))
        return self.found[number]

    def _read(self, said: Mapping[str, Any], name: str) -> Array:
        dtype, first = np.dtype(said["dtype"]), header(said)
        count = prod(said["shape"])
        if self.archive.length(name) != len(first) + count * dtype.itemsize:
            raise Unreadable(f"{name} is not as long as its type and shape say")
        data = self.archive.read(name)
        if not data.startswith(first):
            raise Unreadable(f"{name} does not begin as its type and shape say")
        numbers = np.frombuffer(data, dtype, count, len(first)).copy()
        array = numbers.reshape(said["shape"][::-1]).T if said["fortran_order"] else numbers.reshape(said["shape"])
        if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise Unreadable(f"{name} holds what is neither false nor true")
        if dtype.kind == "U":
            array.tolist()  # an error, where there is no such letter
        return array


def _checked(said: Any, number: int) -> dict[str, Any]:
    """What `model.json` says of an array."""
    keys = {"dtype", "shape", "fortran_order"}
    if not (isinstance(said, dict) and set(said) == keys and type(said["fortran_order"]) is bool):
        raise Unreadable(f"array {number} is not described")
    if not (isinstance(said["dtype"], str) and TYPES.fullmatch(said["dtype"])):
        raise Unreadable(f"array {number} is of a type that no model has")
    return said
