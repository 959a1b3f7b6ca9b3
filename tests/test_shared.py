"""Gaussian(shared=True): one variance for all classes, which makes the boundary linear; two classes have exact laws."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

import bayesnb
from bayesnb import Categorical, Gaussian, GaussianNB, NaiveBayes, NormalInverseGamma, mcmc, relevance, tune
from bayesnb.families.removal import Leaving
from bayesnb.families.sharing import SharedGaussianStats, SharedNormalInverseGamma
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import DrawnWarning
from bayesnb.mcmc.pymc_model import ModelData, ModelOptions, ModelPlan, assemble
from bayesnb.selection.prior_evidence import GaussianEvidence
from tests.conftest import CASES, CLASSES, Array, same

(CASE,) = (case for case in CASES if case.name == "gaussian, shared")
HAND = NormalInverseGamma(0.0, 1.0, 3.0, 4.0)
NODES = np.array([0.4 + 0.0j, 2j, 0.5 + 3j, 1 + 1.5j])
WEIGHTS = np.array([2.0, -1.0])


def table(rows: int = 60, classes: int = 2, columns: int = 3, seed: int = 5) -> tuple[Array, Array]:
    """Rows of normal classes, some cells missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, columns)) * (1 + np.arange(columns)) + 0.7 * y[:, None]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def fixed_prior(model: NaiveBayes) -> NormalInverseGamma:
    """What a fitted model believed before, to be given to another."""
    (prior,) = model.model_.prior.blocks
    return NormalInverseGamma(prior.location[0], prior.count[0], prior.shape[0], prior.scale[0])


def test_the_posterior_is_the_one_worked_out_by_hand() -> None:
    model = NaiveBayes(Gaussian(HAND, shared=True)).fit([[1.0], [3.0], [5.0]], list("aab"))
    belief = model.posterior_[0]
    scale = 4 + (2 + 2 / 3 * 2**2) / 2 + (1 / 2 * 5**2) / 2  # about 2 and 5, and about the location 0
    np.testing.assert_allclose(belief.location, [4 / 3, 5 / 2])
    np.testing.assert_allclose(belief.count, [3.0, 2.0])
    np.testing.assert_allclose(belief.shape, [4.5, 4.5])
    np.testing.assert_allclose(belief.scale, [scale, scale])
    np.testing.assert_allclose(belief.mean().variance, [scale / 3.5] * 2)
    np.testing.assert_allclose(belief.mode().variance, [scale / (4.5 + 2)] * 2)


def test_the_mode_is_where_the_density_of_the_variance_and_all_means_is_largest() -> None:
    belief, mode = CASE.posterior, CASE.posterior.estimate("map")

    def height(theta: object) -> Array:
        return sum(part.sum(axis=0) for part in belief.log_density(theta).values())  # type: ignore[no-any-return]

    top = height(mode)
    for step in (0.999, 1.001):
        assert (height(mode.map(lambda array, step=step: array * step)) < top).all()
        assert (height(type(mode)(mode.mean, mode.variance * step)) < top).all()


def test_the_density_of_theta_counts_the_variance_once() -> None:
    """Three normal densities and one inverse gamma."""
    belief = CASE.prior
    theta = belief.sample(3)
    total = sum(part.sum(axis=0) for part in belief.log_density(theta).values())
    sd = np.sqrt(theta.variance / belief.count)
    means = stats.norm(belief.location, sd).logpdf(theta.mean).sum(axis=0)
    np.testing.assert_allclose(
        total, means + stats.invgamma(belief.shape[0], scale=belief.scale[0]).logpdf(theta.variance[0]), rtol=1e-12
    )


