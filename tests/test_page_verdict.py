"""What the page concludes: the verdict on five tables, on noise, and each check."""

import copy
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import metrics

import bayesnb as nb
from bayesnb.report import Facts, gather, render, report, section
from tests import five_tables
from tests.parsed import Page

TABLES = {  # rows, the verdict on labels, and that on probabilities
    "penguins": (five_tables.penguin_rows, "good", "can be used as they are"),
    "spam": (five_tables.spam_rows, "good", "better when tempered"),
    "credit": (five_tables.credit_rows, "hardly better than guessing", "not well calibrated"),
    "junk": (five_tables.junk_rows, "fair", "too few rows to tell"),
    "20 classes": (five_tables.twenty_classes, "good", "can be used as they are"),
}
NOT_SHOWN = "not shown to be better with so few rows"
GUESSING = "no better than guessing"


@cache
def facts_of(name: str) -> Facts:
    X, y = TABLES[name][0]()
    families = {tuple(X.columns): nb.Multinomial()} if name == "spam" else "auto"
    # with a covariance the probabilities of the credits are well calibrated
    dependence = "pairs" if name == "credit" else "auto"
    return gather(nb.NaiveBayes(families, dependence=dependence), X, y)


def headline(facts: Facts) -> str:
    return Page(section("headline", facts)).text


def remedied(facts: Facts) -> tuple[str, Any]:
    """The call that the page advises, and what it gives."""
    (call,) = Page(section("headline", facts)).code
    there = {"model": copy.deepcopy(facts.model), "X": facts.X, "y": facts.y, "np": np}
    return call, eval(call.replace("model.fit", "type(model)().fit"), there)


@pytest.mark.parametrize(
    "name",
    [name if name == "penguins" else pytest.param(name, marks=pytest.mark.slow) for name in TABLES],
)
def test_the_words_agree_with_the_scores_and_their_baselines(name: str) -> None:
    """Every number is computed again, by scikit-learn where it has it."""
    facts, (_, labels, probabilities) = facts_of(name), TABLES[name]
    text = headline(facts)
    y = np.asarray(facts.y)
    classes = facts.model.classes_
    p = facts.model.loo_proba(facts.X, y).values
    best = classes[p.argmax(axis=1)]
    _, counts = np.unique(y, return_counts=True)
    accuracy = metrics.accuracy_score(y, best)
    majority = max(counts) / len(y)
    own = p[np.arange(len(y)), np.searchsorted(classes, y)]
    loss = -np.log(own).mean()  # scikit-learn clips probabilities
    # guessed from the labels of the other rows, by Laplace's rule of succession
    times = counts[np.searchsorted(classes, y)]
    shares = -np.log(times / (len(y) - 1 + len(classes))).mean()
    assert f"Labels: {labels}." in text
    assert f"Probabilities: {probabilities}." in text
    assert f"{(best != y).sum():,} of {len(y):,} held-out labels are wrong" in text
    assert f"{100 * accuracy:.1f} %" in text
    assert f"{100 * majority:.1f} % for always predicting" in text
    assert f"{loss:.3f}" in text
    assert f"{shares:.3f} for the class shares" in text
    avoided = (accuracy - majority) / (1 - majority)
    removed = 1 - loss / shares
    assert (labels == "good") == (avoided >= 0.5)
    assert (labels == "hardly better than guessing") == (max(avoided, removed) < 1 / 8)
    surplus = p.max(axis=1).mean() - accuracy
    error = np.sqrt((p.max(axis=1) * (1 - p.max(axis=1))).sum()) / len(y)
    assert (probabilities == "better when tempered") == (surplus > 2 * error)
    recall = metrics.recall_score(y, best, average=None, labels=classes)
    worst = f"recall {100 * recall.min():.1f} %"
    assert worst in text


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "share"), [(60, 0.5), (60, 0.2), (1000, 0.5)])
def test_noise_is_not_called_better_than_guessing(rows: int, share: float) -> None:
    mistakes = 0
    for seed in range(20):
        X, y = five_tables.noise_rows(seed, rows, share)
        text = headline(gather(nb.GaussianNB(), X[["x0", "x1"]], y))
        mistakes += not (f"Labels: {NOT_SHOWN}." in text or f"Labels: {GUESSING}." in text)
    assert mistakes <= 2  # of 20, each with probability 1/40


@pytest.mark.slow
def test_no_model_that_is_better_on_new_rows_is_called_no_better_than_guessing() -> None:
    words = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = (rng.random(10_000) < rng.choice([0.3, 0.5])).astype(int)
        gap = rng.choice([0.15, 0.3, 0.5]) * np.outer(y, [1, 1, 1, 0, 0])
        X = rng.normal(size=(10_000, 5)) + gap
        rows = 80 if seed % 2 else 400
        facts = gather(nb.GaussianNB(), X[:rows], y[:rows])
        (label,) = re.findall(r"Labels: (.*?)\.", headline(facts))
        guess = np.bincount(y[:rows]).argmax()
        wrong = (facts.model.predict(X[rows:]) != y[rows:]).mean()
        guessed = (guess != y[rows:]).mean()
        assert label != GUESSING or guessed - wrong < guessed / 8
        assert label not in ("fair", "good") or wrong < guessed
        words.append(label)
    assert words.count(NOT_SHOWN) >= 5


