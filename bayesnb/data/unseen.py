"""Levels that a model does not know: what is said of them."""

import warnings
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Self

NEVER_LEARNT = "They were never learnt, so they cannot be forgotten."
HERE = str(Path(__file__).parent.parent)
Unseen = dict[Hashable, Counter]


class UnseenLevelWarning(UserWarning):
    """Cells hold levels, or words, that training never saw; they were left out, for all classes alike."""

    unseen: "Unseen"  # how often each of them occurs, column by column

    @classmethod
    def of(cls, unseen: "Unseen") -> Self:
        """The warning that names them all."""
        warning = cls(f"{told(unseen)} They are left out, for all classes alike.")
        warning.unseen = unseen
        return warning


def told(unseen: Unseen) -> str:
    parts = []
    for name, times in unseen.items():
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in times.most_common(5))
        more = ", ..." if len(times) > 5 else ""
        parts.append(f"column {name!r} has levels that the model does not know: {shown}{more}")
    return "; ".join(parts) + "."


def warn(unseen: "Unseen") -> None:
    """One warning that names them all, at the caller's line."""
    warnings.warn(UnseenLevelWarning.of(unseen), skip_file_prefixes=(HERE,))
