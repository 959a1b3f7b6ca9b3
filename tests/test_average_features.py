"""Averages over which features depend on the class, against enumeration of all subsets."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    DrawnWarning,
    Gamma,
    Gaussian,
    InclusionWarning,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    plot_nomogram,
    relevance,
)

RNG = np.random.default_rng(21)
ROWS, SHARE = 36, 0.3
Y = np.array(["ja", "nein", "wer"])[np.arange(ROWS) % 3]
SHIFT = (Y == "ja")[:, None] * np.array([1.0, 0.0, 0.5, 0.2])
REAL, COUNT = RNG.normal(size=(ROWS, 4)) + SHIFT, RNG.poisson(1.5 + SHIFT)
X = pd.DataFrame(
    {
        "long": REAL[:, 0],
        "wide": REAL[:, 1] * 1e3,
        "colour": np.array(list("rgb"))[COUNT[:, 1] % 3],
        "eggs": COUNT[:, 2].astype(float),
        "tail": REAL[:, 3] > 0,
        "the": COUNT[:, 0],
        "of": RNG.poisson(2.0, ROWS),
    }
)
for place, column in enumerate(["long", "colour", "eggs"]):
    X.loc[place::9, column] = None
FAMILIES = {
    ("long", "wide"): Gaussian(NormalInverseGamma([0.0, 10.0], 0.4, 1.0, [1.0, 1e6])),
    "colour": Categorical(0.7),
    "eggs": Poisson(Gamma(1.0, 0.5)),
    "tail": Bernoulli(Beta(0.5, 2.0)),
    ("the", "of"): Multinomial(0.6),
}
AVERAGE = NaiveBayes(FAMILIES, average_features=SHARE)


def by_feature(model: NaiveBayes) -> tuple[np.ndarray, np.ndarray]:
    """Return log predictives of cells, `(r, c, f)`, and log evidences; a block is one feature."""
    cells, evidence = model.explain(X).predictive, model.log_evidence_by_feature()
    names = [
        [str(name) for name in key] if isinstance(key, tuple) else [str(key)] for key in evidence
    ]
    blocks = [cells.sel(feature=block).sum("feature").values for block in names]
    return np.stack(blocks, axis=-1), np.array([*evidence.values()])


@pytest.mark.parametrize(
    "class_prior", [0.5, {"ja": 0.2, "nein": 0.3, "wer": 0.5}], ids=["learnt", "known"]
)
def test_an_average_over_features_is_the_sum_over_all_subsets(class_prior: Any) -> None:
    model = clone(AVERAGE).set_params(class_prior=class_prior).fit(X, Y)
    plain = NaiveBayes(FAMILIES, class_prior=class_prior).fit(X, Y)
    common = NaiveBayes(FAMILIES).fit(X, np.zeros(ROWS))
    (cells, evidence), (common_cells, common_evidence) = by_feature(plain), by_feature(common)
    labels, log_class = plain.log_evidence_ - evidence.sum(), plain.explain(X).predictive_class_term
    joint, weight = [], []
    for subset in product([False, True], repeat=len(evidence)):
        chosen = np.array(subset)
        joint.append(np.where(chosen, cells, common_cells).sum(axis=-1) + log_class.values)
        prior = np.where(chosen, np.log(SHARE), np.log1p(-SHARE))
        weight.append(labels + (prior + np.where(chosen, evidence, common_evidence)).sum())
    total = np.logaddexp.reduce(weight)
    expected = np.array(joint) + np.array(weight)[:, None, None] - total
    expected = np.logaddexp.reduce(expected, axis=0)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-11)
    assert model.log_evidence_ == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("temper", [None, 0.4])
def test_a_row_or_a_fold_is_left_out_weights_are_rows_and_batches_one_table(temper: Any) -> None:
    classes, folds = np.unique(Y), np.arange(ROWS) % 4
    average = clone(AVERAGE).set_params(classes=classes, temper=temper)
    weight = np.arange(ROWS) % 3 + 1
    model = clone(average).fit(X, Y, weight)
    held_out = model.loo_proba(X, Y, sample_weight=weight).values
    for i in range(0, ROWS, 7):
        rest = np.arange(ROWS) != i
        refit = clone(average).fit(X[rest], Y[rest], weight[rest])
        expected = refit.predict_proba(X.iloc[[i]])[0]
        np.testing.assert_allclose(held_out[i], expected, rtol=1e-9, atol=1e-11)
    repeated = clone(average).fit(X.iloc[np.repeat(np.arange(ROWS), weight)], np.repeat(Y, weight))
    np.testing.assert_allclose(repeated.predict_proba(X), model.predict_proba(X), rtol=1e-10)
    fold = folds == 2
    scores = clone(average).fit(X, Y).kfold(X, Y, folds).elpd_i.values
    parts = clone(average)
    for rows in (slice(0, 5), slice(5, None)):  # levels come later
        parts.partial_fit(X[~fold][rows], Y[~fold][rows])
    expected = parts.predict_log_proba(X[fold])[np.arange(9), np.searchsorted(classes, Y[fold])]
    np.testing.assert_allclose(scores[fold], expected, rtol=1e-9)


def test_a_row_that_carries_a_class_is_left_out_to_the_last_digit() -> None:
    x, y = np.array([[0.1], [0.2], [1e7], [3.0], [3.1], [2.9]]), np.array([0, 0, 0, 1, 1, 1])
    average = NaiveBayes(Gaussian(NormalInverseGamma(0.0, 0.01, 1.0, 1.0)), average_features=SHARE)
    refit = clone(average).fit(np.delete(x, 2, 0), np.delete(y, 2))
    held_out = clone(average).fit(x, y).loo_proba(x, y).values
    np.testing.assert_allclose(held_out[2], refit.predict_proba(x[2:3])[0], rtol=1e-11)


def test_columns_that_a_mapping_leaves_out_are_in_for_certain() -> None:
    some = clone(AVERAGE).set_params(average_features={"wide": SHARE, "eggs": SHARE})
    models = [model.fit(X, Y) for model in (some, NaiveBayes(FAMILIES), clone(AVERAGE))]
    cells, plain, average = (model.explain(X).predictive for model in models)
    for name in cells.feature.values:
        expected = average if name in ("wide", "eggs") else plain
        one, other = cells.sel(feature=name), expected.sel(feature=name)
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert some.posterior_["long"].included[0] == 1 > some.posterior_["wide"].included[0]


def test_relevance_says_what_is_included() -> None:
    inclusion = relevance(NaiveBayes(FAMILIES).fit(X, Y), prior=SHARE).inclusion
    average = clone(AVERAGE).fit(X, Y)
    for name in ("long", "colour", "eggs", "tail"):
        included = average.posterior_[name].included[0]
        assert inclusion.sel(feature=name) == pytest.approx(included, rel=1e-9)


def test_an_explanation_has_the_moments_of_draws() -> None:
    model, draws = clone(AVERAGE).fit(X, Y), 200_000
    drawn = model.posterior_["long"].sample(1, draws).log_density(X["long"][1])
    cell = model.explain(X).sel(feature="long").isel(obs_id=1)
    np.testing.assert_allclose(
        drawn.mean(axis=0), cell.evidence, atol=5 * cell.sd.max() / draws**0.5
    )
    np.testing.assert_allclose(drawn.std(axis=0), cell.sd, rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_intervals_are_of_draws_weighed_by_the_density_of_the_row(classes: int) -> None:
    """p(theta | D, x) is p(theta | D) weighted by p(x | theta); those of two classes are exact."""
    some = np.arange(ROWS) % 3 < classes
    families = {"long": Gaussian(NormalInverseGamma(0.0, 0.4, 1.0, 1.0))}
    model = NaiveBayes(families, average_features=0.5).fit(X[["long", "tail"]][some], Y[some])
    row = pd.DataFrame({"long": [2.5], "tail": [True]})
    groups = ["posterior", "predictions"]
    tree = model.to_datatree(row, rng=1, draws=50_000, chains=1, groups=groups)
    drawn, p = tree["posterior"].isel(chain=0), tree["predictions"]["p"].values[0, :, 0]
    variance = drawn["sigma2"].isel(gaussian_feature=0).values
    gap = 2.5 - drawn["mu"].isel(gaussian_feature=0).values
    density = np.exp(-(gap**2) / variance / 2) / np.sqrt(variance)
    density *= drawn["theta"].isel(bernoulli_feature=0).values
    observed = (density * drawn["class_prob"].values).sum(axis=1)
    for rows, weight in (("observed", observed), ("fixed", np.ones(len(p)))):
        weight = weight / weight.sum()
        tolerance = 2.5 * np.sqrt((weight**2).sum()) + 0.02 * (classes > 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DrawnWarning)
            interval = model.predict_interval(row, 0.9, rows=rows).isel(obs_id=0)
        for level, end in ((0.05, "lower"), (0.5, "median"), (0.95, "upper")):
            below = weight @ (p <= interval[end].values)
            np.testing.assert_allclose(below, level, atol=tolerance)


@pytest.mark.slow
def test_draws_say_which_features_are_in_and_share_the_parameters_of_the_others() -> None:
    tree = clone(AVERAGE).fit(X, Y).to_datatree(X, Y, rng=2, draws=1000)
    drawn, share = tree["posterior"], tree["conjugate"]["included"]
    error = np.sqrt(share * (1 - share) / 4000)
    gap = abs(drawn["included"].mean(("chain", "draw")) - share)
    assert (gap < 5 * error + 1e-12).all()
    for name, variable in (("tail", "bernoulli_theta"), ("eggs", "rate")):
        is_same = (drawn[variable].max("class") == drawn[variable].min("class")).squeeze()
        is_in = drawn["included"].sel(included_feature=name)
        np.testing.assert_array_equal(is_same, is_in == 0)


def test_the_mean_of_a_parameter_that_is_certainly_shared_is_the_shared_one() -> None:
    x = np.tile([0.0, 1.0, -1.0], 3000)[:, None]
    family = Gaussian(NormalInverseGamma(0.0, 1e-300, 1.0, 1.0))
    model = NaiveBayes(family, classes=range(5), average_features=SHARE)  # one has no row
    belief = model.fit(x, np.arange(9000) % 4).posterior_[0]
    assert belief.included[0] == 0
    variance = belief.common.mean().variance[0]
    np.testing.assert_allclose(belief.mean().variance, variance)


def warned(model: NaiveBayes, x: Any, y: Any) -> str:
    """Return the message of a fit about inclusions, of which there is at most one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y)
    messages = [str(w.message) for w in caught if w.category is InclusionWarning]
    assert len(messages) <= 1
    return "".join(messages)


