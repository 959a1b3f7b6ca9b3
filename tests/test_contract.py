"""The contract: what every model does, whatever its families and options are.

Each case is an estimator with rows; each test is a capability that all of them have. A new family
is one more case.
"""

import copy
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone

import bayesnb as nb
from bayesnb import scale
from bayesnb.report import report

ROWS = 40
RNG = np.random.default_rng(20261124)
CODES = RNG.permutation(np.arange(ROWS) % 3)
Y = np.array(["ash", "elm", "oak"])[CODES]
WEIGHT = 0.25 + RNG.integers(0, 4, ROWS)
BARK = np.array(["rough", "smooth", "scaly"], object)
FRAME = pd.DataFrame(
    {
        "height": RNG.normal(3 + CODES, 1.0),
        "girth": RNG.normal(-50.0 - 9 * CODES, 20.0),
        "evergreen": pd.array(RNG.random(ROWS) < 0.3 + 0.2 * CODES, "boolean"),
        "bark": BARK[np.minimum(RNG.integers(0, 3, ROWS), 2 - CODES // 2)],
        "soil": np.array(["clay", "sand", "peat", "loam"], object)[RNG.integers(0, 4, ROWS)],
        "nests": RNG.poisson(1.0 + CODES).astype(float),
        "leaves": RNG.poisson(3.0 + CODES),
        "twigs": RNG.poisson(9.0, ROWS),
        "rings": RNG.normal(40.0, 9.0, ROWS),
    }
)
FRAME["sap"] = FRAME["rings"] / 9 + RNG.normal(CODES, 0.5)
FRAME["site"] = np.where(FRAME["bark"] == "rough", "wood", FRAME["soil"]).astype(object)
BIRDS = np.array(["wren", "tit", "finch", "owl"])
FRAME["songs"] = pd.Series([RNG.choice(BIRDS, n).tolist() for n in RNG.integers(0, 4, ROWS)])
for place, column in enumerate(["height", "girth", "evergreen", "bark", "soil", "nests", "sap"]):
    FRAME.loc[place + 1 :: 11, column] = None

NUMBERS = nb.Gaussian(nb.NormalInverseGamma([0.0, -40.0], 0.3, 1.5, [2.0, 300.0]))
SHARED = nb.Gaussian(nb.NormalInverseGamma([0.0, -40.0], 0.3, 1.5, [2.0, 300.0]), shared=True)
VECTOR = nb.NormalInverseWishart([30.0, 4.0], 0.4, 4.0, [[50.0, 3.0], [3.0, 2.0]])
MIXED = {
    ("height", "girth"): NUMBERS,
    "evergreen": nb.Bernoulli(0.7),
    "bark": nb.Categorical(0.5),
    "nests": nb.Poisson(nb.Gamma(1.0, 2.0)),
    ("leaves", "twigs"): nb.Multinomial(nb.Dirichlet([0.5, 2.0])),
    ("rings", "sap"): nb.MultivariateGaussian(VECTOR),
    ("soil", "site"): nb.JointTable(0.6),
    "songs": nb.Multinomial(0.4),
}
COUNTS = FRAME[["leaves", "twigs", "nests"]].fillna(0.0).to_numpy()
LEVELS = ["bark", "soil", "site"]


@dataclass(frozen=True)
class Case:
    """An estimator that is not fitted, and the rows that it learns."""

    model: Any
    x: Any
    chooses: bool = False  # families, links or exponents by the rows
    grid: bool = False  # levels of numbers by the rows

    def fit(self, rows: Any = slice(None), weight: Any = None) -> Any:
        return clone(self.model).fit(take(self.x, rows), Y[rows], weight)


def take(x: Any, rows: Any) -> Any:
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def declare(families: dict, **options: Any) -> Case:
    columns = []
    for key in families:
        columns += list(key) if isinstance(key, tuple) else [key]
    return Case(nb.NaiveBayes(families, **options), FRAME[columns])


CASES = {
    "gaussian": declare({("height", "girth"): NUMBERS}),
    "gaussian, shared variance": declare({("height", "girth"): SHARED}),
    "bernoulli": declare({"evergreen": nb.Bernoulli(nb.Beta(0.5, 2.0))}),
    "categorical": declare({"bark": nb.Categorical(0.5), "soil": nb.Categorical(2.0)}),
    "categorical, reserve": declare({"bark": nb.Categorical(0.5, unseen="reserve")}),
    "poisson": declare({"nests": nb.Poisson(nb.Gamma(1.0, 2.0))}),
    "histogram": Case(
        nb.NaiveBayes(nb.Histogram(depth=3)), FRAME[["height", "girth"]].to_numpy(float), grid=True
    ),
    "multinomial": declare({("leaves", "twigs"): nb.Multinomial(nb.Dirichlet([0.5, 2.0]))}),
    "multinomial, sparse": Case(nb.MultinomialNB(alpha=0.7), sparse.csr_array(COUNTS)),
    "word lists": declare({"songs": nb.Multinomial(0.4)}),
    "ordered words": declare({"songs": nb.Multinomial(0.4, ordered=True)}),
    "multivariate": declare({("rings", "sap"): nb.MultivariateGaussian(VECTOR)}),
    "multivariate, shared": declare(
        {("rings", "sap"): nb.MultivariateGaussian(VECTOR, shared=True)}
    ),
    "joint table": declare({("soil", "site"): nb.JointTable(0.6)}),
    "mixed": declare(MIXED),
    "mixed, tempered": declare(MIXED, temper=0.4),
    "known class prior": declare(MIXED, class_prior={"ash": 0.2, "elm": 0.3, "oak": 0.5}),
    "uniform class prior": declare(MIXED, class_prior="uniform"),
    "class without rows": declare(MIXED, classes=["ash", "elm", "oak", "yew"]),
    "GaussianNB": Case(
        nb.GaussianNB(prior=nb.NormalInverseGamma(0.0, 0.5, 1.0, 1.0)),
        FRAME[["height", "girth"]].to_numpy(float),
    ),
    "BernoulliNB": Case(nb.BernoulliNB(alpha=0.5, binarize=2.0), COUNTS),
    "CategoricalNB": Case(nb.CategoricalNB(alpha=0.5, min_categories=20), COUNTS),
    "PoissonNB": Case(nb.PoissonNB(prior=nb.Gamma(1.0, 1.0)), COUNTS),
    "forest of links": Case(
        nb.NaiveBayes("categorical", dependence="forest"), FRAME[LEVELS], chooses=True
    ),
    "pairs of links": Case(
        nb.NaiveBayes("categorical", dependence="pairs"), FRAME[LEVELS], chooses=True
    ),
    "covariance": Case(
        nb.NaiveBayes("gaussian", dependence="covariance", temper=0.5),
        FRAME[["rings", "sap", "height"]],
        chooses=True,
    ),
    "missing cells as evidence": Case(
        nb.NaiveBayes("gaussian", missing="auto", temper=0.7),
        FRAME[["height", "girth"]].where(pd.DataFrame({"height": CODES > 0, "girth": True})),
        chooses=True,
    ),
    "one exponent": Case(nb.NaiveBayes(MIXED, temper="loo"), declare(MIXED).x, chooses=True),
    "exponents by column": Case(
        nb.NaiveBayes(MIXED, temper="columns"), declare(MIXED).x, chooses=True
    ),
    "default": Case(
        nb.NaiveBayes(),
        FRAME[["height", "girth", "evergreen", "bark", "nests"]],
        chooses=True,
        grid=True,
    ),
}
DECLARED = [name for name, case in CASES.items() if not case.chooses]
EXACT = [name for name in DECLARED if not CASES[name].grid]  # a refit has the same prior
FRAMES = [name for name, case in CASES.items() if isinstance(case.x, pd.DataFrame)]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Forty rows are few: what a user is told of that is not the subject here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def every(names: Any = tuple(CASES)) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(CASES[name], id=name) for name in names])


