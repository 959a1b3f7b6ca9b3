"""What was modelled, column by column: how each is believed, what is missing, and what it says about the class."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.criticism.relevance import relevance
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.numerics.views import pieces_of
from bayesnb.plots.column_view import Sight, cells_of, seen_at
from bayesnb.report.wording import name_of
from bayesnb.selection.feature_evidence import own_of

if TYPE_CHECKING:
    from bayesnb.report.facts.gathered import Facts


class Column(NamedTuple):
    """One column, whether it is modelled by itself or in a block."""

    key: Hashable
    b: int  # its block
    j: int  # its place there
    family: Family

    @property
    def name(self) -> str:
        return name_of(self.key)


@dataclass(frozen=True, eq=False)
class Feature:
    """One column, or one block of columns that is modelled as a whole."""

    key: Hashable
    b: int  # its block
    f: int  # its place there
    family: Family
    prior: Belief
    stats: Stats
    missing: int  # cells; of a block rows, which teach nothing of it if a cell is missing
    log_evidence: float | None  # None under an improper prior
    log_bayes_factor: float | None  # None where there is none

    @property
    def name(self) -> str:
        return name_of(self.key)

    @property
    def words(self) -> bool:
        """Whether it is a block of counts, whose columns are told of one by one."""
        return self.family.words

    @property
    def joint(self) -> bool:
        """Whether it is a block whose columns have one joint distribution."""
        return self.family.whole and not self.words


@dataclass(frozen=True, eq=False)
class Columns:
    """Every feature of the model, each looked at once."""

    facts: "Facts"

    @cached_property
    def features(self) -> list[Feature]:
        """In the table's order."""
        return [self._feature(*place) for place in self.facts.model.schema_.keys]

    @cached_property
    def ranked(self) -> list[Feature]:
        """Those that say most about the class first; in the table's order, where that is not known."""
        factors = [-np.inf if own.log_bayes_factor is None else own.log_bayes_factor for own in self.features]
        return [self.features[at] for at in np.argsort(-np.array(factors), kind="stable")]

    @property
    def blocks(self) -> list[Feature]:
        """Blocks of counts, such as words."""
        return [own for own in self.features if own.words]

    @property
    def single(self) -> list[Feature]:
        """All others, those that say most about the class first."""
        return [own for own in self.ranked if not own.words]

    def parts(self, features: Sequence[Feature]) -> list[Column]:
        """The columns of some features, words left out, one by one."""
        blocks = self.facts.model.schema_.blocks
        found = []
        for own in features:
            if not own.words:
                names = blocks[own.b].names
                places = range(len(names)) if own.joint else [own.f]
                found += [Column(names[j], own.b, j, own.family) for j in places]
        return found

    @cached_property
    def _relevance(self) -> tuple[Any, str]:
        try:
            return relevance(self.facts.model), ""
        except ValueError as error:
            return None, str(error)

    @property
    def relevance(self) -> Any:
        """What `bayesnb.relevance` found; None where it is not defined."""
        return self._relevance[0]

    @property
    def why_not(self) -> str:
        """Why there are no Bayes factors; nothing where there are."""
        return self._relevance[1]

    def sight(self, feature: Feature) -> Sight:
        """What a picture of a column is drawn from."""
        block = self.facts.model.schema_.blocks[feature.b]
        places = range(len(block.names)) if feature.joint else [feature.f]
        return seen_at(self.facts.model, feature.b, places, self.cells(feature, places), self.facts.codes)

    def cells(self, feature: Feature, places: Sequence[int]) -> Array:
        """A column's cells, `(r,)`; of a block its rows, `(r, f)`."""
        return cells_of(self.facts.cells[feature.b], places)

    def _feature(self, key: Hashable, b: int, f: int) -> Feature:
        block, learnt = self.facts.model.schema_.blocks[b], self.facts.model.model_
        evidence, factor = self._evidence[b][f], self._factors.get(key)
        return Feature(
            key=key,
            b=b,
            f=f,
            family=block.family,
            prior=own_of(learnt.prior.blocks[b]).column(f),
            stats=learnt.stats.blocks[b].column(f),
            missing=0 if block.family.words else int(self._missing[b][f]),
            log_evidence=None if np.isnan(evidence) else float(evidence),
            log_bayes_factor=None if factor is None else float(factor),
        )

    @cached_property
    def _evidence(self) -> list[Array]:
        """Of every feature of every block; NaN under an improper prior."""
        learnt = self.facts.model.model_
        found = []
        for prior, stats in zip(learnt.prior.blocks, learnt.stats.blocks, strict=True):
            defined = np.broadcast_to(prior.strictly_proper.all(axis=0), (len(np.atleast_1d(prior.proper[0])),))
            with np.errstate(all="ignore"):
                found.append(np.where(defined, prior.log_evidence(stats).sum(axis=0), np.nan))
        return found

    @cached_property
    def _factors(self) -> dict[Hashable, float]:
        """Feature -> log Bayes factor; of a block of counts, the whole block's."""
        if self.relevance is None:
            return {}
        each = self.relevance["log_bayes_factor"].values.tolist()
        found = {key: each[at] for key, at in self.relevant.items()}
        blocks = [block.keys[0] for block in self.facts.model.schema_.blocks if block.family.words]
        return found | dict(zip(blocks, self.relevance.attrs.get("block_log_bayes_factor", ()), strict=True))

    @cached_property
    def relevant(self) -> dict[Hashable, int]:
        """Feature, or word -> its place in what `bayesnb.relevance` found."""
        every = [
            (place, block.family.listed, key)
            for block in self.facts.model.schema_.blocks
            for place, key in zip(block.word_places, block.words if block.family.words else block.keys, strict=False)
        ]
        placed = sorted(every, key=lambda own: own[0])
        found = {key: at for at, (_, listed, key) in enumerate(placed) if listed}
        return found | {key: at for at, (_, listed, key) in enumerate(placed) if not listed}

    @cached_property
    def _missing(self) -> list[Array]:
        blocks = self.facts.model.schema_.blocks
        pairs = zip(blocks, self.facts.cells, strict=True)
        return [missing_in(x, block.family.whole and not block.family.words) for block, x in pairs]


def missing_in(x: Cells, whole: bool = False) -> Array:
    """How many cells of each column are missing, `(f,)`, or how many rows lack one; a level's code is negative then."""
    total = np.zeros(1 if whole else x.shape[1], np.int64)
    for rows in pieces_of(x):
        part = x[rows]
        if sparse.issparse(part):
            part = part.tocsr()
            total += np.bincount(part.indices[np.isnan(part.data)], minlength=x.shape[1])
        else:
            lacking = part < 0 if part.dtype.kind == "i" else np.isnan(part)
            total += lacking.any(axis=1, keepdims=whole).sum(axis=0) if whole else lacking.sum(axis=0)
    return total
