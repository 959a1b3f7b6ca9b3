"""Links between columns: joint distributions by forests, exact in all that follows from counts of pairs of levels."""

import copy
import itertools
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2
from sklearn.base import clone

import bayesnb
from bayesnb import Bernoulli, Categorical, Gaussian, NaiveBayes, PolyaTree, scale
from bayesnb.datasets import penguins
from bayesnb.families.links import Links, LinkStats, Pairs
from bayesnb.model.linked import codes_of
from bayesnb.numerics import link_kernels
from bayesnb.selection.link_search import Candidate, rooted, spanning
from tests.hostile import changed_files, members_of, packed

Array = np.ndarray
CLASSES = np.array(["no", "yes", "maybe"])


def levels(rng: np.random.Generator, rows: int = 300, classes: int = 2, chained: float = 0.7) -> tuple[Any, Array]:
    """A table of four columns of levels, each of which is likely to follow the one before, and labels."""
    y = rng.integers(0, classes, rows)
    sizes, columns = (2, 3, 4, 3), []
    for size in sizes:
        column = rng.integers(0, size, rows)
        if columns:
            column = np.where(rng.random(rows) < chained, (columns[-1] + y) % size, column)
        columns.append(column)
    table = pd.DataFrame({name: column.astype(str) for name, column in zip("abcd", columns, strict=True)})
    return table, CLASSES[y]


def mixed(rng: np.random.Generator, rows: int = 300, classes: int = 2, holes: float = 0.0) -> tuple[Any, Array]:
    """A table of two columns of levels, two of numbers and a flag, that depend on each other given the class."""
    y = rng.integers(0, classes, rows)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.8, (a + y) % 3, rng.integers(0, 3, rows))
    u = rng.normal(size=rows) + a
    v = u * (2 * (y > 0) - 1) + 0.5 * rng.normal(size=rows)
    flag = np.where(rng.random(rows) < 0.8, b == 1, rng.random(rows) < 0.5)
    table = pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "u": u, "v": v, "flag": flag.astype(object)})
    return table.mask(rng.random(table.shape) < holes), CLASSES[y]


