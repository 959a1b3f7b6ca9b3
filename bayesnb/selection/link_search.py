"""Search for columns that depend on each other given the class, by evidence: see families/links.py.

A link is a candidate if its log Bayes factor against independence is above THRESHOLD_FACTOR log(d +
1) nats, with d the number of columns that vary. Among 200 tables of 2, 6 or 20 columns that are
independent given the class, at most 5 % have a link, with 60, 300 or 2,000 rows, of levels or
numbers; log d is too small for two columns of rare levels. Under both hypotheses the levels of the
child have their frequencies in the class: with a declared prior that disagrees with these,
independent columns would seem linked. The maximum spanning forest of the candidates is a joint
distribution once the links of each tree point away from a root: the root with the most evidence.
Further links, strongest first, are experts, weighted by exponents.
"""

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from bayesnb.data import Table
from bayesnb.families import Bernoulli, Categorical, Gaussian, Histogram, Poisson
from bayesnb.families.base import Array
from bayesnb.families.grid import Grid
from bayesnb.families.weight import one_hot
from bayesnb.model.linked import Linked, codes_of
from bayesnb.model.schema import Block, Schema
from bayesnb.numerics.special import ratio
from bayesnb.numerics.threads import in_order
from bayesnb.selection.leave_one_out import PACKAGE
from bayesnb.selection.pair_evidence import (
    LabelledRows,
    PairCells,
    Work,
    count_pairs,
    screen,
)

FOREST = "forest"
PAIRS = "pairs"
ALL = "all"  # pairs, and the covariance of `selection.covariance`
# Numbers are linked on grids of 8 levels or, with enough rows, of 16 or 32.
MIN_DEPTH, MAX_DEPTH = 3, 5
ROWS_IN_CELL = 8  # rows of a class per cell of two columns, on average, for a finer grid
MAX_WORK = 1 << 18  # cells of all pairs of columns on a finer grid
STRENGTHS = 2.0 ** np.arange(12)  # candidate prior strengths
# every third, then neighbours of the best: the evidence is smooth in their logs
STRENGTH_STEPS = (1, 4, 7, 10), (-2, -1, 1, 2)
# nats: among strengths with the same evidence, up to rounding, the smallest is chosen
TIE_TOLERANCE = 1e-9
THRESHOLD_FACTOR = 3.0
# least pseudo-count of a level of the child, so that empty levels have a probability
MIN_PRIOR_COUNT = 1e-3
# rows per link, within these bounds on the number of links
ROWS_PER_LINK = 15
MIN_LINKS, MAX_LINKS = 60, 120
MAX_CELLS = 1 << 16  # of a table of pairs of levels, over all classes
# columns that are compared: those that alone predict the label best
MAX_COLUMNS = 600
MAX_PAIRS = 5_000  # pairs compared on all rows; more are screened first
MAX_PARTNERS = 10  # partners of each column that screening keeps
ROWS_SCREENED = 4_000
FIRST_COLUMN, SECOND_COLUMN = 2, 3  # the columns of a pair, as axes of their table


class Candidate(NamedTuple):
    """A link, its log Bayes factor in nats and the strength of its prior."""

    parent: int
    child: int
    evidence: float
    strength: float

    @property
    def turned(self) -> "Candidate":
        """The link in the other direction, with the same evidence."""
        return self._replace(parent=self.child, child=self.parent)


@dataclass(frozen=True, eq=False)
class LinkColumns:
    """Columns that may be linked: readers, numbers of levels, `(f,)`, and codes, `(r, f)`."""

    readers: tuple[Block, ...]
    sizes: Array
    codes: Array

    def select(self, used: Sequence[int]) -> "LinkColumns":
        """Return some of the columns, by index."""
        readers = []
        first = 0
        for reader in self.readers:
            width = len(reader.names)
            at = [column - first for column in used if 0 <= column - first < width]
            first += width
            if not at:
                continue
            names = [reader.names[j] for j in at]
            places = tuple(reader.places[j] for j in at)
            levels = tuple(reader.levels[j] for j in at) if reader.levels else ()
            grid = reader.grid and Grid.side_by_side([reader.grid.only(j) for j in at])
            readers.append(Block(reader.family, names, places, levels, grid=grid))
        return LinkColumns(tuple(readers), self.sizes[used], self.codes[:, used])


