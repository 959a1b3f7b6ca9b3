"""Estimators and shards as documents: JSON and numbered arrays, and back; their parts have to belong together."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.data import blank_of
from bayesnb.families import FAMILIES, Categorical, Choice, PolyaTree
from bayesnb.families.averaged import Averaged
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletStats
from bayesnb.families.grid import SEARCHED, Grid
from bayesnb.families.links import LinkStats
from bayesnb.families.record import Record
from bayesnb.families.weight import one_hot
from bayesnb.model.linked import LinkBlock
from bayesnb.model.powers import ExponentCovariance
from bayesnb.model.priors import averaging
from bayesnb.model.product import Product, ProductStats
from bayesnb.model.schema import Block, Schema
from bayesnb.model.shards import Shard, alike
from bayesnb.persistence.archive import ArrayReader, ArrayWriter
from bayesnb.persistence.budget import Unreadable, are_positions, check_hashes
from bayesnb.persistence.json_values import pack, unpack, unpack_list
from bayesnb.persistence.kept_document import describe_kept, kept_of

NUMBER = 8  # bytes
MOST_POSITIONS = 1 << 20  # names that are their positions, and so need not be listed
PER_NAME = 32  # units of a column in a block
SUM = 1e-8  # how far probabilities may be from adding up to 1
LINK_ARRAYS = ("strength", "margin", "evidence", "in_forest")
Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Saved:
    """A fitted estimator: its class and parameters, what it has learnt, its prior, and a note."""

    estimator: str
    params: dict[str, Any]
    shard: Shard
    prior: Product
    temper: Any  # an exponent, or one for each feature in the table's order, `(f,)`
    temper_sd: Any
    named: bool  # whether the columns' names are those of a frame
    note: Any = None
    temper_length: Any = None  # of each feature, `(f,)`, at which its exponent is half, or infinite; None: none falls
    temper_covariance: Any = None  # an `ExponentCovariance` of exponents that were found
    target: str | None = None  # name of the labels


def describe_model(saved: Saved, writer: ArrayWriter) -> Json:
    """Return the document of an estimator; arrays go to the writer."""
    params = {name: pack(value, writer, f"parameter {name}") for name, value in saved.params.items()}
    seen = describe_shard(saved.shard, writer)
    blocks = zip(seen["blocks"], saved.shard.schema.blocks, saved.prior.blocks, strict=True)
    optional: Json = {"temper_length": saved.temper_length, "target": saved.target}
    if saved.temper_covariance is not None:
        optional["temper_covariance"] = saved.temper_covariance.matrix
        optional["temper_group"] = saved.temper_covariance.group
    return (
        seen
        | {name: pack(value, writer, name) for name, value in optional.items() if value is not None}
        | {
            "estimator": saved.estimator,
            "params": params,
            "named": saved.named,
            "class_prior": pack(saved.prior.classes, writer, "class_prior"),
            "temper": pack(saved.temper, writer, "temper_"),
            "temper_sd": pack(saved.temper_sd, writer, "temper_sd_"),
            "note": pack(saved.note, writer, "the note"),
            "blocks": [entry | {"prior": _describe_prior(block, prior, writer)} for entry, block, prior in blocks],
        }
    )


def model_of(document: Mapping[str, Any], reader: ArrayReader) -> Saved:
    """Return the estimator that `describe_model` described."""
    shard = shard_of(document, reader)
    blocks = zip(document["blocks"], shard.schema.blocks, shard.stats.blocks, strict=True)
    priors = tuple(_prior_of(entry["prior"], block, seen, reader) for entry, block, seen in blocks)
    class_prior, temper = unpack(document["class_prior"], reader), unpack(document["temper"], reader)
    params = {name: unpack(value, reader) for name, value in _expect(document["params"], dict).items()}
    note = unpack(document.get("note"), reader)  # files of version 1.0 have none
    named = _expect(document["named"], bool)
    temper_sd = unpack(document.get("temper_sd", 0.0), reader)  # files before version 1.3 have none
    check_class_prior(class_prior, len(shard.classes))
    length = unpack(document.get("temper_length"), reader)  # a model whose exponents do not fall has none
    check_temper(temper, temper_sd, len(shard.schema.keys))
    check_temper_length(length, temper, shard.schema)
    covariance = None  # of exponents that are known
    if "temper_covariance" in document:
        covariance = ExponentCovariance(
            *(unpack(document[name], reader) for name in ("temper_covariance", "temper_group"))
        )
    check_temper_covariance(covariance, len(shard.schema.keys))
    prior = Product(class_prior, priors)
    target = unpack(document.get("target"), reader)  # labels without a name, and files before version 1.5, have none
    if target is not None:
        _expect(target, str)
    exponents = temper, temper_sd, named, note, length, covariance
    return Saved(document["estimator"], params, shard, prior, *exponents, target)


def describe_shard(shard: Shard, writer: ArrayWriter) -> Json:
    """Return the document of a shard; arrays go to the writer."""
    schema, stats = shard.schema, shard.stats
    modelled = {place for block in schema.blocks for place in block.places}
    return {
        "classes": pack(shard.classes, writer, "the labels"),
        "columns": _describe_columns(schema.columns, writer),
        "table": pack(schema.blank.recipe(modelled), writer, "the table"),
        "class_stats": _describe_record(stats.classes, writer, "the labels"),
        "whole": shard.integer_weights,
        "blocks": [_describe_block(*pair, writer) for pair in zip(schema.blocks, stats.blocks, strict=True)],
        **({"choices": [_describe_choice(choice, writer) for choice in schema.choices]} if schema.choices else {}),
        **({} if shard.kept is None else {"kept": describe_kept(shard.kept, writer)}),
    }


def shard_of(document: Mapping[str, Any], reader: ArrayReader) -> Shard:
    """Return the shard that `describe_shard` described."""
    classes, packed = _expect(unpack(document["classes"], reader), np.ndarray), document["columns"]
    columns = tuple(unpack_list(packed, reader)) if isinstance(packed, list) else reader.budget.positions(packed)
    if len(set(columns)) < len(columns):
        raise Unreadable("two columns have the same name")
    read = [_block_of(entry, columns, reader) for entry in _expect(document["blocks"], list)]
    blocks, stats = (tuple(part) for part in zip(*read, strict=True))
    places = [place for block in blocks for place in block.places]
    if len(set(places)) < len(places):
        raise Unreadable("a column is in two blocks")
    if any(block.is_linked for block in blocks[:-1]):
        raise Unreadable("links come behind the columns")
    blank = blank_of(_expect(unpack(document["table"], reader), dict), len(columns))
    seen = DirichletStats(*_values(DirichletStats, document["class_stats"], reader))
    whole = _expect(document["whole"], bool)
    choices = tuple(_choice_of(entry, reader) for entry in _expect(document.get("choices", []), list))
    kept = None if "kept" not in document else kept_of(document["kept"], blocks, len(classes), reader)
    shard = Shard(classes, Schema(columns, blocks, blank, choices), ProductStats(seen, stats), whole, kept)
    check_shard(shard)
    return shard


def _describe_choice(choice: Choice, writer: ArrayWriter) -> Json:
    where = f"the choice for column {choice.key!r:.50}"
    elpd = {"$array": writer.add(choice.elpd, where)}
    return {
        "key": pack(choice.key, writer, where),
        "candidates": list(choice.candidates),
        "elpd": elpd,
        "chosen": choice.chosen,
    }


def _choice_of(packed: Any, reader: ArrayReader) -> Choice:
    packed = _expect(packed, dict)
    names, chosen = _expect(packed["candidates"], list), _expect(packed["chosen"], int)
    elpd = _expect(unpack(packed["elpd"], reader), np.ndarray)
    if not all(isinstance(name, str) for name in names) or elpd.dtype != float or elpd.shape != (len(names),):
        raise Unreadable("the choice of a family has no score for each candidate")
    if not 0 <= chosen < len(names):
        raise Unreadable("the family that was chosen is not a candidate")
    return Choice(unpack(packed["key"], reader), tuple(names), elpd, chosen)


def _describe_columns(columns: Sequence[Hashable], writer: ArrayWriter) -> Any:
    if len(columns) <= MOST_POSITIONS and are_positions(columns):
        return len(columns)
    check_hashes(columns, "the names of the columns")
    return [pack(name, writer, f"the name of column {place}") for place, name in enumerate(columns)]


def _describe_links(block: LinkBlock, stats: Stats, writer: ArrayWriter) -> Json:
    readers = [
        {
            "levels": [_describe_levels(entry, writer, "levels of links") for entry in reader.levels],
            "places": list(reader.places),
            "grid": None if reader.grid is None else pack(reader.grid, writer, "the grid of links"),
        }
        for reader in block.readers
    ]
    arrays = {name: pack(getattr(block, name), writer, "links") for name in LINK_ARRAYS}
    return (
        {"links": [list(pair) for pair in block.ends], "readers": readers}
        | arrays
        | {"stats": _describe_record(stats, writer, "links")}
    )


def _links_of(packed: Json, columns: Sequence[Hashable], reader: ArrayReader) -> tuple[Block, Stats]:
    """Return the links that `_describe_links` described; raise for any that no columns have."""
    readers = tuple(_reader_of(entry, columns, reader) for entry in _expect(packed["readers"], list))
    width = sum(len(each.names) for each in readers)
    ends = tuple(_end_of(entry, width) for entry in _expect(packed["links"], list))
    arrays = {name: _expect(unpack(packed[name], reader), np.ndarray) for name in LINK_ARRAYS}
    block = LinkBlock.of_links(readers, ends=ends, **arrays)
    if len(set(ends)) < len(ends) or not ends:
        raise Unreadable("a link is there twice, or there is none")
    reader.budget.take(NUMBER * sum(block.sizes))
    shapes = {name: (len(ends),) for name in LINK_ARRAYS} | {"margin": (sum(block.sizes),)}
    if any(arrays[name].shape != shape or arrays[name].dtype != float for name, shape in shapes.items()):
        raise Unreadable("there are not numbers for each link")
    if not all(np.isfinite(each).all() and (each >= 0).all() for each in arrays.values()) or not block.strength.all():
        raise Unreadable("a number of a link is below 0, or not finite")
    return block, LinkStats(*_values(LinkStats, packed["stats"], reader))


def _reader_of(packed: Any, columns: Sequence[Hashable], reader: ArrayReader) -> Block:
    packed = _expect(packed, dict)
    places = _places_of({"each": packed["places"]}, len(columns))
    names, grid = tuple(columns[place] for place in places), unpack(packed["grid"], reader)
    levels = tuple(
        tuple(unpack_list(entry, reader)) if isinstance(entry, list) else reader.budget.positions(entry)
        for entry in _expect(packed["levels"], list)
    )
    if grid is None:
        block = Block(Categorical(), names, places, levels)
        _check_block(block)
        return block
    if not isinstance(grid, Grid) or len(grid.sizes) != len(names) or levels:
        raise Unreadable("the numbers of a link are on no grid")
    reader.budget.take(NUMBER * len(grid.sizes) * SEARCHED)
    return Block(PolyaTree(), names, places, grid=grid)


def _end_of(packed: Any, width: int) -> tuple[int, int]:
    match packed:
        case [int(u), int(v)] if u != v and 0 <= u < width and 0 <= v < width:
            return u, v
    raise Unreadable("a link is between two columns")


def _describe_block(block: Block, stats: Stats, writer: ArrayWriter) -> Json:
    if isinstance(block, LinkBlock):
        return _describe_links(block, stats, writer)
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


def _describe_levels(levels: Sequence[Any], writer: ArrayWriter, where: str) -> Any:
    """Return the levels, or only their number where they are 0, 1, ..."""
    if are_positions(levels):
        return len(levels)
    check_hashes(levels, where)
    return [pack(level, writer, where) for level in levels]


def _describe_prior(block: Block, prior: Belief, writer: ArrayWriter) -> Json:
    """Return the prior that the family makes, without the averaging over features, which `_prior_of` adds again."""
    plain = prior.separate if isinstance(prior, Averaged) else prior
    written = plain.map(np.ascontiguousarray) if plain.spelled_out else plain
    return _describe_record(written, writer, _names_of(block))


def _describe_record(record: Record, writer: ArrayWriter, where: str) -> Json:
    """Return the fields of a record. What broadcasting repeats along an axis is written once."""
    packed: Json = {name: pack(getattr(record, name), writer, where) for name in record.layout}
    for name, array in _arrays_of(record).items():
        once = array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]
        packed[name] = {"$array": writer.add(array if once.shape == array.shape else once, where)}
    return packed


def _block_of(packed: Any, columns: Sequence[Hashable], reader: ArrayReader) -> tuple[Block, Stats]:
    """Return a block and its stats; among its levels a number stands for 0, 1, ..."""
    if isinstance(packed, dict) and "links" in packed:
        return _links_of(packed, columns, reader)
    family = _expect(unpack(packed["family"], reader), tuple(FAMILIES.values()))
    places = _places_of(packed["places"], len(columns))
    reader.budget.take(PER_NAME * len(places))
    stats = family.stats(*_values(family.stats, packed["stats"], reader))
    levels = tuple(
        tuple(unpack_list(entry, reader)) if isinstance(entry, list) else reader.budget.positions(entry)
        for entry in _expect(packed["levels"], list)
    )
    together = isinstance(places, range)
    names = columns[places.start : places.stop] if together else [columns[place] for place in places]
    grid = getattr(stats, "grid", None)
    if grid is not None:
        reader.budget.take(NUMBER * len(grid.sizes) * SEARCHED)
    return Block(family, names, places, levels, unpack(packed["included"], reader), grid), stats


def _prior_of(packed: Any, block: Block, stats: Stats, reader: ArrayReader) -> Belief:
    """Return the prior of a block: a belief such as its family makes."""
    with np.errstate(all="ignore"):
        like = block.belief(stats) if block.is_linked else block.family.belief(stats)
    prior = type(like)(*_values(type(like), packed, reader, like))
    return prior if block.included is None else averaging(prior, block.included, block.keys)


def _places_of(packed: Any, width: int) -> Any:
    """Return the places of a block's columns: from one up to another, or each of them."""
    match packed:
        case [int(first), int(stop)] if 0 <= first < stop <= width:
            return range(first, stop)
        case {"each": [_, *_] as each} if all(type(place) is int and 0 <= place < width for place in each):
            return tuple(each)
    raise Unreadable("columns of a block are not in the table")


