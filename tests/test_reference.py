"""Published, hand-computed and third-party numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes as peer
from scipy import sparse
from scipy.special import gammaln, logsumexp, poch
from scipy.stats import dirichlet_multinomial, norm, t

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
)
from bayesnb.data import open_table
from bayesnb.families.gaussian import GaussianStats
from bayesnb.model.product import Rows, normalised, observe
from bayesnb.numerics.special import log_gamma_ratio, on_circle

Array = np.ndarray
RNG = np.random.default_rng(7)
Y = RNG.integers(0, 3, 200)
COUNTS = RNG.poisson(np.array([[0.3, 2, 5, 0.1], [1, 1, 1, 1], [4, 0.2, 0.5, 3]])[Y]).astype(float)
REAL = RNG.normal(Y[:, None] * [1.0, 0.0, 100.0, 1e-3], [1.0, 2.0, 50.0, 1e-3])
WEIGHT = RNG.integers(0, 4, 200) + 0.5

DISCRETE = [
    (MultinomialNB, peer.MultinomialNB, {}),
    (BernoulliNB, peer.BernoulliNB, {}),
    (BernoulliNB, peer.BernoulliNB, {"binarize": 1.0}),
    (CategoricalNB, peer.CategoricalNB, {}),
    (CategoricalNB, peer.CategoricalNB, {"min_categories": 30}),
]


@pytest.mark.parametrize(("ours", "theirs", "arguments"), DISCRETE, ids=lambda v: getattr(v, "__name__", str(v)))
@pytest.mark.parametrize("alpha", [0.01, 1.0, 7.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.coo_array], ids=["dense", "csr", "coo"])
def test_posterior_mean_equals_scikit_learn(
    ours: Any, theirs: Any, arguments: dict, alpha: float, container: Callable
) -> None:
    container = np.asarray if ours is CategoricalNB else container  # neither side takes sparse codes
    x = container(COUNTS)
    mine = ours(alpha=alpha, estimate="mean", class_prior="empirical", **arguments).fit(x, Y, sample_weight=WEIGHT)
    other = theirs(alpha=alpha, **arguments).fit(x, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(mine.predict_proba(x), other.predict_proba(x), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(mine.predict(x), other.predict(x))


@pytest.mark.parametrize(("ours", "theirs", "arguments"), DISCRETE[:4], ids=lambda v: getattr(v, "__name__", str(v)))
def test_batches_equal_scikit_learns_batches(ours: Any, theirs: Any, arguments: dict) -> None:
    mine, other = ours(estimate="mean", class_prior="empirical", **arguments), theirs(**arguments)
    for rows in np.array_split(np.arange(200), 7):
        mine.partial_fit(COUNTS[rows], Y[rows], classes=[0, 1, 2], sample_weight=WEIGHT[rows])
        other.partial_fit(COUNTS[rows], Y[rows], classes=[0, 1, 2], sample_weight=WEIGHT[rows])
    np.testing.assert_allclose(mine.predict_proba(COUNTS), other.predict_proba(COUNTS), rtol=0, atol=1e-10)


PRESETS = {MultinomialNB: peer.MultinomialNB, BernoulliNB: peer.BernoulliNB, CategoricalNB: peer.CategoricalNB,
           GaussianNB: peer.GaussianNB}  # fmt: skip


@pytest.mark.parametrize("ours", PRESETS, ids=lambda preset: preset.__name__)
def test_code_for_scikit_learn_runs_when_the_import_is_changed(ours: Any) -> None:
    theirs = PRESETS[ours]()
    mine = ours(**theirs.get_params()).fit(COUNTS, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(mine.predict_proba(COUNTS), ours().fit(COUNTS, Y, WEIGHT).predict_proba(COUNTS))
    assert mine.predict_proba(COUNTS).shape == theirs.fit(COUNTS, Y).predict_proba(COUNTS).shape


def test_a_smoothing_of_variances_that_is_not_the_default_is_an_error_that_names_the_prior() -> None:
    with pytest.raises(ValueError, match=r"var_smoothing must be 1e-09.*got 0\.01.*prior=NormalInverseGamma"):
        GaussianNB(var_smoothing=0.01).fit(REAL, Y)


@pytest.mark.parametrize("prior", [[0.2, 0.5, 0.3], "uniform"])
def test_known_class_priors_equal_scikit_learn(prior: Any) -> None:
    theirs = peer.MultinomialNB(fit_prior=False) if prior == "uniform" else peer.MultinomialNB(class_prior=prior)
    expected = theirs.fit(COUNTS, Y).predict_proba(COUNTS)
    mine = MultinomialNB(estimate="mean", class_prior=prior).fit(COUNTS, Y)
    np.testing.assert_allclose(mine.predict_proba(COUNTS), expected, rtol=0, atol=1e-10)
    if prior == "uniform":
        same = MultinomialNB(estimate="mean", fit_prior=False).fit(COUNTS, Y)
        np.testing.assert_array_equal(same.predict_proba(COUNTS), mine.predict_proba(COUNTS))


def test_gaussian_maximum_likelihood_equals_scikit_learn_without_its_epsilon() -> None:
    mine = GaussianNB(estimate="mle", class_prior="empirical")
    other = peer.GaussianNB(var_smoothing=0)
    for weight in (None, WEIGHT):
        a = mine.fit(REAL, Y, sample_weight=weight).predict_proba(REAL)
        b = other.fit(REAL, Y, sample_weight=weight).predict_proba(REAL)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)
    for rows in np.array_split(np.arange(200), 5):
        mine.partial_fit(REAL[rows], Y[rows]) if rows[0] else mine.fit(REAL[rows], Y[rows])
        other.partial_fit(REAL[rows], Y[rows]) if rows[0] else other.fit(REAL[rows], Y[rows])
    np.testing.assert_allclose(mine.predict_proba(REAL), other.predict_proba(REAL), rtol=0, atol=1e-10)


def test_the_two_readings_of_a_smoothing_are_one_formula() -> None:
    """(n + l) / (N + l K) is the mean under Dirichlet(l) and the mode under Dirichlet(1 + l)."""
    x = COUNTS.astype(int)
    for smoothing in (0.3, 2.0):
        mean = NaiveBayes(Categorical(smoothing), estimate="mean", class_prior="empirical").fit(x, Y)
        mode = NaiveBayes(Categorical(1 + smoothing), estimate="map", class_prior="empirical").fit(x, Y)
        np.testing.assert_allclose(mean.predict_proba(x), mode.predict_proba(x), rtol=1e-12)
    levels, n = np.unique(x[Y == 1, 0], return_counts=True)
    all_levels = np.unique(x[:, 0])
    by_hand = (dict(zip(levels.tolist(), n.tolist(), strict=True)).get(0, 0) + 2.0) / (
        (Y == 1).sum() + 2.0 * len(all_levels)
    )
    assert mean.posterior_[0].mean()[1, 0] == pytest.approx(by_hand, rel=1e-14)


def test_smoothed_categorical_plug_in_is_already_the_predictive() -> None:
    x = COUNTS.astype(int)
    a = CategoricalNB(estimate="mean").fit(x, Y).predict_proba(x)
    np.testing.assert_allclose(a, CategoricalNB().fit(x, Y).predict_proba(x), rtol=1e-12)


DOGS = np.array([[45, 30, 0], [30, 25, 1], [40, 35, 1], [20, 15, 0], [22, 18, 1], [25, 20, 1]], float)
BREED = ["Labradoodle"] * 3 + ["English cocker"] * 3


def test_the_dogs_of_the_lecture_by_maximum_likelihood() -> None:
    model = NaiveBayes({(0, 1): "gaussian", 2: Bernoulli()}, estimate="mle").fit(DOGS, BREED)
    joint = np.exp(model.predict_joint_log_proba([[25, 31, 1]])[0])
    assert model.classes_.tolist() == ["English cocker", "Labradoodle"]
    assert joint[1] == pytest.approx(2.0566e-4, abs=5e-9)
    density = model.stats_.blocks[[0 in b.places for b in model.schema_.blocks].index(True)].mle()
    np.testing.assert_allclose(density.variance[1], [38.89, 16.67], atol=0.005)
    assert np.exp(density.log_density(np.array([25.0, 31.0]))[0, 1]) == pytest.approx(1.397e-10, abs=5e-14)


def test_the_dogs_of_the_lecture_by_every_parameter_integrated_out() -> None:
    """Brute force: the predictive of each column is Student's t by its formula, of the tail (n + 1) / (N + 2)."""
    model = NaiveBayes({(0, 1): "gaussian", 2: Bernoulli()}).fit(DOGS, BREED)
    scores = []
    for rows in (slice(3, 6), slice(0, 3)):
        score = np.log((3 + 1) / (6 + 2)) + np.log((2 + 1) / (3 + 2))
        for column, cell in ((0, 25.0), (1, 31.0)):
            x, whole = DOGS[rows, column], DOGS[:, column]
            count, shape, center = 3.01, 1 + 1.5, (0.01 * whole.mean() + x.sum()) / 3.01
            scale = whole.var() + (((x - x.mean()) ** 2).sum() + 0.01 * 3 / 3.01 * (x.mean() - whole.mean()) ** 2) / 2
            score += t.logpdf(cell, 2 * shape, center, np.sqrt(scale * (count + 1) / (shape * count)))
        scores.append(score)
    np.testing.assert_allclose(model.predict_joint_log_proba([[25, 31, 1]])[0], scores, rtol=1e-13)
    assert model.predict_proba([[25, 31, 1]])[0, 1] == pytest.approx(0.719, abs=5e-4)


