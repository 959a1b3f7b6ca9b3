"""Decisions: the action with the least expected loss.

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
class Decision:
    """The best action, its expected loss, and whether the row is left undecided, `(r,)` each."""

    action: Array
    expected_loss: Array
    abstained: Array
    loss: Array  # expected losses of all actions, `(r, a)`


def decide(proba: Array, loss: Array, abstain: float | None = None) -> Decision:
    """Choose the action with the least expected loss, `(r, c), (c, a) -> (r,)`; the first of ties.

    A row is left undecided if that costs less than any action. An infinite loss for an impossible
    class counts as 0.

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
    """Check the cost of leaving a row undecided; None decides all rows."""
    if cost is None:
        return None
    if not isinstance(cost, Real) or not float(cost) >= 0:
        raise ValueError(
            "abstain, the cost of not deciding, must be a non-negative number or None, got "
            f"{cost!r}."
        )
    return float(cost)


def read_losses(loss: Any, labels: Sequence[Any]) -> tuple[Sequence[Any], Array]:
    """Return the actions, and the loss of each action for each class, `(c, a)`.

    `loss` is None (each error costs 1), `{action: {label: loss}}`, or an array `(c, a)` in the
    order of the labels. Its columns are the labels if there are as many, otherwise numbered
    actions. An infinite loss means that the action must not be taken.
    """
    actions = labels
    if isinstance(loss, Mapping):
        actions = list(loss)
        loss = np.transpose([_by_label(action, loss[action], labels) for action in actions])
    try:
        table = 1 - np.eye(len(labels)) if loss is None else np.asarray(loss, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"loss must hold numbers: {error}") from None
    if not actions:
        raise ValueError("loss has no action: give {action: {label: loss}}.")
    if table.ndim != 2 or len(table) != len(labels) or not table.size:
        raise ValueError(
            f"loss must have a row for each of the {len(labels)} classes {list(labels)} and a "
            f"column for each action, got an array of shape {table.shape}."
        )
    if table.shape[1] != len(actions):
        actions = range(table.shape[1])
    invalid = np.isnan(table) | np.isneginf(table)
    if invalid.any():
        c, a = np.argwhere(invalid)[0]
        raise ValueError(
            f"loss of action {actions[a]!r} for class {labels[c]!r} is {table[c, a]}: it must be a "
            "number, or inf for an action that must not be taken."
        )
    return actions, table


def _by_label(action: Any, losses: Any, labels: Sequence[Any]) -> list[Any]:
    """Return the losses of an action, given by label, in the order of the labels."""
    if not isinstance(losses, Mapping) or set(losses) != set(labels):
        got = list(losses) if isinstance(losses, Mapping) else losses
        raise ValueError(
            f"loss of action {action!r} must name each of the classes {list(labels)} once, got "
            f"{got}."
        )
    return [losses[label] for label in labels]
