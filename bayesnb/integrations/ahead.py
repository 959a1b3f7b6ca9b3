"""The next batch is read while the last one is counted."""

from collections.abc import Iterator
from queue import Empty, Queue
from threading import Event, Semaphore, Thread
from typing import Any

PATIENCE = 0.1  # seconds until one looks whether the other is still there


def ahead[Item](items: Iterator[Item]) -> Iterator[Item]:
    """Yield items in their order; while one is used, another thread makes the next, and no more."""
    ready: Queue[tuple[str, Any]] = Queue()
    room, stopped = Semaphore(0), Event()
    reader = Thread(target=_make, args=(items, ready, room, stopped), daemon=True)
    reader.start()
    try:
        while (message := _next(ready))[0] == "item":
            room.release()
            yield message[1]
            del message
        if message[0] == "error":
            raise message[1]
    finally:
        stopped.set()
        room.release()
        reader.join()


def _make(items: Iterator[Any], ready: Queue, room: Semaphore, stopped: Event) -> None:
    """Put items into the queue, each as soon as the one before it was taken, and at last their end or error."""
    try:
        for item in items:
            ready.put(("item", item))
            del item
            room.acquire()
            if stopped.is_set():
                return
        ready.put(("end", None))
    except BaseException as error:
        ready.put(("error", error))


def _next(ready: Queue) -> tuple[str, Any]:
    """Wait for the next message of the queue; a signal such as Ctrl-C is handled meanwhile."""
    while True:
        try:
            return ready.get(timeout=PATIENCE)
        except Empty:
            continue
