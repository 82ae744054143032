"""The person at the page: one session, a websocket for each conversation, approvals by the forms' own addresses.

what they do -> frames and POSTs.  Touches: the server under test.

As the page's script does, what was not acknowledged is sent again under its own id once the line is back.
"""

import asyncio
import contextlib
from typing import Any, Self
from uuid import uuid4

import aiohttp

from tests.support.served import Served


class Person:
    def __init__(self, served: Served) -> None:
        self.served = served
        self.pages: list[Page] = []

    async def __aenter__(self) -> Self:
        # Connections are not kept: the server is killed under them.
        connector = aiohttp.TCPConnector(force_close=True)
        jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name
        self.http = aiohttp.ClientSession(self.served.base, connector=connector, cookie_jar=jar)
        link, _staff = await asyncio.to_thread(self.served.links)
        async with self.http.get(link) as entered:
            assert entered.status == 200, entered.status
        return self

    async def __aexit__(self, *_exc: object) -> None:
        for page in self.pages:
            page.task.cancel()
        await asyncio.gather(*(page.task for page in self.pages), return_exceptions=True)
        await self.http.close()

    async def open(self) -> "Page":
        """A new conversation in a page of its own."""
        async with self.http.get("/") as shown:
            conversation = shown.url.path.strip("/").split("/")[-1]
        page = Page(self, conversation)
        self.pages.append(page)
        return page

    async def post(self, path: str, **fields: str) -> int | None:
        """None: the server died over it."""
        token = next((one.value for one in self.http.cookie_jar if one.key.endswith("_csrf")), "")
        headers = {"X-CSRFToken": token, "HX-Request": "true", "Origin": self.served.base}
        try:
            async with self.http.post(path, data=fields, headers=headers) as answered:
                return answered.status
        except aiohttp.ClientError:
            return None

    async def approve(self, approval: str, digest: str) -> int | None:
        return await self.post(f"/approvals/{approval}/decide/", decision="approve", digest=digest)

    async def settle(self, call: str, answer: str) -> int | None:
        return await self.post(f"/calls/{call}/settle/", answer=answer)


class Page:
    """One conversation with its socket, which is opened again for ever."""

    def __init__(self, person: Person, conversation: str) -> None:
        self.person, self.conversation = person, conversation
        self.unsaid: dict[str, str] = {}  # id -> text, not yet acknowledged
        self.sent: list[str] = []  # all ids
        self.frames: list[dict[str, Any]] = []  # other than deltas
        self.socket: aiohttp.ClientWebSocketResponse | None = None
        self.task = asyncio.create_task(self._keep_open())

    async def say(self, text: str) -> str:
        key = uuid4().hex
        self.unsaid[key] = text
        self.sent.append(key)
        await self._send(key)
        return key

    async def _send(self, key: str) -> None:
        if self.socket is not None:
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                await self.socket.send_json({"type": "say", "id": key, "text": self.unsaid[key]})

    async def _keep_open(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, ConnectionError, TimeoutError):
                await self._listen()
            self.socket = None
            await asyncio.sleep(0.1)

    async def _listen(self) -> None:
        path = f"/ws/c/{self.conversation}/"
        async with self.person.http.ws_connect(path, headers={"Origin": self.person.served.base}) as socket:
            await socket.receive()  # the first frame says that the server let us in
            self.socket = socket
            for key in list(self.unsaid):
                await self._send(key)
            async for message in socket:
                if message.type != aiohttp.WSMsgType.TEXT:
                    return
                frame = message.json()
                if frame["type"] in {"said", "refused"}:
                    self.unsaid.pop(frame["id"], None)
                if frame["type"] != "delta":
                    self.frames.append(frame)
