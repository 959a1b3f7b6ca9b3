"""The linear form says what the plug-in says; its sds are those of weights under the posterior."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes as sk
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import log_softmax, logit, softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesnb as nb

ROWS = 300
RNG = np.random.default_rng(20261122)
CODE = np.arange(ROWS) % 3
Y = np.array(["ant", "bee", "cow"])[CODE]
TABLE = pd.DataFrame(
    {
        "colour": np.array(["red", "green", "blue"])[RNG.binomial(2, 0.2 + 0.2 * CODE)],
        "legs": RNG.poisson(6.0 - CODE),
        "flies": RNG.random(ROWS) < np.array([0.2, 0.8, 0.1])[CODE],
        "size": np.array(["s", "m"])[RNG.integers(0, 2, ROWS)],
        "weight": RNG.normal(CODE, 1),
    }
)
COUNTS = RNG.poisson(RNG.uniform(4.0, 9.0, (3, 6))[CODE])
FLAGS = (COUNTS[:, :4] > 6).astype(float)
NUMBERS = RNG.normal([0, 10, 500] + CODE[:, None] * [1, 2, 30], [1.0, 3.0, 20.0])
NUMBERS[:, 1] += NUMBERS[:, 0]
LEVELS = TABLE[["colour", "size"]]
VECTORS = nb.MultivariateGaussian(shared=True)
MIXED = {"legs": nb.Poisson(), "weight": nb.Bernoulli(threshold=1.0)}
BLOCKS = {(0, 2): nb.Multinomial(), (5, 1, 4): nb.Multinomial(2.0), 3: nb.Poisson()}
TABLES: dict[str, tuple[Any, Any]] = {
    "bernoulli": (nb.Bernoulli(), FLAGS),
    "sparse flags": (nb.Bernoulli(threshold=6.0), sparse.csr_array(COUNTS)),
    "categorical": (nb.Categorical(2.0), LEVELS),
    "sparse words": (nb.Multinomial(), sparse.csr_array(COUNTS)),
    "poisson": (nb.Poisson(), COUNTS),
    "shared": (nb.Gaussian(shared=True), NUMBERS),
    "vectors": (VECTORS, NUMBERS),
    "two blocks": (BLOCKS, COUNTS),
    "all kinds": (MIXED | {"weight": nb.Gaussian(shared=True)}, TABLE),
}


def fitted(name: str, **options: Any) -> tuple[nb.NaiveBayes, Any]:
    family, x = TABLES[name]
    return nb.NaiveBayes(family, **options).fit(x, Y), x


def scores(model: nb.NaiveBayes, x: Any, **options: Any) -> np.ndarray:
    form = model.linear_form(**options)
    return model.linear_features(x) @ form.w.values.T + form.b.values


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "options",
    [
        {"estimate": "mean", "temper": 0.3, "class_prior": "uniform"},
        {"estimate": "map"},
        {"estimate": "mle", "class_prior": {"ant": 0.7, "bee": 0.2, "cow": 0.1}},
    ],
)
def test_the_form_has_the_plug_ins_probabilities(name: str, options: dict[str, Any]) -> None:
    model, x = fitted(name, **options)
    expected = model.predict_log_proba(x)
    for own in (scores(model, x), scores(model, x, against="bee")):
        assert_allclose(log_softmax(own, axis=1), expected, rtol=1e-9, atol=1e-11)


def test_weights_are_scikit_learns() -> None:
    words = nb.MultinomialNB(alpha=0.7, class_prior="empirical").fit(COUNTS, Y).linear_form()
    theirs = sk.MultinomialNB(alpha=0.7).fit(COUNTS, Y)
    assert_allclose(words.w, theirs.feature_log_prob_, rtol=1e-12)
    assert_allclose(words.b, theirs.class_log_prior_, rtol=1e-12)
    options = {"estimate": "mle", "class_prior": "empirical"}
    numbers = nb.NaiveBayes(VECTORS, **options).fit(NUMBERS, Y).linear_form(against="ant")
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(NUMBERS, Y)
    assert_allclose(numbers.w, theirs.coef_ - theirs.coef_[0], rtol=1e-9, atol=1e-11)
    assert_allclose(numbers.b, theirs.intercept_ - theirs.intercept_[0], rtol=1e-9, atol=1e-10)


def draw(name: str, model: Any, rng: Any, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw weights `(s, c, k)`, and what features add to offsets, from known distributions."""
    beliefs = list(model.posterior_.values())
    if name == "vectors":
        (belief,) = beliefs
        cov = stats.invwishart(belief.dof[0], belief.scale[0]).rvs(draws, random_state=rng)
        noise = rng.normal(size=(draws, 3, 3)) / np.sqrt(belief.count[:, None])
        mean = belief.location + noise @ np.linalg.cholesky(cov).swapaxes(1, 2)
        w = mean @ np.linalg.inv(cov)
        return w, -(w * mean).sum(axis=-1) / 2
    weights = []
    offsets = []
    for belief in beliefs:
        if name == "bernoulli":
            theta = rng.beta(belief.a, belief.b, (draws, 3))
            own = logit(theta)[..., None], np.log1p(-theta)
        elif name == "poisson":
            rate = rng.gamma(belief.shape, 1 / belief.rate, (draws, 3))
            own = np.log(rate)[..., None], -rate
        else:
            shares = [rng.dirichlet(each, draws) for each in belief.concentration]
            own = np.log(np.stack(shares, axis=1)), 0.0
        weights.append(own[0])
        offsets.append(own[1])
    return np.concatenate(weights, axis=-1), sum(offsets)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "sparse words", "poisson", "vectors"])
