"""Whatever a model has lived through, it is the one that `fit` would make of the rows that it
knows.

A state machine calls `fit`, `partial_fit`, `merge`, `forget`, `decay`, `save` and `load` in any
order; beside it stands an array of the weights that every row should have by now.
"""

import copy
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb

Array = np.ndarray
ROWS = 24
RNG = np.random.default_rng(20261123)
Y = np.array(["ash", "birch", "elm", "oak"])[RNG.choice([0, 1, 3], ROWS)]
FRAME = pd.DataFrame(RNG.normal([3, -50, 40], [1, 20, 12], (ROWS, 3)))
FRAME.columns = ["height", "girth", "age"]
FRAME["evergreen"] = pd.array(RNG.random(ROWS) < 0.4, "boolean")
FRAME["bark"] = RNG.choice(np.array(["rough", "smooth", "peeling"], object), ROWS)
FRAME["soil"] = RNG.choice(np.array(["clay", "sand", "peat", "loam"], object), ROWS)
FRAME["site"] = RNG.choice(np.array(["wood", "field", "town"], object), ROWS)
FRAME["slope"] = RNG.choice(np.array(["flat", "steep"], object), ROWS)
FRAME["nests"] = RNG.poisson(1.5, ROWS).astype(float)
FRAME[["leaves", "twigs"]] = RNG.poisson([3.0, 9.0], (ROWS, 2))
FRAME[["rings", "sap"]] = RNG.multivariate_normal([40, 5], [[90, 8], [8, 1]], ROWS)
HOLES = ["height", "girth", "evergreen", "bark", "soil", "nests", "slope", "sap", "age"]
for place, column in enumerate(HOLES):
    FRAME.loc[place % 6 :: 5 + place // 6 * 4, column] = None
BIRDS = ["wren", "tit", "finch", "owl", "jay"]
FRAME["songs"] = [RNG.choice(BIRDS, size).tolist() for size in RNG.integers(0, 4, ROWS)]
VECTOR = nb.NormalInverseWishart([30.0, 4.0], 0.4, 4.0, [[50.0, 3.0], [3.0, 2.0]])
FAMILIES: dict[Any, Any] = {
    ("height", "girth"): nb.Gaussian(nb.NormalInverseGamma([0, -40], 0.3, 1.5, [2.0, 300.0])),
    "age": nb.Gaussian(nb.NormalInverseGamma(30.0, 0.2, 2.0, 90.0), shared=True),
    "evergreen": nb.Bernoulli(0.7),
    "bark": nb.Categorical(0.5),
    "soil": nb.Categorical(0.9, unseen="reserve"),
    "nests": nb.Poisson(nb.Gamma(1, 2)),
    ("leaves", "twigs"): nb.Multinomial(nb.Dirichlet([0.5, 2.0])),
    ("site", "slope"): nb.JointTable(0.6),
    ("rings", "sap"): nb.MultivariateGaussian(VECTOR),
    "songs": nb.Multinomial(0.4),
}
SOME = st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=8)
TIMES = st.sampled_from([1.0, 2.0, 0.5, 0.1, 0.3])


def answers(model: nb.NaiveBayes) -> tuple[Array, float]:
    return model.predict_joint_log_proba(FRAME), model.log_evidence_


