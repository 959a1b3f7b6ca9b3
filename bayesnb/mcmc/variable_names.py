"""Names of the variables of a PyMC model.

They are those of `to_datatree`, numbered where a family has two blocks.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bayesnb.families.base import Array
from bayesnb.model.schema import Block
from bayesnb.results.drawn_trees import Layout, Names
from bayesnb.results.tables import coordinate


@dataclass(frozen=True, eq=False)
class BlockNames:
    """PyMC's arguments `name` and `dims` of the variables of one block, by symbol."""

    parameters: Names
    axis: str
    levels: str  # the axis of all levels of all columns
    number: str  # "", or of a family's later blocks "_2", "_3"
    family: str  # "", or what comes before the name of a hyperparameter
    observed: str  # the name of the cells
    named_axes: bool  # whether `parameters` has axes of this block alone

    def __call__(self, symbol: str, feature: int | None = None) -> dict[str, Any]:
        name, axis = self.parameters[symbol, feature]
        if feature is not None or self.named_axes:
            return {"name": name, "dims": ("class", axis)}
        return {"name": f"{name}{self.number}", "dims": ("class", self.axis)}

    def hyper(self, symbol: str, *dims: str) -> dict[str, Any]:
        """Name a hyperparameter, one for each feature by default."""
        return {"name": f"{self.family}{symbol}{self.number}", "dims": dims or (self.axis,)}


def name_variables(layout: Layout) -> tuple[list[BlockNames], dict[str, Array]]:
    """Return names of the variables of every block, and the labels on all axes."""
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
    """Label the levels of all columns end to end, given those of axes of their own."""
    if block.family.combined:
        return levels[0]
    if block.levels and not block.family.listed:
        pairs = zip(block.names, levels, strict=True)
        return [f"{name}={level}" for name, of_column in pairs for level in of_column]
    if not block.family.counts_levels:
        return []
    sides = ("=0", "=1") if block.family.outcomes else ("",)
    return [f"{name}{side}" for side in sides for name in block.words]
