"""Pictures of columns and words show the model's numbers, and can be read."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import bayesnb as nb
from tests.test_figures import EVIL, LONG, assert_readable, birds, words


def many(classes: int) -> tuple[nb.NaiveBayes, pd.DataFrame, np.ndarray]:
    rng, y = np.random.default_rng(0), np.arange(240) % classes
    X = pd.DataFrame(
        {
            EVIL: rng.normal(y, 1),
            LONG: np.array([f"{LONG} {k}" for k in range(30)])[rng.integers(0, 30, 240)],
            "visits": rng.poisson(3 + y),
            "flag": rng.random(240) < 0.3,
            "cut": rng.random(240),
            "far": np.where(np.arange(240) == 7, 1e9, rng.normal(size=240)),
            "nothing": np.nan,
            "constant": 2.0,
        }
    )
    families = {"visits": nb.Poisson(), "cut": nb.Bernoulli(threshold=0.5)}
    return nb.NaiveBayes(families).fit(X, [f"{LONG} {c}" for c in y]), X, np.array([f"{LONG} {c}" for c in y])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 20])
def test_the_texts_of_a_columns_picture_do_not_overlap(classes: int) -> None:
    model, X, y = many(classes)
    for column in X:
        assert_readable(nb.plot_column(model, column, X, y).get_figure(root=True))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 20])
def test_the_texts_of_a_picture_of_words_do_not_overlap(classes: int) -> None:
    rng, y = np.random.default_rng(0), np.arange(120) % classes
    theta = rng.dirichlet(np.full(400, 0.1), classes)
    names = tuple(f"{LONG} {j}" if j % 5 == 0 else f"word{j}" for j in range(400))
    X = pd.DataFrame([rng.multinomial(80, theta[c]) for c in y], columns=names)
    model = nb.NaiveBayes({names: nb.Multinomial()}).fit(X, [f"{LONG} {c}" for c in y])
    assert_readable(np.ravel(nb.plot_words(model))[0].get_figure(root=True))
    assert len(np.ravel(nb.plot_words(model))) == min(classes, 8)


def test_curves_are_the_predictive_densities() -> None:
    model, _X = birds()
    ax = nb.plot_column(model, "body_mass_g")
    curves = [line for line in ax.lines if len(line.get_xdata()) > 50]
    assert len(curves) == 3
    belief = model.posterior_["body_mass_g"]
    for c, line in enumerate(curves):
        own = belief[c]
        scale = np.sqrt(own.scale / own.shape * (1 + 1 / own.count))
        expected = stats.t(2 * own.shape, own.location, scale).pdf(line.get_xdata())
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-9)


def test_bars_are_posterior_means_and_lines_their_intervals() -> None:
    model, _ = birds()
    ax = nb.plot_column(model, "island", ci_prob=0.5)
    belief = model.posterior_["island"]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, belief.mean().ravel())
    ends = np.array([path[:, 0] for lines in ax.collections for path in lines.get_segments()])
    np.testing.assert_allclose(ends.T, [end.ravel() for end in belief.interval(0.5)])


def test_bars_of_counts_are_predictive_probabilities() -> None:
    model, _X, _y = many(2)
    ax = nb.plot_column(model, "visits")
    own = model.posterior_["visits"]
    values = np.arange(len(ax.patches) // 2)
    expected = own[:, None].predictive().pmf(values)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], expected.ravel(), atol=1e-12)


def test_rows_far_out_do_not_flatten_the_picture_and_are_counted() -> None:
    model, X, y = many(2)
    ax = nb.plot_column(model, "far", X, y)
    assert "further out: 1 row" in ax.get_xlabel()
    assert ax.get_xlim()[1] < 100


def test_a_words_picture_is_its_share_in_each_class() -> None:
    model, _X = words()
    ax = nb.plot_column(model, "word7")
    concentration = next(iter(model.posterior_.values())).concentration
    expected = concentration[:, 7] / concentration.sum(axis=1)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected)


def test_words_are_drawn_in_the_order_of_the_lower_ends() -> None:
    model, _ = words()
    for ax in nb.plot_words(model, most=6):
        lines = [path[:, 0] for own in ax.collections if hasattr(own, "get_segments") for path in own.get_segments()]
        lower = [line[0] for line in lines]
        assert len(lower) == 6
        assert lower == sorted(lower, reverse=True)


def test_pictures_are_drawn_in_given_axes() -> None:
    model, _X = birds()
    ax = Figure().subplots()
    assert nb.plot_column(model, "island", ax=ax) is ax
    assert ax.get_legend() is not None
    mail, _ = words()
    ax = Figure().subplots()
    assert nb.plot_words(mail, [0], ax=ax) is ax


@pytest.mark.slow
def test_an_averaged_model_shows_what_a_class_expects_if_the_column_matters() -> None:
    table, plain = birds()[1], birds()[0]
    y = plain.predict(table)
    one, other = (nb.NaiveBayes(average_features=p).fit(table, y) for p in (None, 0.5))
    drawn = [nb.plot_column(model, "body_mass_g").lines[-1].get_ydata() for model in (one, other)]
    np.testing.assert_allclose(*drawn)


def test_what_has_no_picture_is_an_error_that_says_what_to_do() -> None:
    model, X = birds()
    mail, _ = words()
    bad: list[tuple[Any, str]] = [
        (lambda: nb.plot_column(model, "beak"), "'beak' is not a column of this model; it has 'island'"),
        (lambda: nb.plot_column(nb.GaussianNB(), 0), "not fitted"),
        (lambda: nb.plot_column(model, "island", X), "give X and y together"),
        (lambda: nb.plot_column(model, "island", X, ["Adelie"]), "344 rows, and y has 1 labels"),
        (lambda: nb.plot_column(mail, tuple(f"word{j}" for j in range(300))), r"plot_words\(model\) draws it"),
        (lambda: nb.plot_words(model), "no block of counts"),
        (lambda: nb.plot_words(mail, [7]), "classes must be some of"),
        (lambda: nb.plot_words(mail, ax=Figure().subplots()), "3 panels do not fit"),
        (lambda: nb.plot_words(mail, most=0), "most must be"),
    ]
    for call, message in bad:
        with pytest.raises(ValueError, match=message):
            call()
