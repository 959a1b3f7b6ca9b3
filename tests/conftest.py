"""CASES: every family once, with what the laws need. A new family is one more entry.

Every case has a missing cell (where the family allows one), uneven weights, a class without rows,
and features
of different scales. `twin` is the predictive by SciPy, one feature of one class at a time: an
independent oracle.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln

from bayesnb import Beta, Gamma, Multinomial, NormalInverseGamma, NormalInverseWishart
from bayesnb.families.base import Belief, Stats
from bayesnb.families.bernoulli import BernoulliStats
from bayesnb.families.categorical import CategoricalStats, ColumnDirichlets
from bayesnb.families.gaussian import GaussianStats
from bayesnb.families.grid import Grid
from bayesnb.families.histogram import AveragedHistogram, GridStats
from bayesnb.families.joint import JointDirichlet, JointStats
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.poisson import PoissonStats
from bayesnb.families.weight import one_hot
from tests.waiting import WaitingBelief, WaitingStats

Array = np.ndarray
CLASSES = 3
ROWS = 40


def pytest_configure(config: pytest.Config) -> None:
    """What pytest's workers, and the processes that tests start, find in their environment.

    Every core has a worker: threads of BLAS would wait for each other, and those of OpenMP spin
    while they wait. And
    where Python writes no bytecode beside its sources, each process would compile NumPy, pandas and
    all else anew: a
    folder of pytest's holds the bytecode then.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "PASSIVE"
    )  # a number of threads would hold for ours too
    if hasattr(config, "cache") and os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = str(config.cache.mkdir("bytecode"))


STARTS: dict[
    np.random.Generator, Any
] = {}  # the state of each module's generator before the first test


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note where generators start, and hide modules and items from the garbage collector: a sixth
    of all time.
    """
    modules = {item.module for item in session.items if isinstance(item, pytest.Function)}
    for generator in (module.RNG for module in modules if hasattr(module, "RNG")):
        STARTS[generator] = generator.bit_generator.state
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let each test draw the numbers that it draws alone, whichever tests ran before it."""
    for generator, state in STARTS.items():
        generator.bit_generator.state = state


@dataclass(frozen=True)
class Case:
    """A prior over three classes, rows of a table, and the family's stats of them."""

    name: str
    prior: Belief
    x: Array
    of: Callable[[Array, sparse.csc_array], Stats]
    twin: Callable[
        [Belief, int, int], Callable[[Any], Any]
    ]  # belief, class, feature -> log predictive of a cell
    support: Array | None = None  # all cells that can occur, for families where they can be listed
    whole: bool = False  # a row is one cell

    @property
    def codes(self) -> Array:
        return np.arange(len(self.x)) % (CLASSES - 1)  # the last class has no row

    @property
    def weight(self) -> Array:
        return 0.25 + np.arange(len(self.x)) % 4

    def stats(self, rows: Any = slice(None), weight: Any = 1.0) -> Stats:
        """The stats of some rows, each counting `weight` times its own weight."""
        counts = (weight * self.weight)[rows]
        return self.of(self.x[rows], one_hot(self.codes[rows], CLASSES, counts))

    @property
    def posterior(self) -> Belief:
        return self.prior.update(self.stats())

    def spread(self, x: Array | None = None) -> Array:
        """Cells with an axis for the classes, `(r, 1, f)`; a cell that is a whole row keeps its
        levels last.
        """
        x = self.x if x is None else x
        return x[:, None, None, :] if self.whole else x[:, None, :]


def _with_holes(x: Array) -> Array:
    x = np.array(x, float)
    x[3, 0] = x[7, -1] = np.nan
    return x


RNG = np.random.default_rng(20261121)
REAL = _with_holes(np.column_stack([RNG.normal(3, 1, ROWS), RNG.normal(-2e4, 5e3, ROWS)]))
FLAG = _with_holes(RNG.random((ROWS, 2)) < [0.3, 0.02])
COUNT = _with_holes(RNG.poisson([0.4, 60.0], (ROWS, 2)))
TIMES = _with_holes(np.random.default_rng(7).exponential([0.5, 200.0], (ROWS, 2)))
LEVEL = np.nan_to_num(
    _with_holes(np.column_stack([RNG.integers(0, 3, ROWS), RNG.integers(0, 7, ROWS)])), nan=-1
)
WORDS = RNG.poisson([2.0, 0.3, 0.0, 25.0], (ROWS, 4)).astype(float)
VECTORS = np.column_stack([np.nan_to_num(REAL[:, 0], nan=2.5), RNG.normal(-2e4, 5e3, ROWS)])
VECTORS[:, 1] += 3e3 * VECTORS[:, 0]
VECTORS[3] = (
    np.nan
)  # of a row that lacks a cell of two, the other is predicted, but nothing is learnt
SIZES = (3, 7)
GRID = Grid.learnt(REAL, None, 3)
GRADED = GRID.read(REAL)[:]
TABLE_SIZES = (2, 3, 3)
TABLE = np.minimum(RNG.geometric(0.6, (ROWS, 3)), TABLE_SIZES) - 1
TABLE[
    [3, 7]
    # a row with some of its cells missing teaches nothing, so of it the laws of one more row do not
    # hold
] = -1
ENTRIES = np.unique(TABLE[TABLE[:, 0] >= 0], axis=0)