def test_evidence_and_predictive_are_integrals_over_the_precision_and_the_means() -> None:
    """Gauss-Legendre's, over every mean and then over the precision."""
    x, w = np.polynomial.legendre.leggauss(200)
    tau, z = 1.5 * (x[:, None] + 1), 9 * x
    sd = tau**-0.5

    def of_class(rows: list[float]) -> Array:
        mu = np.mean([*rows, 0.0]) + z * sd
        joint = stats.norm(0, sd).pdf(mu) * np.prod([stats.norm(mu, sd).pdf(row) for row in rows], axis=0)
        return (9 * sd * w * joint).sum(axis=1)

    def evidence(*classes: list[float]) -> float:
        return float(
            (1.5 * w * stats.gamma(3.0, scale=1 / 4).pdf(tau[:, 0]) * np.prod([*map(of_class, classes)], axis=0)).sum()
        )

    whole, more = evidence([1.0, 3.0], [5.0]), evidence([1.0, 3.0], [5.0, 2.0])
    model = NaiveBayes(Gaussian(HAND, shared=True)).fit([[1.0], [3.0], [5.0]], list("aab"))
    assert model.log_evidence_by_feature()[0] == pytest.approx(math.log(whole), abs=1e-7)
    found = model.model_.posterior.blocks[0].log_predictive(np.array([[[2.0]]]))[0, 1, 0]
    assert found == pytest.approx(math.log(more / whole), abs=1e-7)


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
def test_the_plug_in_is_the_logistic_function_of_the_lectures_w_and_b(estimate: str) -> None:
    X, y = table()
    X = np.nan_to_num(X)
    model = GaussianNB(shared=True, estimate=estimate, class_prior="empirical").fit(X, y)
    theta = model.model_.read(estimate)
    mu, variance, pi = theta.blocks[0].mean, theta.blocks[0].variance[0], theta.classes.probability
    w = (mu[1] - mu[0]) / variance
    b = math.log(pi[1] / pi[0]) - ((mu[1] ** 2 - mu[0] ** 2) / (2 * variance)).sum()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(X @ w + b), rtol=1e-11)
    linear = theta.blocks[0].linear()
    np.testing.assert_allclose(linear.weights[1] - linear.weights[0], w, rtol=1e-12)
    assert math.log(pi[1] / pi[0]) + linear.offset[1] - linear.offset[0] == pytest.approx(b, rel=1e-12)


def test_classes_with_variances_of_their_own_are_not_linear() -> None:
    X, y = table()
    assert GaussianNB().fit(X, y).model_.posterior.blocks[0].estimate("mean").linear() is None


@pytest.mark.parametrize("against", [None, 1])
def test_variances_of_the_linear_form_are_those_of_draws(against: int | None) -> None:
    """A variance over n draws has a standard error that its fourth moment says."""
    belief = CASE.prior.update(CASE.stats())
    linear = belief.sample(np.random.default_rng(4), 200_000)
    weights = linear.mean / linear.variance
    offset = -(weights * linear.mean).sum(axis=-1) / 2
    if against is not None:
        weights, offset = weights - weights[:, [against]], offset - offset[:, [against]]
    for drawn, found in zip((weights, offset), belief.linear_variance(against), strict=True):
        square = (drawn - drawn.mean(axis=0)) ** 2
        assert (np.abs(square.mean(axis=0) - found) <= 5 * square.std(axis=0) / np.sqrt(len(drawn))).all()


def test_one_column_is_scikit_learns_linear_discriminant() -> None:
    X, y = table(90, 3, 1)
    X = np.nan_to_num(X)
    own = GaussianNB(shared=True, estimate="mle", class_prior="empirical").fit(X, y)
    np.testing.assert_allclose(
        own.predict_proba(X), LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_proba(X), rtol=1e-10
    )


def test_columns_without_correlation_are_scikit_learns_linear_discriminant() -> None:
    X, y = table(60, 2, 3)
    means = np.array([[0.0, 1.0, -1.0], [2.0, 1.5, 0.0]])[y]
    rest = np.nan_to_num(X)
    for c in range(2):
        rest[y == c] -= rest[y == c].mean(axis=0)
    X = means + np.linalg.qr(rest)[0] * np.array([3.0, 10.0, 5.0])
    own = GaussianNB(shared=True, estimate="mle", class_prior="empirical").fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), theirs.predict_proba(X), rtol=1e-10, atol=1e-13)


