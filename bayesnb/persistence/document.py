"""Estimators and shards as documents: JSON and numbered arrays, and back."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayesnb.data import blank_of
from bayesnb.families import FAMILIES
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.families.record import Record
from bayesnb.model.product import Product, ProductStats
from bayesnb.model.schema import Block, Schema
from bayesnb.model.shards import Shard, alike
from bayesnb.persistence.archive import Unreadable
from bayesnb.persistence.arrays import ArrayReader, ArrayWriter
from bayesnb.persistence.budget import are_positions, check_hashes
from bayesnb.persistence.json_values import pack, unpack, unpack_list
from bayesnb.persistence.saved import (
    Saved,
    arrays_of,
    check_class_prior,
    check_classes,
    check_labels,
    check_levels,
    check_stats,
    check_temper,
    plain_prior,
    with_average,
)

MOST_POSITIONS = 1 << 20  # names that are their positions, and so need not be listed
PER_NAME = 32  # units of a column in a block
Json = dict[str, Any]


def describe_model(saved: Saved, writer: ArrayWriter) -> Json:
    """Return the document of an estimator; arrays go to the writer."""
    params = {name: pack(value, writer, f"parameter {name}") for name, value in saved.params.items()}
    seen = describe_shard(saved.shard, writer)
    blocks = zip(seen["blocks"], saved.shard.schema.blocks, saved.prior.blocks, strict=True)
    return seen | {
        "estimator": saved.estimator,
        "params": params,
        "named": saved.named,
        "class_prior": pack(saved.prior.classes, writer, "class_prior"),
        "temper": pack(saved.temper, writer, "temper_"),
        "note": pack(saved.note, writer, "the note"),
        "blocks": [entry | {"prior": _describe_prior(block, prior, writer)} for entry, block, prior in blocks],
    }


def model_of(document: Mapping[str, Any], reader: ArrayReader) -> Saved:
    """Return the estimator that `describe_model` described."""
    shard = shard_of(document, reader)
    blocks = zip(document["blocks"], shard.schema.blocks, shard.stats.blocks, strict=True)
    priors = tuple(_prior_of(entry["prior"], block, seen, reader) for entry, block, seen in blocks)
    class_prior, temper = unpack(document["class_prior"], reader), unpack(document["temper"], reader)
    check_class_prior(class_prior, len(shard.classes))
    check_temper(temper)
    params = {name: unpack(value, reader) for name, value in _expect(document["params"], dict).items()}
    note = unpack(document.get("note"), reader)  # files of version 1.0 have none
    return Saved(
        document["estimator"],
        params,
        shard,
        Product(class_prior, priors),
        temper,
        _expect(document["named"], bool),
        note,
    )


def describe_shard(shard: Shard, writer: ArrayWriter) -> Json:
    """Return the document of a shard; arrays go to the writer."""
    schema, stats = shard.schema, shard.stats
    modelled = {place for block in schema.blocks for place in block.places}
    return {
        "classes": pack(shard.classes, writer, "the labels"),
        "columns": _describe_columns(schema.columns, writer),
        "table": pack(schema.blank.recipe(modelled), writer, "the table"),
        "class_stats": _describe_record(stats.classes, writer, "the labels"),
        "whole": shard.whole,
        "blocks": [_describe_block(*pair, writer) for pair in zip(schema.blocks, stats.blocks, strict=True)],
    }


def shard_of(document: Mapping[str, Any], reader: ArrayReader) -> Shard:
    """Return the shard that `describe_shard` described."""
    classes = _expect(unpack(document["classes"], reader), np.ndarray)
    check_classes(classes)
    columns = _columns_of(document["columns"], reader)
    if len(set(columns)) < len(columns):
        raise Unreadable("two columns have the same name")
    read = [_block_of(entry, columns, len(classes), reader) for entry in _expect(document["blocks"], list)]
    blocks, stats = (tuple(part) for part in zip(*read, strict=True))
    places = [place for block in blocks for place in block.places]
    if len(set(places)) < len(places):
        raise Unreadable("a column is in two blocks")
    blank = blank_of(_expect(unpack(document["table"], reader), dict), len(columns))
    seen = DirichletStats(*_values(DirichletStats, document["class_stats"], reader))
    check_labels(seen, len(classes))
    return Shard(classes, Schema(columns, blocks, blank), ProductStats(seen, stats), _expect(document["whole"], bool))


def _describe_columns(columns: Sequence[Hashable], writer: ArrayWriter) -> Any:
    if len(columns) <= MOST_POSITIONS and are_positions(columns):
        return len(columns)
    check_hashes(columns, "the names of the columns")
    return [pack(name, writer, f"the name of column {place}") for place, name in enumerate(columns)]


def _columns_of(packed: Any, reader: ArrayReader) -> Sequence[Hashable]:
    return tuple(unpack_list(packed, reader)) if isinstance(packed, list) else reader.budget.positions(packed)


def _describe_block(block: Block, stats: Stats, writer: ArrayWriter) -> Json:
    where = f"column {block.names[0]!r:.50}"
    together = isinstance(block.places, range)
    levels = zip(block.names, block.levels, strict=bool(block.levels))
    return {
        "family": pack(block.family, writer, where),
        "places": [block.places[0], block.places[-1] + 1] if together else {"each": list(block.places)},
        "levels": [_describe_levels(entry, writer, f"levels of column {name!r:.50}") for name, entry in levels],
        "included": pack(block.included, writer, "average_features"),
        "stats": _describe_record(stats, writer, where),
    }


def _describe_prior(block: Block, prior: Belief, writer: ArrayWriter) -> Json:
    entry = plain_prior(prior)
    written = entry.map(np.ascontiguousarray) if entry.spelled_out else entry
    return _describe_record(written, writer, f"column {block.names[0]!r:.50}")


def _describe_levels(levels: Sequence[Any], writer: ArrayWriter, where: str) -> Any:
    """Return the levels, or only their number where they are 0, 1, ..."""
    if are_positions(levels):
        return len(levels)
    check_hashes(levels, where)
    return [pack(level, writer, where) for level in levels]


def _describe_record(record: Record, writer: ArrayWriter, where: str) -> Json:
    """Return the fields of a record. What broadcasting repeats along an axis is written once."""
    packed: Json = {
        name: {"$array": writer.add(without_repeats(array), where)} for name, array in arrays_of(record).items()
    }
    return packed | {name: pack(getattr(record, name), writer, where) for name in record.layout}


def without_repeats(array: Array) -> Array:
    """Return an array without the repetitions that broadcasting made."""
    once = array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]
    return array if once.shape == array.shape else once


def _block_of(packed: Any, columns: Sequence[Hashable], classes: int, reader: ArrayReader) -> tuple[Block, Stats]:
    """Return a block and its stats."""
    family = _expect(unpack(packed["family"], reader), tuple(FAMILIES.values()))
    places = _places_of(packed["places"], len(columns))
    reader.budget.take(PER_NAME * len(places))
    stats = family.stats(*_values(family.stats, packed["stats"], reader))
    levels = _levels_of(packed["levels"], reader)
    included = unpack(packed["included"], reader)
    if isinstance(places, range):
        names = columns[places.start : places.stop]
    else:
        names = [columns[place] for place in places]
    block = Block(family, names, places, levels, included)
    check_levels(block)
    check_stats(block, stats, classes)
    _check_included(block)
    return block, stats


def _prior_of(packed: Any, block: Block, stats: Stats, reader: ArrayReader) -> Belief:
    """Return the prior of a block: a belief such as its family makes."""
    with np.errstate(all="ignore"):
        like = block.family.belief(stats)
    return with_average(type(like)(*_values(type(like), packed, reader, like)), block)


def _places_of(packed: Any, width: int) -> Sequence[int]:
    if isinstance(packed, list):
        if not (
            len(packed) == 2 and all(type(place) is int for place in packed) and 0 <= packed[0] < packed[1] <= width
        ):
            raise Unreadable("columns of a block are not in the table")
        return range(*packed)
    places = tuple(_expect(packed["each"], list))
    if not (places and all(type(place) is int and 0 <= place < width for place in places)):
        raise Unreadable("columns of a block are not in the table")
    return places


def _levels_of(packed: Any, reader: ArrayReader) -> tuple[Sequence[Any], ...]:
    """Return the levels of every column; a number stands for 0, 1, ..."""
    return tuple(
        tuple(unpack_list(levels, reader)) if isinstance(levels, list) else reader.budget.positions(levels)
        for levels in _expect(packed, list)
    )


def _check_included(block: Block) -> None:
    share = block.included
    if share is not None and not (
        isinstance(share, np.ndarray)
        and share.dtype == float
        and share.shape == (len(block.keys),)
        and ((share > 0) & (share <= 1)).all()
    ):
        raise Unreadable("average_features has no probability for each feature")


def _values(kind: type[Record], packed: Any, reader: ArrayReader, like: Any = None) -> list[Any]:
    """Return the fields of a record in their order; arrays are broadcast, without a copy, to the shapes of `like`.

    A layout that an older version did not have is the usual one.
    """
    names: tuple[str, ...] = kind.__match_args__
    usual = {f.name: f.default for f in fields(kind) if f.name in kind.layout}  # type: ignore[arg-type]
    packed = usual | packed if isinstance(packed, dict) else {}
    if set(packed) != set(names):
        raise Unreadable(f"{kind.__name__} has the fields {', '.join(names)}")
    layout = kind.layout
    values = {name: unpack(packed[name], reader) for name in names}
    for name in set(names) - set(layout):
        if not (isinstance(values[name], np.ndarray) and values[name].dtype == float):
            raise Unreadable("numbers of a belief or of stats are floats")
        if like is not None:
            values[name] = np.broadcast_to(values[name], getattr(like, name).shape)
    if like is not None and not all(alike(values[name], getattr(like, name)) for name in layout):
        raise Unreadable(f"{kind.__name__} is not laid out like its stats")
    return list(values.values())


def _expect(value: Any, kind: Any) -> Any:
    """Return the value if it is of this type; raise `Unreadable` otherwise."""
    if not isinstance(value, kind):
        raise Unreadable(f"{value!r:.50} stands where something else belongs")
    return value
