"""A points table (scorecard): the contribution of each cell to the log-odds, as whole numbers.

    log-odds = base + (points of all cells) / factor

Points are expected log densities under the posterior, with exponents, as in `explain`: they add up,
as the terms of naive Bayes do. The lowest cell of a column has 0 points, and the highest sum of
points is `total`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import norm

from bayesnb import results
from bayesnb.estimators import check_estimator
from bayesnb.estimators.base import check_is_fitted
from bayesnb.families import Poisson
from bayesnb.families.base import Array
from bayesnb.formatting import list_names
from bayesnb.inference.explanation import compare_classes, explain
from bayesnb.model.fitted import Fitted
from bayesnb.model.missing import MissingCells
from bayesnb.model.schema import Block
from bayesnb.selection.feature_evidence import pool

BINS = 10  # of a Gaussian column
MAX_COUNTS = 30  # with points for each count; more are put in ranges
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """Cells of a column that get points, as stored in its block, and as text.

    Ranges of numbers have cuts between them. A flag of missing cells is never missing itself.
    """

    name: Any
    cells: Array
    labels: Sequence[str]
    cuts: Array | None = None
    is_flag: bool = False


def points(model: Any, total: float = 100) -> "results.Result":
    """Make a points table (scorecard) of a model: whole numbers for cells, to add up by hand.

    Parameters
    ----------
    model : estimator
        A fitted estimator whose scores are a sum over columns: without links, covariance, texts, or
        blocks of columns.
    total : float, default 100
        The largest sum of points.

    Returns
    -------
    xarray.Dataset
        By `row`: `feature` and `cell`, as text; `points`, `exact`, the points before rounding, and
        `sd`, their standard deviation; with three or more classes by (row, class). By class:
        `base`, the log-odds at 0 points. `factor`: points per nat; `doubling`: the points that
        double the odds. With two classes, points are for the second of `classes_` against the
        first; with more, for each class against the mean of all.

    Raises
    ------
    ValueError
        If the points of a cell would depend on other cells. The message says what to do.

    See Also
    --------
    NaiveBayes.explain : The same sums for given rows.
    NaiveBayes.to_sql : The exact probabilities in a database.
    bayesnb.report.explore : The sum for any row, on a page.

    Notes
    -----
    Rounding changes each column's points by at most 1/2. Neighbouring ranges of numbers with the
    same points are merged. A Gaussian column has ten ranges, with the points of their medians.
    Counts are grouped into ranges if more than 30 are within five standard deviations of the
    classes' means; otherwise each is listed. A missing cell has the points of its flag, or
    contributes nothing.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, points
    >>> table = [["old", "yes"], ["old", "no"], ["new", "no"], ["new", "no"]] * 5
    >>> model = NaiveBayes("categorical").fit(table, ["stays", "stays", "leaves", "leaves"] * 5)
    >>> points(model).to_frame()[["feature", "cell", "points"]].values.tolist()[:3]
    [['0', 'new', 0], ['0', 'old', 67], ['0', 'missing', 33]]
    """
    check_estimator(model, "points: ")
    check_is_fitted(model)
    if not isinstance(total, Real) or not 0 < float(total) < np.inf:
        raise ValueError(f"total must be a positive number, got {total!r}.")
    refuse_dependence(model.schema_.blocks)
    if not model.model_.posterior.all_live:
        raise ValueError("points: a class has probability 0: give each a positive probability.")
    columns, worth, variance, base = explain_cells(model.fitted_)
    least = np.array([column.min(axis=0) for column in worth])
    span = float((np.array([column.max(axis=0) for column in worth]) - least).sum(axis=0).max())
    if span == 0:
        raise ValueError("points: no column is informative about the class.")
    factor = float(total) / span
    rows: list[dict[str, Any]] = []
    for cells, mean, var, low in zip(columns, worth, variance, least, strict=True):
        rows += list_rows(cells, factor * (mean - low), factor * np.sqrt(var))
    labels = model.classes_[-len(base) :]
    return results.datasets.points(rows, labels, base + least.sum(axis=0), factor)


def refuse_dependence(blocks: Sequence[Block]) -> None:
    """Raise if the points of a cell would depend on other columns."""
    for block in blocks:
        family = block.family
        reason = ""
        if block.repeats and not isinstance(family, MissingCells):
            reason = "links and a covariance combine several columns: fit with dependence=None"
        elif family.words:
            reason = f"{list_names(block.names, 4, repr)}: a points table cannot include words"
        elif family.multivariate and len(block.names) > 1:
            reason = f"{list_names(block.names, 4, repr)} are modelled jointly: declare each alone"
        if reason:
            raise ValueError(f"points: {reason}.")


def explain_cells(fitted: Fitted) -> tuple[list[ColumnCells], list[Array], list[Array], Array]:
    """Return the cells of columns, in the table's order, and their contributions to the log-odds.

    Means and variances are `(k, c)` for the cells of a column, the last for a missing one; the last
    value is the log-odds without cells, `(c,)`. With two classes, c is 1.
    """
    blocks = fitted.schema.blocks
    pairs = zip(blocks, fitted.model.stats.blocks, strict=True)
    listed = [list_cells(block, stats) for block, stats in pairs]
    size = max(len(column.cells) for columns in listed for column in columns)
    probes = []
    for columns in listed:
        probes.append(np.stack([np.resize(each.cells, size) for each in columns], axis=1))
    terms = explain(fitted.model.posterior, probes, fitted.exponents)
    mean, var = compare_classes(terms.evidence.swapaxes(1, 2), terms.sd.swapaxes(1, 2) ** 2)
    base, _ = compare_classes(terms.class_term, np.zeros_like(terms.class_term))
    found = [column for columns in listed for column in columns]
    places = [place for block in blocks for place in block.places]
    columns, means, variances = [], [], []
    for f in np.argsort(places, kind="stable").tolist():
        few = len(found[f].cells)
        silent = np.zeros((0 if found[f].is_flag else 1, base.size))
        columns.append(found[f])
        means.append(np.concatenate([mean[:few, f], silent]))
        variances.append(np.concatenate([var[:few, f], silent]))
    return columns, means, variances, base


def list_cells(block: Block, stats: Any) -> list[ColumnCells]:
    """Return the cells that get points, for each column of a block."""
    listed = []
    for j, name in enumerate(block.names):
        if block.grid is not None:
            cuts = block.grid.cuts_of(j)
            listed.append(ColumnCells(name, np.arange(len(cuts) + 1), (), cuts))
        elif block.levels:
            labels = block.level_names(j)
            listed.append(ColumnCells(name, np.arange(len(labels)), labels))
        elif block.family.outcomes:
            is_flag = isinstance(block.family, MissingCells)
            listed.append(ColumnCells(name, np.arange(2), block.family.outcomes, is_flag=is_flag))
        elif not stats.count[:, j].any():
            listed.append(ColumnCells(name, np.zeros(1), ["any number"]))
        elif isinstance(block.family, Poisson):
            seen = stats.count[:, j] > 0
            listed.append(count_cells(name, stats.events[seen, j] / stats.count[seen, j]))
        else:
            whole = pool(stats)
            sd = np.sqrt(whole.ssd[0, j] / whole.count[0, j])
            listed.append(normal_cells(name, whole.mean[0, j], sd))
    return listed


def count_cells(name: Any, rates: Array) -> ColumnCells:
    """Return counts from far below the smallest rate to far above the largest.

    If they are many, ranges are returned, each represented by the count in its middle.
    """
    low = max(int(np.floor(rates.min() - 5 * np.sqrt(rates.min()))), 0)
    high = int(np.ceil(rates.max() + 5 * np.sqrt(rates.max() + 1)))
    step = -(-(high - low) // MAX_COUNTS)
    counts = np.arange(low, high + step, step)
    if step > 1:
        return ColumnCells(name, counts, (), counts[:-1] + step // 2)
    first, *between, last = map(str, counts.tolist())
    first = f"{first} or fewer" if low else first
    return ColumnCells(name, counts, [first, *between, f"{last} or more"])


def normal_cells(name: Any, mean: float, sd: float) -> ColumnCells:
    """Return equally probable ranges of a normal distribution, represented by their medians."""
    middles = norm.ppf((np.arange(BINS) + 0.5) / BINS)
    cuts = norm.ppf(np.arange(1, BINS) / BINS)
    return ColumnCells(name, mean + sd * middles, (), mean + sd * cuts)


def list_rows(cells: ColumnCells, exact: Array, sd: Array) -> list[dict[str, Any]]:
    """Return a row for each cell; neighbouring ranges with the same points are merged."""
    whole = np.rint(exact)
    labels = list(cells.labels)
    first = np.arange(len(exact))
    if cells.cuts is not None:
        new = (np.diff(whole[:-1], axis=0) != 0).any(axis=1)
        first = np.append(np.flatnonzero(np.append(True, new)), len(exact) - 1)
        labels = name_ranges(cells.cuts[first[1:-1] - 1])
    if not cells.is_flag:
        labels.append(MISSING)
    rows = []
    for label, start, stop in zip(labels, first, [*first[1:], len(exact)], strict=True):
        rows.append(
            {
                "feature": cells.name,
                "cell": label,
                "points": whole[start],
                "exact": exact[start:stop].mean(axis=0),
                "sd": sd[start:stop].mean(axis=0),
            }
        )
    return rows


def name_ranges(cuts: Array) -> list[str]:
    """Return the ranges between cuts as text."""
    if not len(cuts):
        return ["any number"]
    texts = write_apart(cuts)
    between = [f"above {a}, to {b}" for a, b in pairwise(texts)]
    return [f"to {texts[0]}", *between, f"above {texts[-1]}"]


def write_apart(numbers: Array) -> list[str]:
    """Return numbers with six digits, or more if needed to distinguish them."""
    most = len(np.unique(numbers))
    digits = 6
    texts = [f"{x:.6g}" for x in numbers.tolist()]
    while len(set(texts)) < most:
        digits += 1
        texts = [f"{x:.{digits}g}" for x in numbers.tolist()]
    return texts