def _values(kind: type[Record], packed: Any, reader: ArrayReader, like: Any = None) -> list[Any]:
    """Return the fields of a record in their order; arrays are broadcast, without a copy, to the shapes of `like`.

    A layout that an older version did not have is the usual one.
    """
    names: tuple[str, ...] = kind.__match_args__
    usual = {f.name: f.default for f in fields(kind) if f.name in kind.layout}  # type: ignore[arg-type]
    packed = usual | packed if isinstance(packed, dict) else {}
    if set(packed) != set(names):
        raise Unreadable(f"{kind.__name__} has the fields {', '.join(names)}")
    values = {name: unpack(packed[name], reader) for name in names}
    for name in set(names) - set(kind.layout):
        if not (isinstance(values[name], np.ndarray) and values[name].dtype == float):
            raise Unreadable("numbers of a belief or of stats are floats")
        if like is not None:
            values[name] = np.broadcast_to(values[name], getattr(like, name).shape)
    if like is not None and not all(alike(values[name], getattr(like, name)) for name in kind.layout):
        raise Unreadable(f"{kind.__name__} is not laid out like its stats")
    return list(values.values())


def _arrays_of(record: Record) -> dict[str, Array]:
    return {name: getattr(record, name) for name in record.__match_args__ if name not in record.layout}


