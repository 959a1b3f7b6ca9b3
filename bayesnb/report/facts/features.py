"""The features of a model: the belief about each, what is missing, and what it says about the class."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.criticism.importance import importance
from bayesnb.criticism.relevance import relevance
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.family import Family
from bayesnb.numerics.views import pieces_of
from bayesnb.plots.column_data import ColumnData, select_columns
from bayesnb.report.wording import name_of

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts


MOST_SCORES = 6e7  # rows x classes x columns for which importances are computed: some seconds


class ModelledColumn(NamedTuple):
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
    missing: int  # cells; of a block rows, which teach nothing of it if a cell is missing
    log_evidence: float | None  # None under an improper prior
    log_bayes_factor: float | None  # None where there is none

    @property
    def name(self) -> str:
        return name_of(self.key)

    @property
    def kind(self) -> str:
        return type(self.family).__name__

    @property
    def words(self) -> bool:
        """Whether it is a block of counts, whose columns are shown one by one."""
        return self.family.words

    @property
    def joint(self) -> bool:
        """Whether it is a block whose columns have one joint distribution."""
        return self.family.multivariate and not self.words


@dataclass(frozen=True, eq=False)
class Features:
    """Features of a model, each looked at once."""

    facts: "Facts"

    @cached_property
    def all(self) -> list[Feature]:
        """Features in the table's order."""
        return [self._feature(*place) for place in self.facts.model.schema_.columns_alone.keys]

    @cached_property
    def ranked(self) -> list[Feature]:
        """Features with the most evidence for a dependence first; in the table's order, where that is not known."""
        factors = [-np.inf if each.log_bayes_factor is None else each.log_bayes_factor for each in self.all]
        return [self.all[at] for at in np.argsort(-np.array(factors), kind="stable")]

    @property
    def blocks(self) -> list[Feature]:
        """Blocks of counts, such as words."""
        return [feature for feature in self.all if feature.words]

    @cached_property
    def by_importance(self) -> list[Feature]:
        """Features without which held-out predictions lose most first; as `ranked`, where that is not known."""
        if isinstance(self.importance, str):
            return self.ranked
        return [self.all[at] for at in np.argsort(-self.importance["importance"].values, kind="stable")]

    @property
    def single(self) -> list[Feature]:
        """Features that are not blocks of counts, the most important first."""
        return [feature for feature in self.by_importance if not feature.words]

    def parts(self, features: Sequence[Feature]) -> list[ModelledColumn]:
        """Columns of features one by one, words left out."""
        blocks = self.facts.model.schema_.blocks
        columns = []
        for feature in features:
            if not feature.words:
                names = blocks[feature.b].names
                places = range(len(names)) if feature.joint else [feature.f]
                columns += [ModelledColumn(names[j], feature.b, j, feature.family) for j in places]
        return columns

    @cached_property
    def relevance(self) -> Any:
        """The result of `bayesnb.relevance`; where it is not defined, the reason, a text."""
        try:
            return relevance(self.facts.model)
        except ValueError as error:
            return str(error)

    @cached_property
    def importance(self) -> Any:
        """The result of `bayesnb.importance`, its features those of `all`; where there is none, the reason, a text."""
        facts = self.facts
        if facts.left_out.size * len(self.all) > MOST_SCORES:
            return "It takes too long with so many rows and columns. importance(model, X, y) computes it."
        try:
            return importance(facts.model, facts.X, facts.y, ci_prob=facts.prob)
        except ValueError as error:
            return str(error)

    def column_data(self, feature: Feature) -> ColumnData:
        """Belief and cells that a picture of a column is drawn from."""
        model, cells = self.facts.model, self.facts.cells[feature.b]
        places = range(len(model.schema_.blocks[feature.b].names)) if feature.joint else [feature.f]
        return select_columns(model, feature.b, places, cells, self.facts.codes)

    def _feature(self, key: Hashable, b: int, f: int) -> Feature:
        block, learnt = self.facts.model.schema_.blocks[b], self.facts.model.model_
        evidence, factor = self._evidence[b][f], self._factors.get(key)
        return Feature(
            key=key,
            b=b,
            f=f,
            family=block.family,
            prior=learnt.prior.blocks[b].column(f),
            missing=0 if block.family.words else int(self._missing[b][f]),
            log_evidence=None if np.isnan(evidence) else float(evidence),
            log_bayes_factor=None if factor is None else float(factor),
        )

    @cached_property
    def _evidence(self) -> list[Array]:
        """Log evidence of the features of each block; NaN under an improper prior."""
        learnt = self.facts.model.model_
        evidence = []
        for prior, stats in zip(learnt.prior.blocks, learnt.stats.blocks, strict=True):
            defined = np.broadcast_to(prior.strictly_proper.all(axis=0), (len(np.atleast_1d(prior.proper[0])),))
            with np.errstate(all="ignore"):
                evidence.append(np.where(defined, prior.log_evidence(stats).sum(axis=0), np.nan))
        return evidence

    @cached_property
    def _factors(self) -> dict[Hashable, float]:
        """Feature, or block of counts -> log Bayes factor."""
        if isinstance(self.relevance, str):
            return {}
        values = self.relevance["log_bayes_factor"].values.tolist()
        factors = {key: values[at] for key, at in self.relevant.items()}
        blocks = [block.keys[0] for block in self.facts.model.schema_.blocks if block.family.words]
        return factors | dict(zip(blocks, self.relevance.attrs.get("block_log_bayes_factor", ()), strict=True))

    @cached_property
    def relevant(self) -> dict[Hashable, int]:
        """Feature, or word -> place in the result of `bayesnb.relevance`."""
        places = [
            (place, block.family.listed, key)
            for block in self.facts.model.schema_.columns_alone.blocks
            for place, key in zip(block.word_places, block.words if block.family.words else block.keys, strict=False)
        ]
        placed = sorted(places, key=lambda each: each[0])
        first = {key: at for at, (_, listed, key) in enumerate(placed) if listed}
        return first | {key: at for at, (_, listed, key) in enumerate(placed) if not listed}

    @cached_property
    def _missing(self) -> list[Array]:
        blocks = self.facts.model.schema_.blocks
        pairs = zip(blocks, self.facts.cells, strict=True)
        return [missing_in(x, block.family.multivariate and not block.family.words) for block, x in pairs]


def missing_in(x: Cells, joint: bool = False) -> Array:
    """Number of missing cells of each column, `(f,)`, or of rows that lack one; a missing level's code is negative."""
    total = np.zeros(1 if joint else x.shape[1], np.int64)
    for rows in pieces_of(x):
        part = x[rows]
        if sparse.issparse(part):
            part = part.tocsr()
            total += np.bincount(part.indices[np.isnan(part.data)], minlength=x.shape[1])
        else:
            lacking = part < 0 if part.dtype.kind == "i" else np.isnan(part)
            total += lacking.any(axis=1, keepdims=joint).sum(axis=0) if joint else lacking.sum(axis=0)
    return total
