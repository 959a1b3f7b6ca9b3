"""A fitted estimator as what is saved of it, and checks that its parts belong together."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.dirichlet import Dirichlet, DirichletStats
from bayesnb.families.known import KnownDie
from bayesnb.families.record import Record
from bayesnb.families.weight import one_hot
from bayesnb.model.averaging import averaging
from bayesnb.model.product import Product
from bayesnb.model.schema import Block
from bayesnb.model.shards import Shard
from bayesnb.persistence.budget import are_positions

SUM = 1e-8  # how far probabilities may be from adding up to 1


@dataclass(frozen=True, eq=False)
class Saved:
    """A fitted estimator: its class and parameters, what it has learnt, its prior, and a note."""

    estimator: str
    params: dict[str, Any]
    shard: Shard
    prior: Product
    temper: float
    named: bool  # whether the columns' names are those of a frame
    note: Any = None

    def check(self) -> None:
        """Raise for an estimator that could not be read again."""
        check_shard(self.shard)
        check_temper(self.temper)
        check_class_prior(self.prior.classes, len(self.shard.classes))


def check_shard(shard: Shard) -> None:
    """Raise for a shard that could not be read again."""
    check_classes(shard.classes)
    check_labels(shard.stats.classes, len(shard.classes))
    for block, seen in zip(shard.schema.blocks, shard.stats.blocks, strict=True):
        check_levels(block)
        check_stats(block, seen, len(shard.classes))


def check_classes(classes: Array) -> None:
    """Raise for labels that are not different ones, in their order."""
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


def check_temper(temper: Any) -> None:
    """Raise unless the temper is positive and finite."""
    if not (isinstance(temper, float) and 0 < temper < np.inf):
        raise ValueError(f"the temper {temper!r:.50} is not positive and finite")


def check_labels(stats: DirichletStats, classes: int) -> None:
    """Raise for counts of labels that are not those of so many classes."""
    if stats.counts.shape != (classes,):
        raise ValueError(f"there are not counts of {classes} labels")
    _check_numbers(stats, "labels")


def check_class_prior(prior: Any, classes: int) -> None:
    """Raise unless the prior is a distribution over as many classes."""
    if not isinstance(prior, (Dirichlet, KnownDie)):
        raise ValueError("the class prior is neither learnt nor given")
    for array in (getattr(prior, "concentration", None), getattr(prior, "probability", None)):
        if array is not None and array.shape != (classes,):
            raise ValueError(f"the class prior is not one of {classes} classes")
    if isinstance(prior, KnownDie):
        probability = prior.probability
        if not (
            np.isfinite(probability).all()
            and (probability >= 0).all()
            and abs(probability.sum() - 1) <= SUM
            and prior.rows > 0
        ):
            raise ValueError("the probabilities of the classes do not add up to 1")


def check_levels(block: Block) -> None:
    """Raise for levels that are not different ones, or not those of as many columns."""
    if len(block.levels) != (len(block.names) if block.family.has_levels or block.family.listed else 0):
        raise ValueError(f"{_whose(block)}: levels of {len(block.levels)} columns")
    for name, levels in zip(block.names, block.levels, strict=bool(block.levels)):
        if are_positions(levels):
            continue  # sooner than a set of them
        if len(set(levels)) < len(levels) or any(level is None or level != level for level in levels):
            raise ValueError(f"column {name!r:.50}: a level is missing, or stands twice")


def check_stats(block: Block, stats: Stats, classes: int) -> None:
    """Raise for stats that no rows of this block's columns make: other shapes, or impossible numbers."""
    if type(stats) is not block.family.stats:
        raise ValueError(f"{_whose(block)}: stats of another family")
    width, numbers = max(len(block.names), sum(block.sizes)), sum(array.size for array in arrays_of(stats).values())
    sizes = stats.counts.shape[-1:] if block.family.listed else getattr(stats, "sizes", ())  # type: ignore[attr-defined]
    fewer = classes * width**stats.degree > numbers
    if sizes != block.sizes or fewer:
        raise ValueError(f"{_whose(block)}: its stats are not those of {classes} classes and its levels")
    stats.check()
    one = one_hot(np.zeros(1, np.int64), classes)
    check_alike(block, stats, stats.alone(np.zeros((1, len(block.words))), one))
    _check_numbers(stats, _whose(block))


def check_alike(block: Block, record: Record, like: Record) -> None:
    """Raise unless two records are of the same class and shapes."""
    shapes = [{name: array.shape for name, array in arrays_of(record).items()} for record in (record, like)]
    if type(record) is not type(like) or shapes[0] != shapes[1]:
        raise ValueError(f"{_whose(block)}: shapes {shapes[0]} where {shapes[1]} belong")


def _check_numbers(stats: Stats, whose: str) -> None:
    with np.errstate(all="ignore"):
        stats.refuse_overflow()
        if not stats.covers(0 * stats, np.zeros(len(stats), bool)):
            raise ValueError(f"{whose}: stats are below 0, or of no rows that there can be")


def arrays_of(record: Record) -> dict[str, Array]:
    """Return the arrays of a record by name."""
    return {name: getattr(record, name) for name in record.__match_args__ if name not in record.layout}


def plain_prior(belief: Belief) -> Belief:
    """Return the prior that the family makes, without the averaging over features."""
    return belief.separate if isinstance(belief, Averaged) else belief


def with_average(belief: Belief, block: Block) -> Belief:
    """Return the prior of a block with its averaging over features, which `plain_prior` takes away."""
    return belief if block.included is None else averaging(belief, block.included, block.keys)


def _whose(block: Block) -> str:
    return f"column {block.names[0]!r:.50}" + (f" and {len(block.names) - 1} more" if len(block.names) > 1 else "")
