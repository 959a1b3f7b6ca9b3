"""What has to be true of an estimator or a shard: parts that belong together, possible numbers.

They are checked before a file is written, and after one is read, whoever made it.
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families import Choice, KnownDie
from bayesnb.families.base import Array, Stats
from bayesnb.families.links import LinkStats
from bayesnb.families.record import Record
from bayesnb.families.weight import one_hot
from bayesnb.model.kept_rows import MOST_ROWS, KeptRows
from bayesnb.model.linked import LinkBlock
from bayesnb.model.powers import ExponentCovariance
from bayesnb.model.schema import Block, Schema
from bayesnb.model.shards import Shard, alike
from bayesnb.persistence.codec import Saved, expect, is_floats

SUM_TOLERANCE = 1e-8  # how far probabilities may be from adding up to 1
LARGEST = float(np.finfo(float).max)
TINY = float(np.nextafter(0.0, 1.0))  # the least number above 0
LEAST_CODE = -2  # of a level that is not known; -1 is a missing cell


def check_saved(saved: Saved) -> None:
    """Raise for an estimator whose parts do not belong together."""
    shard, prior = saved.shard, saved.prior
    check_shard(shard)
    check_class_prior(prior.classes, len(shard.classes))
    blocks = zip(prior.blocks, shard.schema.blocks, shard.stats.blocks, strict=True)
    for belief, block, stats in blocks:
        check_prior(belief, block, stats)
    check_exponents(saved, shard.schema)


def check_class_prior(belief: Any, classes: int) -> None:
    """Raise unless the prior of the labels is a distribution over as many classes."""
    is_known = isinstance(belief, KnownDie)
    numbers = belief.probability if is_known else belief.concentration
    if numbers.shape != (classes,):
        raise ValueError(f"the class prior is not one of {classes} classes")
    if is_known:
        is_positive = (numbers >= 0).all() and belief.rows > 0
        if not (is_positive and abs(numbers.sum() - 1) <= SUM_TOLERANCE):
            raise ValueError("the probabilities of the classes do not add up to 1")


def check_prior(belief: Any, block: Block, stats: Stats) -> None:
    """Raise for a prior that is not such as the block's family makes of these stats."""
    with np.errstate(all="ignore"):
        like = block.belief(stats) if block.is_linked else block.family.belief(stats)
    if type(belief) is not type(like) or shapes_of(belief) != shapes_of(like):
        raise ValueError(f"{name_block(block)}: its prior is not one of its family")
    if not all(alike(getattr(belief, name), getattr(like, name)) for name in like.layout):
        raise ValueError(f"{name_block(block)}: its prior is not laid out like its stats")


def check_exponents(saved: Saved, schema: Schema) -> None:
    """Raise unless there is an exponent for each feature, or one for all, and none is below 0."""
    temper, sd, features = saved.temper, saved.temper_sd, len(schema.keys)
    if isinstance(temper, float) and isinstance(sd, float):
        if not 0 < temper < np.inf or sd < 0:  # the sd may be undefined
            raise ValueError(
                f"the exponent {temper!r} with the sd {sd!r} is not above 0 and finite"
            )
    else:
        check_numbers(temper, (features,), "exponents")
        check_numbers(sd, (features,), "sds of exponents", least=TINY)
    if saved.temper_length is not None:
        check_lengths(saved.temper_length, temper, schema)
    if saved.temper_covariance is not None:
        check_covariance(saved.temper_covariance, features)


def check_lengths(lengths: Any, temper: Any, schema: Schema) -> None:
    """Raise unless lengths are above 0, and infinite for features that are not blocks of words."""
    has_words = np.repeat(
        [block.family.words for block in schema.blocks],
        [len(block.keys) for block in schema.blocks],
    )
    check_numbers(lengths, np.shape(temper), "lengths", least=TINY, most=np.inf)
    if lengths.shape != has_words.shape or np.isfinite(lengths[~has_words]).any():
        raise ValueError("a feature that has no words has a length")


def check_covariance(covariance: ExponentCovariance, features: int) -> None:
    """Raise unless it is a covariance of exponents, of which each feature has one."""
    matrix, group = covariance.matrix, covariance.group
    size = len(matrix)
    if not is_floats(matrix) or matrix.shape != (size, size) or size > features:
        raise ValueError("the covariance of exponents is not square, or of more than there are")
    check_numbers(np.diag(matrix), (size,), "variances of exponents")
    rounding = 1e-12 * np.abs(matrix).max(initial=0.0)
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, 1e-6, rounding)):
        raise ValueError("the covariance of exponents is not finite and symmetric")
    is_group = group.dtype == np.int64 and group.shape == (features,)
    if not (is_group and ((group >= 0) & (group < size)).all()):
        raise ValueError("the groups of exponents are not places in their covariance")


