"""Units: columns that can be joined in blocks whose evidence is known, see
`selection.joint_evidence`.
"""

from dataclasses import dataclass

from bayesnb.families.record import Array


@dataclass(frozen=True, eq=False)
class LevelUnit:
    """Columns of levels with one joint Dirichlet: places in their block, codes, numbers of levels,
    concentration.
    """

    places: tuple[int, ...]
    codes: Array  # `(r, d)`, negative where missing
    sizes: tuple[int, ...]
    concentration: Array  # the total, `(c,)`


@dataclass(frozen=True, eq=False)
class NumberUnit:
    """Columns of numbers with one joint Gaussian: places in their block, cells `(r, d)`, and its
    prior.
    """

    places: tuple[int, ...]
    x: Array
    count: Array  # `(c,)`
    shape: Array  # `(c,)`, that of each column by itself
    location: Array  # `(c, d)`
    scale: Array  # `(c, d, d)`


Unit = LevelUnit | NumberUnit
