"""The scikit-learn contract, and what the estimators promise beyond it."""

import logging
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    PolyaTree,
)
from tests.conftest import plainly

X, Y = load_iris(return_X_y=True)

CODE_PATHS = [  # one of each family, of each way to answer, and of each argument that changes how a model learns
    NaiveBayes(),
    NaiveBayes(estimate="mean", class_prior="empirical"),
    NaiveBayes(temper="loo"),
    NaiveBayes(average_features=0.5),
    NaiveBayes(Categorical()),
    NaiveBayes(Poisson(fractional=True)),
    GaussianNB(),
    MultinomialNB(alpha=0.1, fit_prior=False),
    BernoulliNB(estimate="map", alpha=2.0),
    CategoricalNB(unseen="reserve", min_categories=4),
    PoissonNB(prior=Gamma(1.0, 1.0)),
]
COMBINATIONS = [
    NaiveBayes(estimate="map"),
    NaiveBayes(class_prior="uniform"),
    NaiveBayes(temper=0.5, n_jobs=1),
    NaiveBayes(Gaussian(NormalInverseGamma(0.0, 1.0, 2.0, 3.0))),
    NaiveBayes(Bernoulli(threshold=0.5)),
    NaiveBayes(Multinomial(fractional=True)),
    GaussianNB(estimate="mean", class_prior="empirical"),
    MultinomialNB(),
    MultinomialNB(alpha=0.1, fit_prior=False, temper="loo"),
    MultinomialNB(estimate="mean", class_prior="empirical"),
    BernoulliNB(),
    CategoricalNB(),
    PoissonNB(),
    PoissonNB(prior=Gamma(1.0, 1.0), estimate="mean"),
]
PARAMETERISATIONS = [*CODE_PATHS, *COMBINATIONS]


