"""Values of options, as text to typed values. Whether they fit the table is checked where it is known."""

import ast
import csv
import math
import re
from argparse import ArgumentTypeError
from typing import Any, NamedTuple

# What help and completion show without a slow import; any other is looked up in the registry of families.
FAMILIES = (
    "categorical",
    "bernoulli",
    "gaussian",
    "poisson",
    "multinomial",
    "joint",
    "multivariate",
    "polyatree",
)
SHARED = ("gaussian:shared", "multivariate:shared")  # one variance for all classes
ESTIMATES = ("predictive", "mean", "map", "mle")
BELIEFS = ("Dirichlet", "Beta", "NormalInverseGamma", "Gamma", "NormalInverseWishart")
PRIOR = re.compile(r"(?:(?P<names>.+?)=)?\s*(?P<value>[A-Za-z]\w*\s*\(.*\)|[^=()]+)", re.S)


class FamilyOption(NamedTuple):
    """A family for some columns, or for all that no other option names."""

    names: tuple[str, ...] | None
    family: str  # the family's name, and ":shared" where all classes have one variance


class PriorOption(NamedTuple):
    """A concentration, or a belief by name, for some columns, or for all that it fits."""

    names: tuple[str, ...] | None
    number: float | None
    belief: str = ""
    parameters: dict[str, Any] = {}  # noqa: RUF012
    values: tuple[Any, ...] = ()
    text: str = ""


def split(text: str) -> list[str]:
    """Split a text at commas; a part with a comma or a quote is quoted as in CSV."""
    try:
        return [
            part.strip()
            for part in next(csv.reader([text], skipinitialspace=True, strict=True), [])
        ]
    except csv.Error as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from None


def listed(text: str) -> tuple[str, ...]:
    """Split names at commas."""
    names = split(text)
    if not names or not all(names):
        raise ArgumentTypeError(f"a name is empty in {text!r}")
    return tuple(names)


def family(text: str) -> FamilyOption:
    """Parse `COLUMNS=FAMILY`, or `FAMILY`, which may end in `:shared`."""
    names, equals, value = text.rpartition("=")
    value = "".join(value.split()).lower()
    if value not in (*FAMILIES, *SHARED, "drop"):
        check_registered(value)
    return FamilyOption(listed(names) if equals else None, value)


def check_registered(value: str) -> None:
    """Raise for a family that is not registered, and for `:shared` after one whose classes share nothing."""
    from bayesnb.data.declaration import family_named, no_family

    try:
        family_named(value)
    except ValueError:
        raise ArgumentTypeError(no_family(value)) from None


def prior(text: str) -> PriorOption:
    """Parse `COLUMNS=PRIOR`, or `PRIOR`: a number or a belief such as Beta(1, 3)."""
    match = PRIOR.fullmatch(text.strip())
    if match is None:
        raise ArgumentTypeError(
            f"{text!r} is not of the form [COLUMNS=]NUMBER or [COLUMNS=]PRIOR(...), such as age=Gamma(2, 1)"
        )
    names = None if match["names"] is None else listed(match["names"])
    value = match["value"].strip()
    if "(" in value:
        return PriorOption(names, None, *belief_call(value), value)
    return PriorOption(names, number(value), text=value)


def belief_call(text: str) -> tuple[str, dict[str, Any], tuple[Any, ...]]:
    """Parse a belief's name and its parameters, which are numbers or lists of them: read, never run."""
    try:
        call = ast.parse(text, mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise ValueError(text)
        values = tuple(map(ast.literal_eval, call.args))
        parameters = {
            str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords
        }
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        raise ArgumentTypeError(
            f"{text!r} is not a prior such as Gamma(shape=2, rate=0.5)"
        ) from None
    if call.func.id not in BELIEFS:
        from bayesnb.families.family import conjugate_priors

        known = conjugate_priors()
        if call.func.id not in known:
            from difflib import get_close_matches

            near = get_close_matches(call.func.id, known, 1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise ArgumentTypeError(f"there is no prior {call.func.id!r}; {advice}")
    return call.func.id, parameters, values


def number(text: str) -> float:
    """Parse a finite number, not negative."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentTypeError(f"{text} must be finite and at least 0")
    return value


def class_prior(text: str) -> Any:
    """Parse `uniform`, `empirical`, a concentration, or `LABEL=PROBABILITY,...`."""
    if text in ("uniform", "empirical"):
        return text
    if "=" not in text:
        return number(text)
    pairs = [each.rpartition("=") for each in listed(text)]
    if len({label for label, _, _ in pairs}) < len(pairs) or not all(
        label for label, _, _ in pairs
    ):
        raise ArgumentTypeError(f"{text!r}: give each label one probability")
    return {label.strip(): number(probability) for label, _, probability in pairs}


DEPENDENCE = ("auto", "none", "forest", "pairs", "blocks")


def temper(text: str) -> Any:
    """Parse `auto`, `columns`, `loo`, `none`, or an exponent above 0."""
    if text in ("auto", "columns", "loo", "none"):
        return text
    value = number(text)
    if value == 0:
        raise ArgumentTypeError("it must be a number above 0, auto, columns, loo or none")
    return value


def probability(text: str) -> float:
    """Parse a probability strictly between 0 and 1."""
    value = number(text)
    if not 0 < value < 1:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Parse distinct numbers between commas."""
    values = tuple(number(each) for each in listed(text))
    if len(set(values)) < len(values):
        raise ArgumentTypeError(f"{text!r} names a number twice")
    return values


def estimates(text: str) -> tuple[str, ...]:
    """Parse distinct estimates between commas."""
    names = listed(text)
    if len(set(names)) < len(names) or not set(names) <= set(ESTIMATES):
        raise ArgumentTypeError(f"{text!r}: choose from {', '.join(ESTIMATES)}, each at most once")
    return names


def missing(text: str) -> tuple[str, ...]:
    """Parse the texts that stand for a missing cell; an empty one is the empty cell."""
    return tuple(split(text) or [""])


def delimiter(text: str) -> str:
    """Parse one character; a tab may be written `tab` or `\\t`."""
    mark = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n':
        raise ArgumentTypeError(f"{text!r} is neither one character nor tab")
    return mark


def whole_number(text: str) -> int:
    """Parse a whole number, not negative."""
    if not re.fullmatch(r"[0-9]+", text):
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
