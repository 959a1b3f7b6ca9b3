"""What a document says: an estimator, or a shard of rows, as JSON and arrays, and back."""

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
from bayesnb.persistence.arrays import Keeper, Shelf
from bayesnb.persistence.budget import are_positions, check_hashes
from bayesnb.persistence.json_values import packed, unpacked, unpacked_list
from bayesnb.persistence.saved import (
    Saved,
    arrays_of,
    check_classes,
    check_die,
    check_labels,
    check_levels,
    check_stats,
    check_temper,
    own_prior,
    with_average,
)

MOST_POSITIONS = 1 << 20  # names that are their positions, and so need not be listed
PER_NAME = 32  # units of a column in a block
Json = dict[str, Any]


def document_of(saved: Saved, keeper: Keeper) -> Json:
    """What is said of an estimator; its arrays are kept apart."""
    params = {name: packed(value, keeper, f"parameter {name}") for name, value in saved.params.items()}
    seen = shard_said(saved.shard, keeper)
    blocks = zip(seen["blocks"], saved.shard.schema.blocks, saved.prior.blocks, strict=True)
    return seen | {
        "estimator": saved.estimator,
        "params": params,
        "named": saved.named,
        "class_prior": packed(saved.prior.classes, keeper, "class_prior"),
        "temper": packed(saved.temper, keeper, "temper_"),
        "note": packed(saved.note, keeper, "the note"),
        "blocks": [own | {"prior": _prior_said(block, prior, keeper)} for own, block, prior in blocks],
    }


def saved_of(said: Mapping[str, Any], shelf: Shelf) -> Saved:
    """The estimator of which `document_of` said this."""
    shard = shard_of(said, shelf)
    blocks = zip(said["blocks"], shard.schema.blocks, shard.stats.blocks, strict=True)
    priors = tuple(_prior_of(own["prior"], block, seen, shelf) for own, block, seen in blocks)
    die, temper = unpacked(said["class_prior"], shelf), unpacked(said["temper"], shelf)
    check_die(die, len(shard.classes))
    check_temper(temper)
    params = {name: unpacked(value, shelf) for name, value in _kind(said["params"], dict).items()}
    note = unpacked(said.get("note"), shelf)  # files of version 1.0 have none
    return Saved(said["estimator"], params, shard, Product(die, priors), temper, _kind(said["named"], bool), note)


def shard_said(shard: Shard, keeper: Keeper) -> Json:
    """What is said of rows; the arrays are kept apart."""
    schema, stats = shard.schema, shard.stats
    modelled = {place for block in schema.blocks for place in block.places}
    return {
        "classes": packed(shard.classes, keeper, "the labels"),
        "columns": _columns_said(schema.columns, keeper),
        "table": packed(schema.blank.recipe(modelled), keeper, "the table"),
        "class_stats": _record_said(stats.classes, keeper, "the labels"),
        "whole": shard.whole,
        "blocks": [_block_said(*pair, keeper) for pair in zip(schema.blocks, stats.blocks, strict=True)],
    }


def shard_of(said: Mapping[str, Any], shelf: Shelf) -> Shard:
    """The shard of which `shard_said` said this."""
    classes = _kind(unpacked(said["classes"], shelf), np.ndarray)
    check_classes(classes)
    columns = _columns_of(said["columns"], shelf)
    if len(set(columns)) < len(columns):
        raise Unreadable("two columns have the same name")
    read = [_block_of(own, columns, len(classes), shelf) for own in _kind(said["blocks"], list)]
    blocks, stats = (tuple(part) for part in zip(*read, strict=True))
    places = [place for block in blocks for place in block.places]
    if len(set(places)) < len(places):
        raise Unreadable("a column is in two blocks")
    blank = blank_of(_kind(unpacked(said["table"], shelf), dict), len(columns))
    seen = DirichletStats(*_values(DirichletStats, said["class_stats"], shelf))
    check_labels(seen, len(classes))
    return Shard(classes, Schema(columns, blocks, blank), ProductStats(seen, stats), _kind(said["whole"], bool))


def _columns_said(columns: Sequence[Hashable], keeper: Keeper) -> Any:
    if len(columns) <= MOST_POSITIONS and are_positions(columns):
        return len(columns)
    check_hashes(columns, "the names of the columns")
    return [packed(name, keeper, f"the name of column {place}") for place, name in enumerate(columns)]


def _columns_of(said: Any, shelf: Shelf) -> Sequence[Hashable]:
    return tuple(unpacked_list(said, shelf)) if isinstance(said, list) else shelf.budget.positions(said)


