"""A fitted model in words and numbers, feature by feature, for `summary`."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from bayesnb.families import Dirichlet
from bayesnb.families.base import Array, Belief
from bayesnb.formatting import count, fixed, list_names, number, shorten, times
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Block, Schema
from bayesnb.selection.feature_evidence import cautious, check_comparable

MAX_CLASSES, MAX_NAMES = 12, 8  # listed; names of a block
MAX_LETTERS = 40  # of a class
PREDICTIONS = {
    "predictive": "posterior predictive",
    "mean": "parameters plugged in at their posterior means",
    "map": "parameters plugged in at their posterior modes (MAP)",
    "mle": "parameters plugged in at their maximum likelihood estimates",
}
BAYES_FACTOR = (
    "log_bayes_factor: evidence in nats that the feature depends on the class; the probability of "
    "that, if it was 0.5 before the data, is in .to_frame(), as inclusion."
)
NO_BAYES_FACTOR = (
    "Without a Bayes factor: features whose prior is improper or differs between the classes, and "
    "models of weights or counts that are not whole numbers."
)
HISTOGRAM_EVIDENCE = "log_evidence of a Histogram is relative to the distribution of all rows."
MISSING = "missing: cells that were missing, or of undeclared levels; of a block, its rows."


def feature_columns(estimator: Any, choices: dict[Hashable, str]) -> dict[str, Sequence[Any]]:
    """Return what is known of each feature, in the table's order.

    `choices` are the candidates for its family that lost, in words.
    """
    fitted = estimator.fitted_.of_columns
    model = fitted.model
    keys = fitted.schema.keys
    by_block = []
    for b, block in enumerate(fitted.schema.blocks):
        prior = model.prior.blocks[b]
        stats = model.stats.blocks[b]
        factors = np.full(len(block.keys), np.nan)
        if model.integer_weights:
            factors = _bayes_factors(block, prior, stats)
        missing = _missing_cells(block, model.stats, b)
        by_block.append((_evidence_terms(prior, stats), factors, missing))
    evidence, factors, missing = (
        np.asarray(fitted.by_name(np.concatenate(parts))) for parts in zip(*by_block, strict=True)
    )
    families = [fitted.schema.blocks[b].family for _, b, _ in keys]
    priors = [model.prior.blocks[b].column(f) for _, b, f in keys]
    return {
        "feature": [feature_name(fitted.schema.blocks[b], key) for key, b, _ in keys],
        "family": [type(each).__name__ + ", shared" * each.shared for each in families],
        "prior": [family.describe(prior) for family, prior in zip(families, priors, strict=True)],
        "log_evidence": evidence,
        "temper": np.broadcast_to(np.asarray(estimator.temper_, float), len(keys)),
        "temper_sd": np.broadcast_to(np.asarray(estimator.temper_sd_, float), len(keys)),
        "log_bayes_factor": factors,
        "inclusion": expit(factors),
        "missing": missing,
        "chosen_over": [choices.get(key, "") for key, _, _ in keys],
    }


def feature_name(block: Block, key: Hashable) -> Hashable:
    """Return the name of a column, or of a block of columns."""
    is_block = isinstance(key, tuple) and len(block.names) > 1 and block.family.multivariate
    return list_names(block.names, MAX_NAMES) if is_block else key


def _evidence_terms(prior: Belief, stats: Any) -> Array:
    """Return the log evidence of each feature of a block, `(f,)`; NaN under an improper prior."""
    with np.errstate(all="ignore"):
        terms = np.asarray(prior.log_evidence(stats)).sum(axis=0)
    return np.where(prior.strictly_proper.all(axis=0), terms, np.nan)


def _bayes_factors(block: Block, prior: Belief, stats: Any) -> Array:
    """Return the log Bayes factors of `relevance`, `(f,)`, of a block of words as a whole."""
    try:
        check_comparable(prior, block.keys)
    except ValueError:
        return np.full(len(block.keys), np.nan)
    return cautious(block.family, prior, stats)


def _missing_cells(block: Block, stats: ProductStats, b: int) -> Array:
    """Return how many cells of each feature were not learnt, by weight, `(f,)`; NaN if unknown."""
    cells = stats.blocks[b].cells
    if block.family.words or cells is None:
        return np.full(len(block.keys), np.nan)
    rows = stats.classes.counts.sum()
    missing = rows - cells.sum(axis=0).reshape(-1)
    return np.where(np.abs(missing) < 1e-9 * max(rows, 1.0), 0.0, missing)


def facts(estimator: Any) -> tuple[str, ...]:
    """Return sentences about the whole model."""
    counts = estimator.model_.stats.classes.counts
    classes = [
        f"{shorten(label, MAX_LETTERS)} ({number(rows, 6)})"
        for label, rows in zip(estimator.classes_.tolist(), counts, strict=True)
    ]
    try:
        evidence = f"{fixed(estimator.log_evidence_, 1)} nats"
    except ValueError:
        evidence = "not defined, as a prior is improper"
    return (
        f"Rows: {number(counts.sum(), 6)}",
        f"Classes (rows): {list_names(classes, MAX_CLASSES)}",
        f"Class prior: {_describe_class_prior(estimator)}",
        f"Predictions: {PREDICTIONS[estimator.estimate]}",
        f"Exponents (temper): {estimator.fitted_.of_columns.describe_temper()}",
        f"Dependence: {_describe_dependence(estimator.schema_)}",
        f"Log evidence: {evidence}",
    )


def _describe_class_prior(estimator: Any) -> str:
    prior = estimator.class_prior_
    if isinstance(prior, Dirichlet):
        return f"Dirichlet, each label as if seen {times(prior.concentration)} before"
    pairs = zip(estimator.classes_.tolist(), prior.mean(), strict=True)
    shares = [f"{shorten(label, MAX_LETTERS)} {number(p)}" for label, p in pairs]
    return f"known probabilities, {list_names(shares, MAX_CLASSES)}"


def _describe_dependence(schema: Schema) -> str:
    """Return how the model takes columns to depend on each other given the class."""
    links = schema.links
    if links is None:
        return "columns, or blocks of them, are independent given the class"
    forest = f"{int(links.in_forest.sum()):,} of them in the forest"
    return f"{count(len(links.keys), 'link')} between columns, {forest}; see links_"


def notes(columns: dict[str, Sequence[Any]]) -> tuple[str, ...]:
    """Return how to read the columns of numbers."""
    sentences = [BAYES_FACTOR]
    if np.isnan(columns["log_bayes_factor"]).any():
        sentences.append(NO_BAYES_FACTOR)
    if any("Histogram" in str(name) for name in columns["family"]):
        sentences.append(HISTOGRAM_EVIDENCE)
    if np.nansum(columns["missing"]) > 0:
        sentences.append(MISSING)
    return tuple(sentences)
