"""How far a long fit has come, in a file, from which it goes on after the machine has failed."""

from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from bayesnb.data.levels import UnseenCollector
from bayesnb.model.schema import are_alike
from bayesnb.model.shards import Shard
from bayesnb.persistence import read_shard, write_shard


@dataclass(eq=False)
class Checkpoint:
    """A file with the shard of all files that are done, their number, and the fit it is of."""

    path: Path
    asked: dict[str, Any]  # what has to be the same for the fit to go on
    seconds: float
    written: float = float("-inf")

    def resume(self, unseen: UnseenCollector) -> tuple[Shard | None, int]:
        """Return what was counted, and how many files are done."""
        if not self.path.exists():
            return None, 0
        total, note = read_shard(self.path)
        if not isinstance(note, dict) or {"asked", "done", "unseen"} - note.keys():
            raise ValueError(
                f"{str(self.path)!r} is not a checkpoint: it does not say how far a fit has come. "
                "Delete the file to begin anew."
            )
        difference = self._difference(note["asked"])
        if difference:
            raise ValueError(
                f"{str(self.path)!r} is the checkpoint of another fit: {difference}. Go on with "
                "what that fit had, give another name, or delete the file to begin anew."
            )
        unseen.levels = note["unseen"]
        return total, note["done"]

    def _difference(self, asked: dict[str, Any]) -> str:
        """Return what is not the same as in the fit that wrote the file.

        An empty text if all is.
        """
        for name, value in self.asked.items():
            if are_alike(value, asked.get(name)):
                continue
            if name != "files":
                return f"`{name}` differs"
            for file in [*asked[name], *value]:
                if file not in asked[name] or file not in value:
                    return f"its files are others, or have changed since, {file[0]!r} first"
            return "its files had another order"
        return ""

    def keep(self, total: Shard | None, done: int, unseen: UnseenCollector) -> None:
        """Write down what was counted in the files that are done, if it is time to."""
        if total is None or monotonic() - self.written < self.seconds:
            return
        write_shard(total, self.path, {"asked": self.asked, "done": done, "unseen": unseen.levels})
        self.written = monotonic()

    def remove(self) -> None:
        """Delete the file, which is not needed any more."""
        self.path.unlink(missing_ok=True)
