"""The verdict on five tables agrees with accuracy, log loss, calibration and their baselines, and remedies help."""

import re
import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import bayesnb as nb
from bayesnb.cli import main
from bayesnb.estimators.tempering import COLUMNS
from bayesnb.report import About, Facts, gather, report, section
from bayesnb.report.sections.checks import useless
from bayesnb.selection.probability_scores import Estimate
from bayesnb.selection.ranking_curves import RankingCurves
from bayesnb.selection.verdict import CLEAR, Difference, Observed, judge
from tests import five_tables
from tests.parsed import Page

TABLES = {
    "penguins": five_tables.penguin_rows,
    "spam": five_tables.spam_rows,
    "credit": five_tables.credit_rows,
    "junk": five_tables.junk_rows,
    "20 classes": five_tables.twenty_classes,
}
EXPECTED = {
    "penguins": ("good", "can be used as they are"),
    "spam": ("good", "use tempered"),
    "credit": ("hardly better than guessing", "not well calibrated"),
    "junk": ("fair", "too few rows to tell"),
    "20 classes": ("good", "can be used as they are"),
}


@cache
def facts_of(name: str) -> Facts:
    X, y = TABLES[name]()
    model = nb.NaiveBayes({tuple(X.columns): nb.Multinomial()}) if name == "spam" else nb.NaiveBayes()
    return gather(model, X, y)


def probabilities(facts: Facts) -> np.ndarray:
    """Leave-one-out probabilities by the public function, which computes them by itself."""
    return nb.calibration(facts.model, facts.X, facts.y)["probability"].values


@pytest.mark.parametrize(
    "name", ["penguins", *(pytest.param(name, marks=pytest.mark.slow) for name in TABLES if name != "penguins")]
)
def test_the_words_agree_with_the_scores_and_their_baselines(name: str) -> None:
    """Every number is computed again, by scikit-learn where it has it."""
    facts = facts_of(name)
    verdict = facts.held_out.verdict
    assert verdict is not None
    assert (verdict.labels, verdict.probabilities) == EXPECTED[name]
    p, y = probabilities(facts), np.asarray(facts.y)
    classes = facts.model.classes_
    best = classes[p.argmax(axis=1)]
    values, counts = np.unique(y, return_counts=True)
    naive = values[counts.argmax()]
    accuracy, majority = metrics.accuracy_score(y, best), (y == naive).mean()
    gap = (best == y).astype(float) - (y == naive)
    z = gap.mean() / (gap.std(ddof=1) / np.sqrt(len(y)))
    loss, shares = float(nb.calibration(facts.model, facts.X, y).log_loss), -np.log(counts / len(y)) @ counts / len(y)
    assert (verdict.labels == "good") == (z > CLEAR and 1 - accuracy <= (1 - majority) / 2)
    assert verdict.labels != "no better than guessing"
    assert z > 2 or loss < shares - 0.01
    avoided, removed = (accuracy - majority) / (1 - majority), 1 - loss / shares
    assert (verdict.labels == "hardly better than guessing") == (max(avoided, removed) < 1 / 8)
    text = Page(section("headline", facts)).text
    assert f"Labels: {verdict.labels}." in text
    assert f"Probabilities: {verdict.probabilities}." in text
    wrong = int((best != y).sum())
    assert f"{wrong:,} of {len(y):,} held-out labels are wrong" in text
    assert f"{100 * accuracy:.1f} %" in text
    assert f"{100 * majority:.1f} % by always answering '{naive}'" in text
    assert f"{loss:.3f}" in text
    assert f"{shares:.3f} by the shares of the classes" in text
    sure = p.max(axis=1)
    surplus, error = sure.mean() - accuracy, np.sqrt((sure * (1 - sure)).sum()) / len(y)
    if verdict.probabilities == "can be used as they are":
        assert abs(surplus) < 2 * error
        assert loss < shares
    if verdict.probabilities == "use tempered":
        assert surplus > 2 * error