def numbers_of(model: Any, x: Any) -> np.ndarray:
    """What a model says of rows, before it is normalised."""
    return model.predict_joint_log_proba(x)


def label_scores(joint: np.ndarray, model: Any, y: Any) -> np.ndarray:
    """Log probability of each row's label."""
    place = np.searchsorted(model.classes_, y)
    return (joint - logsumexp(joint, axis=1, keepdims=True))[np.arange(len(y)), place]


def assert_same_model(one: Any, two: Any, x: Any, rtol: float = 1e-9) -> None:
    assert_allclose(numbers_of(one, x), numbers_of(two, x), rtol=rtol, atol=1e-9)
    assert_allclose(one.log_evidence_, two.log_evidence_, rtol=rtol, atol=1e-9)


# What was learnt


@every(EXACT)  # that of a Histogram is relative to the shares of all rows
def test_the_evidence_of_one_more_row_is_its_predictive(case: Case) -> None:
    after = clone(case.model).set_params(temper=None).fit(case.x, Y)
    before = copy.deepcopy(after)
    before.forget(take(case.x, slice(ROWS - 1, None)), Y[-1:])
    gain = after.log_evidence_ - before.log_evidence_
    joint = numbers_of(before, take(case.x, [-1]))[0, np.searchsorted(before.classes_, Y[-1])]
    assert_allclose(gain, joint, rtol=1e-8, atol=1e-8)


