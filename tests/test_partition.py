"""Partitions of columns into blocks: evidences by hand, and the search."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    UnverifiedWarning,
    partition,
)

RNG = np.random.default_rng(5)
ROWS = 240
Y = RNG.integers(0, 2, ROWS)
A = RNG.integers(0, 3, ROWS)
FLAG = RNG.random(ROWS) < 0.4
LATENT = RNG.normal(size=ROWS)
X = pd.DataFrame(
    {
        "a": A.astype(str),
        "u": 2.0 + LATENT + 0.3 * RNG.normal(size=ROWS),
        "b": ((A + (RNG.random(ROWS) < 0.2) * (1 + Y)) % 3).astype(str),
        "f": FLAG,
        "v": 10 * LATENT + 4 * RNG.normal(size=ROWS),
        "c": RNG.integers(0, 3, ROWS).astype(str),
        "g": FLAG ^ (RNG.random(ROWS) < 0.25),
        "w": RNG.normal(size=ROWS),
    }
)
LEVELS = ["a", "b", "c", "f"]
NUMBERS = ["u", "v", "w"]
SIZES = {"a": 3, "b": 3, "c": 3, "f": 2}
GAUSSIANS = dict.fromkeys(NUMBERS, "gaussian")
PLAIN = NaiveBayes(GAUSSIANS | dict.fromkeys("abc", "categorical"), temper=None)


def of_total_two(names: list[str]) -> JointTable:
    """Return a block under a prior of total concentration 2."""
    return JointTable(2.0 / np.prod([SIZES[name] for name in names]))


EVEN = NaiveBayes({(name,): of_total_two([name]) for name in LEVELS})


def partitions(items: list[str]) -> Iterator[list[list[str]]]:
    """Yield all partitions of some items."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for at, block in enumerate(rest):
            yield [*rest[:at], [items[0], *block], *rest[at + 1 :]]


def of_labels() -> float:
    counts = np.bincount(Y)
    return gammaln(1 + counts).sum() - gammaln(len(counts) + ROWS)


def of_levels(rows: pd.DataFrame, concentration: float) -> float:
    """log p of rows under one Dirichlet over all combinations of levels."""
    counts = rows.value_counts().to_numpy()
    each = concentration / np.prod([SIZES[name] for name in rows])
    cells = (gammaln(each + counts) - gammaln(each)).sum()
    return cells + gammaln(concentration) - gammaln(concentration + len(rows))


def test_the_search_finds_the_best_of_all_partitions_whose_evidences_are_those_by_hand() -> None:
    every = {}
    for blocks in partitions(LEVELS):
        model = NaiveBayes({tuple(block): of_total_two(block) for block in blocks})
        start = partition(model, X[LEVELS], Y).table.log_evidence[0]
        expected = of_labels()
        for block in blocks:
            expected += sum(of_levels(X.loc[c == Y, block], 2.0) for c in (0, 1))
        assert start == pytest.approx(expected, abs=1e-9)
        every[tuple(sorted(map(tuple, blocks)))] = expected
    found = partition(EVEN, X[LEVELS], Y)
    assert tuple(sorted(found.blocks)) == max(every, key=every.__getitem__)
    assert found.table.log_evidence.iloc[-1] == pytest.approx(max(every.values()), abs=1e-9)
    naive = every[("a",), ("b",), ("c",), ("f",)]
    assert found.table.log_evidence[0] == pytest.approx(naive, abs=1e-9)


