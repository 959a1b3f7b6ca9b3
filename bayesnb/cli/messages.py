"""Messages on stderr, so that stdout carries data only: progress, warnings, and each error as one readable line.

Advice of the rooms below is written for Python; here it is reworded as options of the command line.
"""

import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bayesnb.safe_output import visible
from bayesnb.stages import Stages


class UsageError(Exception):
    """The options contradict each other, or cannot be carried out: exit status 2."""


class Console:
    """Lines on stderr, only warnings and errors if the user wants it quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.warnings: set[str] = set()
        self.unseen: dict[
            Hashable, Counter
        ] = {}  # levels that a model has not learnt, column by column
        self.stages = Stages(False if quiet else None)

    def info(self, line: str) -> None:
        """Print a line, unless quiet."""
        if not self.quiet:
            print_line(line)

    def warn(self, line: str) -> None:
        """Print a warning, once."""
        if line not in self.warnings:
            self.warnings.add(line)
            print_line(f"bayesnb: warning: {line}")

    def show_warning(self, message: Any, category: type[Warning], *place: Any) -> None:
        """Print a warning of the rooms below; take the place of `warnings.showwarning`."""
        suspicions: Mapping[Hashable, Any] | None = getattr(message, "suspicions", None)
        if suspicions:
            from bayesnb.cli.column_warnings import column_warnings

            for line in column_warnings(suspicions):
                self.warn(line)
            return
        unseen: Mapping[Hashable, Mapping] | None = getattr(message, "unseen", None)
        if not unseen:
            self.warn(in_options(" ".join(str(message).split())))
            return
        for name, counts in unseen.items():
            self.unseen.setdefault(name, Counter()).update(counts)

    def warn_of_unseen_levels(self) -> None:
        """Print one warning of all levels that the model met and had not learnt."""
        if self.unseen:
            from bayesnb import UnseenLevelWarning

            self.warn(str(UnseenLevelWarning.of(self.unseen)))
            self.unseen = {}

    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Callable[[int], Any]]:
        """Show a bar of bytes on a terminal; yield a function that takes how many more are done.

        The bar names what is done, so the stage before ends.
        """
        self.stages.end()
        if self.quiet or not sys.stderr.isatty():
            yield lambda more: None
            return
        from tqdm import tqdm

        with tqdm(
            total=total, desc=label, unit="B", unit_scale=True, leave=False, delay=0.5
        ) as bar:
            yield bar.update


def print_line(line: str) -> None:
    """Print one line on stderr, in which no text from a table can command the terminal."""
    print(visible(line), file=sys.stderr, flush=True)


# Errors

EXPECTED = (
    UsageError,
    ValueError,
    TypeError,
    KeyError,
    OSError,
    ImportError,
)  # whose text is written for the user


def readable(error: BaseException) -> str:
    """Return an error as one line."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this. {error}".strip()
    if isinstance(error, OSError) and error.strerror is not None:
        return (
            f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
        )
    if not isinstance(error, EXPECTED):
        line = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":.")
        return f"{line}. This is unexpected: --debug shows the traceback."
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return in_options(" ".join(text.split())) or type(error).__name__


@contextmanager
def naming(tables: Sequence[str]) -> Iterator[None]:
    """Name the tables in errors about their cells that come from rooms which do not know the files."""
    try:
        yield
    except ValueError as error:
        name = "standard input" if tables[0] == "-" else tables[0]
        more = f" and {len(tables) - 1} more" if len(tables) > 1 else ""
        raise ValueError(f"{name}{more}: {readable(error)}") from error


# Advice as options

