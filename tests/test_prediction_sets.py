"""Sets of labels: p-values against refits, coverage on public tables, empty sets, the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crepes import ConformalClassifier
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from bayesnb import (
    Bernoulli,
    Categorical,
    Gaussian,
    Histogram,
    MultinomialNB,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
    load,
    prediction_sets,
)
from bayesnb.cli import main
from bayesnb.datasets import penguins

Array = np.ndarray
WISHART = np.zeros(3), 1.0, 5.0, np.eye(3)  # mean, count, degrees of freedom, scale
FAMILIES = {
    "gaussian": Gaussian(NormalInverseGamma(mean=0.0, count=1.0, shape=2.0, scale=2.0)),
    "histogram": Histogram(cuts=[-1.0, 0.0, 1.0]),
    "poisson": Poisson(),
    "categorical": Categorical(),
    "bernoulli": Bernoulli(threshold=0.0),
    "multivariate": {(0, 1, 2): MultivariateGaussian(NormalInverseWishart(*WISHART))},
}


def three_classes(rng: np.random.Generator, rows: int, shift: float = 1.5) -> tuple[Array, Array]:
    """Return three columns of numbers whose means depend on the class, and labels."""
    y = rng.integers(0, 3, rows)
    return rng.normal(size=(rows, 3)) + shift * np.eye(3)[y], np.array(["a", "b", "c"])[y]


def cells_of(name: str, x: Array) -> Any:
    """Return numbers as cells of a family."""
    if name == "poisson":
        return np.floor(np.exp(x))
    return np.sign(x).astype(int).astype(str) if name == "categorical" else x


def refit_scores(model: Any, x: Array, y: Array, target: str, weight: Any = 1.0) -> Array:
    """Score every row and its label by a model that is fitted to all other rows."""
    scores = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        again = model.fit(x[others], y[others], sample_weight=(weight * np.ones(len(y)))[others])
        row = x[[i]]
        method = again.predict_log_proba if target == "label" else again.predict_joint_log_proba
        scores.append(method(row)[0, again.classes_.tolist().index(y[i])])
    return np.array(scores)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_p_values_are_those_of_refits(name: str, target: str, class_conditional: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = three_classes(rng, 30)
    x = cells_of(name, x)
    new = cells_of(name, three_classes(rng, 8)[0])
    model = NaiveBayes(FAMILIES[name], class_prior={"a": 0.3, "b": 0.3, "c": 0.4})
    found = prediction_sets(model, x, y, class_conditional, target=target).predict(new)
    scores = refit_scores(model, x, y, target)
    model.fit(x, y)
    method = model.predict_log_proba if target == "label" else model.predict_joint_log_proba
    answers = method(new)
    for c, label in enumerate(model.classes_):
        group = y == label if class_conditional else np.ones(len(y), bool)
        worse = scores[group][:, None] <= answers[:, c] + 1e-12
        expected = (1 + worse.sum(axis=0)) / (1 + group.sum())
        np.testing.assert_allclose(found["p_value"].sel({"class": label}), expected, atol=1e-12)
    np.testing.assert_array_equal(found["member"], found["p_value"] > 0.1)


def test_the_set_is_said_in_words() -> None:
    x, y = three_classes(np.random.default_rng(1), 60)
    found = prediction_sets(NaiveBayes("gaussian"), x, y).predict(x[:20], coverage=0.95)
    for words, members in zip(found["set"].values, found["member"].values, strict=True):
        assert words == "|".join(np.array(["a", "b", "c"])[members])
    frame = found.to_frame()
    assert list(frame) == ["set", "p_value_a", "p_value_b", "p_value_c"]
    assert "contain the label of 95 %" in repr(found)


def test_a_larger_coverage_only_adds_labels() -> None:
    x, y = three_classes(np.random.default_rng(2), 90)
    sets = prediction_sets(NaiveBayes("gaussian"), x, y)
    before = sets.predict(x, coverage=0.5)["member"]
    for coverage in (0.8, 0.9, 0.99, 0.999):
        after = sets.predict(x, coverage=coverage)["member"]
        assert bool((after | ~before).all())
        before = after
    assert bool(after.all())  # no p-value of 90 rows is below 1/91


def test_a_weight_counts_as_so_many_rows() -> None:
    rng = np.random.default_rng(3)
    x, y = three_classes(rng, 40)
    weight = rng.integers(0, 3, 40)
    model = NaiveBayes(Categorical(), temper=None)
    x = cells_of("categorical", x)
    found = prediction_sets(model, x, y, sample_weight=weight).predict(x)
    scores = refit_scores(model, x, y, "label", weight)
    answers = model.fit(x, y, sample_weight=weight).predict_log_proba(x)
    worse = scores[:, None, None] <= answers + 1e-12
    expected = (1 + (worse * weight[:, None, None]).sum(axis=0)) / (1 + weight.sum())
    np.testing.assert_allclose(found["p_value"], expected, atol=1e-12)


@pytest.mark.parametrize("class_conditional", [False, True])
def test_coverage_is_nominal_where_the_model_is_wrong(class_conditional: bool) -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 4_000)
    once = rng.normal(size=(4_000, 1)) + y[:, None]
    x = np.repeat(once, 8, axis=1)  # probabilities of plain naive Bayes are far too large
    x[y == 1] *= 1.5
    learnt, new = slice(0, 1_000), slice(1_000, None)
    sets = prediction_sets(NaiveBayes("gaussian"), x[learnt], y[learnt], class_conditional)
    for coverage in (0.5, 0.8, 0.9):
        member = sets.predict(x[new], coverage=coverage)["member"].values
        right = member[np.arange(3_000), y[new]]
        groups = [y[new] == 0, y[new] == 1] if class_conditional else [np.ones(3_000, bool)]
        for group in groups:
            learnt_rows = 500 if class_conditional else 1_000
            share = coverage * (1 - coverage)
            se = np.sqrt(share / group.sum() + share / learnt_rows)
            assert abs(right[group].mean() - coverage) < 3 * se


def test_rows_of_no_class_have_empty_sets() -> None:
    x, y = three_classes(np.random.default_rng(5), 300, shift=4.0)
    sets = prediction_sets(NaiveBayes("gaussian"), x, y, target="joint")
    elsewhere = np.array([[40.0, 40.0, 40.0], [-30.0, 0.0, 0.0]])
    assert sets.predict(elsewhere, coverage=0.99)["set"].values.tolist() == ["", ""]
    assert (sets.predict(x, coverage=0.99)["set"] == "").mean() < 0.02
    # the label's probability alone does not see it: one class is always the likeliest
    alone = prediction_sets(NaiveBayes("gaussian"), x, y).predict(elsewhere, coverage=0.99)
    assert (alone["set"] != "").any()


def test_an_impossible_row_fits_no_class() -> None:
    x = [["a", "u"], ["b", "v"], ["a", "u"], ["b", "v"]] * 5
    y = ["one", "two"] * 10
    sets = prediction_sets(NaiveBayes("categorical", estimate="mle", class_prior="uniform"), x, y)
    assert sets.predict([["a", "v"]])["set"].values.tolist() == [""]


def test_texts_and_missing_cells_have_sets() -> None:
    rng = np.random.default_rng(6)
    counts = rng.poisson(rng.gamma(1.0, 1.0, (2, 12))[rng.integers(0, 2, 80)])
    y = rng.integers(0, 2, 80)
    assert prediction_sets(MultinomialNB(), counts, y).predict(counts).sizes == {
        "obs_id": 80,
        "class": 2,
    }
    x, y = three_classes(rng, 60)
    x[rng.random(x.shape) < 0.3] = np.nan
    assert not prediction_sets(NaiveBayes(), x, y).predict(x)["p_value"].isnull().any()


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, "0.9", None, np.nan])
def test_a_coverage_that_is_none_is_refused(coverage: Any) -> None:
    x, y = three_classes(np.random.default_rng(7), 20)
    sets = prediction_sets(NaiveBayes("gaussian"), x, y)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        sets.predict(x, coverage=coverage)


def test_rows_that_were_not_learnt_are_refused() -> None:
    x, y = three_classes(np.random.default_rng(8), 20)
    model = NaiveBayes("gaussian").fit(x, y)
    with pytest.raises(ValueError, match="not among those"):
        prediction_sets(model, x + 1, y)


@pytest.mark.parametrize("class_conditional", [False, True])
def test_p_values_are_those_of_another_library(class_conditional: bool) -> None:
    x, y = load_wine(return_X_y=True)
    model = NaiveBayes("gaussian", temper="loo").fit(x[::2], y[::2])
    found = prediction_sets(model, x[::2], y[::2], class_conditional).predict(x[1::2])
    held_out = model.loo_proba(x[::2], y[::2]).values
    strangeness = 1 - held_out[np.arange(len(held_out)), y[::2]]
    new = 1 - model.predict_proba(x[1::2])
    if not class_conditional:
        expected = ConformalClassifier().fit(strangeness).predict_p(new, smoothing=False)
        np.testing.assert_allclose(found["p_value"], expected, atol=1e-12)
        return
    theirs = ConformalClassifier().fit(strangeness, bins=y[::2])
    for c in range(3):
        bins = np.full(len(new), c)
        expected = theirs.predict_p(new, bins=bins, smoothing=False)[:, c]
        np.testing.assert_allclose(found["p_value"][:, c], expected, atol=1e-12)


def test_sets_are_smaller_than_those_by_rows_that_were_set_aside() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    ours, theirs = [], []
    for seed in range(8):
        a, b, y_a, y_b = train_test_split(x, y, stratify=y, random_state=seed, train_size=200)
        model = NaiveBayes("gaussian", temper="loo")
        members = prediction_sets(model, a, y_a).predict(b, coverage=0.95)["member"].values
        ours.append((members[np.arange(len(b)), y_b].mean(), members.sum(axis=1).mean()))
        learnt, aside, y_learnt, y_aside = train_test_split(
            a, y_a, test_size=0.3, random_state=seed
        )
        strangeness = 1 - model.fit(learnt, y_learnt).predict_proba(aside)
        split = ConformalClassifier().fit(strangeness[np.arange(len(aside)), y_aside])
        new = 1 - model.predict_proba(b)
        members = split.predict_set(new, confidence=0.95, smoothing=False)
        theirs.append((members[np.arange(len(b)), y_b].mean(), members.sum(axis=1).mean()))
    (coverage, size), (_, their_size) = np.mean(ours, axis=0), np.mean(theirs, axis=0)
    assert abs(coverage - 0.95) < 3 * np.std(ours, axis=0, ddof=1)[0] / np.sqrt(8) + 0.005
    assert size < their_size


TABLES = {
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("class_conditional", [False, True])
def test_coverage_of_the_default_on_real_tables(name: str, class_conditional: bool) -> None:
    x, y = TABLES[name]
    shares: dict[float, list[float]] = {0.8: [], 0.9: []}
    for seed in range(8):
        a, b, y_a, y_b = train_test_split(x, y, stratify=y, random_state=seed, test_size=0.5)
        sets = prediction_sets(NaiveBayes(), a, y_a, class_conditional)
        for coverage, found in shares.items():
            member = sets.predict(b, coverage=coverage)["member"].values
            found.append(member[np.arange(len(b)), y_b].mean())
    for coverage, found in shares.items():
        se = np.std(found, ddof=1) / np.sqrt(len(found))
        assert coverage - 4 * se - 0.01 < np.mean(found)


def test_predict_writes_sets(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table = penguins().drop(columns="year")
    learnt = str(tmp_path / "penguins.csv")
    table.to_csv(learnt, index=False)
    model = str(tmp_path / "model.bnb")
    assert main(["fit", learnt, "--target", "species", "-o", model, "--quiet"]) == 0
    out = str(tmp_path / "out.csv")
    assert main(["predict", model, learnt, "--sets", "0.95", "--learnt", learnt, "-o", out]) == 0
    written = pd.read_csv(out, keep_default_na=False)
    columns = table.drop(columns="species")
    sets = prediction_sets(load(model), columns, table["species"]).predict(columns, coverage=0.95)
    assert written["set"].tolist() == sets["set"].values.tolist()
    np.testing.assert_allclose(written["p_value_Gentoo"], sets["p_value"].sel({"class": "Gentoo"}))
    capsys.readouterr()
    assert main(["predict", model, learnt, "--sets", "0.95"]) == 2
    assert "--sets and --learnt must be given together" in capsys.readouterr().err
    assert main(["predict", model, learnt, "--sets", "95", "--learnt", learnt]) == 2
    assert "95" in capsys.readouterr().err
