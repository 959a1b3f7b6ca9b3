"""Whatever a model has lived through, it is the one that `fit` would make of the rows that it should know.

A state machine calls `fit`, `partial_fit`, `merge`, `forget`, `decay`, `save` and `load` in any order; beside it stands
a list of the weights that every row should have by now.
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

from bayesnb import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
    load,
)
from bayesnb.families.record import Record
from tests.conftest import names

Array = np.ndarray
ROWS, LABELS = 24, np.array(["ash", "birch", "elm", "oak"])
CLOSE = 1e-10
RNG = np.random.default_rng(20261123)
Y = LABELS[RNG.choice([0, 1, 3], ROWS)]
FRAME = pd.DataFrame(RNG.normal([3, -50], [1, 20], (ROWS, 2)), columns=["height", "girth"])
FRAME["evergreen"] = pd.array(RNG.random(ROWS) < 0.4, "boolean")
FRAME["bark"] = np.array(["rough", "smooth", "peeling"], dtype=object)[RNG.integers(0, 3, ROWS)]
FRAME["soil"] = np.array(["clay", "sand", "peat", "loam"], dtype=object)[RNG.integers(0, 4, ROWS)]
FRAME["nests"] = RNG.poisson(1.5, ROWS).astype(float)
FRAME[["leaves", "twigs"]] = RNG.poisson([3.0, 9.0], (ROWS, 2))
FRAME["site"] = np.array(["wood", "field", "town"], dtype=object)[RNG.integers(0, 3, ROWS)]
FRAME["slope"] = np.array(["flat", "steep"], dtype=object)[RNG.integers(0, 2, ROWS)]
FRAME[["rings", "sap"]] = RNG.multivariate_normal([40.0, 5.0], [[90.0, 8.0], [8.0, 1.0]], ROWS)
FRAME["age"] = RNG.normal(40, 12, ROWS)
for place, column in enumerate(["height", "girth", "evergreen", "bark", "soil", "nests", "slope", "sap", "age"]):
    FRAME.loc[place % 6 :: 5 + place // 6 * 4, column] = None
SONGS = [RNG.choice(["wren", "tit", "finch", "owl", "jay"], size).tolist() for size in RNG.integers(0, 4, ROWS)]
FRAME["songs"] = pd.Series(SONGS, dtype=object)
FAMILIES: dict[Any, Any] = {
    ("height", "girth"): Gaussian(NormalInverseGamma([0.0, -40.0], 0.3, 1.5, [2.0, 300.0])),
    "evergreen": Bernoulli(0.7),
    "bark": Categorical(0.5),
    "soil": Categorical(0.9),
    "nests": Poisson(Gamma(1, 2)),
    ("leaves", "twigs"): Multinomial(Dirichlet([0.5, 2.0])),
    ("site", "slope"): JointTable(0.6),
    ("rings", "sap"): MultivariateGaussian(NormalInverseWishart([30.0, 4.0], 0.4, 4.0, [[50.0, 3.0], [3.0, 2.0]])),
    "age": Gaussian(NormalInverseGamma(30.0, 0.2, 2.0, 90.0), shared=True),
    "songs": Multinomial(0.4),
}
SOME = st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=8)
OFTEN = st.sampled_from([1.0, 2.0, 0.5, 0.1, 0.3])


def numbers_of(record: Record) -> list[Array]:
    fields = [getattr(record, name) for name in names(record) if name not in record.layout]
    return [field for field in fields if isinstance(field, np.ndarray)]


class Lifetime(RuleBasedStateMachine):
    """A model, and how much every row should count for it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.whole = True

    @initialize(rows=SOME)
    def begin(self, rows: set[int]) -> None:
        self.model = NaiveBayes(FAMILIES)
        self.fit(rows, 1.0)

    @rule(rows=SOME, often=OFTEN)
    def fit(self, rows: set[int], often: float) -> None:
        self.known, self.whole = np.zeros(ROWS), True
        self.seen(rows, often)
        self.model.fit(*self.table(rows, often))

    @rule(rows=SOME, often=OFTEN)
    def partial_fit(self, rows: set[int], often: float) -> None:
        self.seen(rows, often)
        x, y, weight = self.table(rows, often)
        self.model.partial_fit(x, y, sample_weight=weight, grow_classes=True)

    @rule(rows=SOME, often=OFTEN, first=st.booleans())
    def merge(self, rows: set[int], often: float, first: bool) -> None:
        self.seen(rows, often)
        other = NaiveBayes(FAMILIES).fit(*self.table(rows, often))
        self.model = self.model.merge(other) if first else other.merge(self.model)

    @precondition(lambda self: self.known.any())
    @rule(rows=st.sets(st.integers(0, ROWS - 1), min_size=1), share=st.sampled_from([1.0, 0.5, 0.25]))
    def forget(self, rows: set[int], share: float) -> None:
        """All of some rows that it knows, or a part of them, which is a fraction."""
        gone = [row for row in sorted(rows) if self.known[row]] or [int(self.known.argmax())]
        weight = share * self.known[gone]
        self.known[gone] -= weight
        self.whole = self.whole and bool((weight % 1 == 0).all())
        self.model.forget(FRAME.iloc[gone], Y[gone], weight)

    @rule(factor=st.sampled_from([1.0, 0.9, 0.3]))
    def decay(self, factor: float) -> None:
        self.known *= factor
        self.whole = self.whole and factor == 1
        self.model.decay(factor)

    @rule()
    def save_and_load(self) -> None:
        self.model.save(self.folder / "model.bnb")
        self.model = load(self.folder / "model.bnb")

    @rule(rows=SOME)
    def a_copy_lives_on(self, rows: set[int]) -> None:
        twin = copy.copy(self.model)
        x, y, weight = self.table(rows, 3.0)
        twin.partial_fit(x, y, sample_weight=weight, grow_classes=True).decay(0.5)

    @rule(row=st.integers(0, ROWS - 1))
    def what_was_never_learnt_is_refused(self, row: int) -> None:
        before = dict(vars(self.model))
        with pytest.raises(ValueError, match=r"Nothing was forgotten|never learnt"):
            self.model.forget(FRAME.iloc[[row]], Y[[row]], [self.known.sum() * 1.01 + 0.5])
        assert vars(self.model) == before

    def table(self, rows: set[int], often: float) -> tuple[pd.DataFrame, Array, Array]:
        places = sorted(rows)
        return FRAME.iloc[places], Y[places], np.full(len(places), often)

    def seen(self, rows: set[int], often: float) -> None:
        self.known[sorted(rows)] += often
        self.whole = self.whole and often % 1 == 0

    @invariant()
    def it_is_what_fit_makes_of_these_rows(self) -> None:
        model, rows = self.model, self.known > 0
        assert model.model_.integer_weights == self.whole
        if not rows.any():
            assert not any(
                array.any() for part in (model.stats_.classes, *model.stats_.blocks) for array in numbers_of(part)
            )
            assert model.log_evidence_ == 0.0
            return
        oracle = self.from_scratch(rows)
        assert_array_equal(model.classes_, oracle.classes_)
        for mine, its in zip(model.posterior_.values(), oracle.posterior_.values(), strict=True):
            pair = mine.beside(its), its.beside(mine)  # what was forgotten keeps its place in a joint table
            for own, other in zip(*map(numbers_of, pair), strict=True):
                assert_allclose(own, other, rtol=CLOSE, atol=CLOSE)
        for mine, its in zip(model.stats_.blocks, oracle.stats_.blocks, strict=True):
            own, other = mine.beside(its), its.beside(mine)
            for name in {"count", "ones", "zeros", "events", "counts", "ssd", "scatter"} & set(vars(own)):
                assert_allclose(getattr(own, name), getattr(other, name), rtol=CLOSE, atol=CLOSE * 1e3)
        assert_allclose(model.predict_log_proba(FRAME), oracle.predict_log_proba(FRAME), rtol=CLOSE, atol=CLOSE)
        assert_allclose(model.log_evidence_, oracle.log_evidence_, rtol=CLOSE, atol=CLOSE)

    def from_scratch(self, rows: Array) -> NaiveBayes:
        """It knows the labels and levels that have ever been there, of which rows may be gone."""
        families, table = dict(FAMILIES), FRAME[rows].copy()
        for block in self.model.schema_.blocks:
            for name, levels in zip(block.names, block.levels, strict=bool(block.levels)):
                if name in FAMILIES:
                    families[name] = replace(FAMILIES[name], levels=levels)
                else:  # of a table, whose columns' levels a type declares
                    table[name] = pd.Categorical(table[name], levels)
        return NaiveBayes(families, classes=self.model.classes_).fit(table, Y[rows], self.known[rows])


pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
BOUNDED = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@pytest.mark.slow
def test_a_model_is_what_fit_makes_of_the_rows_that_it_knows() -> None:
    run_state_machine_as_test(Lifetime, settings=settings(max_examples=6, stateful_step_count=10, **BOUNDED))


@pytest.mark.slow
def test_a_model_is_what_fit_makes_of_the_rows_that_it_knows_after_a_long_life() -> None:
    run_state_machine_as_test(Lifetime, settings=settings(max_examples=15, stateful_step_count=40, **BOUNDED))
