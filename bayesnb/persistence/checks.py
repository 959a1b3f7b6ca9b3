"""Checks of an estimator or a shard: parts must belong together, and numbers must be possible.

They run before a file is written and after one is read. Anything else that fails while reading,
such as a place outside the table, also makes the file unreadable.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families import KnownDie
from bayesnb.families.base import Array, Stats
from bayesnb.families.links import LinkStats
from bayesnb.families.record import Record
from bayesnb.families.weight import one_hot
from bayesnb.formatting import list_names, quote
from bayesnb.model.covariance import Covariance
from bayesnb.model.fitted import Temper
from bayesnb.model.kept_rows import MAX_ROWS, KeptRows
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells, name_flags
from bayesnb.model.schema import Block, Schema, are_alike
from bayesnb.model.shards import Shard
from bayesnb.persistence.codec import Saved, is_floats

SUM_TOLERANCE = 1e-8  # of probabilities that must sum to 1
LARGEST = float(np.finfo(float).max)
TINY = float(np.nextafter(0.0, 1.0))  # the smallest number above 0
LEAST_CODE = -2  # an unknown level; -1 is a missing cell


def require(condition: Any, problem: str) -> None:
    """Raise unless a condition holds."""
    if not condition:
        raise ValueError(problem)


def are_below(places: Array, size: Any, least: int = 0) -> bool:
    """Return whether all numbers are in the range from `least` to below `size`."""
    return bool(((places >= least) & (places < size)).all())


def check_numbers(
    numbers: Any,
    shape: tuple[int, ...],
    name: str,
    least: float = 0.0,
    most: float = LARGEST,
) -> None:
    """Raise unless these are numbers with the given shape and range."""
    is_right = is_floats(numbers) and numbers.shape == shape
    require(
        is_right and ((numbers >= least) & (numbers <= most)).all(),
        f"the {name} must have shape {shape} and be from {least:g} to {most:g}",
    )


def check_saved(saved: Saved) -> None:
    """Raise if the parts of an estimator do not belong together."""
    shard = saved.shard
    prior = saved.prior
    check_shard(shard)
    check_class_prior(prior.classes, len(shard.classes))
    blocks = zip(prior.blocks, shard.schema.blocks, shard.stats.blocks, strict=True)
    for belief, block, stats in blocks:
        with np.errstate(all="ignore"):
            like = block.belief(stats)
        is_right = type(belief) is type(like) and shapes_of(belief) == shapes_of(like)
        require(
            is_right and are_alike(belief.layout_values, like.layout_values),
            f"{name_block(block)}: its prior does not fit its family or its stats",
        )
    check_exponents(saved.temper, len(shard.schema.keys))


def check_class_prior(belief: Any, classes: int) -> None:
    """Raise unless the class prior is a distribution over the classes."""
    is_known = isinstance(belief, KnownDie)
    numbers = belief.probability if is_known else belief.concentration
    check_numbers(numbers, (classes,), "parameters of the class prior")
    if is_known:
        is_sum = abs(numbers.sum() - 1) <= SUM_TOLERANCE and belief.rows > 0
        require(is_sum, "the class prior is not a distribution")


def check_exponents(temper: Temper, features: int) -> None:
    """Raise unless there is a non-negative exponent for each feature, or one for all."""
    value = np.asarray(temper.value)
    sd = np.asarray(temper.sd)
    is_one = value.ndim == 0  # positive, with an sd that may be 0 or infinite
    shape = () if is_one else (features,)
    check_numbers(value, shape, "exponents", least=TINY if is_one else 0.0)
    check_numbers(sd, shape, "sds of exponents", 0.0 if is_one else TINY, np.inf)
    if temper.length is not None:
        check_numbers(temper.length, shape, "lengths", TINY, np.inf)
    if temper.covariance is None:
        return
    matrix = temper.covariance.matrix
    group = temper.covariance.group
    size = len(matrix)
    check_numbers(matrix, (size, size), "covariances of exponents", least=-LARGEST)
    check_numbers(np.diag(matrix), (size,), "variances of exponents")
    rounding = 1e-12 * np.abs(matrix).max(initial=0.0)
    require(
        np.allclose(matrix, matrix.T, 1e-6, rounding),
        "the covariance of exponents is not symmetric",
    )
    is_group = group.dtype == np.int64 and group.shape == (features,)
    require(
        is_group and are_below(group, size) and size <= features,
        "the covariance of exponents does not fit the number of features",
    )


# Shards


def check_shard(shard: Shard) -> None:
    """Raise for a shard that no rows could give, or that could not be read again."""
    classes = shard.classes
    schema = shard.schema
    check_labels(classes)
    check_schema(schema)
    counts = shard.stats.classes
    check_numbers(counts.counts, classes.shape, "counts of labels")
    check_counts(counts, "labels")
    for block, stats in zip(schema.blocks, shard.stats.blocks, strict=True):
        check_stats(block, stats, len(classes))
    if shard.kept is not None:
        check_kept_rows(shard.kept, schema.blocks, len(classes))


def check_labels(classes: Array) -> None:
    """Raise unless classes are distinct, sorted labels."""
    require(classes.ndim == 1 and len(classes), "classes are not a list of labels")
    for label in classes.tolist():
        require(np.isscalar(label), f"the label {label!r:.50} is neither text nor a number")
    is_sorted = np.array_equal(classes, np.unique(classes))  # NaN equals nothing
    require(is_sorted, "classes are not distinct and sorted")


def check_schema(schema: Schema) -> None:
    """Raise for blocks with columns that are not in the table, or a column in two blocks."""
    columns = schema.columns
    blocks = schema.blocks
    is_unique = isinstance(columns, range) or len(set(columns)) == len(columns)
    require(is_unique, "two columns have the same name")
    for block in blocks:
        if isinstance(block.family, Linked):
            check_links(block, block.family, columns)
        elif isinstance(block.family, MissingCells):
            check_missing(block, block.family, columns)
        elif isinstance(block.family, Covariance):
            check_covariance(block, block.family, columns)
        else:
            check_block(block, columns)
    behind = [block.repeats for block in blocks]
    require(behind == sorted(behind), "links, flags and the covariance must follow the columns")
    places = [place for block in blocks for place in block.places]
    require(len(set(places)) == len(places), "a column is in two blocks")
    for choice in schema.choices:
        names = choice.candidates
        is_possible = choice.elpd.shape == (len(names),) and 0 <= choice.chosen < len(names)
        require(is_possible, "the choice of a family does not fit its candidates and scores")


def check_block(block: Block, columns: Sequence[Hashable]) -> None:
    """Raise for columns that are not in the table, or without distinct levels for each."""
    places = block.places
    family = block.family
    are_places = all(type(place) is int and place >= 0 for place in places)
    require(are_places and len(places), "columns of a block are not in the table")
    names = [columns[place] for place in places]
    require(list(block.names) == names, "columns of a block have other names than in the table")
    size = len(names) if family.has_levels or family.listed else 0
    require(len(block.levels) == size, f"{name_block(block)}: some columns have no levels")
    for levels in block.levels:
        if isinstance(levels, range):
            continue  # distinct by construction
        is_missing = any(level is None or level != level for level in levels)
        is_unique = not is_missing and len(set(levels)) == len(levels)
        require(is_unique, f"{name_block(block)}: a level is missing or occurs twice")


def check_links(block: Block, family: Linked, columns: Sequence[Hashable]) -> None:
    """Raise for links that are not distinct pairs of columns, or with invalid numbers."""
    for reader in family.readers:
        check_block(reader, columns)
        is_on_grid = reader.grid is None or len(reader.grid.sizes) == len(reader.names)
        require(is_on_grid, "the numbers of a link have no grid")
    ends = np.array(family.ends)
    links = len(ends)
    is_pair = ends.shape == (links, 2) and ends.dtype.kind == "i"
    is_pair = is_pair and are_below(ends, len(family.columns))
    require(
        is_pair and (ends[:, 0] != ends[:, 1]).all(),
        "a link is not between two columns",
    )
    is_unique = len(set(family.ends)) == links > 0
    require(is_unique, "a link occurs twice, or there is none")
    is_named = tuple(block.names) == family.keys and len(block.places) == links
    require(is_named, "links have other names than their columns")
    check_numbers(family.strength, (links,), "strengths of links", least=TINY)
    check_numbers(family.evidence, (links,), "evidence of links")
    check_numbers(family.in_forest, (links,), "links in the forest")
    check_numbers(family.margin, (sum(block.sizes),), "margins of links")


def check_missing(block: Block, family: MissingCells, columns: Sequence[Hashable]) -> None:
    """Raise for flags of columns that are not in the table."""
    places = family.places
    are_places = all(type(place) is int and 0 <= place < len(columns) for place in places)
    require(are_places and len(places), "flags of missing cells belong to columns not in the table")
    names = name_flags(columns, places)
    is_named = list(block.names) == names and len(block.places) == len(places)
    require(is_named, "flags of missing cells have other names than their columns")
    check_numbers(family.gain, (len(places),), "gains of flags of missing cells")


def check_covariance(block: Block, family: Covariance, columns: Sequence[Hashable]) -> None:
    """Raise for columns that are not in the table, or an invalid scale."""
    indicators = family.indicators
    width = len(family.places)
    if indicators is not None:
        for reader in indicators.readers:
            check_block(reader, columns)
        ends = indicators.ends
        is_pair = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype.kind == "i"
        is_pair = is_pair and are_below(ends, indicators.sizes.sum()) and len(indicators) > 0
        require(is_pair, "an indicator of a covariance is not one of its levels")
        width += len(indicators)
    places = family.columns
    are_places = all(type(place) is int and 0 <= place < len(columns) for place in places)
    require(are_places and len(places) > 1, "columns of a covariance are not in the table")
    names = [columns[place] for place in places]
    is_named = list(block.names) == names and len(block.places) == len(places)
    require(is_named, "columns of a covariance have other names than in the table")
    scale = family.scale
    is_scale = scale.bent.dtype == bool and scale.bent.shape == (width,)
    require(is_scale, "the scale of a covariance does not fit its columns")
    for name in ("start", "unit", "mean"):
        check_numbers(getattr(scale, name), (width,), f"{name} of a covariance's columns", -LARGEST)
    check_numbers(scale.sd, (width,), "deviations of a covariance's columns", least=TINY)
    check_numbers(scale.whitening, (width, width), "whitening of a covariance", -LARGEST)
    is_possible = scale.unit.all() and width < family.dof + 1 < np.inf
    require(is_possible, "a covariance has no unit, or too few degrees of freedom")


# Stats


def check_stats(block: Block, stats: Any, classes: int) -> None:
    """Raise for stats that no rows of these columns could give."""
    whose = name_block(block)
    problem = f"{whose}: its stats do not fit its family, its levels and {classes} classes"
    family = block.family
    if isinstance(family, Linked):
        is_right = isinstance(stats, LinkStats) and are_alike(stats.pairs, family.pairs)
        require(
            is_right and stats.counts.shape == (classes, sum(block.sizes)),
            problem,
        )
        check_counts(stats, whose)
        return
    is_right = type(stats) is family.stats
    require(
        is_right and are_alike(getattr(stats, "grid", None), block.grid),
        problem,
    )
    shapes = shapes_of(stats)
    levels = getattr(stats, "levels", None)
    sizes = shapes["counts"][-1:] if family.listed else getattr(levels, "sizes", ())
    width = max(len(block.words), sum(block.sizes))
    # checked before the stats of one row are made, as a file may claim any size
    is_small = classes * width**stats.degree <= sum(map(math.prod, shapes.values()))
    require(sizes == block.sizes and is_small, problem)
    stats.check()
    row = np.zeros((1, len(block.words)))
    weight = one_hot(np.zeros(1, np.int64), classes)
    like = stats.alone(row, weight)
    require(type(stats) is type(like) and shapes == shapes_of(like), problem)
    check_counts(stats, whose)


def check_counts(stats: Stats, whose: str) -> None:
    """Raise for numbers that no rows could give."""
    with np.errstate(all="ignore"):
        require(not stats.overflow, stats.overflow)
        is_possible = stats.covers(0 * stats)
    require(is_possible, f"{whose}: stats are negative, or impossible for any rows")


def shapes_of(record: Record) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a record's arrays by name."""
    names = [name for name in record.__match_args__ if name not in record.layout]
    return {name: getattr(record, name).shape for name in names}


