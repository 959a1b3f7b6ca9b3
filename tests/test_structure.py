"""Which columns matter, and which depend on each other: against enumeration, brute force and SciPy."""

import re
import sys
import warnings
from itertools import product
from typing import Any

import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
from mpmath import mp
from scipy import sparse, stats
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit, gammaln
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    ColumnWarning,
    Dirichlet,
    DrawnWarning,
    Gamma,
    Gaussian,
    InclusionWarning,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    calibration,
    compare_smoothing,
    dependence,
    partition,
    plot_dependence,
    plot_nomogram,
    plot_relevance,
    plot_waterfall,
    relevance,
    tune,
)
from bayesnb.data import open_table
from bayesnb.model.product import Rows, observe
from bayesnb.selection.leave_one_out import PredictiveRule, loo_log_proba
from tests.test_figures import assert_readable

RNG = np.random.default_rng(21)
ROWS, Q = 36, 0.3
Y = np.array(["ja", "nein", "wer"])[np.arange(ROWS) % 3]
SHIFT = (Y == "ja")[:, None] * np.array([1.0, 0.0, 0.5, 0.2])
REAL = RNG.normal(size=(ROWS, 4)) + SHIFT
COUNT = RNG.poisson(1.5 + SHIFT).astype(float)
HOLES = RNG.random((ROWS, 4)) < 0.1
WEAK = NormalInverseGamma([0.0, 1.0, 0.0, -1.0], 0.5, [1.0, 2.0, 1.5, 1.0], 1.3)
MIX = pd.DataFrame(
    {
        "long": np.where(HOLES[:, 0], np.nan, REAL[:, 0]),
        "colour": pd.Series(np.array(list("rgb"))[COUNT[:, 1].astype(int) % 3]).where(~HOLES[:, 1], None),
        "eggs": np.where(HOLES[:, 2], np.nan, COUNT[:, 2]),
        "tail": REAL[:, 3] > 0,
        "the": COUNT[:, 0].astype(int),
        "a": COUNT[:, 3].astype(int),
        "of": RNG.poisson(2.0, ROWS),
        "wide": REAL[:, 1] * 1e3,
    }
)
WORDS = ("the", "a", "of")
MIXED = {
    ("long", "wide"): Gaussian(NormalInverseGamma([0.0, 10.0], 0.4, 1.0, [1.0, 1e6])),
    "colour": Categorical(0.7),
    "eggs": Poisson(Gamma(1.0, 0.5)),
    "tail": Bernoulli(Beta(0.5, 2.0)),
    WORDS: Multinomial(0.6),
}
CASES = {
    "gaussian": (Gaussian(WEAK), np.where(HOLES, np.nan, REAL)),
    "poisson": (Poisson(Gamma([0.5, 1.0, 2.0, 0.1], 0.7)), np.where(HOLES, np.nan, COUNT)),
    "bernoulli": (Bernoulli(Beta(0.5, 2.0), threshold=1.5), np.where(HOLES, np.nan, COUNT)),
    "categorical": (Categorical(0.3, levels=range(12)), np.where(HOLES, np.nan, COUNT)),
    "multinomial": (Multinomial(0.7), COUNT),
    "mixed": (MIXED, MIX),
}


def by_feature(model: NaiveBayes, x: Any) -> tuple[np.ndarray, list[float]]:
    """log predictives of every cell, `(r, c, f)`, and log evidences, features in the table's order."""
    told, evidence = model.explain(x).predictive, model.log_evidence_by_feature()
    groups = [{*map(str, key)} if isinstance(key, tuple) else {str(key)} for key in evidence]  # a block is one feature
    names = [[str(name) in own for name in told.feature.values] for own in groups]
    cells = np.stack([told.values[..., own].sum(axis=-1) for own in names], axis=-1)
    return cells, list(evidence.values())


def enumerated(families: Any, x: Any, y: Any, temper: Any = None, **said: Any) -> tuple[np.ndarray, float]:
    """log p(x, y | D) of every row and the log evidence, by a sum over all subsets of features."""
    own = NaiveBayes(families, temper=temper, **said).fit(x, y)
    one = NaiveBayes(families, temper=temper).fit(x, np.zeros(len(y)))
    (with_class, evidence), (without, common) = by_feature(own, x), by_feature(one, x)
    labels = own.log_evidence_ - sum(evidence)
    joint, weight = [], []
    for subset in product([False, True], repeat=len(evidence)):
        chosen = np.array(subset)
        joint.append(own.model_.posterior.log_class + np.where(chosen, with_class, without).sum(axis=-1))
        prior = np.where(chosen, np.log(Q), np.log1p(-Q)).sum()
        weight.append(labels + prior + np.where(chosen, evidence, common).sum())
    total = np.logaddexp.reduce(weight)
    return np.logaddexp.reduce(np.array(joint) + np.array(weight)[:, None, None] - total, axis=0), float(total)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("class_prior", [0.5, {"ja": 0.2, "nein": 0.3, "wer": 0.5}], ids=["die", "fixed"])
def test_an_average_over_features_is_the_sum_over_all_subsets(name: str, class_prior: Any) -> None:
    families, x = CASES[name]
    model = NaiveBayes(families, class_prior=class_prior, average_features=Q).fit(x, Y)
    joint, evidence = enumerated(families, x, Y, class_prior=class_prior)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), joint, rtol=1e-11)
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-10)
    np.testing.assert_allclose(model.log_density(x), np.logaddexp.reduce(joint, axis=1), rtol=1e-11)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_an_average_that_has_learnt_twice_is_one_that_has_learnt_all(name: str) -> None:
    families, x = CASES[name]
    every, half = NaiveBayes(families, average_features=Q).fit(x, Y).model_, np.arange(ROWS) < 15
    schema = NaiveBayes(families, average_features=Q).fit(x, Y).schema_
    rows = Rows(schema.observers, schema.read(open_table(x)), np.arange(ROWS) % 3)
    first, second = (observe(rows.where(mask), 3) for mask in (half, ~half))
    for b, prior in enumerate(every.prior.blocks):
        once, then = prior.update(first.blocks[b] + second.blocks[b]), prior.update(first.blocks[b])
        np.testing.assert_allclose(then.update(second.blocks[b]).log_odds, once.log_odds, rtol=1e-10)  # type: ignore[attr-defined]
        parts = prior.log_evidence(first.blocks[b]) + then.log_evidence(second.blocks[b])
        np.testing.assert_allclose(parts, prior.log_evidence(first.blocks[b] + second.blocks[b]), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("temper", [None, 0.4])
@pytest.mark.parametrize("weight", [None, RNG.choice([1.0, 2.0, 3.0], ROWS)], ids=["unit", "weighted"])
def test_leave_one_out_of_an_average_is_a_refit_without_the_row(name: str, temper: Any, weight: Any) -> None:
    families, x = CASES[name]
    labels = ["ja", "nein", "wer"]
    counts = np.ones(ROWS) if weight is None else weight
    model = NaiveBayes(families, average_features=Q, temper=temper).fit(x, Y, weight)
    cells = model.schema_.read(open_table(x))
    rows = Rows(model.schema_.observers, cells, np.searchsorted(labels, Y), weight)
    found = loo_log_proba(model.model_, rows, PredictiveRule(power=model.temper_))
    for i in range(0, ROWS, 5):
        rest = np.arange(ROWS) != i
        others, row = (x[rest], x[i : i + 1]) if isinstance(x, np.ndarray) else (x[rest], x.iloc[[i]])
        refit = NaiveBayes(families, average_features=Q, temper=temper, classes=labels)
        refit.fit(others, Y[rest], counts[rest])
        np.testing.assert_allclose(found[i], refit.predict_log_proba(row)[0], rtol=1e-9, atol=1e-11)


def test_k_fold_of_an_average_is_a_refit_without_the_fold() -> None:
    model, folds = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y), np.arange(ROWS) % 4
    found = model.kfold(MIX, Y, folds).elpd_i
    for fold in range(4):
        rest = folds != fold
        refit = NaiveBayes(MIXED, average_features=Q, classes=model.classes_).fit(MIX[rest], Y[rest])
        expected = refit.predict_log_proba(MIX[~rest])[np.arange(9), np.searchsorted(model.classes_, Y[~rest])]
        np.testing.assert_allclose(found.values[~rest], expected, rtol=1e-9)


