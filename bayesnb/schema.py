"""Which family each column has, learnt once from a table; then every table is read into the same blocks."""

import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families import Bernoulli, Categorical, Codes, Gaussian, Multinomial
from bayesnb.families.base import Array, Cells, Family, Stats
from bayesnb.model import Dense
from bayesnb.table import SparseTable, Table, factorize, refuse

MOST_CODES = 1 << 24
Levels = tuple[Any, ...]


class UnseenLevelWarning(UserWarning):
    """Cells hold levels that training never saw; they were left out, for all classes alike."""


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one family, read and modelled together."""

    family: Family
    names: tuple[Hashable, ...]
    places: tuple[int, ...]
    levels: tuple[Levels, ...] = ()  # of each column, for a family with levels

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The names of the block's features: its columns, or all of them at once for a family over the whole block."""
        return (self.names if len(self.names) > 1 else self.names[0],) if self.family.whole else self.names

    @property
    def sizes(self) -> tuple[int, ...]:
        spare = getattr(self.family, "unseen", None) == "reserve"
        return tuple(len(levels) + spare for levels in self.levels)

    def observe(self, x: Cells, weight: sparse.csc_array) -> Stats:
        return self.family.observe(x, weight, self.sizes)

    def learn(self, table: Table) -> Self:
        """The block with the levels of this table besides its own, at their end."""
        if self.family.cells != "level":
            return self
        old = self.levels or ((),) * len(self.names)
        return replace(self, levels=tuple(self._levels(table, j, known) for j, known in enumerate(old)))

    def _levels(self, table: Table, j: int, known: Levels) -> Levels:
        family, name = self.family, self.names[j]
        if isinstance(family.levels, Sequence) and not isinstance(family.levels, str):
            return tuple(family.levels)
        values, declared = table.values(self.places[j])
        found = factorize(name, values).distinct
        if family.positive_only and any(not isinstance(value, str) and value < 0 for value in found):
            raise ValueError(f"Negative values in data passed as codes: column {name!r} holds {min(found)}. Codes are 0, 1, 2, ...")
        if isinstance(family.levels, Codes) and declared is None and any(_is_whole(value) for value in found):
            return _codes(name, found, max(len(known), int(np.broadcast_to(family.levels.least, len(self.names))[j])))
        new = sorted(set(found) - set(known) - set(declared or ()))
        return known + tuple(level for level in declared or () if level not in set(known)) + tuple(new)

    def read(self, table: Table, unseen: dict[Hashable, Counter]) -> Cells:
        """The block's cells, checked; levels that are not known are counted in `unseen`."""
        if self.family.cells == "level":
            return np.column_stack([self._codes(table, j, unseen) for j in range(len(self.names))])
        x = table.numbers(self.places)
        if not self.family.missing:
            refuse(x, self.names, np.isnan, "a cell is missing (NaN)", "This family cannot leave a cell out; fill it or drop the row.")
        READERS[self.family.cells](self.family, self.names, x)
        if getattr(self.family, "threshold", None) is not None:
            return _above(x, self.family.threshold)
        return Dense(x) if sparse.issparse(x) and not self.family.reads_sparse else x

    def _codes(self, table: Table, j: int, unseen: dict[Hashable, Counter]) -> Array:
        values = factorize(self.names[j], table.values(self.places[j])[0])
        place = {level: code for code, level in enumerate(self.levels[j])}
        known = np.array([place.get(value, -2) for value in values.distinct] + [-1], np.intp)
        codes = known[values.codes]
        if (codes == -2).any():
            times = np.bincount(values.codes[codes == -2])
            unseen[self.names[j]] = Counter({values.distinct[at]: int(times[at]) for at in np.flatnonzero(times)})
        return np.where(codes == -2, len(self.levels[j]) if self.family.unseen == "reserve" else -1, codes)


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table and the blocks that are modelled."""

    columns: tuple[Hashable, ...]
    blocks: tuple[Block, ...]

    @classmethod
    def learn(cls, table: Table, families: Any) -> Self:
        blocks = (
            Block(family, tuple(table.columns[place] for place in places), tuple(places)).learn(table)
            for family, places in grouped(declared(families, table))
        )
        schema = cls(table.columns, tuple(blocks))
        if not schema.blocks:
            raise ValueError("every column is dropped: at least one needs a family.")
        return schema

    def grown(self, table: Table) -> Self:
        """The schema that also knows this table's levels."""
        return replace(self, blocks=tuple(block.learn(table) for block in self.blocks))

    def read(self, table: Table) -> list[Cells]:
        """The cells of every block. Unseen levels follow their family's policy; one warning names them all."""
        quiet: dict[Hashable, Counter] = {}
        cells = []
        for block in self.blocks:
            unseen: dict[Hashable, Counter] = {}
            cells.append(block.read(table, unseen))
            if unseen and block.family.unseen == "error":
                raise ValueError(f"{_told(unseen)} Fit on rows that have them, declare `levels`, or choose unseen='ignore' or 'reserve'.")
            if unseen and block.family.unseen == "ignore":
                quiet |= unseen
        if quiet:
            warnings.warn(f"{_told(quiet)} The cells are left out, for all classes alike.", UnseenLevelWarning, stacklevel=4)
        return cells

    def refuse_extremes(self, cells: list[Cells]) -> None:
        """Raise for a column of numbers whose squares leave the range of floats."""
        for block, x in zip(self.blocks, cells, strict=True):
            if block.family.cells == "real" and x.dtype.kind == "f":
                least, most = _range(x)
                with np.errstate(over="ignore", invalid="ignore"):
                    spread = np.where(most > least, most.astype(float) - least, 1.0)
                extreme = (spread > 1e150) | (spread < 1e-150)
                if extreme.any():
                    at = int(extreme.argmax())
                    raise ValueError(f"column {block.names[at]!r} runs from {least[at]:g} to {most[at]:g}: squares of such numbers are no floats. Rescale it.")

    @property
    def keys(self) -> list[tuple[Hashable, int, int]]:
        """Every feature's name, its block and its place there."""
        return [(key, b, f) for b, block in enumerate(self.blocks) for f, key in enumerate(block.keys)]

    @property
    def families(self) -> dict[Hashable, Family]:
        """Column -> family, in the table's order."""
        by_place = {p: (name, block.family) for block in self.blocks for p, name in zip(block.places, block.names, strict=True)}
        return dict(by_place[place] for place in sorted(by_place))


