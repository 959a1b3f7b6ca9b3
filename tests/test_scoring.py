"""Scores and calibration: against scikit-learn, definitions, and simulated predictions that are true."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from arviz_base import rc_context
from matplotlib.figure import Figure
from scipy.stats import beta, binom
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as their_log_loss

from bayesnb import (
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    calibration,
    plot_calibration,
    plot_confusion,
)
from bayesnb.selection.probability_scores import (
    Calibration,
    CurveOptions,
    Groups,
    Score,
    accuracy,
    brier,
    calibrated,
    corp,
    ece,
    ece_interval,
    groups_of_top,
    log_loss,
    reliability,
    scored,
    split,
)

Array = np.ndarray
RNG = np.random.default_rng(7)
PROBA = RNG.dirichlet([0.4, 0.6, 0.8], 500)
CODES = RNG.integers(0, 3, 500)
WEIGHT = RNG.integers(1, 5, 500).astype(float)
PROB = 0.89


def judged(proba: Array, codes: Array, weight: Array | None = None, bins: int = 10, seed: int = 0) -> Calibration:
    with np.errstate(divide="ignore"):
        log_proba = np.log(proba)
    weight = np.ones(len(codes)) if weight is None else weight
    return calibrated(log_proba, codes, weight, CurveOptions(bins, PROB, np.random.default_rng(seed)))


def numbers(found: Calibration) -> dict[str, Any]:
    """Everything that was found, by name; of rows, in their order."""
    labels = {**{f"class {c}": own for c, own in enumerate(found.classes)}, "top": found.top}
    said: dict[str, Any] = found.scores._asdict()
    for label, own in labels.items():
        said |= {f"{label} {name}": value for name, value in {**vars(own.bins), **vars(own.curve)}.items()}
        said |= {f"{label} corp": own.corp, f"{label} ece": own.ece, f"{label} noise": own.noise}
    return said


def of_two(p: Array) -> Array:
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unit", "weighted"])
def test_scores_are_those_of_scikit_learn(weight: Array | None) -> None:
    said = {"sample_weight": weight, "labels": [0, 1, 2]}
    pairs = [
        (log_loss, their_log_loss(CODES, PROBA, **said)),
        (brier, brier_score_loss(CODES, PROBA, scale_by_half=False, **said)),
        (accuracy, accuracy_score(CODES, PROBA.argmax(axis=1), sample_weight=weight)),
    ]
    for score, theirs in pairs:
        assert score(np.log(PROBA), CODES, weight).value == pytest.approx(theirs, rel=1e-13)


def test_two_rows_have_a_standard_error_and_one_has_none() -> None:
    log_proba, codes = np.log([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0])
    losses = -log_proba[:, 0]
    assert log_loss(log_proba, codes) == pytest.approx((losses.mean(), losses.std(ddof=1) / np.sqrt(2)))
    assert np.isnan(log_loss(log_proba[:1], codes[:1]).se)


@pytest.mark.parametrize("score", [log_loss, brier, accuracy])
def test_a_row_of_weight_three_scores_as_three_rows(score: Callable[..., Score]) -> None:
    many = np.repeat(np.arange(500), WEIGHT.astype(int))
    one, other = score(np.log(PROBA), CODES, WEIGHT), score(np.log(PROBA[many]), CODES[many])
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_row_that_is_impossible_under_every_class_is_not_right() -> None:
    with np.errstate(divide="ignore"):
        assert accuracy(np.log(np.zeros((2, 2))), np.array([0, 1])).value == 0


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unit", "weighted"])
@pytest.mark.parametrize("decimals", [16, 1], ids=["no ties", "ties"])
def test_the_isotonic_curve_is_scikit_learns(decimals: int, weight: Array | None) -> None:
    p, hit = PROBA[:, 0].round(decimals), CODES == 0
    groups = Groups.of(p, hit, np.ones(500) if weight is None else weight)
    theirs = IsotonicRegression().fit(p, hit, weight).predict(p)
    np.testing.assert_allclose(groups.isotonic[groups.member], theirs, atol=1e-13)


def test_the_isotonic_curve_is_the_max_of_mins_of_means() -> None:
    """Barlow et al. (1972): of the means of all stretches that end at or after a row, the least; then the greatest."""
    p, hit = PROBA[:40, 1], CODES[:40] == 1
    ordered = hit[np.argsort(p)]
    mean = np.array([[ordered[a : b + 1].mean() if a <= b else np.nan for b in range(40)] for a in range(40)])
    expected = [max(mean[a, i:].min() for a in range(i + 1)) for i in range(40)]
    np.testing.assert_allclose(Groups.of(p, hit, np.ones(40)).isotonic, expected, rtol=1e-14)


def test_rows_of_equal_probability_are_one_point_however_they_are_sorted() -> None:
    codes = np.repeat([0, 1], 50)
    for order in (slice(None), slice(None, None, -1)):
        found = judged(np.full((100, 2), 0.5), codes[order]).classes[1]
        assert (found.curve.calibrated == 0.5).all()
        assert found.corp == (0, 0, 0.25)
        assert found.bins.count.tolist() == [100]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unit", "weighted"])
@pytest.mark.parametrize("decimals", [16, 1], ids=["no ties", "ties"])
def test_the_terms_of_the_brier_score_add_up_to_it(decimals: int, weight: Array | None) -> None:
    proba = PROBA.round(decimals)
    found = judged(proba, CODES, weight)
    terms = np.array([own.corp for own in found.classes])
    assert (terms >= 0).all()
    for c, (miscalibration, discrimination, uncertainty) in enumerate(terms):
        own = np.average((proba[:, c] - (c == CODES)) ** 2, weights=weight)
        share = np.average(c == CODES, weights=weight)
        assert miscalibration - discrimination + uncertainty == pytest.approx(own, rel=1e-13)
        assert uncertainty == pytest.approx(share * (1 - share), rel=1e-13)
    assert terms.sum(axis=0) @ [1, -1, 1] == pytest.approx(found.scores.brier.value, rel=1e-13)


def test_what_is_recalibrated_has_no_miscalibration_left_and_discriminates_as_before() -> None:
    groups = Groups.of(PROBA[:, 0], CODES == 0, WEIGHT)
    again = corp(Groups.of(groups.isotonic[groups.member], CODES == 0, WEIGHT))
    before = corp(groups)
    assert before.miscalibration > 0.05
    np.testing.assert_allclose(again, (0, before.discrimination, before.uncertainty), atol=1e-15)


def test_bins_are_those_of_scikit_learn_where_nothing_is_tied() -> None:
    bins = judged(PROBA, CODES).classes[2].bins
    share, mean = calibration_curve(CODES == 2, PROBA[:, 2], n_bins=10, strategy="quantile")
    np.testing.assert_allclose([bins.predicted, bins.observed], [mean, share], rtol=1e-12)
    assert bins.count.tolist() == [50] * 10


def test_the_interval_of_a_share_is_that_of_its_beta_and_reaches_what_was_seen() -> None:
    bins = judged(of_two(np.repeat([0.1, 0.5, 0.9], 20)), np.repeat([0, 0, 1, 1], [20, 5, 15, 20])).classes[1].bins
    assert bins.observed.tolist() == [0, 0.75, 1]
    tails = (1 - PROB) / 2, (1 + PROB) / 2
    np.testing.assert_allclose([bins.lower[1], bins.upper[1]], beta(15.5, 5.5).ppf(tails), rtol=1e-10)
    assert (bins.lower[0], bins.upper[2]) == (0, 1)
    assert bins.upper[0] == pytest.approx(beta(0.5, 20.5).ppf(tails[1]), rel=1e-10)
    assert bins.lower[2] == pytest.approx(beta(20.5, 0.5).ppf(tails[0]), rel=1e-10)


def test_no_group_is_split_and_those_to_come_share_what_a_heavy_one_leaves() -> None:
    assert split(np.ones(10), 5).tolist() == [0, 2, 4, 6, 8]
    assert split(np.array([90.0, 1, 1, 1, 1]), 5).tolist() == [0, 1, 2, 3, 4]
    assert split(np.array([1.0, 1, 1, 1, 90]), 3).tolist() == [0, 4]
    assert split(np.ones(3), 10).tolist() == [0, 1, 2]
    assert split(np.array([5.0]), 10).tolist() == [0]


def test_ece_is_the_mean_distance_over_the_bins() -> None:
    p, right = np.array([0.6, 0.6, 0.8, 0.8, 0.8, 0.8]), np.array([1, 0, 1, 1, 1, 0])
    expected = 2 / 6 * abs(0.6 - 0.5) + 4 / 6 * abs(0.8 - 0.75)
    assert ece(np.log(of_two(p)), right) == pytest.approx(expected, rel=1e-14)
    top = PROBA.max(axis=1)
    share, mean = calibration_curve(PROBA.argmax(axis=1) == CODES, top, n_bins=5, strategy="quantile")
    assert ece(np.log(PROBA), CODES, bins=5) == pytest.approx(np.abs(share - mean).mean(), rel=1e-12)
    assert ece(np.log(PROBA), CODES, bins=5) == judged(PROBA, CODES, bins=5).top.ece.value


def test_ece_takes_no_notice_of_rows_of_weight_zero() -> None:
    weight = np.where(np.arange(500) < 300, 0.0, WEIGHT)
    expected = ece(np.log(PROBA[300:]), CODES[300:], WEIGHT[300:])
    assert ece(np.log(PROBA), CODES, weight) == expected != ece(np.log(PROBA), CODES, WEIGHT)


def test_the_order_of_rows_changes_nothing() -> None:
    order = RNG.permutation(500)
    one, other = (
        numbers(judged(PROBA.round(2), CODES, WEIGHT)),
        numbers(judged(PROBA[order].round(2), CODES[order], WEIGHT[order])),
    )
    for name, value in one.items():
        own = value[order] if np.size(value) == 500 else value
        np.testing.assert_allclose(other[name], own, rtol=1e-10, atol=1e-14, err_msg=name)


def test_the_order_of_classes_changes_no_number_but_by_the_draws() -> None:
    order = np.array([2, 0, 1])
    one, other = judged(PROBA, CODES), judged(PROBA[:, order], np.argsort(order)[CODES])
    np.testing.assert_allclose(other.scores, one.scores, rtol=1e-12)
    assert other.top.ece.value == pytest.approx(one.top.ece.value, rel=1e-12)
    for c, own in enumerate(other.classes):
        np.testing.assert_array_equal(own.curve.calibrated, one.classes[order[c]].curve.calibrated)
        np.testing.assert_array_equal(own.bins.observed, one.classes[order[c]].bins.observed)


def test_a_row_of_weight_three_is_three_rows_bands_included() -> None:
    many = np.repeat(np.arange(500), WEIGHT.astype(int))
    one, other = numbers(judged(PROBA, CODES, WEIGHT)), numbers(judged(PROBA[many], CODES[many]))
    for name, value in one.items():
        own = value[many] if np.size(value) == 500 else value
        np.testing.assert_allclose(other[name], own, rtol=1e-10, atol=1e-14, err_msg=name)


def test_a_label_that_was_called_impossible_costs_infinitely_much_and_nothing_is_nan() -> None:
    proba = of_two(np.array([0.0, 0.2, 0.9, 1.0, 0.0]))
    found = judged(proba, np.array([1, 0, 1, 1, 0]))
    assert found.scores.log_loss == (np.inf, np.inf, np.inf)
    assert all(np.isfinite(value).all() for name, value in numbers(found).items() if name != "log_loss")


def test_one_class_or_one_row_has_finite_numbers() -> None:
    alone = judged(np.ones((20, 1)), np.zeros(20, int))
    assert (alone.scores.brier, alone.scores.log_loss, alone.top.ece.value) == ((0, 0, 0), (0, 0, 0), 0)
    assert alone.classes[0].corp == (0, 0, 0)
    row = judged(PROBA[:1], CODES[:1])
    assert (row.scores.brier[1:], row.scores.log_loss[1:]) == ((0, 2), (0, np.inf))
    assert all(not np.isnan(value).any() for value in numbers(row).values())


def simulated(rng: np.random.Generator, rows: int, truth: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Predictions of two classes, and labels that come as `truth` says."""
    p = rng.beta(0.8, 0.8, rows)
    return of_two(p), (rng.random(rows) < truth(p)).astype(int)