def quiet(model: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def slowly(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


class Counted:
    """What a model of columns of levels, all under Dirichlet(1), and links comes to, counted row by row anew.

    Only the links themselves, their strengths and their exponents are taken from the model.
    """

    def __init__(self, model: Any, table: Any, y: Array, weight: Array | None = None) -> None:
        block = model.schema_.links
        self.levels = [sorted(table[name].dropna().unique()) for name in table]
        self.names, self.classes = list(table), model.classes_
        self.ends = [tuple(self.names.index(name) for name in key) for key in block.keys]
        self.strength, self.in_forest = block.strength, block.in_forest
        columns = model.temper_
        columns = np.full(len(self.names), columns) if isinstance(columns, float) else columns[self.names].to_numpy()
        self.power, self.link_power = columns, model.links_.temper.values
        self.x, self.y = self.codes(table), np.searchsorted(self.classes, y)
        self.weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)

    def codes(self, table: Any) -> Array:
        return np.column_stack(
            [
                [-1 if pd.isna(cell) else levels.index(cell) for cell in table[name]]
                for name, levels in zip(self.names, self.levels, strict=True)
            ]
        )

    def log_joint(self, x: Array, keep: Array, power: Array | None = None, link_power: Array | None = None) -> Array:
        """log p(x, class) of a row, `(c,)`, learnt from the rows in `keep`."""
        power = self.power if power is None else power
        link_power = self.link_power if link_power is None else link_power
        made = np.empty(len(self.classes))
        for c in range(len(self.classes)):
            rows = keep & (self.y == c)
            seen, weight = self.x[rows], self.weight[rows]
            total = np.log((weight.sum() + 1) / (self.weight[keep].sum() + len(self.classes)))
            for j, size in enumerate(map(len, self.levels)):
                if x[j] >= 0:
                    n = weight[seen[:, j] == x[j]].sum()
                    whole = weight[seen[:, j] >= 0].sum() + size
                    total += power[j] * np.log((n + 1) / whole)
            for (u, v), strength, w in zip(self.ends, self.strength, link_power, strict=True):
                if x[u] < 0 or x[v] < 0 or w == 0:
                    continue
                both = (seen[:, u] >= 0) & (seen[:, v] >= 0)
                m = (weight[both & (seen[:, v] == x[v])].sum() + 1) / (weight[both].sum() + len(self.levels[v]))
                at = both & (seen[:, u] == x[u])
                n = weight[at & (seen[:, v] == x[v])].sum()
                total += w * np.log((strength * m + n) / (strength + weight[at].sum()) / m)
            made[c] = total
        return made

    def drawn_scores(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        """Scores of the classes for a row, `(s, c)`, each parameter drawn from its posterior."""
        made = np.empty((draws, len(self.classes)))
        for c in range(len(self.classes)):
            seen, weight = self.x[self.y == c], self.weight[self.y == c]
            total = np.log(rng.gamma(weight.sum() + 1, size=draws))
            for j, size in enumerate(map(len, self.levels)):
                if x[j] >= 0:
                    n = weight[seen[:, j] == x[j]].sum()
                    total += self.drawn(n + 1, weight[seen[:, j] >= 0].sum() + size, self.power[j], draws, rng)
            for (u, v), strength, w in zip(self.ends, self.strength, self.link_power, strict=True):
                if x[u] < 0 or x[v] < 0:
                    continue
                both = (seen[:, u] >= 0) & (seen[:, v] >= 0)
                m = (weight[both & (seen[:, v] == x[v])].sum() + 1) / (weight[both].sum() + len(self.levels[v]))
                at = both & (seen[:, u] == x[u])
                a = strength * m + weight[at & (seen[:, v] == x[v])].sum()
                whole = strength + weight[at].sum()
                total += self.drawn(a, whole, w, draws, rng) - w * np.log(m)
            made[:, c] = total
        return made

    @staticmethod
    def drawn(a: float, whole: float, w: float, draws: int, rng: np.random.Generator) -> Array:
        """The log of p**w, p ~ Beta(a, whole - a), shifted so that its exponential has the expectation E[p]**w."""
        moment = gammaln(a + w) - gammaln(a) - gammaln(whole + w) + gammaln(whole)
        return w * np.log(rng.beta(a, whole - a, draws)) + w * np.log(a / whole) - moment

    def left_out(self, target: str, folds: Array | None = None) -> Array:
        folds = np.arange(len(self.y)) if folds is None else folds
        joint = target == "joint"
        powers = (np.ones(len(self.names)), self.in_forest) if joint else (None, None)
        made = np.empty(len(self.y))
        for i in range(len(self.y)):
            scores = self.log_joint(self.x[i], folds != folds[i], *powers)
            made[i] = scores[self.y[i]] - (0 if joint else logsumexp(scores))
        return made


# Distributions


def test_the_probabilities_of_all_rows_of_levels_sum_to_one_in_each_class_and_in_all() -> None:
    table, y = levels(np.random.default_rng(1), classes=3)
    model = NaiveBayes(Categorical(1.0), dependence="forest", temper=None).fit(table, y)
    assert len(model.links_.link) == 3
    every = pd.DataFrame(
        list(itertools.product(*(sorted(table[name].unique()) for name in table))), columns=list(table)
    )
    joint = model.predict_joint_log_proba(every)
    share = np.exp(model.class_posterior_.predictive().logpmf(np.eye(3, dtype=int)))
    np.testing.assert_allclose(np.exp(joint).sum(axis=0), share, rtol=1e-9)
    assert np.exp(model.log_density(every)).sum() == pytest.approx(1, abs=1e-9)


def test_the_probabilities_of_all_rows_of_flags_and_levels_sum_to_one() -> None:
    rng = np.random.default_rng(2)
    table, y = levels(rng)
    table = table.drop(columns="d").assign(flag=(table.b == "1") ^ (rng.random(len(table)) < 0.1))
    families = {"a": Categorical(1.0), "b": Categorical(1.0), "c": Categorical(1.0), "flag": Bernoulli()}
    model = NaiveBayes(families, dependence="forest", temper=None).fit(table, y)
    assert "flag" in model.links_["first"].values.tolist() + model.links_["second"].values.tolist()
    cells = [*(sorted(table[name].unique()) for name in "abc"), [False, True]]
    every = pd.DataFrame(list(itertools.product(*cells)), columns=[*"abc", "flag"])
    assert np.exp(model.log_density(every)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("prior", [(0.5, 0.5), (2.0, 7.0)])
def test_a_flags_link_knows_the_prior_of_the_flag(prior: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    y, one = rng.integers(0, 2, 60), rng.random(60) < 0.5
    table = pd.DataFrame({"one": one, "two": one ^ (rng.random(60) < 0.1)})
    model = NaiveBayes(Bernoulli(prior), dependence="forest", temper=None).fit(table, y)
    assert len(model.links_.link) == 1
    every = pd.DataFrame(list(itertools.product([False, True], repeat=2)), columns=["one", "two"])
    assert np.exp(model.log_density(every)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("family", [Gaussian(), PolyaTree()], ids=["gaussian", "tree"])
def test_the_density_of_linked_numbers_integrates_to_nearly_one(family: Any) -> None:
    rng = np.random.default_rng(3)
    y, u = rng.integers(0, 2, 400), rng.normal(size=400)
    table = np.column_stack([u, u * (2 * y - 1) + 0.5 * rng.normal(size=400)])
    model = NaiveBayes(family, dependence="forest", temper=None).fit(table, y)
    assert len(model.links_.link) == 1
    low, high = table.min(axis=0) - 8, table.max(axis=0) + 8
    if isinstance(family, PolyaTree):
        low, high = table.min(axis=0) - 1e-9, table.max(axis=0) + 1e-9
    sides = [np.linspace(a, b, 600) for a, b in zip(low, high, strict=True)]
    density = np.exp(model.log_density(np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 2)))
    assert density.sum() * np.prod([side[1] - side[0] for side in sides]) == pytest.approx(1, abs=0.05)


def test_a_flag_is_linked_by_the_sides_of_its_threshold() -> None:
    rng = np.random.default_rng(2)
    y, table = rng.integers(0, 2, 200), rng.normal(size=(200, 2)) + 3
    table[:, 1] = np.where(rng.random(200) < 0.9, table[:, 0], table[:, 1])
    table[:9, 0] = 2.5
    flags = NaiveBayes(Bernoulli(), dependence="forest").fit((table > 2.5).astype(float), y)
    model = NaiveBayes(Bernoulli(threshold=2.5), dependence="forest").fit(table, y)
    assert len(model.links_.link) == 1
    np.testing.assert_array_equal(model.predict_proba(table), flags.predict_proba((table > 2.5).astype(float)))
    rows, _ = model.sample(400, rng=1)
    assert ((rows[:, 0] > 2.5) == (rows[:, 1] > 2.5)).mean() > 0.8


# Leave-one-out


@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("dependence", ["forest", "pairs"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_loo_is_counted_again_without_each_row(target: str, dependence: str, weighted: bool, holes: float) -> None:
    rng = np.random.default_rng(4)
    table, y = levels(rng, 120, 3)
    table = table.mask(rng.random(table.shape) < holes)
    weight = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    model = quiet(NaiveBayes(Categorical(1.0), dependence=dependence, temper="columns"), table, y, weight)
    counted = Counted(model, table, y, weight)
    assert dependence == "forest" or not counted.in_forest.all()
    score = model.loo(table, y, target, sample_weight=weight, exponents="kept")
    np.testing.assert_allclose(score.elpd_i, counted.left_out(target), rtol=1e-9, atol=1e-9)
    folds = rng.integers(0, 5, len(y))
    score = model.kfold(table, y, folds, target, sample_weight=weight)
    np.testing.assert_allclose(score.elpd_i, counted.left_out(target, folds), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "dependence"), [("label", "forest"), ("label", "pairs"), ("joint", "forest")])
@pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
def test_loo_of_any_columns_is_forgetting_each_row(target: str, dependence: str, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    table, y = mixed(rng, 90, holes=0.1)
    weight = rng.choice([0.5, 1.0, 3.0], len(y)) if weighted else np.ones(len(y))
    temper = None if target == "joint" else "auto"
    model = quiet(NaiveBayes(dependence=dependence, temper=temper), table, y, weight)
    assert len(model.links_.link) >= 3
    score = model.loo(table, y, target, sample_weight=weight, exponents="kept")
    for i in range(0, len(y), 6):
        rest = copy.deepcopy(model).forget(table.iloc[[i]], y[[i]], weight[[i]])
        joint = rest.predict_joint_log_proba(table.iloc[[i]])[0]
        expected = joint[np.searchsorted(model.classes_, y[i])] - (0 if target == "joint" else logsumexp(joint))
        assert score.elpd_i.values[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Which links


def links_among(width: int, rng: np.random.Generator, ties: bool = False) -> list[Candidate]:
    """Links between all columns, in both directions, the strongest first; strongly one way, and nearly so the other."""
    made = []
    for u, v in itertools.combinations(range(width), 2):
        base = float(rng.integers(1, 4)) if ties else rng.uniform(1, 100)
        made += [Candidate(u, v, base + (0 if ties else rng.uniform(0, 5)), 1.0), Candidate(v, u, base, 2.0)]
    return sorted(made, key=lambda link: -link.evidence)


def all_forests(width: int) -> list[tuple[tuple[int, int], ...]]:
    """All sets of pairs of columns without a cycle."""
    pairs = list(itertools.combinations(range(width), 2))
    forests = []
    for size in range(width):
        for chosen in itertools.combinations(pairs, size):
            part = list(range(width))
            for u, v in chosen:
                if part[u] == part[v]:
                    break
                part = [part[u] if each == part[v] else each for each in part]
            else:
                forests.append(chosen)
    return forests


def rootings(forest: tuple[tuple[int, int], ...], width: int) -> list[list[tuple[int, int]]]:
    """All ways to direct the pairs of a forest so that each column has at most one parent."""
    ways = itertools.product(*([(u, v), (v, u)] for u, v in forest))
    return [list(way) for way in ways if len({child for _, child in way}) == len(way)]


@pytest.mark.parametrize("seed", range(30))
def test_the_forest_has_the_most_evidence_of_all_forests_of_four_columns_but_for_its_directions(seed: int) -> None:
    found = links_among(4, np.random.default_rng(seed))
    found = [link for link in found if link.evidence > 30]
    strongest: dict[frozenset[int], float] = {}
    for link in found:
        pair = frozenset(link[:2])
        strongest[pair] = max(strongest.get(pair, 0.0), link.evidence)
    forests = [f for f in all_forests(4) if all(frozenset(pair) in strongest for pair in f)]
    best = max(forests, key=lambda forest: sum(strongest[frozenset(pair)] for pair in forest))
    pairs = spanning(found, 4)
    assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in best}

    directed = {link[:2]: link for link in found}
    made = rooted(pairs, directed, 4)
    every = [
        sum(directed.get((u, v), directed[v, u]).evidence for u, v in way)
        for way in rootings(tuple(pairs), 4)
        if all((u, v) in directed or (v, u) in directed for u, v in way)
    ]
    assert sum(directed[ends].evidence for ends in made) == pytest.approx(max(every), rel=1e-12)
    assert len({child for _, child in made}) == len(made)
    for k, (parent, _) in enumerate(made):
        assert parent not in {child for _, child in made[k + 1 :]}, "parents come before children"


def test_ties_are_resolved_alike_each_time() -> None:
    found = links_among(6, np.random.default_rng(1), ties=True)
    first = rooted(spanning(found, 6), {link[:2]: link for link in found}, 6)
    for _ in range(3):
        assert rooted(spanning(found, 6), {link[:2]: link for link in found}, 6) == first


def test_the_order_of_rows_changes_no_link() -> None:
    rng = np.random.default_rng(6)
    table, y = mixed(rng, 300, holes=0.05)
    order = rng.permutation(len(y))
    one = NaiveBayes().fit(table, y)
    two = NaiveBayes().fit(table.iloc[order], y[order])
    assert one.schema_.links.keys == two.schema_.links.keys
    np.testing.assert_allclose(one.schema_.links.evidence, two.schema_.links.evidence, rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-5, atol=1e-9)


def test_the_order_of_columns_changes_no_link_and_no_prediction() -> None:
    table, y = mixed(np.random.default_rng(7), 300, holes=0.05)
    one = NaiveBayes().fit(table, y)
    turned = table[list(table)[::-1]]
    two = NaiveBayes().fit(turned, y)
    assert set(one.schema_.links.keys) == set(two.schema_.links.keys)
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(turned), rtol=1e-5, atol=1e-9)


def planted(rng: np.random.Generator, rows: int) -> tuple[Any, Array]:
    """Columns along the tree 0 - 1, 1 - 2, 1 - 3, and 4 and 5 alone; numbers and levels in turn."""
    y = rng.integers(0, 2, rows)
    hidden = rng.normal(size=(rows, 6))
    for child, parent in ((1, 0), (2, 1), (3, 1)):
        hidden[:, child] = 0.8 * (2 * y - 1) * hidden[:, parent] + 0.6 * hidden[:, child]
    table = pd.DataFrame(hidden, columns=list("abcdef"))
    for name in "bdf":
        table[name] = np.searchsorted([-0.7, 0.0, 0.7], table[name]).astype(str)
    return table, y


def test_a_planted_forest_is_recovered_as_rows_grow() -> None:
    right = {frozenset(pair) for pair in ("ab", "bc", "bd")}
    recovered = []
    for rows in (30, 120, 1500):
        keys = NaiveBayes(dependence="forest").fit(*planted(np.random.default_rng(rows), rows)).links_
        made = {frozenset(pair) for pair in zip(keys["first"].values, keys["second"].values, strict=True)}
        assert not made & {frozenset(pair) for pair in itertools.product("abcd", "ef")}
        recovered.append(len(made & right))
    assert recovered[0] <= recovered[1] <= recovered[2] == 3
    assert made == right


def independent(rng: np.random.Generator, rows: int, sizes: tuple[int, ...], classes: int) -> tuple[Any, Array]:
    """Columns that depend on the class, and not on each other given the class; 0 levels stand for numbers."""
    y = rng.integers(0, classes, rows)
    columns = {}
    for j, size in enumerate(sizes):
        if size:
            ends = rng.dirichlet(np.full(size, 0.5), classes).cumsum(axis=1)
            columns[f"x{j}"] = (rng.random((rows, 1)) > ends[y][:, :-1]).sum(axis=1).astype(str)
        else:
            columns[f"x{j}"] = rng.normal(rng.normal(size=classes)[y], 1.0)
    return pd.DataFrame(columns), y


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 8, 8, 40, 40), (0,) * 6, (0, 0, 2, 8)], ids=str)
@pytest.mark.parametrize(("rows", "times"), [(60, 40), slowly(60, 200), slowly(300, 100), slowly(2000, 100)])
def test_independent_columns_have_no_link(sizes: tuple[int, ...], rows: int, times: int) -> None:
    linked = 0
    for seed in range(times):
        table, y = independent(np.random.default_rng([seed, rows, len(sizes)]), rows, sizes, 2 + seed % 2)
        families = {name: Categorical() if size else PolyaTree() for name, size in zip(table, sizes, strict=True)}
        linked += NaiveBayes(families, dependence="forest").fit(table, y).schema_.links is not None
    assert linked <= 0.05 * times


# Evidence


def spelled_out(table: Array, strength: float, margin: float = 0.0) -> float:
    """The log Bayes factor of a table of pairs by class, `(c, a, b)`, a distribution at a time."""
    total = 0.0
    for rows in table[table.any(axis=(1, 2))]:
        m = (rows.sum(axis=0) + margin) / (rows.sum(axis=0) + margin).sum()
        for of_parent in rows:
            total += gammaln(strength) - gammaln(strength + of_parent.sum())
            total += (gammaln(strength * m + of_parent) - gammaln(strength * m)).sum()
        total -= (rows.sum(axis=0) * np.log(m)).sum()
    return total


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 2, 5), (2, 7, 3)])
def test_the_evidence_of_a_table_is_the_definition(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(8)
    for table in (rng.integers(0, 30, shape).astype(float), rng.gamma(0.3, 5.0, shape), np.zeros(shape)):
        strengths = 2.0 ** np.arange(12)
        every = [spelled_out(table, strength) for strength in strengths]
        parents, children, values = table.sum(axis=2), table.sum(axis=1), np.empty(len(strengths))
        at = link_kernels.strongest(table, parents, children, strengths, np.empty(children.shape), values)
        best, strength = values[at], strengths[at]
        assert best == pytest.approx(max(every), rel=1e-9, abs=1e-8)
        assert best == pytest.approx(every[int(np.log2(strength))], rel=1e-9, abs=1e-8)
        belief = Links(
            np.zeros((shape[0], shape[1] * shape[2])),
            np.zeros((shape[0], shape[1] * shape[2])),
            np.full((shape[0], 1), strength),
            Pairs((shape[1:],)),
        )
        stats = LinkStats(table.reshape(shape[0], -1), belief.pairs)
        assert belief.log_evidence(stats).sum() == pytest.approx(best, rel=1e-9, abs=1e-8)


def test_a_search_for_the_strength_ends_where_no_evidence_is_a_number() -> None:
    table, strengths, values = np.full((1, 2, 2), np.nan), 2.0 ** np.arange(12), np.empty(12)
    sides = table.sum(axis=2), table.sum(axis=1)
    at = link_kernels.strongest(table, *sides, strengths, np.empty((1, 2)), values)
    assert 0 <= at < 12


@pytest.mark.parametrize("dependence", ["forest", "pairs"])
def test_the_evidence_is_that_of_the_columns_and_of_the_forests_links(dependence: str) -> None:
    table, y = levels(np.random.default_rng(9))
    model = NaiveBayes(Categorical(1.0), dependence=dependence).fit(table, y)
    plain = NaiveBayes(Categorical(1.0)).fit(table, y)
    counted = Counted(model, table, y)
    total, of_rows_alone = 0.0, 0.0
    for (u, v), strength, w in zip(counted.ends, counted.strength, counted.in_forest, strict=True):
        shape = (2, len(counted.levels[u]), len(counted.levels[v]))
        cells = np.zeros(shape)
        np.add.at(cells, (counted.y, counted.x[:, u], counted.x[:, v]), 1.0)
        total += w * spelled_out(cells, strength, margin=1.0)
        of_rows_alone += w * spelled_out(cells, strength)
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_ + total, rel=1e-10)
    by_forest = model.links_.log_bayes_factor.values[model.links_.in_forest.values.astype(bool)]
    assert by_forest.sum() == pytest.approx(of_rows_alone, rel=1e-9)
    assert sum(model.log_evidence_by_feature().values()) == pytest.approx(plain_features(plain) + total, rel=1e-10)


