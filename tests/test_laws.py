"""The conjugate contract: every law once, for every family."""

import math
from itertools import product

import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import sparse
from scipy.integrate import quad

from bayesnb.families.base import Belief
from bayesnb.families.capabilities import HasVariables
from bayesnb.families.removal import Leaving, left_out_by_definition
from bayesnb.families.weight import one_hot
from tests.conftest import CASES, CLASSES, SIZES, Array, Case, names, same

KINDS = ("predictive", "mean", "map", "mle")
HALF = slice(0, 17)
REST = slice(17, None)
DRAWS = 200_000


def test_stats_of_two_tables_add_up_to_the_stats_of_both(case: Case) -> None:
    same(case.stats(HALF) + case.stats(REST), case.stats(), atol=1e-9)


def test_stats_that_are_taken_back_leave_nothing(case: Case) -> None:
    same(case.stats(HALF) + case.stats(REST) - case.stats(REST), case.stats(HALF), rtol=1e-9, atol=1e-6)


def test_scaled_stats_are_the_stats_of_scaled_weights(case: Case) -> None:
    same(3 * case.stats(), case.stats(weight=3.0), atol=1e-9)


def test_a_weight_of_two_is_the_row_twice(case: Case) -> None:
    codes = case.codes
    twice = case.of(np.concatenate([case.x, case.x]), one_hot(np.concatenate([codes, codes]), CLASSES))
    same(case.of(case.x, one_hot(codes, CLASSES, np.full(len(codes), 2.0))), twice, atol=1e-9)


def test_soft_labels_share_a_row_between_classes(case: Case) -> None:
    share = np.linspace(0.1, 0.9, len(case.x))
    soft = case.of(case.x, sparse.csc_array(np.column_stack([share, 1 - share, np.zeros(len(share))])))
    hard = [case.of(case.x, one_hot(np.full(len(share), c), CLASSES, w)) for c, w in enumerate((share, 1 - share))]
    same(soft, hard[0] + hard[1], rtol=1e-11, atol=1e-9)


def test_updates_in_turn_are_one_update(case: Case) -> None:
    a, b = case.stats(HALF), case.stats(REST)
    same(case.prior.update(a).update(b), case.prior.update(a + b), rtol=1e-11, atol=1e-9)


ONE_BY_ONE = [case for case in CASES if case.prior.independent_classes]


