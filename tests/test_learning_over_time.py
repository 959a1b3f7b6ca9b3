"""Learning, merging, forgetting and decay where it is hard: rounding, new levels and classes.

That they equal a fit in general is in test_contract.py and test_lifetimes.py.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    UnseenLevelWarning,
)

Array = np.ndarray
ROWS = 60
NOT_LEARNT = "column 0, class 0: some of these cells were not learnt there"
RNG = np.random.default_rng(20261122)
Y = np.array(["alder", "birch", "oak"])[RNG.integers(0, 3, ROWS)]
REAL = RNG.normal([0, 1, 2], [1, 2, 0.5], (ROWS, 3))
FLAGS = (RNG.random((ROWS, 3)) < 0.4).astype(float)
CODES = RNG.integers(0, 4, (ROWS, 3))
FRAME = pd.DataFrame(REAL[:, :2], columns=["height", "girth"])
FRAME["bark"] = np.array(["rough", "smooth", "peeling", "burnt"], object)[CODES[:, 0]]
FRAME["leaves"] = RNG.poisson(3.0, ROWS)
PRIOR = NormalInverseGamma(0.5, 0.3, 1.5, 2.0)
PRESETS = {
    "bernoulli": BernoulliNB(binarize=2.0),
    "multinomial": MultinomialNB(),
    "categorical": CategoricalNB(),
    "poisson": PoissonNB(prior=Gamma(1, 1)),
    "gaussian": GaussianNB(prior=PRIOR),
}
EVERY = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


def numbers_of(model: Any) -> list[Array]:
    """All arrays of the posterior, and the evidence."""
    beliefs = [*model.posterior_.values(), model.class_posterior_]
    arrays = [array for belief in beliefs for array in vars(belief).values()]
    return [array for array in arrays if isinstance(array, np.ndarray)]


def assert_same(one: Any, two: Any, rtol: float = 1e-12) -> None:
    assert_array_equal(one.classes_, two.classes_)
    for a, b in zip(numbers_of(one), numbers_of(two), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=rtol)
    assert_allclose(one.log_evidence_, two.log_evidence_, rtol=rtol, atol=rtol)


def assert_refused(call: Callable[[], Any], model: Any, match: str) -> None:
    """The call is an error that says so, and leaves the model as it was, to the last bit."""
    before = numbers_of(model)
    with pytest.raises((ValueError, TypeError), match=match):
        call()
    for was, now in zip(before, numbers_of(model), strict=True):
        assert_array_equal(now, was)


# What rounding leaves


@EVERY
def test_rounding_leaves_nothing_of_nothing_and_one_row_of_many(preset: Any) -> None:
    x = [[1.0], [1.0], [5.0]]
    y = [0, 0, 1]
    model = clone(preset).fit(x, y, [0.1, 0.2, 1.0]).forget(x[:1], y[:1], [0.3])
    alone = clone(preset).set_params(classes=[0, 1]).fit(x[2:], y[2:])
    assert model.log_evidence_ == pytest.approx(alone.log_evidence_, rel=1e-12)
    many = clone(preset).fit(x, y, [1e10, 1.0, 1.0]).forget(x[:1], y[:1], [1e10])
    assert_same(many, clone(preset).fit(x[1:], y[1:]), rtol=0)
    assert_refused(
        lambda: many.forget(x[:1], y[:1], [2.0]), many, "2 rows, by weight, would be forgotten"
    )


@pytest.mark.parametrize("pieces", [1, 7])
@EVERY
@pytest.mark.slow
def test_a_tenth_of_a_row_so_often_that_sums_are_off_leaves_nothing(
    preset: Any, pieces: int
) -> None:
    """0.1 added up 20,000 times is not 2,000: sums of parts add up to another number."""
    rows = np.arange(20_000)
    x = np.stack([rows % 2, rows > 2], axis=1).astype(float)
    y = 0 * rows
    weight = 0 * rows + 0.1
    model = clone(preset).fit(x, y, weight)
    for part in np.array_split(np.random.default_rng(0).permutation(rows), pieces):
        model.forget(x[part], y[part], weight[part])
    assert model.log_evidence_ == 0.0


def test_more_rows_than_there_are_are_noticed_to_the_last_of_1e12() -> None:
    model = BernoulliNB().fit([[1], [0], [1]], [0, 0, 1], [1e12, 1.0, 1e12])
    assert_refused(
        lambda: model.forget([[0]], [0], [2.0]),
        model,
        NOT_LEARNT,
    )
    assert_refused(lambda: model.forget([[1]], [1], [1e12 + 1]), model, "class 1")
    assert_same(model.forget([[0]], [0]), BernoulliNB().fit([[1], [1]], [0, 1], [1e12, 1e12]))


def test_what_stays_of_a_constant_column_and_of_a_single_row_has_no_spread() -> None:
    improper = NormalInverseGamma(0, 0, -0.5, 0)
    model = GaussianNB(prior=improper).fit([[0.1]] * 7 + [[5.0], [6.0]], [0] * 7 + [1, 1])
    belief = model.forget([[0.1]] * 4, [0] * 4).posterior_[0]
    assert (belief.count[0], belief.location[0], belief.scale[0]) == (3.0, 0.1, 0.0)
    model = GaussianNB(prior=PRIOR).fit([[1.1], [2.3], [7.7], [0.0]], [0, 0, 0, 1])
    alone = GaussianNB(prior=PRIOR).fit([[7.7], [0.0]], [0, 1])
    assert_same(model.forget([[1.1], [2.3]], [0, 0]), alone, rtol=1e-14)


def test_outliers_leave_correct_digits_or_cannot_leave() -> None:
    """The belief that stays is within 1e-8 of its scale of a refit in extended precision."""
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(200):
        n = rng.integers(3, 100)
        far = 10 ** rng.uniform(-2, 6)
        spread = 10 ** rng.uniform(0, 9)
        x = rng.normal(far, 1, n)[:, None]
        gone = rng.integers(1, n)
        x[:gone] += spread * rng.normal(size=(gone, 1))
        prior = NormalInverseGamma(far, 1, 1, 1)
        model = GaussianNB(prior=prior).fit(x, np.zeros(n))
        try:
            model.forget(x[:gone], np.zeros(gone))
        except ValueError:
            refused += 1
            continue
        rest = x[gone:, 0].astype(np.longdouble)
        deviation = rest - far
        mean = deviation.sum() / (len(rest) + 1)
        scale = 1 + ((deviation**2).sum() - (len(rest) + 1) * mean**2) / 2
        belief = model.posterior_[0]
        sd = np.sqrt(scale / belief.shape[0])
        assert abs(belief.location[0] - far - mean) < 1e-8 * sd + 4 * np.spacing(far)
        assert belief.scale[0] == pytest.approx(float(scale), rel=1e-7)
    assert 20 < refused < 180


def test_an_outlier_is_no_harm_to_a_prior_of_its_own_scale() -> None:
    x = np.r_[REAL[:20, 0], 1e9][:, None]
    y = np.zeros(21)
    model = GaussianNB().fit(x, y).forget(x[20:], y[20:])
    again = GaussianNB(prior=model.prior_[0]).fit(x[:20], y[:20])
    assert_allclose(model.posterior_[0].location, again.posterior_[0].location, rtol=1e-8)
    plugged = GaussianNB(estimate="mle").fit(x, y)
    assert_refused(lambda: plugged.forget(x[20:], y[20:]), plugged, "rounding errors")


def test_what_has_faded_away_leaves_the_prior_and_learns_again() -> None:
    faded = GaussianNB(prior=PRIOR).fit(REAL, Y)
    model = GaussianNB(prior=PRIOR).fit(REAL, Y)
    for _ in range(3):
        faded.decay(1e-200)
    assert_allclose(faded.posterior_[1].location, 0.5, rtol=1e-15)
    assert_same(faded.partial_fit(REAL, Y), model)


def test_what_was_found_from_the_first_rows_stays() -> None:
    first = (REAL[:25], Y[:25])
    last = (5 * REAL[25:], Y[25:])
    one, two = (GaussianNB(temper="loo").fit(*rows) for rows in (first, last))
    merged = one.merge(two)
    assert merged.temper_ == one.temper_ != two.temper_
    assert_array_equal(merged.prior_[1].location, one.prior_[1].location)
    streamed = GaussianNB(temper="loo").fit(*first).partial_fit(*last)
    assert_array_equal(streamed.prior_[1].scale, one.prior_[1].scale)
    assert_allclose(merged.posterior_[1].location, streamed.posterior_[1].location, rtol=1e-10)


# What cannot have been learnt

FAMILIES: dict[Any, Any] = {
    ("height", "girth"): Gaussian(PRIOR),
    "bark": Categorical(0.5, levels=["burnt", "peeling", "rough", "smooth"], unseen="error"),
    "leaves": Poisson(Gamma(1, 2)),
}
NEVER: dict[str, tuple[dict[str, Any], str, float, str]] = {
    "a label": ({}, "ash", 1, r"labels \['ash'\] .* never learnt"),
    "a class without rows": ({}, "elm", 1, "class 'elm': 1 rows, by weight, would be forgotten"),
    "a level": ({"bark": "velvet"}, "alder", 1, "column 'bark' has levels .*'velvet'"),
    "more weight than there is": ({}, "alder", 200, "class 'alder': 200 rows"),
    "another number": (
        {"height": 40.0},
        "alder",
        1,
        "'height', class 'alder': some of these cells were not learnt",
    ),
    "an infinite number": ({"height": np.inf}, "alder", 1, "column 'height'"),
    "a count that is too large": ({"leaves": 4000}, "alder", 1, "column 'leaves', class 'alder'"),
}


@pytest.mark.parametrize("what", NEVER)
def test_what_was_never_learnt_cannot_be_forgotten(what: str) -> None:
    cells, label, weight, match = NEVER[what]
    model = NaiveBayes(FAMILIES, classes=["alder", "birch", "elm", "oak"]).fit(FRAME, Y)
    row = FRAME[Y == "alder"].iloc[[1]].assign(**cells)
    assert_refused(lambda: model.forget(row, [label], [weight]), model, match)


IMPOSSIBLE: dict[str, tuple[Any, list, list, list, list, str]] = {
    "events without rows": (
        PRESETS["poisson"],
        *([[3.0], [np.nan], [1.0]], [0, 0, 1]),
        *([[2.0]], [0]),
        NOT_LEARNT,
    ),
    "more cells than rows": (
        BernoulliNB(),
        *([[1.0], [0.0], [np.nan], [1.0]], [0, 0, 0, 1]),
        *([[np.nan], [np.nan]], [0, 0]),
        "2 cells would be left in 1 rows",
    ),
    "another spread": (
        PRESETS["gaussian"],
        *([[1.1], [2.3], [7.7], [0.0]], [0, 0, 0, 1]),
        *([[1.1], [2.4]], [0, 0]),
        "column 0, class 0",
    ),
    "an undeclared level": (
        NaiveBayes(Categorical(levels=["a", "b"], unseen="reserve")),
        *([["a"], ["b"], ["z"]], [0, 1, 1]),
        *([["z"]], [0]),
        NOT_LEARNT,
    ),
    "a code": (CategoricalNB(), [[1], [2]], [0, 1], [[9]], [0], "column 0 .* 9 .*never learnt"),
    "the last row of shares": (
        BernoulliNB(class_prior="empirical"),
        *([[1], [0]], [0, 1]),
        *([[1], [0]], [0, 1]),
        "no row is left",
    ),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_would_stay_has_to_be_possible(what: str) -> None:
    model, x, y, gone, labels, match = IMPOSSIBLE[what]
    model = clone(model).fit(x, y)
    assert_refused(lambda: model.forget(gone, labels), model, match)


@pytest.mark.parametrize("factor", [0, -0.5, 1.1, np.nan, "half", None, [0.5]])
def test_factors_outside_0_to_1_are_refused(factor: Any) -> None:
    model = BernoulliNB().fit(FLAGS, Y)
    assert_refused(lambda: model.decay(factor), model, "above 0, and at most 1, got")


PER_CLASS = GaussianNB(prior=NormalInverseGamma([[0.0], [1.0]], 1, 1, 1))
COUPLES: dict[str, tuple[Any, Any, str]] = {
    "families": (
        NaiveBayes(Gaussian(PRIOR)).fit(CODES, Y),
        NaiveBayes(Poisson(Gamma(1, 1))).fit(CODES, Y),
        r"column 0 is Gaussian\(.*in one part and Poisson\(",
    ),
    "priors": (
        NaiveBayes({"bark": Categorical(0.5)}).fit(FRAME[["bark"]], Y),
        NaiveBayes({"bark": Categorical(0.6)}).fit(FRAME[["bark"]], Y),
        "column 'bark' is Categorical.*0.5.*0.6",
    ),
    "columns": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes().fit(FRAME[["height", "leaves"]], Y),
        "only one of them has 'girth', 'leaves'",
    ),
    "their order": (
        NaiveBayes().fit(FRAME[["height", "girth"]], Y),
        NaiveBayes().fit(FRAME[["girth", "height"]], Y),
        "their order differs",
    ),
    "labels": (
        BernoulliNB().fit(FLAGS, Y),
        BernoulliNB().fit(FLAGS, CODES[:, 0]),
        "labels are of the type str in one part and number in another",
    ),
    "types of levels": (
        NaiveBayes(Categorical()).fit(CODES, Y),
        NaiveBayes(Categorical()).fit(CODES.astype(str), Y),
        "column 0 mixes levels of the types int, str",
    ),
    "kinds of estimators": (
        BernoulliNB().fit(FLAGS, Y),
        NaiveBayes(Bernoulli()).fit(FLAGS, Y),
        "BernoulliNB.*NaiveBayes",
    ),
    "a pipeline": (
        BernoulliNB().fit(FLAGS, Y),
        make_pipeline(BernoulliNB()),
        "use the last step",
    ),
    "priors of other classes": (
        clone(PER_CLASS).fit([[1.0], [2.0]], ["x", "y"]),
        clone(PER_CLASS).fit([[1.0], [2.0]], ["x", "z"]),
        "its prior differs between classes",
    ),
}


@pytest.mark.parametrize("what", COUPLES)
def test_models_that_do_not_fit_together_are_not_merged(what: str) -> None:
    one, other, match = COUPLES[what]
    assert_refused(lambda: one.merge(other), one, match)


# Levels and classes that come later

LEVELS = np.array([["a"], ["c"], ["b"], ["b"], ["e"], ["d"], ["a"], ["e"]], dtype=object)
SIDES = np.array([0, 1, 0, 1, 1, 0, 1, 0])
CONTAINERS: dict[str, Callable[[Array], Any]] = {
    "objects": lambda part: part,
    "pandas": lambda part: pd.DataFrame(pd.Categorical(part[:, 0], sorted(set(part[:, 0])))),
    "polars": lambda part: pl.DataFrame(pl.Series(part[:, 0], dtype=pl.Enum(np.unique(part)))),
}


@pytest.mark.parametrize("contain", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("unseen", ["ignore", "error", "reserve"])
@pytest.mark.parametrize("how", ["partial_fit", "merge"])
def test_levels_that_come_later_are_learnt_by_name(contain: Any, unseen: str, how: str) -> None:
    """The reserve has as much prior mass as a level, so the count of levels says where it is."""
    declared = NaiveBayes(Categorical(0.5, unseen=unseen), classes=[0, 1])
    model = clone(declared).fit(contain(LEVELS[:3]), SIDES[:3])
    for part in (slice(3, 5), slice(5, None)):
        rows = contain(LEVELS[part]), SIDES[part]
        model = (
            model.partial_fit(*rows)
            if how == "partial_fit"
            else model.merge(clone(declared).fit(*rows))
        )
    levels = np.array([*"abcde"])
    size = 5 + (unseen == "reserve")
    for level in levels:
        seen = np.bincount(SIDES[LEVELS[:, 0] == level], minlength=2)
        odds = (seen + 0.5) / (4 + 0.5 * size)
        found = model.predict_proba(contain(np.array([[level]], object)))[0]
        assert_allclose(found, odds / odds.sum(), rtol=1e-12)


@pytest.mark.parametrize("how", ["partial_fit", "merge"])
@pytest.mark.parametrize("unseen", ["ignore", "reserve"])
def test_declared_levels_stay_as_they_are_declared(how: str, unseen: str) -> None:
    declared = NaiveBayes(Categorical(levels=["b", "a"], unseen=unseen), classes=[0, 1])
    first = (LEVELS[[0, 2]], SIDES[[0, 2]])
    last = (LEVELS[3:6], SIDES[3:6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        model = clone(declared).fit(*first)
        whole = clone(declared)
        whole.fit(np.concatenate([first[0], last[0]]), np.concatenate([first[1], last[1]]))
        if how == "partial_fit":
            model.partial_fit(*last)
        else:
            model = model.merge(clone(declared).fit(*last))
    assert_same(model, whole, rtol=0)


def test_codes_that_come_later_make_room_for_those_between() -> None:
    model = CategoricalNB(classes=[0, 1])
    for x in ([[0], [2]], [[np.nan], [np.nan]], [[5], [1]]):
        model.partial_fit(x, [0, 1])
    whole = CategoricalNB().fit([[0], [2], [np.nan], [np.nan], [5], [1]], [0, 1] * 3)
    assert_same(model, whole)
    assert_allclose(model.predict_proba([[3]]), whole.predict_proba([[3]]), rtol=1e-12)


LABELS: dict[str, tuple[Array, Array, list]] = {
    "wider text": (np.array(["a", "b"]), np.array(["longer"]), ["a", "b", "longer"]),
    "objects": (np.array(["a", "b"], object), np.array(["c"]), ["a", "b", "c"]),
    "wider integers": (np.array([3, 1], np.int8), np.array([1000], np.int64), [1, 3, 1000]),
    "booleans": (np.array([True, True]), np.array([False]), [False, True]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_can_grow(kind: str) -> None:
    first, later, expected = LABELS[kind]
    model = BernoulliNB().partial_fit([[1], [0]], first, grow_classes=True)
    assert_refused(lambda: model.partial_fit([[1]], later), model, "grow_classes=True")
    model.partial_fit([[1]], later, grow_classes=True)
    assert model.classes_.tolist() == expected
    other = [1] if isinstance(expected[0], str) else ["x"]
    again = lambda: model.partial_fit([[1]], other, grow_classes=True)  # noqa: E731
    assert_refused(again, model, "Convert them to one type")


@pytest.mark.parametrize(
    ("prior", "expected"),
    [(1.0, [2 / 6] * 3), ("uniform", [1 / 3] * 3), ("empirical", [1 / 3] * 3)],
)
def test_class_priors_grow_if_they_say_something_about_new_classes(
    prior: Any, expected: list[float]
) -> None:
    model = BernoulliNB(class_prior=prior).partial_fit([[1], [0]], ["a", "b"], grow_classes=True)
    model.partial_fit([[1]], ["c"], grow_classes=True)
    assert_allclose(model.predict_proba([[np.nan]])[0], expected)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (BernoulliNB(class_prior=[0.5, 0.5]), "2 probabilities for 3 classes"),
        (BernoulliNB(class_prior=Dirichlet([1.0, 2.0])), "2 concentrations for 3 classes"),
        (NaiveBayes(Bernoulli(), class_prior={"a": 0.5, "b": 0.5}), "each of them one prob"),
        (PER_CLASS, "its prior differs between classes"),
        (MultinomialNB(alpha=[[1.0], [2.0]]), "its prior differs between classes"),
        (
            NaiveBayes(Categorical(Dirichlet([[[1.0]], [[2.0]]]))),
            "its prior differs between classes",
        ),
    ],
)
def test_a_prior_for_each_class_says_nothing_about_a_new_one(model: Any, match: str) -> None:
    model = clone(model).partial_fit([[1], [0]], ["a", "b"], grow_classes=True)
    more = lambda: model.partial_fit([[1]], ["c"], grow_classes=True)  # noqa: E731
    assert_refused(more, model, match)
    model.partial_fit([[1]], ["b"], grow_classes=True)
