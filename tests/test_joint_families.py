"""`dependence="blocks"`: columns that belong together by evidence are modelled jointly from `fit` on."""

import pickle
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesnb
from bayesnb import JointTable, MultivariateGaussian, NaiveBayes, partition, tune

ROWS = 400
GAUSSIANS = {"c": "gaussian", "d": "gaussian", "e": "gaussian"}


def table(rows: int = ROWS, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of levels and two of numbers depend on each other, in each class in another way; two more do not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    a, c = rng.integers(0, 3, rows), rng.normal(size=rows)
    b = np.where(rng.random(rows) < 0.8, (a + y) % 3, rng.integers(0, 3, rows))
    columns = {
        "a": a.astype(str),
        "b": b.astype(str),
        "c": c,
        "d": c * (2 * y - 1) + 0.3 * rng.normal(size=rows),
        "e": rng.normal(size=rows),
        "f": rng.random(rows) < 0.3,
    }
    return pd.DataFrame(columns), y


X, Y = table()
MODEL = NaiveBayes(GAUSSIANS, dependence="blocks", temper="columns")


def test_what_belongs_together_is_one_block_with_an_exponent_and_the_rest_stays_as_declared() -> None:
    model = clone(MODEL).fit(X, Y)
    families = model.families_
    assert list(families) == [("a", "b"), ("c", "d"), "e", "f"]
    assert isinstance(families["a", "b"], JointTable)
    assert isinstance(families["c", "d"], MultivariateGaussian)
    assert repr(families["e"]) == "Gaussian()"
    assert list(model.temper_.index) == list(families)
    assert model.links_.sizes["link"] == 0
    alone = NaiveBayes(GAUSSIANS, temper="columns").fit(X, Y)
    assert model.loo(X, Y).elpd > alone.loo(X, Y).elpd + 100


def test_the_blocks_are_those_of_a_partition() -> None:
    result = partition(NaiveBayes(GAUSSIANS), X, Y)
    assert [names if len(names) > 1 else names[0] for names in result.blocks] == list(clone(MODEL).fit(X, Y).families_)
    assert len(partition(MODEL, X, Y).table) == 1  # nothing is left to be joined


def test_blocks_of_columns_of_which_nothing_was_declared() -> None:
    x, y = table(2000)
    assert ("a", "b") in NaiveBayes(dependence="blocks").fit(x, y).families_


@pytest.mark.parametrize("families", ["auto", GAUSSIANS])
def test_a_model_of_blocks_is_saved_pickled_and_cloned(tmp_path: Path, families: object) -> None:
    model = NaiveBayes(families, dependence="blocks").fit(X, Y)
    expected = model.predict_proba(X)
    model.save(tmp_path / "model.bnb")
    for other in (bayesnb.load(tmp_path / "model.bnb"), pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        assert np.array_equal(other.predict_proba(X), expected)
        assert list(other.families_) == list(model.families_)


def test_the_first_batch_says_which_blocks_there_are_and_later_ones_bring_levels() -> None:
    later = X.iloc[200:].replace({"a": {"0": "new"}})
    model = clone(MODEL).partial_fit(X[:200], Y[:200], classes=[0, 1]).partial_fit(later, Y[200:])
    first = clone(MODEL).fit(X[:200], Y[:200])
    assert list(model.families_) == list(first.families_)
    declared = NaiveBayes(first.families_, temper="columns")
    declared.partial_fit(X[:200], Y[:200], classes=[0, 1]).partial_fit(later, Y[200:])
    np.testing.assert_allclose(model.predict_proba(X), declared.predict_proba(X), rtol=1e-7)  # exponents to 1e-9


def test_partitions_of_dask_have_the_blocks_of_the_first() -> None:
    rows, labels = dd.from_pandas(X, npartitions=3), dd.from_pandas(pd.Series(Y), npartitions=3)
    model = NaiveBayes(GAUSSIANS, dependence="blocks").fit(rows, labels)
    size = len(rows.partitions[0])
    assert list(model.families_) == list(NaiveBayes(GAUSSIANS, dependence="blocks").fit(X[:size], Y[:size]).families_)
    assert model.stats_.classes.counts.sum() == ROWS
    linked = NaiveBayes(GAUSSIANS, dependence="forest").fit(rows, labels)  # declared families need one schema too
    assert linked.links_.sizes["link"] == 2


@pytest.mark.slow
def test_columns_that_are_independent_within_the_classes_stay_alone() -> None:
    apart = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 300)
        numbers = rng.normal(size=(300, 10)) + y[:, None]
        levels = rng.integers(0, 3, (300, 10)).astype(str)
        x = pd.DataFrame(numbers).add_prefix("n").join(pd.DataFrame(levels).add_prefix("l"))
        families = dict.fromkeys(x.columns[:10], "gaussian")
        apart += not any(
            isinstance(key, tuple) for key in NaiveBayes(families, dependence="blocks").fit(x, y).families_
        )
    assert apart >= 19


def test_blocks_that_are_declared_stay_and_priors_of_columns_that_stay_alone() -> None:
    families = {("a", "f"): JointTable(0.2), "b": bayesnb.Categorical(0.7), ("c", "e"): MultivariateGaussian()}
    model = NaiveBayes(families, dependence="blocks").fit(X, Y)
    assert list(model.families_)[:2] == [("a", "f"), "b"]
    assert repr(model.families_["b"]) == repr(families["b"])


def test_a_tuned_model_of_blocks_declares_them() -> None:
    tuned = tune(clone(MODEL), X, Y)
    assert list(tuned.fit(X, Y).families_) == [("a", "b"), ("c", "d"), "e", "f"]


def test_weights_count_rows_and_rows_of_fractions_are_weighed() -> None:
    twice = NaiveBayes(GAUSSIANS, dependence="blocks").fit(X, Y, sample_weight=np.full(ROWS, 2.0))
    again = NaiveBayes(GAUSSIANS, dependence="blocks").fit(pd.concat([X, X]), np.concatenate([Y, Y]))
    np.testing.assert_allclose(twice.predict_proba(X), again.predict_proba(X), rtol=1e-9)
    fractions = NaiveBayes(GAUSSIANS, dependence="blocks").fit(X, Y, sample_weight=np.linspace(0.1, 1.0, ROWS))
    assert ("a", "b") in fractions.families_


def test_too_many_columns_and_what_blocks_cannot_be_with_are_errors() -> None:
    with pytest.raises(ValueError, match="101 columns can be joined"):
        NaiveBayes("gaussian", dependence="blocks").fit(
            np.random.default_rng(0).normal(size=(20, 101)), np.arange(20) % 2
        )
    with pytest.raises(ValueError, match="average_features"):
        NaiveBayes(dependence="blocks", average_features=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="'blocks'"):
        NaiveBayes(dependence="block").fit(X, Y)
