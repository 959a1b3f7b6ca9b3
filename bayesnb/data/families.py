"""The family of each column: declared by the user, or inferred from its values."""

import difflib
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data import SparseTable, Table
from bayesnb.data.cells import compact
from bayesnb.data.tables import Places
from bayesnb.families import (
    FAMILIES,
    Bernoulli,
    BestOf,
    Categorical,
    Dirichlet,
    Gaussian,
    Histogram,
    Multinomial,
    Poisson,
)
from bayesnb.families.family import Family
from bayesnb.formatting import no_column
from bayesnb.numerics.views import column

Array = np.ndarray
Names = Sequence[Hashable]
AUTO = "auto"  # families are inferred
Declared = Family | BestOf  # what users declare
FamilyColumns = list[tuple[Family, Places]]  # families, and the places of their columns
DeclaredColumns = list[tuple[Any, Places]]  # the same, with some families not chosen yet
FEW = 20  # distinct numbers that may be levels
ROWS_OF_LEVEL = 5  # rows per level; with fewer, too many new rows have new numbers
ROWS_FIRST = 1000
NUMBERS = Histogram(), Gaussian()
COUNTS = Poisson(fractional=True)  # new rows may have other numbers
FAMILY_OF_KIND = {
    "flag": Bernoulli(),
    "zero or one": Bernoulli(threshold=0.5),  # new rows may have other numbers
    "level": BestOf(Categorical(), Categorical(Dirichlet("evidence", base="pooled"))),
    "numbers": BestOf(*NUMBERS),
    "counts": BestOf(*NUMBERS, COUNTS),
    "few numbers": BestOf(*NUMBERS, Categorical()),
    "few counts": BestOf(*NUMBERS, Categorical(), COUNTS),
    "words": Multinomial(),
}
SYNONYMS = {
    "normal": "gaussian",
    "binary": "bernoulli",
    "boolean": "bernoulli",
    "count": "poisson",
    "words": "multinomial",
    "category": "categorical",
    "levels": "categorical",
    "ignore": "drop",
    "polyatree": "histogram",  # its name before version 1.0
    "dirichlet": "categorical",  # the prior of a family
    "beta": "bernoulli",
    "gamma": "poisson",
    "normalinversegamma": "gaussian",
    "normalinversewishart": "multivariate",
}


def family_named(name: str) -> Family | None:
    """Return the family with a name in lower case, with optional ":shared"; None for "drop".

    >>> family_named("gaussian:shared")
    Gaussian(shared=True)
    """
    word, colon, shared = name.partition(":")
    if name == "drop":
        return None
    family: Any = FAMILIES.get(word)
    if family is None or (colon and not (shared == "shared" and family.shareable())):
        raise ValueError(f"families: {no_family(name)}")
    return family(shared=True) if colon else family()


def no_family(name: str) -> str:
    """Return the message about an unknown family: the closest name, or all names."""
    shared = [f"{each}:shared" for each, family in FAMILIES.items() if family.shareable()]
    words = {each: each for each in (*FAMILIES, *shared, "drop")}
    meant = words | SYNONYMS
    near = difflib.get_close_matches(name.lower(), meant, 1, cutoff=0.65)
    if near and ":" not in name:
        return f"there is no family {name!r}; did you mean {meant[near[0]]!r}?"
    return f"there is no family {name!r}; there are {', '.join(map(repr, words))}."


def resolve_names(families: Any) -> Any:
    """Replace names in a declaration by families; "auto" stays as it is."""
    if isinstance(families, str):
        return families if families == AUTO else family_named(families)
    if isinstance(families, Mapping):
        return {
            key: family_named(each) if isinstance(each, str) else each
            for key, each in families.items()
        }
    return families


def declared_families(families: Any, columns: Names) -> dict[Hashable, Any]:
    """Return the families that are declared, by column."""
    if not isinstance(families, Mapping):
        return {} if isinstance(families, str) else dict.fromkeys(columns, families)
    declared: dict[Hashable, Any] = {}
    for key, family in families.items():
        declared |= dict.fromkeys(names_of_key(key, columns), family)
    return declared


def families_of(families: Any, table: Table) -> DeclaredColumns:
    """Return the blocks of columns that `families` gives for a table."""
    if isinstance(families, Declared):
        return list(split_word_columns([(families, range(table.width))], table))
    if families is None:
        raise ValueError("families: 'drop', or None, for all columns leaves nothing to learn from.")
    if not isinstance(families, Mapping) and families != AUTO:
        raise TypeError(
            "families must be 'auto', a family such as Gaussian() or its name, or a mapping from "
            f"columns to families, got {families!r}."
        )
    blocks = [] if families == AUTO else declared_blocks(families, table.columns)
    blocks += infer_families(undeclared(families, table), table)
    return grouped(list(split_word_columns(blocks, table)))


