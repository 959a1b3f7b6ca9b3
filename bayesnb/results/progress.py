"""A progress bar on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Bar:
    """A progress bar, or none; what is done before `start` does not count."""

    def __init__(self, drawn: Any = None) -> None:
        self.drawn = drawn
        self.started = False

    def start(self, total: int, done: int = 0) -> None:
        """Begin to count."""
        self.started = True
        if self.drawn is not None:
            self.drawn.total = total
            self.drawn.unpause()  # the time until now is no work; `reset` would draw at once
            self.drawn.update(done)

    def name(self, what: str) -> None:
        """Say what is at work now."""
        if self.drawn is not None:
            is_visible = time.time() >= self.drawn.start_t + self.drawn.delay
            self.drawn.set_description(what, refresh=is_visible)

    def more(self, count: float) -> None:
        """Count what was done."""
        if self.started and self.drawn is not None:
            self.drawn.update(count)

    def finish(self) -> None:
        """Fill the bar: what was skipped is done too."""
        if self.started and self.drawn is not None:
            self.more(self.drawn.total - self.drawn.n)


@contextmanager
def bar(
    what: str,
    shown: bool | None,
    unit: str = "B",
    delay: float = 0.0,
) -> Iterator[Bar]:
    """Open a bar; None shows it only on a terminal, and after `delay` seconds."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield Bar()
        return
    from tqdm import tqdm

    delay = 0.0 if shown else delay
    with tqdm(desc=what, unit=unit, unit_scale=True, file=sys.stderr, delay=delay) as drawn:
        yield Bar(drawn)
