"""Partitions of columns: evidences, the search among them, and the estimator that says what was found."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, multigammaln

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gaussian,
    GaussianNB,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Partition,
    Poisson,
    dependence,
    partition,
)
from bayesnb.plots.evidence_plots import plot_steps
from bayesnb.selection.joint_evidence import LevelEvidence, steps
from bayesnb.selection.pair_evidence import Labels
from tests.conftest import plainly
from tests.test_figures import assert_readable

RNG = np.random.default_rng(5)
ROWS = 240
Y = RNG.integers(0, 2, ROWS)
A = RNG.integers(0, 3, ROWS)
FLAG = RNG.random(ROWS) < 0.4
LATENT = RNG.normal(size=ROWS)
X = pd.DataFrame(
    {
        "a": A.astype(str),
        "u": 2.0 + LATENT + 0.3 * RNG.normal(size=ROWS),
        "b": ((A + (RNG.random(ROWS) < 0.2) * (1 + Y)) % 3).astype(str),
        "f": FLAG,
        "v": 10 * LATENT + 4 * RNG.normal(size=ROWS),
        "c": RNG.integers(0, 3, ROWS).astype(str),
        "g": FLAG ^ (RNG.random(ROWS) < 0.25),
        "w": RNG.normal(size=ROWS),
    }
)
LEVELS, NUMBERS = ["a", "b", "c", "f"], ["u", "v", "w"]


def partitions(items: list[Any]) -> Iterator[list[list[Any]]]:
    """All partitions of some items."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for at, block in enumerate(rest):
            yield [*rest[:at], [items[0], *block], *rest[at + 1 :]]


def of_table(table: pd.DataFrame, concentration: float, sizes: list[int]) -> float:
    """log p of one class's rows under a Dirichlet over all combinations, by gammaln."""
    counts = table.value_counts().to_numpy()
    each = concentration / np.prod(sizes)
    cells = (gammaln(each + counts) - gammaln(each)).sum()
    return float(cells + gammaln(concentration) - gammaln(concentration + len(table)))


def of_vectors(x: np.ndarray, mean: np.ndarray, prior: tuple[float, float], scale: np.ndarray) -> float:
    """log p of one class's rows under Normal-inverse-Wishart, by Murphy's equation 266."""
    (count, dof), (n, d) = prior, x.shape
    gap = x.mean(axis=0) - mean
    after = scale + (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) + count * n / (count + n) * np.outer(gap, gap)
    value = multigammaln((dof + n) / 2, d) - multigammaln(dof / 2, d) + d / 2 * np.log(count / (count + n))
    value += dof / 2 * np.linalg.slogdet(scale)[1] - (dof + n) / 2 * np.linalg.slogdet(after)[1]
    return float(value - n * d / 2 * np.log(np.pi))


def of_labels(y: np.ndarray) -> float:
    counts = np.unique(y, return_counts=True)[1]
    return float(gammaln(1 + counts).sum() + gammaln(len(counts)) - gammaln(len(counts) + counts.sum()))


def test_a_partition_of_levels_has_the_evidence_that_its_estimator_has_and_that_gammaln_gives() -> None:
    sizes = dict(zip(LEVELS, (3, 3, 3, 2), strict=True))
    for blocks in partitions(LEVELS):
        families = {
            tuple(block): JointTable(Dirichlet(2.0 / np.prod([sizes[name] for name in block]))) for block in blocks
        }
        fitted = NaiveBayes(families).fit(X[LEVELS], Y)
        by_hand = of_labels(Y) + sum(
            of_table(X.loc[c == Y, block], 2.0, [sizes[name] for name in block]) for c in (0, 1) for block in blocks
        )
        found = partition(NaiveBayes(families), X[LEVELS], Y)
        assert fitted.log_evidence_ == pytest.approx(by_hand, abs=1e-9)
        assert found.table.log_evidence[0] == pytest.approx(by_hand, abs=1e-9)
        assert found.table.log_evidence.iloc[-1] >= by_hand - 1e-9


def test_the_search_finds_the_best_of_all_partitions_of_four_columns() -> None:
    model = NaiveBayes(Categorical(1.0))
    found = partition(model, X[LEVELS], Y, concentration=2.0)
    every = {
        tuple(sorted(tuple(block) for block in blocks)): partition(
            NaiveBayes({tuple(block): JointTable() for block in blocks}), X[LEVELS], Y, concentration=2.0
        ).table.log_evidence[0]
        for blocks in partitions(LEVELS)
    }
    assert len(every) == 15
    assert found.table.log_evidence.iloc[-1] == pytest.approx(max(every.values()), abs=1e-9)
    assert tuple(sorted(found.blocks)) == max(every, key=lambda blocks: every[blocks]) == (("a", "b"), ("c",), ("f",))
    singles = tuple((name,) for name in LEVELS)
    assert found.ends == pytest.approx({"naive": every[singles], "joint": every[(tuple(LEVELS),)]}, abs=1e-9)


