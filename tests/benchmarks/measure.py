"""Time and memory of calls, and the machine that they ran on."""

import ctypes
import gc
import os
import pickle
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from time import perf_counter
from timeit import repeat, timeit
from typing import Any

import numpy as np

PACKAGES = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas")
FEWEST = 3  # rounds
SHORT, LONG = 0.5, 1.5  # seconds
SPINNING = 0.12  # seconds after which threads that have nothing to do are asleep
SMALLER = {"avx2": "znver3"}  # instructions, and a processor that has no larger ones
PROCESS = Path("/proc/self")

Clock = Callable[[], float]


def interleaved(
    calls: Sequence[Callable[[], Any]], seconds: float, loops: int = 1, clock: Clock = perf_counter
) -> list[list[float]]:
    """Seconds of each call, taken in turn.

    A B A B ..., three rounds at least, until `seconds` in all are spent.

    Where less than LONG is to be spent, and a round takes longer, two rounds will do: long calls
    vary by little. A short call that is timed alone is made before, untimed: what the other side
    left in the caches, its threads of BLAS, which spin for a tenth of a second after their work,
    and a processor that has to be woken are not measured.
    """
    gc.collect()
    taken: list[list[float]] = [[] for _ in calls]
    end = perf_counter() + seconds
    while len(taken[-1]) < fewest(taken, seconds) or perf_counter() < end:
        for call, own in zip(calls, taken, strict=True):
            if loops == 1 and (not own or own[-1] < SHORT):
                settle(call)
            own.append(
                timeit(call, timer=clock, number=loops) / loops
            )  # with the garbage collector off
    return taken


def settle(call: Callable[[], Any]) -> None:
    """Make a call once, and again until the other side's threads sleep."""
    end = perf_counter() + SPINNING
    call()
    while perf_counter() < end:
        call()


def fewest(taken: Sequence[list[float]], seconds: float) -> int:
    """The number of rounds that are taken however long they are."""
    return 2 if taken[-1] and seconds < LONG < sum(own[0] for own in taken) else FEWEST


def gain() -> float:
    """How much faster two threads are than one, just now.

    Processors of a shared machine come and go.
    """
    numbers = np.linspace(1.0, 2.0, 1 << 17)
    buffers = [np.empty_like(numbers) for _ in range(2)]
    work = [
        partial(lambda out: [np.exp(numbers, out=out) for _ in range(10)], out) for out in buffers
    ]

    def together() -> None:
        other = Thread(target=work[0])
        other.start()
        work[1]()
        other.join()

    settle(together)
    alone, both = (min(repeat(call, number=1, repeat=FEWEST)) for call in (work[0], together))
    return 2 * alone / both


def peak[**P, Out](
    call: Callable[P, Out], *args: P.args, **kwargs: P.kwargs
) -> tuple[Out, int | None]:
    """What the call returns, and the bytes by which memory exceeded, at the peak, what was in use before."""
    tidy()
    try:
        (PROCESS / "clear_refs").write_text("5")  # forget the high-water mark
        before = kilobytes("VmRSS")
    except OSError:  # not Linux
        return call(*args, **kwargs), None
    out = call(*args, **kwargs)
    return out, 1024 * max(0, kilobytes("VmHWM") - before)


def kilobytes(name: str) -> int:
    """A figure of this process's memory, as Linux counts it."""
    lines = (PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def tidy() -> None:
    """Give freed memory back to the system, where the C library can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def held(value: Any) -> int:
    """Bytes of what a value keeps, its arrays above all."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)


def size(x: Any) -> int:
    """Bytes of a table."""
    if hasattr(x, "memory_usage"):
        return int(x.memory_usage(index=False, deep=True).sum())
    return (
        sum(getattr(x, name).nbytes for name in ("data", "indices", "indptr"))
        if hasattr(x, "indptr")
        else x.nbytes
    )


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def instructions() -> str:
    """Vector instructions that kernels are compiled for.

    The processor's, or those of one that Numba is told.
    """
    from llvmlite import binding
    from numba import config

    smaller = {processor: name for name, processor in SMALLER.items()}
    if config.CPU_NAME is not None:
        return smaller.get(config.CPU_NAME, config.CPU_NAME)
    features = binding.get_host_cpu_features()
    return next(
        (name for name in ("avx512f", "avx2", "neon") if features.get(name)), platform.machine()
    )


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    where = {"system": sys.platform, "processor": platform.machine(), "cores": cores()}
    return where | {"instructions": instructions(), "versions": versions}
