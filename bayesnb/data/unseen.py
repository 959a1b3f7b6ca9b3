"""Levels that a model does not know: one warning that names them all, of one table or of many batches."""

import warnings
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

NEVER_LEARNT = "They were never learnt, so they cannot be forgotten."
HERE = str(Path(__file__).parent.parent)
Unseen = dict[Hashable, Counter]


class UnseenLevelWarning(UserWarning):
    """Cells hold levels, or words, that training never saw; they were left out, for all classes alike."""

    unseen: "Unseen"  # how often each of them occurs, column by column

    @classmethod
    def of(cls, unseen: "Unseen") -> Self:
        """Return one warning that names all levels that were not seen."""
        warning = cls(f"{unseen_message(unseen)} They are left out, for all classes alike.")
        warning.unseen = unseen
        return warning


def unseen_message(unseen: Unseen) -> str:
    parts = []
    for name, times in unseen.items():
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in times.most_common(5))
        more = ", ..." if len(times) > 5 else ""
        parts.append(f"column {name!r} has levels that the model does not know: {shown}{more}")
    return "; ".join(parts) + "."


def warn(unseen: "Unseen") -> None:
    """Warn once of all levels that were not seen, at the caller's line."""
    warnings.warn(UnseenLevelWarning.of(unseen), skip_file_prefixes=(HERE,))


@dataclass(eq=False)
class UnseenCollector:
    """Levels that were not seen, gathered from batches until one warning names them all."""

    levels: dict[Hashable, Counter] = field(default_factory=dict)

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep warnings of levels that were not seen; all others are shown."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not isinstance(warning.message, UnseenLevelWarning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
                continue
            for name, times in warning.message.unseen.items():
                self.levels.setdefault(name, Counter()).update(times)

    def warn(self) -> None:
        """Warn once, if a level was not seen, at the caller's line."""
        if self.levels:
            warnings.warn(UnseenLevelWarning.of(self.levels), skip_file_prefixes=(HERE,))

    @property
    def note(self) -> dict[Any, dict[Any, int]]:
        """Counts of the levels as plain values."""
        return {name: dict(times) for name, times in self.levels.items()}

    def restore(self, note: dict[Any, dict[Any, int]]) -> None:
        """Go on from the counts of a `note`."""
        self.levels = {name: Counter(times) for name, times in note.items()}
