"""The likelihood of one block in a PyMC model: of the stats, or row by row.

    stats        a potential: all rows of a class at once
    rows         observed variables, one a cell, from which PyMC draws and whose log-likelihoods it
                 computes
    row scores   log p(x | theta) of every row under every class, for rows whose class is not
                 certain

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
from bayesnb.numerics.views import EVERY

STATISTICS = "Use likelihood='statistics'."


def tensors() -> SimpleNamespace:
    """Functions of PyMC's variables, under the names that NumPy and `special` give them."""
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
    """Rows as PyMC reads them: the codes of their classes, an array or a variable, and weights."""

    codes: Any
    weight: Array | None = None

    def add(
        self,
        name: str,
        distribution: tuple[Any, dict[str, Any]],
        x: Array,
        *at: Any,
        dims: Any = None,
        **of_rows: Any,
    ) -> Any:
        """Add cells `x`, and return them, or a potential and None where rows have weights.

        They stand `at` some rows, and features. Parameters of their distribution are `(c, ...)`.
        """
        rows, *features = at
        kind, params = distribution
        places = self.codes[rows], *features
        params = {key: value[places] for key, value in params.items()} | of_rows
        if self.weight is None:
            return kind(name, **params, observed=x, dims=dims)
        logs = pymc().logp(kind.dist(**params), x)
        weight = self.weight[rows].reshape(-1, *[1] * (logs.ndim - 1))
        pymc().Potential(name, (weight * logs).sum())
        return None

    def add_levels(self, name: str, theta: Any, codes: Array) -> None:
        """Add a column of levels, negative where they are missing."""
        rows = np.flatnonzero(codes >= 0)
        dims = ("obs_id",) if len(rows) == len(codes) else None
        if len(rows):
            self.add(name, (pymc().Categorical, {"p": theta}), codes[rows], rows, dims=dims)


def add_rows(
    pm: Any, block: Block, density: Any, cells: Cells, observed: ObservedRows, names: BlockNames
) -> None:
    """Add every cell that is there, given its row's class."""
    name = names.observed
    family = block.family
    if family.fractional and not block.is_whole(cells):
        raise ValueError(
            f"likelihood='rows' needs counts, and column {block.names[0]!r} or one beside it holds "
            f"fractions, which have no distribution. {STATISTICS}"
        )
    if family.combined:
        codes = np.asarray(cells[:])
        complete = (codes >= 0).all(axis=1)  # a row that lacks a cell has taught nothing
        places = np.full(len(codes), -1)
        places[complete] = density.places(codes[complete])
        observed.add_levels(name, density.levels.lump(density.probability)[:, 0], places)
    elif family.multivariate and family.continuous:
        x = dense(cells)
        known = np.flatnonzero(~np.isnan(x).any(axis=1))
        observed.add(name, density.cell(pm), x[known], known)
    elif family.multivariate and density.ordered:  # each word by itself
        counts = as_csr(cells[:])
        times = counts.data.astype(int)
        rows, words = (np.repeat(each, times) for each in (row_of_entry(counts), counts.indices))
        size = 8.0 * len(rows) * counts.shape[1]
        refuse_large(f"{len(rows)} words of {counts.shape[1]}", size, STATISTICS)
        observed.add(name, (pm.Categorical, {"p": density.probability[:, 0]}), words, rows)
    elif family.multivariate:
        x = dense(cells).astype(int)
        text = pm.Multinomial, {"p": density.probability[:, 0]}
        dims = "obs_id", names.axis
        observed.add(name, text, x, EVERY, dims=dims, n=x.sum(axis=1))
    elif block.levels:
        for j, codes in enumerate(np.asarray(cells[:]).T):
            column = names("theta{}", j)["name"].removeprefix("theta_")
            theta = density.probability[:, density.levels.span(j)]
            observed.add_levels(f"{name}_{column}", theta, codes)
    else:
        x = dense(cells)
        at = np.nonzero(~np.isnan(x))
        if len(at[0]) == x.size:
            observed.add(name, density.cell(pm), x, EVERY, dims=("obs_id", names.axis))
        else:
            observed.add(name, density.cell(pm), x[at], *at)


def row_scores(pm: Any, block: Block, density: Any, cells: Cells) -> Any:
    """log p(x | theta) of every row and class, `(r, c)`."""
    rows = cells.shape[0]
    xp = tensors()
    if not density.sufficient:
        x = dense(cells)
        kind, params = density.cell(pm)
        logs = pm.logp(kind.dist(**params), np.nan_to_num(x)[:, None])
        return xp.where(np.isnan(x)[:, None], 0.0, logs).sum(axis=-1)
    width = sum(block.sizes) or cells.shape[1]
    refuse_large(
        f"{rows} rows whose class is not certain, by {width} numbers",
        8.0 * rows * width,
        "Give fewer rows.",
    )
    stats = block.observe(cells, one_hot(np.arange(rows), rows), 1)
    return density.log_likelihood(stats[:, None], xp).sum(axis=-1)


def dense(cells: Cells) -> Array:
    """All cells as numbers; an error before they take more memory than they may."""
    rows, columns = cells.shape
    refuse_large(f"{rows} rows of {columns} columns", 8.0 * rows * columns, STATISTICS)
    x = cells[:]
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)
