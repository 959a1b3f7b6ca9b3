"""What this room asks of an estimator, besides what users call. The room above makes estimators; here are none.

Underscores keep these methods out of users' sight. No other private method of an estimator is called from this room.
"""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from bayesnb.model.product import Model
from bayesnb.model.shards import Shard

Array = np.ndarray


@runtime_checkable
class Learns(Protocol):
    """It counts rows, and learns what was counted, at another time and on another machine."""

    n_jobs: int | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its parameters."""

    def _families(self) -> Any:
        """A family for all columns, a mapping, or "auto"."""

    def _fresh(self, **changes: Any) -> Self:
        """An unfitted copy with some parameters changed."""

    def _refuse_loo(self) -> None:
        """Raise where the exponent is to be found by rows that are not there at once."""

    def _shard(self, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Shard | None:
        """What some rows say; None for no row. It does not change."""

    def _adopt(self, shard: Shard, *, more: bool = False) -> Self:
        """Learn what a shard says, in place of what was learnt before, or besides it."""


class Answers(Protocol):
    """It was fitted, and answers about rows wherever they are."""

    n_jobs: int | None
    classes_: Array

    def _check_fitted(self) -> None:
        """Raise where it was not."""

    def _check_columns(self, heading: Any) -> None:
        """Raise for columns that are not those of `fit`."""

    def _on_one_thread(self) -> Self:
        """A copy for one worker of many."""

    def _right(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The weight of rows that are labelled right, and of all."""


class Scores(Answers, Protocol):
    """It scores rows that it has learnt, by all others."""

    model_: Model

    def _way(self, target: str) -> Any:
        """What is scored; an error for what it cannot."""

    def _check_covers(self, seen: Any) -> None:
        """Raise for what rows say that were never learnt."""

    def _part_left_out(self, X: Any, y: Any, sample_weight: Any, target: str, elsewhere: Any = None) -> Any:
        """The scores of some rows, `elsewhere` being what all others say, and what they say themselves."""

    def _said_again(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """What rows say that were learnt."""


def check_model(model: Any) -> None:
    """Raise for what is no estimator of ours."""
    if isinstance(model, type) or not isinstance(model, Learns):
        raise TypeError(f"model: an estimator of bayesnb is needed, such as NaiveBayes(), got {model!r}.")