class Lifetime(RuleBasedStateMachine):
    """A model, and how much every row should count for it."""

    @initialize(rows=SOME)
    def begin(self, rows: set[int]) -> None:
        self.model = nb.NaiveBayes(FAMILIES)
        self.fit(rows, 1.0)

    @rule(rows=SOME, times=TIMES)
    def fit(self, rows: set[int], times: float) -> None:
        self.weight, self.ever = np.zeros(ROWS), np.zeros(ROWS, bool)
        self.model.fit(*self.learn(rows, times))

    @rule(rows=SOME, times=TIMES)
    def partial_fit(self, rows: set[int], times: float) -> None:
        X, y, weight = self.learn(rows, times)
        self.model.partial_fit(X, y, sample_weight=weight, grow_classes=True)

    @rule(rows=SOME, times=TIMES, first=st.booleans())
    def merge(self, rows: set[int], times: float, first: bool) -> None:
        other = nb.NaiveBayes(FAMILIES).fit(*self.learn(rows, times))
        self.model = self.model.merge(other) if first else other.merge(self.model)

    @precondition(lambda self: self.weight.any())
    @rule(rows=st.sets(st.integers(0, ROWS - 1), min_size=1), share=st.sampled_from([1.0, 0.25]))
    def forget(self, rows: set[int], share: float) -> None:
        """All of some rows that it knows, or a quarter of each."""
        gone = [row for row in sorted(rows) if self.weight[row]] or [int(self.weight.argmax())]
        weight = share * self.weight[gone]
        self.weight[gone] -= weight
        self.model.forget(FRAME.iloc[gone], Y[gone], weight)

    @rule(factor=st.sampled_from([1.0, 0.9, 0.3]))
    def decay(self, factor: float) -> None:
        self.weight *= factor
        self.model.decay(factor)

    @rule()
    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(Path(folder) / "model.bnb")
            self.model = nb.load(Path(folder) / "model.bnb")

    @rule(rows=SOME)
    def a_copy_lives_on(self, rows: set[int]) -> None:
        places = sorted(rows)
        twin = copy.copy(self.model)
        twin.partial_fit(FRAME.iloc[places], Y[places], grow_classes=True).decay(0.5)

    @rule(row=st.integers(0, ROWS - 1))
    def what_was_never_learnt_is_refused(self, row: int) -> None:
        before = answers(self.model)
        too_much = self.weight.sum() * 1.01 + 0.5
        with pytest.raises(ValueError, match=r"Nothing was forgotten|never learnt"):
            self.model.forget(FRAME.iloc[[row]], Y[[row]], [too_much])
        assert_array_equal(answers(self.model)[0], before[0])

    def learn(self, rows: set[int], times: float) -> tuple[pd.DataFrame, Array, Array]:
        """Note that these rows are learnt, and return them with their weights."""
        places = sorted(rows)
        self.weight[places] += times
        self.ever[places] = True
        return FRAME.iloc[places], Y[places], np.full(len(places), times)

    @invariant()
    def it_is_what_fit_makes_of_these_rows(self) -> None:
        if not self.weight.any():
            assert self.model.log_evidence_ == 0.0
            return
        oracle = self.from_scratch()
        assert_array_equal(self.model.classes_, oracle.classes_)
        joint, evidence = answers(oracle)
        assert_allclose(answers(self.model)[0], joint, rtol=1e-10, atol=1e-10)
        assert_allclose(self.model.log_evidence_, evidence, rtol=1e-10, atol=1e-10)

    def from_scratch(self) -> nb.NaiveBayes:
        """It knows the labels and levels that have ever been there, of which rows may be gone."""
        families = dict(FAMILIES)
        rows = self.weight > 0
        table = FRAME[rows].copy()
        ever = FRAME[self.ever]
        for name in ("bark", "soil", "songs"):
            levels = sorted(ever[name].explode().dropna().unique())
            families[name] = replace(FAMILIES[name], levels=levels)
        for name in ("site", "slope"):
            table[name] = pd.Categorical(table[name], sorted(ever[name].dropna().unique()))
        labels = np.unique(Y[self.ever])
        return nb.NaiveBayes(families, classes=labels).fit(table, Y[rows], self.weight[rows])


@pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
@pytest.mark.parametrize(
    ("lives", "steps"), [(2, 8), pytest.param(8, 25, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_a_model_is_what_fit_makes_of_the_rows_that_it_knows(lives: int, steps: int) -> None:
    how = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
    own = settings(max_examples=lives, stateful_step_count=steps, **how)
    run_state_machine_as_test(Lifetime, settings=own)
