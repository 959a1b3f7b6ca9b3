"""Families by name, and families that are chosen by the label: against models of each column alone, and by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb import (
    BestOf,
    Categorical,
    Dirichlet,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    Poisson,
)
from bayesnb.data.declaration import resolved
from bayesnb.families import FAMILIES
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.selection import column_scores
from tests.conftest import Array, CategoricalStats

ROWS = 240
CANDIDATES = (Gaussian(), Poisson(), Categorical())


def table(seed: int = 20261123, rows: int = ROWS) -> tuple[pd.DataFrame, Array]:
    """Counts that follow the label, levels 0 to 3 of which the middle ones are one class's, numbers, and noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    levels = np.where(y == 1, rng.choice([1, 2], rows), rng.choice([0, 3], rows))
    columns = {
        "counts": rng.poisson(np.where(y == 1, 4.0, 1.0)),
        "levels": np.where(rng.random(rows) < 0.2, rng.integers(0, 4, rows), levels),
        "number": rng.normal(1.5 * y),
        "noise": rng.integers(0, 4, rows),
    }
    return pd.DataFrame(columns).astype(float), np.where(y == 1, "yes", "no")


def test_a_score_is_that_of_a_model_of_the_column_alone() -> None:
    X, y = table()
    model = NaiveBayes(BestOf(*CANDIDATES)).fit(X, y)
    for name in X:
        for family in CANDIDATES:
            found = model.choices_["elpd"].sel(feature=name, candidate=type(family).__name__).item()
            if name == "number" and not isinstance(family, Gaussian):
                assert np.isnan(found) == isinstance(family, Poisson)
                continue
            assert found == pytest.approx(NaiveBayes(family).fit(X[[name]], y).loo(X[[name]], y).elpd, rel=1e-9)


def test_a_row_of_weight_two_is_scored_as_two_rows() -> None:
    X, y = table()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    once = NaiveBayes().fit(X, y, times)
    twice = NaiveBayes().fit(X.loc[np.repeat(X.index, times)], np.repeat(y, times))
    assert "PolyaTree" in once.choices_.candidate
    np.testing.assert_allclose(once.choices_["elpd"], twice.choices_["elpd"], rtol=1e-9)


def test_the_first_stays_unless_another_is_better_by_more_than_the_margin() -> None:
    X, y = table()
    elpd = NaiveBayes(BestOf(*CANDIDATES)).fit(X, y).choices_["elpd"].sel(feature="levels")
    gain = float(elpd.sel(candidate="Categorical") - elpd.sel(candidate="Gaussian"))
    assert gain > 10
    for margin, expected in ((gain - 1e-6, Categorical), (gain + 1e-6, Gaussian), (0.0, Categorical), (1e6, Gaussian)):
        model = NaiveBayes({"levels": BestOf(*CANDIDATES, margin=margin)}).fit(X[["levels"]], y)
        assert type(model.families_["levels"]) is expected
        assert model.choices_["chosen"].item() == expected.__name__


def test_columns_get_the_family_that_made_them_and_predict_as_if_it_had_been_declared() -> None:
    X, y = table()
    model = NaiveBayes(BestOf(*CANDIDATES, margin=0.0)).fit(X, y)
    assert [type(family) for family in model.families_.values()][:2] == [Poisson, Categorical]
    declared = NaiveBayes(dict(model.families_)).fit(X, y)
    assert (declared.predict_proba(X) == model.predict_proba(X)).all()
    assert declared.choices_.sizes == {"feature": 0, "candidate": 0}


def test_a_candidate_that_cannot_have_the_cells_is_passed_over_and_where_none_can_its_error_is_raised() -> None:
    X, y = table()
    model = NaiveBayes(BestOf(Poisson(), Gaussian())).fit(X[["number"]], y)
    assert type(model.families_["number"]) is Gaussian
    assert np.isnan(model.choices_["elpd"].sel(candidate="Poisson")).all()
    with pytest.raises(ValueError, match=r"column 'number'.*infinite.*row 3"):
        NaiveBayes(BestOf(Poisson(), Gaussian())).fit(X[["number"]].where(np.arange(ROWS)[:, None] != 3, np.inf), y)
    words = pd.DataFrame({"word": np.where(X["noise"] > 1, "a", "b")})
    assert type(NaiveBayes(BestOf(Gaussian(), Categorical())).fit(words, y).families_["word"]) is Categorical


