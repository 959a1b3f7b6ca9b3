"""A fitted model in words and numbers, feature by feature, for `summary`."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from bayesnb.estimators.tempering import in_words
from bayesnb.families import Dirichlet
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Family
from bayesnb.formatting import shorten, times
from bayesnb.model.schema import Block
from bayesnb.selection.feature_evidence import cautious, check_comparable, class_belief

MOST_CLASSES, MOST_NAMES = 12, 8  # that are listed; names of a block
LETTERS = 40  # of a class
PREDICTIONS = {
    "predictive": "posterior predictive",
    "mean": "parameters plugged in at their posterior means",
    "map": "parameters plugged in at their posterior modes (MAP)",
    "mle": "parameters plugged in at their maximum likelihood estimates",
}


def feature_columns(fitted: Any, choices: dict[Hashable, str]) -> dict[str, Sequence[Any]]:
    """Return what is known of each feature, in the table's order; `choices` are the candidates that lost, in words."""
    schema, model = fitted.schema_, fitted.model_
    keys = [(key, b, f) for key, b, f in schema.keys if not schema.blocks[b].is_linked]
    whole, parts = model.integer_weights, []
    for b, block in enumerate(schema.columns_alone.blocks):
        prior, stats = model.prior.blocks[b], model.stats.blocks[b]
        factors = bayes_factors(block, prior, stats, whole)
        parts.append((evidence_terms(prior, stats), factors, missing_cells(fitted, b)))
    evidence, factors, missing = (np.array([parts[b][at][f] for _, b, f in keys]) for at in range(3))
    tempers = fitted._temper_of_columns
    temper, sd = (np.broadcast_to(np.asarray(each, float), len(keys)) for each in (tempers.value, tempers.sd))
    priors = [class_belief(model.prior.blocks[b]).column(f) for _, b, f in keys]
    families = [schema.blocks[b].family for _, b, _ in keys]
    return {
        "feature": [feature_name(schema.blocks[b], key) for key, b, _ in keys],
        "family": [family_name(family) for family in families],
        "prior": [family.describe(prior) for family, prior in zip(families, priors, strict=True)],
        "log_evidence": evidence,
        "temper": temper,
        "temper_sd": sd,
        "log_bayes_factor": factors,
        "inclusion": expit(factors),
        "missing": missing,
        "chosen_over": [choices.get(key, "") for key, _, _ in keys],
    }


def feature_name(block: Block, key: Hashable) -> Hashable:
    """Return the name of a column, or of a block of columns."""
    if not isinstance(key, tuple) or len(block.names) == 1 or not block.family.multivariate:
        return key
    shown = ", ".join(map(str, key[:MOST_NAMES]))
    return shown if len(key) <= MOST_NAMES else f"{', '.join(map(str, key[:3]))}, … ({len(key):,} columns)"


def family_name(family: Family) -> str:
    """Return the name of a family, and whether classes have parameters in common."""
    return type(family).__name__ + (", shared" if family.shared else "")


def evidence_terms(prior: Belief, stats: Any) -> Array:
    """Return the log evidence of each feature of a block, `(f,)`; NaN under an improper prior."""
    with np.errstate(all="ignore"):
        terms = np.asarray(prior.log_evidence(stats)).sum(axis=0)
    return np.where(np.broadcast_to(prior.strictly_proper.all(axis=0), terms.shape), terms, np.nan)


def bayes_factors(block: Block, prior: Belief, stats: Any, whole: bool) -> Array:
    """Return the log Bayes factors of `relevance`, `(f,)`, of a block of words as a whole; NaN where there are none."""
    belief = class_belief(prior)
    try:
        check_comparable(belief, block.keys)
    except ValueError:
        return np.full(len(block.keys), np.nan)
    return cautious(block.family, belief, stats) if whole else np.full(len(block.keys), np.nan)


