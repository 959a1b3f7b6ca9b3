"""Safe output: atomic writes, and text without control characters or spreadsheet formulas."""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

# C0 except the tab, delete, C1, direction marks, line and paragraph separators, lone surrogates.
CONTROLS = re.compile(
    "[\\x00-\\x08\\n-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
# what a spreadsheet reads as a formula; signed numbers are not formulas
FORMULA = re.compile(r"^(?=[=@\t\r]|[+-](?!(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$|inf$))", re.I)
IN_MEMORY = 1 << 26  # bytes to buffer in memory; more are buffered on disk


def visible(text: str) -> str:
    """Escape control characters, such as `\\x1b`: names come from files."""
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def quote_formula(cell: Any) -> Any:
    """Return a cell, with an apostrophe before text that a spreadsheet reads as a formula."""
    return FORMULA.sub("'", cell) if isinstance(cell, str) else cell


@contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """Open a stream that replaces a file once all bytes are written.

    A device or a pipe is not replaced, but receives the bytes.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} into; make it "
            "first."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a folder: give the name of a file.")
    try:
        with (
            _device(target)
            if target.exists() and not target.is_file()
            else _beside(target) as stream
        ):
            yield stream
    except OSError as error:
        if error.errno is None or not (
            error.filename is None or str(error.filename).endswith(".part")
        ):
            raise
        # the path that the user gave
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _device(target: Path) -> Iterator[BinaryIO]:
    with cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)) as held:
        yield held
        held.seek(0)
        with open(target, "wb") as stream:
            shutil.copyfileobj(held, stream)


@contextmanager
def _beside(target: Path) -> Iterator[BinaryIO]:
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    _settle(target.parent)


def _settle(folder: Path) -> None:
    """Flush the folder, so that the new name is on disk too, if the system can open folders."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
