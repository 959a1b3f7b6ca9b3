"""Each check of the page finds what it looks for in a table made for it, and nothing in one that is fine."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesnb as nb
from bayesnb.criticism.optimism import repeated, row_keys
from bayesnb.report import gather
from bayesnb.report.facts.irregularities import column_counts, separating_levels, separating_ranges
from bayesnb.report.sections.checks import CHECKS, Check
from tests.conftest import plainly

ROWS = 200
EVIL = "<b>" + "x" * 10_000


def table(**more: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that overlap between two classes, independent of each other."""
    rng, y = np.random.default_rng(2), np.arange(ROWS) % 2
    X = pd.DataFrame(
        {
            "size": rng.normal(y, 1.0 + y),
            "age": rng.normal(3 - y, 2.0 - y),
            "colour": np.array(["red", "green", "blue"])[
                np.minimum(rng.integers(0, 3, ROWS) + y * rng.integers(0, 2, ROWS), 2)
            ],
        }
    )
    return X.assign(**more), np.array(["no", "yes"])[y]


def checked(X: Any, y: Any, model: Any = None, test: Any = None) -> dict[str, Check]:
    facts = gather(model or nb.NaiveBayes(), X, y, test)
    return {check.__name__: check(facts) for check in CHECKS}


@pytest.fixture(scope="module")
def fine() -> dict[str, Check]:
    X, y = table()
    other, labels = table()
    rng = np.random.default_rng(8)
    shuffled = pd.DataFrame({name: other[name].to_numpy() for name in other})
    return checked(
        X, y, test=(shuffled.iloc[rng.permutation(ROWS)[:80]], labels[np.random.default_rng(8).permutation(ROWS)[:80]])
    )


@pytest.mark.parametrize("name", [check.__name__ for check in CHECKS])
def test_a_table_that_is_fine_passes(fine: dict[str, Check], name: str) -> None:
    assert fine[name].state == "ok", fine[name]
    assert fine[name].what
    assert not fine[name].advice


def fired(found: dict[str, Check], name: str, state: str, *words: str) -> None:
    own = found[name]
    assert own.state == state, own
    assert own.advice
    for word in words:
        assert word in own.what, own.what


def test_a_class_of_few_rows_is_told() -> None:
    X, y = table()
    y = np.where(np.arange(ROWS) < 3, "rare", y)
    fired(checked(X, y), "tiny_class", "look", "rare (3)")
    fired(checked(X, y, nb.NaiveBayes(classes=["no", "none", "rare", "yes"])), "tiny_class", "warning", "none (0)")


def test_rows_without_a_held_out_probability_are_told() -> None:
    X, y = table()
    X.loc[0, "colour"] = "a colour of its own"
    fired(checked(X, y, nb.NaiveBayes({"colour": nb.Categorical(0.0)})), "impossible", "warning", "1 row ", "row 0")


def test_columns_that_say_the_same_make_overconfident_probabilities() -> None:
    X, y = table()
    copies = {f"size {j}": X["size"] + 0.01 * np.random.default_rng(j).normal(size=ROWS) for j in range(8)}
    X = X.assign(**copies)
    found = checked(X, y, nb.NaiveBayes(**plainly(X)))
    fired(found, "overconfident", "warning")
    fired(found, "dependent", "look", "size")
    for model in (nb.NaiveBayes(), nb.NaiveBayes(plainly(X)["families"], temper="loo")):
        assert checked(X, y, model)["overconfident"].state == "ok"