def check_numbers(
    numbers: Any,
    shape: tuple[int, ...],
    name: str,
    least: float = 0.0,
    most: float = LARGEST,
) -> None:
    """Raise unless these are numbers of that shape, from the least to the most."""
    if not is_floats(numbers) or numbers.shape != shape:
        raise ValueError(f"the {name} are not {shape} numbers")
    if not ((numbers >= least) & (numbers <= most)).all():
        raise ValueError(f"the {name} are not all from {least:g} to {most:g}")


# Shards


def check_shard(shard: Shard) -> None:
    """Raise for a shard that no rows make, or that could not be read again."""
    check_labels(shard.classes)
    check_schema(shard.schema)
    counts = shard.stats.classes
    if counts.counts.shape != shard.classes.shape:
        raise ValueError(f"there are not counts of {len(shard.classes)} labels")
    check_counts(counts, "labels")
    for block, stats in zip(shard.schema.blocks, shard.stats.blocks, strict=True):
        check_stats(block, stats, len(shard.classes))
    if shard.kept is not None:
        check_kept_rows(shard.kept, shard.schema.blocks, len(shard.classes))


def check_labels(classes: Array) -> None:
    """Raise unless classes are different labels, sorted."""
    if classes.ndim != 1 or not len(classes):
        raise ValueError("classes are a list of labels")
    labels = classes.tolist()
    for label in labels:
        if not np.isscalar(label):
            raise ValueError(f"the label {label!r:.50} is neither text nor a number")
    if not all(a < b for a, b in pairwise(labels)):
        raise ValueError("classes are different labels, sorted")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("a label is not finite")


def check_schema(schema: Schema) -> None:
    """Raise for blocks of other columns, or a column in two of them."""
    columns = schema.columns
    if not isinstance(columns, range) and len(set(columns)) < len(columns):
        raise ValueError("two columns have the same name")
    for block in schema.blocks:
        if expect(block, Block).is_linked:
            check_links(block, columns)
        else:
            check_block(block, columns)
    if any(block.is_linked for block in schema.blocks[:-1]):
        raise ValueError("links come behind the columns")
    places = [place for block in schema.blocks for place in block.places]
    if len(set(places)) < len(places):
        raise ValueError("a column is in two blocks")
    for choice in schema.choices:
        check_choice(expect(choice, Choice))


def check_choice(choice: Choice) -> None:
    """Raise unless a candidate was chosen, and each has a name and a score."""
    names = choice.candidates
    if not is_floats(choice.elpd) or choice.elpd.shape != (len(names),):
        raise ValueError("the choice of a family has no score for each candidate")
    if not all(isinstance(name, str) for name in names) or not 0 <= choice.chosen < len(names):
        raise ValueError("the family that was chosen is not a candidate with a name")


def check_block(block: Block, columns: Sequence[Hashable]) -> None:
    """Raise for a block of columns that are not there, or without different levels of each."""
    check_places(block, columns)
    family = block.family
    if len(block.levels) != (len(block.names) if family.has_levels or family.listed else 0):
        raise ValueError(f"{name_block(block)}: levels of {len(block.levels)} columns")
    for name, levels in zip(block.names, block.levels, strict=bool(block.levels)):
        if isinstance(levels, range):
            continue  # which are different
        if len(set(levels)) < len(levels) or any(
            level is None or level != level for level in levels
        ):
            raise ValueError(f"column {name!r:.50}: a level is missing, or is there twice")


def check_places(block: Block, columns: Sequence[Hashable]) -> None:
    """Raise unless a block's columns are in the table, under their names."""
    places, width = block.places, len(columns)
    if not len(places) or not all(type(place) is int and 0 <= place < width for place in places):
        raise ValueError("columns of a block are not in the table")
    if len(block.names) != len(places) or any(
        name != columns[place] for name, place in zip(block.names, places, strict=True)
    ):
        raise ValueError("columns of a block have other names than in the table")


def check_links(block: Any, columns: Sequence[Hashable]) -> None:
    """Raise for links that are not different pairs of columns, or numbers that they cannot have."""
    for reader in expect(block, LinkBlock).readers:
        check_places(reader, columns)
        if reader.grid is None:
            check_block(reader, columns)
        elif len(reader.grid.sizes) != len(reader.names):
            raise ValueError("the numbers of a link are on no grid")
    width = len(block.columns)
    for u, v in block.ends:
        if not (type(u) is type(v) is int and u != v and 0 <= u < width and 0 <= v < width):
            raise ValueError("a link is between two columns")
    if len(set(block.ends)) < len(block.ends) or not block.ends:
        raise ValueError("a link is there twice, or there is none")
    for name in ("strength", "evidence", "in_forest"):
        check_numbers(getattr(block, name), (len(block.ends),), f"{name} of links")
    check_numbers(block.margin, (sum(block.sizes),), "margins of links")
    if not block.strength.all():
        raise ValueError("the strength of a link is 0")