def weights_and_errors(rows: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Of normal classes with one variance: the plug-in's weights, logistic regression's, and the errors of these."""
    y = rng.permutation(rows) % 2
    X = rng.normal(size=(rows, 2)) * [1.0, 2.0] + y[:, None] * WEIGHTS * [1.0, 4.0]
    linear = GaussianNB(shared=True).fit(X, y).model_.posterior.blocks[0].estimate("mean").linear()
    theirs = LogisticRegression(C=np.inf, solver="newton-cholesky").fit(X, y)
    p, design = theirs.predict_proba(X)[:, 1], np.column_stack([X, np.ones(rows)])
    information = (design * (p * (1 - p))[:, None]).T @ design
    return linear.weights[1] - linear.weights[0], theirs.coef_[0], np.sqrt(np.diag(np.linalg.inv(information)))[:2]


def test_logistic_regression_converges_to_the_plug_in() -> None:
    """Both estimate the true weights; their gap is within five standard errors of logistic regression, and shrinks.

    Efron (1975), The efficiency of logistic regression compared to normal discriminant analysis: where the assumption
    holds the latter needs fewer rows. So the gap, of independent size, is as 1 / sqrt(rows): here a quarter as large.
    """
    rng, size = np.random.default_rng(8), []
    for rows in (200, 3200):
        gaps = []
        for _ in range(25):
            own, theirs, error = weights_and_errors(rows, rng)
            gaps.append(theirs - own)
            assert (np.abs(gaps[-1]) < 5 * error).all()
            assert (np.abs(theirs - WEIGHTS) < 5 * error).all()
        size.append(np.sqrt(np.mean(np.square(gaps))))
    assert 3 < size[0] / size[1] < 6


@pytest.mark.parametrize("kind", ["predictive", "mean", "map", "mle"])
@pytest.mark.parametrize("alike", [True, False])
def test_rows_that_leave_change_the_scores_of_all_classes(kind: str, alike: bool) -> None:
    gone = np.full(len(CASE.x), 0.25) if alike else 0.5 * CASE.weight
    found = CASE.prior.left_out(CASE.stats(), None, Leaving(CASE.x, CASE.codes, gone, kind))
    for row in range(len(CASE.x)):
        rest = CASE.of(
            CASE.x, one_hot(CASE.codes, CLASSES, CASE.weight - np.where(np.arange(len(gone)) == row, gone, 0))
        )
        reader = rest.mle() if kind == "mle" else CASE.prior.update(rest)
        reader = reader if kind in ("mle", "predictive") else reader.estimate(kind)  # type: ignore[attr-defined]
        np.testing.assert_allclose(found[row], reader.score(CASE.x[[row]])[0], rtol=1e-10)


@pytest.mark.parametrize("estimate", ["predictive", "mle"])
def test_leave_one_out_is_that_of_refits_even_of_a_row_that_is_most_of_the_spread(estimate: str) -> None:
    X, y = table(14, 2, 2)
    X[4] = 1e5, -3e6
    model = GaussianNB(shared=True, estimate=estimate).fit(X, y)
    found = model.loo(X, y).elpd_i.values
    for row in range(len(X)):
        keep = np.arange(len(X)) != row
        own = GaussianNB(shared=True, estimate=estimate, prior=fixed_prior(model)).fit(X[keep], y[keep])
        assert found[row] == pytest.approx(own.predict_log_proba(X[[row]])[0, y[row]], rel=1e-9)


def test_learning_in_parts_merging_and_forgetting_are_one_fit() -> None:
    X, y = table(60, 3)
    whole = GaussianNB(shared=True).fit(X, y)
    prior = fixed_prior(whole)
    parts = GaussianNB(shared=True, prior=prior).partial_fit(X[:20], y[:20], classes=[0, 1, 2])
    parts.partial_fit(X[20:], y[20:])
    merged = GaussianNB(shared=True, prior=prior).fit(X[:20], y[:20])
    merged = merged.merge(GaussianNB(shared=True, prior=prior).fit(X[20:], y[20:]))
    some = GaussianNB(shared=True, prior=prior).fit(X, y).forget(X[20:], y[20:])
    for own in (parts, merged):
        same(own.model_.posterior.blocks[0], whole.model_.posterior.blocks[0])
        assert own.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    first = GaussianNB(shared=True, prior=prior).fit(X[:20], y[:20])
    same(some.model_.posterior.blocks[0], first.model_.posterior.blocks[0], rtol=1e-9)
    same(whole.decay(0.5).model_.posterior.blocks[0], parts.decay(0.5).model_.posterior.blocks[0])


def test_a_class_that_is_new_has_the_variance_of_all() -> None:
    X, y = table(30, 2)
    prior = fixed_prior(GaussianNB(shared=True).fit(X, y))
    model = GaussianNB(shared=True, prior=prior).partial_fit(X, y, grow_classes=True)
    model.partial_fit(X[:3] + 9, [7, 7, 7], grow_classes=True)
    together = GaussianNB(shared=True, prior=prior).fit(np.concatenate([X, X[:3] + 9]), [*y, 7, 7, 7])
    same(model.model_.posterior.blocks[0], together.model_.posterior.blocks[0])


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    X, y = table()
    model = NaiveBayes({0: Gaussian(shared=True), (1, 2): Gaussian()}).fit(X, y)
    model.save(tmp_path / "model.bnb")
    again = bayesnb.load(tmp_path / "model.bnb")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert [block.independent_classes for block in again.model_.prior.blocks] == [False, True]


def test_a_prior_that_differs_between_classes_in_what_they_have_in_common_is_refused() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="shape is about what all classes have in common"):
        NaiveBayes(Gaussian(NormalInverseGamma(0.0, 1.0, [[1.0], [2.0]], 1.0), shared=True)).fit(X, y)
    own = NaiveBayes(Gaussian(NormalInverseGamma([[0.0], [3.0]], [[1.0], [2.0]], 1.0, 1.0), shared=True)).fit(X, y)
    assert own.posterior_[0].count[1] > own.posterior_[0].count[0]


def test_a_class_without_rows_has_no_maximum_likelihood() -> None:
    X, y = table()
    model = GaussianNB(shared=True, estimate="mle", classes=[0, 1, 2], class_prior="uniform").fit(X, y)
    with pytest.raises(ValueError, match="2"):
        model.predict_proba(X)


def test_a_single_class_is_believed_of_as_if_it_were_alone() -> None:
    own = CASE.posterior[1]
    assert type(own) is NormalInverseGamma
    np.testing.assert_array_equal(own.log_predictive(CASE.x), CASE.posterior.log_predictive(CASE.spread())[:, 1])


def test_draws_have_one_variance() -> None:
    theta = CASE.posterior.sample(0, (2, 5))
    assert (theta.variance == theta.variance[..., :1, :]).all()
    assert len(np.unique(theta.variance[..., 0, 0])) == 10
    several = CASE.posterior.repeated(4).sample(0).variance.reshape(4, CLASSES, 2)
    assert (several == several[:, :1]).all()
    assert len(np.unique(several[:, 0])) == 8


# two classes at once


@pytest.mark.parametrize("s", [0.3, 1.0, -0.4, 1j, 0.5 + 2j, 1 + 0.5j])
def test_the_joint_moment_of_two_classes_is_that_of_draws(s: complex) -> None:
    """Powers of two densities that share a variance, at the places the log-odds ask for; five standard errors."""
    logs = CASE.posterior.sample(np.random.default_rng(6), 100_000).log_density(CASE.x[11])
    u = (1.0 if np.real(s) in (0.5, 1.0) else 0.0) - s
    truth = CASE.posterior[[0, 1]].pair_moment(CASE.x[[11]], np.array([s]), np.array([u]))[0, 0]
    ratio = np.exp((s * logs[:, 1] + u * logs[:, 0]).sum(axis=-1) - truth)
    for part, expected in ((ratio.real, 1.0), (ratio.imag, 0.0)):
        assert abs(part.mean() - expected) <= 5 * part.std() / np.sqrt(len(part)) + 1e-9


def test_the_joint_moment_of_one_class_is_that_of_the_class() -> None:
    belief, nothing = CASE.posterior[[0, 1]], np.zeros_like(NODES)
    np.testing.assert_allclose(
        belief.pair_moment(CASE.x, NODES, nothing), belief.score_transform(CASE.x, NODES)[:, 1], rtol=1e-10, atol=1e-11
    )
    np.testing.assert_allclose(
        belief.pair_moment(CASE.x, nothing, NODES), belief.score_transform(CASE.x, NODES)[:, 0], rtol=1e-10, atol=1e-11
    )


def test_a_joint_moment_that_does_not_exist_is_infinite() -> None:
    belief = CASE.posterior[[0, 1]]
    s = np.array([-1e3, -0.1, 0.0, 0.1, 1e3])
    found = belief.pair_moment(CASE.x[:3], s, -s)
    assert (np.isinf(found) == [True, False, False, False, True]).all()
    assert (found[:, [0, -1]] > 0).all()


@pytest.mark.parametrize(("t", "v"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.4, 0.2)])
def test_cumulants_of_two_classes_are_derivatives_of_their_joint_moment(t: float, v: float) -> None:
    """By Cauchy's integral on a small circle."""
    belief = CASE.posterior[[0, 1]]
    found, radius, points = belief.pair_cumulants(CASE.x, t, v), 0.05, 64
    angle = 2 * np.pi * (np.arange(points) + 0.5) / points
    z = radius * np.exp(1j * angle)
    values = belief.pair_moment(CASE.x, t + z, v - z)
    for n in range(1, 5):
        derivative = math.factorial(n) * (values * np.exp(-1j * n * angle)).mean(axis=1).real / radius**n
        np.testing.assert_allclose(found[n - 1], derivative, rtol=1e-8, atol=1e-14 * math.factorial(n) / radius**n)


FAMILIES = {
    "shared": {(0, 1, 2): Gaussian(shared=True)},
    "mixed": {(0, 1): Gaussian(shared=True), 2: Gaussian()},
    "with levels": {(0, 1): Gaussian(shared=True), 2: Categorical()},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("rows", ["observed", "fixed"])
@pytest.mark.parametrize("temper", [None, 0.4])
def test_ends_of_exact_intervals_have_their_share_of_draws(kind: str, rows: str, temper: float | None) -> None:
    X, y = table(16)
    X[:, 2] = np.nan_to_num(X[:, 2]).round() if kind == "with levels" else X[:, 2]
    model = NaiveBayes(FAMILIES[kind], temper=temper).fit(X, y)
    cells = np.array([X[2], [3.0, np.nan, X[0, 2]], [-9.0, 30.0, X[0, 2]]])
    law = model.predict_interval(cells, 0.8, rows=rows, method="exact")
    drawn = model.predict_interval(cells, 0.8, rows=rows, method="draws", draws=20_000, rng=3)
    for level, name in ((0.1, "lower"), (0.5, "median"), (0.9, "upper")):
        share = logit(law[name].values[:, 1])
        other = logit(drawn[name].values[:, 1])
        width = logit(law["upper"].values[:, 1]) - logit(law["lower"].values[:, 1])
        error = np.sqrt(level * (1 - level) / 20_000) * width / 2.56 / stats.norm.pdf(stats.norm.ppf(level))
        assert (np.abs(share - other) < 7 * error).all(), name  # the error is that of a normal law
    np.testing.assert_allclose(law.probability.values.sum(axis=1), 1.0)
    if rows == "observed":
        np.testing.assert_allclose(law.probability, model.predict_proba(cells), rtol=1e-12)
    quick = model.predict_interval(cells, 0.8, rows=rows)
    for name in ("probability", "lower", "median", "upper"):
        assert np.abs(quick[name] - law[name]).max() < 2e-3


@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_exact_entropies_are_those_of_draws(rows: str) -> None:
    X, y = table(16)
    model = GaussianNB(shared=True).fit(X, y)
    cells = np.array([X[2], [0.5, np.nan, 0.4]])
    found = model.uncertainty(cells, rows=rows)
    if rows == "fixed":
        p = model.draw_proba(cells, draws=10_000, rng=1).values.reshape(-1, 2, 2)
        entropy = -(p * np.log(p)).sum(axis=-1)
        assert (np.abs(entropy.mean(axis=0) - found.aleatoric) < 5 * entropy.std(axis=0) / 200).all()
        assert (np.abs(p.mean(axis=0) - found.probability) < 5 * p.std(axis=0) / 200).all()
    else:  # theta is weighed by p(x | theta)
        theta = model.model_.posterior.blocks[0].sample(np.random.default_rng(1), 100_000)
        weight = model.model_.posterior.classes.sample(np.random.default_rng(2), 100_000).log_probability
        for at, x in enumerate(cells):
            joint = theta.log_density(x).sum(axis=-1) + weight
            p, w = expit(joint[:, 1] - joint[:, 0]), np.exp(np.logaddexp(*joint.T))
            entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
            gap = w / w.mean() * (entropy - float(found.aleatoric[at]))
            assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))


