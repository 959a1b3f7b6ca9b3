"""Decisions: the action whose expected loss is the least.

    expected loss of an action = sum over classes of p(class | row) * loss(class, action)

A row may be left undecided at a cost of its own. Berger (1985), Statistical Decision Theory and Bayesian Analysis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.numerics.special import dot_logs

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Losses:
    """What each action costs if the class is known, `(c, a)`; infinite for one never to be taken then."""

    actions: Sequence[Any]
    loss: Array

    @classmethod
    def of(cls, said: Any, labels: Sequence[Any]) -> "Losses":
        """None (each error costs 1), `{action: {label: loss}}`, or an array `(c, a)` in the labels' order."""
        if said is None:
            return cls(labels, 1 - np.eye(len(labels)))
        losses = _from_mapping(said, labels) if isinstance(said, Mapping) else _from_array(said, labels)
        wrong = np.isnan(losses.loss) | np.isneginf(losses.loss)
        if wrong.any():
            c, a = np.argwhere(wrong)[0]
            raise ValueError(
                f"loss of action {losses.actions[a]!r} for class {labels[c]!r} is {losses.loss[c, a]}: "
                "a loss is a number, or inf for an action never to be taken."
            )
        return losses


@dataclass(frozen=True, eq=False)
class Decision:
    """The best action's place, and its expected loss, `(r,)`; where it is undecided; all expected losses, `(r, a)`."""

    action: Array
    expected_loss: Array
    abstained: Array
    loss: Array


def decide(proba: Array, loss: Array, abstain: float | None = None) -> Decision:
    """The action of least expected loss, `(r, c), (c, a) -> (r,)`; of several the first.

    A row is undecided where that costs less than every action. An infinite loss of an impossible class is none.

    >>> decide(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.0, 1.0], [5.0, 0.0]])).action.tolist()
    [0, 1]
    """
    expected = 0.0 - dot_logs(proba, -loss.T)
    action = expected.argmin(axis=1)
    least = expected[np.arange(len(expected)), action]
    abstained = least > (np.inf if abstain is None else abstain)
    return Decision(action, np.where(abstained, abstain or 0.0, least), abstained, expected)


def checked_abstain(cost: Any) -> float | None:
    """The cost of not deciding, or None where all rows are decided."""
    if cost is None:
        return None
    if not isinstance(cost, Real) or not float(cost) >= 0:
        raise ValueError(f"abstain is what it costs not to decide: a number, not negative, or None; got {cost!r}.")
    return float(cost)


def _from_array(said: Any, labels: Sequence[Any]) -> Losses:
    """Columns are actions: the labels where there are as many, else named by position."""
    loss = _numbers(said)
    if loss.ndim != 2 or len(loss) != len(labels) or not loss.size:
        raise ValueError(
            f"loss must have a row for each of the {len(labels)} classes {list(labels)} and a column for each action, "
            f"got an array of shape {loss.shape}."
        )
    square = loss.shape[1] == len(labels)
    return Losses(labels if square else range(loss.shape[1]), loss)


def _from_mapping(said: Mapping[Any, Any], labels: Sequence[Any]) -> Losses:
    if not said:
        raise ValueError("loss has no action: give {action: {label: loss}}.")
    for action, by_label in said.items():
        if not isinstance(by_label, Mapping) or set(by_label) != set(labels):
            got = list(by_label) if isinstance(by_label, Mapping) else by_label
            raise ValueError(f"loss of action {action!r} must name each of the classes {list(labels)} once, got {got}.")
    columns = [[by_label[label] for label in labels] for by_label in said.values()]
    return Losses(list(said), _numbers(columns).T)


def _numbers(said: Any) -> Array:
    try:
        return np.asarray(said, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"loss must hold numbers: {error}") from None