@pytest.mark.slow
def test_predictions_that_are_true_lie_in_the_bands_and_their_error_is_noise() -> None:
    """Of 40 tables of 400 rows. Bands hold whole counts, so they may hold more than they say, but hardly less."""
    rng = np.random.default_rng(1)
    inside, curve, interval, excess, zero = [], [], [], [], []
    for seed in range(40):
        proba, codes = simulated(rng, 400, lambda p: p)
        plan = CurveOptions(10, PROB, np.random.default_rng(seed))
        own = reliability(Groups.of(proba[:, 1], codes == 1, np.ones(400)), plan)
        bins, at = own.bins, own.curve
        inside.append(np.mean((bins.observed >= bins.band_lower) & (bins.observed <= bins.band_upper)))
        curve.append(np.mean((at.calibrated >= at.band_lower - 1e-12) & (at.calibrated <= at.band_upper + 1e-12)))
        interval.append(np.mean((bins.predicted >= bins.lower) & (bins.predicted <= bins.upper)))
        excess.append(own.ece.value - own.noise)
        zero.append(own.ece.lower == 0)
    for share in (inside, curve, interval):
        assert PROB - 4 * np.std(share) / np.sqrt(40) < np.mean(share) < 0.97
    assert abs(np.mean(excess)) < 4 * np.std(excess) / np.sqrt(40)
    assert np.mean(zero) > PROB - 4 * np.sqrt(PROB * (1 - PROB) / 40)