@every(EXACT)
def test_batches_in_any_order_are_one_fit(case: Case) -> None:
    model = clone(case.model)
    for rows in np.array_split(RNG.permutation(ROWS), 4):
        model.partial_fit(take(case.x, rows), Y[rows], classes=case.fit().classes_)
    assert_same_model(model, case.fit(), case.x)


@every(EXACT)
def test_two_models_merge_into_that_of_all_rows(case: Case) -> None:
    one = case.fit(slice(0, 15))
    two = case.fit(slice(15, None))
    assert_same_model(one.merge(two), case.fit(), case.x)


@every(EXACT)
def test_rows_that_are_forgotten_were_never_learnt(case: Case) -> None:
    model = case.fit()
    model.forget(take(case.x, slice(25, None)), Y[25:])
    assert_allclose(
        numbers_of(model, case.x), numbers_of(case.fit(slice(0, 25)), case.x), rtol=1e-8, atol=1e-8
    )


@every(EXACT)
def test_to_decay_is_to_weigh_all_rows_less(case: Case) -> None:
    model = case.fit()
    model.decay(0.5)
    assert_allclose(
        numbers_of(model, case.x),
        numbers_of(case.fit(weight=np.full(ROWS, 0.5)), case.x),
        rtol=1e-9,
    )


@every(EXACT)
def test_a_whole_weight_is_so_many_copies_and_none_is_no_row(case: Case) -> None:
    times = np.arange(ROWS) % 3
    repeated = case.fit(np.repeat(np.arange(ROWS), times))
    assert_allclose(
        numbers_of(case.fit(weight=times.astype(float)), case.x),
        numbers_of(repeated, case.x),
        rtol=1e-9,
    )


@every()
def test_the_order_of_rows_says_nothing(case: Case) -> None:
    order = RNG.permutation(ROWS)
    one = case.fit()
    two = case.fit(order)
    assert_allclose(one.predict_proba(case.x), two.predict_proba(case.x), rtol=1e-6, atol=1e-9)


@every()
def test_threads_change_no_digit(case: Case) -> None:
    one, two = (clone(case.model).set_params(n_jobs=jobs).fit(case.x, Y) for jobs in (1, 2))
    assert_array_equal(numbers_of(one, case.x), numbers_of(two, case.x))


@every()
def test_a_saved_model_says_the_same(case: Case, tmp_path: Path) -> None:
    model = case.fit(weight=WEIGHT)
    model.save(tmp_path / "model.bnb")
    again = nb.load(tmp_path / "model.bnb")
    assert_array_equal(numbers_of(again, case.x), numbers_of(model, case.x))
    assert again.get_params().keys() == model.get_params().keys()
    again.partial_fit(case.x, Y)  # and goes on learning