@pytest.mark.parametrize("block", [["u"], ["u", "v"], ["v", "w", "u"]])
def test_a_block_of_numbers_has_the_evidence_of_murphys_formula_and_of_its_estimator(block: list[str]) -> None:
    naive = NaiveBayes(Gaussian()).fit(X[NUMBERS], Y)
    families: dict[Any, Any] = {name: "gaussian" for name in NUMBERS if name not in block or len(block) == 1}
    families |= {tuple(block): MultivariateGaussian()} if len(block) > 1 else {}
    found = partition(NaiveBayes(families), X[NUMBERS], Y)
    prior = NaiveBayes(families).fit(X[NUMBERS], Y).prior_
    expected = of_labels(Y)
    for c, key in product((0, 1), prior):
        x, belief = X.loc[c == Y, list(key) if isinstance(key, tuple) else [key]].to_numpy(), prior[key]
        if isinstance(key, tuple):
            own = belief.location[c].reshape(-1), (belief.count[c].item(), belief.dof[c].item())
            expected += of_vectors(x, *own, belief.scale[c].reshape(x.shape[1], -1))
        else:
            shape, scale = 2 * belief.shape[c], 2 * belief.scale[c].reshape(1, 1)
            expected += of_vectors(x, belief.location[[c]], (belief.count[c], shape), scale)
    assert found.table.log_evidence[0] == pytest.approx(expected, abs=1e-8)
    assert found.ends["naive"] == pytest.approx(naive.log_evidence_, abs=1e-8)


MODELS = {
    "inferred": NaiveBayes(),
    "plain": NaiveBayes(**plainly(X)),
    "levels": NaiveBayes(
        {"a": Categorical(2 / 3), "b": Categorical(2 / 3), "c": Categorical(2 / 3)}, class_prior="uniform"
    ),
    "numbers": NaiveBayes(
        {
            ("u", "v"): Gaussian(NormalInverseGamma([2.0, 0.0], 0.1, [1.0, 2.0], [1.0, 400.0])),
            "w": Gaussian(NormalInverseGamma(0.0, 1.0, 1.5, 1.0)),
        },
        temper=0.5,
        estimate="mean",
    ),
    "blocks": NaiveBayes({("a", "c"): JointTable(0.2), ("w", "u"): MultivariateGaussian(), "v": None}),
    "apart": NaiveBayes({("a", "b"): Categorical([1.0, 2.0, 1.0]), "f": Bernoulli(Beta(2.0, 1.0))}),
    "by class": NaiveBayes(
        {
            ("a", "b", "c"): Categorical(Dirichlet(np.array([0.5, 1.0])[:, None, None])),
            ("u", "v", "w"): Gaussian(NormalInverseGamma(0.0, [[0.1], [0.2]], 1.0, [[1.0], [50.0]])),
        }
    ),
    "reserved": NaiveBayes({("a", "b", "c"): Categorical(1.0, unseen="reserve")}),
    "declared": NaiveBayes({("a", "b"): Categorical(1.0, levels=("0", "1", "2", "3")), "c": Categorical(1.0)}),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_estimator_that_is_found_has_the_evidence_of_the_last_step(name: str) -> None:
    model = MODELS[name]
    found = partition(model, X, Y)
    fitted = found.estimator.fit(X, Y)
    assert fitted.log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-8)
    assert found.table.log_evidence.iloc[-1] >= found.table.log_evidence[0]
    assert (found.table.log_bayes_factor[1:] > 0).all()
    keys = [key if isinstance(key, tuple) else (key,) for key in fitted.families_]
    assert tuple(keys) == found.blocks
    temper = "columns" if name == "inferred" else model.temper  # what "auto" stands for where nothing is declared
    assert (fitted.temper, fitted.estimate, fitted.class_prior) == (temper, model.estimate, model.class_prior)
    assert fitted.dependence is None
    again = partition(found.estimator, X, Y)
    assert again.blocks == found.blocks
    assert len(again.table) == 1
    assert again.table.log_evidence[0] == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-8)


