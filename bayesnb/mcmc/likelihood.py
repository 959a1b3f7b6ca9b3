"""The likelihood of one block in a PyMC model: of its stats, or row by row.

    stats        a potential: all rows of a class at once
    rows         observed variables, one a cell, from which PyMC draws and whose log-likelihoods it computes
    row scores   log p(x | theta) of every row under every class, for rows whose class is not certain

Missing cells are left out; a row's weight is a power of its likelihood.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.multinomial import as_csr
from bayesnb.families.sums import row_of_entry
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.variable_names import Say
from bayesnb.model.schema import Block

STATISTICS = "Use likelihood='statistics'."


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows as PyMC reads them: the places of their classes, a number or a variable each, and their weights."""

    codes: Any
    weight: Array | None = None

    def likelihood(
        self, pm: Any, said: dict[str, Any], kind: Any, parameters: dict[str, Any], x: Array, at: Array
    ) -> None:
        """Cells `x` of the rows `at`: observed, or a potential where rows have weights."""
        if self.weight is None:
            kind(**said, **parameters, observed=x)
        else:
            logs = pm.logp(kind.dist(**parameters), x)
            weight = self.weight[at].reshape(-1, *[1] * (logs.ndim - 1))
            pm.Potential(said["name"], (weight * logs).sum())


def by_rows(pm: Any, block: Block, density: Any, cells: Cells, rows: Labelled, say: Say) -> None:
    """Every cell that is there given its row's class."""
    name = say.observed
    if block.family.fractional and not block.is_whole(cells):
        raise ValueError(
            f"likelihood='rows' needs counts, and column {block.names[0]!r} or one beside it holds fractions, which "
            "have no distribution. Use likelihood='statistics'."
        )
    if block.family.combined:
        _combinations(pm, density, np.asarray(cells[:]), rows, name)
    elif block.family.whole and block.family.continuous:
        _vectors(pm, density, dense(cells), rows, name)
    elif block.family.whole:
        _words(pm, density, cells, rows, {"name": name, "dims": ("obs_id", say.axis)})
    elif block.levels:
        _levels(pm, block, density, np.asarray(cells[:]), rows, say)
    else:
        x = dense(cells)
        kind, parameters = density.cell(pm)
        at, feature = np.nonzero(~np.isnan(x))
        if len(at) == x.size:
            parameters = {key: value[rows.codes] for key, value in parameters.items()}
            rows.likelihood(pm, {"name": name, "dims": ("obs_id", say.axis)}, kind, parameters, x, np.arange(len(x)))
        else:
            parameters = {key: value[rows.codes[at], feature] for key, value in parameters.items()}
            rows.likelihood(pm, {"name": name}, kind, parameters, x[at, feature], at)


def _levels(pm: Any, block: Block, density: Any, codes: Array, rows: Labelled, say: Say) -> None:
    for j in range(len(block.sizes)):
        at = np.flatnonzero(codes[:, j] >= 0)
        said: dict[str, Any] = {"name": f"{say.observed}_{say('theta{}', j)['name'].removeprefix('theta_')}"}
        if len(at) == len(codes):
            said["dims"] = ("obs_id",)
        theta = density.probability[:, density.span(j)]
        if len(at):
            rows.likelihood(pm, said, pm.Categorical, {"p": theta[rows.codes[at]]}, codes[at, j], at)


def _combinations(pm: Any, density: Any, codes: Array, rows: Labelled, name: str) -> None:
    """The places of rows' combinations; a row that lacks a cell has taught nothing, and is none."""
    at = np.flatnonzero((codes >= 0).all(axis=1))
    said: dict[str, Any] = {"name": name} | ({"dims": ("obs_id",)} if len(at) == len(codes) else {})
    theta = density.lumped(density.probability)[:, 0]
    if len(at):
        rows.likelihood(pm, said, pm.Categorical, {"p": theta[rows.codes[at]]}, density.places(codes[at]), at)


def _vectors(pm: Any, density: Any, x: Array, rows: Labelled, name: str) -> None:
    """Complete rows of a block; one that lacks a cell teaches nothing about it."""
    at = np.flatnonzero(~np.isnan(x).any(axis=1))
    kind, parameters = density.cell(pm)
    own = {key: value[rows.codes[at]] for key, value in parameters.items()}
    rows.likelihood(pm, {"name": name}, kind, own, x[at], at)


def _words(pm: Any, density: Any, cells: Cells, rows: Labelled, said: dict[str, Any]) -> None:
    """Counts as such; where the order is known, each word by itself."""
    if density.ordered:
        counts = as_csr(cells[:])
        each = counts.data.astype(int)
        words, at = np.repeat(counts.indices, each), np.repeat(row_of_entry(counts), each)
        refuse_large(f"{len(at)} words of {counts.shape[1]}", 8.0 * len(at) * counts.shape[1], STATISTICS)
        theta = density.probability[:, 0][rows.codes[at]]
        rows.likelihood(pm, {"name": said["name"]}, pm.Categorical, {"p": theta}, words, at)
        return
    x = dense(cells)
    parameters = {"n": x.sum(axis=1).astype(int), "p": density.probability[:, 0][rows.codes]}
    rows.likelihood(pm, said, pm.Multinomial, parameters, x.astype(int), np.arange(len(x)))


def row_scores(pm: Any, block: Block, density: Any, cells: Cells, xp: Any) -> Any:
    """log p(x | theta) of every row and class, `(r, c)`."""
    rows = cells.shape[0]
    if not density.sufficient:
        x = dense(cells)
        kind, parameters = density.cell(pm)
        logs = pm.logp(kind.dist(**parameters), np.nan_to_num(x)[:, None])
        return xp.where(np.isnan(x)[:, None], 0.0, logs).sum(axis=-1)
    width = sum(block.sizes) or cells.shape[1]
    refuse_large(f"{rows} rows whose class is not certain, by {width} numbers", 8.0 * rows * width, "Give fewer rows.")
    own = block.observe(cells, one_hot(np.arange(rows), rows), 1)
    return density.log_likelihood(own[:, None], xp).sum(axis=-1)


def dense(cells: Cells) -> Array:
    """All cells as numbers; an error before they take more memory than they may."""
    rows, columns = cells.shape
    refuse_large(f"{rows} rows of {columns} columns", 8.0 * rows * columns, STATISTICS)
    x = cells[:]
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)
