"""What the options' values say: read here, judged where the table is known. Nothing heavy is imported."""

import argparse
import ast
import csv
import math
import re
from typing import Any, NamedTuple

ESTIMATES = ("predictive", "mean", "map", "mle")
PRIOR = re.compile(r"(?:(?P<names>.+?)=)?\s*(?P<value>[A-Za-z]\w*\s*\(.*\)|[^=()]+)", re.S)


class FamilySaid(NamedTuple):
    """A family for some columns, or for all that are not named elsewhere."""

    names: tuple[str, ...] | None
    family: str  # its name, and ":shared" where all classes have one variance


class PriorSaid(NamedTuple):
    """A concentration, or a belief by name, for some columns, or for all that it fits."""

    names: tuple[str, ...] | None
    number: float | None
    belief: str = ""
    parameters: dict[str, Any] = {}  # noqa: RUF012
    values: tuple[Any, ...] = ()
    text: str = ""


def listed(text: str) -> tuple[str, ...]:
    """Names between commas; a name that has a comma or a quote itself is quoted as in CSV."""
    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"a name is empty in {text!r}")
    return tuple(names)


def family(text: str) -> FamilySaid:
    """`COLUMNS=FAMILY`, or `FAMILY`, which may end in `:shared`."""
    names, equals, said = text.rpartition("=")
    said = "".join(said.split()).lower()
    name, colon, how = said.partition(":")
    from bayesnb.families import FAMILIES

    if name != "drop" and name not in FAMILIES:
        raise argparse.ArgumentTypeError(f"there is no family {name!r}; there are {', '.join(FAMILIES)}, drop")
    if colon and (how != "shared" or name == "drop" or not FAMILIES[name].shareable()):
        every = " and ".join(f"{word}:shared" for word, kind in FAMILIES.items() if kind.shareable())
        raise argparse.ArgumentTypeError(f"{said!r}: there are {every}, which have one variance for all classes")
    return FamilySaid(listed(names) if equals else None, said)


def prior(text: str) -> PriorSaid:
    """`COLUMNS=PRIOR`, or `PRIOR`: a number or a belief such as Beta(1, 3)."""
    found = PRIOR.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not [COLUMNS=]NUMBER or [COLUMNS=]BELIEF(...)")
    names = None if found["names"] is None else listed(found["names"])
    value = found["value"].strip()
    if "(" in value:
        return PriorSaid(names, None, *called(value), value)
    return PriorSaid(names, number(value), text=value)


def called(value: str) -> tuple[str, dict[str, Any], tuple[Any, ...]]:
    """A belief's name and its parameters, which are numbers or lists of them: read, never run."""
    from bayesnb.families.family import conjugate_priors

    try:
        call = ast.parse(value, mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise ValueError(value)
        values = tuple(map(ast.literal_eval, call.args))
        parameters = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        raise argparse.ArgumentTypeError(f"{value!r} is no belief such as Gamma(shape=2, rate=0.5)") from None
    known = conjugate_priors()
    if call.func.id not in known:
        raise argparse.ArgumentTypeError(f"there is no belief {call.func.id!r}; there are {', '.join(known)}")
    return call.func.id, parameters, values


def number(text: str, least: float = 0.0) -> float:
    """A finite number, not below `least`."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not (math.isfinite(value) and value >= least):
        raise argparse.ArgumentTypeError(f"{text} must be finite and not below {least:g}")
    return value


def class_prior(text: str) -> Any:
    """`uniform`, `empirical`, a concentration, or `LABEL=PROBABILITY,...`."""
    if text in ("uniform", "empirical"):
        return text
    if "=" not in text:
        return number(text)
    said = [each.rpartition("=") for each in listed(text)]
    if len({label for label, _, _ in said}) < len(said) or not all(label for label, _, _ in said):
        raise argparse.ArgumentTypeError(f"{text!r}: each label needs one probability")
    return {label.strip(): number(share) for label, _, share in said}


def temper(text: str) -> Any:
    """`loo`, or an exponent above 0."""
    if text == "loo":
        return text
    value = number(text)
    if value == 0:
        raise argparse.ArgumentTypeError("it must be above 0, or loo")
    return value


def probability(text: str) -> float:
    """A probability between 0 and 1, neither of them."""
    value = number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas, each once."""
    values = tuple(number(each) for each in listed(text))
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"{text!r} has a number twice")
    return values


def estimates(text: str) -> tuple[str, ...]:
    """Estimates between commas, each once."""
    names = listed(text)
    unknown = [name for name in names if name not in ESTIMATES]
    if unknown or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not some of {', '.join(ESTIMATES)}, each once")
    return names


def missing(text: str) -> tuple[str, ...]:
    """Texts that say that a cell is missing; one that is empty is the empty cell."""
    try:
        return tuple(each.strip() for each in next(csv.reader([text], strict=True)) or [""])
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def delimiter(text: str) -> str:
    """One character; a tab may be said as `tab` or `\\t`."""
    mark = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character, or tab")
    return mark


def whole_number(text: str) -> int:
    """A whole number, not negative."""
    if not re.fullmatch(r"[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, 0 or more")
    return int(text)