def test_the_spam_coins() -> None:
    """Each word of a vocabulary is a coin that the class flips: (n + 1) / (N + 2)."""
    has_word = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 1], [0, 0, 1]])
    model = NaiveBayes(Bernoulli()).fit(has_word, ["spam", "spam", "spam", "ham", "ham"])
    spam = 4 / 7 * (4 / 5) * (2 / 5) * (3 / 5)  # money, not: now, not: meeting
    ham = 3 / 7 * (1 / 4) * (3 / 4) * (1 / 4)
    assert model.predict_proba([[1, 0, 0]])[0].tolist() == pytest.approx(
        [ham / (ham + spam), spam / (ham + spam)], rel=1e-13
    )


def test_the_spam_die() -> None:
    """The class throws a die over the words once for every word of the mail."""
    words = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 4]])
    model = NaiveBayes(Multinomial()).fit(words, ["spam", "spam", "ham"])
    mail = np.array([2, 0, 1])
    log_spam = np.log(3 / 5) + dirichlet_multinomial.logpmf(mail, [6, 2, 1], 3)
    log_ham = np.log(2 / 5) + dirichlet_multinomial.logpmf(mail, [1, 2, 5], 3)
    np.testing.assert_allclose(model.predict_joint_log_proba([mail])[0], [log_ham, log_spam], rtol=1e-13)


