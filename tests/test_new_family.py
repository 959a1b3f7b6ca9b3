"""A family of a user's own, waiting.py: one file and one line make it known to everything."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb import (
    Gaussian,
    NaiveBayes,
    compare_smoothing,
    dependence,
    load,
    plot_column,
    plot_nomogram,
    relevance,
    tune,
)
from bayesnb.cli import main
from bayesnb.families import FAMILIES, Poisson, register
from bayesnb.families.base import Belief
from bayesnb.families.capabilities import (
    HasLinearVariance,
    HasMargins,
    HasPairMoment,
    HasWords,
    margins_of,
    strengthened,
    variables_of,
)
from bayesnb.families.family import Family
from bayesnb.report import report
from tests.conftest import CASES
from tests.waiting import HYPERPARAMETERS, Waiting, WaitingBelief

mpl.use("agg")
CORE = ("update", "log_evidence", "log_moment", "cumulants", "sample", "estimate", "mode", "interval", "predictive")
CORE += ("proper",)
Y = np.repeat(["a", "b"], 30)
RNG = np.random.default_rng(20261122)
X = pd.DataFrame(
    {
        "u": RNG.exponential(np.where(Y == "a", 1.0, 4.0)),
        "v": RNG.exponential(2.0, len(Y)),
        "size": RNG.normal(size=len(Y)),
    }
)
X.loc[[3, 40], "u"] = np.nan
FAMILY = {("u", "v"): Waiting(WaitingBelief(2.0, 1.5)), "size": Gaussian()}
MODEL = NaiveBayes(FAMILY).fit(X, Y)


class Silent(WaitingBelief):
    """A belief with the core alone: what is declared besides is taken back."""

    variables = strengthened = None  # type: ignore[assignment]


def evidence(prior: WaitingBelief) -> float:
    return NaiveBayes({("u", "v"): Waiting(prior)}).fit(X[["u", "v"]], Y).log_evidence_


def test_leave_one_out_is_that_of_models_that_are_fitted_without_each_row() -> None:
    model = NaiveBayes({("u", "v"): Waiting(WaitingBelief(2.0, 1.5))}).fit(X[["u", "v"]], Y)
    found = model.loo(X[["u", "v"]], Y).elpd_i.values
    for row in range(0, len(Y), 7):
        rest = np.arange(len(Y)) != row
        refit = NaiveBayes(model.families).fit(X[["u", "v"]][rest], Y[rest])
        own = refit.predict_log_proba(X[["u", "v"]][~rest])[0, int(Y[row] == "b")]
        assert found[row] == pytest.approx(own, rel=1e-11)


def test_intervals_hold_the_draws_of_the_probability() -> None:
    found = MODEL.predict_interval(X[:4], ci_prob=0.8, rows="fixed")
    drawn = MODEL.draw_proba(X[:4], draws=5_000, rng=1)
    lower, upper = (found[name].values for name in ("lower", "upper"))
    inside = ((drawn.values >= lower) & (drawn.values <= upper)).mean(axis=(0, 1))
    assert_allclose(inside, 0.8, atol=5 * np.sqrt(0.16 / 20_000))


@pytest.mark.parametrize("per", ["model", "feature", "class"])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_its_prior_is_tuned_to_the_largest_evidence(per: str) -> None:
    model = NaiveBayes({("u", "v"): Waiting()})
    tuned = tune(model, X[["u", "v"]], Y, per=per, force=True)
    prior = tuned.families[("u", "v")].prior
    best = evidence(prior)
    for shape, rate in ((1.05, 1.0), (1.0, 1.05), (0.95, 1.0), (1.0, 0.95), (1.05, 1.05)):
        assert evidence(WaitingBelief(prior.shape * shape, prior.rate * rate)) <= best + 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_its_prior_is_tuned_to_the_best_leave_one_out_score() -> None:
    tuned = tune(NaiveBayes(FAMILY), X, Y, "loo")
    assert tuned.tuning.elpd_diff["after"] >= 0


def test_a_strength_of_its_prior_is_worth_as_many_times_the_waits() -> None:
    found = compare_smoothing(NaiveBayes(FAMILY), X, Y, (2,), estimates=("predictive",))
    assert any("waiting times" in note for note in found.notes)
    twice = {
        ("u", "v"): Waiting(WaitingBelief(4.0, 3.0)),
        "size": FAMILY["size"].smoothed(MODEL.stats_.blocks[1], 2, ""),
    }
    expected = NaiveBayes(twice).fit(X, Y).loo(X, Y).elpd
    assert found.table["elpd_loo"].to_list() == pytest.approx([expected], rel=1e-10)


def test_relevance_is_the_evidence_of_a_rate_for_each_class_against_one() -> None:
    model = NaiveBayes({"u": Waiting(WaitingBelief(2.0, 1.5))}).fit(X[["u"]], Y)
    one = NaiveBayes({"u": Waiting(WaitingBelief(2.0, 1.5))}).fit(X[["u"]], np.full(len(Y), "a"))
    factor = float(np.ravel(relevance(model)["log_bayes_factor"])[0])

    def cells(fitted: NaiveBayes) -> float:
        return float(np.sum(fitted.model_.prior.blocks[0].log_evidence(fitted.model_.stats.blocks[0])))

    assert factor == pytest.approx(cells(model) - cells(one), rel=1e-10)


def test_dependences_within_classes_know_it() -> None:
    found = dependence(MODEL, X, Y)
    assert list(found["feature"].values) == ["u", "v", "size"]


def test_a_saved_model_comes_back_the_same(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.bnb")
    again = load(tmp_path / "model.bnb")
    np.testing.assert_array_equal(again.predict_proba(X), MODEL.predict_proba(X))
    assert type(again.families[("u", "v")]) is Waiting


@pytest.mark.slow
def test_it_has_a_page(tmp_path: Path) -> None:
    page = Path(report(NaiveBayes(FAMILY), X[::3], Y[::3]).save(tmp_path / "page.html")).read_text()
    assert "Waiting" in page
    assert "waiting times" in page
    assert "as if a few waits had been timed" in page
    assert "Median" in page


def test_its_columns_have_pictures_of_what_can_be() -> None:
    for table in ((), (X, Y)):
        (ax, *_) = [plot_column(MODEL, "u", *table)]
        curves = [line for line in ax.lines if len(line.get_xdata()) > 50]
        assert len(curves) == 2
        for line in curves:
            x, density = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            assert (x >= 0).all()
            assert (density >= 0).all()
    assert plot_nomogram(MODEL) is not None


def test_draws_of_it_are_a_tree() -> None:
    tree = MODEL.to_datatree()
    assert "rate" in tree["posterior"]


def test_the_command_line_knows_its_name_and_its_prior(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    X.assign(label=Y).to_csv(tmp_path / "table.csv", index=False)
    table, model = str(tmp_path / "table.csv"), str(tmp_path / "model.bnb")
    said = ["--family", "u,v=waiting", "--family", "size=gaussian", "--prior", "u,v=WaitingBelief(2, 1.5)"]
    assert main(["fit", table, "--target", "label", *said, "-o", model]) == 0
    assert_allclose(load(model).predict_proba(X), MODEL.predict_proba(X), rtol=1e-12)
    assert "waiting" in "".join(capsys.readouterr())
    assert main(["predict", model, table, "-o", str(tmp_path / "found.csv")]) == 0


@pytest.mark.parametrize("cell", [-0.5, np.inf])
def test_a_cell_that_no_wait_can_be_is_refused_at_fit_and_at_predict(cell: float) -> None:
    table = X.assign(u=np.where(np.arange(len(X)) == 7, cell, X["u"]))
    for ask in (
        lambda: NaiveBayes(FAMILY).fit(table, Y),
        lambda: MODEL.predict_proba(table),
        lambda: MODEL.predict_interval(table),
        lambda: MODEL.loo(table, Y),
    ):
        with pytest.raises(ValueError, match="column 'u': "):
            ask()


def test_capabilities_that_it_does_not_declare_are_refused_in_a_sentence() -> None:
    belief = WaitingBelief([[1.0]], [[1.0]])
    assert sorted(Belief.__abstractmethods__) == sorted(CORE)
    assert not any(hasattr(Belief, name) for name in ("linear_variance", "pair_moment", "variables", "strengthened"))
    assert not isinstance(belief, HasLinearVariance | HasPairMoment | HasWords | HasMargins)
    assert margins_of(belief) is belief
    assert MODEL.model_.posterior.closed
    with pytest.raises(TypeError, match="Silent has no PyMC model"):
        variables_of(Silent([[1.0]], [[1.0]]), None, lambda: {})
    with pytest.raises(TypeError, match="Silent does not say what more or fewer rows' worth of it would be"):
        strengthened(Silent([[1.0]], [[1.0]]), 2.0)
    with pytest.raises(TypeError, match="Half declares hyperparameters"):

        class Half(Family):
            hyperparameters = HYPERPARAMETERS


def test_two_families_of_one_name_are_refused() -> None:
    assert FAMILIES["waiting"] is Waiting
    with pytest.raises(ValueError, match="there is a family 'poisson' already: Poisson"):

        @register
        class Other(Family):
            word = "poisson"

    assert FAMILIES["poisson"] is Poisson
    assert register(Waiting) is Waiting


def test_its_posterior_is_the_textbooks() -> None:
    u = X["u"].to_numpy()[Y == "b"]
    known = u[~np.isnan(u)]
    belief = MODEL.posterior_["u"]
    assert belief.predictive().median()[1] == pytest.approx(
        stats.lomax(2 + len(known), scale=1.5 + known.sum()).median(), rel=1e-12
    )


def test_every_registered_family_is_a_case_of_the_laws() -> None:
    covered = {type(case.stats()) for case in CASES}
    assert {family().stats for family in FAMILIES.values()} <= covered
