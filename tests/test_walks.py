"""What a call on one row does not do, and by what name methods go."""

import inspect
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb
from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
)
from bayesnb.families.sums import made_at

PACKAGE = str(Path(bayesnb.__file__).parent)


@pytest.mark.parametrize("kind", ["frame", "list", "sparse"])
def test_one_row_is_known_by_its_type_without_asking_what_libraries_there_are(kind: str) -> None:
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [0.0, 1.0, 1.0, 0.0]}), [0, 0, 1, 1]
    row = {"frame": X.iloc[[0]], "list": X.iloc[:1].to_numpy().tolist(), "sparse": sparse.csr_array(X.iloc[:1])}[kind]
    model = (MultinomialNB() if kind == "sparse" else GaussianNB()).fit(X if kind == "frame" else X.to_numpy(), y)
    model.predict_proba(row)
    asked = set()

    def enter(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "narwhals" in frame.f_code.co_filename:
            asked.add(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        model.predict_proba(row)
    finally:
        sys.setprofile(before)
    assert asked == set()


@pytest.mark.usefixtures("compiled_always")
@pytest.mark.parametrize("temper", [None, 0.5])
@pytest.mark.parametrize("kind", [BernoulliNB, MultinomialNB])
def test_one_sparse_row_takes_no_pass_over_all_words(kind: Any, temper: float | None) -> None:
    words = 20_000
    table = sparse.csr_array((np.random.default_rng(0).random((50, words)) < 0.002).astype(float))
    model = kind(temper=temper).fit(table, np.arange(50) % 2)
    rows = [table[[i]] for i in range(3)]
    model.predict_proba(rows[0])  # what is derived once is there
    assert model.predict_proba(rows[1]) == pytest.approx(model.predict_proba(table)[[1]], rel=1e-13)
    tracemalloc.start()
    model.predict_proba(rows[2])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < words  # bytes: a table of all words has eight times as many for each class


def test_a_row_without_ones_is_scored_once_for_all_rows() -> None:
    x = sparse.csr_array(np.eye(6))
    model = BernoulliNB(n_jobs=1).fit(x, [0, 0, 0, 1, 1, 1])
    before = model.predict_proba(x[[1]])
    belief = model.model_.posterior.blocks[0]
    scores = made_at(belief, 1.0, belief.worth)
    scores.zero = None  # all that a sum over words could be of
    np.testing.assert_array_equal(model.predict_proba(x[[1]]), before)


@pytest.mark.parametrize("x", [np.eye(4), sparse.csr_array(np.eye(4))], ids=["dense", "sparse"])
def test_scores_that_are_kept_are_those_of_the_power_that_is_asked_for(x: Any) -> None:
    belief = Beta([[1.0, 2.0, 3.0, 4.0]] * 2, [[2.0, 1.0, 5.0, 0.5], [1.0] * 4])
    powers: list[Any] = [0.5, 0.25, 0.5, np.array([0.5, 0.1, 0.0, 1.0])]
    for power in powers:
        np.testing.assert_allclose(belief.score(x, power), belief.defined_score(np.eye(4), power), rtol=1e-13)
    powers[-1][1] = 0.7  # in place: the array is the same, and the powers are not
    np.testing.assert_allclose(belief.score(x, powers[-1]), belief.defined_score(np.eye(4), powers[-1]), rtol=1e-13)


@pytest.mark.parametrize("temper", [None, 0.5, "columns"])
@pytest.mark.parametrize("family", [Bernoulli(), Categorical(), Gaussian()], ids=lambda each: each.option)
def test_a_row_is_scored_by_what_was_made_for_the_row_before_at_exponents_too(family: Any, temper: Any) -> None:
    x = np.random.default_rng(0).integers(0, 2, (40, 3))
    model = NaiveBayes(family, temper=temper, n_jobs=1).fit(x, np.arange(40) % 2)
    before, belief = model.predict_proba(x[:1]), model.model_.posterior.blocks[0]
    for name in set(belief.__match_args__) - set(belief.layout):
        object.__setattr__(belief, name, np.full_like(getattr(belief, name), np.nan))  # what would be made of these
    np.testing.assert_array_equal(model.predict_proba(x[:1]), before)


def test_the_flat_prior_of_classes_is_made_once_and_cannot_be_changed() -> None:
    model = GaussianNB().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    prior = model.model_.prior.classes
    assert model.partial_fit([[3.0]], [1]).model_.prior.classes is prior
    with pytest.raises(ValueError, match="read-only"):
        prior.concentration[0] = 2.0


def methods_of(kind: type) -> list[Any]:
    members = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return [
        value for value in members.values() if inspect.isfunction(value) and value.__module__.startswith("bayesnb.")
    ]


@pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])
def test_public_methods_are_named_after_the_class_that_users_know(kind: type) -> None:
    names = {method.__qualname__ for method in methods_of(kind)}
    assert {name for name in names if not name.startswith("NaiveBayes.")} == set()
    assert names >= {"NaiveBayes.predict_interval", "NaiveBayes.fit", "NaiveBayes.predict_proba", "NaiveBayes.loo"}


def test_errors_and_help_say_the_name_of_the_class() -> None:
    with pytest.raises(
        TypeError, match=r"NaiveBayes\.predict_interval\(\) missing 1 required positional argument: 'X'"
    ):
        NaiveBayes().predict_interval()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"NaiveBayes\.fit\(\) missing 1 required positional argument: 'y'"):
        NaiveBayes().fit([[1.0]])  # type: ignore[call-arg]
    assert str(inspect.signature(NaiveBayes.fit)).startswith("(self, X: Any, y: Any, sample_weight: Any = None)")
    assert "rows whose" not in inspect.getdoc(NaiveBayes.predict_proba)  # type: ignore[operator]


def test_the_capabilities_do_not_know_each_other() -> None:
    mixins = [base for base in NaiveBayes.__bases__ if base.__module__.startswith("bayesnb.")]
    assert len(mixins) == 5
    assert not any(issubclass(one, other) for one in mixins for other in mixins if one is not other)


@pytest.mark.slow
def test_rows_in_memory_do_not_meet_the_room_of_dask() -> None:
    code = (
        "import sys, numpy as np; from bayesnb import GaussianNB; x = np.arange(12.0).reshape(6, 2);"
        "m = GaussianNB().fit(x, list('aaabbb')); m.predict_proba(x[:5]); m.score(x, list('aaabbb'));"
        "print(*[name for name in sys.modules if name.startswith(('bayesnb.scale', 'bayesnb.integrations', 'dask'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_pickle_that_names_the_estimators_module_is_read() -> None:
    model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    data = pickle.dumps(model, protocol=0)
    older = data.replace(f"c{GaussianNB.__module__}\n".encode(), b"cbayesnb.estimators\n")
    assert b"bayesnb.estimators\n" in older
    np.testing.assert_array_equal(pickle.loads(older).predict_proba([[1.5]]), model.predict_proba([[1.5]]))
