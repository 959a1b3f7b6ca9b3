"""Each kernel's loops and its definition in NumPy give the same numbers, whatever a model asks them for."""

import copy
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from bayesnb import BernoulliNB, NaiveBayes, dependence, numerics, scale
from bayesnb.numerics.compilation import Kernel
from tests.test_frozen import first
from tests.test_storage import COUNTS, MODELS, REAL, Fitted, Y


class Near(NamedTuple):
    """To what part of the largest number, or of `least`, the size of what they are differences of."""

    part: float = 1e-13
    least: float = 0.0


LOGS_OF_RATIOS = Near(least=1.0)  # which are around 1: right to an ulp of 1, however small they all are
NEAR = {
    "class_sums.others_of_rows": Near(1e-12),  # fourth cumulants are differences of fourth moments
    "cornish_fisher.quantiles": Near(least=1.0),  # errors are differences of quantiles
    # Quantiles are off by the rounding of the sums over the density, which a tail's sinh and cosh magnify.
    "fourier_inversion.search": Near(1e-9),
    "histogram_kernels.transform": Near(1e-11, 1.0),  # the phase s log(s), s up to 5e3, is rounded by 4e-12 in both
    "count_kernels.left_out": Near(least=1.0),  # differences of log gammas, at any power
    "pair_kernels.compare": Near(least=1.0),  # differences of log gammas
    "histogram": LOGS_OF_RATIOS,
}
WEIGHT = np.arange(len(Y)) / 8 + 0.5
EVERY = [
    *MODELS,
    Fitted("presence of words", BernoulliNB(), sparse.csr_array(COUNTS)),
    Fitted("rows of any weight", NaiveBayes(), REAL, None, WEIGHT),
    Fitted("rows that count a million times", NaiveBayes("gaussian"), REAL, None, 1e6 + WEIGHT),
    Fitted("a mode of rows of any weight", NaiveBayes(estimate="map"), REAL, None, WEIGHT),
]


def kernels_with_definitions() -> set[str]:
    """Names of all kernels that have a definition."""
    modules = [import_module(f"{numerics.__name__}.{each.name}") for each in pkgutil.iter_modules(numerics.__path__)]
    every = [each for module in modules for each in vars(module).values() if isinstance(each, Kernel)]
    return {name_of(each) for each in every if each.definition is not None}


def name_of(kernel: Kernel) -> str:
    return f"{kernel.__module__.removeprefix(numerics.__name__)}.{kernel.__name__}".lstrip(".")


def same(got: Any, want: Any, what: str, near: Near) -> None:
    """The same, as near as numbers get; what is infinite or NaN is so in both."""
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            same(a, b, what, near)
    elif isinstance(want, np.ndarray | float | complex | np.number):
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype, what
        got, want = (each.astype(float) if each.dtype == bool else each for each in (got, want))
        size = np.abs(want[np.isfinite(want)]).max(initial=near.least)
        with np.errstate(invalid="ignore"):
            close = np.abs(got - want) <= near.part * (size + np.abs(want))
        bad = ~(close | (got == want) | (np.isnan(got) & np.isnan(want)))
        assert not bad.any(), (what, got[bad][:3], want[bad][:3], np.argwhere(bad)[:3].tolist())
    else:
        assert got == want, what


