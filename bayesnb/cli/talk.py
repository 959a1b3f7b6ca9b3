"""What is said to the user while a command runs: on stderr, so that stdout has nothing but data."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from bayesnb.cli.problems import in_options
from bayesnb.visible import visible


def print_line(line: str) -> None:
    """Print one line on stderr, in which nothing that comes from a table can command the terminal."""
    print(visible(line), file=sys.stderr, flush=True)


class Talk:
    """Lines on stderr, fewer of them if the user wants it quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.warned: set[str] = set()
        self.unseen: dict[Hashable, Counter] = {}  # levels that a model does not know, column by column

    def say(self, line: str) -> None:
        """Something good to know."""
        if not self.quiet:
            print_line(line)

    def warn(self, line: str) -> None:
        """Something that may be wrong, once."""
        if line not in self.warned:
            self.warned.add(line)
            print_line(f"bayesnb: warning: {line}")

    def fail(self, line: str) -> None:
        """Why the command failed."""
        print_line(f"bayesnb: error: {line}")

    def show_warning(self, message: Any, category: type[Warning], *place: Any) -> None:
        """A warning of the rooms below, as a line."""
        if getattr(message, "unseen", None):
            for name, times in message.unseen.items():
                self.unseen.setdefault(name, Counter()).update(times)
            return
        self.warn(in_options(" ".join(str(message).split())))

    def tell_unseen(self) -> None:
        """One warning of all levels that a model met and does not know."""
        if self.unseen:
            from bayesnb import UnseenLevelWarning

            self.warn(str(UnseenLevelWarning.of(self.unseen)))
            self.unseen = {}

    @contextmanager
    def progress(self, what: str, total: int | None = None, unit: str = "B") -> Iterator[Callable[[int], Any]]:
        """A bar, where someone can see one; what it gives takes by how much there is more."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda more: None
            return
        from tqdm import tqdm

        with tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=0.5) as bar:
            yield bar.update