def plain_features(model: Any) -> float:
    return sum(model.log_evidence_by_feature().values())


def test_rows_drawn_by_links_are_predicted_and_learnt_without_a_warning() -> None:
    table = penguins()
    model = NaiveBayes().fit(table.drop(columns="species"), table["species"])
    assert model.links_.sizes["link"] > 0
    rows, labels = model.sample(200, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba(rows).shape == (200, 3)
        NaiveBayes().fit(rows, labels)


# Uncertainty


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["fixed", "observed"])
@pytest.mark.parametrize(
    ("temper", "classes"),
    [(0.6, 2), slowly(None, 2), slowly(None, 3), (0.6, 3)],
)
def test_intervals_and_entropies_of_linked_columns_agree_with_draws(rows: str, temper: Any, classes: int) -> None:
    rng = np.random.default_rng(10)
    table, y = levels(rng, 60, classes)
    model = quiet(NaiveBayes(Categorical(1.0), dependence="forest", temper=temper), table, y)
    counted, draws, asked = Counted(model, table, y), 100_000, table.iloc[[0, 1, 2]].copy()
    asked.loc[asked.index[2], "b"] = None
    assert temper is None or not np.isclose(counted.link_power, 1).any()
    assert len(counted.ends) == 3
    interval = model.predict_interval(asked, 0.8, rows=rows, method="exact")
    drawn = model.predict_interval(asked, 0.8, rows=rows, method="draws", draws=4_000, rng=1)
    for name in ("lower", "median", "upper"):
        np.testing.assert_allclose(drawn[name], interval[name], atol=0.05)
    parts = model.uncertainty(asked, rows=rows)
    for i, x in enumerate(counted.codes(asked)):
        scores = counted.drawn_scores(x, draws, rng)
        top = logsumexp(scores, axis=1)
        share = np.exp(scores - top[:, None])
        mass = np.exp(top - top.max()) if rows == "observed" else np.ones(draws)
        mass /= mass.sum()
        error = np.sqrt((mass**2).sum())
        for name, level in (("lower", 0.1), ("median", 0.5), ("upper", 0.9)):
            below = mass @ (share <= interval[name].values[i])
            np.testing.assert_allclose(below, level, atol=5 * error * np.sqrt(level * (1 - level)) + 2e-3)
        mean = mass @ share
        spread = 5 * error * share.std(axis=0)
        np.testing.assert_array_less(np.abs(mean - parts.probability.values[i]), spread + 1e-4)
        entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)
        assert abs(mass @ entropy - parts.aleatoric.values[i]) < 5 * error * entropy.std() + 1e-4


