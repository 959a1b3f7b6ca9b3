"""Columns that are modelled jointly, as all above the families shows them: pictures, pages, names, Bayes factors.

The numbers are those of the same columns modelled by themselves, wherever these must agree, or come from SciPy.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.path import Path
from scipy import stats

import bayesnb as nb
from bayesnb.families import Dirichlet
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.report import gather, report, section
from tests.parsed import Page
from tests.test_figures import assert_readable

ROWS = 90
RNG = np.random.default_rng(20261122)
Y = np.array(["no", "yes", "maybe"])[np.arange(ROWS) % 3]
C = np.arange(ROWS) % 3


def _table() -> pd.DataFrame:
    u = RNG.normal(C, 1.0)
    frame = pd.DataFrame(
        {
            "w": RNG.normal(3.0 * C, 2.0),
            "a": np.array(["x", "z"])[(RNG.random(ROWS) < 0.2 + 0.3 * C).astype(int)],
            "u": u,
            "b": np.array(["p", "q", "r"])[RNG.integers(0, 3, ROWS)],
            "v": 100 * (u + RNG.normal(0, 0.5, ROWS)),
            "t": RNG.normal(0, 1, ROWS) + u / 2,
        }
    )
    frame.loc[3, "a"] = frame.loc[5, "b"] = frame.loc[5, "a"] = None
    frame.loc[7, "u"] = np.nan
    return frame[~((frame.a == "z") & (frame.b == "r"))]  # a combination that was not seen


X = _table()
y = Y[X.index]
L = 0.5
BLOCKS = {("a", "b"): nb.JointTable(L), ("u", "v", "t"): nb.MultivariateGaussian(), "w": nb.Gaussian(shared=True)}


@pytest.fixture(scope="module")
def model() -> nb.NaiveBayes:
    return nb.NaiveBayes(BLOCKS).fit(X, y)


@pytest.fixture(scope="module")
def page(model: nb.NaiveBayes) -> Page:
    return Page(report(model, X, y))


def cells_of(model: nb.NaiveBayes) -> np.ndarray:
    """The concentrations of all cells of the table of a and b, `(c, 2, 3)`, counted here."""
    counts = np.full((3, 2, 3), L)
    for c, label in enumerate(model.classes_):
        for (i, a), (j, b) in product(enumerate("xz"), enumerate("pqr")):
            counts[c, i, j] += ((X.a == a) & (X.b == b) & (y == label)).sum()
    return counts


# What is believed of some columns of a block


def test_the_margins_of_a_joint_table_are_sums_of_its_cells(model: nb.NaiveBayes) -> None:
    (belief,) = (own for own in model.model_.posterior.blocks if hasattr(own, "combinations"))
    counts, margins = cells_of(model), belief.margins()
    assert isinstance(margins, ColumnDirichlets)
    np.testing.assert_allclose(margins.column(0).concentration, counts.sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(margins.column(1).concentration, counts.sum(axis=1), rtol=1e-12)
    turned = belief.of_columns(np.array([1, 0]))
    code = np.array(list(product(range(3), range(2))))
    np.testing.assert_allclose(
        np.exp(turned.log_predictive(code[:, None, None])[:, :, 0]).T.reshape(3, 3, 2),
        counts.swapaxes(1, 2) / counts.sum(axis=(1, 2))[:, None, None],
        rtol=1e-12,
    )


def test_the_margins_of_a_block_of_numbers_are_those_of_the_multivariate_t(model: nb.NaiveBayes) -> None:
    belief = model.posterior_["u", "v", "t"]
    whole = next(own for own in model.model_.posterior.blocks if hasattr(own, "dof"))
    for c, own in enumerate(belief.predictive()):
        for j in range(3):
            alone = whole.margins()[c : c + 1].column(j).predictive()
            x = own.loc[j] + np.sqrt(own.shape[j, j]) * np.array([-3.0, 0.0, 0.7])
            expected = stats.t(own.df, own.loc[j], np.sqrt(own.shape[j, j])).logpdf(x)
            np.testing.assert_allclose(alone.logpdf(x), expected, rtol=1e-12)


def test_a_variance_that_classes_share_is_each_class_s_own_by_itself(model: nb.NaiveBayes) -> None:
    belief, alone = model.prior_["w"], next(b for b in model.model_.prior.blocks if not b.multivariate).margins()
    assert type(alone) is nb.NormalInverseGamma
    assert (alone.column(0).scale == belief.scale).all()


# Families, explanations


def test_families_show_blocks_and_say_the_model_again(model: nb.NaiveBayes) -> None:
    assert list(model.families_) == list(model.posterior_) == ["w", ("a", "b"), ("u", "v", "t")]
    again = nb.NaiveBayes(model.families_).fit(X, y)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, rel=1e-14)
    shown = model._repr_html_()
    assert "<td>JointTable(prior=Dirichlet(concentration=0.5))</td><td>2</td><td>a, b</td>" in shown
    assert "<td>MultivariateGaussian()</td><td>3</td><td>u, v, t</td>" in shown
    twice = nb.NaiveBayes({("a", "b"): nb.JointTable(), ("u",): nb.JointTable(), ("v", "t"): None, "w": None})
    assert "<td>1</td><td>u</td>" in twice.fit(X, y)._repr_html_()


def test_an_explanation_has_one_term_for_a_block_and_names_its_cells(model: nb.NaiveBayes) -> None:
    found = model.explain(X)
    assert found.feature.values.tolist() == ["w", "a, b", "u, v, t"]
    one = found.sel(obs_id=0)
    assert one.cell.values[1] == f"a={X.a[0]}, b={X.b[0]}"
    assert found.cell.sel(obs_id=5).values[1] == "a=missing, b=missing"
    assert found.cell.sel(obs_id=7).values[2].startswith("u=missing, v=")
    total = found.predictive.sum("feature") + found.predictive_class_term
    np.testing.assert_allclose(total, model.predict_joint_log_proba(X), rtol=1e-10)
    labels = [label.get_text() for label in nb.plot_waterfall(found, row=0).get_yticklabels()]
    assert f"a={X.a[0]}, b={X.b[0]}" in labels


# Pictures


def test_bars_of_a_joint_table_are_the_probabilities_of_combinations(model: nb.NaiveBayes) -> None:
    ax = nb.plot_column(model, ("a", "b"), X, y, ci_prob=0.8)
    counts = cells_of(model).reshape(3, 6)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["x, p", "x, q", "x, r", "z, p", "z, q", "the only other"]
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 6)
    np.testing.assert_allclose(widths, counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)
    lines = np.array([segment[:, 0] for lines in ax.collections for segment in lines.get_segments()]).reshape(3, 6, 2)
    ends = stats.beta(counts, counts.sum(axis=1, keepdims=True) - counts).interval(0.8)
    np.testing.assert_allclose(lines, np.stack(ends, axis=-1), rtol=1e-9)
    assert_readable(ax.get_figure(root=True))


def test_a_column_of_a_block_is_drawn_whatever_the_others_hold(model: nb.NaiveBayes) -> None:
    counts = cells_of(model).sum(axis=2)
    ax = nb.plot_column(model, "a", X, y)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    np.testing.assert_allclose(widths, counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)
    curves = [line for line in nb.plot_column(model, "v", X, y).lines if len(line.get_xdata()) > 50]
    for line, own in zip(curves, model.posterior_["u", "v", "t"].predictive(), strict=True):
        expected = stats.t(own.df, own.loc[1], np.sqrt(own.shape[1, 1])).pdf(line.get_xdata())
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-9)


@pytest.mark.parametrize("prob", [0.5, 0.9])
def test_ellipses_hold_as_many_new_rows_as_they_say(model: nb.NaiveBayes, prob: float) -> None:
    ax = nb.plot_column(model, ("v", "u"), X, y, ci_prob=prob)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("v", "u")
    outer = [line for line in ax.lines if line.get_linewidth() == 1.8]
    points = [line for line in ax.lines if line.get_marker() == "."]
    assert sum(len(line.get_xdata()) for line in points) == len(X) - 1  # one lacks a cell
    for line, own in zip(outer, model.posterior_["u", "v", "t"].predictive(), strict=True):
        rows = own.rvs(4000, random_state=1)[:, [1, 0]]
        inside = Path(line.get_xydata()).contains_points(rows).mean()
        assert inside == pytest.approx(prob, abs=4 * np.sqrt(prob * (1 - prob) / 4000))
    assert_readable(ax.get_figure(root=True))


def test_what_has_no_picture_says_what_has(model: nb.NaiveBayes) -> None:
    with pytest.raises(ValueError, match="3 columns of numbers make no picture: name one of them, or two"):
        nb.plot_column(model, ("u", "v", "t"))
    with pytest.raises(ValueError, match="are not modelled jointly"):
        nb.plot_column(model, ("a", "u"))
    with pytest.raises(ValueError, match="u, v, t are modelled jointly: what one of these numbers is worth depends on"):
        nb.plot_nomogram(model)


def test_a_nomogram_marks_combinations_at_their_log_predictive_ratios() -> None:
    few = nb.NaiveBayes({("a", "b"): nb.JointTable(L), "w": nb.Gaussian(shared=True), ("u", "v", "t"): None}).fit(X, y)
    upper, _ = nb.plot_nomogram(few, ("yes", "no"))
    counts = cells_of(few)
    share = counts / counts.sum(axis=(1, 2), keepdims=True)
    yes, no = (few.classes_.tolist().index(label) for label in ("yes", "no"))
    places = {label.get_text(): at for at, label in zip(upper.get_yticks(), upper.get_yticklabels(), strict=True)}
    assert sorted(places) == ["a, b", "class frequency", "w"]
    marks = [own.get_offsets() for own in upper.collections if isinstance(own, PathCollection)]
    (found,) = (own[:, 0] for own in marks if (own[:, 1] == places["a, b"]).all())
    np.testing.assert_allclose(found, np.log(share[yes] / share[no]).ravel(), rtol=1e-10)


# Bayes factors


def test_columns_of_blocks_are_paired_by_the_margins_of_their_priors(model: nb.NaiveBayes) -> None:
    prior = model.prior_
    vectors = next(own for own in model.model_.prior.blocks if hasattr(own, "dof")).margins()[0]
    numbers = {
        name: nb.Gaussian(nb.NormalInverseGamma(*(getattr(vectors, part)[j] for part in vectors.__match_args__)))
        for j, name in enumerate(("u", "v", "t"))
    }
    alone = {"a": nb.Categorical(Dirichlet(L * 3)), "b": nb.Categorical(Dirichlet(L * 2)), **numbers}
    alone["w"] = nb.Gaussian(nb.NormalInverseGamma(*(getattr(prior["w"], part)[0] for part in vectors.__match_args__)))
    found, expected = nb.dependence(model, X, y), nb.dependence(nb.NaiveBayes(alone), X, y)
    assert found.feature.values.tolist() == list(X)
    np.testing.assert_allclose(
        found.log_bayes_factor_by_class, expected.log_bayes_factor_by_class, rtol=1e-8, atol=1e-8
    )
    some = nb.dependence(model, X, y, ["b", "u"])
    np.testing.assert_allclose(some.log_bayes_factor[0, 1], found.log_bayes_factor.sel(feature="b", feature_2="u"))
    assert nb.plot_dependence(found).get_xticklabels()[1].get_text() == "a"


def test_a_block_depends_on_the_class_as_a_whole(model: nb.NaiveBayes) -> None:
    found = nb.relevance(model).log_bayes_factor.to_series()
    assert found.index.tolist() == ["w", "a, b", "u, v, t"]
    joined = (X.a + X.b).rename("ab").to_frame()
    levels = [f"{a}{b}" for a, b in product("xz", "pqr")]
    one = nb.NaiveBayes({"ab": nb.Categorical(L, levels=levels)}).fit(joined, y)
    assert found["a, b"] == pytest.approx(float(nb.relevance(one).log_bayes_factor[0]), rel=1e-10)


# Names


def test_draws_of_a_table_are_called_by_combinations(model: nb.NaiveBayes) -> None:
    tree = model.to_datatree(X[:4], y[:4], draws=400, chains=2, rng=1)
    theta = tree["posterior"]["theta_a,b"]
    assert theta.dims == ("chain", "draw", "class", "a,b_combination")
    assert theta["a,b_combination"].values.tolist() == ["x, p", "x, q", "x, r", "z, p", "z, q", "(elsewhere)"]
    np.testing.assert_allclose(theta.sum("a,b_combination"), 1.0, rtol=1e-12)
    counts = cells_of(model).reshape(3, 6)
    mean = counts / counts.sum(axis=1, keepdims=True)
    error = np.sqrt(mean * (1 - mean) / (counts.sum(axis=1, keepdims=True) + 1) / 800)
    assert (np.abs(theta.mean(["chain", "draw"]) - mean) < 5 * error).all()
    assert tree["prior"]["theta_a,b"].dims == theta.dims
    np.testing.assert_allclose(tree["conjugate"]["theta_a,b_concentration"], counts, rtol=1e-12)


def test_covariances_have_two_axes_of_columns_and_zeros_between_blocks() -> None:
    families = {("u", "v"): nb.MultivariateGaussian(), ("t", "w"): nb.MultivariateGaussian(), ("a", "b"): None}
    tree = nb.NaiveBayes(families).fit(X, y).to_datatree(draws=5, chains=2, rng=1)
    cov = tree["posterior"]["cov"]
    assert cov.dims == ("chain", "draw", "class", "feature", "feature_2")
    assert cov.feature.values.tolist() == cov.feature_2.values.tolist() == ["u", "v", "t", "w"]
    assert (cov.sel(feature="u", feature_2=["t", "w"]) == 0).all()
    assert (cov.sel(feature="u", feature_2="v") == cov.sel(feature="v", feature_2="u")).all()
    assert tree["conjugate"]["mu_count"].dims == ("class", "feature")
    some = nb.NaiveBayes(families).fit(X, y).to_datatree(draws=5, chains=2, rng=1, features=["w", "u"])
    np.testing.assert_array_equal(some["posterior"]["cov"], cov.sel(feature=["u", "w"], feature_2=["u", "w"]))


# Pages


@pytest.mark.slow
def test_a_page_tells_of_blocks(page: Page) -> None:
    _, *families = page.tables["Families of columns"]
    kinds = {kind.split("\n")[0]: (width, prior, names) for kind, width, _, prior, names in families}
    assert kinds["JointTable"] == ("2", "as if each of 6 combinations had been seen 0.5 times in each class", "a, b")
    assert kinds["MultivariateGaussian"][::2] == ("3", "u, v, t")
    _, *columns = page.tables["Columns and their priors"]
    assert {name: missing for name, _, missing, *_ in columns} == {"w": "0", "a, b": "2 rows", "u, v, t": "1 row"}
    assert "or a block of columns jointly" in page.text
    assert "There is no picture" not in page.text
    assert "Of 3 columns, the two in which the classes differ most are drawn." in page.text


@pytest.mark.slow
def test_a_page_s_numbers_of_a_block_are_those_of_its_posterior(page: Page, model: nb.NaiveBayes) -> None:
    _, *rows = page.tables["u, v, t, with 89 % intervals"]
    belief = model.posterior_["u", "v", "t"]
    assert [(label, name) for label, name, *_ in rows] == [(c, n) for n in ("u", "v", "t") for c in model.classes_]
    means = [float(mean.split(" ")[0].replace("\u2212", "-")) for _, _, mean, _ in rows]
    assert (np.abs(np.reshape(means, (3, 3)) - belief.location.T) < [[0.006], [0.5], [0.006]]).all()
    unit = np.sqrt(belief.scale[0, [0, 1], [0, 1]])
    _, first, *_ = page.tables["u, v, t, correlations"]
    assert f"u and v: {belief.scale[0, 0, 1] / unit.prod():.2f}" in first[1]
    _, *bars = page.tables["a, b, with 89 % intervals"]
    assert all(len(levels.split("\n")) == 3 for _, levels in bars)


@pytest.mark.slow
def test_pairs_within_a_block_are_no_fault_of_the_model(page: Page) -> None:
    shown = [row[:2] for row in page.tables.get("Pairs that depend on each other within the classes", [])[1:]]
    assert not [pair for pair in shown if set(pair) <= {"u", "v", "t"} or set(pair) <= {"a", "b"}]
    assert "columns of one block, which are modelled jointly" in page.text


@pytest.mark.slow
def test_a_model_of_one_block_takes_nothing_to_be_independent() -> None:
    text = Page(report(nb.NaiveBayes(nb.MultivariateGaussian(shared=True)), X[["u", "v"]], y)).text
    assert "No independence is assumed here" in text
    assert "It models all columns jointly" in text
    assert "numbers, a bell-shaped cloud per class, all of one shape" in text


def test_a_page_tells_columns_of_one_variance_from_those_with_one_for_each_class() -> None:
    both = nb.NaiveBayes({"w": nb.Gaussian(shared=True), "u": nb.Gaussian()})
    _, *rows = Page(section("modelled", gather(both, X[["u", "w"]], y))).tables["Families of columns"]
    assert {tuple(kind.split("\n")): names for kind, *_, names in rows} == {
        ("Gaussian", "numbers, a bell curve per class"): "u",
        ("Gaussian", "numbers, a bell curve per class, all of one width"): "w",
    }


# The rest


def test_criticism_and_decisions_take_blocks_as_they_take_columns(model: nb.NaiveBayes) -> None:
    ranked = nb.compare({"joint": model, "naive": nb.NaiveBayes().fit(X, y)}, X, y)
    assert set(ranked.index) == {"joint", "naive"}
    found = nb.calibration(model, X, y)
    label = model.loo(X, y)
    assert float(found["log_loss"]) == pytest.approx(-float(label.elpd) / len(X), rel=1e-9)
    np.testing.assert_allclose(model.decide(X).expected_loss, 1 - model.predict_proba(X).max(axis=1), rtol=1e-10)


def test_rows_are_drawn_in_the_container_that_was_learnt_from(model: nb.NaiveBayes) -> None:
    rows, labels = model.sample(50, rng=3)
    assert list(rows) == list(X)
    assert set(rows.a) <= {"x", "z"}
    assert set(labels) <= set(y)
    drawn, _ = nb.NaiveBayes(nb.MultivariateGaussian()).fit(X[["w", "t"]].to_numpy(), y).sample(5, rng=0)
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == (5, 2)