def test_a_row_far_out_has_an_exact_law_too() -> None:
    X, y = table()
    model = GaussianNB(shared=True).fit(X, y)
    cells = np.array([[1e3, -1e3, 0.0], [np.nan] * 3])
    for rows in ("observed", "fixed"):
        law = model.predict_interval(cells, rows=rows, method="exact")
        assert (law.lower.values <= law["median"].values).all()
        assert (law["median"].values <= law.upper.values).all()


def test_three_classes_are_drawn_and_say_so_unless_one_is_impossible() -> None:
    X, y = table(60, 3)
    model = GaussianNB(shared=True).fit(X, y)
    with pytest.warns(DrawnWarning, match="under average_features or shared=True with three or more"):
        law = model.predict_interval(X[:2])
    np.testing.assert_allclose(law.probability, model.predict_proba(X[:2]), rtol=1e-12)
    with pytest.raises(ValueError, match="shared=True with three or more classes"):
        model.predict_interval(X[:2], method="exact")
    two = NaiveBayes(Gaussian(shared=True), class_prior={0: 0.5, 1: 0.0, 2: 0.5}).fit(X, y)
    law = two.predict_interval(X[:2], method="exact")
    assert (law.upper.values[:, 1] == 0).all()
    assert (law.upper.values[:, 0] > law.lower.values[:, 0]).all()