# Rows drawn


def pair_counts(table: Any, y: Array, one: str, two: str, classes: Array) -> Array:
    """Rows by class and pair of levels; numbers on four ranges."""

    def codes(column: Any) -> Array:
        if pd.api.types.is_float_dtype(column):
            return np.searchsorted([-1.0, 0.0, 1.0], column.to_numpy())
        return np.searchsorted(LEVELS, column.astype(str).to_numpy())

    made = np.zeros((len(classes), 8, 8))
    np.add.at(made, (np.searchsorted(classes, y), codes(table[one]), codes(table[two])), 1.0)
    return made


LEVELS = np.array(["0", "1", "2", "3", "False", "True"])


@pytest.mark.parametrize("later", [False, True], ids=["", "a level later"])
def test_rows_drawn_have_the_pairs_of_levels_that_the_model_expects(later: bool) -> None:
    rng = np.random.default_rng(12)
    table, y = levels(rng, 400)
    model = NaiveBayes(Categorical(1.0), dependence="forest", temper=None).fit(table, y)
    keys = model.schema_.links.keys
    if later:
        more, labels = levels(rng, 200)
        more.loc[more.index[:40], keys[0][0]] = "new"
        more.loc[more.index[20:60], keys[0][1]] = "new"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(more.mask(rng.random(more.shape) < 0.05), labels)
    every = [model.schema_.blocks[0].levels[model.schema_.blocks[0].names.index(name)] for name in "abcd"]
    cells = pd.DataFrame(list(itertools.product(*every)), columns=list("abcd"))
    expected = np.exp(model.predict_joint_log_proba(cells))
    rows, drawn = model.sample(20_000, rng=1)
    for one, two in keys:
        keyed = cells.groupby([one, two]).ngroup().to_numpy()
        place = dict(zip(map(tuple, cells[[one, two]].to_numpy()), keyed, strict=True))
        for c, label in enumerate(model.classes_):
            of_class = rows[drawn == label]
            seen = np.bincount(
                [place[pair] for pair in map(tuple, of_class[[one, two]].to_numpy())], minlength=len(place)
            )
            share = np.bincount(keyed, expected[:, c])
            if later:  # what a new level does is approximate
                assert np.abs(seen / seen.sum() - share / share.sum()).max() < 0.02
                mean = share / share.sum() * seen.sum()
                assert (seen[mean > 20] > 0).all()
                continue
            mean = share / share.sum() * seen.sum()
            statistic = ((seen - mean) ** 2 / mean).sum()
            assert statistic < chi2.ppf(1 - 1e-4, len(mean) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_rows_drawn_of_linked_numbers_lie_on_pairs_of_ranges_as_the_counts_say(holes: float) -> None:
    table, y = mixed(np.random.default_rng(13), 600, holes=holes)
    model = NaiveBayes(dependence="forest").fit(table, y)
    block, belief = model.schema_.links, model.model_.posterior.blocks[-1]
    size, more = 12_000, 120_000
    rows, drawn = model.sample(size, rng=2)
    alone, of_alone = NaiveBayes(model.families_, dependence=None).fit(table, y).sample(more, rng=3)
    codes, plain = block.read(model._table(rows))[:], codes_of(block.readers, model._table(alone))
    for k, (parents, children) in enumerate(block.pairs.shapes):
        ratios = np.exp(belief.log_mean)[:, block.pairs_of(k)].reshape(-1, parents, children)
        for c, label in enumerate(model.classes_):
            seen = np.bincount(codes[drawn == label, k], minlength=parents * children).reshape(parents, children)
            margin = np.bincount(plain[block.ends[k][1], of_alone == label], minlength=children)
            table_of = margin * ratios[c]
            mean = table_of / table_of.sum(axis=1, keepdims=True) * seen.sum(axis=1, keepdims=True)
            enough = mean > 1
            statistic = ((seen - mean)[enough] ** 2 / mean[enough]).sum() / (1 + size / more)
            assert statistic < chi2.ppf(1 - 1e-5, enough.sum()), (block.keys[k], label)


# Learning over time, files and containers


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Array]:
    table, y = mixed(np.random.default_rng(14), 300)
    model = NaiveBayes().fit(table, y)
    assert len(model.links_.link) >= 5
    assert not model.links_.in_forest.values.all()
    return model, table, y