def test_a_column_that_gives_the_class_away_is_told() -> None:
    X, y = table()
    fired(checked(X.assign(leak=np.where(y == "yes", 7.0, 1.0)), y), "separated", "warning", "leak")
    coded = np.where(y == "yes", np.array(["a", "b"])[np.arange(ROWS) % 4 // 2], "c")
    fired(checked(X.assign(code=coded), y), "separated", "warning", "code")


def test_a_column_that_gives_one_of_three_classes_away_is_told_by_the_classs_name() -> None:
    X, y = table()
    y = np.where(np.arange(ROWS) % 5 == 0, "third", y)
    fired(checked(X.assign(leak=np.where(y == "third", 50.0, X["size"])), y), "separated", "look", "leak (third)")


def test_a_column_that_numbers_or_names_the_rows_is_told() -> None:
    X, y = table()
    fired(checked(X.assign(number=np.arange(ROWS)), y), "identifiers", "warning", "number")
    fired(checked(X.assign(name=[f"row {i}" for i in range(ROWS)]), y), "identifiers", "warning", "name")


def test_numbers_that_are_written_for_people_are_no_names_of_rows() -> None:
    X, y = table()
    found = checked(X.assign(price=[f"${1000 + i:,}.50" for i in range(ROWS)]), y)
    fired(found, "numbers_as_levels", "warning", "price")
    assert "Convert them to plain numbers" in found["numbers_as_levels"].advice
    assert found["identifiers"].state == "ok"


def test_a_column_of_rare_levels_will_bring_new_ones() -> None:
    X, y = table()
    rare = [f"level {i}" if i % 4 == 0 else "usual" for i in range(ROWS)]
    fired(checked(X.assign(place=rare), y), "new_levels", "look", "place (25")


def test_levels_that_only_a_test_table_has_are_told() -> None:
    X, y = table()
    other = X.assign(colour=np.where(np.arange(ROWS) < 30, "mauve", X["colour"]))
    with pytest.warns(nb.UnseenLevelWarning):
        found = checked(X, y, test=(other, y))
    fired(found, "new_levels", "look", "colour (30 cells)")


def test_a_test_table_from_elsewhere_is_told() -> None:
    X, y = table()
    fired(checked(X, y, test=(X.assign(size=X["size"] + 6), y)), "shifted", "warning", "less typical")
    facts = gather(nb.NaiveBayes(), X, y, (X, y))
    own = nb.NaiveBayes().fit(X, y).loo(X, y, target="joint")
    mean, test, _ = facts.irregular.shift
    assert test == pytest.approx(nb.NaiveBayes().fit(X, y).log_density(X).mean())
    assert mean > own.elpd / ROWS  # p(x) is more than p(x, y)


def test_columns_of_which_nothing_can_be_learnt_are_told() -> None:
    X, y = table(same=1.0, none=np.nan)
    fired(checked(X, y), "empty", "look", "same (constant)", "none (all missing)")


def test_levels_that_are_the_same_in_all_classes_want_an_endless_prior() -> None:
    y = np.repeat(["a", "b"], 60)
    X = pd.DataFrame({"die": np.tile(["x", "y", "z"], 40)})
    fired(checked(X, y), "boundary", "look", "concentration")


def test_copied_rows_are_told_where_they_are_no_chance() -> None:
    X, y = table()
    twice = pd.concat([X, X.iloc[:20]], ignore_index=True)
    fired(checked(twice, np.concatenate([y, y[:20]])), "copies", "look", "20 rows", "row 200")
    few = pd.DataFrame({"flag": np.arange(ROWS) % 3 == 0})
    assert checked(few, y)["copies"].state == "ok"


def fresh(rows: int, columns: int, seed: int, new: int = 3000) -> tuple[Any, Any, Any, Any]:
    """Rows of two classes that three columns tell apart a little, and new ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows + new)
    X = rng.normal(size=(rows + new, columns)) + 0.6 * y[:, None] * (np.arange(columns) < 3)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def log_loss_of(model: Any, X: Any, y: Any) -> float:
    return float(-np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean())


def optimism(model: Any, rows: int, columns: int, seeds: int, times: int = 1) -> np.ndarray:
    """Log loss of new rows above the one that is reported, table by table; each row is so many times in the table."""
    gaps = []
    for seed in range(seeds):
        X, y, new, labels = fresh(rows, columns, seed)
        X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
        facts = gather(model, X, y)
        gaps.append(log_loss_of(facts.model, new, labels) + facts.label_log_proba.mean())
    return np.array(gaps)


def is_positive(terms: np.ndarray) -> bool:
    """Whether the mean is more than three standard errors above 0."""
    return bool(terms.mean() > 3 * terms.std(ddof=1) / np.sqrt(len(terms)))


@pytest.mark.slow
def test_scores_are_too_good_where_every_row_stands_in_the_table_twice() -> None:
    for model in (nb.NaiveBayes(), nb.GaussianNB()):
        assert is_positive(optimism(model, 60, 5, 10, times=2) - optimism(model, 60, 5, 10))
    X, y, *_ = fresh(60, 5, 0)
    found = checked(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    fired(found, "copies", "warning", "60 rows (50.0 %) repeat", "row 1", "the held-out scores are too good")
    assert checked(X, y)["copies"].state == "ok"


@pytest.mark.slow
def test_scores_are_too_good_where_exponents_of_more_columns_than_rows_are_chosen() -> None:
    for model, columns, is_too_good in ((nb.NaiveBayes(), 100, True), (nb.GaussianNB(), 100, False)):
        assert is_positive(optimism(model, 40, columns, 12)) == is_too_good
        X, y, *_ = fresh(40, columns, 0)
        found = checked(X, y, model)
        assert (found["wide"].state == "warning") == is_too_good
        assert ("100 columns and only 40 rows" in found["wide"].what) == is_too_good
    assert checked(*fresh(40, 10, 0)[:2])["wide"].state == "ok"


def test_a_class_that_is_mostly_missed_is_told() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(400) % 10 == 0, "rare", "usual")
    X = rng.normal(size=(400, 1)) + 1.5 * (y == "rare")[:, None]
    model = nb.GaussianNB().fit(X, y)
    missed = int((model.predict(X) != y)[y == "rare"].sum())
    assert missed > 20
    found = checked(X, y, nb.GaussianNB())
    fired(found, "missed", "warning", "'rare' (", "of its 40 rows")
    assert "ROC, precision-recall and threshold" in found["missed"].advice


def test_many_numbers_as_labels_are_told_and_few_are_not() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    many, few = (np.round(scale * x).astype(int) for scale in (10, 1))
    fired(checked(x[:, None], many, nb.GaussianNB()), "numeric_labels", "look", f"{len(set(many))} different ones")
    assert checked(x[:, None], few, nb.GaussianNB())["numeric_labels"].state == "ok"
    assert checked(x[:, None], many.astype(str), nb.GaussianNB())["numeric_labels"].state == "ok"


def test_a_check_says_shortly_what_has_endless_names() -> None:
    X, y = table(**{EVIL: 1.0})
    own = checked(X, y)["empty"]
    assert len(own.what) < 200


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_repeated_rows_are_those_that_numpy_finds(make: Any) -> None:
    rng = np.random.default_rng(0)
    x, codes = rng.integers(0, 3, (300, 4)).astype(float), rng.integers(0, 2, 300)
    _, first = np.unique(np.column_stack([x, codes]), axis=0, return_index=True)
    np.testing.assert_array_equal(repeated(row_keys([make(x)], codes)), np.setdiff1d(np.arange(300), first))


def test_missing_cells_and_both_zeros_are_the_same_in_repeated_rows() -> None:
    x = np.array([[np.nan, 0.0], [-np.nan, -0.0], [0.0, np.nan]])
    assert repeated(row_keys([x], np.zeros(3, int))).tolist() == [1]


@pytest.mark.parametrize("apart", [separating_ranges, separating_levels])
def test_a_separation_that_chance_could_make_is_none(apart: Any) -> None:
    few, many = np.array([0, 0, 1, 1]), np.repeat([0, 1], 30)
    assert apart(few, few, 10) == ()
    assert apart(many, many, 10) == (0, 1)
    mixed = many.copy()
    mixed[0] = 1
    assert apart(mixed, many, 10) == ()


def test_a_class_between_two_others_is_apart_by_its_range() -> None:
    codes = np.repeat([0, 1, 0], 20)
    x = np.concatenate([np.arange(20), np.arange(100, 120), np.arange(200, 220)]).astype(float)
    assert column_counts(x, codes, False, 2).separated == (1,)
    assert column_counts(np.where(np.arange(60) == 0, np.nan, x), codes, False, 2).known == 59
