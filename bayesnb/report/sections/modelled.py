"""What was modelled: rows, classes, columns, families, priors in words and numbers; and how the page was made."""

import platform
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np

from bayesnb.families import Dirichlet
from bayesnb.families.family import Family
from bayesnb.families.number_format import NOTHING, fixed, times
from bayesnb.families.record import Record
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import Feature
from bayesnb.report.wording import brief, count, described, percent, spelled
from bayesnb.results.display import Cell, Name, phrase
from bayesnb.selection.inclusion import in_words, overstated_columns

MOST_CLASSES = 12  # are listed
MOST_NAMED = 6  # columns of a family
MOST_SHOWN = 25  # columns in a table that is open
MOST_LISTED = 1000  # columns in a table at all
PARTS = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
LETTERS = 20_000  # of code
Values = dict[str, Any]


def modelled(facts: Facts) -> Values:
    """Rows, classes, columns, priors, evidence."""
    features, model = facts.features.all, facts.model
    shown = facts.features.ranked[:MOST_LISTED] if len(features) > MOST_LISTED else features
    averaged = getattr(model, "average_features", None) is not None
    defined = all(feature.log_evidence is not None for feature in features)
    return {
        "rows": count(len(facts.codes), "row"),
        "class_count": count(len(facts.classes), "class"),
        "column_count": count(len(model.schema_.families), "column"),
        "blocks": ("all" if len(features) == 1 else "some") if any(feature.joint for feature in features) else "",
        "notes": [Name(note, 4000) for note in facts.about.notes],
        "dropped": [Name(brief(name)) for name in facts.dropped],
        **classes(facts),
        **class_prior(facts),
        "most_listed": MOST_CLASSES,
        "families": families(facts),
        "most_named": MOST_NAMED,
        "averaged": Name(brief(repr(model.average_features))) if averaged else None,
        "overstated": overstated(facts),
        "columns": [column_row(feature) for feature in shown],
        "most_shown": MOST_SHOWN,
        "unlisted": len(features) - len(shown),
        "evidence": fixed(model.log_evidence_, 1) if defined and model.class_prior_.strictly_proper.all() else "",
    }


def classes(facts: Facts) -> Values:
    """How many rows each class has; of many classes, the most frequent."""
    counts = facts.counts
    most = np.arange(len(counts))
    if len(counts) > MOST_CLASSES:
        most = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    left = len(counts) - len(most)
    rest = f"{count(left, 'class')} more, with {count(counts.sum() - counts[most].sum(), 'row')}."
    rows = [(Name(facts.classes[c]), f"{counts[c]:,}", percent(counts[c] / counts.sum())) for c in most]
    return {"classes": rows, "more_classes": rest if left else ""}


def class_prior(facts: Facts) -> Values:
    """How often each class was expected."""
    prior = facts.model.model_.prior.classes
    if isinstance(prior, Dirichlet):
        return {"prior_times": times(prior.concentration)}
    counted = np.isfinite(getattr(prior, "rows", np.inf))
    shares = zip(facts.classes, prior.mean(), strict=True)
    return {
        "prior_times": "",
        "prior_source": "counted in the rows" if counted else "given, not learnt",
        "prior_shares": [phrase("{} {}", Name(brief(label)), percent(p)) for label, p in shares],
    }


def families(facts: Facts) -> list[Values]:
    """Each family with what was declared and what was inferred."""
    groups: dict[tuple[str, str, bool], list[Feature]] = {}
    names = declared(facts.model)
    for feature in facts.features.all:
        kind = type(feature.family).__name__, described(feature.family)
        groups.setdefault((*kind, is_declared(feature, names)), []).append(feature)
    return [
        {
            "kind": kind,
            "what": what,
            "width": f"{sum(width(feature) for feature in features):,}",
            "chosen": "declared" if chosen else "inferred",
            "prior": common_prior(features),
            "names": [Name(brief(feature.name)) for feature in features],
        }
        for (kind, what, chosen), features in groups.items()
    ]


def width(feature: Feature) -> int:
    """How many columns a feature is of."""
    return len(feature.key) if feature.family.whole and isinstance(feature.key, tuple) else 1


def common_prior(features: list[Feature]) -> str:
    """The prior of some columns; of priors that differ, what they have in common."""
    priors = list(dict.fromkeys(feature.family.describe(feature.prior) for feature in features))
    if len(priors) == 1:
        return priors[0]
    strengths = {prior.split("worth ")[-1] if "worth " in prior else "" for prior in priors}
    same = f", each worth {strengths.pop()}" if len(strengths) == 1 and "" not in strengths else ""
    return f"one for each column{same}; see the list"


