"""Names of the variables of a PyMC model: as in `to_datatree`, and numbered where a family has two blocks."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bayesnb.families.base import Array, Belief
from bayesnb.model.schema import Block
from bayesnb.results.parameter_names import Layout, Names, combinations, coordinate


@dataclass(frozen=True, eq=False)
class BlockNames:
    """Names and axes of the variables of one block, by symbol, as PyMC's arguments `name` and `dims`."""

    parameters: Names
    axis: str
    levels: str  # the axis of all levels of all columns
    number: str  # "", or of a family's later blocks "_2", "_3"
    family: str  # "", or what comes before the name of a hyperparameter
    observed: str  # the name of the cells
    named_axes: bool = False  # whether `parameters` has axes of this block alone

    def __call__(self, symbol: str, feature: int | None = None) -> dict[str, Any]:
        name, dims = self.parameters[symbol, feature]
        if feature is not None or self.named_axes:
            return {"name": name, "dims": dims}
        return {"name": f"{name}{self.number}", "dims": ("class", self.axis)}

    def hyper(self, symbol: str, *dims: str) -> dict[str, Any]:
        """Name a hyperparameter, one for each feature by default."""
        return {"name": f"{self.family}{symbol}{self.number}", "dims": dims or (self.axis,)}

    def block_hyper(self, symbol: str) -> dict[str, Any]:
        """Name a hyperparameter of the block as one."""
        return {"name": f"{self.family}{symbol}{self.number}"}


def names_of(classes: Array, blocks: list[Block], beliefs: list[Belief]) -> tuple[list[BlockNames], dict[str, Array]]:
    """Names of the variables of every block, and the labels on all axes."""
    parameters = Layout(classes, blocks).named([belief.estimate("mean").parts() for belief in beliefs])
    kinds = [type(block.family).__name__.lower() for block in blocks]
    hyperparameters = [block.family.hyperparameters for block in blocks]
    coords, met, result = {"class": coordinate(classes)}, Counter[str](), []
    taken = {name for names in parameters for (_, feature), (name, _) in names.items() if feature is not None}
    for block, names, kind, belief in zip(blocks, parameters, kinds, beliefs, strict=True):
        met[kind] += 1
        while met[kind] > 1 and any(f"{name}_{met[kind]}" in taken for name, _ in names.values()):
            met[kind] += 1  # a column has this name
        number = f"_{met[kind]}" if met[kind] > 1 else ""
        axis = ("feature" if len(set(kinds)) == 1 else f"{kind}_feature") + number
        axis = names["theta{}", None][1][1] if block.family.listed else axis
        family = f"{kind}_" if hyperparameters.count(block.family.hyperparameters) > kinds.count(kind) else ""
        observed = f"x_{kind}{number}" if len(blocks) > 1 else "x"
        named_axes = block.family.listed or block.family.combined
        block_names = BlockNames(names, axis, f"{axis}_levels", number, family, observed, named_axes)
        coords[axis] = coordinate(block.words)
        coords |= _combinations(block, belief, block_names) if block.family.combined else _levels(block, block_names)
        result.append(block_names)
    return result, coords


def _combinations(block: Block, belief: Any, names: BlockNames) -> dict[str, Array]:
    """Label the axis of a table's entries."""
    entries = coordinate(combinations(block, belief.combinations))
    return {dims[1]: entries for _, dims in names.parameters.values()} | {names.levels: entries}


def _levels(block: Block, names: BlockNames) -> dict[str, Array]:
    """Label the axes of columns of levels, one by one and end to end."""
    coords, labels = {}, []
    for j, name in enumerate(block.names if block.levels and not block.family.listed else ()):
        levels = [*block.levels[j], *["(unseen)"] * (block.sizes[j] - len(block.levels[j]))] or ["(none)"]
        coords[names("theta{}", j)["dims"][1]] = coordinate(levels)
        labels += [f"{name}={level}" for level in levels]
    if block.family.counts_levels and (block.family.listed or not block.levels):
        sides = ("=0", "=1") if block.family.outcomes else ("",)
        labels = [f"{name}{side}" for side in sides for name in block.words]
    return coords | ({names.levels: coordinate(labels)} if labels else {})