def observed(**changes: Any) -> Observed:
    """Scores of a good model."""
    values: dict[str, Any] = {
        "rows": 1000,
        "accuracy": 0.9,
        "majority": 0.5,
        "more_right": Difference(0.4, 0.02),
        "log_loss": 0.3,
        "shares_loss": 0.69,
        "less_loss": Difference(0.39, 0.02),
        "calibration": Estimate(0.01, 0.0, 0.03),
        "calibration_by_chance": 0.03,
        "surplus": Difference(0.0, 0.01),
        "unforeseen": Estimate(0.0, -0.1, 0.1),
    }
    return Observed(**values | changes)


NOTHING = {
    "accuracy": 0.51,
    "more_right": Difference(0.01, 0.02),
    "less_loss": Difference(0.001, 0.01),
    "log_loss": 0.69,
}
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a good model": ({}, "good", "can be used as they are"),
    "half as many errors as a guess": ({"accuracy": 0.75}, "good", "can be used as they are"),
    "more than half as many": ({"accuracy": 0.74}, "fair", "can be used as they are"),
    "better by less than its standard errors": (
        {"accuracy": 0.54, "more_right": Difference(0.04, 0.02), "less_loss": Difference(0.02, 0.01)},
        "not shown to be better with so few rows",
        "too few rows to tell",
    ),
    "labels of the guess in few rows": (
        NOTHING | {"rows": 80, "accuracy": 0.5, "more_right": Difference(0.0, 0.0)},
        "not shown to be better with so few rows",
        "too few rows to tell",
    ),
    "labels of the guess in many rows": (
        NOTHING | {"accuracy": 0.5, "more_right": Difference(0.0, 0.0)},
        "no better than guessing",
        "no better than the class shares",
    ),
    "few rows whose probabilities are clearly worse than the shares, and labels no better": (
        NOTHING | {"rows": 80, "more_right": Difference(-0.05, 0.06), "less_loss": Difference(-3, 0.5), "log_loss": 4},
        "no better than guessing",
        "too sure",
    ),
    "six rows": ({"rows": 6}, "too few rows", "too few rows to tell"),
    "a hundredth of the errors avoided, a twelfth of the log loss removed": (
        {
            "accuracy": 0.102,
            "majority": 0.094,
            "more_right": Difference(0.008, 0.01),
            "log_loss": 3.19,
            "shares_loss": 3.49,
            "less_loss": Difference(0.3, 0.02),
        },
        "hardly better than guessing",
        "can be used as they are",
    ),
    "better probabilities of the same labels": (
        {"accuracy": 0.5, "more_right": Difference(0.0, 0.02)},
        "fair",
        "can be used as they are",
    ),
    "labels alone": (
        {"less_loss": Difference(-0.01, 0.02), "log_loss": 0.7},
        "good",
        "no better than the class shares",
    ),
    "noise": (NOTHING, "no better than guessing", "no better than the class shares"),
    "noise that is sure": (
        NOTHING | {"surplus": Difference(0.2, 0.02), "log_loss": 0.9},
        "no better than guessing",
        "too sure",
    ),
    "worse than the shares": (
        NOTHING | {"less_loss": Difference(-0.3, 0.02), "log_loss": 0.99},
        "no better than guessing",
        "too sure",
    ),
    "too sure": ({"surplus": Difference(0.05, 0.01)}, "good", "too sure"),
    "sure enough": ({"surplus": Difference(0.019, 0.01)}, "good", "can be used as they are"),
    "costly surprises": ({"unforeseen": Estimate(0.3, 0.1, 0.5)}, "good", "too sure"),
    "impossible labels": ({"unforeseen": Estimate(np.inf, np.inf, np.inf)}, "good", "too sure"),
    "too cautious": (
        {"surplus": Difference(-0.1, 0.01), "calibration": Estimate(0.1, 0.08, 0.12)},
        "good",
        "too cautious",
    ),
    "both": ({"calibration": Estimate(0.06, 0.04, 0.08)}, "good", "not well calibrated"),
    "few rows": (
        {"calibration": Estimate(0.06, 0.0, 0.2), "calibration_by_chance": 0.1},
        "good",
        "too few rows to tell",
    ),
    "tempering that helps": ({"power": 0.5, "tempered_gain": Estimate(0.1, 0.05, 0.15)}, "good", "use tempered"),
    "tempering that may help": (
        {"power": 0.5, "tempered_gain": Estimate(0.1, -0.05, 0.2)},
        "good",
        "can be used as they are",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules_of_the_verdict(case: str) -> None:
    changes, labels, words = CASES[case]
    verdict = judge(observed(**changes))
    assert (verdict.labels, verdict.probabilities) == (labels, words)
    assert str(verdict) == f"labels: {labels}; probabilities: {words}"


def test_numbers_of_a_verdict_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    scores = rng.normal(size=(400, 3)) + 1.5 * np.eye(3)[y]
    log_proba = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    seen = Observed.of(log_proba, y)
    shares = np.bincount(y) / 400
    np.testing.assert_allclose(seen.log_loss, metrics.log_loss(y, np.exp(log_proba)))
    np.testing.assert_allclose(seen.accuracy, metrics.accuracy_score(y, log_proba.argmax(axis=1)))
    np.testing.assert_allclose(seen.shares_loss, -shares @ np.log(shares))
    assert seen.majority == shares.max()
    counts = np.bincount(y)
    blind = np.array([(counts[k] - 1 + 1) / (400 - 1 + 3) for k in y])  # Laplace's rule in the other rows
    gain = log_proba[np.arange(400), y] - np.log(blind)
    np.testing.assert_allclose(seen.less_loss, (gain.mean(), gain.std(ddof=1) / 20))
    np.testing.assert_allclose(Observed.of(log_proba, y, choices=8).less_loss.value, gain.mean() - 8 / 400)


NOT_SHOWN, GUESSING = "not shown to be better with so few rows", "no better than guessing"


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "share"), [(60, 0.5), (60, 0.2), (150, 0.5)])
def test_noise_is_not_called_better_than_guessing(rows: int, share: float) -> None:
    words = []
    for seed in range(60):
        facts = gather(nb.NaiveBayes(), *five_tables.noise_rows(seed, rows, share))
        assert facts.held_out.verdict is not None
        words.append(facts.held_out.verdict.labels)
    assert words.count(NOT_SHOWN) + words.count(GUESSING) >= 57


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_in_few_rows_is_not_shown_to_be_better_and_in_many_it_is_no_better(seed: int) -> None:
    few, many = (
        Page(section("headline", gather(nb.NaiveBayes(), *five_tables.noise_rows(seed, rows)))).text
        for rows in (60, 1000)
    )
    assert f"Labels: {NOT_SHOWN}." in few
    assert "Probabilities: too few rows to tell." in few or "Probabilities: too sure." in few
    assert f"Labels: {GUESSING}." in many
    assert "Probabilities: no better than the class shares." in many or "Probabilities: too sure." in many


