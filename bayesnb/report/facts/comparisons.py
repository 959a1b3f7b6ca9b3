"""Other priors, and dependent columns, against what a model assumes: computed when a section asks, in bounded time."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.criticism.compare_smoothing import compare_smoothing
from bayesnb.criticism.dependence import dependence
from bayesnb.criticism.tune import Bound, BoundaryWarning, tune
from bayesnb.model.product import Rows
from bayesnb.report.facts.features import Feature, ModelledColumn
from bayesnb.selection.prior_strength import Change, Strengths

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts

SMOOTHING = (0, 0.01, 0.1, 0.5, 1, 2, 10)
ESTIMATES = ("predictive", "mean", "map")
MOST_PAIRED = 40  # columns, of which all pairs are compared
TIMES = (0.5, 2.0)  # that a prior is worth
DEAR = 2e8  # rows x classes x columns above which fewer settings are compared
ALONE = (8, 60, 6e6)  # columns whose prior is turned alone: at least, at most; what all of them may cost
UNDEFINED = (
    "Some rows have no held-out probability under these priors: without the row its own cells are impossible, or its "
    "class has no distribution. A smoothing of 0 or an improper prior does that. So what is certain about the priors "
    "is that they matter: use a proper one, with a smoothing above 0."
)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Changes by half and twice the weight of the priors of all columns, of the classes, of single columns."""

    columns: list[Change]
    classes: list[Change]
    alone: list[tuple[Feature, list[Change]]]  # the largest change first


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons that are made for the page. What is not defined is None, and says why."""

    facts: "Facts"

    @cached_property
    def _smoothing(self) -> tuple[Any, str]:
        model = self.facts.model
        sizes: Sequence[float] = SMOOTHING
        estimates: Sequence[str] = ESTIMATES
        if getattr(model, "average_features", None) is not None:
            sizes, estimates = SMOOTHING[1:], ("predictive",)
        if self.cost > DEAR:
            sizes, estimates = (0.01, 0.1, 1, 10), (model.estimate if model.estimate != "mle" else "predictive",)
        try:
            return compare_smoothing(model, self.facts.X, self.facts.y, sizes, estimates), ""
        except (TypeError, ValueError) as error:
            return None, str(error)

    @property
    def smoothing(self) -> Any:
        return self._smoothing[0]

    @property
    def why_no_smoothing(self) -> str:
        return self._smoothing[1]

    @property
    def cost(self) -> float:
        """Rows x classes x columns, of words those that occur."""
        cells = sum(x.nnz if hasattr(x, "nnz") else x.shape[0] * x.shape[1] for x in self.facts.cells)
        return float(cells) * len(self.facts.classes)

    @cached_property
    def paired(self) -> list[ModelledColumn]:
        """The columns whose pairs are compared: the most relevant, in the table's order."""
        blocks = self.facts.model.schema_.blocks
        ranked = self.facts.features.parts(self.facts.features.ranked)[:MOST_PAIRED]
        return sorted(ranked, key=lambda column: blocks[column.b].places[column.j])

    @cached_property
    def _dependence(self) -> tuple[Any, str]:
        if len(self.paired) < 2:
            return None, "A pair needs two columns that are modelled apart."
        try:
            names = [column.key for column in self.paired]
            return dependence(self.facts.model, self.facts.X, self.facts.y, names), ""
        except ValueError as error:
            return None, str(error)

    @property
    def dependence(self) -> Any:
        return self._dependence[0]

    @property
    def why_no_dependence(self) -> str:
        return self._dependence[1]

    @cached_property
    def pairs(self) -> list[tuple[ModelledColumn, ModelledColumn, float]]:
        """Pairs of columns that are taken to be independent, and the log Bayes factor that they are not; the strongest
        first. Columns of one block are modelled jointly.
        """
        if self.dependence is None:
            return []
        value = self.dependence["log_bayes_factor"].values
        i, j = np.triu_indices(len(value), 1)
        known = np.isfinite(value[i, j])
        order = np.argsort(-value[i, j][known], kind="stable")
        places = zip(i[known][order].tolist(), j[known][order].tolist(), strict=True)
        pairs = [(a, b) for a, b in places if not self.together(a, b)]
        return [(self.paired[a], self.paired[b], float(value[a, b])) for a, b in pairs]

    @property
    def nothing_independent(self) -> bool:
        """Whether all columns have one joint distribution."""
        return len(self.facts.features.all) == 1 and self.facts.features.all[0].joint

    def together(self, a: int, b: int) -> bool:
        """Whether two of the columns that are paired have one joint distribution."""
        one, two = self.paired[a], self.paired[b]
        return one.b == two.b and one.family.whole

    @cached_property
    def strengths(self) -> Strengths:
        model = self.facts.model
        rows = Rows(model.schema_.observers, self.facts.cells, self.facts.codes)
        return Strengths(model.model_, rows, model._way("label"), model.n_jobs)

    @cached_property
    def _sensitivity(self) -> tuple[Sensitivity | None, str]:
        if self.facts.model.estimate == "mle":
            return None, "The model predicts by maximum likelihood, estimate='mle': no prior enters."
        if not self.strengths.defined:
            return None, UNDEFINED
        try:
            return self._turned(self.strengths), ""
        except ValueError as error:
            return None, str(error)

    @property
    def sensitivity(self) -> Sensitivity | None:
        return self._sensitivity[0]

    @property
    def why_not_sensitive(self) -> str:
        return self._sensitivity[1]

    def _turned(self, strengths: Strengths) -> Sensitivity:
        least, most, cost = ALONE
        room = int(np.clip(cost / self.facts.left_out.size, least, most))
        several = len(self.facts.features.all) > 1  # one that is alone is all of them
        ranked = self.facts.features.ranked[:room] if several else []
        alone = [(feature, strengths.column(feature.b, feature.f, TIMES)) for feature in ranked]
        alone.sort(key=lambda each: -max(change.largest for change in each[1]))
        return Sensitivity([strengths.everything(t) for t in TIMES], [strengths.classes(t) for t in TIMES], alone)

    @cached_property
    def tuned(self) -> tuple[Any, list[Bound]]:
        """The estimator of the largest evidence, and the parameters of its priors that are at the end of their range.

        None where these priors cannot be tuned.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", BoundaryWarning)
            try:
                tuned = tune(self.facts.model, self.facts.X, self.facts.y, force=True)
            except (TypeError, ValueError):
                return None, []
        messages = (each.message for each in caught)
        return tuned, [end for each in messages if isinstance(each, BoundaryWarning) for end in each.ends]
