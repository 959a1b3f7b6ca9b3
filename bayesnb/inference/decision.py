"""Decisions: the action whose expected loss is the least.

    expected loss of an action = sum over classes of p(class | row) * loss(class, action)

A row may be left undecided at a given cost. Berger (1985), Statistical Decision Theory and Bayesian
Analysis.
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
    """What each action costs if the class is known, `(c, a)`.

    Infinite for one never to be taken then.
    """

    actions: Sequence[Any]
    loss: Array

    @classmethod
    def of(cls, loss: Any, labels: Sequence[Any]) -> "Losses":
        """Read losses.

        None (each error costs 1), `{action: {label: loss}}`, or an array `(c, a)` in the order of
        the labels.
        """
        if loss is None:
            return cls(labels, 1 - np.eye(len(labels)))
        losses = (
            _from_mapping(loss, labels) if isinstance(loss, Mapping) else _from_array(loss, labels)
        )
        invalid = np.isnan(losses.loss) | np.isneginf(losses.loss)
        if invalid.any():
            c, a = np.argwhere(invalid)[0]
            raise ValueError(
                f"loss of action {losses.actions[a]!r} for class {labels[c]!r} is "
                f"{losses.loss[c, a]}: "
                "a loss is a number, or inf for an action that must not be taken."
            )
        return losses


@dataclass(frozen=True, eq=False)
class Decision:
    """The best action, its expected loss, and whether the row is left undecided, `(r,)` each."""

    action: Array
    expected_loss: Array
    abstained: Array
    loss: Array  # expected losses of all actions, `(r, a)`


def decide(proba: Array, loss: Array, abstain: float | None = None) -> Decision:
    """Choose the action of least expected loss, `(r, c), (c, a) -> (r,)`, the first of several.

    A row is left undecided where that costs less than any action. An infinite loss of an impossible
    class counts 0.

    >>> proba, loss = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.0, 1.0], [5.0, 0.0]])
    >>> decide(proba, loss).action.tolist()
    [0, 1]
    """
    expected = 0.0 - dot_logs(proba, -loss.T)
    action = expected.argmin(axis=1)
    least = expected[np.arange(len(expected)), action]
    abstained = least > (np.inf if abstain is None else abstain)
    return Decision(action, np.where(abstained, abstain or 0.0, least), abstained, expected)


def check_abstain(cost: Any) -> float | None:
    """Check the cost of not deciding; None decides all rows."""
    if cost is None:
        return None
    if not isinstance(cost, Real) or not float(cost) >= 0:
        raise ValueError(
            "abstain is what it costs not to decide: a number, not negative, or None; got "
            f"{cost!r}."
        )
    return float(cost)


def _from_array(array: Any, labels: Sequence[Any]) -> Losses:
    """Losses of an array, whose columns are the labels where there are as many.

    Else they are numbered actions.
    """
    loss = _numbers(array)
    if loss.ndim != 2 or len(loss) != len(labels) or not loss.size:
        raise ValueError(
            f"loss must have a row for each of the {len(labels)} classes {list(labels)} and a "
            "column for each action, "
            f"got an array of shape {loss.shape}."
        )
    square = loss.shape[1] == len(labels)
    return Losses(labels if square else range(loss.shape[1]), loss)


def _from_mapping(losses: Mapping[Any, Any], labels: Sequence[Any]) -> Losses:
    """Losses of `{action: {label: loss}}`, which names each label for each action."""
    if not losses:
        raise ValueError("loss has no action: give {action: {label: loss}}.")
    for action, by_label in losses.items():
        if not isinstance(by_label, Mapping) or set(by_label) != set(labels):
            got = list(by_label) if isinstance(by_label, Mapping) else by_label
            raise ValueError(
                f"loss of action {action!r} must name each of the classes {list(labels)} once, got "
                f"{got}."
            )
    columns = [[by_label[label] for label in labels] for by_label in losses.values()]
    return Losses(list(losses), _numbers(columns).T)


def _numbers(loss: Any) -> Array:
    """Read losses as an array of floats."""
    try:
        return np.asarray(loss, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"loss must hold numbers: {error}") from None