def by_class(*values: Any) -> Array:
    """A `(c, f)` parameter that differs between classes and features."""
    return np.array(values, float)[None, :] * np.array([1.0, 1.5, 0.7])[:CLASSES, None]


def table_twin(belief: JointDirichlet, c: int, f: int) -> Callable[[Any], Any]:
    """A die over all cells of the table, none of them taken together; a row without any cell is
    certain.
    """
    every = np.full(TABLE_SIZES, belief.concentration[c, f, -1])
    for entry, concentration in zip(
        belief.combinations, belief.concentration[c, f, :-1], strict=True
    ):
        every[tuple(entry)] = concentration
    die = stats.dirichlet_multinomial(every.ravel(), 1)

    def log_predictive(x: Array) -> Array:
        thrown = np.eye(every.size)[np.ravel_multi_index(np.maximum(x, 0).T, TABLE_SIZES)]
        return np.where(x[:, 0] < 0, 0.0, die.logpmf(thrown.astype(int)))

    return log_predictive


def binnings(levels: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to join neighbouring levels into bins: the first and the last level of each."""
    for cuts in product((False, True), repeat=levels - 1):
        edges = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), levels]
        yield [(low, high - 1) for low, high in pairwise(edges)]


def binning_by_binning(
    belief: AveragedHistogram, c: int, f: int
) -> list[tuple[float, list[tuple[int, int]]]]:
    """Log evidence and prior of each binning, and its bins, of the definition."""
    span = belief.grid.span(f)
    total = belief.concentration[c, f]
    counts = belief.counts[c, span]
    share = belief.grid.share[span]
    cut = 1 / (1 + np.exp(-belief.log_odds[c, f]))
    weighed = []
    for bins in binnings(len(share)):
        log = (len(bins) - 1) * np.log(cut) + (len(share) - len(bins)) * np.log1p(-cut)
        log += gammaln(total) - gammaln(total + counts.sum())
        for low, high in bins:
            n = counts[low : high + 1].sum()
            q = share[low : high + 1].sum() if len(bins) > 1 else 1.0
            log += gammaln(total * q + n) - gammaln(total * q) - n * np.log(q)
        weighed.append((log, bins))
    return weighed


def averaged_ratio(belief: AveragedHistogram, c: int, f: int, level: Array) -> Array:
    """The log of each level's expected ratio: the sum over all binnings."""
    weighed = binning_by_binning(belief, c, f)
    span = belief.grid.span(f)
    counts = belief.counts[c, span]
    share = belief.grid.share[span]
    total = belief.concentration[c, f]
    chance = np.exp([log for log, _ in weighed] - np.logaddexp.reduce([log for log, _ in weighed]))
    ratios = np.zeros(len(share))
    for p, (_, bins) in zip(chance, weighed, strict=True):
        for low, high in bins:
            n = counts[low : high + 1].sum()
            q = share[low : high + 1].sum()
            ratios[low : high + 1] += p * (total * q + n) / (total + counts.sum()) / q
    return np.log(ratios)[level]


def by_feature(*values: Any) -> Array:
    """A `(c, f)` parameter that all classes have in common."""
    return np.repeat(np.array(values, float)[None], CLASSES, axis=0)


def student(b: NormalInverseGamma, c: int, f: int) -> Callable[[Any], Any]:
    width = np.sqrt(b.scale[c, f] * (b.count[c, f] + 1) / (b.shape[c, f] * b.count[c, f]))
    return stats.t(2 * b.shape[c, f], b.location[c, f], width).logpdf


CASES = [
    Case(
        "gaussian",
        NormalInverseGamma(
            by_class(2.0, -1e4), by_class(0.7, 2.0), by_class(2.5, 3.0), by_class(1.5, 4e7)
        ),
        REAL,
        GaussianStats.of,
        student,
    ),
    Case(
        "gaussian, shared",
        NormalInverseGamma(
            by_class(2.0, -1e4), by_class(0.7, 2.0), by_feature(2.5, 3.0), by_feature(1.5, 4e7), 1
        ),
        REAL,
        GaussianStats.of,
        student,
    ),
    Case(
        "bernoulli",
        Beta(by_class(1.0, 0.3), by_class(2.0, 5.0)),
        FLAG,
        BernoulliStats.of,
        lambda b, c, f: stats.betabinom(1, b.a[c, f], b.b[c, f]).logpmf,
        np.array([0.0, 1.0]),
    ),
    Case(
        "poisson",
        Gamma(by_class(1.0, 40.0), by_class(2.0, 0.8)),
        COUNT,
        PoissonStats.of,
        lambda b, c, f: stats.nbinom(b.shape[c, f], b.rate[c, f] / (b.rate[c, f] + 1)).logpmf,
        np.arange(2000.0),
    ),
    Case(
        "waiting",
        WaitingBelief(by_class(2.5, 3.0), by_class(1.5, 400.0)),
        TIMES,
        WaitingStats.of,
        lambda b, c, f: stats.lomax(b.shape[c, f], scale=b.rate[c, f]).logpdf,
    ),
    Case(
        "categorical",
        ColumnDirichlets(np.array([1.0, 1.5, 0.7])[:, None] * np.linspace(0.2, 2.0, 10), SIZES),
        LEVEL,
        lambda x, weight: CategoricalStats.of(x, weight, SIZES),
        lambda b, c, f: lambda x: np.log(b.column(f).predictive().mean()[c][np.asarray(x, int)]),
    ),
    Case(
        "histogram",
        AveragedHistogram(
            by_class(2.0, 5.0), by_class(-1.5, 0.4), np.zeros((CLASSES, sum(GRID.sizes))), GRID
        ),
        GRADED,
        lambda x, weight: GridStats.of(x, weight, GRID),
        lambda b, c, f: lambda x: averaged_ratio(b, c, f, np.asarray(x, int)),
    ),
    Case(
        "multinomial",
        DirichletMultinomial(
            np.array([1.0, 1.5, 0.7])[:, None, None] * np.array([0.5, 1.0, 2.0, 3.0])
        ),
        WORDS,
        MultinomialStats.of,
        lambda b, c, f: (
            lambda x: stats.dirichlet_multinomial.logpmf(
                np.asarray(x, int), b.concentration[c, f], np.asarray(x, int).sum(-1)
            )
        ),
        whole=True,
    ),
    Case(
        "joint",
        JointDirichlet(
            np.array([1.0, 1.5, 0.7])[:, None, None] * np.ones(len(ENTRIES) + 1),
            ENTRIES,
            TABLE_SIZES,
        ),
        TABLE,
        lambda x, weight: JointStats.of(x, weight, TABLE_SIZES).having(ENTRIES),
        table_twin,
        np.stack(np.unravel_index(np.arange(np.prod(TABLE_SIZES)), TABLE_SIZES), axis=-1),
        whole=True,
    ),
    Case(
        "multivariate",
        NormalInverseWishart(
            by_class(2.0, -1e4)[:, None],
            by_class(0.7),
            by_class(4.5),
            by_class(1.0)[:, :, None, None] * np.array([[1.5, 2e3], [2e3, 4e7]]),
        ),
        VECTORS,
        VectorStats.of,
        lambda b, c, f: lambda x: np.nan_to_num(b.predictive()[c][f].logpdf(x)),
        whole=True,
    ),
    Case(
        "sequences",
        DirichletMultinomial(
            np.array([1.0, 1.5, 0.7])[:, None, None] * np.array([0.5, 1.0, 2.0, 3.0]), True
        ),
        WORDS,
        Multinomial(ordered=True).observe,
        lambda b, c, f: lambda x: word_after_word(np.asarray(x), b.concentration[c, f]),
        whole=True,
    ),
    Case(
        "multivariate, shared",
        NormalInverseWishart(
            by_class(2.0, -1e4)[:, None],
            by_class(0.7),
            by_feature(4.5),
            np.repeat(np.array([[[[1.5, 2e3], [2e3, 4e7]]]]), CLASSES, axis=0),
            1,
        ),
        VECTORS,
        VectorStats.of,
        lambda b, c, f: lambda x: np.nan_to_num(b[c].predictive()[f].logpdf(x)),
        whole=True,
    ),
]


def word_after_word(x: Array, concentration: Array) -> Array:
    """The log predictive of a sequence of words, each after the others: of one order, as all are
    alike.
    """
    found = []
    for row in x:
        urn = concentration.copy()
        total = 0.0
        for level in np.repeat(np.arange(len(row)), row.astype(int)):
            total += np.log(urn[level] / urn.sum())
            urn[level] += 1
        found.append(total)
    return np.array(found)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def names(record: Any) -> list[str]:
    return [field.name for field in fields(record)]


def same(a: Any, b: Any, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    """Two records hold the same numbers."""
    assert type(a) is type(b)
    for name in names(a):
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=rtol, atol=atol, err_msg=name
        )


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Figures belong to pyplot once it is loaded, which keeps them, and warns from the twenty-
    first.
    """
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
