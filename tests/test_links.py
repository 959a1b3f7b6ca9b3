"""Links between columns: forests and further pairs, against counts made anew and enumeration."""

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2
from sklearn.base import clone

import bayesnb
from bayesnb import Bernoulli, Beta, Categorical, Gaussian, Histogram, NaiveBayes
from tests.hostile import members_of, packed

Array = np.ndarray
STRENGTHS = 2.0 ** np.arange(12)  # of a link's prior
LEVELS_MODEL = NaiveBayes(Categorical(1.0), dependence="forest", temper=None)


def levels(
    rng: np.random.Generator,
    rows: int = 300,
    classes: int = 2,
    sizes: tuple[int, ...] = (2, 3, 4, 3),
) -> tuple[pd.DataFrame, Array]:
    """Return columns of levels, each of which is likely to follow the one before, and labels."""
    y = rng.integers(0, classes, rows)
    table = pd.DataFrame()
    before = y
    for place, size in enumerate(sizes):
        follows = rng.random(rows) < (0.7 if place else 0.0)
        before = np.where(follows, (before + y) % size, rng.integers(0, size, rows))
        table["abcdefgh"[place]] = before.astype(str)
    return table, np.array(["no", "yes", "maybe"])[y]


def mixed(rng: np.random.Generator, rows: int = 300) -> tuple[pd.DataFrame, Array]:
    """Return columns of levels, numbers and a flag that depend on each other, and labels."""
    y = rng.integers(0, 2, rows)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.8, (a + y) % 3, rng.integers(0, 3, rows))
    u = rng.normal(size=rows) + a
    v = u * (2 * y - 1) + 0.5 * rng.normal(size=rows)
    flag = np.where(rng.random(rows) < 0.8, b == 1, rng.random(rows) < 0.5)
    table = pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "u": u, "v": v, "flag": flag})
    return table, np.array(["no", "yes"])[y]


def pairs_of(model: Any) -> set[frozenset[str]]:
    links = model.links_.to_dataframe()
    return set(map(frozenset, zip(links["first"], links["second"], strict=True)))


def log_factor(tables: Array, strength: float, margin: float = 0.0) -> float:
    """Log Bayes factor of a link from counts `(class, parent, child)`, a Dirichlet at a time."""
    total = 0.0
    for table in tables:
        children = table.sum(axis=0)
        mean = (children + margin) / (children + margin).sum()
        seen = mean > 0
        for row in table[:, seen]:
            prior = strength * mean[seen]
            total += gammaln(strength) - gammaln(strength + row.sum())
            total += (gammaln(prior + row) - gammaln(prior)).sum()
        total -= children[seen] @ np.log(mean[seen])
    return total