def test_sds_are_those_of_draws(name: str) -> None:
    (model, _), rng, draws = fitted(name, temper=0.5), np.random.default_rng(1), 20_000
    w, b = draw(name, model, rng, draws)
    shares = rng.dirichlet(model.class_posterior_.concentration, draws)
    w = 0.5 * w
    b = 0.5 * b + np.log(shares)
    for against in (None, "bee"):
        form = model.linear_form(against=against)
        for values, sd in ((w, form.w_sd.values), (b, form.b_sd.values)):
            gap = values if against is None else values - values[:, [1]]
            square = (gap - gap.mean(axis=0)) ** 2
            error = square.std(axis=0) / np.sqrt(draws)
            assert (np.abs(square.mean(axis=0) - sd**2) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("family", [nb.Gaussian(shared=True), VECTORS])
def test_far_from_zero_differences_keep_their_digits(family: Any) -> None:
    model = nb.NaiveBayes(family, estimate="mle")
    one, two = (model.fit(x, Y).linear_form(against="ant") for x in (NUMBERS, NUMBERS + 1e7))
    assert_allclose(two.w, one.w, rtol=1e-7, atol=1e-7)


def test_levels_are_features_beside_their_columns() -> None:
    model, _ = fitted("all kinds")
    form = model.linear_form()
    colours = ["colour=blue", "colour=green", "colour=red"]
    sizes = ["size=m", "size=s"]
    assert form.feature.values.tolist() == [*colours, "legs", "flies", *sizes, "weight"]
    assert form.column.values.tolist()[2:6] == ["colour", "legs", "flies", "size"]
    assert form.level.values.tolist()[2:6] == ["red", "", "", "m"]
    assert_allclose(form.w.values[:, :3], np.log(model.posterior_["colour"].mean()), rtol=1e-14)


def test_a_missing_or_unknown_level_is_left_out() -> None:
    model = nb.NaiveBayes(nb.Categorical(unseen="reserve"), estimate="mean").fit(LEVELS, Y)
    new = pd.DataFrame({"colour": [None, "red", "mauve"], "size": ["m", None, "s"]})
    assert_allclose(softmax(scores(model, new), axis=1), model.predict_proba(new), rtol=1e-11)
    ignoring, _ = fitted("categorical")
    with pytest.warns(nb.UnseenLevelWarning, match="mauve"):
        x = ignoring.linear_features(new)
    assert x.tolist() == [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]


def test_an_impossible_class_has_an_offset_of_minus_infinity() -> None:
    prior = {"ant": 0.5, "asp": 0.0, "bee": 0.25, "cow": 0.25}
    model = nb.NaiveBayes(nb.Bernoulli(), class_prior=prior, classes=list(prior), estimate="mle")
    form = model.fit(FLAGS, Y).linear_form(against="cow")
    assert_allclose(softmax(scores(model, FLAGS), axis=1), model.predict_proba(FLAGS), atol=1e-12)
    assert np.isneginf(form.b.values).tolist() == [False, True, False, False]
    assert not form.w.values[1].any()
    with pytest.raises(ValueError, match="'asp' has probability 0"):
        model.linear_form(against="asp")


def fit(family: Any, x: Any, y: Any = Y, **options: Any) -> nb.NaiveBayes:
    return nb.NaiveBayes(family, **options).fit(x, y)


HOLES = FLAGS.copy()
HOLES[2, 3] = np.nan
YES = [["a"], ["b"], ["a"]], ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit("auto", TABLE).linear_form(), r"'weight'.*shared=True"),
        (lambda: fit("multivariate", NUMBERS).linear_form(), r"MultivariateGaussian\(shared=True"),
        (lambda: fit(nb.JointTable(), LEVELS).linear_form(), r"\(JointTable\).*Categorical"),
        (lambda: fit("auto", *YES, estimate="mle").linear_form(), "'0=a', class 'no'.* is 0"),
        (lambda: fit("poisson", COUNTS).linear_form(against="dog"), "against must be one of"),
        (lambda: nb.NaiveBayes().linear_form(), "not fitted"),
        (lambda: fit("bernoulli", FLAGS).linear_features(HOLES), "column 3: .* at row 2"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
