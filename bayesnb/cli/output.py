"""What a command writes: all of it or nothing. A file appears under its name only when it is complete."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from bayesnb.cli.problems import UsageError
from bayesnb.safe_output import IN_MEMORY, replacing
from bayesnb.visible import visible


def check_goal(command: str, goal: str, inputs: tuple[str | None, ...] = ()) -> None:
    """Raise for what cannot be written, before the work."""
    if goal == "-":
        return
    path = Path(goal).resolve()
    if path.is_dir():
        raise UsageError(f"{command}: {goal} is a folder; give -o a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"{command}: there is no folder {path.parent} for {goal}.")
    if path.is_file() and any(each and Path(each).exists() and path.samefile(each) for each in inputs):
        raise UsageError(f"{command}: -o {goal} would replace what is read.")
    if not os.access(path if path.exists() and not path.is_file() else path.parent, os.W_OK):
        raise PermissionError(13, "the folder may not be written to", str(path.parent))


@contextmanager
def whole(goal: str) -> Iterator[BinaryIO]:
    """A stream for a file, or, by `-`, for stdout, on which nothing arrives before all is written."""
    if goal != "-":
        with replacing(goal) as stream:
            yield stream
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")
    with cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)) as held:
        yield held
        held.seek(0)
        try:
            sys.stdout.flush()
            copy_lines(held, sys.stdout.buffer) if sys.stdout.isatty() else shutil.copyfileobj(held, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error


def copy_lines(held: BinaryIO, terminal: BinaryIO) -> None:
    """Copy what someone reads on a terminal: control characters of cells are shown as escapes, and not obeyed."""
    for line in held:
        text = line.decode("utf-8", "backslashreplace").removesuffix("\n")
        terminal.write(visible(text).encode() + b"\n" * line.endswith(b"\n"))


def write_text(goal: str, text: str) -> None:
    """All of the text, or nothing."""
    with whole(goal) as stream:
        stream.write(text.encode("utf-8"))
