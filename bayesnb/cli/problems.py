"""Errors in one line, in the words of the command line."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class UsageError(Exception):
    """The command cannot be meant as it stands."""


# What rooms below say to whoever writes Python, and what does the same here.
WORDS = (
    (r"families=\{(['\"])(.*?)\1: (\w+)\([^)]*\)\}", lambda m: f"--family {quoted(m[2])}={m[3].lower()}"),
    (r"families=\{\.\.\.: None\}", lambda m: "--family COLUMN=drop"),
    (r"\{(['\"])([^'\"]*)\1: None\}", lambda m: f"--family {quoted(m[2])}=drop"),
    (r"declare another family: families=\{(.*?): \w+\(\)\}", lambda m: f"declare another family: --family {m[1]}=..."),
    (r"families names columns", lambda m: "--family names columns"),
    (r"\bestimate='(\w+)'", lambda m: f"--estimate {m[1]}"),
    (r"\btemper='loo'", lambda m: "--temper loo"),
    (r"Give Bernoulli a threshold, or declare", lambda m: "Declare"),
    (r" For weights such as tf-idf: fractional=True\.", lambda m: ""),
    (r"^class_prior\b", lambda m: "--class-prior"),
    (r"\bX has\b", lambda m: "the table has"),
)


EXPECTED = (UsageError, ValueError, TypeError, KeyError, OSError, ImportError)  # of which the text is for the user


def readable(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this. {error}".strip()
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if not isinstance(error, EXPECTED):
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":.")
        return f"{what}. This was not foreseen: --debug shows where it arose."
    said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return in_options(" ".join(said.split())) or type(error).__name__


@contextmanager
def naming(tables: Sequence[str]) -> Iterator[None]:
    """Name the tables in errors about what they hold, from rooms that do not know where it came from."""
    try:
        yield
    except ValueError as error:
        name = "standard input" if tables[0] == "-" else tables[0]
        more = f" and {len(tables) - 1} more" if len(tables) > 1 else ""
        raise ValueError(f"{name}{more}: {readable(error)}") from error


def in_options(said: str) -> str:
    """The same advice, by options."""
    for pattern, word in WORDS:
        said = re.sub(pattern, word, said)
    return said


def quoted(name: str) -> str:
    """A column's name as `--family` and the shell take it."""
    return in_shell(in_list(name))


def in_list(name: str) -> str:
    """A text as it stands between commas: quoted as in CSV, where that is needed."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[,"]', name) or name != name.strip() else name


def in_shell(word: str) -> str:
    """A word as the shell takes it."""
    return word if re.fullmatch(r"[\w.%+:@-]+", word) else "'" + word.replace("'", "'\\''") + "'"