MODELS = {
    "inferred": NaiveBayes(),
    "levels": NaiveBayes(dict.fromkeys("abc", Categorical(2 / 3)), class_prior="uniform"),
    "numbers": NaiveBayes(
        {
            ("u", "v"): Gaussian(NormalInverseGamma([2.0, 0.0], 0.1, [1.0, 2.0], [1.0, 400.0])),
            "w": Gaussian(NormalInverseGamma(0.0, 1.0, 1.5, 1.0)),
        },
        temper=0.5,
        estimate="mean",
    ),
    "blocks": NaiveBayes(
        {("a", "c"): JointTable(0.2), ("w", "u"): MultivariateGaussian(), "v": None}
    ),
    "uneven": NaiveBayes(
        {("a", "b"): Categorical([1.0, 2.0, 1.0]), "f": Bernoulli(Beta(2.0, 1.0))}
    ),
    "by class": NaiveBayes(
        {
            ("a", "b", "c"): Categorical(Dirichlet(np.array([0.5, 1.0])[:, None, None])),
            ("u", "v", "w"): Gaussian(
                NormalInverseGamma(0.0, [[0.1], [0.2]], 1.0, [[1.0], [50.0]])
            ),
        }
    ),
    "reserved": NaiveBayes({("a", "b", "c"): Categorical(1.0, unseen="reserve")}),
    "declared": NaiveBayes({("a", "b"): Categorical(levels=("0", "1", "2", "3"))}),
    "shared": NaiveBayes({("u", "v"): MultivariateGaussian(shared=True)}),
    "counts": NaiveBayes({"f": Poisson(), "g": Multinomial(), ("a", "b"): Categorical(0.5)}),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_estimator_that_is_found_has_the_evidence_of_the_last_step(name: str) -> None:
    model = MODELS[name]
    found = partition(model, X, Y)
    fitted = found.estimator.fit(X, Y)
    last = found.table.log_evidence.iloc[-1]
    assert fitted.log_evidence_ == pytest.approx(last, abs=1e-8)
    assert (found.table.log_bayes_factor[1:] > 0).all()
    keys = [key if isinstance(key, tuple) else (key,) for key in fitted.families_]
    assert tuple(keys) == found.blocks
    assert (fitted.estimate, fitted.class_prior) == (model.estimate, model.class_prior)
    again = partition(found.estimator, X, Y)
    assert again.blocks == found.blocks
    assert again.table.log_evidence.tolist() == [pytest.approx(last, abs=1e-8)]


def test_planted_blocks_are_found() -> None:
    found = partition(PLAIN, X, Y)
    assert found.blocks == (("a", "b"), ("u", "v"), ("f", "g"), ("c",), ("w",))
    assert "{a, b}, {u, v}, {f, g}; by themselves: 2 columns; +" in found.verdict
    assert len(partition(NaiveBayes({"w": "gaussian"}), X[["a", "c", "f", "w"]], Y).table) == 1
    times = np.arange(ROWS) % 3
    once = partition(PLAIN, X, Y, sample_weight=times).table
    often = partition(PLAIN, X.loc[np.repeat(X.index, times)], np.repeat(Y, times)).table
    pd.testing.assert_frame_equal(once, often, rtol=1e-12)
    copies = pd.DataFrame(dict.fromkeys("pqrst", X.a))
    assert partition(NaiveBayes(), copies, Y).blocks == (tuple("pqrst"),)


def test_columns_may_leave_blocks_that_were_declared() -> None:
    x = X[LEVELS]
    wrong = NaiveBayes({("a", "f"): JointTable(2 / 6), ("b", "c"): JointTable(2 / 9)})
    found = partition(wrong, x, Y)
    assert found.blocks == (("a", "b"), ("c",), ("f",))
    straight = partition(EVEN, x, Y).table.log_evidence
    assert found.table.log_evidence.iloc[-1] == pytest.approx(straight.iloc[-1], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["identifiers", "names"])
def test_two_columns_of_many_levels_that_are_noise_are_not_joined(kind: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = rng.integers(0, 400, (2, 200))
        if kind == "identifiers":
            columns = np.array([rng.permutation(200), rng.permutation(200)])
        x = pd.DataFrame(columns.T.astype(str), columns=["a", "b"])
        found = partition(NaiveBayes("categorical"), x, rng.integers(0, 2, 200))
        assert found.blocks == (("a",), ("b",))
        assert any("though the log evidence would be higher: a + b" in note for note in found.notes)


def test_steps_over_missing_cells_compare_the_same_rows() -> None:
    x = X[LEVELS].astype(object).mask(RNG.random((ROWS, 4)) < 0.3)
    found = partition(EVEN, x, Y)
    both = x[["a", "b"]].notna().all(axis=1)
    expected = 0.0
    for c in (0, 1):
        own = x.loc[both & (c == Y), ["a", "b"]]
        expected += of_levels(own, 2.0) - of_levels(own[["a"]], 2.0) - of_levels(own[["b"]], 2.0)
    assert found.blocks[0] == ("a", "b")
    assert found.table.log_bayes_factor[1] == pytest.approx(expected, abs=1e-9)
    assert any("missing in a, b, c, f" in note for note in found.notes)


def test_rows_are_compared_under_the_priors_that_a_fitted_model_has() -> None:
    fitted = clone(PLAIN).fit(X, Y)
    some = np.arange(ROWS) < 150
    with pytest.warns(UnverifiedWarning):
        found = partition(fitted, X[some], Y[some])
    again = found.estimator.fit(X[some], Y[some])
    last = found.table.log_evidence.iloc[-1]
    assert again.log_evidence_ == pytest.approx(last, abs=1e-8)
    np.testing.assert_allclose(again.prior_["w"].scale, fitted.prior_["w"].scale, rtol=1e-12)


# Refusals


def ask(model: NaiveBayes = PLAIN, **options: Any) -> Callable[[], Any]:
    return lambda: partition(model, X, Y, **options)


REFUSED = [
    (ask(sample_weight=np.full(ROWS, 0.5)), "whole numbers"),
    (lambda: partition(NaiveBayes(), X[["a"]], Y), "no two columns can be joined"),
    (ask(NaiveBayes({"a": Categorical(0.0)})), "improper"),
    (lambda: NaiveBayes(dependence="blocks").fit(X, Y), "dependence must be 'auto', 'forest'"),
]


@pytest.mark.parametrize(("call", "match"), REFUSED, ids=[match for _, match in REFUSED])
def test_what_cannot_be_joined_is_refused(call: Callable[[], Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()