def test_a_sparse_table_of_counts_is_one_multinomial() -> None:
    model = NaiveBayes(temper=None).fit(sparse.csc_matrix(COUNTS), Y)
    assert isinstance(model.families_[2], Multinomial)
    expected = NaiveBayes(Multinomial()).fit(COUNTS, Y)
    np.testing.assert_allclose(
        model.predict_proba(sparse.lil_matrix(COUNTS)), expected.predict_proba(COUNTS), rtol=1e-12
    )
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-13)


@pytest.mark.parametrize("family", [Poisson(), Bernoulli(threshold=0.5), Multinomial(), None], ids=str)
def test_sparse_and_dense_tables_are_one_table(family: Any) -> None:
    dense = NaiveBayes(family, temper=0.7) if family else GaussianNB(temper=0.7)
    other = NaiveBayes(family, temper=0.7) if family else GaussianNB(temper=0.7)
    a, b = dense.fit(COUNTS, Y), other.fit(sparse.csr_array(COUNTS), Y)
    np.testing.assert_allclose(a.predict_proba(COUNTS), b.predict_proba(sparse.csc_array(COUNTS)), rtol=1e-10)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, rel=1e-12)


def test_large_counts_in_text_follow_scipy() -> None:
    """Counts on both sides of where a product of factors gives way to log gammas."""
    x = np.array([[15.0, 0, 1], [16, 3, 0], [17, 200, 2], [1e5, 1, 16], [0, 0, 0]])
    model = MultinomialNB(alpha=0.3).fit(COUNTS[:, :3], Y)
    concentration = model.posterior_[(0, 1, 2)].concentration
    log_class = np.log((np.bincount(Y) + 1) / (len(Y) + 3))
    for row, joint in zip(x, model.predict_joint_log_proba(x), strict=True):
        size = row.sum()
        by_hand = [
            gammaln(size + 1) - gammaln(row + 1).sum() - np.log(poch(a.sum(), size)) + np.log(poch(a, row)).sum()
            if size < 100
            else gammaln(size + 1)
            - gammaln(row + 1).sum()
            + (gammaln(a + row) - gammaln(a)).sum()
            - gammaln(a.sum() + size)
            + gammaln(a.sum())
            for a in concentration
        ]
        np.testing.assert_allclose(joint, log_class + by_hand, rtol=1e-9, atol=1e-9)


