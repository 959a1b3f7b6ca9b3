"""Columns once more as one Gaussian: against refits, and where it is kept."""

import copy
import json
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_t
from sklearn.metrics import log_loss

import bayesnb
from bayesnb import NaiveBayes, importance, scale
from tests.hostile import members_of, packed

Array = np.ndarray


def planes(rng: np.random.Generator, rows: int = 240, classes: int = 3) -> tuple[Any, Array]:
    """Return numbers whose differences tell the classes apart, a flag and a level, and labels."""
    y = rng.integers(0, classes, rows)
    size = rng.normal(0, 3, rows)
    table = pd.DataFrame(
        {
            "u": size + 0.3 * rng.normal(size=rows),
            "v": size + y + 0.3 * rng.normal(size=rows),
            "w": np.exp(size / 3 + 0.1 * y + 0.1 * rng.normal(size=rows)),
            "flag": rng.random(rows) < 0.5,
            "level": rng.choice(list("abc"), rows),
        }
    )
    return table, np.array(["low", "middle", "high"])[y]


def rules(rng: np.random.Generator, rows: int = 300) -> tuple[Any, Array]:
    """Return levels of which two tell the classes apart together and neither alone, and labels."""
    table = pd.DataFrame(
        {
            "shape": rng.choice(["round", "square", "long"], rows),
            "colour": rng.choice(["red", "blue"], rows),
            "noise": rng.choice(list("abc"), rows),
            "size": rng.normal(size=rows),
            "flag": rng.random(rows) < 0.5,
        }
    )
    same = (table["shape"] == "round").to_numpy() == (table["colour"] == "red").to_numpy()
    y = np.where(rng.random(rows) < 0.05, ~same, same)
    return table, np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def ruled() -> tuple[Any, Any, Array]:
    X, y = rules(np.random.default_rng(1))
    return NaiveBayes(dependence="covariance").fit(X, y), X, y


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Array]:
    X, y = planes(np.random.default_rng(1))
    return NaiveBayes().fit(X, y), X, y


def standardise(model: Any, X: Any) -> Array:
    """Return numbers, and indicators, as the model's scale has them, from its numbers alone."""
    covariance = model.schema_.covariance
    scale = covariance.scale
    parts = [X.iloc[:, list(covariance.places)].to_numpy(float)]
    if covariance.indicators is not None:
        parts.append(indicate(covariance.indicators, X))
    x = np.hstack(parts)
    u = (x - scale.start) / scale.unit
    z = (np.where(scale.bent, np.arcsinh(u), u) - scale.mean) / scale.sd
    distance = np.linalg.norm(z @ scale.whitening.T, axis=1)
    return z / np.where(distance > 1, distance, 1)[:, None]


def indicate(indicators: Any, X: Any) -> Array:
    """Return indicators and their products from the cells of a frame, column by column."""
    flags = []
    for reader in indicators.readers:
        for j, name in enumerate(reader.names):
            levels = reader.levels[j] if reader.levels else (False, True)
            flags += [(X[name] == level).to_numpy(float) for level in levels]
    return np.column_stack([flags[a] * flags[b] for a, b in indicators.ends])


def log_predictive(x: Array, y: Array, weight: Array, dof: float, new: Array) -> Array:
    """Log predictive of a row by each class, `(c,)`, all of it counted anew."""
    width = x.shape[1]
    classes = np.unique(y)
    means, within = [], []
    for label in classes:
        w, rows = weight[y == label], x[y == label]
        count = w.sum()
        mean = (w @ rows) / count
        gap = rows - mean
        shrunk = 0.01 * count / (0.01 + count) * np.outer(mean, mean)
        means.append((count, mean))
        within.append((w[:, None] * gap).T @ gap + shrunk)
    unit = sum(within) / weight.sum() + 1e-6 * np.eye(width)
    scores = []
    for (count, mean), own in zip(means, within, strict=True):
        k = 0.01 + count
        free = dof + count - width + 1
        shape = (dof * unit + own) * (1 + 1 / k) / free
        scores.append(multivariate_t(count / k * mean, shape, free).logpdf(new))
    return np.array(scores)


def test_it_is_kept_where_a_plane_tells_the_classes_apart(fitted: Any) -> None:
    model, X, y = fitted
    rows, labels = planes(np.random.default_rng(2), 600)
    alone = NaiveBayes(dependence="pairs").fit(X, y)
    loss, loss_alone = (
        log_loss(labels, each.predict_proba(rows), labels=each.classes_) for each in (model, alone)
    )
    assert loss < 0.6 * loss_alone
    assert float(model.covariance_.gain) > 20
    assert model.covariance_["feature"].values.tolist() == ["u", "v", "w"]
    assert "covariance" in model.explain(X[:2])["feature"].values
    assert "one Gaussian" in str(model.summary())


