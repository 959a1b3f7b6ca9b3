"""What was modelled: rows, classes, columns, families, priors in words and numbers; and how the page was made."""

import platform
from collections.abc import Hashable
from importlib.metadata import version
from typing import Any

import numpy as np

from bayesnb.families import Dirichlet
from bayesnb.formatting import count, percent, shorten, times
from bayesnb.report.estimator_code import code_of, declared_columns, names_in
from bayesnb.report.facts import Facts
from bayesnb.report.facts.features import Feature
from bayesnb.report.html import Cell, Name, phrase
from bayesnb.report.wording import as_name, described, spelled

MOST_CLASSES = 12  # are listed
MOST_LISTED = 1000  # columns in a table at all
PARTS = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
LETTERS = 20_000  # of code
Values = dict[str, Any]


def modelled(facts: Facts) -> Values:
    """Rows, classes, columns, priors, evidence."""
    features, model, counts = facts.features.all, facts.model, facts.counts
    many = len(counts) > MOST_CLASSES
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES] if many else np.arange(len(counts))
    defined = all(feature.log_evidence is not None for feature in features)
    prior = model.model_.prior.classes
    return {
        "classes": [(Name(facts.classes[c]), f"{counts[c]:,}", percent(counts[c] / counts.sum())) for c in order],
        "unlisted_rows": counts.sum() - counts[order].sum(),
        "prior_times": times(prior.concentration) if isinstance(prior, Dirichlet) else "",
        "prior_counted": np.isfinite(getattr(prior, "rows", np.inf)),
        "prior_shares": [
            phrase("{} {}", as_name(label), percent(p)) for label, p in zip(facts.classes, prior.mean(), strict=True)
        ],
        "families": families(facts),
        "columns": facts.features.ranked[:MOST_LISTED] if len(features) > MOST_LISTED else features,
        "lacking": lacking,
        "spelled": spelled,
        "evidence": model.log_evidence_ if defined and model.class_prior_.strictly_proper.all() else None,
    }


def families(facts: Facts) -> list[Values]:
    """Each family, what it is for, whether it was declared, its features and what is common to their priors."""
    groups: dict[tuple[str, str, bool], list[Feature]] = {}
    declared = declared_columns(facts.model)
    for feature in facts.features.all:
        chosen = declared is None or feature.key in declared or set(columns_of(feature)) <= declared
        groups.setdefault((type(feature.family).__name__, described(feature.family), chosen), []).append(feature)
    return [
        {
            "kind": kind,
            "what": what,
            "width": sum(len(columns_of(feature)) for feature in features),
            "chosen": "declared" if chosen else "inferred",
            "prior": common_prior(features),
            "names": [as_name(feature.name) for feature in features],
        }
        for (kind, what, chosen), features in groups.items()
    ]


def columns_of(feature: Feature) -> tuple[Hashable, ...]:
    """The names of a feature's columns."""
    return feature.key if feature.family.multivariate and isinstance(feature.key, tuple) else (feature.key,)


def common_prior(features: list[Feature]) -> str:
    """The prior of the columns; of priors that differ, what they have in common."""
    priors = list(dict.fromkeys(feature.family.describe(feature.prior) for feature in features))
    if len(priors) == 1:
        return priors[0]
    strengths = {prior.split("worth ")[-1] if "worth " in prior else "" for prior in priors}
    same = f", each worth {strengths.pop()}" if len(strengths) == 1 and "" not in strengths else ""
    return f"one for each column{same}; see the list"


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
        f"model = {shorten(code_of(model), LETTERS)}.fit(X, y)",
        "html = report(model, X, y)",
    ]
    return {
        "date": Name(about.date),
        "command": Name(about.command, 4000),
        "code": [Name(line, 4000) for line in code],
        "versions": [(part, Name(version(part))) for part in PARTS] + [("Python", Name(platform.python_version()))],
    }