def overstated(facts: Facts) -> Name | str:
    """What is wrong where the average includes columns for their many levels; nothing where it does not."""
    columns = overstated_columns(facts.model.schema_, facts.model.model_)
    return Name(facts.advice.reworded(in_words(columns)), 4000) if columns else ""


def declared(model: Any) -> set[Hashable] | None:
    """The names of the columns whose family a user chose; None, where it is all of them."""
    families = getattr(model, "families", None)
    if families is None or isinstance(families, Family):
        return None
    if families == "auto":
        return set()
    names: set[Hashable] = set()
    for key in families:
        names |= {key} | (set(key) if isinstance(key, tuple) else set())
    return names


def is_declared(feature: Feature, names: set[Hashable] | None) -> bool:
    """Whether a user chose the family of a feature."""
    key = feature.key
    return names is None or key in names or (isinstance(key, tuple) and feature.family.whole and set(key) <= names)


def column_row(feature: Feature) -> Values:
    """A column with its family, missing cells, prior and evidence."""
    undefined = feature.log_evidence is None
    return {
        "name": Name(brief(feature.name)),
        "kind": type(feature.family).__name__,
        "missing": NOTHING if feature.words else lacking(feature),
        "prior": feature.family.describe(feature.prior),
        "code": Name(spelled(feature.prior), 400),
        "evidence": "not defined: the prior is improper" if undefined else fixed(feature.log_evidence or 0.0, 1),
    }


def lacking(feature: Feature) -> Cell | str:
    """How many cells are missing, or how many rows of a block lack one."""
    return Cell(count(feature.missing, "row"), feature.missing) if feature.joint else f"{feature.missing:,}"


def made(facts: Facts) -> Values:
    """Versions, command, date, and the settings as code that makes the model again."""
    about, model = facts.about, facts.model
    code = [
        f"from bayesnb import {', '.join(names_in(model))}",
        "from bayesnb.report import report",
        "",
        f"model = {brief(code_of(model), LETTERS)}.fit(X, y)",
        "html = report(model, X, y)",
    ]
    versions = [(part, version(part)) for part in PARTS] + [("Python", platform.python_version())]
    return {
        "date": Name(about.date),
        "command": Name(about.command, 4000),
        "code": [Name(line, 4000) for line in code],
        "versions": [(part, Name(number)) for part, number in versions],
    }


def code_of(model: Any) -> str:
    """The estimator's name and what differs from its defaults, as one would type it."""
    parts: list[str] = []
    for name, parameter in signature(type(model)).parameters.items():
        value = getattr(model, name)
        if not is_default(value, parameter.default):
            first = not parts and parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name == "families"
            parts.append(typed(value) if first else f"{name}={typed(value)}")
    return f"{type(model).__name__}({', '.join(parts)})"


def names_in(model: Any) -> list[str]:
    """What is to be imported from the package to type the estimator."""
    names = {type(model).__name__}
    for name in signature(type(model)).parameters:
        names |= classes_in(getattr(model, name))
    return sorted(names)


def classes_in(value: Any) -> set[str]:
    """The families and beliefs in a value."""
    if isinstance(value, Mapping):
        return set().union(*map(classes_in, value.values())) if value else set()
    if isinstance(value, Family):
        inner = (classes_in(getattr(value, name)) for name in typed_fields(value))
        return {type(value).__name__}.union(*inner)
    return {type(value).__name__} if isinstance(value, Record) else set()


def typed(value: Any) -> str:
    """A value as Python."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{typed(key)}: {typed(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(typed, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(typed, value))}]"
    if isinstance(value, np.ndarray | np.generic):
        return typed(value.tolist())
    if isinstance(value, Family):
        args = [f"{name}={typed(getattr(value, name))}" for name in typed_fields(value)]
        return f"{type(value).__name__}({', '.join(args)})"
    if isinstance(value, Record):
        args = [f"{value.renamed.get(name, name)}={typed(getattr(value, name))}" for name in value.__match_args__]
        return f"{type(value).__name__}({', '.join(args)})"
    return repr(value)


def typed_fields(family: Any) -> list[str]:
    """The fields of a family that are not their defaults; a prior is always typed."""
    values = ((field, getattr(family, field.name)) for field in fields(family))
    return [field.name for field, value in values if is_dataclass(value) or value is not field.default]


def is_default(value: Any, default: Any) -> bool:
    """Whether a parameter is its default, without a comparison of arrays."""
    return value is default or (
        type(value) is type(default) and isinstance(value, (str, int, float)) and value == default
    )
