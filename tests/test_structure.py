"""Which columns matter, and which depend on each other: against enumeration, brute force and SciPy."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    DrawnWarning,
    Gamma,
    Gaussian,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    plot_nomogram,
    plot_waterfall,
)
from bayesnb.evaluate.leaving import Way, loo_log_proba
from bayesnb.model import Rows
from bayesnb.table import open_table

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


def enumerated(families: Any, x: Any, y: Any, **said: Any) -> tuple[np.ndarray, float]:
    """log p(x, y | D) of every row and the log evidence, by a sum over all subsets of features."""
    own, one = NaiveBayes(families, **said).fit(x, y), NaiveBayes(families).fit(x, np.zeros(len(y)))
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
@pytest.mark.parametrize("temper", [None, 0.4])
@pytest.mark.parametrize("weight", [None, RNG.choice([1.0, 2.0, 3.0], ROWS)], ids=["unit", "weighted"])
def test_leave_one_out_of_an_average_is_a_refit_without_the_row(name: str, temper: Any, weight: Any) -> None:
    families, x = CASES[name]
    labels = ["ja", "nein", "wer"]
    counts = np.ones(ROWS) if weight is None else weight
    model = NaiveBayes(families, average_features=Q, temper=temper).fit(x, Y, weight)
    cells = model.schema_.read(open_table(x))
    rows = Rows(model.schema_.observers, cells, np.searchsorted(labels, Y), weight)
    found = loo_log_proba(model.model_, rows, Way(power=model.temper_))
    for i in range(0, ROWS, 5):
        rest = np.arange(ROWS) != i
        others, row = (x[rest], x[i : i + 1]) if isinstance(x, np.ndarray) else (x[rest], x.iloc[[i]])
        refit = NaiveBayes(families, average_features=Q, temper=temper, classes=labels)
        refit.fit(others, Y[rest], counts[rest])
        np.testing.assert_allclose(found[i], refit.predict_log_proba(row)[0], rtol=1e-9, atol=1e-11)


def test_a_row_that_carries_a_class_is_left_out_to_the_last_digit() -> None:
    x, y = np.array([[0.1], [0.2], [1e7], [3.0], [3.1], [2.9]]), np.array([0, 0, 0, 1, 1, 1])
    family = Gaussian(NormalInverseGamma(0.0, 0.01, 1.0, 1.0))
    model = NaiveBayes(family, average_features=Q).fit(x, y)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(x)), y)
    refit = NaiveBayes(family, average_features=Q).fit(np.delete(x, 2, 0), np.delete(y, 2))
    np.testing.assert_allclose(loo_log_proba(model.model_, rows)[2], refit.predict_log_proba(x[2:3])[0], rtol=1e-11)


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
    x = np.column_stack([RNG.normal(size=300), (np.arange(300) % 2) * 2 + RNG.normal(size=300)])
    model = NaiveBayes(average_features=0.5).fit(x, np.arange(300) % 2)
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
    model = NaiveBayes(MIXED, average_features=Q, temper=0.7).fit(MIX, Y)
    told = model.explain(MIX)
    total = told.predictive.sum("feature") + told.predictive_class_term
    np.testing.assert_allclose(total.values, model.predict_joint_log_proba(MIX), rtol=1e-12)
    belief = model.posterior_["long"]
    theta = belief.sample(1, 200_000)
    drawn = 0.7 * theta.log_density(MIX["long"].iloc[1])
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


def test_draws_of_an_average_say_which_features_are_in_and_share_the_theta_of_the_others() -> None:
    model = NaiveBayes(MIXED, average_features=Q).fit(MIX, Y)
    tree = model.to_datatree(MIX, Y, rng=2, draws=1000)
    drawn, known = tree["posterior"], tree["conjugate"]
    share = known["included"]
    se = np.sqrt(share * (1 - share) / 4000)
    assert (abs(drawn["included"].mean(("chain", "draw")) - share) < 5 * se + 1e-12).all()
    for name, variable in (("tail", "bernoulli_theta"), ("eggs", "rate")):
        same = (drawn[variable].max("class") == drawn[variable].min("class")).squeeze()
        np.testing.assert_array_equal(same, ~drawn["included"].sel(included_feature=name))
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


def test_presets_do_not_average() -> None:
    assert "average_features" not in BernoulliNB().get_params()
    assert BernoulliNB().fit(COUNT, Y).model_.prior.apart