def test_a_row_that_carries_a_class_is_left_out_to_the_last_digit() -> None:
    x, y = np.array([[0.1], [0.2], [1e7], [3.0], [3.1], [2.9]]), np.array([0, 0, 0, 1, 1, 1])
    family = Gaussian(NormalInverseGamma(0.0, 0.01, 1.0, 1.0))
    model = NaiveBayes(family, average_features=Q).fit(x, y)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(x)), y)
    refit = NaiveBayes(family, average_features=Q).fit(np.delete(x, 2, 0), np.delete(y, 2))
    np.testing.assert_allclose(loo_log_proba(model.model_, rows)[2], refit.predict_log_proba(x[2:3])[0], rtol=1e-11)


@pytest.mark.slow
def test_temper_by_leave_one_out_works_on_an_average() -> None:
    x = np.column_stack([REAL, REAL[:, 0], REAL[:, 0]])
    assert 0 < NaiveBayes(average_features=0.5, temper="loo").fit(x, Y).temper_ < 1


def test_an_average_in_batches_is_that_of_all_rows_with_new_levels_too() -> None:
    whole = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    parts = NaiveBayes(MIXED, average_features=Q, classes=whole.classes_)
    for rows in (slice(0, 5), slice(5, 20), slice(20, None)):
        parts.partial_fit(MIX[rows], Y[rows])
    np.testing.assert_allclose(parts.predict_proba(MIX), whole.predict_proba(MIX), rtol=1e-11)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)


@pytest.mark.slow
def test_a_sparse_table_gives_the_average_of_a_dense_one() -> None:
    for families in (Multinomial(0.5), Bernoulli(Beta(0.5, 1.0), threshold=0.0)):
        dense = NaiveBayes(families, average_features=Q, temper="loo").fit(COUNT, Y)
        thin = NaiveBayes(families, average_features=Q, temper="loo").fit(sparse.csr_array(COUNT), Y)
        np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(COUNT)), dense.predict_proba(COUNT), rtol=1e-6)


def test_whole_weights_are_rows_and_a_column_of_noise_is_left_out() -> None:
    times = RNG.integers(1, 4, ROWS)
    once = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y, times)
    often = NaiveBayes(MIXED, average_features=Q).fit(MIX.loc[np.repeat(MIX.index, times)], np.repeat(Y, times))
    np.testing.assert_allclose(once.predict_proba(MIX), often.predict_proba(MIX), rtol=1e-10)
    rng = np.random.default_rng(0)  # of this test alone: noise of one seed in twenty looks like a dependence
    x = np.column_stack([rng.normal(size=300), (np.arange(300) % 2) * 2 + rng.normal(size=300)])
    model = NaiveBayes("gaussian", average_features=0.5).fit(x, np.arange(300) % 2)
    noise, signal = (float(model.posterior_[j].included[0]) for j in range(2))
    assert noise < 0.05 < 0.999 < signal


def test_columns_that_a_mapping_leaves_out_are_in_for_certain() -> None:
    x = np.where(HOLES, np.nan, REAL)
    some = NaiveBayes(Gaussian(WEAK), average_features={1: Q, 3: Q}).fit(x, Y)
    assert [float(some.posterior_[j].included[0]) == 1 for j in range(4)] == [True, False, True, False]
    own, every = NaiveBayes(Gaussian(WEAK)).fit(x, Y), NaiveBayes(Gaussian(WEAK), average_features=Q).fit(x, Y)
    told = [model.explain(x).predictive for model in (some, own, every)]
    np.testing.assert_allclose(told[0][..., [0, 2]], told[1][..., [0, 2]], rtol=1e-12)
    np.testing.assert_allclose(told[0][..., [1, 3]], told[2][..., [1, 3]], rtol=1e-12)