REWORDED: tuple[tuple[str, Callable[[re.Match], str]], ...] = (
    (
        r"families=\{(['\"])(.*?)\1: (\w+)\([^)]*\)\}",
        lambda m: f"--family {quoted(m[2])}={m[3].lower()}",
    ),
    (r"families=\{\.\.\.: None\}", lambda m: "--family COLUMN=drop"),
    (r"\{(['\"])([^'\"]*)\1: None\}", lambda m: f"--family {quoted(m[2])}=drop"),
    (
        r"declare another family: families=\{(.*?): \w+\(\)\}",
        lambda m: f"declare another family: --family {m[1]}=...",
    ),
    (r"families=\{(['\"])(.*?)\1: '(\w+)'\}", lambda m: f"--family {quoted(m[2])}={m[3]}"),
    (r"\bfamilies: (?=there is|the table)", lambda m: "--family: "),
    (r"\bestimate='(\w+)'", lambda m: f"--estimate {m[1]}"),
    (r"\btemper='(loo|columns)'", lambda m: f"--temper {m[1]}"),
    (r"\bci_prob=([\d.]+)", lambda m: f"--prob {m[1]}"),
    (r"\bpositive=('.*?'|\S+)", lambda m: f"--positive {in_shell(m[1].strip(chr(39)))}"),
    (r"\buse='\.\.\.'", lambda m: "--use TEXT"),
    (r"\bdependence=None", lambda m: "--dependence none"),
    (r"\bdependence='(\w+)'", lambda m: f"--dependence {m[1]}"),
    (r"Give Bernoulli a threshold, or declare", lambda m: "Declare"),
    (r" For weights such as tf-idf: fractional=True\.", lambda m: ""),
    (r"^class_prior\b", lambda m: "--class-prior"),
    (r"\bX has\b", lambda m: "the table has"),
)


def in_options(message: str) -> str:
    """Return a message with its advice for Python as advice for the command line."""
    for pattern, replacement in REWORDED:
        message = re.sub(pattern, replacement, message)
    return message


def quoted(name: str) -> str:
    """Return a column's name as `--family` and the shell take it."""
    return in_shell(in_list(name))


def in_list(name: str) -> str:
    """Return a name as it stands between commas: quoted as in CSV where needed."""
    return (
        '"' + name.replace('"', '""') + '"'
        if re.search(r'[,"]', name) or name != name.strip()
        else name
    )


def in_shell(word: str) -> str:
    """Return a word as the shell takes it: quoted where needed."""
    return word if re.fullmatch(r"[\w.%+:@-]+", word) else "'" + word.replace("'", "'\\''") + "'"


class CommandLineAdvice:
    """Remedies on the report's page as options of the command that made it; see `bayesnb.report.remedies.Advice`."""

    temper = "--temper loo"

    def drop(self, keys: Sequence[Hashable]) -> str:
        return f"leave {'it' if len(keys) == 1 else 'them'} out: {self.declare(keys, 'drop')}"

    def declare(self, keys: Sequence[Hashable], family: str) -> str:
        return f"--family {in_shell(','.join(in_list(str(key)) for key in keys))}={family}"

    def reserve(self, key: Hashable) -> str:
        return ""  # a family's parameters other than its prior have no option

    def setting(self, name: str, value: Any) -> str:
        return f"--{name.replace('_', '-')} {value}"

    def reworded(self, message: str) -> str:
        return in_options(message)

    def whole(self, remedies: Any, facts: Any) -> str:
        """The command that made the page, with the options that make all changes in place of those it had."""
        options = {name.replace("_", "-"): f"{value}" for name, value in remedies.params.items()}
        if (
            remedies.dropped and facts.model._declares_nothing
        ):  # what is chosen then stays, now that a family is named
            options |= {
                "temper": facts.model._temper_rule,
                "dependence": facts.model._dependence_rule,
            }
        words = without_options(shlex.split(facts.about.command) or ["bayesnb", "report"], options)
        drop = [self.declare(remedies.dropped, "drop")] if remedies.dropped else []
        return " ".join(
            [
                shlex.join(words),
                *drop,
                *(f"--{name} {in_shell(value)}" for name, value in options.items()),
            ]
        )


def without_options(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the words of a command without options of these names and their values."""
    kept: list[str] = []
    skip = False
    for word in words:
        name, equals, _ = word.removeprefix("--").partition("=")
        dropped = word.startswith("--") and name in names
        if not (skip or dropped):
            kept.append(word)
        skip = dropped and not equals
    return kept