def declared_blocks(families: Mapping[Any, Any], columns: Names) -> DeclaredColumns:
    """Return the declared families and the places of their columns; None drops columns."""
    at = {name: place for place, name in enumerate(columns)}
    blocks: DeclaredColumns = []
    taken: set[Hashable] = set()
    for key, family in families.items():
        names = names_of_key(key, at)
        for name in names:
            if name not in at:
                raise ValueError(f"families: {no_column(name, columns)}")
            if name in taken:
                raise ValueError(
                    f"columns {[name]} are listed more than once in families; each column has one "
                    "family."
                )
            taken.add(name)
        if not isinstance(family, Declared | None):
            raise TypeError(
                f"the family of {names} must be an instance such as Gaussian(), its name, or None "
                f"to drop it, got {family!r}."
            )
        if family is not None:
            blocks.append((family, [at[name] for name in names]))
    return blocks


def names_of_key(key: Hashable, columns: Collection[Hashable]) -> list[Hashable]:
    """Return the columns of a key of `families`: one, or those of a tuple."""
    return list(key) if isinstance(key, tuple) and key not in columns else [key]


def undeclared(families: Any, table: Table) -> list[int]:
    """Return the places of the columns whose families are inferred."""
    if not isinstance(families, str | Mapping):  # one family for all columns
        return []
    declared = declared_families(families, table.columns)
    return [place for place, name in enumerate(table.columns) if name not in declared]


def split_word_columns(blocks: DeclaredColumns, table: Table) -> Iterator[tuple[Any, Places]]:
    """Make each column of lists of words a separate block with its own vocabulary.

    Columns of counts stay one block.
    """
    for family, places in blocks:
        lists: list[int] = []
        # a sparse table has many columns, all of numbers
        if isinstance(family, Multinomial) and not isinstance(table, SparseTable):
            lists = [place for place in places if table.has_lists(place)]
        rest = [place for place in places if place not in lists] if lists else places
        if rest and getattr(family, "listed", False):
            raise ValueError(
                f"column {table.columns[rest[0]]!r} does not hold lists of words, so it cannot "
                "have declared `levels`. For columns of counts leave `levels` out; split a text "
                "first: text.split()."
            )
        if rest:
            yield family, rest
        for place in lists:
            yield family.of_lists, [place]


def infer_families(places: list[int], table: Table) -> DeclaredColumns:
    """Infer families from the values of columns."""
    if isinstance(table, SparseTable):
        return [(_sparse_family(places, table), places)] if places else []
    of_kind: dict[str, list[int]] = {"flag": [], "zero or one": [], "level": []}
    for place in places:
        kind = table.kind(place)
        if kind == "number":
            kind = kind_of_numbers(column(table.numbers([place]), 0))
        of_kind.setdefault(kind, []).append(place)
    return [(FAMILY_OF_KIND[kind], part) for kind, part in of_kind.items() if part]


def kind_of_numbers(cells: Array) -> str:
    """Return the kind of numbers in a column.

    Few distinct numbers may be levels; whole numbers of at least 0 may be counts.
    """
    cells = cells[~np.isnan(cells)]
    if not (len(cells) and np.isfinite(cells).all()):
        return "numbers"
    if ((cells == 0) | (cells == 1)).all() and cells.min() < cells.max():
        return "zero or one"
    kind = "counts" if cells.min() >= 0 and (np.floor(cells) == cells).all() else "numbers"
    return f"few {kind}" if has_few_values(cells) else kind


def has_few_values(cells: Array) -> bool:
    """Whether numbers may be levels: few are distinct, each in ROWS_OF_LEVEL rows on average."""
    most = min(FEW, len(cells) // ROWS_OF_LEVEL)
    # the first rows usually show that there are more
    return all(len(pd.unique(part)) <= most for part in (cells[:ROWS_FIRST], cells))


def _sparse_family(places: list[int], table: SparseTable) -> Family:
    counts = table.numbers(compact(places)).data
    if (counts >= 0).all() and (counts == np.floor(counts)).all():
        return Multinomial()
    raise ValueError(
        "The sparse input does not hold counts, so no family can be inferred. Declare one for all "
        "columns: Multinomial(fractional=True) for weights such as tf-idf, Bernoulli(threshold=0) "
        "for presence, Gaussian() for numbers whose zeros are values."
    )


def grouped(blocks: DeclaredColumns) -> DeclaredColumns:
    """Join columns with equal families into one block, as time depends on blocks, not columns."""
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for position, (family, places) in enumerate(blocks):
        key: Any = repr(family)
        # joint families and priors with arrays belong to certain columns in their order
        if "[" in key or getattr(family, "multivariate", False):
            key = position
        groups.setdefault(key, (family, []))[1].extend(places)
    return list(groups.values())