def test_the_band_of_tied_rows_is_that_of_a_binomial() -> None:
    """Ends within three standard errors of quantiles from 500 draws, or the next whole number of rows."""
    found = judged(of_two(np.full(2000, 0.3)), np.tile([0, 1], 1000)).classes[1]
    tails = (1 - PROB) / 2, (1 + PROB) / 2
    low, high = found.bins.band_lower[0] * 2000, found.bins.band_upper[0] * 2000
    error = 3 * np.sqrt(tails[0] * tails[1] / 500)
    law = binom(2000, 0.3)
    assert law.ppf(tails[0] - error) - 1 <= low <= law.ppf(tails[0] + error) + 1
    assert law.ppf(tails[1] - error) - 1 <= high <= law.ppf(tails[1] + error) + 1
    assert found.curve.band_lower[0] == found.bins.band_lower[0]


def test_predictions_that_are_too_extreme_leave_the_bands() -> None:
    found = judged(*simulated(np.random.default_rng(2), 2000, lambda p: 0.25 + p / 2))
    own = found.classes[1]
    assert np.mean((own.bins.observed < own.bins.band_lower) | (own.bins.observed > own.bins.band_upper)) > 0.7
    assert found.top.ece.lower > 3 * found.top.noise


@pytest.mark.parametrize("slope", [0.95, 0.8, 0.5])
def test_the_interval_of_ece_covers_the_error_without_noise(slope: float) -> None:
    """The share of p is 1/2 + slope * (p - 1/2): what is predicted is too extreme by (1 - slope) times the gap."""
    rng, covered = np.random.default_rng(3), []
    for seed in range(60):
        proba, codes = simulated(rng, 1000, lambda p: 0.5 + slope * (p - 0.5))
        error = (1 - slope) * (proba.max(axis=1) - 0.5).mean()
        top = groups_of_top(np.log(proba), codes, np.ones(1000))
        own = ece_interval(top.joined(split(top.weight, 10)), CurveOptions(10, PROB, np.random.default_rng(seed)))
        covered.append(own.lower <= error <= own.upper)
        assert own.lower <= own.value <= own.upper
    assert np.mean(covered) > PROB - 3 * np.sqrt(PROB * (1 - PROB) / 60)


