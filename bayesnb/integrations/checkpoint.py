"""Where a long fit has come to, in a file, from which it goes on after the machine has failed."""

from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from bayesnb.data.levels import UnseenCollector
from bayesnb.model.shards import Shard, alike
from bayesnb.persistence import read_shard, write_shard


@dataclass(eq=False)
class Checkpoint:
    """A file that holds the shard of all rows so far, which files and which fit it is of, and the place reached."""

    path: Path
    asked: dict[str, Any]  # what has to be the same for the fit to go on
    seconds: float
    written: float = float("-inf")

    def resumed(self, collector: UnseenCollector) -> tuple[Shard | None, tuple[int, int]]:
        """Return what was counted, and the file and row to go on from."""
        if not self.path.exists():
            return None, (0, 0)
        total, note = read_shard(self.path)
        self._check(note)
        place, unseen = note.get("place"), note.get("unseen")
        if not (_is_place(place, len(self.asked["files"])) and _are_counts(unseen)):
            raise ValueError(
                f"{str(self.path)!r} is not a readable checkpoint: it does not say how far the fit has come, or "
                "which levels were new. Delete the file to begin anew."
            )
        collector.restore(unseen)
        file, row = place
        return total, (file, row)

    def _check(self, note: Any) -> None:
        asked = note.get("asked") if isinstance(note, dict) else None
        asked = asked if isinstance(asked, dict) else {}
        differ = [name for name, value in self.asked.items() if not alike(value, asked.get(name))]
        if not differ:
            return
        difference = f"`{differ[0]}` differs"
        if differ[0] == "files" and _are_stamps(asked.get("files")):
            before, now = ({file[0]: file for file in files} for files in (asked["files"], self.asked["files"]))
            changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
            others = f"its files are others, or have changed since, {changed[0]!r} first" if changed else None
            difference = others or "its files had another order"
        raise ValueError(
            f"{str(self.path)!r} is the checkpoint of another fit: {difference}. Go on with what that fit had, give "
            "another name, or delete the file to begin anew."
        )

    def keep(self, total: Shard | None, place: tuple[int, int], unseen: UnseenCollector) -> None:
        """Write down what was counted up to a place, if it is time to."""
        if total is None or monotonic() - self.written < self.seconds:
            return
        write_shard(total, self.path, {"asked": self.asked, "place": list(place), "unseen": unseen.note})
        self.written = monotonic()

    def remove(self) -> None:
        """Delete the file, which is not needed any more."""
        self.path.unlink(missing_ok=True)


def _are_stamps(files: Any) -> bool:
    """Return whether a note says which files there were, each by its name and what else is known of it."""
    return isinstance(files, list) and all(
        isinstance(file, list) and file and isinstance(file[0], str) for file in files
    )


def _is_place(place: Any, files: int) -> bool:
    """Return whether a note says the number of one of the files, and a row."""
    is_pair = isinstance(place, list) and len(place) == 2 and all(type(number) is int for number in place)
    return is_pair and 0 <= place[0] < files and place[1] >= 0


def _are_counts(unseen: Any) -> bool:
    """Return whether a note says how often each level occurred, column by column."""
    return isinstance(unseen, dict) and all(
        isinstance(levels, dict) and all(type(times) is int and times > 0 for times in levels.values())
        for levels in unseen.values()
    )
