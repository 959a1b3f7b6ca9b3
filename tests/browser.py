"""A headless Chromium that opens a page, and tells what a reader would meet: by its debugging
protocol over two pipes.

Nothing but Debian's `chromium` is needed. Messages are JSON, each followed by a zero byte; the
browser reads them from
its file descriptor 3 and answers on 4 (https://chromedevtools.github.io/devtools-protocol).
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Self

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--hide-scrollbars",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "about:blank",
)
PATIENCE = 60.0  # seconds
QUIET = ("Page.enable", "Runtime.enable", "Log.enable", "Network.enable")


class Browser:
    """A process, and messages to and from it."""

    def __init__(self, profile: Path) -> None:
        program = shutil.which("chromium")
        if program is None:
            raise FileNotFoundError(
                "there is no chromium here: apt-get install chromium, or run .ci/run, which does."
            )
        theirs_in, self.out = (_high(end) for end in os.pipe())
        self.into, theirs_out = (_high(end) for end in os.pipe())
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs_in, 3),
            (os.POSIX_SPAWN_DUP2, theirs_out, 4),
        ]
        words = [program, *FLAGS[:-1], f"--user-data-dir={profile}", FLAGS[-1]]
        self.process = os.posix_spawn(program, words, os.environ, file_actions=actions)
        os.close(theirs_in)
        os.close(theirs_out)
        self.unread, self.asked, self.events = b"", 0, []  # type: ignore[var-annotated]

    def call(self, method: str, session: str | None = None, /, **params: Any) -> Any:
        """Ask for something and wait for the answer; what else happens is remembered."""
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": params} | (
            {"sessionId": session} if session else {}
        )
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        while (answer := self.read()).get("id") != self.asked:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait_for(self, method: str) -> None:
        """Until such an event came; those before it are remembered."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def read(self) -> dict[str, Any]:
        """The next message."""
        end = monotonic() + PATIENCE
        while b"\0" not in self.unread:
            if not select.select([self.into], [], [], max(0.0, end - monotonic()))[0]:
                raise TimeoutError(f"chromium said nothing for {PATIENCE:g} seconds.")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise RuntimeError("chromium ended.")
            self.unread += more
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        """End the process that was started, and wait for its end."""
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError, TimeoutError):
            os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.out)
        os.close(self.into)


def _high(end: int) -> int:
    """The same pipe on a number that is not in the way of 3 and 4."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that has never been used before."""
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        browser = Browser(Path(profile))
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One file, open at one width."""

    def __init__(
        self, browser: Browser, width: int = 1280, theme: str = "light", script: bool = True
    ) -> None:
        self.browser, self.script = browser, script
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)[
            "sessionId"
        ]
        for method in QUIET:
            self.call(method)
        self.resize(width)
        self.media(theme)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method: str, **params: Any) -> Any:
        return self.browser.call(method, self.session, **params)

    def resize(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def media(self, theme: str, medium: str = "") -> None:
        self.call(
            "Emulation.setEmulatedMedia",
            media=medium,
            features=[{"name": "prefers-color-scheme", "value": theme}],
        )

    def open(self, path: Path) -> Self:
        """The page, loaded; what happened before is forgotten."""
        return self.visit(path.as_uri())

    def visit(self, address: str) -> Self:
        """The page at an address, as `open`."""
        self.browser.events.clear()
        self.call("Page.navigate", url=address)
        self.browser.wait_for("Page.loadEventFired")
        return self

    def ask(self, expression: str) -> Any:
        """What the page's own JavaScript says."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(
                answer["exceptionDetails"].get("exception", {}).get("description", str(answer))
            )
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """A key, as a user presses it."""
        text = "\r" if key == "Enter" else ""
        said = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **said)
        self.call("Input.dispatchKeyEvent", type="keyUp", **said)

    def complaints(self) -> list[str]:
        """Exceptions, and what is in the console."""
        if self.script:
            self.ask("new Promise(requestAnimationFrame)")
        return [
            json.dumps(event["params"])
            for event in self.browser.events
            if event.get("method")
            in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        ]

    def requests(self) -> list[str]:
        """What was asked for besides the page itself."""
        asked = (e for e in self.browser.events if e.get("method") == "Network.requestWillBeSent")
        urls = [
            e["params"]["request"]["url"] for e in asked if e["params"].get("type") != "Document"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def picture(self, path: Path, whole: bool = True) -> None:
        """A screenshot."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def printed(self, width: float, height: float) -> bytes:
        """A PDF on paper of so many inches."""
        data = self.call(
            "Page.printToPDF", paperWidth=width, paperHeight=height, preferCSSPageSize=False
        )["data"]
        return base64.b64decode(data)