# The sample of rows


def check_kept_rows(kept: KeptRows, blocks: Sequence[Block], classes: int) -> None:
    """Raise for rows that no table with these columns could have."""
    codes = kept.codes
    keys = kept.keys
    size = len(kept)
    check_numbers(kept.weight, (size,), "weights of the sampled rows", least=TINY)
    is_right = codes.dtype == np.intp and keys.dtype == np.uint64
    is_right &= codes.shape == keys.shape == (size,)
    is_right &= 0 < size <= min(MAX_ROWS, kept.rows)
    require(is_right, "the sampled rows are too many, or lack a class or key each")
    is_sorted = (keys[1:] >= keys[:-1]).all()
    require(is_sorted and are_below(codes, classes), "a sampled row has no class, or no order")
    for x, block in zip(kept.cells, blocks, strict=True):
        check_kept_cells(x, block, size)


def check_kept_cells(x: Any, block: Block, rows: int) -> None:
    """Raise unless cells, `(r, f)`, are in the support of a block, or codes of its levels."""
    family = block.family
    is_coded = family.has_levels or family.has_grid or isinstance(family, Linked)
    may_be_sparse = family.listed or family.reads_sparse
    is_right = may_be_sparse if sparse.issparse(x) else not family.listed
    is_right &= x.shape == (rows, len(block.words))
    is_right &= x.dtype.kind in ("i" if is_coded else "iufb")
    require(is_right, "cells of sampled rows do not fit their columns")
    if is_coded:
        is_level = are_below(x, np.array(block.sizes, np.int64), LEAST_CODE)
        require(is_level, "a sampled row has a level that its column does not have")
    else:
        block.check(x)


def name_block(block: Block) -> str:
    """Name the columns of a block for an error message."""
    if block.repeats:
        return "dependence between columns"
    return f"column {list_names(block.names, 1, quote)}"
