"""`bayesnb completion`: a script by which a shell completes commands, options, their values, and files.

At each press of the key the script asks `bayesnb` itself, through argcomplete; the answer imports nothing slow.
"""

import os
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

from bayesnb.cli.command_options import add_command
from bayesnb.cli.messages import in_list
from bayesnb.cli.option_values import BELIEFS, ESTIMATES, FAMILIES, SHARED
from bayesnb.cli.output import write_text

EXAMPLES = """\
  bayesnb completion bash > ~/.local/share/bash-completion/completions/bayesnb
  bayesnb completion zsh > ~/.zfunc/_bayesnb        (a folder of fpath, before compinit)
  bayesnb completion fish > ~/.config/fish/completions/bayesnb.fish"""
SHELLS = ("bash", "zsh", "fish")
LONGEST = 1 << 16  # characters of a header that is completed from


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "completion",
        EXAMPLES,
        help="write a completion script for bash, zsh or fish",
        description="Write a script that lets a shell complete commands, options, their values and file names.",
    )
    command.add_argument("shell", choices=SHELLS)
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Write the script."""
    import argcomplete

    write_text("-", argcomplete.shellcode(["bayesnb"], shell=args.shell))


def answer_shell(parser: ArgumentParser) -> None:
    """Print the completions and exit, if it is a completion script that runs this process."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        completer: Any = complete_value
        argcomplete.autocomplete(
            parser,
            exit_method=sys.exit,
            always_complete_options="long",
            default_completer=completer,
        )


def complete_value(
    prefix: str, action: Action, parsed_args: Namespace, **rest: Any
) -> Iterable[str]:
    """Return the values that an option or argument may have, of which argcomplete keeps those with the prefix."""
    columns = columns_of(parsed_args)
    match action.metavar:
        case "COLUMN":
            return columns
        case "[COLUMNS=]FAMILY":
            return by_column(prefix, columns, [*FAMILIES, *SHARED, "drop"])
        case "[COLUMNS=]PRIOR":
            return by_column(prefix, columns, [f"{belief}(" for belief in BELIEFS])
        case "PRIOR":
            return "empirical", "uniform"
        case "auto|columns|loo|none|T":
            return "auto", "columns", "loo", "none"
        case "COLUMNS":
            return listed_after(prefix, map(in_list, columns))
        case "LIST" if action.dest == "estimates":
            return listed_after(prefix, ESTIMATES)
        case "NAME" if action.dest == "example":
            from bayesnb.datasets import EXAMPLES as TABLES

            return TABLES
        case "TABLE" | "FILE" | "MODEL":
            from argcomplete.completers import FilesCompleter

            return FilesCompleter()(prefix)
    return ()


def listed_after(prefix: str, names: Iterable[str]) -> list[str]:
    """Return the completions of a list between commas: each name, behind those that are there."""
    head, comma, _ = prefix.rpartition(",")
    return [head + comma + name for name in names]


def by_column(prefix: str, columns: Iterable[str], values: Iterable[str]) -> list[str]:
    """Return the completions of `[COLUMNS=]VALUE`: values, and before the last = names of columns between commas."""
    names, equals, _ = prefix.rpartition("=")
    if equals:
        return [f"{names}={value}" for value in values]
    head, comma, _ = prefix.rpartition(",")
    return [*values, *(f"{head}{comma}{in_list(name)}=" for name in columns)]


def columns_of(args: Namespace) -> list[str]:
    """Return the columns of the first table of the command, where it is plain text."""
    tables = getattr(args, "tables", None) or [getattr(args, "table", None)]
    if not str(tables[0]).endswith((".csv", ".tsv", ".txt")):
        return []
    import csv

    try:
        with open(tables[0], encoding="utf-8-sig") as file:
            header = file.readline(LONGEST)
    except (OSError, ValueError):
        return []
    delimiter = getattr(args, "delimiter", None) or max(",;\t|", key=header.count)
    return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