def test_mean_scores_have_intervals_that_cover() -> None:
    rng, covered = np.random.default_rng(4), []
    p = rng.beta(0.8, 0.8, 400_000)
    truth = [2 * np.mean(p * (1 - p)), -np.mean(p * np.log(p) + (1 - p) * np.log1p(-p)), np.mean(np.maximum(p, 1 - p))]
    for seed in range(400):
        proba, codes = simulated(rng, 120, lambda p: p)
        plan = CurveOptions(10, PROB, np.random.default_rng(seed))
        _, lower, upper = np.array(scored(np.log(proba), codes, np.ones(120), plan)).T
        covered.append((lower <= truth) & (truth <= upper))
    assert (np.mean(covered, axis=0) > PROB - 3 * np.sqrt(PROB * (1 - PROB) / 400)).all()


X, LABEL = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150) * 2)
NAME = np.array(["setosa", "versicolor", "virginica"])[LABEL]
FIXED = Gaussian(NormalInverseGamma(4.0, 0.1, 1.0, 1.0))


@pytest.mark.parametrize("said", [{}, {"temper": 0.4}, {"estimate": "mean"}], ids=str)
def test_every_row_is_predicted_by_a_model_that_has_not_seen_it(said: dict[str, Any]) -> None:
    rows = np.arange(0, 150, 5)
    x, y = FRAME.iloc[rows], NAME[rows]
    found = calibration(NaiveBayes(FIXED, **said), x, y, bins=4)
    for i in range(30):
        others = np.arange(30) != i
        refit = NaiveBayes(FIXED, **said).fit(x[others], y[others])
        expected = refit.predict_proba(x.iloc[[i]])[0]
        np.testing.assert_allclose(found.probability.sel(obs_id=x.index[i]), expected, rtol=1e-9, atol=1e-12)
    assert found.attrs["temper"] == said.get("temper", 1.0)
    assert found.attrs["estimate"] == said.get("estimate", "predictive")