@every()
def test_a_failed_call_leaves_the_model_as_it_was(case: Case) -> None:
    model = case.fit()
    before = numbers_of(model, case.x)
    for call in (
        lambda: model.fit(case.x, Y[:-1]),
        lambda: model.partial_fit(case.x, np.full(ROWS, "yucca")),
        lambda: model.fit(case.x, Y, np.full(ROWS, -1.0)),
        lambda: model.forget(take(case.x, [0] * ROWS), Y),
    ):
        with pytest.raises(ValueError, match=r"\w{3}"):
            call()
        assert_array_equal(numbers_of(model, case.x), before)


# What is predicted


@every()
def test_probabilities_are_joint_ones_that_were_normalised(case: Case) -> None:
    model = case.fit()
    joint = numbers_of(model, case.x)
    proba = model.predict_proba(case.x)
    assert_allclose(
        proba, np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), rtol=1e-9, atol=1e-12
    )
    assert_allclose(np.exp(model.predict_log_proba(case.x)), proba, rtol=1e-9, atol=1e-12)
    assert_array_equal(model.predict(case.x), model.classes_[proba.argmax(axis=1)])
    if not case.chooses and model.temper in (None, "auto"):
        assert_allclose(model.log_density(case.x), logsumexp(joint, axis=1), rtol=1e-9, atol=1e-9)


@every()
def test_a_row_alone_is_answered_as_among_others(case: Case) -> None:
    model = case.fit()
    alone = [numbers_of(model, take(case.x, [row]))[0] for row in range(0, ROWS, 7)]
    assert_allclose(alone, numbers_of(model, case.x)[::7], rtol=1e-9, atol=1e-9)


@every(
    [
        name
        for name in FRAMES
        if not any(part in name for part in ("list", "words", "missing")) and name != "multinomial"
    ]
)
def test_a_row_without_cells_has_the_probabilities_of_the_classes(case: Case) -> None:
    model = case.fit()
    empty = take(case.x, [0, 1]).copy()
    for column in set(empty) - {"leaves", "twigs"}:
        empty[column] = [[], []] if column == "songs" else None
    if "leaves" in empty:
        empty[["leaves", "twigs"]] = 0  # counts cannot be missing, and no words say nothing
    expected = model.class_posterior_
    shares = expected.mean() if hasattr(expected, "mean") else np.asarray(expected)
    assert_allclose(model.predict_proba(empty), np.repeat([np.ravel(shares)], 2, axis=0), rtol=1e-6)


@every([name for name in FRAMES if "songs" not in CASES[name].x])
@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_libraries_are_one_table(case: Case, library: Any) -> None:
    other = library(case.x)
    model = clone(case.model).fit(other, Y)
    assert_allclose(model.predict_proba(other), case.fit().predict_proba(case.x), rtol=1e-9)


@every(["PoissonNB", "BernoulliNB", "multinomial, sparse"])
def test_arrays_lists_and_sparse_tables_are_one_table(case: Case) -> None:
    dense = case.x.toarray() if sparse.issparse(case.x) else case.x
    expected = case.fit().predict_proba(case.x)
    for table in (dense.tolist(), np.asfortranarray(dense), sparse.csc_array(dense)):
        assert_allclose(clone(case.model).fit(table, Y).predict_proba(table), expected, rtol=1e-9)


# What is held out


@every(DECLARED)
@pytest.mark.parametrize("target", ["label", "joint"])
def test_leave_one_out_is_a_model_without_the_row(case: Case, target: str) -> None:
    model = case.fit()
    if target == "joint" and model.temper not in (None, "auto"):
        pytest.skip("joint scores are those of the model without exponents")
    expected = []
    for row in range(0, ROWS, 3):
        rest = copy.deepcopy(model)
        rest.forget(take(case.x, [row]), Y[[row]])
        joint = numbers_of(rest, take(case.x, [row]))
        if target == "joint":
            expected.append(joint[0, np.searchsorted(rest.classes_, Y[row])])
        else:
            expected.append(label_scores(joint, rest, Y[[row]])[0])
    assert_allclose(model.loo(case.x, Y, target).elpd_i[::3], expected, rtol=1e-8, atol=1e-9)


