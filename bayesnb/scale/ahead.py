"""The next batch is read while the last one is counted."""

from collections.abc import Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

PATIENCE = 0.1  # seconds until one looks whether the other is still there


def ahead[Item](items: Iterator[Item]) -> Iterator[Item]:
    """The same items in their order, of which a thread of their own has the next one ready."""
    ready: Queue[tuple[str, Any]] = Queue(maxsize=1)
    stopped = Event()

    def put(what: str, item: Any) -> None:
        while not stopped.is_set():
            try:
                ready.put((what, item), timeout=PATIENCE)
                return
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put("item", item)
                if stopped.is_set():
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    reader = Thread(target=work, daemon=True)
    reader.start()
    try:
        while (found := _next(ready))[0] == "item":
            yield found[1]
            del found
        if found[0] == "error":
            raise found[1]
    finally:
        stopped.set()
        reader.join()


def _next(ready: Queue) -> tuple[str, Any]:
    """What is ready; a signal such as Ctrl-C is heard meanwhile."""
    while True:
        try:
            return ready.get(timeout=PATIENCE)
        except Empty:
            continue