def test_what_comes_back_has_names() -> None:
    found = calibration(GaussianNB(), FRAME, NAME, bins=5)
    assert dict(found.sizes) == {"class": 3, "bin": 5, "obs_id": 150}
    assert found["class"].values.tolist() == ["setosa", "versicolor", "virginica"]
    assert found.obs_id.values.tolist() == FRAME.index.tolist()
    for name in ("predicted", "observed", "lower", "upper", "band_lower", "band_upper", "count"):
        assert found[name].dims == ("class", "bin")
        assert found[f"top_{name}"].dims == ("bin",)
    for name in ("probability", "calibrated", "curve_band_lower", "curve_band_upper"):
        assert found[name].dims == ("obs_id", "class")
        assert found[f"top_{name}"].dims == ("obs_id",)
    for name in ("ece", "brier", "log_loss", "accuracy"):
        assert found[f"{name}_lower"] <= found[name] <= found[f"{name}_upper"]
    assert (found.label.values == NAME).all()
    np.testing.assert_allclose(found.miscalibration - found.discrimination + found.uncertainty, found.brier, rtol=1e-12)
    assert found["count"].sum("bin").values.tolist() == [150] * 3


def test_bins_that_ties_leave_empty_are_marked() -> None:
    x = np.repeat([[0.0], [1.0]], 20, axis=0)
    found = calibration(MultinomialNB(class_prior="uniform"), np.hstack([x, 1 - x]), np.tile([0, 1], 20))
    assert found["count"].values.tolist() == [[20, 20] + [0] * 8] * 2
    assert found.observed.isnull().sum("bin").values.tolist() == [8, 8]


def test_a_fitted_estimator_and_one_that_is_not_give_the_same_every_time() -> None:
    model = GaussianNB(temper="loo")
    assert calibration(model, X, LABEL).identical(calibration(model.fit(X, LABEL), X, LABEL))
    assert not calibration(model, X, LABEL).identical(calibration(model, X, LABEL, rng=1))


def test_the_interval_is_arviz_default_unless_it_is_said() -> None:
    with rc_context({"stats.ci_prob": 0.5}):
        assert calibration(GaussianNB(), X, LABEL).attrs["ci_prob"] == 0.5
        assert calibration(GaussianNB(), X, LABEL, ci_prob=0.9).attrs["ci_prob"] == 0.9


def test_a_row_of_weight_zero_is_no_row() -> None:
    weight = np.tile([1.0, 2.0, 0.0], 50)
    found = calibration(GaussianNB(), FRAME, NAME, sample_weight=weight)
    keep = weight > 0
    other = calibration(GaussianNB(), FRAME[keep], NAME[keep], sample_weight=weight[keep])
    assert found.identical(other)
    assert found["count"].sum("bin").values.tolist() == [150] * 3


def test_impossible_labels_are_counted() -> None:
    x, y = np.array([[1.0, 0], [2, 0], [0, 1], [0, 2], [1, 1]]), [0, 0, 1, 1, 1]
    found = calibration(MultinomialNB(alpha=0.0), x, y)
    assert found.attrs["impossible"] > 0
    assert found.log_loss == np.inf


