"""A short model card, and how the page was made, with code that makes the model again.

Mitchell et al. (2019), Model Cards for Model Reporting.
"""

import platform
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import bayesnb
from bayesnb.formatting import count, list_names, percent
from bayesnb.report.checks import WARNING, run_checks
from bayesnb.report.facts import Facts
from bayesnb.report.page import Code, Items, Section, Table, name, write_code

MAX_NAMED = 6
MAX_CODE = 20_000  # letters
PACKAGES = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")


def card(facts: Facts) -> Section:
    """What the model is for, what it was fitted to, how good it is, and its limits."""
    about = facts.about
    counts = facts.counts
    shares = []
    for c in np.argsort(-counts, kind="stable"):
        shares.append(f"{name(facts.classes[c], 40)} {percent(counts[c] / counts.sum())}")
    warned = [check.name for check in run_checks(facts) if check.state == WARNING]
    verdict = str(facts.verdict or "not known")
    terms = [
        ("Model", f"{name(facts.title)}: naive Bayes. {name(about.author)} {name(about.date)}"),
        ("Intended use", name(about.use, 4000) or "Not stated."),
        ("Data", f"{count(len(facts.codes), 'row')}: {list_names(shares, MAX_NAMED)}."),
        ("Verdict", f"{verdict[0].upper()}{verdict[1:]}."),
        (
            "Limits",
            "The scores hold for new rows from the same source. The model describes how columns "
            "and labels occur together, not what would happen if someone changed a column. Open "
            f"warnings: {list_names(warned, MAX_NAMED) or 'none'}.",
        ),
    ]
    return Section("card", "Model card", [Items(terms)])


def made(facts: Facts) -> Section:
    """Versions, command, date, and code that makes the model again."""
    call = write_code(write_value(facts.model), MAX_CODE)
    names = sorted(set(re.findall(r"\b([A-Z]\w+)\(", call)).intersection(bayesnb.__all__))
    code = [
        f"from bayesnb import {', '.join(names)}",
        "from bayesnb.report import report",
        "",
        f"model = {call}.fit(X, y)",
        "html = report(model, X, y)",
    ]
    versions = {
        "Package": [*PACKAGES, "Python"],
        "Version": [*map(version, PACKAGES), platform.python_version()],
    }
    command = write_code(facts.about.command, 4000)
    content = [
        "All random numbers have fixed seeds: the same table, settings and versions give the same "
        "page, but for its date, on the same kind of machine. The same model in Python, from a "
        "table X and labels y:",
        Code(code),
        *(["It was made by this command:", Code([command])] if command else []),
        Table("Versions", versions),
    ]
    return Section("made", "How this page was made", content)


def write_value(value: Any) -> str:
    """Return a value as Python, also estimators, families with their priors, and arrays."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        items = []
        for key, each in value.items():
            items.append(f"{write_value(key)}: {write_value(each)}")
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        start, end = "()" if isinstance(value, tuple) else "[]"
        return start + "".join(f"{write_value(each)}, " for each in value) + end
    if hasattr(value, "get_params"):
        defaults = type(value)().get_params(deep=False)
        return write_call(value, defaults)
    if is_dataclass(value):
        defaults = {field.name: field.default for field in fields(value) if field.init}
        return write_call(value, defaults)
    return repr(value)


def write_call(value: Any, defaults: Mapping[str, Any]) -> str:
    """Return the call that makes a value: the arguments that are not their defaults."""
    renamed = getattr(value, "renamed", {})
    args = []
    for key, default in defaults.items():
        part = getattr(value, key)
        if repr(part) != repr(default):
            args.append(f"{renamed.get(key, key)}={write_value(part)}")
    return f"{type(value).__name__}({', '.join(args)})"
