"""What one family has besides the laws: known dice, arrays of priors, edges of the parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
)
from bayesnb.families import KnownDie
from bayesnb.families.categorical import CategoricalStats, ColumnDirichlets
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.families.family import Family
from bayesnb.families.weight import one_hot
from tests.waiting import Waiting, WaitingBelief, WaitingStats

CODES = np.array([0, 2, 1, 2, 2, 0, -1, 2])
PAIR = np.column_stack([CODES, np.minimum(CODES, 1)])
CLASS = np.array([0, 0, 1, 1, 0, 1, 0, 1])


def test_a_column_of_a_block_is_the_die_alone() -> None:
    weight = one_hot(CLASS, 2)
    block = ColumnDirichlets(np.array([[1.0, 2.0, 0.5, 1.0, 1.0], [0.3, 1.0, 1.0, 2.0, 1.0]]), (3, 2))
    seen = CategoricalStats.of(PAIR, weight, (3, 2))
    alone = Dirichlet(block.concentration[:, :3])
    counts = DirichletStats.of(CODES, weight)
    np.testing.assert_array_equal(seen.column(0).counts, counts.counts)
    a, b = block.update(seen).column(0), alone.update(counts)
    np.testing.assert_array_equal(a.concentration, b.concentration)
    x = CODES[:, None]
    for s in (1.0, 0.4, 2j):
        np.testing.assert_allclose(a.log_moment(x, s), block.update(seen).log_moment(PAIR[:, None], s)[..., 0])
    np.testing.assert_allclose(alone.log_evidence(counts), block.log_evidence(seen)[:, 0], rtol=1e-14)
    np.testing.assert_allclose(alone.cumulants(x, 3), block.cumulants(PAIR[:, None], 3)[..., 0])
    np.testing.assert_allclose(counts.mle().probability, [[1 / 3, 0, 2 / 3], [1 / 4, 1 / 4, 2 / 4]])


def test_a_dirichlets_draws_modes_and_intervals_are_those_of_its_betas() -> None:
    die = Dirichlet([2.0, 1.0, 5.0])
    assert die.mode().tolist() == [1 / 5, 0, 4 / 5]
    np.testing.assert_allclose(die.interval(0.9), stats.beta([2, 1, 5], [6, 7, 3]).interval(0.9), rtol=1e-12)
    drawn = die.sample(3, 50_000)
    error = np.sqrt(die.mean() * (1 - die.mean()) / 9 / 50_000)
    assert (np.abs(drawn.probability.mean(axis=0) - die.mean()) < 5 * error).all()
    thrown = np.bincount(drawn.sample(4), minlength=3) / 50_000
    assert (np.abs(thrown - die.mean()) < 5 * np.sqrt(die.mean() / 50_000)).all()


def test_draws_at_a_tiny_concentration_are_distributions() -> None:
    drawn = Dirichlet(np.full(5, 1e-4)).sample(0, 1000).probability
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-12)
    assert (drawn.max(axis=1) > 0.99).mean() > 0.99


def test_a_die_with_one_level_is_certain() -> None:
    die = Dirichlet([3.0])
    assert die.interval(0.9) == (1.0, 1.0)
    assert die.log_predictive(0) == 0


def test_a_known_die_learns_nothing() -> None:
    die = KnownDie([0.2, 0.3, 0.5])
    counts = DirichletStats(np.array([1.0, 2.0, 4.0]))
    assert die.update(counts) is die
    assert die.log_evidence(counts) == pytest.approx(np.log([0.2, 0.3, 0.5]) @ [1, 2, 4], rel=1e-15)
    np.testing.assert_allclose(die.log_moment(np.array([0, 2]), 0.5), np.log([0.2, 0.5]) / 2)
    np.testing.assert_allclose(die.cumulants(np.array([1]), 3), [[np.log(0.3)], [0], [0]])
    np.testing.assert_array_equal(die.sample(0, 4).probability, np.tile([0.2, 0.3, 0.5], (4, 1)))
    np.testing.assert_array_equal(die.interval(0.9)[1], die.mean())
    np.testing.assert_allclose(die.predictive().mean(), [0.2, 0.3, 0.5])
    for estimate in (die.estimate("map"), die.mle(counts)):
        np.testing.assert_array_equal(estimate.probability, die.mode())


def test_the_mode_of_a_flat_belief_is_even_and_of_a_sharp_one_at_the_edge() -> None:
    assert Beta(1, 1).mode() == 0.5
    assert Beta(0.5, 3).mode() == 0
    assert Dirichlet([1.0, 1.0]).mode().tolist() == [0.5, 0.5]
    assert Gamma(0.5, 2.0).mode() == 0
    mode = NormalInverseGamma(1.0, 2.0, 3.0, 9.0).mode()
    assert (mode.mean, mode.variance) == (1.0, 2.0)


def test_the_expected_variance_is_infinite_where_it_is() -> None:
    assert NormalInverseGamma(0.0, 1.0, 1.0, 1.0).mean().variance == np.inf
    assert NormalInverseGamma(0.0, 1.0, 3.0, 4.0).mean().variance == 2


def test_the_parameter_mean_is_an_array_and_what_is_computed_from_it_a_plain_one() -> None:
    belief = NormalInverseGamma([1.0, 2.0], 1.0, 3.0, 4.0)
    assert repr(belief.mean) == "array([1., 2.])"
    assert type(belief.mean * 2) is np.ndarray
    assert (belief.mean * 2).tolist() == [2, 4]


def test_known_class_priors_and_arrays_of_concentrations_reach_their_own_levels() -> None:
    x = np.array([["a", "u"], ["b", "v"], ["a", "v"], ["b", "u"]])
    by_level = NaiveBayes(Categorical(Dirichlet([1.0, 2.0]))).fit(x, [0, 0, 1, 1])
    np.testing.assert_array_equal(by_level.prior_[1].concentration, [[1, 2], [1, 2]])
    by_column = NaiveBayes(Categorical(Dirichlet([[0.5], [3.0]]))).fit(x, [0, 0, 1, 1])
    np.testing.assert_array_equal(by_column.prior_[0].concentration, np.full((2, 2), 0.5))
    np.testing.assert_array_equal(by_column.prior_[1].concentration, np.full((2, 2), 3.0))
    by_class = NaiveBayes(Categorical(Dirichlet([[[1.0]], [[4.0]]]))).fit(x, [0, 0, 1, 1])
    np.testing.assert_array_equal(by_class.prior_[1].concentration, [[1, 1], [4, 4]])
    with pytest.raises(ValueError, match=r"of shape \(3,\) does not fit \(classes, columns, levels\) = \(2, 2, 2\)"):
        NaiveBayes(Categorical(Dirichlet([1.0, 2.0, 3.0]))).fit(x, [0, 0, 1, 1])


def test_priors_may_differ_between_features_and_classes() -> None:
    x = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
    y = [0, 0, 1, 1]
    coins = NaiveBayes(Bernoulli(Beta([1.0, 2.0], [[1.0, 1.0], [5.0, 5.0]]))).fit(x, y)
    np.testing.assert_array_equal(coins.prior_[0].b, [1, 5])
    np.testing.assert_array_equal(coins.posterior_[1].a, [2 + 2, 2 + 0])
    words = NaiveBayes(Multinomial(Dirichlet([[1.0, 2.0], [3.0, 4.0]]))).fit(x, y)
    np.testing.assert_array_equal(words.posterior_[(0, 1)].concentration, [[2, 4], [4, 4]])
    rates = NaiveBayes(Poisson(Gamma([1.0, 2.0], 3.0))).fit(x, y)
    np.testing.assert_array_equal(rates.posterior_[1].shape, [4, 2])


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (
            Gaussian(NormalInverseGamma([0.0, 1.0, 2.0], 1.0, 1.0, 1.0)),
            r"Gaussian: the prior .* \(classes, columns\) = \(2, 2\)",
        ),
        (Bernoulli(Beta([1.0, 2.0, 3.0], 1.0)), r"Bernoulli: the prior"),
        (Poisson(Gamma([1.0, 2.0, 3.0], 1.0)), r"Poisson: the prior"),
        (Multinomial(Dirichlet([1.0, 2.0, 3.0])), r"Multinomial: the prior .* \(classes, 1, levels\) = \(2, 1, 2\)"),
    ],
)
def test_a_prior_of_the_wrong_shape_says_which_axes_it_lacks(family: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NaiveBayes(family).fit([[0, 1], [1, 1], [1, 0], [0, 0]], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(-1, 1), "Beta: a must be finite and at least 0, got -1"),
        (lambda: Gamma(1, np.nan), "Gamma: rate must be finite"),
        (lambda: Dirichlet([1, np.inf]), "Dirichlet: concentration must be finite"),
        (lambda: NormalInverseGamma(np.nan, 1, 1, 1), "NormalInverseGamma: mean must be finite and from .*, got nan"),
        (lambda: NormalInverseGamma(0, -1, 1, 1), "NormalInverseGamma: count must be finite and at least 0"),
        (lambda: NormalInverseGamma(0, 1, -1, 1), "shape must be finite and at least -0.5"),
        (lambda: Categorical(unseen="drop"), "unseen must be 'ignore', 'error' or 'reserve'"),
        (lambda: Categorical(levels=["a", "b", "a"]), "levels has one twice"),
    ],
)
def test_an_impossible_parameter_is_refused_where_it_is_said(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_draws_of_one_parameter_are_arrays_to_numpy() -> None:
    assert np.mean(Beta(2, 3).sample(0, 20_000)) == pytest.approx(0.4, abs=5 * 0.2 / 20_000**0.5)
    assert np.asarray(Dirichlet([1.0, 2.0]).sample(0, 7)).shape == (7, 2)
    assert np.median(Gamma(4.0, 2.0).sample(0, 20_000)) == pytest.approx(stats.gamma(4, scale=0.5).median(), abs=0.05)
    with pytest.raises(TypeError, match="GaussianDensity has several parameters"):
        np.asarray(NormalInverseGamma(0.0, 1.0, 2.0, 1.0).sample(0, 5))


PRIORS = Beta(1, 1), Dirichlet(1.0), Gamma(1, 1), NormalInverseGamma(0, 1, 1, 1), NormalInverseWishart([0], 1, 1, 1)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (Bernoulli, Beta),
        (Categorical, Dirichlet),
        (Gaussian, NormalInverseGamma),
        (JointTable, Dirichlet),
        (Multinomial, Dirichlet),
        (MultivariateGaussian, NormalInverseWishart),
        (Poisson, Gamma),
    ],
)
def test_a_prior_of_another_family_is_refused_where_it_is_said(family: Any, kind: Any) -> None:
    (own,) = (prior for prior in PRIORS if isinstance(prior, kind))
    assert family(own).prior is own
    for other in (*(prior for prior in PRIORS if prior is not own), "flat"):
        with pytest.raises(TypeError, match=rf"^{family.__name__}: the prior must be {kind.__name__}\(\.\.\.\)"):
            family(other)


@pytest.mark.parametrize("family", [Categorical, JointTable])
def test_levels_of_their_own_for_several_columns_are_refused_in_words(family: Any) -> None:
    with pytest.raises(ValueError, match="levels is one list of levels, the same for all columns"):
        family(levels=[["x", "y"], [0, 1]])


@pytest.mark.parametrize("shape", [(3, 1), (2, 3, 1), (1, 2, 3)])
def test_an_array_over_other_columns_than_there_are_is_refused(shape: tuple[int, ...]) -> None:
    model = NaiveBayes(Categorical(Dirichlet(np.ones(shape))))
    with pytest.raises(ValueError, match=r"does not fit \(classes, columns, levels\) = \(2, 2, 2\)"):
        model.fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])


TIMES, TURN = np.array([[0.2, 5.0], [0.1, 7.0], [3.0, 1.0], [4.0, np.nan]]), ["a", "a", "b", "b"]
ASKS: list[Callable[[Any, Any], Any]] = [
    lambda model, x: model.predict_proba(x),
    lambda model, x: model.predict(x),
    lambda model, x: model.predict_joint_log_proba(x),
    lambda model, x: model.log_density(x),
    lambda model, x: model.explain(x),
    lambda model, x: model.predict_interval(x),
    lambda model, x: model.draw_proba(x, draws=2),
    lambda model, x: model.decide(x),
    lambda model, x: model.fit(x, TURN),
    lambda model, x: model.partial_fit(x, TURN),
    lambda model, x: model.forget(x, TURN),
    lambda model, x: model.loo(x, TURN),
]


@pytest.mark.parametrize("cell", [-1.0, -np.inf, np.inf])
@pytest.mark.parametrize("ask", ASKS)
def test_a_family_of_ones_own_is_never_asked_about_a_cell_outside_its_support(ask: Callable, cell: float) -> None:
    model = NaiveBayes(Waiting()).fit(TIMES, TURN)
    wrong = TIMES.copy()
    wrong[2, 1] = cell
    what = "infinite" if np.isinf(cell) else "below 0"
    with pytest.raises(ValueError, match=f"column 1: a number is {what}.*row 2: {cell}.*Waiting takes numbers"):
        ask(model, wrong)
    assert model.stats_.blocks[0].count.tolist() == [[2, 2], [2, 1]]


def test_a_family_of_ones_own_predicts_cells_within_its_support_in_any_table() -> None:
    prior = WaitingBelief(2.0, 0.5)
    model = NaiveBayes(Waiting(prior)).fit(TIMES, TURN)
    posterior = stats.lomax([[4, 4], [4, 3]], scale=[[0.8, 12.5], [7.5, 1.5]])
    x = np.array([[0.0, 2.0], [np.nan, 0.5]])
    each = posterior.logpdf(x[:, None])
    expected = np.log(0.5) + np.where(np.isnan(x[:, None]), 0.0, each).sum(axis=2)
    for table in (x, x.astype(np.float32), sparse.csr_array(x), x.tolist()):
        assert_allclose(model.predict_joint_log_proba(table), expected, rtol=1e-12)
    named = NaiveBayes({("u", "v"): Waiting(prior)}).fit(pd.DataFrame(TIMES, columns=["u", "v"]), TURN)
    frame = pd.DataFrame({"u": [1, 2], "v": [3, -4]})
    with pytest.raises(ValueError, match=r"column 'v': .*row 1: -4.*families=\{'v': Gaussian\(\)\}"):
        named.predict(frame)
    assert_allclose(named.predict_proba(frame[:1]), model.predict_proba([[1.0, 3.0]]), rtol=1e-12)


def test_a_family_that_does_not_say_its_support_cannot_be_made() -> None:
    class Careless(Family):
        cells, stats = "real", WaitingStats

        def belief(self, stats: Any) -> WaitingBelief:
            return WaitingBelief(1.0, 1.0)

    with pytest.raises(TypeError, match="support"):
        Careless()


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (Gaussian(), "numbers"),
        (MultivariateGaussian(), "numbers"),
        (Poisson(), "whole numbers of at least 0"),
        (Poisson(fractional=True), "numbers of at least 0"),
        (Multinomial(), "whole numbers of at least 0"),
        (Bernoulli(), "0 and 1"),
        (Bernoulli(threshold=2.0), "numbers"),
        (Categorical(), "levels"),
        (JointTable(), "levels"),
        (Waiting(), "numbers of at least 0"),
    ],
)
def test_every_family_says_what_its_cells_must_be(family: Family, sentence: str) -> None:
    assert str(family.support) == sentence


@pytest.mark.parametrize(
    "belief",
    [Beta(3, 1), Gamma(3, 1), NormalInverseGamma(0, 1, 1, 1), Dirichlet([1.0, 2.0, 3.0])],
    ids=lambda belief: type(belief).__name__,
)
def test_a_list_of_cells_is_read_as_an_array_is(belief: Any) -> None:
    cells = [1.0, 0.0]
    for answer in (belief.log_predictive, lambda x: belief.log_moment(x, 2), lambda x: belief.cumulants(x, 2)):
        np.testing.assert_array_equal(answer(cells), answer(np.array(cells)))


@pytest.mark.parametrize(
    "belief",
    [Beta([[2.0]], [[3.0]]), Gamma([[2.0]], [[3.0]]), NormalInverseGamma([[0.5]], [[1.0]], [[2.0]], [[3.0]])],
    ids=lambda belief: type(belief).__name__,
)
def test_intervals_of_a_parameter_are_of_a_probability_and_of_1_all_that_it_can_be(belief: Any) -> None:
    lower, upper = belief.interval(1.0)
    ends = zip(lower, upper, strict=True) if isinstance(lower, tuple) else [(lower, upper)]  # of mean and variance
    wanted = {"Beta": [(0, 1)], "Gamma": [(0, np.inf)], "NormalInverseGamma": [(-np.inf, np.inf), (0, np.inf)]}
    assert [(np.asarray(a).item(), np.asarray(b).item()) for a, b in ends] == wanted[type(belief).__name__]
    for prob in (90, -0.5, np.nan):
        with pytest.raises(ValueError, match="prob is a probability, from 0 to 1"):
            belief.interval(prob)