class Counted:
    """Columns of levels under Dirichlet(1), and a model's links, all counted anew."""

    def __init__(self, model: Any, table: Any, y: Array, weight: Array | None = None) -> None:
        links = model.links_.to_dataframe()
        self.names, self.classes = list(table), model.classes_
        self.levels = [sorted(table[name].dropna().unique()) for name in table]
        self.x, self.y = self.codes(table), np.searchsorted(model.classes_, y)
        self.weight = np.ones(len(y)) if weight is None else weight
        self.links = [
            tuple(map(self.names.index, pair)) for pair in links[["first", "second"]].values
        ]
        self.strength = [STRENGTHS[np.argmax(self.factors(*link))] for link in self.links]
        self.in_forest, self.link_power = (
            links["in_forest"].to_numpy(float),
            links["temper"].to_numpy(),
        )
        power = model.temper_
        self.power = np.full(4, power) if isinstance(power, float) else power[self.names].to_numpy()

    def codes(self, table: Any) -> Array:
        columns = zip(self.names, self.levels, strict=True)
        return np.column_stack(
            [pd.Index(known).get_indexer(table[name]) for name, known in columns]
        )

    def tables(self, parent: int, child: int, keep: Array | None = None) -> Array:
        both = (self.x[:, parent] >= 0) & (self.x[:, child] >= 0)
        both &= True if keep is None else keep
        shape = len(self.classes), len(self.levels[parent]), len(self.levels[child])
        counts = np.zeros(shape)
        np.add.at(counts, (self.y[both], *self.x[both][:, [parent, child]].T), self.weight[both])
        return counts

    def factors(self, parent: int, child: int) -> list[float]:
        tables = self.tables(parent, child)
        return [log_factor(tables, strength) for strength in STRENGTHS]

    def terms(self, x: Array, keep: Array) -> Iterator[tuple[int, Any, Any, Any]]:
        """Yield place, concentration, total and base of each share of a row, `(class,)`."""
        of_class = np.eye(len(self.classes))[self.y] * (self.weight * keep)[:, None]
        for j, known in enumerate(self.levels):
            if x[j] >= 0:
                total = of_class[self.x[:, j] >= 0].sum(axis=0) + len(known)
                yield j, of_class[self.x[:, j] == x[j]].sum(axis=0) + 1, total, 1.0
        for k, ((u, v), strength) in enumerate(zip(self.links, self.strength, strict=True)):
            if x[u] >= 0 and x[v] >= 0:
                tables = self.tables(u, v, keep)
                children = tables.sum(axis=1) + 1
                mean = children[:, x[v]] / children.sum(axis=1)
                concentration = strength * mean + tables[:, x[u], x[v]]
                yield 4 + k, concentration, strength + tables[:, x[u]].sum(axis=1), mean

    def log_joint(self, x: Array, keep: Array, power: Array) -> Array:
        """Return log p(x, class) of a row under exponents, learnt from the rows in `keep`."""
        counts = np.bincount(self.y[keep], self.weight[keep], len(self.classes)) + 1
        score = np.log(counts / counts.sum())
        for place, concentration, total, base in self.terms(x, keep):
            score += power[place] * np.log(concentration / total / base)
        return score


# Distributions


@pytest.mark.parametrize("family", [Bernoulli(0.5), Bernoulli(Beta(2.0, 7.0)), Categorical(1.0)])
def test_the_probabilities_of_all_rows_sum_to_one_in_each_class(family: Any) -> None:
    rng = np.random.default_rng(2)
    table, y = levels(rng, classes=3)
    table["d"] = (table["b"] == "1") ^ (rng.random(300) < 0.1)
    families = dict.fromkeys("abc", Categorical(1.0)) | {"d": family}
    model = NaiveBayes(families, dependence="forest", temper=None).fit(table, y)
    assert frozenset("bd") in pairs_of(model)
    every = pd.DataFrame(
        itertools.product("01", "012", "0123", [False, True]), columns=list("abcd")
    )
    share = (pd.Series(y).value_counts()[model.classes_] + 1) / 303
    total = np.exp(model.predict_joint_log_proba(every)).sum(axis=0)
    np.testing.assert_allclose(total, share, rtol=1e-9)


@pytest.mark.parametrize("family", [Gaussian(), Histogram()], ids=["gaussian", "histogram"])
@pytest.mark.slow
def test_linked_numbers_have_a_density_and_rows_are_drawn_from_it(family: Any) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    u = rng.normal(size=400)
    table = np.column_stack([u, u * (2 * y - 1) + 0.5 * rng.normal(size=400)])
    model = NaiveBayes(family, dependence="forest", temper=None).fit(table, y)
    assert model.links_.sizes["link"] == 1
    room = 1e-9 if isinstance(family, Histogram) else 8
    first, second = (np.linspace(side.min() - room, side.max() + room, 400) for side in table.T)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), -1).reshape(-1, 2)
    density = np.exp(model.predict_joint_log_proba(grid))
    density *= (first[1] - first[0]) * (second[1] - second[0])
    assert density.sum() == pytest.approx(1, abs=0.05)
    rows, labels = model.sample(20_000, rng=2)
    for c in range(2):
        expected = density[grid.prod(axis=1) > 0, c].sum() / density[:, c].sum()
        assert (rows[labels == c].prod(axis=1) > 0).mean() == pytest.approx(expected, abs=0.03)