@contextmanager
def both_ways() -> Iterator[set[str]]:
    """Let every kernel that has a definition run it on a copy of its arguments, and compare; yield their names."""
    compared: set[str] = set()
    one_at_a_time = RLock()

    def call(kernel: Kernel, *args: Any) -> Any:
        if kernel.definition is None:
            return kernel.machine_code(*args)
        name = name_of(kernel)
        compared.add(name)
        near = NEAR.get(name) or NEAR.get(name.split("_")[0], Near())
        with one_at_a_time:  # as threads write to parts of the same array
            copies = copy.deepcopy(args)
            got, want = kernel.definition(*copies), kernel.machine_code(*args)
            same(got, want, f"{name}: what is returned", near)
            for place, (a, b) in enumerate(zip(copies, args, strict=True)):
                same(a, b, f"{name}: argument {place}", near)
        return want

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield compared


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fitted", EVERY, ids=lambda fitted: fitted.name)
def test_definitions_agree_with_the_loops(fitted: Fitted) -> None:
    with both_ways() as compared:
        ask(fitted)
    assert compared


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_definition_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models above ask every kernel that has a definition; their numbers have been compared there."""
    call, missing = Kernel.__call__, kernels_with_definitions()
    assert missing

    def noted(kernel: Kernel, *args: Any) -> Any:
        missing.discard(name_of(kernel))
        return call(kernel, *args)

    monkeypatch.setattr(Kernel, "__call__", noted)
    for fitted in EVERY:
        if missing:
            ask(fitted)
    assert not missing


def ask(fitted: Fitted) -> None:
    """Ask a model for all that it can answer."""
    model, rows, few = fitted.fit(), first(fitted.X, 12), first(fitted.X, 4)
    model.predict_proba(fitted.X)
    model.predict(rows)
    for question in (
        lambda: model.loo(fitted.X, fitted.labels, sample_weight=fitted.weight),
        lambda: model.predict_interval(few),  # a density of each row and class: thousands of numbers, twice
        lambda: model.predict_interval(few, rows="fixed"),
        lambda: model.uncertainty(few),
        lambda: model.explain(first(fitted.X, 2)),
        lambda: model.log_density(rows),
        lambda: model.sample(5, rng=0),
        lambda: model.to_datatree(rows, first(fitted.labels, 12), 3, rng=0),
        lambda: dependence(model, fitted.X, fitted.labels),
        lambda: model.log_evidence_,
        lambda: model.partial_fit(fitted.X, fitted.labels, sample_weight=fitted.weight),
    ):
        with suppress(ValueError, TypeError, AttributeError):  # the model has no such answer, as its tests say
            question()


def test_the_size_of_the_work_alone_decides_which_runs() -> None:
    kernel = Kernel(len)
    vars(kernel)["machine_code"] = lambda *args: "loops"
    kernel.defined(little=10)(lambda *args: "definition")
    few, many = np.zeros(4), np.zeros((2, 3))
    assert kernel(7, (many, many, np.array([2, 4]))) == "definition"  # two entries of a row
    assert kernel(few, (many, many, np.array([2, 4]))) == "loops"
    assert kernel(few, many) == "loops"
    try:
        scale.always_compile()
        assert kernel(few) == "loops"
    finally:
        scale.always_compile(False)
    kernel.defined(little=10, work=lambda x, times: times)(lambda *args: "definition")
    assert (kernel(many, 9), kernel(few, 10)) == ("definition", "loops")


@pytest.mark.parametrize("rows", [20, 4_000], ids=["definitions", "loops"])
def test_both_sides_of_the_border_give_the_same_probabilities(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(4_000, 8)), rng.integers(0, 3, 4_000)
    x[rng.random(x.shape) < 0.02] = np.nan
    model = NaiveBayes("gaussian").fit(x, y)
    asked = model.predict_log_proba(x[:rows])
    scale.always_compile()
    try:
        np.testing.assert_allclose(model.predict_log_proba(x[:rows]), asked, rtol=1e-13, atol=1e-13)
    finally:
        scale.always_compile(False)


BORDERS = """level_kernels.collect_whole row_kernels.look_up row_kernels.mark row_kernels.totals grid_kernels.halve
link_kernels.compare transform_kernels.student_cumulants cornish_fisher.quantiles"""


@pytest.mark.slow
def test_a_first_fit_and_interval_that_compile_less_have_the_same_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """At sizes at which the definitions of these kernels run."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60_000)
    x = rng.normal(size=(len(y), 4)) + 0.3 * y[:, None]
    x[:, 1] += x[:, 0]

    def answers() -> list[np.ndarray]:
        model, numbers = NaiveBayes().fit(x, y), NaiveBayes("gaussian").fit(x[:2_000], y[:2_000])
        interval = numbers.predict_interval(x[:2_500])
        return [model.predict_log_proba(x[:500]), *(each.values for each in interval.values())]

    little = answers()
    for name in BORDERS.split():
        module, kernel = name.split(".")
        monkeypatch.setattr(getattr(getattr(numerics, module), kernel), "definition", None)
    first, *rest = zip(little, answers(), strict=True)
    np.testing.assert_allclose(*first, rtol=1e-13, atol=1e-13)
    for one, other in rest:  # quantiles of mixtures magnify rounding in their tails
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
