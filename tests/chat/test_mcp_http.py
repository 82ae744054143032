"""The server that does everything wrong, over streamable HTTP: the call fails in words within its time, and no more.

Touches: rows; the server's process on loopback.
"""

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chat.db import in_db
from chat.errors import OutcomeUnknown, ToolFailed
from chat.mcp import client as sessions
from chat.mcp import servers
from chat.mcp import tools as mcp_tools
from chat.models import McpServer
from chat.tools import registry
from chat.tools.contract import Done, ToolContext

pytestmark = pytest.mark.django_db(transaction=True)
PROGRAM = str(Path(__file__).parents[1] / "support" / "mcp_server.py")


class Place:
    """The server's process, which a test may end and start again at the same port."""

    def __init__(self, folder: Path) -> None:
        self.saved, self.changed = folder / "saved", folder / "changed"
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.program: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = ["--http", str(self.port), "--saved", str(self.saved), "--changed", str(self.changed)]
        self.program = subprocess.Popen([sys.executable, PROGRAM, *words], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError("it did not start")

    def stop(self) -> None:
        if self.program is not None:
            self.program.kill()
            self.program.wait(10)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    found.start()
    yield found
    found.stop()


@pytest.fixture(autouse=True)
async def _sessions_close(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(mcp_tools, "_known", mcp_tools._Known())
    yield
    await sessions.close()


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(
        user_id=1, conversation_id=uuid4(), turn_id=uuid4(), iteration=1, idempotency_key="k", workspace=tmp_path / "w"
    )


def register(place: Place) -> McpServer:
    server = servers.add("trouble", url=f"http://127.0.0.1:{place.port}/mcp", timeout=10, trusted=True)
    servers.refresh(server.id)
    for tool in server.tools.all():
        if tool.to_accept:
            servers.accept(tool.id, servers.digest_of(tool.seen))
    return server


async def run(name: str, ctx: ToolContext, **args: Any) -> Done:
    contract = await in_db(lambda: registry.business()[f"trouble__{name}"])
    return await contract.run(args, ctx)


async def test_ten_megabytes_are_cut_with_a_note(place: Place, ctx: ToolContext) -> None:
    await in_db(register, place)
    done = await run("flood", ctx)
    assert "left out" in done.text and len(done.text) < 60_000


async def test_a_server_that_hangs_costs_its_time_and_answers_the_next_call(place: Place, ctx: ToolContext) -> None:
    server = await in_db(register, place)
    await run("echo", ctx, text="started")
    await in_db(lambda: McpServer.objects.filter(id=server.id).update(timeout=2))
    began = time.monotonic()
    with pytest.raises(ToolFailed, match="does not work"):
        await run("slow", ctx)
    assert time.monotonic() - began < 6
    await in_db(lambda: McpServer.objects.filter(id=server.id).update(timeout=10))
    assert (await run("echo", ctx, text="again")).text == "again"


async def test_a_server_that_dies_in_a_read_is_away_until_it_is_back(place: Place, ctx: ToolContext) -> None:
    server = await in_db(register, place)
    with pytest.raises(ToolFailed, match="does not work") as died:
        await run("die", ctx)
    assert not isinstance(died.value, OutcomeUnknown)
    with pytest.raises(ToolFailed, match="does not work"):
        await run("echo", ctx, text="away")
    assert (await in_db(McpServer.objects.get, id=server.id)).health == "down"
    await asyncio.to_thread(place.start)
    assert (await run("echo", ctx, text="back")).text == "back"


async def test_a_server_that_dies_in_a_write_leaves_its_outcome_open(place: Place, ctx: ToolContext) -> None:
    await in_db(register, place)
    with pytest.raises(OutcomeUnknown):
        await run("save_and_die", ctx, text="tea")
    assert place.saved.read_text() == "tea\n"


async def test_a_change_while_it_was_away_is_seen_before_the_call(place: Place, ctx: ToolContext) -> None:
    await in_db(register, place)
    await run("echo", ctx, text="a")
    contract = await in_db(lambda: registry.business()["trouble__echo"])
    place.stop()
    place.changed.touch()
    await asyncio.to_thread(place.start)
    await sessions.close()
    with pytest.raises(ToolFailed, match="not what it was when it was accepted"):
        await contract.run({"text": "a"}, ctx)