@pytest.mark.slow
def test_noise_has_no_covariance() -> None:
    kept = 0
    rng = np.random.default_rng(3)
    for _ in range(60):
        X = rng.normal(size=(80, 4))
        y = rng.integers(0, 2, 80)
        kept += NaiveBayes(dependence="covariance").fit(X, y).covariance_ is not None
    assert kept <= 3


def test_it_is_a_choice_of_dependence(fitted: Any) -> None:
    _, X, y = fitted
    for rule, links, covariance in (
        ("covariance", False, True),
        ("all", True, True),
        ("pairs", True, False),
        (None, False, False),
    ):
        schema = NaiveBayes(dependence=rule).fit(X, y).schema_
        assert (schema.links is not None, schema.covariance is not None) == (links, covariance)
    assert NaiveBayes("gaussian").fit(X[["u", "v", "w"]], y).covariance_ is None
    with pytest.raises(ValueError, match="'covariance', 'all'"):
        NaiveBayes(dependence="planes").fit(X, y)
    with pytest.raises(ValueError, match="needs estimate='predictive'"):
        NaiveBayes(dependence="covariance", estimate="mean").fit(X, y)


def test_few_rows_and_few_columns_have_none() -> None:
    X, y = planes(np.random.default_rng(1), 8, 2)
    assert NaiveBayes().fit(X, y).covariance_ is None
    X, y = planes(np.random.default_rng(1))
    assert NaiveBayes().fit(X[["u", "flag", "level"]], y).covariance_ is None
    X["v"], X["w"] = 1e9, 0.1 + 0.2  # constant
    assert NaiveBayes().fit(X, y).covariance_ is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [planes, rules])
def test_its_predictive_and_leave_one_out_are_those_of_counts_made_anew(
    weighted: bool, make: Any
) -> None:
    rng = np.random.default_rng(4)
    X, y = make(rng, 120)
    if make is planes:
        X = X[["u", "v", "w"]]
    weight = rng.choice([0.5, 1.0, 2.0, 3.5], 120) if weighted else np.ones(120)
    model = NaiveBayes(dependence="covariance").fit(X, y, sample_weight=weight)
    x, dof = standardise(model, X), float(model.covariance_.dof)
    codes = np.searchsorted(model.classes_, y)
    assert (model.schema_.covariance.indicators is None) == (make is planes)
    explained = model.explain(X).sel(feature="covariance")["predictive"]
    expected = [log_predictive(x, codes, weight, dof, row) for row in x]
    exponent = float(model.covariance_.temper)
    assert explained.values / exponent == pytest.approx(np.array(expected), abs=1e-9)


def test_rows_leave_it_as_if_they_had_never_been_learnt() -> None:
    X, y = planes(np.random.default_rng(5), 60)
    X.loc[[3, 20], "u"] = np.nan
    weight = np.where(np.arange(60) % 7 == 0, 2.0, 1.0)
    model = NaiveBayes(dependence="covariance", temper=0.5).fit(X, y, sample_weight=weight)
    assert model.covariance_ is not None
    held_out = model.loo(X, y, sample_weight=weight).elpd_i.values
    for i in (0, 1, 3, 7, 20, 59):
        row = X.iloc[[i]]
        others = copy.deepcopy(model).forget(row, y[[i]], sample_weight=weight[[i]])
        log_proba = others.predict_log_proba(row)[0, model.classes_.tolist().index(y[i])]
        assert held_out[i] == pytest.approx(log_proba, abs=1e-8)


def test_it_is_kept_where_levels_tell_the_classes_apart_only_together(ruled: Any) -> None:
    model, X, y = ruled
    rows, labels = rules(np.random.default_rng(2), 600)
    alone = NaiveBayes(dependence=None).fit(X, y)
    loss, loss_alone = (
        log_loss(labels, each.predict_proba(rows), labels=each.classes_) for each in (model, alone)
    )
    assert loss_alone > 0.6 > 2 * loss
    assert {"shape", "colour"} <= set(model.covariance_["feature"].values.tolist())


def test_rules_of_three_levels_need_products() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.choice(list("xob"), 800) for name in "abcdef"})
    is_x = X == "x"
    y = is_x[["a", "b", "c"]].sum(axis=1).eq(3) | is_x[["d", "e", "f"]].sum(axis=1).ge(2)
    model = NaiveBayes(dependence="covariance").fit(X, y)
    assert bool(model.covariance_.products)
    assert "with products of levels" in model.covariance_.attrs["title"]
    alone = NaiveBayes(dependence=None).fit(X, y)
    assert model.loo(X, y).elpd > alone.loo(X, y).elpd + 20