def test_a_flag_is_linked_by_the_sides_of_its_threshold() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    table = rng.normal(size=(200, 2)) + 3
    table[:, 1] = np.where(rng.random(200) < 0.9, table[:, 0], table[:, 1])
    table[:9, 0] = 2.5
    flags = (table > 2.5).astype(float)
    of_flags = NaiveBayes(Bernoulli(), dependence="forest").fit(flags, y)
    model = NaiveBayes(Bernoulli(threshold=2.5), dependence="forest").fit(table, y)
    assert model.links_.sizes["link"] == 1
    np.testing.assert_array_equal(model.predict_proba(table), of_flags.predict_proba(flags))


@pytest.mark.parametrize("dependence", ["forest", "pairs"])
@pytest.mark.parametrize("uneven", [False, True], ids=["plain", "weighted, missing"])
def test_predictions_are_those_of_counts_made_anew_without_a_row_or_a_fold(
    dependence: str, uneven: bool
) -> None:
    rng = np.random.default_rng(4)
    table, y = levels(rng, 150, 3)
    table = table.mask(rng.random(table.shape) < 0.1 * uneven)
    weight = rng.uniform(0.2, 3.0, len(y)) if uneven else np.ones(len(y))
    model = NaiveBayes(Categorical(1.0), dependence=dependence, temper="columns")
    model.fit(table, y, weight)
    counted = Counted(model, table, y, weight)
    assert counted.in_forest.all() == (dependence == "forest")
    folds = rng.integers(0, 5, len(y))
    every = np.ones(len(y), bool)
    scores = {
        target: (
            model.loo(table, y, target, sample_weight=weight, exponents="kept").elpd_i.values,
            model.kfold(table, y, folds, target, sample_weight=weight).elpd_i.values,
        )
        for target in ("label", "joint")
    }
    joint = model.predict_joint_log_proba(table)
    evidence = np.append(np.ones(4), counted.in_forest)
    found = np.append(counted.power, counted.link_power)
    for i in range(0, len(y), 6):
        x = counted.x[i]
        own = counted.y[i]
        np.testing.assert_allclose(joint[i], counted.log_joint(x, every, found), rtol=1e-9)
        for at, keep in enumerate((np.arange(len(y)) != i, folds != folds[i])):
            score = counted.log_joint(x, keep, found)
            expected = score[own] - logsumexp(score)
            assert scores["label"][at][i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            expected = counted.log_joint(x, keep, evidence)[own]
            assert scores["joint"][at][i] == pytest.approx(expected, rel=1e-9)


def test_rows_drawn_have_the_pairs_of_levels_that_the_model_expects() -> None:
    model = clone(LEVELS_MODEL).fit(*levels(np.random.default_rng(12), 400))
    every = pd.DataFrame(itertools.product("01", "012", "0123", "012"), columns=list("abcd"))
    expected = np.exp(model.predict_joint_log_proba(every))
    rows, labels = model.sample(20_000, rng=1)
    for one, two in map(list, pairs_of(model)):
        for c, label in enumerate(model.classes_):
            mean = pd.Series(expected[:, c]).groupby([every[one], every[two]]).sum()
            drawn = rows[labels == label]
            seen = drawn.groupby([one, two]).size().reindex(mean.index, fill_value=0)
            mean *= len(drawn) / mean.sum()
            assert ((seen - mean) ** 2 / mean).sum() < chi2.ppf(1 - 1e-4, len(mean) - 1)


def test_a_level_and_a_class_that_come_later_are_left_out_exactly() -> None:
    table, y = mixed(np.random.default_rng(14))
    model = NaiveBayes().fit(table, y)
    more = table[:60].copy()
    labels = y[:60].astype(object)
    more.iloc[:30, 0], labels[10:40] = "new", "late"
    model.partial_fit(more, labels, grow_classes=True)
    every = pd.concat([table, more], ignore_index=True)
    labels = np.append(y, labels).astype(str)
    score = model.loo(every, labels, exponents="kept").elpd_i.values
    for i in (0, 100, 305, 315, 335):
        rest = copy.deepcopy(model).forget(every.iloc[[i]], labels[[i]])
        own = rest.classes_.tolist().index(labels[i])
        expected = rest.predict_log_proba(every.iloc[[i]])[0, own]
        assert score[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Which links


def rooted_forests(width: int) -> Iterator[list[tuple[int, int]]]:
    """Yield every way to give columns parents, or none, without a cycle."""
    for parents in itertools.product([None, *range(width)], repeat=width):
        above = list(parents)
        for _ in range(width):
            above = [None if at is None else parents[at] for at in above]
        if above == [None] * width:
            yield [(u, v) for v, u in enumerate(parents) if u is not None]


@pytest.mark.parametrize("sizes", [(2, 3, 4, 3), (60, 3, 2, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_the_forest_is_the_best_of_all_by_the_evidence_of_the_definition(
    sizes: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    table, y = levels(rng, 250, 2, sizes)
    table = table.mask(rng.random(table.shape) < 0.05)
    weight = rng.integers(1, 4, 250)
    model = NaiveBayes(Categorical(1.0), dependence="pairs").fit(table, y, weight)
    counted = Counted(model, table, y, weight)
    evidence = {}
    threshold = 3 * np.log(5)
    for u, v in itertools.permutations(range(4), 2):
        evidence[u, v] = max(counted.factors(u, v))
    strongest = {(u, v): max(evidence[u, v], evidence[v, u]) for u, v in evidence}
    for link, value in evidence.items():
        evidence[link] = value if value > threshold else strongest[link]
    forests = [
        forest
        for forest in rooted_forests(4)
        if all(strongest[link] > threshold for link in forest)
    ]
    best = max(sum(strongest[link] for link in forest) for forest in forests)
    undirected = [f for f in forests if sum(strongest[link] for link in f) > best - 1e-9]
    best = max(sum(evidence[link] for link in forest) for forest in undirected)
    chosen = [link for link, is_in in zip(counted.links, counted.in_forest, strict=True) if is_in]
    assert sorted(chosen) in [sorted(forest) for forest in undirected]
    assert sum(evidence[link] for link in chosen) == pytest.approx(best, rel=1e-9)
    assert len(counted.links) == sum(value > threshold for value in strongest.values()) / 2
    expected = [evidence[link] for link in counted.links]
    np.testing.assert_allclose(model.links_.log_bayes_factor, expected, rtol=1e-9)
    plain = NaiveBayes(Categorical(1.0)).fit(table, y, weight).log_evidence_
    for link, strength, is_in in zip(
        counted.links, counted.strength, counted.in_forest, strict=True
    ):
        plain += is_in * log_factor(counted.tables(*link), strength, margin=1.0)
    assert model.log_evidence_ == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("rows", [30, 1500])
def test_a_planted_forest_is_recovered_and_nothing_besides(rows: int) -> None:
    rng = np.random.default_rng(rows)
    y = rng.integers(0, 2, rows)
    hidden = rng.normal(size=(rows, 6))
    for child, parent in ((1, 0), (2, 1), (3, 1)):
        hidden[:, child] = 0.8 * (2 * y - 1) * hidden[:, parent] + 0.6 * hidden[:, child]
    table = pd.DataFrame(hidden, columns=list("abcdef"))
    for name in "bdf":
        table[name] = np.searchsorted([-0.7, 0.0, 0.7], table[name]).astype(str)
    right = {frozenset(pair) for pair in ("ab", "bc", "bd")}
    found = pairs_of(NaiveBayes(dependence="forest").fit(table, y))
    assert found == right if rows > 30 else all(pair <= set("abcd") for pair in found)


def test_planted_pairs_among_more_than_can_be_compared_at_full_length_are_found() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (1000, 104))
    odd = codes[:, 1::2]
    codes[:, 1::2] = np.where(rng.random(odd.shape) < 0.5, codes[:, ::2], odd)
    table = pd.DataFrame(codes.astype(str)).add_prefix("c")
    found = pairs_of(clone(LEVELS_MODEL).fit(table, rng.integers(0, 2, 1000)))
    assert found == {frozenset((f"c{j}", f"c{j + 1}")) for j in range(0, 104, 2)}


@pytest.mark.parametrize(("squares", "rows"), [(8, 2_000), (16, 6_000), (32, 20_000)])
def test_numbers_are_linked_on_finer_grids_where_there_are_more_rows(
    squares: int, rows: int
) -> None:
    def chessboard(rows: int) -> tuple[Array, Array]:
        x = np.random.default_rng(rows).integers(0, squares, (rows, 2))
        return x.astype(float), x.sum(axis=1) % 2

    x, y = chessboard(1_001)

    def score(rows: int) -> float:
        return NaiveBayes(Histogram(), dependence="forest").fit(*chessboard(rows)).score(x, y)

    assert score(rows) > 0.9
    assert squares == 8 or score(rows // 4) < 0.6  # a coarser grid sees none of it


def test_more_rows_tell_more_links_apart() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4_000, 17)) + 3 * rng.normal(size=(4_000, 1))  # all 136 pairs depend
    y = rng.integers(0, 2, 4_000)
    model = NaiveBayes(Histogram(), dependence="pairs", temper="columns")
    sizes = [len(pairs_of(clone(model).fit(x[:rows], y[:rows]))) for rows in (600, 1_500, 4_000)]
    assert sizes == [60, 100, 120]


def count_linked(times: int, make: Callable[[np.random.Generator], tuple[Any, Any]]) -> int:
    """Return how many tables of independent columns have a link."""
    linked = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        families, table = make(rng)
        y = table.pop("y") if "y" in table else rng.integers(0, 2, len(table))
        linked += NaiveBayes(families, dependence="forest").fit(table, y).links_.sizes["link"] > 0
    return linked


@pytest.mark.parametrize("sizes", [(2, 2, 8, 8, 40, 40), (0, 0, 0, 0, 2, 8)], ids=str)
@pytest.mark.parametrize(
    ("rows", "times"),
    [
        (60, 20),
        pytest.param(2000, 100, marks=pytest.mark.slow),
        pytest.param(20_000, 40, marks=pytest.mark.slow),  # finer grids of numbers
    ],
)
def test_independent_columns_have_no_link(sizes: tuple[int, ...], rows: int, times: int) -> None:
    def make(rng: np.random.Generator) -> tuple[Any, pd.DataFrame]:
        table = pd.DataFrame()
        y = rng.integers(0, 2, rows)
        for j, size in enumerate(sizes):
            if size:
                ends = rng.dirichlet(np.full(size, 0.5), 2).cumsum(axis=1)[y, :-1]
                table[f"x{j}"] = (rng.random((rows, 1)) > ends).sum(axis=1).astype(str)
            else:
                table[f"x{j}"] = rng.normal(rng.normal(size=2)[y], 1.0)
        families = [Categorical() if size else Histogram() for size in sizes]
        return dict(zip(table, families, strict=True)), table.assign(y=y)

    assert count_linked(times, make) <= 0.05 * times


DISAGREEING = [Categorical([1.0, 1.0, 40.0]), Bernoulli(Beta(50.0, 50.0))]


@pytest.mark.parametrize("family", DISAGREEING, ids=str)
@pytest.mark.parametrize("copied", [0.0, 0.4])
def test_a_declared_prior_that_disagrees_with_the_rows_links_no_columns(
    family: Any, copied: float
) -> None:
    def make(rng: np.random.Generator) -> tuple[Any, pd.DataFrame]:
        g, h = rng.choice(3, (2, 300), p=[0.8, 0.15, 0.05])
        table = pd.DataFrame({"g": g, "h": np.where(rng.random(300) < copied, g, h)})
        is_flag = isinstance(family, Bernoulli)
        return {"g": family, "h": family}, table > 0 if is_flag else table.astype(str)

    linked = count_linked(20, make)
    assert linked >= 19 if copied else linked <= 1


def test_identifiers_and_columns_that_say_nothing_are_not_linked() -> None:
    table, y = mixed(np.random.default_rng(14))
    model = NaiveBayes(temper=None).fit(table, y)
    idle = table.assign(constant=1.0, empty=np.nan, word="x")
    assert pairs_of(NaiveBayes(temper=None).fit(idle, y)) == pairs_of(model)
    rows = 40_000  # a table of pairs of identifiers would have a billion cells
    names = np.random.default_rng(1).permutation(rows).astype(str)
    table = pd.DataFrame({"id": names, "key": names[::-1], "p": ["1", "2"] * (rows // 2)})
    table["q"] = table["p"]
    model = clone(LEVELS_MODEL).fit(table, np.arange(rows) // 2 % 2)
    assert pairs_of(model) == {frozenset("pq")}


def test_copies_of_a_column_are_linked_and_predictions_stay_calm() -> None:
    rng = np.random.default_rng(23)
    y = rng.integers(0, 2, 300)
    one = (rng.normal(size=300) + y)[:, None]
    copies = np.hstack([one, one, one])
    alone = NaiveBayes().fit(one, y)
    model = NaiveBayes().fit(copies, y)
    assert model.links_.in_forest.values.sum() == 2
    assert model.loo(copies, y).elpd > 1.1 * alone.loo(one, y).elpd


def test_partitions_of_dask_have_the_links_of_the_first() -> None:
    dataframes = pytest.importorskip("dask.dataframe")
    table, y = levels(np.random.default_rng(26), 240)
    parts = clone(LEVELS_MODEL).fit(table[:80], y[:80]).partial_fit(table[80:], y[80:])
    labels = dataframes.from_pandas(pd.Series(y), npartitions=3)
    lazy = clone(LEVELS_MODEL).fit(dataframes.from_pandas(table, npartitions=3), labels)
    assert pairs_of(lazy) == pairs_of(parts)
    same = lazy.predict_proba(table)
    np.testing.assert_allclose(same, parts.predict_proba(table), rtol=1e-9)


# Refusals


@pytest.fixture(scope="module")
def linked() -> tuple[NaiveBayes, pd.DataFrame, Array]:
    table, y = mixed(np.random.default_rng(14))
    return NaiveBayes().fit(table, y), table, y


REFUSED = {
    "column 'u'.*infinite": lambda model, x, y: model.loo(x.replace(x["u"][3], np.inf), y),
    r"differ between the parts.*partial_fit.*dependence=None": lambda model, x, y: model.merge(
        NaiveBayes(dependence=None).fit(x, y)
    ),
    "is not a column of this model; it has [^→]*$": lambda model, x, y: bayesnb.plot_column(
        model, "u → v"
    ),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_links_cannot_do_is_refused(match: str, linked: Any) -> None:
    with pytest.raises(ValueError, match=match):
        REFUSED[match](*linked)


BAD_LINKS = [[[0, 5]], [[-1, 0]], [[1, 1]], [[0, 1], [0, 1]], [], [["a", "b"]], {"a": 1}]


@pytest.mark.parametrize("links", BAD_LINKS, ids=str)
def test_a_file_with_links_that_no_columns_have_is_refused(
    links: Any, linked: Any, tmp_path: Path
) -> None:
    path = tmp_path / "model.bnb"
    linked[0].save(path)
    members = members_of(path.read_bytes())
    document = json.loads(members["model.json"])
    seen = document["content"]["model"]["$Saved"]["shard"]["$Shard"]
    blocks = seen["schema"]["$Schema"]["blocks"]["$tuple"]
    families = [block["$Block"]["family"] for block in blocks]
    (block,) = (family["$Linked"] for family in families if "$Linked" in family)
    ends = block["ends"]["$tuple"]
    changed = [{"$tuple": pair} for pair in links] if isinstance(links, list) else links
    block["ends"] = {"$tuple": changed + ends[len(links) :] if links in BAD_LINKS[:4] else changed}
    members["model.json"] = json.dumps(document).encode()
    path.write_bytes(packed(members))
    with pytest.raises(ValueError, match=r"model\.bnb"):
        bayesnb.load(path)