@pytest.mark.slow
def test_intervals_are_calibrated_where_classes_share_a_variance() -> None:
    """theta from the prior, a table and a row from theta: the interval holds p(y | x, theta) as often as it says."""
    rng, prior, inside = np.random.default_rng(9), NormalInverseGamma(0.0, 0.5, 3.0, 3.0), []
    for _ in range(400):
        variance = 3.0 / rng.standard_gamma(3.0, 2)
        mean = rng.normal(0.0, np.sqrt(variance / 0.5), (2, 2))
        share = rng.beta(1, 1)
        y = np.append(rng.random(12) < share, [False, True]).astype(int)
        weight = np.append(np.ones(12), [0.0, 0.0])
        X = rng.normal(mean[y], np.sqrt(variance))
        model = GaussianNB(shared=True, prior=prior, classes=[0, 1]).fit(X, y, weight)
        x = rng.normal(mean[int(rng.random() < share)], np.sqrt(variance))
        logs = stats.norm(mean, np.sqrt(variance)).logpdf(x).sum(axis=1) + np.log([1 - share, share])
        law = model.predict_interval(x[None], 0.8, method="exact")
        inside.append(float(law.lower[0, 1]) < expit(logs[1] - logs[0]) < float(law.upper[0, 1]))
    assert abs(np.mean(inside) - 0.8) < 4 * np.sqrt(0.16 / 400)