def test_planted_blocks_are_found_and_what_is_independent_stays_so() -> None:
    found = partition(NaiveBayes(**plainly(X)), X, Y)
    assert found.blocks == (("a", "b"), ("u", "v"), ("f", "g"), ("c",), ("w",))
    lone = X[["a", "c", "w"]].assign(x=RNG.normal(size=ROWS), h=RNG.random(ROWS) < 0.3)
    stayed = partition(NaiveBayes(**plainly(lone)), lone, Y)
    assert len(stayed.table) == 1
    assert stayed.blocks == tuple((name,) for name in lone)
    assert repr(NaiveBayes(stayed.estimator.families).fit(lone, Y).families_)


def many_levels(rows: int, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """Two columns of many levels that have nothing to do with each other."""
    if kind == "identifiers":
        return pd.DataFrame({"a": rng.permutation(rows), "b": rng.permutation(rows)}).astype(str)
    return pd.DataFrame(rng.integers(0, 2 * rows, (rows, 2)), columns=["a", "b"]).astype(str)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 200, 400])
@pytest.mark.parametrize("kind", ["identifiers", "names"])
def test_two_columns_of_many_levels_that_are_noise_are_not_joined_and_a_note_says_why(rows: int, kind: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = partition(NaiveBayes("categorical"), many_levels(rows, kind, rng), rng.integers(0, 2, rows))
        assert found.ends["joint"] > found.ends["naive"]  # the evidence alone would join them
        assert found.blocks == (("a",), ("b",))
        gap = found.ends["joint"] - found.ends["naive"]
        assert any(f"though the log evidence would be higher: a + b ({gap:+.1f})" in note for note in found.notes)


def test_planted_dependences_of_many_levels_are_joined_among_columns_that_are_noise() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 400, 2000)
        second = np.where(rng.random(2000) < 0.5, first, rng.integers(0, 400, 2000))
        x = pd.DataFrame({"p": rng.permutation(2000), "c": first, "q": rng.permutation(2000), "d": second}).astype(str)
        x["e"] = rng.integers(0, 2, 2000).astype(str)
        y = np.arange(2000) % 2
        found = partition(NaiveBayes(Categorical()), x, y)
        assert found.blocks == (("p",), ("c", "d"), ("q",), ("e",))
        fitted = found.estimator.fit(x, y)
        assert fitted.log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-7)


def test_a_column_of_noise_is_not_moved_into_the_block_of_another() -> None:
    rng = np.random.default_rng(2)
    x, y = many_levels(200, "identifiers", rng), np.zeros(200, int)
    x["c"] = rng.integers(0, 2, 200).astype(str)
    model = NaiveBayes({("a", "c"): JointTable(0.5)}, classes=[0, 1])
    found = partition(model, x, y, concentration=200.0)
    assert not any({"a", "b"} <= set(block) for block in found.blocks)


@pytest.mark.parametrize("columns", [["a", "b"], ["f", "g"], ["u", "v"], ["b", "f"], ["a", "c"]])
@pytest.mark.parametrize("holes", [False, True])
def test_the_first_gain_of_two_columns_is_their_dependence_under_the_priors_of_the_model(
    columns: list[str], holes: bool
) -> None:
    own = X[columns].astype(object)
    if holes:
        own = own.mask(RNG.random(own.shape) < 0.1)
    own = own.astype({name: X[name].dtype if name in NUMBERS else object for name in columns})
    model = NaiveBayes({name: "gaussian" if name in NUMBERS else "bernoulli" for name in columns if name not in "abc"})
    factor = float(dependence(model, own, Y).log_bayes_factor[0, 1])
    found = partition(model, own, Y)
    gain = found.ends["joint"] - found.ends["naive"]
    if factor > 0 and columns != ["u", "v"]:  # of levels a dependence is no more than with learnt concentrations
        assert gain >= factor - 1e-9
    else:
        assert gain == pytest.approx(factor, abs=1e-9)
    if gain > 0:
        assert found.table.log_bayes_factor[1] == pytest.approx(gain, abs=1e-9)
    else:
        assert len(found.table) == 1


def test_a_column_and_its_noisy_copy_are_joined_to_the_last_digits() -> None:
    x = np.column_stack([LATENT, LATENT + 1e-7 * RNG.normal(size=ROWS)]) + 1e3
    model = NaiveBayes(Gaussian())
    factor = float(dependence(model, x, Y).log_bayes_factor[0, 1])
    assert partition(model, x, Y).table.log_bayes_factor[1] == pytest.approx(factor, rel=1e-9)