@every()
def test_held_out_probabilities_and_scores_are_one_thing(case: Case) -> None:
    model = case.fit()
    proba = model.loo_proba(case.x, Y)
    scores = model.loo(case.x, Y)
    assert_allclose(proba.sum("class"), 1.0)
    own = proba.values[np.arange(ROWS), np.searchsorted(model.classes_, Y)]
    assert_allclose(scores.elpd_i, np.log(own), rtol=1e-7, atol=1e-9)
    assert scores.elpd == pytest.approx(np.log(own).sum(), rel=1e-7)
    judged = nb.calibration(model, case.x, Y)
    assert float(judged["log_loss"]) == pytest.approx(-scores.elpd / ROWS, rel=1e-7)


# What is not known


@every()
def test_an_interval_is_of_the_distribution_whose_mean_is_shown(case: Case) -> None:
    model = case.fit()
    x = take(case.x, slice(0, 6))
    observed = model.predict_interval(x, 0.8)
    assert_allclose(observed["probability"], model.predict_proba(x), rtol=0, atol=1e-6)
    fixed = model.predict_interval(x, 0.8, rows="fixed")
    draws = model.draw_proba(x, draws=1000, rng=1).stack(sample=("chain", "draw"))
    error = np.sqrt(0.09 / draws.sizes["sample"])
    assert_allclose(fixed["probability"], draws.mean("sample"), rtol=0, atol=0.02)
    moving = fixed["upper"].values - fixed["lower"].values > 1e-6  # not of a class that cannot be
    for end, level in (("lower", 0.1), ("upper", 0.9)):
        share = (draws <= fixed[end]).mean("sample").transpose("obs_id", "class").values
        assert np.abs(share[moving] - level).max(initial=0.0) < 5 * error + 0.01


@every()
def test_entropy_has_two_parts_of_which_none_is_negative(case: Case) -> None:
    model = case.fit()
    x = take(case.x, slice(0, 6))
    parts = model.uncertainty(x)
    proba = model.predict_proba(x)
    entropy = -np.sum(proba * np.log(np.maximum(proba, 1e-300)), axis=1)
    assert_allclose(parts["entropy"], entropy, rtol=0, atol=1e-6)
    assert_allclose(parts["aleatoric"] + parts["epistemic"], parts["entropy"], rtol=0, atol=1e-9)
    assert parts["epistemic"].min() >= 0
    assert parts["aleatoric"].min() >= 0


@every()
def test_what_features_say_adds_up_to_the_prediction(case: Case) -> None:
    model = case.fit()
    x = take(case.x, slice(0, 6))
    explained = model.explain(x)
    score = explained["predictive"].sum("feature") + explained["predictive_class_term"]
    score = score.transpose("obs_id", "class").values
    proba = np.exp(score - logsumexp(score, axis=1, keepdims=True))
    assert_allclose(proba, model.predict_proba(x), rtol=1e-6, atol=1e-9)


@every()
def test_the_best_action_loses_least(case: Case) -> None:
    model = case.fit()
    x = take(case.x, slice(0, 8))
    loss = 1.0 - np.eye(len(model.classes_))
    loss[0] *= 3
    expected = model.predict_proba(x) @ loss
    decided = model.decide(x, loss)
    assert_allclose(decided["expected_loss"], expected.min(axis=1), rtol=1e-9, atol=1e-12)
    assert_array_equal(decided["action"], model.classes_[expected.argmin(axis=1)])


# What is drawn, shown and tuned


@every()
def test_new_rows_are_rows_and_labels_that_the_model_can_read(case: Case) -> None:
    model = case.fit()
    rows, labels = model.sample(30, rng=1)
    assert len(labels) == 30
    assert set(labels) <= set(model.classes_)
    assert np.isfinite(logsumexp(numbers_of(model, rows), axis=1)).all()


@every(["gaussian", "histogram", "mixed", "forest of links", "default", "multinomial, sparse"])
def test_a_tree_of_draws_has_the_groups_of_arviz(case: Case) -> None:
    tree = case.fit().to_datatree(take(case.x, slice(0, 5)), Y[:5], draws=10, chains=2, rng=1)
    groups = {
        "posterior",
        "prior",
        "log_prior",
        "log_likelihood",
        "posterior_predictive",
        "observed_data",
    }
    assert groups <= set(tree.children)
    assert tree["posterior"].sizes["draw"] == 10


