"""Missing cells as evidence, `missing="auto"`: a model with columns of flags, written by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

import bayesnb
from bayesnb import Bernoulli, Categorical, Gaussian, NaiveBayes, importance, scale
from bayesnb.cli import main
from tests.hostile import members_of, packed

Array = np.ndarray
FAMILIES = {"age": Gaussian(), "town": Categorical(), "smokes": Bernoulli(), "pay": Gaussian()}
EVIDENCE = ["age", "town"]  # whose missing cells depend on the class


def draw(seed: int, rows: int, informative: bool = True) -> tuple[pd.DataFrame, Array]:
    """Return columns with missing cells, which depend on the class or do not, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "age": rng.normal(40 + 4 * y, 10),
            "town": np.array(["Bern", "Biel", "Brig"], object)[rng.integers(0, 3, rows)],
            "smokes": pd.array(rng.random(rows) < 0.3 + 0.1 * y, "boolean"),
            "pay": rng.normal(5 + y, 3),
        }
    )
    share = np.array([0.05, 0.2, 0.5] if informative else [0.25, 0.25, 0.25])[y]
    for name in EVIDENCE:
        table.loc[rng.random(rows) < share, name] = None
    table.loc[rng.random(rows) < 0.3, "pay"] = np.nan
    return table, np.array(["a", "b", "c"])[y]


