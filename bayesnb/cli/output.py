"""What a command writes: all of it or nothing. A file appears under its name only when it is complete."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from bayesnb.cli.problems import UsageError

IN_MEMORY = 1 << 26  # bytes that wait in memory until all are there, more of them on disk


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
    if not os.access(path if is_special(path) else path.parent, os.W_OK):
        raise PermissionError(13, "the folder may not be written to", str(path.parent))


def is_special(path: Path) -> bool:
    """Whether something is there that is no file: a device or a pipe, which must not be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def part_of(goal: str) -> Iterator[Path]:
    """Where to write a file that then takes the name of the goal."""
    path = Path(goal).resolve()  # a link stays a link
    part = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        yield part
        if path.exists():
            part.chmod(path.stat().st_mode & 0o7777)
        part.replace(path)
    except OSError as error:
        raise named(error, goal) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def whole(goal: str) -> Iterator[BinaryIO]:
    """A stream for a file, or, by `-`, for stdout, on which nothing arrives before all is written."""
    if goal != "-" and not is_special(Path(goal)):
        with part_of(goal) as part, part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        return
    with cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)) as held:
        yield held
        held.seek(0)
        if goal == "-":
            try:
                sys.stdout.flush()
                shutil.copyfileobj(held, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            except OSError as error:
                raise named(error, "standard output") from error
        else:
            with open(goal, "wb") as stream:
                shutil.copyfileobj(held, stream)


def named(error: OSError, goal: str) -> OSError:
    """The error, with the name that the user knows."""
    ours = error.filename is None or str(error.filename).endswith(".part")
    return OSError(error.errno, error.strerror, goal) if error.errno is not None and ours else error


def write_text(goal: str, text: str) -> None:
    """All of the text, or nothing."""
    with whole(goal) as stream:
        stream.write(text.encode("utf-8"))
