"""The picture of a boundary shows what `predict` says, and where the posterior leaves it open."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb.plots.boundary_plot import plane_of
from bayesnb.plots.style import svg

IRIS, SPECIES = load_iris(return_X_y=True)
X_AXIS, Y_AXIS = np.linspace(4.0, 8.0, 9), np.linspace(2.0, 4.5, 8)
GRID = np.column_stack([np.tile(X_AXIS, 8), np.repeat(Y_AXIS, 9), np.full((72, 2), np.nan)])  # the others are missing


def iris(classes: int, rows: int = 50, **how: Any) -> nb.NaiveBayes:
    """The last classes, so many rows of each."""
    keep = (3 - classes <= SPECIES) & (np.arange(150) % 50 < rows)
    return nb.NaiveBayes(**how).fit(IRIS[keep], SPECIES[keep])


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"estimate": "mle"},
        {"temper": 0.4, "families": nb.Gaussian(shared=True)},
        {"families": nb.PolyaTree()},
        {"average_features": 0.5},
    ],
    ids=["predictive", "mle", "shared", "trees", "averaged"],
)
def test_the_shade_of_a_place_is_what_predict_says_where_all_else_is_missing(how: dict[str, Any]) -> None:
    model = iris(3, **({"temper": None} | how))
    margins = plane_of(model, None).margins(X_AXIS, Y_AXIS).reshape(72, 3)
    assert (margins.argmax(axis=1) == model.predict(GRID)).all()
    assert ((margins > 0).sum(axis=1) == 1).all()
    joint = model.predict_joint_log_proba(GRID)
    second, first = np.sort(joint, axis=1)[:, 1:].T
    np.testing.assert_allclose(margins.max(axis=1), first - second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("places", [(0, 3), (2, 1)])
def test_any_two_columns_can_be_named(places: tuple[int, int]) -> None:
    model, rows = iris(3), np.full((72, 4), np.nan)
    rows[:, places] = GRID[:, :2]
    margins = plane_of(model, places).margins(X_AXIS, Y_AXIS).reshape(72, 3)
    assert (margins.argmax(axis=1) == model.predict(rows)).all()


def test_new_rows_of_trees_are_numbers_among_those_that_were_learnt() -> None:
    drawn = plane_of(iris(3, families=nb.PolyaTree()), (2, 1)).usual()
    for numbers, column in zip(drawn, (2, 1), strict=True):
        low, high = IRIS[:, column].min(), IRIS[:, column].max()
        assert low <= numbers.min() < numbers.max() <= high
        assert len(np.unique(numbers)) > 5


def test_between_two_classes_the_band_is_where_the_interval_holds_one_half() -> None:
    model = iris(2, temper=None)
    doubt = plane_of(model, None).uncertainty(X_AXIS, Y_AXIS, 0.8, 0).ravel()
    law = model.predict_interval(GRID, ci_prob=0.8, rows="fixed").isel({"class": 0})
    inside = ((law.lower < 0.5) & (law.upper > 0.5)).values
    assert ((doubt > 0) == inside).all()
    assert 5 < inside.sum() < 67


def test_among_three_classes_the_band_is_where_draws_disagree() -> None:
    model, prob = iris(3, rows=8), 0.8
    plane = plane_of(model, None)
    share = plane.agreement(plane.cells(X_AXIS, Y_AXIS), 0)
    drawn = model.draw_proba(GRID, 1000, rng=1).values.reshape(4000, 72, 3).argmax(axis=2)
    twin = np.stack([(drawn == c).mean(axis=0) for c in range(3)]).max(axis=0)
    assert np.abs(share - twin).max() < 5 * np.sqrt(2 * 0.25 / 4000)
    assert ((plane.uncertainty(X_AXIS, Y_AXIS, prob, 0).ravel() > 0) == (share < (1 + prob) / 2)).all()


@pytest.mark.slow
def test_draws_and_the_exact_interval_have_one_band() -> None:
    plane = plane_of(iris(2, rows=20), None)
    exact = plane.uncertainty(X_AXIS, Y_AXIS, 0.8, 0).ravel()
    drawn = 0.9 - plane.agreement(plane.cells(X_AXIS, Y_AXIS), 3)
    clear = np.abs(drawn) > 5 * np.sqrt(0.09 / 4000)
    assert ((exact > 0) == (drawn > 0))[clear].all()
    assert clear.sum() > 5


@pytest.mark.parametrize("classes", [2, 3])
def test_the_band_narrows_with_more_rows(classes: int) -> None:
    rng, areas = np.random.default_rng(0), []
    x = np.linspace(-4.0, 4.0 + classes, 25)
    for rows in (30, 300, 3000):
        y = np.arange(rows) % classes
        model = nb.NaiveBayes(nb.Gaussian(shared=True)).fit(rng.normal(2.0 * y[:, None], 1.0, (rows, 2)), y)
        areas.append((plane_of(model, None).uncertainty(x, x, 0.9, 0) > 0).mean())
    assert areas[0] > 1.5 * areas[1] > 1.5**2 * areas[2] > 0


def test_across_a_boundary_the_band_is_the_interval_of_where_it_is() -> None:
    rng, y = np.random.default_rng(1), np.arange(40) % 2
    model = nb.NaiveBayes(nb.Gaussian(shared=True)).fit(rng.normal(y[:, None] * [2.0, 0.0], 1.0, (40, 2)), y)
    x, height = np.linspace(-1.0, 3.0, 801), 0.25
    inside = x[plane_of(model, None).uncertainty(x, np.array([height]), 0.9, 0)[0] > 0]
    theta = model.model_.posterior.blocks[0].sample(np.random.default_rng(2), 20_000)
    die = np.log(np.asarray(model.class_posterior_.sample(np.random.default_rng(3), 20_000)))
    w = (theta.mean[:, 1] - theta.mean[:, 0]) / theta.variance[:, 0]
    b = die[:, 1] - die[:, 0] - (w * (theta.mean[:, 1] + theta.mean[:, 0])).sum(axis=1) / 2
    crossing = -(b + w[:, 1] * height) / w[:, 0]
    spread = 5 * np.sqrt(0.05 * 0.95 / 20_000)
    for end, level in ((inside[0], 0.05), (inside[-1], 0.95)):
        assert abs((crossing < end).mean() - level) < spread + 0.005  # a step of the grid


@pytest.mark.slow
def test_a_picture_has_its_columns_its_classes_and_its_rows() -> None:
    table = pd.DataFrame(IRIS, columns=list("abcd"))
    model = nb.NaiveBayes().fit(table, np.array(["first", "second", "third"])[SPECIES])
    ax = nb.plot_boundary(model, table, model.classes_[SPECIES], features=["c", "a"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c\nb, d unknown", "a")
    (legend,) = ax.get_figure().legends
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["first", "second", "third", "boundary, 89 % band"]
    drawn = np.concatenate([part.get_offsets() for part in ax.collections if len(part.get_offsets()) == 50])
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(IRIS[:, [2, 0]], axis=0))
    assert svg(ax, "a boundary").startswith("<svg")


def test_a_line_of_a_linear_model_is_where_its_form_is_zero() -> None:
    model = iris(2, families=nb.Gaussian(shared=True), estimate="mean")
    ax = nb.plot_boundary(model, features=[2, 3])
    (line,) = [part for part in ax.collections if part.get_linewidths()[0] == 1.3]
    path = np.concatenate([own.vertices for own in line.get_paths()])
    form = model.linear_form(against=1).sel({"class": 2})
    own = nb.NaiveBayes({2: nb.Gaussian(shared=True), 3: nb.Gaussian(shared=True), 0: None, 1: None}, estimate="mean")
    form = own.fit(IRIS[50:], SPECIES[50:]).linear_form(against=1).sel({"class": 2})
    np.testing.assert_allclose(path @ form.w.values + float(form.b), 0, atol=1e-6 * float(abs(form.b)))
    assert len(path) > 5


def test_counts_and_thresholds_have_axes_too() -> None:
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    x = np.column_stack([rng.poisson(3 + 3 * y), rng.normal(y, 1.0), rng.normal(0, 1, 90)])
    model = nb.NaiveBayes({0: nb.Poisson(), 1: nb.Bernoulli(threshold=0.5), 2: nb.Gaussian()}).fit(x, y)
    plane = plane_of(model, [0, 1])
    rows = np.column_stack([[2.0, 9.0, 2.0, 9.0], [0.4, 0.4, 0.6, 0.6], np.full(4, np.nan)])
    margins = plane.margins(np.array([2.0, 9.0]), np.array([0.4, 0.6])).reshape(4, 3)
    assert (margins.argmax(axis=1) == model.predict(rows)).all()
    assert plane.counts == [True, False]
    assert (plane.margins(np.array([-1.0, 0.0]), np.array([0.4])) == plane.margins(np.zeros(2), np.array([0.4]))).all()
    assert set(plane.usual()[1]) == {-0.5, 1.5}
    assert plane_of(model, None).names == ["0", "2"]  # of numbers; a threshold has to be named


@pytest.mark.slow
def test_many_classes_and_one_class_can_be_drawn() -> None:
    y = np.arange(180) % 9
    x = np.random.default_rng(0).normal(np.column_stack([y % 3, y // 3]) * 4.0, 1.0)
    ax = nb.plot_boundary(nb.NaiveBayes().fit(x, y), x, y)
    assert "other classes" in [text.get_text() for text in ax.get_figure().legends[0].get_texts()]
    one = nb.NaiveBayes(class_prior={0: 1.0, 1: 0.0}, classes=[0, 1]).fit(x, np.zeros(180, int))
    (legend,) = nb.plot_boundary(one, x).get_figure().legends
    assert [text.get_text() for text in legend.get_texts()] == ["0"]


def test_given_axes_are_drawn_in() -> None:
    ax = Figure().subplots()
    assert nb.plot_boundary(iris(2), ax=ax) is ax
    assert not ax.get_figure().legends
    assert ax.get_legend() is not None


def test_what_has_no_plane_says_why() -> None:
    table = pd.DataFrame({"n": [1.0, 2.0, 4.0], "s": ["a", "b", "a"], "f": [True, False, True]})
    model = nb.NaiveBayes().fit(table, [0, 1, 1])
    with pytest.raises(ValueError, match="a plane needs two columns of numbers, and the model has 1: 'n'"):
        nb.plot_boundary(model)
    with pytest.raises(ValueError, match="column 's' has levels"):
        nb.plot_boundary(model, features=["n", "s"])
    with pytest.raises(ValueError, match="column 'f' is yes or no"):
        nb.plot_boundary(model, features=["f", "n"])
    with pytest.raises(ValueError, match="two different columns, got 'ns'"):
        nb.plot_boundary(model, features="ns")
    with pytest.raises(ValueError, match=r"'z' is not a column of this model; it has '.', '.', '.'\."):
        nb.plot_boundary(model, features=["n", "z"])
    words = nb.MultinomialNB().fit([[1, 2], [3, 0]], [0, 1])
    with pytest.raises(ValueError, match="column 0 is one of a block of words"):
        nb.plot_boundary(words, features=[0, 1])
    with pytest.raises(ValueError, match="not fitted"):
        nb.plot_boundary(nb.NaiveBayes())
    with pytest.raises(ValueError, match="y was given without X"):
        nb.plot_boundary(iris(2), y=[1])
    with pytest.raises(ValueError, match="X has 150 rows, and y has 1 labels"):
        nb.plot_boundary(iris(2), IRIS, [1])