@pytest.mark.parametrize("case", ONE_BY_ONE, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("alike", [True, False])
def test_rows_that_leave_their_class_are_scored_by_what_is_left(
    case: Case, kind: str, power: float, alike: bool
) -> None:
    its = np.flatnonzero(case.codes == 1)
    weight = np.full(len(its), 0.25) if alike else 0.5 * case.weight[its]
    leaving = Leaving(case.x[its], case.codes[its], weight, kind, power)
    prior, stats = case.prior[1:2], case.stats()[1:2]
    found, expected = prior.score_left_out(stats, leaving), left_out_by_definition(prior, stats, leaving)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_no_rows_change_no_belief(case: Case) -> None:
    same(case.prior.update(0 * case.stats()), case.prior)
    if case.prior.independent_classes:
        empty = CLASSES - 1
        same(case.posterior[empty], case.prior[empty])


def test_evidence_is_the_sum_of_predictives_row_after_row(case: Case) -> None:
    belief, total = case.prior, 0.0
    for row, code in enumerate(case.codes):
        cell = case.x[row : row + 1]
        total += np.nansum(belief.score(cell)[0, code])
        belief = belief.update(case.of(cell, one_hot(case.codes[row : row + 1], CLASSES)))
    whole = case.prior.log_evidence(case.of(case.x, one_hot(case.codes, CLASSES))).sum()
    assert whole == pytest.approx(total, rel=1e-11)


def test_score_is_the_predictive_summed_over_features(case: Case) -> None:
    by_definition = case.posterior.log_predictive(case.spread()).sum(axis=-1)
    np.testing.assert_allclose(case.posterior.score(case.x), by_definition, rtol=1e-13)


@pytest.mark.parametrize("power", [0.3, 1.7, -0.2])
def test_a_score_under_an_exponent_is_the_exponent_times_the_score(case: Case, power: float) -> None:
    belief, each = case.posterior, np.full((len(case.x), 1), power)
    expected = power * belief.log_predictive(case.spread()).sum(axis=-1)
    np.testing.assert_allclose(belief.score(case.x, power), expected, rtol=1e-12)
    np.testing.assert_allclose(belief.score(case.x, each), expected, rtol=1e-12)


@pytest.mark.parametrize("power", [0.3, 1.7, -0.2])
def test_the_log_moment_of_rows_is_that_of_cells_summed_over_features(case: Case, power: float) -> None:
    belief = case.prior.update(100 * case.stats())  # so that E[p ** -0.2] exists
    expected = belief.log_moment(case.spread(), power).sum(axis=-1)
    np.testing.assert_allclose(belief.row_log_moment(case.x, power), expected, rtol=1e-12)
    each = belief.row_log_moment(case.x, np.full((len(case.x), 1), power))
    np.testing.assert_allclose(each, expected, rtol=1e-12)


ROWS_SEEN = [0, 1, 3, 7, 12]  # two of them with a hole


def with_row(case: Case, row: int, times: float) -> Belief:
    """The posterior, each class of which has also seen one row, so many times; no class of another's."""
    cell, belief = case.x[[row]], case.posterior
    seen = [case.of(cell, one_hot(np.array([c]), CLASSES, np.array([times]))) for c in range(CLASSES)]
    if belief.independent_classes:
        return belief.update(sum(seen[1:], start=seen[0]))
    own = [belief.update(its)[c] for c, its in enumerate(seen)]
    return own[0].map(lambda *arrays: np.stack(arrays), *own[1:])


@pytest.mark.parametrize("tilt", [1.0, 0.4])
def test_cumulants_at_a_tilt_are_those_after_the_row_was_seen(case: Case, tilt: float) -> None:
    for row in ROWS_SEEN:
        cell = case.spread(case.x[[row]])
        np.testing.assert_allclose(
            case.posterior.cumulants(cell, 4, tilt), with_row(case, row, tilt).cumulants(cell, 4), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("s", [0.7, 2.0, 0.3j, 1 + 2j])
def test_moments_beyond_one_are_those_after_the_row_was_seen(case: Case, s: complex) -> None:
    for row in ROWS_SEEN:
        cell, belief = case.spread(case.x[[row]]), case.posterior
        gained = belief.log_moment(cell, 1 + s) - belief.log_moment(cell, 1)
        np.testing.assert_allclose(with_row(case, row, 1.0).log_moment(cell, s), gained, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 1.0, 0.4])
def test_summed_cumulants_are_the_cumulants_summed_over_features(case: Case, tilt: float) -> None:
    by_definition = case.posterior.cumulants(case.spread(), 4, tilt).sum(axis=-1)
    np.testing.assert_allclose(case.posterior.score_cumulants(case.x, tilt), by_definition, rtol=1e-12)


def test_a_summed_transform_is_the_log_moments_summed_over_features(case: Case) -> None:
    s = np.array([0.3j, 40j, 0.5 + 3j, 1 + 2j, 0.7, 1.0, -0.05])
    belief = case.prior.update(20 * case.stats())  # so that all of them exist
    by_definition = np.stack([belief.log_moment(case.spread(), each).sum(axis=-1) for each in s], axis=-1)
    np.testing.assert_allclose(belief.score_transform(case.x, s), by_definition, rtol=1e-11, atol=1e-11)


def test_moments_that_do_not_exist_are_infinite_in_a_summed_transform(case: Case) -> None:
    s = np.array([-0.3, -1.0, -30.0, -1e4])
    alone = [case.posterior.log_moment(case.spread(), each) for each in s]
    never = np.stack([np.isposinf(each).any(axis=-1) for each in alone], axis=-1)
    with np.errstate(all="ignore"):
        found = case.posterior.score_transform(case.x, s)
    assert never.any()
    assert not np.isfinite(found[never]).any()


def test_the_predictive_is_scipys(case: Case) -> None:
    belief, got = case.posterior, case.posterior.log_predictive(case.spread())
    for c in range(CLASSES):
        for f in range(got.shape[2]):
            cells = case.x if case.whole else case.x[:, f]
            present = (
                np.ones(len(cells), bool)
                if case.whole
                else ~(np.isnan(cells) | (cells < 0) & ("gaussian" not in case.name))
            )
            np.testing.assert_allclose(
                got[present, c, f], case.twin(belief, c, f)(cells[present]), rtol=2e-10, atol=1e-10
            )


@pytest.mark.parametrize("case", [case for case in CASES if not case.whole], ids=lambda case: case.name)
def test_a_missing_cell_says_nothing(case: Case) -> None:
    empty = np.full((1, case.x.shape[1]), np.nan)
    belief = case.posterior
    assert (belief.score(empty) == 0).all()
    assert (belief.log_moment(case.spread(empty), 0.5 + 1j) == 0).all()
    assert (belief.cumulants(case.spread(empty), 3) == 0).all()
    same(0 * case.stats() + case.of(empty, one_hot(np.array([0]), CLASSES)), 0 * case.stats())


def test_the_predictive_sums_or_integrates_to_one(case: Case) -> None:
    belief = case.posterior
    if case.name == "multinomial":
        four = np.array([[a, b, c, 4 - a - b - c] for a in range(5) for b in range(5 - a) for c in range(5 - a - b)])
        total = np.exp(belief.score(four.astype(float))).sum(axis=0)
    elif "multivariate" in case.name:
        total = np.array([over_the_plane(belief[c]) for c in range(CLASSES)])
    elif case.name == "sequences":
        four = np.array([np.bincount(words, minlength=4) for words in product(range(4), repeat=4)])
        total = np.exp(belief.score(four.astype(float))).sum(axis=0)
    elif case.name == "categorical":
        total = np.concatenate(
            [np.exp(belief.column(f).log_predictive(np.arange(k)[:, None])).sum(0) for f, k in enumerate(SIZES)]
        )
    elif case.name == "polya tree":  # its predictive is relative to the shares of all rows
        total = belief.level_sums(belief.mean() * belief.grid.share)
    elif case.name == "waiting":
        total = np.array(
            [
                [
                    quad(lambda x, b=b: np.exp(b.log_predictive(x * b.rate)) * b.rate, 0, np.inf)[0]
                    for b in (belief[c, f] for f in range(2))
                ]
                for c in range(CLASSES)
            ]
        )
    elif case.support is not None:
        cells = case.spread(case.support) if case.whole else case.support[:, None, None]
        total = np.exp(belief.log_predictive(cells)).sum(axis=0)
    else:
        center, width = belief.location, np.sqrt(belief.scale / belief.shape * (1 + 1 / belief.count))
        total = np.array(
            [
                [
                    quad(
                        lambda z, c=c, f=f: width[c, f] * np.exp(belief[c].log_predictive(center[c] + z * width[c])[f]),
                        -np.inf,
                        np.inf,
                    )[0]
                    for f in range(2)
                ]
                for c in range(CLASSES)
            ]
        )
    np.testing.assert_allclose(total, 1.0, rtol=1e-7)


def over_the_plane(belief: Belief) -> float:
    """The predictive's integral over two columns, in polar coordinates in which it is round."""
    angles, (at, weight) = np.linspace(0, 2 * np.pi, 8, endpoint=False), np.polynomial.legendre.leggauss(60)
    radius = np.tan(np.pi / 4 * (at + 1))
    step = np.linalg.cholesky(belief.scale[0])
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1) @ step.T
    heights = np.exp(belief.log_predictive(belief.location + radius[:, None, None] * around))
    jacobian = radius * (1 + radius**2) * np.pi / 4 * weight * np.linalg.det(step)
    return float(jacobian @ heights.mean(axis=1) * 2 * np.pi)


