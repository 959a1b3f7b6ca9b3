"""The contract of beliefs: what every conjugate family promises, for all cases of conftest."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from bayesnb.families.base import Belief, Stats
from tests.conftest import CASES, CLASSES, Array, Case, names, one_hot, same

HALF = slice(0, 17)
REST = slice(17, None)
WITH_ROWS = slice(0, CLASSES - 1)  # the last class has none
DRAWS = 100_000
OF_SINGLE_CELLS = [case for case in CASES if not case.whole]
ROWS_SEEN = [0, 1, 3, 7, 12]  # two of them lack a cell


def stats_of_row(case: Case, row: int, label: int, weight: float = 1.0) -> Stats:
    return case.of(case.x[[row]], one_hot(np.array([label]), CLASSES, np.array([weight])))


# Statistics


def test_statistics_of_two_tables_add_up_and_can_be_taken_back(case: Case) -> None:
    one = case.stats(HALF)
    two = case.stats(REST)
    same(one + two, case.stats(), atol=1e-9)
    same(one + two - two, one, rtol=1e-9, atol=1e-6)


def test_scaled_statistics_are_those_of_scaled_weights_and_of_repeated_rows(case: Case) -> None:
    same(3 * case.stats(), case.stats(weight=3.0), atol=1e-9)
    codes = case.codes
    x = case.x
    twice = case.of(np.concatenate([x, x]), one_hot(np.concatenate([codes, codes]), CLASSES))
    same(case.of(x, one_hot(codes, CLASSES, np.full(len(x), 2.0))), twice, atol=1e-9)


def test_soft_labels_share_a_row_between_classes(case: Case) -> None:
    share = np.linspace(0.1, 0.9, len(case.x))
    zero = np.zeros(len(share))
    soft = case.of(case.x, sparse.csc_array(np.column_stack([share, 1 - share, zero])))
    first = case.of(case.x, one_hot(np.full(len(share), 0), CLASSES, share))
    second = case.of(case.x, one_hot(np.full(len(share), 1), CLASSES, 1 - share))
    same(soft, first + second, rtol=1e-11, atol=1e-9)


def test_the_likelihood_of_the_statistics_is_that_of_the_rows(case: Case) -> None:
    density = case.posterior.sample(np.random.default_rng(3))
    each = density.log_density(case.spread()).sum(axis=-1) * case.weight[:, None]
    by_class = [each[case.codes == c, c].sum() for c in range(CLASSES)]
    assert_allclose(density.log_likelihood(case.stats()).sum(axis=-1), by_class, rtol=1e-11)


# Updates, evidence and the predictive distribution


def test_updates_in_turn_are_one_update_and_no_rows_change_nothing(case: Case) -> None:
    one = case.stats(HALF)
    two = case.stats(REST)
    same(case.prior.update(one).update(two), case.prior.update(one + two), rtol=1e-11, atol=1e-9)
    same(case.prior.update(0 * one), case.prior)
    if case.prior.independent_classes:
        same(case.posterior[CLASSES - 1], case.prior[CLASSES - 1])  # of a class without rows


def test_evidence_is_the_product_of_predictives_row_after_row(case: Case) -> None:
    belief = case.prior
    total = 0.0
    for row, label in enumerate(case.codes):
        cell = case.spread(case.x[[row]])
        total += belief.log_predictive(cell)[0, label].sum()
        belief = belief.update(stats_of_row(case, row, label))
    whole = case.of(case.x, one_hot(case.codes, CLASSES))
    assert case.prior.log_evidence(whole).sum() == pytest.approx(total, rel=1e-11)


def test_the_predictive_is_that_of_scipy(case: Case) -> None:
    belief = case.posterior
    found = belief.log_predictive(case.spread())
    for c in range(CLASSES):
        for f in range(found.shape[2]):
            cells = case.x if case.whole else case.x[:, f]
            present = np.ones(len(cells), bool)
            if not case.whole:
                missing_code = (cells < 0) & ("gaussian" not in case.name)
                present = ~np.isnan(cells) & ~missing_code
            expected = case.twin(belief, c, f)(cells[present])
            assert_allclose(found[present, c, f], expected, rtol=2e-10, atol=1e-10)


@pytest.mark.parametrize("case", OF_SINGLE_CELLS, ids=lambda case: case.name)
def test_a_missing_cell_says_nothing(case: Case) -> None:
    empty = np.full((1, case.x.shape[1]), np.nan)
    belief = case.posterior
    assert (belief.log_moment(case.spread(empty), 0.5 + 1j) == 0).all()
    assert (belief.cumulants(case.spread(empty), 3) == 0).all()
    same(case.prior.update(case.of(empty, one_hot(np.array([0]), CLASSES))), case.prior)


# The log moment K(s) = log E[p(x | theta)**s]


def with_row(case: Case, row: int, times: float) -> Belief:
    """The posterior of classes that each have also seen a row, so many times."""
    belief = case.posterior
    seen = [stats_of_row(case, row, c, times) for c in range(CLASSES)]
    if belief.independent_classes:
        return belief.update(sum(seen[1:], start=seen[0]))
    first, *others = (belief.update(each)[c] for c, each in enumerate(seen))
    return first.map(lambda *arrays: np.stack(arrays), *others)


@pytest.mark.parametrize("times", [1.0, 0.4])
def test_moments_and_cumulants_at_a_tilt_are_those_after_the_row_was_seen(
    case: Case, times: float
) -> None:
    belief = case.posterior
    for row in ROWS_SEEN:
        cell = case.spread(case.x[[row]])
        after = with_row(case, row, times)
        assert_allclose(
            belief.cumulants(cell, 4, times), after.cumulants(cell, 4), rtol=1e-9, atol=1e-9
        )
        for s in (0.7, 2.0, 0.3j, 1 + 2j):
            gained = belief.log_moment(cell, times + s) - belief.log_moment(cell, times)
            assert_allclose(after.log_moment(cell, s), gained, rtol=1e-9, atol=1e-9)


def test_minus_the_log_moment_at_minus_one_is_the_predictive_without_the_row(case: Case) -> None:
    whole = case.of(case.x, one_hot(case.codes, CLASSES))
    for row in range(6):
        cell = case.spread(case.x[[row]])
        label = case.codes[row]
        rest = case.prior.update(whole - stats_of_row(case, row, label))
        left_out = -case.prior.update(whole).log_moment(cell, -1.0)[0, label]
        assert_allclose(left_out, rest.log_predictive(cell)[0, label], rtol=1e-8, atol=1e-9)


def test_cumulants_are_the_derivatives_of_the_log_moment_at_zero(case: Case) -> None:
    """By Cauchy's integral on a circle of a fifth of a standard deviation, where K is analytic.

    Half of the circle is enough: at conjugate points the values are conjugate.
    """
    belief = case.posterior
    points = 16
    x = case.spread(case.x[[0, 3, 7]])  # with both rows that lack a cell
    found = belief.cumulants(x, 4)
    radius = np.where(found[1] > 0, 0.2 / np.sqrt(np.maximum(found[1], 1e-30)), 0.2)
    angle = np.pi * (np.arange(points) + 0.5) / points
    values = np.stack([belief.log_moment(x, radius * np.exp(1j * a)) for a in angle])
    for n in range(1, 5):
        turn = np.exp(-1j * n * angle).reshape(-1, *[1] * (values.ndim - 1))
        derivative = math.factorial(n) * (values * turn).mean(axis=0).real / radius**n
        noise = 1e-12 * math.factorial(n) / radius**n  # in K, terms of size 1000 cancel
        assert (np.abs(found[n - 1] - derivative) <= 1e-9 * np.abs(derivative) + noise).all(), n


def test_moments_that_do_not_exist_are_infinite(case: Case) -> None:
    assert np.isposinf(case.posterior.log_moment(case.spread(), -1e4)).any()


def test_rows_have_the_sums_of_their_cells(case: Case) -> None:
    belief = case.prior.update(20 * case.stats())
    s = np.array([0.3j, 40j, 0.5 + 3j, 0.7, -0.05])
    x = case.spread()
    moments = [belief.log_moment(x, each).sum(axis=-1) for each in s]
    assert_allclose(belief.score(case.x), belief.log_predictive(x).sum(axis=-1), rtol=1e-12)
    assert_allclose(
        belief.score_cumulants(case.x, 0.4), belief.cumulants(x, 4, 0.4).sum(axis=-1), rtol=1e-12
    )
    assert_allclose(
        belief.score_transform(case.x, s), np.stack(moments, axis=-1), rtol=1e-11, atol=1e-11
    )


# Draws and estimates


@pytest.mark.slow
def test_draws_have_the_moments_that_are_computed(case: Case) -> None:
    """Within five standard errors: predictive, three cumulants, characteristic function."""
    belief = case.posterior
    cell = case.spread(case.x[[11]])
    logs = belief.sample(np.random.default_rng(5), DRAWS).log_density(cell)
    mean = logs.mean(axis=0)

    def assert_mean(values: Array, truth: Array) -> None:
        error = values.std(axis=0) / np.sqrt(DRAWS)
        assert (np.abs(values.mean(axis=0) - truth) <= 5 * error + 1e-12).all()

    assert_mean(np.exp(logs - mean), np.exp(belief.log_predictive(cell)[0] - mean))
    for n, cumulant in enumerate(belief.cumulants(cell, 3)[:, 0]):
        assert_mean(logs if n == 0 else (logs - mean) ** (n + 1), cumulant)
    for t in (0.3, 1.1):
        wave = np.exp(1j * t * logs)
        truth = np.exp(belief.log_moment(cell, 1j * t)[0])
        assert_mean(wave.real, truth.real)
        assert_mean(wave.imag, truth.imag)


@pytest.mark.slow
def test_intervals_hold_their_share_of_draws(case: Case) -> None:
    drawn = case.posterior.sample(np.random.default_rng(8), 20_000)
    lower, upper = case.posterior.interval(0.8)
    if not isinstance(lower, np.ndarray):
        lower, upper = lower[0], upper[0]  # of several parameters, the first
    theta = getattr(drawn, names(drawn)[0])
    error = np.sqrt(0.16 / 20_000)
    inside = ((theta > lower) & (theta < upper)).mean(axis=0)
    if case.name == "joint":
        inside = inside[..., :-1]  # the last is what the combinations never seen have in common
    if (
        case.name == "histogram"
    ):  # where no cut is a boundary a ratio is 1: a probability of one value
        inside = ((drawn.ratio >= lower) & (drawn.ratio <= upper)).mean(axis=0)
        assert (inside > 0.8 - 5 * error).all()
        inside = inside[(lower != 1) & (upper != 1)]
    assert inside.size
    assert (np.abs(inside - 0.8) < 5 * error).all()


def test_the_maximum_likelihood_estimate_has_no_better_neighbour(case: Case) -> None:
    seen = case.stats()[WITH_ROWS]
    rng = np.random.default_rng(0)
    best = case.prior[WITH_ROWS].mle(seen).log_likelihood(seen)
    belief = case.posterior[WITH_ROWS]
    for _ in range(50):
        other = belief.update(seen * float(rng.integers(1, 1000))).sample(rng)
        gain = other.log_likelihood(seen) - best
        if not belief.independent_classes:
            gain = gain.sum(axis=0)
        assert (gain <= 1e-9 * np.abs(best)).all()


@pytest.mark.parametrize("kind", ["mean", "map"])
def test_under_ever_more_data_mean_and_mode_become_the_maximum_likelihood(
    case: Case, kind: str
) -> None:
    seen = case.stats()[WITH_ROWS]
    estimate = case.prior[WITH_ROWS].update(1e7 * seen).estimate(kind)
    x = case.spread()
    present = case.codes
    one, two = (
        density.log_density(x).sum(axis=-1)
        for density in (estimate, case.prior[WITH_ROWS].mle(seen))
    )
    rows = np.arange(len(x))
    assert_allclose(one[rows, present], two[rows, present], rtol=1e-4, atol=1e-4)