def test_an_explanation_of_an_average_adds_up_and_has_the_moments_of_its_draws() -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    told = model.explain(MIX)
    total = told.predictive.sum("feature") + told.predictive_class_term
    np.testing.assert_allclose(total.values, model.predict_joint_log_proba(MIX), rtol=1e-12)
    belief = model.posterior_["long"]
    theta = belief.sample(1, 200_000)
    drawn = theta.log_density(MIX["long"].iloc[1])
    mean, sd = (told[name].sel(feature="long").values[1] for name in ("evidence", "sd"))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * sd.max() / np.sqrt(200_000))
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.03)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "bernoulli", "categorical", "multinomial"])
def test_cumulants_of_an_average_are_the_derivatives_of_its_moments(name: str) -> None:
    families, x = CASES[name]
    block = NaiveBayes(families, average_features=Q).fit(x, Y).model_.posterior.blocks[0]
    cells = (
        (np.nan_to_num(x, nan=2.0)[:6] > 1.5).astype(float) if name == "bernoulli" else np.nan_to_num(x, nan=2.0)[:6]
    )
    cells = cells[:, None, None] if name == "multinomial" else cells[:, None]
    angles = np.exp(2j * np.pi * np.arange(64) / 64)
    for tilt in (0.0, 1.0):
        moments = np.array([block.log_moment(cells, tilt + 0.05 * z) for z in angles])
        found = block.cumulants(cells, 4, tilt)
        for n, factorial in ((1, 1), (2, 2), (3, 6), (4, 24)):
            turned = angles.reshape(-1, *[1] * (moments.ndim - 1)) ** -n
            cauchy = factorial * (moments * turned).mean(axis=0).real / 0.05**n
            np.testing.assert_allclose(found[n - 1], cauchy, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_the_law_of_an_average_is_drawn_with_the_mean_that_it_must_have(rows: str) -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    with pytest.warns(DrawnWarning, match="average_features"):
        found = model.predict_interval(MIX[:2], rows=rows)
    theta = model.draw_proba(MIX[:2], 20_000, chains=1, rng=3).values[0]
    if rows == "observed":
        np.testing.assert_allclose(found.probability, model.predict_proba(MIX[:2]), rtol=1e-12)
        drawn = model.predict_interval(MIX[:2], method="draws", draws=8000, rng=5)
        np.testing.assert_allclose(found["median"], drawn["median"], atol=0.03)
    else:
        np.testing.assert_allclose(found.probability, theta.mean(axis=0), atol=0.02)
        for level, end in ((0.055, "lower"), (0.945, "upper")):
            np.testing.assert_allclose(found[end], np.quantile(theta, level, axis=0), atol=0.03)
    with pytest.warns(DrawnWarning, match="average_features"):
        unsure = model.uncertainty(MIX[:2], rows=rows)
    np.testing.assert_allclose(unsure.probability, found.probability, atol=0.01)
    assert (unsure.epistemic > 0).all()
    for method in ("exact", "fast"):
        with pytest.raises(ValueError, match="method='draws'"):
            model.predict_interval(MIX[:2], method=method)


@pytest.mark.parametrize(
    ("rows", "temper"),
    [
        ("observed", 0.5),
        ("fixed", None),
        pytest.param("observed", None, marks=pytest.mark.slow),
        pytest.param("fixed", 0.5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_law_of_an_average_of_two_classes_is_exact(rows: str, temper: float | None) -> None:
    """Against draws, as many of which lie below an end as it says, within five standard errors."""
    two = Y != "wer"
    model = NaiveBayes(MIXED, average_features=Q, temper=temper).fit(MIX[two], Y[two])
    cells = pd.concat([MIX[:2], MIX[:1].assign(long=9.0, wide=np.nan)])
    found = model.predict_interval(cells, 0.8, rows=rows, method="exact")
    if rows == "observed":
        again = model.predict_interval(cells, 0.8, rows=rows, method="draws", draws=8000, rng=7)
        np.testing.assert_allclose(found.probability, model.predict_proba(cells), rtol=1e-12)
        for end in ("lower", "median", "upper"):
            np.testing.assert_allclose(found[end], again[end], atol=0.03)
    else:
        drawn = model.draw_proba(cells, 40_000, chains=1, rng=5).values[0, ..., 1]
        np.testing.assert_allclose(found.probability[:, 1], drawn.mean(axis=0), atol=5 * drawn.std() / 200)
        for level, end in ((0.1, "lower"), (0.5, "median"), (0.9, "upper")):
            share = (drawn < found[end].values[:, 1]).mean(axis=0)
            np.testing.assert_allclose(share, level, atol=5 * np.sqrt(level * (1 - level) / len(drawn)))
    unsure = model.uncertainty(cells, rows=rows)
    np.testing.assert_allclose(unsure.probability, found.probability, atol=1e-9)
    with pytest.raises(ValueError, match="method='draws'"):
        model.predict_interval(cells, method="fast")


def test_the_law_of_an_average_under_a_known_die_may_be_a_number_and_is_drawn() -> None:
    two = Y != "wer"
    model = NaiveBayes(MIXED, average_features=Q, class_prior="uniform").fit(MIX[two], Y[two])
    with pytest.warns(DrawnWarning, match="a class_prior that is known"):
        model.predict_interval(MIX[:2])
    with pytest.raises(ValueError, match="a class_prior that is known"):
        model.predict_interval(MIX[:2], method="exact")


@pytest.mark.slow
def test_the_row_given_the_draws_agrees_with_weighting_them() -> None:
    """p(theta | D, x) is p(theta | D) weighted by p(x | theta)."""
    x = MIX[["long", "tail"]]
    model = NaiveBayes({"long": Gaussian(NormalInverseGamma(0.0, 0.4, 1.0, 1.0))}, average_features=0.5)
    model.fit(x, Y)
    row = pd.DataFrame({"long": [2.5], "tail": [True]})
    tree = model.to_datatree(row, rng=1, draws=50_000, chains=1, groups=["posterior", "predictions"])
    drawn = tree["posterior"].isel(chain=0)
    spread = drawn["sigma2"].isel(gaussian_feature=0).values
    gap = 2.5 - drawn["mu"].isel(gaussian_feature=0).values
    log_x = -(np.log(2 * np.pi * spread) + gap**2 / spread) / 2 + np.log(
        drawn["theta"].isel(bernoulli_feature=0).values
    )
    weight = (np.exp(log_x) * drawn["class_prob"].values).sum(axis=1)
    p = tree["predictions"]["p"].values[0, :, 0]
    order = np.argsort(p, axis=0)
    with pytest.warns(DrawnWarning):
        found = model.predict_interval(row, ci_prob=0.9).isel(obs_id=0)
    for c in range(3):
        share = np.cumsum(weight[order[:, c]]) / weight.sum()
        for level, end in ((0.05, "lower"), (0.5, "median"), (0.95, "upper")):
            at = np.searchsorted(p[order[:, c], c], found[end].values[c])
            assert share[min(at, len(share) - 1)] == pytest.approx(level, abs=0.025)


@pytest.mark.slow
def test_draws_of_an_average_say_which_features_are_in_and_share_the_theta_of_the_others() -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    tree = model.to_datatree(MIX, Y, rng=2, draws=1000)
    drawn, known = tree["posterior"], tree["conjugate"]
    share = known["included"]
    se = np.sqrt(share * (1 - share) / 4000)
    assert (abs(drawn["included"].mean(("chain", "draw")) - share) < 5 * se + 1e-12).all()
    for name, variable in (("tail", "bernoulli_theta"), ("eggs", "rate")):
        same = (drawn[variable].max("class") == drawn[variable].min("class")).squeeze()
        np.testing.assert_array_equal(same, drawn["included"].sel(included_feature=name) == 0)
    shares = az.summary(tree, var_names=["included"], kind="stats", round_to="none")["mean"]
    np.testing.assert_allclose(shares, drawn["included"].mean(("chain", "draw")))
    assert "log_prior" not in tree
    assert "log_prior" in tree.attrs["omitted"]
    with pytest.raises(ValueError, match="log_prior"):
        model.to_datatree(groups=["log_prior"])


def test_rows_drawn_from_an_average_look_like_its_predictive() -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    rows, labels = model.sample(20_000, "ja", rng=4)
    assert set(labels) == {"ja"}
    expected = model.posterior_["tail"].predictive().mean()[0]
    assert rows["tail"].mean() == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(20_000))
    law = model.posterior_["long"].predictive()
    for at in (-1.0, 0.0, 1.0):
        assert (rows["long"] < at).mean() == pytest.approx(law.cdf(at)[0], abs=5 * 0.5 / np.sqrt(20_000))


@pytest.mark.parametrize("said", [0, 1, 1.5, "half", True, {"long": 2.0}, {"nothing": 0.5}])
def test_a_bad_average_is_an_error(said: Any) -> None:
    with pytest.raises(ValueError, match="average_features"):
        NaiveBayes(MIXED, average_features=said).fit(MIX, Y)


def test_an_average_says_what_it_cannot_do_and_stays_as_it_was() -> None:
    model = NaiveBayes(Gaussian(WEAK), average_features=Q).fit(REAL, Y)
    before = model.predict_proba(REAL)
    for weight in (0.5, np.where(np.arange(ROWS) == 3, 1.5, 1.0)):
        with pytest.raises(ValueError, match="whole numbers"):
            model.partial_fit(REAL, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(REAL), before)
    for estimate in ("mean", "map", "mle"):
        with pytest.raises(ValueError, match="estimate='predictive'"):
            NaiveBayes(average_features=Q, estimate=estimate).fit(REAL, Y)
    with pytest.raises(ValueError, match="whole numbers"):
        NaiveBayes(Multinomial(fractional=True), average_features=Q).fit(COUNT / 2, Y)
    with pytest.raises(ValueError, match="improper"):
        NaiveBayes(Categorical(0.0), average_features=Q).fit(COUNT, Y)
    uneven = Gaussian(NormalInverseGamma([[0.0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], 1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="column 2 is not the same for all classes"):
        NaiveBayes(uneven, average_features=Q).fit(REAL, Y)
    assert NaiveBayes(uneven, average_features={0: Q}).fit(REAL, Y).log_evidence_ < 0


def test_a_waterfall_draws_an_average_and_a_nomogram_says_why_not() -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    assert plot_waterfall(model.explain(MIX[:1])).patches
    with pytest.raises(ValueError, match="plot_waterfall"):
        plot_nomogram(model)


def test_the_mean_of_a_theta_that_is_certainly_shared_is_the_shared_one_though_a_class_has_none() -> None:
    x = np.tile([0.0, 1.0, -1.0], 3000)[:, None]
    family = Gaussian(NormalInverseGamma(0.0, 1e-300, 1.0, 1.0))
    belief = NaiveBayes(family, classes=range(5), average_features=Q).fit(x, np.arange(9000) % 4).posterior_[0]
    assert belief.included[0] == 0
    np.testing.assert_allclose(belief.mean().variance, belief.common.mean().variance[0])


def test_presets_do_not_average() -> None:
    assert "average_features" not in BernoulliNB().get_params()
    assert BernoulliNB().fit(COUNT, Y).model_.prior.independent_classes


def of_levels(counts: np.ndarray, concentration: np.ndarray) -> float:
    """log p of throws in the order in which they came, by SciPy's law of their counts."""
    n = counts.sum()
    orders = gammaln(n + 1) - gammaln(counts + 1).sum()
    return float(stats.dirichlet_multinomial.logpmf(counts.astype(int), concentration, int(n)) - orders) if n else 0.0


def of_flags(ones: float, zeros: float, a: float, b: float) -> float:
    return float(betaln(a + ones, b + zeros) - betaln(a, b))


def of_numbers(x: np.ndarray, mean: float, count: float, shape: float, scale: float) -> float:
    """Rows of one Gaussian column together are a multivariate t."""
    x = x[~np.isnan(x)]
    spread = scale / shape * (np.eye(len(x)) + 1 / count)
    return float(stats.multivariate_t.logpdf(x, np.full(len(x), mean), spread, 2 * shape)) if len(x) else 0.0


def of_counts(x: np.ndarray, shape: float, rate: float) -> float:
    """One step ahead, row after row."""
    total = 0.0
    for own in x[~np.isnan(x)]:
        total += stats.nbinom.logpmf(own, shape, rate / (rate + 1))
        shape, rate = shape + own, rate + 1
    return total


def tallied(codes: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, minlength=size).astype(float)


COLOURS = MIX["colour"].map({"b": 0, "g": 1, "r": 2}).to_numpy(float)
EVIDENCE = {
    "long": lambda rows: of_numbers(MIX["long"].to_numpy()[rows], 0.0, 0.4, 1.0, 1.0),
    "wide": lambda rows: of_numbers(MIX["wide"].to_numpy()[rows], 10.0, 0.4, 1.0, 1e6),
    "eggs": lambda rows: of_counts(MIX["eggs"].to_numpy()[rows], 1.0, 0.5),
    "tail": lambda rows: of_flags(MIX["tail"][rows].sum(), (~MIX["tail"][rows]).sum(), 0.5, 2.0),
    "colour": lambda rows: of_levels(tallied(COLOURS[rows & ~np.isnan(COLOURS)].astype(int), 3), np.full(3, 0.7)),
}


def test_the_relevance_of_every_column_is_the_ratio_of_its_evidences_by_scipy() -> None:
    model, every = NaiveBayes(MIXED).fit(MIX, Y), np.ones(ROWS, bool)
    found = relevance(model, prior=0.2)
    assert found.feature.values.tolist() == list(MIX.columns)
    for name, evidence in EVIDENCE.items():
        expected = sum(evidence(c == Y) for c in model.classes_) - evidence(every)
        assert float(found.log_bayes_factor.sel(feature=name)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    words = MIX[list(WORDS)].to_numpy(float)
    for j, word in enumerate(WORDS):
        expected = -of_flags(words[:, j].sum(), np.delete(words, j, 1).sum(), 0.6, 1.2)
        for c in model.classes_:
            expected += of_flags(words[c == Y, j].sum(), np.delete(words[c == Y], j, 1).sum(), 0.6, 1.2)
        assert float(found.log_bayes_factor.sel(feature=word)) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    block = sum(of_levels(words[c == Y].sum(axis=0), np.full(3, 0.6)) for c in model.classes_)
    block -= of_levels(words.sum(axis=0), np.full(3, 0.6))
    assert found.attrs["block"] == ["the, a, of"]
    assert found.attrs["block_log_bayes_factor"] == [pytest.approx(block, rel=1e-10)]
    np.testing.assert_allclose(found.inclusion, expit(found.log_bayes_factor + np.log(0.25)), rtol=1e-12)


def test_relevance_and_an_average_agree_on_what_is_included() -> None:
    own, every = (NaiveBayes(MIXED, average_features=share).fit(MIX, Y) for share in (None, Q))
    found = relevance(own, prior=Q)
    for name in EVIDENCE:
        assert float(found.inclusion.sel(feature=name)) == pytest.approx(float(every.posterior_[name].included[0]))
    np.testing.assert_allclose(relevance(every).log_bayes_factor, relevance(own).log_bayes_factor, rtol=1e-12)


def test_relevance_is_of_rows_only() -> None:
    model = NaiveBayes(Gaussian(WEAK), classes=["ja", "nein", "wer"])
    for _ in range(2):
        model.partial_fit(REAL, Y, sample_weight=np.full(ROWS, 0.5))  # which add up to whole counts
    model.partial_fit(REAL, Y)
    with pytest.raises(ValueError, match="not whole numbers"):
        relevance(model)
    assert np.isfinite(relevance(NaiveBayes(Gaussian(WEAK)).fit(REAL, Y, np.full(ROWS, 2.0))).log_bayes_factor).all()
    for counts in (COUNT / 2, sparse.csr_array(COUNT / 2)):
        with pytest.raises(ValueError, match="not whole numbers"):
            relevance(MultinomialNB().fit(counts, Y))
    assert np.isfinite(relevance(MultinomialNB().fit(sparse.csr_array(COUNT), Y)).log_bayes_factor).all()


def test_relevance_says_what_it_cannot_compare() -> None:
    with pytest.raises(ValueError, match="column 0 is improper"):
        relevance(NaiveBayes(Categorical(0.0)).fit(COUNT, Y))
    with pytest.raises(ValueError, match="column 2 is not the same for all classes"):
        relevance(NaiveBayes(Bernoulli(Beta([[1, 1, 1], [1, 1, 1], [1, 1, 2]], 1))).fit(COUNT[:, :3] > 1, Y))
    dice = np.ones((3, 2, 9))
    dice[1, 1, 4] = 2.0
    uneven = NaiveBayes(Categorical(Dirichlet(dice), levels=range(9))).fit(COUNT[:, :2], Y)
    with pytest.raises(ValueError, match="column 1 is not the same"):
        relevance(uneven)
    with pytest.raises(ValueError, match="not fitted"):
        relevance(NaiveBayes())
    with pytest.raises(TypeError, match="NaiveBayes"):
        relevance("a model")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prior"):
        relevance(NaiveBayes(Gaussian(WEAK)).fit(REAL, Y), prior=1.0)


def noise(rows: int, share: float, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of all kinds, from two levels up to one a row, that have nothing to do with the classes or each other."""
    y = (rng.random(rows) < share).astype(int)
    y[:2] = 0, 1
    levels = {f"1/{n}": rng.integers(0, rows // n, rows).astype(str) for n in (2, 4, 5, 20, rows // 2)}
    rare = 1 / np.arange(1, rows + 1)
    others = {
        "id": np.arange(rows).astype(str),
        "rare": rng.choice(rows, rows, p=rare / rare.sum()).astype(str),
        "flag": rng.random(rows) < 0.5,
        "seldom": rng.random(rows) < 0.02,
        "events": rng.poisson(3.0, rows),
        "zeros": rng.poisson(0.1, rows),
        "normal": rng.normal(1e3, 1.0, rows),
    }
    return pd.DataFrame(levels | others), y


TEXTS = ("1/2", "1/4", "1/5", "1/20", "id", "rare")
NOISE = NaiveBayes(
    {"events": Poisson(), "zeros": Poisson(), "normal": Gaussian()} | dict.fromkeys(TEXTS, "categorical")
)
STRONG = 3.0


def factors_of_noise(rows: int, share: float, seeds: int, pairs: bool) -> np.ndarray:
    """By seed and column, or pair of columns."""
    found = []
    for seed in range(seeds):
        x, y = noise(rows, share, np.random.default_rng(seed))
        asked = dependence(NOISE, x, y) if pairs else relevance(clone(NOISE).fit(x, y))
        found.append(asked.log_bayes_factor.values)
    return np.stack(found)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_noise_is_no_strong_evidence_whatever_its_levels(share: float) -> None:
    for pairs in (False, True):
        found = factors_of_noise(200, share, 5, pairs)
        assert np.nanmean(found > STRONG) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize(("rows", "pairs"), [(400, False), (2000, False), (400, True)])
def test_noise_is_strong_evidence_in_at_most_one_of_twenty_seeds_for_every_column(
    rows: int, share: float, pairs: bool
) -> None:
    found = factors_of_noise(rows, share, 100 if pairs else 200, pairs)  # a seed of pairs takes ten times as long
    assert (found > STRONG).mean(axis=0).max() <= 0.05


@pytest.mark.parametrize(("words", "length"), [(2000, 20), (400, 1)])
def test_words_that_are_noise_are_no_strong_evidence(words: int, length: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.multinomial(length, np.full(words, 1 / words), 400)
    found = relevance(MultinomialNB().fit(x[:, x.sum(axis=0) > 0], np.arange(400) % 2))
    assert found.attrs["block_log_bayes_factor"][0] < STRONG
    assert float((found.log_bayes_factor > STRONG).mean()) < 0.01


@pytest.mark.slow
def test_effects_that_were_planted_among_many_levels_are_strong_evidence() -> None:
    rng, y = np.random.default_rng(5), np.arange(3000) % 2
    often = np.where(rng.random(3000) < 3 / 23 * y, 0, rng.integers(0, 20, 3000))  # four times as often in one class
    half = rng.integers(0, 150, 3000) + 75 * y
    x = pd.DataFrame({"often": often, "half": half, "same": half, "noise": rng.integers(0, 400, 3000)}).astype(str)
    found = relevance(NaiveBayes().fit(x, y)).log_bayes_factor.to_series()
    assert (found[["often", "half"]] > 10).all()
    assert found["noise"] < 1
    pairs = dependence(NaiveBayes(), x, y).log_bayes_factor.to_pandas()
    assert pairs.loc["half", "same"] > 1000
    assert pairs.loc["noise", ["often", "half"]].max() < 1


def best_of(evidence: Any) -> float:
    """The largest of a function of a concentration."""
    found = minimize_scalar(
        lambda at: -evidence(np.exp(at)), bounds=(-6, 20), method="bounded", options={"xatol": 1e-9}
    )
    return -float(found.fun)


def test_evidence_for_a_dependence_of_levels_is_no_more_than_under_learnt_concentrations() -> None:
    rng, y = np.random.default_rng(8), np.arange(300) % 3
    x = np.floor(150 * rng.random(300) ** 1.5) + 30 * y  # some levels more often than others
    codes = np.unique(x, return_inverse=True)[1]
    tables = [tallied(codes[y == c], codes.max() + 1) for c in range(3)]
    prior = np.ones(codes.max() + 1)
    learnt = best_of(lambda a: sum(of_levels(table, a * prior) for table in tables))
    learnt -= best_of(lambda a: of_levels(sum(tables), a * prior))
    declared = sum(of_levels(table, prior) for table in tables) - of_levels(sum(tables), prior)
    assert 0 < learnt < declared
    found = relevance(NaiveBayes(Categorical(1.0)).fit(x[:, None], y))
    assert float(found.log_bayes_factor[0]) == pytest.approx(learnt, abs=1e-3)
    explicit = relevance(NaiveBayes(Categorical(Dirichlet(0.9))).fit(x[:, None], y))
    assert float(explicit.log_bayes_factor[0]) == pytest.approx(learnt, abs=1e-3)


@pytest.mark.slow
def test_evidence_for_a_dependence_of_two_columns_is_no_more_than_under_learnt_concentrations() -> None:
    rng, y = np.random.default_rng(9), np.arange(200) % 2
    first, other = rng.integers(0, 300, (2, 200))
    second = np.where(rng.random(200) < 0.7, other, first)
    tables = [tallied(300 * first[y == c] + second[y == c], 90_000).reshape(300, 300) for c in range(2)]

    def worth(axes: tuple[int, ...], a: float) -> float:
        parts = [table.sum(axis=axes).ravel() for table in tables]
        return sum(of_levels(part, np.full(part.size, a / part.size)) for part in parts)

    learnt = best_of(lambda a: worth((), a)) - best_of(lambda a: worth((0,), a)) - best_of(lambda a: worth((1,), a))
    declared = worth((), 300.0) - worth((0,), 300.0) - worth((1,), 300.0)
    assert 0 < learnt < declared
    model = NaiveBayes(Categorical(1.0, levels=range(300)))
    found = dependence(model, np.column_stack([first, second]), y)
    assert float(found.log_bayes_factor[0, 1]) == pytest.approx(learnt, abs=1e-3)
    np.testing.assert_allclose(found.log_bayes_factor_by_class.sum("class")[0, 1], learnt, atol=1e-3)


def inclusions(model: NaiveBayes, x: Any, y: Any) -> list[str]:
    """Messages of a fit about inclusions, besides which there may be one about the columns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y)
    assert all(warning.filename == __file__ for warning in caught)
    assert {warning.category for warning in caught} <= {InclusionWarning, ColumnWarning}
    return [str(warning.message) for warning in caught if warning.category is InclusionWarning]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_column_that_an_average_includes_for_its_many_levels_is_warned_of_once(share: float) -> None:
    warned = 0
    for seed in range(20):
        x, y = noise(400, share, np.random.default_rng(seed))
        model = clone(NOISE).set_params(average_features=0.5)
        messages = inclusions(model, x, y)
        factors = relevance(model).log_bayes_factor.to_series()
        included = pd.Series({name: float(model.posterior_[name].included[0]) for name in x})
        overstated = [name for name in x if included[name] > expit(STRONG) and factors[name] < 1]
        assert len(messages) == bool(overstated)
        assert all(repr(name) in messages[0] for name in overstated[:5])
        assert (f"and {len(overstated) - 5} more" in "".join(messages)) == (len(overstated) > 5)
        warned += "1/4" in overstated
    assert warned >= 6


def test_few_levels_that_are_noise_and_effects_that_were_planted_are_not_warned_of() -> None:
    rng, y = np.random.default_rng(5), np.arange(2000) % 2
    half = rng.integers(0, 150, 2000) + 75 * y
    flag = rng.random(2000) < 0.3 + 0.3 * y
    words = rng.multinomial(20, np.full(50, 1 / 50), 2000)
    x = pd.DataFrame({"half": half, "few": rng.integers(0, 5, 2000)}).astype(str).assign(flag=flag)
    model = NaiveBayes(average_features=0.5)
    assert inclusions(model, x, y) == []
    assert float(model.posterior_["half"].included[0]) > 0.99
    assert inclusions(NaiveBayes(Multinomial(), average_features=0.5), words, y) == []


@pytest.mark.slow
def test_what_the_warning_of_an_inclusion_advises_ends_it() -> None:
    rng, y = np.random.default_rng(1), np.arange(400) % 2
    x = pd.DataFrame({"id": np.arange(400).astype(str), "z": rng.normal(size=400) + y})
    model = NaiveBayes(average_features=0.5)
    (message,) = inclusions(model, x, y)
    factor = float(re.search(r"'id' \(\+([0-9.]+)\)", message)[1])  # type: ignore[index]
    assert "'z'" not in message
    assert inclusions(NaiveBayes(average_features=0.5), x[["z"]], y) == []
    assert inclusions(NaiveBayes({"id": None}, average_features=0.5), x, y) == []
    rare = NaiveBayes(average_features={"z": 0.5, "id": np.exp(-factor - 3)})
    assert inclusions(rare, x, y) == []
    assert float(rare.posterior_["id"].included[0]) < 0.06
    assert len(inclusions(NaiveBayes(average_features={"z": 0.5, "id": np.exp(-factor + 1)}), x, y)) == 1
    assert inclusions(NaiveBayes(average_features={"z": 0.5}), x, y) == []  # it is in because the user says so
    assert inclusions(NaiveBayes(), x, y) == []


def test_every_call_that_learns_warns_and_one_that_is_stopped_by_it_changes_nothing() -> None:
    x, y = pd.DataFrame({"id": np.arange(400).astype(str)}), np.arange(400) % 2
    model = NaiveBayes(average_features=0.5, classes=[0, 1])
    with pytest.warns(InclusionWarning, match="'id'"):
        model.partial_fit(x[:300], y[:300])
    before = model.predict_proba(x[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InclusionWarning):
            model.partial_fit(x[300:], y[300:])
    np.testing.assert_array_equal(model.predict_proba(x[:300]), before)
    with pytest.warns(InclusionWarning, match="'id'"):
        model.merge(model)
    with pytest.warns(InclusionWarning, match="'id'"):
        model.forget(x[:10], y[:10])


@pytest.mark.slow
@pytest.mark.parametrize("criticise", [tune, partition, calibration, compare_smoothing], ids=lambda f: f.__name__)
def test_a_bar_is_shown_where_it_is_asked_for(criticise: Any, capsys: pytest.CaptureFixture) -> None:
    x, y = noise(100, 0.5, np.random.default_rng(0))
    quiet = criticise(NOISE, x, y)
    assert capsys.readouterr() == ("", "")
    assert repr(criticise(NOISE, x, y, progress=True)) == repr(quiet)
    out, err = capsys.readouterr()
    assert out == ""
    assert criticise.__name__ in err
    assert "100%|" in err


@pytest.mark.slow
def test_a_bar_of_dependence_shows_pairs_where_it_is_asked_for(capsys: pytest.CaptureFixture) -> None:
    x, y = noise(100, 0.5, np.random.default_rng(0))
    quiet = dependence(NOISE, x, y)
    assert capsys.readouterr() == ("", "")
    assert dependence(NOISE, x, y, progress=True).identical(quiet)
    out, err = capsys.readouterr()
    pairs = x.shape[1] * (x.shape[1] - 1) // 2
    assert out == ""
    assert "pairs of columns: 100%|" in err
    assert f"{pairs}" in err


@pytest.mark.slow
def test_a_terminal_shows_no_bar_of_work_that_is_done_in_a_moment(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    x, y = noise(100, 0.5, np.random.default_rng(0))
    dependence(NOISE, x, y)
    assert capsys.readouterr() == ("", "")


def pair_of(model: Any, x: Any, y: Any, i: Any, j: Any, **said: Any) -> np.ndarray:
    """The factor of one pair within each class."""
    found = dependence(model, x, y, **said).log_bayes_factor_by_class
    return found.sel(feature=i, feature_2=j).values


def test_a_table_against_its_margins_is_the_ratio_of_three_evidences_by_scipy() -> None:
    x = np.column_stack([RNG.integers(0, 3, 60), RNG.integers(0, 5, 60), RNG.integers(0, 2, 60)]).astype(float)
    x[RNG.random(x.shape) < 0.1] = np.nan
    y, smoothing = np.arange(60) % 2, 0.7
    levels = {0: 3, 1: 5, 2: 2}
    families = {0: Categorical(smoothing), 1: Categorical(smoothing), 2: Bernoulli(Beta(0.5, 2.0))}
    margins = {0: np.full(3, 0.7), 1: np.full(5, 0.7), 2: np.array([2.0, 0.5])}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        found = pair_of(NaiveBayes(families), x, y, i, j)
        total = np.sqrt(margins[i].sum() * margins[j].sum())
        p, q = margins[i] / margins[i].sum(), margins[j] / margins[j].sum()
        for c in range(2):
            both = (y == c) & ~np.isnan(x[:, [i, j]]).any(axis=1)
            table = np.zeros((levels[i], levels[j]))
            np.add.at(table, tuple(x[both][:, [i, j]].astype(int).T), 1)
            expected = of_levels(table.ravel(), total * np.outer(p, q).ravel())
            expected -= of_levels(table.sum(axis=1), total * p) + of_levels(table.sum(axis=0), total * q)
            assert found[c] == pytest.approx(expected, rel=1e-10, abs=1e-11)


def test_one_row_says_nothing_about_a_dependence_of_levels_and_two_rows_hardly_anything() -> None:
    model = NaiveBayes(Categorical(1.0, levels=range(3)), classes=[0])
    assert pair_of(model, [[1, 2]], [0], 0, 1)[0] == pytest.approx(0, abs=1e-14)
    for second in ([1, 2], [0, 1]):  # columns that hardly vary, or have a level for each row, explain themselves
        assert 0 <= pair_of(model, [[1, 2], second], [0, 0], 0, 1)[0] < 1e-3
    assert pair_of(model, [[1, 2], [1, 1]], [0, 0], 0, 1)[0] < 0
    uneven = NaiveBayes({0: Categorical(0.2, levels=range(4)), 1: Bernoulli(Beta(3.0, 1.0))}, classes=[0])
    assert pair_of(uneven, [[3, 1]], [0], 0, 1)[0] == pytest.approx(0, abs=1e-14)
    for extreme in (1e-250, 1e250):
        model = NaiveBayes(Categorical(extreme, levels=range(3)), classes=[0])
        assert pair_of(model, [[1, 2]], [0], 0, 1)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [100, 1000])
def test_independent_levels_are_told_from_dependent_ones(n: int) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, (n, 3))
    x[:, 2] = np.where(rng.random(n) < 0.4, x[:, 0], x[:, 2])
    found = dependence(NaiveBayes(Categorical(1.0)), x, np.zeros(n, int))
    assert found.log_bayes_factor.values[0, 1] < -3 < 3 < found.log_bayes_factor.values[0, 2]
    assert found.attrs["strongest"].startswith("0 and 2: +")


def test_two_gaussian_columns_are_compared_by_their_predictives_one_step_ahead() -> None:
    prior = NormalInverseGamma([0.5, -2.0], 0.6, 1.7, [1.3, 40.0])
    x = RNG.multivariate_normal([0, -1], [[1, 3], [3, 25]], ROWS)
    x[4, 0] = x[9, 1] = np.nan
    found = pair_of(NaiveBayes(Gaussian(prior)), x, Y, 0, 1)
    for c, label in enumerate(np.unique(Y)):
        m, k, nu, psi = np.array([0.5, -2.0]), 0.6, 2 * 1.7 + 1, np.diag([2 * 1.3, 2 * 40.0])
        expected = 0.0
        both = x[(label == Y) & ~np.isnan(x).any(axis=1)]
        for row in both:
            df = nu - 1
            expected += stats.multivariate_t.logpdf(row, m, psi * (k + 1) / (k * df), df)
            psi = psi + k / (k + 1) * np.outer(row - m, row - m)
            m, k, nu = (k * m + row) / (k + 1), k + 1, nu + 1
        expected -= of_numbers(both[:, 0], 0.5, 0.6, 1.7, 1.3) + of_numbers(both[:, 1], -2.0, 0.6, 1.7, 40.0)
        assert found[c] == pytest.approx(expected, rel=1e-10)


def test_gaussian_columns_of_different_priors_meet_in_the_middle_and_keep_their_variance() -> None:
    apart = NaiveBayes(
        {0: Gaussian(NormalInverseGamma(0.0, 0.1, 1.0, 2.0)), 1: Gaussian(NormalInverseGamma(1.0, 0.9, 4.0, 2.0))}
    )
    joint = Gaussian(NormalInverseGamma([0.0, 1.0], 0.3, 2.0, [4.0, 1.0]))
    x = REAL[:, :2]
    np.testing.assert_allclose(pair_of(apart, x, Y, 0, 1), pair_of(NaiveBayes(joint), x, Y, 0, 1), rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6, 1e-4])
def test_a_column_and_its_copy_are_compared_to_the_last_digit(noise: float) -> None:
    rng = np.random.default_rng(8)
    first = rng.normal(size=25)
    x = np.column_stack([first, 3 * first + noise * rng.normal(size=25)])
    prior = NormalInverseGamma([0.25, 0.75], 0.5, 1.5, 1e-15)
    found = pair_of(NaiveBayes(Gaussian(prior)), x, np.zeros(25, int), 0, 1)[0]
    with mp.workdps(60):
        rows, location = mp.matrix(x.tolist()), [mp.mpf(0.25), mp.mpf(0.75)]
        n, k, a, b = 25, mp.mpf(0.5), mp.mpf(1.5), mp.mpf(1e-15)
        mean = [sum(rows[r, j] for r in range(n)) / n for j in range(2)]
        psi = mp.matrix(2, 2)
        for i in range(2):
            for j in range(2):
                spread = sum((rows[r, i] - mean[i]) * (rows[r, j] - mean[j]) for r in range(n))
                psi[i, j] = (2 * b if i == j else 0) + spread
                psi[i, j] += k * n / (k + n) * (mean[i] - location[i]) * (mean[j] - location[j])
        nu, after = 2 * a + 1, 2 * a + 1 + n
        gammas = [mp.loggamma(v / 2) + mp.loggamma((v - 1) / 2) for v in (after, nu)]
        scales = nu / 2 * mp.log(4 * b * b) - after / 2 * mp.log(mp.det(psi))
        expected = -n * mp.log(mp.pi) + gammas[0] - gammas[1] + scales
        for j in range(2):
            end = a + mp.mpf(n) / 2
            alone = -mp.mpf(n) / 2 * mp.log(2 * mp.pi) + mp.loggamma(end) - mp.loggamma(a)
            expected -= alone + a * mp.log(b) - end * mp.log(psi[j, j] / 2)
    assert found == pytest.approx(float(expected), rel=1e-10)


def test_numbers_and_counts_within_levels_are_the_ratio_of_the_groups_evidences() -> None:
    model = NaiveBayes(MIXED)
    groups = {"colour": [k == COLOURS for k in range(3)], "tail": [~MIX["tail"].to_numpy(), MIX["tail"].to_numpy()]}
    for name in ("long", "wide", "eggs"):
        for levels, masks in groups.items():
            found, seen = pair_of(model, MIX, Y, name, levels), np.any(masks, axis=0)
            for c, label in enumerate(np.unique(Y)):
                own = label == Y
                expected = sum(EVIDENCE[name](own & mask) for mask in masks) - EVIDENCE[name](own & seen)
                assert found[c] == pytest.approx(expected, rel=1e-9, abs=1e-10)


def test_one_row_says_nothing_about_numbers_within_levels() -> None:
    model = NaiveBayes(
        {"x": Gaussian(NormalInverseGamma(0.0, 1.0, 1.0, 1.0)), "k": Poisson(Gamma(1.0, 1.0))}, classes=[0]
    )
    x = pd.DataFrame({"x": [1.3], "k": [4], "level": ["a"]})
    found = dependence(model, x, [0]).log_bayes_factor.sel(feature="level")
    assert found.sel(feature_2="x") == 0
    assert found.sel(feature_2="k") == 0


def test_the_factors_are_symmetric_sum_over_classes_and_are_nan_where_there_are_none() -> None:
    found = dependence(NaiveBayes(MIXED), MIX, Y)
    names = ["long", "colour", "eggs", "tail", "wide"]
    assert found.feature.values.tolist() == names
    total = found.log_bayes_factor.values
    np.testing.assert_array_equal(total, total.T)
    np.testing.assert_allclose(total, found.log_bayes_factor_by_class.sum("class", skipna=False))
    missing = {(i, j) for i in names for j in names if np.isnan(total[names.index(i), names.index(j)])}
    without = {("eggs", "long"), ("eggs", "wide")}
    counts = dependence(NaiveBayes(Poisson()), COUNT, Y)
    assert counts.attrs["strongest"] == "No pair of columns can be compared."
    assert not plot_dependence(counts).collections[0].get_array().count()
    assert missing == {(n, n) for n in names} | without | {(j, i) for i, j in without}


def test_columns_in_another_order_permute_the_factors_and_a_part_of_them_is_a_part() -> None:
    found = dependence(NaiveBayes(MIXED), MIX, Y)
    turned = dependence(NaiveBayes(MIXED), MIX[MIX.columns[::-1]], Y)
    np.testing.assert_allclose(
        turned.log_bayes_factor,
        found.log_bayes_factor.sel(feature=turned.feature, feature_2=turned.feature_2),
        rtol=1e-12,
    )
    some = dependence(NaiveBayes(MIXED), MIX, Y, ["wide", "colour", "eggs"])
    assert some.feature.values.tolist() == ["colour", "eggs", "wide"]
    np.testing.assert_allclose(
        some.log_bayes_factor, found.log_bayes_factor.sel(feature=some.feature, feature_2=some.feature_2), rtol=1e-12
    )
    averaged = dependence(NaiveBayes(MIXED, average_features=Q), MIX, Y)
    np.testing.assert_allclose(averaged.log_bayes_factor, found.log_bayes_factor, rtol=1e-12)


def test_whole_weights_are_rows_and_others_are_refused() -> None:
    times = RNG.integers(0, 4, ROWS)
    times[:3] = 1
    once = dependence(NaiveBayes(MIXED), MIX, Y, sample_weight=times)
    often = dependence(NaiveBayes(MIXED), MIX.loc[np.repeat(MIX.index, times)], np.repeat(Y, times))
    np.testing.assert_allclose(once.log_bayes_factor, often.log_bayes_factor, rtol=1e-9, atol=1e-10)
    with pytest.raises(ValueError, match="whole numbers"):
        dependence(NaiveBayes(MIXED), MIX, Y, sample_weight=np.full(ROWS, 0.5))


@pytest.mark.slow
def test_rows_that_are_counted_in_pieces_are_as_many_of_their_weight() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random((13_500, 3)) < 0.4, rng.integers(0, 2, 13_500)
    often = dependence(NaiveBayes(Bernoulli()), np.tile(x, (40, 1)), np.tile(y, 40))
    once = dependence(NaiveBayes(Bernoulli()), x, y, sample_weight=np.full(13_500, 40))
    np.testing.assert_allclose(often.log_bayes_factor, once.log_bayes_factor, rtol=1e-9, atol=1e-8)


def test_dependence_says_what_it_cannot_pair() -> None:
    with pytest.raises(ValueError, match="'the' is in a block"):
        dependence(NaiveBayes(MIXED), MIX, Y, ["the", "long"])
    for odd in ("gone", ["long"]):
        with pytest.raises(ValueError, match=re.escape(f"{odd!r} is not a column of this model. Name some of ['")):
            dependence(NaiveBayes(MIXED), MIX, Y, [odd, "long"])
    with pytest.raises(ValueError, match="a list of names, got 'long'"):
        dependence(NaiveBayes(MIXED), MIX, Y, "long")
    with pytest.raises(ValueError, match="needs two columns"):
        dependence(NaiveBayes(Multinomial()), COUNT, Y)
    with pytest.raises(ValueError, match="improper"):
        dependence(NaiveBayes(Categorical(0.0)), COUNT, Y)
    with pytest.raises(ValueError, match="more than fit"):
        dependence(NaiveBayes(Bernoulli(threshold=0.0)), sparse.csr_array((3, 6000)), [0, 1, 0])
    flags = sparse.csr_array((COUNT > 1).astype(float))
    dense = dependence(NaiveBayes(Bernoulli()), COUNT > 1, Y)
    np.testing.assert_allclose(dependence(NaiveBayes(Bernoulli()), flags, Y).log_bayes_factor, dense.log_bayes_factor)


def test_a_class_without_rows_says_nothing() -> None:
    found = dependence(NaiveBayes(MIXED, classes=["ja", "nein", "wer", "nie"]), MIX, Y)
    assert (found.log_bayes_factor_by_class.sel({"class": "nie"}).fillna(0) == 0).all()


def test_what_columns_matter_is_drawn_from_the_largest_factor_down() -> None:
    found = relevance(NaiveBayes(MIXED).fit(MIX, Y))
    ax = plot_relevance(found, most=4)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, np.sort(found.log_bayes_factor)[::-1][:4])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == str(found.feature.values[found.log_bayes_factor.values.argmax()])
    assert "first 4 of 8" in ax.get_xlabel()
    with pytest.raises(
        TypeError, match=r"what bayesnb.relevance.* returned, got (Dataset|Dependence|Relevance) with log_bayes_factor"
    ):
        plot_relevance(dependence(NaiveBayes(MIXED), MIX, Y))
    with pytest.raises(
        TypeError, match=r"what bayesnb.dependence.* returned, got (Dataset|Dependence|Relevance) with log_bayes_factor"
    ):
        plot_dependence(found)


def test_a_map_of_dependences_has_a_scale_that_is_even_about_0() -> None:
    found = dependence(NaiveBayes(MIXED), MIX, Y)
    ax = plot_dependence(found)
    image = ax.collections[0]
    assert image.norm.vmin == -image.norm.vmax
    assert image.norm.vmax == pytest.approx(float(abs(found.log_bayes_factor).max()))
    assert [label.get_text() for label in ax.get_xticklabels()] == found.feature.values.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "long"), [(2, False), (3, True), (30, False), (60, True)])
def test_the_texts_of_a_map_of_dependences_are_not_cut_off(columns: int, long: bool) -> None:
    names = [f"{'a column with a long name, ' * long}{j}" for j in range(columns)]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(12, columns)), columns=names)
    assert_readable(plot_dependence(dependence(NaiveBayes(), table, np.arange(12) % 2)).get_figure(root=True))