# Stats


def check_stats(block: Block, stats: Any, classes: int) -> None:
    """Raise for stats that no rows of this block's columns make."""
    whose = name_block(block)
    if isinstance(block, LinkBlock):
        is_right = isinstance(stats, LinkStats) and alike(stats.pairs, block.pairs)
        if not is_right or stats.counts.shape != (classes, sum(block.sizes)):
            raise ValueError("the stats of links are not those of their pairs of levels")
        check_counts(stats, whose)
        return
    if type(stats) is not block.family.stats:
        raise ValueError(f"{whose}: stats of another family")
    if not alike(getattr(stats, "grid", None), block.grid):
        raise ValueError(f"{whose}: its stats are on another grid")
    is_listed = block.family.listed
    sizes = shapes_of(stats)["counts"][-1:] if is_listed else getattr(stats, "sizes", ())
    width = max(len(block.names), sum(block.sizes))
    numbers = sum(np.size(array) for array in arrays_of(stats).values())
    if sizes != block.sizes or classes * width**stats.degree > numbers:
        raise ValueError(f"{whose}: its stats are not those of {classes} classes and its levels")
    stats.check()
    like = stats.alone(np.zeros((1, len(block.words))), one_hot(np.zeros(1, np.int64), classes))
    if type(stats) is not type(like) or shapes_of(stats) != shapes_of(like):
        raise ValueError(f"{whose}: shapes {shapes_of(stats)} where {shapes_of(like)} belong")
    check_counts(stats, whose)


def check_counts(stats: Stats, whose: str) -> None:
    """Raise for numbers that no rows make."""
    with np.errstate(all="ignore"):
        if stats.overflow:
            raise ValueError(stats.overflow)
        if not stats.covers(0 * stats, np.zeros(len(stats), bool)):
            raise ValueError(f"{whose}: stats are below 0, or of no rows that there can be")


def arrays_of(record: Record) -> dict[str, Array]:
    """Return the arrays of a record by name."""
    return {
        name: getattr(record, name) for name in record.__match_args__ if name not in record.layout
    }


def shapes_of(record: Record) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a record's arrays."""
    return {name: array.shape for name, array in arrays_of(record).items()}


# Rows that stay


def check_kept_rows(kept: KeptRows, blocks: Sequence[Block], classes: int) -> None:
    """Raise for rows that no table of these columns has."""
    size = len(kept.codes)
    for name, dtype in (("codes", np.intp), ("weight", float), ("keys", np.uint64)):
        array = getattr(kept, name)
        if array.dtype != dtype or array.shape != (size,):
            raise ValueError(f"the {name} of the rows that stay are not one for each")
    if not 0 < size <= min(MOST_ROWS, kept.rows):
        raise ValueError("rows that stay are more than they can be")
    if not ((kept.codes >= 0) & (kept.codes < classes)).all():
        raise ValueError("a row that stays has no class")
    check_numbers(kept.weight, (size,), "weights of the rows that stay", least=TINY)
    if not (kept.keys[1:] >= kept.keys[:-1]).all():
        raise ValueError("rows that stay are not in the order of their keys")
    for x, block in zip(kept.cells, blocks, strict=True):
        check_kept_cells(x, block, size)


def check_kept_cells(x: Any, block: Block, rows: int) -> None:
    """Raise unless cells, `(r, f)`, are numbers of a block's support, or codes of its levels."""
    family = block.family
    is_coded = family.has_levels or family.has_grid or block.is_linked
    is_sparse = sparse.issparse(x)
    can_be_sparse = family.listed or family.reads_sparse
    if x.shape != (rows, len(block.words)) or x.dtype.kind not in ("i" if is_coded else "iufb"):
        raise ValueError("cells of rows that stay are not those of their columns")
    if is_sparse != family.listed and not (is_sparse and can_be_sparse):
        raise ValueError(
            "cells of rows that stay are sparse where none can be, or dense where none can be"
        )
    if not is_coded:
        block.check(x)
    elif not ((x >= LEAST_CODE) & (x < np.array(block.sizes, np.int64))).all():
        raise ValueError("a row that stays has a level that its column has not")


def name_block(block: Block) -> str:
    """Name the columns of a block in an error."""
    if block.is_linked:
        return "links between columns"
    rest = len(block.names) - 1
    return f"column {block.names[0]!r:.50}" + (f" and {rest} more" if rest else "")
