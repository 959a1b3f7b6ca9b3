"""The explorer: a fitted model as tables, from which a page predicts any row.

The browser adds up the log moments K(s) of a row's cells, from a few parameters:

    levels     concentrations, and their totals; of a link also the margin of its child
    histogram  K and its derivatives, tabulated bin by bin
    numbers    the parameters of a Gaussian, or of a block of them, and of a count's Gamma

Probabilities equal those of `predict_proba`. Intervals follow from the cumulants of the scores.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from scipy import sparse

from bayesnb.data import Table, open_table
from bayesnb.estimators.base import check_is_fitted
from bayesnb.families import (
    Bernoulli,
    Categorical,
    Gaussian,
    Histogram,
    JointTable,
    MultivariateGaussian,
    Poisson,
)
from bayesnb.families.base import ORDER, Array
from bayesnb.families.family import Family
from bayesnb.families.levels import as_level
from bayesnb.formatting import list_names, quote
from bayesnb.model.covariance import LARGEST, Covariance
from bayesnb.model.fitted import Fitted
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells, find_missing
from bayesnb.model.powers import of_blocks
from bayesnb.model.schema import Block
from bayesnb.numerics.views import EVERY, FLOATS, readable
from bayesnb.plots.column_data import find_usual_range, select_columns
from bayesnb.plots.style import COLOURS
from bayesnb.report.facts import Facts, attempt
from bayesnb.report.page import Page, Section, name, name_column, render_page
from bayesnb.report.rows import find_rows
from bayesnb.results.datasets import ci_prob as checked_ci_prob

MAX_NUMBERS = 600_000  # of all tables: 4 MB of text
MAX_ROWS = 200  # that can be opened
STEPS = 200  # of a slider
TITLE = "Try a row"
ABOUT = (
    "Set the cells of a row to see the probabilities of its classes and what each cell adds. An "
    "unknown cell is a missing value."
)


class Explorer(NamedTuple):
    """The tables of a model as JSON, for the script of a page."""

    model: Markup

    @property
    def script(self) -> Markup:
        """The scripts, without comments and indents."""
        text = read_part("posterior.js") + read_part("explorer.js")
        lines = (line.strip() for line in text.splitlines())
        return Markup("\n".join(line for line in lines if line and not line.startswith("//")))


def read_part(file: str) -> str:
    """Return the text of a file beside this one."""
    return (Path(__file__).parent / file).read_text("utf-8")


class Readers:
    """Rules that turn cells into codes of levels: each rule once, by number."""

    def __init__(self, columns: "Columns") -> None:
        self.columns = columns
        self.listed: list[dict[str, Any]] = []

    def number(self, block: Block, j: int) -> int:
        """Return the number of the rule by which a block reads a column."""
        place = block.places[j]
        column = self.columns.number(place)
        values = self.columns.values(place)
        reader: dict[str, Any] = {"column": column}
        if block.grid is not None or block.family.threshold is not None:
            cuts = [block.family.threshold] if block.grid is None else block.grid.cuts_of(j)
            reader["cuts"] = np.asarray(cuts, float).tolist()
        else:
            levels = (0, 1) if block.family.outcomes else block.levels[j]
            places = {level: code for code, level in enumerate(levels)}
            reserved = len(levels) if block.family.unseen == "reserve" else -1
            reader["codes"] = [places.get(value, reserved) for value in values or ()]
        if "cuts" in reader and values is not None:
            codes = np.searchsorted(reader.pop("cuts"), as_floats(values))
            reader["codes"] = np.where(np.isnan(as_floats(values)), -1, codes).tolist()
        return self.add(reader)

    def of_missing(self, place: int) -> int:
        """Return the number of the rule that flags missing values of a column."""
        return self.add({"column": self.columns.number(place), "missing": True})

    def add(self, reader: dict[str, Any]) -> int:
        if reader not in self.listed:
            self.listed.append(reader)
        return self.listed.index(reader)


class Columns:
    """The columns that can be set on the page, in the table's order."""

    def __init__(self, model: Any) -> None:
        self.model = model
        blocks = model.schema_.columns_alone.blocks
        homes: dict[int, tuple[int, int]] = {}
        for b, block in enumerate(blocks):
            homes |= {place: (b, j) for j, place in enumerate(block.places)}
        self.homes = dict(sorted(homes.items()))
        self.numbers = {place: number for number, place in enumerate(self.homes)}
        families = [block.family for block in model.schema_.blocks]
        flags = [family.places for family in families if isinstance(family, MissingCells)]
        self.flagged = {place for places in flags for place in places}

    def number(self, place: int) -> int:
        """Return the number of a column on the page by its place in the table."""
        return self.numbers[place]

    def home(self, place: int) -> tuple[Block, int]:
        """Return the block of a column, and its place there."""
        b, j = self.homes[place]
        return self.model.schema_.blocks[b], j

    def values(self, place: int) -> list[Any] | None:
        """Return the levels of a column as they are in tables; None for numbers."""
        block, j = self.home(place)
        if block.family.outcomes and block.family.threshold is None:
            return [0, 1]
        if not block.levels:
            return None
        return [*block.levels[j], *[None] * self.tells_new(place)]

    def tells_new(self, place: int) -> bool:
        """Whether the model distinguishes unseen levels from missing values."""
        return self.home(place)[0].family.unseen == "reserve" or place in self.flagged

    def describe(self) -> Iterator[dict[str, Any]]:
        """Yield the name of each column, and its levels, or its range."""
        for place, (b, j) in self.homes.items():
            block, _ = self.home(place)
            column: dict[str, Any] = {"name": name_column(block.names[j])}
            values = self.values(place)
            if values is None:
                column |= self.find_range(b, j)
            elif block.family.outcomes:
                column |= {"levels": list(block.family.outcomes), "values": values}
            else:
                levels = [*map(str, block.levels[j]), *["new"] * self.tells_new(place)]
                column["levels"] = [name(level) for level in levels]
                if all(isinstance(level, Real) for level in block.levels[j]):
                    floats = as_floats(values).tolist()
                    column["values"] = [each if np.isfinite(each) else None for each in floats]
            yield column

    def find_range(self, b: int, j: int) -> dict[str, float]:
        """Return the ends of a slider, and its step."""
        block = self.model.schema_.blocks[b]
        if block.grid is not None:
            grid = block.grid.only(j)
            low, high = float(grid.low[0]), float(grid.high[-1])
            whole = bool(grid.whole[0])
        elif block.family.threshold is not None:
            low, high, whole = block.family.threshold - 1, block.family.threshold + 1, False
        else:
            data = select_columns(self.model, b, [j])
            low, high = find_usual_range(data.belief, [np.zeros(0)], 0.0)
            whole = isinstance(block.family, Poisson)
        if not low < high:
            low, high = low - 0.5, high + 0.5
        if whole:
            low, high = np.floor(low), np.ceil(high)
        step = 10.0 ** np.floor(np.log10((high - low) / STEPS))
        return {"low": low, "high": high, "step": max(step, 1.0) if whole else step}

    def read(self, table: Table) -> list[list[float | None]]:
        """Return the cells of rows as the page stores them: codes of levels, and numbers."""
        cells: list[list[float | None]] = []
        for place in self.homes:
            block, j = self.home(place)
            if block.levels:
                codes = as_level(block.read(table)[EVERY])[:, j]
                if self.tells_new(place):
                    is_new = (codes < 0) & ~find_missing(table, [place])[:, 0]
                    codes = np.where(is_new, len(block.levels[j]), codes)
                cells.append([None if code < 0 else int(code) for code in codes])
            else:
                column = table.numbers([place])[EVERY]
                column = column.toarray() if sparse.issparse(column) else column
                column = readable(column, FLOATS)[:, 0]
                cells.append([None if np.isnan(x) else float(x) for x in column])
        return [list(row) for row in zip(*cells, strict=True)]


