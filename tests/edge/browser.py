"""A real browser without a window, steered by its own protocol."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ("--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown")


class Tab:
    """One page. `complaints` is what the browser says of it: errors of scripts, breaches of its policy."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.complaints: list[str] = []
        self._socket = socket
        self._last = 0

    async def call(self, method: str, **parameters: object) -> Any:
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": parameters})
        while True:
            said = await self._socket.receive_json(timeout=20)
            if said.get("method") in COMPLAINTS:
                self.complaints.append(json.dumps(said["params"]))
            if said.get("id") == self._last:
                return said["result"]

    async def open(self, url: str, *, scripts: bool = True) -> None:
        for domain in ("Page", "Log", "Runtime"):
            await self.call(f"{domain}.enable")
        await self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        await self.call("Page.navigate", url=url)
        await self.becomes("document.readyState === 'complete' && location.protocol === 'http:'")

    async def value(self, expression: str) -> Any:
        done = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return done["result"].get("value")

    async def becomes(self, expression: str) -> None:
        """Wait until it is true."""
        for _ in range(200):
            if await self.value(expression) is True:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{expression}\n{await self.value('document.documentElement.outerHTML')}")


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Tab]:
    """Start one, its profile in `folder`, with an empty tab."""
    assert PROGRAM is not None
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = (PROGRAM, *OPTIONS, *sandbox, f"--user-data-dir={folder}", "about:blank")
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    try:
        told = folder / "DevToolsActivePort"
        for _ in range(400):
            if told.exists() and len(told.read_text().splitlines()) == 2:
                break
            await asyncio.sleep(0.05)
        base = f"http://127.0.0.1:{told.read_text().splitlines()[0]}"
        async with aiohttp.ClientSession() as session:
            async with session.put(f"{base}/json/new?about:blank") as answer:
                address = (await answer.json(content_type=None))["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.kill()
        await process.wait()
