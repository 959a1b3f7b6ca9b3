"""What a command writes: all of it or nothing. A file appears under its name only when it is complete."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from bayesnb.cli.messages import UsageError
from bayesnb.safe_output import IN_MEMORY, replacing, visible

FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl")


def check_output(command: str, output: str, inputs: Sequence[str | None] = ()) -> None:
    """Raise for a file that cannot be written, or that would replace an input: before the slow imports and the work."""
    if output == "-":
        return
    path = Path(output).resolve()
    if path.is_dir():
        raise UsageError(f"{command}: -o {output} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise UsageError(f"{command}: there is no folder {path.parent} for {output}.")
    if path.is_file() and any(
        each and Path(each).exists() and path.samefile(each) for each in inputs
    ):
        raise UsageError(f"{command}: -o {output} would overwrite a file that is read.")
    if not os.access(path if path.exists() and not path.is_file() else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder is not writable", str(path.parent))


def check_model_output(
    command: str, option: str, output: str, others: Sequence[str | None]
) -> None:
    """Raise for a file of a model that cannot be written, or that is also read or written as something else."""
    if output == "-":
        raise UsageError(
            f"{command}: a model cannot be written to stdout. Name a file: {option} MODEL.bnb."
        )
    if Path(output).resolve() in {
        Path(other).resolve() for other in others if other not in (None, "-")
    }:
        raise UsageError(
            f"{command}: {option} {output} is also another file of this command. Give another name."
        )
    check_output(command, output, others)


def check_inputs(command: str, inputs: Sequence[str | None]) -> None:
    """Raise for files that are not there, and for standard input that is to be read twice."""
    if inputs.count("-") > 1:
        raise UsageError(f"{command}: standard input can be read only once.")
    for path in inputs:
        if path is not None and path != "-":
            os.stat(path)


def output_format(command: str, output: str, declared: str | None = None) -> str:
    """Return the format in which a table is written: the declared one, or that of the file's name."""
    if declared is not None or output == "-":
        return declared or "csv"
    path = Path(output)
    if path.suffix[1:] in FORMATS:  # without the slow import
        return path.suffix[1:]
    from bayesnb.data import format_of_name

    by_name = format_of_name(output)
    if by_name is not None:
        return by_name
    if path.exists() and not path.is_file():  # a device or a pipe, whose name says nothing
        return "csv"
    raise UsageError(
        f"{command}: the format of {output} is not clear from its name, which must end in .csv, .tsv, "
        ".jsonl, .parquet or .arrow."
    )


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
            copy = _copy_visible if sys.stdout.isatty() else shutil.copyfileobj
            copy(buffer, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error


def _copy_visible(buffer: BinaryIO, terminal: BinaryIO) -> None:
    """Copy lines to a terminal: control characters of cells are shown as escapes, and not obeyed."""
    for line in buffer:
        text = line.decode("utf-8", "backslashreplace").removesuffix("\n")
        terminal.write(visible(text).encode() + b"\n" * line.endswith(b"\n"))


def write_text(output: str, text: str) -> None:
    """Write a text, all of it or nothing."""
    with complete_output(output) as stream:
        stream.write(text.encode("utf-8"))


def write_table(output: str, kind: str, table: Any) -> None:
    """Write a dataframe in a format, all of it or nothing."""
    from bayesnb.data import open_writer

    with complete_output(output) as stream:
        writer = open_writer(stream, kind, output.endswith(".gz"))
        writer.write(table)
        writer.close()
