"""Progress messages on stderr, once the work has taken two seconds."""

import sys
import time
from threading import Timer
from typing import Self

from bayesnb.safe_output import visible

PATIENCE = 2.0  # seconds of work before the first message
SHORTEST = 0.3  # seconds that a later stage must take to be named


class Stages:
    """Name the current stage on stderr: at once, never, or (None) on a terminal if the work takes
    long.

    A timer prints the line, since a stage may be one long call that cannot print by itself.
    """

    def __init__(self, shown: bool | None = None) -> None:
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.first = time.monotonic() + (0.0 if shown else PATIENCE)
        self.shortest = 0.0 if shown else SHORTEST
        self.timer: Timer | None = None

    def begin(self, what: str) -> None:
        """End the previous stage, and begin one with the description `what`."""
        self.end()
        wait = max(self.first - time.monotonic(), self.shortest)
        if not self.shown:
            return
        if wait <= 0:
            print_stage(what)
            return
        self.timer = Timer(wait, print_stage, [what])
        self.timer.daemon = True
        self.timer.start()

    def end(self) -> None:
        """End the stage."""
        if self.timer is not None:
            self.timer.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()


def print_stage(what: str) -> None:
    """Print the line of a stage."""
    print(visible(f"{what} ..."), file=sys.stderr, flush=True)
