"""The example tables are what their docstrings say."""

import subprocess
import sys

import pytest

from bayesnb import datasets

MISSING = {"bill_length_mm": 2, "bill_depth_mm": 2, "flipper_length_mm": 2, "body_mass_g": 2, "sex": 11}


def test_penguins_have_344_rows_of_three_species_and_19_missing_cells() -> None:
    table = datasets.penguins()
    columns = "species island bill_length_mm bill_depth_mm flipper_length_mm body_mass_g sex year"
    assert list(table.columns) == columns.split()
    assert table["species"].value_counts().to_dict() == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    missing = table.isna().sum()
    assert missing[missing > 0].to_dict() == MISSING


def test_penguins_have_the_published_means() -> None:
    table = datasets.penguins()
    assert table["bill_length_mm"].mean() == pytest.approx(43.92193)
    assert table["body_mass_g"].mean() == pytest.approx(4201.754)


def test_dogs_are_the_six_of_the_lecture() -> None:
    table = datasets.dogs()
    assert table["curled_tail"].dtype == bool
    assert [tuple(row) for row in table.itertuples(index=False)] == [
        (45, 30, False, "Labradoodle"),
        (30, 25, True, "Labradoodle"),
        (40, 35, True, "Labradoodle"),
        (20, 15, False, "English cocker"),
        (22, 18, True, "English cocker"),
        (25, 20, True, "English cocker"),
    ]


def test_every_example_has_a_loader_that_names_its_licence_or_is_ours() -> None:
    assert all(callable(getattr(datasets, name)) for name in datasets.EXAMPLES)
    assert "CC0" in str(datasets.penguins.__doc__)
    assert "Horst" in str(datasets.penguins.__doc__)


def test_an_unknown_example_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="penguins, dogs"):
        datasets.load("cats")


def test_importing_the_examples_loads_no_pandas() -> None:
    code = "import sys, bayesnb.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