@pytest.fixture
def many_levels() -> tuple[pd.DataFrame, np.ndarray]:
    rng, y = np.random.default_rng(5), np.arange(2000) % 2
    columns = {
        "id": np.arange(2000),
        "half": rng.integers(0, 150, 2000) + 75 * y,
        "few": rng.integers(0, 5, 2000),
    }
    return pd.DataFrame(columns).astype(str), y


def test_a_column_that_is_included_for_its_many_levels_alone_is_warned_of(many_levels: Any) -> None:
    x, y = many_levels
    model = NaiveBayes(average_features=0.5)
    message = warned(model, x, y)
    assert "'id'" in message
    assert "'half'" not in message
    assert "'few'" not in message
    assert model.posterior_["id"].included[0] > expit(3.0)
    factor = relevance(model).log_bayes_factor.sel(feature="id")
    assert factor < 1
    for advised in ({"families": {"id": None}}, {"average_features": {"half": 0.5}}):
        assert warned(clone(model).set_params(**advised), x, y) == ""


def test_a_call_that_is_stopped_by_the_warning_changes_nothing(many_levels: Any) -> None:
    x, y = many_levels[0][["id"]], many_levels[1]
    model = NaiveBayes(average_features=0.5, classes=[0, 1])
    with pytest.warns(InclusionWarning, match="'id'"):
        model.partial_fit(x[:900], y[:900])
    before = model.predict_proba(x[:900])
    with warnings.catch_warnings():
        warnings.simplefilter("error", InclusionWarning)
        for call in (model.partial_fit, model.forget):
            with pytest.raises(InclusionWarning):
                call(x[:10], y[:10])
    np.testing.assert_array_equal(model.predict_proba(x[:900]), before)