@pytest.mark.slow
def test_noise_of_levels_has_no_covariance() -> None:
    kept = 0
    rng = np.random.default_rng(5)
    for _ in range(60):
        X = pd.DataFrame({name: rng.choice(list("abc"), 150) for name in "uvwx"})
        y = rng.integers(0, 2, 150)
        kept += NaiveBayes(dependence="covariance").fit(X, y).covariance_ is not None
    assert kept <= 3


def test_rows_of_rules_leave_as_if_they_had_never_been_learnt() -> None:
    X, y = rules(np.random.default_rng(6), 200)
    X.loc[[3, 20], "shape"] = None
    model = NaiveBayes(dependence="covariance", temper=0.5).fit(X, y)
    assert model.schema_.covariance.indicators is not None
    held_out = model.loo(X, y).elpd_i.values
    for i in (0, 3, 20, 199):
        row = X.iloc[[i]]
        others = copy.deepcopy(model).forget(row, y[[i]])
        log_proba = others.predict_log_proba(row)[0, model.classes_.tolist().index(y[i])]
        assert held_out[i] == pytest.approx(log_proba, abs=1e-8)


def test_a_level_that_was_never_learnt_says_nothing_as_a_missing_one(ruled: Any) -> None:
    model, X, _ = ruled
    new = X.iloc[:3].assign(shape="hexagonal")
    missing = X.iloc[:3].assign(shape=None)
    with pytest.warns(bayesnb.UnseenLevelWarning):
        proba = model.predict_proba(new)
    assert proba == pytest.approx(model.predict_proba(missing), abs=1e-12)


def test_files_and_merged_parts_keep_indicators(ruled: Any, tmp_path: Path) -> None:
    model, X, y = ruled
    model.save(tmp_path / "model.bnb")
    again = bayesnb.load(tmp_path / "model.bnb")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    both = copy.deepcopy(model).partial_fit(X, y)
    merged = model.merge(again)
    assert merged.stats_.classes.counts.tolist() == both.stats_.classes.counts.tolist()
    assert merged.covariance_ is not None


def test_parts_and_files_learn_indicators(ruled: Any, tmp_path: Path) -> None:
    model, X, y = ruled
    table = X.assign(label=y)
    table.to_csv(tmp_path / "table.csv", index=False)
    learner = NaiveBayes(dependence="covariance")
    by_file = scale.fit_files(learner, str(tmp_path / "table.csv"), "label")
    assert by_file.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-8)
    parts = dd.from_pandas(table, npartitions=2)
    by_parts = NaiveBayes(dependence="covariance").fit(parts[list(X.columns)], parts["label"])
    assert by_parts.schema_.covariance.indicators is not None
    assert (by_parts.predict(X) == y).mean() > 0.9


def test_a_column_of_levels_leaves_it_where_its_importance_is_asked_for(ruled: Any) -> None:
    model, X, y = ruled
    result = importance(model, X, y).importance
    assert min(result.sel(feature="shape"), result.sel(feature="colour")) > 0.2
    assert abs(result.sel(feature="noise")) < 0.05


@pytest.mark.slow
def test_intervals_count_products(ruled: Any) -> None:
    model, X, _ = ruled
    exact = model.predict_interval(X.iloc[:6], method="exact")
    drawn = model.predict_interval(X.iloc[:6], method="draws", draws=20_000, rng=1)
    for name in ("probability", "lower", "upper"):
        assert exact[name].values == pytest.approx(drawn[name].values, abs=0.02)


def test_tables_that_would_be_too_wide_have_no_indicators() -> None:
    rng = np.random.default_rng(7)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 30, 2000).astype(str) for j in range(8)})
    y = (X["x0"].astype(int) + X["x1"].astype(int)).to_numpy() > 30
    assert NaiveBayes(dependence="covariance").fit(X, y).covariance_ is None


def test_a_row_without_numbers_is_predicted_by_what_it_has(fitted: Any) -> None:
    model, X, _ = fitted
    nothing = X.iloc[[0]].astype(object)
    nothing[:] = None
    shares = model.class_posterior_.mean()
    assert model.predict_proba(nothing)[0] == pytest.approx(shares, abs=1e-12)