def declared(families: Any, table: Table) -> list[tuple[Family, list[int]]]:
    """Families and the places of their columns, inferred where the user says nothing."""
    everything = list(range(len(table.columns)))
    if isinstance(families, Family):
        return [(families, everything)]
    if isinstance(families, Mapping):
        said = [(family, _places(key, table)) for key, family in families.items()]
    elif isinstance(families, str) and families == "auto":
        said = []
    else:
        raise TypeError(f"families must be 'auto', a family such as Gaussian(), or a mapping from columns to families, got {families!r}.")
    for family, places in said:
        if family is not None and not isinstance(family, Family):
            names = [table.columns[place] for place in places]
            raise TypeError(f"the family of {names} must be an instance such as Gaussian(), or None to drop it, got {family!r}.")
    taken = Counter(place for _, places in said for place in places)
    twice = [table.columns[place] for place, times in taken.items() if times > 1]
    if twice:
        raise ValueError(f"columns {twice} are listed twice in families; each column has one family.")
    rest = [place for place in everything if place not in taken]
    return [(family, places) for family, places in said if family is not None] + inferred(rest, table)


def _places(key: Hashable, table: Table) -> list[int]:
    """Where the columns of one key of a mapping are."""
    at = {name: place for place, name in enumerate(table.columns)}
    names = [key] if key in at or not isinstance(key, tuple) else list(key)
    missing = [name for name in names if name not in at]
    if missing:
        shown = ", ".join(map(repr, table.columns[:20])) + (", ..." if len(table.columns) > 20 else "")
        raise ValueError(f"families names columns {missing} that the table does not have; it has {shown}.")
    return [at[name] for name in names]


def inferred(places: list[int], table: Table) -> list[tuple[Family, list[int]]]:
    """booleans are Bernoulli, levels Categorical, numbers Gaussian; sparse counts are one Multinomial block."""
    if isinstance(table, SparseTable):
        return [(_sparse_family(places, table), places)] if places else []
    choice = {"flag": Bernoulli(), "level": Categorical(), "number": Gaussian()}
    kinds = {place: table.kind(place) for place in places}
    return [(family, own) for kind, family in choice.items() if (own := [p for p in places if kinds[p] == kind])]


def _sparse_family(places: list[int], table: SparseTable) -> Family:
    counts = table.numbers(places).data
    if (counts >= 0).all() and (counts == np.floor(counts)).all():
        return Multinomial()
    raise ValueError(
        "Sparse input that holds no counts has no obvious family. Declare one for all columns: Multinomial(fractional=True) "
        "for weights such as tf-idf, Bernoulli(threshold=0) for presence, Gaussian() for numbers whose zeros are values."
    )