def as_floats(values: Sequence[Any]) -> Array:
    """Return levels as floats, NaN where a level is not a number, or too large."""

    def as_float(value: Any) -> float:
        try:
            return float(value) if isinstance(value, Real) else np.nan
        except OverflowError:
            return np.nan

    return np.array([as_float(each) for each in values])


# Features, as the browser reads them


def write_columns(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the Dirichlet of each column of levels, level by level."""
    for j, key in enumerate(block.names):
        a = belief.only(j).concentration.T
        feature = write_table([readers.number(block, j)], [len(a)], a, a.sum(axis=0)[None])
        yield feature | {"name": name_column(key)}


def write_flags(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the Beta distribution of each flag: a cell is 1, or it is missing."""
    family: Any = block.family
    for j, key in enumerate(block.names):
        if isinstance(family, MissingCells):
            reader = readers.of_missing(family.places[j])
        else:
            reader = readers.number(block, j)
        a = np.stack([belief.b[:, j], belief.a[:, j]])
        yield write_table([reader], [2], a, a.sum(axis=0)[None]) | {"name": name_column(key)}


def write_combinations(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the concentration of each combination of levels, missing values included."""
    sizes = [size + 1 for size in block.sizes]
    refuse_large(prod(sizes) * len(belief))
    probes = np.array([*product(*[range(-1, size) for size in block.sizes])])
    total = belief.total.reshape(1, len(belief))
    a = np.exp(belief.score(probes)) * total
    each = [readers.number(block, j) for j in range(len(block.names))]
    title = name_column(tuple(block.names))
    yield write_table(each, sizes, a, total) | {"name": title, "missing": 1}


def write_links(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the tables of each link: Dirichlets of the child's levels, and its margin."""
    family: Any = block.family
    for f, (ends, label) in enumerate(zip(family.ends, family.labels, strict=True)):
        one = belief.only(f)
        parents, children = family.pairs.shapes[f]
        a = one.tables.concentration.T
        total = a.reshape(parents, children, -1).sum(axis=1)
        each = [readers.number(*family.columns[end]) for end in ends]
        feature = write_table(each, [parents, children], a, total, children)
        yield feature | {"name": name(label), "margin": pack(one.log_margin.T[:children])}


def write_table(
    readers: Sequence[int], sizes: Sequence[int], a: Array, total: Array, per: int = 0
) -> dict[str, Any]:
    """Return the concentrations of cells, `(k, c)`, and the total of each group of `per` cells."""
    refuse_large(a.size)
    return {
        "kind": "levels",
        "readers": readers,
        "sizes": sizes,
        "per": per or len(a),
        "missing": 0,
        "a": pack(a),
        "total": pack(total),
    }


def write_histograms(
    block: Block, belief: Any, readers: Readers, power: Array
) -> Iterator[dict[str, Any]]:
    """Yield K(1), K and its derivatives at the exponent, and the second at 0, bin by bin."""
    grid: Any = block.grid
    at = [belief.level_log_moment(power)]
    at += [*belief.level_cumulants(ORDER, power), belief.level_cumulants(2)[1]]
    table = np.stack([belief.log_mean, *at], axis=-1)
    for j, key in enumerate(block.names):
        cells = table[:, grid.span(j)].swapaxes(0, 1)
        refuse_large(cells.size)
        yield {
            "kind": "grid",
            "name": name_column(key),
            "readers": [readers.number(block, j)],
            "table": pack(cells),
        }


def write_counts(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the Gamma distribution of each rate."""
    shape, rate = np.broadcast_arrays(belief.shape, belief.rate)
    for j, key in enumerate(block.names):
        column = readers.columns.number(block.places[j])
        yield {
            "kind": "counts",
            "name": name_column(key),
            "columns": [column],
            "shape": shape[:, j].tolist(),
            "rate": rate[:, j].tolist(),
        }


def write_normals(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the Gaussian of each column."""
    arrays = np.broadcast_arrays(belief.location, belief.count, belief.dof, belief.matrix)
    for j, key in enumerate(block.names):
        column = readers.columns.number(block.places[j])
        yield write_student([column], *np.stack(arrays)[..., j]) | {"name": name_column(key)}


def write_vectors(block: Block, belief: Any, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield the Gaussian of a block of columns, or of columns and indicators of levels."""
    family: Any = block.family
    places = family.places if isinstance(family, Covariance) else block.places
    columns = [readers.columns.number(place) for place in places]
    refuse_large(belief.matrix.size)
    feature = write_student(columns, belief.location, belief.count, belief.dof, belief.matrix)
    if isinstance(family, Covariance):
        scale = family.scale
        names = ("bent", "start", "unit", "mean", "sd")
        feature["scale"] = {key: np.asarray(getattr(scale, key)).tolist() for key in names}
        feature["scale"] |= {"most": LARGEST, "whitening": pack(scale.whitening, "f8")}
        if family.indicators is not None:
            feature["indicators"] = write_indicators(family.indicators, readers)
    title = (
        "columns together" if isinstance(family, Covariance) else name_column(tuple(block.names))
    )
    yield feature | {"name": title}


def write_student(
    columns: Sequence[int], location: Array, count: Array, dof: Array, matrix: Array
) -> dict[str, Any]:
    """Return the parameters of a Gaussian, class by class."""
    return {
        "kind": "student",
        "columns": columns,
        "size": location.reshape(len(location), -1).shape[1],
        "location": pack(location, "f8"),
        "count": np.ravel(count).tolist(),
        "dof": np.ravel(dof).tolist(),
        "matrix": pack(matrix, "f8"),
    }


def write_indicators(indicators: Any, readers: Readers) -> dict[str, Any]:
    """Return the levels that are indicators, and the pairs of indicators that are multiplied."""
    which = []
    for reader in indicators.readers:
        which += [readers.number(reader, j) for j in range(len(reader.names))]
    sizes = indicators.sizes.tolist()
    return {"readers": which, "sizes": sizes, "ends": indicators.ends.tolist()}


WRITERS: dict[type[Family], Callable[..., Iterator[dict[str, Any]]]] = {
    Bernoulli: write_flags,
    Categorical: write_columns,
    Covariance: write_vectors,
    Gaussian: write_normals,
    Histogram: write_histograms,
    JointTable: write_combinations,
    Linked: write_links,
    MissingCells: write_flags,
    MultivariateGaussian: write_vectors,
    Poisson: write_counts,
}


def write_features(fitted: Fitted, live: Array, readers: Readers) -> Iterator[dict[str, Any]]:
    """Yield all features of a model, block by block, with their exponents."""
    blocks = fitted.schema.blocks
    powers = of_blocks(fitted.exponents, len(blocks))
    covariance = fitted.temper.covariance
    groups = iter([0] * len(fitted.schema.keys) if covariance is None else covariance.group)
    for block, belief, power in zip(blocks, fitted.model.posterior.blocks, powers, strict=True):
        if block.family.words or type(block.family) not in WRITERS:
            listed = list_names(block.names, 4, quote)
            raise ValueError(f"{listed}: the explorer does not support texts and counts of words.")
        each: Array = np.broadcast_to(power, len(block.keys))  # type: ignore[arg-type]
        write = WRITERS[type(block.family)]
        if isinstance(block.family, Histogram):
            write = partial(write_histograms, power=each)
        for exponent, feature in zip(each, write(block, belief[live], readers), strict=True):
            used = feature.get("columns", [])
            used = [*used, *[readers.listed[k]["column"] for k in feature.get("readers", ())]]
            yield feature | {"power": float(exponent), "group": int(next(groups)), "cells": used}


def refuse_large(size: int) -> None:
    """Raise for tables that are too large for a page."""
    if size > MAX_NUMBERS:
        raise ValueError(
            f"{size:,} numbers are too many for a page. Fit with dependence='forest' or None, or "
            "with fewer levels."
        )


def pack(array: Any, kind: str = "f4") -> dict[str, str]:
    """Return an array as base64 of floats: of 64 bits if a number is too small for 32."""
    if (np.abs(array)[np.not_equal(array, 0)] < np.finfo(np.float32).tiny).any():
        kind = "f8"
    return {kind: b64encode(np.ascontiguousarray(array, f"<{kind}").tobytes()).decode()}


# The page


def write_model(
    model: Any, rows: Table | None = None, names: Sequence[Any] = (), prob: float | None = None
) -> Explorer:
    """Return the parts of a fitted model that a page needs, and named rows that can be opened."""
    fitted = model.fitted_
    if model.estimate != "predictive":
        raise ValueError(
            "the explorer integrates parameters out, but the model has "
            f"estimate={model.estimate!r}. Set estimate='predictive'."
        )
    posterior = fitted.model.posterior
    live = np.flatnonzero(posterior.live)
    columns = Columns(model)
    readers = Readers(columns)
    features = list(write_features(fitted, live, readers))
    refuse_large(sum(len(text) for each in features for text in find_texts(each)) * 3 // 16)
    classes = posterior.classes
    opened = [] if rows is None else columns.read(rows)
    covariance = fitted.temper.covariance
    content = {
        "classes": [name(fitted.classes[c]) for c in live],
        "colours": COLOURS[:-1],
        "prior": {
            "log": posterior.log_class[live].tolist(),
            "moment": classes.weight_log_moment(1.0)[live].tolist(),
            "seen": classes.weight_cumulants(ORDER, 1.0)[:, live].T.tolist(),
        },
        "columns": list(columns.describe()),
        "readers": readers.listed,
        "features": features,
        "exponents": covariance and {"size": len(covariance), "matrix": pack(covariance.matrix)},
        "intervals": posterior.independent_classes,
        "prob": checked_ci_prob(prob),
        "rows": [
            {"name": str(each), "cells": cells} for each, cells in zip(names, opened, strict=True)
        ],
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Explorer(Markup(text.replace("<", "\\u003c")))


def find_texts(feature: Any) -> Iterator[str]:
    """Yield the packed arrays of a feature."""
    for value in feature.values():
        if isinstance(value, dict):
            yield from (each for each in value.values() if isinstance(each, str))


def try_rows(facts: Facts) -> Section:
    """The model in the browser, with the rows to look at."""
    places = np.unique(np.concatenate(list(find_rows(facts).values())))
    table, _ = facts.take(places)
    explorer = attempt(write_model, facts.model, table, places, facts.prob)
    if isinstance(explorer, str):
        return Section("explorer", TITLE, [f"Not on this page: {explorer}"])
    about = (
        f"{ABOUT} The probabilities here are those of the model of all rows. Under "
        "Rows to look at, each row is predicted by the model of all other rows."
    )
    return Section("explorer", TITLE, [about, explorer])


def explore(model: Any, X: Any = None, *, title: str = "", ci_prob: float | None = None) -> Page:
    """Return an HTML page that predicts a row as its cells are set.

    The browser computes class probabilities with their intervals, what each column adds to the
    log-odds of two classes, and which cells would change the predicted class. The page is
    self-contained.

    Parameters
    ----------
    model : estimator
        A fitted estimator, without texts or counts of words.
    X : table of rows, optional
        Rows that can be opened on the page. The first 200 are stored in the page, the others left
        out.
    title : str, default=""
        Title of the page. Empty: "Exploring" and the name of the label.
    ci_prob : float or None, default=None
        Probability of the intervals. None: the setting of ArviZ, 0.89 by default.

    Returns
    -------
    Page
        The document, as text: ``page.save("explorer.html")`` writes it, and a notebook shows it.

    See Also
    --------
    report : A page about how good a model is, with this as one section.
    NaiveBayes.explain : The same contributions in Python.

    Notes
    -----
    Probabilities equal ``predict_proba`` up to 1e-6, and intervals those of
    ``predict_interval(method="fast")``, up to 0.02 in nearly every row. There are no intervals
    where classes share a variance.

    Examples
    --------
    >>> from bayesnb import NaiveBayes
    >>> from bayesnb.datasets import dogs
    >>> from bayesnb.report import explore
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> explore(model, table.drop(columns="breed"))[:15]
    '<!doctype html>'
    """
    check_is_fitted(model)
    rows = None if X is None else open_table(X)
    if rows is not None:
        rows = rows.take(np.arange(rows.rows) < MAX_ROWS)
    names: Any = () if rows is None else rows.index
    label = getattr(model, "target_name_", None) or "the label"
    content = [ABOUT, write_model(model, rows, names, ci_prob)]
    sections = [Section("top", "", []), Section("explorer", TITLE, content)]
    return render_page(title or f"Exploring {label}", "", sections, ("explorer",), "Model explorer")
