"""Work on blocks of rows, on as many threads as allowed. Results come in order, whatever the number of threads."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

FEWEST, MOST = 1 << 18, 1 << 20  # cells that are handed to a thread at once
PARTS = 16  # of a table that lies between


def pieces(rows: int, width: int, least: int = 1) -> list[slice]:
    """Blocks of rows to hand to threads, each of at least so many rows; the same for any number of threads."""
    cells = min(max(rows * width // PARTS, FEWEST), MOST)
    return blocks(rows, max(cells // max(width, 1), least))


def blocks(rows: int, step: int) -> list[slice]:
    """Consecutive blocks of so many rows."""
    if rows <= step:
        return [slice(0, rows)]
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def in_order[In, Out](work: Callable[[In], Out], items: Sequence[In], n_jobs: int | None) -> Iterable[Out]:
    """`work` on each item, results in the order of the items, as long as they are asked for."""
    if len(items) == 1:
        return [work(items[0])]
    threads = min(len(items), threads_of(n_jobs))
    return map(work, items) if threads <= 1 else _on_threads(work, items, threads)


def _on_threads[In, Out](work: Callable[[In], Out], items: Sequence[In], threads: int) -> Iterator[Out]:
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)


def threads_of(n_jobs: int | None) -> int:
    """How many threads are meant: None or a negative number is one for each core that this process may use."""
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
