"""The scores on the page are those of refits without each row, and their intervals are honest."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import bayesnb as nb
from bayesnb.datasets import dogs, penguins
from bayesnb.report import Facts, gather, section
from bayesnb.report.facts.held_out import ScoreLine, share_of
from bayesnb.report.facts.left_out_rows import uncertainties
from bayesnb.report.sections.performance import counted, joined
from bayesnb.selection.probability_scores import mean_interval, skewness
from tests.parsed import Page

SECTIONS = ("headline", "scores", "reliability", "confusion", "uncertainty", "rows")


def overlapping(rows: int = 60, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = np.arange(rows) % classes
    return rng.normal(y[:, None] * 0.8, 1.0, (rows, 2)), y


def refitted(model: nb.NaiveBayes, X: Any, y: np.ndarray) -> np.ndarray:
    """p(y | x) of each row by a fit of all other rows."""
    every = np.arange(len(y))
    return np.array([model.fit(X[every != i], y[every != i]).predict_proba(X[[i]])[0] for i in every])


PRIOR = nb.NormalInverseGamma(0.5, 0.1, 2.0, 1.0)


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
@pytest.mark.parametrize("temper", [None, 0.6])
def test_held_out_scores_are_those_of_refits_by_the_models_own_estimate(estimate: str, temper: float | None) -> None:
    X, y = overlapping(30)
    said = {"estimate": estimate, "temper": temper, "class_prior": "empirical"}
    facts = gather(nb.NaiveBayes(nb.Gaussian(PRIOR), **said), X, y)
    p = refitted(nb.NaiveBayes(nb.Gaussian(PRIOR), **said), X, y)
    held = facts.held_out.held
    assert held is not None
    own = p[np.arange(30), y]
    np.testing.assert_allclose(held.log_loss.value, -np.log(own).mean(), rtol=1e-10)
    np.testing.assert_allclose(held.brier.value, ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(), rtol=1e-10)
    assert held.accuracy.value == (p.argmax(axis=1) == y).mean()


def test_an_average_over_columns_is_held_out_as_loo_holds_it_out() -> None:
    X, y = overlapping(40)
    model = nb.NaiveBayes(average_features=0.5).fit(X, y)
    held = gather(model, X, y).held_out.held
    assert held is not None
    np.testing.assert_allclose(-held.log_loss.value * 40, model.loo(X, y).elpd, rtol=1e-10)


def test_the_page_shows_the_scores_of_calibration_and_of_temper_loo() -> None:
    X, y = overlapping()
    X = np.hstack([X, X])  # what two columns say alike is counted twice
    facts = gather(nb.GaussianNB(), X, y)
    shown = {name: rest for name, *rest in Page(section("scores", facts)).tables["Scores, with 89 % intervals"]}
    plain, mended = (nb.calibration(nb.GaussianNB(temper=temper), X, y) for temper in (None, "loo"))
    assert shown["Held out, one row at a time"][1].startswith(f"{float(plain.log_loss):.3f} (")
    tempered = next(rest for name, rest in shown.items() if "temper='loo'" in name)
    assert tempered[1].startswith(f"{float(mended.log_loss):.3f} (")
    assert float(mended.log_loss) < float(plain.log_loss)


def test_a_model_that_has_a_temper_is_not_offered_one() -> None:
    X, y = overlapping()
    for temper in (0.5, "loo"):
        assert gather(nb.GaussianNB(temper=temper), X, y).held_out.tempered is None


def test_the_best_constant_guess_knows_the_shares_of_the_classes() -> None:
    X, y = split(penguins(), "species")
    line = gather(nb.NaiveBayes(), X, y).held_out.constant
    share = y.value_counts(normalize=True)
    np.testing.assert_allclose(line.log_loss.value, stats.entropy(share))
    np.testing.assert_allclose(line.brier.value, 1 - (share**2).sum())
    assert line.accuracy.value == share.max()


def split(table: pd.DataFrame, label: str) -> tuple[pd.DataFrame, pd.Series]:
    return table.drop(columns=label), table[label]


def test_the_interval_of_an_accuracy_is_that_of_a_beta_posterior() -> None:
    found = share_of(40, 3)
    np.testing.assert_allclose(found[1:], stats.beta(40.5, 3.5).interval(0.89))
    assert share_of(5, 0).upper == 1.0
    assert share_of(0, 5).lower == 0.0


def test_the_interval_of_a_mean_is_students_where_nothing_is_skewed() -> None:
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) + 10
    expected = stats.t(4, 10, stats.sem(x)).interval(0.89)
    np.testing.assert_allclose(mean_interval(x, 0.89), (10, *expected), rtol=1e-12)


def test_the_ends_of_a_skewed_means_interval_are_quantiles_of_halls_statistic() -> None:
    x = np.random.default_rng(0).exponential(size=25)
    found, skew, n = mean_interval(x, 0.8), skewness(x), 25
    np.testing.assert_allclose(skew, stats.skew(x))
    for end, quantile in ((found.lower, 0.9), (found.upper, 0.1)):
        w = (x.mean() - end) / x.std(ddof=1)
        g = w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n)
        np.testing.assert_allclose(np.sqrt(n) * g, stats.t(n - 1).ppf(quantile), rtol=1e-10)


def test_the_interval_of_a_mean_loss_misses_rarely_and_to_both_sides() -> None:
    rng, runs = np.random.default_rng(0), 2000
    every = rng.exponential(size=(runs, 20))
    ends = np.array([mean_interval(x, 0.89)[1:] for x in every])
    above, below = (ends[:, 1] < 1).mean(), (ends[:, 0] > 1).mean()
    se = np.sqrt(0.055 * 0.945 / runs)
    normal = every.mean(axis=1) + stats.norm.ppf(0.945) * stats.sem(every, axis=1)
    assert above < 0.055 + 8 * se  # 0.07; normal intervals miss 0.12
    assert (normal < 1).mean() > above + 8 * se
    assert below < 0.055 + 4 * se


def test_losses_that_leave_no_interval_have_none() -> None:
    assert mean_interval(np.array([0.1, np.inf]), 0.89) == (np.inf, np.inf, np.inf)
    assert mean_interval(np.array([0.25]), 0.89, 2.0) == (0.25, 0.0, 2.0)
    assert mean_interval(np.full(9, 0.3), 0.89) == pytest.approx((0.3, 0.3, 0.3))


def test_a_test_table_is_scored_also_where_a_row_of_it_is_impossible() -> None:
    X, y = np.array([["x"], ["y"], ["x"], ["z"]] * 5, object), np.array(list("aabb") * 5)
    new = np.array([["x"], ["y"], ["y"], ["z"]], object)
    facts = gather(nb.NaiveBayes(nb.Categorical(0.0)), X, y, (new, np.array(list("aaba"))))
    line = facts.held_out.tested
    assert line is not None
    assert (line.rows, line.impossible, line.unanswered) == (4, 2, 0)
    assert line.log_loss.value == np.inf
    assert "Test table, 4 rows" in Page(section("scores", facts)).text


def test_a_smoothing_of_zero_is_said_and_counts_as_wrong() -> None:
    X = np.array([["x"], ["y"], ["x"], ["z"]], object)
    facts = gather(nb.NaiveBayes({0: nb.Categorical(0.0)}), X, list("aabb"))
    held = facts.held_out.held
    assert held is not None
    assert held.unanswered == 2  # y and z occur once
    assert held.accuracy.value == 0.0
    assert "2 rows would have no prediction" in Page(section("scores", facts)).text
    for name in SECTIONS:
        assert "nan" not in Page(section(name, facts)).text.lower()


def improper(rows: int) -> Facts:
    X, y = overlapping(40, 2)
    keep = np.flatnonzero((y == 0) | (np.arange(40) < 2 * rows))
    return gather(nb.GaussianNB(prior=nb.NormalInverseGamma(0, 0, -0.5, 0)), X[keep], y[keep])


def test_rows_that_leave_no_distribution_are_said_and_left_out_of_the_scores() -> None:
    facts = improper(2)
    held = facts.held_out.held
    assert held is not None
    assert held.rows == 20
    assert "2 rows cannot be held out" in Page(section("scores", facts)).text
    for name in SECTIONS:
        assert "nan" not in Page(section(name, facts)).text.lower()


@pytest.mark.slow
def test_an_improper_prior_that_the_rows_settle_has_a_page() -> None:
    assert improper(20).held_out.defined.all()
    for name in SECTIONS:
        assert "cannot be held out" not in Page(section(name, improper(20))).text


ODD: dict[str, tuple] = {
    "one class": (nb.GaussianNB(), [[1.0], [2.0], [4.0]], [1, 1, 1]),
    "a class without rows": (nb.NaiveBayes(classes=["a", "b", "c"]), [[1.0], [2.0], [3.0]], ["a", "a", "b"]),
    "one row": (nb.NaiveBayes(), [[1.0]], ["a"]),
    "averages": (nb.NaiveBayes(average_features=0.5), *overlapping(20)),
    "uniform classes": (nb.NaiveBayes(class_prior="uniform", temper="loo"), *overlapping(20)),
    "the mode at the edge": (
        nb.NaiveBayes(nb.Categorical(0.5), estimate="map"),
        np.array([["x"], ["y"], ["x"], ["z"], ["q"]], object),
        list("aabba"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD.values(), ids=ODD)
def test_odd_models_have_every_section(case: tuple) -> None:
    facts = gather(*case)
    for name in SECTIONS:
        seen = Page(section(name, facts))
        assert not seen.open
        assert "nan" not in seen.text.lower()


@pytest.mark.slow
def test_probabilities_that_are_true_can_be_trusted_and_doubled_ones_cannot() -> None:
    X, y = overlapping(900)
    said = Page(section("reliability", gather(nb.GaussianNB(), X, y))).text
    assert "can be trusted" in said
    doubled = np.hstack([X] * 3)
    said = Page(section("reliability", gather(nb.GaussianNB(), doubled, y))).text
    assert "overconfident" in said
    assert "With temper='loo', which raises the evidence of the columns to the power" in said
    found = nb.calibration(nb.GaussianNB(), doubled, y, ci_prob=0.89)
    assert f"is {100 * float(found.ece):.1f} percentage points" in said
    assert f"interval: {100 * float(found.ece_lower):.1f} to {100 * float(found.ece_upper):.1f}" in said
    modest = Page(section("reliability", gather(nb.GaussianNB(temper=0.2), X, y))).text
    assert "underconfident" in modest


@pytest.mark.slow
def test_the_bins_are_those_of_calibration() -> None:
    X, y = overlapping(200)
    (_, *rows) = next(iter(Page(section("reliability", gather(nb.GaussianNB(), X, y))).tables.values()))
    found = nb.calibration(nb.GaussianNB(), X, y, ci_prob=0.89)
    assert [float(said.removesuffix(" %")) for said, *_ in rows] == pytest.approx(
        100 * found.top_predicted.values[::-1], abs=0.051
    )
    assert [int(count) for *_, count in rows] == found.top_count.values[::-1].tolist()


def test_who_is_taken_for_whom_is_counted_and_has_intervals() -> None:
    X, y = overlapping(90)
    facts = gather(nb.GaussianNB(), X, y)
    p = refitted(nb.NaiveBayes(nb.Gaussian(first_prior(facts))), X, y).argmax(axis=1)
    seen = Page(section("confusion", facts)).tables
    _, *rows = seen["Predicted and observed labels, held out"]
    for c, (_, *cells, right) in enumerate(rows):
        assert [int(cell) for cell in cells] == [int(((y == c) & (p == k)).sum()) for k in range(3)]
        hits = int(cells[c])
        low, high = stats.beta(hits + 0.5, 30 - hits + 0.5).interval(0.89)
        assert right == f"{100 * hits / 30:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
    _, *mistakes = seen["The most frequent mistakes, held out"]
    assert [int(n) for *_, n, _ in mistakes] == sorted((int(n) for *_, n, _ in mistakes), reverse=True)
    assert sum(int(n) for *_, n, _ in mistakes) == (p != y).sum()


def first_prior(facts: Facts) -> nb.NormalInverseGamma:
    """The prior that all rows made, which stays when one of them goes."""
    own = facts.model.model_.prior.blocks[0][0]
    return nb.NormalInverseGamma(own.location, own.count, own.shape, own.scale)


@pytest.mark.slow
def test_many_classes_have_a_list_in_place_of_a_square() -> None:
    X, y = overlapping(200, 20)
    seen = Page(section("confusion", gather(nb.GaussianNB(), X, y))).tables
    assert len(seen["Recall of each class, held out"]) == 21
    assert "Predicted and observed labels, held out" not in seen
    assert len(seen["The most frequent mistakes, held out"]) == 21


def test_rows_without_an_answer_are_taken_for_nobody() -> None:
    log_proba = np.log(np.array([[0.9, 0.1], [0.2, 0.8]]))
    log_proba = np.vstack([log_proba, [-np.inf, -np.inf]])
    assert counted(log_proba, np.array([0, 0, 0])).tolist() == [[1, 1], [0, 0]]
    line = ScoreLine.of("", log_proba, np.array([0, 0, 0]))
    assert (line.impossible, line.unanswered) == (1, 1)
    assert line.accuracy.value == 1 / 3


def test_the_uncertainty_is_that_of_models_of_all_other_rows() -> None:
    X, y = overlapping(24)
    facts = gather(nb.NaiveBayes(nb.Gaussian(PRIOR)), X, y)
    every, parts = np.arange(24), []
    for i in every:
        other = nb.NaiveBayes(nb.Gaussian(PRIOR)).fit(X[every != i], y[every != i])
        parts.append(other.uncertainty(X[[i]])[["entropy", "aleatoric", "epistemic"]].to_array().values[:, 0])
    found = uncertainties(facts)
    np.testing.assert_allclose(found[["entropy", "aleatoric", "epistemic"]].to_array().values.T, parts, atol=1e-9)
    _, shown, _ = Page(section("uncertainty", facts)).tables["Mean uncertainty about the label, in nats"]
    means = np.mean(parts, axis=0)
    assert [float(cell) for cell in shown[1:4]] == pytest.approx(means, rel=5e-3)
    assert shown[4] == f"{100 * means[2] / means[0]:.0f} %"


@pytest.mark.slow
def test_it_is_ignorance_where_rows_are_few_and_the_data_where_they_are_many() -> None:
    X, y = overlapping(1500)
    assert "The classes overlap:" in Page(section("uncertainty", gather(nb.GaussianNB(), X, y))).text
    few = np.random.default_rng(0).normal(size=(9, 30)) + np.arange(9)[:, None] % 3
    assert "has seen too few rows" in Page(section("uncertainty", gather(nb.GaussianNB(), few, np.arange(9) % 3))).text


@pytest.mark.slow
def test_of_many_rows_some_are_held_out_evenly_and_that_is_said() -> None:
    X, y = overlapping(1300, 2)
    X = np.hstack([X] * 6)
    facts = gather(nb.GaussianNB(), X, y)
    rows = uncertainties(facts)["obs_id"].values
    assert len(rows) == 235
    assert (rows[0], rows[-1]) == (0, 1299)
    assert set(np.diff(rows)) == {5, 6}
    assert "Computed for 235 of 1,300 rows, evenly spaced" in Page(section("uncertainty", facts)).text


def test_where_one_row_does_not_matter_the_rows_are_those_that_were_learnt() -> None:
    X, y = overlapping(2500, 2)
    model = nb.GaussianNB().fit(X, y)
    found = uncertainties(gather(model, X, y))
    assert not found.attrs["held_out"]
    rows = found["obs_id"].values
    assert (len(rows), rows[0], rows[-1]) == (1456, 0, 2499)  # what two seconds allow
    np.testing.assert_allclose(found.epistemic.values[:5], model.uncertainty(X[rows[:5]]).epistemic, rtol=1e-9)


@pytest.mark.slow
def test_what_takes_too_long_is_left_out_and_that_is_said() -> None:
    rng = np.random.default_rng(0)
    X, y = sparse.csr_array(rng.random((25, 2000)) < 0.001), np.arange(25) % 20
    facts = gather(nb.BernoulliNB(), X.astype(float), y)
    assert "Left out: with 20 classes" in Page(section("uncertainty", facts)).text
    said = Page(section("rows", facts))
    assert "Intervals are left out" in said.text
    assert all(len(rows) > 1 for rows in said.tables.values())


@pytest.mark.slow
def test_a_model_that_understates_its_uncertainty_is_named() -> None:
    X, y = overlapping(300)
    assert (
        "understates its uncertainty"
        in Page(section("uncertainty", gather(nb.GaussianNB(), np.hstack([X] * 10), y))).text
    )
    assert "understates its uncertainty" not in Page(section("uncertainty", gather(nb.GaussianNB(), X, y))).text


def test_the_headline_has_the_intervals_of_the_scores() -> None:
    X, y = split(dogs(), "breed")
    facts = gather(nb.NaiveBayes(), X, y)
    held = facts.held_out.held
    assert held is not None
    said = Page(section("headline", facts)).text
    assert f"89 % interval: {100 * held.accuracy.lower:.1f} to {100 * held.accuracy.upper:.1f}" in said
    assert f"{held.log_loss.value:.3f}" in said
    assert f"89 % interval: {held.log_loss.lower:.3f} to {held.log_loss.upper:.3f}" in said


def test_bins_that_read_the_same_are_one_with_the_rows_and_the_hits_of_all() -> None:
    bins = np.array([[0.7, 0.5, 10], [0.99991, 1.0, 10], [0.99996, 0.9, 30], [0.5, 0.0, 0]])
    (low, *first), (high, *last) = joined(bins)
    assert (low, *first) == (0.7, 5, 10)
    assert high == pytest.approx((0.99991 * 10 + 0.99996 * 30) / 40)
    assert last == pytest.approx([37, 40])


@pytest.mark.slow
def test_few_rows_are_no_proof_for_nor_against_their_probabilities() -> None:
    table = dogs()
    few = Page(section("reliability", gather(nb.NaiveBayes(), table.drop(columns="breed"), table["breed"]))).text
    assert "they may still be off by" in few
    assert "can be trusted" not in few
    rng = np.random.default_rng(0)
    six = Page(section("reliability", gather(nb.GaussianNB(), rng.normal(size=(6, 1)), np.arange(6) % 2))).text
    assert "probabilities are not well calibrated:" not in six


@pytest.mark.parametrize(("seed", "word"), [(18, "harmful"), (0, "do not visibly help")])
def test_columns_that_do_not_help_are_harmful_only_beyond_chance(seed: int, word: str) -> None:
    X, y = np.random.default_rng(seed).normal(size=(60, 2)), np.arange(60) % 2
    facts = gather(nb.GaussianNB(), X, y)
    observed, held = facts.held_out.observed, facts.held_out.held
    assert observed is not None
    assert held is not None
    assert held.log_loss.lower > np.log(2)  # beyond chance, were it not compared row by row with the shares
    assert observed.is_harmful == (word == "harmful")
    assert word in section("scores", facts)


def test_a_perfect_model_has_no_interval_of_nothing() -> None:
    X, y = np.repeat([[0.0], [100.0]], 40, axis=0) + np.random.default_rng(0).normal(size=(80, 1)), np.arange(80) // 40
    facts = gather(nb.GaussianNB(), X, y)
    assert "100.0 to 100.0" not in section("headline", facts) + section("rows", facts)
    assert "0.000 to 0.000" not in section("headline", facts)
    assert "0.000 (0.000 to 0.000)" not in section("scores", facts)
    assert "hardly any uncertainty about any row" in section("rows", facts)