LEVELS_MODEL = NaiveBayes(Categorical(1.0), dependence="forest")


def test_batches_are_counted_as_one_and_what_is_forgotten_was_never_learnt() -> None:
    table, y = levels(np.random.default_rng(15), 400)
    first = clone(LEVELS_MODEL).partial_fit(table[:200], y[:200], classes=np.unique(y))
    whole = copy.deepcopy(first).partial_fit(table[200:], y[200:])
    parts = copy.deepcopy(first).partial_fit(table[200:250], y[200:250]).partial_fit(table[250:], y[250:])
    np.testing.assert_allclose(parts.predict_proba(table), whole.predict_proba(table), rtol=1e-12)
    second = copy.deepcopy(whole).forget(table[:200], y[:200])
    merged = first.merge(second)
    np.testing.assert_allclose(merged.predict_proba(table), whole.predict_proba(table), rtol=1e-12)
    np.testing.assert_allclose(merged.log_evidence_, whole.log_evidence_, rtol=1e-12)
    whole.forget(table[200:], y[200:])
    np.testing.assert_allclose(whole.predict_proba(table), first.predict_proba(table), rtol=1e-12)


def test_links_that_differ_cannot_be_merged_and_the_message_says_what_to_do() -> None:
    one = clone(LEVELS_MODEL).fit(*levels(np.random.default_rng(16), 400))
    two = clone(LEVELS_MODEL).fit(*levels(np.random.default_rng(17), 100))
    none = clone(LEVELS_MODEL).fit(*levels(np.random.default_rng(17), 100, chained=0.0))
    assert none.schema_.links is None
    for first, second in ((one, two), (one, none), (none, one)):
        with pytest.raises(ValueError, match=r"links between columns are not the same.*partial_fit.*dependence=None"):
            first.merge(second)


