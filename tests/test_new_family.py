"""A family of a user's own, waiting.py: one file and one line make it known to everything."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

import bayesnb as nb
from bayesnb import Gaussian, NaiveBayes
from bayesnb.cli import main
from bayesnb.families import register
from bayesnb.families.family import Family
from bayesnb.report import report
from tests.waiting import HYPERPARAMETERS, Waiting, WaitingBelief, WaitingStats

Y = np.repeat(["a", "b"], 30)
RNG = np.random.default_rng(20261122)
PRIOR = WaitingBelief(2.0, 1.5)
TIMES = pd.DataFrame(
    {"u": RNG.exponential(np.where(Y == "a", 1, 4)), "v": RNG.exponential(2.0, 60)}
)
TIMES.loc[[3, 40], "u"] = np.nan
X = TIMES.assign(size=RNG.normal(size=60))
FAMILIES = {("u", "v"): Waiting(PRIOR), "size": Gaussian()}
MODEL = NaiveBayes(FAMILIES).fit(X, Y)


def evidence(prior: WaitingBelief, x: Any = TIMES, y: Any = Y) -> float:
    return NaiveBayes(Waiting(prior)).fit(x, y).log_evidence_by_feature()


def test_it_predicts_in_any_table_and_leaves_rows_out() -> None:
    model = NaiveBayes(Waiting(PRIOR), class_prior="uniform").fit(TIMES.to_numpy(), Y)
    x = np.array([[0.0, 2.0], [np.nan, 0.5]])
    expected = np.full((2, 2), np.log(0.5))
    for c, label in enumerate("ab"):
        known = TIMES[label == Y]
        own = stats.lomax(2 + known.count().to_numpy(), scale=1.5 + known.sum().to_numpy())
        expected[:, c] += np.nansum(own.logpdf(x), axis=1)
    for table in (x, x.astype(np.float32), sparse.csr_array(x), x.tolist()):
        assert_allclose(model.predict_joint_log_proba(table), expected, rtol=1e-11)
    scores = model.loo(TIMES.to_numpy(), Y).elpd_i.values
    model.forget(TIMES[:1].to_numpy(), Y[:1])
    assert_allclose(scores[0], model.predict_log_proba(TIMES[:1].to_numpy())[0, 0], rtol=1e-10)


@pytest.mark.parametrize("per", ["model", "feature", "class"])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_its_prior_is_tuned_to_the_largest_evidence(per: str) -> None:
    tuned = nb.tune(NaiveBayes({("u", "v"): Waiting()}), TIMES, Y, per=per, force=True)
    prior = tuned.families["u", "v"].prior
    best = sum(evidence(prior).values())
    for shape, rate in ((1.05, 1.0), (1.0, 1.05), (0.95, 1.0), (1.0, 0.95), (1.05, 1.05)):
        other = WaitingBelief(prior.shape * shape, prior.rate * rate)
        assert sum(evidence(other).values()) <= best + 1e-6


def test_the_command_line_files_and_draws_know_it(tmp_path: Path) -> None:
    X.assign(label=Y).to_csv(tmp_path / "table.csv", index=False)
    table = str(tmp_path / "table.csv")
    path = str(tmp_path / "model.bnb")
    families = ["--family", "u,v=waiting", "--family", "size=gaussian"]
    prior = ["--prior", "u,v=WaitingBelief(2, 1.5)"]
    assert main(["fit", table, "--target", "label", *families, *prior, "-o", path]) == 0
    assert_allclose(nb.load(path).predict_proba(X), MODEL.predict_proba(X), rtol=1e-12)
    assert "rate" in MODEL.to_datatree(draws=5, chains=1)["posterior"]
    MODEL.save(path)
    assert_array_equal(nb.load(path).predict_proba(X), MODEL.predict_proba(X))


def test_its_pictures_show_what_can_be() -> None:
    lines = nb.plot_column(MODEL, "u", X, Y).lines
    curves = [line for line in lines if len(line.get_xdata()) > 50]
    assert len(curves) == 2
    for line in curves:
        assert np.min(line.get_xdata()) >= 0


@pytest.mark.slow
def test_it_has_a_page() -> None:
    page = str(report(NaiveBayes(FAMILIES), X[::3], Y[::3]))
    assert "waiting times" in page
    assert "as if a few waits had been timed" in page


@pytest.mark.parametrize("cell", [-0.5, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget", "loo", "predict_interval"])
def test_it_is_never_asked_about_a_cell_outside_its_support(method: str, cell: float) -> None:
    model = NaiveBayes(Waiting(PRIOR)).fit(TIMES, Y)
    before = model.predict_proba(TIMES)
    wrong = TIMES.copy()
    wrong.loc[7, "v"] = cell
    rest = () if method == "predict_interval" else (Y,)
    with pytest.raises(ValueError, match=r"column 'v': .*row 7: .*Waiting takes numbers"):
        getattr(model, method)(wrong, *rest)
    assert_array_equal(model.predict_proba(TIMES), before)


def test_a_family_that_is_not_whole_cannot_be_made() -> None:
    class Careless(Family):
        stats = WaitingStats

        def belief(self, stats: Any) -> WaitingBelief:
            return PRIOR

    with pytest.raises(TypeError, match="support"):
        Careless()
    with pytest.raises(TypeError, match="declares hyperparameters"):
        type("Half", (Family,), {"hyperparameters": HYPERPARAMETERS})
    with pytest.raises(ValueError, match="there is a family 'poisson' already"):
        register(type("Other", (Family,), {"word": "poisson"}))
