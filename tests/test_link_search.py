"""Which columns depend on each other given the class: the search for links by evidence, and what it costs."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from bayesnb import Bernoulli, Beta, Categorical, NaiveBayes
from bayesnb.selection import link_search
from bayesnb.selection.link_search import STRENGTHS, Candidate, LabelledRows, LinkColumns, candidates
from bayesnb.selection.pair_evidence import Work

Array = np.ndarray


def columns_of(sizes: list[int], rows: int, seed: int = 0, classes: int = 3) -> tuple[LinkColumns, LabelledRows]:
    """Columns of levels, every other of which often follows from the one before it; some cells are missing."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)
    for j in range(1, len(sizes), 2):
        codes[j] = np.where(rng.random(rows) < 0.5, codes[j - 1] % sizes[j], codes[j])
    codes[rng.random(codes.shape) < 0.05] = -1
    weight = rng.integers(1, 4, rows).astype(float)
    return LinkColumns((), codes, np.array(sizes)), LabelledRows(rng.integers(0, classes, rows), weight, classes)


def log_factor(columns: LinkColumns, rows: LabelledRows, ends: tuple[int, int], strength: float) -> float:
    """Log Bayes factor of a link by its definition, class by class and level by level."""
    u, v = ends
    total = 0.0
    for c in range(rows.classes):
        table = np.zeros((columns.sizes[u], columns.sizes[v]))
        keep = (rows.codes == c) & (columns.codes[u] >= 0) & (columns.codes[v] >= 0)
        np.add.at(table, (columns.codes[u, keep], columns.codes[v, keep]), rows.weight[keep])
        table = table[:, table.any(axis=0)]
        mean = table.sum(axis=0) / table.sum()
        prior = strength * mean
        total += (gammaln(prior + table) - gammaln(prior) - table * np.log(mean)).sum()
        total -= (gammaln(strength + table.sum(axis=1)) - gammaln(strength)).sum()
    return total


@pytest.mark.parametrize("sizes", [[3, 4, 2, 5], [300, 3, 2, 6]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_evidence_of_a_link_is_that_of_its_definition_under_the_best_strength(
    sizes: list[int], weighted: bool
) -> None:
    columns, rows = columns_of(sizes, 500)
    rows = rows if weighted else rows._replace(weight=np.ones(500))
    links = candidates(columns, rows, Work(1))
    assert {frozenset((link.parent, link.child)) for link in links} >= {frozenset((0, 1)), frozenset((2, 3))}
    for link in links:
        factors = [log_factor(columns, rows, (link.parent, link.child), strength) for strength in STRENGTHS]
        assert link.evidence == pytest.approx(max(factors), rel=1e-9, abs=1e-8)
        assert link.strength == STRENGTHS[int(np.argmax(factors))]


def test_threads_change_no_digit_and_neither_does_a_column_besides() -> None:
    columns, rows = columns_of([4] * 12, 2000)
    one = candidates(columns, rows, Work(1))
    assert candidates(columns, rows, Work(3)) == one
    fewer = LinkColumns((), columns.codes[:4], columns.sizes[:4])
    kept = {(link.parent, link.child): link for link in candidates(fewer, rows, Work(1))}
    assert all(kept[link.parent, link.child] == link for link in one if max(link.parent, link.child) < 4)


def test_a_screening_keeps_the_links_that_all_pairs_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, rows = columns_of([5] * 30, 1500)
    pairs = candidates(columns, rows, Work(1))
    compared: list[float] = []
    monkeypatch.setattr(link_search, "MOST_PAIRS", 10)
    screened = candidates(columns, rows, Work(2, compared.append))

    def strong(links: list[Candidate]) -> list[Candidate]:
        return [link for link in links if link.evidence > 20]

    assert strong(screened) == strong(pairs)
    assert len(strong(pairs)) >= 30
    assert sum(compared) == 30 * 29 / 2


def test_columns_of_more_levels_than_a_table_can_have_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers of a million rows would make tables of a trillion cells."""
    columns, rows = columns_of([100_000, 100_000, 3, 3], 400)
    for most in (link_search.MOST_PAIRS, 0):  # compared at once, and after a screening
        monkeypatch.setattr(link_search, "MOST_PAIRS", most)
        links = candidates(columns, rows, Work(1))
        assert {frozenset((link.parent, link.child)) for link in links} == {frozenset((2, 3))}


@pytest.mark.slow
def test_columns_that_are_independent_within_the_classes_get_no_link_in_95_of_100_tables() -> None:
    linked = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 200)
        x = pd.DataFrame(rng.normal(size=(200, 5)) + y[:, None]).add_prefix("n")
        x = x.join(pd.DataFrame(rng.integers(0, 4, (200, 5)).astype(str)).add_prefix("l"))
        linked += bool(NaiveBayes(dict.fromkeys(x.columns[:5], "gaussian"), dependence="pairs").fit(x, y).schema_.links)
    assert linked <= 5


DECLARED = {
    "100": (Categorical(100.0), 300),
    "10": (Categorical(10.0), 300),
    "10, few rows": (Categorical(10.0), 50),
    "of each level": (Categorical([1.0, 1.0, 40.0]), 300),
    "flags": (Bernoulli(Beta(50.0, 50.0)), 300),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_declared_prior_that_disagrees_with_the_rows_links_no_independent_columns(name: str) -> None:
    (family, rows), linked = DECLARED[name], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = pd.DataFrame({name: rng.choice(3, rows, p=[0.8, 0.15, 0.05]) for name in "gh"})
        x, other = (x > 0, family) if name == "flags" else (x.astype(str), "categorical")
        model = NaiveBayes({"g": family, "h": other}, dependence="forest").fit(x, rng.integers(0, 2, rows))
        linked += model.links_.sizes["link"]
    assert linked <= 1


def test_columns_that_depend_on_each_other_are_linked_whatever_prior_is_declared() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        g = rng.choice(3, 300, p=[0.8, 0.15, 0.05])
        h = np.where(rng.random(300) < 0.4, g, rng.choice(3, 300, p=[0.8, 0.15, 0.05]))
        x = pd.DataFrame({"g": g, "h": h}).astype(str)
        model = NaiveBayes(Categorical(100.0), dependence="forest").fit(x, rng.integers(0, 2, 300))
        assert model.links_.log_bayes_factor.item() > 5


def test_a_fit_that_takes_long_shows_how_many_pairs_were_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from bayesnb.estimators import incremental

    x, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 2
    NaiveBayes(dependence="forest").fit(x, y)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(incremental, "PATIENCE", 0.0)
    NaiveBayes(dependence="forest").fit(x, y)
    assert "links between columns" in capsys.readouterr().err