def test_a_column_may_leave_a_block_that_was_declared_and_go_to_another() -> None:
    wrong = NaiveBayes({("a", "f"): JointTable(2 / 6), ("b", "c"): JointTable(2 / 9), "g": None})
    found = partition(wrong, X[[*LEVELS, "g"]], Y)
    assert found.blocks == (("a", "b"), ("c",), ("f",))
    assert any("from" in said for said in found.table.joined)
    straight = partition(NaiveBayes({"g": None}), X[[*LEVELS, "g"]], Y, concentration=2.0)
    assert straight.table.log_evidence.iloc[-1] == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-9)
    assert partition(wrong, X[[*LEVELS, "g"]], Y).estimator.get_params()["families"]["g"] is None


def test_a_block_grows_to_as_many_columns_as_are_allowed() -> None:
    copies = pd.DataFrame(dict.fromkeys("pqrst", X.a))
    sizes = [max(map(len, partition(NaiveBayes(), copies, Y, most=most).blocks)) for most in (1, 2, 3, None)]
    assert sizes == [1, 2, 3, 5]


def test_steps_over_missing_cells_compare_the_same_rows_and_end() -> None:
    holed = X[LEVELS].mask(RNG.random((ROWS, 4)) < 0.3).astype(object)
    model = NaiveBayes({"f": Bernoulli()})
    found = partition(model, holed, Y, concentration=2.0)
    assert ("a", "b") in found.blocks
    both = holed[["a", "b"]].notna().all(axis=1).to_numpy()
    expected = sum(
        of_table(holed.loc[both & (c == Y), ["a", "b"]], 2.0, [3, 3])
        - sum(of_table(holed.loc[both & (c == Y), [name]], 2.0, [3]) for name in "ab")
        for c in (0, 1)
    )
    assert found.table.log_bayes_factor[1] == pytest.approx(expected, abs=1e-9)
    assert any("missing in a, b, c, f" in note for note in found.notes)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = np.where(rng.random((40, 6)) < 0.4, -1, rng.integers(0, 2, (40, 6)))
        dies = LevelEvidence(Labels(np.zeros(40, int), np.ones(40), 1), codes, (2,) * 6, np.ones(1))
        assert all(step.gain > 0 for step in steps(dies, [(place,) for place in range(6)], np.inf))


def test_whole_weights_are_rows_and_others_are_refused() -> None:
    times = RNG.integers(0, 3, ROWS)
    once, often = (
        partition(NaiveBayes(), X, Y, sample_weight=times),
        partition(NaiveBayes(), X.loc[np.repeat(X.index, times)], np.repeat(Y, times)),
    )
    assert once.blocks == often.blocks
    assert once.table.joined.tolist() == often.table.joined.tolist()
    np.testing.assert_allclose(once.table.log_evidence, often.table.log_evidence, rtol=1e-12)
    with pytest.raises(ValueError, match="whole numbers"):
        partition(NaiveBayes(), X, Y, sample_weight=np.full(ROWS, 0.5))


def test_words_and_counts_are_left_alone_and_the_notes_say_so() -> None:
    table = X[["a", "b"]].assign(n=RNG.poisson(3.0, ROWS), the=RNG.poisson(2.0, ROWS), of=RNG.poisson(1.0, ROWS))
    model = NaiveBayes({"n": Poisson(), ("the", "of"): Multinomial(), ("a", "b"): Categorical(0.5)})
    found = partition(model, table, Y)
    assert found.blocks == (("a", "b"), ("n",), ("the", "of"))
    assert found.notes[0] == "Not among those that may be joined: n, the, of."
    assert found.estimator.fit(table, Y).log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-9)


@pytest.mark.parametrize("family", [Gaussian(shared=True), MultivariateGaussian(shared=True)])
def test_variances_that_classes_share_are_left_alone(family: Any) -> None:
    found = partition(NaiveBayes({("u", "v"): family}), X, Y)
    assert ("u", "v") in found.blocks or {("u",), ("v",)} <= set(found.blocks)
    assert found.notes[0] == "Not among those that may be joined: u, v, w."
    assert found.estimator.fit(X, Y).log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-8)


def test_only_the_columns_that_are_named_are_joined() -> None:
    found = partition(NaiveBayes(**plainly(X)), X, Y, columns=["u", "v", "f", "g"])
    assert found.blocks == (("a",), ("u", "v"), ("b",), ("f", "g"), ("c",), ("w",))
    assert found.estimator.fit(X, Y).log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-8)


