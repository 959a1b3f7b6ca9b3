"""Exponents of words that fall with the length of a text: powers by row, how they are found, what follows them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayesnb import Gaussian, Multinomial, MultinomialNB, NaiveBayes, calibration, datasets, load
from bayesnb.criticism.learnt_rows import learnt_rows
from bayesnb.estimators.tempering import exponents_of
from bayesnb.families.averaged import averaged
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats
from bayesnb.families.weight import one_hot
from bayesnb.model.powers import LengthPower, lengths_of
from bayesnb.model.product import Model, Rows, observe
from bayesnb.persistence.document import check_temper_length
from bayesnb.plots import plot_nomogram
from bayesnb.report.facts import gather
from bayesnb.report.sections.learnt_columns import counted
from bayesnb.selection.column_scores import column_scores
from bayesnb.selection.exponents import LabelScores, centre, over_widths

WORDS, CLASSES = 12, 3


def texts(rows: int, mean: float, burst: float = np.inf, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Texts of two classes, of very different lengths; `burst` is the concentration of each one's words."""
    rng, label = np.random.default_rng(seed), np.arange(rows) % 2
    share = rng.dirichlet(np.full(60, 1.0), 2) * 0.4 + rng.dirichlet(np.full(60, 1.0)) * 0.6
    lengths = 1 + rng.poisson(mean * rng.gamma(1.0, 1.0, rows))
    theta = [share[y] if np.isinf(burst) else rng.dirichlet(burst * share[y]) for y in label]
    counts = [rng.multinomial(n, p) for n, p in zip(lengths, theta, strict=True)]
    return np.array(counts, float), label


# ---- a power for each row, in the family


@pytest.fixture(scope="module", params=[False, True], ids=["counts", "ordered"])
def block(request: pytest.FixtureRequest) -> tuple[Any, Any, np.ndarray, np.ndarray, np.ndarray]:
    """A prior, stats of weighted rows, the rows, their codes and weights."""
    rng, rows = np.random.default_rng(1), 30
    x = rng.poisson(rng.gamma(1.0, 1.5, (rows, 1)) * np.ones(WORDS)).astype(float)
    x[3] = 0.0
    codes, weight = np.arange(rows) % CLASSES, 0.5 + np.arange(rows) % 3
    stats = MultinomialStats.of(x, one_hot(codes, CLASSES, weight))
    prior = DirichletMultinomial(np.full((CLASSES, 1, WORDS), 0.4), request.param)
    return prior, stats.in_order() if request.param else stats, x, codes, weight


POWERS = np.random.default_rng(2).uniform(0.0, 1.5, (30, 1))


def one_by_one(x: np.ndarray, value: Any, axis: int = 0) -> np.ndarray:
    return np.concatenate([value(x[[i]], float(POWERS[i, 0])) for i in range(len(x))], axis=axis)


