"""Which columns have which family: what the user declares, and what their values suggest for the rest."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayesnb.data import SparseTable, Table
from bayesnb.families import Bernoulli, Categorical, Gaussian, Multinomial
from bayesnb.families.family import Family

FamilyColumns = list[tuple[Family, Sequence[int]]]  # families, and the places of their columns


def families_of(families: Any, table: Table) -> FamilyColumns:
    """Return the blocks of columns that `families` means for this table."""
    if isinstance(families, Family):
        return list(of_lists([(families, range(table.width))], table))
    if not isinstance(families, Mapping) and families != "auto":
        raise TypeError(
            "families must be 'auto', a family such as Gaussian(), or a mapping from columns to families, "
            f"got {families!r}."
        )
    mapping = {} if families == "auto" else families
    declared = [(family, _places(key, table)) for key, family in mapping.items()]
    _check(declared, table)
    taken = {place for _, places in declared for place in places}
    rest = [place for place in range(len(table.columns)) if place not in taken]
    blocks = [(family, places) for family, places in declared if family is not None] + inferred(rest, table)
    return grouped(list(of_lists(blocks, table)))


def of_lists(blocks: Iterable[tuple[Family, Sequence[int]]], table: Table) -> Iterator[tuple[Family, Sequence[int]]]:
    """Yield every column of lists of words as a block with its own vocabulary; columns of counts stay one block."""
    for family, places in blocks:
        lists = [place for place in places if table.has_lists(place)] if isinstance(family, Multinomial) else []
        rest = [place for place in places if place not in lists] if lists else places
        if family.listed and rest:
            raise ValueError(
                f"column {table.columns[rest[0]]!r} holds no lists of words, whose `levels` are declared. Of columns "
                "of counts, the columns are the levels: leave `levels` out. A text is split first: text.split()."
            )
        if len(rest):
            yield family, rest
        yield from ((family.of_lists, [place]) for place in lists)


def _places(key: Hashable, table: Table) -> list[int]:
    """Return the places of the columns of one key of a mapping."""
    at = {name: place for place, name in enumerate(table.columns)}
    names = list(key) if isinstance(key, tuple) and key not in at else [key]
    missing = [name for name in names if name not in at]
    if missing:
        shown = ", ".join(map(repr, table.columns[:20])) + (", ..." if len(table.columns) > 20 else "")
        raise ValueError(f"families names columns {missing} that the table does not have; it has {shown}.")
    return [at[name] for name in names]


def _check(declared: list[tuple[Any, list[int]]], table: Table) -> None:
    for family, places in declared:
        if family is not None and not isinstance(family, Family):
            names = [table.columns[place] for place in places]
            raise TypeError(
                f"the family of {names} must be an instance such as Gaussian(), or None to drop it, got {family!r}."
            )
    taken = Counter(place for _, places in declared for place in places)
    twice = [table.columns[place] for place, times in taken.items() if times > 1]
    if twice:
        raise ValueError(f"columns {twice} are listed twice in families; each column has one family.")


def inferred(places: list[int], table: Table) -> FamilyColumns:
    """Infer families: Bernoulli of booleans, Categorical of levels, Gaussian of numbers, Multinomial of words."""
    if isinstance(table, SparseTable):
        return [(_sparse_family(places, table), places)] if places else []
    kinds = {place: table.kind(place) for place in places}
    choice: dict[str, Family] = {
        "flag": Bernoulli(),
        "level": Categorical(),
        "number": Gaussian(),
        "words": Multinomial(),
    }
    return [(family, chosen) for kind, family in choice.items() if (chosen := [p for p in places if kinds[p] == kind])]


def _sparse_family(places: list[int], table: SparseTable) -> Family:
    counts = table.numbers(places).data
    if (counts >= 0).all() and (counts == np.floor(counts)).all():
        return Multinomial()
    raise ValueError(
        "Sparse input that holds no counts has no obvious family. Declare one for all columns: "
        "Multinomial(fractional=True) for weights such as tf-idf, Bernoulli(threshold=0) for presence, "
        "Gaussian() for numbers whose zeros are values."
    )


def grouped(blocks: FamilyColumns) -> FamilyColumns:
    """Join columns whose families are equal into one block: blocks, not columns, cost time."""
    groups: dict[Any, tuple[Family, list[int]]] = {}
    for position, (family, places) in enumerate(blocks):
        key = (type(family), *(_plain(getattr(family, f.name)) for f in fields(family)))  # type: ignore[arg-type]
        is_separate = family.multivariate or None in key  # an array in a prior is in the order of its own columns
        groups.setdefault(position if is_separate else key, (family, []))[1].extend(places)
    return list(groups.values())


def _plain(value: Any) -> Any:
    """Return a value by which two families compare, or None if one has arrays, which belong to its own columns."""
    if hasattr(value, "__dataclass_fields__"):
        parts = [np.asarray(getattr(value, f.name)) for f in fields(value)]
        return None if any(part.ndim for part in parts) else (type(value), *(part.item() for part in parts))
    return repr(value)
