"""Output of commands: results, written completely or not at all, and messages on stderr."""

import errno
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import click

from bayesnb.safe_output import IN_MEMORY, replacing, visible
from bayesnb.stages import Stages

# Messages


def print_line(line: str) -> None:
    """Print one line on stderr, with control characters from tables escaped."""
    print(visible(line), file=sys.stderr, flush=True)


class Console(NamedTuple):
    """Messages of a running command: stages and, unless quiet, results."""

    quiet: bool
    stages: Stages

    def info(self, *lines: str) -> None:
        """Print lines, unless quiet."""
        for line in lines:
            if line and not self.quiet:
                print_line(line)


def show_warning(message: Warning | str, *place: Any) -> None:
    """Print the lines of a warning; replaces `warnings.showwarning`."""
    for line in str(message).splitlines():
        print_line(f"bayesnb: warning: {line}")


def describe_error(error: BaseException) -> str:
    """Return an error as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this. {text}".strip()
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, (ValueError, TypeError, OSError, ImportError)) and text:
        return text
    kind = type(error).__name__
    return f"{kind}: {text.rstrip('.')}. This is unexpected: --debug shows the traceback."


# Files, checked before the slow imports and the work


def check_files(params: Mapping[str, Any]) -> None:
    """Raise for files that are missing, in the wrong order, or cannot be written."""
    model = params.get("model")
    table = params.get("table")
    inputs = list(filter(None, [model, table, params.get("test"), *params.get("tables", ())]))
    if inputs.count("-") > 1:
        raise click.UsageError("standard input can be read only once.")
    for path in inputs:
        if path != "-":
            os.stat(path)
    if model and table and is_model(table) and not is_model(model):
        raise click.UsageError(
            f"{table} is a model and {model} is not: MODEL comes before TABLE. Swap the two."
        )
    if params.get("save") == "-":
        raise click.UsageError("a model cannot be written to stdout. Name a file, MODEL.bnb.")
    taken = [Path(path).resolve() for path in inputs]
    for output in (params.get("output"), params.get("save")):
        if output is None or output == "-":
            continue
        path = Path(output).resolve()
        if path in taken:
            raise click.UsageError(f"{output} would overwrite another file of this command.")
        if not path.parent.is_dir():
            raise click.UsageError(f"there is no folder {path.parent} for {output}.")
        taken.append(path)


def is_model(path: str) -> bool:
    """Return whether a file is a saved model."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "model.json" in archive.namelist()


def output_format(output: str) -> str:
    """Return the format of an output by its name; devices and pipes may have any name."""
    from bayesnb.data.files import format_of_name

    kind = format_of_name(output)
    is_stream = output == "-" or (Path(output).exists() and not Path(output).is_file())
    if kind is None and not is_stream:
        raise click.UsageError(
            f"the format of {output} is not clear from its name. It must end in "
            ".csv, .tsv, .parquet, .arrow or .jsonl."
        )
    return kind or "csv"


# Writing


@contextmanager
def complete_output(output: str) -> Iterator[BinaryIO]:
    """Open a file, or stdout for `-`, that receives nothing until everything is written."""
    if output != "-":
        with replacing(output) as stream:
            yield stream
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")
    is_terminal = sys.stdout.isatty()
    with cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)) as buffer:
        yield buffer
        buffer.seek(0)
        try:
            for line in buffer:
                if is_terminal:  # escape control characters in cells
                    text = line.decode("utf-8", "backslashreplace").removesuffix("\n")
                    line = visible(text).encode() + b"\n"
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError:
            sys.stdout = None  # or Python tries again when it exits
            raise


def write_text(output: str, text: str) -> None:
    """Write a text completely or not at all."""
    with complete_output(output) as stream:
        stream.write(text.encode("utf-8"))


def write_tables(output: str, kind: str, tables: Iterable[Any]) -> int:
    """Write dataframes one below the other, all or none; return the number of rows."""
    from bayesnb.data.files import write_frames

    with complete_output(output) as stream:
        return write_frames(tables, stream, kind, packed=output.endswith(".gz"))
