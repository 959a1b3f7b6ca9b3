"""Results show themselves as tables, in a terminal and a notebook, and give frames with the same numbers."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import arviz_stats
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.exceptions import NotFittedError

import bayesnb as nb
from bayesnb.datasets import dogs, penguins
from bayesnb.results.result_tables import ResultDataset, fixed, number, plus_minus, probability, small

TABLE = penguins()
X, Y = TABLE.drop(columns="species"), TABLE["species"]
CLASSES = ["Adelie", "Chinstrap", "Gentoo"]


@pytest.fixture(scope="module")
def model() -> nb.NaiveBayes:
    return nb.NaiveBayes().fit(X, Y)


@pytest.fixture(scope="module")
def linear() -> nb.NaiveBayes:
    return nb.NaiveBayes(nb.Gaussian(shared=True)).fit(X[["bill_length_mm", "body_mass_g"]].fillna(40), Y)


@pytest.fixture(scope="module")
def results(model: nb.NaiveBayes, linear: nb.NaiveBayes) -> dict[str, Any]:
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


def test_every_result_is_a_dataset_and_shows_a_short_table_with_the_dataset_folded_below(
    results: dict[str, Any],
) -> None:
    for name, result in results.items():
        assert isinstance(result, xr.Dataset), name
        text, page = repr(result), result._repr_html_()
        assert len(text.splitlines()) < 70, name
        assert "Dimensions:" not in text, name
        assert "<table>" in page, name
        assert "<details><summary>xarray.Dataset</summary>" in page, name
        assert isinstance(result.to_frame(), pd.DataFrame), name


def test_frames_of_rows_have_the_numbers_of_the_datasets(results: dict[str, Any]) -> None:
    intervals, frame = results["intervals"], results["intervals"].to_frame()
    assert frame.index.names == ["obs_id", "class"]
    assert list(frame.columns) == ["probability", "median", "lower", "upper"]
    for name in frame:
        np.testing.assert_array_equal(frame[name].to_numpy().reshape(len(X), 3), intervals[name].values)
    frame = results["uncertainty"].to_frame()
    assert list(frame.index) == list(X.index)
    assert list(frame.columns) == [
        "entropy", "aleatoric", "epistemic", "log_density", *(f"probability_{label}" for label in CLASSES)
    ]  # fmt: skip
    np.testing.assert_array_equal(frame.iloc[:, 4:], results["uncertainty"]["probability"])
    frame = results["decide"].to_frame()
    least = frame.filter(regex="^loss_").min(axis=1).clip(upper=0.05)
    np.testing.assert_allclose(frame["expected_loss"], least)
    assert (frame["action"].isna() == frame["abstained"]).all()


def test_frames_of_explanations_and_linear_forms_add_up_to_the_scores(
    model: nb.NaiveBayes, linear: nb.NaiveBayes, results: dict[str, Any]
) -> None:
    explained, frame = results["explain"], results["explain"].to_frame()
    assert frame.index.names == ["obs_id", "class", "feature"]
    assert list(frame.columns) == ["cell", "evidence", "sd", "predictive"]
    sums = frame.groupby(level=["obs_id", "class"], sort=False)[["evidence", "predictive"]].sum()
    np.testing.assert_allclose(sums["evidence"].to_numpy().reshape(4, 3), explained["score"])
    log_odds = sums["predictive"].to_numpy(copy=True).reshape(4, 3)
    log_odds -= np.logaddexp.reduce(log_odds, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_odds), model.predict_proba(X.iloc[:4]), atol=1e-9)
    weights = (
        results["linear form"].to_frame()["w"].unstack("feature")[["(intercept)", "bill_length_mm", "body_mass_g"]]
    )
    rows = X[["bill_length_mm", "body_mass_g"]].fillna(40).iloc[:5]
    scores = weights.to_numpy() @ np.column_stack([np.ones(5), linear.linear_features(rows)]).T
    form = linear.linear_form()
    np.testing.assert_allclose(scores.T, linear.linear_features(rows) @ form.w.values.T + form.b.values)


def test_frames_of_columns_have_a_row_for_each_column_pair_or_link(results: dict[str, Any]) -> None:
    relevance, links, choices = (results[name] for name in ("relevance", "links", "choices"))
    assert list(relevance.to_frame().index) == list(X.columns)
    np.testing.assert_array_equal(relevance.to_frame()["inclusion"], relevance["inclusion"])
    assert list(links.to_frame()["second"]) == links["second"].values.tolist()
    chosen = choices.to_frame()
    for name, row in chosen.iterrows():
        assert row[f"elpd_{row['chosen']}"] == choices["elpd"].sel(feature=name, candidate=row["chosen"])
    dependence = results["dependence"]
    frame = dependence.to_frame()
    assert len(frame) == 7 * 6 // 2
    for (one, other), value in frame["log_bayes_factor"].items():
        assert value == dependence["log_bayes_factor"].sel(feature=one, feature_2=other)
    np.testing.assert_allclose(frame.iloc[:, 1:].sum(axis=1), frame["log_bayes_factor"])


def test_frames_of_calibration_have_a_row_for_each_class_and_bin(results: dict[str, Any]) -> None:
    calibration = results["calibration"]
    frame = calibration.to_frame()
    assert frame.index.names == ["class", "bin"]
    assert frame.loc[("Gentoo", 3), "observed"] == calibration["observed"].sel({"class": "Gentoo", "bin": 3})
    for name in ("accuracy", "log_loss", "brier", "ece"):
        assert small(float(calibration[name])) in repr(calibration)


@pytest.mark.slow
def test_captions_say_what_was_asked(model: nb.NaiveBayes) -> None:
    fixed_rows = model.predict_interval(X.iloc[:2], ci_prob=0.5, rows="fixed")
    assert repr(fixed_rows).startswith("Class probabilities with 50 % intervals, rows fixed")
    assert "89 % intervals, rows observed" in model.predict_interval(X.iloc[:2])._repr_html_()


def test_long_results_show_their_ends_with_a_count(results: dict[str, Any]) -> None:
    text = repr(results["intervals"])
    assert text.endswith("344 rows in all; .to_frame() has all of them.")
    table = text.split("\n\n")[1].splitlines()
    rows = [line.split()[0] for line in table if line.split()[0].isdigit()]
    assert rows == ["0", "1", "2", "341", "342", "343"]
    assert "in all" not in repr(results["intervals"].isel(obs_id=slice(3)))


def test_a_table_is_no_wider_than_the_terminal(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in ("intervals", "uncertainty", "relevance"):
            table = repr(results[name]).split("\n\n")[1]
            assert max(map(len, table.splitlines())) <= columns, name
    assert "probability_Chinstrap" in repr(results["uncertainty"])


def test_a_selection_still_shows_its_rows(results: dict[str, Any]) -> None:
    intervals = results["intervals"]
    one = intervals.isel(obs_id=5)
    assert isinstance(one, ResultDataset)
    assert list(one.to_frame().index) == [(5, label) for label in CLASSES]
    assert list(intervals.sel({"class": "Gentoo"}).to_frame().index) == [(row, "Gentoo") for row in X.index]
    assert one.sel({"class": "Adelie"}).to_frame().shape == (1, 4)
    assert repr(one).startswith("Class probabilities with 80 % intervals")
    for name, selected in {
        "explain": results["explain"].isel(obs_id=0),
        "uncertainty": results["uncertainty"].isel({"obs_id": 0}),
        "uncertainty of a class": results["uncertainty"].sel({"class": "Gentoo"}),
        "linear form": results["linear form"].sel({"class": "Gentoo"}),
        "relevance": results["relevance"].isel(feature=[2, 0]),
        "calibration": results["calibration"].sel({"class": "Gentoo"}),
    }.items():
        assert "Dimensions:" not in repr(selected), name
        assert len(selected.to_frame()), name


def test_a_selection_of_features_adds_up_to_what_is_shown(linear: nb.NaiveBayes) -> None:
    rows = X[["bill_length_mm", "body_mass_g"]].fillna(40).iloc[:1]
    explained = linear.explain(rows)
    part = explained.isel(feature=[0])
    total = (explained["class_term"] + explained["evidence"].isel(feature=0, obs_id=0)).values
    (line,) = [line for line in repr(part).splitlines() if "  (total)" in line]
    assert line.split()[1:] == [fixed(value) for value in total]
    (line,) = [line for line in repr(explained).splitlines() if "  (total)" in line]
    assert line.split()[1] == fixed(float(explained["score"][0, 0]))


def test_what_is_computed_from_a_result_has_no_title_that_is_no_longer_true(results: dict[str, Any]) -> None:
    intervals = results["intervals"]
    for changed in (
        1 - intervals, -intervals, intervals - intervals, intervals.map(np.sqrt), intervals.mean("obs_id"),
        intervals.quantile(0.5, "obs_id"), intervals < 0.5, intervals.diff("obs_id"), intervals.cumsum("obs_id"),
        intervals.groupby("class").mean(), np.exp(intervals), intervals.clip(0, 0.5),
        intervals[["median"]], intervals.rename(lower="low"), intervals.drop_vars("upper"),
        intervals.stack(each=("obs_id", "class")), results["dependence"].sel(feature="sex"),
    ):  # fmt: skip
        assert "Dimensions:" in repr(changed)
        assert "xr-header" in changed._repr_html_()
    np.testing.assert_array_equal((1 - intervals)["lower"], 1 - intervals["lower"])
    assert isinstance(intervals[["median"]].to_frame(), pd.DataFrame)


@pytest.mark.slow
def test_a_result_is_copied_pickled_joined_and_written_as_any_dataset(results: dict[str, Any], tmp_path: Path) -> None:
    for name, result in results.items():
        for again in (
            copy.copy(result),
            copy.deepcopy(result),
            pickle.loads(pickle.dumps(result)),
            result.assign_attrs(a=1),
        ):
            assert repr(again) == repr(result), name
            assert again.identical(result) or again.attrs["a"] == 1
        assert len(result.to_dataframe()), name
    intervals = results["intervals"]
    halves = [intervals.isel(obs_id=slice(100)), intervals.isel(obs_id=slice(100, None))]
    joined = xr.concat(halves, "obs_id")
    assert repr(joined) == repr(intervals)
    intervals.to_netcdf(tmp_path / "intervals.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "intervals.nc", engine="scipy") as read:
        np.testing.assert_array_equal(read["median"], intervals["median"])
    assert repr(intervals.transpose("class", "obs_id")) == repr(intervals)
    assert repr(intervals.sortby("obs_id", ascending=False)) != repr(intervals)


def test_an_empty_result_is_shown_too() -> None:
    rng = np.random.default_rng(0)
    model = nb.NaiveBayes().fit(rng.normal(size=(40, 2)), np.arange(40) % 2)
    assert repr(model.links_).startswith("No links between columns")
    assert list(model.links_.to_frame().columns)[:2] == ["first", "second"]
    declared = nb.GaussianNB().fit([[1.0], [2.0], [4.0]], [0, 0, 1])
    assert repr(declared.choices_).startswith("No family was chosen among several")
    assert declared.choices_.to_frame().empty


def test_leave_one_out_scores_are_shown_and_have_a_frame(model: nb.NaiveBayes) -> None:
    for scores in (model.loo(X, Y), model.kfold(X, Y, folds=3)):
        frame = scores.to_frame()
        assert list(frame.columns) == ["elpd_i"]
        assert frame["elpd_i"].sum() == pytest.approx(scores.elpd)
        assert f"elpd_{scores.kind}" in scores._repr_html_()
        assert number(scores.se) in scores._repr_html_()


def test_comparisons_stay_frames_and_what_is_taken_from_them_is_plain() -> None:
    tables = nb.compare({"one": nb.NaiveBayes("gaussian"), "two": nb.NaiveBayes("categorical")}, X[["year"]], Y)
    assert isinstance(tables, pd.DataFrame)
    assert type(tables.to_frame()) is pd.DataFrame
    assert type(tables.sort_index()) is pd.DataFrame
    assert type(tables.loc[["one"]]) is pd.DataFrame
    assert repr(tables).startswith("Leave-one-out over 344 rows")
    assert repr(pickle.loads(pickle.dumps(tables))) == repr(tables)
    tuned = nb.tune(nb.NaiveBayes("categorical"), X[["island"]], Y).tuning
    assert list(tuned.to_frame().index) == ["before", "after"]
    assert "before" in repr(tuned)
    assert "<td" in tuned._repr_html_()
    smoothing = nb.compare_smoothing(nb.CategoricalNB(), X[["island"]], Y, (0.5, 1), ("mean",))
    pd.testing.assert_frame_equal(smoothing.to_frame(), smoothing.table)
    blocks = nb.partition(nb.NaiveBayes("categorical"), X[["island", "sex"]], Y)
    pd.testing.assert_frame_equal(blocks.to_frame(), blocks.table)


def test_arviz_takes_what_is_shown(model: nb.NaiveBayes) -> None:
    plain = nb.NaiveBayes("gaussian").fit(X[["year"]], Y)
    table = arviz_stats.compare({"all": model.loo(X, Y), "year": plain.loo(X[["year"]], Y)})
    assert table.index[0] == "all"


@pytest.mark.parametrize(
    ("format_", "value", "shown"),
    [
        (probability, 0.0, "0.000"), (probability, 1e-9, "<0.001"), (probability, 0.99999, ">0.999"),
        (probability, 1.0, "1.000"), (probability, 0.1234, "0.123"), (small, -1e-5, ">-0.001"), (small, 2.5, "2.500"),
        (number, -1234.5, "-1,234"), (number, 0.012345, "0.012"), (number, float("nan"), ""), (number, -np.inf, "-inf"),
        (fixed, -0.001, "0.00"), (fixed, 1e5, "100,000"),
    ],
)  # fmt: skip
def test_a_rounded_number_is_never_certain_where_it_is_not(format_: Any, value: float, shown: str) -> None:
    assert format_(value) == shown


def test_numbers_with_a_standard_deviation() -> None:
    assert plus_minus(1.234, 0.056) == "1.23 ± 0.06"
    assert plus_minus(-np.inf, 0.0) == "-inf"


def test_names_of_users_are_escaped_and_kept_on_one_line() -> None:
    frame = pd.DataFrame({"<b>\nx": [1.0, 2.0, 4.0, 5.0], "y" * 200: list("aabb")})
    model = nb.NaiveBayes(dependence=None).fit(frame, ["<i>", "<i>", "k\tm", "k\tm"])
    for result in (model.explain(frame), model.predict_interval(frame), nb.relevance(model), model.summary()):
        page = result._repr_html_().split("<details>")[0]
        assert "<i>" not in page
        assert "<b>\nx" not in page
        assert "<b> x" not in page
        assert max(map(len, repr(result).splitlines())) < 130


SUMMARISED = {
    "auto": (nb.NaiveBayes(), X),
    "declared": (nb.NaiveBayes("gaussian", class_prior="empirical"), X[["bill_length_mm", "year"]]),
    "shared": (nb.NaiveBayes(nb.Gaussian(shared=True)), X[["bill_length_mm", "year"]]),
    "blocks": (nb.NaiveBayes({("island", "sex"): nb.JointTable()}, class_prior="uniform"), X),
    "averaged": (nb.NaiveBayes(average_features=0.5), X[["island", "year"]]),
    "GaussianNB": (nb.GaussianNB(), X[["bill_length_mm", "year"]]),
    "PoissonNB": (nb.PoissonNB(), X[["year"]]),
    "BernoulliNB": (nb.BernoulliNB(), X[["year"]] - 2008.0),
    "CategoricalNB": (nb.CategoricalNB(), X[["island", "sex"]]),
    "MultinomialNB": (nb.MultinomialNB(class_prior=[0.2, 0.3, 0.5]), X[["year", "body_mass_g"]].fillna(0)),
    "lists of words": (nb.NaiveBayes(), [str(row).split() for row in X["island"] + " " + X["sex"].fillna("none")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMMARISED)
def test_a_summary_has_the_numbers_of_the_model(name: str, tmp_path: Path) -> None:
    estimator, rows = SUMMARISED[name]
    model = estimator.fit(rows, Y)
    summary = model.summary()
    frame = summary.to_frame()
    by_feature = {key if not isinstance(key, tuple) else ", ".join(map(str, key)): value
                  for key, value in model.log_evidence_by_feature().items() if "links_" not in str(key)}  # fmt: skip
    for feature, row in frame.iterrows():
        assert row["log_evidence"] == pytest.approx(by_feature[feature])
    assert list(frame.columns) == [
        "family", "prior", "log_evidence", "temper", "temper_sd",
        "log_bayes_factor", "inclusion", "missing", "chosen_over",
    ]  # fmt: skip
    np.testing.assert_array_equal(frame["temper"], np.broadcast_to(model.temper_, len(frame)))
    assert f"Log evidence: {model.log_evidence_:,.1f} nats" in repr(summary)
    assert "Adelie (152), Chinstrap (68), Gentoo (124)" in repr(summary)
    relevance = nb.relevance(model)
    if "block" in relevance.attrs:
        assert frame["log_bayes_factor"].iloc[0] == pytest.approx(relevance.attrs["block_log_bayes_factor"][0])
    else:
        np.testing.assert_allclose(frame["log_bayes_factor"], relevance["log_bayes_factor"])
        np.testing.assert_allclose(frame["inclusion"], relevance["inclusion"])
    model.save(tmp_path / "model.bnb")
    assert repr(nb.load(tmp_path / "model.bnb").summary()) == repr(summary)
    assert "<table>" in summary._repr_html_()


def test_names_of_columns_are_shown_as_they_are_even_if_they_are_numbers() -> None:
    x, y = np.random.default_rng(0).normal(size=(50, 2)), [0, 1] * 25
    shown = repr(nb.GaussianNB().fit(x, y).summary()), repr(nb.GaussianNB().fit(x, y).explain(x[:1]))
    assert all(re.search(r"^ *0  ", text, re.MULTILINE) for text in shown)
    years = nb.GaussianNB().fit(pd.DataFrame(x, columns=[2020, 2021]), y)
    assert "2020" in repr(years.summary())
    assert "2,020" not in repr(years.summary())


def test_a_summary_counts_missing_cells_and_names_what_families_were_chosen_over(model: nb.NaiveBayes) -> None:
    frame = model.summary().to_frame()
    assert frame["missing"].to_dict() == X.isna().sum().to_dict()
    choices = model.choices_
    for name in choices["feature"].values:
        scores, chosen = choices["elpd"].sel(feature=name), choices["chosen"].sel(feature=name).item()
        rivals = [c for c in choices["candidate"].values if c != chosen and np.isfinite(scores.sel(candidate=c))]
        gaps = [f"({float(scores.sel(candidate=c) - scores.sel(candidate=chosen)):+.1f})" for c in rivals]
        assert all(gap in frame.loc[name, "chosen_over"] for gap in gaps)
        assert frame.loc[name, "chosen_over"].count("(+") + frame.loc[name, "chosen_over"].count("(-") == len(gaps)
    links = model.links_
    said = f"{links.sizes['link']} links between columns, {int(links['in_forest'].sum())} of them in the forest"
    assert said in repr(model.summary())


def test_a_summary_of_an_improper_prior_has_no_evidence() -> None:
    summary = nb.CategoricalNB(alpha=0, estimate="mle").fit([["a"], ["b"], ["a"]], [0, 0, 1]).summary()
    assert summary.to_frame()[["log_evidence", "log_bayes_factor"]].isna().all(axis=None)
    assert "Log evidence: not defined, as a prior is improper" in repr(summary)
    assert "Without a Bayes factor" in repr(summary)


def test_a_summary_needs_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        nb.NaiveBayes().summary()


def test_the_box_links_to_the_documentation_where_its_address_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesnb.estimators import inspection

    table = dogs()
    model = nb.NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    monkeypatch.setattr(inspection, "metadata", lambda name: {})
    monkeypatch.setattr(inspection, "documentation", lambda: "")
    assert "Documentation for NaiveBayes" not in model._repr_html_()
    monkeypatch.setattr(inspection, "documentation", lambda: "https://example.org/docs/")
    assert "https://example.org/docs/generated/bayesnb.NaiveBayes.html" in model._repr_html_()