def _expect(value: Any, kind: Any) -> Any:
    """Return the value if it is of this type; raise `Unreadable` otherwise."""
    if not isinstance(value, kind):
        raise Unreadable(f"{value!r:.50} stands where something else belongs")
    return value


def check_temper(temper: Any, sd: Any, features: int) -> None:
    """Raise unless the temper is positive and finite; of one for each feature, none below 0, with sds above 0."""
    if isinstance(temper, float) and isinstance(sd, float):
        if not (0 < temper < np.inf and not sd < 0):
            raise ValueError(f"the temper {temper!r:.50} is not positive and finite")
        return
    for name, numbers, least in (("temper", temper, 0.0), ("sd of the temper", sd, np.nextafter(0.0, 1.0))):
        if not (isinstance(numbers, np.ndarray) and numbers.dtype == float and numbers.shape == (features,)):
            raise ValueError(f"the {name} is not one number for each of {features} features")
        if not (np.isfinite(numbers).all() and (numbers >= least).all()):
            raise ValueError(f"the {name} of a feature is not finite, or too small")


def check_temper_length(length: Any, temper: Any, schema: Schema) -> None:
    """Raise unless lengths are above 0, and infinite for features that are not blocks of words; None is valid."""
    if length is None:
        return
    words = np.array([schema.blocks[b].family.words for _, b, _ in schema.keys])
    if not (
        isinstance(length, np.ndarray) and length.dtype == float and length.shape == np.shape(temper) == words.shape
    ):
        raise ValueError(f"the length of the temper is not one number for each of {len(words)} features")
    if not (length > 0).all() or np.isfinite(length[~words]).any():
        raise ValueError("the length of the temper is not above 0, or of a feature that has no words")


