"""A headless browser for tests: Chromium, driven over the WebDriver protocol, without a network."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def missing() -> str | None:
    """Return why there is no browser to test with."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed: apt-get install chromium chromium-driver"
    return None


class Browser:
    """One page of a browser."""

    def __init__(self, url: str, flags: tuple[str, ...]) -> None:
        self._url = url
        options = {"args": [*FLAGS, *flags]}
        asked = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options,
                 "goog:loggingPrefs": {"browser": "ALL"}}}}  # fmt: skip
        self._session = self._ask("POST", "/session", asked)["sessionId"]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.loads(error.read())["value"]["message"]) from None

    def _do(self, method: str, path: str, body: Any = None) -> Any:
        return self._ask(method, f"/session/{self._session}{path}", body)

    def open(self, page: Path) -> None:
        """Show a file."""
        self._do("POST", "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def point_at(self, selector: str) -> None:
        """Move the pointer to an element, near its left end."""
        self.run(
            "document.querySelector(arguments[0]).scrollIntoView({block:'center',inline:'nearest'})",
            selector,
        )
        place = self.run(
            "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [Math.round(Math.max(r.left, 0) + Math.min(r.width, 60) / 2),"
            " Math.round(r.top + r.height / 2)]",
            selector,
        )
        move = {"type": "pointerMove", "duration": 0, "x": place[0], "y": place[1]}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._do("POST", "/actions", {"actions": [pointer]})

    def click(self, selector: str) -> None:
        """Click an element."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def screenshot(self) -> bytes:
        """Return what is seen, as PNG."""
        return base64.b64decode(self._do("GET", "/screenshot"))

    def log(self) -> list[Any]:
        """Return what the page reported: errors, and what it could not load."""
        found: list[Any] = self._do("POST", "/se/log", {"type": "browser"})
        return found

    def close(self) -> None:
        """End the browser."""
        self._do("DELETE", "")


@contextmanager
def browser(*flags: str) -> Iterator[Browser]:
    """Start a browser, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/status", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        page = Browser(url, flags)
        try:
            yield page
        finally:
            page.close()
    finally:
        driver.terminate()
        driver.wait(timeout=30)
