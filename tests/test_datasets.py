"""The example tables are what their docstrings say."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bayesnb import BernoulliNB, Multinomial, MultinomialNB, NaiveBayes, datasets

MISSING = {
    "bill_length_mm": 2,
    "bill_depth_mm": 2,
    "flipper_length_mm": 2,
    "body_mass_g": 2,
    "sex": 11,
}


def test_penguins_have_344_rows_of_three_species_and_19_missing_cells() -> None:
    table = datasets.penguins()
    columns = "species island bill_length_mm bill_depth_mm flipper_length_mm body_mass_g sex year"
    assert list(table.columns) == columns.split()
    assert table["species"].value_counts().to_dict() == {
        "Adelie": 152,
        "Gentoo": 124,
        "Chinstrap": 68,
    }
    missing = table.isna().sum()
    assert missing[missing > 0].to_dict() == MISSING


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


def test_spam_has_2000_mails_of_small_counts_and_two_labels() -> None:
    table = datasets.spam()
    assert list(table.columns[:4]) == ["label", "the", "to", "and"]
    assert table["label"].value_counts().to_dict() == {"ham": 1350, "spam": 650}
    assert table.shape == (2000, 1501)
    assert {*table.dtypes.iloc[1:]} == {np.dtype("uint8")}
    assert table.iloc[:, 1:].sum().sum() == 299_507
    assert table.iloc[:, 1:].sum(axis=1).min() >= 1
    spam_by_part = (table["label"] == "spam").to_numpy().reshape(10, 200).sum(axis=1)
    assert spam_by_part.min() > 40  # rows are in random order: 65 expected of 200


@pytest.mark.slow
def test_spam_goes_into_each_model_of_words_as_it_is() -> None:
    table = datasets.spam()
    words = table.drop(columns="label")
    label = table["label"]
    for model in (MultinomialNB(), BernoulliNB(), NaiveBayes(Multinomial())):
        assert (
            model.fit(words, label).score(words, label) > 0.8
        )  # to say ham always is right for 0.675


@pytest.mark.parametrize("name", datasets.EXAMPLES)
def test_every_example_has_a_loader_that_names_its_source_and_licence(name: str) -> None:
    said = str(getattr(datasets, name).__doc__)
    assert "Source: " in said
    assert "Licence" in said


@pytest.mark.parametrize("name", datasets.EXAMPLES)
def test_the_text_of_an_example_is_its_table(name: str) -> None:
    table = getattr(datasets, name)()
    text = datasets.text(name)
    again = pd.read_csv(io.StringIO(text))
    pd.testing.assert_frame_equal(again.astype(table.dtypes), table)


def test_importing_the_examples_loads_no_pandas() -> None:
    code = "import sys, bayesnb.datasets; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