@pytest.mark.parametrize("rows", [6, 60])
def test_prices_are_not_counts_even_where_a_poisson_tells_the_classes_apart(rows: int) -> None:
    """Six prices once gave a probability of 4e-166."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    X = pd.DataFrame({"price": (rng.lognormal(7 + 0.8 * y, 0.2) // 10 * 10).astype(int)})
    model = NaiveBayes().fit(X, y)
    assert not isinstance(model.families_["price"], Poisson)
    assert np.isnan(model.choices_["elpd"].sel(candidate="Poisson(fractional=True)")).all()
    assert model.predict_proba(X).min() > 1e-4
    events = pd.DataFrame({"events": rng.poisson(np.where(y == 1, 4.0, 1.0))})
    assert np.isfinite(NaiveBayes().fit(events, y).choices_["elpd"]).all()
    assert isinstance(NaiveBayes({"price": "poisson"}).fit(X, y).families_["price"], Poisson)


def test_a_block_is_decided_as_a_whole() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, ROWS)
    u = rng.normal(size=ROWS)
    X = pd.DataFrame({"u": u, "v": np.where(y == 1, u, -u) + 0.1 * rng.normal(size=ROWS), "w": u})
    best = BestOf(Gaussian(), MultivariateGaussian())
    model = NaiveBayes({("u", "v"): best, "w": "gaussian"}).fit(X, y)
    assert type(model.families_["u", "v"]) is MultivariateGaussian
    alone = NaiveBayes({("u", "v"): MultivariateGaussian()}).fit(X[["u", "v"]], y)
    score = alone.loo(X[["u", "v"]], y).elpd
    assert model.choices_["elpd"].sel(candidate="MultivariateGaussian").item() == pytest.approx(score, rel=1e-9)


def test_a_weight_counts_rows() -> None:
    X, y = table(rows=80)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    one = NaiveBayes(BestOf(*CANDIDATES)).fit(X, y, weight)
    other = NaiveBayes(BestOf(*CANDIDATES)).fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight))
    assert np.allclose(one.choices_["elpd"], other.choices_["elpd"], rtol=1e-9, equal_nan=True)
    assert (one.choices_["chosen"] == other.choices_["chosen"]).all()


@pytest.mark.slow
def test_of_many_rows_some_of_every_class_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(rows=4_000)
    y = np.where(np.arange(len(y)) % 100 == 0, "rare", y)
    every = NaiveBayes(BestOf(*CANDIDATES)).fit(X, y).choices_["elpd"]
    monkeypatch.setattr(column_scores, "MOST_ROWS", 1_000)
    monkeypatch.setattr(column_scores, "PART", 1_000)
    part = NaiveBayes(BestOf(*CANDIDATES)).fit(X, y).choices_["elpd"]
    assert not part.equals(every)
    assert np.allclose(part, every, rtol=0.1, equal_nan=True)


def test_what_was_chosen_stays_and_is_saved(tmp_path: Any) -> None:
    X, y = table()
    noise = X.assign(levels=X["noise"].to_numpy(), counts=X["number"])
    model = NaiveBayes(BestOf(*CANDIDATES)).partial_fit(X, y, classes=["no", "yes"])
    families, choices = model.families_, model.choices_
    model.partial_fit(noise.assign(counts=X["counts"]), y)
    assert model.families_ == families
    assert model.choices_.identical(choices)
    model.save(tmp_path / "model.bnb")
    again = nb.load(tmp_path / "model.bnb")
    assert again.choices_.identical(choices)
    assert repr(again.families) == repr(model.families)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("families", [(), (Gaussian(),), (Gaussian(), "poisson"), (Gaussian, Poisson)])
def test_a_choice_needs_two_families(families: Any) -> None:
    with pytest.raises(TypeError, match="two families or more"):
        BestOf(*families)


@pytest.mark.parametrize("margin", [-1, np.inf, "2", True])
def test_a_margin_is_a_number_of_nats(margin: Any) -> None:
    with pytest.raises(ValueError, match="margin"):
        BestOf(Gaussian(), Poisson(), margin=margin)


def test_a_family_may_be_named() -> None:
    X, y = table()
    for families, expected in (("gaussian", Gaussian()), ("gaussian:shared", Gaussian(shared=True))):
        named, declared = NaiveBayes(families).fit(X, y), NaiveBayes(expected).fit(X, y)
        assert repr(named.families_) == repr(declared.families_)
        assert (named.predict_proba(X) == declared.predict_proba(X)).all()
    model = NaiveBayes({"levels": "categorical", "noise": "drop", ("number", "counts"): "multivariate"}).fit(X, y)
    assert {key: type(family).word for key, family in model.families_.items()} == {
        ("number", "counts"): "multivariate",
        "levels": "categorical",
    }
    assert all(repr(resolved(word)) == repr(family()) for word, family in FAMILIES.items())


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("gausian", "did you mean 'gaussian'"),
        ({"number": "zzz"}, "there are 'categorical'"),
        ("poisson:shared", "no family 'poisson:shared'"),
        ({"number": 3}, "its name, or None to drop it, got 3"),
    ],
)
def test_a_name_that_is_none_is_an_error_that_lists_them(families: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        NaiveBayes(families).fit(*table())


def level_stats(y: Array, *columns: Array) -> CategoricalStats:
    counts = [np.stack([np.bincount(x[y == c], minlength=x.max() + 1) for c in range(y.max() + 1)]) for x in columns]
    return CategoricalStats(np.concatenate(counts, axis=1), tuple(each.shape[1] for each in counts))


def test_a_pooled_base_is_the_share_of_each_level_whatever_the_class() -> None:
    X, y = table()
    names = ["levels", "noise"]
    model = NaiveBayes(Categorical(Dirichlet(0.7, base="pooled"))).fit(X[names], y)
    for name in names:
        share = X[name].value_counts(normalize=True).sort_index().to_numpy()
        assert np.allclose(model.prior_[name].concentration, 0.7 * 4 * share, rtol=1e-12)
    declared = Categorical(levels=(0.0, 1.0, 2.0, 3.0, 9.0), prior=Dirichlet(1.0, base="pooled"))
    prior = NaiveBayes(declared).fit(X[["levels"]], y).prior_["levels"].concentration
    assert (prior > 0).all()
    assert prior[0, -1] == pytest.approx(5 * 0.5 / (ROWS + 0.5))
    even = NaiveBayes(Categorical(Dirichlet(2.0, base="uniform"))).fit(X[names], y)
    assert (even.prior_["noise"].concentration == 2.0).all()


@pytest.mark.parametrize("base", ["uniform", "pooled"])
def test_the_concentration_by_evidence_is_the_best_there_is(base: str) -> None:
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 500)
    stats = level_stats(y, (y + rng.integers(0, 4, 500)) % 5, rng.integers(0, 7, 500), np.minimum(y, 1))
    best = Categorical(Dirichlet("evidence", base=base)).belief(stats)
    assert isinstance(best, ColumnDirichlets)
    unit = Categorical(Dirichlet(1.0, base=base)).belief(stats)
    grid = np.geomspace(1e-6, 1e6, 400)
    least = np.repeat([2 / size if base == "pooled" else 0.0 for size in unit.sizes], unit.sizes)  # worth two rows
    beliefs = (type(unit)(np.maximum(c, least) * unit.concentration, unit.sizes) for c in grid)
    others = [belief.log_evidence(stats).sum(axis=0) for belief in beliefs]
    assert (best.log_evidence(stats).sum(axis=0) >= np.max(others, axis=0) - 1e-6).all()
    assert np.allclose(np.ptp(np.log(best.concentration / unit.concentration)[:, :5], axis=1), 0, atol=1e-9)


@pytest.mark.slow
def test_words_take_a_pooled_base_too_and_rows_leave_under_the_same_prior() -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 60)
    X = rng.poisson(np.where(y[:, None] == 1, 1.0, 0.4) * rng.gamma(0.5, 1, 30))
    model = NaiveBayes(Multinomial(Dirichlet("evidence", base="pooled"))).fit(X, y)
    (prior,) = model.prior_.values()
    shares = prior.concentration[0] / prior.concentration[0].sum()
    assert np.allclose(shares[X.sum(axis=0) > 0], (X.sum(axis=0) / X.sum())[X.sum(axis=0) > 0], rtol=0.1)
    fixed = NaiveBayes(Multinomial(Dirichlet(prior.concentration)))
    left = [
        fixed.fit(np.delete(X, i, 0), np.delete(y, i)).predict_log_proba(X[[i]])[0, y[i]] for i in range(len(y))
    ]  # fmt: skip
    assert np.allclose(model.loo(X, y).elpd_i, left, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dirichlet(1.0, base="even"), "'uniform' or 'pooled'"),
        (lambda: Dirichlet("best"), "'evidence'"),
        (lambda: Dirichlet(-1.0, base="pooled"), "at least 0"),
        (lambda: JointTable(Dirichlet(1.0, base="pooled")), "Dirichlet of numbers"),
        (lambda: NaiveBayes(class_prior=Dirichlet("evidence")).fit(*table()), "class_prior"),
    ],
)
def test_what_cannot_be_left_to_the_data_is_an_error(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_the_log_of_fit_says_what_was_read_as_what(caplog: pytest.LogCaptureFixture) -> None:
    X, y = table()
    with caplog.at_level("INFO", "bayesnb"):
        NaiveBayes({"levels": "categorical", "number": "gaussian:shared", "noise": None, "counts": "poisson"}).fit(X, y)
    (record,) = caplog.records
    assert "poisson: counts; categorical: levels; gaussian:shared: number" in record.getMessage()
    assert "families={column: name}" in record.getMessage()
