"""`decide`: the action of least expected loss, its cost, and the ways to say a loss."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb import GaussianNB

Array = np.ndarray
LABELS = ["ham", "spam", "virus"]
COSTS = {
    "deliver": {"ham": 0.0, "spam": 1.0, "virus": 50.0},
    "folder": {"ham": 2.0, "spam": 0.1, "virus": 5.0},
    "delete": {"spam": 0.0, "virus": 0.0, "ham": 20.0},
    "ask": {"ham": 0.7, "spam": 0.7, "virus": 0.7},
}
FRAME = pd.DataFrame(COSTS).loc[LABELS]
ROWS = np.random.default_rng(4).normal(1.0, 2.0, (200, 2))


@pytest.fixture(scope="module")
def model() -> GaussianNB:
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    return GaussianNB().fit(rng.normal(y[:, None], 1.0, (60, 2)), np.array(LABELS)[y])


def decide(proba: list[float], loss: Any, **options: Any) -> Any:
    """The decision for a row that says nothing, under known class probabilities."""
    y = np.arange(2 * len(proba)) % len(proba)
    model = GaussianNB(class_prior=proba).fit(np.arange(len(y))[:, None], y)
    return model.decide([[np.nan]], loss, **options).isel(obs_id=0)


def test_a_frame_a_mapping_and_an_array_say_the_same_loss(model: GaussianNB) -> None:
    made = model.decide(ROWS, COSTS)
    assert_allclose(made["loss"], model.predict_proba(ROWS) @ FRAME.to_numpy(), rtol=1e-12)
    assert set(made["action"].values) == set(COSTS)
    assert model.decide(ROWS, FRAME.iloc[::-1]).identical(made)
    by_position = model.decide(ROWS, FRAME.to_numpy())  # four actions for three classes
    assert_array_equal(by_position["loss"], made["loss"])
    assert_array_equal(np.array(list(COSTS))[by_position["action"]], made["action"])
    square = model.decide(ROWS, (-np.eye(3)).tolist())  # gains; the actions are the labels
    assert_array_equal(square["action"], model.predict(ROWS))
    assert_array_equal(model.decide(ROWS)["action"], model.predict(ROWS))


def test_a_row_is_undecided_where_that_costs_less(model: GaussianNB) -> None:
    plain = model.decide(ROWS)
    made = model.decide(ROWS, abstain=0.3)
    costly = plain["expected_loss"].values > 0.3
    assert 0 < costly.sum() < len(ROWS)
    assert_array_equal(made["abstained"], costly)
    assert_array_equal(made["action"].isnull(), costly)
    assert_array_equal(made["action"][~costly], plain["action"][~costly])
    assert_array_equal(made["expected_loss"], np.minimum(plain["expected_loss"], 0.3))
    assert_array_equal(made["loss"], plain["loss"])
    assert model.decide(ROWS, abstain=0)["abstained"].all()
    assert not model.decide(ROWS, abstain=np.inf)["abstained"].any()


def test_of_equally_good_actions_the_first_is_taken() -> None:
    for least, action in ((1.0, 0), (3.0, 1)):
        assert decide([0.5, 0.5], [[least, 0, 0], [1, 2, 2]])["action"] == action
    assert not decide([0.5, 0.5], None, abstain=0.5)["abstained"]


def test_a_small_risk_keeps_its_digits() -> None:
    assert decide([1.0, 1e-30], None)["expected_loss"] == pytest.approx(1e-30, rel=1e-12)


def test_an_infinite_loss_is_avoided_unless_its_class_is_impossible() -> None:
    loss = [[0.0, 1.0], [np.inf, 1.0]]
    for tiny, expected in ((0.0, [0.0, 1.0]), (1e-12, [np.inf, 1.0])):
        made = decide([1 - tiny, tiny], loss)
        assert made["loss"].values.tolist() == pytest.approx(expected)
        assert made["action"] == int(tiny > 0)
    ruin = [[0.0, np.inf], [np.inf, 0.0]]
    assert decide([0.5, 0.5], ruin)["expected_loss"] == np.inf
    assert decide([0.5, 0.5], ruin, abstain=3.0)["expected_loss"] == 3.0


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (np.ones((2, 3)), "row for each of the 3 classes"),
        (np.ones(3), "row for each of the 3 classes"),
        (np.ones((3, 0)), "row for each of the 3 classes"),
        ([[1, 2], [1], [1, 2]], "loss must hold numbers"),
        ({}, "loss has no action"),
        ({"go": {"ham": 1, "spam": 2}}, "'go' must name each of the classes"),
        ({"go": {"ham": 1, "spam": 2, "virus": 3, "worm": 4}}, "worm"),
        ({"go": {"ham": 1, "spam": np.nan, "virus": 3}}, "'go' for class 'spam' is nan"),
        ({"go": {"ham": 1, "spam": 2, "virus": -np.inf}}, "'go' for class 'virus' is -inf"),
        (FRAME.iloc[[0, 1, 2, 2]], "twice"),
        (pl.DataFrame({"go": [1, 2, 3]}), "no row names"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(model: GaussianNB, loss: Any, match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        model.decide(ROWS, loss)


@pytest.mark.parametrize("cost", [-0.1, np.nan, "much", [1]])
def test_a_cost_of_not_deciding_that_is_none_is_refused(model: GaussianNB, cost: Any) -> None:
    with pytest.raises(ValueError, match="abstain, the cost of not deciding, must be"):
        model.decide(ROWS, abstain=cost)