def overlapping(rows: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(rows) % classes
    return np.random.default_rng(3).normal(y[:, None] * 0.8, 1.0, (rows, 2)), y


RELIABLE = [
    (nb.GaussianNB(), 1, 900, "can be trusted"),
    (nb.GaussianNB(), 3, 900, "overconfident"),
    pytest.param(nb.GaussianNB(temper=0.2), 1, 900, "underconfident", marks=pytest.mark.slow),
    (nb.GaussianNB(), 1, 24, "may still be off by"),
]


@pytest.mark.parametrize(("model", "copies", "rows", "words"), RELIABLE)
def test_true_probabilities_can_be_trusted_and_those_of_copied_columns_cannot(
    model: Any, copies: int, rows: int, words: str
) -> None:
    X, y = overlapping(rows)
    X = np.hstack([X] * copies)
    text = Page(section("reliability", gather(model, X, y))).text
    assert words in text
    found = nb.calibration(model, X, y, ci_prob=0.89)
    assert f"{100 * float(found.ece):.1f} percentage points" in text


@pytest.mark.slow
def test_remedies_help() -> None:
    facts = facts_of("spam")
    call, tempered = remedied(facts)
    assert call == "model.set_params(temper='loo').fit(X, y)"
    before, after = re.findall(
        r"reduces the log loss from ([\d.]+) to ([\d.]+)\.", headline(facts)
    )[0]
    assert float(after) < 0.8 * float(before)
    found = nb.calibration(tempered, facts.X, facts.y).log_loss
    assert f"{float(found):.3f}" == after


def test_columns_that_are_no_evidence_are_left_out_by_the_call_on_the_page() -> None:
    call, model = remedied(facts_of("junk"))
    assert call == "model.fit(X.drop(columns=['customer_id', 'ordered', 'remark', 'country']), y)"
    assert list(model.families_) == ["price"]
    y = np.arange(80) % 2
    X = np.column_stack([np.arange(80), np.random.default_rng(0).normal(2 * y), np.ones(80)])
    call, model = remedied(gather(nb.GaussianNB(), X, y))
    assert call == "model.fit(np.delete(X, [0, 2], axis=1), y)"
    call, model = remedied(gather(nb.GaussianNB(), sparse.csr_array(X), y))
    assert call == "model.fit(X[:, np.delete(np.arange(X.shape[1]), [0, 2])], y)"
    assert model.n_features_in_ == 1
    assert "<pre>" not in section("headline", facts_of("penguins"))
    impossible = np.array([0, 1, 0, 1, 2, 0])[:, None], np.array([0, 0, 0, 1, 1, 1])
    _, model = remedied(gather(nb.CategoricalNB(estimate="mle"), *impossible))
    assert np.isfinite(nb.calibration(model, *impossible).log_loss)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.slow
def test_probabilities_of_few_distinct_rows_are_judged_by_the_shares_of_these(make: Any) -> None:
    """Rows with the same cells leave with their own labels, which must not sort them into bins."""
    rng = np.random.default_rng(0)
    flag = rng.random((600, 1)) < 0.5
    y = (rng.random(600) < 0.2 + 0.6 * flag[:, 0]).astype(int)
    X = make(flag)
    facts = gather(nb.BernoulliNB(), X, y)
    assert "Probabilities: can be used as they are." in headline(facts)
    found = nb.calibration(facts.model, X, y)
    share = [y[flag[:, 0] == value].mean() for value in (False, True)]
    np.testing.assert_allclose(found.observed[1, :2], share, rtol=1e-12)
    assert found.ece < 0.01
    table = nb.compare_smoothing(facts.model, X, y, (1,), ("predictive",)).table
    assert table.loc[0, "ece"] == pytest.approx(float(found.ece), rel=1e-9)
    assert not Page(report(facts.model, X, y)).open


NAMES = ["in  all", "BMI(kg)", "other"]


@pytest.mark.slow
def test_code_on_the_page_keeps_what_users_wrote() -> None:
    y = np.where(np.arange(80) % 2, "very  good", "bad")
    noise = np.random.default_rng(0).normal(2 * (np.arange(80) % 2)[:, None], size=(80, 2))
    X = pd.DataFrame(np.column_stack([np.ones(80), noise]), columns=NAMES)
    facts = gather(nb.NaiveBayes(dict.fromkeys(NAMES[1:], "gaussian")), X, y)
    call, model = remedied(facts)
    assert "['in  all']" in call
    assert list(model.families_) == NAMES[1:]
    text = Page(render(facts)).code
    (decide,) = [line for line in text if line.startswith("model.decide(")]
    there = {"model": facts.model, "X": X}
    assert set(eval(decide, there)["action"].values) == {"very  good", "bad"}
    (made,) = [block for block in text if block.startswith("from bayesnb import")]
    assert made.startswith("from bayesnb import NaiveBayes\n")
    there = {"X": X, "y": y, "report": lambda *_, **__: ""}
    exec(made.replace("from bayesnb.report import report\n", ""), there)


def test_the_next_step_fits_one_class_and_certain_predictions() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    assert "Add rows of another class" in headline(gather(nb.GaussianNB(), x, np.zeros(60, int)))
    y = np.arange(60) % 2
    x = np.random.default_rng(0).normal(2.5 * y[:, None], size=(60, 20))
    certain = gather(nb.GaussianNB(), x, y)
    assert "Score the model on a test table" in headline(certain)


# Checks

ROWS = 200
LABELS = np.array(["no", "yes"] * (ROWS // 2))
YES = LABELS == "yes"


def fine() -> pd.DataFrame:
    """Columns that overlap between two classes, independent of each other."""
    rng = np.random.default_rng(2)
    shade = np.minimum(rng.integers(0, 3, ROWS) + YES * rng.integers(0, 2, ROWS), 2)
    return pd.DataFrame(
        {
            "size": rng.normal(YES, 1.0 + YES),
            "age": rng.normal(3 - YES, 2.0 - YES),
            "colour": np.array(["red", "green", "blue"])[shade],
        }
    )


COUNTER = np.arange(ROWS)
NOISE = np.random.default_rng(0).normal(size=(10 * ROWS, 1))
CHECKS: dict[
    str, tuple[Any, str]
] = {  # what is changed in the table that is fine, and what is found
    "rare": ({"y": np.where(COUNTER < 3, "rare", LABELS)}, "rare (3)"),
    "empty class": ({"model": nb.NaiveBayes(classes=["no", "none", "yes"])}, "none (0)"),
    "leak": ({"leak": np.where(YES, 7.0, 1.0)}, "leak"),
    "code": ({"code": np.where(YES, np.where(COUNTER % 4 < 2, "a", "b"), "c")}, "code"),
    "number": ({"number": COUNTER}, "number"),
    "name": ({"name": [f"row {i}" for i in range(ROWS)]}, "name"),
    "price": ({"price": [f"${1000 + i:,}.50" for i in range(ROWS)]}, "price"),
    "place": ({"place": np.where(COUNTER % 4, "usual", COUNTER.astype(str))}, "place (25"),
    "empty": ({"same": 1.0, "none": np.nan}, "same (constant)"),
    "new level": (
        {"test": {"colour": np.where(COUNTER < 30, "mauve", "red")}},
        "colour (30 cells)",
    ),
    "shifted": ({"test": {"size": 9 + NOISE[:ROWS, 0]}}, "less typical"),
    "copies": ({"rows": np.append(COUNTER, np.arange(20))}, "20 rows"),
    "wide": (
        {"rows": np.arange(40), "model": nb.NaiveBayes({"colour": None}, temper="columns")}
        | {f"x{j}": NOISE[j : j + ROWS, 0] for j in range(60)},
        " columns and only 40 rows",
    ),
    "numbers as labels": ({"y": np.round(9 * NOISE[:ROWS, 0]).astype(int)}, "different numbers"),
    "missed": ({"y": np.where(NOISE[:ROWS, 0] > 1.2, "rare", "usual")}, "'rare' ("),
    "dependent": (
        {f"size {j}": fine()["size"] + 0.01 * NOISE[j : j + ROWS, 0] for j in range(8)},
        "size",
    ),
}


def problems(changes: dict[str, Any]) -> str:
    """What the page finds in a table with these changes."""
    X = fine()
    y = LABELS
    changes = dict(changes)
    model = changes.pop("model", nb.NaiveBayes(dependence=None, temper=None))
    y = changes.pop("y", y)
    rows = changes.pop("rows", COUNTER)
    test = changes.pop("test", None)
    other = None if test is None else (X.assign(**test), LABELS)
    X = pd.concat([X, pd.DataFrame(changes, index=X.index)], axis=1) if changes else X
    facts = gather(model, X.iloc[rows].reset_index(drop=True), y[rows], other)
    table = Page(section("checks", facts)).tables.get("Problems", [[]])
    return "\n".join(" ".join(row) for row in table[1:])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("changes", "words"), CHECKS.values(), ids=CHECKS)
def test_a_check_finds_what_it_looks_for_and_nothing_where_all_is_fine(
    changes: Any, words: str
) -> None:
    assert words in problems(changes)
    if words == "leak":
        assert problems({}) == ""
        assert problems({"test": {}}) == ""