def check_temper_covariance(covariance: ExponentCovariance | None, features: int) -> None:
    """Raise unless it is a covariance of exponents, of which each feature has one; None is valid."""
    if covariance is None:
        return
    matrix, group = covariance.matrix, covariance.group
    if not (isinstance(matrix, np.ndarray) and matrix.dtype == float and matrix.ndim == 2 and len(matrix) <= features):
        raise ValueError(f"the covariance of the temper is not an array of at most {features} rows")
    if matrix.shape[0] != matrix.shape[1] or not (np.isfinite(matrix).all() and (np.diag(matrix) >= 0).all()):
        raise ValueError("the covariance of the temper is not square and finite, or a variance is below 0")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ValueError("the covariance of the temper is not symmetric")
    if not (isinstance(group, np.ndarray) and group.dtype == np.int64 and group.shape == (features,)):
        raise ValueError(f"the groups of the temper are not one whole number for each of {features} features")
    if not ((group >= 0) & (group < len(matrix))).all():
        raise ValueError("a group of the temper has no variance")


def check_class_prior(prior: Any, classes: int) -> None:
    """Raise unless the prior is a distribution over as many classes."""
    if not isinstance(prior, (Dirichlet, KnownDie)):
        raise ValueError("the class prior is neither learnt nor given")
    numbers = prior.probability if isinstance(prior, KnownDie) else prior.concentration
    if numbers.shape != (classes,):
        raise ValueError(f"the class prior is not one of {classes} classes")
    if isinstance(prior, KnownDie):
        positive = np.isfinite(numbers).all() and (numbers >= 0).all() and prior.rows > 0
        if not (positive and abs(numbers.sum() - 1) <= SUM):
            raise ValueError("the probabilities of the classes do not add up to 1")