def test_a_preset_becomes_a_naive_bayes_with_its_class_prior() -> None:
    codes = np.column_stack([A, (A + (RNG.random(ROWS) < 0.2)) % 3])
    for said in ({}, {"fit_prior": False}, {"class_prior": [0.25, 0.75]}, {"class_prior": "empirical"}):
        found = partition(CategoricalNB(min_categories=5, **said), codes, Y)
        assert found.blocks == ((0, 1),)
        last = found.table.log_evidence.iloc[-1]
        assert found.estimator.fit(codes, Y).log_evidence_ == pytest.approx(last, abs=1e-9)
    found = partition(GaussianNB(estimate="mle", class_prior="empirical"), X[["u", "w"]].to_numpy(), Y)
    assert found.estimator.get_params()["estimate"] == "mle"


def test_rows_that_a_model_has_learnt_among_others_are_compared_under_its_priors() -> None:
    fitted = NaiveBayes(**plainly(X)).fit(X, Y)
    some = X.index < 150
    found = partition(fitted, X[some], Y[some])
    priors = found.estimator.fit(X[some], Y[some])
    assert priors.log_evidence_ == pytest.approx(found.table.log_evidence.iloc[-1], abs=1e-8)
    np.testing.assert_allclose(priors.prior_["w"].scale, fitted.prior_["w"].scale, rtol=1e-12)


def test_an_extreme_table_is_compared_in_logs() -> None:
    codes = RNG.integers(0, 5, (30, 600))
    dies = LevelEvidence(Labels(np.zeros(30, int), np.ones(30), 1), codes, (5,) * 600, np.ones(1))
    whole = tuple(range(600))
    expected = -30 * 600 * np.log(5) - gammaln(31)  # every row is another combination, at A / K: 30 new ones in a row
    assert dies.log_evidence(whole) == pytest.approx(expected, rel=1e-12)


def test_a_partition_is_shown_in_words_as_a_page_and_as_a_picture() -> None:
    found = partition(NaiveBayes(**plainly(X)), X, Y)
    assert isinstance(found, Partition)
    assert found.verdict.startswith("{a, b}; {u, v}; {f, g}, and 2 columns alone: +")
    assert found.verdict in repr(found)
    page = found._repr_html_()
    assert page.count('class="block joined"') == 3
    assert "<b>{a, b}; {u, v}" in page
    ax = found.plot()
    points = ax.lines[0].get_xdata()
    np.testing.assert_allclose(points, found.table.log_evidence - found.table.log_evidence[0])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["start", *found.table.joined[1:]]
    assert_readable(ax.get_figure())
    stayed = partition(NaiveBayes(), X[["a", "c"]], Y)
    assert stayed.verdict == "No two blocks are better modelled jointly: the partition stays as it was."
    ax = stayed.plot()
    assert_readable(ax.get_figure())
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert len(ticks) > 2
    assert len({*ticks}) == len(ticks)


def test_a_step_of_long_names_shows_something_of_both_blocks() -> None:
    joined = ["", "answer 1 of the long questionnaire + answer 2 of the long questionnaire", "a + b"]
    ax = plot_steps(joined, np.array([-9.0, -5.0, -1.0]), {"naive": -9.0, "joint": -3.0})
    _, long, brief = (tick.get_text() for tick in ax.get_yticklabels())
    assert long.startswith("answer 1 of")
    assert " + answer 2 of" in long
    assert len(long) <= 42
    assert brief == "a + b"


def test_partition_says_what_it_cannot_do() -> None:
    model = NaiveBayes()
    for said, match in (
        ({"columns": ["a", "nothing"]}, "'nothing' is not a column of this model"),
        ({"columns": "a"}, "list of names"),
        ({"columns": ["a"]}, "no two columns can be joined"),
        ({"most": 0}, "most must be None or a whole number"),
        ({"concentration": 0.0}, "concentration must be None or a positive number"),
    ):
        with pytest.raises(ValueError, match=match):
            partition(model, X, Y, **said)
    with pytest.raises(ValueError, match="'n' cannot be joined with others"):
        partition(NaiveBayes({"n": Poisson()}), X[["a", "b"]].assign(n=A), Y, columns=["n", "a"])
    with pytest.raises(ValueError, match="are one block of this model"):
        partition(NaiveBayes({("a", "b"): JointTable()}), X, Y, columns=["a", "c"])
    with pytest.raises(ValueError, match="average_features"):
        partition(NaiveBayes(average_features=0.5), X, Y)
    with pytest.raises(ValueError, match="improper"):
        partition(NaiveBayes(Categorical(0.0)), X[LEVELS], Y)
    with pytest.raises(ValueError, match="class_prior"):
        partition(NaiveBayes(class_prior=0.0), X, Y)
