"""Levels that a model does not know, in many batches: one warning of all of them."""

import warnings
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bayesnb.data.unseen import HERE, UnseenLevelWarning


@dataclass(eq=False)
class Unheard:
    """What batches warn of, until all are through."""

    levels: dict[Hashable, Counter] = field(default_factory=dict)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Warnings of levels are kept, all others are shown."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not isinstance(warning.message, UnseenLevelWarning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
                continue
            for name, times in warning.message.unseen.items():
                self.levels.setdefault(name, Counter()).update(times)

    def tell(self) -> None:
        """One warning, if there was any; it is the caller's line."""
        if self.levels:
            warnings.warn(UnseenLevelWarning.of(self.levels), skip_file_prefixes=(HERE,))

    @property
    def note(self) -> dict[Any, dict[Any, int]]:
        """It as plain values."""
        return {name: dict(times) for name, times in self.levels.items()}

    def recall(self, note: dict[Any, dict[Any, int]]) -> None:
        """Go on from what was noted."""
        self.levels = {name: Counter(times) for name, times in note.items()}