def check_shard(shard: Shard) -> None:
    """Raise for a shard that no rows make, or that could not be read again."""
    classes, counts = shard.classes, shard.stats.classes
    if classes.ndim != 1 or not len(classes):
        raise ValueError("classes are a list of labels")
    labels = classes.tolist()
    invalid = [label for label in labels if not np.isscalar(label)]
    if invalid:
        raise ValueError(f"the label {invalid[0]!r:.50} is neither text nor a number")
    if not all(a < b for a, b in pairwise(labels)):
        raise ValueError("classes are different labels, sorted")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("a label is not finite")
    if counts.counts.shape != classes.shape:
        raise ValueError(f"there are not counts of {len(classes)} labels")
    _check_numbers(counts, "labels")
    for block, stats in zip(shard.schema.blocks, shard.stats.blocks, strict=True):
        _check_block(block)
        _check_stats(block, stats, len(classes))


def _check_block(block: Block) -> None:
    """Raise for levels that are not different ones of as many columns, or not a probability for each feature."""
    if block.is_linked:
        return
    if len(block.levels) != (len(block.names) if block.family.has_levels or block.family.listed else 0):
        raise ValueError(f"{_names_of(block)}: levels of {len(block.levels)} columns")
    for name, levels in zip(block.names, block.levels, strict=bool(block.levels)):
        if are_positions(levels):
            continue  # sooner than a set of them
        if len(set(levels)) < len(levels) or any(level is None or level != level for level in levels):
            raise ValueError(f"column {name!r:.50}: a level is missing, or is there twice")
    share = block.included
    if share is not None:
        floats = isinstance(share, np.ndarray) and share.dtype == float and share.shape == (len(block.keys),)
        if not (floats and ((share > 0) & (share <= 1)).all()):
            raise Unreadable("average_features has no probability for each feature")


