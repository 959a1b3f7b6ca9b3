"""`decide`: the action of least expected loss, and what it costs."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from bayesnb import GaussianNB, NaiveBayes
from bayesnb.datasets import penguins
from bayesnb.inference.decision import decide

LABELS = ["ham", "spam", "virus"]
COSTS = {
    "deliver": {"ham": 0.0, "spam": 1.0, "virus": 50.0},
    "folder": {"ham": 2.0, "spam": 0.1, "virus": 5.0},
    "delete": {"spam": 0.0, "virus": 0.0, "ham": 20.0},
    "ask": {"ham": 0.7, "spam": 0.7, "virus": 0.7},
}
TABLE = np.array([[COSTS[action][label] for action in COSTS] for label in LABELS])


@pytest.fixture(scope="module")
def model() -> GaussianNB:
    rng = np.random.default_rng(3)
    codes = np.arange(60) % 3
    return GaussianNB().fit(rng.normal(codes[:, None], 1.0, (60, 2)), np.array(LABELS)[codes])


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(4).normal(1.0, 2.0, (200, 2))


def test_without_a_loss_the_action_is_the_most_probable_label(model: GaussianNB, rows: np.ndarray) -> None:
    made = model.decide(rows)
    proba = model.predict_proba(rows)
    np.testing.assert_array_equal(made["action"], model.predict(rows))
    np.testing.assert_allclose(made["expected_loss"], 1 - proba.max(axis=1), atol=1e-15)
    np.testing.assert_allclose(made["loss"], 1 - proba, atol=1e-15)
    assert made["choice"].values.tolist() == LABELS
    assert not made["abstained"].any()


def test_a_small_risk_keeps_its_digits() -> None:
    proba = np.array([[1.0, 1e-30]])
    assert decide(proba, 1 - np.eye(2)).expected_loss[0] == 1e-30


def test_no_other_action_has_a_smaller_expected_loss(model: GaussianNB, rows: np.ndarray) -> None:
    made = model.decide(rows, COSTS)
    expected = model.predict_proba(rows) @ TABLE
    np.testing.assert_allclose(made["loss"], expected, rtol=1e-12)
    np.testing.assert_allclose(made["expected_loss"], expected.min(axis=1), rtol=1e-12)
    chosen = made["loss"].sel(choice=made["action"])
    np.testing.assert_array_equal(chosen, made["expected_loss"])
    assert len(set(made["action"].values)) == 4


def test_a_frame_a_mapping_and_an_array_say_the_same_loss(model: GaussianNB, rows: np.ndarray) -> None:
    mapping, array = model.decide(rows, COSTS), model.decide(rows, TABLE)
    frame = pd.DataFrame(COSTS).loc[["virus", "ham", "spam"]]
    assert model.decide(rows, frame).identical(mapping)
    assert array["choice"].values.tolist() == [0, 1, 2, 3]  # four actions for three classes: named by position
    np.testing.assert_array_equal(array["loss"], mapping["loss"])
    np.testing.assert_array_equal(np.array(list(COSTS))[array["action"]], mapping["action"])


def test_the_actions_of_a_square_array_are_the_labels(model: GaussianNB, rows: np.ndarray) -> None:
    loss = np.array([[0, 1, 1], [5, 0, 1], [100, 1, 0]])
    made = model.decide(rows, loss.tolist())
    assert set(made["action"].values) <= set(LABELS)
    np.testing.assert_allclose(made["loss"], model.predict_proba(rows) @ loss)


def test_of_equally_good_actions_the_first_is_taken() -> None:
    proba = np.array([[0.5, 0.5]])
    assert decide(proba, np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 2.0]])).action.tolist() == [0]
    assert decide(proba, np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 2.0]])).action.tolist() == [1]
    assert decide(proba, 1 - np.eye(2), abstain=0.5).abstained.tolist() == [False]


def test_a_row_is_undecided_where_that_costs_less(model: GaussianNB, rows: np.ndarray) -> None:
    plain, made = model.decide(rows), model.decide(rows, abstain=0.3)
    doubtful = plain["expected_loss"].values > 0.3
    assert 0 < doubtful.sum() < len(rows)
    np.testing.assert_array_equal(made["abstained"], doubtful)
    np.testing.assert_array_equal(made["action"].isnull(), doubtful)
    np.testing.assert_array_equal(made["action"][~doubtful], plain["action"][~doubtful])
    np.testing.assert_array_equal(made["expected_loss"], np.minimum(plain["expected_loss"], 0.3))
    np.testing.assert_array_equal(made["loss"], plain["loss"])
    assert made.attrs == {"abstain": 0.3}


def test_not_to_decide_is_free_or_never_chosen_at_the_ends(model: GaussianNB, rows: np.ndarray) -> None:
    free = model.decide(rows, abstain=0)
    assert free["abstained"].all()
    assert (free["expected_loss"] == 0).all()
    assert not model.decide(rows, abstain=np.inf)["abstained"].any()


def test_an_infinite_loss_is_avoided_unless_its_class_is_impossible() -> None:
    loss = np.array([[0.0, 1.0], [np.inf, 1.0]])
    made = decide(np.array([[1.0, 0.0], [1 - 1e-12, 1e-12]]), loss)
    assert made.action.tolist() == [0, 1]
    assert made.expected_loss.tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(made.loss, [[0.0, 1.0], [np.inf, 1.0]])


def test_where_every_action_may_be_ruinous_not_deciding_is_better() -> None:
    loss = np.array([[0.0, np.inf], [np.inf, 0.0]])
    assert decide(np.array([[0.5, 0.5]]), loss).expected_loss.tolist() == [np.inf]
    assert decide(np.array([[0.5, 0.5]]), loss, abstain=3.0).expected_loss.tolist() == [3.0]


def test_gains_are_negative_losses(model: GaussianNB, rows: np.ndarray) -> None:
    np.testing.assert_array_equal(model.decide(rows, -np.eye(3))["action"], model.decide(rows)["action"])


def test_decisions_follow_the_probabilities_that_the_estimator_predicts(rows: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(np.arange(60)[:, None] % 3, 1.0, (60, 2)), np.arange(60) % 3
    loss = np.array([[0.0, 1.0], [2.0, 1.0], [9.0, 1.0]])
    for estimator in (GaussianNB(estimate="map"), GaussianNB(temper=0.3)):
        made = estimator.fit(X, y).decide(rows, loss)
        np.testing.assert_allclose(made["loss"], estimator.predict_proba(rows) @ loss)


def test_rows_have_the_names_of_the_frame() -> None:
    table = penguins().set_index("year", append=True)
    X = table.drop(columns="species")
    made = NaiveBayes().fit(X, table["species"]).decide(X.iloc[[3, 5]])
    assert made["obs_id"].values.tolist() == ["(3, 2007)", "(5, 2007)"]
    assert made["action"].dims == ("obs_id",)
    assert made["loss"].dims == ("obs_id", "choice")


@pytest.mark.parametrize("labels", [[1, 0, 1, 0], [True, False, True, False]])
def test_labels_and_actions_may_be_numbers_or_booleans(labels: list[Any]) -> None:
    model = GaussianNB().fit([[1.0], [5.0], [2.0], [6.0]], labels)
    made = model.decide([[1.5], [5.5]], {"no": {0: 0, 1: 1.5}, 7: {0: 1, 1: 0}})
    assert made["action"].values.tolist() == [7, "no"]
    assert model.decide([[1.5]])["action"].dtype == model.classes_.dtype


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (np.ones((2, 3)), "row for each of the 3 classes"),
        (np.ones(3), "row for each of the 3 classes"),
        (np.ones((3, 0)), "row for each of the 3 classes"),
        ([[1, 2], [1], [1, 2]], "loss must hold numbers"),
        ([["a"], ["b"], ["c"]], "loss must hold numbers"),
        ({}, "loss has no action"),
        ({"go": {"ham": 1, "spam": 2}}, "loss of action 'go' must name each of the classes"),
        ({"go": {"ham": 1, "spam": 2, "virus": 3, "worm": 4}}, "worm"),
        ({"go": 3}, "loss of action 'go' must name each of the classes"),
        ({"go": {"ham": 1, "spam": np.nan, "virus": 3}}, "action 'go' for class 'spam' is nan"),
        ({"go": {"ham": 1, "spam": 2, "virus": -np.inf}}, "action 'go' for class 'virus' is -inf"),
        (pd.DataFrame(COSTS).iloc[:2], "must name each of the classes"),
        (pd.DataFrame(COSTS).iloc[[0, 1, 2, 2]], "row name or column name twice"),
    ],
)
def test_a_loss_that_does_not_fit_is_an_error(model: GaussianNB, rows: np.ndarray, loss: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model.decide(rows, loss)


def test_a_frame_without_names_of_rows_is_an_error(model: GaussianNB, rows: np.ndarray) -> None:
    with pytest.raises(TypeError, match="no row names"):
        model.decide(rows, pl.DataFrame({"go": [1, 2, 3]}))


@pytest.mark.parametrize("cost", [-0.1, np.nan, "much", [1]])
def test_a_cost_of_not_deciding_that_is_none_is_an_error(model: GaussianNB, rows: np.ndarray, cost: Any) -> None:
    with pytest.raises(ValueError, match="abstain is what it costs not to decide"):
        model.decide(rows, abstain=cost)


def test_a_model_that_has_learnt_nothing_decides_nothing() -> None:
    with pytest.raises(NotFittedError):
        GaussianNB().decide([[1.0]])
