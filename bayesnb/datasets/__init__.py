"""Two small example tables that ship with the package."""

from pathlib import Path
from typing import Any

EXAMPLES = {
    "penguins": "344 penguins of three species near Palmer Station, Antarctica; label: species",
    "dogs": "six dogs of two breeds, small enough to check by hand; label: breed",
}


def penguins() -> Any:
    """344 penguins: species, island, four measurements, sex, year; 19 cells are missing. A dataframe.

    Source: Horst AM, Hill AP, Gorman KB (2020), palmerpenguins: Palmer Archipelago (Antarctica) penguin data,
    doi:10.5281/zenodo.3960218, by way of the PyPI package palmerpenguins 0.1.6. Measured by Dr. Kristen Gorman
    and the Palmer Station LTER. Licence: CC0.

    >>> penguins().shape
    (344, 8)
    """
    return load("penguins")


def dogs() -> Any:
    """Six dogs: height, weight, whether the tail is curled, and the breed. A dataframe.

    >>> dogs()["breed"].value_counts().to_dict()
    {'Labradoodle': 3, 'English cocker': 3}
    """
    return load("dogs")


def load(name: str) -> Any:
    """An example as a dataframe."""
    from bayesnb.table import read_file

    return read_file(path(name))


def path(name: str) -> Path:
    """Where an example's CSV file is."""
    if name not in EXAMPLES:
        raise ValueError(f"there is no example table {name!r}; there are {', '.join(EXAMPLES)}.")
    return Path(__file__).with_name(f"{name}.csv")
