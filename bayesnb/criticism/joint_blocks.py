"""The estimator that declares the blocks of a search for a partition, and the columns that this starts from."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.criticism.learnt_rows import LearntRows, check_columns
from bayesnb.estimators import NaiveBayes
from bayesnb.families import Dirichlet
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Schema
from bayesnb.selection.feature_evidence import check_comparable
from bayesnb.selection.joint_columns import (
    ColumnBlocks,
    JoinableColumns,
    Member,
    Names,
    joinable_members,
    kind_of,
)
from bayesnb.selection.joint_evidence import Block
from bayesnb.selection.pair_evidence import Labels


def joinable_columns(
    learnt: LearntRows, columns: Sequence[Hashable] | None, concentration: float | None
) -> list[JoinableColumns]:
    """Return the columns that can be joined, kind by kind, at least two of each."""
    schema, priors = learnt.estimator.schema_, learnt.model.prior.blocks
    for block, prior in zip(schema.blocks, priors, strict=True):
        check_comparable(prior, block.keys, alike=False)
    by_key = joinable_members(schema, priors, learnt.rows.cells)
    if columns is not None:
        known = [
            place.name for members in by_key.values() for _, places in members for place in places
        ]
        chosen = check_columns(columns, known, schema, "cannot be joined with others")
        by_key = {
            key: [each for each in members if _is_in(each, chosen)]
            for key, members in by_key.items()
        }
    labels = Labels(learnt.rows.codes, learnt.rows.counts, len(learnt.estimator.classes_))
    kinds = [
        kind_of(key, members, labels, concentration)
        for key, members in by_key.items()
        if sum(len(places) for _, places in members) > 1
    ]
    if not kinds:
        raise ValueError(
            "no two columns can be joined: levels and flags are joined with each other where they are read alike and "
            "their priors are even, and numbers with numbers where they are Gaussian: families={column: 'gaussian'}."
        )
    return kinds


def _is_in(member: Member, chosen: Sequence[Hashable]) -> bool:
    names = [place.name for place in member[1]]
    inside = [name in chosen for name in names]
    if any(inside) and not all(inside):
        raise ValueError(
            f"columns: {names} are one block of this model. Name all of them, or none."
        )
    return all(inside)


@dataclass(frozen=True, eq=False)
class JointBlocks:
    """Result of a search: a model with its rows and their stats, and blocks of its columns, kind by kind."""

    learnt: LearntRows
    stats: ProductStats
    blocks: Sequence[tuple[JoinableColumns, set[Block]]]

    @property
    def schema(self) -> Schema:
        return self.learnt.estimator.schema_

    @property
    def rest(self) -> float:
        """Log evidence of the labels and of the columns that are of no kind."""
        prior = self.learnt.model.prior
        if not prior.classes.strictly_proper:
            raise ValueError(
                "class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another."
            )
        labels, blocks = prior.log_evidence(self.stats)
        joined = {(place.block, place.feature) for kind, _ in self.blocks for place in kind.places}
        return (
            labels
            + sum(
                float(terms[f])
                for b, terms in enumerate(blocks)
                for f in range(len(terms))
                if (b, f)
                not in joined  # a block that is modelled jointly is one feature, at its first column's place
            )
        )

    @property
    def names(self) -> tuple[Names, ...]:
        """Blocks of the partition in the table's order, those of a single column too."""
        order = {name: at for at, name in enumerate(self.schema.columns)}
        result = [kind.names(block) for kind, blocks in self.blocks for block in blocks]
        searched = {name for names in result for name in names}
        for block in self.schema.blocks:
            rest = (
                [tuple(block.names)]
                if block.family.multivariate
                else [(name,) for name in block.names]
            )
            result += [names for names in rest if names[0] not in searched]
        return tuple(sorted(result, key=lambda names: order[names[0]]))

    @property
    def estimator(self) -> NaiveBayes:
        """A new `NaiveBayes` like the model that declares the blocks."""
        model = self.learnt.estimator
        blocks = ColumnBlocks(
            self.schema, self.learnt.model.prior.blocks, self.stats.blocks, self.blocks
        )
        families: dict[Names, Family | None] = {**blocks.families(dict(blocks.changed()))}
        known = {name for names in families for name in names}
        dropped = tuple(name for name in self.schema.columns if name not in known)
        families |= {dropped: None} if dropped else {}
        # the key of a column whose name is a tuple is a tuple of one name
        declared = {names if len(names) > 1 or isinstance(names[0], tuple) else names[0]: family
                    for names, family in families.items()}  # fmt: skip
        any_columns = "families" in model.get_params(deep=False)
        if not any_columns:
            return _naive_bayes_like(model, declared)
        # what "auto" stands for where nothing is declared stays, now that families are
        kept = {"temper": model._temper_rule} if model._declares_nothing else {}
        return model._fresh(families=declared, dependence=None, **kept)


def _naive_bayes_like(model: Any, families: dict[Hashable, Family | None]) -> NaiveBayes:
    """Return a `NaiveBayes` with these families, and all else as in a preset."""
    prior = model._class_prior
    if prior is None:
        prior = 1.0
    elif not isinstance(prior, (str, Real, Mapping, Dirichlet)):
        prior = dict(zip(model.classes_.tolist(), np.asarray(prior, float).tolist(), strict=True))
    kept = {name: getattr(model, name) for name in ("classes", "temper", "n_jobs", "estimate")}
    return NaiveBayes(families, class_prior=prior, **kept)
