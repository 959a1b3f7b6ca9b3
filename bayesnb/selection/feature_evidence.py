"""Evidence that a feature depends on the class: one theta for each class against one theta for all.

    log Bayes factor = sum over classes of log p(column of the class) - log p(column of all classes together)

Both under the same prior; of levels also both under a prior that is free to fit. Kass and Raftery (1995), Bayes
factors.

Many rare levels are explained badly by a Dirichlet(1), which pulls all shares to evenness, and the few rows of a class
are pulled more than all rows together. So noise in a column of many levels would be strong evidence for a dependence.
With a concentration l p, where p are the prior's proportions and l is what makes the data most probable, one l for all
classes under one hypothesis and one under the other, both are free in one number, and noise says nothing for either.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.dirichlet_evidence import best_concentration, evidence_terms, log_evidence
from bayesnb.families.family import Family, HasCounts
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats
from bayesnb.model.product import Model
from bayesnb.model.schema import Schema

STRONG, WEAK = 3.0, 1.0  # nats (Kass and Raftery 1995)
NAMED = 5  # columns in a sentence
PACKAGE = str(Path(__file__).parent.parent)


def class_belief(prior: Belief) -> Belief:
    """Return the belief about each class's theta, of an average the part under which classes differ."""
    return prior.separate if isinstance(prior, Averaged) else prior


def log_bayes_factors(prior: Belief, stats: Any) -> Array:
    """log p(data | theta for each class) - log p(data | one theta for all), `(c, f) -> (f,)`.

    A variance that classes share is shared under both hypotheses, which then differ in the means alone.
    """
    return averaged(prior, 0.5).update(stats).log_odds[0]


def cautious(family: Family, prior: Belief, stats: Any) -> Array:
    """Log Bayes factors under the prior, `(f,)`; those of levels are capped by those of learnt concentrations.

    Below 0 the prior has the last word: with learnt concentrations, both hypotheses may take all classes to be
    alike, and then nothing speaks against either.
    """
    declared = log_bayes_factors(prior, stats)
    if not isinstance(family, HasCounts) or not family.counts_levels or not (declared > 0).any():
        return declared
    return np.minimum(declared, np.maximum(_learnt(family.seen(stats)), 0.0))


def _learnt(seen: Any) -> Array:
    """Log Bayes factors of columns of levels, each hypothesis under its best concentration, `(f,)`."""
    features = int(seen.column.max()) + 1
    pairs = (
        (seen.counts, seen.unit, np.tile(np.arange(features), (len(seen.counts), 1))),
        (seen.counts.sum(axis=0, keepdims=True), seen.unit[:1], np.arange(features)[None]),
    )
    each, pooled = (evidence_terms(counts, unit, seen.column, groups) for counts, unit, groups in pairs)
    by_class, common = (log_evidence(terms, best_concentration(terms, features)) for terms in (each, pooled))
    return by_class - common


def word_bayes_factors(prior: DirichletMultinomial, stats: MultinomialStats) -> Array:
    """Log Bayes factors of each word against all others, `(c, 1, k) -> (k,)`, under Beta(a_j, A - a_j)."""
    concentration, seen = prior.concentration[:, 0], stats.counts[:, 0]
    rest, unseen = (array.sum(axis=-1, keepdims=True) - array for array in (concentration, seen))
    return log_bayes_factors(Beta(concentration, np.maximum(rest, 0.0)), BernoulliStats(seen, np.maximum(unseen, 0.0)))


def check_comparable(prior: Belief, keys: Sequence[Hashable], *, alike: bool = True) -> None:
    """Raise if a feature has no Bayes factor: its prior is improper or, if that matters, not one for all classes."""
    for invalid, why in list(reasons(prior))[: None if alike else 1]:
        if invalid.any():
            raise ValueError(f"the prior of column {keys[int(invalid.argmax())]!r} {why}. Give it another prior.")


class InclusionWarning(UserWarning):
    """``average_features`` includes columns of so many levels that it would include noise too.

    The message names the columns and says what to do.

    See Also
    --------
    NaiveBayes : Its parameter ``average_features``.
    relevance : How probably each column depends on the class.
    """


def overstated_columns(schema: Schema, model: Model) -> dict[Hashable, float]:
    """Log Bayes factors of columns that an average includes though little but the prior speaks for it.

    They are strong evidence under the prior, and next to none with learnt concentrations.
    """
    columns: dict[Hashable, float] = {}
    for block, prior, stats in zip(schema.blocks, model.prior.blocks, model.stats.blocks, strict=True):
        family = block.family
        if isinstance(prior, Averaged) and isinstance(family, HasCounts) and family.counts_levels:
            declared, odds = log_bayes_factors(prior.separate, stats), prior.log_odds[0]
            strong = np.isfinite(odds) & (odds + declared > 0) & (declared > STRONG)
            if strong.any():
                strong &= _learnt(family.seen(stats)) < WEAK
            columns |= {block.keys[f]: float(declared[f]) for f in np.flatnonzero(strong)}
    return columns


def inclusion_message(columns: Mapping[Hashable, float]) -> str:
    """Say what is wrong with the inclusion of these columns, and what helps."""
    shown = ", ".join(f"{key!r} ({factor:+.1f})" for key, factor in list(columns.items())[:NAMED])
    more = f" and {len(columns) - NAMED:,} more" if len(columns) > NAMED else ""
    return (
        f"average_features includes columns whose log Bayes factor for a dependence on the class is owed to their many "
        f"levels: {shown}{more}. Under the model's priors noise of as many levels would be included too; with learnt "
        "concentrations, as `relevance` has them, next to nothing speaks for a dependence. Leave such a column out of "
        "the table, or say by average_features={column: probability} of all columns that are averaged how probable a "
        "dependence is, and of this one less than exp(-its log Bayes factor)."
    )


def warn_of_inclusion(schema: Schema, model: Model) -> None:
    """Warn once of all columns that are included for the prior's sake alone, at the caller's line."""
    columns = overstated_columns(schema, model) if model.prior.is_mixture else {}
    if columns:
        warnings.warn(inclusion_message(columns), InclusionWarning, skip_file_prefixes=(PACKAGE,))