def test_the_log_moment_at_one_is_the_predictive(case: Case) -> None:
    belief = case.posterior
    np.testing.assert_allclose(
        belief.log_moment(case.spread(), 1.0), belief.log_predictive(case.spread()), rtol=1e-12, atol=1e-12
    )


def test_a_tilt_by_one_is_the_belief_that_has_also_seen_the_cell(case: Case) -> None:
    row, s = 5, np.array(0.4 - 0.7j)
    cell = case.x[row : row + 1]
    for c in range(CLASSES):
        seen = case.posterior.update(case.of(cell, one_hot(np.array([c]), CLASSES)))
        tilted = case.posterior.log_moment(case.spread(cell), 1 + s) - case.posterior.log_moment(case.spread(cell), 1.0)
        np.testing.assert_allclose(tilted[0, c], seen.log_moment(case.spread(cell), s)[0, c], rtol=1e-10, atol=1e-11)


def test_a_tilt_by_minus_one_is_the_predictive_without_the_row(case: Case) -> None:
    everything = case.of(case.x, one_hot(case.codes, CLASSES))
    posterior = case.prior.update(everything)
    for row in range(6):
        cell, code = case.x[row : row + 1], case.codes[row]
        others = np.arange(len(case.x)) != row
        without = case.prior.update(case.of(case.x[others], one_hot(case.codes[others], CLASSES)))
        left_out = -posterior.log_moment(case.spread(cell), -1.0)[0, code]
        np.testing.assert_allclose(left_out, without.log_predictive(case.spread(cell))[0, code], rtol=1e-9, atol=1e-10)


