"""Which columns have which family: as the user declares, or as their values suggest."""

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayesnb.data import SparseTable, Table
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
from bayesnb.families.family import Family, conjugate_priors
from bayesnb.numerics.views import numbers, pieces_of

AUTO = "auto"  # families are inferred
Declared = Family | BestOf  # what a user says that columns are
FamilyColumns = list[tuple[Family, Sequence[int]]]  # families, and the places of their columns
DeclaredColumns = list[tuple[Any, Sequence[int]]]  # the same; some families are yet to be chosen
FEW = 20  # distinct whole numbers that may be levels
NUMBERS = Histogram(), Gaussian()
FLAGS, COUNTS = Bernoulli(threshold=0.5), Poisson(fractional=True)  # other numbers may come too
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
}
LEVELS = BestOf(Categorical(), Categorical(Dirichlet("evidence", base="pooled")))


def family_named(name: str) -> Family | None:
    """Return the family of a name in lower case, maybe with ":shared" behind it; None for "drop".

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
    """Return the message about a name that no family has: which is meant, or which there are."""
    word, colon, _ = name.partition(":")
    if colon and word in FAMILIES:
        known = " and ".join(
            f"{each}:shared" for each, family in FAMILIES.items() if family.shareable()
        )
        return (
            f"there is no family {name!r}; there are {known}, which have one variance for all "
            "classes."
        )
    priors = {kind.__name__.lower(): kind.__name__ for kind in conjugate_priors().values()}
    if word.lower() in priors:
        prior = priors[word.lower()]
        users = [
            each
            for each, family in FAMILIES.items()
            if getattr(family.conjugate, "__name__", "") == prior
        ]
        return (
            f"there is no family {name!r}: {prior} is a prior, of the family {' or '.join(users)}."
        )
    words = {**{each: each for each in (*FAMILIES, "drop")}, **SYNONYMS}
    near = difflib.get_close_matches(word.lower(), words, 1, cutoff=0.65)
    if near:
        return f"there is no family {name!r}; did you mean {words[near[0]]!r}?"
    return f"there is no family {name!r}; there are {', '.join(map(repr, FAMILIES))}, and 'drop'."


def no_column(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return the message about a name that no column has: which is meant, or which there are."""
    near = near_columns(name, columns)
    shown = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
    return f"the table has no column {name!r}; " + (
        f"did you mean {near[0]!r}?" if near else f"it has {shown}."
    )


def near_columns(name: Hashable, columns: Sequence[Hashable]) -> list[Any]:
    """Return the column whose name is nearest to a name, in a list; none where no name is near."""
    if not isinstance(name, str):
        return []
    texts = [column for column in columns if isinstance(column, str)]
    near = [column for column in texts if column.casefold() == name.casefold()]
    return near[:1] or difflib.get_close_matches(name, texts, 1)


def resolve_names(families: Any) -> Any:
    """Return what a user declares with families in place of their names; "auto" stays as it is."""
    if isinstance(families, str):
        return families if families == AUTO else family_named(families)
    if isinstance(families, Mapping):
        return {
            key: family_named(each) if isinstance(each, str) else each
            for key, each in families.items()
        }
    return families