def test_rows_that_count_less_and_less_have_links_that_do_so_too(fitted: Any) -> None:
    model, table, _ = fitted
    faded = copy.deepcopy(model).decay(0.5)
    before, after = (each.stats_.blocks[-1].counts for each in (model, faded))
    np.testing.assert_array_equal(after, 0.5 * before)
    assert np.isfinite(faded.predict_log_proba(table)).all()


def test_levels_and_classes_may_come_later(fitted: Any, tmp_path: Path) -> None:
    model, table, y = copy.deepcopy(fitted[0]), *fitted[1:]
    more, labels = table[:60].copy(), y[:60].copy()
    more.iloc[:30, 0], labels[10:40] = "new", "late"
    old = model.stats_.blocks[-1].counts
    model.partial_fit(more, labels, grow_classes=True)
    known = model.classes_.tolist().index("late")
    counts = model.stats_.blocks[-1].counts
    assert np.delete(counts, known, axis=0).sum() > old.sum()
    every, all_labels = pd.concat([table, more], ignore_index=True), np.concatenate([y, labels])
    score = model.loo(every, all_labels, exponents="kept")
    rows = [*range(0, len(every), 37), 305, 315, 335]
    for i in rows:
        rest = copy.deepcopy(model).forget(every.iloc[[i]], all_labels[[i]])
        joint = rest.predict_joint_log_proba(every.iloc[[i]])[0]
        expected = joint[np.searchsorted(model.classes_, all_labels[i])] - logsumexp(joint)
        assert score.elpd_i.values[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    drawn, _ = model.sample(300, rng=1)
    assert set(drawn["a"]) == {"0", "1", "2", "new"}
    same_predictions(model, through_file(model, tmp_path), more)


def through_file(model: Any, folder: Path) -> Any:
    model.save(folder / "model.bnb")
    return bayesnb.load(folder / "model.bnb")


def same_predictions(one: Any, two: Any, table: Any) -> None:
    np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(table))
    assert one.links_.equals(two.links_)
    assert one.log_evidence_ == two.log_evidence_
    assert one.sample(20, rng=1)[0].equals(two.sample(20, rng=1)[0])