# priors


def test_the_gradient_of_the_evidence_is_its_slope() -> None:
    x = CASE.x / [1.0, 1e4]
    cells = GaussianEvidence(SharedGaussianStats.of(x, one_hot(CASE.codes, CLASSES)), True, True)
    dials = np.array([-0.3, 0.4, 0.2, 0.1])
    value, slope = cells.with_gradient(dials)
    step = 1e-6 * np.eye(4)
    np.testing.assert_allclose(
        slope, [(cells.with_gradient(dials + e)[0] - cells.with_gradient(dials - e)[0]) / 2e-6 for e in step], rtol=1e-6
    )
    np.testing.assert_allclose(cells.log_evidence(dials[:, None]), [value], rtol=1e-13)
    prior = cells.prior(dials)
    wide = (np.broadcast_to(each, (CLASSES, 2)) for each in (prior.location, prior.count, prior.shape, prior.scale))
    assert SharedNormalInverseGamma(*wide).log_evidence(cells.stats).sum() == pytest.approx(value, rel=1e-13)


def test_no_neighbour_of_the_tuned_prior_is_more_probable() -> None:
    X, y = table(60, 3, 8)
    X += 4 * np.arange(8) * y[:, None]  # so that classes have now a large part of the variance, now a small one
    X[:, 6:] *= [[1, 0.5]] + 0.5 * y[:, None]
    model = NaiveBayes({tuple(range(6)): Gaussian(shared=True), (6, 7): Gaussian()})
    tuned = tune(model, X, y)
    top = tuned.fit(X, y).log_evidence_
    assert top > model.fit(X, y).log_evidence_
    family = next(own for own in tuned.families.values() if own.shared)
    for name in ("count", "shape", "scale"):
        for factor in (0.97, 1.03):
            said = {"mean": family.prior.location, "count": family.prior.count}
            said |= {"shape": family.prior.shape, "scale": family.prior.scale}
            other = NormalInverseGamma(**(said | {name: factor * said[name]}))
            changed = {
                key: Gaussian(other, shared=True) if own is family else own for key, own in tuned.families.items()
            }
            assert NaiveBayes(changed).fit(X, y).log_evidence_ < top


