"""The parser of all commands, and how one is run: a line and an exit code for every way in which it can end.

0: done. 1: the job failed. 2: bad usage. 130: interrupted.
"""

import atexit
import gc
import os
import shlex
import signal
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from bayesnb import __version__
from bayesnb.cli import (
    compare_command,
    completion_command,
    data_command,
    explain_command,
    fit_command,
    predict_command,
    report_command,
    show_command,
)
from bayesnb.cli.command_options import TABLES, CommandHelp, Parser, did_you_mean, options_of
from bayesnb.cli.messages import Console, UsageError, print_line, readable
from bayesnb.safe_output import visible

HIDDEN = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    ResourceWarning,
)
COMMANDS = (
    report_command,
    fit_command,
    predict_command,
    show_command,
    explain_command,
    compare_command,
    data_command,
    completion_command,
)
EXAMPLES = """\
examples:
  bayesnb report                                         the penguins that ship with bayesnb
  bayesnb report customers.csv --target churned          your table, to report.html
  bayesnb fit customers.csv --target churned -o churn.bnb
  bayesnb predict churn.bnb new.csv -o answers.csv
  bayesnb compare customers.csv --target churned
  bayesnb data penguins > penguins.csv
"""


def build_parser() -> ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="bayesnb",
        description="Naive Bayes with exact posteriors, from the command line. `bayesnb COMMAND --help` describes each "
        "command.",
        epilog=f"{EXAMPLES}\n{TABLES}",
        formatter_class=CommandHelp,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="command"
    )
    for command in COMMANDS:
        command.add(commands)
    return parser


def parse(words: Sequence[str], parser: ArgumentParser | None = None) -> Namespace:
    """Parse a command's words; tables may also stand after options."""
    parser = parser or build_parser()
    args, rest = parser.parse_known_args(words)
    if any(word.startswith("-") and word != "-" for word in rest) or (
        rest and not hasattr(args, "tables")
    ):
        command, unknown = f"bayesnb {args.command}", visible(shlex.join(rest))
        meant = did_you_mean(rest[0].partition("=")[0], options_of(parser, args.command))
        parser.exit(
            2, f"{command}: error: unrecognized arguments: {unknown}.{meant} See {command} --help\n"
        )
    if rest:
        args.tables += rest
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if sys.stderr is None:  # it is closed, and messages would go to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if argv is None:
        _set_up_process()
    try:
        parser = build_parser()
        completion_command.answer_shell(parser)
        args = parse(words, parser)
    except SystemExit as stop:  # argparse has printed why
        return int(stop.code or 0)
    args.words = shlex.join(["bayesnb", *words])
    args.console = Console(args.quiet)
    try:
        return _run(args)
    except BrokenPipeError:  # the reader of stdout has seen enough
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        return 130


def _set_up_process() -> None:
    """Set up a process that runs one command and ends."""
    signal.signal(signal.SIGTERM, _terminate)  # so that a half-written file is removed
    gc.set_threshold(
        200_000, 20
    )  # the default goes through all that is imported, again and again: a tenth of the time
    atexit.register(gc.freeze)  # nor is it gone through when Python exits: another tenth


def _run(args: Namespace) -> int:
    """Run the command, with warnings as lines and an error as one line."""
    try:
        with warnings.catch_warnings(), args.console.stages as stages:
            stages.begin("loading packages")
            for category in HIDDEN:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = args.console.show_warning
            args.run(args)
            args.console.warn_of_unseen_levels()
            _flush()
        return 0
    except BrokenPipeError:
        raise
    except Exception as error:
        if args.debug:
            raise
        print_line(f"bayesnb: error: {readable(error)}")
        try:
            _flush()
        except OSError:
            _forget_stdout()  # the disk behind it is full
        return 2 if isinstance(error, UsageError) else 1


def _flush() -> None:
    if sys.stdout is not None:  # it is None if it is closed
        sys.stdout.flush()


def _forget_stdout() -> None:
    """Let nothing more be written to stdout, nor when Python exits."""
    with suppress(OSError, ValueError):  # it is no file in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