def test_units_and_origins_of_columns_change_nothing(fitted: Any) -> None:
    model, X, y = fitted
    other = X.assign(u=1000 * X["u"] + 5, v=0.01 * X["v"] - 3, w=7 * X["w"] + 1e3)
    again = NaiveBayes().fit(other, y)
    assert again.predict_proba(other) == pytest.approx(model.predict_proba(X), abs=1e-7)


def test_a_column_leaves_it_where_its_importance_is_asked_for(fitted: Any) -> None:
    model, X, y = fitted
    result = importance(model, X, y).importance
    assert min(result.sel(feature="u"), result.sel(feature="v")) > 0.05
    assert abs(result.sel(feature="flag")) < 0.02


def test_a_row_far_from_all_others_is_not_certain() -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 400)
    size = rng.normal(size=400)
    X = np.column_stack([size, size + y + 0.5 * rng.normal(size=400)])
    model = NaiveBayes(dependence="covariance").fit(X, y)
    assert model.covariance_ is not None
    far = model.predict_proba([[1e3, -1e3], [1e150, 0.0], [-1e6, 1e6]])
    assert far.min() > 1e-8


@pytest.mark.slow
def test_intervals_count_it(fitted: Any) -> None:
    model, X, _ = fitted
    rows = X.iloc[:6]
    for way in ("observed", "fixed"):
        exact = model.predict_interval(rows, rows=way, method="exact")
        drawn = model.predict_interval(rows, rows=way, method="draws", draws=20_000, rng=1)
        for name in ("probability", "lower", "upper"):
            assert exact[name].values == pytest.approx(drawn[name].values, abs=0.02)


def test_rows_that_leave_and_come_back_change_nothing_and_new_classes_find_a_place() -> None:
    X, y = planes(np.random.default_rng(7))
    model = NaiveBayes(dependence="covariance", temper=0.5).fit(X, y)
    again = copy.deepcopy(model).forget(X[:50], y[:50]).partial_fit(X[:50], y[:50])
    assert again.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-9)
    new = np.where(y == "low", "new", y)
    grown = copy.deepcopy(model).partial_fit(X, new, grow_classes=True)
    assert grown.covariance_ is not None
    assert grown.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


def test_it_is_not_tried_where_hardly_a_row_has_all_numbers() -> None:
    X, y = planes(np.random.default_rng(8), 400)
    for share, tried in (0.1, True), (0.5, False):
        holes = X.copy()
        rng = np.random.default_rng(0)
        for name in ("u", "v", "w"):
            holes.loc[rng.random(400) < share, name] = np.nan
        is_complete = holes[["u", "v", "w"]].notna().all(axis=1).mean()
        assert (is_complete > 0.25) == tried
        assert (NaiveBayes().fit(holes, y).covariance_ is not None) == tried


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_numbers_of_any_size_are_put_on_its_scale(size: float) -> None:
    X, y = planes(np.random.default_rng(9))
    table = X.assign(u=size * X["u"], v=size * X["v"])
    model = NaiveBayes(dependence="covariance").fit(table, y)
    assert model.covariance_ is not None
    assert np.isfinite(model.predict_proba(table.assign(u=1e200))).all()


def rewrite(path: Path, change: Any) -> None:
    """Change a saved model's covariance, and write the file again."""
    members = members_of(path.read_bytes())
    document = json.loads(members["model.json"])
    schema = document["content"]["model"]["$Saved"]["shard"]["$Shard"]["schema"]["$Schema"]
    change(schema["blocks"]["$tuple"][-1]["$Block"]["family"]["$Covariance"])
    members["model.json"] = json.dumps(document).encode()
    path.write_bytes(packed(members))


def test_damaged_indicators_are_refused(ruled: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.bnb"

    def lose_a_reader(family: Any) -> None:
        readers = family["indicators"]["$Indicators"]["readers"]["$tuple"]
        del readers[1:]

    def lose_all(family: Any) -> None:
        family["indicators"] = None

    for change in (lose_a_reader, lose_all):
        ruled[0].save(path)
        rewrite(path, change)
        with pytest.raises(ValueError, match=r"model\.bnb"):
            bayesnb.load(path)


@pytest.mark.parametrize(
    ("field", "value"), [("places", [0, 99]), ("places", [0]), ("dof", 0.5), ("dof", "many")]
)
def test_a_damaged_covariance_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    X, y = planes(np.random.default_rng(1))
    path = tmp_path / "model.bnb"
    NaiveBayes(dependence="covariance").fit(X, y).save(path)
    damaged = {"$tuple": value} if isinstance(value, list) else value
    rewrite(path, lambda family: family.update({field: damaged}))
    with pytest.raises(ValueError, match=r"model\.bnb"):
        bayesnb.load(path)
