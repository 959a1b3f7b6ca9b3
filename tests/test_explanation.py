"""What every feature adds to the scores of the classes is what draws from the beliefs say, and it adds up."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse
from scipy.special import gammaln, polygamma, psi
from sklearn.exceptions import NotFittedError

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.families.capabilities import HasBaseDensity
from tests.conftest import plainly

DRAWS = 40_000
WORDS = ("free", "now", "meeting", "never")


def mixed(rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Every family, words in the middle of the table, and missing cells where they are allowed."""
    rng = np.random.default_rng(seed)
    k = np.arange(rows) % 3
    table = pd.DataFrame(
        {
            "free": rng.poisson(0.5 + k),
            "size": rng.normal(k, 2.0),
            "colour": np.array(["red", "green", "blue", None], object)[rng.integers(0, 4, rows)],
            "now": rng.poisson(2.0, rows),
            "meeting": rng.poisson(2.5 - k),
            "calls": rng.poisson(3 + 2 * k).astype(float),
            "member": rng.random(rows) < 0.2 + 0.3 * k,
            "never": 0,
            "weight": 1e6 + rng.normal(k, 30.0),
        },
        index=[f"id{i}" for i in range(rows)],
    )
    table.iloc[1, 1] = table.iloc[2, 5] = table.iloc[4, 8] = np.nan
    return table, np.array(["a", "b", "c"])[k]


def fitted(temper: float | None = None, **said: object) -> tuple[nb.NaiveBayes, pd.DataFrame]:
    X, y = mixed()
    families = {WORDS: nb.Multinomial(0.5), "calls": nb.Poisson()}
    return nb.NaiveBayes(families, temper=temper, **said).fit(X, y), X


