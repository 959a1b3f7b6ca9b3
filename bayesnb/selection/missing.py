"""Choosing the columns whose missing cells help to predict the label: see model/missing.py.

The flag of a column is kept if the exact leave-one-out score of the labels by the flag alone beats
that by the class shares, by more than MARGIN + log(number of columns with missing cells) nats. Few
tables with cells missing at random keep any flag.
"""

import numpy as np

from bayesnb.data import SparseTable
from bayesnb.model.missing import MissingCells, find_missing
from bayesnb.model.schema import Schema
from bayesnb.selection.best_families import LabelledTable, leave_out_features, score_labels

MARGIN = 2.0  # nats


def add_missing(schema: Schema, rows: LabelledTable) -> Schema:
    """Add flags of missing cells that help to predict the label, if there are any."""
    if isinstance(rows.table, SparseTable):
        return schema
    alone = schema.columns_alone
    blocks = [block for block in alone.blocks if not block.family.words]
    places = np.array(sorted(place for block in blocks for place in block.places), int)
    missing = find_missing(rows.table, places.tolist())
    places = places[missing.any(axis=0) & ~missing.all(axis=0)]
    if not len(places):
        return schema
    flags = alone.with_blocks([]).with_missing(MissingCells(tuple(places.tolist())))
    log_class, scores, part = leave_out_features(flags, rows)
    by_shares = score_labels(log_class, np.zeros_like(scores), part)
    gain = score_labels(log_class, scores, part) - by_shares
    keep = gain > MARGIN + np.log(len(places))
    if not keep.any():
        return schema
    return schema.with_missing(MissingCells(tuple(places[keep].tolist()), gain[keep]))