@pytest.mark.slow
def test_no_model_that_is_better_on_new_rows_is_called_no_better_than_guessing() -> None:
    """Of 80 rows of a weak signal this was said of many, and it was false of most."""
    words = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = (rng.random(20_000) < rng.choice([0.3, 0.5])).astype(int)
        X = rng.normal(size=(20_000, 5)) + rng.choice([0.15, 0.3, 0.5]) * np.outer(y, [1, 1, 1, 0, 0])
        rows = 80 if seed % 2 else 400
        facts = gather(nb.NaiveBayes(), X[:rows], y[:rows])
        verdict, new = facts.held_out.verdict, y[rows:]
        assert verdict is not None
        words.append(verdict.labels)
        guess = np.bincount(y[:rows]).argmax()
        wrong, guessed = (facts.model.predict(X[rows:]) != new).mean(), (new != guess).mean()
        if verdict.labels == GUESSING:
            assert guessed - wrong < guessed / 8
        if verdict.labels in ("fair", "good"):
            assert wrong < guessed
    assert words.count(NOT_SHOWN) >= 10


def test_six_rows_are_too_few_for_a_verdict() -> None:
    y = np.arange(6) % 2
    facts = gather(nb.NaiveBayes(), pd.DataFrame({"price": [1200, 2100, 1450, 2350, 990, 1980]}), y)
    text = Page(section("headline", facts)).text
    assert "Labels: too few rows." in text
    assert "Probabilities: too few rows to tell." in text
    assert "No verdict is given on fewer than 20 rows." in text


