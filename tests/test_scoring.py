"""Calibration against scikit-learn, definitions, and simulated predictions that are true or not.

The scores are those of `found.probability`, which the contract compares with refits.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.stats import beta, binom
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from bayesnb import (
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    calibration,
    plot_calibration,
)

Array = np.ndarray
IRIS, Y = load_iris(return_X_y=True)
X = IRIS[:, :2]  # the classes overlap
WEIGHT = np.random.default_rng(7).integers(1, 5, 150).astype(float)
PROB = 0.89
weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unit", "weighted"])
ties = pytest.mark.parametrize("x", [X, X.round()], ids=["no ties", "ties"])


def known(means: list, variance: float = 1.0) -> NaiveBayes:
    """A model so sure that rows leave no trace: what it predicts is known, and so are ties."""
    sure = 1e18
    prior = NormalInverseGamma(np.array(means), sure, sure, sure * variance)
    return NaiveBayes(Gaussian(prior), class_prior="uniform")


@weights
@ties
def test_scores_and_curves_are_those_of_scikit_learn(x: Array, weight: Array | None) -> None:
    found = calibration(GaussianNB(), x, Y, sample_weight=weight)
    p = found.probability.values
    by_weight = {"sample_weight": weight}
    assert float(found.log_loss) == pytest.approx(log_loss(Y, p, **by_weight), rel=1e-12)
    assert float(found.accuracy) == pytest.approx(accuracy_score(Y, p.argmax(axis=1), **by_weight))
    theirs = brier_score_loss(Y, p, scale_by_half=False, **by_weight)
    assert float(found.brier) == pytest.approx(theirs, rel=1e-12)
    for c in range(3):
        hit = c == Y
        own = found.isel({"class": c})
        isotonic = IsotonicRegression().fit(p[:, c], hit, weight).predict(p[:, c])
        assert_allclose(own.calibrated, isotonic, atol=1e-12)


@weights
@ties
def test_the_terms_of_the_brier_score_add_up_to_it(x: Array, weight: Array | None) -> None:
    """Miscalibration is what the isotonic curve would gain, uncertainty the score of the share."""
    found = calibration(GaussianNB(), x, Y, sample_weight=weight)
    terms = found[["miscalibration", "discrimination", "uncertainty"]]
    assert (terms.to_array() >= 0).all()
    total = terms.miscalibration - terms.discrimination + terms.uncertainty
    assert float(total) == pytest.approx(float(found.brier), rel=1e-12)
    hit = np.eye(3)[Y]
    recalibrated = np.average((found.calibrated.values - hit) ** 2, axis=0, weights=weight).sum()
    gain = float(found.brier) - recalibrated
    assert float(terms.miscalibration) == pytest.approx(gain, abs=1e-12)
    share = np.average(hit, axis=0, weights=weight)
    assert float(terms.uncertainty) == pytest.approx((share * (1 - share)).sum(), rel=1e-12)


def test_bins_and_their_error_are_those_of_scikit_learn_where_nothing_is_tied() -> None:
    found = calibration(GaussianNB(), IRIS + np.arange(600).reshape(150, 4) * 1e-6, Y, bins=5)
    p = found.probability.values
    own = found.isel({"class": 2})
    share, mean = calibration_curve(Y == 2, p[:, 2], n_bins=5, strategy="quantile")
    assert_allclose([own.predicted, own.observed], [mean, share], rtol=1e-9)
    assert own["count"].values.tolist() == [30] * 5
    right = p.argmax(axis=1) == Y
    share, mean = calibration_curve(right, p.max(axis=1), n_bins=5, strategy="quantile")
    assert float(found.ece) == pytest.approx(np.abs(share - mean).mean(), rel=1e-9)


def test_rows_that_differ_stay_apart_beside_a_class_that_is_impossible() -> None:
    y = np.arange(600) % 2
    x = np.random.default_rng(0).normal(y)[:, None]
    two = calibration(GaussianNB(class_prior=[0.5, 0.5]), x, y)
    prior = [0.5, 0.5, 0.0]
    three = calibration(GaussianNB(class_prior=prior, classes=[0, 1, 2]), x, y)
    for name in ("predicted", "observed", "count"):
        assert_allclose(three[name][:2], two[name], rtol=1e-9)


def test_rows_of_equal_probability_are_one_bin_with_the_interval_of_its_beta() -> None:
    """And with the band of a binomial, within errors of 500 draws, or the next whole number."""
    x = np.repeat([-1.0, 0.0, 1.0], [20, 20, 2000])[:, None]
    y = np.repeat([0, 0, 1, 0, 1], [20, 5, 15, 200, 1800])
    for order in (slice(None), slice(None, None, -1)):
        model = known([[-1.0], [1.0]])
        found = calibration(model, x[order], y[order], bins=3, ci_prob=PROB).isel({"class": 1})
        observed = found.observed.dropna("bin").values
        assert found["count"].sum() == 2040
        assert len(np.unique(found.calibrated)) == 3
        assert_allclose(sorted(set(found.calibrated.values)), [0, 0.75, 0.9])
    assert observed[-1] == 0.9
    last = found.isel(bin=len(observed) - 1)
    tails = (1 - PROB) / 2, (1 + PROB) / 2
    assert_allclose([last.lower, last.upper], beta(1800.5, 200.5).ppf(tails), rtol=1e-9)
    error = 4 * np.sqrt(tails[0] * tails[1] / 500)
    counts = binom(2000, float(last.predicted))
    for end, tail in zip((last.band_lower, last.band_upper), tails, strict=True):
        assert counts.ppf(tail - error) - 1 <= end * 2000 <= counts.ppf(tail + error) + 1


def test_a_row_of_weight_three_is_three_rows_and_one_of_weight_zero_is_none() -> None:
    weight = np.tile([3.0, 1.0, 0.0], 50)
    frame = pd.DataFrame(X)
    model = known(means=[[5.0], [6.0], [6.5]])
    found = calibration(model, frame, Y, sample_weight=weight)
    keep = weight > 0
    assert found.identical(calibration(model, frame[keep], Y[keep], sample_weight=weight[keep]))
    many = np.repeat(np.arange(150), weight.astype(int))
    repeated = calibration(model, X[many], Y[many])
    for name in ("accuracy", "brier", "log_loss"):
        for end in ("", "_lower", "_upper"):
            assert_allclose(repeated[name + end], found[name + end], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 1.6])
def test_intervals_and_bands_cover_and_excess_is_found(slope: float) -> None:
    """Log odds that are known are multiplied by the slope: with 1 every prediction is true.

    Bands hold whole counts, so they may hold more than they say, but hardly less.
    """
    rng = np.random.default_rng(1)
    tables = 25
    rows = 300
    model = known([[-1.0], [1.0]], 1 / slope)
    many = rng.normal(rng.choice([-1, 1], 400_000))
    truth, said = (1 / (1 + np.exp(-2 * s * np.abs(many))) for s in (1.0, slope))
    expected = {
        "accuracy": truth.mean(),
        "brier": 2 * (truth * (1 - said) ** 2 + (1 - truth) * said**2).mean(),
        "log_loss": -(truth * np.log(said) + (1 - truth) * np.log1p(-said)).mean(),
        "ece": (said - truth).mean(),
    }
    covered = []
    excess = []
    shares = []
    for _ in range(tables):
        y = rng.integers(0, 2, rows)
        found = calibration(model, rng.normal(2 * y - 1)[:, None], y, ci_prob=PROB, rng=rng)
        inside = []
        for name, value in expected.items():
            inside.append(
                found[f"{name}_lower"] <= value + 1e-12 and value <= found[f"{name}_upper"]
            )
        covered.append(inside)
        own = found.isel({"class": 1})
        low = own.curve_band_lower - 1e-12
        high = own.curve_band_upper + 1e-12
        shares.append(
            [
                ((own.band_lower <= own.observed) & (own.observed <= own.band_upper)).mean(),
                ((low <= own.calibrated) & (own.calibrated <= high)).mean(),
                ((own.lower <= own.predicted) & (own.predicted <= own.upper)).mean(),
            ]
        )
        excess.append(float(found.ece - found.ece_if_calibrated))
    slip = np.sqrt(PROB * (1 - PROB) / tables)
    assert (np.mean(covered, axis=0) > PROB - 4 * slip).all()
    share = np.mean(shares, axis=0)
    error = np.std(shares, axis=0) / np.sqrt(tables)
    if slope == 1:
        assert (share > PROB - 4 * error).all()
        assert (share < 0.97).all()
        assert abs(np.mean(excess)) < 4 * np.std(excess) / np.sqrt(tables)
    else:
        assert (share < PROB - 4 * error).all()
        assert np.mean(excess) > 4 * np.std(excess) / np.sqrt(tables)


def test_impossible_labels_are_counted_and_cost_infinitely_much() -> None:
    x = np.array([[1.0, 0], [2, 0], [0, 1], [0, 2], [1, 1]])
    found = calibration(MultinomialNB(alpha=0.0), x, [0, 0, 1, 1, 1])
    assert found.attrs["impossible"] > 0
    assert found.log_loss == found.log_loss_upper == np.inf
    assert np.isfinite(found[["brier", "brier_lower", "brier_upper", "ece"]].to_array()).all()


def test_of_a_long_curve_only_corners_are_drawn() -> None:
    y = np.arange(1500) % 2
    found = calibration(GaussianNB(), np.random.default_rng(0).normal(y)[:, None], y)
    curve, points = plot_calibration(found).get_lines()[1:3]
    own = found.sel({"class": 1})
    assert len(curve.get_xdata()) < 1000
    expected = np.interp(own.probability.values, curve.get_xdata(), curve.get_ydata())
    assert_allclose(own.calibrated.values, expected, atol=1e-12)
    assert_allclose(points.get_ydata(), own.observed.values)


def test_of_many_classes_the_most_frequent_are_drawn() -> None:
    y = np.repeat(np.arange(14), np.arange(10, 24))
    found = calibration(GaussianNB(), np.random.default_rng(0).normal(size=(len(y), 1)), y)
    axes = plot_calibration(found)
    assert [ax.get_title(loc="left") for ax in axes] == [str(c) for c in range(2, 14)]
    assert "12 most frequent of 14" in axes[0].get_figure().legends[0].get_title().get_text()
    assert len(plot_calibration(found, classes=[3, 4])) == 2


REFUSALS: list[tuple[Any, dict, str]] = [
    (calibration, {"bins": 2.5}, "bins must be"),
    (calibration, {"ci_prob": 2}, "ci_prob must"),
    (plot_calibration, {"by": "row"}, "by must be"),
    (plot_calibration, {"classes": [7]}, "classes must be some of"),
    (plot_calibration, {"classes": "one"}, "write .'one'."),
    (plot_calibration, {"most": 0}, "most must be"),
    (plot_calibration, {"ax": Figure().subplots()}, "3 panels do not fit"),
]


@pytest.mark.parametrize(("call", "options", "match"), REFUSALS)
def test_bad_arguments_are_refused(call: Any, options: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call(GaussianNB(), IRIS, Y, **options)


def test_rows_that_cannot_be_left_out_are_refused() -> None:
    model = GaussianNB(estimate="mle")
    with pytest.raises(ValueError, match="2 rows, first row 3, cannot be left out"):
        calibration(model, [[0.0], [1.0], [2.0], [5.0], [6.0]], [0, 0, 0, 1, 1])