@every(["gaussian", "histogram", "mixed", "categorical", "one exponent", "PoissonNB"])
def test_tuning_does_not_lose(case: Case) -> None:
    tuned = nb.tune(clone(case.model), case.x, Y).fit(case.x, Y)
    assert tuned.log_evidence_ >= case.fit().log_evidence_ - 1e-6


@every()
def test_every_model_can_be_summarised_compared_and_judged(case: Case) -> None:
    model = case.fit()
    assert len(model.summary().to_frame()) >= 1
    assert "<" in model._repr_html_()
    compared = nb.compare({"one": model, "two": case.fit()}, case.x, Y)
    assert sorted(compared["rank"]) == [0, 1]
    assert np.isfinite(nb.relevance(model)["log_bayes_factor"]).all()
    assert nb.importance(model, case.x, Y).sizes["feature"] >= 1


@every(["gaussian", "histogram", "mixed", "forest of links", "default", "multinomial, sparse"])
def test_every_picture_is_drawn(case: Case) -> None:
    model = case.fit()
    nb.plot_calibration(model, case.x, Y)
    nb.plot_confusion(model, case.x, Y)
    nb.plot_uncertainty(model, case.x)
    nb.plot_waterfall(model, take(case.x, [0]))
    nb.plot_relevance(model)
    plt.gcf().canvas.draw()
    plt.close("all")


@pytest.mark.slow
@every(["histogram", "mixed", "forest of links", "default", "multinomial, sparse", "one exponent"])
def test_a_page_is_made_of_every_model(case: Case) -> None:
    page = report(clone(case.model), case.x, Y)
    assert "<html" in str(page)


# What is large


@every(["GaussianNB", "BernoulliNB", "CategoricalNB", "PoissonNB"])
def test_arrays_of_dask_are_arrays(case: Case) -> None:
    lazy = dask.array.from_array(case.x, chunks=(13, -1))
    expected = case.fit().predict_proba(case.x)
    learnt = clone(case.model).fit(lazy, dask.array.from_array(Y, chunks=13))
    assert_allclose(learnt.predict_proba(lazy).compute(), expected, rtol=1e-9)


@every([name for name in FRAMES if "songs" not in CASES[name].x and not CASES[name].chooses])
def test_files_are_tables(case: Case, tmp_path: Path) -> None:
    table = case.x.assign(tree=Y)
    table.iloc[:25].to_parquet(tmp_path / "one.parquet")
    table.iloc[25:].to_parquet(tmp_path / "two.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    model = scale.fit_files(clone(case.model), paths, "tree")
    assert_allclose(model.predict_proba(case.x), case.fit().predict_proba(case.x), rtol=1e-8)


def answers_of(model: Any, x: Any) -> list[Any]:
    """Return what a model says in all ways that sum over rows, levels or nodes."""
    few = take(x, slice(0, 4))
    shared = any(getattr(family, "shared", False) for family in model.families_.values())
    interval = model.predict_interval(few, 0.8, method="auto" if shared else "exact")
    return [
        numbers_of(model, x),
        model.log_evidence_,
        model.loo(x, Y).elpd_i.values,
        model.predict_interval(few, 0.8)["lower"].values,
        interval["lower"].values,
        model.predict_interval(few, 0.8, rows="fixed")["upper"].values,
        model.uncertainty(few)["epistemic"].values,
        model.explain(few)["predictive"].values,
        model.draw_proba(few, draws=20, rng=1).values,
    ]


@pytest.mark.slow
@every()
def test_compiled_loops_give_what_numpy_gives(case: Case) -> None:
    """Small tables run the definitions in NumPy, unless everything is to be compiled."""
    plain = answers_of(case.fit(), case.x)
    scale.always_compile()
    try:
        compiled = answers_of(case.fit(), case.x)
    finally:
        scale.always_compile(False)
    for one, two in zip(plain, compiled, strict=True):
        assert_allclose(two, one, rtol=1e-7, atol=1e-9)