@parametrize_with_checks([NaiveBayes(), GaussianNB(), MultinomialNB()])
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks(PARAMETERISATIONS)
def test_scikit_learns_checks_pass_for_any_combination(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_it_works_in_a_pipeline_a_search_and_a_calibrator() -> None:
    pipe = make_pipeline(StandardScaler(), NaiveBayes())
    assert cross_val_score(pipe, X, Y, cv=5).mean() > 0.93
    search = GridSearchCV(NaiveBayes(), {"temper": [None, 0.5], "families": ["auto", Gaussian()]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.93
    calibrated = CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, Y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_weights_reach_fit_and_score_through_metadata_routing() -> None:
    weight = np.random.default_rng(0).integers(1, 4, len(Y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, Y, sample_weight=weight)
        search = GridSearchCV(model, {"temper": [None, 0.9]}, cv=3).fit(X, Y, sample_weight=weight)
    scaled = StandardScaler().fit(X).transform(X)
    expected = GaussianNB().fit(scaled, Y, sample_weight=weight).predict_proba(scaled)
    np.testing.assert_allclose(pipe.predict_proba(X), expected, rtol=1e-12)
    assert search.best_estimator_.stats_.classes.counts.sum() == weight.sum()


def test_tags_are_truthful() -> None:
    assert get_tags(MultinomialNB()).input_tags.positive_only
    assert not get_tags(MultinomialNB()).input_tags.allow_nan
    assert get_tags(GaussianNB()).input_tags.allow_nan
    assert get_tags(CategoricalNB()).input_tags.categorical
    assert not get_tags(CategoricalNB()).input_tags.sparse
    assert get_tags(BernoulliNB()).input_tags.sparse
    assert get_tags(NaiveBayes()).input_tags.string


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PARAMETERISATIONS, ids=repr)
def test_a_clone_of_a_fitted_model_and_a_pickle_predict_the_same(estimator: Any) -> None:
    x = np.round(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(x, Y)
        again = clone(model).fit(x, Y)
        np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(x), model.predict_proba(x))


@pytest.mark.parametrize(
    "estimator", [*CODE_PATHS, *(pytest.param(each, marks=pytest.mark.slow) for each in COMBINATIONS)], ids=repr
)
def test_threads_change_no_digit(estimator: Any) -> None:
    x = np.round(np.random.default_rng(0).gamma(2.0, 2.0, (20_000, 40)))
    y = np.arange(20_000) % 3
    one = clone(estimator).set_params(n_jobs=1, temper=None).fit(x, y)
    two = clone(estimator).set_params(n_jobs=2, temper=None).fit(x, y)
    np.testing.assert_array_equal(one.predict_proba(x), two.predict_proba(x))
    assert one.log_evidence_ == two.log_evidence_


@pytest.mark.parametrize(
    "estimator",
    [NaiveBayes(temper=None), NaiveBayes(Categorical()), GaussianNB(), MultinomialNB(), CategoricalNB(), PoissonNB()],
    ids=repr,
)
def test_batches_in_any_order_equal_one_fit(estimator: Any) -> None:
    """Priors on the scale of the data are those of the first batch, so here that batch fixes them for both."""
    x = np.round(np.random.default_rng(3).gamma(2.0, 2.0, (90, 3)))
    y = np.random.default_rng(4).integers(0, 3, 90)
    batches = np.array_split(np.arange(90), 6)
    first = clone(estimator).partial_fit(x[batches[0]], y[batches[0]], classes=[0, 1, 2])
    for order in (batches[1:], batches[:0:-1]):
        model = pickle.loads(pickle.dumps(first))
        for rows in order:
            model.partial_fit(x[rows], y[rows])
        whole = pickle.loads(pickle.dumps(first)).partial_fit(x[30:15:-1], y[30:15:-1])
        rest = np.setdiff1d(np.arange(15, 90), np.arange(16, 31))
        whole.partial_fit(x[rest], y[rest])
        np.testing.assert_allclose(model.predict_proba(x), whole.predict_proba(x), rtol=1e-10)
    scaled = isinstance(estimator, (GaussianNB, PoissonNB)) or estimator.get_params().get("families") == "auto"
    if not scaled:
        np.testing.assert_allclose(model.predict_proba(x), clone(estimator).fit(x, y).predict_proba(x), rtol=1e-10)


def test_levels_of_later_batches_are_learnt() -> None:
    x = np.array([["a"], ["b"], ["c"], ["a"], ["d"], ["b"]], dtype=object)
    y = np.array([0, 1, 0, 1, 0, 1])
    streamed = (
        NaiveBayes("categorical")
        .partial_fit(x[:2], y[:2], classes=[0, 1])
        .partial_fit(x[2:4], y[2:4])
        .partial_fit(x[4:], y[4:])
    )
    whole = NaiveBayes("categorical").fit(x, y)
    np.testing.assert_allclose(streamed.predict_proba(x), whole.predict_proba(x), rtol=1e-13)
    assert streamed.posterior_[0].concentration.shape == (2, 4)


def test_the_weak_prior_is_that_of_the_first_batch_and_then_fixed() -> None:
    model = GaussianNB().partial_fit(X[:50], Y[:50], classes=[0, 1, 2])
    before = model.prior_[2]
    model.partial_fit(X[50:], Y[50:])
    assert before.mean[0] == model.prior_[2].mean[0] == pytest.approx(X[:50, 2].mean(), rel=1e-14)
    assert model.prior_[2].scale[0] == pytest.approx(X[:50, 2].var(), rel=1e-13)
    assert model.prior_[2].count[0] == 0.01
    assert model.prior_[2].shape[0] == 1


def test_predictions_do_not_change_when_columns_are_shifted_and_rescaled() -> None:
    moved = X * [1e-4, 1e3, 7.0, 1.0] + [1e3, -1e6, 0.0, 5.0]
    a, b = GaussianNB().fit(X, Y).predict_proba(X), GaussianNB().fit(moved, Y).predict_proba(moved)
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)


def test_priors_and_posteriors_are_by_column_with_the_class_first() -> None:
    frame = pd.DataFrame({"size": [1.0, 2.0, 4.0, 5.0], "kind": ["a", "b", "a", None], "ok": [True, False, True, True]})
    model = NaiveBayes(**plainly(frame)).fit(frame, ["u", "u", "v", "v"])
    assert {name: type(family) for name, family in model.families_.items()} == {
        "size": Gaussian,
        "kind": Categorical,
        "ok": Bernoulli,
    }
    assert isinstance(model.prior_["size"], NormalInverseGamma)
    assert isinstance(model.posterior_["kind"], Dirichlet)
    assert isinstance(model.posterior_["ok"], Beta)
    np.testing.assert_array_equal(model.posterior_["kind"].concentration, [[2, 2], [2, 1]])
    np.testing.assert_array_equal(model.posterior_["ok"].mean(), [2 / 4, 3 / 4])
    np.testing.assert_array_equal(model.class_posterior_.concentration, [3, 3])
    np.testing.assert_allclose(model.posterior_["size"].predictive().mean(), model.posterior_["size"].location)
    text = MultinomialNB().fit([[1, 2], [3, 0]], ["u", "v"])
    assert list(text.posterior_) == [(0, 1)]
    np.testing.assert_array_equal(text.posterior_[(0, 1)].concentration, [[2, 3], [4, 1]])


def test_declared_families_keep_their_columns_and_the_rest_is_inferred() -> None:
    frame = pd.DataFrame(
        {"a": [1, 0, 1, 0], "b": [3, 1, 4, 1], "c": [2, 7, 1, 8], "d": [1, 2, 3, 4], "e": [5.0, 1, 2, 3]}
    )
    families = {"a": Bernoulli(), ("b", "c"): Multinomial(), "d": None}
    model = NaiveBayes(families).fit(frame, [0, 0, 1, 1])
    assert [type(model.families_[name]) for name in "abce"] == [Bernoulli, Multinomial, Multinomial, PolyaTree]
    assert "d" not in model.families_
    assert set(model.posterior_) == {"a", ("b", "c"), "e"}
    other = frame.assign(d=[9, 9, 9, 9])
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(other))


def test_two_declarations_of_one_family_keep_all_their_columns() -> None:
    x = np.array([[1, 0, 2, 5], [0, 1, 0, 4], [1, 1, 3, 1], [0, 0, 1, 0]])
    model = NaiveBayes({(0, 1): Bernoulli(), (3,): Poisson(), 2: Poisson()}).fit(x, [0, 0, 1, 1])
    assert [type(model.families_[j]).__name__ for j in range(4)] == ["Bernoulli", "Bernoulli", "Poisson", "Poisson"]
    alone = [
        NaiveBayes({j: model.families_[j], **{k: None for k in range(4) if k != j}}).fit(x, [0, 0, 1, 1])
        for j in range(4)
    ]
    terms = model.log_evidence_by_feature()
    for j in range(4):
        assert terms[j] == pytest.approx(alone[j].log_evidence_by_feature()[j], rel=1e-13)


def test_a_prior_with_arrays_belongs_to_its_own_columns_in_their_order() -> None:
    prior = NormalInverseGamma(mean=[1.0, 2.0], count=1.0, shape=[3.0, 4.0], scale=1.0)
    model = NaiveBayes({(2, 0): Gaussian(prior)}).fit(X, Y)
    assert model.prior_[2].shape[0] == 3.0
    assert model.prior_[0].shape[0] == 4.0
    assert model.prior_[0].mean[1] == 2.0


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ({"nope": Gaussian()}, r"the table has no column 'nope'; it has 0, 1"),
        ({0: Gaussian(), (0, 1): Poisson()}, r"\[0\] are listed more than once"),
        ({0: Gaussian}, "must be an instance such as Gaussian"),
        ({0: None, 1: None, 2: None, 3: None}, "all columns are dropped"),
        ("gausian", "no family .gausian."),
        (3, "families must be .auto."),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(families: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        NaiveBayes(families).fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimate": "median"}, "estimate must be one of"),
        ({"temper": -1}, "temper must be"),
        ({"temper": "column"}, "temper must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"class_prior": [0.2, 0.3, 0.5]}, "bare array"),
        ({"class_prior": {0: 0.5, 1: 0.5}}, "give each of them one probability"),
        ({"class_prior": {0: 0.5, 1: 0.6, 2: 0.1}}, "sum to 1"),
        ({"class_prior": Dirichlet([1.0, 1.0])}, "2 concentrations for 3 classes"),
        ({"class_prior": "flat"}, "'uniform' or 'empirical'"),
        ({"class_prior": -1.0}, "concentration must be finite and at least 0"),
        ({"classes": [0, 1]}, r"labels \[2\] that are not among the classes"),
    ],
)
def test_a_wrong_argument_says_what_is_wrong(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NaiveBayes(**arguments).fit(X, Y)


def test_an_improper_prior_predicts_where_it_can_and_has_no_evidence() -> None:
    reference = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0)).fit(X, Y)
    assert reference.score(X, Y) > 0.94
    with pytest.raises(ValueError, match="column 0: its prior is improper"):
        reference.log_evidence_  # noqa: B018
    constant = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0)).fit([[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="column 0, class 0: the data do not determine"):
        constant.predict([[1.0]])
    with pytest.raises(ValueError, match="Use estimate='predictive', or drop the column"):
        GaussianNB(estimate="mle").fit([[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[1.0]])


def test_the_notebook_summary_shows_the_fitted_state_and_escapes_it() -> None:
    frame = pd.DataFrame({"<script>": [1.0, 2.0, 3.0]})
    model = NaiveBayes()
    assert "Learnt from" not in model._repr_html_()
    page = model.fit(frame, ["<b>", "x", "x"])._repr_html_()
    assert "Learnt from 3 rows" in page
    assert "&lt;b&gt; (1), x (2)" in page
    assert "&lt;script&gt;" in page
    assert "<script>" not in page.split("Learnt from")[1]
    assert "Learnt from" in model._repr_mimebundle_()["text/html"]


def test_the_notebook_summary_stays_short_with_many_classes_and_long_names() -> None:
    frame = pd.DataFrame({"x" * 200: np.arange(180.0), "y": np.arange(180.0)})
    page = NaiveBayes().fit(frame, [f"{'&' * 100}{c:02}" for c in range(60)] * 3)._repr_html_().split("Learnt from")[1]
    assert f"{'&amp;' * 7}09 (3) and 50 more." in page
    assert f"{'x' * 26}…{'x' * 13}, y<" in page


def test_frames_with_reordered_columns_raise_scikit_learns_error() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = NaiveBayes().fit(frame, Y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(frame[list("dcba")])


def test_predicting_changes_nothing() -> None:
    model = NaiveBayes().fit(X, Y)
    before = pickle.dumps(model)
    model.predict_proba(X * 100)
    model.score(X, Y)
    assert pickle.dumps(model) == before


def test_temper_by_loo_refuses_rows_that_no_exponent_makes_possible() -> None:
    model = NaiveBayes(Categorical(0.0), temper="loo")
    with pytest.raises(ValueError, match="without row 0 its own cells have probability 0"):
        model.fit([["x"], ["y"], ["x"], ["z"]], ["a", "a", "b", "b"])


def test_posterior_means_of_a_class_without_cells_are_those_of_its_prior() -> None:
    """No expected variance exists under a shape of 1; that of the expected precision does."""
    x = [[1.0, 5.0], [2.0, 6.0], [8.0, np.nan], [9.0, np.nan]]
    model = NaiveBayes("gaussian", estimate="mean", classes=["a", "b", "z"]).fit(x, ["a", "a", "b", "b"])
    density = model.model_.read("mean").blocks[0]
    assert density.variance[1, 1] == model.prior_[1].scale[1] == 0.25
    assert (model.predict_proba([[8.5, 5.5]]) > 0).all()


def test_an_improper_class_prior_has_no_evidence() -> None:
    with pytest.raises(ValueError, match="class_prior: a concentration of 0 is improper"):
        NaiveBayes(class_prior=0.0).fit(X, Y).log_evidence_  # noqa: B018
    impossible = NaiveBayes("gaussian", class_prior={0: 0.0, 1: 0.5, 2: 0.5}).fit(X, Y)
    assert impossible.log_evidence_ == -np.inf


def test_a_fitted_model_does_not_change_with_the_users_arrays() -> None:
    share, ones = np.array([0.5, 0.2, 0.3]), np.ones(4)
    known = GaussianNB(class_prior=share).fit(X, Y)
    coins = NaiveBayes(Bernoulli(Beta(ones, 1.0), threshold=2.0)).fit(X, Y)
    before = known.predict_proba(X), coins.log_evidence_
    share[:], ones[:] = [0.1, 0.1, 0.8], 50
    np.testing.assert_array_equal(known.predict_proba(X), before[0])
    assert coins.log_evidence_ == before[1]
    assert (coins.prior_[0].a == 1).all()


def test_beliefs_come_in_the_order_of_the_columns() -> None:
    frame = pd.DataFrame({"c": ["u", "v", "u"], "x": [1.0, 2, 3], "d": ["p", "p", "q"], "b": [True, False, True]})
    model = NaiveBayes().fit(frame, [0, 0, 1])
    assert list(model.posterior_) == list(model.log_evidence_by_feature()) == list(model.families_) == list(frame)


def test_classes_may_be_declared_as_a_set() -> None:
    assert NaiveBayes(classes={"b", "a"}).fit([[1.0], [2.0]], ["a", "a"]).classes_.tolist() == ["a", "b"]


MIXED = pd.DataFrame(
    {
        "size": [1.0, 2, 3, 4],
        "town": list("uvuv"),
        "own": [True, False, True, True],
        "kind": pd.Categorical(list("xyxy")),
    }
)
TABLES: dict[str, Any] = {
    "array": MIXED[["size"]].to_numpy(),
    "sparse": sparse.csr_array(np.eye(4)),
    "pandas": MIXED,
    "polars": pl.from_pandas(MIXED),
    "arrow": pa.Table.from_pandas(MIXED),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_model_of_any_table_goes_through_skops(kind: str) -> None:
    table = TABLES[kind]
    model = NaiveBayes().fit(table, [0, 1, 0, 1])
    data = skops.io.dumps(model)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    ours, theirs = (own.sample(3, rng=1)[0] for own in (model, again))
    assert type(ours) is type(theirs)
    assert repr(ours) == repr(theirs)


def test_a_model_of_a_type_that_no_file_can_hold_is_pickled_all_the_same() -> None:
    table = pd.DataFrame({"month": pd.period_range("2026-01", periods=4, freq="M")})
    model = NaiveBayes({"month": Categorical()}).fit(table, [0, 1, 0, 1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert repr(again.sample(3, rng=1)) == repr(model.sample(3, rng=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"priors": "uniform"}, "priors must be probabilities.*class_prior takes other forms"),
        ({"priors": {0: 0.5, 1: 0.5}}, "priors must be probabilities"),
        ({"priors": [0.5, 0.5], "class_prior": [0.5, 0.5]}, "give one of them"),
        ({"priors": [0.5, 0.5], "fit_prior": False}, "give one of them"),
    ],
)
def test_priors_that_are_no_probabilities_or_said_twice_are_refused_by_their_name(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianNB(**arguments).fit(X, Y)


@pytest.mark.parametrize("make", [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB])
def test_an_estimator_that_was_pickled_before_it_had_all_parameters_goes_on(make: Any) -> None:
    counts = np.round(np.abs(X))
    old = make().fit(counts, Y)
    for name in ("priors", "force_alpha"):
        old.__dict__.pop(name, None)
    fresh = make().fit(counts, Y)
    np.testing.assert_array_equal(
        old.partial_fit(counts, Y).predict_proba(counts), fresh.partial_fit(counts, Y).predict_proba(counts)
    )
    assert clone(old).get_params() == make().get_params()


PEAKS = """
import re
from pathlib import Path
import numpy as np
from scipy import sparse
from bayesnb import BernoulliNB, CategoricalNB, MultinomialNB, scale

def megabytes(of):
    return int(re.search(rf"{of}:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

def codes(size):
    return np.append(np.arange(99) % 5, size - 1)[:, None]

def words(size):
    places = np.random.default_rng(0).integers(0, size, (100, 3))
    return sparse.csr_array((np.ones(300), np.sort(places).ravel(), np.arange(0, 301, 3)), shape=(100, size))

y = np.arange(100) % 2
scale.always_compile()  # before memory is measured
for preset, table in ((CategoricalNB, codes), (MultinomialNB, words), (BernoulliNB, words)):
    small, large = table(500), table(2_000_000)
    preset().fit(small, y).predict(small)  # compiles, or reads what was compiled
    Path("/proc/self/clear_refs").write_text("5")  # the peak from now on
    before = megabytes("VmRSS")
    model = preset().fit(large, y)
    fitted = megabytes("VmHWM") - before
    model.predict(large)
    print(fitted, megabytes("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.slow  # a process that imports everything anew
def test_memory_is_a_few_times_classes_times_levels() -> None:
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers = 2 * 2_000_000 * 8 / 2**20  # of both classes, in megabytes; flags have two levels each
    cases = zip((("codes", 1), ("words", 1), ("flags", 2)), done.stdout.splitlines(), strict=True)
    for (name, levels), line in cases:
        fitted, predicted = (float(peak) / (levels * numbers) for peak in line.split())
        assert fitted < 3, name
        assert predicted < 4.5, name


def test_codes_of_many_levels_are_the_same_in_numbers_of_any_type() -> None:
    x, y = np.append(np.arange(49) % 5, 1_500_000)[:, None], np.arange(50) % 2
    model = CategoricalNB().fit(x, y)
    expected = model.predict_proba(x)
    for like in (x.astype(np.int32), x.astype(float), x.astype(object), x.astype(float).astype(object), x.tolist()):
        np.testing.assert_array_equal(model.predict_proba(like), expected)
    for unknown in (1_500_001, -1, 2.5):
        with pytest.warns(UserWarning, match=r"does not know: .*1 times"):
            proba = model.predict_proba([[unknown]])
        np.testing.assert_allclose(proba, [[0.5, 0.5]])


def test_codes_that_were_merged_or_came_later_are_those_of_all_rows() -> None:
    x, y = np.array([[0, 3], [1, 1], [4, 0], [2, 2], [1, 6], [0, 0]]), [0, 1, 0, 1, 1, 0]
    whole = CategoricalNB().fit(x, y)
    parts = CategoricalNB().fit(x[:3], y[:3]), CategoricalNB().fit(x[3:], y[3:])
    for model in (parts[0].merge(parts[1]), parts[1].merge(parts[0]), parts[0].partial_fit(x[3:], y[3:])):
        np.testing.assert_array_equal(model.predict_proba(x), whole.predict_proba(x))


def test_integers_that_follow_one_another_are_levels_like_others() -> None:
    y = [0, 1, 1, 0]
    first, later = NaiveBayes(Categorical()).fit([[3], [4], [5], [4]], y), [[4], [-1], [9], [3]]
    united = first.merge(NaiveBayes(Categorical()).fit(later, y))
    whole = NaiveBayes(Categorical()).fit([[3], [4], [5], [4], *later], y * 2)
    grown = first.partial_fit(later, y)
    rows = [[value] for value in (-1, 3, 4, 5, 9)]
    np.testing.assert_array_equal(united.predict_proba(rows), whole.predict_proba(rows))
    np.testing.assert_array_equal(grown.predict_proba(rows), whole.predict_proba(rows))


def test_a_log_of_the_families_holds_no_character_that_a_terminal_would_obey(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bayesnb"):
        NaiveBayes().fit(pd.DataFrame({"a\x1b[2J": [0.1, 0.2, 0.9]}), ["u", "u", "v"])
    assert r"a\x1b[2J" in caplog.text
