"""Columns that are modelled jointly, as pictures, pages, draws and Bayes factors show them.

The numbers are those of the same columns by themselves where these must agree, or SciPy's.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.path import Path
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb

ROWS = 90
RNG = np.random.default_rng(20261122)
CODE = np.arange(ROWS) % 3
FRAME = pd.DataFrame(
    {
        "w": RNG.normal(3.0 * CODE, 2.0),
        "a": np.array(["x", "z"])[(RNG.random(ROWS) < 0.2 + 0.3 * CODE).astype(int)],
        "u": RNG.normal(CODE, 1.0),
        "b": np.array(["p", "q", "r"])[RNG.integers(0, 3, ROWS)],
        "t": RNG.normal(size=ROWS),
    }
)
FRAME["v"] = 100 * (FRAME["u"] + RNG.normal(0, 0.5, ROWS))
FRAME["t"] += FRAME["u"] / 2
FRAME.loc[[3, 5], "a"] = FRAME.loc[5, "b"] = None
FRAME.loc[7, "u"] = np.nan
X = FRAME[~((FRAME.a == "z") & (FRAME.b == "r"))]  # a combination that was not seen
Y = np.array(["no", "yes", "maybe"])[CODE][X.index]
SMOOTHING = 0.5
VECTOR = ("u", "v", "t")
FAMILIES = {
    ("a", "b"): nb.JointTable(SMOOTHING),
    VECTOR: nb.MultivariateGaussian(),
    "w": nb.Gaussian(shared=True),
}
LABELS = ["maybe", "no", "yes"]


@pytest.fixture(scope="module")
def model() -> nb.NaiveBayes:
    return nb.NaiveBayes(FAMILIES).fit(X, Y)


def concentrations() -> np.ndarray:
    """Count all cells of the table of a and b, `(c, 2, 3)`."""
    counts = np.full((3, 2, 3), SMOOTHING)
    for c, i, j in product(range(3), range(2), range(3)):
        rows = (LABELS[c] == Y) & (X.a == "xz"[i]) & (X.b == "pqr"[j])
        counts[c, i, j] += rows.sum()
    return counts


def normalised(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum(axis=-1, keepdims=True)


def test_an_explanation_has_one_term_for_a_block_and_names_its_cells(model: Any) -> None:
    explained = model.explain(X)
    assert explained.feature.values.tolist() == ["w", "a, b", "u, v, t"]
    cells = explained.cell.sel(obs_id=5).values
    assert cells[1] == "a=missing, b=missing"
    assert explained.cell.sel(obs_id=7).values[2].startswith("u=missing, v=")
    ticks = nb.plot_waterfall(explained, row=X.index[0]).get_yticklabels()
    assert f"a={X.a.iloc[0]}, b={X.b.iloc[0]}" in [tick.get_text() for tick in ticks]


def test_bars_of_a_joint_table_are_probabilities_of_combinations(model: Any) -> None:
    ax = nb.plot_column(model, ("a", "b"), X, Y, ci_prob=0.8)
    counts = concentrations().reshape(3, 6)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["x, p", "x, q", "x, r", "z, p", "z, q", "the only other"]
    widths = np.reshape([bar.get_width() for bar in ax.patches], (3, 6))
    assert_allclose(widths, normalised(counts), rtol=1e-12)
    segments = [segment[:, 0] for lines in ax.collections for segment in lines.get_segments()]
    ends = stats.beta(counts, counts.sum(axis=1, keepdims=True) - counts).interval(0.8)
    assert_allclose(np.reshape(segments, (3, 6, 2)), np.stack(ends, axis=-1), rtol=1e-9)


@pytest.mark.slow
def test_a_column_of_a_block_is_drawn_whatever_the_others_hold(model: Any) -> None:
    bars = nb.plot_column(model, "a", X, Y).patches
    widths = np.reshape([bar.get_width() for bar in bars], (3, 2))
    assert_allclose(widths, normalised(concentrations().sum(axis=2)), rtol=1e-12)
    lines = nb.plot_column(model, "v", X, Y).lines
    curves = [line for line in lines if len(line.get_xdata()) > 50]
    for line, own in zip(curves, model.posterior_[VECTOR].predictive(), strict=True):
        expected = stats.t(own.df, own.loc[1], np.sqrt(own.shape[1, 1])).pdf(line.get_xdata())
        assert_allclose(line.get_ydata(), expected, rtol=1e-9)


@pytest.mark.parametrize("prob", [0.5, 0.9])
def test_ellipses_hold_as_many_new_rows_as_they_say(model: Any, prob: float) -> None:
    ax = nb.plot_column(model, ("v", "u"), X, Y, ci_prob=prob)
    outer = [line for line in ax.lines if line.get_linewidth() == 1.8]
    for line, own in zip(outer, model.posterior_[VECTOR].predictive(), strict=True):
        rows = own.rvs(4000, random_state=1)[:, [1, 0]]
        inside = Path(line.get_xydata()).contains_points(rows).mean()
        assert inside == pytest.approx(prob, abs=4 * np.sqrt(prob * (1 - prob) / 4000))


def test_columns_of_blocks_are_paired_by_the_margins_of_their_priors(model: Any) -> None:
    vector = model.prior_[VECTOR]
    w = model.prior_["w"]
    alone = {"a": nb.Categorical(SMOOTHING * 3), "b": nb.Categorical(SMOOTHING * 2)}
    for j, name in enumerate(VECTOR):
        shape = (vector.dof[0] - 2) / 2
        scale = vector.scale[0, j, j] / 2
        prior = nb.NormalInverseGamma(vector.location[0, j], vector.count[0], shape, scale)
        alone[name] = nb.Gaussian(prior)
    parts = (getattr(w, name)[0] for name in ("location", "count", "shape", "scale"))
    alone["w"] = nb.Gaussian(nb.NormalInverseGamma(*parts))
    joint, plain = (nb.dependence(nb.NaiveBayes(each), X, Y) for each in (FAMILIES, alone))
    one, two = (each.log_bayes_factor_by_class for each in (joint, plain))
    assert_allclose(one, two, rtol=1e-8, atol=1e-8)


def test_draws_of_a_table_are_called_by_combinations(model: Any) -> None:
    tree = model.to_datatree(X[:4], Y[:4], draws=400, chains=2, rng=1)
    theta = tree["posterior"]["theta_a,b"]
    names = ["x, p", "x, q", "x, r", "z, p", "z, q", "(elsewhere)"]
    assert theta["a,b_combination"].values.tolist() == names
    counts = concentrations().reshape(3, 6)
    assert_allclose(model.posterior_["a", "b"].concentration.reshape(3, 6), counts, rtol=1e-12)
    mean = normalised(counts)
    error = np.sqrt(mean * (1 - mean) / (counts.sum(axis=1, keepdims=True) + 1) / 800)
    assert (np.abs(theta.mean(["chain", "draw"]) - mean) < 5 * error).all()
    assert np.isfinite(tree["log_likelihood"]["row"]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda model: nb.plot_column(model, VECTOR), "cannot be drawn together"),
        (lambda model: nb.plot_column(model, ("a", "u")), "are not modelled jointly"),
    ],
)
def test_what_has_no_picture_says_so(model: Any, call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(model)