def test_large_differences_of_log_gammas_keep_their_digits() -> None:
    for a in (20.0, 1e3, 1e6, 1e9, 1e12, 1e15):
        assert log_gamma_ratio(a, 5) == pytest.approx(np.log(a + np.arange(5)).sum(), rel=1e-15)
        assert log_gamma_ratio(a + 5, -5) == pytest.approx(-np.log(a + np.arange(5)).sum(), rel=1e-15)
        whole = (
            log_gamma_ratio(a, np.array(3j))
            + log_gamma_ratio(a + 1, np.array(3j))
            - 2 * log_gamma_ratio(a, np.array(3j))
        )
        assert whole == pytest.approx(np.log((a + 3j) / a), rel=1e-9, abs=1e-12)


def test_the_student_t_is_right_far_out_where_squares_overflow() -> None:
    prior = NormalInverseGamma(0.0, 1.0, 2.0, 1.0)
    scale = np.sqrt(1.0 * 2 / 2)
    for x in (1e3, 1e100, 1e200, 1e300):
        tail = t(4).logpdf(1e3) - 5 * (np.log(x) - np.log(1e3)) if x > 1e3 else t(4).logpdf(x)
        assert prior.log_predictive(np.array(x * scale)) == pytest.approx(
            tail - np.log(scale), rel=1e-6 if x > 1e3 else 1e-13
        )


def test_tempering_scales_the_features_only() -> None:
    full = GaussianNB(estimate="mle", class_prior="empirical").fit(REAL, Y)
    half = GaussianNB(estimate="mle", class_prior="empirical", temper=0.5).fit(REAL, Y)
    log_class = np.log(np.bincount(Y) / len(Y))
    expected = log_class + 0.5 * (full.predict_joint_log_proba(REAL) - log_class)
    np.testing.assert_allclose(half.predict_joint_log_proba(REAL), expected, rtol=1e-12)


def test_a_tempered_predictive_is_the_predictive_to_the_power() -> None:
    """t log E[p(x | mean, variance)] by draws, within five standard errors."""
    model = GaussianNB(temper=0.3).fit(REAL[:, :1], Y)
    cell, draws = 1.2, 400_000
    theta = model.posterior_[0].sample(np.random.default_rng(1), draws)
    density = norm(theta.mean, np.sqrt(theta.variance)).pdf(cell)
    error = 0.3 * density.std(axis=0) / np.sqrt(draws) / density.mean(axis=0)
    joint = np.log((np.bincount(Y) + 1) / (len(Y) + 3)) + 0.3 * np.log(density.mean(axis=0))
    assert (np.abs(model.predict_joint_log_proba([[cell]])[0] - joint) < 5 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [GaussianNB(), MultinomialNB(), BernoulliNB(), CategoricalNB(), PoissonNB()], ids=repr
)
def test_temper_by_loo_has_the_best_brute_force_leave_one_out_score_under_its_prior(model: Any) -> None:
    """Refit without each row, priors held, and look at the exponents beside the one that was chosen, up to 1."""
    x, y = (REAL if isinstance(model, GaussianNB) else COUNTS)[:60, :3], Y[:60]
    chosen = model.set_params(temper="loo").fit(x, y).temper_
    whole, schema = model.model_, model.schema_
    cells = schema.read(open_table(x))

    def brute(power: float) -> float:
        total = -((np.log(power) / 0.5) ** 2) / 2
        for row in range(60):
            gone = observe(Rows(schema.observers, [c[row : row + 1] for c in cells], y[row : row + 1]), 3)
            posterior = whole.prior.update(whole.stats - gone)
            joint = posterior.log_joint([c[row : row + 1] for c in cells], power)
            total += float(normalised(joint)[0, y[row]])
        return total

    best = brute(chosen)
    assert chosen == 1 or best >= brute(min(chosen * 1.05, 1.0)) - 1e-9
    assert best >= brute(chosen / 1.05) - 1e-9


