"""What a command writes: results, all of them or nothing, and messages on stderr."""

import errno
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import click

from bayesnb.cli.options import FORMATS
from bayesnb.safe_output import IN_MEMORY, replacing, visible
from bayesnb.stages import Stages

HIDDEN = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    ResourceWarning,
)


# Messages


def print_line(line: str) -> None:
    """Print one line on stderr, in which no text from a table can command the terminal."""
    print(visible(line), file=sys.stderr, flush=True)


class Console:
    """Messages of a command that runs: warnings, stages of work and, unless quiet, results."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.stages = Stages(False if quiet else None)
        self.catching = warnings.catch_warnings()

    def __enter__(self) -> Self:
        self.catching.__enter__()
        for category in HIDDEN:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = self.show_warning  # type: ignore[assignment]
        self.stages.begin("loading packages")
        return self

    def __exit__(self, *error: Any) -> None:
        self.stages.end()
        self.catching.__exit__(*error)

    def info(self, *lines: str) -> None:
        """Print lines, unless quiet."""
        for line in lines:
            if line and not self.quiet:
                print_line(line)

    def show_warning(self, message: Any, category: type[Warning], *place: Any) -> None:
        """Print the lines of a warning; take the place of `warnings.showwarning`."""
        for line in str(message).splitlines():
            print_line(f"bayesnb: warning: {line}")


def describe_error(error: BaseException) -> str:
    """Return an error as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this. {text}".strip()
    if isinstance(error, OSError) and error.strerror is not None:
        named = f"{error.filename}: " if error.filename is not None else ""
        return f"{named}{error.strerror}"
    if isinstance(error, (ValueError, TypeError, OSError, ImportError)) and text:
        return text
    kind = type(error).__name__
    return f"{kind}: {text.rstrip('.')}. This is unexpected: --debug shows the traceback."


# Files, checked before the slow imports and the work


def check_inputs(*paths: str | None) -> None:
    """Raise for files that are not there, and for standard input that is to be read twice."""
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be read only once.")
    for path in paths:
        if path is not None and path != "-":
            os.stat(path)


def check_output(output: str, *others: str | None, is_model: bool = False) -> None:
    """Raise for a file that cannot be written, or that is another file of the command."""
    if output == "-" and not is_model:
        return
    if output == "-":
        raise click.UsageError("a model cannot be written to stdout. Name a file, MODEL.bnb.")
    path = Path(output).resolve()
    if path.is_dir():
        raise click.UsageError(f"{output} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise click.UsageError(f"there is no folder {path.parent} for {output}.")
    for other in others:
        if other is not None and path == Path(other).resolve():
            raise click.UsageError(f"{output} would overwrite another file of this command.")
    is_device = path.exists() and not path.is_file()
    if not os.access(path if is_device else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder is not writable", str(path.parent))


def is_model(path: str) -> bool:
    """Return whether a file is a saved model."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "model.json" in archive.namelist()


def check_order(model: str, table: str) -> None:
    """Raise where a table stands in the place of the model, and the model in that of the table."""
    if is_model(table) and not is_model(model):
        raise click.UsageError(
            f"{table} is a model and {model} is not: MODEL comes before TABLE. Swap the two."
        )


def output_format(output: str) -> str:
    """Return the format that the name of an output means."""
    if output == "-":
        return "csv"
    path = Path(output)
    if path.suffix[1:] in FORMATS:  # without the slow import
        return path.suffix[1:]
    from bayesnb.data import format_of_name

    by_name = format_of_name(output)
    if by_name is not None:
        return by_name
    if path.exists() and not path.is_file():  # a device or a pipe, whose name says nothing
        return "csv"
    raise click.UsageError(
        f"the format of {output} is not clear from its name, which must end in "
        f"{', '.join(f'.{name}' for name in FORMATS)}."
    )


# Writing


@contextmanager
def complete_output(output: str) -> Iterator[BinaryIO]:
    """Open a file, or stdout for `-`, on which nothing arrives before all is written."""
    if output != "-":
        with replacing(output) as stream:
            yield stream
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")
    with cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)) as buffer:
        yield buffer
        buffer.seek(0)
        try:
            sys.stdout.flush()
            copy = copy_visible if sys.stdout.isatty() else shutil.copyfileobj
            copy(buffer, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error


def copy_visible(buffer: BinaryIO, terminal: BinaryIO) -> None:
    """Copy lines to a terminal, control characters of cells as escapes."""
    for line in buffer:
        text = line.decode("utf-8", "backslashreplace").removesuffix("\n")
        terminal.write(visible(text).encode() + b"\n" * line.endswith(b"\n"))


def write_text(output: str, text: str) -> None:
    """Write a text, all of it or nothing."""
    with complete_output(output) as stream:
        stream.write(text.encode("utf-8"))


def write_tables(output: str, kind: str, tables: Iterable[Any]) -> int:
    """Write dataframes below each other, all of them or nothing; return the number of rows."""
    from bayesnb.data import open_writer

    rows = 0
    with (
        complete_output(output) as stream,
        closing(open_writer(stream, kind, output.endswith(".gz"))) as writer,
    ):
        for table in tables:
            writer.write(table)
            rows += len(table)
    return rows
