"""Pictures of confusion and doubt show the numbers that they are given, and can be read."""

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from scipy import stats

import bayesnb as nb
from bayesnb.datasets import dogs
from bayesnb.plots import svg
from tests.test_figures import EVIL, LONG, assert_readable


def labelled(classes: int, rows: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Labels with long and hostile names, a fifth of them taken for another."""
    rng = np.random.default_rng(classes)
    names = np.array([EVIL, *(f"{LONG} {k}" if k % 3 == 0 else f"kind {k}" for k in range(1, classes))])
    y = rng.integers(0, classes, rows)
    return names[y], names[np.where(rng.random(rows) < 0.8, y, rng.integers(0, classes, rows))]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 12, 40])
def test_the_texts_of_a_confusion_do_not_overlap(classes: int) -> None:
    assert_readable(nb.plot_confusion(*labelled(classes)).get_figure(root=True))


def test_a_confusion_has_a_share_and_its_interval_in_every_cell_that_has_rows() -> None:
    y, said = np.array(list("aaaabbbbbc")), np.array(list("aaabbbbbba"))
    ax = nb.plot_confusion(y, said, ci_prob=0.8)
    found = {tuple(map(float, text.get_position())): text.get_text() for text in ax.texts}
    low, high = stats.beta(3.5, 1.5).interval(0.8)
    assert found[0.0, 0.0] == f"75 %\n{100 * low:.0f} to {100 * high:.0f}"
    assert found[1.0, 0.0].startswith("25 %\n")
    assert found[1.0, 1.0].endswith(" to 100")
    assert set(found) == {(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 2.0)}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a (4)", "b (5)", "c (1)"]
    shades = [box.get_alpha() for box in ax.patches if isinstance(box, Rectangle)]
    assert shades[4] == max(shades)


def test_the_confusion_of_a_calibration_is_that_of_its_labels() -> None:
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + y[:, None]
    found = nb.calibration(nb.GaussianNB(), X, y)
    best = found["class"].values[found.probability.values.argmax(axis=1)]
    ours, theirs = nb.plot_confusion(found), nb.plot_confusion(y, best, ci_prob=0.89)
    assert [text.get_text() for text in ours.texts] == [text.get_text() for text in theirs.texts]


def test_of_many_classes_the_commonest_mistakes_are_bars() -> None:
    y, said = labelled(30)
    ax = nb.plot_confusion(y, said)
    first = next(iter(ax.patches))
    pairs, counts = np.unique(np.stack([y, said])[:, y != said], axis=1, return_counts=True)
    a = pairs[0, counts.argmax()]
    assert first.get_width() == counts.max() / (y == a).sum()  # type: ignore[attr-defined]
    assert len(ax.patches) == 20
    perfect = nb.plot_confusion(y, y)
    assert perfect.get_xlabel() == "no errors"


def test_what_is_no_confusion_is_an_error_that_says_why() -> None:
    with pytest.raises(ValueError, match="3 labels and 2 predictions"):
        nb.plot_confusion(["a", "b", "b"], ["a", "b"])
    with pytest.raises(ValueError, match="no rows"):
        nb.plot_confusion([], [])
    with pytest.raises(ValueError, match=r"'c' is a label, and not among classes=\['a', 'b'\]"):
        nb.plot_confusion(["a", "b"], ["a", "c"], classes=["a", "b"])
    with pytest.raises(TypeError, match="calibration"):
        nb.plot_confusion(["a", "b"])
    with pytest.raises(ValueError, match="most must be"):
        nb.plot_confusion(["a"], ["a"], most=0)
    with pytest.raises(ValueError, match="ci_prob"):
        nb.plot_confusion(["a"], ["a"], ci_prob=2)


def doubts(rows: int, classes: int = 3) -> Any:
    rng, y = np.random.default_rng(0), np.arange(rows) % classes
    X = rng.normal(size=(rows, 3)) + y[:, None]
    return nb.GaussianNB().fit(X, y).uncertainty(X)


@pytest.mark.slow
@pytest.mark.parametrize("case", [(6, 2), (30, 3), (400, 20)])
def test_the_texts_of_a_doubt_do_not_overlap(case: tuple[int, int]) -> None:
    assert_readable(nb.plot_uncertainty(doubts(*case)).get_figure(root=True))


def steps(ax: Any) -> list[StepPatch]:
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def test_both_parts_of_the_doubt_lie_on_each_other_the_most_doubtful_row_first() -> None:
    found = doubts(30)
    low, high = steps(nb.plot_uncertainty(found))
    order = np.argsort(-found.entropy.values, kind="stable")
    shown = order[found.entropy.values[order] > 0.01 * found.entropy.values.max()]
    np.testing.assert_allclose(low.get_data().values, found.aleatoric.values[shown])
    np.testing.assert_allclose(high.get_data().values, found.entropy.values[shown])
    np.testing.assert_allclose(high.get_data().baseline, found.aleatoric.values[shown])


def test_many_rows_are_bars_of_means() -> None:
    found = doubts(400)
    ax = nb.plot_uncertainty(found, most=25)
    _, high = steps(ax)
    data = high.get_data()
    assert len(data.values) == 25
    rows = int(re.findall(r"[\d,]+", ax.get_xlabel())[0].replace(",", ""))
    assert data.edges[-1] == rows
    entropy = -np.sort(-found.entropy.values)[:rows]
    np.testing.assert_allclose(np.diff(data.edges) @ data.values, entropy.sum())


def test_rows_without_doubt_are_said_to_have_none() -> None:
    X, y = [[0.0], [1.0], [2.0]] * 3, [1] * 9
    ax = nb.plot_uncertainty(nb.GaussianNB().fit(X, y).uncertainty(X))
    assert ax.get_xlabel() == "none of 9 rows is uncertain"


def test_both_pictures_go_onto_pages_and_into_given_axes() -> None:
    table = dogs()
    X, y = table.drop(columns="breed"), table["breed"]
    model = nb.NaiveBayes().fit(X, y)
    for draw, given in ((nb.plot_uncertainty, model.uncertainty(X)), (nb.plot_confusion, nb.calibration(model, X, y))):
        ax = Figure().subplots()
        assert draw(given, ax=ax) is ax
        shown = svg(draw(given), "what it shows")
        assert "currentColor" in shown
        assert "<image" not in shown


def test_paths_on_pages_have_hundredths_of_a_point_and_texts_keep_their_digits() -> None:
    ax = Figure().subplots()
    ax.plot([0.12345, 0.6], [0.3, 0.77777])
    ax.set_title("3.14159265")
    shown = svg(ax, "2.718281828")
    assert not re.search(r'\bd="[^"]*\.\d{3}', shown)
    assert "3.14159265" in shown
    assert "2.718281828" in shown