def test_evidence_is_a_sum_of_terms_and_the_labels_own() -> None:
    model = GaussianNB().fit(REAL, Y)
    counts = np.bincount(Y)
    labels = gammaln(3) - gammaln(3 + len(Y)) + gammaln(1 + counts).sum()
    assert model.log_evidence_ == pytest.approx(labels + sum(model.log_evidence_by_feature().values()), rel=1e-13)


def test_class_prior_forms_mean_what_they_say() -> None:
    x, counts = REAL, np.bincount(Y)
    nothing = np.full((1, 4), np.nan)

    def of(**said: Any) -> Array:
        return NaiveBayes(**said).fit(x, Y).predict_proba(nothing)[0]

    np.testing.assert_allclose(of(), (counts + 1) / (200 + 3), rtol=1e-13)
    np.testing.assert_allclose(of(class_prior=0.5), (counts + 0.5) / 201.5, rtol=1e-13)
    np.testing.assert_allclose(of(class_prior="empirical"), counts / 200, rtol=1e-13)
    np.testing.assert_allclose(of(class_prior="uniform"), np.full(3, 1 / 3), rtol=1e-13)
    np.testing.assert_allclose(of(class_prior={0: 0.5, 2: 0.2, 1: 0.3}), [0.5, 0.3, 0.2], rtol=1e-13)
    in_order = of(class_prior=Dirichlet([3.0, 1.0, 2.0]), classes=[2, 0, 1])
    np.testing.assert_allclose(in_order, (counts + np.array([1.0, 2.0, 3.0])) / 206, rtol=1e-13)


def test_a_declared_class_without_rows_keeps_its_prior_mass() -> None:
    for estimate in ("predictive", "mean"):
        model = NaiveBayes(classes=[0, 1, 2, 9], estimate=estimate).fit(REAL, Y)
        got = model.predict_proba(np.full((1, 4), np.nan))[0]
        np.testing.assert_allclose(got, np.append(np.bincount(Y) + 1, 1) / 204, rtol=1e-13)
    for estimate in ("map", "mle"):
        model = NaiveBayes(classes=[0, 1, 2, 9], estimate=estimate).fit(REAL, Y)
        assert (model.predict_proba(REAL)[:, 3] == 0).all()
        np.testing.assert_allclose(model.predict_proba(REAL).sum(axis=1), 1, rtol=1e-12)


def test_joint_log_probabilities_normalise_to_the_probabilities() -> None:
    model = PoissonNB().fit(COUNTS, Y)
    joint = model.predict_joint_log_proba(COUNTS)
    expected = joint - logsumexp(joint, axis=1)[:, None]
    np.testing.assert_allclose(model.predict_log_proba(COUNTS), expected, rtol=1e-13, atol=1e-14)


def test_a_row_keeps_its_evidence_after_very_many_others() -> None:
    seen = NormalInverseGamma(3.0, 1e12, 5e11, 5e11)
    row = GaussianStats(np.array(1.0), np.array(4.0), np.array(0.0))
    assert seen.log_evidence(row) == pytest.approx(norm(3, 1).logpdf(4), rel=1e-11)
    assert seen.log_predictive(np.array(4.0)) == pytest.approx(norm(3, 1).logpdf(4), rel=1e-11)


