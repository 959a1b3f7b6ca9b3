"""A progress bar on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Bar:
    """A progress bar, which may be disabled; what is done before `start` does not count."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn

    def start(self, total: int, done: int = 0) -> None:
        """Begin to count."""
        self.drawn.total = total
        self.drawn.n = done
        self.drawn.unpause()  # the time until now is no work; `reset` would draw at once

    def more(self, count: float) -> None:
        """Count what was done."""
        self.drawn.update(count)

    def watch(self, file: Any) -> Any:
        """Return a file whose bytes are counted as they are read."""
        from tqdm.utils import CallbackIOWrapper

        return CallbackIOWrapper(self.drawn.update, file)

    def finish(self) -> None:
        """Fill the bar: what was skipped is done too."""
        self.drawn.update(self.drawn.total - self.drawn.n)


@contextmanager
def bar(
    what: str,
    shown: bool | None,
    unit: str = "B",
    delay: float = 0.0,
) -> Iterator[Bar]:
    """Open a bar; None shows it only on a terminal, and after `delay` seconds."""
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