@pytest.mark.parametrize(
    ("said", "words"),
    [({"bins": 0}, "bins must be"), ({"bins": 2.5}, "bins must be"), ({"ci_prob": 2}, "ci_prob must")],
)
def test_bad_arguments_of_calibration_are_told(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        calibration(GaussianNB(), X, LABEL, **said)


def test_rows_that_cannot_be_left_out_are_told() -> None:
    with pytest.raises(ValueError, match="2 rows, first row 3, cannot be left out"):
        calibration(GaussianNB(estimate="mle"), [[0.0], [1.0], [2.0], [5.0], [6.0]], [0, 0, 0, 1, 1])


def test_a_panel_shows_the_curve_its_band_and_the_bins() -> None:
    found = calibration(GaussianNB(), X, LABEL)
    axes = plot_calibration(found)
    assert [ax.get_title(loc="left") for ax in axes] == ["0", "1", "2"]
    _, curve, points = axes[1].get_lines()[:3]
    own = found.sel({"class": 1})
    expected = np.interp(own.probability.values, curve.get_xdata(), curve.get_ydata())
    np.testing.assert_allclose(own.calibrated.values, expected, atol=1e-12)
    np.testing.assert_array_equal(points.get_ydata(), own.observed.values)


def test_of_a_long_curve_only_corners_are_drawn() -> None:
    y = np.arange(1500) % 2
    found = calibration(GaussianNB(), RNG.normal(y)[:, None], y)
    curve = plot_calibration(found).get_lines()[1]
    own = found.sel({"class": 1})
    assert len(curve.get_xdata()) < 1000
    expected = np.interp(own.probability.values, curve.get_xdata(), curve.get_ydata())
    np.testing.assert_allclose(own.calibrated.values, expected, atol=1e-12)


@pytest.mark.slow
def test_of_two_classes_the_second_is_drawn_and_of_many_the_most_frequent() -> None:
    y = np.where(LABEL == 1, "yes", "no")
    assert plot_calibration(calibration(GaussianNB(), X, y)).get_title(loc="left") == "yes"
    label = np.repeat(np.arange(20), np.arange(10, 30))
    found = calibration(GaussianNB(), np.random.default_rng(0).normal(size=(len(label), 2)), label)
    axes = plot_calibration(found)
    assert [ax.get_title(loc="left") for ax in axes] == [str(c) for c in range(8, 20)]
    assert axes[0].get_figure().legends[0].get_title().get_text() == "the 12 most frequent of 20 classes"
    assert len(plot_calibration(found, classes=[3, 4])) == 2


def test_the_predicted_label_has_one_panel_that_says_its_error() -> None:
    found = calibration(GaussianNB(), X, LABEL)
    ax = Figure().subplots()
    assert plot_calibration(found, by="predicted", ax=ax) is ax
    assert f"ece {float(found.ece):.3f} (" in ax.get_title(loc="left")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"by": "row"}, "by must be"),
        ({"classes": [7]}, "classes must be some of"),
        ({"classes": "one"}, "say .'one'."),
        ({"most": 0}, "most must be"),
        ({"ax": "given"}, "3 panels do not fit"),
    ],
)
def test_bad_arguments_of_the_plot_are_told(said: dict[str, Any], words: str) -> None:
    found = calibration(GaussianNB(), X, LABEL)
    said = {"ax": Figure().subplots()} if "ax" in said else said
    with pytest.raises(ValueError, match=words):
        plot_calibration(found, **said)


def test_what_is_drawn_is_what_calibration_returned() -> None:
    for found in (None, calibration(GaussianNB(), X, LABEL)[["ece"]]):
        with pytest.raises(TypeError, match=r"what bayesnb.calibration.* returned, got"):
            plot_calibration(found)
    with pytest.raises(TypeError, match=r"a model is drawn together with its data: give all of \(model, X, y\)"):
        plot_calibration(GaussianNB())
    with pytest.raises(TypeError, match="X and y go with a model"):
        plot_calibration(calibration(GaussianNB(), X, LABEL), [1])


def test_a_model_with_its_rows_is_drawn_as_its_calibration_is() -> None:
    for draw in (plot_calibration, plot_confusion):
        ours, theirs = draw(GaussianNB(), X, LABEL), draw(calibration(GaussianNB(), X, LABEL))
        one, other = (np.ravel(axes)[0] for axes in (ours, theirs))
        assert [t.get_text() for t in one.texts] == [t.get_text() for t in other.texts]
        for line, same in zip(one.get_lines(), other.get_lines(), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), same.get_xydata())
