"""Work on blocks of rows, on as many threads as allowed.

Results come in order, whatever the number of threads.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

# Cells handed to a thread at once: fewer cost more to hand over than to work on, more leave a
# thread idle at the end.
FEWEST = 1 << 18
MOST = 1 << 20
PARTS = 8  # of a table in between


def pieces(rows: int, width: int, least: int = 1) -> list[slice]:
    """Blocks of rows to hand to threads, each of `least` rows or more.

    They are the same for any number of threads.
    """
    if rows * width <= FEWEST:
        return [slice(0, rows)]
    cells = min(max(rows * width // PARTS, FEWEST), MOST)
    return blocks(rows, max(cells // max(width, 1), least))


def blocks(rows: int, step: int) -> list[slice]:
    """Consecutive blocks of `step` rows, of which the last may be shorter."""
    if rows <= step:
        return [slice(0, rows)]
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def in_order[In, Out](
    work: Callable[[In], Out], items: Sequence[In], n_jobs: int | None
) -> Iterable[Out]:
    """Results of `work` on each item, in the order of the items.

    They are computed lazily one by one, or by threads.
    """
    if len(items) == 1:
        return [work(items[0])]
    threads = min(len(items), threads_of(n_jobs))
    if threads <= 1:
        return map(work, items)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def ahead[Item](items: Iterator[Item]) -> Generator[Item]:
    """Yield items in their order; while one is used, another thread makes the next, and no more."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
            del item  # what is used no more is not kept while the next is awaited


def threads_of(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: a negative number is one for each core that this process may
    use.

    None is as many, but no more than the environment allows to Numba's or OpenMP's kernels: joblib,
    Dask and batch systems share out a machine so. It is asked only where there is much to do.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    from joblib import cpu_count  # knows affinity and the quota of a container

    limits: list[int] = [cpu_count()]
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS") if n_jobs is None else ():
        outermost = os.environ.get(name, "").split(",")[0].strip()
        if outermost.isdecimal():
            limits.append(int(outermost))
    return max(min(limits), 1)
