"""Names of the variables of a PyMC model: as in `to_datatree`, and numbered where a family has two blocks."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bayesnb.families.base import Array, Belief
from bayesnb.model.schema import Block
from bayesnb.results.parameter_names import Layout, Names, coordinate


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
        name, axis = self.parameters[symbol, feature]
        if feature is not None or self.named_axes:
            return {"name": name, "dims": ("class", axis)}
        return {"name": f"{name}{self.number}", "dims": ("class", self.axis)}

    def hyper(self, symbol: str, *dims: str) -> dict[str, Any]:
        """Name a hyperparameter, one for each feature by default."""
        return {"name": f"{self.family}{symbol}{self.number}", "dims": dims or (self.axis,)}

    def block_hyper(self, symbol: str) -> dict[str, Any]:
        """Name a hyperparameter of the block as one."""
        return {"name": f"{self.family}{symbol}{self.number}"}


def names_of(classes: Array, blocks: list[Block], beliefs: list[Belief]) -> tuple[list[BlockNames], dict[str, Array]]:
    """Names of the variables of every block, and the labels on all axes."""
    layout = Layout(classes, blocks, beliefs)
    parameters = layout.name([belief.estimate("mean").parts() for belief in beliefs])
    kinds = [type(block.family).__name__.lower() for block in blocks]
    hyperparameters = [block.family.hyperparameters for block in blocks]
    coords, met, result = {"class": coordinate(classes)}, Counter[str](), []
    taken = {name for names in parameters for (_, feature), (name, _) in names.items() if feature is not None}
    for block, names, kind in zip(blocks, parameters, kinds, strict=True):
        met[kind] += 1
        while met[kind] > 1 and any(f"{name}_{met[kind]}" in taken for name, _ in names.values()):
            met[kind] += 1  # a column has this name
        number = f"_{met[kind]}" if met[kind] > 1 else ""
        axis = ("feature" if len(set(kinds)) == 1 else f"{kind}_feature") + number
        axis = names["theta{}", None][1] if block.family.listed else axis
        family = f"{kind}_" if hyperparameters.count(block.family.hyperparameters) > kinds.count(kind) else ""
        observed = f"x_{kind}{number}" if len(blocks) > 1 else "x"
        named_axes = block.family.listed or block.family.combined
        block_names = BlockNames(names, axis, f"{axis}_levels", number, family, observed, named_axes)
        places = [place for (_, feature), (_, place) in names.items() if named_axes or feature is not None]
        own = {place: layout.coords[place] for place in places}
        coords |= {axis: coordinate(block.words), **own}
        labels = _level_labels(block, list(own.values()))
        coords |= {block_names.levels: coordinate(labels)} if len(labels) else {}
        result.append(block_names)
    return result, coords


def _level_labels(block: Block, own: list[Array]) -> Any:
    """Label the levels of all columns end to end, given those of axes of their own."""
    if block.family.combined:
        return own[0]
    if block.levels and not block.family.listed:
        pairs = zip(block.names, own, strict=True)
        return [f"{name}={level}" for name, levels in pairs for level in levels]
    if not block.family.counts_levels:
        return []
    sides = ("=0", "=1") if block.family.outcomes else ("",)
    return [f"{name}{side}" for side in sides for name in block.words]