BY_CLASS = NormalInverseGamma([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 1.0, 1.0, 1.0)


def refuse(*args: Any, **options: Any) -> Any:
    x = options.pop("x", COUNT[:, :2])
    weight = options.pop("weight", None)
    options.setdefault("average_features", SHARE)
    return lambda: NaiveBayes(*args, **options).fit(x, Y, weight)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        *[
            (refuse(average_features=share), "average_features")
            for share in (0, 1, 1.5, "half", True, {0: 2.0}, {"nothing": 0.5})
        ],
        (refuse(weight=np.full(ROWS, 1.5)), "whole numbers"),
        (refuse(estimate="map"), "estimate='predictive'"),
        (refuse(Multinomial(fractional=True), x=sparse.csr_array(COUNT / 2)), "whole numbers"),
        (refuse(Categorical(0.0)), "improper"),
        (refuse(Gaussian(BY_CLASS)), "column 1 is not the same for all classes"),
        (lambda: plot_nomogram(clone(AVERAGE).fit(X, Y)), "plot_waterfall"),
        (lambda: clone(AVERAGE).fit(X, Y).predict_interval(X, method="fast"), "method='draws'"),
        (lambda: clone(AVERAGE).fit(X, Y).to_datatree(groups=["log_prior"]), "log_prior"),
    ],
)
def test_what_an_average_cannot_do_is_refused(call: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()
