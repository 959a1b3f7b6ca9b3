"""A bar of how much was done, on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Bar:
    """What is told how much more was done; what is done before the work begins does not count."""

    def __init__(self, drawn: Any = None) -> None:
        self.drawn = drawn
        self.started = False

    def start(self, total: int, done: int = 0) -> None:
        if self.drawn is not None:
            self.drawn.reset(total)
            self.drawn.update(done)
        self.started = True

    def more(self, count: float) -> None:
        if self.started and self.drawn is not None:
            self.drawn.update(count)


@contextmanager
def bar(what: str, shown: bool | None, unit: str = "B", delay: float = 0.0) -> Iterator[Bar]:
    """A bar, after some seconds; None: where there is a terminal to show it on."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield Bar()
        return
    from tqdm import tqdm

    with tqdm(desc=what, unit=unit, unit_scale=True, file=sys.stderr, delay=delay) as drawn:
        yield Bar(drawn)