def declared_families(families: Any, columns: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Return the family of each column for which `families` declares one."""
    if not isinstance(families, Mapping):
        return {} if isinstance(families, str) else dict.fromkeys(columns, families)
    declared: dict[Hashable, Any] = {}
    for key, family in families.items():
        names = key if isinstance(key, tuple) and key not in columns else (key,)
        declared |= {name: family for name in names if name in columns}
    return declared


def families_of(families: Any, table: Table) -> DeclaredColumns:
    """Return the blocks of columns that `families` means for a table."""
    if isinstance(families, Family):
        return list(split_word_columns([(families, range(table.width))], table))
    if isinstance(families, BestOf):
        return [(families, range(table.width))]
    if families is None:
        raise ValueError("families: 'drop', or None, for all columns leaves nothing to learn from.")
    if not isinstance(families, Mapping) and families != AUTO:
        raise TypeError(
            "families must be 'auto', a family such as Gaussian() or its name, or a mapping from "
            f"columns to families, got {families!r}."
        )
    mapping = {} if families == AUTO else families
    declared = [(family, _places(key, table)) for key, family in mapping.items()]
    _check(declared, table)
    rest = undeclared(families, table)
    blocks: DeclaredColumns = [(family, at) for family, at in declared if family is not None]
    blocks += infer_families(rest, table)
    return grouped(list(split_word_columns(blocks, table)))


def undeclared(families: Any, table: Table) -> list[int]:
    """Return the places of the columns whose families are inferred."""
    if families != AUTO and not isinstance(families, Mapping):
        return []
    mapping = {} if isinstance(families, str) else families
    taken = {place for key in mapping for place in _places(key, table)}
    return [place for place in range(len(table.columns)) if place not in taken]


def split_word_columns(
    blocks: Iterable[tuple[Any, Sequence[int]]], table: Table
) -> Iterator[tuple[Any, Sequence[int]]]:
    """Yield every column of lists of words as a block with its own vocabulary.

    Columns of counts stay one block.
    """
    for family, places in blocks:
        if isinstance(family, BestOf):
            yield family, places
            continue
        may_have = isinstance(family, Multinomial) and not isinstance(
            table, SparseTable
        )  # columns of which are many
        lists = [place for place in places if table.has_lists(place)] if may_have else []
        rest = [place for place in places if place not in lists] if lists else places
        if family.listed and rest:
            raise ValueError(
                f"column {table.columns[rest[0]]!r} does not hold lists of words, so it cannot "
                "have declared `levels`. For columns of counts leave `levels` out; split a text "
                "first: text.split()."
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
        raise ValueError(f"families: {no_column(missing[0], table.columns)}")
    return [at[name] for name in names]


def _check(declared: list[tuple[Any, list[int]]], table: Table) -> None:
    for family, places in declared:
        if family is not None and not isinstance(family, Declared):
            names = [table.columns[place] for place in places]
            raise TypeError(
                f"the family of {names} must be an instance such as Gaussian(), its name, or None "
                f"to drop it, got {family!r}."
            )
    taken = Counter(place for _, places in declared for place in places)
    twice = [table.columns[place] for place, times in taken.items() if times > 1]
    if twice:
        raise ValueError(
            f"columns {twice} are listed more than once in families; each column has one family."
        )


def infer_families(places: list[int], table: Table) -> DeclaredColumns:
    """Infer families from the values of columns, those of numbers as `families_of_numbers` does."""
    if isinstance(table, SparseTable):
        return [(_sparse_family(places, table), places)] if places else []
    kinds = {place: table.kind(place) for place in places}
    of_kind = {
        kind: [p for p in places if kinds[p] == kind]
        for kind in ("flag", "level", "number", "words")
    }
    flags, others = families_of_numbers(of_kind["number"], table)
    blocks: DeclaredColumns = [
        (Bernoulli(), of_kind["flag"]),
        (FLAGS, flags),
        (LEVELS, of_kind["level"]),
    ]
    blocks += [*others, (Multinomial(), of_kind["words"])]
    return [block for block in blocks if block[1]]


def families_of_numbers(places: list[int], table: Table) -> tuple[list[int], DeclaredColumns]:
    """Return the columns of zeros and ones, and for other numbers candidates for their families.

    Few distinct whole numbers may be levels, and whole numbers of at least 0 may be counts of
    events.
    """
    if not places:
        return [], []
    distinct, count, least = _whole_numbers(table.numbers(places))
    blocks: dict[tuple[bool, bool], list[int]] = {}
    flags = []
    for place, values, times, smallest in zip(
        places, distinct, count.tolist(), least.tolist(), strict=True
    ):
        if 0 < times <= 2 and set(values[:times]) == {0.0, 1.0}:
            flags.append(place)
        else:
            blocks.setdefault((0 < times <= FEW, times > 0 and smallest >= 0), []).append(place)
    chosen: DeclaredColumns = [
        (BestOf(*NUMBERS, *[Categorical()] * few, *[COUNTS] * counts), part)
        for (few, counts), part in blocks.items()
    ]
    return flags, chosen


def _whole_numbers(x: Any) -> tuple[Any, Any, Any]:
    """Return each column's distinct whole numbers, `(f, FEW)`, their number, and the least, `(f,)`.

    There are FEW + 1 where there are more, and -1 where a number is not whole.
    """
    features = x.shape[1]
    distinct, least = np.zeros((features, FEW)), np.full(features, np.inf)
    count = np.zeros(features, np.int64)
    for rows in pieces_of(x):
        part = numbers(x, rows)
        for j in np.flatnonzero(count >= 0):
            column = part[~np.isnan(part[:, j]), j]
            if (np.floor(column) != column).any() or np.isinf(column).any():
                count[j] = -1
                continue
            least[j] = min(least[j], column.min(initial=np.inf))
            for known in distinct[j, : count[j]]:
                column = column[column != known]
            while len(column) and count[j] <= FEW:
                distinct[j, count[j] : count[j] + 1] = column[0]  # that beyond FEW is only counted
                count[j] += 1
                column = column[column != column[0]]
    return distinct, count, least


def _sparse_family(places: list[int], table: SparseTable) -> Family:
    counts = table.numbers(places).data
    if (counts >= 0).all() and (counts == np.floor(counts)).all():
        return Multinomial()
    raise ValueError(
        "The sparse input does not hold counts, so no family can be inferred. Declare one for all "
        "columns: Multinomial(fractional=True) for weights such as tf-idf, Bernoulli(threshold=0) "
        "for presence, Gaussian() for numbers whose zeros are values."
    )


def grouped(blocks: DeclaredColumns) -> DeclaredColumns:
    """Join columns whose families are equal into one block: blocks, not columns, cost time."""
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for position, (family, places) in enumerate(blocks):
        key = _key(family)
        groups.setdefault(position if key is None else key, (family, []))[1].extend(places)
    return list(groups.values())


def _key(family: Declared) -> Any:
    """Return a value by which two declarations compare; None for one of certain columns only."""
    if isinstance(family, BestOf):
        keys = [_key(candidate) for candidate in family.candidates]
        return None if None in keys else (BestOf, family.margin, *keys)
    names = [field.name for field in fields(family)]  # type: ignore[arg-type]
    parts = [_plain(getattr(family, name)) for name in names]
    key = (type(family), *parts)
    return (
        None if family.multivariate or None in key else key
    )  # an array in a prior is in the order of its columns


def _plain(value: Any) -> Any:
    """Return a value by which two families compare; None if it has arrays, which are of columns."""
    if hasattr(value, "__dataclass_fields__"):
        parts = [np.asarray(getattr(value, f.name)) for f in fields(value)]
        return (
            None
            if any(part.ndim for part in parts)
            else (type(value), *(part.item() for part in parts))
        )
    return repr(value)
