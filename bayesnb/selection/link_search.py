"""Which columns of a table depend on each other given the class, found by evidence: see families/links.py.

A link is a candidate where its log Bayes factor against independence is above FACTOR log(d + 1) nats, d the number of
columns that vary. Of 200 tables of 2, 6 or 20 columns that are independent given the class, at most 5 % have a link,
with 60, 300 or 2,000 rows, of levels or numbers; log d is too little for two columns of rare levels. Under either
hypothesis the levels of the child have the shares that they have in the rows of a class: under a declared prior that
disagrees with these, independent columns would seem linked. The maximum spanning forest of the candidates is a joint
distribution once each tree has a root, from which its links point away: the root whose links have the most evidence.
Further links, the strongest first, are experts that exponents weigh.
"""

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from bayesnb import numerics
from bayesnb.data import Table
from bayesnb.families import Bernoulli, Categorical, Gaussian, Histogram, Poisson
from bayesnb.families.base import Array, Stats
from bayesnb.families.grid import Grid
from bayesnb.families.weight import one_hot
from bayesnb.model.linked import LinkBlock, codes_of
from bayesnb.model.schema import Block, Schema
from bayesnb.numerics.threads import in_order
from bayesnb.selection.leave_one_out import PACKAGE
from bayesnb.selection.pair_evidence import Work

FOREST, PAIRS = "forest", "pairs"
DEPTH = 3  # of the grid on which numbers are linked: 8 levels
STRENGTHS = 2.0 ** np.arange(12)  # of a link's prior that are tried
FACTOR = 3.0
LEAST = 1e-3  # that a prior adds to a count of a child's level: under 0 nothing would be known of an empty one
MOST_LINKS = 60
MOST_CELLS = 1 << 16  # of a table of pairs of levels, all classes together
MOST_COLUMNS = 600  # that are compared with one another: of more, those that say most about the label
MOST_PAIRS = 5_000  # that are compared at full length: of more, the best are screened
PARTNERS = 10  # of each column that a screening keeps
ROWS_SCREENED = 4_000


class Candidate(NamedTuple):
    """A link, its log Bayes factor in nats and the strength of its prior."""

    parent: int
    child: int
    evidence: float
    strength: float


@dataclass(frozen=True, eq=False)
class LinkColumns:
    """Columns that may be linked: their readers, codes of levels, `(f, r)`, and numbers of levels, `(f,)`."""

    readers: tuple[Block, ...]
    codes: Array
    sizes: Array


class LabelledRows(NamedTuple):
    """Places of rows' classes, their weights, and the number of classes."""

    codes: Array
    weight: Array
    classes: int