@pytest.mark.parametrize(("ours", "theirs", "arguments"), DISCRETE, ids=lambda v: getattr(v, "__name__", str(v)))
def test_fitted_attributes_of_the_mean_are_scikit_learns(ours: Any, theirs: Any, arguments: dict) -> None:
    mine = ours(alpha=0.3, estimate="mean", class_prior="empirical", **arguments).fit(COUNTS, Y, WEIGHT)
    other = theirs(alpha=0.3, **arguments).fit(COUNTS, Y, WEIGHT)
    names = {"class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"}
    if ours is CategoricalNB:
        names = names - {"feature_count_"} | {"category_count_", "n_categories_"}
    for name in names:
        pairs = (getattr(mine, name), getattr(other, name))
        for one, two in zip(*pairs, strict=True) if isinstance(pairs[1], list) else [pairs]:
            np.testing.assert_allclose(one, two, rtol=1e-12, err_msg=name)


def test_fitted_attributes_of_gaussian_maximum_likelihood_are_scikit_learns() -> None:
    mine = GaussianNB(estimate="mle", priors=[0.2, 0.3, 0.5]).fit(REAL, Y, WEIGHT)
    other = peer.GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=0).fit(REAL, Y, WEIGHT)
    for name in ("class_count_", "theta_", "var_"):
        np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(np.exp(mine.class_log_prior_), other.class_prior_, rtol=1e-12)
    np.testing.assert_allclose(mine.predict_proba(REAL), other.predict_proba(REAL), atol=1e-10)


@pytest.mark.parametrize("ours", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_force_alpha_false_clips_a_tiny_alpha_as_scikit_learn_does(ours: Any) -> None:
    theirs, said = getattr(peer, ours.__name__), {"alpha": 1e-30, "force_alpha": False}
    x = np.column_stack([COUNTS, Y == 1])  # the other classes have none of the last
    mine = ours(estimate="mean", class_prior="empirical", **said).fit(x, Y)
    with pytest.warns(UserWarning, match="alpha too small"):
        other = theirs(**said).fit(x, Y)
    for one, two in zip(mine.feature_log_prob_, other.feature_log_prob_, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    kept = ours(estimate="mean", alpha=1e-30).fit(x, Y)
    least, clipped = (min(np.min(each) for each in model.feature_log_prob_) for model in (kept, mine))
    assert least < clipped - 40


def test_what_is_integrated_out_has_no_fitted_value() -> None:
    for model in (GaussianNB(), MultinomialNB(), BernoulliNB(), CategoricalNB()):
        names = ("theta_", "var_") if isinstance(model, GaussianNB) else ("feature_log_prob_", "class_log_prior_")
        assert not any(hasattr(model, name) for name in (*names, "class_count_"))
        model.fit(COUNTS, Y)
        np.testing.assert_array_equal(model.class_count_, np.bincount(Y))
        for name in names:
            with pytest.raises(AttributeError, match="estimate='predictive' integrates the parameters out"):
                getattr(model, name)


def test_priors_are_another_name_of_class_prior_of_which_one_is_given() -> None:
    one = GaussianNB(priors=[0.2, 0.3, 0.5]).fit(REAL, Y)
    two = GaussianNB(class_prior=[0.2, 0.3, 0.5]).fit(REAL, Y)
    np.testing.assert_array_equal(one.predict_proba(REAL), two.predict_proba(REAL))
    with pytest.raises(ValueError, match="give one of them"):
        GaussianNB(priors=[0.2, 0.3, 0.5], class_prior="uniform").fit(REAL, Y)
    with pytest.raises(ValueError, match="sum to 1"):
        GaussianNB(priors=[0.2, 0.3, 0.4]).fit(REAL, Y)


def test_numbers_on_the_unit_circle_are_numpys_exponentials() -> None:
    angle = np.concatenate([np.linspace(-7, 7, 5001), np.linspace(-1e4, 1e4, 5001)])
    np.testing.assert_allclose(on_circle(angle), np.exp(1j * angle), rtol=0, atol=5e-16)