@cache
def ages() -> tuple[pd.DataFrame, pd.Series]:
    """A label of 52 numbers, of which two columns say a little."""
    rng = np.random.default_rng(0)
    age = np.minimum(18 + rng.gamma(1.2, 10.0, 1500).astype(int), 69)
    X = pd.DataFrame({"income": (age * rng.lognormal(7, 0.5, 1500)).round(), "city": rng.choice(list("abc"), 1500)})
    return X, pd.Series(age, name="age")


def test_many_numbers_as_labels_are_hardly_better_than_guessing_and_called_a_regression_problem() -> None:
    facts = gather(nb.NaiveBayes(), *ages())
    verdict, observed = facts.held_out.verdict, facts.held_out.observed
    assert verdict is not None
    assert observed is not None
    assert len(facts.classes) > 40
    assert observed.is_better
    assert (observed.accuracy - observed.majority) / (1 - observed.majority) < 0.05
    assert verdict.labels == "hardly better than guessing"
    assert "a regression problem" in Page(section("checks", facts)).text
    codes = gather(nb.NaiveBayes(), *five_tables.twenty_classes(100))
    assert "a regression problem" not in Page(section("checks", codes)).text


@pytest.mark.parametrize("name", ["penguins", pytest.param("credit", marks=pytest.mark.slow)])
def test_the_class_that_is_missed_most_stands_in_the_verdict_with_its_recall(name: str) -> None:
    facts = facts_of(name)
    y, best = np.asarray(facts.y), facts.model.classes_[probabilities(facts).argmax(axis=1)]
    recall = metrics.recall_score(y, best, average=None, labels=facts.model.classes_)
    label, rows = facts.model.classes_[recall.argmin()], (y == facts.model.classes_[recall.argmin()]).sum()
    misses = round((1 - recall.min()) * rows)
    words = f"{str(label)!r} ({misses} of its {rows} rows, recall {100 * recall.min():.1f} %)"
    assert str(facts.held_out.verdict).endswith(f"; missed most: {words}")
    assert f"Missed most is the class {words}." in Page(section("headline", facts)).text
    assert words in Page(section("card", facts)).text
    warned = "Most rows of a class get another label" in Page(section("checks", facts)).text
    assert warned == (recall.min() < 0.5)
    assert warned == (name == "credit")


def test_a_class_of_which_no_row_is_missed_is_not_named() -> None:
    y = np.arange(60) % 2
    facts = gather(nb.GaussianNB(), 9.0 * y[:, None] + np.random.default_rng(0).normal(size=(60, 1)), y)
    assert "missed" not in str(facts.held_out.verdict)
    assert "Missed most" not in Page(section("headline", facts)).text


# Remedies


def remedy(facts: Facts) -> str:
    html = section("headline", facts)
    (code,) = re.findall(r'<pre class="remedy"><code>(.*?)</code>', html, flags=re.DOTALL)
    return Page(code).text


def evaluated(code: str, facts: Facts) -> Any:
    return eval(code, {"model": facts.model, "X": facts.X, "y": facts.y, "np": np})


@pytest.mark.slow
def test_the_call_that_tempers_makes_probabilities_better() -> None:
    X, y = five_tables.spam_rows()
    facts = gather(nb.NaiveBayes({tuple(X.columns): nb.Multinomial()}), X, y)
    before = float(nb.calibration(facts.model, X, y).log_loss)
    assert remedy(facts) == "model.set_params(temper='loo').fit(X, y)"
    promised = re.search(r"takes the log loss from ([\d.]+) to ([\d.]+)\.", Page(section("headline", facts)).text)
    assert promised
    after = float(nb.calibration(evaluated(remedy(facts), facts), X, y).log_loss)
    assert [f"{before:.3f}", f"{after:.3f}"] == list(promised.groups())
    assert after < 0.8 * before