def with_flags(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the flags as columns of their own."""
    flags = {f"{name} missing": table[name].isna() for name in EVIDENCE}
    return table.assign(**flags)


def fit_both(seed: int = 0, **options: Any) -> tuple[NaiveBayes, NaiveBayes, pd.DataFrame, Array]:
    """Return a model of missing cells, and one of flags written by hand."""
    table, y = draw(seed, 400)
    ours = NaiveBayes(FAMILIES, missing="auto", **options).fit(table, y)
    flags = {f"{name} missing": Bernoulli() for name in EVIDENCE}
    by_hand = NaiveBayes({**FAMILIES, **flags}, **options).fit(with_flags(table), y)
    return ours, by_hand, table, y


@pytest.mark.parametrize("temper", [None, 0.6, "loo", "columns"])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_it_is_the_model_with_a_flag_beside_each_column(temper: Any, estimate: str) -> None:
    ours, by_hand, table, y = fit_both(temper=temper, estimate=estimate)
    assert ours.missing_["feature"].values.tolist() == EVIDENCE
    new, _ = draw(1, 50)
    proba = by_hand.predict_proba(with_flags(new))
    np.testing.assert_allclose(ours.predict_proba(new), proba, rtol=1e-9)
    scores = by_hand.loo(with_flags(table), y).elpd_i
    np.testing.assert_allclose(ours.loo(table, y).elpd_i, scores, rtol=1e-8, atol=1e-12)
    if estimate == "predictive":
        intervals = by_hand.predict_interval(with_flags(new), 0.9)
        np.testing.assert_allclose(
            ours.predict_interval(new, 0.9).lower, intervals.lower, rtol=1e-6
        )
        explained = by_hand.explain(with_flags(new))["evidence"]
        for name in EVIDENCE:
            flag = f"{name} missing"
            np.testing.assert_allclose(
                ours.explain(new)["evidence"].sel(feature=flag), explained.sel(feature=flag)
            )


def test_it_stays_so_while_rows_come_and_go(tmp_path: Path) -> None:
    ours, by_hand, *_ = fit_both()
    new, labels = draw(1, 60)
    for model, rows in ((ours, new), (by_hand, with_flags(new))):
        model.partial_fit(rows, labels)
        model.forget(rows[:20], labels[:20])
        model.decay(0.9)
    asked, _ = draw(2, 50)
    expected = by_hand.predict_proba(with_flags(asked))
    np.testing.assert_allclose(ours.predict_proba(asked), expected, rtol=1e-9)
    ours.save(tmp_path / "model.bnb")
    again = bayesnb.load(tmp_path / "model.bnb")
    np.testing.assert_array_equal(again.predict_proba(asked), ours.predict_proba(asked))
    assert again.missing_.equals(ours.missing_)
    both = ours.merge(again)
    twice = by_hand.merge(by_hand).predict_proba(with_flags(asked))
    np.testing.assert_allclose(both.predict_proba(asked), twice, rtol=1e-9)


def test_omit_is_the_model_as_it_was() -> None:
    table, y = draw(0, 300)
    omit = NaiveBayes(missing="omit").fit(table, y)
    np.testing.assert_array_equal(
        omit.predict_proba(table), NaiveBayes().fit(table, y).predict_proba(table)
    )
    assert omit.missing_ is None
    whole = table.ffill().bfill()
    auto = NaiveBayes(missing="auto").fit(whole, y)
    np.testing.assert_array_equal(
        auto.predict_proba(table), NaiveBayes().fit(whole, y).predict_proba(table)
    )


def test_the_joint_distribution_is_that_of_the_columns_alone() -> None:
    ours, _, table, y = fit_both()
    omit = NaiveBayes(FAMILIES).fit(table, y)
    np.testing.assert_allclose(ours.log_evidence_, omit.log_evidence_, rtol=1e-12)
    np.testing.assert_allclose(ours.log_density(table), omit.log_density(table), rtol=1e-12)
    pd.testing.assert_frame_equal(ours.sample(20, rng=0)[0], omit.sample(20, rng=0)[0])


def test_it_gains_where_missing_cells_depend_on_the_class() -> None:
    table, y = draw(0, 600)
    new, labels = draw(1, 2_000)
    losses = []
    for missing in ("omit", "auto"):
        model = NaiveBayes(missing=missing).fit(table, y)
        losses.append(log_loss(labels, model.predict_proba(new)))
    assert losses[1] < losses[0] - 0.1


@pytest.mark.slow
def test_it_loses_next_to_nothing_where_cells_are_missing_at_random() -> None:
    lost = []
    kept = 0
    for seed in range(60):
        table, y = draw(seed, 200, informative=False)
        new, labels = draw(seed + 1_000, 500, informative=False)
        models = [NaiveBayes(missing=each).fit(table, y) for each in ("omit", "auto")]
        omit, auto = (log_loss(labels, model.predict_proba(new)) for model in models)
        lost.append(auto - omit)
        kept += models[1].missing_ is not None
    assert kept <= 3  # 5 % of 60
    assert np.mean(lost) < 0.002


def test_many_columns_that_are_missing_together_count_once() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 12))
    x[rng.random(400) < 0.2 + 0.3 * y] = np.nan
    new_y = rng.integers(0, 2, 4_000)
    new = rng.normal(size=(4_000, 12))
    new[rng.random(4_000) < 0.2 + 0.3 * new_y] = np.nan
    model = NaiveBayes(missing="auto").fit(x, y)
    assert len(model.missing_["feature"]) == 12
    truth = np.where(np.isnan(new[:, 0]), 0.5 / 0.7, 0.5 / 1.3)
    best = log_loss(new_y, truth)
    assert log_loss(new_y, model.predict_proba(new)) < best + 0.02


def test_importance_of_a_column_counts_its_flag() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    table = pd.DataFrame({"noise": rng.normal(size=500), "other": rng.normal(size=500) + y})
    table.loc[rng.random(500) < 0.1 + 0.6 * y, "noise"] = np.nan
    model = NaiveBayes(missing="auto").fit(table, y)
    assert importance(model, table, y)["importance"].sel(feature="noise") > 0.1
    omit = NaiveBayes().fit(table, y)
    assert importance(omit, table, y)["importance"].sel(feature="noise") < 0.02


def test_any_container_has_the_same_flags() -> None:
    table, y = draw(0, 300)
    model = NaiveBayes(missing="auto").fit(table, y)
    expected = model.predict_proba(table)
    columns = {name: [None if x is pd.NA or x != x else x for x in table[name]] for name in table}
    np.testing.assert_allclose(model.predict_proba(pl.DataFrame(columns)), expected, rtol=1e-12)
    numbers = table[["age", "pay"]]
    by_name = NaiveBayes(missing="auto").fit(numbers, y).predict_proba(numbers)
    array = numbers.to_numpy()
    by_place = NaiveBayes(missing="auto").fit(array, y)
    np.testing.assert_allclose(by_place.predict_proba(array), by_name, rtol=1e-12)
    assert by_place.missing_["feature"].values.tolist() == [0]


def test_a_sparse_table_has_flags_too() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 3))
    x[rng.random(400) < 0.1 + 0.5 * y, 0] = np.nan
    model = NaiveBayes("gaussian", missing="auto").fit(x, y)
    assert model.missing_["feature"].values.tolist() == [0]
    found = model.predict_proba(sparse.csr_array(x))
    np.testing.assert_allclose(found, model.predict_proba(x), rtol=1e-12)


def test_a_column_may_have_the_name_of_a_flag(tmp_path: Path) -> None:
    table, y = draw(0, 400)
    table["age missing"] = np.random.default_rng(0).normal(size=400)
    model = NaiveBayes(FAMILIES, missing="auto").fit(table, y)
    names = model.explain(table[:1])["feature"].values.tolist()
    assert len(set(names)) == len(names)
    assert {"age missing", "age missing_", "town missing"} <= set(names)
    model.save(tmp_path / "model.bnb")
    again = bayesnb.load(tmp_path / "model.bnb")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert '"age" IS NULL' in NaiveBayes(FAMILIES, missing="auto").fit(table, y).to_sql()


def test_new_rows_may_lack_whole_columns() -> None:
    ours, by_hand, table, _ = fit_both()
    empty = table[:5].assign(age=None, town=None, pay=None)
    filled = with_flags(empty).astype({"age": float, "pay": float})
    np.testing.assert_allclose(ours.predict_proba(empty), by_hand.predict_proba(filled), rtol=1e-9)


def test_files_and_partitions_have_the_flags_of_their_first_rows(tmp_path: Path) -> None:
    import dask.dataframe as dd

    table, y = draw(0, 600)
    table = table.drop(columns="smokes").assign(y=y)
    table.to_csv(tmp_path / "table.csv", index=False)
    model = scale.fit_files(NaiveBayes(missing="auto"), [tmp_path / "table.csv"], "y")
    assert model.missing_["feature"].values.tolist() == EVIDENCE
    parts = dd.from_pandas(table, npartitions=2)
    lazy = NaiveBayes(missing="auto").fit(parts.drop(columns="y"), parts["y"])
    assert lazy.missing_["feature"].values.tolist() == EVIDENCE
    new, labels = draw(1, 400)
    new = new.drop(columns="smokes")
    omit = NaiveBayes().fit(table.drop(columns="y"), y)
    worse = log_loss(labels, omit.predict_proba(new))
    assert log_loss(labels, lazy.predict_proba(new)) < worse - 0.05


def test_shards_of_a_model_without_flags_are_refused() -> None:
    table, y = draw(0, 300)
    part = scale.shard(NaiveBayes(missing="auto", temper=None), table, y)
    with pytest.raises(ValueError, match="flags of missing cells"):
        scale.fit_shards(NaiveBayes(temper=None, dependence=None), [part])


@pytest.mark.parametrize("value", ["omitted", None, True, 1])
def test_another_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="missing must be 'omit' or 'auto'"):
        NaiveBayes(missing=value).fit([[1.0], [2.0]], ["a", "b"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("places", {"$tuple": [0, 9]}),
        ("places", {"$tuple": [0]}),
        ("places", {"$tuple": []}),
        ("places", {"$tuple": [1, 0]}),
        ("places", {"$tuple": ["age", "town"]}),
        ("gain", None),
    ],
)
def test_a_damaged_file_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    ours, _, _, _ = fit_both()
    path = tmp_path / "model.bnb"
    ours.save(path)
    members = members_of(path.read_bytes())
    document = json.loads(members["model.json"])
    text = json.dumps(document)
    assert text.count('"$MissingCells"') == 1

    def damage(node: Any) -> None:
        if isinstance(node, dict):
            if "$MissingCells" in node:
                node["$MissingCells"][field] = value
            for each in node.values():
                damage(each)
        elif isinstance(node, list):
            for each in node:
                damage(each)

    damage(document)
    members["model.json"] = json.dumps(document).encode()
    path.write_bytes(packed(members))
    with pytest.raises(ValueError, match=r"model\.bnb"):
        bayesnb.load(path)


def test_the_command_line_has_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, y = draw(0, 300)
    path = str(tmp_path / "table.csv")
    table.assign(y=y).to_csv(path, index=False)
    model = str(tmp_path / "model.bnb")
    words = ["fit", path, "--target", "y", "-o", model, "--missing-cells", "auto"]
    assert main(words) == 0
    assert "missing cells of 2 columns are evidence" in capsys.readouterr().err
    assert bayesnb.load(model).missing_["feature"].values.tolist() == EVIDENCE
    assert main(["show", model]) == 0
    assert "Columns whose missing cells are evidence" in capsys.readouterr().out
