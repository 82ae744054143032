"""One person with one page open, as a small websocket client.

what to do -> what they saw, and when.  Touches: an instance on this machine.
"""

import asyncio
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import aiohttp

STAMP = re.compile(r"(\d+\.\d{4}) ")


@dataclass(slots=True, kw_only=True)
class Seen:
    """What one turn looked like from outside; times are those of time.monotonic()."""

    said: float = 0.0
    first: float = 0.0  # the first word of the answer
    last: float = 0.0
    tokens: int = 0
    delays: list[float] = field(default_factory=list)  # from the endpoint to the page, of each token that streamed
    frames: int = 0
    fault: str = ""


class Person:
    """Signed in, with one conversation. `http` may be shared by many."""

    def __init__(self, http: aiohttp.ClientSession, base: str, cookie: str, conversation: str) -> None:
        self.http, self.base, self.conversation = http, base, conversation
        self.csrf = "c" * 32
        self.headers = {"cookie": f"{cookie}; agentweb_session_csrf={self.csrf}", "origin": base}
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self.text = ""
        self.turn = ""
        self.news = False  # something changed that has not been fetched

    async def open(self) -> None:
        """The socket, up to the text so far, which the server sends by itself."""
        url = f"{self.base}/ws/c/{self.conversation}/".replace("http", "ws", 1)
        self.socket = await self.http.ws_connect(url, headers=self.headers, max_msg_size=0)
        early = []  # what streams before the text so far is here
        while (frame := await self.socket.receive_json(timeout=60))["type"] != "live":
            early.append(frame)
        self.text = frame["text"]
        for frame in early:
            if frame["type"] == "delta":
                self._grow(frame)

    def _grow(self, frame: dict[str, Any]) -> None:
        """A piece may overlap with what is here; a gap is a fault."""
        if frame["at"] > len(self.text):
            raise AssertionError(f"text at {frame['at']}, page at {len(self.text)}")
        self.text += frame["text"][len(self.text) - frame["at"] :]

    async def close(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def get(self, path: str) -> str:
        async with self.http.get(self.base + path, headers=self.headers) as response:
            if response.status != 200:
                raise AssertionError(f"{path}: {response.status}")
            return await response.text()

    async def ask(
        self, task: str, tokens: int, *, seconds: float, approve: bool = False, reload_at: int = 0, browse: bool = False
    ) -> Seen:
        """Say something and watch the answer come. reload_at: tokens after which the page is loaded anew."""
        seen = Seen()
        try:
            async with asyncio.timeout(seconds):
                await self._ask(seen, task, tokens, approve=approve, reload_at=reload_at, browse=browse)
        except TimeoutError:
            seen.fault = f"{seen.tokens} of {tokens} tokens in {seconds:.0f} s"
        except (aiohttp.ClientError, AssertionError, TypeError, OSError) as fault:
            seen.fault = f"{type(fault).__name__}: {fault}"
        return seen

    async def _ask(self, seen: Seen, task: str, tokens: int, *, approve: bool, reload_at: int, browse: bool) -> None:
        assert self.socket is not None
        self.text, at = "", 0
        fetching: asyncio.Task[None] | None = None
        seen.said = time.monotonic()
        await self.socket.send_str(json.dumps({"type": "say", "id": uuid4().hex, "text": task}))
        while seen.tokens < tokens:
            frame = await self.socket.receive_json()
            seen.frames += 1
            now = time.monotonic()
            if frame["type"] == "delta":
                self._grow(frame)
                for stamp in STAMP.finditer(self.text, at):
                    at = stamp.end()
                    seen.tokens += 1
                    seen.delays.append(now - float(stamp[1]))
                seen.first, seen.last = seen.first or now, now
                if reload_at and seen.tokens >= reload_at:
                    reload_at = 0
                    await self._reload()
                    seen.tokens = len(STAMP.findall(self.text))
                    at = len(self.text)
            elif frame["type"] == "refused":
                raise AssertionError(frame["message"])
            elif frame["type"] == "said":
                self.turn = frame["turn"]
            elif frame["type"] == "changed" and (approve or browse):
                self.news = True
                if fetching is None or fetching.done():
                    fetching = asyncio.create_task(self._look(approve=approve))
        if fetching is not None:
            with suppress(AssertionError):
                await fetching

    async def _reload(self) -> None:
        await self.close()
        await self.get(f"/c/{self.conversation}/")
        await self.open()

    async def _look(self, *, approve: bool) -> None:
        """Fetch what a page fetches when its turn changed, until nothing more has; approve what asks."""
        while self.news:
            await asyncio.sleep(0.15)  # the page gathers changes for as long
            self.news = False
            await self._fetch(approve=approve)

    async def _fetch(self, *, approve: bool) -> None:
        await self.get(f"/c/{self.conversation}/header/")
        page = await self.get(f"/c/{self.conversation}/t/{self.turn}/") if self.turn else ""
        asks = re.search(r'hx-post="(/approvals/[\w-]+/decide/)"', page)
        digest = re.search(r'name="digest" value="([^"]+)"', page)
        if approve and asks and digest:
            data = {"decision": "approve", "digest": digest[1], "csrfmiddlewaretoken": self.csrf}
            async with self.http.post(self.base + asks[1], data=data, headers=self.headers) as response:
                assert response.status == 200, f"{asks[1]}: {response.status}"
