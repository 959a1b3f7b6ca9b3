"""The scikit-learn contract, and what the estimators promise beyond it."""

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
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    BestOf,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Histogram,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
)

X, Y = load_iris(return_X_y=True)

# one of each family, of each way to answer, and of each argument that changes how a model learns
CODE_PATHS = [
    NaiveBayes(),
    NaiveBayes(estimate="mean", class_prior="empirical"),
    NaiveBayes(temper="loo"),
    NaiveBayes(missing="auto"),
    NaiveBayes(Categorical()),
    NaiveBayes(Poisson(fractional=True)),
    GaussianNB(),
    MultinomialNB(alpha=0.1, fit_prior=False),
    BernoulliNB(estimate="map", alpha=2.0),
    CategoricalNB(unseen="reserve", min_categories=4),
    PoissonNB(prior=Gamma(1.0, 1.0)),
]


@parametrize_with_checks([NaiveBayes(), GaussianNB(), MultinomialNB()])
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks(CODE_PATHS)
def test_scikit_learns_checks_pass_whatever_the_arguments(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_it_works_in_a_pipeline_a_search_and_a_calibrator() -> None:
    pipe = make_pipeline(StandardScaler(), NaiveBayes())
    assert cross_val_score(pipe, X, Y, cv=5).mean() > 0.93
    search = GridSearchCV(
        NaiveBayes(), {"temper": [None, 0.5], "families": ["auto", Gaussian()]}, cv=3
    ).fit(X, Y)
    assert search.best_score_ > 0.93
    calibrated = CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, Y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_weights_reach_fit_and_score_through_metadata_routing() -> None:
    weight = np.random.default_rng(0).integers(1, 4, len(Y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
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


@pytest.mark.parametrize("estimator", CODE_PATHS, ids=repr)
def test_a_clone_of_a_fitted_model_and_a_pickle_predict_the_same(estimator: Any) -> None:
    x = np.round(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(x, Y)
        again = clone(model).fit(x, Y)
        np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(model)).predict_proba(x), model.predict_proba(x)
        )


def test_the_weak_prior_is_that_of_the_first_batch_and_then_fixed() -> None:
    model = GaussianNB().partial_fit(X[:50], Y[:50], classes=[0, 1, 2])
    before = model.prior_[2]
    model.partial_fit(X[50:], Y[50:])
    assert before.mean[0] == model.prior_[2].mean[0] == pytest.approx(X[:50, 2].mean(), rel=1e-14)
    assert model.prior_[2].scale[0] == pytest.approx(X[:50, 2].var(), rel=1e-13)
    assert model.prior_[2].count[0] == 0.01
    assert model.prior_[2].shape[0] == 1


def test_priors_and_posteriors_are_by_column_with_the_class_first() -> None:
    frame = pd.DataFrame(
        {
            "size": [1.0, 2.0, 4.0, 5.0],
            "kind": ["a", "b", "a", None],
            "ok": [True, False, True, True],
        }
    )
    model = NaiveBayes({"size": "gaussian"}).fit(frame, ["u", "u", "v", "v"])
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
    np.testing.assert_allclose(
        model.posterior_["size"].predictive().mean(), model.posterior_["size"].location
    )
    text = MultinomialNB().fit([[1, 2], [3, 0]], ["u", "v"])
    assert list(text.posterior_) == [(0, 1)]
    np.testing.assert_array_equal(text.posterior_[(0, 1)].concentration, [[2, 3], [4, 1]])


def test_declared_families_keep_their_columns_and_the_rest_is_inferred() -> None:
    frame = pd.DataFrame(
        {
            "a": [1, 0, 1, 0],
            "b": [3, 1, 4, 1],
            "c": [2, 7, 1, 8],
            "d": [1, 2, 3, 4],
            "e": [5.0, 1, 2, 3],
        }
    )
    families = {"a": Bernoulli(), ("b", "c"): Multinomial(), "d": None}
    model = NaiveBayes(families).fit(frame, [0, 0, 1, 1])
    assert [type(model.families_[name]) for name in "abce"] == [
        Bernoulli,
        Multinomial,
        Multinomial,
        Histogram,
    ]
    assert "d" not in model.families_
    assert set(model.posterior_) == {"a", ("b", "c"), "e"}
    other = frame.assign(d=[9, 9, 9, 9])
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(other))


def test_a_prior_with_arrays_belongs_to_its_own_columns_in_their_order() -> None:
    prior = NormalInverseGamma(mean=[1.0, 2.0], count=1.0, shape=[3.0, 4.0], scale=1.0)
    model = NaiveBayes({(2, 0): Gaussian(prior)}).fit(X, Y)
    assert model.prior_[2].shape[0] == 3.0
    assert model.prior_[0].shape[0] == 4.0
    assert model.prior_[0].mean[1] == 2.0


def test_the_notebook_summary_shows_the_fitted_state_and_escapes_it() -> None:
    frame = pd.DataFrame({"<script>": [1.0, 2.0, 3.0]})
    model = NaiveBayes()
    assert "Summary of" not in model._repr_html_()
    page = model.fit(frame, ["<b>", "x", "x"])._repr_html_()
    assert "Rows: 3" in page
    assert "&lt;b&gt; (1), x (2)" in page
    assert "&lt;script&gt;" in page
    assert "<script>" not in page.split("Summary of")[1]
    assert "Summary of" in model._repr_mimebundle_()["text/html"]


def test_temper_by_loo_refuses_rows_that_no_exponent_makes_possible() -> None:
    model = NaiveBayes(Categorical(0.0), temper="loo")
    with pytest.raises(
        ValueError, match="the cells of row 0 have probability 0 when it is left out"
    ):
        model.fit([["x"], ["y"], ["x"], ["z"]], ["a", "a", "b", "b"])


def test_posterior_means_of_a_class_without_cells_are_those_of_its_prior() -> None:
    """No expected variance exists under a shape of 1; that of the expected precision does."""
    x = [[1.0, 5.0], [2.0, 6.0], [8.0, np.nan], [9.0, np.nan]]
    model = NaiveBayes("gaussian", estimate="mean", classes=["a", "b", "z"]).fit(
        x, ["a", "a", "b", "b"]
    )
    density = model.model_.read("mean").blocks[0]
    assert density.variance[1, 1] == model.prior_[1].scale[1] == 0.25
    assert (model.predict_proba([[8.5, 5.5]]) > 0).all()


def test_an_improper_class_prior_has_no_evidence() -> None:
    with pytest.raises(ValueError, match="class_prior: a concentration of 0 is improper"):
        NaiveBayes(class_prior=0.0).fit(X, Y).log_evidence_  # noqa: B018
    impossible = NaiveBayes("gaussian", class_prior={0: 0.0, 1: 0.5, 2: 0.5}).fit(X, Y)
    assert impossible.log_evidence_ == -np.inf


def test_beliefs_come_in_the_order_of_the_columns() -> None:
    frame = pd.DataFrame(
        {"c": ["u", "v", "u"], "x": [1.0, 2, 3], "d": ["p", "p", "q"], "b": [True, False, True]}
    )
    model = NaiveBayes().fit(frame, [0, 0, 1])
    assert (
        list(model.posterior_)
        == list(model.log_evidence_by_feature())
        == list(model.families_)
        == list(frame)
    )


def test_classes_may_be_declared_as_a_set() -> None:
    assert NaiveBayes(classes={"b", "a"}).fit([[1.0], [2.0]], ["a", "a"]).classes_.tolist() == [
        "a",
        "b",
    ]


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
    entries = np.ones(300), np.sort(places).ravel(), np.arange(0, 301, 3)
    return sparse.csr_array(entries, shape=(100, size))

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
    done = subprocess.run(
        [sys.executable, "-c", PEAKS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    numbers = 2 * 2_000_000 * 8 / 2**20  # of both classes, in megabytes; flags have two levels each
    cases = zip((("codes", 1), ("words", 1), ("flags", 2)), done.stdout.splitlines(), strict=True)
    for (name, levels), line in cases:
        fitted, predicted = (float(peak) / (levels * numbers) for peak in line.split())
        assert fitted < 3, name
        assert predicted < 4.5, name


# Parameters, as scikit-learn's searches set them

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "a": RNG.choice(list("xyz"), 60),
        "b": RNG.normal(size=60),
        "a__b": RNG.choice(list("st"), 60),
    }
)
OUTCOME = np.where(RNG.random(60) < 0.5 + 0.3 * (TABLE["a"] == "x"), "u", "v")
PRIOR = NormalInverseGamma(mean=0, count=1, shape=2, scale=3)


def test_the_setting_of_every_parameter_to_what_it_is_changes_nothing() -> None:
    for model in (
        NaiveBayes({"a": Categorical(0.5), "b": Gaussian(PRIOR)}),
        NaiveBayes(BestOf(Gaussian(), Poisson(), margin=3)),
        NaiveBayes(Categorical(Dirichlet("evidence", base="pooled"))),
        CategoricalNB(alpha=2),
        GaussianNB(prior=PRIOR),
    ):
        same = clone(model).set_params(**model.get_params())
        assert repr(same) == repr(model)
        assert repr(clone(same)) == repr(model)


def test_a_search_over_families_finds_the_best_prior() -> None:
    concentrations = [0.01, 1.0, 100.0]
    grid = [{"a": Categorical(c), "b": None, "a__b": None} for c in concentrations]
    pipeline = make_pipeline(FunctionTransformer(), NaiveBayes(temper=None))
    search = GridSearchCV(
        pipeline, {"naivebayes__families": grid}, scoring="neg_log_loss", cv=3
    ).fit(TABLE, OUTCOME)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 3
    best = search.best_estimator_[-1].families["a"].prior.concentration
    assert best == concentrations[np.argmax(scores)]


def test_none_may_be_written_as_a_word() -> None:
    plain = NaiveBayes(temper=None, dependence=None)
    words = NaiveBayes(temper="none", dependence="none")
    one = plain.fit(X, Y)
    two = words.fit(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert two.temper_ == 1
    assert (NaiveBayes().fit(X, Y).predict_proba(X) != two.predict_proba(X)).any()