def close_to_draws(mean: np.ndarray, sd: np.ndarray, drawn: np.ndarray) -> None:
    """Mean and variance within five standard errors of those of draws, `(s, ...)`."""
    gap = drawn - drawn.mean(axis=0)
    errors = [gap.std(axis=0), (gap**2).std(axis=0)]
    for said, seen, error in zip((mean, sd**2), (drawn.mean(axis=0), (gap**2).mean(axis=0)), errors, strict=True):
        assert (np.abs(said - seen) <= 5 * error / np.sqrt(len(drawn)) + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("temper", [None, 0.4])
def test_means_and_sds_are_those_of_draws_from_the_posterior(temper: float | None) -> None:
    """Under an exponent t, draws of t log p are shifted so that exp of them has the mean E[p]**t."""
    model, X = fitted(temper)
    rows = X.iloc[:5]
    found, rng, t = model.explain(rows), np.random.default_rng(1), model.temper_
    posterior, scores = model.model_.posterior, 0.0
    for block, belief, cells in zip(
        model.schema_.blocks, posterior.blocks, model.schema_.read(_table(rows)), strict=True
    ):
        density = belief.sample(rng, (DRAWS, 1))
        x = np.asarray(cells[:])
        if block.family.multivariate:
            x = x.astype(float)
            log_theta = np.log(density.probability)[:, :, :, 0]
            shares = (x * gammaln(x.sum(axis=1) + 1)[:, None]) / x.sum(axis=1)[:, None] - gammaln(x + 1)
            alpha = belief.concentration[:, 0]
            size = x.sum(axis=-1, keepdims=True)[:, None]
            total, share = alpha.sum(axis=-1, keepdims=True), x[:, None] / size
            once, tempered = (log_rise(alpha, s * x[:, None]) - share * log_rise(total, s * size) for s in (1.0, t))
            shift = t * once - tempered  # a word's part of what the whole row has
            drawn = t * (x[:, None] * log_theta + shares[:, None]) + shift
            scores = scores + t * density.log_density(x[:, None, None])[..., 0] + shift.sum(axis=-1)
        else:
            shift = t * belief.log_moment(x[:, None], 1.0) - belief.log_moment(x[:, None], t)
            drawn = t * density.log_density(x[:, None]) + shift
            if isinstance(belief, HasBaseDensity):
                drawn = drawn + t * belief.cell_log_base(cells)[:, None]
            scores = scores + drawn.sum(axis=-1)
        for j, name in enumerate(block.names):
            if name in found.feature:
                own = found.sel(feature=name)
                close_to_draws(own.evidence.values, own.sd.values, drawn[..., j])
    weights = np.log(rng.standard_gamma(posterior.classes.concentration, (DRAWS, 3)))
    close_to_draws(found.class_term.values, found.class_term_sd.values, weights)
    close_to_draws(found.score.values, found.score_sd.values, weights[:, None] + scores)


def log_rise(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """log E[g**s], g ~ Gamma(a)."""
    return gammaln(a + s) - gammaln(a)


def _table(rows: pd.DataFrame) -> object:
    from bayesnb.data import open_table

    return open_table(rows)


@pytest.mark.parametrize("temper", [None, 0.4, 1.7])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_log_predictives_add_up_to_the_log_joint_that_predicts(temper: float | None, estimate: str) -> None:
    model, X = fitted(temper, estimate=estimate)
    found = model.explain(X)
    joint = model.set_params(estimate="predictive").predict_joint_log_proba(X)
    np.testing.assert_allclose(found.predictive.sum("feature") + found.predictive_class_term, joint, atol=1e-10, rtol=0)


COUNTS = np.random.default_rng(2).poisson(1.0, (40, 6))


@pytest.mark.parametrize("temper", [None, 0.3])
@pytest.mark.parametrize(
    ("model", "x"),
    [
        (nb.GaussianNB(), np.where(COUNTS == 3, np.nan, COUNTS)),
        (nb.PoissonNB(), np.where(COUNTS == 3, np.nan, COUNTS)),
        (nb.BernoulliNB(), COUNTS),
        (nb.BernoulliNB(), sparse.csr_array(COUNTS)),
        (nb.CategoricalNB(unseen="reserve"), COUNTS),
        (nb.MultinomialNB(), COUNTS),
        (nb.MultinomialNB(), sparse.csr_array(COUNTS)),
        (nb.MultinomialNB(), COUNTS / 3),
        (nb.GaussianNB(class_prior=[0.2, 0.3, 0.5]), COUNTS),
    ],
)
def test_every_family_alone_adds_up_too(model: nb.NaiveBayes, x: np.ndarray, temper: float | None) -> None:
    model = model.set_params(temper=temper).fit(x, np.arange(40) % 3)
    found = model.explain(x)
    joint = model.predict_joint_log_proba(x)
    np.testing.assert_allclose(found.predictive.sum("feature") + found.predictive_class_term, joint, atol=1e-10, rtol=0)
    np.testing.assert_allclose(found.score, found.evidence.sum("feature") + found.class_term, atol=1e-10, rtol=0)
    assert (found.sd >= 0).all()


def test_a_missing_cell_adds_nothing_for_certain() -> None:
    model, X = fitted()
    found = model.explain(X)
    for row, column in ((1, "size"), (2, "calls"), (4, "weight")):
        cell = found.isel(obs_id=row).sel(feature=column)
        assert cell.cell == "missing"
        for name in ("evidence", "sd", "predictive"):
            assert (cell[name] == 0).all()


def test_a_row_whose_levels_are_all_missing_is_explained_alone_as_among_others() -> None:
    model, X = fitted()
    row = int(X["colour"].isna().argmax())
    xr.testing.assert_allclose(model.explain(X.iloc[[row]]), model.explain(X).isel(obs_id=[row]), rtol=1e-12)


def test_the_order_of_columns_changes_nothing_but_the_order() -> None:
    model, X = fitted()
    other = nb.NaiveBayes({WORDS[::-1]: nb.Multinomial(0.5), "calls": nb.Poisson()})
    order = np.random.default_rng(3).permutation(X.columns)
    a, b = model.explain(X), other.fit(X[order], mixed()[1]).explain(X[order])
    assert b.feature.values.tolist() == [name for name in order if name != "never"]
    b = b.sel(feature=a.feature)
    for name in ("evidence", "sd", "predictive", "score", "score_sd", "class_term"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-9)
    assert (a.cell == b.cell).all()


def test_features_are_the_columns_and_the_words_that_occur_in_the_tables_order() -> None:
    model, X = fitted()
    found = model.explain(X)
    assert found.feature.values.tolist() == [name for name in X.columns if name != "never"]
    assert found.obs_id.values.tolist() == X.index.tolist()
    assert found["class"].values.tolist() == ["a", "b", "c"]
    assert found.cell.sel(obs_id="id0", feature=["free", "member"]).values.tolist() == [
        str(X["free"].iloc[0]),
        "yes" if X["member"].iloc[0] else "no",
    ]


def test_a_column_of_an_array_is_called_by_its_place() -> None:
    found = nb.GaussianNB().fit(np.eye(3), [0, 1, 1]).explain(np.eye(3)[:1])
    assert found.feature.values.tolist() == [0, 1, 2]


def test_a_word_adds_its_counts_times_the_expected_log_of_its_probability() -> None:
    model = nb.MultinomialNB().fit(COUNTS, np.arange(40) % 2)
    found, x = model.explain(COUNTS), COUNTS[:, None].astype(float)
    a = model.posterior_[tuple(range(6))].concentration
    total = a.sum(axis=1, keepdims=True)
    between = x * (psi(a) - psi(total))
    np.testing.assert_allclose(found.evidence.diff("class")[:, 0], np.diff(between, axis=1)[:, 0], atol=1e-12)
    variance = x**2 * (polygamma(1, a) - polygamma(1, total))
    np.testing.assert_allclose(found.sd, np.sqrt(variance), atol=1e-12)
    alone = found.score_sd**2 - found.class_term_sd**2
    exact = (x**2 * polygamma(1, a)).sum(-1) - x.sum(-1) ** 2 * polygamma(1, total[:, 0])
    np.testing.assert_allclose(alone, exact, atol=1e-12)
    assert (alone <= variance.sum(-1) + 1e-12).all()


def test_a_words_log_predictive_is_what_it_adds_averaged_over_all_orders_of_reading() -> None:
    counts = np.array([[3, 1, 0], [2, 0, 4], [0, 5, 1], [1, 1, 1]])
    model = nb.MultinomialNB(alpha=0.7).fit(counts, [0, 0, 1, 1])
    row = np.array([[2, 1, 2]])
    found = model.explain(row).isel(obs_id=0)
    a = model.posterior_[(0, 1, 2)].concentration
    orders = list(permutations(np.repeat([0, 1, 2], row[0])))
    added = np.zeros((2, 3))
    for order in orders:
        seen = np.zeros(3)
        for word in order:
            added[:, word] += np.log((a[:, word] + seen[word]) / (a.sum(axis=1) + seen.sum()))
            seen[word] += 1
    added /= len(orders)
    np.testing.assert_allclose(found.predictive.diff("class")[0], np.diff(added, axis=0)[0], atol=1e-12)


def test_rows_without_a_word_have_nothing_but_the_class_to_be_explained_by() -> None:
    words = np.array([[1, 0], [0, 2], [1, 1]])
    model = nb.MultinomialNB().fit(words, ["a", "b", "b"])
    why = model.explain(np.zeros((2, 2), int))
    assert dict(why.sizes) == {"obs_id": 2, "class": 2, "feature": 0}
    assert why.feature.dtype.kind == "U"
    np.testing.assert_array_equal(why.score, np.tile(why.class_term, (2, 1)))
    mixed = nb.NaiveBayes({(1, 2): nb.Multinomial(), 0: nb.Gaussian()}).fit(
        np.c_[[3.0, 1.0, 2.0], words], ["a", "b", "b"]
    )
    np.testing.assert_array_equal(mixed.explain([[1.5, 0, 0]]).feature, [0])


def test_a_large_vocabulary_is_told_by_the_words_that_occur() -> None:
    rng = np.random.default_rng(0)
    x = sparse.random_array((30, 50_000), density=1e-4, rng=rng, format="csr", data_sampler=lambda size: np.ones(size))
    model = nb.MultinomialNB().fit(x, np.arange(30) % 2)
    found = model.explain(x)
    assert found.sizes["feature"] == len(np.unique(x.indices))
    joint = model.predict_joint_log_proba(x)
    np.testing.assert_allclose(found.predictive.sum("feature") + found.predictive_class_term, joint, atol=1e-10, rtol=0)


def test_a_result_that_would_be_too_large_is_refused() -> None:
    x = sparse.csr_array((300, 50_000))
    model = nb.BernoulliNB().fit(x, np.arange(300) % 2)
    message = r"300 rows x 2 classes x 50,000 features are 30,000,000 numbers.*at most 100 rows"
    with pytest.raises(ValueError, match=message):
        model.explain(x)


def test_a_known_frequency_of_the_classes_is_certain() -> None:
    X, y = mixed()
    model = nb.NaiveBayes(class_prior={"a": 0.5, "b": 0.3, "c": 0.2}).fit(X, y)
    found = model.explain(X)
    np.testing.assert_allclose(found.class_term, np.log([0.5, 0.3, 0.2]))
    np.testing.assert_allclose(found.predictive_class_term, np.log([0.5, 0.3, 0.2]))
    assert (found.class_term_sd == 0).all()


@pytest.mark.parametrize("prior", [{"a": 1.0, "b": 0.0}, nb.Dirichlet([1.0, 0.0])])
def test_an_impossible_class_stays_so_and_has_nothing_else(prior: object) -> None:
    model = nb.NaiveBayes(class_prior=prior, classes=["a", "b"]).fit([[1.0], [2.0]], ["a", "a"])
    found = model.explain([[1.5]])
    gone = found.sel({"class": "b"})
    assert np.isneginf(gone.class_term)
    assert np.isneginf(gone.score).all()
    assert (gone.sd == 0).all()
    assert (gone.predictive == 0).all()
    total = found.predictive.sum("feature") + found.predictive_class_term
    np.testing.assert_allclose(total, model.predict_joint_log_proba([[1.5]]))


def test_a_level_never_seen_adds_nothing_and_is_told() -> None:
    model = nb.NaiveBayes().fit(pd.DataFrame({"x": ["u", "v"]}), [0, 1])
    with pytest.warns(nb.UnseenLevelWarning, match="'w'"):
        found = model.explain(pd.DataFrame({"x": ["w"]}))
    assert (found.evidence == 0).all()
    assert found.cell.item() == "unknown"


def test_a_bad_cell_is_an_error_as_in_prediction() -> None:
    model = nb.BernoulliNB(binarize=None).fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="not 0 or 1"):
        model.explain([[0.0, 0.5]])
    with pytest.raises(NotFittedError):
        nb.GaussianNB().explain([[1.0]])


def test_more_rows_of_evidence_leave_less_doubt() -> None:
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    plain = plainly(X)
    few, all_of = nb.NaiveBayes(**plain).fit(X[::8], y[::8]), nb.NaiveBayes(**plain).fit(X, y)
    assert (all_of.explain(X).score_sd.mean() < few.explain(X).score_sd.mean()).item()