def test_a_prior_for_each_class_is_refused() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="the variance of a column is that of all classes"):
        tune(GaussianNB(shared=True), X, y, per="class")


def test_relevance_is_about_the_means_alone() -> None:
    X, y = table(40, 2)
    model = GaussianNB(shared=True).fit(X, y)
    prior = fixed_prior(model)
    together = NaiveBayes(Gaussian(prior)).fit(X, np.zeros(len(X)))
    expected = model.log_evidence_by_feature()
    for column, found in enumerate(relevance(model).log_bayes_factor.values):
        assert found == pytest.approx(expected[column] - together.log_evidence_by_feature()[column], rel=1e-10)


def test_columns_that_share_a_variance_are_not_averaged() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="have parameters in common already"):
        NaiveBayes(Gaussian(shared=True), average_features=0.5).fit(X, y)


# PyMC


def test_the_variance_is_one_variable_in_pymc_and_a_hierarchy_has_the_evidence_of_its_parameters() -> None:
    pytest.importorskip("pymc")
    X, y = table(20, 2, 2)
    model = GaussianNB(shared=True).fit(X, y)
    plain = mcmc.build(model, X, y)
    assert {variable.name: variable.type.ndim for variable in plain.free_RVs} == {
        "class_prob": 1,
        "mu": 2,
        "sigma2_shared": 1,
    }
    learned = assemble(ModelPlan.of(ModelData.of(model, X, y), ModelOptions(hierarchical=True)), theta=False)
    said = {"mu_mean": [0.3, 1.0], "mu_spread": [2.0, 0.5], "sigma2_shape": [3.0, 1.5], "sigma2_typical": [0.8, 3.0]}
    values = {learned[name]: np.array(value) for name, value in said.items()}
    middle, spread, shape, typical = values.values()
    wide = (np.repeat(own[None], 2, axis=0) for own in (middle, spread**-2, shape, shape * typical))
    expected = SharedNormalInverseGamma(*wide).log_evidence(model.model_.stats.blocks[0]).sum()
    assert learned["x_evidence"].eval(values) == pytest.approx(expected, rel=1e-10)


def test_draws_of_a_hierarchy_are_as_many_models_each_with_its_variance() -> None:
    pytest.importorskip("pymc")
    X, y = table(20, 2, 2)
    plan = ModelPlan.of(ModelData.of(GaussianNB(shared=True), X, y), ModelOptions(hierarchical=True))
    (prior,), (say,), rng = plan.priors, plan.names, np.random.default_rng(3)
    draws = {say.hyper(name)["name"]: rng.gamma(2.0, size=(5, 2)) for name in prior.learned}
    given = prior.at_draws(draws, say)
    every = given(np.arange(5)).update(prior.stats[np.tile([0, 1], 5)])
    for draw in range(5):
        own = given(np.array([draw])).update(prior.stats)
        for name in ("location", "count", "shape", "scale"):
            np.testing.assert_allclose(getattr(every, name)[2 * draw : 2 * draw + 2], getattr(own, name), rtol=1e-13)


def test_the_error_that_is_told_of_drawn_intervals_is_how_far_they_move_with_the_seed() -> None:
    X, y = table(60, 3)
    model = GaussianNB(shared=True).fit(X[:12], y[:12])
    with pytest.warns(DrawnWarning, match=r"4000 draws each\): the largest standard error is") as told:
        model.predict_interval(X[20:23], 0.89, "fixed")
    error = float(str(told[0].message).rsplit(" ", 1)[1].rstrip("."))
    laws = [model.predict_interval(X[20:23], 0.89, "fixed", "draws", draws=4000, rng=seed) for seed in range(24)]
    ends = np.stack([np.stack([law[name].values for name in ("median", "lower", "upper")]) for law in laws])
    assert 0.5 < error / ends.std(axis=0, ddof=1).max() < 2