@pytest.mark.parametrize("kind", ["posterior", "mean", "averaged"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_power_for_each_row_scores_every_row_by_its_power(block: Any, kind: str, layout: Any) -> None:
    prior, stats, x, _, _ = block
    record = averaged(prior, np.array([0.5])).update(stats) if kind == "averaged" else prior.update(stats)
    record = record.estimate("mean") if kind == "mean" else record
    expected = one_by_one(x, lambda row, power: record.score(row, power))
    np.testing.assert_allclose(record.score(layout(x), POWERS), expected, rtol=1e-11, atol=1e-11)
    with_one = record.score(layout(x), np.ones((30, 1)))
    np.testing.assert_allclose(with_one, record.score(layout(x)), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("tilt", [0.0, 0.4, 1.0])
def test_cumulants_and_transforms_take_a_power_for_each_row(block: Any, tilt: float) -> None:
    prior, stats, x, _, _ = block
    belief, s = prior.update(stats), np.array([0.3 + 0.7j, 2j, 1.0])
    expected = one_by_one(x, lambda row, power: belief.score_cumulants(row, tilt, power), axis=1)
    np.testing.assert_allclose(belief.score_cumulants(x, tilt, POWERS), expected, rtol=1e-9, atol=1e-9)
    expected = one_by_one(x, lambda row, power: belief.score_transform(row, s, power))
    np.testing.assert_allclose(belief.score_transform(x, s, POWERS), expected, rtol=1e-9, atol=1e-9)


def test_pairs_of_averaged_classes_take_a_power_for_each_row(block: Any) -> None:
    prior, stats, x, _, _ = block
    belief, s = averaged(prior, np.array([0.5])).update(stats)[:2], np.array([0.3 + 0.7j, 0.2])
    expected = one_by_one(x, lambda row, power: belief.pair_cumulants(row, 0.6, 0.1, power), axis=1)
    np.testing.assert_allclose(belief.pair_cumulants(x, 0.6, 0.1, POWERS), expected, rtol=1e-9, atol=1e-9)
    expected = one_by_one(x, lambda row, power: belief.pair_moment(row, s, s, power))
    np.testing.assert_allclose(belief.pair_moment(x, s, s, POWERS), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["posterior", "averaged", "mean"])
def test_contributions_take_a_power_for_each_row(block: Any, kind: str) -> None:
    prior, stats, x, _, _ = block
    belief, words = prior.update(stats), np.arange(WORDS)
    if kind == "mean":
        density = belief.estimate("mean")
        expected = one_by_one(x, lambda row, power: density.contributed(row, power, words))
        np.testing.assert_allclose(density.contributed(x, POWERS, words), expected, rtol=1e-11, atol=1e-11)
        return
    belief = averaged(prior, np.array([0.5])).update(stats) if kind == "averaged" else belief
    whole = belief.contributions(x, POWERS, words)
    for name in whole._fields:
        expected = one_by_one(x, lambda row, power, name=name: getattr(belief.contributions(row, power, words), name))
        np.testing.assert_allclose(getattr(whole, name), expected, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.slow
def test_a_row_at_a_power_is_the_expected_power_of_its_probability(block: Any) -> None:
    prior, stats, x, _, _ = block
    belief = prior.update(stats)
    drawn = belief.sample(3, 200_000)
    for i, power in ((0, 0.3), (5, 0.8)):
        row = x[[i]]
        values = np.exp(power * drawn.log_density(row[:, None]))[:, :, 0]
        error = values.std(axis=0) / np.sqrt(len(values))
        expected = np.exp(belief.row_log_moment(row, np.array([[power]])))[0]
        assert (np.abs(values.mean(axis=0) - expected) < 5 * error).all()


# ---- how the length is found


@pytest.fixture(scope="module")
def bursty() -> tuple[sparse.csr_array, np.ndarray]:
    counts, label = texts(400, 80, burst=16.0)
    return sparse.csr_array(counts), label


@pytest.fixture(scope="module")
def fitted(bursty: Any) -> NaiveBayes:
    return NaiveBayes().fit(*bursty)


def rows_of(model: NaiveBayes, x: Any, label: np.ndarray) -> Rows:
    return learnt_rows(model, x, label).rows


def test_words_that_come_in_bursts_have_a_length_that_is_about_their_concentration(fitted: NaiveBayes) -> None:
    """n words that share one drawn theta are worth about n (1 + burst) / (n + burst) independent ones."""
    length = fitted.temper_length_
    assert length.shape == fitted.temper_.shape == (1,)
    assert 4 <= length.iloc[0] <= 64


@pytest.mark.slow
@pytest.mark.parametrize("mean", [3, 80])
def test_independent_words_hardly_ever_have_a_length(mean: float) -> None:
    """Noise beats an infinite length by a nat in 3 % of such tables."""
    finite = 0
    for seed in range(10):
        counts, label = texts(150, mean, seed=100 + seed)
        finite += NaiveBayes().fit(sparse.csr_array(counts), label).temper_length_ is not None
    assert finite <= 2


def test_where_no_length_is_found_the_one_exponent_stays_to_the_last_digit() -> None:
    counts, label = texts(400, 80, seed=4)
    x = sparse.csr_array(counts)
    model = NaiveBayes().fit(x, label)
    assert model.temper_length_ is None
    rows = rows_of(model, x, label)
    scores = LabelScores.of(column_scores(model.model_, rows), rows, np.ones(len(label), bool))
    assert model.temper_.iloc[0] == over_widths(scores, np.full(1, centre(scores).value)).mean[0]
    plain = model.model_.posterior.log_joint(rows.cells, (float(model.temper_.iloc[0]),))
    np.testing.assert_array_equal(model.predict_joint_log_proba(x), plain)


def test_an_infinite_length_is_the_plain_exponent(fitted: NaiveBayes, bursty: Any) -> None:
    value, schema = np.array([0.4]), fitted.schema_
    assert exponents_of(value, schema, np.array([np.inf])) == exponents_of(value, schema) == (0.4,)
    assert exponents_of(np.zeros(1), schema, np.array([8.0])) == (0.0,)
    cells, posterior = rows_of(fitted, *bursty).cells, fitted.model_.posterior
    far = posterior.log_joint(cells, (LengthPower(0.4, 1e300),))
    np.testing.assert_allclose(far, posterior.log_joint(cells, (0.4,)), rtol=1e-10)


def test_the_exponent_is_half_at_the_length(bursty: Any) -> None:
    x, _ = bursty
    words = np.asarray(x.sum(axis=1)).ravel()
    np.testing.assert_array_equal(lengths_of(x), words)
    np.testing.assert_array_equal(lengths_of(x.toarray()), words)
    np.testing.assert_array_equal(lengths_of(sparse.csr_matrix(x)), words)
    np.testing.assert_allclose(LengthPower(0.8, 16.0).of(np.array([[16.0], [0.0], [48.0]]))[:, 0], [0.4, 0.8, 0.2])


@pytest.mark.parametrize("temper", [None, "loo", 0.3])
def test_one_exponent_for_all_has_no_length(bursty: Any, temper: Any) -> None:
    assert NaiveBayes(Multinomial(), temper=temper).fit(*bursty).temper_length_ is None


@pytest.mark.slow
def test_held_out_mails_are_predicted_far_better_than_by_one_exponent() -> None:
    mails = datasets.spam()
    x, label = sparse.csr_array(mails.drop(columns="label").to_numpy(float)), mails["label"].to_numpy(str)
    order = np.random.default_rng(0).permutation(2000)
    learnt, held_out = order[:1300], order[1300:]
    loss = {}
    for temper in (None, "loo", "auto"):
        model = NaiveBayes(temper=temper).fit(x[learnt], label[learnt])
        log_proba = model.predict_log_proba(x[held_out])
        loss[temper] = -log_proba[np.arange(700), np.searchsorted(model.classes_, label[held_out])].mean()
    assert loss["auto"] < 0.75 * loss["loo"] < 0.75 * loss[None]


def test_whole_weights_are_repeated_texts(bursty: Any) -> None:
    x, label = bursty[0][:120], bursty[1][:120]
    weight = 1 + np.arange(120) % 3
    repeated = np.repeat(np.arange(120), weight)
    a = NaiveBayes().fit(x, label, sample_weight=weight)
    b = NaiveBayes().fit(x[repeated], label[repeated])
    pd.testing.assert_series_equal(a.temper_length_, b.temper_length_)
    np.testing.assert_allclose(a.temper_, b.temper_, atol=1e-7)


# ---- what an estimator says with it


def test_left_out_scores_are_those_of_refits_with_the_same_exponents(fitted: NaiveBayes, bursty: Any) -> None:
    x, label = bursty
    rows = rows_of(fitted, x, label)
    scores = fitted.loo(x, label, exponents="kept").elpd_i.values
    for i in range(0, 400, 37):
        rest = Model(fitted.model_.prior, observe(rows.where(np.arange(400) != i), 2))
        joint = rest.posterior.log_joint([cells[[i]] for cells in rows.cells], fitted._exponents)[0]
        assert scores[i] == pytest.approx(joint[label[i]] - np.logaddexp.reduce(joint), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["observed", "fixed"])
def test_intervals_are_those_of_draws_and_their_mean_is_the_prediction(
    fitted: NaiveBayes, bursty: Any, rows: str
) -> None:
    few = bursty[0][:4]
    exact = fitted.predict_interval(few, 0.8, rows, method="exact")
    drawn = fitted.predict_interval(few, 0.8, rows, method="draws", draws=20_000, rng=1)
    for name in ("probability", "median", "lower", "upper"):
        np.testing.assert_allclose(exact[name], drawn[name], atol=0.02)
    if rows == "observed":
        np.testing.assert_allclose(exact.probability, fitted.predict_proba(few), atol=1e-9)


def test_an_explanation_adds_up_and_names_the_length(fitted: NaiveBayes, bursty: Any) -> None:
    few = bursty[0][:6]
    why = fitted.explain(few)
    total = why.predictive.sum("feature") + why.predictive_class_term
    np.testing.assert_allclose(total.transpose("obs_id", "class"), fitted.predict_joint_log_proba(few), atol=1e-9)
    assert (why.temper == fitted.temper_.iloc[0]).all()
    assert (why.temper_length == fitted.temper_length_.iloc[0]).all()


def test_weights_of_a_linear_form_multiply_the_shortened_counts(bursty: Any) -> None:
    x, label = bursty
    model = NaiveBayes(Multinomial(), temper="columns", estimate="mean").fit(x, label)
    form = model.linear_form()
    joint = model.linear_features(x) @ form.w.values.T + form.b.values
    expected = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
    np.testing.assert_allclose(model.predict_log_proba(x), expected, atol=1e-10)
    assert form.attrs["temper_length"] == [model.temper_length_.iloc[0]]
    assert calibration(model, x, label).attrs["temper_length"] == form.attrs["temper_length"]


def test_texts_beside_numbers_have_a_length_and_the_numbers_none(bursty: Any) -> None:
    counts, label = bursty[0].toarray().astype(int), bursty[1]
    lists = [[f"w{k}" for k in np.repeat(np.arange(60), row)] for row in counts]
    number = np.random.default_rng(0).normal(label, 1.5)
    table = pd.DataFrame({"number": number, "text": lists})
    model = NaiveBayes({"number": Gaussian()}, temper="columns").fit(table, label)
    assert list(model.temper_.index) == ["number", "text"]
    assert list(model.temper_length_.index) == ["text"]
    assert np.isfinite(model.temper_length_["text"])
    why = model.explain(table.iloc[:3])
    total = why.predictive.sum("feature") + why.predictive_class_term
    expected = model.predict_joint_log_proba(table.iloc[:3])
    np.testing.assert_allclose(total.transpose("obs_id", "class"), expected, atol=1e-9)
    exact = model.predict_interval(table.iloc[:3])
    np.testing.assert_allclose(exact.probability, model.predict_proba(table.iloc[:3]), atol=1e-9)


def test_an_average_over_features_follows_the_length(bursty: Any) -> None:
    x, label = bursty[0][:150], bursty[1][:150]
    model = NaiveBayes(average_features=0.5).fit(x, label)
    assert np.isfinite(model.temper_length_.iloc[0])
    exact = model.predict_interval(x[:3])
    np.testing.assert_allclose(exact.probability, model.predict_proba(x[:3]), atol=1e-6)
    why = model.explain(x[:3])
    total = (why.predictive.sum("feature") + why.predictive_class_term).transpose("obs_id", "class")
    np.testing.assert_allclose(total, model.predict_joint_log_proba(x[:3]), atol=1e-9)


def test_a_file_holds_the_length(fitted: NaiveBayes, bursty: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.bnb")
    loaded = load(tmp_path / "model.bnb")
    pd.testing.assert_series_equal(loaded.temper_length_, fitted.temper_length_)
    np.testing.assert_array_equal(loaded.predict_proba(bursty[0]), fitted.predict_proba(bursty[0]))


@pytest.mark.parametrize(
    "length", [np.ones(2), np.array([0.0]), np.array([np.nan]), np.array([-1.0]), np.ones(1, int), 3.0, [1.0]]
)
def test_lengths_that_no_model_has_are_refused(fitted: NaiveBayes, length: Any) -> None:
    with pytest.raises(ValueError, match="the length of the temper"):
        check_temper_length(length, np.ones(1), fitted.schema_)


def test_a_column_without_words_has_no_length() -> None:
    model = NaiveBayes(Gaussian(), temper="columns").fit(np.random.default_rng(0).normal(size=(20, 1)), [0, 1] * 10)
    with pytest.raises(ValueError, match="has no words"):
        check_temper_length(np.ones(1), np.ones(1), model.schema_)
    check_temper_length(np.array([np.inf]), np.ones(1), model.schema_)


def test_the_length_is_that_of_the_first_batch(bursty: Any) -> None:
    x, label = bursty
    model = NaiveBayes(Multinomial(), temper="columns").partial_fit(x[:200], label[:200], classes=[0, 1])
    once = NaiveBayes(Multinomial(), temper="columns").fit(x[:200], label[:200])
    pd.testing.assert_series_equal(model.temper_length_, once.temper_length_)
    before = model.temper_.iloc[0]
    model.partial_fit(x[200:], label[200:])
    pd.testing.assert_series_equal(model.temper_length_, once.temper_length_)
    assert model.temper_.iloc[0] != before
    merged = model.merge(once).forget(x[:100], label[:100]).decay(0.9)
    pd.testing.assert_series_equal(merged.temper_length_, model.temper_length_)


def test_a_batch_is_scored_at_the_known_length(bursty: Any) -> None:
    x, label = bursty
    model = NaiveBayes(Multinomial(), temper="columns").fit(x[:200], label[:200])
    t, sd, length = model.temper_.iloc[0], model.temper_sd_.iloc[0], model.temper_length_.iloc[0]
    log_class, table = model.model_.posterior.log_class, model.model_.posterior.blocks[0].score(x[200:])
    share = 1 / (1 + np.asarray(x[200:].sum(axis=1)) / length)

    def height(w: float) -> float:
        joint = log_class + w * share[:, None] * table
        label_score = joint[np.arange(200), label[200:]] - np.logaddexp.reduce(joint, axis=1)
        return float(label_score.sum()) - ((w - t) / sd) ** 2 / 2

    best = model.partial_fit(x[200:], label[200:]).temper_.iloc[0]
    assert all(height(best) >= height(best + step) for step in (-0.05, -0.01, 0.01, 0.05))


def test_a_nomogram_of_words_that_count_by_length_is_refused_with_advice(fitted: NaiveBayes) -> None:
    with pytest.raises(ValueError, match=r"falls with the length of its text.*plot_waterfall"):
        plot_nomogram(fitted)


def test_the_page_says_how_often_a_text_counts(bursty: Any) -> None:
    x, label = pd.DataFrame(bursty[0].toarray().astype(int)).add_prefix("w"), bursty[1]
    model = NaiveBayes(Multinomial(), temper="columns").fit(x, label)
    value, sd, length = (each.iloc[0] for each in (model.temper_, model.temper_sd_, model.temper_length_))
    text = counted(gather(model, x, label).features.all[0], gather(model, x, label))
    exponent = f"t / (1 + n / {length:g}), where t is {value:.2f} \u00b1 {sd:.2f}"
    assert text == f"The evidence of a text of n words has the exponent {exponent}."


def test_presets_have_no_length_unless_they_are_asked(bursty: Any) -> None:
    assert MultinomialNB().fit(*bursty).temper_length_ is None
    assert np.isfinite(MultinomialNB(temper="columns").fit(*bursty).temper_length_.iloc[0])
