"""Runs one command, and makes a line and an exit code of whatever ends it.

0: done. 1: the job failed. 2: the command cannot be meant as it stands. 130: interrupted.
"""

import os
import shlex
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from bayesnb.cli.parser import arguments
from bayesnb.cli.problems import UsageError, readable
from bayesnb.cli.talk import Talk
from bayesnb.visible import visible

HIDDEN = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # it is closed, and talk would go to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if argv is None:
        signal.signal(signal.SIGTERM, _stop)  # what is half written is taken away
    try:
        said = parsed(words)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    said.command = shlex.join(["bayesnb", *words])
    said.talk = Talk(said.quiet)
    try:
        return _run(said)
    except BrokenPipeError:  # whoever read us has seen enough
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        return 130


def parsed(words: Sequence[str]) -> Any:
    """What was said; tables may also stand behind options."""
    parser = arguments()
    said, rest = parser.parse_known_args(words)
    if any(word.startswith("-") and word != "-" for word in rest) or (rest and not hasattr(said, "tables")):
        what = visible(shlex.join(rest))
        parser.exit(2, f"bayesnb {said.name}: error: unrecognized arguments: {what}. See bayesnb {said.name} --help\n")
    if rest:
        said.tables += rest
    return said


def _run(said: Any) -> int:
    """The command, with warnings as lines and errors as one."""
    try:
        with warnings.catch_warnings():
            for category in HIDDEN:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = said.talk.show_warning
            said.run(said)
            said.talk.tell_unseen()
            _flush()
        return 0
    except BrokenPipeError:
        raise
    except Exception as error:
        if said.debug:
            raise
        said.talk.fail(readable(error))
        try:
            _flush()
        except OSError:
            _forget_stdout()  # it is what is full
        return 2 if isinstance(error, UsageError) else 1


def _flush() -> None:
    if sys.stdout is not None:  # it is None if it is closed
        sys.stdout.flush()


def _forget_stdout() -> None:
    """Let nothing more be written, at exit neither."""
    with suppress(OSError, ValueError):  # it is no file in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
