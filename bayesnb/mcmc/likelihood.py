"""The likelihood of one block in a PyMC model: of the stats, or row by row.

    stats        a potential: all rows of a class at once
    rows         observed variables, one a cell, from which PyMC draws and whose log-likelihoods it computes
    row scores   log p(x | theta) of every row under every class, for rows whose class is not certain

Missing cells are left out; a row's weight is a power of its likelihood.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.multinomial import as_csr
from bayesnb.families.sums import row_of_entry
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.sampling import pymc
from bayesnb.mcmc.variable_names import BlockNames
from bayesnb.model.schema import Block

STATISTICS = "Use likelihood='statistics'."


def tensors() -> SimpleNamespace:
    """Functions of PyMC's variables, under the names that NumPy and `special` give them for arrays."""
    math = pymc().math
    return SimpleNamespace(
        log=math.log,
        log1p=math.log1p,
        where=math.where,
        ratio=lambda part, total: part / total,
        log_gamma_ratio=lambda a, s: math.gammaln(a + s) - math.gammaln(a),
    )


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """Rows as PyMC reads them: the places of their classes, a number or a variable each, and their weights."""

    codes: Any
    weight: Array | None = None

    def likelihood(self, pm: Any, args: dict[str, Any], kind: Any, params: dict[str, Any], x: Array, at: Array) -> None:
        """Add the cells `x` of the rows `at`: observed, or a potential where rows have weights."""
        if self.weight is None:
            kind(**args, **params, observed=x)
        else:
            logs = pm.logp(kind.dist(**params), x)
            weight = self.weight[at].reshape(-1, *[1] * (logs.ndim - 1))
            pm.Potential(args["name"], (weight * logs).sum())


def by_rows(pm: Any, block: Block, density: Any, cells: Cells, rows: ObservedRows, names: BlockNames) -> None:
    """Add every cell that is there, given its row's class."""
    name = names.observed
    if block.family.fractional and not block.is_whole(cells):
        raise ValueError(
            f"likelihood='rows' needs counts, and column {block.names[0]!r} or one beside it holds fractions, which "
            "have no distribution. Use likelihood='statistics'."
        )
    if block.family.combined:
        _combinations(pm, density, np.asarray(cells[:]), rows, name)
    elif block.family.multivariate and block.family.continuous:
        x = dense(cells)
        at = np.flatnonzero(~np.isnan(x).any(axis=1))  # a row that lacks a cell teaches nothing about the block
        kind, params = density.cell(pm)
        params = {key: value[rows.codes[at]] for key, value in params.items()}
        rows.likelihood(pm, {"name": name}, kind, params, x[at], at)
    elif block.family.multivariate:
        _words(pm, density, cells, rows, {"name": name, "dims": ("obs_id", names.axis)})
    elif block.levels:
        _levels(pm, block, density, np.asarray(cells[:]), rows, names)
    else:
        x = dense(cells)
        kind, params = density.cell(pm)
        at, feature = np.nonzero(~np.isnan(x))
        if len(at) == x.size:
            params = {key: value[rows.codes] for key, value in params.items()}
            rows.likelihood(pm, {"name": name, "dims": ("obs_id", names.axis)}, kind, params, x, np.arange(len(x)))
        else:
            params = {key: value[rows.codes[at], feature] for key, value in params.items()}
            rows.likelihood(pm, {"name": name}, kind, params, x[at, feature], at)


def _levels(pm: Any, block: Block, density: Any, codes: Array, rows: ObservedRows, names: BlockNames) -> None:
    for j in range(len(block.sizes)):
        at = np.flatnonzero(codes[:, j] >= 0)
        args: dict[str, Any] = {"name": f"{names.observed}_{names('theta{}', j)['name'].removeprefix('theta_')}"}
        if len(at) == len(codes):
            args["dims"] = ("obs_id",)
        theta = density.probability[:, density.span(j)]
        if len(at):
            rows.likelihood(pm, args, pm.Categorical, {"p": theta[rows.codes[at]]}, codes[at, j], at)


def _combinations(pm: Any, density: Any, codes: Array, rows: ObservedRows, name: str) -> None:
    """Add the places of rows' combinations; a row that lacks a cell has taught nothing, and has none."""
    at = np.flatnonzero((codes >= 0).all(axis=1))
    args: dict[str, Any] = {"name": name} | ({"dims": ("obs_id",)} if len(at) == len(codes) else {})
    theta = density.lumped(density.probability)[:, 0]
    if len(at):
        rows.likelihood(pm, args, pm.Categorical, {"p": theta[rows.codes[at]]}, density.places(codes[at]), at)


def _words(pm: Any, density: Any, cells: Cells, rows: ObservedRows, args: dict[str, Any]) -> None:
    """Add counts of words; where the order is known, each word by itself."""
    if density.ordered:
        counts = as_csr(cells[:])
        times = counts.data.astype(int)
        words, at = np.repeat(counts.indices, times), np.repeat(row_of_entry(counts), times)
        refuse_large(f"{len(at)} words of {counts.shape[1]}", 8.0 * len(at) * counts.shape[1], STATISTICS)
        theta = density.probability[:, 0][rows.codes[at]]
        rows.likelihood(pm, {"name": args["name"]}, pm.Categorical, {"p": theta}, words, at)
        return
    x = dense(cells)
    params = {"n": x.sum(axis=1).astype(int), "p": density.probability[:, 0][rows.codes]}
    rows.likelihood(pm, args, pm.Multinomial, params, x.astype(int), np.arange(len(x)))


def row_scores(pm: Any, block: Block, density: Any, cells: Cells) -> Any:
    """log p(x | theta) of every row and class, `(r, c)`."""
    rows, xp = cells.shape[0], tensors()
    if not density.sufficient:
        x = dense(cells)
        kind, params = density.cell(pm)
        logs = pm.logp(kind.dist(**params), np.nan_to_num(x)[:, None])
        return xp.where(np.isnan(x)[:, None], 0.0, logs).sum(axis=-1)
    width = sum(block.sizes) or cells.shape[1]
    refuse_large(f"{rows} rows whose class is not certain, by {width} numbers", 8.0 * rows * width, "Give fewer rows.")
    stats = block.observe(cells, one_hot(np.arange(rows), rows), 1)
    return density.log_likelihood(stats[:, None], xp).sum(axis=-1)


def dense(cells: Cells) -> Array:
    """All cells as numbers; an error before they take more memory than they may."""
    rows, columns = cells.shape
    refuse_large(f"{rows} rows of {columns} columns", 8.0 * rows * columns, STATISTICS)
    x = cells[:]
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)