def grouped(said: list[tuple[Family, list[int]]]) -> list[tuple[Family, list[int]]]:
    """Columns whose families say the same of every column, as one block: blocks, not columns, cost time."""
    groups: dict[Any, tuple[Family, list[int]]] = {}
    for position, (family, places) in enumerate(said):
        key = (type(family), *(_plain(getattr(family, f.name)) for f in fields(family)))  # type: ignore[arg-type]
        apart = family.whole or None in key  # an array in a prior is in the order of its own columns
        groups.setdefault(position if apart else key, (family, []))[1].extend(places)
    return list(groups.values())


def _plain(value: Any) -> Any:
    """A value by which two families can be told apart, or None if it has arrays, which belong to its own columns."""
    if hasattr(value, "__dataclass_fields__"):
        parts = [np.asarray(getattr(value, f.name)) for f in fields(value)]
        return None if any(part.ndim for part in parts) else (type(value), *(part.item() for part in parts))
    return repr(value)


def _codes(name: Hashable, found: Levels, least: int) -> Levels:
    """0, 1, ... up to the largest code, as scikit-learn counts categories."""
    wrong = [value for value in found if not _is_whole(value)]
    if wrong:
        raise ValueError(f"column {name!r} holds {wrong[0]}: codes of categories are 0, 1, 2, ... For other levels: NaiveBayes(Categorical()).")
    size = max([int(value) + 1 for value in found] + [least])
    if size > MOST_CODES:
        raise ValueError(
            f"column {name!r} holds the code {size - 1}, which would make {size} levels. "
            "NaiveBayes(Categorical()) takes any values as levels, and only those that occur."
        )
    return tuple(range(size))


def _range(x: Array | Dense) -> tuple[Array, Array]:
    """The least and largest number of every column."""
    if isinstance(x, Dense):
        return x.rows.nanmin(axis=0).toarray(), x.rows.nanmax(axis=0).toarray()
    return np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == int(value)


def _above(x: Any, threshold: float) -> Any:
    """1 above the threshold, 0 elsewhere, missing stays missing."""
    if not sparse.issparse(x):
        x = np.asarray(x)
        up = (x > threshold).astype(float)
        return np.where(np.isnan(x), np.nan, up) if x.dtype.kind == "f" else up
    if threshold < 0:
        raise ValueError(f"Bernoulli: a threshold of {threshold} makes ones of a sparse table's empty cells; give a dense table.")
    data = np.where(np.isnan(x.data), np.nan, (x.data > threshold).astype(float)) if x.dtype.kind == "f" else (x.data > threshold).astype(float)
    return sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)


def _check_real(family: Family, names: Sequence[Hashable], x: Any) -> None:
    if x.dtype.kind == "f":
        refuse(x, names, np.isinf, "a number is infinite", "Make it NaN if it is missing.")


def _check_flag(family: Family, names: Sequence[Hashable], x: Any) -> None:
    if family.threshold is None and x.dtype.kind != "b":  # type: ignore[attr-defined]
        odd = partial(refuse, advice="Give Bernoulli a threshold, or declare another family: families={{{name}: Gaussian()}}.")
        odd(x, names, lambda part: ~((part == 0) | (part == 1) | np.isnan(part)), "a cell is neither 0 nor 1")
    else:
        _check_real(family, names, x)


def _check_count(family: Family, names: Sequence[Hashable], x: Any) -> None:
    advice = "If it is not a count, declare another family: families={{{name}: Gaussian()}}."
    if x.dtype.kind not in "bu":
        refuse(x, names, lambda part: part < 0, "Negative values in data passed as counts", advice)
    _check_real(family, names, x)
    if x.dtype.kind == "f" and not family.fractional:  # type: ignore[attr-defined]
        advice += " For weights such as tf-idf: fractional=True."
        refuse(x, names, lambda part: ~np.isnan(part) & (part != np.floor(part)), "a count is no whole number", advice)


READERS = {"real": _check_real, "flag": _check_flag, "count": _check_count}


def _told(unseen: dict[Hashable, Counter]) -> str:
    parts = []
    for name, times in unseen.items():
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in times.most_common(5))
        parts.append(f"column {name!r} has levels that training never saw: {shown}{', ...' if len(times) > 5 else ''}")
    return "; ".join(parts) + "."
