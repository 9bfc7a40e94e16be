"""A real browser for tests: Debian's chromium without a window, told what to do over DevTools."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

NEEDS_CHROMIUM = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not installed"
)
_PATIENCE = 120.0
"""Seconds until a page must show something."""
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-port=0",
)


def text_of_page(address: str, *, until: str, place: Path) -> str:
    """The visible text of a page, as soon as it has `until` in it.

    Args:
        address: of the page.
        until: what is waited for.
        place: an empty folder for what the browser keeps.
    """
    command = ["chromium", *_FLAGS, f"--user-data-dir={place}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            return asyncio.run(_seen(place, address, until))
        finally:
            browser.terminate()


async def _seen(place: Path, address: str, until: str) -> str:
    deadline = time.monotonic() + _PATIENCE
    async with aiohttp.ClientSession() as session:
        target = await _page(session, place, deadline)
        async with session.ws_connect(target, max_msg_size=0) as line:
            await _told(line, "Page.navigate", url=address)
            while True:
                expression = "document.body ? document.body.innerText : ''"
                answer = await _told(line, "Runtime.evaluate", expression=expression)
                text = str(answer["result"].get("value", ""))
                if until in text:
                    return text
                assert time.monotonic() < deadline, f"no '{until}' on the page:\n{text}"
                await asyncio.sleep(0.2)


async def _page(session: aiohttp.ClientSession, place: Path, deadline: float) -> str:
    """Where to talk to the browser's first page."""
    port_file = place / "DevToolsActivePort"
    while True:
        assert time.monotonic() < deadline, "chromium does not start"
        lines = port_file.read_text().splitlines() if port_file.exists() else []
        if len(lines) == 2:
            async with session.get(f"http://127.0.0.1:{lines[0]}/json") as answer:
                pages = [each for each in await answer.json() if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        await asyncio.sleep(0.1)


async def _told(
    line: aiohttp.ClientWebSocketResponse, method: str, **params: Any
) -> dict[str, Any]:
    """What the browser answers to a command; what it tells by itself is left out."""
    await line.send_str(json.dumps({"id": 1, "method": method, "params": params}))
    while True:
        message = json.loads(await line.receive_str())
        if message.get("id") == 1:
            result: dict[str, Any] = message["result"]
            return result