def test_a_model_with_links_is_kept_to_the_last_bit(fitted: Any, tmp_path: Path) -> None:
    model, table, y = fitted
    kept = through_file(model, tmp_path)
    for other in (kept, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same_predictions(model, other, table)
    onward = [copy.deepcopy(each).partial_fit(table, y) for each in (model, kept)]
    same_predictions(*onward, table)


@pytest.mark.parametrize("dependence", ["forest", "pairs"])
def test_a_model_without_a_link_is_kept_too(dependence: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(18)
    table, y = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")), rng.integers(0, 2, 80)
    model = NaiveBayes(dependence=dependence).fit(table, y)
    assert model.links_.sizes["link"] == 0
    same_predictions(model, through_file(model, tmp_path), table)


@pytest.mark.slow
def test_files_that_say_anything_of_links_are_refused_or_make_models_that_work(tmp_path: Path) -> None:
    times = 750
    table, y = mixed(np.random.default_rng(19), 60)
    NaiveBayes().fit(table, y).save(tmp_path / "0.bnb")
    (tmp_path / "0.rows").write_bytes(pickle.dumps(table[:1]))
    judged = changed_files(tmp_path, times)
    assert judged["faults"] == []
    assert judged["refused"] > times / 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("no column", lambda links, width: links.update(links=[[0, width], *links["links"][1:]])),
        ("below 0", lambda links, width: links.update(links=[[-1, 0], *links["links"][1:]])),
        ("itself", lambda links, width: links.update(links=[[1, 1], *links["links"][1:]])),
        ("twice", lambda links, width: links.update(links=[links["links"][1], *links["links"][1:]])),
        ("none", lambda links, width: links.update(links=[])),
        ("no number", lambda links, width: links.update(links=[["a", "b"], *links["links"][1:]])),
        ("a list", lambda links, width: links.update(links={"a": 1})),
    ],
)
def test_links_that_no_columns_have_are_refused(name: str, change: Any, fitted: Any, tmp_path: Path) -> None:
    fitted[0].save(tmp_path / "model.bnb")
    members = members_of((tmp_path / "model.bnb").read_bytes())
    document = json.loads(members["model.json"])
    (links,) = (block for block in document["blocks"] if "links" in block)
    change(links, 5)
    (tmp_path / "model.bnb").write_bytes(packed(members | {"model.json": json.dumps(document).encode()}))
    with pytest.raises(ValueError, match=r"model.bnb"):
        bayesnb.load(tmp_path / "model.bnb")


def test_weights_are_repeated_rows(fitted: Any) -> None:
    _, table, y = fitted
    weight = np.random.default_rng(20).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    one = NaiveBayes(temper=None).fit(table, y, weight)
    two = NaiveBayes(temper=None).fit(table.iloc[rows], y[rows])
    assert one.schema_.links.keys == two.schema_.links.keys
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9, atol=1e-12)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_number_of_threads_changes_no_digit(n_jobs: int, fitted: Any) -> None:
    model, table, y = fitted
    np.testing.assert_array_equal(
        NaiveBayes(n_jobs=n_jobs).fit(table, y).predict_proba(table), model.predict_proba(table)
    )


@pytest.mark.parametrize(
    "container",
    [
        lambda table: pl.DataFrame({name: table[name].tolist() for name in table}),
        lambda table: table.to_numpy(object),
        lambda table: table.to_numpy(object).tolist(),
    ],
    ids=["polars", "array", "lists"],
)
def test_containers_make_no_difference(container: Any, fitted: Any) -> None:
    model, table, y = fitted
    held = container(table)
    other = NaiveBayes().fit(held, y)
    assert len(other.links_.link) == len(model.links_.link)
    # exponents are found to 1e-9, in whatever order the blocks are
    np.testing.assert_allclose(other.predict_proba(held), model.predict_proba(table), rtol=1e-6, atol=1e-9)
    other.sample(10, rng=1)
    other.explain(held[:2])


def test_categories_and_flags_are_linked_as_their_cells_are(fitted: Any) -> None:
    model, table, y = fitted
    typed = table.assign(a=pd.Categorical(table.a, categories=["2", "1", "never", "0"]), flag=table.flag.astype(bool))
    other = NaiveBayes(temper=None).fit(typed, y)
    assert set(map(frozenset, other.schema_.links.keys)) == set(map(frozenset, model.schema_.links.keys))
    drawn, _ = other.sample(50, rng=1)
    assert drawn.dtypes.equals(typed.dtypes)
    np.testing.assert_allclose(other.predict_proba(typed).sum(axis=1), 1)


def test_sparse_flags_are_linked_and_drawn_as_dense_ones_are() -> None:
    rng = np.random.default_rng(21)
    table, y = (rng.random((200, 4)) < 0.3).astype(float), rng.integers(0, 2, 200)
    table[:, 1] = table[:, 0]
    dense = NaiveBayes(Bernoulli(), dependence="forest").fit(table, y)
    packed_model = NaiveBayes(Bernoulli(), dependence="forest").fit(sparse.csr_array(table), y)
    np.testing.assert_allclose(
        dense.predict_proba(table), packed_model.predict_proba(sparse.csr_array(table)), rtol=1e-12
    )
    rows, _ = packed_model.sample(100, rng=1)
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), dense.sample(100, rng=1)[0])


