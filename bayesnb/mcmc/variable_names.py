"""What the variables of a PyMC model are called: as in `to_datatree`, and numbered where a family has two blocks."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bayesnb.families.base import Array, Belief
from bayesnb.model.schema import Block
from bayesnb.results.parameter_names import Layout, Names, combinations, coordinate


@dataclass(frozen=True, eq=False)
class Say:
    """The variables of one block, by symbol, and their axes."""

    names: Names
    axis: str
    levels: str  # the axis of all levels of all its columns
    number: str  # "", or of a family's later blocks "_2", "_3"
    family: str  # "", or what comes before the name of a hyperparameter
    observed: str  # what its cells are called
    apart: bool = False  # whether its variables have axes of their own, and so names

    def __call__(self, symbol: str, feature: int | None = None) -> dict[str, Any]:
        name, dims = self.names[symbol, feature]
        if feature is not None or self.apart:
            return {"name": name, "dims": dims}
        return {"name": f"{name}{self.number}", "dims": ("class", self.axis)}

    def hyper(self, symbol: str, *dims: str) -> dict[str, Any]:
        """A hyperparameter, of every feature if nothing else is said."""
        return {"name": f"{self.family}{symbol}{self.number}", "dims": dims or (self.axis,)}

    def one(self, symbol: str) -> dict[str, Any]:
        """A hyperparameter of the whole block."""
        return {"name": f"{self.family}{symbol}{self.number}"}


def names_of(classes: Array, blocks: list[Block], beliefs: list[Belief]) -> tuple[list[Say], dict[str, Array]]:
    """What the variables of every block are called, and the labels on all axes."""
    every = Layout(classes, blocks).named([belief.estimate("mean").parts() for belief in beliefs])
    kinds, dials = [_kind(block) for block in blocks], [block.family.hyperparameters for block in blocks]
    coords, met, said = {"class": coordinate(classes)}, Counter[str](), []
    taken = {name for names in every for (_, feature), (name, _) in names.items() if feature is not None}
    for block, names, kind, belief in zip(blocks, every, kinds, beliefs, strict=True):
        met[kind] += 1
        while met[kind] > 1 and any(f"{name}_{met[kind]}" in taken for name, _ in names.values()):
            met[kind] += 1  # the number is what a column is called
        number = f"_{met[kind]}" if met[kind] > 1 else ""
        axis = ("feature" if len(set(kinds)) == 1 else f"{kind}_feature") + number
        axis = names["theta{}", None][1][1] if block.family.listed else axis
        family = f"{kind}_" if dials.count(block.family.hyperparameters) > kinds.count(kind) else ""
        apart = block.family.listed or block.family.combined
        own = Say(names, axis, f"{axis}_levels", number, family, _observed(blocks, kind + number), apart)
        coords[axis] = coordinate(block.words)
        coords |= _combinations(block, belief, own) if block.family.combined else _levels(block, own)
        said.append(own)
    return said, coords


def _combinations(block: Block, belief: Any, say: Say) -> dict[str, Array]:
    """The axis of a table's entries."""
    every = coordinate(combinations(block, belief.combinations))
    return {dims[1]: every for _, dims in say.names.values()} | {say.levels: every}


def _levels(block: Block, say: Say) -> dict[str, Array]:
    """The axes of columns of levels, one by one and end to end."""
    found, every = {}, []
    for j, name in enumerate(block.names if block.levels and not block.family.listed else ()):
        levels = [*block.levels[j], *["(unseen)"] * (block.sizes[j] - len(block.levels[j]))] or ["(none)"]
        found[say("theta{}", j)["dims"][1]] = coordinate(levels)
        every += [f"{name}={level}" for level in levels]
    if block.family.counts_levels and (block.family.listed or not block.levels):
        sides = ("=0", "=1") if block.family.outcomes else ("",)
        every = [f"{name}{side}" for side in sides for name in block.words]
    return found | ({say.levels: coordinate(every)} if every else {})


def _observed(blocks: list[Block], kind: str) -> str:
    return f"x_{kind}" if len(blocks) > 1 else "x"


def _kind(block: Block) -> str:
    return type(block.family).__name__.lower()
