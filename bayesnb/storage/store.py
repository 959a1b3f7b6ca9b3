"""Files of estimators: written as a whole or not at all, and read as if they came from a stranger."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from typing import Any, NoReturn

from bayesnb import __version__
from bayesnb.replacing import replacing
from bayesnb.storage.archive import Unreadable, opened, write_archive
from bayesnb.storage.arrays import Keeper, Shelf, name_of
from bayesnb.storage.document import FORMAT, MAJOR, MINOR, document_of, saved_of
from bayesnb.storage.saved import Saved

MODEL = "model.json"
MOST_LETTERS = 300
ADVICE = "Get the file again from where it was saved; where that is not possible, fit the model again."


class Newer(Unreadable):
    """The file is of a format that is not known yet."""


def write(saved: Saved, path: Any) -> None:
    """Write an estimator to a file, in place of what is there."""
    try:
        saved.check()
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}.") from None
    keeper = Keeper()
    head = {"format": FORMAT, "version": [MAJOR, MINOR], "written_by": f"bayesnb {__version__}"}
    said = head | document_of(saved, keeper) | {"arrays": keeper.said}
    text = json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii")
    members = {MODEL: (text,)} | keeper.members()
    with replacing(path) as file:
        write_archive(file, members)


def read(path: Any) -> Saved:
    """The estimator in a file; a ValueError for a file that `write` did not make."""
    with told(path), opened(path) as archive:
        said = _parsed(archive.read(MODEL))
        _check_version(said)
        shelf = Shelf(archive, said["arrays"])
        if archive.names != {MODEL, *map(name_of, range(len(shelf.said)))}:
            raise Unreadable("its members are not the arrays that it names")
        return saved_of(said, shelf)


@contextmanager
def told(path: Any) -> Iterator[None]:
    """Whatever is wrong with a file is one error that says which file, why, and what to do.

    A hostile file may make anything fail anywhere: this is about every exception but those of the machine, and those
    that only a mistake of ours can make.
    """
    try:
        yield
    except (OSError, MemoryError, NameError):
        raise
    except Newer as error:
        raise ValueError(f"{str(path)!r} {error}") from None
    except Exception as error:
        said = shorten(str(error), MOST_LETTERS).rstrip(".")
        what = (
            said if isinstance(error, ValueError) else f"something is missing or odd ({type(error).__name__}: {said})"
        )
        raise ValueError(f"{str(path)!r} is no model that can be read: {what}. {ADVICE}") from error


def _parsed(text: bytes) -> dict[str, Any]:
    said = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise Unreadable("it does not say that it is one")
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable(f"{MODEL} says something twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise Unreadable(f"{MODEL} holds {constant}, which is no JSON")


def _check_version(said: dict[str, Any]) -> None:
    major, minor = said["version"]
    if type(major) is not int or type(minor) is not int or major < 1 or minor < 0:
        raise Unreadable(f"its version {said['version']!r:.50} is none")
    if major > MAJOR:
        raise Newer(
            f"is of format {major}.{minor}, written by {said.get('written_by')!s:.50}; this is bayesnb {__version__}, "
            f"which reads formats up to {MAJOR}. Install a newer bayesnb."
        )
