"""The variables of one block in a PyMC model: their names, and their likelihood.

Names are those of `to_datatree`, numbered if a family has several blocks. The likelihood is that of
the stats, or row by row:

    stats        one potential for all rows of a class
    rows         observed variables, for which PyMC can draw and compute log likelihoods
    row scores   log p(x | theta) of every row under every class, for rows whose class is uncertain

Missing cells are left out; the weight of a row is a power of its likelihood.
"""

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells, Density, Parts, Rng
from bayesnb.families.multinomial import as_csr
from bayesnb.families.record import silent
from bayesnb.families.sums import row_of_entry
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.sampling import pymc
from bayesnb.model.schema import Block
from bayesnb.numerics.special import LOG_PI, log1p_square, log_gamma_ratio
from bayesnb.numerics.views import EVERY
from bayesnb.results.drawn_trees import Layout, Names
from bayesnb.results.tables import coordinate


@dataclass(frozen=True, eq=False)
class BlockNames:
    """PyMC's arguments `name` and `dims` of the variables of one block, by symbol."""

    parameters: Names
    axis: str
    levels: str  # the axis of all levels of all columns
    number: str  # "", or "_2", "_3" for later blocks of a family
    family: str  # "", or the prefix of hyperparameters
    observed: str  # the name of the cells
    named_axes: bool  # whether `parameters` has axes only for this block

    def __call__(self, symbol: str, feature: int | None = None) -> dict[str, Any]:
        name, axis = self.parameters[symbol, feature]
        if feature is not None or self.named_axes:
            return {"name": name, "dims": ("class", axis)}
        return {"name": f"{name}{self.number}", "dims": ("class", self.axis)}

    def hyper(self, symbol: str, *dims: str) -> dict[str, Any]:
        """Name a hyperparameter, one for each feature by default."""
        return {"name": f"{self.family}{symbol}{self.number}", "dims": dims or (self.axis,)}


def name_variables(layout: Layout) -> tuple[list[BlockNames], dict[str, Array]]:
    """Return the names of the variables of every block, and the labels of all axes."""
    blocks = layout.blocks
    parameters = layout.name([belief.estimate("mean").parts() for belief in layout.beliefs])
    taken = set()  # by columns
    for names in parameters:
        taken |= {name for (_, feature), (name, _) in names.items() if feature is not None}
    kinds = [type(block.family).__name__.lower() for block in blocks]
    hyperparameters = [block.family.hyperparameters for block in blocks]
    coords = {"class": coordinate(layout.classes)}
    met = Counter[str]()
    result = []
    for block, names, kind in zip(blocks, parameters, kinds, strict=True):
        met[kind] += 1
        while met[kind] > 1 and any(f"{name}_{met[kind]}" in taken for name, _ in names.values()):
            met[kind] += 1
        number = f"_{met[kind]}" if met[kind] > 1 else ""
        axis = ("feature" if len(set(kinds)) == 1 else f"{kind}_feature") + number
        if block.family.listed:
            _, axis = names["theta{}", None]
        has_twin = hyperparameters.count(block.family.hyperparameters) > kinds.count(kind)
        block_names = BlockNames(
            names,
            axis,
            f"{axis}_levels",
            number,
            f"{kind}_" if has_twin else "",
            f"x_{kind}{number}" if len(blocks) > 1 else "x",
            block.family.listed or block.family.combined,
        )
        coords[axis] = coordinate(block.words)
        levels = []
        for (_, feature), (_, place) in names.items():
            if block_names.named_axes or feature is not None:
                coords[place] = layout.coords[place]
                levels.append(coords[place])
        labels = _label_levels(block, levels)
        if len(labels):
            coords[block_names.levels] = coordinate(labels)
        result.append(block_names)
    return result, coords


def _label_levels(block: Block, levels: list[Array]) -> Any:
    """Label the levels of all columns end to end, given the labels by column."""
    if block.family.combined:
        return levels[0]
    if block.levels and not block.family.listed:
        pairs = zip(block.names, levels, strict=True)
        return [f"{name}={level}" for name, of_column in pairs for level in of_column]
    if not block.family.counts_levels:
        return []
    sides = ("=0", "=1") if block.family.outcomes else ("",)
    return [f"{name}{side}" for side in sides for name in block.words]


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """Student's t about `mean`, with the squared scale `variance`. All `(c, f)`."""

    sufficient: ClassVar[bool] = False
    mean: Array
    variance: Array
    freedom: Array

    def parts(self) -> Parts:
        """The parts of a Gaussian; the degrees of freedom are the same for all classes."""
        return {("mu", None): self.mean, ("sigma2", None): self.variance}

    def log_density(self, x: Array) -> Array:
        scale = self.freedom * self.variance
        height = log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(scale)) / 2
        fall = (self.freedom + 1) / 2 * log1p_square((x - self.mean) / np.sqrt(scale))
        return silent(np.isnan(x), height - fall)

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        nu = self.freedom * pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": nu, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        noise = np.random.default_rng(rng).standard_t(self.freedom)
        return self.mean + np.sqrt(self.variance) * noise

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance) & (self.freedom > 0)


# Likelihoods

STATISTICS = "Use likelihood='statistics'."


def tensors() -> SimpleNamespace:
    """Functions of PyMC variables, with the names of NumPy and `special`."""
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
    """Rows for PyMC: class codes, as an array or a variable, and weights."""

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
        """Add observed cells `x` and return them; with weights add a potential and return None.

        `at` are their rows, and perhaps features. Parameters of the distribution are `(c, ...)`.
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
    """Add every cell that is not missing, given the class of its row."""
    name = names.observed
    family = block.family
    if family.fractional and not block.is_whole(cells):
        raise ValueError(
            f"likelihood='rows' needs counts, but the block of column {block.names[0]!r} holds "
            f"fractions, which have no distribution. {STATISTICS}"
        )
    if family.combined:
        codes = np.asarray(cells[:])
        complete = (codes >= 0).all(axis=1)  # incomplete rows were not counted
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
    """Log likelihood of every row under every class, `(r, c)`."""
    rows = cells.shape[0]
    xp = tensors()
    if not density.sufficient:
        x = dense(cells)
        kind, params = density.cell(pm)
        logs = pm.logp(kind.dist(**params), np.nan_to_num(x)[:, None])
        return xp.where(np.isnan(x)[:, None], 0.0, logs).sum(axis=-1)
    width = sum(block.sizes) or cells.shape[1]
    refuse_large(
        f"{rows} rows with uncertain classes, by {width} numbers",
        8.0 * rows * width,
        "Give fewer rows.",
    )
    stats = block.observe(cells, one_hot(np.arange(rows), rows), 1)
    return density.log_likelihood(stats[:, None], xp).sum(axis=-1)


def dense(cells: Cells) -> Array:
    """All cells as numbers; raise if they would take too much memory."""
    rows, columns = cells.shape
    refuse_large(f"{rows} rows of {columns} columns", 8.0 * rows * columns, STATISTICS)
    x = cells[:]
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)
