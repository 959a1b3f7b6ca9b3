"""Other priors, and dependent columns, against what a model assumes: computed when a section asks, in bounded time."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesnb.criticism.compare_smoothing import compare_smoothing
from bayesnb.criticism.dependence import dependence
from bayesnb.criticism.tune import Bound, prior_bounds
from bayesnb.report.facts.features import Feature, ModelledColumn
from bayesnb.selection.prior_strength import Change, Strengths

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts

SMOOTHING = (0, 0.01, 0.1, 0.5, 1, 2, 10)
FEW = (0.01, 0.1, 1, 10)
ESTIMATES = ("predictive", "mean", "map")
MOST_PAIRED = 40  # columns, of which all pairs are compared
TIMES = (0.5, 2.0)  # that a prior is worth
EXPENSIVE = 2e8  # rows x classes x columns above which fewer settings are compared
ALONE = (8, 60, 6e6)  # columns whose prior is varied alone: at least, at most; what all of them may cost
VARIED = 1.5  # seconds that they may take
SETTINGS = 6.0  # seconds that the settings of the smoothing may take
SEARCH = 5.0  # seconds that the search for the best priors may take
UNDEFINED = (
    "Not known: some rows have no held-out probability under these priors, because without the row its own cells are "
    "impossible, or its class has no proper distribution. A smoothing of 0 or an improper prior causes this. Use a "
    "proper prior with a smoothing above 0."
)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Changes by half and twice the weight of the priors of all columns, of the classes, of single columns."""

    columns: list[Change]
    classes: list[Change]
    alone: list[tuple[Feature, list[Change]]]  # the largest change first


