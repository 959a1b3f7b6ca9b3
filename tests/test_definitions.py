"""Each kernel's loops and its definition in NumPy give the same numbers, whatever a model asks them for."""

import copy
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import RLock
from typing import Any

import numpy as np
import pytest

from bayesnb import NaiveBayes, numerics
from bayesnb.numerics.compilation import Kernel
from tests.test_frozen import first
from tests.test_storage import MODELS, REAL, Fitted, Y

TOLERANCE = 1e-13
TOLERANCES = {"histogram_kernels.transform": 1e-11}  # the phase s log(s), s up to 5e3, is rounded by 4e-12 in both
WEIGHTED = [
    Fitted("rows of any weight", NaiveBayes(), REAL, None, np.arange(len(Y)) / 8 + 0.5),
    Fitted("a mode of rows of any weight", NaiveBayes(estimate="map"), REAL, None, np.arange(len(Y)) / 8 + 0.5),
]


def kernels_with_definitions() -> set[str]:
    """Names of all kernels that have a definition."""
    modules = [import_module(f"{numerics.__name__}.{each.name}") for each in pkgutil.iter_modules(numerics.__path__)]
    every = [each for module in modules for each in vars(module).values() if isinstance(each, Kernel)]
    return {name_of(each) for each in every if each.definition is not None}


def name_of(kernel: Kernel) -> str:
    return f"{kernel.__module__.removeprefix(numerics.__name__)}.{kernel.__name__}".lstrip(".")


def same(got: Any, want: Any, what: str, tolerance: float) -> None:
    """The same to a part of the largest number; what is infinite or NaN is so in both.

    Histograms' numbers are logs of ratios around 1, which are right to an ulp of 1, however small they all are.
    """
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            same(a, b, what, tolerance)
    elif isinstance(want, np.ndarray | float | complex | np.number):
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype, what
        size = np.abs(want[np.isfinite(want)]).max(initial=1.0 if what.startswith("histogram") else 0.0)
        with np.errstate(invalid="ignore"):
            near = np.abs(got - want) <= tolerance * (size + np.abs(want))
        bad = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
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
        compared.add(name_of(kernel))
        with one_at_a_time:  # as threads write to parts of the same array
            copies = copy.deepcopy(args)
            got, want = kernel.definition(*copies), kernel.machine_code(*args)
            compare(kernel, args, copies, got, want)
        return want

    def compare(kernel: Kernel, args: Any, copies: Any, got: Any, want: Any) -> None:
        tolerance = TOLERANCES.get(name_of(kernel), TOLERANCE)
        same(got, want, f"{name_of(kernel)}: what is returned", tolerance)
        for place, (a, b) in enumerate(zip(copies, args, strict=True)):
            same(a, b, f"{name_of(kernel)}: argument {place}", tolerance)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield compared


@pytest.mark.filterwarnings("ignore")
def test_definitions_agree_with_the_loops() -> None:
    with both_ways() as compared:
        for fitted in (*MODELS, *WEIGHTED):
            ask(fitted)
    assert compared == kernels_with_definitions()


def ask(fitted: Fitted) -> None:
    """Ask a model for all that it can answer."""
    model, rows = fitted.fit(), first(fitted.X, 12)
    model.predict_proba(fitted.X)
    model.predict(rows)
    for question in (
        lambda: model.loo(fitted.X, fitted.labels, sample_weight=fitted.weight),
        lambda: model.predict_interval(rows),
        lambda: model.predict_interval(rows, rows="fixed"),
        lambda: model.uncertainty(rows),
        lambda: model.explain(first(fitted.X, 2)),
        lambda: model.log_density(rows),
        lambda: model.sample(5, rng=0),
        lambda: model.to_datatree(rows, first(fitted.labels, 12), 3, rng=0),
        lambda: model.partial_fit(fitted.X, fitted.labels, sample_weight=fitted.weight),
    ):
        with suppress(ValueError, TypeError, AttributeError):  # the model has no such answer, as its tests say
            question()