def with_links(schema: Schema, table: Table, rows: LabelledRows, kind: str, work: Work) -> Schema:
    """Add the links of a table's columns to its schema; the same schema, where there are none."""
    every = link_columns(schema, table, rows.weight)
    if every is None:
        return schema
    columns, varying = _most_informative(every, rows), int((every.sizes > 1).sum())
    if len(columns.sizes) < len(every.sizes):
        warnings.warn(
            f"links were looked for between {len(columns.sizes)} of {len(every.sizes):,} columns, those that alone say "
            "most about the label. Name the columns to use, or set dependence=None for none.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )
    chosen, in_forest = chosen_links(candidates(columns, rows, work, varying), len(columns.sizes), kind)
    if not chosen:
        return schema
    used = sorted({end for link in chosen for end in (link.parent, link.child)})
    readers = _only(columns.readers, used)
    places = {column: k for k, column in enumerate(used)}
    links = LinkBlock.of_links(
        readers,
        ends=tuple((places[link.parent], places[link.child]) for link in chosen),
        strength=np.array([link.strength for link in chosen]),
        evidence=np.array([link.evidence for link in chosen]),
        in_forest=np.array(in_forest, float),
    )
    weight, priors = one_hot(rows.codes, rows.classes, rows.weight), dict[Hashable, Any]()
    for block in schema.blocks:
        if isinstance(block.family, Categorical | Bernoulli):
            priors |= _prior_counts(block, block.observe(block.read(table), weight, 1))
    return schema.with_blocks([*schema.blocks, links.with_margins(priors)])


def relink(schema: Schema, stats: Sequence[Stats]) -> Schema:
    """Return a schema whose links know the priors of its families, which have changed since they were found."""
    if schema.links is None:
        return schema
    columns, priors = schema.columns_alone.blocks, dict[Hashable, Any]()
    for block, seen in zip(columns, stats, strict=False):  # those of links are the last
        priors |= _prior_counts(block, seen)
    return schema.with_blocks([*columns, schema.links.with_margins(priors)])


def _prior_counts(block: Block, stats: Stats) -> dict[Hashable, Any]:
    """Return what priors of levels, by level, or of flags add to each count: the mean over classes, never nothing."""
    prior: Any = block.family.belief(stats)
    if isinstance(block.family, Bernoulli):
        flags = np.stack([prior.b, prior.a], axis=-1).mean(axis=0)
        return dict(zip(block.names, np.maximum(flags, LEAST), strict=True))
    if not isinstance(block.family, Categorical):
        return {}
    counts = np.maximum(prior.concentration.mean(axis=0), LEAST)
    parts = zip(block.names, block.levels, np.split(counts, np.cumsum(prior.sizes)[:-1]), strict=True)
    return {name: dict(zip(levels, part, strict=False)) for name, levels, part in parts}


def link_columns(schema: Schema, table: Table, weight: Array) -> LinkColumns | None:
    """Return the columns that may be linked; None if they are fewer than two."""
    readers = []
    for block in schema.blocks:
        if isinstance(block.family, Categorical):
            readers.append(Block(Categorical(), block.names, block.places, block.levels))
        elif isinstance(block.family, Bernoulli | Gaussian | Poisson | Histogram) and not block.family.words:
            grid = _sides(block.family, len(block.names)) if isinstance(block.family, Bernoulli) else None
            reader = Block(Histogram(depth=DEPTH), block.names, block.places, grid=grid)
            readers.append(reader.learn(table, weight))
    sizes = np.array([size for reader in readers for size in reader.sizes], np.int64)
    return LinkColumns(tuple(readers), codes_of(readers, table), sizes) if len(sizes) > 1 else None


def _sides(family: Bernoulli, columns: int) -> Grid:
    """Two levels for each column of flags: zeros, and ones, which are all numbers above a threshold."""
    if family.threshold is None:
        low, high = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    else:
        edge = np.nextafter(family.threshold, np.inf)  # next to the threshold, so that the cut is the threshold
        low, high = np.array([min(family.threshold, 0.0), edge]), np.array([family.threshold, max(edge, 1.0)])
    whole = np.full(columns, float(family.threshold is None))
    return Grid((2,) * columns, np.tile(low, columns), np.tile(high, columns), np.ones(2 * columns), whole)


def _only(readers: Sequence[Block], used: Sequence[int]) -> list[Block]:
    """The readers of some columns, places among all of theirs, end to end."""
    made, first = [], 0
    for reader in readers:
        kept = [column - first for column in used if first <= column < first + len(reader.names)]
        first += len(reader.names)
        if kept:
            names, places = [reader.names[k] for k in kept], [reader.places[k] for k in kept]
            levels = tuple(reader.levels[k] for k in kept) if reader.levels else ()
            grid = None if reader.grid is None else type(reader.grid).side_by_side([reader.grid.only(k) for k in kept])
            made.append(Block(reader.family, names, tuple(places), levels, grid=grid))
    return made


def _most_informative(columns: LinkColumns, rows: LabelledRows) -> LinkColumns:
    """Return the columns, of very many those whose levels alone say most about the label.

    By the log likelihood ratio of a table of levels and classes, less its expectation where they are independent.
    """
    if len(columns.sizes) <= MOST_COLUMNS:
        return columns
    worth = np.empty(len(columns.sizes))
    for j, size in enumerate(columns.sizes.tolist()):
        known = columns.codes[j] >= 0
        cells = columns.codes[j][known].astype(np.intp) * rows.classes + rows.codes[known]
        counts = np.bincount(cells, rows.weight[known], size * rows.classes).reshape(size, rows.classes)
        by_level, by_class = counts.sum(axis=1), counts.sum(axis=0)
        ratio = xlogy(counts, counts).sum() - xlogy(by_level, by_level).sum() - xlogy(by_class, by_class).sum()
        freedom = float(np.clip(np.count_nonzero(by_level) - 1, 0, None) * (np.count_nonzero(by_class) - 1))
        worth[j] = ratio + xlogy(counts.sum(), counts.sum()) - freedom / 2
    best = np.sort(np.argsort(-worth, kind="stable")[:MOST_COLUMNS])
    return LinkColumns(tuple(_only(columns.readers, best.tolist())), columns.codes[best], columns.sizes[best])


def candidates(columns: LinkColumns, rows: LabelledRows, work: Work, varying: int | None = None) -> list[Candidate]:
    """Return the links with evidence above the threshold, in both directions, the strongest first.

    The threshold is that of so many columns that vary, by default these columns.
    """
    width = len(columns.sizes)
    able = _able(columns.sizes, rows.classes)
    pairs = CodedPairs(columns.sizes, _unsigned(columns, able), rows.codes, _weights(rows.weight), rows.classes)
    if is_long := sum(map(len, able)) > MOST_PAIRS:
        able = _screened(pairs, able, work)

    def compare(u: int) -> list[Candidate]:
        out = np.empty((len(able[u]), 2, 2))
        numerics.link_kernels.compare(
            pairs.codes, pairs.sizes, able[u], u, pairs.labels, pairs.weight, pairs.classes, STRENGTHS, out
        )
        if not is_long:
            work.done(width - u - 1)
        links = zip(able[u].tolist(), out.tolist(), strict=True)
        return [Candidate(*ends, *of) for v, each in links for ends, of in zip(((u, v), (v, u)), each, strict=True)]

    varying = int((columns.sizes > 1).sum()) if varying is None else varying
    threshold = FACTOR * np.log(varying + 1)
    ranked = [
        link for links in in_order(compare, range(width), work.n_jobs) for link in links if link.evidence > threshold
    ]
    return sorted(ranked, key=lambda link: -link.evidence)


class CodedPairs(NamedTuple):
    """What the kernels read: numbers of levels, unsigned codes, `(f, r)`, labels, weights or none, classes."""

    sizes: Array
    codes: Array
    labels: Array
    weight: Array
    classes: int


def _able(sizes: Array, classes: int) -> list[Array]:
    """Columns behind each column with which it can be linked: both vary, and their table is not too large."""
    able = []
    for u, size in enumerate(sizes.tolist()):
        behind = sizes[u + 1 :]
        able.append(np.flatnonzero((size > 1) & (behind > 1) & (size * behind * classes <= MOST_CELLS)) + u + 1)
    return able


def _unsigned(columns: LinkColumns, able: Sequence[Array]) -> Array:
    """Codes in as few bytes as hold the levels of all columns that can be linked; missing ones behind all levels."""
    linked = {*np.concatenate(able).tolist(), *(u for u, others in enumerate(able) if len(others))}
    widest = max((int(columns.sizes[j]) for j in linked), default=0)
    made = np.zeros(columns.codes.shape, np.uint8 if widest < 1 << 8 else np.uint16)
    for j in linked:
        made[j] = np.where(columns.codes[j] < 0, columns.sizes[j], columns.codes[j])
    return made


def _weights(weight: Array) -> Array:
    """Weights, or none where all are 1."""
    weight = np.asarray(weight, float)
    return np.empty(0) if (weight == 1.0).all() else weight


def _screened(pairs: CodedPairs, able: Sequence[Array], work: Work) -> list[Array]:
    """Keep the best partners of each column, by a statistic that is cheap, in a part of the rows."""
    width, rows = len(pairs.sizes), len(pairs.labels)
    few = np.unique(np.linspace(0, rows - 1, min(ROWS_SCREENED, rows)).astype(np.intp))
    codes, labels = np.ascontiguousarray(pairs.codes[:, few]), pairs.labels[few]
    weight = pairs.weight[few] if len(pairs.weight) else pairs.weight
    gains = np.full((width, width), -np.inf, np.float32)

    def screen(u: int) -> None:
        out = np.empty(len(able[u]))
        numerics.link_kernels.screen(codes, pairs.sizes, able[u], u, labels, weight, pairs.classes, out)
        gains[u, able[u]] = gains[able[u], u] = out
        work.done(width - u - 1)

    list(in_order(screen, range(width), work.n_jobs))
    best = np.argsort(-gains, axis=1, kind="stable")[:, :PARTNERS]
    keep = np.zeros((width, width), bool)
    np.put_along_axis(keep, best, True, axis=1)
    keep &= gains > 0
    return [np.flatnonzero((keep | keep.T)[u, u + 1 :]) + u + 1 for u in range(width)]


def chosen_links(ranked: Sequence[Candidate], width: int, kind: str) -> tuple[list[Candidate], list[bool]]:
    """Return the links of the forest, then further ones where `kind` is "pairs"; and which are of the forest.

    Of the two directions of a pair that is not in the forest the one with more evidence is taken.
    """
    directed = {(link.parent, link.child): link for link in ranked}
    forest = [directed[ends] for ends in rooted(spanning(ranked, width), directed, width)]
    if kind == FOREST:
        return forest, [True] * len(forest)
    tied = {frozenset((link.parent, link.child)) for link in forest}
    more: list[Candidate] = []
    for link in ranked:
        pair = frozenset((link.parent, link.child))
        if pair not in tied and len(forest) + len(more) < MOST_LINKS:
            tied.add(pair)
            more.append(link)
    return [*forest, *more], [True] * len(forest) + [False] * len(more)


def spanning(ranked: Sequence[Candidate], width: int) -> list[tuple[int, int]]:
    """The maximum spanning forest of undirected pairs, by Kruskal's algorithm; links come strongest first."""
    tree = list(range(width))

    def root(column: int) -> int:
        while tree[column] != column:
            tree[column] = tree[tree[column]]
            column = tree[column]
        return column

    pairs = []
    for link in ranked:
        one, two = root(link.parent), root(link.child)
        if one != two:
            tree[one] = two
            pairs.append((link.parent, link.child))
    return pairs


def rooted(
    pairs: Sequence[tuple[int, int]], directed: dict[tuple[int, int], Candidate], width: int
) -> list[tuple[int, int]]:
    """Let the links of each tree point away from the root for which their evidence is largest, parents before children.

    A direction without evidence above the threshold counts as the other one less nothing: see `_turned`.
    """
    beside: dict[int, list[int]] = {}
    for u, v in pairs:
        beside.setdefault(u, []).append(v)
        beside.setdefault(v, []).append(u)
        _turned(directed, u, v)
    ends, been = [], set()
    for start in beside:
        if start in been:
            continue
        tree = [start, *(child for _, child in _away(start, beside))]
        been.update(tree)
        worth = _worth_of_roots(start, beside, directed)
        ends += list(_away(max(tree, key=lambda column: worth[column]), beside))
    return ends


def _turned(directed: dict[tuple[int, int], Candidate], u: int, v: int) -> None:
    """Where only one direction is above the threshold, the other one takes its strength and evidence."""
    for one, two in ((u, v), (v, u)):
        if (one, two) not in directed:
            directed[one, two] = directed[two, one]._replace(parent=one, child=two)


def _away(start: int, beside: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    """Yield the links of a tree as they point away from a column, parents before children."""
    stack, been = [start], {start}
    while stack:
        parent = stack.pop()
        for child in beside[parent]:
            if child not in been:
                been.add(child)
                stack.append(child)
                yield parent, child


def _worth_of_roots(
    start: int, beside: dict[int, list[int]], directed: dict[tuple[int, int], Candidate]
) -> dict[int, float]:
    """The evidence of a tree's links if they point away from each of its columns: next to a root one link turns."""
    links = list(_away(start, beside))
    worth = {start: sum(directed[link].evidence for link in links)}
    for parent, child in links:
        worth[child] = worth[parent] - directed[parent, child].evidence + directed[child, parent].evidence
    return worth