def missing_cells(fitted: Any, b: int) -> Array:
    """Return how many cells of each feature were not learnt, by weight, `(f,)`; NaN where the stats do not say."""
    block, stats = fitted.schema_.blocks[b], fitted.model_.stats.blocks[b]
    if block.family.words or stats.cell_counts is None:
        return np.full(len(block.keys), np.nan)
    rows = fitted.model_.stats.classes.counts.sum()
    missing = rows - stats.cell_counts.sum(axis=0).reshape(-1)
    return np.where(np.abs(missing) < 1e-9 * max(rows, 1.0), 0.0, missing)


def facts(fitted: Any, links: tuple[int, int] | None) -> tuple[str, ...]:
    """Return sentences about the whole model; `links` are how many there are, and how many are in the forest."""
    counts, labels = fitted.model_.stats.classes.counts, fitted.classes_.tolist()
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES] if len(labels) > MOST_CLASSES else range(len(labels))
    classes = ", ".join(f"{shorten(labels[c], LETTERS)} ({counts[c]:,.6g})" for c in order)
    more = f" and {len(labels) - MOST_CLASSES} others" * (len(labels) > MOST_CLASSES)
    return (
        f"Rows: {counts.sum():,.6g}",
        f"Classes (rows): {classes}{more}",
        f"Class prior: {class_prior(fitted)}",
        f"Predictions: {PREDICTIONS[fitted.estimate]}",
        f"Exponents (temper): {in_words(fitted._temper_of_columns)}",
        f"Dependence: {dependence_in_words(fitted, links)}",
        f"Log evidence: {evidence_in_words(fitted)}",
    )


def class_prior(fitted: Any) -> str:
    """Return the prior of the labels in words."""
    prior, labels = fitted.class_prior_, fitted.classes_.tolist()
    if isinstance(prior, Dirichlet):
        return f"Dirichlet, each label as if seen {times(prior.concentration)} before"
    if np.isfinite(getattr(prior, "rows", np.inf)):
        return "empirical, the shares of the labels"
    shares = ", ".join(f"{shorten(label, LETTERS)} {p:.3g}" for label, p in zip(labels, prior.mean(), strict=True))
    return f"known probabilities, {shares}" if len(labels) <= MOST_CLASSES else "known probabilities"


def dependence_in_words(fitted: Any, links: tuple[int, int] | None) -> str:
    """Return how the model takes columns to depend on each other given the class."""
    joint = sum(block.family.multivariate and not block.family.words and len(block.names) > 1
                for block in fitted.schema_.blocks if not block.is_linked)  # fmt: skip
    blocks = f"{joint} block{'s' * (joint > 1)} of columns modelled jointly" if joint else ""
    shown = f"{links[0]:,} links between columns, {links[1]:,} of them in the forest; see links_" if links else ""
    return "; ".join(filter(None, (blocks, shown))) or "columns are independent given the class"


def evidence_in_words(fitted: Any) -> str:
    """Return the log evidence; or why there is none."""
    try:
        return f"{fitted.log_evidence_:,.1f} nats"
    except ValueError:
        return "not defined, as a prior is improper"


def notes(columns: dict[str, Sequence[Any]], fitted: Any) -> tuple[str, ...]:
    """Return how to read the columns of numbers."""
    sentences = [
        "log_bayes_factor: evidence in nats that the feature depends on the class; inclusion: the probability of that, "
        "if it was 0.5 before the data."
    ]
    if np.isnan(np.asarray(columns["log_bayes_factor"], float)).any():
        sentences.append("Without a Bayes factor: features whose prior is improper or differs between the classes, and "
                         "models of weights or counts that are not whole numbers.")  # fmt: skip
    if any("PolyaTree" in str(name) for name in columns["family"]):
        sentences.append("log_evidence of a PolyaTree is relative to the distribution of all rows.")
    if fitted.model_.stats.classes.counts.sum() and np.nansum(np.asarray(columns["missing"], float)) > 0:
        sentences.append("missing: cells that were missing, or of levels that are not declared; of a block, its rows.")
    return tuple(sentences)
