"""Warning of columns that an average over features includes only because its prior fits many levels badly."""

import warnings
from collections.abc import Hashable, Mapping
from pathlib import Path

import numpy as np

from bayesnb.families.averaged import Averaged
from bayesnb.model.product import Model
from bayesnb.model.schema import Schema
from bayesnb.selection.feature_evidence import overstated

HERE = str(Path(__file__).parent.parent)
MOST = 5  # columns in a sentence


class InclusionWarning(UserWarning):
    """`average_features` includes columns of so many levels that it would include noise too."""


def overstated_columns(schema: Schema, model: Model) -> dict[Hashable, float]:
    """Log Bayes factors of columns that are included though little but the prior speaks for it."""
    columns: dict[Hashable, float] = {}
    for block, prior, stats in zip(schema.blocks, model.prior.blocks, model.stats.blocks, strict=True):
        if isinstance(prior, Averaged):
            factors = overstated(block.family, prior, stats)
            columns |= {block.keys[f]: float(factors[f]) for f in np.flatnonzero(factors)}
    return columns


def in_words(columns: Mapping[Hashable, float]) -> str:
    """Message on what is wrong with the columns' inclusion, and what helps."""
    shown = ", ".join(f"{key!r} ({factor:+.1f})" for key, factor in list(columns.items())[:MOST])
    more = f" and {len(columns) - MOST:,} more" if len(columns) > MOST else ""
    return (
        f"average_features includes columns whose log Bayes factor for a dependence on the class is owed to their many "
        f"levels: {shown}{more}. Under the model's priors noise of as many levels would be included too; with learnt "
        "concentrations, as `relevance` has them, next to nothing speaks for a dependence. Leave such a column out of "
        "the table, or say by average_features={column: probability} of all columns that are averaged how probable a "
        "dependence is, and of this one less than exp(-its log Bayes factor)."
    )


def warn_of_inclusion(schema: Schema, model: Model) -> None:
    """Warn once of all such columns, at the caller's line."""
    columns = overstated_columns(schema, model) if model.prior.weighs else {}
    if columns:
        warnings.warn(in_words(columns), InclusionWarning, skip_file_prefixes=(HERE,))
