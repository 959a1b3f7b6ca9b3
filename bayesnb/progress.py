"""A progress bar on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Bar:
    """A progress bar, which may be disabled; work before `start` does not count."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn

    def start(self, total: int, done: int = 0) -> None:
        """Start counting."""
        self.drawn.total = total
        self.drawn.n = done
        self.drawn.unpause()  # excludes the time until now; `reset` would draw at once

    def more(self, count: float) -> None:
        """Advance the bar."""
        self.drawn.update(count)

    def watch(self, file: Any) -> Any:
        """Return a file whose bytes are counted as they are read."""
        from tqdm.utils import CallbackIOWrapper

        return CallbackIOWrapper(self.drawn.update, file)

    def finish(self) -> None:
        """Fill the bar: skipped work counts as done."""
        self.drawn.update(self.drawn.total - self.drawn.n)


@contextmanager
def bar(
    what: str,
    shown: bool | None,
    unit: str = "B",
    delay: float = 0.0,
) -> Iterator[Bar]:
    """Open a bar; `shown=None` shows it only on a terminal, and after `delay` seconds."""
    from tqdm import tqdm

    with tqdm(
        desc=what,
        unit=unit,
        unit_scale=True,
        file=sys.stderr,
        delay=0.0 if shown else delay,
        disable=not (sys.stderr.isatty() if shown is None else shown),
    ) as drawn:
        yield Bar(drawn)