def test_the_call_that_leaves_columns_out_leaves_no_warning_of_them() -> None:
    facts = facts_of("junk")
    columns = ["customer_id", "ordered", "remark", "country"]
    assert useless(facts) == columns
    code = remedy(facts)
    assert code == f"model.fit(X.drop(columns={columns!r}), y)"
    X = facts.X.drop(columns=columns)
    again = gather(nb.NaiveBayes(), X, facts.y)
    assert list(evaluated(code.replace("model.fit", "type(model)().fit"), facts).families_) == ["price"]
    assert useless(again) == []
    assert "Identifier columns" in Page(section("headline", facts)).text
    assert "Identifier columns" not in Page(section("headline", again)).text
    assert -again.label_log_proba.mean() <= -facts.label_log_proba.mean() + 0.01


def test_columns_of_an_array_are_left_out_by_their_place() -> None:
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    X = np.column_stack([np.arange(80), rng.normal(2 * y), np.ones(80)])
    facts = gather(nb.GaussianNB(), X, y)
    assert remedy(facts) == "model.fit(np.delete(X, [0, 2], axis=1), y)"
    assert evaluated(remedy(facts), facts).n_features_in_ == 1


def test_columns_whose_family_was_declared_and_the_last_one_stay() -> None:
    X, y = five_tables.junk_rows(60)
    declared = gather(nb.NaiveBayes({"customer_id": nb.Categorical()}), X, y)
    assert "customer_id" not in remedy(declared)
    alone = gather(nb.NaiveBayes(), X[["customer_id"]], y)
    assert 'class="remedy"' not in section("headline", alone)


def test_a_label_that_was_impossible_is_possible_after_the_remedy() -> None:
    X, y = np.array([0, 1, 0, 1, 2, 0])[:, None], np.array([0, 0, 0, 1, 1, 1])
    facts = gather(nb.CategoricalNB(estimate="mle"), X, y)
    assert not np.isfinite(facts.label_log_proba).all()
    again = gather(evaluated(remedy(facts), facts), X, y)
    assert np.isfinite(again.label_log_proba).all()