def test_cumulants_are_the_derivatives_of_the_log_moment_at_zero(case: Case) -> None:
    """By Cauchy's integral on a circle of a fifth of a standard deviation, well inside where K is analytic.

    Half of the circle is enough: at conjugate points the values are conjugate, and their sum is twice the real part.
    """
    belief, points = case.posterior, 16
    x = case.spread(case.x[:14])  # with both rows that lack a cell
    got = belief.cumulants(x, 4)
    sd = np.sqrt(np.maximum(got[1], 1e-30))
    radius = np.where(got[1] > 0, 0.2 / sd, 0.2)
    angle = np.pi * (np.arange(points) + 0.5) / points
    values = np.stack([belief.log_moment(x, radius * np.exp(1j * a)) for a in angle])
    for n in range(1, 5):
        turn = np.exp(-1j * n * angle).reshape(-1, *[1] * (values.ndim - 1))
        derivative = math.factorial(n) * (values * turn).mean(axis=0).real / radius**n
        noise = 1e-12 * math.factorial(n) / radius**n  # in K, terms of size 1000 cancel
        assert (np.abs(got[n - 1] - derivative) <= 1e-9 * np.abs(derivative) + noise).all(), n


@pytest.mark.slow
def test_draws_of_the_density_agree_with_every_moment(case: Case) -> None:
    """Five standard errors: the predictive, the log-density's mean, variance and third cumulant, its CF."""
    belief = case.posterior
    row = case.x[11:12]
    drawn = belief.sample(np.random.default_rng(5), DRAWS)
    cells = row[:, None, :] if case.whole else row  # broadcasts against (s, c, f)
    logs = drawn.log_density(cells)
    x = case.spread(row)[0]
    expected = belief.cumulants(x, 3)
    center = logs - logs.mean(axis=0)

    def within(values: Array, truth: Array) -> None:
        error = values.std(axis=0) / np.sqrt(DRAWS)
        assert (np.abs(values.mean(axis=0) - truth) <= 5 * error + 1e-12).all()

    within(np.exp(logs - logs.mean(axis=0)), np.exp(belief.log_predictive(x) - logs.mean(axis=0)))
    within(logs, expected[0])
    within(center**2, expected[1])
    within(center**3, expected[2])
    for t in (0.3, 1.1):
        truth = np.exp(belief.log_moment(x, np.array(1j * t)))
        wave = np.exp(1j * t * logs)
        within(wave.real, truth.real)
        within(wave.imag, truth.imag)


def test_the_log_likelihood_of_the_stats_is_that_of_the_rows(case: Case) -> None:
    density = case.posterior.sample(np.random.default_rng(3))
    each = case.weight[:, None] * density.score(case.x)
    by_row = np.array([each[case.codes == c, c].sum() for c in range(CLASSES)])
    of_stats = density.log_likelihood(case.stats())
    np.testing.assert_allclose(of_stats.sum(axis=-1), by_row, rtol=1e-11)


