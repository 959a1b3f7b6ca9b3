"""Families that are chosen by the label, and concentrations that are chosen by the evidence."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import (
    BestOf,
    Categorical,
    Dirichlet,
    Gaussian,
    JointTable,
    NaiveBayes,
    Poisson,
)

ROWS = 240
CANDIDATES = (Gaussian(), Poisson(), Categorical())
RNG = np.random.default_rng(20261123)
CODES = RNG.integers(0, 2, ROWS)
Y = np.where(CODES == 1, "yes", "no")
MIDDLE = np.where(CODES == 1, RNG.choice([1, 2], ROWS), RNG.choice([0, 3], ROWS))
X = pd.DataFrame(
    {
        "counts": RNG.poisson(np.where(CODES == 1, 4.0, 1.0)),
        "levels": np.where(RNG.random(ROWS) < 0.2, RNG.integers(0, 4, ROWS), MIDDLE),
        "number": RNG.normal(1.5 * CODES),
        "noise": RNG.integers(0, 4, ROWS),
    }
).astype(float)


def test_a_candidate_has_the_score_of_a_model_of_the_column_alone() -> None:
    model = NaiveBayes(BestOf(*CANDIDATES, margin=0.0)).fit(X, Y)
    for name in ("counts", "levels", "noise"):
        for family in CANDIDATES:
            found = model.choices_["elpd"].sel(feature=name, candidate=type(family).__name__)
            alone = NaiveBayes(family).fit(X[[name]], Y).loo(X[[name]], Y)
            assert found.item() == pytest.approx(alone.elpd, rel=1e-9)
    assert np.isnan(model.choices_["elpd"].sel(feature="number", candidate="Poisson"))
    assert type(model.families_["counts"]) is Poisson
    assert type(model.families_["levels"]) is Categorical
    assert type(model.families_["number"]) is Gaussian
    declared = NaiveBayes(dict(model.families_)).fit(X, Y)
    assert (declared.predict_proba(X) == model.predict_proba(X)).all()


def test_the_first_stays_unless_another_is_better_by_more_than_the_margin() -> None:
    elpd = NaiveBayes(BestOf(*CANDIDATES)).fit(X, Y).choices_["elpd"].sel(feature="levels")
    gain = float(elpd.sel(candidate="Categorical") - elpd.sel(candidate="Gaussian"))
    assert gain > 10
    for margin, expected in ((gain - 1e-6, Categorical), (gain + 1e-6, Gaussian)):
        model = NaiveBayes({"levels": BestOf(*CANDIDATES, margin=margin)}).fit(X[["levels"]], Y)
        assert type(model.families_["levels"]) is expected


def test_a_row_of_weight_two_is_scored_as_two_rows() -> None:
    times = np.random.default_rng(1).integers(0, 3, ROWS)
    holes = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    once = NaiveBayes().fit(holes, Y, times)
    twice = NaiveBayes().fit(holes.loc[np.repeat(X.index, times)], np.repeat(Y, times))
    assert_allclose(once.choices_["elpd"], twice.choices_["elpd"], rtol=1e-9)


def test_where_no_candidate_can_have_the_cells_its_error_is_raised() -> None:
    infinite = X[["number"]].where(np.arange(ROWS)[:, None] != 3, np.inf)
    with pytest.raises(ValueError, match=r"column 'number'.*infinite.*row 3"):
        NaiveBayes(BestOf(Poisson(), Gaussian())).fit(infinite, Y)
    words = pd.DataFrame({"word": np.where(X["noise"] > 1, "a", "b")})
    model = NaiveBayes(BestOf(Gaussian(), Categorical())).fit(words, Y)
    assert type(model.families_["word"]) is Categorical


@pytest.mark.parametrize("rows", [6, 60])
def test_prices_are_not_counts_even_where_a_poisson_tells_the_classes_apart(rows: int) -> None:
    """Six prices once gave a probability of 4e-166."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    prices = pd.DataFrame({"price": (rng.lognormal(7 + 0.8 * y, 0.2) // 10 * 10).astype(int)})
    model = NaiveBayes().fit(prices, y)
    assert not isinstance(model.families_["price"], Poisson)
    assert model.predict_proba(prices).min() > 1e-4


def test_what_was_chosen_by_the_first_batch_stays_and_is_saved(tmp_path: Any) -> None:
    model = NaiveBayes(BestOf(*CANDIDATES)).partial_fit(X, Y, classes=["no", "yes"])
    families = model.families_
    choices = model.choices_
    model.partial_fit(X.assign(levels=X["noise"].to_numpy()), Y)
    assert model.families_ == families
    model.save(tmp_path / "model.bnb")
    assert nb.load(tmp_path / "model.bnb").choices_.identical(choices)


def test_a_pooled_base_is_the_share_of_each_level_whatever_the_class() -> None:
    names = ["levels", "noise"]
    model = NaiveBayes(Categorical(Dirichlet(0.7, base="pooled"))).fit(X[names], Y)
    for name in names:
        share = X[name].value_counts(normalize=True).sort_index().to_numpy()
        assert_allclose(model.prior_[name].concentration, [0.7 * 4 * share] * 2, rtol=1e-12)
    never_seen = Categorical(levels=(0.0, 1.0, 2.0, 3.0, 9.0), prior=Dirichlet(1.0, base="pooled"))
    prior = NaiveBayes(never_seen).fit(X[["levels"]], Y).prior_["levels"].concentration
    assert prior[0, -1] == pytest.approx(5 * 0.5 / (ROWS + 0.5))


@pytest.mark.parametrize("base", ["uniform", "pooled"])
def test_the_concentration_by_evidence_is_the_best_there_is(base: str) -> None:
    names = ["levels", "noise"]
    best = NaiveBayes(Categorical(Dirichlet("evidence", base=base))).fit(X[names], Y)
    most = dict.fromkeys(names, -np.inf)
    least = 2 / 4 if base == "pooled" else 0.0  # a pooled base is worth two rows or more
    for concentration in np.geomspace(max(least, 1e-4), 1e4, 60):
        prior = Dirichlet(concentration, base=base)
        other = NaiveBayes(Categorical(prior)).fit(X[names], Y).log_evidence_by_feature()
        most = {name: max(most[name], other[name]) for name in names}
    found = best.log_evidence_by_feature()
    assert all(found[name] >= most[name] - 1e-6 for name in names)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BestOf(Gaussian(), "poisson"), "two families or more"),
        (lambda: BestOf(Gaussian(), Poisson(), margin=True), "margin"),
        (lambda: NaiveBayes("gausian").fit(X, Y), "did you mean 'gaussian'"),
        (lambda: NaiveBayes("poisson:shared").fit(X, Y), "no family 'poisson:shared'"),
        (lambda: NaiveBayes({"number": 3}).fit(X, Y), "None to drop it, got 3"),
        (lambda: Dirichlet(1.0, base="even"), "'uniform' or 'pooled'"),
        (lambda: Dirichlet("best"), "'evidence'"),
        (lambda: JointTable(Dirichlet(1.0, base="pooled")), "Dirichlet of numbers"),
        (lambda: NaiveBayes(class_prior=Dirichlet("evidence")).fit(X, Y), "class_prior"),
    ],
)
def test_what_no_choice_is_is_an_error(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