def _check_stats(block: Block, stats: Stats, classes: int) -> None:
    """Raise for stats that no rows of this block's columns make: other shapes, or impossible numbers."""
    if isinstance(block, LinkBlock):
        right = type(stats) is LinkStats and alike(stats.pairs, block.pairs)
        if not right or stats.counts.shape != (classes, sum(block.sizes)):  # type: ignore[attr-defined]
            raise ValueError("the stats of links are not those of their pairs of levels")
        _check_numbers(stats, "links")
        return
    whose, arrays = _names_of(block), _arrays_of(stats)
    if type(stats) is not block.family.stats:
        raise ValueError(f"{whose}: stats of another family")
    width = max(len(block.names), sum(block.sizes))
    sizes = stats.counts.shape[-1:] if block.family.listed else getattr(stats, "sizes", ())  # type: ignore[attr-defined]
    if sizes != block.sizes or classes * width**stats.degree > sum(array.size for array in arrays.values()):
        raise ValueError(f"{whose}: its stats are not those of {classes} classes and its levels")
    stats.check()
    like = stats.alone(np.zeros((1, len(block.words))), one_hot(np.zeros(1, np.int64), classes))
    got, wanted = ({name: array.shape for name, array in _arrays_of(each).items()} for each in (stats, like))
    if type(stats) is not type(like) or got != wanted:
        raise ValueError(f"{whose}: shapes {got} where {wanted} belong")
    _check_numbers(stats, whose)


def _check_numbers(stats: Stats, whose: str) -> None:
    with np.errstate(all="ignore"):
        if stats.overflow:
            raise ValueError(stats.overflow)
        if not stats.covers(0 * stats, np.zeros(len(stats), bool)):
            raise ValueError(f"{whose}: stats are below 0, or of no rows that there can be")


def _names_of(block: Block) -> str:
    if block.is_linked:
        return "links between columns"
    return f"column {block.names[0]!r:.50}" + (f" and {len(block.names) - 1} more" if len(block.names) > 1 else "")