def test_a_density_scores_as_it_says(case: Case) -> None:
    density = case.posterior.estimate("mean")
    by_definition = density.log_density(case.spread()).sum(axis=-1)
    np.testing.assert_allclose(density.score(case.x), by_definition, rtol=1e-12)
    np.testing.assert_allclose(density.score(case.x, 0.3), 0.3 * by_definition, rtol=1e-12)


def test_the_maximum_likelihood_estimate_has_no_better_neighbour(case: Case) -> None:
    seen = case.stats()[: CLASSES - 1]
    best = seen.mle()
    top = best.log_likelihood(seen)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = case.posterior[: CLASSES - 1].update(seen * float(rng.integers(1, 1000))).sample(rng)
        gain = other.log_likelihood(seen) - top
        assert ((gain if case.prior.independent_classes else gain.sum(axis=0)) <= 1e-9 * np.abs(top)).all()


def test_the_mode_is_the_most_likely_theta_under_a_flat_prior_worth_nothing(case: Case) -> None:
    """With ever more copies of the data the prior vanishes: mean and mode both become the MLE."""
    seen = case.stats()[: CLASSES - 1]
    belief = case.prior[: CLASSES - 1].update(1e7 * seen)
    best = seen.mle()
    for kind in ("mean", "map"):
        estimate = belief.estimate(kind)
        for name in names(best):
            if name != "sizes":
                np.testing.assert_allclose(getattr(estimate, name), getattr(best, name), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_intervals_hold_their_share_of_draws(case: Case) -> None:
    lower, upper = case.posterior.interval(0.8)
    drawn = case.posterior.sample(np.random.default_rng(8), 20_000)
    first = names(drawn)[0]
    ends = (lower, upper) if isinstance(lower, np.ndarray) else (lower[0], upper[0])
    inside = ((getattr(drawn, first) > ends[0]) & (getattr(drawn, first) < ends[1])).mean(axis=0)
    inside = inside[..., :-1] if "combinations" in names(drawn) else inside  # a draw has combinations that are alike
    if "grid" in names(drawn):  # a ratio has an atom, where no cut is a boundary: an end there is no end of 0.8
        at_atom = (ends[0] == 1) | (ends[1] == 1)
        closed = ((drawn.ratio >= ends[0]) & (drawn.ratio <= ends[1])).mean(axis=0)
        assert (closed > 0.8 - 5 * np.sqrt(0.16 / 20_000)).all()
        assert not at_atom.all()
        inside = inside[~at_atom]
    assert (np.abs(inside - 0.8) < 5 * np.sqrt(0.16 / 20_000)).all()


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if "multivariate" not in case.name and isinstance(case.prior, HasVariables)],
    ids=lambda case: case.name,
)
def test_pymc_agrees_with_the_update_and_the_evidence(case: Case) -> None:
    """The model of the prior and the data is that of the posterior and no data, times a constant: the evidence."""
    seen = case.stats()
    models = []
    for belief, data in ((case.prior, seen), (case.posterior, 0 * seen)):
        with pm.Model() as model:
            theta = belief.variables(pm, lambda symbol, feature=None: {"name": f"{symbol}_{feature}", "dims": None})
            pm.Potential("x", theta.log_likelihood(data, pm.math).sum())
        free = {variable.name for variable in model.free_RVs}
        models.append(remove_value_transforms(model).compile_logp(jacobian=False, mode="FAST_COMPILE"))
    evidence = case.prior.log_evidence(seen).sum()
    rng = np.random.default_rng(2)
    for _ in range(20):
        drawn = case.posterior.sample(rng)
        point = {f"{symbol}_{feature}": array for (symbol, feature), array in drawn.parts().items()}
        for name in free - set(point):
            point[name] = point.pop(name.removesuffix("_shared"))[0]  # the classes have it in common
        assert models[0](point) - models[1](point) == pytest.approx(evidence, rel=1e-10)


def test_a_density_is_made_again_of_its_parts(case: Case) -> None:
    drawn = case.posterior.sample(np.random.default_rng(3))
    same(type(drawn).of_parts(drawn.parts(), drawn), drawn)
