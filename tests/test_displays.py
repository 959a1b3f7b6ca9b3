"""Results show themselves as tables, and give frames with the same numbers."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from nbclient import NotebookClient

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.results.tables import LATEX

TABLE = penguins()
X = TABLE.drop(columns="species")
Y = TABLE["species"]
CLASSES = ["Adelie", "Chinstrap", "Gentoo"]


@pytest.fixture(scope="module")
def model() -> nb.NaiveBayes:
    return nb.NaiveBayes().fit(X, Y)


@pytest.fixture(scope="module")
def results(model: nb.NaiveBayes) -> dict[str, Any]:
    numbers = X[["bill_length_mm", "body_mass_g"]].fillna(40)
    linear = nb.NaiveBayes(nb.Gaussian(shared=True)).fit(numbers, Y)
    return {
        "intervals": model.predict_interval(X, ci_prob=0.8),
        "uncertainty": model.uncertainty(X),
        "decide": model.decide(X, abstain=0.05),
        "explain": model.explain(X.iloc[:4]),
        "choices": model.choices_,
        "links": model.links_,
        "importance": nb.importance(model, X, Y),
        "relevance": nb.relevance(model),
        "dependence": nb.dependence(model, X, Y),
        "calibration": nb.calibration(model, X, Y),
        "linear form": linear.linear_form(),
        "linear form against": linear.linear_form(against="Gentoo"),
    }


OTHERS: dict[str, Any] = {
    "loo": lambda model: model.loo(X, Y),
    "kfold": lambda model: model.kfold(X, Y, folds=3),
    "summary": lambda model: model.summary(),
    "compare": lambda _: nb.compare(
        {"one": nb.NaiveBayes("gaussian"), "two": nb.NaiveBayes("categorical")}, X[["year"]], Y
    ),
    "tune": lambda _: nb.tune(nb.NaiveBayes("categorical"), X[["island"]], Y).tuning,
    "smoothing": lambda _: nb.compare_smoothing(nb.CategoricalNB(), X[["island"]], Y, (0.5, 1)),
    "partition": lambda _: nb.partition(nb.NaiveBayes("categorical"), X[["island", "sex"]], Y),
    "no links": lambda _: nb.NaiveBayes().fit(X[["year"]], Y).links_,
    "no choices": lambda _: nb.NaiveBayes("gaussian").fit(X[["year"]], Y).choices_,
}


def test_every_result_is_a_dataset_that_shows_a_short_table(results: dict[str, Any]) -> None:
    for name, result in results.items():
        assert isinstance(result, xr.Dataset), name
        text = repr(result)
        page = result._repr_html_()
        assert len(text.splitlines()) < 70, name
        assert "Dimensions:" not in text, name
        assert "<table" in page, name
        assert "<details><summary>xarray.Dataset</summary>" in page, name
        assert isinstance(result.to_frame(), pd.DataFrame), name


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_every_other_result_has_a_table_and_a_frame(model: nb.NaiveBayes, make: Any) -> None:
    result = make(model)
    assert type(result.to_frame()) is pd.DataFrame
    assert result._repr_html_().startswith("<")
    assert repr(result)


def test_frames_have_the_numbers_of_the_datasets(
    model: nb.NaiveBayes, results: dict[str, Any]
) -> None:
    for name in ("probability", "median", "lower", "upper"):
        column = results["intervals"].to_frame()[name].to_numpy()
        np.testing.assert_array_equal(column.reshape(len(X), 3), results["intervals"][name])
    shares = results["uncertainty"].to_frame().filter(like="probability_")
    np.testing.assert_array_equal(shares, results["uncertainty"]["probability"])
    decided = results["decide"].to_frame()
    least = decided.filter(regex="^loss_").min(axis=1).clip(upper=0.05)
    np.testing.assert_allclose(decided["expected_loss"], least)
    assert (decided["action"].isna() == decided["abstained"]).all()
    sums = (
        results["explain"]
        .to_frame()
        .groupby(level=["obs_id", "class"], sort=False)["evidence"]
        .sum()
    )
    np.testing.assert_allclose(sums.to_numpy().reshape(4, 3), results["explain"]["score"])
    pairs = results["dependence"].to_frame()
    assert len(pairs) == 7 * 6 // 2
    for (one, other), value in pairs["log_bayes_factor"].items():
        factors = results["dependence"]["log_bayes_factor"]
        assert value == factors.sel(feature=one, feature_2=other)
    bins = results["calibration"].to_frame()
    found = results["calibration"]["observed"]
    assert bins.loc[("Gentoo", 3), "observed"] == found.sel({"class": "Gentoo", "bin": 3})
    scores = model.loo(X, Y)
    assert scores.to_frame()["elpd_i"].sum() == pytest.approx(scores.elpd)


def test_calibration_and_held_out_probabilities_are_those_of_the_same_rows() -> None:
    rows = X[["body_mass_g"]].iloc[::-7]
    labels = Y.iloc[::-7]
    model = nb.NaiveBayes("gaussian").fit(rows, labels)
    found = nb.calibration(model, rows, labels)["probability"]
    exact = model.loo_proba(rows, labels)
    xr.testing.assert_allclose(found.reset_coords(drop=True), exact)


def test_held_out_scores_say_what_the_rows_chose_and_what_of_it_is_kept(
    model: nb.NaiveBayes,
) -> None:
    scores = model.loo(X, Y)
    for words in (repr(scores), scores._repr_html_(), scores.elpd_i.attrs["selection"]):
        assert "links and covariance were chosen using all rows and are kept." in words
    assert "chosen" not in repr(nb.NaiveBayes("categorical").fit(X, Y).loo(X, Y))


def test_long_results_show_their_ends_no_wider_than_the_terminal(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = repr(results["intervals"])
    assert text.startswith("Class probabilities with 80 % intervals")
    notes = text.split("\n\n")[-2:]
    assert notes[0] == "Not all rows are shown; .to_frame() has them."
    assert notes[1].startswith("A probability is a mean.")
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in ("intervals", "uncertainty", "relevance"):
            table = repr(results[name]).split("\n\n")[1]
            assert max(map(len, table.splitlines())) <= columns, name


def test_means_outside_their_intervals_are_counted(results: dict[str, Any]) -> None:
    intervals = results["intervals"]
    mean = intervals.probability
    distance = np.maximum(intervals.lower - mean, mean - intervals.upper)
    rows = int((distance > 0.001).any("class").sum())
    assert 0 < rows < 20
    assert f"In {rows} of 344 rows it is outside its interval" in repr(intervals)
    inside = (
        nb.GaussianNB().fit([[0.0], [1.0], [10.0], [11.0]], list("aabb")).predict_interval([[5.0]])
    )
    assert "outside" not in repr(inside)


def test_a_selection_still_shows_its_rows(results: dict[str, Any]) -> None:
    for name, places in {
        "intervals": {"obs_id": 5},
        "explain": {"obs_id": 0},
        "uncertainty": {"obs_id": 0},
        "relevance": {"feature": [2, 0]},
        "linear form": {"class": 2},
        "calibration": {"class": 2},
    }.items():
        part = results[name].isel(places)
        assert "Dimensions:" not in repr(part), name
        assert 0 < len(part.to_frame()) < len(results[name].to_frame()), name


def test_what_has_lost_a_column_or_an_axis_of_the_table_shows_itself_as_any_dataset(
    results: dict[str, Any],
) -> None:
    intervals = results["intervals"]
    for changed in (
        intervals.mean("obs_id"),
        np.exp(intervals),
        intervals[["median"]],
        intervals.rename(lower="low"),
        intervals.stack(each=("obs_id", "class")),
    ):
        assert "Dimensions:" in repr(changed)


@pytest.mark.slow
def test_a_result_is_copied_pickled_joined_and_written_as_any_dataset(
    results: dict[str, Any], tmp_path: Path
) -> None:
    for name, result in results.items():
        for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
            assert again.identical(result), name
            assert repr(again) == repr(result), name
    intervals = results["intervals"]
    halves = [intervals.isel(obs_id=slice(100)), intervals.isel(obs_id=slice(100, None))]
    assert repr(xr.concat(halves, "obs_id")) == repr(intervals)
    assert repr(intervals.transpose("class", "obs_id")) == repr(intervals)
    intervals.to_netcdf(tmp_path / "intervals.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "intervals.nc", engine="scipy") as read:
        np.testing.assert_array_equal(read["median"], intervals["median"])


def test_rounded_numbers_are_never_certain_and_names_are_escaped() -> None:
    frame = pd.DataFrame({"<b>\nx": [1.0, 2.0, 4.0, 5.0], "y" * 200: list("aabb")})
    model = nb.NaiveBayes(dependence=None, class_prior={"<i>": 1e-5, "k\tm": 1 - 1e-5})
    model.fit(frame, ["<i>", "<i>", "k\tm", "k\tm"])
    sure = model.predict_interval(frame)
    assert ">0.999" in repr(sure)
    assert "<0.001" in repr(sure)
    for result in (sure, model.explain(frame), nb.relevance(model), model.summary()):
        page = result._repr_html_().split("<details>")[0]
        assert "<i>" not in page
        assert "<b> x" not in page
        assert max(map(len, repr(result).splitlines())) < 130


SIGNS = re.compile("|".join(map(re.escape, sorted(LATEX.values(), key=len, reverse=True))) + "|.")
PLAIN = {command: chr(code) for code, command in LATEX.items()}


def read_latex(text: str) -> list[list[str]]:
    """Return the cells of a table as LaTeX prints them; a sign that is a command is an error."""
    body = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
    rows = []
    for line in body.replace("\\midrule\n", "").splitlines():
        cells = [""]
        for sign in SIGNS.findall(line.removesuffix(r"\\")):
            if sign == "&":
                cells.append("")
            else:
                assert sign in PLAIN or sign not in r"%$#_{}~^\\[*", line
                cells[-1] += PLAIN.get(sign, sign)
        rows.append([cell.strip() for cell in cells])
    return rows


def test_latex_prints_the_cells_that_are_shown_whatever_their_signs() -> None:
    signs = "a_b & c% $d# {e} ~f^ \\g <h>|i [j]* → ∞ 10⁻⁷"
    frame = pd.DataFrame({signs: ["[0, 1)", "*", "[0, 1)", "x"], "x_1": [1.0, 2.0, 4.0, 5.0]})
    model = nb.NaiveBayes(dependence=None).fit(frame, ["^"] * 2 + [signs] * 2)
    assert [row[0] for row in read_latex(model.summary().to_latex())] == [
        "",
        "feature",
        signs,
        "x_1",
    ]
    heading, names, *rows = read_latex(model.explain(frame).to_latex())
    assert heading[2:] == ["^", signs]
    assert names[:2] == ["obs_id", "feature = cell"]
    assert [row[1].rpartition(" = ")[2] for row in rows[1:9:4]] == ["[0, 1)", "*"]


@pytest.mark.parametrize("name", ["compare", "smoothing", "partition", "no links", "summary"])
def test_every_table_that_is_shown_can_be_had_in_latex(model: nb.NaiveBayes, name: str) -> None:
    result = OTHERS[name](model)
    latex = result.to_latex(label="tab:a", caption="b")
    assert r"\caption{b}" in latex
    assert r"\label{tab:a}" in latex
    heading = read_latex(latex)[0]
    assert {*heading} - {""} <= {*result.to_frame().columns}


def test_latex_has_all_rows_also_of_a_result_without_its_table(results: dict[str, Any]) -> None:
    intervals = results["intervals"]
    assert len(read_latex(intervals.to_latex())) == 2 + len(X) * len(CLASSES)
    assert len(read_latex(intervals.mean("obs_id").to_latex())) == 2 + len(CLASSES)


SUMMARISED = {
    "auto": (nb.NaiveBayes(), X),
    "blocks": (nb.NaiveBayes({("island", "sex"): nb.JointTable()}, class_prior="uniform"), X),
    "MultinomialNB": (nb.MultinomialNB(), X[["year", "body_mass_g"]].fillna(0)),
    "lists of words": (nb.NaiveBayes(), [island.split() for island in X["island"]]),
}


@pytest.mark.parametrize("name", SUMMARISED)
def test_a_summary_has_the_numbers_of_the_model(name: str) -> None:
    estimator, rows = SUMMARISED[name]
    model = estimator.fit(rows, Y)
    summary = model.summary()
    frame = model.summary().to_frame()
    terms = {}
    for key, value in model.log_evidence_by_feature().items():
        terms[", ".join(map(str, key)) if isinstance(key, tuple) else key] = value
    for feature, row in frame.iterrows():
        assert row["log_evidence"] == pytest.approx(terms[feature])
    np.testing.assert_array_equal(frame["temper"], np.broadcast_to(model.temper_, len(frame)))
    evidence = f"{model.log_evidence_:,.1f}".replace("-", "\N{MINUS SIGN}")
    assert f"Log evidence: {evidence} nats" in repr(summary)
    assert "Adelie (152), Chinstrap (68), Gentoo (124)" in repr(summary)
    if name == "auto":
        np.testing.assert_allclose(frame["inclusion"], nb.relevance(model)["inclusion"])
        assert frame["missing"].to_dict() == X.isna().sum().to_dict()
        assert f"{model.links_.sizes['link']} links between columns" in repr(summary)


def test_a_summary_without_evidence_or_with_numbers_as_names() -> None:
    improper = nb.CategoricalNB(alpha=0, estimate="mle").fit([["a"], ["b"], ["a"]], [0, 0, 1])
    assert improper.summary().to_frame()["log_evidence"].isna().all()
    assert "Log evidence: undefined" in repr(improper.summary())
    years = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=[2020, 2021])
    assert "2,020" not in repr(nb.GaussianNB().fit(years, [0, 1] * 25).summary())


# In a notebook

CELLS = {  # code, and how many pictures appear
    "ax = nb.plot_relevance(model)": 1,
    "nb.plot_waterfall(model, X)": 1,
    "axes = nb.plot_boundary(model); ax = nb.plot_relevance(model)": 2,
    "import matplotlib.pyplot as plt; ax = nb.plot_relevance(model)": 1,
    "figure, ax = plt.subplots(); nb.plot_waterfall(model, X, ax=ax)": 1,
    "ax = nb.plot_relevance(model); plt.show()": 1,
    "nb.report.report(model, X, y)": 0,
}
START = """
import bayesnb as nb
from bayesnb.datasets import dogs
X, y = dogs().drop(columns="breed"), dogs()["breed"]
model = nb.NaiveBayes().fit(X, y)
"""


@pytest.mark.slow  # a kernel
def test_a_notebook_shows_each_figure_once_and_a_page_in_a_frame() -> None:
    cells = [nbformat.v4.new_code_cell(code) for code in (START, *CELLS)]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    for cell, expected in zip(book.cells[1:], CELLS.values(), strict=True):
        shown = sum("image/png" in output.get("data", {}) for output in cell.outputs)
        assert shown == expected, cell.source
    (page,) = book.cells[-1].outputs
    assert page["data"]["text/html"].startswith("<iframe")
