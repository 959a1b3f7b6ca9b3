"""What a search for blocks has found, as an estimator says it: families with the priors that were compared."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import singledispatch
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.criticism.joining import Kind, Names, Reading, reading_of
from bayesnb.criticism.trial import Trial
from bayesnb.estimators import NaiveBayes
from bayesnb.families import Beta, Categorical, Dirichlet, Gaussian, NormalInverseGamma
from bayesnb.families.base import Belief
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Schema
from bayesnb.selection.block_evidence import Block, plain

ROUNDING = 1e-12  # how far priors that are the same may be apart, relatively


@dataclass(frozen=True, eq=False)
class Found:
    """A model that has learnt rows, what they say, and the blocks that were found in its columns, kind by kind."""

    trial: Trial
    stats: ProductStats
    kinds: Sequence[Kind]
    blocks: Sequence[set[Block]]

    @property
    def names(self) -> tuple[Names, ...]:
        """All blocks of the partition in the table's order, whether anything was joined in them or not."""
        schema = self.trial.estimator.schema_
        place = {name: at for at, name in enumerate(schema.columns)}
        found = [kind.names(block) for kind, own in zip(self.kinds, self.blocks, strict=True) for block in own]
        joined = {name for names in found for name in names}
        for block in schema.blocks:
            rest = [tuple(block.names)] if block.family.whole else [(name,) for name in block.names]
            found += [names for names in rest if names[0] not in joined]
        return tuple(sorted(found, key=lambda names: place[names[0]]))

    @property
    def estimator(self) -> NaiveBayes:
        """A new one like the model's, that says the blocks."""
        model, columns = self.trial.estimator, self._schema.columns
        families: dict[Names, Family | None] = dict(self._together())
        families |= self._alone({name for names in families for name in names})
        known = {name for names in families for name in names}
        dropped = tuple(name for name in columns if name not in known)
        families |= {dropped: None} if dropped else {}
        said = {_key(names): family for names, family in families.items()}
        any_columns = "families" in model.get_params(deep=False)
        return model._fresh(families=said) if any_columns else like(model, said)

    def _together(self) -> Iterator[tuple[Names, Family]]:
        for kind, blocks in zip(self.kinds, self.blocks, strict=True):
            yield from ((kind.names(block), kind.together(block)) for block in sorted(blocks) if len(block) > 1)

    def _alone(self, joined: set[Hashable]) -> dict[Names, Family]:
        """The families of single columns: the model's or, where those say not what was compared, one for each."""
        changed, families = dict(self._changed()), dict[Names, Family]()
        for b, block in enumerate(self._schema.blocks):
            left = tuple(name for name in block.names if name not in joined and name not in changed)
            families |= {(name,): changed[name] for name in block.names if name in changed}
            if left and len(left) < len(block.names) and by_column(block.family):
                families |= {(name,): self._own(b, block.names.index(name)) for name in left}
            elif left:
                families[left] = block.family
        return families

    def _own(self, b: int, feature: int) -> Family:
        """The model's family of one column of a block, whose priors are said column by column."""
        block, belief = self._schema.blocks[b], self.trial.model.prior.blocks[b].column(feature)
        return of_column(belief, reading_of(block.family, feature, len(block.names)), block.family)

    def _changed(self) -> Iterator[tuple[Hashable, Family]]:
        """Single columns that were compared under other priors than the model's families say, with families that do."""
        for kind, blocks in zip(self.kinds, self.blocks, strict=True):
            for (at,) in (block for block in blocks if len(block) == 1):
                home = kind.homes[at]
                family, seen = self._schema.blocks[home.block].family, self.stats.blocks[home.block]
                belief = kind.columns.alone(at, bool(family.outcomes))
                if family.whole or not same(family.belief(seen).column(home.feature), belief):
                    yield home.name, of_column(belief, kind.key, family)

    @property
    def _schema(self) -> Schema:
        return self.trial.estimator.schema_


@singledispatch
def of_column(belief: Belief, reading: Reading | None, family: Family) -> Family:
    """The family of a single column of which this is believed, the class first; `reading` is of levels."""
    raise TypeError(f"{type(family).__name__} has one prior for all its columns.")


@of_column.register
def _(belief: Dirichlet, reading: Reading, family: Family) -> Family:
    each = plain(belief.concentration)
    each = each[..., :1] if (each == each[..., :1]).all() else each
    each = each if each.ndim == 1 else each[:, None]
    return Categorical(Dirichlet(each[0] if each.shape == (1,) else each), *reading)


@of_column.register
def _(belief: Beta, reading: Reading, family: Any) -> Family:
    return replace(family, prior=Beta(*(plain(own[:, None])[..., 0] for own in (belief.a, belief.b))))


@of_column.register
def _(belief: NormalInverseGamma, reading: None, family: Family) -> Family:
    fields = belief.location, belief.count, belief.shape, belief.scale
    return Gaussian(NormalInverseGamma(*(plain(own[:, None]) for own in fields)))


def _key(names: Names) -> Hashable:
    """As the key of a mapping of families; a column whose name is a tuple is a tuple of one name."""
    return names if len(names) > 1 or isinstance(names[0], tuple) else names[0]


def by_column(family: Any) -> bool:
    """Whether a family says something of each of its columns, and nothing of some of them alone."""
    arrays = [getattr(family.prior, field.name) for field in fields(family.prior)] if family.prior is not None else []
    return any(np.ndim(array) for array in arrays) or np.ndim(getattr(family.levels, "least", 0)) > 0


def same(one: Belief, other: Belief) -> bool:
    """Whether beliefs differ by rounding at most."""
    pairs = ((getattr(one, name), getattr(other, name)) for name in one.__match_args__)
    return all(np.allclose(own, its, rtol=ROUNDING, atol=0) for own, its in pairs)


def like(model: Any, families: dict[Hashable, Family | None]) -> NaiveBayes:
    """A `NaiveBayes` with these families, and all else as in one of the presets."""
    prior = model._class_prior
    if prior is None:
        prior = 1.0
    elif not isinstance(prior, (str, Real, Mapping, Dirichlet)):
        prior = dict(zip(model.classes_.tolist(), np.asarray(prior, float).tolist(), strict=True))
    kept = {name: getattr(model, name) for name in ("classes", "temper", "n_jobs", "estimate")}
    return NaiveBayes(families, class_prior=prior, **kept)
