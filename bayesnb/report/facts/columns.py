"""What was modelled, column by column: how each is believed, what is missing, and what it says about the class."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from bayesnb.criticism.relevance import relevance
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.figures.sight import Sight, seen_at
from bayesnb.report.words import name_of
from bayesnb.structure.relevance import own_of
from bayesnb.views import column, pieces_of

if TYPE_CHECKING:
    from bayesnb.report.facts.gathered import Facts


@dataclass(frozen=True, eq=False)
class Feature:
    """One column, or one block of counts that is modelled as a whole."""

    key: Hashable
    b: int  # its block
    f: int  # its place there
    family: Family
    prior: Belief
    stats: Stats
    missing: int
    log_evidence: float | None  # None under an improper prior
    log_bayes_factor: float | None  # None where there is none

    @property
    def name(self) -> str:
        return name_of(self.key)

    @property
    def whole(self) -> bool:
        return self.family.whole


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
        return [own for own in self.features if own.whole and own.family.cells == "count"]

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
        return seen_at(self.facts.model, feature.b, feature.f, self.cells(feature), self.facts.codes)

    def cells(self, feature: Feature) -> Array:
        return column(self.facts.cells[feature.b], feature.f)

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
            missing=0 if block.family.whole else int(self._missing[b][f]),
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
        names = self.facts.model.schema_.families
        found = dict(zip(names, self.relevance["log_bayes_factor"].values.tolist(), strict=False))
        whole = [key for key, b, _ in self._counted]
        return found | dict(zip(whole, self.relevance.attrs.get("block_log_bayes_factor", ()), strict=True))

    @property
    def _counted(self) -> list[tuple[Hashable, int, int]]:
        """Blocks of counts in the order of the blocks, as `relevance` has them."""
        blocks = self.facts.model.schema_.blocks
        own = [at for at in self.facts.model.schema_.keys if blocks[at[1]].family.whole]
        return sorted((at for at in own if blocks[at[1]].family.cells == "count"), key=lambda at: at[1])

    @cached_property
    def _missing(self) -> list[Array]:
        return [missing_in(x) for x in self.facts.cells]


def missing_in(x: Cells) -> Array:
    """How many cells of each column are missing, `(f,)`; a level's code is negative then."""
    total = np.zeros(x.shape[1], np.int64)
    for rows in pieces_of(x):
        part = x[rows]
        if sparse.issparse(part):
            part = part.tocsr()
            total += np.bincount(part.indices[np.isnan(part.data)], minlength=x.shape[1])
        else:
            total += (part < 0 if part.dtype.kind == "i" else np.isnan(part)).sum(axis=0)
    return total