def test_columns_that_say_nothing_have_no_links(fitted: Any) -> None:
    model, table, y = fitted
    idle = table.assign(constant=1.0, empty=np.nan, word="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = NaiveBayes().fit(idle, y)
        assert other.schema_.links.keys == model.schema_.links.keys
        assert np.isfinite(other.loo(idle, y).elpd)
        other.sample(10, rng=1)


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
@pytest.mark.parametrize("families", ["auto", "gaussian"])
def test_infinite_cells_are_refused_as_without_links(cell: float, families: str, fitted: Any) -> None:
    table, y = fitted[1][["u", "v"]].copy(), fitted[2]
    model = NaiveBayes(families, dependence="pairs").fit(table, y)
    table.iloc[3, 0] = cell
    with pytest.raises(ValueError, match=r"column 'u'.*infinite"):
        clone(model).fit(table, y)
    with pytest.raises(ValueError, match=r"column 'u'.*infinite"):
        model.predict_proba(table)
    with pytest.raises(ValueError, match=r"column 'u'.*infinite"):
        model.partial_fit(table, y)


def test_one_column_has_no_link_and_two_have_at_most_one(fitted: Any) -> None:
    _, table, y = fitted
    alone = NaiveBayes().fit(table[["u"]], y)
    assert alone.schema_.links is None
    assert alone.links_.sizes["link"] == 0
    np.testing.assert_array_equal(
        alone.predict_proba(table[["u"]]), NaiveBayes(dependence=None).fit(table[["u"]], y).predict_proba(table[["u"]])
    )
    assert NaiveBayes().fit(table[["u", "v"]], y).links_.sizes["link"] == 1


def test_of_many_candidates_the_sixty_strongest_are_taken() -> None:
    rng = np.random.default_rng(22)
    table, y = rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 13)), rng.integers(0, 2, 200)
    model = NaiveBayes(PolyaTree(), dependence="pairs").fit(table, y)
    assert model.links_.sizes["link"] == 60
    assert model.links_.in_forest.values.sum() == 12
    beyond = model.links_.log_bayes_factor.values[12:]
    np.testing.assert_array_equal(beyond, np.sort(beyond)[::-1])


def test_columns_that_repeat_each_other_are_linked_and_predictions_stay_calm() -> None:
    rng = np.random.default_rng(23)
    y, u = rng.integers(0, 2, 300), rng.normal(size=300)
    u = u + y
    one, copies = NaiveBayes().fit(u[:, None], y), NaiveBayes().fit(np.column_stack([u, u, u]), y)
    assert copies.links_.in_forest.values.sum() == 2
    loss = [-model.loo(table, y).elpd for model, table in ((one, u[:, None]), (copies, np.column_stack([u, u, u])))]
    assert loss[1] < 1.1 * loss[0]


# Parts of a table, files, Dask


def test_files_are_learnt_as_the_table_in_them(fitted: Any, tmp_path: Path) -> None:
    table, y = fitted[1].assign(flag=fitted[1].flag.astype(bool)), fitted[2]
    table.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    one = scale.fit_files(NaiveBayes(temper=None), tmp_path / "rows.parquet", "label")
    two = NaiveBayes(temper=None).fit(table, y)
    assert one.schema_.links.keys == two.schema_.links.keys
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9)
    batches = scale.fit_files(NaiveBayes(temper=None), tmp_path / "rows.parquet", "label", batch_rows=100)
    part = NaiveBayes(temper=None).partial_fit(table[:100], y[:100], classes=np.unique(y))
    part.partial_fit(table[100:200], y[100:200]).partial_fit(table[200:], y[200:])
    np.testing.assert_allclose(batches.predict_proba(table), part.predict_proba(table), rtol=1e-9)


def test_shards_keep_their_links_when_they_are_sent() -> None:
    table, y = levels(np.random.default_rng(24), 200)
    part = scale.loads(scale.dumps(scale.shard(LEVELS_MODEL, table, y)))
    whole = clone(LEVELS_MODEL).fit(table, y)
    np.testing.assert_array_equal(
        scale.fit_shards(LEVELS_MODEL, [part]).predict_proba(table), whole.predict_proba(table)
    )
    other = scale.shard(LEVELS_MODEL, *levels(np.random.default_rng(25), 90))
    with pytest.raises(ValueError, match="links between columns are not the same"):
        part + other
    with pytest.raises(ValueError, match="links between columns"):
        scale.fit_shards(NaiveBayes(Categorical(1.0)), [part])


@pytest.mark.parametrize("families", ["auto", "categorical"])
def test_partitions_of_dask_have_the_links_of_the_first(families: str) -> None:
    dataframes = pytest.importorskip("dask.dataframe")
    table, y = levels(np.random.default_rng(26), 240)
    lazy = dataframes.from_pandas(table, npartitions=3)
    model = NaiveBayes(families, dependence="forest", temper=None)
    one = clone(model).fit(lazy, dataframes.from_pandas(pd.Series(y), npartitions=3))
    two = clone(model).partial_fit(table[:80], y[:80], classes=np.unique(y)).partial_fit(table[80:], y[80:])
    assert one.schema_.links.keys == two.schema_.links.keys
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9)


# Explanation


def test_what_columns_and_links_add_sums_to_the_score(fitted: Any) -> None:
    model, table, _ = fitted
    asked = table[:5].astype(object).copy()
    asked.iloc[0, 0], asked.iloc[1, 2], asked.iloc[2] = None, np.nan, None
    asked = asked.astype({"u": float, "v": float})
    explained = model.explain(asked)
    assert len(explained.feature) == 5 + len(model.links_.link)
    total = (explained.predictive.sum("feature") + explained.predictive_class_term).values
    np.testing.assert_allclose(total, model.predict_joint_log_proba(asked), rtol=1e-12, atol=1e-10)
    cells = explained.cell.values[0]
    silent_ones = [k for k, (one, two) in enumerate(model.schema_.links.keys) if "a" in (one, two)]
    assert all(cells[5 + k] == "missing" for k in silent_ones)
    np.testing.assert_array_equal(explained.predictive.values[0][:, [5 + k for k in silent_ones]], 0)
