"""Columns that are modelled jointly from `fit` on: the partition with the most evidence that a greedy search finds.

It is the search of `bayesnb.partition`, see `joint_evidence`, between columns that are not declared to be a block. What
is joined has the prior under which it was compared; all else keeps the family that it has. Among many columns chance
alone speaks for a few pairs, so a step has to be worth more than FACTOR log d nats, of d columns of a kind, as a link.
"""

import numpy as np

from bayesnb.data.declaration import FamilyColumns
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, model_of
from bayesnb.selection.best_families import LabelledTable
from bayesnb.selection.joint_columns import ColumnBlocks, JoinableColumns, Key, Member, joinable_members, kind_of
from bayesnb.selection.joint_evidence import Block, after, steps
from bayesnb.selection.link_search import FACTOR
from bayesnb.selection.pair_evidence import Labels

# Of a kind. Tables of twice the columns take four times as long, and eight times where all are joined: minutes.
MOST_COLUMNS = 100
ROWS = 10_000  # that are compared: of more, as many, spread evenly over the table
ADVICE = "Declare the blocks, families={(column, column): 'joint'}, or use dependence='pairs', which has no limit."


def joint_families(schema: Schema, rows: LabelledTable) -> FamilyColumns | None:
    """Return families of a table's columns, those that belong together joined; None where none do."""
    part = _part(rows)
    shard, read = Shard.of(schema, part.classes, part.table, part.codes, part.weight)
    priors = model_of(shard, part.class_prior).prior.blocks
    members = joinable_members(schema, priors, read.cells)
    proper = [bool(prior.strictly_proper.all()) for prior in priors]
    labels = Labels(read.codes, read.counts, len(part.classes))
    blocks = [
        _searched(key, singles, labels)
        for key, each in members.items()
        if len(singles := [member for member in each if len(member[1]) == 1 and proper[member[1][0].block]]) > 1
    ]
    partition = ColumnBlocks(schema, priors, shard.stats.blocks, blocks)
    if not partition.joined:
        return None
    places = {name: place for block in schema.blocks for name, place in zip(block.names, block.places, strict=True)}
    return [(family, [places[name] for name in names]) for names, family in partition.families({}).items()]


def _searched(key: Key, members: list[Member], labels: Labels) -> tuple[JoinableColumns, set[Block]]:
    """Return columns of a kind, and the blocks at the end of the search."""
    kind = kind_of(key, members, labels, None, MOST_COLUMNS, ADVICE)
    blocks, least = set(kind.start), FACTOR * np.log(len(kind.places))
    for step in steps(kind.evidence, kind.start, np.inf, least):
        blocks = after(blocks, step)
    return kind, blocks


def _part(rows: LabelledTable) -> LabelledTable:
    """Return the rows that are compared."""
    if len(rows.codes) <= ROWS:
        return rows
    at = np.linspace(0, len(rows.codes) - 1, ROWS).astype(np.intp)
    keep = np.zeros(len(rows.codes), bool)
    keep[at] = True
    weight = None if rows.weight is None else rows.weight[keep]
    return rows._replace(table=rows.table.take(keep), codes=rows.codes[keep], weight=weight)