class LearntLink(NamedTuple):
    """A link from a parent to a child, its log Bayes factor, and how much it counts."""

    first: Hashable
    second: Hashable
    log_bayes_factor: float
    temper: float
    temper_sd: float
    in_forest: bool


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons that are made for the page. In place of a result that is not defined stands the reason, a text."""

    facts: "Facts"

    @property
    def expensive(self) -> bool:
        """Whether only a few settings of the smoothing are compared."""
        every = len(SMOOTHING) * len(ESTIMATES) * self.facts.held_out.left_out_seconds
        return self.facts.held_out.cost > EXPENSIVE or every > SETTINGS

    @cached_property
    def smoothing(self) -> Any:
        """Result of `bayesnb.compare_smoothing`."""
        model = self.facts.model
        sizes: Sequence[float] = SMOOTHING
        estimates: Sequence[str] = ESTIMATES
        if model.schema_.links is not None:  # which have no other estimate
            estimates = ("predictive",)
        if self.expensive:
            sizes, estimates = FEW, (model.estimate if model.estimate != "mle" else "predictive",)
        if len(sizes) * len(estimates) * self.facts.held_out.left_out_seconds > SETTINGS:
            return "it takes too long with so many columns and classes. compare_smoothing compares selected settings."
        try:
            return compare_smoothing(model, self.facts.X, self.facts.y, sizes, estimates, progress=False)
        except (TypeError, ValueError) as error:
            return str(error)

    @cached_property
    def paired(self) -> list[ModelledColumn]:
        """The columns whose pairs are compared: the most relevant, in the table's order."""
        blocks = self.facts.model.schema_.blocks
        ranked = self.facts.features.parts(self.facts.features.ranked)[:MOST_PAIRED]
        return sorted(ranked, key=lambda column: blocks[column.b].places[column.j])

    @cached_property
    def dependence(self) -> Any:
        """Result of `bayesnb.dependence`."""
        if len(self.paired) < 2:
            return "a pair needs two columns that are modelled separately."
        columns = [column.key for column in self.paired]
        try:
            return dependence(self.facts.model, self.facts.X, self.facts.y, columns, progress=False)
        except ValueError as error:
            return str(error)

    @cached_property
    def pairs(self) -> list[tuple[ModelledColumn, ModelledColumn, float]]:
        """Pairs of columns that are taken to be independent, and the log Bayes factor that they are not; the strongest
        first. Columns of one block are modelled jointly.
        """
        if isinstance(self.dependence, str):
            return []
        value = self.dependence["log_bayes_factor"].values
        i, j = np.triu_indices(len(value), 1)
        order = np.argsort(-value[i, j], kind="stable")
        pairs = [(self.paired[a], self.paired[b], float(value[a, b])) for a, b in zip(i[order], j[order], strict=True)]
        return [
            (one, two, factor)
            for one, two, factor in pairs
            if np.isfinite(factor) and not (one.b == two.b and one.family.multivariate)
        ]

    @cached_property
    def links(self) -> list[LearntLink]:
        """Links between columns, the strongest first; none in a model that has none."""
        links = self.facts.model.schema_.links
        if links is None:
            return []
        ends = zip(*links.keys, strict=True)
        numbers = (links.evidence, *self.facts.model._temper_of_links, links.in_forest.astype(bool))
        each = list(map(LearntLink, *ends, *(array.tolist() for array in numbers)))
        return [each[k] for k in np.argsort(-links.evidence, kind="stable").tolist()]

    @cached_property
    def trees(self) -> dict[Hashable, int]:
        """Column -> number of its tree; columns without a link are in none."""
        tree: dict[Hashable, int] = {}
        for at, link in enumerate(self.links):
            joined = {tree.get(end, at) for end in (link.first, link.second)}
            tree |= {column: min(joined) for column, number in tree.items() if number in joined}
            tree |= dict.fromkeys((link.first, link.second), min(joined))
        return tree

    @property
    def unlinked(self) -> list[tuple[ModelledColumn, ModelledColumn, float]]:
        """Return the `pairs` that have no link."""
        linked = {frozenset((link.first, link.second)) for link in self.links}
        return [pair for pair in self.pairs if frozenset((pair[0].key, pair[1].key)) not in linked]

    @property
    def unconnected(self) -> list[tuple[ModelledColumn, ModelledColumn, float]]:
        """Return the `pairs` that no link connects, even through other columns."""
        return [pair for pair in self.pairs if not self._is_connected(*pair[:2])]

    def _is_connected(self, one: ModelledColumn, two: ModelledColumn) -> bool:
        return one.key in self.trees and self.trees[one.key] == self.trees.get(two.key)

    @property
    def nothing_independent(self) -> bool:
        """Whether all columns have one joint distribution."""
        return len(self.facts.features.all) == 1 and self.facts.features.all[0].joint

    @cached_property
    def strengths(self) -> Strengths:
        """Priors of other strengths, under the same exponents."""
        model, joint = self.facts.model, None if self.facts.model._covariance is not None else self.facts.joint_left_out
        return Strengths(model.model_, self.facts.rows, model._way("label", "kept"), model.n_jobs, joint)

    @cached_property
    def sensitivity(self) -> Sensitivity | str:
        """Changes of held-out predictions by priors of other weight."""
        if self.facts.model.estimate == "mle":
            return "The model predicts by maximum likelihood, estimate='mle': no prior enters."
        if not self.strengths.defined:
            return UNDEFINED
        least, most, cost = ALONE
        seconds = (1 + len(TIMES)) * self.facts.held_out.column_seconds
        room = int(np.clip(min(cost / self.facts.left_out.size, VARIED / seconds), least, most))
        several = len(self.facts.features.all) > 1  # one that is alone is all of them
        ranked = self.facts.features.ranked[:room] if several else []
        try:
            alone = [(feature, self.strengths.column(feature.b, feature.f, TIMES)) for feature in ranked]
            columns = [self.strengths.everything(t) for t in TIMES]
            classes = [self.strengths.classes(t) for t in TIMES]
        except ValueError as error:
            return str(error)
        return Sensitivity(columns, classes, sorted(alone, key=lambda each: -max(change.largest for change in each[1])))

    @cached_property
    def bounds(self) -> list[Bound] | str:
        """The parameters that are at the end of their range under the priors of the largest evidence."""
        if self.facts.held_out.search_seconds > SEARCH:
            return "the search for the best priors takes too long with so many columns, levels and classes; use tune"
        try:
            return prior_bounds(self.facts.model)
        except (TypeError, ValueError):
            return "these priors cannot be tuned"