def test_a_model_without_a_problem_has_no_remedy() -> None:
    assert 'class="remedy"' not in section("headline", facts_of("20 classes"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_on(html: str) -> list[str]:
    (code,) = re.findall(r'<pre class="remedy"><code>(.*?)</code>', html, flags=re.DOTALL)
    return shlex.split(Page(code).text)


def log_loss_in(err: str) -> float:
    match = re.search(r"log loss ([\d.]+) a row\)", err)
    assert match
    return float(match[1])


def test_the_command_on_the_page_runs_and_leaves_the_junk_out(folder: Path, capsys: pytest.CaptureFixture) -> None:
    X, y = five_tables.junk_rows()
    X.assign(outcome=y).to_csv("my orders.csv", index=False)
    words = ["report", "my orders.csv", "--target", "outcome", "--brief", "-o", "page.html"]
    assert main(words) == 0
    before = log_loss_in(capsys.readouterr().err)
    first, *command = command_on((folder / "page.html").read_text(encoding="utf-8"))
    assert first == "bayesnb"
    assert command[: len(words)] == words
    assert "customer_id,ordered,remark,country=drop" in command
    assert main(command) == 0
    again = (folder / "page.html").read_text(encoding="utf-8")
    shown = capsys.readouterr().err
    assert "warning" not in shown
    assert log_loss_in(shown) <= before + 0.01
    assert "Identifier columns</a>" not in again
    assert "single value</a>" not in again


@pytest.mark.slow
def test_the_command_on_the_page_tempers(folder: Path, capsys: pytest.CaptureFixture) -> None:
    X, y = five_tables.spam_rows(300, 200)
    X.assign(label=y).to_csv("mail.csv", index=False)
    words = ["report", "mail.csv", "--target", "label", "--family", "multinomial", "--temper", "1", "--brief"]
    assert main([*words[:-3], "--brief"]) == 0
    before = capsys.readouterr().err
    assert "Verdict: labels: good; probabilities: use tempered (--temper loo)" in before
    command = command_on((folder / "report.html").read_text(encoding="utf-8"))
    assert command[-2:] == ["--temper", "loo"]
    assert main(command[1:]) == 0
    after = capsys.readouterr().err
    assert log_loss_in(after) < 0.9 * log_loss_in(before)
    assert "use tempered" not in after


def test_fit_prints_the_baselines_and_the_verdict_of_the_page(folder: Path, capsys: pytest.CaptureFixture) -> None:
    X, y = five_tables.credit_rows(300)
    X.assign(default=y).to_csv("loans.csv", index=False)
    assert main(["fit", "loans.csv", "--target", "default", "-o", "loans.bnb"]) == 0
    fitted = capsys.readouterr().err.splitlines()
    assert main(["report", "loans.csv", "--target", "default", "--brief"]) == 0
    lines = capsys.readouterr().err.splitlines()
    told = [[line for line in each if line.startswith(("Baselines:", "Verdict:"))] for each in (fitted, lines)]
    assert told[0] == told[1]
    share = y.value_counts(normalize=True)
    assert told[0][0] == (
        f"Baselines: accuracy {100 * share.max():.1f} % by always answering the most frequent class, log loss "
        f"{-(share * np.log(share)).sum():.4f} a row by the shares of the classes"
    )
    facts = gather(nb.NaiveBayes(), pd.read_csv("loans.csv").drop(columns="default"), y)
    assert facts.model._temper_rule == COLUMNS
    assert told[0][1] == f"Verdict: {facts.held_out.verdict}"
    assert "; missed most: 'yes' (" in told[0][1]


@pytest.mark.parametrize("command", [["fit", "-o", "m.bnb"], ["report", "--brief"]])
def test_commands_warn_of_copies_wide_tables_and_numbers_as_labels(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture
) -> None:
    X, y = rare_first()
    rng = np.random.default_rng(0)
    tables = {
        "fine": pd.DataFrame(X).assign(y=y),
        "copied": pd.DataFrame(np.repeat(X, 2, axis=0)).assign(y=np.repeat(y, 2)),
        "wide": pd.DataFrame(rng.normal(size=(30, 40))).assign(y=np.arange(30) % 2),
        "numbers": pd.DataFrame(X).assign(y=np.round(20 * X[:, 0]).astype(int)),
    }
    words = {
        "copied": "200 rows (50.0 %) repeat an earlier row, label included (the first is row 1), so the held-out",
        "wide": "There are 40 columns and only 30 rows, so the held-out scores are too good",
        "numbers": "to predict a number is a regression problem. Make classes of ranges",
    }
    for name, table in tables.items():
        table.rename(columns=lambda each: f"x{each}" if each != "y" else each).to_csv(f"{name}.csv", index=False)
        assert main([command[0], f"{name}.csv", "--target", "y", *command[1:]]) == 0
        shown = capsys.readouterr().err
        assert {each: text in shown for each, text in words.items()} == {each: each == name for each in words}


# The rest of the head, and the new sections


def test_warnings_stand_beside_the_verdict_and_lead_to_the_checks() -> None:
    html = section("headline", facts_of("junk"))
    names = re.findall(r'<li class="(?:warning|look)"><a href="#checks">(.*?)</a>', html)
    assert "Identifier columns" in names
    assert names == [row[0] for row in Page(section("checks", facts_of("junk"))).tables["Problems"][1:]]


def test_the_test_table_has_a_verdict() -> None:
    X, y = five_tables.penguin_rows()
    train = np.arange(len(X)) % 3 > 0
    noise = np.random.default_rng(0).permutation(y[~train])
    facts = gather(nb.NaiveBayes(), X[train], y[train], (X[~train], noise))
    assert "Labels: no better than guessing" in Page(section("headline", facts)).text
    assert "Labels: good." in Page(section("headline", facts)).text


def test_ranking_curves_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    p = np.round(1 / (1 + np.exp(-rng.normal(2.0 * y - 1))), 2)  # with ties
    curves = RankingCurves.of(p, y)
    np.testing.assert_allclose(curves.area, metrics.roc_auc_score(y, p))
    np.testing.assert_allclose(curves.average_precision, metrics.average_precision_score(y, p))
    alarms, recall, thresholds = metrics.roc_curve(y, p, drop_intermediate=False)
    np.testing.assert_allclose(curves.false_alarms, alarms[1:])
    np.testing.assert_allclose(curves.recall, recall[1:])
    np.testing.assert_allclose(curves.threshold, thresholds[1:])


def test_thresholds_are_those_that_decide_takes() -> None:
    facts = facts_of("credit")
    seen = Page(section("thresholds", facts))
    (_, *rows) = seen.tables["Thresholds for costs of errors, held out"]
    p, default = probabilities(facts)[:, 1], np.asarray(facts.y) == "yes"
    for ratio, threshold, called, missed, alarms, recall, _, cost, without in rows:
        k = float(ratio)
        yes = p > 1 / (1 + k)
        assert threshold == f"{100 / (1 + k):.1f} %"
        assert (int(called), int(missed), int(alarms)) == (yes.sum(), (default & ~yes).sum(), (yes & ~default).sum())
        assert recall == f"{100 * (default & yes).sum() / default.sum():.1f} %"
        assert float(cost) == pytest.approx((k * int(missed) + int(alarms)) / len(p), abs=6e-4)
        assert float(without) == pytest.approx(min(k * default.mean(), 1 - default.mean()), abs=6e-4)
    assert f"with probability {metrics.roc_auc_score(default, p):.3f}" in seen.text
    call = re.search(r"model\.decide\(.*\)", seen.text)
    assert call
    decided = evaluated(call[0], facts)
    np.testing.assert_array_equal(decided["action"].values == "yes", facts.model.predict_proba(facts.X)[:, 1] > 1 / 6)


def rare_first() -> tuple[np.ndarray, np.ndarray]:
    """Two classes, of which the rarer one comes first."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 5 == 0, "bad", "good")
    return rng.normal(size=(200, 2)) + 1.0 * (y == "bad")[:, None], y


@pytest.mark.parametrize(("positive", "label"), [(None, "bad"), ("bad", "bad"), ("good", "good")])
def test_ranks_and_costs_are_about_the_rarer_class_or_the_one_that_is_named(positive: Any, label: str) -> None:
    X, y = rare_first()
    facts = gather(nb.GaussianNB(), X, y, about=About(positive=positive))
    seen = Page(section("thresholds", facts))
    p, is_positive = probabilities(facts)[:, ["bad", "good"].index(label)], y == label
    assert f"A row of class {label} ranks above" in seen.text
    assert f"with probability {metrics.roc_auc_score(is_positive, p):.3f}" in seen.text
    assert f"The average precision is {metrics.average_precision_score(is_positive, p):.3f}" in seen.text
    assert f"Predicted {label}" in seen.tables["Thresholds for costs of errors, held out"][0]
    for row in seen.tables["Thresholds for costs of errors, held out"][1:]:
        called = p > 1 / (1 + float(row[0]))
        assert (int(row[3]), int(row[4])) == ((is_positive & ~called).sum(), (called & ~is_positive).sum())
    assert ("positive='good' shows the other one" in seen.text) == (positive is None)
    call = re.search(r"model\.decide\(.*\)", seen.text)
    assert call
    at = facts.model.predict_proba(X)[:, ["bad", "good"].index(label)] > 1 / 6
    np.testing.assert_array_equal(evaluated(call[0], facts)["action"].values == label, at)


def test_a_positive_class_that_cannot_be_is_refused(folder: Path, capsys: pytest.CaptureFixture) -> None:
    X, y = rare_first()
    with pytest.raises(ValueError, match="positive='worse' is none of the classes: bad, good"):
        report(nb.GaussianNB(), X, y, positive="worse")
    three = np.where(np.arange(200) < 9, "fine", y)
    with pytest.raises(ValueError, match="positive='bad' is for two classes, and there are 3"):
        report(nb.GaussianNB(), X, three, positive="bad")
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv("t.csv", index=False)
    assert main(["report", "t.csv", "--target", "y", "--positive", "worse"]) == 1
    assert "--positive worse is none of the classes: bad, good" in capsys.readouterr().err
    assert main(["report", "t.csv", "--target", "y", "--positive", "good"]) == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "A row of class good ranks above" in " ".join(Page(page).text.split())
    assert main(["report", "t.csv", "--target", "y"]) == 0
    page = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert "--positive good shows the other one" in " ".join(page.split())


@pytest.mark.slow
def test_only_two_classes_have_thresholds() -> None:
    page = report(nb.NaiveBayes(), *five_tables.junk_rows(40))
    assert '<h2 id="thresholds">' in page
    assert '<h2 id="thresholds">' not in report(nb.NaiveBayes(), *five_tables.twenty_classes(60), brief=True)


def test_the_column_overview_is_that_of_the_table() -> None:
    facts = facts_of("credit")
    X = facts.X
    rows = {name: rest for name, *rest in Page(section("columns", facts)).tables["Column overview"][1:]}
    assert list(rows) == list(X.columns)
    for name, (_, missing, distinct, contents) in rows.items():
        lacking = int(X[name].isna().sum())
        assert missing == (f"{lacking} ({100 * lacking / len(X):.1f} %)" if lacking else "0")
        assert int(distinct.replace(",", "")) == X[name].nunique()
        if name == "history":
            shares = X[name].value_counts(normalize=True)
            assert contents == ", ".join(f"{level} {100 * share:.0f} %" for level, share in shares.items())
        if name == "age":
            assert contents == f"{X[name].min()} to {X[name].max()}, median {X[name].median():g}"


@pytest.mark.slow
def test_the_model_card_holds_what_was_given_and_the_data() -> None:
    X, y = five_tables.junk_rows(60)
    page = report(nb.NaiveBayes(), X, y, title="Who returns?", author="The shop", use="Planning of returns")
    seen = Page(page)
    assert "<title>Who returns?</title>" in page
    assert '<meta name="author" content="The shop">' in page
    card = Page(section("card", gather(nb.NaiveBayes(), X, y, about=About(use="Planning of returns")))).text
    for text in (seen.text, card):
        assert "Planning of returns" in text
        assert "60 rows and 5 columns" in text
        assert "Open warnings: Identifier columns" in text
    assert "use='...'" in Page(section("card", gather(nb.NaiveBayes(), X, y))).text


def test_intervals_have_the_probability_that_was_asked_for() -> None:
    X, y = five_tables.penguin_rows()
    narrow, wide = (
        Page(section("scores", gather(nb.NaiveBayes(), X[::4], y[::4], about=About(ci_prob=prob))))
        for prob in (None, 0.99)
    )
    spans = [
        [float(end) for end in re.findall(r"\((\d+) to (\d+)\)", next(iter(page.tables.values()))[1][1])[0]]
        for page in (narrow, wide)
    ]
    assert spans[1][1] - spans[1][0] > spans[0][1] - spans[0][0]
    assert "Scores, with 99 % intervals" in wide.tables
    assert "89 %, the default of ArviZ" in narrow.text
    assert "default of ArviZ" not in wide.text
    with pytest.raises(ValueError, match="ci_prob"):
        report(nb.NaiveBayes(), X, y, ci_prob=2)


@pytest.mark.slow
def test_later_sections_start_closed() -> None:
    page = report(nb.NaiveBayes(), *five_tables.junk_rows(40))
    order = re.findall(r'<section aria-labelledby="(\w+)">(<details class="section">)?', page)
    assert [bool(closed) for _, closed in order] == [False] * 4 + [True] * (len(order) - 4)
    assert all(a <= b for a, b in pairwise(bool(closed) for _, closed in order))
