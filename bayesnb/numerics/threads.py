"""Work on blocks of rows in threads, with results in order for any number of threads."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock, Thread
from typing import Any

# Cells handed to a thread at once: with fewer, handing over takes longer than the work; with more,
# threads are idle at the end.
FEWEST = 1 << 18
MOST = 1 << 20
PARTS = 8  # blocks of a table of medium size


def pieces(rows: int, width: int, least: int = 1) -> list[slice]:
    """Blocks of at least `least` rows for threads, the same for any number of threads."""
    if rows * width <= FEWEST:
        return [slice(0, rows)]
    cells = min(max(rows * width // PARTS, FEWEST), MOST)
    return blocks(rows, max(cells // max(width, 1), least))


def blocks(rows: int, step: int) -> list[slice]:
    """Consecutive blocks of `step` rows; the last may be shorter."""
    if rows <= step:
        return [slice(0, rows)]
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def in_order[In, Out](
    work: Callable[[In], Out], items: Sequence[In], n_jobs: int | None
) -> Iterable[Out]:
    """Results of `work` on each item, in the order of the items.

    They are computed one by one on demand, or by threads.
    """
    if len(items) == 1:
        return [work(items[0])]
    threads = min(len(items), threads_of(n_jobs))
    return map(work, items) if threads <= 1 else _on_threads(work, items, threads)


def _on_threads[In, Out](work: Callable[[In], Out], items: Sequence[In], threads: int) -> list[Out]:
    """Let this thread and new ones take items until none is left; a pool would start more
    slowly.
    """
    done: dict[int, Out] = {}
    errors: dict[int, BaseException] = {}
    left, turn = iter(range(len(items))), Lock()

    def labour() -> None:
        while not errors:
            with turn:
                at = next(left, None)
            if at is None:
                return
            try:
                done[at] = work(items[at])
            except BaseException as error:
                errors[at] = error

    helpers = [Thread(target=labour, daemon=True) for _ in range(threads - 1)]
    for helper in helpers:
        helper.start()
    labour()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[min(errors)]
    return [done[at] for at in range(len(items))]


def ahead[Item](items: Iterator[Item]) -> Generator[Item]:
    """Yield items in order; while one is used, another thread prepares the next, and only that."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
            del item  # free its memory while waiting for the next


def threads_of(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: a negative number means all cores that this process may use.

    None means all cores too, but no more than the environment allows for Numba or OpenMP, or
    threadpoolctl for OpenMP in this thread: joblib, Dask and batch systems divide a machine that
    way.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    from joblib import cpu_count  # knows affinity and the quota of a container

    cores: int = cpu_count()
    return cores if n_jobs is not None else max(min(cores, *_limits()), 1)


def _limits() -> Iterable[int]:
    """Yield the numbers of threads that the environment and libraries allow."""
    yield sys.maxsize
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        outermost = os.environ.get(name, "").split(",")[0].strip()
        if outermost.isdecimal():
            yield int(outermost)
    for library in _openmp():
        yield library.num_threads


@cache
def _openmp() -> list[Any]:
    """OpenMP libraries in this process, such as scikit-learn's; cached, as finding them takes
    milliseconds.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp").lib_controllers
