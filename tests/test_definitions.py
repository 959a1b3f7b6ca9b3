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
from scipy import sparse

from bayesnb import BernoulliNB, numerics
from bayesnb.numerics.compilation import Kernel
from tests.test_frozen import first
from tests.test_storage import COUNTS, MODELS, Fitted

TOLERANCE = 1e-13
CANCELLING = {"count_kernels.left_out": 1.0}  # size of numbers of which differences are left: log gammas, at any power


def kernels_with_definitions() -> set[str]:
    """Names of all kernels that have a definition."""
    modules = [import_module(f"{numerics.__name__}.{each.name}") for each in pkgutil.iter_modules(numerics.__path__)]
    every = [each for module in modules for each in vars(module).values() if isinstance(each, Kernel)]
    return {name_of(each) for each in every if each.definition is not None}


def name_of(kernel: Kernel) -> str:
    return f"{kernel.__module__.removeprefix(numerics.__name__)}.{kernel.__name__}".lstrip(".")


def same(got: Any, want: Any, what: str, least: float = 0.0) -> None:
    """The same to 1e-13 of the largest number, or of `least`; what is infinite or NaN is so in both."""
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            same(a, b, what, least)
    elif isinstance(want, np.ndarray | float | complex | np.number):
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype, what
        got, want = (x.astype(int) if x.dtype == bool else x for x in (got, want))
        size = np.abs(want[np.isfinite(want)]).max(initial=least)
        with np.errstate(invalid="ignore"):
            near = np.abs(got - want) <= TOLERANCE * (size + np.abs(want))
        bad = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
        assert not bad.any(), (what, got[bad][:3], want[bad][:3], np.argwhere(bad)[:3].tolist())
    else:
        assert got == want, what


@contextmanager
def both_ways() -> Iterator[set[str]]:
    """Let every kernel that has a definition run it on a copy of its arguments, and compare; yield their names."""
    compared: set[str] = set()
    one_at_a_time = RLock()  # as threads write to classes of one array

    def call(kernel: Kernel, *args: Any) -> Any:
        if kernel.definition is None:
            return kernel.machine_code(*args)
        compared.add(name_of(kernel))
        with one_at_a_time:
            copies = copy.deepcopy(args)
            got, want = kernel.definition(*copies), kernel.machine_code(*args)
            same(got, want, f"{name_of(kernel)}: what is returned")
            for place, (a, b) in enumerate(zip(copies, args, strict=True)):
                same(a, b, f"{name_of(kernel)}: argument {place}", CANCELLING.get(name_of(kernel), 0.0))
        return want

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield compared


@pytest.mark.filterwarnings("ignore")
def test_definitions_agree_with_the_loops() -> None:
    with both_ways() as compared:
        for fitted in [*MODELS, Fitted("presence of words", BernoulliNB(), sparse.csr_array(COUNTS))]:
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
        lambda: model.sample(5, random_state=0),
        lambda: model.partial_fit(fitted.X, fitted.labels, sample_weight=fitted.weight),
    ):
        with suppress(ValueError, TypeError, AttributeError):  # the model has no such answer, as its tests say
            question()