def add_links(schema: Schema, table: Table, labels: LabelledRows, kind: str, work: Work) -> Schema:
    """Add links between the columns of a table to its schema, if there are any."""
    every = link_columns(schema, table, labels.counts, labels.classes)
    if every is None:
        return schema
    columns = _most_informative(every, labels)
    if columns is not every:
        warnings.warn(
            f"links were searched only between {len(columns.sizes)} of {len(every.sizes):,} "
            "columns, those that alone predict the label best. Name the columns to use, or use "
            "no links: dependence=None, on the command line --dependence none.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )
    threshold = THRESHOLD_FACTOR * np.log(np.count_nonzero(every.sizes > 1) + 1)
    ranked = find_candidates(columns, labels, work, threshold)
    most = int(np.clip(labels.counts.sum() / ROWS_PER_LINK, MIN_LINKS, MAX_LINKS))
    chosen, number = choose_links(ranked, len(columns.sizes), kind, most)
    if not chosen:
        return schema
    used = sorted({end for link in chosen for end in link[:2]})
    links = Linked(
        columns.select(used).readers,
        ends=tuple((used.index(link.parent), used.index(link.child)) for link in chosen),
        strength=np.array([link.strength for link in chosen]),
        evidence=np.array([link.evidence for link in chosen]),
        in_forest=(np.arange(len(chosen)) < number).astype(float),
    )
    weight = one_hot(labels.codes, labels.classes, labels.counts)
    stats: list[Any] = []
    for block in schema.blocks:
        has_counts = isinstance(block.family, Categorical | Bernoulli)
        stats.append(block.observe(block.read(table), weight, 1) if has_counts else None)
    return relink(schema.with_links(links), stats)


def relink(schema: Schema, stats: Sequence[Any]) -> Schema:
    """Set the pseudo-counts of links from the priors of the families, given stats of the blocks."""
    if schema.links is None:
        return schema
    priors: dict[Hashable, Any] = {}
    # links are the last block
    for block, seen in zip(schema.columns_alone.blocks, stats, strict=False):
        priors |= _prior_counts(block, seen)
    return schema.with_links(schema.links.with_margins(priors))


def _prior_counts(block: Block, stats: Any) -> dict[Hashable, Any]:
    """Return the pseudo-counts of levels or flags, averaged over classes; always positive."""
    if not isinstance(block.family, Categorical | Bernoulli):
        return {}
    prior: Any = block.family.belief(stats)
    if isinstance(block.family, Bernoulli):
        prior = prior.sides
    counts = np.maximum(prior.concentration.mean(axis=0), MIN_PRIOR_COUNT)
    parts = np.split(counts, np.cumsum(prior.sizes)[:-1])
    if not block.levels:
        return dict(zip(block.names, parts, strict=True))
    added = {}
    for name, levels, part in zip(block.names, block.levels, parts, strict=True):
        added[name] = dict(zip(levels, part, strict=False))
    return added


def link_columns(schema: Schema, table: Table, weight: Array, classes: int) -> LinkColumns | None:
    """Return the columns that may be linked, or None if there are fewer than two."""
    depth = choose_depth(weight.sum() / classes, sum(len(block.names) for block in schema.blocks))
    readers = []
    for block in schema.blocks:
        reader = level_reader(block)
        if reader is None and isinstance(block.family, Gaussian | Poisson | Histogram):
            reader = Block(Histogram(depth=depth), block.names, block.places)
            reader = reader.learn(table, weight)
        if reader is not None:
            readers.append(reader)
    sizes = np.array([size for reader in readers for size in reader.sizes], np.int64)
    if len(sizes) < 2:
        return None
    return LinkColumns(tuple(readers), sizes, codes_of(readers, table).T)


def choose_depth(rows: float, columns: int) -> int:
    """Return the depth of the grid for linking numbers, given the rows per class."""
    pairs = max(columns * (columns - 1) / 2, 1.0)
    cells = min(rows / ROWS_IN_CELL, MAX_WORK / pairs)
    return int(np.clip(np.log2(cells) / 2, MIN_DEPTH, MAX_DEPTH))


def level_reader(block: Block) -> Block | None:
    """Return a block that reads levels or flags as levels; None for other families."""
    family = block.family
    if isinstance(family, Categorical):
        return Block(Categorical(), block.names, block.places, block.levels)
    if isinstance(family, Bernoulli) and not family.words:
        grid = _sides(family, len(block.names))
        return Block(Histogram(depth=MIN_DEPTH), block.names, block.places, grid=grid)
    return None


def _sides(family: Bernoulli, columns: int) -> Grid:
    """Make a grid with the levels zero and one for each column of flags, cut at the threshold."""
    low, high = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    threshold = family.threshold
    if threshold is not None:
        # just above the threshold, so that the cut is the threshold
        edge = np.nextafter(threshold, np.inf)
        low = np.array([min(threshold, 0.0), edge])
        high = np.array([threshold, max(edge, 1.0)])
    whole = np.full(columns, float(threshold is None))
    levels = np.tile(low, columns), np.tile(high, columns), np.ones(2 * columns)
    return Grid((2,) * columns, *levels, whole)


def _most_informative(columns: LinkColumns, labels: LabelledRows) -> LinkColumns:
    """Return the columns; if there are very many, those that alone predict the label best."""
    width = len(columns.sizes)
    if width <= MAX_COLUMNS:
        return columns
    codes = np.column_stack([columns.codes, labels.codes])
    sizes = np.append(columns.sizes, labels.classes)
    worth = np.empty(width)
    rows = LabelledRows(np.zeros_like(labels.codes), labels.counts, 1)
    for part, cells in count_pairs(codes, sizes, width, np.arange(width), rows):
        worth[part] = screen(cells)
    return columns.select(np.sort(np.argsort(-worth, kind="stable")[:MAX_COLUMNS]).tolist())


def find_candidates(
    columns: LinkColumns, labels: LabelledRows, work: Work, threshold: float
) -> list[Candidate]:
    """Return links with evidence above a threshold, in both directions, strongest first."""
    sizes = columns.sizes
    partners = []  # later columns that vary, with a table that is not too large
    for u, size in enumerate(sizes.tolist()):
        is_fit = (sizes > 1) & (size * sizes * labels.classes <= MAX_CELLS) & (size > 1)
        partners.append(np.flatnonzero(is_fit[u + 1 :]) + u + 1)
    if sum(map(len, partners)) > MAX_PAIRS:
        partners = _screen_partners(columns, partners, labels, work.n_jobs)

    def compare(u: int) -> list[Candidate]:
        links = []
        for part, cells in count_pairs(columns.codes, sizes, u, partners[u], labels):
            forth = strongest(cells, FIRST_COLUMN, SECOND_COLUMN).tolist()
            back = strongest(cells, SECOND_COLUMN, FIRST_COLUMN).tolist()
            for v, one, other in zip(partners[u][part].tolist(), forth, back, strict=True):
                links += [Candidate(u, v, *one), Candidate(v, u, *other)]
        work.done(len(sizes) - u - 1)
        return [link for link in links if link.evidence > threshold]

    found = list(in_order(compare, range(len(sizes)), work.n_jobs))
    return sorted(chain(*found), key=lambda link: -link.evidence)


def _screen_partners(
    columns: LinkColumns, partners: Sequence[Array], labels: LabelledRows, n_jobs: int | None
) -> list[Array]:
    """Keep the best partners of each column, by a fast statistic on some of the rows."""
    width = len(columns.sizes)
    rows = len(labels.codes)
    few = np.unique(np.linspace(0, rows - 1, min(ROWS_SCREENED, rows)).astype(np.intp))
    codes = columns.codes[few]
    among = labels._replace(codes=labels.codes[few], counts=labels.counts[few])
    gains = np.full((width, width), -np.inf, np.float32)

    def measure(u: int) -> None:
        for part, cells in count_pairs(codes, columns.sizes, u, partners[u], among):
            others = partners[u][part]
            gains[u, others] = gains[others, u] = screen(cells)

    list(in_order(measure, range(width), n_jobs))
    best = np.argsort(-gains, axis=1, kind="stable")[:, :MAX_PARTNERS]
    keep = np.zeros((width, width), bool)
    np.put_along_axis(keep, best, True, axis=1)
    keep &= gains > 0
    return [np.flatnonzero((keep | keep.T)[u, u + 1 :]) + u + 1 for u in range(width)]


def strongest(cells: PairCells, parent: int, child: int) -> Array:
    """Return the largest log Bayes factor of each link, and the strength where it occurs, `(n, 2)`.

    One distribution of the child for each level of the parent, Dirichlet(strength * mean), against
    the mean for all.
    """
    pairs = cells.shape[0]
    parents = cells.add_up(parent).reshape(pairs, -1)
    mean = ratio(cells.add_up(child), cells.add_up()[:, :, None])
    at = cells.pair, cells.owner, cells[child]

    def log_evidence(strength: Array) -> Array:
        # all levels of a parent share lnGamma(strength * mean)
        prior = strength[:, None, None] * mean
        terms = gammaln(prior[at] + cells.number) - gammaln(prior)[at]
        totals = gammaln(strength[:, None] + parents) - gammaln(strength)[:, None]
        return np.bincount(cells.pair, terms, pairs) - totals.sum(axis=1)

    each = np.arange(pairs)
    values = np.full((len(STRENGTHS), pairs), -np.inf)
    best = np.zeros(pairs, np.intp)
    for steps in STRENGTH_STEPS:
        for step in steps:
            k = np.clip(best + step, 0, len(STRENGTHS) - 1)
            values[k, each] = log_evidence(STRENGTHS[k])
        best = (values >= values.max(axis=0) - TIE_TOLERANCE).argmax(axis=0)
    alone = np.bincount(cells.pair, cells.number * np.log(mean[at]), pairs)
    return np.stack([values[best, each] - alone, STRENGTHS[best]], axis=1)


def choose_links(
    ranked: Sequence[Candidate], width: int, kind: str, most: int
) -> tuple[list[Candidate], int]:
    """Return the links of the forest, then others unless `kind` is "forest", at most `most` in all.

    Also return the number of links in the forest. If only one direction of a pair is above the
    threshold, the other gets the same evidence. Outside the forest a pair has the direction with
    more evidence.
    """
    directed = {(link.parent, link.child): link for link in ranked}
    for link in ranked:
        directed.setdefault((link.child, link.parent), link.turned)
    chosen = [directed[ends] for ends in orient_trees(span_columns(ranked, width), directed)]
    number = len(chosen)
    tied = {frozenset(link[:2]) for link in chosen}
    for link in ranked if kind != FOREST else ():
        if frozenset(link[:2]) not in tied and len(chosen) < most:
            tied.add(frozenset(link[:2]))
            chosen.append(link)
    return chosen, number


def span_columns(ranked: Sequence[Candidate], width: int) -> dict[int, list[int]]:
    """Return neighbours in the maximum spanning forest, by Kruskal's algorithm.

    Links must be sorted, strongest first.
    """
    tree = np.arange(width)
    neighbours: dict[int, list[int]] = {}
    for one, two, *_ in ranked:
        if tree[one] != tree[two]:
            tree[tree == tree[two]] = tree[one]
            neighbours.setdefault(one, []).append(two)
            neighbours.setdefault(two, []).append(one)
    return neighbours


def orient_trees(
    neighbours: dict[int, list[int]], directed: dict[tuple[int, int], Candidate]
) -> list[tuple[int, int]]:
    """Direct the links of each tree away from the root with the most evidence, parents first.

    Moving the root along a link reverses only this link.
    """
    ends: list[tuple[int, int]] = []
    been: set[int] = set()
    for start in neighbours:
        if start in been:
            continue
        worth = {start: 0.0}
        for parent, child in walk_tree(start, neighbours):
            turned = directed[child, parent].evidence - directed[parent, child].evidence
            worth[child] = worth[parent] + turned
        been.update(worth)
        ends += walk_tree(max(worth, key=worth.__getitem__), neighbours)
    return ends


def walk_tree(start: int, neighbours: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield the links of a tree directed away from a column, parents before children."""
    stack = [(start, start)]
    while stack:
        before, column = stack.pop()
        for other in neighbours[column]:
            if other != before:
                stack.append((column, other))
                yield column, other