def _block_said(block: Block, stats: Stats, keeper: Keeper) -> Json:
    where = f"column {block.names[0]!r:.50}"
    together = isinstance(block.places, range)
    levels = zip(block.names, block.levels, strict=bool(block.levels))
    return {
        "family": packed(block.family, keeper, where),
        "places": [block.places[0], block.places[-1] + 1] if together else {"each": list(block.places)},
        "levels": [_levels_said(own, keeper, f"levels of column {name!r:.50}") for name, own in levels],
        "included": packed(block.included, keeper, "average_features"),
        "stats": _record_said(stats, keeper, where),
    }


def _prior_said(block: Block, prior: Belief, keeper: Keeper) -> Json:
    own = own_prior(prior)
    written = own.map(np.ascontiguousarray) if own.spelled_out else own
    return _record_said(written, keeper, f"column {block.names[0]!r:.50}")


def _levels_said(levels: Sequence[Any], keeper: Keeper, where: str) -> Any:
    """Levels, or how many there are if they are 0, 1, ..."""
    if are_positions(levels):
        return len(levels)
    check_hashes(levels, where)
    return [packed(level, keeper, where) for level in levels]


def _record_said(record: Record, keeper: Keeper, where: str) -> Json:
    """A record's fields. What is repeated along an axis without being stored again is not stored here, either."""
    said: Json = {name: {"$array": keeper.keep(stored(array), where)} for name, array in arrays_of(record).items()}
    return said | {name: packed(getattr(record, name), keeper, where) for name in record.layout}


def stored(array: Array) -> Array:
    """An array without its repetitions: those that broadcasting made."""
    once = array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]
    return array if once.shape == array.shape else once


def _block_of(said: Any, columns: Sequence[Hashable], classes: int, shelf: Shelf) -> tuple[Block, Stats]:
    """A block, and what was seen of it."""
    family = _kind(unpacked(said["family"], shelf), tuple(FAMILIES.values()))
    places = _places_of(said["places"], len(columns))
    shelf.budget.take(PER_NAME * len(places))
    stats = family.stats(*_values(family.stats, said["stats"], shelf))
    levels = _levels_of(said["levels"], shelf)
    included = unpacked(said["included"], shelf)
    if isinstance(places, range):
        names = columns[places.start : places.stop]
    else:
        names = [columns[place] for place in places]
    block = Block(family, names, places, levels, included)
    check_levels(block)
    check_stats(block, stats, classes)
    _check_included(block)
    return block, stats


def _prior_of(said: Any, block: Block, stats: Stats, shelf: Shelf) -> Belief:
    """What was believed about a block: a belief such as its family makes."""
    with np.errstate(all="ignore"):
        like = block.family.belief(stats)
    return with_average(type(like)(*_values(type(like), said, shelf, like)), block)


def _places_of(said: Any, width: int) -> Sequence[int]:
    if isinstance(said, list):
        if not (len(said) == 2 and all(type(place) is int for place in said) and 0 <= said[0] < said[1] <= width):
            raise Unreadable("columns of a block are not in the table")
        return range(*said)
    places = tuple(_kind(said["each"], list))
    if not (places and all(type(place) is int and 0 <= place < width for place in places)):
        raise Unreadable("columns of a block are not in the table")
    return places


def _levels_of(said: Any, shelf: Shelf) -> tuple[Sequence[Any], ...]:
    """Levels of every column, or how many of them there are."""
    return tuple(
        tuple(unpacked_list(levels, shelf)) if isinstance(levels, list) else shelf.budget.positions(levels)
        for levels in _kind(said, list)
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


def _values(kind: type[Record], said: Any, shelf: Shelf, like: Any = None) -> list[Any]:
    """A record's fields in their order; arrays are broadcast to the shapes of one like it, which allocates nothing.

    A layout that an older version did not have is the usual one.
    """
    names: tuple[str, ...] = kind.__match_args__
    usual = {f.name: f.default for f in fields(kind) if f.name in kind.layout}  # type: ignore[arg-type]
    said = usual | said if isinstance(said, dict) else {}
    if set(said) != set(names):
        raise Unreadable(f"{kind.__name__} has the fields {', '.join(names)}")
    layout = kind.layout
    values = {name: unpacked(said[name], shelf) for name in names}
    for name in set(names) - set(layout):
        if not (isinstance(values[name], np.ndarray) and values[name].dtype == float):
            raise Unreadable("numbers of a belief or of stats are floats")
        if like is not None:
            values[name] = np.broadcast_to(values[name], getattr(like, name).shape)
    if like is not None and not all(alike(values[name], getattr(like, name)) for name in layout):
        raise Unreadable(f"{kind.__name__} is not laid out like its stats")
    return list(values.values())


def _kind(value: Any, kind: Any) -> Any:
    """The value, if it is of this kind."""
    if not isinstance(value, kind):
        raise Unreadable(f"{value!r:.50} stands where something else belongs")
    return value
